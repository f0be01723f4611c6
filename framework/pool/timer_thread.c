/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* timer_thread.c - see timer_thread.h. */
#include "framework/pool/timer_thread.h"

#include "cpt/base/now.h"

void cpti_timer_thread_init(struct cpti_timer_thread *thread,
                            const struct cpt_alloc *alloc)
{
    cpti_lock_init(&thread->lock, CPTI_RANK_POOL);
    cpti_cond_init(&thread->has_earlier);
    thread->timers.alloc = alloc;
}

/* Waits until @timer is due, or an earlier one is added. NULL: for any. Lock held. */
static void wait_for(struct cpti_timer_thread *thread, const struct cpt_timer *timer)
{
    thread->wake_ns = timer != NULL ? timer->at_ns : UINT64_MAX;
    cpti_cond_wait(&thread->has_earlier, &thread->lock, thread->wake_ns);
    thread->wake_ns = 0;
}

static void *run(void *context)
{
    struct cpti_timer_thread *thread = context;

    cpti_lock_take(&thread->lock);
    while (!thread->is_over) {
        struct cpt_timer *timer = cpti_timers_first(&thread->timers);

        if (timer == NULL || timer->at_ns > cpti_now_ns()) {
            wait_for(thread, timer);
            continue;
        }
        (void)cpti_timers_remove(&thread->timers, timer);
        cpti_lock_release(&thread->lock);
        timer->fire(timer);
        cpti_lock_take(&thread->lock);
    }
    cpti_lock_release(&thread->lock);
    return NULL;
}

/* Lock held. */
static cpt_status begin(struct cpti_timer_thread *thread)
{
    if (!thread->has_begun && pthread_create(&thread->thread, NULL, run, thread) != 0) {
        return CPT_NO_MEMORY;
    }
    thread->has_begun = true;
    return CPT_OK;
}

cpt_status cpti_timer_thread_after(struct cpti_timer_thread *thread,
                                   struct cpt_timer *timer, uint64_t delay_ns)
{
    const uint64_t at_ns = cpti_timer_at(cpti_now_ns(), delay_ns);
    cpt_status status = CPT_OK;

    cpti_lock_take(&thread->lock);
    status = begin(thread);
    if (status == CPT_OK) {
        status = cpti_timers_add(&thread->timers, timer, at_ns);
    }
    if (status == CPT_OK && at_ns < thread->wake_ns) {
        thread->wake_ns = at_ns;
        (void)pthread_cond_signal(&thread->has_earlier);
    }
    cpti_lock_release(&thread->lock);
    return status;
}

bool cpti_timer_thread_cancel(struct cpti_timer_thread *thread, struct cpt_timer *timer)
{
    return cpti_timers_cancel(&thread->timers, &thread->lock, timer);
}

void cpti_timer_thread_stop(struct cpti_timer_thread *thread)
{
    bool has_begun = false;

    cpti_lock_take(&thread->lock);
    has_begun = thread->has_begun;
    thread->is_over = true;
    (void)pthread_cond_signal(&thread->has_earlier);
    cpti_lock_release(&thread->lock);
    if (has_begun) {
        (void)pthread_join(thread->thread, NULL);
    }
}

void cpti_timer_thread_deinit(struct cpti_timer_thread *thread)
{
    (void)pthread_cond_destroy(&thread->has_earlier);
    cpti_lock_deinit(&thread->lock);
    cpti_timers_deinit(&thread->timers);
}
