/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_output.c - text fitted to a width, times as text */
#include "tests/support/suites.h"

#include "tool/base/output.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static void test_columns(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    CU_ASSERT_EQUAL(cpti_text_columns(""), 0);
    CU_ASSERT_EQUAL(cpti_text_columns("B: \u2039blind spot\u203a"), 15);
    CU_ASSERT_EQUAL(cpti_text_columns("\u65e5\u672c"), 4); /* wide */
    CU_ASSERT_EQUAL(cpti_text_columns("e\u0301"), 1);      /* combining */
    CU_ASSERT_EQUAL(cpti_text_fit("abc", 2), 2);
    CU_ASSERT_EQUAL(cpti_text_fit("abc", 3), 3);
    CU_ASSERT_EQUAL(cpti_text_fit("abc", 9), 3);
    CU_ASSERT_EQUAL(cpti_text_fit("\u203aab", 1), 3);
    CU_ASSERT_EQUAL(cpti_text_fit("\u65e5\u672c", 3), 3);
    CU_ASSERT_EQUAL(cpti_text_fit("\u65e5", 1), 0);
}

static void test_columns_given(void)
{
    (void)setenv("COLUMNS", "100", 1);
    CU_ASSERT_EQUAL(cpti_columns(), 100);
    (void)setenv("COLUMNS", "3", 1);
    CU_ASSERT_EQUAL(cpti_columns(), 40);
    (void)setenv("COLUMNS", "99999999", 1);
    CU_ASSERT_EQUAL(cpti_columns(), 4096);
    (void)unsetenv("COLUMNS");
}

static void test_times(void)
{
    char text[64];

    CU_ASSERT_STRING_EQUAL(cpti_ms(12345678, text), "12.346");
    CU_ASSERT_STRING_EQUAL(cpti_ms(0, text), "0.000");
    CU_ASSERT_STRING_EQUAL(cpti_ms(-1, text), "0.000");
    CU_ASSERT_STRING_EQUAL(cpti_ms(-1e6, text), "-1.000");
    CU_ASSERT_STRING_EQUAL(cpti_utc(0, text), "1970-01-01T00:00:00.000000000Z");
    CU_ASSERT_STRING_EQUAL(cpti_utc(INT64_MAX, text), "2262-04-11T23:47:16.854775807Z");
}

static void test_wrapping(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    char word[120];

    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cpti_print_wrapped(file, 2, "one two\n\n  kept as it is\nlast");
    cpti_print_wrapped(file, 70, "four words go here");
    cpti_print_wrapped(file, 0, word);
    (void)fclose(file);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  one two\n\n    kept as it is\n  last\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " four\n"));
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        CU_ASSERT_TRUE(strcspn(line, "\n") <= 78);
    }
    free(text);
}

static void test_quoting(void)
{
    const char *first = cpti_quoted("a\033[2Jb");

    CU_ASSERT_STRING_EQUAL(first, "a\\x1b[2Jb");
    (void)cpti_quoted("x");
    (void)cpti_quoted("y");
    (void)cpti_quoted("z");
    CU_ASSERT_STRING_EQUAL(first, "a\\x1b[2Jb"); /* valid until the fifth */
}

CU_TestInfo cpt_output_tests[] = {
    {"columns are what a terminal uses, not bytes", test_columns},
    {"COLUMNS is respected within limits", test_columns_given},
    {"times are in ms, points in time in UTC", test_times},
    {"paragraphs are wrapped, other lines kept", test_wrapping},
    {"quoted text holds no control byte", test_quoting},
    CU_TEST_INFO_NULL,
};
