/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* run.h - a pending that stands for a run of a plan, of one's own (subgraph.c) or
 * shared with others (shared.c) */
#ifndef CPT_RUN_H
#define CPT_RUN_H

#include "framework/run/request.h"

/* In the arena of the request whose task waits. */
struct cpti_run {
    struct cpt_pending pending;
    /* The path of the run, for a walk that found it on the waiter's. */
    cpt_status (*open)(const struct cpti_run *run, struct cpt_trace_call *call,
                       struct cpt_path *callee);
    struct cpt_request *waiter;
    const struct cpt_plan *plan;
    /* Written before the pending ends, under the waiter's lock. */
    const void *output;   /* NULL: it failed */
    const char *sentence; /* why; as long-lived as the waiter. NULL: nothing to say */
    size_t index;         /* of its input in a batch */
};

/* Begins the wait of @task for @run, called @name: its record, its reference. */
void cpti_run_begin(struct cpti_run *run, struct cpt_task *task, struct cpt_bytes name);

/* Whether @given is the input that @name takes; CPT_INVALID with both in @error. */
cpt_status cpti_run_check_input(const char *name, const struct cpt_value *expected,
                                const struct cpt_value *given, struct cpt_error *error);

/* Ends one that could not begin, with the sentence of @error. */
void cpti_run_fail(struct cpti_run *run, const struct cpt_error *error);

/* What a run came to, for the task that waits for it. */
struct cpti_run_result {
    cpt_status status;
    const void *output;   /* or NULL */
    const char *sentence; /* or NULL */
};

/* Ends it, unless the task has given it up; the waiter's reference stays with the
 * caller. */
void cpti_run_end(struct cpti_run *run, struct cpti_run_result result,
                  uint64_t arrive_ns);

#endif
