/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag_trace.c - the draft of all records of a request
 *
 * Each task is a line, and so is each call that a task waited for:
 *
 *      task   [ queue ][ step ][ step ]       [ queue ][ step ]
 *             ready   start  issue  block   arrive  resume    end
 *      call                  [ queue ][ call ]
 *                                    sent
 *
 * A link leaves a call at its arrival, a task at its end or where it issued a call, and
 * arrives at the beginning of a task or where a wait of it was over.
 */
#include "cpt/cpt_dag_draft.h"

#include "cpt/dag.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 1 << 22, NOT_YET = 0 };

/* The stretches of a task or call: @first to @end - 1. */
struct line {
    uint32_t first;
    uint32_t end;
};

struct own_call {
    struct cpt_trace_call *call;
    struct line line;
    uint32_t run; /* its callee's, or CPT_DAG_NONE */
};

/* A wait of a task, and the stretch that began when it was over. */
struct own_await {
    const struct cpt_trace_await *await;
    uint64_t over_ns;
    uint32_t stretch;
};

struct own_task {
    struct line line;
    size_t first_await; /* in time order */
    size_t await_end;
};

/* What a link needs to know of a stretch. */
struct own_stretch {
    uint64_t begin_ns;
    uint64_t end_ns;
    bool is_step;
};

struct tracing {
    struct cpt_dag_draft *draft;
    const struct cpt_alloc *alloc;
    const struct cpt_dag_records *records;
    struct own_task *tasks;
    struct own_call *calls;
    size_t call_count, call_capacity;
    struct own_await *awaits;
    size_t await_count, await_capacity;
    struct own_stretch *stretches;
    size_t stretch_count, stretch_capacity;
    uint64_t constant_count;
};

/* The number of @task; CPT_DAG_NONE: it is none of the records. */
static uint32_t number_of(const struct tracing *tracing,
                          const struct cpt_trace_task *task)
{
    if (task == NULL || task->walk_word >= tracing->records->task_count ||
        tracing->records->tasks[task->walk_word] != task) {
        return CPT_DAG_NONE;
    }
    return task->walk_word;
}

static const struct cpt_dag_run *run_of(const struct tracing *tracing, uint32_t task)
{
    const struct cpt_dag_records *records = tracing->records;

    return &records->runs[records->task_runs != NULL ? records->task_runs[task] : 0];
}

/* --- Calls --- */

static cpt_status add_call(struct tracing *tracing, struct cpt_trace_call *call)
{
    cpt_status status = CPT_OK;

    if (call == NULL || number_of(tracing, call->issuer) == CPT_DAG_NONE) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(tracing->alloc, (void **)&tracing->calls,
                            &tracing->call_capacity, tracing->call_count + 1,
                            RECORDS_MAX, sizeof *tracing->calls);
    if (status == CPT_OK) {
        tracing->calls[tracing->call_count++] =
            (struct own_call){call, {0, 0}, CPT_DAG_NONE};
    }
    return status;
}

