/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * lock.h - every lock of the framework and of its transports, and their order
 *
 * A thread may take a lock only while it holds none of the same or a later rank. Debug
 * builds check it at each take. No lock is held while a task, `done`, a transport, an
 * executor or a sink is called. The allocator is called with the lock of a request, of
 * an executor or of the names held: it must not call back.
 *
 * The workers of the tool (tool/requests/workers.c) have a plain mutex of their own.
 */
#ifndef CPT_LOCK_H
#define CPT_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum cpti_lock_rank {
    CPTI_RANK_NONE,
    CPTI_RANK_RUNNING, /* struct cpti_running_lists: requests that are not answered; a
                          snapshot of one takes its lock */
    /* struct cpt_request.lock: pendings, awaits, arena, attributes. The walk of a
     * request continues in its components, each with the rank of its level after this
     * one. */
    CPTI_RANK_REQUEST,
    CPTI_RANK_REQUEST_DEEPEST = CPTI_RANK_REQUEST + 32, /* CPT_NESTING_MAX */
    CPTI_RANK_MUTEX,      /* struct cpt_mutex.lock: the queue of its waiters */
    CPTI_RANK_SHARED,     /* struct cpt_shared.lock: the waiters of each key */
    CPTI_RANK_HANDLE,     /* struct cpt_request_handle.lock: its request */
    CPTI_RANK_COUNTERS,   /* struct cpti_counters.lock: the table of callees */
    CPTI_RANK_TRUST,      /* struct cpti_sampling.lock: the trusted networks */
    CPTI_RANK_TENANTS,    /* struct cpti_policy.lock: the rates of tenants */
    CPTI_RANK_EXPERIMENT, /* struct cpti_experiment.lock: which frame, which arm */
    CPTI_RANK_LOG,        /* struct cpt_log_queue.lock */
    CPTI_RANK_WAITER,     /* the wait of cpt_request_run() */
    CPTI_RANK_POOL,       /* struct cpti_pool.lock and other executors: work, timers */
    CPTI_RANK_HTTP,       /* struct cpt_http.lock: likewise, and references */
    CPTI_RANK_STREAM,     /* struct cpti_grpc_exchange.lock: its messages */
    CPTI_RANK_GRPC,       /* struct cpt_grpc.lock: calls, what is open, references */
    CPTI_RANK_STALLS,     /* stall.c: the threads that are watched */
    CPTI_RANK_NAMES       /* names.c: names of tasks, and those that requests make up */
};

struct cpti_lock {
    pthread_mutex_t mutex;
    enum cpti_lock_rank rank;
    enum cpti_lock_rank outer; /* what its holder held before; guarded by mutex */
};

#define CPTI_LOCK_INITIALIZER(lock_rank)                                               \
    {                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, lock_rank, CPTI_RANK_NONE                           \
    }

#ifndef NDEBUG
/* The latest rank that this thread holds. Weak and hidden: one variable per library, as
 * libraries export no private names. A shared library checks its own locks only. */
__attribute__((weak,
               visibility("hidden"))) _Thread_local enum cpti_lock_rank cpti_lock_held =
    CPTI_RANK_NONE;
#endif

static inline void cpti_lock_init(struct cpti_lock *lock, enum cpti_lock_rank rank)
{
    (void)pthread_mutex_init(&lock->mutex, NULL);
    lock->rank = rank;
    lock->outer = CPTI_RANK_NONE;
}

static inline void cpti_lock_deinit(struct cpti_lock *lock)
{
    (void)pthread_mutex_destroy(&lock->mutex);
}

static inline void cpti_lock_take(struct cpti_lock *lock)
{
#ifndef NDEBUG
    assert(cpti_lock_held < lock->rank);
#endif
    (void)pthread_mutex_lock(&lock->mutex);
#ifndef NDEBUG
    lock->outer = cpti_lock_held;
    cpti_lock_held = lock->rank;
#endif
}

static inline void cpti_lock_release(struct cpti_lock *lock)
{
#ifndef NDEBUG
    cpti_lock_held = lock->outer;
#endif
    (void)pthread_mutex_unlock(&lock->mutex);
}

/* A condition for cpti_cond_wait(). */
static inline void cpti_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;

    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

/* Waits for @cond, but not longer than until @until_ns of the monotonic clock
 * (UINT64_MAX: for ever). @lock is held. */
static inline void cpti_cond_wait(pthread_cond_t *cond, struct cpti_lock *lock,
                                  uint64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                                   .tv_nsec = (long)(until_ns % 1000000000u)};

    if (until_ns == UINT64_MAX) {
        (void)pthread_cond_wait(cond, &lock->mutex);
    } else {
        (void)pthread_cond_timedwait(cond, &lock->mutex, &until);
    }
}

#endif
