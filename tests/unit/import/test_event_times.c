/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_event_times.c - stamps as programs write them, compared with those of the C
 * library, and lengths */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "import/lines/event_times.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 20000 };

static bool read_as(const char *format, const char *text, struct cpti_time *time)
{
    struct cpti_time_format read;

    CU_ASSERT_TRUE_FATAL(cpti_time_format_read(cpt_bytes_of(format), &read));
    return cpti_time_read(&read, 0, cpt_bytes_of(text), time);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* they are in the table */

/* What strftime() writes of a second is read as this second. */
static void test_stamps_are_those_of_the_library(void)
{
    static const struct {
        const char *format; /* ours */
        const char *theirs;
    } formats[] = {
        {"rfc3339", "%Y-%m-%dT%H:%M:%S.000Z"},
        {"auto", "%Y-%m-%d %H:%M:%S,000"},
        {"auto", "%Y/%m/%d %H:%M:%S"},
        {"auto", "%s.000000"},
        {"s", "%s"},
        {"ms", "%s000"},
        {"us", "%s000000"},
        {"ns", "%s000000000"},
        {"%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S +0000"},
        {"%a %b %e %T %Y", "%a %b %e %H:%M:%S %Y"},
        {"%y%m%d %H:%M:%S.%L", "%y%m%d %H:%M:%S.000"},
        {"%s", "%s"},
    };
    struct test_random random = {test_random_seed("stamps")};

    (void)setenv("TZ", "UTC", 1);
    for (int i = 0; i < ROUNDS; i++) {
        const size_t which =
            test_random_below(&random, sizeof formats / sizeof formats[0]);
        const time_t second =
            (time_t)(946684800 + test_random_below(&random, 3155760000));
        struct cpti_time time;
        struct tm parts;
        char text[64];

        CU_ASSERT_PTR_NOT_NULL_FATAL(gmtime_r(&second, &parts));
        CU_ASSERT_FATAL(strftime(text, sizeof text, formats[which].theirs, &parts) > 0);
        if (!read_as(formats[which].format, text, &time) ||
            time.ns != (int64_t)second * CPTI_NS_PER_S) {
            (void)printf("\n%s as %s: %" PRId64 ", not %lld s\n", text,
                         formats[which].format, time.ns, (long long)second);
            CU_FAIL("another time");
        }
    }
}

#pragma GCC diagnostic pop

static void test_fractions_tell_the_resolution(void)
{
    static const struct {
        const char *text;
        int64_t ns; /* of the second */
        uint64_t resolution_ns;
    } cases[] = {{"2023-01-29T08:48:42Z", 0, 1000000000},
                 {"2023-01-29T08:48:42.4Z", 400000000, 100000000},
                 {"2023-01-29T08:48:42.425Z", 425000000, 1000000},
                 {"2023-01-29 08:48:42,425 UTC", 425000000, 1000000},
                 {"2023-01-29T08:48:42.425293+00", 425293000, 0},
                 {"2023-01-29T08:48:42.425293566Z", 425293566, 0},
                 {"2023-01-29T08:48:42.42529356678Z", 425293566, 0},
                 {"1674982122", 0, 1000000000},
                 {"1674982122.425", 425000000, 1000000},
                 {"1674982122425", 425000000, 1000000},
                 {"1674982122425293", 425293000, 0},
                 {"1674982122425293566", 425293566, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_time time = {0};

        CU_ASSERT_TRUE(read_as("auto", cases[i].text, &time));
        CU_ASSERT_EQUAL(time.ns - 1674982122 * CPTI_NS_PER_S, cases[i].ns);
        CU_ASSERT_EQUAL(time.resolution_ns, cases[i].resolution_ns);
    }
}

static void test_zones(void)
{
    struct cpti_time west = {0};
    struct cpti_time east = {0};
    int32_t zone_s = 0;

    CU_ASSERT_TRUE(read_as("auto", "2023-01-29T08:48:42-03:30", &west));
    CU_ASSERT_TRUE(read_as("auto", "2023-01-29T20:18:42+0800", &east));
    CU_ASSERT_EQUAL(west.ns, east.ns);
    CU_ASSERT_TRUE(cpti_time_zone(cpt_bytes_of("-03:30"), &zone_s) && zone_s == -12600);
    CU_ASSERT_TRUE(cpti_time_zone(cpt_bytes_of("UTC"), &zone_s) && zone_s == 0);
    CU_ASSERT_FALSE(cpti_time_zone(cpt_bytes_of("CET"), &zone_s));
    CU_ASSERT_FALSE(cpti_time_zone(cpt_bytes_of("+16:00"), &zone_s));
    CU_ASSERT_FALSE(cpti_time_zone(cpt_bytes_of(""), &zone_s));
}

static void test_impossible_stamps_are_refused(void)
{
    static const char *const stamps[] = {"",
                                         "-",
                                         "0",
                                         "1999-12-31T23:59:59Z",
                                         "2200-01-01T00:00:00Z",
                                         "2023-13-01T00:00:00Z",
                                         "2023-01-32T00:00:00Z",
                                         "2023-01-29T25:00:00Z",
                                         "2023-01-29T08:60:00Z",
                                         "2023-01-29T08:48:42.Z",
                                         "2023-01-29T08:48:42.425Zx",
                                         "2023-01-29",
                                         "12:00",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "99999999999999999999999999",
                                         "1e9",
                                         "1674982122.",
                                         "1970-01-01T00:00:00Z"};

    for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; i++) {
        struct cpti_time time;

        if (read_as("auto", stamps[i], &time)) {
            (void)printf("\n'%s' is read as %" PRId64 "\n", stamps[i], time.ns);
            CU_FAIL("an impossible stamp");
        }
    }
}

static void test_formats_that_are_not_known_are_refused(void)
{
    static const char *const formats[] = {"", "m", "sec", "%", "%Q", "%Y-%", "today"};
    struct cpti_time_format format;

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        CU_ASSERT_FALSE(cpti_time_format_read(cpt_bytes_of(formats[i]), &format));
    }
}

