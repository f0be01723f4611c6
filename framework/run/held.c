/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * held.c - locks that tasks hold: kept until when, and released once
 *
 *      task fails, or is given up     released at once; if a step runs, when it has
 *                                     returned
 *      task ends with CPT_OK          kept until its request is over: until the
 *                                     outermost request has ended, well or not; so is
 *                                     a lock that it gets later
 *
 * A task that goes on after that, a leftover, keeps what it holds until it ends. It
 * gets no lock any more: one that it waited for may be kept by a task that has ended,
 * and would not be released while the leftover kept the request alive.
 *
 * A leftover that asks for a lock just then sees that the request has ended, or is seen
 * waiting by cpti_locks_end(): both hold the lock of the run that the leftover is of.
 */
#include "framework/run/held.h"

#include "cpt/base/container.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"

LIST_HEAD(woken_tasks, cpt_task);

bool cpti_locks_are_used(const struct cpt_request *request)
{
    while (request->nest.parent != NULL) {
        request = request->nest.parent;
    }
    return atomic_load_explicit(&request->uses_locks, memory_order_relaxed) != 0;
}

void cpti_locks_used(struct cpt_request *request)
{
    cpti_request_share(request);
    while (request->nest.parent != NULL) {
        request = request->nest.parent;
    }
    if (!cpti_locks_are_used(request)) {
        cpti_lock_take(&request->lock);
        atomic_store_explicit(&request->uses_locks, 1, memory_order_relaxed);
        cpti_lock_release(&request->lock);
    }
}

bool cpti_locks_are_over(const struct cpt_request *request)
{
    while (!cpti_request_is_stopped(request)) {
        if (request->nest.parent == NULL) {
            return atomic_load_explicit(&request->is_ended, memory_order_acquire) != 0;
        }
        request = request->nest.parent;
    }
    return true;
}

/* Of the request that has to end for a lock that @request keeps: who waits for the lock
 * needs it. It is there: components are freed before it, and release locks before. */
static atomic_uint *need_of(struct cpt_request *request)
{
    while (request->nest.parent != NULL) {
        request = request->nest.parent;
    }
    return &request->need_count;
}

void cpti_held_add(struct cpti_held *held, struct cpt_task *task)
{
    held->holder = task;
    task->has_held = true;
    held->cancellable.is_listed = true;
    LIST_INSERT_HEAD(&task->request->held_locks, &held->cancellable, link);
    atomic_fetch_add(need_of(task->request), 1);
}

bool cpti_held_remove(struct cpti_held *held, struct cpt_request *request)
{
    const bool was_held = cpti_cancellable_remove(&held->cancellable);

    if (was_held) {
        atomic_fetch_sub(need_of(request), 1);
    }
    return was_held;
}

/* Moves @held, of @request, to @told. */
static void move_one(struct cpt_request *request, struct cpti_cancellable *held,
                     struct cpti_cancellables *told)
{
    cpti_cancellable_move(held, told);
    atomic_fetch_sub(need_of(request), 1);
}

static bool has_ended(const struct cpt_request *request, const struct cpti_held *held)
{
    return atomic_load_explicit(&request->progress[held->task].outcome,
                                memory_order_acquire) < CPT_WAITING;
}

/* Moves what was chosen by @is_chosen. Lock held. */
static inline void move_chosen(struct cpt_request *request,
                               bool (*is_chosen)(const struct cpt_request *request,
                                                 const struct cpti_held *held),
                               struct cpti_cancellables *told)
{
    struct cpti_cancellable *next = NULL;

    for (struct cpti_cancellable *at = LIST_FIRST(&request->held_locks); at != NULL;
         at = next) {
        next = LIST_NEXT(at, link);
        if (is_chosen(request, CPTI_CONTAINER(at, struct cpti_held, cancellable))) {
            move_one(request, at, told);
        }
    }
}

static bool is_idle(const struct cpt_request *request, const struct cpti_held *held)
{
    return has_ended(request, held) || cpti_task_catch(held->holder);
}

void cpti_held_move_idle(struct cpt_request *request, struct cpti_cancellables *told)
{
    move_chosen(request, is_idle, told);
}

void cpti_held_move(struct cpt_request *request, uint32_t number,
                    struct cpti_cancellables *told)
{
    struct cpti_cancellable *next = NULL;

    for (struct cpti_cancellable *at = LIST_FIRST(&request->held_locks); at != NULL;
         at = next) {
        next = LIST_NEXT(at, link);
        if (number == CPTI_NO_TASK ||
            CPTI_CONTAINER(at, struct cpti_held, cancellable)->task == number) {
            move_one(request, at, told);
        }
    }
}

void cpti_held_release(struct cpt_request *request, uint32_t number)
{
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);

    cpti_lock_take(&request->lock);
    cpti_held_move(request, number, &told);
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
}

/* --- The request is over --- */

/* Ends what tasks of @request wait for, if that is a lock; those that go on now are
 * added to @woken. Lock held. */
static void end_waits(struct cpt_request *request, uint64_t now_ns,
                      struct cpti_cancellables *told, struct woken_tasks *woken)
{
    struct cpti_cancellable *at = NULL;
    struct cpti_cancellable *next = NULL;

    for (at = LIST_FIRST(&request->cancellables); at != NULL; at = next) {
        next = LIST_NEXT(at, link);
        if (at->pending != NULL && at->pending->resource != NULL) {
            cpti_cancellable_move(at, told);
        }
    }
    LIST_FOREACH(at, told, link)
    {
        struct cpt_task *task = cpti_pending_end(at->pending, CPT_CANCELLED, now_ns);

        if (task != NULL) { /* it is in no list of those that wait any more */
            LIST_INSERT_HEAD(woken, task, waiting_link);
        }
    }
}

/* In one run. The components of it are put before @rest, those that are yet to be
 * ended. */
static struct cpt_request *end_locks(struct cpt_request *request,
                                     struct cpt_request *rest)
{
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);
    struct woken_tasks woken = LIST_HEAD_INITIALIZER(woken);
    const uint64_t now_ns = cpti_record_now(request);
    struct cpt_task *task = NULL;

    cpti_lock_take(&request->lock);
    rest = cpti_components_chain(request, rest);
    end_waits(request, now_ns, &told, &woken);
    move_chosen(request, has_ended, &told);
    cpti_lock_release(&request->lock);
    while ((task = LIST_FIRST(&woken)) != NULL) {
        LIST_REMOVE(task, waiting_link);
        cpti_task_wake(task);
    }
    cpti_cancellables_cancel(&told);
    return rest;
}

void cpti_locks_end(struct cpt_request *request)
{
    struct cpt_request *next = NULL;

    request->nest.next_over = NULL;
    for (; request != NULL; request = next) {
        next = request->nest.next_over;
        next = end_locks(request, next);
    }
}
