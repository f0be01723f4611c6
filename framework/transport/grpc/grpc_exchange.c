/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_exchange.c - a request of a service, from its headers to its reply
 *
 *      asked for --> on_begin: headers   --> another is asked for
 *                    on_message          --> stamped, cpt_service_serve()
 *                    on_reply            --> status, message, path; on any thread
 *                    on_sent, on_close   --> freed
 *
 * An exchange is closed when nothing holds it any more: each batch that is under way,
 * the service that owes a reply, and the function that is in it hold it once. Its
 * memory goes when the request, which may send messages (grpc_stream.c), is gone, too.
 *
 * on_close comes when the reply is through, and when the client cancels, its connection
 * ends or its deadline passes before: then the request is cancelled, and its reply goes
 * nowhere.
 */
#include "framework/transport/grpc/grpc_exchange.h"

#include "cpt/base/now.h"
#include "framework/transport/grpc/grpc_metadata.h"
#include "wire/cpt_metadata.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>

#include <string.h>

enum { SENTENCE_BYTES_MAX = 1024 };

/* --- Life --- */

struct cpti_grpc_exchange *cpti_grpc_exchange_new(struct cpti_grpc_server *server)
{
    struct cpt_grpc *grpc = server->grpc;
    struct cpti_grpc_exchange *exchange =
        cpt_alloc_zeroed(grpc->alloc, sizeof *exchange);

    if (exchange == NULL) {
        return NULL;
    }
    exchange->grpc = grpc;
    exchange->server = server;
    cpti_grpc_link_init(&exchange->link);
    atomic_init(&exchange->hold_count, 1);
    cpti_grpc_stream_init(exchange);
    grpc_call_details_init(&exchange->details);
    grpc_metadata_array_init(&exchange->metadata);
    exchange->path.key = grpc_empty_slice();
    exchange->path.value = grpc_empty_slice();
    exchange->sentence = grpc_empty_slice();
    cpti_grpc_reference(grpc);
    return exchange;
}

static void headers_free(struct cpti_grpc_exchange *exchange)
{
    for (size_t i = 0; i < exchange->header_count; i++) {
        grpc_slice_unref(exchange->headers[i].key);
        grpc_slice_unref(exchange->headers[i].value);
    }
    cpt_alloc_free(exchange->grpc->alloc, exchange->headers);
    exchange->headers = NULL;
    exchange->header_count = 0;
}

/* One request less, or one more. */
static void change_open(struct cpt_grpc *grpc, bool is_more)
{
    cpti_lock_take(&grpc->lock);
    grpc->requests_open = is_more ? grpc->requests_open + 1 : grpc->requests_open - 1;
    cpti_grpc_set(grpc, CPTI_GRPC_COUNTER_requests_open, grpc->requests_open);
    if (grpc->is_stopped) {
        (void)pthread_cond_broadcast(&grpc->has_changed);
    }
    cpti_lock_release(&grpc->lock);
}

void cpti_grpc_exchange_forget(struct cpti_grpc_exchange *exchange)
{
    struct cpt_grpc *grpc = NULL;

    if (exchange == NULL) {
        return;
    }
    grpc = exchange->grpc;
    if (exchange->call != NULL) {
        grpc_call_unref(exchange->call);
    }
    cpt_request_handle_free(exchange->handle);
    grpc_call_details_destroy(&exchange->details);
    grpc_metadata_array_destroy(&exchange->metadata);
    grpc_byte_buffer_destroy(exchange->message);
    grpc_byte_buffer_destroy(exchange->body);
    headers_free(exchange);
    grpc_slice_unref(exchange->path.key);
    grpc_slice_unref(exchange->path.value);
    grpc_slice_unref(exchange->sentence);
    if (exchange->has_begun) {
        change_open(grpc, false);
    }
    cpti_grpc_stream_release(exchange);
    cpti_grpc_release(grpc);
}

