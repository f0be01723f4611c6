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
 * instrumentationLibrarySpans. (OpenTelemetry protocol 1.x, "JSON Protobuf encoding".)
 */
#include "cpt/import/formats.h"

static struct cpti_doc_value value_of(struct cpti_doc_value any)
{
    static const char *const names[] = {"stringValue", "intValue", "boolValue"};
    struct cpti_doc_value value = {NULL, 0};

    for (size_t i = 0; i < sizeof names / sizeof *names && value.owner == NULL; i++) {
        value = cpti_doc_get(any, names[i]);
    }
    return value;
}

/* What spans of @resource have in common: their service, and whose clock. */
static struct cpti_span read_resource(struct cpti_doc_value resource)
{
    struct cpti_span common = {.id = {"", 0}};
    struct cpti_doc_member member;
    unsigned best = 0;

    for (bool is = cpti_doc_first(cpti_doc_get(resource, "attributes"), &member); is;
         is = cpti_doc_next(&member)) {
        const struct cpt_bytes key = cpti_doc_string(cpti_doc_get(member.value, "key"));
        const struct cpt_bytes value =
            cpti_doc_string(value_of(cpti_doc_get(member.value, "value")));
        const unsigned rank = cpti_names_host(key);

        if (cpti_is_key(key, "service.name")) {
            common.service = value;
        } else if (rank > best && value.bytes > 0) {
            best = rank;
            common.host = value;
        }
    }
    return common;
}

static void read_attributes(struct cpti_doc_value attributes, struct cpti_span *span)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(attributes, &member); is;
         is = cpti_doc_next(&member)) {
        cpti_read_attribute(span, cpti_doc_string(cpti_doc_get(member.value, "key")),
                            value_of(cpti_doc_get(member.value, "value")));
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

static cpt_status read_span(struct cpti_doc_value json, struct cpti_span span,
                            struct cpti_sink *sink)
{
    struct cpt_bytes trace = {"", 0};
    struct cpti_doc_member member;
    uint64_t end_ns = 0;
    bool has_start = false;
    bool has_end = false;

    for (bool is = cpti_doc_first(json, &member); is; is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "spanId")) {
            span.id = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "traceId")) {
            trace = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "parentSpanId")) {
            span.parent = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "name")) {
            span.operation = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "kind")) {
            span.kind = kind_of(member.value);
        } else if (cpti_is_key(member.key, "startTimeUnixNano")) {
            has_start = cpti_read_time(member.value, 1, &span.start_ns);
        } else if (cpti_is_key(member.key, "endTimeUnixNano")) {
            has_end = cpti_read_time(member.value, 1, &end_ns);
        } else if (cpti_is_key(member.key, "traceState")) {
            span.rejected = cpti_read_tracestate(cpti_doc_string(member.value));
        } else if (cpti_is_key(member.key, "attributes")) {
            read_attributes(member.value, &span);
        } else if (cpti_is_key(member.key, "status")) {
            span.is_failed |= is_error(member.value);
        }
    }
    /* a span without an end has not ended */
    span.has_time = has_start && has_end && end_ns >= span.start_ns && end_ns != 0;
    span.duration_ns = span.has_time ? end_ns - span.start_ns : 0;
    return cpti_sink_take(sink, trace, &span);
}

static cpt_status read_scopes(struct cpti_doc_value scopes,
                              const struct cpti_span *common, struct cpti_sink *sink)
{
    struct cpti_doc_member scope;
    struct cpti_doc_member span;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(scopes, &scope); is && status == CPT_OK;
         is = cpti_doc_next(&scope)) {
        for (bool has = cpti_doc_first(cpti_doc_get(scope.value, "spans"), &span);
             has && status == CPT_OK; has = cpti_doc_next(&span)) {
            status = read_span(span.value, *common, sink);
        }
    }
    return status;
}

/* Those of @resource, in the order of the text. */
static cpt_status read_resource_spans(struct cpti_doc_value resource,
                                      struct cpti_sink *sink)
{
    const struct cpti_span common = read_resource(cpti_doc_get(resource, "resource"));
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(resource, &member); is && status == CPT_OK;
         is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "scopeSpans") ||
            cpti_is_key(member.key, "instrumentationLibrarySpans")) {
            status = read_scopes(member.value, &common, sink);
        }
    }
    return status;
}

cpt_status cpti_otlp_request(struct cpti_doc_value request, struct cpti_sink *sink)
{
    struct cpti_doc_member member;
    cpt_status status = CPT_OK;

    for (bool is = cpti_doc_first(cpti_doc_get(request, "resourceSpans"), &member);
         is && status == CPT_OK; is = cpti_doc_next(&member)) {
        status = read_resource_spans(member.value, sink);
    }
    return status;
}
