/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * service.c - a service: made, switched on and off, drained, freed
 *
 *      method.c    its methods
 *      serving.c   a request that came in: decided on, made, launched
 *      answer.c    its end: answered, then logged
 *      calls.c     its calls of other services
 */
#include "framework/service/service.h"

#include "framework/service/failure.h"
#include "framework/service/method.h"
#include "framework/service/untraced.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DROPPED_ATTRIBUTES_MAX = 1024,
    DRAIN_POLL_NS = 500000,
    IN_FLIGHT_DEFAULT = 10000,
    IN_FLIGHT_BYTES_DEFAULT = 1 << 30,
    NOTES_IN_FLIGHT_BYTES_DEFAULT = 256 << 20,
    IN_FLIGHT_PART = 4, /* of cpt_memory_max(); likewise: */
    NOTES_IN_FLIGHT_PART = 16
};

/* --- Made --- */

static cpt_status copy_dropped(struct cpt_service *service, struct cpt_error *error)
{
    const char *const *keys = service->options.dropped_attributes;
    size_t count = 0;

    while (keys != NULL && keys[count] != NULL) {
        count++;
    }
    if (count > DROPPED_ATTRIBUTES_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "%zu attributes to drop, the limit is %d", count,
                             DROPPED_ATTRIBUTES_MAX);
    }
    if (count == 0) {
        return CPT_OK;
    }
    service->dropped_attributes =
        cpt_alloc_zeroed(service->options.alloc, count * sizeof(char *));
    for (size_t i = 0; service->dropped_attributes != NULL && i < count; i++) {
        char *key = cpti_service_copy_text(service, keys[i]);

        if (key == NULL) {
            break;
        }
        service->dropped_attributes[service->dropped_attribute_count++] = key;
    }
    return service->dropped_attribute_count == count
               ? CPT_OK
               : cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a service");
}

static void init_notices(struct cpt_service *service)
{
    struct cpt_service_options *options = &service->options;
    const double per_second =
        options->notices_per_second_max != 0 ? options->notices_per_second_max : 1;

    if (options->notify == NULL) {
        options->notify = cpt_notice_print;
    }
    for (unsigned i = 0; i < CPTI_FAILURE_REASONS; i++) {
        cpti_notice_limit_init(&service->notices[i], per_second);
    }
    for (unsigned i = 0; i < CPTI_REFUSALS; i++) {
        cpti_notice_limit_init(&service->refusals[i], per_second);
    }
}

/* The limits of memory, worked out once: a part of cpt_memory_max() takes a division,
 * which no request pays for. */
static void init_memory(struct cpt_service *service)
{
    struct cpt_service_options *options = &service->options;

    if (options->memory_bytes_max == 0) {
        options->memory_bytes_max = cpti_request_bytes_default();
    }
    if (options->trace_memory_bytes_max == 0) {
        options->trace_memory_bytes_max = cpti_request_bytes_default();
    }
    cpti_budget_init(&service->budget, options->alloc,
                     options->memory_in_flight_bytes_max != 0
                         ? options->memory_in_flight_bytes_max
                         : cpt_memory_part(IN_FLIGHT_BYTES_DEFAULT, IN_FLIGHT_PART));
    cpti_budget_init(
        &service->notes, options->alloc,
        options->trace_memory_in_flight_bytes_max != 0
            ? options->trace_memory_in_flight_bytes_max
            : cpt_memory_part(NOTES_IN_FLIGHT_BYTES_DEFAULT, NOTES_IN_FLIGHT_PART));
}

static cpt_status init_service(struct cpt_service *service, struct cpt_error *error)
{
    struct cpt_service_options *options = &service->options;
    const char *disabled = getenv("CPT_DISABLE");

    if (options->name == NULL || options->name[0] == '\0' ||
        strlen(options->name) > CPT_NAME_BYTES_MAX / 2 ||
        strstr(options->name, ": ") != NULL) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "a service needs a name of at most %d bytes without \": \"",
            CPT_NAME_BYTES_MAX / 2);
    }
    if (options->metadata_bytes_max == 0) {
        options->metadata_bytes_max = CPT_METADATA_BYTES_DEFAULT;
    }
    if (options->metadata_bytes_max > CPT_METADATA_BYTES_CEILING) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "metadata of %zu bytes, the limit is %d",
                             options->metadata_bytes_max, CPT_METADATA_BYTES_CEILING);
    }
    if (options->timeout_ns != 0 && !cpti_service_has_timers(service)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a timeout needs an executor with timers");
    }
    if ((options->log != NULL && !cpti_log_queue_is_of(options->log, CPT_LOG_PATHS)) ||
        (options->spans != NULL &&
         !cpti_log_queue_is_of(options->spans, CPT_LOG_SPANS)) ||
        (options->graphs != NULL &&
         !cpti_log_queue_is_of(options->graphs, CPT_LOG_GRAPHS))) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the log of a service takes paths, `spans` takes spans, "
                             "and `graphs` takes graphs");
    }
    if (options->clock == NULL) {
        options->clock = cpt_clock_monotonic();
    }
    if (options->requests_in_flight_max == 0) {
        options->requests_in_flight_max = IN_FLIGHT_DEFAULT;
    }
    init_memory(service);
    init_notices(service);
    atomic_init(&service->in_flight_count, 0);
    atomic_init(&service->is_enabled, disabled == NULL || strcmp(disabled, "1") != 0);
    service->name = cpti_service_copy_text(service, options->name);
    if (service->name == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a service");
    }
    return cpti_sampling_init(&service->sampling, options, error);
}

