/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_traceparent.c - the trace that a request belongs to */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"

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

CU_TestInfo cpt_traceparent_tests[] = {
    {"ids and flags are read", test_ids_and_flags},
    {"a newer version is read by the rules of 00", test_newer_versions},
    {"malformed ones are refused", test_malformed_ones},
    CU_TEST_INFO_NULL,
};
