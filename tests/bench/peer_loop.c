/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * peer_loop.c - the lower bound: the least cost of a graph on one thread
 *
 *      in order          the tasks as they are numbered; without counters
 *      plain counters    each task has a count of what it still needs; those at zero
 *                        are on a stack
 *      atomic counters   the same with atomic decrements, as where threads share them
 *
 * When a task unblocks several, the first is run next and the others are stacked, as in
 * a scheduler.
 */
#include "tests/bench/peers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct shared_counter {
    _Atomic uint32_t missing;
};

struct loop {
    const struct bench_shape *shape;
    void (*body)(uint32_t task);
    uint32_t *missing_at_first;
    uint32_t *missing;
    struct shared_counter *shared;
    uint32_t *stack;
};

static void close_loop(void *opened)
{
    struct loop *loop = opened;

    free(loop->missing_at_first);
    free(loop->missing);
    free(loop->shared);
    free(loop->stack);
    free(loop);
}

static void *open_loop(const struct bench_job *job)
{
    const struct bench_shape *shape = job->shape;
    const size_t count = shape->task_count;
    struct loop *loop = calloc(1, sizeof *loop);

    if (loop == NULL) {
        return NULL;
    }
    loop->shape = shape;
    loop->body = job->body;
    loop->missing_at_first = calloc(count, sizeof(uint32_t));
    loop->missing = calloc(count, sizeof(uint32_t));
    loop->shared = calloc(count, sizeof *loop->shared);
    loop->stack = calloc(count, sizeof(uint32_t));
    if (loop->missing_at_first == NULL || loop->missing == NULL ||
        loop->shared == NULL || loop->stack == NULL) {
        close_loop(loop);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        loop->missing_at_first[i] = shape->need_begin[i + 1] - shape->need_begin[i];
    }
    return loop;
}

static void run_in_order(void *opened, size_t request_count)
{
    const struct loop *loop = opened;
    void (*volatile body)(uint32_t) = loop->body;

    while (request_count-- > 0) {
        for (uint32_t i = 0; i < loop->shape->task_count; i++) {
            body(i);
        }
    }
}

/* Stacks the tasks that need nothing; returns their number. */
static uint32_t stack_first(struct loop *loop)
{
    uint32_t count = 0;

    for (uint32_t i = loop->shape->task_count; i-- > 0;) {
        if (loop->missing_at_first[i] == 0) {
            loop->stack[count++] = i;
        }
    }
    return count;
}

static void run_plain(struct loop *loop)
{
    const struct bench_shape *shape = loop->shape;
    uint32_t count = stack_first(loop);

    memcpy(loop->missing, loop->missing_at_first, shape->task_count * sizeof(uint32_t));
    while (count > 0) {
        const uint32_t task = loop->stack[--count];

        loop->body(task);
        for (uint32_t i = shape->successor_begin[task + 1];
             i-- > shape->successor_begin[task];) {
            if (--loop->missing[shape->successors[i]] == 0) {
                loop->stack[count++] = shape->successors[i];
            }
        }
    }
}

static void run_atomic(struct loop *loop)
{
    const struct bench_shape *shape = loop->shape;
    uint32_t count = stack_first(loop);

    for (uint32_t i = 0; i < shape->task_count; i++) {
        atomic_store_explicit(&loop->shared[i].missing, loop->missing_at_first[i],
                              memory_order_relaxed);
    }
    while (count > 0) {
        const uint32_t task = loop->stack[--count];

        loop->body(task);
        for (uint32_t i = shape->successor_begin[task + 1];
             i-- > shape->successor_begin[task];) {
            if (atomic_fetch_sub_explicit(&loop->shared[shape->successors[i]].missing,
                                          1, memory_order_acq_rel) == 1) {
                loop->stack[count++] = shape->successors[i];
            }
        }
    }
}

static void run_plain_counters(void *opened, size_t request_count)
{
    while (request_count-- > 0) {
        run_plain(opened);
    }
}

static void run_atomic_counters(void *opened, size_t request_count)
{
    while (request_count-- > 0) {
        run_atomic(opened);
    }
}

const struct bench_peer bench_peers_loop[] = {
    {"loop, atomic counters", BENCH_RUNS_REUSED | BENCH_RUNS_FRESH, open_loop,
     run_atomic_counters, close_loop, NULL},
    {"loop, plain counters", BENCH_RUNS_REUSED, open_loop, run_plain_counters,
     close_loop, NULL},
    {"loop in order", BENCH_RUNS_REUSED, open_loop, run_in_order, close_loop, NULL},
    {0}};
