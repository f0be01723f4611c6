/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clock_bounds.h - what spans tell of the clocks of two hosts
 *
 * A call tells how far two clocks can be apart: its server began after its client had,
 * and ended before it.
 *
 *      client, by its clock    c1 |-----------------------| c2
 *      server, by its clock         s1 |---------| s2
 *
 *      s2 - c2  <=  clock of the server less that of the client  <=  s1 - c1
 *
 * Each call is a bound; the bounds of two clocks are joined to a pair by a vote.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLOCK_BOUNDS_H
#define CPTI_CLOCK_BOUNDS_H

#include "import/clocks/interval_vote.h"

struct cpti_spans;

/* The clock of @to less that of @from. */
struct cpti_clock_bound {
    int64_t least_ns; /* -CPTI_VOTE_FAR: any */
    int64_t most_ns;  /* CPTI_VOTE_FAR: any */
    uint32_t from;
    uint32_t to;
    bool is_call; /* both ends are of one call, which was not given up */
    /* An end that only votes: an offset beyond it would move a child out of its parent,
     * in which it lies. */
    bool is_least_guess;
    bool is_most_guess;
};

/* What all bounds of two clocks say together. */
struct cpti_clock_pair {
    uint32_t from; /* less than `to` */
    uint32_t to;
    int64_t least_ns; /* of those that are believed; guesses are none of them */
    int64_t most_ns;
    int64_t best_ns;
    uint32_t calls;    /* that are believed, … */
    uint32_t children; /* … and others */
    bool is_torn;      /* some are not */
    bool is_left_out;  /* for clock_offsets.h */
};

/* Whether span @number and its parent tell by whose clocks they are; then *@bound is
 * what they tell of these, if they are two, without their numbers. */
bool cpti_clock_bound_of(const struct cpti_spans *spans, uint32_t number,
                         struct cpti_clock_bound *bound);

/* Whether @bound contradicts clocks of which one is ahead by @offset_ns. */
bool cpti_clock_bound_breaks(const struct cpti_clock_bound *bound, int64_t offset_ns);

/* Whether nothing tells the clocks of span @number and of its parent apart, of which
 * @bound is what they tell. */
bool cpti_clock_is_shared(const struct cpti_spans *spans, uint32_t number,
                          const struct cpti_clock_bound *bound);

/* Whether any span contradicts the clocks as they are. */
bool cpti_clock_is_any_wrong(const struct cpti_spans *spans);

/* Marks the calls that were given up as another one was answered first: their
 * servers' ends are no bounds then. Whether there are any. Uses the queue. O(n log n),
 * or O(n) if no server outlives its client. */
bool cpti_clock_find_hedges(struct cpti_spans *spans);

/*
 * Joins @count bounds by pairs of clocks, in the order of these: *@pairs, which the
 * caller frees, and *@pair_count. Sorts @bounds; `from` is less than `to` then. The
 * calls of two clocks are asked first; only where they want another offset than 0, or
 * there are none, what is left counts, within what they allow.
 *
 * CPT_OK; CPT_NO_MEMORY.
 */
cpt_status cpti_clock_pairs_join(struct cpti_clock_bound *bounds, size_t count,
                                 const struct cpt_alloc *alloc,
                                 struct cpti_clock_pair **pairs, size_t *pair_count);

#endif
