/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_histogram.c - buckets cover all values once, within the stated error */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"
#include "aggregate/tree/histogram.h"

static void test_buckets_follow_each_other_without_gap(void)
{
    CU_ASSERT_EQUAL(cpti_histogram_low(0), 0);
    for (uint32_t i = 0; i < CPTI_HISTOGRAM_BUCKETS_MAX; i++) {
        const uint64_t low = cpti_histogram_low(i);
        const uint64_t high = cpti_histogram_high(i);

        CU_ASSERT_EQUAL_FATAL(cpti_histogram_index(low), i);
        CU_ASSERT_EQUAL_FATAL(cpti_histogram_index(high), i);
        CU_ASSERT_EQUAL_FATAL(cpti_histogram_low(i + 1), high + 1);
    }
    CU_ASSERT_EQUAL(cpti_histogram_high(CPTI_HISTOGRAM_BUCKETS_MAX - 1),
                    CPT_TREE_TIME_MAX);
}

static void test_the_middle_is_within_the_stated_error(void)
{
    for (uint32_t i = 1; i < CPTI_HISTOGRAM_BUCKETS_MAX; i++) {
        const uint64_t low = cpti_histogram_low(i);
        const uint64_t high = cpti_histogram_high(i);
        const uint64_t middle = low + (high - low) / 2;

        CU_ASSERT_TRUE_FATAL((double)(middle - low) <=
                             CPT_STATS_QUANTILE_ERROR * (double)low);
        CU_ASSERT_TRUE_FATAL((double)(high - middle) <=
                             CPT_STATS_QUANTILE_ERROR * (double)high);
    }
}

/* The weight of a request in a plain histogram here. */
#define UNIT UINT64_C(0x2545f4914f6d)

/* The simple model: one counter for each possible bucket. Some histograms become
 * wide. */
static void test_merging_is_adding_bucket_by_bucket(void)
{
    static uint64_t model[CPTI_HISTOGRAM_BUCKETS_MAX];
    uint64_t state = random_seed("histogram");

    for (int round = 0; round < 200; round++) {
        struct cpti_histogram histograms[2] = {{.count = 0}};
        uint32_t at = 0;

        memset(model, 0, sizeof model);
        for (uint64_t i = random_below(&state, 60); i-- > 0;) {
            struct cpti_histogram *histogram = &histograms[random_below(&state, 2)];
            const uint32_t index = (uint32_t)random_below(&state, 40) * 7;
            const uint64_t weight = (random_next(&state) >> 24) + 1;

            if (random_below(&state, 60) == 0) {
                CU_ASSERT_EQUAL(cpti_histogram_widen(histogram, NULL, UNIT), CPT_OK);
            }
            CU_ASSERT_EQUAL(cpti_histogram_reserve(histogram, NULL, 1), CPT_OK);
            cpti_histogram_add(histogram, index, UNIT, weight);
            model[index] += weight;
        }
        if (histograms[1].is_wide) {
            CU_ASSERT_EQUAL(cpti_histogram_widen(&histograms[0], NULL, UNIT), CPT_OK);
        }
        CU_ASSERT_EQUAL(
            cpti_histogram_reserve(&histograms[0], NULL, histograms[1].count), CPT_OK);
        cpti_histogram_merge(&histograms[0], &histograms[1], UNIT);
        for (uint32_t i = 0; i < CPTI_HISTOGRAM_BUCKETS_MAX; i++) {
            if (model[i] != 0) {
                struct cpti_bucket bucket;

                CU_ASSERT_TRUE_FATAL(at < histograms[0].count);
                bucket = cpti_histogram_bucket(&histograms[0], at++, UNIT);
                CU_ASSERT_EQUAL(bucket.index, i);
                CU_ASSERT(cpti_bucket_weight(&bucket) == (cpti_u128)model[i] * UNIT);
                CU_ASSERT_DOUBLE_EQUAL(cpti_bucket_square(&bucket) /
                                           ((double)model[i] * UNIT * UNIT),
                                       1, 1e-15);
            }
        }
        CU_ASSERT_EQUAL(at, histograms[0].count);
        cpti_histogram_deinit(&histograms[0], NULL);
        cpti_histogram_deinit(&histograms[1], NULL);
    }
}

static bool fill(const struct cpt_alloc *alloc)
{
    struct cpti_histogram histogram = {0};
    bool is_full = true;

    for (uint32_t i = 0; i < 20 && is_full; i++) {
        is_full = cpti_histogram_reserve(&histogram, alloc, 1) == CPT_OK;
        if (is_full) {
            cpti_histogram_add(&histogram, 100 - i, 3, 1);
        }
        if (is_full && i == 10) {
            is_full = cpti_histogram_widen(&histogram, alloc, 3) == CPT_OK;
        }
    }
    cpti_histogram_deinit(&histogram, alloc);
    return is_full;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(fill);
}

extern CU_TestInfo cpt_histogram_tests[];
CU_TestInfo cpt_histogram_tests[] = {
    {"buckets have no gaps", test_buckets_follow_each_other_without_gap},
    {"the middle is within the stated error",
     test_the_middle_is_within_the_stated_error},
    {"merging is adding bucket by bucket", test_merging_is_adding_bucket_by_bucket},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
