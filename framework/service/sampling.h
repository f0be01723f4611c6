/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* sampling.h - whether a request is traced, on whose account, and who is told. */
#ifndef CPT_SAMPLING_H
#define CPT_SAMPLING_H

#include "framework/service/counters.h"
#include "wire/cpt_metadata.h"

#include <stdatomic.h>
#include <netinet/in.h>

/* An address range: the first prefix_bits of address count. */
struct cpti_network {
    unsigned char address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned prefix_bits;
};

enum { CPTI_NETWORKS_MAX = 64 };

/* How a service decides. Set once; the coin's count is the only thing that changes. */
struct cpti_sampling {
    int is_inner;
    double probability; /* 0: never */
    uint64_t threshold; /* of 2^64 - 1: below it, the coin hits; 2^64 - 1: always */
    uint64_t seed;
    int trusts_forwarded;
    struct cpti_network networks[CPTI_NETWORKS_MAX];
    size_t network_count;
    atomic_uint_least64_t
        throw_count; /* relaxed: each throw gets a number of its own */
};

/* What was decided of one request. All 0: it is not traced. */
struct cpti_decision {
    int is_traced;
    int is_random;      /* the coin hit */
    int is_forced;      /* an entry was asked from outside */
    int is_logged;      /* this service writes the record */
    int is_local_root;  /* and it is not the entry's */
    struct cpt_ask ask; /* version 0: the caller wants no path */
};

/*
 * Reads the options. CPT_OK, or CPT_INVALID or CPT_LIMIT with the reason.
 */
cpt_status cpti_sampling_init(struct cpti_sampling *sampling,
                              const struct cpt_service_options *options,
                              struct cpt_error *error);

/* Throws the coin: enum cpt_coin. */
unsigned cpti_sampling_throw(struct cpti_sampling *sampling);

/* Decides on @inbound, and counts what it finds. */
struct cpti_decision cpti_sampling_decide(struct cpti_sampling *sampling,
                                          const struct cpt_inbound *inbound,
                                          struct cpti_counters *counters);

#endif
