/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * plan.h - a graph after it was checked: numbers in place of names
 *
 * A *slot* is a value of the graph. Slot and task numbers are indices into the arrays
 * of the plan, which never change after cpt_plan_new(), so that any thread may read
 * them.
 */
#ifndef CPT_PLAN_H
#define CPT_PLAN_H

#include "cpt/cpt_trace.h"
#include "framework/cpt_graph.h"

#include <stdbool.h>

#define CPTI_NO_TASK UINT32_MAX

/* Flags of a number in cpti_plan_step.successors. That task has no other input; it
 * wants this input, but can run without it. */
#define CPTI_ONLY_INPUT (UINT32_C(1) << 31)
#define CPTI_WANTED     (UINT32_C(1) << 30)
#define CPTI_LINK_FLAGS (CPTI_ONLY_INPUT | CPTI_WANTED)

/* One value. */
struct cpti_slot {
    const struct cpt_value *value;
    uint32_t giver; /* the task that gives it; CPTI_NO_TASK: the request's input */
};

/* What every request reads of one task. Apart from the rest, so that those of a large
 * graph fit into the nearest cache: a task is found through one that has ended, so the
 * processor cannot fetch it ahead. */
struct cpti_plan_step {
    cpt_task_fn run;      /* of a component NULL, until the plan is made ready */
    uint32_t *successors; /* tasks that need what it gives, perhaps CPTI_ONLY_INPUT */
    uint32_t name_id;     /* of its frame; see cpti_task_name() */
    uint16_t successor_count; /* each once, so less than CPT_GRAPH_TASKS_MAX */
    bool is_startable;        /* some task may start it */
    bool is_output;           /* what it gives is the answer */
};

/* The rest. */
struct cpti_plan_task {
    uint32_t demand_index;        /* among the tasks that may be started */
    uint32_t missing_input_count; /* at the beginning of a request */
    size_t output_offset;         /* of its value within the outputs of a request */
    bool is_eager;                /* it runs without being started */
    bool is_required;             /* the output cannot be made without it */
    uint32_t starter_count;       /* how many may start it */
    const struct cpt_task_def *def;
    struct cpt_bytes frame_name;         /* "A: A1" */
    const struct cpt_trace_group *group; /* or NULL */
    const struct cpt_plan *component; /* what it runs in place of a function, or NULL */
    uint32_t need_count;
    uint32_t input_count; /* of those it needs and those it wants */
    uint32_t start_count;
    uint32_t *input_slots; /* needs, then wants; own_slots if they fit */
    uint32_t next_cleaned; /* number + 1 of another task whose value has a cleanup */
    uint32_t own_slots[2 * CPT_TASK_VALUES_MAX];
    uint32_t start_slots[CPT_TASK_VALUES_MAX];
};

struct cpt_plan {
    const struct cpt_alloc *alloc;
    struct cpt_arena *arena; /* everything below lies in it */
    const struct cpt_graph *graph;
    struct cpt_bytes service;
    struct cpti_plan_step *steps; /* by the number of a task, as … */
    struct cpti_plan_task *tasks; /* … these */
    uint32_t task_count;
    struct cpti_slot *slots;
    uint32_t slot_count;
    uint32_t output_task;
    uint32_t
        first_cleaned;   /* number + 1 of a task whose value has a cleanup; 0: none */
    size_t output_bytes; /* of the values of all tasks */
    size_t input_bytes;
    uint32_t *first_tasks; /* those that miss nothing when a request begins */
    uint32_t first_task_count;
    struct cpt_names *made_up_names; /* see names.c; what it points to does change */
    uint32_t demand_count;           /* tasks that may be started */
    struct cpti_blocks *blocks;      /* of framework/run; what it points to changes */
    struct cpt_plan *components;     /* compiled with it, which it owns … */
    struct cpt_plan *next_component; /* … linked here */
};

/* The number of @value among the first @count of @slots of a plan, by address, else by
 * name and size; UINT32_MAX if it is none of them. */
uint32_t cpti_plan_slot(const struct cpt_plan *plan, const uint32_t *slots,
                        uint32_t count, const struct cpt_value *value);

/* Compiles @graph, without what running it needs: see cpt_plan_new(), whose errors
 * these are. NULL after an error; destroy it with its components. */
struct cpt_plan *cpti_plan_compile(const struct cpt_graph *graph,
                                   const struct cpt_alloc *alloc,
                                   struct cpt_error *error);
void cpti_plan_destroy(struct cpt_plan *plan);

/* --- names.c --- */

/* The number of a task's name for the rest of the process; 0: there are too many. */
uint32_t cpti_task_name_id(struct cpt_bytes name);

/* Whether @name, which is at most 255 bytes, is one of those that requests of @plan may
 * make up: it was before, or there are not too many yet. */
int cpti_plan_takes_name(const struct cpt_plan *plan, struct cpt_bytes name);

/* The name of that number, good for ever; empty if it is 0. */
struct cpt_bytes cpti_task_name(uint32_t id);

#endif
