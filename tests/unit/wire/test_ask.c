/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_ask.c - the header by which a caller asks for a path */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"

#include <string.h>

static cpt_status parse(const char *value, struct cpt_ask *ask)
{
    const struct cpt_bytes bytes = cpt_bytes_of(value);

    return cpt_ask_parse(&bytes, 1, ask, NULL);
}

static void test_well_formed_asks(void)
{
    static const struct {
        const char *value;
        unsigned version;
        size_t bytes_max;
        int is_forced;
    } rows[] = {
        {"1", 1, 2048, 0},
        {" 1 ", 1, 2048, 0},
        {"1;max=700", 1, 700, 0},
        {"1;max=0", 1, 0, 0},
        {"1;forced", 1, 2048, 1},
        {"1;forced=?1", 1, 2048, 1},
        {"1;forced=?0", 1, 2048, 0},
        {"1; max=4096;  forced", 1, 4096, 1},
        {"1;max=5;max=6", 1, 6, 0},
        {"1;forced;forced=?0", 1, 2048, 0},
        {"2;max=100", 2, 100, 0},
        {"1;colour=\"a \\\"b\\\"\";max=9", 1, 9, 0},
        {"1;x=*tok/en:1;y=:aGk=:;z=-1.5;*k-e_y.1=?0;max=9", 1, 9, 0},
        {"1;max=999999999999999", 1, INT32_MAX, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cpt_ask ask;

        CU_ASSERT_EQUAL(parse(rows[i].value, &ask), CPT_OK);
        CU_ASSERT_EQUAL(ask.version, rows[i].version);
        CU_ASSERT_EQUAL(ask.bytes_max, rows[i].bytes_max);
        CU_ASSERT_EQUAL(ask.is_forced, rows[i].is_forced);
    }
}

static void test_malformed_asks_are_none(void)
{
    static const char *const values[] = {
        "",
        " ",
        "yes",
        "?1",
        "0",
        "-1",
        "1.0",
        "1.",
        "01x",
        "1,1",
        "1;",
        "1;;max=1",
        "1;Max=1",
        "1;max",
        "1;max=",
        "1;max=-1",
        "1;max=1.5",
        "1;max=\"1\"",
        "1;forced=1",
        "1;forced=yes",
        "1 ;max=1",
        "1;max =1",
        "1;x=\"",
        "1;x=\"a\\n\"",
        "1;x=:aGk",
        "1;x=?2",
        "1;x=?",
        "1;x=1.2345",
        "\t1",
        "1\t",
        "1;max=1;",
        "1;1=1",
        "--1",
        "1;max=1000000000000000",
        "99999999999",
        "1;x=\"\x7f\"",
        "1\xff",
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct cpt_ask ask = {7, 7, 7};

        CU_ASSERT_EQUAL(parse(values[i], &ask), CPT_CORRUPT);
        CU_ASSERT_EQUAL(ask.version, 0);
        CU_ASSERT_EQUAL(ask.bytes_max, 0);
    }
}

static void test_no_header_and_two_headers(void)
{
    const struct cpt_bytes two[] = {cpt_bytes_of("1"), cpt_bytes_of("1")};
    struct cpt_ask ask;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_ask_parse(NULL, 0, &ask, &error), CPT_END);
    CU_ASSERT_EQUAL(ask.version, 0);
    CU_ASSERT_EQUAL(cpt_ask_parse(two, 2, &ask, &error), CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "there are 2 headers critical-path, not one");
}

static void test_length_limit(void)
{
    char text[CPT_ASK_BYTES_MAX + 2];

    for (size_t bytes = CPT_ASK_BYTES_MAX - 1; bytes <= CPT_ASK_BYTES_MAX + 1;
         bytes++) {
        const struct cpt_bytes value = {text, bytes};
        struct cpt_ask ask;

        memset(text, 'x', sizeof text);
        memcpy(text, "1;", 2);
        CU_ASSERT_EQUAL(cpt_ask_parse(&value, 1, &ask, NULL),
                        bytes <= CPT_ASK_BYTES_MAX ? CPT_OK : CPT_CORRUPT);
    }
}

static void test_every_prefix_ends_well(void)
{
    const char *value = "1;max=2048;x=\"a\\\\\";y=:aGk=:;z=-1.5;forced=?1";
    char copy[64];

    for (size_t bytes = 0; bytes < strlen(value); bytes++) {
        struct cpt_bytes part = {copy + sizeof copy - bytes, bytes};
        struct cpt_ask ask;

        memcpy(copy + sizeof copy - bytes, value, bytes); /* sanitizers see overreads */
        (void)cpt_ask_parse(&part, 1, &ask, NULL);
    }
}

static void test_the_lower_budget_goes_down(void)
{
    const struct cpt_ask received = {.version = 1, .bytes_max = 700, .is_forced = 1};
    const struct cpt_ask no_ask = {0};
    char text[64];
    struct cpt_ask ask = cpt_ask_downstream(&received, 0);

    CU_ASSERT_EQUAL(ask.bytes_max, 700);
    CU_ASSERT_FALSE(ask.is_forced);
    CU_ASSERT_EQUAL(cpt_ask_format(&ask, text, sizeof text), 9);
    CU_ASSERT_STRING_EQUAL(text, "1;max=700");
    CU_ASSERT_EQUAL(cpt_ask_downstream(&received, 500).bytes_max, 500);
    CU_ASSERT_EQUAL(cpt_ask_downstream(NULL, 0).bytes_max, 2048);
    CU_ASSERT_EQUAL(cpt_ask_downstream(&no_ask, 3000).bytes_max, 3000);
    cpt_ask_format(&received, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "1;max=700;forced");
}

CU_TestInfo cpt_ask_tests[] = {
    {"well-formed asks are read", test_well_formed_asks},
    {"malformed asks are none", test_malformed_asks_are_none},
    {"no header is none, two are a mistake", test_no_header_and_two_headers},
    {"the length has a limit", test_length_limit},
    {"no prefix of an ask is read beyond its end", test_every_prefix_ends_well},
    {"the lower budget goes down, forcing does not", test_the_lower_budget_goes_down},
    CU_TEST_INFO_NULL,
};
