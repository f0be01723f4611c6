/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * batches_protobuf.c - a large request in protobuf, cut into small ones; see batches.h
 *
 *      ROOT      1: ResourceSpans  '-> RESOURCE  1: Resource
 *                                                2: ScopeSpans  '-> SCOPE  2: Span
 *
 * Only what is around the spans is looked into; a span is read by who takes the batch.
 */
#include "import/traces/batches_inside.h"

enum {
    VARINT_BYTES_MAX = 10,
    RESOURCE_SPANS = 1,
    RESOURCE = 1,
    SCOPE_SPANS = 2,
    SPAN = 2,
    SCHEMA_URL = 3 /* of both: the last one that is known */
};

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* A field whose value is next. */
struct field {
    uint64_t tag;
    uint64_t bytes;
    bool has_bytes; /* it is no number */
};

/* --- Fields --- */

static cpt_status take_varint(struct cpti_window *window, uint64_t *number)
{
    *number = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        unsigned char byte = 0;

        if (window->at == window->end) {
            cpt_status status = CPT_OK;

            cpti_window_forget(window, window->at);
            status = cpti_window_fill(window);
            if (status != CPT_OK) {
                return status == CPT_END ? CPT_TRUNCATED : status;
            }
        }
        byte = (unsigned char)window->buffer[window->at++];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) {
            return CPT_CORRUPT; /* more than 64 bits */
        }
        *number |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            return CPT_OK;
        }
    }
    return CPT_CORRUPT;
}

static cpt_status pass(struct cpti_window *window, uint64_t bytes)
{
    cpt_status status = CPT_OK;

    while (status == CPT_OK && bytes > 0) {
        const size_t there = window->end - window->at;
        const size_t passed = bytes < there ? (size_t)bytes : there;

        window->at += passed;
        bytes -= passed;
        cpti_window_forget(window, window->at);
        status = bytes > 0 ? cpti_window_fill(window) : CPT_OK;
    }
    return status == CPT_END ? CPT_TRUNCATED : status;
}

/* Takes a value; of one that is too long the data is NULL. */
static cpt_status take_bytes(struct cpti_window *window, uint64_t bytes,
                             struct cpt_bytes *value)
{
    cpt_status status = CPT_OK;

    *value = (struct cpt_bytes){NULL, 0};
    if (bytes > CPTI_BATCHES_SPAN_BYTES_MAX) {
        return pass(window, bytes);
    }
    cpti_window_forget(window, window->at);
    status = cpti_window_need(window, (size_t)bytes);
    if (status != CPT_OK) {
        return status == CPT_END ? CPT_TRUNCATED : status;
    }
    *value = (struct cpt_bytes){window->buffer + window->start, (size_t)bytes};
    window->at += (size_t)bytes;
    return CPT_OK;
}

/* The next field of a message that ends at @end. */
static cpt_status next_field(struct cpti_reader *reader, uint64_t end,
                             struct field *field)
{
    uint64_t key = 0;
    uint64_t number = 0;
    cpt_status status = take_varint(&reader->scan.window, &key);

    *field = (struct field){.tag = key >> 3};
    if (status == CPT_OK) {
        switch (key & 7) {
        case WIRE_VARINT:
            status = take_varint(&reader->scan.window, &number);
            break;
        case WIRE_64:
            field->bytes = 8;
            break;
        case WIRE_32:
            field->bytes = 4;
            break;
        case WIRE_BYTES:
            field->has_bytes = true;
            status = take_varint(&reader->scan.window, &field->bytes);
            break;
        default:
            status = CPT_CORRUPT;
        }
    }
    if (status == CPT_OK &&
        (field->tag == 0 || key > UINT32_MAX || cpti_reader_offset(reader) > end ||
         field->bytes > end - cpti_reader_offset(reader))) {
        status = CPT_CORRUPT;
    }
    return status;
}

static cpt_status add_varint(struct cpti_buffer *buffer, uint64_t number)
{
    unsigned char bytes[VARINT_BYTES_MAX];
    size_t count = 0;

    do {
        bytes[count++] = (unsigned char)(number | 0x80);
        number >>= 7;
    } while (number != 0);
    bytes[count - 1] &= 0x7f;
    return cpti_buffer_add(buffer, bytes, count);
}

/* Adds the head of a field @tag of @bytes. */
static cpt_status add_head(struct cpti_buffer *buffer, unsigned tag, size_t bytes)
{
    const cpt_status status = add_varint(buffer, tag << 3 | WIRE_BYTES);

    return status == CPT_OK ? add_varint(buffer, bytes) : status;
}

static cpt_status add_field(struct cpti_buffer *buffer, unsigned tag,
                            struct cpt_bytes value)
{
    const cpt_status status = add_head(buffer, tag, value.bytes);

    return status == CPT_OK ? cpti_buffer_add(buffer, value.data, value.bytes) : status;
}

/* --- What is around spans --- */

static cpt_status take_resource(struct cpti_batches *batches,
                                struct cpti_reader *reader, uint64_t bytes)
{
    struct cpt_bytes value;
    cpt_status status = take_bytes(&reader->scan.window, bytes, &value);

    if (status != CPT_OK || value.data == NULL) {
        return status != CPT_OK ? status : CPT_LIMIT;
    }
    batches->has_resource = true;
    /* closes the spans before, which had another */
    status = cpti_batches_describe(batches, (struct cpt_bytes){"", 0});
    return status == CPT_OK ? add_field(&batches->resource, RESOURCE, value) : status;
}

