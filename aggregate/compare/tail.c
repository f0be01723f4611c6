/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tail.c - slow requests against the others, and against those of another set
 *
 * Each of the three comparisons is a diff (diff.c), whose errors are then enlarged by
 * what the border adds. Rows of the three are brought together by their stacks.
 */
#include "aggregate/cpt_tail.h"

#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum comparison { IN_BASE, IN_NEW, OF_TAILS, COMPARISONS };

struct cpt_tail {
    const struct cpt_alloc *alloc;
    struct cpt_tree *stacks;
    struct cpt_tail_row total;
    struct cpt_tail_row *rows;
    uint32_t row_count;
};

/* What is made on the way. */
struct making {
    struct cpt_tail *tail;
    const struct cpt_tail_set *sets[2]; /* base and new */
    struct cpt_tail_options options;
    struct cpt_diff *diffs[COMPARISONS];
    /* by node of the stacks: mean self time in the edge of each set; NULL: no edge */
    double *edges[2];
    /* by node of the stacks: Σ w² (x - mean) / (Σ w)² in the tail and the rest of each
     * set; that of a stack that a part lacks is 0 */
    double *leans[2][2];
    /* of the border to the tail's mean latency: 1 if it is as far as the edge's */
    double nearness[2];
};

static struct cpt_tail_change *change_in(struct cpt_tail_row *row,
                                         enum comparison comparison)
{
    return comparison == IN_BASE  ? &row->base
           : comparison == IN_NEW ? &row->other
                                  : &row->tails;
}

/* --- Stacks --- */

/* Adds the stacks of @tree; (*map)[n] becomes the node of the stacks for its node n.
 * The caller frees it. */
static cpt_status map_new(struct cpt_tail *tail, const struct cpt_tree *tree,
                          uint32_t **map)
{
    *map = cpt_alloc_array(tail->alloc, NULL, tree->node_count, sizeof **map);
    return *map == NULL ? CPT_NO_MEMORY
                        : cpti_tree_add_stacks(tail->stacks, tree, *map);
}

/* --- The border --- */

static bool has_edge(const struct making *making, int set)
{
    const struct cpt_tree *edge = making->sets[set]->edge;

    return edge != NULL && edge->request_count != 0;
}

/* Values by node of the stacks, all 0; NULL without memory. Called when all stacks are
 * known. */
static double *values_new(const struct cpt_tail *tail)
{
    return cpt_alloc_zeroed(tail->alloc, tail->stacks->node_count * sizeof(double));
}

/* Sets a value for each node of @tree, by its number among the stacks. */
static cpt_status fill_values(struct cpt_tail *tail, const struct cpt_tree *tree,
                              double (*value)(const struct cpt_tree *, uint32_t),
                              double **values)
{
    uint32_t *map = NULL;
    cpt_status status = map_new(tail, tree, &map);

    *values = status == CPT_OK ? values_new(tail) : NULL;
    for (uint32_t i = 0; i < tree->node_count && *values != NULL; i++) {
        (*values)[map[i]] = value(tree, i);
    }
    cpt_alloc_free(tail->alloc, map);
    return status == CPT_OK && *values == NULL ? CPT_NO_MEMORY : status;
}

/* The mean of what is compared: self times, and the latency. */
static double mean_of(const struct cpt_tree *tree, uint32_t node)
{
    const struct cpt_stats stats = cpt_stats_of(tree, node);

    return node == CPT_TREE_ROOT ? stats.inclusive.mean_ns : stats.self.mean_ns;
}

/* Σ w² (x - mean) / (Σ w)²: not 0 where heavy requests are not average ones. */
static double lean_of(const struct cpt_tree *tree, uint32_t node)
{
    const struct cpti_totals totals = cpti_node_totals(tree, node, false);
    const struct cpti_wide *wwx =
        node == CPT_TREE_ROOT ? &totals.inclusive.wwx : &totals.self.wwx;
    const double weight = cpti_u128_double(tree->weight);

    return (cpti_wide_double(wwx) -
            mean_of(tree, node) * cpti_wide_double(&tree->weight_squared)) /
           weight / weight;
}

/* What is known of the parts of a set beside the diffs. */
static cpt_status fill_parts(struct making *making, int set)
{
    cpt_status status = fill_values(making->tail, making->sets[set]->tail, lean_of,
                                    &making->leans[set][0]);

    if (status == CPT_OK) {
        status = fill_values(making->tail, making->sets[set]->rest, lean_of,
                             &making->leans[set][1]);
    }
    if (status == CPT_OK && has_edge(making, set)) {
        status = fill_values(making->tail, making->sets[set]->edge, mean_of,
                             &making->edges[set]);
    }
    return status;
}

