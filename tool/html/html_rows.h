/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_rows.h - which stacks the HTML report has, and how much it knows of each
 *
 * The rows are those of one tree, or of the union that a diff made. All trees are
 * walked by name, which orders all of them alike, so one merge pass finds the rows of
 * each side:
 *
 *      union    A   A;B   A;C   A;C;D
 *      base     A   A;B   -     -
 *      new      A   -     A;C   A;C;D
 *
 * A page of a million stacks helps no reader, so there are three forms:
 *
 *      full     the largest, and the significant changes: all numbers, a histogram
 *      brief    up to CPTI_HTML_STACKS_MAX: name, times and change, to be found, summed
 *               and sorted; significant changes first, then the largest
 *      left     only their count and their sum, below the nearest parent that is shown
 *
 * The parent of a full row is full, that of a brief row is full or brief.
 */
#ifndef CPTI_CLI_HTML_ROWS_H
#define CPTI_CLI_HTML_ROWS_H

#include "tool/html/html_data.h"
#include "aggregate/cpt_tree.h"

#include <stdbool.h>

struct cpt_diff_row;

enum { CPTI_HTML_SIDES_MAX = 2 };

enum cpti_html_form { CPTI_HTML_LEFT = 0, CPTI_HTML_BRIEF, CPTI_HTML_FULL };

/* One row, and its place in the trees of each side. */
struct cpti_html_row {
    uint32_t node;   /* of the tree that has all names */
    uint32_t parent; /* row; CPT_TREE_NONE for the first */
    const struct cpt_tree_row *self[CPTI_HTML_SIDES_MAX];  /* NULL: not there */
    const struct cpt_tree_row *whole[CPTI_HTML_SIDES_MAX]; /* with all below */
    uint64_t whole_ns[CPTI_HTML_SIDES_MAX];                /* average, as printed */
    const struct cpt_diff_row *change;                     /* NULL: none */
    uint64_t weight_ns; /* the larger of its inclusive times */
    enum cpti_html_form form;
    uint32_t number;                       /* in the page, full rows first */
    uint32_t left_count;                   /* rows below it that are left, … */
    uint64_t left_ns[CPTI_HTML_SIDES_MAX]; /* … and their time */
};

struct cpti_html_rows {
    const struct cpti_html_side *sides;
    size_t side_count;
    const struct cpt_tree *names;
    struct cpt_tree_walk *names_walk;
    struct cpt_tree_walk *self_walks[CPTI_HTML_SIDES_MAX];
    struct cpt_tree_walk *whole_walks[CPTI_HTML_SIDES_MAX]; /* of views; or NULL */
    struct cpti_html_row *rows;                             /* in the order of names */
    uint32_t count;
    uint32_t full_count;
    uint32_t brief_count;
    uint32_t left_significant_count; /* significant rows that are left */
};

/* Makes the rows; arguments as of cpti_html_data(). false without memory. Deinit them
 * in any case. */
bool cpti_html_rows_init(struct cpti_html_rows *rows,
                         const struct cpti_html_side *sides, size_t side_count,
                         const struct cpt_diff *diff);
void cpti_html_rows_deinit(struct cpti_html_rows *rows);

/* The times of a row; 0 where it is not there. */
uint64_t cpti_html_row_self_ns(const struct cpti_html_row *row, size_t side);
uint64_t cpti_html_row_whole_ns(const struct cpti_html_row *row, size_t side);

/* The trees of a side: of self times, and of inclusive times. */
const struct cpt_tree *cpti_html_side_self(const struct cpti_html_side *side);
const struct cpt_tree *cpti_html_side_whole(const struct cpti_html_side *side);

/* Writes what the row of @node is called: its last frame or, in a view, the name of the
 * group, as `cpt diff --by` writes it. */
void cpti_html_rows_text(const struct cpti_html_rows *rows, uint32_t node, char *text,
                         size_t capacity);

#endif
