/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sampling.h - whether a request is traced, and who gets its path; see sampling.c. */
#ifndef CPT_SAMPLING_H
#define CPT_SAMPLING_H

#include "framework/service/rules/bucket.h"
#include "framework/service/counters.h"
#include "framework/service/rules/glance.h"
#include "framework/service/rules/policy.h"
#include "framework/service/rules/trust.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* How a service decides. */
struct cpti_sampling {
    bool is_inner;
    bool trusts_forwarded;
    /* They may be set while it serves; relaxed: requests that come then may see either
     * of the old and the new ones. */
    _Atomic double probability;      /* 0: never */
    atomic_uint_least64_t threshold; /* the coin hits below it; 2^64 - 1: always */
    uint64_t seed;
    uint64_t trace_seed;   /* of ids of traces: the system's, in any case */
    struct cpti_lock lock; /* guards networks, which only requests that ask need … */
    struct cpti_networks networks;
    struct cpti_policy *policy; /* … and this, which all need if there is one */
    atomic_bool has_policy;     /* relaxed: a hint to look */
    atomic_uint_least64_t
        throw_count; /* relaxed: each throw gets a number of its own */
    const struct cpt_clock *clock;
    struct cpti_rate_limit forced;    /* asked for from outside */
    struct cpti_rate_limit asked;     /* asked for by callers within */
    atomic_uint graph_every;          /* K: the graph of one in K is kept; 0: of none */
    _Atomic double drag_share;        /* of those that ask for drags */
    struct cpti_rate_limit graphs;    /* whose graph is asked for */
    bool has_graphs;                  /* there is a log of them */
    atomic_uint_least64_t draw_count; /* relaxed, as throw_count */
};

/* What was decided about one request. All 0, but `ask`: it is not traced. */
struct cpti_decision {
    bool is_traced;
    bool is_random;       /* the coin hit */
    bool is_forced;       /* an entry was asked from outside */
    bool is_logged;       /* this service writes the record */
    bool is_local_root;   /* and it is not the entry */
    bool is_pending;      /* it is logged only if a keep rule says so at its end */
    bool is_thrown;       /* randomness is what decided */
    bool wants_drag : 1;  /* callees are asked for drags */
    bool wants_graph : 1; /* the graph is kept: then ask.graph_id is its id, whether it
                             came or not; else that is 0 */
    double probability;   /* of the coin, when it was thrown; of the policy's */
    uint64_t randomness;
    uint64_t generation;   /* of the policy that decided … */
    uint32_t keep_rules;   /* … and its rules that may keep the request */
    uint32_t glance_bytes; /* that callees are asked for at most; 0: for all */
    /* Version 0: the caller wants no path. Last, and set only if the request is traced:
     * most are not, and neither clear nor copy it. */
    struct cpt_ask ask;
    uint64_t nonce; /* of the ask; 0: none. As the ask */
};

static inline void cpti_decision_clear(struct cpti_decision *decision)
{
    memset(decision, 0, offsetof(struct cpti_decision, ask));
}

static inline void cpti_decision_copy(struct cpti_decision *to,
                                      const struct cpti_decision *from)
{
    memcpy(to, from, offsetof(struct cpti_decision, ask));
    if (from->is_traced) {
        to->ask = from->ask;
        to->nonce = from->nonce;
    }
}

struct cpti_trace_context;

/* --- keeping.c: only for sampling.c --- */

void cpti_keeping_init(struct cpti_sampling *sampling,
                       const struct cpt_service_options *options);

/* Draws whether a request that was hit with @randomness keeps its graph, and asks for
 * drags; @rule decided about it, or NULL. */
void cpti_keeping_draw(const struct cpti_sampling *sampling,
                       const struct cpti_policy_rule *rule, uint64_t randomness,
                       struct cpti_decision *decision);