struct cpt_service *cpt_service_new(const struct cpt_service_options *given,
                                    struct cpt_error *error)
{
    struct cpt_service_options options;
    struct cpt_service *service = NULL;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK) {
        return NULL;
    }
    service = cpt_alloc_zeroed(options.alloc, sizeof *service);
    if (service == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a service");
        return NULL;
    }
    service->options = options;
    service->observer = cpti_counters_observer;
    atomic_init(&service->live_count, 1);
    cpti_lock_init(&service->counters.lock, CPTI_RANK_COUNTERS);
    cpti_running_init(&service->running);
    cpti_lock_init(&service->sampling.lock, CPTI_RANK_TRUST);
    cpti_experiment_init(&service->experiment);
    if (init_service(service, error) != CPT_OK ||
        copy_dropped(service, error) != CPT_OK) {
        cpt_service_free(service);
        return NULL;
    }
    return service;
}

static void free_parts(struct cpt_service *service)
{
    const struct cpt_alloc *alloc = service->options.alloc;

    cpti_methods_free(service);
    for (size_t i = 0; i < service->dropped_attribute_count; i++) {
        cpt_alloc_free(alloc, service->dropped_attributes[i]);
    }
    cpt_alloc_free(alloc, (void *)service->dropped_attributes);
    cpt_alloc_free(alloc, service->name);
    cpti_lock_deinit(&service->counters.lock);
    cpti_running_deinit(&service->running);
    cpti_policy_release(service->sampling.policy);
    cpti_experiment_deinit(&service->experiment);
    cpti_lock_deinit(&service->sampling.lock);
    cpt_alloc_free(alloc, service);
}

void cpti_service_release(struct cpt_service *service)
{
    if (atomic_fetch_sub_explicit(&service->live_count, 1, memory_order_acq_rel) == 1) {
        free_parts(service);
    }
}

cpt_status cpt_service_drain(struct cpt_service *service, uint64_t timeout_ns)
{
    const struct timespec pause = {.tv_nsec = DRAIN_POLL_NS};
    const uint64_t begin_ns = cpt_clock_now_ns(cpt_clock_monotonic());

    while (atomic_load_explicit(&service->live_count, memory_order_acquire) != 1) {
        if (cpt_clock_now_ns(cpt_clock_monotonic()) - begin_ns >= timeout_ns) {
            return CPT_TIMEOUT;
        }
        (void)nanosleep(&pause, NULL);
    }
    cpti_untraced_tell(service, true);
    cpti_failure_tell_rest(service);
    return CPT_OK;
}

void cpt_service_free(struct cpt_service *service)
{
    if (service != NULL) {
        cpti_service_release(service);
    }
}

/* --- Switches --- */

void cpt_service_enable(struct cpt_service *service, int is_enabled)
{
    atomic_store_explicit(&service->is_enabled, is_enabled != 0, memory_order_relaxed);
}

int cpt_service_is_enabled(const struct cpt_service *service)
{
    return atomic_load_explicit(&service->is_enabled, memory_order_relaxed);
}

cpt_status cpt_service_set_probability(struct cpt_service *service, double probability,
                                       struct cpt_error *error)
{
    if (!(probability >= 0 && probability <= 1)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a request cannot be traced with probability %g: it must "
                             "be from 0 to 1",
                             probability);
    }
    cpti_sampling_set_probability(&service->sampling, probability);
    return CPT_OK;
}

cpt_status cpt_service_set_trust(struct cpt_service *service,
                                 const char *const *networks, struct cpt_error *error)
{
    struct cpti_networks read;
    const cpt_status status = cpti_networks_read(&read, networks, error);

    if (status == CPT_OK) {
        cpti_sampling_trust(&service->sampling, &read);
    }
    return status;
}

unsigned cpt_service_coin(struct cpt_service *service)
{
    return cpt_service_is_enabled(service) ? cpti_sampling_throw(&service->sampling)
                                           : CPT_COIN_NONE;
}

const char *cpt_service_name(const struct cpt_service *service)
{
    return service->name;
}

const struct cpt_clock *cpt_service_clock(const struct cpt_service *service)
{
    return service->options.clock;
}

bool cpti_service_drops_attribute(const struct cpt_service *service,
                                  struct cpt_bytes key)
{
    for (size_t i = 0; service != NULL && i < service->dropped_attribute_count; i++) {
        if (cpt_bytes_equal(cpt_bytes_of(service->dropped_attributes[i]), key)) {
            return true;
        }
    }
    return false;
}
