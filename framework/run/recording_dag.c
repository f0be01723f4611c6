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

/* A run. */
struct made_run {
    struct cpt_trace trace; /* first */
    struct cpt_request *request;
};

struct making {
    struct cpt_trace_build build;
    struct cpti_walk *walk; /* of the run that is being read */
    struct cpt_request *request;
};

static struct made_run *run_at(const struct making *making, uint32_t run)
{
    const struct cpt_dag_run *runs = making->build.runs.items;

    return (struct made_run *)(uintptr_t)runs[run].trace;
}

static cpt_status add_run(struct making *making, struct cpt_request *request,
                          struct cpt_trace_call *call)
{
    struct made_run *run = cpt_trace_build_take(&making->build, 1, sizeof *run);

    if (run != NULL) {
        run->request = request;
        cpt_trace_build_run(&making->build, (struct cpt_dag_run){&run->trace, call});
    }
    return making->build.status;
}

/* Without memory for @waiter or what it waited for: CPT_NO_MEMORY. */
static cpt_status add_arrival(struct making *making,
                              const struct cpt_dag_arrival *arrival)
{
    if (arrival->waiter == NULL || (arrival->giver == NULL && arrival->call == NULL)) {
        return CPT_NO_MEMORY;
    }
    cpt_trace_build_arrival(&making->build, arrival);
    return making->build.status;
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
                &(struct cpt_dag_arrival){.waiter = task,
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
    return add_arrival(making,
                       &(struct cpt_dag_arrival){.waiter = task,
                                                 .giver = task->starter,
                                                 .arrive_ns = demand->started_ns,
                                                 .is_input = 1});
}

static cpt_status add_task(struct making *making, uint32_t run, uint32_t number)
{
    struct cpt_trace_task *task = cpti_walk_task(making->walk, number);
    cpt_status status = CPT_NO_MEMORY;

    if (task == NULL) {
        return status;
    }
    cpt_trace_build_task(&making->build, task, run);
    status = cpti_walk_open(making->walk, task);
    if (status == CPT_OK) {
        status = add_inputs(making, number, task);
    }
    if (status == CPT_OK) {
        status = add_starter(making, number, task);
    }
    return status == CPT_OK ? making->build.status : status;
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
    return add_arrival(making, &arrival);
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
    struct cpt_trace *trace = &run_at(making, run)->trace;
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
    struct cpt_request *request = run_at(making, run)->request;
    struct cpti_walk walk;
    cpt_status status = CPT_OK;

    cpti_walk_init(&walk, request, making->build.arena);
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

cpt_status cpti_recording_dag_records(struct cpt_request *request, bool has_components,
                                      struct cpt_arena *arena,
                                      struct cpt_dag_records *records)
{
    struct making making = {.build = {.arena = arena}};
    cpt_status status = add_run(&making, request, NULL);

    for (uint32_t i = 0; i < making.build.runs.count && status == CPT_OK; i++) {
        status = add_records_of(&making, i, has_components);
    }
    *records = cpt_trace_build_records(&making.build);
    return status == CPT_LIMIT ? CPT_NO_MEMORY : status; /* the arena's */
}

cpt_status cpti_walk_dag(struct cpti_walk *walk, struct cpt_arena *arena,
                         struct cpt_dag_records *records)
{
    struct making making = {
        .build = {.arena = arena}, .walk = walk, .request = walk->request};
    cpt_status status = add_run(&making, walk->request, NULL);

    if (status == CPT_OK) {
        status = open_run(&making, 0, false);
    }
    *records = cpt_trace_build_records(&making.build);
    return status;
}
