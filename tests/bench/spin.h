/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spin.h - computing for a given time without reading a clock
 *
 * A chain of multiplications, which takes the same time beside other threads as alone,
 * if each has its own processor.
 */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>

/* The number of steps that take @ns, by the fastest of many tries. Takes some ms. */
uint64_t bench_spin_steps(uint64_t ns);

void bench_spin(uint64_t steps);

#endif
