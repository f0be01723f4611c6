/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_clock.c - clocks do not go backwards, and the fast one agrees with the other */
#include "tests/support/suites.h"

#include "cpt/cpt_clock.h"

#include <stdio.h>
#include <time.h>

static void never_back(const struct cpt_clock *clock)
{
    uint64_t before_ns = 0;
    int back_count = 0;

    for (int i = 0; i < 200000; i++) {
        const uint64_t now_ns = cpt_clock_now_ns(clock);

        back_count += now_ns < before_ns;
        before_ns = now_ns;
    }
    CU_ASSERT_EQUAL(back_count, 0);
    CU_ASSERT_TRUE(before_ns > 0 && before_ns <= INT64_MAX);
}

static void test_clocks_do_not_go_back(void)
{
    never_back(cpt_clock_monotonic());
    never_back(cpt_clock_fastest());
}

/* One part in a hundred allows for a pause of the process between two readings. */
static void test_tsc_agrees(void)
{
    const struct cpt_clock *tsc = cpt_clock_tsc();
    const struct cpt_clock *monotonic = cpt_clock_monotonic();
    const struct timespec pause = {.tv_nsec = 200000000};
    uint64_t tsc_ns = 0;
    uint64_t monotonic_ns = 0;

    printf("(fastest: %s) ", cpt_clock_name(cpt_clock_fastest()));
    if (tsc == NULL) {
        return;
    }
    CU_ASSERT_PTR_EQUAL(cpt_clock_tsc(), tsc);
    tsc_ns = cpt_clock_now_ns(tsc);
    monotonic_ns = cpt_clock_now_ns(monotonic);
    (void)nanosleep(&pause, NULL);
    tsc_ns = cpt_clock_now_ns(tsc) - tsc_ns;
    monotonic_ns = cpt_clock_now_ns(monotonic) - monotonic_ns;
    CU_ASSERT_TRUE(tsc_ns > monotonic_ns - monotonic_ns / 100);
    CU_ASSERT_TRUE(tsc_ns < monotonic_ns + monotonic_ns / 100);
}

static uint64_t no_time(void *context)
{
    (void)context;
    return 0;
}

static void test_names(void)
{
    const struct cpt_clock other = {no_time, NULL};

    CU_ASSERT_STRING_EQUAL(cpt_clock_name(cpt_clock_monotonic()), "monotonic");
    CU_ASSERT_STRING_EQUAL(cpt_clock_name(&other), "other");
    if (cpt_clock_tsc() != NULL) {
        CU_ASSERT_STRING_EQUAL(cpt_clock_name(cpt_clock_fastest()), "tsc");
    }
}

CU_TestInfo cpt_clock_tests[] = {
    {"clocks do not go backwards", test_clocks_do_not_go_back},
    {"the time stamp counter agrees", test_tsc_agrees},
    {"names", test_names},
    CU_TEST_INFO_NULL,
};
