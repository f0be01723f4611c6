/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * histogram.c - log-linear buckets; only those in use are kept
 *
 * The highest 8 bits of a value select its bucket. Below 256 that is exact; above, a
 * bucket spans the bits left out, so each power of two is cut into 128 equal parts:
 *
 *      value   0 … 255    256 … 511    512 … 1023    …
 *      width      1           2            4
 *      index   0 … 255    256 … 383    384 … 511     …
 *
 * A bucket is at most 1/128 of its lowest value wide, so its middle is off by at most
 * 1/256 of any value in it. Merging adds weights bucket by bucket, so it is exact.
 *
 * Rejected: logarithmic buckets (DDSketch). They are found by floating point, which
 * makes the border of a bucket depend on the machine.
 */
#include "aggregate/tree/histogram.h"

#include <assert.h>
#include <string.h>

enum {
    EXACT = 1 << CPTI_HISTOGRAM_BITS, /* values below are their own bucket */
    PARTS = EXACT / 2                 /* buckets of each power of two above */
};

uint64_t cpti_histogram_low(uint32_t index)
{
    uint32_t forgotten = 0;

    if (index < EXACT) {
        return index;
    }
    forgotten = index / PARTS - 1;
    return (uint64_t)(index - forgotten * PARTS) << forgotten;
}

uint64_t cpti_histogram_high(uint32_t index)
{
    return cpti_histogram_low(index + 1) - 1;
}

cpti_u128 cpti_bucket_weight(const struct cpti_bucket *bucket)
{
    return (cpti_u128)bucket->weight_high << 64 | bucket->weight_low;
}

static void set_weight(struct cpti_bucket *bucket, cpti_u128 weight)
{
    assert(weight >> 96 == 0);
    bucket->weight_low = (uint64_t)weight;
    bucket->weight_high = (uint32_t)(weight >> 64);
}

double cpti_bucket_square(const struct cpti_bucket *bucket)
{
    return ((double)bucket->square_high * 0x1p64 + (double)bucket->square_middle) *
               0x1p64 +
           (double)bucket->square_low;
}

/* A number of 144 bits. */
struct square {
    cpti_u128 low;
    uint32_t high;
};

/* @left × @right, below 2^96 and up to 2^48. */
static struct square product(cpti_u128 left, uint64_t right)
{
    const cpti_u128 low = (cpti_u128)(uint64_t)left * right;
    const cpti_u128 high = (left >> 64) * right;
    const cpti_u128 sum = low + (high << 64);

    return (struct square){sum, (uint32_t)(high >> 64) + (sum < low)};
}

static void add_square(struct cpti_bucket *bucket, struct square more)
{
    const cpti_u128 old = (cpti_u128)bucket->square_middle << 64 | bucket->square_low;
    const cpti_u128 sum = old + more.low;
    const uint32_t high = bucket->square_high + more.high + (sum < old);

    assert(high >> 16 == 0);
    bucket->square_low = (uint64_t)sum;
    bucket->square_middle = (uint64_t)(sum >> 64);
    bucket->square_high = (uint16_t)high;
}

/* Adds @count requests that weigh @unit each. */
static void add_requests(struct cpti_bucket *bucket, uint64_t unit, uint64_t count)
{
    set_weight(bucket, cpti_bucket_weight(bucket) + (cpti_u128)unit * count);
    add_square(bucket, product((cpti_u128)unit * unit, count));
}

static void add_bucket(struct cpti_bucket *bucket, const struct cpti_bucket *more)
{
    set_weight(bucket, cpti_bucket_weight(bucket) + cpti_bucket_weight(more));
    add_square(bucket,
               (struct square){(cpti_u128)more->square_middle << 64 | more->square_low,
                               more->square_high});
}

/* --- Plain buckets --- */

enum { INDEX_SHIFT = 48 };

#define PLAIN_COUNT_MAX (((uint64_t)1 << INDEX_SHIFT) - 1)

