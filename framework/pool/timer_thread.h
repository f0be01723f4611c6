/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * timer_thread.h - timers and the thread that fires them
 *
 * The first timer starts the thread. Only a timer that is due before the one it sleeps
 * for wakes it: deadlines that each call sets and cancels wake it once per deadline's
 * length.
 *
 * Threads: any; init, stop and deinit belong to the executor.
 */
#ifndef CPT_TIMER_THREAD_H
#define CPT_TIMER_THREAD_H

#include "framework/pool/lock.h"
#include "framework/pool/timers.h"

struct cpti_timer_thread {
    struct cpti_lock lock; /* guards what follows */
    pthread_cond_t has_earlier;
    struct cpti_timers timers;
    uint64_t wake_ns; /* when it wakes by itself; 0: it is awake */
    bool is_over;
    bool has_begun;
    pthread_t thread;
};

/* @thread is zeroed. */
void cpti_timer_thread_init(struct cpti_timer_thread *thread,
                            const struct cpt_alloc *alloc);

/* As struct cpt_executor's; CPT_NO_MEMORY also if no thread can be made. */
cpt_status cpti_timer_thread_after(struct cpti_timer_thread *thread,
                                   struct cpt_timer *timer, uint64_t delay_ns);
bool cpti_timer_thread_cancel(struct cpti_timer_thread *thread,
                              struct cpt_timer *timer);

/* Waits for the timer that is firing; no other fires, nor any that is added later. */
void cpti_timer_thread_stop(struct cpti_timer_thread *thread);

/* After stop. */
void cpti_timer_thread_deinit(struct cpti_timer_thread *thread);

#endif
