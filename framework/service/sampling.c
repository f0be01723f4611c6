/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sampling.c - whether a request is traced, who logs it, and who gets its path
 *
 *                       the header asks              the coin hits
 *      entry            traced, logged as forced     traced, logged as random
 *      inner service    traced for its caller        traced, logged as a local root
 *
 * A service that an entry calls may call back into the entry. That request has not
 * entered there: it is part of one that the entry logs already, so it is treated like
 * one of an inner service. Its ask tells: a service always sends `max` and never
 * `forced`; a person sends `forced`, or just the version.
 *
 * The coin is thrown for every request, also for those whose header asks: a sample
 * without the requests that a person looked at would be biased. It knows nothing of the
 * request, so that each kind of request is hit with the same probability. Its only
 * state is a count: throw number n is the n-th output of splitmix64 (G. Steele, D. Lea,
 * C. Flood, "Fast splittable pseudorandom number generators", 2014).
 *
 * An entry heeds the header only from networks that it was told to trust: tracing costs
 * time, and the path tells how the service is built. It trusts none by itself, not even
 * loopback: behind a proxy on the same machine every stranger comes from there, and
 * proxies add no header by default that says so. A request with a forwarding header is
 * trusted only if another option says so, too. What is trusted may also be a name of
 * the certificate that the client has shown, and the transport has verified.
 *
 * Rules of the operator (policy.h) may decide in place of the coin, when the request is
 * known. What a keep rule may keep is traced, but logged only if the rule says so at
 * its end.
 *
 * Trusted callers make mistakes. So there is a limit of how many requests in a second
 * are traced because they ask; what the coin hits is traced in any case.
 */
#include "framework/service/sampling.h"

#include "framework/run/random.h"
#include "framework/service/trace_context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROBABILITY_DEFAULT       0.001
#define FORCED_PER_SECOND_DEFAULT 100
#define ASKED_PER_SECOND_DEFAULT  10000

/* --- Trust --- */

void cpti_sampling_trust(struct cpti_sampling *sampling,
                         const struct cpti_networks *networks)
{
    cpti_lock_take(&sampling->lock);
    sampling->networks = *networks;
    cpti_lock_release(&sampling->lock);
}

bool cpti_sampling_trusts(struct cpti_sampling *sampling,
                          const struct cpt_inbound *inbound)
{
    bool is_found = false;

    if (sampling->is_inner) {
        return true;
    }
    if (inbound->is_forwarded && !sampling->trusts_forwarded) {
        return false;
    }
    cpti_lock_take(&sampling->lock);
    is_found = cpti_networks_have(&sampling->networks, inbound);
    cpti_lock_release(&sampling->lock);
    return is_found;
}

/* --- The coin --- */

static uint64_t splitmix64(uint64_t seed, uint64_t index)
{
    uint64_t x = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool throw_coin(struct cpti_sampling *sampling)
{
    const uint64_t index =
        atomic_fetch_add_explicit(&sampling->throw_count, 1, memory_order_relaxed);
    const uint64_t threshold =
        atomic_load_explicit(&sampling->threshold, memory_order_relaxed);

    return threshold == UINT64_MAX || splitmix64(sampling->seed, index) < threshold;
}

void cpti_sampling_set_probability(struct cpti_sampling *sampling, double probability)
{
    const uint64_t threshold = probability >= 1
                                   ? UINT64_MAX
                                   : (uint64_t)(probability * 18446744073709551616.0);

    atomic_store_explicit(&sampling->probability, probability, memory_order_relaxed);
    atomic_store_explicit(&sampling->threshold, threshold, memory_order_relaxed);
}

/* 0 is the default, less than 0 is never. */
static cpt_status set_probability(struct cpti_sampling *sampling, double wanted,
                                  struct cpt_error *error)
{
    const double probability = wanted == 0  ? PROBABILITY_DEFAULT
                               : wanted > 0 ? wanted
                                            : 0;

    if (isnan(wanted) || wanted > 1) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a request cannot be traced with probability %g: it must "
                             "be from 0 to 1",
                             wanted);
    }
    cpti_sampling_set_probability(sampling, probability);
    return CPT_OK;
}

