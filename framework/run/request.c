/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * request.c - the life of a request: made, launched, ended, freed
 *
 *      new --> launch --> tasks run --> end (once): done() --> last reference: freed
 *                                        ^
 *              the output's task, or the first task that fails
 *
 * `done` is called as soon as the output is there. Tasks that the output does not wait
 * for (started and never awaited) go on after it; the memory stays until they have
 * ended. After a failure no task begins a step any more.
 */
#include "framework/run/request.h"

#include "cpt/cpt_path.h"
#include "cpt/base/container.h"
#include "framework/pool/executor.h"
#include "framework/pool/pool.h"
#include "framework/run/deadline.h"
#include "framework/run/handle.h"
#include "framework/run/held.h"
#include "framework/run/recording.h"
#include "framework/run/task.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* --- Memory --- */

void *cpti_request_take(struct cpt_request *request, size_t bytes)
{
    void *memory = NULL;

    if (!request->is_shared) {
        return cpt_arena_take(&request->arena, bytes);
    }
    cpti_lock_take(&request->lock);
    memory = cpt_arena_take(&request->arena, bytes);
    cpti_lock_release(&request->lock);
    return memory;
}

/* --- Activations --- */

/* The lowest free place of the block, or -1. */
static int take_place(struct cpt_request *request)
{
    uint64_t free_places =
        atomic_load_explicit(&request->free_activations, memory_order_acquire);

    while (free_places != 0) {
        const uint64_t rest = free_places & (free_places - 1);

        if (!request->is_shared) {
            atomic_store_explicit(&request->free_activations, rest,
                                  memory_order_relaxed);
            return __builtin_ctzll(free_places);
        }
        if (atomic_compare_exchange_weak_explicit(
                &request->free_activations, &free_places, rest, memory_order_acq_rel,
                memory_order_acquire)) {
            return __builtin_ctzll(free_places);
        }
    }
    return -1;
}

/* One beyond those of the block. */
static struct cpt_task *take_spare_activation(struct cpt_request *request)
{
    struct cpt_task *task = NULL;

    cpti_lock_take(&request->lock);
    task = request->spare;
    if (task != NULL) {
        request->spare = task->next_spare;
    } else {
        task = cpt_arena_take(&request->arena, sizeof *task);
    }
    cpti_lock_release(&request->lock);
    return task;
}

struct cpt_task *cpti_activation_take(struct cpt_request *request)
{
    const int index = take_place(request);
    struct cpt_task *task = NULL;

    if (index >= 0) {
        task = &request->activations[index];
    } else {
        task = take_spare_activation(request);
        if (task == NULL) {
            return NULL;
        }
    }
    /* The compiler does not know the size: if it did, it would put a string instruction
     * here, which takes several times as long as the library. */
    memset(&task->state, 0, request->cleared_bytes);
    task->ready = (struct cpti_ready){0, 0};
    task->others = NULL;
    task->request = request;
    task->place = index >= 0 ? (uint32_t)index : CPTI_NO_TASK;
    task->number = CPTI_NO_TASK;
    task->record = NULL;
    return task;
}

void cpti_activation_put(struct cpt_task *task)
{
    struct cpt_request *request = task->request;

    if (task->place == CPTI_NO_TASK) {
        cpti_lock_take(&request->lock);
        task->next_spare = request->spare;
        request->spare = task;
        cpti_lock_release(&request->lock);
    } else if (request->is_shared) {
        (void)atomic_fetch_or_explicit(&request->free_activations,
                                       UINT64_C(1) << task->place,
                                       memory_order_acq_rel);
    } else {
        atomic_store_explicit(
            &request->free_activations,
            atomic_load_explicit(&request->free_activations, memory_order_relaxed) |
                UINT64_C(1) << task->place,
            memory_order_relaxed);
    }
}

/* --- Freed --- */

void cpti_cleanup_add(struct cpt_request *request, struct cpti_cleanup *cleanup)
{
    cpti_lock_take(&request->lock);
    cleanup->next = request->cleanups;
    request->cleanups = cleanup;
    cpti_lock_release(&request->lock);
}

/* cpt_task_at_end(), in memory of its request. */
struct ending {
    struct cpti_cleanup cleanup;
    void (*run)(void *context);
    void *context;
};

