/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * shapes.h - the graphs of the benchmarks, as numbers
 *
 * Tasks are numbered in an order in which they can run. For each task a shape has the
 * tasks that it needs and the tasks that need it:
 *
 *      needs      of task i: needs[need_begin[i]] … needs[need_begin[i + 1]] excluded
 *      successors likewise
 *
 * Only the last task is needed by no other: a request has one output. If a shape has
 * several ends, further tasks join 16 ends each.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_NEEDS_MAX = 16 };

struct bench_shape {
    const char *name;
    uint32_t task_count;
    uint32_t *need_begin; /* task_count + 1 of them */
    uint32_t *needs;
    uint32_t *successor_begin; /* task_count + 1 of them */
    uint32_t *successors;
};

/* The same at each call; out of memory ends the program. */

/* One task; a chain of @count tasks. */
struct bench_shape *bench_shape_chain(const char *name, uint32_t count);

/* A binary tree of @count tasks. */
struct bench_shape *bench_shape_tree(const char *name, uint32_t count);

/* @count tasks in layers of @width; each needs @needs tasks of the layer before. */
struct bench_shape *bench_shape_layers(const char *name, uint32_t count, uint32_t width,
                                       uint32_t needs);

void bench_shape_free(struct bench_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
