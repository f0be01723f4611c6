/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wait.c - a step that waits without returning
 *
 * For code that cannot be cut into steps. On the path it is an await like any other:
 * blocked, arrived, resumed. What the thread does meanwhile depends on the executor:
 *
 *      it has `block`    the thread sleeps, and another takes its place (a pool); what
 *                        the step waits for is *needed*, so that one is always left for
 *                        it: pool_block.c
 *      it has `help`     the thread runs other work on top of the step: no other thread
 *                        runs its queue (inline, a queue, virtual time)
 *      neither           refused: an event loop that slept would sleep for ever
 *
 * A step that other work runs on top of is *buried*. It continues only when that work
 * has returned, even if its wait ended long before. So the depth is limited, and a step
 * may wait for one that is buried below it:
 *
 *      C waits for B         nothing can continue: C is refused, ends; B continues
 *      B waits for a timer   (which has fired)
 *      A waits for B
 *
 * A lock is not given to a buried step, which could not give it back: it has its turn
 * when nothing runs on top of it any more.
 *
 * The references to the request show that nothing can continue. Everything that can
 * still change the request holds one (request.h), and so do the steps that wait here.
 * If there are no other references, and each of these steps waits or is buried, nothing
 * will change.
 *
 * Not detected: a buried step that would complete what another thread could complete as
 * well, or what another request waits for. Use cpt_await(), not cpt_wait(), for what
 * steps of one thread complete or share.
 */
#include "framework/run/wait.h"

#include "cpt/base/container.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/resource.h"
#include "framework/run/run.h"
#include "framework/run/task.h"

#include <assert.h>

enum {
    HELP_AGAIN_NS = 1000000,  /* other threads may have submitted work, timers be due */
    LOOK_AGAIN_NS = 100000000 /* at whether anything can still end the wait */
};

/* Steps of this thread that are buried. */
static _Thread_local unsigned buried_count;

/* --- Beginning and end --- */

/* The request has failed, or the task was given up. */
static void cancel_wait(struct cpti_cancellable *cancellable)
{
    struct cpti_wait *wait = CPTI_CONTAINER(cancellable, struct cpti_wait, cancellable);

    cpti_lock_take(&wait->request->lock);
    (void)pthread_cond_signal(&wait->is_over);
    cpti_lock_release(&wait->request->lock);
}

/* NULL at the limit of memory. Lock held. */
static struct cpti_wait *take_wait(struct cpt_request *request)
{
    struct cpti_wait *wait = request->spare_waits;

    if (wait != NULL) {
        request->spare_waits = wait->next_spare;
        return wait;
    }
    wait = cpt_arena_take(&request->arena, sizeof *wait);
    if (wait == NULL) {
        return NULL;
    }
    wait->request = request;
    wait->cancellable.cancel = cancel_wait;
    cpti_cond_init(&wait->is_over);
    wait->next_made = request->made_waits;
    request->made_waits = wait;
    return wait;
}

void cpti_wait_deinit(struct cpt_request *request)
{
    for (struct cpti_wait *wait = request->made_waits; wait != NULL;
         wait = wait->next_made) {
        (void)pthread_cond_destroy(&wait->is_over);
    }
    request->made_waits = NULL;
    request->spare_waits = NULL;
}

static void uncount(struct cpti_wait *wait)
{
    wait->request->wait_count -= wait->is_counted;
    wait->is_counted = false;
}

void cpti_wait_end(struct cpt_task *task)
{
    if (!task->wait->is_buried) {
        uncount(task->wait);
    }
    (void)pthread_cond_signal(&task->wait->is_over);
}

bool cpti_wait_passes(const struct cpt_pending *pending, uint32_t number)
{
    struct cpti_wait *wait =
        cpti_pending_starter(pending) == number + 1 ? pending->task->wait : NULL;
    const bool passes = wait != NULL && wait->is_buried;

    if (passes) {
        wait->has_passed = true;
    }
    return passes;
}

/* Makes @task wait for @pending. 1: it waits; 0: @pending has ended; less than 0: there
 * is no memory. */
static int begin(struct cpt_task *task, struct cpt_pending *pending)
{
    struct cpt_request *request = task->request;
    const uint64_t block_ns = cpti_record_now(request);
    struct cpti_wait *wait = NULL;
    int waits = 0;

    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        wait = take_wait(request);
        waits = wait != NULL ? 1 : CPT_LIMIT;
    }
    if (waits > 0) {
        task->await_number++;
        task->wanted_count = 1;
        pending->await_number = task->await_number;
        task->wait = wait;
        wait->is_buried = false;
        wait->has_passed = false;
        wait->is_counted = true;
        request->wait_count++;
        cpti_cancellable_add(request, &wait->cancellable);
        cpti_record_block(task, block_ns);
        cpti_waiting_add(task);
    } else if (waits == 0 && request->keeps_edges) {
        cpti_edges_pass_one(task, pending);
    }
    cpti_lock_release(&request->lock);
    return waits;
}

