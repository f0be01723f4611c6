/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bench_memory.c - the memory of a request, counted at its allocator
 *
 * The memory of a task is the difference between a request of 2,000 tasks and one of
 * 1,000, without the values of the tasks, which belong to the service. The peak counts,
 * without the memory of the plan; memory that a plan keeps for the next request counts
 * for the request. The figures do not depend on the machine.
 */
#include "tests/bench/bench.h"
#include "tests/bench/shape_plan.h"

#include "framework/cpt_runtime.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_COUNT = 100, COUNTED = 100 };

/* --- An allocator that counts --- */

static struct {
    size_t held_bytes;
    size_t most_bytes;
    size_t call_count; /* that asked for memory */
} counts;

/* The length, before each block. Keeps the alignment of malloc(). */
union block {
    size_t bytes;
    max_align_t aligned;
};

static void *resize(void *context, void *memory, size_t bytes)
{
    union block *block = memory != NULL ? (union block *)memory - 1 : NULL;
    const size_t before = block != NULL ? block->bytes : 0;

    (void)context;
    counts.held_bytes -= before;
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    counts.call_count++;
    block = realloc(block, sizeof *block + bytes);
    if (block == NULL) {
        (void)fprintf(stderr, "bench_memory: out of memory\n");
        exit(2);
    }
    block->bytes = bytes;
    counts.held_bytes += bytes;
    if (counts.held_bytes > counts.most_bytes) {
        counts.most_bytes = counts.held_bytes;
    }
    return block + 1;
}

static const struct cpt_alloc counting = {resize, NULL};

/* --- Requests --- */

static cpt_status nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

struct found {
    double bytes;
    double calls;
};

/* The peak memory of a request of @shape, and its allocations once it is warm. */
static struct found measure(const struct bench_shape *shape, int is_traced)
{
    struct bench_graph *graph = bench_graph_new(shape, nothing);
    struct cpt_plan *plan = bench_graph_plan(graph, &counting);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .is_traced = is_traced,
                                                .alloc = &counting};
    struct found found = {0};
    const size_t before = counts.held_bytes;

    counts.most_bytes = before;
    for (int i = 0; i < WARM_COUNT; i++) {
        (void)cpt_request_start(&options, NULL);
    }
    counts.call_count = 0;
    for (int i = 0; i < COUNTED; i++) {
        (void)cpt_request_start(&options, NULL);
    }
    found.bytes = (double)(counts.most_bytes - before);
    found.calls = (double)counts.call_count / COUNTED;
    cpt_plan_free(plan);
    bench_graph_free(graph);
    return found;
}

static void show(const char *title, const struct bench_shape *shape,
                 const struct bench_shape *twice, int is_traced)
{
    struct bench_shape *one = bench_shape_chain("one", 1);
    const struct found least = measure(one, is_traced);
    const struct found small = measure(shape, is_traced);
    const struct found large = measure(twice, is_traced);
    const double tasks = twice->task_count - shape->task_count;

    bench_title(title);
    bench_value("a task, without its value",
                (large.bytes - small.bytes) / tasks - BENCH_VALUE_BYTES, "bytes");
    bench_value("a request of one task", least.bytes - BENCH_VALUE_BYTES, "bytes");
    bench_value("a request of 1000 tasks",
                small.bytes - (double)BENCH_VALUE_BYTES * shape->task_count, "bytes");
    bench_value("allocations of a request", small.calls, "calls");
    bench_shape_free(one);
}

int main(int argument_count, char **arguments)
{
    struct bench_shape *chain = bench_shape_chain("chain", 1000);
    struct bench_shape *long_chain = bench_shape_chain("chain", 2000);
    struct bench_shape *dag = bench_shape_layers("dag", 1000, 32, 4);
    struct bench_shape *long_dag = bench_shape_layers("dag", 2000, 32, 4);

    bench_begin("bench_memory", &argument_count, arguments);
    show("Memory, chain of 1000, untraced", chain, long_chain, 0);
    show("Memory, chain of 1000, traced", chain, long_chain, 1);
    show("Memory, DAG of 1000x4, untraced", dag, long_dag, 0);
    show("Memory, DAG of 1000x4, traced", dag, long_dag, 1);
    bench_shape_free(chain);
    bench_shape_free(long_chain);
    bench_shape_free(dag);
    bench_shape_free(long_dag);
    return bench_end();
}
