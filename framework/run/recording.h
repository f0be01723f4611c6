/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * recording.h - the seam between running a request and tracing it
 *
 * Every note that the runtime takes is a function of this file; nothing else in the
 * room writes a cpt_trace_ record. For a request that is not traced, nothing is noted
 * and no clock is read: each function is then one branch.
 *
 * Threads: a task is noted by the thread that runs it, awaits and calls under the lock
 * of the request, since the walk reads them while other tasks may still run.
 */
#ifndef CPT_RECORDING_H
#define CPT_RECORDING_H

#include "cpt/cpt_dag_draft.h"
#include "framework/pool/executor.h"
#include "framework/run/overlap.h"
#include "framework/run/request.h"
#include "framework/run/span_ids.h"
#include "framework/run/starving.h"

#include <time.h>

/* Now, of the request's clock; 0 if it is not traced. */
static inline uint64_t cpti_record_now(const struct cpt_request *request)
{
    return request->is_traced ? cpt_clock_now_ns(request->clock) : 0;
}

/* A record that did not fit into the memory for notes. Lock held. */
static inline void cpti_record_lost(struct cpt_request *request)
{
    request->trace.dropped_event_count++;
}

/* --- Tasks --- */

/* Task @number is ready: @giver brought its last input, or started it. The time when it
 * became ready, and the margin to the other inputs, are in the givers' records. */
static inline void cpti_record_ready(struct cpt_request *request, uint32_t number,
                                     uint32_t giver)
{
    if (request->records != NULL) {
        request->records[number].unblocker = (uint16_t)(giver + 1);
    }
}

/* The CPU time of this thread. */
static inline uint64_t cpti_thread_cpu_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A step begins at @now_ns. If @is_next, it follows another one of the same activation
 * at once: the last reading of CPU time serves for both. */
static inline void cpti_record_step_begin(struct cpt_task *task, uint64_t now_ns,
                                          bool is_next)
{
    if (task->request->off_cpu_ns != NULL) {
        task->step_begin_ns = now_ns;
        if (!is_next || task->step_cpu_ns == 0) {
            task->step_cpu_ns = cpti_thread_cpu_ns();
        }
        cpti_starving_begin(task, task->step_cpu_ns);
    }
}

/* It ends at @now_ns; notes for how long it was off the CPU. It began with the task if
 * @await is NULL, else at the end of that wait. */
static inline void cpti_record_step_end(struct cpt_task *task,
                                        struct cpt_trace_await *await, uint64_t now_ns)
{
    struct cpt_request *request = task->request;
    const struct cpt_trace_starved *starved = NULL;
    uint64_t wall_ns = 0;
    uint64_t cpu_ns = 0;
    uint64_t off_ns = 0;

    if (request->off_cpu_ns == NULL) {
        return;
    }
    cpu_ns = cpti_thread_cpu_ns();
    wall_ns = now_ns - task->step_begin_ns;
    off_ns = wall_ns > cpu_ns - task->step_cpu_ns
                 ? wall_ns - (cpu_ns - task->step_cpu_ns)
                 : 0;
    task->step_cpu_ns = cpu_ns;
    starved = cpti_starving_end(task, cpu_ns, off_ns);
    if (await != NULL) {
        await->off_cpu_ns = off_ns;
        await->starved = starved;
        return;
    }
    request->off_cpu_ns[task->number] = off_ns;
    if (request->starved != NULL) {
        request->starved[task->number] = starved;
    }
}

/* The request of @trace, which begins now, came @waited_ns earlier than its transport
 * has stamped it. */
static inline void cpti_trace_waited(struct cpt_trace *trace, uint64_t waited_ns)
{
    if (waited_ns != 0 && trace->arrival_ns > waited_ns) {
        trace->dispatch_ns =
            trace->dispatch_ns != 0 ? trace->dispatch_ns : trace->arrival_ns;
        trace->arrival_ns -= waited_ns;
    }
}

