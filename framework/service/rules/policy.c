/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * policy.c - rules of an operator, applied to requests; see policy.h
 *
 * A rate of r per second has a bucket of max(r, 1) tokens, which come back at r. A
 * request is traced with probability min(1, r / arrivals in the last second). One that
 * is traced takes a token; with d tokens too few the probability is 2^d times smaller.
 * So in t seconds about b + r * t requests are traced, and a few more by chance: a
 * bucket that refuses would have requests of probability 0, which no weight makes good.
 */
#include "framework/service/rules/policy.h"

#include "wire/cpt_metadata.h"

#include <string.h>
#include <strings.h>

#define DEBT_MAX       20.0
#define TENANT_IDLE_NS UINT64_C(10000000000)
#define NS_PER_SECOND  1e9

struct cpti_policy *cpti_policy_new(const struct cpti_policy_rules *rules,
                                    uint64_t generation, const struct cpt_alloc *alloc)
{
    struct cpti_policy *policy = cpt_alloc_zeroed(alloc, sizeof *policy);

    if (policy == NULL) {
        return NULL;
    }
    policy->alloc = alloc;
    policy->rules = *rules;
    policy->generation = generation;
    atomic_init(&policy->reference_count, 1);
    for (size_t i = 0; i < CPTI_RULES_MAX; i++) {
        atomic_init(&policy->is_over[i], false);
    }
    if (policy->rules.glance_bytes == 0) {
        policy->rules.glance_bytes = CPTI_GLANCE_BYTES_DEFAULT;
    }
    if (policy->rules.whole_ns == 0) {
        policy->rules.whole_ns = CPTI_WHOLE_NS_DEFAULT;
    }
    cpti_bucket_init(&policy->whole, rules->whole_rate > 0 ? rules->whole_rate
                                                           : CPTI_WHOLE_RATE_DEFAULT);
    cpti_lock_init(&policy->lock, CPTI_RANK_TENANTS);
    return policy;
}

void cpti_policy_release(struct cpti_policy *policy)
{
    if (policy != NULL && atomic_fetch_sub_explicit(&policy->reference_count, 1,
                                                    memory_order_acq_rel) == 1) {
        cpti_lock_deinit(&policy->lock);
        cpt_alloc_free(policy->alloc, policy);
    }
}

/* --- Matching --- */

static bool matches(const char *pattern, struct cpt_bytes text)
{
    const size_t bytes = strlen(pattern);

    if (bytes > 0 && pattern[bytes - 1] == '*') {
        return text.bytes >= bytes - 1 &&
               (bytes == 1 || memcmp(text.data, pattern, bytes - 1) == 0);
    }
    return bytes == 0 || cpt_bytes_equal(text, cpt_bytes_of(pattern));
}

/* The first header of this name decides, in any case of its letters. */
static bool has_header(const struct cpti_policy_rule *rule,
                       const struct cpti_head *head)
{
    const size_t bytes = strlen(rule->header);

    for (size_t i = 0; i < head->header_count; i++) {
        const struct cpt_field *field = &head->headers[i];

        if (field->name.bytes == bytes &&
            strncasecmp(field->name.data, rule->header, bytes) == 0) {
            return matches(rule->header_value, field->value);
        }
    }
    return false;
}

/* The bytes of @text before the first @end; @text goes behind it. */
static struct cpt_bytes cut(struct cpt_bytes *text, char end)
{
    const char *found = text->bytes > 0 ? memchr(text->data, end, text->bytes) : NULL;
    const struct cpt_bytes part = {
        text->data, found != NULL ? (size_t)(found - text->data) : text->bytes};

    text->data += part.bytes + (found != NULL);
    text->bytes -= part.bytes + (found != NULL);
    return part;
}

/* Likewise of the query. It is compared as it came: rules take no memory to undo what
 * is escaped. */
static bool has_parameter(const struct cpti_policy_rule *rule,
                          const struct cpti_head *head)
{
    struct cpt_bytes query = head->query;

    while (query.bytes > 0) {
        struct cpt_bytes value = cut(&query, '&');
        const struct cpt_bytes name = cut(&value, '=');

        if (cpt_bytes_equal(name, cpt_bytes_of(rule->parameter))) {
            return matches(rule->parameter_value, value);
        }
    }
    return false;
}

