/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * histogram.h - how the inclusive times of a node are distributed
 *
 * Only buckets that hold something are kept, in order; see histogram.c. A histogram of
 * zeros (all bytes) is an empty one.
 *
 * Threads: one at a time.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "aggregate/wide.h"
#include "cpt/cpt_alloc.h"

enum {
    CPTI_HISTOGRAM_BITS = 8,          /* of a value that are told apart */
    CPTI_HISTOGRAM_BUCKETS_MAX = 6400 /* for values below 2^56 */
};

/* One bucket: 96 bits of weight, which is enough for all requests a tree may have. */
struct cpti_bucket {
    uint64_t weight_low;
    uint32_t weight_high;
    uint32_t index;
};

struct cpti_histogram {
    struct cpti_bucket *buckets; /* by index, ascending; none has weight 0 */
    uint32_t count;
    uint32_t capacity;
};

void cpti_histogram_deinit(struct cpti_histogram *histogram,
                           const struct cpt_alloc *alloc);

/* Room for @more buckets, so that the functions below cannot fail. CPT_OK or
 * CPT_NO_MEMORY. */
cpt_status cpti_histogram_reserve(struct cpti_histogram *histogram,
                                  const struct cpt_alloc *alloc, uint32_t more);

/* Adds @weight to bucket @index. There has to be room for one bucket. */
void cpti_histogram_add(struct cpti_histogram *histogram, uint32_t index,
                        cpti_u128 weight);

/* Adds all of @from. There has to be room for as many buckets as that has. */
void cpti_histogram_merge(struct cpti_histogram *histogram,
                          const struct cpti_histogram *from);

cpti_u128 cpti_bucket_weight(const struct cpti_bucket *bucket);

/* The bucket that a value belongs to, and the values that belong to a bucket. */
uint32_t cpti_histogram_index(uint64_t value);
uint64_t cpti_histogram_low(uint32_t index);
uint64_t cpti_histogram_high(uint32_t index);

#endif
