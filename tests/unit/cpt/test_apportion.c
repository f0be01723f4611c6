/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_apportion.c - shares add up to the whole, whatever is divided */
#include "tests/support/suites.h"

#include "cpt/cpt_apportion.h"

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

extern CU_TestInfo cpt_apportion_tests[];
CU_TestInfo cpt_apportion_tests[] = {
    {"goes by the largest remainder", test_goes_by_largest_remainder},
    {"ties go to the earlier", test_ties_go_to_the_earlier},
    {"products are 128 bits wide", test_products_are_wide},
    {"refuses what cannot be divided", test_refuses_what_cannot_be_divided},
    CU_TEST_INFO_NULL,
};