static bool is_for(const struct cpti_policy *policy, size_t index,
                   const struct cpti_head *head)
{
    const struct cpti_policy_rule *rule = &policy->rules.items[index];

    return !atomic_load_explicit(&policy->is_over[index], memory_order_relaxed) &&
           matches(rule->method, head->method) && matches(rule->tenant, head->tenant) &&
           (rule->header[0] == '\0' || has_header(rule, head)) &&
           (rule->parameter[0] == '\0' || has_parameter(rule, head));
}

static bool is_hit(double probability, uint64_t randomness)
{
    return probability > 0 && randomness >= cpt_sampling_threshold(probability);
}

/* --- Rates --- */

static uint64_t key_of(size_t rule, struct cpt_bytes tenant)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + rule;

    for (size_t i = 0; i < tenant.bytes; i++) {
        hash = (hash ^ (unsigned char)tenant.data[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 29;
    return hash != 0 ? hash : 1;
}

/* The place of the tenant, a new one, one of a tenant that is gone, or the shared one.
 * Lock held. */
static struct cpti_tenant *tenant_of(struct cpti_policy *policy, uint64_t key,
                                     uint64_t now_ns)
{
    struct cpti_tenant *oldest = NULL;

    for (size_t i = 0; i < CPTI_TENANT_WAYS; i++) {
        struct cpti_tenant *tenant = &policy->tenants[(key + i) % CPTI_TENANTS_MAX];

        if (tenant->key == key) {
            return tenant;
        }
        if (oldest == NULL || tenant->key == 0 ||
            (oldest->key != 0 && tenant->last_ns < oldest->last_ns)) {
            oldest = tenant;
        }
    }
    if (oldest->key != 0 &&
        (now_ns < oldest->last_ns || now_ns - oldest->last_ns < TENANT_IDLE_NS)) {
        return &policy->tenants[CPTI_TENANTS_MAX];
    }
    *oldest = (struct cpti_tenant){.key = key};
    return oldest;
}

/* Brings the bucket to @now_ns, and returns the probability of what comes then. */
static double adapt(struct cpti_tenant *tenant, double rate, uint64_t now_ns)
{
    const double capacity = rate > 1 ? rate : 1;
    const double seconds = now_ns > tenant->last_ns
                               ? (double)(now_ns - tenant->last_ns) / NS_PER_SECOND
                               : 0;
    double probability = 1;

    tenant->tokens += rate * seconds;
    if (tenant->last_ns == 0 || tenant->tokens > capacity) {
        tenant->tokens = capacity;
    }
    tenant->arrivals /= 1 + seconds;
    tenant->last_ns = now_ns > tenant->last_ns ? now_ns : tenant->last_ns;
    if (tenant->arrivals > rate) {
        probability = rate / tenant->arrivals;
    }
    for (double debt = -tenant->tokens; debt > 0 && debt < DEBT_MAX; debt -= 1) {
        probability /= debt < 1 ? 1 + debt : 2;
    }
    return probability;
}

static void throw_by_rate(struct cpti_policy *policy, size_t index,
                          const struct cpti_head *head, struct cpti_ruling *verdict)
{
    const double rate = policy->rules.items[index].rate;
    const uint64_t key = key_of(index, head->tenant);
    struct cpti_tenant *tenant = NULL;

    cpti_lock_take(&policy->lock);
    tenant = tenant_of(policy, key, head->now_ns);
    verdict->is_shared = tenant->key != key;
    verdict->probability = adapt(tenant, rate, head->now_ns);
    verdict->is_hit = is_hit(verdict->probability, verdict->randomness);
    tenant->arrivals += 1;
    if (verdict->is_hit && tenant->tokens > 1 - DEBT_MAX) {
        tenant->tokens -= 1;
    }
    cpti_lock_release(&policy->lock);
}

/* --- The beginning --- */

struct cpti_ruling cpti_policy_begin(struct cpti_policy *policy,
                                     const struct cpti_head *head)
{
    struct cpti_ruling verdict = {.probability = head->probability,
                                  .randomness = head->randomness};
    const struct cpti_policy_rule *decisive = NULL;
    size_t number = 0;

    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct cpti_policy_rule *rule = &policy->rules.items[i];

        if ((!rule->is_keep && decisive != NULL) || !is_for(policy, i, head)) {
            continue;
        }
        if (rule->is_keep) {
            verdict.keep_rules |= UINT32_C(1) << i;
        } else {
            decisive = rule;
            number = i;
        }
    }
    verdict.rule = decisive;
    if (decisive != NULL && decisive->is_consistent && head->has_of_trace) {
        verdict.randomness = head->of_trace;
    }
    if (decisive != NULL && !decisive->has_probability) {
        throw_by_rate(policy, number, head, &verdict);
        return verdict;
    }
    if (decisive != NULL) {
        verdict.probability = decisive->probability;
    }
    verdict.is_hit = is_hit(verdict.probability, verdict.randomness);
    return verdict;
}

/* --- The end --- */

/* The time in frames whose text is @name, and below them. Each frame stands behind its
 * parent, so one pass finds which lie below; no memory is needed for paths of usual
 * size, and the rest of a longer one is not looked at. */
static uint64_t time_in(const struct cpt_path *path, const char *name)
{
    enum { FRAMES_MAX = 4096 };
    const struct cpt_bytes wanted = cpt_bytes_of(name);
    unsigned char is_within[FRAMES_MAX / 8] = {0};
    char text[CPT_NAME_BYTES_MAX * 4 + 64];
    size_t count = cpt_path_frame_count(path);
    uint64_t sum_ns = 0;

    count = count < FRAMES_MAX ? count : FRAMES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t parent = cpt_path_frame(path, i)->parent;
        bool is_in = parent != CPT_FRAME_NONE &&
                     ((unsigned)is_within[parent / 8] >> parent % 8 & 1U) != 0;

        if (!is_in) {
            const size_t bytes = cpt_path_frame_text(path, i, text, sizeof text);

            is_in = bytes == wanted.bytes && memcmp(text, name, bytes) == 0;
        }
        if (is_in) {
            is_within[i / 8] |= (unsigned char)(1U << i % 8);
        }
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        if (segment->frame < count &&
            ((unsigned)is_within[segment->frame / 8] >> segment->frame % 8 & 1U) != 0) {
            sum_ns += segment->duration_ns;
        }
    }
    return sum_ns;
}