void cpti_grpc_exchange_hold(struct cpti_grpc_exchange *exchange)
{
    (void)atomic_fetch_add(&exchange->hold_count, 1);
}

void cpti_grpc_exchange_release(struct cpti_grpc_exchange *exchange)
{
    if (atomic_fetch_sub(&exchange->hold_count, 1) == 1) {
        cpti_grpc_exchange_forget(exchange);
    }
}

bool cpti_grpc_exchange_start(struct cpti_grpc_exchange *exchange, const grpc_op *ops,
                              size_t count, struct cpti_grpc_tag *tag)
{
    cpti_grpc_exchange_hold(exchange);
    if (cpti_grpc_start(exchange->grpc, exchange->call, ops, count, tag)) {
        return true;
    }
    cpti_grpc_exchange_release(exchange);
    return false;
}

/* --- The reply --- */

/* false: there is no memory. */
static bool headers_make(struct cpti_grpc_exchange *exchange,
                         const struct cpt_outbound *outbound)
{
    struct cpt_grpc *grpc = exchange->grpc;

    if (outbound->header_count == 0) {
        return true;
    }
    exchange->headers = cpt_alloc_array(grpc->alloc, NULL, outbound->header_count,
                                        sizeof *exchange->headers);
    if (exchange->headers == NULL) {
        return false;
    }
    for (size_t i = 0; i < outbound->header_count; i++) {
        if (cpt_field_is_sendable(&outbound->headers[i]) &&
            cpti_grpc_field_make(&outbound->headers[i],
                                 &exchange->headers[exchange->header_count])) {
            exchange->header_count++;
        } else {
            cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_headers_refused);
        }
    }
    return true;
}

/* The code of gRPC for what the service answers. */
static grpc_status_code code_of(const struct cpt_outbound *outbound)
{
    return outbound->is_unknown_method
               ? GRPC_STATUS_UNIMPLEMENTED
               : (grpc_status_code)cpt_outcome_grpc_code(outbound->outcome);
}

/* Keeps the body: as the message, or of an error as its sentence. */
static void body_make(struct cpti_grpc_exchange *exchange,
                      const struct cpt_outbound *outbound, grpc_status_code code,
                      bool is_stream)
{
    grpc_slice slice;

    if (code != GRPC_STATUS_OK) {
        exchange->sentence = cpti_grpc_slice(outbound->body, SENTENCE_BYTES_MAX);
        return;
    }
    if (is_stream && outbound->body.bytes == 0) {
        return; /* the last message has gone */
    }
    slice = cpti_grpc_slice(outbound->body, SIZE_MAX);
    exchange->body = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
}

/* What HTTP/2 counts for a field, beside its value. */
static size_t field_bytes(const char *name)
{
    return strlen(name) + 32;
}

/* Of the status message, which is percent-encoded. */
static size_t sentence_bytes(struct cpt_bytes sentence)
{
    size_t bytes = 0;

    for (size_t i = 0; i < sentence.bytes && i < SENTENCE_BYTES_MAX; i++) {
        bytes +=
            sentence.data[i] < ' ' || sentence.data[i] > '~' || sentence.data[i] == '%'
                ? 3
                : 1;
    }
    return bytes;
}

/* As struct cpt_inbound says: beside the status in the trailing metadata; and, as gRPC
 * puts both into one block where no message goes between them, the fields of a head. */
static size_t path_room(void *context, const struct cpt_outbound *outbound)
{
    const struct cpti_grpc_exchange *exchange = context;
    const size_t asked = exchange->grpc->options.headers_bytes_max;
    size_t bytes_max = asked != 0 ? asked : CPT_HEADERS_BYTES_GRPC;
    size_t bytes = field_bytes("grpc-status") + 2;

    if (code_of(outbound) != GRPC_STATUS_OK ||
        (outbound->is_stream && outbound->body.bytes == 0)) {
        bytes += field_bytes("grpc-message") + sentence_bytes(outbound->body) +
                 field_bytes(":status200content-typeapplication/grpc") + 32 +
                 field_bytes("grpc-encodingidentity") +
                 field_bytes("grpc-accept-encodingidentity, deflate, gzip");
        bytes_max = asked != 0 ? asked : CPT_HEADERS_BYTES_HTTP;
    }
    return cpt_path_bytes_left(bytes_max, bytes, 1);
}

