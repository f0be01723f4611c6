/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* quantile_print.c - quantiles with their intervals; see quantile_print.h */
#include "tool/print/quantile_print.h"

#include "tool/base/amounts.h"
#include "tool/base/output.h"
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

enum { NAME, INTERVAL };

static struct cpti_cell get(const struct cpti_asked *asked)
{
    const struct cpt_quantile *own = asked->row;

    return cpti_cell_text(
        asked->what == NAME
            ? cpti_quantile_name(own->quantile, asked->room)
            : cpti_interval_text(own->low_ns, own->high_ns, asked->room));
}

static const struct cpti_column columns[] = {
    {"quantile", "quantile", CPTI_TEXT, get, NAME},
    {"ns", "latency ms", CPTI_NS, CPTI_OF(struct cpt_quantile, ns)},
    {"interval", "95% interval", CPTI_TEXT, get, INTERVAL},
    {0},
};

static const struct cpti_relation relation = {"latency_quantiles", columns,
                                              "quantile,ns,interval"};

int cpti_quantiles_print(const struct cpti_view *beside, const struct cpt_tree *tree,
                         const struct cpt_clusters *clusters, const double *quantiles,
                         size_t count)
{
    const struct cpti_view view = cpti_view_beside(beside, &relation, NULL);
    struct cpt_quantile found[CPTI_AMOUNTS_MAX];
    const struct cpti_rows rows = CPTI_ROWS(found, count, NULL);
    bool is_open = false;
    int status;

    for (size_t i = 0; i < count; i++) {
        found[i] = cpti_quantile_of_latency(tree, clusters, quantiles[i]);
        is_open = is_open || !isfinite(found[i].low_ns) || !isfinite(found[i].high_ns);
    }
    status = cpti_relation_print(&view, &rows, count);
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
