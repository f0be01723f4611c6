/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* peer_microhttpd.c - GNU libmicrohttpd as a server: epoll, on one thread of its own */
#include "tests/bench/serve_peers.h"

#include <microhttpd.h>

#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static enum MHD_Result answer(void *context, struct MHD_Connection *connection,
                              const char *target, const char *verb, const char *version,
                              const char *upload, size_t *upload_bytes, void **state)
{
    static char body[] = BENCH_SERVE_BODY;
    struct MHD_Response *response = NULL;
    enum MHD_Result result = MHD_NO;

    (void)context;
    (void)target;
    (void)verb;
    (void)version;
    (void)upload;
    (void)upload_bytes;
    if (*state == NULL) { /* the body is awaited: else the connection is closed */
        *state = body;
        return MHD_YES;
    }
    response =
        MHD_create_response_from_buffer(sizeof body - 1, body, MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(response, "Content-Type", "text/plain");
    result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

void bench_serve_microhttpd(int told)
{
    uint16_t port = 0;
    const int listener = bench_bound_socket(&port);
    struct MHD_Daemon *daemon = NULL;

    bench_must(listen(listener, 511) == 0, "listen");
    daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD, port, NULL,
                         NULL, answer, NULL, MHD_OPTION_LISTEN_SOCKET, listener,
                         MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    bench_must(daemon != NULL, "libmicrohttpd");
    bench_must(write(told, &port, sizeof port) == sizeof port, "write");
    for (;;) {
        (void)pause();
    }
}
