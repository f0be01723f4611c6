/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_select.c - the selected requests and their weights */
#include "tests/support/suites.h"

#include "tool/select/select.h"
#include "aggregate/cpt_tree.h"
#include "wire/cpt_log.h"

#include <string.h>

static const struct cpt_attribute attributes[] = {
    {{"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"control", 7}}},
    {{"items", 5}, CPT_ATTRIBUTE_INTEGER, {.integer = -5}},
    {{"ratio", 5}, CPT_ATTRIBUTE_FLOAT, {.real = 2.5}},
    {{"cached", 6}, CPT_ATTRIBUTE_BOOL, {.is_true = 1}},
    {{"status", 6}, CPT_ATTRIBUTE_TEXT, {.text = {"gold", 4}}},
    {{"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"treatment", 9}}},
};

static struct cpt_record sample(void)
{
    return (struct cpt_record){
        .start_unix_ns = 1000,
        .probability = 0.25,
        .service = {"A", 1},
        .method = {"/", 1},
        .status = {"200", 3},
        .attributes = attributes,
        .attribute_count = sizeof attributes / sizeof attributes[0],
        .is_random = 1,
    };
}

/* Whether the terms @expression select @record. */
static enum cpti_selected selects(const char *expression,
                                  const struct cpt_record *record)
{
    struct cpti_selection selection = {.until_ns = UINT64_MAX};

    CU_ASSERT_EQUAL(cpti_selection_add(&selection, "where", expression),
                    CPTI_EXIT_DONE);
    return cpti_selection_has(&selection, record);
}

static void test_terms(void)
{
    static const struct {
        const char *expression;
        int holds;
    } cases[] = {
        {"arm=treatment", 1},
        {"arm=control", 0}, /* the last of several */
        {"arm=treatmen", 0},
        {"arm=treatment2", 0},
        {"arm=", 0},
        {"items=-5", 1},
        {"items=-5.0", 1},
        {"items=5", 0},
        {"items=", 0},
        {"items=x", 0},
        {"ratio=2.5", 1},
        {"ratio=25e-1", 1},
        {"ratio=2.50001", 0},
        {"cached=true", 1},
        {"cached=1", 0},
        {"status=200", 1},
        {"status=gold", 0},
        {"meta.status=gold", 1},
        {"meta.status=200", 0},
        {"service=A", 1},
        {"random=true", 1},
        {"random=false", 0},
        {"forced=false", 1},
        {"local_root=true", 0},
        {"absent=1", 0},
        {"trace_id=00", 0},
        {"arm=treatment,items=-5", 1},
        {"arm=treatment,items=4", 0},
    };
    const struct cpt_record record = sample();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int holds = selects(cases[i].expression, &record) == CPTI_SELECTED;

        CU_ASSERT_EQUAL(holds, cases[i].holds);
        if (holds != cases[i].holds) {
            (void)fprintf(stderr, "%s\n", cases[i].expression);
        }
    }
}

static void test_window(void)
{
    const struct cpt_record record = sample();
    struct cpti_selection selection = {.since_ns = 1000, .until_ns = 1001};

    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_SELECTED);
    selection.since_ns = 1001;
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_NOT_SELECTED);
    selection = (struct cpti_selection){.until_ns = 1000};
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_NOT_SELECTED);
}

static void test_forced(void)
{
    struct cpt_record record = sample();
    struct cpti_selection selection = {.until_ns = UINT64_MAX};

    CU_ASSERT_EQUAL(cpti_selection_weight(&selection, &record), 4 * CPT_WEIGHT_ONE);
    record.is_forced = 1; /* and random: forced wins */
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_FORCED_EXCLUDED);
    selection.includes_forced = 1;
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_SELECTED);
    CU_ASSERT_EQUAL(cpti_selection_weight(&selection, &record), CPT_WEIGHT_ONE);
    CU_ASSERT_EQUAL(cpti_selection_add(&selection, "where", "random=true"),
                    CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_SELECTED);
    CU_ASSERT_EQUAL(cpti_selection_weight(&selection, &record), 4 * CPT_WEIGHT_ONE);
    record.is_forced = 0;
    record.probability = 0;
    CU_ASSERT_EQUAL(cpti_selection_weight(&selection, &record), 0);
}

