/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * task.c - running the steps of tasks, and who runs next
 *
 * A thread that ends a task looks at whom it unblocked: the first one it runs itself,
 * at once, without a queue and without a second reading of the clock; the others it
 * hands to the executor.
 *
 *      run parse --> ends --> index ready: runs here     ads ready: submitted
 *
 * The steps of one task never overlap: a task is queued or run only by whoever brought
 * its missing inputs to zero, and again only by whoever ended its wait, of which there
 * is one each time (the lock decides).
 */
#include "framework/recording.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- What a step sees --- */

static struct cpt_task *giver_of(const struct cpt_task *task, uint32_t slot)
{
    return &task->request->tasks[task->request->plan->slots[slot].giver];
}

const void *cpt_task_input(struct cpt_task *task, const struct cpt_value *value)
{
    const struct cpt_plan *plan = task->request->plan;
    uint32_t slot =
        cpti_plan_slot(plan, task->plan->need_slots, task->plan->need_count, value);

    if (slot == UINT32_MAX) {
        slot = cpti_plan_slot(plan, task->plan->start_slots, task->plan->start_count,
                              value);
    }
    if (slot == UINT32_MAX) {
        return NULL;
    }
    if (plan->slots[slot].giver == CPTI_NO_TASK) {
        return task->request->input;
    }
    /* Pairs with the release in end_task(): its output is then complete. */
    return atomic_load_explicit(&giver_of(task, slot)->outcome, memory_order_acquire) ==
                   CPT_OK
               ? giver_of(task, slot)->output
               : NULL;
}

void *cpt_task_output(struct cpt_task *task, const struct cpt_value *value)
{
    const struct cpt_value *own = task->plan->def->gives;

    return own == value ||
                   (own->bytes == value->bytes && strcmp(own->name, value->name) == 0)
               ? task->output
               : NULL;
}

void *cpt_task_memory(struct cpt_task *task, size_t bytes)
{
    return cpti_request_take(task->request, bytes);
}

void *cpt_task_state(struct cpt_task *task, size_t bytes)
{
    if (task->state == NULL) {
        task->state = cpti_request_take(task->request, bytes);
        task->state_bytes = bytes;
    }
    assert(task->state == NULL || task->state_bytes == bytes);
    return task->state;
}

struct cpt_request *cpt_task_request(struct cpt_task *task)
{
    return task->request;
}

/* The task whose step this thread runs. */
static _Thread_local struct cpt_task *current_task;

struct cpt_task *cpt_current_task(void)
{
    return current_task;
}

cpt_status cpt_fail(struct cpt_task *task, cpt_status status, const char *format, ...)
{
    va_list arguments;

    if (task->sentence == NULL) {
        task->sentence = cpti_request_take(task->request, CPT_ERROR_SENTENCE_BYTES);
    }
    if (task->sentence != NULL && task->sentence[0] == '\0') {
        va_start(arguments, format);
        (void)vsnprintf(task->sentence, CPT_ERROR_SENTENCE_BYTES, format, arguments);
        va_end(arguments);
    }
    return status < 0 ? status : CPT_FAILED;
}

/* --- Whose turn it is --- */

int cpti_task_input_arrived(struct cpt_task *task, struct cpt_task *giver,
                            uint64_t arrive_ns)
{
    if (atomic_fetch_sub_explicit(&task->missing_input_count, 1,
                                  memory_order_acq_rel) != 1) {
        return 0;
    }
    cpti_record_ready(task, giver, arrive_ns);
    return 1;
}

/* The tasks that needed what @task gave: the first that can run now, for this thread;
 * the others are submitted. */
static struct cpt_task *release_successors(struct cpt_task *task, uint64_t end_ns)
{
    struct cpt_task *first = NULL;

    for (uint32_t i = 0; i < task->plan->successor_count; i++) {
        struct cpt_task *successor = &task->request->tasks[task->plan->successors[i]];

        if (!cpti_task_input_arrived(successor, task, end_ns)) {
            continue;
        }
        if (first != NULL) {
            cpti_task_submit(successor);
        } else {
            first = successor;
        }
    }
    return first;
}

/*
 * @task has failed or will never run, and the output does not need it: whatever needs
 * it never runs either, and whoever waits for that sees @status. Tasks that are never
 * queued any more are linked through their work, instead of a recursion.
 */
