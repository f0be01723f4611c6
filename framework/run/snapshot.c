/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * snapshot.c - what a request does just now, read by a thread that has no part in it
 *
 *      tasks   those that wait, and for what: under the lock, from the list of waiting
 *              tasks and their pendings
 *              those that run or could: all inputs are there, and they have not ended
 *      holds   locks that tasks have acquired
 *
 * A request that its owner has alone has no lock that anybody takes, and nothing waits
 * in it: of such a request only the atomic progress of tasks is read. The owner shares
 * it for good (cpti_request_share()), with release; a snapshot that acquires that may
 * take the lock, and read what the lock guards.
 *
 * Nothing is noted for snapshots while tasks run. So an untraced request cannot tell
 * which of its tasks run and which are queued ("runnable"), nor since when.
 */
#include "framework/run/snapshot.h"

#include "cpt/base/container.h"
#include "framework/run/component.h"
#include "framework/run/held.h"
#include "framework/run/overlap.h"
#include "framework/run/pending.h"
#include "framework/run/resource.h"

#include <string.h>

enum { NUMBERS_SEEN_MAX = 4096 }; /* tasks of one plan that are looked at */

/* What is being written. */
struct snapshot {
    struct cpti_json *text;
    uint64_t now_ns;
    unsigned depth; /* of components */
};

static void write_run(struct snapshot *snapshot, struct cpt_request *request);

/* The time since @begin_ns; nothing if that is not known. */
static void write_since(struct snapshot *snapshot, uint64_t begin_ns)
{
    if (begin_ns != 0) {
        cpti_json_unsigned(
            snapshot->text, "us",
            begin_ns < snapshot->now_ns ? (snapshot->now_ns - begin_ns) / 1000 : 0);
    }
}

/* --- What a task waits for. Lock held. --- */

void cpti_resource_init(struct cpti_resource *resource, const char *name,
                        uint32_t count)
{
    static atomic_uint_least32_t last_id; /* relaxed: a count */

    resource->name = name;
    resource->count = count;
    resource->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
}

static void write_resource(struct cpti_json *text, const struct cpti_resource *resource)
{
    cpti_json_bytes(text, "name", cpt_bytes_of(resource->name));
    cpti_json_unsigned(text, "lock", resource->id);
    if (resource->count != 1) {
        cpti_json_unsigned(text, "capacity", resource->count);
    }
}

static void write_lock(struct cpti_json *text, const struct cpti_resource *lock)
{
    const struct cpt_bytes holder = cpti_task_name(
        cpti_tenant_name(atomic_load_explicit(&lock->holder, memory_order_relaxed)));

    write_resource(text, lock);
    if (holder.bytes != 0) {
        cpti_json_bytes(text, "holder", holder);
    }
}

/* A component's tasks are told where it is waited for; its lock comes after the one
 * that is held. */
static void write_component(struct snapshot *snapshot,
                            const struct cpt_pending *pending)
{
    struct cpt_request *run = cpti_component_of(pending);

    if (run != NULL && snapshot->depth < CPT_NESTING_MAX) {
        struct snapshot inner = *snapshot;

        inner.depth++;
        inner.now_ns = cpti_snapshot_now(run);
        write_run(&inner, run);
    }
}

static const char *kind_of(const struct cpt_pending *pending)
{
    switch (pending->kind) {
    case CPTI_PENDING_TASK:
        return "task";
    case CPTI_PENDING_TIMER:
        return "timer";
    case CPTI_PENDING_CALL:
        return "call";
    case CPTI_PENDING_RUN:
        return "run";
    case CPTI_PENDING_LOCK:
    case CPTI_PENDING_SEMAPHORE:
        return "lock";
    default:
        return "work";
    }
}

/* What goes out, as the callee tells it, if that is one of ours: without a query, which
 * may hold secrets. */
