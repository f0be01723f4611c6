/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_policy.c - rules of an operator: their text, what they decide, what it weighs */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_settings.h"
#include "framework/service/rules/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWNED "owner sre; until 2099-12-31; "

static struct cpti_policy_rules rules;

static cpt_status rule_read(const char *name, const char *text)
{
    struct cpt_error error = {0};
    const cpt_status status =
        cpti_rule_read(&rules, cpt_bytes_of(name), cpt_bytes_of(text), &error);

    CU_ASSERT_EQUAL(status == CPT_OK, error.sentence[0] == '\0');
    return status;
}

/* --- Their text --- */

static void test_rules_that_are_read(void)
{
    const struct cpti_policy_rule *rule = NULL;

    memset(&rules, 0, sizeof rules);
    CU_ASSERT_EQUAL(rule_read("a",
                              "owner sre ; until 2028-02-29; method /api/*; tenant x y;"
                              "probability 0.25; consistent"),
                    CPT_OK);
    CU_ASSERT_EQUAL(rule_read("b", OWNED "rate 30/min"), CPT_OK);
    CU_ASSERT_EQUAL(rule_read("c",
                              OWNED "path(\"B: B2\") > 50ms; latency > 1.5 s; failed;"
                                    " attribute arm treat ment; probability 0.5;;"),
                    CPT_OK);
    CU_ASSERT_EQUAL_FATAL(rules.count, 3);
    rule = &rules.items[0];
    CU_ASSERT_STRING_EQUAL(rule->owner, "sre");
    CU_ASSERT_EQUAL(rule->end_ns, UINT64_C(1835481600) * 1000000000); /* 2028-03-01 */
    CU_ASSERT_STRING_EQUAL(rule->method, "/api/*");
    CU_ASSERT_STRING_EQUAL(rule->tenant, "x y");
    CU_ASSERT_TRUE(rule->is_consistent && !rule->is_keep);
    CU_ASSERT_EQUAL(rule->probability, 0.25);
    CU_ASSERT_EQUAL(rules.items[1].rate, 0.5);
    rule = &rules.items[2];
    CU_ASSERT_TRUE(rule->is_keep && rule->wants_failed && rule->has_path);
    CU_ASSERT_STRING_EQUAL(rule->frame, "B: B2");
    CU_ASSERT_EQUAL(rule->path_ns, 50 * (uint64_t)MS);
    CU_ASSERT_EQUAL(rule->latency_ns, 1500 * (uint64_t)MS);
    CU_ASSERT_STRING_EQUAL(rule->key, "arm");
    CU_ASSERT_STRING_EQUAL(rule->value, "treat ment");
}

static void test_rules_that_are_refused(void)
{
    static const char *const texts[] = {
        "",
        "owner sre; probability 1",
        "until 2099-12-31; probability 1",
        OWNED,
        OWNED "probability 1; rate 1/s",
        OWNED "probability 1.1",
        OWNED "probability -1",
        OWNED "probability 1; probability 1",
        OWNED "probability 1; colour blue",
        OWNED "rate 0/s",
        OWNED "rate 5",
        OWNED "rate 5/h",
        OWNED "failed yes",
        OWNED "failed; rate 1/s",
        OWNED "failed; consistent",
        OWNED "latency 5ms",
        OWNED "latency > 5",
        OWNED "latency > ms",
        OWNED "path(B: B2) > 50ms",
        OWNED "path(\"\") > 50ms",
        OWNED "path(\"B: B2) > 50ms",
        OWNED "path(\"B: B2\" > 50ms",
        OWNED "attribute arm",
        "owner sre; until 2099-02-29; failed",
        "owner sre; until 2099-13-01; failed",
        "owner sre; until 31.12.2099; failed",
        "owner \x01; until 2099-12-31; failed",
    };
    size_t refused = 0;

    memset(&rules, 0, sizeof rules);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        refused += rule_read("a", texts[i]) == CPT_INVALID;
    }
    /* The calendar of a rule is generous: 29 February of any year is its last day. */
    CU_ASSERT_EQUAL(refused + rules.count, sizeof texts / sizeof texts[0]);
    CU_ASSERT_EQUAL(rules.count, 1);
    rules.count = 0;
    CU_ASSERT_EQUAL(rule_read("a", OWNED "failed"), CPT_OK);
    CU_ASSERT_EQUAL(rule_read("a", OWNED "failed"), CPT_INVALID);
    CU_ASSERT_EQUAL(rule_read("", OWNED "failed"), CPT_INVALID);
    for (size_t i = 1; i < CPTI_RULES_MAX; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "r%zu", i);
        CU_ASSERT_EQUAL(rule_read(name, OWNED "failed"), CPT_OK);
    }
    CU_ASSERT_EQUAL(rule_read("last", OWNED "failed"), CPT_LIMIT);
}

