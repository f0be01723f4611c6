/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * subgraph.c - runs of other plans within a request: components made while it runs
 *
 *      task A ---- cpt_spawn() ----.............. await -------- goes on
 *                       |                           ^
 *                       '--> a request of its own --'   done: the pending ends
 *                              with tasks, path, and components in turn
 *
 * A component is a request like any other, with the parent's executor, clock and
 * tracing, and what the parent inherited for its own callees. What differs:
 *
 * Who frees it. Its output and its records are read for as long as the parent lives, so
 * when nothing of it runs any more it is not freed but *retired*: the parent keeps it,
 * and lets it go with itself. Until it is retired it holds a reference to the parent.
 * Freeing is a list and no recursion, since shared work makes chains of any length.
 *
 * Its memory counts with the parent's. The outermost request has a *family*: an
 * allocator that counts what all of them take, up to that request's limit. It never
 * counts down, as nothing is freed before the end.
 *
 * Its path. The component arrives when the call record is issued and responds when that
 * arrives, so the sum of its path is the time observed, exactly. The walk of the parent
 * opens it only if it is on the parent's path, with the parent's lock held; the
 * component's lock comes after that one in rank, by its level.
 */
#include "framework/run/subgraph.h"

#include "framework/run/recording.h"
#include "framework/run/run.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(CPTI_RANK_REQUEST + CPT_NESTING_MAX <= CPTI_RANK_REQUEST_DEEPEST,
               "a rank for the lock of each level");

/* --- What a request keeps, and lets go --- */

void cpti_request_keep(struct cpt_request *request, struct cpti_kept *kept)
{
    cpti_lock_take(&request->lock);
    kept->next = request->nest.kept;
    request->nest.kept = kept;
    cpti_lock_release(&request->lock);
}

/* The requests that this thread is about to free, and whether it does. */
static _Thread_local struct cpt_request *freed_requests;
static _Thread_local int is_freeing;

/* Memory of a request and of the components in it. */
struct cpti_family {
    struct cpt_alloc alloc; /* its context is the family */
    const struct cpt_alloc *inner;
    struct cpti_account *account; /* of the founder, or NULL */
    size_t bytes_max;
    atomic_size_t bytes;  /* relaxed: a count */
    atomic_uchar is_full; /* relaxed: it has refused once */
};

void cpti_nest_deinit(struct cpt_request *request)
{
    if (request->nest.parent == NULL) {
        cpt_alloc_free(request->alloc, request->nest.family);
    }
}

static void push_freed(struct cpt_request *request)
{
    request->nest.next_freed = freed_requests;
    freed_requests = request;
}

/* What a request keeps goes before it: the components' memory is counted there. */
void cpti_request_free(struct cpt_request *request)
{
    push_freed(request);
    if (is_freeing) {
        return;
    }
    is_freeing = 1;
    while (freed_requests != NULL) {
        request = freed_requests;
        freed_requests = request->nest.next_freed;
        if (request->nest.kept == NULL) {
            cpti_request_destroy(request);
            continue;
        }
        push_freed(request);
        while (request->nest.kept != NULL) {
            struct cpti_kept *kept = request->nest.kept;

            request->nest.kept = kept->next;
            kept->release(kept);
        }
    }
    is_freeing = 0;
}

/* --- What a pending that stands for a run has in common --- */

static void begin_locked(struct cpti_run *run, struct cpt_task *task,
                         struct cpt_bytes name, uint64_t now_ns)
{
    run->waiter = task->request;
    run->pending.call = cpti_record_issue(task, name, CPT_CALL_COMPONENT, now_ns);
    cpti_pending_begin(&run->pending, task, now_ns);
}

void cpti_run_begin(struct cpti_run *run, struct cpt_task *task, struct cpt_bytes name)
{
    struct cpt_request *request = task->request;
    const uint64_t now_ns = cpti_record_now(request);

    cpti_lock_take(&request->lock);
    begin_locked(run, task, name, now_ns);
    cpti_lock_release(&request->lock);
    cpti_request_hold(request);
}

