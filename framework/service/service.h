/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * service.h - a service, as its own room and requests told by hand see it
 *
 * The room share/ takes this header (shared work holds the services that it inherits
 * from; cpt_manual is a request of a service), answer.h, sampling.h, counters.h and
 * log_queue.h.
 */
#ifndef CPT_SERVICE_H
#define CPT_SERVICE_H

#include "cpt/base/container.h"
#include "framework/run/budget.h"
#include "framework/run/call.h"
#include "framework/service/counters.h"
#include "framework/service/rules/experiment.h"
#include "framework/service/rules/glance.h"
#include "framework/service/log/log_queue.h"
#include "framework/service/notice.h"
#include "framework/service/running.h"
#include "framework/service/sampling.h"

#include <string.h>

struct cpti_method;

/* What the service last told the log, while it has traced no request; untraced.c. */
struct cpti_untraced {
    struct cpti_log_item item;
    atomic_bool
        is_queued; /* acquire, release: the log's thread is done with the item */
    unsigned char block[CPT_LOG_UNTRACED_BYTES_MAX];
};

struct cpt_service {
    struct cpti_call_observer observer; /* of its requests; see counters.c */
    struct cpt_service_options options; /* with their defaults */
    char *name;
    struct cpti_method *methods; /* sorted by route; not changed once it serves */
    size_t method_count;
    size_t literal_count; /* of these, at the beginning, without parameters */
    size_t method_capacity;
    char **dropped_attributes;
    size_t dropped_attribute_count;
    struct cpti_sampling sampling;
    struct cpti_glance glance; /* of requests told by hand, which have no method */
    struct cpti_counters counters;
    struct cpti_experiment experiment;
    struct cpti_notice_limit notices[CPTI_FAILURE_REASONS]; /* by reason */
    struct cpti_notice_limit refusals[CPTI_REFUSALS];       /* by enum cpt_refusal */
    struct cpti_budget budget;     /* of the memory of its requests … */
    struct cpti_budget notes;      /* … and of what is recorded of them */
    atomic_size_t in_flight_count; /* relaxed: requests that are not answered yet */
    atomic_bool is_enabled;        /* relaxed */
    struct cpti_untraced untraced;
    struct cpti_running_lists running;
    /* Requests that are not freed yet, and 1 of the owner. acq_rel: the last one
     * frees. */
    atomic_size_t live_count;
};

/* The service of @request; NULL: the request was started without one. */
static inline struct cpt_service *cpti_service_of(const struct cpt_request *request)
{
    struct cpti_call_observer *observer = request->inherited.observer;

    return observer != NULL ? CPTI_CONTAINER(observer, struct cpt_service, observer)
                            : NULL;
}

/* Takes a reference; the caller must hold one. */
static inline void cpti_service_hold(struct cpt_service *service)
{
    atomic_fetch_add_explicit(&service->live_count, 1, memory_order_relaxed);
}

/* Gives a reference back; the last one frees. */
void cpti_service_release(struct cpt_service *service);

/* Whether requests of @service may have timeouts. */
static inline bool cpti_service_has_timers(const struct cpt_service *service)
{
    const struct cpt_executor *executor = service->options.executor;

    return executor != NULL && executor != cpt_executor_inline();
}

/* @text in memory of the service, or NULL. */
static inline char *cpti_service_copy_text(const struct cpt_service *service,
                                           const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = cpt_alloc_zeroed(service->options.alloc, bytes);

    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

/* Whether the options forbid to log the attribute @key. @service may be NULL. */
bool cpti_service_drops_attribute(const struct cpt_service *service,
                                  struct cpt_bytes key);

#endif