/* --- What they decide, and what it weighs --- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static double unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) / 9007199254740992.0;
}

/* A mean of what was kept. */
struct mean {
    double all;   /* the sum over all requests … */
    double count; /* … and how many they are */
    double plain;
    double kept;
    double weighted; /* sum of w x, … */
    double weights;  /* … of w, … */
    double squares;  /* … and of (1 - p) / p² (x - m)², once m is known */
};

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

enum { REQUESTS = 200000 };

static float latencies[REQUESTS];
static float kept_with[REQUESTS]; /* probability; 0: not kept */

static void judge(const char *what, uint64_t seed)
{
    struct mean mean = {0};
    double truth = 0;
    double error = 0;

    for (size_t i = 0; i < REQUESTS; i++) {
        const double p = kept_with[i];

        mean.all += latencies[i];
        if (p > 0) {
            mean.plain += latencies[i];
            mean.kept += 1;
            mean.weighted += latencies[i] / p;
            mean.weights += 1 / p;
        }
    }
    truth = mean.all / REQUESTS;
    for (size_t i = 0; i < REQUESTS; i++) {
        const double p = kept_with[i];
        const double off = latencies[i] - truth;

        mean.squares += p > 0 ? (1 - p) / (p * p) * off * off : 0;
    }
    error = sqrt(mean.squares) / mean.weights;
    (void)printf("\n    %s, seed %llu: %.0f of %d kept, mean of all %.3f ms, plain "
                 "%.3f, weighted %.3f, standard error %.3f",
                 what, (unsigned long long)seed, mean.kept, REQUESTS, truth,
                 mean.plain / mean.kept, mean.weighted / mean.weights, error);
    CU_ASSERT_TRUE(fabs(mean.weighted / mean.weights - truth) <= 3 * error);
    CU_ASSERT_TRUE(fabs(mean.plain / mean.kept - truth) > 6 * error);
    CU_ASSERT_TRUE(fabs(mean.weights / REQUESTS - 1) < 0.2);
}

/* The requests of a part of the time, and the estimate of how many they are. */
struct part {
    double count;
    double weights;
    double variance;
};

static void part_add(struct part *part, double probability, bool is_hit)
{
    part->count += 1;
    part->weights += is_hit ? 1 / probability : 0;
    part->variance += (1 - probability) / probability;
}

/* How far the estimates of both parts are off: of chi-squared with 2 degrees of freedom
 * 13.8 is exceeded once in 1,000. The seeds are fixed. */
static void judge_parts(const struct part *quiet, const struct part *burst)
{
    const struct part *const parts[] = {quiet, burst};
    double chi_squared = 0;

    for (size_t i = 0; i < 2; i++) {
        const double off = parts[i]->weights - parts[i]->count;

        CU_ASSERT_TRUE(off * off <= 9 * parts[i]->variance);
        chi_squared += off * off / parts[i]->variance;
        (void)printf("\n      %s: %.0f requests, estimated %.0f, standard error %.0f",
                     i == 0 ? "quiet" : "burst", parts[i]->count, parts[i]->weights,
                     sqrt(parts[i]->variance));
    }
    (void)printf("; chi-squared %.2f", chi_squared);
    CU_ASSERT_TRUE(chi_squared < 13.8);
}

/* Quiet time and bursts, in which requests are slower, and of which the rate keeps a
 * smaller part. */
