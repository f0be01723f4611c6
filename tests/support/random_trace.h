/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * random_trace.h - the trace of a simulated request
 *
 * A small simulation plays a request nanosecond by nanosecond: tasks become ready when
 * their last input arrives or another task starts them, queue, compute, issue calls,
 * start other tasks, wait for all, for the first or for k of several things (also for
 * calls that another task issued, and for things that arrived long ago), queue again,
 * and end. Many things happen in the same nanosecond, in random order, and take no
 * time. The result is a valid trace: it has all properties that cpt_trace.h requires
 * for the walk.
 *
 * random_trace_lose() takes records away as a limit does; random_trace_skew() moves a
 * stamp as a race does; random_trace_spoil() writes nonsense.
 */
#ifndef RANDOM_TRACE_H
#define RANDOM_TRACE_H

#include "cpt/cpt_trace.h"
#include "tests/support/model_splice.h"

enum {
    RANDOM_TASKS_MAX = 8,
    RANDOM_CALLS_MAX = 20,
    RANDOM_AWAITS_MAX = 40,
    RANDOM_GROUPS_MAX = 4,
    RANDOM_NS_MAX = 200 /* longest request */
};

struct random_call {
    struct model_callee callee;
    int has_path;             /* whether its bytes, if there are any, are a path */
    uint64_t late_elapsed_ns; /* content of the path, if it is known only then */
    int has_late_elapsed;
    char name[24];
};

struct random_trace {
    struct cpt_trace trace;
    struct cpt_trace_task tasks[RANDOM_TASKS_MAX];
    struct cpt_trace_call calls[RANDOM_CALLS_MAX];
    struct cpt_trace_await awaits[RANDOM_AWAITS_MAX];
    struct cpt_trace_group groups[RANDOM_GROUPS_MAX];
    struct random_call extra[RANDOM_CALLS_MAX]; /* of the call with the same index */
    char task_names[RANDOM_TASKS_MAX][24];
    size_t task_count;
    size_t call_count;
    size_t await_count;
};

/* Simulates one. 0: it did not end in time; try again. @made holds pointers into
 * itself, so it must not move. */
int random_trace_make(struct random_trace *made, struct test_random *random);

/* Removes one record; the walk must report the loss. */
void random_trace_lose(struct random_trace *made, struct test_random *random);

/* Makes the ready stamp of one task a little too early. */
void random_trace_skew(struct random_trace *made, struct test_random *random);

/* Writes nonsense into some fields. */
void random_trace_spoil(struct random_trace *made, struct test_random *random);

/* Prints all records, to debug a failed case. */
void random_trace_print(const struct random_trace *made);

#endif
