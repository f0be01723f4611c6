/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* method.c - methods added to a service, and found by name; see method.h. */
#include "framework/service/method.h"

#include <stdio.h>
#include <string.h>

enum { METHODS_MAX = 4096 };

void cpti_methods_free(struct cpt_service *service)
{
    const struct cpt_alloc *alloc = service->options.alloc;

    for (size_t i = 0; i < service->method_count; i++) {
        cpt_alloc_free(alloc, service->methods[i].name);
        cpt_alloc_free(alloc, service->methods[i].entry);
    }
    cpt_alloc_free(alloc, service->methods);
}

static bool is_value(const struct cpt_value *value, const char *name, size_t bytes)
{
    return value != NULL && strcmp(value->name, name) == 0 && value->bytes == bytes;
}

static cpt_status check_plan(const struct cpt_service *service, const char *method,
                             const struct cpt_plan *plan, struct cpt_error *error)
{
    if (!cpt_bytes_equal(plan->service, cpt_bytes_of(service->name))) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "method \"%.80s\": its plan is of service \"%.*s\", not \"%s\"", method,
            (int)plan->service.bytes, plan->service.data, service->name);
    }
    if (!is_value(plan->graph->input, "rpc_request", sizeof(struct cpt_rpc_request)) ||
        !is_value(plan->graph->output, "rpc_reply", sizeof(struct cpt_rpc_reply))) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "method \"%.80s\": its plan must take rpc_request and give "
            "rpc_reply",
            method);
    }
    return CPT_OK;
}

const struct cpti_method *cpti_method_find(const struct cpt_service *service,
                                           struct cpt_bytes name)
{
    const struct cpti_method *any = NULL;

    for (size_t i = 0; i < service->method_count; i++) {
        if (cpt_bytes_equal(cpt_bytes_of(service->methods[i].name), name)) {
            return &service->methods[i];
        }
        if (strcmp(service->methods[i].name, "*") == 0) {
            any = &service->methods[i];
        }
    }
    return any;
}

cpt_status cpt_service_method_add(struct cpt_service *service, const char *method,
                                  const struct cpt_plan *plan, struct cpt_error *error)
{
    return cpt_service_method_add_with(service, method, plan, NULL, error);
}

/* Reads the options of a method, with the service's as defaults. */
static cpt_status read_method(struct cpti_method *method,
                              const struct cpt_service *service,
                              const struct cpt_method_options *given,
                              struct cpt_error *error)
{
    struct cpt_method_options options = {0};
    const cpt_status status =
        given != NULL ? cpt_options_read(&options, sizeof options, given, error)
                      : CPT_OK;

    if (status != CPT_OK) {
        return status;
    }
    method->timeout_ns =
        options.timeout_ns != 0 ? options.timeout_ns : service->options.timeout_ns;
    if (method->timeout_ns != 0 && !cpti_service_has_timers(service)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a timeout needs an executor with timers");
    }
    return CPT_OK;
}

cpt_status cpt_service_method_add_with(struct cpt_service *service, const char *method,
                                       const struct cpt_plan *plan,
                                       const struct cpt_method_options *options,
                                       struct cpt_error *error)
{
    const struct cpt_alloc *alloc = service->options.alloc;
    struct cpti_method made = {.plan = plan};
    cpt_status status = check_plan(service, method, plan, error);
    const size_t entry_bytes = strlen(service->name) + 2 + strlen(method) + 1;

    if (status == CPT_OK) {
        status = read_method(&made, service, options, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; i < service->method_count; i++) {
        if (strcmp(service->methods[i].name, method) == 0) {
            return cpt_error_set(error, CPT_INVALID, 0,
                                 "method \"%.80s\" was added before", method);
        }
    }
    status =
        cpt_alloc_grow(alloc, (void **)&service->methods, &service->method_capacity,
                       service->method_count + 1, METHODS_MAX, sizeof made);
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "no room for method \"%.80s\"", method);
    }
    made.name = cpti_service_copy_text(service, method);
    made.entry = cpt_alloc_zeroed(alloc, entry_bytes);
    if (made.name == NULL || made.entry == NULL) {
        cpt_alloc_free(alloc, made.name);
        cpt_alloc_free(alloc, made.entry);
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a method");
    }
    (void)snprintf(made.entry, entry_bytes, "%s: %s", service->name, method);
    service->methods[service->method_count++] = made;
    return CPT_OK;
}