/* A stamp without date, or year, is the one nearest to the outer stamp. */
static void test_lacking_dates(void)
{
    const int64_t outer_ns = INT64_C(1672531200) * CPTI_NS_PER_S; /* 2023-01-01T00:00 */
    struct cpti_time time = {0};

    CU_ASSERT_TRUE(read_as("auto", "23:59:59.999", &time));
    CU_ASSERT_EQUAL(time.lack, CPTI_TIME_WITHOUT_DATE);
    cpti_time_place(&time, outer_ns);
    CU_ASSERT_EQUAL(time.ns, outer_ns - 1000000);
    CU_ASSERT_TRUE(read_as("%H:%M:%S", "00:00:01", &time));
    cpti_time_place(&time, outer_ns);
    CU_ASSERT_EQUAL(time.ns, outer_ns + CPTI_NS_PER_S);
    CU_ASSERT_TRUE(read_as("%b %e %H:%M:%S", "Dec 31 23:59:58", &time));
    CU_ASSERT_EQUAL(time.lack, CPTI_TIME_WITHOUT_YEAR);
    cpti_time_place(&time, outer_ns);
    CU_ASSERT_EQUAL(time.ns, outer_ns - 2 * CPTI_NS_PER_S);
    CU_ASSERT_TRUE(read_as("%b %e %H:%M:%S", "Jan  2 00:00:00", &time));
    cpti_time_place(&time, outer_ns - CPTI_NS_PER_S);
    CU_ASSERT_EQUAL(time.ns, outer_ns + 86400 * CPTI_NS_PER_S);
}

static void test_lengths(void)
{
    static const struct {
        const char *text;
        int64_t unit_ns;
        int64_t ns; /* -1: refused */
        uint64_t resolution_ns;
    } cases[] = {{"0.025", 1000000000, 25000000, 1000000},
                 {"12", 1000000, 12000000, 1000000},
                 {"12.345", 1000000, 12345000, 0},
                 {"168", 1000, 168000, 0},
                 {"25ms", 1000000000, 25000000, 1000000},
                 {"1.5s", 1000000, 1500000000, 100000000},
                 {".5", 1000000000, 500000000, 100000000},
                 {"-1", 1000000, -1, 0},
                 {"", 1000000, -1, 0},
                 {"-", 1000000, -1, 0},
                 {"12x", 1000000, -1, 0},
                 {"9223372036854775807", 1, -1, 0},
                 {"99999999999", 1000000000, -1, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = 0;
        uint64_t resolution_ns = 0;
        const bool is_read = cpti_time_length(cpt_bytes_of(cases[i].text),
                                              cases[i].unit_ns, &ns, &resolution_ns);

        CU_ASSERT_EQUAL(is_read, cases[i].ns >= 0);
        if (is_read) {
            CU_ASSERT_EQUAL(ns, cases[i].ns);
            CU_ASSERT_EQUAL(resolution_ns, cases[i].resolution_ns);
        }
    }
}

CU_TestInfo cpt_event_times_tests[] = {
    {"stamps are those of the C library", test_stamps_are_those_of_the_library},
    {"the digits of a fraction tell the resolution",
     test_fractions_tell_the_resolution},
    {"zones east and west of UTC", test_zones},
    {"impossible stamps are refused", test_impossible_stamps_are_refused},
    {"formats that are not known are refused",
     test_formats_that_are_not_known_are_refused},
    {"a date that is lacking is the nearest one", test_lacking_dates},
    {"lengths have a unit and a resolution", test_lengths},
    CU_TEST_INFO_NULL,
};
