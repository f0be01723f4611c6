/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_rule.c - rules on random traces, compared with what their sentences say */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/assert/rule.h"

#include <stdio.h>
#include <string.h>

enum { NODES = 14, CASES = 2000 };

static struct cpti_rules rules;

/* --- Patterns --- */

static void test_patterns(void)
{
    static const struct {
        const char *pattern;
        const char *text;
        bool is_like;
    } cases[] = {
        {"db", "db", true},         {"db", "db2", false},
        {"d*", "db", true},         {"*", "", true},
        {"*", "x", true},           {"a*c*e", "abcde", true},
        {"a*c*e", "abcdef", false}, {"**b", "aab", true},
        {"*b*", "a", false},        {"SELECT *", "SELECT 1", true},
        {"a", "", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(
            cpti_rule_like(cpt_bytes_of(cases[i].pattern), cpt_bytes_of(cases[i].text)),
            cases[i].is_like);
    }
}

/* --- The language --- */

static void refused(const char *text, size_t at)
{
    struct cpti_expression_error error = {.at = SIZE_MAX};

    CU_ASSERT_FALSE(cpti_rules_parse(&rules, cpt_bytes_of(text), &error));
    CU_ASSERT_EQUAL(error.at, at);
    CU_ASSERT_EQUAL(rules.count, 0);
}

static void test_language(void)
{
    struct cpti_expression_error error;

    CU_ASSERT_TRUE_FATAL(cpti_rules_parse(
        &rules,
        cpt_bytes_of(
            " at most 3 span('a') directly under span(\"b\\\"\") on the path "
            "and every span(\"x\") on path and span(\"c\") before span(\"d\")"),
        &error));
    CU_ASSERT_EQUAL(rules.count, 3);
    CU_ASSERT_EQUAL(rules.rules[0].most, 3);
    CU_ASSERT_TRUE(rules.rules[0].is_direct && rules.rules[0].is_on_path);
    CU_ASSERT_TRUE(cpt_bytes_equal(rules.rules[0].under.text, cpt_bytes_of("b\"")));
    CU_ASSERT_TRUE(cpt_bytes_equal(rules.rules[1].text,
                                   cpt_bytes_of("every span(\"x\") on path")));
    refused("", 0);
    refused("no", 2);
    refused("no span(db)", 8);
    refused("no span(\"\")", 8);
    refused("every span(\"a\")", 15);
    refused("at 3 span(\"a\")", 3);
    refused("at most 3.5 span(\"a\")", 8);
    refused("at most 1000000001 span(\"a\")", 8);
    refused("no span(\"a\") no span(\"b\")", 13);
    refused("no span(\"a\") directly on path", 22);
}

/* A text with @count rules, or a pattern of @bytes. */
static bool parses(size_t count, size_t bytes)
{
    static char text[64 * 1024];
    struct cpti_expression_error error;
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%sno span(\"%.*s\")",
                               i == 0 ? "" : " and ", 0, "");
        at -= 2;
        memset(text + at, 'x', bytes);
        at += bytes;
        at += (size_t)snprintf(text + at, sizeof text - at, "\")");
    }
    return cpti_rules_parse(&rules, (struct cpt_bytes){text, at}, &error);
}

static void test_limits(void)
{
    CU_ASSERT_TRUE(parses(CPTI_RULES_MAX, 1));
    CU_ASSERT_FALSE(parses(CPTI_RULES_MAX + 1, 1));
    CU_ASSERT_TRUE(parses(1, CPTI_RULE_PATTERN_BYTES_MAX));
    CU_ASSERT_FALSE(parses(1, CPTI_RULE_PATTERN_BYTES_MAX + 1));
    CU_ASSERT_TRUE(parses(CPTI_RULES_MAX, CPTI_RULE_PATTERN_BYTES_MAX));
}

/* --- Random traces --- */

/* Whether @above is above @node, in a trace in which parents stand first; directly, if
 * nothing but what is passed over is between them. */
static bool is_above(const struct cpti_rule_trace *trace, uint32_t above, uint32_t node,
                     bool is_direct)
{
    uint32_t at = trace->nodes[node].parent;

    while (at != CPTI_RULE_NONE && at != above &&
           (!is_direct || trace->nodes[at].is_passed)) {
        at = trace->nodes[at].parent;
    }
    return at == above;
}

/* Names are one letter; service and operation are the same. */
static bool is_named(const struct cpti_rule_trace *trace, uint32_t node, char letter)
{
    return trace->nodes[node].service.data[0] == letter;
}

