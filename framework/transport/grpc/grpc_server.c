/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * grpc_server.c - ports that are listened on
 *
 * Each port has a server of gRPC, as a request does not say by which port it came. A
 * server asks for one request at a time; the next one as soon as it has come.
 */
#include "framework/transport/grpc/grpc_queue.h"

#include <grpc/grpc_security.h>

#include <stdio.h>
#include <string.h>

enum { ADDRESS_BYTES = 128, ARGS_MAX = 8 };

static grpc_arg arg_of(const char *key, size_t value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER,
                      .key = (char *)(uintptr_t)key,
                      .value.integer = (int)value};
}

static grpc_server *server_make(const struct cpt_grpc *grpc)
{
    const struct cpt_grpc_options *options = &grpc->options;
    grpc_arg args[ARGS_MAX] = {
        arg_of(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, options->body_bytes_max),
        arg_of(GRPC_ARG_MAX_METADATA_SIZE, options->metadata_bytes_max),
        arg_of(GRPC_ARG_MAX_CONCURRENT_STREAMS, options->streams_max),
        arg_of(GRPC_ARG_ALLOW_REUSEPORT, 0), /* else two programs share a port */
        arg_of(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, !options->takes_compressed),
        {.type = GRPC_ARG_POINTER,
         .key = (char *)(uintptr_t)GRPC_ARG_RESOURCE_QUOTA,
         .value.pointer = {grpc->quota, grpc_resource_quota_arg_vtable()}}};
    const grpc_channel_args all = {6, args};

    return grpc_server_create(&all, NULL);
}

static int bind_port(grpc_server *server, grpc_server_credentials *credentials,
                     const char *address, uint16_t port)
{
    const char *host = address != NULL ? address : "127.0.0.1";
    const bool is_v6 = strchr(host, ':') != NULL && host[0] != '[';
    char text[ADDRESS_BYTES];

    (void)snprintf(text, sizeof text, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
    return grpc_server_add_http2_port(server, text, credentials);
}

/* It has ended: none of its requests is left. */
static void on_end(struct cpti_grpc_tag *tag, bool is_ok)
{
    struct cpti_grpc_server *server = CPTI_CONTAINER(tag, struct cpti_grpc_server, end);
    struct cpt_grpc *grpc = server->grpc;

    (void)is_ok;
    cpti_lock_take(&grpc->lock);
    grpc->servers_ending--;
    (void)pthread_cond_broadcast(&grpc->has_changed);
    cpti_lock_release(&grpc->lock);
}

static struct cpti_grpc_server *server_new(struct cpt_grpc *grpc,
                                           struct cpt_service *service)
{
    struct cpti_grpc_server *server = cpt_alloc_zeroed(grpc->alloc, sizeof *server);

    if (server == NULL) {
        return NULL;
    }
    server->grpc = grpc;
    server->service = service;
    server->end.run = on_end;
    server->is_asking = true; /* from cpt_grpc_listen() on */
    server->server = server_make(grpc);
    grpc_server_register_completion_queue(server->server, grpc->queue, NULL);
    return server;
}

/* It has not begun; then gRPC frees it without an event. NULL is fine. */
static void server_forget(struct cpti_grpc_server *server)
{
    if (server != NULL) {
        grpc_server_destroy(server->server);
        cpt_alloc_free(server->grpc->alloc, server);
    }
}

/* Binds and starts it; it is known from then on. The bound port, or 0. */
static int server_begin(struct cpti_grpc_server *server,
                        grpc_server_credentials *credentials, const char *address,
                        uint16_t port)
{
    struct cpt_grpc *grpc = server->grpc;
    const int bound = bind_port(server->server, credentials, address, port);

    if (bound <= 0 || (port != 0 && bound != port)) {
        return 0;
    }
    grpc_server_start(server->server);
    cpti_lock_take(&grpc->lock);
    server->next = grpc->servers;
    grpc->servers = server;
    cpti_lock_release(&grpc->lock);
    return bound;
}

/* Listens with @credentials; takes them. */
static cpt_status listen_with(struct cpt_grpc *grpc, struct cpt_service *service,
                              grpc_server_credentials *credentials, bool is_secure,
                              const char *address, uint16_t port, uint16_t *bound_port,
                              struct cpt_error *error)
{
    struct cpti_grpc_server *server = server_new(grpc, service);
    struct cpti_grpc_exchange *first =
        server != NULL ? cpti_grpc_exchange_new(server) : NULL;
    int bound = 0;

    if (first != NULL) {
        server->is_secure = is_secure;
        bound = server_begin(server, credentials, address, port);
    }
    grpc_server_credentials_release(credentials);
    if (bound == 0) {
        const bool has_memory = first != NULL;

        cpti_grpc_exchange_forget(first);
        server_forget(server);
        return has_memory
                   ? cpt_error_set(error, CPT_IO, 0, "cannot listen on %s:%u",
                                   address != NULL ? address : "127.0.0.1", port)
                   : cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a server");
    }
    cpti_grpc_exchange_ask(first);
    if (bound_port != NULL) {
        *bound_port = (uint16_t)bound;
    }
    return CPT_OK;
}

cpt_status cpt_grpc_listen(struct cpt_grpc *grpc, struct cpt_service *service,
                           const char *address, uint16_t port, uint16_t *bound_port,
                           struct cpt_error *error)
{
    return listen_with(grpc, service, grpc_insecure_server_credentials_create(), false,
                       address, port, bound_port, error);
}

cpt_status cpt_grpc_listen_tls(struct cpt_grpc *grpc, struct cpt_service *service,
                               const struct cpt_http_tls *tls, const char *address,
                               uint16_t port, uint16_t *bound_port,
                               struct cpt_error *error)
{
    struct cpti_grpc_pem pem;
    struct cpti_grpc_certificates *certificates = NULL;
    grpc_server_credentials *credentials = NULL;
    cpt_status status = cpti_grpc_pem_read(&pem, tls, true, grpc->alloc, error);

    if (status != CPT_OK) {
        return status;
    }
    certificates = cpti_grpc_certificates_new(grpc, tls, &pem);
    cpti_grpc_pem_clear(&pem, grpc->alloc);
    if (certificates == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a server");
    }
    credentials = cpti_grpc_certificates_credentials(certificates);
    if (credentials == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "gRPC does not take the certificates of a port");
    }
    status =
        listen_with(grpc, service, credentials, true, address, port, bound_port, error);
    if (status != CPT_OK) {
        cpti_grpc_certificates_forget(certificates);
    }
    /* gRPC looks at them when it binds, and does not say which of both it was */
    return status != CPT_IO
               ? status
               : cpt_error_set(error, CPT_INVALID, 0,
                               "cannot listen on %s:%u: it is in use, or gRPC does not "
                               "take the certificate, its key, or those of clients",
                               address != NULL ? address : "127.0.0.1", port);
}

