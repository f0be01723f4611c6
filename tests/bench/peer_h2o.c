/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* peer_h2o.c - libh2o as a server, on its own loop */
#include "tests/bench/serve_peers.h"

#define H2O_USE_EPOLL 1
#include <h2o.h>

#include <sys/socket.h>
#include <unistd.h>

static h2o_globalconf_t config;
static h2o_context_t context;
static h2o_accept_ctx_t acceptor = {.ctx = &context};

static int answer(h2o_handler_t *handler, h2o_req_t *request)
{
    static h2o_generator_t generator;
    h2o_iovec_t body = {(char *)(uintptr_t)BENCH_SERVE_BODY,
                        sizeof BENCH_SERVE_BODY - 1};

    (void)handler;
    request->res.status = 200;
    request->res.reason = "OK";
    request->res.content_length = body.len;
    h2o_add_header(&request->pool, &request->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                   H2O_STRLIT("text/plain"));
    h2o_start_response(request, &generator);
    h2o_send(request, &body, 1, H2O_SEND_STATE_FINAL);
    return 0;
}

static void on_accept(h2o_socket_t *listener, const char *error)
{
    h2o_socket_t *accepted = error == NULL ? h2o_evloop_socket_accept(listener) : NULL;

    if (accepted != NULL) {
        h2o_accept(&acceptor, accepted);
    }
}

void bench_serve_h2o(int told)
{
    uint16_t port = 0;
    const int listener = bench_bound_socket(&port);
    h2o_hostconf_t *host = NULL;
    h2o_pathconf_t *path = NULL;

    bench_must(listen(listener, 511) == 0, "listen");
    h2o_config_init(&config);
    host =
        h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    path = h2o_config_register_path(host, "/", 0);
    h2o_create_handler(path, sizeof(h2o_handler_t))->on_req = answer;
    h2o_context_init(&context, h2o_evloop_create(), &config);
    acceptor.hosts = config.hosts;
    h2o_socket_read_start(
        h2o_evloop_socket_create(context.loop, listener, H2O_SOCKET_FLAG_DONT_READ),
        on_accept);
    bench_must(write(told, &port, sizeof port) == sizeof port, "write");
    while (h2o_evloop_run(context.loop, INT32_MAX) == 0) {
    }
}
