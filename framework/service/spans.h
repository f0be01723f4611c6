/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* spans.h - the spans of a traced request; see spans.c and span_lines.c. */
#ifndef CPT_SPANS_H
#define CPT_SPANS_H

#include "framework/cpt_rpc.h"
#include "cpt/base/json_text.h"
#include "framework/service/log/log_queue.h"
#include "wire/cpt_metadata.h"

struct cpt_request;
struct cpt_trace_call;
struct cpti_serving;

/* The attribute with the records of a span: docs/format-spans.md. */
#define CPTI_SPAN_NOTE_KEY "critical_path.note"

/* What is kept for the spans of a request that is served. In its notes. */
struct cpti_span_item {
    struct cpti_log_item item; /* first */
    struct cpti_serving *serving;
    unsigned char trace_id[16];
    uint64_t parent_id; /* the caller's span; 0: there is none */
    char traceparent[CPT_TRACEPARENT_BYTES + 1]; /* with the span of the request */
    struct cpt_bytes tracestate;                 /* as calls carry it; may be empty */
    /* From its answer. */
    uint64_t start_unix_ns;
    uint64_t arrival_ns;
    uint64_t dispatch_ns;
    uint64_t response_ns; /* 0: there was no answer */
    uint32_t answered_by;
    const char *status_key; /* "http.response.status_code", or that of gRPC … */
    unsigned status;        /* … and its number */
    bool is_failed;
};

/* Begins the spans of the traced request of @serving, if the service writes any: it
 * gets ids, and a `traceparent` of its own. Before it is launched. */
void cpti_spans_begin(struct cpti_serving *serving);

/* Keeps what the spans, which are written, say of the answer. */
void cpti_spans_answered(struct cpti_serving *serving,
                         const struct cpt_outbound *outbound);

/* Nothing of the request runs any more: hands it over to be written, or frees it. */
void cpti_spans_retire(struct cpti_serving *serving);

/* The `traceparent` that goes out with @call, a record of @request, if spans are
 * written; else that of @request; in @text. Lock held. */
struct cpt_bytes cpti_spans_traceparent(const struct cpt_request *request,
                                        const struct cpt_trace_call *call,
                                        char text[CPT_TRACEPARENT_BYTES + 1]);

/* Writes the spans of @item as a line; span_lines.c. Threads: the queue's. */
void cpti_span_lines_write(const struct cpti_span_item *item, struct cpti_json *lines);

#endif