static void test_rate_is_unbiased(void)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct cpti_policy *policy = policy_of(OWNED "rate 20/s", NULL);
        uint64_t state = seed;
        uint64_t now_ns = 1;
        size_t kept = 0;
        struct part parts[2] = {{0, 0, 0}, {0, 0, 0}};

        for (size_t i = 0; i < REQUESTS; i++) {
            const bool is_burst = i % 5000 >= 1000;
            const struct cpti_head head = {.tenant =
                                               cpt_bytes_of(i % 2 == 0 ? "a" : "b"),
                                           .now_ns = now_ns,
                                           .randomness = next_random(&state) >> 8};
            const struct cpti_ruling verdict = cpti_policy_begin(policy, &head);

            latencies[i] = (float)((is_burst ? 30 : 10) * (0.5 + unit(&state)));
            kept_with[i] = verdict.is_hit ? (float)verdict.probability : 0;
            CU_ASSERT_TRUE_FATAL(verdict.probability > 0);
            kept += verdict.is_hit;
            part_add(&parts[is_burst], verdict.probability, verdict.is_hit);
            now_ns += (uint64_t)(-log(1 - unit(&state)) * (is_burst ? 2e6 : 20e6));
        }
        judge("rate", seed);
        judge_parts(&parts[0], &parts[1]);
        /* of 2 tenants; a little more, as no probability is 0 */
        CU_ASSERT_TRUE((double)kept < 2 * (20 + 1.25 * 20 * (double)now_ns / 1e9));
        CU_ASSERT_TRUE((double)kept > 2 * (0.5 * 20 * (double)now_ns / 1e9));
        cpti_policy_release(policy);
    }
}

/* All that were slow, half of those that failed, and 1 % of the rest. */
static void test_keeping_is_unbiased(void)
{
    for (uint64_t seed = 11; seed <= 13; seed++) {
        struct cpti_policy *policy =
            policy_of(OWNED "latency > 40ms", OWNED "failed; probability 0.5");
        uint64_t state = seed;

        for (size_t i = 0; i < REQUESTS; i++) {
            const struct cpti_head head = {.now_ns = 1,
                                           .probability = 0.01,
                                           .randomness = next_random(&state) >> 8};
            const struct cpti_ruling verdict = cpti_policy_begin(policy, &head);
            const double ms = 10 - 8 * log(1 - unit(&state));
            const struct cpti_ended ended = {.latency_ns = (uint64_t)(ms * 1e6),
                                             .is_failed = unit(&state) < ms / 500};
            double p = cpti_policy_end(policy, verdict.keep_rules, &ended);

            CU_ASSERT_EQUAL(verdict.keep_rules, 3);
            p = fmax(p, verdict.probability);
            latencies[i] = (float)ms;
            kept_with[i] =
                verdict.randomness >= cpt_sampling_threshold(p) ? (float)p : 0;
        }
        judge("keep", seed);
        cpti_policy_release(policy);
    }
}

/* Of one trace all who sample consistently keep a part of those with more. */
static void test_consistent_sets_are_nested(void)
{
    struct cpti_policy *more = policy_of(OWNED "probability 0.3; consistent", NULL);
    struct cpti_policy *less = policy_of(OWNED "probability 0.1; consistent", NULL);
    uint64_t state = 5;
    size_t counts[2] = {0};

    for (int i = 0; i < 20000; i++) {
        const struct cpti_head head = {.now_ns = 1,
                                       .randomness = next_random(&state) >> 8,
                                       .of_trace = next_random(&state) >> 8,
                                       .has_of_trace = true};
        const bool is_of_less = cpti_policy_begin(less, &head).is_hit;
        const bool is_of_more = cpti_policy_begin(more, &head).is_hit;

        CU_ASSERT_TRUE(is_of_more || !is_of_less);
        CU_ASSERT_EQUAL(is_of_less, head.of_trace >= cpt_sampling_threshold(0.1));
        counts[0] += is_of_less;
        counts[1] += is_of_more;
    }
    CU_ASSERT_DOUBLE_EQUAL(counts[0], 2000, 5 * sqrt(20000 * 0.1 * 0.9));
    CU_ASSERT_DOUBLE_EQUAL(counts[1], 6000, 5 * sqrt(20000 * 0.3 * 0.7));
    cpti_policy_release(more);
    cpti_policy_release(less);
}

