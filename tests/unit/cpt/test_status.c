/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_status.c - codes and sentences, the first error, options, clocks */
#include "tests/support/suites.h"

#include "cpt/cpt_clock.h"

#include <string.h>

static void test_names_and_sentences(void)
{
    CU_ASSERT_STRING_EQUAL(cpt_status_name(CPT_OK), "CPT_OK");
    CU_ASSERT_STRING_EQUAL(cpt_status_name(CPT_LIMIT), "CPT_LIMIT");
    CU_ASSERT_STRING_EQUAL(cpt_status_name(4711), "CPT_?");
    CU_ASSERT_STRING_EQUAL(cpt_status_sentence(CPT_NO_MEMORY), "out of memory");
    CU_ASSERT_STRING_EQUAL(cpt_status_sentence(-4711), "unknown status");
}

static void test_first_error_stays(void)
{
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_error_set(&error, CPT_CORRUPT, 17, "byte is %d", 3),
                    CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpt_error_set(&error, CPT_LIMIT, 99, "a consequence"), CPT_LIMIT);
    CU_ASSERT_EQUAL(error.status, CPT_CORRUPT);
    CU_ASSERT_EQUAL(error.offset, 17);
    CU_ASSERT_STRING_EQUAL(error.sentence, "byte is 3");
}

static void test_no_error_object_is_fine(void)
{
    CU_ASSERT_EQUAL(cpt_error_set(NULL, CPT_IO, 0, "this is not read"), CPT_IO);
}

static void test_long_sentence_is_cut(void)
{
    struct cpt_error error = {0};
    char text[2 * CPT_ERROR_SENTENCE_BYTES];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)cpt_error_set(&error, CPT_IO, 0, "%s", text);
    CU_ASSERT_EQUAL(strlen(error.sentence), CPT_ERROR_SENTENCE_BYTES - 1);
}

/* The struct of this library, of an older caller and of a newer caller. */
struct own_options {
    size_t struct_bytes;
    uint32_t first;
    uint32_t second;
};

struct older_options {
    size_t struct_bytes;
    uint32_t first;
};

struct newer_options {
    size_t struct_bytes;
    uint32_t first;
    uint32_t second;
    uint64_t third;
};

static void test_options_of_any_age(void)
{
    const struct newer_options newer = {sizeof newer, 1, 2, 3};
    struct {
        struct older_options options;
        uint32_t beyond;
    } older = {{offsetof(struct older_options, first) + sizeof(uint32_t), 1}, 77};
    struct own_options own;

    CU_ASSERT_EQUAL(cpt_options_read(&own, sizeof own, &newer, NULL), CPT_OK);
    CU_ASSERT_EQUAL(own.first, 1);
    CU_ASSERT_EQUAL(own.second, 2);
    CU_ASSERT_EQUAL(cpt_options_read(&own, sizeof own, &older, NULL), CPT_OK);
    CU_ASSERT_EQUAL(own.first, 1);
    CU_ASSERT_EQUAL(own.second, 0);
    CU_ASSERT_EQUAL(cpt_options_read(&own, sizeof own, NULL, NULL), CPT_OK);
    CU_ASSERT_EQUAL(own.first, 0);
}

static void test_options_without_a_size(void)
{
    const struct own_options given = {0, 1, 2};
    struct own_options own;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_options_read(&own, sizeof own, &given, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "struct_bytes of the options is 0; set it to sizeof");
}

static void test_clock_never_goes_back(void)
{
    const struct cpt_clock *clock = cpt_clock_monotonic();
    uint64_t before_ns = cpt_clock_now_ns(clock);

    CU_ASSERT_TRUE(before_ns > 0);
    for (int i = 0; i < 1000; i++) {
        const uint64_t now_ns = cpt_clock_now_ns(clock);

        CU_ASSERT_TRUE(now_ns >= before_ns && now_ns <= INT64_MAX);
        before_ns = now_ns;
    }
    CU_ASSERT_TRUE(cpt_clock_unix_ns() > (uint64_t)1600000000 * 1000000000);
}

extern CU_TestInfo cpt_status_tests[];
CU_TestInfo cpt_status_tests[] = {
    {"each code has a name and a sentence", test_names_and_sentences},
    {"the first error stays", test_first_error_stays},
    {"a caller may pass no error object", test_no_error_object_is_fine},
    {"a long sentence is cut", test_long_sentence_is_cut},
    {"options of older and newer callers are read", test_options_of_any_age},
    {"options without their size are refused", test_options_without_a_size},
    {"the clock never goes backwards", test_clock_never_goes_back},
    CU_TEST_INFO_NULL,
};
