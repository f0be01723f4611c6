/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_span_path.c - sections as paths: frames, the two sides of a call, blind spots */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/import/span_list.h"

#include "cpt/cpt_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Marks of the spans that path_text() makes paths of; NULL: they are not split. */
static cpti_span_marks_fn marks_of_all;

/* The path of @lines, a segment a line. */
static void path_text(const char *const *lines, char text[SPAN_TEXT_BYTES])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    size_t bytes = 0;
    uint32_t root = 0;

    span_list_add(spans, lines);
    cpti_spans_split(spans, marks_of_all, spans);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_path(spans, path), CPT_OK);
    root = cpti_spans_root(spans);
    CU_ASSERT_EQUAL(cpt_path_check(path,
                                   cpti_spans_end_ns(spans, root) -
                                       cpti_spans_start_ns(spans, root),
                                   NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_flags(path), CPT_PATH_APPROXIMATE);
    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        bytes += cpt_path_stack_text(path, segment->frame, text + bytes,
                                     SPAN_TEXT_BYTES - bytes);
        bytes += (size_t)snprintf(text + bytes, SPAN_TEXT_BYTES - bytes,
                                  " %" PRIu64 "\n", segment->duration_ns);
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
}

static void expect(const char *const *lines, const char *expected)
{
    char text[SPAN_TEXT_BYTES];

    path_text(lines, text);
    if (strcmp(text, expected) != 0) {
        printf("\n  got\n%s  expected\n%s", text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
}

static void test_stacks(void)
{
    expect(LINES("a - 0 10 A: /", "b a 2 8 A: parse internal", "c b 4 6 A: lex"),
           "A: / 2\nA: /;A: parse 2\nA: /;A: parse;A: lex 2\nA: /;A: parse 2\n"
           "A: / 2\n");
    /* one frame for two spans of a name */
    expect(LINES("a - 0 10 A: /", "b a 2 4 A: read", "c a 5 6 A: read"),
           "A: / 2\nA: /;A: read 2\nA: / 1\nA: /;A: read 1\nA: / 4\n");
}

/* Lines of the spans of A, at the same times for all. */
static size_t marks_of_a(void *context, uint32_t number,
                         const struct cpti_span_mark **marks)
{
    static const struct cpti_span_mark all[] = {
        {2, {"a", 1}}, {30, {"b", 1}}, {30, {"c", 1}}, {85, {"d", 1}}, {100, {"e", 1}}};

    *marks = all;
    return cpti_spans_at(context, number)->service.data[0] == 'A' ? 5 : 0;
}

static void test_marks(void)
{
    marks_of_all = marks_of_a;
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: GET client",
                 "c b 20 70 B: get server", "d a 90 95 A: look internal"),
           "A: /;A: →a 2\n"
           "A: /;A: a→b 8\n"
           "A: /;B: get;B: ‹network+serialization› 10\n"
           "A: /;B: get 50\n"
           "A: /;B: get;B: ‹network+serialization› 10\n"
           "A: /;A: c→d 5\n"
           "A: /;A: d→e 5\n"
           "A: /;A: look;A: d→e 5\n"
           "A: /;A: d→e 5\n");
    /* a mark at its begin, and none before its end */
    expect(LINES("a - 2 40 A: /"), "A: /;A: a→b 28\nA: /;A: c→d 10\n");
    expect(LINES("a - 90 110 A: /"), "A: /;A: d→e 10\nA: /;A: e→ 10\n");
    marks_of_all = NULL;
}

static void test_two_sides(void)
{
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: GET client",
                 "c b 20 70 B: get server", "d c 30 40 B: look internal"),
           "A: / 10\n"
           "A: /;B: get;B: ‹network+serialization› 10\n"
           "A: /;B: get 10\n"
           "A: /;B: get;B: look 10\n"
           "A: /;B: get 30\n"
           "A: /;B: get;B: ‹network+serialization› 10\n"
           "A: / 20\n");
}