/* Where the border lies between the mean latencies of the edge (or the rest) and the
 * tail: the latencies say it, and self times are taken to go along with them. */
static double nearness_of(const struct cpt_tail_set *set)
{
    const struct cpt_tree *below =
        set->edge != NULL && set->edge->request_count != 0 ? set->edge : set->rest;
    const struct cpt_stats tail = cpt_stats_of(set->tail, CPT_TREE_ROOT);
    const double above_ns = tail.inclusive.mean_ns - (double)tail.min_ns;
    const double all_ns =
        tail.inclusive.mean_ns - cpt_stats_of(below, CPT_TREE_ROOT).inclusive.mean_ns;

    return all_ns > above_ns ? above_ns / all_ns : 1;
}

static double requests_in(const struct cpt_tree *tree)
{
    return cpt_stats_of(tree, CPT_TREE_ROOT).inclusive.effective_count;
}

/* What the border of @set adds to the variance of a mean; see cpt_tail.h. */
static double border_variance(const struct making *making, int set, uint32_t node,
                              const struct cpt_change *in_set, bool is_of_tails)
{
    const struct cpt_tail_set *trees = making->sets[set];
    const double tail = cpti_u128_double(trees->tail->weight);
    const double rest = cpti_u128_double(trees->rest->weight);
    const double below =
        making->edges[set] != NULL ? making->edges[set][node] : in_set->base_ns;
    const double border =
        in_set->new_ns - making->nearness[set] * (in_set->new_ns - below);
    double moves = rest / (tail + rest) * (in_set->new_ns - border);
    double lean = making->leans[set][0][node];

    if (!is_of_tails) {
        moves += tail / (tail + rest) * (in_set->base_ns - border);
        lean += making->leans[set][1][node];
    }
    return moves *
           (moves * (1 / requests_in(trees->tail) + 1 / requests_in(trees->rest)) +
            2 * lean);
}

/* Enlarges the error of @change; its interval keeps its shape. */
static void widen(struct cpt_change *change, double variance, double confidence)
{
    const double error_ns = hypot(change->error_ns, sqrt(variance));
    const double factor = error_ns / change->error_ns;
    double p_value;

    if (!(variance > 0) || !isfinite(error_ns)) {
        return;
    }
    if (change->error_ns > 0) {
        change->low_ns =
            change->delta_ns - (change->delta_ns - change->low_ns) * factor;
        change->high_ns =
            change->delta_ns + (change->high_ns - change->delta_ns) * factor;
    } else {
        cpt_interval(change->delta_ns, error_ns, NAN, change->degrees, confidence,
                     &change->low_ns, &change->high_ns);
    }
    change->error_ns = error_ns;
    p_value = cpt_p_value(change->delta_ns, error_ns, NAN, change->degrees);
    change->p_value = fmax(change->p_value, p_value);
}

static void widen_row(const struct making *making, struct cpt_tail_row *row)
{
    const double confidence = making->options.confidence;
    const double variances[COMPARISONS] = {
        border_variance(making, 0, row->node, &row->base.self, false),
        border_variance(making, 1, row->node, &row->other.self, false),
        border_variance(making, 0, row->node, &row->base.self, true) +
            border_variance(making, 1, row->node, &row->other.self, true)};

    for (int i = 0; i < COMPARISONS; i++) {
        widen(&change_in(row, (enum comparison)i)->self, variances[i], confidence);
    }
}

/* --- Rows --- */

/* A stack that neither side of a comparison has. q_value is 1 for a row that is to be
 * tested, until set_q_values(). */
static const struct cpt_tail_change nothing = {
    .self = {.p_value = 1, .degrees = INFINITY}, .q_value = 0, .is_rare = 1};

/* Copies the rows of one diff to those of the stacks, which are indexed by node. */
static cpt_status take_diff(struct making *making, enum comparison comparison)
{
    const struct cpt_diff *diff = making->diffs[comparison];
    uint32_t *map = NULL;
    const cpt_status status = map_new(making->tail, cpt_diff_tree(diff), &map);

    for (uint32_t i = 0; i < cpt_diff_row_count(diff) && status == CPT_OK; i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        *change_in(&making->tail->rows[map[row->node]], comparison) =
            (struct cpt_tail_change){row->self, row->is_tested, row->is_rare};
    }
    cpt_alloc_free(making->tail->alloc, map);
    *change_in(&making->tail->total, comparison) = (struct cpt_tail_change){
        cpt_diff_total(diff)->inclusive, 1, cpt_diff_total(diff)->is_rare};
    return status;
}

