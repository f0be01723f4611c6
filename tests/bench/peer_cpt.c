/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * peer_cpt.c - the graphs on this framework: its executors, not traced and traced
 *
 * A graph that is built for each request is compiled to a plan each time, which no
 * service does: plans are there to be kept.
 */
#include "tests/bench/peers.h"

#include "framework/cpt_graph.h"
#include "framework/cpt_runtime.h"

#include <stdio.h>
#include <stdlib.h>

struct run {
    struct cpt_graph graph;
    struct cpt_task_def *tasks;
    struct cpt_value *values;
    char (*names)[12];
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
    free(run->tasks);
    free(run->values);
    free(run->names);
    free(run);
}

static void describe_graph(struct run *run, const struct bench_shape *shape)
{
    for (uint32_t i = 0; i < shape->task_count; i++) {
        size_t count = 0;

        (void)snprintf(run->names[i], sizeof run->names[i], "t%u", i);
        run->values[i].name = run->names[i];
        run->values[i].bytes = sizeof(int);
        run->tasks[i].name = run->names[i];
        run->tasks[i].run = run_task;
        run->tasks[i].gives = &run->values[i];
        for (uint32_t k = shape->need_begin[i]; k < shape->need_begin[i + 1]; k++) {
            run->tasks[i].needs[count++] = &run->values[shape->needs[k]];
        }
    }
    run->graph.service = "S";
    run->graph.output = &run->values[shape->task_count - 1];
    run->graph.tasks = run->tasks;
    run->graph.task_count = shape->task_count;
}

static struct cpt_plan *make_plan(const struct run *run)
{
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(&run->graph, NULL, &error);

    if (plan == NULL) {
        (void)fprintf(stderr, "bench: %s\n", error.sentence);
    }
    return plan;
}

static void *open_run(const struct bench_job *job, int is_pool, int is_traced)
{
    const size_t count = job->shape->task_count;
    const struct cpt_pool_options pool = {.struct_bytes = sizeof pool,
                                          .worker_count = job->worker_count};
    struct run *run = calloc(1, sizeof *run);

    if (run == NULL) {
        return NULL;
    }
    task_body = job->body;
    run->tasks = calloc(count, sizeof *run->tasks);
    run->values = calloc(count, sizeof *run->values);
    run->names = calloc(count, sizeof *run->names);
    if (run->tasks == NULL || run->values == NULL || run->names == NULL) {
        close_run(run);
        return NULL;
    }
    describe_graph(run, job->shape);
    run->options.struct_bytes = sizeof run->options;
    run->options.is_traced = is_traced;
    run->options.clock = is_traced ? cpt_clock_fastest() : NULL;
    if (is_pool) {
        run->options.executor = cpt_pool_new(&pool, NULL);
    }
    run->plan = job->is_fresh ? NULL : make_plan(run);
    if ((is_pool && run->options.executor == NULL) ||
        (run->plan == NULL && !job->is_fresh)) {
        close_run(run);
        return NULL;
    }
    run->options.plan = run->plan;
    return run;
}

static void *open_inline(const struct bench_job *job)
{
    return job->worker_count == 1 ? open_run(job, 0, 0) : NULL;
}

static void *open_inline_traced(const struct bench_job *job)
{
    return job->worker_count == 1 ? open_run(job, 0, 1) : NULL;
}

static void *open_pool(const struct bench_job *job)
{
    return open_run(job, 1, 0);
}

static void *open_pool_traced(const struct bench_job *job)
{
    return open_run(job, 1, 1);
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
            run->options.plan = make_plan(run);
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
            run->options.plan = make_plan(run);
        }
        must(cpt_request_run(&run->options, NULL, NULL, NULL));
        if (run->plan == NULL) {
            cpt_plan_free((struct cpt_plan *)(uintptr_t)run->options.plan);
        }
    }
}

enum { BOTH = BENCH_RUNS_REUSED | BENCH_RUNS_FRESH };

const struct bench_peer bench_peers_cpt[] = {
    {"cpt, inline", BOTH, open_inline, run_inline, close_run},
    {"cpt, inline, traced", BENCH_RUNS_REUSED, open_inline_traced, run_inline,
     close_run},
    {"cpt, pool", BOTH | BENCH_RUNS_THREADS, open_pool, run_waiting, close_run},
    {"cpt, pool, traced", BENCH_RUNS_REUSED | BENCH_RUNS_THREADS, open_pool_traced,
     run_waiting, close_run},
    {0}};
