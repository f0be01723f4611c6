/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * views.h - the same requests by stack, by service, by name, by edge
 *
 * gather.h makes the tree of stacks. Views are made beside it from the same requests,
 * two trees each (aggregate/cpt_view.h):
 *
 *      a.cptlog --> cpti_gather --+--> tree of stacks
 *                                 '--> cpti_views --> trees of services …
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_VIEWS_H
#define CPTI_CLI_VIEWS_H

#include "tool/gather/gather.h"
#include "aggregate/cpt_clusters.h"
#include "aggregate/cpt_diff.h"
#include "aggregate/cpt_view.h"

/* What a row stands for. All but the first are 1 + enum cpt_view_by. */
enum cpti_by {
    CPTI_BY_STACK = 0,
    CPTI_BY_SERVICE = 1 + CPT_VIEW_SERVICE,
    CPTI_BY_NAME = 1 + CPT_VIEW_NAME,
    CPTI_BY_EDGE = 1 + CPT_VIEW_EDGE,
    CPTI_BY_COUNT
};

/* "stack", "service" …: the words of --by; and all of them for the option's table. */
extern const char *const cpti_by_words[CPTI_BY_COUNT];
#define CPTI_BY_WORDS "stack service name edge"

/* The value of --by; CPTI_BY_STACK without the option. */
enum cpti_by cpti_by_of(const struct cpti_arguments *arguments);

/* The views of one set of requests. */
struct cpti_views {
    struct cpt_view *views[CPTI_BY_COUNT]; /* NULL where not wanted */
    struct cpt_tree *self[CPTI_BY_COUNT];
    struct cpt_tree *inclusive[CPTI_BY_COUNT];
    const char *cluster_key; /* of --cluster; NULL: none */
    /* the same requests by cluster; by stack only the first */
    struct cpt_clusters *clusters[CPTI_BY_COUNT];
    struct cpt_clusters *inclusive_clusters[CPTI_BY_COUNT];
    uint64_t keyless_count; /* requests without the key: one cluster */
    uint64_t keyed_count;
};

/* Makes the views whose bit (1 << enum cpti_by) is in @wanted, and has @gather fill
 * them. CPTI_EXIT_DONE or CPTI_EXIT_FAILED. Deinit them in any case. */
int cpti_views_init(struct cpti_views *views, unsigned wanted,
                    struct cpti_gather *gather);
void cpti_views_deinit(struct cpti_views *views);

/* Has @gather fill clusters by @key, too, of the views in @wanted and, with
 * CPTI_BY_STACK, of the stacks. Call it after cpti_views_init(), whose views it needs.
 * CPTI_EXIT_DONE or CPTI_EXIT_FAILED. */
int cpti_views_cluster(struct cpti_views *views, const char *key, unsigned wanted,
                       struct cpti_gather *gather);

/* After gathering: checks that the views have all requests, and that some have the key
 * of the clusters. CPTI_EXIT_USAGE with a sentence if an operand was a tree and views
 * or clusters were wanted; CPTI_EXIT_FAILED. */
int cpti_views_check(const struct cpti_views *views, const struct cpti_gather *gather);

/* Compares two sets; both have the view @by. @gathers and @views are those of base and
 * new. NULL with the error printed. The caller frees the result. */
struct cpt_diff *cpti_views_diff(const struct cpti_gather *gathers,
                                 const struct cpti_views *views, enum cpti_by by);

#endif
