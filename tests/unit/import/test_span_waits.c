/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_span_waits.c - spans that tell their waits
 *
 * Random requests are run by a small model of a program, which writes down what it
 * does; the expected path comes out of that by the definition in docs/model.md, instant
 * by instant. Links that lie only have to keep the sections together.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/span_list.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { CASES = 2000, SPANS = 60, IDS = SPANS + 1, TIME = 4000, ID_BYTES = 3 };

static void expect(const char *const *lines, bool is_exact, const char *expected)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    char text[SPAN_TEXT_BYTES];

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    for (int i = 0; i < 2; i++) { /* a second walk finds the same */
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
        CU_ASSERT_EQUAL(cpti_spans_is_exact(spans), is_exact);
        span_list_sections(spans, text);
        if (strcmp(text, expected) != 0) {
            printf("\n  got      %s\n  expected %s\n", text, expected);
        }
        CU_ASSERT_STRING_EQUAL(text, expected);
    }
    CU_ASSERT_EQUAL(cpti_spans_path(spans, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_flags(path), is_exact ? 0 : CPT_PATH_APPROXIMATE);
    cpt_path_free(path);
    cpti_spans_free(spans);
}

static void test_call(void)
{
    /* A computed while C ran, then waited for it, and went on a little later */
    expect(LINES("a - 0 100 A: / waits=1", "c a 10 50 C: get waits=0",
                 "w a 30 52 A: wait wait=c"),
           true, "a 0-10, c 10-50, w 50-52, a 52-100");
    /* without the wait the child would have all of its time */
    expect(LINES("a - 0 100 A: /", "c a 10 50 C: get"), false,
           "a 0-10, c 10-50, a 50-100");
    /* C was there before A waited for it, or was never waited for */
    expect(LINES("a - 0 100 A: / waits=1", "c a 10 50 C: get waits=0",
                 "w a 50 51 A: wait wait=c"),
           true, "a 0-50, w 50-51, a 51-100");
    expect(LINES("a - 0 100 A: / waits=0", "c a 10 50 C: get"), true, "a 0-100");
    /* a wait for nothing that has a span */
    expect(LINES("a - 0 100 A: / waits=1", "w a 30 52 A: lock wait="), true,
           "a 0-30, w 30-52, a 52-100");
    /* the two sides of a call */
    expect(LINES("a - 0 100 A: / waits=1", "c a 10 50 A: get client",
                 "s c 20 40 C: get server waits=0", "w a 30 52 A: wait wait=c"),
           true, "a 0-10, c 10-20, s 20-40, c 40-50, w 50-52, a 52-100");
}

static void test_not_told(void)
{
    /* one of two waits was lost; then it is a span like any other, less the waits */
    expect(LINES("a - 0 100 A: / waits=2", "c a 10 50 C: get waits=0",
                 "w a 30 52 A: wait wait=c"),
           false, "a 0-10, c 10-50, a 50-100");
    /* the callee tells nothing, is missing, was cut */
    expect(
        LINES("a - 0 100 A: / waits=1", "c a 10 50 C: get", "w a 30 52 A: wait wait=c"),
        false, "a 0-10, c 10-50, w 50-52, a 52-100");
    expect(LINES("a - 0 100 A: / waits=1", "w a 30 52 A: wait wait=c"), false,
           "a 0-30, w 30-52, a 52-100");
    expect(LINES("a - 0 100 A: / waits=1", "c a 50 120 C: get waits=0",
                 "w a 60 100 A: wait wait=c"),
           false, "a 0-50, c 50-100");
    /* other tools know no waits */
    char text[SPAN_TEXT_BYTES];

    (void)span_list_walk(
        LINES("a - 0 100 A: / waits=1", "c a 10 50 C: get", "w a 30 52 A: wait wait=c"),
        CPTI_SPANS_JAEGER_UI, text);
    CU_ASSERT_STRING_EQUAL(text, "a 0-30, w 30-52, a 52-100");
}