static bool has_attribute(const struct cpti_policy_rule *rule,
                          const struct cpti_ended *ended)
{
    for (size_t i = 0; i < ended->attribute_count; i++) {
        const struct cpt_attribute *attribute = &ended->attributes[i];

        if (cpt_bytes_equal(attribute->key, cpt_bytes_of(rule->key))) {
            return attribute->type == CPT_ATTRIBUTE_TEXT &&
                   matches(rule->value, attribute->value.text);
        }
    }
    return false;
}

static bool may_hold(const struct cpti_policy_rule *rule, uint64_t latency_ns,
                     bool is_failed)
{
    return (!rule->wants_failed || is_failed) &&
           (!rule->has_latency || latency_ns > rule->latency_ns) &&
           (!rule->has_path || latency_ns > rule->path_ns);
}

static bool holds(const struct cpti_policy_rule *rule, const struct cpti_ended *ended)
{
    if (!may_hold(rule, ended->latency_ns, ended->is_failed) ||
        (rule->key[0] != '\0' && !has_attribute(rule, ended))) {
        return false;
    }
    return !rule->has_path ||
           (ended->path != NULL && time_in(ended->path, rule->frame) > rule->path_ns);
}

bool cpti_policy_may_keep(const struct cpti_policy *policy, uint32_t keep_rules,
                          uint64_t latency_ns, bool is_failed)
{
    for (size_t i = 0; i < policy->rules.count; i++) {
        if ((keep_rules >> i & 1U) != 0 &&
            may_hold(&policy->rules.items[i], latency_ns, is_failed)) {
            return true;
        }
    }
    return false;
}

double cpti_policy_end(const struct cpti_policy *policy, uint32_t keep_rules,
                       const struct cpti_ended *ended)
{
    double probability = 0;

    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct cpti_policy_rule *rule = &policy->rules.items[i];

        if ((keep_rules >> i & 1U) != 0 && rule->probability > probability &&
            holds(rule, ended)) {
            probability = rule->probability;
        }
    }
    return probability;
}
