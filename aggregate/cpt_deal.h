/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_deal.h - how often chance makes a difference between two groups as large
 *
 * Requests of one stratum (one service, one method, one size) are alike but for the
 * group that they are in. If the group made no difference, it would be chance which of
 * them are in which one. So the groups are dealt anew within each stratum, each of the
 * size that it has, and the difference is measured again:
 *
 *      d_s   mean of the second group of stratum s - mean of the first
 *      T     Σ share_s d_s / sqrt(Σ share_s² (error_first² + error_second²))
 *      p     (1 + deals with |T| as large) / (1 + deals)
 *
 * The difference is divided by its error, as that of one deal: then p is near the truth
 * also if the groups have one mean but not one variance (Janssen 1997). Means and
 * errors are those of cpt_stats.h; a request keeps its weight when it is dealt.
 *
 * Threads: any.
 */
#ifndef CPT_DEAL_H
#define CPT_DEAL_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

enum {
    CPT_DEAL_MAX = 999,        /* deals, of few requests … */
    CPT_DEAL_MIN = 199,        /* … and of many */
    CPT_DEAL_STEPS = 200000000 /* requests times deals, for a number between them */
};

/* A request of a stratum. */
struct cpt_deal_request {
    double value; /* what is compared: a latency, in ns */
    double weight;
    uint32_t stratum;
    int is_second; /* its group */
};

struct cpt_deal_result {
    double delta;   /* Σ share d */
    double error;   /* of delta; infinite if a group has one request in a stratum */
    double p_value; /* two-sided; 1 if the error is infinite */
    uint32_t deal_count; /* that were made */
};

/*
 * Deals the @count requests at @requests, whose strata are below @stratum_count; the
 * strata count by @shares. The order of the requests changes only which deals @seed
 * draws. A stratum that has both groups should have two requests of each.
 *
 * CPT_OK; CPT_INVALID if a stratum is not below @stratum_count, or one with a share
 * above 0 lacks a group; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_deal_strata(const struct cpt_alloc *alloc,
                                   const struct cpt_deal_request *requests,
                                   size_t count, const double *shares,
                                   size_t stratum_count, uint64_t seed,
                                   struct cpt_deal_result *result);

CPT_END_DECLS

#endif