/* Whether requests that the coin has hit are drawn from. */
static inline bool cpti_keeping_draws(const struct cpti_sampling *sampling)
{
    return atomic_load_explicit(&sampling->graph_every, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&sampling->drag_share, memory_order_relaxed) > 0;
}

/* What was drawn, if anything was, is overruled by what the header asks for. */
void cpti_keeping_decide(struct cpti_sampling *sampling, bool is_asked, bool is_inner,
                         const struct cpt_inbound *inbound,
                         struct cpti_counters *counters,
                         struct cpti_decision *decision);

/* --- */

/* Reads the options; the lock is there. CPT_OK, or CPT_INVALID or CPT_LIMIT with the
 * reason. */
cpt_status cpti_sampling_init(struct cpti_sampling *sampling,
                              const struct cpt_service_options *options,
                              struct cpt_error *error);

/* Whether it is heeded what @inbound wants: a path, or to end soon. An inner service
 * trusts all that reach it. */
bool cpti_sampling_trusts(struct cpti_sampling *sampling,
                          const struct cpt_inbound *inbound);

/* Sets them while it serves. @probability is from 0, never, to 1. */
void cpti_sampling_trust(struct cpti_sampling *sampling,
                         const struct cpti_networks *networks);
void cpti_sampling_set_probability(struct cpti_sampling *sampling, double probability);

/* The graph of one in @every traced requests is kept; 0: of none. */
void cpti_sampling_set_graph_every(struct cpti_sampling *sampling, unsigned every);
/* A share of them, 0 to 1, asks for drags. */
void cpti_sampling_set_drag_share(struct cpti_sampling *sampling, double share);
/* As many graphs may be asked for in a second; 0: the default, less: no limit. */
void cpti_sampling_set_graph_rate(struct cpti_sampling *sampling, double per_second);

/* A random number, not 0. */
uint64_t cpti_sampling_draw(struct cpti_sampling *sampling);

/* Takes the reference of the caller to @policy; NULL: there are no rules. */
void cpti_sampling_set_policy(struct cpti_sampling *sampling,
                              struct cpti_policy *policy);

/* The rules, with a reference that the caller gives back; NULL: there are none. */
struct cpti_policy *cpti_sampling_policy(struct cpti_sampling *sampling);

/* Throws the coin: enum cpt_coin. */
unsigned cpti_sampling_throw(struct cpti_sampling *sampling);

/* Decides about @inbound, which belongs to @trace, and counts the reasons. @decision is
 * all 0. */
void cpti_sampling_decide(struct cpti_sampling *sampling,
                          const struct cpt_inbound *inbound,
                          const struct cpti_trace_context *trace,
                          struct cpti_counters *counters,
                          struct cpti_decision *decision);

/* When @inbound came, by the clock of the service. */
uint64_t cpti_sampling_arrival_ns(const struct cpti_sampling *sampling,
                                  const struct cpt_inbound *inbound);

/* A request with glance_bytes, whose method has @glance: decides whether its callees
 * are asked for all, and counts it. */
void cpti_sampling_look(struct cpti_sampling *sampling, struct cpti_decision *decision,
                        struct cpti_glance *glance, uint64_t now_ns,
                        struct cpti_counters *counters);

/* What the callees of the request are asked for. */
struct cpt_ask cpti_sampling_ask(const struct cpti_decision *decision,
                                 size_t own_bytes_max);

/* Whether no rule can keep a request that is_pending, and nothing else logs it or asks
 * for its path. If so it is counted, and not logged. */
bool cpti_sampling_drops(struct cpti_sampling *sampling, struct cpti_decision *decision,
                         uint64_t latency_ns, bool is_failed,
                         struct cpti_counters *counters);

/* A request that is_pending has ended: decides whether it is logged, with which
 * probability, and counts it. */
void cpti_sampling_end(struct cpti_sampling *sampling, struct cpti_decision *decision,
                       const struct cpti_ended *ended, struct cpti_glance *glance,
                       struct cpti_counters *counters);

#endif
