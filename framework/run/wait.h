/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* wait.h - a step that blocks its thread, as other files see it; see wait.c */
#ifndef CPT_WAIT_H
#define CPT_WAIT_H

#include "framework/pool/pool.h"
#include "framework/run/request.h"

#include <pthread.h>

/* The wait of a step in cpt_wait(). In the arena of its request, whose lock guards
 * it. */
struct cpti_wait {
    struct cpti_cancellable cancellable; /* listed while it lasts: told if the request
                                            fails, or the task is given up */
    struct cpt_request *request;
    pthread_cond_t is_over;
    bool is_buried;  /* its thread runs something else meanwhile, … */
    bool has_passed; /* … and a lock was not given to its task therefore */
    bool is_counted; /* in cpt_request.wait_count */
    struct cpti_wait *next_spare;
    struct cpti_wait *next_made;
};

/* What the blocked step of @task waits for has ended. Lock held. */
void cpti_wait_end(struct cpt_task *task);

/*
 * Whether a lock that @pending waits for goes to the next one: something runs on top of
 * the step that asked for it, of task @number, and that could not give it back before
 * this has returned. When it has, the lock's ask_again() is called. Lock held.
 */
bool cpti_wait_passes(const struct cpt_pending *pending, uint32_t number);

/* The request is about to be freed, and its arena with it: destroys its waits. */
void cpti_wait_deinit(struct cpt_request *request);

/* --- Any thread that blocks --- */

/* This thread, which runs a step of @executor (NULL: none), blocks; it continues. The
 * pool that it is of, if any, replaces it meanwhile. */
void cpti_thread_block(struct cpt_executor *executor, enum cpti_pool_wait wait);
void cpti_thread_unblock(struct cpt_executor *executor);

/*
 * Locks that steps of this thread have taken by cpt_mutex_lock() and not given back.
 * Where a step returns to wait, they become its request's (kept_locks): what goes on
 * with it is needed by those who wait for them. A hint: another thread may unlock.
 */
extern _Thread_local unsigned cpti_thread_locks
    __attribute__((tls_model("initial-exec")));

static inline void cpti_locks_taken(const struct cpt_task *task)
{
    cpti_thread_locks += task != NULL;
}

static inline void cpti_locks_given_back(const struct cpt_task *task)
{
    if (task != NULL &&
        atomic_load_explicit(&task->request->kept_locks, memory_order_relaxed) != 0) {
        atomic_fetch_sub(&task->request->kept_locks, 1);
    } else if (cpti_thread_locks != 0) {
        cpti_thread_locks--;
    }
}

/* The step of @task returns, to wait. */
static inline void cpti_locks_keep(const struct cpt_task *task)
{
    if (__builtin_expect(cpti_thread_locks != 0, 0)) {
        atomic_fetch_add(&task->request->kept_locks, cpti_thread_locks);
        cpti_thread_locks = 0;
    }
}

#endif