static void path_make(struct cpti_grpc_exchange *exchange, struct cpt_bytes path)
{
    if (path.bytes > 0) {
        exchange->path.key = grpc_slice_from_static_string(CPT_HEADER_PATH);
        exchange->path.value = cpti_grpc_slice(path, SIZE_MAX);
    }
}

/* Makes the reply, and sends it behind the messages that went before, on any thread. */
static void reply_send(struct cpti_grpc_exchange *exchange,
                       const struct cpt_outbound *outbound)
{
    const bool has_begun = cpti_grpc_stream_has_begun(exchange);
    const bool has_memory = has_begun || headers_make(exchange, outbound);

    for (size_t i = 0; has_begun && i < outbound->header_count; i++) {
        cpti_grpc_count(exchange->grpc, CPTI_GRPC_COUNTER_headers_refused);
    }
    exchange->code = has_memory ? code_of(outbound) : GRPC_STATUS_RESOURCE_EXHAUSTED;
    body_make(exchange, outbound, exchange->code, has_begun || outbound->is_stream);
    path_make(exchange, outbound->metadata);
    cpti_grpc_stream_end(exchange);
}

static void on_sent(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct cpti_grpc_exchange *exchange =
        CPTI_CONTAINER(tag, struct cpti_grpc_exchange, sent);

    if (!is_ok) {
        cpti_grpc_count(exchange->grpc, CPTI_GRPC_COUNTER_replies_undelivered);
    }
    cpti_grpc_exchange_release(exchange);
}

/* The service has answered. Any thread. */
static void on_reply(void *context, const struct cpt_outbound *outbound)
{
    struct cpti_grpc_exchange *exchange = context;

    reply_send(exchange, outbound);
    cpti_grpc_exchange_release(exchange);
}

static void refuse(struct cpti_grpc_exchange *exchange, unsigned outcome,
                   const char *sentence)
{
    const struct cpt_outbound outbound = {.outcome = outcome,
                                          .body = cpt_bytes_of(sentence)};

    cpti_grpc_count(exchange->grpc, CPTI_GRPC_COUNTER_requests_refused);
    reply_send(exchange, &outbound);
}

/* --- The request --- */

static void on_close(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct cpti_grpc_exchange *exchange =
        CPTI_CONTAINER(tag, struct cpti_grpc_exchange, close);
    struct cpt_grpc *grpc = exchange->grpc;

    if (is_ok && exchange->is_cancelled && !grpc->options.keeps_abandoned) {
        exchange->has_left = true;
        cpti_grpc_stream_break(exchange);
        if (exchange->handle != NULL && cpt_request_cancel(exchange->handle)) {
            cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_requests_abandoned);
        }
    }
    cpti_grpc_exchange_release(exchange);
}

/* HealthCheckResponse: field 1 is 1, SERVING, or 2. */
static void answer_health(struct cpti_grpc_exchange *exchange, struct cpt_bytes message)
{
    const struct cpt_grpc *grpc = exchange->grpc;
    const bool is_unready =
        atomic_load_explicit(&grpc->is_unready, memory_order_relaxed);
    struct cpt_outbound outbound = {.outcome = CPT_OUTCOME_OK};
    struct cpt_bytes service;

    if (!cpti_grpc_health_service(message, &service)) {
        outbound.outcome = CPT_OUTCOME_INVALID_ARGUMENT;
    } else if (service.bytes != 0 &&
               !cpt_bytes_equal(service, cpt_bytes_of(cpt_service_name(
                                             exchange->server->service)))) {
        outbound.outcome = CPT_OUTCOME_NOT_FOUND;
    } else {
        outbound.body = (struct cpt_bytes){is_unready ? "\x08\x02" : "\x08\x01", 2};
    }
    reply_send(exchange, &outbound);
}

