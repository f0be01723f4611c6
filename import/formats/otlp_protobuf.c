/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * otlp_protobuf.c - spans as they are sent to OpenTelemetry's collector, in protobuf
 *
 *      Traces > ResourceSpans > ScopeSpans > Span > KeyValue > AnyValue
 *                    '> Resource > KeyValue (service.name, host)
 *
 * By nanopb's reader of fields, not by its reader of messages, which would copy: here
 * all texts stay where they are. Values of attributes that say nothing of a path are
 * not read. Each message is a range of the bytes that its parent
 * has checked; the depth is that of the schema, so nothing recurses. Fields come in any
 * order, and may come twice: then the last one counts. A resource may come behind its
 * spans, so it is looked for first.
 */
#include "import/formats/formats.h"

#include "cpt/base/text.h"

#include <assert.h>
#include <pb_decode.h>

#include "otlp_trace.pb.h"

enum {
    TRACE_ID_BYTES = 16,
    SPAN_ID_BYTES = 8,
    STATUS_ERROR = 2,
    /* the last field that version 1.x has */
    REQUEST_TAG_MAX = 1,
    RESOURCE_SPANS_TAG_MAX = 3,
    SCOPE_SPANS_TAG_MAX = 3,
    SPAN_TAG_MAX = 16
};

/* A message that is being read, and the field at hand. */
struct fields {
    const char *at; /* what is read next */
    const char *end;
    const char *damaged; /* where it is no protobuf, or NULL */
    uint32_t tag;
    pb_wire_type_t type;
};

static struct fields fields_of(struct cpt_bytes message)
{
    return (struct fields){.at = message.data, .end = message.data + message.bytes};
}

/* Notes where it went wrong; false. */
static bool fail(struct fields *fields, const char *where)
{
    fields->damaged = where;
    return false;
}

static size_t left(const struct fields *fields)
{
    return (size_t)(fields->end - fields->at);
}

/* What nanopb reads: numbers of three bytes and more, and what is rare. */
static pb_istream_t stream_of(const struct fields *fields)
{
    return pb_istream_from_buffer((const pb_byte_t *)fields->at, left(fields));
}

/* Goes on behind what @stream has read, if @is_good. */
static bool follow(struct fields *fields, const pb_istream_t *stream, bool is_good)
{
    const char *at = fields->end - stream->bytes_left;

    if (!is_good) {
        return fail(fields, at);
    }
    fields->at = at;
    return true;
}

/* The number at hand if it has one byte, or two, as tags and lengths have. Nanopb takes
 * each byte by a call: most of the time that a span took was that. */
static inline bool take_short(struct fields *fields, uint64_t *number)
{
    const unsigned char *at = (const unsigned char *)fields->at;
    const size_t bytes = left(fields);

    assert(at != NULL || bytes == 0);
    if (bytes > 0 && at[0] < 0x80) {
        *number = at[0];
        fields->at++;
        return true;
    }
    if (bytes > 1 && at[1] < 0x80) {
        *number = (uint64_t)at[1] << 7 | (at[0] & 0x7f);
        fields->at += 2;
        return true;
    }
    return false;
}

static bool take_varint(struct fields *fields, uint64_t *number)
{
    pb_istream_t stream;

    if (take_short(fields, number)) {
        return true;
    }
    stream = stream_of(fields);
    return follow(fields, &stream, pb_decode_varint(&stream, number));
}

/* The next field, whose value is to be read or passed. false: there is none. */
static bool next(struct fields *fields)
{
    uint64_t word = 0;

    if (fields->damaged != NULL || fields->at == fields->end) {
        return false;
    }
    if (!take_varint(fields, &word)) {
        return false;
    }
    fields->tag = (uint32_t)(word >> 3);
    fields->type = (pb_wire_type_t)(word & 7);
    return (fields->tag != 0 && word <= UINT32_MAX) || fail(fields, fields->at);
}

/* Passes a value of any type but bytes. */
static void pass_rare(struct fields *fields)
{
    pb_istream_t stream = stream_of(fields);

    (void)follow(fields, &stream, pb_skip_field(&stream, fields->type));
}

/* The value as bytes, borrowed. false, and passed: it is of another type. */
static bool take_bytes(struct fields *fields, struct cpt_bytes *bytes)
{
    uint64_t count = 0;

    if (fields->type != PB_WT_STRING) {
        pass_rare(fields);
        return false;
    }
    if (!take_varint(fields, &count)) {
        return false;
    }
    if (count > left(fields)) {
        return fail(fields, fields->at);
    }
    *bytes = (struct cpt_bytes){fields->at, (size_t)count};
    fields->at += count;
    return true;
}

