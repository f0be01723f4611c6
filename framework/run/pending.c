/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pending.c - what tasks start and wait for, from its beginning to its end
 *
 *      cpti_pending_begin() --> outstanding --> cpti_pending_end()   its task goes on,
 *                                   |               if it waits for just this
 *                                   '---------> cpti_pending_drop()  given up or
 *                                                                    cancelled
 *
 * A pending ends once, under the lock of its request. Completing it after it was given
 * up only gives back the reference.
 */
#include "framework/run/pending.h"

#include "framework/run/misuse.h"
#include "framework/run/recording.h"
#include "framework/run/task.h"

#include <stddef.h>

/* --- What the application gives us --- */

struct cpt_pending *cpti_pending_failed(cpt_status status)
{
    static struct cpt_pending at_limit = {.status = CPT_LIMIT,
                                          .kind = CPTI_PENDING_FAILED};
    static struct cpt_pending invalid = {.status = CPT_INVALID,
                                         .kind = CPTI_PENDING_FAILED};

    return status == CPT_LIMIT ? &at_limit : &invalid;
}

bool cpti_pending_is_live(const struct cpt_pending *pending)
{
    if (pending == NULL || pending->kind == CPTI_PENDING_NONE) {
        CPTI_MISUSED(stale_pending);
        return false;
    }
    return pending->kind != CPTI_PENDING_FAILED;
}

bool cpti_pending_is(const struct cpt_pending *pending, enum cpti_pending_kind kind)
{
    if (!cpti_pending_is_live(pending)) {
        return false;
    }
    if (pending->kind != kind) {
        CPTI_MISUSED(wrong_kind);
        return false;
    }
    return true;
}

/* --- The list of what is outstanding. Lock held. --- */

void cpti_pending_begin(struct cpt_pending *pending, enum cpti_pending_kind kind,
                        struct cpt_task *task, uint64_t begin_ns)
{
    cpti_request_share(task->request); /* it may end on any thread */
    task->is_used = true;
    pending->kind = (unsigned char)kind;
    pending->request = task->request;
    pending->task = task;
    pending->begin_ns = begin_ns;
    pending->status = CPT_WAITING;
    pending->previous = task->newest;
    *(task->newest != NULL ? &task->newest->next : &task->oldest) = pending;
    task->newest = pending;
    if (pending->cancellable.cancel != NULL) {
        pending->cancellable.pending = pending;
        cpti_cancellable_add(task->request, &pending->cancellable);
    }
}

void cpti_pending_drop(struct cpt_pending *pending, cpt_status status)
{
    struct cpt_task *task = pending->task;

    pending->status = status;
    *(pending->previous != NULL ? &pending->previous->next : &task->oldest) =
        pending->next;
    *(pending->next != NULL ? &pending->next->previous : &task->newest) =
        pending->previous;
    pending->next = NULL;
    pending->previous = NULL;
}

struct cpt_task *cpti_pending_end(struct cpt_pending *pending, cpt_status status,
                                  uint64_t arrive_ns)
{
    struct cpt_task *task = pending->task;

    if (pending->status != CPT_WAITING) {
        return NULL; /* it was given up or cancelled before */
    }
    cpti_pending_drop(pending, status);
    (void)cpti_cancellable_remove(&pending->cancellable);
    cpti_record_arrival(pending, arrive_ns);
    if (__builtin_expect(pending->request->keeps_edges, 0)) {
        cpti_edges_came(pending, arrive_ns);
    }
    if (pending->await_number != task->await_number || task->wanted_count == 0) {
        return NULL; /* its task does not wait for it */
    }
    task->wanted_count--;
    cpti_record_wanted(pending);
    if (!task->is_waiting) {
        return NULL; /* its step has not returned yet */
    }
    if (task->wanted_count != 0) {
        cpti_record_runner_up(task, arrive_ns);
        return NULL;
    }
    return cpti_task_end_wait(task, pending, arrive_ns);
}

void cpti_pending_cancel_by(struct cpt_pending *pending,
                            void (*cancel)(struct cpti_cancellable *cancellable))
{
    struct cpt_request *request = pending->request;

    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        pending->cancellable.cancel = cancel;
        pending->cancellable.pending = pending;
        cpti_cancellable_add(request, &pending->cancellable);
    }
    cpti_lock_release(&request->lock);
}

bool cpti_pending_complete(struct cpt_pending *pending, cpt_status status)
{
    struct cpt_request *request = pending->request;
    const uint64_t arrive_ns = cpti_record_now(request);
    struct cpt_task *task = NULL;

    cpti_lock_take(&request->lock);
    if (pending->is_completed) {
        cpti_lock_release(&request->lock);
        return false; /* its reference is gone */
    }
    pending->is_completed = true;
    task = cpti_pending_end(pending, status, arrive_ns);
    cpti_lock_release(&request->lock);
    cpti_request_continue(request, task);
    return true;
}

