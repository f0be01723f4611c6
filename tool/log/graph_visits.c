/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_visits.c - see graph_visits.h
 *
 * Runs, tasks and calls are *parts* of a request, each within another one: a task in
 * its run, a call in the task that issued it, a run in the call that it answers. They
 * are walked from the first run on. What is in no other part is not reached, so that
 * circles of a hostile file are not met.
 *
 *      run A --> task A1 --> call B --> run B --> task B1
 *                        '-> call C --> run C --> task C1
 */
#include "tool/log/graph_visits.h"

#include "cpt/cpt_path.h"

#include <stdlib.h>

enum { PARTS_MAX = 1 << 24, SEPARATOR_NS = 1 };

enum what { IS_RUN, IS_TASK, IS_CALL };

/* A part; tasks have the numbers of their records, calls and runs those behind them. */
struct part {
    enum what what;
    uint32_t within; /* CPT_DAG_NONE: nothing */
    uint32_t frame;  /* its own; of a call without a name, that of its task */
    uint64_t begin_ns;
    union {
        const struct cpt_dag_run *run;
        const struct cpt_trace_task *task;
        struct cpt_trace_call *call;
    } of;
};

/* The parts within others, in the order of their beginnings. */
struct within {
    uint32_t part;
    uint32_t within;
    uint64_t begin_ns;
};

struct visits {
    const struct cpt_dag_records *records;
    struct cpt_path *path;
    bool is_failed;
    struct part *parts;
    size_t part_count, part_capacity;
    struct within *within; /* part_count of them */
    size_t *next;          /* by part: the first in `within` that was not walked */
    uint64_t arrival_ns;
};

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* --- The parts --- */

static cpt_status add_part(struct visits *visits, struct part part)
{
    void *parts = visits->parts;
    const cpt_status status =
        cpt_alloc_grow(NULL, &parts, &visits->part_capacity, visits->part_count + 1,
                       PARTS_MAX, sizeof *visits->parts);

    visits->parts = parts;
    if (status == CPT_OK) {
        part.frame = CPT_FRAME_NONE;
        visits->parts[visits->part_count++] = part;
    }
    return status;
}

static bool is_part(const struct visits *visits, const struct cpt_trace_call *call)
{
    return call->walk_number < visits->part_count &&
           visits->parts[call->walk_number].what == IS_CALL &&
           visits->parts[call->walk_number].of.call == call;
}

static cpt_status add_call(struct visits *visits, struct cpt_trace_call *call)
{
    const uint32_t issuer =
        call != NULL ? cpt_trace_number(visits->records, call->issuer) : CPT_DAG_NONE;

    if (issuer == CPT_DAG_NONE || is_part(visits, call)) {
        return CPT_OK;
    }
    call->walk_number = (uint32_t)visits->part_count;
    return add_part(visits, (struct part){.what = IS_CALL,
                                          .within = issuer,
                                          .begin_ns = call->issue_ns,
                                          .of.call = call});
}

/* Runs, and the tasks that are in them. */
static cpt_status add_runs(struct visits *visits)
{
    const struct cpt_dag_records *records = visits->records;
    const uint32_t first = (uint32_t)visits->part_count;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->run_count && status == CPT_OK; i++) {
        const struct cpt_dag_run *run = &records->runs[i];
        const bool is_known = i > 0 && run->call != NULL &&
                              is_part(visits, run->call) &&
                              cpt_trace_answers(run->trace, run->call) != 0;

        status =
            add_part(visits, (struct part){.what = IS_RUN,
                                           .within = is_known ? run->call->walk_number
                                                              : CPT_DAG_NONE,
                                           .begin_ns = run->trace->arrival_ns,
                                           .of.run = run});
    }
    for (size_t i = 0; i < records->task_count; i++) {
        const uint32_t run = records->task_runs != NULL ? records->task_runs[i] : 0;

        visits->parts[i].within = run < records->run_count ? first + run : CPT_DAG_NONE;
    }
    return status;
}

static cpt_status add_parts(struct visits *visits)
{
    const struct cpt_dag_records *records = visits->records;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < records->task_count && status == CPT_OK; i++) {
        records->tasks[i]->walk_number = (uint32_t)i;
        status = add_part(visits, (struct part){.what = IS_TASK,
                                                .begin_ns = records->tasks[i]->ready_ns,
                                                .of.task = records->tasks[i]});
    }
    for (size_t i = 0; i < records->task_count && status == CPT_OK; i++) {
        const struct cpt_trace_await *await = records->tasks[i]->last_await;

        for (; await != NULL && status == CPT_OK; await = await->previous) {
            status = add_call(visits, await->call);
        }
    }
    for (size_t i = 0; i < records->arrival_count && status == CPT_OK; i++) {
        status = add_call(visits, records->arrivals[i].call);
    }
    return status == CPT_OK ? add_runs(visits) : status;
}

