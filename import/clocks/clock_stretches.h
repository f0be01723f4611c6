/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clock_stretches.h - times between which a clock was set, or drifted away
 *
 * Each call to a host says where the offset of the host's clock lies. If the clock was
 * set meanwhile (a step of NTP), or runs at another speed, no offset fits all calls,
 * but one fits all calls of a stretch of time:
 *
 *      offset  |   -- - --- -          --
 *              |                  - -- -- --- -       each call an interval;
 *              |      --                              one of them lies
 *              +-----------------|------------> time
 *                  stretch 0         stretch 1
 *
 * A stretch has at least CPTI_STRETCH_CALLS calls that the one before cannot explain:
 * fewer are taken for wrong.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLOCK_STRETCHES_H
#define CPTI_CLOCK_STRETCHES_H

#include <stddef.h>
#include <stdint.h>

enum { CPTI_STRETCH_CALLS = 3 };

/* A call to a host, and where it says that the offset of the host's clock lies. */
struct cpti_clock_call {
    int64_t at_ns;
    int64_t least_ns;
    int64_t most_ns;
    uint32_t host;
    uint32_t span; /* the server's */
};

/* Cuts @count calls to a host, in the order of their times, into stretches: their first
 * calls in @starts, for which there is room for @count, and their number. O(n). */
size_t cpti_clock_stretches(const struct cpti_clock_call *calls, size_t count,
                            size_t *starts);

#endif
