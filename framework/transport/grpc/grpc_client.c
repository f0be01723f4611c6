/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_client.c - calls of stubs
 *
 * Each target has a channel, which gRPC connects when it is used and which carries any
 * number of calls at once. A call is one batch: headers, message and end out; headers,
 * message and status in.
 *
 * The wait for a connection counts as network: gRPC tells only afterwards that a call
 * has got one, when the callee may have begun long ago; its path would then not fit
 * into what is left, and be scaled.
 *
 * A stream is two batches, and one for each message but the first. All messages are
 * kept until the status has come, up to a limit: then the call is cut off.
 *
 *      begin --> headers and message out, headers and first message in
 *      read  --> next message, until there is none          \ both have come:
 *      end   --> status, path                               / complete
 *
 * How it ended. gRPC reports what it found out itself by the same codes as what the
 * callee answered. Taken as no answer, unless a path came with them: DEADLINE_EXCEEDED
 * when the time is really over, UNAVAILABLE, and CANCELLED if we did. All else is the
 * callee's answer.
 */
#include "framework/transport/grpc/grpc_metadata.h"
#include "framework/transport/grpc/grpc_queue.h"
#include "wire/cpt_metadata.h"

#include <grpc/byte_buffer.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    CHANNELS_MAX = 1024,
    OWN_FIELDS = 5, /* the ask, its nonce, traceparent, tracestate, slack */
    SLACK_BYTES = 24,
    RECONNECT_FIRST_MS = 50,
    RECONNECT_LAST_MS = 1000
};

struct cpti_grpc_channel {
    struct cpti_grpc_channel *next;
    grpc_channel *channel;
    char target[];
};

struct grpc_client_call {
    struct cpt_grpc *grpc;
    struct cpt_transport_call *transport; /* until it is completed */
    struct cpti_grpc_tag end;
    struct cpti_grpc_tag read;  /* of a stream: a message has come */
    struct cpti_grpc_link link; /* guarded by the lock, as is transport->state */
    grpc_call *call;
    gpr_timespec deadline;
    atomic_uint hold_count;   /* seq_cst */
    atomic_bool is_cancelled; /* relaxed: whether it was we */
    atomic_uint awaited;      /* its status, and of a stream the end; seq_cst */
    grpc_byte_buffer *body;
    grpc_metadata_array initial;
    grpc_metadata_array trailing;
    grpc_byte_buffer *message;
    grpc_status_code code;
    grpc_slice sentence;
    /* Of a stream; queue thread. */
    grpc_slice *messages;
    size_t message_count;
    size_t message_capacity;
    size_t message_bytes;
    bool is_large; /* it was cut off at a limit */
    size_t field_count;
    grpc_metadata fields[];
};

/* --- Channels --- */

#define HTTPS "https://" /* a target by TLS */

static grpc_arg arg_of(const char *key, size_t value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER,
                      .key = (char *)(uintptr_t)key,
                      .value.integer = (int)value};
}

/* Retries are the task's, and stand on the path; proxies of the environment are for
 * browsers. */