static void test_tenants_are_bounded(void)
{
    struct cpti_policy *policy = policy_of(OWNED "rate 1/s", NULL);
    size_t shared = 0;

    for (int i = 0; i < 10000; i++) {
        char tenant[16];
        struct cpti_head head = {.now_ns = 1000, .randomness = 0};

        (void)snprintf(tenant, sizeof tenant, "t%d", i);
        head.tenant = cpt_bytes_of(tenant);
        shared += cpti_policy_begin(policy, &head).is_shared;
    }
    CU_ASSERT_TRUE(shared >= 10000 - CPTI_TENANTS_MAX && shared < 10000);
    cpti_policy_release(policy);
}

/* --- By a file --- */

static char folder[64];
static char path[128];
static char told[1024];

static void note(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)snprintf(told, sizeof told, "%.*s", (int)notice->sentence.bytes,
                   notice->sentence.data);
}

static struct cpt_settings *watch(const char *text)
{
    const struct cpt_settings_options options = {.struct_bytes = sizeof options,
                                                 .path = path,
                                                 .services = &pair.a,
                                                 .service_count = 1,
                                                 .period_ns = UINT64_C(3600000000000),
                                                 .notify = note};
    FILE *file = NULL;

    (void)snprintf(folder, sizeof folder, "policy.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/cpt.conf", folder);
    file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    (void)fclose(file);
    told[0] = '\0';
    return cpt_settings_new(&options, NULL);
}

static void unwatch(struct cpt_settings *settings)
{
    cpt_settings_free(settings);
    (void)unlink(path);
    (void)rmdir(folder);
}

static double probability_of(int index)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = read_record(index, &record);
    double probability = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.is_random);
    probability = record.probability;
    cpt_log_reader_free(reader);
    return probability;
}

/* The requests of the pair take 12 ms, 5 of them in "B: look". */
static void test_keep_rules(void)
{
    static const struct {
        const char *text;
        int is_kept;
    } cases[] = {
        {"latency > 11ms", 1},
        {"latency > 12ms", 0},
        {"failed", 0},
        {"path(\"B: look\") > 4ms", 1},
        {"path(\"B: look\") > 5ms", 0},
        {"path(\"B: none\") > 0ms", 0},
        {"latency > 1ms; method /other*", 0},
        {"latency > 1ms; method /*", 1},
        {"latency > 1ms; attribute arm treatment", 1},
        {"latency > 1ms; attribute arm control", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpt_settings *settings = NULL;
        char text[256];

        open_pair(never, never);
        (void)snprintf(text, sizeof text, "rule r = " OWNED "%s\n", cases[i].text);
        settings = watch(text);
        ask_a(NULL);
        CU_ASSERT_STRING_EQUAL(answer.body, "page");
        CU_ASSERT_EQUAL(record_count(), cases[i].is_kept);
        CU_ASSERT_EQUAL(counter(pair.a, "kept_by_rule", NULL),
                        (uint64_t)cases[i].is_kept);
        if (cases[i].is_kept) {
            CU_ASSERT_EQUAL(probability_of(0), 1);
        }
        unwatch(settings);
        close_pair();
    }
}

static void test_head_rules(void)
{
    const struct cpt_field tenant = {cpt_bytes_of("X-Tenant"), cpt_bytes_of("acme")};
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_settings *settings = NULL;

    open_pair(never, never);
    settings = watch("tenant = x-tenant\n"
                     "rule a = " OWNED "tenant acme; probability 1\n"
                     "rule b = " OWNED "probability 0\n");
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(record_count(), 0);
    inbound.headers = &tenant;
    inbound.header_count = 1;
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(record_count(), 1);
    CU_ASSERT_EQUAL(probability_of(0), 1);
    unwatch(settings);
    close_pair();
}

/* What an OpenTelemetry sampler of 50 % keeps, by `rv` and by the id of the trace. */
static void test_consistent_rule(void)
{
    static const struct {
        const char *parent;
        const char *state;
        int is_kept;
    } cases[] = {
        {"00-0af7651916cd43dd8480000000000000-b7ad6b7169203331-02", "", 1},
        {"00-0af7651916cd43dd847fffffffffffff-b7ad6b7169203331-02", "", 0},
        {"00-0af7651916cd43dd847fffffffffffff-b7ad6b7169203331-02",
         "a=1,ot=rv:80000000000000", 1},
        {"00-0af7651916cd43dd8480000000000000-b7ad6b7169203331-02",
         "ot=rv:7fffffffffffff", 0},
    };
    struct cpt_settings *settings = NULL;
    int kept = 0;

    open_pair(never, never);
    settings = watch("rule r = " OWNED "probability 0.5; consistent\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cpt_field field = {cpt_bytes_of("tracestate"),
                                        cpt_bytes_of(cases[i].state)};
        struct cpt_inbound inbound = inbound_with(NULL);

        inbound.traceparent = cpt_bytes_of(cases[i].parent);
        inbound.headers = &field;
        inbound.header_count = 1;
        ask(pair.a, &inbound);
        kept += cases[i].is_kept;
        CU_ASSERT_EQUAL(record_count(), kept);
    }
    CU_ASSERT_EQUAL(probability_of(0), 0.5);
    unwatch(settings);
    close_pair();
}

