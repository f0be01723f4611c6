/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * shared.c - requests that join shared work, and leave it; see cpt_shared.h
 *
 * A *flight* is one run and the requests that wait for it; its life is in flight.h.
 * Here is the table of flights by key: a request joins the flight for its key, or opens
 * one.
 */
#include "framework/cpt_shared.h"
#include "framework/run/component.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"

#include "framework/run/recording.h"
#include "framework/service/service.h"
#include "framework/share/flight.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_MAX_DEFAULT = 1024, WAITERS_MAX_DEFAULT = 1024 };

#define BATCH_DELAY_NS_DEFAULT UINT64_C(1000000)

/* --- Joining --- */

/* The flight for @key, or NULL. Lock held. */
static struct cpti_flight *find(struct cpt_shared *shared, uint64_t hash,
                                struct cpt_bytes key)
{
    struct cpti_flight *flight = NULL;

    LIST_FOREACH(flight, cpti_shared_bucket(shared, hash), others)
    {
        if (flight->hash == hash && flight->key_bytes == key.bytes &&
            (key.bytes == 0 || memcmp(flight->key, key.data, key.bytes) == 0)) {
            break;
        }
    }
    return flight;
}

/* Memory for a flight of @shared: the struct, items, ids, @key. */
static struct cpti_flight *flight_new(struct cpt_shared *shared, struct cpt_bytes key,
                                      uint32_t outer_count)
{
    const size_t head = (sizeof(struct cpti_flight) + 15) / 16 * 16;
    const size_t items = (shared->item_count_max * shared->item_bytes + 15) / 16 * 16;
    struct cpti_flight *flight =
        cpt_alloc_zeroed(shared->options.alloc,
                         head + items + outer_count * sizeof(uint64_t) + key.bytes);

    if (flight == NULL) {
        return NULL;
    }
    flight->shared = shared;
    flight->items = (unsigned char *)flight + head;
    flight->outer_ids = (uint64_t *)(void *)(flight->items + items);
    flight->key = (unsigned char *)(flight->outer_ids + outer_count);
    flight->key_bytes = key.bytes;
    if (key.bytes != 0) {
        memcpy(flight->key, key.data, key.bytes);
    }
    TAILQ_INIT(&flight->sharers);
    atomic_init(&flight->reference_count, 1);
    return flight;
}

/* The run asks its callees as @request would: the first traced request that waits, else
 * the first one. But for drags, which it has if any of them asks. */
static void inherit(struct cpti_flight *flight, const struct cpt_request *request)
{
    const struct cpt_alloc *alloc = flight->shared->options.alloc;
    struct cpti_inherited *inherited = &flight->inherited;
    struct cpti_trace_origin *origin = request->inherited.trace;
    struct cpt_service *service = cpti_service_of(request);

    flight->attribution = request->trace.attribution;
    flight->measures_cpu = request->off_cpu_ns != NULL;
    inherited->observer = request->inherited.observer;
    if (service != NULL) { /* the request may be freed before the run */
        cpti_service_hold(service);
        flight->services[flight->services[0] != NULL] = service;
    }
    inherited->ask = request->inherited.ask;
    inherited->ask.delay_ns = 0; /* others wait for the run, too */
    inherited->overcount = request->inherited.overcount;
    cpti_trace_keep(&flight->trace, origin, flight->tracestate);
    cpt_alloc_free(alloc, flight->propagated);
    flight->propagated =
        cpti_propagated_copy(origin != NULL ? origin->propagated : NULL, alloc);
    flight->trace.propagated = flight->propagated;
    inherited->trace = &flight->trace;
}

/* Puts a new flight into the table. Lock held. */
static struct cpti_flight *open_flight(struct cpt_shared *shared, uint64_t hash,
                                       struct cpt_bytes key,
                                       const struct cpt_request *request,
                                       struct cpt_error *error)
{
    const struct cpti_flight *outer = request->nest.flight;
    const char *name = shared->options.name;
    struct cpti_flight *flight = NULL;

