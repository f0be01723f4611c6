/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_span_explain.c - each reason for which a span is on the path, or is not */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/import/span_list.h"

#include "import/spans/span_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const words[] = {
#define WORD(name, word) [CPTI_SPAN_WHY_##name] = (word),
    CPTI_SPAN_WHY_MAP(WORD)
#undef WORD
};

/* What is said of span number @number of @lines: "word by at own+below". */
static void expect(const char *const *lines, uint32_t number, const char *expected)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    struct cpti_span_account account;
    struct cpt_bytes by = {"-", 1};
    char text[128];

    span_list_add(spans, lines);
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_explain(spans, number, &account), CPT_OK);
    if (account.by != CPTI_SPAN_NONE) {
        by = cpti_spans_at(spans, account.by)->id;
    }
    (void)snprintf(
        text, sizeof text, "%s%s%s %.*s %" PRIu64 " %" PRIu64 "+%" PRIu64 "%s",
        words[account.why], account.fate != NULL ? " " : "",
        account.fate != NULL ? account.fate : "", (int)by.bytes, by.data, account.at_ns,
        account.own_ns, account.below_ns, account.is_cut ? " cut" : "");
    if (strcmp(text, expected) != 0) {
        printf("\n  got %s, expected %s\n", text, expected);
    }
    CU_ASSERT_STRING_EQUAL(text, expected);
    cpti_spans_free(spans);
}

static void test_on_path(void)
{
    const char *const lines[] = {"a - 0 100 A: o", "b a 10 110 B: o", "c b 10 100 C: o",
                                 "d c 40 50 D: o", NULL};

    expect(lines, 0, "on_path - 0 10+90");
    expect(lines, 1, "through - 0 0+90 cut");
    expect(lines, 2, "on_path - 0 80+10");
    expect(lines, 3, "on_path - 0 10+0");
}

static void test_held(void)
{
    /* c ended last; b ended after c had begun; d is below b */
    const char *const lines[] = {"a - 0 100 A: o", "b a 10 60 B: o", "c a 50 90 C: o",
                                 "d b 20 30 D: o", "e d 21 29 E: o", NULL};

    expect(lines, 1, "held c 50 0+0");
    expect(lines, 3, "above b 0 0+0");
    expect(lines, 4, "above b 0 0+0");
    /* one that began and ended with it: ties go by id */
    expect(LINES("a - 0 100 A: o", "c a 10 60 C: o", "b a 10 60 B: o"), 1,
           "held b 10 0+0");
    /* within 1 % of the parent's time it would be cut, not passed over */
    expect(LINES("a - 0 1000 A: o", "b a 10 60 B: o", "c a 55 90 C: o"), 1,
           "on_path - 0 45+0");
}

static void test_background(void)
{
    const char *const lines[] = {"a - 0 100 A: o",    "b a 10 95 B: query",
                                 "c a 12 5000 C: o",  "d c 20 40 D: o",
                                 "e a 20 60 E: find", NULL};

    expect(lines, 1, "on_path - 0 85+0");
    expect(lines, 2, "background b 95 0+0 cut");
    expect(lines, 3, "above c 0 0+0");
    expect(lines, 4, "held b 10 0+0");
    /* of two that both outlive their parent, the other was there first */
    expect(LINES("a - 0 100 A: o", "b a 10 200 B: o", "c a 12 300 C: o"), 2,
           "held b 10 0+0 cut");
}

static void test_late(void)
{
    /* b was on the path until c began, and d began later */
    expect(
        LINES("a - 0 1000 A: o", "b a 10 60 B: o", "c a 55 90 C: o", "d b 57 59 D: o"),
        3, "late c 55 0+0");
}

static void test_dropped(void)
{
    expect(LINES("a - 0 100 A: o", "b a ? ? B: o"), 1, "dropped timeless - 0 0+0");
    expect(LINES("a - 0 100 A: o", "b a 1 2 B: o", "b a 1 2 B: o"), 2,
           "dropped duplicates - 0 0+0");
    expect(LINES("a - 0 100 A: o", "b a 1 2 B: o async"), 1,
           "dropped asynchronous - 0 0+0");
    expect(LINES("a - 0 100 A: o producer", "b a 1 2 B: o consumer"), 1,
           "dropped asynchronous - 0 0+0");
    expect(LINES("a - 0 100 A: o", "b x 1 2 B: o"), 1, "dropped orphans - 0 0+0");
    expect(LINES("a - 0 100 A: o", "b - 1 2 B: o"), 1, "dropped roots - 0 0+0");
    expect(LINES("a - 0 100 A: o", "b a 101 120 B: o"), 1, "dropped outside - 0 0+0");
    expect(LINES("a - 0 100 A: o", "b c 1 9 B: o", "c b 1 9 B: o"), 1,
           "dropped cycles - 0 0+0");
}

static void test_moment(void)
{
    expect(LINES("a - 0 100 A: o", "b a 5 5 B: o"), 1, "moment - 0 0+0");
    expect(LINES("a - 0 0 A: o"), 0, "moment - 0 0+0");
}

static void test_waits(void)
{
    const char *const lines[] = {"a - 0 100 A: / waits=2",
                                 "b a 10 20 B: x waits=0",
                                 "c a 15 50 C: x waits=0",
                                 "d a 5 30 D: x waits=0",
                                 "v a 25 26 A: wait wait=b",
                                 "w a 40 52 A: wait wait=c",
                                 NULL};

    expect(lines, 1, "there v 25 0+0");
    expect(lines, 2, "on_path - 0 35+0");
    expect(lines, 3, "not_awaited - 0 0+0");
    expect(lines, 4, "elsewhere c 26 0+0");
    expect(lines, 5, "on_path - 0 2+0");
    expect(LINES("a - 0 100 A: / waits=2", "c a 15 50 C: x", "w a 40 52 A: w wait=c"),
           2, "wait_lost - 0 0+0");
}

static void test_moved(void)
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;
    struct cpti_span_account account;

    span_list_add(spans, LINES("a - 0 20 A: get client host=x",
                               "b a 1005 1015 B: get server host=y"));
    CU_ASSERT_EQUAL(cpti_spans_resolve(spans, &report), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_walk(spans, CPTI_SPANS_EXACT), CPT_OK);
    CU_ASSERT_EQUAL(cpti_spans_explain(spans, 1, &account), CPT_OK);
    CU_ASSERT_EQUAL(account.moved_ns, 1000);
    CU_ASSERT_EQUAL(account.own_ns, 10);
    CU_ASSERT_EQUAL(cpti_spans_explain(spans, 0, &account), CPT_OK);
    CU_ASSERT_EQUAL(account.moved_ns, 0);
    cpti_spans_free(spans);
}

CU_TestInfo cpt_span_explain_tests[] = {
    {"on the path", test_on_path},
    {"held", test_held},
    {"background", test_background},
    {"late", test_late},
    {"dropped", test_dropped},
    {"moment", test_moment},
    {"waits", test_waits},
    {"moved", test_moved},
    CU_TEST_INFO_NULL,
};
