/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_interval.c - intervals and p values against their definition, and each other
 */
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_stats.h"

#include <math.h>

static double uniform(uint64_t *state)
{
    return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

/* The model: Hall's transformation as it is published, and its root by bisection. */
static double hall(double t, double skewness)
{
    return t + skewness * t * t / 3 + skewness * skewness * t * t * t / 27 +
           skewness / 6;
}

static double hall_root(double y, double skewness)
{
    double low = -1e9;
    double high = 1e9;

    for (int i = 0; i < 200; i++) {
        const double middle = (low + high) / 2;

        if (hall(middle, skewness) < y) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void test_intervals_follow_their_definition(void)
{
    uint64_t state = random_seed("intervals");

    for (int i = 0; i < 2000; i++) {
        const double value = 10 * cpt_normal_quantile(uniform(&state));
        const double error = exp(cpt_normal_quantile(uniform(&state)));
        const double skewness = 2 * uniform(&state) - 1;
        const double degrees = exp(8 * uniform(&state));
        const double t = cpt_student_quantile(0.975, degrees);
        const double left =
            fmin(value - t * error, value - hall_root(t, skewness) * error);
        const double right =
            fmax(value + t * error, value - hall_root(-t, skewness) * error);
        double low = 0;
        double high = 0;

        if (t > 1000) {
            continue; /* the root of the model is too coarse */
        }
        cpt_interval(value, error, skewness, degrees, 0.95, &low, &high);
        CU_ASSERT_DOUBLE_EQUAL(low, left, 1e-4 * (value - left));
        CU_ASSERT_DOUBLE_EQUAL(high, right, 1e-4 * (right - value));
    }
}

/* With little skewness Hall's interval nears Student's, without a jump at 0. */
static void test_no_skewness_is_students_interval(void)
{
    const double t = cpt_student_quantile(0.975, 12);
    static const double skewness[] = {0, 1e-300, -1e-300, 1e-12, -1e-12, NAN, INFINITY};

    for (size_t i = 0; i < sizeof skewness / sizeof skewness[0]; i++) {
        double low = 0;
        double high = 0;

        cpt_interval(7, 2, skewness[i], 12, 0.95, &low, &high);
        CU_ASSERT_DOUBLE_EQUAL(low, 7 - 2 * t, 1e-10);
        CU_ASSERT_DOUBLE_EQUAL(high, 7 + 2 * t, 1e-10);
        CU_ASSERT_DOUBLE_EQUAL(cpt_p_value(2 * t, 2, skewness[i], 12), 0.05, 1e-10);
    }
}

/* 0 is outside the interval with confidence C exactly if p < 1 - C. */
static void test_a_p_value_never_contradicts_its_interval(void)
{
    static const double confidences[] = {0.5, 0.8, 0.95, 0.99, 0.999};
    uint64_t state = random_seed("p values");
    unsigned outside_count = 0;

    for (int i = 0; i < 100000; i++) {
        const double skewness = i % 10 == 0 ? NAN : 2 * uniform(&state) - 1;
        const double degrees = exp(10 * uniform(&state)) + 0.5;
        const double confidence = confidences[random_below(&state, 5)];
        const double value = 5 * cpt_normal_quantile(uniform(&state));
        const double p = cpt_p_value(value, 1.5, skewness, degrees);
        double low = 0;
        double high = 0;

        cpt_interval(value, 1.5, skewness, degrees, confidence, &low, &high);
        CU_ASSERT_TRUE(low <= value && value <= high);
        CU_ASSERT_TRUE(p >= 0 && p <= 1);
        if (fabs(p - (1 - confidence)) > 1e-9) {
            CU_ASSERT_EQUAL(p<1 - confidence, low> 0 || high < 0);
            outside_count += low > 0 || high < 0;
        }
    }
    CU_ASSERT_TRUE(outside_count > 20000 && outside_count < 80000);
}

static void test_p_values_fall_away_from_zero(void)
{
    for (double skewness = -1; skewness <= 1; skewness += 0.125) {
        for (int side = -1; side <= 1; side += 2) {
            double last = 1;

            for (double value = 0; value < 12; value += 0.01) {
                const double p = cpt_p_value(side * value, 1, skewness, 40);

                CU_ASSERT_TRUE(p <= last);
                CU_ASSERT_TRUE(p >= cpt_p_value(side * value, 1, NAN, 40));
                last = p;
            }
            CU_ASSERT_TRUE(last < 0.01);
        }
    }
}

/* Skewness to the right makes the right side longer, and the mirror image the left. */
static void test_skewness_widens_the_side_of_the_tail(void)
{
    double low = 0;
    double high = 0;
    double mirror_low = 0;
    double mirror_high = 0;

    cpt_interval(3, 1, 0.5, 100, 0.95, &low, &high);
    cpt_interval(-3, 1, -0.5, 100, 0.95, &mirror_low, &mirror_high);
    CU_ASSERT_DOUBLE_EQUAL(3 - low, cpt_student_quantile(0.975, 100), 1e-12);
    CU_ASSERT_TRUE(high - 3 > 1.2 * (3 - low));
    CU_ASSERT_EQUAL(low, -mirror_high);
    CU_ASSERT_EQUAL(high, -mirror_low);
}

static void test_what_is_no_estimate_has_no_bounds(void)
{
    double low = 0;
    double high = 0;

    cpt_interval(5, INFINITY, NAN, 3, 0.95, &low, &high);
    CU_ASSERT_TRUE(low == -INFINITY && high == INFINITY);
    CU_ASSERT_EQUAL(cpt_p_value(5, INFINITY, NAN, 3), 1);
    cpt_interval(5, 1, 0.1, 0, 0.95, &low, &high);
    CU_ASSERT_TRUE(low == -INFINITY && high == INFINITY);
    CU_ASSERT_EQUAL(cpt_p_value(5, 1, 0.1, 0), 1);
    cpt_interval(5, 1, 0.1, NAN, 0.95, &low, &high);
    CU_ASSERT_TRUE(low == -INFINITY && high == INFINITY);
    CU_ASSERT_EQUAL(cpt_p_value(5, NAN, 0.1, 3), 1);
    cpt_interval(5, 0, NAN, INFINITY, 0.95, &low, &high);
    CU_ASSERT_TRUE(low == 5 && high == 5);
    CU_ASSERT_EQUAL(cpt_p_value(5, 0, NAN, INFINITY), 0);
    CU_ASSERT_EQUAL(cpt_p_value(0, 0, NAN, INFINITY), 1);
}

extern CU_TestInfo cpt_interval_tests[];
CU_TestInfo cpt_interval_tests[] = {
    {"intervals follow their definition", test_intervals_follow_their_definition},
    {"no skewness is Student's interval", test_no_skewness_is_students_interval},
    {"a p value never contradicts its interval",
     test_a_p_value_never_contradicts_its_interval},
    {"p values fall away from zero", test_p_values_fall_away_from_zero},
    {"skewness widens the side of the tail", test_skewness_widens_the_side_of_the_tail},
    {"what is no estimate has no bounds", test_what_is_no_estimate_has_no_bounds},
    CU_TEST_INFO_NULL,
};
