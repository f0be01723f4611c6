/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_names.c - names as people type them, and as they fit a column */
#include "tests/support/suites.h"

#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/select/terms.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_near_misses(void)
{
    static const char *const frames[] = {"A: /",      "A: A1",
                                         "B: Lookup", "C: \u2039blind spot\u203a",
                                         "control",   "treatment"};
    struct cpti_names names = {0};

    CU_ASSERT_PTR_NULL(cpti_nearest_name("A", &names));
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        cpti_names_add(&names, frames[i]);
        cpti_names_add(&names, frames[i]);
    }
    CU_ASSERT_EQUAL(names.count, sizeof frames / sizeof frames[0]);
    CU_ASSERT_STRING_EQUAL(cpti_nearest_name("kontrol", &names), "control");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_name("lookup", &names), "B: Lookup");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_name("C: Lookup", &names), "B: Lookup");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_name("a: a1", &names), "A: A1");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_name("treat", &names), "treatment");
    CU_ASSERT_STRING_EQUAL(cpti_nearest_name("\u2039blind_spot\u203a", &names),
                           "C: \u2039blind spot\u203a");
    CU_ASSERT_PTR_NULL(cpti_nearest_name("xylophone", &names));
    CU_ASSERT_PTR_NULL(cpti_nearest_name("", &names));
    CU_ASSERT_PTR_NULL(cpti_nearest_name("7", &names));
    cpti_names_deinit(&names);
}

/* The set is bounded, and says when it is not complete. */
static void test_names_are_bounded(void)
{
    struct cpti_names names = {0};
    char name[32];

    for (int i = 0; i < CPTI_NAMES_MAX + 1; i++) {
        CU_ASSERT_FALSE(names.is_cut);
        (void)snprintf(name, sizeof name, "name %d", i);
        cpti_names_add(&names, name);
    }
    CU_ASSERT_EQUAL(names.count, CPTI_NAMES_MAX);
    CU_ASSERT_TRUE(names.is_cut);
    CU_ASSERT_TRUE(cpti_names_have(&names, "name 0"));
    CU_ASSERT_FALSE(cpti_names_have(&names, name));
    cpti_names_deinit(&names);
}

static void is_typed(const char *typed, const char *wanted)
{
    char text[128];
    const size_t bytes = cpti_name_typed(cpt_bytes_of(typed), text, sizeof text);

    CU_ASSERT_EQUAL_FATAL(bytes, strlen(wanted));
    CU_ASSERT_EQUAL(memcmp(text, wanted, bytes), 0);
}

static void test_kinds_as_typed(void)
{
    static const char zero[] = "<timeout\0\0\0\0>";
    char text[4];

    is_typed("<timeout>", "\u2039timeout\u203a");
    is_typed("B: <blind spot>", "B: \u2039blind spot\u203a");
    is_typed("B: <Blind_Spot>", "B: \u2039blind spot\u203a");
    is_typed("A: <lock: cache>", "A: \u2039lock: cache\u203a");
    is_typed("A: <off cpu>;<queue>", "A: \u2039off CPU\u203a;\u2039queue\u203a");
    is_typed("\u2039timeout\u203a", "\u2039timeout\u203a");
    /* what is no kind of ours stays */
    is_typed("", "");
    is_typed("<", "<");
    is_typed("<>", "<>");
    is_typed("<b>", "<b>");
    is_typed("<timeout", "<timeout");
    is_typed("<work>", "<work>");
    is_typed("a<<timeout>>b", "a<\u2039timeout\u203a>b");
    is_typed("<timeouts>", "<timeouts>");
    CU_ASSERT_EQUAL(
        cpti_name_typed((struct cpt_bytes){zero, sizeof zero - 1}, text, sizeof text),
        sizeof zero - 1);
    CU_ASSERT_EQUAL(cpti_name_typed(cpt_bytes_of("<queue>"), text, sizeof text), 11);
}

static void expect_shown(const char *shown, const char *name, size_t bytes)
{
    char text[64];
    const size_t found = cpti_name_shown(cpt_bytes_of(shown), text, sizeof text);

    CU_ASSERT_EQUAL(found, bytes);
    CU_ASSERT_TRUE(found != bytes || memcmp(text, name, bytes) == 0);
}

