/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * calls.c - a task's call of another service, from its stub to the reply
 *
 *      cpt_call            issue    the ask goes out if the request is traced
 *      transport_sent      sent     until here the call waited for a connection
 *      transport_complete  arrive   the reply is kept, its path as bytes
 *      walk                open     only if the call is on the path: run/call.c
 *
 * A path that a callee returns without being asked is ignored.
 */
#include "framework/run/call.h"
#include "framework/run/deadline.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/slack.h"
#include "framework/run/snapshot.h"
#include "framework/service/calls.h"
#include "framework/service/fields.h"
#include "framework/service/outcome.h"
#include "framework/service/service.h"
#include "framework/service/spans.h"
#include "framework/service/trace_context.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CALL_TIMEOUT_NS_DEFAULT UINT64_C(10000000000)

/* The transport of stubs that were given none: each call fails. */
static void refuse(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    const struct cpt_transport_reply reply = {.status = CPT_INVALID};

    (void)transport;
    cpt_transport_complete(call, &reply);
}

static struct cpt_transport no_transport = {.name = "none", .send = refuse};

static struct cpt_transport *carrier_of(const struct cpt_stub *stub)
{
    return stub->transport != NULL ? stub->transport : &no_transport;
}

/* One call, in the arena of its request, to which it holds a reference until it
 * completes. */
struct rpc_call {
    struct cpt_transport_call transport; /* first: the transport hands us this */
    struct cpt_pending pending;
    struct cpt_call_reply reply;
    struct cpti_slack_call slack; /* if transport.slack_ns is not 0 */
    char traceparent[CPT_TRACEPARENT_BYTES + 1];
};

/* --- Calling --- */

enum {
    ASK_BYTES = 128, /* always enough; most take 10 */
    FIELD_BYTES = 32 /* that a header takes beside its name and its value */
};

/* What the transport has of @pending, if that is a call of @stub. */
static const struct cpt_transport_call *transport_of(const struct cpt_pending *pending,
                                                     const struct cpt_stub *stub)
{
    return pending != NULL && pending->stub == stub &&
                   pending->kind == CPTI_PENDING_CALL
               ? &CPTI_CONST_CONTAINER(pending, struct rpc_call, pending)->transport
               : NULL;
}

/* The tracestate that goes out; false: there is no memory. Lock held. */
static bool prepare_state(struct cpt_transport_call *transport,
                          struct cpt_request *request)
{
    char text[CPT_TRACESTATE_BYTES_MAX + 1];

    transport->tracestate = cpti_trace_state(request->inherited.trace, text);
    if (transport->tracestate.data == text) {
        transport->tracestate.data =
            cpt_arena_copy(&request->arena, text, transport->tracestate.bytes);
        return transport->tracestate.data != NULL;
    }
    return true;
}

/* The headers that go out: those of the program, and what is passed on; false: there is
 * no memory. Lock held. */
static bool prepare_headers(struct cpt_transport_call *transport,
                            struct cpt_request *request,
                            const struct cpt_call_request *said)
{
    const struct cpti_trace_origin *trace = request->inherited.trace;
    struct cpt_field *fields = NULL;

    transport->headers = said->headers;
    transport->header_count = said->header_count;
    if (trace == NULL || trace->propagated == NULL) {
        return true;
    }
    fields = cpt_arena_take(&request->arena,
                            (said->header_count + trace->propagated->count) *
                                sizeof *fields);
    if (fields == NULL) {
        return false;
    }
    transport->headers = fields;
    transport->header_count = cpti_propagated_merge(trace->propagated, said->headers,
                                                    said->header_count, fields);
    return true;
}

