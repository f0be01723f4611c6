/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cancel.c - telling what is ongoing for a request that its result is not wanted
 *
 *      cpt_cancel()            by the task that started it   \
 *      a timeout of a wait     gives it up                    > ends at once, is told
 *      the request fails       all that is ongoing           /
 *
 * To end and to tell are two things. A pending that is cancelled ends at once, for its
 * task. What completes it is then told, without the lock, and still completes it
 * exactly once, at some time. Until then it holds its reference, so that the memory of
 * the request stays. What it completes with is dropped.
 *
 * What is told may be ending at that moment, on another thread. So what can be told
 * must check by itself whether there is still something to stop, in memory that lives
 * as long as the request.
 *
 * What a task has started and never waited for is not told when the request ends well:
 * it was started to go on by itself.
 */
#include "framework/run/cancel.h"

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
    cancellable->previous = NULL;
    cancellable->next = request->cancellables;
    if (cancellable->next != NULL) {
        cancellable->next->previous = cancellable;
    }
    request->cancellables = cancellable;
}

bool cpti_cancellable_remove(struct cpt_request *request,
                             struct cpti_cancellable *cancellable)
{
    if (!cancellable->is_listed) {
        return false;
    }
    cancellable->is_listed = false;
    *(cancellable->previous != NULL ? &cancellable->previous->next
                                    : &request->cancellables) = cancellable->next;
    if (cancellable->next != NULL) {
        cancellable->next->previous = cancellable->previous;
    }
    return true;
}

struct cpti_cancellable *cpti_cancellable_take(struct cpt_request *request,
                                               struct cpti_cancellable *cancellable,
                                               struct cpti_cancellable *chain)
{
    if (!cpti_cancellable_remove(request, cancellable)) {
        return chain;
    }
    cancellable->next = chain;
    return cancellable;
}

/* --- Telling --- */

void cpti_cancellable_cancel_all(struct cpti_cancellable *chain)
{
    while (chain != NULL) {
        struct cpti_cancellable *next = chain->next; /* it may be freed by being told */

        chain->cancel(chain);
        chain = next;
    }
}

void cpti_request_cancel_ongoing(struct cpt_request *request)
{
    struct cpti_cancellable *chain = NULL;
    cpt_status status = CPT_OK;

    cpti_lock_take(&request->lock);
    status = request->status == CPT_TIMEOUT ? CPT_TIMEOUT : CPT_CANCELLED;
    while (request->cancellables != NULL) {
        struct cpti_cancellable *cancellable = request->cancellables;

        if (cancellable->pending != NULL) {
            cpti_pending_drop(cancellable->pending, status);
            cpti_call_given_up(cancellable->pending);
        }
        chain = cpti_cancellable_take(request, cancellable, chain);
    }
    cpti_lock_release(&request->lock);
    cpti_cancellable_cancel_all(chain);
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
                                        struct cpti_cancellable **chain)
{
    cpti_waiting_remove(task);
    *chain = cpti_task_take_timeout(task, *chain);
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

/* Ends @pending, and what is ongoing for it or for tasks that were started for it. What
 * is to be told; in *@woken the task that waited for @pending, or NULL. Lock held. */
static struct cpti_cancellable *
cancel_all_below(struct cpt_pending *pending, uint64_t now_ns, struct cpt_task **woken)
{
    struct cpt_request *request = pending->request;
    struct cpti_cancellable *chain =
        cpti_cancellable_take(request, &pending->cancellable, NULL);

    *woken = NULL;
    if (pending->task->is_waiting) { /* this is another thread: cpt_mutex_release() */
        *woken = cpti_pending_end(pending, CPT_CANCELLED, now_ns);
    } else {
        cpti_pending_drop(pending, CPT_CANCELLED);
    }
    while (pending != NULL) { /* dropped ones, linked by next */
        struct cpt_pending *rest = pending->next;
        struct cpt_task *task = stranded_task(pending);

        pending->next = NULL;
        cpti_call_given_up(pending);
        chain = cpti_cancellable_take(request, &pending->cancellable, chain);
        pending = task != NULL ? end_stranded(task, rest, &chain) : rest;
    }
    return chain;
}

void cpt_cancel(struct cpt_pending *pending)
{
    struct cpt_request *request = NULL;
    struct cpti_cancellable *chain = NULL;
    struct cpt_task *woken = NULL;
    uint64_t now_ns = 0;

    if (pending == NULL) {
        return;
    }
    request = pending->request;
    now_ns = cpti_record_now(request);
    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        chain = cancel_all_below(pending, now_ns, &woken);
    }
    cpti_lock_release(&request->lock);
    /* Woken first: what is told may give back the last reference but the request's. */
    cpti_task_wake(woken);
    cpti_cancellable_cancel_all(chain);
}

int cpt_task_is_cancelled(struct cpt_task *task)
{
    return atomic_load_explicit(&task->request->is_stopped, memory_order_relaxed) != 0;
}
