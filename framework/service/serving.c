/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * serving.c - a request that came in: decided on, made, launched
 *
 *      inbound --> method? --> room? --> traced? --> made --> plan runs --> answer.c
 *                    |           |                     |
 *               404, 405        503                400, 503
 */
#include "framework/service/serving.h"

#include "framework/service/answer.h"
#include "framework/service/rules/experiment.h"
#include "framework/service/failure.h"
#include "framework/service/kept.h"
#include "framework/service/untraced.h"
#include "framework/run/deadline.h"
#include "framework/run/handle.h"
#include "framework/run/recording.h"
#include "framework/run/slack.h"

#include <string.h>

enum { HTTP_NO_CONTENT = 204, HTTP_BAD_METHOD = 405, HTTP_LARGE_HEADERS = 431 };

/* --- The request --- */

/* False: there is no memory. */
static bool copy_bytes(struct cpt_arena *arena, struct cpt_bytes from,
                       struct cpt_bytes *to)
{
    *to = (struct cpt_bytes){"", 0};
    if (from.bytes != 0) {
        to->data = cpt_arena_copy(arena, from.data, from.bytes);
        to->bytes = from.bytes;
    }
    return to->data != NULL;
}

/* Copies @from to @text, which is zeroed and has room for one byte more; the first byte
 * behind both. */
static char *copy_text(char *text, struct cpt_bytes from, struct cpt_bytes *to)
{
    *to = (struct cpt_bytes){text, from.bytes};
    if (from.bytes > 0) {
        memcpy(text, from.data, from.bytes);
    }
    return text + from.bytes + 1;
}

bool cpti_serving_copy_names(struct cpti_serving *serving, struct cpt_arena *arena)
{
    char cut[CPT_NAME_BYTES_MAX + 1];

    return copy_bytes(arena, cpt_bytes_of(serving->service->name),
                      &serving->service_name) &&
           copy_bytes(
               arena,
               cpt_name_bound(cpti_method_name(serving->method, serving->input.method),
                              cut),
               &serving->method_name);
}

/* Decodes the parameters of the path. CPT_OK; CPT_CORRUPT; CPT_LIMIT. */
static cpt_status copy_parameters(struct cpt_arena *arena,
                                  const struct cpti_route_match *match,
                                  struct cpt_rpc_request *input)
{
    struct cpt_field *fields = NULL;
    char *text = NULL;
    size_t bytes = 0;

    if (match->count == 0) {
        return CPT_OK;
    }
    for (unsigned i = 0; i < match->count; i++) {
        bytes += match->parameters[i].value.bytes;
    }
    fields = cpt_arena_take(arena, match->count * sizeof *fields + bytes + 1);
    if (fields == NULL) {
        return CPT_LIMIT;
    }
    text = (char *)(fields + match->count);
    for (unsigned i = 0; i < match->count; i++) {
        const ptrdiff_t length =
            cpti_percent_decode(match->parameters[i].value, false, text);

        if (length < 0) {
            return CPT_CORRUPT;
        }
        fields[i] =
            (struct cpt_field){match->parameters[i].name, {text, (size_t)length}};
        text += length;
    }
    input->parameters = fields;
    input->parameter_count = match->count;
    return CPT_OK;
}

/* Copies what the transport has lent, in one piece of memory: the texts stand behind
 * the headers. */
static bool copy_inbound(struct cpti_serving *serving, struct cpt_request *request,
                         const struct cpt_inbound *inbound)
{
    struct cpt_rpc_request *input = &serving->input;
    const size_t count = inbound->header_count;
    size_t bytes = count * (sizeof(struct cpt_field) + 2) + inbound->method.bytes +
                   inbound->query.bytes + inbound->body.bytes + inbound->verb.bytes + 4;
    struct cpt_field *fields = NULL;
    char *text = NULL;

    for (size_t i = 0; i < count; i++) {
        bytes += inbound->headers[i].name.bytes + inbound->headers[i].value.bytes;
    }
    fields = cpt_arena_take(&request->arena, bytes);
    if (fields == NULL) {
        return false;
    }
    text = (char *)(fields + count);
    text = copy_text(text, inbound->method, &input->method);
    text = copy_text(text, inbound->query, &input->query);
    text = copy_text(text, inbound->body, &input->body);
    text = copy_text(text, inbound->verb, &input->verb);
    for (size_t i = 0; i < count; i++) {
        text = copy_text(text, inbound->headers[i].name, &fields[i].name);
        text = copy_text(text, inbound->headers[i].value, &fields[i].value);
    }
    input->headers = count != 0 ? fields : NULL;
    input->header_count = count;
    return true;
}

