/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * recording.c - what the walk sees of a request
 *
 * While a request runs, a task notes 32 bytes: when it began and ended, and which task
 * brought its last input. The walk needs more, but only of the tasks that it comes to:
 * for those a *trace* is made, which it opens. A task that has waited has its trace
 * from then on, since its awaits and calls point at it.
 *
 *      records  [ t0 | t1 | t2 | t3 | ... ]      of all tasks
 *                  ^         ^
 *      traces     [t0] <--- [t2] <- answered_by  made as the walk comes to them
 *
 * What is not noted is worked out here: a task was ready at the end of the task that
 * brought its last input; the margin of a join is from the latest of the other inputs,
 * whose ends were noted before they were counted.
 */
#include "framework/run/recording.h"

#include "cpt/cpt_path.h"
#include "framework/run/call.h"

#include <string.h>

enum { FIRST_STUBS = 8, FIRST_TRACES = 32 };

/* A walk over few tasks allocates nothing. */
struct walk {
    struct cpt_request *request;
    struct cpt_arena arena; /* of the stubs that it makes after the first */
    struct cpti_task_trace **traces;
    size_t trace_count;
    size_t trace_capacity;
    size_t stub_count;
    struct cpti_task_trace *first_traces[FIRST_TRACES];
    struct cpti_task_trace first_stubs[FIRST_STUBS]; /* cleared when they are taken */
};

/* Makes room for more than the first traces. */
static cpt_status grow_traces(struct walk *walk)
{
    const bool is_first = walk->traces == walk->first_traces;
    struct cpti_task_trace **grown = is_first ? NULL : walk->traces;
    size_t capacity = is_first ? 0 : walk->trace_capacity;
    const cpt_status status = cpt_alloc_grow(
        walk->request->alloc, (void **)&grown, &capacity, walk->trace_count + 1,
        CPT_GRAPH_TASKS_MAX, sizeof(struct cpti_task_trace *));

    if (status == CPT_OK && is_first) {
        memcpy((void *)grown, (void *)walk->first_traces, sizeof walk->first_traces);
    }
    if (status == CPT_OK) {
        walk->traces = grown;
        walk->trace_capacity = capacity;
    }
    return status;
}

/* The walk knows @traced from now on. */
static cpt_status add_trace(struct walk *walk, struct cpti_task_trace *traced)
{
    const cpt_status status =
        walk->trace_count < walk->trace_capacity ? CPT_OK : grow_traces(walk);

    if (status == CPT_OK) {
        walk->traces[walk->trace_count++] = traced;
        walk->request->records[traced->number].trace_index =
            (uint16_t)walk->trace_count;
    }
    return status;
}

/* A new trace, all zero, or NULL. */
static struct cpti_task_trace *take_stub(struct walk *walk)
{
    struct cpti_task_trace *stub = NULL;

    if (walk->stub_count == FIRST_STUBS) {
        return cpt_arena_take(&walk->arena, sizeof *stub);
    }
    stub = &walk->first_stubs[walk->stub_count++];
    memset(stub, 0, sizeof *stub);
    return stub;
}

/* The trace of task @number, not yet opened if it is new, or NULL. */
static struct cpt_trace_task *trace_of(struct walk *walk, uint32_t number)
{
    const uint16_t known = walk->request->records[number].trace_index;
    struct cpti_task_trace *traced = NULL;

    if (known != 0) {
        return &walk->traces[known - 1]->task;
    }
    traced = take_stub(walk);
    if (traced == NULL) {
        return NULL;
    }
    traced->number = number;
    traced->task.source = traced;
    return add_trace(walk, traced) == CPT_OK ? &traced->task : NULL;
}

static uint64_t end_of(const struct cpt_request *request, uint32_t number)
{
    return atomic_load_explicit(&request->records[number].end_ns, memory_order_relaxed);
}

/* The latest of the inputs of task @number but that of @unblocker; 0 if all were there
 * from the beginning. */
static uint64_t runner_up_of(const struct cpt_request *request, uint32_t number,
                             uint32_t unblocker)
{
    const struct cpti_plan_task *plan = &request->plan->tasks[number];
    uint64_t runner_up_ns = 0;

    for (uint32_t i = 0; i < plan->input_count; i++) {
        const uint32_t giver = request->plan->slots[plan->input_slots[i]].giver;

        if (giver != CPTI_NO_TASK && giver != unblocker &&
            end_of(request, giver) > runner_up_ns) {
            runner_up_ns = end_of(request, giver);
        }
    }
    return runner_up_ns;
}

/* When task @number began; 0: it queues, and its record is not complete. */
static uint64_t start_of(const struct cpt_request *request, uint32_t number)
{
    return atomic_load_explicit(&request->records[number].start_ns,
                                memory_order_acquire);
}

