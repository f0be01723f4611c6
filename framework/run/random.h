/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* random.h - a number that no other process begins with; inline */
#ifndef CPT_RANDOM_H
#define CPT_RANDOM_H

#include "cpt/cpt_clock.h"

#include <stdint.h>
#include <sys/random.h>

/* Of the system, which takes some 400 ns: once for many numbers that are made of it.
 * Early in the life of a machine, when it has none yet, of the time. Does not wait. */
static inline uint64_t cpti_random_seed(void)
{
    uint64_t seed = 0;

    return getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed
               ? seed
               : cpt_clock_unix_ns() * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
