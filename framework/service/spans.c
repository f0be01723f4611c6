/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spans.c - the ids of a request's spans, and their way to the queue
 *
 *      traceparent in --> trace id, parent            of the span of the request
 *      call           --> traceparent out, with the id of the call's span
 *      retired        --> queue --> span_lines.c      all spans at once
 *
 * While a request runs, nothing is noted for spans but the calls, in a list: the rest
 * is in the records that the path is made of. So a request is handed over when nothing
 * of it runs any more, after its record is written, and keeps its memory until its
 * spans are written, too.
 */
#include "framework/service/spans.h"

#include "framework/run/recording.h"
#include "framework/run/span_ids.h"
#include "framework/service/answer.h"
#include "framework/service/serving.h"
#include "framework/service/service.h"
#include "framework/service/trace_context.h"

#include <sys/random.h>

static uint64_t number_of(const unsigned char *bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < sizeof number; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* Random numbers; without any, what no other request has. */
static void draw(const void *own, uint64_t *numbers, size_t count)
{
    if (getrandom(numbers, count * sizeof *numbers, GRND_NONBLOCK) ==
        (ssize_t)(count * sizeof *numbers)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] =
            cpti_span_id(cpt_clock_unix_ns() ^ (uint64_t)(uintptr_t)own << 16, i);
    }
}

static void put(unsigned char *bytes, uint64_t number)
{
    for (size_t i = sizeof number; i-- > 0; number >>= 8) {
        bytes[i] = (unsigned char)number;
    }
}

/* The tracestate of @serving, in memory of the request; without memory none. */
static struct cpt_bytes keep_state(struct cpti_serving *serving)
{
    char text[CPT_TRACESTATE_BYTES_MAX + 1];
    struct cpt_bytes state = cpti_trace_state(&serving->trace, text);

    if (state.data == text) {
        state.data = cpt_arena_copy(&serving->request->notes, text, state.bytes);
        state.bytes = state.data != NULL ? state.bytes : 0;
    }
    return state;
}

void cpti_spans_begin(struct cpti_serving *serving)
{
    struct cpt_request *request = serving->request;
    struct cpti_span_item *item = NULL;
    struct cpti_trace_context *trace = &serving->trace.context; /* it is traced */
    uint64_t random = 0;

    if (serving->service->options.spans == NULL) {
        return;
    }
    item = cpt_arena_take(&request->notes, sizeof *item);
    if (item == NULL) {
        cpti_log_queue_lose(serving->service->options.spans);
        return;
    }
    draw(item, &random, 1);
    random |= random == 0;
    item->serving = serving;
    memcpy(item->trace_id, trace->parent.trace_id, sizeof item->trace_id);
    item->parent_id = trace->is_made ? 0 : number_of(trace->parent.parent_id);
    if (!serving->decision.is_pending || serving->decision.is_random) {
        trace->parent.flags |= CPT_TRACE_FLAG_SAMPLED; /* we keep spans of it */
    }
    put(trace->parent.parent_id, cpti_span_id(random, CPTI_SPAN_OF_REQUEST));
    cpt_traceparent_format(&trace->parent, item->traceparent);
    item->tracestate = keep_state(serving);
    request->inherited.span_seed = random;
    request->keeps_edges = true;
    serving->spans = item;
}

struct cpt_bytes cpti_spans_traceparent(const struct cpt_request *request,
                                        const struct cpt_trace_call *call,
                                        char text[CPT_TRACEPARENT_BYTES + 1])
{
    const struct cpti_trace_context trace = cpti_trace_of(request->inherited.trace);
    unsigned char id[sizeof(uint64_t)];

    if (call == NULL || request->inherited.span_seed == 0) {
        return cpti_trace_write(&trace, NULL, text);
    }
    put(id, cpti_span_id(request->inherited.span_seed,
                         CPTI_SPAN_OF_CALL | ((const struct cpti_call *)call)->number));
    return cpti_trace_write(&trace, id, text);
}

void cpti_spans_answered(struct cpti_serving *serving,
                         const struct cpt_outbound *outbound)
{
    const struct cpt_request *request = serving->request;
    const struct cpt_trace *trace = &request->trace;
    struct cpti_span_item *item = serving->spans;

    item->start_unix_ns = cpti_answer_start_unix_ns(request->clock, trace->arrival_ns);
    item->arrival_ns = trace->arrival_ns;
    item->dispatch_ns = trace->dispatch_ns;
    item->response_ns = trace->response_ns;
    item->answered_by = request->answered_by;
    item->status_key =
        serving->has_outcomes ? "rpc.grpc.status_code" : "http.response.status_code";
    item->status = serving->has_outcomes ? cpt_outcome_grpc_code(outbound->outcome)
                                         : outbound->http_status;
    item->is_failed = outbound->http_status >= 500 || request->status != CPT_OK;
}

static void release_item(struct cpti_log_item *item)
{
    cpti_request_free(((struct cpti_span_item *)item)->serving->request);
}

static void write_line(const struct cpti_log_item *item, struct cpti_json *lines)
{
    cpti_span_lines_write((const struct cpti_span_item *)item, lines);
}

void cpti_spans_retire(struct cpti_serving *serving)
{
    struct cpt_request *request = serving->request;
    struct cpti_span_item *item = serving->spans;

    if (item == NULL || item->response_ns == 0 ||
        (serving->decision.is_pending && !serving->decision.is_logged)) {
        cpti_request_free(request);
        return;
    }
    item->item.write_line = write_line;
    item->item.release = release_item;
    item->item.memory_bytes = cpti_request_bytes(request);
    /* As for its record: a slow disk must not take memory from requests that come. */
    cpti_account_move(&serving->account, &serving->notes);
    cpti_log_queue_push(serving->service->options.spans, &item->item);
}
