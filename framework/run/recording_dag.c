/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * recording_dag.c - all records of a request, for its dag
 *
 *      request      t0  t1  t2       its tasks and their awaits, opened
 *         component     t0  t1       the runs within, each below its call
 *      arrivals     t0 --> t1, call --> t1, …
 *
 * A path needs what released each wait, a dag also what else was waited for. That is
 * noted only if the request keeps edges: see recording_edges.c. Who gave the inputs of
 * a task is known from the plan.
 *
 * What a task did not wait for did not delay it: it is no arrival. Tasks that began
 * after the response are left out.
 */
#include "framework/run/call.h"
#include "framework/run/component.h"
#include "framework/run/recording.h"
#include "framework/run/recording_open.h"

#include <string.h>

enum { FIRST_ITEMS = 32 };

/* An array that grows in the arena, which keeps the smaller ones, too. */
struct list {
    void *items;
    size_t count;
    size_t capacity;
};

struct making {
    struct cpt_arena *arena;
    struct list runs;       /* struct cpt_dag_run … */
    struct list requests;   /* … and the struct cpt_request * of each */
    struct list tasks;      /* struct cpt_trace_task * … */
    struct list task_runs;  /* … and the run of each, a uint32_t */
    struct list arrivals;   /* struct cpt_dag_arrival */
    struct cpti_walk *walk; /* of the run that is being read */
    struct cpt_request *request;
};

static bool grow(struct making *making, struct list *list, size_t capacity,
                 size_t item_bytes)
{
    void *items = cpt_arena_take(making->arena, capacity * item_bytes);

    if (items == NULL) {
        return false;
    }
    if (list->count != 0) {
        memcpy(items, list->items, list->count * item_bytes);
    }
    list->items = items;
    list->capacity = capacity;
    return true;
}

/* The place of another item, or NULL. */
static inline void *add(struct making *making, struct list *list, size_t item_bytes)
{
    if (list->count == list->capacity &&
        !grow(making, list,
              list->capacity != 0 ? 2 * list->capacity : (size_t)FIRST_ITEMS,
              item_bytes)) {
        return NULL;
    }
    return (unsigned char *)list->items + item_bytes * list->count++;
}

static cpt_status add_run(struct making *making, struct cpt_request *request,
                          struct cpt_trace_call *call)
{
    struct cpt_dag_run *run = add(making, &making->runs, sizeof *run);
    struct cpt_request **own = add(making, &making->requests, sizeof(void *));
    struct cpt_trace *trace = cpt_arena_take(making->arena, sizeof *trace);

    if (run == NULL || own == NULL || trace == NULL) {
        return CPT_NO_MEMORY;
    }
    *own = request;
    *run = (struct cpt_dag_run){trace, call};
    return CPT_OK;
}

/* Without memory for @waiter or what it waited for: CPT_NO_MEMORY. */
static cpt_status add_arrival(struct making *making, struct cpt_dag_arrival arrival)
{
    struct cpt_dag_arrival *added = NULL;

    if (arrival.waiter == NULL || (arrival.giver == NULL && arrival.call == NULL)) {
        return CPT_NO_MEMORY;
    }
    added = add(making, &making->arrivals, sizeof *added);
    if (added == NULL) {
        return CPT_NO_MEMORY;
    }
    *added = arrival;
    return CPT_OK;
}

/* --- Tasks --- */

/* The inputs that came before the last one. */
static cpt_status add_inputs(struct making *making, uint32_t number,
                             struct cpt_trace_task *task)
{
    const struct cpt_request *request = making->request;
    const struct cpti_plan_task *plan = &request->plan->tasks[number];
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < plan->input_count && status == CPT_OK; i++) {
        const uint32_t giver = request->plan->slots[plan->input_slots[i]].giver;
        uint64_t end_ns = 0;

        if (giver == CPTI_NO_TASK ||
            giver + 1 == (uint32_t)request->records[number].unblocker) {
            continue;
        }
        end_ns = cpti_record_end_ns(request, giver);
        if (end_ns != 0 && end_ns <= task->ready_ns) {
            status = add_arrival(
                making,
                (struct cpt_dag_arrival){.waiter = task,
                                         .giver = cpti_walk_task(making->walk, giver),
                                         .arrive_ns = end_ns,
                                         .is_input = 1});
        }
    }
    return status;
}

