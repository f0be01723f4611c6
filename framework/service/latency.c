/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * latency.c - how long the requests of a method took, as a histogram
 *
 * Buckets are fixed, so that histograms of several processes can be added up. Counting
 * is one search in 16 numbers and two atomic additions. An *exemplar* is a request of
 * the bucket that an operator can look up: the last one whose trace is known. If two
 * threads have one at the same time, one of them is left out.
 */
#include "framework/service/latency.h"

#include "cpt/cpt_clock.h"

#include <string.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* The largest latency of each bucket but the last, which has none. */
static const uint64_t bounds_ns[CPT_LATENCY_BUCKETS - 1] = {
    100 * US, 250 * US, 500 * US, 1 * MS,   5 * MS / 2, 5 * MS,    10 * MS, 25 * MS,
    50 * MS,  100 * MS, 250 * MS, 500 * MS, 1 * S,      5 * S / 2, 5 * S,   10 * S,
};

static size_t bucket_of(uint64_t latency_ns)
{
    size_t bucket = 0;

    while (bucket < CPT_LATENCY_BUCKETS - 1 && latency_ns > bounds_ns[bucket]) {
        bucket++;
    }
    return bucket;
}

/* False: another thread has them. */
static bool take(struct cpti_service_latency *latency)
{
    return !atomic_exchange_explicit(&latency->is_taken, true, memory_order_acquire);
}

static void release(struct cpti_service_latency *latency)
{
    atomic_store_explicit(&latency->is_taken, false, memory_order_release);
}

void cpti_latency_count(struct cpti_service_latency *latency, uint64_t latency_ns,
                        const unsigned char *trace_id)
{
    const size_t bucket = bucket_of(latency_ns);
    struct cpt_exemplar *exemplar = &latency->exemplars[bucket];

    (void)atomic_fetch_add_explicit(&latency->counts[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&latency->sum_ns, latency_ns, memory_order_relaxed);
    if (trace_id == NULL || !take(latency)) {
        return;
    }
    exemplar->is_there = 1;
    memcpy(exemplar->trace_id, trace_id, sizeof exemplar->trace_id);
    exemplar->latency_ns = latency_ns;
    exemplar->unix_ns = cpt_clock_unix_ns();
    release(latency);
}

void cpti_latency_show(struct cpti_service_latency *latency, const char *method,
                       void (*visit)(void *context, const struct cpt_latency *latency),
                       void *context)
{
    struct cpt_latency shown = {
        .method = cpt_bytes_of(method),
        .bucket_count = CPT_LATENCY_BUCKETS,
        .bounds_ns = bounds_ns,
        .sum_ns = atomic_load_explicit(&latency->sum_ns, memory_order_relaxed),
    };

    for (size_t i = 0; i < CPT_LATENCY_BUCKETS; i++) {
        shown.counts[i] =
            atomic_load_explicit(&latency->counts[i], memory_order_relaxed);
    }
    if (take(latency)) {
        memcpy(shown.exemplars, latency->exemplars, sizeof shown.exemplars);
        release(latency);
    }
    visit(context, &shown);
}
