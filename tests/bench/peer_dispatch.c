/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * peer_dispatch.c - the graphs on libdispatch, with hand-written counters
 *
 * The library has no graphs, so each task has a counter, each request a group, and an
 * unblocked task goes to the queue. One worker is a serial queue; two are the global
 * queue, whose width the library decides.
 */
#include "tests/bench/peers.h"

#include <dispatch/dispatch.h>
#include <stdatomic.h>
#include <stdlib.h>

struct dispatched;

struct dispatch_task {
    struct dispatched *all;
    uint32_t number;
    _Atomic uint32_t missing;
};

struct dispatched {
    const struct bench_shape *shape;
    void (*body)(uint32_t task);
    dispatch_queue_t queue;
    dispatch_group_t group;
    int is_own_queue;
    struct dispatch_task *tasks;
};

static void close_dispatch(void *opened)
{
    struct dispatched *all = opened;

    if (all->is_own_queue) {
        dispatch_release(all->queue);
    }
    if (all->group != NULL) {
        dispatch_release(all->group);
    }
    free(all->tasks);
    free(all);
}

static void *open_dispatch(const struct bench_job *job)
{
    struct dispatched *all = calloc(1, sizeof *all);

    if (all == NULL) {
        return NULL;
    }
    all->shape = job->shape;
    all->body = job->body;
    all->tasks = calloc(job->shape->task_count, sizeof *all->tasks);
    all->group = dispatch_group_create();
    all->is_own_queue = job->worker_count == 1;
    all->queue = all->is_own_queue
                     ? dispatch_queue_create("bench", DISPATCH_QUEUE_SERIAL)
                     : dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
    if (all->tasks == NULL || all->group == NULL || all->queue == NULL) {
        all->is_own_queue = all->is_own_queue && all->queue != NULL;
        close_dispatch(all);
        return NULL;
    }
    for (uint32_t i = 0; i < job->shape->task_count; i++) {
        all->tasks[i].all = all;
        all->tasks[i].number = i;
    }
    return all;
}

static void run_one_task(void *context)
{
    struct dispatch_task *task = context;
    struct dispatched *all = task->all;
    const struct bench_shape *shape = all->shape;

    for (struct dispatch_task *next = NULL; task != NULL; task = next, next = NULL) {
        all->body(task->number);
        for (uint32_t i = shape->successor_begin[task->number];
             i < shape->successor_begin[task->number + 1]; i++) {
            struct dispatch_task *successor = &all->tasks[shape->successors[i]];

            if (atomic_fetch_sub_explicit(&successor->missing, 1,
                                          memory_order_acq_rel) != 1) {
                continue;
            }
            if (next == NULL) {
                next = successor;
            } else {
                dispatch_group_async_f(all->group, all->queue, successor, run_one_task);
            }
        }
    }
}

static void run_dispatch(void *opened, size_t request_count)
{
    struct dispatched *all = opened;
    const struct bench_shape *shape = all->shape;

    while (request_count-- > 0) {
        for (uint32_t i = 0; i < shape->task_count; i++) {
            atomic_store_explicit(&all->tasks[i].missing,
                                  shape->need_begin[i + 1] - shape->need_begin[i],
                                  memory_order_relaxed);
        }
        for (uint32_t i = 0; i < shape->task_count; i++) {
            if (shape->need_begin[i] == shape->need_begin[i + 1]) {
                dispatch_group_async_f(all->group, all->queue, &all->tasks[i],
                                       run_one_task);
            }
        }
        (void)dispatch_group_wait(all->group, DISPATCH_TIME_FOREVER);
    }
}

const struct bench_peer bench_peers_dispatch[] = {
    {"libdispatch, own counters", BENCH_RUNS_REUSED | BENCH_RUNS_THREADS, open_dispatch,
     run_dispatch, close_dispatch, NULL},
    {0}};