static void test_escapes_as_shown(void)
{
    char text_of_x[CPTI_TEXT_BYTES + 8];
    char room[64];

    expect_shown("a\\x3bb", "a;b", 3);
    expect_shown("a\\x5cb", "a\\b", 3);
    expect_shown("\\x00", "", 1);
    expect_shown("\\x5cx3b", "\\x3b", 4);
    expect_shown("\\xff\\x1b[2J", "\xff\033[2J", 5);
    expect_shown("\\xe2\\x80\\xae", "\u202e", 3);
    expect_shown("\\x3cb>", "<b>", 3);
    expect_shown("A: \\x3cb>", "A: <b>", 6); /* as a frame */
    expect_shown("a;b\\x1b", "a;b\033", 4);  /* as in an expression */
    expect_shown("a;b", "", 0);              /* no escape */
    expect_shown("a\\x62", "", 0);           /* nothing is shown so */
    expect_shown("a\\x3Bb", "", 0);          /* nor so */
    expect_shown("\\x3", "", 0);
    expect_shown("\\x", "", 0);
    expect_shown("\\", "", 0);
    expect_shown("\\x3cb>\\", "<b>\\", 4);
    expect_shown("", "", 0);
    memset(text_of_x, 'x', sizeof text_of_x);
    memcpy(text_of_x, "\\x3b", 4);
    text_of_x[sizeof text_of_x - 1] = '\0';
    expect_shown(text_of_x, "", 0); /* longer than what is shown */
    text_of_x[68] = '\0';
    expect_shown(text_of_x, "", 0); /* longer than the room */
    text_of_x[67] = '\0';
    CU_ASSERT_EQUAL(cpti_name_shown(cpt_bytes_of(text_of_x), room, sizeof room), 64);
}

static void expect_trace(const char *id, const char *typed, bool is_it)
{
    CU_ASSERT_EQUAL(cpti_trace_is(cpt_bytes_of(id), typed), is_it);
}

static void test_traces_as_typed(void)
{
    static const char id[] = "0af7651916cd43dd8448eb211c80319c";
    static const char upper[] = "0AF7651916CD43DD8448EB211C80319C";

    expect_trace(id, id, true);
    expect_trace(id, upper, true);
    expect_trace(id, "8448eb211c80319c", true);
    expect_trace(upper, "8448eb211c80319c", true);
    expect_trace(id, "0af7651916cd43dd", false); /* the first 16 */
    expect_trace(id, "8448eb211c80319d", false);
    expect_trace(id, "448eb211c80319c", false);
    expect_trace(id, "", false);
    expect_trace("8448eb211c80319c", "8448EB211C80319C", true);
    expect_trace("8448eb211c80319c", "00000000000000008448eb211c80319c", true);
    expect_trace("8448eb211c80319c", id, false);
    expect_trace("any text", "any text", true);
    expect_trace("any text", "8448eb211c80319c", false);
    expect_trace("x8448eb211c80319c", "8448eb211c80319c", false);
    CU_ASSERT_TRUE(cpti_is_trace(id) && cpti_is_trace("8448EB211C80319C"));
    CU_ASSERT_FALSE(cpti_is_trace("") || cpti_is_trace("12") || cpti_is_trace("any"));
    CU_ASSERT_FALSE(cpti_is_trace("8448eb211c80319") ||
                    cpti_is_trace("g448eb211c80319c"));
}

static void test_services_that_are_shown(void)
{
    char text[64];

    CU_ASSERT_STRING_EQUAL(cpti_name_below("A: A1", "A: /"), "A1");
    CU_ASSERT_STRING_EQUAL(cpti_name_below("A: A1", "B: /"), "A: A1");
    CU_ASSERT_STRING_EQUAL(cpti_name_below("A1", "A1"), "A1");
    CU_ASSERT_STRING_EQUAL(cpti_name_below("A: A1", "A"), "A: A1");
    cpti_stack_short("A: /;A: A1;B: B1;B: B2", text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "A: /;A1;B: B1;B2");
    cpti_stack_short("", text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "");
    cpti_stack_short(";;A: ;A: ", text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, ";;A: ;");
    cpti_stack_short("A: /;A: A1;B: B1;B: B2", text, 7);
    CU_ASSERT_EQUAL(strncmp(text, "A: /;A1", 6), 0);
    CU_ASSERT_EQUAL(strlen(text), 6);
}

