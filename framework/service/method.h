/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* method.h - what a service answers, and with which plan. */
#ifndef CPT_METHOD_H
#define CPT_METHOD_H

#include "framework/service/rules/glance.h"
#include "framework/service/latency.h"
#include "framework/service/route.h"
#include "framework/service/service.h"

struct cpti_method {
    char *name;  /* "/overlap", "GET /users/{id}", "*" */
    char *entry; /* "A: /overlap" */
    struct cpti_route route;
    const struct cpt_plan *plan;
    uint64_t timeout_ns; /* 0: none */
    struct cpti_service_latency *latency;
    struct cpti_glance *glance;
};

/* The method of @service for a request of @path with @verb; NULL: there is none. */
const struct cpti_method *cpti_method_find(const struct cpt_service *service,
                                           struct cpt_bytes path, struct cpt_bytes verb,
                                           struct cpti_route_match *match);

/* Sets @allow to the verbs that @path takes, "GET, HEAD, OPTIONS". False: @service has
 * no such path. */
bool cpti_method_allow(const struct cpt_service *service, struct cpt_bytes path,
                       char allow[CPTI_ROUTE_ALLOW_BYTES]);

/* What requests of @method for @path are called in a log. */
struct cpt_bytes cpti_method_name(const struct cpti_method *method,
                                  struct cpt_bytes path);

void cpti_methods_free(struct cpt_service *service);

#endif