void cpt_complete(struct cpt_pending *pending, cpt_status status)
{
    if (!cpti_pending_is(pending, CPTI_PENDING_WORK)) {
        return;
    }
    if (status > 0) {
        CPTI_MISUSED(bad_status);
        status = CPT_INVALID;
    }
    if (!cpti_pending_complete(pending, status)) {
        CPTI_MISUSED(completed_twice);
    }
}

cpt_status cpt_pending_status(struct cpt_pending *pending)
{
    struct cpt_request *request = NULL;
    cpt_status status = CPT_INVALID;

    if (!cpti_pending_is_live(pending)) {
        return pending != NULL && pending->kind == CPTI_PENDING_FAILED ? pending->status
                                                                       : CPT_INVALID;
    }
    request = pending->request;
    cpti_lock_take(&request->lock);
    status = pending->status;
    cpti_lock_release(&request->lock);
    return status;
}

/* --- Starting another task --- */

void cpti_task_release_waiters(struct cpt_request *request, uint32_t number,
                               cpt_status status, uint64_t end_ns)
{
    struct cpti_demand *demand = cpti_request_demand(request, number);

    if (!request->is_shared) {
        return; /* nothing has been started yet */
    }
    for (;;) {
        struct cpt_pending *pending = NULL;
        struct cpt_task *task = NULL;

        cpti_lock_take(&request->lock);
        pending = demand->waiters;
        if (pending != NULL) {
            demand->waiters = pending->next_waiter;
            task = cpti_pending_end(pending, status, end_ns);
        }
        cpti_lock_release(&request->lock);
        if (pending == NULL) {
            return;
        }
        cpti_task_wake(task);
    }
}

/* Begins @made as what stands for task @number. The first task that starts it is its
 * starter: *@is_first. Lock held. */
static void stand_for(struct cpt_pending *made, uint32_t number, struct cpt_task *task,
                      uint64_t now_ns, bool *is_first)
{
    struct cpt_request *request = task->request;
    struct cpti_demand *demand = cpti_request_demand(request, number);
    const cpt_status outcome = cpti_request_outcome(request, number);

    made->stands_for = number + 1;
    cpti_pending_begin(made, CPTI_PENDING_TASK, task, now_ns);
    if (request->keeps_edges && cpti_record_trace(task) == NULL) {
        cpti_record_lost(request);
    }
    if (!demand->is_started && !request->plan->tasks[number].is_eager) {
        demand->is_started = true;
        demand->starter = task->number + 1;
        demand->started_ns = now_ns;
        *is_first = true;
    }
    if (outcome != CPT_WAITING) {
        (void)cpti_pending_end(made, outcome, now_ns);
    } else {
        made->next_waiter = demand->waiters;
        demand->waiters = made;
    }
}

/* The pending of @task that stands for task @number; a new one if it has none. One that
 * was cancelled or given up does not count: its task may even have been another one.
 * One that has failed at the memory limit. Lock held. */
static struct cpt_pending *start_task(struct cpt_task *task, uint32_t number,
                                      uint64_t now_ns, bool *is_first)
{
    struct cpt_request *request = task->request;
    struct cpt_pending *pending = cpti_request_demand(request, number)->waiters;

    while (pending != NULL &&
           (pending->task != task || pending->status != CPT_WAITING)) {
        pending = pending->next_waiter;
    }
    if (pending == NULL) {
        pending = cpt_arena_take(&request->arena, sizeof *pending);
        if (pending == NULL) {
            return cpti_pending_failed(CPT_LIMIT);
        }
        stand_for(pending, number, task, now_ns, is_first);
    }
    return pending;
}

struct cpt_pending *cpt_task_start(struct cpt_task *task, const struct cpt_value *value)
{
    struct cpt_request *request = task->request;
    const uint32_t slot =
        cpti_plan_slot(request->plan, cpti_task_plan(task)->start_slots,
                       cpti_task_plan(task)->start_count, value);
    struct cpti_ready ready = {0, 0};
    struct cpt_pending *pending = NULL;
    uint32_t number = 0;
    uint64_t now_ns = 0;
    bool is_first = false;

    if (slot == UINT32_MAX) {
        CPTI_MISUSED(undeclared_value);
        return cpti_pending_failed(CPT_INVALID);
    }
    number = request->plan->slots[slot].giver;
    now_ns = cpti_record_now(request);
    cpti_lock_take(&request->lock);
    pending = start_task(task, number, now_ns, &is_first);
    cpti_lock_release(&request->lock);
    if (is_first && cpti_task_input_arrived(request, number, task->number)) {
        cpti_ready_add(request, &ready, number);
        cpti_ready_submit(request, ready);
    }
    return pending;
}
