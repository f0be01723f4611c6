/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff.c - which stacks changed between two samples
 *
 * The stacks of both trees go into a third tree, which has no sums but gives every
 * stack one number, its parent and its texts. change.c tests the two means of a row; a
 * stack that a tree lacks has mean 0 there. The q values bound the share of false rows
 * among many (false_discovery.c). Rows that hardly any request had are not tested, as
 * no test could call them real, and each test makes all others weaker.
 *
 * Which rows have lost the critical path? Presences are compared, root first, as shares
 * of two samples. If the presence of a stack fell, that of its parent did not, and that
 * of another child of this parent rose, then the path has moved from the first child to
 * the other. The first child and all rows below it have lost the path, unless their
 * size fell more than their frequency:
 *
 *      A1         1.00 -> 1.00
 *      |- A2      0.50 -> 0.10   fell: A2 and all rows below it have lost the path
 *      '- B1      0.50 -> 0.90   rose
 *
 * Presences differ by chance, too, so both changes must be at least PRESENCE_ERRORS
 * standard errors.
 *
 * Cost: O(n log n) for n stacks, and an inverse of Student's distribution for each.
 */
#include "aggregate/cpt_diff.h"

#include "aggregate/compare/change.h"
#include "aggregate/compare/diff_side.h"
#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A presence has changed if it differs by this many standard errors; chance does that
 * once in 400 times. */
#define PRESENCE_ERRORS 3.0

struct cpt_diff {
    const struct cpt_alloc *alloc;
    struct cpt_tree *stacks;
    struct cpt_diff_row *rows; /* behind the total, which is the row of the root */
    uint32_t row_count;        /* without the total */
    uint32_t tested_count;
};

/* --- One row --- */

/* Splits the change of the self time; see cpt_diff.h. If a side never had the stack,
 * its size there is unknown, and the whole change is frequency. */
static void split_change(struct cpt_diff_row *row)
{
    const double base = row->base_presence;
    const double other = row->new_presence;

    if (!(base > 0) || !(other > 0)) {
        row->frequency_ns = row->self.delta_ns;
        row->size_ns = 0;
        return;
    }
    row->frequency_ns =
        (other - base) * (row->self.base_ns / base + row->self.new_ns / other) / 2;
    row->size_ns = row->self.delta_ns - row->frequency_ns;
}

static bool is_same(double left, double right)
{
    return left == right || (isnan(left) && isnan(right));
}

/* Whether two means are the same. */
static bool is_equal(const struct cpt_mean *left, const struct cpt_mean *right)
{
    return is_same(left->mean_ns, right->mean_ns) &&
           is_same(left->deviation_ns, right->deviation_ns) &&
           is_same(left->error_ns, right->error_ns) &&
           is_same(left->effective_count, right->effective_count) &&
           is_same(left->skewness, right->skewness);
}

/* @counts: the effective counts of requests of both samples. */
static struct cpt_diff_row row_of(uint32_t node, const struct cpt_stats *base,
                                  const struct cpt_stats *other, const double *counts,
                                  double confidence)
{
    const struct cpt_change self =
        cpti_change_of(&base->self, &other->self, confidence);
    struct cpt_diff_row row = {
        .node = node,
        .self = self,
        .inclusive =
            is_equal(&base->self, &base->inclusive) &&
                    is_equal(&other->self, &other->inclusive)
                ? self /* most stacks have none below them */
                : cpti_change_of(&base->inclusive, &other->inclusive, confidence),
        .base_presence = base->presence,
        .new_presence = other->presence,
        .base_present_count = base->present_count,
        .new_present_count = other->present_count,
        .doubt = cpti_change_doubt(counts[0], counts[1], base->present_effective_count,
                                   other->present_effective_count),
    };

    row.is_tested = cpti_change_is_tested(
        &row.self, base->present_effective_count + other->present_effective_count);
    row.is_rare = row.doubt != CPT_DIFF_TRUSTED;
    split_change(&row);
    return row;
}

