/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * task.c - running the steps of tasks, and which task a thread runs next
 *
 * A thread that ends a task at once runs the first task that this unblocked, without a
 * queue and without reading the clock again. It keeps the others in a list and runs
 * them later. But if another thread is hungry (struct cpt_executor.hunger), it first
 * submits them to the executor, all of them as one piece of work, a *bundle*. The
 * thread that gets the bundle runs the first and does the same with the others. So no
 * ready task waits for a running one if another thread could run it, and one theft
 * brings a thief enough work.
 *
 *      run parse --> ends --> index ready: runs here
 *                             ads, user, news ready: a bundle, if a thread is hungry
 *
 * The steps of one task never overlap. A task is in one list only, that of the thread
 * which brought its missing inputs to zero; after a wait, the lock decides which thread
 * has ended it, and that thread submits the task.
 */
#include "framework/run/task.h"

#include "framework/pool/executor.h"
#include "framework/pool/pool.h"
#include "framework/run/delay.h"
#include "framework/run/held.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/slack.h"
#include "framework/run/stall.h"
#include "framework/run/wait.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What runs a task is compiled twice, with @is_traced known, so that a request that is
 * not traced does not even test for it. */
#define CPTI_SPECIALISED static inline __attribute__((always_inline))

enum { TASKS_A_TURN = 16 }; /* then other work gets its turn, if any waits */

/* --- What a step sees --- */

/* The slot of an input of the task or of what it starts; UINT32_MAX: it is neither.
 * *@is_wanted: the task can do without it. */
static uint32_t input_slot(const struct cpt_task *task, const struct cpt_value *value,
                           bool *is_wanted)
{
    const struct cpti_plan_task *own = cpti_task_plan(task);
    const struct cpt_plan *plan = task->request->plan;
    uint32_t slot = cpti_plan_slot(plan, own->input_slots, own->need_count, value);

    *is_wanted = false;
    if (slot == UINT32_MAX && own->input_count != own->need_count) {
        slot = cpti_plan_slot(plan, own->input_slots + own->need_count,
                              own->input_count - own->need_count, value);
        *is_wanted = slot != UINT32_MAX;
    }
    return slot != UINT32_MAX
               ? slot
               : cpti_plan_slot(plan, own->start_slots, own->start_count, value);
}

const void *cpt_task_input(struct cpt_task *task, const struct cpt_value *value)
{
    bool is_wanted = false;
    const uint32_t slot = input_slot(task, value, &is_wanted);
    uint32_t giver = 0;

    if (slot == UINT32_MAX) {
        CPTI_MISUSED(undeclared_value);
        return NULL;
    }
    giver = task->request->plan->slots[slot].giver;
    if (giver == CPTI_NO_TASK) {
        return task->request->input;
    }
    if (cpti_request_outcome(task->request, giver) == CPT_OK) {
        return cpti_request_value(task->request, giver);
    }
    return is_wanted ? value->otherwise : NULL;
}

cpt_status cpt_task_input_status(struct cpt_task *task, const struct cpt_value *value)
{
    bool is_wanted = false;
    const uint32_t slot = input_slot(task, value, &is_wanted);
    uint32_t giver = 0;

    if (slot == UINT32_MAX) {
        CPTI_MISUSED(undeclared_value);
        return CPT_INVALID;
    }
    giver = task->request->plan->slots[slot].giver;
    return giver == CPTI_NO_TASK ? CPT_OK : cpti_request_outcome(task->request, giver);
}

void *cpt_task_output(struct cpt_task *task, const struct cpt_value *value)
{
    const struct cpt_value *own = cpti_task_plan(task)->def->gives;

    if (own != value &&
        (own->bytes != value->bytes || strcmp(own->name, value->name) != 0)) {
        CPTI_MISUSED(undeclared_value);
        return NULL;
    }
    return cpti_task_value(task);
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
        task->is_used = true;
    }
    if (task->state_bytes != bytes) {
        CPTI_MISUSED(state_size);
        (void)cpt_fail(task, CPT_INVALID,
                       "a state of %zu bytes is asked for, an earlier one had %zu",
                       bytes, task->state_bytes);
        return NULL;
    }
    return task->state;
}

void *cpt_task_context(const struct cpt_task *task)
{
    return cpti_task_plan(task)->def->context;
}

