/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_weighted.c - means of weighted samples, against two passes over them */
#include "tool/base/weighted.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <math.h>
#include <stdbool.h>

enum { CASES = 500, SAMPLES_MAX = 60 };

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-9;
}

/* Two passes, as cpt_stats.h has the formulas. */
static struct cpt_mean model(const double *weights, const double *values, size_t count)
{
    const double n = (double)count;
    struct cpt_mean mean = {0};
    double w1 = 0;
    double w2 = 0;
    double second = 0;
    double third = 0;

    for (size_t i = 0; i < count; i++) {
        w1 += weights[i];
        w2 += weights[i] * weights[i];
        mean.mean_ns += weights[i] * values[i];
    }
    mean.mean_ns /= w1;
    for (size_t i = 0; i < count; i++) {
        second += pow(weights[i] * (values[i] - mean.mean_ns), 2);
        third += pow(weights[i] * (values[i] - mean.mean_ns), 3);
    }
    second *= n / (n - 1);
    mean.error_ns = sqrt(second) / w1;
    mean.effective_count = w1 * w1 / w2;
    mean.skewness = third / pow(second, 1.5);
    return mean;
}

static void test_model(void)
{
    const uint64_t seed = test_random_seed("weighted means");

    for (uint64_t i = 0; i < test_case_count(CASES); i++) {
        struct test_random random = {seed + i};
        const size_t count = 2 + test_random_below(&random, SAMPLES_MAX - 2);
        double weights[SAMPLES_MAX];
        double values[SAMPLES_MAX];
        struct cpti_weights sums = {0};
        struct cpti_weighted value = {0};
        struct cpt_mean expected;
        struct cpt_mean mean;

        for (size_t j = 0; j < count; j++) {
            weights[j] = (double)(1 + test_random_below(&random, 1000));
            values[j] = j != 0 && test_random_chance(&random, 40)
                            ? 0
                            : (double)(1 + j + test_random_below(&random, 1000000));
            cpti_weights_add(&sums, weights[j]);
            if (values[j] != 0) {
                cpti_weighted_add(&value, weights[j], values[j]);
            }
        }
        expected = model(weights, values, count);
        mean = cpti_weighted_mean(&value, &sums);
        CU_ASSERT_TRUE(is_near(mean.mean_ns, expected.mean_ns));
        CU_ASSERT_TRUE(is_near(mean.effective_count, expected.effective_count));
        if (expected.error_ns * sqrt(expected.effective_count) <
            expected.mean_ns / 100) {
            continue; /* nearly all the same: sums of squares leave little of it */
        }
        CU_ASSERT_TRUE(is_near(mean.error_ns, expected.error_ns));
        /* near 0 it is what is left of larger sums */
        CU_ASSERT_TRUE(fabs(mean.skewness - expected.skewness) < 1e-4);
    }
}

static void test_few(void)
{
    struct cpti_weights weights = {0};
    struct cpti_weighted value = {0};

    CU_ASSERT_EQUAL(cpti_weighted_mean(&value, &weights).mean_ns, 0);
    cpti_weights_add(&weights, cpti_weight_of(0.25));
    cpti_weighted_add(&value, 4, 1e9 / 3);
    CU_ASSERT_TRUE(is_near(cpti_weighted_mean(&value, &weights).mean_ns, 1e9 / 3));
    CU_ASSERT_TRUE(isinf(cpti_weighted_mean(&value, &weights).error_ns));
    for (int i = 0; i < 9; i++) { /* all the same */
        cpti_weights_add(&weights, cpti_weight_of(0));
        cpti_weighted_add(&value, 1, 1e9 / 3);
    }
    CU_ASSERT_EQUAL(cpti_weighted_mean(&value, &weights).error_ns, 0);
}

CU_TestInfo cli_weighted_tests[] = {
    {"against two passes", test_model},
    {"none, one, all the same", test_few},
    CU_TEST_INFO_NULL,
};
