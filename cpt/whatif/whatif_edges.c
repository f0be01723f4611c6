/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_edges.c - requests whose tasks wait for other things
 *
 * Terms match lines, which are tasks and calls, by name. The edges of a request are
 * listed, changed term by term, and sorted again (Kahn):
 *
 *      cut       an edge between two lines is taken out. What then waits for nothing
 *                begins with its service: when the call was made that it answers
 *      add       from the end of each line to the beginning of each other one; all
 *                of a request, or none of them if they lead in a circle
 *      parallel  all calls that one line makes leave it where the first one does:
 *
 *      A1 [ a ][ b ]------[ c ]------[ d ]        [ a ][ b ]---------[ c ][ d ]
 *            `-- C1 --^  `-- C1 --^                  `-- C1 --^  /
 *                                                    `-- C1 ----'
 */
#include "cpt/whatif/whatif.h"

#include <string.h>

/* The most edges that a term adds to a request. */
enum { ADDED_MAX = 1 << 20 };

/* The edges of the request that is being changed, and scratch. */
struct whatif_edges {
    struct cpt_dag_edge *list; /* from CPT_DAG_NONE: taken out */
    size_t count, capacity;
    uint32_t *first; /* rows of inputs, and their elements */
    uint32_t *from;
    size_t from_capacity;
    uint32_t *out; /* rows of outputs, and their elements */
    uint32_t *to;
    size_t to_capacity;
    uint32_t *open;
    uint32_t *order;
    uint32_t *earliest;    /* of each line: where its first call leaves it */
    unsigned char *called; /* of each line: it is one of the calls */
    unsigned char *cut;    /* of each position: an edge to it was taken out */
};

