/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_server.c - ports that are listened on
 *
 *      listen --> accept --> cpti_http_peer_open() ... http_exchange.c serves
 *
 * At the limit of connections, and for a while after a failed accept, nothing is
 * accepted: clients that connect meanwhile wait in the system's queue; when it is full,
 * they get no answer.
 */
#include "framework/transport/http/server/http_peer.h"

#include <event2/listener.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum { BACKLOG = 511 };

/* The listener rests this long after a failed accept (no descriptors left). */
#define ACCEPT_REST_NS (CPTI_NS_PER_S / 10)

/* One port of one service. */
struct cpti_http_server {
    struct cpti_http_server *next;
    struct cpt_http *http;
    struct cpt_service *service;
    struct evconnlistener *listener; /* NULL: accepts no more connections */
    struct cpt_timer rest;
    struct cpti_tls_context tls;
    uint16_t port;
    bool is_operators; /* it serves what is about the service, not the service */
    bool is_resting;
};

struct cpt_service *cpti_http_server_service(const struct cpti_http_server *server)
{
    return server->service;
}

bool cpti_http_server_is_operators(const struct cpti_http_server *server)
{
    return server->is_operators;
}

size_t cpti_http_body_max(const struct cpti_http_server *server)
{
    const size_t most = server->http->options.body_bytes_max;

    return server->is_operators && most > CPTI_HTTP_OPERATORS_BODY_BYTES_MAX
               ? CPTI_HTTP_OPERATORS_BODY_BYTES_MAX
               : most;
}

uint16_t cpti_http_server_port(const struct cpti_http_server *server)
{
    return server->port;
}

struct cpti_tls_context *cpti_http_servers_tls(struct cpt_http *http, size_t nth)
{
    struct cpti_http_server *server = http->servers;

    while (server != NULL && nth > 0) {
        server = server->next;
        nth--;
    }
    return server != NULL ? cpti_http_server_tls(server) : NULL;
}

struct cpti_tls_context *cpti_http_server_tls(struct cpti_http_server *server)
{
    return server->tls.made != NULL ? &server->tls : NULL;
}

/* --- Listening --- */

static void on_rested(struct cpt_timer *timer)
{
    struct cpti_http_server *server =
        CPTI_CONTAINER(timer, struct cpti_http_server, rest);

    server->is_resting = false;
    if (server->listener != NULL && !server->http->accepted.is_resting) {
        (void)evconnlistener_enable(server->listener);
    }
}