cpt_status cpti_sampling_init(struct cpti_sampling *sampling,
                              const struct cpt_service_options *options,
                              struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    sampling->is_inner = options->role == CPT_ROLE_INNER;
    sampling->trusts_forwarded = options->trusts_forwarded != 0;
    status = set_probability(sampling, options->probability, error);
    if (isnan(options->forced_per_second_max) || isnan(options->asked_per_second_max) ||
        isnan(options->graphs_per_second_max)) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "how many requests a second may ask for a path is a number");
    }
    if (!(options->drag_share >= 0 && options->drag_share <= 1)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the share of requests that ask for drags must be from 0 "
                             "to 1");
    }
    sampling->seed = options->seed != 0 ? options->seed : cpti_random_seed();
    sampling->trace_seed = cpti_random_seed();
    atomic_init(&sampling->has_policy, false);
    atomic_init(&sampling->throw_count, 0);
    sampling->clock = options->clock;
    cpti_keeping_init(sampling, options);
    cpti_bucket_init(&sampling->forced, options->forced_per_second_max != 0
                                            ? options->forced_per_second_max
                                            : FORCED_PER_SECOND_DEFAULT);
    cpti_bucket_init(&sampling->asked, options->asked_per_second_max != 0
                                           ? options->asked_per_second_max
                                           : ASKED_PER_SECOND_DEFAULT);
    return status == CPT_OK ? cpti_networks_read(&sampling->networks,
                                                 options->trusted_networks, error)
                            : status;
}

unsigned cpti_sampling_throw(struct cpti_sampling *sampling)
{
    if (atomic_load_explicit(&sampling->has_policy, memory_order_relaxed)) {
        return CPT_COIN_LATER;
    }
    return throw_coin(sampling) ? CPT_COIN_HIT : CPT_COIN_MISSED;
}

/* --- Rules of the operator --- */

void cpti_sampling_set_policy(struct cpti_sampling *sampling,
                              struct cpti_policy *policy)
{
    struct cpti_policy *before = NULL;

    cpti_lock_take(&sampling->lock);
    before = sampling->policy;
    sampling->policy = policy;
    atomic_store_explicit(&sampling->has_policy, policy != NULL, memory_order_relaxed);
    cpti_lock_release(&sampling->lock);
    cpti_policy_release(before);
}

struct cpti_policy *cpti_sampling_policy(struct cpti_sampling *sampling)
{
    struct cpti_policy *policy = NULL;

    if (!atomic_load_explicit(&sampling->has_policy, memory_order_relaxed)) {
        return NULL;
    }
    cpti_lock_take(&sampling->lock);
    policy = sampling->policy;
    if (policy != NULL) {
        atomic_fetch_add_explicit(&policy->reference_count, 1, memory_order_relaxed);
    }
    cpti_lock_release(&sampling->lock);
    return policy;
}

/* The value of the first header @name of @inbound; empty: there is none. */
static struct cpt_bytes header_of(const struct cpt_inbound *inbound, const char *name)
{
    const size_t bytes = strlen(name);

    for (size_t i = 0; i < inbound->header_count && i < CPT_HEADERS_MAX; i++) {
        if (inbound->headers[i].name.bytes == bytes &&
            strncasecmp(inbound->headers[i].name.data, name, bytes) == 0) {
            return inbound->headers[i].value;
        }
    }
    return (struct cpt_bytes){NULL, 0};
}

/* R of the trace: `rv` of its tracestate, else what its id ends with. */
static uint64_t randomness_of(const struct cpt_inbound *inbound,
                              const struct cpti_trace_context *trace)
{
    struct cpt_consistent consistent;
    uint64_t randomness = 0;

    cpt_consistent_parse(header_of(inbound, CPT_HEADER_TRACESTATE), &consistent);
    if (consistent.has_randomness) {
        return consistent.randomness;
    }
    for (size_t i = 9; i < sizeof trace->parent.trace_id; i++) {
        randomness = randomness << 8 | trace->parent.trace_id[i];
    }
    return randomness;
}

