/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_exchange.c - what serves a request that has been read
 *
 * An *exchange* is a request of a service, from its last byte in to its reply:
 *
 *      the peer has all of it     -> stamped, posted          [received]
 *      the loop comes to it       -> cpt_service_serve()      [served]
 *      the service replies, on any thread; posted if another  [replied]
 *
 * The request is stamped when it is whole, and served only after all other ready
 * sockets have been read. The wait in between counts as the service's own time, where a
 * person looks for it. So does the time that the request waited in the kernel for a
 * loop that was late; but no deadline begins there, as it is known of few requests.
 *
 * Other requests are answered at once: those that the server refuses, and those
 * about the service (http_health.c).
 *
 * Ownership. The peer owns the request's bytes, which the service borrows until
 * cpt_service_serve() returns. If the connection is closed meanwhile, the exchange
 * remains without a peer: its reply is dropped and counted. If the loop has been freed,
 * too, the service's reply frees the exchange on its own thread.
 *
 * A client that closes its connection, or its side of it, before the reply wants none:
 * its request is cancelled.
 */
#include "framework/transport/http/server/http_guard.h"
#include "framework/transport/http/server/http_health.h"
#include "framework/transport/http/message/http_kernel.h"
#include "framework/transport/http/server/http_peer.h"
#include "framework/transport/http/message/http_route.h"
#include "wire/cpt_metadata.h"

#include <string.h>

enum { BAD_REQUEST = 400, NOT_ALLOWED = 405, INTERNAL = 500, UNAVAILABLE = 503 };

struct cpti_http_exchange {
    struct cpt_work work;
    struct cpt_http *http;
    struct cpt_service *service;
    /* NULL: its connection is closed. Loop thread, as the next four fields. */
    struct cpti_http_peer *peer;
    uint64_t arrival_ns;
    uint64_t waited_ns;  /* for being read, before that */
    size_t target_bytes; /* of the request; any thread, as it is set before it begins */
    unsigned coin;
    bool is_serving; /* cpt_service_serve() has not returned */
    bool is_replied;
    struct cpt_request_handle *handle; /* or NULL */
    /* The reply of another thread: that writes it, then the loop thread reads it. */
    struct cpti_http_reply reply;
    char *copy;                  /* what the reply borrows … */
    struct cpti_http_text lines; /* … and its headers */
};

/* --- The end of an exchange --- */

static void exchange_free(struct cpti_http_exchange *exchange)
{
    struct cpt_http *http = exchange->http;

    cpt_request_handle_free(exchange->handle);
    cpt_alloc_free(http->alloc, exchange->copy);
    if (exchange->lines.data != NULL) {
        cpti_http_text_deinit(&exchange->lines);
    }
    cpt_alloc_free(http->alloc, exchange);
    cpti_http_release(http);
}

/* Loop thread. */
static void exchange_end(struct cpti_http_exchange *exchange)
{
    exchange->http->exchange_count--;
    cpti_http_set(exchange->http, CPTI_HTTP_COUNTER_requests_open,
                  exchange->http->exchange_count);
    exchange_free(exchange);
}

void cpti_http_exchange_abandon(struct cpti_http_exchange *exchange)
{
    if (exchange->handle != NULL && !exchange->http->options.keeps_abandoned) {
        cpti_http_count(exchange->http, CPTI_HTTP_COUNTER_requests_abandoned);
        (void)cpt_request_cancel(exchange->handle);
    }
}

void cpti_http_exchange_leave(struct cpti_http_exchange *exchange)
{
    exchange->peer = NULL;
    cpti_http_exchange_abandon(exchange);
}

/* --- The reply --- */

static struct cpti_http_reply reply_of(const struct cpt_outbound *outbound)
{
    const unsigned status = outbound->http_status != 0
                                ? outbound->http_status
                                : cpt_outcome_http_status(outbound->outcome);
    struct cpti_http_reply reply = {.status = status, .is_of_service = true};

    if (status < 200 || status > 599) {
        reply.status = INTERNAL;
    }
    reply.content_type = outbound->content_type.bytes > 0 ? outbound->content_type
                                                          : cpt_bytes_of("text/plain");
    reply.metadata = outbound->metadata;
    reply.headers = outbound->headers;
    reply.header_count = outbound->header_count;
    if (cpti_http_has_body(reply.status)) {
        reply.body = outbound->body;
    }
    return reply;
}

/* As struct cpt_inbound says. Any thread. */
static size_t path_room(void *context, const struct cpt_outbound *outbound)
{
    const struct cpti_http_exchange *exchange = context;
    const struct cpti_http_reply reply = reply_of(outbound);

    return cpti_http_reply_room(exchange->http, &reply, exchange->target_bytes);
}

static void move_into(char **at, struct cpt_bytes *bytes)
{
    if (bytes->bytes > 0) {
        memcpy(*at, bytes->data, bytes->bytes);
    }
    bytes->data = *at;
    *at += bytes->bytes;
}

