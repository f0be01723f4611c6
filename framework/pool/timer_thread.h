/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * timer_thread.h - timers and the thread that fires them
 *
 * The thread begins with the first timer. It is woken only for a timer that comes
 * before the one it sleeps for: a deadline that is set for each call and never reached
 * wakes it once in the time that it allows.
 *
 * Threads: any, but init, stop and deinit, which are the executor's.
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
    int is_over;
    int has_begun;
    pthread_t thread;
};

void cpti_timer_thread_init(struct cpti_timer_thread *thread,
                            const struct cpt_alloc *alloc);

/* As struct cpt_executor's; CPT_NO_MEMORY also without a thread. */
cpt_status cpti_timer_thread_after(struct cpti_timer_thread *thread,
                                   struct cpt_timer *timer, uint64_t delay_ns);
int cpti_timer_thread_cancel(struct cpti_timer_thread *thread, struct cpt_timer *timer);

/* Waits for the one that is just firing; the others never do, nor what is added yet. */
void cpti_timer_thread_stop(struct cpti_timer_thread *thread);

/* Once stopped. */
void cpti_timer_thread_deinit(struct cpti_timer_thread *thread);

#endif