static void test_rules_end(void)
{
    struct cpt_settings *settings = NULL;

    open_pair(never, never);
    settings = watch("rule old = owner Ada; until 2020-02-29; probability 1\n");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(told, "rule 'old' of Ada ended with 2020-02-29: it is off"));
    ask_a(NULL);
    CU_ASSERT_EQUAL(record_count(), 0);
    unwatch(settings);
    settings = watch("rule r = owner Ada; until 2020-02-30; probability 1\n");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(told, "line 1: rule 'r': what 'until' says is malformed"));
    unwatch(settings);
    close_pair();
}

/* Files that a careless or hostile hand has written: each is refused whole, with its
 * line, and nothing of it holds. */
static void test_files_that_are_refused(void)
{
    static const struct {
        const char *text;
        const char *told;
    } cases[] = {
        {"probability = 1\nprobability = 1\n", "line 2: 'probability' is there twice"},
        {"probability = nan\n", "line 1: 'probability' is no number"},
        {"probability = inf\n", "line 1: 'probability' is no number"},
        {"probability = 1e0\n", "line 1: 'probability' is no number"},
        {"probability = 0x1\n", "line 1: 'probability' is no number"},
        {"\xef\xbb\xbfprobability = 1\n", "line 1: unknown setting"},
        {"{\"probability\": {\"a\": [[[[1]]]]}}\n", "line 1: it is not 'key = value'"},
        {"tenant = X-Tenant:\n", "line 1: 'tenant' is the name of one header"},
        {"tenant = x tenant\n", "line 1: 'tenant' is the name of one header"},
        {"tenant = a\ntenant = a\n", "line 2: 'tenant' is the name of one header"},
        {"rule a = " OWNED "probability nan\n", "rule 'a': what 'probability' says"},
        {"rule a = " OWNED "rate inf/s\n", "rule 'a': what 'rate' says"},
        {"rule a = " OWNED "rate 1/s; owner ops\n", "rule 'a': 'owner' twice"},
        {"rule a = " OWNED "rate 1/s\nrule a = " OWNED "rate 1/s\n",
         "line 2: rule 'a' is there twice"},
        {"rule = " OWNED "rate 1/s\n", "line 1: unknown setting 'rule'"},
        {"rule a = " OWNED "latency > 99999999999999s\n", "what 'latency' says"},
        {"rule a = " OWNED "path(path(\"x\")) > 1ms\n", "what 'path' says"},
        {"rule a = " OWNED "header X-A: b; rate 1/s\n", "what 'header' says"},
    };
    struct cpt_settings *settings = NULL;

    open_pair(never, never);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        settings = watch(cases[i].text);
        CU_ASSERT_PTR_NOT_NULL(strstr(told, cases[i].told));
        if (strstr(told, cases[i].told) == NULL) {
            (void)fprintf(stderr, "%s told '%s'\n", cases[i].text, told);
        }
        ask_a(NULL);
        CU_ASSERT_EQUAL(record_count(), 0);
        unwatch(settings);
    }
    close_pair();
}

/* Thousands of rules: the first that is too many is told. */
static void test_file_of_many_rules(void)
{
    enum { RULES = 1000, BYTES = RULES * 80 };
    struct cpt_settings *settings = NULL;
    char *text = malloc(BYTES);
    size_t bytes = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < RULES; i++) {
        bytes += (size_t)snprintf(text + bytes, BYTES - bytes,
                                  "rule r%d = " OWNED "probability 1\n", i);
        if (i == CPTI_RULES_MAX) {
            open_pair(never, never);
            settings = watch(text);
            CU_ASSERT_PTR_NOT_NULL(strstr(told, "line 33: more than 32 rules"));
            unwatch(settings);
        }
    }
    settings = watch(text);
    CU_ASSERT_PTR_NOT_NULL(strstr(told, "what was set before stays"));
    ask_a(NULL);
    CU_ASSERT_EQUAL(record_count(), 0);
    unwatch(settings);
    close_pair();
    free(text);
}

