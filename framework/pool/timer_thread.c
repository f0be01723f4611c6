/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* timer_thread.c - see timer_thread.h. */
#include "framework/pool/timer_thread.h"

#include "cpt/base/now.h"

/* Whose timers this thread fires; NULL: none, or another thread has taken over. */
static _Thread_local struct cpti_timer_thread *current
    __attribute__((tls_model("initial-exec")));

void cpti_timer_thread_init(struct cpti_timer_thread *thread,
                            const struct cpt_alloc *alloc)
{
    cpti_lock_init(&thread->lock, CPTI_RANK_POOL);
    cpti_cond_init(&thread->has_earlier);
    (void)pthread_cond_init(&thread->has_no_thread, NULL);
    thread->timers.alloc = alloc;
}

/* Waits until @timer is due, or an earlier one is added. NULL: for any. Lock held. */
static void wait_for(struct cpti_timer_thread *thread, const struct cpt_timer *timer)
{
    thread->wake_ns = timer != NULL ? timer->at_ns : UINT64_MAX;
    cpti_cond_wait(&thread->has_earlier, &thread->lock, thread->wake_ns);
    thread->wake_ns = 0;
}

/* Fires what is due, one after the other, until another thread does. Lock held. */
static void fire_timers(struct cpti_timer_thread *thread)
{
    while (!thread->is_over && current == thread) {
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
}

/* The last thing that a thread does: so at most one waits to be joined. */
static void *run(void *context)
{
    struct cpti_timer_thread *thread = context;
    pthread_t before;
    bool is_first = false;

    current = thread;
    cpti_lock_take(&thread->lock);
    fire_timers(thread);
    before = thread->ended;
    is_first = !thread->has_ended;
    thread->ended = pthread_self();
    thread->has_ended = true;
    if (--thread->thread_count == 0) {
        (void)pthread_cond_signal(&thread->has_no_thread);
    }
    cpti_lock_release(&thread->lock);
    if (!is_first) {
        (void)pthread_join(before, NULL);
    }
    return NULL;
}

/* Lock held. */
static cpt_status add_thread(struct cpti_timer_thread *thread)
{
    pthread_t added;

    if (thread->thread_count == CPTI_TIMER_THREADS_MAX ||
        pthread_create(&added, NULL, run, thread) != 0) {
        return CPT_NO_MEMORY;
    }
    thread->thread_count++;
    return CPT_OK;
}

void cpti_timer_thread_blocks(void)
{
    struct cpti_timer_thread *thread = current;

    if (thread == NULL) {
        return;
    }
    cpti_lock_take(&thread->lock);
    if (!thread->is_over && add_thread(thread) == CPT_OK) {
        current = NULL;
    }
    cpti_lock_release(&thread->lock);
}

cpt_status cpti_timer_thread_after(struct cpti_timer_thread *thread,
                                   struct cpt_timer *timer, uint64_t delay_ns)
{
    const uint64_t at_ns = cpti_timer_at(cpti_now_ns(), delay_ns);
    cpt_status status = CPT_OK;

    cpti_lock_take(&thread->lock);
    status = thread->thread_count == 0 ? add_thread(thread) : CPT_OK;
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
    cpti_lock_take(&thread->lock);
    thread->is_over = true;
    (void)pthread_cond_signal(&thread->has_earlier);
    while (thread->thread_count != 0) {
        (void)pthread_cond_wait(&thread->has_no_thread, &thread->lock.mutex);
    }
    cpti_lock_release(&thread->lock);
    if (thread->has_ended) {
        (void)pthread_join(thread->ended, NULL);
    }
}

void cpti_timer_thread_deinit(struct cpti_timer_thread *thread)
{
    (void)pthread_cond_destroy(&thread->has_earlier);
    (void)pthread_cond_destroy(&thread->has_no_thread);
    cpti_lock_deinit(&thread->lock);
    cpti_timers_deinit(&thread->timers);
}
