/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* shape_plan.h - a shape as a graph of the framework, and its plan */
#ifndef SHAPE_PLAN_H
#define SHAPE_PLAN_H

#include "framework/cpt_graph.h"
#include "tests/bench/shapes.h"

struct bench_graph;

enum { BENCH_VALUE_BYTES = 16 }; /* of what each task gives */

/* Each task runs @run. Out of memory, or a graph that is refused, ends the program. */
struct bench_graph *bench_graph_new(const struct bench_shape *shape, cpt_task_fn run);

void bench_graph_free(struct bench_graph *graph);

/* A new plan of it, for the caller to free, from @alloc. Must not outlive the graph. */
struct cpt_plan *bench_graph_plan(const struct bench_graph *graph,
                                  const struct cpt_alloc *alloc);

#endif
