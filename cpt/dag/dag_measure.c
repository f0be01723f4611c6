/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag_measure.c - slack and drag of every node
 *
 * Start is known; tail is the same, backwards. Slack follows from both.
 *
 * Drag: only nodes on every critical path have one, so one critical path is enough, and
 * its nodes are numbered along it: the *chain*. If node v takes no time, the latency
 * becomes that of the longest path through v less its duration, or that of the longest
 * path that avoids v, whichever is longer. Nodes are in topological order, so a path
 * avoids v if and only if one of its edges leads from a node before v to a node behind
 * it; and the longest path over an edge (u, w) takes start(u) + duration(u) +
 * duration(w) + tail(w). The beginning and the end of the request count as nodes here.
 *
 *      chain      0 ---- 1 ---- 2 ---- 3 ---- 4         an edge covers the members
 *      edge           u ------------------ w            2 and 3: they are avoided
 *
 * So each edge raises the value of an interval of the chain to at least its own. A tree
 * over the chain takes an interval in O(log n) and gives all values at the end. Most
 * edges need not be given to it: no drag is larger than the duration of the longest
 * member, so a path that is shorter than the critical one by as much limits none.
 *
 * Paths that end early avoid all members behind them: for those a running maximum does.
 */
#include "cpt/dag/dag.h"

#include <string.h>

struct measuring {
    const struct cpt_dag *dag;
    uint64_t *tail_ns; /* of each position; CPT_DAG_UNBOUNDED: it is not needed */
    uint64_t *next_ns; /* of each position: when the first begins that waits for it */
    uint8_t *flags;    /* of each position */
    uint32_t *until;   /* of each position: members of the chain there or before */
    uint64_t *tree;    /* over the chain: twice as many as members */
    uint64_t *behind;  /* of each member, and one more: of a path without it and the
                          others behind it */
    size_t chain_count;
    uint64_t longest_ns; /* of the members of the chain */
};

/* Marks the nodes before joins that did not wait for all: see cpt_dag.h. */
static void mark_joins(struct measuring *measuring)
{
    const struct cpt_dag *dag = measuring->dag;
    uint8_t *flags = measuring->flags;

    if (dag->shape.spare_count == 0) {
        return;
    }
    for (size_t i = 0; i < dag->shape.spare_count; i++) {
        const uint32_t join = dag->place[dag->shape.spares[i].to];

        flags[dag->place[dag->shape.spares[i].from]] |= CPT_DAG_DRAG_AT_LEAST;
        for (uint32_t j = dag->first[join]; j < dag->first[join + 1]; j++) {
            flags[dag->from[j]] |= CPT_DAG_SLACK_AT_LEAST;
        }
    }
    for (size_t i = dag->shape.node_count; i-- != 0;) {
        for (uint32_t j = dag->first[i]; j < dag->first[i + 1] && flags[i] != 0; j++) {
            flags[dag->from[j]] |= flags[i];
        }
    }
}

/* Marks a critical path, from its end to its beginning. */
static void mark_chain(struct measuring *measuring)
{
    const struct cpt_dag *dag = measuring->dag;
    uint32_t at = dag->end;
    uint32_t next = CPT_DAG_NONE;

    for (; at != CPT_DAG_NONE; at = next) {
        measuring->flags[at] |= CPT_DAG_ON_PATH;
        measuring->chain_count++;
        cpti_raise(&measuring->longest_ns, dag->duration_ns[at]);
        next = CPT_DAG_NONE;
        for (uint32_t j = dag->first[at]; j < dag->first[at + 1]; j++) {
            const uint32_t from = dag->from[j];

            if (dag->finish_ns[from] == cpti_dag_start_ns(dag, at) &&
                (next == CPT_DAG_NONE || dag->order[from] < dag->order[next])) {
                next = from;
            }
        }
    }
    for (size_t i = 0, count = 0; i < dag->shape.node_count; i++) {
        count += (measuring->flags[i] & CPT_DAG_ON_PATH) != 0;
        measuring->until[i] = (uint32_t)count;
    }
}

/* Members @begin to @end - 1 of the chain can be avoided by a path of @path_ns. Without
 * branches, as cpti_raise(). */
static void cover(struct measuring *measuring, size_t begin, size_t end,
                  uint64_t path_ns)
{
    uint64_t *tree = measuring->tree;

    begin += measuring->chain_count;
    end += measuring->chain_count;
    for (; begin < end; begin = (begin + 1) / 2, end /= 2) {
        cpti_raise(&tree[begin], begin % 2 != 0 ? path_ns : 0);
        cpti_raise(&tree[end - 1], end % 2 != 0 ? path_ns : 0);
    }
}

/* How many members of the chain stand before @position. */
static uint32_t members_before(const struct measuring *measuring, size_t position)
{
    return measuring->until[position] -
           ((measuring->flags[position] & CPT_DAG_ON_PATH) != 0);
}

/* The edges to @at: who waits for what, and which members they lead over. */
static void cover_edges(struct measuring *measuring, size_t at)
{
    const struct cpt_dag *dag = measuring->dag;
    const uint64_t start_ns = cpti_dag_start_ns(dag, at);
    const uint64_t tail_ns = measuring->tail_ns[at];
    const bool is_needed = tail_ns != CPT_DAG_UNBOUNDED;
    const uint64_t rest_ns = is_needed ? dag->duration_ns[at] + tail_ns : 0;
    const uint64_t above_ns =
        is_needed ? dag->latency_ns - measuring->longest_ns : UINT64_MAX;

    for (uint32_t j = dag->first[at]; j < dag->first[at + 1]; j++) {
        const uint32_t from = dag->from[j];
        const uint64_t path_ns = dag->finish_ns[from] + rest_ns;
        uint64_t *next_ns = &measuring->next_ns[from];

        *next_ns = *next_ns < start_ns ? *next_ns : start_ns;
        if (path_ns > above_ns) {
            cover(measuring, measuring->until[from], members_before(measuring, at),
                  path_ns);
        }
    }
    if (dag->first[at] == dag->first[at + 1] && rest_ns > above_ns) {
        cover(measuring, 0, members_before(measuring, at), rest_ns);
    }
}

