/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif.h - recorded requests, packed, and a plan for them
 *
 *      whatif.c          requests of dags: what is recorded
 *      whatif_term.c     terms, as people write them
 *      whatif_edges.c    edges that a plan cuts or adds
 *      whatif_view.c     a request with the changes of a plan
 *      whatif_queue.c    its queues, replayed by whatif_schedule.c
 *      whatif_plan.c     a plan, made of terms
 *      whatif_run.c      what comes out: latencies, times by frame, paths
 *      whatif_range.c    and what could have, where who waited is inferred
 *
 * A file uses only those above it.
 *
 * The nodes of all requests lie one after another, those of a request in topological
 * order. A *position* is the number of a node in its request. The inputs of a position
 * are compressed rows: from[first[position]] … from[first[position + 1] - 1].
 */
#ifndef WHATIF_H
#define WHATIF_H

#include "cpt/cpt_whatif.h"

#include "cpt/dag/doubt.h"

#include <stdbool.h>

/* In whatif_node.frame: another node of the same occurrence comes before. */
#define WHATIF_NOT_FIRST UINT32_C(0x80000000)

/* A task or a call. */
struct whatif_line {
    uint32_t frame; /* that has its name */
    uint32_t begin; /* the positions of its first and last nodes */
    uint32_t end;
    uint32_t caller; /* as in struct cpt_dag_line */
    uint32_t is_call;
    uint32_t outcome;
    uint32_t occurrence;  /* as there */
    uint32_t executor;    /* its number + 1; 0: none, or of a call */
    uint32_t queue_frame; /* its time in the queue of the executor, if it has one */
    uint32_t
        own; /* where a doubt is: the position of the first node of its occurrence's
                     work, or of its way or work if it is a call; CPT_DAG_NONE: none */
};

struct whatif_request {
    size_t node;   /* where its nodes begin, … */
    size_t first;  /* … its rows, one more than nodes, … */
    size_t edge;   /* … its edges … */
    size_t line;   /* … and its lines, … */
    size_t moment; /* … and what its doubt has of these, if it has one */
    size_t holder;
    uint32_t moment_count;
    uint32_t node_count;
    uint32_t edge_count;
    uint32_t line_count;
    uint32_t end; /* position; CPT_DAG_NONE: the last to end */
    uint64_t arrival_ns;
    uint64_t latency_ns;
};

struct whatif_frame {
    cpt_name_id name;
    uint32_t kind;
    uint64_t node_count; /* 0: only a replay of queues may need it */
};

struct cpt_whatif {
    const struct cpt_alloc *alloc;
    struct cpt_names *names;
    struct cpt_names *executors; /* "B: pool" */
    uint32_t *numbers;           /* of the frames + 1, by name and kind */
    size_t number_count, number_capacity;
    struct whatif_frame *frames;
    size_t frame_count, frame_capacity;
    struct whatif_request *requests;
    size_t request_count, request_capacity;
    uint64_t *duration_ns; /* of each node, like the next three */
    size_t duration_capacity;
    uint32_t *frame; /* with WHATIF_NOT_FIRST */
    size_t frame_of_capacity;
    uint32_t *line; /* of its request */
    size_t line_of_capacity;
    uint32_t *next; /* position of the next node of its occurrence, or CPT_DAG_NONE */
    size_t next_capacity;
    size_t node_count;
    uint32_t *first;
    size_t first_count, first_capacity;
    uint32_t *from;
    size_t edge_count, edge_capacity;
    struct whatif_line *lines;
    size_t line_count, line_capacity;
    struct cpt_doubt_moment *moments;
    size_t moment_count, moment_capacity;
    struct cpt_doubt_holder *holders;
    size_t holder_count, holder_capacity;
    uint32_t node_max; /* of one request, like the next three */
    uint32_t edge_max;
    uint32_t line_max;
    uint32_t moment_max;
};

/* What is replayed: the dag of a request, or one with other edges. */
struct whatif_view {
    const struct whatif_request *request;
    const uint32_t *first;
    const uint32_t *from;
    const uint32_t *order; /* of the positions; NULL: as they are */
    const uint64_t *duration_ns;
    const uint64_t *wait_ns; /* for a worker, before the node; NULL: no node waits */
};

/* The request that was replayed last. Its view may be scratch of the plan. */
struct whatif_replay {
    size_t request; /* SIZE_MAX: none */
    struct whatif_view view;
    const uint64_t *finish_ns; /* of each position */
    uint64_t latency_ns;
    uint32_t end; /* position */
};