/* Ends the wait; @status says whether @task got what it waited for. Lock held. */
static void end(struct cpt_task *task, cpt_status status)
{
    struct cpt_request *request = task->request;
    struct cpti_wait *wait = task->wait;
    const uint64_t now_ns = cpti_record_now(request);

    if (task->is_waiting) {
        cpti_waiting_remove(task);
        task->wanted_count = 0;
    }
    if (status != CPT_OK) {
        cpti_record_release(task, NULL, 0, now_ns); /* by nothing */
    }
    cpti_record_resume(task, now_ns, false);
    uncount(wait);
    task->wait = NULL;
    if (cpti_cancellable_remove(&wait->cancellable)) { /* it is not being told */
        wait->next_spare = request->spare_waits;
        request->spare_waits = wait;
    }
}

/* --- Meanwhile --- */

/* Nothing is left that could end any of these waits. Lock held. */
static bool is_stuck(struct cpt_request *request)
{
    const uint_least32_t count =
        atomic_load_explicit(&request->reference_count, memory_order_acquire);

    return (count & ~CPTI_OWN_REFERENCE) == request->wait_count;
}

/* Sleeps until the wait is over, but not longer than @delay_ns. Lock held. */
static void sleep_a_while(struct cpti_wait *wait, uint64_t delay_ns)
{
    cpti_cond_wait(&wait->is_over, &wait->request->lock,
                   cpt_clock_now_ns(cpt_clock_monotonic()) + delay_ns);
}

/* Nothing runs on top of the step of @task any more. Lock held. */
static void surface(struct cpt_task *task)
{
    struct cpt_pending *next = NULL;

    task->wait->is_buried = false;
    if (task->wait->has_passed) {
        task->wait->has_passed = false;
        for (struct cpt_pending *at = task->oldest; at != NULL; at = next) {
            next = at->next;
            if (at->resource != NULL) {
                at->resource->ask_again(at);
            }
        }
    }
    if (!task->is_waiting) {
        uncount(task->wait);
    }
}

/* Runs @work of the thread's pool on top (NULL: other work of the executor); false:
 * there was none. Lock held. */
static bool run_on_top(struct cpt_task *task, struct cpt_work *work)
{
    struct cpt_executor *executor = task->request->executor;
    bool has_run = true;

    task->wait->is_buried = true;
    cpti_lock_release(&task->request->lock);
    if (work != NULL) {
        cpti_pool_run_help(work);
    } else {
        buried_count++;
        has_run = executor->help(executor) != 0;
        buried_count--;
    }
    cpti_lock_take(&task->request->lock);
    surface(task);
    return has_run;
}

/* Runs other work of the executor, or what the thread's pool needs where it has no
 * other thread, first that of @owner; false: there was none. Lock held. */
static bool help(struct cpt_task *task, const struct cpt_request *owner, bool helps)
{
    struct cpt_work *work = NULL;

    if (helps && (run_on_top(task, NULL) || !task->is_waiting)) {
        return true;
    }
    work = cpti_pool_take_help(owner);
    return work != NULL && run_on_top(task, work);
}

/* Whether its thread can be replaced now. Lock held. */
static void look_again(struct cpt_request *request)
{
    cpti_lock_release(&request->lock);
    cpti_pool_look_again();
    cpti_lock_take(&request->lock);
}

/* CPT_OK: what the task waits for has ended; CPT_CANCELLED, CPT_INVALID: it will not.
 * Lock held. */
static cpt_status wait_until_over(struct cpt_task *task,
                                  const struct cpt_request *owner, bool helps)
{
    struct cpt_request *request = task->request;

    while (task->is_waiting && !cpt_task_is_cancelled(task)) {
        if (help(task, owner, helps) || !task->is_waiting ||
            cpt_task_is_cancelled(task)) {
            continue;
        }
        if (is_stuck(request)) {
            return CPT_INVALID;
        }
        sleep_a_while(task->wait, helps ? HELP_AGAIN_NS : LOOK_AGAIN_NS);
        if (task->is_waiting) {
            look_again(request);
        }
    }
    return cpt_task_is_cancelled(task) ? CPT_CANCELLED : CPT_OK;
}

/* --- What others do for it --- */

_Thread_local unsigned cpti_thread_locks __attribute__((tls_model("initial-exec")));

void cpti_thread_block(struct cpt_executor *executor, enum cpti_pool_wait wait)
{
    cpti_pool_block_thread(wait);
    if (executor != NULL && executor->block != NULL && !cpti_pool_is(executor)) {
        executor->block(executor, 1);
    }
}