void cpti_run_end(struct cpti_run *run, struct cpti_run_result result,
                  uint64_t arrive_ns)
{
    struct cpt_request *request = run->waiter;
    struct cpt_task *owner = NULL;

    cpti_lock_take(&request->lock);
    if (run->pending.call != NULL && run->open != NULL &&
        !cpti_record_is_over(run->pending.owner->request)) {
        run->pending.call->reply = run;
        run->pending.call->reply_bytes = sizeof *run;
    }
    if (run->pending.status == CPT_WAITING) { /* else the task may be reading them */
        run->output = result.output;
        run->sentence = result.sentence;
    }
    owner = cpti_pending_end(&run->pending, result.status, arrive_ns);
    cpti_lock_release(&request->lock);
    cpti_task_wake(owner);
}

void cpti_run_fail(struct cpti_run *run, const struct cpt_error *error)
{
    struct cpt_request *request = run->waiter;
    const size_t bytes = strlen(error->sentence);
    char *text = cpti_request_take(request, bytes + 1);

    if (text != NULL) {
        memcpy(text, error->sentence, bytes);
    }
    cpti_run_end(run, (struct cpti_run_result){error->status, NULL, text},
                 run->pending.begin_ns);
    cpti_request_release(request);
}

cpt_status cpti_run_open(struct cpt_trace_call *call, struct cpt_path *callee)
{
    const struct cpti_run *run = call->reply;

    return run->open(run, call, callee);
}

const void *cpt_task_run_output(struct cpt_pending *pending,
                                const struct cpt_value *value)
{
    const struct cpti_run *run =
        (const struct cpti_run *)((const char *)pending -
                                  offsetof(struct cpti_run, pending));
    const struct cpt_value *output = run->plan->graph->output;

    if (output != value &&
        (output->bytes != value->bytes || strcmp(output->name, value->name) != 0)) {
        return NULL;
    }
    return cpt_pending_status(pending) == CPT_OK ? run->output : NULL;
}

const char *cpt_run_sentence(struct cpt_pending *pending)
{
    const struct cpti_run *run =
        (const struct cpti_run *)((const char *)pending -
                                  offsetof(struct cpti_run, pending));
    const cpt_status status = cpt_pending_status(pending);

    return status == CPT_OK || status == CPT_WAITING ? ""
           : run->sentence != NULL                   ? run->sentence
                                                     : cpt_status_sentence(status);
}

/* --- The memory of a family --- */

static void *resize_in_family(void *context, void *memory, size_t bytes)
{
    struct cpti_family *family = context;

    if (bytes != 0) {
        const size_t before =
            atomic_fetch_add_explicit(&family->bytes, bytes, memory_order_relaxed);

        if (before > family->bytes_max || bytes > family->bytes_max - before) {
            (void)atomic_fetch_sub_explicit(&family->bytes, bytes,
                                            memory_order_relaxed);
            atomic_store_explicit(&family->is_full, 1, memory_order_relaxed);
            return NULL;
        }
        if (family->account != NULL && !cpti_account_take(family->account, bytes)) {
            (void)atomic_fetch_sub_explicit(&family->bytes, bytes,
                                            memory_order_relaxed);
            return NULL;
        }
    }
    return family->inner->resize(family->inner->context, memory, bytes);
}

/* Whether it was the limit that there was no memory for. Once it was it always is. */
static int is_full(const struct cpti_family *family)
{
    return atomic_load_explicit(&family->is_full, memory_order_relaxed) != 0;
}

/* The family that @request belongs to, which is founded by its first component. NULL:
 * no memory. What the founder takes itself counts from then on. Lock held. */
static struct cpti_family *family_of(struct cpt_request *request)
{
    struct cpti_family *family = request->nest.family;

    if (family != NULL) {
        return family;
    }
    family = cpt_alloc_zeroed(request->alloc, sizeof *family);
    if (family != NULL) {
        family->alloc = (struct cpt_alloc){resize_in_family, family};
        family->inner = request->alloc;
        family->account = request->account;
        family->bytes_max = request->block_bytes + request->arena.limit_bytes;
        atomic_init(&family->bytes, request->block_bytes + request->arena.used_bytes);
        atomic_init(&family->is_full, 0);
        request->arena.alloc = &family->alloc;
        request->nest.family = family;
    }
    return family;
}

