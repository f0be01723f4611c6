/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_clusters.h - the errors of means where requests resemble each other
 *
 * Requests of one user, one host or one minute are alike: a hundred requests of one
 * slow user tell less about all users than one request each of a hundred. An error that
 * takes requests as independent is then too small, often by a factor. Only the
 * *clusters* (users, hosts, minutes) are independent. With T_c = Σ w x and W_c = Σ w of
 * the requests in cluster c, C clusters, m = Σ T_c / Σ W_c, and h_c = W_c / Σ W_c:
 *
 *      error² = (C-1)/C · Σ d_c²     skewness = Σ d_c³ / error³
 *      d_c = (T_c - m W_c) / (1 - h_c) / Σ W_c
 *
 * d_c is by how much the mean changes if c is left out (the jackknife): a large cluster
 * draws the mean towards itself, so that without the division it would seem to vary
 * less than it does. Clusters of one request each, of one weight, give exactly the
 * error of cpt_stats.h.
 *
 * Each cluster has a tree of its own, so sums are exact, and nothing depends on the
 * order of adding and merging. More than CPT_CLUSTERS_MAX clusters, or too many stacks
 * in them, are pooled: each value belongs to one of CPT_CLUSTERS_POOLED groups by its
 * hash. Groups of independent clusters are independent, too, so the formula holds for
 * them.
 *
 * Clusters of very different sizes are worth fewer of equal size:
 *
 *      (Σ W_c)² / Σ W_c²
 *
 * and this number minus one takes the place of C-1 as the degrees of freedom.
 *
 * In order of use: cpt_clusters_new; cpt_clusters_add for each request;
 * cpt_clusters_merge; cpt_clusters_errors, or the options of cpt_diff.h;
 * cpt_clusters_free. Threads: one at a time.
 */
#ifndef CPT_CLUSTERS_H
#define CPT_CLUSTERS_H

#include "cpt_quantile.h"

CPT_BEGIN_DECLS

struct cpt_path;
struct cpt_clusters;

enum {
    CPT_CLUSTERS_MAX = 1024,          /* values; more are pooled */
    CPT_CLUSTERS_POOLED = 256,        /* groups of values, then */
    CPT_CLUSTERS_NODES_MAX = 1 << 20, /* nodes of all clusters; more are pooled, … */
    CPT_CLUSTERS_POOLED_NODES = 1 << 22 /* … and more than these are refused */
};

/* Do not trust an interval with fewer clusters (of equal size) than this. */
enum { CPT_CLUSTERS_TRUSTED_MIN = 10 };

/* No clusters, over @alloc (NULL: malloc's). NULL without memory. The caller owns
 * them. */
CPT_API struct cpt_clusters *cpt_clusters_new(const struct cpt_alloc *alloc);
CPT_API void cpt_clusters_free(struct cpt_clusters *clusters);

/*
 * Adds a request to the cluster of @value, any bytes. They are not kept, only a hash of
 * 128 bits: two values with the same one would be one cluster.
 *
 * CPT_OK; CPT_LIMIT above CPT_CLUSTERS_POOLED_NODES; errors of cpt_tree_add().
 */
CPT_API cpt_status cpt_clusters_add(struct cpt_clusters *clusters,
                                    struct cpt_bytes value, const struct cpt_path *path,
                                    cpt_weight weight);

/* Adds the requests of @from. CPT_OK; CPT_LIMIT; CPT_NO_MEMORY; after an error
 * @clusters is incomplete. */
CPT_API cpt_status cpt_clusters_merge(struct cpt_clusters *clusters,
                                      const struct cpt_clusters *from);

/* The clusters as a whole. */
struct cpt_clusters_summary {
    uint32_t count;         /* of clusters; of groups with requests, if pooled */
    int are_pooled;         /* there were more values than are kept apart */
    double effective_count; /* worth this many of equal size */
    double largest_share;   /* of the weight, in the largest one: 0 to 1 */
};

CPT_API struct cpt_clusters_summary
cpt_clusters_summary(const struct cpt_clusters *clusters);

/* The errors of one node. */
struct cpt_cluster_error {
    double self_ns;         /* standard error of the mean self time … */
    double inclusive_ns;    /* … and of the inclusive one; infinite for one cluster */
    double effective_count; /* clusters with the node, worth this many of equal size */
    double self_skewness;   /* of the means, as that of struct cpt_mean */
    double inclusive_skewness;
};

/*
 * Writes the errors of all nodes of @tree to @errors, which has room for
 * cpt_tree_node_count(). @tree has exactly the requests of @clusters.
 *
 * CPT_OK; CPT_LIMIT; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_clusters_errors(const struct cpt_alloc *alloc,
                                       const struct cpt_clusters *clusters,
                                       const struct cpt_tree *tree,
                                       struct cpt_cluster_error *errors);

/*
 * Puts the errors of clusters into both means of a node: errors, deviations, skewness
 * and effective counts are then those of clusters. is_rare is
 * set if all clusters, or those with the node, are worth fewer than
 * CPT_CLUSTERS_TRUSTED_MIN.
 */
CPT_API void cpt_clusters_apply(const struct cpt_clusters_summary *summary,
                                const struct cpt_cluster_error *error,
                                struct cpt_stats *stats);

/*
 * The @quantile of the latency with its interval by cluster. @tree has exactly the
 * requests of @clusters. The share of requests up to the quantile has a variance by
 * cluster, by the formula above; that of independent requests would be F (1 - F) / n,
 * which gives n. With few clusters it is reduced by the square of the normal quantile
 * over Student's (Korn and Graubard). The rest is cpt_quantile_of_count().
 */
CPT_API struct cpt_quantile cpt_clusters_quantile(const struct cpt_clusters *clusters,
                                                  const struct cpt_tree *tree,
                                                  double quantile, double confidence);

/*
 * Compares the @quantile of the latency of two sets, whose clusters are taken as
 * independent of each other, as cpt_quantile_compare() does with intervals by cluster.
 * A cluster that is in both sets, with requests that resemble each other, makes the
 * change more certain than it is said to be.
 */
CPT_API struct cpt_quantile_change cpt_clusters_quantile_compare(
    const struct cpt_clusters *base_clusters, const struct cpt_tree *base,
    const struct cpt_clusters *other_clusters, const struct cpt_tree *other,
    double quantile, double confidence);

CPT_END_DECLS

#endif