    if (shared->open_count >= shared->options.keys_max) {
        (void)cpt_error_set(error, CPT_LIMIT, 0,
                            "shared work \"%s\" runs for %zu keys, the limit is %zu",
                            name, shared->open_count, shared->options.keys_max);
        return NULL;
    }
    if (request->nest.level >= CPT_NESTING_MAX) {
        (void)cpt_error_set(error, CPT_LIMIT, 0,
                            "shared work \"%s\" lies %u runs deep, the limit is %d",
                            name, (unsigned)request->nest.level + 1, CPT_NESTING_MAX);
        return NULL;
    }
    flight = flight_new(shared, key, request->nest.level);
    if (flight == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for shared work \"%s\"",
                            name);
        return NULL;
    }
    flight->id = ++shared->last_id;
    flight->hash = hash;
    flight->outer_count = request->nest.level;
    if (outer != NULL) {
        memcpy(flight->outer_ids, outer->outer_ids,
               outer->outer_count * sizeof(uint64_t));
        flight->outer_ids[outer->outer_count] = outer->id;
    }
    flight->executor = shared->options.executor != NULL
                           ? shared->options.executor
                           : cpti_executor_behind(request->executor); /* it lasts */
    flight->clock = request->clock;
    inherit(flight, request);
    LIST_INSERT_HEAD(cpti_shared_bucket(shared, hash), flight, others);
    flight->is_joinable = true;
    shared->open_count++;
    shared->flight_count++;
    return flight;
}

/* Whether @request runs within @flight. */
static bool lies_in(const struct cpt_request *request, const struct cpti_flight *flight)
{
    const struct cpti_flight *outer = request->nest.flight;

    if (outer == NULL || outer == flight) {
        return outer == flight;
    }
    for (uint32_t i = 0; i < outer->outer_count; i++) {
        if (outer->outer_ids[i] == flight->id) {
            return true;
        }
    }
    return false;
}

/* @request is traced and waits for a run that is yet to begin. Lock held. */
static void note_asker(struct cpti_flight *flight, const struct cpt_request *request)
{
    if (!flight->is_asked) {
        flight->is_asked = true;
        inherit(flight, request);
    }
    flight->inherited.ask.wants_drag |= request->inherited.ask.wants_drag;
}

/* The flight for @key, which @sharer has joined. NULL: it may not. Lock held. */
static struct cpti_flight *join(struct cpt_shared *shared, uint64_t hash,
                                struct cpt_bytes key, struct cpti_sharer *sharer,
                                const void *input, struct cpt_error *error)
{
    const struct cpt_request *request = sharer->run.waiter;
    const char *name = shared->options.name;
    struct cpti_flight *flight = find(shared, hash, key);

    if (flight != NULL && lies_in(request, flight)) {
        (void)cpt_error_set(error, CPT_INVALID, 0,
                            "a run of shared work \"%s\" asks for its own key", name);
        return NULL;
    }
    if (flight != NULL && flight->waiter_count >= shared->options.waiters_max) {
        (void)cpt_error_set(
            error, CPT_LIMIT, 0,
            "%zu requests wait for a key of shared work \"%s\", the limit is %zu",
            flight->waiter_count, name, shared->options.waiters_max);
        return NULL;
    }
    if (flight == NULL) {
        flight = open_flight(shared, hash, key, request, error);
    }
    if (flight == NULL) {
        return NULL;
    }
    if (flight->joined_count < shared->item_count_max && shared->item_bytes != 0) {
        memcpy(flight->items + flight->joined_count * shared->item_bytes, input,
               shared->item_bytes);
    }
    sharer->run.index = flight->joined_count++;
    if (request->is_traced && !request->inherited.is_silent && !flight->has_begun) {
        note_asker(flight, request);
    }
    cpti_flight_add(flight, sharer);
    cpti_flight_hold(flight);
    return flight;
}

/* The request of a sharer is freed. */
static void release_sharer(struct cpti_cleanup *cleanup)
{
    cpti_flight_release(CPTI_CONTAINER(cleanup, struct cpti_sharer, cleanup)->flight);
}

/* Joins, and begins the run if it is time. */
static cpt_status join_and_begin(struct cpt_shared *shared, struct cpt_bytes key,
                                 struct cpti_sharer *sharer, const void *input,
                                 struct cpt_error *error)
{
    const uint64_t hash = cpt_hash_bytes((uintptr_t)shared, key.data, key.bytes);
    struct cpt_request *request = sharer->run.waiter;
    struct cpti_flight *flight = NULL;
    bool is_first = false;
    bool begins = false;
    bool is_timer_set = false;

