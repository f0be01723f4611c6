/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_parts.c - what a request, a task, a call and an attribute cost, untraced and
 * traced: the four rows by which Dapper tells what its spans cost
 *
 *      request     cpt_service_serve() of a plan of one task, from its arrival to its
 *                  answer, on the thread that calls it
 *      task        one of 100 more, each unblocked by the one before
 *      call        one of 20, one after the other, by a transport that answers at once,
 *                  with a path of one frame if it is asked
 *      attribute   one of 20 by cpt_request_set(), each a text of 8 bytes
 *
 * A request that is traced makes its path, so a traced task or call has its share of
 * it; but it has no log. The baseline is a reading of the clock.
 *
 * For the instructions, bench_parts.sh runs it under callgrind as `bench_parts WAY HOW
 * COUNT`. How is untraced, traced, drag (the path has drags) or graph (the whole graph
 * is kept, too, in a log that is thrown away).
 */
#include "tests/bench/bench.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"
#include "wire/cpt_metadata.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each time is of some 0.2 ms, so that other programs seldom run meanwhile. */
enum {
    TASKS = 100,
    CALLS = 20,
    ATTRIBUTES = 20,
    REQUESTS = 1000, /* less, the more parts they have */
    READINGS = 5000,
    BATCH = 20, /* requests, after which their graphs are written */
    ROUNDS = BENCH_ROUNDS_MAX
};

static void must(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_parts: %s\n", what);
        exit(1);
    }
}

/* --- The plans --- */

static cpt_status answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->outcome = CPT_OUTCOME_OK;
    return CPT_OK;
}

static cpt_status nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static struct cpt_value values[TASKS];
static char names[TASKS][8];
static struct cpt_task_def tasks[TASKS + 1];

/* A chain of @count tasks, and one that answers. */
static struct cpt_graph chain(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        values[i] = (struct cpt_value){names[i], sizeof(int)};
        tasks[i] = (struct cpt_task_def){
            .name = names[i], .run = nothing, .gives = &values[i]};
        tasks[i].needs[0] = i != 0 ? &values[i - 1] : CPT_GIVES(rpc_request);
    }
    tasks[count] = (struct cpt_task_def){
        .name = "answer", .run = answer, .gives = CPT_GIVES(rpc_reply)};
    tasks[count].needs[0] = count != 0 ? &values[count - 1] : CPT_GIVES(rpc_request);
    return (struct cpt_graph){"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), tasks,
                              count + 1};
}

static cpt_status note(struct cpt_task *task)
{
    static const char *const keys[ATTRIBUTES] = {
        "k0",  "k1",  "k2",  "k3",  "k4",  "k5",  "k6",  "k7",  "k8",  "k9",
        "k10", "k11", "k12", "k13", "k14", "k15", "k16", "k17", "k18", "k19"};
    struct cpt_request *request = cpt_task_request(task);

    for (size_t i = 0; i < ATTRIBUTES; i++) {
        cpt_request_set(request, keys[i], "control1");
    }
    return answer(task);
}

/* --- Calls --- */

static unsigned char path[CPT_METADATA_BYTES_CEILING];
static size_t path_bytes;

static void reply_at_once(struct cpt_transport *transport,
                          struct cpt_transport_call *call)
{
    struct cpt_transport_reply reply = {.status = CPT_OK, .http_status = 200};

    (void)transport;
    if (call->critical_path.bytes != 0) {
        reply.metadata = (struct cpt_bytes){(const char *)path, path_bytes};
    }
    cpt_transport_complete(call, &reply);
}

static struct cpt_transport at_once = {.name = "none", .send = reply_at_once};
static const struct cpt_stub stub = {
    .name = "B: /", .target = "B", .method = "/", .transport = &at_once};

static cpt_status call_next(struct cpt_task *task)
{
    int *count = cpt_state(task, int);

    must(count != NULL, "out of memory");
    if (++*count > CALLS) {
        return answer(task);
    }
    return cpt_await(task, cpt_call(task, &stub, cpt_bytes_of("")), call_next);
}

/* --- Ways --- */

enum how { UNTRACED, TRACED, DRAG, GRAPH, HOW_COUNT };
static const char *const hows[] = {"untraced", "traced", "drag", "graph"};

static struct cpt_log_queue *graphs;

static cpt_status throw_away(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_OK;
}

static void open_graphs(void)
{
    const struct cpt_log_queue_options options = {
        .struct_bytes = sizeof options, .sink = throw_away, .content = CPT_LOG_GRAPHS};

    graphs = cpt_log_queue_new(&options, NULL);
    must(graphs != NULL, "no log of graphs");
}

static void close_graphs(void)
{
    struct cpt_log_queue_counts counts;

    cpt_log_queue_counts(graphs, &counts);
    must(counts.dropped_count + counts.unencodable_count == 0, "graphs were lost");
    cpt_log_queue_free(graphs);
}

struct way {
    const char *name;
    const char *part;
    size_t parts; /* in a request; 0: it is the request */
    cpt_task_fn run;
    size_t more_tasks;
    struct cpt_service *services[HOW_COUNT];
    struct cpt_plan *plan;
};