static grpc_channel *channel_make(const struct cpt_grpc *grpc, const char *target)
{
    grpc_arg args[] = {
        arg_of(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, grpc->options.body_bytes_max),
        arg_of(GRPC_ARG_MAX_METADATA_SIZE, grpc->options.metadata_bytes_max),
        arg_of(GRPC_ARG_ENABLE_RETRIES, 0),
        arg_of(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        arg_of(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, RECONNECT_FIRST_MS),
        arg_of(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, RECONNECT_LAST_MS),
        /* of several addresses only: by default gRPC would use one of them */
        {.type = GRPC_ARG_STRING,
         .key = (char *)(uintptr_t)GRPC_ARG_LB_POLICY_NAME,
         .value.string = (char *)(uintptr_t) "round_robin"},
    };
    const size_t count = sizeof args / sizeof args[0];
    const grpc_channel_args all = {strchr(target, ',') != NULL ? count : count - 1,
                                   args};
    const struct cpti_grpc_pem none = {NULL, NULL, NULL, false};
    const bool is_secure = strncmp(target, HTTPS, strlen(HTTPS)) == 0;
    grpc_channel_credentials *own = NULL; /* of this channel */
    grpc_channel *channel = NULL;

    if (!is_secure) {
        own = grpc_insecure_credentials_create();
    } else if (grpc->secure == NULL) {
        own = cpti_grpc_pem_channel(&none);
    }
    if (own == NULL && (!is_secure || grpc->secure == NULL)) {
        return grpc_lame_client_channel_create(target, GRPC_STATUS_UNAVAILABLE,
                                               "there are no certificates to believe");
    }
    channel = grpc_channel_create(is_secure ? target + strlen(HTTPS) : target,
                                  own != NULL ? own : grpc->secure, &all);
    if (own != NULL) {
        grpc_channel_credentials_release(own);
    }
    return channel;
}

static grpc_channel *channel_find(const struct cpt_grpc *grpc, const char *target)
{
    for (const struct cpti_grpc_channel *at = grpc->channels; at != NULL;
         at = at->next) {
        if (strcmp(at->target, target) == 0) {
            return at->channel;
        }
    }
    return NULL;
}

static struct cpti_grpc_channel *channel_new(struct cpt_grpc *grpc, const char *target)
{
    const size_t bytes = strlen(target) + 1;
    struct cpti_grpc_channel *channel =
        cpt_alloc_zeroed(grpc->alloc, sizeof *channel + bytes);

    if (channel != NULL) {
        memcpy(channel->target, target, bytes);
        channel->channel = channel_make(grpc, target);
    }
    return channel;
}

static void channel_free(struct cpt_grpc *grpc, struct cpti_grpc_channel *channel)
{
    if (channel != NULL) {
        grpc_channel_destroy(channel->channel);
        cpt_alloc_free(grpc->alloc, channel);
    }
}

/* The channel to @target; NULL: there is no memory, or there are too many. It lives
 * until the end. */
static grpc_channel *channel_of(struct cpt_grpc *grpc, const char *target)
{
    struct cpti_grpc_channel *made = NULL;
    grpc_channel *found = NULL;
    bool is_full = false;

    cpti_lock_take(&grpc->lock);
    found = channel_find(grpc, target);
    is_full = grpc->channel_count == CHANNELS_MAX;
    cpti_lock_release(&grpc->lock);
    if (found != NULL || is_full) {
        return found;
    }
    made = channel_new(grpc, target);
    cpti_lock_take(&grpc->lock);
    found = channel_find(grpc, target); /* another thread may have been faster */
    if (found == NULL && made != NULL) {
        found = made->channel;
        made->next = grpc->channels;
        grpc->channels = made;
        grpc->channel_count++;
        made = NULL;
    }
    cpti_lock_release(&grpc->lock);
    channel_free(grpc, made);
    return found;
}

void cpti_grpc_client_free(struct cpt_grpc *grpc)
{
    while (grpc->channels != NULL) {
        struct cpti_grpc_channel *next = grpc->channels->next;

        channel_free(grpc, grpc->channels);
        grpc->channels = next;
    }
}

/* --- The end of a call --- */

static void forget_messages(struct grpc_client_call *call)
{
    for (size_t i = 0; i < call->message_count; i++) {
        grpc_slice_unref(call->messages[i]);
    }
    cpt_alloc_free(call->grpc->alloc, call->messages);
    cpti_grpc_stream_forget(call->grpc, call->message_bytes);
    call->messages = NULL;
    call->message_count = 0;
    call->message_bytes = 0;
}

static void release(struct grpc_client_call *call)
{
    if (atomic_fetch_sub(&call->hold_count, 1) != 1) {
        return;
    }
    if (call->call != NULL) {
        grpc_call_unref(call->call);
    }
    for (size_t i = 0; i < call->field_count; i++) {
        grpc_slice_unref(call->fields[i].key);
        grpc_slice_unref(call->fields[i].value);
    }
    grpc_byte_buffer_destroy(call->body);
    grpc_byte_buffer_destroy(call->message);
    forget_messages(call);
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    grpc_slice_unref(call->sentence);
    cpt_alloc_free(call->grpc->alloc, call);
}

/* Reserves a place among the calls that are open; false: there is none. */
static bool take_place(struct cpt_grpc *grpc)
{
    bool is_taken = false;

    cpti_lock_take(&grpc->lock);
    is_taken = !grpc->refuses_calls && grpc->calls_open < grpc->options.calls_open_max;
    grpc->calls_open += is_taken;
    cpti_grpc_set(grpc, CPTI_GRPC_COUNTER_calls_open, grpc->calls_open);
    cpti_lock_release(&grpc->lock);
    return is_taken;
}

static void give_place(struct cpt_grpc *grpc)
{
    cpti_lock_take(&grpc->lock);
    grpc->calls_open--;
    cpti_grpc_set(grpc, CPTI_GRPC_COUNTER_calls_open, grpc->calls_open);
    if (grpc->is_stopped) {
        (void)pthread_cond_broadcast(&grpc->has_changed);
    }
    cpti_lock_release(&grpc->lock);
}

/* From now on it cannot be cancelled. */
static struct cpt_transport_call *detach(struct grpc_client_call *call)
{
    struct cpt_transport_call *transport = call->transport;

    cpti_lock_take(&call->grpc->lock);
    cpti_grpc_link_remove(&call->link);
    transport->state = NULL;
    cpti_lock_release(&call->grpc->lock);
    return transport;
}

static void complete(struct cpt_grpc *grpc, struct cpt_transport_call *transport,
                     const struct cpt_transport_reply *reply)
{
    if (reply->status != CPT_OK) {
        cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_calls_failed);
    }
    if (reply->status == CPT_CANCELLED) {
        cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_calls_cancelled);
    }
    cpt_transport_complete(transport, reply);
}

