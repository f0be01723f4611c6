/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clock_offsets.h - the offsets of many clocks, from what is known of pairs of them
 *
 * Clocks are joined by a minimum spanning tree, narrow pairs first, each at the best
 * offset of its pair, or at 0 if that is possible; then the offsets are mended until
 * every pair holds, also those that are not in the tree (a system of difference
 * constraints, by Bellman and Ford). Clocks that can stay where they are do.
 *
 * If there are no such offsets, pairs are left out until there are: those that the
 * fewest calls speak for, as long as those that more speak for agree.
 *
 * Cost: O(s log s) for s pairs, and at most 2^28 steps to mend.
 * Threads: one at a time.
 */
#ifndef CPTI_CLOCK_OFFSETS_H
#define CPTI_CLOCK_OFFSETS_H

#include "import/clocks/clock_bounds.h"

struct cpti_clock_offsets {
    const struct cpt_alloc *alloc;
    struct cpti_clock_pair *pairs; /* freed with the rest */
    size_t pair_count;
    uint32_t count;     /* of clocks */
    uint32_t reference; /* the one that is right */
    int64_t *offset_ns; /* of each: how far it is ahead */
    bool is_sure;       /* no pair was left out, and all hold */
    /* of each clock: a forest of joined clocks, … */
    uint32_t *above;
    uint32_t *joined;   /* how many are in its tree */
    int64_t *differ_ns; /* from the clock of the one above */
    /* … and how far it can be ahead */
    int64_t *low_ns; /* negated */
    int64_t *high_ns;
    size_t steps_left;
};

/* Finds the offsets of @offsets, of which the first five members are filled in.
 * CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_clock_offsets_solve(struct cpti_clock_offsets *offsets);

/* How far the offset of @clock may be wrong; UINT64_MAX: that is not known. */
uint64_t cpti_clock_offsets_error(const struct cpti_clock_offsets *offsets,
                                  uint32_t clock);

void cpti_clock_offsets_clear(struct cpti_clock_offsets *offsets);

#endif