/* Task @number waits for its starter, too. */
static cpt_status add_starter(struct making *making, uint32_t number,
                              struct cpt_trace_task *task)
{
    const struct cpti_demand *demand = NULL;

    if (!making->request->plan->steps[number].is_startable) {
        return CPT_OK;
    }
    demand = cpti_request_demand(making->request, number);
    if (demand->starter == 0 || demand->started_ns > task->ready_ns) {
        return CPT_OK;
    }
    return add_arrival(making, (struct cpt_dag_arrival){.waiter = task,
                                                        .giver = task->starter,
                                                        .arrive_ns = demand->started_ns,
                                                        .is_input = 1});
}

static cpt_status add_task(struct making *making, uint32_t run, uint32_t number)
{
    struct cpt_trace_task *task = cpti_walk_task(making->walk, number);
    struct cpt_trace_task **own = add(making, &making->tasks, sizeof(void *));
    uint32_t *task_run = add(making, &making->task_runs, sizeof *task_run);
    cpt_status status = CPT_NO_MEMORY;

    if (task == NULL || own == NULL || task_run == NULL) {
        return status;
    }
    *own = task;
    *task_run = run;
    status = cpti_walk_open(making->walk, task);
    if (status == CPT_OK) {
        status = add_inputs(making, number, task);
    }
    return status == CPT_OK ? add_starter(making, number, task) : status;
}

/* --- Calls --- */

/* The run that answers @call, if it is one within. Not of work after the answer, whose
 * tasks are no records either. */
static cpt_status add_call(struct making *making, struct cpt_trace_call *call,
                           bool has_components)
{
    struct cpt_request *within =
        has_components && call->outcome == CPT_CALL_COMPONENT && call->reply != NULL
            ? cpti_component_request(call->reply)
            : NULL;

    if (within == NULL || !within->is_traced ||
        call->issue_ns > making->request->trace.response_ns ||
        within->trace.response_ns < within->trace.arrival_ns) {
        return CPT_OK;
    }
    return add_run(making, within, call);
}

/* --- What was waited for --- */

/* Whether task @number is among the records. */
static bool is_recorded(const struct making *making, uint32_t number)
{
    const uint64_t start_ns = cpti_record_start_ns(making->request, number);

    return start_ns != 0 && start_ns <= making->request->trace.response_ns;
}

/* @edge arrived at a wait. */
static cpt_status add_edge(struct making *making, const struct cpti_edge *edge)
{
    const uint64_t response_ns = making->request->trace.response_ns;
    const bool is_task = edge->call == NULL;
    struct cpt_dag_arrival arrival = {
        .call = edge->call, .await = edge->await, .is_spare = edge->is_spare};

    if (!is_recorded(making, edge->waiter - 1) ||
        (is_task ? !is_recorded(making, edge->giver - 1)
                 : edge->call->issue_ns > response_ns)) {
        return CPT_OK;
    }
    arrival.waiter = cpti_walk_task(making->walk, edge->waiter - 1);
    if (is_task) {
        arrival.giver = cpti_walk_task(making->walk, edge->giver - 1);
        arrival.arrive_ns = cpti_record_end_ns(making->request, edge->giver - 1);
    } else {
        arrival.arrive_ns = edge->call->arrive_ns;
    }
    if (arrival.arrive_ns == 0) { /* it has not come at all */
        arrival.arrive_ns = response_ns;
    }
    return add_arrival(making, arrival);
}

static cpt_status add_edges(struct making *making, const struct cpti_task_trace *traced)
{
    const struct cpti_edge *edge =
        traced->came != NULL ? traced->came->arrived.oldest : NULL;
    cpt_status status = CPT_OK;

    for (; edge != NULL && status == CPT_OK; edge = edge->next) {
        status = add_edge(making, edge);
    }
    return status;
}