/* Tasks that begin one after the other, and wait for calls of each other. */
static void test_tasks(void)
{
    /* x ended when y began; z is faster, but ended later than x */
    expect(LINES("a - 0 100 A: / waits=1", "x a 0 40 A: x waits=0",
                 "z a 0 41 A: z waits=0", "y a 42 90 A: y waits=0 after=x",
                 "w a 0 90 A: wait wait=y"),
           true, "x 0-40, a 40-42, y 42-90, a 90-100");
    /* y waits for a call that x began: the path goes on in x */
    expect(LINES("a - 0 100 A: / waits=1", "x a 5 40 A: x waits=0",
                 "c x 20 70 C: get waits=0", "y a 45 90 A: y waits=1 after=z",
                 "z a 0 45 A: z waits=0", "v y 50 72 A: wait wait=c",
                 "w a 0 90 A: wait wait=y"),
           true, "w 0-5, x 5-20, c 20-70, v 70-72, y 72-90, a 90-100");
}

/* Frames of waits. */
static void test_frames(void)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpti_spans_report report;
    char text[256];
    static const char *const expected[] = {
        "A: /",        "A: /;A: ‹lock›",  "A: /;A: sleep",
        "A: /;C: get", "A: /;A: ‹queue›", "A: /"};

    span_list_add(spans, LINES("a - 0 100 A: / waits=3", "c a 40 50 C: get waits=0",
                               "u a 10 20 A: lock wait=", "v a 20 40 A: sleep wait=",
                               "w a 40 52 A: wait wait=c"));
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_path(spans, path), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_path_segment_count(path), 6);
    for (size_t i = 0; i < 6; i++) {
        (void)cpt_path_stack_text(path, cpt_path_segment(path, i)->frame, text,
                                  sizeof text);
        if (strcmp(text, expected[i]) != 0) {
            printf("\n  got %s, expected %s\n", text, expected[i]);
        }
        CU_ASSERT_STRING_EQUAL(text, expected[i]);
    }
    cpt_path_free(path);
    cpti_spans_free(spans);
}

/* --- A program that is run --- */

struct program {
    struct test_random *random;
    struct cpti_span spans[SPANS];
    int target[SPANS]; /* of a wait, or -1 */
    int parent[SPANS];
    char ids[IDS][ID_BYTES + 1];
    unsigned char owner[TIME];
    int count;
};

static int add(struct program *program, int parent, uint64_t start)
{
    const int number = program->count++;

    program->parent[number] = parent;
    program->target[number] = -1;
    program->spans[number] = (struct cpti_span){.id = {program->ids[number], ID_BYTES},
                                                .start_ns = start,
                                                .has_time = true,
                                                .tells_waits = true};
    if (parent >= 0) {
        program->spans[number].parent = program->spans[parent].id;
    }
    return number;
}

/* Runs a function below @parent from @now on; it computes, begins calls, and waits for
 * some of them, or for nothing. When it ended. */
static uint64_t run(struct program *program, int parent, uint64_t now, int depth)
{
    const int own = add(program, parent, now);
    int calls[4];
    uint64_t ends[4];
    int open = 0;

    for (uint64_t step = test_random_below(program->random, 6); step > 0; step--) {
        now += test_random_below(program->random, 12);
        if (depth > 0 && open < 4 && program->count < SPANS - 20 &&
            test_random_chance(program->random, 50)) {
            calls[open] = program->count;
            ends[open++] = run(program, own, now, depth - 1);
        } else if (open > 0 && program->count < SPANS - 8) {
            /* the wait ends when the reply has come and a worker is free */
            const int wait = add(program, own, now);
            const uint64_t end = ends[--open];

            program->target[wait] = calls[open];
            program->spans[wait].is_wait = true;
            program->spans[wait].link = program->spans[calls[open]].id;
            now = (end > now ? end : now) + test_random_below(program->random, 3);
            program->spans[wait].duration_ns = now - program->spans[wait].start_ns;
            program->spans[own].wait_count++;
        }
    }
    for (int i = 0; i < open; i++) { /* it does not wait, but they have ended */
        now = ends[i] > now ? ends[i] : now;
    }
    now += test_random_below(program->random, 10);
    program->spans[own].duration_ns = now - program->spans[own].start_ns;
    return now;
}

