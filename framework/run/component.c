/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * component.c - runs of other plans within a request: components made while it runs
 *
 *      task A ---- cpt_spawn() ----.............. await ------ continues
 *                       |                           ^
 *                       '--> a request of its own --'   done: the pending ends
 *                              with tasks, path, and components in turn
 *
 * A component is a request like any other, with the executor, the clock and the tracing
 * of its parent, and with what the parent inherited for its own callees. What differs:
 *
 * What frees it. Its output and its records are read as long as the parent lives. So
 * when its last work has ended it is not freed but *retired*: a cleanup of the parent
 * frees it. Until it is retired it holds a reference to the parent.
 *
 * Its memory counts with the parent's, by the quota (budget.h) of the outermost
 * request; what is recorded of it, by another one. If that is full, it is not traced.
 *
 * Its path. The component arrives when the record of the call is issued and responds
 * when that record arrives, so the sum of its path is the time observed, exactly. The
 * walk of the parent opens it only if it is on the parent's path, under the parent's
 * lock. The component's lock comes after that one in rank, by its level.
 */
#include "framework/run/component.h"

#include "cpt/base/container.h"
#include "cpt/cpt_path.h"
#include "framework/run/call.h"
#include "framework/run/handle.h"
#include "framework/run/held.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/run.h"
#include "framework/run/span_ids.h"

#include <stdio.h>
#include <string.h>

_Static_assert(CPTI_RANK_REQUEST + CPT_NESTING_MAX <= CPTI_RANK_REQUEST_DEEPEST,
               "a rank for the lock of each level");

/* One component, in the arena of its parent. */
struct component {
    struct cpti_run run;
    struct cpti_cleanup cleanup;   /* of the parent: frees it */
    struct cpti_cancellable rest;  /* told if the parent, or its task, is given up */
    bool is_told;                  /* that was done; guarded by the parent's lock */
    uint32_t task;                 /* of the parent, its number */
    struct cpt_request *request;   /* NULL: it could not be made; set likewise */
    struct cpt_executor *executor; /* where it runs */
    struct cpt_bytes entry;        /* its outermost frame; the task's, or its own */
};

static cpt_status open_component(const struct cpti_run *run,
                                 struct cpt_trace_call *call, struct cpt_path *callee)
{
    const struct component *component = (const struct component *)run;
    const cpt_status status = cpt_request_path(component->request, callee, NULL);

    if (status != CPT_OK) {
        call->reason = CPT_REASON_LIMIT;
    }
    return status;
}

struct cpt_executor *cpti_component_executor(const struct cpt_pending *pending)
{
    const struct cpti_run *run =
        CPTI_CONST_CONTAINER(pending, struct cpti_run, pending);

    return run->is_component
               ? CPTI_CONST_CONTAINER(run, struct component, run)->executor
               : NULL;
}

/* Its parent does not want it any more. It may just be ending, or be retired. */
static void cancel_component(struct cpti_cancellable *cancellable)
{
    struct component *component =
        CPTI_CONTAINER(cancellable->pending, struct component, run.pending);

    (void)cpti_request_cancel(component->request);
}

/* The same, or it has ended and left tasks that go on. */
static void cancel_rest(struct cpti_cancellable *cancellable)
{
    cpti_request_give_up(CPTI_CONTAINER(cancellable, struct component, rest)->request);
}

struct cpt_request *cpti_component_of(const struct cpt_pending *pending)
{
    /* Listed with the lock held once the run is made. */
    return pending->cancellable.is_listed &&
                   pending->cancellable.cancel == cancel_component
               ? CPTI_CONST_CONTAINER(pending, struct component, run.pending)->request
               : NULL;
}

struct cpt_request *cpti_component_request(const struct cpti_run *run)
{
    return run->is_component ? ((const struct component *)run)->request : NULL;
}

static void end_component(struct cpt_request *request, void *context)
{
    struct component *component = context;
    struct cpti_failed_call failed;
    /* That of its parent is traced, but it is not, if there was no memory for notes. */
    const uint64_t arrive_ns =
        request->is_traced ? request->trace.arrival_ns + cpt_request_latency_ns(request)
                           : cpti_record_now(request->nest.parent);

    const bool is_callees =
        request->status != CPT_OK && cpti_call_failure(request, &failed);

    cpti_run_end(&component->run,
                 (struct cpti_run_result){request->status, cpt_request_output(request),
                                          request->sentence,
                                          is_callees ? &failed : NULL},
                 arrive_ns);
}

