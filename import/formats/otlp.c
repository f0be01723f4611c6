/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * otlp.c - spans as OpenTelemetry's collector writes them to files
 *
 *      {"resourceSpans": [{
 *          "resource": {"attributes": [{"key": "service.name",
 *                                       "value": {"stringValue": "front"}}]},
 *          "scopeSpans": [{"spans": [{
 *              "traceId": "5B8EFF...", "spanId": "EEE19B...", "parentSpanId": "...",
 *              "name": "GET /", "kind": 2,
 *              "startTimeUnixNano": "1544712660000000000",
 *              "endTimeUnixNano": "1544712661000000000",
 *              "status": {"code": 2}}]}]}]}
 *
 * Numbers of 64 bits are strings, or numbers from some writers. Older writers say
 * instrumentationLibrarySpans. Ids are hexadecimal, but those who use the JSON of
 * protobuf as it is write them in base64. (OpenTelemetry protocol 1.x, "JSON Protobuf
 * encoding".)
 *
 * Tempo and Jaeger answer the same spans within something else:
 *
 *      {"batches": [{"resource": ...}]}
 *      {"trace": {"resourceSpans": [{"resource": ...}]}, "status": "COMPLETE"}
 *      {"result": {"resourceSpans": [{"resource": ...}]}}
 */
#include "import/formats/formats.h"
#include "import/formats/ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRACE_DIGITS = 32, SPAN_DIGITS = 16, IDS = 3 /* of a span */ };

/* Whether @text is a whole number, as protobuf writes those of 64 bits to JSON. */
static bool read_integer(struct cpt_bytes text, int64_t *number)
{
    char digits[24];
    char *end = digits;

    if (text.bytes == 0 || text.bytes >= sizeof digits ||
        (*text.data != '-' && (*text.data < '0' || *text.data > '9'))) {
        return false;
    }
    (void)snprintf(digits, sizeof digits, "%.*s", (int)text.bytes, text.data);
    errno = 0;
    *number = strtoll(digits, &end, 10);
    return errno == 0 && end == digits + text.bytes;
}

static struct cpti_doc_value value_of(struct cpti_doc_value any)
{
    static const char *const names[] = {"stringValue", "intValue", "boolValue"};
    struct cpti_doc_value value = {NULL, 0};

    for (size_t i = 0; i < sizeof names / sizeof *names && value.owner == NULL; i++) {
        value = cpti_doc_get(any, names[i]);
    }
    return value;
}

/* Notes attribute @key, of which the value is @any, if it is asked for. */
static void read_tag(const struct cpti_sink *sink, struct cpti_tag **tags,
                     struct cpt_bytes key, struct cpti_doc_value any,
                     bool is_of_process)
{
    const struct cpti_doc_value whole = cpti_doc_get(any, "intValue");
    struct cpti_tag_value value = {.type = CPTI_TAG_INTEGER, .text = {"", 0}};
    uint32_t number = 0;

    if (sink->tagging == NULL || !cpti_tagging_has(sink->tagging, key, &number)) {
        return;
    }
    if (read_integer(cpti_doc_string(whole), &value.integer)) {
        cpti_tag_note(sink->tagging, tags, number, value, is_of_process);
    } else if (cpti_doc_type(whole) != CPTI_DOC_STRING) {
        const struct cpti_doc_value real = cpti_doc_get(any, "doubleValue");

        cpti_read_tag(sink, tags, key, real.owner != NULL ? real : value_of(any),
                      is_of_process);
    }
}

/* What spans of @resource have in common: their service, and whose clock. One that says
 * nothing is a process, too. */
static struct cpti_span read_resource(struct cpti_doc_value resource,
                                      const struct cpti_sink *sink)
{
    struct cpti_process process = {.service = {"", 0}, .is_known = true};
    struct cpti_span common = {.id = {"", 0}};
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(cpti_doc_get(resource, "attributes"), &member); is;
         is = cpti_doc_next(&member)) {
        const struct cpt_bytes key = cpti_doc_string(cpti_doc_get(member.value, "key"));
        const struct cpti_doc_value any = cpti_doc_get(member.value, "value");

        cpti_process_read(&process, key, value_of(any));
        read_tag(sink, &process.tags, key, any, true);
    }
    cpti_process_give(&process, &common);
    return common;
}