/* Writes the headers. Without memory the reply becomes a 500: none lacks some. */
static void headers_keep(struct cpti_http_exchange *exchange)
{
    struct cpti_http_reply *reply = &exchange->reply;
    struct cpti_http_text *lines = &exchange->lines;

    lines->alloc = exchange->http->alloc;
    cpti_http_route_write(exchange->http, reply->headers, reply->header_count, lines);
    reply->headers = NULL;
    reply->header_count = 0;
    if (lines->is_bad) {
        *reply = (struct cpti_http_reply){.status = INTERNAL, .is_of_service = true};
        return;
    }
    reply->lines = (struct cpt_bytes){lines->data, lines->bytes};
}

/* Copies what the reply borrows. Without memory it becomes a 500 without a body. */
static void reply_keep(struct cpti_http_exchange *exchange)
{
    struct cpti_http_reply *reply = &exchange->reply;
    char *at = cpt_alloc_array(
        exchange->http->alloc, NULL,
        reply->content_type.bytes + reply->metadata.bytes + reply->body.bytes + 1, 1);

    exchange->copy = at;
    if (at == NULL) {
        *reply = (struct cpti_http_reply){.status = INTERNAL, .is_of_service = true};
        return;
    }
    move_into(&at, &reply->content_type);
    move_into(&at, &reply->metadata);
    move_into(&at, &reply->body);
    headers_keep(exchange);
}

static void reply_send(struct cpti_http_exchange *exchange,
                       const struct cpti_http_reply *reply)
{
    if (exchange->peer == NULL) {
        cpti_http_count(exchange->http, CPTI_HTTP_COUNTER_replies_undelivered);
        return;
    }
    cpti_http_peer_reply(exchange->peer, reply);
}

/* The reply is sent, and nothing borrows the request. */
static void exchange_finish(struct cpti_http_exchange *exchange)
{
    struct cpti_http_peer *peer = exchange->peer;

    exchange_end(exchange);
    if (peer != NULL) {
        cpti_http_peer_continue(peer);
        cpti_http_peer_release(peer);
    }
}

static void run_send(struct cpt_work *work)
{
    struct cpti_http_exchange *exchange =
        CPTI_CONTAINER(work, struct cpti_http_exchange, work);

    if (exchange->peer != NULL) {
        cpti_http_peer_hold(exchange->peer);
    }
    reply_send(exchange, &exchange->reply);
    exchange_finish(exchange);
}

/* The service has answered. Any thread. */
static void on_reply(void *context, const struct cpt_outbound *outbound)
{
    struct cpti_http_exchange *exchange = context;
    const struct cpti_http_reply reply = reply_of(outbound);

    if (!cpti_http_loop_is_here(exchange->http)) {
        exchange->reply = reply;
        reply_keep(exchange);
        exchange->work.run = run_send;
        if (!cpti_http_loop_post(exchange->http, &exchange->work)) {
            exchange_free(exchange);
        }
        return;
    }
    if (exchange->is_serving) { /* the request is still borrowed */
        exchange->is_replied = true;
        reply_send(exchange, &reply);
        return;
    }
    if (exchange->peer != NULL) {
        cpti_http_peer_hold(exchange->peer);
    }
    reply_send(exchange, &reply);
    exchange_finish(exchange);
}

/* --- The request --- */

static struct cpt_inbound inbound_of(const struct cpti_http_peer *peer,
                                     const struct cpti_http_request *request)
{
    const struct cpti_http_parser *parser = request->parser;
    const char *head = request->head.data;
    struct cpt_inbound inbound = {.method = request->path,
                                  .query = request->query,
                                  .body = request->body,
                                  .peer_address = cpt_bytes_of(peer->text_address)};

    inbound.critical_path_count = cpti_http_parser_field(
        parser, head, CPTI_HTTP_FIELD_ASK, &inbound.critical_path);
    if (cpti_http_parser_field(parser, head, CPTI_HTTP_FIELD_TRACEPARENT,
                               &inbound.traceparent) > 1) {
        inbound.traceparent = cpt_bytes_of(""); /* none of them, and counted */
    }
    if (cpti_http_parser_field(parser, head, CPTI_HTTP_FIELD_TIMEOUT,
                               &inbound.timeout) > 1) {
        inbound.timeout = cpt_bytes_of("several"); /* ignored, and counted */
    }
    if (cpti_http_parser_field(parser, head, CPTI_HTTP_FIELD_SLACK, &inbound.slack) >
        1) {
        inbound.slack = cpt_bytes_of("several"); /* likewise */
    }
    return inbound;
}

/* Who has sent the request of @inbound, if that counts. */
static void sender_read(const struct cpti_http_peer *peer, struct cpt_inbound *inbound)
{
    if (!cpt_inbound_needs_trust(inbound)) {
        return;
    }
    inbound->is_forwarded = cpti_http_is_forwarded(inbound);
    if (peer->tls != NULL) {
        inbound->peer_names = cpti_tls_names(peer->tls, &inbound->peer_name_count);
    }
}

