/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * interval_vote.h - the value that most of many intervals contain
 *
 * Each interval says where one unknown value lies; some are wrong. The value that most
 * of them contain is believed, and one wrong interval, however far away, changes
 * nothing. A mean would follow it.
 *
 *      0                 |-----------|
 *      1                      |-------------|
 *      2                   |-------|
 *      3  |----|                                  contains no value of the others
 *                             [peak]
 *
 * 0 is what no one has to be told: it is preferred if nearly as many contain it.
 *
 * Cost: O(1) for an interval; O(n log n) for the result if not all n have a value in
 * common. Threads: one at a time.
 */
#ifndef CPTI_INTERVAL_VOTE_H
#define CPTI_INTERVAL_VOTE_H

#include "cpt/cpt_alloc.h"

#include <stdbool.h>
#include <stdint.h>

/* No bound on this side. Sums of two fit 64 bits. */
#define CPTI_VOTE_FAR ((int64_t)1 << 60)

/* Intervals that were added. All zero but `alloc`: none. */
struct cpti_interval_vote {
    const struct cpt_alloc *alloc;
    int64_t *leasts;
    int64_t *mosts;
    size_t count;
    size_t least_capacity;
    size_t most_capacity;
    size_t at_zero; /* that contain 0 */
    int64_t low;    /* what all have in common, if low <= high */
    int64_t high;
};

struct cpti_vote_result {
    int64_t least; /* the peak: all that as many contain as any other value */
    int64_t most;
    size_t votes;  /* how many contain it */
    bool has_zero; /* at least 98 % as many contain 0 */
};

/* Forgets all intervals, but keeps the memory. */
void cpti_interval_vote_reset(struct cpti_interval_vote *vote);

/* Frees the memory. */
void cpti_interval_vote_clear(struct cpti_interval_vote *vote);

/* Adds the interval from @least to @most; one that ends before it begins says nothing.
 * CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_interval_vote_add(struct cpti_interval_vote *vote, int64_t least,
                                  int64_t most);

/* Counts. The order of adding does not matter, that of the intervals may be changed. Of
 * several peaks it is the one nearest to 0, then the widest, then the least. Without
 * intervals, every value is the peak. */
struct cpti_vote_result cpti_interval_vote_count(struct cpti_interval_vote *vote);

/* The value of @result to take: its middle; if it has one end, that; else 0. */
int64_t cpti_vote_middle(const struct cpti_vote_result *result);

#endif
