/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* run.h - a pending that stands for a run of a plan: a component of the request, or
 * shared work */
#ifndef CPT_RUN_H
#define CPT_RUN_H

#include "framework/run/request.h"

/* In the arena of the request whose task waits. */
struct cpti_run {
    struct cpt_pending pending;
    /* The path of the run, for the walk of a waiter that comes to it. */
    cpt_status (*open)(const struct cpti_run *run, struct cpt_trace_call *call,
                       struct cpt_path *callee);
    struct cpt_request *waiter;
    const struct cpt_plan *plan;
    /* Written before the pending ends, under the waiter's lock. */
    const void *output;   /* NULL: it failed */
    const char *sentence; /* why it failed, or NULL; lives as long as the waiter */
    size_t index;         /* of its input in a batch */
    bool is_component;    /* not shared work */
};

/* Makes @run a pending of @task, called @name, with its record and its reference. The
 * second one is for the caller that has the lock: it must take the reference itself,
 * and give @call, the record, or NULL if there is none. */
void cpti_run_begin(struct cpti_run *run, struct cpt_task *task, struct cpt_bytes name);

void cpti_run_begin_locked(struct cpti_run *run, struct cpt_task *task,
                           struct cpt_trace_call *call, uint64_t now_ns);

/* Whether @given is the input that @name takes; CPT_INVALID with both in @error. */
cpt_status cpti_run_check_input(const char *name, const struct cpt_value *expected,
                                const struct cpt_value *given, struct cpt_error *error);

/* Ends one that could not begin, with the sentence of @error; gives its reference
 * back. */
void cpti_run_fail(struct cpti_run *run, const struct cpt_error *error);

/*
 * @task has launched @run. Who wakes a thread may lose the processor to it. If the run
 * has ended by now, the task did not compute meanwhile: it has waited, and the time is
 * the run's. If it has not, what the task does until it waits is its own.
 */
void cpti_run_note_launch(const struct cpti_run *run, struct cpt_task *task);

/* The result of a run, for the task that waits for it. */
struct cpti_run_result {
    cpt_status status;
    const void *output;                         /* or NULL */
    const char *sentence;                       /* or NULL */
    const struct cpti_failed_call *failed_call; /* of the run: copied; or NULL */
};

/* Ends it, unless the task has given it up. The caller keeps the reference of @run. */
void cpti_run_end(struct cpti_run *run, struct cpti_run_result result,
                  uint64_t arrive_ns);

/* The path of the run that @call, of a waiter, is about; as open_callee. */
cpt_status cpti_run_open(struct cpt_trace_call *call, struct cpt_path *callee);

#endif
