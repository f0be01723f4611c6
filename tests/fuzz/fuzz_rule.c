/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_rule.c - any bytes as rules on traces
 *
 * Refused rules have a place. Others are run on small traces, one of which has a
 * circle; a rule gives the same twice, and counts what it names.
 */
#include "tool/assert/rule.h"

#include <stdint.h>
#include <stdlib.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void run_all(struct cpti_rules *rules, uint32_t top)
{
    static const char *const names[] = {"A", "B", "db-master", "read"};
    struct cpti_rule_trace trace = {0};

    for (uint32_t i = 0; i < 8; i++) {
        const struct cpti_rule_node node = {.service = cpt_bytes_of(names[i % 4]),
                                            .operation = cpt_bytes_of(names[i / 2]),
                                            .start_ns = i,
                                            .end_ns = i + 2,
                                            .has_time = true,
                                            .is_on_path = i == 5,
                                            .parent = i == 0 ? top : (i - 1) / 2};

        must(cpti_rule_trace_add(&trace, &node) == CPT_OK);
    }
    must(cpti_rule_trace_settle(&trace) == CPT_OK);
    for (size_t i = 0; i < rules->count; i++) {
        struct cpti_rule_result first;
        struct cpti_rule_result second;

        cpti_rule_run(&rules->rules[i], &trace, &first);
        cpti_rule_run(&rules->rules[i], &trace, &second);
        must(first.is_broken == second.is_broken && first.count == second.count);
        must(first.count <= trace.count && first.found_count <= first.count);
    }
    cpti_rule_trace_deinit(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cpti_rules rules;
    struct cpti_expression_error error = {.at = SIZE_MAX};
    const struct cpt_bytes text = {(const char *)data, size};

    if (!cpti_rules_parse(&rules, text, &error)) {
        must(error.at <= size && error.sentence[0] != '\0' && rules.count == 0);
        return 0;
    }
    must(rules.count > 0 && rules.count <= CPTI_RULES_MAX);
    run_all(&rules, CPTI_RULE_NONE);
    run_all(&rules, 6);
    return 0;
}
