/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_clock.h - nanoseconds
 *
 * All times on a path are nanoseconds of one monotonic clock: a uint64_t that never
 * exceeds INT64_MAX. Readings of the clock never leave the process; only durations do.
 * The wall clock is read once for each log record.
 *
 * The caller provides the clock, so that a test can set it.
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

/*
 * The processor's own counter, scaled to nanoseconds: it costs half as much as the
 * operating system's clock. NULL if it is not known to run at one speed on all
 * processors (known only of x86 with an invariant TSC). The first call calibrates it
 * against CLOCK_MONOTONIC, which takes about 10 ms and is precise to about 20
 * millionths. It is not adjusted afterwards, so do not compare its readings with those
 * of another clock. Static memory.
 */
CPT_API const struct cpt_clock *cpt_clock_tsc(void);

/* The cheapest clock of the machine: cpt_clock_tsc(), else cpt_clock_monotonic(). */
CPT_API const struct cpt_clock *cpt_clock_fastest(void);

/* "tsc", "monotonic", or "other" for a clock of the caller's own. Static memory. */
CPT_API const char *cpt_clock_name(const struct cpt_clock *clock);

/* Reads @clock. */
static inline uint64_t cpt_clock_now_ns(const struct cpt_clock *clock)
{
    return clock->now_ns(clock->context);
}

/* Wall-clock nanoseconds since 1970-01-01 UTC. */
CPT_API uint64_t cpt_clock_unix_ns(void);

CPT_END_DECLS

#endif