/* --- A run --- */

/* Lock held if it is shared. The walk knows the tasks that have waited. */
static cpt_status open_run(struct making *making, uint32_t run, bool has_components)
{
    struct cpt_request *request = making->request;
    const struct cpt_dag_run *runs = making->runs.items;
    struct cpt_trace *trace = (struct cpt_trace *)(uintptr_t)runs[run].trace;
    cpt_status status = CPT_OK;

    *trace = request->trace;
    trace->open_task = NULL; /* all are opened */
    trace->open_callee = NULL;
    trace->spliced = NULL;
    trace->context = NULL;
    trace->measures_off_cpu = request->off_cpu_ns != NULL;
    trace->answered_by = request->answered_by != 0 && status == CPT_OK
                             ? cpti_walk_task(making->walk, request->answered_by - 1)
                             : NULL;
    for (uint32_t i = 0; i < request->plan->task_count && status == CPT_OK; i++) {
        const uint64_t start_ns = cpti_record_start_ns(request, i);

        /* one that delayed the request past its deadline may queue still */
        if ((start_ns != 0 && start_ns <= trace->response_ns) ||
            (start_ns == 0 && i + 1 == request->answered_by)) {
            status = add_task(making, run, i);
        }
    }
    for (struct cpti_call *call = request->calls; call != NULL && status == CPT_OK;
         call = call->next) {
        status = add_call(making, &call->call, has_components);
    }
    for (const struct cpti_task_trace *traced = request->traces;
         traced != NULL && status == CPT_OK; traced = traced->next) {
        status = add_edges(making, traced);
    }
    return status;
}

/* The same in a walk of its own. */
static cpt_status walk_run(struct making *making, uint32_t run, bool has_components)
{
    cpt_status status = cpti_walk_add_waited(making->walk);

    if (status == CPT_OK) {
        status = open_run(making, run, has_components);
    }
    cpti_walk_forget(making->walk);
    return status;
}

static cpt_status add_records_of(struct making *making, uint32_t run,
                                 bool has_components)
{
    struct cpt_request *request = ((struct cpt_request **)making->requests.items)[run];
    struct cpti_walk walk;
    cpt_status status = CPT_OK;

    cpti_walk_init(&walk, request, making->arena);
    making->walk = &walk;
    making->request = request;
    if (request->is_shared) {
        cpti_lock_take(&request->lock);
        status = walk_run(making, run, has_components);
        cpti_lock_release(&request->lock);
    } else {
        status = walk_run(making, run, has_components);
    }
    making->walk = NULL;
    cpti_walk_deinit(&walk);
    return status;
}

/* What was made. */
static struct cpt_dag_records records_of(const struct making *making)
{
    return (struct cpt_dag_records){.runs = making->runs.items,
                                    .run_count = making->runs.count,
                                    .tasks = making->tasks.items,
                                    .task_runs = making->task_runs.items,
                                    .task_count = making->tasks.count,
                                    .arrivals = making->arrivals.items,
                                    .arrival_count = making->arrivals.count};
}

cpt_status cpti_recording_dag_records(struct cpt_request *request, bool has_components,
                                      struct cpt_arena *arena,
                                      struct cpt_dag_records *records)
{
    struct making making = {.arena = arena};
    cpt_status status = add_run(&making, request, NULL);

    for (uint32_t i = 0; i < making.runs.count && status == CPT_OK; i++) {
        status = add_records_of(&making, i, has_components);
    }
    *records = records_of(&making);
    return status;
}

cpt_status cpti_walk_dag(struct cpti_walk *walk, struct cpt_arena *arena,
                         struct cpt_dag_records *records)
{
    struct making making = {.arena = arena, .walk = walk, .request = walk->request};
    cpt_status status = add_run(&making, walk->request, NULL);

    if (status == CPT_OK) {
        status = open_run(&making, 0, false);
    }
    *records = records_of(&making);
    records->task_runs = NULL; /* all are of the only one */
    return status;
}
