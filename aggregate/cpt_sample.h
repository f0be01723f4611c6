/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_sample.h - how much two samples of the same requests differ by chance
 *
 * Chance is measured by trial: draw two samples of n requests each from the same log,
 * compare them, and count the rows whose means differ by more than some threshold. None
 * of these differences is real. The average count over a hundred pairs is the number of
 * false rows that a comparison of this size has above this threshold. A tree keeps only
 * sums; a sample also keeps, for each request, the self times of its nodes.
 *
 * The number can also be predicted from the variances of the tree, for any n. The
 * difference of two means of n requests has the standard deviation d, so that E rows
 * are expected above the threshold T:
 *
 *      d = σ · sqrt(2 / n)         E = Σ over nodes of 2 · (1 - Φ(T / d))
 *
 * The normal distribution overestimates nodes that few requests have: most pairs of
 * samples lack such a node, so it does not differ. Therefore the chance of a node is at
 * most that of occurring among 2n requests: 1 - (1 - presence)^2n.
 *
 * In order of use: cpt_sample_new; cpt_sample_add for each request; cpt_sample_pairs;
 * cpt_sample_free. Threads: one at a time.
 */
#ifndef CPT_SAMPLE_H
#define CPT_SAMPLE_H

#include "cpt_stats.h"

CPT_BEGIN_DECLS

struct cpt_path;
struct cpt_sample;

enum {
    CPT_SAMPLE_VALUES_MAX = 1 << 27, /* the most for values_max; 16 bytes each */
    CPT_SAMPLE_PAIRS_MAX = 100000
};

/* A zero field means its default. */
struct cpt_sample_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    size_t values_max;   /* frames of all requests together; default 2^26 */
};

/* An empty sample over @alloc (NULL: malloc's); @options NULL means all defaults. NULL
 * without memory or with wrong options. The caller owns it. */
CPT_API struct cpt_sample *cpt_sample_new(const struct cpt_alloc *alloc,
                                          const struct cpt_sample_options *options);
CPT_API void cpt_sample_free(struct cpt_sample *sample);

/* Adds one request. Errors of cpt_tree_add(), and CPT_LIMIT at values_max. */
CPT_API cpt_status cpt_sample_add(struct cpt_sample *sample,
                                  const struct cpt_path *path, cpt_weight weight);

/* The tree of all its requests. Borrowed. */
CPT_API const struct cpt_tree *cpt_sample_tree(const struct cpt_sample *sample);

/*
 * Writes the standard deviation of the self time of a request, of all that those added
 * are a sample of, for each node of cpt_sample_tree(): √(Σ w (x - m)² / Σ w · n/(n-1)).
 * A tree knows it only if all weights are equal. CPT_OK or CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_sample_deviations(const struct cpt_sample *sample,
                                         double *deviations_ns);

/* The pairs of samples to draw. */
struct cpt_pairs {
    uint32_t request_count;      /* of each sample */
    uint32_t pair_count;         /* up to CPT_SAMPLE_PAIRS_MAX */
    uint64_t seed;               /* the same seed gives the same samples */
    const double *thresholds_ns; /* each above 0 */
    size_t threshold_count;
};

/* The rows that differ by more than one threshold. */
struct cpt_false_rows {
    double predicted; /* expected, from the variances */
    double observed;  /* mean over all pairs */
    double error;     /* standard error of observed; infinite for one pair */
};

/*
 * Draws @pairs->pair_count pairs of samples without a request in common, and counts
 * nodes whose mean self times differ by more than each threshold. Writes one result for
 * each threshold to @results. @node_counts, unless NULL, gets for each node the number
 * of pairs that counted it at the first threshold; it has room for
 * cpt_tree_node_count().
 *
 * CPT_OK; CPT_INVALID if the sample has fewer than twice request_count requests, a
 * count is 0 or above its limit, or a threshold is not above 0; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_sample_pairs(const struct cpt_sample *sample,
                                    const struct cpt_pairs *pairs,
                                    struct cpt_false_rows *results,
                                    uint32_t *node_counts);

/* The predicted chance that @node of @tree differs by more than @threshold_ns between
 * two samples of @request_count requests each; 0 if @tree has fewer than two. */
CPT_API double cpt_false_row_chance(const struct cpt_tree *tree, uint32_t node,
                                    double request_count, double threshold_ns);

/* The sum of these chances over all nodes. */
CPT_API double cpt_false_rows_predicted(const struct cpt_tree *tree,
                                        double request_count, double threshold_ns);

CPT_END_DECLS

#endif
