/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_gather.c - percentiles and samples of a stream of records */
#include "tests/support/suites.h"

#include "tool/gather/population.h"
#include "tool/requests/sample.h"

#include <stdlib.h>
#include <string.h>

/* --- Percentiles --- */

/* By counting: the least latency that this much of the weight does not exceed. */
static uint64_t slow_percentile(const struct cpti_latency *latencies, size_t count,
                                uint64_t share)
{
    uint64_t least = UINT64_MAX;
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++) {
        total += latencies[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t below = 0;

        for (size_t k = 0; k < count; k++) {
            below += latencies[k].latency_ns <= latencies[i].latency_ns
                         ? latencies[k].weight
                         : 0;
        }
        if (below * UINT64_C(100000000) >= total * share &&
            latencies[i].latency_ns < least) {
            least = latencies[i].latency_ns;
        }
    }
    return least;
}

static void test_percentiles(void)
{
    static const uint64_t shares[] = {0,        1,        1000000,  50000000,
                                      90000000, 99000000, 99900000, 100000000};
    struct cpti_sample random;

    cpti_sample_init(&random, 1, 5);
    for (size_t count = 1; count < 60; count++) {
        struct cpti_population population = {0};
        struct cpti_latency latencies[60];

        for (size_t i = 0; i < count; i++) {
            latencies[i].latency_ns = cpti_sample_random(&random, 30);
            latencies[i].weight = 1 + cpti_sample_random(&random, 1000);
            CU_ASSERT_EQUAL(cpti_population_add(&population, latencies[i]), CPT_OK);
        }
        cpti_population_sort(&population);
        for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
            CU_ASSERT_EQUAL(cpti_population_percentile(&population, shares[i]),
                            slow_percentile(latencies, count, shares[i]));
        }
        cpti_population_deinit(&population);
    }
}

static void test_heavy_population(void)
{
    struct cpti_population population = {0};

    CU_ASSERT_EQUAL(cpti_population_percentile(&population, 50000000), 0);
    for (uint64_t i = 1; i <= 100; i++) {
        CU_ASSERT_EQUAL(
            cpti_population_add(
                &population, (struct cpti_latency){i * UINT64_C(1) << 40, UINT64_MAX}),
            CPT_OK);
    }
    cpti_population_sort(&population);
    CU_ASSERT_EQUAL(cpti_population_percentile(&population, 99000000), UINT64_C(99)
                                                                           << 40);
    cpti_population_deinit(&population);
}

static void test_size_of_population(void)
{
    struct cpti_population population = {.count_max = 3};

    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(cpti_population_add(&population, (struct cpti_latency){1, 1}),
                        i < 3 ? CPT_OK : CPT_LIMIT);
    }
    cpti_population_deinit(&population);
}

/* --- Samples --- */

enum { STREAM = 40, KEPT = 10, DRAWS = 20000 };

/* Each record of a stream is kept equally often: 5000 times in 20000, within five
 * standard deviations of a binomial distribution. */
static void test_each_as_likely(void)
{
    unsigned counts[STREAM] = {0};

    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        struct cpti_sample sample;
        unsigned kept[KEPT] = {0};

        cpti_sample_init(&sample, KEPT, seed);
        for (unsigned i = 0; i < STREAM; i++) {
            const size_t place = cpti_sample_draw(&sample);

            if (place != SIZE_MAX) {
                kept[place] = i;
                sample.count += place == sample.count;
            }
        }
        CU_ASSERT_EQUAL(sample.count, KEPT);
        for (unsigned i = 0; i < KEPT; i++) {
            counts[kept[i]]++;
        }
    }
    for (unsigned i = 0; i < STREAM; i++) {
        CU_ASSERT_TRUE(counts[i] > 5000 - 306 && counts[i] < 5000 + 306);
    }
}

static void test_what_is_kept(void)
{
    struct cpti_sample sample;
    struct cpti_sampled record = {0};

    cpti_sample_init(&sample, 300, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        char text[16];
        const int bytes = snprintf(text, sizeof text, "%d", (int)i);
        const size_t place = cpti_sample_draw(&sample);

        record.weight = i;
        if (place != SIZE_MAX) {
            CU_ASSERT_EQUAL(cpti_sample_put(&sample, place,
                                            (struct cpt_bytes){text, (size_t)bytes},
                                            &record),
                            CPT_OK);
        }
    }
    CU_ASSERT_EQUAL(sample.count, 300);
    CU_ASSERT_EQUAL(sample.met_count, 1000);
    for (size_t i = 0; i < sample.count; i++) {
        char text[16] = "";

        memcpy(text, sample.kept[i].data, sample.kept[i].data_bytes);
        CU_ASSERT_EQUAL(strtoull(text, NULL, 10), sample.kept[i].weight);
        CU_ASSERT_EQUAL(sample.kept[i].number, sample.kept[i].weight + 1);
    }
    cpti_sample_deinit(&sample);
}

CU_TestInfo cpt_gather_tests[] = {
    {"percentiles equal those found by counting", test_percentiles},
    {"weights may have the largest value", test_heavy_population},
    {"a population is bounded", test_size_of_population},
    {"each record is equally likely to be drawn", test_each_as_likely},
    {"a drawn record keeps its bytes, its weight and its number", test_what_is_kept},
    CU_TEST_INFO_NULL,
};
