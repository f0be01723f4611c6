/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_dag.h - what would help: slack and drag of everything that a request did
 *
 * A path says where the time of a request was. It does not say what a shorter segment
 * would give back, since something else may then delay the request. For that, all that
 * happened must be known, as a directed acyclic graph:
 *
 *   node   an activity that takes time: a step of a task (a task is cut where it
 *          issues a call, where it waits, and where it delivers an output), a
 *          call, the time in a queue or before a lock
 *   edge   the second node could not begin before the first one ended. All
 *          inputs have an edge, not only the one that came last.
 *
 *      A1 3 --> B1 13 ------------\               start  tail  slack  free  drag
 *         \                        \           A1     0    17      0     0     3
 *          `--> A2 1 --> C1 4 ------> A3 4     B1     3     4      0     0     8
 *                                              C1     4     4      8     8     0
 *
 * A node begins as soon as all nodes before it have ended. So queues and other gaps
 * must be nodes with a duration; then each start is the one that was observed.
 *
 *   start   the longest sum of durations on the way to a node
 *   tail    the longest sum on the way from its end to the end of the request
 *   slack   by how much it could take longer without delaying the response:
 *           latency - start - duration - tail ("total float"). 0 on the
 *           critical path.
 *   free    … without delaying anything else ("free float")
 *   drag    by how much the response would come earlier if the node took no
 *           time. 0 for nodes that are off the critical path, never more than the
 *           duration.
 *
 * The nodes of a frame together: no drag of theirs is larger than the gain if all of
 * them took no time, which is never larger than their time on the path. It may be
 * larger than the sum of the drags, so it is computed anew.
 *
 * Joins that do not wait for all: where the first of n calls continues a task, or the
 * k-th, only the inputs that counted have an edge, and the others are *spares*. A spare
 * that was faster would have counted, and an input that was slower would not. So slack
 * before such a join is a least value, and drag before a spare is, too. The flags say
 * so.
 *
 * In order of use: cpt_dag_new, cpt_dag_measure, cpt_dag_frames, cpt_dag_replay for
 * other durations, cpt_dag_free.
 *
 * Threads: a dag is not changed after it was made; any thread may read it. The arrays
 * of its shape are the caller's and stay unchanged until it is freed.
 */
#ifndef CPT_DAG_H
#define CPT_DAG_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

enum {
    CPT_DAG_NODES_MAX = 1 << 24,
    CPT_DAG_EDGES_MAX = 1 << 26,
    CPT_DAG_FRAMES_MAX = 1 << 20
};

/* In the place of a node: there is none. */
#define CPT_DAG_NONE UINT32_MAX

/* A slack or free float without a bound: nothing of the response waits for the node. */
#define CPT_DAG_UNBOUNDED UINT64_MAX

/* What a node is. */
enum cpt_dag_kind {
    CPT_DAG_STEP = 0,   /* a task computes */
    CPT_DAG_CALL = 1,   /* a call to another service, or work outside of tasks */
    CPT_DAG_QUEUE = 2,  /* waits for a worker or a connection */
    CPT_DAG_LOCK = 3,   /* waits for a lock */
    CPT_DAG_WAIT = 4,   /* waits for a timer, or for something that is not known */
    CPT_DAG_NETWORK = 5 /* the way to another service and back */
};

struct cpt_dag_node {
    uint64_t duration_ns; /* at most INT64_MAX */
    uint32_t frame;       /* to whom it belongs: below frame_count */
    uint32_t kind;        /* enum cpt_dag_kind */
};

/* @to could not begin before @from ended. */
struct cpt_dag_edge {
    uint32_t from;
    uint32_t to;
};

/* The caller's description of a dag. */
struct cpt_dag_shape {
    const struct cpt_dag_node *nodes;
    size_t node_count;
    const struct cpt_dag_edge *edges; /* in any order; may repeat */
    size_t edge_count;
    /* Inputs of joins that did not wait for them: not edges, only a mark. */
    const struct cpt_dag_edge *spares;
    size_t spare_count;
    uint32_t end;         /* with this node the response is complete; CPT_DAG_NONE: with
                             the last of all */
    uint32_t frame_count; /* how many frames there are */
};

struct cpt_dag;

/*
 * Checks @shape and puts its nodes in order. @shape may come from outside.
 *
 * CPT_OK; CPT_CORRUPT if an index is out of range, a duration is negative, or the edges
 * form a circle; CPT_LIMIT at a limit above, or if a path takes more than INT64_MAX ns;
 * CPT_NO_MEMORY. *dag is set only on success. Cost: O(nodes + edges).
 */
CPT_API cpt_status cpt_dag_new(const struct cpt_alloc *alloc,
                               const struct cpt_dag_shape *shape, struct cpt_dag **dag,
                               struct cpt_error *error);
CPT_API void cpt_dag_free(struct cpt_dag *dag);

/* The longest path to the end: the latency, if all gaps are nodes. */
CPT_API uint64_t cpt_dag_latency_ns(const struct cpt_dag *dag);

/*
 * The latency if node i took duration_ns[i], and when each node would begin
 * (@start_ns, of node_count elements, or NULL). Every node begins as early as its
 * inputs let it.
 *
 * CPT_OK, CPT_NO_MEMORY, or CPT_LIMIT if a path takes more than INT64_MAX ns.
 */
CPT_API cpt_status cpt_dag_replay(const struct cpt_dag *dag,
                                  const uint64_t *duration_ns, uint64_t *start_ns,
                                  uint64_t *latency_ns);

enum {
    CPT_DAG_ON_PATH = 1,        /* on the critical path that cpt_dag_frames() sums */
    CPT_DAG_SLACK_AT_LEAST = 2, /* a join after it did not wait for all its inputs */
    CPT_DAG_DRAG_AT_LEAST = 4,  /* it comes before a spare, too */
    CPT_DAG_NOT_NEEDED = 8      /* the response did not wait for it */
};

/* What is known of a node. */
struct cpt_dag_measure {
    uint64_t start_ns;
    uint64_t tail_ns; /* 0 if it is not needed */
    uint64_t slack_ns;
    uint64_t free_ns;
    uint64_t drag_ns;
    uint32_t flags; /* CPT_DAG_ON_PATH … */
};

/*
 * Measures all nodes; @measures has node_count elements. If several paths are critical,
 * one of them is marked CPT_DAG_ON_PATH: backwards from the end, through the input with
 * the smallest number.
 *
 * CPT_OK or CPT_NO_MEMORY. Cost: O((nodes + edges) log nodes), without recursion.
 */
CPT_API cpt_status cpt_dag_measure(const struct cpt_dag *dag,
                                   struct cpt_dag_measure *measures);

/* What is known of all nodes of a frame. */
struct cpt_dag_frame {
    uint64_t time_ns;  /* of all its nodes */
    uint64_t path_ns;  /* of those on the critical path: the gain is at most this */
    uint64_t drag_ns;  /* the largest: the gain is at least this */
    uint64_t gain_ns;  /* exact: the latency minus that with all its nodes at 0 */
    uint64_t slack_ns; /* the smallest */
    uint64_t free_ns;  /* the smallest */
    uint64_t node_count;
    uint32_t flags; /* of its nodes, together; CPT_DAG_NOT_NEEDED: of all of them */
};

/*
 * The same for each frame; @frames has frame_count elements, @measures is as
 * cpt_dag_measure() filled it. Cost: O(nodes + edges) for each frame on the path.
 *
 * CPT_OK or CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_dag_frames(const struct cpt_dag *dag,
                                  const struct cpt_dag_measure *measures,
                                  struct cpt_dag_frame *frames);

CPT_END_DECLS

#endif
