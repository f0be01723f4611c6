/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wait.c - a step that waits without returning
 *
 * For code that cannot be cut into steps. On the path it is an await like any other:
 * blocked, arrived, resumed. What the thread does meanwhile is the executor's:
 *
 *      it has `block`    the thread sleeps, and another takes its place (a pool)
 *      it has `help`     the thread runs other work, on top of the step: its queue is
 *                        run by nobody else (inline, a queue, virtual time)
 *      neither           refused: an event loop that slept would sleep for ever
 *
 * On top means: a step that waits so is *buried*, and goes on only once what runs on
 * top of it has returned, even if what it waits for has come long before. So the depth
 * is limited, and a step may wait for one that is buried below it:
 *
 *      C waits for B         nobody can go on: C is refused, ends, and B goes on
 *      B waits for a timer   (which has come)
 *      A waits for B
 *
 * That nobody can go on is seen from the references to the request. Whoever will still
 * do something for it has one (request.h), as have the steps that wait here; if there
 * are no others, and all of those either wait or are buried, nothing will ever come.
 *
 * Not seen: a buried step that should complete what another thread could as well, or
 * what another request waits for. What is completed or shared by steps of one thread
 * should be awaited, not waited for.
 */
#include "framework/run/wait.h"

#include "framework/run/recording.h"

#include <time.h>

enum {
    HELP_AGAIN_NS = 1000000,  /* work may have come from elsewhere, and timers be due */
    LOOK_AGAIN_NS = 100000000 /* whether anything can come at all */
};

/* Steps of this thread that are buried. */
static _Thread_local unsigned buried_count;

/* --- Beginning and end --- */

/* The request has failed. */
static void tell_blocked(struct cpti_outside *outside)
{
    struct cpti_blocked *blocked = (struct cpti_blocked *)outside; /* its first */

    cpti_lock_take(&blocked->request->lock);
    (void)pthread_cond_signal(&blocked->over);
    cpti_lock_release(&blocked->request->lock);
}

/* NULL at the limit of memory. Lock held. */
static struct cpti_blocked *take_blocked(struct cpt_request *request)
{
    struct cpti_blocked *blocked = request->spare_blocked;
    pthread_condattr_t monotonic;

    if (blocked != NULL) {
        request->spare_blocked = blocked->next_spare;
        return blocked;
    }
    blocked = cpt_arena_take(&request->arena, sizeof *blocked);
    if (blocked == NULL) {
        return NULL;
    }
    blocked->request = request;
    blocked->outside.tell = tell_blocked;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&blocked->over, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    blocked->next_made = request->made_blocked;
    request->made_blocked = blocked;
    return blocked;
}

void cpti_blocked_deinit(struct cpt_request *request)
{
    for (struct cpti_blocked *blocked = request->made_blocked; blocked != NULL;
         blocked = blocked->next_made) {
        (void)pthread_cond_destroy(&blocked->over);
    }
    request->made_blocked = NULL;
    request->spare_blocked = NULL;
}

static void uncount(struct cpti_blocked *blocked)
{
    blocked->request->blocked_count -= blocked->is_counted;
    blocked->is_counted = 0;
}

void cpti_blocked_end(struct cpt_task *task)
{
    if (!task->blocked->is_buried) {
        uncount(task->blocked);
    }
    (void)pthread_cond_signal(&task->blocked->over);
}

/* Makes @task wait for @pending. 1: it does; 0: that has ended; less than 0: no memory.
 */
static int begin(struct cpt_task *task, struct cpt_pending *pending)
{
    struct cpt_request *request = task->request;
    const uint64_t block_ns = cpti_record_now(request);
    struct cpti_blocked *blocked = NULL;
    int waits = 0;

    assert(pending != NULL); /* check() has refused that */
    cpti_lock_take(&request->lock);
    if (pending->status == CPT_WAITING) {
        blocked = take_blocked(request);
        waits = blocked != NULL ? 1 : CPT_LIMIT;
    }
    if (waits > 0) {
        task->await_number++;
        task->wanted_count = 1;
        pending->await_number = task->await_number;
        task->blocked = blocked;
        blocked->is_buried = 0;
        blocked->is_counted = 1;
        request->blocked_count++;
        cpti_outside_add(request, &blocked->outside);
        cpti_record_block(task, block_ns);
        cpti_waiting_add(task);
    }
    cpti_lock_release(&request->lock);
    return waits;
}

