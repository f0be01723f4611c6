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
#include "cpt/dag/dag_trace.h"

#include "cpt/dag/dag.h"

enum { RECORDS_MAX = CPT_TRACE_RECORDS_MAX, NOT_YET = 0 };

/* Looks to find the ends of links. For drags no more than a walk can wait for: where
 * the stamps of a task are in order, a link needs one or two. A file may say anything,
 * and take seconds. */
enum { FIRST_LOOKS = 1 << 16, LINK_LOOKS = 16 };
static const uint64_t file_looks = (uint64_t)1 << 32;

/* --- Calls --- */

static cpt_status add_call(struct cpti_tracing *tracing, struct cpt_trace_call *call)
{
    cpt_status status = CPT_OK;

    if (call == NULL ||
        cpt_trace_number(tracing->records, call->issuer) == CPT_DAG_NONE ||
        cpti_tracing_call(tracing, call) != NULL) {
        return CPT_OK;
    }
    status =
        cpti_dag_grow(tracing->alloc, (void **)&tracing->calls, &tracing->call_capacity,
                      tracing->call_count + 1, RECORDS_MAX, sizeof *tracing->calls);
    if (status == CPT_OK) {
        call->walk_number = (uint32_t)tracing->call_count;
        tracing->calls[tracing->call_count++] =
            (struct cpti_traced_call){call, {0, 0}, CPT_DAG_NONE, 0};
    }
    return status;
}

/* All calls that tasks waited for, each once; counts the waits. */
static cpt_status list_calls(struct cpti_tracing *tracing, size_t *await_count)
{
    const struct cpt_dag_records *records = tracing->records;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->task_count; i++) {
        const struct cpt_trace_await *await = records->tasks[i]->last_await;

        for (; await != NULL && status == CPT_OK; await = await->previous) {
            status = add_call(tracing, await->call);
            *await_count += 1;
        }
    }
    for (size_t i = 0; i < records->arrival_count && status == CPT_OK; i++) {
        status = add_call(tracing, records->arrivals[i].call);
    }
    return status;
}

/* The run of each call, if it fits into the call. */
static void list_runs(struct cpti_tracing *tracing)
{
    const struct cpt_dag_records *records = tracing->records;

    for (uint32_t i = 1; i < records->run_count; i++) {
        const struct cpt_trace *trace = records->runs[i].trace;
        struct cpti_traced_call *own =
            cpti_tracing_call(tracing, records->runs[i].call);

        if (own == NULL || own->run != CPT_DAG_NONE) {
            continue; /* nothing waited for it */
        }
        if (cpt_trace_answers(trace, own->call) != 0 &&
            cpt_trace_number(tracing->records, trace->answered_by) != CPT_DAG_NONE) {
            own->run = i;
        } else {
            tracing->constant_count++;
        }
    }
}

/* --- Lines --- */

static cpt_status find_frame(struct cpti_tracing *tracing, struct cpt_bytes name,
                             unsigned kind)
{
    cpt_status status = CPT_OK;

    if (cpti_dag_draft_is_bare(tracing->draft)) {
        tracing->frame = kind;
        return CPT_OK;
    }
    if (name.data == tracing->frame_name.data && kind == tracing->frame_kind &&
        name.bytes == tracing->frame_name.bytes && name.bytes != 0) {
        return CPT_OK;
    }
    status = cpt_dag_draft_frame(tracing->draft, name, kind, &tracing->frame);
    tracing->frame_name = status == CPT_OK ? name : (struct cpt_bytes){NULL, 0};
    tracing->frame_kind = kind;
    return status;
}

static cpt_status add_stretch(struct cpti_tracing *tracing, struct cpt_bytes name,
                              unsigned kind, uint64_t begin_ns, uint64_t end_ns)
{
    uint32_t stretch = 0;
    cpt_status status = cpti_dag_grow(
        tracing->alloc, (void **)&tracing->stretches, &tracing->stretch_capacity,
        tracing->stretch_count + 1, RECORDS_MAX, sizeof *tracing->stretches);

    if (status == CPT_OK) {
        status = find_frame(tracing, name, kind);
    }
    if (status == CPT_OK) {
        status = cpt_dag_draft_stretch(tracing->draft, tracing->frame, begin_ns, end_ns,
                                       &stretch);
    }
    if (status == CPT_OK) {
        tracing->stretches[tracing->stretch_count++] =
            (struct cpti_traced_stretch){begin_ns, end_ns, kind == CPT_DAG_STEP};
        tracing->has_order = tracing->has_order && begin_ns >= tracing->begin_ns;
        tracing->begin_ns = begin_ns;
    }
    return status;
}

/* The awaits of @task become own ones, the oldest first. */
static cpt_status list_awaits(struct cpti_tracing *tracing,
                              const struct cpt_trace_task *task,
                              struct cpti_traced_task *own)
{
    const struct cpt_trace_await *await = task->last_await;
    size_t count = 0;
    cpt_status status = CPT_OK;