/* Of a record whose attribute says that it is one. */
static void test_fragments(void)
{
    const struct cpt_attribute fragment = {
        .key = cpt_bytes_of("cpt.fragment"),
        .type = CPT_ATTRIBUTE_TEXT,
        .value = {.text = cpt_bytes_of("root_missing")}};
    struct cpt_record record = sample();
    struct cpti_selection selection = {.until_ns = UINT64_MAX};

    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_SELECTED);
    record.attributes = &fragment;
    record.attribute_count = 1;
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_FRAGMENT_EXCLUDED);
    CU_ASSERT_EQUAL(cpti_selection_population(&selection, &record),
                    CPTI_FRAGMENT_EXCLUDED);
    CU_ASSERT_FALSE(cpti_selection_is_narrow(&selection));
    selection.includes_fragments = true;
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_SELECTED);
    CU_ASSERT_TRUE(cpti_selection_is_narrow(&selection));
    CU_ASSERT_EQUAL(cpti_selection_weight(&selection, &record), 4 * CPT_WEIGHT_ONE);
    /* a term that tests for it takes them */
    selection = (struct cpti_selection){.until_ns = UINT64_MAX};
    CU_ASSERT_EQUAL(
        cpti_selection_add(&selection, "where", "cpt.fragment != \"root_timeless\""),
        CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_SELECTED);
}

static void test_number_of_terms(void)
{
    struct cpti_selection selection = {.until_ns = UINT64_MAX};

    for (int i = 0; i < CPTI_EXPRESSION_TERMS_MAX; i++) {
        CU_ASSERT_EQUAL(cpti_selection_add(&selection, "where", "a=b"), CPTI_EXIT_DONE);
    }
    CU_ASSERT_EQUAL(cpti_selection_add(&selection, "where", "a=b"), CPTI_EXIT_USAGE);
}

static void test_unseen_keys(void)
{
    const struct cpt_record record = sample();
    struct cpti_selection selection = {.until_ns = UINT64_MAX};

    CU_ASSERT_EQUAL(cpti_selection_add(&selection, "where", "arm=x,amr=y"),
                    CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_NOT_SELECTED);
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpti_selection_unseen(&selection), cpt_bytes_of("amr")));
}

static void test_background(void)
{
    struct cpti_selection selection = {.until_ns = UINT64_MAX};
    struct cpt_record record = sample();

    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_SELECTED);
    record.is_background = 1;
    CU_ASSERT_EQUAL(cpti_selection_has(&selection, &record), CPTI_SELECTED);
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_NOT_SELECTED);
}

static void test_local_roots(void)
{
    struct cpt_record record = sample();
    struct cpti_selection selection = {.until_ns = UINT64_MAX};

    record.is_local_root = 1;
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record),
                    CPTI_LOCAL_ROOT_EXCLUDED);
    selection.entry = "B";
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_NOT_SELECTED);
    selection.entry = NULL;
    CU_ASSERT_EQUAL(cpti_selection_add(&selection, "where", "local_root or arm == x"),
                    CPTI_EXIT_DONE);
    CU_ASSERT_EQUAL(cpti_selection_counts(&selection, &record), CPTI_SELECTED);
}

CU_TestInfo cpt_select_tests[] = {
    {"inner services' own records count only on request", test_local_roots},
    {"work after the response never counts", test_background},
    {"a term holds or does not", test_terms},
    {"a window includes its begin, not its end", test_window},
    {"forced requests count only on request, with weight 1", test_forced},
    {"fragments count only on request", test_fragments},
    {"one term more than the limit is refused", test_number_of_terms},
    {"a key that no record had is reported", test_unseen_keys},
    CU_TEST_INFO_NULL,
};