/* --- All rows --- */

/* What a row has besides before the rows are sorted. */
struct place {
    uint32_t parent; /* the place of its parent in the order of the stacks */
    int8_t turn;     /* -1: its presence fell, 1: it rose; 0: not by more than chance */
    bool has_riser;  /* a child's presence rose */
    bool has_lost;   /* its presence fell, and the path moved to another branch */
};

/* The turn of a row: two shares of samples are equal unless they differ too much. */
static int turn_of(const struct cpt_diff_row *row, double base_count, double new_count)
{
    const double delta = row->new_presence - row->base_presence;
    const double both =
        (base_count * row->base_presence + new_count * row->new_presence) /
        (base_count + new_count);
    const double error = sqrt(both * (1 - both) * (1 / base_count + 1 / new_count));

    return delta * delta > PRESENCE_ERRORS * PRESENCE_ERRORS * error * error
               ? (delta > 0) - (delta < 0)
               : 0;
}

/* Marks rows that lost the critical path. They are in the order of the stacks, so a
 * parent comes before its children. */
static void mark_lost(struct cpt_diff_row *rows, struct place *places, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (places[i].turn > 0) {
            places[places[i].parent].has_riser = true;
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        const struct place *parent = &places[places[i].parent];
        struct cpt_diff_row *row = &rows[i];

        places[i].has_lost = places[i].turn < 0 &&
                             (parent->turn < 0 ? parent->has_lost : parent->has_riser);
        row->lost_path = places[i].has_lost && row->frequency_ns < 0 &&
                         row->self.delta_ns < 0 &&
                         fabs(row->frequency_ns) > fabs(row->size_ns);
    }
}

/* Sets the q values; returns how many rows were tested. @values has room for all. */
static cpt_status set_q_values(struct cpt_diff *diff, uint32_t count, double *values)
{
    struct cpt_diff_row *rows = diff->rows;
    uint32_t tested = 0;
    cpt_status status;

    for (uint32_t i = 1; i < count; i++) {
        if (rows[i].is_tested) {
            values[tested++] = rows[i].self.p_value;
        }
    }
    status = cpt_stats_q_values(diff->alloc, values, values, tested);
    diff->tested_count = tested;
    tested = 0;
    for (uint32_t i = 1; i < count; i++) {
        struct cpt_diff_row *row = &rows[i];

        row->q_value = row->is_tested ? values[tested++] : 1;
    }
    rows[0].q_value = rows[0].inclusive.p_value;
    rows[0].is_tested = 1;
    return status;
}

/* Sets the smallest change that each row would show: the p value that suffices is that
 * of one more row beside those found (Benjamini and Hochberg). */
static void set_detectable(struct cpt_diff_row *rows, uint32_t count, uint32_t tested)
{
    uint32_t found = 0;
    double p = CPT_DIFF_DETECTABLE_Q;

    for (uint32_t i = 1; i < count; i++) {
        found += rows[i].q_value < CPT_DIFF_DETECTABLE_Q;
    }
    rows[0].detectable_ns = cpti_change_detectable_ns(&rows[0].inclusive, p);
    p = tested != 0 ? p * fmin(1, (found + 1.0) / tested) : p;
    for (uint32_t i = 1; i < count; i++) {
        rows[i].detectable_ns = cpti_change_detectable_ns(&rows[i].self, p);
    }
}

/* Sets the members of rows that depend on all rows. */
static cpt_status compare_rows(struct cpt_diff *diff, struct place *places,
                               uint32_t count)
{
    struct cpt_diff_row *rows = diff->rows;
    const double delta_ns = rows[0].inclusive.delta_ns;
    double *values = cpt_alloc_array(diff->alloc, NULL, count, sizeof *values);
    cpt_status status = CPT_NO_MEMORY;

    if (values == NULL) {
        return CPT_NO_MEMORY;
    }
    status = set_q_values(diff, count, values);
    for (uint32_t i = 0; i < count; i++) {
        struct cpt_diff_row *row = &rows[i];

        row->share = delta_ns != 0 ? row->self.delta_ns / delta_ns : NAN;
    }
    cpt_alloc_free(diff->alloc, values);
    set_detectable(rows, count, diff->tested_count);
    mark_lost(rows, places, count);
    return status;
}

