/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_alloc.c - checked sizes, arrays that double, and what is left after a refusal */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include <stdint.h>

static void test_zeroed_is_zero(void)
{
    const struct cpt_alloc *allocs[] = {NULL, cpt_alloc_default()};

    for (size_t i = 0; i < 2; i++) {
        unsigned char *memory = cpt_alloc_zeroed(allocs[i], 100);

        CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
        for (size_t at = 0; at < 100; at++) {
            CU_ASSERT_EQUAL(memory[at], 0);
        }
        cpt_alloc_free(allocs[i], memory);
    }
}

static void test_no_bytes_are_memory_too(void)
{
    void *memory = cpt_alloc_zeroed(NULL, 0);
    void *array = cpt_alloc_array(NULL, NULL, 0, 8);

    CU_ASSERT_PTR_NOT_NULL(memory);
    CU_ASSERT_PTR_NOT_NULL(array);
    cpt_alloc_free(NULL, memory);
    cpt_alloc_free(NULL, array);
    cpt_alloc_free(NULL, NULL);
}

static void test_a_product_that_overflows_gets_nothing(void)
{
    struct failing_alloc failing;

    failing_alloc_init(&failing, 0);
    CU_ASSERT_PTR_NULL(cpt_alloc_array(&failing.alloc, NULL, SIZE_MAX / 2, 3));
    CU_ASSERT_PTR_NULL(cpt_alloc_array(&failing.alloc, NULL, SIZE_MAX, SIZE_MAX));
    CU_ASSERT_EQUAL(atomic_load(&failing.call_count), 0);
}

static void test_growing_stops_at_the_limit(void)
{
    void *memory = NULL;
    size_t capacity = 0;

    CU_ASSERT_EQUAL(cpt_alloc_grow(NULL, &memory, &capacity, 99, 100, 4), CPT_OK);
    CU_ASSERT_TRUE(capacity >= 99 && capacity <= 100);
    CU_ASSERT_EQUAL(cpt_alloc_grow(NULL, &memory, &capacity, 100, 100, 4), CPT_OK);
    CU_ASSERT_EQUAL(capacity, 100);
    CU_ASSERT_EQUAL(cpt_alloc_grow(NULL, &memory, &capacity, 101, 100, 4), CPT_LIMIT);
    CU_ASSERT_EQUAL(capacity, 100);
    cpt_alloc_free(NULL, memory);
}

static void test_a_small_limit_is_never_exceeded(void)
{
    void *memory = NULL;
    size_t capacity = 0;

    CU_ASSERT_EQUAL(cpt_alloc_grow(NULL, &memory, &capacity, 1, 3, 4), CPT_OK);
    CU_ASSERT_EQUAL(capacity, 3);
    CU_ASSERT_EQUAL(cpt_alloc_grow(NULL, &memory, &capacity, 4, 3, 4), CPT_LIMIT);
    cpt_alloc_free(NULL, memory);
}

static void test_a_refusal_leaves_the_array_as_it_was(void)
{
    struct failing_alloc failing;
    void *memory = NULL;
    size_t capacity = 0;

    failing_alloc_init(&failing, 2);
    CU_ASSERT_EQUAL(cpt_alloc_grow(&failing.alloc, &memory, &capacity, 8, 1000, 1),
                    CPT_OK);
    *(char *)memory = 'a';
    CU_ASSERT_EQUAL(cpt_alloc_grow(&failing.alloc, &memory, &capacity, 9, 1000, 1),
                    CPT_NO_MEMORY);
    CU_ASSERT_EQUAL(capacity, 8);
    CU_ASSERT_EQUAL(*(char *)memory, 'a');
    CU_ASSERT_EQUAL(cpt_alloc_grow(&failing.alloc, &memory, &capacity, 9, 1000, 1),
                    CPT_OK);
    CU_ASSERT_EQUAL(*(char *)memory, 'a');
    cpt_alloc_free(&failing.alloc, memory);
    CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
}

static void test_growing_near_the_largest_number_ends(void)
{
    void *memory = NULL;
    size_t capacity = 0;

    CU_ASSERT_EQUAL(cpt_alloc_grow(NULL, &memory, &capacity, SIZE_MAX, SIZE_MAX, 2),
                    CPT_NO_MEMORY);
    CU_ASSERT_PTR_NULL(memory);
    CU_ASSERT_EQUAL(capacity, 0);
}

static bool grow_and_zero(const struct cpt_alloc *alloc)
{
    void *memory = cpt_alloc_zeroed(alloc, 10);
    void *array = NULL;
    size_t capacity = 0;
    const bool is_good = memory != NULL &&
                         cpt_alloc_grow(alloc, &array, &capacity, 10, 100, 8) == CPT_OK;

    cpt_alloc_free(alloc, memory);
    cpt_alloc_free(alloc, array);
    return is_good;
}

static void test_each_refusal_is_reported(void)
{
    each_allocation_failure(grow_and_zero);
}

extern CU_TestInfo cpt_alloc_tests[];
CU_TestInfo cpt_alloc_tests[] = {
    {"zeroed memory is zero", test_zeroed_is_zero},
    {"0 bytes are memory too", test_no_bytes_are_memory_too},
    {"a product that overflows gets nothing",
     test_a_product_that_overflows_gets_nothing},
    {"growing stops at the limit", test_growing_stops_at_the_limit},
    {"a small limit is never exceeded", test_a_small_limit_is_never_exceeded},
    {"a refusal leaves the array as it was", test_a_refusal_leaves_the_array_as_it_was},
    {"growing near the largest number ends", test_growing_near_the_largest_number_ends},
    {"each refusal is reported", test_each_refusal_is_reported},
    CU_TEST_INFO_NULL,
};
