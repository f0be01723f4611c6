/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_print.h - what is said of a comparison. Threads: one at a time. */
#ifndef CPTI_CLI_CULPRIT_PRINT_H
#define CPTI_CLI_CULPRIT_PRINT_H

#include "tool/culprit/culprit_kind.h"
#include "tool/table/relation.h"

struct cpti_culprit_print {
    const struct cpti_culprit *culprit;   /* that was judged */
    const struct cpti_culprit_kind *kind; /* who is looked for, … */
    const char *by;                       /* … as it was asked for, or NULL */
    const char *cluster;                  /* whose values are the clusters, or NULL */
    const char *hint;    /* requests of one value of it resemble each other, or NULL */
    uint64_t missing[2]; /* requests without the attribute, visits without a host */
    uint64_t rows_max;   /* of text */
    const struct cpti_view *view;
    /* What else is said of the sets, below all rows; NULL: nothing. */
    void (*print_more)(const void *context, size_t row_max);
    void (*put_more)(const void *context, size_t row_max, struct cpti_json *json);
    const void *context;
};

/* Those who may be the culprit. */
extern const struct cpti_relation cpti_culprit_rows;

/* Prints at most @row_max rows of each sort. enum cpti_exit. */
int cpti_culprit_print(const struct cpti_culprit_print *print, size_t row_max);

#endif
