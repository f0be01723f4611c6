/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * blocks.c - a plan made ready to run, and the memory of its requests: made, destroyed
 *
 * A request with all that its plan says it will need is one block:
 *
 *      request | progress | activations | demands | input | outputs
 *                                             | records | entry      if it is traced
 *
 * One arena is for the rest, another one for the rest of what is recorded of a traced
 * request; an ordinary request never touches them. They have limits of their own, and
 * what tracing adds to the block counts for neither: so a request that is traced has
 * the same memory, and comes to the same end, as one that is not. Blocks of requests
 * that are gone are kept with their paths, a few for each plan, and used again without
 * a lock. What makes and destroys a request stands here too, so that the compiler sees
 * it as a whole.
 */
#include "framework/run/request.h"

#include "framework/graph/describe.h"
#include "framework/run/component.h"
#include "framework/run/handle.h"
#include "framework/run/recording.h"
#include "framework/run/slack.h"
#include "framework/run/wait.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    ARENA_BLOCK_BYTES = 8192,
    ACTIVATIONS_MAX = 4, /* in the block; more are taken from the arena */
    SPARES_MAX = 32,
    SPARE_BYTES_MAX = 256 << 10,
    SPARE_SEGMENTS_MAX = 512, /* of a path that is kept; some 60 KB */
    SPARE_NAMES_MAX = 128
};

/* Offsets in a block. */
struct layout {
    size_t head_bytes; /* of the request, to be cleared */
    size_t progress;
    size_t activations;
    size_t cleared_bytes;     /* of each, from `state` on */
    uint64_t activation_bits; /* one for each */
    size_t demands;
    size_t input;
    size_t outputs;
    size_t records;
    size_t entry;
    size_t bytes;
};

/* Of a plan: its requests, untraced and traced, and spare blocks of both. */
struct cpti_blocks {
    struct cpti_progress *progress; /* of a request that begins */
    struct layout layouts[2];
    _Atomic(struct cpt_request *) spares[2][SPARES_MAX];
};

/* --- A plan, ready to run --- */

/* Takes @more bytes at the offset that it returns; what follows is aligned for any
 * type. */
static size_t place(size_t *bytes, size_t more)
{
    const size_t offset = *bytes;

    *bytes += (more + 15) / 16 * 16;
    return offset;
}

static void lay_out(struct layout *layout, const struct cpt_plan *plan, bool is_traced)
{
    const size_t count = plan->task_count;
    const size_t activations = count < ACTIVATIONS_MAX ? count : ACTIVATIONS_MAX;

    (void)place(&layout->bytes, sizeof(struct cpt_request));
    layout->head_bytes = offsetof(struct cpt_request, lock);
    layout->cleared_bytes = sizeof(struct cpt_task) - offsetof(struct cpt_task, state);
    layout->activation_bits = (UINT64_C(1) << activations) - 1;
    layout->progress = place(&layout->bytes, count * sizeof(struct cpti_progress));
    layout->activations = place(&layout->bytes, activations * sizeof(struct cpt_task));
    layout->demands =
        place(&layout->bytes, plan->demand_count * sizeof(struct cpti_demand));
    layout->input = place(&layout->bytes, plan->input_bytes);
    layout->outputs = place(&layout->bytes, plan->output_bytes);
    if (is_traced) {
        layout->records = place(&layout->bytes, count * sizeof(struct cpti_record));
        layout->entry = place(&layout->bytes, CPT_NAME_BYTES_MAX + 1);
    }
}

/* What a compiled plan needs to be run. */
static cpt_status make_ready(struct cpt_plan *plan)
{
    struct cpti_blocks *blocks = cpt_arena_take(plan->arena, sizeof *blocks);
    struct cpti_progress *progress =
        cpt_arena_take(plan->arena, plan->task_count * sizeof *progress);

    if (blocks == NULL || progress == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < plan->task_count; i++) {
        atomic_init(&progress[i].missing_input_count,
                    plan->tasks[i].missing_input_count);
        atomic_init(&progress[i].outcome, CPT_WAITING);
        if (plan->tasks[i].component != NULL) {
            plan->steps[i].run = cpti_component_run;
        }
    }
    blocks->progress = progress;
    lay_out(&blocks->layouts[0], plan, false);
    lay_out(&blocks->layouts[1], plan, true);
    plan->blocks = blocks;
    return CPT_OK;
}

