/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* spin.c - see spin.h. */
#include "tests/bench/spin.h"

#include "cpt/cpt_clock.h"

void bench_spin(uint64_t steps)
{
    uint64_t state = 1;

    for (uint64_t i = 0; i < steps; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(state)); /* each after the one before */
    }
}

uint64_t bench_spin_steps(uint64_t ns)
{
    const uint64_t steps = 20000;
    uint64_t least_ns = UINT64_MAX;

    for (int i = 0; i < 200; i++) {
        const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());
        uint64_t took_ns = 0;

        bench_spin(steps);
        took_ns = cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return (uint64_t)((double)steps * (double)ns / (double)least_ns);
}