/* Doubts @row if a side has too few clusters, or if too few have the stack. */
static void doubt_clusters(struct cpt_diff_row *row, const struct cpti_side *sides)
{
    const double count = fmin(sides[0].parts->summary.effective_count,
                              sides[1].parts->summary.effective_count);
    const double with = fmax(cpti_side_clusters_with(&sides[0], row->node),
                             cpti_side_clusters_with(&sides[1], row->node));

    if (row->doubt == CPT_DIFF_TRUSTED &&
        fmin(count, with) < CPT_CLUSTERS_TRUSTED_MIN) {
        row->doubt = CPT_DIFF_FEW_CLUSTERS;
        row->is_rare = 1;
    }
}

/* The place of the parent of the stack at @place: the last one before it that is less
 * deep. */
static uint32_t parent_place(const struct cpt_tree *stacks, const uint32_t *order,
                             const struct place *places, uint32_t place)
{
    const unsigned depth = stacks->stacks[order[place]].depth;
    uint32_t parent = place - 1;

    while (stacks->stacks[order[parent]].depth >= depth) {
        parent = places[parent].parent;
    }
    return parent;
}

/* Makes the rows in the order of the stacks. */
static void place_rows(struct cpt_diff *diff, struct place *places,
                       const uint32_t *order, const struct cpti_side *sides,
                       double confidence)
{
    const double counts[2] = {cpti_side_count(&sides[0]), cpti_side_count(&sides[1])};
    /* what is independent: requests, or clusters */
    const double units[2] = {cpti_side_unit_count(&sides[0]),
                             cpti_side_unit_count(&sides[1])};

    for (uint32_t i = 0; i <= diff->row_count; i++) {
        struct cpt_diff_row *row = &diff->rows[i];
        struct cpt_stats pair[2];

        cpti_sides_pair(sides, order[i], pair);
        *row = row_of(order[i], &pair[0], &pair[1], counts, confidence);
        if (sides->parts->clusters != NULL) {
            doubt_clusters(row, sides);
        }
        places[i] = (struct place){
            .parent = i == 0 ? 0 : parent_place(diff->stacks, order, places, i),
            .turn = (int8_t)turn_of(row, units[0], units[1])};
    }
}

/* --- Their order --- */

/* Where a row goes: rows are large, and there may be a million. */
struct sorted {
    double size;
    uint32_t place; /* in the order of the stacks */
};