struct cpt_plan *cpt_plan_new(const struct cpt_graph *graph,
                              const struct cpt_alloc *alloc, struct cpt_error *error)
{
    struct cpt_plan *plan = cpti_plan_compile(graph, alloc, error);
    cpt_status status = plan != NULL ? make_ready(plan) : CPT_OK;

    for (struct cpt_plan *component = plan != NULL ? plan->components : NULL;
         component != NULL && status == CPT_OK; component = component->next_component) {
        status = make_ready(component);
    }
    if (status != CPT_OK) {
        (void)cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
        cpt_plan_free(plan);
        return NULL;
    }
    if (plan != NULL) {
        cpti_describe_made(plan);
    }
    return plan;
}

static void free_block(struct cpt_request *request)
{
    cpt_arena_deinit(&request->arena);
    if (request->is_traced) {
        cpt_arena_deinit(&request->notes);
        cpt_path_free(request->path);
    }
    cpti_lock_deinit(&request->lock);
    cpt_alloc_free(request->alloc, request);
}

static void free_spares(struct cpti_blocks *blocks)
{
    for (int i = 0; blocks != NULL && i < 2 * SPARES_MAX; i++) {
        struct cpt_request *request = atomic_load_explicit(
            &blocks->spares[i / SPARES_MAX][i % SPARES_MAX], memory_order_acquire);

        if (request != NULL) {
            free_block(request);
        }
    }
}

void cpt_plan_free(struct cpt_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    free_spares(plan->blocks);
    for (struct cpt_plan *component = plan->components; component != NULL;
         component = component->next_component) {
        free_spares(component->blocks);
    }
    cpti_plan_destroy(plan);
}

/* --- Blocks of requests --- */

static struct cpt_request *take_spare(_Atomic(struct cpt_request *) *spares)
{
    for (int i = 0; i < SPARES_MAX; i++) {
        struct cpt_request *request = NULL;

        if (atomic_load_explicit(&spares[i], memory_order_relaxed) != NULL) {
            request = atomic_exchange_explicit(&spares[i], NULL, memory_order_acquire);
        }
        if (request != NULL) {
            return request;
        }
    }
    return NULL;
}

