/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_http.c - the cost of tracing a request over loopback HTTP
 *
 * One process, two loops on two threads: A, whose one task calls B, and B. This thread
 * sends requests to A over one kept connection, one after the other, in alternating
 * rounds traced (the header is sent) and untraced.
 */
#include "tests/bench/bench.h"

#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/transport/cpt_http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- The two services --- */

static struct cpt_stub b_stub = {.name = "B: /look", .method = "/look"};

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("found");
    return CPT_OK;
}

static cpt_status ask_b(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &b_stub, (struct cpt_bytes){NULL, 0}),
                     answer);
}

static const struct cpt_task_def a_tasks[] = {
    {"ask", ask_b, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_task_def b_tasks[] = {
    {"look", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph graphs[2] = {
    {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), a_tasks, 1},
    {"B", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), b_tasks, 1},
};

struct side {
    struct cpt_http *http;
    struct cpt_plan *plan;
    struct cpt_service *service;
    uint16_t port;
    pthread_t thread;
};

static void *run_loop(void *context)
{
    (void)cpt_http_run(((struct side *)context)->http);
    return NULL;
}

static int open_side(struct side *side, const struct cpt_graph *graph,
                     const char *method, unsigned role)
{
    const struct cpt_http_options http = {.struct_bytes = sizeof http};
    static const char *const trusted[] = {"127.0.0.0/8", NULL};
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = graph->service,
                                          .role = role,
                                          .trusted_networks = trusted,
                                          .forced_per_second_max = -1,
                                          .asked_per_second_max = -1,
                                          .probability = -1};

    side->http = cpt_http_new(&http, NULL);
    side->plan = cpt_plan_new(graph, NULL, NULL);
    if (side->http == NULL || side->plan == NULL) {
        return 0;
    }
    options.executor = cpt_http_executor(side->http);
    side->service = cpt_service_new(&options, NULL);
    return side->service != NULL &&
           cpt_service_method_add(side->service, method, side->plan, NULL) == CPT_OK &&
           cpt_http_listen(side->http, side->service, "127.0.0.1", 0, &side->port,
                           NULL) == CPT_OK;
}

static void close_side(struct side *side)
{
    cpt_http_stop(side->http);
    (void)pthread_join(side->thread, NULL);
    cpt_http_free(side->http);
    cpt_service_free(side->service);
    cpt_plan_free(side->plan);
}

/* --- The client --- */

struct client {
    int socket;
    const char *request;
};

/* Sends the request @count times and reads each reply to its end. */
static void ask(void *context, size_t count)
{
    const struct client *client = context;
    char buffer[16384];

    for (size_t i = 0; i < count; i++) {
        size_t used = 0;

        if (write(client->socket, client->request, strlen(client->request)) < 0) {
            abort();
        }
        do {
            const ssize_t got =
                read(client->socket, buffer + used, sizeof buffer - 1 - used);

            if (got <= 0) {
                abort();
            }
            used += (size_t)got;
            buffer[used] = '\0';
        } while (strstr(buffer, "\r\n\r\nfound") == NULL);
    }
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int made = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made < 0 || connect(made, (struct sockaddr *)&address, sizeof address) != 0) {
        abort();
    }
    return made;
}

int main(int argument_count, char **arguments)
{
    static struct side a;
    static struct side b;
    struct client untraced = {.request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"};
    struct client traced = {
        .request = "GET / HTTP/1.1\r\nHost: a\r\ncritical-path: 1\r\n\r\n"};
    const struct bench_way ways[] = {{"untraced request", ask, &untraced},
                                     {"traced request", ask, &traced},
                                     {"untraced again", ask, &untraced}};
    char target[64];

    bench_begin("bench_http", &argument_count, arguments);
    if (!open_side(&b, &graphs[1], "/look", CPT_ROLE_INNER) ||
        !open_side(&a, &graphs[0], "/", CPT_ROLE_ENTRY)) {
        fprintf(stderr, "bench_http: cannot open the services\n");
        return 1;
    }
    (void)snprintf(target, sizeof target, "http://127.0.0.1:%u", (unsigned)b.port);
    b_stub.target = target;
    b_stub.transport = cpt_http_transport(a.http);
    if (pthread_create(&b.thread, NULL, run_loop, &b) != 0 ||
        pthread_create(&a.thread, NULL, run_loop, &a) != 0) {
        return 1;
    }
    untraced.socket = traced.socket = connect_to(a.port);
    bench_title("A request over loopback HTTP, A calls B");
    bench_compare(&ways[0], &ways[1], 300, 1, "request");
    bench_compare(&ways[0], &ways[2], 300, 1, "request");
    (void)close(untraced.socket);
    close_side(&a);
    close_side(&b);
    return bench_end();
}