static void own(struct program *program, int span, uint64_t from, uint64_t to)
{
    for (uint64_t t = from; t < to; t++) {
        program->owner[t] = (unsigned char)span;
    }
}

static uint64_t end_of(const struct program *program, int span)
{
    return program->spans[span].start_ns + program->spans[span].duration_ns;
}

/* docs/model.md: the latest wait that ended before the cursor, and what it was for. */
static void walk(struct program *program, int span, uint64_t cursor)
{
    for (;;) {
        int last = -1;

        for (int i = 0; i < program->count; i++) {
            if (program->parent[i] == span && program->spans[i].is_wait &&
                end_of(program, i) <= cursor && program->spans[i].duration_ns > 0 &&
                (last < 0 || end_of(program, i) > end_of(program, last))) {
                last = i;
            }
        }
        if (last < 0) {
            own(program, span, program->spans[span].start_ns, cursor);
            return;
        }
        const int call = program->target[last];
        const uint64_t arrival = end_of(program, call);
        const uint64_t block = program->spans[last].start_ns;

        own(program, span, end_of(program, last), cursor);
        if (arrival <= block || program->spans[call].duration_ns == 0) {
            own(program, last, block, end_of(program, last));
            cursor = block;
        } else {
            own(program, last, arrival, end_of(program, last));
            walk(program, call, arrival);
            cursor = program->spans[call].start_ns;
        }
    }
}

static bool equals(const struct program *program, const struct cpti_spans *spans)
{
    uint64_t at = 0;

    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);

        if (section->start_ns != at) {
            return false;
        }
        for (; at < section->end_ns; at++) {
            if (program->owner[at] != section->span) {
                return false;
            }
        }
    }
    return at == program->spans[0].duration_ns;
}

static void name(struct program *program)
{
    for (int i = 0; i < IDS; i++) {
        (void)snprintf(program->ids[i], sizeof program->ids[i], "%03u",
                       (unsigned)i % 1000);
    }
}

static void test_programs(void)
{
    const uint64_t seed = test_random_seed("programs that tell their waits");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct program program = {.random = &random};
        struct cpti_spans_report report;
        uint64_t end = 0;

        name(&program);
        end = run(&program, -1, 0, 3);
        CU_ASSERT_TRUE_FATAL(end < TIME && program.count <= SPANS);
        walk(&program, 0, end);
        cpti_spans_reset(spans);
        for (int k = 0; k < program.count; k++) {
            CU_ASSERT_EQUAL(cpti_spans_add(spans, &program.spans[k]), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL(report.dropped + report.clipped, 0);
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
        CU_ASSERT_TRUE(cpti_spans_is_exact(spans));
        if (!equals(&program, spans)) {
            char text[SPAN_TEXT_BYTES];

            span_list_sections(spans, text);
            printf("\n  seed %llu: %s\n", (unsigned long long)(seed + i), text);
            CU_FAIL("not as the program ran");
            break;
        }
    }
    cpti_spans_free(spans);
}

/* Any links between any spans: the walk ends, and the sections tile the root. */
static void test_lies(void)
{
    const uint64_t seed = test_random_seed("links that lie");
    const uint64_t cases = test_case_count(CASES);
    struct cpti_spans *spans = cpti_spans_new(NULL);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct program program = {.random = &random};
        struct cpti_spans_report report;
        uint64_t at = 0;

        name(&program);
        (void)run(&program, -1, 0, 3);
        cpti_spans_reset(spans);
        for (int k = 0; k < program.count; k++) {
            struct cpti_span *span = &program.spans[k];

            if (test_random_chance(&random, 50)) {
                span->link = (struct cpt_bytes){
                    program
                        .ids[test_random_below(&random, (uint64_t)program.count + 1)],
                    ID_BYTES};
            }
            if (k > 0 && test_random_chance(&random, 20)) {
                span->start_ns = test_random_below(&random, TIME / 40);
                span->duration_ns = test_random_below(&random, TIME / 40);
            }
            span->has_time = k == 0 || !test_random_chance(&random, 3);
            CU_ASSERT_EQUAL(cpti_spans_add(spans, span), CPT_OK);
        }
        CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
        for (size_t k = 0; k < cpti_spans_section_count(spans); k++) {
            const struct cpti_section *section = cpti_spans_section(spans, k);

            if (section->start_ns != at || section->end_ns <= at) {
                printf("\n  seed %llu\n", (unsigned long long)(seed + i));
                CU_FAIL_FATAL("a gap");
            }
            at = section->end_ns;
        }
        CU_ASSERT_EQUAL(at, cpti_spans_end_ns(spans, 0));
    }
    cpti_spans_free(spans);
}

