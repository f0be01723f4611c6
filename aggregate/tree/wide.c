/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * wide.c - schoolbook arithmetic on arrays of limbs; see wide.h
 *
 * All sizes share the functions on plain arrays at the top. Division shifts and
 * subtracts: quotients have at most 64 bits, and a report divides once for each stack.
 */
#include "aggregate/tree/wide.h"

#include <math.h>

static void add_limbs(uint64_t *sum, const uint64_t *value, size_t count)
{
    uint64_t carry = 0;

    for (size_t i = 0; i < count; i++) {
        const cpti_u128 total = (cpti_u128)sum[i] + value[i] + carry;

        sum[i] = (uint64_t)total;
        carry = (uint64_t)(total >> 64);
    }
}

static void subtract_limbs(uint64_t *from, const uint64_t *value, size_t count)
{
    uint64_t borrow = 0;

    for (size_t i = 0; i < count; i++) {
        const cpti_u128 total = (cpti_u128)from[i] - value[i] - borrow;

        from[i] = (uint64_t)total;
        borrow = (uint64_t)(total >> 64) & 1U;
    }
}

static int compare_limbs(const uint64_t *left, const uint64_t *right, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

/* @product (zeroed, @count limbs) = @left × @right, cut off at the top. */
static void multiply_limbs(uint64_t *product, size_t count, const uint64_t *left,
                           size_t left_count, const uint64_t *right, size_t right_count)
{
    for (size_t i = 0; i < left_count; i++) {
        uint64_t carry = 0;

        if (left[i] == 0) {
            continue; /* most are 0: numbers are rarely as wide as they may be */
        }
        for (size_t j = 0; j < right_count && i + j < count; j++) {
            const cpti_u128 total =
                (cpti_u128)left[i] * right[j] + product[i + j] + carry;

            product[i + j] = (uint64_t)total;
            carry = (uint64_t)(total >> 64);
        }
        if (i + right_count < count) {
            product[i + right_count] = carry;
        }
    }
}

/* @limbs × @factor, cut off at the top. */
static void scale_limbs(uint64_t *limbs, size_t count, uint64_t factor)
{
    cpti_u128 carry = 0;

    for (size_t i = 0; i < count; i++) {
        carry += (cpti_u128)limbs[i] * factor;
        limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

/* The count of limbs without zeros on top. */
static size_t used_limbs(const uint64_t *limbs, size_t count)
{
    while (count != 0 && limbs[count - 1] == 0) {
        count--;
    }
    return count;
}

static unsigned bits_of_limbs(const uint64_t *limbs, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (limbs[i] != 0) {
            return (unsigned)(64 * i) + 64U - (unsigned)__builtin_clzll(limbs[i]);
        }
    }
    return 0;
}

/* The conversion rounds the highest 64 bits. If any bit below them is set, the lowest
 * of the 64 is set, so that only a true tie is rounded as one. */
static double double_of_limbs(const uint64_t *limbs, size_t count)
{
    const unsigned bits = bits_of_limbs(limbs, count);
    const unsigned shift = bits > 64 ? bits - 64 : 0;
    const size_t at = shift / 64;
    const unsigned rest = shift % 64;
    uint64_t top = limbs[at] >> rest;
    uint64_t lost = rest != 0 ? limbs[at] << (64 - rest) : 0;

    if (rest != 0 && at + 1 < count) {
        top |= limbs[at + 1] << (64 - rest);
    }
    for (size_t i = 0; i < at && i < count; i++) {
        lost |= limbs[i];
    }
    return ldexp((double)(lost != 0 ? top | 1U : top), (int)shift);
}

struct cpti_wide cpti_wide_of(cpti_u128 value)
{
    return (struct cpti_wide){{(uint64_t)value, (uint64_t)(value >> 64), 0, 0}};
}

struct cpti_wide cpti_wide_product(cpti_u128 left, cpti_u128 right)
{
    const struct cpti_wide wide = cpti_wide_of(left);
    const uint64_t high = (uint64_t)(right >> 64);
    struct cpti_wide product = cpti_wide_times(wide, (uint64_t)right);

    if (high != 0) {
        const struct cpti_wide upper = cpti_wide_times(wide, high);

        add_limbs(product.limb + 1, upper.limb, CPTI_WIDE_LIMBS - 1);
    }
    return product;
}

struct cpti_wide cpti_wide_times(struct cpti_wide wide, uint64_t factor)
{
    scale_limbs(wide.limb, CPTI_WIDE_LIMBS, factor);
    return wide;
}

void cpti_wide_add(struct cpti_wide *sum, const struct cpti_wide *value)
{
    add_limbs(sum->limb, value->limb, CPTI_WIDE_LIMBS);
}

struct cpti_wide cpti_wide_less(const struct cpti_wide *minuend,
                                const struct cpti_wide *value)
{
    struct cpti_wide difference = *minuend;

    subtract_limbs(difference.limb, value->limb, CPTI_WIDE_LIMBS);
    return difference;
}

int cpti_wide_compare(const struct cpti_wide *left, const struct cpti_wide *right)
{
    return compare_limbs(left->limb, right->limb, CPTI_WIDE_LIMBS);
}

bool cpti_wide_is_between(const struct cpti_wide *value, const struct cpti_wide *unit,
                          uint64_t low, uint64_t high)
{
    const struct cpti_wide least = cpti_wide_times(*unit, low);
    const struct cpti_wide most = cpti_wide_times(*unit, high);

    return cpti_wide_compare(&least, value) <= 0 &&
           cpti_wide_compare(value, &most) <= 0;
}

unsigned cpti_wide_bits(const struct cpti_wide *wide)
{
    return bits_of_limbs(wide->limb, CPTI_WIDE_LIMBS);
}

unsigned cpti_u128_bits(cpti_u128 value)
{
    const uint64_t limbs[2] = {(uint64_t)value, (uint64_t)(value >> 64)};

    return bits_of_limbs(limbs, 2);
}

static struct cpti_wide shifted(struct cpti_wide wide, unsigned shift)
{
    struct cpti_wide result = {{0}};
    const size_t limbs = shift / 64;
    const unsigned rest = shift % 64;

    for (size_t i = limbs; i < CPTI_WIDE_LIMBS; i++) {
        result.limb[i] = wide.limb[i - limbs] << rest;
        if (rest != 0 && i > limbs) {
            result.limb[i] |= wide.limb[i - limbs - 1] >> (64 - rest);
        }
    }
    return result;
}

uint64_t cpti_wide_divide(struct cpti_wide wide, cpti_u128 divisor, cpti_u128 *rest)
{
    const struct cpti_wide unit = cpti_wide_of(divisor);
    const unsigned bits = cpti_wide_bits(&wide);
    const unsigned unit_bits = cpti_wide_bits(&unit);
    unsigned step = bits >= unit_bits ? bits - unit_bits + 1 : 0;
    uint64_t quotient = 0;

    if (step > 64) {
        step = 64; /* the quotient fits, by contract */
    }
    while (step-- > 0) {
        const struct cpti_wide part = shifted(unit, step);

        if (compare_limbs(wide.limb, part.limb, CPTI_WIDE_LIMBS) >= 0) {
            subtract_limbs(wide.limb, part.limb, CPTI_WIDE_LIMBS);
            quotient |= (uint64_t)1 << step;
        }
    }
    *rest = (cpti_u128)wide.limb[1] << 64 | wide.limb[0];
    return quotient;
}

struct cpti_wider cpti_wider_of(const struct cpti_wide *wide)
{
    struct cpti_wider wider = {{0}};

    add_limbs(wider.limb, wide->limb, CPTI_WIDE_LIMBS);
    return wider;
}

struct cpti_wider cpti_wider_times(struct cpti_wider wider, uint64_t factor)
{
    scale_limbs(wider.limb, CPTI_WIDER_LIMBS, factor);
    return wider;
}

void cpti_wider_add(struct cpti_wider *sum, const struct cpti_wider *value)
{
    add_limbs(sum->limb, value->limb, CPTI_WIDER_LIMBS);
}

int cpti_wider_compare(const struct cpti_wider *left, const struct cpti_wider *right)
{
    return compare_limbs(left->limb, right->limb, CPTI_WIDER_LIMBS);
}

bool cpti_wider_is_between(const struct cpti_wider *value,
                           const struct cpti_wider *unit, uint64_t low, uint64_t high)
{
    const struct cpti_wider least = cpti_wider_times(*unit, low);
    const struct cpti_wider most = cpti_wider_times(*unit, high);

    return cpti_wider_compare(&least, value) <= 0 &&
           cpti_wider_compare(value, &most) <= 0;
}

unsigned cpti_wider_bits(const struct cpti_wider *wider)
{
    return bits_of_limbs(wider->limb, CPTI_WIDER_LIMBS);
}

uint64_t cpti_wider_reduce(struct cpti_wider *wider, uint64_t divisor)
{
    uint64_t rest = 0;

    for (size_t i = CPTI_WIDER_LIMBS; i-- > 0;) {
        const cpti_u128 part = (cpti_u128)rest << 64 | wider->limb[i];

        wider->limb[i] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    return rest;
}

double cpti_wide_double(const struct cpti_wide *wide)
{
    return double_of_limbs(wide->limb, CPTI_WIDE_LIMBS);
}

double cpti_huge_double(const struct cpti_huge *huge)
{
    return double_of_limbs(huge->limb, CPTI_HUGE_LIMBS);
}

double cpti_u128_double(cpti_u128 value)
{
    const uint64_t limbs[2] = {(uint64_t)value, (uint64_t)(value >> 64)};

    return double_of_limbs(limbs, 2);
}

struct cpti_huge cpti_huge_of(const struct cpti_wide *wide)
{
    struct cpti_huge huge = {{0}};

    add_limbs(huge.limb, wide->limb, CPTI_WIDE_LIMBS);
    return huge;
}

struct cpti_huge cpti_huge_of_wider(const struct cpti_wider *wider)
{
    struct cpti_huge huge = {{0}};

    add_limbs(huge.limb, wider->limb, CPTI_WIDER_LIMBS);
    return huge;
}

struct cpti_huge cpti_huge_times(const struct cpti_huge *huge,
                                 const struct cpti_wide *factor)
{
    struct cpti_huge product = {{0}};

    multiply_limbs(product.limb, CPTI_HUGE_LIMBS, huge->limb,
                   used_limbs(huge->limb, CPTI_HUGE_LIMBS), factor->limb,
                   used_limbs(factor->limb, CPTI_WIDE_LIMBS));
    return product;
}

void cpti_huge_add(struct cpti_huge *sum, const struct cpti_huge *value)
{
    add_limbs(sum->limb, value->limb, CPTI_HUGE_LIMBS);
}

struct cpti_huge cpti_huge_less(const struct cpti_huge *minuend,
                                const struct cpti_huge *value)
{
    struct cpti_huge difference = {{0}};

    if (compare_limbs(minuend->limb, value->limb, CPTI_HUGE_LIMBS) > 0) {
        difference = *minuend;
        subtract_limbs(difference.limb, value->limb, CPTI_HUGE_LIMBS);
    }
    return difference;
}