/* When task @number, which misses nothing, became ready. */
static inline uint64_t cpti_record_ready_ns(const struct cpt_request *request,
                                            uint32_t number)
{
    const uint32_t unblocker = request->records[number].unblocker;

    if (unblocker == 0) {
        return request->trace.dispatch_ns != 0 ? request->trace.dispatch_ns
                                               : request->trace.arrival_ns;
    }
    if (request->plan->steps[number].is_startable) {
        const struct cpti_demand *demand = cpti_request_demand(request, number);

        if (demand->starter == unblocker) {
            return demand->started_ns;
        }
    }
    return atomic_load_explicit(&request->records[unblocker - 1].end_ns,
                                memory_order_relaxed);
}

/* The task that had this thread while another one of @request waited, from @begin_ns
 * on; 0: none, or it is not known. *@number is that of its request, or 0. */
static inline uint32_t cpti_record_occupant(const struct cpt_request *request,
                                            uint64_t begin_ns, uint32_t *number)
{
    const struct cpti_occupant *occupant = &cpti_thread_occupant;

    *number = 0;
    if (occupant->clock == NULL) {
        return occupant->tells_idling ? occupant->name_id : 0;
    }
    if (occupant->clock != request->clock || occupant->end_ns <= begin_ns) {
        return 0;
    }
    *number = occupant->request_number;
    return occupant->name_id;
}

