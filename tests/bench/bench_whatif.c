/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_whatif.c - all kept requests, replayed with another time of a frame
 *
 * 10,000 requests of 100 nodes and three inputs a node, in 20 frames. The answer is the
 * latency of each. Beside it a plain replay of each dag, cpt_dag_replay(). Times are
 * those of the processor, of one thread.
 */
#include "tests/bench/bench.h"

#include "cpt/cpt_whatif.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REQUESTS = 10000, NODES = 100, INPUTS = 3, NEAR = 10, FRAMES = 20, ROUNDS = 7 };

static struct cpt_dag_node nodes[REQUESTS][NODES];
static struct cpt_dag_edge edges[REQUESTS][NODES * INPUTS];
static struct cpt_dag_name names[FRAMES];
static struct cpt_dag *dags[REQUESTS];
static uint64_t latency_ns[REQUESTS];
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

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "bench_whatif: %s\n", cpt_status_sentence(status));
        exit(2);
    }
}

static void add_request(struct cpt_whatif *whatif, size_t request)
{
    struct cpt_dag_recorded recorded = {.frames = names};
    size_t edge_count = 0;

    for (uint32_t i = 0; i < NODES; i++) {
        const uint32_t near = i < NEAR ? i : NEAR;

        nodes[request][i] = (struct cpt_dag_node){
            1 + below(1000000), (uint32_t)below(FRAMES), CPT_DAG_STEP};
        for (uint32_t k = 0; k < INPUTS && i != 0; k++) {
            edges[request][edge_count++] =
                (struct cpt_dag_edge){i - 1 - (uint32_t)below(near), i};
        }
    }
    recorded.shape = (struct cpt_dag_shape){.nodes = nodes[request],
                                            .node_count = NODES,
                                            .edges = edges[request],
                                            .edge_count = edge_count,
                                            .end = CPT_DAG_NONE,
                                            .frame_count = FRAMES};
    must(cpt_dag_new(NULL, &recorded.shape, &dags[request], NULL));
    must(cpt_whatif_add(whatif, dags[request], &recorded, 0));
}

/* One answer: a new plan, and all requests. */
static double answer_ns(const struct cpt_whatif *whatif)
{
    const struct cpt_whatif_term term = {.verb = CPT_WHATIF_SET,
                                         .change = CPT_WHATIF_SCALE,
                                         .share = 0.5,
                                         .frames = {.name = names[3].name}};
    struct cpt_whatif_plan *plan = NULL;
    const uint64_t begin_ns = cpu_ns();

    must(cpt_whatif_plan_new(whatif, &term, 1, NULL, &plan, NULL, NULL));
    must(cpt_whatif_run(plan, 0, REQUESTS, latency_ns));
    cpt_whatif_plan_free(plan);
    return (double)(cpu_ns() - begin_ns);
}

/* The same by cpt_dag_replay(). */
static double plain_ns(void)
{
    const uint64_t begin_ns = cpu_ns();

    for (size_t i = 0; i < REQUESTS; i++) {
        uint64_t duration_ns[NODES];
        uint64_t found_ns = 0;

        for (size_t k = 0; k < NODES; k++) {
            const uint64_t own_ns = nodes[i][k].duration_ns;

            duration_ns[k] = nodes[i][k].frame == 3 ? (own_ns + 1) / 2 : own_ns;
        }
        must(cpt_dag_replay(dags[i], duration_ns, NULL, &found_ns));
        if (found_ns != latency_ns[i]) {
            (void)fprintf(stderr, "bench_whatif: request %zu differs\n", i);
            exit(2);
        }
    }
    return (double)(cpu_ns() - begin_ns);
}

int main(int argument_count, char **arguments)
{
    struct cpt_whatif *whatif = cpt_whatif_new(NULL);
    char texts[FRAMES][16];
    double answered[ROUNDS];
    double rate[ROUNDS];
    double ratio[ROUNDS];

    bench_begin("bench_whatif", &argument_count, arguments);
    if (whatif == NULL) {
        return 2;
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "A: A%u", i);
        names[i] = (struct cpt_dag_name){cpt_bytes_of(texts[i]), CPT_DAG_STEP};
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        add_request(whatif, i);
    }
    for (int i = 0; i < ROUNDS; i++) {
        answered[i] = answer_ns(whatif);
        ratio[i] = answered[i] / plain_ns();
        rate[i] = (double)cpt_whatif_edge_count(whatif) * 1000 / answered[i];
        answered[i] /= 1e6;
    }
    bench_title("What if a frame took half its time: 10,000 requests of 100 nodes");
    bench_rounds("an answer", answered, "ms", NULL, NULL, ROUNDS);
    bench_rounds("edges", rate, "million a second", NULL, NULL, ROUNDS);
    bench_rounds("beside a plain replay", ratio, "times", NULL, NULL, ROUNDS);
    for (size_t i = 0; i < REQUESTS; i++) {
        cpt_dag_free(dags[i]);
    }
    cpt_whatif_free(whatif);
    return bench_end();
}
