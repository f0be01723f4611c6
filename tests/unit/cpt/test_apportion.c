/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_apportion.c - shares always add up to the whole */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/cpt_apportion.h"

#include <string.h>

static void test_goes_by_largest_remainder(void)
{
    uint64_t values[] = {7, 4, 2};

    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 3, 10), CPT_OK);
    CU_ASSERT_EQUAL(values[0], 5);
    CU_ASSERT_EQUAL(values[1], 3);
    CU_ASSERT_EQUAL(values[2], 2);
}

static void test_ties_go_to_the_earlier(void)
{
    uint64_t values[] = {1, 1, 1};

    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 3, 2), CPT_OK);
    CU_ASSERT_EQUAL(values[0], 1);
    CU_ASSERT_EQUAL(values[1], 1);
    CU_ASSERT_EQUAL(values[2], 0);
}

static void test_products_are_wide(void)
{
    uint64_t values[] = {INT64_MAX / 2, INT64_MAX / 2, 1};

    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 3, INT64_MAX - 7), CPT_OK);
    CU_ASSERT_EQUAL(values[0] + values[1] + values[2], (uint64_t)INT64_MAX - 7);
}

static void test_refuses_what_cannot_be_divided(void)
{
    uint64_t values[] = {UINT64_MAX, 1};

    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 2, 1), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 0, 1), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 0, 0), CPT_OK);
}

static void test_nothing_among_nothing(void)
{
    uint64_t values[] = {0, 0};

    CU_ASSERT_EQUAL(cpt_apportion(NULL, values, 2, 7), CPT_OK);
    CU_ASSERT_EQUAL(values[0], 7);
    CU_ASSERT_EQUAL(values[1], 0);
}

/* Shares by definition: each unit goes to the share that is furthest below its due. */
static void share_slowly(uint64_t *values, size_t count, uint64_t whole)
{
    uint64_t rests[40];
    uint64_t sum = 0;
    uint64_t given = 0;

    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    for (size_t i = 0; i < count; i++) {
        rests[i] = values[i] * whole % sum + 1;
        values[i] = values[i] * whole / sum;
        given += values[i];
    }
    for (; given < whole; given++) {
        size_t best = 0;

        for (size_t i = 1; i < count; i++) {
            best = rests[i] > rests[best] ? i : best;
        }
        values[best]++;
        rests[best] = 0;
    }
}

static void test_against_a_model(void)
{
    struct test_random random = {test_random_seed("apportion")};

    for (int i = 0; i < 50000; i++) {
        const size_t count = 1 + test_random_below(&random, 40);
        const uint64_t most = test_random_chance(&random, 50) ? 5 : 1000000;
        const uint64_t whole = test_random_below(&random, 40 * most);
        uint64_t values[40];
        uint64_t expected[40];

        for (size_t at = 0; at < count; at++) {
            values[at] = expected[at] = test_random_below(&random, most);
        }
        values[0] = expected[0] = 1 + expected[0];
        share_slowly(expected, count, whole);
        CU_ASSERT_FATAL(cpt_apportion(NULL, values, count, whole) == CPT_OK);
        CU_ASSERT_FATAL(memcmp(values, expected, count * sizeof values[0]) == 0);
    }
}

static bool divide(const struct cpt_alloc *alloc)
{
    uint64_t values[] = {7, 4, 2};
    const cpt_status status = cpt_apportion(alloc, values, 3, 10);

    CU_ASSERT_TRUE(status == CPT_OK ||
                   (values[0] == 7 && values[1] == 4 && values[2] == 2));
    return status == CPT_OK;
}

static void test_refused_memory(void)
{
    each_allocation_failure(divide);
}

extern CU_TestInfo cpt_apportion_tests[];
CU_TestInfo cpt_apportion_tests[] = {
    {"goes by the largest remainder", test_goes_by_largest_remainder},
    {"ties go to the earlier", test_ties_go_to_the_earlier},
    {"products are 128 bits wide", test_products_are_wide},
    {"refuses what cannot be divided", test_refuses_what_cannot_be_divided},
    {"where all is 0 the first takes the whole", test_nothing_among_nothing},
    {"is the same as sharing out one by one", test_against_a_model},
    {"refused memory changes nothing", test_refused_memory},
    CU_TEST_INFO_NULL,
};
