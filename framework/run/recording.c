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

#include "cpt/cpt_drag.h"
#include "cpt/cpt_path.h"
#include "framework/run/call.h"
#include "framework/run/recording_open.h"

#include <string.h>

/* Makes room for more than the first traces. */
static cpt_status grow_traces(struct cpti_walk *walk)
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
static cpt_status add_trace(struct cpti_walk *walk, struct cpti_task_trace *traced)
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
static struct cpti_task_trace *take_stub(struct cpti_walk *walk)
{
    struct cpti_task_trace *stub = NULL;

    if (walk->arena != &walk->own_arena || walk->stub_count == CPTI_FIRST_STUBS) {
        return cpt_arena_take(walk->arena, sizeof *stub);
    }
    stub = &walk->first_stubs[walk->stub_count++];
    memset(stub, 0, sizeof *stub);
    return stub;
}

struct cpt_trace_task *cpti_walk_task(struct cpti_walk *walk, uint32_t number)
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
            cpti_record_end_ns(request, giver) > runner_up_ns) {
            runner_up_ns = cpti_record_end_ns(request, giver);
        }
    }
    return runner_up_ns;
}

/* The number + 1 of the task that brought the last input of task @number, or started
 * it. If that still queues as the request ends, the one whose end is the latest. */
static uint32_t unblocker_of(const struct cpt_request *request, uint32_t number,
                             const struct cpti_demand *demand)
{
    const struct cpti_plan_task *plan = &request->plan->tasks[number];
    uint64_t latest_ns = 0;
    uint32_t unblocker = 0;

    if (cpti_record_start_ns(request, number) != 0) {
        return request->records[number].unblocker;
    }
    if (demand != NULL && demand->starter != 0) {
        latest_ns = demand->started_ns;
        unblocker = demand->starter;
    }
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const uint32_t giver = request->plan->slots[plan->input_slots[i]].giver;

        if (giver != CPTI_NO_TASK && cpti_record_end_ns(request, giver) > latest_ns) {
            latest_ns = cpti_record_end_ns(request, giver);
            unblocker = giver + 1;
        }
    }
    return unblocker;
}

void cpti_record_queued(struct cpt_task *task, const struct cpti_queued *queued)
{
    struct cpt_request *request = task->request;
    struct cpti_queued *all =
        atomic_load_explicit(&request->queued, memory_order_acquire);

    if (all == NULL) {
        cpti_lock_take(&request->lock);
        all = atomic_load_explicit(&request->queued, memory_order_relaxed);
        if (all == NULL) {
            all = cpt_arena_take(&request->notes,
                                 request->plan->task_count * sizeof *all);
            atomic_store_explicit(&request->queued, all, memory_order_release);
        }
        cpti_lock_release(&request->lock);
    }
    if (all != NULL) { /* else there is no memory for notes: it is not known */
        all[task->number] = *queued;
    }
}

