/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_data.h - what the page shows, as JSON: that of `cpt report --html` has it
 * inside, that of `cpt web` asks for it
 *
 *      by       "stack", "service", "name" or "edge": what a row is
 *      sides    one, or base and new: the tree as a whole, the histogram of its
 *               latencies, its bands with examples
 *      rows     in the order of names, a parent before its children, with their times
 *               on each side and the change between them (html_rows.h says which)
 *      names, brief, rest    further rows in short, and the sums of all others
 *               (html_brief.h)
 *      left_out, left_out_significant    counts of those others
 *
 * The times of a side are whole nanoseconds. Rows by stack: the self times of all rows,
 * with what is in `rest`, add up to the inclusive_ns of row 0, the mean latency.
 */
#ifndef CPTI_CLI_HTML_DATA_H
#define CPTI_CLI_HTML_DATA_H

#include "tool/base/messages.h"
#include "tool/html/bands.h"

#include <stdio.h>

struct cpt_diff;

/* The most rows with all numbers, as the largest and as significant ones; the most rows
 * with a name. */
enum { CPTI_HTML_ROWS_MAX = 3000, CPTI_HTML_STACKS_MAX = 100000 };

/* A change with a smaller q is shown before larger rows. */
#define CPTI_HTML_SIGNIFICANT 0.05

/* A set of requests to show. */
struct cpti_html_side {
    const char *name;               /* "base" */
    const struct cpt_tree *tree;    /* its stacks, with the notes of the selection */
    const struct cpti_bands *bands; /* or NULL */
    const struct cpt_tree *self; /* the trees of a view (cpt_view.h) if rows are … */
    const struct cpt_tree *inclusive; /* … services, names or edges; otherwise NULL */
};

/* Writes the JSON; @diff compares the two @sides, or is NULL for one. enum
 * cpti_exit. */
int cpti_html_data(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                   const struct cpt_diff *diff);

/* The same with what a row is; the sides have the trees of that view. @notes are the
 * messages of the reading, one a line, each after "cpt: "; NULL: they are not known. */
int cpti_html_data_by(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                      const struct cpt_diff *diff, const char *by,
                      const struct cpti_messages *notes);

#endif
