/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wait_services.c - two services that wait for each other for ever
 *
 *      wait_services FILE
 *
 * Both serve HTTP on ports of their own; FILE gets a line "A_PORT B_PORT" when they do.
 *
 *      /enter of A   takes the lock "stock", calls B     B /check   calls A
 *      /again of A   waits for the lock "stock"
 *      /slow of A    calls B                             B /sleep   sleeps
 *
 * So one request for /enter waits for itself, by way of B and /again. It ends with
 * SIGTERM.
 */
#include "framework/cpt_mutex.h"
#include "framework/cpt_rpc.h"
#include "framework/transport/cpt_http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_NS (UINT64_C(3600) * 1000000000)

static struct cpt_mutex *stock;
static struct cpt_stub check_stub = {.name = "B: /check", .method = "/check"};
static struct cpt_stub sleep_stub = {.name = "B: /sleep", .method = "/sleep"};
static struct cpt_stub again_stub = {.name = "A: /again", .method = "/again"};

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("done\n");
    return CPT_OK;
}

static cpt_status call_check(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &check_stub, cpt_bytes_of("")), answer);
}

static cpt_status enter(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, stock), call_check);
}

static cpt_status again(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, stock), answer);
}

static cpt_status check(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &again_stub, cpt_bytes_of("")), answer);
}

static cpt_status slow(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &sleep_stub, cpt_bytes_of("")), answer);
}

static cpt_status pause_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", HOUR_NS), answer);
}

struct row {
    const char *method;
    struct cpt_task_def task;
};

static const struct row a_rows[] = {
    {"/enter",
     {"enter", enter, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}},
    {"/again",
     {"again", again, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}},
    {"/slow",
     {"slow", slow, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}},
};
static const struct row b_rows[] = {
    {"/check",
     {"check", check, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}},
    {"/sleep",
     {"sleep", pause_long, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}},
};

static void must(int is_good, const char *what)
{
    if (!is_good) {
        (void)fprintf(stderr, "wait_services: %s\n", what);
        exit(1);
    }
}

/* A service of @rows on a loop of its own. */
static uint16_t serve(const char *name, const struct row *rows, size_t count,
                      struct cpt_http **http)
{
    const struct cpt_http_options loop = {.struct_bytes = sizeof loop,
                                          .serves_counters = 1};
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = name,
                                          .role = CPT_ROLE_INNER,
                                          .probability = -1};
    struct cpt_service *service = NULL;
    struct cpt_graph *graphs = calloc(count, sizeof *graphs);
    uint16_t port = 0;

    *http = cpt_http_new(&loop, NULL);
    must(*http != NULL && graphs != NULL, "no loop");
    options.executor = cpt_http_executor(*http);
    service = cpt_service_new(&options, NULL);
    must(service != NULL, "no service");
    for (size_t i = 0; i < count; i++) {
        struct cpt_plan *plan = NULL;

        graphs[i] = (struct cpt_graph){name, CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), &rows[i].task, 1};
        plan = cpt_plan_new(&graphs[i], NULL, NULL);
        must(plan != NULL &&
                 cpt_service_method_add(service, rows[i].method, plan, NULL) == CPT_OK,
             "no method");
    }
    must(cpt_http_listen(*http, service, "127.0.0.1", 0, &port, NULL) == CPT_OK,
         "no port");
    return port;
}

static void *run(void *http)
{
    (void)cpt_http_run(http);
    return NULL;
}

int main(int count, char **words)
{
    static char a_target[64];
    static char b_target[64];
    static char b_targets[128]; /* nothing listens at the first */
    struct cpt_http *a = NULL;
    struct cpt_http *b = NULL;
    pthread_t thread;
    FILE *file = NULL;
    uint16_t a_port = 0;
    uint16_t b_port = 0;

    must(count == 2, "usage: wait_services FILE");
    stock = cpt_mutex_new("stock", NULL);
    a_port = serve("A", a_rows, sizeof a_rows / sizeof a_rows[0], &a);
    b_port = serve("B", b_rows, sizeof b_rows / sizeof b_rows[0], &b);
    (void)snprintf(a_target, sizeof a_target, "http://127.0.0.1:%u", a_port);
    (void)snprintf(b_target, sizeof b_target, "http://127.0.0.1:%u", b_port);
    check_stub.target = b_target;
    check_stub.timeout_ns = HOUR_NS;
    check_stub.transport = cpt_http_transport(a);
    (void)snprintf(b_targets, sizeof b_targets, "http://127.0.0.1:1,%s", b_target);
    sleep_stub.target = b_targets;
    sleep_stub.timeout_ns = HOUR_NS;
    sleep_stub.transport = cpt_http_transport(a);
    again_stub.target = a_target;
    again_stub.timeout_ns = HOUR_NS;
    again_stub.transport = cpt_http_transport(b);
    must(pthread_create(&thread, NULL, run, b) == 0, "no thread");
    file = fopen(words[1], "w");
    must(file != NULL && fprintf(file, "%u %u\n", a_port, b_port) > 0 &&
             fclose(file) == 0,
         "the file of ports cannot be written");
    (void)run(a);
    return 0;
}
