/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * random_graph.h - graphs whose tasks follow scripts drawn from a seed
 *
 * A script is a few steps. A step computes for a while, starts sleeps and other tasks,
 * computes again, and then waits for one of them, for all, for all with a deadline, or
 * for nothing. The output of a task depends on its inputs alone, so every run of a
 * graph with the same input gives the same output, or fails, on any executor, traced or
 * not.
 *
 * Threads: one graph at a time in a process (its tasks are static functions); its
 * requests may run on any.
 */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "framework/cpt_graph.h"

#include <stdatomic.h>

enum { RANDOM_TASKS_MAX = 12, RANDOM_STEPS_MAX = 3, RANDOM_PARTS_MAX = 3 };

enum random_wait { WAIT_NOTHING, WAIT_ONE, WAIT_ALL, WAIT_ALL_FOR };

struct random_step {
    uint64_t before_ns; /* computes for this time, starts its parts, … */
    uint64_t after_ns;  /* … and computes for this time */
    unsigned part_count;
    uint64_t sleep_ns[RANDOM_PARTS_MAX]; /* a sleep, if start is NULL */
    const struct cpt_value *start[RANDOM_PARTS_MAX];
    enum random_wait wait;
    uint64_t timeout_ns;
};

struct random_script {
    unsigned step_count;
    struct random_step steps[RANDOM_STEPS_MAX];
};

/* Work elsewhere, in memory of its request. */
struct random_work {
    atomic_int is_told;
};

/* What happens at the edges of a script; all may be NULL. */
struct random_hooks {
    void (*spend)(uint64_t duration_ns);
    void (*begin_step)(unsigned task);
    /* What it waits for from now on; WAIT_NOTHING: the task has ended. */
    void (*end_step)(unsigned task, enum random_wait wait);
    void (*begin_start)(unsigned task, unsigned started);
    void (*begin_sleep)(unsigned task, unsigned sleep, uint64_t duration_ns);
    /* Completes @pending, from any thread, in about @duration_ns, or sooner once @work
     * is told to stop; that is good until then. NULL: there are only sleeps. */
    void (*defer)(struct cpt_pending *pending, const struct random_work *work,
                  uint64_t duration_ns);
    /* Whether this step of the task is to cancel what was started last. */
    int (*cancels)(unsigned task);
    /* Whether this step of the task's script is to fail in a request with this input.
     * NULL: none does, and requests have no input. */
    int (*fails)(uint64_t input, unsigned task, unsigned step);
    /* Waits for @pending itself, or returns CPT_WAITING: then the task awaits it. */
    cpt_status (*wait)(struct cpt_task *task, struct cpt_pending *pending);
};

struct random_graph {
    struct cpt_graph graph;
    struct cpt_task_def tasks[RANDOM_TASKS_MAX];
    struct random_script scripts[RANDOM_TASKS_MAX];
    unsigned task_count;
    struct random_hooks hooks;
};

/* The graph whose tasks run; random_graph_make() fills it. */
extern struct random_graph random_graph;

/* Draws a graph. Its longest wait is about @scale_ns. If there is a hook `fails`, the
 * graph has an input, a uint64_t. */
void random_graph_make(uint64_t *random, uint64_t scale_ns);

/* The interpreter: what a request of the graph gives if nothing fails, from the graph
 * alone. */
uint64_t random_expected(void);

/* Whether it may give @output if some of its tasks fail: those that only want what they
 * give go on without it. */
int random_may_give(uint64_t output);

#endif
