/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * report_rows.h - the rows of cpt report: stacks, or services, names, edges
 *
 * Stacks are a tree, each row below that of its callers. The groups of a view
 * (aggregate/cpt_view.h) are a list, most own time first, with numbers of two trees:
 * that of self times, which add up to the latency, and that of inclusive times, in
 * which a request counts once for a group however often it occurs on a stack.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_REPORT_ROWS_H
#define CPTI_CLI_REPORT_ROWS_H

#include "tool/folds/views.h"
#include "aggregate/cpt_gain.h"

#include <stdbool.h>

struct cpti_report_row {
    uint32_t node;      /* of the tree `whole` */
    uint32_t self_node; /* of the tree `self`; CPT_TREE_NONE: no time of its own */
    uint32_t depth;     /* 1 for the first frame of a stack, and for a group */
    uint32_t place;     /* of a group by name */
    uint64_t self_ns;   /* average for a request; these add up to the mean latency */
    uint64_t inclusive_ns;
};

struct cpti_report_rows {
    enum cpti_by by;
    const struct cpti_views *views;
    const struct cpt_tree *self; /* by stack one and the same tree */
    const struct cpt_tree *whole;
    uint64_t latency_ns; /* the mean */
    struct cpti_report_row *rows;
    uint32_t count;
    struct cpt_cluster_error *self_errors; /* with --cluster: of the nodes of `self` */
    struct cpt_cluster_error *whole_errors;
};

/* Makes the rows of @tree, which is of stacks, or of the view @by in @views. All must
 * outlive the rows. enum cpti_exit. Deinit them in any case. */
int cpti_report_rows_init(struct cpti_report_rows *rows, const struct cpt_tree *tree,
                          const struct cpti_views *views, enum cpti_by by);
void cpti_report_rows_deinit(struct cpti_report_rows *rows);

/* The statistics of a row, and of the latency; with errors by cluster if there are
 * clusters. */
struct cpt_stats cpti_report_row_stats(const struct cpti_report_rows *rows,
                                       const struct cpti_report_row *row);
struct cpt_stats cpti_report_latency(const struct cpti_report_rows *rows);

/* What a row would give back; zeros without time of its own. */
struct cpt_gain cpti_report_row_gain(const struct cpti_report_rows *rows,
                                     const struct cpti_report_row *row);

/* Writes the rank of each row by its time to @ranks, which has room for all: of stacks
 * by the time with all below, so that none comes before a caller of it. false without
 * memory. */
bool cpti_report_rows_rank(const struct cpti_report_rows *rows, uint32_t *ranks);

#endif
