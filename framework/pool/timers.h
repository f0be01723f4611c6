/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * timers.h - the timers of an executor, by time
 *
 * A binary heap. A timer knows its place in it (index + 1; 0: it is in none), so that
 * cancelling costs no search.
 *
 * Threads: one at a time; the executor's lock guards it.
 */
#ifndef CPT_TIMERS_H
#define CPT_TIMERS_H

#include "framework/cpt_runtime.h"

enum { CPTI_TIMERS_MAX = 1 << 20 };

struct cpti_timers {
    const struct cpt_alloc *alloc; /* set by the executor; all else begins as 0 */
    struct cpt_timer **heap;
    size_t count;
    size_t capacity;
};

void cpti_timers_deinit(struct cpti_timers *timers);

/* CPT_OK; CPT_LIMIT at CPTI_TIMERS_MAX, CPT_NO_MEMORY: it was not added. */
cpt_status cpti_timers_add(struct cpti_timers *timers, struct cpt_timer *timer,
                           uint64_t at_ns);

/* 1: it was in there, and is not any more. */
int cpti_timers_remove(struct cpti_timers *timers, struct cpt_timer *timer);

/* The next one, or NULL. */
static inline struct cpt_timer *cpti_timers_first(const struct cpti_timers *timers)
{
    return timers->count != 0 ? timers->heap[0] : NULL;
}

/* @delay_ns after @now_ns, or the end of time. */
static inline uint64_t cpti_timer_at(uint64_t now_ns, uint64_t delay_ns)
{
    return delay_ns < INT64_MAX - now_ns ? now_ns + delay_ns : INT64_MAX;
}

#endif
