/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * timer_thread.h - timers and the thread that fires them
 *
 * The first timer starts the thread. Only a timer that is due before the one it sleeps
 * for wakes it: deadlines that each call sets and cancels wake it once per deadline's
 * length.
 *
 * If a timer's fire() blocks, as `done` of a request may that its deadline ends, then
 * another thread fires the timers from then on; the first ends when fire() returns:
 *
 *      first    fires --> blocks . . . . . . . returns, ends
 *      second             fires --> sleeps --> fires -->
 *
 * Threads: any; init, stop and deinit belong to the executor.
 */
#ifndef CPT_TIMER_THREAD_H
#define CPT_TIMER_THREAD_H

#include "framework/pool/lock.h"
#include "framework/pool/timers.h"

enum { CPTI_TIMER_THREADS_MAX = 1024 }; /* of one executor; all but one block */

struct cpti_timer_thread {
    struct cpti_lock lock; /* guards what follows */
    pthread_cond_t has_earlier;
    pthread_cond_t has_no_thread;
    struct cpti_timers timers;
    uint64_t wake_ns; /* when it wakes by itself; 0: it is awake */
    bool is_over;
    unsigned thread_count;
    bool has_ended;  /* a thread has, … */
    pthread_t ended; /* … the latest; it joins the one before */
};

/* @thread is zeroed. */
void cpti_timer_thread_init(struct cpti_timer_thread *thread,
                            const struct cpt_alloc *alloc);

/* As struct cpt_executor's; CPT_NO_MEMORY also if no thread can be made. */
cpt_status cpti_timer_thread_after(struct cpti_timer_thread *thread,
                                   struct cpt_timer *timer, uint64_t delay_ns);
bool cpti_timer_thread_cancel(struct cpti_timer_thread *thread,
                              struct cpt_timer *timer);

/* This thread is about to block, or has blocked for a while: if it fires timers, then
 * another one does so from now on, unless none can be made. No lock held. */
void cpti_timer_thread_blocks(void);

/* Waits for the timers that are firing; no other fires, nor any that is added later. */
void cpti_timer_thread_stop(struct cpti_timer_thread *thread);

/* After stop. */
void cpti_timer_thread_deinit(struct cpti_timer_thread *thread);

#endif
