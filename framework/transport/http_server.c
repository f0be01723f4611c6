/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_server.c - requests in, replies out
 *
 * An *exchange* is one request from its last byte in to its reply's last byte out:
 *
 *      evhttp has read it  -> stamped, posted          [received]
 *      the loop comes to it -> cpt_service_serve()     [served]
 *      the service replies, on any thread, posted      [replied]
 *      evhttp has written it, or the connection broke  -> freed
 *
 * The request is stamped when evhttp has read it whole, and served only after all other
 * ready sockets have been read. The wait in between counts as the service's own time,
 * where a person looks for it.
 *
 * Ownership. evhttp owns the request. While it is served evhttp does not read from its
 * connection, so both stay, except when we close everything or a delayed write fails.
 * Then evhttp calls the close callback: if it has detached the request from its
 * connection, we free the request, else evhttp does. A reply to a closed connection is
 * dropped and counted. If the loop has been freed, too, the service's reply frees the
 * exchange on its own thread.
 *
 * A client that closes its connection, or its side of it, before the reply wants none:
 * its request is cancelled. While a request is served we watch the socket for that
 * event alone, if the system reports it (EV_CLOSED), and only if the reply does not
 * come at once.
 *
 * Limits: evhttp limits headers and bodies; a watermark limits what a client sends
 * ahead of its turn (a pipeline): beyond it the socket is not read. What all clients
 * take together, and how slow they may be, is in http_budget.c.
 */
#include "framework/transport/http_guard.h"
#include "framework/transport/http_headers.h"
#include "framework/transport/http_health.h"
#include "framework/transport/http_loop.h"
#include "framework/transport/http_route.h"
#include "wire/cpt_metadata.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum {
    BACKLOG = 511,
    /* Bytes that may wait unread in a connection's buffer beside headers and a body. */
    SLACK_BYTES = 4096
};

/* The listener rests this long after a failed accept (no descriptors left). */
#define ACCEPT_REST_NS (CPTI_NS_PER_S / 10)

/* One port of one service. */
struct cpti_http_server {
    struct cpti_http_server *next;
    struct cpt_http *http;
    struct cpt_service *service;
    struct evhttp *evhttp;
    struct evhttp_bound_socket *socket; /* NULL: accepts no more connections */
    struct evconnlistener *listener;
    struct cpt_timer rest;
    uint16_t port;
    bool is_operators; /* it serves what is about the service, not the service */
    bool is_resting;
};

struct exchange {
    struct cpt_work work;
    struct cpt_http *http;
    struct cpt_service *service;
    /* NULL: its connection is closed. Loop thread, as the next six fields. */
    struct evhttp_request *request;
    struct cpti_http_peer *peer; /* if there is a request */
    uint64_t arrival_ns;
    unsigned coin;
    bool is_serving; /* cpt_service_serve() has not returned */
    bool is_replied;
    bool is_watched;
    struct event closing;              /* if is_watched */
    struct cpt_request_handle *handle; /* or NULL */
    /* The reply: the thread that replies writes it, then the loop thread reads it. */
    unsigned http_status;
    char *content_type;
    char *path_text; /* base64; NULL: no header */
    char *headers;   /* of the service; see http_route.h */
    bool is_head;    /* the reply has no body, but its length */
    struct evbuffer *body;
};

/* --- The end of an exchange --- */

static void exchange_free(struct exchange *exchange)
{
    struct cpt_http *http = exchange->http;

    cpt_request_handle_free(exchange->handle);
    cpt_alloc_free(http->alloc, exchange->content_type);
    cpt_alloc_free(http->alloc, exchange->path_text);
    cpt_alloc_free(http->alloc, exchange->headers);
    if (exchange->body != NULL) {
        evbuffer_free(exchange->body);
    }
    cpt_alloc_free(http->alloc, exchange);
    cpti_http_release(http);
}

/* Loop thread. */
static void exchange_end(struct exchange *exchange)
{
    exchange->http->exchange_count--;
    cpti_http_set(exchange->http, CPTI_HTTP_COUNTER_requests_open,
                  exchange->http->exchange_count);
    exchange_free(exchange);
}

/* --- A client that disconnects --- */