cpt_status cpti_whatif_edges_new(struct cpt_whatif_plan *plan)
{
    const struct cpt_alloc *alloc = plan->whatif->alloc;
    const size_t nodes = plan->whatif->node_max;
    const size_t lines = plan->whatif->line_max;
    struct whatif_edges *edges = cpt_alloc_zeroed(alloc, sizeof *edges);

    plan->edges = edges;
    if (edges == NULL) {
        return CPT_NO_MEMORY;
    }
    edges->first = cpt_alloc_array(alloc, NULL, nodes + 1, sizeof *edges->first);
    edges->out = cpt_alloc_array(alloc, NULL, nodes + 1, sizeof *edges->out);
    edges->open = cpt_alloc_array(alloc, NULL, nodes + 1, sizeof *edges->open);
    edges->order = cpt_alloc_array(alloc, NULL, nodes + 1, sizeof *edges->order);
    edges->earliest = cpt_alloc_array(alloc, NULL, lines + 1, sizeof *edges->earliest);
    edges->called = cpt_alloc_array(alloc, NULL, lines + 1, 1);
    edges->cut = cpt_alloc_array(alloc, NULL, nodes + 1, 1);
    return edges->first != NULL && edges->out != NULL && edges->open != NULL &&
                   edges->order != NULL && edges->earliest != NULL &&
                   edges->called != NULL && edges->cut != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

void cpti_whatif_edges_free(struct cpt_whatif_plan *plan)
{
    const struct cpt_alloc *alloc = plan->whatif->alloc;
    struct whatif_edges *edges = plan->edges;

    if (edges == NULL) {
        return;
    }
    cpt_alloc_free(alloc, edges->list);
    cpt_alloc_free(alloc, edges->first);
    cpt_alloc_free(alloc, edges->from);
    cpt_alloc_free(alloc, edges->out);
    cpt_alloc_free(alloc, edges->to);
    cpt_alloc_free(alloc, edges->open);
    cpt_alloc_free(alloc, edges->order);
    cpt_alloc_free(alloc, edges->earliest);
    cpt_alloc_free(alloc, edges->called);
    cpt_alloc_free(alloc, edges->cut);
    cpt_alloc_free(alloc, edges);
    plan->edges = NULL;
}

/* --- The list --- */

/* A request, and what the terms ask about it. */
struct changing {
    struct cpt_whatif_plan *plan;
    struct whatif_edges *edges;
    const struct whatif_request *request;
    const struct whatif_line *lines;
    const uint32_t *line; /* of each position */
    bool is_changed;
};

static cpt_status add(struct changing *changing, uint32_t from, uint32_t to)
{
    struct whatif_edges *edges = changing->edges;
    const cpt_status status = cpt_alloc_grow(
        changing->plan->whatif->alloc, (void **)&edges->list, &edges->capacity,
        edges->count + 1, CPT_DAG_EDGES_MAX, sizeof *edges->list);

    if (status == CPT_OK) {
        edges->list[edges->count++] = (struct cpt_dag_edge){from, to};
    }
    return status;
}

/* Lists the edges of @request as recorded. */
static cpt_status list_edges(struct cpt_whatif_plan *plan, size_t request,
                             struct changing *changing)
{
    const struct whatif_view view = cpti_whatif_recorded(plan->whatif, request);
    cpt_status status = CPT_OK;

    *changing = (struct changing){plan,
                                  plan->edges,
                                  view.request,
                                  &plan->whatif->lines[view.request->line],
                                  &plan->whatif->line[view.request->node],
                                  false};
    changing->edges->count = 0;
    memset(changing->edges->cut, 0, view.request->node_count);
    for (uint32_t i = 0; i < view.request->node_count; i++) {
        for (uint32_t j = view.first[i]; j < view.first[i + 1] && status == CPT_OK;
             j++) {
            status = add(changing, view.from[j], i);
        }
    }
    return status;
}

/* The rows of outputs, and of how many inputs each position waits. */
static cpt_status list_outputs(struct changing *changing)
{
    struct whatif_edges *edges = changing->edges;
    const uint32_t count = changing->request->node_count;
    const cpt_status status = cpt_alloc_grow(
        changing->plan->whatif->alloc, (void **)&edges->to, &edges->to_capacity,
        edges->count + 1, CPT_DAG_EDGES_MAX, sizeof *edges->to);

    if (status != CPT_OK) {
        return status;
    }
    memset(edges->out, 0, ((size_t)count + 1) * sizeof *edges->out);
    memset(edges->open, 0, ((size_t)count + 1) * sizeof *edges->open);
    for (size_t i = 0; i < edges->count; i++) {
        if (edges->list[i].from != CPT_DAG_NONE) {
            edges->out[edges->list[i].from]++;
            edges->open[edges->list[i].to]++;
        }
    }
    for (uint32_t i = 1; i <= count; i++) {
        edges->out[i] += edges->out[i - 1];
    }
    for (size_t i = edges->count; i-- != 0;) {
        if (edges->list[i].from != CPT_DAG_NONE) {
            edges->to[--edges->out[edges->list[i].from]] = edges->list[i].to;
        }
    }
    return CPT_OK;
}

/* Puts the positions in order. False: the edges lead in a circle. */
static cpt_status sort(struct changing *changing, bool *is_sorted)
{
    struct whatif_edges *edges = changing->edges;
    const uint32_t count = changing->request->node_count;
    const cpt_status status = list_outputs(changing);
    uint32_t sorted = 0;

    if (status != CPT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (edges->open[i] == 0) {
            edges->order[sorted++] = i;
        }
    }
    for (uint32_t i = 0; i < sorted; i++) {
        const uint32_t node = edges->order[i];

        for (uint32_t j = edges->out[node]; j < edges->out[node + 1]; j++) {
            if (--edges->open[edges->to[j]] == 0) {
                edges->order[sorted++] = edges->to[j];
            }
        }
    }
    *is_sorted = sorted == count;
    return CPT_OK;
}

/* --- Terms --- */

static void cut(struct changing *changing, const struct whatif_edge_term *term)
{
    for (size_t i = 0; i < changing->edges->count; i++) {
        struct cpt_dag_edge *edge = &changing->edges->list[i];
        uint32_t from = 0;
        uint32_t to = 0;

        if (edge->from == CPT_DAG_NONE) {
            continue;
        }
        from = changing->line[edge->from];
        to = changing->line[edge->to];
        if (from != to && term->is_from[changing->lines[from].frame] != 0 &&
            term->is_to[changing->lines[to].frame] != 0) {
            edge->from = CPT_DAG_NONE;
            changing->edges->cut[edge->to] = 1;
            changing->is_changed = true;
        }
    }
}

static bool is_of(const struct changing *changing, const unsigned char *marks,
                  uint32_t line)
{
    return changing->lines[line].begin != CPT_DAG_NONE &&
           marks[changing->lines[line].frame] != 0;
}

static cpt_status add_all(struct changing *changing,
                          const struct whatif_edge_term *term, bool *has_any)
{
    const uint32_t count = changing->request->line_count;
    const size_t before = changing->edges->count;
    bool is_sorted = true;
    cpt_status status = CPT_OK;

    for (uint32_t from = 0; from < count && is_sorted; from++) {
        if (!is_of(changing, term->is_from, from)) {
            continue;
        }
        for (uint32_t to = 0; to < count && is_sorted && status == CPT_OK; to++) {
            if (from != to && is_of(changing, term->is_to, to)) {
                *has_any = true;
                status =
                    add(changing, changing->lines[from].end, changing->lines[to].begin);
                is_sorted = changing->edges->count - before <= ADDED_MAX;
            }
        }
    }
    if (status == CPT_OK && is_sorted && changing->edges->count != before) {
        status = sort(changing, &is_sorted);
        changing->is_changed = true;
    }
    if (!is_sorted) {
        changing->edges->count = before;
        changing->plan->counts.circles++;
    }
    return status;
}

/* Marks the lines that are the calls of the term, by their own name or by that of a
 * task of the callee. */
static void mark_calls(struct changing *changing, const struct whatif_edge_term *term)
{
    unsigned char *called = changing->edges->called;

    for (uint32_t i = 0; i < changing->request->line_count; i++) {
        called[i] = is_of(changing, term->is_to, i);
    }
    for (uint32_t i = 0; i < changing->request->line_count; i++) {
        const struct whatif_line *line = &changing->lines[i];

        if (line->is_call == 0 && line->caller != CPT_DAG_NONE &&
            is_of(changing, term->is_to, i)) {
            called[line->caller] = 1;
        }
    }
}

/* Whether @edge leads from a caller to the beginning of one of its calls. */
static bool is_call_edge(const struct changing *changing,
                         const struct whatif_edge_term *term,
                         const struct cpt_dag_edge *edge)
{
    uint32_t from = 0;
    uint32_t to = 0;

    if (edge->from == CPT_DAG_NONE) {
        return false;
    }
    from = changing->line[edge->from];
    to = changing->line[edge->to];
    return from != to && changing->lines[to].begin == edge->to &&
           changing->edges->called[to] != 0 &&
           term->is_from[changing->lines[from].frame] != 0;
}

/* The line of a position, or the one that stands for its occurrence. */
static uint32_t first_line(const struct changing *changing, uint32_t position)
{
    const uint32_t line = changing->line[position];
    const uint32_t occurrence = changing->lines[line].occurrence;

    return occurrence != 0 ? occurrence - 1 : line;
}

static void make_parallel(struct changing *changing,
                          const struct whatif_edge_term *term, bool *has_any)
{
    struct whatif_edges *edges = changing->edges;

    mark_calls(changing, term);
    for (uint32_t i = 0; i < changing->request->line_count; i++) {
        edges->earliest[i] = CPT_DAG_NONE;
    }
    for (size_t i = 0; i < edges->count; i++) {
        if (is_call_edge(changing, term, &edges->list[i])) {
            uint32_t *earliest =
                &edges->earliest[first_line(changing, edges->list[i].from)];

            *has_any = true;
            *earliest =
                edges->list[i].from < *earliest ? edges->list[i].from : *earliest;
        }
    }
    for (size_t i = 0; i < edges->count && *has_any; i++) {
        if (is_call_edge(changing, term, &edges->list[i])) {
            const uint32_t from =
                edges->earliest[first_line(changing, edges->list[i].from)];

            changing->is_changed = changing->is_changed || edges->list[i].from != from;
            edges->list[i].from = from;
        }
    }
}

static cpt_status apply(struct changing *changing, const struct whatif_edge_term *term,
                        bool *has_any)
{
    const bool was_changed = changing->is_changed;

    switch (term->term->verb) {
    case CPT_WHATIF_CUT:
        changing->is_changed = false;
        cut(changing, term);
        *has_any = *has_any || changing->is_changed;
        changing->is_changed = changing->is_changed || was_changed;
        return CPT_OK;
    case CPT_WHATIF_ADD:
        return add_all(changing, term, has_any);
    default:
        make_parallel(changing, term, has_any);
        return CPT_OK;
    }
}

/* --- All of it --- */

/* With what the service began in which @position lies: the call that its run answers.
 * CPT_DAG_NONE: it began with the request. */
static uint32_t begin_of(const struct changing *changing, uint32_t position)
{
    const struct whatif_line *line = &changing->lines[changing->line[position]];

    if (line->is_call != 0 && line->caller != CPT_DAG_NONE) {
        line = &changing->lines[line->caller]; /* its issuer */
    }
    return line->is_call == 0 && line->caller != CPT_DAG_NONE
               ? changing->lines[line->caller].begin
               : CPT_DAG_NONE;
}

/* What lost its inputs begins with its service. */
static cpt_status hold(struct changing *changing)
{
    struct whatif_edges *edges = changing->edges;
    const size_t count = edges->count;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count; i++) {
        if (edges->list[i].from != CPT_DAG_NONE) {
            edges->cut[edges->list[i].to] = 0;
        }
    }
    for (uint32_t i = 0; i < changing->request->node_count && status == CPT_OK; i++) {
        const uint32_t begin =
            edges->cut[i] != 0 ? begin_of(changing, i) : CPT_DAG_NONE;

        if (begin != CPT_DAG_NONE && begin != i) {
            status = add(changing, begin, i);
        }
    }
    return status;
}

