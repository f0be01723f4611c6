/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_data.h - what the HTML report shows, as JSON
 *
 *      sides    one, or base and new: the tree as a whole, its bands with examples
 *      rows     stacks in the order of names, a parent before its children; of each
 *               the times on each side, and the change between them
 *
 * The times of a side are whole nanoseconds and add up: self_ns of all rows and
 * left_out_ns is inclusive_ns of row 0, the mean latency.
 */
#ifndef CPTI_CLI_HTML_DATA_H
#define CPTI_CLI_HTML_DATA_H

#include "cpt/cli/print/bands.h"

#include <stdio.h>

struct cpt_diff;

/* Stacks that are shown; of more the largest. And segments of an example. */
enum { CPTI_HTML_ROWS_MAX = 3000, CPTI_HTML_SEGMENTS_MAX = 4000 };

/* A tree to be shown. */
struct cpti_html_side {
    const char *name; /* "base" */
    const struct cpt_tree *tree;
    const struct cpti_bands *bands;
};

/* Writes it; @diff is of the two @sides, or NULL for one. enum cpti_exit. */
int cpti_html_data(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                   const struct cpt_diff *diff);

#endif