static void run_ending(struct cpti_cleanup *cleanup)
{
    const struct ending *ending = CPTI_CONTAINER(cleanup, struct ending, cleanup);

    ending->run(ending->context);
}

cpt_status cpt_task_at_end(struct cpt_task *task, void (*run)(void *context),
                           void *context)
{
    struct ending *ending = cpti_request_take(task->request, sizeof *ending);

    if (ending == NULL) {
        return CPT_LIMIT;
    }
    ending->run = run;
    ending->context = context;
    ending->cleanup.run = run_ending;
    cpti_cleanup_add(task->request, &ending->cleanup);
    return CPT_OK;
}

/* The requests that this thread is about to free, and whether it is freeing. A list
 * instead of a recursion: shared work makes chains of any length. */
static _Thread_local struct cpt_request *freed_requests;
static _Thread_local bool is_freeing;

/* Frees what the values of the request own. One of zeros was never given. */
static void clean_values(struct cpt_request *request)
{
    const struct cpt_plan *plan = request->plan;
    uint32_t number = plan->first_cleaned - 1;

    for (; number != CPTI_NO_TASK; number = plan->tasks[number].next_cleaned - 1) {
        const struct cpt_value *value = plan->tasks[number].def->gives;
        unsigned char *output = cpti_request_value(request, number);

        if (value->bytes != 0 &&
            (output[0] != 0 || memcmp(output, output + 1, value->bytes - 1) != 0) &&
            (number != plan->output_task || !request->nest.has_moved_output)) {
            value->cleanup(output);
        }
    }
}

void cpti_request_free(struct cpt_request *request)
{
    if (request->plan->first_cleaned != 0) {
        clean_values(request);
    }
    request->nest.next_freed = freed_requests;
    freed_requests = request;
    if (is_freeing) {
        return;
    }
    is_freeing = true;
    while (freed_requests != NULL) {
        request = freed_requests;
        if (request->cleanups == NULL) {
            freed_requests = request->nest.next_freed;
            cpti_request_destroy(request);
            continue;
        }
        /* Cleanups, and what they free, go first: the request counts the memory of its
         * components. */
        while (request->cleanups != NULL) {
            struct cpti_cleanup *cleanup = request->cleanups;

            request->cleanups = cleanup->next;
            cleanup->run(cleanup);
        }
    }
    is_freeing = false;
}

void cpti_request_discard(struct cpt_request *request)
{
    if (request->status != CPT_OK) { /* now, as it is freed perhaps much later */
        cpti_held_release(request, CPTI_NO_TASK);
    }
    if (request->nest.retire != NULL) {
        request->nest.retire(request);
    } else {
        cpti_request_free(request);
    }
}

/* --- Run --- */

void cpti_request_launch(struct cpt_request *request, void *input, bool is_here)
{
    const struct cpt_plan *plan = request->plan;
    struct cpti_ready ready = {0, 0};

    request->input = input;
    for (uint32_t i = 0; i < plan->first_task_count; i++) {
        cpti_ready_add(request, &ready, plan->first_tasks[i]);
    }
    cpti_ready_start(request, ready, is_here);
}

/* Gives back @count; the number of references before. */
static uint_least32_t give_back(struct cpt_request *request, uint_least32_t count)
{
    uint_least32_t before = 0;

    if (request->is_shared) {
        return atomic_fetch_sub_explicit(&request->reference_count, count,
                                         memory_order_acq_rel);
    }
    before = atomic_load_explicit(&request->reference_count, memory_order_relaxed);
    atomic_store_explicit(&request->reference_count, before - count,
                          memory_order_relaxed);
    return before;
}

void cpti_request_release(struct cpt_request *request)
{
    const uint_least32_t before = give_back(request, 1);

    assert((before & ~CPTI_OWN_REFERENCE) != 0);
    if (before == 1) {
        cpti_request_discard(request);
    } else if (before == CPTI_OWN_REFERENCE + 1) {
        /* It has not ended, and nothing is left that could end it. No other thread can
         * touch it, so taking a reference again is not a race. */
        cpti_request_hold(request);
        (void)cpti_request_end(request, CPT_INVALID, NULL);
        cpti_request_release(request);
    }
}

