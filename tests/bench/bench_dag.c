/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_dag.c - slack and drag of all nodes of a large graph
 *
 * A graph like that of a request, or of a build: each node waits for some of the nodes
 * shortly before it, and a few for one far away. In order, as a recorder writes them,
 * and with shuffled numbers. Times are those of the processor, of one thread.
 */
#include "tests/bench/bench.h"

#include "cpt/cpt_dag.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES_MAX = 1000000, INPUTS = 4, NEAR = 200, ROUNDS = 7 };

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

static void run(const char *name, uint32_t count, int is_shuffled)
{
    const struct cpt_dag_shape shape = make_shape(count, is_shuffled);
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

int main(int argument_count, char **arguments)
{
    bench_begin("bench_dag", &argument_count, arguments);
    nodes = calloc(NODES_MAX, sizeof *nodes);
    edges = calloc((size_t)NODES_MAX * INPUTS, sizeof *edges);
    measures = calloc(NODES_MAX, sizeof *measures);
    labels = calloc(NODES_MAX, sizeof *labels);
    if (nodes == NULL || edges == NULL || measures == NULL || labels == NULL) {
        return 2;
    }
    bench_title("Slack and drag, 4 inputs a node");
    run("10,000 nodes", 10000, 0);
    run("10,000 nodes, shuffled", 10000, 1);
    run("1,000,000 nodes", NODES_MAX, 0);
    run("1,000,000 nodes, shuffled", NODES_MAX, 1);
    free(nodes);
    free(edges);
    free(measures);
    free(labels);
    return bench_end();
}
