/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_groups.c - requests that are drawn and dealt together; see culprit.h
 *
 *      clusters    u1 u2 u1 u3 | u4 u1 u4
 *      groups      u1 = {0, 2}, u2 = {1}, u3 = {3} | u1 = {1}, u4 = {0, 2}
 *      partners    u1 of the base and u1 of the new set
 *
 * What chance deals is a cluster. One that is in both sets changes its sides, so that
 * both sets keep their share of it.
 */
#include "tool/culprit/culprit_parts.h"

#include <stdlib.h>

static int compare_requests(const void *left, const void *right, void *context)
{
    const uint64_t *clusters = context;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    if (clusters[a] != clusters[b]) {
        return clusters[a] < clusters[b] ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static void make_groups(const struct cpti_culprit_set *set, bool has_clusters,
                        struct cpti_culprit_groups *groups)
{
    for (size_t i = 0; i < set->request_count; i++) {
        groups->orders[i] = (uint32_t)i;
    }
    if (has_clusters && set->request_count > 1) {
        qsort_r(groups->orders, set->request_count, sizeof *groups->orders,
                compare_requests, set->clusters);
    }
    for (size_t i = 0; i < set->request_count; i++) {
        const uint64_t cluster = has_clusters ? set->clusters[groups->orders[i]] : i;
        struct cpti_culprit_group *last =
            groups->count > 0 ? &groups->groups[groups->count - 1] : NULL;

        if (last != NULL && has_clusters && last->cluster == cluster) {
            last->end = i + 1;
        } else {
            groups->groups[groups->count++] = (struct cpti_culprit_group){
                .cluster = cluster, .from = i, .end = i + 1, .partner = SIZE_MAX};
        }
    }
}

/* Both are in the order of clusters. */
static void find_partners(struct cpti_culprit_groups groups[2])
{
    for (size_t i = 0, k = 0; i < groups[0].count && k < groups[1].count;) {
        struct cpti_culprit_group *base = &groups[0].groups[i];
        struct cpti_culprit_group *other = &groups[1].groups[k];

        if (base->cluster == other->cluster) {
            base->partner = k;
            other->partner = i;
        }
        i += base->cluster <= other->cluster;
        k += other->cluster <= base->cluster;
    }
}

cpt_status cpti_culprit_groups_make(const struct cpti_culprit *culprit,
                                    struct cpti_culprit_groups groups[2])
{
    const struct cpt_alloc *alloc = culprit->alloc;

    for (int i = 0; i < 2; i++) {
        const size_t count = culprit->sets[i].request_count + 1;

        groups[i].groups =
            cpt_alloc_array(alloc, NULL, count, sizeof *groups[i].groups);
        groups[i].orders =
            cpt_alloc_array(alloc, NULL, count, sizeof *groups[i].orders);
        if (groups[i].groups == NULL || groups[i].orders == NULL) {
            return CPT_NO_MEMORY;
        }
        make_groups(&culprit->sets[i], culprit->has_clusters, &groups[i]);
    }
    if (culprit->has_clusters) {
        find_partners(groups);
    }
    return CPT_OK;
}

void cpti_culprit_groups_deinit(struct cpti_culprit_groups groups[2],
                                const struct cpt_alloc *alloc)
{
    for (int i = 0; i < 2; i++) {
        cpt_alloc_free(alloc, groups[i].groups);
        cpt_alloc_free(alloc, groups[i].orders);
    }
}
