/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pending.c - what tasks start, call and wait for
 *
 * A task's step asks to wait and returns; only then, with the lock held, is it decided
 * whether there is still something to wait for. Whatever ends meanwhile ends before or
 * after that, never in between:
 *
 *      step returns CPT_WAITING          somebody completes
 *          |                                 |
 *      lock: outstanding?                lock: status = …
 *        no  -> next step at once              the task waits for just this?
 *        yes -> it waits, unlock                 -> it goes on: submitted after unlock
 *
 * A deadline is a timer. It is set before the task waits, so that whoever ends the wait
 * finds it set, and cancelled without the lock, as an executor may have to wait for one
 * that is just firing, which needs the lock.
 */
#include "framework/run/recording.h"

#include "cpt/cpt_path.h"
#include "framework/run/call.h"
#include "framework/run/wait.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The end of a wait that was not to be longer. In the arena; it holds a reference to
 * the request until it fired or was cancelled. */
struct cpti_deadline {
    struct cpt_timer timer;
    struct cpti_outside outside; /* listed while its task waits */
    struct cpt_request *request;
    struct cpt_task *task; /* another one's, perhaps, once it does not wait any more */
    unsigned char has_fired; /* guarded by the request's lock */
};

/* cpt_sleep(). */
struct sleep {
    struct cpt_timer timer;
    struct cpt_pending pending;
};

/* cpt_defer_cancellable(). */
struct deferred {
    struct cpt_pending pending;
    void (*cancel)(void *context);
    void *context;
};

/* Without the lock; the caller has a reference beside that of the timer. */
static void cancel_timer(struct cpt_request *request, struct cpt_timer *timer)
{
    if (request->executor->cancel(request->executor, timer)) {
        cpti_request_release(request);
    }
}

/* --- The list of what is outstanding. Lock held. --- */

void cpti_pending_begin(struct cpt_pending *pending, struct cpt_task *owner,
                        uint64_t begin_ns)
{
    cpti_request_share(owner->request); /* its end may come from anywhere */
    owner->is_used = 1;
    pending->request = owner->request;
    pending->owner = owner;
    pending->begin_ns = begin_ns;
    pending->status = CPT_WAITING;
    pending->previous = owner->newest;
    *(owner->newest != NULL ? &owner->newest->next : &owner->oldest) = pending;
    owner->newest = pending;
    if (pending->outside.tell != NULL) {
        pending->outside.pending = pending;
        cpti_outside_add(owner->request, &pending->outside);
    }
}

static void unlink_pending(struct cpt_pending *pending)
{
    struct cpt_task *owner = pending->owner;

    *(pending->previous != NULL ? &pending->previous->next : &owner->oldest) =
        pending->next;
    *(pending->next != NULL ? &pending->next->previous : &owner->newest) =
        pending->previous;
    pending->next = NULL;
    pending->previous = NULL;
}

void cpti_pending_drop(struct cpt_pending *pending, cpt_status status)
{
    pending->status = status;
    unlink_pending(pending);
}

void cpti_pending_tell_by(struct cpt_pending *pending,
                          void (*tell)(struct cpti_outside *outside))
{
    struct cpt_request *request = cpti_pending_request(pending);

    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        pending->outside.tell = tell;
        pending->outside.pending = pending;
        cpti_outside_add(request, &pending->outside);
    }
    cpti_lock_release(&request->lock);
}

/* The wait of @task is over: its deadline, if the request's end has not told it, is for
 * whoever wakes the task. */
static void take_deadline(struct cpt_task *task)
{
    if (task->deadline != NULL &&
        !cpti_outside_remove(task->request, &task->deadline->outside)) {
        task->deadline = NULL;
    }
}

