/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* build.h - a plan while it is made: graph.c (names, values, components), links.c */
#ifndef CPT_BUILD_H
#define CPT_BUILD_H

#include "cpt/cpt_arena.h"
#include "framework/graph/plan.h"

struct cpti_build {
    struct cpt_plan *plan;
    struct cpti_build *outer; /* of the graph that this is a component of, or NULL */
    const char *component;    /* the task whose component is compiled now */
    const struct cpt_graph *graph;
    const char *service;      /* of the outermost graph: it names all tasks */
    struct cpt_names *values; /* the number of a value's name is its slot */
    struct cpt_names *tasks;
    struct cpt_error *error;
    uint32_t *stack;      /* of a search, by task … */
    unsigned char *marks; /* … and what it has seen */
};

#define REFUSE(build, ...) cpt_error_set((build)->error, CPT_INVALID, 0, __VA_ARGS__)

/* Zeroed memory of the plan; NULL if there is none. */
static inline void *cpti_build_take(struct cpti_build *build, size_t count,
                                    size_t bytes)
{
    return cpt_arena_take(build->plan->arena, (count != 0 ? count : 1) * bytes);
}

/* Checks the edges, finds which tasks run, and links each task to those that need what
 * it gives. CPT_OK; CPT_INVALID with the sentence, CPT_NO_MEMORY. */
cpt_status cpti_build_link(struct cpti_build *build);

#endif
