/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * histogram.c - log-linear buckets, of which only those in use are kept
 *
 * A value keeps its highest 8 bits and forgets the rest. Below 256 nothing is lost;
 * above, a bucket has the width of the bits forgotten, so each power of two is cut into
 * 128 equal parts:
 *
 *      value   0 … 255    256 … 511    512 … 1023    …
 *      width      1           2            4
 *      index   0 … 255    256 … 383    384 … 511     …
 *
 * A bucket is at most 1/128 of its lowest value wide, so its middle is off by at most
 * 1/256 of any value in it. Merging adds weights bucket by bucket, so it is exact.
 *
 * Rejected: logarithmic buckets (DDSketch) need floating point to find one, which makes
 * the border of a bucket depend on the machine.
 */
#include "aggregate/histogram.h"

#include <assert.h>
#include <string.h>

enum {
    EXACT = 1 << CPTI_HISTOGRAM_BITS, /* values below are their own bucket */
    PARTS = EXACT / 2                 /* buckets of each power of two above */
};

uint32_t cpti_histogram_index(uint64_t value)
{
    unsigned forgotten = 0;

    if (value < EXACT) {
        return (uint32_t)value;
    }
    forgotten = 64U - (unsigned)__builtin_clzll(value) - CPTI_HISTOGRAM_BITS;
    return forgotten * PARTS + (uint32_t)(value >> forgotten);
}

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

void cpti_histogram_deinit(struct cpti_histogram *histogram,
                           const struct cpt_alloc *alloc)
{
    cpt_alloc_free(alloc, histogram->buckets);
    *histogram = (struct cpti_histogram){0};
}

cpt_status cpti_histogram_reserve(struct cpti_histogram *histogram,
                                  const struct cpt_alloc *alloc, uint32_t more)
{
    const uint32_t needed = histogram->count + more;
    uint32_t capacity = histogram->capacity != 0 ? histogram->capacity : 1;
    void *buckets = NULL;

    if (needed <= histogram->capacity) {
        return CPT_OK;
    }
    while (capacity < needed) {
        capacity *= 2;
    }
    buckets = cpt_alloc_array(alloc, histogram->buckets, capacity,
                              sizeof *histogram->buckets);
    if (buckets == NULL) {
        return CPT_NO_MEMORY;
    }
    histogram->buckets = buckets;
    histogram->capacity = capacity;
    return CPT_OK;
}

/* Where bucket @index is, or belongs. */
static uint32_t position(const struct cpti_histogram *histogram, uint32_t index)
{
    uint32_t low = 0;
    uint32_t high = histogram->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (histogram->buckets[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void cpti_histogram_add(struct cpti_histogram *histogram, uint32_t index,
                        cpti_u128 weight)
{
    const uint32_t at = position(histogram, index);
    struct cpti_bucket *bucket = histogram->buckets + at;

    if (at < histogram->count && bucket->index == index) {
        set_weight(bucket, cpti_bucket_weight(bucket) + weight);
        return;
    }
    assert(histogram->count < histogram->capacity);
    memmove(bucket + 1, bucket, (histogram->count - at) * sizeof *bucket);
    bucket->index = index;
    set_weight(bucket, weight);
    histogram->count++;
}

/* From the back, so that nothing has to be moved twice. */
void cpti_histogram_merge(struct cpti_histogram *histogram,
                          const struct cpti_histogram *from)
{
    uint32_t common = 0;
    uint32_t left = histogram->count;
    uint32_t right = from->count;
    uint32_t at = 0;

    for (uint32_t i = 0, j = 0; i < left && j < right;) {
        const uint32_t a = histogram->buckets[i].index;
        const uint32_t b = from->buckets[j].index;

        common += a == b;
        i += a <= b;
        j += b <= a;
    }
    at = left + right - common;
    assert(at <= histogram->capacity || right == 0);
    histogram->count = at;
    while (right > 0) {
        const struct cpti_bucket *next = &from->buckets[right - 1];

        at--;
        if (left > 0 && histogram->buckets[left - 1].index > next->index) {
            histogram->buckets[at] = histogram->buckets[--left];
            continue;
        }
        if (left > 0 && histogram->buckets[left - 1].index == next->index) {
            const cpti_u128 weight = cpti_bucket_weight(&histogram->buckets[--left]);

            histogram->buckets[at].index = next->index;
            set_weight(&histogram->buckets[at], weight + cpti_bucket_weight(next));
        } else {
            histogram->buckets[at] = *next;
        }
        right--;
    }
}