static void free_component(struct cpti_cleanup *cleanup)
{
    const struct component *component =
        CPTI_CONTAINER(cleanup, struct component, cleanup);

    if (component->request != NULL) {
        cpti_request_free(component->request);
    }
}

/* The first component from @cleanup on, or NULL. Lock of its parent held. */
static struct component *next_component(struct cpti_cleanup *cleanup)
{
    while (cleanup != NULL) {
        struct component *component =
            CPTI_CONTAINER(cleanup, struct component, cleanup);

        if (cleanup->run == free_component && component->request != NULL) {
            return component;
        }
        cleanup = cleanup->next;
    }
    return NULL;
}

/* Nothing of it goes on. */
static bool is_retired(const struct cpt_request *request)
{
    return atomic_load_explicit(&request->reference_count, memory_order_acquire) == 0;
}

void cpti_components_tell(struct cpt_request *request, uint32_t number,
                          struct cpti_cancellables *told)
{
    struct component *at = next_component(request->cleanups);

    for (; at != NULL; at = next_component(at->cleanup.next)) {
        if (at->is_told || (number != CPTI_NO_TASK && at->task != number)) {
            continue;
        }
        at->is_told = true;
        if (!is_retired(at->request) || cpti_locks_are_used(request)) {
            LIST_INSERT_HEAD(told, &at->rest, link);
        }
    }
}

struct cpt_request *cpti_components_chain(struct cpt_request *request,
                                          struct cpt_request *rest)
{
    struct component *at = next_component(request->cleanups);

    for (; at != NULL; at = next_component(at->cleanup.next)) {
        at->request->nest.next_over = rest;
        rest = at->request;
    }
    return rest;
}

/* Nothing of it runs any more; the parent will free it. */
static void retire_component(struct cpt_request *request)
{
    cpti_request_release(request->nest.parent);
}

static cpt_status check_level(const struct cpt_request *parent, const char *name,
                              struct cpt_error *error)
{
    if (parent->nest.level >= CPT_NESTING_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "component \"%s\" lies %u runs deep, the limit is %d",
                             name, (unsigned)parent->nest.level + 1, CPT_NESTING_MAX);
    }
    return CPT_OK;
}

/* Its spans stand below that of its call; 0: none are written. */
static uint64_t seed_of(const struct component *component)
{
    const uint64_t seed = component->run.waiter->inherited.span_seed;
    const struct cpti_call *call =
        (const struct cpti_call *)component->run.pending.call;

    return seed != 0 && call != NULL
               ? cpti_span_id(seed, CPTI_SPAN_OF_CALL | call->number)
               : 0;
}

/* @component, which runs as @made, can be told to stop from now on. It is not launched
 * yet: if it is told before, then nothing of it runs. */
static void list_component(struct component *component, struct cpt_request *made)
{
    struct cpt_pending *pending = &component->run.pending;
    struct cpt_request *parent = component->run.waiter;

    cpti_lock_take(&parent->lock);
    component->request = made;
    component->run.open = open_component;
    pending->cancellable.cancel = cancel_component;
    pending->cancellable.pending = pending;
    cpti_cancellable_add(parent, &pending->cancellable);
    pending->task->has_components = true;
    if (parent->is_traced && !made->is_traced) {
        cpti_record_lost(parent);
    }
    cpti_lock_release(&parent->lock);
}