static void pass(struct fields *fields)
{
    struct cpt_bytes passed;

    (void)take_bytes(fields, &passed);
}

static bool take_number(struct fields *fields, uint64_t *number)
{
    pb_istream_t stream;

    if (fields->type == PB_WT_VARINT) {
        return take_varint(fields, number);
    }
    if (fields->type == PB_WT_64BIT) {
        stream = stream_of(fields);
        return follow(fields, &stream, pb_decode_fixed64(&stream, number));
    }
    pass(fields);
    return false;
}

/* What went wrong in a message within @fields, in it. */
static void hand_up(struct fields *fields, const struct fields *within)
{
    if (within->damaged != NULL) {
        fields->damaged = within->damaged;
    }
}

/* --- Attributes --- */

static struct cpti_attribute read_value(struct fields *above, struct cpt_bytes message)
{
    struct fields fields = fields_of(message);
    struct cpti_attribute value = {.text = {"", 0}};
    uint64_t number = 0;

    while (next(&fields)) {
        if (fields.tag == cpti_otlp_AnyValue_string_value_tag) {
            value.is_text = take_bytes(&fields, &value.text);
        } else if (fields.tag == cpti_otlp_AnyValue_bool_value_tag) {
            value.is_true = take_number(&fields, &number) && number != 0;
        } else if (fields.tag == cpti_otlp_AnyValue_int_value_tag) {
            value.is_number =
                take_number(&fields, &value.number) && value.number <= INT64_MAX;
        } else {
            pass(&fields);
        }
    }
    hand_up(above, &fields);
    return value;
}

/* Notes attribute @key, of which the value is @message, if it is asked for. */
static void read_tag(struct fields *above, const struct cpti_sink *sink,
                     struct cpti_tag **tags, struct cpt_bytes key,
                     struct cpt_bytes message, bool is_of_process)
{
    struct fields fields = fields_of(message);
    struct cpti_tag_value value = {.text = {"", 0}};
    uint32_t wanted = 0;
    uint64_t number = 0;

    if (sink->tagging == NULL || !cpti_tagging_has(sink->tagging, key, &wanted)) {
        return;
    }
    while (next(&fields)) {
        const uint32_t tag = fields.tag;

        value.type = CPTI_TAG_NONE;
        if (tag == cpti_otlp_AnyValue_string_value_tag) {
            value.type =
                take_bytes(&fields, &value.text) ? CPTI_TAG_TEXT : CPTI_TAG_NONE;
        } else if (tag > cpti_otlp_AnyValue_double_value_tag) {
            pass(&fields);
        } else if (take_number(&fields, &number)) {
            value.is_true = number != 0;
            value.integer = (int64_t)number;
            memcpy(&value.real, &number, sizeof value.real);
            value.type = tag == cpti_otlp_AnyValue_bool_value_tag  ? CPTI_TAG_BOOL
                         : tag == cpti_otlp_AnyValue_int_value_tag ? CPTI_TAG_INTEGER
                                                                   : CPTI_TAG_REAL;
        }
    }
    hand_up(above, &fields);
    cpti_tag_note(sink->tagging, tags, wanted, value, is_of_process);
}

/* The value of the field at @at with @tag, if its length has one byte. NULL: it has
 * not, or there is no such field. */
static const char *short_field(struct cpt_bytes message, size_t at, unsigned tag,
                               struct cpt_bytes *value)
{
    const unsigned char *bytes = (const unsigned char *)message.data + at;

    if (message.bytes < at + 2 || bytes[0] != (tag << 3 | PB_WT_STRING) ||
        bytes[1] >= 0x80 || message.bytes - at - 2 < bytes[1]) {
        return NULL;
    }
    *value = (struct cpt_bytes){message.data + at + 2, bytes[1]};
    return value->data + value->bytes;
}

/* Whether @message is a key and then a value and nothing else, as almost all are. */
static bool take_pair(struct cpt_bytes message, struct cpt_bytes *key,
                      struct cpt_bytes *value)
{
    const char *at = short_field(message, 0, cpti_otlp_KeyValue_key_tag, key);

    at = at != NULL ? short_field(message, (size_t)(at - message.data),
                                  cpti_otlp_KeyValue_value_tag, value)
                    : NULL;
    return at != NULL && at == message.data + message.bytes;
}

