/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * deadline.c - how long a request may take, and what delayed it if it took longer
 *
 * The deadline of a request is one timer. It bounds what is called meanwhile: the
 * timeout of a call is no longer than what is left, and the callee is told, so that no
 * service works for an answer that comes too late. If the timer fires first, the
 * request ends, although its tasks have not.
 *
 * The task that delayed it is then found from the output: we follow inputs that have
 * not arrived, and waits for other tasks, to a task that runs or that waits for
 * something elsewhere:
 *
 *      output <- render, not begun <- rank, waits for <- index, waits for "B: Lookup"
 *
 * That task takes the place of the one that would have answered. What it waits for is
 * ‹timeout› on the path: a blind spot that names the callee.
 */
#include "framework/run/deadline.h"

#include "cpt/base/container.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/resource.h"
#include "framework/run/slack.h"

#include <stdio.h>

/* The longest time that a caller may allow. */
#define TIMEOUT_US_MAX (UINT64_C(86400) * 1000000)

/* The timer of a request. In its arena; holds a reference to it until it has fired or
 * was cancelled. */
struct cpti_deadline {
    struct cpt_timer timer;
    struct cpti_cancellable cancellable; /* listed while the request has not ended */
    struct cpt_request *request;
    uint64_t timeout_ns;
};

/* --- The timer --- */

static void unlist(struct cpt_request *request, struct cpti_deadline *deadline)
{
    cpti_lock_take(&request->lock);
    (void)cpti_cancellable_remove(&deadline->cancellable);
    cpti_lock_release(&request->lock);
}

static void fire_deadline(struct cpt_timer *timer)
{
    struct cpti_deadline *deadline = CPTI_CONTAINER(timer, struct cpti_deadline, timer);
    struct cpt_request *request = deadline->request;

    unlist(request, deadline);
    (void)cpti_request_end(request, CPT_TIMEOUT, NULL);
    cpti_request_release(request);
}

static void cancel_deadline(struct cpti_cancellable *cancellable)
{
    struct cpti_deadline *deadline =
        CPTI_CONTAINER(cancellable, struct cpti_deadline, cancellable);

    cpti_timer_cancel(deadline->request, &deadline->timer);
}

cpt_status cpti_deadline_begin(struct cpt_request *request, uint64_t timeout_ns,
                               uint64_t arrival_ns, struct cpt_error *error)
{
    struct cpt_executor *executor = request->executor;
    const uint64_t now_ns = cpt_clock_now_ns(request->clock);
    const uint64_t begin_ns =
        arrival_ns != 0 && arrival_ns < now_ns ? arrival_ns : now_ns;
    struct cpti_deadline *deadline = cpt_arena_take(&request->arena, sizeof *deadline);
    cpt_status status = CPT_OK;

    if (deadline == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a deadline");
    }
    /* Atomic for a snapshot, which may read it just now. */
    __atomic_store_n(&request->deadline_ns,
                     timeout_ns < UINT64_MAX - begin_ns ? begin_ns + timeout_ns
                                                        : UINT64_MAX,
                     __ATOMIC_RELAXED);
    deadline->request = request;
    deadline->timeout_ns = timeout_ns;
    deadline->timer.fire = fire_deadline;
    deadline->cancellable.cancel = cancel_deadline;
    request->deadline = deadline;
    cpti_slack_limit(request, timeout_ns);
    cpti_request_share(request);
    /* Listed first, as it may fire before this returns. Nothing else runs yet. */
    cpti_lock_take(&request->lock);
    cpti_cancellable_add(request, &deadline->cancellable);
    cpti_lock_release(&request->lock);
    cpti_request_hold(request);
    status =
        executor->after(executor, &deadline->timer, cpti_request_remaining_ns(request));
    if (status == CPT_OK) {
        return CPT_OK;
    }
    unlist(request, deadline);
    request->deadline = NULL;
    (void)atomic_fetch_sub_explicit(&request->reference_count, 1, memory_order_relaxed);
    return cpt_error_set(error, status, 0, "executor \"%s\" cannot set a timer: %s",
                         executor->name, cpt_status_sentence(status));
}

void cpti_deadline_end(struct cpt_request *request)
{
    /* It may stay in the list, which is for requests that fail. */
    if (request->deadline != NULL) {
        cpti_timer_cancel(request, &request->deadline->timer);
    }
}

uint64_t cpti_deadline_ns(const struct cpt_request *request)
{
    return request->deadline != NULL ? request->deadline->timeout_ns : 0;
}

uint64_t cpti_request_remaining_ns(const struct cpt_request *request)
{
    uint64_t now_ns = 0;

    if (request->deadline_ns == 0) {
        return UINT64_MAX;
    }
    now_ns = cpt_clock_now_ns(request->clock);
    return request->deadline_ns > now_ns ? request->deadline_ns - now_ns : 0;
}

uint64_t cpt_task_remaining_ns(struct cpt_task *task)
{
    return cpti_request_remaining_ns(task->request);
}

/* --- What delayed it. Lock held. --- */

