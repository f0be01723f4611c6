/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * service.c - a request that came in: decided on, run, answered, logged
 *
 *      inbound --> method? --> traced? --> plan runs --> response time is fixed
 *                                                           |
 *             log queue <-- record  <--  answered  <--  path, as metadata if asked
 *
 * The latency of a request ends just before its path is made: what making and encoding
 * it takes is seen by the caller, as ‹network+serialization›. The record comes after
 * the answer. A request keeps its memory until its record is written.
 */
#include "framework/service/service.h"

#include "framework/service/attributes.h"
#include "framework/service/log_queue.h"
#include "framework/run/recording.h"
#include "wire/cpt_metadata.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    METHODS_MAX = 4096,
    DROPPED_ATTRIBUTES_MAX = 1024,
    DRAIN_POLL_NS = 500000,
    IN_FLIGHT_DEFAULT = 10000,
    IN_FLIGHT_BYTES_DEFAULT = 1 << 30
};

/* What a service keeps of a request that it serves. In the request's arena. */
struct served {
    struct cpti_log_item item; /* first: the log queue hands us this */
    struct cpt_service *service;
    struct cpt_request *request;
    const struct cpti_method *method;
    struct cpti_decision decision;
    struct cpti_account account;
    struct cpt_rpc_request input;
    struct cpt_bytes service_name; /* copies: the record may outlive the service */
    struct cpt_bytes method_name;  /* bounded: a stranger chose it */
    struct cpt_path *path;         /* of a traced request that ended */
    char status[16];               /* for the record */
    cpt_reply_fn reply;
    void *context;
};

/* --- Made --- */

static char *copy_text(const struct cpt_alloc *alloc, const char *text)
{
    char *copy = cpt_alloc_zeroed(alloc, strlen(text) + 1);

    if (copy != NULL) {
        memcpy(copy, text, strlen(text));
    }
    return copy;
}

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
    for (size_t i = 0; i < count && service->dropped_attributes != NULL; i++) {
        char *key = copy_text(service->options.alloc, keys[i]);

        if (key == NULL) {
            return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a service");
        }
        service->dropped_attributes[service->dropped_attribute_count++] = key;
    }
    return service->dropped_attributes != NULL
               ? CPT_OK
               : cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a service");
}

static int has_timers(const struct cpt_service *service)
{
    const struct cpt_executor *executor = service->options.executor;

    return executor != NULL && executor != cpt_executor_inline();
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
    if (options->timeout_ns != 0 && !has_timers(service)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a timeout needs an executor with timers");
    }
    if (options->clock == NULL) {
        options->clock = cpt_clock_monotonic();
    }
    if (options->requests_in_flight_max == 0) {
        options->requests_in_flight_max = IN_FLIGHT_DEFAULT;
    }
    cpti_budget_init(&service->budget, options->alloc,
                     options->memory_in_flight_bytes_max != 0
                         ? options->memory_in_flight_bytes_max
                         : IN_FLIGHT_BYTES_DEFAULT);
    atomic_init(&service->in_flight_count, 0);
    atomic_init(&service->is_enabled, disabled == NULL || strcmp(disabled, "1") != 0);
    service->name = copy_text(options->alloc, options->name);
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
    service->observer = cpti_calls_observer;
    atomic_init(&service->live_count, 1);
    cpti_lock_init(&service->counters.lock, CPTI_RANK_COUNTERS);
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

    for (size_t i = 0; i < service->method_count; i++) {
        cpt_alloc_free(alloc, service->methods[i].name);
        cpt_alloc_free(alloc, service->methods[i].entry);
    }
    for (size_t i = 0; i < service->dropped_attribute_count; i++) {
        cpt_alloc_free(alloc, service->dropped_attributes[i]);
    }
    cpt_alloc_free(alloc, (void *)service->dropped_attributes);
    cpt_alloc_free(alloc, service->methods);
    cpt_alloc_free(alloc, service->name);
    cpti_lock_deinit(&service->counters.lock);
    cpt_alloc_free(alloc, service);
}