static bool model_is_on_path(const struct cpti_rule_trace *trace, uint32_t node,
                             const bool *own)
{
    for (uint32_t i = 0; i < trace->count; i++) {
        if (own[i] && (i == node || is_above(trace, node, i, false))) {
            return true;
        }
    }
    return false;
}

/* The spans that break @rule, as a set of bits, and whether it is broken. */
static uint32_t model(const struct cpti_rule *rule, const struct cpti_rule_trace *trace,
                      const bool *own, bool *is_broken)
{
    const bool has_under = rule->under.text.bytes > 0;
    const char under = has_under ? rule->under.text.data[0] : '?';
    const bool wants = rule->kind == CPTI_RULE_EVERY || rule->least > 0;
    uint32_t found = 0;
    uint32_t all = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < trace->count; i++) {
        const bool is_what = is_named(trace, i, rule->what.text.data[0]);
        bool is_below = false;
        uint32_t below = 0;
        bool is_late = false;

        for (uint32_t k = 0; k < trace->count; k++) {
            is_below |= is_named(trace, k, under) &&
                        !(wants && trace->nodes[k].is_passed) &&
                        is_above(trace, k, i, rule->is_direct);
            below += is_named(trace, k, rule->what.text.data[0]) &&
                     (!rule->is_on_path || model_is_on_path(trace, k, own)) &&
                     is_above(trace, i, k, rule->is_direct);
            is_late |= is_named(trace, k, rule->what.text.data[0]) &&
                       trace->nodes[k].end_ns <= trace->nodes[i].start_ns;
        }
        if (rule->kind == CPTI_RULE_BEFORE) {
            found |= (uint32_t)(is_named(trace, i, under) && !is_late) << i;
        } else if (rule->kind == CPTI_RULE_EVERY) {
            found |=
                (uint32_t)(is_what &&
                           ((has_under && !is_below) ||
                            (rule->is_on_path && !model_is_on_path(trace, i, own))))
                << i;
        } else if (!has_under || rule->least > 0) {
            const bool counts =
                is_what && (!rule->is_on_path || model_is_on_path(trace, i, own)) &&
                (!has_under || is_below);

            count += counts;
            all |= (uint32_t)counts << i;
        } else if (rule->most == 0) {
            found |= (uint32_t)(is_what && is_below &&
                                (!rule->is_on_path || model_is_on_path(trace, i, own)))
                     << i;
        } else {
            found |= (uint32_t)(is_named(trace, i, under) && below > rule->most) << i;
        }
    }
    *is_broken = found != 0;
    if (rule->kind == CPTI_RULE_COUNT && (!has_under || rule->least > 0)) {
        bool is_asked = !has_under;

        for (uint32_t i = 0; i < trace->count; i++) {
            is_asked |= is_named(trace, i, under) && !trace->nodes[i].is_passed &&
                        model_is_on_path(trace, i, own);
        }
        *is_broken = is_asked && (count > rule->most || count < rule->least);
        return all;
    }
    return found;
}

static void make_trace(struct test_random *random, struct cpti_rule_trace *trace,
                       bool *own)
{
    static const char letters[] = "abc";
    const size_t count = test_random_below(random, NODES + 1);

    cpti_rule_trace_reset(trace);
    for (size_t i = 0; i < count; i++) {
        const struct cpt_bytes name = {letters + test_random_below(random, 3), 1};
        const uint64_t start_ns = test_random_below(random, 10);

        own[i] = test_random_chance(random, 20) != 0;
        CU_ASSERT_EQUAL_FATAL(
            cpti_rule_trace_add(
                trace,
                &(struct cpti_rule_node){
                    .service = name,
                    .operation = name,
                    .has_time = true,
                    .is_passed = test_random_chance(random, 15) != 0,
                    .is_on_path = own[i],
                    .start_ns = start_ns,
                    .end_ns = start_ns + test_random_below(random, 10),
                    .parent = i == 0 || test_random_chance(random, 10)
                                  ? CPTI_RULE_NONE
                                  : (uint32_t)test_random_below(random, i)}),
            CPT_OK);
    }
}

