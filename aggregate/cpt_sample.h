/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_sample.h - requests one by one: how much do two samples of the same differ
 *
 * A tree keeps sums. What chance alone can do is seen best by trying: draw two samples
 * of n requests each from the same log, compare them, and count the rows whose means
 * are farther apart than some threshold. None of these differences is real. Repeat that
 * for a hundred pairs, and the average count says how many false rows a comparison of
 * that size has, above that threshold. A sample therefore keeps for each request the
 * self times of its nodes, beside the tree that they make.
 *
 * The same can be predicted from the variances of the tree, for any n: the difference
 * of two means of n requests varies by
 *
 *      σ · sqrt(2 / n)         so E = Σ over nodes of 2 · (1 - Φ(T / (σ · sqrt(2 /
 * n))))
 *
 * The normal distribution knows nothing of nodes that few requests have: most pairs of
 * samples do not have them at all, and then they do not differ. So no node's chance is
 * taken to be above that of occurring among 2n requests: 1 - (1 - presence)^2n.
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
    CPT_SAMPLE_VALUES_MAX = 1 << 27, /* that options may ask for; 16 bytes each */
    CPT_SAMPLE_PAIRS_MAX = 100000
};

/* A zero field means its default. */
struct cpt_sample_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    size_t values_max;   /* frames of all requests together; default 2^26 */
};

/* An empty one over @alloc (NULL: malloc's); @options NULL means all defaults. NULL
 * without memory or with wrong options. The caller owns it. */
CPT_API struct cpt_sample *cpt_sample_new(const struct cpt_alloc *alloc,
                                          const struct cpt_sample_options *options);
CPT_API void cpt_sample_free(struct cpt_sample *sample);

/* Adds one request; as cpt_tree_add(), and CPT_LIMIT at values_max. */
CPT_API cpt_status cpt_sample_add(struct cpt_sample *sample,
                                  const struct cpt_path *path, cpt_weight weight);

/* The tree of all its requests. Borrowed. */
CPT_API const struct cpt_tree *cpt_sample_tree(const struct cpt_sample *sample);

/* What is to be tried. */
struct cpt_pairs {
    uint32_t request_count;      /* of each side */
    uint32_t pair_count;         /* of samples; up to CPT_SAMPLE_PAIRS_MAX */
    uint64_t seed;               /* the same seed gives the same samples */
    const double *thresholds_ns; /* each above 0 */
    size_t threshold_count;
};

/* What came of it, for one threshold. */
struct cpt_false_rows {
    double predicted; /* rows that differ by more */
    double observed;  /* their mean over all pairs */
    double error;     /* standard error of that; infinite for one pair */
};

/*
 * Draws @pairs->pair_count pairs of samples without a request in common, and counts
 * nodes whose mean self times differ by more than each threshold. Writes one result for
 * each to @results. @node_counts, unless NULL, gets for each node how many pairs it was
 * counted in at the first threshold; it has room for cpt_tree_node_count().
 *
 * CPT_OK; CPT_INVALID if it has fewer than twice as many requests, a count is 0 or
 * above its limit, or a threshold is not above 0; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_sample_pairs(const struct cpt_sample *sample,
                                    const struct cpt_pairs *pairs,
                                    struct cpt_false_rows *results,
                                    uint32_t *node_counts);

/* The predicted chance that @node of @tree differs by more than @threshold_ns between
 * two samples of @request_count requests each; 0 with fewer than two requests in @tree.
 */
CPT_API double cpt_false_row_chance(const struct cpt_tree *tree, uint32_t node,
                                    double request_count, double threshold_ns);

/* The sum of that over all nodes. */
CPT_API double cpt_false_rows_predicted(const struct cpt_tree *tree,
                                        double request_count, double threshold_ns);

CPT_END_DECLS

#endif