/* Fills in what the transport sends; false: there is no memory. Lock held. */
static bool prepare(struct rpc_call *call, struct cpt_request *request,
                    const struct cpti_attempt *attempt)
{
    const struct cpt_stub *stub = attempt->stub;
    const struct cpti_call_line *line = attempt->line;
    const struct cpt_call_request *said = attempt->request;
    const struct cpt_bytes body = said->body;
    struct cpt_transport_call *transport = &call->transport;

    transport->target = stub->target;
    transport->method = line->method;
    transport->verb = line->verb;
    transport->reply_headers = said->reply_headers;
    transport->timeout_ns =
        stub->timeout_ns != 0 ? stub->timeout_ns : CALL_TIMEOUT_NS_DEFAULT;
    if (attempt->timeout_ns < transport->timeout_ns) {
        transport->timeout_ns = attempt->timeout_ns != 0 ? attempt->timeout_ns : 1;
    }
    transport->previous = transport_of(attempt->previous, stub);
    transport->is_stream = stub->is_stream;
    transport->is_idempotent = said->is_idempotent;
    if (request->deadline_ns != 0) {
        const uint64_t left_ns = cpti_request_remaining_ns(request);

        transport->has_deadline = 1;
        if (left_ns < transport->timeout_ns) {
            transport->timeout_ns = left_ns != 0 ? left_ns : 1;
        }
    }
    if (said->slack_ns != 0 || request->inherited.slack != NULL) {
        transport->slack_ns = cpti_slack_call_begin(
            request, said->slack_ns, transport->timeout_ns, &call->slack);
    }
    if (!prepare_state(transport, request) ||
        !prepare_headers(transport, request, said)) {
        return false;
    }
    transport->body.bytes = body.bytes;
    if (body.bytes != 0) {
        transport->body.data = cpt_arena_copy(&request->arena, body.data, body.bytes);
        return transport->body.data != NULL;
    }
    return true;
}

/* Whether what @call sends by itself leaves room for an ask, so that no callee refuses
 * the call for it. */
static bool has_room(const struct cpt_transport_call *call)
{
    const struct cpt_field trace[] = {
        {cpt_bytes_of(CPT_HEADER_TRACEPARENT), call->traceparent},
        {cpt_bytes_of(CPT_HEADER_TRACESTATE), call->tracestate}};
    size_t bytes = strlen(call->method);
    size_t count = 0;

    for (size_t i = 0; i < sizeof trace / sizeof *trace; i++) {
        if (trace[i].value.bytes != 0) {
            bytes += trace[i].name.bytes + trace[i].value.bytes + FIELD_BYTES;
            count++;
        }
    }
    for (size_t i = 0; i < call->header_count; i++, count++) {
        bytes +=
            call->headers[i].name.bytes + call->headers[i].value.bytes + FIELD_BYTES;
    }
    return cpt_ask_has_room(bytes, count) != 0;
}

/* The ask that goes out with @call, whose record is there if it is traced. Each attempt
 * has a nonce and an id of its own: only one of them is the call that counted. Without
 * memory, or room beside other headers, the call goes out without it. Lock held. */
static void prepare_ask(struct rpc_call *call, struct cpt_request *request,
                        uint64_t now_ns)
{
    struct cpt_transport_call *transport = &call->transport;
    char text[ASK_BYTES + CPT_NONCE_BYTES + 1];
    struct cpt_ask ask;
    uint64_t nonce = 0;
    size_t bytes = 0;

    if (!request->is_traced || request->inherited.is_silent || !has_room(transport)) {
        return;
    }
    ask = request->inherited.ask;
    ask.graph_id = cpti_record_call_id(request, call->pending.call);
    nonce = cpti_call_nonce(now_ns);
    bytes = cpt_ask_format(&ask, text, ASK_BYTES) + 1;
    cpt_nonce_format(nonce, text + bytes);
    transport->critical_path.data =
        cpt_arena_copy(&request->arena, text, bytes + CPT_NONCE_BYTES + 1);
    if (transport->critical_path.data != NULL) {
        transport->critical_path.bytes = bytes - 1;
        transport->nonce =
            (struct cpt_bytes){transport->critical_path.data + bytes, CPT_NONCE_BYTES};
        transport->metadata_bytes_max = ask.bytes_max;
        if (call->pending.call != NULL) {
            call->pending.call->nonce = nonce;
        }
    }
}

