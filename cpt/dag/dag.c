/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * dag.c - the nodes of a request, put in order, and when each begins
 *
 * Kahn's algorithm: nodes without open inputs are appended to the order, and close an
 * input of those after them. If nodes are left, there is a circle. Recorded graphs
 * usually come in order; then each node stays at its place.
 *
 * Inputs are kept by position in one array, so a replay is one pass over it, forwards.
 *
 * What a large graph in no order costs is memory that is read at random. So what is
 * read together stands together, in few bytes; nodes are fetched while they wait in the
 * order; and no branch depends on what was just read.
 */
#include "cpt/dag/dag.h"

#include <string.h>

/* How many nodes ahead of the one that is put in order are fetched into the cache. */
enum { FETCH_AHEAD = 16 };

static cpt_status check_nodes(const struct cpt_dag_shape *shape,
                              struct cpt_error *error)
{
    if (shape->node_count == 0 || shape->node_count > CPT_DAG_NODES_MAX ||
        shape->edge_count > CPT_DAG_EDGES_MAX ||
        shape->spare_count > CPT_DAG_EDGES_MAX ||
        shape->frame_count > CPT_DAG_FRAMES_MAX) {
        return cpt_error_set(
            error, shape->node_count == 0 ? CPT_CORRUPT : CPT_LIMIT, 0,
            "%zu nodes, %zu edges, %zu spares, %u frames; there must be nodes, at most "
            "%d nodes, %d edges, %d frames",
            shape->node_count, shape->edge_count, shape->spare_count,
            (unsigned)shape->frame_count, CPT_DAG_NODES_MAX, CPT_DAG_EDGES_MAX,
            CPT_DAG_FRAMES_MAX);
    }
    if (shape->end != CPT_DAG_NONE && shape->end >= shape->node_count) {
        return cpt_error_set(error, CPT_CORRUPT, 0, "the end is node %u of %zu",
                             (unsigned)shape->end, shape->node_count);
    }
    for (size_t i = 0; i < shape->node_count; i++) {
        if (shape->nodes[i].duration_ns > INT64_MAX) {
            return cpt_error_set(error, CPT_CORRUPT, 0, "node %zu takes negative time",
                                 i);
        }
        if (shape->nodes[i].frame >= shape->frame_count) {
            return cpt_error_set(error, CPT_CORRUPT, 0, "node %zu has frame %u of %u",
                                 i, (unsigned)shape->nodes[i].frame,
                                 (unsigned)shape->frame_count);
        }
    }
    return CPT_OK;
}

/* Sets *is_in_order if no edge leads to a lower number. */
static cpt_status check_edges(const struct cpt_dag_edge *edges, size_t edge_count,
                              size_t node_count, bool *is_in_order,
                              struct cpt_error *error)
{
    for (size_t i = 0; i < edge_count; i++) {
        const struct cpt_dag_edge edge = edges[i];

        if (edge.from >= node_count || edge.to >= node_count) {
            return cpt_error_set(error, CPT_CORRUPT, 0,
                                 "edge %zu leads from node %u to node %u of %zu", i,
                                 (unsigned)edge.from, (unsigned)edge.to, node_count);
        }
        if (edge.from == edge.to) {
            return cpt_error_set(error, CPT_CORRUPT, 0, "node %u waits for itself",
                                 (unsigned)edge.from);
        }
        *is_in_order = *is_in_order && edge.from < edge.to;
    }
    return CPT_OK;
}

/* What Kahn's algorithm needs of a node. */
struct row {
    uint32_t first; /* its successors begin here in @to, and end where those of the next
                       node begin */
    uint32_t open;  /* inputs that are not yet in the order */
};

struct sorting {
    struct row *rows;    /* of each node, and one more */
    uint32_t *to;        /* the successors of all nodes */
    uint32_t *positions; /* of each node; before it has one, the number of its inputs */
};

static void list_successors(const struct cpt_dag_shape *shape,
                            const struct sorting *sorting)
{
    struct row *rows = sorting->rows;
    uint32_t sum = 0;

    memset(rows, 0, (shape->node_count + 1) * sizeof *rows);
    for (size_t i = 0; i < shape->edge_count; i++) {
        rows[shape->edges[i].from].first++;
        rows[shape->edges[i].to].open++;
    }
    for (size_t i = 0; i < shape->node_count; i++) {
        sum += rows[i].first;
        rows[i].first = sum;
        sorting->positions[i] = rows[i].open;
    }
    rows[shape->node_count].first = sum;
    for (size_t i = shape->edge_count; i-- != 0;) {
        sorting->to[--rows[shape->edges[i].from].first] = shape->edges[i].to;
    }
}