uint64_t cpti_sampling_arrival_ns(const struct cpti_sampling *sampling,
                                  const struct cpt_inbound *inbound)
{
    return inbound->arrival_ns != 0 ? inbound->arrival_ns
                                    : cpt_clock_now_ns(sampling->clock);
}

/* Decides by @policy. */
static void decide_by_rules(struct cpti_sampling *sampling, struct cpti_policy *policy,
                            const struct cpt_inbound *inbound,
                            const struct cpti_trace_context *trace,
                            struct cpti_decision *decision,
                            struct cpti_counters *counters)
{
    const uint64_t index =
        atomic_fetch_add_explicit(&sampling->throw_count, 1, memory_order_relaxed);
    struct cpti_head head = {.method = inbound->method,
                             .query = inbound->query,
                             .headers = inbound->headers,
                             .header_count = inbound->header_count < CPT_HEADERS_MAX
                                                 ? inbound->header_count
                                                 : CPT_HEADERS_MAX,
                             .now_ns = cpti_sampling_arrival_ns(sampling, inbound),
                             .probability = atomic_load_explicit(&sampling->probability,
                                                                 memory_order_relaxed),
                             .randomness = splitmix64(sampling->seed, index) >> 8,
                             .has_of_trace = trace->is_there};
    struct cpti_ruling verdict;

    if (policy->rules.tenant_header[0] != '\0') {
        head.tenant = header_of(inbound, policy->rules.tenant_header);
    }
    if (trace->is_there && policy->rules.has_consistent) {
        head.of_trace = randomness_of(inbound, trace);
    }
    verdict = cpti_policy_begin(policy, &head);
    decision->is_random = verdict.is_hit;
    decision->probability = verdict.probability;
    decision->randomness = verdict.randomness;
    decision->is_thrown = true;
    decision->keep_rules = verdict.keep_rules;
    if (verdict.is_hit) {
        cpti_keeping_draw(sampling, verdict.rule, verdict.randomness, decision);
    }
    decision->generation = policy->generation;
    decision->glance_bytes = verdict.keep_rules != 0 ? policy->rules.glance_bytes : 0;
    if (verdict.is_shared) {
        CPTI_COUNT(counters, tenants_shared);
    }
}

/* The rules that decided at the beginning, as cpti_sampling_policy(); NULL: others hold
 * since. */
static struct cpti_policy *policy_of(struct cpti_sampling *sampling,
                                     const struct cpti_decision *decision)
{
    struct cpti_policy *policy = cpti_sampling_policy(sampling);

    if (policy != NULL && policy->generation != decision->generation) {
        cpti_policy_release(policy);
        return NULL;
    }
    return policy;
}

void cpti_sampling_look(struct cpti_sampling *sampling, struct cpti_decision *decision,
                        struct cpti_glance *glance, uint64_t now_ns,
                        struct cpti_counters *counters)
{
    struct cpti_policy *policy = NULL;

    if (now_ns < atomic_load_explicit(&glance->whole_until_ns, memory_order_relaxed)) {
        policy = policy_of(sampling, decision);
    }
    if (policy == NULL) {
        CPTI_COUNT(counters, asked_little);
        return;
    }
    if (cpti_bucket_take(&policy->whole, now_ns)) {
        decision->glance_bytes = 0;
        CPTI_COUNT(counters, asked_whole);
    } else {
        CPTI_COUNT(counters, asked_little);
        CPTI_COUNT(counters, limited_whole);
    }
    cpti_policy_release(policy);
}

struct cpt_ask cpti_sampling_ask(const struct cpti_decision *decision,
                                 size_t own_bytes_max)
{
    struct cpt_ask ask = cpt_ask_downstream(
        decision->ask.version != 0 ? &decision->ask : NULL, own_bytes_max);

    if (decision->glance_bytes != 0 && decision->glance_bytes < ask.bytes_max) {
        ask.bytes_max = decision->glance_bytes;
    }
    ask.wants_drag = decision->wants_drag;
    ask.graph_id = 0; /* each call has its own */
    return ask;
}