/* The caller no longer waits. The transport still completes the call. */
static void tell_call(struct cpti_cancellable *outside)
{
    struct rpc_call *call = CPTI_CONTAINER(outside->pending, struct rpc_call, pending);
    struct cpt_transport *transport = carrier_of(call->pending.stub);

    transport->cancel(transport, &call->transport);
}

struct cpt_pending *cpti_call_within(struct cpt_task *task,
                                     const struct cpti_attempt *attempt)
{
    const struct cpt_stub *stub = attempt->stub;
    struct cpt_request *request = task->request;
    struct cpt_service *service = cpti_service_of(request);
    struct cpt_transport *transport = carrier_of(stub);
    const uint64_t now_ns = cpti_record_now(request);
    struct rpc_call *call = NULL;

    cpti_lock_take(&request->lock);
    call = cpt_arena_take(&request->arena, sizeof *call);
    if (call == NULL || !prepare(call, request, attempt)) {
        cpti_lock_release(&request->lock);
        return cpti_pending_failed(CPT_LIMIT);
    }
    call->pending.stub = stub;
    call->pending.outbound = &call->transport;
    call->reply.status = CPT_TIMEOUT; /* unless a reply comes before a deadline */
    call->reply.outcome = CPT_OUTCOME_DEADLINE_EXCEEDED;
    call->pending.call =
        cpti_record_issue(task, cpt_bytes_of(stub->name), CPT_CALL_REMOTE, now_ns);
    if (call->pending.call != NULL) {
        if (service != NULL) {
            CPTI_COUNT(
                cpti_counters_callee(&service->counters, call->pending.call->name),
                calls);
        }
        call->pending.call->attempt = attempt->request->attempt;
        call->pending.call->executor = cpt_bytes_of(transport->name);
    }
    call->transport.traceparent =
        cpti_spans_traceparent(request, call->pending.call, call->traceparent);
    prepare_ask(call, request, now_ns);
    cpti_pending_begin(&call->pending, CPTI_PENDING_CALL, task,
                       request->is_traced ? now_ns : cpti_coarse_ns());
    cpti_lock_release(&request->lock);
    cpti_request_hold(request);
    transport->send(transport, &call->transport);
    if (transport->cancel != NULL) {
        cpti_pending_cancel_by(&call->pending, tell_call);
    }
    return &call->pending;
}

/* The attempt before another one of @stub that @task makes itself: a call that is
 * outstanding, else the one that has failed last. */
static const struct cpt_pending *attempt_before(struct cpt_task *task,
                                                const struct cpt_stub *stub)
{
    struct cpt_request *request = task->request;
    const struct cpt_pending *found = NULL;

    cpti_lock_take(&request->lock);
    for (const struct cpt_pending *pending = task->oldest; pending != NULL;
         pending = pending->next) {
        found = pending->stub == stub ? pending : found;
    }
    if (found == NULL && request->failed_call != NULL &&
        request->failed_call->stub == stub &&
        request->failed_call->task == task->number + 1) {
        found = request->failed_call->call;
    }
    cpti_lock_release(&request->lock);
    return found;
}

static struct cpt_pending *call_as(struct cpt_task *task, const struct cpt_stub *stub,
                                   const struct cpt_call_request *request)
{
    struct cpti_call_line line;
    const cpt_status status = cpti_call_line_make(task, stub, request, &line);
    const struct cpti_attempt attempt = {
        .stub = stub,
        .line = &line,
        .request = request,
        .timeout_ns = UINT64_MAX,
        .previous = request->attempt > 1 ? attempt_before(task, stub) : NULL};

    return status == CPT_OK ? cpti_call_within(task, &attempt)
                            : cpti_pending_failed(status);
}