/* What made the task ready, when, and by what margin. */
static cpt_status open_beginning(struct cpti_walk *walk, struct cpti_task_trace *traced)
{
    const struct cpt_request *request = walk->request;
    const uint32_t number = traced->number;
    const struct cpti_demand *demand = request->plan->steps[number].is_startable
                                           ? cpti_request_demand(request, number)
                                           : NULL;
    const uint32_t unblocker = unblocker_of(request, number, demand);
    struct cpt_trace_task *task = &traced->task;
    uint64_t runner_up_ns = 0;
    bool is_by_start = false;

    if (demand != NULL && demand->starter != 0) {
        task->starter = cpti_walk_task(walk, demand->starter - 1);
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
    task->unblocker = cpti_walk_task(walk, unblocker - 1);
    task->ready_ns =
        is_by_start ? demand->started_ns : cpti_record_end_ns(request, unblocker - 1);
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
static bool open_awaits(struct cpti_walk *walk, struct cpti_task_trace *traced)
{
    struct cpt_trace_await *await = traced->task.last_await;

    for (; await != NULL; await = await->previous) {
        const struct cpti_await *own = (const struct cpti_await *)await;

        if (await == &traced->lost) {
            continue;
        }
        await->occupant = cpti_task_name(own->occupant);
        await->occupant_request =
            cpti_overlap_other(walk->request, own->occupant_request);
        if (own->released_by != 0) {
            await->task = cpti_walk_task(walk, own->released_by - 1);
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

/* How its task, which has begun, had queued. */
static void open_queued(const struct cpt_request *request,
                        struct cpti_task_trace *traced)
{
    const struct cpti_queued *all =
        atomic_load_explicit(&request->queued, memory_order_acquire);

    if (all != NULL) {
        const struct cpti_queued *queued = &all[traced->number];

        traced->task.occupant_request =
            cpti_overlap_other(request, queued->occupant_request);
        traced->task.queue_length = queued->queue_length;
    }
}

cpt_status cpti_walk_open(void *context, struct cpt_trace_task *task)
{
    struct cpti_walk *walk = context;
    const struct cpt_request *request = walk->request;
    struct cpti_task_trace *traced = task->source;
    const struct cpti_plan_task *plan = &request->plan->tasks[traced->number];
    const struct cpti_record *record = &request->records[traced->number];

    if (traced->is_open) {
        return CPT_OK; /* for the drags */
    }
    traced->is_open = true;
    task->name = plan->frame_name;
    task->group = plan->group;
    task->executor = request->executor_name;
    task->start_ns = cpti_record_start_ns(request, traced->number);
    task->end_ns = atomic_load_explicit(&record->end_ns, memory_order_relaxed);
    if (task->start_ns == 0) {
        task->start_ns = request->trace.response_ns; /* it queues */
    } else {
        task->occupant = cpti_task_name(record->occupant & ~CPTI_LOST_WAITS);
        open_queued(request, traced);
        open_lost(request, traced);
    }
    if (request->off_cpu_ns != NULL) {
        task->off_cpu_ns = request->off_cpu_ns[traced->number];
    }
    if (request->starved != NULL) {
        task->starved = request->starved[traced->number];
    }
    return open_awaits(walk, traced) ? open_beginning(walk, traced) : CPT_NO_MEMORY;
}

static cpt_status open_callee(void *context, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    const struct cpt_request *request = ((struct cpti_walk *)context)->request;

    return cpti_call_open(request->inherited.observer, request->alloc, call, callee);
}

static void spliced(void *context, const struct cpt_trace_call *call,
                    uint64_t overcount_ns, uint64_t undercount_ns, int is_inconsistent)
{
    cpti_call_spliced(((struct cpti_walk *)context)->request->inherited.observer, call,
                      overcount_ns, undercount_ns, is_inconsistent);
}

cpt_status cpti_walk_add_waited(struct cpti_walk *walk)
{
    cpt_status status = CPT_OK;

    for (struct cpti_task_trace *traced = walk->request->traces;
         traced != NULL && status == CPT_OK; traced = traced->next) {
        status = add_trace(walk, traced);
    }
    return status;
}

void cpti_walk_forget(const struct cpti_walk *walk)
{
    for (size_t i = 0; i < walk->trace_count; i++) {
        walk->request->records[walk->traces[i]->number].trace_index = 0;
        walk->traces[i]->is_open = false;
    }
}

/* --- Drags --- */

static bool wants_drags(const struct cpt_request *request)
{
    return request->keeps_edges && request->inherited.ask.wants_drag;
}

/* Whether there are more records than drags are made of. */
static bool is_too_large(const struct cpt_request *request)
{
    const struct cpt_plan *plan = request->plan;
    size_t count = plan->task_count + request->noted_count;

    for (uint32_t i = 0; i < plan->task_count && count <= CPTI_DRAG_RECORDS_MAX; i++) {
        count += plan->tasks[i].input_count;
    }
    return count > CPTI_DRAG_RECORDS_MAX;
}

/* The drags of the request of @walk, which has just begun; NULL: there are none, which
 * is counted. The records lie in @arena. Lock held if the request is shared. */
static struct cpt_drags *make_drags(struct cpti_walk *walk, struct cpt_arena *arena)
{
    const struct cpt_request *request = walk->request;
    struct cpti_call_observer *observer = request->inherited.observer;
    struct cpt_drags *drags = NULL;
    struct cpt_dag_records records;

    if (is_too_large(request) || cpti_walk_dag(walk, arena, &records) != CPT_OK ||
        cpt_drags_new(request->alloc, &records, 0, &drags, NULL) != CPT_OK) {
        drags = NULL;
    }
    if (observer != NULL) {
        observer->dragged(observer, drags != NULL);
    }
    return drags;
}

/* --- The walk --- */

/* Lock held if the request is shared. */
static cpt_status walk_locked(struct cpti_walk *walk, struct cpt_path *path,
                              struct cpt_error *error)
{
    struct cpt_request *request = walk->request;
    struct cpt_trace *trace = &request->trace;
    struct cpt_drags *drags = NULL;
    struct cpt_arena arena; /* of the records that they are made of */
    cpt_status status = cpti_walk_add_waited(walk);

    if (wants_drags(request)) {
        cpt_arena_init(&arena, request->alloc, 0, 0);
        drags = status == CPT_OK ? make_drags(walk, &arena) : NULL;
    }
    trace->drags = drags;
    trace->open_task = cpti_walk_open;
    trace->measures_off_cpu = request->off_cpu_ns != NULL;
    trace->open_callee = open_callee;
    trace->spliced = spliced;
    trace->context = walk;
    trace->answered_by = NULL;
    if (request->answered_by != 0 && status == CPT_OK) {
        trace->answered_by = cpti_walk_task(walk, request->answered_by - 1);
        status = trace->answered_by != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        status = cpt_critical_path(request->alloc, trace, path, error);
    } else {
        (void)cpt_error_set(error, status, 0, "no memory for the walk");
    }
    trace->drags = NULL;
    cpti_walk_forget(walk);
    if (wants_drags(request)) {
        cpt_drags_free(drags);
        cpt_arena_deinit(&arena);
    }
    return status;
}

/* Does not clear it as a whole, as it is large. */
void cpti_walk_init(struct cpti_walk *walk, struct cpt_request *request,
                    struct cpt_arena *arena)
{
    walk->request = request;
    walk->traces = walk->first_traces;
    walk->trace_count = 0;
    walk->trace_capacity = CPTI_FIRST_TRACES;
    walk->stub_count = 0;
    walk->arena = arena != NULL ? arena : &walk->own_arena;
    cpt_arena_init(&walk->own_arena, request->alloc, 0, 0);
}

void cpti_walk_deinit(struct cpti_walk *walk)
{
    if (walk->traces != walk->first_traces) {
        cpt_alloc_free(walk->request->alloc, (void *)walk->traces);
    }
    cpt_arena_deinit(&walk->own_arena);
}

cpt_status cpti_recording_walk(struct cpt_request *request, struct cpt_path *path,
                               struct cpt_error *error)
{
    struct cpti_walk walk;
    cpt_status status = CPT_OK;

    cpti_walk_init(&walk, request, NULL);
    if (request->is_shared) {
        /* Tasks that the output did not wait for may still run, and note things. */
        cpti_lock_take(&request->lock);
        status = walk_locked(&walk, path, error);
        cpti_lock_release(&request->lock);
    } else {
        status = walk_locked(&walk, path, error);
    }
    cpti_walk_deinit(&walk);
    return status;
}

/* --- For spans --- */

/* Lock held. */
static cpt_status visit_locked(struct cpti_walk *walk,
                               void (*visit)(void *context,
                                             const struct cpt_trace_task *task),
                               void *context)
{
    struct cpt_request *request = walk->request;
    cpt_status status = cpti_walk_add_waited(walk);

    for (uint32_t i = 0; i < request->plan->task_count && status == CPT_OK; i++) {
        struct cpt_trace_task *task = NULL;

        if (cpti_record_start_ns(request, i) == 0) {
            continue;
        }
        task = cpti_walk_task(walk, i);
        status = task != NULL ? cpti_walk_open(walk, task) : CPT_NO_MEMORY;
        if (status == CPT_OK) {
            visit(context, task);
        }
    }
    cpti_walk_forget(walk);
    return status;
}

cpt_status cpti_recording_visit(struct cpt_request *request,
                                void (*visit)(void *context,
                                              const struct cpt_trace_task *task),
                                void *context)
{
    struct cpti_walk walk;
    cpt_status status = CPT_OK;

    cpti_walk_init(&walk, request, NULL);
    cpti_lock_take(&request->lock);
    status = visit_locked(&walk, visit, context);
    cpti_lock_release(&request->lock);
    cpti_walk_deinit(&walk);
    return status;
}
