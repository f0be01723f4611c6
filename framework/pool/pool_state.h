/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool_state.h - what a pool is made of, and the protocol of its seats; see pool.c
 */
#ifndef CPT_POOL_STATE_H
#define CPT_POOL_STATE_H

#include "cpt/base/container.h"
#include "framework/pool/deque.h"
#include "framework/pool/lane.h"
#include "framework/pool/lock.h"
#include "framework/pool/pool.h"
#include "framework/pool/timer_thread.h"

#include <semaphore.h>

enum {
    CPTI_POOL_CACHE_LINE = 64,
    CPTI_POOL_GUESTS_MAX = 64,   /* with a place, at one time */
    CPTI_POOL_RESERVE_MAX = 1024 /* threads beyond the limit: see pool_block.c */
};

/* What belongs to one thread that runs a pool's work: a worker or a guest (pool.h). */
struct cpti_pool_place {
    struct cpti_pool *pool;
    uint64_t random;       /* whom to steal from first */
    uint64_t turn_ns;      /* when it first saw others waiting; 0: not yet */
    uint64_t stolen_count; /* written by its thread; see count_up() */
    uint32_t local_count;  /* works since it looked into the inbox */
    uint32_t block_depth;
    uint32_t help_depth; /* works that it runs while it blocks */
    uint32_t stalled_in; /* while it blocks: see struct cpti_pool; guarded by lock */
    bool is_guest;       /* of a guest, or of no thread at present */
    bool is_taken;       /* a guest has it; guarded by lock */
    bool has_seat;       /* a guest: it counts as a worker */
    pthread_t thread;
    char pad[CPTI_POOL_CACHE_LINE]; /* thieves read the deque, but none of the above */
    struct cpti_deque deque;
};

struct cpti_pool {
    struct cpt_executor executor; /* what the user has */
    const struct cpt_alloc *alloc;
    char name[CPT_NAME_BYTES_MAX + 1];
    unsigned worker_count;
    unsigned block_max; /* steps that may block before the pool is tight */
    unsigned places_max;
    unsigned spin_ns;

    char pad0[CPTI_POOL_CACHE_LINE];
    atomic_uint_fast32_t state; /* see CPTI_SEAT below */
    atomic_uint_fast32_t inbox_count;
    atomic_uint_fast32_t place_count;
    atomic_uint_fast32_t seated_guest_count; /* guests with a seat */
    atomic_bool is_stopping;
    atomic_bool is_over;
    atomic_bool is_tight;             /* see pool_block.c; written with the lock held */
    atomic_uint_fast64_t lane_due_ns; /* see pool_lane.c; likewise */
    atomic_uint_fast64_t woken_count;
    char pad1[CPTI_POOL_CACHE_LINE];

    sem_t wake;            /* one token: a seat that was taken for a sleeper */
    struct cpti_lock lock; /* guards what follows */
    pthread_cond_t is_quiet;
    struct cpt_work *first; /* the inbox */
    struct cpt_work *last;
    struct cpti_lane lane; /* see pool_lane.c */
    uint64_t inbox_total;
    uint64_t spilled_count;
    uint64_t refused_count;
    uint64_t unmade_count;
    unsigned guest_count; /* guests with a place */
    unsigned thread_count;
    /* What follows is about blocking, see pool_block.c. */
    unsigned blocked_count;   /* threads that block */
    unsigned seat_count;      /* how many others may run; free ones are in `state` */
    unsigned stalled_count;   /* threads that wait for the world and made the pool tight
                               in this … */
    uint32_t tight_number;    /* … spell: how often it has become tight */
    unsigned stalled_max;     /* how many do before what is needed waits for a tick */
    uint64_t ended_count;     /* blocks that have ended … */
    uint64_t seen_count;      /* … when the valve looked */
    unsigned postponed_count; /* how often it found some and waited on */
    unsigned valve_ticks;     /* how long it waits between two looks … */
    unsigned ticks_left;      /* … until the next one */
    bool is_valve_set;
    bool is_open;        /* one work of any kind may run: … */
    bool prefers_oldest; /* … the oldest, or the newest */
    struct cpt_timer valve;

    char pad2[CPTI_POOL_CACHE_LINE];
    struct cpti_timer_thread timers;

    /* Of workers and of guests. None is freed before the pool is; see place_count. */
    struct cpti_pool_place *places[];
};

/* --- The state: searching threads in the lower half, free seats, biased, above --- */

#define CPTI_SEARCHER UINT32_C(1)
#define CPTI_SEAT     (UINT32_C(1) << 16)
#define CPTI_NO_SEAT  (UINT32_C(1) << 31)

static inline int cpti_pool_free_seats(uint_fast32_t state)
{
    return (int)((uint32_t)state >> 16) - (int)(CPTI_NO_SEAT >> 16);
}

static inline unsigned cpti_pool_searchers(uint_fast32_t state)
{
    return (unsigned)(state & (CPTI_SEAT - 1));
}