static struct way ways[] = {
    {.name = "request", .part = "a request of one task", .run = answer},
    {.name = "task",
     .part = "a task",
     .parts = TASKS,
     .run = answer,
     .more_tasks = TASKS},
    {.name = "call", .part = "a call", .parts = CALLS, .run = call_next},
    {.name = "attribute", .part = "an attribute", .parts = ATTRIBUTES, .run = note},
};
enum { WAY_COUNT = sizeof ways / sizeof ways[0] };

static struct cpt_service *open_service(const struct way *way, enum how how)
{
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .role = how < DRAG ? CPT_ROLE_INNER
                                                                   : CPT_ROLE_ENTRY,
                                                .probability = how == UNTRACED ? -1 : 1,
                                                .graphs = graphs,
                                                .graph_every = how == GRAPH,
                                                .drag_share = how == DRAG};
    struct cpt_service *service = cpt_service_new(&options, NULL);

    must(service != NULL &&
             cpt_service_method_add(service, "/", way->plan, NULL) == CPT_OK,
         "no service");
    return service;
}

static void open_way(struct way *way)
{
    struct cpt_graph graph = chain(way->more_tasks);

    tasks[way->more_tasks].run = way->run;
    way->plan = cpt_plan_new(&graph, NULL, NULL);
    must(way->plan != NULL, "no plan");
    for (enum how how = UNTRACED; how < HOW_COUNT; how++) {
        way->services[how] = open_service(way, how);
    }
}

static void close_way(struct way *way)
{
    for (enum how how = UNTRACED; how < HOW_COUNT; how++) {
        cpt_service_free(way->services[how]);
    }
    cpt_plan_free(way->plan);
}

static void look(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    must(outbound->outcome == CPT_OUTCOME_OK, "a request failed");
    if (outbound->metadata.bytes != 0) {
        path_bytes = outbound->metadata.bytes;
        memcpy(path, outbound->metadata.data, path_bytes);
    }
}

static void serve(struct cpt_service *service, size_t count, bool keeps_graphs)
{
    struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                  .verb = cpt_bytes_of("GET")};

    for (size_t i = 0; i < count; i++) {
        inbound.coin = cpt_service_coin(service);
        cpt_service_serve(service, &inbound, look, NULL);
        if (keeps_graphs && (i + 1) % BATCH == 0) {
            cpt_log_queue_flush(graphs);
        }
    }
}

/* What callees return: the path of a request that asks for it. */
static void make_path(struct cpt_service *service)
{
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                        .verb = cpt_bytes_of("GET"),
                                        .critical_path = cpt_bytes_of("1;max=2048"),
                                        .critical_path_count = 1};

    cpt_service_serve(service, &inbound, look, NULL);
    must(path_bytes != 0, "no path");
}

/* --- Measured --- */

static uint64_t now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

static double ns_of_request(struct cpt_service *service, size_t count)
{
    const uint64_t begin_ns = now_ns();

    serve(service, count, false);
    return (double)(now_ns() - begin_ns) / (double)count;
}

static double ns_of_reading(void)
{
    const uint64_t begin_ns = now_ns();

    for (int i = 0; i < READINGS - 1; i++) {
        (void)now_ns();
    }
    return (double)(now_ns() - begin_ns) / READINGS;
}

static void measure(void)
{
    static double found[WAY_COUNT][2][ROUNDS];
    static double readings[ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        readings[round] = ns_of_reading();
        for (size_t i = 0; i < WAY_COUNT; i++) {
            for (int traced = 0; traced < 2; traced++) {
                double *ns = &found[i][traced][round];

                *ns = ns_of_request(ways[i].services[traced],
                                    REQUESTS / (1 + ways[i].parts / 2));
                if (ways[i].parts != 0) {
                    *ns = (*ns - found[0][traced][round]) / (double)ways[i].parts;
                }
            }
        }
    }
    for (size_t i = 0; i < WAY_COUNT; i++) {
        for (int traced = 0; traced < 2; traced++) {
            char name[64];

            (void)snprintf(name, sizeof name, "%s, %s", ways[i].part,
                           traced ? "traced" : "untraced");
            bench_rounds(name, found[i][traced], "ns", "a reading of the clock",
                         readings, ROUNDS);
        }
    }
}

static void run(const char *way, const char *how, size_t count)
{
    for (size_t i = 0; i < WAY_COUNT; i++) {
        for (int j = 0; j < HOW_COUNT; j++) {
            if (strcmp(way, ways[i].name) == 0 && strcmp(how, hows[j]) == 0) {
                serve(ways[i].services[j], count, j == GRAPH);
            }
        }
    }
}

int main(int argument_count, char **arguments)
{
    bench_begin("bench_parts", &argument_count, arguments);
    open_graphs();
    for (size_t i = 0; i < WAY_COUNT; i++) {
        open_way(&ways[i]);
    }
    make_path(ways[0].services[TRACED]);
    if (argument_count == 4) {
        run(arguments[1], arguments[2], strtoul(arguments[3], NULL, 10));
    } else {
        bench_title("The parts of a request");
        measure();
    }
    for (size_t i = 0; i < WAY_COUNT; i++) {
        close_way(&ways[i]);
    }
    close_graphs();
    return bench_end();
}