/* The oldest pending of the wait of @task; NULL if it does not wait. */
static struct cpt_pending *awaited(const struct cpt_task *task)
{
    struct cpt_pending *pending = task->is_waiting ? task->oldest : NULL;

    while (pending != NULL && pending->await_number != task->await_number) {
        pending = pending->next;
    }
    return pending;
}

/* The task that gives the first missing input of task @number, or CPTI_NO_TASK. */
static uint32_t missing_giver(const struct cpt_request *request, uint32_t number)
{
    const struct cpti_plan_task *plan = &request->plan->tasks[number];

    for (uint32_t i = 0; i < plan->input_count; i++) {
        const uint32_t giver = request->plan->slots[plan->input_slots[i]].giver;

        if (giver != CPTI_NO_TASK &&
            atomic_load_explicit(&request->progress[giver].outcome,
                                 memory_order_acquire) == CPT_WAITING) {
            return giver;
        }
    }
    return CPTI_NO_TASK;
}

/* The number of the task that delays the output; if it waits, the task is in *@task and
 * what it waits for in *@pending. */
static uint32_t find_holder(struct cpt_request *request, struct cpt_task **task,
                            struct cpt_pending **pending)
{
    uint32_t number = request->plan->output_task;

    /* A graph has no circles, but each edge may be both a need and a wait. */
    for (uint32_t i = 0;; i++) {
        uint32_t giver = 0;

        *task = cpti_waiting_task(request, number);
        *pending = *task != NULL ? awaited(*task) : NULL;
        giver = *pending != NULL ? (*pending)->stands_for - 1
                                 : missing_giver(request, number);
        if (giver == CPTI_NO_TASK || i >= 2 * request->plan->task_count) {
            return number;
        }
        number = giver;
    }
}

/* Puts task @number, which delayed the request, in the place of the one that answers.
 */
static void note_holder(struct cpt_request *request, uint32_t number,
                        struct cpt_task *task, const struct cpt_pending *pending,
                        cpt_status status)
{
    const uint64_t arrive_ns = cpti_record_now(request);
    struct cpt_trace_call *call = NULL;

    if (!request->is_traced) {
        return;
    }
    request->answered_by = number + 1;
    if (pending == NULL) {
        return;
    }
    call = pending->call;
    if (status == CPT_TIMEOUT) {
        call = cpti_record_timeout(pending, arrive_ns);
    } else if (call != NULL) {
        call->arrive_ns = arrive_ns;
        call->reason = CPT_REASON_FAILED;
    }
    cpti_waiting_remove(task); /* it is never woken */
    if (task->wait == NULL) {
        atomic_store_explicit(&task->turn, CPTI_TURN_LOST, memory_order_relaxed);
    }
    cpti_record_release(task, call, 0, arrive_ns);
}

/* Its name in a sentence. Without a trace only calls have a name that lasts. */
static struct cpt_bytes name_of(const struct cpt_pending *pending)
{
    return pending->call != NULL && pending->call->name.bytes != 0 ? pending->call->name
           : pending->stub != NULL     ? cpt_bytes_of(pending->stub->name)
           : pending->resource != NULL ? cpt_bytes_of(pending->resource->name)
                                       : cpt_bytes_of("work elsewhere");
}

void cpti_deadline_blame(struct cpt_request *request, cpt_status status, char *text)
{
    struct cpt_pending *pending = NULL;
    struct cpt_task *task = NULL;
    const uint32_t number = find_holder(request, &task, &pending);
    const char *what = status == CPT_TIMEOUT ? "the request took too long"
                                             : "the request was cancelled";
    const struct cpt_bytes name = request->plan->tasks[number].frame_name;

    if (text != NULL && pending != NULL) {
        const struct cpt_bytes other = name_of(pending);

        (void)snprintf(text, CPT_ERROR_SENTENCE_BYTES,
                       "%s: task '%.*s' waited for %s'%.*s'%s%.60s", what,
                       (int)name.bytes, name.data,
                       pending->resource != NULL ? "lock " : "", (int)other.bytes,
                       other.data, pending->target != NULL ? " at " : "",
                       pending->target != NULL ? pending->target : "");
    } else if (text != NULL) {
        (void)snprintf(text, CPT_ERROR_SENTENCE_BYTES, "%s: task '%.*s' had not ended",
                       what, (int)name.bytes, name.data);
    }
    note_holder(request, number, task, pending, status);
}

/* --- What a caller allows --- */

cpt_status cpti_microseconds_parse(struct cpt_bytes text, uint64_t *us)
{
    uint64_t number = 0;

    if (text.bytes == 0 || text.bytes > 15) {
        return CPT_CORRUPT;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return CPT_CORRUPT;
        }
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    *us = number < TIMEOUT_US_MAX ? number : TIMEOUT_US_MAX;
    return CPT_OK;
}

cpt_status cpti_timeout_parse(struct cpt_bytes text, uint64_t *timeout_ns)
{
    uint64_t us = 0;
    const cpt_status status = cpti_microseconds_parse(text, &us);

    if (status == CPT_OK) {
        *timeout_ns = us != 0 ? us * 1000 : 1000;
    }
    return status;
}
