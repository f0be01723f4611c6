/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * owners.h - what the request of a trace is like: its value of an attribute
 *
 * A wait names the request that was in the way by the last 8 bytes of its trace's id.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_OWNERS_H
#define CPTI_CLI_OWNERS_H

#include "cpt/cpt_name.h"
#include "cpt/base/hash_index.h"

#include <stdbool.h>

/* The most traces, 16 bytes each and 8 of the index; the rest is not known. */
enum { CPTI_OWNERS_MAX = 1 << 24 };

struct cpti_trace_owner {
    uint64_t trace;
    cpt_name_id value;
    bool has_value;
};

struct cpti_owners {
    struct cpti_trace_owner *all;
    size_t count;
    size_t capacity;
    uint64_t lost_count; /* beyond the limit */
    struct cpti_hash_index index;
};

void cpti_owners_deinit(struct cpti_owners *owners);

/* Adds @owner, unless its trace is there. False without memory. */
bool cpti_owners_add(struct cpti_owners *owners, const struct cpti_trace_owner *owner);

/* The owner of @trace; NULL: it is not known. */
const struct cpti_trace_owner *cpti_owners_find(const struct cpti_owners *owners,
                                                uint64_t trace);

#endif
