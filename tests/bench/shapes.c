/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* shapes.c - see shapes.h. */
#include "tests/bench/shapes.h"

#include <stdio.h>
#include <stdlib.h>

static void *memory(size_t count, size_t bytes)
{
    void *made = calloc(count != 0 ? count : 1, bytes);

    if (made == NULL) {
        (void)fprintf(stderr, "bench: out of memory\n");
        exit(2);
    }
    return made;
}

/* --- While it is built: needs only, and room for joining tasks --- */

static struct bench_shape *begin_shape(const char *name, uint32_t count)
{
    struct bench_shape *shape = memory(1, sizeof *shape);
    const size_t capacity = 2 * (size_t)count + 1;

    shape->name = name;
    shape->need_begin = memory(capacity + 1, sizeof(uint32_t));
    shape->needs = memory(capacity * BENCH_NEEDS_MAX, sizeof(uint32_t));
    return shape;
}

static void add_task(struct bench_shape *shape)
{
    const uint32_t begin = shape->need_begin[shape->task_count];

    shape->task_count++;
    shape->need_begin[shape->task_count] = begin;
}

/* The task that was added last needs @giver. */
static void add_need(struct bench_shape *shape, uint32_t giver)
{
    shape->needs[shape->need_begin[shape->task_count]++] = giver;
}

/* The number of tasks that need each task; the caller frees it. */
static uint32_t *needed_counts(const struct bench_shape *shape)
{
    uint32_t *counts = memory(2 * (size_t)shape->task_count + 2, sizeof *counts);

    for (uint32_t i = 0; i < shape->need_begin[shape->task_count]; i++) {
        counts[shape->needs[i]]++;
    }
    return counts;
}

/* Adds tasks that need 16 ends each, until there is one end. */
static void gather(struct bench_shape *shape)
{
    uint32_t *counts = needed_counts(shape);
    uint32_t at = 0;
    uint32_t end_count = 0;

    for (uint32_t i = 0; i < shape->task_count; i++) {
        end_count += counts[i] == 0;
    }
    while (end_count > 1) {
        add_task(shape);
        end_count++;
        for (unsigned taken = 0; taken < BENCH_NEEDS_MAX; at++) {
            if (at == shape->task_count - 1) {
                break; /* itself */
            }
            if (counts[at] == 0) {
                add_need(shape, at);
                taken++;
                end_count--;
            }
        }
    }
    free(counts);
}

static void find_successors(struct bench_shape *shape)
{
    const uint32_t edge_count = shape->need_begin[shape->task_count];
    uint32_t *counts = needed_counts(shape);

    shape->successor_begin = memory((size_t)shape->task_count + 1, sizeof(uint32_t));
    shape->successors = memory(edge_count, sizeof(uint32_t));
    for (uint32_t i = 0; i < shape->task_count; i++) {
        shape->successor_begin[i + 1] = shape->successor_begin[i] + counts[i];
        counts[i] = shape->successor_begin[i];
    }
    for (uint32_t i = 0; i < shape->task_count; i++) {
        for (uint32_t k = shape->need_begin[i]; k < shape->need_begin[i + 1]; k++) {
            shape->successors[counts[shape->needs[k]]++] = i;
        }
    }
    free(counts);
}

/* --- The shapes --- */

struct bench_shape *bench_shape_chain(const char *name, uint32_t count)
{
    struct bench_shape *shape = begin_shape(name, count);

    for (uint32_t i = 0; i < count; i++) {
        add_task(shape);
        if (i != 0) {
            add_need(shape, i - 1);
        }
    }
    find_successors(shape);
    return shape;
}

struct bench_shape *bench_shape_tree(const char *name, uint32_t count)
{
    struct bench_shape *shape = begin_shape(name, count);

    for (uint32_t i = 0; i < count; i++) {
        add_task(shape);
        if (i != 0) {
            add_need(shape, (i - 1) / 2);
        }
    }
    gather(shape);
    find_successors(shape);
    return shape;
}

/* One of @count numbers; always the same sequence. */
static uint32_t draw(uint64_t *state, uint32_t count)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % count);
}

struct bench_shape *bench_shape_layers(const char *name, uint32_t count, uint32_t width,
                                       uint32_t needs)
{
    struct bench_shape *shape = begin_shape(name, count);
    uint64_t state = 1;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t layer = i / width * width;
        uint64_t drawn = 0;

        add_task(shape);
        for (uint32_t k = 0; layer != 0 && k < needs;) {
            const uint32_t one = draw(&state, width);

            if ((drawn >> one & 1) == 0) {
                drawn |= UINT64_C(1) << one;
                add_need(shape, layer - width + one);
                k++;
            }
        }
    }
    gather(shape);
    find_successors(shape);
    return shape;
}

void bench_shape_free(struct bench_shape *shape)
{
    free(shape->need_begin);
    free(shape->needs);
    free(shape->successor_begin);
    free(shape->successors);
    free(shape);
}