static void run_serve(struct cpt_work *work)
{
    struct cpti_http_exchange *exchange =
        CPTI_CONTAINER(work, struct cpti_http_exchange, work);
    struct cpti_http_peer *peer = exchange->peer;
    struct cpt_field headers[CPT_HEADERS_MAX];
    struct cpti_http_request request;
    struct cpt_inbound inbound;

    if (peer == NULL) {
        exchange_end(exchange);
        return;
    }
    (void)cpti_http_peer_request(peer, &request); /* it was looked at before */
    inbound = inbound_of(peer, &request);
    inbound.verb = request.verb;
    cpti_http_route_read(request.head, headers, &inbound);
    sender_read(peer, &inbound);
    inbound.arrival_ns = exchange->arrival_ns;
    inbound.waited_ns = exchange->waited_ns;
    inbound.coin = exchange->coin;
    inbound.handle = &exchange->handle;
    inbound.path_room = path_room;
    exchange->target_bytes = request.path.bytes + request.query.bytes + 1;
    exchange->is_serving = true;
    cpti_http_peer_hold(peer);
    /* Another thread may reply from here on; its work runs after this function. */
    cpt_service_serve(exchange->service, &inbound, on_reply, exchange);
    exchange->is_serving = false;
    if (exchange->is_replied) {
        exchange_end(exchange);
        cpti_http_peer_continue(peer);
    }
    cpti_http_peer_release(peer);
}

static struct cpti_http_exchange *exchange_new(struct cpti_http_peer *peer)
{
    struct cpt_http *http = peer->http;
    struct cpti_http_exchange *exchange =
        cpt_alloc_zeroed(http->alloc, sizeof *exchange);

    if (exchange == NULL) {
        return NULL;
    }
    exchange->http = http;
    exchange->service = cpti_http_server_service(peer->server);
    exchange->peer = peer;
    exchange->work.run = run_serve;
    http->exchange_count++;
    cpti_http_set(http, CPTI_HTTP_COUNTER_requests_open, http->exchange_count);
    cpti_http_reference(http);
    return exchange;
}

/* --- What is answered at once --- */

static void answer(struct cpti_http_peer *peer, const struct cpti_http_reply *reply)
{
    cpti_http_peer_reply(peer, reply);
    cpti_http_peer_continue(peer);
}

static void answer_text(struct cpti_http_peer *peer, unsigned status,
                        const char *sentence, const char *allow)
{
    const struct cpti_http_reply reply = {.status = status,
                                          .content_type =
                                              cpt_bytes_of("text/plain; charset=utf-8"),
                                          .body = cpt_bytes_of(sentence),
                                          .allow = allow};

    answer(peer, &reply);
}

/* --- The beginning --- */

/* Whether it was refused. What verbs are served, the service says. */
static bool refuse(struct cpti_http_peer *peer, const struct cpti_http_request *request)
{
    const char *sentence = NULL;
    const unsigned refused = cpti_http_guard(
        &peer->http->options, request, cpti_http_server_port(peer->server), &sentence);

    if (refused != 0) {
        cpti_http_refused(
            peer, refused == NOT_ALLOWED ? CPT_REFUSAL_VERB : CPT_REFUSAL_FOREIGN,
            refused, request->path, sentence);
        answer_text(peer, refused, sentence, refused == NOT_ALLOWED ? "GET" : NULL);
        return true;
    }
    return false;
}

/* The clock, and the kernel's queue, are read only for one that may be traced. */
void cpti_http_exchange_begin(struct cpti_http_peer *peer)
{
    struct cpt_service *service = cpti_http_server_service(peer->server);
    struct cpti_http_exchange *exchange = NULL;
    struct cpti_http_request request;
    struct cpti_http_queues queues = {.unread_ns = 0};
    unsigned coin = CPT_COIN_NONE;
    uint64_t arrival_ns = 0;

    if (!cpti_http_peer_request(peer, &request)) {
        static const char sentence[] = "the target is not a path\n";

        cpti_http_refused(peer, CPT_REFUSAL_MALFORMED, BAD_REQUEST, cpt_bytes_of(""),
                          sentence);
        answer_text(peer, BAD_REQUEST, sentence, NULL);
        return;
    }
    if (refuse(peer, &request) || cpti_http_health_serve(peer, &request)) {
        return;
    }
    coin = cpt_service_coin(service);
    if (coin == CPT_COIN_HIT || coin == CPT_COIN_LATER ||
        (coin == CPT_COIN_MISSED &&
         request.parser->fields[CPTI_HTTP_FIELD_ASK].count > 0)) {
        arrival_ns = cpt_clock_now_ns(cpt_service_clock(service));
        (void)cpti_http_queues_read(peer->descriptor, &queues);
    }
    exchange = exchange_new(peer);
    if (exchange == NULL) {
        cpti_http_refused(peer, CPT_REFUSAL_MEMORY, UNAVAILABLE, request.path,
                          "there was no memory for the request");
        answer(peer, &(const struct cpti_http_reply){.status = UNAVAILABLE});
        return;
    }
    cpti_http_count(peer->http, CPTI_HTTP_COUNTER_requests_served);
    exchange->arrival_ns = arrival_ns;
    exchange->waited_ns = queues.unread_ns;
    exchange->coin = coin;
    peer->exchange = exchange;
    (void)cpti_http_loop_post(peer->http, &exchange->work);
}
