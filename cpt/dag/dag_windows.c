/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag_windows.c - the drag of segments of a path: of several nodes together
 *
 * A segment is cut into nodes where a call is issued or another task's output branches,
 * so its drag is not that of a node. Its *window* is the part of the topological order
 * from its first node to its last one. Other nodes may lie in between.
 *
 *      order      0   1   2   3   4   5   6   7   8
 *      segment            s       s   s                  window: 2 to 5
 *      paths      ------------------------->     (a)  over it by one edge
 *                 ------->|------>|------------->(b)  into it and out of it
 *
 * With the segment's nodes made shorter, what is before the window begins and ends as
 * before, and what is behind it has the same tails. So the new latency is the largest
 * of: (a) of each edge (u, w) over the window, finish(u) + duration(w) + tail(w);
 * (b) of each edge from u inside to w behind, finish'(u) + duration(w) + tail(w), where
 * finish' is found by going through the window again. docs/model.md has the proof.
 *
 * Segments of a critical path are parts of one chain, so in any topological order their
 * windows are disjoint, and all are gone through in one sweep: each edge once, plus
 * O(log windows) if it leads over one. Windows that are not disjoint take more sweeps,
 * at most SWEEPS_MAX: of the attribution that charges blocked time, or of stamps that
 * contradict each other.
 */
#include "cpt/dag/dag.h"

#include <stdlib.h>
#include <string.h>

enum { SWEEPS_MAX = 16 };

/* The window of a segment in the order: @begin to @end, both included. */
struct range {
    uint32_t begin;
    uint32_t end;
    uint64_t longest_ns; /* of the paths that leave it, with its members shortened */
    size_t number;       /* of the window */
};

struct sweep {
    const struct cpt_dag *dag;
    const uint64_t *tail_ns;
    uint64_t *less_ns;    /* by how much each position is shorter in its range */
    uint64_t *changed_ns; /* when it ends then; only in ranges */
    uint32_t *began;      /* of each position: ranges that begin there or before */
    struct range *ranges; /* all, by their begin */
    struct range *chosen; /* those of this sweep: disjoint */
    size_t range_count, chosen_count;
    uint64_t *tree; /* over the chosen: the longest path over each; the arrays of
                       numbers above lie behind it, and the chosen behind the ranges */
};

static int compare_ranges(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;

    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    return (a->end > b->end) - (a->end < b->end);
}

/* The ranges of all windows with members, by their begin: as a rule they come so. */
static void list_ranges(struct sweep *sweep, const struct cpti_dag_member *members,
                        const struct cpti_dag_window *windows, size_t count)
{
    bool is_in_order = true;

    for (size_t i = 0; i < count; i++) {
        struct range range = {UINT32_MAX, 0, 0, i};

        for (size_t j = windows[i].first; j < windows[i].end; j++) {
            const uint32_t position = members[j].position;

            range.begin = position < range.begin ? position : range.begin;
            range.end = position > range.end ? position : range.end;
        }
        if (range.begin > range.end) {
            continue;
        }
        is_in_order =
            is_in_order && (sweep->range_count == 0 ||
                            sweep->ranges[sweep->range_count - 1].begin < range.begin);
        sweep->ranges[sweep->range_count++] = range;
    }
    if (!is_in_order) {
        qsort(sweep->ranges, sweep->range_count, sizeof *sweep->ranges, compare_ranges);
    }
}

/* Takes disjoint ranges out of those that are left. */
static void choose(struct sweep *sweep)
{
    size_t kept = 0;

    sweep->chosen_count = 0;
    for (size_t i = 0; i < sweep->range_count; i++) {
        const struct range range = sweep->ranges[i];

        if (sweep->chosen_count == 0 ||
            range.begin > sweep->chosen[sweep->chosen_count - 1].end) {
            sweep->chosen[sweep->chosen_count++] = range;
        } else {
            sweep->ranges[kept++] = range;
        }
    }
    sweep->range_count = kept;
}

/* A path of @path_ns leads over the chosen ranges @begin to @end - 1. */
static void cover(struct sweep *sweep, size_t begin, size_t end, uint64_t path_ns)
{
    begin += sweep->chosen_count;
    end += sweep->chosen_count;
    for (; begin < end; begin /= 2, end /= 2) {
        if (begin % 2 != 0) {
            cpti_raise(&sweep->tree[begin++], path_ns);
        }
        if (end % 2 != 0) {
            cpti_raise(&sweep->tree[--end], path_ns);
        }
    }
}

/* One position: @count ranges begin there or before, and it lies in the last of them if
 * @is_inside. */
