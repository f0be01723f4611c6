/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_diff.h - two trees side by side: what changed, and whether it is more than noise
 *
 * There is one row for each stack that either tree has; a stack that a tree lacks took
 * no time there. Differences are new minus base, of the average over all requests of
 * each tree, with the interval of Welch (the two samples are independent and may have
 * different sizes, weights and variances):
 *
 *      delta ± t · sqrt(error_base² + error_new²)
 *
 * t is that of Student's distribution with the degrees of freedom after Welch and
 * Satterthwaite, computed from the effective sample sizes. The smaller sample (by its
 * effective size, n beside N) has at least 1 - n/N of the variance of the larger one:
 * a stack that a small sample happens to lack varies nevertheless. The interval and the
 * p value are corrected for skewness (cpt_interval() in cpt_stats.h).
 *
 * Among many rows some look changed by chance. So each row also has a q value
 * (Benjamini and Hochberg, over the self times of the tested rows): of the rows with
 * q < 0.01, at most one in a hundred, on average, has not changed. A row is tested if
 * at least CPT_DIFF_TESTED_MIN requests of both samples had it, and any spent time of
 * its own in it.
 *
 * The change of a mean is split into two parts, which add up to it: requests had the
 * stack more or less often (*frequency*), and it took longer or shorter when they had
 * it (*size*):
 *
 *      mean = presence · mean when present
 *      delta = Δpresence · (average of both means when present)     frequency
 *            + Δmean when present · (average of both presences)     size
 *
 * The time of a stack may fall although it became no faster: another branch now takes
 * longer, so requests wait for that one instead. Such a row has lost the critical path.
 *
 * Rows are sorted by the absolute difference of self times, because these add up to the
 * difference of the mean latencies, while inclusive times count a change once for every
 * frame above it. Ties stand in the order of their stacks. No row is dropped.
 *
 * In order of use: cpt_diff_new; cpt_diff_row, cpt_diff_tree; cpt_diff_free.
 *
 * Threads: one at a time makes a diff; then any number may read it.
 */
#ifndef CPT_DIFF_H
#define CPT_DIFF_H

#include "cpt_stats.h"

CPT_BEGIN_DECLS

struct cpt_clusters;
struct cpt_diff;

/* How to compare. A zero field means its default. */
struct cpt_diff_options {
    size_t struct_bytes; /* sizeof, set by the caller */
    double confidence;   /* of the intervals; default 0.95 */
    /* Trees for the inclusive times of the rows, if not the compared trees themselves:
     * trees of cpt_view_inclusive() if those are of cpt_view_self() (see cpt_view.h).
     * Both or none. */
    const struct cpt_tree *base_inclusive;
    const struct cpt_tree *new_inclusive;
    /* The requests of both trees by cluster (see cpt_clusters.h), for errors by
     * cluster; both or none, and not with strata. The same of the inclusive trees, if
     * there are any. */
    const struct cpt_clusters *base_clusters;
    const struct cpt_clusters *new_clusters;
    const struct cpt_clusters *base_inclusive_clusters;
    const struct cpt_clusters *new_inclusive_clusters;
};

/* One quantity in both trees, in nanoseconds for an average request. */
struct cpt_change {
    double base_ns;
    double new_ns;
    double delta_ns; /* new - base */
    double error_ns; /* standard error of delta_ns */
    double low_ns;   /* the interval of delta_ns; -inf … */
    double high_ns;  /* … to +inf if a tree has fewer than two requests */
    double degrees;  /* degrees of freedom; infinite if nothing varies */
    double p_value;  /* two-sided, of no difference */
};

/* Why the interval and the q value of a row must not be trusted. The reasons look at
 * counts of requests only, never at their times: samples that happen to look harmless
 * are the most misleading ones. All counts are effective ones, by weights. */
enum cpt_diff_doubt {
    CPT_DIFF_TRUSTED = 0,
    CPT_DIFF_FEW_REQUESTS, /* a side has fewer requests than CPT_STATS_PRESENT_MIN */
    CPT_DIFF_RARE,         /* fewer than that had the stack, on both sides */
    CPT_DIFF_FEW_CLUSTERS  /* a side has too few clusters */
};

/* The reason as half a sentence: "one side has fewer than …"; "" if it is trusted. */
CPT_API const char *cpt_diff_doubt_text(enum cpt_diff_doubt doubt);

/* Rows that fewer requests had, of both samples together, are not tested. */
enum { CPT_DIFF_TESTED_MIN = 10 };