/* @task, or the bundle in it, is traced and about to be submitted. */
static inline void cpti_record_submit(struct cpt_task *task)
{
    struct cpt_executor *executor = task->request->executor;
    const size_t length =
        executor->queue_length != NULL ? executor->queue_length(executor) : 0;

    task->queue_length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

/* This thread has run a step of a task with the name @name_id, which ended at
 * @end_ns. 0: it waits, and cpti_record_block() has noted when, if it is traced. */
static inline void cpti_record_leave(const struct cpt_request *request,
                                     uint32_t name_id, bool is_traced, uint64_t end_ns)
{
    cpti_thread_occupant.name_id = name_id;
    cpti_thread_occupant.clock = is_traced ? request->clock : NULL;
    if (is_traced) {
        cpti_thread_occupant.request_number = request->inherited.overlap_number;
    }
    if (is_traced && end_ns != 0) {
        cpti_thread_occupant.end_ns = end_ns;
    }
}

/* Notes @queued of @task, which has not begun yet. Lock not held. Rare; recording.c. */
void cpti_record_queued(struct cpt_task *task, const struct cpti_queued *queued);

/* The task begins at @now_ns. 0: it begins now, out of a queue. */
static inline void cpti_record_start(struct cpt_task *task, uint64_t now_ns)
{
    const bool is_next = now_ns != 0;

    if (!is_next) {
        struct cpti_queued queued = {0, task->queue_length};

        now_ns = cpti_record_now(task->request);
        task->record->occupant =
            cpti_thread_occupant.name_id != 0
                ? cpti_record_occupant(
                      task->request, cpti_record_ready_ns(task->request, task->number),
                      &queued.occupant_request)
                : 0;
        if (queued.occupant_request != 0 || queued.queue_length != 0) {
            cpti_record_queued(task, &queued);
        }
        task->queue_length = 0;
    }
    /* Release: a walk that sees it sees the rest of the record, too. */
    atomic_store_explicit(&task->record->start_ns, now_ns, memory_order_release);
    cpti_record_step_begin(task, now_ns, is_next);
}

/* --- Waits. Lock held. --- */

/* Whether the request has failed. Its path then goes through what delayed it
 * (deadline.c) and must stay the same, whenever `done` asks for it. So waits and calls
 * are no longer noted, although steps may continue and calls may still end. */
static inline bool cpti_record_is_over(const struct cpt_request *request)
{
    return cpti_request_is_stopped(request);
}

/* A wait, and which task or call released it. */
struct cpti_await {
    struct cpt_trace_await await; /* first */
    uint32_t released_by;      /* number of that task + 1; 0: by a call, or nothing */
    uint32_t occupant;         /* of the worker while the task queued, and … */
    uint32_t occupant_request; /* … the number of its request: see overlap.h */
};

/* What the walk reads of @task, which is traced; NULL: there is no memory for it. */
static inline struct cpti_task_trace *cpti_record_trace(struct cpt_task *task)
{
    struct cpti_task_trace *traced = task->trace;

    if (traced != NULL) {
        return traced;
    }
    traced = cpt_arena_take(&task->request->notes, sizeof *traced);
    if (traced == NULL) {
        return NULL;
    }
    task->is_used = true;
    task->trace = traced;
    traced->number = task->number;
    traced->task.source = traced;
    traced->next = task->request->traces;
    task->request->traces = traced;
    return traced;
}

/* --- Edges, recording_edges.c: if the request keeps them. Lock held. --- */

/* @pending has ended at @arrive_ns, and is not outstanding any more. */
void cpti_edges_came(const struct cpt_pending *pending, uint64_t arrive_ns);

/* @task asks for all that it has started. */
void cpti_edges_ask_all(struct cpt_task *task);

/* @task asks for @wanted_count of what has the number of its wait, of which
 * @ended_count have ended and @outstanding_count have not. */
void cpti_edges_ask(struct cpt_task *task, size_t wanted_count, size_t ended_count,
                    size_t outstanding_count);

/* The record of the wait of @task begins: it is told what came before. */
void cpti_edges_block(struct cpt_task *task);

/* @task goes on at once at @now_ns, as what it asked for had come: that is noted as a
 * wait that took no time. */
void cpti_edges_pass(struct cpt_task *task, uint64_t now_ns);

/* The same for @pending alone, in a step. */
void cpti_edges_pass_one(struct cpt_task *task, const struct cpt_pending *pending);

/* The wait of @task is over: without what is outstanding of it, up to as many as it did
 * not need. */
void cpti_edges_over(struct cpt_task *task);

/* The same, at its deadline: without all that is outstanding. */
void cpti_edges_give_up(struct cpt_task *task);

/* @task begins to wait at @block_ns. */
static inline void cpti_record_block(struct cpt_task *task, uint64_t block_ns)
{
    struct cpt_trace_await *await = NULL;
    struct cpti_task_trace *traced = NULL;

    task->has_runner_up = false;
    if (task->record == NULL || cpti_record_is_over(task->request)) {
        return;
    }
    cpti_thread_occupant.end_ns = block_ns;
    traced = cpti_record_trace(task);
    if (traced == NULL) {
        cpti_record_lost(task->request);
        task->record->occupant |= CPTI_LOST_WAITS;
        return;
    }
    cpti_record_step_end(task, traced->task.last_await, block_ns);
    await = cpt_arena_take(&task->request->notes, sizeof(struct cpti_await));
    if (await == NULL) {
        cpti_record_lost(task->request);
        await = &traced->lost;
    }
    if (await != traced->task.last_await) {
        await->block_ns = block_ns;
        await->previous = traced->task.last_await;
        traced->task.last_await = await;
    }
    await->resume_ns = UINT64_MAX; /* not yet */
    task->await = await;
    if (task->request->keeps_edges) {
        task->request->noted_count++;
        cpti_edges_block(task);
    }
}

/* Task @number will never run, as @giver failed at @end_ns: it is noted as a task that
 * took no time. */
static inline void cpti_record_never(struct cpt_request *request, uint32_t number,
                                     uint32_t giver, uint64_t end_ns)
{
    if (request->records != NULL) {
        struct cpti_record *record = &request->records[number];

        record->unblocker = (uint16_t)(giver + 1);
        atomic_store_explicit(&record->start_ns, end_ns, memory_order_relaxed);
        atomic_store_explicit(&record->end_ns, end_ns, memory_order_relaxed);
    }
}

/* The task has ended. Returns when: the tasks that it unblocks are ready then. Without
 * the lock. */
static inline uint64_t cpti_record_end(struct cpt_task *task)
{
    uint64_t end_ns = 0;

    if (task->record == NULL) {
        return 0;
    }
    end_ns = cpti_record_now(task->request);
    atomic_store_explicit(&task->record->end_ns, end_ns, memory_order_relaxed);
    if (task->request->off_cpu_ns != NULL) {
        /* a path may be made of what the task did before, while it goes on */
        cpti_lock_take(&task->request->lock);
        cpti_record_step_end(
            task, task->trace != NULL ? task->trace->task.last_await : NULL, end_ns);
        cpti_lock_release(&task->request->lock);
    }
    return end_ns;
}

/* The request is answered now: the time of the response, unless it is fixed. If nothing
 * came between the end of the task that answered and this, that end serves. */
static inline void cpti_record_response(struct cpt_request *request)
{
    const uint32_t number = request->answered_by - 1;

    if (request->trace.response_ns == 0 && request->status == CPT_OK &&
        !request->is_shared && request->plan->steps[number].successor_count == 0) {
        const uint64_t end_ns = atomic_load_explicit(&request->records[number].end_ns,
                                                     memory_order_relaxed);

        if (end_ns > request->trace.arrival_ns) {
            request->trace.response_ns = end_ns;
        }
    }
    (void)cpt_request_latency_ns(request);
}

/* A pending has ended at @arrive_ns; the task still waits for others. */
static inline void cpti_record_runner_up(struct cpt_task *task, uint64_t arrive_ns)
{
    task->has_runner_up = true;
    task->runner_up_ns = arrive_ns;
}

/* @call, or task number @awaited - 1, ended the wait of the task; neither (NULL, 0):
 * the record is lost, and so is that of the wait. */
static inline void cpti_record_release(struct cpt_task *task,
                                       struct cpt_trace_call *call, uint32_t awaited,
                                       uint64_t arrive_ns)
{
    struct cpt_trace_await *await = task->await;

    if (await == NULL || cpti_record_is_over(task->request)) {
        return;
    }
    await->arrive_ns = arrive_ns;
    if (await == &task->trace->lost) {
        return;
    }
    await->call = call;
    ((struct cpti_await *)await)->released_by = awaited;
    if (task->has_runner_up) {
        await->has_margin = 1;
        await->margin_ns =
            arrive_ns > task->runner_up_ns ? arrive_ns - task->runner_up_ns : 0;
    }
}

/* The task continues at @resume_ns; @has_queued for a worker, after what ran there. */
static inline void cpti_record_resume(struct cpt_task *task, uint64_t resume_ns,
                                      bool has_queued)
{
    struct cpt_trace_await *await = task->await;

    task->await = NULL;
    if (await == NULL || cpti_record_is_over(task->request)) {
        return;
    }
    await->resume_ns = resume_ns;
    if (has_queued && await != &task->trace->lost) {
        struct cpti_await *own = (struct cpti_await *)await;

        own->occupant = cpti_record_occupant(
            task->request,
            await->arrive_ns > await->block_ns ? await->arrive_ns : await->block_ns,
            &own->occupant_request);
        await->queue_length = task->queue_length;
    }
    task->queue_length = 0;
    cpti_record_step_begin(task, resume_ns, false);
}

/* @task has waited for @pending, which has ended, from its beginning to @resume_ns,
 * without asking: see cpti_run_note_launch(). */
static inline void cpti_record_waited(struct cpt_task *task,
                                      const struct cpt_pending *pending,
                                      uint64_t resume_ns)
{
    struct cpt_trace_call *call = pending->call;

    if (call != NULL && call->arrive_ns > pending->begin_ns) {
        cpti_record_block(task, pending->begin_ns);
        cpti_record_release(task, call, 0, call->arrive_ns);
        cpti_record_resume(task, resume_ns, false);
    }
}

/* @tenant (overlap.h) is what @call, which may be NULL, waits for. */
static inline void cpti_record_holder(const struct cpt_request *request,
                                      struct cpt_trace_call *call, uint64_t tenant)
{
    if (call != NULL) {
        call->holder = cpti_task_name(cpti_tenant_name(tenant));
        call->holder_request = cpti_overlap_other(request, cpti_tenant_request(tenant));
    }
}

/* --- Calls. Lock held. --- */

/* Memory for the record of a call of @request; NULL: there is none. */
static inline struct cpt_trace_call *cpti_record_call(struct cpt_request *request)
{
    struct cpti_call *call = NULL;

    if (!request->keeps_edges) {
        return cpt_arena_take(&request->notes, sizeof(struct cpt_trace_call));
    }
    call = cpt_arena_take(&request->notes, sizeof *call);
    if (call == NULL) {
        return NULL;
    }
    call->number = request->calls != NULL ? request->calls->number + 1 : 0;
    call->next = request->calls;
    request->calls = call;
    request->noted_count++;
    return &call->call;
}

/* A call that @task issues now; NULL if it is not traced, or lost. */
static inline struct cpt_trace_call *cpti_record_issue(struct cpt_task *task,
                                                       struct cpt_bytes name,
                                                       unsigned outcome,
                                                       uint64_t issue_ns)
{
    struct cpti_task_trace *issuer = NULL;
    struct cpt_trace_call *call = NULL;

    if (task->record == NULL) {
        return NULL;
    }
    issuer = cpti_record_trace(task);
    call = issuer != NULL ? cpti_record_call(task->request) : NULL;
    if (call == NULL) {
        cpti_record_lost(task->request);
        return NULL;
    }
    call->name = name;
    call->issuer = &issuer->task;
    call->issue_ns = issue_ns;
    call->outcome = (unsigned char)outcome;
    return call;
}

/* The id of @call, an RPC of @request that goes out now, for the callee. 0: the graph
 * of the request is not kept, or the record of the call is lost. */
static inline uint64_t cpti_record_call_id(struct cpt_request *request,
                                           struct cpt_trace_call *call)
{
    struct cpti_kept *kept = request->inherited.kept;

    if (kept == NULL || call == NULL) {
        return 0;
    }
    call->id =
        cpti_span_id(kept->seed, atomic_fetch_add_explicit(&kept->call_count, 1,
                                                           memory_order_relaxed));
    return call->id;
}

/* @pending arrives. */
static inline void cpti_record_arrival(const struct cpt_pending *pending,
                                       uint64_t arrive_ns)
{
    if (pending->call != NULL && !cpti_record_is_over(pending->request)) {
        pending->call->arrive_ns = arrive_ns;
    }
}

/* The task of @pending, which arrives, has waited for it: also if it waits for others
 * still, for the path shows only the last one. */
static inline void cpti_record_wanted(const struct cpt_pending *pending)
{
    struct cpt_request *request = pending->request;
    const uint32_t number = pending->task->number;

    if (!request->is_traced || cpti_record_is_over(request)) {
        return;
    }
    if (pending->stands_for != 0) {
        cpti_request_demand(request, pending->stands_for - 1)->waiter =
            (uint16_t)(number + 1);
    } else if (pending->call != NULL && request->keeps_edges) {
        ((struct cpti_call *)pending->call)->waiter = number + 1;
    }
}

/* How @pending, which the timeout of its task has given up, stands on the path. */
static inline struct cpt_trace_call *
cpti_record_timeout(const struct cpt_pending *pending, uint64_t arrive_ns)
{
    struct cpt_task *task = pending->task;
    struct cpt_trace_call *given_up = NULL;

    if (pending->call != NULL) {
        given_up = cpti_record_issue(task, pending->call->name, CPT_CALL_TIMEOUT,
                                     pending->begin_ns);
        if (given_up != NULL) {
            given_up->attempt = pending->call->attempt;
        }
    } else if (pending->stands_for != 0) {
        given_up = cpti_record_issue(
            task, task->request->plan->tasks[pending->stands_for - 1].frame_name,
            CPT_CALL_TIMEOUT, pending->begin_ns);
    }
    if (given_up != NULL) {
        given_up->arrive_ns = arrive_ns;
    }
    return given_up;
}

/* --- The walk, recording.c --- */

/* Appends the critical path of a traced request whose response time is set. Errors of
 * cpt_critical_path(). Lock not held. */
cpt_status cpti_recording_walk(struct cpt_request *request, struct cpt_path *path,
                               struct cpt_error *error);

/*
 * Calls @visit with each task of a traced request that has begun, filled in as for the
 * walk; the `source` of a task is its struct cpti_task_trace. No task may run any more.
 * CPT_OK; CPT_NO_MEMORY: not all were visited. Lock not held.
 */
cpt_status cpti_recording_visit(struct cpt_request *request,
                                void (*visit)(void *context,
                                              const struct cpt_trace_task *task),
                                void *context);

/* --- The dag, recording_dag.c --- */

/*
 * Fills in @records with what was recorded of @request, which keeps edges and whose
 * response time is set; all of it lies in @arena, or among the notes of the request.
 * @has_components: the runs within it, too, in which no task may run any more; else
 * they are calls. Good until the next walk of the request.
 *
 * CPT_OK; CPT_NO_MEMORY, also at the limit of the arena. Lock not held.
 */
cpt_status cpti_recording_dag_records(struct cpt_request *request, bool has_components,
                                      struct cpt_arena *arena,
                                      struct cpt_dag_records *records);

#endif
