/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_serial.c - how often requests near in time are found to resemble each other,
 * where they do, and where they do not
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/aggregate/paths.h"

#include "aggregate/cpt_serial.h"
#include "aggregate/cpt_stats.h"

#include <math.h>

static double normal(uint64_t *state)
{
    return cpt_normal_quantile(((double)(random_next(state) >> 11) + 0.5) /
                               9007199254740992.0);
}

/* @count requests in runs of @run with a common factor, exp(@common z). */
static struct cpt_serial_result test_runs(uint64_t *state, int count, int run,
                                          double common)
{
    struct cpt_serial *serial = cpt_serial_new(NULL);
    double factor = 0;
    struct cpt_serial_result result;

    for (int i = 0; i < count; i++) {
        factor = i % run == 0 ? common * normal(state) : factor;
        MUST(cpt_serial_add(serial, (uint64_t)i * 1000,
                            (uint64_t)(1e6 * exp(factor + normal(state)))) == CPT_OK);
    }
    result = cpt_serial_test(serial);
    cpt_serial_free(serial);
    return result;
}

/* The hint in percent of @samples, and the mean inflation. */
static double share_found(uint64_t *state, int count, int run, double common,
                          int samples, double *inflation)
{
    int found = 0;

    *inflation = 0;
    for (int i = 0; i < samples; i++) {
        const struct cpt_serial_result result = test_runs(state, count, run, common);

        found += result.is_found;
        *inflation += result.inflation / samples;
    }
    return 100.0 * found / samples;
}

/* Runs of m requests with a common part ρ of the variance: a mean varies 1 + (m - 1) ρ
 * times as much. Blocks cut some of the runs in two. */
static void test_likeness_in_time_is_found(void)
{
    static const struct {
        int count;
        int run;
        double common; /* ρ = common² / (1 + common²) */
        double least;  /* in percent */
        double most;
    } rows[] = {{200, 1, 0, 0, 2.2},      {1000, 1, 0, 0, 2.2},
                {10000, 1, 0, 0, 2.2},    {1000, 5, 0.5, 45, 80},
                {1000, 50, 0.25, 60, 95}, {10000, 100, 0.15, 90, 100},
                {1000, 1000, 1, 0, 2.2}};
    uint64_t state = random_seed("likeness in time");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int samples = rows[i].count > 1000 ? 200 : 1000;
        double inflation;
        const double found = share_found(&state, rows[i].count, rows[i].run,
                                         rows[i].common, samples, &inflation);

        if (getenv("CPT_TEST_SHOW") != NULL) {
            printf("\n%d requests in runs of %d, common %g: found in %.1f %%, "
                   "inflation %.2f",
                   rows[i].count, rows[i].run, rows[i].common, found, inflation);
        }
        CU_ASSERT_TRUE(found >= rows[i].least && found <= rows[i].most);
    }
}

static void test_order_and_parts_change_nothing(void)
{
    enum { COUNT = 700000 }; /* more than are kept */
    uint64_t state = random_seed("parts");
    struct cpt_serial *parts[3];
    struct cpt_serial *whole = cpt_serial_new(NULL);
    struct cpt_serial_result all;
    struct cpt_serial_result joined;

    for (int i = 0; i < 3; i++) {
        parts[i] = cpt_serial_new(NULL);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t ns = random_below(&state, 1000000);

        MUST(cpt_serial_add(whole, i, ns) == CPT_OK);
        MUST(cpt_serial_add(parts[i % 10 < 8 ? 0 : i % 10 - 7], i, ns) == CPT_OK);
    }
    MUST(cpt_serial_join(parts[1], parts[2]) == CPT_OK);
    MUST(cpt_serial_join(parts[1], parts[0]) == CPT_OK);
    all = cpt_serial_test(whole);
    joined = cpt_serial_test(parts[1]);
    CU_ASSERT_TRUE(all.request_count > CPT_SERIAL_MAX / 3);
    CU_ASSERT_TRUE(all.request_count <= CPT_SERIAL_MAX);
    CU_ASSERT_EQUAL(all.request_count, joined.request_count);
    CU_ASSERT_EQUAL(all.inflation, joined.inflation);
    CU_ASSERT_FALSE(all.is_found);
    for (int i = 0; i < 3; i++) {
        cpt_serial_free(parts[i]);
    }
    cpt_serial_free(whole);
}

static void test_few_or_equal_requests_say_nothing(void)
{
    struct cpt_serial *serial = cpt_serial_new(NULL);

    CU_ASSERT_FALSE(cpt_serial_test(serial).is_found);
    for (uint64_t i = 0; i < CPT_SERIAL_REQUESTS_MIN; i++) {
        CU_ASSERT_TRUE(isnan(cpt_serial_test(serial).p_value));
        MUST(cpt_serial_add(serial, i, 5) == CPT_OK);
    }
    CU_ASSERT_TRUE(isnan(cpt_serial_test(serial).p_value)); /* one latency */
    for (uint64_t i = 0; i < CPT_SERIAL_REQUESTS_MIN; i++) {
        MUST(cpt_serial_add(serial, i + 1000, 7) == CPT_OK);
    }
    CU_ASSERT_TRUE(cpt_serial_test(serial).is_found);
    cpt_serial_free(serial);
}

static bool collect(const struct cpt_alloc *alloc)
{
    struct cpt_serial *serial = cpt_serial_new(alloc);
    bool is_done = serial != NULL;

    for (uint64_t i = 0; i < 300 && is_done; i++) {
        is_done = cpt_serial_add(serial, i, i) == CPT_OK;
    }
    cpt_serial_free(serial);
    return is_done;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(collect);
}

extern CU_TestInfo cpt_serial_tests[];
CU_TestInfo cpt_serial_tests[] = {
    {"likeness in time is found", test_likeness_in_time_is_found},
    {"order and parts change nothing", test_order_and_parts_change_nothing},
    {"few or equal requests say nothing", test_few_or_equal_requests_say_nothing},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