/* Cancels the request. Call it last: the reply may free @exchange. */
static void abandon(struct exchange *exchange)
{
    if (exchange->handle != NULL && !exchange->http->options.keeps_abandoned) {
        cpti_http_count(exchange->http, CPTI_HTTP_COUNTER_requests_abandoned);
        (void)cpt_request_cancel(exchange->handle);
    }
}

static void on_gone(evutil_socket_t descriptor, short what, void *context)
{
    struct exchange *exchange = context;

    (void)descriptor;
    (void)what;
    exchange->is_watched = false;
    abandon(exchange);
}

static void unwatch(struct exchange *exchange)
{
    if (exchange->is_watched) {
        exchange->is_watched = false;
        (void)event_del(&exchange->closing);
    }
}

/* Watches for a client that disconnects: the reply did not come at once. */
static void watch(struct exchange *exchange)
{
    struct cpt_http *http = exchange->http;
    struct bufferevent *buffers = NULL;

    if (exchange->handle == NULL || exchange->request == NULL || !http->sees_closed ||
        http->options.keeps_abandoned) {
        return;
    }
    buffers = evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(exchange->request));
    exchange->is_watched =
        event_assign(&exchange->closing, http->base, bufferevent_getfd(buffers),
                     EV_CLOSED, on_gone, exchange) == 0 &&
        event_add(&exchange->closing, NULL) == 0;
}

/* evhttp has written the reply. */
static void on_written(struct evhttp_request *request, void *context)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);

    evhttp_connection_set_closecb(connection, NULL, NULL);
    cpti_http_budget_answered(((struct exchange *)context)->peer);
    exchange_end(context);
}

/* Drops what @connection has not sent: its buffers live until http_accepted.c sees
 * that they are closed. */
static void drop_output(struct evhttp_connection *connection)
{
    struct bufferevent *buffers = evhttp_connection_get_bufferevent(connection);
    struct evbuffer *output = bufferevent_get_output(buffers);

    (void)evbuffer_unfreeze(output, 1); /* only the socket takes from its start */
    (void)evbuffer_drain(output, evbuffer_get_length(output));
    (void)evbuffer_freeze(output, 1);
}

static void on_close(struct evhttp_connection *connection, void *context)
{
    struct exchange *exchange = context;
    struct evhttp_request *request = exchange->request;

    drop_output(connection);
    unwatch(exchange);
    exchange->request = NULL;
    if (request != NULL && evhttp_request_get_connection(request) == NULL) {
        evhttp_request_free(request);
    }
    if (exchange->is_replied) {
        cpti_http_count(exchange->http, CPTI_HTTP_COUNTER_replies_undelivered);
        exchange_end(exchange);
        return;
    }
    abandon(exchange);
}

/* --- The reply --- */

static bool has_body(unsigned http_status)
{
    return http_status != HTTP_NOCONTENT && http_status != HTTP_NOTMODIFIED;
}

static void headers_write(struct exchange *exchange)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(exchange->request);
    const struct cpt_alloc *alloc = exchange->http->alloc;

    (void)cpti_http_guard_headers(&exchange->http->options, headers, alloc);
    if (exchange->content_type != NULL && has_body(exchange->http_status)) {
        (void)cpti_http_headers_add(headers, "Content-Type",
                                    cpt_bytes_of(exchange->content_type), alloc);
    }
    if (exchange->path_text != NULL) {
        (void)cpti_http_headers_add(headers, CPT_HEADER_PATH,
                                    cpt_bytes_of(exchange->path_text), alloc);
    }
    (void)cpti_http_route_write(headers, exchange->headers);
    if (exchange->http->is_draining) {
        (void)cpti_http_headers_add(headers, "Connection", cpt_bytes_of("close"),
                                    alloc);
    }
}

static void exchange_send(struct exchange *exchange)
{
    struct evhttp_request *request = exchange->request;

    unwatch(exchange);
    if (request == NULL) {
        cpti_http_count(exchange->http, CPTI_HTTP_COUNTER_replies_undelivered);
        exchange_end(exchange);
        return;
    }
    headers_write(exchange);
    exchange->is_replied = true;
    evhttp_request_set_on_complete_cb(request, on_written, exchange);
    evhttp_send_reply(request, (int)exchange->http_status, NULL, exchange->body);
}

static void run_send(struct cpt_work *work)
{
    exchange_send(CPTI_CONTAINER(work, struct exchange, work));
}

