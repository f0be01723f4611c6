/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* quantile_print.c - quantiles with their intervals; see quantile_print.h */
#include "tool/print/quantile_print.h"

#include "tool/base/output.h"
#include "tool/table/table.h"
#include "aggregate/cpt_tree.h"

#include <math.h>
#include <stdbool.h>

const char *cpti_interval_text(double low_ns, double high_ns,
                               char text[CPTI_INTERVAL_BYTES])
{
    char low[32];
    char high[32];

    (void)cpti_ms(low_ns, low);
    (void)cpti_ms(high_ns, high);
    if (isfinite(low_ns) && isfinite(high_ns)) {
        (void)snprintf(text, CPTI_INTERVAL_BYTES, "%s to %s", low, high);
    } else if (isfinite(low_ns)) {
        (void)snprintf(text, CPTI_INTERVAL_BYTES, "at least %s", low);
    } else if (isfinite(high_ns)) {
        (void)snprintf(text, CPTI_INTERVAL_BYTES, "at most %s", high);
    } else {
        (void)snprintf(text, CPTI_INTERVAL_BYTES, "unknown");
    }
    return text;
}

const char *cpti_quantile_name(double quantile, char text[16])
{
    (void)snprintf(text, 16, "p%.6g", quantile * 100);
    return text;
}

struct cpt_quantile cpti_quantile_of_latency(const struct cpt_tree *tree,
                                             const struct cpt_clusters *clusters,
                                             double quantile)
{
    return clusters != NULL
               ? cpt_clusters_quantile(clusters, tree, quantile, CPTI_CONFIDENCE)
               : cpt_quantile_of(tree, CPT_TREE_ROOT, quantile, CPTI_CONFIDENCE);
}

int cpti_quantiles_print(const struct cpt_tree *tree,
                         const struct cpt_clusters *clusters, const double *quantiles,
                         size_t count)
{
    static const char *const headings[] = {"quantile", "latency ms", "95% interval"};
    struct cpti_table table = cpti_table_of(headings, 3);
    bool is_open = false;
    int status;

    for (size_t i = 0; i < count; i++) {
        const struct cpt_quantile found =
            cpti_quantile_of_latency(tree, clusters, quantiles[i]);
        char name[16];
        char ms[32];
        char interval[CPTI_INTERVAL_BYTES];

        is_open = is_open || !isfinite(found.low_ns) || !isfinite(found.high_ns);
        cpti_table_cell(&table, "%s", cpti_quantile_name(quantiles[i], name));
        cpti_table_cell(&table, "%s", cpti_ms(found.ns, ms));
        cpti_table_cell(&table, "%s",
                        cpti_interval_text(found.low_ns, found.high_ns, interval));
    }
    status = cpti_table_print(&table);
    if (is_open) {
        (void)printf("an end is missing where there are too few requests to tell\n");
    }
    return status;
}

void cpti_quantile_json(struct cpti_json *json, const struct cpt_tree *tree,
                        uint32_t node, const struct cpt_quantile *found)
{
    const struct cpt_stats stats = cpt_stats_of(tree, node);
    const double error = found->quantile < 1 ? CPT_STATS_QUANTILE_ERROR : 0;

    cpti_json_open(json, NULL, '{');
    cpti_json_float(json, "quantile", found->quantile);
    cpti_json_unsigned(json, "ns", (uint64_t)found->ns);
    cpti_json_ns(json, "low_ns", found->low_ns);
    cpti_json_ns(json, "high_ns", found->high_ns);
    cpti_json_ns(json, "bucket_low_ns",
                 fmax((double)stats.min_ns, found->ns / (1 + error)));
    cpti_json_ns(json, "bucket_high_ns",
                 fmin((double)stats.max_ns, found->ns / (1 - error)));
    cpti_json_close(json);
}
