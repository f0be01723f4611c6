/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_spans.c - trees of spans, whole and broken, and their sections */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
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

static void expect_exact(const char *const *lines, const char *expected)
{
    expect(lines, CPTI_SPANS_EXACT, expected);
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

/* What outlives its parent, and began before another child ended within the parent, ran
 * beside. The other modes take it, as those tools do. */
static void test_background(void)
{
    const char *const lines[] = {"a - 0 100 A: o", "b a 10 95 B: query",
                                 "c a 12 5000 C: audit", "d c 20 40 D: o", NULL};

    expect(lines, CPTI_SPANS_EXACT, "a 0-10, b 10-95, a 95-100");
    expect(lines, CPTI_SPANS_JAEGER_UI, "a 0-12, c 12-20, d 20-40, c 40-100");
    expect(lines, CPTI_SPANS_CRISP, "a 0-12, c 12-20, d 20-40, c 40-100");
    /* it held the parent if nothing else did meanwhile, from whenever on */
    expect_exact(LINES("a - 0 100 A: o", "b a 10 50 B: o", "c a 50 5000 C: o"),
                 "a 0-10, b 10-50, c 50-100");
    expect_exact(LINES("a - 0 100 A: o", "b a 10 50 B: o", "c a 49 5000 C: o"),
                 "a 0-10, b 10-50, a 50-100");
    expect_exact(LINES("a - 0 100 A: o", "c a 10 5000 C: o", "d a 5 300 D: o"),
                 "a 0-5, d 5-100");
    /* one of several began after the last one that was waited for */
    expect_exact(LINES("a - 0 100 A: o", "b a 10 60 B: o", "c a 5 300 C: o",
                       "d a 70 200 D: o", "e a 65 150 E: o"),
                 "a 0-10, b 10-60, a 60-65, e 65-100");
    /* one that is not waited for shields nothing, as one that took no time */
    expect_exact(LINES("a - 0 100 A: o", "b a 10 60 B: o async", "c a 5 300 C: o"),
                 "a 0-5, c 5-100");
    expect_exact(
        LINES("a - 0 100 A: o", "b a 50 50 B: o", "e a 100 100 E: o", "c a 5 300 C: o"),
        "a 0-5, c 5-100");
}

/* Up to 1 % of the parent's duration is what clocks do; and it is the times that spans
 * tell that count, not those that they are cut to. */
static void test_background_margin(void)
{
    expect_exact(LINES("a - 0 1000 A: o", "b a 10 950 B: o", "c a 12 1010 C: o"),
                 "a 0-12, c 12-1000");
    expect_exact(LINES("a - 0 1000 A: o", "b a 10 950 B: o", "c a 12 1011 C: o"),
                 "a 0-10, b 10-950, a 950-1000");
    expect_exact(LINES("a - 0 1099 A: o", "b a 10 950 B: o", "c a 12 1109 C: o"),
                 "a 0-12, c 12-1099");
    /* what ends within the margin shields, too */
    expect_exact(LINES("a - 0 1000 A: o", "b a 10 1010 B: o", "c a 5 1011 C: o"),
                 "a 0-10, b 10-1000");
    /* d ends within b, which is cut */
    expect_exact(
        LINES("a - 0 100 A: o", "b a 10 120 B: o", "c b 20 90 C: o", "d b 30 110 D: o"),
        "a 0-10, b 10-30, d 30-100");
    expect_exact(
        LINES("a - 0 100 A: o", "b a 10 120 B: o", "c b 20 90 C: o", "d b 30 130 D: o"),
        "a 0-10, b 10-20, c 20-90, b 90-100");
    /* below one without a time it is its grandparent that counts */
    expect_exact(
        LINES("a - 0 100 A: o", "x a ? ? X: o", "b x 10 95 B: o", "c x 12 5000 C: o"),
        "a 0-10, b 10-95, a 95-100");
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

/* CRISP: of children that overlap a little, none if a third one begins or ends then. */
static void test_overlap_of_three(void)
{
    const char *const lines[] = {"a - 0 1000 A: o", "b a 100 505 B: o",
                                 "c a 200 503 C: o", "d a 500 800 D: o", NULL};

    expect(lines, CPTI_SPANS_CRISP, "a 3-200, c 200-503, d 500-800, a 800-1000");
    expect(lines, CPTI_SPANS_EXACT, "a 0-100, b 100-500, d 500-800, a 800-1000");
    expect(lines, CPTI_SPANS_JAEGER_UI, "a 0-500, d 500-800, a 800-1000");
}

/* CRISP keeps the server's side of a call whole, wherever it lies. */
static void test_sides_that_stick_out(void)
{
    expect(LINES("a - 0 100 A: o client", "b a 10 105 B: o server"), CPTI_SPANS_CRISP,
           "a 5-10, b 10-105");
    expect(LINES("a - 100 200 A: o hostname=1", "b a 20 90 B: o hostname=2"),
           CPTI_SPANS_CRISP, "b 20-90, a 170-200");
    expect(
        LINES("r - 0 300 A: o server", "a r 100 200 A: o", "b a 150 251 B: o server"),
        CPTI_SPANS_CRISP, "r 0-100, b 151-251, r 200-300");
    /* one of two, or too long: cut; around its parent: left out */
    expect(LINES("a - 0 100 A: o client", "b a 10 105 B: o server", "c a 1 2 C: o"),
           CPTI_SPANS_CRISP, "a 0-1, c 1-2, a 2-10, b 10-100");
    expect(LINES("a - 100 200 A: o client", "b a 110 212 B: o server"),
           CPTI_SPANS_CRISP, "a 100-110, b 110-200");
    expect(LINES("a - 100 200 A: o", "b a 90 210 B: o"), CPTI_SPANS_CRISP, "a 100-200");
    expect(LINES("a - 100 200 A: o", "b a 90 210 B: o"), CPTI_SPANS_JAEGER_UI,
           "b 100-200");
}

/* Whatever order the two have: CRISP takes the last one of the file. */
static void test_ends_that_are_equal(void)
{
    const char *const lines[] = {"a - 0 100 A: o", "c a 20 90 C: o", "b a 10 90 B: o",
                                 "d a 90 90 D: o", NULL};

    expect(lines, CPTI_SPANS_JAEGER_UI, "a 0-10, b 10-90, a 90-100");
    expect(lines, CPTI_SPANS_CRISP, "a 0-100"); /* it picks d, which takes no time */
    expect(LINES("a - 0 100 A: o", "b a 10 90 B: o", "c a 20 90 C: o"),
           CPTI_SPANS_CRISP, "a 0-20, c 20-90, a 90-100");
}

/* Jaeger's page waits for what follows, and shows each root. */
static void test_roots_of_jaeger_ui(void)
{
    const char *const lines[] = {"a - 0 100 A: o", "b a 20 70 B: o async",
                                 "c x 50 60 C: o", "t - ? ? T: o",
                                 "d t 5 6 D: o",   NULL};
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    char text[SPAN_TEXT_BYTES];

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(report.dropped, 4);
    CU_ASSERT_EQUAL(cpti_spans_walk_roots(spans, CPTI_SPANS_JAEGER_UI), CPT_OK);
    span_list_sections(spans, text);
    CU_ASSERT_STRING_EQUAL(text, "a 0-20, d 5-6, b 20-70, c 50-60, a 70-100");
    cpti_spans_count_left(spans, &report);
    CU_ASSERT_EQUAL(report.dropped, 1);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_JAEGER_UI), CPT_OK);
    span_list_sections(spans, text);
    CU_ASSERT_STRING_EQUAL(text, "a 0-20, b 20-70, a 70-100");
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    span_list_sections(spans, text);
    CU_ASSERT_STRING_EQUAL(text, "a 0-100");
    cpti_spans_count_left(spans, &report);
    CU_ASSERT_EQUAL(report.dropped, 4);
    cpti_spans_free(spans);
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
    CU_ASSERT_EQUAL(report.fragment, CPTI_SPAN_WHOLE);
    /* without a root, an orphan is one */
    report = expect_report(LINES("b x 1 5 B: o", "a y 0 9 A: o", "c a 2 3 C: o"),
                           "a 0-2, c 2-3, a 3-9");
    CU_ASSERT_EQUAL(report.fragment, CPTI_SPAN_ROOT_MISSING);
    CU_ASSERT_EQUAL(report.dropped, 1);
}

