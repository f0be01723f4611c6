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
 * Times are microseconds; both may be missing. The two sides of a call may have one id
 * (spans.h). An endpoint's address ("ipv4", "ipv6") stands for a clock.
 */
#include "cpt/import/formats.h"

static const uint64_t ns_per_us = 1000;

static struct cpt_bytes service_of(struct cpti_doc_value endpoint)
{
    return cpti_doc_string(cpti_doc_get(endpoint, "serviceName"));
}

static struct cpt_bytes host_of(struct cpti_doc_value endpoint)
{
    const struct cpt_bytes host = cpti_doc_string(cpti_doc_get(endpoint, "ipv4"));

    return host.bytes > 0 ? host : cpti_doc_string(cpti_doc_get(endpoint, "ipv6"));
}

static void read_tags(struct cpti_doc_value tags, struct cpti_span *span)
{
    struct cpti_doc_member member;

    for (bool is = cpti_doc_first(tags, &member); is; is = cpti_doc_next(&member)) {
        cpti_read_attribute(span, member.key, member.value);
    }
}

cpt_status cpti_zipkin_span(struct cpti_doc_value json, struct cpti_sink *sink)
{
    struct cpti_span span = {.id = {"", 0}};
    struct cpt_bytes trace = {"", 0};
    struct cpt_bytes remote = {"", 0};
    struct cpti_doc_member member;
    bool has_start = false;
    bool has_duration = false;

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
        } else if (cpti_is_key(member.key, "timestamp")) {
            has_start = cpti_read_time(member.value, ns_per_us, &span.start_ns);
        } else if (cpti_is_key(member.key, "duration")) {
            has_duration = cpti_read_time(member.value, ns_per_us, &span.duration_ns);
        } else if (cpti_is_key(member.key, "localEndpoint")) {
            span.service = service_of(member.value);
            span.host = host_of(member.value);
        } else if (cpti_is_key(member.key, "remoteEndpoint")) {
            remote = service_of(member.value);
        } else if (cpti_is_key(member.key, "tags")) {
            read_tags(member.value, &span);
        }
    }
    if (remote.bytes > 0) {
        span.peer = remote;
    }
    span.has_time = has_start && has_duration;
    return cpti_sink_take(sink, trace, &span);
}
