/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_busy.h - which of the things that ran at the same time kept a request busy
 *
 * Normalised processor time, the measure of Anderson and Lazowska's Quartz: while c
 * things run, each gets 1/c of the time. So what runs alone counts in full, what runs
 * beside others counts less, and the sum is the time in which anything ran at all.
 *
 *      a   |====2====|========4========|          2 + 4/2      = 4
 *      b             |========4========|==1==|        4/2 + 1  = 3
 *                                                          sum   7
 *
 * Threads: any.
 */
#ifndef CPT_BUSY_H
#define CPT_BUSY_H

#include "cpt/cpt_alloc.h"

CPT_BEGIN_DECLS

/* Something ran from begin_ns to end_ns. If the end is not after the beginning, it did
 * not run at all. */
struct cpt_busy_span {
    uint64_t begin_ns;
    uint64_t end_ns;
};

enum { CPT_BUSY_SPANS_MAX = 1 << 24 };

/*
 * Sets shares_ns[i] to the normalised time of span i, and *@busy_ns to the time in
 * which at least one of them ran. The shares sum to it exactly: each is the true one,
 * or the whole number above or below; the nanoseconds that are left go to the largest
 * fractions, of equal ones to the first.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT above CPT_BUSY_SPANS_MAX. Cost: O(n log n).
 */
CPT_API cpt_status cpt_busy_shares(const struct cpt_alloc *alloc,
                                   const struct cpt_busy_span *spans, size_t span_count,
                                   uint64_t *shares_ns, uint64_t *busy_ns);

CPT_END_DECLS

#endif
