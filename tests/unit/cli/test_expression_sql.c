/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_expression_sql.c - a condition in SQL means the same as its chain of tests */
#include "tests/support/suites.h"

#include "tool/store/expression_sql.h"

#include <stdio.h>
#include <string.h>

static struct cpti_expression expression;
static struct cpti_condition_sign written[CPTI_CONDITION_SIGNS_MAX];

static void add(const char *text)
{
    struct cpti_expression_error error;

    if (!cpti_expression_add(&expression, (struct cpt_bytes){text, strlen(text)}, 0,
                             &error)) {
        CU_FAIL(error.sentence);
    }
}

/* The condition with the keys of its tests, as "a and not (b)". */
static const char *shown(int is_population)
{
    static const char *const signs[] = {
        [CPTI_SIGN_OPEN] = "(",  [CPTI_SIGN_CLOSE] = ")",  [CPTI_SIGN_AND] = " and ",
        [CPTI_SIGN_OR] = " or ", [CPTI_SIGN_NOT] = "not ",
    };
    static char text[4096];
    const size_t count = cpti_expression_write(&expression, is_population, written);
    size_t bytes = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count && bytes < sizeof text; i++) {
        const struct cpt_bytes key =
            written[i].sign == CPTI_SIGN_TEST
                ? cpti_expression_key(&expression, written[i].test)
                : cpt_bytes_of(signs[written[i].sign]);

        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%.*s",
                                  (int)key.bytes, key.data);
    }
    return text;
}

static void test_brackets_stand_where_they_must(void)
{
    expression = (struct cpti_expression){.term_count = 0};
    CU_ASSERT_STRING_EQUAL(shown(0), "");
    add("a == 1 and not (b == 2 or c == 3)");
    CU_ASSERT_STRING_EQUAL(shown(0), "a and not ((b or c))");
    add("d=4");
    add("not e == 5 or f == 6 and g == 7");
    CU_ASSERT_STRING_EQUAL(shown(0),
                           "a and not ((b or c)) and d and (not (e) or (f and g))");
}

/* Cheaper tests come first, as in the chain; a population has no percentiles. */
static void test_a_population_is_without_percentiles(void)
{
    expression = (struct cpti_expression){.term_count = 0};
    add("a == 1 and (latency > p99 or b == 2) and status == 3");
    add("latency < p50");
    CU_ASSERT_STRING_EQUAL(shown(0), "status and a and (latency or b) and latency");
    CU_ASSERT_STRING_EQUAL(shown(1), "status and a");
}

/* The largest number of tests, in as many nested brackets as possible. */
static void test_the_largest_fits(void)
{
    char text[64];
    size_t count;

    expression = (struct cpti_expression){.term_count = 0};
    for (int i = 0; i < CPTI_EXPRESSION_TERMS_MAX; i++) {
        (void)snprintf(text, sizeof text, "not a == 1 or not b == 2 or not not c == 3");
        add(text);
    }
    CU_ASSERT_EQUAL(expression.test_count, 3 * CPTI_EXPRESSION_TERMS_MAX);
    count = cpti_expression_write(&expression, 0, written);
    CU_ASSERT_TRUE(count > expression.test_count && count <= CPTI_CONDITION_SIGNS_MAX);
}

CU_TestInfo cpt_expression_sql_tests[] = {
    {"brackets are where they must be", test_brackets_stand_where_they_must},
    {"a population has no percentiles", test_a_population_is_without_percentiles},
    {"the largest fits", test_the_largest_fits},
    CU_TEST_INFO_NULL,
};