/* --- A component --- */

/* One component, in the arena of its parent. */
struct component {
    struct cpti_run run;
    struct cpti_kept kept;       /* of the parent: frees it */
    struct cpt_request *request; /* NULL: it could not be made */
    struct cpt_bytes entry;      /* its outermost frame; the task's, or its own */
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

/* Its parent wants it no more. It may just be ending, or gone but for its memory. */
static void tell_component(struct cpti_outside *outside)
{
    struct component *component =
        (struct component *)((char *)outside->pending -
                             offsetof(struct component, run.pending));

    (void)cpti_request_cancel(component->request);
}

static void end_component(struct cpt_request *request, void *context)
{
    struct component *component = context;
    const uint64_t arrive_ns =
        request->trace.arrival_ns + cpt_request_latency_ns(request);

    cpti_run_end(&component->run,
                 (struct cpti_run_result){request->status, cpt_request_output(request),
                                          request->sentence},
                 arrive_ns);
}

static void free_component(struct cpti_kept *kept)
{
    const struct component *component =
        (struct component *)((char *)kept - offsetof(struct component, kept));

    if (component->request != NULL) {
        cpti_request_free(component->request);
    }
}

/* Nothing of it runs any more; the parent has it among what it keeps. */
static void retire_component(struct cpt_request *request)
{
    cpti_request_release(request->nest.parent);
}

cpt_status cpti_run_check_input(const char *name, const struct cpt_value *expected,
                                const struct cpt_value *given, struct cpt_error *error)
{
    if (expected == given ||
        (expected != NULL && given != NULL && expected->bytes == given->bytes &&
         strcmp(expected->name, given->name) == 0)) {
        return CPT_OK;
    }
    return cpt_error_set(error, CPT_INVALID, 0,
                         "\"%s\" takes \"%s\" of %zu bytes, but is given \"%s\" of %zu",
                         name, expected != NULL ? expected->name : "nothing",
                         expected != NULL ? expected->bytes : 0,
                         given != NULL ? given->name : "nothing",
                         given != NULL ? given->bytes : 0);
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

/* A request below @parent; its input is the caller's. */
static cpt_status make_component(struct component *component, struct cpt_error *error)
{
    struct cpt_request *parent = component->run.waiter;
    struct cpti_family *family = parent->nest.family;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options,
        .plan = component->run.plan,
        .executor = parent->executor,
        .done = end_component,
        .context = component,
        .alloc = &family->alloc,
        .memory_bytes_max = family->bytes_max,
        .is_traced = parent->is_traced,
        .entry = component->entry.data,
        .clock = parent->clock,
        .attribution = parent->trace.attribution,
        .measures_cpu = parent->off_cpu_ns != NULL,
    };
    struct cpt_request *made = NULL;
    struct cpt_error why = {0};
    const cpt_status status = cpti_request_new(&options, &made, &why);

    if (status != CPT_OK) {
        return is_full(family)
                   ? cpt_error_set(error, CPT_LIMIT, 0,
                                   "the request and its components take %zu bytes, the "
                                   "limit is %zu",
                                   atomic_load(&family->bytes), family->bytes_max)
                   : cpt_error_set(error, status, 0, "%s", why.sentence);
    }
    made->alloc = family->inner; /* for the walk, and to free */
    made->inherited = parent->inherited;
    made->deadline_ns = parent->deadline_ns; /* its calls have no longer either */
    made->nest.parent = parent;
    made->nest.family = family;
    made->nest.flight = parent->nest.flight;
    made->nest.level = parent->nest.level + 1;
    made->nest.retire = retire_component;
    made->lock.rank = (enum cpti_lock_rank)(CPTI_RANK_REQUEST + made->nest.level);
    cpti_request_share(made); /* the parent may tell it to stop */
    if (made->is_traced) {
        made->trace.arrival_ns = component->run.pending.begin_ns;
    }
    component->request = made;
    return CPT_OK;
}

/* "A: name" in the arena, ended by NUL, or @otherwise in place of the name if the plan
 * has too many; nothing at the memory limit. Lock held. */
static struct cpt_bytes write_name(struct cpt_request *request, const char *name,
                                   const char *otherwise)
{
    const struct cpt_bytes service = request->plan->service;
    const size_t bytes = service.bytes + 2 + strlen(name);
    char cut[CPT_NAME_BYTES_MAX + 1];
    struct cpt_bytes frame = {cpt_arena_take(&request->arena, bytes + 1), bytes};
    char *text = NULL;

    if (frame.data == NULL) {
        return frame;
    }
    text = (char *)(uintptr_t)frame.data;
    (void)snprintf(text, bytes + 1, "%.*s: %s", (int)service.bytes, service.data, name);
    frame = cpt_name_bound(frame, cut);
    if (frame.data == cut) {
        memcpy(text, cut, frame.bytes); /* it is no longer than what was there */
        text[frame.bytes] = '\0';
        frame.data = text;
    }
    return cpti_plan_takes_name(request->plan, frame) || otherwise == NULL
               ? frame
               : write_name(request, otherwise, NULL);
}

/* A wait of @task for a component called @name, or like the task's own frame if that is
 * NULL, that does not run yet. NULL at the memory limit. */
static struct component *begin_component(struct cpt_task *task, const char *name,
                                         const struct cpt_plan *plan)
{
    struct cpt_request *parent = task->request;
    const uint64_t now_ns = cpti_record_now(parent);
    struct cpt_bytes frame = {NULL, 0};
    struct component *component = NULL;

    cpti_lock_take(&parent->lock);
    if (family_of(parent) != NULL) {
        component = cpt_arena_take(&parent->arena, sizeof *component);
    }
    if (component != NULL && parent->is_traced && name != NULL) {
        frame = write_name(parent, name, plan->graph->output->name);
        component = frame.data != NULL ? component : NULL;
    }
    if (component != NULL) {
        component->entry = name != NULL ? frame : task->plan->frame_name;
        component->kept.release = free_component;
        component->kept.next = parent->nest.kept;
        parent->nest.kept = &component->kept;
        component->run.plan = plan;
        begin_locked(&component->run, task, frame, now_ns);
    }
    cpti_lock_release(&parent->lock);
    if (component != NULL) {
        cpti_request_hold(parent);
    }
    return component;
}

/* Lets it run with a copy of @input, or end with the error that there is, or that comes
 * of it. */
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
    component->run.open = open_component;
    if (input != NULL) {
        memcpy(request->input_place, input, request->plan->input_bytes);
    }
    cpti_request_launch(request, request->input_place, 0);
    cpti_pending_tell_by(pending, tell_component);
    return pending;
}

