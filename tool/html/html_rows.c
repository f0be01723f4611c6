/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* html_rows.c - which stacks the HTML report has; see html_rows.h */
#include "tool/html/html_rows.h"

#include "tool/folds/group_time.h"
#include "tool/folds/views.h"
#include "aggregate/cpt_diff.h"

#include <assert.h>
#include <stdlib.h>

/* A row to be chosen: by its size or by its q. */
struct candidate {
    double q;
    uint64_t weight_ns;
    uint32_t index;
};

const struct cpt_tree *cpti_html_side_self(const struct cpti_html_side *side)
{
    return side->self != NULL ? side->self : side->tree;
}

const struct cpt_tree *cpti_html_side_whole(const struct cpti_html_side *side)
{
    return side->inclusive != NULL ? side->inclusive : side->tree;
}

uint64_t cpti_html_row_self_ns(const struct cpti_html_row *row, size_t side)
{
    return row->self[side] != NULL ? row->self[side]->self_ns : 0;
}

uint64_t cpti_html_row_whole_ns(const struct cpti_html_row *row, size_t side)
{
    return row->whole_ns[side];
}

/* --- Joining the trees --- */

/* Finds the row of each name on one side: both go by name. What has no name, as a mix
 * left it out of the comparison, is passed over. */
static void join(struct cpti_html_rows *rows, size_t side, bool is_whole)
{
    const struct cpt_tree_walk *walk =
        is_whole ? rows->whole_walks[side] : rows->self_walks[side];
    const struct cpt_tree *tree = is_whole ? cpti_html_side_whole(&rows->sides[side])
                                           : cpti_html_side_self(&rows->sides[side]);
    uint32_t i = 0;

    for (uint32_t next = 0; next < cpt_tree_walk_count(walk); next++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, next);
        int order = -1;

        while (i < rows->count &&
               (order = cpt_tree_stack_compare(rows->names, rows->rows[i].node, tree,
                                               row->node)) < 0) {
            i++;
        }
        if (order == 0 && is_whole && i != 0) { /* the root's is the mean latency */
            rows->rows[i].whole[side] = row;
        } else if (order == 0 && !is_whole) {
            rows->rows[i].self[side] = row;
            rows->rows[i].whole[side] = row;
        }
    }
}

/* Finds the time of row @i with all below it. That of a group is not of the walk, whose
 * rounding is for times that add up. */
static void find_whole(struct cpti_html_rows *rows, size_t side, uint32_t i)
{
    struct cpti_html_row *row = &rows->rows[i];

    if (row->whole[side] == NULL) {
        return;
    }
    row->whole_ns[side] =
        i == 0 || rows->whole_walks[side] == NULL
            ? row->whole[side]->inclusive_ns
            : cpti_group_inclusive_ns(
                  cpti_html_side_self(&rows->sides[side]),
                  cpti_html_side_whole(&rows->sides[side]), row->whole[side]->node,
                  cpti_html_row_self_ns(row, side),
                  cpt_tree_walk_row(rows->self_walks[side], 0)->inclusive_ns);
}

static void join_all(struct cpti_html_rows *rows)
{
    for (size_t side = 0; side < rows->side_count; side++) {
        join(rows, side, false);
        if (rows->whole_walks[side] != NULL) {
            join(rows, side, true);
        }
        for (uint32_t i = 0; i < rows->count; i++) {
            uint64_t ns;

            find_whole(rows, side, i);
            ns = cpti_html_row_whole_ns(&rows->rows[i], side);
            if (ns > rows->rows[i].weight_ns) {
                rows->rows[i].weight_ns = ns;
            }
        }
    }
}

