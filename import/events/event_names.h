/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_names.h - the services, hosts and kinds of events, by number
 *
 * Numbers are given in the order of coming, and again in the order of the bytes when
 * all are there: the second ones do not depend on the order of events. A service that
 * has more than CPTI_KINDS_MAX kinds keeps those with the most events; the rest are one
 * kind, CPTI_KIND_OTHER.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_EVENT_NAMES_H
#define CPTI_EVENT_NAMES_H

#include "import/events/requests.h"
#include "cpt/base/hash_index.h"

enum { CPTI_NAME_MEMO = 256 };

/* Texts of one sort. */
struct cpti_event_texts {
    struct cpt_names *names;
    uint32_t memo[CPTI_NAME_MEMO]; /* number + 1 of the last one of a hash; 0: none */
};

struct cpti_event_kind {
    uint32_t service;
    uint32_t name;
    uint64_t events;
    uint32_t final;
    bool is_left_out; /* it is of the rest */
};

struct cpti_event_names {
    const struct cpt_alloc *alloc;
    struct cpti_event_texts services;
    struct cpti_event_texts hosts;
    struct cpti_event_texts texts; /* of kinds */
    struct cpti_event_kind *kinds; /* as they came */
    size_t kind_count;
    size_t kind_capacity;
    struct cpti_hash_index index; /* of kinds */
    uint64_t seed;
    /* in the order of bytes, once they are numbered */
    uint32_t *final_services; /* by the first number … */
    uint32_t *final_hosts;
    uint32_t *service_order; /* … and back */
    uint32_t *host_order;
    uint32_t *kind_order;
    size_t final_kind_count;
};

/* CPT_OK; CPT_NO_MEMORY. Free it in any case. */
cpt_status cpti_event_names_init(struct cpti_event_names *names,
                                 const struct cpt_alloc *alloc, uint64_t seed);
void cpti_event_names_deinit(struct cpti_event_names *names);

/* The first number of @text, in the services or hosts of @names; that of one too many
 * is CPTI_KIND_OTHER's. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_event_text_add(struct cpti_event_texts *texts, struct cpt_bytes text,
                               uint32_t *number);

/* The same of a kind, which has one event more. */
cpt_status cpti_event_kind_add(struct cpti_event_names *names, uint32_t service,
                               struct cpt_bytes text, uint32_t *number);

/* Gives the final numbers. *@left_out: how many events are of the rest. CPT_OK;
 * CPT_NO_MEMORY. */
cpt_status cpti_event_names_finish(struct cpti_event_names *names, uint64_t *left_out);

#endif