static void is_cut(const char *text, size_t columns, const char *wanted)
{
    char cut[256];

    cpti_text_shorten(text, columns, 40, "\u2026", cut, sizeof cut);
    CU_ASSERT_STRING_EQUAL(cut, wanted);
    CU_ASSERT_TRUE(cpti_text_columns(cut) <= columns || columns == 0);
}

static void test_cut_in_the_middle(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    is_cut("recommendation", 14, "recommendation");
    is_cut("recommendation", 13, "recommen\u2026tion");
    is_cut("recommendation", 2, "r\u2026");
    is_cut("recommendation", 1, "\u2026");
    is_cut("    recommendation", 12, "    recom\u2026on");
    is_cut("            deep", 8, "    deep");
    is_cut("\u65e5\u672c\u65e5\u672c\u65e5\u672c", 7, "\u65e5\u672c\u2026\u672c");
    is_cut("", 5, "");
}

static void is_broken(const char *line, size_t columns, const char *wanted)
{
    char text[256];

    cpti_line_break(line, columns, " \\\n    ", text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, wanted);
}

static void test_lines_are_broken(void)
{
    char text[16];

    is_broken("cpt report a.cptlog", 19, "cpt report a.cptlog");
    is_broken("cpt report a.cptlog", 18, "cpt report \\\n    a.cptlog");
    is_broken("cpt log --where 'a == 1 and b' x", 20,
              "cpt log --where \\\n    'a == 1 and b' x");
    is_broken("averyveryverylongword", 10, "averyveryverylongword");
    is_broken("averyveryverylongword and", 10, "averyveryverylongword \\\n    and");
    is_broken("", 10, "");
    cpti_line_break("one two three four five six", 8, "\n", text, sizeof text);
    CU_ASSERT_TRUE(strlen(text) < sizeof text);
}

static void has_terms(const char *text, size_t count, const char *last)
{
    struct cpti_terms terms = {.count = 0};

    cpti_terms_add(&terms, cpt_bytes_of(text));
    CU_ASSERT_EQUAL_FATAL(terms.count, count);
    if (count != 0) {
        CU_ASSERT_TRUE(cpt_bytes_equal(terms.terms[count - 1], cpt_bytes_of(last)));
    }
}

static void test_terms(void)
{
    has_terms("", 0, NULL);
    has_terms("  ", 0, NULL);
    has_terms("a == 1", 1, "a == 1");
    has_terms("a == 1 and b == 2", 2, "b == 2");
    has_terms("a == 1\tand\n b", 2, "b");
    has_terms("(a and b) and c", 2, "c");
    has_terms("a == \"x and y\"", 1, "a == \"x and y\"");
    has_terms("a == \"x \\\" and y\" and c", 2, "c");
    has_terms("a == \"x\\\\\" and c", 2, "c");
    has_terms("a == 'x and y", 1, "a == 'x and y");
    has_terms("sand and land", 2, "land");
    has_terms("a and", 1, "a and");
}

CU_TestInfo cpt_names_tests[] = {
    {"a near miss is found, an unrelated name is not", test_near_misses},
    {"a set of names is bounded", test_names_are_bounded},
    {"kinds may be typed with < and >", test_kinds_as_typed},
    {"escapes may be typed as they are shown", test_escapes_as_shown},
    {"a trace may be typed by its last digits", test_traces_as_typed},
    {"a service that is shown above is left out", test_services_that_are_shown},
    {"texts are cut in the middle", test_cut_in_the_middle},
    {"command lines are broken outside of quotes", test_lines_are_broken},
    {"texts are split into terms", test_terms},
    CU_TEST_INFO_NULL,
};
