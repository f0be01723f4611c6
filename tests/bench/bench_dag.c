/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_dag.c - slack and drag of all nodes of a large graph
 *
 * A graph like that of a request, or of a build: each node waits for some of the nodes
 * shortly before it, and a few for one far away. In order, as a recorder writes them,
 * and with shuffled numbers; also if a few nodes are so long that of hardly an edge it
 * can be told early that it limits no drag.
 *
 * And the records of tasks that wait like this, from the records to the drag of each
 * segment of the path; every second task also calls, and waits for that.
 *
 * Times are those of the processor, of one thread.
 */
#include "tests/bench/bench.h"

#include "cpt/cpt_dag.h"
#include "cpt/cpt_drag.h"
#include "cpt/cpt_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES_MAX = 1000000, TASKS = 10000, INPUTS = 4, NEAR = 200, ROUNDS = 7 };

static struct cpt_dag_node *nodes;
static struct cpt_dag_edge *edges;
static struct cpt_dag_measure *measures;
static uint32_t *labels;
static uint64_t state = 1;

static uint64_t below(uint64_t limit)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % limit;
}

static uint64_t cpu_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct cpt_dag_shape make_shape(uint32_t count, int is_shuffled)
{
    struct cpt_dag_shape shape = {.nodes = nodes,
                                  .node_count = count,
                                  .edges = edges,
                                  .end = CPT_DAG_NONE,
                                  .frame_count = 1};

    for (uint32_t i = 0; i < count; i++) {
        labels[i] = i;
        nodes[i] = (struct cpt_dag_node){1 + below(1000), 0, CPT_DAG_STEP};
    }
    for (uint32_t i = count; i > 1 && is_shuffled; i--) {
        const uint32_t other = (uint32_t)below(i);
        const uint32_t kept = labels[i - 1];

        labels[i - 1] = labels[other];
        labels[other] = kept;
    }
    for (uint32_t i = 1; i < count; i++) {
        for (int k = 0; k < INPUTS; k++) {
            const uint64_t reach = below(100) == 0 ? i : (i < NEAR ? i : NEAR);

            edges[shape.edge_count].from = labels[i - 1 - below(reach)];
            edges[shape.edge_count++].to = labels[i];
        }
    }
    return shape;
}

static void run(const char *name, struct cpt_dag_shape shape)
{
    double made_ns[ROUNDS];
    double rate[ROUNDS];
    char title[100];

    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t begin_ns = cpu_ns();
        struct cpt_dag *dag = NULL;

        if (cpt_dag_new(NULL, &shape, &dag, NULL) != CPT_OK ||
            cpt_dag_measure(dag, measures) != CPT_OK) {
            (void)fprintf(stderr, "bench_dag: the graph was refused\n");
            exit(2);
        }
        made_ns[i] = (double)(cpu_ns() - begin_ns);
        rate[i] = (double)shape.edge_count * 1000 / made_ns[i];
        made_ns[i] /= 1e6;
        cpt_dag_free(dag);
    }
    (void)snprintf(title, sizeof title, "%s: all drags", name);
    bench_rounds(title, made_ns, "ms", NULL, NULL, ROUNDS);
    (void)snprintf(title, sizeof title, "%s: edges", name);
    bench_rounds(title, rate, "million a second", NULL, NULL, ROUNDS);
}

/* The same graph, but one node of 1,000 takes 1,000 times as long. */
static struct cpt_dag_shape with_long_nodes(struct cpt_dag_shape shape)
{
    for (size_t i = 0; i < shape.node_count; i += 1000) {
        nodes[i].duration_ns *= 1000;
    }
    return shape;
}

/* --- Records --- */

static struct {
    struct cpt_trace trace;
    struct cpt_trace_task tasks[TASKS];
    struct cpt_trace_task *pointers[TASKS];
    struct cpt_trace_call calls[TASKS];
    struct cpt_trace_await awaits[TASKS];
    struct cpt_dag_arrival arrivals[TASKS * (INPUTS + 1)];
    size_t arrival_count;
} request;

static void note_arrival(struct cpt_trace_task *waiter, struct cpt_trace_task *giver,
                         struct cpt_trace_call *call, struct cpt_trace_await *await)
{
    request.arrivals[request.arrival_count++] = (struct cpt_dag_arrival){
        .waiter = waiter,
        .giver = giver,
        .call = call,
        .arrive_ns = call != NULL ? call->arrive_ns : giver->end_ns,
        .is_input = giver != NULL,
        .await = await};
}

