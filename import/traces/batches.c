/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* batches.c - a request to a collector, cut into small ones; see batches.h */
#include "import/traces/batches_inside.h"

#include "import/bytes/json.h"

#include <string.h>

enum {
    BUFFER_BYTES_MAX = 16 << 20, /* far more than there can be */
    ZSTD_WINDOW_LOG = 23         /* 8 MiB: what RFC 9659 allows senders */
};

/* --- The reader --- */

/* A cpt_read_fn. */
static cpt_status read_body(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct cpti_reader *reader = context;

    *bytes = reader->left.bytes < capacity ? reader->left.bytes : capacity;
    if (*bytes > 0) {
        memcpy(buffer, reader->left.data, *bytes);
        reader->left.data += *bytes;
        reader->left.bytes -= *bytes;
    }
    return CPT_OK;
}

/* The same, uncompressed and limited. */
static cpt_status read_limited(void *context, void *buffer, size_t capacity,
                               size_t *bytes)
{
    struct cpti_reader *reader = context;
    const cpt_status status =
        reader->inflate != NULL
            ? cpti_inflate_read(reader->inflate, buffer, capacity, bytes)
            : read_body(reader, buffer, capacity, bytes);

    reader->read_bytes += *bytes;
    return status == CPT_OK && reader->read_bytes > reader->bytes_max ? CPT_LIMIT
                                                                      : status;
}

static cpt_status reader_open(struct cpti_reader *reader,
                              const struct cpti_batches *batches)
{
    if (reader->is_open) {
        return CPT_OK;
    }
    *reader = (struct cpti_reader){.left = batches->body,
                                   .bytes_max = batches->options.bytes_max,
                                   .is_open = true};
    cpti_window_init(&reader->scan.window, cpt_alloc_default(), read_limited, reader,
                     CPTI_BATCHES_WHOLE_BYTES);
    if (batches->options.is_compressed) {
        reader->inflate = cpti_inflate_new(NULL, read_body, reader);
        if (reader->inflate == NULL) {
            return CPT_NO_MEMORY;
        }
        cpti_inflate_limit_window(reader->inflate, ZSTD_WINDOW_LOG);
    }
    return CPT_OK;
}

static void reader_close(struct cpti_reader *reader)
{
    if (reader->is_open) {
        cpti_inflate_free(reader->inflate);
        cpti_window_deinit(&reader->scan.window);
    }
}

uint64_t cpti_reader_offset(const struct cpti_reader *reader)
{
    const struct cpti_window *window = &reader->scan.window;

    return window->start_offset + (window->at - window->start);
}

cpt_status cpti_batches_ahead(struct cpti_batches *batches, uint64_t offset,
                              struct cpti_reader **ahead)
{
    struct cpti_window *window = &batches->ahead.scan.window;
    cpt_status status = reader_open(&batches->ahead, batches);

    *ahead = &batches->ahead;
    while (status == CPT_OK && cpti_reader_offset(*ahead) < offset) {
        const uint64_t left = offset - cpti_reader_offset(*ahead);
        const size_t there = window->end - window->at;

        window->at += left < there ? (size_t)left : there;
        cpti_window_forget(window, window->at);
        status = there == 0 ? cpti_window_fill(window) : CPT_OK;
    }
    return status == CPT_END ? CPT_TRUNCATED : status;
}

/* --- Batches --- */

struct cpti_batches *cpti_batches_new(struct cpt_bytes body,
                                      const struct cpti_batches_options *options)
{
    struct cpti_batches *batches =
        cpt_alloc_zeroed(cpt_alloc_default(), sizeof *batches);

    if (batches != NULL) {
        batches->options = *options;
        batches->body = body;
    }
    return batches;
}

void cpti_batches_free(struct cpti_batches *batches)
{
    if (batches != NULL) {
        reader_close(&batches->reader);
        reader_close(&batches->ahead);
        cpt_alloc_free(cpt_alloc_default(), batches->resource.data);
        cpt_alloc_free(cpt_alloc_default(), batches->spans.data);
        cpt_alloc_free(cpt_alloc_default(), batches->batch.data);
        cpt_alloc_free(cpt_alloc_default(), batches);
    }
}

bool cpti_batches_have_more(const struct cpti_batches *batches)
{
    return batches->is_large;
}

uint64_t cpti_batches_unknown_fields(const struct cpti_batches *batches)
{
    return batches->unknown_fields;
}

uint64_t cpti_batches_refused(const struct cpti_batches *batches)
{
    return batches->refused;
}

cpt_status cpti_buffer_add(struct cpti_buffer *buffer, const void *data, size_t bytes)
{
    const cpt_status status =
        cpt_alloc_grow(cpt_alloc_default(), &buffer->data, &buffer->capacity,
                       buffer->bytes + bytes, BUFFER_BYTES_MAX, 1);

    if (status == CPT_OK && bytes > 0) {
        memcpy((char *)buffer->data + buffer->bytes, data, bytes);
        buffer->bytes += bytes;
    }
    return status;
}