static void fail_branch(struct cpt_task *task, cpt_status status, uint64_t end_ns)
{
    struct cpt_work *list = NULL;

    for (;;) {
        for (uint32_t i = 0; i < task->plan->successor_count; i++) {
            struct cpt_task *successor =
                &task->request->tasks[task->plan->successors[i]];
            cpt_status waiting = CPT_WAITING;

            /* Two of its inputs may fail: one of them ends it. */
            if (atomic_compare_exchange_strong_explicit(&successor->outcome, &waiting,
                                                        status, memory_order_acq_rel,
                                                        memory_order_acquire)) {
                successor->work.next = list;
                list = &successor->work;
            }
        }
        if (list == NULL) {
            return;
        }
        task = (struct cpt_task *)list;
        list = list->next;
        cpti_task_release_waiters(task, status, end_ns);
    }
}

/* The task has returned @status from its last step. Whoever runs next, or NULL. */
static struct cpt_task *end_task(struct cpt_task *task, cpt_status status)
{
    struct cpt_request *request = task->request;
    const uint64_t end_ns = cpti_record_end(task);
    struct cpt_task *next = NULL;

    atomic_store_explicit(&task->outcome, status, memory_order_release);
    if (task->has_slept) {
        cpti_task_end_sleeps(task);
    }
    if (task->plan->is_startable) {
        cpti_task_release_waiters(task, status, end_ns);
    }
    if (status != CPT_OK) {
        if (task->plan->is_required) {
            (void)cpti_request_end(request, status, task);
        } else {
            fail_branch(task, status, end_ns);
        }
        return NULL;
    }
    next = release_successors(task, end_ns);
    if (task->plan == &request->plan->tasks[request->plan->output_task]) {
        (void)cpti_request_end(request, CPT_OK, task);
    }
    return next;
}

/* The step that comes next begins; @now_ns as for cpti_record_start(). */
static void begin_step(struct cpt_task *task, uint64_t now_ns)
{
    task->has_asked = 0;
    if (task->record == NULL) {
        return;
    }
    if (task->record->start_ns == 0) {
        cpti_record_start(task, now_ns);
    } else if (task->await != NULL) {
        now_ns = cpti_record_now(task->request);
        cpti_lock_take(&task->request->lock);
        cpti_record_resume(task, now_ns);
        cpti_lock_release(&task->request->lock);
    }
}

/* Runs steps of @task until it waits or ends. Whoever runs next, or NULL. */
static struct cpt_task *run_steps(struct cpt_task *task, uint64_t now_ns)
{
    for (;;) {
        cpt_status status = CPT_OK;
        int waits = 0;

        if (atomic_load_explicit(&task->request->is_stopped, memory_order_relaxed)) {
            return NULL;
        }
        begin_step(task, now_ns);
        current_task = task;
        status = task->next(task);
        current_task = NULL;
        if (atomic_load_explicit(&task->request->is_stopped, memory_order_relaxed)) {
            cpti_request_cancel_works(task->request); /* what this step has begun */
        }
        if (status == CPT_WAITING && task->has_asked) {
            waits = cpti_task_wait(task);
            if (waits > 0) {
                return NULL;
            }
            if (waits == 0) {
                continue;
            }
            status = waits;
        } else if (status == CPT_WAITING || status > 0) {
            status = cpt_fail(task, CPT_INVALID,
                              "a step returned %d, which is neither a status nor what "
                              "cpt_await() gave it",
                              status);
        }
        return end_task(task, status);
    }
}

/* The reference to the request goes from each task to the one that runs after it. */
static void run_work(struct cpt_work *work)
{
    struct cpt_task *task = (struct cpt_task *)work;
    struct cpt_request *request = task->request;
    uint64_t now_ns = 0;

    while (task != NULL) {
        task = run_steps(task, now_ns);
        now_ns = task != NULL && task->record != NULL ? task->record->ready_ns : 0;
    }
    cpti_request_release(request);
}

void cpti_task_submit(struct cpt_task *task)
{
    struct cpt_executor *executor = task->request->executor;

    cpti_request_hold(task->request);
    task->work.run = run_work;
    executor->submit(executor, &task->work);
}