static void make_rule(struct test_random *random, char text[128])
{
    static const char *const firsts[] = {"no",         "some",      "every",
                                         "at most 1",  "at most 2", "at least 1",
                                         "at least 2", "at most 0"};
    static const char *const wheres[] = {
        " under span(\"%c\")", " directly under span(\"%c\")",
        " under span(\"%c\") on the path", " on path", ""};
    const size_t first = test_random_below(random, 9);
    const size_t where = test_random_below(random, first == 2 ? 4 : 5);
    const char what = "abc"[test_random_below(random, 3)];
    const int under = "abc"[test_random_below(random, 3)];
    int bytes;

    if (first == 8) {
        (void)snprintf(text, 128, "span('%c') before span('%c')", what, under);
        return;
    }
    bytes = snprintf(text, 128, "%s span('%c')", firsts[first], what);
    switch (where) {
    case 0:
    case 1:
    case 2:
        (void)snprintf(text + bytes, 128 - (size_t)bytes, "%s under span('%c')%s",
                       where == 1 ? " directly" : "", under,
                       where == 2 ? " on the path" : "");
        break;
    default:
        (void)snprintf(text + bytes, 128 - (size_t)bytes, "%s", wheres[where]);
    }
}

static void try_case(struct test_random *random, struct cpti_rule_trace *trace)
{
    bool own[NODES];
    char text[128];
    struct cpti_expression_error error;
    struct cpti_rule_result result;
    bool is_broken;
    uint32_t found;
    size_t count = 0;

    make_rule(random, text);
    CU_ASSERT_TRUE_FATAL(cpti_rules_parse(&rules, cpt_bytes_of(text), &error));
    make_trace(random, trace, own);
    CU_ASSERT_EQUAL_FATAL(cpti_rule_trace_settle(trace), CPT_OK);
    found = model(&rules.rules[0], trace, own, &is_broken);
    cpti_rule_run(&rules.rules[0], trace, &result);
    CU_ASSERT_EQUAL(result.is_broken, is_broken);
    for (uint32_t i = 0; i < trace->count; i++) {
        if ((found >> i & 1) != 0) {
            CU_ASSERT_TRUE(count >= CPTI_RULE_FOUND_MAX || result.found[count] == i);
            count++;
        }
    }
    CU_ASSERT_EQUAL(result.count, count);
}

static void test_random_traces(void)
{
    const uint64_t seed = test_random_seed("rules on traces");
    const uint64_t cases = test_environment_number("CPT_TEST_CASES", CASES);
    struct cpti_rule_trace trace = {0};

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        const unsigned failures = CU_get_number_of_failures();

        try_case(&random, &trace);
        if (CU_get_number_of_failures() != failures) {
            (void)printf("rule: CPT_TEST_SEED=%llu CPT_TEST_CASES=1\n",
                         (unsigned long long)(seed + i));
            break;
        }
    }
    cpti_rule_trace_deinit(&trace);
}

/* A circle and what hangs below it is looked at, and ends; so is a long chain. */
static void test_circles_and_chains(void)
{
    enum { LONG = 200000 };
    struct cpti_rule_trace trace = {0};
    struct cpti_rule_result result;
    struct cpti_expression_error error;
    const struct cpt_bytes name = cpt_bytes_of("a");

    CU_ASSERT_TRUE_FATAL(
        cpti_rules_parse(&rules, cpt_bytes_of("no span('a') under span('a')"), &error));
    for (uint32_t i = 0; i < 3; i++) {
        const struct cpti_rule_node node = {
            .service = name, .operation = name, .parent = i < 2 ? 1 - i : 0};

        CU_ASSERT_EQUAL_FATAL(cpti_rule_trace_add(&trace, &node), CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cpti_rule_trace_settle(&trace), CPT_OK);
    cpti_rule_run(&rules.rules[0], &trace, &result);
    CU_ASSERT_EQUAL(result.count, 1); /* the third; the circle has no parents */
    cpti_rule_trace_reset(&trace);
    for (uint32_t i = 0; i < LONG; i++) {
        const struct cpti_rule_node node = {
            .service = name, .operation = name, .parent = i + 1};

        CU_ASSERT_EQUAL_FATAL(cpti_rule_trace_add(&trace, &node), CPT_OK);
    }
    CU_ASSERT_EQUAL_FATAL(cpti_rule_trace_settle(&trace), CPT_OK);
    cpti_rule_run(&rules.rules[0], &trace, &result);
    CU_ASSERT_EQUAL(result.count, LONG - 1);
    cpti_rule_trace_deinit(&trace);
}

CU_TestInfo cpt_rule_tests[] = {
    {"'*' in a pattern is any text", test_patterns},
    {"rules are read, and mistakes have a place", test_language},
    {"rules and patterns have limits", test_limits},
    {"rules break just where their sentences say", test_random_traces},
    {"circles and long chains end", test_circles_and_chains},
    CU_TEST_INFO_NULL,
};
