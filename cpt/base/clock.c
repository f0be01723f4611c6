/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* clock.c - the clocks of the operating system; see cpt_clock.h */
#include "cpt/cpt_clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec now = {0};

    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic_now_ns(void *context)
{
    (void)context;
    return read_ns(CLOCK_MONOTONIC);
}

const struct cpt_clock *cpt_clock_monotonic(void)
{
    static const struct cpt_clock clock = {monotonic_now_ns, NULL};

    return &clock;
}

uint64_t cpt_clock_unix_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}