/* One that used the service is gone: its owner, or a request. The last one frees. */
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
    return CPT_OK;
}

void cpt_service_free(struct cpt_service *service)
{
    if (service != NULL) {
        cpti_service_release(service);
    }
}

/* --- Methods --- */

static int is_value(const struct cpt_value *value, const char *name, size_t bytes)
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

static const struct cpti_method *find_method(const struct cpt_service *service,
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

/* What @given says of a method, or the service. */
static cpt_status read_method(struct cpti_method *method,
                              const struct cpt_service *service,
                              const struct cpt_method_options *given,
                              struct cpt_error *error)
{
    struct cpt_method_options options = {0};
    cpt_status status = CPT_OK;

    if (given != NULL) {
        status = cpt_options_read(&options, sizeof options, given, error);
    }
    method->timeout_ns =
        options.timeout_ns != 0 ? options.timeout_ns : service->options.timeout_ns;
    if (status == CPT_OK && method->timeout_ns != 0 && !has_timers(service)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "a timeout needs an executor with timers");
    }
    return status;
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
                                 "method \"%.80s\" is there already", method);
        }
    }
    status =
        cpt_alloc_grow(alloc, (void **)&service->methods, &service->method_capacity,
                       service->method_count + 1, METHODS_MAX, sizeof made);
    if (status != CPT_OK) {
        return cpt_error_set(error, status, 0, "no room for method \"%.80s\"", method);
    }
    made.name = copy_text(alloc, method);
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

/* --- Switches --- */

void cpt_service_enable(struct cpt_service *service, int is_enabled)
{
    atomic_store_explicit(&service->is_enabled, is_enabled != 0, memory_order_relaxed);
}

