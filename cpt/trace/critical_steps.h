/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * critical_steps.h - the steps of a walk: made by critical.c, turned into segments by
 * critical_steps.c
 *
 * A step is one stretch of the path; the walk notes steps backwards.
 */
#ifndef CRITICAL_STEPS_H
#define CRITICAL_STEPS_H

#include "cpt/cpt_trace.h"
#include "cpt/path/path.h"

#include <stdbool.h>

enum {
    CPTI_STEP_SELF,
    CPTI_STEP_QUEUE,
    CPTI_STEP_ENTRY,
    CPTI_STEP_UNKNOWN,
    CPTI_STEP_ACCEPT_QUEUE,
    CPTI_STEP_CALL,
    CPTI_STEP_CALL_QUEUE
};

/* What a step belongs to. */
union cpti_owner {
    struct cpt_trace_task *task; /* of SELF, QUEUE; of UNKNOWN, else NULL */
    struct cpt_trace_call *call; /* of CALL, CALL_QUEUE */
};

/* Details of a step. */
union cpti_remark {
    const struct cpt_trace_await *await; /* of QUEUE: the wait that it ended; NULL: the
                                            task began after it */
    uint64_t off_cpu_ns;                 /* of SELF */
    uint64_t skip_ns; /* of CALL: left out of its front, being before the block */
};

struct cpti_step {
    union cpti_owner of;
    union cpti_remark with;
    uint64_t duration_ns;
    uint64_t margin_ns; /* CPTI_NO_MARGIN: none */
    /* Of SELF with off_cpu_ns, else not set: */
    const struct cpt_trace_starved *starved; /* NULL: run delay is not measured */
    uint64_t run_delay_ns;                   /* the part of off_cpu_ns */
    unsigned char kind;                      /* CPTI_STEP_… */
};

#define CPTI_NO_MARGIN UINT64_MAX

/* The steps that need no allocation, and the frames that are known by their names'
 * place. The numbers of these, and of slots, fit in a byte. */
enum { CPTI_FIRST_STEPS = 64, CPTI_KNOWN_FRAMES = 64, CPTI_KNOWN_SLOTS = 256 };

/* Steps; a block is four times as large as the one before. */
struct cpti_block {
    struct cpti_block *before; /* is full; NULL: this is the first */
    struct cpti_step *begin;
    struct cpti_step *end;
};

/* A frame of the path, and what it was found by: the name where the record has it. */
struct cpti_known_frame {
    struct cpt_bytes name;
    uint64_t below; /* its parent, and its kind */
    uint32_t frame;
};

struct cpti_steps {
    const struct cpt_alloc *alloc;
    const struct cpt_trace *trace;
    struct cpt_error *error;
    struct cpt_path *path; /* that they become */
    uint64_t drag_ns;      /* of the one that is appended */
    uint64_t mark;         /* of the tasks that the walk has met */
    bool has_hooks;        /* tasks are opened, or measure off-CPU time */
    struct cpti_block *block;
    struct cpti_step *next; /* the first in the block that is free */
    struct cpti_step *end;
    const unsigned char *slots; /* those below, if the path is long */
    size_t known_count;
    unsigned char known_slots[CPTI_KNOWN_SLOTS];          /* 0: free */
    struct cpti_known_frame known[1 + CPTI_KNOWN_FRAMES]; /* the first is none */
    struct cpti_block first_block;
    struct cpti_step first[CPTI_FIRST_STEPS];
};

/*
 * The walk's scratch in a task. walk_mark: that of the last walk that has met it, and 1
 * more if this passed its beginning. walk_word: the index of its frame in the path, or
 * CPT_FRAME_NONE. walk_await: its latest await that the walk has not passed. walk_more:
 * the await that its current step begins with (NULL: the start), and the end of the
 * step in ns; for off-CPU time.
 */

/* Begins a walk. Does not clear what is large, and is written before it is read. */
void cpti_steps_init(struct cpti_steps *steps, const struct cpt_alloc *alloc,
                     const struct cpt_trace *trace, struct cpt_path *path,
                     struct cpt_error *error);

/* Makes room for more steps; at the limit they become segments. */
cpt_status cpti_steps_grow(struct cpti_steps *steps);

/* Opens @task, and begins with its time off the CPU; if need be. */
cpt_status cpti_steps_open(const struct cpti_steps *steps, struct cpt_trace_task *task);

/* Prepares @task when the walk comes to it for the first time. */
static inline cpt_status cpti_steps_meet(const struct cpti_steps *steps,
                                         struct cpt_trace_task *task)
{
    if (task->walk_mark - steps->mark <= 1) {
        return CPT_OK;
    }
    if (steps->has_hooks) {
        const cpt_status status = cpti_steps_open(steps, task);

        if (status != CPT_OK) {
            return status;
        }
    }
    task->walk_mark = steps->mark;
    task->walk_word = CPT_FRAME_NONE;
    task->walk_await = task->last_await;
    return CPT_OK;
}

/* Appends the steps to their path, from the last to the first, and empties them. Errors
 * as of cpt_critical_path(). */
cpt_status cpti_steps_append(struct cpti_steps *steps);

/* Forgets all steps, and frees their memory. */
void cpti_steps_empty(struct cpti_steps *steps);

/* As cpt_critical_path(), with @segments_max in place of CPT_PATH_SEGMENTS_MAX. */
cpt_status cpti_critical_path_within(const struct cpt_alloc *alloc,
                                     const struct cpt_trace *trace,
                                     struct cpt_path *path, size_t segments_max,
                                     struct cpt_error *error);

#endif