static cpt_status close_spans(struct cpti_batches *batches)
{
    cpt_status status = CPT_OK;

    if (batches->spans.bytes > 0) {
        batches->has_spans = true;
        status = batches->options.is_json ? cpti_batches_json_close(batches)
                                          : cpti_batches_protobuf_close(batches);
        batches->spans.bytes = 0;
    }
    return status;
}

cpt_status cpti_batches_describe(struct cpti_batches *batches, struct cpt_bytes value)
{
    const cpt_status status = close_spans(batches);

    return status == CPT_OK
               ? cpti_buffer_add(&batches->resource, value.data, value.bytes)
               : status;
}

/* Whether what was read is enough for a batch. Its resource is in each: one that is
 * large is not to be repeated more often than it is long. */
static bool is_full(const struct cpti_batches *batches)
{
    const size_t bytes = batches->spans.bytes + batches->batch.bytes;

    return bytes >= CPTI_BATCHES_BYTES && bytes >= batches->resource.bytes;
}

/* Whether the request, which has ended, may have spans where none are looked for. */
static bool is_strange(const struct cpti_batches *batches)
{
    return batches->unknown_fields > 0 && !batches->has_spans &&
           batches->spans.bytes == 0 && batches->refused == 0;
}

/* Reads spans up to a batch of them. */
static cpt_status cut(struct cpti_batches *batches, struct cpt_bytes *batch)
{
    cpt_status status = CPT_OK;

    batches->batch.bytes = 0;
    while (batches->status == CPT_OK && !is_full(batches)) {
        if (batches->level == CPTI_AT_END) {
            batches->status = is_strange(batches) ? CPT_INVALID : CPT_END;
            break;
        }
        batches->status = batches->options.is_json
                              ? cpti_batches_json_step(batches)
                              : cpti_batches_protobuf_step(batches);
        if (batches->status == CPT_OK && batches->level < CPTI_IN_RESOURCE) {
            batches->status = close_spans(batches); /* those of another follow */
            batches->resource.bytes = 0;
        }
    }
    status = close_spans(batches);
    if (status != CPT_OK || batches->batch.bytes == 0) {
        return status != CPT_OK ? status : batches->status;
    }
    status = batches->options.is_json ? cpti_batches_json_finish(batches) : CPT_OK;
    *batch = (struct cpt_bytes){batches->batch.data, batches->batch.bytes};
    return status;
}

/* Takes the request as it is, if it is small. */
static cpt_status take_whole(struct cpti_batches *batches, struct cpt_bytes *batch)
{
    struct cpti_window *window = &batches->reader.scan.window;
    cpt_status status = CPT_OK;

    if (!batches->options.is_json && !batches->options.is_compressed &&
        batches->body.bytes <= CPTI_BATCHES_WHOLE_BYTES) {
        *batch = batches->body;
        return CPT_OK;
    }
    status = reader_open(&batches->reader, batches);
    if (status == CPT_OK) {
        status = cpti_window_need(window, CPTI_BATCHES_WHOLE_BYTES);
    }
    batches->is_large = status == CPT_OK;
    if (status == CPT_END) {
        /* without a byte there is no buffer */
        static const char none[CPTI_DOC_PADDING];
        const size_t bytes = window->end - window->start;

        *batch = (struct cpt_bytes){bytes > 0 ? window->buffer : none, bytes};
        if (bytes > 0) {
            memset(window->buffer + bytes, 0, CPTI_DOC_PADDING);
        }
        return CPT_OK;
    }
    return status;
}

static const char *sentence_of(cpt_status status)
{
    return status == CPT_TRUNCATED ? "it ends too early"
           : status == CPT_CORRUPT ? "it is damaged"
           : status == CPT_LIMIT   ? "too many bytes"
           : status == CPT_INVALID ? "no span, but fields that OTLP 1.x does not have"
                                   : "";
}

static cpt_status told(const struct cpti_batches *batches, cpt_status status,
                       struct cpt_error *error)
{
    return status == CPT_OK || status == CPT_END
               ? status
               : cpt_error_set(error, status, cpti_reader_offset(&batches->reader),
                               "%s", sentence_of(status));
}

cpt_status cpti_batches_next(struct cpti_batches *batches, struct cpt_bytes *batch,
                             struct cpt_error *error)
{
    if (!batches->has_begun) {
        const cpt_status status = take_whole(batches, batch);

        batches->has_begun = true;
        if (status != CPT_OK || !batches->is_large) {
            batches->status = status == CPT_OK ? CPT_END : status;
            return told(batches, status, error);
        }
    }
    return told(batches, cut(batches, batch), error);
}
