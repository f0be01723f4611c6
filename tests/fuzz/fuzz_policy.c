/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_policy.c - any bytes as rules of an operator
 *
 * Each line is a rule. What is accepted has an owner, an end, a probability from 0 to 1
 * or a rate, and texts that end; what is refused leaves the rules as they were.
 */
#include "framework/service/policy.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check(const struct cpti_rule *rule)
{
    must(rule->name[0] != '\0' && rule->owner[0] != '\0' && rule->end_ns != 0);
    must(memchr(rule->owner, '\0', sizeof rule->owner) != NULL);
    must(memchr(rule->method, '\0', sizeof rule->method) != NULL);
    must(memchr(rule->tenant, '\0', sizeof rule->tenant) != NULL);
    must(memchr(rule->frame, '\0', sizeof rule->frame) != NULL);
    must(memchr(rule->value, '\0', sizeof rule->value) != NULL);
    must(rule->probability >= 0 && rule->probability <= 1);
    must(rule->is_keep || rule->has_probability || rule->rate > 0);
    must(!rule->has_path || rule->frame[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cpti_rules rules;
    const char *text = (const char *)data;

    memset(&rules, 0, sizeof rules);
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        const size_t bytes = end != NULL ? (size_t)(end - text) : size;
        const size_t before = rules.count;
        char name[] = {'r', (char)('0' + before), '\0'};
        struct cpt_error error = {0};

        if (cpti_rule_read(&rules, cpt_bytes_of(name), (struct cpt_bytes){text, bytes},
                           &error) == CPT_OK) {
            must(rules.count == before + 1);
            check(&rules.items[before]);
        } else {
            must(rules.count == before && error.sentence[0] != '\0');
        }
        text += end != NULL ? bytes + 1 : bytes;
        size -= end != NULL ? bytes + 1 : bytes;
    }
    return 0;
}
