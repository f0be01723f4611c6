/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_dag_draft.h - from what was recorded of a request to its dag
 *
 * Records have times; a dag (cpt_dag.h) has durations. A draft takes *stretches*, the
 * times in which a task or call did one thing, in *lines*, one for each task or call,
 * and *links*: what stretch `to` did from to_ns on could not begin before stretch
 * `from` had come to from_ns.
 *
 *      line of A1   [ queue ][== step ==|== step ==]      [ queue ][= step =]
 *                                        \ issued         ^ arrived
 *      line of B1                         [ call --------]
 *
 * cpt_dag_draft_finish() cuts the stretches where links leave and arrive: the pieces
 * are the nodes. Where a piece began later than everything before it had ended, it gets
 * a node CPT_DAG_WAIT in front of it. So every node of the dag starts when it was
 * observed to start, and the latency is end_ns - begin_ns, exactly.
 *
 * Stamps may contradict each other, as those of two cores do: a stretch begins at the
 * end of the one before it in its line if that is later, and what a link waits for has
 * come by the time that it arrives.
 *
 * cpt_dag_draft_trace() makes the draft of all that services recorded of a request.
 *
 * Threads: one at a time.
 */
#ifndef CPT_DAG_DRAFT_H
#define CPT_DAG_DRAFT_H

#include "cpt/cpt_dag.h"
#include "cpt/cpt_doubt.h"
#include "cpt/cpt_trace_build.h"

CPT_BEGIN_DECLS

struct cpt_dag_draft;

/* The draft of a request that arrived at @begin_ns; NULL: no memory. */
CPT_API struct cpt_dag_draft *cpt_dag_draft_new(const struct cpt_alloc *alloc,
                                                uint64_t begin_ns);
CPT_API void cpt_dag_draft_free(struct cpt_dag_draft *draft);

/*
 * The number of the frame with that name and enum cpt_dag_kind, which is added if it is
 * new. The name is not copied.
 *
 * CPT_OK, CPT_LIMIT or CPT_NO_MEMORY; CPT_INVALID if there is no such kind.
 */
CPT_API cpt_status cpt_dag_draft_frame(struct cpt_dag_draft *draft,
                                       struct cpt_bytes name, unsigned kind,
                                       uint32_t *frame);

/* Begins another line: the next stretch is its first. Lines are numbered in the order
 * of their first stretches. */
CPT_API void cpt_dag_draft_line(struct cpt_dag_draft *draft);

/* Adds a stretch to the line that was begun last, behind those that it has. Its kind is
 * that of its frame. CPT_OK, CPT_LIMIT or CPT_NO_MEMORY. */
CPT_API cpt_status cpt_dag_draft_stretch(struct cpt_dag_draft *draft, uint32_t frame,
                                         uint64_t begin_ns, uint64_t end_ns,
                                         uint32_t *stretch);

/* One stretch waited for another. */
struct cpt_dag_link {
    uint32_t from;
    uint32_t to;
    uint64_t from_ns;
    uint64_t to_ns;
    uint32_t is_spare; /* a join at to_ns did not wait for it */
};

/* CPT_OK, also if it contradicts the stretches, which is counted; CPT_LIMIT or
 * CPT_NO_MEMORY. */
CPT_API cpt_status cpt_dag_draft_link(struct cpt_dag_draft *draft,
                                      const struct cpt_dag_link *link);

/* A frame: nodes of one kind and name. */
struct cpt_dag_name {
    struct cpt_bytes name;
    uint32_t kind; /* enum cpt_dag_kind */
};

/* A line: one task or one call, whose nodes follow one another; or the time before a
 * process began with a request (cpt_trace.h, dispatch_ns), which is no call. */
struct cpt_dag_line {
    /* Of a task: the one whose queue it waited in, and whose worker ran it. Of a call:
     * the one whose queue it waited in until it was sent. Empty: not known. The nodes
     * of kind CPT_DAG_QUEUE in the line are these waits. */
    struct cpt_bytes executor;
    /* Of a call: the line of the task that issued it. Of a task of a callee or a
     * component: the line of the call that its run answers. CPT_DAG_NONE: of no other.
     * Which of the two it is, is_call says. */
    uint32_t caller;
    uint32_t is_call;
    uint32_t outcome; /* of a call: enum cpt_trace_outcome */
    /* Tasks with the same number are one occurrence: the number of the first one's line
     * + 1. 0: it is one by itself. */
    uint32_t occurrence;
};

/* A dag with names. */
struct cpt_dag_recorded {
    struct cpt_dag_shape shape;
    const struct cpt_dag_name *frames; /* frame_count of them */
    uint64_t contradiction_count;      /* links that were left out */
    uint64_t constant_count; /* runs that did not end their call, or do not fit */
    unsigned evidence;       /* enum cpt_evidence, of the weakest run */
    /* Whose nodes these are: node i is of lines[node_lines[i]]. The nodes of a line
     * have consecutive numbers, in time order. */
    const uint32_t *node_lines; /* node_count of them */
    const struct cpt_dag_line *lines;
    size_t line_count;
    const struct cpt_doubt *doubt; /* what else it may have waited for; NULL: not known,
                                      or the records say who waited */
};

/*
 * Makes the nodes. The response was complete at @end_ns, with what stretch @end did
 * until then. @recorded points into @draft, which takes nothing more then.
 *
 * CPT_OK, CPT_LIMIT or CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_dag_draft_finish(struct cpt_dag_draft *draft, uint32_t end,
                                        uint64_t end_ns,
                                        struct cpt_dag_recorded *recorded);

/*
 * Adds all of the records to @draft, which is new, and finishes it. Uses the scratch of
 * the tasks, like the walk. A call with a run becomes that run, and what is left of its
 * time after the callee's answer is a node CPT_DAG_NETWORK; other calls, and those that
 * are shorter than their run, are nodes.
 *
 * As cpt_dag_draft_finish(); CPT_INVALID if no task of the first run answered.
 */
CPT_API cpt_status cpt_dag_draft_trace(struct cpt_dag_draft *draft,
                                       const struct cpt_dag_records *records,
                                       struct cpt_dag_recorded *recorded);

/* Takes the dag of a request and its latency; all is good until it returns. */
typedef cpt_status (*cpt_dag_visit_fn)(void *context, const struct cpt_dag *dag,
                                       const struct cpt_dag_recorded *recorded,
                                       uint64_t latency_ns);

/*
 * Calls @visit with the dag of @records. As cpt_dag_draft_trace() and cpt_dag_new();
 * what @visit returned.
 */
CPT_API cpt_status cpt_dag_draft_visit(const struct cpt_alloc *alloc,
                                       const struct cpt_dag_records *records,
                                       cpt_dag_visit_fn visit, void *context);

CPT_END_DECLS

#endif
