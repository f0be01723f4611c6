/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * deque.h - the work of one thread, from which other threads may steal
 *
 *      push, pop (its owner) --> [ newest ... oldest ] --> steal (any other)
 *
 * The owner takes the newest work, whose data are still in its caches. A thief takes
 * the oldest, which mostly is the largest piece. A deque holds at most
 * CPTI_DEQUE_WORKS_MAX works; the rest go to the pool's inbox.
 *
 * The algorithm is that of Chase and Lev, with the orderings of Le, Pop, Cohen and
 * Zappa Nardelli (PPoPP 2013), but with sequentially consistent operations in place of
 * their fences: on x86 that costs the same, and ThreadSanitizer sees it.
 *
 *      works[]   . . | 7 | 8 | 9 | . . .          works 7 to 9 are in it
 *                      ^ top       ^ bottom
 *
 * `top` only grows. A thief that takes the work there, or the owner if it is the last
 * one, raises it by compare and swap. The owner takes all other works without: it
 * lowers `bottom` first and then reads `top`; a thief reads `top` first and then
 * `bottom`. One of the two sees the other, so that both never take the same work
 * without the swap.
 *
 *      what keeps two of them apart      push    pop     steal
 *      push                                -    (owner)  works[] written, then bottom
 *      pop                              (owner)    -     the swap, for the last one
 *      steal                                             the swap
 *
 * A thief may read a work that another thread has taken, or that was overwritten: its
 * swap then fails. push() overwrites works[] only after `top` has passed.
 *
 * is_empty() is a part of the protocol by which the pool's threads go to sleep
 * (pool.c): hence seq_cst there, and in push().
 */
#ifndef CPT_DEQUE_H
#define CPT_DEQUE_H

#include "framework/cpt_runtime.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { CPTI_DEQUE_WORKS_MAX = 256, CPTI_DEQUE_CACHE_LINE = 64 };

struct cpti_deque {
    atomic_uint_fast64_t top;
    char pad0[CPTI_DEQUE_CACHE_LINE]; /* thieves write top, the owner bottom */
    atomic_uint_fast64_t bottom;      /* written by the owner */
    char pad1[CPTI_DEQUE_CACHE_LINE];
    struct cpt_work *_Atomic works[CPTI_DEQUE_WORKS_MAX];
};

static inline void cpti_deque_init(struct cpti_deque *deque)
{
    atomic_init(&deque->top, 0);
    atomic_init(&deque->bottom, 0);
    for (int i = 0; i < CPTI_DEQUE_WORKS_MAX; i++) {
        atomic_init(&deque->works[i], NULL);
    }
}

static inline void cpti_deque_deinit(struct cpti_deque *deque)
{
    (void)deque;
}

/* Whether it was empty at some moment during the call. */
static inline bool cpti_deque_is_empty(struct cpti_deque *deque)
{
    const uint64_t top = atomic_load(&deque->top);

    return (int64_t)(atomic_load(&deque->bottom) - top) <= 0;
}

/* How many works are in it. Owner only; thieves may just take some. */
static inline size_t cpti_deque_length(struct cpti_deque *deque)
{
    const uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    const uint64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);

    return bottom > top ? (size_t)(bottom - top) : 0;
}

/* false: it is full. Owner only. */
static inline bool cpti_deque_push(struct cpti_deque *deque, struct cpt_work *work)
{
    const uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    /* Acquire: the thread that took the work at the same place has read it. */
    const uint64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);

    if (bottom - top >= CPTI_DEQUE_WORKS_MAX) {
        return false;
    }
    /* Relaxed: the store below publishes it, and a thief reads that one first. */
    atomic_store_explicit(&deque->works[bottom % CPTI_DEQUE_WORKS_MAX], work,
                          memory_order_relaxed);
    atomic_store(&deque->bottom, bottom + 1);
    return true;
}

/* The newest, or NULL. Owner only. */
static inline struct cpt_work *cpti_deque_pop(struct cpti_deque *deque)
{
    const uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    uint64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);
    struct cpt_work *work = NULL;

    if (bottom == top) {
        return NULL; /* certainly empty: only the owner adds works */
    }
    atomic_store(&deque->bottom, bottom - 1);
    top = atomic_load(&deque->top);
    if ((int64_t)(bottom - 1 - top) < 0) { /* a thief was faster */
        atomic_store_explicit(&deque->bottom, bottom, memory_order_release);
        return NULL;
    }
    work = atomic_load_explicit(&deque->works[(bottom - 1) % CPTI_DEQUE_WORKS_MAX],
                                memory_order_relaxed);
    if (bottom - 1 == top) { /* the last one: a thief may take it */
        if (!atomic_compare_exchange_strong(&deque->top, &top, top + 1)) {
            work = NULL;
        }
        atomic_store_explicit(&deque->bottom, bottom, memory_order_release);
    }
    return work;
}

/* The oldest, or NULL. */
static inline struct cpt_work *cpti_deque_steal(struct cpti_deque *deque)
{
    uint64_t top = atomic_load(&deque->top);

    while ((int64_t)(atomic_load(&deque->bottom) - top) > 0) {
        struct cpt_work *work = atomic_load_explicit(
            &deque->works[top % CPTI_DEQUE_WORKS_MAX], memory_order_relaxed);

        if (atomic_compare_exchange_strong(&deque->top, &top, top + 1)) {
            return work;
        }
    }
    return NULL;
}

#endif