void cpti_timer_cancel(struct cpt_request *request, struct cpt_timer *timer)
{
    if (request->executor->cancel(request->executor, timer)) {
        cpti_request_release(request);
    }
}

/* --- Ended --- */

/* "task 'A: A1': no such user", or what the status says. Lock held. */
static const char *sentence_of(struct cpt_request *request, cpt_status status,
                               const struct cpt_task *task)
{
    const bool is_unwanted = status == CPT_CANCELLED || status == CPT_TIMEOUT;
    char *text = NULL;

    if (task == NULL && !is_unwanted) {
        return status == CPT_LIMIT
                   ? "the memory limit of the request was reached"
                   : "nothing is left that could go on with the request";
    }
    text = cpt_arena_take(&request->arena, CPT_ERROR_SENTENCE_BYTES);
    if (task == NULL) {
        cpti_deadline_blame(request, status, text);
    }
    if (text == NULL) {
        return cpt_status_sentence(status);
    }
    if (task == NULL) {
        return text;
    }
    (void)snprintf(text, CPT_ERROR_SENTENCE_BYTES, "task '%.*s': %s",
                   (int)cpti_task_plan(task)->frame_name.bytes,
                   cpti_task_plan(task)->frame_name.data,
                   task->sentence != NULL ? task->sentence
                                          : cpt_status_sentence(status));
    return text;
}