/* Two spans that wait for each other's many children in turn: the work stays bounded,
 * and links are then no longer followed. */
static void test_ping_pong(void)
{
    enum { TURNS = 20000 };
    static char ids[2 * TURNS + 2][8];
    static struct cpti_span all[4 * TURNS + 3];
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    uint64_t at = 0;

    for (size_t i = 0; i < 2 * TURNS + 2; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "%06zu", i % 1000000);
    }
    all[0] = (struct cpti_span){.id = {"root", 4}, .duration_ns = 8 * TURNS};
    for (size_t k = 0; k < 2; k++) { /* p and q */
        all[1 + k] = (struct cpti_span){.id = {k == 0 ? "p" : "q", 1},
                                        .parent = all[0].id,
                                        .duration_ns = 8 * TURNS,
                                        .tells_waits = true,
                                        .wait_count = TURNS};
    }
    for (size_t i = 0; i < 2 * TURNS; i++) {
        /* in turn a call of p that q waits for, and one of q that p waits for */
        all[3 + 2 * i] = (struct cpti_span){.id = {ids[i], 6},
                                            .parent = all[1 + i % 2].id,
                                            .start_ns = 4 * i,
                                            .duration_ns = 3};
        all[4 + 2 * i] = (struct cpti_span){.id = {"", 0},
                                            .parent = all[2 - i % 2].id,
                                            .start_ns = 4 * i + 1,
                                            .duration_ns = 2,
                                            .is_wait = true,
                                            .link = {ids[i], 6}};
    }
    for (size_t i = 0; i < 4 * TURNS + 3; i++) {
        static char wait_ids[4 * TURNS + 3][9];

        if (all[i].is_wait) {
            (void)snprintf(wait_ids[i], sizeof wait_ids[i], "w%06zu", i % 1000000);
            all[i].id = (struct cpt_bytes){wait_ids[i], 7};
        }
        all[i].has_time = true;
        CU_ASSERT_EQUAL(cpti_spans_add(spans, &all[i]), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(report.dropped, 0);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_FALSE(cpti_spans_is_exact(spans));
    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        CU_ASSERT_EQUAL(cpti_spans_section(spans, i)->start_ns, at);
        at = cpti_spans_section(spans, i)->end_ns;
    }
    CU_ASSERT_EQUAL(at, 8 * TURNS);
    cpti_spans_free(spans);
}

CU_TestInfo cpt_span_waits_tests[] = {
    {"call", test_call},           {"not told", test_not_told}, {"tasks", test_tasks},
    {"frames", test_frames},       {"programs", test_programs}, {"lies", test_lies},
    {"ping-pong", test_ping_pong}, CU_TEST_INFO_NULL,
};