/* Copies are dropped, also if their duration has grown; what began at another time, or
 * is of something else, has an id of others by mistake. */
static void test_copies(void)
{
    struct cpti_spans_report report = expect_report(
        LINES("a - 0 100 A: /", "b a 10 30 A: get", "b a 10 40 A: get client",
              "b a 10 40 A: get", "b a 10 20 : get"),
        "a 0-10, b 10-40, a 40-100");

    CU_ASSERT_EQUAL(report.duplicates, 3);
    report = expect_report(LINES("a - 0 100 A: /", "b a 10 20 A: x", "b a 30 40 A: x",
                                 "b a 50 60 B: x", "b a 50 55 A: x"),
                           "a 0-10, b 10-20, a 20-30, b 30-40, a 40-50, b 50-60, "
                           "a 60-100");
    CU_ASSERT_EQUAL(report.dropped, 0);
    report = expect_report(LINES("a - 0 100 A: /", "b a 10 20 A: x", "b b 30 40 A: x"),
                           "a 0-10, b 10-20, a 20-100");
    CU_ASSERT_EQUAL(report.roots, 1); /* its own parent */
}

static void test_cycles_and_duplicates(void)
{
    struct cpti_spans_report report =
        expect_report(LINES("a - 0 9 A: o", "b c 1 2 B: o", "c b 1 2 C: o",
                            "d c 1 2 D: o", "a - 3 4 A: o", "e e 0 1 E: o"),
                      "a 0-9");

    CU_ASSERT_EQUAL(report.cycles, 3);
    CU_ASSERT_EQUAL(report.duplicates, 0);
    CU_ASSERT_EQUAL(report.roots, 2); /* its own parent; one more root */
    CU_ASSERT_EQUAL(report.dropped, 5);
    report = expect_report(LINES("b c 1 2 B: o", "c b 1 2 C: o"), "");
    CU_ASSERT_EQUAL(report.dropped, 2); /* there is no tree at all */
    CU_ASSERT_EQUAL(report.cycles, 2);
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
    CU_ASSERT_EQUAL(report.fragment, CPTI_SPAN_ROOT_TIMELESS);
    CU_ASSERT_EQUAL(report.timeless, 1);
    /* also those below the root, though the tree begins below them */
    report = expect_report(LINES("a - ? ? A: o", "b a ? ? B: o", "c b 2 3 C: o",
                                 "d b ? ? D: o", "e d 7 8 E: o"),
                           "c 2-3");
    CU_ASSERT_EQUAL(report.fragment, CPTI_SPAN_ROOT_TIMELESS);
    CU_ASSERT_EQUAL(report.timeless, 3);
    CU_ASSERT_EQUAL(report.roots, 1);
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

/* A client's span, and several that share its id: all hang below it, and children below
 * the one of their service that ran then. */
static void test_many_with_one_id(void)
{
    struct cpti_spans_report report = expect_report(
        LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
              "b a 11 13 P: check server", "b a 20 80 B: add server",
              "c b 30 70 B: find", "d b 12 13 P: read", "e b 82 84 A: decode"),
        "a 0-10, b 10-11, b 11-12, d 12-13, b 13-20, b 20-30, c 30-70, b 70-80, "
        "b 80-82, e 82-84, b 84-90, a 90-100");

    CU_ASSERT_EQUAL(report.dropped, 0);
    /* attempts: the one that ran then, or that is on the same host */
    report = expect_report(
        LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
              "b a 11 31 B: add server", "b a 40 85 B: add server", "c b 50 60 B: find",
              "d b 12 20 B: find"),
        "a 0-10, b 10-11, b 11-12, d 12-20, b 20-31, b 31-40, b 40-50, c 50-60, "
        "b 60-85, b 85-90, a 90-100");
    CU_ASSERT_EQUAL(report.dropped, 0);
    report = expect_report(LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
                                 "b a 20 60 B: add server host=h1",
                                 "b a 15 80 B: add server host=h2",
                                 "c b 30 50 B: find host=h1"),
                           "a 0-10, b 10-15, b 15-80, b 80-90, a 90-100");
    CU_ASSERT_EQUAL(report.dropped, 0);
    /* of a service that shares no id: the client's, or whose time it is in */
    report = expect_report(LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
                                 "b a 11 31 B: add server", "b a 40 85 C: put server",
                                 "c b 50 60 D: get server", "d b 33 35 D: get server"),
                           "a 0-10, b 10-11, b 11-31, b 31-33, d 33-35, b 35-40, "
                           "b 40-50, c 50-60, b 60-85, b 85-90, a 90-100");
    CU_ASSERT_EQUAL(report.dropped, 0);
    /* no client: each is below their parent */
    report = expect_report(LINES("a - 0 100 A: / server", "b a 11 31 B: add server",
                                 "b a 40 85 C: put server", "c b 50 60 C: get"),
                           "a 0-11, b 11-31, a 31-40, b 40-50, c 50-60, b 60-85, "
                           "a 85-100");
    CU_ASSERT_EQUAL(report.dropped, 0);
}