/* All attempts of a callee are in its frame. */
static void test_attempts(void)
{
    expect(LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
                 "c b 11 31 B: add server", "d b 40 85 B: add server",
                 "e d 50 60 B: find"),
           "A: / 10\n"
           "A: /;B: add;B: ‹network+serialization› 1\n"
           "A: /;B: add 20\n"
           "A: /;B: add;B: ‹network+serialization› 9\n"
           "A: /;B: add 10\n"
           "A: /;B: add;B: find 10\n"
           "A: /;B: add 25\n"
           "A: /;B: add;B: ‹network+serialization› 5\n"
           "A: / 10\n");
}

/* A client's span with anything else below it is its own service's work: no callee
 * calls another one. */
static void test_more_than_a_call(void)
{
    /* two callees, also if they began at once; two operations of one */
    expect(LINES("a - 0 100 A: / client", "b a 10 20 B: get server",
                 "c a 30 40 C: get server"),
           "A: / 10\nA: /;B: get 10\nA: / 10\nA: /;C: get 10\nA: / 60\n");
    expect(LINES("a - 0 100 A: / client", "c a 10 30 C: get server",
                 "b a 10 20 B: get server"),
           "A: / 10\nA: /;C: get 20\nA: / 70\n");
    expect(LINES("a - 0 100 A: / client", "b a 10 20 B: get server",
                 "c a 30 40 B: put server"),
           "A: / 10\nA: /;B: get 10\nA: / 10\nA: /;B: put 10\nA: / 60\n");
    /* a child of its own, also without a callee; another client's span */
    expect(LINES("a - 0 100 A: / server", "b a 10 90 A: call client @B",
                 "c b 20 30 A: encode internal", "d b 40 60 B: get server"),
           "A: / 10\nA: /;A: call 10\nA: /;A: call;A: encode 10\nA: /;A: call 10\n"
           "A: /;A: call;B: get 20\nA: /;A: call 30\nA: / 10\n");
    expect(LINES("a - 0 100 A: / server", "b a 10 90 A: call client @db",
                 "c b 20 30 A: connect internal"),
           "A: / 10\nA: /;A: call 10\nA: /;A: call;A: connect 10\nA: /;A: call 60\n"
           "A: / 10\n");
    expect(LINES("a - 0 100 A: / server", "b a 10 90 A: call client @db",
                 "c b 20 30 A: send client @db"),
           "A: / 10\nA: /;A: call 10\nA: /;A: call;db: send;db: ‹blind spot› 10\n"
           "A: /;A: call 60\nA: / 10\n");
    /* without kinds, by the name of the operation */
    expect(LINES("a - 0 100 A: /", "b a 10 80 A: get", "c b 20 30 B: get",
                 "d b 40 50 C: put"),
           "A: / 10\nA: /;A: get 10\nA: /;A: get;B: get 10\nA: /;A: get 10\n"
           "A: /;A: get;C: put 10\nA: /;A: get 30\nA: / 20\n");
}

/* The labels of the path of @lines, as "segment:depth ". */
static void expect_again(const char *const *lines, const char *expected)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    char text[256] = "";
    size_t bytes = 0;

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_path(spans, path), CPT_OK);
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        CU_ASSERT_EQUAL(label->key, CPT_LABEL_AGAIN);
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes,
                                  "%" PRIu32 ":%" PRIu64, label->segment, label->value);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    cpt_path_free(path);
    cpti_spans_free(spans);
}

