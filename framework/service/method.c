/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* method.c - methods added to a service, and found by name; see method.h. */
#include "framework/service/method.h"

#include <stdio.h>
#include <string.h>

enum { METHODS_MAX = 4096 };

static void free_names(const struct cpt_service *service,
                       const struct cpti_method *method)
{
    cpt_alloc_free(service->options.alloc, method->name);
    cpt_alloc_free(service->options.alloc, method->entry);
    cpt_alloc_free(service->options.alloc, method->latency);
    cpt_alloc_free(service->options.alloc, method->glance);
}

void cpti_methods_free(struct cpt_service *service)
{
    const struct cpt_alloc *alloc = service->options.alloc;

    for (size_t i = 0; i < service->method_count; i++) {
        free_names(service, &service->methods[i]);
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

/* --- Finding --- */

/* The methods are sorted as cpti_route_compare() says. The first literal one of @path,
 * or where it would be. */
static size_t lower_bound(const struct cpt_service *service, struct cpt_bytes path)
{
    size_t low = 0;
    size_t high = service->literal_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (cpti_route_compare_path(&service->methods[middle].route, path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether method @i takes @path; those that are no literals set @match. */
static bool has_path(const struct cpt_service *service, size_t i, struct cpt_bytes path,
                     struct cpti_route_match *match)
{
    const struct cpti_route *route = &service->methods[i].route;

    match->count = 0;
    return i < service->literal_count ? cpt_bytes_equal(route->path, path) != 0
                                      : cpti_route_match(route, path, match);
}

/* The next one to look at: after the literal ones of the path come the others. */
static size_t next_of(const struct cpt_service *service, size_t i, bool is_same)
{
    return i < service->literal_count && !is_same ? service->literal_count : i + 1;
}

const struct cpti_method *cpti_method_find(const struct cpt_service *service,
                                           struct cpt_bytes path, struct cpt_bytes verb,
                                           struct cpti_route_match *match)
{
    size_t i = lower_bound(service, path);

    while (i < service->method_count) {
        const bool is_same = has_path(service, i, path, match);

        if (is_same && cpti_route_takes(&service->methods[i].route, verb)) {
            return &service->methods[i];
        }
        i = next_of(service, i, is_same);
    }
    return NULL;
}

bool cpti_method_allow(const struct cpt_service *service, struct cpt_bytes path,
                       char allow[CPTI_ROUTE_ALLOW_BYTES])
{
    struct cpti_route_match match;
    size_t i = lower_bound(service, path);

    allow[0] = '\0';
    while (i < service->method_count) {
        const bool is_same = has_path(service, i, path, &match);

        if (is_same) {
            cpti_route_allow(&service->methods[i].route, allow);
        }
        i = next_of(service, i, is_same);
    }
    if (allow[0] == '\0') {
        return false;
    }
    cpti_route_allow_verb(cpt_bytes_of("OPTIONS"), allow);
    return true;
}

struct cpt_bytes cpti_method_name(const struct cpti_method *method,
                                  struct cpt_bytes path)
{
    const struct cpti_route *route = &method->route;

    return route->kind == CPTI_ROUTE_PATTERN ||
                   (route->kind == CPTI_ROUTE_LITERAL && route->verb.bytes > 0)
               ? cpt_bytes_of(method->name)
               : path;
}

/* --- Adding --- */

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

/* Copies the names of @made. */
static cpt_status name_method(struct cpti_method *made,
                              const struct cpt_service *service, const char *method,
                              struct cpt_error *error)
{
    const size_t entry_bytes = strlen(service->name) + 2 + strlen(method) + 1;
    cpt_status status = CPT_OK;

    made->name = cpti_service_copy_text(service, method);
    made->entry = cpt_alloc_zeroed(service->options.alloc, entry_bytes);
    made->latency = cpt_alloc_zeroed(service->options.alloc, sizeof *made->latency);
    made->glance = cpt_alloc_zeroed(service->options.alloc, sizeof *made->glance);
    if (made->name == NULL || made->entry == NULL || made->latency == NULL ||
        made->glance == NULL) {
        status = cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a method");
    } else {
        (void)snprintf(made->entry, entry_bytes, "%s: %s", service->name, method);
        status = cpti_route_parse(&made->route, made->name, error);
    }
    if (status != CPT_OK) {
        free_names(service, made);
    }
    return status;
}

/* Where @made belongs. False: another one takes the same requests. */
static bool find_place(const struct cpt_service *service,
                       const struct cpti_method *made, size_t *place)
{
    *place = 0;
    while (*place < service->method_count) {
        const int order =
            cpti_route_compare(&service->methods[*place].route, &made->route);

        if (order >= 0) {
            return order > 0;
        }
        (*place)++;
    }
    return true;
}

static cpt_status insert(struct cpt_service *service, const struct cpti_method *made,
                         struct cpt_error *error)
{
    size_t place = 0;
    cpt_status status = CPT_OK;

    if (!find_place(service, made, &place)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "method \"%.80s\" was added before, as \"%.80s\"",
                             made->name, service->methods[place].name);
    }
    status = cpt_alloc_grow(service->options.alloc, (void **)&service->methods,
                            &service->method_capacity, service->method_count + 1,
                            METHODS_MAX, sizeof *made);
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "no room for method \"%.80s\"",
                             made->name);
    }
    memmove(&service->methods[place + 1], &service->methods[place],
            (service->method_count - place) * sizeof *made);
    service->methods[place] = *made;
    service->method_count++;
    service->literal_count += made->route.kind == CPTI_ROUTE_LITERAL;
    return CPT_OK;
}

cpt_status cpt_service_method_add_with(struct cpt_service *service, const char *method,
                                       const struct cpt_plan *plan,
                                       const struct cpt_method_options *options,
                                       struct cpt_error *error)
{
    struct cpti_method made = {.plan = plan};
    cpt_status status = check_plan(service, method, plan, error);

    if (status == CPT_OK) {
        status = read_method(&made, service, options, error);
    }
    if (status == CPT_OK) {
        status = name_method(&made, service, method, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    status = insert(service, &made, error);
    if (status != CPT_OK) {
        free_names(service, &made);
    }
    return status;
}

void cpt_service_latencies(struct cpt_service *service,
                           void (*visit)(void *context,
                                         const struct cpt_latency *latency),
                           void *context)
{
    for (size_t i = 0; i < service->method_count; i++) {
        cpti_latency_show(service->methods[i].latency, service->methods[i].name, visit,
                          context);
    }
}
