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
#include "cpt/hash_index.h"

#include <stdbool.h>

enum { RECORDS_MAX = 1 << 22, NOT_YET = 0 };

/* How many steps and waits are looked at to find the ends of links: seconds. Those of
 * a task are in time order, so few are needed; a file may say anything. */
static const uint64_t looks_max = (uint64_t)1 << 32;

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
    bool has_order;       /* its stretches begin one after the other, … */
    bool has_await_order; /* … and its waits were over one after the other */
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
    struct cpti_hash_index index; /* of the calls, by their records */
    uint32_t *accepts; /* of each run: the stretch before its dispatch, or NONE */
    struct own_await *awaits;
    size_t await_count, await_capacity;
    struct own_stretch *stretches;
    size_t stretch_count, stretch_capacity;
    struct cpt_bytes frame_name; /* of the frame that was needed last, which is often */
    unsigned frame_kind;         /* the next one, too */
    uint32_t frame;
    bool has_order;    /* the stretches of the line so far begin one after the other, */
    uint64_t begin_ns; /* the last one here */
    uint64_t constant_count;
    uint64_t look_count;
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

static uint64_t hash_call(const void *owner, size_t number)
{
    const struct tracing *tracing = owner;

    return cpti_hash_mix((uintptr_t)tracing->calls[number].call ^ (uintptr_t)owner);
}

static struct own_call *find_call(const struct tracing *tracing,
                                  const struct cpt_trace_call *call)
{
    size_t slot = 0;

    if (call == NULL || tracing->call_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(&tracing->index,
                                 cpti_hash_mix((uintptr_t)call ^ (uintptr_t)tracing));
    for (; tracing->index.slots[slot] != 0;
         slot = cpti_hash_index_next(&tracing->index, slot)) {
        struct own_call *own = &tracing->calls[tracing->index.slots[slot] - 1];

        if (own->call == call) {
            return own;
        }
    }
    return NULL;
}

static cpt_status add_call(struct tracing *tracing, struct cpt_trace_call *call)
{
    cpt_status status = CPT_OK;

    if (call == NULL || number_of(tracing, call->issuer) == CPT_DAG_NONE ||
        find_call(tracing, call) != NULL) {
        return CPT_OK;
    }
    status =
        cpti_dag_grow(tracing->alloc, (void **)&tracing->calls, &tracing->call_capacity,
                      tracing->call_count + 1, RECORDS_MAX, sizeof *tracing->calls);
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&tracing->index, tracing->call_count, 2)) {
        status = cpti_hash_index_grow(&tracing->index, tracing->alloc, 16,
                                      tracing->call_count, hash_call, tracing);
    }
    if (status == CPT_OK) {
        tracing->calls[tracing->call_count] =
            (struct own_call){call, {0, 0}, CPT_DAG_NONE};
        cpti_hash_index_put(&tracing->index, hash_call(tracing, tracing->call_count),
                            tracing->call_count);
        tracing->call_count++;
    }
    return status;
}

/* All calls that tasks waited for, each once. */
static cpt_status list_calls(struct tracing *tracing)
{
    const struct cpt_dag_records *records = tracing->records;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->task_count; i++) {
        const struct cpt_trace_await *await = records->tasks[i]->last_await;

        for (; await != NULL && status == CPT_OK; await = await->previous) {
            status = add_call(tracing, await->call);
        }
    }
    for (size_t i = 0; i < records->arrival_count && status == CPT_OK; i++) {
        status = add_call(tracing, records->arrivals[i].call);
    }
    return status;
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

static cpt_status find_frame(struct tracing *tracing, struct cpt_bytes name,
                             unsigned kind)
{
    cpt_status status = CPT_OK;

    if (name.data == tracing->frame_name.data && kind == tracing->frame_kind &&
        name.bytes == tracing->frame_name.bytes && name.bytes != 0) {
        return CPT_OK;
    }
    status = cpt_dag_draft_frame(tracing->draft, name, kind, &tracing->frame);
    tracing->frame_name = status == CPT_OK ? name : (struct cpt_bytes){NULL, 0};
    tracing->frame_kind = kind;
    return status;
}

static cpt_status add_stretch(struct tracing *tracing, struct cpt_bytes name,
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
            (struct own_stretch){begin_ns, end_ns, kind == CPT_DAG_STEP};
        tracing->has_order = tracing->has_order && begin_ns >= tracing->begin_ns;
        tracing->begin_ns = begin_ns;
    }
    return status;
}

