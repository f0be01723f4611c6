/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wide.h - whole numbers of 256, 384 and 768 bits, for sums that must not round
 *
 * Squares of weighted nanoseconds outgrow 128 bits, cubes 256. Limbs stand in order
 * from low to high; numbers are never negative. A result that does not fit loses its
 * high bits; the limits in cpt_tree.h keep this from happening.
 *
 * Threads: any; all functions work on values.
 */
#ifndef WIDE_H
#define WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 cpti_u128;

enum { CPTI_WIDE_LIMBS = 4, CPTI_WIDER_LIMBS = 6, CPTI_HUGE_LIMBS = 12 };

struct cpti_wide {
    uint64_t limb[CPTI_WIDE_LIMBS];
};

struct cpti_wider {
    uint64_t limb[CPTI_WIDER_LIMBS];
};

struct cpti_huge {
    uint64_t limb[CPTI_HUGE_LIMBS];
};

/* @value as a wide number. */
struct cpti_wide cpti_wide_of(cpti_u128 value);

/* @left × @right. */
struct cpti_wide cpti_wide_product(cpti_u128 left, cpti_u128 right);

/* @wide × @factor, which has to fit. */
struct cpti_wide cpti_wide_times(struct cpti_wide wide, uint64_t factor);

void cpti_wide_add(struct cpti_wide *sum, const struct cpti_wide *value);

/* @minuend - @value, which must not be more. */
struct cpti_wide cpti_wide_less(const struct cpti_wide *minuend,
                                const struct cpti_wide *value);

/* Less than 0, 0 or more than 0: @left is less than, equal to or more than @right. */
int cpti_wide_compare(const struct cpti_wide *left, const struct cpti_wide *right);

/* Whether @low × @unit <= @value <= @high × @unit. */
bool cpti_wide_is_between(const struct cpti_wide *value, const struct cpti_wide *unit,
                          uint64_t low, uint64_t high);

/* The bits up to the highest that is set; 0 for 0. */
unsigned cpti_wide_bits(const struct cpti_wide *wide);
unsigned cpti_u128_bits(cpti_u128 value);

/* The quotient of @wide by @divisor, which is not 0, and the remainder in @rest. The
 * quotient must be below 2^64. */
uint64_t cpti_wide_divide(struct cpti_wide wide, cpti_u128 divisor, cpti_u128 *rest);

/* The same of wider numbers. */
struct cpti_wider cpti_wider_of(const struct cpti_wide *wide);
struct cpti_wider cpti_wider_times(struct cpti_wider wider, uint64_t factor);
void cpti_wider_add(struct cpti_wider *sum, const struct cpti_wider *value);
int cpti_wider_compare(const struct cpti_wider *left, const struct cpti_wider *right);
bool cpti_wider_is_between(const struct cpti_wider *value,
                           const struct cpti_wider *unit, uint64_t low, uint64_t high);
unsigned cpti_wider_bits(const struct cpti_wider *wider);

/* Divides @wider by @divisor, which is not 0; returns the remainder. */
uint64_t cpti_wider_reduce(struct cpti_wider *wider, uint64_t divisor);

/* The nearest double, ties to even. */
double cpti_wide_double(const struct cpti_wide *wide);
double cpti_huge_double(const struct cpti_huge *huge);
double cpti_u128_double(cpti_u128 value);

struct cpti_huge cpti_huge_of(const struct cpti_wide *wide);
struct cpti_huge cpti_huge_of_wider(const struct cpti_wider *wider);
struct cpti_huge cpti_huge_times(const struct cpti_huge *huge,
                                 const struct cpti_wide *factor);
void cpti_huge_add(struct cpti_huge *sum, const struct cpti_huge *value);

/* @minuend - @value, or 0 if that would be negative. */
struct cpti_huge cpti_huge_less(const struct cpti_huge *minuend,
                                const struct cpti_huge *value);

#endif
