/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * shapes.h - the graphs that all are measured on, as numbers
 *
 * Tasks are numbered in an order in which they can run. Of each it is known whom it
 * needs and who needs it:
 *
 *      needs      of task i: needs[need_begin[i]] … needs[need_begin[i + 1]] excluded
 *      successors likewise
 *
 * The last task is the only one that nobody needs: a request has one answer. Where a
 * shape has more ends than one, tasks that need 16 of them each gather them.
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

/* Each the same whenever it is made; out of memory ends the program. */

/* One task; @count after each other. */
struct bench_shape *bench_shape_chain(const char *name, uint32_t count);

/* A task with two successors, which have two each, to @count. */
struct bench_shape *bench_shape_tree(const char *name, uint32_t count);

/* @count tasks in layers of @width, of which each needs @needs of the layer before. */
struct bench_shape *bench_shape_layers(const char *name, uint32_t count, uint32_t width,
                                       uint32_t needs);

void bench_shape_free(struct bench_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
