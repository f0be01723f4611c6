/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * recording.h - the seam between running a request and tracing it
 *
 * Every note that the runtime takes is a function of this file, and nothing else in the
 * folder writes a cpt_trace_ record. Of a request that is not traced nothing is noted
 * and no clock is read: each function is then one branch.
 *
 * Who may call what: the notes of a task, its own thread; those of awaits and calls,
 * whoever holds the request's lock, since the walk reads them under it while other
 * tasks of the request may still run.
 */
#ifndef CPT_RECORDING_H
#define CPT_RECORDING_H

#include "framework/run/request.h"

#include <string.h>
#include <time.h>

/* Now, of the request's clock; 0 if it is not traced. */
static inline uint64_t cpti_record_now(const struct cpt_request *request)
{
    return request->is_traced ? cpt_clock_now_ns(request->clock) : 0;
}

/* A record that did not fit into the memory of the request. Lock held. */
static inline void cpti_record_lost(struct cpt_request *request)
{
    request->trace.dropped_event_count++;
}

/* --- Tasks --- */

/* Task @number misses nothing any more: @giver brought the last input, or started it.
 * When that was, the giver's own record tells, and the margin to the others too. */
static inline void cpti_record_ready(struct cpt_request *request, uint32_t number,
                                     uint32_t giver)
{
    if (request->records != NULL) {
        request->records[number].unblocker = (uint16_t)(giver + 1);
    }
}

/* The processor time of this thread. */
static inline uint64_t cpti_thread_cpu_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A step begins at @now_ns; straight after another one of the same activation if
 * @is_next: that one's last reading will do. */
static inline void cpti_record_step_begin(struct cpt_task *task, uint64_t now_ns,
                                          int is_next)
{
    if (task->request->off_cpu_ns != NULL) {
        task->step_begin_ns = now_ns;
        if (!is_next || task->step_cpu_ns == 0) {
            task->step_cpu_ns = cpti_thread_cpu_ns();
        }
    }
}

/* It ends at @now_ns, having lost so much of its time to others. It began with the task
 * if @await is NULL, else when that wait was over. */
static inline void cpti_record_step_end(struct cpt_task *task,
                                        struct cpt_trace_await *await, uint64_t now_ns)
{
    uint64_t wall_ns = 0;
    uint64_t cpu_ns = 0;

    if (task->request->off_cpu_ns != NULL) {
        const uint64_t cpu_now_ns = cpti_thread_cpu_ns();

        wall_ns = now_ns - task->step_begin_ns;
        cpu_ns = cpu_now_ns - task->step_cpu_ns;
        task->step_cpu_ns = cpu_now_ns;
        *(await != NULL ? &await->off_cpu_ns
                        : &task->request->off_cpu_ns[task->number]) =
            wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
    }
}

/* The task begins, at @now_ns if that is known already (not 0); else it was queued, and
 * @occupant had the worker before it. */
static inline void cpti_record_start(struct cpt_task *task, uint64_t now_ns,
                                     uint32_t occupant)
{
    const int is_next = now_ns != 0;

    if (!is_next) {
        now_ns = cpti_record_now(task->request);
        task->record->occupant = occupant;
    }
    /* Release: a walk that sees it sees the rest of the record, too. */
    atomic_store_explicit(&task->record->start_ns, now_ns, memory_order_release);
    cpti_record_step_begin(task, now_ns, is_next);
}

/* --- Waits. Lock held. --- */

/* Whether the request has failed: its path goes through whoever held it up
 * (deadline.c), and must be the same whenever `done` asks for it. What was out may
 * still come until it has been told, and a step may go on: of waits and calls nothing
 * is noted then. */
static inline int cpti_record_is_over(const struct cpt_request *request)
{
    return atomic_load_explicit(&request->is_stopped, memory_order_relaxed) != 0;
}

/* A wait that a task released, or a call. */
struct cpti_await {
    struct cpt_trace_await await; /* first */
    uint32_t released_by;         /* number of that task + 1; 0: by a call, or nobody */
    uint32_t occupant;            /* who had the worker while the task queued */
};

/* What the walk will see of @task, which is traced. The activation is then not used for
 * another one. */
static inline struct cpti_stub *cpti_record_stub(struct cpt_task *task)
{
    struct cpti_stub *stub = &((struct cpti_traced_task *)task)->stub;

    if (!task->has_waited) {
        memset(stub, 0, sizeof *stub);
        task->is_used = 1;
        task->has_waited = 1;
        stub->number = task->number;
        stub->task.source = stub;
        stub->next = task->request->stubs;
        task->request->stubs = stub;
    }
    return stub;
}