/* Notes the end; false: it had ended before. Lock held if it is shared. */
static bool note_outcome(struct cpt_request *request, cpt_status status,
                         const struct cpt_task *task)
{
    if (atomic_load_explicit(&request->is_ended, memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(&request->is_ended, 1, memory_order_release);
    request->status = status;
    request->answered_by = task != NULL ? task->number + 1 : 0;
    if (status != CPT_OK) {
        request->failed_task = request->answered_by;
        if (status == CPT_REFUSED && task != NULL && task->refusal != 0) {
            request->refusal = task->refusal;
            request->refusal_text = task->sentence;
        }
        request->sentence = sentence_of(request, status, task);
        (void)atomic_fetch_or_explicit(&request->stops, CPTI_STOP_ALL,
                                       memory_order_relaxed);
    }
    return true;
}

bool cpti_request_end(struct cpt_request *request, cpt_status status,
                      const struct cpt_task *task)
{
    bool is_first = false;

    if (request->is_shared) {
        cpti_lock_take(&request->lock);
    }
    is_first = note_outcome(request, status, task);
    if (request->is_shared) {
        cpti_lock_release(&request->lock);
    }
    if (!is_first) {
        return false;
    }
    if (request->done != NULL) {
        request->done(request, request->context);
    }
    if (status != CPT_OK && request->is_shared) {
        cpti_request_cancel_ongoing(request); /* after the answer */
    } else {
        cpti_deadline_end(request);
        /* Who asks for the first one now sees that the request has ended. */
        if (atomic_load_explicit(&request->uses_locks, memory_order_relaxed)) {
            cpti_locks_end(request);
        }
    }
    (void)give_back(request, CPTI_OWN_REFERENCE); /* the caller has another one */
    return true;
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
    return request->status == CPT_OK
               ? cpti_request_value(request, request->plan->output_task)
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
    if (!request->is_traced) {
        return cpt_error_set(error, CPT_INVALID, 0, "the request is not traced");
    }
    (void)cpt_request_latency_ns(request);
    request->trace.overcount = request->inherited.overcount;
    return cpti_recording_walk(request, path, error);
}

/* --- From outside --- */

/* Prepares one that is not launched yet. After an error it is freed. */
static cpt_status prepare(struct cpt_request *request,
                          const struct cpt_request_options *options,
                          struct cpt_request_handle **handle, struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    if (options->plan->input_bytes != 0) {
        memcpy(request->input_place, options->input, options->plan->input_bytes);
    }
    if (handle != NULL) {
        *handle = cpti_handle_new(request, options->alloc);
        if (*handle == NULL) {
            status = cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a handle");
        }
    }
    if (status == CPT_OK && options->timeout_ns != 0) {
        status = cpti_deadline_begin(request, options->timeout_ns, options->arrival_ns,
                                     error);
    }
    if (status != CPT_OK) {
        request->gone = NULL; /* is not called after an error */
        cpti_request_discard(request);
    }
    return status;
}

static cpt_status start(const struct cpt_request_options *given, bool is_here,
                        struct cpt_request_handle **handle, struct cpt_error *error)
{
    struct cpt_request_options options;
    struct cpt_request *request = NULL;
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
    status = cpti_request_new(&options, NULL, &request, error);
    if (status != CPT_OK) {
        return status;
    }
    assert(request != NULL);
    status = prepare(request, &options, handle, error);
    if (status == CPT_OK) {
        cpti_request_launch(request, request->input_place, is_here);
    } else if (handle != NULL) {
        cpt_request_handle_free(*handle);
        *handle = NULL;
    }
    return status;
}

cpt_status cpt_request_start(const struct cpt_request_options *options,
                             struct cpt_error *error)
{
    return start(options, false, NULL, error);
}

cpt_status cpt_request_start_held(const struct cpt_request_options *options,
                                  struct cpt_request_handle **handle,
                                  struct cpt_error *error)
{
    return start(options, false, handle, error);
}

enum waiter_state { WAITER_RUNS, WAITER_SLEEPS, WAITER_IS_FREE };

/* A thread in cpt_request_run(). */
struct waiter {
    atomic_int state; /* acq_rel; once it is WAITER_IS_FREE, all below is written */
    cpt_status status;
    void *output;
    struct cpt_path *path;
    struct cpt_error *error;
    struct cpti_lock lock; /* of one that sleeps: guards is_gone */
    pthread_cond_t gone;
    bool is_gone;
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
        struct cpt_error error = {0};

        if (cpt_request_path(request, waiter->path, &error) != CPT_OK &&
            status == CPT_OK) {
            (void)cpt_error_set(waiter->error, error.status, 0, "%s", error.sentence);
        }
    }
    waiter->status = status;
}

/* Nothing of the request runs any more: only now may the caller free the plan. */
static void release_waiter(void *context)
{
    struct waiter *waiter = context;

    if (atomic_exchange_explicit(&waiter->state, WAITER_IS_FREE,
                                 memory_order_acq_rel) != WAITER_SLEEPS) {
        return; /* it may be gone by now */
    }
    cpti_lock_take(&waiter->lock);
    waiter->is_gone = true;
    (void)pthread_cond_signal(&waiter->gone);
    cpti_lock_release(&waiter->lock);
}

static void wait_until_gone(struct waiter *waiter)
{
    int runs = WAITER_RUNS;

    if (atomic_load_explicit(&waiter->state, memory_order_acquire) == WAITER_IS_FREE) {
        return;
    }
    cpti_lock_init(&waiter->lock, CPTI_RANK_WAITER);
    (void)pthread_cond_init(&waiter->gone, NULL);
    if (atomic_compare_exchange_strong_explicit(&waiter->state, &runs, WAITER_SLEEPS,
                                                memory_order_acq_rel,
                                                memory_order_acquire)) {
        cpti_pool_block_thread(CPTI_POOL_WAIT_WITHIN); /* it may be of another pool */
        cpti_lock_take(&waiter->lock);
        while (!waiter->is_gone) {
            (void)pthread_cond_wait(&waiter->gone, &waiter->lock.mutex);
        }
        cpti_lock_release(&waiter->lock);
        cpti_pool_unblock_thread();
    }
    (void)pthread_cond_destroy(&waiter->gone);
    cpti_lock_deinit(&waiter->lock);
}

static bool is_free(void *context)
{
    return atomic_load_explicit(&((struct waiter *)context)->state,
                                memory_order_acquire) == WAITER_IS_FREE;
}

/* On a pool the thread, which would only wait, runs the request itself, and what no
 * worker takes of it. So a small request wakes no worker. */
static cpt_status start_and_help(const struct cpt_request_options *options,
                                 struct cpt_error *error)
{
    struct cpt_executor *executor = options->executor;
    const bool is_here = executor != NULL && cpti_pool_enter(executor);
    const cpt_status status = start(options, is_here, NULL, error);

    if (is_here) {
        cpti_pool_exit(executor, status == CPT_OK ? is_free : NULL, options->context);
    }
    return status;
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
    status = start_and_help(&options, error);
    if (status == CPT_OK) {
        wait_until_gone(&waiter);
    }
    return status == CPT_OK ? waiter.status : status;
}