struct cpt_task *cpti_pending_end(struct cpt_pending *pending, cpt_status status,
                                  uint64_t arrive_ns)
{
    struct cpt_task *owner = pending->owner;

    if (pending->status != CPT_WAITING) {
        return NULL; /* it was given up or cancelled before */
    }
    cpti_pending_drop(pending, status);
    (void)cpti_outside_remove(owner->request, &pending->outside);
    if (pending->call != NULL && !cpti_record_is_over(owner->request)) {
        pending->call->arrive_ns = arrive_ns;
    }
    if (pending->await_number != owner->await_number || owner->wanted_count == 0) {
        return NULL;
    }
    owner->wanted_count--;
    if (!owner->is_waiting) {
        return NULL;
    }
    if (owner->wanted_count != 0) {
        cpti_record_runner_up(owner, arrive_ns);
        return NULL;
    }
    cpti_waiting_remove(owner);
    take_deadline(owner);
    cpti_record_release(owner, pending->call, pending->stands_for, arrive_ns);
    if (owner->blocked != NULL) {
        cpti_blocked_end(owner);
        return NULL;
    }
    return owner;
}

void cpti_task_wake(struct cpt_task *task)
{
    struct cpti_deadline *deadline = task != NULL ? task->deadline : NULL;

    if (task == NULL) {
        return;
    }
    if (deadline != NULL) {
        task->deadline = NULL; /* ours alone: who ended the wait */
        cancel_timer(task->request, &deadline->timer);
    }
    cpti_task_submit(task);
}

void cpti_task_release_waiters(struct cpt_request *request, uint32_t number,
                               cpt_status status, uint64_t end_ns)
{
    struct cpti_demand *demand = cpti_request_demand(request, number);

    if (!request->is_shared) {
        return; /* nobody has started anything yet */
    }
    for (;;) {
        struct cpt_pending *pending = NULL;
        struct cpt_task *owner = NULL;

        cpti_lock_take(&request->lock);
        pending = demand->waiters;
        if (pending != NULL) {
            demand->waiters = pending->next_waiter;
            owner = cpti_pending_end(pending, status, end_ns);
        }
        cpti_lock_release(&request->lock);
        if (pending == NULL) {
            return;
        }
        cpti_task_wake(owner);
    }
}

/* --- Sleeps that nobody waits for --- */

/* One that is just firing finds that it has ended. */
static void tell_sleep(struct cpti_outside *outside)
{
    struct sleep *sleep =
        (struct sleep *)((char *)outside->pending - offsetof(struct sleep, pending));

    cancel_timer(cpti_pending_request(outside->pending), &sleep->timer);
}

void cpti_task_end_sleeps(struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    struct cpt_pending *next = NULL;
    struct cpti_outside *chain = NULL;

    cpti_lock_take(&request->lock);
    for (struct cpt_pending *pending = task->oldest; pending != NULL; pending = next) {
        next = pending->next;
        if (pending->outside.tell == tell_sleep) {
            cpti_pending_drop(pending, CPT_CANCELLED);
            chain = cpti_outside_take(request, &pending->outside, chain);
        }
    }
    cpti_lock_release(&request->lock);
    cpti_outside_tell(chain);
}

/* --- Deadlines --- */

/* The time is over: all that is outstanding is given up. The one that was started first
 * stands on the path (the list is in that order). Lock held. Whoever is to be told of
 * it, once the lock is released. */
static struct cpti_outside *give_up(struct cpt_task *task, uint64_t now_ns)
{
    struct cpt_request *request = task->request;
    struct cpt_trace_call *call = NULL;
    struct cpti_outside *chain = NULL;

    if (task->oldest != NULL) { /* else the request has failed */
        call = cpti_record_timeout(task->oldest, now_ns);
    }
    while (task->oldest != NULL) {
        struct cpt_pending *pending = task->oldest;

        cpti_pending_drop(pending, CPT_TIMEOUT);
        cpti_call_given_up(pending);
        chain = cpti_outside_take(request, &pending->outside, chain);
    }
    if (task->is_waiting) {
        cpti_waiting_remove(task);
    }
    task->wanted_count = 0;
    task->has_runner_up = 0;
    cpti_record_release(task, call, 0, now_ns);
    return chain;
}

