/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_whatif_inside.c - in which operations spans are */
#include "tool/whatif/whatif_inside.h"

#include "tests/support/suites.h"

#include <stdio.h>
#include <string.h>

static void add(struct cpti_whatif_inside *inside, const char *name,
                const char *operation)
{
    cpti_whatif_inside_add(inside, cpt_bytes_of(name), cpt_bytes_of(operation));
}

static void expect(const struct cpti_whatif_inside *inside, size_t index,
                   const char *name, const char *operation, bool has_others)
{
    struct cpt_bytes of = {NULL, 0};
    bool is_in_others = !has_others;
    const struct cpt_bytes own =
        cpti_whatif_inside_at(inside, index, &of, &is_in_others);

    CU_ASSERT_TRUE(cpt_bytes_equal(own, cpt_bytes_of(name)));
    CU_ASSERT_TRUE(cpt_bytes_equal(of, cpt_bytes_of(operation)));
    CU_ASSERT_EQUAL(is_in_others, has_others);
}

static void test_several(void)
{
    static const char *const operations[] = {"A: b", "A: a", "A: c", "A: a"};
    struct cpti_whatif_inside inside = {0};

    CU_ASSERT_EQUAL(cpti_whatif_inside_count(&inside), 0);
    for (size_t i = 0; i < 4; i++) {
        add(&inside, "A: x", operations[i]);
    }
    add(&inside, "A: y", "A: c");
    add(&inside, "A: y", "A: c");
    CU_ASSERT_EQUAL_FATAL(cpti_whatif_inside_count(&inside), 2);
    expect(&inside, 0, "A: x", "A: a", true);
    expect(&inside, 1, "A: y", "A: c", false);
    cpti_whatif_inside_deinit(&inside);
}

/* Those that are known still learn of operations that are. */
static void test_limit(void)
{
    struct cpti_whatif_inside inside = {0};
    char name[32];

    for (int i = 0; i < CPTI_WHATIF_INSIDE_MAX + 1; i++) {
        (void)snprintf(name, sizeof name, "A: %d", i);
        add(&inside, name, "A: op");
        CU_ASSERT_EQUAL(cpti_whatif_inside_count(&inside),
                        (size_t)i + (i < CPTI_WHATIF_INSIDE_MAX));
    }
    add(&inside, "A: 7", "A: an");
    expect(&inside, 7, "A: 7", "A: an", true);
    for (int i = 2; i < CPTI_WHATIF_INSIDE_MAX + 1; i++) {
        (void)snprintf(name, sizeof name, "A: %c%d", i == 3 ? 'a' : 'z', i);
        add(&inside, "A: 8", name);
    }
    expect(&inside, 8, "A: 8", "A: a3", true);
    add(&inside, "A: 9", "A: 0"); /* one operation too many */
    expect(&inside, 9, "A: 9", "A: op", false);
    cpti_whatif_inside_deinit(&inside);
}

/* Names of any length. */
static void test_long(void)
{
    struct cpti_whatif_inside inside = {0};
    char name[2000];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    add(&inside, name, name);
    name[1000] = 'm';
    add(&inside, name, name);
    CU_ASSERT_EQUAL(cpti_whatif_inside_count(&inside), 2);
    cpti_whatif_inside_deinit(&inside);
}

CU_TestInfo cli_whatif_inside_tests[] = {
    {"of several operations the first by name", test_several},
    {"no more names than the limit", test_limit},
    {"long names", test_long},
    CU_TEST_INFO_NULL,
};