static int by_difference(const void *left, const void *right)
{
    const struct sorted *a = left;
    const struct sorted *b = right;

    if (a->size != b->size) {
        return a->size > b->size ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

/* Moves row order[i].place to place i, along the cycles of the permutation. */
static void move_rows(struct cpt_diff_row *rows, struct sorted *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct cpt_diff_row first = rows[i];
        uint32_t at = i;

        while (order[at].place != i) {
            const uint32_t from = order[at].place;

            rows[at] = rows[from];
            order[at].place = at;
            at = from;
        }
        rows[at] = first;
        order[at].place = at;
    }
}

/* Sorts the rows but for the total. */
static cpt_status sort_rows(struct cpt_diff *diff)
{
    struct cpt_diff_row *rows = diff->rows + 1;
    struct sorted *order =
        cpt_alloc_array(diff->alloc, NULL, diff->row_count, sizeof *order);

    if (order == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < diff->row_count; i++) {
        order[i] = (struct sorted){fabs(rows[i].self.delta_ns), i};
    }
    qsort(order, diff->row_count, sizeof *order, by_difference);
    move_rows(rows, order, diff->row_count);
    cpt_alloc_free(diff->alloc, order);
    return CPT_OK;
}

static cpt_status make_rows(struct cpt_diff *diff, const struct cpti_side *sides,
                            double confidence)
{
    const size_t count = diff->stacks->node_count;
    uint32_t *order = cpt_alloc_array(diff->alloc, NULL, count, sizeof *order);
    struct place *places = cpt_alloc_array(diff->alloc, NULL, count, sizeof *places);
    cpt_status status = CPT_NO_MEMORY;

    diff->row_count = (uint32_t)count - 1;
    if (order != NULL && places != NULL) {
        status = cpti_tree_order(diff->alloc, diff->stacks, CPT_TREE_BY_NAME, order);
    }
    if (status == CPT_OK) {
        place_rows(diff, places, order, sides, confidence);
    }
    cpt_alloc_free(diff->alloc, order);
    if (status == CPT_OK) {
        status = compare_rows(diff, places, diff->row_count + 1);
    }
    cpt_alloc_free(diff->alloc, places);
    return status == CPT_OK ? sort_rows(diff) : status;
}

/* The @part_count parts of the base come first in @parts, then those of the other. */
static cpt_status compare(struct cpt_diff *diff, struct cpti_diff_part *parts,
                          size_t part_count, double confidence)
{
    const struct cpti_side sides[2] = {{parts, part_count},
                                       {parts + part_count, part_count}};
    cpt_status status =
        cpti_parts_map(diff->alloc, diff->stacks, parts, 2 * part_count);

    if (status == CPT_OK) {
        diff->rows = cpt_alloc_array(diff->alloc, NULL, diff->stacks->node_count,
                                     sizeof *diff->rows);
        status =
            diff->rows == NULL ? CPT_NO_MEMORY : make_rows(diff, sides, confidence);
    }
    for (size_t i = 0; i < 2 * part_count; i++) {
        cpti_part_deinit(&parts[i], diff->alloc);
    }
    return status;
}

/* --- Public --- */

static cpt_status check_trees(const struct cpt_tree *base, const struct cpt_tree *other,
                              struct cpt_error *error)
{
    if (cpt_tree_request_count(base) == 0 || cpt_tree_request_count(other) == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "the %s side has no requests",
                             cpt_tree_request_count(base) == 0 ? "base" : "new");
    }
    return CPT_OK;
}

static cpt_status check_strata(const struct cpt_diff_stratum *strata, size_t count,
                               struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        if ((strata[i].base_inclusive == NULL) != (strata[i].new_inclusive == NULL)) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "inclusive times are given for one side only");
        }
        if (!(strata[i].share > 0 && strata[i].share <= 1)) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "the share of a stratum is %g, it must be above 0 and "
                                 "at most 1",
                                 strata[i].share);
        }
        status = check_trees(strata[i].base, strata[i].new_tree, error);
    }
    return status;
}

static cpt_status read_options(struct cpt_diff_options *own,
                               const struct cpt_diff_options *options,
                               struct cpt_error *error)
{
    const cpt_status status = cpt_options_read(own, sizeof *own, options, error);

    if (status != CPT_OK) {
        return status;
    }
    if (own->confidence == 0) {
        own->confidence = 0.95;
    }
    if (!(own->confidence > 0 && own->confidence < 1)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the confidence is %g, it must be between 0 and 1",
                             own->confidence);
    }
    if ((own->base_clusters == NULL) != (own->new_clusters == NULL) ||
        (own->base_clusters != NULL &&
         ((own->base_inclusive == NULL) != (own->base_inclusive_clusters == NULL) ||
          (own->new_inclusive == NULL) != (own->new_inclusive_clusters == NULL)))) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "clusters are given for some of the trees only");
    }
    return CPT_OK;
}

