/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cluster_print.c - what --cluster made of the errors; see cluster_print.h */
#include "tool/print/cluster_print.h"

#include "tool/base/output.h"
#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <stdlib.h>

int cpti_cluster_stats(const struct cpti_views *views, enum cpti_by by,
                       const struct cpt_tree *tree, struct cpt_stats *all)
{
    struct cpt_clusters_summary summary;
    struct cpt_cluster_error *errors;
    cpt_status status = CPT_NO_MEMORY;

    if (views == NULL || views->cluster_key == NULL) {
        return CPTI_EXIT_DONE;
    }
    errors = calloc(cpt_tree_node_count(tree), sizeof *errors);
    if (errors != NULL) {
        status = cpt_clusters_errors(NULL, views->clusters[by], tree, errors);
    }
    if (status == CPT_OK) {
        summary = cpt_clusters_summary(views->clusters[by]);
        cpt_clusters_apply(&summary, &errors[CPT_TREE_ROOT], all);
    }
    free(errors);
    return cpti_status_exit(status);
}

void cpti_cluster_print(const struct cpti_views *views, enum cpti_by by)
{
    struct cpt_clusters_summary summary;

    if (views == NULL || views->cluster_key == NULL) {
        return;
    }
    summary = cpt_clusters_summary(views->clusters[by]);
    (void)printf("errors by %s: ", cpti_quoted(views->cluster_key));
    if (summary.are_pooled) {
        (void)printf("more than %d clusters, pooled to %" PRIu32, CPT_CLUSTERS_MAX,
                     summary.count);
    } else {
        (void)printf("%" PRIu32 " cluster%s", summary.count,
                     summary.count == 1 ? "" : "s");
    }
    (void)printf(", worth %.1f of equal size%s\n", summary.effective_count,
                 summary.effective_count < CPT_CLUSTERS_TRUSTED_MIN
                     ? ": too few, do not trust them"
                     : "");
}

void cpti_cluster_json(struct cpti_json *json, const struct cpti_views *views,
                       enum cpti_by by)
{
    struct cpt_clusters_summary summary;

    if (views == NULL || views->cluster_key == NULL) {
        return;
    }
    summary = cpt_clusters_summary(views->clusters[by]);
    cpti_json_open(json, "cluster", '{');
    cpti_json_text(json, "key", views->cluster_key);
    cpti_json_unsigned(json, "count", summary.count);
    cpti_json_bool(json, "pooled", summary.are_pooled);
    cpti_json_rough(json, "effective_count", summary.effective_count);
    cpti_json_rough(json, "largest_share", summary.largest_share);
    cpti_json_unsigned(json, "requests_without_key", views->keyless_count);
    cpti_json_bool(json, "trusted",
                   summary.effective_count >= CPT_CLUSTERS_TRUSTED_MIN);
    cpti_json_close(json);
}
