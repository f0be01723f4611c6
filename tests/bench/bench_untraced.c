/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_untraced.c - what tracing costs the requests that are not traced: their trace,
 * and the rules that do not take them
 *
 *      cpt_service_serve() of a plan of one task, on the thread that calls it
 *
 * For the instructions of one way, run it alone, twice, and divide the difference by
 * that of the counts:
 *
 *      valgrind --tool=callgrind bench_untraced plain 1000
 *
 * The ways are plain, traceparent, tracestate, rules, rate.
 */
#include "tests/bench/bench.h"

#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REQUESTS = 20000 };

/* A service and what its requests bring. */
struct way {
    const char *name;
    const char *title;
    const char *traceparent; /* NULL: none */
    const char *tracestate;  /* likewise */
    const char *rules;       /* the file of settings; NULL: there is none */
    struct cpt_service *service;
    struct cpt_plan *plan;
    struct cpt_settings *settings;
};

static struct way ways[] = {
    {.name = "plain", .title = "without a traceparent"},
    {.name = "traceparent",
     .title = "with one that came",
     .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
    {.name = "tracestate",
     .title = "with one that came, and a tracestate",
     .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
     .tracestate = "ot=th:fd70a4;rv:9b8233f7e3a151,vendor=t61rcWkgMzE"},
    {.name = "rules",
     .title = "two rules that do not take it",
     .rules = "rule a = owner x; until 2099-12-31; method /other; probability 0.5\n"
              "rule b = owner x; until 2099-12-31; probability 0\n"},
    {.name = "rate",
     .title = "a rule with a rate",
     .rules = "rule a = owner x; until 2099-12-31; rate 0.001/s\n"},
};
enum { WAY_COUNT = sizeof ways / sizeof ways[0] };

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_untraced: %s\n", what);
        exit(1);
    }
}

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_OK;
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"answer", answer, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                       CPT_GIVES(rpc_reply), tasks, 1};

/* Reads the rules of @way from a file, once. */
static void read_rules(struct way *way)
{
    char path[] = "/tmp/bench-rules-XXXXXX";
    const size_t bytes = strlen(way->rules);
    const int file = mkstemp(path);
    struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                           .path = path,
                                           .services = &way->service,
                                           .service_count = 1,
                                           .period_ns = UINT64_C(3600000000000)};

    must(file >= 0 && write(file, way->rules, bytes) == (ssize_t)bytes, "no file");
    must(close(file) == 0, "no file");
    way->settings = cpt_settings_new(&options, NULL);
    must(unlink(path) == 0 && way->settings != NULL, "the rules are wrong");
}

static void open_way(struct way *way)
{
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "A", .probability = -1};

    way->service = cpt_service_new(&options, NULL);
    way->plan = cpt_plan_new(&graph, NULL, NULL);
    must(way->service != NULL && way->plan != NULL, "out of memory");
    must(cpt_service_method_add(way->service, "/", way->plan, NULL) == CPT_OK,
         "no method");
    if (way->rules != NULL) {
        read_rules(way);
    }
}

static void close_way(struct way *way)
{
    cpt_settings_free(way->settings);
    cpt_service_free(way->service);
    cpt_plan_free(way->plan);
}

static void ignore(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    must(outbound->outcome == CPT_OUTCOME_OK, "a request failed");
}

static void serve(void *context, size_t count)
{
    struct way *way = context;
    struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                  .verb = cpt_bytes_of("GET")};
    const struct cpt_field state = {
        cpt_bytes_of("tracestate"),
        cpt_bytes_of(way->tracestate != NULL ? way->tracestate : "")};

    if (way->tracestate != NULL) {
        inbound.headers = &state;
        inbound.header_count = 1;
    }
    if (way->traceparent != NULL) {
        inbound.traceparent = cpt_bytes_of(way->traceparent);
    }
    for (size_t i = 0; i < count; i++) {
        inbound.coin = cpt_service_coin(way->service);
        cpt_service_serve(way->service, &inbound, ignore, NULL);
    }
}

int main(int argument_count, char **arguments)
{
    bench_begin("bench_untraced", &argument_count, arguments);
    for (size_t i = 0; i < WAY_COUNT; i++) {
        open_way(&ways[i]);
        if (argument_count == 3 && strcmp(arguments[1], ways[i].name) == 0) {
            serve(&ways[i], strtoul(arguments[2], NULL, 10));
        }
    }
    if (argument_count != 3) {
        const struct bench_way plain = {ways[0].title, serve, &ways[0]};

        bench_title("An untraced request");
        for (size_t i = 1; i < WAY_COUNT; i++) {
            const struct bench_way other = {ways[i].title, serve, &ways[i]};

            bench_compare(&plain, &other, REQUESTS, 1, "request");
        }
    }
    for (size_t i = 0; i < WAY_COUNT; i++) {
        close_way(&ways[i]);
    }
    return bench_end();
}