/* What is recorded of the request counts, too: what it adds to the block, in any case,
 * and its notes, as long as all requests together have memory for them. */
static void open_notes(struct cpti_serving *serving, struct cpt_service *service,
                       struct cpt_request *request)
{
    cpti_account_open_forced(&serving->notes, &service->notes, request->alloc,
                             request->block_bytes - request->plain_bytes +
                                 request->notes.used_bytes);
    request->own_notes_quota.account = &serving->notes;
    if (serving->decision.is_logged && !serving->decision.is_pending &&
        !cpti_serving_copy_names(serving, &request->notes)) {
        serving->decision.is_logged = 0; /* the answer has the path, if it is asked */
        CPTI_COUNT(&service->counters, lost_paths);
    }
}

/* From now on the memory of the request counts: its block, and what its arena takes.
 * False: that would be more than all may have together. */
static bool open_account(struct cpti_serving *serving, struct cpt_service *service,
                         struct cpt_request *request)
{
    if (!cpti_account_open(&serving->account, &service->budget, request->alloc,
                           request->plain_bytes + request->arena.used_bytes)) {
        return false;
    }
    request->account = &serving->account;
    request->arena.alloc = &serving->account.alloc;
    return true;
}

/* Nothing of the request runs any more, and its record is written. */
static void forget(void *context)
{
    cpti_service_release(context);
}

/* What a request is for. */
struct found {
    const struct cpti_method *method;
    struct cpti_route_match match;
    struct cpti_trace_context trace; /* that it came with */
    uint64_t number;
    bool is_enabled; /* tracing is */
};

/* Why there is no request. */
enum cause {
    CAUSE_MEMORY,   /* there is none */
    CAUSE_BUSY,     /* all requests together have reached their limit of memory */
    CAUSE_MALFORMED /* its path is */
};

static enum cause cause_of(const struct cpti_serving *serving, cpt_status decoded)
{
    if (decoded == CPT_CORRUPT) {
        return CAUSE_MALFORMED;
    }
    return serving != NULL && cpti_account_is_refused(&serving->account) ? CAUSE_BUSY
                                                                         : CAUSE_MEMORY;
}

/* How long the request may take: no longer than a caller waits that is trusted. To
 * others it is of no use that their request fails, but to those who want failures, and
 * the callees would be told as well. 0: no limit. */
static uint64_t timeout_of(struct cpt_service *service,
                           const struct cpti_method *method,
                           const struct cpt_inbound *inbound)
{
    uint64_t asked_ns = 0;

    if (inbound->timeout.data == NULL) {
        return method->timeout_ns;
    }
    if (cpti_timeout_parse(inbound->timeout, &asked_ns) != CPT_OK) {
        CPTI_COUNT(&service->counters, refused_timeouts);
        return method->timeout_ns;
    }
    if (!cpti_sampling_trusts(&service->sampling, inbound)) {
        CPTI_COUNT(&service->counters, untrusted_timeouts);
        return method->timeout_ns;
    }
    return method->timeout_ns != 0 && method->timeout_ns < asked_ns ? method->timeout_ns
                                                                    : asked_ns;
}

/* How late the request may be, by a caller that is trusted; 0: nothing is known. */
static uint64_t slack_of(struct cpt_service *service, const struct cpt_inbound *inbound)
{
    uint64_t slack_ns = 0;

    if (inbound->slack.data == NULL || service->options.slack_wait_ns_max == 0) {
        return 0;
    }
    if (cpti_slack_parse(inbound->slack, &slack_ns) != CPT_OK) {
        CPTI_COUNT(&service->counters, refused_slacks);
        return 0;
    }
    if (!cpti_sampling_trusts(&service->sampling, inbound)) {
        CPTI_COUNT(&service->counters, untrusted_slacks);
        return 0;
    }
    if (slack_ns != 0) {
        CPTI_COUNT(&service->counters, slack_requests);
    }
    return slack_ns;
}