    cpti_lock_take(&shared->lock);
    flight = join(shared, hash, key, sharer, input, error);
    if (flight != NULL) {
        is_first = flight->joined_count == 1;
        begins = !flight->has_begun &&
                 flight->joined_count >= shared->options.batch_count_max;
        flight->has_begun |= begins;
        is_timer_set = flight->is_timer_set;
        if (begins && shared->options.batch_count_max != 0) {
            cpti_flight_close(flight);
        } else if (begins && request->is_traced) {
            flight->begin_ns = sharer->run.pending.begin_ns;
        }
    }
    cpti_lock_release(&shared->lock);
    if (flight == NULL) {
        return error->status;
    }
    sharer->cleanup.run = release_sharer;
    cpti_cleanup_add(request, &sharer->cleanup);
    if (begins) {
        cpti_flight_cancel_timer(flight, is_timer_set);
        cpti_flight_begin(flight);
    } else if (is_first) {
        cpti_flight_set_timer(flight);
    }
    return CPT_OK;
}

/* The request no longer waits: the sharer leaves, unless its wait is just ending. */
static void leave(struct cpti_cancellable *outside)
{
    struct cpti_sharer *sharer =
        CPTI_CONTAINER(outside->pending, struct cpti_sharer, run.pending);
    struct cpt_shared *shared = sharer->shared;
    bool is_listed = false;

    cpti_lock_take(&shared->lock);
    is_listed = sharer->is_listed;
    if (is_listed) {
        cpti_flight_remove(sharer);
    }
    cpti_lock_release(&shared->lock);
    if (is_listed) {
        cpti_request_release(sharer->run.waiter);
    }
}

static cpt_status check(const struct cpt_shared *shared, struct cpt_bytes key,
                        const struct cpt_value *value, struct cpt_error *error)
{
    const struct cpt_value *expected = shared->options.batch_count_max != 0
                                           ? shared->options.item
                                           : shared->options.plan->graph->input;

    if (key.bytes > CPT_SHARED_KEY_BYTES_MAX) {
        return cpt_error_set(
            error, CPT_LIMIT, 0,
            "a key of shared work \"%s\" has %zu bytes, the limit is %d",
            shared->options.name, key.bytes, CPT_SHARED_KEY_BYTES_MAX);
    }
    if (cpti_run_check_input(shared->options.name, expected, value, error) != CPT_OK) {
        CPTI_MISUSED(bad_input);
    }
    return error->status;
}

struct cpt_pending *cpt_task_share(struct cpt_task *task, struct cpt_shared *shared,
                                   struct cpt_bytes key, const struct cpt_value *value,
                                   const void *input)
{
    struct cpt_request *request = task->request;
    struct cpti_sharer *sharer = NULL;
    struct cpt_error error = {0};

    if (shared == NULL) { /* cpt_shared_new() has failed, and that was not looked at */
        CPTI_MISUSED(bad_input);
        return cpti_pending_failed(CPT_INVALID);
    }
    sharer = cpti_request_take(request, sizeof *sharer);
    if (sharer == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    sharer->run.plan = shared->options.plan;
    sharer->shared = shared;
    sharer->run.open = cpti_flight_open;
    (void)check(shared, key, value, &error);
    cpti_run_begin(&sharer->run, task, cpt_bytes_of(shared->frame));
    if (error.status == CPT_OK) {
        (void)join_and_begin(shared, key, sharer, input, &error);
    }
    if (error.status != CPT_OK) {
        cpti_run_fail(&sharer->run, &error);
    } else {
        cpti_pending_cancel_by(&sharer->run.pending, leave);
        cpti_run_note_launch(&sharer->run, task);
    }
    return &sharer->run.pending;
}

size_t cpt_share_index(const struct cpt_pending *pending)
{
    return cpti_pending_is(pending, CPTI_PENDING_RUN)
               ? CPTI_CONST_CONTAINER(pending, struct cpti_run, pending)->index
               : SIZE_MAX;
}

/* --- Made and freed --- */

static cpt_status read_options(struct cpt_shared_options *options,
                               const struct cpt_shared_options *given,
                               struct cpt_error *error)
{
    const cpt_status status = cpt_options_read(options, sizeof *options, given, error);

    if (status != CPT_OK) {
        return status;
    }
    if (options->plan == NULL || options->name == NULL) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "shared work needs a plan and a name");
    }
    options->keys_max = options->keys_max != 0 ? options->keys_max : KEYS_MAX_DEFAULT;
    options->waiters_max =
        options->waiters_max != 0 ? options->waiters_max : WAITERS_MAX_DEFAULT;
    if (options->batch_delay_ns == 0) {
        options->batch_delay_ns = BATCH_DELAY_NS_DEFAULT;
    }
    if (options->keys_max > CPT_SHARED_KEYS_MAX ||
        options->batch_count_max > CPT_SHARED_BATCH_MAX) {
        return cpt_error_set(
            error, CPT_LIMIT, 0,
            "shared work \"%s\" has %zu keys and %zu items in a batch, the limits are "
            "%d and %d",
            options->name, options->keys_max, options->batch_count_max,
            CPT_SHARED_KEYS_MAX, CPT_SHARED_BATCH_MAX);
    }
    if (options->plan->service.bytes + 2 + strlen(options->name) > CPT_NAME_BYTES_MAX) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the name of shared work \"%.40s...\" is longer than %zu "
                             "bytes",
                             options->name,
                             CPT_NAME_BYTES_MAX - 2 - options->plan->service.bytes);
    }
    if (options->batch_count_max != 0 &&
        (options->item == NULL ||
         options->plan->input_bytes != sizeof(struct cpt_batch))) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "batches of \"%s\" need an item, and a plan that takes a "
                             "struct cpt_batch",
                             options->name);
    }
    return CPT_OK;
}

