/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag_trace.h - the lines of a draft while it is made of records: added by dag_trace.c,
 * linked by dag_links.c
 *
 * A task or call finds its line by its walk_number; who has none, or another's, is none
 * of the records.
 */
#ifndef DAG_TRACE_H
#define DAG_TRACE_H

#include "cpt/cpt_dag_draft.h"

#include <stdbool.h>

/* The stretches of a task or call: @first to @end - 1. */
struct cpti_traced_line {
    uint32_t first;
    uint32_t end;
};

struct cpti_traced_call {
    struct cpt_trace_call *call;
    struct cpti_traced_line line;
    uint32_t run;  /* its callee's, or CPT_DAG_NONE */
    uint32_t sent; /* the stretch behind which that begins */
};

/* A wait of a task, and the stretch that began when it was over. */
struct cpti_traced_await {
    const struct cpt_trace_await *await;
    uint64_t over_ns;
    uint32_t stretch;
};

struct cpti_traced_task {
    struct cpti_traced_line line;
    size_t first_await; /* in time order */
    size_t await_end;
    bool has_order;       /* its stretches begin one after the other, … */
    bool has_await_order; /* … and its waits were over one after the other */
};

/* What a link needs to know of a stretch. */
struct cpti_traced_stretch {
    uint64_t begin_ns;
    uint64_t end_ns;
    bool is_step;
};

struct cpti_tracing {
    struct cpt_dag_draft *draft;
    const struct cpt_alloc *alloc;
    const struct cpt_dag_records *records;
    struct cpti_traced_task *tasks;
    struct cpti_traced_call *calls;
    size_t call_count, call_capacity;
    uint32_t *accepts; /* of each run: the stretch before its dispatch, or NONE */
    struct cpti_traced_await *awaits;
    size_t await_count, await_capacity;
    struct cpti_traced_stretch *stretches;
    size_t stretch_count, stretch_capacity;
    struct cpt_bytes frame_name; /* of the frame that was needed last, which is often */
    unsigned frame_kind;         /* the next one, too */
    uint32_t frame;
    bool has_order;    /* the stretches of the line so far begin one after the other, */
    uint64_t begin_ns; /* the last one here */
    uint64_t constant_count;
    uint64_t look_count; /* at steps and waits, to find the ends of links … */
    uint64_t looks_max;  /* … and how many there may be */
};

static inline const struct cpt_dag_run *
cpti_tracing_run(const struct cpti_tracing *tracing, uint32_t task)
{
    const struct cpt_dag_records *records = tracing->records;

    return &records->runs[records->task_runs != NULL ? records->task_runs[task] : 0];
}

/* NULL: it is none of the records. */
static inline struct cpti_traced_call *
cpti_tracing_call(const struct cpti_tracing *tracing, const struct cpt_trace_call *call)
{
    return call != NULL && call->walk_number < tracing->call_count &&
                   tracing->calls[call->walk_number].call == call
               ? &tracing->calls[call->walk_number]
               : NULL;
}

/* The step of @own that did something at @at_ns: where two touch, the second one if
 * @is_second. */
uint32_t cpti_tracing_step(struct cpti_tracing *tracing,
                           const struct cpti_traced_task *own, uint64_t at_ns,
                           bool is_second);

/* All links, when all lines are there. CPT_OK; CPT_LIMIT, also if it takes too many
 * looks; CPT_NO_MEMORY. */
cpt_status cpti_tracing_link(struct cpti_tracing *tracing);

#endif
