/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_demo_jitter.c - random times of the demo's services */
#include "examples/figure1_jitter.h"

#include "tests/support/suites.h"

#include <math.h>

enum { COUNT = 200000 };

/* What there is once for all parts of a request, each with its number. */
static double time_of(uint64_t request, unsigned part, double sigma)
{
    return figure1_lognormal(figure1_number(request, "B1", part), sigma);
}

static void test_distribution(void)
{
    static const double sigmas[] = {0.1, 0.3, 1};

    for (size_t k = 0; k < sizeof sigmas / sizeof sigmas[0]; k++) {
        const double sigma = sigmas[k];
        const double spread = sqrt(exp(sigma * sigma) - 1);
        double sum = 0;
        double log_sum = 0;
        double squares = 0;

        for (uint64_t i = 0; i < COUNT; i++) {
            const double time = time_of(i, 0, sigma);

            sum += time;
            log_sum += log(time);
            squares += log(time) * log(time);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / COUNT, 1, 5 * spread / sqrt(COUNT));
        CU_ASSERT_DOUBLE_EQUAL(log_sum / COUNT, -sigma * sigma / 2,
                               5 * sigma / sqrt(COUNT));
        CU_ASSERT_DOUBLE_EQUAL(squares / COUNT - pow(log_sum / COUNT, 2), sigma * sigma,
                               5 * sigma * sigma * sqrt(2.0 / COUNT));
    }
    CU_ASSERT_DOUBLE_EQUAL(time_of(7, 0, 0), 1, 1e-12);
}

/* Steps, calls and requests next to each other have times of their own. */
static void test_independent(void)
{
    double steps = 0;
    double requests = 0;
    double calls = 0;

    for (uint64_t i = 0; i < COUNT; i++) {
        const double own = log(time_of(i, 0, 1)) + 0.5;
        const uint64_t callee = figure1_number(i, "A1 B1", 0);

        steps += own * (log(time_of(i, 1, 1)) + 0.5);
        requests += own * (log(time_of(i + 1, 0, 1)) + 0.5);
        calls += own * (log(time_of(callee, 0, 1)) + 0.5);
    }
    CU_ASSERT_DOUBLE_EQUAL(steps / COUNT, 0, 5 / sqrt(COUNT));
    CU_ASSERT_DOUBLE_EQUAL(requests / COUNT, 0, 5 / sqrt(COUNT));
    CU_ASSERT_DOUBLE_EQUAL(calls / COUNT, 0, 5 / sqrt(COUNT));
}

static void test_same(void)
{
    CU_ASSERT_EQUAL(figure1_number(17, "A1", 0), figure1_number(17, "A1", 0));
    CU_ASSERT_NOT_EQUAL(figure1_number(17, "A1", 0), figure1_number(17, "A1", 1));
    CU_ASSERT_NOT_EQUAL(figure1_number(17, "A1", 0), figure1_number(17, "A2", 0));
    CU_ASSERT_NOT_EQUAL(figure1_number(17, "A1", 0), figure1_number(18, "A1", 0));
    /* a time that was once given stays: other runs are compared with it */
    CU_ASSERT_DOUBLE_EQUAL(time_of(17, 0, 0.5), 0.958012821215, 1e-9);
}

CU_TestInfo cli_demo_jitter_tests[] = {
    {"times are lognormal with mean 1", test_distribution},
    {"no time tells of another", test_independent},
    {"the same request has the same times", test_same},
    CU_TEST_INFO_NULL,
};