static void read_attributes(struct cpti_doc_value attributes, struct cpti_span *span,
                            const struct cpti_sink *sink)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(attributes, &member); is;
         is = cpti_doc_next(&member)) {
        const struct cpt_bytes key = cpti_doc_string(cpti_doc_get(member.value, "key"));
        const struct cpti_doc_value any = cpti_doc_get(member.value, "value");

        cpti_read_attribute(span, key, value_of(any));
        read_tag(sink, &span->tags, key, any, false);
    }
}

static unsigned char kind_of(struct cpti_doc_value value)
{
    int64_t number = 0;

    if (cpti_doc_integer(value, &number)) {
        return number > 0 && number <= CPTI_SPAN_CONSUMER ? (unsigned char)number
                                                          : CPTI_SPAN_UNKNOWN;
    }
    return cpti_read_kind(cpti_doc_string(value));
}

static bool is_error(struct cpti_doc_value status)
{
    enum { ERROR = 2 };
    const struct cpti_doc_value code = cpti_doc_get(status, "code");
    int64_t number = 0;

    return (cpti_doc_integer(code, &number) && number == ERROR) ||
           cpti_is_key(cpti_doc_string(code), "STATUS_CODE_ERROR");
}

/* Whether a span may have member @key, which says nothing of a path. */
static bool is_passed_over(struct cpt_bytes key)
{
    return cpti_is_key(key, "flags") || cpti_is_key(key, "events") ||
           cpti_is_key(key, "links") || cpti_is_key(key, "droppedAttributesCount") ||
           cpti_is_key(key, "droppedEventsCount") ||
           cpti_is_key(key, "droppedLinksCount");
}

/* The ids of a span, and where they go if they are in base64. */
struct ids {
    struct cpt_bytes trace;
    char texts[IDS][CPTI_ID_DIGITS_MAX];
};

/* Hands on @span, whose ids may be in base64. Its '=' at the end shows it, or what the
 * id of the trace, which is long, has beside digits. Where that has none, it is as
 * those before in the file. */
static cpt_status take_encoded(struct ids *ids, struct cpti_span *span,
                               struct cpti_sink *sink)
{
    struct cpt_bytes *all[IDS] = {&ids->trace, &span->id, &span->parent};
    const enum cpti_id_form form = cpti_id_form(ids->trace);
    const bool is_encoded =
        form >= CPTI_ID_BASE64 || (form == CPTI_ID_AMBIGUOUS && sink->has_base64);

    for (size_t i = 0; i < IDS; i++) {
        if (is_encoded || cpti_id_form(*all[i]) == CPTI_ID_PADDED) {
            *all[i] = cpti_id_digits(*all[i], ids->texts[i]);
        }
    }
    sink->has_base64 |= is_encoded;
    return cpti_sink_take(sink, ids->trace, span);
}

static cpt_status take_span(struct ids *ids, struct cpti_span *span,
                            struct cpti_sink *sink)
{
    return ids->trace.bytes == TRACE_DIGITS && span->id.bytes == SPAN_DIGITS &&
                   (span->parent.bytes == SPAN_DIGITS || span->parent.bytes == 0)
               ? cpti_sink_take(sink, ids->trace, span)
               : take_encoded(ids, span, sink);
}

static cpt_status read_span(struct cpti_doc_value json, struct cpti_span span,
                            struct cpti_sink *sink)
{
    struct ids ids;
    struct cpti_doc_member member;
    uint64_t end_ns = 0;

