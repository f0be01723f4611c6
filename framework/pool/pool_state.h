/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool_state.h - what a pool is made of, and the protocol of its seats; see pool.c
 */
#ifndef CPT_POOL_STATE_H
#define CPT_POOL_STATE_H

#include "framework/pool/deque.h"
#include "framework/pool/lock.h"
#include "framework/pool/timer_thread.h"

#include <semaphore.h>

enum { CACHE_LINE = 64 };

/* What a thread of the pool, or one that takes part, has of its own. */
struct place {
    struct pool *pool;
    uint64_t random;       /* whom to steal from first */
    uint64_t turn_ns;      /* since when it has seen others waiting; 0: not yet */
    uint64_t stolen_count; /* written by its thread; see count_up() */
    uint32_t local_count;  /* works since it looked into the inbox */
    uint32_t block_depth;
    unsigned char has_left_seat; /* while it blocks; guarded by lock */
    unsigned char is_adopted;    /* of a foreign thread */
    unsigned char is_taken;      /* guarded by lock: a foreign thread has it */
    unsigned char has_seat;      /* a foreign thread: it counts as a worker */
    struct place *next_refused;  /* see struct pool; guarded by lock */
    pthread_t thread;
    char pad[CACHE_LINE]; /* thieves read the deque, nobody else the above */
    struct cpti_deque deque;
};

struct pool {
    struct cpt_executor executor; /* first: it is what the user has */
    const struct cpt_alloc *alloc;
    char name[CPT_NAME_BYTES_MAX + 1];
    unsigned worker_count;
    unsigned extra_max;
    unsigned places_max;
    unsigned spin_ns;

    char pad0[CACHE_LINE];
    atomic_uint_fast32_t state; /* see SEAT below */
    atomic_uint_fast32_t inbox_count;
    atomic_uint_fast32_t place_count;
    atomic_uint_fast32_t guest_count; /* foreign threads with a seat */
    atomic_int is_stopping;
    atomic_int is_over;
    atomic_uint_fast64_t woken_count;
    char pad1[CACHE_LINE];

    sem_t wake;            /* one token: a seat that was taken for a sleeper */
    struct cpti_lock lock; /* guards what follows */
    pthread_cond_t is_quiet;
    struct cpt_work *first; /* the inbox */
    struct cpt_work *last;
    uint64_t inbox_total;
    uint64_t spilled_count;
    uint64_t refused_count;
    uint64_t unmade_count;
    unsigned adopted_count; /* foreign threads with a place */
    unsigned thread_count;
    unsigned blocked_count; /* that have left their seats */
    struct place *refused;  /* that block on them, as no thread could be added */

    char pad2[CACHE_LINE];
    struct cpti_timer_thread timers;

    /* Of threads and of foreign ones; only ever more, see place_count. */
    struct place *places[];
};

/* --- The state: searching threads in the lower half, free seats, biased, above --- */

#define SEARCHER UINT32_C(1)
#define SEAT     (UINT32_C(1) << 16)
#define NO_SEAT  (UINT32_C(1) << 31)

static inline int free_seats(uint_fast32_t state)
{
    return (int)((uint32_t)state >> 16) - (int)(NO_SEAT >> 16);
}

static inline unsigned searching(uint_fast32_t state)
{
    return (unsigned)(state & (SEAT - 1));
}

/* Takes a free seat for one who will search, if nobody searches. */
static inline int take_seat(struct pool *pool)
{
    uint_fast32_t state = atomic_load(&pool->state);

    while (searching(state) == 0 && free_seats(state) > 0) {
        if (atomic_compare_exchange_weak(&pool->state, &state,
                                         state - SEAT + SEARCHER)) {
            return 1;
        }
    }
    return 0;
}

/* There is work, and it was put where others look before this was called. */
static inline void wake_one(struct pool *pool)
{
    if (take_seat(pool)) {
        atomic_fetch_add_explicit(&pool->woken_count, 1, memory_order_relaxed);
        (void)sem_post(&pool->wake);
    }
}

static inline struct place *place_at(struct pool *pool, unsigned index)
{
    return pool->places[index];
}

/* The places below are complete; seq_cst, as it is a part of what who goes to sleep
 * reads after it has written the state. */
static inline unsigned place_count(struct pool *pool)
{
    return (unsigned)atomic_load(&pool->place_count);
}

static inline int has_work(struct pool *pool)
{
    const unsigned count = place_count(pool);

    if (atomic_load(&pool->inbox_count) != 0) {
        return 1;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!cpti_deque_is_empty(&place_at(pool, i)->deque)) {
            return 1;
        }
    }
    return 0;
}

#endif