struct cpt_pending *cpt_call_attempt(struct cpt_task *task, const struct cpt_stub *stub,
                                     struct cpt_bytes body, unsigned attempt)
{
    const struct cpt_call_request request = {
        .struct_bytes = sizeof request, .body = body, .attempt = attempt};

    return call_as(task, stub, &request);
}

struct cpt_pending *cpt_call_with(struct cpt_task *task, const struct cpt_stub *stub,
                                  const struct cpt_call_request *given)
{
    struct cpt_call_request request;

    if (cpt_options_read(&request, sizeof request, given, NULL) != CPT_OK) {
        return cpti_pending_failed(CPT_INVALID);
    }
    return call_as(task, stub, &request);
}

struct cpt_pending *cpt_call(struct cpt_task *task, const struct cpt_stub *stub,
                             struct cpt_bytes body)
{
    return cpt_call_attempt(task, stub, body, 0);
}

const struct cpt_call_reply *cpt_call_reply(const struct cpt_pending *pending)
{
    static const struct cpt_call_reply cancelled = {.status = CPT_CANCELLED,
                                                    .outcome = CPT_OUTCOME_CANCELLED};
    static const struct cpt_call_reply not_sent = {
        .status = CPT_LIMIT, .outcome = CPT_OUTCOME_RESOURCE_EXHAUSTED};
    static const struct cpt_call_reply no_call = {.status = CPT_INVALID,
                                                  .outcome = CPT_OUTCOME_UNKNOWN};
    struct cpt_request *request = NULL;
    cpt_status status = CPT_OK;

    if (!cpti_pending_is(pending, CPTI_PENDING_CALL)) {
        return pending == cpti_pending_failed(CPT_LIMIT) ? &not_sent : &no_call;
    }
    request = pending->request;
    cpti_lock_take(&request->lock);
    status = pending->status;
    cpti_lock_release(&request->lock);
    return status == CPT_WAITING ? NULL
           : status == CPT_CANCELLED
               ? &cancelled
               : &CPTI_CONST_CONTAINER(pending, struct rpc_call, pending)->reply;
}

/* --- The transport's part --- */

void cpt_transport_sent(struct cpt_transport_call *transport)
{
    struct rpc_call *call = (struct rpc_call *)transport;
    struct cpt_request *request = call->pending.request;
    const uint64_t now_ns = cpti_record_now(request);

    __atomic_store_n(&call->pending.is_sent, true, __ATOMIC_RELAXED); /* for people */
    if (!request->is_traced) {
        return;
    }
    cpti_lock_take(&request->lock);
    if (call->pending.call != NULL && call->pending.status == CPT_WAITING) {
        call->pending.call->sent_ns = now_ns;
    }
    cpti_lock_release(&request->lock);
}

void cpt_transport_picked(struct cpt_transport_call *transport, struct cpt_bytes target)
{
    struct rpc_call *call = (struct rpc_call *)transport;
    struct cpt_request *request = call->pending.request;
    char *copy = NULL;

    cpti_lock_take(&request->lock);
    if (call->pending.status == CPT_WAITING) {
        copy = cpt_arena_take(&request->arena, target.bytes + 1);
    }
    if (copy != NULL) {
        memcpy(copy, target.data, target.bytes);
        call->pending.target = copy;
    }
    cpti_lock_release(&request->lock);
}

/* The outcome of an answer, and its status of HTTP if only the outcome is set. */
static void keep_outcome(struct cpt_call_reply *kept,
                         const struct cpt_transport_reply *reply)
{
    kept->outcome = reply->outcome != CPT_OUTCOME_NONE
                        ? reply->outcome
                        : cpt_outcome_of_http_status(reply->http_status);
    if (reply->http_status == 0 && reply->outcome != CPT_OUTCOME_NONE) {
        kept->http_status = cpt_outcome_http_status(reply->outcome);
    }
}

/* Keeps those headers of @reply that @names says, each once; false without memory. */
static bool keep_headers(struct cpt_call_reply *kept, const char *const *names,
                         const struct cpt_transport_reply *reply,
                         struct cpt_arena *arena)
{
    struct cpt_field *fields = NULL;
    size_t count = 0;

