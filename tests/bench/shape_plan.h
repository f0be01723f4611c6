/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* shape_plan.h - a shape as a graph of the framework, and its plan */
#ifndef SHAPE_PLAN_H
#define SHAPE_PLAN_H

#include "framework/cpt_graph.h"
#include "tests/bench/shapes.h"

struct bench_graph;

enum { BENCH_VALUE_BYTES = 16 }; /* of the output of each task */

/* Each task runs @run. Lack of memory or a refused graph ends the program. */
struct bench_graph *bench_graph_new(const struct bench_shape *shape, cpt_task_fn run);

void bench_graph_free(struct bench_graph *graph);

/* A new plan of it from @alloc, which the caller frees before the graph. */
struct cpt_plan *bench_graph_plan(const struct bench_graph *graph,
                                  const struct cpt_alloc *alloc);

#endif