int cpt_service_is_enabled(const struct cpt_service *service)
{
    return atomic_load_explicit(&service->is_enabled, memory_order_relaxed);
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

int cpti_service_drops_attribute(const struct cpt_service *service,
                                 struct cpt_bytes key)
{
    for (size_t i = 0; service != NULL && i < service->dropped_attribute_count; i++) {
        if (cpt_bytes_equal(cpt_bytes_of(service->dropped_attributes[i]), key)) {
            return 1;
        }
    }
    return 0;
}

/* --- The record --- */

static void free_served(struct served *served)
{
    cpt_path_free(served->path);
    cpti_request_release(served->request);
}

static void release_item(struct cpti_log_item *item)
{
    free_served((struct served *)item);
}

static void fill_record(struct served *served, struct cpt_record *record,
                        unsigned http_status)
{
    const struct cpt_service *service = served->service;
    struct cpt_request *request = served->request;
    struct cpt_traceparent parent;

    record->latency_ns = cpt_request_latency_ns(request);
    record->start_unix_ns = cpt_clock_unix_ns() - record->latency_ns;
    record->probability =
        service->sampling.probability > 0 ? service->sampling.probability : 1;
    record->service = served->service_name;
    record->method = served->method_name;
    record->entry = request->trace.entry;
    record->is_failed = request->status != CPT_OK || http_status >= 500;
    (void)snprintf(served->status, sizeof served->status,
                   http_status < 400 ? "ok" : "%u", http_status);
    record->status = cpt_bytes_of(served->status);
    record->is_forced = served->decision.is_forced;
    record->is_random = served->decision.is_random;
    record->is_local_root = served->decision.is_local_root;
    record->attributes = cpti_attributes_close(request, &record->attribute_count);
    record->path = served->path;
    if (request->inherited.traceparent.bytes != 0 &&
        cpt_traceparent_parse(request->inherited.traceparent, &parent) == CPT_OK) {
        record->has_trace_id = 1;
        record->has_parent_id = 1;
        memcpy(record->trace_id, parent.trace_id, sizeof parent.trace_id);
        memcpy(record->parent_id, parent.parent_id, sizeof parent.parent_id);
    }
}

/* --- The answer --- */

static unsigned http_status_of(cpt_status status)
{
    return status == CPT_TIMEOUT       ? 504
           : status == CPT_UNAVAILABLE ? 502
           : status == CPT_LIMIT       ? 503
           : status == CPT_CANCELLED   ? 499 /* as others say: the client has gone */
                                       : 500;
}

/* It began, and then the memory that all have together did not suffice for it. */
static int is_starved(const struct cpt_request *request)
{
    const struct served *served = request->served;

    return (request->status == CPT_LIMIT || request->status == CPT_NO_MEMORY) &&
           cpti_account_is_refused(&served->account);
}

/* What the graph made, or that it failed. The sentence stays here: it may say more than
 * a stranger should know. */
static void fill_outbound(const struct cpt_request *request,
                          struct cpt_outbound *outbound)
{
    const struct cpt_rpc_reply *reply = cpt_request_output(request);

    if (reply == NULL && is_starved(request)) {
        outbound->http_status = 503;
        outbound->body = cpt_bytes_of("too much in flight\n");
    } else if (reply == NULL) {
        outbound->http_status = http_status_of(cpt_request_status(request));
        outbound->body = cpt_bytes_of("the request failed\n");
    } else {
        outbound->http_status = reply->http_status != 0 ? reply->http_status : 200;
        outbound->body = reply->body;
        outbound->content_type = reply->content_type;
    }
    if (outbound->content_type.bytes == 0) {
        outbound->content_type = cpt_bytes_of("text/plain; charset=utf-8");
    }
}

/* The critical path, from here on part of the request. */
static void make_path(struct served *served)
{
    struct cpti_counters *counters = &served->service->counters;

    (void)cpt_request_latency_ns(served->request);
    served->path = cpt_path_new(served->service->options.alloc);
    if (served->path == NULL ||
        cpt_request_path(served->request, served->path, NULL) != CPT_OK) {
        CPTI_COUNT(counters, lost_paths);
        cpt_path_free(served->path);
        served->path = NULL;
    }
}

struct cpt_bytes cpti_service_metadata(struct cpt_service *service,
                                       const struct cpt_alloc *alloc,
                                       const struct cpt_path *path,
                                       const struct cpt_ask *ask, uint64_t elapsed_ns)
{
    struct cpti_counters *counters = &service->counters;
    const size_t own = service->options.metadata_bytes_max;
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options,
        .alloc = alloc,
        .server_elapsed_ns = elapsed_ns,
        .has_server_elapsed = 1,
        .bytes_max = ask->bytes_max < own ? ask->bytes_max : own,
    };
    unsigned char *data = NULL;
    size_t bytes = 0;
    int fit = CPT_FIT_WHOLE;

    if (options.bytes_max == 0 ||
        cpt_metadata_encode(path, &options, &data, &bytes, &fit) != CPT_OK) {
        CPTI_COUNT(counters, unreturned_paths);
        return (struct cpt_bytes){NULL, 0};
    }
    CPTI_COUNT(counters, returned_paths);
    if (fit != CPT_FIT_WHOLE) {
        CPTI_COUNT(counters, returned_folded);
    }
    return (struct cpt_bytes){(char *)data, bytes};
}

static void count_end(struct served *served)
{
    struct cpti_counters *counters = &served->service->counters;
    struct cpt_request *request = served->request;
    uint64_t lost_events = 0;
    uint64_t lost_attributes = 0;

    if (request->status != CPT_OK) {
        CPTI_COUNT(counters, failed);
    }
    if (is_starved(request)) {
        CPTI_COUNT(counters, refused_busy);
    }
    if (request->status == CPT_TIMEOUT) {
        CPTI_COUNT(counters, timed_out);
    } else if (request->status == CPT_CANCELLED) {
        CPTI_COUNT(counters, cancelled);
    }
    if (request->is_traced) {
        /* A task that nobody waited for may still run and lose more. */
        cpti_lock_take(&request->lock);
        lost_events = request->trace.dropped_event_count;
        lost_attributes = request->attribute_dropped_count;
        cpti_lock_release(&request->lock);
        CPTI_COUNT_MORE(counters, lost_events, lost_events);
        CPTI_COUNT_MORE(counters, lost_attributes, lost_attributes);
    }
}

