/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_stream.c - the messages of an answer, in their order, and the answer behind them
 *
 *      cpt_rpc_send() ---> [ message, message ] ---> one batch at a time ---> gRPC
 *      on_reply()     ---> status and path, once none waits
 *
 * gRPC takes one message of a call at a time, and says when it has passed it on: when
 * the client's window has room. What waits until then is bounded, for each request and
 * for all; a task that sends more learns it at once, as CPT_LIMIT.
 *
 * A reply without messages before it is one batch: headers, message, status.
 */
#include "framework/transport/grpc/grpc_exchange.h"
#include "framework/transport/grpc/grpc_metadata.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>

struct cpti_grpc_message {
    struct cpti_grpc_message *next;
    grpc_byte_buffer *body;
    size_t bytes; /* that count */
};

static void message_free(struct cpti_grpc_exchange *exchange,
                         struct cpti_grpc_message *message)
{
    grpc_byte_buffer_destroy(message->body);
    cpti_grpc_stream_forget(exchange->grpc, message->bytes);
    cpt_alloc_free(exchange->alloc, message);
}

/* Takes the first message out. Lock held. */
static struct cpti_grpc_message *take_first(struct cpti_grpc_exchange *exchange)
{
    struct cpti_grpc_message *message = exchange->first;

    exchange->first = message->next;
    exchange->waiting_bytes -= message->bytes;
    return message;
}

static void messages_free(struct cpti_grpc_exchange *exchange,
                          struct cpti_grpc_message *message)
{
    while (message != NULL) {
        struct cpti_grpc_message *next = message->next;

        message_free(exchange, message);
        message = next;
    }
}

/* No message goes any more. Takes those out that are not under way, for
 * messages_free(). Lock held. */
static struct cpti_grpc_message *break_off(struct cpti_grpc_exchange *exchange)
{
    struct cpti_grpc_message **from = &exchange->first;
    struct cpti_grpc_message *left = NULL;

    exchange->is_broken = true;
    if (exchange->is_sending) {
        from = &exchange->first->next;
        exchange->last = exchange->first;
        exchange->waiting_bytes = exchange->first->bytes;
    } else {
        exchange->waiting_bytes = 0;
    }
    left = *from;
    *from = NULL;
    return left;
}

void cpti_grpc_stream_break(struct cpti_grpc_exchange *exchange)
{
    struct cpti_grpc_message *left = NULL;

    cpti_lock_take(&exchange->lock);
    left = exchange->first != NULL ? break_off(exchange) : NULL;
    exchange->is_broken = true;
    cpti_lock_release(&exchange->lock);
    messages_free(exchange, left);
}

/* --- Batches --- */

/* Appends the headers to @ops, unless they have gone. */
static size_t add_headers(struct cpti_grpc_exchange *exchange, grpc_op *ops,
                          bool have_gone)
{
    if (have_gone) {
        return 0;
    }
    ops[0] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
    ops[0].data.send_initial_metadata.count = exchange->header_count;
    ops[0].data.send_initial_metadata.metadata = exchange->headers;
    return 1;
}

/* All messages have gone. */
static void send_reply(struct cpti_grpc_exchange *exchange)
{
    grpc_op ops[3];
    size_t count = add_headers(exchange, ops, exchange->has_begun_stream);

    ops[count] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    ops[count].data.send_status_from_server.status = exchange->code;
    ops[count].data.send_status_from_server.status_details = &exchange->sentence;
    ops[count].data.send_status_from_server.trailing_metadata_count =
        !GRPC_SLICE_IS_EMPTY(exchange->path.key);
    ops[count++].data.send_status_from_server.trailing_metadata = &exchange->path;
    if (exchange->body != NULL) {
        ops[count] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
        ops[count++].data.send_message.send_message = exchange->body;
    }
    if (!cpti_grpc_exchange_start(exchange, ops, count, &exchange->sent)) {
        cpti_grpc_count(exchange->grpc, CPTI_GRPC_COUNTER_replies_undelivered);
    }
}

/* Sends the first message, which is under way from now on. @is_first: of all. */
static void send_message(struct cpti_grpc_exchange *exchange,
                         struct cpti_grpc_message *message, bool is_first)
{
    struct cpti_grpc_message *left = NULL;
    bool is_answered = false;
    grpc_op ops[2];
    size_t count = add_headers(exchange, ops, !is_first);

    ops[count] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
    ops[count++].data.send_message.send_message = message->body;
    if (cpti_grpc_exchange_start(exchange, ops, count, &exchange->passed)) {
        return;
    }
    cpti_lock_take(&exchange->lock);
    exchange->is_sending = false;
    left = break_off(exchange);
    is_answered = exchange->is_answered;
    cpti_lock_release(&exchange->lock);
    messages_free(exchange, left);
    if (is_answered) {
        send_reply(exchange);
    }
}