static inline void cpti_record_block(struct cpt_task *task, uint64_t block_ns)
{
    struct cpt_trace_await *await = NULL;
    struct cpti_stub *stub = NULL;

    task->has_runner_up = 0;
    if (task->record == NULL || cpti_record_is_over(task->request)) {
        return;
    }
    stub = cpti_record_stub(task);
    cpti_record_step_end(task, stub->task.last_await, block_ns);
    await = cpt_arena_take(&task->request->arena, sizeof(struct cpti_await));
    if (await == NULL) {
        cpti_record_lost(task->request);
        await = &stub->lost;
    }
    if (await != stub->task.last_await) {
        await->block_ns = block_ns;
        await->previous = stub->task.last_await;
        stub->task.last_await = await;
    }
    await->resume_ns = UINT64_MAX; /* not yet */
    task->await = await;
}

/* Task @number will never run, as @giver failed at @end_ns: nobody can tell it from one
 * that took no time then. */
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

/* The task has ended; the time is the ready time of whoever it unblocks. */
static inline uint64_t cpti_record_end(struct cpt_task *task)
{
    uint64_t end_ns = 0;

    if (task->record == NULL) {
        return 0;
    }
    end_ns = cpti_record_now(task->request);
    atomic_store_explicit(&task->record->end_ns, end_ns, memory_order_relaxed);
    if (task->request->off_cpu_ns != NULL) {
        cpti_record_step_end(
            task, task->has_waited ? cpti_record_stub(task)->task.last_await : NULL,
            end_ns);
    }
    return end_ns;
}

/* @pending came, but the task waits for others besides. */
static inline void cpti_record_runner_up(struct cpt_task *task, uint64_t arrive_ns)
{
    task->has_runner_up = 1;
    task->runner_up_ns = arrive_ns;
}

/* @call or task number @awaited - 1 released the task; neither: its record was lost,
 * and so is the wait. */
static inline void cpti_record_release(struct cpt_task *task,
                                       struct cpt_trace_call *call, uint32_t awaited,
                                       uint64_t arrive_ns)
{
    struct cpt_trace_await *await = task->await;

    if (await == NULL || cpti_record_is_over(task->request)) {
        return;
    }
    await->arrive_ns = arrive_ns;
    if (await == &cpti_record_stub(task)->lost) {
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

/* It goes on at @resume_ns, after @occupant on the same worker. */
static inline void cpti_record_resume(struct cpt_task *task, uint64_t resume_ns,
                                      uint32_t occupant)
{
    struct cpt_trace_await *await = task->await;

    task->await = NULL;
    if (await == NULL || cpti_record_is_over(task->request)) {
        return;
    }
    await->resume_ns = resume_ns;
    if (await != &cpti_record_stub(task)->lost) {
        ((struct cpti_await *)await)->occupant = occupant;
    }
    cpti_record_step_begin(task, resume_ns, 0);
}

/* --- Calls. Lock held. --- */

/* A call that @task issues now; NULL if it is not traced, or lost. */
static inline struct cpt_trace_call *cpti_record_issue(struct cpt_task *task,
                                                       struct cpt_bytes name,
                                                       unsigned outcome,
                                                       uint64_t issue_ns)
{
    struct cpt_trace_call *call = NULL;

    if (task->record == NULL) {
        return NULL;
    }
    call = cpt_arena_take(&task->request->arena, sizeof *call);
    if (call == NULL) {
        cpti_record_lost(task->request);
        return NULL;
    }
    call->name = name;
    call->issuer = &cpti_record_stub(task)->task;
    call->issue_ns = issue_ns;
    call->outcome = (unsigned char)outcome;
    return call;
}

/* What @pending, which the deadline of its owner gave up, is on the path. */
static inline struct cpt_trace_call *
cpti_record_timeout(const struct cpt_pending *pending, uint64_t now_ns)
{
    struct cpt_task *owner = pending->owner;
    struct cpt_trace_call *given_up = NULL;

    if (pending->call != NULL) {
        given_up = cpti_record_issue(owner, pending->call->name, CPT_CALL_TIMEOUT,
                                     pending->begin_ns);
        if (given_up != NULL) {
            given_up->attempt = pending->call->attempt;
        }
    } else if (pending->stands_for != 0) {
        given_up = cpti_record_issue(
            owner, owner->request->plan->tasks[pending->stands_for - 1].frame_name,
            CPT_CALL_TIMEOUT, pending->begin_ns);
    }
    if (given_up != NULL) {
        given_up->arrive_ns = now_ns;
    }
    return given_up;
}

/* --- The walk, recording.c --- */

/* Appends the critical path of a request that is traced and has its response time. Lock
 * not held. Errors of cpt_critical_path(). */
cpt_status cpti_recording_walk(struct cpt_request *request, struct cpt_path *path,
                               struct cpt_error *error);

#endif