static uint64_t *plain_buckets(struct cpti_histogram *histogram)
{
    return histogram->capacity != 0 ? histogram->buckets.plain
                                    : &histogram->buckets.one;
}

static const uint64_t *plain_buckets_of(const struct cpti_histogram *histogram)
{
    return histogram->capacity != 0 ? histogram->buckets.plain
                                    : &histogram->buckets.one;
}

/* The array of buckets, or NULL if there is none. */
static void *array_of(const struct cpti_histogram *histogram)
{
    if (histogram->capacity == 0) {
        return NULL;
    }
    return histogram->is_wide ? (void *)histogram->buckets.wide
                              : histogram->buckets.plain;
}

void cpti_histogram_deinit(struct cpti_histogram *histogram,
                           const struct cpt_alloc *alloc)
{
    cpt_alloc_free(alloc, array_of(histogram));
    *histogram = (struct cpti_histogram){0};
}

/* Half as much again, and odd: malloc() adds 8 bytes to each block, and its blocks are
 * multiples of 16 bytes. */
static uint16_t capacity_for(const struct cpti_histogram *histogram, uint32_t needed)
{
    uint32_t capacity = histogram->capacity + histogram->capacity / 2;

    if (capacity < needed) {
        capacity = needed;
    }
    return (uint16_t)(capacity < 3 ? 3 : capacity | 1); /* below 2^15 */
}

static cpt_status grow(struct cpti_histogram *histogram, const struct cpt_alloc *alloc,
                       uint32_t needed)
{
    const uint16_t capacity = capacity_for(histogram, needed);
    const uint64_t one = histogram->buckets.one;
    void *array = cpt_alloc_array(alloc, array_of(histogram), capacity,
                                  histogram->is_wide ? sizeof(struct cpti_bucket)
                                                     : sizeof(uint64_t));

    if (array == NULL) {
        return CPT_NO_MEMORY;
    }
    if (histogram->is_wide) {
        histogram->buckets.wide = array;
    } else {
        histogram->buckets.plain = array;
        if (histogram->capacity == 0) {
            histogram->buckets.plain[0] = one;
        }
    }
    histogram->capacity = capacity;
    return CPT_OK;
}

cpt_status cpti_histogram_reserve(struct cpti_histogram *histogram,
                                  const struct cpt_alloc *alloc, uint32_t more)
{
    const uint32_t needed = histogram->count + more;

    if (needed <= histogram->capacity || (needed <= 1 && !histogram->is_wide)) {
        return CPT_OK;
    }
    return grow(histogram, alloc, needed);
}

cpt_status cpti_histogram_widen(struct cpti_histogram *histogram,
                                const struct cpt_alloc *alloc, uint64_t unit)
{
    struct cpti_histogram wide = {.is_wide = true};

    if (histogram->is_wide) {
        return CPT_OK;
    }
    if (histogram->count != 0 && grow(&wide, alloc, histogram->count) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < histogram->count; i++) {
        wide.buckets.wide[i] = cpti_histogram_bucket(histogram, i, unit);
    }
    wide.count = histogram->count;
    cpti_histogram_deinit(histogram, alloc);
    *histogram = wide;
    return CPT_OK;
}

/* The position of bucket @index, or where to insert it. The binary search has no branch
 * to mispredict. */
static uint32_t plain_position(const uint64_t *buckets, uint32_t count, uint32_t index)
{
    const uint64_t wanted = (uint64_t)index << INDEX_SHIFT;
    const uint64_t *low = buckets;

    if (count == 0) {
        return 0;
    }
    while (count > 1) {
        const uint32_t half = count / 2;

        low += (size_t)half * (low[half - 1] < wanted);
        count -= half;
    }
    return (uint32_t)(low - buckets) + (*low < wanted);
}

/* Whether bucket @index stands, or belongs, within CPTI_HISTOGRAM_NEAR of *@guess,
 * which becomes the first position there. */
