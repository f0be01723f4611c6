/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * table.h - rows of text under headings, fitted to the terminal
 *
 *      self ms   share  frame
 *       12.000   33.3%  A: /
 *       24.000   66.7%    B: Lo…
 *
 * A column is as wide as its widest cell; numbers are right-aligned. If the last column
 * does not fit into the terminal, its short form is taken, and cut in the middle.
 *
 * In order of use: cpti_table_of; cpti_table_cell for each column of each row;
 * cpti_table_print, which also frees the table. If memory runs out, rows are lost and
 * printing fails.
 */
#ifndef CPTI_CLI_TABLE_H
#define CPTI_CLI_TABLE_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stddef.h>

enum { CPTI_TABLE_COLUMNS_MAX = 17 };

struct cpti_table {
    size_t column_count;
    const char *headings[CPTI_TABLE_COLUMNS_MAX];
    size_t widths[CPTI_TABLE_COLUMNS_MAX];
    size_t columns; /* of the terminal; 0: no limit */
    char
        *text; /* row by row: the cells, each with its NUL, and the short of the last */
    size_t text_bytes;
    size_t text_capacity;
    size_t cell_count;
    bool has_short;   /* the last row has got it; an empty one is the cell itself */
    bool is_broken;   /* memory ran out */
    bool cuts_front;  /* the last column holds stacks: their ends tell most */
    bool is_markdown; /* text is escaped and not cut */
    bool has_sides;   /* columns are aligned as @is_text says */
    bool is_text[CPTI_TABLE_COLUMNS_MAX];
};

/* A table with @count headings, which are borrowed; the last column is text, the others
 * are numbers, unless has_sides is set then. */
struct cpti_table cpti_table_of(const char *const *headings, size_t count);

/* Adds the next cell, row by row, and copies its text. */
void cpti_table_cell(struct cpti_table *table, const char *format, ...)
    CPT_PRINTF(2, 3);
void cpti_table_text(struct cpti_table *table, const char *text);

/* After the last cell of a row: the text to be cut if the cell does not fit. */
void cpti_table_short(struct cpti_table *table, const char *format, ...)
    CPT_PRINTF(2, 3);

/* Prints the table on stdout, and frees it. enum cpti_exit. */
int cpti_table_print(struct cpti_table *table);

#endif