/* @status says whether what it waited for has come. Lock held. */
static void end(struct cpt_task *task, cpt_status status)
{
    struct cpt_request *request = task->request;
    struct cpti_blocked *blocked = task->blocked;
    const uint64_t now_ns = cpti_record_now(request);

    if (task->is_waiting) {
        cpti_waiting_remove(task);
        task->wanted_count = 0;
    }
    if (status == CPT_INVALID) {
        cpti_record_release(task, NULL, 0, now_ns); /* by nobody */
    }
    if (status != CPT_CANCELLED) { /* then the response has a time already */
        cpti_record_resume(task, now_ns, 0);
    }
    uncount(blocked);
    task->blocked = NULL;
    if (cpti_outside_remove(request, &blocked->outside)) { /* nobody is telling it */
        blocked->next_spare = request->spare_blocked;
        request->spare_blocked = blocked;
    }
}

/* --- Meanwhile --- */

/* Nobody is left who could end any of these waits. Lock held. */
static int is_stuck(struct cpt_request *request)
{
    const uint_least32_t count =
        atomic_load_explicit(&request->reference_count, memory_order_acquire);

    return (count & ~CPTI_OWN_REFERENCE) == request->blocked_count;
}

static int is_stopped(const struct cpt_request *request)
{
    return atomic_load_explicit(&request->is_stopped, memory_order_relaxed);
}

/* Sleeps until told, but not longer than @delay_ns. Lock held. */
static void sleep_a_while(struct cpti_blocked *blocked, uint64_t delay_ns)
{
    const uint64_t until_ns = cpt_clock_now_ns(cpt_clock_monotonic()) + delay_ns;
    struct timespec until;

    until.tv_sec = (time_t)(until_ns / 1000000000u);
    until.tv_nsec = (long)(until_ns % 1000000000u);
    (void)pthread_cond_timedwait(&blocked->over, &blocked->request->lock.mutex, &until);
}

/* Runs something else of the executor on top. 0: there was nothing. Lock held. */
static int help(struct cpt_task *task)
{
    struct cpt_executor *executor = task->request->executor;
    int has_run = 0;

    task->blocked->is_buried = 1;
    cpti_lock_release(&task->request->lock);
    buried_count++;
    has_run = executor->help(executor);
    buried_count--;
    cpti_lock_take(&task->request->lock);
    task->blocked->is_buried = 0;
    if (!task->is_waiting) {
        uncount(task->blocked);
    }
    return has_run;
}

/* CPT_OK once it has come; CPT_CANCELLED, CPT_INVALID: it will not. Lock held. */
static cpt_status wait_until_over(struct cpt_task *task, int helps)
{
    struct cpt_request *request = task->request;

    while (task->is_waiting && !is_stopped(request)) {
        if (helps && (help(task) || !task->is_waiting || is_stopped(request))) {
            continue;
        }
        if (is_stuck(request)) {
            return CPT_INVALID;
        }
        sleep_a_while(task->blocked, helps ? HELP_AGAIN_NS : LOOK_AGAIN_NS);
    }
    return is_stopped(request) ? CPT_CANCELLED : CPT_OK;
}

/* --- What a step may do --- */

static cpt_status check(struct cpt_task *task, const struct cpt_pending *pending)
{
    const struct cpt_executor *executor = task->request->executor;

    if (pending == NULL) {
        return cpt_fail(task, CPT_LIMIT,
                        "there is nothing to wait for: the memory limit of the request "
                        "was reached, or the value is not declared with CPT_STARTS");
    }
    if (pending->owner != task) {
        return cpt_fail(task, CPT_INVALID, "a task can wait only for what it started");
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

static cpt_status wait_and_end(struct cpt_task *task, int helps)
{
    cpt_status status = CPT_OK;

    cpti_lock_take(&task->request->lock);
    status = wait_until_over(task, helps);
    end(task, status);
    cpti_lock_release(&task->request->lock);
    return status;
}

cpt_status cpt_wait(struct cpt_task *task, struct cpt_pending *pending)
{
    struct cpt_executor *executor = task->request->executor;
    cpt_status status = CPT_OK;

    if (pending != NULL && cpt_pending_status(pending) != CPT_WAITING) {
        return CPT_OK;
    }
    status = check(task, pending);
    if (status != CPT_OK) {
        return status;
    }
    cpti_task_give_ready(task);
    status = begin(task, pending);
    if (status <= 0) {
        return status == CPT_OK
                   ? CPT_OK
                   : cpt_fail(task, CPT_LIMIT,
                              "the memory limit of the request was reached");
    }
    if (executor->block != NULL) {
        executor->block(executor, 1);
        status = wait_and_end(task, 0);
        executor->block(executor, 0);
    } else {
        status = wait_and_end(task, 1);
    }
    return status == CPT_INVALID
               ? cpt_fail(task, CPT_INVALID,
                          "nobody is left who could end what this task waits for")
               : status;
}
