/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * busy.c - normalised processor time; see cpt_busy.h
 *
 * One sweep over all beginnings and ends in the order of time. Between two of them c
 * spans run, so that V(t), the integral of dt / c, grows by the same amount for each:
 * the share of a span is V(end) - V(begin). V has 40 bits behind the point. Each of at
 * most 2^25 stretches is cut off there, so a share is too small by 2^-15 ns at most.
 */
#include "cpt/cpt_busy.h"

#include <stdbool.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

enum { FRACTION_BITS = 40 };

/* A span begins or ends. */
struct turn {
    uint64_t at_ns;
    uint32_t span;
    uint32_t is_end;
};

/* Part of a nanosecond. */
struct fraction {
    uint64_t part;
    uint32_t span;
};

static int by_time(const void *left, const void *right)
{
    const struct turn *a = left;
    const struct turn *b = right;

    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static int by_fraction(const void *left, const void *right)
{
    const struct fraction *a = left;
    const struct fraction *b = right;

    if (a->part != b->part) {
        return a->part > b->part ? -1 : 1;
    }
    return (a->span > b->span) - (a->span < b->span);
}

static size_t list_turns(const struct cpt_busy_span *spans, size_t span_count,
                         struct turn *turns)
{
    size_t count = 0;

    for (size_t i = 0; i < span_count; i++) {
        if (spans[i].begin_ns < spans[i].end_ns) {
            turns[count++] = (struct turn){spans[i].begin_ns, (uint32_t)i, 0};
            turns[count++] = (struct turn){spans[i].end_ns, (uint32_t)i, 1};
        }
    }
    qsort(turns, count, sizeof *turns, by_time);
    return count;
}

/* Sets @grown[i] to the share of span i with its fraction. Returns the time in which
 * any ran. */
static uint64_t sweep(const struct turn *turns, size_t count, wide *grown)
{
    uint64_t busy_ns = 0;
    uint64_t running = 0;
    wide integral = 0;

    for (size_t i = 0; i < count; i++) {
        if (running != 0) {
            const uint64_t time_ns = turns[i].at_ns - turns[i - 1].at_ns;

            integral += ((wide)time_ns << FRACTION_BITS) / running;
            busy_ns += time_ns;
        }
        if (turns[i].is_end != 0) {
            running--;
            grown[turns[i].span] = integral - grown[turns[i].span];
        } else {
            running++;
            grown[turns[i].span] = integral;
        }
    }
    return busy_ns;
}

/* Rounds shares so that they sum to @busy_ns. */
static void round_shares(const wide *grown, size_t span_count, uint64_t busy_ns,
                         struct fraction *fractions, uint64_t *shares_ns)
{
    uint64_t sum_ns = 0;
    size_t count = 0;

    for (size_t i = 0; i < span_count; i++) {
        shares_ns[i] = (uint64_t)(grown[i] >> FRACTION_BITS);
        sum_ns += shares_ns[i];
        if (grown[i] != 0) {
            fractions[count++] = (struct fraction){
                (uint64_t)grown[i] & (((uint64_t)1 << FRACTION_BITS) - 1), (uint32_t)i};
        }
    }
    qsort(fractions, count, sizeof *fractions, by_fraction);
    for (size_t i = 0; i < count && sum_ns < busy_ns; i++, sum_ns++) {
        shares_ns[fractions[i].span]++;
    }
}

cpt_status cpt_busy_shares(const struct cpt_alloc *alloc,
                           const struct cpt_busy_span *spans, size_t span_count,
                           uint64_t *shares_ns, uint64_t *busy_ns)
{
    struct turn *turns = NULL;
    struct fraction *fractions = NULL;
    wide *grown = NULL;
    cpt_status status = CPT_NO_MEMORY;

    *busy_ns = 0;
    if (span_count > CPT_BUSY_SPANS_MAX) {
        return CPT_LIMIT;
    }
    if (span_count == 0) {
        return CPT_OK;
    }
    turns = cpt_alloc_zeroed(alloc, 2 * span_count * sizeof *turns);
    fractions = cpt_alloc_zeroed(alloc, span_count * sizeof *fractions);
    grown = cpt_alloc_zeroed(alloc, span_count * sizeof *grown);
    if (turns != NULL && fractions != NULL && grown != NULL) {
        *busy_ns = sweep(turns, list_turns(spans, span_count, turns), grown);
        round_shares(grown, span_count, *busy_ns, fractions, shares_ns);
        status = CPT_OK;
    }
    cpt_alloc_free(alloc, turns);
    cpt_alloc_free(alloc, fractions);
    cpt_alloc_free(alloc, grown);
    return status;
}
