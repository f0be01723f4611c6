/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * otlp_protobuf.c - spans as they are sent to OpenTelemetry's collector, in protobuf
 *
 *      Traces > ResourceSpans > ScopeSpans > Span > KeyValue > AnyValue
 *                    '> Resource > KeyValue (service.name, host)
 *
 * By nanopb's reader of fields, not by its reader of messages, which would copy: here
 * all texts stay where they are. Each message is a range of the bytes that its parent
 * has checked; the depth is that of the schema, so nothing recurses. Fields come in any
 * order, and may come twice: then the last one counts. A resource may come behind its
 * spans, so it is looked for first.
 */
#include "cpt/import/formats.h"

#include <pb_decode.h>

#include "otlp_trace.pb.h"

enum { TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8, STATUS_ERROR = 2 };

/* A message that is being read, and the field at hand. */
struct fields {
    pb_istream_t stream;
    const char *end;
    const char *damaged; /* where it is no protobuf, or NULL */
    uint32_t tag;
    pb_wire_type_t type;
};

static struct fields fields_of(struct cpt_bytes message)
{
    return (struct fields){.stream = pb_istream_from_buffer(
                               (const pb_byte_t *)message.data, message.bytes),
                           .end = message.data + message.bytes};
}

/* Notes where it went wrong; false. */
static bool fail(struct fields *fields)
{
    fields->damaged = fields->end - fields->stream.bytes_left;
    return false;
}

/* The next field, whose value is to be read or passed. false: there is none. */
static bool next(struct fields *fields)
{
    bool is_end = false;

    if (fields->damaged != NULL) {
        return false;
    }
    if (pb_decode_tag(&fields->stream, &fields->type, &fields->tag, &is_end) &&
        fields->tag != 0) {
        return true;
    }
    return !is_end && fail(fields);
}

static void pass(struct fields *fields)
{
    if (!pb_skip_field(&fields->stream, fields->type)) {
        (void)fail(fields);
    }
}

/* The value as bytes, borrowed. false, and passed: it is of another type. */
static bool take_bytes(struct fields *fields, struct cpt_bytes *bytes)
{
    uint64_t count = 0;

    if (fields->type != PB_WT_STRING) {
        pass(fields);
        return false;
    }
    if (!pb_decode_varint(&fields->stream, &count) ||
        count > fields->stream.bytes_left) {
        return fail(fields);
    }
    *bytes = (struct cpt_bytes){fields->end - fields->stream.bytes_left, (size_t)count};
    return pb_read(&fields->stream, NULL, (size_t)count) || fail(fields);
}

static bool take_number(struct fields *fields, uint64_t *number)
{
    if (fields->type == PB_WT_VARINT) {
        return pb_decode_varint(&fields->stream, number) || fail(fields);
    }
    if (fields->type == PB_WT_64BIT) {
        return pb_decode_fixed64(&fields->stream, number) || fail(fields);
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

/* Reads the attribute at hand. false: it is none, and passed. */
static bool take_attribute(struct fields *above, struct cpt_bytes *key,
                           struct cpti_attribute *value)
{
    struct cpt_bytes message = {"", 0};
    struct fields fields;
    struct cpt_bytes found = {"", 0};

    *key = (struct cpt_bytes){"", 0};
    *value = (struct cpti_attribute){.text = {"", 0}};
    if (!take_bytes(above, &message)) {
        return false;
    }
    fields = fields_of(message);
    while (next(&fields)) {
        if (fields.tag == cpti_otlp_KeyValue_key_tag) {
            (void)take_bytes(&fields, key);
        } else if (fields.tag == cpti_otlp_KeyValue_value_tag) {
            if (take_bytes(&fields, &found)) {
                *value = read_value(&fields, found);
            }
        } else {
            pass(&fields);
        }
    }
    hand_up(above, &fields);
    return above->damaged == NULL;
}

/* The service that a Resource names, and whose clock its spans have. */
static void read_resource(struct fields *above, struct cpt_bytes message,
                          struct cpti_span *common)
{
    unsigned best = 0;
    struct fields fields = fields_of(message);
    struct cpti_attribute value;
    struct cpt_bytes key;

    while (next(&fields)) {
        if (fields.tag != cpti_otlp_Resource_attributes_tag) {
            pass(&fields);
        } else if (take_attribute(&fields, &key, &value)) {
            const unsigned rank = cpti_names_host(key);

            if (cpti_is_key(key, "service.name")) {
                common->service = value.text;
            } else if (rank > best && value.text.bytes > 0) {
                best = rank;
                common->host = value.text;
            }
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
    struct cpti_span span;
};

static struct cpt_bytes hex_of(struct cpt_bytes id, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < id.bytes; i++) {
        const unsigned char byte = (unsigned char)id.data[i];

        text[2 * i] = digits[byte >> 4];
        text[2 * i + 1] = digits[byte & 0xf];
    }
    return (struct cpt_bytes){text, 2 * id.bytes};
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

static void read_span_field(struct fields *fields, struct raw_span *raw)
{
    struct cpt_bytes text = {"", 0};
    struct cpti_attribute value;
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
        if (take_attribute(fields, &text, &value)) {
            cpti_note_attribute(&raw->span, text, value);
        }
        break;
    case cpti_otlp_Span_status_tag:
        read_status(fields, &raw->span);
        break;
    default:
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
        read_span_field(&fields, &raw);
    }
    hand_up(above, &fields);
    if (above->damaged != NULL) {
        return CPT_OK;
    }
    if (raw.trace.bytes != TRACE_ID_BYTES || raw.id.bytes != SPAN_ID_BYTES ||
        (raw.parent.bytes != 0 && raw.parent.bytes != SPAN_ID_BYTES)) {
        sink->refused++;
        return CPT_OK;
    }
    trace = hex_of(raw.trace, ids);
    span->id = hex_of(raw.id, ids + (size_t)2 * TRACE_ID_BYTES);
    span->parent =
        hex_of(raw.parent, ids + (size_t)2 * (TRACE_ID_BYTES + SPAN_ID_BYTES));
    /* a span without an end has not ended */
    span->has_time = raw.end_ns >= span->start_ns && raw.end_ns != 0;
    span->duration_ns = span->has_time ? raw.end_ns - span->start_ns : 0;
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
    struct cpti_span common = {.id = {"", 0}};
    struct cpt_bytes found = {"", 0};
    cpt_status status = CPT_OK;

    while (next(&fields)) {
        if (fields.tag != cpti_otlp_ResourceSpans_resource_tag) {
            pass(&fields);
        } else if (take_bytes(&fields, &found)) {
            read_resource(&fields, found, &common);
        }
    }
    hand_up(above, &fields);
    if (above->damaged != NULL) {
        return CPT_OK;
    }
    fields = fields_of(message);
    while (status == CPT_OK && next(&fields)) {
        if (fields.tag != cpti_otlp_ResourceSpans_scope_spans_tag) {
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
