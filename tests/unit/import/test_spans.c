/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_spans.c - trees of spans, whole and broken, and their sections */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/import/span_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect(const char *const *lines, enum cpti_span_mode mode,
                   const char *expected)
{
    char text[SPAN_TEXT_BYTES];

    (void)span_list_walk(lines, mode, text);
    if (strcmp(text, expected) != 0) {
        printf("\n  got      %s\n  expected %s\n", text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
}

/* The same in all modes. */
static void expect_all(const char *const *lines, const char *expected)
{
    expect(lines, CPTI_SPANS_EXACT, expected);
    expect(lines, CPTI_SPANS_JAEGER_UI, expected);
    expect(lines, CPTI_SPANS_CRISP, expected);
}

/* The cases of CRISP, by number. */
static void test_published_cases(void)
{
    expect_all(LINES("a - 0 100 A: o", "b a 10 60 B: o"), "a 0-10, b 10-60, a 60-100");
    expect_all(LINES("a - 0 100 A: o", "b a 10 60 B: o", "c b 20 30 C: o"),
               "a 0-10, b 10-20, c 20-30, b 30-60, a 60-100");
    expect_all(
        LINES("a - 0 100 A: o", "x a 10 30 O: o", "y a 40 50 O: o", "z a 60 90 O: o"),
        "a 0-10, x 10-30, a 30-40, y 40-50, a 50-60, z 60-90, a 90-100");
    /* 7, 8: cut to the parent; 9: outside of it */
    expect_all(LINES("a - 0 100 A: o", "b a 10 110 B: o", "c b 40 50 C: o"),
               "a 0-10, b 10-40, c 40-50, b 50-100");
    expect_all(LINES("a - 0 100 A: o", "b a 10 70 B: o", "c b 20 120 C: o"),
               "a 0-10, b 10-20, c 20-70, a 70-100");
    expect_all(LINES("a - 0 100 A: o", "b a 110 160 B: o", "c b 120 130 C: o",
                     "d a 60 90 D: o"),
               "a 0-60, d 60-90, a 90-100");
    /* 12 */
    expect_all(
        LINES("a - 0 100 A: o", "b a 10 70 B: o", "c b 25 45 C: o", "d b 30 50 D: o"),
        "a 0-10, b 10-30, d 30-50, b 50-70, a 70-100");
    /* 18 */
    expect_all(LINES("a - 0 250 A: o", "b a 10 110 B: o", "c b 30 40 C: o",
                     "d b 50 60 D: o", "e b 70 80 E: o", "f a 120 220 F: o",
                     "g f 140 200 G: o", "h g 150 170 H: o", "i g 180 190 I: o"),
               "a 0-10, b 10-30, c 30-40, b 40-50, d 50-60, b 60-70, e 70-80, "
               "b 80-110, a 110-120, f 120-140, g 140-150, h 150-170, g 170-180, "
               "i 180-190, g 190-200, f 200-220, a 220-250");
}

/* Case 10: children that overlap by less than 1 % of their parent. */
static void test_overlap(void)
{
    const char *const lines[] = {"a - 0 1000 A: o", "b a 10 210 B: o",
                                 "c a 209 309 C: o", "d a 308 608 D: o", NULL};

    expect(lines, CPTI_SPANS_EXACT,
           "a 0-10, b 10-209, c 209-308, d 308-608, a 608-1000");
    /* times of the children whole; the parent's 402 less the 2 that they share */
    expect(lines, CPTI_SPANS_CRISP,
           "a 2-10, b 10-210, c 209-309, d 308-608, a 608-1000");
    expect(lines, CPTI_SPANS_JAEGER_UI,
           "a 0-10, b 10-210, a 210-308, d 308-608, "
           "a 608-1000");
}

/* One that ends just when the next begins was waited for; Jaeger's page drops it. */
static void test_adjacent(void)
{
    const char *const lines[] = {"a - 0 100 A: o", "b a 10 50 B: o", "c a 50 90 C: o",
                                 NULL};

    expect(lines, CPTI_SPANS_EXACT, "a 0-10, b 10-50, c 50-90, a 90-100");
    expect(lines, CPTI_SPANS_CRISP, "a 0-10, b 10-50, c 50-90, a 90-100");
    expect(lines, CPTI_SPANS_JAEGER_UI, "a 0-50, c 50-90, a 90-100");
}

static void test_nothing_and_moments(void)
{
    expect_all(LINES("a - 7 7 A: o"), "");
    expect_all(LINES("a - 0 10 A: o", "b a 5 5 B: o"), "a 0-10");
    expect_all(LINES("a - 0 10 A: o", "b a 10 10 B: o", "c a 0 0 C: o"), "a 0-10");
    expect(LINES("a - 0 10 A: o", "b a 0 10 B: o", "c b 0 10 C: o"), CPTI_SPANS_EXACT,
           "c 0-10");
}

static struct cpti_spans_report expect_report(const char *const *lines,
                                              const char *expected)
{
    char text[SPAN_TEXT_BYTES];
    const struct cpti_spans_report report =
        span_list_walk(lines, CPTI_SPANS_EXACT, text);

    CU_ASSERT_STRING_EQUAL(text, expected);
    return report;
}

static void test_roots_and_orphans(void)
{
    struct cpti_spans_report report =
        expect_report(LINES("c b 2 3 C: o", "b - 1 5 B: o", "a - 0 9 A: o",
                            "d x 0 4 D: o", "e d 1 2 E: o"),
                      "a 0-9");

    CU_ASSERT_EQUAL(report.dropped, 4);
    CU_ASSERT_EQUAL(report.roots, 2);
    CU_ASSERT_EQUAL(report.orphans, 2);
    CU_ASSERT_FALSE(report.is_root_missing);
    /* without a root, an orphan is one */
    report = expect_report(LINES("b x 1 5 B: o", "a y 0 9 A: o", "c a 2 3 C: o"),
                           "a 0-2, c 2-3, a 3-9");
    CU_ASSERT_TRUE(report.is_root_missing);
    CU_ASSERT_EQUAL(report.dropped, 1);
}

/* Which of several spans with one id stays does not depend on their order. */
static void test_order_of_duplicates(void)
{
    static const char *const orders[][5] = {{"a - 0 100 A: /", "b a 10 20 B: get",
                                             "b a 30 50 B: get client", "b b 5 9 B: x"},
                                            {"b b 5 9 B: x", "b a 30 50 B: get client",
                                             "b a 10 20 B: get", "a - 0 100 A: /"},
                                            {"b a 30 50 B: get client", "b b 5 9 B: x",
                                             "a - 0 100 A: /", "b a 10 20 B: get"}};
    char first[SPAN_TEXT_BYTES];

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char text[SPAN_TEXT_BYTES];
        const struct cpti_spans_report report =
            span_list_walk(orders[i], CPTI_SPANS_EXACT, text);

        if (i == 0) {
            memcpy(first, text, sizeof first);
        }
        CU_ASSERT_EQUAL(report.duplicates, 2);
        CU_ASSERT_STRING_EQUAL(text, first);
    }
}

static void test_cycles_and_duplicates(void)
{
    struct cpti_spans_report report =
        expect_report(LINES("a - 0 9 A: o", "b c 1 2 B: o", "c b 1 2 C: o",
                            "d c 1 2 D: o", "a - 3 4 A: o", "e e 0 1 E: o"),
                      "a 0-9");

    CU_ASSERT_EQUAL(report.cycles, 3);
    CU_ASSERT_EQUAL(report.duplicates, 1);
    CU_ASSERT_EQUAL(report.roots, 1); /* its own parent */
    CU_ASSERT_EQUAL(report.dropped, 5);
    report = expect_report(LINES("b c 1 2 B: o", "c b 1 2 C: o"), "");
    CU_ASSERT_EQUAL(report.dropped, 0); /* there is no tree at all */
}

/* Children of a span without a time hang below its parent, also if that is the root's
 * own. */
static void test_timeless(void)
{
    struct cpti_spans_report report =
        expect_report(LINES("a - 0 9 A: o", "b a ? ? B: o", "c b ? ? C: o",
                            "d c 2 4 D: o", "e b 5 6 E: o", "f - ? ? F: o"),
                      "a 0-2, d 2-4, a 4-5, e 5-6, a 6-9");

    CU_ASSERT_EQUAL(report.timeless, 3);
    CU_ASSERT_EQUAL(report.dropped, 3);
    report = expect_report(LINES("a - ? ? A: o", "b a 1 9 B: o", "c b 2 3 C: o"),
                           "b 1-2, c 2-3, b 3-9");
    CU_ASSERT_TRUE(report.is_root_missing);
    CU_ASSERT_EQUAL(report.timeless, 1);
}

static void test_asynchronous(void)
{
    const struct cpti_spans_report report =
        expect_report(LINES("a - 0 100 A: o", "b a 10 60 B: o async", "c b 20 30 C: o",
                            "p a 70 80 A: send producer", "q p 72 79 Q: take consumer"),
                      "a 0-70, p 70-80, a 80-100");

    CU_ASSERT_EQUAL(report.asynchronous, 3);
    CU_ASSERT_EQUAL(report.dropped, 3);
}

/* Zipkin: the sides of a call share an id. */
static void test_shared_ids(void)
{
    const char *const sections = "a 0-10, b 10-20, b 20-30, c 30-40, b 40-70, b 70-80, "
                                 "a 80-100";

    (void)expect_report(LINES("a - 0 100 A: / server", "b a 10 80 A: get client",
                              "b a 20 70 B: get server", "c b 30 40 B: look"),
                        sections);
    /* parts that were sent before their time was known */
    (void)expect_report(LINES("a - 0 100 A: / server", "b a ? ? A: get",
                              "b a ? ? B: get server", "b a 20 70 B: get server",
                              "b a 10 80 A: get client", "b a ? ? A: get client",
                              "c b 30 40 B: look"),
                        sections);
    /* whatever comes first */
    (void)expect_report(LINES("c b 30 40 B: look", "b a 20 70 B: get server",
                              "b a 10 80 A: get client", "a - 0 100 A: / server"),
                        sections);
}

static void test_times_that_do_not_fit(void)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    struct cpti_span span = {.id = cpt_bytes_of("a"),
                             .start_ns = INT64_MAX,
                             .duration_ns = 1,
                             .has_time = true};

    CU_ASSERT_EQUAL(cpti_spans_add(spans, &span), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_END);
    span = (struct cpti_span){.id = cpt_bytes_of("b"),
                              .start_ns = INT64_MAX - 9,
                              .duration_ns = 9,
                              .has_time = true};
    CU_ASSERT_EQUAL(cpti_spans_add(spans, &span), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_section_count(spans), 1);
    CU_ASSERT_EQUAL(report.timeless, 1);
    cpti_spans_reset(spans);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_END);
    cpti_spans_free(spans);
}

