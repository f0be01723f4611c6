/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * await.c - a task that waits: from the step that asks to the step that continues
 *
 * A step asks to wait and returns. Only then the runtime decides, under the lock,
 * whether there is still something to wait for. A pending ends before or after that
 * decision, never in between:
 *
 *      step returns CPT_WAITING          a pending is completed
 *          |                                 |
 *      lock: outstanding?                lock: status = …
 *        no  -> next step at once              does the task wait for just this?
 *        yes -> it waits, unlock                 -> unlock, submit the task
 *
 * The timeout of a wait is a timer. It is set before the task waits, so it is always
 * set when the wait ends. It is cancelled without the lock: an executor may have to
 * wait for a timer that is just firing, which needs the lock.
 */
#include "cpt/base/container.h"
#include "framework/run/call.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/task.h"
#include "framework/run/wait.h"

/* The timeout of a wait. In the arena; holds a reference to the request until it has
 * fired or was cancelled. */
struct cpti_timeout {
    struct cpt_timer timer;
    struct cpti_cancellable cancellable; /* listed while its task waits */
    struct cpt_request *request;
    struct cpt_task *task; /* once it does not wait any more, perhaps another task */
    bool has_fired;        /* guarded by the request's lock */
};

/* --- Which tasks wait --- */

void cpti_waiting_add(struct cpt_task *task)
{
    task->is_waiting = true;
    LIST_INSERT_HEAD(&task->request->waiting, task, waiting_link);
    if (cpti_task_step(task)->is_startable) {
        cpti_request_demand(task->request, task->number)->task = task;
    }
}

void cpti_waiting_remove(struct cpt_task *task)
{
    task->is_waiting = false;
    LIST_REMOVE(task, waiting_link);
}

/* --- The end of a wait --- */

/* @task, whose wait is over, is about to be submitted. Lock held. */
static void set_queued(struct cpt_task *task)
{
    /* Relaxed: pairs with cpti_task_catch(), by the lock, and with the thread that
     * takes it from the queue, by that. */
    atomic_store_explicit(&task->turn, CPTI_TURN_QUEUED, memory_order_relaxed);
}

/* The time is over: gives up all that is outstanding and all that was started for it,
 * and adds what must be told to @told. The oldest, which was started first, stands on
 * the path. Lock held. */
static void give_up(struct cpt_task *task, uint64_t arrive_ns,
                    struct cpti_cancellables *told)
{
    struct cpt_trace_call *call = NULL;

    if (task->oldest != NULL) { /* else the request has failed */
        call = cpti_record_timeout(task->oldest, arrive_ns);
    }
    if (task->request->keeps_edges) {
        cpti_edges_give_up(task);
    }
    for (const struct cpt_pending *pending = task->oldest; pending != NULL;
         pending = pending->next) {
        if (pending->kind == CPTI_PENDING_CALL) {
            cpti_call_was_late(pending, task, task->timeout_ns);
        }
    }
    cpti_task_drop_all(task, CPT_TIMEOUT, told);
    if (task->is_waiting) {
        cpti_waiting_remove(task);
    }
    task->wanted_count = 0;
    task->has_runner_up = false;
    cpti_record_release(task, call, 0, arrive_ns);
}

static void fire_timeout(struct cpt_timer *timer)
{
    struct cpti_timeout *timeout = CPTI_CONTAINER(timer, struct cpti_timeout, timer);
    struct cpt_task *task = timeout->task;
    struct cpt_request *request = timeout->request;
    const uint64_t now_ns = cpti_record_now(request);
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);
    bool has_ended_wait = false;

    cpti_lock_take(&request->lock);
    timeout->has_fired = true;
    if (cpti_cancellable_remove(&timeout->cancellable)) { /* its task waits */
        task->timeout = NULL;
        /* If the request has just failed, its path is fixed, and what is ongoing is
         * cancelled by its end. */
        has_ended_wait = !cpti_record_is_over(request);
        if (has_ended_wait) {
            give_up(task, now_ns, &told);
            set_queued(task);
        }
    }
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
    cpti_request_continue(request, has_ended_wait ? task : NULL);
}

/* The request has failed: the wait will not end any more. */
static void cancel_timeout(struct cpti_cancellable *cancellable)
{
    struct cpti_timeout *timeout =
        CPTI_CONTAINER(cancellable, struct cpti_timeout, cancellable);

    cpti_timer_cancel(timeout->request, &timeout->timer);
}