static bool is_near(const uint64_t *buckets, uint32_t count, uint32_t index,
                    uint32_t *guess)
{
    const uint64_t wanted = (uint64_t)index << INDEX_SHIFT;
    const uint32_t most = count - 2 * CPTI_HISTOGRAM_NEAR;
    uint32_t low = *guess > CPTI_HISTOGRAM_NEAR ? *guess - CPTI_HISTOGRAM_NEAR : 0;

    low = low < most ? low : most;
    *guess = low;
    return (low == 0 || buckets[low - 1] < wanted) &&
           buckets[low + 2 * CPTI_HISTOGRAM_NEAR - 1] >= wanted;
}

/* The same; looks around @guess first. From bucket to bucket indexes grow by at least
 * one, so the index there says how far away the wanted bucket is at most. */
static uint32_t plain_position_near(const uint64_t *buckets, uint32_t count,
                                    uint32_t index, uint32_t guess)
{
    uint32_t low = guess;
    uint32_t there;

    if (count < CPTI_HISTOGRAM_MANY) {
        return plain_position(buckets, count, index);
    }
    if (buckets[guess] >> INDEX_SHIFT == index) {
        return guess;
    }
    if (is_near(buckets, count, index, &low)) {
        return low + plain_position(buckets + low, 2 * CPTI_HISTOGRAM_NEAR, index);
    }
    there = (uint32_t)(buckets[guess] >> INDEX_SHIFT);
    if (there < index) {
        low = index - there < count - guess ? index - there : count - guess;
        return guess + plain_position(buckets + guess, low, index);
    }
    low = there - index < guess ? guess - (there - index) : 0;
    return low + plain_position(buckets + low, guess - low, index);
}

