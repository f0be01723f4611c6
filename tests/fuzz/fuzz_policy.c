/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_policy.c - any bytes as rules of an operator
 *
 * Each line is a rule. What is accepted has an owner, an end, a probability from 0 to 1
 * or a rate, and texts that end; what is refused leaves the rules as they were. A
 * request whose query and header are the bytes themselves is then judged by all.
 *
 * Each line is an experiment, too. What is accepted is within the bounds that no file
 * goes beyond, and can be drawn from.
 */
#include "framework/run/delay.h"
#include "framework/service/rules/experiment.h"
#include "framework/service/rules/policy.h"

#include <stdlib.h>
#include <string.h>

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check(const struct cpti_policy_rule *rule)
{
    must(rule->name[0] != '\0' && rule->owner[0] != '\0' && rule->end_ns != 0);
    must(memchr(rule->owner, '\0', sizeof rule->owner) != NULL);
    must(memchr(rule->method, '\0', sizeof rule->method) != NULL);
    must(memchr(rule->tenant, '\0', sizeof rule->tenant) != NULL);
    must(memchr(rule->header, '\0', sizeof rule->header) != NULL);
    must(memchr(rule->header_value, '\0', sizeof rule->header_value) != NULL);
    must(memchr(rule->parameter, '\0', sizeof rule->parameter) != NULL);
    must(memchr(rule->parameter_value, '\0', sizeof rule->parameter_value) != NULL);
    must(memchr(rule->frame, '\0', sizeof rule->frame) != NULL);
    must(memchr(rule->value, '\0', sizeof rule->value) != NULL);
    must(rule->probability >= 0 && rule->probability <= 1);
    must(rule->is_keep || rule->has_probability || rule->rate > 0);
    must(!rule->has_path || rule->frame[0] != '\0');
}

static void judge(const struct cpti_policy_rules *rules, struct cpt_bytes text)
{
    const struct cpt_field field = {text, text};
    const struct cpti_head head = {.method = text,
                                   .tenant = text,
                                   .query = text,
                                   .headers = &field,
                                   .header_count = 1,
                                   .now_ns = 1,
                                   .probability = 1};
    struct cpti_policy *policy = cpti_policy_new(rules, 1, cpt_alloc_default());
    struct cpti_ruling verdict;

    must(policy != NULL);
    verdict = cpti_policy_begin(policy, &head);
    must(verdict.probability >= 0 && verdict.probability <= 1);
    must(rules->count == CPTI_RULES_MAX || verdict.keep_rules >> rules->count == 0);
    cpti_policy_release(policy);
}

static void draw(const struct cpti_experiment_wanted *wanted)
{
    struct cpti_experiment_run *run =
        cpti_experiment_run_new(wanted, 1, 1, cpt_alloc_default());
    struct cpti_experiment_arm arm;

    must(run != NULL);
    cpti_experiment_draw(run, 1, &arm);
    must(arm.is_in == !wanted->is_all); /* no service has given it its tasks */
    must(!arm.is_in || arm.frame[0] != '\0');
    cpti_experiment_run_free(run);
}

static void experiment(struct cpt_bytes text)
{
    static struct cpti_experiment_wanted wanted;
    struct cpt_error error = {0};
    cpt_status status = CPT_FAILED;

    memset(&wanted, 0, sizeof wanted);
    must(cpti_experiment_read(&wanted, cpt_bytes_of("experiment"), text, &status,
                              &error));
    must(status == CPT_OK || error.sentence[0] != '\0');
    if (status == CPT_OK && wanted.is_on) {
        must(wanted.delta_ns > 0 && wanted.delta_ns <= CPTI_DELAY_NS_MAX);
        must(wanted.share > 0 && wanted.share <= CPTI_EXPERIMENT_SHARE_MAX);
        must(wanted.guard_ns > wanted.delta_ns && wanted.each_ns > 0);
        must(wanted.total_ns <= CPTI_EXPERIMENT_TOTAL_NS_MAX);
        must(wanted.is_all != (wanted.frame_count > 0));
        draw(&wanted);
    }
    memset(&wanted, 0, sizeof wanted);
    error = (struct cpt_error){0};
    must(cpti_experiment_read(&wanted, cpt_bytes_of("experiment_asked"), text, &status,
                              &error));
    must(status != CPT_OK || wanted.asked_ns_max <= CPTI_DELAY_NS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cpti_policy_rules rules;
    const char *text = (const char *)data;

    const struct cpt_bytes all = {text, size};

    memset(&rules, 0, sizeof rules);
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        const size_t bytes = end != NULL ? (size_t)(end - text) : size;
        const size_t before = rules.count;
        char name[] = {'r', (char)('0' + before), '\0'};
        struct cpt_error error = {0};

        experiment((struct cpt_bytes){text, bytes});
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
    judge(&rules, all);
    return 0;
}
