/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cancel.c - gives up what is not wanted any more: a part of a request, or all of it
 *
 *      cpt_cancel()              a pending            \
 *      a timeout of a wait       all that its task     > ends at once, and all that was
 *                                waits for            /  started for it
 *      a task fails              all that it started
 *      the request fails         all that is ongoing
 *
 * Ending and telling are separate. A pending that is given up ends at once for its
 * task. The work that completes it is then told to stop, without the lock, and still
 * completes it exactly once, later. Until then the work holds its reference, which
 * keeps the memory of the request. Its result is dropped.
 *
 * Work that is told may be ending at that moment, on another thread. So it must check
 * by itself whether there is still something to stop, in memory that lives as long as
 * the request.
 *
 * A task that was started goes with its pending, unless others may want what it gives:
 *
 *      page --starts--> ads --starts--> deep, a call, a component, a lock
 *       '- gives up      '- ends here:   '- so do these: told, released
 *
 * If no step of it runs, it ends here, with all that it has started in turn. If one
 * runs, or it has not begun, then the outcome CPTI_GIVEN_UP is a message to the thread
 * that has the task, and the same happens once that step has returned: see
 * cpti_task_give_up_rest(). One compare-and-exchange of the outcome decides whether the
 * task was given up or had ended before. CPTI_STOP_SOME tells threads to look.
 *
 * Tasks follow one another in a list through their demands, not by recursion.
 * Components are told, and end what is theirs with a lock of their own.
 *
 * Work that a task started and never waited for is not told when the request succeeds:
 * it was started to continue by itself.
 */
#include "framework/run/cancel.h"

#include "framework/run/call.h"
#include "framework/run/handle.h"
#include "framework/run/held.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/wait.h"

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

/* --- Telling --- */

void cpti_cancellables_cancel(struct cpti_cancellables *told)
{
    struct cpti_cancellable *first = NULL;

    while ((first = LIST_FIRST(told)) != NULL) {
        assert(!first->is_listed); /* else another one could tell it again */
        LIST_REMOVE(first, link);  /* it may be freed by being told */
        first->cancel(first);
    }
}

/* --- All of a request --- */

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
    cpti_held_move_idle(request, &told);
    cpti_components_tell(request, CPTI_NO_TASK, &told);
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
}

void cpti_request_give_up(struct cpt_request *request)
{
    if (!cpti_request_cancel(request)) { /* it had ended; tasks may go on */
        (void)atomic_fetch_or_explicit(&request->stops, CPTI_STOP_ALL,
                                       memory_order_relaxed);
        cpti_request_cancel_ongoing(request);
    }
}

/* --- Tasks that were started. Lock held. --- */

/* What is being given up. */
struct giving {
    struct cpt_request *request;
    uint32_t first; /* task that is yet to be: number + 1; 0: none */
    struct cpti_cancellables *told;
};

/* No task wants task @number, which was started, any more. */
static void add_task(struct giving *giving, uint32_t number)
{
    struct cpti_demand *demand = cpti_request_demand(giving->request, number);

    if (!demand->is_given && !giving->request->plan->tasks[number].is_eager) {
        demand->is_given = true;
        demand->next_given = giving->first;
        giving->first = number + 1;
    }
}

/* @pending was dropped. */
static void follow(struct giving *giving, struct cpt_pending *pending)
{
    cpti_call_given_up(pending);
    cpti_cancellable_move(&pending->cancellable, giving->told);
    if (pending->stands_for != 0 &&
        giving->request->plan->tasks[pending->stands_for - 1].starter_count == 1) {
        add_task(giving, pending->stands_for - 1);
    }
}

static void drop_all(struct giving *giving, struct cpt_task *task, cpt_status status)
{
    while (task->oldest != NULL) {
        struct cpt_pending *pending = task->oldest;

        cpti_pending_drop(pending, status);
        follow(giving, pending);
    }
}

/* Task @number starts nothing any more, and does not want what it has started. A task
 * that only such ones may start goes, too. */
static void leave_started(struct giving *giving, uint32_t number)
{
    const struct cpt_plan *plan = giving->request->plan;
    const struct cpti_plan_task *own = &plan->tasks[number];

    for (uint32_t i = 0; i < own->start_count; i++) {
        const uint32_t started = plan->slots[own->start_slots[i]].giver;
        struct cpti_demand *demand = cpti_request_demand(giving->request, started);

        if (++demand->gone_count == plan->tasks[started].starter_count) {
            add_task(giving, started);
        }
    }
}

/* @task, of which no step runs, will run none any more: gives up all that is its. */
static void give_up_rest(struct giving *giving, struct cpt_task *task)
{
    drop_all(giving, task, CPT_CANCELLED);
    if (task->has_held) {
        cpti_held_move(giving->request, task->number, giving->told);
    }
    if (task->has_components) {
        cpti_components_tell(giving->request, task->number, giving->told);
    }
    leave_started(giving, task->number);
}