/* Finds the key and the value of the attribute at hand; @value is a message of its
 * own. false: it is none, and passed. */
static bool take_attribute(struct fields *above, struct cpt_bytes *key,
                           struct cpt_bytes *value)
{
    struct cpt_bytes message = {"", 0};
    struct fields fields;

    if (!take_bytes(above, &message)) {
        return false;
    }
    if (take_pair(message, key, value)) {
        return true;
    }
    *key = (struct cpt_bytes){"", 0};
    *value = (struct cpt_bytes){"", 0};
    fields = fields_of(message);
    while (next(&fields)) {
        if (fields.tag == cpti_otlp_KeyValue_key_tag) {
            (void)take_bytes(&fields, key);
        } else if (fields.tag == cpti_otlp_KeyValue_value_tag) {
            (void)take_bytes(&fields, value);
        } else {
            pass(&fields);
        }
    }
    hand_up(above, &fields);
    return above->damaged == NULL;
}

/* The service that a Resource names, and whose clock its spans have. */
static void read_resource(struct fields *above, struct cpt_bytes message,
                          struct cpti_process *process, const struct cpti_sink *sink)
{
    struct fields fields = fields_of(message);
    struct cpt_bytes given;
    struct cpt_bytes key;

    while (next(&fields)) {
        if (fields.tag != cpti_otlp_Resource_attributes_tag) {
            pass(&fields);
        } else if (take_attribute(&fields, &key, &given)) {
            cpti_process_note(process, key, read_value(&fields, given));
            read_tag(&fields, sink, &process->tags, key, given, true);
        }
    }
    hand_up(above, &fields);
}

/* --- Spans --- */

/* A span whose ids are still bytes. */
struct raw_span {
    struct cpt_bytes trace;
    struct cpt_bytes id;
    struct cpt_bytes parent;
    uint64_t end_ns;
    uint64_t unknown_fields;
    struct cpti_span span;
};

static struct cpt_bytes hex_of(struct cpt_bytes id, char *text)
{
    return cpti_text_hex(text, id.data, id.bytes);
}

static void read_status(struct fields *above, struct cpti_span *span)
{
    struct cpt_bytes message = {"", 0};
    struct fields fields;
    uint64_t code = 0;

    if (!take_bytes(above, &message)) {
        return;
    }
    fields = fields_of(message);
    while (next(&fields)) {
        if (fields.tag != cpti_otlp_Status_code_tag) {
            pass(&fields);
        } else if (take_number(&fields, &code)) {
            span->is_failed |= code == STATUS_ERROR;
        }
    }
    hand_up(above, &fields);
}

static void read_span_field(struct fields *fields, struct raw_span *raw,
                            const struct cpti_sink *sink)
{
    struct cpt_bytes text = {"", 0};
    struct cpt_bytes given = {"", 0};
    uint64_t number = 0;

    switch (fields->tag) {
    case cpti_otlp_Span_trace_id_tag:
        (void)take_bytes(fields, &raw->trace);
        break;
    case cpti_otlp_Span_span_id_tag:
        (void)take_bytes(fields, &raw->id);
        break;
    case cpti_otlp_Span_trace_state_tag:
        if (take_bytes(fields, &text)) {
            raw->span.rejected = cpti_read_tracestate(text);
        }
        break;
    case cpti_otlp_Span_parent_span_id_tag:
        (void)take_bytes(fields, &raw->parent);
        break;
    case cpti_otlp_Span_name_tag:
        (void)take_bytes(fields, &raw->span.operation);
        break;
    case cpti_otlp_Span_kind_tag:
        if (take_number(fields, &number)) {
            raw->span.kind = number <= CPTI_SPAN_CONSUMER ? (unsigned char)number
                                                          : CPTI_SPAN_UNKNOWN;
        }
        break;
    case cpti_otlp_Span_start_time_unix_nano_tag:
        (void)take_number(fields, &raw->span.start_ns);
        break;
    case cpti_otlp_Span_end_time_unix_nano_tag:
        (void)take_number(fields, &raw->end_ns);
        break;
    case cpti_otlp_Span_attributes_tag:
        if (take_attribute(fields, &text, &given)) {
            if (cpti_attribute_matters(text)) {
                cpti_note_attribute(&raw->span, text, read_value(fields, given));
            }
            read_tag(fields, sink, &raw->span.tags, text, given, false);
        }
        break;
    case cpti_otlp_Span_status_tag:
        read_status(fields, &raw->span);
        break;
    default:
        raw->unknown_fields += fields->tag > SPAN_TAG_MAX;
        pass(fields);
    }
}