/* What only a traced request has, once it has an account of its own. */
static void begin_tracing(struct cpti_serving *serving,
                          const struct cpt_inbound *inbound,
                          const struct cpti_decision *decision)
{
    serving->path_room = inbound->path_room;
    cpti_trace_enter(serving);
    cpti_spans_begin(serving);
    cpti_kept_begin(serving);
    serving->request->inherited.ask =
        cpti_sampling_ask(decision, serving->service->options.metadata_bytes_max);
    cpti_experiment_begin(serving);
}

/* A request that is ready to be launched, or NULL with the @cause. */
static struct cpt_request *make_request(struct cpt_service *service,
                                        const struct found *found,
                                        const struct cpt_inbound *inbound,
                                        const struct cpti_decision *decision,
                                        enum cause *cause)
{
    const struct cpti_method *method = found->method;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options,
        .plan = method->plan,
        .executor = service->options.executor,
        .done = cpti_answer_send,
        .gone = forget,
        .context = service,
        .alloc = service->options.alloc,
        .memory_bytes_max = service->options.memory_bytes_max,
        .is_traced = decision->is_traced,
        .entry = method->entry,
        .clock = service->options.clock,
        .arrival_ns = inbound->arrival_ns,
        .attribution = service->options.attribution,
        .measures_cpu = service->options.measures_cpu,
        .trace_memory_bytes_max = service->options.trace_memory_bytes_max,
        .slack_wait_ns_max = service->options.slack_wait_ns_max,
        .slack_ns = slack_of(service, inbound),
    };
    struct cpt_request *request = NULL;
    struct cpti_serving *serving = NULL;
    cpt_status decoded = CPT_NO_MEMORY;

    *cause = CAUSE_MEMORY;
    cpti_service_hold(service);
    if (cpti_request_new(&options, NULL, &request, NULL) != CPT_OK) {
        cpti_service_release(service);
        return NULL;
    }
    serving = cpt_arena_take(&request->arena, sizeof *serving);
    if (serving != NULL) {
        serving->service = service;
        serving->request = request;
        serving->method = method;
        serving->has_outcomes = inbound->has_outcomes != 0;
        serving->timeout_ns = timeout_of(service, method, inbound);
        serving->running.id = found->number;
        cpti_decision_copy(&serving->decision, decision);
    }
    if (serving != NULL && open_account(serving, service, request)) {
        decoded = copy_parameters(&request->arena, &found->match, &serving->input);
    }
    if (decoded != CPT_OK || !copy_inbound(serving, request, inbound) ||
        (cpti_propagated_is_in(inbound) &&
         cpti_propagated_read(&service->sampling, inbound, &service->counters,
                              &request->arena, &serving->trace.propagated) != CPT_OK)) {
        *cause = cause_of(serving, decoded);
        cpti_request_discard(request);
        return NULL;
    }
    request->served = serving;
    if (request->is_traced) {
        cpti_trace_waited(&request->trace, inbound->waited_ns);
        open_notes(serving, service, request);
    }
    cpti_trace_open(serving, &found->trace, found->is_enabled);
    request->inherited.observer = &service->observer;
    if (request->is_traced) {
        begin_tracing(serving, inbound, decision);
    }
    if (serving->spans != NULL ||
        (serving->decision.is_logged && service->options.log != NULL)) {
        request->nest.retire = cpti_answer_retire;
    }
    request->inherited.overcount = service->options.overcount;
    return request;
}

static void refuse(cpt_reply_fn reply, void *context, unsigned outcome,
                   const char *sentence)
{
    const struct cpt_outbound outbound = {
        .outcome = outcome,
        .http_status = cpt_outcome_http_status(outcome),
        .content_type = cpt_bytes_of("text/plain; charset=utf-8"),
        .body = cpt_bytes_of(sentence),
    };

    reply(context, &outbound);
}