    for (; await != NULL && count < RECORDS_MAX; await = await->previous) {
        count++;
    }
    status = cpti_dag_grow(tracing->alloc, (void **)&tracing->awaits,
                           &tracing->await_capacity, tracing->await_count + count,
                           RECORDS_MAX, sizeof *tracing->awaits);
    if (status != CPT_OK) {
        return status;
    }
    own->first_await = tracing->await_count;
    tracing->await_count += count;
    own->await_end = tracing->await_count;
    own->has_await_order = true;
    await = task->last_await;
    for (size_t i = own->await_end; i-- != own->first_await; await = await->previous) {
        tracing->awaits[i] =
            (struct cpti_traced_await){await, cpt_trace_over_ns(await), CPT_DAG_NONE};
        own->has_await_order =
            own->has_await_order &&
            (i + 1 == own->await_end ||
             tracing->awaits[i].over_ns <= tracing->awaits[i + 1].over_ns);
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

/* When @task went on after @wait; UINT64_MAX: it waits still. One that answered for a
 * request that ended by its deadline never did: it queued until the answer. */
static uint64_t resume_of(const struct cpt_trace *trace,
                          const struct cpt_trace_task *task,
                          const struct cpti_traced_await *wait)
{
    return wait->await->resume_ns == UINT64_MAX && task == trace->answered_by &&
                   wait->await->arrive_ns != NOT_YET &&
                   wait->over_ns <= trace->response_ns
               ? trace->response_ns
               : wait->await->resume_ns;
}

static cpt_status add_steps(struct cpti_tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct cpt_trace *trace = cpti_tracing_run(tracing, number)->trace;
    const struct cpti_traced_task *own = &tracing->tasks[number];
    uint64_t step_ns = task->start_ns;
    cpt_status status = CPT_OK;

    for (size_t i = own->first_await; i < own->await_end && status == CPT_OK; i++) {
        struct cpti_traced_await *wait = &tracing->awaits[i];
        const uint64_t resume_ns = resume_of(trace, task, wait);

        status = add_stretch(tracing, task->name, CPT_DAG_STEP, step_ns,
                             wait->await->block_ns);
        if (resume_ns == UINT64_MAX) {
            return status;
        }
        wait->stretch = (uint32_t)tracing->stretch_count;
        if (status == CPT_OK && resume_ns > wait->over_ns) {
            status = add_stretch(tracing, task->name, CPT_DAG_QUEUE, wait->over_ns,
                                 resume_ns);
        }
        step_ns = resume_ns;
    }
    if (status != CPT_OK) {
        return status;
    }
    return add_stretch(tracing, task->name, CPT_DAG_STEP, step_ns, end_of(trace, task));
}

static cpt_status add_task(struct cpti_tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    struct cpti_traced_task *own = &tracing->tasks[number];
    cpt_status status = list_awaits(tracing, task, own);

    cpt_dag_draft_line(tracing->draft);
    own->line.first = (uint32_t)tracing->stretch_count;
    tracing->has_order = true;
    tracing->begin_ns = 0;
    if (status == CPT_OK && task->start_ns > task->ready_ns) {
        status = add_stretch(tracing, task->name, CPT_DAG_QUEUE, task->ready_ns,
                             task->start_ns);
    }
    if (status == CPT_OK) {
        status = add_steps(tracing, number);
    }
    own->line.end = (uint32_t)tracing->stretch_count;
    own->has_order = tracing->has_order;
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

/* A call with a run is what comes before the run, a queue and the way there, and what
 * comes behind it, the way back. */
static cpt_status add_call_line(struct cpti_tracing *tracing,
                                struct cpti_traced_call *own)
{
    const struct cpt_trace_call *call = own->call;
    const struct cpt_bytes name =
        call->name.bytes != 0 ? call->name : call->issuer->name;
    const uint32_t issuer = cpt_trace_number(tracing->records, call->issuer);
    const bool has_run = own->run != CPT_DAG_NONE;
    const bool is_sent =
        call->outcome != CPT_CALL_TIMEOUT && call->sent_ns > call->issue_ns;
    uint64_t begin_ns = is_sent ? call->sent_ns : call->issue_ns;
    const uint64_t arrive_ns =
        call->arrive_ns != NOT_YET
            ? call->arrive_ns
            : cpti_tracing_run(tracing, issuer)->trace->response_ns;
    cpt_status status = CPT_OK;

    cpt_dag_draft_line(tracing->draft);
    own->line.first = (uint32_t)tracing->stretch_count;
    own->sent = own->line.first;
    if (is_sent) {
        status = add_stretch(tracing, name, CPT_DAG_QUEUE, call->issue_ns, begin_ns);
    }
    if (has_run) {
        const struct cpt_trace *run = tracing->records->runs[own->run].trace;

        if (status == CPT_OK && (!is_sent || run->arrival_ns > begin_ns)) {
            status =
                add_stretch(tracing, name, CPT_DAG_NETWORK, begin_ns,
                            run->arrival_ns > begin_ns ? run->arrival_ns : begin_ns);
        }
        own->sent = (uint32_t)tracing->stretch_count - 1;
        begin_ns = run->response_ns;
    }
    if (status == CPT_OK) {
        status = add_stretch(tracing, name, has_run ? CPT_DAG_NETWORK : kind_of(call),
                             begin_ns, arrive_ns);
    }
    own->line.end = (uint32_t)tracing->stretch_count;
    return status;
}

/* Before the process began with a request, it waited in a queue that all of its tasks
 * come after. */
static cpt_status add_accept_line(struct cpti_tracing *tracing, size_t run)
{
    const struct cpt_trace *trace = tracing->records->runs[run].trace;

    tracing->accepts[run] = CPT_DAG_NONE;
    if (trace->dispatch_ns <= trace->arrival_ns ||
        trace->dispatch_ns > trace->response_ns) {
        return CPT_OK;
    }
    cpt_dag_draft_line(tracing->draft);
    tracing->accepts[run] = (uint32_t)tracing->stretch_count;
    return add_stretch(tracing, trace->entry, CPT_DAG_QUEUE, trace->arrival_ns,
                       trace->dispatch_ns);
}

/* --- All of it --- */

/* Room for all that may come: a task and a wait have a queue and a step, and a call has
 * three parts; a link comes to each of them, and goes out from each run and call. */
static cpt_status reserve(struct cpti_tracing *tracing, size_t await_count)
{
    const size_t count = tracing->records->task_count + await_count;
    const size_t stretch_count =
        2 * count + 3 * tracing->call_count + tracing->records->run_count;
    const size_t link_count = count + 2 * tracing->call_count +
                              tracing->records->arrival_count +
                              tracing->records->run_count;
    cpt_status status = cpti_dag_reserve(tracing->alloc, (void **)&tracing->awaits,
                                         &tracing->await_capacity, await_count,
                                         RECORDS_MAX, sizeof *tracing->awaits);

    if (status == CPT_OK) {
        status = cpti_dag_reserve(tracing->alloc, (void **)&tracing->stretches,
                                  &tracing->stretch_capacity, stretch_count,
                                  RECORDS_MAX, sizeof *tracing->stretches);
    }
    if (status == CPT_OK) {
        status = cpti_dag_draft_reserve(tracing->draft, stretch_count, link_count);
    }
    tracing->looks_max = cpti_dag_draft_is_bare(tracing->draft)
                             ? FIRST_LOOKS + LINK_LOOKS * (uint64_t)link_count
                             : file_looks;
    return status;
}

static cpt_status add_lines(struct cpti_tracing *tracing)
{
    size_t await_count = 0;
    cpt_status status = list_calls(tracing, &await_count);

    list_runs(tracing);
    if (status == CPT_OK) {
        status = reserve(tracing, await_count);
    }
    for (uint32_t i = 0; i < tracing->records->task_count && status == CPT_OK; i++) {
        status = add_task(tracing, i);
    }
    for (size_t i = 0; i < tracing->call_count && status == CPT_OK; i++) {
        status = add_call_line(tracing, &tracing->calls[i]);
    }
    for (size_t i = 0; i < tracing->records->run_count && status == CPT_OK; i++) {
        status = add_accept_line(tracing, i);
    }
    return status;
}

/* Says what the lines are: that of each task, then that of each call; those of accept
 * queues remain as they are. */
static void tell_lines(struct cpti_tracing *tracing)
{
    const size_t task_count = tracing->records->task_count;
    struct cpt_dag_line *lines = cpti_dag_draft_lines(tracing->draft);

    for (uint32_t i = 0; i < task_count && lines != NULL; i++) {
        const struct cpti_traced_call *caller =
            cpti_tracing_call(tracing, cpti_tracing_run(tracing, i)->call);
        const uint32_t first =
            cpt_trace_number(tracing->records, tracing->records->tasks[i]->occurrence);

        lines[i].executor = tracing->records->tasks[i]->executor;
        if (caller != NULL) {
            lines[i].caller =
                (uint32_t)(task_count + (size_t)(caller - tracing->calls));
        }
        if (first != CPT_DAG_NONE) {
            lines[i].occurrence = first + 1;
            lines[first].occurrence = first + 1;
        }
    }
    for (size_t i = 0; i < tracing->call_count && lines != NULL; i++) {
        const struct cpt_trace_call *call = tracing->calls[i].call;

        lines[task_count + i] = (struct cpt_dag_line){
            call->executor, cpt_trace_number(tracing->records, call->issuer), 1,
            call->outcome, 0};
    }
}

static cpt_status make(struct cpti_tracing *tracing, struct cpt_dag_recorded *recorded)
{
    const struct cpt_trace *trace = tracing->records->runs[0].trace;
    const uint32_t answered_by = cpt_trace_number(tracing->records, trace->answered_by);
    cpt_status status = CPT_OK;

    if (answered_by == CPT_DAG_NONE) {
        return CPT_INVALID;
    }
    tracing->tasks = cpt_alloc_array(tracing->alloc, NULL, tracing->records->task_count,
                                     sizeof *tracing->tasks);
    tracing->accepts = cpt_alloc_array(
        tracing->alloc, NULL, tracing->records->run_count, sizeof *tracing->accepts);
    if (tracing->tasks == NULL || tracing->accepts == NULL) {
        return CPT_NO_MEMORY;
    }
    status = add_lines(tracing);
    if (status == CPT_OK) {
        tell_lines(tracing);
        status = cpti_tracing_link(tracing);
    }
    if (status != CPT_OK) {
        return status;
    }
    status =
        cpt_dag_draft_finish(tracing->draft,
                             cpti_tracing_step(tracing, &tracing->tasks[answered_by],
                                               trace->response_ns, true),
                             trace->response_ns, recorded);
    if (status == CPT_OK) {
        recorded->constant_count = tracing->constant_count;
        for (size_t i = 0; i < tracing->records->run_count; i++) {
            const unsigned evidence = tracing->records->runs[i].evidence;

            recorded->evidence =
                evidence > recorded->evidence ? evidence : recorded->evidence;
        }
    }
    return status;
}

/* Where the nodes of all tasks and calls are. */
static cpt_status list_places(const struct cpti_tracing *tracing,
                              struct cpti_dag_place **places, size_t *count)
{
    const size_t task_count = tracing->records->task_count;
    struct cpti_dag_place *made = cpt_alloc_array(
        tracing->alloc, NULL, task_count + tracing->call_count, sizeof *made);

    if (made == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < task_count + tracing->call_count; i++) {
        const bool is_task = i < task_count;
        const struct cpti_traced_call *own =
            is_task ? NULL : &tracing->calls[i - task_count];
        const struct cpti_traced_line line =
            is_task ? tracing->tasks[i].line : own->line;

        made[i].record = is_task ? (const void *)tracing->records->tasks[i] : own->call;
        made[i].first = cpti_dag_draft_node(tracing->draft, line.first);
        made[i].end = cpti_dag_draft_node(tracing->draft, line.end);
    }
    *places = made;
    *count = task_count + tracing->call_count;
    return CPT_OK;
}

cpt_status cpti_dag_draft_places(struct cpt_dag_draft *draft,
                                 const struct cpt_dag_records *records,
                                 struct cpt_dag_recorded *recorded,
                                 struct cpti_dag_place **places, size_t *count)
{
    struct cpti_tracing tracing = {
        .draft = draft, .alloc = cpti_dag_draft_alloc(draft), .records = records};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->task_count; i++) {
        records->tasks[i]->walk_number = (uint32_t)i;
    }
    status = make(&tracing, recorded);
    if (status == CPT_OK && places != NULL) {
        status = list_places(&tracing, places, count);
    }
    cpt_alloc_free(tracing.alloc, tracing.tasks);
    cpt_alloc_free(tracing.alloc, tracing.accepts);
    cpt_alloc_free(tracing.alloc, tracing.calls);
    cpt_alloc_free(tracing.alloc, tracing.awaits);
    cpt_alloc_free(tracing.alloc, tracing.stretches);
    return status;
}

cpt_status cpt_dag_draft_trace(struct cpt_dag_draft *draft,
                               const struct cpt_dag_records *records,
                               struct cpt_dag_recorded *recorded)
{
    return cpti_dag_draft_places(draft, records, recorded, NULL, NULL);
}

cpt_status cpt_dag_draft_visit(const struct cpt_alloc *alloc,
                               const struct cpt_dag_records *records,
                               cpt_dag_visit_fn visit, void *context)
{
    const struct cpt_trace *trace = records->runs[0].trace;
    struct cpt_dag_draft *draft = cpt_dag_draft_new(alloc, trace->arrival_ns);
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag = NULL;
    cpt_status status = draft != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        status = cpt_dag_draft_trace(draft, records, &recorded);
    }
    if (status == CPT_OK) {
        status = cpt_dag_new(alloc, &recorded.shape, &dag, NULL);
    }
    if (status == CPT_OK) {
        status = visit(context, dag, &recorded, trace->response_ns - trace->arrival_ns);
    }
    cpt_dag_free(dag);
    cpt_dag_draft_free(draft);
    return status;
}
