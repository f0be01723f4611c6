/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_wide.c - wide numbers against laws of arithmetic and against long double */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/tree/wide.h"

#include <math.h>

static cpti_u128 random_u128(uint64_t *state)
{
    const cpti_u128 value = (cpti_u128)random_next(state) << 64 | random_next(state);

    return value >> random_below(state, 127);
}

static void test_a_quotient_multiplied_back_is_the_number(void)
{
    uint64_t state = random_seed("divide");

    for (int i = 0; i < 20000; i++) {
        const uint64_t quotient = random_next(&state) >> random_below(&state, 64);
        const cpti_u128 divisor = (random_u128(&state) >> 1) + 1;
        const cpti_u128 rest = random_u128(&state) % divisor;
        const struct cpti_wide small = cpti_wide_of(rest);
        struct cpti_wide number = cpti_wide_product(divisor, quotient);
        cpti_u128 found = 0;

        cpti_wide_add(&number, &small);
        CU_ASSERT_EQUAL_FATAL(cpti_wide_divide(number, divisor, &found), quotient);
        CU_ASSERT_FATAL(found == rest);
    }
}

static void test_products_follow_the_binomial_law(void)
{
    uint64_t state = random_seed("product");

    for (int i = 0; i < 20000; i++) { /* (a + b)² = a² + 2 a b + b² */
        const cpti_u128 a = random_u128(&state) >> 1;
        const cpti_u128 b = random_u128(&state) >> 1;
        const struct cpti_wide whole = cpti_wide_product(a + b, a + b);
        const struct cpti_wide mixed = cpti_wide_times(cpti_wide_product(a, b), 2);
        const struct cpti_wide square = cpti_wide_product(b, b);
        struct cpti_wide sum = cpti_wide_product(a, a);

        cpti_wide_add(&sum, &mixed);
        cpti_wide_add(&sum, &square);
        CU_ASSERT_EQUAL_FATAL(cpti_wide_compare(&sum, &whole), 0);
    }
}

static void test_huge_differences_keep_the_last_bit(void)
{
    uint64_t state = random_seed("huge");

    for (int i = 0; i < 20000; i++) { /* x y - (x - 1) y = y */
        const cpti_u128 a = random_u128(&state) + 1;
        const cpti_u128 b = random_u128(&state);
        const struct cpti_wide x = cpti_wide_of(a);
        const struct cpti_wide less = cpti_wide_of(a - 1);
        const struct cpti_wide y = cpti_wide_product(b, b);
        struct cpti_huge left = cpti_huge_of(&y);
        struct cpti_huge right = left;
        const struct cpti_huge wanted = left;

        left = cpti_huge_times(&left, &x);
        right = cpti_huge_times(&right, &less);
        left = cpti_huge_less(&left, &right);
        CU_ASSERT_EQUAL_FATAL(memcmp(&left, &wanted, sizeof left), 0);
    }
}

/* (a · b · c) / c = a · b, also beyond 256 bits, and a bit more leaves a remainder. */
static void test_wider_products_divide_back(void)
{
    uint64_t state = random_seed("wider");

    for (int i = 0; i < 20000; i++) {
        const struct cpti_wide wide =
            cpti_wide_product(random_u128(&state), random_u128(&state));
        const struct cpti_wider small = cpti_wider_of(&wide);
        const uint64_t first = (random_next(&state) >> random_below(&state, 63)) | 2;
        const uint64_t second = (random_next(&state) >> random_below(&state, 63)) | 1;
        const struct cpti_wide wide_one = cpti_wide_of(1);
        const struct cpti_wider one = cpti_wider_of(&wide_one);
        struct cpti_wider product =
            cpti_wider_times(cpti_wider_times(small, first), second);

        CU_ASSERT_TRUE_FATAL(cpti_wider_compare(&small, &product) <= 0);
        CU_ASSERT_EQUAL_FATAL(cpti_wider_reduce(&product, second), 0);
        CU_ASSERT_TRUE_FATAL(cpti_wider_is_between(&product, &small, first, first));
        cpti_wider_add(&product, &one);
        CU_ASSERT_FALSE_FATAL(cpti_wider_is_between(&product, &small, 0, first));
        CU_ASSERT_EQUAL_FATAL(cpti_wider_reduce(&product, first), 1);
        CU_ASSERT_EQUAL_FATAL(cpti_wider_compare(&small, &product), 0);
        CU_ASSERT_EQUAL(cpti_wider_bits(&small), cpti_wide_bits(&wide));
    }
}

static void test_a_difference_is_never_negative(void)
{
    const struct cpti_wide one = cpti_wide_of(1);
    const struct cpti_wide two = cpti_wide_of(2);
    const struct cpti_huge a = cpti_huge_of(&one);
    const struct cpti_huge b = cpti_huge_of(&two);
    const struct cpti_huge difference = cpti_huge_less(&a, &b);

    CU_ASSERT_EQUAL(cpti_huge_double(&difference), 0);
}

static void test_doubles_are_the_nearest(void)
{
    uint64_t state = random_seed("double");

    for (int i = 0; i < 20000; i++) {
        const cpti_u128 value = random_u128(&state);

        CU_ASSERT_EQUAL_FATAL(cpti_u128_double(value), (double)value);
    }
    {
        /* exactly half between two doubles goes to the even one, one more goes up */
        struct cpti_wide half =
            cpti_wide_product((cpti_u128)1 << 120, (cpti_u128)1 << 120);
        const struct cpti_wide bit =
            cpti_wide_product((cpti_u128)1 << 120, (cpti_u128)1 << 67);
        const struct cpti_wide one = cpti_wide_of(1);

        cpti_wide_add(&half, &bit);
        CU_ASSERT_EQUAL(cpti_wide_double(&half), ldexp(1, 240));
        cpti_wide_add(&half, &one);
        CU_ASSERT_EQUAL(cpti_wide_double(&half), ldexp(1 + ldexp(1, -52), 240));
    }
    CU_ASSERT_EQUAL(cpti_u128_double(0), 0);
}

static void test_bits_are_counted(void)
{
    const struct cpti_wide zero = cpti_wide_of(0);
    const struct cpti_wide large =
        cpti_wide_product((cpti_u128)1 << 127, (cpti_u128)1 << 127);

    CU_ASSERT_EQUAL(cpti_wide_bits(&zero), 0);
    CU_ASSERT_EQUAL(cpti_wide_bits(&large), 255);
    CU_ASSERT_EQUAL(cpti_u128_bits(255), 8);
}

extern CU_TestInfo cpt_wide_tests[];
CU_TestInfo cpt_wide_tests[] = {
    {"a quotient multiplied back is the number",
     test_a_quotient_multiplied_back_is_the_number},
    {"products follow the binomial law", test_products_follow_the_binomial_law},
    {"huge differences keep the last bit", test_huge_differences_keep_the_last_bit},
    {"wider products divide back", test_wider_products_divide_back},
    {"a difference is never negative", test_a_difference_is_never_negative},
    {"doubles are the nearest", test_doubles_are_the_nearest},
    {"bits are counted", test_bits_are_counted},
    CU_TEST_INFO_NULL,
};
