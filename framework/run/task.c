/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * task.c - running the steps of tasks, and who runs next
 *
 * A thread that ends a task looks at whom it unblocked: the first one it runs itself,
 * at once, without a queue and without a second reading of the clock. The others it
 * keeps in a list of its own and runs them later, unless somebody is hungry: then it
 * hands them to the executor, all of them as one piece of work, a *bundle*, before it
 * goes on. Whoever gets the bundle runs the first and hands on the others likewise. So
 * while a task runs no ready task waits for it that another thread could run, and what
 * a thief takes with one theft is worth it.
 *
 *      run parse --> ends --> index ready: runs here
 *                             ads, user, news ready: a bundle, if somebody is hungry
 *
 * The steps of one task never overlap: a task is in one list, of whoever brought its
 * missing inputs to zero, and is queued again only by whoever ended its wait, of which
 * there is one each time (the lock decides).
 */
#include "framework/pool/executor.h"
#include "framework/run/recording.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What runs a task is compiled twice, with @is_traced known: a request that is not
 * traced then does not even ask. */
#define CPTI_SPECIALISED static inline __attribute__((always_inline))

/* So many tasks run until others get their turn, if any wait. */
enum { TASKS_A_TURN = 16 };

/* --- What a step sees --- */

/* The slot of an input or of what the task starts; UINT32_MAX if it is neither.
 * @is_wanted: it goes on without. */
static uint32_t input_slot(const struct cpt_task *task, const struct cpt_value *value,
                           int *is_wanted)
{
    const struct cpti_plan_task *own = task->plan;
    const struct cpt_plan *plan = task->request->plan;
    uint32_t slot = cpti_plan_slot(plan, own->input_slots, own->need_count, value);

    *is_wanted = 0;
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
    int is_wanted = 0;
    const uint32_t slot = input_slot(task, value, &is_wanted);
    uint32_t giver = 0;

    if (slot == UINT32_MAX) {
        return NULL;
    }
    giver = task->request->plan->slots[slot].giver;
    if (giver == CPTI_NO_TASK) {
        return task->request->input;
    }
    /* Pairs with the release in end_task(): its output is then complete. */
    if (atomic_load_explicit(&task->request->progress[giver].outcome,
                             memory_order_acquire) == CPT_OK) {
        return cpti_request_value(task->request, giver);
    }
    return is_wanted ? value->otherwise : NULL;
}

cpt_status cpt_task_input_status(struct cpt_task *task, const struct cpt_value *value)
{
    int is_wanted = 0;
    const uint32_t slot = input_slot(task, value, &is_wanted);
    uint32_t giver = 0;

    if (slot == UINT32_MAX) {
        return CPT_INVALID;
    }
    giver = task->request->plan->slots[slot].giver;
    return giver == CPTI_NO_TASK
               ? CPT_OK
               : atomic_load_explicit(&task->request->progress[giver].outcome,
                                      memory_order_acquire);
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
        task->is_used = 1;
    }
    assert(task->state == NULL || task->state_bytes == bytes);
    return task->state;
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

cpt_status cpt_fail(struct cpt_task *task, cpt_status status, const char *format, ...)
{
    va_list arguments;

    if (task->sentence == NULL) {
        task->sentence = cpti_request_take(task->request, CPT_ERROR_SENTENCE_BYTES);
        task->is_used = 1;
    }
    if (task->sentence != NULL && task->sentence[0] == '\0') {
        va_start(arguments, format);
        (void)vsnprintf(task->sentence, CPT_ERROR_SENTENCE_BYTES, format, arguments);
        va_end(arguments);
    }
    return status < 0 ? status : CPT_FAILED;
}

/* --- Whose turn it is --- */

