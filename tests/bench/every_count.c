/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * every_count.c - a service and its callee in one process, to count instructions
 *
 *      A: parse --> look (calls B) --> render       B: find, then 8 parts, then answer
 *
 * For the instructions of one way, run it twice, and divide the difference by that of
 * the counts:
 *
 *      valgrind --tool=callgrind bench_every count rule 1000
 *
 * The ways are untraced; rule, traced so that a rule may keep it, which it does not;
 * whole, the same with callees asked for all; logged, all traced by the coin; drag, the
 * same with drags; kept, the same with the graphs of both services.
 */
#include "tests/bench/every_count.h"

#include "framework/cpt_log_queue.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_settings.h"
#include "tests/support/loopback.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RULE "rule slow = owner bench; until 2099-12-31; latency > 10s\n"

static const struct {
    const char *name;
    double probability;
    const char *settings;
    double drag_share;
    unsigned graph_every;
} ways[] = {
    {"untraced", -1, NULL, 0, 0},
    {"rule", -1, RULE, 0, 0},
    {"whole", -1, RULE "glance_bytes = 2048\n", 0, 0},
    {"logged", 1, NULL, 0, 0},
    {"drag", 1, NULL, 1, 0},
    {"kept", 1, NULL, 0, 1},
};

static struct loopback net;
static const struct cpt_stub b_stub = {
    .name = "B: /look", .target = "B", .method = "/look", .transport = &net.transport};

/* --- B --- */

CPT_VALUE(p0, int);
CPT_VALUE(p1, int);
CPT_VALUE(p2, int);
CPT_VALUE(p3, int);
CPT_VALUE(p4, int);
CPT_VALUE(p5, int);
CPT_VALUE(p6, int);
CPT_VALUE(p7, int);

static cpt_status work(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static cpt_status b_answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("found");
    return CPT_OK;
}

static const struct cpt_task_def b_tasks[] = {
    {"find the place", work, CPT_GIVES(p0), CPT_NEEDS(rpc_request)},
    {"open the shelf", work, CPT_GIVES(p1), CPT_NEEDS(p0)},
    {"read the index", work, CPT_GIVES(p2), CPT_NEEDS(p1)},
    {"skip what is old", work, CPT_GIVES(p3), CPT_NEEDS(p2)},
    {"decode", work, CPT_GIVES(p4), CPT_NEEDS(p3)},
    {"filter", work, CPT_GIVES(p5), CPT_NEEDS(p4)},
    {"rank", work, CPT_GIVES(p6), CPT_NEEDS(p5)},
    {"choose a picture", work, CPT_GIVES(p7), CPT_NEEDS(p6)},
    {"answer", b_answer, CPT_GIVES(rpc_reply), CPT_NEEDS(p7)},
};
static const struct cpt_graph b_graph = {"B", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), b_tasks, 9};

/* --- A --- */

CPT_VALUE(parsed, int);
CPT_VALUE(looked, int);

static cpt_status looked_up(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static cpt_status look(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &b_stub, cpt_bytes_of("what")), looked_up);
}

static cpt_status render(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static const struct cpt_task_def a_tasks[] = {
    {"parse", work, CPT_GIVES(parsed), CPT_NEEDS(rpc_request)},
    {"look", look, CPT_GIVES(looked), CPT_NEEDS(parsed)},
    {"render", render, CPT_GIVES(rpc_reply), CPT_NEEDS(looked)},
};
static const struct cpt_graph a_graph = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), a_tasks, 3};

/* --- Both --- */

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_every: %s\n", what);
        exit(1);
    }
}

static cpt_status drop(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_OK;
}

/* The logs of paths and of graphs. */
struct logs {
    struct cpt_log_queue *paths;
    struct cpt_log_queue *graphs;
};

/* Larger than all requests, which under callgrind come faster than they are written. */
static struct cpt_log_queue *make_log(unsigned content)
{
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = drop,
                                                  .record_count_max = 1 << 20,
                                                  .memory_bytes_max = 1 << 30,
                                                  .content = content};
    struct cpt_log_queue *log = cpt_log_queue_new(&options, NULL);

    must(log != NULL, "out of memory");
    return log;
}

/* Writes what it has, of @count requests or more, and frees it. */
static void free_log(struct cpt_log_queue *log, size_t count)
{
    struct cpt_log_queue_counts counts;

    (void)cpt_log_queue_close(log, UINT64_MAX);
    cpt_log_queue_counts(log, &counts);
    must(counts.logged_count >= count && counts.dropped_count == 0, "records are lost");
    cpt_log_queue_free(log);
}

static struct cpt_service *make(const char *name, const char *method, unsigned role,
                                size_t way, const struct cpt_graph *graph,
                                const struct logs *logs)
{
    const bool is_entry = role == CPT_ROLE_ENTRY;
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options,
        .name = name,
        .role = role,
        .log = logs->paths,
        .graphs = logs->graphs,
        .graph_every = is_entry ? ways[way].graph_every : 0,
        .graphs_per_second_max = -1,
        .drag_share = is_entry ? ways[way].drag_share : 0,
        .clock = cpt_clock_fastest(),
        .probability = is_entry ? ways[way].probability : -1};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL); /* until the end */

    must(service != NULL && plan != NULL, "out of memory");
    must(cpt_service_method_add(service, method, plan, NULL) == CPT_OK, "no method");
    return service;
}

/* Reads the rules from a file, once. */
static struct cpt_settings *read_rules(struct cpt_service *service, const char *text)
{
    char path[] = "/tmp/bench-rules-XXXXXX";
    const size_t bytes = strlen(text);
    const int file = mkstemp(path);
    const struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                                 .path = path,
                                                 .services = &service,
                                                 .service_count = 1,
                                                 .period_ns = UINT64_C(3600000000000)};
    struct cpt_settings *settings = NULL;

    must(file >= 0 && write(file, text, bytes) == (ssize_t)bytes, "no file");
    must(close(file) == 0, "no file");
    settings = cpt_settings_new(&options, NULL);
    must(unlink(path) == 0 && settings != NULL, "the rules are wrong");
    return settings;
}

static void ignore(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    must(outbound->body.bytes == 4, "a request failed");
}

int every_count(const char *name, size_t count)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                        .verb = cpt_bytes_of("GET")};
    const struct logs logs = {make_log(CPT_LOG_PATHS), make_log(CPT_LOG_GRAPHS)};
    struct cpt_settings *settings = NULL;
    struct cpt_service *a = NULL;
    struct cpt_service *b = NULL;
    size_t way = 0;

    while (way < sizeof ways / sizeof ways[0] && strcmp(ways[way].name, name) != 0) {
        way++;
    }
    must(way < sizeof ways / sizeof ways[0], "no such way");
    loopback_init(&net);
    b = make("B", "/look", CPT_ROLE_INNER, way, &b_graph, &logs);
    a = make("A", "/", CPT_ROLE_ENTRY, way, &a_graph, &logs);
    net.services[net.service_count++] = b;
    if (ways[way].settings != NULL) {
        settings = read_rules(a, ways[way].settings);
    }
    for (size_t i = 0; i < count; i++) {
        struct cpt_inbound one = inbound;

        one.coin = cpt_service_coin(a);
        cpt_service_serve(a, &one, ignore, NULL);
    }
    cpt_settings_free(settings);
    free_log(logs.paths, ways[way].probability > 0 ? count : 0);
    free_log(logs.graphs, ways[way].graph_every != 0 ? 2 * count : 0);
    cpt_service_free(a);
    cpt_service_free(b);
    return 0;
}