static bool is_over(const struct grpc_client_call *call)
{
    const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
    const gpr_timespec tick = gpr_time_from_millis(1, GPR_TIMESPAN);

    return gpr_time_cmp(gpr_time_add(now, tick), call->deadline) >= 0;
}

/* See the essay above. */
static cpt_status status_of(const struct grpc_client_call *call, bool has_path)
{
    if (call->is_large) {
        return CPT_LIMIT;
    }
    if (call->code == GRPC_STATUS_OK) {
        return call->message != NULL || call->transport->is_stream ? CPT_OK
                                                                   : CPT_CORRUPT;
    }
    if (has_path) {
        return CPT_OK;
    }
    switch (call->code) {
    case GRPC_STATUS_DEADLINE_EXCEEDED:
        return is_over(call) ? CPT_TIMEOUT : CPT_OK;
    case GRPC_STATUS_UNAVAILABLE:
        return CPT_UNAVAILABLE;
    case GRPC_STATUS_CANCELLED:
        return atomic_load_explicit(&call->is_cancelled, memory_order_relaxed)
                   ? CPT_CANCELLED
                   : CPT_OK;
    default:
        return CPT_OK;
    }
}

/* Reads what came back. Of several paths none is taken. */
static struct cpt_transport_reply reply_of(const struct grpc_client_call *call)
{
    struct cpt_transport_reply reply = {.status = CPT_OK};
    struct cpt_bytes path = {NULL, 0};
    struct cpt_bytes age = {NULL, 0};
    const unsigned count = cpti_grpc_find(&call->trailing, CPT_HEADER_PATH, &path);

    reply.is_metadata_bad = count > 1;
    reply.is_metadata_large =
        count == 1 && path.bytes > call->transport->metadata_bytes_max;
    if (count == 1 && !reply.is_metadata_large) {
        reply.metadata = path;
    }
    reply.is_cached = cpti_grpc_find(&call->initial, "age", &age) > 0;
    reply.status = status_of(call, reply.metadata.bytes > 0);
    reply.outcome = cpt_outcome_of_grpc_code((unsigned)call->code);
    return reply;
}

/* Those fields of the reply that the call asked for. */
static size_t reply_fields(const struct grpc_client_call *call,
                           struct cpt_field fields[CPT_REPLY_HEADERS_MAX])
{
    const char *const *names = call->transport->reply_headers;
    size_t count = 0;

    for (; names != NULL && *names != NULL && count < CPT_REPLY_HEADERS_MAX; names++) {
        struct cpt_field *field = &fields[count];

        for (size_t i = 0; i < call->initial.count; i++) {
            field->name = cpti_grpc_bytes(&call->initial.metadata[i].key);
            if (!grpc_is_binary_header(call->initial.metadata[i].key) &&
                field->name.bytes == strlen(*names) &&
                strncasecmp(field->name.data, *names, field->name.bytes) == 0) {
                field->value = cpti_grpc_bytes(&call->initial.metadata[i].value);
                count++;
                break;
            }
        }
    }
    return count;
}

