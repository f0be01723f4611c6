/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * timers.h - the timers of an executor, by time
 *
 * A binary heap. A timer knows its position in it (index + 1; 0: it is in none), so
 * that cancelling needs no search. Inline: executors of several libraries use it.
 *
 * Threads: one at a time; the executor's lock guards it. cpti_timers_cancel() and
 * cpti_timers_fire_due() take that lock; the caller of all others holds it.
 */
#ifndef CPT_TIMERS_H
#define CPT_TIMERS_H

#include "framework/cpt_runtime.h"
#include "framework/pool/lock.h"

#include <stdbool.h>

enum { CPTI_TIMERS_MAX = 1 << 20 };

struct cpti_timers {
    const struct cpt_alloc *alloc; /* set by the executor; all else begins as 0 */
    struct cpt_timer **heap;
    size_t count;
    size_t capacity;
};

static inline void cpti_timers_deinit(struct cpti_timers *timers)
{
    cpt_alloc_free(timers->alloc, (void *)timers->heap);
}

/* The next one to fire, or NULL. */
static inline struct cpt_timer *cpti_timers_first(const struct cpti_timers *timers)
{
    return timers->count != 0 ? timers->heap[0] : NULL;
}

/* @delay_ns after @now_ns, or the end of time. */
static inline uint64_t cpti_timer_at(uint64_t now_ns, uint64_t delay_ns)
{
    return delay_ns < INT64_MAX - now_ns ? now_ns + delay_ns : INT64_MAX;
}

static inline void cpti_timers_put(struct cpti_timers *timers, size_t index,
                                   struct cpt_timer *timer)
{
    timers->heap[index] = timer;
    timer->index = index + 1;
}

static inline void cpti_timers_move_up(struct cpti_timers *timers, size_t index,
                                       struct cpt_timer *timer)
{
    while (index > 0 && timers->heap[(index - 1) / 2]->at_ns > timer->at_ns) {
        cpti_timers_put(timers, index, timers->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    cpti_timers_put(timers, index, timer);
}

static inline void cpti_timers_move_down(struct cpti_timers *timers, size_t index,
                                         struct cpt_timer *timer)
{
    for (;;) {
        size_t child = 2 * index + 1;

        if (child + 1 < timers->count &&
            timers->heap[child + 1]->at_ns < timers->heap[child]->at_ns) {
            child++;
        }
        if (child >= timers->count || timers->heap[child]->at_ns >= timer->at_ns) {
            break;
        }
        cpti_timers_put(timers, index, timers->heap[child]);
        index = child;
    }
    cpti_timers_put(timers, index, timer);
}

/* CPT_OK; CPT_LIMIT at CPTI_TIMERS_MAX, CPT_NO_MEMORY: it was not added. */
static inline cpt_status cpti_timers_add(struct cpti_timers *timers,
                                         struct cpt_timer *timer, uint64_t at_ns)
{
    const cpt_status status =
        cpt_alloc_grow(timers->alloc, (void **)&timers->heap, &timers->capacity,
                       timers->count + 1, CPTI_TIMERS_MAX, sizeof(struct cpt_timer *));

    if (status != CPT_OK) {
        return status;
    }
    timer->at_ns = at_ns;
    timers->count++;
    cpti_timers_move_up(timers, timers->count - 1, timer);
    return CPT_OK;
}

/* Whether it was in there; it no longer is. */
static inline bool cpti_timers_remove(struct cpti_timers *timers,
                                      struct cpt_timer *timer)
{
    const size_t index = timer->index - 1;
    struct cpt_timer *last = NULL;

    if (timer->index == 0) {
        return false;
    }
    timer->index = 0;
    last = timers->heap[--timers->count];
    if (last == timer) {
        return true;
    }
    if (index > 0 && timers->heap[(index - 1) / 2]->at_ns > last->at_ns) {
        cpti_timers_move_up(timers, index, last);
    } else {
        cpti_timers_move_down(timers, index, last);
    }
    return true;
}

/* As struct cpt_executor's. Takes @lock. */
static inline bool cpti_timers_cancel(struct cpti_timers *timers,
                                      struct cpti_lock *lock, struct cpt_timer *timer)
{
    bool was_waiting = false;

    cpti_lock_take(lock);
    was_waiting = cpti_timers_remove(timers, timer);
    cpti_lock_release(lock);
    return was_waiting;
}

/* Removes the first one if it is due by @now_ns, and fires it without @lock. false:
 * none is due. */
static inline bool cpti_timers_fire_due(struct cpti_timers *timers,
                                        struct cpti_lock *lock, uint64_t now_ns)
{
    struct cpt_timer *timer = NULL;
    bool is_due = false;

    cpti_lock_take(lock);
    timer = cpti_timers_first(timers);
    is_due =
        timer != NULL && timer->at_ns <= now_ns && cpti_timers_remove(timers, timer);
    cpti_lock_release(lock);
    if (is_due) {
        timer->fire(timer);
    }
    return is_due;
}

#endif