bool cpti_sampling_drops(struct cpti_sampling *sampling, struct cpti_decision *decision,
                         uint64_t latency_ns, bool is_failed,
                         struct cpti_counters *counters)
{
    struct cpti_policy *policy = NULL;
    bool may_keep = false;

    if (!decision->is_pending || decision->is_random || decision->ask.version != 0) {
        return false;
    }
    policy = policy_of(sampling, decision);
    may_keep = policy != NULL && cpti_policy_may_keep(policy, decision->keep_rules,
                                                      latency_ns, is_failed);
    cpti_policy_release(policy);
    if (!may_keep) {
        decision->is_logged = false;
        CPTI_COUNT(counters, dropped_at_end);
    }
    return !may_keep;
}

void cpti_sampling_end(struct cpti_sampling *sampling, struct cpti_decision *decision,
                       const struct cpti_ended *ended, struct cpti_glance *glance,
                       struct cpti_counters *counters)
{
    struct cpti_policy *policy = policy_of(sampling, decision);
    double probability = 0;

    if (policy != NULL) {
        probability = cpti_policy_end(policy, decision->keep_rules, ended);
    }
    if (probability > 0) {
        atomic_store_explicit(&glance->whole_until_ns,
                              cpt_clock_now_ns(sampling->clock) +
                                  policy->rules.whole_ns,
                              memory_order_relaxed);
    }
    cpti_policy_release(policy);
    if (decision->is_random) { /* it would have been kept by either */
        if (probability > decision->probability) {
            decision->probability = probability;
        }
        return;
    }
    decision->is_random =
        probability > 0 && decision->randomness >= cpt_sampling_threshold(probability);
    decision->is_logged = decision->is_random;
    if (decision->is_random) {
        decision->probability = probability;
        CPTI_COUNT(counters, kept_by_rule);
    } else {
        CPTI_COUNT(counters, dropped_at_end);
    }
}

/* --- The decision --- */

/* What the header asks for; version 0: it is not heeded. */
static struct cpt_ask read_ask(struct cpti_sampling *sampling,
                               const struct cpt_inbound *inbound,
                               struct cpti_counters *counters)
{
    struct cpt_ask ask = {0};

    if (inbound->critical_path_count > 1) {
        CPTI_COUNT(counters, refused_repeated);
    } else if (cpt_ask_parse(&inbound->critical_path, 1, &ask, NULL) != CPT_OK) {
        CPTI_COUNT(counters, refused_malformed);
    } else if (!cpti_sampling_trusts(sampling, inbound)) {
        CPTI_COUNT(counters, refused_untrusted);
        ask = (struct cpt_ask){0};
    }
    if (!sampling->is_inner) { /* the file of an entry alone says what is delayed */
        ask.delay_ns = 0;
    }
    return ask;
}

/* The nonce of the ask that @inbound has; 0: none, or several. */
static uint64_t read_nonce(const struct cpt_inbound *inbound)
{
    struct cpt_bytes values[2];
    size_t count = 0;

    for (size_t i = 0; i < inbound->header_count && i < CPT_HEADERS_MAX && count < 2;
         i++) {
        const struct cpt_bytes name = inbound->headers[i].name;

        if (name.bytes == sizeof CPT_HEADER_NONCE - 1 &&
            strncasecmp(name.data, CPT_HEADER_NONCE, name.bytes) == 0) {
            values[count++] = inbound->headers[i].value;
        }
    }
    return cpt_nonce_parse(values, count);
}