/* false: there is no room. */
static bool put_spare(_Atomic(struct cpt_request *) *spares,
                      struct cpt_request *request)
{
    for (int i = 0; i < SPARES_MAX; i++) {
        struct cpt_request *none = NULL;

        if (atomic_load_explicit(&spares[i], memory_order_relaxed) == NULL &&
            atomic_compare_exchange_strong_explicit(&spares[i], &none, request,
                                                    memory_order_release,
                                                    memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* What the plan says of the parts of the block. */
static void set_up(struct cpt_request *request, const struct layout *layout)
{
    const struct cpt_plan *plan = request->plan;
    unsigned char *block = (unsigned char *)request;

    request->progress = (struct cpti_progress *)(void *)(block + layout->progress);
    memcpy((void *)request->progress, (const void *)plan->blocks->progress,
           plan->task_count * sizeof(struct cpti_progress));
    request->activations = (struct cpt_task *)(void *)(block + layout->activations);
    request->cleared_bytes = layout->cleared_bytes;
    atomic_init(&request->free_activations, layout->activation_bits);
    request->demands = (struct cpti_demand *)(void *)(block + layout->demands);
    request->input_place = block + layout->input;
    request->outputs = block + layout->outputs;
    if (layout->input != layout->demands) {
        memset(block + layout->demands, 0, layout->input - layout->demands);
    }
    memset(request->outputs, 0, plan->output_bytes);
    if (request->is_traced) {
        request->records = (struct cpti_record *)(void *)(block + layout->records);
        memset((void *)request->records, 0,
               plan->task_count * sizeof(struct cpti_record));
    }
}

/* The block is there anyway, so what tracing adds to that of a request counts for no
 * limit; but a request may have any number of components. */
static bool is_to_be_traced(const struct cpt_request_options *options,
                            const struct cpt_request *parent)
{
    const struct layout *layouts = options->plan->blocks->layouts;

    return options->is_traced &&
           (parent == NULL ||
            cpti_quota_take(parent->notes_quota, layouts[1].bytes - layouts[0].bytes));
}

static cpt_status take_block(const struct cpt_request_options *options,
                             const struct cpt_request *parent,
                             struct cpt_request **made, struct cpt_error *error)
{
    const struct cpt_plan *plan = options->plan;
    const size_t plain_bytes = plan->blocks->layouts[0].bytes;
    struct cpti_quota *quota = parent != NULL ? parent->nest.quota : NULL;
    const struct cpt_alloc *alloc =
        options->alloc != NULL ? options->alloc : cpt_alloc_default();
    const size_t bytes_max = options->memory_bytes_max != 0
                                 ? options->memory_bytes_max
                                 : cpti_request_bytes_default();
    const struct layout *layout = NULL;
    struct cpt_request *request = NULL;
    bool is_traced = false;

    if (plain_bytes >= bytes_max) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "a request takes %zu bytes, the limit is %zu", plain_bytes,
                             bytes_max);
    }
    if (quota != NULL && !cpti_quota_take(quota, plain_bytes)) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a request");
    }
    is_traced = is_to_be_traced(options, parent);
    layout = &plan->blocks->layouts[is_traced];
    if (alloc == plan->alloc && parent == NULL) {
        request = take_spare(plan->blocks->spares[is_traced]);
    }
    if (request != NULL) {
        cpt_arena_reset(&request->arena, bytes_max - plain_bytes);
    } else {
        request = alloc->resize(alloc->context, NULL, layout->bytes);
        if (request == NULL) {
            return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a request");
        }
        cpti_lock_init(&request->lock, CPTI_RANK_REQUEST);
        cpt_arena_init(&request->arena, quota != NULL ? &quota->alloc : alloc,
                       ARENA_BLOCK_BYTES, bytes_max - plain_bytes);
        if (is_traced) {
            cpt_arena_init(&request->notes, alloc, ARENA_BLOCK_BYTES, 0);
            request->path = NULL;
        }
        request->block_bytes = layout->bytes;
        request->plain_bytes = plain_bytes;
    }
    memset(request, 0, layout->head_bytes);
    request->alloc = alloc;
    request->plan = plan;
    request->is_traced = is_traced;
    set_up(request, layout);
    *made = request;
    return CPT_OK;
}

/* --- Requests, made and destroyed --- */

/* What is recorded of a component counts with its parent's. */
static void begin_notes(struct cpt_request *request,
                        const struct cpt_request_options *options,
                        const struct cpt_request *parent)
{
    const size_t bytes_max = options->trace_memory_bytes_max != 0
                                 ? options->trace_memory_bytes_max
                                 : cpti_request_bytes_default();

    if (parent != NULL) {
        request->notes_quota = parent->notes_quota;
    } else {
        request->notes_quota = &request->own_notes_quota;
        if (request->notes.used_bytes > bytes_max) {
            cpt_arena_deinit(&request->notes); /* kept from an earlier request */
        }
        cpti_quota_init(request->notes_quota, request->alloc, NULL, bytes_max,
                        request->notes.used_bytes);
    }
    request->notes.alloc = &request->notes_quota->alloc;
}

/* The entry frame, cut to what a name may have, and when the request came. */
static void begin_trace(struct cpt_request *request, char *name,
                        const struct cpt_request_options *options)
{
    char cut[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes entry = cpt_name_bound(
        options->entry != NULL ? cpt_bytes_of(options->entry) : options->plan->service,
        cut);

    memcpy(name, entry.data, entry.bytes);
    request->trace.entry = (struct cpt_bytes){name, entry.bytes};
    request->trace.attribution = options->attribution;
    request->inherited.ask = cpt_ask_downstream(NULL, 0);
    request->executor_name = cpt_bytes_of(request->executor->name);
    request->trace.arrival_ns = cpti_record_now(request);
    if (options->arrival_ns != 0 && options->arrival_ns < request->trace.arrival_ns) {
        request->trace.dispatch_ns = request->trace.arrival_ns;
        request->trace.arrival_ns = options->arrival_ns;
    }
}

cpt_status cpti_request_new(const struct cpt_request_options *options,
                            const struct cpt_request *parent, struct cpt_request **made,
                            struct cpt_error *error)
{
    struct cpt_request *request = NULL;
    const cpt_status status = take_block(options, parent, &request, error);

    if (status != CPT_OK) {
        return status;
    }
    assert(request != NULL);
    request->executor =
        options->executor != NULL ? options->executor : cpt_executor_inline();
    request->clock = options->clock != NULL ? options->clock : cpt_clock_monotonic();
    request->done = options->done;
    request->gone = options->gone;
    request->context = options->context;
    atomic_init(&request->reference_count, CPTI_OWN_REFERENCE + 1); /* the launch's */
    if (options->slack_wait_ns_max != 0) {
        cpti_slack_begin(request, options->slack_ns, options->slack_wait_ns_max);
    }
    if (request->is_traced) {
        begin_notes(request, options, parent);
        begin_trace(request, (char *)request + request->plan->blocks->layouts[1].entry,
                    options);
        if (options->measures_cpu) {
            request->off_cpu_ns = cpt_arena_take(
                &request->notes, options->plan->task_count * sizeof(uint64_t));
            request->starved = cpt_arena_take(
                &request->notes, options->plan->task_count * sizeof(void *));
        }
    }
    *made = request;
    return CPT_OK;
}

struct cpt_path *cpti_request_path_new(struct cpt_request *request)
{
    if (request->path != NULL) {
        cpt_path_renew(request->path); /* most names will be the same */
    } else {
        request->path = cpt_path_new(request->alloc);
    }
    return request->path;
}

/* Frees a path that is too large to be kept. */
static void trim_path(struct cpt_request *request)
{
    const struct cpt_path *path = request->path;

    if (path != NULL && (cpt_path_segment_count(path) > SPARE_SEGMENTS_MAX ||
                         cpt_path_label_count(path) > SPARE_SEGMENTS_MAX ||
                         cpt_path_frame_count(path) > SPARE_NAMES_MAX ||
                         cpt_path_name_count(path) > SPARE_NAMES_MAX)) {
        cpt_path_free(request->path);
        request->path = NULL;
    }
}

size_t cpti_request_bytes(const struct cpt_request *request)
{
    const struct cpti_quota *quota = request->nest.quota;
    size_t bytes = quota != NULL
                       ? atomic_load_explicit(&quota->bytes, memory_order_relaxed)
                       : request->plain_bytes + request->arena.used_bytes;

    if (request->is_traced) {
        bytes +=
            request->block_bytes - request->plain_bytes +
            atomic_load_explicit(&request->notes_quota->bytes, memory_order_relaxed);
    }
    return bytes;
}

void cpti_request_destroy(struct cpt_request *request)
{
    void (*gone)(void *) = request->gone;
    void *context = request->context;

    if (request->made_waits != NULL) {
        cpti_wait_deinit(request);
    }
    cpti_handle_detach(request);
    request->arena.alloc = request->alloc; /* not a quota or an account any more */
    request->notes.alloc = request->alloc;
    if (request->nest.parent == NULL) {
        cpt_alloc_free(request->alloc, request->nest.quota);
    }
    if (request->account != NULL) {
        cpti_account_close(request->account);
    }
    if (request->is_traced && request->nest.parent == NULL &&
        request->own_notes_quota.account != NULL) {
        cpti_account_close(request->own_notes_quota.account);
    }
    /* Now, so that what still points into it finds that nothing is there. */
    cpt_arena_reset(&request->arena, request->arena.limit_bytes);
    if (request->is_traced) {
        cpt_arena_reset(&request->notes, SIZE_MAX);
        trim_path(request);
    }
    /* The block is kept for a later request, or freed; before gone(), which may free
     * the plan. */
    if (request->nest.level != 0 || request->alloc != request->plan->alloc ||
        request->block_bytes > SPARE_BYTES_MAX ||
        !put_spare(request->plan->blocks->spares[request->is_traced], request)) {
        free_block(request);
    }
    if (gone != NULL) {
        gone(context);
    }
}