/* One that begins where another one of its name ends is told apart from it. */
static void test_again(void)
{
    expect_again(LINES("a - 0 100 A: /", "b a 10 20 A: x", "c a 20 30 A: x"), "2:2");
    expect_again(LINES("a - 0 100 A: /", "b a 10 20 A: x", "c a 21 30 A: x"), "");
    expect_again(LINES("a - 0 100 A: /", "b a 10 20 A: x", "c a 20 30 A: y"), "");
    /* below others that touch; the last of one, the first of the next */
    expect_again(LINES("a - 0 100 A: /", "b a 10 20 A: x", "c b 15 20 A: y",
                       "d a 20 30 A: x", "e d 20 25 A: y"),
                 "3:2");
    /* calls, and attempts; the way to the first of these is none */
    expect_again(LINES("a - 0 100 A: / server", "b a 10 20 A: call client @db",
                       "c a 20 30 A: call client @db"),
                 "2:2");
    expect_again(LINES("a - 0 100 A: / server", "b a 10 90 A: call client",
                       "c b 20 30 B: get server", "d b 30 40 B: get server",
                       "e b 50 60 B: get server"),
                 "3:2");
}

/* Who called is the service of the frame above: another one has a frame of its own. */
static void test_callers_of_another_service(void)
{
    expect(LINES("a - 0 100 A: / server", "b a 10 90 C: call client",
                 "c b 20 80 B: get server"),
           "A: / 10\nA: /;C: call 10\nA: /;C: call;B: get 60\nA: /;C: call 10\n"
           "A: / 10\n");
    expect(LINES("a - 0 100 A: / server", "b a 10 90 C: call client @db"),
           "A: / 10\nA: /;C: call;C: ‹blind spot› 80\nA: / 10\n");
    expect(LINES("a - 0 100 A: /", "b a 10 90 C: get", "c b 20 80 B: get"),
           "A: / 10\nA: /;C: get 10\nA: /;C: get;B: get 60\nA: /;C: get 10\n"
           "A: / 10\n");
}

/* A span without a time is passed over: it is no frame either. */
static void test_without_time(void)
{
    expect(LINES("a - 0 10 A: /", "b a ? ? A: lost", "c b 2 8 A: read"),
           "A: / 2\nA: /;A: read 6\nA: / 2\n");
    expect(LINES("a - 0 10 A: /", "b a ? ? A: get client", "c b 2 8 B: get server"),
           "A: / 2\nA: /;B: get 6\nA: / 2\n");
}

/* Old tracers say nothing of sides, but name both alike. */
static void test_two_sides_by_name(void)
{
    expect(LINES("a - 0 100 A: /", "b a 10 80 A: get", "c b 20 70 B: get"),
           "A: / 10\n"
           "A: /;B: get;B: ‹network+serialization› 10\n"
           "A: /;B: get 50\n"
           "A: /;B: get;B: ‹network+serialization› 10\n"
           "A: / 20\n");
    expect(LINES("a - 0 100 A: /", "b a 10 80 B: get"),
           "A: / 10\nA: /;B: get 70\nA: / 20\n");
}

/* Others name the client's side after the protocol. Each call is a frame of its own. */
static void test_two_sides_by_shape(void)
{
    expect(LINES("a - 0 100 A: /", "b a 10 40 A: HTTP", "c b 20 30 B: /get",
                 "d a 50 80 A: HTTP", "e d 60 70 C: /put"),
           "A: / 10\n"
           "A: /;B: /get;B: ‹network+serialization› 10\n"
           "A: /;B: /get 10\n"
           "A: /;B: /get;B: ‹network+serialization› 10\n"
           "A: / 10\n"
           "A: /;C: /put;C: ‹network+serialization› 10\n"
           "A: /;C: /put 10\n"
           "A: /;C: /put;C: ‹network+serialization› 10\n"
           "A: / 20\n");
    /* neither work with two callees nor the first span of a service is a call */
    expect(LINES("a - 0 100 A: /", "b a 10 80 A: do", "c b 20 30 B: get",
                 "d b 40 50 C: put"),
           "A: / 10\nA: /;A: do 10\nA: /;A: do;B: get 10\nA: /;A: do 10\n"
           "A: /;A: do;C: put 10\nA: /;A: do 30\nA: / 20\n");
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: do internal",
                 "c b 20 30 B: get server"),
           "A: / 10\nA: /;A: do 10\nA: /;A: do;B: get 10\nA: /;A: do 50\n"
           "A: / 20\n");
}