/* Counts one more request in flight; false: that would be too many. */
static bool admit(struct cpt_service *service)
{
    if (atomic_fetch_add_explicit(&service->in_flight_count, 1, memory_order_relaxed) <
        service->options.requests_in_flight_max) {
        return true;
    }
    (void)atomic_fetch_sub_explicit(&service->in_flight_count, 1, memory_order_relaxed);
    return false;
}

/* There is no request, for this @cause. */
static void refuse_made(struct cpt_service *service, const struct cpt_inbound *inbound,
                        cpt_reply_fn reply, void *context, enum cause cause)
{
    (void)atomic_fetch_sub_explicit(&service->in_flight_count, 1, memory_order_relaxed);
    if (cause == CAUSE_MALFORMED) {
        CPTI_COUNT(&service->counters, refused_paths);
        cpt_service_refused(service, CPT_REFUSAL_MALFORMED,
                            cpt_outcome_http_status(CPT_OUTCOME_INVALID_ARGUMENT),
                            inbound->method, cpt_bytes_of("the path is malformed"));
        refuse(reply, context, CPT_OUTCOME_INVALID_ARGUMENT, "the path is malformed\n");
        return;
    }
    if (cause == CAUSE_BUSY) {
        CPTI_COUNT(&service->counters, refused_busy);
        refuse(reply, context, CPT_OUTCOME_RESOURCE_EXHAUSTED, "too much in flight\n");
    } else {
        CPTI_COUNT(&service->counters, refused_memory);
        refuse(reply, context, CPT_OUTCOME_RESOURCE_EXHAUSTED, "out of memory\n");
    }
    cpti_refusal_tell(service, inbound, cause == CAUSE_BUSY);
}

/* No method takes the request: its path, or its verb. */
static void refuse_method(struct cpt_service *service,
                          const struct cpt_inbound *inbound, cpt_reply_fn reply,
                          void *context)
{
    char allow[CPTI_ROUTE_ALLOW_BYTES];
    struct cpt_field field = {cpt_bytes_of("Allow"), {NULL, 0}};
    struct cpt_outbound outbound = {
        .content_type = cpt_bytes_of("text/plain; charset=utf-8"),
        .headers = &field,
        .header_count = 1,
    };

    if (!cpti_method_allow(service, inbound->method, allow)) {
        CPTI_COUNT(&service->counters, unknown_methods);
        outbound.outcome = CPT_OUTCOME_NOT_FOUND;
        outbound.http_status = cpt_outcome_http_status(CPT_OUTCOME_NOT_FOUND);
        outbound.body = cpt_bytes_of("no such method\n");
        outbound.header_count = 0;
        outbound.is_unknown_method = 1;
        reply(context, &outbound);
        return;
    }
    field.value = cpt_bytes_of(allow);
    if (cpt_bytes_equal(inbound->verb, cpt_bytes_of("OPTIONS"))) {
        outbound.outcome = CPT_OUTCOME_OK;
        outbound.http_status = HTTP_NO_CONTENT;
    } else {
        CPTI_COUNT(&service->counters, refused_verbs);
        outbound.outcome = CPT_OUTCOME_UNIMPLEMENTED;
        outbound.http_status = HTTP_BAD_METHOD;
        outbound.body = cpt_bytes_of("this path does not take the verb\n");
        cpt_service_refused(service, CPT_REFUSAL_VERB, HTTP_BAD_METHOD, inbound->method,
                            cpt_bytes_of("this path does not take the verb"));
    }
    reply(context, &outbound);
}

static void refuse_headers(struct cpt_service *service, struct cpt_bytes method,
                           cpt_reply_fn reply, void *context)
{
    const struct cpt_outbound outbound = {
        .outcome = CPT_OUTCOME_INVALID_ARGUMENT,
        .http_status = HTTP_LARGE_HEADERS,
        .content_type = cpt_bytes_of("text/plain; charset=utf-8"),
        .body = cpt_bytes_of("too many headers\n"),
    };

    CPTI_COUNT(&service->counters, refused_paths);
    cpt_service_refused(service, CPT_REFUSAL_LARGE, HTTP_LARGE_HEADERS, method,
                        cpt_bytes_of("too many headers"));
    reply(context, &outbound);
}

