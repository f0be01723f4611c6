/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* method.h - what a service answers, and with which plan. */
#ifndef CPT_METHOD_H
#define CPT_METHOD_H

#include "framework/service/service.h"

struct cpti_method {
    char *name;  /* "/overlap", or "*" */
    char *entry; /* "A: /overlap" */
    const struct cpt_plan *plan;
    uint64_t timeout_ns; /* 0: none */
};

/* The method @name of @service, or its "*"; NULL: it has neither. */
const struct cpti_method *cpti_method_find(const struct cpt_service *service,
                                           struct cpt_bytes name);

void cpti_methods_free(struct cpt_service *service);

#endif
