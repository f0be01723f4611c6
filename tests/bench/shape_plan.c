/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* shape_plan.c - see shape_plan.h. */
#include "tests/bench/shape_plan.h"

#include <stdio.h>
#include <stdlib.h>

struct bench_graph {
    struct cpt_graph graph;
    struct cpt_task_def *tasks;
    struct cpt_value *values;
    char (*names)[12];
};

static void must(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "bench: %s\n", what);
        exit(2);
    }
}

struct bench_graph *bench_graph_new(const struct bench_shape *shape, cpt_task_fn run)
{
    const size_t count = shape->task_count;
    struct bench_graph *graph = calloc(1, sizeof *graph);

    must(graph != NULL, "out of memory");
    graph->tasks = calloc(count, sizeof *graph->tasks);
    graph->values = calloc(count, sizeof *graph->values);
    graph->names = calloc(count, sizeof *graph->names);
    must(graph->tasks != NULL && graph->values != NULL && graph->names != NULL,
         "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        size_t need_count = 0;

        (void)snprintf(graph->names[i], sizeof graph->names[i], "t%u", i);
        graph->values[i].name = graph->names[i];
        graph->values[i].bytes = BENCH_VALUE_BYTES;
        graph->tasks[i].name = graph->names[i];
        graph->tasks[i].run = run;
        graph->tasks[i].gives = &graph->values[i];
        for (uint32_t k = shape->need_begin[i]; k < shape->need_begin[i + 1]; k++) {
            graph->tasks[i].needs[need_count++] = &graph->values[shape->needs[k]];
        }
    }
    graph->graph.service = "S";
    graph->graph.output = &graph->values[count - 1];
    graph->graph.tasks = graph->tasks;
    graph->graph.task_count = count;
    return graph;
}

void bench_graph_free(struct bench_graph *graph)
{
    free(graph->tasks);
    free(graph->values);
    free(graph->names);
    free(graph);
}

struct cpt_plan *bench_graph_plan(const struct bench_graph *graph,
                                  const struct cpt_alloc *alloc)
{
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(&graph->graph, alloc, &error);

    must(plan != NULL, error.sentence);
    return plan;
}