/* Whether one more request may be traced because it asks. */
static bool may_trace(struct cpti_sampling *sampling, const struct cpt_inbound *inbound,
                      bool is_inner, struct cpti_counters *counters)
{
    const uint64_t now_ns = cpti_sampling_arrival_ns(sampling, inbound);

    if (is_inner) {
        if (!cpti_bucket_take(&sampling->asked, now_ns)) {
            CPTI_COUNT(counters, limited_asked);
            return false;
        }
    } else if (!cpti_bucket_take(&sampling->forced, now_ns)) {
        CPTI_COUNT(counters, limited_forced);
        return false;
    }
    return true;
}

/* Decides by the rules; false: there are none any more. Not inlined, so that a request
 * without rules does not save the registers that this needs; as decide(). */
static __attribute__((noinline)) bool
throw_by_rules(struct cpti_sampling *sampling, const struct cpt_inbound *inbound,
               const struct cpti_trace_context *trace, struct cpti_counters *counters,
               struct cpti_decision *decision)
{
    struct cpti_policy *policy = cpti_sampling_policy(sampling);

    if (policy == NULL) {
        return false;
    }
    decide_by_rules(sampling, policy, inbound, trace, decision, counters);
    cpti_policy_release(policy);
    return true;
}

/* The request has a header that asks, or the coin has hit, or a rule may keep it. */
static __attribute__((noinline)) void decide(struct cpti_sampling *sampling,
                                             const struct cpt_inbound *inbound,
                                             struct cpti_counters *counters,
                                             struct cpti_decision *decision)
{
    bool is_asked = false;
    bool is_inner = sampling->is_inner;

    decision->ask = (struct cpt_ask){0};
    decision->nonce = 0;
    if (inbound->critical_path_count != 0) {
        decision->ask = read_ask(sampling, inbound, counters);
        is_asked = decision->ask.version != 0;
        is_inner |= is_asked && decision->ask.has_max && !decision->ask.is_forced;
        if (is_asked && !may_trace(sampling, inbound, is_inner, counters)) {
            decision->ask = (struct cpt_ask){0};
            is_asked = false;
            is_inner = sampling->is_inner;
        }
        if (is_asked) {
            decision->nonce = read_nonce(inbound);
        }
    }
    if (!decision->is_random && !is_asked && decision->keep_rules == 0) {
        return;
    }
    if (decision->is_random && !decision->is_thrown && cpti_keeping_draws(sampling)) {
        cpti_keeping_draw(sampling, NULL, cpti_sampling_draw(sampling), decision);
    }
    cpti_keeping_decide(sampling, is_asked, is_inner, inbound, counters, decision);
    decision->is_traced = true;
    decision->is_forced = is_asked && !is_inner;
    decision->is_pending = decision->keep_rules != 0 && !decision->is_forced;
    decision->is_logged = decision->is_forced || decision->is_random ||
                          decision->is_pending || (is_asked && !is_inner);
    decision->is_local_root = is_inner;
    if (decision->is_random || is_asked) {
        decision->glance_bytes = 0;
    }
    CPTI_COUNT(counters, traced);
    if (decision->is_random) {
        CPTI_COUNT(counters, traced_by_coin);
    }
    if (is_asked) {
        CPTI_COUNT(counters, traced_by_ask);
    }
}

void cpti_sampling_decide(struct cpti_sampling *sampling,
                          const struct cpt_inbound *inbound,
                          const struct cpti_trace_context *trace,
                          struct cpti_counters *counters,
                          struct cpti_decision *decision)
{
    const bool is_open =
        inbound->coin == CPT_COIN_NONE || inbound->coin == CPT_COIN_LATER;

    if (!is_open ||
        !atomic_load_explicit(&sampling->has_policy, memory_order_relaxed) ||
        !throw_by_rules(sampling, inbound, trace, counters, decision)) {
        decision->is_random =
            is_open ? throw_coin(sampling) : inbound->coin == CPT_COIN_HIT;
        decision->probability =
            atomic_load_explicit(&sampling->probability, memory_order_relaxed);
    }
    if (inbound->critical_path_count != 0 || decision->is_random ||
        decision->keep_rules != 0) {
        decide(sampling, inbound, counters, decision);
    }
}
