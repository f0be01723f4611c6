/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * histogram.h - the distribution of the inclusive times of a node
 *
 * Only buckets that are not empty are kept, in order; see histogram.c. A zeroed
 * histogram is empty.
 *
 * It is *plain* while all its requests have one weight, which its owner knows: then a
 * bucket has eight bytes and counts requests. The first bucket needs no allocation,
 * since most stacks of a large tree are rare. A *wide* histogram sums weights and their
 * squares: how exactly a quantile is known depends on the weights around it.
 *
 * Threads: one at a time.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "aggregate/tree/wide.h"
#include "cpt/cpt_alloc.h"

enum {
    CPTI_HISTOGRAM_BITS = 8,           /* significant bits of a value */
    CPTI_HISTOGRAM_BUCKETS_MAX = 6400, /* for values below 2^56 */
    CPTI_HISTOGRAM_MANY = 64,          /* buckets, from which on guessing pays */
    CPTI_HISTOGRAM_NEAR = 8            /* a guess is good that is off by less */
};

/* A bucket of a wide histogram: 96 bits of Σw and 144 of Σw², which hold all requests
 * that a tree may have. */
struct cpti_bucket {
    uint64_t weight_low;
    uint64_t square_low;
    uint64_t square_middle;
    uint32_t weight_high;
    uint16_t square_high;
    uint16_t index;
};

/* Buckets by index, ascending; none is empty. A plain bucket is index << 48 |
 * requests. */
struct cpti_histogram {
    union {
        uint64_t one;             /* plain, capacity 0 */
        uint64_t *plain;          /* plain, any other capacity */
        struct cpti_bucket *wide; /* is_wide */
    } buckets;
    uint16_t count;
    uint16_t capacity;
    bool is_wide;
};

void cpti_histogram_deinit(struct cpti_histogram *histogram,
                           const struct cpt_alloc *alloc);

/* Makes room for @more buckets, so that the functions below cannot fail. CPT_OK or
 * CPT_NO_MEMORY. */
cpt_status cpti_histogram_reserve(struct cpti_histogram *histogram,
                                  const struct cpt_alloc *alloc, uint32_t more);

/* Makes a plain histogram wide: each request weighs @unit. CPT_OK; CPT_NO_MEMORY, and
 * the histogram is as before. */
cpt_status cpti_histogram_widen(struct cpti_histogram *histogram,
                                const struct cpt_alloc *alloc, uint64_t unit);

/* Adds @count requests, fewer than 2^48 in all, that weigh @unit each, at most 2^48, to
 * bucket @index. The bucket must exist, or there must be room for one. */
void cpti_histogram_add(struct cpti_histogram *histogram, uint32_t index, uint64_t unit,
                        uint64_t count);

/* The same for one request; its bucket is probably near position @guess, one of the
 * histogram, or 0. */
void cpti_histogram_add_near(struct cpti_histogram *histogram, uint32_t index,
                             uint64_t unit, uint32_t guess);

/* Puts a bucket behind all others, for which there must be room: of a plain histogram
 * @amount is a count of requests, of a wide one their weight, whose heaviest is at most
 * @unit: Σw² is then at most the product of both, which counts. */
void cpti_histogram_append(struct cpti_histogram *histogram, uint32_t index,
                           cpti_u128 amount, uint64_t unit);

/* Adds all buckets of @from, whose requests weigh @unit if it is plain. A plain
 * histogram takes only a plain one of the same unit. There must be room for @from's
 * buckets. */
void cpti_histogram_merge(struct cpti_histogram *histogram,
                          const struct cpti_histogram *from, uint64_t unit);

/* Bucket number @at in wide form; a request of a plain histogram weighs @unit. */
struct cpti_bucket cpti_histogram_bucket(const struct cpti_histogram *histogram,
                                         uint32_t at, uint64_t unit);

cpti_u128 cpti_bucket_weight(const struct cpti_bucket *bucket);
double cpti_bucket_square(const struct cpti_bucket *bucket); /* Σw² */

/* The bucket of a value, and the lowest and highest value of a bucket. */
static inline uint32_t cpti_histogram_index(uint64_t value)
{
    enum { EXACT = 1 << CPTI_HISTOGRAM_BITS };
    unsigned forgotten = 0;

    if (value < EXACT) {
        return (uint32_t)value; /* its own bucket */
    }
    forgotten = 64U - (unsigned)__builtin_clzll(value) - CPTI_HISTOGRAM_BITS;
    return forgotten * (EXACT / 2) + (uint32_t)(value >> forgotten);
}
uint64_t cpti_histogram_low(uint32_t index);
uint64_t cpti_histogram_high(uint32_t index);

/* Where bucket @index of many stands if they are spread evenly from that of @min_ns to
 * that of @max_ns: roughly so in a stack with many requests, as they leave few gaps. */
static inline uint32_t cpti_histogram_guess(const struct cpti_histogram *histogram,
                                            uint32_t index, uint64_t min_ns,
                                            uint64_t max_ns)
{
    const uint32_t first = cpti_histogram_index(min_ns);
    const uint32_t last = cpti_histogram_index(max_ns);

    if (histogram->count < CPTI_HISTOGRAM_MANY || index <= first) {
        return 0;
    }
    return index >= last ? histogram->count - 1U
                         : (index - first) * (histogram->count - 1U) / (last - first);
}

/* Fetches what cpti_histogram_closer() will read, as that fetches what
 * cpti_histogram_add_near() will read. It has left the cache: in a tree of many stacks,
 * waiting for it would be most of the time of adding. */
static inline void cpti_histogram_fetch(const struct cpti_histogram *histogram,
                                        uint32_t guess)
{
    if (histogram->count >= CPTI_HISTOGRAM_MANY && !histogram->is_wide) {
        __builtin_prefetch(histogram->buckets.plain + guess);
    }
}

/* A better guess than @guess, by what stands there: where bucket @index is if there are
 * no gaps between. */
static inline uint32_t cpti_histogram_closer(const struct cpti_histogram *histogram,
                                             uint32_t index, uint32_t guess)
{
    const uint64_t *buckets = histogram->buckets.plain;
    uint32_t closer = guess;

    if (histogram->count < CPTI_HISTOGRAM_MANY || histogram->is_wide) {
        return guess;
    }
    closer += index - (uint32_t)(buckets[guess] >> 48);
    closer = closer < histogram->count ? closer : guess; /* also if it is below 0 */
    buckets += closer;
    __builtin_prefetch(buckets -
                       (closer < CPTI_HISTOGRAM_NEAR ? closer : CPTI_HISTOGRAM_NEAR));
    __builtin_prefetch(buckets);
    __builtin_prefetch(buckets + CPTI_HISTOGRAM_NEAR - 1);
    return closer;
}

/* Whether a request in bucket @index needs no more memory. */
static inline bool cpti_histogram_has_room(const struct cpti_histogram *histogram,
                                           uint32_t index)
{
    return histogram->count < histogram->capacity ||
           (histogram->capacity == 0 && !histogram->is_wide &&
            (histogram->count == 0 || histogram->buckets.one >> 48 == index));
}

#endif