/* The request has failed: the wait will not end any more. */
static void tell_deadline(struct cpti_outside *outside)
{
    struct cpti_deadline *deadline =
        (struct cpti_deadline *)((char *)outside -
                                 offsetof(struct cpti_deadline, outside));

    cancel_timer(deadline->request, &deadline->timer);
}

struct cpti_outside *cpti_task_take_deadline(struct cpt_task *task,
                                             struct cpti_outside *chain)
{
    struct cpti_deadline *deadline = task->deadline;

    task->deadline = NULL;
    return deadline != NULL
               ? cpti_outside_take(task->request, &deadline->outside, chain)
               : chain;
}

static void fire_deadline(struct cpt_timer *timer)
{
    struct cpti_deadline *deadline =
        (struct cpti_deadline *)((char *)timer - offsetof(struct cpti_deadline, timer));
    struct cpt_task *task = deadline->task;
    struct cpt_request *request = deadline->request;
    const uint64_t now_ns = cpti_record_now(request);
    struct cpti_outside *chain = NULL;
    int has_ended_wait = 0;

    cpti_lock_take(&request->lock);
    deadline->has_fired = 1;
    if (cpti_outside_remove(request, &deadline->outside)) { /* its task waits */
        task->deadline = NULL;
        /* Had the request just failed, its path is fixed; what is out is told by it. */
        has_ended_wait = !cpti_record_is_over(request);
        chain = has_ended_wait ? give_up(task, now_ns) : NULL;
    }
    cpti_lock_release(&request->lock);
    cpti_outside_tell(chain);
    if (has_ended_wait) {
        cpti_task_submit(task);
    }
    cpti_request_release(request);
}

