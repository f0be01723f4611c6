/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_data.h - what the HTML report shows, as JSON
 *
 *      sides    one, or base and new: the tree as a whole, its bands with examples
 *      rows     stacks in the order of names, a parent before its children, with
 *               their times on each side and the change between them
 *
 * The times of a side are whole nanoseconds. If no row is left out, the self_ns of all
 * rows add up to the inclusive_ns of row 0, the mean latency.
 */
#ifndef CPTI_CLI_HTML_DATA_H
#define CPTI_CLI_HTML_DATA_H

#include "cpt/cli/print/bands.h"

#include <stdio.h>

struct cpt_diff;

/* The most stacks shown (the largest), and the most segments of an example. */
enum { CPTI_HTML_ROWS_MAX = 3000, CPTI_HTML_SEGMENTS_MAX = 4000 };

/* A tree to show. */
struct cpti_html_side {
    const char *name; /* "base" */
    const struct cpt_tree *tree;
    const struct cpti_bands *bands;
};

/* Writes the JSON; @diff compares the two @sides, or is NULL for one. enum
 * cpti_exit. */
int cpti_html_data(FILE *file, const struct cpti_html_side *sides, size_t side_count,
                   const struct cpt_diff *diff);

#endif