void cpti_http_servers_rest(struct cpt_http *http, bool rests)
{
    for (struct cpti_http_server *server = http->servers; server != NULL;
         server = server->next) {
        if (server->listener == NULL || server->is_operators) {
            continue;
        }
        if (rests) {
            (void)evconnlistener_disable(server->listener);
        } else if (!server->is_resting) {
            (void)evconnlistener_enable(server->listener);
        }
    }
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* There are no descriptors: accepts a connection of operators nevertheless, by a spare
 * one, or by that of the oldest such connection. */
static bool accept_spared(struct cpti_http_server *server)
{
    struct cpt_http *http = server->http;
    union address address;
    socklen_t bytes = sizeof address;
    int descriptor = -1;

    if (!cpti_spares_give(&http->spares, 0) && !cpti_http_accepted_give(http)) {
        return false;
    }
    memset(&address, 0, sizeof address);
    descriptor = accept4(evconnlistener_get_fd(server->listener), &address.any, &bytes,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
        cpti_http_peer_open(server, descriptor, &address.any);
    }
    return descriptor >= 0;
}

/* Mostly out of descriptors. The connection stays in the queue: rest, do not spin. */
static void on_accept_failed(struct evconnlistener *listener, void *context)
{
    struct cpti_http_server *server = context;
    struct cpt_http *http = server->http;

    if (server->is_operators && cpti_spares_is_need(errno) && accept_spared(server)) {
        return;
    }
    cpti_http_count(http, CPTI_HTTP_COUNTER_accepts_failed);
    if (server->is_resting) {
        return;
    }
    server->rest.fire = on_rested;
    if (cpti_http_loop_after(http, &server->rest, ACCEPT_REST_NS) == CPT_OK) {
        server->is_resting = true;
        (void)evconnlistener_disable(listener);
    }
}

static void on_accepted(struct evconnlistener *listener, evutil_socket_t descriptor,
                        struct sockaddr *address, int address_bytes, void *context)
{
    (void)listener;
    (void)address_bytes;
    cpti_http_peer_open(context, descriptor, address);
}

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

static struct evconnlistener *listener_new(struct cpti_http_server *server,
                                           const union address *address,
                                           socklen_t address_bytes)
{
    const int on = 1;
    struct evconnlistener *listener = evconnlistener_new_bind(
        server->http->base, on_accepted, server,
        LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE |
            (server->http->options.shares_port ? LEV_OPT_REUSEABLE_PORT : 0),
        BACKLOG, &address->any, (int)address_bytes);

    if (listener != NULL) {
        /* Connections inherit it. The last packet of a long reply must not wait. */
        (void)setsockopt(evconnlistener_get_fd(listener), IPPROTO_TCP, TCP_NODELAY, &on,
                         sizeof(on));
    }
    return listener;
}

static cpt_status server_bind(struct cpti_http_server *server, const char *text,
                              uint16_t port, struct cpt_error *error)
{
    union address address;
    const socklen_t address_bytes = address_parse(text, port, &address);

    if (address_bytes == 0) {
        return cpt_error_set(error, CPT_IO, 0, "'%s' is not a numeric address", text);
    }
    server->listener = listener_new(server, &address, address_bytes);
    if (server->listener == NULL) {
        return cpt_error_set(error, CPT_IO, 0, "cannot listen on %s port %u: %s", text,
                             (unsigned)port, strerror(errno));
    }
    evconnlistener_set_error_cb(server->listener, on_accept_failed);
    return CPT_OK;
}

/* @server has what it serves; it is freed after an error. */
static cpt_status server_listen(struct cpt_http *http, struct cpti_http_server *server,
                                const char *address, uint16_t port,
                                uint16_t *bound_port, struct cpt_error *error)
{
    cpt_status status = CPT_NO_MEMORY;

    if (server == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a server");
    }
    server->http = http;
    status = server_bind(server, address != NULL ? address : "127.0.0.1", port, error);
    if (status != CPT_OK) {
        cpti_tls_context_deinit(&server->tls);
        cpt_alloc_free(http->alloc, server);
        return status;
    }
    server->port = port_of(server->listener);
    if (bound_port != NULL) {
        *bound_port = server->port;
    }
    cpti_http_note_expiry(http, &server->tls);
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

cpt_status cpt_http_listen_tls(struct cpt_http *http, struct cpt_service *service,
                               const struct cpt_http_tls *tls, const char *address,
                               uint16_t port, uint16_t *bound_port,
                               struct cpt_error *error)
{
    struct cpti_http_server *server = cpt_alloc_zeroed(http->alloc, sizeof(*server));
    cpt_status status = CPT_OK;

    if (server != NULL) {
        server->service = service;
        status = cpti_tls_context_init(&server->tls, tls, true, http->alloc, error);
        if (status != CPT_OK) {
            cpt_alloc_free(http->alloc, server);
            return status;
        }
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

static void listener_close(struct cpti_http_server *server)
{
    if (server->listener != NULL) {
        evconnlistener_free(server->listener);
        server->listener = NULL;
    }
}

void cpti_http_servers_refuse(struct cpt_http *http)
{
    for (struct cpti_http_server *server = http->servers; server != NULL;
         server = server->next) {
        if (!server->is_operators) {
            listener_close(server);
        }
    }
}

void cpti_http_servers_free(struct cpt_http *http)
{
    for (struct cpti_http_server *server = http->servers; server != NULL;
         server = server->next) {
        listener_close(server);
    }
    cpti_http_peers_deinit(http);
    while (http->servers != NULL) {
        struct cpti_http_server *server = http->servers;

        http->servers = server->next;
        (void)cpti_http_loop_cancel(http, &server->rest);
        cpti_tls_context_deinit(&server->tls);
        cpt_alloc_free(http->alloc, server);
    }
}