static uint32_t wide_position(const struct cpti_histogram *histogram, uint32_t index)
{
    uint32_t low = 0;
    uint32_t high = histogram->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (histogram->buckets.wide[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_plain(struct cpti_histogram *histogram, uint32_t index, uint64_t count,
                      uint32_t guess)
{
    uint64_t *buckets = plain_buckets(histogram);
    const uint32_t at = plain_position_near(buckets, histogram->count, index, guess);

    if (at < histogram->count && buckets[at] >> INDEX_SHIFT == index) {
        assert((buckets[at] & PLAIN_COUNT_MAX) + count <= PLAIN_COUNT_MAX);
        buckets[at] += count;
        return;
    }
    assert(histogram->count < histogram->capacity || histogram->count == 0);
    memmove(buckets + at + 1, buckets + at, (histogram->count - at) * sizeof *buckets);
    buckets[at] = (uint64_t)index << INDEX_SHIFT | count;
    histogram->count++;
}

static void add_wide(struct cpti_histogram *histogram, uint32_t index, uint64_t unit,
                     uint64_t count)
{
    const uint32_t at = wide_position(histogram, index);
    struct cpti_bucket *bucket = &histogram->buckets.wide[at];

    if (at == histogram->count || bucket->index != index) {
        assert(histogram->count < histogram->capacity);
        memmove(bucket + 1, bucket, (histogram->count - at) * sizeof *bucket);
        *bucket = (struct cpti_bucket){.index = (uint16_t)index};
        histogram->count++;
    }
    add_requests(bucket, unit, count);
}

void cpti_histogram_add(struct cpti_histogram *histogram, uint32_t index, uint64_t unit,
                        uint64_t count)
{
    if (histogram->is_wide) {
        add_wide(histogram, index, unit, count);
    } else {
        add_plain(histogram, index, count, histogram->count / 2);
    }
}

void cpti_histogram_add_near(struct cpti_histogram *histogram, uint32_t index,
                             uint64_t unit, uint32_t guess)
{
    if (histogram->is_wide) {
        add_wide(histogram, index, unit, 1);
    } else {
        add_plain(histogram, index, 1, guess);
    }
}

void cpti_histogram_append(struct cpti_histogram *histogram, uint32_t index,
                           cpti_u128 amount, uint64_t unit)
{
    if (histogram->is_wide) {
        struct cpti_bucket *bucket = &histogram->buckets.wide[histogram->count++];

        *bucket = (struct cpti_bucket){.index = (uint16_t)index};
        set_weight(bucket, amount);
        add_square(bucket, product(amount, unit));
    } else {
        plain_buckets(histogram)[histogram->count++] =
            (uint64_t)index << INDEX_SHIFT | (uint64_t)amount;
    }
}

struct cpti_bucket cpti_histogram_bucket(const struct cpti_histogram *histogram,
                                         uint32_t at, uint64_t unit)
{
    struct cpti_bucket bucket = {0};
    uint64_t plain = 0;

    if (histogram->is_wide) {
        return histogram->buckets.wide[at];
    }
    plain = plain_buckets_of(histogram)[at];
    bucket.index = (uint16_t)(plain >> INDEX_SHIFT);
    add_requests(&bucket, unit, plain & PLAIN_COUNT_MAX);
    return bucket;
}

/* --- Merging --- */

static uint32_t index_at(const struct cpti_histogram *histogram, uint32_t at)
{
    return histogram->is_wide
               ? histogram->buckets.wide[at].index
               : (uint32_t)(plain_buckets_of(histogram)[at] >> INDEX_SHIFT);
}

/* The count of buckets that both have. */
static uint32_t count_common(const struct cpti_histogram *left,
                             const struct cpti_histogram *right)
{
    uint32_t common = 0;

    for (uint32_t i = 0, j = 0; i < left->count && j < right->count;) {
        const uint32_t a = index_at(left, i);
        const uint32_t b = index_at(right, j);

        common += a == b;
        i += a <= b;
        j += b <= a;
    }
    return common;
}

/* Merges from the back, so that no bucket moves twice. @at is the count of the
 * result. */
static void merge_plain(struct cpti_histogram *histogram,
                        const struct cpti_histogram *from, uint32_t at)
{
    uint64_t *buckets = plain_buckets(histogram);
    const uint64_t *more = plain_buckets_of(from);
    uint32_t left = histogram->count;
    uint32_t right = from->count;

    histogram->count = (uint16_t)at;
    while (right > 0) {
        const uint64_t index = more[right - 1] >> INDEX_SHIFT;

        at--;
        if (left > 0 && buckets[left - 1] >> INDEX_SHIFT > index) {
            buckets[at] = buckets[--left];
            continue;
        }
        right--;
        if (left > 0 && buckets[left - 1] >> INDEX_SHIFT == index) {
            buckets[at] = buckets[--left] + (more[right] & PLAIN_COUNT_MAX);
        } else {
            buckets[at] = more[right];
        }
    }
}

void cpti_histogram_merge(struct cpti_histogram *histogram,
                          const struct cpti_histogram *from, uint64_t unit)
{
    uint32_t left = histogram->count;
    uint32_t right = from->count;
    uint32_t at = left + right - count_common(histogram, from);

    assert(at <= histogram->capacity || right == 0 || (at == 1 && !histogram->is_wide));
    if (!histogram->is_wide) {
        assert(!from->is_wide);
        merge_plain(histogram, from, at);
        return;
    }
    histogram->count = (uint16_t)at;
    while (right > 0) {
        struct cpti_bucket *buckets = histogram->buckets.wide;
        struct cpti_bucket next = cpti_histogram_bucket(from, right - 1, unit);

        at--;
        if (left > 0 && buckets[left - 1].index > next.index) {
            buckets[at] = buckets[--left];
            continue;
        }
        if (left > 0 && buckets[left - 1].index == next.index) {
            add_bucket(&next, &buckets[--left]);
        }
        buckets[at] = next;
        right--;
    }
}
