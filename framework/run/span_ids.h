/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_ids.h - the ids of the spans of a request, all worked out from one number
 *
 * Each run has a random *seed*, or 0: no spans are written of it. The span of its task
 * number n has the n-th output of splitmix64 from there as its id, and so have calls
 * and waits, with numbers of their own. So nothing is kept for a span while the request
 * runs, and a call knows its id when it goes out.
 */
#ifndef CPT_SPAN_IDS_H
#define CPT_SPAN_IDS_H

#include <stdint.h>

/* What is added to the number of what is no task. */
#define CPTI_SPAN_OF_CALL    (UINT64_C(1) << 32)
#define CPTI_SPAN_OF_WAIT    (UINT64_C(1) << 33)
#define CPTI_SPAN_OF_REQUEST (UINT64_C(1) << 34)

/* Never 0, which is no id. */
static inline uint64_t cpti_span_id(uint64_t seed, uint64_t number)
{
    uint64_t x = seed + (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x != 0 ? x : 1;
}

#endif