static int compare(const void *left, const void *right)
{
    const struct within *a = left;
    const struct within *b = right;

    if (a->within != b->within) {
        return a->within < b->within ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->part > b->part) - (a->part < b->part);
}

/* Puts those within one part side by side. */
static cpt_status sort_parts(struct visits *visits)
{
    const size_t count = visits->part_count;

    visits->within = cpt_alloc_array(NULL, NULL, count + 1, sizeof *visits->within);
    visits->next = cpt_alloc_array(NULL, NULL, count + 1, sizeof *visits->next);
    if (visits->within == NULL || visits->next == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        visits->within[i] = (struct within){.part = (uint32_t)i,
                                            .within = visits->parts[i].within,
                                            .begin_ns = visits->parts[i].begin_ns};
        visits->next[i] = count;
    }
    qsort(visits->within, count, sizeof *visits->within, compare);
    for (size_t i = count; i-- > 0;) {
        if (visits->within[i].within != CPT_DAG_NONE) {
            visits->next[visits->within[i].within] = i;
        }
    }
    return CPT_OK;
}

/* The next part within @part, or CPT_DAG_NONE. */
static uint32_t next_within(struct visits *visits, uint32_t part)
{
    const size_t at = visits->next[part];

    if (at >= visits->part_count || visits->within[at].within != part) {
        return CPT_DAG_NONE;
    }
    visits->next[part]++;
    return visits->within[at].part;
}

/* --- Own times --- */

/* What of the time from @from_ns to @to_ns is before the response of its run. */
static uint64_t until(const struct cpt_trace *trace, uint64_t from_ns, uint64_t to_ns)
{
    return between(
        from_ns, to_ns == 0 || to_ns > trace->response_ns ? trace->response_ns : to_ns);
}

/* The steps of @task, and its queues. */
static uint64_t task_ns(const struct cpt_trace *trace,
                        const struct cpt_trace_task *task)
{
    const struct cpt_trace_await *await = task->last_await;
    uint64_t own_ns = until(trace, task->ready_ns, task->start_ns);
    uint64_t end_ns = task->end_ns;

    if (task->start_ns == 0) { /* it never did */
        return 0;
    }
    for (; await != NULL; await = await->previous) {
        if (await->resume_ns != UINT64_MAX) {
            own_ns += until(trace, cpt_trace_over_ns(await), await->resume_ns) +
                      until(trace, await->resume_ns, end_ns);
        }
        end_ns = await->block_ns;
    }
    return own_ns + until(trace, task->start_ns, end_ns);
}

/* The run of call @number, if it is known. */
static const struct cpt_trace *run_of(const struct visits *visits, uint32_t number)
{
    const size_t at = visits->next[number];

    return at < visits->part_count && visits->within[at].within == number
               ? visits->parts[visits->within[at].part].of.run->trace
               : NULL;
}

/* --- The sequence --- */

static cpt_status put(struct visits *visits, uint32_t frame, uint64_t ns)
{
    return cpt_path_append_ns(visits->path, frame, ns);
}

static cpt_status put_kind(struct visits *visits, uint32_t above, struct cpt_bytes name,
                           unsigned kind, uint64_t ns)
{
    uint32_t frame = above;
    const cpt_status status =
        cpt_path_frame_add(visits->path, above, name, kind, &frame);

    return status == CPT_OK ? put(visits, frame, ns) : status;
}

/* Labels the last segment with the time since the request began. */
static cpt_status mark(struct visits *visits, uint64_t ns)
{
    return cpt_path_label_number(visits->path, CPT_LABEL_BEGIN,
                                 between(visits->arrival_ns, ns));
}

/* A run has the frame of its call if that has its name, as in a critical path. */
static cpt_status enter_run(struct visits *visits, struct part *part, uint32_t above)
{
    const struct cpt_trace *trace = part->of.run->trace;
    cpt_status status = CPT_OK;

    part->frame = above;
    if (above == CPT_FRAME_NONE ||
        !cpt_bytes_equal(cpt_path_frame_name(visits->path, above), trace->entry)) {
        status = cpt_path_frame_add(visits->path, above, trace->entry, CPT_KIND_WORK,
                                    &part->frame);
    }
    if (status == CPT_OK) {
        status = put(
            visits, part->frame,
            until(trace, trace->arrival_ns,
                  trace->dispatch_ns != 0 ? trace->dispatch_ns : trace->arrival_ns) +
                SEPARATOR_NS);
    }
    if (status == CPT_OK && above == CPT_FRAME_NONE && visits->is_failed) {
        status =
            cpt_path_label_name(visits->path, CPT_LABEL_STATUS, cpt_bytes_of("error"));
    }
    return status;
}