static void write_outbound(struct cpti_json *text,
                           const struct cpt_transport_call *call)
{
    enum { TRACE_AT = 3, TRACE_DIGITS = 32, SPAN_AT = 36, SPAN_DIGITS = 16 };
    const struct cpt_bytes parent = call->traceparent;
    struct cpt_bytes path = cpt_bytes_of(call->method != NULL ? call->method : "");
    const char *query = memchr(path.data, '?', path.bytes);
    char cut[CPT_NAME_BYTES_MAX + 1];

    path.bytes = query != NULL ? (size_t)(query - path.data) : path.bytes;
    if (call->verb.bytes != 0) {
        cpti_json_bytes(text, "verb", call->verb);
    }
    cpti_json_bytes(text, "path", cpt_name_bound(path, cut));
    if (parent.bytes >= SPAN_AT + SPAN_DIGITS) { /* else it goes out without one */
        cpti_json_bytes(text, "trace_id",
                        (struct cpt_bytes){parent.data + TRACE_AT, TRACE_DIGITS});
        cpti_json_bytes(text, "span_id",
                        (struct cpt_bytes){parent.data + SPAN_AT, SPAN_DIGITS});
    }
}

static void write_call(struct cpti_json *text, const struct cpt_pending *pending)
{
    const struct cpt_stub *stub = pending->stub;
    const char *target = pending->target != NULL ? pending->target : stub->target;

    cpti_json_bytes(text, "name", cpt_bytes_of(stub->name));
    cpti_json_bytes(text, "target", cpt_bytes_of(target != NULL ? target : ""));
    cpti_json_bytes(text, "method",
                    cpt_bytes_of(stub->method != NULL ? stub->method : ""));
    if (stub->transport != NULL && stub->transport->name != NULL) {
        cpti_json_bytes(text, "transport", cpt_bytes_of(stub->transport->name));
    }
    if (stub->operators != NULL) {
        cpti_json_bytes(text, "operators", cpt_bytes_of(stub->operators));
    }
    if (pending->outbound != NULL) {
        write_outbound(text, pending->outbound);
    }
    if (__atomic_load_n(&pending->is_sent, __ATOMIC_RELAXED)) {
        cpti_json_bool(text, "sent", true);
    }
}

static void write_pending(struct snapshot *snapshot, const struct cpt_pending *pending)
{
    struct cpti_json *text = snapshot->text;

    cpti_json_open(text, NULL, '{');
    cpti_json_bytes(text, "kind", cpt_bytes_of(kind_of(pending)));
    write_since(snapshot, pending->begin_ns);
    if (pending->kind == CPTI_PENDING_TASK) {
        cpti_json_bytes(
            text, "name",
            pending->request->plan->tasks[pending->stands_for - 1].frame_name);
    } else if (pending->kind == CPTI_PENDING_CALL && pending->stub != NULL) {
        write_call(text, pending);
    } else if (pending->resource != NULL) {
        write_lock(text, pending->resource);
    } else if (pending->call != NULL && pending->call->name.bytes != 0) {
        cpti_json_bytes(text, "name", pending->call->name);
    }
    if (pending->kind == CPTI_PENDING_RUN) {
        write_component(snapshot, pending);
    }
    cpti_json_close(text);
}

static void write_waiting(struct snapshot *snapshot, const struct cpt_task *task)
{
    struct cpti_json *text = snapshot->text;
    const struct cpt_pending *pending = task->oldest;
    uint32_t count = 0;
    uint32_t left_out = 0;

    cpti_json_open(text, NULL, '{');
    cpti_json_bytes(text, "name", cpti_task_plan(task)->frame_name);
    cpti_json_bytes(text, "state", cpt_bytes_of("waits"));
    if (task->timeout != NULL) {
        cpti_json_bool(text, "timeout", true);
    }
    cpti_json_open(text, "for", '[');
    for (; pending != NULL; pending = pending->next) {
        if (pending->await_number != task->await_number) {
            continue;
        }
        count++;
        if (count <= CPTI_SNAPSHOT_WAITS_MAX) {
            write_pending(snapshot, pending);
        } else {
            left_out++;
        }
    }
    cpti_json_close(text);
    if (left_out != 0) {
        cpti_json_unsigned(text, "left_out", left_out);
    }
    if (task->wanted_count < count) {
        cpti_json_unsigned(text, "wanted", task->wanted_count);
    }
    cpti_json_close(text);
}

/* --- Tasks that do not wait --- */

static bool has_ended(const struct cpt_request *request, uint32_t number)
{
    return atomic_load_explicit(&request->progress[number].outcome,
                                memory_order_acquire) < CPT_WAITING;
}