/* The task computes, calls and waits; or it computes only. */
static void note_work(uint32_t number)
{
    struct cpt_trace_task *task = &request.tasks[number];
    struct cpt_trace_call *call = &request.calls[number];
    struct cpt_trace_await *await = &request.awaits[number];

    task->end_ns = task->start_ns + 1 + below(1000);
    if (number % 2 == 0) {
        return;
    }
    *call = (struct cpt_trace_call){.name = cpt_bytes_of("B: call"),
                                    .issuer = task,
                                    .issue_ns = task->end_ns,
                                    .arrive_ns = task->end_ns + 100 + below(1000)};
    *await = (struct cpt_trace_await){.call = call,
                                      .block_ns = task->end_ns + below(100),
                                      .arrive_ns = call->arrive_ns,
                                      .resume_ns = call->arrive_ns};
    task->last_await = await;
    task->end_ns = await->resume_ns + 1 + below(1000);
    note_arrival(task, NULL, call, await);
}

static void make_request(void)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        struct cpt_trace_task *task = &request.tasks[i];

        request.pointers[i] = task;
        task->name = cpt_bytes_of("A: task");
        for (int k = 0; i != 0 && k < INPUTS; k++) {
            struct cpt_trace_task *giver =
                &request.tasks[i - 1 - below(i < NEAR ? i : NEAR)];

            if (giver->end_ns > task->ready_ns) {
                task->begin = CPT_BEGIN_TASK;
                task->unblocker = giver;
                task->ready_ns = giver->end_ns;
            }
            note_arrival(task, giver, NULL, NULL);
        }
        task->start_ns = task->ready_ns + below(10);
        note_work(i);
    }
    request.trace.entry = cpt_bytes_of("A: /");
    request.trace.answered_by = &request.tasks[TASKS - 1];
    request.trace.response_ns = request.tasks[TASKS - 1].end_ns;
}

/* The path, with drags if @has_drags. */
static void walk(int has_drags, double *segments)
{
    const struct cpt_dag_run run = {&request.trace, NULL};
    const struct cpt_dag_records records = {&run,
                                            1,
                                            request.pointers,
                                            NULL,
                                            TASKS,
                                            request.arrivals,
                                            request.arrival_count};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_drags *drags = NULL;

    if ((has_drags && cpt_drags_new(NULL, &records, 0, &drags, NULL) != CPT_OK)) {
        exit(2);
    }
    request.trace.drags = drags;
    if (cpt_critical_path(NULL, &request.trace, path, NULL) != CPT_OK ||
        cpt_path_has_drags(path) != has_drags) {
        (void)fprintf(stderr, "bench_dag: the request has no path\n");
        exit(2);
    }
    *segments = (double)cpt_path_segment_count(path);
    cpt_drags_free(drags);
    cpt_path_free(path);
}

static void run_request(const char *title, int has_drags)
{
    double taken[ROUNDS];
    double segments[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t begin_ns = cpu_ns();

        walk(has_drags, &segments[i]);
        taken[i] = (double)(cpu_ns() - begin_ns) / 1e6;
    }
    bench_rounds(title, taken, "ms", NULL, NULL, ROUNDS);
    if (has_drags) {
        bench_rounds("segments", segments, "", NULL, NULL, ROUNDS);
    }
}

int main(int argument_count, char **arguments)
{
    struct cpt_dag_shape shape = {0};

    bench_begin("bench_dag", &argument_count, arguments);
    nodes = calloc(NODES_MAX, sizeof *nodes);
    edges = calloc((size_t)NODES_MAX * INPUTS, sizeof *edges);
    measures = calloc(NODES_MAX, sizeof *measures);
    labels = calloc(NODES_MAX, sizeof *labels);
    if (nodes == NULL || edges == NULL || measures == NULL || labels == NULL) {
        return 2;
    }
    bench_title("Slack and drag, 4 inputs a node");
    run("10,000 nodes", make_shape(10000, 0));
    run("10,000 nodes, shuffled", make_shape(10000, 1));
    shape = make_shape(NODES_MAX, 0);
    run("1,000,000 nodes", shape);
    run("1,000,000 nodes, a few long", with_long_nodes(shape));
    shape = make_shape(NODES_MAX, 1);
    run("1,000,000 nodes, shuffled", shape);
    run("1,000,000 nodes, shuffled, a few long", with_long_nodes(shape));
    bench_title("10,000 tasks and 5,000 calls, from their records");
    make_request();
    run_request("the path", 0);
    run_request("the path, and the drag of each segment", 1);
    free(nodes);
    free(edges);
    free(measures);
    free(labels);
    return bench_end();
}
