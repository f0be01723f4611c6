/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cancel.c - stops work whose result is no longer wanted
 *
 *      cpt_cancel()            by the task that started it   \
 *      a timeout of a wait     gives it up                    > ends at once, is told
 *      the request fails       all that is ongoing           /
 *
 * Ending and telling are separate. A pending that is cancelled ends at once for its
 * task. The work that completes it is then told to stop, without the lock, and still
 * completes it exactly once, later. Until then the work holds its reference, which
 * keeps the memory of the request. Its result is dropped.
 *
 * Work that is told may be ending at that moment, on another thread. So it must check
 * by itself whether there is still something to stop, in memory that lives as long as
 * the request.
 *
 * Work that a task started and never waited for is not told when the request succeeds:
 * it was started to continue by itself.
 */
#include "framework/run/cancel.h"

#include "cpt/container.h"
#include "framework/run/call.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"

#include <assert.h>

/* --- The list. Lock held. --- */

void cpti_cancellable_add(struct cpt_request *request,
                          struct cpti_cancellable *cancellable)
{
    assert(cancellable->cancel != NULL && !cancellable->is_listed);
    cancellable->is_listed = true;
    LIST_INSERT_HEAD(&request->cancellables, cancellable, link);
}

void cpti_cancellable_move(struct cpti_cancellable *cancellable,
                           struct cpti_cancellables *told)
{
    if (cpti_cancellable_remove(cancellable)) {
        LIST_INSERT_HEAD(told, cancellable, link);
    }
}

void cpti_held_add(struct cpti_held *held, const struct cpt_task *task)
{
    held->task = task->number;
    held->cancellable.is_listed = true;
    LIST_INSERT_HEAD(&task->request->held_locks, &held->cancellable, link);
}

/* Whether task @number waits between two steps. */
static bool is_between_steps(const struct cpt_request *request, uint32_t number)
{
    const struct cpt_task *task = cpti_waiting_task(request, number);

    return (task != NULL && task->wait == NULL) ||
           (request->blamed != NULL && request->blamed->number == number);
}

/* Moves what task @number holds to @told; CPTI_NO_TASK: what all of them hold. If
 * @only_waiting, only of tasks that wait between two steps. Lock held. */
static void move_held(struct cpt_request *request, uint32_t number, bool only_waiting,
                      struct cpti_cancellables *told)
{
    struct cpti_cancellable *next = NULL;

    for (struct cpti_cancellable *at = LIST_FIRST(&request->held_locks); at != NULL;
         at = next) {
        const uint32_t owner = CPTI_CONTAINER(at, struct cpti_held, cancellable)->task;

        next = LIST_NEXT(at, link);
        if ((number == CPTI_NO_TASK || owner == number) &&
            (!only_waiting || is_between_steps(request, owner))) {
            cpti_cancellable_move(at, told);
        }
    }
}

void cpti_held_release(struct cpt_request *request, uint32_t number)
{
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);

    cpti_lock_take(&request->lock);
    move_held(request, number, false, &told);
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
}

/* --- Telling --- */

void cpti_cancellables_cancel(struct cpti_cancellables *told)
{
    struct cpti_cancellable *first = NULL;

    while ((first = LIST_FIRST(told)) != NULL) {
        LIST_REMOVE(first, link); /* it may be freed by being told */
        first->cancel(first);
    }
}

void cpti_request_cancel_ongoing(struct cpt_request *request)
{
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);
    struct cpti_cancellable *first = NULL;
    cpt_status status = CPT_OK;

    cpti_lock_take(&request->lock);
    status = request->status == CPT_TIMEOUT ? CPT_TIMEOUT : CPT_CANCELLED;
    while ((first = LIST_FIRST(&request->cancellables)) != NULL) {
        if (first->pending != NULL) {
            cpti_pending_drop(first->pending, status);
            cpti_call_given_up(first->pending);
        }
        cpti_cancellable_move(first, &told);
    }
    move_held(request, CPTI_NO_TASK, true, &told);
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
}

/* The task that @pending stands for, if it waits and nothing else can want what it
 * gives; else NULL. Lock held. */
static struct cpt_task *stranded_task(const struct cpt_pending *pending)
{
    const struct cpt_request *request = pending->request;
    const struct cpti_plan_task *plan = NULL;
    struct cpt_task *task = NULL;

    if (pending->stands_for == 0) {
        return NULL;
    }
    plan = &request->plan->tasks[pending->stands_for - 1];
    if (plan->starter_count != 1 || plan->successor_count != 0 || plan->is_required) {
        return NULL;
    }
    task = cpti_waiting_task(request, pending->stands_for - 1);
    return task != NULL && task->wait == NULL ? task : NULL;
}

/* Ends a stranded task where it waits. Puts what it has started, dropped, before
 * @dropped. Lock held. */
static struct cpt_pending *end_stranded(struct cpt_task *task,
                                        struct cpt_pending *dropped,
                                        struct cpti_cancellables *told)
{
    cpti_waiting_remove(task);
    cpti_task_take_timeout(task, told);
    move_held(task->request, task->number, false, told);
    atomic_store_explicit(&task->request->progress[task->number].outcome, CPT_CANCELLED,
                          memory_order_release);
    while (task->oldest != NULL) {
        struct cpt_pending *pending = task->oldest;

        cpti_pending_drop(pending, CPT_CANCELLED);
        pending->next = dropped;
        dropped = pending;
    }
    return dropped;
}

/* Ends @pending, and what is ongoing for it or for tasks that were started for it,
 * which is added to @told. The task that waited for @pending, or NULL. Lock held. */
static struct cpt_task *cancel_all_below(struct cpt_pending *pending, uint64_t now_ns,
                                         struct cpti_cancellables *told)
{
    struct cpt_task *woken = NULL;

    cpti_cancellable_move(&pending->cancellable, told);
    if (pending->task->is_waiting) { /* this is another thread: cpt_mutex_release() */
        woken = cpti_pending_end(pending, CPT_CANCELLED, now_ns);
    } else {
        cpti_pending_drop(pending, CPT_CANCELLED);
    }
    while (pending != NULL) { /* dropped ones, linked by next */
        struct cpt_pending *rest = pending->next;
        struct cpt_task *task = stranded_task(pending);

        pending->next = NULL;
        cpti_call_given_up(pending);
        cpti_cancellable_move(&pending->cancellable, told);
        pending = task != NULL ? end_stranded(task, rest, told) : rest;
    }
    return woken;
}

void cpt_cancel(struct cpt_pending *pending)
{
    struct cpt_request *request = NULL;
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);
    struct cpt_task *woken = NULL;
    uint64_t now_ns = 0;

    if (pending == NULL || !cpti_pending_is_live(pending)) {
        return;
    }
    request = pending->request;
    now_ns = cpti_record_now(request);
    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        woken = cancel_all_below(pending, now_ns, &told);
    }
    cpti_lock_release(&request->lock);
    /* Woken first: what is told may give back the last reference but the request's. */
    cpti_task_wake(woken);
    cpti_cancellables_cancel(&told);
}

int cpt_task_is_cancelled(struct cpt_task *task)
{
    return atomic_load_explicit(&task->request->is_stopped, memory_order_relaxed) != 0;
}
