/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cancel.c - telling whatever works for a request that nobody wants it any more
 *
 *      cpt_cancel()                  the task that started it   \
 *      a deadline of a wait          gives it up                 > ends at once, is
 * told the request fails             all that is out            /
 *
 * Ending and telling are two things. A pending that is cancelled has ended at once, for
 * its task; whoever works for it is then told, without the lock, and still completes it
 * exactly once, some time: until then it holds its reference to the request, so that
 * its memory stays. What it completes with is dropped.
 *
 * What was told may be ending just then, on another thread. That is why whoever can be
 * told must look by himself whether there is still something to stop, in memory that
 * lives as long as the request.
 *
 * What a task has started and never waited for is not told when the request ends well:
 * to be forgotten is what it was started for.
 */
#include "framework/run/cancel.h"

#include "framework/run/call.h"
#include "framework/run/recording.h"

#include <assert.h>
#include <stddef.h>

/* --- The list. Lock held. --- */

void cpti_outside_add(struct cpt_request *request, struct cpti_outside *outside)
{
    assert(outside->tell != NULL && !outside->is_listed);
    outside->is_listed = 1;
    outside->previous = NULL;
    outside->next = request->outside;
    if (outside->next != NULL) {
        outside->next->previous = outside;
    }
    request->outside = outside;
}

int cpti_outside_remove(struct cpt_request *request, struct cpti_outside *outside)
{
    if (!outside->is_listed) {
        return 0;
    }
    outside->is_listed = 0;
    *(outside->previous != NULL ? &outside->previous->next : &request->outside) =
        outside->next;
    if (outside->next != NULL) {
        outside->next->previous = outside->previous;
    }
    return 1;
}

struct cpti_outside *cpti_outside_take(struct cpt_request *request,
                                       struct cpti_outside *outside,
                                       struct cpti_outside *chain)
{
    if (!cpti_outside_remove(request, outside)) {
        return chain;
    }
    outside->next = chain;
    return outside;
}

/* --- Telling --- */

void cpti_outside_tell(struct cpti_outside *chain)
{
    while (chain != NULL) {
        struct cpti_outside *next = chain->next; /* it may be listed no more, ever */

        chain->tell(chain);
        chain = next;
    }
}

void cpti_request_cancel_works(struct cpt_request *request)
{
    struct cpti_outside *chain = NULL;
    cpt_status status = CPT_OK;

    cpti_lock_take(&request->lock);
    status = request->status == CPT_TIMEOUT ? CPT_TIMEOUT : CPT_CANCELLED;
    while (request->outside != NULL) {
        struct cpti_outside *outside = request->outside;

        if (outside->pending != NULL) {
            cpti_pending_drop(outside->pending, status);
            cpti_call_given_up(outside->pending);
        }
        chain = cpti_outside_take(request, outside, chain);
    }
    cpti_lock_release(&request->lock);
    cpti_outside_tell(chain);
}

/* The task that @pending stands for, if it waits and nobody else can want what it
 * gives. Lock held. */
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
    return task != NULL && task->blocked == NULL ? task : NULL;
}

/* A task that nobody wants ends where it waits. What it has started is put, dropped,
 * before @dropped. Lock held. */
