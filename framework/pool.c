/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool.c - worker threads with one queue, and a thread for timers
 *
 *      submit --> [ queue ] --> worker 0 … n - 1
 *      after  --> [ heap  ] --> timer thread, begun with the first timer
 *
 * One lock guards both. Work runs and timers fire without it. A queue for each worker
 * pays off where many small tasks meet many processors; here the successor of a task
 * mostly does not pass through the queue at all (task.c).
 *
 * The timers are a binary heap by time; a timer knows its place in it (index + 1, 0:
 * none), so that cancelling costs no search.
 */
#include "framework/lock.h"

#include "framework/cpt_runtime.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 1024, TIMERS_MAX = 1 << 20 };

struct pool {
    struct cpt_executor executor; /* first: it is what the user has */
    const struct cpt_alloc *alloc;
    char name[CPT_NAME_BYTES_MAX + 1];

    struct cpti_lock lock; /* guards all below */
    pthread_cond_t has_work;
    pthread_cond_t has_timer;
    struct cpt_work *first;
    struct cpt_work *last;
    struct cpt_timer **heap;
    size_t heap_count;
    size_t heap_capacity;
    unsigned sleeping_count;
    int is_stopping;
    int has_timer_thread;

    pthread_t timer_thread;
    unsigned worker_count;
    pthread_t workers[];
};

/* --- Work --- */

static void pool_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct pool *pool = (struct pool *)executor;

    work->next = NULL;
    cpti_lock_take(&pool->lock);
    *(pool->first != NULL ? &pool->last->next : &pool->first) = work;
    pool->last = work;
    if (pool->sleeping_count != 0) {
        /* With the lock held: once the work has run, somebody may free the pool. */
        (void)pthread_cond_signal(&pool->has_work);
    }
    cpti_lock_release(&pool->lock);
}

static void *run_worker(void *context)
{
    struct pool *pool = context;

    cpti_lock_take(&pool->lock);
    for (;;) {
        struct cpt_work *work = pool->first;

        if (work != NULL) {
            pool->first = work->next;
            cpti_lock_release(&pool->lock);
            work->run(work);
            cpti_lock_take(&pool->lock);
        } else if (pool->is_stopping) {
            break;
        } else {
            pool->sleeping_count++;
            (void)pthread_cond_wait(&pool->has_work, &pool->lock.mutex);
            pool->sleeping_count--;
        }
    }
    cpti_lock_release(&pool->lock);
    return NULL;
}

/* --- Timers: the heap. Lock held. --- */

static void heap_put(struct pool *pool, size_t index, struct cpt_timer *timer)
{
    pool->heap[index] = timer;
    timer->index = index + 1;
}

