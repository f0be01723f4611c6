/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* spans_out.c - simulated requests as Jaeger's JSON; see spans_out.h */
#include "tests/models/spans_out.h"

#include "tests/models/events.h"
#include "tests/models/system.h"

#include <inttypes.h>
#include <string.h>

int64_t span_epoch_us(double start_s)
{
    return INT64_C(1700000000) * 1000000 + (int64_t)(start_s * 1e6);
}

int span_begin(struct request *request, const struct span *span)
{
    if (request->span_count == request->span_capacity) {
        struct span *spans = NULL;

        request->span_capacity = request->span_count > 0 ? 2 * request->span_count : 16;
        spans = model_alloc((size_t)request->span_capacity * sizeof *spans);
        if (request->span_count > 0) {
            memcpy(spans, request->spans, (size_t)request->span_count * sizeof *spans);
        }
        request->spans = spans;
    }
    request->spans[request->span_count] = *span;
    request->spans[request->span_count].start_ns = now_ns();
    request->spans[request->span_count].end_ns = -1;
    return request->span_count++;
}

void span_end(struct request *request, int number, int64_t end_ns, bool is_failed)
{
    request->spans[number].end_ns = end_ns;
    request->spans[number].is_failed |= is_failed;
}

/* The upper half tells the user; see log_users.c. */
static void put_id(FILE *file, const struct spans_out *out,
                   const struct request *request)
{
    fputs("\"traceID\":\"", file);
    if (out->has_tenant) {
        fprintf(file, "%016x", (unsigned)request->tenant);
    }
    fprintf(file, "%08" PRIx64 "%08" PRIx64 "\"", out->run, request->number + 1);
}

static void put_tags(const struct spans_out *out, const struct request *request,
                     const struct span *span)
{
    static const char *const words[] = {"", "client", "server", "producer", "consumer"};
    const char *comma = "";

    fputs(",\"tags\":[", out->file);
    if (out->has_sides && span->side != SIDE_NONE) {
        fprintf(out->file,
                "{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"%s\"}",
                words[span->side]);
        comma = ",";
    }
    if (span->is_failed) {
        fprintf(out->file, "%s{\"key\":\"error\",\"type\":\"bool\",\"value\":true}",
                comma);
        comma = ",";
    }
    if (out->has_sides && span->peer >= 0) {
        fprintf(out->file,
                "%s{\"key\":\"peer.service\",\"type\":\"string\",\"value\":\"svc%d\"}",
                comma, span->peer);
        comma = ",";
    }
    if (out->has_tenant && span->parent == NO_SPAN) {
        fprintf(out->file, "%s{\"key\":\"user\",\"type\":\"string\",\"value\":\"u%d\"}",
                comma, request->tenant);
    }
    fputs("]", out->file);
}

static void put_span(const struct spans_out *out, const struct request *request,
                     int number)
{
    const struct span *span = &request->spans[number];
    const int64_t start_us = span_epoch_us(out->start_s);

    fputs("{", out->file);
    put_id(out->file, out, request);
    fprintf(out->file, ",\"spanID\":\"%x\",\"operationName\":\"%s\",\"references\":[",
            (unsigned)number + 1, span->operation);
    if (span->parent != NO_SPAN) {
        fprintf(out->file, "{\"refType\":\"%s\",",
                span->side == SIDE_CONSUMER ? "FOLLOWS_FROM" : "CHILD_OF");
        put_id(out->file, out, request);
        fprintf(out->file, ",\"spanID\":\"%x\"}", (unsigned)span->parent + 1);
    }
    fprintf(out->file, "],\"startTime\":%" PRId64 ",\"duration\":%" PRId64,
            start_us + span->start_ns / 1000,
            span->end_ns / 1000 - span->start_ns / 1000);
    put_tags(out, request, span);
    fprintf(out->file, ",\"processID\":\"p%d_%d\"}", span->service, span->replica);
}

static void put_processes(const struct spans_out *out, const struct request *request)
{
    bool met[SERVICES_MAX][REPLICAS_MAX] = {{false}};
    const char *comma = "";

    for (int i = 0; i < request->span_count; i++) {
        const struct span *span = &request->spans[i];

        if (span->end_ns < 0 || met[span->service][span->replica]) {
            continue;
        }
        met[span->service][span->replica] = true;
        fprintf(out->file, "%s\"p%d_%d\":{\"serviceName\":\"svc%d\",\"tags\":[", comma,
                span->service, span->replica, span->service);
        if (out->has_hosts) {
            fprintf(out->file,
                    "{\"key\":\"hostname\",\"type\":\"string\",\"value\":\"svc%d-%d\"}",
                    span->service, span->replica);
        }
        fputs("]}", out->file);
        comma = ",";
    }
}

void spans_out_request(struct spans_out *out, const struct request *request)
{
    const char *comma = "";

    fputs(out->is_begun ? ",\n{" : "{\"data\":[\n{", out->file);
    out->is_begun = true;
    put_id(out->file, out, request);
    fputs(",\"spans\":[", out->file);
    for (int i = 0; i < request->span_count; i++) {
        if (request->spans[i].end_ns >= 0) {
            fputs(comma, out->file);
            put_span(out, request, i);
            comma = ",";
        }
    }
    fputs("],\"processes\":{", out->file);
    put_processes(out, request);
    fputs("}}", out->file);
}

void spans_out_end(struct spans_out *out)
{
    fputs(out->is_begun ? "]}\n" : "{\"data\":[]}\n", out->file);
}
