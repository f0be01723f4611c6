/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_tracestate.c - what other tracers say of a trace, and of sampling */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"

#include <string.h>

static char joined[CPT_TRACESTATE_BYTES_MAX + 1];
static size_t joined_bytes;

static cpt_status join(const char *first, const char *second)
{
    const struct cpt_bytes values[2] = {cpt_bytes_of(first),
                                        cpt_bytes_of(second != NULL ? second : "")};

    return cpt_tracestate_join(values, second != NULL ? 2 : 1, joined, &joined_bytes);
}

static void test_passed_on(void)
{
    CU_ASSERT_EQUAL(join("a=1 , b@c=x y,,0-_*/=~", NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(joined, "a=1 , b@c=x y,,0-_*/=~"); /* untouched */
    CU_ASSERT_EQUAL(joined_bytes, strlen(joined));
    CU_ASSERT_EQUAL(join(" a=1,", "b=2"), CPT_OK);
    CU_ASSERT_STRING_EQUAL(joined, "a=1,b=2");
    CU_ASSERT_EQUAL(join(" , ", NULL), CPT_OK);
    CU_ASSERT_EQUAL(joined_bytes, 0);
    CU_ASSERT_EQUAL(cpt_tracestate_join(NULL, 0, joined, &joined_bytes), CPT_OK);
    CU_ASSERT_EQUAL(joined_bytes, 0);
}

static void test_malformed_ones(void)
{
    static const char *const values[] = {
        "a",      "a=",  "=1",    "A=1",        "a b=1", "a=1=2",
        "a=\x01", "-=1", "a=1;b", "a=\xc3\xa9", "a=1,b", "_a=1",
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const cpt_status status = join(values[i], NULL);

        if (strcmp(values[i], "a=1;b") == 0) {
            CU_ASSERT_EQUAL(status, CPT_OK);
            continue;
        }
        CU_ASSERT_EQUAL(status, CPT_CORRUPT);
        CU_ASSERT_EQUAL(joined_bytes, 0);
    }
}

/* "k0=v…,k1=v…,", each value @bytes long. */
static void fill(char *text, unsigned count, unsigned bytes)
{
    for (unsigned i = 0; i < count; i++) {
        text += sprintf(text, "%sk%u=", i > 0 ? "," : "", i);
        memset(text, 'v', bytes);
        text += bytes;
        *text = '\0';
    }
}

static void test_bounds(void)
{
    char text[4096];

    fill(text, 32, 1);
    CU_ASSERT_EQUAL(join(text, NULL), CPT_OK);
    fill(text, 33, 1);
    CU_ASSERT_EQUAL(join(text, NULL), CPT_CORRUPT);
    fill(text, 1, 256);
    CU_ASSERT_EQUAL(join(text, NULL), CPT_OK);
    fill(text, 1, 257);
    CU_ASSERT_EQUAL(join(text, NULL), CPT_CORRUPT);
    fill(text, 20, 40); /* the last ones go */
    CU_ASSERT_EQUAL(join(text, NULL), CPT_OK);
    CU_ASSERT_TRUE(joined_bytes <= CPT_TRACESTATE_BYTES_MAX && joined_bytes > 450);
    CU_ASSERT_EQUAL(strncmp(text, joined, joined_bytes), 0);
    fill(text, 3, 200); /* each is too long for a tracestate that is too long */
    CU_ASSERT_EQUAL(join(text, "x=1"), CPT_OK);
    CU_ASSERT_STRING_EQUAL(joined, "x=1");
}

static void test_consistent(void)
{
    struct cpt_consistent read;
    char text[CPT_TRACESTATE_BYTES_MAX + 1];

    cpt_consistent_parse(cpt_bytes_of("a=1, ot=th:c;rv:9b8233f7e3a151;x:y"), &read);
    CU_ASSERT_TRUE(read.has_threshold && read.has_randomness);
    CU_ASSERT_EQUAL(read.threshold, CPT_SAMPLING_RANGE / 4 * 3);
    CU_ASSERT_EQUAL(read.randomness, UINT64_C(0x9b8233f7e3a151));
    read.threshold = CPT_SAMPLING_RANGE / 2;
    CU_ASSERT_EQUAL(
        cpt_consistent_format(cpt_bytes_of("a=1, ot=th:c;rv:9b8233f7e3a151;x:y"), &read,
                              text),
        strlen(text));
    CU_ASSERT_STRING_EQUAL(text, "ot=th:8;rv:9b8233f7e3a151;x:y,a=1");
    read = (struct cpt_consistent){.has_threshold = 1};
    (void)cpt_consistent_format(cpt_bytes_of(""), &read, text);
    CU_ASSERT_STRING_EQUAL(text, "ot=th:0");
    read.has_threshold = 0;
    (void)cpt_consistent_format(cpt_bytes_of("ot=th:0,b=2"), &read, text);
    CU_ASSERT_STRING_EQUAL(text, "b=2");
    /* a part of blanks alone would leave a member without a value */
    (void)cpt_consistent_format(cpt_bytes_of("ot=   ;   ,b=2"), &read, text);
    CU_ASSERT_STRING_EQUAL(text, "b=2");
    (void)cpt_consistent_format(cpt_bytes_of("ot=x: y;  ;"), &read, text);
    CU_ASSERT_STRING_EQUAL(text, "ot=x: y");
}

static void test_consistent_malformed(void)
{
    static const char *const values[] = {
        "",
        "a=ot",
        "ot=",
        "ot=th:",
        "ot=th:g",
        "ot=th:C",
        "ot=th:123456789012345",
        "ot=rv:12",
        "xot=th:1",
        "ot=rv:9b8233f7e3a1511",
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct cpt_consistent read = {1, 1, 1, 1};

        cpt_consistent_parse(cpt_bytes_of(values[i]), &read);
        CU_ASSERT_FALSE(read.has_randomness || read.has_threshold);
        CU_ASSERT_EQUAL(read.randomness + read.threshold, 0);
    }
}

static void test_thresholds(void)
{
    static const double probabilities[] = {1, 0.5, 0.25, 0.1, 0.001, 1e-9};

    CU_ASSERT_EQUAL(cpt_sampling_threshold(1), 0);
    CU_ASSERT_EQUAL(cpt_sampling_threshold(0.5), CPT_SAMPLING_RANGE / 2);
    CU_ASSERT_EQUAL(cpt_sampling_threshold(1e-300), CPT_SAMPLING_RANGE - 1);
    for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++) {
        const double p = probabilities[i];

        CU_ASSERT_DOUBLE_EQUAL(cpt_sampling_probability(cpt_sampling_threshold(p)), p,
                               p * 1e-7);
    }
}

static void test_format_of_parent(void)
{
    static const char text[] =
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";
    struct cpt_traceparent parent;
    char back[CPT_TRACEPARENT_BYTES + 1];

    CU_ASSERT_EQUAL(cpt_traceparent_parse(cpt_bytes_of(text), &parent), CPT_OK);
    cpt_traceparent_format(&parent, back);
    CU_ASSERT_STRING_EQUAL(back, text);
}

CU_TestInfo cpt_tracestate_tests[] = {
    {"members are passed on", test_passed_on},
    {"malformed members are refused", test_malformed_ones},
    {"what is too long is bounded by the standard", test_bounds},
    {"OpenTelemetry's threshold and randomness", test_consistent},
    {"those that are malformed are as if absent", test_consistent_malformed},
    {"thresholds and probabilities", test_thresholds},
    {"a traceparent is written as it was read", test_format_of_parent},
    CU_TEST_INFO_NULL,
};