void cpti_task_take_timeout(struct cpt_task *task, struct cpti_cancellables *told)
{
    if (task->timeout != NULL) {
        cpti_cancellable_move(&task->timeout->cancellable, told);
        task->timeout = NULL;
    }
}

struct cpt_task *cpti_task_end_wait(struct cpt_task *task,
                                    const struct cpt_pending *pending,
                                    uint64_t arrive_ns)
{
    cpti_waiting_remove(task);
    if (task->timeout != NULL &&
        !cpti_cancellable_remove(&task->timeout->cancellable)) {
        task->timeout = NULL; /* the end of the request cancels it */
    }
    cpti_record_release(task, pending->call, pending->stands_for, arrive_ns);
    if (__builtin_expect(task->request->keeps_edges, 0)) {
        cpti_edges_over(task);
    }
    if (task->wait != NULL) {
        cpti_wait_end(task);
        return NULL;
    }
    set_queued(task);
    return task;
}

void cpti_request_continue(struct cpt_request *request, struct cpt_task *task)
{
    struct cpti_timeout *timeout = task != NULL ? task->timeout : NULL;

    if (task == NULL) {
        cpti_request_release(request);
        return;
    }
    if (timeout != NULL) { /* of this thread alone, which has ended the wait */
        task->timeout = NULL;
        cpti_timer_cancel(request, &timeout->timer);
    }
    cpti_task_submit(task);
}

void cpti_task_wake(struct cpt_task *task)
{
    if (task != NULL) {
        cpti_request_hold(task->request);
        cpti_request_continue(task->request, task);
    }
}

/* --- The beginning --- */

static cpt_status fail_without_timer(struct cpt_task *task, cpt_status status)
{
    return cpt_fail(task, status, "executor \"%s\" cannot set a timer: %s",
                    task->request->executor->name, cpt_status_sentence(status));
}

/* Sets the timer of a wait. */
static cpt_status set_timeout(struct cpt_task *task, struct cpti_timeout **timeout)
{
    struct cpt_request *request = task->request;
    struct cpt_executor *executor = request->executor;
    struct cpti_timeout *made = cpti_request_take(request, sizeof *made);
    cpt_status status = CPT_LIMIT;

    if (made == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    made->request = request;
    made->task = task;
    made->timer.fire = fire_timeout;
    made->cancellable.cancel = cancel_timeout;
    cpti_request_hold(request);
    status = executor->after(executor, &made->timer, task->timeout_ns);
    if (status != CPT_OK) {
        cpti_timer_failed(request);
        cpti_request_release(request);
        return fail_without_timer(task, status);
    }
    *timeout = made;
    return CPT_OK;
}

/* What runs in the place of the function of @task, which only waits for it, from its
 * beginning on; NULL if the task has a function. */
static const struct cpt_pending *component_of(struct cpt_task *task)
{
    return cpti_task_plan(task)->component != NULL ? *(struct cpt_pending **)task->state
                                                   : NULL;
}

int cpti_task_wait(struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    const struct cpt_pending *component = component_of(task);
    const uint64_t now_ns = cpti_record_now(request);
    struct cpti_timeout *timeout = NULL;
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);
    int waits = 0;

    if (task->timeout_ns != 0) {
        const cpt_status status = set_timeout(task, &timeout);

        if (status != CPT_OK) {
            return status;
        }
    }
    cpti_lock_take(&request->lock);
    waits = task->wanted_count != 0;
    if (cpt_task_is_cancelled(task)) { /* nothing would wake it */
        waits = CPTI_WAIT_LEFT;
    } else if (waits) {
        cpti_record_block(task, component != NULL ? component->begin_ns : now_ns);
        if (timeout != NULL && timeout->has_fired) {
            give_up(task, cpti_record_now(request), &told);
            timeout = NULL;
            waits = 0;
        } else {
            cpti_waiting_add(task);
            if (timeout != NULL) {
                cpti_cancellable_add(request, &timeout->cancellable);
                task->timeout = timeout;
                timeout = NULL;
            }
        }
    } else if (component != NULL) {
        cpti_record_waited(task, component, now_ns);
    }
    if (__builtin_expect(request->keeps_edges, 0) && waits == 0) {
        cpti_edges_pass(task, now_ns);
    }
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
    if (timeout != NULL) { /* not needed */
        cpti_timer_cancel(request, &timeout->timer);
    }
    return waits;
}

/* --- What a step asks --- */

/* Begins a new wait, without pendings yet. Lock held. */
static void begin_wait(struct cpt_task *task)
{
    task->await_number++; /* 0 is that of a pending that belongs to no wait */
    task->wanted_count = 0;
}