/* The number + 1 of the task that brought the last input of task @number, or started
 * it. If that still queues as the request ends, the one whose end is the latest. */
static uint32_t unblocker_of(const struct cpt_request *request, uint32_t number,
                             const struct cpti_demand *demand)
{
    const struct cpti_plan_task *plan = &request->plan->tasks[number];
    uint64_t latest_ns = 0;
    uint32_t unblocker = 0;

    if (start_of(request, number) != 0) {
        return request->records[number].unblocker;
    }
    if (demand != NULL && demand->starter != 0) {
        latest_ns = demand->started_ns;
        unblocker = demand->starter;
    }
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const uint32_t giver = request->plan->slots[plan->input_slots[i]].giver;

        if (giver != CPTI_NO_TASK && end_of(request, giver) > latest_ns) {
            latest_ns = end_of(request, giver);
            unblocker = giver + 1;
        }
    }
    return unblocker;
}

/* What made the task ready, when, and by what margin. */
static cpt_status open_beginning(struct walk *walk, struct cpti_task_trace *traced)
{
    const struct cpt_request *request = walk->request;
    const uint32_t number = traced->number;
    const struct cpti_demand *demand = request->plan->tasks[number].is_startable
                                           ? cpti_request_demand(request, number)
                                           : NULL;
    const uint32_t unblocker = unblocker_of(request, number, demand);
    struct cpt_trace_task *task = &traced->task;
    uint64_t runner_up_ns = 0;
    bool is_by_start = false;

    if (demand != NULL && demand->starter != 0) {
        task->starter = trace_of(walk, demand->starter - 1);
        if (task->starter == NULL) {
            return CPT_NO_MEMORY;
        }
        is_by_start = unblocker == demand->starter;
    }
    if (unblocker == 0) {
        task->begin = CPT_BEGIN_REQUEST;
        task->ready_ns = request->trace.dispatch_ns != 0 ? request->trace.dispatch_ns
                                                         : request->trace.arrival_ns;
        return CPT_OK;
    }
    task->begin = CPT_BEGIN_TASK;
    task->unblocker = trace_of(walk, unblocker - 1);
    task->ready_ns = is_by_start ? demand->started_ns : end_of(request, unblocker - 1);
    runner_up_ns = runner_up_of(request, number, unblocker - 1);
    if (demand != NULL && !is_by_start && demand->started_ns > runner_up_ns) {
        runner_up_ns = demand->started_ns;
    }
    task->has_margin = runner_up_ns != 0;
    task->margin_ns = task->has_margin && task->ready_ns > runner_up_ns
                          ? task->ready_ns - runner_up_ns
                          : 0;
    return task->unblocker != NULL ? CPT_OK : CPT_NO_MEMORY;
}

/* What ended the waits of a task, and the occupants of its worker. false: no memory. */
static bool open_awaits(struct walk *walk, struct cpti_task_trace *traced)
{
    struct cpt_trace_await *await = traced->task.last_await;

    for (; await != NULL; await = await->previous) {
        const struct cpti_await *own = (const struct cpti_await *)await;

        if (await == &traced->lost) {
            continue;
        }
        await->occupant = cpti_task_name(own->occupant);
        if (own->released_by != 0) {
            await->task = trace_of(walk, own->released_by - 1);
            if (await->task == NULL) {
                return false;
            }
        }
    }
    return true;
}

/* If the waits of the task of @traced, which has started, were not noted, not even when
 * they were: all its time, from its start on, may have been one. */
static void open_lost(const struct cpt_request *request, struct cpti_task_trace *traced)
{
    struct cpt_trace_task *task = &traced->task;

    if ((request->records[traced->number].occupant & CPTI_LOST_WAITS) == 0 ||
        task->last_await != NULL) {
        return;
    }
    traced->lost.block_ns = task->start_ns;
    traced->lost.arrive_ns =
        task->end_ns != 0 ? task->end_ns : request->trace.response_ns;
    traced->lost.resume_ns = traced->lost.arrive_ns;
    task->last_await = &traced->lost;
}

/* See struct cpt_trace.open_task. */
static cpt_status open_task(void *context, struct cpt_trace_task *task)
{
    struct walk *walk = context;
    const struct cpt_request *request = walk->request;
    struct cpti_task_trace *traced = task->source;
    const struct cpti_plan_task *plan = &request->plan->tasks[traced->number];
    const struct cpti_record *record = &request->records[traced->number];

    task->name = plan->frame_name;
    task->group = plan->group;
    task->executor = request->executor_name;
    task->start_ns = start_of(request, traced->number);
    task->end_ns = atomic_load_explicit(&record->end_ns, memory_order_relaxed);
    if (task->start_ns == 0) {
        task->start_ns = request->trace.response_ns; /* it queues */
    } else {
        task->occupant = cpti_task_name(record->occupant & ~CPTI_LOST_WAITS);
        open_lost(request, traced);
    }
    task->off_cpu_ns =
        request->off_cpu_ns != NULL ? request->off_cpu_ns[traced->number] : 0;
    return open_awaits(walk, traced) ? open_beginning(walk, traced) : CPT_NO_MEMORY;
}

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    const struct cpt_request *request = ((struct walk *)context)->request;

    return cpti_call_open(request->inherited.observer, request->alloc, call, callee);
}