static cpt_status set_q_values(struct cpt_tail *tail, enum comparison comparison)
{
    double *values =
        cpt_alloc_array(tail->alloc, NULL, (size_t)tail->row_count + 1, sizeof *values);
    uint32_t tested = 0;
    cpt_status status;

    if (values == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < tail->row_count; i++) {
        const struct cpt_tail_change *change = change_in(&tail->rows[i], comparison);

        if (change->q_value != 0) {
            values[tested++] = change->self.p_value;
        }
    }
    status = cpt_stats_q_values(tail->alloc, values, values, tested);
    tested = 0;
    for (uint32_t i = 0; i < tail->row_count; i++) {
        struct cpt_tail_change *change = change_in(&tail->rows[i], comparison);

        change->q_value = change->q_value != 0 ? values[tested++] : 1;
    }
    cpt_alloc_free(tail->alloc, values);
    return status;
}

static double largest(const struct cpt_tail_row *row)
{
    return fmax(fabs(row->tails.self.delta_ns),
                fmax(fabs(row->base.self.delta_ns), fabs(row->other.self.delta_ns)));
}

/* node is the place in the order of the stacks while rows are sorted. */
static int by_difference(const void *left, const void *right)
{
    const struct cpt_tail_row *a = left;
    const struct cpt_tail_row *b = right;
    const double a_size = largest(a);
    const double b_size = largest(b);

    if (a_size != b_size) {
        return a_size > b_size ? -1 : 1;
    }
    return a->node < b->node ? -1 : 1;
}

/* Sorts the rows. The numbers of nodes depend on the order in which requests were
 * added, so ties are decided by the places of a walk. */
static cpt_status sort_rows(struct cpt_tail *tail)
{
    const uint32_t count = tail->row_count + 1;
    uint32_t *nodes = cpt_alloc_array(tail->alloc, NULL, count, 2 * sizeof *nodes);
    uint32_t *places = nodes + count;
    cpt_status status = CPT_NO_MEMORY;

    if (nodes == NULL) {
        return status;
    }
    status = cpti_tree_order(tail->alloc, tail->stacks, CPT_TREE_BY_NAME, nodes);
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        places[nodes[i]] = i;
    }
    for (uint32_t i = 0; i < tail->row_count && status == CPT_OK; i++) {
        tail->rows[i].node = places[tail->rows[i].node];
    }
    if (status == CPT_OK) {
        qsort(tail->rows, tail->row_count, sizeof *tail->rows, by_difference);
    }
    for (uint32_t i = 0; i < tail->row_count && status == CPT_OK; i++) {
        tail->rows[i].node = nodes[tail->rows[i].node];
    }
    cpt_alloc_free(tail->alloc, nodes);
    return status;
}

/* Makes the rows of all stacks, the root among them, at its number. */
static cpt_status fill_rows(struct making *making)
{
    struct cpt_tail *tail = making->tail;
    const uint32_t count = (uint32_t)tail->stacks->node_count;
    cpt_status status = CPT_OK;

    tail->rows = cpt_alloc_array(tail->alloc, NULL, count, sizeof *tail->rows);
    if (tail->rows == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        tail->rows[i] = (struct cpt_tail_row){i, nothing, nothing, nothing};
    }
    for (int i = 0; i < COMPARISONS && status == CPT_OK; i++) {
        status = take_diff(making, (enum comparison)i);
    }
    widen_row(making, &tail->total);
    for (uint32_t i = 1; i < count; i++) {
        widen_row(making, &tail->rows[i]);
        tail->rows[i - 1] = tail->rows[i]; /* without the root */
    }
    tail->row_count = count - 1;
    return status;
}