/* Nothing of the request runs any more, and its record is written. */
static void forget(void *context)
{
    cpti_service_release(context);
}

/* --- Behind the answer --- */

static void release_background(struct cpti_log_item *item)
{
    struct served *served = (struct served *)item;

    cpt_path_free(served->path);
    cpti_request_free(served->request);
}

/* The task that ended last, as its number + 1, and when; 0: after @after_ns none did.
 */
static uint32_t last_task(const struct cpt_request *request, uint64_t after_ns,
                          uint64_t *end_ns)
{
    uint32_t last = 0;

    *end_ns = after_ns;
    for (uint32_t i = 0; i < request->plan->task_count; i++) {
        const uint64_t own_ns =
            atomic_load_explicit(&request->records[i].end_ns, memory_order_relaxed);

        if (own_ns > *end_ns) {
            *end_ns = own_ns;
            last = i + 1;
        }
    }
    return last;
}

/* Turns the trace into that of the time behind the answer, and makes its path. */
static cpt_status make_background(struct served *served, uint32_t last, uint64_t end_ns)
{
    struct cpt_request *request = served->request;
    struct cpt_record *record = &served->item.record;

    record->start_unix_ns += record->latency_ns;
    request->trace.arrival_ns = request->trace.response_ns;
    request->trace.dispatch_ns = 0;
    request->trace.response_ns = end_ns;
    request->answered_by = last;
    record->latency_ns = end_ns - request->trace.arrival_ns;
    record->is_background = 1;
    record->is_local_root = 1;
    record->is_failed = atomic_load_explicit(&request->progress[last - 1].outcome,
                                             memory_order_relaxed) != CPT_OK;
    record->status = cpt_bytes_of(record->is_failed ? "failed" : "ok");
    served->path = cpt_path_new(served->service->options.alloc);
    record->path = served->path;
    return served->path != NULL ? cpt_request_path(request, served->path, NULL)
                                : CPT_NO_MEMORY;
}

/*
 * Nothing of the request runs any more, and its record, if there was one, is written.
 * What it did behind its answer gets a record of its own: it held nobody up, so it is
 * in no path, but somebody paid for it.
 */
static void retire_served(struct cpt_request *request)
{
    struct served *served = request->served;
    uint64_t end_ns = 0;
    uint32_t last = 0;

    if (served->item.release == release_item && request->status == CPT_OK) {
        last = last_task(request, request->trace.response_ns, &end_ns);
    }
    if (last == 0) {
        cpti_request_free(request);
        return;
    }
    if (make_background(served, last, end_ns) != CPT_OK) {
        CPTI_COUNT(&served->service->counters, lost_paths);
        release_background(&served->item);
        return;
    }
    CPTI_COUNT(&served->service->counters, background);
    served->item.release = release_background;
    cpti_log_queue_push(served->service->options.log, &served->item);
}

/* The request has ended: answers, then logs. */
static void answer(struct cpt_request *request, void *context)
{
    struct served *served = request->served;
    struct cpt_outbound outbound = {0};

    (void)context;

    if (request->is_traced) {
        make_path(served);
    }
    fill_outbound(request, &outbound);
    if (served->path != NULL && served->decision.ask.version != 0) {
        outbound.metadata = cpti_service_metadata(
            served->service, served->service->options.alloc, served->path,
            &served->decision.ask, cpt_request_latency_ns(request));
    }
    /* Before the reply: whoever reads it may ask again at once. */
    (void)atomic_fetch_sub_explicit(&served->service->in_flight_count, 1,
                                    memory_order_relaxed);
    served->reply(served->context, &outbound);
    cpt_alloc_free(served->service->options.alloc,
                   (void *)(uintptr_t)outbound.metadata.data);
    if (!request->is_traced) {
        count_end(served);
        return;
    }
    cpti_request_hold(request); /* for the record */
    if (served->path == NULL || !served->decision.is_logged ||
        served->service->options.log == NULL) {
        count_end(served);
        free_served(served);
        return;
    }
    fill_record(served, &served->item.record, outbound.http_status);
    count_end(served);
    served->item.release = release_item;
    cpti_lock_take(&request->lock);
    served->item.memory_bytes = request->block_bytes + request->arena.used_bytes;
    cpti_lock_release(&request->lock);
    cpti_log_queue_push(served->service->options.log, &served->item);
}

