/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* defer.c - pendings that something outside of the tasks completes: work elsewhere, and
 * timers */
#include "cpt/base/container.h"
#include "cpt/cpt_path.h"
#include "framework/run/call.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"

#include <stdio.h>
#include <string.h>

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

/* --- Their frames. Lock held. --- */

/* "A: name" among the notes of the request, or nothing. */
static struct cpt_bytes frame_name(struct cpt_task *task, const char *name)
{
    const struct cpt_bytes service = task->request->plan->service;
    const size_t bytes = service.bytes + 2 + strlen(name);
    char *text = cpt_arena_take(&task->request->notes, bytes + 1);
    char *cut = cpt_arena_take(&task->request->notes, CPT_NAME_BYTES_MAX + 1);

    if (text == NULL || cut == NULL) {
        return (struct cpt_bytes){NULL, 0};
    }
    (void)snprintf(text, bytes + 1, "%.*s: %s", (int)service.bytes, service.data, name);
    return cpt_name_bound((struct cpt_bytes){text, bytes}, cut);
}

/* The record of a wait that is not work, of @kind: below the frame @name as it is, or
 * below the task if that is NULL. */
static struct cpt_trace_call *issue_kind(struct cpt_task *task, const char *name,
                                         unsigned kind, uint64_t now_ns)
{
    const struct cpt_bytes frame = cpt_bytes_of(name);
    struct cpt_trace_call *call = cpti_record_issue(task, frame, CPT_CALL_KIND, now_ns);

    if (call != NULL) {
        call->kind = (unsigned char)kind;
    }
    return call;
}

/* The record of a pending: work under @name, or a wait of another @kind. NULL if the
 * request is not traced, or there is no memory. */
static struct cpt_trace_call *issue(struct cpt_task *task, const char *name,
                                    unsigned kind, uint64_t now_ns)
{
    struct cpt_bytes frame = {NULL, 0};

    if (task->record == NULL) {
        return NULL;
    }
    if (kind != CPT_KIND_WORK) {
        return issue_kind(task, name, kind, now_ns);
    }
    frame = frame_name(task, name);
    if (frame.data == NULL) {
        cpti_record_lost(task->request);
        return NULL;
    }
    return cpti_plan_takes_name(task->request->plan, frame)
               ? cpti_record_issue(task, frame, CPT_CALL_LOCAL, now_ns)
               : issue_kind(task, NULL, CPT_KIND_OTHER, now_ns);
}

/* Begins @pending, work elsewhere or a timer, under @name and takes the reference that
 * its end releases; @kind is that of its frame. Lock not held. */
static void begin(struct cpt_pending *pending, enum cpti_pending_kind what,
                  struct cpt_task *task, const char *name, unsigned kind)
{
    struct cpt_request *request = task->request;
    const uint64_t now_ns = cpti_record_now(request);

    cpti_lock_take(&request->lock);
    pending->call = issue(task, name, kind, now_ns);
    cpti_pending_begin(pending, what, task, now_ns);
    cpti_lock_release(&request->lock);
    cpti_request_hold(request);
}

/* --- Work elsewhere --- */

struct cpt_pending *cpt_defer(struct cpt_task *task, const char *name)
{
    struct cpt_pending *pending = cpti_request_take(task->request, sizeof *pending);

    if (pending == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    begin(pending, CPTI_PENDING_WORK, task, name, CPT_KIND_WORK);
    return pending;
}

static void cancel_deferred(struct cpti_cancellable *cancellable)
{
    const struct deferred *deferred =
        CPTI_CONTAINER(cancellable->pending, struct deferred, pending);

    deferred->cancel(deferred->context);
}

struct cpt_pending *cpt_defer_cancellable(struct cpt_task *task, const char *name,
                                          void (*cancel)(void *context), void *context)
{
    struct deferred *deferred = cpti_request_take(task->request, sizeof *deferred);

    if (deferred == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    deferred->cancel = cancel;
    deferred->context = context;
    deferred->pending.cancellable.cancel = cancel_deferred;
    begin(&deferred->pending, CPTI_PENDING_WORK, task, name, CPT_KIND_WORK);
    return &deferred->pending;
}

/* --- Timers --- */

static void fire_sleep(struct cpt_timer *timer)
{
    (void)cpti_pending_complete(&CPTI_CONTAINER(timer, struct sleep, timer)->pending,
                                CPT_OK);
}

/* One that is just firing finds that it has ended. */
static void cancel_sleep(struct cpti_cancellable *cancellable)
{
    struct cpt_pending *pending = cancellable->pending;

    cpti_timer_cancel(pending->request,
                      &CPTI_CONTAINER(pending, struct sleep, pending)->timer);
}

void cpti_task_end_sleeps(struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    struct cpt_pending *next = NULL;
    struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);

    cpti_lock_take(&request->lock);
    for (struct cpt_pending *pending = task->oldest; pending != NULL; pending = next) {
        next = pending->next;
        if (pending->cancellable.cancel == cancel_sleep) {
            cpti_pending_drop(pending, CPT_CANCELLED);
            cpti_cancellable_move(&pending->cancellable, &told);
        }
    }
    cpti_lock_release(&request->lock);
    cpti_cancellables_cancel(&told);
}

/* A timer whose frame is as for issue(). */
static struct cpt_pending *begin_sleep(struct cpt_task *task, const char *name,
                                       unsigned kind, uint64_t delay_ns)
{
    struct cpt_executor *executor = task->request->executor;
    struct sleep *sleep = cpti_request_take(task->request, sizeof *sleep);
    cpt_status status = CPT_OK;

    if (sleep == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    sleep->timer.fire = fire_sleep;
    task->has_slept = true;
    begin(&sleep->pending, CPTI_PENDING_TIMER, task, name, kind);
    status = executor->after(executor, &sleep->timer, delay_ns);
    if (status != CPT_OK) {
        sleep->pending.has_no_timer = true;
        task->timer_status = status;
        cpti_timer_failed(task->request);
        (void)cpti_pending_complete(&sleep->pending, status);
    } else {
        cpti_pending_cancel_by(&sleep->pending, cancel_sleep);
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