/* Sets order and place, and in first where the inputs of each position end. Returns how
 * many nodes are in the order; fewer than all if there is a circle. */
static size_t sort_nodes(const struct cpt_dag *dag, const struct sorting *sorting)
{
    struct row *rows = sorting->rows;
    uint32_t *order = dag->order;
    uint32_t inputs = 0;
    size_t count = 0;

    for (size_t i = 0; i < dag->shape.node_count; i++) {
        if (rows[i].open == 0) {
            order[count++] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t node = order[i];
        const uint32_t end = rows[node + 1].first;

        if (i + FETCH_AHEAD < count) { /* here, as gcc drops a function of prefetches */
            __builtin_prefetch(&rows[order[i + FETCH_AHEAD]]);
            __builtin_prefetch(&sorting->positions[order[i + FETCH_AHEAD]]);
            __builtin_prefetch(&sorting->to[rows[order[i + FETCH_AHEAD / 2]].first]);
        }
        inputs += sorting->positions[node];
        dag->first[i] = inputs;
        sorting->positions[node] = (uint32_t)i;
        for (uint32_t j = rows[node].first; j < end; j++) {
            const uint32_t to = sorting->to[j];

            order[count] = to; /* in bounds: with an input open, it is not there yet */
            count += --rows[to].open == 0;
        }
    }
    return count;
}

/* Borrows the arrays for places and inputs, which are filled in later. */
static cpt_status make_order(struct cpt_dag *dag, struct cpt_error *error)
{
    const size_t node_count = dag->shape.node_count;
    struct sorting sorting = {
        cpt_alloc_array(dag->alloc, NULL, node_count + 1, sizeof(struct row)),
        dag->from, dag->place};
    cpt_status status = CPT_OK;

    if (sorting.rows == NULL) {
        return CPT_NO_MEMORY;
    }
    list_successors(&dag->shape, &sorting);
    if (sort_nodes(dag, &sorting) != node_count) {
        uint32_t node = 0;

        while (sorting.rows[node].open == 0) {
            node++;
        }
        status =
            cpt_error_set(error, CPT_CORRUPT, 0,
                          "the edges lead in a circle before node %u", (unsigned)node);
    }
    cpt_alloc_free(dag->alloc, sorting.rows);
    return status;
}

/* The same if the nodes are in order. */
static void keep_order(struct cpt_dag *dag)
{
    const struct cpt_dag_shape *shape = &dag->shape;

    memset(dag->first, 0, shape->node_count * sizeof *dag->first);
    for (size_t i = 0; i < shape->edge_count; i++) {
        dag->first[shape->edges[i].to]++;
    }
    for (size_t i = 0; i < shape->node_count; i++) {
        dag->order[i] = (uint32_t)i;
        dag->place[i] = (uint32_t)i;
        dag->first[i] += i != 0 ? dag->first[i - 1] : 0;
    }
}

/* The inputs of each position, in the order of the edges. */
static void list_inputs(struct cpt_dag *dag)
{
    const struct cpt_dag_shape *shape = &dag->shape;

    dag->first[shape->node_count] = (uint32_t)shape->edge_count;
    for (size_t i = shape->edge_count; i-- != 0;) {
        const struct cpt_dag_edge edge = shape->edges[i];

        dag->from[--dag->first[dag->place[edge.to]]] = dag->place[edge.from];
    }
}

/* Durations in the place of those of the nodes. */
struct change {
    const uint64_t *duration_ns; /* of each node; NULL: those of the nodes */
    const uint32_t *frames;      /* NULL, or of each position its frame: those … */
    uint32_t frame;              /* … of this frame take no time */
};

static inline uint64_t changed_ns(const struct cpt_dag *dag,
                                  const struct change *change, size_t position)
{
    if (change->duration_ns != NULL) {
        return change->duration_ns[dag->order[position]];
    }
    return change->frames != NULL && change->frames[position] == change->frame
               ? 0
               : dag->duration_ns[position];
}

/* When each position ends, in @finish_ns. False: a path is too long. */
static bool run_forwards(const struct cpt_dag *dag, const struct change *change,
                         uint64_t *finish_ns, uint64_t *latency_ns, uint32_t *end)
{
    *latency_ns = 0;
    *end = 0;
    for (size_t i = 0; i < dag->shape.node_count; i++) {
        const uint64_t duration_ns = changed_ns(dag, change, i);
        uint64_t start_ns = 0;

        for (uint32_t j = dag->first[i]; j < dag->first[i + 1]; j++) {
            cpti_raise(&start_ns, finish_ns[dag->from[j]]);
        }
        if (duration_ns > INT64_MAX - start_ns) {
            return false;
        }
        finish_ns[i] = start_ns + duration_ns;
        if (finish_ns[i] > *latency_ns) {
            *latency_ns = finish_ns[i];
            *end = (uint32_t)i;
        }
    }
    if (dag->shape.end != CPT_DAG_NONE) {
        *end = dag->place[dag->shape.end];
        *latency_ns = finish_ns[*end];
    }
    return true;
}

static cpt_status make_starts(struct cpt_dag *dag, struct cpt_error *error)
{
    const struct change none = {NULL, NULL, 0};

    for (size_t i = 0; i < dag->shape.node_count; i++) {
        dag->duration_ns[i] = dag->shape.nodes[dag->order[i]].duration_ns;
    }
    if (!run_forwards(dag, &none, dag->finish_ns, &dag->latency_ns, &dag->end)) {
        return cpt_error_set(error, CPT_LIMIT, 0, "a path takes more than 2^63 - 1 ns");
    }
    return CPT_OK;
}

static cpt_status fill(struct cpt_dag *dag, bool is_in_order, struct cpt_error *error)
{
    const struct cpt_dag_shape *shape = &dag->shape;
    const size_t count = shape->node_count;
    cpt_status status = CPT_OK;

    dag->duration_ns = cpt_alloc_array(
        dag->alloc, NULL, 2 * count + (3 * count + 2 + shape->edge_count) / 2,
        sizeof *dag->duration_ns);
    if (dag->duration_ns == NULL) {
        return CPT_NO_MEMORY;
    }
    dag->finish_ns = dag->duration_ns + count;
    dag->order = (uint32_t *)(dag->finish_ns + count);
    dag->place = dag->order + count;
    dag->first = dag->place + count;
    dag->from = dag->first + count + 1;
    if (is_in_order) {
        keep_order(dag);
    } else {
        status = make_order(dag, error);
    }
    if (status == CPT_OK) {
        list_inputs(dag);
        status = make_starts(dag, error);
    }
    return status;
}

cpt_status cpt_dag_new(const struct cpt_alloc *alloc, const struct cpt_dag_shape *shape,
                       struct cpt_dag **dag, struct cpt_error *error)
{
    struct cpt_dag *made = NULL;
    bool is_in_order = true;
    bool is_any = true;
    cpt_status status = check_nodes(shape, error);

    if (status == CPT_OK) {
        status = check_edges(shape->edges, shape->edge_count, shape->node_count,
                             &is_in_order, error);
    }
    if (status == CPT_OK) {
        status = check_edges(shape->spares, shape->spare_count, shape->node_count,
                             &is_any, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    made = cpt_alloc_zeroed(alloc, sizeof *made);
    if (made != NULL) {
        made->alloc = alloc;
        made->shape = *shape;
        status = fill(made, is_in_order, error);
    }
    if (made == NULL || status != CPT_OK) {
        cpt_dag_free(made);
        return cpt_error_set(error, made == NULL ? CPT_NO_MEMORY : status, 0, "%s",
                             cpt_status_sentence(CPT_NO_MEMORY));
    }
    *dag = made;
    return CPT_OK;
}

void cpt_dag_free(struct cpt_dag *dag)
{
    if (dag == NULL) {
        return;
    }
    cpt_alloc_free(dag->alloc, dag->duration_ns);
    cpt_alloc_free(dag->alloc, dag);
}

uint64_t cpt_dag_latency_ns(const struct cpt_dag *dag)
{
    return dag->latency_ns;
}

cpt_status cpt_dag_replay(const struct cpt_dag *dag, const uint64_t *duration_ns,
                          uint64_t *start_ns, uint64_t *latency_ns)
{
    const struct change change = {duration_ns, NULL, 0};
    uint64_t *finish_ns =
        cpt_alloc_array(dag->alloc, NULL, dag->shape.node_count, sizeof *finish_ns);
    uint64_t found_ns = 0;
    uint32_t end = 0;

    if (finish_ns == NULL) {
        return CPT_NO_MEMORY;
    }
    if (!run_forwards(dag, &change, finish_ns, &found_ns, &end)) {
        cpt_alloc_free(dag->alloc, finish_ns);
        return CPT_LIMIT;
    }
    for (size_t i = 0; i < dag->shape.node_count && start_ns != NULL; i++) {
        const uint32_t node = dag->order[i];

        start_ns[node] = finish_ns[i] - duration_ns[node];
    }
    cpt_alloc_free(dag->alloc, finish_ns);
    *latency_ns = found_ns;
    return CPT_OK;
}

/* The tails are one too large at first, so that 0 is the least: not needed. */
void cpti_dag_tails(const struct cpt_dag *dag, uint64_t *tail_ns)
{
    const size_t count = dag->shape.node_count;

    for (size_t i = 0; i < count; i++) {
        tail_ns[i] = cpti_dag_is_end(dag, i);
    }
    for (size_t i = count; i-- != 0;) {
        const uint64_t longer_ns =
            tail_ns[i] != 0 ? tail_ns[i] + dag->duration_ns[i] : 0;

        for (uint32_t j = dag->first[i]; j < dag->first[i + 1]; j++) {
            cpti_raise(&tail_ns[dag->from[j]], longer_ns);
        }
        tail_ns[i]--;
    }
}

/* --- Frames --- */

static void sum_nodes(const struct cpt_dag *dag, const struct cpt_dag_measure *measures,
                      struct cpt_dag_frame *frames)
{
    for (size_t i = 0; i < dag->shape.node_count; i++) {
        const struct cpt_dag_node *node = &dag->shape.nodes[i];
        const struct cpt_dag_measure *measure = &measures[i];
        struct cpt_dag_frame *frame = &frames[node->frame];
        const uint32_t needless =
            frame->node_count != 0 ? frame->flags & measure->flags : measure->flags;

        frame->time_ns = frame->time_ns > UINT64_MAX - node->duration_ns
                             ? UINT64_MAX
                             : frame->time_ns + node->duration_ns;
        frame->path_ns +=
            (measure->flags & CPT_DAG_ON_PATH) != 0 ? node->duration_ns : 0;
        if (measure->drag_ns > frame->drag_ns) {
            frame->drag_ns = measure->drag_ns;
        }
        if (measure->slack_ns < frame->slack_ns) {
            frame->slack_ns = measure->slack_ns;
        }
        if (measure->free_ns < frame->free_ns) {
            frame->free_ns = measure->free_ns;
        }
        frame->flags =
            ((frame->flags | measure->flags) & ~(uint32_t)CPT_DAG_NOT_NEEDED) |
            (needless & CPT_DAG_NOT_NEEDED);
        frame->node_count++;
    }
}

/* Sets the gains of those on the path; @own and @finish_ns are of each position. */
static void set_gains(const struct cpt_dag *dag, uint32_t *own, uint64_t *finish_ns,
                      struct cpt_dag_frame *frames)
{
    for (size_t i = 0; i < dag->shape.node_count; i++) {
        own[i] = dag->shape.nodes[dag->order[i]].frame;
    }
    for (uint32_t i = 0; i < dag->shape.frame_count; i++) {
        const struct change change = {NULL, own, i};
        uint64_t latency_ns = 0;
        uint32_t end = 0;

        if (frames[i].path_ns != 0 &&
            run_forwards(dag, &change, finish_ns, &latency_ns, &end)) {
            frames[i].gain_ns = dag->latency_ns - latency_ns;
        }
    }
}

cpt_status cpt_dag_frames(const struct cpt_dag *dag,
                          const struct cpt_dag_measure *measures,
                          struct cpt_dag_frame *frames)
{
    const size_t count = dag->shape.node_count;
    uint32_t *own = cpt_alloc_array(dag->alloc, NULL, count, sizeof *own);
    uint64_t *finish_ns = cpt_alloc_array(dag->alloc, NULL, count, sizeof *finish_ns);
    cpt_status status = CPT_NO_MEMORY;

    if (own != NULL && finish_ns != NULL) {
        status = CPT_OK;
        for (uint32_t i = 0; i < dag->shape.frame_count; i++) {
            frames[i] = (struct cpt_dag_frame){.slack_ns = CPT_DAG_UNBOUNDED,
                                               .free_ns = CPT_DAG_UNBOUNDED};
        }
        sum_nodes(dag, measures, frames);
        set_gains(dag, own, finish_ns, frames);
    }
    cpt_alloc_free(dag->alloc, own);
    cpt_alloc_free(dag->alloc, finish_ns);
    return status;
}