static void spliced(void *context, const struct cpt_trace_call *call,
                    uint64_t overcount_ns, uint64_t undercount_ns, int is_inconsistent)
{
    cpti_call_spliced(((struct walk *)context)->request->inherited.observer, call,
                      overcount_ns, undercount_ns, is_inconsistent);
}

/* The walk knows the traces of all tasks that have waited. */
static cpt_status add_waited(struct walk *walk)
{
    cpt_status status = CPT_OK;

    for (struct cpti_task_trace *traced = walk->request->traces;
         traced != NULL && status == CPT_OK; traced = traced->next) {
        status = add_trace(walk, traced);
    }
    return status;
}

static void forget_indices(const struct walk *walk)
{
    for (size_t i = 0; i < walk->trace_count; i++) {
        walk->request->records[walk->traces[i]->number].trace_index = 0;
    }
}

/* Lock held if the request is shared. */
static cpt_status walk_locked(struct walk *walk, struct cpt_path *path,
                              struct cpt_error *error)
{
    struct cpt_request *request = walk->request;
    struct cpt_trace *trace = &request->trace;
    cpt_status status = add_waited(walk);

    trace->open_task = open_task;
    trace->measures_off_cpu = request->off_cpu_ns != NULL;
    trace->open_callee = open_callee;
    trace->spliced = spliced;
    trace->context = walk;
    trace->answered_by = NULL;
    if (request->answered_by != 0 && status == CPT_OK) {
        trace->answered_by = trace_of(walk, request->answered_by - 1);
        status = trace->answered_by != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        status = cpt_critical_path(request->alloc, trace, path, error);
    } else {
        (void)cpt_error_set(error, status, 0, "no memory for the walk");
    }
    forget_indices(walk);
    return status;
}

/* Does not clear it as a whole, as it is large. */
static void walk_init(struct walk *walk, struct cpt_request *request)
{
    walk->request = request;
    walk->traces = walk->first_traces;
    walk->trace_count = 0;
    walk->trace_capacity = FIRST_TRACES;
    walk->stub_count = 0;
    cpt_arena_init(&walk->arena, request->alloc, 0, 0);
}

static void walk_deinit(struct walk *walk)
{
    if (walk->traces != walk->first_traces) {
        cpt_alloc_free(walk->request->alloc, (void *)walk->traces);
    }
    cpt_arena_deinit(&walk->arena);
}

cpt_status cpti_recording_walk(struct cpt_request *request, struct cpt_path *path,
                               struct cpt_error *error)
{
    struct walk walk;
    cpt_status status = CPT_OK;

    walk_init(&walk, request);
    if (request->is_shared) {
        /* Tasks that the output did not wait for may still run, and note things. */
        cpti_lock_take(&request->lock);
        status = walk_locked(&walk, path, error);
        cpti_lock_release(&request->lock);
    } else {
        status = walk_locked(&walk, path, error);
    }
    walk_deinit(&walk);
    return status;
}

/* --- For spans --- */

/* Lock held. */
static cpt_status visit_locked(struct walk *walk,
                               void (*visit)(void *context,
                                             const struct cpt_trace_task *task),
                               void *context)
{
    struct cpt_request *request = walk->request;
    cpt_status status = add_waited(walk);

    for (uint32_t i = 0; i < request->plan->task_count && status == CPT_OK; i++) {
        struct cpt_trace_task *task = NULL;

        if (start_of(request, i) == 0) {
            continue;
        }
        task = trace_of(walk, i);
        status = task != NULL ? open_task(walk, task) : CPT_NO_MEMORY;
        if (status == CPT_OK) {
            visit(context, task);
        }
    }
    forget_indices(walk);
    return status;
}

cpt_status cpti_recording_visit(struct cpt_request *request,
                                void (*visit)(void *context,
                                              const struct cpt_trace_task *task),
                                void *context)
{
    struct walk walk;
    cpt_status status = CPT_OK;

    walk_init(&walk, request);
    cpti_lock_take(&request->lock);
    status = visit_locked(&walk, visit, context);
    cpti_lock_release(&request->lock);
    walk_deinit(&walk);
    return status;
}