/* @metadata in base64; NULL without memory or metadata. */
static char *path_text_of(struct cpt_bytes metadata, const struct cpt_alloc *alloc)
{
    const size_t capacity = CPT_BASE64_BYTES(metadata.bytes) + 1;
    char *text = NULL;

    if (metadata.bytes == 0) {
        return NULL;
    }
    text = cpt_alloc_zeroed(alloc, capacity);
    if (text != NULL) {
        (void)cpt_base64_encode(metadata.data, metadata.bytes, text, capacity);
    }
    return text;
}

/* Copies the reply. Without memory for its body it becomes a 500. */
static void reply_copy(struct exchange *exchange, const struct cpt_outbound *outbound)
{
    const struct cpt_alloc *alloc = exchange->http->alloc;
    const unsigned status = outbound->http_status != 0
                                ? outbound->http_status
                                : cpt_outcome_http_status(outbound->outcome);

    exchange->http_status = status >= 200 && status <= 599 ? status : HTTP_INTERNAL;
    exchange->content_type = cpti_http_text_copy(outbound->content_type.bytes > 0
                                                     ? outbound->content_type
                                                     : cpt_bytes_of("text/plain"),
                                                 alloc);
    exchange->path_text = path_text_of(outbound->metadata, alloc);
    exchange->headers = cpti_http_route_headers(
        exchange->http, outbound, exchange->is_head && has_body(exchange->http_status));
    if (exchange->is_head || outbound->body.bytes == 0 ||
        !has_body(exchange->http_status)) {
        return;
    }
    exchange->body = evbuffer_new();
    if (exchange->body == NULL ||
        evbuffer_add(exchange->body, outbound->body.data, outbound->body.bytes) != 0) {
        exchange->http_status = HTTP_INTERNAL;
    }
}

/* The service has answered. Any thread. */
static void on_reply(void *context, const struct cpt_outbound *outbound)
{
    struct exchange *exchange = context;
    struct cpt_http *http = exchange->http;

    reply_copy(exchange, outbound);
    exchange->work.run = run_send;
    if (!cpti_http_loop_is_here(http)) {
        if (!cpti_http_loop_post(http, &exchange->work)) {
            exchange_free(exchange);
        }
        return;
    }
    /* The service borrows from the request until it returns: run_serve() sends. */
    if (exchange->is_serving) {
        exchange->is_serving = false;
        return;
    }
    exchange_send(exchange);
}

/* --- The request --- */

static struct cpt_bytes body_of(struct evhttp_request *request)
{
    struct evbuffer *buffer = evhttp_request_get_input_buffer(request);
    struct cpt_bytes body = {NULL, evbuffer_get_length(buffer)};

    body.data = (const char *)evbuffer_pullup(buffer, -1);
    body.bytes = body.data != NULL ? body.bytes : 0;
    return body;
}

/* Numeric; an IPv4-mapped IPv6 address as plain IPv4, as networks are written. */
static struct cpt_bytes peer_of(struct evhttp_request *request)
{
    static const char mapped[] = "::ffff:";
    char *address = NULL;
    uint16_t port = 0;

    evhttp_connection_get_peer(evhttp_request_get_connection(request), &address, &port);
    if (address == NULL) {
        return (struct cpt_bytes){NULL, 0};
    }
    if (strncmp(address, mapped, sizeof(mapped) - 1) == 0 && strchr(address, '.')) {
        address += sizeof(mapped) - 1;
    }
    return cpt_bytes_of(address);
}

static struct cpt_bytes path_of(struct evhttp_request *request)
{
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));

    return cpt_bytes_of(path != NULL && path[0] != '\0' ? path : "/");
}

static struct cpt_inbound inbound_of(struct evhttp_request *request)
{
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    struct cpt_inbound inbound = {0};

    inbound.method = path_of(request);
    inbound.query = cpt_bytes_of(query != NULL ? query : "");
    inbound.body = body_of(request);
    inbound.peer_address = peer_of(request);
    inbound.critical_path_count =
        cpti_http_headers_find(headers, CPT_HEADER_ASK, &inbound.critical_path);
    if (cpti_http_headers_find(headers, CPT_HEADER_TRACEPARENT, &inbound.traceparent) >
        1) {
        inbound.traceparent = (struct cpt_bytes){NULL, 0}; /* by its own standard */
    }
    if (cpti_http_headers_find(headers, CPT_HEADER_TIMEOUT, &inbound.timeout) > 1) {
        inbound.timeout = cpt_bytes_of("several");
    }
    inbound.is_forwarded =
        inbound.critical_path_count > 0 && cpti_http_headers_are_forwarded(headers);
    return inbound;
}

