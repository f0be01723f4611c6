/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cluster_print.h - what --cluster made of the errors
 *
 *      errors by user: 40 clusters, worth 38.2 of equal size
 *
 * Threads: one at a time; all print on stdout.
 */
#ifndef CPTI_CLI_CLUSTER_PRINT_H
#define CPTI_CLI_CLUSTER_PRINT_H

#include "tool/table/json_write.h"
#include "tool/folds/views.h"

/* Replaces the errors of @all, the root of @tree, by those of the clusters of @views;
 * @tree is of @by. Without clusters it stays. enum cpti_exit. */
int cpti_cluster_stats(const struct cpti_views *views, enum cpti_by by,
                       const struct cpt_tree *tree, struct cpt_stats *all);

/* Prints that line, and whether there are too few clusters; nothing without
 * clusters. */
void cpti_cluster_print(const struct cpti_views *views, enum cpti_by by);

/* Writes the field "cluster" of the open object, if there are clusters. */
void cpti_cluster_json(struct cpti_json *json, const struct cpti_views *views,
                       enum cpti_by by);

#endif