struct cpt_request *cpt_task_request(struct cpt_task *task)
{
    return task->request;
}

/* The task whose step this thread runs. */
static _Thread_local struct cpt_task *current_task
    __attribute__((tls_model("initial-exec")));

struct cpt_task *cpt_current_task(void)
{
    return current_task;
}

static CPT_PRINTF(2, 0) void note_sentence(struct cpt_task *task, const char *format,
                                           va_list arguments)
{
    if (task->sentence == NULL) {
        task->sentence = cpti_request_take(task->request, CPT_ERROR_SENTENCE_BYTES);
        task->is_used = true;
    }
    if (task->sentence != NULL && task->sentence[0] == '\0') {
        (void)vsnprintf(task->sentence, CPT_ERROR_SENTENCE_BYTES, format, arguments);
    }
}

cpt_status cpt_fail(struct cpt_task *task, cpt_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    note_sentence(task, format, arguments);
    va_end(arguments);
    return status < 0 ? status : CPT_FAILED;
}

cpt_status cpt_refuse(struct cpt_task *task, unsigned outcome, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    note_sentence(task, format, arguments);
    va_end(arguments);
    task->is_used = true;
    task->refusal = outcome > CPT_OUTCOME_OK && outcome <= CPT_OUTCOME_UNAUTHENTICATED
                        ? (unsigned char)outcome
                        : CPT_OUTCOME_UNKNOWN;
    return CPT_REFUSED;
}

/* --- Which tasks are ready --- */

/* An input has arrived; true: it was the last missing one. */
static inline bool count_input(struct cpt_request *request, uint32_t number)
{
    _Atomic uint32_t *missing = &request->progress[number].missing_input_count;

    uint32_t left = 0;

    if (__builtin_expect(request->is_shared, 0)) {
        return atomic_fetch_sub_explicit(missing, 1, memory_order_acq_rel) == 1;
    }
    left = atomic_load_explicit(missing, memory_order_relaxed) - 1;
    atomic_store_explicit(missing, left, memory_order_relaxed);
    return left == 0;
}

bool cpti_task_input_arrived(struct cpt_request *request, uint32_t number,
                             uint32_t giver)
{
    if (!count_input(request, number)) {
        return false;
    }
    cpti_record_ready(request, number, giver);
    return true;
}

/* Counts the value of task @number as arrived for the tasks that need it. Returns the
 * first that is ready; the others are added to @ready. */
CPTI_SPECIALISED uint32_t release_successors(struct cpt_request *request,
                                             const struct cpti_plan_step *step,
                                             uint32_t number, bool is_traced,
                                             struct cpti_ready *ready)
{
    const uint32_t *end = step->successors + step->successor_count;
    uint32_t first = CPTI_NO_TASK;

    for (const uint32_t *link = step->successors; link != end; link++) {
        const uint32_t successor = *link & ~CPTI_LINK_FLAGS;

        if ((*link & CPTI_ONLY_INPUT) == 0 && !count_input(request, successor)) {
            continue;
        }
        if (is_traced) {
            cpti_record_ready(request, successor, number);
        }
        if (first != CPTI_NO_TASK) {
            cpti_ready_add(request, ready, successor);
        } else {
            first = successor;
        }
    }
    return first;
}

/* Task @number has failed; the task of @link can do without what it gives. */
static void release_without(struct cpt_request *request, uint32_t link, uint32_t number,
                            struct cpti_ready *ready)
{
    const uint32_t successor = link & ~CPTI_LINK_FLAGS;

    if ((link & CPTI_ONLY_INPUT) != 0) {
        cpti_record_ready(request, successor, number);
    } else if (!cpti_task_input_arrived(request, successor, number)) {
        return;
    }
    cpti_ready_add(request, ready, successor);
}

/* Fails task @number, which needs task @giver, in the same way; false: it has failed
 * already. */