/* Sets the timer of a wait. */
static cpt_status set_deadline(struct cpt_task *task, struct cpti_deadline **deadline)
{
    struct cpt_request *request = task->request;
    struct cpt_executor *executor = request->executor;
    struct cpti_deadline *made = cpti_request_take(request, sizeof *made);
    cpt_status status = CPT_LIMIT;

    if (made == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    made->request = request;
    made->task = task;
    made->timer.fire = fire_deadline;
    made->outside.tell = tell_deadline;
    cpti_request_hold(request);
    status = executor->after(executor, &made->timer, task->timeout_ns);
    if (status != CPT_OK) {
        cpti_request_release(request);
        return cpt_fail(task, status, "executor \"%s\" cannot set a timer: %s",
                        executor->name, cpt_status_sentence(status));
    }
    *deadline = made;
    return CPT_OK;
}

int cpti_task_wait(struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    const uint64_t block_ns = cpti_record_now(request);
    struct cpti_deadline *deadline = NULL;
    struct cpti_outside *chain = NULL;
    int waits = 0;

    if (task->timeout_ns != 0) {
        const cpt_status status = set_deadline(task, &deadline);

        if (status != CPT_OK) {
            return status;
        }
    }
    cpti_lock_take(&request->lock);
    waits = task->wanted_count != 0;
    if (waits) {
        cpti_record_block(task, block_ns);
        if (deadline != NULL && deadline->has_fired) {
            chain = give_up(task, cpti_record_now(request));
            deadline = NULL;
            waits = 0;
        } else {
            cpti_waiting_add(task);
            /* Had the request just failed, nobody would tell it any more. */
            if (deadline != NULL &&
                !atomic_load_explicit(&request->is_stopped, memory_order_relaxed)) {
                cpti_outside_add(request, &deadline->outside);
                task->deadline = deadline;
                deadline = NULL;
            }
        }
    }
    cpti_lock_release(&request->lock);
    cpti_outside_tell(chain);
    if (deadline != NULL) { /* nobody needs it */
        cancel_timer(request, &deadline->timer);
    }
    return waits;
}

/* --- What a step may do --- */

/* Begins a new wait that nothing belongs to yet. Lock held. */
static void begin_wait(struct cpt_task *task)
{
    task->await_number++; /* 0 is that of a pending that no wait was for */
    task->wanted_count = 0;
}

/* @pending belongs to the wait. 1: it has not ended. Lock held. */
static int add_to_wait(struct cpt_task *task, struct cpt_pending *pending)
{
    if (pending->status != CPT_WAITING) {
        return 0;
    }
    pending->await_number = task->await_number;
    return 1;
}

static cpt_status ask(struct cpt_task *task, uint64_t timeout_ns, cpt_task_fn next)
{
    assert(next != NULL);
    task->timeout_ns = timeout_ns;
    task->next = next;
    task->has_asked = 1;
    return CPT_WAITING;
}

static cpt_status check_awaited(struct cpt_task *task,
                                const struct cpt_pending *pending)
{
    if (pending == NULL) {
        return cpt_fail(
            task, CPT_LIMIT,
            "there is nothing to wait for: the memory limit of the request was "
            "reached, or the value is not declared with CPT_STARTS");
    }
    if (pending->owner != task) {
        return cpt_fail(task, CPT_INVALID, "a task can wait only for what it started");
    }
    return CPT_OK;
}

cpt_status cpt_await_some(struct cpt_task *task, struct cpt_pending *const *pendings,
                          size_t pending_count, size_t wanted_count, cpt_task_fn next)
{
    size_t ended_count = 0;
    size_t outstanding_count = 0;

    for (size_t i = 0; i < pending_count; i++) {
        const cpt_status status = check_awaited(task, pendings[i]);

        if (status != CPT_OK) {
            return status;
        }
    }
    cpti_lock_take(&task->request->lock);
    begin_wait(task);
    for (size_t i = 0; i < pending_count; i++) {
        const int is_outstanding = add_to_wait(task, pendings[i]);

        outstanding_count += (size_t)is_outstanding;
        ended_count += (size_t)!is_outstanding;
    }
    if (wanted_count > ended_count) {
        wanted_count -= ended_count;
        task->wanted_count =
            (uint32_t)(wanted_count < outstanding_count ? wanted_count
                                                        : outstanding_count);
    }
    cpti_lock_release(&task->request->lock);
    return ask(task, 0, next);
}

cpt_status cpt_await(struct cpt_task *task, struct cpt_pending *pending,
                     cpt_task_fn next)
{
    return cpt_await_some(task, &pending, 1, 1, next);
}

static cpt_status await_all(struct cpt_task *task, uint64_t timeout_ns,
                            cpt_task_fn next)
{
    cpti_lock_take(&task->request->lock);
    begin_wait(task);
    for (struct cpt_pending *pending = task->oldest; pending != NULL;
         pending = pending->next) {
        task->wanted_count += (uint32_t)add_to_wait(task, pending);
    }
    cpti_lock_release(&task->request->lock);
    return ask(task, timeout_ns, next);
}

cpt_status cpt_await_all(struct cpt_task *task, cpt_task_fn next)
{
    return await_all(task, 0, next);
}

cpt_status cpt_await_all_for(struct cpt_task *task, uint64_t timeout_ns,
                             cpt_task_fn next)
{
    return await_all(task, timeout_ns != 0 ? timeout_ns : 1, next);
}

cpt_status cpt_pending_status(struct cpt_pending *pending)
{
    struct cpt_request *request = pending->request;
    cpt_status status = CPT_OK;

    cpti_lock_take(&request->lock);
    status = pending->status;
    cpti_lock_release(&request->lock);
    return status;
}

/* --- Starting another task --- */

/* What stands for task @number in the eyes of @owner. Lock held. The first who starts
 * it is its starter: *@is_first. */
static void stand_for(struct cpt_pending *made, uint32_t number, struct cpt_task *owner,
                      uint64_t now_ns, int *is_first)
{
    struct cpt_request *request = owner->request;
    struct cpti_demand *demand = cpti_request_demand(request, number);
    const cpt_status outcome =
        atomic_load_explicit(&request->progress[number].outcome, memory_order_acquire);

    made->stands_for = number + 1;
    cpti_pending_begin(made, owner, now_ns);
    if (!demand->is_started && !request->plan->tasks[number].is_eager) {
        demand->is_started = 1;
        demand->starter = owner->number + 1;
        demand->started_ns = now_ns;
        *is_first = 1;
    }
    if (outcome != CPT_WAITING) {
        (void)cpti_pending_end(made, outcome, now_ns);
    } else {
        made->next_waiter = demand->waiters;
        demand->waiters = made;
    }
}

/* The same, or what @owner has already: not what was cancelled or given up, of which
 * the owner may even have been another task. Lock held. NULL at the memory limit. */
static struct cpt_pending *start_task(struct cpt_task *owner, uint32_t number,
                                      uint64_t now_ns, int *is_first)
{
    struct cpt_request *request = owner->request;
    struct cpt_pending *pending = cpti_request_demand(request, number)->waiters;

    while (pending != NULL &&
           (pending->owner != owner || pending->status != CPT_WAITING)) {
        pending = pending->next_waiter;
    }
    if (pending == NULL) {
        pending = cpt_arena_take(&request->arena, sizeof *pending);
        if (pending != NULL) {
            stand_for(pending, number, owner, now_ns, is_first);
        }
    }
    return pending;
}

struct cpt_pending *cpt_task_start(struct cpt_task *owner,
                                   const struct cpt_value *value)
{
    struct cpt_request *request = owner->request;
    const uint32_t slot = cpti_plan_slot(request->plan, owner->plan->start_slots,
                                         owner->plan->start_count, value);
    struct cpti_ready ready = {0, 0};
    struct cpt_pending *pending = NULL;
    uint32_t number = 0;
    uint64_t now_ns = 0;
    int is_first = 0;

    if (slot == UINT32_MAX) {
        return NULL;
    }
    number = request->plan->slots[slot].giver;
    now_ns = cpti_record_now(request);
    cpti_lock_take(&request->lock);
    pending = start_task(owner, number, now_ns, &is_first);
    cpti_lock_release(&request->lock);
    if (is_first && cpti_task_input_arrived(request, number, owner->number)) {
        cpti_ready_add(request, &ready, number);
        cpti_ready_submit(request, ready);
    }
    return pending;
}

/* --- Work elsewhere --- */

/* "A: name" in the arena, or nothing. Lock held. */
static struct cpt_bytes frame_name(struct cpt_task *task, const char *name)
{
    const struct cpt_bytes service = task->request->plan->service;
    const size_t bytes = service.bytes + 2 + strlen(name);
    char *text = cpt_arena_take(&task->request->arena, bytes + 1);
    char *cut = cpt_arena_take(&task->request->arena, CPT_NAME_BYTES_MAX + 1);

    if (text == NULL || cut == NULL) {
        return (struct cpt_bytes){NULL, 0};
    }
    (void)snprintf(text, bytes + 1, "%.*s: %s", (int)service.bytes, service.data, name);
    return cpt_name_bound((struct cpt_bytes){text, bytes}, cut);
}

/* The record of work under @name, or of a wait of @kind that is no work, below the
 * frame
 * @name as it is, or below the task. NULL if it is not traced, or lost. Lock held. */
static struct cpt_trace_call *issue_elsewhere(struct cpt_task *task, const char *name,
                                              unsigned kind, uint64_t now_ns)
{
    struct cpt_trace_call *call = NULL;
    struct cpt_bytes frame = {NULL, 0};

    if (task->record == NULL) {
        return NULL;
    }
    if (kind == CPT_KIND_WORK) {
        frame = frame_name(task, name);
        if (frame.data == NULL) {
            cpti_record_lost(task->request);
            return NULL;
        }
        if (!cpti_plan_takes_name(task->request->plan, frame)) {
            name = NULL;
            kind = CPT_KIND_OTHER;
        }
    }
    if (kind != CPT_KIND_WORK) {
        frame = name != NULL ? cpt_bytes_of(name) : (struct cpt_bytes){NULL, 0};
        call = cpti_record_issue(task, frame, CPT_CALL_KIND, now_ns);
        if (call != NULL) {
            call->kind = (unsigned char)kind;
        }
        return call;
    }
    return cpti_record_issue(task, frame, CPT_CALL_LOCAL, now_ns);
}

/* Begins @pending as work under @name and takes the reference that its end releases. */
static void begin_elsewhere(struct cpt_pending *pending, struct cpt_task *task,
                            const char *name, unsigned kind)
{
    struct cpt_request *request = task->request;
    const uint64_t now_ns = cpti_record_now(request);

    cpti_lock_take(&request->lock);
    pending->call = issue_elsewhere(task, name, kind, now_ns);
    cpti_pending_begin(pending, task, now_ns);
    cpti_lock_release(&request->lock);
    cpti_request_hold(request);
}

struct cpt_pending *cpt_defer(struct cpt_task *task, const char *name)
{
    struct cpt_pending *pending = cpti_request_take(task->request, sizeof *pending);

    if (pending != NULL) {
        begin_elsewhere(pending, task, name, CPT_KIND_WORK);
    }
    return pending;
}

static void tell_deferred(struct cpti_outside *outside)
{
    const struct deferred *deferred =
        (const struct deferred *)((const char *)outside->pending -
                                  offsetof(struct deferred, pending));

    deferred->cancel(deferred->context);
}

struct cpt_pending *cpt_defer_cancellable(struct cpt_task *task, const char *name,
                                          void (*cancel)(void *context), void *context)
{
    struct deferred *deferred = cpti_request_take(task->request, sizeof *deferred);

    if (deferred == NULL) {
        return NULL;
    }
    deferred->cancel = cancel;
    deferred->context = context;
    deferred->pending.outside.tell = tell_deferred;
    begin_elsewhere(&deferred->pending, task, name, CPT_KIND_WORK);
    return &deferred->pending;
}

void cpt_complete(struct cpt_pending *pending, cpt_status status)
{
    struct cpt_request *request = pending->request;
    const uint64_t now_ns = cpti_record_now(request);
    struct cpt_task *owner = NULL;

    assert(pending->stands_for == 0 && status <= 0);
    cpti_lock_take(&request->lock);
    owner = cpti_pending_end(pending, status, now_ns);
    cpti_lock_release(&request->lock);
    cpti_task_wake(owner);
    cpti_request_release(request);
}

static void fire_sleep(struct cpt_timer *timer)
{
    struct sleep *sleep =
        (struct sleep *)((char *)timer - offsetof(struct sleep, timer));

    cpt_complete(&sleep->pending, CPT_OK);
}

/* A timer that stands on the path as issue_elsewhere() says. */
static struct cpt_pending *begin_sleep(struct cpt_task *task, const char *name,
                                       unsigned kind, uint64_t delay_ns)
{
    struct cpt_executor *executor = task->request->executor;
    struct sleep *sleep = cpti_request_take(task->request, sizeof *sleep);
    cpt_status status = CPT_OK;

    if (sleep == NULL) {
        return NULL;
    }
    sleep->timer.fire = fire_sleep;
    task->has_slept = 1;
    begin_elsewhere(&sleep->pending, task, name, kind);
    status = executor->after(executor, &sleep->timer, delay_ns);
    if (status != CPT_OK) {
        cpt_complete(&sleep->pending, status);
    } else {
        cpti_pending_tell_by(&sleep->pending, tell_sleep);
    }
    return &sleep->pending;
}

struct cpt_pending *cpt_sleep(struct cpt_task *task, const char *name,
                              uint64_t delay_ns)
{
    return begin_sleep(task, name, CPT_KIND_WORK, delay_ns);
}

struct cpt_pending *cpt_back_off(struct cpt_task *task, uint64_t delay_ns)
{
    return begin_sleep(task, NULL, CPT_KIND_BACKOFF, delay_ns);
}

struct cpt_pending *cpt_hedge_wait(struct cpt_task *task, const struct cpt_stub *stub,
                                   uint64_t delay_ns)
{
    return begin_sleep(task, stub->name, CPT_KIND_HEDGE_WAIT, delay_ns);
}
