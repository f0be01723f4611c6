/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * table.h - rows of text under headings, fitted to the terminal
 *
 *      self ms   share  frame
 *       12.000   33.3%  A: /
 *       24.000   66.7%    B: Lo…
 *
 * Columns are as wide as their widest cell, numbers stand to the right. The last column
 * is the one that gives way: what does not fit the terminal is cut, with an ellipsis.
 *
 * In order of use: cpti_table_new; for each row a cpti_table_cell for each column;
 * cpti_table_print; cpti_table_free. Without memory rows are lost and printing fails.
 */
#ifndef CPTI_CLI_TABLE_H
#define CPTI_CLI_TABLE_H

#include "cpt/cpt_status.h"

#include <stddef.h>

enum { CPTI_TABLE_COLUMNS_MAX = 16 };

struct cpti_table;

/* A table with the @count headings; the last column is text, the others are numbers. */
struct cpti_table *cpti_table_new(const char *const *headings, size_t count);
void cpti_table_free(struct cpti_table *table);

/* Lets the last column be cut at its front, for stacks: their end says most. */
void cpti_table_cut_front(struct cpti_table *table);

/* The next cell, row by row. The text is copied. */
void cpti_table_cell(struct cpti_table *table, const char *format, ...)
    CPT_PRINTF(2, 3);

/* Prints it on stdout. enum cpti_exit. */
int cpti_table_print(const struct cpti_table *table);

/* The same as a table of Markdown, never cut; its text is escaped. */
int cpti_table_print_markdown(const struct cpti_table *table);

#endif
