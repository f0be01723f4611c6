/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * gain_clusters.h - errors by cluster of what frames would give back
 *
 * Beside the views of a gathering (views.h), of its requests with drags: two flat paths
 * by name, one with the time of each name and one with its largest drag in place of the
 * time. Each has a tree and clusters, which give its errors.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_GAIN_CLUSTERS_H
#define CPTI_CLI_GAIN_CLUSTERS_H

#include "tool/folds/views.h"
#include "aggregate/cpt_gain.h"

/* Which path. */
enum { CPTI_GAIN_DRAG, CPTI_GAIN_TIME, CPTI_GAIN_ENDS };

struct cpti_gain_clusters {
    struct cpti_views *views; /* that have a view by name and a key */
    int (*request)(void *context, const struct cpt_record *record,
                   const struct cpt_path *path, uint64_t weight); /* of the views */
    struct cpt_path *drags; /* of the request being added */
    struct cpt_tree *trees[CPTI_GAIN_ENDS];
    struct cpt_clusters *clusters[CPTI_GAIN_ENDS];
    struct cpt_tree_walk *walks[CPTI_GAIN_ENDS]; /* by name */
    struct cpt_cluster_error *errors[CPTI_GAIN_ENDS];
};

/* Has @gather, which fills @views, fill these, too. CPTI_EXIT_DONE or CPTI_EXIT_FAILED.
 * Deinit in any case. */
int cpti_gain_clusters_init(struct cpti_gain_clusters *gains, struct cpti_views *views,
                            struct cpti_gather *gather);
void cpti_gain_clusters_deinit(struct cpti_gain_clusters *gains);

/* After gathering: computes the errors. enum cpti_exit. */
int cpti_gain_clusters_finish(struct cpti_gain_clusters *gains);

/* Puts the errors by cluster of the name @node of @names, the tree of self times by
 * name, into @gain. */
void cpti_gain_clusters_apply(const struct cpti_gain_clusters *gains,
                              const struct cpt_tree *names, uint32_t node,
                              struct cpt_gain *gain);

#endif
