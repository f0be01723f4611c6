/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* latency.h - how long the requests of a method took, as a histogram; see latency.c. */
#ifndef CPT_LATENCY_H
#define CPT_LATENCY_H

#include "framework/cpt_rpc.h"

#include <stdatomic.h>
#include <stdbool.h>

struct cpti_service_latency {
    /* relaxed: a sum of its own each */
    atomic_uint_least64_t counts[CPT_LATENCY_BUCKETS];
    atomic_uint_least64_t sum_ns;
    /* Guards the exemplars: acquire by who sets it, release by who clears it. Who finds
     * it set goes away. */
    atomic_bool is_taken;
    struct cpt_exemplar exemplars[CPT_LATENCY_BUCKETS];
};

/* Counts a request. @trace_id: of 16 bytes, or NULL. Any thread. */
void cpti_latency_count(struct cpti_service_latency *latency, uint64_t latency_ns,
                        const unsigned char *trace_id);

/* Shows the histogram of @method. */
void cpti_latency_show(struct cpti_service_latency *latency, const char *method,
                       void (*visit)(void *context, const struct cpt_latency *latency),
                       void *context);

#endif
