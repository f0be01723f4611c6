/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * zipkin.c - spans as Zipkin writes them, version 2
 *
 *      {"traceId": "5a", "id": "b3", "parentId": "a1", "kind": "SERVER",
 *       "name": "get /", "timestamp": 1521186011926119, "duration": 2839,
 *       "shared": true,
 *       "localEndpoint": {"serviceName": "front"},
 *       "remoteEndpoint": {"serviceName": "db"}, "tags": {"error": "..."}}
 *
 * Times are microseconds; both may be missing. The sides of a call may have one id
 * (span_ids.c); "shared" is what the called side says then. An endpoint's address
 * ("ipv4", "ipv6") stands for a clock.
 *
 * Version 1 has no "localEndpoint": a span's sides, their times and services are in
 * annotations ("cs", "sr", ...), which have endpoints. It is refused, as read like
 * version 2 it has calls without services.
 */
#include "import/formats/formats.h"

#include <limits.h>

static const uint64_t ns_per_us = 1000;

static struct cpt_bytes service_of(struct cpti_doc_value endpoint)
{
    return cpti_doc_string(cpti_doc_get(endpoint, "serviceName"));
}

/* Whose the spans of @endpoint are. Without an address its service and port tell it. */
static struct cpti_process process_of(struct cpti_doc_value endpoint)
{
    struct cpti_process process = {.service = {"", 0}};

    cpti_process_read(&process, cpt_bytes_of("port"), cpti_doc_get(endpoint, "port"));
    cpti_process_read(&process, cpt_bytes_of("service.name"),
                      cpti_doc_get(endpoint, "serviceName"));
    process.host = cpti_doc_string(cpti_doc_get(endpoint, "ipv4"));
    if (process.host.bytes == 0) {
        process.host = cpti_doc_string(cpti_doc_get(endpoint, "ipv6"));
    }
    return process;
}

static void read_tags(struct cpti_doc_value tags, struct cpti_span *span,
                      const struct cpti_sink *sink)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(tags, &member); is; is = cpti_doc_next(&member)) {
        cpti_read_attribute(span, member.key, member.value);
        cpti_read_tag(sink, &span->tags, member.key, member.value, false);
    }
}

/* Whether the first of @annotations has what only those of version 1 have. */
static bool have_endpoints(struct cpti_doc_value annotations)
{
    struct cpti_doc_member first;

    return cpti_doc_first(annotations, &first) &&
           cpti_doc_type(cpti_doc_get(first.value, "endpoint")) != CPTI_DOC_NONE;
}

cpt_status cpti_zipkin_span(struct cpti_doc_value json, struct cpti_sink *sink)
{
    struct cpti_span span = {.id = {"", 0}};
    struct cpt_bytes trace = {"", 0};
    struct cpt_bytes remote = {"", 0};
    struct cpti_doc_member member;
    bool is_version_1 = false;
    bool is_shared = false;
    bool has_local = false;

    for (bool is = cpti_doc_first(json, &member); is; is = cpti_doc_next(&member)) {
        if (cpti_is_key(member.key, "id")) {
            span.id = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "traceId")) {
            trace = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "parentId")) {
            span.parent = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "name")) {
            span.operation = cpti_doc_string(member.value);
        } else if (cpti_is_key(member.key, "kind")) {
            span.kind = cpti_read_kind(cpti_doc_string(member.value));
        } else if (cpti_is_key(member.key, "shared")) {
            is_shared = cpti_doc_is_true(member.value);
        } else if (cpti_is_key(member.key, "timestamp")) {
            span.has_start = cpti_read_time(member.value, ns_per_us, &span.start_ns);
        } else if (cpti_is_key(member.key, "duration")) {
            span.has_duration =
                cpti_read_time(member.value, ns_per_us, &span.duration_ns);
        } else if (cpti_is_key(member.key, "localEndpoint")) {
            const struct cpti_process process = process_of(member.value);

            has_local = true;
            cpti_process_give(&process, &span);
        } else if (cpti_is_key(member.key, "remoteEndpoint")) {
            remote = service_of(member.value);
        } else if (cpti_is_key(member.key, "tags")) {
            read_tags(member.value, &span, sink);
        } else if (cpti_is_key(member.key, "annotations")) {
            is_version_1 |= have_endpoints(member.value);
        } else if (cpti_is_key(member.key, "binaryAnnotations")) {
            is_version_1 = true;
        }
    }
    if (is_version_1 && !has_local) {
        return CPT_VERSION;
    }
    if (is_shared && span.kind == CPTI_SPAN_UNKNOWN) {
        span.kind = CPTI_SPAN_SERVER;
    }
    if (remote.bytes > 0) {
        span.peer = remote;
        span.peer_rank = UCHAR_MAX; /* better than any tag */
    }
    span.has_time = span.has_start && span.has_duration;
    return cpti_sink_take(sink, trace, &span);
}
