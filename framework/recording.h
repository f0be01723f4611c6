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

#include "framework/request.h"

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

/* When the input of slot @slot came, or 0 if it was there from the beginning. */
static inline uint64_t cpti_record_input_ns(const struct cpt_task *task, uint32_t slot)
{
    const uint32_t giver = task->request->plan->slots[slot].giver;

    return giver == CPTI_NO_TASK ? 0 : task->request->tasks[giver].record->end_ns;
}

/*
 * The last input of @task came from @unblocker at @ready_ns. The margin is to the
 * latest of the others, whose stamps are visible as they were taken before their
 * decrements.
 */
static inline void cpti_record_ready(struct cpt_task *task, struct cpt_task *unblocker,
                                     uint64_t ready_ns)
{
    struct cpt_trace_task *record = task->record;
    uint64_t runner_up_ns = 0;

    if (record == NULL) {
        return;
    }
    record->begin = CPT_BEGIN_TASK;
    record->unblocker = unblocker->record;
    record->ready_ns = ready_ns;
    for (uint32_t i = 0; i < task->plan->need_count; i++) {
        const uint32_t slot = task->plan->need_slots[i];
        const uint32_t giver = task->request->plan->slots[slot].giver;
        uint64_t input_ns = 0;

        if (giver == CPTI_NO_TASK || &task->request->tasks[giver] == unblocker) {
            continue;
        }
        input_ns = cpti_record_input_ns(task, slot);
        runner_up_ns = input_ns > runner_up_ns ? input_ns : runner_up_ns;
    }
    if (task->started_ns > runner_up_ns && record->starter != unblocker->record) {
        runner_up_ns = task->started_ns;
    }
    if (runner_up_ns != 0) {
        record->has_margin = 1;
        record->margin_ns = ready_ns > runner_up_ns ? ready_ns - runner_up_ns : 0;
    }
}

/* The task begins, at @now_ns if that is known already (not 0). */
static inline void cpti_record_start(struct cpt_task *task, uint64_t now_ns)
{
    if (task->record != NULL) {
        task->record->start_ns = now_ns != 0 ? now_ns : cpti_record_now(task->request);
    }
}

/* The task has ended; the time is the ready time of whoever it unblocks. */
static inline uint64_t cpti_record_end(struct cpt_task *task)
{
    if (task->record == NULL) {
        return 0;
    }
    task->record->end_ns = cpti_record_now(task->request);
    return task->record->end_ns;
}

/* Task @task was started by @starter. Lock held. */
static inline void cpti_record_started(struct cpt_task *task, struct cpt_task *starter,
                                       uint64_t now_ns)
{
    if (task->record != NULL) {
        task->record->starter = starter->record;
        task->started_ns = now_ns;
    }
}

/* --- Waits. Lock held. --- */

/* The spare one of a task: from its first lost wait to its latest, by nobody known. */
static inline struct cpt_trace_await *cpti_record_lost_await(struct cpt_task *task)
{
    cpti_record_lost(task->request);
    return &((struct cpti_record *)task->record)->lost;
}

static inline void cpti_record_block(struct cpt_task *task, uint64_t block_ns)
{
    struct cpt_trace_await *await = NULL;

    task->has_runner_up = 0;
    if (task->record == NULL) {
        return;
    }
    await = cpt_arena_take(&task->request->arena, sizeof *await);
    if (await == NULL) {
        await = cpti_record_lost_await(task);
    }
    if (await != task->record->last_await) {
        await->block_ns = block_ns;
        await->previous = task->record->last_await;
        task->record->last_await = await;
    }
    await->resume_ns = UINT64_MAX; /* not yet */
    task->await = await;
}

/* @pending came, but the task waits for others besides. */
static inline void cpti_record_runner_up(struct cpt_task *task, uint64_t arrive_ns)
{
    task->has_runner_up = 1;
    task->runner_up_ns = arrive_ns;
}

/* @call or @awaited released the task; neither: its record was lost, and so is the
 * wait. */
static inline void cpti_record_release(struct cpt_task *task,
                                       struct cpt_trace_call *call,
                                       struct cpt_trace_task *awaited,
                                       uint64_t arrive_ns)
{
    struct cpt_trace_await *await = task->await;

    if (await == NULL) {
        return;
    }
    await->arrive_ns = arrive_ns;
    if (await == &((struct cpti_record *)task->record)->lost) {
        return;
    }
    await->call = call;
    await->task = awaited;
    if (task->has_runner_up) {
        await->has_margin = 1;
        await->margin_ns =
            arrive_ns > task->runner_up_ns ? arrive_ns - task->runner_up_ns : 0;
    }
}

static inline void cpti_record_resume(struct cpt_task *task, uint64_t resume_ns)
{
    if (task->await != NULL) {
        task->await->resume_ns = resume_ns;
        task->await = NULL;
    }
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
    call->issuer = task->record;
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
    } else if (pending->task != NULL) {
        given_up = cpti_record_issue(owner, pending->task->plan->frame_name,
                                     CPT_CALL_TIMEOUT, pending->begin_ns);
    }
    if (given_up != NULL) {
        given_up->arrive_ns = now_ns;
    }
    return given_up;
}

#endif
