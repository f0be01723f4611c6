/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * critical_steps.h - the steps of a walk: made by critical.c, turned into segments by
 * critical_steps.c
 *
 * A step is one stretch of the path, noted backwards. What it is tells what it is of.
 */
#ifndef CRITICAL_STEPS_H
#define CRITICAL_STEPS_H

#include "cpt/cpt_trace.h"
#include "cpt/path.h"

enum {
    CPTI_STEP_SELF,
    CPTI_STEP_QUEUE,
    CPTI_STEP_CALL,
    CPTI_STEP_CALL_QUEUE,
    CPTI_STEP_UNKNOWN,
    CPTI_STEP_ACCEPT_QUEUE
};

/* Whose time a step is. */
union cpti_owner {
    struct cpt_trace_task *task; /* of SELF, QUEUE, UNKNOWN; NULL: the entry */
    struct cpt_trace_call *call; /* of CALL and CALL_QUEUE */
};

/* What else is to be said of it. */
union cpti_remark {
    const struct cpt_bytes *occupant; /* of QUEUE */
    uint64_t off_cpu_ns;              /* of SELF */
    /* of CALL: left out of its front, as it was before the block */
    uint64_t skip_ns;
};

struct cpti_step {
    union cpti_owner of;
    union cpti_remark with;
    uint64_t duration_ns;
    uint64_t margin_ns; /* if has_margin */
    unsigned char has_margin;
    unsigned char kind; /* CPTI_STEP_… */
};

/* So many need no memory of their own. */
enum { CPTI_FIRST_STEPS = 40 };

struct cpti_steps {
    const struct cpt_alloc *alloc;
    const struct cpt_trace *trace;
    struct cpt_error *error;
    struct cpt_trace_task *touched; /* whose scratch has to be cleared; by walk_next */
    struct cpti_step *all;
    size_t count;
    size_t capacity;
    struct cpti_step first[CPTI_FIRST_STEPS];
};

/* How far the walk knows a task. */
enum { CPTI_WALK_NEW = 0, CPTI_WALK_SEEN = 1, CPTI_WALK_BEGAN = 2 };

/* The walk has come to @task: opens it, unless it has been there before. */
static inline cpt_status cpti_steps_touch(struct cpti_steps *steps,
                                          struct cpt_trace_task *task)
{
    if (task->walk_state != CPTI_WALK_NEW) {
        return CPT_OK;
    }
    if (steps->trace->open_task != NULL) {
        const cpt_status status = steps->trace->open_task(steps->trace->context, task);

        if (status != CPT_OK) {
            return status;
        }
    }
    if (steps->trace->measures_off_cpu) {
        task->walk_step = task->last_await;
        task->walk_step_end_ns = task->end_ns;
    }
    task->walk_state = CPTI_WALK_SEEN;
    task->walk_frame = CPT_FRAME_NONE;
    task->walk_await = task->last_await;
    task->walk_next = steps->touched;
    steps->touched = task;
    return CPT_OK;
}

/* Appends the steps to @path, which is empty: the last one comes first. Errors of
 * cpt_critical_path(). */
cpt_status cpti_steps_append(struct cpti_steps *steps, struct cpt_path *path);

#endif