/* When it was over: what had come before the block did not end it. */
static uint64_t over_of(const struct cpt_trace_await *await)
{
    return await->arrive_ns > await->block_ns ? await->arrive_ns : await->block_ns;
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
        tracing->awaits[i] = (struct own_await){await, over_of(await), CPT_DAG_NONE};
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

/* Before the process began with a request, it waited in a queue that all of its tasks
 * come after. */
static cpt_status add_accept_line(struct tracing *tracing, size_t run)
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

/* --- Links --- */

/* The first of the stretches or waits @low to @high - 1, which are in order, that
 * begins or was over at @at_ns or later. */
static size_t first_from(const struct tracing *tracing, bool is_wait, size_t low,
                         size_t high, uint64_t at_ns)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if ((is_wait ? tracing->awaits[middle].over_ns
                     : tracing->stretches[middle].begin_ns) < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The step of @own that did something at @at_ns: where two touch, the second one if
 * @is_second. It is the last that begins before, or the first behind it if there is a
 * gap; so with stretches in order those that begin later need not be looked at. */
static uint32_t step_at(struct tracing *tracing, const struct own_task *own,
                        uint64_t at_ns, bool is_second)
{
    const struct line line = own->line;
    uint32_t from = line.end;
    uint32_t found = line.end - 1;

    if (own->has_order) {
        uint32_t later = from =
            at_ns != UINT64_MAX
                ? (uint32_t)first_from(tracing, false, line.first, line.end, at_ns + 1)
                : line.end;

        while (later < line.end && (!tracing->stretches[later].is_step ||
                                    tracing->stretches[later].end_ns < at_ns)) {
            tracing->look_count++;
            later++;
        }
        found = later < line.end ? later : found;
    }
    for (uint32_t i = from; i-- != line.first && tracing->look_count < looks_max;) {
        const struct own_stretch *stretch = &tracing->stretches[i];

        tracing->look_count++;
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
static bool source_of(struct tracing *tracing, const struct cpt_trace_task *task,
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
        link->from = step_at(tracing, &tracing->tasks[number], at_ns, false);
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

/* The wait of @own that @arrival belongs to. If it does not say: the first that was not
 * over before; that of a spare was. */
static const struct own_await *await_of(struct tracing *tracing,
                                        const struct own_task *own,
                                        const struct cpt_dag_arrival *arrival)
{
    const uint64_t at_ns =
        arrival->await != NULL ? over_of(arrival->await) : arrival->arrive_ns;
    const bool is_spare = arrival->is_spare != 0;
    const struct own_await *found = NULL;
    size_t from = own->first_await;

    if (own->has_await_order) {
        from = first_from(tracing, true, own->first_await, own->await_end, at_ns);
        found = is_spare && arrival->await == NULL && from != own->first_await
                    ? &tracing->awaits[from - 1]
                    : NULL;
    }
    for (size_t i = from; i < own->await_end && tracing->look_count < looks_max; i++) {
        const struct own_await *wait = &tracing->awaits[i];

        if (own->has_await_order && wait->over_ns > at_ns &&
            (is_spare || arrival->await != NULL)) {
            break; /* and so are all that follow */
        }
        tracing->look_count++;
        if (arrival->await != NULL) {
            if (wait->await == arrival->await) {
                return wait;
            }
            continue;
        }
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
    wait = await_of(tracing, &tracing->tasks[waiter], arrival);
    if (wait == NULL || wait->stretch == CPT_DAG_NONE) {
        return CPT_OK;
    }
    link.to = wait->stretch;
    link.to_ns = wait->over_ns;
    return cpt_dag_draft_link(tracing->draft, &link);
}

/* What happens first in @run, at @at_ns, comes when its call was there, if it has one.
 */
static cpt_status link_to_caller(struct tracing *tracing, const struct cpt_dag_run *run,
                                 uint32_t to, uint64_t at_ns)
{
    const struct own_call *caller = find_call(tracing, run->call);

    if (caller == NULL) {
        return CPT_OK;
    }
    return cpt_dag_draft_link(
        tracing->draft,
        &(struct cpt_dag_link){caller->line.first, to, at_ns, at_ns, 0});
}

/* A task that begins with its run. */
static cpt_status link_first_task(struct tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct cpt_dag_run *run = run_of(tracing, number);
    const uint32_t accept = tracing->accepts[run - tracing->records->runs];
    const uint32_t first = tracing->tasks[number].line.first;

    if (accept == CPT_DAG_NONE) {
        return link_to_caller(tracing, run, first, task->ready_ns);
    }
    return cpt_dag_draft_link(
        tracing->draft, &(struct cpt_dag_link){accept, first, run->trace->dispatch_ns,
                                               task->ready_ns, 0});
}

static cpt_status link_task(struct tracing *tracing, uint32_t number)
{
    const struct cpt_trace_task *task = tracing->records->tasks[number];
    const struct own_task *own = &tracing->tasks[number];
    struct cpt_dag_link link = {0, own->line.first, 0, task->ready_ns, 0};
    cpt_status status = CPT_OK;

    if (task->begin == CPT_BEGIN_TASK &&
        source_of(tracing, task->unblocker, NULL, task->ready_ns, &link)) {
        status = cpt_dag_draft_link(tracing->draft, &link);
    } else if (task->begin == CPT_BEGIN_REQUEST) {
        status = link_first_task(tracing, number);
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
    struct cpt_dag_link link = {
        step_at(tracing, issuer, call->issue_ns, call->arrive_ns > call->issue_ns),
        own->line.first, call->issue_ns, call->issue_ns, 0};
    const cpt_status status = cpt_dag_draft_link(tracing->draft, &link);

    if (status == CPT_OK && own->run != CPT_DAG_NONE) {
        const struct cpt_trace *trace = tracing->records->runs[own->run].trace;
        const uint32_t by = number_of(tracing, trace->answered_by);

        link.from = step_at(tracing, &tracing->tasks[by], trace->response_ns, true);
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
    for (size_t i = 0; i < tracing->records->run_count && status == CPT_OK; i++) {
        status = add_accept_line(tracing, i);
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
    for (size_t i = 0; i < records->run_count && status == CPT_OK; i++) {
        const struct cpt_dag_run *run = &records->runs[i];

        if (tracing->accepts[i] != CPT_DAG_NONE) {
            status = link_to_caller(tracing, run, tracing->accepts[i],
                                    run->trace->arrival_ns);
        }
    }
    if (status == CPT_OK && tracing->look_count >= looks_max) {
        status = CPT_LIMIT;
    }
    return status;
}

/* Says what the lines are: that of each task, then that of each call; those of accept
 * queues remain as they are. */
static void tell_lines(struct tracing *tracing)
{
    const size_t task_count = tracing->records->task_count;
    struct cpt_dag_line *lines = cpti_dag_draft_lines(tracing->draft);

    for (uint32_t i = 0; i < task_count; i++) {
        const struct own_call *caller = find_call(tracing, run_of(tracing, i)->call);

        lines[i].executor = tracing->records->tasks[i]->executor;
        if (caller != NULL) {
            lines[i].caller =
                (uint32_t)(task_count + (size_t)(caller - tracing->calls));
        }
    }
    for (size_t i = 0; i < tracing->call_count; i++) {
        const struct cpt_trace_call *call = tracing->calls[i].call;

        lines[task_count + i] = (struct cpt_dag_line){
            call->executor, number_of(tracing, call->issuer), 1, call->outcome};
    }
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
    tracing->accepts = cpt_alloc_array(
        tracing->alloc, NULL, tracing->records->run_count, sizeof *tracing->accepts);
    if (tracing->tasks == NULL || tracing->accepts == NULL) {
        return CPT_NO_MEMORY;
    }
    status = add_lines(tracing);
    if (status == CPT_OK) {
        tell_lines(tracing);
        status = add_links(tracing);
    }
    if (status != CPT_OK) {
        return status;
    }
    status = cpt_dag_draft_finish(
        tracing->draft,
        step_at(tracing, &tracing->tasks[answered_by], trace->response_ns, true),
        trace->response_ns, recorded);
    if (status == CPT_OK) {
        recorded->constant_count = tracing->constant_count;
    }
    return status;
}

/* Where the nodes of all tasks and calls are. */
static cpt_status list_places(const struct tracing *tracing,
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
        const struct own_call *own = is_task ? NULL : &tracing->calls[i - task_count];
        const struct line line = is_task ? tracing->tasks[i].line : own->line;

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
    struct tracing tracing = {
        .draft = draft, .alloc = cpti_dag_draft_alloc(draft), .records = records};
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->task_count; i++) {
        records->tasks[i]->walk_word = (uint32_t)i;
    }
    status = make(&tracing, recorded);
    if (status == CPT_OK && places != NULL) {
        status = list_places(&tracing, places, count);
    }
    cpt_alloc_free(tracing.alloc, tracing.tasks);
    cpt_alloc_free(tracing.alloc, tracing.accepts);
    cpt_alloc_free(tracing.alloc, tracing.calls);
    cpt_alloc_free(tracing.alloc, tracing.index.slots);
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