static cpt_status read_span(struct fields *above, struct cpt_bytes message,
                            const struct cpti_span *common, struct cpti_sink *sink)
{
    struct fields fields = fields_of(message);
    struct raw_span raw = {
        .trace = {"", 0}, .id = {"", 0}, .parent = {"", 0}, .span = *common};
    struct cpti_span *span = &raw.span;
    char ids[2 * (TRACE_ID_BYTES + 2 * SPAN_ID_BYTES)];
    struct cpt_bytes trace;

    while (next(&fields)) {
        read_span_field(&fields, &raw, sink);
    }
    hand_up(above, &fields);
    if (above->damaged != NULL) {
        return CPT_OK;
    }
    sink->unknown_fields += raw.unknown_fields;
    if (raw.trace.bytes != TRACE_ID_BYTES || raw.id.bytes != SPAN_ID_BYTES ||
        (raw.parent.bytes != 0 && raw.parent.bytes != SPAN_ID_BYTES)) {
        sink->refused++;
        return CPT_OK;
    }
    trace = hex_of(raw.trace, ids);
    span->id = hex_of(raw.id, ids + (size_t)2 * TRACE_ID_BYTES);
    span->parent =
        hex_of(raw.parent, ids + (size_t)2 * (TRACE_ID_BYTES + SPAN_ID_BYTES));
    span->has_start = true;
    cpti_read_end(span, raw.end_ns);
    return cpti_sink_take(sink, trace, span);
}

/* --- What is around them --- */

static cpt_status read_scope(struct fields *above, struct cpt_bytes message,
                             const struct cpti_span *common, struct cpti_sink *sink)
{
    struct fields fields = fields_of(message);
    struct cpt_bytes span = {"", 0};
    cpt_status status = CPT_OK;

    while (status == CPT_OK && next(&fields)) {
        if (fields.tag != cpti_otlp_ScopeSpans_spans_tag) {
            if (fields.tag > SCOPE_SPANS_TAG_MAX) {
                cpti_sink_unknown(sink);
            }
            pass(&fields);
        } else if (take_bytes(&fields, &span)) {
            status = read_span(&fields, span, common, sink);
        }
    }
    hand_up(above, &fields);
    return status;
}

static cpt_status read_resource_spans(struct fields *above, struct cpt_bytes message,
                                      struct cpti_sink *sink)
{
    struct fields fields = fields_of(message);
    struct cpti_process process = {.service = {"", 0}, .is_known = true};
    struct cpti_span common = {.id = {"", 0}};
    struct cpt_bytes found = {"", 0};
    cpt_status status = CPT_OK;

    while (next(&fields)) {
        if (fields.tag != cpti_otlp_ResourceSpans_resource_tag) {
            pass(&fields);
        } else if (take_bytes(&fields, &found)) {
            read_resource(&fields, found, &process, sink);
        }
    }
    hand_up(above, &fields);
    if (above->damaged != NULL) {
        return CPT_OK;
    }
    cpti_process_give(&process, &common);
    fields = fields_of(message);
    while (status == CPT_OK && next(&fields)) {
        if (fields.tag != cpti_otlp_ResourceSpans_scope_spans_tag) {
            if (fields.tag > RESOURCE_SPANS_TAG_MAX) {
                cpti_sink_unknown(sink);
            }
            pass(&fields);
        } else if (take_bytes(&fields, &found)) {
            status = read_scope(&fields, found, &common, sink);
        }
    }
    hand_up(above, &fields);
    return status;
}

cpt_status cpti_otlp_protobuf(struct cpt_bytes request, struct cpti_sink *sink,
                              struct cpt_error *error)
{
    struct fields fields = fields_of(request);
    struct cpt_bytes found = {"", 0};
    cpt_status status = CPT_OK;

    while (status == CPT_OK && next(&fields)) {
        if (fields.tag != cpti_otlp_Traces_resource_spans_tag) {
            sink->unknown_fields += fields.tag > REQUEST_TAG_MAX;
            pass(&fields);
        } else if (take_bytes(&fields, &found)) {
            status = read_resource_spans(&fields, found, sink);
        }
    }
    if (status == CPT_OK && fields.damaged != NULL) {
        return cpt_error_set(error, CPT_CORRUPT,
                             (uint64_t)(fields.damaged - request.data),
                             "no spans of OpenTelemetry in protobuf");
    }
    return status;
}
