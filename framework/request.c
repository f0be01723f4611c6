/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * request.c - the life of a request: made, launched, ended, freed
 *
 *      new --> launch --> tasks run --> end (once): done() --> last reference: freed
 *                                        ^
 *              the output's task, or the first task that fails
 *
 * `done` comes as soon as the output is there. Tasks that the output does not wait for
 * (started and never awaited) go on after it; the memory stays until they have ended.
 * After a failure no task begins a step any more.
 */
#include "framework/recording.h"

#include "cpt/cpt_path.h"
#include "framework/attributes.h"
#include "framework/call.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { REQUEST_BLOCK_BYTES = 8192, REQUEST_BYTES_MAX_DEFAULT = 16 << 20 };

/* --- Made --- */

/* So much at @offset of a block, and what follows is aligned for any type. */
static size_t place(size_t *bytes, size_t more)
{
    const size_t offset = *bytes;

    *bytes += (more + 15) / 16 * 16;
    return offset;
}

/*
 * A request with all that its plan says it will need, in one block of memory:
 *
 *      request | tasks | what they give | if it is traced: records, entry
 *
 * The arena is for the rest, and an ordinary request never touches it.
 */
struct layout {
    size_t tasks;
    size_t outputs;
    size_t records;
    size_t entry;
    size_t bytes;
};

static struct layout lay_out(const struct cpt_plan *plan, int is_traced,
                             size_t entry_bytes)
{
    struct layout layout = {0};

    (void)place(&layout.bytes, sizeof(struct cpt_request));
    layout.tasks = place(&layout.bytes, plan->task_count * sizeof(struct cpt_task));
    layout.outputs = place(&layout.bytes, plan->output_bytes);
    if (is_traced) {
        layout.records =
            place(&layout.bytes, plan->task_count * sizeof(struct cpti_record));
        layout.entry = place(&layout.bytes, entry_bytes);
    }
    return layout;
}

/* The tasks with their outputs and records. */
static void set_up_tasks(struct cpt_request *request, const struct layout *layout)
{
    const struct cpt_plan *plan = request->plan;
    unsigned char *block = (unsigned char *)request;
    unsigned char *outputs = block + layout->outputs;
    struct cpti_record *records =
        request->is_traced ? (struct cpti_record *)(void *)(block + layout->records)
                           : NULL;

    request->tasks = (struct cpt_task *)(void *)(block + layout->tasks);
    for (uint32_t i = 0; i < plan->task_count; i++) {
        struct cpt_task *task = &request->tasks[i];

        task->request = request;
        task->plan = &plan->tasks[i];
        task->next = plan->tasks[i].def->run;
        task->output = outputs + plan->tasks[i].output_offset;
        atomic_init(&task->missing_input_count, plan->tasks[i].missing_input_count);
        atomic_init(&task->outcome, CPT_WAITING);
        if (records != NULL) {
            task->record = &records[i].task;
            task->record->name = plan->tasks[i].frame_name;
            task->record->group = plan->tasks[i].group;
            task->record->executor = request->executor_name;
        }
    }
}

/* The entry frame, cut to what a name may have, and when the request came. */
static void begin_trace(struct cpt_request *request, struct cpt_bytes entry,
                        size_t offset, const struct cpt_request_options *options)
{
    char *name = (char *)request + offset;

    memcpy(name, entry.data, entry.bytes);
    request->trace.entry = (struct cpt_bytes){name, entry.bytes};
    request->trace.attribution = options->attribution;
    request->trace.arrival_ns = cpti_record_now(request);
    if (options->arrival_ns != 0 && options->arrival_ns < request->trace.arrival_ns) {
        request->trace.dispatch_ns = request->trace.arrival_ns;
        request->trace.arrival_ns = options->arrival_ns;
    }
}

static void set_up(struct cpt_request *request,
                   const struct cpt_request_options *options)
{
    request->plan = options->plan;
    request->alloc = options->alloc;
    request->executor =
        options->executor != NULL ? options->executor : cpt_executor_inline();
    request->executor_name = cpt_bytes_of(request->executor->name);
    request->clock = options->clock != NULL ? options->clock : cpt_clock_monotonic();
    request->done = options->done;
    request->gone = options->gone;
    request->context = options->context;
    request->is_traced = options->is_traced != 0;
    request->inherited.ask = cpt_ask_downstream(NULL, 0);
    atomic_init(&request->reference_count, CPTI_OWN_REFERENCE + 1); /* the launch's */
    atomic_init(&request->is_ended, 0);
    atomic_init(&request->is_stopped, 0);
    cpti_lock_init(&request->lock, CPTI_RANK_REQUEST);
}

