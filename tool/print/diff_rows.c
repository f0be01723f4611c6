/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* diff_rows.c - a filter and an order of rows; see diff_rows.h */
#include "tool/print/diff_rows.h"

#include "tool/base/amounts.h"
#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a person sees without --max-q and --min: rows with a lower q value, or with a
 * change of at least this part of the base's mean latency. */
#define DEFAULT_MAX_Q 0.05
#define DEFAULT_PART  0.01

/* --- Options --- */

static int read_max_q(struct cpti_diff_filter *filter, const char *text)
{
    enum cpti_unit unit = CPTI_UNIT_NONE;
    const char *at = text;

    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    if (!cpti_amount_read(&at, &filter->max_q, &unit) || *at != '\0' ||
        unit != CPTI_UNIT_NONE || filter->max_q > 1) {
        return cpti_usage("option '--max-q' takes a number above 0 and up to 1, not "
                          "'%s'",
                          cpti_quoted(text));
    }
    return CPTI_EXIT_DONE;
}

static int read_min(struct cpti_diff_filter *filter, const char *text)
{
    double values[CPTI_AMOUNTS_MAX];
    size_t count = 0;
    int status = CPTI_EXIT_DONE;

    if (text != NULL) {
        status = cpti_amounts("min", text, CPTI_UNIT_TIME, values, &count);
        filter->min_ns = values[0];
    }
    if (count > 1) {
        return cpti_usage("option '--min' takes one time, not '%s'", cpti_quoted(text));
    }
    return status;
}

int cpti_diff_filter_init(struct cpti_diff_filter *filter,
                          const struct cpti_arguments *arguments)
{
    const char *order = cpti_value(arguments, "sort");
    int status;

    *filter =
        (struct cpti_diff_filter){.max_q = NAN, .min_ns = NAN, .rows_max = UINT64_MAX};
    if (order != NULL && strcmp(order, "q") == 0) {
        filter->order = CPTI_DIFF_BY_Q;
    } else if (order != NULL && strcmp(order, "name") == 0) {
        filter->order = CPTI_DIFF_BY_NAME;
    }
    status = cpti_whole_number(arguments, "top", 1, UINT64_MAX, &filter->rows_max);
    status = CPTI_THEN(status, read_max_q(filter, cpti_value(arguments, "max-q")));
    return status == CPTI_EXIT_DONE ? read_min(filter, cpti_value(arguments, "min"))
                                    : status;
}

/* --- Selecting --- */

/* A limit that is not given holds for every row. */
static bool is_shown(const struct cpti_diff_rows *rows, const struct cpt_diff_row *row)
{
    const double size_ns = fabs(row->self.delta_ns);
    const bool is_low = isnan(rows->max_q) || row->q_value <= rows->max_q;
    const bool is_large = isnan(rows->min_ns) || size_ns >= rows->min_ns;

    return rows->is_default ? is_low || is_large : is_low && is_large;
}

/* The smallest q value first; the larger change first if they are the same. */
static int by_q(const void *left, const void *right)
{
    const struct cpt_diff_row *a = *(const struct cpt_diff_row *const *)left;
    const struct cpt_diff_row *b = *(const struct cpt_diff_row *const *)right;

    if (a->q_value != b->q_value) {
        return a->q_value < b->q_value ? -1 : 1;
    }
    return (a > b) - (a < b); /* of one array, which is in the order of size */
}

/* Puts the rows in the order of their stacks. False without memory. */
static bool sort_by_name(struct cpti_diff_rows *rows, const struct cpt_diff *diff)
{
    const struct cpt_tree *tree = cpt_diff_tree(diff);
    struct cpt_tree_walk *walk = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
    const struct cpt_diff_row **by_node =
        calloc(cpt_tree_node_count(tree), sizeof(const struct cpt_diff_row *));
    uint32_t count = 0;

    if (walk != NULL && by_node != NULL) {
        for (uint32_t i = 0; i < cpt_diff_row_count(diff); i++) {
            const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

            if (is_shown(rows, row)) {
                by_node[row->node] = row;
            }
        }
        for (uint32_t i = 0; i < cpt_tree_walk_count(walk); i++) {
            const struct cpt_diff_row *row = by_node[cpt_tree_walk_row(walk, i)->node];

            if (row != NULL) {
                rows->rows[count++] = row;
            }
        }
    }
    cpt_tree_walk_free(walk);
    free(by_node);
    return count == rows->count;
}

cpt_status cpti_diff_rows_init(struct cpti_diff_rows *rows, const struct cpt_diff *diff,
                               const struct cpti_diff_filter *filter,
                               const struct cpti_view *view, const void *context)
{
    const uint32_t all = cpt_diff_row_count(diff);

    *rows = (struct cpti_diff_rows){.max_q = filter->max_q, .min_ns = filter->min_ns};
    if (cpti_view_is_for_people(view) && isnan(filter->max_q) &&
        isnan(filter->min_ns) && filter->rows_max == UINT64_MAX) {
        rows->is_default = true;
        rows->max_q = DEFAULT_MAX_Q;
        rows->min_ns = DEFAULT_PART * cpt_diff_total(diff)->inclusive.base_ns;
    }
    rows->rows = calloc((size_t)all + 1, sizeof(const struct cpt_diff_row *));
    if (rows->rows == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < all; i++) {
        const struct cpt_diff_row *row = cpt_diff_row_at(diff, i);

        if (is_shown(rows, row)) {
            rows->rows[rows->count++] = row;
        }
    }
    rows->hidden_count = all - rows->count;
    if (filter->order == CPTI_DIFF_BY_Q) {
        qsort(rows->rows, rows->count, sizeof(const struct cpt_diff_row *), by_q);
    } else if (filter->order == CPTI_DIFF_BY_NAME && !sort_by_name(rows, diff)) {
        return CPT_NO_MEMORY;
    }
    cpti_relation_sort(view, rows->rows, rows->count, 0, context);
    if (rows->count > filter->rows_max) {
        rows->count = (uint32_t)filter->rows_max;
    }
    return CPT_OK;
}

void cpti_diff_rows_deinit(struct cpti_diff_rows *rows)
{
    free(rows->rows);
    *rows = (struct cpti_diff_rows){0};
}