static cpt_status enter_task(struct visits *visits, struct part *part, uint32_t above)
{
    const struct cpt_trace *trace = visits->parts[part->within].of.run->trace;
    const cpt_status status = cpt_path_frame_add(
        visits->path, above, part->of.task->name, CPT_KIND_WORK, &part->frame);

    return status == CPT_OK
               ? put(visits, part->frame, task_ns(trace, part->of.task) + SEPARATOR_NS)
               : status;
}

/* A call of another service. */
static cpt_status enter_remote(struct visits *visits, struct part *part,
                               uint64_t wait_ns, const struct cpt_trace *run)
{
    const struct cpt_trace_call *call = part->of.call;
    const uint64_t run_ns = run != NULL ? run->response_ns - run->arrival_ns : 0;
    const unsigned kind = run != NULL                         ? CPT_KIND_NETWORK
                          : call->outcome == CPT_CALL_TIMEOUT ? CPT_KIND_TIMEOUT
                                                              : CPT_KIND_BLIND_SPOT;
    cpt_status status = put_kind(visits, part->frame, cpt_bytes_of(""), kind,
                                 between(run_ns, wait_ns) + SEPARATOR_NS);

    if (status == CPT_OK) {
        status = mark(visits, call->issue_ns);
    }
    if (status == CPT_OK &&
        (call->status.bytes > 0 || call->outcome == CPT_CALL_TIMEOUT ||
         call->reason == CPT_REASON_FAILED)) {
        status =
            cpt_path_label_name(visits->path, CPT_LABEL_STATUS, cpt_bytes_of("error"));
    }
    return status;
}

static cpt_status enter_call(struct visits *visits, uint32_t number, uint32_t above)
{
    struct part *part = &visits->parts[number];
    const struct cpt_trace_call *call = part->of.call;
    const struct cpt_trace *trace =
        visits->parts[visits->parts[part->within].within].of.run->trace;
    const uint64_t wait_ns = until(trace, call->issue_ns, call->arrive_ns);
    cpt_status status = CPT_OK;

    part->frame = above;
    switch (call->outcome) {
    case CPT_CALL_LOCK:
        return put_kind(visits, above, call->name, CPT_KIND_LOCK, wait_ns);
    case CPT_CALL_KIND:
        return put_kind(visits, above, call->name, call->kind, wait_ns);
    default:
        break;
    }
    if (call->name.bytes > 0) {
        status = cpt_path_frame_add(visits->path, above, call->name, CPT_KIND_WORK,
                                    &part->frame);
    }
    if (status != CPT_OK || call->outcome == CPT_CALL_COMPONENT) {
        return status;
    }
    return call->outcome == CPT_CALL_LOCAL
               ? put(visits, part->frame, wait_ns)
               : enter_remote(visits, part, wait_ns, run_of(visits, number));
}

static cpt_status enter(struct visits *visits, uint32_t number)
{
    struct part *part = &visits->parts[number];
    const uint32_t above = part->within != CPT_DAG_NONE
                               ? visits->parts[part->within].frame
                               : CPT_FRAME_NONE;

    switch (part->what) {
    case IS_RUN:
        return enter_run(visits, part, above);
    case IS_TASK:
        return enter_task(visits, part, above);
    default:
        return enter_call(visits, number, above);
    }
}

/* Puts what of its task stands behind a call, and says when that ended. */
static cpt_status leave(struct visits *visits, const struct part *part)
{
    cpt_status status = CPT_OK;

    if (part->what == IS_CALL && (part->of.call->outcome == CPT_CALL_REMOTE ||
                                  part->of.call->outcome == CPT_CALL_TIMEOUT)) {
        status = put(visits, visits->parts[part->within].frame, SEPARATOR_NS);
        if (status == CPT_OK && part->of.call->arrive_ns != 0) {
            status = mark(visits, part->of.call->arrive_ns);
        }
    }
    return status;
}

static cpt_status walk(struct visits *visits, uint32_t first)
{
    uint32_t at = first;
    cpt_status status = enter(visits, at);

    while (status == CPT_OK && at != CPT_DAG_NONE) {
        const uint32_t next = next_within(visits, at);

        if (next != CPT_DAG_NONE) {
            at = next;
            status = enter(visits, at);
        } else {
            status = leave(visits, &visits->parts[at]);
            at = visits->parts[at].within;
        }
    }
    return status;
}

cpt_status cpti_graph_visits(const struct cpt_dag_records *records, bool is_failed,
                             struct cpt_path *path)
{
    struct visits visits = {.records = records,
                            .path = path,
                            .is_failed = is_failed,
                            .arrival_ns = records->runs[0].trace->arrival_ns};
    cpt_status status = add_parts(&visits);

    if (status == CPT_OK) {
        status = sort_parts(&visits);
    }
    if (status == CPT_OK && visits.parts != NULL) {
        status = walk(&visits, (uint32_t)(visits.part_count - records->run_count));
    }
    cpt_alloc_free(NULL, visits.parts);
    cpt_alloc_free(NULL, visits.within);
    cpt_alloc_free(NULL, visits.next);
    return status;
}