/* One input less is missing. 1: it was the last. */
static inline int count_input(struct cpt_request *request, uint32_t number)
{
    _Atomic uint32_t *missing = &request->progress[number].missing_input_count;

    if (request->is_shared) {
        if (atomic_fetch_sub_explicit(missing, 1, memory_order_acq_rel) != 1) {
            return 0;
        }
    } else {
        const uint32_t left = atomic_load_explicit(missing, memory_order_relaxed) - 1;

        atomic_store_explicit(missing, left, memory_order_relaxed);
        if (left != 0) {
            return 0;
        }
    }
    return 1;
}

int cpti_task_input_arrived(struct cpt_request *request, uint32_t number,
                            uint32_t giver)
{
    if (!count_input(request, number)) {
        return 0;
    }
    cpti_record_ready(request, number, giver);
    return 1;
}

/* The tasks that needed what task @number gave: the first that can run now; the others
 * go behind @ready. */
CPTI_SPECIALISED uint32_t release_successors(struct cpt_request *request,
                                             const struct cpti_plan_task *plan,
                                             uint32_t number, int is_traced,
                                             struct cpti_ready *ready)
{
    uint32_t first = CPTI_NO_TASK;

    for (uint32_t i = 0; i < plan->successor_count; i++) {
        const uint32_t link = plan->successors[i];
        const uint32_t successor = link & ~CPTI_LINK_FLAGS;

        if ((link & CPTI_ONLY_INPUT) == 0 && !count_input(request, successor)) {
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

/* What task @number gives has come as an error, which @link's task can do with. */
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

/* Task @number fails as task @giver did, which it needs. 0: it has failed already. */
static int fail_without(struct cpt_request *request, uint32_t number, uint32_t giver,
                        cpt_status status, uint64_t end_ns)
{
    int32_t waiting = CPT_WAITING;

    /* Two of its inputs may fail: one of them ends it. */
    if (!atomic_compare_exchange_strong_explicit(&request->progress[number].outcome,
                                                 &waiting, status, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        return 0;
    }
    cpti_record_never(request, number, giver, end_ns);
    if (request->plan->tasks[number].is_startable) {
        cpti_task_release_waiters(request, number, status, end_ns);
    }
    return 1;
}

/*
 * Task @number has failed, and the output does not need it: whatever needs it never
 * runs either, and whoever waits for that sees @status; what only wants it goes on,
 * behind @ready. A stack of our own instead of a recursion; it is rare enough to be
 * taken only now.
 */
static void fail_branch(struct cpt_request *request, uint32_t number, cpt_status status,
                        uint64_t end_ns, struct cpti_ready *ready)
{
    const struct cpt_plan *plan = request->plan;
    uint32_t *stack = NULL;
    uint32_t depth = 0;

    if (plan->tasks[number].successor_count == 0) {
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
        const struct cpti_plan_task *failed = &plan->tasks[giver];

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

/* @task is now task @number. */
CPTI_SPECIALISED void begin_task(struct cpt_task *task, uint32_t number, int is_traced)
{
    struct cpt_request *request = task->request;

    task->number = number;
    task->plan = &request->plan->tasks[number];
    task->output = request->outputs + task->plan->output_offset;
    task->record = is_traced ? &request->records[number] : NULL;
    task->next = task->plan->run;
    task->has_begun = 0;
}

/* What the steps of a task have left in its activation goes. 0: somebody may still look
 * at it; it is not to be used again. */
static int clear_task(struct cpt_task *task)
{
    struct cpt_request *request = task->request;
    int is_free = 1;

    task->number = CPTI_NO_TASK;
    if (!task->is_used) {
        return 1;
    }
    if (request->is_shared) {
        cpti_lock_take(&request->lock);
        is_free = task->oldest == NULL && !task->has_waited;
        cpti_lock_release(&request->lock);
    }
    task->state = NULL;
    task->sentence = NULL;
    task->timeout_ns = 0;
    task->has_slept = 0;
    task->is_used = 0;
    return is_free;
}

/* The task has returned @status from its last step. Who runs next, or CPTI_NO_TASK. */
CPTI_SPECIALISED uint32_t end_task(struct cpt_task *task, cpt_status status,
                                   int is_traced, uint64_t *end_ns,
                                   struct cpti_ready *ready)
{
    struct cpt_request *request = task->request;
    const struct cpti_plan_task *plan = task->plan;
    uint32_t next = CPTI_NO_TASK;

    *end_ns = is_traced ? cpti_record_end(task) : 0;
    atomic_store_explicit(&request->progress[task->number].outcome, status,
                          memory_order_release);
    if (task->has_slept) {
        cpti_task_end_sleeps(task);
    }
    if (plan->is_startable) {
        cpti_task_release_waiters(request, task->number, status, *end_ns);
    }
    if (status != CPT_OK) {
        if (plan->is_required) {
            (void)cpti_request_end(request, status, task);
        } else {
            fail_branch(request, task->number, status, *end_ns, ready);
        }
        return CPTI_NO_TASK;
    }
    next = release_successors(request, plan, task->number, is_traced, ready);
    if (task->number == request->plan->output_task) {
        (void)cpti_request_end(request, CPT_OK, task);
    }
    return next;
}

/* The step that comes next begins; @now_ns as for cpti_record_start(). */
CPTI_SPECIALISED void begin_step(struct cpt_task *task, int is_traced, uint64_t now_ns)
{
    if (!is_traced) {
        return;
    }
    if (task->await != NULL) {
        now_ns = cpti_record_now(task->request);
        cpti_lock_take(&task->request->lock);
        cpti_record_resume(task, now_ns, cpti_thread_occupant);
        cpti_lock_release(&task->request->lock);
    } else if (!task->has_begun) {
        task->has_begun = 1;
        cpti_record_start(task, now_ns, cpti_thread_occupant);
    }
}

/*
 * Runs steps of @task until it ends, with the status in *@status, or waits. 0: it
 * waits, and is not ours any more, or the request has ended and nothing is to be done.
 */
CPTI_SPECIALISED int run_steps(struct cpt_task *task, int is_traced, uint64_t now_ns,
                               cpt_status *status)
{
    const atomic_uchar *is_stopped = &task->request->is_stopped;
    struct cpt_task *outer = current_task; /* that blocks and lets us run meanwhile */

    for (;;) {
        int waits = 0;

        if (atomic_load_explicit(is_stopped, memory_order_relaxed)) {
            return 0;
        }
        begin_step(task, is_traced, now_ns);
        task->has_asked = 0;
        current_task = task;
        *status = task->next(task);
        current_task = outer;
        if (atomic_load_explicit(is_stopped, memory_order_relaxed)) {
            cpti_request_cancel_works(task->request); /* what this step has begun */
        }
        if (*status == CPT_WAITING && task->has_asked) {
            waits = cpti_task_wait(task);
            if (waits > 0) {
                return 0;
            }
            if (waits == 0) {
                continue;
            }
            *status = waits;
        } else if (*status == CPT_WAITING || *status > 0) {
            *status = cpt_fail(task, CPT_INVALID,
                               "a step returned %d, which is neither a status nor what "
                               "cpt_await() gave it",
                               *status);
        }
        return 1;
    }
}

/* --- Who runs what --- */

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

/* Whether somebody is there who could run what this thread holds. */
static int is_hungry(struct cpt_executor *executor)
{
    return executor->hunger == NULL || executor->hunger(executor) != 0;
}

static void run_work(struct cpt_work *work);

/* A bundle, or NULL. */
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

void cpti_ready_submit(struct cpt_request *request, struct cpti_ready ready)
{
    struct cpt_executor *executor = request->executor;
    struct cpt_task *task = NULL;

    cpti_request_share(request);
    task = bundle(request, ready);
    if (task != NULL) {
        cpti_request_hold(request);
        executor->submit(executor, &task->work);
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

/* Others had no turn for long: everything waits behind them. @task is free. 0: nobody
 * waits. */
static int yield(struct cpt_request *request, struct cpt_task *task, uint32_t next,
                 struct cpti_ready ready)
{
    struct cpt_executor *executor = request->executor;
    struct cpti_ready all = {0, 0};

    if (executor->yield == NULL || (next == CPTI_NO_TASK && ready.first == 0)) {
        return 0;
    }
    task->ready = ready;
    if (next != CPTI_NO_TASK) { /* in front of them */
        cpti_ready_add(request, &all, next);
        atomic_store_explicit(&request->progress[next].missing_input_count, ready.first,
                              memory_order_relaxed);
        task->ready =
            (struct cpti_ready){all.first, ready.first != 0 ? ready.last : all.last};
    }
    task->work.run = run_work;
    if (executor->yield(executor, &task->work)) {
        return 1;
    }
    task->ready = (struct cpti_ready){0, 0};
    return 0;
}

/* Runs what @task is or brings, and whatever that makes ready, with the reference to
 * the request that comes with it. */
CPTI_SPECIALISED void run_all(struct cpt_request *request, struct cpt_task *task,
                              int is_traced)
{
    struct cpti_ready ready = task->ready;
    uint32_t next = task->number;
    unsigned left = TASKS_A_TURN;
    uint32_t name_id = 0;
    uint64_t now_ns = 0;

    task->ready = (struct cpti_ready){0, 0};
    if (next == CPTI_NO_TASK) {
        next = take_ready(request, &ready);
        begin_task(task, next, is_traced);
    }
    for (;;) {
        cpt_status status = CPT_OK;

        if (ready.first != 0 && is_hungry(request->executor)) {
            cpti_ready_submit(request, ready);
            ready = (struct cpti_ready){0, 0};
            now_ns = 0; /* that may have taken a while */
        }
        task->others = &ready;
        name_id = task->plan->name_id;
        if (run_steps(task, is_traced, now_ns, &status)) {
            next = end_task(task, status, is_traced, &now_ns, &ready);
            task = clear_task(task) ? task : NULL;
        } else {
            next = CPTI_NO_TASK;
            task = NULL;
        }
        cpti_thread_occupant = name_id;
        if (next == CPTI_NO_TASK) {
            now_ns = 0;
            next = take_ready(request, &ready);
        }
        if (next == CPTI_NO_TASK ||
            atomic_load_explicit(&request->is_stopped, memory_order_relaxed)) {
            break;
        }
        if (task == NULL) {
            task = cpti_activation_take(request);
            if (task == NULL) {
                (void)cpti_request_end(request, CPT_LIMIT, NULL);
                break;
            }
        }
        if (--left == 0) {
            left = TASKS_A_TURN;
            if (yield(request, task, next, ready)) {
                return; /* the reference has gone with it */
            }
        }
        begin_task(task, next, is_traced);
    }
    if (task != NULL) {
        cpti_activation_put(task);
    }
    cpti_request_release(request);
}

/* The choice is made once, and not at every task. */
static void run(struct cpt_request *request, struct cpt_task *task)
{
    if (request->is_traced) {
        run_all(request, task, 1);
    } else {
        run_all(request, task, 0);
    }
}

static void run_work(struct cpt_work *work)
{
    struct cpt_task *task = (struct cpt_task *)work;

    run(task->request, task);
}

void cpti_ready_start(struct cpt_request *request, struct cpti_ready ready, int is_here)
{
    struct cpt_executor *executor = request->executor;
    struct cpt_task *task = bundle(request, ready);

    if (task == NULL) {
        cpti_request_release(request);
    } else if (is_here) {
        run(request, task);
    } else {
        executor->submit(executor, &task->work);
    }
}

void cpti_task_submit(struct cpt_task *task)
{
    struct cpt_executor *executor = task->request->executor;

    cpti_request_hold(task->request);
    task->work.run = run_work;
    executor->submit(executor, &task->work);
}