static void release_stream(struct cpti_cleanup *cleanup)
{
    struct cpti_serving *serving =
        CPTI_CONTAINER(cleanup, struct cpti_serving, stream_end);
    struct cpt_stream *stream = serving->request->inherited.stream;

    stream->release(stream);
}

/* Until the request is gone. */
static void hold_stream(struct cpti_serving *serving, struct cpt_stream *stream)
{
    stream->hold(stream);
    serving->request->inherited.stream = stream;
    serving->stream_end.run = release_stream;
    cpti_cleanup_add(serving->request, &serving->stream_end);
}

/* Gives the request its handle and its deadline, and launches it. */
static void launch(struct cpt_service *service, struct cpt_request *request,
                   const struct cpt_inbound *inbound)
{
    struct cpti_serving *serving = request->served;
    const uint64_t timeout_ns = serving->timeout_ns;

    if (inbound->stream != NULL) {
        hold_stream(serving, inbound->stream);
    }
    if (inbound->handle != NULL) {
        *inbound->handle = cpti_handle_new(request, service->options.alloc);
    }
    if (timeout_ns != 0) {
        /* If no timer can be had, its calls still have the deadline. */
        if (cpti_deadline_begin(request, timeout_ns, inbound->arrival_ns, NULL) !=
            CPT_OK) {
            CPTI_COUNT(&service->counters, failed_timers);
        }
    }
    cpti_request_launch(request, &serving->input, 0);
}

void cpt_service_serve(struct cpt_service *service, const struct cpt_inbound *inbound,
                       cpt_reply_fn reply, void *context)
{
    struct found found; /* it is large: only what is read is set */
    struct cpti_decision decision;
    struct cpt_request *request = NULL;
    struct cpti_serving *serving = NULL;
    enum cause cause = CAUSE_MEMORY;

    if (inbound->handle != NULL) {
        *inbound->handle = NULL;
    }
    cpti_decision_clear(&decision);
    found.number = 1 + atomic_fetch_add_explicit(&service->counters.requests, 1,
                                                 memory_order_relaxed);
    found.method =
        cpti_method_find(service, inbound->method, inbound->verb, &found.match);
    if (found.method == NULL) {
        refuse_method(service, inbound, reply, context);
        return;
    }
    if (inbound->header_count > CPT_HEADERS_MAX) {
        refuse_headers(service, inbound->method, reply, context);
        return;
    }
    if (!admit(service)) {
        CPTI_COUNT(&service->counters, refused_busy);
        refuse(reply, context, CPT_OUTCOME_RESOURCE_EXHAUSTED,
               "too many requests in flight\n");
        cpti_refusal_tell(service, inbound, true);
        return;
    }
    cpti_trace_read(&found.trace, inbound, &service->counters);
    found.is_enabled = cpt_service_is_enabled(service) != 0;
    if (found.is_enabled) {
        cpti_sampling_decide(&service->sampling, inbound, &found.trace,
                             &service->counters, &decision);
    }
    if (decision.glance_bytes != 0) {
        cpti_sampling_look(&service->sampling, &decision, found.method->glance,
                           cpti_sampling_arrival_ns(&service->sampling, inbound),
                           &service->counters);
    }
    if (!decision.is_traced) {
        cpti_untraced_note(service, found.number);
    }
    request = make_request(service, &found, inbound, &decision, &cause);
    if (request == NULL) {
        refuse_made(service, inbound, reply, context, cause);
        return;
    }
    serving = request->served;
    if (service->options.measures_latency && !decision.is_traced) {
        serving->begin_ns = inbound->arrival_ns != 0
                                ? inbound->arrival_ns
                                : cpt_clock_now_ns(service->options.clock);
    }
    serving->reply = reply;
    serving->context = context;
    cpti_running_add(serving);
    launch(service, request, inbound);
}
