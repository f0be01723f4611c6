/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_span_pieces.c - spans that were sent in pieces become whole */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include <stdio.h>
#include <string.h>

enum { SPANS_MOST = 12, PIECES_MOST = 4 * SPANS_MOST, CASES = 20000 };

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Expects the sections in this order of the lines, and in the other one. */
static struct cpti_spans_report expect(const char *const *lines, const char *expected)
{
    const char *turned[16] = {NULL};
    struct cpti_spans_report report;
    char text[SPAN_TEXT_BYTES];
    size_t count = 0;

    while (lines[count] != NULL) {
        count++;
    }
    CU_ASSERT_FATAL(count < sizeof turned / sizeof *turned);
    for (size_t i = 0; i < count; i++) {
        turned[i] = lines[count - 1 - i];
    }
    report = span_list_walk(turned, CPTI_SPANS_EXACT, text);
    CU_ASSERT_STRING_EQUAL(text, expected);
    report = span_list_walk(lines, CPTI_SPANS_EXACT, text);
    if (strcmp(text, expected) != 0) {
        printf("\n  got      %s\n  expected %s\n", text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    return report;
}

/* The start from one, the duration from the other. */
static void test_start_and_duration(void)
{
    struct cpti_spans_report report =
        expect(LINES("a - 0 100 A: /", "b a 20 ? A: get client", "b a ? +50 A: get"),
               "a 0-20, b 20-70, a 70-100");

    CU_ASSERT_EQUAL(report.joined, 1);
    CU_ASSERT_EQUAL(report.dropped, 0);
    /* the root; one that does not say whose it is; three pieces; ids with zeros */
    report = expect(LINES("a - 0 ? A: /", "a - ? +100 : x", "0b a 20 ? A: get",
                          "b - ? ? A: get client", "00b a ? +50 A: get"),
                    "a 0-20, 00b 20-70, a 70-100");
    CU_ASSERT_EQUAL(report.joined, 3);
    CU_ASSERT_EQUAL(report.dropped, 0);
    /* no duration at all is a time, too */
    report =
        expect(LINES("a - 0 100 A: /", "b a 20 ? A: x", "b a ? +0 A: x"), "a 0-100");
    CU_ASSERT_EQUAL(report.timeless, 0);
}

/* The start from one, the end from the other, as OpenTelemetry has them. */
static void test_start_and_end(void)
{
    struct cpti_spans_report report =
        expect(LINES("a - 0 100 A: /", "b a 20 ? A: get client", "b a ? 70 A: get",
                     "b - ? 60 : x"),
               "a 0-20, b 20-70, a 70-100");

    CU_ASSERT_EQUAL(report.joined, 2);
    CU_ASSERT_EQUAL(report.dropped, 0);
    /* the end tells which of two it is of: the one that has it, or begins before it */
    report = expect(LINES("a - 0 100 A: /", "b a 20 70 A: x", "b a ? 70 A: x",
                          "c a 80 ? A: x", "c a ? 90 A: x"),
                    "a 0-20, b 20-70, a 70-80, c 80-90, a 90-100");
    CU_ASSERT_EQUAL(report.joined, 2);
    /* before it began */
    report =
        expect(LINES("a - 0 100 A: /", "b a 20 ? A: x", "b a ? 10 A: x"), "a 0-100");
    CU_ASSERT_EQUAL(report.timeless, 1);
}

/* A span that is whole keeps its times; of a piece it takes the rest. */
static void test_whole_and_piece(void)
{
    const struct cpti_spans_report report =
        expect(LINES("a - 0 100 A: /", "b a 20 70 A: get client", "b a 20 ? A: get",
                     "b - ? +50 : x @B"),
               "a 0-20, b 20-70, a 70-100");

    CU_ASSERT_EQUAL(report.joined, 2);
    CU_ASSERT_EQUAL(report.dropped, 0);
}

/* The two sides of a call have one id, and each may be in pieces. */
static void test_sides(void)
{
    const struct cpti_spans_report report = expect(
        LINES("a - 0 100 A: /", "b a 20 ? A: get client", "b a 30 ? B: get server",
              "b a ? +50 A: get client", "b a ? +20 B: get server"),
        "a 0-20, b 20-30, b 30-50, b 50-70, a 70-100");

    CU_ASSERT_EQUAL(report.joined, 2);
    CU_ASSERT_EQUAL(report.dropped, 0);
}

/* What says that it is something else is no piece. */
static void test_others(void)
{
    static const char *const others[] = {"b a ? +50 B: get", "b a ? +50 A: get server",
                                         "b x ? +50 A: get",
                                         "b a ? +50 A: get client host=h2"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct cpti_spans_report report =
            expect(LINES("a - 0 100 A: /", "b a 20 ? A: get client host=h1", others[i]),
                   "a 0-100");

        CU_ASSERT_EQUAL(report.joined, 0);
        CU_ASSERT_EQUAL(report.dropped, 2);
    }
    /* two that are whole are two: attempts */
    CU_ASSERT_EQUAL(expect(LINES("a - 0 100 A: /", "b a 20 30 A: x", "b a 40 50 A: x"),
                           "a 0-20, b 20-30, a 30-40, b 40-50, a 50-100")
                        .joined,
                    0);
}

/* The piece that lacks a time goes to the span that lacks the other one. */
static void test_best_piece(void)
{
    const struct cpti_spans_report report =
        expect(LINES("a - 0 100 A: /", "b a 10 90 A: get client",
                     "b a 30 ? B: get server", "b a ? +20 : get"),
               "a 0-10, b 10-30, b 30-50, b 50-90, a 90-100");

    CU_ASSERT_EQUAL(report.joined, 1);
}

static void test_times_that_do_not_fit(void)
{
    CU_ASSERT_EQUAL(expect(LINES("a - 0 100 A: /", "b a 9223372036854775807 ? A: x",
                                 "b a ? +1 A: x"),
                           "a 0-100")
                        .timeless,
                    1);
}

/* Tags of all pieces together. */
static void test_tags(void)
{
    static const struct cpti_span pieces[] = {
        {.id = {"b", 1}, .service = {"A", 1}, .has_start = true, .start_ns = 20},
        {.id = {"b", 1}, .has_duration = true, .duration_ns = 50, .is_failed = true},
        {.id = {"b", 1}, .peer = {"B", 1}, .peer_rank = 2, .request_bytes = 7},
        {.id = {"b", 1}, .peer = {"C", 1}, .peer_rank = 1, .rejected = 9},
        {.id = {"b", 1}, .kind = CPTI_SPAN_CLIENT, .note = {"n", 1}, .reply_bytes = 3},
        {.id = {"b", 1}, .operation = {"o", 1}, .tells_waits = true, .wait_count = 2}};
    const size_t count = sizeof pieces / sizeof *pieces;

    for (size_t first = 0; first < count; first++) {
        struct cpti_spans *spans = cpti_spans_new(NULL);
        struct cpti_spans_report report;
        const struct cpti_span *span = NULL;

        for (size_t i = 0; i < count; i++) {
            struct cpti_span piece = pieces[(first + i) % count];

            piece.number = 10 + i;
            CU_ASSERT_EQUAL(cpti_spans_add(spans, &piece), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL(report.joined, count - 1);
        CU_ASSERT_EQUAL_FATAL(cpti_spans_count(spans), 1);
        span = cpti_spans_at(spans, 0);
        CU_ASSERT(span->has_time && span->start_ns == 20 && span->duration_ns == 50);
        CU_ASSERT(span->is_failed && span->kind == CPTI_SPAN_CLIENT);
        CU_ASSERT(span->request_bytes == 7 && span->reply_bytes == 3);
        CU_ASSERT(span->rejected == 9 && span->number == 10);
        CU_ASSERT(span->tells_waits && span->wait_count == 2);
        CU_ASSERT(cpt_bytes_equal(span->peer, cpt_bytes_of("B")));
        CU_ASSERT(cpt_bytes_equal(span->service, cpt_bytes_of("A")));
        CU_ASSERT(cpt_bytes_equal(span->operation, cpt_bytes_of("o")));
        CU_ASSERT(cpt_bytes_equal(span->note, cpt_bytes_of("n")));
        cpti_spans_free(spans);
    }
}

/* --- Random trees --- */

struct tree {
    struct cpti_span items[PIECES_MOST];
    size_t count;
};

static void add(struct tree *tree, struct cpti_span span)
{
    CU_ASSERT_FATAL(tree->count < PIECES_MOST);
    tree->items[tree->count++] = span;
}

/* A tree of whole spans, each with an id of its own. */
static struct tree random_tree(struct test_random *random)
{
    static const char ids[] = "abcdefghijkl";
    static const char services[] = "ABC";
    struct tree tree = {.count = 0};
    const size_t count = 1 + test_random_below(random, SPANS_MOST);

    for (size_t i = 0; i < count; i++) {
        const uint64_t start = i == 0 ? 0 : test_random_below(random, 1000);
        struct cpti_span span = {
            .id = {&ids[i], 1},
            .service = {&services[test_random_below(random, 3)], 1},
            .kind = (unsigned char)test_random_below(random, 4),
            .has_time = true,
            .start_ns = start,
            .duration_ns = i == 0 ? 1000 : test_random_below(random, 1000 - start)};

        if (i > 0) {
            span.parent = (struct cpt_bytes){&ids[test_random_below(random, i)], 1};
        }
        add(&tree, span);
    }
    return tree;
}

/* The same spans, some of them in up to four pieces, in any order. */
static struct tree in_pieces(struct test_random *random, const struct tree *whole)
{
    struct tree pieces = {.count = 0};

    for (size_t i = 0; i < whole->count; i++) {
        const struct cpti_span *span = &whole->items[i];
        struct cpti_span begin = *span;
        struct cpti_span end = {.id = span->id, .has_duration = true};

        if (test_random_chance(random, 50)) {
            add(&pieces, *span);
            continue;
        }
        begin.has_time = false;
        begin.has_start = true;
        begin.duration_ns = 0;
        end.duration_ns = span->duration_ns;
        end.service = test_random_chance(random, 50) ? span->service : end.service;
        end.kind = test_random_chance(random, 50) ? span->kind : end.kind;
        end.parent = test_random_chance(random, 50) ? span->parent : end.parent;
        add(&pieces, begin);
        add(&pieces, end);
        if (test_random_chance(random, 30)) {
            add(&pieces, begin);
        }
        if (test_random_chance(random, 30)) {
            add(&pieces, (struct cpti_span){.id = span->id});
        }
    }
    for (size_t i = pieces.count; i > 1; i--) {
        const size_t other = test_random_below(random, i);
        const struct cpti_span span = pieces.items[i - 1];

        pieces.items[i - 1] = pieces.items[other];
        pieces.items[other] = span;
    }
    return pieces;
}

static void sections_of(const struct tree *tree, char text[SPAN_TEXT_BYTES])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;

    text[0] = '\0';
    for (size_t i = 0; i < tree->count; i++) {
        CU_ASSERT_EQUAL(cpti_spans_add(spans, &tree->items[i]), CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_count(spans) + report.joined, tree->count);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    span_list_sections(spans, text);
    cpti_spans_free(spans);
}

static void test_random_pieces(void)
{
    const uint64_t seed = test_random_seed("pieces of spans");
    const uint64_t count = test_environment_number("CPT_TEST_CASES", CASES);

    for (uint64_t i = 0; i < count; i++) {
        struct test_random random = {seed + i};
        const struct tree whole = random_tree(&random);
        const struct tree pieces = in_pieces(&random, &whole);
        char expected[SPAN_TEXT_BYTES];
        char text[SPAN_TEXT_BYTES];

        sections_of(&whole, expected);
        sections_of(&pieces, text);
        if (strcmp(text, expected) != 0) {
            printf("\nCPT_TEST_SEED=%llu CPT_TEST_CASES=1\n  got      %s\n  expected "
                   "%s\n",
                   (unsigned long long)(seed + i), text, expected);
            CU_FAIL("pieces are another tree than whole spans");
            return;
        }
    }
}

CU_TestInfo cpt_span_pieces_tests[] = {
    {"the start from one piece, the duration from another", test_start_and_duration},
    {"the start from one piece, the end from another", test_start_and_end},
    {"a whole span keeps its times", test_whole_and_piece},
    {"the sides of a call stay two", test_sides},
    {"what says that it is something else is no piece", test_others},
    {"a piece goes where its time is missing", test_best_piece},
    {"times that do not fit stay missing", test_times_that_do_not_fit},
    {"tags of all pieces together", test_tags},
    {"in pieces, a random tree is the same", test_random_pieces},
    CU_TEST_INFO_NULL,
};