static void run_serve(struct cpt_work *work)
{
    struct exchange *exchange = CPTI_CONTAINER(work, struct exchange, work);
    struct cpt_field headers[CPT_HEADERS_MAX];
    struct cpt_inbound inbound;

    if (exchange->request == NULL) {
        exchange_end(exchange);
        return;
    }
    inbound = inbound_of(exchange->request);
    cpti_http_route_read(exchange->request, headers, &inbound);
    exchange->is_head =
        evhttp_request_get_command(exchange->request) == EVHTTP_REQ_HEAD;
    inbound.arrival_ns = exchange->arrival_ns;
    inbound.coin = exchange->coin;
    inbound.handle = &exchange->handle;
    exchange->is_serving = true;
    /* Another thread may reply from here on; its work runs after this function. */
    cpt_service_serve(exchange->service, &inbound, on_reply, exchange);
    if (!exchange->is_serving) {
        exchange_send(exchange);
        return;
    }
    exchange->is_serving = false;
    watch(exchange);
}

static struct exchange *exchange_new(struct cpti_http_server *server,
                                     struct evhttp_request *request)
{
    struct exchange *exchange =
        cpt_alloc_zeroed(server->http->alloc, sizeof(struct exchange));

    if (exchange == NULL) {
        return NULL;
    }
    exchange->http = server->http;
    exchange->service = server->service;
    exchange->request = request;
    exchange->work.run = run_serve;
    exchange->http->exchange_count++;
    cpti_http_set(exchange->http, CPTI_HTTP_COUNTER_requests_open,
                  exchange->http->exchange_count);
    cpti_http_reference(exchange->http);
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_close,
                                  exchange);
    return exchange;
}

/* --- Reading --- */

/* Whether it asks for a path, so that it may be traced without the coin. */
static bool asks(struct evhttp_request *request)
{
    return cpti_http_headers_find(evhttp_request_get_input_headers(request),
                                  CPT_HEADER_ASK, NULL) != 0;
}

/* Refuses @request if its connection's gate has refused it: then evhttp has read only a
 * substitute. */
static bool refuse_ambiguous(struct cpti_http_server *server,
                             struct evhttp_request *request,
                             struct cpti_http_peer *peer)
{
    struct cpt_http *http = server->http;
    const struct cpti_http_message *message = NULL;
    bool is_refused = false;

    if (peer != NULL) {
        message = &peer->gate.message;
        peer->request_count++;
        cpti_http_budget_request(
            peer, evbuffer_get_length(evhttp_request_get_input_buffer(request)));
        is_refused = cpti_http_message_refused(message) == peer->request_count;
        if (!is_refused) {
            return false;
        }
        cpti_http_count(http, CPTI_HTTP_COUNTER_requests_refused);
    }
    (void)cpti_http_headers_add(evhttp_request_get_output_headers(request),
                                "Connection", cpt_bytes_of("close"), http->alloc);
    cpti_http_guard_send(&http->options, request,
                         is_refused ? message->refusal : HTTP_SERVUNAVAIL,
                         is_refused ? message->reason : "out of memory", http->alloc);
    return true;
}

