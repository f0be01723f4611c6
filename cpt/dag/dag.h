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
    uint64_t *duration_ns; /* of each position; the other arrays lie behind this one */
    uint64_t *finish_ns;   /* of each position: when it ends */
    uint32_t *order;       /* the node at each position */
    uint32_t *place;       /* the position of each node */
    uint32_t *first; /* of each position, and one more: its inputs begin here … */
    uint32_t *from;  /* … in this array of positions, ascending */
    uint32_t end;    /* the position of the last node */
    uint64_t latency_ns;
};

/* How long the node at @position takes. */
static inline uint64_t cpti_dag_duration_ns(const struct cpt_dag *dag, size_t position)
{
    return dag->duration_ns[position];
}

/* When the node at @position begins. */
static inline uint64_t cpti_dag_start_ns(const struct cpt_dag *dag, size_t position)
{
    return dag->finish_ns[position] - dag->duration_ns[position];
}

/* *most_ns becomes @ns if that is more. Without a branch, which would often be
 * mispredicted. */
static inline void cpti_raise(uint64_t *most_ns, uint64_t ns)
{
    *most_ns = *most_ns > ns ? *most_ns : ns;
}

/* Whether the response is complete with the node at @position: that with the latest
 * end, unless the shape names another. */
static inline bool cpti_dag_is_end(const struct cpt_dag *dag, size_t position)
{
    return dag->shape.end == CPT_DAG_NONE || dag->end == position;
}

/* The longest sum of durations from the end of each position to the end of the request,
 * CPT_DAG_UNBOUNDED if it is not needed, into @tail_ns; dag.c. */
void cpti_dag_tails(const struct cpt_dag *dag, uint64_t *tail_ns);

/* Nodes that together become shorter: those of one segment of a path. They are
 * members[first] to members[end - 1] of a list. */
struct cpti_dag_window {
    size_t first;
    size_t end;
    uint64_t drag_ns; /* the result; UINT64_MAX: unknown */
};

struct cpti_dag_member {
    uint32_t position;
    uint64_t less_ns; /* at most its duration */
};

/*
 * By how much the response would come earlier if the members of a window took less_ns
 * less, for each window by itself; dag_windows.c. No position twice in a window. Cost:
 * O((nodes + edges) log windows) if the windows are disjoint in the order of the dag,
 * those of a critical path are; a small multiple of it if not.
 *
 * CPT_OK or CPT_NO_MEMORY.
 */
cpt_status cpti_dag_measure_windows(const struct cpt_dag *dag, const uint64_t *tail_ns,
                                    const struct cpti_dag_member *members,
                                    struct cpti_dag_window *windows, size_t count);

/* cpt_alloc_grow(), inline while there is room. */
static inline cpt_status cpti_dag_grow(const struct cpt_alloc *alloc, void **memory,
                                       size_t *capacity, size_t needed, size_t limit,
                                       size_t element_bytes)
{
    return needed <= *capacity
               ? CPT_OK
               : cpt_alloc_grow(alloc, memory, capacity, needed, limit, element_bytes);
}

/* Room for @count elements at once, or for @limit if that is less, in an array that has
 * none yet. */
static inline cpt_status cpti_dag_reserve(const struct cpt_alloc *alloc, void **memory,
                                          size_t *capacity, size_t count, size_t limit,
                                          size_t element_bytes)
{
    *capacity = count < limit ? count : limit;
    *memory = cpt_alloc_array(alloc, NULL, *capacity, element_bytes);
    return *memory != NULL ? CPT_OK : CPT_NO_MEMORY;
}

struct cpt_dag_draft;
struct cpt_dag_records;
struct cpt_dag_recorded;
struct cpt_dag_line;

/* As cpt_dag_draft_new(), for who needs the nodes and edges only: the name of a frame
 * does not matter, just its kind, and nothing is told of lines; dag_draft.c. */
struct cpt_dag_draft *cpti_dag_draft_new_bare(const struct cpt_alloc *alloc,
                                              uint64_t begin_ns);
bool cpti_dag_draft_is_bare(const struct cpt_dag_draft *draft);

/* Room for these counts in a new @draft, so that it need not grow; dag_draft.c. */
cpt_status cpti_dag_draft_reserve(struct cpt_dag_draft *draft, size_t stretch_count,
                                  size_t link_count);

/* The lines of @draft that have stretches, in the order in which they were begun, to be
 * filled in; NULL if it is bare; dag_draft.c. */
struct cpt_dag_line *cpti_dag_draft_lines(struct cpt_dag_draft *draft);

/* Where the memory of @draft comes from; dag_draft.c. */
const struct cpt_alloc *cpti_dag_draft_alloc(const struct cpt_dag_draft *draft);

/* The first node of stretch @stretch of a finished draft, or of what follows it. */
uint32_t cpti_dag_draft_node(const struct cpt_dag_draft *draft, uint32_t stretch);

/* The nodes of a task or call, in time order: @first to @end - 1. */
struct cpti_dag_place {
    const void *record;
    uint32_t first;
    uint32_t end;
};

/* As cpt_dag_draft_trace(); *places, of *count elements, is allocated as @draft is, and
 * the caller's to free. */
cpt_status cpti_dag_draft_places(struct cpt_dag_draft *draft,
                                 const struct cpt_dag_records *records,
                                 struct cpt_dag_recorded *recorded,
                                 struct cpti_dag_place **places, size_t *count);

#endif