static void heap_up(struct pool *pool, size_t index, struct cpt_timer *timer)
{
    while (index > 0 && pool->heap[(index - 1) / 2]->at_ns > timer->at_ns) {
        heap_put(pool, index, pool->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    heap_put(pool, index, timer);
}

static void heap_down(struct pool *pool, size_t index, struct cpt_timer *timer)
{
    for (;;) {
        size_t child = 2 * index + 1;

        if (child + 1 < pool->heap_count &&
            pool->heap[child + 1]->at_ns < pool->heap[child]->at_ns) {
            child++;
        }
        if (child >= pool->heap_count || pool->heap[child]->at_ns >= timer->at_ns) {
            break;
        }
        heap_put(pool, index, pool->heap[child]);
        index = child;
    }
    heap_put(pool, index, timer);
}

static void heap_remove(struct pool *pool, struct cpt_timer *timer)
{
    const size_t index = timer->index - 1;
    struct cpt_timer *last = pool->heap[--pool->heap_count];

    timer->index = 0;
    if (last == timer) {
        return;
    }
    if (index > 0 && pool->heap[(index - 1) / 2]->at_ns > last->at_ns) {
        heap_up(pool, index, last);
    } else {
        heap_down(pool, index, last);
    }
}

/* --- Timers: the thread --- */

static uint64_t now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

static void *run_timers(void *context)
{
    struct pool *pool = context;

    cpti_lock_take(&pool->lock);
    while (!pool->is_stopping) {
        struct cpt_timer *timer = pool->heap_count != 0 ? pool->heap[0] : NULL;
        struct timespec until;

        if (timer == NULL) {
            (void)pthread_cond_wait(&pool->has_timer, &pool->lock.mutex);
            continue;
        }
        if (timer->at_ns > now_ns()) {
            until.tv_sec = (time_t)(timer->at_ns / 1000000000u);
            until.tv_nsec = (long)(timer->at_ns % 1000000000u);
            (void)pthread_cond_timedwait(&pool->has_timer, &pool->lock.mutex, &until);
            continue;
        }
        heap_remove(pool, timer);
        cpti_lock_release(&pool->lock);
        timer->fire(timer);
        cpti_lock_take(&pool->lock);
    }
    cpti_lock_release(&pool->lock);
    return NULL;
}

/* Adds @timer and begins the thread if there is none. Lock held. */
static cpt_status add_timer(struct pool *pool, struct cpt_timer *timer)
{
    const cpt_status status =
        cpt_alloc_grow(pool->alloc, (void **)&pool->heap, &pool->heap_capacity,
                       pool->heap_count + 1, TIMERS_MAX, sizeof(struct cpt_timer *));

    if (status != CPT_OK) {
        return status;
    }
    if (!pool->has_timer_thread) {
        if (pthread_create(&pool->timer_thread, NULL, run_timers, pool) != 0) {
            return CPT_NO_MEMORY;
        }
        pool->has_timer_thread = 1;
    }
    pool->heap_count++;
    heap_up(pool, pool->heap_count - 1, timer);
    return CPT_OK;
}

static cpt_status pool_after(struct cpt_executor *executor, struct cpt_timer *timer,
                             uint64_t delay_ns)
{
    struct pool *pool = (struct pool *)executor;
    const uint64_t begin_ns = now_ns();
    cpt_status status = CPT_OK;

    timer->at_ns = delay_ns < INT64_MAX - begin_ns ? begin_ns + delay_ns : INT64_MAX;
    cpti_lock_take(&pool->lock);
    status = add_timer(pool, timer);
    if (status == CPT_OK && pool->heap[0] == timer) {
        (void)pthread_cond_signal(&pool->has_timer);
    }
    cpti_lock_release(&pool->lock);
    return status;
}

static int pool_cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    struct pool *pool = (struct pool *)executor;
    int is_waiting = 0;

    cpti_lock_take(&pool->lock);
    is_waiting = timer->index != 0;
    if (is_waiting) {
        heap_remove(pool, timer);
    }
    cpti_lock_release(&pool->lock);
    return is_waiting;
}

/* --- The pool --- */

static unsigned processor_count(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 && count <= WORKERS_MAX ? (unsigned)count : 1;
}

static struct pool *pool_init(const struct cpt_pool_options *options, unsigned wanted)
{
    struct pool *pool =
        cpt_alloc_zeroed(options->alloc, sizeof *pool + wanted * sizeof(pthread_t));
    pthread_condattr_t monotonic;

    if (pool == NULL) {
        return NULL;
    }
    pool->alloc = options->alloc;
    (void)snprintf(pool->name, sizeof pool->name, "%s",
                   options->name != NULL ? options->name : "pool");
    pool->executor = (struct cpt_executor){.name = pool->name,
                                           .submit = pool_submit,
                                           .after = pool_after,
                                           .cancel = pool_cancel};
    cpti_lock_init(&pool->lock, CPTI_RANK_POOL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool->has_work, &monotonic);
    (void)pthread_cond_init(&pool->has_timer, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return pool;
}

struct cpt_executor *cpt_pool_new(const struct cpt_pool_options *given,
                                  struct cpt_error *error)
{
    struct cpt_pool_options options;
    struct pool *pool = NULL;
    unsigned wanted = 0;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK) {
        return NULL;
    }
    wanted = options.worker_count != 0 ? options.worker_count : processor_count();
    if (wanted > WORKERS_MAX) {
        (void)cpt_error_set(error, CPT_LIMIT, 0,
                            "a pool of %u workers, the limit is %d", wanted,
                            WORKERS_MAX);
        return NULL;
    }
    pool = pool_init(&options, wanted);
    if (pool == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a pool");
        return NULL;
    }
    for (; pool->worker_count < wanted; pool->worker_count++) {
        const int failure =
            pthread_create(&pool->workers[pool->worker_count], NULL, run_worker, pool);

        if (failure != 0) {
            (void)cpt_error_set(error, CPT_IO, 0, "cannot start worker thread %u of %u",
                                pool->worker_count + 1, wanted);
            cpt_pool_free(&pool->executor);
            return NULL;
        }
    }
    return &pool->executor;
}

void cpt_pool_free(struct cpt_executor *executor)
{
    struct pool *pool = (struct pool *)executor;

    if (pool == NULL) {
        return;
    }
    cpti_lock_take(&pool->lock);
    pool->is_stopping = 1;
    cpti_lock_release(&pool->lock);
    (void)pthread_cond_broadcast(&pool->has_work);
    (void)pthread_cond_broadcast(&pool->has_timer);
    for (unsigned i = 0; i < pool->worker_count; i++) {
        (void)pthread_join(pool->workers[i], NULL);
    }
    if (pool->has_timer_thread) {
        (void)pthread_join(pool->timer_thread, NULL);
    }
    (void)pthread_cond_destroy(&pool->has_work);
    (void)pthread_cond_destroy(&pool->has_timer);
    cpti_lock_deinit(&pool->lock);
    cpt_alloc_free(pool->alloc, (void *)pool->heap);
    cpt_alloc_free(pool->alloc, pool);
}
