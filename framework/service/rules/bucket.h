/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * bucket.h - at most so much in a second
 *
 * A bucket holds one second's worth of tokens, and at least one. Each taking needs one;
 * they come back at the rate. So within any t seconds at most rate * (t + 1) + 1 are
 * taken. Its only state is the time at which it will be full again.
 */
#ifndef CPT_BUCKET_H
#define CPT_BUCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cpti_rate_limit {
    /* relaxed: nothing else depends on them */
    atomic_uint_least64_t interval_ns; /* between two tokens; 0: no limit */
    atomic_uint_least64_t full_ns;
};

/* From now on at most @per_second; 0 or less: no limit. */
static inline void cpti_bucket_set(struct cpti_rate_limit *bucket, double per_second)
{
    const double interval_ns = per_second > 0 ? 1e9 / per_second : 0;

    atomic_store_explicit(&bucket->interval_ns,
                          interval_ns >= 1e18 ? (uint64_t)1e18 : (uint64_t)interval_ns,
                          memory_order_relaxed);
}

static inline void cpti_bucket_init(struct cpti_rate_limit *bucket, double per_second)
{
    cpti_bucket_set(bucket, per_second);
    atomic_init(&bucket->full_ns, 0);
}

/* Takes a token at @now_ns. False: there is none. */
static inline bool cpti_bucket_take(struct cpti_rate_limit *bucket, uint64_t now_ns)
{
    const uint64_t interval_ns =
        atomic_load_explicit(&bucket->interval_ns, memory_order_relaxed);
    uint64_t full_ns = atomic_load_explicit(&bucket->full_ns, memory_order_relaxed);
    uint64_t next_ns;

    if (interval_ns == 0) {
        return true;
    }
    do {
        const uint64_t from_ns = full_ns > now_ns ? full_ns : now_ns;

        next_ns = from_ns + interval_ns;
        if (from_ns > now_ns && next_ns - now_ns > UINT64_C(1000000000)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&bucket->full_ns, &full_ns, next_ns,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

#endif