static struct cpt_pending *end_stranded(struct cpt_task *task,
                                        struct cpt_pending *dropped,
                                        struct cpti_outside **chain)
{
    cpti_waiting_remove(task);
    *chain = cpti_task_take_deadline(task, *chain);
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

/* Ends @pending and what works for it, also that of tasks that were started for it.
 * Lock held. Whoever is to be told; in *@woken the task that waited for it, or NULL. */
static struct cpti_outside *cancel_all_below(struct cpt_pending *pending,
                                             uint64_t now_ns, struct cpt_task **woken)
{
    struct cpt_request *request = pending->request;
    struct cpti_outside *chain = cpti_outside_take(request, &pending->outside, NULL);

    *woken = NULL;
    if (pending->owner->is_waiting) { /* we are another thread: cpt_mutex_release() */
        *woken = cpti_pending_end(pending, CPT_CANCELLED, now_ns);
    } else {
        cpti_pending_drop(pending, CPT_CANCELLED);
    }
    while (pending != NULL) { /* dropped ones, linked by next */
        struct cpt_pending *rest = pending->next;
        struct cpt_task *task = stranded_task(pending);

        pending->next = NULL;
        cpti_call_given_up(pending);
        chain = cpti_outside_take(request, &pending->outside, chain);
        pending = task != NULL ? end_stranded(task, rest, &chain) : rest;
    }
    return chain;
}

void cpt_cancel(struct cpt_pending *pending)
{
    struct cpt_request *request = NULL;
    struct cpti_outside *chain = NULL;
    struct cpt_task *woken = NULL;
    uint64_t now_ns = 0;

    if (pending == NULL) {
        return;
    }
    request = cpti_pending_request(pending);
    now_ns = cpti_record_now(request);
    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        chain = cancel_all_below(pending, now_ns, &woken);
    }
    cpti_lock_release(&request->lock);
    /* First: what is told may give back the last reference but the request's own. */
    cpti_task_wake(woken);
    cpti_outside_tell(chain);
}

/* --- Requests, from outside --- */

int cpt_task_is_cancelled(struct cpt_task *task)
{
    return atomic_load_explicit(&task->request->is_stopped, memory_order_relaxed) != 0;
}

/* Another reference, for somebody who has none: only while somebody else has one beside
 * the request's own, else it is just ending for want of them. */
static int try_to_hold(struct cpt_request *request)
{
    uint_least32_t count =
        atomic_load_explicit(&request->reference_count, memory_order_relaxed);

    while ((count & ~CPTI_OWN_REFERENCE) != 0) {
        if (atomic_compare_exchange_weak_explicit(&request->reference_count, &count,
                                                  count + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return 1;
        }
    }
    return 0;
}

int cpti_request_cancel(struct cpt_request *request)
{
    int is_first = 0;

    if (!try_to_hold(request)) {
        return 0;
    }
    is_first = cpti_request_end(request, CPT_CANCELLED, NULL);
    cpti_request_release(request);
    return is_first;
}

struct cpt_request_handle {
    const struct cpt_alloc *alloc;
    struct cpti_lock lock;       /* guards those below */
    struct cpt_request *request; /* NULL: it is gone */
    unsigned owner_count;        /* whoever was given it, and the request */
};

struct cpt_request_handle *cpti_handle_new(struct cpt_request *request,
                                           const struct cpt_alloc *alloc)
{
    struct cpt_request_handle *handle = cpt_alloc_zeroed(alloc, sizeof *handle);

    if (handle != NULL) {
        handle->alloc = alloc;
        handle->request = request;
        handle->owner_count = 2;
        cpti_lock_init(&handle->lock, CPTI_RANK_HANDLE);
        request->handle = handle;
        cpti_request_share(request);
    }
    return handle;
}

static void drop_handle(struct cpt_request_handle *handle, int is_request)
{
    int is_last = 0;

    cpti_lock_take(&handle->lock);
    if (is_request) {
        handle->request = NULL;
    }
    is_last = --handle->owner_count == 0;
    cpti_lock_release(&handle->lock);
    if (is_last) {
        cpti_lock_deinit(&handle->lock);
        cpt_alloc_free(handle->alloc, handle);
    }
}

void cpti_handle_detach(struct cpt_request *request)
{
    if (request->handle != NULL) {
        drop_handle(request->handle, 1);
        request->handle = NULL;
    }
}

void cpt_request_handle_free(struct cpt_request_handle *handle)
{
    if (handle != NULL) {
        drop_handle(handle, 0);
    }
}

int cpt_request_cancel(struct cpt_request_handle *handle)
{
    struct cpt_request *request = NULL;
    int is_first = 0;

    /* The request cannot go while we have the lock: it would have to detach. */
    cpti_lock_take(&handle->lock);
    request = handle->request;
    if (request != NULL && !try_to_hold(request)) {
        request = NULL;
    }
    cpti_lock_release(&handle->lock);
    /* From here on the handle may be freed by what the end of the request calls. */
    if (request == NULL) {
        return 0;
    }
    is_first = cpti_request_end(request, CPT_CANCELLED, NULL);
    cpti_request_release(request);
    return is_first;
}