static bool fail_without(struct cpt_request *request, uint32_t number, uint32_t giver,
                         cpt_status status, uint64_t end_ns)
{
    int32_t waiting = CPT_WAITING;

    /* Two of its inputs may fail; one of them ends it. */
    if (!atomic_compare_exchange_strong_explicit(&request->progress[number].outcome,
                                                 &waiting, status, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        return false;
    }
    cpti_record_never(request, number, giver, end_ns);
    if (request->plan->steps[number].is_startable) {
        cpti_task_release_waiters(request, number, status, end_ns);
    }
    return true;
}

/*
 * Task @number has failed, and the output does not need it. Tasks that need it never
 * run either, and what waits for them gets @status. Tasks that only want it are added
 * to @ready. An explicit stack, not a recursion, allocated only in this rare case.
 */
static void fail_branch(struct cpt_request *request, uint32_t number, cpt_status status,
                        uint64_t end_ns, struct cpti_ready *ready)
{
    const struct cpt_plan *plan = request->plan;
    uint32_t *stack = NULL;
    uint32_t depth = 0;

    if (plan->steps[number].successor_count == 0) {
        return;
    }
    stack = cpti_request_take(request, plan->task_count * sizeof *stack);
    if (stack == NULL) {
        (void)cpti_request_end(request, CPT_LIMIT, NULL);
        return;
    }
    stack[depth++] = number;
    while (depth > 0) {
        const uint32_t giver = stack[--depth];
        const struct cpti_plan_step *failed = &plan->steps[giver];

        for (uint32_t i = 0; i < failed->successor_count; i++) {
            const uint32_t link = failed->successors[i];

            if ((link & CPTI_WANTED) != 0) {
                release_without(request, link, giver, ready);
            } else if (fail_without(request, link & ~CPTI_LINK_FLAGS, giver, status,
                                    end_ns)) {
                stack[depth++] = link & ~CPTI_LINK_FLAGS;
            }
        }
    }
}

/* --- Steps --- */

/* Makes @task the activation of task @number. Returns what the plan says of it: the
 * loop that runs tasks has it at hand, not in memory. */
CPTI_SPECIALISED const struct cpti_plan_step *begin_task(struct cpt_request *request,
                                                         struct cpt_task *task,
                                                         uint32_t number,
                                                         bool is_traced)
{
    const struct cpti_plan_step *step = &request->plan->steps[number];

    task->number = number;
    task->next = step->run;
    if (is_traced) {
        task->record = &request->records[number];
        task->has_begun = false;
        if (request->inherited.delay != NULL) {
            cpti_delay_begin(task);
        }
    }
    return step;
}

/* Task @number, whose activation @task was, has ended. What it keeps of locks or leaves
 * outstanding is given up, if that is not to last: added to @told. Lock held. */
static void leave(struct cpt_task *task, uint32_t number,
                  struct cpti_cancellables *told)
{
    struct cpt_request *request = task->request;

    if (task->has_held && cpti_locks_are_over(request)) {
        cpti_held_move(request, number, told);
    }
    if (request->plan->steps[number].is_startable) {
        struct cpti_demand *demand = cpti_request_demand(request, number);

        if (demand->is_given) {
            cpti_task_drop_all(task, CPT_CANCELLED, told);
        }
        demand->task = task->oldest != NULL ? task : NULL;
    }
    task->has_held = false;
    task->has_components = false;
    task->trace = NULL; /* what still comes is not noted: cpti_edges_came() */
}

/* Clears what the steps of a task have left in its activation, which is used. false:
 * pendings still point at it, so it is not to be used again. */
static bool clear_task(struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    const uint32_t number = task->number;
    bool is_free = true;

    /* Atomic, as a call of it that goes on may read it: cpti_pending_starter(). A task
     * that has left nothing has no calls. */
    __atomic_store_n(&task->number, CPTI_NO_TASK, __ATOMIC_RELAXED);
    if (request->is_shared) {
        struct cpti_cancellables told = LIST_HEAD_INITIALIZER(told);

        cpti_lock_take(&request->lock);
        leave(task, number, &told);
        is_free = task->oldest == NULL;
        cpti_lock_release(&request->lock);
        cpti_cancellables_cancel(&told);
    } else {
        task->trace = NULL;
    }
    task->state = NULL;
    task->sentence = NULL;
    task->timeout_ns = 0;
    task->timer_status = CPT_OK;
    task->refusal = 0;
    task->has_asked = false;
    task->has_slept = false;
    task->is_used = false;
    return is_free;
}

/* @task, which was given up, ends: none of its steps runs any more. */
static void end_given_up(struct cpt_task *task)
{
    if (task->has_begun) {
        (void)cpti_record_end(task);
    }
    cpti_task_give_up_rest(task);
    atomic_store_explicit(&task->request->progress[task->number].outcome, CPT_CANCELLED,
                          memory_order_release);
}

/* When @task, which has ended, did so; 0: it is not traced. */
static uint64_t end_ns_of(const struct cpt_task *task)
{
    return task->record != NULL
               ? atomic_load_explicit(&task->record->end_ns, memory_order_relaxed)
               : 0;
}

/* Notes how a task that others may start has ended; false: it was given up before. */
static bool end_started(struct cpt_task *task, cpt_status status)
{
    struct cpt_request *request = task->request;
    int32_t waiting = CPT_WAITING;

    if (!atomic_compare_exchange_strong_explicit(
            &request->progress[task->number].outcome, &waiting, status,
            memory_order_release, memory_order_relaxed)) {
        end_given_up(task);
        return false;
    }
    cpti_task_release_waiters(request, task->number, status, end_ns_of(task));
    return true;
}

/* The task has ended with @status, which is not CPT_OK. */
static void fail_task(struct cpt_task *task, cpt_status status,
                      struct cpti_ready *ready)
{
    struct cpt_request *request = task->request;

    if (cpti_task_plan(task)->is_required) {
        if (task->is_used && request->is_shared) {
            cpti_held_release(request, task->number);
        }
        (void)cpti_request_end(request, status, task); /* which gives up all else */
        return;
    }
    if (task->is_used || cpti_task_plan(task)->start_count != 0) {
        cpti_task_give_up_rest(task);
    }
    fail_branch(request, task->number, status, end_ns_of(task), ready);
}

/* The last step of the task has returned @status, and its end is noted. The task to run
 * next, or CPTI_NO_TASK. */
CPTI_SPECIALISED uint32_t end_task(struct cpt_task *task,
                                   const struct cpti_plan_step *step, cpt_status status,
                                   bool is_traced, struct cpti_ready *ready)
{
    struct cpt_request *request = task->request;
    uint32_t next = CPTI_NO_TASK;

    if (task->has_slept) {
        cpti_task_end_sleeps(task);
    }
    if (!step->is_startable) {
        atomic_store_explicit(&request->progress[task->number].outcome, status,
                              memory_order_release);
    } else if (!end_started(task, status)) {
        return CPTI_NO_TASK;
    }
    if (status != CPT_OK) {
        fail_task(task, status, ready);
        return CPTI_NO_TASK;
    }
    next = release_successors(request, step, task->number, is_traced, ready);
    if (step->is_output) {
        (void)cpti_request_end(request, CPT_OK, task);
    }
    return next;
}

/* The next step begins; @now_ns as for cpti_record_start(). */
CPTI_SPECIALISED void begin_step(struct cpt_task *task, bool is_traced, uint64_t now_ns)
{
    if (!is_traced) {
        return;
    }
    if (task->await != NULL) {
        now_ns = cpti_record_now(task->request);
        cpti_lock_take(&task->request->lock);
        cpti_record_resume(task, now_ns, true);
        cpti_lock_release(&task->request->lock);
    } else if (!task->has_begun) {
        task->has_begun = true;
        cpti_record_start(task, now_ns);
    }
}

/* Something of the request was stopped, and no step of @task runs. true: so was the
 * task, and what it has is given up; but if all was stopped after a step, how that
 * ended is still to be noted. */
static __attribute__((noinline)) bool is_left(struct cpt_task *task, bool has_run)
{
    if (cpti_request_is_stopped(task->request)) {
        if (task->is_used) {
            cpti_request_cancel_ongoing(task->request); /* what a step has begun */
            cpti_held_release(task->request, task->number);
        }
        return !has_run;
    }
    if (cpti_task_is_given_up(task)) {
        end_given_up(task);
        return true;
    }
    return false;
}

/*
 * Runs steps of @task until it ends, with the status that this returns, or waits:
 * CPT_WAITING: it waits, and does not belong to this thread any more, or it was given
 * up, or the request has failed. @outer is a blocked task of this thread, or NULL.
 */
CPTI_SPECIALISED cpt_status run_steps(struct cpt_request *request,
                                      struct cpt_task *task, struct cpt_task *outer,
                                      bool is_traced, uint64_t now_ns)
{
    const atomic_uchar *stops = &request->stops;

    for (;;) {
        cpt_status status = CPT_OK;
        int waits = 0;

        if (atomic_load_explicit(stops, memory_order_relaxed) && is_left(task, false)) {
            return CPT_WAITING;
        }
        begin_step(task, is_traced, now_ns);
        current_task = task;
        status = task->next(task);
        current_task = outer;
        if (atomic_load_explicit(stops, memory_order_relaxed) && is_left(task, true)) {
            return CPT_WAITING;
        }
        if (__builtin_expect(status <= CPT_OK, 1)) {
            return status;
        }
        if (status != CPT_WAITING || !task->has_asked) {
            CPTI_MISUSED(bad_status);
            return cpt_fail(task, CPT_INVALID,
                            "a step returned %d, which is neither a status nor what "
                            "cpt_await() gave it",
                            status);
        }
        task->has_asked = false;
        cpti_locks_keep(task);
        waits = cpti_task_wait(task);
        if (waits == CPTI_WAIT_LEFT) {
            (void)is_left(task, true);
        }
        if (waits != 0) {
            return waits > 0 ? CPT_WAITING : waits;
        }
    }
}

/* --- Which thread runs them --- */

/* The first of @ready, or CPTI_NO_TASK. */
static uint32_t take_ready(struct cpt_request *request, struct cpti_ready *ready)
{
    const uint32_t first = ready->first;

    if (first == 0) {
        return CPTI_NO_TASK;
    }
    ready->first = atomic_load_explicit(
        &request->progress[first - 1].missing_input_count, memory_order_relaxed);
    return first - 1;
}

/* Whether another thread could run what this thread holds. */
static bool is_hungry(struct cpt_executor *executor)
{
    return executor->hunger == NULL || executor->hunger(executor) != 0;
}

static void run_work(struct cpt_work *work);

/* A bundle of @ready; NULL without memory, the request has then ended. */
static struct cpt_task *bundle(struct cpt_request *request, struct cpti_ready ready)
{
    struct cpt_task *task = cpti_activation_take(request);

    if (task == NULL) {
        (void)cpti_request_end(request, CPT_LIMIT, NULL);
        return NULL;
    }
    task->ready = ready;
    task->work.run = run_work;
    return task;
}

/* Submits @task, or the bundle in it. */
static void submit(struct cpt_task *task)
{
    if (task->request->is_traced) {
        cpti_record_submit(task);
    }
    cpti_slack_submit(task);
}

void cpti_ready_submit(struct cpt_request *request, struct cpti_ready ready)
{
    struct cpt_task *task = NULL;

    cpti_request_share(request);
    task = bundle(request, ready);
    if (task != NULL) {
        cpti_request_hold(request);
        submit(task);
    }
}

void cpti_task_give_ready(struct cpt_task *task)
{
    cpti_request_share(task->request);
    if (task->others != NULL && task->others->first != 0) {
        cpti_ready_submit(task->request, *task->others);
        *task->others = (struct cpti_ready){0, 0};
    }
}

/* Queues all that this thread holds behind the work that waits, as a bundle in @task,
 * which is free; false: no work waits. Rare, so its code is kept out of the loop. */
static __attribute__((noinline)) bool yield(struct cpt_request *request,
                                            struct cpt_task *task, uint32_t next,
                                            struct cpti_ready ready)
{
    struct cpt_executor *executor = request->executor;
    struct cpti_ready all = {0, 0};

    if (__builtin_expect(cpti_stall_is_on(), 0)) {
        cpti_stall_come_on();
    }
    if (executor->yield == NULL || (next == CPTI_NO_TASK && ready.first == 0)) {
        return false;
    }
    task->ready = ready;
    if (next != CPTI_NO_TASK) { /* in front of them */
        cpti_ready_add(request, &all, next);
        atomic_store_explicit(&request->progress[next].missing_input_count, ready.first,
                              memory_order_relaxed);
        task->ready =
            (struct cpti_ready){all.first, ready.first != 0 ? ready.last : all.last};
    }
    task->number = CPTI_NO_TASK;
    task->work.run = run_work;
    if (executor->yield(executor, &task->work)) {
        return true;
    }
    task->ready = (struct cpti_ready){0, 0};
    return false;
}

/* Runs the task or the bundle in @task, and all that this makes ready. Takes over a
 * reference to the request. */
CPTI_SPECIALISED void run_all(struct cpt_request *request, struct cpt_task *task,
                              bool is_traced)
{
    struct cpt_task *outer = current_task; /* a blocked one, below this one */
    const struct cpti_plan_step *step = NULL;
    struct cpti_ready ready = task->ready;
    uint32_t next = task->number;
    unsigned left = TASKS_A_TURN;
    uint64_t now_ns = 0;

    cpti_slack_waited(task);
    task->ready = (struct cpti_ready){0, 0};
    task->others = &ready;
    if (next == CPTI_NO_TASK) {
        next = take_ready(request, &ready);
        step = begin_task(request, task, next, is_traced);
    } else if (atomic_exchange_explicit(&task->turn, CPTI_TURN_STEP,
                                        memory_order_relaxed) == CPTI_TURN_LOST) {
        cpti_request_release(request); /* it was given up while it was queued */
        return;
    } else {
        step = cpti_task_step(task);
    }
    for (;;) {
        cpt_status status = CPT_OK;

        if (ready.first != 0 && is_hungry(request->executor)) {
            cpti_ready_submit(request, ready);
            ready = (struct cpti_ready){0, 0};
            now_ns = 0; /* that may have taken a while */
        }
        status = run_steps(request, task, outer, is_traced, now_ns);
        if (status <= CPT_OK) {
            now_ns = is_traced ? cpti_record_end(task) : 0;
            next = end_task(task, step, status, is_traced, &ready);
            task = !task->is_used || clear_task(task) ? task : NULL;
        } else {
            next = CPTI_NO_TASK;
            task = NULL;
            now_ns = 0;
        }
        cpti_record_leave(request, step->name_id, is_traced, now_ns);
        if (next == CPTI_NO_TASK) {
            now_ns = 0;
            next = take_ready(request, &ready);
        }
        if (next == CPTI_NO_TASK || cpti_request_is_stopped(request)) {
            break;
        }
        if (task == NULL) {
            task = cpti_activation_take(request);
            if (task == NULL) {
                (void)cpti_request_end(request, CPT_LIMIT, NULL);
                break;
            }
            task->others = &ready;
        }
        if (--left == 0) {
            left = TASKS_A_TURN;
            if (yield(request, task, next, ready)) {
                return; /* the reference has gone with the bundle */
            }
        }
        step = begin_task(request, task, next, is_traced);
    }
    if (task != NULL) {
        cpti_activation_put(task);
    }
    cpti_request_release(request);
}

/* The choice is made here, not at each task. */
static void run(struct cpt_request *request, struct cpt_task *task)
{
    if (request->is_traced) {
        run_all(request, task, true);
    } else {
        run_all(request, task, false);
    }
}

/* The same, with each turn noted. Apart, so that it costs run() no registers. */
static __attribute__((noinline)) void run_watched(struct cpt_request *request,
                                                  struct cpt_task *task)
{
    const uint64_t before = cpti_stall_enter();

    run(request, task);
    cpti_stall_leave(before);
}

static inline void run_or_watch(struct cpt_request *request, struct cpt_task *task)
{
    if (__builtin_expect(cpti_stall_is_on(), 0)) {
        run_watched(request, task);
    } else {
        run(request, task);
    }
}

static void run_work(struct cpt_work *work)
{
    struct cpt_task *task = (struct cpt_task *)work;

    run_or_watch(task->request, task);
}

const struct cpt_request *cpti_work_request(const struct cpt_work *work)
{
    return work->run == run_work ? ((const struct cpt_task *)work)->request : NULL;
}

void cpti_ready_start(struct cpt_request *request, struct cpti_ready ready,
                      bool is_here)
{
    struct cpt_task *task = bundle(request, ready);

    if (task == NULL) {
        cpti_request_release(request);
    } else if (is_here) {
        const struct cpti_occupant outer = cpti_thread_enter();

        run_or_watch(request, task);
        cpti_thread_leave(outer);
    } else {
        submit(task);
    }
}

void cpti_task_submit(struct cpt_task *task)
{
    task->work.run = run_work;
    submit(task);
}