/* Adds the messages of a stream to @reply. The list, to be freed, or NULL. */
static struct cpt_bytes *add_messages(const struct grpc_client_call *call,
                                      struct cpt_transport_reply *reply)
{
    struct cpt_bytes *list = NULL;

    if (call->message_count == 0 || reply->status != CPT_OK) {
        return NULL;
    }
    list = cpt_alloc_array(call->grpc->alloc, NULL, call->message_count, sizeof *list);
    if (list == NULL) {
        reply->status = CPT_LIMIT;
        return NULL;
    }
    for (size_t i = 0; i < call->message_count; i++) {
        list[i] = cpti_grpc_bytes(&call->messages[i]);
    }
    reply->messages = list;
    reply->message_count = call->message_count;
    return list;
}

static void finish(struct grpc_client_call *call)
{
    struct cpt_transport_reply reply = reply_of(call);
    struct cpt_field fields[CPT_REPLY_HEADERS_MAX];
    struct cpt_grpc *grpc = call->grpc;
    struct cpt_bytes *messages = add_messages(call, &reply);
    grpc_slice body = grpc_slice_ref(call->sentence);

    if (call->code == GRPC_STATUS_OK) {
        grpc_slice_unref(body);
        if (!cpti_grpc_read(call->message, &body)) {
            reply.status = CPT_CORRUPT;
        }
    }
    if (call->code != GRPC_STATUS_OK) {
        reply.message = cpti_grpc_bytes(&body);
    }
    reply.body = cpti_grpc_bytes(&body);
    reply.headers = fields;
    reply.header_count = reply_fields(call, fields);
    complete(grpc, detach(call), &reply);
    grpc_slice_unref(body);
    cpt_alloc_free(grpc->alloc, messages);
    release(call);
    give_place(grpc);
}

/* One thing less is awaited. */
static void finish_with_last(struct grpc_client_call *call)
{
    if (atomic_fetch_sub(&call->awaited, 1) == 1) {
        finish(call);
    }
}

static void on_end(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct grpc_client_call *call = CPTI_CONTAINER(tag, struct grpc_client_call, end);

    (void)is_ok; /* the code says it */
    finish_with_last(call);
}

/* --- Streams --- */

/* Keeps @buffer, which is the caller's; false: that is too much. */
static bool keep_message(struct grpc_client_call *call, grpc_byte_buffer *buffer)
{
    struct cpt_grpc *grpc = call->grpc;
    const size_t bytes = grpc_byte_buffer_length(buffer) + CPTI_GRPC_MESSAGE_BYTES;

    if (call->message_bytes + bytes > grpc->options.stream_bytes_max) {
        return false;
    }
    if (call->message_count == call->message_capacity) {
        const size_t capacity = 2 * call->message_capacity + 8;
        grpc_slice *more = cpt_alloc_array(grpc->alloc, call->messages, capacity,
                                           sizeof *call->messages);

        if (more == NULL) {
            return false;
        }
        call->messages = more;
        call->message_capacity = capacity;
    }
    if (!cpti_grpc_stream_note(grpc, bytes)) {
        return false;
    }
    call->message_bytes += bytes;
    /* one that cannot be read counts as empty */
    (void)cpti_grpc_read(buffer, &call->messages[call->message_count++]);
    return true;
}

static bool read_next(struct grpc_client_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

    op.data.recv_message.recv_message = &call->message;
    return cpti_grpc_start(call->grpc, call->call, &op, 1, &call->read);
}

/* Queue thread. */
static void on_read(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct grpc_client_call *call = CPTI_CONTAINER(tag, struct grpc_client_call, read);
    grpc_byte_buffer *message = call->message;

    (void)is_ok; /* then there is no message */
    call->message = NULL;
    if (message != NULL && !call->is_large && !keep_message(call, message)) {
        call->is_large = true;
        forget_messages(call);
        cpti_grpc_count(call->grpc, CPTI_GRPC_COUNTER_streams_cut);
        (void)grpc_call_cancel(call->call, NULL);
    }
    grpc_byte_buffer_destroy(message);
    if (message != NULL && read_next(call)) {
        return;
    }
    finish_with_last(call);
}

/* --- The beginning --- */

/* Fields that gRPC would refuse are left out: its refusal would fail the call. */
static void add_field(struct grpc_client_call *call, const struct cpt_field *field)
{
    if (field->value.data != NULL &&
        cpti_grpc_field_make(field, &call->fields[call->field_count])) {
        call->field_count++;
    }
}