/* Whether task @number runs or waits for a thread. Lock held if @is_shared. */
static bool is_runnable(const struct cpt_request *request, uint32_t number,
                        bool is_shared)
{
    const struct cpti_plan_task *plan = &request->plan->tasks[number];

    if (has_ended(request, number) ||
        (!plan->is_eager &&
         !(is_shared && cpti_request_demand(request, number)->is_started)) ||
        (is_shared && cpti_waiting_task(request, number) != NULL)) {
        return false;
    }
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const uint32_t giver = request->plan->slots[plan->input_slots[i]].giver;

        if (giver != CPTI_NO_TASK && !has_ended(request, giver)) {
            return false;
        }
    }
    return true;
}

static void write_runnable(struct snapshot *snapshot, const struct cpt_request *request,
                           uint32_t number)
{
    const uint64_t start_ns =
        request->records != NULL
            ? atomic_load_explicit(&request->records[number].start_ns,
                                   memory_order_relaxed)
            : 0;
    struct cpti_json *text = snapshot->text;

    cpti_json_open(text, NULL, '{');
    cpti_json_bytes(text, "name", request->plan->tasks[number].frame_name);
    cpti_json_bytes(text, "state",
                    cpt_bytes_of(request->records == NULL ? "runnable"
                                 : start_ns != 0          ? "runs"
                                                          : "queued"));
    write_since(snapshot, start_ns);
    cpti_json_close(text);
}

/* --- A run --- */

static void write_tasks(struct snapshot *snapshot, const struct cpt_request *request,
                        bool is_shared)
{
    const uint32_t count = request->plan->task_count < NUMBERS_SEEN_MAX
                               ? request->plan->task_count
                               : NUMBERS_SEEN_MAX;
    uint64_t told_count = 0;

    cpti_json_open(snapshot->text, "tasks", '[');
    if (is_shared) {
        const struct cpt_task *task = NULL;

        LIST_FOREACH(task, &request->waiting, waiting_link)
        {
            if (told_count++ < CPTI_SNAPSHOT_TASKS_MAX) {
                write_waiting(snapshot, task);
            }
        }
    }
    for (uint32_t i = 0; i < count && told_count < CPTI_SNAPSHOT_TASKS_MAX; i++) {
        if (is_runnable(request, i, is_shared)) {
            told_count++;
            write_runnable(snapshot, request, i);
        }
    }
    cpti_json_close(snapshot->text);
    if (told_count > CPTI_SNAPSHOT_TASKS_MAX) {
        cpti_json_unsigned(snapshot->text, "tasks_left_out",
                           told_count - CPTI_SNAPSHOT_TASKS_MAX);
    }
}

/* Lock held. */
static void write_holds(struct snapshot *snapshot, const struct cpt_request *request)
{
    const struct cpti_cancellable *at = NULL;
    unsigned left = CPTI_SNAPSHOT_WAITS_MAX;

    if (LIST_EMPTY(&request->held_locks)) {
        return;
    }
    cpti_json_open(snapshot->text, "holds", '[');
    LIST_FOREACH(at, &request->held_locks, link)
    {
        const struct cpti_held *held =
            CPTI_CONST_CONTAINER(at, struct cpti_held, cancellable);

        if (left-- == 0) {
            break;
        }
        cpti_json_open(snapshot->text, NULL, '{');
        write_resource(snapshot->text, held->resource);
        cpti_json_bytes(snapshot->text, "task",
                        request->plan->tasks[held->task].frame_name);
        cpti_json_close(snapshot->text);
    }
    cpti_json_close(snapshot->text);
}

static void write_run(struct snapshot *snapshot, struct cpt_request *request)
{
    /* Pairs with the release of cpti_request_share(). */
    const bool is_shared = __atomic_load_n(&request->is_shared, __ATOMIC_ACQUIRE);

    if (is_shared) {
        cpti_lock_take(&request->lock);
    }
    write_tasks(snapshot, request, is_shared);
    if (is_shared) {
        write_holds(snapshot, request);
        cpti_lock_release(&request->lock);
    }
}

void cpti_snapshot_write(struct cpt_request *request, struct cpti_json *text)
{
    struct snapshot snapshot = {.text = text, .now_ns = cpti_snapshot_now(request)};

    write_run(&snapshot, request);
}
