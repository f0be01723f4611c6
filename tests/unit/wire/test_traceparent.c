/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_traceparent.c - the trace that a request belongs to */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"

#include <stdbool.h>
#include <string.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static void test_ids_and_flags(void)
{
    struct cpt_traceparent parent;

    CU_ASSERT_EQUAL(
        cpt_traceparent_parse(cpt_bytes_of("00-" TRACE "-" SPAN "-03"), &parent),
        CPT_OK);
    CU_ASSERT_EQUAL(parent.trace_id[0], 0x4b);
    CU_ASSERT_EQUAL(parent.trace_id[15], 0x36);
    CU_ASSERT_EQUAL(parent.parent_id[1], 0xf0);
    CU_ASSERT_EQUAL(parent.parent_id[7], 0xb7);
    CU_ASSERT_EQUAL(parent.flags, CPT_TRACE_FLAG_SAMPLED | CPT_TRACE_FLAG_RANDOM);
}

static void test_newer_versions(void)
{
    struct cpt_traceparent parent;

    CU_ASSERT_EQUAL(
        cpt_traceparent_parse(cpt_bytes_of("cc-" TRACE "-" SPAN "-01"), &parent),
        CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_traceparent_parse(cpt_bytes_of("cc-" TRACE "-" SPAN "-01-what"), &parent),
        CPT_OK);
}

static void test_malformed_ones(void)
{
    static const char *const values[] = {
        "",
        "00",
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-01-",
        "00-" TRACE "-" SPAN "-01 ",
        "cc-" TRACE "-" SPAN "-01x",
        "ff-" TRACE "-" SPAN "-01",
        "0g-" TRACE "-" SPAN "-01",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct cpt_traceparent parent = {.flags = 7};

        CU_ASSERT_EQUAL(cpt_traceparent_parse(cpt_bytes_of(values[i]), &parent),
                        CPT_CORRUPT);
        CU_ASSERT_EQUAL(parent.flags, 0);
    }
}

/* Each byte in each place is read if it is a digit, or the '-' that stands there. */
static void test_every_byte_in_every_place(void)
{
    static const char good[] = "01-" TRACE "-" SPAN "-03";
    static const char digits[] = "0123456789abcdef";
    unsigned differing = 0;

    for (size_t place = 0; place < sizeof good - 1; place++) {
        for (int byte = 0; byte < 256; byte++) {
            char text[sizeof good];
            char again[CPT_TRACEPARENT_BYTES + 1];
            struct cpt_traceparent parent;
            const bool is_digit = memchr(digits, byte, sizeof digits - 1) != NULL;
            bool is_read = false;

            memcpy(text, good, sizeof good);
            text[place] = (char)byte;
            is_read = cpt_traceparent_parse((struct cpt_bytes){text, sizeof good - 1},
                                            &parent) == CPT_OK;
            differing += is_read != (good[place] == '-' ? byte == '-' : is_digit);
            if (is_read) {
                cpt_traceparent_format(&parent, again);
                differing += memcmp(again + 2, text + 2, sizeof good - 3) != 0;
            }
        }
    }
    CU_ASSERT_EQUAL(differing, 0);
}

CU_TestInfo cpt_traceparent_tests[] = {
    {"ids and flags are read", test_ids_and_flags},
    {"a newer version is read by the rules of 00", test_newer_versions},
    {"malformed ones are refused", test_malformed_ones},
    {"each byte in each place", test_every_byte_in_every_place},
    CU_TEST_INFO_NULL,
};