/* Empty: less than a microsecond. */
static struct cpt_bytes slack_text(uint64_t slack_ns, char text[SLACK_BYTES])
{
    if (slack_ns < 1000) {
        return (struct cpt_bytes){NULL, 0};
    }
    (void)snprintf(text, SLACK_BYTES, "%llu", (unsigned long long)(slack_ns / 1000));
    return cpt_bytes_of(text);
}

static void add_fields(struct grpc_client_call *call,
                       const struct cpt_transport_call *transport)
{
    char slack[SLACK_BYTES];
    const struct cpt_field own[OWN_FIELDS] = {
        {cpt_bytes_of(CPT_HEADER_ASK), transport->critical_path},
        {cpt_bytes_of(CPT_HEADER_NONCE), transport->nonce},
        {cpt_bytes_of(CPT_HEADER_TRACEPARENT), transport->traceparent},
        {cpt_bytes_of(CPT_HEADER_TRACESTATE), transport->tracestate},
        {cpt_bytes_of(CPT_HEADER_SLACK), slack_text(transport->slack_ns, slack)}};

    for (size_t i = 0; i < OWN_FIELDS; i++) {
        if (own[i].value.bytes > 0) {
            add_field(call, &own[i]);
        }
    }
    for (size_t i = 0; i < transport->header_count; i++) {
        if (cpt_call_field_is_sendable(&transport->headers[i])) {
            add_field(call, &transport->headers[i]);
        }
    }
}

static void make_body(struct grpc_client_call *call)
{
    grpc_slice slice = cpti_grpc_slice(call->transport->body, SIZE_MAX);

    call->body = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
}

static gpr_timespec deadline_of(uint64_t timeout_ns)
{
    const int64_t nanoseconds =
        timeout_ns < INT64_MAX / 2 ? (int64_t)timeout_ns : INT64_MAX / 2;

    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_nanos(nanoseconds, GPR_TIMESPAN));
}

/* NULL: no memory, or no channel to its target. */
static struct grpc_client_call *call_new(struct cpt_grpc *grpc,
                                         struct cpt_transport_call *transport)
{
    grpc_channel *channel = channel_of(grpc, transport->target);
    struct grpc_client_call *call = NULL;
    grpc_slice method;

    if (channel != NULL) {
        call = cpt_alloc_zeroed(grpc->alloc,
                                sizeof *call + (OWN_FIELDS + transport->header_count) *
                                                   sizeof call->fields[0]);
    }
    if (call == NULL) {
        return NULL;
    }
    call->grpc = grpc;
    call->transport = transport;
    call->end.run = on_end;
    call->read.run = on_read;
    atomic_init(&call->awaited, transport->is_stream ? 2 : 1);
    call->sentence = grpc_empty_slice();
    atomic_init(&call->hold_count, 1);
    cpti_grpc_link_init(&call->link);
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    add_fields(call, transport);
    make_body(call);
    call->deadline = deadline_of(transport->timeout_ns);
    method = cpti_grpc_slice(cpt_bytes_of(transport->method), SIZE_MAX);
    call->call =
        grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, grpc->queue,
                                 method, NULL, call->deadline, NULL);
    grpc_slice_unref(method);
    return call;
}

/* From now on it can be cancelled. */
static void attach(struct grpc_client_call *call)
{
    struct cpt_grpc *grpc = call->grpc;

    cpti_lock_take(&grpc->lock);
    call->transport->state = call;
    cpti_grpc_link_add(grpc->refuses_calls ? &grpc->cut : &grpc->calls, &call->link);
    cpti_lock_release(&grpc->lock);
}