/* A million spans, each below the one before, and all below one. */
static void test_large(void)
{
    enum { SPANS = 1000000, ID_BYTES = 8 };
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    char *ids = malloc((size_t)SPANS * ID_BYTES);

    for (int i = 0; i < SPANS; i++) {
        (void)snprintf(ids + (size_t)i * ID_BYTES, ID_BYTES, "%07u",
                       (unsigned)i % 10000000);
    }
    for (int is_chain = 0; is_chain < 2; is_chain++) {
        uint64_t sum_ns = 0;

        cpti_spans_reset(spans);
        for (int i = 0; i < SPANS; i++) {
            const uint64_t start_ns = (uint64_t)i;
            const struct cpti_span span = {
                .id = {ids + (size_t)i * ID_BYTES, ID_BYTES - 1},
                .parent = {ids + (is_chain && i > 0 ? (size_t)(i - 1) * ID_BYTES : 0),
                           i == 0 ? 0 : ID_BYTES - 1},
                .start_ns = start_ns,
                .duration_ns = i == 0 || is_chain ? 2 * SPANS - 2 * start_ns : 1,
                .has_time = true};

            CU_ASSERT_EQUAL_FATAL(cpti_spans_add(spans, &span), CPT_OK);
        }
        CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL(report.dropped, 0);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
        for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
            sum_ns += cpti_spans_section(spans, i)->end_ns -
                      cpti_spans_section(spans, i)->start_ns;
        }
        CU_ASSERT_EQUAL(sum_ns, 2 * SPANS);
        CU_ASSERT_TRUE(cpti_spans_section_count(spans) >= SPANS);
    }
    cpti_spans_free(spans);
    free(ids);
}