/* The q value at which a change counts as found, for detectable_ns. */
#define CPT_DIFF_DETECTABLE_Q 0.05

/* One stack. */
struct cpt_diff_row {
    uint32_t node; /* its number in cpt_diff_tree() */
    struct cpt_change self;
    struct cpt_change inclusive;
    double base_presence; /* share of requests that had it: 0 to 1 */
    double new_presence;
    uint64_t base_present_count;
    uint64_t new_present_count;
    int is_rare;         /* do not trust it: doubt is not CPT_DIFF_TRUSTED */
    double q_value;      /* of self.p_value among those of the tested rows; 1 if it is
                            not tested; of the total: p */
    double share;        /* self.delta_ns as a part of the total's; NAN if that is 0 */
    double frequency_ns; /* the part of self.delta_ns that is due to the presence … */
    double size_ns;      /* … and the part due to the mean when present */
    int lost_path; /* it fell because its branch is on fewer paths, and another branch
                      of the same parent is on more */
    enum cpt_diff_doubt doubt;
    int is_tested;        /* its q value is among those of the tested rows */
    double detectable_ns; /* a change of self (of the total: of the latency) as large as
                             this would have been found in four of five samples */
};

/*
 * Compares @base with @new_tree; both may be changed or freed afterwards. @options NULL
 * means all defaults. The caller owns the result.
 *
 * CPT_OK; CPT_INVALID if a tree has no requests or confidence is not between 0 and 1,
 * with a sentence in @error; CPT_LIMIT; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_diff_new(const struct cpt_alloc *alloc,
                                const struct cpt_tree *base,
                                const struct cpt_tree *new_tree,
                                const struct cpt_diff_options *options,
                                struct cpt_diff **diff, struct cpt_error *error);

/* The requests of one kind in both samples: of one page, one region … */
struct cpt_diff_stratum {
    const struct cpt_tree *base;
    const struct cpt_tree *new_tree;
    const struct cpt_tree *base_inclusive; /* as in cpt_diff_options, or NULL */
    const struct cpt_tree *new_inclusive;
    double share; /* of this kind in the mix that both are compared in */
};

/*
 * Compares two samples as if both had the same mix of @stratum_count kinds of requests:
 * each mean is the sum of the means of all strata, weighted by their shares (which add
 * up to 1 and are usually those of the base). So a larger share of slow requests is not
 * among the differences. The inclusive trees of @options are ignored.
 *
 * Errors as of cpt_diff_new(); CPT_INVALID also if a stratum has no requests on one
 * side, a share is not above 0 and at most 1, or there is no stratum.
 */
CPT_API cpt_status cpt_diff_new_strata(const struct cpt_alloc *alloc,
                                       const struct cpt_diff_stratum *strata,
                                       size_t stratum_count,
                                       const struct cpt_diff_options *options,
                                       struct cpt_diff **diff, struct cpt_error *error);

/*
 * Sets the shares of strata to those in the base. Moves the strata that have requests
 * in both samples to the front, sets their shares, and returns their count. The others
 * cannot be compared, and are overwritten.
 */
CPT_API size_t cpt_diff_strata_share(struct cpt_diff_stratum *strata,
                                     size_t stratum_count);

/*
 * The change of the mean latency that is due to the mix alone, in nanoseconds: the
 * change from all requests of @base to all of @new_tree, minus that of @diff, which was
 * made of their strata at equal shares (Kitagawa's composition effect).
 */
CPT_API double cpt_diff_mix_ns(const struct cpt_diff *diff, const struct cpt_tree *base,
                               const struct cpt_tree *new_tree);

CPT_API void cpt_diff_free(struct cpt_diff *diff);

/* The rows, largest difference first; the root is not among them. Borrowed. */
CPT_API uint32_t cpt_diff_row_count(const struct cpt_diff *diff);
CPT_API const struct cpt_diff_row *cpt_diff_row_at(const struct cpt_diff *diff,
                                                   uint32_t index);

/* The count of the tested rows. */
CPT_API uint32_t cpt_diff_tested_count(const struct cpt_diff *diff);

/* The root's row: its inclusive change is that of the mean latency. Borrowed. */
CPT_API const struct cpt_diff_row *cpt_diff_total(const struct cpt_diff *diff);

/*
 * The stacks of both trees: gives names, kinds, parents and texts of the rows' nodes by
 * the functions of cpt_tree.h. It has no requests, and all its times are 0. Borrowed.
 */
CPT_API const struct cpt_tree *cpt_diff_tree(const struct cpt_diff *diff);

CPT_END_DECLS

#endif