/* The request of @component; the caller sets its input. */
static cpt_status make_component(struct component *component, struct cpt_error *error)
{
    struct cpt_request *parent = component->run.waiter;
    struct cpti_quota *quota = parent->nest.quota;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options,
        .plan = component->run.plan,
        .executor = component->executor,
        .done = end_component,
        .context = component,
        .alloc = quota->inner,
        .memory_bytes_max = quota->bytes_max,
        .is_traced = parent->is_traced,
        .entry = component->entry.data,
        .clock = parent->clock,
        .attribution = parent->trace.attribution,
        .measures_cpu = parent->off_cpu_ns != NULL,
    };
    struct cpt_request *made = NULL;
    struct cpt_error why = {0};
    const cpt_status status = cpti_request_new(&options, parent, &made, &why);

    if (status != CPT_OK) {
        return cpti_quota_is_full(quota)
                   ? cpt_error_set(error, CPT_LIMIT, 0,
                                   "the request and its components take %zu bytes, the "
                                   "limit is %zu",
                                   atomic_load(&quota->bytes), quota->bytes_max)
                   : cpt_error_set(error, status, 0, "%s", why.sentence);
    }
    made->inherited = parent->inherited;
    made->inherited.span_seed = seed_of(component);
    made->keeps_edges = made->is_traced && parent->keeps_edges;
    made->deadline_ns = parent->deadline_ns; /* its calls have no more time either */
    made->nest.parent = parent;
    made->nest.quota = quota;
    made->nest.flight = parent->nest.flight;
    made->nest.level = parent->nest.level + 1;
    made->nest.retire = retire_component;
    made->lock.rank = (enum cpti_lock_rank)(CPTI_RANK_REQUEST + made->nest.level);
    cpti_request_share(made); /* the parent may tell it to stop */
    if (made->is_traced) {
        made->trace.arrival_ns = component->run.pending.begin_ns;
    }
    list_component(component, made);
    return CPT_OK;
}

/* The quota of @request, made with its first component; what the request has taken
 * itself counts too. NULL: no memory. Lock held. */
static struct cpti_quota *quota_of(struct cpt_request *request)
{
    struct cpti_quota *quota = request->nest.quota;

    if (quota != NULL) {
        return quota;
    }
    quota = cpt_alloc_zeroed(request->alloc, sizeof *quota);
    if (quota != NULL) {
        cpti_quota_init(quota, request->alloc, request->account,
                        request->plain_bytes + request->arena.limit_bytes,
                        request->plain_bytes + request->arena.used_bytes);
        request->arena.alloc = &quota->alloc;
        request->nest.quota = quota;
    }
    return quota;
}

/* "A: name" among the notes, NUL-terminated, with @otherwise in place of the name if
 * the plan has too many names; empty without memory for it. Lock held. */
static struct cpt_bytes write_name(struct cpt_request *request, const char *name,
                                   const char *otherwise)
{
    const struct cpt_bytes service = request->plan->service;
    const size_t bytes = service.bytes + 2 + strlen(name);
    char cut[CPT_NAME_BYTES_MAX + 1];
    struct cpt_bytes frame = {cpt_arena_take(&request->notes, bytes + 1), bytes};
    char *text = NULL;

    if (frame.data == NULL) {
        return frame;
    }
    text = (char *)(uintptr_t)frame.data;
    (void)snprintf(text, bytes + 1, "%.*s: %s", (int)service.bytes, service.data, name);
    frame = cpt_name_bound(frame, cut);
    if (frame.data == cut) {
        memcpy(text, cut, frame.bytes); /* no longer than what was there */
        text[frame.bytes] = '\0';
        frame.data = text;
    }
    return cpti_plan_takes_name(request->plan, frame) || otherwise == NULL
               ? frame
               : write_name(request, otherwise, NULL);
}

/* The record of a component of @task, whose frame is *@frame: it is called @name, or
 * NULL. NULL without a trace, or memory for it. Lock held. */
static struct cpt_trace_call *issue(struct cpt_task *task, const char *name,
                                    const struct cpt_plan *plan,
                                    struct cpt_bytes *frame, uint64_t now_ns)
{
    struct cpt_request *request = task->request;
    struct cpt_bytes below = {NULL, 0};

    *frame = cpti_task_plan(task)->frame_name;
    if (request->is_traced && name != NULL) {
        below = write_name(request, name, plan->graph->output->name);
        if (below.data == NULL) {
            cpti_record_lost(request);
            return NULL;
        }
        *frame = below;
    }
    return cpti_record_issue(task, below, CPT_CALL_COMPONENT, now_ns);
}

/* A component of @task that does not run yet, called @name; NULL: like the frame of the
 * task. @executor NULL: that of the request. NULL at the memory limit. */
static struct component *begin_component(struct cpt_task *task,
                                         struct cpt_executor *executor,
                                         const char *name, const struct cpt_plan *plan)
{
    struct cpt_request *parent = task->request;
    const uint64_t now_ns = cpti_record_now(parent);
    struct component *component = NULL;

    cpti_lock_take(&parent->lock);
    if (quota_of(parent) != NULL) {
        component = cpt_arena_take(&parent->arena, sizeof *component);
    }
    if (component != NULL) {
        component->task = task->number;
        component->rest.cancel = cancel_rest;
        component->cleanup.run = free_component;
        component->cleanup.next = parent->cleanups;
        parent->cleanups = &component->cleanup;
        component->run.plan = plan;
        component->run.is_component = true;
        component->executor = executor != NULL ? executor : parent->executor;
        cpti_run_begin_locked(&component->run, task,
                              issue(task, name, plan, &component->entry, now_ns),
                              now_ns);
    }
    cpti_lock_release(&parent->lock);
    if (component != NULL) {
        cpti_request_hold(parent);
    }
    return component;
}

