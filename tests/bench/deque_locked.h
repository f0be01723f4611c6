/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * deque_locked.h - the deque of deque.h, with a lock
 *
 * bench_pool compares the two, also in a pool (pool_locked.c); both pass the same
 * tests.
 */
#ifndef CPT_DEQUE_LOCKED_H
#define CPT_DEQUE_LOCKED_H

#include "framework/pool/deque.h"
#include "framework/pool/lock.h"

struct cpti_locked_deque {
    struct cpti_lock lock;
    atomic_uint_fast64_t count; /* written with the lock held */
    uint64_t oldest;            /* guarded by lock, as the works are */
    struct cpt_work *works[CPTI_DEQUE_WORKS_MAX];
};

static inline void cpti_locked_deque_init(struct cpti_locked_deque *deque)
{
    cpti_lock_init(&deque->lock, CPTI_RANK_POOL);
    atomic_init(&deque->count, 0);
    deque->oldest = 0;
}

static inline void cpti_locked_deque_deinit(struct cpti_locked_deque *deque)
{
    cpti_lock_deinit(&deque->lock);
}

static inline bool cpti_locked_deque_is_empty(struct cpti_locked_deque *deque)
{
    return atomic_load(&deque->count) == 0;
}

static inline size_t cpti_locked_deque_length(struct cpti_locked_deque *deque)
{
    return (size_t)atomic_load_explicit(&deque->count, memory_order_relaxed);
}

/* false: it is full. Owner only. */
static inline bool cpti_locked_deque_push(struct cpti_locked_deque *deque,
                                          struct cpt_work *work)
{
    uint64_t count = 0;

    cpti_lock_take(&deque->lock);
    count = atomic_load_explicit(&deque->count, memory_order_relaxed);
    if (count != CPTI_DEQUE_WORKS_MAX) {
        deque->works[(deque->oldest + count) % CPTI_DEQUE_WORKS_MAX] = work;
        atomic_store(&deque->count, count + 1);
    }
    cpti_lock_release(&deque->lock);
    return count != CPTI_DEQUE_WORKS_MAX;
}

static inline struct cpt_work *cpti_locked_deque_take(struct cpti_locked_deque *deque,
                                                      bool is_newest)
{
    struct cpt_work *work = NULL;
    uint64_t count = 0;

    if (cpti_locked_deque_is_empty(deque)) {
        return NULL;
    }
    cpti_lock_take(&deque->lock);
    count = atomic_load_explicit(&deque->count, memory_order_relaxed);
    if (count != 0) {
        const uint64_t index = is_newest ? deque->oldest + count - 1 : deque->oldest++;

        work = deque->works[index % CPTI_DEQUE_WORKS_MAX];
        atomic_store(&deque->count, count - 1);
    }
    cpti_lock_release(&deque->lock);
    return work;
}

/* The newest, or NULL. Owner only. */
static inline struct cpt_work *cpti_locked_deque_pop(struct cpti_locked_deque *deque)
{
    return cpti_locked_deque_take(deque, true);
}

/* The oldest, or NULL. */
static inline struct cpt_work *cpti_locked_deque_steal(struct cpti_locked_deque *deque)
{
    return cpti_locked_deque_take(deque, false);
}

#endif
