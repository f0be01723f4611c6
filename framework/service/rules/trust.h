/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * trust.h - whose headers are heeded
 *
 * The operator lists networks, and names of certificates that clients show and the
 * transport has verified. Threads: any, one at a time for a list that changes.
 */
#ifndef CPTI_TRUST_H
#define CPTI_TRUST_H

#include "framework/cpt_rpc.h"

#include <stdbool.h>
#include <stddef.h>

enum { CPTI_NETWORKS_MAX = 64, CPTI_TRUSTED_NAME_BYTES_MAX = 128 };

/* An address range: the first prefix_bits of address count. Or a name of the client's
 * certificate. */
struct cpti_network {
    unsigned char address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned prefix_bits;
    unsigned char name_bytes; /* 0: it is an address range */
    char name[CPTI_TRUSTED_NAME_BYTES_MAX];
};

struct cpti_networks {
    struct cpti_network items[CPTI_NETWORKS_MAX];
    size_t count;
};

/* Reads networks, ended by NULL. CPT_OK; CPT_INVALID, CPT_LIMIT with the reason. */
cpt_status cpti_networks_read(struct cpti_networks *networks, const char *const *texts,
                              struct cpt_error *error);

/* Whether the client of @inbound is in one of them, by its address or its names. */
bool cpti_networks_have(const struct cpti_networks *networks,
                        const struct cpt_inbound *inbound);

#endif
