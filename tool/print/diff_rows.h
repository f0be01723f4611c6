/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * diff_rows.h - which rows of a difference are shown, and in which order
 *
 * --max-q and --min each show only the rows they are about, --sort orders them, --top
 * keeps the first ones. Without these options a person sees the rows that are
 * significant or large, and programs get all.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_DIFF_ROWS_H
#define CPTI_CLI_DIFF_ROWS_H

#include "tool/base/options.h"
#include "tool/table/relation.h"
#include "aggregate/cpt_diff.h"

enum cpti_diff_order { CPTI_DIFF_BY_SIZE, CPTI_DIFF_BY_Q, CPTI_DIFF_BY_NAME };

/* What to show. */
struct cpti_diff_filter {
    double max_q;  /* of 0 to 1; NAN: not given */
    double min_ns; /* of the absolute change; NAN: not given */
    enum cpti_diff_order order;
    uint64_t rows_max;
};

/* Reads the options. CPTI_EXIT_DONE, or CPTI_EXIT_USAGE with a message. */
int cpti_diff_filter_init(struct cpti_diff_filter *filter,
                          const struct cpti_arguments *arguments);

/* The rows that are shown. */
struct cpti_diff_rows {
    const struct cpt_diff_row **rows; /* the array is owned, the rows are borrowed */
    uint32_t count;
    uint32_t hidden_count; /* by max_q and min_ns, not by rows_max */
    double max_q;          /* the limits that were used; NAN: none of this kind */
    double min_ns;
    bool is_default; /* a row is shown if either limit holds, not only if both do */
};

/* Selects and sorts rows, also by a column of @view, whose context is @context. For
 * people it hides what is neither significant nor large if the filter says nothing.
 * CPT_OK or CPT_NO_MEMORY. Deinit @rows in any case. */
cpt_status cpti_diff_rows_init(struct cpti_diff_rows *rows, const struct cpt_diff *diff,
                               const struct cpti_diff_filter *filter,
                               const struct cpti_view *view, const void *context);
void cpti_diff_rows_deinit(struct cpti_diff_rows *rows);

#endif