/* Runs it with a copy of @input; ends it instead if @error is set, or it cannot be
 * made.
 */
static struct cpt_pending *run_component(struct component *component, const void *input,
                                         struct cpt_error *error)
{
    struct cpt_pending *pending = &component->run.pending;
    struct cpt_request *request = NULL;

    if (error->status != CPT_OK || make_component(component, error) != CPT_OK) {
        cpti_run_fail(&component->run, error);
        return pending;
    }
    request = component->request;
    if (input != NULL) {
        memcpy(request->input_place, input, request->plan->input_bytes);
    }
    cpti_request_launch(request, request->input_place, false);
    return pending;
}

struct cpt_pending *cpt_task_spawn_on(struct cpt_task *task,
                                      struct cpt_executor *executor, const char *name,
                                      const struct cpt_plan *plan,
                                      const struct cpt_value *value, const void *input)
{
    struct component *component = NULL;
    struct cpt_error error = {.status = CPT_OK};

    if (plan == NULL) { /* cpt_plan_new() has failed, and that was not looked at */
        CPTI_MISUSED(bad_input);
        return cpti_pending_failed(CPT_INVALID);
    }
    component = begin_component(task, executor, name, plan);
    if (component == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    if (check_level(task->request, name, &error) == CPT_OK) {
        (void)cpti_run_check_input(name, plan->graph->input, value, &error);
    }
    if (error.status == CPT_OK && input == NULL && plan->input_bytes != 0) {
        (void)cpt_error_set(&error, CPT_INVALID, 0, "component \"%s\" has no input",
                            name);
    }
    if (error.status == CPT_INVALID) {
        CPTI_MISUSED(bad_input);
    }
    (void)run_component(component, input, &error);
    cpti_run_note_launch(&component->run, task);
    return &component->run.pending;
}

struct cpt_pending *cpt_task_spawn(struct cpt_task *task, const char *name,
                                   const struct cpt_plan *plan,
                                   const struct cpt_value *value, const void *input)
{
    return cpt_task_spawn_on(task, NULL, name, plan, value, input);
}

/* --- A component in the place of a task's function --- */

static cpt_status use_component(struct cpt_task *task)
{
    struct cpt_pending *pending = *cpt_state(task, struct cpt_pending *);
    const cpt_status status = cpt_pending_status(pending);
    const struct cpt_value *output = cpti_task_plan(task)->component->graph->output;

    if (status != CPT_OK) {
        const struct cpt_request *inner =
            CPTI_CONTAINER(pending, struct component, run.pending)->request;

        if (status == CPT_REFUSED && inner->refusal != 0) {
            return cpt_refuse(task, inner->refusal, "%s",
                              inner->refusal_text != NULL ? inner->refusal_text : "");
        }
        return cpt_fail(task, status, "%s", cpt_run_sentence(pending));
    }
    memcpy(cpti_task_value(task), cpt_task_run_output(pending, output), output->bytes);
    if (cpti_task_plan(task)->def->gives->cleanup != NULL) {
        CPTI_CONTAINER(pending, struct component, run.pending)
            ->request->nest.has_moved_output = true;
    }
    return CPT_OK;
}

cpt_status cpti_component_run(struct cpt_task *task)
{
    const struct cpti_plan_task *own = cpti_task_plan(task);
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);
    struct component *component =
        pending != NULL
            ? begin_component(task,
                              own->def->runs_on != NULL ? *own->def->runs_on : NULL,
                              NULL, own->component)
            : NULL;
    struct cpt_error error = {.status = CPT_OK};

    if (component == NULL) {
        return cpt_fail(task, CPT_LIMIT, "the memory limit of the request was reached");
    }
    (void)check_level(task->request, own->def->name, &error);
    *pending = run_component(component,
                             own->component->input_bytes != 0
                                 ? cpt_task_input(task, own->def->needs[0])
                                 : NULL,
                             &error);
    return cpt_await(task, *pending, use_component);
}