/* Takes a free seat for a thread that will search, if none searches. */
static inline bool cpti_pool_take_seat(struct cpti_pool *pool)
{
    uint_fast32_t state = atomic_load(&pool->state);

    while (cpti_pool_searchers(state) == 0 && cpti_pool_free_seats(state) > 0) {
        if (atomic_compare_exchange_weak(&pool->state, &state,
                                         state - CPTI_SEAT + CPTI_SEARCHER)) {
            return true;
        }
    }
    return false;
}

/* The caller has put work where others look, and calls this after that. */
static inline void cpti_pool_wake_one(struct cpti_pool *pool)
{
    if (cpti_pool_take_seat(pool)) {
        atomic_fetch_add_explicit(&pool->woken_count, 1, memory_order_relaxed);
        (void)sem_post(&pool->wake);
    }
}

/* The places below this index are complete. seq_cst: a thread that goes to sleep reads
 * it after it has written the state. */
static inline unsigned cpti_pool_place_count(struct cpti_pool *pool)
{
    return (unsigned)atomic_load(&pool->place_count);
}

/* Whether a work waits in the second lane. seq_cst, as the count of the inbox. */
static inline bool cpti_pool_has_later(struct cpti_pool *pool)
{
    return atomic_load(&pool->lane_due_ns) != UINT64_MAX;
}

static inline bool cpti_pool_has_work(struct cpti_pool *pool)
{
    const unsigned count = cpti_pool_place_count(pool);

    if (atomic_load(&pool->inbox_count) != 0 || cpti_pool_has_later(pool)) {
        return true;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!cpti_deque_is_empty(&pool->places[i]->deque)) {
            return true;
        }
    }
    return false;
}

static inline struct cpti_pool *cpti_pool_of(struct cpt_executor *executor)
{
    return CPTI_CONTAINER(executor, struct cpti_pool, executor);
}

/* --- pool.c, for guests --- */

/* The place of this thread, in any pool; NULL: it has none. */
extern _Thread_local struct cpti_pool_place *cpti_pool_current_place
    __attribute__((tls_model("initial-exec")));

/* This thread's place in @pool, or NULL. */
static inline struct cpti_pool_place *cpti_pool_own_place(const struct cpti_pool *pool)
{
    struct cpti_pool_place *place = cpti_pool_current_place;

    return place != NULL && place->pool == pool ? place : NULL;
}

/* A place that no thread has, or a new one; NULL: no memory. Lock held. */
struct cpti_pool_place *cpti_pool_take_place(struct cpti_pool *pool);

/* Looks for work for a while, and only until @is_over holds (NULL: it never does). */
struct cpt_work *cpti_pool_search(struct cpti_pool *pool, struct cpti_pool_place *place,
                                  bool (*is_over)(void *context), void *context);

/* The thread has found work. The last searcher wakes another one if there is more. */
void cpti_pool_stop_searching(struct cpti_pool *pool);

/* A seat has become free: cpt_pool_free() may wait for that. */
void cpti_pool_tell_quiet(struct cpti_pool *pool);

/* A place with a sleeping thread; false: the system makes no thread. Lock held. */
bool cpti_pool_add_thread(struct cpti_pool *pool);

/* Lock held. */
void cpti_pool_put_in_inbox(struct cpti_pool *pool, struct cpt_work *work);

/* --- pool_block.c, for the pool --- */

void cpti_pool_init_blocks(struct cpti_pool *pool);

/* The next work of a tight pool; NULL: there is none that may run now. */
struct cpt_work *cpti_pool_take_needed(struct cpti_pool *pool);

/* Whether there is work that may run now, in a pool that may be tight. */
bool cpti_pool_has_needed(struct cpti_pool *pool);

/* Of a tight pool: there may have been no memory for a thread or a timer so far. No
 * lock held. */
void cpti_pool_try_again(struct cpti_pool *pool);

/* This thread, which has @place, blocks; it continues. */
void cpti_pool_begin_block(struct cpti_pool_place *place, enum cpti_pool_wait wait);
void cpti_pool_end_block(struct cpti_pool_place *place);

/* --- pool_lane.c, for the pool --- */

/* As struct cpt_executor's. */
void cpti_pool_submit_later(struct cpt_executor *executor, struct cpt_work *work,
                            uint64_t wait_ns_max);

/* Takes a work that is due; NULL: none is. */
struct cpt_work *cpti_pool_take_due(struct cpti_pool *pool);

/* The lane has changed, or a work of the inbox was taken. Lock held. */
void cpti_pool_note_lane(struct cpti_pool *pool);

/* Takes the work that is due next, for a thread that has found nothing else, or NULL.
 */
struct cpt_work *cpti_pool_take_later(struct cpti_pool *pool);

/* Puts all that waits in the second lane into the inbox. Lock held. */
void cpti_pool_close_lane(struct cpti_pool *pool);

/* --- pool_guest.c, for the pool --- */

/* The pool that this thread, which has no place, takes part in once it submits. */
extern _Thread_local struct cpt_executor *cpti_pool_guest_of
    __attribute__((tls_model("initial-exec")));

/* A guest leaves its seat to a worker. */
void cpti_pool_stand_up(struct cpti_pool *pool, struct cpti_pool_place *place);

#endif