struct cpt_shared *cpt_shared_new(const struct cpt_shared_options *given,
                                  struct cpt_error *error)
{
    struct cpt_shared_options options;
    struct cpt_shared *shared = NULL;
    size_t bucket_count = 1;

    if (read_options(&options, given, error) != CPT_OK) {
        return NULL;
    }
    while (bucket_count < options.keys_max) {
        bucket_count *= 2;
    }
    shared = cpt_alloc_zeroed(
        options.alloc, sizeof *shared + bucket_count * sizeof(struct cpti_flights));
    if (shared == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for shared work");
        return NULL;
    }
    shared->options = options;
    shared->bucket_count = bucket_count;
    shared->buckets = (struct cpti_flights *)(void *)(shared + 1);
    shared->item_count_max = options.batch_count_max != 0 ? options.batch_count_max : 1;
    shared->item_bytes =
        options.batch_count_max != 0 ? options.item->bytes : options.plan->input_bytes;
    (void)snprintf(shared->frame, sizeof shared->frame, "%.*s: %s",
                   (int)options.plan->service.bytes, options.plan->service.data,
                   options.name);
    cpti_lock_init(&shared->lock, CPTI_RANK_SHARED);
    (void)pthread_cond_init(&shared->idle, NULL);
    return shared;
}

/* Takes a batch that still collects, although no request waits for it; or NULL. */
static struct cpti_flight *take_batch(struct cpt_shared *shared)
{
    struct cpti_flight *found = NULL;

    cpti_lock_take(&shared->lock);
    for (size_t i = 0; i < shared->bucket_count && found == NULL; i++) {
        found = LIST_FIRST(&shared->buckets[i]);
        while (found != NULL && found->has_begun) {
            found = LIST_NEXT(found, others);
        }
    }
    if (found != NULL) {
        cpti_flight_close(found);
        found->has_begun = true;
        shared->open_count--;
    }
    cpti_lock_release(&shared->lock);
    return found;
}

void cpt_shared_free(struct cpt_shared *shared)
{
    struct cpti_flight *batch = NULL;

    if (shared == NULL) {
        return;
    }
    while ((batch = take_batch(shared)) != NULL) {
        assert(batch->waiter_count == 0);
        cpti_flight_cancel_timer(batch, batch->is_timer_set);
        cpti_flight_release(batch);
    }
    cpti_lock_take(&shared->lock);
    while (shared->flight_count != 0) {
        (void)pthread_cond_wait(&shared->idle, &shared->lock.mutex);
    }
    cpti_lock_release(&shared->lock);
    (void)pthread_cond_destroy(&shared->idle);
    cpti_lock_deinit(&shared->lock);
    cpt_alloc_free(shared->options.alloc, shared);
}