    while (names != NULL && names[count] != NULL && count < CPT_CALL_FIELDS_MAX) {
        count++;
    }
    if (count == 0 || reply->header_count == 0) {
        return true;
    }
    fields = cpt_arena_take(arena, count * sizeof *fields);
    if (fields == NULL) {
        return false;
    }
    kept->headers = fields;
    for (size_t i = 0; i < count; i++) {
        const struct cpt_bytes value =
            cpti_field_find(reply->headers, reply->header_count, names[i]);
        char *copy = NULL;

        if (value.data == NULL) {
            continue;
        }
        copy = cpt_arena_take(arena, value.bytes + 1);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, value.data, value.bytes);
        fields[kept->header_count++] =
            (struct cpt_field){cpt_bytes_of(names[i]), {copy, value.bytes}};
    }
    return true;
}

/* The same of its body. */
static bool keep_body(struct cpt_call_reply *kept,
                      const struct cpt_transport_reply *reply, struct cpt_arena *arena)
{
    if (reply->body.bytes == 0) {
        return true;
    }
    kept->body.data = cpt_arena_copy(arena, reply->body.data, reply->body.bytes);
    kept->body.bytes = kept->body.data != NULL ? reply->body.bytes : 0;
    return kept->body.data != NULL;
}

/* What is said about an error; without memory nothing is. */
static void keep_message(struct cpt_call_reply *kept,
                         const struct cpt_transport_reply *reply,
                         struct cpt_arena *arena)
{
    const size_t bytes = reply->message.bytes < CPTI_ANSWERED_BYTES
                             ? reply->message.bytes
                             : CPTI_ANSWERED_BYTES;
    const char *copy = NULL;

    if (reply->message.data == NULL) {
        return;
    }
    copy = bytes > 0 ? cpt_arena_copy(arena, reply->message.data, bytes) : NULL;
    kept->message = copy != NULL ? (struct cpt_bytes){copy, bytes} : cpt_bytes_of("");
}

/* The same of the messages of a stream. */
static bool keep_messages(struct cpt_call_reply *kept,
                          const struct cpt_transport_reply *reply,
                          struct cpt_arena *arena)
{
    struct cpt_bytes *messages = NULL;

    if (reply->message_count == 0) {
        return true;
    }
    messages = cpt_arena_take(arena, reply->message_count * sizeof *messages);
    for (size_t i = 0; messages != NULL && i < reply->message_count; i++) {
        const struct cpt_bytes from = reply->messages[i];

        messages[i] = (struct cpt_bytes){"", 0};
        if (from.bytes != 0) {
            messages[i].data = cpt_arena_copy(arena, from.data, from.bytes);
            messages[i].bytes = from.bytes;
        }
        if (messages[i].data == NULL) {
            return false;
        }
    }
    kept->messages = messages;
    kept->message_count = messages != NULL ? reply->message_count : 0;
    return messages != NULL;
}

/* Keeps the reply for the task. Lock held. */
static void keep_reply(struct rpc_call *call, const struct cpt_transport_reply *reply,
                       struct cpt_arena *arena)
{
    struct cpt_call_reply *kept = &call->reply;

    kept->status = reply->status;
    kept->http_status = reply->http_status;
    kept->outcome = cpti_outcome_of(reply->status);
    keep_message(kept, reply, arena);
    if (reply->status != CPT_OK) {
        return;
    }
    keep_outcome(kept, reply);
    if (!keep_body(kept, reply, arena) || !keep_messages(kept, reply, arena) ||
        !keep_headers(kept, call->transport.reply_headers, reply, arena)) {
        kept->status = CPT_LIMIT;
        kept->outcome = cpti_outcome_of(CPT_LIMIT);
    }
}

/* How a call has failed, as the label says it: the status of the answer, as in records
 * (over gRPC a name), or why there is none. Empty: it has not failed. Lock held. */