/* Adds @pending to the wait. false: it has ended. Lock held. */
static bool add_to_wait(struct cpt_task *task, struct cpt_pending *pending)
{
    pending->await_number = task->await_number;
    return pending->status == CPT_WAITING;
}

static cpt_status ask(struct cpt_task *task, uint64_t timeout_ns, cpt_task_fn next)
{
    if (next == NULL) {
        CPTI_MISUSED(bad_status);
        return cpt_fail(task, CPT_INVALID, "a wait needs a step that goes on after it");
    }
    task->timeout_ns = timeout_ns;
    task->next = next;
    task->has_asked = true;
    task->is_used = true;
    return CPT_WAITING;
}

cpt_status cpti_pending_check(struct cpt_task *task, const struct cpt_pending *pending)
{
    if (!cpti_pending_is_live(pending)) {
        return pending == cpti_pending_failed(CPT_INVALID)
                   ? cpt_fail(task, CPT_INVALID,
                              "there is nothing to wait for: the value is not declared "
                              "with CPT_STARTS")
               : pending == cpti_pending_failed(CPT_LIMIT)
                   ? cpt_fail(task, CPT_LIMIT,
                              "there is nothing to wait for: the memory limit of the "
                              "request was reached")
                   : cpt_fail(task, pending == NULL ? CPT_LIMIT : CPT_INVALID,
                              "there is nothing to wait for: the pending is NULL, or "
                              "of a request that is gone");
    }
    if (pending->task != task) {
        CPTI_MISUSED(foreign_pending);
        return cpt_fail(task, CPT_INVALID, "a task can wait only for what it started");
    }
    return CPT_OK;
}

cpt_status cpti_pending_check_timer(struct cpt_task *task,
                                    const struct cpt_pending *pending)
{
    if (!pending->has_no_timer) {
        return CPT_OK;
    }
    task->timer_status = CPT_OK;
    return fail_without_timer(task, pending->status);
}

/*
 * A sleep whose timer could not be set has failed at once. It neither ends a wait nor
 * holds one up: a race goes on with the others. But if the wait needs it, the task
 * fails: a task that only went on would not have slept, and one that repeats its
 * attempts after a pause would repeat them without any.
 */
cpt_status cpt_await_some(struct cpt_task *task, struct cpt_pending *const *pendings,
                          size_t pending_count, size_t wanted_count, cpt_task_fn next)
{
    const struct cpt_pending *unset = NULL; /* a timer that could not be set */
    size_t ended_count = 0;
    size_t outstanding_count = 0;

    for (size_t i = 0; i < pending_count; i++) {
        const cpt_status status = cpti_pending_check(task, pendings[i]);

        if (status != CPT_OK) {
            return status;
        }
    }
    cpti_lock_take(&task->request->lock);
    begin_wait(task);
    for (size_t i = 0; i < pending_count; i++) {
        const bool is_outstanding = add_to_wait(task, pendings[i]);

        if (pendings[i]->has_no_timer) {
            unset = pendings[i];
            continue;
        }
        outstanding_count += is_outstanding;
        ended_count += !is_outstanding;
    }
    if (task->request->keeps_edges) {
        cpti_edges_ask(task, wanted_count, ended_count, outstanding_count);
    }
    if (unset != NULL && wanted_count <= ended_count + outstanding_count) {
        task->timer_status = CPT_OK;
        unset = NULL; /* not needed */
    }
    if (wanted_count > ended_count) {
        wanted_count -= ended_count;
        task->wanted_count =
            (uint32_t)(wanted_count < outstanding_count ? wanted_count
                                                        : outstanding_count);
    }
    cpti_lock_release(&task->request->lock);
    return unset != NULL ? cpti_pending_check_timer(task, unset) : ask(task, 0, next);
}

cpt_status cpt_await(struct cpt_task *task, struct cpt_pending *pending,
                     cpt_task_fn next)
{
    return cpt_await_some(task, &pending, 1, 1, next);
}

static cpt_status await_all(struct cpt_task *task, uint64_t timeout_ns,
                            cpt_task_fn next)
{
    const cpt_status timer_status = task->timer_status;

    if (timer_status != CPT_OK) {
        task->timer_status = CPT_OK;
        return fail_without_timer(task, timer_status);
    }
    cpti_lock_take(&task->request->lock);
    begin_wait(task);
    for (struct cpt_pending *pending = task->oldest; pending != NULL;
         pending = pending->next) {
        task->wanted_count += add_to_wait(task, pending);
    }
    if (task->request->keeps_edges) {
        cpti_edges_ask_all(task);
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