/* Walks all trees and makes the rows. false without memory. */
static bool collect(struct cpti_html_rows *rows)
{
    rows->names_walk = cpt_tree_walk_new(NULL, rows->names, CPT_TREE_BY_NAME);
    if (rows->names_walk == NULL) {
        return false;
    }
    for (size_t i = 0; i < rows->side_count; i++) {
        const struct cpti_html_side *side = &rows->sides[i];

        rows->self_walks[i] =
            cpt_tree_walk_new(NULL, cpti_html_side_self(side), CPT_TREE_BY_NAME);
        if (side->inclusive != NULL) {
            rows->whole_walks[i] =
                cpt_tree_walk_new(NULL, side->inclusive, CPT_TREE_BY_NAME);
        }
        if (rows->self_walks[i] == NULL ||
            (side->inclusive != NULL && rows->whole_walks[i] == NULL)) {
            return false;
        }
    }
    rows->count = cpt_tree_walk_count(rows->names_walk);
    rows->rows = calloc(rows->count, sizeof *rows->rows);
    if (rows->rows == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(rows->names_walk, i);

        rows->rows[i].node = row->node;
        rows->rows[i].parent = row->parent;
    }
    join_all(rows);
    return true;
}

/* Gives each row its change. false without memory. */
static bool find_changes(struct cpti_html_rows *rows, const struct cpt_diff *diff)
{
    uint32_t *by_node = calloc(rows->count, sizeof *by_node);

    if (by_node == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        by_node[rows->rows[i].node] = i;
    }
    for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        rows->rows[by_node[row->node]].change = row;
    }
    rows->rows[0].change = cpt_diff_total(diff);
    free(by_node);
    return true;
}

/* --- Choosing --- */

/* The largest first; a parent, which is no smaller than its child, comes before it. */
static int compare_larger(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;

    if (a->weight_ns != b->weight_ns) {
        return a->weight_ns < b->weight_ns ? 1 : -1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_surer(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;

    if (a->q != b->q) {
        return a->q > b->q ? 1 : -1;
    }
    return compare_larger(left, right);
}

static bool is_significant(const struct cpti_html_row *row)
{
    return row->change != NULL && row->change->q_value < CPTI_HTML_SIGNIFICANT;
}

/* Gives @form to row @index and the rows above it. Returns how many were left. */
static uint32_t show(struct cpti_html_rows *rows, uint32_t index,
                     enum cpti_html_form form)
{
    uint32_t added = 0;

    while (index != CPT_TREE_NONE && rows->rows[index].form < form) {
        added += rows->rows[index].form == CPTI_HTML_LEFT;
        rows->rows[index].form = form;
        index = rows->rows[index].parent;
    }
    return added;
}

/* Shows the first @candidates until @count_max rows are shown. */
static uint32_t show_first(struct cpti_html_rows *rows,
                           const struct candidate *candidates, uint32_t candidate_count,
                           enum cpti_html_form form, uint32_t count)
{
    for (uint32_t i = 0; i < candidate_count && count < CPTI_HTML_STACKS_MAX; i++) {
        count += show(rows, candidates[i].index, form);
    }
    return count;
}

static uint32_t smaller(uint32_t left, uint32_t right)
{
    return left < right ? left : right;
}

/* Decides on the form of each row. false without memory. */
static bool choose(struct cpti_html_rows *rows)
{
    struct candidate *candidates = calloc(rows->count, sizeof *candidates);
    uint32_t sure_count = 0;
    uint32_t shown;

    if (candidates == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        if (i == 0 || is_significant(&rows->rows[i])) {
            candidates[sure_count++] =
                (struct candidate){i == 0 ? -1 : rows->rows[i].change->q_value,
                                   rows->rows[i].weight_ns, i};
        }
    }
    qsort(candidates, sure_count, sizeof *candidates, compare_surer);
    shown = show_first(rows, candidates, smaller(sure_count, CPTI_HTML_ROWS_MAX),
                       CPTI_HTML_FULL, 0);
    shown = show_first(rows, candidates, sure_count, CPTI_HTML_BRIEF, shown);
    for (uint32_t i = 0; i < rows->count; i++) {
        candidates[i] = (struct candidate){0, rows->rows[i].weight_ns, i};
    }
    qsort(candidates, rows->count, sizeof *candidates, compare_larger);
    shown = show_first(rows, candidates, smaller(rows->count, CPTI_HTML_ROWS_MAX),
                       CPTI_HTML_FULL, shown);
    (void)show_first(rows, candidates, rows->count, CPTI_HTML_BRIEF, shown);
    free(candidates);
    return true;
}

/* Counts the rows that are left, at the nearest parent that is shown. A row's `number`
 * is that parent until it is numbered. */
static void count_left(struct cpti_html_rows *rows)
{
    for (uint32_t i = 1; i < rows->count; i++) {
        struct cpti_html_row *row = &rows->rows[i];
        const struct cpti_html_row *parent = &rows->rows[row->parent];

        if (row->form != CPTI_HTML_LEFT) {
            continue;
        }
        row->number = parent->form != CPTI_HTML_LEFT ? row->parent : parent->number;
        rows->rows[row->number].left_count++;
        rows->left_significant_count += is_significant(row);
    }
}

/* Sums what is left: the time of a row that neither is its own nor that of the rows
 * shown below it. In a view, whose inclusive times overlap, the own times that are
 * missing from the sum. */
static void sum_left(struct cpti_html_rows *rows, size_t side)
{
    const bool is_view = rows->whole_walks[side] != NULL;

    for (uint32_t i = 0; i < rows->count; i++) {
        struct cpti_html_row *row = &rows->rows[i];
        const uint64_t self_ns = cpti_html_row_self_ns(row, side);
        const uint64_t whole_ns = cpti_html_row_whole_ns(row, side);

        if (row->form == CPTI_HTML_LEFT) {
            continue;
        }
        if (i == 0 || !is_view) {
            row->left_ns[side] = whole_ns - self_ns;
        }
        if (i != 0) { /* a parent comes before its children */
            rows->rows[row->parent].left_ns[side] -= is_view ? self_ns : whole_ns;
        }
    }
}

static void number(struct cpti_html_rows *rows)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < rows->count; i++) {
        rows->full_count += rows->rows[i].form == CPTI_HTML_FULL;
        rows->brief_count += rows->rows[i].form == CPTI_HTML_BRIEF;
    }
    for (int form = CPTI_HTML_FULL; form >= CPTI_HTML_BRIEF; form--) {
        for (uint32_t i = 0; i < rows->count; i++) {
            if ((int)rows->rows[i].form == form) {
                rows->rows[i].number = next++;
            }
        }
    }
}

