/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* pending.h - what tasks wait for: pending.c, and the waits themselves: await.c */
#ifndef CPT_PENDING_H
#define CPT_PENDING_H

#include "framework/run/request.h"

/* --- Pendings, pending.c --- */

/* The pending of what could not begin, for all requests: @status is CPT_LIMIT, or else
 * CPT_INVALID. It has no request, no task, and is never written. */
struct cpt_pending *cpti_pending_failed(cpt_status status);

/* Whether @pending, which the application gave, is of a request: else its memory holds
 * nothing but its status. Counts a mistake if it is NULL or stale. */
bool cpti_pending_is_live(const struct cpt_pending *pending);

/* The same, and of @kind; counts a mistake if it is of another kind. */
bool cpti_pending_is(const struct cpt_pending *pending, enum cpti_pending_kind kind);

/* Adds @pending, zeroed but for stands_for and call, to those of @task, and shares the
 * request. Lock held. */
void cpti_pending_begin(struct cpt_pending *pending, enum cpti_pending_kind kind,
                        struct cpt_task *task, uint64_t begin_ns);

/* What @pending stands for has ended: ends it, if it has not ended, and gives back its
 * reference. false: that was said before, and nothing is done. Lock not held. */
bool cpti_pending_complete(struct cpt_pending *pending, cpt_status status);

/* What completes @pending is ongoing and can be told to stop by @cancel. If the request
 * has failed before, the end of the step tells it. Lock not held. */
void cpti_pending_cancel_by(struct cpt_pending *pending,
                            void (*cancel)(struct cpti_cancellable *cancellable));

/* Ends it, if it has not ended. The task that goes on now, or NULL: for
 * cpti_request_continue() or cpti_task_wake(), once the lock is released. Lock held. */
struct cpt_task *cpti_pending_end(struct cpt_pending *pending, cpt_status status,
                                  uint64_t arrive_ns);

/* Ends it without its task: what completes it is not told, and no task goes on. It has
 * not ended. Lock held. */
void cpti_pending_drop(struct cpt_pending *pending, cpt_status status);

/* The number of the task that started @pending, + 1; 0: it has ended, which its thread
 * notes without the lock. Lock held. */
static inline uint32_t cpti_pending_starter(const struct cpt_pending *pending)
{
    return __atomic_load_n(&pending->task->number, __ATOMIC_RELAXED) + 1;
}

/* Ends those that stand for task @number, which has ended. Lock not held. */
void cpti_task_release_waiters(struct cpt_request *request, uint32_t number,
                               cpt_status status, uint64_t end_ns);

/* --- Waits, await.c --- */

/* @task begins to wait. Lock held. */
void cpti_waiting_add(struct cpt_task *task);

/* Its wait is over, or will never be. Lock held. */
void cpti_waiting_remove(struct cpt_task *task);

/* Task @number if it waits, else NULL. Lock held. */
static inline struct cpt_task *cpti_waiting_task(const struct cpt_request *request,
                                                 uint32_t number)
{
    struct cpt_task *task = LIST_FIRST(&request->waiting);

    while (task != NULL && task->number != number) {
        task = LIST_NEXT(task, waiting_link);
    }
    return task;
}

/* Whether @task can wait for @pending: CPT_OK, else it has failed, as by cpt_fail(). */
cpt_status cpti_pending_check(struct cpt_task *task, const struct cpt_pending *pending);

/* Whether @pending is not a timer that could not be set: CPT_OK, else it has failed, as
 * by cpt_fail(). */
cpt_status cpti_pending_check_timer(struct cpt_task *task,
                                    const struct cpt_pending *pending);

/* cpti_task_wait(): the task was given up, or its request stopped. */
enum { CPTI_WAIT_LEFT = 2 };

/* Makes the task wait as it asked. 1: it does, and is not the caller's any more;
 * CPTI_WAIT_LEFT: it will not go on, and is still the caller's; 0: it goes on at once;
 * less than 0: the status with which it fails. */
int cpti_task_wait(struct cpt_task *task);

/* @pending, which has ended, was the last one that @task waited for. The task if it is
 * to be queued; NULL if its thread is blocked in cpt_wait(). Lock held. */
struct cpt_task *cpti_task_end_wait(struct cpt_task *task,
                                    const struct cpt_pending *pending,
                                    uint64_t arrive_ns);

/* Submits @task, whose wait is over, with a reference that it takes over from the
 * caller; NULL: releases that reference. Lock not held. */
void cpti_request_continue(struct cpt_request *request, struct cpt_task *task);

/* The same, but the caller keeps its reference. NULL is fine. */
void cpti_task_wake(struct cpt_task *task);

/* Moves the timeout of the wait of @task, if it has one, to @told. Lock held. */
void cpti_task_take_timeout(struct cpt_task *task, struct cpti_cancellables *told);

/* --- Timers and deferred work, defer.c --- */

/* Ends the sleeps that @task, which has ended, has not waited for. Lock not held. */
void cpti_task_end_sleeps(struct cpt_task *task);

#endif
