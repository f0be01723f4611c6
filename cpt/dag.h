/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag.h - a dag in order: made by dag.c, measured by dag_measure.c
 *
 * A *position* is the number of a node in topological order: every edge leads from a
 * lower position to a higher one.
 */
#ifndef DAG_H
#define DAG_H

#include "cpt/cpt_dag.h"

#include <stdbool.h>

struct cpt_dag {
    const struct cpt_alloc *alloc;
    struct cpt_dag_shape shape;
    uint32_t *order;    /* the node at each position */
    uint32_t *place;    /* the position of each node */
    uint32_t *first;    /* of each position, and one more: its inputs begin here … */
    uint32_t *from;     /* … in this array of positions, ascending */
    uint64_t *start_ns; /* of each position */
    uint32_t end;       /* the position of the last node */
    uint64_t latency_ns;
};

/* How long the node at @position takes. */
static inline uint64_t cpti_dag_duration_ns(const struct cpt_dag *dag, size_t position)
{
    return dag->shape.nodes[dag->order[position]].duration_ns;
}

/* Whether the response is complete with the node at @position: that with the latest
 * end, unless the shape names another. */
static inline bool cpti_dag_is_end(const struct cpt_dag *dag, size_t position)
{
    return dag->shape.end == CPT_DAG_NONE || dag->end == position;
}

struct cpt_dag_draft;

/* Where the memory of @draft comes from; dag_draft.c. */
const struct cpt_alloc *cpti_dag_draft_alloc(const struct cpt_dag_draft *draft);

#endif
