/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* notice.h - notices to the operator, at a limited rate; see cpt_notice.h. */
#ifndef CPT_NOTICE_PRIVATE_H
#define CPT_NOTICE_PRIVATE_H

#include "framework/cpt_notice.h"
#include "framework/service/rules/bucket.h"

/* Of one reason: how often it may be told, and what was left out. */
struct cpti_notice_limit {
    struct cpti_rate_limit bucket;
    atomic_uint_least64_t untold_count; /* relaxed: a number for people */
};

void cpti_notice_limit_init(struct cpti_notice_limit *limit, double per_second);

/* Tells @notice, whose untold_count is filled in, or counts it as left out. */
void cpti_notice_tell(struct cpti_notice_limit *limit, uint64_t now_ns,
                      cpt_notice_fn notify, void *context, struct cpt_notice *notice);

/* Takes what was left out, for a notice of its own; 0: nothing was. */
uint64_t cpti_notice_untold(struct cpti_notice_limit *limit);

#endif
