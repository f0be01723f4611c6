/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_clock.h - nanoseconds
 *
 * All times on a path are nanoseconds of one monotonic clock: uint64_t that never
 * exceeds INT64_MAX. A reading of it never leaves the process, only durations do. The
 * wall clock is read once for each log record.
 *
 * A clock comes from outside, so that a test can turn it by hand.
 *
 * Threads: any.
 */
#ifndef CPT_CLOCK_H
#define CPT_CLOCK_H

#include "cpt/cpt_status.h"

CPT_BEGIN_DECLS

struct cpt_clock {
    uint64_t (*now_ns)(void *context); /* from any thread; never goes back */
    void *context;
};

/* CLOCK_MONOTONIC of the operating system. Static memory. */
CPT_API const struct cpt_clock *cpt_clock_monotonic(void);

/* The reading of @clock now. */
static inline uint64_t cpt_clock_now_ns(const struct cpt_clock *clock)
{
    return clock->now_ns(clock->context);
}

/* Wall-clock nanoseconds since 1970-01-01 UTC. */
CPT_API uint64_t cpt_clock_unix_ns(void);

CPT_END_DECLS

#endif