/* Reads deadline and metadata; sets @inbound->arrival_ns if the request may be traced.
 * The deadline of a client whom the service does not trust is no limit of the request:
 * when it passes, gRPC cancels the call, and that client has left, as one that hangs up
 * has. */
static void inbound_fill(const struct cpti_grpc_exchange *exchange,
                         struct cpt_inbound *inbound,
                         char timeout[CPTI_GRPC_TIMEOUT_BYTES])
{
    struct cpt_service *service = exchange->server->service;
    const grpc_metadata_array *metadata = &exchange->metadata;

    inbound->timeout = cpti_grpc_timeout(exchange->details.deadline, timeout);
    inbound->coin = cpt_service_coin(service);
    inbound->critical_path_count =
        cpti_grpc_find(metadata, CPT_HEADER_ASK, &inbound->critical_path);
    if (inbound->coin == CPT_COIN_HIT || inbound->coin == CPT_COIN_LATER ||
        (inbound->coin == CPT_COIN_MISSED && inbound->critical_path_count > 0)) {
        inbound->arrival_ns = cpt_clock_now_ns(cpt_service_clock(service));
    }
    if (cpti_grpc_find(metadata, "traceparent", &inbound->traceparent) > 1) {
        inbound->traceparent = cpt_bytes_of(""); /* none of them, and counted */
    }
    if (cpti_grpc_find(metadata, CPT_HEADER_SLACK, &inbound->slack) > 1) {
        inbound->slack = cpt_bytes_of("several"); /* ignored, and counted */
    }
}

/* Who has sent the request of @inbound, if that counts. */
static void sender_read(const struct cpti_grpc_exchange *exchange,
                        struct cpt_inbound *inbound, struct cpti_grpc_names *names)
{
    if (!cpt_inbound_needs_trust(inbound)) {
        return;
    }
    inbound->is_forwarded = cpti_grpc_is_forwarded(&exchange->metadata);
    if (exchange->server->is_secure) {
        cpti_grpc_names_read(exchange->call, names);
        inbound->peer_names = names->names;
        inbound->peer_name_count = names->count;
    }
}

static void serve(struct cpti_grpc_exchange *exchange, struct cpt_bytes body)
{
    struct cpt_field headers[CPT_HEADERS_MAX];
    char address[CPTI_GRPC_ADDRESS_BYTES];
    char timeout[CPTI_GRPC_TIMEOUT_BYTES];
    char *peer = NULL;
    struct cpti_grpc_names names;
    struct cpt_inbound inbound = {.method = cpti_grpc_bytes(&exchange->details.method),
                                  .body = body,
                                  .verb = cpt_bytes_of("POST"),
                                  .has_outcomes = 1,
                                  .headers = headers,
                                  .handle = &exchange->handle,
                                  .stream = &exchange->stream,
                                  .path_room = path_room};

    inbound.header_count = cpti_grpc_headers(&exchange->metadata, headers);
    inbound_fill(exchange, &inbound, timeout);
    peer = grpc_call_get_peer(exchange->call);
    inbound.peer_address = cpti_grpc_address(peer, address);
    gpr_free(peer);
    sender_read(exchange, &inbound, &names);
    cpti_grpc_count(exchange->grpc, CPTI_GRPC_COUNTER_requests_served);
    cpti_grpc_exchange_hold(exchange); /* until on_reply() */
    cpt_service_serve(exchange->server->service, &inbound, on_reply, exchange);
}