/* --- What callees are asked for --- */

static void test_glance_is_read(void)
{
    static const struct {
        const char *key;
        const char *text;
        cpt_status status;
    } cases[] = {
        {"glance_bytes", "31", CPT_INVALID},  {"glance_bytes", "4097", CPT_INVALID},
        {"glance_bytes", "9e9", CPT_INVALID}, {"glance_bytes", "", CPT_INVALID},
        {"glance_bytes", "128", CPT_OK},      {"glance_bytes", "128", CPT_INVALID},
        {"whole_rate", "5", CPT_INVALID},     {"whole_rate", "0/s", CPT_INVALID},
        {"whole_time", "60", CPT_INVALID},    {"whole_time", "0s", CPT_INVALID},
        {"whole_time", "250ms", CPT_OK},      {"whole_time", "1s", CPT_INVALID},
    };
    struct cpt_error error = {0};
    cpt_status status = CPT_OK;

    memset(&rules, 0, sizeof rules);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_TRUE(cpti_glance_read(&rules, cpt_bytes_of(cases[i].key),
                                        cpt_bytes_of(cases[i].text), &status, &error));
        CU_ASSERT_EQUAL(status, cases[i].status);
    }
    CU_ASSERT_EQUAL(rules.glance_bytes, 128);
    CU_ASSERT_EQUAL(rules.whole_ns, 250 * (uint64_t)MS);
    CU_ASSERT_FALSE(cpti_glance_read(&rules, cpt_bytes_of("whole"), cpt_bytes_of("1"),
                                     &status, &error));
}

/* The conditions of a rule need not be looked at further if one of them cannot hold. */
static void test_what_cannot_be_kept(void)
{
    static const struct {
        const char *text;
        uint64_t ms;
        bool is_failed;
        bool may_keep;
    } cases[] = {
        {"latency > 40ms", 40, true, false},
        {"latency > 40ms", 41, false, true},
        {"failed", 41, false, false},
        {"failed", 41, true, true},
        {"failed; latency > 40ms", 40, true, false},
        {"path(\"B\") > 40ms", 40, true, false}, /* it is not longer than all */
        {"path(\"B\") > 40ms", 41, false, true},
        {"attribute arm x", 0, false, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_policy *policy = NULL;
        char text[128];

        (void)snprintf(text, sizeof text, "%s%s", OWNED, cases[i].text);
        policy = policy_of(text, NULL);
        CU_ASSERT_EQUAL(
            cpti_policy_may_keep(policy, 1, cases[i].ms * MS, cases[i].is_failed),
            cases[i].may_keep);
        CU_ASSERT_FALSE(cpti_policy_may_keep(policy, 2, UINT64_MAX, true));
        cpti_policy_release(policy);
    }
}

static void crawl(void *context)
{
    (void)context;
    now.now_ns += 2 * (uint64_t)MS;
}

/* The path of record @index. */
static const char *recorded_path(int index)
{
    static char text[1024];
    struct cpt_record record;
    struct cpt_log_reader *reader = read_record(index, &record);
    struct cpt_path *read = cpt_path_new(NULL);

    CU_ASSERT_FATAL(reader != NULL && read != NULL);
    CU_ASSERT_EQUAL(record.probability, 1);
    CU_ASSERT_TRUE(record.is_random);
    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, read, NULL), CPT_OK);
    (void)snprintf(text, sizeof text, "%s", path_text(read));
    cpt_path_free(read);
    cpt_log_reader_free(reader);
    return text;
}

#define PATH_WITH(part)                                                                \
    "A: /;A: ask 2, A: /;A: ask;B: /look;B: " part " 5, "                              \
    "A: /;A: ask;B: /look;B: ‹network+serialization› 4, A: /;A: ask 3"
