/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_policy_head.c - what rules of an operator see of a request when it begins */
#include "tests/support/suites.h"

#include "framework/service/rules/policy.h"
#include "wire/cpt_metadata.h"

#include <string.h>

#define OWNED "owner sre; until 2099-12-31; "

static struct cpti_policy_rules rules;

static cpt_status rule_read(const char *name, const char *text)
{
    struct cpt_error error = {0};

    return cpti_rule_read(&rules, cpt_bytes_of(name), cpt_bytes_of(text), &error);
}

static struct cpti_policy *policy_of(const char *first, const char *second)
{
    struct cpti_policy *policy = NULL;

    memset(&rules, 0, sizeof rules);
    CU_ASSERT_EQUAL_FATAL(rule_read("first", first), CPT_OK);
    if (second != NULL) {
        CU_ASSERT_EQUAL_FATAL(rule_read("second", second), CPT_OK);
    }
    policy = cpti_policy_new(&rules, 1, cpt_alloc_default());
    CU_ASSERT_PTR_NOT_NULL_FATAL(policy);
    return policy;
}

/* Whether rule @text is for a request with these. */
static bool is_for_rule(const char *text, const char *query, const char *name,
                        const char *value)
{
    struct cpti_policy *policy = policy_of(text, NULL);
    const struct cpt_field headers[] = {{cpt_bytes_of("Host"), cpt_bytes_of("s")},
                                        {cpt_bytes_of(name), cpt_bytes_of(value)},
                                        {cpt_bytes_of(name), cpt_bytes_of("second")}};
    const struct cpti_head head = {.method = cpt_bytes_of("/x"),
                                   .query = cpt_bytes_of(query),
                                   .headers = headers,
                                   .header_count = 3,
                                   .now_ns = 1,
                                   .randomness = CPT_SAMPLING_RANGE - 1};
    const bool is_hit = cpti_policy_begin(policy, &head).is_hit;

    cpti_policy_release(policy);
    return is_hit;
}

static void test_headers_and_queries(void)
{
#define ALL OWNED "probability 1; "
    CU_ASSERT_TRUE(is_for_rule(ALL "header x-canary yes", "", "X-Canary", "yes"));
    CU_ASSERT_TRUE(is_for_rule(ALL "header X-CANARY y*", "", "x-canary", "yes"));
    CU_ASSERT_TRUE(is_for_rule(ALL "header x-canary *", "", "x-canary", ""));
    CU_ASSERT_FALSE(is_for_rule(ALL "header x-canary *", "", "x-canar", "yes"));
    CU_ASSERT_FALSE(is_for_rule(ALL "header x-canary yes", "", "x-canary", "yes "));
    CU_ASSERT_FALSE(is_for_rule(ALL "header x-canary second", "", "x-canary", "yes"));
    CU_ASSERT_TRUE(is_for_rule(ALL "query debug 1", "a=b&&debug=1&c", "a", "b"));
    CU_ASSERT_TRUE(is_for_rule(ALL "query debug *", "debug", "a", "b"));
    CU_ASSERT_TRUE(is_for_rule(ALL "query q a%20*", "q=a%20b", "a", "b"));
    CU_ASSERT_FALSE(is_for_rule(ALL "query debug 1", "debug=0&debug=1", "a", "b"));
    CU_ASSERT_FALSE(is_for_rule(ALL "query debug 1", "xdebug=1&debug=12", "a", "b"));
    CU_ASSERT_FALSE(is_for_rule(ALL "query debug *", "", "a", "b"));
    CU_ASSERT_TRUE(
        is_for_rule(ALL "method /x; query d 1; header a b", "d=1", "a", "b"));
    CU_ASSERT_FALSE(
        is_for_rule(ALL "method /y; query d 1; header a b", "d=1", "a", "b"));
    memset(&rules, 0, sizeof rules);
    CU_ASSERT_EQUAL(rule_read("a", ALL "header x-canary"), CPT_INVALID);
    CU_ASSERT_EQUAL(rule_read("a", ALL "header"), CPT_INVALID);
    CU_ASSERT_EQUAL(rule_read("a", ALL "header X-Canary: yes"), CPT_INVALID);
    CU_ASSERT_EQUAL(rule_read("a", ALL "query d 1; query e 1"), CPT_INVALID);
    CU_ASSERT_EQUAL(rules.count, 0);
#undef ALL
}

/* A rule of keeping sees them, too. */
static void test_headers_of_keep_rules(void)
{
    struct cpti_policy *policy =
        policy_of(OWNED "failed; header x-canary yes", OWNED "failed; query d 1");
    const struct cpt_field field = {cpt_bytes_of("x-canary"), cpt_bytes_of("yes")};
    struct cpti_head head = {.now_ns = 1, .headers = &field, .header_count = 1};

    CU_ASSERT_EQUAL(cpti_policy_begin(policy, &head).keep_rules, 1);
    head.query = cpt_bytes_of("d=1");
    CU_ASSERT_EQUAL(cpti_policy_begin(policy, &head).keep_rules, 3);
    head.header_count = 0;
    CU_ASSERT_EQUAL(cpti_policy_begin(policy, &head).keep_rules, 2);
    cpti_policy_release(policy);
}

extern CU_TestInfo cpt_policy_head_tests[];
CU_TestInfo cpt_policy_head_tests[] = {
    {"rules see headers and the query", test_headers_and_queries},
    {"rules of keeping do, too", test_headers_of_keep_rules},
    CU_TEST_INFO_NULL,
};
