/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_clocks.h - by how much the clocks of hosts differ, from many requests
 *
 *      call, on h       |==========================|
 *      callee, on g          |==============|            g is at most so far ahead,
 *                            '-> at least so far behind
 *
 * Each call to a service, with each unit of it in the request, also with wrong ones,
 * bounds how far the clock of one host is ahead of the other's; what most bounds allow
 * is believed (interval_vote.h). Where pairs of hosts disagree, the fewest hosts are
 * wrong: the one that contradicts most is moved, until no pair disagrees. Clocks drift
 * and are set, so requests are looked at in blocks, in the order of time.
 *
 * Points bound a host by the lines of the entry; that is too rough to move it.
 *
 * In order of use: count each request, solve, then put each request right.
 * Threads: one at a time.
 */
#ifndef CPTI_EVENT_CLOCKS_H
#define CPTI_EVENT_CLOCKS_H

#include "import/events/requests.h"

enum {
    CPTI_CLOCK_BLOCK_REQUESTS = 100,
    CPTI_CLOCK_APPLIED_NS = 3000000 /* less is told, and not moved */
};

/* What was found of a host. */
struct cpti_event_clock {
    uint32_t host;
    int64_t least_ns; /* how far it is ahead, over its blocks; behind: below 0 */
    int64_t most_ns;
    uint64_t blocks;  /* in which it differs */
    uint64_t moved;   /* in which it was moved */
    uint64_t guessed; /* in which points alone say so */
};

struct cpti_event_clocks;

/* For @request_count requests. NULL without memory. The caller owns it. */
struct cpti_event_clocks *cpti_event_clocks_new(const struct cpt_alloc *alloc,
                                                uint64_t request_count);
void cpti_event_clocks_free(struct cpti_event_clocks *clocks);

/* Counts @request, the next one. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_event_clocks_count(struct cpti_event_clocks *clocks,
                                   const struct cpti_request *request);

/* Ends counting. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_event_clocks_solve(struct cpti_event_clocks *clocks);

/* Puts the lines of the @number-th request right, from 0: moves those of hosts that are
 * wrong, sorts them again, and makes their times as uncertain as the clock is. CPT_OK;
 * CPT_NO_MEMORY. */
cpt_status cpti_event_clocks_mend(struct cpti_event_clocks *clocks, uint64_t number,
                                  struct cpti_request *request);

/* The hosts that differ, by number. */
size_t cpti_event_clocks_found(const struct cpti_event_clocks *clocks,
                               const struct cpti_event_clock **found);

/* Sorts lines by begin, longest first; equal ones stay as they are. @spare has room for
 * @count lines. */
void cpti_event_lines_sort(struct cpti_line *lines, struct cpti_line *spare,
                           size_t count);

#endif
