/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_sizing.h - how many requests a question needs, and how precise an answer is
 *
 * The error e of the mean of N requests, taken from an existing tree, says how many
 * requests that are traced as these were give the mean to ±h, or reveal a difference of
 * h: one of them deviates as much as s = e √N. If all have the same weight, s is the
 * standard deviation of a request; if not, it is more, as some stand for many. z and b
 * are quantiles
 * of the normal distribution, for the confidence and for the power (Cochran, Sampling
 * Techniques, 4.4; Lehr 1992 for the difference):
 *
 *      mean          n = (z s / h)²
 *      difference    n = 2 (z s / h)²          in each of two samples
 *      seen          n = 2 ((z + b) s / h)²    in each
 *
 * Only some of all requests are in the slice, and only some of these are traced:
 *
 *      all requests   --share--> could be traced --probability--> traced --slice--> n
 *
 * If requests have been traced by a rule that depends on their times, as "all slow ones
 * and 2 % of the others", there are two answers. The same rule again: s as above,
 * `probability` the part of all requests that it has traced, `slice` the part of those.
 * Or another, single probability: then s is the standard deviation of a request,
 * cpt_sizing_deviation_ns(), and `slice` the part of the weights.
 *
 * The mean is taken to be normal. That is close where at least about 100 requests of
 * the sample have what is measured; with fewer, or with very unequal weights, the true
 * confidence is a few percent lower.
 *
 * Threads: any; nothing is kept between calls.
 */
#ifndef CPT_SIZING_H
#define CPT_SIZING_H

#include "cpt_stats.h"

CPT_BEGIN_DECLS

enum cpt_sizing_goal {
    CPT_SIZING_MEAN = 0,       /* to know the mean latency to ±within_ns */
    CPT_SIZING_DIFFERENCE = 1, /* to know the difference of two samples to ±within_ns */
    CPT_SIZING_SEEN = 2,       /* to find a difference of within_ns significant */
    CPT_SIZING_GOAL_COUNT
};

/* A question. A zero field means its default. */
struct cpt_sizing {
    size_t struct_bytes; /* sizeof, set by the caller */
    double within_ns;    /* above 0; default 1 % of the mean latency */
    double confidence;   /* of the intervals, 0 to 1; default 0.95 */
    double power;        /* share of such differences that is found; default 0.8 */
    double slice;        /* part of the traced requests that are selected; default 1 */
    double share;        /* part of all requests that could be traced; default 1 */
    double probability;  /* that such a request is traced; default 1 */
    double rate;         /* requests that arrive in a second; default: not known */
    double deviation_ns; /* s; default: as the requests of the tree were traced */
};

/* The requests that one goal needs: whole numbers. */
struct cpt_sizing_need {
    double slice;   /* traced and selected; of a difference in each of the samples */
    double traced;  /* traced, for one sample */
    double all;     /* arriving, for one sample */
    double seconds; /* until they have arrived; NAN without a rate */
};

/*
 * The requests that @goal needs, by the formulas above; s is that of the latency in
 * @tree, unless deviation_ns is set. At least 2, as one request has no variance. @tree
 * must have at least two requests.
 */
CPT_API struct cpt_sizing_need cpt_sizing_need(const struct cpt_sizing *sizing,
                                               const struct cpt_tree *tree,
                                               enum cpt_sizing_goal goal);

/*
 * The half width in nanoseconds of the interval of the mean latency with @confidence
 * (between 0 and 1), if @request_count requests (above 0) are measured that vary as
 * those of @tree: h = z s / √n.
 */
CPT_API double cpt_sizing_half_width_ns(const struct cpt_tree *tree,
                                        double request_count, double confidence);

/*
 * The standard deviation of the latency of a request, of all that those in @tree are a
 * sample of: √(Σ w (x - m)² / Σ w · n/(n-1)). Where weights differ it is read from the
 * histogram, which adds up to 1/256 of the latency (in quadrature).
 */
CPT_API double cpt_sizing_deviation_ns(const struct cpt_tree *tree);

CPT_END_DECLS

#endif
