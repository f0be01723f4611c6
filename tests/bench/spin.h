/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spin.h - computing for a given time without looking at a clock
 *
 * A chain of multiplications, so that it takes as long beside other threads as alone,
 * as far as they have processors of their own.
 */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>

/* How many steps take @ns, by the fastest of many tries. Some milliseconds. */
uint64_t bench_spin_steps(uint64_t ns);

void bench_spin(uint64_t steps);

#endif