static cpt_status make_rows(struct making *making)
{
    struct cpt_tail *tail = making->tail;
    cpt_status status = CPT_OK;
    uint32_t *map = NULL;

    /* all stacks first: rows and edges are arrays by their numbers */
    for (int i = 0; i < COMPARISONS && status == CPT_OK; i++) {
        status = map_new(tail, cpt_diff_tree(making->diffs[i]), &map);
        cpt_alloc_free(tail->alloc, map);
    }
    for (int i = 0; i < 2 && status == CPT_OK; i++) {
        if (has_edge(making, i)) {
            status = map_new(tail, making->sets[i]->edge, &map);
            cpt_alloc_free(tail->alloc, map);
        }
    }
    for (int i = 0; i < 2 && status == CPT_OK; i++) {
        making->nearness[i] = nearness_of(making->sets[i]);
        status = fill_parts(making, i);
    }
    if (status == CPT_OK) {
        status = fill_rows(making);
    }
    for (int i = 0; i < COMPARISONS && status == CPT_OK; i++) {
        status = set_q_values(tail, (enum comparison)i);
    }
    for (int i = 0; i < COMPARISONS; i++) {
        struct cpt_tail_change *change = change_in(&tail->total, (enum comparison)i);

        change->q_value = change->self.p_value;
    }
    return status == CPT_OK ? sort_rows(tail) : status;
}

/* --- Public --- */

static cpt_status compare(struct making *making, struct cpt_error *error)
{
    const struct cpt_tail_set *const *sets = making->sets;
    const struct cpt_tree *pairs[COMPARISONS][2] = {{sets[0]->rest, sets[0]->tail},
                                                    {sets[1]->rest, sets[1]->tail},
                                                    {sets[0]->tail, sets[1]->tail}};
    const struct cpt_diff_options options = {.struct_bytes = sizeof options,
                                             .confidence = making->options.confidence};
    cpt_status status = CPT_OK;

    for (int i = 0; i < COMPARISONS && status == CPT_OK; i++) {
        status = cpt_diff_new(making->tail->alloc, pairs[i][0], pairs[i][1], &options,
                              &making->diffs[i], error);
    }
    if (status == CPT_OK) {
        status = make_rows(making);
        if (status != CPT_OK) {
            (void)cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
        }
    }
    return status;
}

static cpt_status check(const struct making *making, struct cpt_error *error)
{
    for (int i = 0; i < 2; i++) {
        const char *side = i == 0 ? "base" : "new";

        if (making->sets[i]->tail->request_count == 0) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "no request of the %s side is in the tail", side);
        }
        if (making->sets[i]->rest->request_count == 0) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "all requests of the %s side are in the tail", side);
        }
    }
    if (!(making->options.quantile > 0 && making->options.quantile < 1)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the quantile is %g, it must be between 0 and 1",
                             making->options.quantile);
    }
    return CPT_OK;
}

cpt_status cpt_tail_new(const struct cpt_alloc *alloc, const struct cpt_tail_set *base,
                        const struct cpt_tail_set *new_set,
                        const struct cpt_tail_options *options, struct cpt_tail **tail,
                        struct cpt_error *error)
{
    struct making making = {.sets = {base, new_set}};
    cpt_status status =
        cpt_options_read(&making.options, sizeof making.options, options, error);

    if (making.options.confidence == 0) {
        making.options.confidence = 0.95;
    }
    if (status == CPT_OK) {
        status = check(&making, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    making.tail = cpt_alloc_zeroed(alloc, sizeof *making.tail);
    if (making.tail == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    making.tail->alloc = alloc;
    making.tail->stacks = cpti_tree_new_bare(alloc);
    status = making.tail->stacks != NULL
                 ? compare(&making, error)
                 : cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    for (int i = 0; i < COMPARISONS; i++) {
        cpt_diff_free(making.diffs[i]);
    }
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(alloc, making.edges[i]);
        cpt_alloc_free(alloc, making.leans[i][0]);
        cpt_alloc_free(alloc, making.leans[i][1]);
    }
    if (status != CPT_OK) {
        cpt_tail_free(making.tail);
        return status;
    }
    *tail = making.tail;
    return CPT_OK;
}

void cpt_tail_free(struct cpt_tail *tail)
{
    if (tail == NULL) {
        return;
    }
    cpt_tree_free(tail->stacks);
    cpt_alloc_free(tail->alloc, tail->rows);
    cpt_alloc_free(tail->alloc, tail);
}

uint32_t cpt_tail_row_count(const struct cpt_tail *tail)
{
    return tail->row_count;
}

const struct cpt_tail_row *cpt_tail_row_at(const struct cpt_tail *tail, uint32_t index)
{
    assert(index < tail->row_count);
    return &tail->rows[index];
}

const struct cpt_tail_row *cpt_tail_total(const struct cpt_tail *tail)
{
    return &tail->total;
}

const struct cpt_tree *cpt_tail_tree(const struct cpt_tail *tail)
{
    return tail->stacks;
}