/* Looks for the resource behind the spans; there may be several parts of it. */
static cpt_status find_resource(struct cpti_batches *batches)
{
    const uint64_t end = batches->ends[CPTI_IN_RESOURCE];
    struct cpti_reader *ahead = NULL;
    cpt_status status = cpti_batches_ahead(batches, batches->resource_offset, &ahead);

    while (status == CPT_OK && cpti_reader_offset(ahead) < end) {
        struct field field;

        status = next_field(ahead, end, &field);
        if (status == CPT_OK && field.has_bytes && field.tag == RESOURCE) {
            status = take_resource(batches, ahead, field.bytes);
        } else if (status == CPT_OK) {
            status = pass(&ahead->scan.window, field.bytes);
        }
    }
    batches->has_resource = true;
    return status;
}

static cpt_status enter(struct cpti_batches *batches, enum cpti_batches_level level,
                        uint64_t bytes)
{
    const uint64_t offset = cpti_reader_offset(&batches->reader);

    batches->level = level;
    batches->ends[level] = offset + bytes;
    if (level == CPTI_IN_RESOURCE) {
        batches->has_resource = false;
        batches->resource_offset = offset;
    }
    return CPT_OK;
}

static cpt_status take_span(struct cpti_batches *batches, uint64_t bytes)
{
    struct cpt_bytes span;
    const cpt_status status = take_bytes(&batches->reader.scan.window, bytes, &span);

    if (status == CPT_OK && span.data == NULL) {
        batches->refused++;
        return CPT_OK;
    }
    return status == CPT_OK ? add_field(&batches->spans, SPAN, span) : status;
}

/* Whether the body has ended. */
static cpt_status look_for_end(struct cpti_batches *batches, bool *is_end)
{
    struct cpti_window *window = &batches->reader.scan.window;
    cpt_status status = CPT_OK;

    if (window->at == window->end) {
        cpti_window_forget(window, window->at);
        status = cpti_window_fill(window);
    }
    *is_end = status == CPT_END;
    return *is_end ? CPT_OK : status;
}

static cpt_status step_root(struct cpti_batches *batches)
{
    struct cpti_reader *reader = &batches->reader;
    struct field field;
    bool is_end = false;
    cpt_status status = look_for_end(batches, &is_end);

    if (status != CPT_OK || is_end) {
        batches->level = is_end ? CPTI_AT_END : batches->level;
        return status;
    }
    status = next_field(reader, UINT64_MAX, &field);
    if (status != CPT_OK) {
        return status;
    }
    return field.has_bytes && field.tag == RESOURCE_SPANS
               ? enter(batches, CPTI_IN_RESOURCE, field.bytes)
               : pass(&reader->scan.window, field.bytes);
}

static cpt_status step_resource(struct cpti_batches *batches)
{
    struct cpti_reader *reader = &batches->reader;
    const uint64_t end = batches->ends[CPTI_IN_RESOURCE];
    struct field field;
    cpt_status status = CPT_OK;

    if (cpti_reader_offset(reader) == end) {
        batches->level = CPTI_IN_ROOT;
        return CPT_OK;
    }
    status = next_field(reader, end, &field);
    if (status != CPT_OK) {
        return status;
    }
    if (field.has_bytes && field.tag == RESOURCE && !batches->has_resource) {
        status = take_resource(batches, reader, field.bytes);
        batches->has_resource = false; /* more of it may follow */
        return status;
    }
    if (!field.has_bytes || field.tag != SCOPE_SPANS) {
        batches->unknown_fields += field.tag > SCHEMA_URL;
        return pass(&reader->scan.window, field.bytes);
    }
    if (!batches->has_resource && batches->resource.bytes == 0) {
        status = find_resource(batches);
    }
    batches->has_resource = true;
    return status == CPT_OK ? enter(batches, CPTI_IN_SCOPE, field.bytes) : status;
}

static cpt_status step_scope(struct cpti_batches *batches)
{
    struct cpti_reader *reader = &batches->reader;
    const uint64_t end = batches->ends[CPTI_IN_SCOPE];
    struct field field;
    cpt_status status = CPT_OK;

    if (cpti_reader_offset(reader) == end) {
        batches->level = CPTI_IN_RESOURCE;
        return CPT_OK;
    }
    status = next_field(reader, end, &field);
    if (status != CPT_OK) {
        return status;
    }
    batches->unknown_fields += field.tag > SCHEMA_URL;
    return field.has_bytes && field.tag == SPAN
               ? take_span(batches, field.bytes)
               : pass(&reader->scan.window, field.bytes);
}

cpt_status cpti_batches_protobuf_step(struct cpti_batches *batches)
{
    switch (batches->level) {
    case CPTI_AT_FIRST:
    case CPTI_IN_ROOT:
        return step_root(batches);
    case CPTI_IN_RESOURCE:
        return step_resource(batches);
    case CPTI_IN_SCOPE:
        return step_scope(batches);
    default:
        return CPT_OK;
    }
}

/* --- Batches --- */

static size_t varint_bytes(uint64_t number)
{
    size_t bytes = 1;

    for (; number > 0x7f; number >>= 7) {
        bytes++;
    }
    return bytes;
}

cpt_status cpti_batches_protobuf_close(struct cpti_batches *batches)
{
    const struct cpt_bytes spans = {batches->spans.data, batches->spans.bytes};
    struct cpti_buffer *batch = &batches->batch;
    cpt_status status =
        add_head(batch, RESOURCE_SPANS,
                 batches->resource.bytes + 1 + varint_bytes(spans.bytes) + spans.bytes);

    if (status == CPT_OK) {
        status =
            cpti_buffer_add(batch, batches->resource.data, batches->resource.bytes);
    }
    return status == CPT_OK ? add_field(batch, SCOPE_SPANS, spans) : status;
}
