/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_span_all.c - all visits of a trace, on the path or not
 *
 * A service stands a nanosecond longer at its beginning, and behind each span below it,
 * so that visits stay apart.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include "cpt/cpt_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { CASES = 500, SPANS = 36, LINE_BYTES = 64, TIME = 1000 };

/* Writes all visits of @lines to @text, unless that is NULL, a line each. The longest
 * segment. */
static uint64_t visits_of(const char *const *lines, char *text)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    uint64_t longest = 0;
    size_t bytes = 0;

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_all(spans, path), CPT_OK);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        longest = segment->duration_ns > longest ? segment->duration_ns : longest;
        if (text != NULL) {
            bytes += cpt_path_stack_text(path, segment->frame, text + bytes,
                                         SPAN_TEXT_BYTES - bytes);
            bytes += (size_t)snprintf(text + bytes, SPAN_TEXT_BYTES - bytes,
                                      " %" PRIu64 "\n", segment->duration_ns);
        }
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
    return longest;
}

static void expect(const char *const *lines, const char *expected)
{
    char text[SPAN_TEXT_BYTES] = "";

    (void)visits_of(lines, text);
    if (strcmp(text, expected) != 0) {
        printf("\n  got\n%s  expected\n%s", text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
}

/* Writes what the labels of all visits of @lines say to @text. */
static void labels_of(const char *const *lines, char text[SPAN_TEXT_BYTES])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    size_t bytes = 0;

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_all(spans, path), CPT_OK);
    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        if (label->key == CPT_LABEL_BEGIN) {
            bytes += (size_t)snprintf(text + bytes, SPAN_TEXT_BYTES - bytes,
                                      "%" PRIu32 "@%" PRIu64 " ", label->segment,
                                      label->value);
        } else if (label->key == CPT_LABEL_STATUS) {
            bytes += (size_t)snprintf(text + bytes, SPAN_TEXT_BYTES - bytes,
                                      "%" PRIu32 "! ", label->segment);
        }
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
}

/* When each call began and ended, and what failed: of B, 10 to 80, of C, 10 to 90. */
static void test_labels(void)
{
    char text[SPAN_TEXT_BYTES];

    labels_of(LINES("a - 5 100 A: / server", "b a 15 80 A: get client",
                    "c b 20 70 B: get server failed", "d a 15 90 A: get client failed",
                    "e d 20 85 C: get server", "i c 30 40 B: work internal failed"),
              text);
    /* A, C's call, C, A, B's call, B, work, B, A */
    CU_ASSERT_STRING_EQUAL(text, "1@10 1! 3@85 4@10 5! 8@75 ");
}

/* Calls side by side have all of their time, whether the path goes through them. */
static void test_side_by_side(void)
{
    expect(LINES("a - 0 100 A: / server", "x a 10 60 X: get server",
                 "y a 10 90 Y: get server"),
           "A: / 21\nA: /;Y: get 81\nA: / 1\nA: /;X: get 51\nA: / 1\n");
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: get client",
                 "c b 20 70 B: get server", "d a 10 90 A: get client",
                 "e d 20 85 C: get server"),
           "A: / 21\n"
           "A: /;C: get;C: ‹network+serialization› 16\nA: /;C: get 66\nA: / 1\n"
           "A: /;B: get;B: ‹network+serialization› 21\nA: /;B: get 51\nA: / 1\n");
}

/* A span that is beside the call which its service waits for has no time of that. */
static void test_beside_a_call(void)
{
    expect(LINES("a - 0 100 A: / server", "h a 5 95 A: handle internal",
                 "b a 10 80 A: get client", "c b 20 70 B: get server"),
           "A: / 11\nA: /;A: handle 21\nA: / 1\n"
           "A: /;B: get;B: ‹network+serialization› 21\nA: /;B: get 51\nA: / 1\n");
    /* also of a call that another span below makes, and of one without a callee */
    expect(LINES("a - 0 100 A: / server", "h a 0 100 A: handle internal",
                 "i a 10 90 A: send internal", "c i 20 70 B: get server"),
           "A: / 1\nA: /;A: handle 51\nA: / 1\nA: /;A: send 31\n"
           "A: /;A: send;B: get 51\nA: /;A: send 1\nA: / 1\n");
    expect(LINES("a - 0 100 A: / server", "h a 0 100 A: handle internal",
                 "b a 20 70 A: get client @db"),
           "A: / 1\nA: /;A: handle 51\nA: / 1\n"
           "A: /;db: get;db: ‹blind spot› 51\nA: / 1\n");
    /* but not of what the callee waits for, which runs by itself */
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: get client",
                 "c b 20 70 A: get server"),
           "A: / 31\nA: /;A: get;A: ‹network+serialization› 21\nA: /;A: get 51\n"
           "A: / 1\n");
}