static struct cpt_bytes failure_of(const struct cpt_call_reply *kept,
                                   struct cpt_arena *arena)
{
    enum { DIGITS = 16 };
    char *text = NULL;

    if (kept->status != CPT_OK) {
        return cpt_bytes_of(kept->status == CPT_TIMEOUT       ? "DEADLINE"
                            : kept->status == CPT_UNAVAILABLE ? "UNAVAILABLE"
                            : kept->status == CPT_CANCELLED   ? "CANCELLED"
                            : kept->status == CPT_LIMIT       ? "LIMIT"
                                                              : "FAILED");
    }
    if (kept->message.data != NULL) {
        return cpt_bytes_of(cpt_outcome_name(kept->outcome));
    }
    if (kept->http_status < 400) {
        return (struct cpt_bytes){NULL, 0};
    }
    text = cpt_arena_take(arena, DIGITS);
    if (text == NULL) {
        return (struct cpt_bytes){NULL, 0};
    }
    (void)snprintf(text, DIGITS, "%u", kept->http_status);
    return cpt_bytes_of(text);
}

/* The target of @call, without what precedes '@', which is not told. */
static const char *target_of(const struct rpc_call *call)
{
    const char *picked = call->pending.target;
    const char *target = picked != NULL ? picked
                         : call->pending.stub->target != NULL
                             ? call->pending.stub->target
                             : "no target";
    const char *secret = strchr(target, '@');

    return secret != NULL ? secret + 1 : target;
}

/* What became of a call that failed, for the operator: "'B: Lookup' answered 503",
 * "'B: Lookup' answered NOT_FOUND: there is no such item". */
static void describe(const struct rpc_call *call, const struct cpt_transport_reply *of,
                     char text[CPTI_FAILED_CALL_BYTES])
{
    const struct cpt_call_reply *kept = &call->reply;
    const struct cpt_stub *stub = call->pending.stub;
    const char *target = target_of(call);
    const bool is_picked = call->pending.target != NULL;
    const char *at = is_picked ? " at " : "";
    const char *picked = is_picked ? target : "";
    const size_t capacity = CPTI_FAILED_CALL_BYTES;
    const bool is_named = kept->message.data != NULL;
    const struct cpti_answered answered =
        cpti_answered_of(is_named, is_named ? of->outcome : CPT_OUTCOME_OK,
                         kept->http_status, kept->message);
    char said[CPTI_ANSWERED_BYTES] = "";

    if (kept->status == CPT_OK || is_named) {
        cpti_answered_text(&answered, said);
    } else if (of->why.bytes > 0) {
        (void)snprintf(said, sizeof said, "%.*s",
                       (int)(of->why.bytes < 100 ? of->why.bytes : 100), of->why.data);
    }
    if (stub->transport == NULL) {
        (void)snprintf(text, capacity,
                       "'%.100s' cannot be called: its stub has no transport",
                       stub->name);
    } else if (kept->status == CPT_OK) {
        (void)snprintf(text, capacity, "'%.80s'%s%.60s answered %.160s", stub->name, at,
                       picked, said);
    } else if (kept->status == CPT_TIMEOUT) {
        (void)snprintf(text, capacity, "'%.80s'%s%.60s had not answered after %.6g ms",
                       stub->name, at, picked,
                       (double)call->transport.timeout_ns / 1e6);
    } else if (kept->status == CPT_UNAVAILABLE) {
        (void)snprintf(text, capacity, "'%.80s' could not be reached at %.60s%s%.160s",
                       stub->name, target, said[0] != '\0' ? ": " : "", said);
    } else {
        (void)snprintf(text, capacity,
                       "the call of '%.80s'%s%.60s failed: %.60s%s%.160s", stub->name,
                       at, picked, cpt_status_sentence(kept->status),
                       is_named ? ": " : "", is_named ? said : "");
    }
}

/* Keeps why the request may fail; a success makes an earlier failure of the same callee
 * be forgotten. Lock held. */
