/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clock_stretches.c - see clock_stretches.h
 *
 * One pass. The offsets that fit the stretch so far are an interval that calls narrow.
 * A call that it does not fit begins a rival, another such interval, which gets all
 * calls from there on, too. A rival that explains enough calls more is the next
 * stretch. If one explains fewer, its first call was wrong, and it is given up.
 */
#include "import/clocks/clock_stretches.h"

#include <stdbool.h>
#include <string.h>

enum { RIVALS = 4 };

/* What fits all calls of a stretch but @misses. */
struct offsets {
    int64_t least_ns;
    int64_t most_ns;
    size_t misses;
};

struct rival {
    struct offsets offsets;
    size_t start;         /* the call with which it began, … */
    size_t misses_before; /* … and how many the stretch had missed by then */
};

static bool fits(const struct offsets *offsets, const struct cpti_clock_call *call)
{
    return call->least_ns <= offsets->most_ns && call->most_ns >= offsets->least_ns;
}

/* Narrows @offsets to those that fit @call, too; or else counts. Whether there are. */
static bool narrow(struct offsets *offsets, const struct cpti_clock_call *call)
{
    if (!fits(offsets, call)) {
        offsets->misses++;
        return false;
    }
    if (call->least_ns > offsets->least_ns) {
        offsets->least_ns = call->least_ns;
    }
    if (call->most_ns < offsets->most_ns) {
        offsets->most_ns = call->most_ns;
    }
    return true;
}

/* The first of the calls before @start, from the last that fits @old on, that fits
 * @fresh; @start if there is none. */
static size_t reach_back(const struct cpti_clock_call *calls, size_t start,
                         const struct offsets *old, struct offsets *fresh)
{
    size_t first = start;

    for (size_t i = start; i > 0 && !fits(old, &calls[i - 1]); i--) {
        if (fits(fresh, &calls[i - 1])) {
            (void)narrow(fresh, &calls[i - 1]);
            first = i - 1;
        }
    }
    return first;
}

/* The first call of a stretch that ends with the last of @count calls, is long enough,
 * and fits them and @fresh, which began with call @start; 0: there is none. */
static size_t stretch_back(const struct cpti_clock_call *calls, size_t start,
                           size_t count, struct offsets *fresh)
{
    while (start > 0 && count - start < CPTI_STRETCH_CALLS &&
           narrow(fresh, &calls[start - 1])) {
        start--;
    }
    return count - start < CPTI_STRETCH_CALLS ? 0 : start;
}

/* The stretch so far, and its rivals, the oldest first. */
struct race {
    struct offsets now;
    struct rival rivals[RIVALS];
    size_t count;
};

static void forget(struct race *race, size_t index)
{
    race->count--;
    memmove(&race->rivals[index], &race->rivals[index + 1],
            (race->count - index) * sizeof *race->rivals);
}

/* How many calls more rival @index explains. */
static int64_t lead(const struct race *race, size_t index)
{
    const struct rival *rival = &race->rivals[index];

    return (int64_t)(race->now.misses - rival->misses_before) -
           (int64_t)rival->offsets.misses;
}

/* Takes call @number; the first rival that explains enough calls more, or RIVALS. */
static size_t enter(struct race *race, const struct cpti_clock_call *call,
                    size_t number)
{
    const size_t misses = race->now.misses;
    bool fits_any = narrow(&race->now, call);

    for (size_t i = 0; i < race->count; i++) {
        fits_any |= narrow(&race->rivals[i].offsets, call);
    }
    for (size_t i = race->count; i-- > 0;) {
        if (lead(race, i) < 0) {
            forget(race, i);
        }
    }
    if (!fits_any) {
        if (race->count == RIVALS) {
            forget(race, 0);
        }
        race->rivals[race->count++] =
            (struct rival){{call->least_ns, call->most_ns, 0}, number, misses};
    }
    for (size_t i = 0; i < race->count; i++) {
        if (lead(race, i) >= CPTI_STRETCH_CALLS) {
            return i;
        }
    }
    return RIVALS;
}

size_t cpti_clock_stretches(const struct cpti_clock_call *calls, size_t count,
                            size_t *starts)
{
    struct race race = {.now = {INT64_MIN, INT64_MAX, 0}};
    size_t last = 0;

    if (count == 0) {
        return 0;
    }
    starts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t winner = enter(&race, &calls[i], i);

        if (winner < RIVALS) {
            struct rival next = race.rivals[winner];
            const size_t start =
                reach_back(calls + starts[last], next.start - starts[last], &race.now,
                           &next.offsets);

            if (start >= CPTI_STRETCH_CALLS) { /* else what was before is no stretch */
                last++;
                starts[last] = starts[last - 1] + start;
            }
            race = (struct race){.now = next.offsets};
        }
    }
    if (last > 0 && race.count > 0) { /* a clock that drifts goes on to do so */
        const size_t start =
            stretch_back(calls + starts[last], race.rivals[0].start - starts[last],
                         count - starts[last], &race.rivals[0].offsets);

        if (start >= CPTI_STRETCH_CALLS) {
            last++;
            starts[last] = starts[last - 1] + start;
        }
    }
    return last + 1;
}
