/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_records.c - traces of spans become records; see span_records.h */
#include "tool/log/span_records.h"

#include "tool/base/names.h"
#include "cpt/cpt_path.h"
#include "cpt/cpt_trace.h"
#include "import/spans/spans.h"
#include "import/formats/tags.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <string.h>

cpt_status cpti_span_records_init(struct cpti_span_records *records)
{
    records->path = cpt_path_new(NULL);
    records->visits = cpt_path_new(NULL);
    records->block = cpt_log_block_new(NULL, 0);
    records->unwritten = (struct cpt_bytes){NULL, 0};
    return records->path != NULL && records->visits != NULL && records->block != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

void cpti_span_records_deinit(struct cpti_span_records *records)
{
    cpt_log_block_free(records->block);
    cpt_path_free(records->path);
    cpt_path_free(records->visits);
    records->block = NULL;
    records->path = NULL;
    records->visits = NULL;
}

bool cpti_read_trace_id(struct cpt_bytes text, unsigned char id[16])
{
    unsigned char digits[32] = {0};
    const size_t before = sizeof digits - text.bytes;
    bool is_any = false;

    if (text.bytes == 0 || text.bytes > sizeof digits) {
        return false;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        const char lower = (char)(text.data[i] | 0x20);

        if (text.data[i] >= '0' && text.data[i] <= '9') {
            digits[before + i] = (unsigned char)(text.data[i] - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            digits[before + i] = (unsigned char)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    for (size_t i = 0; i < 16; i++) {
        id[i] = (unsigned char)(digits[2 * i] << 4 | digits[2 * i + 1]);
        is_any |= id[i] != 0;
    }
    return is_any;
}

size_t cpti_span_records_waiting(const struct cpti_span_records *records)
{
    return records->unwritten.bytes > 0 ? records->unwritten_count
                                        : cpt_log_block_count(records->block);
}

cpt_status cpti_span_records_flush(struct cpti_span_records *records)
{
    cpt_status status = CPT_OK;

    if (records->unwritten.bytes == 0) {
        records->unwritten_count = cpt_log_block_count(records->block);
        records->unwritten = cpt_log_block_finish(records->block);
    }
    if (records->unwritten.bytes > 0) {
        status = records->sink.write(records->sink.context, records->unwritten.data,
                                     records->unwritten.bytes);
    }
    if (status == CPT_OK) {
        records->unwritten = (struct cpt_bytes){NULL, 0};
        records->unwritten_count = 0;
    }
    return status;
}

static cpt_status add_bytes(struct cpti_span_records *records, const void *data,
                            size_t bytes)
{
    cpt_status status = CPT_LIMIT;

    if (records->unwritten.bytes == 0) { /* else the block is not to be touched */
        status = cpt_log_block_add(records->block, data, bytes);
    }
    if (status == CPT_LIMIT) { /* of the block */
        status = cpti_span_records_flush(records);
        if (status == CPT_OK) {
            status = cpt_log_block_add(records->block, data, bytes);
        }
    }
    return status;
}

cpt_status cpti_span_records_write(struct cpti_span_records *records,
                                   const struct cpt_record *record)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = cpt_record_encode(record, NULL, &data, &bytes, NULL);

    if (status == CPT_OK) {
        status = add_bytes(records, data, bytes);
        cpt_alloc_free(cpt_alloc_default(), data);
    }
    return status;
}

/* How likely the tracer's sampler kept a trace whose root is @span. */
static double sampled_of(const struct cpti_span *span)
{
    const uint64_t all = UINT64_C(1) << 56;

    return span->rejected < all ? (double)(all - span->rejected) / (double)all : 1;
}

cpt_status cpti_span_path(struct cpti_spans *spans, struct cpt_path *path)
{
    const cpt_status status = cpti_spans_noted_path(spans, path);

    return status == CPT_END ? cpti_spans_path(spans, path) : status;
}

static struct cpt_attribute text_of(const char *key, struct cpt_bytes text)
{
    return (struct cpt_attribute){
        .key = cpt_bytes_of(key), .type = CPT_ATTRIBUTE_TEXT, .value = {.text = text}};
}

/* The tag @key of the root, else of the callee whose call it is; or NULL. */
static const struct cpti_tag_value *tag_of_entry(struct cpti_spans *spans, uint32_t key)
{
    const uint32_t root = cpti_spans_root(spans);
    const struct cpti_tag_value *value =
        cpti_tag_find(cpti_spans_at(spans, root)->tags, key);
    struct cpti_span_frame frame;

    if (value == NULL) {
        cpti_spans_frame(spans, root, &frame);
        value = frame.role == CPTI_SPAN_CALL
                    ? cpti_tag_find(cpti_spans_at(spans, frame.callee)->tags, key)
                    : NULL;
    }
    return value;
}

/* Puts what the tag of its evidence says of a trace into @attributes; how many. Spans
 * that were found in lines of logs say so; better evidence no span may claim. */
static size_t add_evidence(const struct cpti_tag_value *value,
                           struct cpt_attribute *attributes)
{
    for (unsigned i = CPT_EVIDENCE_LEARNT; i <= CPT_EVIDENCE_INFERRED; i++) {
        const struct cpt_bytes word = cpt_bytes_of(cpt_evidence_word(i));

        if (value->type == CPTI_TAG_TEXT && cpt_bytes_equal(value->text, word)) {
            attributes[0] = text_of(CPTI_EVIDENCE_ATTRIBUTE, word);
            attributes[1] =
                text_of(CPTI_SOURCE_ATTRIBUTE, cpt_bytes_of(CPTI_SOURCE_EVENTS));
            return 2;
        }
    }
    return 0;
}

/* Puts the tags of a trace into @attributes; how many. */
static size_t add_tags(const struct cpti_span_records *records,
                       struct cpti_spans *spans, struct cpt_attribute *attributes)
{
    size_t count = 0;

    for (uint32_t i = 0; i < records->tag_key_count; i++) {
        const struct cpti_tag_value *value = tag_of_entry(spans, i);
        struct cpt_attribute *attribute = &attributes[count];

        if (value == NULL) {
            continue;
        }
        if (cpt_bytes_equal(records->tag_keys[i],
                            cpt_bytes_of(CPTI_EVIDENCE_ATTRIBUTE))) {
            count += add_evidence(value, attribute);
            continue;
        }
        count++;
        *attribute = text_of("", value->text);
        attribute->key = records->tag_keys[i];
        if (value->type == CPTI_TAG_INTEGER) {
            attribute->type = CPT_ATTRIBUTE_INTEGER;
            attribute->value.integer = value->integer;
        } else if (value->type == CPTI_TAG_REAL) {
            attribute->type = CPT_ATTRIBUTE_FLOAT;
            attribute->value.real = value->real;
        } else if (value->type == CPTI_TAG_BOOL) {
            attribute->type = CPT_ATTRIBUTE_BOOL;
            attribute->value.is_true = value->is_true;
        }
    }
    return count;
}

/* All visits of a trace as bytes, which the caller frees. */
static cpt_status encode_visits(struct cpt_path *path, struct cpti_spans *spans,
                                unsigned char **data, struct cpt_bytes *bytes)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .bytes_max = CPT_LOG_RECORD_BYTES_MAX};
    size_t count = 0;
    cpt_status status;

    cpt_path_reset(path);
    status = cpti_spans_all(spans, path);
    if (status == CPT_OK) {
        status = cpt_metadata_encode(path, &options, data, &count, NULL);
    }
    *bytes = (struct cpt_bytes){(const char *)*data, count};
    return status;
}

cpt_status cpti_span_records_add(struct cpti_span_records *records,
                                 struct cpti_spans *spans, struct cpt_bytes trace,
                                 double probability)
{
    const uint32_t root = cpti_spans_root(spans);
    const struct cpti_span *span = cpti_spans_at(spans, root);
    const char *fragment = cpti_span_fragment_word(cpti_spans_fragment(spans));
    char method[CPT_NAME_BYTES_MAX + 1];
    struct cpt_attribute attributes[CPTI_TAG_KEYS_MAX + 4 + CPTI_EXTRA_MAX];
    unsigned char *visits = NULL;
    struct cpt_record record = {.probability = probability * sampled_of(span),
                                .service = span->service,
                                .method = cpt_name_bound(span->operation, method),
                                .status =
                                    cpt_bytes_of(span->is_failed ? "error" : "ok"),
                                .is_failed = span->is_failed,
                                .is_random = 1,
                                .attributes = attributes,
                                .path = records->path};
    cpt_status status = CPT_OK;

    cpt_path_reset(records->path);
    status = cpti_span_path(spans, records->path);
    if (status != CPT_OK) {
        return status;
    }
    record.start_unix_ns = cpti_spans_start_ns(spans, root);
    record.latency_ns = cpt_path_sum_ns(records->path);
    record.entry = cpt_path_frame_name(records->path, 0);
    record.service = cpt_name_service(record.entry);
    record.has_trace_id = cpti_read_trace_id(trace, record.trace_id);
    record.attribute_count = add_tags(records, spans, attributes);
    if (!record.has_trace_id && trace.bytes > 0) {
        attributes[record.attribute_count++] = text_of("trace", trace);
    }
    if (fragment != NULL) {
        attributes[record.attribute_count++] =
            text_of(CPTI_FRAGMENT_ATTRIBUTE, cpt_bytes_of(fragment));
    }
    for (size_t i = 0; i < records->extra_count; i++) {
        attributes[record.attribute_count++] = records->extra[i];
    }
    if (records->adds_visits) {
        struct cpt_bytes bytes;

        status = encode_visits(records->visits, spans, &visits, &bytes);
        attributes[record.attribute_count++] = text_of(CPTI_VISITS_KEY, bytes);
    }
    status = status == CPT_OK ? cpti_span_records_write(records, &record) : status;
    cpt_alloc_free(NULL, visits);
    return status;
}

cpt_status cpti_span_records_put(struct cpti_span_records *records,
                                 struct cpt_record *record, struct cpt_bytes trace)
{
    record->latency_ns = cpt_path_sum_ns(records->path);
    record->service = cpt_name_service(record->entry);
    record->status = cpt_bytes_of("ok");
    record->is_random = 1;
    record->has_trace_id = cpti_read_trace_id(trace, record->trace_id);
    record->attributes = records->extra;
    record->attribute_count = records->extra_count;
    record->path = records->path;
    return cpti_span_records_write(records, record);
}