static bool resolve_over(const struct cpt_alloc *alloc)
{
    struct cpti_spans *spans = cpti_spans_new(alloc);
    const struct cpti_span root = {
        .id = cpt_bytes_of("a"), .duration_ns = 9, .has_time = true};
    const struct cpti_span child = {.id = cpt_bytes_of("b"),
                                    .parent = cpt_bytes_of("a"),
                                    .start_ns = 1,
                                    .duration_ns = 2,
                                    .has_time = true};
    struct cpti_spans_report report;
    const bool is_done = spans != NULL && cpti_spans_add(spans, &root) == CPT_OK &&
                         cpti_spans_add(spans, &child) == CPT_OK &&
                         cpti_spans_resolve(spans, &report) == CPT_OK &&
                         cpti_spans_walk(spans, CPTI_SPANS_EXACT) == CPT_OK;

    cpti_spans_free(spans);
    return is_done;
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(resolve_over);
}

CU_TestInfo cpt_spans_tests[] = {
    {"published cases", test_published_cases},
    {"overlap", test_overlap},
    {"adjacent", test_adjacent},
    {"nothing and moments", test_nothing_and_moments},
    {"roots and orphans", test_roots_and_orphans},
    {"cycles and duplicates", test_cycles_and_duplicates},
    {"order of duplicates", test_order_of_duplicates},
    {"timeless", test_timeless},
    {"asynchronous", test_asynchronous},
    {"shared ids", test_shared_ids},
    {"times that do not fit", test_times_that_do_not_fit},
    {"large", test_large},
    {"survives no memory", test_survives_no_memory},
    CU_TEST_INFO_NULL,
};