static void cover_all(struct measuring *measuring)
{
    const struct cpt_dag *dag = measuring->dag;
    uint64_t until_ns = 0;

    for (size_t i = 0; i < dag->shape.node_count; i++) {
        cover_edges(measuring, i);
        if (cpti_dag_is_end(dag, i)) {
            cpti_raise(&measuring->behind[measuring->until[i]], dag->finish_ns[i]);
        }
    }
    for (size_t i = 2; i < 2 * measuring->chain_count; i++) {
        cpti_raise(&measuring->tree[i], measuring->tree[i / 2]);
    }
    for (size_t i = 0; i < measuring->chain_count; i++) {
        cpti_raise(&until_ns, measuring->behind[i]);
        cpti_raise(&measuring->tree[measuring->chain_count + i], until_ns);
    }
}

static uint64_t drag_ns(const struct measuring *measuring, size_t position)
{
    const struct cpt_dag *dag = measuring->dag;
    const uint64_t duration_ns = cpti_dag_duration_ns(dag, position);
    const uint64_t avoiding_ns =
        measuring->tree[measuring->chain_count + members_before(measuring, position)];

    return dag->latency_ns - avoiding_ns < duration_ns ? dag->latency_ns - avoiding_ns
                                                       : duration_ns;
}

/* What nothing waits for can be as late as the end of a request that has none. */
static uint64_t free_ns(const struct measuring *measuring, size_t position)
{
    const struct cpt_dag *dag = measuring->dag;
    uint64_t next_ns = measuring->next_ns[position];

    if (cpti_dag_is_end(dag, position) && dag->latency_ns < next_ns) {
        next_ns = dag->latency_ns;
    }
    return next_ns != UINT64_MAX ? next_ns - dag->finish_ns[position]
                                 : CPT_DAG_UNBOUNDED;
}

static void write_measures(const struct measuring *measuring,
                           struct cpt_dag_measure *measures)
{
    const struct cpt_dag *dag = measuring->dag;

    for (size_t i = 0; i < dag->shape.node_count; i++) {
        const uint64_t tail_ns = measuring->tail_ns[i];
        const bool is_needed = tail_ns != CPT_DAG_UNBOUNDED;
        struct cpt_dag_measure *measure = &measures[dag->order[i]];

        measure->start_ns = cpti_dag_start_ns(dag, i);
        measure->tail_ns = is_needed ? tail_ns : 0;
        measure->slack_ns = is_needed ? dag->latency_ns - dag->finish_ns[i] - tail_ns
                                      : CPT_DAG_UNBOUNDED;
        measure->free_ns = free_ns(measuring, i);
        measure->flags = measuring->flags[i] | (is_needed ? 0 : CPT_DAG_NOT_NEEDED);
        measure->drag_ns =
            (measuring->flags[i] & CPT_DAG_ON_PATH) != 0 ? drag_ns(measuring, i) : 0;
    }
}

static cpt_status measure(struct measuring *measuring, struct cpt_dag_measure *measures)
{
    const size_t count = measuring->dag->shape.node_count;
    const struct cpt_alloc *alloc = measuring->dag->alloc;

    measuring->tail_ns = cpt_alloc_array(alloc, NULL, count, sizeof(uint64_t));
    measuring->next_ns = cpt_alloc_array(alloc, NULL, count, sizeof(uint64_t));
    measuring->until = cpt_alloc_array(alloc, NULL, count, sizeof(uint32_t));
    measuring->flags = cpt_alloc_zeroed(alloc, count);
    if (measuring->tail_ns == NULL || measuring->next_ns == NULL ||
        measuring->until == NULL || measuring->flags == NULL) {
        return CPT_NO_MEMORY;
    }
    memset(measuring->next_ns, 0xff, count * sizeof *measuring->next_ns);
    cpti_dag_tails(measuring->dag, measuring->tail_ns);
    mark_joins(measuring);
    mark_chain(measuring);
    measuring->tree =
        cpt_alloc_zeroed(alloc, 2 * measuring->chain_count * sizeof(uint64_t));
    measuring->behind =
        cpt_alloc_zeroed(alloc, (measuring->chain_count + 1) * sizeof(uint64_t));
    if (measuring->tree == NULL || measuring->behind == NULL) {
        return CPT_NO_MEMORY;
    }
    cover_all(measuring);
    write_measures(measuring, measures);
    return CPT_OK;
}

cpt_status cpt_dag_measure(const struct cpt_dag *dag, struct cpt_dag_measure *measures)
{
    struct measuring measuring = {.dag = dag};
    const cpt_status status = measure(&measuring, measures);

    cpt_alloc_free(dag->alloc, measuring.tail_ns);
    cpt_alloc_free(dag->alloc, measuring.next_ns);
    cpt_alloc_free(dag->alloc, measuring.until);
    cpt_alloc_free(dag->alloc, measuring.flags);
    cpt_alloc_free(dag->alloc, measuring.tree);
    cpt_alloc_free(dag->alloc, measuring.behind);
    return status;
}
