/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * deque.h - the work of one thread, from which others may steal
 *
 *      push, pop (its owner) --> [ newest ... oldest ] --> steal (anybody)
 *
 * The owner takes what it put in last, whose data are still in its caches; a thief
 * takes what has waited longest, which mostly is the largest piece. A deque holds no
 * more than CPTI_DEQUE_WORKS_MAX; the pool has another place for the rest.
 *
 * The algorithm is that of Chase and Lev, with the orderings of Le, Pop, Cohen and
 * Zappa Nardelli (PPoPP 2013), but with sequentially consistent operations in place of
 * their fences: on x86 that costs the same, and ThreadSanitizer sees it.
 *
 *      works[]   . . | 7 | 8 | 9 | . . .          works 7 to 9 are in it
 *                      ^ top       ^ bottom
 *
 * `top` only grows, by whoever takes the work there: a thief, or the owner if it is the
 * last one, by compare and swap. All other works are the owner's: it lowers `bottom`
 * first and then reads `top`; a thief reads `top` first and then `bottom`. Of the two
 * one sees the other, so that both never take the same work without the swap.
 *
 *      a work is in at most one of       push    pop     steal
 *      push                                -    (owner)  works[] written, then bottom
 *      pop                              (owner)    -     the swap, for the last one
 *      steal                                             the swap
 *
 * A thief may read a work that is already another's, or overwritten: its swap then
 * fails. works[] is overwritten only once `top` has passed, as push() refuses before.
 *
 * Whether it is empty takes part in the protocol by which the pool's threads go to
 * sleep (pool.c): hence seq_cst there, and in push().
 */
#ifndef CPT_DEQUE_H
#define CPT_DEQUE_H

#include "framework/cpt_runtime.h"

#include <stdatomic.h>

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

/* Nothing was in it for a moment during the call. */
static inline int cpti_deque_is_empty(struct cpti_deque *deque)
{
    const uint64_t top = atomic_load(&deque->top);

    return (int64_t)(atomic_load(&deque->bottom) - top) <= 0;
}

/* 0: it is full. Owner only. */
static inline int cpti_deque_push(struct cpti_deque *deque, struct cpt_work *work)
{
    const uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    /* Acquire: whoever has taken the work at the same place has read it. */
    const uint64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);

    if (bottom - top >= CPTI_DEQUE_WORKS_MAX) {
        return 0;
    }
    /* Relaxed: published by the store below, which a thief reads before it. */
    atomic_store_explicit(&deque->works[bottom % CPTI_DEQUE_WORKS_MAX], work,
                          memory_order_relaxed);
    atomic_store(&deque->bottom, bottom + 1);
    return 1;
}

/* The newest, or NULL. Owner only. */
static inline struct cpt_work *cpti_deque_pop(struct cpti_deque *deque)
{
    const uint64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    uint64_t top = atomic_load_explicit(&deque->top, memory_order_relaxed);
    struct cpt_work *work = NULL;

    if (bottom == top) {
        return NULL; /* for sure: only the owner makes it more */
    }
    atomic_store(&deque->bottom, bottom - 1);
    top = atomic_load(&deque->top);
    if ((int64_t)(bottom - 1 - top) < 0) { /* a thief was faster */
        atomic_store_explicit(&deque->bottom, bottom, memory_order_release);
        return NULL;
    }
    work = atomic_load_explicit(&deque->works[(bottom - 1) % CPTI_DEQUE_WORKS_MAX],
                                memory_order_relaxed);
    if (bottom - 1 == top) { /* the last one: a thief may be at it */
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