bool cpti_html_rows_init(struct cpti_html_rows *rows,
                         const struct cpti_html_side *sides, size_t side_count,
                         const struct cpt_diff *diff)
{
    *rows = (struct cpti_html_rows){
        .sides = sides,
        .side_count = side_count,
        .names = diff != NULL ? cpt_diff_tree(diff) : cpti_html_side_whole(&sides[0]),
    };
    assert(side_count <= CPTI_HTML_SIDES_MAX);
    if (!collect(rows) || (diff != NULL && !find_changes(rows, diff)) ||
        !choose(rows)) {
        return false;
    }
    count_left(rows);
    for (size_t i = 0; i < side_count; i++) {
        sum_left(rows, i);
    }
    number(rows);
    return true;
}

void cpti_html_rows_deinit(struct cpti_html_rows *rows)
{
    cpt_tree_walk_free(rows->names_walk);
    for (size_t i = 0; i < rows->side_count; i++) {
        cpt_tree_walk_free(rows->self_walks[i]);
        cpt_tree_walk_free(rows->whole_walks[i]);
    }
    free(rows->rows);
    *rows = (struct cpti_html_rows){0};
}

void cpti_html_rows_text(const struct cpti_html_rows *rows, uint32_t node, char *text,
                         size_t capacity)
{
    const struct cpt_bytes name = cpt_tree_name(rows->names, node);

    if (rows->sides[0].self == NULL) {
        (void)cpt_tree_frame_text(rows->names, node, text, capacity);
    } else {
        (void)snprintf(text, capacity, "%.*s", (int)name.bytes, name.data);
    }
}