static void message_take(struct cpti_grpc_exchange *exchange)
{
    grpc_slice slice;

    if (exchange->has_left || exchange->message == NULL ||
        !cpti_grpc_read(exchange->message, &slice)) {
        refuse(exchange, CPT_OUTCOME_INVALID_ARGUMENT, "there is no message");
        return;
    }
    grpc_byte_buffer_destroy(exchange->message);
    exchange->message = NULL;
    if (exchange->grpc->options.serves_health &&
        grpc_slice_str_cmp(exchange->details.method, "/grpc.health.v1.Health/Check") ==
            0) {
        answer_health(exchange, cpti_grpc_bytes(&slice));
    } else {
        serve(exchange, cpti_grpc_bytes(&slice));
    }
    grpc_slice_unref(slice);
}

static void on_message(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct cpti_grpc_exchange *exchange =
        CPTI_CONTAINER(tag, struct cpti_grpc_exchange, arrival);

    (void)is_ok; /* then there is no message */
    cpti_grpc_link_remove(&exchange->link);
    message_take(exchange);
    cpti_grpc_exchange_release(exchange);
}

static void read_message(struct cpti_grpc_exchange *exchange)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

    op.data.recv_message.recv_message = &exchange->message;
    exchange->begin_ns = cpti_now_ns();
    cpti_grpc_link_add(&exchange->grpc->reading, &exchange->link);
    if (!cpti_grpc_exchange_start(exchange, &op, 1, &exchange->arrival)) {
        cpti_grpc_link_remove(&exchange->link);
    }
}

static void on_begin(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct cpti_grpc_exchange *exchange =
        CPTI_CONTAINER(tag, struct cpti_grpc_exchange, begin);
    struct cpt_grpc *grpc = exchange->grpc;
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

    if (!is_ok) { /* the server ends */
        cpti_grpc_exchange_release(exchange);
        return;
    }
    cpti_grpc_server_ask(exchange->server);
    exchange->has_begun = true;
    change_open(grpc, true);
    op.data.recv_close_on_server.cancelled = &exchange->is_cancelled;
    (void)cpti_grpc_exchange_start(exchange, &op, 1, &exchange->close);
    if (atomic_load_explicit(&grpc->counters[CPTI_GRPC_COUNTER_requests_open],
                             memory_order_relaxed) > grpc->options.requests_open_max) {
        refuse(exchange, CPT_OUTCOME_RESOURCE_EXHAUSTED, "too many requests are open");
    } else {
        read_message(exchange);
    }
    cpti_grpc_exchange_release(exchange);
}

void cpti_grpc_exchange_ask(struct cpti_grpc_exchange *exchange)
{
    struct cpt_grpc *grpc = exchange->grpc;
    bool is_asked = false;

    exchange->begin.run = on_begin;
    exchange->arrival.run = on_message;
    exchange->close.run = on_close;
    exchange->sent.run = on_sent;
    if (cpti_grpc_enter(grpc)) {
        is_asked = grpc_server_request_call(exchange->server->server, &exchange->call,
                                            &exchange->details, &exchange->metadata,
                                            grpc->queue, grpc->queue,
                                            &exchange->begin) == GRPC_CALL_OK;
        cpti_grpc_leave(grpc);
    }
    if (!is_asked) { /* everything ends */
        cpti_grpc_exchange_release(exchange);
    }
}

/* The oldest stand first. */
void cpti_grpc_exchanges_sweep(struct cpt_grpc *grpc, uint64_t now_ns)
{
    struct cpti_grpc_link *link = grpc->reading.next;

    while (link != &grpc->reading) {
        struct cpti_grpc_exchange *exchange =
            CPTI_CONTAINER(link, struct cpti_grpc_exchange, link);

        link = link->next;
        if (now_ns - exchange->begin_ns < grpc->options.body_ns) {
            break;
        }
        cpti_grpc_link_remove(&exchange->link);
        cpti_grpc_count(grpc, CPTI_GRPC_COUNTER_cut_slow);
        (void)grpc_call_cancel_with_status(exchange->call,
                                           GRPC_STATUS_DEADLINE_EXCEEDED,
                                           "the message took too long", NULL);
    }
}