static void visit(struct sweep *sweep, uint32_t at, size_t count, bool is_inside)
{
    const struct cpt_dag *dag = sweep->dag;
    const uint64_t duration_ns = cpti_dag_duration_ns(dag, at);
    const bool is_needed = sweep->tail_ns[at] != CPT_DAG_UNBOUNDED;
    const uint64_t rest_ns = duration_ns + sweep->tail_ns[at]; /* if it is needed */
    const size_t passed = count - is_inside;
    uint64_t start_ns = 0;

    sweep->began[at] = (uint32_t)count;
    if (!is_needed) {
        return; /* and so is nothing that waits for it */
    }
    if (dag->first[at] == dag->first[at + 1]) {
        cover(sweep, 0, passed, rest_ns);
    }
    for (uint32_t j = dag->first[at]; j < dag->first[at + 1]; j++) {
        const uint32_t from = dag->from[j];
        const uint32_t begun = sweep->began[from];
        const bool is_from_range = begun != 0 && from <= sweep->chosen[begun - 1].end;
        uint64_t ready_ns = dag->finish_ns[from];

        if (begun < passed) {
            cover(sweep, begun, passed, ready_ns + rest_ns);
        }
        if (is_from_range && begun <= passed) { /* it leads out of it */
            cpti_raise(&sweep->chosen[begun - 1].longest_ns,
                       sweep->changed_ns[from] + rest_ns);
        }
        if (is_from_range && begun > passed) {
            ready_ns = sweep->changed_ns[from];
        }
        cpti_raise(&start_ns, ready_ns);
    }
    if (!is_inside) {
        return;
    }
    sweep->changed_ns[at] = start_ns + duration_ns - sweep->less_ns[at];
    if (cpti_dag_is_end(dag, at)) {
        cpti_raise(&sweep->chosen[count - 1].longest_ns, sweep->changed_ns[at]);
    }
}

/* Finds the longest path without the members of each chosen range. */
static void run(struct sweep *sweep)
{
    const struct cpt_dag *dag = sweep->dag;
    uint64_t ended_ns = 0; /* of the paths that ended before */
    size_t count = 0;

    memset(sweep->tree, 0, 2 * sweep->chosen_count * sizeof *sweep->tree);
    for (uint32_t i = 0; i < dag->shape.node_count; i++) {
        if (count < sweep->chosen_count && sweep->chosen[count].begin == i) {
            cpti_raise(&sweep->chosen[count++].longest_ns, ended_ns);
        }
        visit(sweep, i, count, count != 0 && i <= sweep->chosen[count - 1].end);
        if (cpti_dag_is_end(dag, i)) {
            cpti_raise(&ended_ns, dag->finish_ns[i]);
        }
    }
    for (size_t i = 2; i < 2 * sweep->chosen_count; i++) {
        cpti_raise(&sweep->tree[i], sweep->tree[i / 2]);
    }
    for (size_t i = 0; i < sweep->chosen_count; i++) {
        cpti_raise(&sweep->chosen[i].longest_ns, sweep->tree[sweep->chosen_count + i]);
    }
}

static void run_sweep(struct sweep *sweep, const struct cpti_dag_member *members,
                      struct cpti_dag_window *windows)
{
    choose(sweep);
    for (size_t i = 0; i < sweep->chosen_count; i++) {
        const struct cpti_dag_window *window = &windows[sweep->chosen[i].number];

        for (size_t j = window->first; j < window->end; j++) {
            sweep->less_ns[members[j].position] = members[j].less_ns;
        }
    }
    run(sweep);
    for (size_t i = 0; i < sweep->chosen_count; i++) {
        struct cpti_dag_window *window = &windows[sweep->chosen[i].number];

        window->drag_ns = sweep->dag->latency_ns - sweep->chosen[i].longest_ns;
        for (size_t j = window->first; j < window->end; j++) {
            sweep->less_ns[members[j].position] = 0;
        }
    }
}

cpt_status cpti_dag_measure_windows(const struct cpt_dag *dag, const uint64_t *tail_ns,
                                    const struct cpti_dag_member *members,
                                    struct cpti_dag_window *windows, size_t count)
{
    const struct cpt_alloc *alloc = dag->alloc;
    const size_t nodes = dag->shape.node_count;
    const size_t branches = 2 * (count + 1);
    struct sweep sweep = {
        .dag = dag,
        .tail_ns = tail_ns,
        .tree = cpt_alloc_array(alloc, NULL, branches + 2 * nodes + (nodes + 1) / 2,
                                sizeof(uint64_t)),
        .ranges = cpt_alloc_array(alloc, NULL, 2 * (count + 1), sizeof(struct range))};
    cpt_status status = CPT_NO_MEMORY;

    if (sweep.tree != NULL && sweep.ranges != NULL) {
        status = CPT_OK;
        sweep.less_ns = sweep.tree + branches;
        sweep.changed_ns = sweep.less_ns + nodes;
        sweep.began = (uint32_t *)(sweep.changed_ns + nodes);
        sweep.chosen = sweep.ranges + count + 1;
        memset(sweep.less_ns, 0, nodes * sizeof *sweep.less_ns);
        for (size_t i = 0; i < count; i++) {
            windows[i].drag_ns = UINT64_MAX;
        }
        list_ranges(&sweep, members, windows, count);
        for (int i = 0; i < SWEEPS_MAX && sweep.range_count != 0; i++) {
            run_sweep(&sweep, members, windows);
        }
    }
    cpt_alloc_free(alloc, sweep.ranges);
    cpt_alloc_free(alloc, sweep.tree);
    return status;
}