/* A line in the path that is being made. */
struct whatif_drawn {
    uint32_t frame; /* of the path */
    uint32_t depth; /* lines above it, and itself; 0: it is not there yet */
};

/* A term that changes edges: what it matches, by frame. */
struct whatif_edge_term {
    const struct cpt_whatif_term *term;
    const unsigned char *is_from;
    const unsigned char *is_to;
};

struct whatif_queues;

struct cpt_whatif_plan {
    const struct cpt_whatif *whatif;
    struct cpt_whatif_term *terms;
    size_t term_count;
    uint32_t *first_op; /* of each frame, and one more: the changes of its time … */
    uint32_t *ops;      /* … by number of their terms */
    size_t op_count;
    bool has_times;
    const struct cpt_whatif_share *given; /* of the lines of one request; or NULL */
    size_t given_request;
    struct whatif_edge_term edge_terms[CPT_WHATIF_TERMS_MAX];
    size_t edge_term_count;
    unsigned char *marks;         /* of the edge terms */
    struct whatif_queues *queues; /* NULL: queues stay */
    struct cpt_whatif_counts counts;
    struct whatif_replay last;
    uint64_t *duration_ns; /* scratch, of a request */
    uint64_t *finish_ns;
    uint32_t *chain;
    struct whatif_drawn *drawn;      /* of each line */
    struct cpti_doubt_share *shares; /* of each line; NULL: no request has a doubt */
    struct cpti_doubt_time *moments;
    struct whatif_edges *edges; /* NULL: no term changes edges */
};

/* --- whatif.c: the requests --- */

/* Where the name of @frame is. */
static inline struct cpt_dag_name whatif_name(const struct cpt_whatif *whatif,
                                              size_t frame)
{
    return (struct cpt_dag_name){
        cpt_names_at(whatif->names, whatif->frames[frame].name),
        whatif->frames[frame].kind};
}

/* The dag of @request as it was recorded. */
struct whatif_view cpti_whatif_recorded(const struct cpt_whatif *whatif,
                                        size_t request);

/* Whether the term of workers @term is about executor @executor. */
bool cpti_whatif_has_executor(const struct cpt_whatif *whatif,
                              const struct cpt_whatif_term *term, size_t executor);

/* --- whatif_edges.c: what changes edges --- */

/* Scratch for the requests of @plan. */
cpt_status cpti_whatif_edges_new(struct cpt_whatif_plan *plan);
void cpti_whatif_edges_free(struct cpt_whatif_plan *plan);

/* Whether edge term @term does anything in a request of the plan's. */
cpt_status cpti_whatif_edges_match(struct cpt_whatif_plan *plan, size_t term,
                                   bool *has_match);

/* Changes the edges of @view. CPT_OK or CPT_NO_MEMORY. */
cpt_status cpti_whatif_edges_change(struct cpt_whatif_plan *plan,
                                    struct whatif_view *view);

/* --- whatif_view.c: a request with the changes of a plan --- */

/* The dag of @request with the changes of its times and edges. CPT_OK or
 * CPT_NO_MEMORY. */
cpt_status cpti_whatif_view(struct cpt_whatif_plan *plan, size_t request,
                            struct whatif_view *view);

/* When each position of @view ends, without waiting for workers. False: a path is too
 * long. */
bool cpti_whatif_finish(const struct whatif_view *view, uint64_t *finish_ns,
                        uint64_t *latency_ns, uint32_t *end);

/* The last position to end, the first of several. */
uint32_t cpti_whatif_last_to_end(const struct whatif_view *view,
                                 const uint64_t *finish_ns);

/* --- whatif_queue.c: queues that are replayed, those of all requests together --- */

cpt_status cpti_whatif_queues_new(struct cpt_whatif_plan *plan);
void cpti_whatif_queues_free(struct cpt_whatif_plan *plan);

/* What the replay found out about @request: @view's waits, and when positions end. */
const uint64_t *cpti_whatif_queues_result(const struct cpt_whatif_plan *plan,
                                          size_t request, struct whatif_view *view);

/* Whether it ends later than 2^63 - 1 ns, so that its times are cut. */
bool cpti_whatif_queues_is_too_long(const struct cpt_whatif_plan *plan, size_t request,
                                    uint64_t latency_ns);

#endif