/* Several callers with one id: attempts of theirs, and a proxy that sends on what it
 * got as it is. */
static void test_callers_with_one_id(void)
{
    struct cpti_spans_report report = expect_report(
        LINES("a - 0 100 A: / server", "b a 10 30 A: call client",
              "b a 40 90 A: call client", "b a 12 28 B: add server",
              "b a 45 80 B: add server", "c b 50 60 B: find"),
        "a 0-10, b 10-12, b 12-28, b 28-30, a 30-40, b 40-45, b 45-50, c 50-60, "
        "b 60-80, b 80-90, a 90-100");

    CU_ASSERT_EQUAL(report.dropped, 0);
    report = expect_report(
        LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
              "b a 12 88 P: in server", "b a 14 86 P: out client",
              "b a 20 80 B: add server", "c b 30 70 B: find"),
        "a 0-10, b 10-12, b 12-14, b 14-20, b 20-30, c 30-70, b 70-80, b 80-86, "
        "b 86-88, b 88-90, a 90-100");
    CU_ASSERT_EQUAL(report.dropped, 0);
    /* all messages of one producer */
    report =
        expect_report(LINES("a - 0 100 A: /", "b a 10 20 A: send producer",
                            "b a 12 60 B: take consumer", "b a 13 70 C: take consumer"),
                      "a 0-10, b 10-20, a 20-100");
    CU_ASSERT_EQUAL(report.asynchronous, 2);
}