/* evhttp has read a request. The clock is read only for one that may be traced. */
static void on_request(struct evhttp_request *request, void *context)
{
    struct cpti_http_server *server = context;
    unsigned coin = CPT_COIN_NONE;
    uint64_t arrival_ns = 0;
    struct exchange *exchange = NULL;
    unsigned refused = 0;
    struct cpti_http_peer *peer = cpti_http_accepted_find(
        server->http,
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(request)));

    if (refuse_ambiguous(server, request, peer)) {
        return;
    }
    refused = cpti_http_guard(&server->http->options, request, server->port);
    if (refused != 0) {
        cpti_http_guard_reply(&server->http->options, request, refused,
                              server->http->alloc);
        return;
    }
    if (cpti_http_health_serve(server->http, server->service, server->is_operators,
                               request, path_of(request))) {
        return;
    }
    coin = cpt_service_coin(server->service);
    if (coin == CPT_COIN_HIT || (coin == CPT_COIN_MISSED && asks(request))) {
        arrival_ns = cpt_clock_now_ns(cpt_service_clock(server->service));
    }
    exchange = exchange_new(server, request);
    if (exchange == NULL) {
        evhttp_send_reply(request, HTTP_SERVUNAVAIL, NULL, NULL);
        return;
    }
    cpti_http_count(server->http, CPTI_HTTP_COUNTER_requests_served);
    exchange->peer = peer;
    peer->is_served = true;
    exchange->arrival_ns = arrival_ns;
    exchange->coin = coin;
    (void)cpti_http_loop_post(server->http, &exchange->work);
}

/* --- Listening --- */

static void on_rested(struct cpt_timer *timer)
{
    struct cpti_http_server *server =
        CPTI_CONTAINER(timer, struct cpti_http_server, rest);

    server->is_resting = false;
    if (server->socket != NULL && !server->http->accepted.is_resting) {
        (void)evconnlistener_enable(server->listener);
    }
}

void cpti_http_servers_rest(struct cpt_http *http, bool rests)
{
    for (struct cpti_http_server *server = http->servers; server != NULL;
         server = server->next) {
        if (server->socket == NULL || server->is_operators) {
            continue;
        }
        if (rests) {
            (void)evconnlistener_disable(server->listener);
        } else if (!server->is_resting) {
            (void)evconnlistener_enable(server->listener);
        }
    }
}

/* Mostly out of descriptors. The connection stays in the queue: rest, do not spin. */
static void on_accept_failed(struct evconnlistener *listener, void *context)
{
    struct cpt_http *http = cpti_http_loop_here();
    struct cpti_http_server *server = http->servers;

    (void)context; /* it is evhttp's */
    cpti_http_count(http, CPTI_HTTP_COUNTER_accepts_failed);
    while (server != NULL && server->listener != listener) {
        server = server->next;
    }
    if (server == NULL || server->is_resting) {
        return;
    }
    server->rest.fire = on_rested;
    if (cpti_http_loop_after(http, &server->rest, ACCEPT_REST_NS) == CPT_OK) {
        server->is_resting = true;
        (void)evconnlistener_disable(listener);
    }
}

static struct bufferevent *buffers_new(struct event_base *base, void *context)
{
    struct cpt_http *http = ((struct cpti_http_server *)context)->http;
    const struct cpt_http_options *options = &http->options;
    struct bufferevent *buffers = bufferevent_socket_new(base, -1, 0);

    if (buffers != NULL) {
        bufferevent_setwatermark(buffers, EV_READ, 0,
                                 options->header_bytes_max + options->body_bytes_max +
                                     SLACK_BYTES);
        /* Without memory it is accepted, and told so; see refuse_ambiguous(). */
        (void)cpti_http_accepted_add(http, buffers);
    }
    return buffers;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* The size of @address, or 0 if @text is not a numeric address. */
static socklen_t address_parse(const char *text, uint16_t port, union address *address)
{
    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(port);
        return sizeof(address->v4);
    }
    if (inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons(port);
        return sizeof(address->v6);
    }
    return 0;
}

static uint16_t port_of(struct evconnlistener *listener)
{
    union address address;
    socklen_t bytes = sizeof(address);

    memset(&address, 0, sizeof(address));
    (void)getsockname(evconnlistener_get_fd(listener), &address.any, &bytes);
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
                                                   : address.v4.sin_port);
}

static struct evconnlistener *listener_new(struct cpt_http *http,
                                           const union address *address,
                                           socklen_t address_bytes)
{
    const int on = 1;
    struct evconnlistener *listener = evconnlistener_new_bind(
        http->base, NULL, NULL,
        LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE, BACKLOG,
        &address->any, (int)address_bytes);

    if (listener != NULL) {
        /* Connections inherit it. The last packet of a long reply must not wait. */
        (void)setsockopt(evconnlistener_get_fd(listener), IPPROTO_TCP, TCP_NODELAY, &on,
                         sizeof(on));
    }
    return listener;
}