/* A message was passed on, or could not be. Queue thread. */
static void on_passed(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct cpti_grpc_exchange *exchange =
        CPTI_CONTAINER(tag, struct cpti_grpc_exchange, passed);
    struct cpti_grpc_message *gone = NULL;
    struct cpti_grpc_message *next = NULL;
    bool is_answered = false;

    cpti_lock_take(&exchange->lock);
    exchange->is_sending = false;
    gone = take_first(exchange);
    if (is_ok && !exchange->is_broken) {
        gone->next = NULL;
        next = exchange->first;
    } else {
        gone->next = break_off(exchange);
    }
    exchange->is_sending = next != NULL;
    is_answered = next == NULL && exchange->is_answered;
    cpti_lock_release(&exchange->lock);
    messages_free(exchange, gone);
    if (next != NULL) {
        send_message(exchange, next, false);
    } else if (is_answered) {
        send_reply(exchange);
    }
    cpti_grpc_exchange_release(exchange);
}

bool cpti_grpc_stream_has_begun(struct cpti_grpc_exchange *exchange)
{
    bool has_begun = false;

    cpti_lock_take(&exchange->lock);
    exchange->is_closing = true;
    has_begun = exchange->has_begun_stream;
    cpti_lock_release(&exchange->lock);
    return has_begun;
}

void cpti_grpc_stream_end(struct cpti_grpc_exchange *exchange)
{
    bool is_sending = false;

    cpti_lock_take(&exchange->lock);
    exchange->is_answered = true;
    is_sending = exchange->is_sending;
    cpti_lock_release(&exchange->lock);
    if (!is_sending) {
        send_reply(exchange);
    }
}

/* --- Messages of tasks --- */

static struct cpti_grpc_message *message_new(struct cpti_grpc_exchange *exchange,
                                             struct cpt_bytes from)
{
    struct cpti_grpc_message *message =
        cpt_alloc_zeroed(exchange->alloc, sizeof *message);
    grpc_slice slice;

    if (message != NULL) {
        slice = cpti_grpc_slice(from, SIZE_MAX);
        message->body = grpc_raw_byte_buffer_create(&slice, 1);
        message->bytes = from.bytes + CPTI_GRPC_MESSAGE_BYTES;
        grpc_slice_unref(slice);
    }
    return message;
}

/* Appends @message. Lock held. */
static void append(struct cpti_grpc_exchange *exchange,
                   struct cpti_grpc_message *message)
{
    if (exchange->first == NULL) {
        exchange->first = message;
    } else {
        exchange->last->next = message;
    }
    exchange->last = message;
    exchange->waiting_bytes += message->bytes;
}

/* Whether a message of @bytes may wait; then it counts among those of all. Lock held,
 * as until the exchange is answered `grpc` is there. */
static cpt_status admit(struct cpti_grpc_exchange *exchange, size_t bytes)
{
    if (exchange->is_closing || exchange->is_broken) {
        return CPT_CANCELLED;
    }
    if (exchange->waiting_bytes + bytes > exchange->grpc->options.stream_bytes_max ||
        !cpti_grpc_stream_note(exchange->grpc, bytes)) {
        cpti_grpc_count(exchange->grpc, CPTI_GRPC_COUNTER_streams_cut);
        return CPT_LIMIT;
    }
    return CPT_OK;
}

static cpt_status send(struct cpt_stream *stream, struct cpt_bytes from)
{
    struct cpti_grpc_exchange *exchange =
        CPTI_CONTAINER(stream, struct cpti_grpc_exchange, stream);
    struct cpti_grpc_message *message = NULL;
    cpt_status status = CPT_OK;
    bool is_first = false;
    bool starts = false;

    message = message_new(exchange, from);
    if (message == NULL) {
        return CPT_NO_MEMORY;
    }
    cpti_lock_take(&exchange->lock);
    status = admit(exchange, message->bytes);
    if (status == CPT_OK) {
        append(exchange, message);
        is_first = !exchange->has_begun_stream;
        starts = !exchange->is_sending;
        exchange->is_sending = true;
        exchange->has_begun_stream = true;
        cpti_grpc_exchange_hold(exchange); /* it is not answered yet: it is there */
    }
    cpti_lock_release(&exchange->lock);
    if (status != CPT_OK) {
        grpc_byte_buffer_destroy(message->body);
        cpt_alloc_free(exchange->alloc, message);
        return status;
    }
    if (starts) {
        send_message(exchange, message, is_first);
    }
    cpti_grpc_exchange_release(exchange);
    return CPT_OK;
}

/* --- Life --- */

static void hold(struct cpt_stream *stream)
{
    (void)atomic_fetch_add(
        &CPTI_CONTAINER(stream, struct cpti_grpc_exchange, stream)->reference_count, 1);
}

void cpti_grpc_stream_release(struct cpti_grpc_exchange *exchange)
{
    if (atomic_fetch_sub(&exchange->reference_count, 1) == 1) {
        cpti_lock_deinit(&exchange->lock);
        cpt_alloc_free(exchange->alloc, exchange);
    }
}

static void release(struct cpt_stream *stream)
{
    cpti_grpc_stream_release(CPTI_CONTAINER(stream, struct cpti_grpc_exchange, stream));
}

void cpti_grpc_stream_init(struct cpti_grpc_exchange *exchange)
{
    exchange->stream = (struct cpt_stream){send, hold, release};
    exchange->alloc = exchange->grpc->alloc;
    exchange->passed.run = on_passed;
    atomic_init(&exchange->reference_count, 1);
    cpti_lock_init(&exchange->lock, CPTI_RANK_STREAM);
}