enum { SHARED_CASES = 3000, SHARED_SPANS = 14, ID_DIGIT = 1 };

static void random_span(struct test_random *random, struct cpti_span *span)
{
    static const char ids[] = "abcd";
    static const char names[] = "AB";
    const uint64_t start = test_random_below(random, 90);

    *span = (struct cpti_span){
        .id = {&ids[test_random_below(random, 4)], ID_DIGIT},
        .parent = {&ids[test_random_below(random, 2)], ID_DIGIT},
        .service = {&names[test_random_below(random, 2)], ID_DIGIT},
        .operation = {&names[test_random_below(random, 2)], ID_DIGIT},
        .kind = (unsigned char)test_random_below(random, 6),
        .start_ns = start,
        .duration_ns = test_random_below(random, 100 - start),
        .has_time = test_random_chance(random, 90)};
}

/* The spans on the path of @all, in time order, in @found: how many. They are added in
 * the order of @turn, and must tile the root. */
static size_t walk_in_turn(const struct cpti_span all[SHARED_SPANS], size_t turn,
                           struct cpti_span found[2 * SHARED_SPANS])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    uint64_t at_ns = 0;
    size_t count = 0;

    for (size_t k = 0; k < SHARED_SPANS; k++) {
        CU_ASSERT_EQUAL(
            cpti_spans_add(spans, &all[(k * (2 * turn + 1) + turn) % SHARED_SPANS]),
            CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    count = cpti_spans_section_count(spans);
    CU_ASSERT_FATAL(count <= (size_t)2 * SHARED_SPANS);
    for (size_t k = 0; k < count; k++) {
        const struct cpti_section *section = cpti_spans_section(spans, k);

        CU_ASSERT_EQUAL(section->start_ns, at_ns);
        at_ns = section->end_ns;
        found[k] = *cpti_spans_at(spans, section->span);
    }
    CU_ASSERT_EQUAL(at_ns, cpti_spans_end_ns(spans, cpti_spans_root(spans)));
    cpti_spans_free(spans);
    return count;
}

static bool is_same(const struct cpti_span *left, const struct cpti_span *right)
{
    return cpt_bytes_equal(left->id, right->id) &&
           cpt_bytes_equal(left->service, right->service) &&
           cpt_bytes_equal(left->operation, right->operation) &&
           left->kind == right->kind && left->start_ns == right->start_ns;
}

/* Whatever spans with one id say, sections tile the root, and are of the same spans in
 * any order of these. */
static void test_random_ids(void)
{
    const uint64_t seed = test_random_seed("spans with one id");
    const uint64_t cases = test_case_count(SHARED_CASES);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct cpti_span all[SHARED_SPANS] = {
            {.id = cpt_bytes_of("r"), .duration_ns = 100, .has_time = true}};
        struct cpti_span found[2][2 * SHARED_SPANS];
        size_t count = 0;

        for (size_t k = 1; k < SHARED_SPANS; k++) {
            random_span(&random, &all[k]);
            if (test_random_chance(&random, 30)) {
                all[k].parent = all[0].id;
            }
        }
        count = walk_in_turn(all, 0, found[0]);
        for (size_t turn = 1; turn < 3; turn++) {
            CU_ASSERT_EQUAL_FATAL(walk_in_turn(all, turn, found[1]), count);
            for (size_t k = 0; k < count; k++) {
                CU_ASSERT(is_same(&found[0][k], &found[1][k]));
            }
        }
    }
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
        for (unsigned mode = CPTI_SPANS_CRISP + 1; mode-- > 0;) {
            sum_ns = 0;
            CU_ASSERT_EQUAL_FATAL(cpti_spans_walk(spans, (enum cpti_span_mode)mode),
                                  CPT_OK);
            for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
                sum_ns += cpti_spans_section(spans, i)->end_ns -
                          cpti_spans_section(spans, i)->start_ns;
            }
            CU_ASSERT_EQUAL(sum_ns, 2 * SPANS);
        }
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
                         cpti_spans_walk(spans, CPTI_SPANS_CRISP) == CPT_OK &&
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
    {"background", test_background},
    {"background margin", test_background_margin},
    {"adjacent", test_adjacent},
    {"overlap of three", test_overlap_of_three},
    {"sides that stick out", test_sides_that_stick_out},
    {"ends that are equal", test_ends_that_are_equal},
    {"roots of jaeger-ui", test_roots_of_jaeger_ui},
    {"nothing and moments", test_nothing_and_moments},
    {"roots and orphans", test_roots_and_orphans},
    {"cycles and duplicates", test_cycles_and_duplicates},
    {"copies are dropped, others with their id are not", test_copies},
    {"timeless", test_timeless},
    {"asynchronous", test_asynchronous},
    {"shared ids", test_shared_ids},
    {"many spans with one id", test_many_with_one_id},
    {"several callers with one id", test_callers_with_one_id},
    {"random spans with few ids are the same in any order", test_random_ids},
    {"times that do not fit", test_times_that_do_not_fit},
    {"large", test_large},
    {"survives no memory", test_survives_no_memory},
    CU_TEST_INFO_NULL,
};