/* The entry frame's name, as far as a name may go; none, and no work, if untraced. */
static struct cpt_bytes entry_name(const struct cpt_request_options *options,
                                   char cut[CPT_NAME_BYTES_MAX + 1])
{
    if (!options->is_traced) {
        return (struct cpt_bytes){"", 0};
    }
    return cpt_name_bound(options->entry != NULL ? cpt_bytes_of(options->entry)
                                                 : options->plan->service,
                          cut);
}

cpt_status cpti_request_new(const struct cpt_request_options *options,
                            struct cpt_request **made, struct cpt_error *error)
{
    const size_t bytes_max = options->memory_bytes_max != 0 ? options->memory_bytes_max
                                                            : REQUEST_BYTES_MAX_DEFAULT;
    char cut[CPT_NAME_BYTES_MAX + 1];
    const struct cpt_bytes entry = entry_name(options, cut);
    const struct layout layout =
        lay_out(options->plan, options->is_traced, entry.bytes);
    struct cpt_request *request = NULL;

    if (layout.bytes >= bytes_max) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "a request takes %zu bytes, the limit is %zu",
                             layout.bytes, bytes_max);
    }
    request = cpt_alloc_zeroed(options->alloc, layout.bytes);
    if (request == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a request");
    }
    set_up(request, options);
    request->block_bytes = layout.bytes;
    cpt_arena_init(&request->arena, options->alloc, REQUEST_BLOCK_BYTES,
                   bytes_max - layout.bytes);
    set_up_tasks(request, &layout);
    if (request->is_traced) {
        begin_trace(request, entry, layout.entry, options);
    }
    *made = request;
    return CPT_OK;
}

void cpti_request_discard(struct cpt_request *request)
{
    if (request->nest.retire != NULL) {
        request->nest.retire(request);
    } else {
        cpti_request_free(request);
    }
}

void cpti_request_destroy(struct cpt_request *request)
{
    void (*gone)(void *) = request->gone;
    void *context = request->context;

    cpti_handle_detach(request);
    cpt_arena_deinit(&request->arena);
    cpti_nest_deinit(request);
    cpti_lock_deinit(&request->lock);
    cpt_alloc_free(request->alloc, request);
    if (gone != NULL) {
        gone(context);
    }
}

void *cpti_request_take(struct cpt_request *request, size_t bytes)
{
    void *memory = NULL;

    cpti_lock_take(&request->lock);
    memory = cpt_arena_take(&request->arena, bytes);
    cpti_lock_release(&request->lock);
    return memory;
}

/* --- Run --- */

void cpti_request_launch(struct cpt_request *request, void *input)
{
    const struct cpt_plan *plan = request->plan;

    request->input = input;
    for (uint32_t i = 0; i < plan->task_count; i++) {
        if (plan->tasks[i].missing_input_count == 0) {
            if (request->is_traced) {
                request->tasks[i].record->ready_ns = request->trace.dispatch_ns != 0
                                                         ? request->trace.dispatch_ns
                                                         : request->trace.arrival_ns;
            }
            cpti_task_submit(&request->tasks[i]);
        }
    }
    cpti_request_release(request);
}

void cpti_request_release(struct cpt_request *request)
{
    const uint_least32_t before =
        atomic_fetch_sub_explicit(&request->reference_count, 1, memory_order_acq_rel);

    assert((before & ~CPTI_OWN_REFERENCE) != 0);
    if (before == 1) {
        cpti_request_discard(request);
    } else if (before == CPTI_OWN_REFERENCE + 1) {
        /* It has not ended and nobody is left who would go on with it. Nobody but us
         * can touch it, so this is no race: we take a reference again and end it. */
        cpti_request_hold(request);
        (void)cpti_request_end(request, CPT_INVALID, NULL);
        cpti_request_release(request);
    }
}

