/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sheet.h - an answer: the rows of a relation, and what is said before and behind them
 *
 *      people   head, table, "3 more rows: 2.5 ms", foot
 *      JSON     {put, rows, "rest": {"rows": 3, put_rest}}
 *      CSV      the rows alone
 *
 * With --max-bytes as many rows as fit (tool/table/capped.h). Threads: one at a time.
 */
#ifndef CPTI_TOOL_SHEET_H
#define CPTI_TOOL_SHEET_H

#include "tool/table/capped.h"
#include "tool/table/relation.h"

/* Each of the functions, which get @context, may be NULL. */
struct cpti_sheet {
    const struct cpti_view *view;
    struct cpti_rows rows;
    const void *context;
    size_t people_max; /* rows that people get; 0: all */
    bool counts_rest;  /* people are told how many further rows there are */
    bool has_rest;     /* JSON has "rest" also without a limit */
    /* What stands above the rows; CPTI_EXIT_DONE, or what ends it. */
    int (*head)(const void *context);
    void (*foot)(const void *context, size_t row_max);
    void (*put)(const void *context, struct cpti_json *json);
    /* What the rows from @row_max on have; the text goes behind their number. */
    const char *(*rest)(const void *context, size_t row_max, char text[64]);
    void (*put_rest)(const void *context, size_t row_max, struct cpti_json *json);
    /* The same as the last row of a table, in @last, which is a row. */
    void (*fill_last)(const void *context, size_t row_max, void *last);
    void *last;
};

/* Prints it on stdout. enum cpti_exit. */
int cpti_sheet_print(const struct cpti_sheet *sheet);

/* Writes the first @row_max rows as JSON to @file. */
void cpti_sheet_json(const struct cpti_sheet *sheet, size_t row_max, FILE *file);

#endif
