/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sampling.h - whether a request is traced, and who gets its path; see sampling.c. */
#ifndef CPT_SAMPLING_H
#define CPT_SAMPLING_H

#include "framework/service/bucket.h"
#include "framework/service/counters.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>
#include <stdbool.h>

/* An address range: the first prefix_bits of address count. */
struct cpti_network {
    unsigned char address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned prefix_bits;
};

enum { CPTI_NETWORKS_MAX = 64 };

/* How a service decides. Set once; only throw_count and the buckets change. */
struct cpti_sampling {
    bool is_inner;
    bool trusts_forwarded;
    double probability; /* 0: never */
    uint64_t threshold; /* the coin hits below it; 2^64 - 1: always */
    uint64_t seed;
    struct cpti_network networks[CPTI_NETWORKS_MAX];
    size_t network_count;
    atomic_uint_least64_t
        throw_count; /* relaxed: each throw gets a number of its own */
    const struct cpt_clock *clock;
    struct cpti_bucket forced; /* asked for from outside */
    struct cpti_bucket asked;  /* asked for by callers within */
};

/* What was decided about one request. All 0: it is not traced. */
struct cpti_decision {
    bool is_traced;
    bool is_random;     /* the coin hit */
    bool is_forced;     /* an entry was asked from outside */
    bool is_logged;     /* this service writes the record */
    bool is_local_root; /* and it is not the entry */
    struct cpt_ask ask; /* version 0: the caller wants no path */
};

/* Reads the options. CPT_OK, or CPT_INVALID or CPT_LIMIT with the reason. */
cpt_status cpti_sampling_init(struct cpti_sampling *sampling,
                              const struct cpt_service_options *options,
                              struct cpt_error *error);

/* Throws the coin: enum cpt_coin. */
unsigned cpti_sampling_throw(struct cpti_sampling *sampling);

/* Decides about @inbound, and counts the reasons. */
struct cpti_decision cpti_sampling_decide(struct cpti_sampling *sampling,
                                          const struct cpt_inbound *inbound,
                                          struct cpti_counters *counters);

#endif
