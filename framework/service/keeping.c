/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * keeping.c - whether the graph of a traced request is kept, and drags are asked for
 *
 *      entry            one in graph_every of what the coin or a rule has hit; and
 *                       what is asked for from outside, by the header
 *      inner service    what its caller asks for: all of a request, or nothing
 *
 * Both are drawn from the random number that has decided to trace the request, mixed
 * anew: requests that are kept are a fair sample of those that are traced, and where
 * that number is the trace's, all services that draw from it agree.
 *
 * A caller that asks makes work and memory necessary here. So there is a limit of how
 * many graphs in a second are kept for the header; the rest is traced as before.
 */
#include "framework/service/sampling.h"

#include "framework/run/span_ids.h"

#define GRAPHS_PER_SECOND_DEFAULT 100

/* What a request's random number is mixed with. */
#define MIX_GRAPH 1
#define MIX_DRAG  2

void cpti_keeping_init(struct cpti_sampling *sampling,
                       const struct cpt_service_options *options)
{
    cpti_sampling_set_graph_every(sampling, options->graph_every);
    cpti_sampling_set_drag_share(sampling, options->drag_share);
    cpti_bucket_init(&sampling->graphs, 0);
    cpti_sampling_set_graph_rate(sampling, options->graphs_per_second_max);
    sampling->has_graphs = options->graphs != NULL;
    atomic_init(&sampling->draw_count, 0);
}

void cpti_sampling_set_graph_every(struct cpti_sampling *sampling, unsigned every)
{
    atomic_store_explicit(&sampling->graph_every, every, memory_order_relaxed);
}

void cpti_sampling_set_drag_share(struct cpti_sampling *sampling, double share)
{
    atomic_store_explicit(&sampling->drag_share, share, memory_order_relaxed);
}

void cpti_sampling_set_graph_rate(struct cpti_sampling *sampling, double per_second)
{
    cpti_bucket_set(&sampling->graphs,
                    per_second != 0 ? per_second : GRAPHS_PER_SECOND_DEFAULT);
}

uint64_t cpti_sampling_draw(struct cpti_sampling *sampling)
{
    return cpti_span_id(
        sampling->trace_seed ^ ~UINT64_C(0),
        atomic_fetch_add_explicit(&sampling->draw_count, 1, memory_order_relaxed));
}

void cpti_keeping_draw(const struct cpti_sampling *sampling,
                       const struct cpti_policy_rule *rule, uint64_t randomness,
                       struct cpti_decision *decision)
{
    const uint64_t every =
        rule != NULL && rule->has_graph
            ? rule->graph_every
            : atomic_load_explicit(&sampling->graph_every, memory_order_relaxed);
    const double share =
        rule != NULL && rule->has_drag
            ? rule->drag_share
            : atomic_load_explicit(&sampling->drag_share, memory_order_relaxed);

    decision->wants_graph =
        every != 0 && sampling->has_graphs &&
        ((cpti_span_id(randomness, MIX_GRAPH) >> 32) * every) >> 32 == 0;
    decision->wants_drag =
        share > 0 && (double)cpti_span_id(randomness, MIX_DRAG) < share * 0x1p64;
}

/* Whether a graph may be kept because the header asks. */
static bool may_keep(struct cpti_sampling *sampling, const struct cpt_inbound *inbound,
                     struct cpti_counters *counters)
{
    if (sampling->has_graphs &&
        cpti_bucket_take(&sampling->graphs,
                         cpti_sampling_arrival_ns(sampling, inbound))) {
        return true;
    }
    CPTI_COUNT(counters, refused_graphs);
    return false;
}

void cpti_keeping_decide(struct cpti_sampling *sampling, bool is_asked, bool is_inner,
                         const struct cpt_inbound *inbound,
                         struct cpti_counters *counters, struct cpti_decision *decision)
{
    if (is_inner) { /* it is its caller that decides */
        decision->wants_graph = false;
        decision->wants_drag = false;
    }
    if (is_asked && decision->ask.wants_drag != 0) {
        decision->wants_drag = true;
    }
    if (is_asked && decision->ask.graph_id != 0 &&
        may_keep(sampling, inbound, counters)) {
        decision->wants_graph = true;
    } else {
        decision->ask.graph_id =
            decision->wants_graph ? cpti_sampling_draw(sampling) : 0;
    }
}