static void server_set_up(struct cpti_http_server *server)
{
    const struct cpt_http_options *options = &server->http->options;
    const struct timeval idle = cpti_http_timeval(options->idle_ns);

    evhttp_set_max_headers_size(server->evhttp, (ev_ssize_t)options->header_bytes_max);
    evhttp_set_max_body_size(server->evhttp, (ev_ssize_t)options->body_bytes_max);
    /* What else there is (TRACE, CONNECT) is answered 501; what a service takes of
     * these, it says itself. */
    evhttp_set_allowed_methods(server->evhttp,
                               EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
                                   EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                                   EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
    evhttp_set_default_content_type(server->evhttp, NULL);
    evhttp_set_timeout_tv(server->evhttp, &idle);
    evhttp_set_bevcb(server->evhttp, buffers_new, server);
    evhttp_set_gencb(server->evhttp, on_request, server);
}

static cpt_status server_bind(struct cpti_http_server *server, const char *text,
                              uint16_t port, struct cpt_error *error)
{
    union address address;
    const socklen_t address_bytes = address_parse(text, port, &address);

    if (address_bytes == 0) {
        return cpt_error_set(error, CPT_IO, 0, "'%s' is not a numeric address", text);
    }
    server->listener = listener_new(server->http, &address, address_bytes);
    if (server->listener == NULL) {
        return cpt_error_set(error, CPT_IO, 0, "cannot listen on %s port %u: %s", text,
                             (unsigned)port, strerror(errno));
    }
    evconnlistener_set_error_cb(server->listener, on_accept_failed);
    server->socket = evhttp_bind_listener(server->evhttp, server->listener);
    if (server->socket == NULL) {
        evconnlistener_free(server->listener);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a server");
    }
    return CPT_OK;
}

/* @server has what it serves; it is freed after an error. */
static cpt_status server_listen(struct cpt_http *http, struct cpti_http_server *server,
                                const char *address, uint16_t port,
                                uint16_t *bound_port, struct cpt_error *error)
{
    cpt_status status = CPT_NO_MEMORY;

    if (server != NULL) {
        server->http = http;
        server->evhttp = evhttp_new(http->base);
    }
    if (server == NULL || server->evhttp == NULL) {
        cpt_alloc_free(http->alloc, server);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a server");
    }
    server_set_up(server);
    status = server_bind(server, address != NULL ? address : "127.0.0.1", port, error);
    if (status != CPT_OK) {
        evhttp_free(server->evhttp);
        cpt_alloc_free(http->alloc, server);
        return status;
    }
    server->port = port_of(server->listener);
    if (bound_port != NULL) {
        *bound_port = server->port;
    }
    server->next = http->servers;
    http->servers = server;
    return CPT_OK;
}

cpt_status cpt_http_listen(struct cpt_http *http, struct cpt_service *service,
                           const char *address, uint16_t port, uint16_t *bound_port,
                           struct cpt_error *error)
{
    struct cpti_http_server *server = cpt_alloc_zeroed(http->alloc, sizeof(*server));

    if (server != NULL) {
        server->service = service;
    }
    return server_listen(http, server, address, port, bound_port, error);
}

cpt_status cpt_http_listen_operators(struct cpt_http *http, struct cpt_service *service,
                                     const char *address, uint16_t port,
                                     uint16_t *bound_port, struct cpt_error *error)
{
    struct cpti_http_server *server = cpt_alloc_zeroed(http->alloc, sizeof(*server));

    if (server != NULL) {
        server->service = service;
        server->is_operators = true;
    }
    return server_listen(http, server, address, port, bound_port, error);
}

void cpti_http_servers_refuse(struct cpt_http *http)
{
    for (struct cpti_http_server *server = http->servers; server != NULL;
         server = server->next) {
        if (server->socket != NULL && !server->is_operators) {
            evhttp_del_accept_socket(server->evhttp, server->socket);
            server->socket = NULL;
        }
    }
}

void cpti_http_servers_free(struct cpt_http *http)
{
    while (http->servers != NULL) {
        struct cpti_http_server *server = http->servers;

        http->servers = server->next;
        (void)cpti_http_loop_cancel(http, &server->rest);
        evhttp_free(server->evhttp);
        cpt_alloc_free(http->alloc, server);
    }
    cpti_http_accepted_deinit(http);
}
