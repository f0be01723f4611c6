/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* service.h - a service's inside, as this folder shares it. */
#ifndef CPT_SERVICE_H
#define CPT_SERVICE_H

#include "cpt/container.h"
#include "framework/run/budget.h"
#include "framework/run/call.h"
#include "framework/service/counters.h"
#include "framework/service/sampling.h"

/* One method. */
struct cpti_method {
    char *name;  /* "/overlap", or "*" */
    char *entry; /* "A: /overlap" */
    const struct cpt_plan *plan;
    uint64_t timeout_ns; /* 0: none */
};

struct cpt_service {
    struct cpti_call_observer observer; /* of its requests; see calls.c */
    struct cpt_service_options options; /* with their defaults */
    char *name;
    struct cpti_method *methods; /* not changed once it serves */
    size_t method_count;
    size_t method_capacity;
    char **dropped_attributes;
    size_t dropped_attribute_count;
    struct cpti_sampling sampling;
    struct cpti_counters counters;
    struct cpti_budget budget;     /* of the memory of its requests */
    atomic_size_t in_flight_count; /* relaxed: requests that are not answered yet */
    atomic_int is_enabled;         /* relaxed */
    /* Requests that are not gone yet, and 1 of its owner. acq_rel: the last one frees.
     */
    atomic_size_t live_count;
};

/* The service of @request; NULL: the request was started without one. */
static inline struct cpt_service *cpti_service_of(const struct cpt_request *request)
{
    struct cpti_call_observer *observer = request->inherited.observer;

    return observer != NULL ? CPTI_CONTAINER(observer, struct cpt_service, observer)
                            : NULL;
}

/* One more that uses the service; one that used it is gone: its owner, or a request.
 * The last one frees. */
static inline void cpti_service_hold(struct cpt_service *service)
{
    atomic_fetch_add_explicit(&service->live_count, 1, memory_order_relaxed);
}

void cpti_service_release(struct cpt_service *service);

/* @path as metadata for whoever asked by @ask, in memory of @alloc, or nothing; counted
 * either way. */
struct cpt_bytes cpti_service_metadata(struct cpt_service *service,
                                       const struct cpt_alloc *alloc,
                                       const struct cpt_path *path,
                                       const struct cpt_ask *ask, uint64_t elapsed_ns);

/* Whether the service, which may be NULL, was told never to log the attribute @key. */
int cpti_service_drops_attribute(const struct cpt_service *service,
                                 struct cpt_bytes key);

/* --- calls.c --- */

/* Counts the calls of the service it is part of. */
extern const struct cpti_call_observer cpti_calls_observer;

#endif
