/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_when.c - points in time as people write them */
#include "tests/support/suites.h"

#include "tool/select/when.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define NOW    (UINT64_C(1000000) * SECOND)

/* One line in, one number out; 0 means refused. */
static const struct {
    const char *text;
    uint64_t unix_ns;
} cases[] = {
    {"1970-01-02", 86400 * SECOND},
    {"1970-01-02T00:00:00", 86400 * SECOND},
    {"1970-01-02T00:00:01Z", 86401 * SECOND},
    {"1970-01-02T01:00:00+01:00", 86400 * SECOND},
    {"1970-01-01T23:30:00-00:30", 86400 * SECOND},
    {"1970-01-02T00:00:00.5Z", 86400 * SECOND + SECOND / 2},
    {"1970-01-02T00:00:00.000000001Z", 86400 * SECOND + 1},
    {"2024-02-29", UINT64_C(1709164800) * SECOND},
    {"2026-01-31T12:00:00Z", UINT64_C(1769860800) * SECOND},
    {"@1769860800", UINT64_C(1769860800) * SECOND},
    {"@1.25", SECOND + SECOND / 4},
    {"15m", NOW - 900 * SECOND},
    {"36h", NOW - 36 * 3600 * SECOND},
    {"7d", NOW - 7 * 86400 * SECOND},
    {"250ms", NOW - SECOND / 4},
    {"1ns", NOW - 1},
    {"2262-04-11T23:47:15Z", UINT64_C(9223372035) * SECOND},
    /* refused */
    {"", 0},
    {"15", 0},
    {"15 m", 0},
    {"15M", 0},
    {"m", 0},
    {"@", 0},
    {"@1x", 0},
    {"@1.", 0},
    {"@99999999999", 0},
    {"2023-02-29", 0},
    {"2026-13-01", 0},
    {"2026-00-01", 0},
    {"2026-01-32", 0},
    {"2026-01", 0},
    {"2026-01-31T12", 0},
    {"2026-01-31T12:00", 0},
    {"2026-01-31T24:00:00Z", 0},
    {"2026-01-31T12:60:00Z", 0},
    {"2026-01-31T12:00:00X", 0},
    {"2026-01-31T12:00:00.Z", 0},
    {"2026-01-31T12:00:00+1", 0},
    {"2026-01-31T12:00:00+01:00x", 0},
    {"1969-12-31", 0},
    {"2300-01-01", 0},
    {"yesterday", 0},
};

static void test_cases(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t unix_ns = 0;
        const int is_time = cpti_when(cases[i].text, NOW, &unix_ns);

        CU_ASSERT_EQUAL(is_time, cases[i].unix_ns != 0);
        CU_ASSERT_EQUAL(unix_ns, cases[i].unix_ns);
        if (unix_ns != cases[i].unix_ns) {
            (void)fprintf(stderr, "%s\n", cases[i].text);
        }
    }
}

static void test_longer_ago_than_there_was_time(void)
{
    uint64_t unix_ns = 1;

    CU_ASSERT_TRUE(cpti_when("999999999999d", NOW, &unix_ns));
    CU_ASSERT_EQUAL(unix_ns, 0);
}

CU_TestInfo cpt_when_tests[] = {
    {"each form is read, and nothing else", test_cases},
    {"before 1970 is 1970", test_longer_ago_than_there_was_time},
    CU_TEST_INFO_NULL,
};
