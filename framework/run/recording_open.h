/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * recording_open.h - the records of one run, while something reads them
 *
 * A walk fills in structs of cpt_trace.h from what tasks have noted: for the critical
 * path those that it comes to, for a dag all of them. Each task has one struct during a
 * walk; that of a task that has waited is among the notes of its request, and serves
 * each walk again. So there is one walk of a request at a time, with its lock if the
 * request is shared.
 */
#ifndef CPT_RECORDING_OPEN_H
#define CPT_RECORDING_OPEN_H

#include "cpt/cpt_dag_draft.h"
#include "framework/run/request.h"

enum { CPTI_FIRST_STUBS = 8, CPTI_FIRST_TRACES = 32 };

/* A walk over few tasks allocates nothing. */
struct cpti_walk {
    struct cpt_request *request;
    struct cpt_arena *arena;    /* of the stubs that it makes after the first */
    struct cpt_arena own_arena; /* that one, or unused */
    struct cpti_task_trace **traces;
    size_t trace_count;
    size_t trace_capacity;
    size_t stub_count;
    struct cpti_task_trace *first_traces[CPTI_FIRST_TRACES];
    /* cleared when they are taken */
    struct cpti_task_trace first_stubs[CPTI_FIRST_STUBS];
};

/* Begins a walk. If @arena is given, all new structs lie there, and outlive it. */
void cpti_walk_init(struct cpti_walk *walk, struct cpt_request *request,
                    struct cpt_arena *arena);
void cpti_walk_deinit(struct cpti_walk *walk);

/* The walk knows the tasks that have waited. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_walk_add_waited(struct cpti_walk *walk);

/* Task @number, a stub if the walk has not come to it, or NULL without memory. */
struct cpt_trace_task *cpti_walk_task(struct cpti_walk *walk, uint32_t number);

/* Fills it in; @context is the walk. See struct cpt_trace.open_task. */
cpt_status cpti_walk_open(void *context, struct cpt_trace_task *task);

/* The most records that the drags of a path are made of: tasks and their inputs, calls,
 * waits, and what came for these. So what is done before the answer is sent, with the
 * lock, is bounded: a few milliseconds, and as many megabytes (docs/benchmarks.md). */
enum { CPTI_DRAG_RECORDS_MAX = 20000 };

/*
 * All records of the request of @walk, whose runs are calls; they lie in @arena, among
 * the notes of the request, and in the walk, which knows the tasks that have waited.
 * CPT_OK; CPT_NO_MEMORY.
 */
cpt_status cpti_walk_dag(struct cpti_walk *walk, struct cpt_arena *arena,
                         struct cpt_dag_records *records);

/* No task is known any more: the last thing before the lock is given back. */
void cpti_walk_forget(const struct cpti_walk *walk);

/* When task @number began; 0: it queues, and its record is not complete. */
static inline uint64_t cpti_record_start_ns(const struct cpt_request *request,
                                            uint32_t number)
{
    return atomic_load_explicit(&request->records[number].start_ns,
                                memory_order_acquire);
}

/* When it ended; 0: it has not. */
static inline uint64_t cpti_record_end_ns(const struct cpt_request *request,
                                          uint32_t number)
{
    return atomic_load_explicit(&request->records[number].end_ns, memory_order_relaxed);
}

#endif
