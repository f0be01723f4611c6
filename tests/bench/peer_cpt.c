/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * peer_cpt.c - the graphs on this framework: its executors, not traced and traced
 *
 * A graph that is built for each request is also compiled for each. Real services
 * compile a plan once and keep it.
 */
#include "tests/bench/peers.h"

#include "framework/cpt_runtime.h"
#include "tests/bench/shape_plan.h"

#include <stdio.h>
#include <stdlib.h>

struct run {
    struct bench_graph *graph;
    struct cpt_plan *plan; /* NULL: one for each request */
    struct cpt_request_options options;
};

static void (*task_body)(uint32_t task);

static cpt_status run_task(struct cpt_task *task)
{
    (void)task;
    task_body(0);
    return CPT_OK;
}

static void close_run(void *opened)
{
    struct run *run = opened;

    cpt_plan_free(run->plan);
    if (run->options.executor != NULL) {
        cpt_pool_free(run->options.executor);
    }
    bench_graph_free(run->graph);
    free(run);
}

enum { UNTRACED, TRACED, TRACED_WITH_CPU };

static void *open_run(const struct bench_job *job, int is_pool, int tracing)
{
    const struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                          .worker_count = job->worker_count};
    struct run *run = calloc(1, sizeof *run);

    if (run == NULL) {
        return NULL;
    }
    task_body = job->body;
    run->graph = bench_graph_new(job->shape, run_task);
    run->plan = job->is_fresh ? NULL : bench_graph_plan(run->graph, NULL);
    run->options.struct_bytes = sizeof run->options;
    run->options.plan = run->plan;
    run->options.is_traced = tracing != UNTRACED;
    run->options.measures_cpu = tracing == TRACED_WITH_CPU;
    run->options.clock = tracing != UNTRACED ? cpt_clock_fastest() : NULL;
    if (is_pool) {
        run->options.executor = cpt_pool_new(&pool, NULL);
        if (run->options.executor == NULL) {
            close_run(run);
            return NULL;
        }
    }
    return run;
}

static void *open_inline(const struct bench_job *job)
{
    return job->worker_count == 1 ? open_run(job, 0, UNTRACED) : NULL;
}

static void *open_inline_traced(const struct bench_job *job)
{
    return job->worker_count == 1 ? open_run(job, 0, TRACED) : NULL;
}

static void *open_inline_cpu(const struct bench_job *job)
{
    return job->worker_count == 1 ? open_run(job, 0, TRACED_WITH_CPU) : NULL;
}

static void *open_pool(const struct bench_job *job)
{
    return open_run(job, 1, UNTRACED);
}

static void *open_pool_traced(const struct bench_job *job)
{
    return open_run(job, 1, TRACED);
}

static void must(cpt_status status)
{
    if (status != CPT_OK) {
        (void)fprintf(stderr, "bench: a request failed: %s\n",
                      cpt_status_sentence(status));
        exit(2);
    }
}

static void run_inline(void *opened, size_t request_count)
{
    struct run *run = opened;

    while (request_count-- > 0) {
        if (run->plan == NULL) {
            run->options.plan = bench_graph_plan(run->graph, NULL);
        }
        must(cpt_request_start(&run->options, NULL));
        if (run->plan == NULL) {
            cpt_plan_free((struct cpt_plan *)(uintptr_t)run->options.plan);
        }
    }
}

static void run_waiting(void *opened, size_t request_count)
{
    struct run *run = opened;

    while (request_count-- > 0) {
        if (run->plan == NULL) {
            run->options.plan = bench_graph_plan(run->graph, NULL);
        }
        must(cpt_request_run(&run->options, NULL, NULL, NULL));
        if (run->plan == NULL) {
            cpt_plan_free((struct cpt_plan *)(uintptr_t)run->options.plan);
        }
    }
}

enum { BOTH = BENCH_RUNS_REUSED | BENCH_RUNS_FRESH };

const struct bench_peer bench_peers_cpt[] = {
    {"cpt, inline", BOTH, open_inline, run_inline, close_run,
     "cpt, inline, no tracing in it"},
    {"cpt, inline, traced", BENCH_RUNS_REUSED, open_inline_traced, run_inline,
     close_run, "cpt, inline"},
    {"cpt, inline, traced, CPU time", BENCH_RUNS_REUSED, open_inline_cpu, run_inline,
     close_run, "cpt, inline"},
    {"cpt, pool", BOTH | BENCH_RUNS_THREADS, open_pool, run_waiting, close_run, NULL},
    {"cpt, pool, traced", BENCH_RUNS_REUSED | BENCH_RUNS_THREADS, open_pool_traced,
     run_waiting, close_run, "cpt, pool"},
    {0}};