void cpti_thread_unblock(struct cpt_executor *executor)
{
    if (executor != NULL && executor->block != NULL && !cpti_pool_is(executor)) {
        executor->block(executor, 0);
    }
    cpti_pool_unblock_thread();
}

bool cpti_work_is_needed(const struct cpt_work *work)
{
    const struct cpt_request *request = cpti_work_request(work);

    for (; request != NULL; request = request->nest.parent) {
        if (atomic_load(&request->need_count) != 0 ||
            atomic_load(&request->kept_locks) != 0 || request->nest.flight != NULL) {
            return true;
        }
    }
    return false;
}

bool cpti_work_is_of(const struct cpt_work *work, const void *owner)
{
    const struct cpt_request *request = owner != NULL ? cpti_work_request(work) : NULL;

    while (request != NULL && request != owner) {
        request = request->nest.parent;
    }
    return request != NULL;
}

/* The request whose tasks end @pending; NULL: none does, or it is not known. Shared
 * work is always needed. */
static struct cpt_request *needed_for(const struct cpt_pending *pending)
{
    return pending->kind == CPTI_PENDING_TASK ? pending->request
           : pending->kind == CPTI_PENDING_RUN
               ? cpti_component_request(
                     CPTI_CONST_CONTAINER(pending, struct cpti_run, pending))
               : NULL;
}

static enum cpti_pool_wait wait_of(const struct cpt_pending *pending)
{
    return pending->kind == CPTI_PENDING_WORK || pending->kind == CPTI_PENDING_TIMER ||
                   pending->kind == CPTI_PENDING_CALL
               ? CPTI_POOL_WAIT_OUTSIDE
               : CPTI_POOL_WAIT_WITHIN;
}

/* --- What a step may do --- */

static cpt_status check(struct cpt_task *task, const struct cpt_pending *pending)
{
    const struct cpt_executor *executor = task->request->executor;
    const cpt_status status = cpti_pending_check(task, pending);

    if (status != CPT_OK) {
        return status;
    }
    if (executor->block == NULL && executor->help == NULL) {
        return cpt_fail(task, CPT_INVALID,
                        "executor \"%s\" cannot block a task: use cpt_await()",
                        executor->name);
    }
    if (executor->block == NULL && buried_count >= CPT_WAIT_DEPTH_MAX) {
        return cpt_fail(task, CPT_LIMIT,
                        "%u tasks of this thread wait below this one, the limit is %d",
                        buried_count, CPT_WAIT_DEPTH_MAX);
    }
    return CPT_OK;
}

static cpt_status wait_and_end(struct cpt_task *task, const struct cpt_request *owner,
                               bool helps)
{
    cpt_status status = CPT_OK;

    cpti_lock_take(&task->request->lock);
    status = wait_until_over(task, owner, helps);
    end(task, status);
    cpti_lock_release(&task->request->lock);
    return status;
}

/* The same, while its thread is replaced and what it waits for is needed. */
static cpt_status wait_on_thread(struct cpt_task *task,
                                 const struct cpt_pending *pending)
{
    struct cpt_executor *executor = task->request->executor;
    struct cpt_request *needed = needed_for(pending);
    cpt_status status = CPT_OK;

    if (needed != NULL) {
        atomic_fetch_add(&needed->need_count, 1);
        cpti_pool_note_needed(needed->executor);
    }
    cpti_thread_block(executor, wait_of(pending));
    status = wait_and_end(task, needed, executor->block == NULL);
    cpti_thread_unblock(executor);
    if (needed != NULL) {
        atomic_fetch_sub(&needed->need_count, 1);
    }
    return status;
}

/* @task does not have to wait for @pending. */
static void note_passed(struct cpt_task *task, const struct cpt_pending *pending)
{
    if (task->request->keeps_edges) {
        cpti_lock_take(&task->request->lock);
        cpti_edges_pass_one(task, pending);
        cpti_lock_release(&task->request->lock);
    }
}

cpt_status cpt_wait(struct cpt_task *task, struct cpt_pending *pending)
{
    cpt_status status = CPT_OK;

    if (pending != NULL && pending->kind > CPTI_PENDING_FAILED &&
        cpt_pending_status(pending) != CPT_WAITING) {
        note_passed(task, pending);
        return cpti_pending_check_timer(task, pending);
    }
    status = check(task, pending);
    if (status != CPT_OK) {
        return status;
    }
    assert(pending != NULL); /* else the check has failed */
    cpti_task_give_ready(task);
    status = begin(task, pending);
    if (status <= 0) {
        return status == CPT_OK
                   ? CPT_OK
                   : cpt_fail(task, CPT_LIMIT,
                              "the memory limit of the request was reached");
    }
    status = wait_on_thread(task, pending);
    return status == CPT_INVALID
               ? cpt_fail(task, CPT_INVALID,
                          "nothing is left that could end what this task waits for")
               : status;
}
