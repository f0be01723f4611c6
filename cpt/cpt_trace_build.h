/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_trace_build.h - all that is told of a request, as one trace
 *
 * The walk needs the records of one service (cpt_trace.h). Slack, busy times and
 * what-if need those of all services, and what arrived beside the path. From each
 * source they are put together here:
 *
 *      graph logs                    -.   runs
 *      notes of spans, spans alone   -+-> tasks     --> struct cpt_dag_records
 *      requests told by hand, ours   -'   arrivals
 *
 * The structs of tasks, calls and waits, which point at each other, are the caller's; a
 * run is joined to the call that it answers. A build lists them in the memory of one
 * arena. It is bounded, as the records may come from outside: at a limit, and without
 * memory, it takes nothing more, and `status` says why.
 *
 * Threads: one at a time.
 */
#ifndef CPT_TRACE_BUILD_H
#define CPT_TRACE_BUILD_H

#include "cpt/cpt_arena.h"
#include "cpt/cpt_trace.h"

CPT_BEGIN_DECLS

/* --- Records --- */

enum {
    CPT_TRACE_RECORDS_MAX = 1 << 22, /* runs, tasks, waits, calls and arrivals, each */
    CPT_TRACE_BYTES_MAX = 1 << 30    /* of all that is told of a request */
};

/* Something that a task waited for. */
struct cpt_dag_arrival {
    struct cpt_trace_task *waiter;
    struct cpt_trace_task *giver; /* a task, … */
    struct cpt_trace_call *call;  /* … or a call */
    uint64_t arrive_ns;           /* when it was there */
    uint32_t is_input;            /* before the waiter was ready, not in an await */
    uint32_t is_spare;            /* the wait ended without it */
    /* The wait of the waiter; NULL: found by the time. It matters where a task waited
     * several times, and this had come before the first of them. */
    const struct cpt_trace_await *await;
};

/* One service, or a component, at work on the request. */
struct cpt_dag_run {
    const struct cpt_trace *trace;
    struct cpt_trace_call *call; /* of another run: whose callee it is */
    unsigned char evidence;      /* enum cpt_evidence, of its weakest wait */
};

/* All records of a request. All times are of one clock. A run that has a clock of its
 * own is moved so that it arrives when its call was sent; one of spans stays where
 * they put it, and the time before its arrival is the network's. */
struct cpt_dag_records {
    const struct cpt_dag_run *runs; /* the request itself, then its callees */
    size_t run_count;
    struct cpt_trace_task **tasks; /* of all runs, opened, once each */
    const uint32_t *task_runs;     /* the run of each; NULL: all are of the first */
    size_t task_count;
    /* All inputs of all tasks and awaits. May name again what the tasks tell. */
    const struct cpt_dag_arrival *arrivals;
    size_t arrival_count;
};

/* The place of @task in @records, once the walk_number of each says it; UINT32_MAX: it
 * is none of them. */
static inline uint32_t cpt_trace_number(const struct cpt_dag_records *records,
                                        const struct cpt_trace_task *task)
{
    return task != NULL && task->walk_number < records->task_count &&
                   records->tasks[task->walk_number] == task
               ? task->walk_number
               : UINT32_MAX;
}

/* Whether the answer of the run @trace ended @call, and both fit together: else the
 * call is one block. An answer came too late for a call that timed out or was given up,
 * whatever the times of two machines say. */
CPT_API int cpt_trace_answers(const struct cpt_trace *trace,
                              const struct cpt_trace_call *call);

/* When @await was over: what had come before the block did not end it. */
static inline uint64_t cpt_trace_over_ns(const struct cpt_trace_await *await)
{
    return await->arrive_ns > await->block_ns ? await->arrive_ns : await->block_ns;
}

/* --- Clocks --- */

/* By which clock the times of a run were taken. */
enum cpt_trace_clock {
    CPT_TRACE_CLOCK_ALIGNED = 0, /* by its caller's, or aligned with it: they stay */
    CPT_TRACE_CLOCK_OWN = 1, /* by its own: it is moved to where its call was sent */
    /* by its own, but it was said to be its caller's: if it lies outside of its call by
     * more than CPT_TRACE_MOMENT_NS, and fits into it, it is moved to its middle */
    CPT_TRACE_CLOCK_DOUBTED = 2
};

enum { CPT_TRACE_MOMENT_NS = 2000 /* stamps of one moment differ by so much */ };

/* When a run that arrived at @arrival_ns by such a clock, answered at @response_ns, and
 * ended @call, arrives in the time of its caller: all of its times are moved by the
 * difference. */
static inline uint64_t cpt_trace_move(enum cpt_trace_clock clock,
                                      const struct cpt_trace_call *call,
                                      uint64_t arrival_ns, uint64_t response_ns)
{
    const uint64_t sent_ns =
        call->sent_ns > call->issue_ns ? call->sent_ns : call->issue_ns;
    const uint64_t early_ns = call->issue_ns - arrival_ns;
    const uint64_t late_ns = response_ns - call->arrive_ns;
    const uint64_t room_ns =
        (call->arrive_ns - call->issue_ns) - (response_ns - arrival_ns);

    if (clock == CPT_TRACE_CLOCK_DOUBTED) { /* times may be modulo 2^64 */
        return ((int64_t)early_ns > CPT_TRACE_MOMENT_NS ||
                (int64_t)late_ns > CPT_TRACE_MOMENT_NS) &&
                       (int64_t)room_ns >= 0
                   ? call->issue_ns + room_ns / 2
                   : arrival_ns;
    }
    return clock == CPT_TRACE_CLOCK_OWN ? sent_ns : arrival_ns;
}

/* --- Building --- */

struct cpt_trace_list {
    void *items;
    size_t count;
    size_t capacity;
};

/* Set the arena; the rest is zero at first. A copy of it that was made before is what
 * there was then: so what was added since can be taken back. */
struct cpt_trace_build {
    struct cpt_arena *arena;
    cpt_status status; /* why nothing more is taken: CPT_LIMIT or CPT_NO_MEMORY */
    struct cpt_trace_list runs, tasks, task_runs, arrivals;
};

/* Zeroed memory for @count elements; NULL, also if nothing more is taken: `status` says
 * why. */
CPT_API void *cpt_trace_build_take(struct cpt_trace_build *build, size_t count,
                                   size_t element_bytes);

/* The request itself is the first run. Runs have numbers from 0 on. */
CPT_API void cpt_trace_build_run(struct cpt_trace_build *build, struct cpt_dag_run run);
/* @task is of the run @run. */
CPT_API void cpt_trace_build_task(struct cpt_trace_build *build,
                                  struct cpt_trace_task *task, uint32_t run);
CPT_API void cpt_trace_build_arrival(struct cpt_trace_build *build,
                                     const struct cpt_dag_arrival *arrival);

/* What was added; good until something else is. */
CPT_API struct cpt_dag_records
cpt_trace_build_records(const struct cpt_trace_build *build);

CPT_END_DECLS

#endif
