/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tail_print.h - the tails of two sets as text, as Markdown, as JSON
 *
 * Threads: one at a time; all print on stdout.
 */
#ifndef CPTI_CLI_TAIL_PRINT_H
#define CPTI_CLI_TAIL_PRINT_H

#include "tool/folds/tails.h"
#include "tool/print/diff_condition.h"
#include "tool/print/diff_print.h"

struct cpti_tail_print {
    const struct cpti_tails *tails;
    const struct cpt_tail *tail; /* NULL: a set has no requests below its border */
    const struct cpti_view *view;
    uint64_t rows_max; /* UINT64_MAX: those that are significant or large */
    struct cpti_conditions *conditions; /* on the quantile; are tested */
    struct cpt_stats all[2];            /* filled in: of both sets */
    struct cpt_quantile_change change;  /* filled in: of the quantile, … */
    enum cpt_diff_doubt doubt;          /* … and whether to trust it */
    const struct cpt_tail_row **shown;  /* filled in: the rows that are shown, … */
    size_t shown_count;
    uint32_t left_count; /* … and the number of those that are not */
};

/* The rows of both sets. */
extern const struct cpti_relation cpti_tail_relation;

/* Prints them. enum cpti_exit. */
int cpti_tail_print(struct cpti_tail_print *print);

#endif