/* --- The request --- */

static cpt_status copy_bytes(struct cpt_arena *arena, struct cpt_bytes from,
                             struct cpt_bytes *to)
{
    *to = (struct cpt_bytes){"", 0};
    if (from.bytes != 0) {
        to->data = cpt_arena_copy(arena, from.data, from.bytes);
        to->bytes = from.bytes;
    }
    return to->data != NULL ? CPT_OK : CPT_NO_MEMORY;
}

/* What the record needs of the service, which may be gone before it is written. */
static cpt_status copy_names(struct served *served, struct cpt_request *request)
{
    char cut[CPT_NAME_BYTES_MAX + 1];
    cpt_status status = copy_bytes(&request->arena, cpt_bytes_of(served->service->name),
                                   &served->service_name);

    if (status == CPT_OK) {
        status = copy_bytes(&request->arena, cpt_name_bound(served->input.method, cut),
                            &served->method_name);
    }
    return status;
}

/* What the request takes counts from now on: what it has, and what its arena gets. */
static int open_account(struct served *served, struct cpt_service *service,
                        struct cpt_request *request)
{
    if (!cpti_account_open(&served->account, &service->budget, request->alloc,
                           request->block_bytes + request->arena.used_bytes)) {
        return 0;
    }
    request->account = &served->account;
    request->arena.alloc = &served->account.alloc;
    return 1;
}

/* A request that is ready to be launched, or NULL; @is_busy then says whether that is
 * because of what all have together. */
static struct cpt_request *make_request(struct cpt_service *service,
                                        const struct cpti_method *method,
                                        const struct cpt_inbound *inbound,
                                        const struct cpti_decision *decision,
                                        int *is_busy)
{
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options,
        .plan = method->plan,
        .executor = service->options.executor,
        .done = answer,
        .gone = forget,
        .context = service,
        .alloc = service->options.alloc,
        .memory_bytes_max = service->options.memory_bytes_max,
        .is_traced = decision->is_traced,
        .entry = method->entry,
        .clock = service->options.clock,
        .arrival_ns = inbound->arrival_ns,
        .attribution = service->options.attribution,
        .measures_cpu = service->options.measures_cpu,
    };
    struct cpt_request *request = NULL;
    struct served *served = NULL;

    cpti_service_hold(service);
    if (cpti_request_new(&options, &request, NULL) != CPT_OK) {
        cpti_service_release(service);
        return NULL;
    }
    served = cpt_arena_take(&request->arena, sizeof *served);
    if (served != NULL) {
        served->service = service;
    }
    if (served == NULL || !open_account(served, service, request) ||
        copy_bytes(&request->arena, inbound->method, &served->input.method) != CPT_OK ||
        copy_bytes(&request->arena, inbound->query, &served->input.query) != CPT_OK ||
        copy_bytes(&request->arena, inbound->body, &served->input.body) != CPT_OK ||
        copy_bytes(&request->arena, inbound->traceparent,
                   &request->inherited.traceparent) != CPT_OK ||
        (decision->is_logged && copy_names(served, request) != CPT_OK)) {
        *is_busy = served != NULL && cpti_account_is_refused(&served->account);
        cpti_request_discard(request);
        return NULL;
    }
    served->request = request;
    served->method = method;
    served->decision = *decision;
    request->served = served;
    if (decision->is_logged && service->options.log != NULL) {
        request->nest.retire = retire_served;
    }
    request->inherited.observer = &service->observer;
    request->inherited.overcount = service->options.overcount;
    request->inherited.ask =
        cpt_ask_downstream(decision->ask.version != 0 ? &decision->ask : NULL,
                           service->options.metadata_bytes_max);
    return request;
}

