/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gain_clusters.c - errors by cluster of gains; see gain_clusters.h */
#include "tool/folds/gain_clusters.h"

#include "tool/folds/cluster_key.h"
#include "cpt/cpt_path.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Makes a path of the drags of @times, the path of self times of a view; a drag of 0 is
 * no segment. *@is_known says whether there is any drag. */
static cpt_status take_drags(struct cpt_path *drags, const struct cpt_path *times,
                             bool *is_known)
{
    cpt_status status = CPT_OK;

    *is_known = false;
    cpt_path_reset(drags);
    for (size_t i = 0; i < cpt_path_segment_count(times) && status == CPT_OK; i++) {
        const uint32_t from = cpt_path_segment(times, i)->frame;
        const uint64_t drag_ns = cpt_path_drag(times, i);
        uint32_t frame = 0;

        if (drag_ns == CPT_DRAG_UNKNOWN) {
            continue;
        }
        *is_known = true;
        status =
            cpt_path_frame_add(drags, CPT_FRAME_NONE, cpt_path_frame_name(times, from),
                               cpt_path_frame(times, from)->kind, &frame);
        status = CPTI_THEN(status, cpt_path_append_ns(drags, frame, drag_ns));
    }
    return status;
}

static int add_request(void *context, const struct cpt_record *record,
                       const struct cpt_path *path, uint64_t weight)
{
    struct cpti_gain_clusters *gains = context;
    const struct cpt_path *times = cpt_view_self(gains->views->views[CPTI_BY_NAME]);
    const struct cpt_path *const ends[CPTI_GAIN_ENDS] = {gains->drags, times};
    char text[CPTI_CLUSTER_VALUE_BYTES];
    struct cpt_bytes value = {"", 0};
    bool is_known = false;
    cpt_status status = CPT_OK;
    const int exit_status = gains->request(gains->views, record, path, weight);

    if (exit_status != CPTI_EXIT_DONE) {
        return exit_status;
    }
    status = take_drags(gains->drags, times, &is_known);
    (void)cpti_cluster_value(record, gains->views->cluster_key, text, &value);
    for (int i = 0; i < CPTI_GAIN_ENDS && is_known && status == CPT_OK; i++) {
        status = cpt_tree_add(gains->trees[i], ends[i], weight);
        status = CPTI_THEN(
            status, cpt_clusters_add(gains->clusters[i], value, ends[i], weight));
    }
    return cpti_status_exit(status);
}

int cpti_gain_clusters_init(struct cpti_gain_clusters *gains, struct cpti_views *views,
                            struct cpti_gather *gather)
{
    bool has_all = true;

    *gains = (struct cpti_gain_clusters){
        .views = views, .request = gather->request, .drags = cpt_path_new(NULL)};
    for (int i = 0; i < CPTI_GAIN_ENDS; i++) {
        gains->trees[i] = cpt_tree_new(NULL, NULL);
        gains->clusters[i] = cpt_clusters_new(NULL);
        has_all = has_all && gains->trees[i] != NULL && gains->clusters[i] != NULL;
    }
    gather->request = add_request;
    gather->context = gains;
    gather->threads = NULL; /* one thread, in the order of the logs */
    return has_all && gains->drags != NULL ? CPTI_EXIT_DONE
                                           : cpti_failed("out of memory");
}

void cpti_gain_clusters_deinit(struct cpti_gain_clusters *gains)
{
    cpt_path_free(gains->drags);
    for (int i = 0; i < CPTI_GAIN_ENDS; i++) {
        cpt_tree_walk_free(gains->walks[i]);
        cpt_tree_free(gains->trees[i]);
        cpt_clusters_free(gains->clusters[i]);
        free(gains->errors[i]);
    }
    *gains = (struct cpti_gain_clusters){0};
}

int cpti_gain_clusters_finish(struct cpti_gain_clusters *gains)
{
    cpt_status status = CPT_OK;

    for (int i = 0; i < CPTI_GAIN_ENDS && status == CPT_OK; i++) {
        const struct cpt_tree *tree = gains->trees[i];

        gains->errors[i] =
            calloc(cpt_tree_node_count(tree), sizeof(struct cpt_cluster_error));
        gains->walks[i] = cpt_tree_walk_new(NULL, tree, CPT_TREE_BY_NAME);
        status =
            gains->errors[i] == NULL || gains->walks[i] == NULL
                ? CPT_NO_MEMORY
                : cpt_clusters_errors(NULL, gains->clusters[i], tree, gains->errors[i]);
    }
    return cpti_status_exit(status);
}

/* The node of tree @end with the name of @node of @names; CPT_TREE_NONE. Its walk is
 * sorted by name. */
static uint32_t find(const struct cpti_gain_clusters *gains, int end,
                     const struct cpt_tree *names, uint32_t node)
{
    const struct cpt_tree *tree = gains->trees[end];
    uint32_t low = 1; /* row 0 is the root */
    uint32_t high = cpt_tree_walk_count(gains->walks[end]);

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const uint32_t at = cpt_tree_walk_row(gains->walks[end], middle)->node;
        const int order = cpt_tree_stack_compare(tree, at, names, node);

        if (order == 0) {
            return at;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return CPT_TREE_NONE;
}

void cpti_gain_clusters_apply(const struct cpti_gain_clusters *gains,
                              const struct cpt_tree *names, uint32_t node,
                              struct cpt_gain *gain)
{
    struct cpt_mean *const means[CPTI_GAIN_ENDS] = {&gain->drag, &gain->time};

    gain->is_rare = 0;
    for (int i = 0; i < CPTI_GAIN_ENDS; i++) {
        const struct cpt_clusters_summary summary =
            cpt_clusters_summary(gains->clusters[i]);
        const uint32_t found = find(gains, i, names, node);

        if (found == CPT_TREE_NONE) {
            continue; /* all its drags are 0, and so is the error */
        }
        struct cpt_stats stats = cpt_stats_of(gains->trees[i], found);

        cpt_clusters_apply(&summary, &gains->errors[i][found], &stats);
        *means[i] = stats.self;
        means[i]->skewness = NAN; /* as without clusters: cpt_gain.h */
        gain->is_rare = gain->is_rare || stats.is_rare;
    }
}
