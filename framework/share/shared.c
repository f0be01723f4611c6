/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * shared.c - one run of a plan for several requests; see cpt_shared.h
 *
 * A *fill* is one run and those who wait for it:
 *
 *      collecting --(full, or its timer)--> running --> ended --> freed
 *      (batches)                            |              |
 *          `-- who asks for the key joins --'              '- its output and path are
 *              (single flight: also here)                     read by those who joined
 *
 * The table holds the fills that may be joined. When the run ends the fill leaves the
 * table first, so that nobody joins what has ended, then its path is made, and then
 * each wait ends. What a fill gives is read until the last request that joined is gone,
 * so each such request keeps a reference to it, and the fill keeps the run's request.
 *
 * On a waiter's path. O is how long it waited, L how long the run took. Both end at the
 * same moment. If O > L it joined before the run began, and O - L is ‹batch wait›;
 * otherwise the front of the run's path, L - O, was before its time. So stamps of
 * different clocks are never compared.
 *
 * Locks: that of the shared work guards table, lists and states of fills. It is never
 * held together with that of a request.
 */
#include "framework/cpt_shared.h"

#include "framework/run/recording.h"
#include "framework/run/run.h"
#include "framework/service/service.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_MAX_DEFAULT = 1024, WAITERS_MAX_DEFAULT = 1024 };

#define BATCH_DELAY_NS_DEFAULT UINT64_C(1000000)

/* One wait for shared work, in the arena of the request that waits. */
struct sharer {
    struct cpti_run run;
    struct cpti_kept kept; /* of the waiter: lets the fill go */
    struct cpt_shared *shared;
    struct cpti_fill *fill;
    struct sharer *next; /* of the fill, with the next two under the shared lock */
    struct sharer *previous;
    unsigned char is_listed;
};

/* One run of the work. */
struct cpti_fill {
    struct cpt_shared *shared;
    uint64_t id;
    uint64_t hash;
    unsigned char *key; /* behind the fill, with the items and the ids */
    size_t key_bytes;
    unsigned char *items; /* what the waiters brought; of single flight, the first */
    uint64_t *outer_ids;  /* of the fills that this one was asked for in */
    uint32_t outer_count;

    /* Guarded by the shared lock. */
    struct cpti_fill *next; /* of the bucket */
    struct sharer *oldest;
    struct sharer *newest;
    size_t waiter_count;
    size_t joined_count;
    unsigned char is_joinable; /* in the table */
    unsigned char has_begun;
    unsigned char is_timer_set;
    unsigned char is_asked; /* somebody traced waits */

    /* Of who begins it, then of the run. */
    struct cpt_timer timer;
    struct cpt_executor *executor;
    const struct cpt_clock *clock;
    struct cpti_inherited inherited;
    struct cpt_service *services[2]; /* that it holds: inherited from, or NULL */
    char traceparent[64];
    unsigned attribution;
    int measures_cpu;
    uint64_t begin_ns; /* of single flight: when the first joined; 0: not known */
    struct cpt_batch batch;
    struct cpt_request *request; /* NULL: it could not be made */
    struct cpt_path *path;       /* not changed once a wait has ended; may be NULL */
    char sentence[CPT_ERROR_SENTENCE_BYTES]; /* why it could not be made */

    /* The run till it is retired, a timer, each request that joined. acq_rel: the last
     * one sees all. */
    atomic_uint_least32_t reference_count;
};

struct cpt_shared {
    struct cpt_shared_options options;
    size_t item_bytes;
    size_t item_count_max;              /* of a fill */
    char frame[CPT_NAME_BYTES_MAX + 1]; /* "A: name" */
    struct cpti_lock lock;
    pthread_cond_t idle; /* fill_count is 0 */
    /* Guarded by lock. */
    uint64_t last_id;
    size_t flight_count; /* fills that collect or run */
    size_t fill_count;   /* fills that are not freed */
    size_t bucket_count; /* a power of 2 */
    struct cpti_fill **buckets;
};

/* --- References --- */

static void free_fill(void *context)
{
    struct cpti_fill *fill = context;
    struct cpt_shared *shared = fill->shared;

    cpt_path_free(fill->path);
    for (size_t i = 0; i < 2 && fill->services[i] != NULL; i++) {
        cpti_service_release(fill->services[i]);
    }
    cpt_alloc_free(shared->options.alloc, fill);
    cpti_lock_take(&shared->lock);
    if (--shared->fill_count == 0) {
        (void)pthread_cond_broadcast(&shared->idle);
    }
    cpti_lock_release(&shared->lock);
}

static void drop(struct cpti_fill *fill)
{
    if (atomic_fetch_sub_explicit(&fill->reference_count, 1, memory_order_acq_rel) !=
        1) {
        return;
    }
    if (fill->request != NULL) {
        cpti_request_free(fill->request); /* its `gone` is free_fill() */
    } else {
        free_fill(fill);
    }
}

static void hold(struct cpti_fill *fill)
{
    (void)atomic_fetch_add_explicit(&fill->reference_count, 1, memory_order_relaxed);
}

static void release_sharer(struct cpti_kept *kept)
{
    drop(((struct sharer *)((char *)kept - offsetof(struct sharer, kept)))->fill);
}

static void retire_run(struct cpt_request *request)
{
    drop(request->nest.fill);
}

/* --- The table, and who waits. Lock held. --- */

static struct cpti_fill **bucket_of(struct cpt_shared *shared, uint64_t hash)
{
    return &shared->buckets[hash & (shared->bucket_count - 1)];
}

static struct cpti_fill *find(struct cpt_shared *shared, uint64_t hash,
                              struct cpt_bytes key)
{
    struct cpti_fill *fill = *bucket_of(shared, hash);

    while (fill != NULL &&
           (fill->hash != hash || fill->key_bytes != key.bytes ||
            (key.bytes != 0 && memcmp(fill->key, key.data, key.bytes) != 0))) {
        fill = fill->next;
    }
    return fill;
}

/* Nobody joins @fill any more. */
static void close_fill(struct cpti_fill *fill)
{
    struct cpti_fill **place = bucket_of(fill->shared, fill->hash);

    if (!fill->is_joinable) {
        return;
    }
    while (*place != fill) {
        place = &(*place)->next;
    }
    *place = fill->next;
    fill->is_joinable = 0;
}

static void list(struct cpti_fill *fill, struct sharer *sharer)
{
    sharer->fill = fill;
    sharer->is_listed = 1;
    sharer->previous = fill->newest;
    *(fill->newest != NULL ? &fill->newest->next : &fill->oldest) = sharer;
    fill->newest = sharer;
    fill->waiter_count++;
}

static void unlist(struct sharer *sharer)
{
    struct cpti_fill *fill = sharer->fill;

    *(sharer->previous != NULL ? &sharer->previous->next : &fill->oldest) =
        sharer->next;
    *(sharer->next != NULL ? &sharer->next->previous : &fill->newest) =
        sharer->previous;
    sharer->is_listed = 0;
    fill->waiter_count--;
}

/* --- On the path of who waited --- */

static cpt_status append_batch_wait(struct cpt_path *path, uint32_t root,
                                    uint64_t wait_ns)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    cpt_status status =
        cpt_path_frame_add(path, root, none, CPT_KIND_BATCH_WAIT, &frame);

    return status == CPT_OK ? cpt_path_append_ns(path, frame, wait_ns) : status;
}

static cpt_status open_shared(const struct cpti_run *run, struct cpt_trace_call *call,
                              struct cpt_path *callee)
{
    const struct cpti_fill *fill = ((const struct sharer *)run)->fill;
    const uint64_t waited_ns = call->arrive_ns - call->issue_ns;
    struct cpt_splice splice = {.overcount = CPT_OVERCOUNT_CLIP};
    uint32_t root = 0;
    cpt_status status = CPT_OK;

    if (fill->path == NULL) {
        call->reason = fill->request != NULL && !fill->request->is_traced
                           ? CPT_REASON_SHARED
                           : CPT_REASON_LIMIT;
        return CPT_INVALID;
    }
    splice.observed_ns = cpt_path_sum_ns(fill->path);
    status =
        cpt_path_frame_add(callee, CPT_FRAME_NONE, call->name, CPT_KIND_WORK, &root);
    if (status == CPT_OK && waited_ns > splice.observed_ns) {
        status = append_batch_wait(callee, root, waited_ns - splice.observed_ns);
    } else {
        splice.skip_ns = splice.observed_ns - waited_ns;
    }
    if (status == CPT_OK && splice.observed_ns != 0) {
        status = cpt_path_splice(callee, root, fill->path, &splice, NULL);
    }
    if (status == CPT_OK) {
        status = cpt_path_label_number(callee, CPT_LABEL_COALESCED, fill->joined_count);
    }
    if (status != CPT_OK) {
        cpt_path_reset(callee);
        call->reason = CPT_REASON_LIMIT;
    }
    return status;
}

/* --- The end of a run --- */

/* The run's path, which is the same for all who read it. Nobody else looks yet. */
static void make_path(struct cpti_fill *fill)
{
    struct cpt_path *path = cpt_path_new(fill->shared->options.alloc);

    if (path != NULL && cpt_request_path(fill->request, path, NULL) == CPT_OK) {
        fill->path = path;
    } else {
        cpt_path_free(path);
    }
}

/* When @run's wait ended: at @end_ns if that is of its clock. */
static uint64_t arrival(const struct cpti_fill *fill, const struct cpti_run *run,
                        uint64_t end_ns)
{
    const struct cpt_request *waiter = run->waiter;
    const uint64_t issue_ns = run->pending.begin_ns;

    if (!waiter->is_traced) {
        return 0;
    }
    if (end_ns == 0 || waiter->clock != fill->clock) {
        end_ns = cpti_record_now(waiter);
    }
    return end_ns > issue_ns ? end_ns : issue_ns;
}

/* The run has ended, or could not be made: so have all waits for it. */
static void deliver(struct cpti_fill *fill, cpt_status status, const void *output,
                    const char *sentence)
{
    struct cpt_shared *shared = fill->shared;
    struct sharer *sharer = NULL;
    int is_traced = 0;
    uint64_t end_ns = 0;

    cpti_lock_take(&shared->lock);
    close_fill(fill);
    shared->flight_count--;
    sharer = fill->oldest;
    for (struct sharer *each = sharer; each != NULL; each = each->next) {
        each->is_listed = 0;
        is_traced |= each->run.waiter->is_traced;
    }
    cpti_lock_release(&shared->lock);
    if (fill->request != NULL && fill->request->is_traced) {
        const uint64_t latency_ns = cpt_request_latency_ns(fill->request);

        end_ns = fill->request->trace.arrival_ns + latency_ns;
        if (is_traced) {
            make_path(fill);
        }
    }
    while (sharer != NULL) {
        struct sharer *next = sharer->next;
        struct cpt_request *waiter = sharer->run.waiter;

        cpti_run_end(&sharer->run, (struct cpti_run_result){status, output, sentence},
                     arrival(fill, &sharer->run, end_ns));
        cpti_request_release(waiter);
        sharer = next;
    }
}

static void end_run(struct cpt_request *request, void *context)
{
    deliver(context, cpt_request_status(request), cpt_request_output(request),
            request->sentence);
}

/* --- The beginning of a run --- */

static cpt_status make_run(struct cpti_fill *fill, struct cpt_error *error)
{
    const struct cpt_shared_options *shared = &fill->shared->options;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options,
        .plan = shared->plan,
        .executor = fill->executor,
        .done = end_run,
        .gone = free_fill,
        .context = fill,
        .alloc = shared->alloc,
        .memory_bytes_max = shared->memory_bytes_max,
        .is_traced = fill->is_asked || !shared->is_traced_on_demand,
        .entry = fill->shared->frame,
        .clock = fill->clock,
        .attribution = fill->attribution,
        .measures_cpu = fill->measures_cpu,
    };
    struct cpt_request *made = NULL;
    cpt_status status = CPT_OK;

    status = cpti_request_new(&options, &made, error);
    if (status != CPT_OK) {
        return status;
    }
    made->inherited = fill->inherited;
    made->inherited.is_silent = !fill->is_asked;
    made->nest.fill = fill;
    made->nest.level = fill->outer_count + 1;
    made->nest.retire = retire_run;
    if (fill->begin_ns != 0 && made->is_traced) {
        made->trace.arrival_ns = fill->begin_ns;
    }
    fill->request = made;
    return CPT_OK;
}

/* Of a fill that has_begun, by the one who set that; not with a lock held. The run's
 * reference goes with it. */
static void begin(struct cpti_fill *fill)
{
    struct cpt_error error = {0};
    const cpt_status status = make_run(fill, &error);
    void *input = fill->items;

    if (status != CPT_OK) {
        memcpy(fill->sentence, error.sentence, sizeof fill->sentence);
        deliver(fill, status, NULL, fill->sentence);
        drop(fill);
        return;
    }
    if (fill->shared->options.batch_count_max != 0) {
        fill->batch = (struct cpt_batch){fill->joined_count, fill->items};
        input = &fill->batch;
    }
    cpti_request_launch(fill->request, input, 0);
}

static void fire(struct cpt_timer *timer)
{
    struct cpti_fill *fill =
        (struct cpti_fill *)((char *)timer - offsetof(struct cpti_fill, timer));
    struct cpt_shared *shared = fill->shared;
    int is_first = 0;

    cpti_lock_take(&shared->lock);
    is_first = !fill->has_begun;
    fill->has_begun = 1;
    if (is_first) {
        close_fill(fill);
    }
    cpti_lock_release(&shared->lock);
    if (is_first) {
        begin(fill);
    }
    drop(fill);
}

/* The batch is full: its timer need not fire, if it is set already. */
static void cancel_timer(struct cpti_fill *fill, int is_timer_set)
{
    if (is_timer_set && fill->executor->cancel(fill->executor, &fill->timer)) {
        drop(fill);
    }
}

/* By the first of a batch. Meanwhile others may have filled it. */
static void set_timer(struct cpti_fill *fill)
{
    struct cpt_shared *shared = fill->shared;
    int has_begun = 0;

    hold(fill);
    fill->timer.fire = fire;
    if (fill->executor->after(fill->executor, &fill->timer,
                              shared->options.batch_delay_ns) != CPT_OK) {
        fire(&fill->timer); /* without timers there is no waiting */
        return;
    }
    cpti_lock_take(&shared->lock);
    has_begun = fill->has_begun;
    fill->is_timer_set = !has_begun;
    cpti_lock_release(&shared->lock);
    cancel_timer(fill, has_begun);
}

/* --- Joining --- */

/* Room for a fill of @shared for @key: the struct, items, ids, key. */
static struct cpti_fill *fill_new(struct cpt_shared *shared, struct cpt_bytes key,
                                  uint32_t outer_count)
{
    const size_t head = (sizeof(struct cpti_fill) + 15) / 16 * 16;
    const size_t items = (shared->item_count_max * shared->item_bytes + 15) / 16 * 16;
    struct cpti_fill *fill =
        cpt_alloc_zeroed(shared->options.alloc,
                         head + items + outer_count * sizeof(uint64_t) + key.bytes);

    if (fill == NULL) {
        return NULL;
    }
    fill->shared = shared;
    fill->items = (unsigned char *)fill + head;
    fill->outer_ids = (uint64_t *)(void *)(fill->items + items);
    fill->key = (unsigned char *)(fill->outer_ids + outer_count);
    fill->key_bytes = key.bytes;
    if (key.bytes != 0) {
        memcpy(fill->key, key.data, key.bytes);
    }
    atomic_init(&fill->reference_count, 1);
    return fill;
}

/* What the run has of @request for its own callees: of the first that is traced, as it
 * asks them, else of the first. */
static void inherit(struct cpti_fill *fill, const struct cpt_request *request)
{
    const struct cpt_bytes traceparent = request->inherited.traceparent;
    struct cpti_inherited *inherited = &fill->inherited;
    struct cpt_service *service = cpti_service_of(request);

    fill->attribution = request->trace.attribution;
    fill->measures_cpu = request->off_cpu_ns != NULL;
    inherited->observer = request->inherited.observer;
    if (service != NULL) { /* who joined may be gone before the run is */
        cpti_service_hold(service);
        fill->services[fill->services[0] != NULL] = service;
    }
    inherited->ask = request->inherited.ask;
    inherited->overcount = request->inherited.overcount;
    if (traceparent.bytes != 0 && traceparent.bytes <= sizeof fill->traceparent) {
        memcpy(fill->traceparent, traceparent.data, traceparent.bytes);
        inherited->traceparent =
            (struct cpt_bytes){fill->traceparent, traceparent.bytes};
    }
}

/* A new fill in the table. Lock held. */
static struct cpti_fill *open_fill(struct cpt_shared *shared, uint64_t hash,
                                   struct cpt_bytes key,
                                   const struct cpt_request *request,
                                   struct cpt_error *error)
{
    const struct cpti_fill *outer = request->nest.fill;
    const char *name = shared->options.name;
    struct cpti_fill *fill = NULL;

    if (shared->flight_count >= shared->options.keys_max) {
        (void)cpt_error_set(error, CPT_LIMIT, 0,
                            "shared work \"%s\" goes on for %zu keys, the limit is %zu",
                            name, shared->flight_count, shared->options.keys_max);
        return NULL;
    }
    if (request->nest.level >= CPT_NESTING_MAX) {
        (void)cpt_error_set(error, CPT_LIMIT, 0,
                            "shared work \"%s\" lies %u runs deep, the limit is %d",
                            name, (unsigned)request->nest.level + 1, CPT_NESTING_MAX);
        return NULL;
    }
    fill = fill_new(shared, key, request->nest.level);
    if (fill == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for shared work \"%s\"",
                            name);
        return NULL;
    }
    fill->id = ++shared->last_id;
    fill->hash = hash;
    fill->outer_count = request->nest.level;
    if (outer != NULL) {
        memcpy(fill->outer_ids, outer->outer_ids,
               outer->outer_count * sizeof(uint64_t));
        fill->outer_ids[outer->outer_count] = outer->id;
    }
    fill->executor =
        shared->options.executor != NULL ? shared->options.executor : request->executor;
    fill->clock = request->clock;
    inherit(fill, request);
    fill->next = *bucket_of(shared, hash);
    *bucket_of(shared, hash) = fill;
    fill->is_joinable = 1;
    shared->flight_count++;
    shared->fill_count++;
    return fill;
}

/* Whether @request runs within @fill. */
static int lies_in(const struct cpt_request *request, const struct cpti_fill *fill)
{
    const struct cpti_fill *outer = request->nest.fill;

    if (outer == NULL || outer == fill) {
        return outer == fill;
    }
    for (uint32_t i = 0; i < outer->outer_count; i++) {
        if (outer->outer_ids[i] == fill->id) {
            return 1;
        }
    }
    return 0;
}

/* The fill for @key, with one more who waits. Lock held. */
static struct cpti_fill *join(struct cpt_shared *shared, uint64_t hash,
                              struct cpt_bytes key, struct sharer *sharer,
                              const void *input, struct cpt_error *error)
{
    const struct cpt_request *request = sharer->run.waiter;
    const char *name = shared->options.name;
    struct cpti_fill *fill = find(shared, hash, key);

    if (fill != NULL && lies_in(request, fill)) {
        (void)cpt_error_set(error, CPT_INVALID, 0,
                            "a run of shared work \"%s\" asks for its own key", name);
        return NULL;
    }
    if (fill != NULL && fill->waiter_count >= shared->options.waiters_max) {
        (void)cpt_error_set(
            error, CPT_LIMIT, 0,
            "%zu wait for a key of shared work \"%s\", the limit is %zu",
            fill->waiter_count, name, shared->options.waiters_max);
        return NULL;
    }
    if (fill == NULL) {
        fill = open_fill(shared, hash, key, request, error);
    }
    if (fill == NULL) {
        return NULL;
    }
    if (fill->joined_count < shared->item_count_max && shared->item_bytes != 0) {
        memcpy(fill->items + fill->joined_count * shared->item_bytes, input,
               shared->item_bytes);
    }
    sharer->run.index = fill->joined_count++;
    if (request->is_traced && !request->inherited.is_silent && !fill->has_begun &&
        !fill->is_asked) {
        fill->is_asked = 1;
        inherit(fill, request);
    }
    list(fill, sharer);
    hold(fill);
    return fill;
}

/* Joins, and lets the run begin if it is time. */
static cpt_status join_and_begin(struct cpt_shared *shared, struct cpt_bytes key,
                                 struct sharer *sharer, const void *input,
                                 struct cpt_error *error)
{
    const uint64_t hash = cpt_hash_bytes((uintptr_t)shared, key.data, key.bytes);
    struct cpt_request *request = sharer->run.waiter;
    struct cpti_fill *fill = NULL;
    int is_first = 0;
    int begins = 0;
    int is_timer_set = 0;

    cpti_lock_take(&shared->lock);
    fill = join(shared, hash, key, sharer, input, error);
    if (fill != NULL) {
        is_first = fill->joined_count == 1;
        begins =
            !fill->has_begun && fill->joined_count >= shared->options.batch_count_max;
        fill->has_begun |= (unsigned char)begins;
        is_timer_set = fill->is_timer_set;
        if (begins && shared->options.batch_count_max != 0) {
            close_fill(fill);
        } else if (begins && request->is_traced) {
            fill->begin_ns = sharer->run.pending.begin_ns;
        }
    }
    cpti_lock_release(&shared->lock);
    if (fill == NULL) {
        return error->status;
    }
    sharer->kept.release = release_sharer;
    cpti_request_keep(request, &sharer->kept);
    if (begins) {
        cancel_timer(fill, is_timer_set);
        begin(fill);
    } else if (is_first) {
        set_timer(fill);
    }
    return CPT_OK;
}

/* Nobody wants @outside any more: it leaves, unless its wait is just ending. */
static void leave(struct cpti_outside *outside)
{
    struct sharer *sharer = (struct sharer *)((char *)outside->pending -
                                              offsetof(struct sharer, run.pending));
    struct cpt_shared *shared = sharer->shared;
    int is_listed = 0;

    cpti_lock_take(&shared->lock);
    is_listed = sharer->is_listed;
    if (is_listed) {
        unlist(sharer);
    }
    cpti_lock_release(&shared->lock);
    if (is_listed) {
        cpti_request_release(sharer->run.waiter);
    }
}

static void check(const struct cpt_shared *shared, struct cpt_bytes key,
                  const struct cpt_value *value, struct cpt_error *error)
{
    const struct cpt_value *expected = shared->options.batch_count_max != 0
                                           ? shared->options.item
                                           : shared->options.plan->graph->input;

    if (key.bytes > CPT_SHARED_KEY_BYTES_MAX) {
        (void)cpt_error_set(
            error, CPT_LIMIT, 0,
            "a key of shared work \"%s\" has %zu bytes, the limit is %d",
            shared->options.name, key.bytes, CPT_SHARED_KEY_BYTES_MAX);
    } else {
        (void)cpti_run_check_input(shared->options.name, expected, value, error);
    }
}

struct cpt_pending *cpt_task_share(struct cpt_task *task, struct cpt_shared *shared,
                                   struct cpt_bytes key, const struct cpt_value *value,
                                   const void *input)
{
    struct cpt_request *request = task->request;
    struct sharer *sharer = cpti_request_take(request, sizeof *sharer);
    struct cpt_error error = {0};

    if (sharer == NULL) {
        return NULL;
    }
    sharer->run.plan = shared->options.plan;
    sharer->shared = shared;
    sharer->run.open = open_shared;
    check(shared, key, value, &error);
    cpti_run_begin(&sharer->run, task, cpt_bytes_of(shared->frame));
    if (error.status == CPT_OK) {
        (void)join_and_begin(shared, key, sharer, input, &error);
    }
    if (error.status != CPT_OK) {
        cpti_run_fail(&sharer->run, &error);
    } else {
        cpti_pending_tell_by(&sharer->run.pending, leave);
    }
    return &sharer->run.pending;
}

size_t cpt_share_index(const struct cpt_pending *pending)
{
    return ((const struct cpti_run *)((const char *)pending -
                                      offsetof(struct cpti_run, pending)))
        ->index;
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
            "shared work \"%s\" is to have %zu keys and %zu in a batch, the limits are "
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
        options.alloc, sizeof *shared + bucket_count * sizeof(struct cpti_fill *));
    if (shared == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for shared work");
        return NULL;
    }
    shared->options = options;
    shared->bucket_count = bucket_count;
    shared->buckets = (struct cpti_fill **)(void *)(shared + 1);
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

/* Takes a batch that collects, for nobody, or NULL. */
static struct cpti_fill *take_batch(struct cpt_shared *shared)
{
    struct cpti_fill *found = NULL;

    cpti_lock_take(&shared->lock);
    for (size_t i = 0; i < shared->bucket_count && found == NULL; i++) {
        found = shared->buckets[i];
        while (found != NULL && found->has_begun) {
            found = found->next;
        }
    }
    if (found != NULL) {
        close_fill(found);
        found->has_begun = 1;
        shared->flight_count--;
    }
    cpti_lock_release(&shared->lock);
    return found;
}

void cpt_shared_free(struct cpt_shared *shared)
{
    const struct cpt_alloc *alloc = NULL;
    struct cpti_fill *batch = NULL;

    if (shared == NULL) {
        return;
    }
    while ((batch = take_batch(shared)) != NULL) {
        assert(batch->waiter_count == 0);
        cancel_timer(batch, batch->is_timer_set);
        drop(batch);
    }
    cpti_lock_take(&shared->lock);
    while (shared->fill_count != 0) {
        (void)pthread_cond_wait(&shared->idle, &shared->lock.mutex);
    }
    cpti_lock_release(&shared->lock);
    (void)pthread_cond_destroy(&shared->idle);
    cpti_lock_deinit(&shared->lock);
    alloc = shared->options.alloc;
    cpt_alloc_free(alloc, shared);
}