static void refuse(cpt_reply_fn reply, void *context, unsigned http_status,
                   const char *sentence)
{
    const struct cpt_outbound outbound = {
        .http_status = http_status,
        .content_type = cpt_bytes_of("text/plain; charset=utf-8"),
        .body = cpt_bytes_of(sentence),
    };

    reply(context, &outbound);
}

/* How long it may take: no longer than its caller will wait. 0: for ever. */
static uint64_t timeout_of(struct cpt_service *service,
                           const struct cpti_method *method,
                           const struct cpt_inbound *inbound)
{
    uint64_t asked_ns = 0;

    if (inbound->timeout.data == NULL) {
        return method->timeout_ns;
    }
    if (cpti_timeout_parse(inbound->timeout, &asked_ns) != CPT_OK) {
        CPTI_COUNT(&service->counters, refused_timeouts);
        return method->timeout_ns;
    }
    return method->timeout_ns != 0 && method->timeout_ns < asked_ns ? method->timeout_ns
                                                                    : asked_ns;
}

/* One more in flight; 0: that would be too many. */
static int admit(struct cpt_service *service)
{
    if (atomic_fetch_add_explicit(&service->in_flight_count, 1, memory_order_relaxed) <
        service->options.requests_in_flight_max) {
        return 1;
    }
    (void)atomic_fetch_sub_explicit(&service->in_flight_count, 1, memory_order_relaxed);
    return 0;
}

/* There is no memory for it, or it would be more than all may have together. */
static void refuse_for_memory(struct cpt_service *service, cpt_reply_fn reply,
                              void *context, int is_busy)
{
    (void)atomic_fetch_sub_explicit(&service->in_flight_count, 1, memory_order_relaxed);
    if (is_busy) {
        CPTI_COUNT(&service->counters, refused_busy);
        refuse(reply, context, 503, "too much in flight\n");
    } else {
        CPTI_COUNT(&service->counters, refused_memory);
        refuse(reply, context, 503, "out of memory\n");
    }
}

/* A request that is made: who may cancel it, how long it has, off it goes. */
static void launch(struct cpt_service *service, struct cpt_request *request,
                   const struct cpt_inbound *inbound)
{
    struct served *served = request->served;
    const uint64_t timeout_ns = timeout_of(service, served->method, inbound);

    if (inbound->handle != NULL) {
        *inbound->handle = cpti_handle_new(request, service->options.alloc);
    }
    if (timeout_ns != 0) {
        /* Without a timer the calls are bounded all the same. */
        (void)cpti_limit_begin(request, timeout_ns, inbound->arrival_ns, NULL);
    }
    cpti_request_launch(request, &served->input, 0);
}

void cpt_service_serve(struct cpt_service *service, const struct cpt_inbound *inbound,
                       cpt_reply_fn reply, void *context)
{
    const struct cpti_method *method = find_method(service, inbound->method);
    struct cpti_decision decision = {0};
    struct cpt_request *request = NULL;
    struct served *served = NULL;
    int is_busy = 0;

    if (inbound->handle != NULL) {
        *inbound->handle = NULL;
    }
    CPTI_COUNT(&service->counters, requests);
    if (method == NULL) {
        CPTI_COUNT(&service->counters, unknown_methods);
        refuse(reply, context, 404, "no such method\n");
        return;
    }
    if (!admit(service)) {
        CPTI_COUNT(&service->counters, refused_busy);
        refuse(reply, context, 503, "too many requests in flight\n");
        return;
    }
    if (cpt_service_is_enabled(service)) {
        decision =
            cpti_sampling_decide(&service->sampling, inbound, &service->counters);
    }
    request = make_request(service, method, inbound, &decision, &is_busy);
    if (request == NULL) {
        refuse_for_memory(service, reply, context, is_busy);
        return;
    }
    served = request->served;
    served->reply = reply;
    served->context = context;
    launch(service, request, inbound);
}