static void keep_failure(const struct rpc_call *call,
                         const struct cpt_transport_reply *reply)
{
    struct cpt_request *request = call->pending.request;
    char text[CPTI_FAILED_CALL_BYTES];

    if (call->reply.status != CPT_OK || call->reply.outcome > CPT_OUTCOME_OK) {
        describe(call, reply, text);
        cpti_call_failed(request, call->pending.stub, call->reply.status,
                         cpti_pending_starter(&call->pending), text);
        if (request->failed_call != NULL) {
            request->failed_call->call = &call->pending;
        }
    } else if (request->failed_call != NULL &&
               request->failed_call->stub == call->pending.stub) {
        request->failed_call->task = 0;
    }
}

/* Keeps the callee's path, or why there is none. Lock held. */
static void keep_path(struct cpt_trace_call *record, size_t metadata_bytes_max,
                      const struct cpt_transport_reply *reply,
                      struct cpt_request *request)
{
    record->send_queue_ns = reply->send_queue_ns;
    record->receive_queue_ns = reply->receive_queue_ns;
    if (reply->status == CPT_TIMEOUT) {
        record->outcome = CPT_CALL_TIMEOUT;
    } else if (reply->status != CPT_OK) {
        record->reason = CPT_REASON_FAILED;
    } else if (metadata_bytes_max == 0) { /* not asked: see prepare_ask() */
        record->reason =
            request->inherited.is_silent ? CPT_REASON_SHARED : CPT_REASON_LIMIT;
    } else if (reply->is_cached) {
        record->reason = CPT_REASON_CACHED;
    } else if (reply->is_metadata_large || reply->metadata.bytes > metadata_bytes_max) {
        record->reason = CPT_REASON_SIZE;
    } else if (reply->is_metadata_bad) {
        record->reason = CPT_REASON_UNDECODABLE;
    } else if (reply->metadata.bytes == 0) {
        record->reason = CPT_REASON_UNSUPPORTED;
    } else {
        record->reply = cpt_arena_copy(&request->notes, reply->metadata.data,
                                       reply->metadata.bytes);
        record->reply_bytes = reply->metadata.bytes;
        if (record->reply == NULL) {
            record->reason = CPT_REASON_LIMIT;
            cpti_record_lost(request);
        } else if (request->inherited.observer != NULL) {
            request->inherited.observer->kept(request->inherited.observer,
                                              record->reply_bytes);
        }
    }
}

void cpt_transport_complete(struct cpt_transport_call *transport,
                            const struct cpt_transport_reply *reply)
{
    struct rpc_call *call = (struct rpc_call *)transport;
    struct cpt_trace_call *record = call->pending.call;
    struct cpt_request *request = call->pending.request;
    struct cpti_call_observer *observer = request->inherited.observer;
    const uint64_t now_ns = cpti_record_now(request);
    struct cpt_task *task = NULL;

    if (transport->slack_ns != 0) {
        cpti_slack_call_end(request, &call->slack);
    }
    cpti_lock_take(&request->lock);
    if (call->pending.status == CPT_WAITING) {
        keep_reply(call, reply, &request->arena);
        keep_failure(call, reply);
        if (record != NULL && !cpti_record_is_over(request)) {
            keep_path(record, transport->metadata_bytes_max, reply, request);
            record->status = failure_of(&call->reply, &request->notes);
        }
    } else {
        record = NULL; /* the caller had given the call up */
    }
    task = cpti_pending_end(&call->pending, call->reply.status, now_ns);
    cpti_lock_release(&request->lock);
    if (record != NULL && observer != NULL) {
        if (record->outcome == CPT_CALL_TIMEOUT) {
            observer->given_up(observer, record, CPT_TIMEOUT);
        } else if (record->reason != CPT_REASON_NONE) {
            observer->blind_spot(observer, record);
        }
    }
    cpti_request_continue(request, task); /* with the reference of the call */
}