/* The rows of inputs. */
static cpt_status list_inputs(struct changing *changing)
{
    struct whatif_edges *edges = changing->edges;
    const uint32_t count = changing->request->node_count;
    const cpt_status status = cpt_alloc_grow(
        changing->plan->whatif->alloc, (void **)&edges->from, &edges->from_capacity,
        edges->count + 1, CPT_DAG_EDGES_MAX, sizeof *edges->from);

    if (status != CPT_OK) {
        return status;
    }
    memset(edges->first, 0, ((size_t)count + 1) * sizeof *edges->first);
    for (size_t i = 0; i < edges->count; i++) {
        edges->first[edges->list[i].to] += edges->list[i].from != CPT_DAG_NONE;
    }
    for (uint32_t i = 1; i <= count; i++) {
        edges->first[i] += edges->first[i - 1];
    }
    for (size_t i = edges->count; i-- != 0;) {
        if (edges->list[i].from != CPT_DAG_NONE) {
            edges->from[--edges->first[edges->list[i].to]] = edges->list[i].from;
        }
    }
    return CPT_OK;
}

cpt_status cpti_whatif_edges_match(struct cpt_whatif_plan *plan, size_t term,
                                   bool *has_match)
{
    const struct cpt_whatif_counts counts = plan->counts;
    cpt_status status = CPT_OK;

    *has_match = false;
    for (size_t i = 0;
         i < plan->whatif->request_count && !*has_match && status == CPT_OK; i++) {
        struct changing changing;

        status = list_edges(plan, i, &changing);
        if (status == CPT_OK) {
            status = apply(&changing, &plan->edge_terms[term], has_match);
        }
    }
    plan->counts = counts;
    return status;
}

cpt_status cpti_whatif_edges_change(struct cpt_whatif_plan *plan,
                                    struct whatif_view *view)
{
    struct changing changing;
    bool is_sorted = false;
    bool has_any = false;
    cpt_status status =
        list_edges(plan, (size_t)(view->request - plan->whatif->requests), &changing);

    for (size_t i = 0; i < plan->edge_term_count && status == CPT_OK; i++) {
        status = apply(&changing, &plan->edge_terms[i], &has_any);
    }
    if (status != CPT_OK || !changing.is_changed) {
        return status;
    }
    status = hold(&changing);
    if (status == CPT_OK) {
        status = sort(&changing, &is_sorted);
    }
    if (status == CPT_OK && is_sorted) {
        status = list_inputs(&changing);
    }
    if (status == CPT_OK && is_sorted) {
        view->first = plan->edges->first;
        view->from = plan->edges->from;
        view->order = plan->edges->order;
    } else if (status == CPT_OK) {
        plan->counts.circles++;
    }
    return status;
}