static bool start(struct grpc_client_call *call)
{
    grpc_op ops[6] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},  {.op = GRPC_OP_SEND_MESSAGE},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}, {.op = GRPC_OP_RECV_INITIAL_METADATA},
        {.op = GRPC_OP_RECV_MESSAGE},           {.op = GRPC_OP_RECV_STATUS_ON_CLIENT}};

    ops[0].data.send_initial_metadata.count = call->field_count;
    ops[0].data.send_initial_metadata.metadata = call->fields;
    ops[1].data.send_message.send_message = call->body;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &call->initial;
    ops[4].data.recv_message.recv_message = &call->message;
    ops[5].data.recv_status_on_client.trailing_metadata = &call->trailing;
    ops[5].data.recv_status_on_client.status = &call->code;
    ops[5].data.recv_status_on_client.status_details = &call->sentence;
    if (!call->transport->is_stream) {
        return grpc_call_start_batch(call->call, ops, 6, &call->end, NULL) ==
               GRPC_CALL_OK;
    }
    if (grpc_call_start_batch(call->call, ops, 5, &call->read, NULL) != GRPC_CALL_OK) {
        return false;
    }
    if (grpc_call_start_batch(call->call, ops + 5, 1, &call->end, NULL) !=
        GRPC_CALL_OK) { /* then the first one ends, without a message */
        (void)grpc_call_cancel(call->call, NULL);
        call->code = GRPC_STATUS_UNAVAILABLE;
        finish_with_last(call);
    }
    return true;
}

/* It could not be sent. */
static void refuse(struct cpt_grpc *grpc, struct cpt_transport_call *transport,
                   cpt_status status)
{
    const struct cpt_transport_reply reply = {.status = status};

    cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_calls_refused);
    complete(grpc, transport, &reply);
}

/* Within the gate. CPT_OK: it will be completed. */
static cpt_status send(struct cpt_grpc *grpc, struct cpt_transport_call *transport)
{
    struct grpc_client_call *call = call_new(grpc, transport);

    if (call == NULL) {
        return CPT_UNAVAILABLE;
    }
    attach(call);
    cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_calls_sent);
    if (start(call)) {
        return CPT_OK;
    }
    (void)detach(call);
    release(call);
    return CPT_UNAVAILABLE;
}

void cpti_grpc_client_send(struct cpt_transport *transport,
                           struct cpt_transport_call *call)
{
    struct cpt_grpc *grpc = CPTI_CONTAINER(transport, struct cpt_grpc, transport);
    cpt_status status = CPT_UNAVAILABLE;

    if (!cpti_grpc_enter(grpc)) {
        refuse(grpc, call, CPT_CANCELLED);
        return;
    }
    if (!take_place(grpc)) {
        cpti_grpc_leave(grpc);
        refuse(grpc, call, CPT_UNAVAILABLE);
        return;
    }
    status = send(grpc, call);
    if (status != CPT_OK) {
        refuse(grpc, call, status);
        give_place(grpc);
    }
    cpti_grpc_leave(grpc);
}

/* --- Cancelling --- */

/* Cancels the call that @of points to, if that is not complete yet. */
void cpti_grpc_client_cancel(struct cpt_transport *transport,
                             struct cpt_transport_call *of)
{
    struct cpt_grpc *grpc = CPTI_CONTAINER(transport, struct cpt_grpc, transport);
    struct grpc_client_call *call = NULL;

    cpti_lock_take(&grpc->lock);
    call = of->state;
    if (call != NULL) {
        (void)atomic_fetch_add(&call->hold_count, 1);
    }
    cpti_lock_release(&grpc->lock);
    if (call != NULL) {
        atomic_store_explicit(&call->is_cancelled, true, memory_order_relaxed);
        (void)grpc_call_cancel(call->call, NULL);
        release(call);
    }
}

/* The next call that is not cut yet, held; NULL: none. */
static struct grpc_client_call *next_to_cut(struct cpt_grpc *grpc)
{
    struct cpti_grpc_link *link = NULL;
    struct grpc_client_call *call = NULL;

    cpti_lock_take(&grpc->lock);
    grpc->refuses_calls = true;
    link = grpc->calls.next;
    if (link != &grpc->calls) {
        call = CPTI_CONTAINER(link, struct grpc_client_call, link);
        cpti_grpc_link_remove(link);
        cpti_grpc_link_add(&grpc->cut, link);
        (void)atomic_fetch_add(&call->hold_count, 1);
    }
    cpti_lock_release(&grpc->lock);
    return call;
}

void cpti_grpc_client_cut(struct cpt_grpc *grpc)
{
    for (struct grpc_client_call *call = next_to_cut(grpc); call != NULL;
         call = next_to_cut(grpc)) {
        atomic_store_explicit(&call->is_cancelled, true, memory_order_relaxed);
        (void)grpc_call_cancel(call->call, NULL);
        release(call);
    }
}