struct cpt_pending *cpt_task_spawn(struct cpt_task *task, const char *name,
                                   const struct cpt_plan *plan,
                                   const struct cpt_value *value, const void *input)
{
    struct component *component = begin_component(task, name, plan);
    struct cpt_error error = {.status = CPT_OK};

    assert(input != NULL || plan->input_bytes == 0);
    if (component == NULL) {
        return NULL;
    }
    if (check_level(task->request, name, &error) == CPT_OK) {
        (void)cpti_run_check_input(name, plan->graph->input, value, &error);
    }
    return run_component(component, input, &error);
}

/* --- A component in the place of a task's function --- */

static cpt_status use_component(struct cpt_task *task)
{
    struct cpt_pending *pending = *cpt_state(task, struct cpt_pending *);
    const cpt_status status = cpt_pending_status(pending);
    const struct cpt_value *output = task->plan->component->graph->output;

    if (status != CPT_OK) {
        return cpt_fail(task, status, "%s", cpt_run_sentence(pending));
    }
    memcpy(task->output, cpt_task_run_output(pending, output), output->bytes);
    return CPT_OK;
}

cpt_status cpti_component_run(struct cpt_task *task)
{
    const struct cpti_plan_task *own = task->plan;
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);
    struct component *component =
        pending != NULL ? begin_component(task, NULL, own->component) : NULL;
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