    ids.trace = cpt_bytes_of("");
    for (bool is = cpti_doc_first(json, &member); is; is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "spanId")) {
            span.id = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "traceId")) {
            ids.trace = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "parentSpanId")) {
            span.parent = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "name")) {
            span.operation = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "kind")) {
            span.kind = kind_of(member.value);
        } else if (cpti_is_key(member.key, "startTimeUnixNano")) {
            span.has_start = cpti_read_time(member.value, 1, &span.start_ns);
        } else if (cpti_is_key(member.key, "endTimeUnixNano")) {
            (void)cpti_read_time(member.value, 1, &end_ns);
        } else if (cpti_is_key(member.key, "traceState")) {
            span.rejected = cpti_read_tracestate(cpti_doc_string(member.value));
        } else if (cpti_is_key(member.key, "attributes")) {
            read_attributes(member.value, &span, sink);
        } else if (cpti_is_key(member.key, "status")) {
            span.is_failed |= is_error(member.value);
        } else {
            sink->unknown_fields += !is_passed_over(member.key);
        }
    }
    cpti_read_end(&span, end_ns);
    return take_span(&ids, &span, sink);
}

static cpt_status read_spans(struct cpti_doc_value spans,
                             const struct cpti_span *common, struct cpti_sink *sink)
{
    struct cpti_doc_member span;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(spans, &span); is && status == CPT_OK;
         is = cpti_doc_next(&span)) {
        status = read_span(span.value, *common, sink);
    }
    return status;
}

static cpt_status read_scope(struct cpti_doc_value scope,
                             const struct cpti_span *common, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(scope, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "spans")) {
            status = read_spans(member.value, common, sink);
        } else if (!cpti_is_key(member.key, "scope") &&
                   !cpti_is_key(member.key, "schemaUrl") &&
                   !cpti_is_key(member.key, "instrumentationLibrary")) {
            cpti_sink_unknown(sink);
        }
    }
    return status;
}

static cpt_status read_scopes(struct cpti_doc_value scopes,
                              const struct cpti_span *common, struct cpti_sink *sink)
{
    struct cpti_doc_member scope;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(scopes, &scope); is && status == CPT_OK;
         is = cpti_doc_next(&scope)) {
        status = read_scope(scope.value, common, sink);
    }
    return status;
}

/* Those of @resource, in the order of the text. */
static cpt_status read_resource_spans(struct cpti_doc_value resource,
                                      struct cpti_sink *sink)
{
    const struct cpti_span common =
        read_resource(cpti_doc_get(resource, "resource"), sink);
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(resource, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "scopeSpans") ||
            cpti_is_key(member.key, "instrumentationLibrarySpans")) {
            status = read_scopes(member.value, &common, sink);
        } else if (!cpti_is_key(member.key, "resource") &&
                   !cpti_is_key(member.key, "schemaUrl")) {
            cpti_sink_unknown(sink);
        }
    }
    return status;
}

static cpt_status read_list(struct cpti_doc_value list, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(list, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        status = read_resource_spans(member.value, sink);
    }
    return status;
}

cpt_status cpti_otlp_request(struct cpti_doc_value request, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(request, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "resourceSpans")) {
            status = read_list(member.value, sink);
        } else {
            sink->unknown_fields += !cpti_otlp_is_signal(member.key);
        }
    }
    return status;
}

bool cpti_otlp_is_signal(struct cpt_bytes key)
{
    return cpti_is_key(key, "resourceMetrics") || cpti_is_key(key, "resourceLogs") ||
           cpti_is_key(key, "resourceProfiles");
}

bool cpti_otlp_is_list(struct cpt_bytes key)
{
    return cpti_is_key(key, "resourceSpans") || cpti_is_key(key, "batches");
}

bool cpti_otlp_is_around(struct cpt_bytes key)
{
    return cpti_is_key(key, "result") || cpti_is_key(key, "trace");
}

/* The spans of @object, which an answer is or has within. */
static cpt_status read_lists(struct cpti_doc_value object, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(object, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_otlp_is_list(member.key)) {
            status = read_list(member.value, sink);
        }
    }
    return status;
}

cpt_status cpti_otlp_answer(struct cpti_doc_value answer, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(answer, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_otlp_is_list(member.key)) {
            status = read_list(member.value, sink);
        } else if (cpti_otlp_is_around(member.key)) {
            status = read_lists(member.value, sink);
        }
    }
    return status;
}