/* Whatever the tree, no span has more time than the request. */
static void test_bounds(void)
{
    static const char *const kinds[] = {"client", "server", "internal", "async"};
    static const char ids[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const uint64_t seed = test_random_seed("span all");
    char texts[SPANS][LINE_BYTES];
    const char *lines[SPANS + 1] = {NULL};

    for (uint64_t number = 0; number < CASES; number++) {
        struct test_random random = {seed + number};

        (void)snprintf(texts[0], LINE_BYTES, "a - 0 %d A: / server", TIME);
        for (size_t i = 1; i < SPANS; i++) {
            const uint64_t start = test_random_below(&random, TIME);

            (void)snprintf(texts[i], LINE_BYTES,
                           "%c %c %" PRIu64 " %" PRIu64 " %c: %c %s", ids[i],
                           ids[test_random_below(&random, i)], start,
                           start + test_random_below(&random, TIME),
                           (char)('A' + test_random_below(&random, 3)),
                           (char)('x' + test_random_below(&random, 3)),
                           kinds[test_random_below(&random, 4)]);
        }
        for (size_t i = 0; i < SPANS; i++) {
            lines[i] = texts[i];
        }
        CU_ASSERT_TRUE(visits_of(lines, NULL) <= TIME + SPANS);
    }
}

/* The label of segment @segment with a host, or "". */
static const char *host_at(const struct cpt_path *path, size_t segment)
{
    static char text[16];

    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);
        struct cpt_bytes host;

        if (label->segment == segment && label->key == CPT_LABEL_HOST) {
            host = cpt_path_name(path, (cpt_name_id)label->value);
            (void)snprintf(text, sizeof text, "%.*s", (int)host.bytes, host.data);
        }
    }
    return text;
}

/* A visit says where it ran in its first segment, be that of the client's side: the two
 * of B are one frame. What is not known, or only the caller saw, says nothing. */
static void test_hosts(void)
{
    static const char *const lines[] = {
        "a - 0 100 A: / server host=h1",       "i a 1 5 A: look internal host=h1",
        "b a 10 30 A: get client host=h1",     "c b 12 28 B: get server host=h2",
        "d a 40 60 A: get client host=h1",     "e d 42 58 B: get server host=h3",
        "f a 70 75 A: ask client @db host=h1", "g a 80 85 C: put server",
        "j a 90 95 D: put server host=h4",     NULL};
    /* A; D; A; C; A; db; A; to B; B; A; to B; B; A; A: look; A */
    static const char *const hosts[] = {"h1", "h4", "",   "", "", "", "", "h3",
                                        "",   "",   "h2", "", "", "", ""};
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL_FATAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_all(spans, path), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_path_segment_count(path), sizeof hosts / sizeof hosts[0]);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        CU_ASSERT_STRING_EQUAL(host_at(path, i), hosts[i]);
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
}

static bool all_over(const struct cpt_alloc *alloc)
{
    static const char *const lines[] = {"a - 0 100 A: / server",
                                        "b a 10 80 B: get server host=h", NULL};

    return span_list_makes(alloc, lines, cpti_spans_all);
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(all_over);
}

CU_TestInfo cpt_span_all_tests[] = {
    {"side by side", test_side_by_side},
    {"beside a call", test_beside_a_call},
    {"labels", test_labels},
    {"bounds", test_bounds},
    {"hosts of visits", test_hosts},
    {"survives no memory", test_survives_no_memory},
    CU_TEST_INFO_NULL,
};
