/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff_print.h - a difference as text, as Markdown, as JSON
 *
 * Threads: one at a time; all print on stdout.
 */
#ifndef CPTI_CLI_DIFF_PRINT_H
#define CPTI_CLI_DIFF_PRINT_H

#include "tool/print/diff_condition.h"
#include "tool/print/diff_rows.h"
#include "tool/folds/views.h"
#include "tool/table/relation.h"

/* The rows of a difference, and the columns of tables with --by. */
extern const struct cpti_relation cpti_diff_relation;
extern const char cpti_diff_shown_by[];

struct cpti_diff_print {
    const struct cpti_gather *gathers; /* of base and new */
    const struct cpt_diff *diff;
    enum cpti_by by;
    const struct cpti_view *view;
    const struct cpti_diff_filter *filter;
    const struct cpti_conditions *conditions; /* tested; printed in JSON only */
    const struct cpti_mix *mix;               /* or NULL */
    const struct cpti_views *views; /* of base and new; they may have clusters */
};

/* Prints it. enum cpti_exit. */
int cpti_diff_print(const struct cpti_diff_print *print);

#endif