/* Gives the request's own back. The caller has another one. */
static void release_own(struct cpt_request *request)
{
    (void)atomic_fetch_sub_explicit(&request->reference_count, CPTI_OWN_REFERENCE,
                                    memory_order_acq_rel);
}

/* --- Ended --- */

/* "task 'A: A1': no such user", or what the status says. Lock held. */
static const char *sentence_of(struct cpt_request *request, cpt_status status,
                               const struct cpt_task *task)
{
    char *text = NULL;

    if (task == NULL) {
        return status == CPT_CANCELLED || status == CPT_TIMEOUT
                   ? cpti_request_break_off(request, status)
                   : "nothing is left that could go on with the request";
    }
    text = cpt_arena_take(&request->arena, CPT_ERROR_SENTENCE_BYTES);
    if (text == NULL) {
        return cpt_status_sentence(status);
    }
    (void)snprintf(text, CPT_ERROR_SENTENCE_BYTES, "task '%.*s': %s",
                   (int)task->plan->frame_name.bytes, task->plan->frame_name.data,
                   task->sentence != NULL ? task->sentence
                                          : cpt_status_sentence(status));
    return text;
}

int cpti_request_end(struct cpt_request *request, cpt_status status,
                     const struct cpt_task *task)
{
    int is_first = 0;

    cpti_lock_take(&request->lock);
    is_first = !atomic_load_explicit(&request->is_ended, memory_order_relaxed);
    if (is_first) {
        atomic_store_explicit(&request->is_ended, 1, memory_order_release);
        request->status = status;
        request->trace.answered_by = task != NULL ? task->record : NULL;
        if (status != CPT_OK) {
            request->sentence = sentence_of(request, status, task);
            atomic_store_explicit(&request->is_stopped, 1, memory_order_relaxed);
        }
    }
    cpti_lock_release(&request->lock);
    if (!is_first) {
        return 0;
    }
    if (status != CPT_OK) {
        cpti_request_cancel_works(request);
    } else {
        cpti_limit_end(request);
    }
    if (request->done != NULL) {
        request->done(request, request->context);
    }
    release_own(request);
    return 1;
}

/* --- Inside done --- */

cpt_status cpt_request_status(const struct cpt_request *request)
{
    return request->status;
}

const char *cpt_request_sentence(const struct cpt_request *request)
{
    return request->sentence != NULL ? request->sentence : "";
}

const void *cpt_request_output(const struct cpt_request *request)
{
    return request->status == CPT_OK ? request->tasks[request->plan->output_task].output
                                     : NULL;
}

uint64_t cpt_request_latency_ns(struct cpt_request *request)
{
    if (!request->is_traced) {
        return 0;
    }
    if (request->trace.response_ns == 0) {
        const uint64_t now_ns = cpti_record_now(request);

        request->trace.response_ns =
            now_ns > request->trace.arrival_ns ? now_ns : request->trace.arrival_ns;
    }
    return request->trace.response_ns - request->trace.arrival_ns;
}

cpt_status cpt_request_path(struct cpt_request *request, struct cpt_path *path,
                            struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    if (!request->is_traced) {
        return cpt_error_set(error, CPT_INVALID, 0, "the request is not traced");
    }
    (void)cpt_request_latency_ns(request);
    request->trace.overcount = request->inherited.overcount;
    request->trace.open_callee = cpti_call_open;
    request->trace.spliced = cpti_call_spliced;
    request->trace.context = request;
    /* Tasks that nobody waited for may still run, and note what they do. */
    cpti_lock_take(&request->lock);
    status = cpt_critical_path(request->alloc, &request->trace, path, error);
    cpti_lock_release(&request->lock);
    return status;
}

/* --- From outside --- */

cpt_status cpt_request_start(const struct cpt_request_options *options,
                             struct cpt_error *error)
{
    return cpt_request_start_held(options, NULL, error);
}