static void test_blind_spots(void)
{
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: SELECT client @db"),
           "A: / 10\nA: /;db: SELECT;db: ‹blind spot› 70\nA: / 20\n");
    expect(LINES("a - 0 100 A: / server", "b a 10 80 A: SELECT client"),
           "A: / 10\nA: /;A: SELECT;A: ‹blind spot› 70\nA: / 20\n");
}

static void test_names(void)
{
    struct cpti_span span = {.id = cpt_bytes_of("a"),
                             .operation = cpt_bytes_of("get"),
                             .duration_ns = 5,
                             .has_time = true};
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    static char large[100000];
    char text[1024];

    (void)cpti_spans_add(spans, &span);
    (void)cpti_spans_resolve(spans, &report);
    (void)cpti_spans_walk(spans, CPTI_SPANS_EXACT);
    (void)cpti_spans_path(spans, path);
    (void)cpt_path_frame_text(path, 0, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "unknown: get");

    memset(large, 'x', sizeof large);
    span.service = (struct cpt_bytes){large, sizeof large};
    span.operation = span.service;
    cpti_spans_reset(spans);
    cpt_path_reset(path);
    (void)cpti_spans_add(spans, &span);
    (void)cpti_spans_resolve(spans, &report);
    (void)cpti_spans_walk(spans, CPTI_SPANS_EXACT);
    CU_ASSERT_EQUAL(cpti_spans_path(spans, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 5, NULL), CPT_OK);
    cpt_path_free(path);
    cpti_spans_free(spans);
}

/* Deeper than stacks can be: names are lost, never time; and it takes no long. */
static void test_deep(void)
{
    enum { SPANS = 100000, ID_BYTES = 8 };
    static char ids[SPANS][ID_BYTES];
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;

    for (int i = 0; i < SPANS; i++) {
        const struct cpti_span span = {
            .id = {ids[i], ID_BYTES - 1},
            .parent = {ids[i == 0 ? 0 : i - 1], i == 0 ? 0 : ID_BYTES - 1},
            .service = cpt_bytes_of("A"),
            .operation = {ids[i], ID_BYTES - 1},
            .start_ns = (uint64_t)i,
            .duration_ns = 2 * (uint64_t)(SPANS - i),
            .kind = i % 2 == 0 ? CPTI_SPAN_CLIENT : CPTI_SPAN_SERVER,
            .has_time = true};

        (void)snprintf(ids[i], ID_BYTES, "%07u", (unsigned)i % 10000000);
        (void)cpti_spans_add(spans, &span);
    }
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_path(spans, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 2 * SPANS, NULL), CPT_OK);
    cpt_path_free(path);
    cpti_spans_free(spans);
}

static bool path_over(const struct cpt_alloc *alloc)
{
    static const char *const lines[] = {"a - 0 100 A: / server",
                                        "b a 10 80 A: GET client", NULL};

    return span_list_makes(alloc, lines, cpti_spans_path);
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(path_over);
}

CU_TestInfo cpt_span_path_tests[] = {
    {"stacks", test_stacks},
    {"own time split at lines", test_marks},
    {"two sides", test_two_sides},
    {"attempts", test_attempts},
    {"more than a call", test_more_than_a_call},
    {"again", test_again},
    {"callers of another service", test_callers_of_another_service},
    {"without time", test_without_time},
    {"two sides by name", test_two_sides_by_name},
    {"two sides by shape", test_two_sides_by_shape},
    {"blind spots", test_blind_spots},
    {"names", test_names},
    {"deep", test_deep},
    {"survives no memory", test_survives_no_memory},
    CU_TEST_INFO_NULL,
};