#define WHOLE_PATH  PATH_WITH("look")
#define LITTLE_PATH PATH_WITH("‹blind spot›") /* 40 bytes are a sum */

/* Requests take 12 ms, slow ones 14: the first of those has what little its callee was
 * asked for, the next ones have all, but not more than two in a second or so. */
static void test_little_then_whole(void)
{
    struct cpt_settings *settings = NULL;

    open_pair(never, never);
    settings = watch("glance_bytes = 40\nwhole_rate = 2/s\nwhole_time = 1s\n"
                     "rule slow = " OWNED "latency > 13ms\n");
    ask_a(NULL);
    CU_ASSERT_EQUAL(record_count(), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "dropped_at_end", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "asked_little", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.b, "returned_folded", NULL), 1);
    net.delay = crawl;
    ask_a(NULL);
    CU_ASSERT_STRING_EQUAL(recorded_path(0), LITTLE_PATH);
    CU_ASSERT_EQUAL(counter(pair.a, "asked_whole", NULL), 0);
    ask_a(NULL);
    CU_ASSERT_STRING_EQUAL(recorded_path(1), WHOLE_PATH);
    CU_ASSERT_EQUAL(counter(pair.a, "asked_whole", NULL), 1);
    for (int i = 0; i < 8; i++) {
        ask_a(NULL);
    }
    CU_ASSERT_EQUAL(record_count(), 10);
    CU_ASSERT_STRING_EQUAL(recorded_path(9), LITTLE_PATH);
    CU_ASSERT_TRUE(counter(pair.a, "asked_whole", NULL) <= 4);
    CU_ASSERT_EQUAL(counter(pair.a, "asked_whole", NULL) +
                        counter(pair.a, "limited_whole", NULL),
                    9);
    now.now_ns += 2000 * (uint64_t)MS; /* the time is over, the bucket is full */
    ask_a(NULL);
    CU_ASSERT_EQUAL(counter(pair.a, "asked_whole", NULL) +
                        counter(pair.a, "limited_whole", NULL),
                    9);
    CU_ASSERT_EQUAL(counter(pair.a, "asked_little", NULL) +
                        counter(pair.a, "asked_whole", NULL),
                    12);
    unwatch(settings);
    close_pair();
}

/* Who is asked for a path gets all of it, whatever rules there are. */
static void test_others_are_asked_for_all(void)
{
    struct cpt_settings *settings = NULL;

    open_pair(never, never);
    settings = watch("glance_bytes = 40\nrule slow = " OWNED "latency > 13ms\n");
    ask_a("1;forced");
    CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(), "B: /look;B: look 5"));
    ask_a("1;max=2048");
    CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(), "B: /look;B: look 5"));
    CU_ASSERT_EQUAL(counter(pair.a, "asked_little", NULL), 0);
    CU_ASSERT_EQUAL(counter(pair.b, "returned_folded", NULL), 0);
    unwatch(settings);
    settings = watch("glance_bytes = 40\nprobability = 1\nrule slow = " OWNED
                     "latency > 13ms\n");
    ask_a(NULL);
    CU_ASSERT_EQUAL(counter(pair.b, "returned_folded", NULL), 0);
    unwatch(settings);
    close_pair();
}

CU_TestInfo cpt_policy_tests[] = {
    {"rules that are read", test_rules_that_are_read},
    {"rules that are refused", test_rules_that_are_refused},
    {"weighted means of a rate are unbiased", test_rate_is_unbiased},
    {"weighted means of keep rules are unbiased", test_keeping_is_unbiased},
    {"consistent sets are nested", test_consistent_sets_are_nested},
    {"tenants are bounded", test_tenants_are_bounded},
    {"keep rules by a file", test_keep_rules},
    {"head rules by a file", test_head_rules},
    {"a consistent rule keeps what OpenTelemetry keeps", test_consistent_rule},
    {"rules end with their last day", test_rules_end},
    {"files that are refused", test_files_that_are_refused},
    {"a file of many rules", test_file_of_many_rules},
    {"what callees are asked for, as text", test_glance_is_read},
    {"what cannot be kept is known before its path", test_what_cannot_be_kept},
    {"callees are asked for little, then for all", test_little_then_whole},
    {"others are asked for all", test_others_are_asked_for_all},
    CU_TEST_INFO_NULL,
};