/* What a request that is not launched yet needs besides. After an error it is gone. */
static cpt_status prepare(struct cpt_request *request,
                          const struct cpt_request_options *options,
                          struct cpt_request_handle **handle, void **input,
                          struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    if (options->plan->input_bytes != 0) {
        *input =
            cpt_arena_copy(&request->arena, options->input, options->plan->input_bytes);
        if (*input == NULL) {
            status = cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for the input");
        }
    }
    if (status == CPT_OK && handle != NULL) {
        *handle = cpti_handle_new(request, options->alloc);
        if (*handle == NULL) {
            status = cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a handle");
        }
    }
    if (status == CPT_OK && options->timeout_ns != 0) {
        status =
            cpti_limit_begin(request, options->timeout_ns, options->arrival_ns, error);
    }
    if (status != CPT_OK) {
        request->gone = NULL; /* as was promised for this case */
        cpti_request_discard(request);
    }
    return status;
}

cpt_status cpt_request_start_held(const struct cpt_request_options *given,
                                  struct cpt_request_handle **handle,
                                  struct cpt_error *error)
{
    struct cpt_request_options options;
    struct cpt_request *request = NULL;
    void *input = NULL;
    cpt_status status = cpt_options_read(&options, sizeof options, given, error);

    if (handle != NULL) {
        *handle = NULL;
    }
    if (status != CPT_OK) {
        return status;
    }
    if (options.plan == NULL ||
        (options.plan->input_bytes != 0 && options.input == NULL)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             options.plan == NULL ? "a request needs a plan"
                                                  : "the plan takes an input");
    }
    status = cpti_request_new(&options, &request, error);
    if (status != CPT_OK) {
        return status;
    }
    assert(request != NULL);
    status = prepare(request, &options, handle, &input, error);
    if (status == CPT_OK) {
        cpti_request_launch(request, input);
    } else if (handle != NULL) {
        cpt_request_handle_free(*handle);
        *handle = NULL;
    }
    return status;
}

/* Whoever waits in cpt_request_run(). */
struct waiter {
    struct cpti_lock lock;
    pthread_cond_t gone;
    int is_gone; /* guarded by lock; what is below is written before it */
    cpt_status status;
    void *output;
    struct cpt_path *path;
    struct cpt_error *error;
};

static void note_end(struct cpt_request *request, void *context)
{
    struct waiter *waiter = context;
    cpt_status status = cpt_request_status(request);
    const void *output = cpt_request_output(request);

    if (output != NULL && waiter->output != NULL) {
        memcpy(waiter->output, output, request->plan->graph->output->bytes);
    }
    if (status != CPT_OK) {
        (void)cpt_error_set(waiter->error, status, 0, "%s",
                            cpt_request_sentence(request));
    }
    if (request->is_traced && waiter->path != NULL) {
        const cpt_status walked =
            cpt_request_path(request, waiter->path, waiter->error);

        status = status == CPT_OK ? walked : status;
    }
    waiter->status = status;
}

/* Nothing of it runs any more: only now may the caller free the plan. */
static void release_waiter(void *context)
{
    struct waiter *waiter = context;

    cpti_lock_take(&waiter->lock);
    waiter->is_gone = 1;
    (void)pthread_cond_signal(&waiter->gone);
    cpti_lock_release(&waiter->lock);
}

cpt_status cpt_request_run(const struct cpt_request_options *given, void *output,
                           struct cpt_path *path, struct cpt_error *error)
{
    struct waiter waiter = {.output = output, .path = path, .error = error};
    struct cpt_request_options options;
    cpt_status status = cpt_options_read(&options, sizeof options, given, error);

    if (status != CPT_OK) {
        return status;
    }
    options.struct_bytes = sizeof options;
    options.done = note_end;
    options.gone = release_waiter;
    options.context = &waiter;
    if ((options.executor == NULL || options.executor == cpt_executor_inline()) &&
        cpti_executor_inline_runs()) {
        return cpt_error_set(
            error, CPT_INVALID, 0,
            "a task cannot wait for a request that would run on its own "
            "thread; start it, or give it another executor");
    }
    cpti_lock_init(&waiter.lock, CPTI_RANK_WAITER);
    (void)pthread_cond_init(&waiter.gone, NULL);
    status = cpt_request_start(&options, error);
    cpti_lock_take(&waiter.lock);
    while (status == CPT_OK && !waiter.is_gone) {
        (void)pthread_cond_wait(&waiter.gone, &waiter.lock.mutex);
    }
    cpti_lock_release(&waiter.lock);
    (void)pthread_cond_destroy(&waiter.gone);
    cpti_lock_deinit(&waiter.lock);
    return status == CPT_OK ? waiter.status : status;
}