static int compare_calls(const void *left, const void *right)
{
    const struct cpt_trace_call *a = ((const struct own_call *)left)->call;
    const struct cpt_trace_call *b = ((const struct own_call *)right)->call;

    if (a->issue_ns != b->issue_ns) {
        return a->issue_ns < b->issue_ns ? -1 : 1;
    }
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* All calls that tasks waited for, each once. */
static cpt_status list_calls(struct tracing *tracing)
{
    const struct cpt_dag_records *records = tracing->records;
    cpt_status status = CPT_OK;
    size_t count = 0;

    for (size_t i = 0; i < records->task_count; i++) {
        const struct cpt_trace_await *await = records->tasks[i]->last_await;

        for (; await != NULL && status == CPT_OK; await = await->previous) {
            status = add_call(tracing, await->call);
        }
    }
    for (size_t i = 0; i < records->arrival_count && status == CPT_OK; i++) {
        status = add_call(tracing, records->arrivals[i].call);
    }
    if (tracing->call_count != 0) {
        qsort(tracing->calls, tracing->call_count, sizeof *tracing->calls,
              compare_calls);
    }
    for (size_t i = 0; i < tracing->call_count; i++) {
        if (count == 0 || tracing->calls[count - 1].call != tracing->calls[i].call) {
            tracing->calls[count++] = tracing->calls[i];
        }
    }
    tracing->call_count = count;
    return status;
}

static struct own_call *find_call(const struct tracing *tracing,
                                  struct cpt_trace_call *call)
{
    const struct own_call wanted = {call, {0, 0}, CPT_DAG_NONE};

    if (call == NULL || tracing->call_count == 0) {
        return NULL;
    }
    return bsearch(&wanted, tracing->calls, tracing->call_count, sizeof wanted,
                   compare_calls);
}

/* The run of each call, if it fits into the call. */
static void list_runs(struct tracing *tracing)
{
    const struct cpt_dag_records *records = tracing->records;

    for (uint32_t i = 1; i < records->run_count; i++) {
        const struct cpt_trace *trace = records->runs[i].trace;
        struct own_call *own = find_call(tracing, records->runs[i].call);

        if (own == NULL || own->run != CPT_DAG_NONE) {
            continue; /* nothing waited for it */
        }
        if (number_of(tracing, trace->answered_by) != CPT_DAG_NONE &&
            trace->response_ns <= own->call->arrive_ns &&
            trace->arrival_ns >= own->call->issue_ns) {
            own->run = i;
        } else {
            tracing->constant_count++;
        }
    }
}

/* --- Lines --- */

static cpt_status add_stretch(struct tracing *tracing, struct cpt_bytes name,
                              unsigned kind, uint64_t begin_ns, uint64_t end_ns)
{
    uint32_t frame = 0;
    uint32_t stretch = 0;
    cpt_status status = cpt_alloc_grow(
        tracing->alloc, (void **)&tracing->stretches, &tracing->stretch_capacity,
        tracing->stretch_count + 1, RECORDS_MAX, sizeof *tracing->stretches);

    if (status == CPT_OK) {
        status = cpt_dag_draft_frame(tracing->draft, name, kind, &frame);
    }
    if (status == CPT_OK) {
        status =
            cpt_dag_draft_stretch(tracing->draft, frame, begin_ns, end_ns, &stretch);
    }
    if (status == CPT_OK) {
        tracing->stretches[tracing->stretch_count++] =
            (struct own_stretch){begin_ns, end_ns, kind == CPT_DAG_STEP};
    }
    return status;
}

/* The awaits of @task become own ones, the oldest first. */
static cpt_status list_awaits(struct tracing *tracing,
                              const struct cpt_trace_task *task, struct own_task *own)
{
    const struct cpt_trace_await *await = task->last_await;
    size_t count = 0;
    cpt_status status = CPT_OK;

    for (; await != NULL && count < RECORDS_MAX; await = await->previous) {
        count++;
    }
    status = cpt_alloc_grow(tracing->alloc, (void **)&tracing->awaits,
                            &tracing->await_capacity, tracing->await_count + count,
                            RECORDS_MAX, sizeof *tracing->awaits);
    if (status != CPT_OK) {
        return status;
    }
    own->first_await = tracing->await_count;
    tracing->await_count += count;
    own->await_end = tracing->await_count;
    await = task->last_await;
    for (size_t i = own->await_end; i-- != own->first_await; await = await->previous) {
        tracing->awaits[i] = (struct own_await){
            await,
            await->arrive_ns > await->block_ns ? await->arrive_ns : await->block_ns,
            CPT_DAG_NONE};
    }
    return CPT_OK;
}

/* When the last step of the task ended. It goes on until the response if that came
 * before, or if the task answered. */
static uint64_t end_of(const struct cpt_trace *trace, const struct cpt_trace_task *task)
{
    return task->end_ns == NOT_YET ||
                   (task == trace->answered_by && task->end_ns < trace->response_ns)
               ? trace->response_ns
               : task->end_ns;
}

static cpt_status add_steps(struct tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct own_task *own = &tracing->tasks[number];
    uint64_t step_ns = task->start_ns;
    cpt_status status = CPT_OK;

    for (size_t i = own->first_await; i < own->await_end && status == CPT_OK; i++) {
        struct own_await *wait = &tracing->awaits[i];
        const struct cpt_trace_await *await = wait->await;

        status =
            add_stretch(tracing, task->name, CPT_DAG_STEP, step_ns, await->block_ns);
        if (await->resume_ns == UINT64_MAX) {
            return status; /* it waits still */
        }
        wait->stretch = (uint32_t)tracing->stretch_count;
        if (status == CPT_OK && await->resume_ns > wait->over_ns) {
            status = add_stretch(tracing, task->name, CPT_DAG_QUEUE, wait->over_ns,
                                 await->resume_ns);
        }
        step_ns = await->resume_ns;
    }
    if (status != CPT_OK) {
        return status;
    }
    return add_stretch(tracing, task->name, CPT_DAG_STEP, step_ns,
                       end_of(run_of(tracing, number)->trace, task));
}

static cpt_status add_task(struct tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    struct own_task *own = &tracing->tasks[number];
    cpt_status status = list_awaits(tracing, task, own);

    cpt_dag_draft_line(tracing->draft);
    own->line.first = (uint32_t)tracing->stretch_count;
    if (status == CPT_OK && task->start_ns > task->ready_ns) {
        status = add_stretch(tracing, task->name, CPT_DAG_QUEUE, task->ready_ns,
                             task->start_ns);
    }
    if (status == CPT_OK) {
        status = add_steps(tracing, number);
    }
    own->line.end = (uint32_t)tracing->stretch_count;
    return status;
}

static unsigned kind_of(const struct cpt_trace_call *call)
{
    switch (call->outcome) {
    case CPT_CALL_LOCK:
        return CPT_DAG_LOCK;
    case CPT_CALL_KIND:
    case CPT_CALL_TIMEOUT:
        return CPT_DAG_WAIT;
    default:
        return CPT_DAG_CALL;
    }
}

/* A call with a run is what comes before the run, and what comes behind it. */
static cpt_status add_call_line(struct tracing *tracing, struct own_call *own)
{
    const struct cpt_trace_call *call = own->call;
    const struct cpt_bytes name =
        call->name.bytes != 0 ? call->name : call->issuer->name;
    const uint32_t issuer = number_of(tracing, call->issuer);
    const bool has_run = own->run != CPT_DAG_NONE;
    const bool is_sent =
        call->outcome != CPT_CALL_TIMEOUT && call->sent_ns > call->issue_ns;
    uint64_t begin_ns = is_sent ? call->sent_ns : call->issue_ns;
    const uint64_t arrive_ns = call->arrive_ns != NOT_YET
                                   ? call->arrive_ns
                                   : run_of(tracing, issuer)->trace->response_ns;
    cpt_status status = CPT_OK;

    cpt_dag_draft_line(tracing->draft);
    own->line.first = (uint32_t)tracing->stretch_count;
    if (is_sent || has_run) {
        status = add_stretch(tracing, name, is_sent ? CPT_DAG_QUEUE : CPT_DAG_NETWORK,
                             call->issue_ns, begin_ns);
    }
    if (has_run) {
        begin_ns = tracing->records->runs[own->run].trace->response_ns;
    }
    if (status == CPT_OK) {
        status = add_stretch(tracing, name, has_run ? CPT_DAG_NETWORK : kind_of(call),
                             begin_ns, arrive_ns);
    }
    own->line.end = (uint32_t)tracing->stretch_count;
    return status;
}

/* --- Links --- */

/* The step of @line that did something at @at_ns: where two touch, the second one if
 * @is_second. */
static uint32_t step_at(const struct tracing *tracing, struct line line, uint64_t at_ns,
                        bool is_second)
{
    uint32_t found = line.end - 1;

    for (uint32_t i = line.end; i-- != line.first;) {
        const struct own_stretch *stretch = &tracing->stretches[i];

        if (!stretch->is_step) {
            continue;
        }
        if (stretch->end_ns >= at_ns) {
            found = i;
        }
        if (stretch->begin_ns < at_ns || (is_second && stretch->begin_ns == at_ns)) {
            return stretch->end_ns >= at_ns ? i : found;
        }
    }
    return found;
}

/* What gave @task or @call to who waited for it, at @at_ns. */
static bool source_of(const struct tracing *tracing, const struct cpt_trace_task *task,
                      struct cpt_trace_call *call, uint64_t at_ns,
                      struct cpt_dag_link *link)
{
    const uint32_t number = number_of(tracing, task);
    const struct own_call *own = find_call(tracing, call);

    link->from_ns = at_ns;
    if (own != NULL) {
        link->from = own->line.end - 1;
        return true;
    }
    if (number != CPT_DAG_NONE) {
        link->from = step_at(tracing, tracing->tasks[number].line, at_ns, false);
    }
    return number != CPT_DAG_NONE;
}

static cpt_status link_await(struct tracing *tracing, const struct own_await *own)
{
    const struct cpt_trace_await *await = own->await;
    struct cpt_dag_link link = {0, own->stretch, 0, own->over_ns, 0};

    if (own->stretch == CPT_DAG_NONE ||
        !source_of(tracing, await->task, await->call, await->arrive_ns, &link)) {
        return CPT_OK;
    }
    return cpt_dag_draft_link(tracing->draft, &link);
}

/* The wait of @own that something at @at_ns belongs to: it was not over before. That of
 * a spare was. */
static const struct own_await *await_of(const struct tracing *tracing,
                                        const struct own_task *own, uint64_t at_ns,
                                        bool is_spare)
{
    const struct own_await *found = NULL;

    for (size_t i = own->first_await; i < own->await_end; i++) {
        const struct own_await *wait = &tracing->awaits[i];

        if (is_spare && wait->over_ns <= at_ns) {
            found = wait;
        }
        if (!is_spare && wait->over_ns >= at_ns) {
            return wait;
        }
    }
    return found;
}

static cpt_status link_arrival(struct tracing *tracing,
                               const struct cpt_dag_arrival *arrival)
{
    const uint32_t waiter = number_of(tracing, arrival->waiter);
    struct cpt_dag_link link = {0, 0, 0, 0, arrival->is_spare};
    const struct own_await *wait = NULL;

    if (waiter == CPT_DAG_NONE ||
        !source_of(tracing, arrival->giver, arrival->call, arrival->arrive_ns, &link)) {
        return CPT_OK;
    }
    if (arrival->is_input != 0) {
        link.to = tracing->tasks[waiter].line.first;
        link.to_ns = arrival->waiter->ready_ns;
        return cpt_dag_draft_link(tracing->draft, &link);
    }
    wait = await_of(tracing, &tracing->tasks[waiter], arrival->arrive_ns,
                    arrival->is_spare != 0);
    if (wait == NULL || wait->stretch == CPT_DAG_NONE) {
        return CPT_OK;
    }
    link.to = wait->stretch;
    link.to_ns = wait->over_ns;
    return cpt_dag_draft_link(tracing->draft, &link);
}

static cpt_status link_task(struct tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct own_task *own = &tracing->tasks[number];
    const struct own_call *caller = find_call(tracing, run_of(tracing, number)->call);
    struct cpt_dag_link link = {0, own->line.first, 0, task->ready_ns, 0};
    cpt_status status = CPT_OK;

    if (task->begin == CPT_BEGIN_TASK &&
        source_of(tracing, task->unblocker, NULL, task->ready_ns, &link)) {
        status = cpt_dag_draft_link(tracing->draft, &link);
    } else if (task->begin == CPT_BEGIN_REQUEST && caller != NULL) {
        link.from = caller->line.first;
        link.from_ns = task->ready_ns;
        status = cpt_dag_draft_link(tracing->draft, &link);
    }
    for (size_t i = own->first_await; i < own->await_end && status == CPT_OK; i++) {
        status = link_await(tracing, &tracing->awaits[i]);
    }
    return status;
}

/* Its beginning to its issuer, and its end to the answer of its run. */
static cpt_status link_call(struct tracing *tracing, const struct own_call *own)
{
    const struct cpt_trace_call *call = own->call;
    const struct own_task *issuer = &tracing->tasks[number_of(tracing, call->issuer)];
    struct cpt_dag_link link = {step_at(tracing, issuer->line, call->issue_ns,
                                        call->arrive_ns > call->issue_ns),
                                own->line.first, call->issue_ns, call->issue_ns, 0};
    const cpt_status status = cpt_dag_draft_link(tracing->draft, &link);

    if (status == CPT_OK && own->run != CPT_DAG_NONE) {
        const struct cpt_trace *trace = tracing->records->runs[own->run].trace;
        const uint32_t by = number_of(tracing, trace->answered_by);

        link.from = step_at(tracing, tracing->tasks[by].line, trace->response_ns, true);
        link.to = own->line.end - 1;
        link.from_ns = trace->response_ns;
        link.to_ns = trace->response_ns;
        return cpt_dag_draft_link(tracing->draft, &link);
    }
    return status;
}

/* --- All of it --- */

static cpt_status add_lines(struct tracing *tracing)
{
    cpt_status status = list_calls(tracing);

    list_runs(tracing);
    for (uint32_t i = 0; i < tracing->records->task_count && status == CPT_OK; i++) {
        status = add_task(tracing, i);
    }
    for (size_t i = 0; i < tracing->call_count && status == CPT_OK; i++) {
        status = add_call_line(tracing, &tracing->calls[i]);
    }
    return status;
}

static cpt_status add_links(struct tracing *tracing)
{
    const struct cpt_dag_records *records = tracing->records;
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < records->task_count && status == CPT_OK; i++) {
        status = link_task(tracing, i);
    }
    for (size_t i = 0; i < tracing->call_count && status == CPT_OK; i++) {
        status = link_call(tracing, &tracing->calls[i]);
    }
    for (size_t i = 0; i < records->arrival_count && status == CPT_OK; i++) {
        status = link_arrival(tracing, &records->arrivals[i]);
    }
    return status;
}