void cpti_grpc_server_ask(struct cpti_grpc_server *server)
{
    struct cpti_grpc_exchange *exchange = cpti_grpc_exchange_new(server);

    server->is_asking = exchange != NULL;
    if (exchange != NULL) {
        cpti_grpc_exchange_ask(exchange);
    } else {
        server->grpc->asks_again = true;
    }
}

void cpti_grpc_servers_ask(struct cpt_grpc *grpc)
{
    struct cpti_grpc_server *server = NULL;

    cpti_lock_take(&grpc->lock);
    server = grpc->is_stopped ? NULL : grpc->servers;
    cpti_lock_release(&grpc->lock);
    for (; server != NULL; server = server->next) {
        if (!server->is_asking) {
            cpti_grpc_server_ask(server);
        }
    }
}

/* No server is added any more, so the list stays as it is. */
void cpti_grpc_servers_refuse(struct cpt_grpc *grpc)
{
    struct cpti_grpc_server *first = NULL;

    cpti_lock_take(&grpc->lock);
    first = grpc->servers;
    for (struct cpti_grpc_server *server = first; server != NULL;
         server = server->next) {
        grpc->servers_ending++;
    }
    cpti_lock_release(&grpc->lock);
    for (struct cpti_grpc_server *server = first; server != NULL;
         server = server->next) {
        grpc_server_shutdown_and_notify(server->server, grpc->queue, &server->end);
    }
}

void cpti_grpc_servers_cut(struct cpt_grpc *grpc)
{
    for (struct cpti_grpc_server *server = grpc->servers; server != NULL;
         server = server->next) {
        grpc_server_cancel_all_calls(server->server);
    }
}

void cpti_grpc_servers_free(struct cpt_grpc *grpc)
{
    struct cpti_grpc_server *server = grpc->servers;

    while (server != NULL) {
        struct cpti_grpc_server *next = server->next;

        grpc_server_destroy(server->server);
        cpt_alloc_free(grpc->alloc, server);
        server = next;
    }
}