bool cpti_task_catch(struct cpt_task *task)
{
    unsigned char turn = CPTI_TURN_QUEUED;

    if (task->is_waiting) {
        return task->wait == NULL;
    }
    /* Relaxed: what its thread wrote before it queued is seen by the lock. */
    return atomic_compare_exchange_strong_explicit(&task->turn, &turn, CPTI_TURN_LOST,
                                                   memory_order_relaxed,
                                                   memory_order_relaxed) ||
           turn == CPTI_TURN_LOST;
}

/* Task @number has not ended; @task is its activation, or NULL if it has not waited. */
static void end_or_warn(struct giving *giving, uint32_t number, struct cpt_task *task)
{
    struct cpt_request *request = giving->request;

    (void)atomic_fetch_or_explicit(&request->stops, CPTI_STOP_SOME,
                                   memory_order_relaxed);
    if (task != NULL && cpti_task_catch(task)) {
        if (task->is_waiting) {
            cpti_waiting_remove(task);
            cpti_task_take_timeout(task, giving->told);
        }
        atomic_store_explicit(&task->turn, CPTI_TURN_LOST, memory_order_relaxed);
        give_up_rest(giving, task);
        atomic_store_explicit(&request->progress[number].outcome, CPT_CANCELLED,
                              memory_order_release);
    } else if (task != NULL && task->wait != NULL) {
        cpti_cancellable_move(&task->wait->cancellable, giving->told);
    }
}

static void give_up_task(struct giving *giving, uint32_t number)
{
    struct cpt_request *request = giving->request;
    struct cpti_demand *demand = cpti_request_demand(request, number);
    int32_t outcome = CPT_WAITING;

    if (atomic_compare_exchange_strong_explicit(
            &request->progress[number].outcome, &outcome, CPTI_GIVEN_UP,
            memory_order_acq_rel, memory_order_acquire)) {
        end_or_warn(giving, number, demand->task);
        if (!demand->is_started) { /* and never will be */
            leave_started(giving, number);
        }
    } else if (outcome == CPT_OK) { /* what it left goes on until now */
        if (demand->task != NULL) {
            drop_all(giving, demand->task, CPT_CANCELLED);
        }
        leave_started(giving, number);
    }
}

static void give_up_tasks(struct giving *giving)
{
    while (giving->first != 0) {
        const uint32_t number = giving->first - 1;

        giving->first = cpti_request_demand(giving->request, number)->next_given;
        give_up_task(giving, number);
    }
}

void cpti_task_drop_all(struct cpt_task *task, cpt_status status,
                        struct cpti_cancellables *told)
{
    struct giving giving = {.request = task->request, .told = told};

    drop_all(&giving, task, status);
    give_up_tasks(&giving);
}

/* --- A task of this thread. Lock not held. --- */

bool cpti_task_is_given_up(const struct cpt_task *task)
{
    const struct cpt_request *request = task->request;

    return (atomic_load_explicit(&request->stops, memory_order_relaxed) &
            CPTI_STOP_SOME) != 0 &&
           atomic_load_explicit(&request->progress[task->number].outcome,
                                memory_order_acquire) == CPTI_GIVEN_UP;
}

void cpti_task_give_up_rest(struct cpt_task *task)
{
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);
    struct giving giving = {.request = task->request, .told = &told};

    cpti_lock_take(&task->request->lock);
    give_up_rest(&giving, task);
    give_up_tasks(&giving);
    cpti_lock_release(&task->request->lock);
    cpti_cancellables_cancel(&told);
}

/* --- A pending --- */

/* Ends @pending, and all that was started for it. The task that waited for @pending, or
 * NULL. Lock held. */
static struct cpt_task *give_up(struct cpt_pending *pending, uint64_t now_ns,
                                struct cpti_cancellables *told)
{
    struct giving giving = {.request = pending->request, .told = told};
    struct cpt_task *woken = NULL;

    cpti_cancellable_move(&pending->cancellable, told);
    if (pending->task->is_waiting) { /* this is another thread: cpt_mutex_release() */
        woken = cpti_pending_end(pending, CPT_CANCELLED, now_ns);
    } else {
        cpti_pending_drop(pending, CPT_CANCELLED);
    }
    follow(&giving, pending);
    give_up_tasks(&giving);
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
        woken = give_up(pending, now_ns, &told);
    }
    cpti_lock_release(&request->lock);
    /* Woken first: what is told may give back the last reference but the request's. */
    cpti_task_wake(woken);
    cpti_cancellables_cancel(&told);
}

int cpt_task_is_cancelled(struct cpt_task *task)
{
    return cpti_request_is_stopped(task->request) || cpti_task_is_given_up(task);
}