static cpt_status make(struct tracing *tracing, struct cpt_dag_recorded *recorded)
{
    const struct cpt_trace *trace = tracing->records->runs[0].trace;
    const uint32_t answered_by = number_of(tracing, trace->answered_by);
    cpt_status status = CPT_OK;

    if (answered_by == CPT_DAG_NONE) {
        return CPT_INVALID;
    }
    tracing->tasks = cpt_alloc_array(tracing->alloc, NULL, tracing->records->task_count,
                                     sizeof *tracing->tasks);
    if (tracing->tasks == NULL) {
        return CPT_NO_MEMORY;
    }
    status = add_lines(tracing);
    if (status == CPT_OK) {
        status = add_links(tracing);
    }
    if (status != CPT_OK) {
        return status;
    }
    status = cpt_dag_draft_finish(
        tracing->draft,
        step_at(tracing, tracing->tasks[answered_by].line, trace->response_ns, true),
        trace->response_ns, recorded);
    if (status == CPT_OK) {
        recorded->constant_count = tracing->constant_count;
    }
    return status;
}

cpt_status cpt_dag_draft_trace(struct cpt_dag_draft *draft,
                               const struct cpt_dag_records *records,
                               struct cpt_dag_recorded *recorded)
{
    struct tracing tracing = {
        .draft = draft, .alloc = cpti_dag_draft_alloc(draft), .records = records};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->task_count; i++) {
        records->tasks[i]->walk_word = (uint32_t)i;
    }
    status = make(&tracing, recorded);
    cpt_alloc_free(tracing.alloc, tracing.tasks);
    cpt_alloc_free(tracing.alloc, tracing.calls);
    cpt_alloc_free(tracing.alloc, tracing.awaits);
    cpt_alloc_free(tracing.alloc, tracing.stretches);
    return status;
}