/* Compares the two sides, whose parts are written to @parts: base first, then new. */
static cpt_status diff_parts(struct cpt_diff *made,
                             const struct cpt_diff_stratum *strata, size_t count,
                             struct cpti_diff_part *parts,
                             const struct cpt_diff_options *options)
{
    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct cpti_diff_part){.tree = strata[i].base,
                                           .inclusive = strata[i].base_inclusive,
                                           .share = strata[i].share};
        parts[count + i] = (struct cpti_diff_part){.tree = strata[i].new_tree,
                                                   .inclusive = strata[i].new_inclusive,
                                                   .share = strata[i].share};
    }
    if (count == 1) {
        parts[0].clusters = options->base_clusters;
        parts[0].inclusive_clusters = options->base_inclusive_clusters;
        parts[1].clusters = options->new_clusters;
        parts[1].inclusive_clusters = options->new_inclusive_clusters;
    }
    made->stacks = cpti_tree_new_bare(made->alloc);
    return made->stacks == NULL ? CPT_NO_MEMORY
                                : compare(made, parts, count, options->confidence);
}

cpt_status cpt_diff_new_strata(const struct cpt_alloc *alloc,
                               const struct cpt_diff_stratum *strata,
                               size_t stratum_count,
                               const struct cpt_diff_options *options,
                               struct cpt_diff **diff, struct cpt_error *error)
{
    struct cpt_diff_options own;
    struct cpt_diff *made = NULL;
    struct cpti_diff_part *parts = NULL;
    cpt_status status = read_options(&own, options, error);

    if (status != CPT_OK) {
        return status;
    }
    status = check_strata(strata, stratum_count, error);
    if (status != CPT_OK) {
        return status;
    }
    if (stratum_count == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "there is no stratum");
    }
    if (stratum_count > 1 && own.base_clusters != NULL) {
        return cpt_error_set(error, CPT_INVALID, 0, "strata have no errors by cluster");
    }
    made = cpt_alloc_zeroed(alloc, sizeof *made);
    parts = cpt_alloc_array(alloc, NULL, 2 * stratum_count, sizeof *parts);
    if (made == NULL || parts == NULL) {
        cpt_alloc_free(alloc, made);
        cpt_alloc_free(alloc, parts);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    made->alloc = alloc;
    status = diff_parts(made, strata, stratum_count, parts, &own);
    cpt_alloc_free(alloc, parts);
    if (status != CPT_OK) {
        cpt_diff_free(made);
        return cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
    }
    *diff = made;
    return CPT_OK;
}

cpt_status cpt_diff_new(const struct cpt_alloc *alloc, const struct cpt_tree *base,
                        const struct cpt_tree *new_tree,
                        const struct cpt_diff_options *options, struct cpt_diff **diff,
                        struct cpt_error *error)
{
    struct cpt_diff_options own;
    const cpt_status status = read_options(&own, options, error);
    const struct cpt_diff_stratum all = {.base = base,
                                         .new_tree = new_tree,
                                         .base_inclusive = own.base_inclusive,
                                         .new_inclusive = own.new_inclusive,
                                         .share = 1};

    return status == CPT_OK ? cpt_diff_new_strata(alloc, &all, 1, options, diff, error)
                            : status;
}

void cpt_diff_free(struct cpt_diff *diff)
{
    if (diff == NULL) {
        return;
    }
    cpt_tree_free(diff->stacks);
    cpt_alloc_free(diff->alloc, diff->rows);
    cpt_alloc_free(diff->alloc, diff);
}

uint32_t cpt_diff_row_count(const struct cpt_diff *diff)
{
    return diff->row_count;
}

const struct cpt_diff_row *cpt_diff_row_at(const struct cpt_diff *diff, uint32_t index)
{
    assert(index < diff->row_count);
    return &diff->rows[index + 1];
}

uint32_t cpt_diff_tested_count(const struct cpt_diff *diff)
{
    return diff->tested_count;
}

const struct cpt_diff_row *cpt_diff_total(const struct cpt_diff *diff)
{
    return &diff->rows[0];
}

const struct cpt_tree *cpt_diff_tree(const struct cpt_diff *diff)
{
    return diff->stacks;
}
