/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * critical_steps.c - the steps of a walk become the segments of a path
 *
 * A task stands below the task that started it, with the sub-graphs between them; a
 * call below the task that issued it; a callee's path below its call. A task keeps the
 * index of its frame during the walk, so its frame is looked up once.
 */
#include "cpt/trace/critical_steps.h"

#include "cpt/dag/drag.h"

#include <assert.h>

/* The entry frame is the first one of the path. */
enum { ENTRY_FRAME = 0 };

/* The sub-graphs that @task lies in, the innermost first, into @groups. */
static size_t list_groups(const struct cpt_trace_task *task,
                          const struct cpt_trace_group *groups[CPT_PATH_DEPTH_MAX])
{
    const struct cpt_trace_group *group = task != NULL ? task->group : NULL;
    size_t count = 0;

    for (; group != NULL && count < CPT_PATH_DEPTH_MAX; group = group->parent) {
        groups[count++] = group;
    }
    return count;
}

/* How many of the sub-graphs of @task, from the outermost on, also contain its starter:
 * those with the same names. The maker of a trace may give each task records of its
 * own. */
static size_t count_shared(const struct cpt_trace_group *const *groups, size_t count,
                           const struct cpt_trace_task *starter)
{
    const struct cpt_trace_group *others[CPT_PATH_DEPTH_MAX];
    const size_t other_count = list_groups(starter, others);
    size_t shared = 0;

    while (shared < count && shared < other_count) {
        const struct cpt_trace_group *own = groups[count - 1 - shared];
        const struct cpt_trace_group *other = others[other_count - 1 - shared];

        if (own != other && !cpt_bytes_equal(own->name, other->name)) {
            break;
        }
        shared++;
    }
    return shared;
}

/* Adds the frame of @task below @parent: the sub-graphs that its starter does not lie
 * in, then the task itself. */
static cpt_status add_task_frame(struct cpt_path *path, uint32_t parent,
                                 struct cpt_trace_task *task)
{
    const struct cpt_trace_group *groups[CPT_PATH_DEPTH_MAX];
    size_t count = list_groups(task, groups);
    cpt_status status = CPT_OK;

    if (count != 0 && task->starter != NULL) {
        count -= count_shared(groups, count, task->starter);
    }
    while (count-- > 0 && status == CPT_OK) {
        status = cpt_path_frame_add(path, parent, groups[count]->name, CPT_KIND_WORK,
                                    &parent);
    }
    if (status == CPT_OK && !task->has_no_frame) {
        status = cpt_path_frame_add(path, parent, task->name, CPT_KIND_WORK, &parent);
    }
    if (status == CPT_OK) {
        task->walk_word = parent;
    }
    return status;
}

/*
 * Finds the frame of @task: below the task that started it, else below the entry. We go
 * up to the first starter whose frame is known, and add frames on the way down. Of more
 * than CPT_PATH_DEPTH_MAX tasks only the uppermost have frames of their own, so a ring
 * keeps only these; all tasks below them share the deepest frame.
 */
static cpt_status find_task_frame(struct cpti_steps *steps, struct cpt_path *path,
                                  struct cpt_trace_task *task, uint32_t *frame)
{
    struct cpt_trace_task *ring[CPT_PATH_DEPTH_MAX];
    struct cpt_trace_task *at = task;
    const struct cpt_trace_task *mark = NULL; /* moved at powers of 2; finds cycles */
    size_t count = 0;
    cpt_status status = CPT_OK;

    *frame = ENTRY_FRAME;
    for (; at != NULL; at = at->starter) {
        status = cpti_steps_meet(steps, at);
        if (status != CPT_OK) {
            return status;
        }
        if (at->walk_word != CPT_FRAME_NONE) {
            *frame = at->walk_word;
            break;
        }
        if (at == mark) {
            return cpt_error_set(steps->error, CPT_CORRUPT, 0,
                                 "the starters lead in a circle through task \"%.*s\"",
                                 (int)at->name.bytes, at->name.data);
        }
        if ((count & (count - 1)) == 0) {
            mark = at;
        }
        ring[count++ % CPT_PATH_DEPTH_MAX] = at;
    }
    for (size_t left = count < CPT_PATH_DEPTH_MAX ? count : CPT_PATH_DEPTH_MAX;
         left > 0 && status == CPT_OK; left--) {
        at = ring[--count % CPT_PATH_DEPTH_MAX];
        status = add_task_frame(path, *frame, at);
        *frame = at->walk_word;
    }
    for (at = task; count > 0 && status == CPT_OK; count--) {
        at->walk_word = *frame;
        at = at->starter;
    }
    return status;
}

/* The same, fast for the usual task: met before, or right below the entry. */
static inline cpt_status task_frame(struct cpti_steps *steps, struct cpt_path *path,
                                    struct cpt_trace_task *task, uint32_t *frame)
{
    cpt_status status = CPT_OK;

    *frame = ENTRY_FRAME;
    if (task == NULL) {
        return CPT_OK;
    }
    status = cpti_steps_meet(steps, task);
    if (status != CPT_OK) {
        return status;
    }
    if (task->walk_word == CPT_FRAME_NONE) {
        if (task->starter != NULL || task->group != NULL || task->has_no_frame) {
            return find_task_frame(steps, path, task, frame);
        }
        status = cpt_path_frame_add(path, ENTRY_FRAME, task->name, CPT_KIND_WORK,
                                    &task->walk_word);
    }
    *frame = task->walk_word;
    return status;
}

/* Appends time of @kind, which is not work, below @parent. */
static cpt_status append_kind(struct cpt_path *path, uint32_t parent, unsigned kind,
                              uint64_t duration_ns)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    const cpt_status status = cpt_path_frame_add(path, parent, none, kind, &frame);

    return status == CPT_OK ? cpti_path_push(path, frame, duration_ns) : status;
}

/* Puts @name as a label on the last segment, unless it is empty. */
static cpt_status label_name(struct cpt_path *path, unsigned key, struct cpt_bytes name)
{
    return name.bytes != 0 ? cpt_path_label_name(path, key, name) : CPT_OK;
}

/* Who was in the way: the task @name of the trace @request, or of this one (0). */
static cpt_status label_holder(struct cpt_path *path, struct cpt_bytes name,
                               uint64_t request)
{
    const cpt_status status = label_name(path, CPT_LABEL_HOLDER, name);

    return status == CPT_OK && name.bytes != 0 && request != 0
               ? cpt_path_label_number(path, CPT_LABEL_HOLDER_REQUEST, request)
               : status;
}

/* Appends the time of a call in the queue of its executor. */
static cpt_status append_call_queue(struct cpt_path *path, uint32_t parent,
                                    const struct cpti_step *step)
{
    const cpt_status status =
        append_kind(path, parent, CPT_KIND_QUEUE, step->duration_ns);

    return status == CPT_OK
               ? label_name(path, CPT_LABEL_EXECUTOR, step->of.call->executor)
               : status;
}

/* Appends the time of a task in the queue of its executor; labels say which task had
 * the worker, and how many waited. */
static cpt_status append_queue(struct cpt_path *path, uint32_t parent,
                               const struct cpti_step *step)
{
    const struct cpt_trace_task *task = step->of.task;
    const struct cpt_trace_await *await = step->with.await;
    const uint32_t length = await != NULL ? await->queue_length : task->queue_length;
    cpt_status status = append_kind(path, parent, CPT_KIND_QUEUE, step->duration_ns);

    if (status != CPT_OK) {
        return status;
    }
    status = label_name(path, CPT_LABEL_EXECUTOR, task->executor);
    if (status == CPT_OK && length != 0) {
        status = cpt_path_label_number(path, CPT_LABEL_QUEUE_LENGTH, length);
    }
    if (status != CPT_OK) {
        return status;
    }
    return await != NULL ? label_holder(path, await->occupant, await->occupant_request)
                         : label_holder(path, task->occupant, task->occupant_request);
}

/* Appends a task's own time: what it computed, then what it spent off the CPU. */
static cpt_status append_self(struct cpt_path *path, uint32_t frame,
                              const struct cpti_step *step)
{
    const struct cpt_trace_starved *starved = NULL;
    cpt_status status =
        cpti_path_push(path, frame, step->duration_ns - step->with.off_cpu_ns);

    if (status != CPT_OK || step->with.off_cpu_ns == 0) {
        return status;
    }
    status = append_kind(path, frame, CPT_KIND_OFF_CPU, step->with.off_cpu_ns);
    starved = step->starved;
    if (status != CPT_OK || starved == NULL) {
        return status;
    }
    status = cpt_path_label_number(path, CPT_LABEL_RUN_DELAY, step->run_delay_ns);
    return status == CPT_OK && step->run_delay_ns != 0
               ? label_holder(path, starved->culprit, starved->culprit_request)
               : status;
}

/* The drag of one of the steps; they have drags. */
static uint64_t drag_of(const struct cpti_steps *steps, const struct cpti_step *step)
{
    return steps->drags[&steps->all[steps->count - 1] - step].drag_ns;
}

/* Appends an RPC: the path of its callee if there is one, else a blind spot. */
static cpt_status append_remote(struct cpti_steps *steps, struct cpt_path *path,
                                uint32_t frame, const struct cpti_step *step)
{
    const struct cpt_trace *trace = steps->trace;
    struct cpt_trace_call *call = step->of.call;
    struct cpt_splice splice = {.observed_ns = step->duration_ns + step->with.skip_ns,
                                .skip_ns = step->with.skip_ns,
                                .overcount = trace->overcount};
    struct cpt_splice_report report = {0};
    struct cpt_path *callee = NULL;
    cpt_status status = CPT_OK;
    bool has_path = false;

    if (trace->open_callee != NULL && call->reply != NULL) {
        callee = cpt_path_new(steps->alloc);
        if (callee == NULL) {
            return CPT_NO_MEMORY;
        }
        has_path = trace->open_callee(trace->context, call, callee) == CPT_OK;
    }
    splice.server_elapsed_ns = call->server_elapsed_ns;
    splice.has_server_elapsed = call->has_server_elapsed;
    splice.reason = call->reason;
    splice.send_queue_ns = call->send_queue_ns;
    splice.receive_queue_ns = call->receive_queue_ns;
    if (steps->drags != NULL && drag_of(steps, step) != CPT_DRAG_UNKNOWN) {
        splice.call_drag_ns = drag_of(steps, step);
        splice.has_call_drag = 1;
    }
    status = cpt_path_splice(path, frame, has_path ? callee : NULL, &splice, &report);
    cpt_path_free(callee);
    if (status == CPT_OK && trace->spliced != NULL &&
        (has_path || report.overcount_ns != 0)) {
        trace->spliced(trace->context, call, report.overcount_ns,
                       has_path ? report.undercount_ns : 0, report.is_inconsistent);
    }
    return status;
}

/* Appends the time of a call below its @frame. */
static cpt_status append_outcome(struct cpti_steps *steps, struct cpt_path *path,
                                 uint32_t frame, const struct cpti_step *step)
{
    switch (step->of.call->outcome) {
    case CPT_CALL_LOCAL:
    case CPT_CALL_LOCK:
        return cpti_path_push(path, frame, step->duration_ns);
    case CPT_CALL_TIMEOUT:
        return append_kind(path, frame, CPT_KIND_TIMEOUT, step->duration_ns);
    case CPT_CALL_KIND:
        return append_kind(path, frame, step->of.call->kind, step->duration_ns);
    default:
        return append_remote(steps, path, frame, step);
    }
}

static cpt_status append_call(struct cpti_steps *steps, struct cpt_path *path,
                              const struct cpti_step *step)
{
    struct cpt_trace_call *call = step->of.call;
    const bool is_lock = call->outcome == CPT_CALL_LOCK;
    uint32_t frame = 0;
    cpt_status status = task_frame(steps, path, call->issuer, &frame);

    if (status != CPT_OK) {
        return status;
    }
    if (step->kind == CPTI_STEP_CALL_QUEUE) {
        return append_call_queue(path, frame, step);
    }
    /* a callee never shares its caller's frame, even if it has no name */
    if (call->name.bytes != 0 || is_lock || call->outcome == CPT_CALL_REMOTE) {
        status = cpt_path_frame_add(path, frame, call->name,
                                    is_lock ? CPT_KIND_LOCK : CPT_KIND_WORK, &frame);
        if (status != CPT_OK) {
            return status;
        }
    }
    status = append_outcome(steps, path, frame, step);
    if (status == CPT_OK && call->attempt != 0) {
        status = cpt_path_label_number(path, CPT_LABEL_ATTEMPT, call->attempt);
    }
    if (status != CPT_OK) {
        return status;
    }
    status = label_name(path, CPT_LABEL_STATUS, call->status);
    return status == CPT_OK ? label_holder(path, call->holder, call->holder_request)
                            : status;
}

static cpt_status append_step(struct cpti_steps *steps, struct cpt_path *path,
                              const struct cpti_step *step)
{
    uint32_t frame = ENTRY_FRAME;
    cpt_status status = CPT_OK;

    if (step->kind == CPTI_STEP_CALL || step->kind == CPTI_STEP_CALL_QUEUE) {
        return append_call(steps, path, step);
    }
    status = task_frame(steps, path, step->of.task, &frame);
    if (status != CPT_OK) {
        return status;
    }
    switch (step->kind) {
    case CPTI_STEP_SELF:
        return append_self(path, frame, step);
    case CPTI_STEP_QUEUE:
        return append_queue(path, frame, step);
    case CPTI_STEP_UNKNOWN:
        return append_kind(path, frame, CPT_KIND_UNATTRIBUTED, step->duration_ns);
    default:
        return append_kind(path, frame, CPT_KIND_ACCEPT_QUEUE, step->duration_ns);
    }
}

/* --- Drags --- */

/* Measures the steps, into @drags, of as many elements. */
static cpt_status measure_drags(const struct cpti_steps *steps,
                                struct cpti_drag_step *drags)
{
    uint64_t end_ns = steps->trace->response_ns;

    for (size_t i = 0; i < steps->count; i++) {
        const struct cpti_step *step = &steps->all[i];
        struct cpti_drag_step *drag = &drags[steps->count - 1 - i];

        drag->is_call =
            step->kind == CPTI_STEP_CALL || step->kind == CPTI_STEP_CALL_QUEUE;
        drag->record = drag->is_call ? (const void *)step->of.call : step->of.task;
        drag->is_known = step->kind != CPTI_STEP_UNKNOWN;
        drag->end_ns = end_ns;
        drag->begin_ns = end_ns - step->duration_ns;
        end_ns = drag->begin_ns;
    }
    return cpti_drags_of(steps->trace->drags, drags, steps->count);
}

/* Sets the drags of the segments from @first on, which are those of @step. A callee's
 * have theirs. */
static cpt_status set_drags(const struct cpti_steps *steps, struct cpt_path *path,
                            const struct cpti_step *step, size_t first)
{
    const uint64_t drag_ns = drag_of(steps, step);
    cpt_status status = CPT_OK;

    if (drag_ns == CPT_DRAG_UNKNOWN ||
        (step->kind == CPTI_STEP_CALL &&
         (step->of.call->outcome == CPT_CALL_REMOTE ||
          step->of.call->outcome == CPT_CALL_COMPONENT))) {
        return CPT_OK;
    }
    for (size_t i = first; i < path->segment_count && status == CPT_OK; i++) {
        const uint64_t duration_ns = path->segments[i].duration_ns;

        status =
            cpt_path_drag_set(path, i, drag_ns < duration_ns ? drag_ns : duration_ns);
    }
    return status;
}

static cpt_status append_steps(struct cpti_steps *steps)
{
    struct cpt_path *path = steps->path;
    cpt_status status = CPT_OK;

    for (size_t i = steps->count; i-- > 0 && status == CPT_OK;) {
        const struct cpti_step *step = &steps->all[i];
        const size_t first = path->segment_count;

        status = append_step(steps, path, step);
        if (step->has_margin && status == CPT_OK) {
            status = cpt_path_label_number(path, CPT_LABEL_MARGIN, step->margin_ns);
        }
        if (steps->drags != NULL && status == CPT_OK) {
            status = set_drags(steps, path, step, first);
        }
    }
    return status;
}

/* The same, with drags. */
static cpt_status append_with_drags(struct cpti_steps *steps)
{
    struct cpti_drag_step *drags =
        cpt_alloc_array(steps->alloc, NULL, steps->count + 1, sizeof *drags);
    cpt_status status = drags != NULL ? measure_drags(steps, drags) : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        steps->drags = drags;
        status = append_steps(steps);
        steps->drags = NULL;
    }
    cpt_alloc_free(steps->alloc, drags);
    return status;
}

cpt_status cpti_steps_append(struct cpti_steps *steps)
{
    struct cpt_path *path = steps->path;
    const size_t room =
        path->segment_count < path->folds_at ? path->folds_at - path->segment_count : 0;
    uint32_t entry = ENTRY_FRAME;
    cpt_status status = cpt_path_frame_add(path, CPT_FRAME_NONE, steps->trace->entry,
                                           CPT_KIND_WORK, &entry);

    if (status != CPT_OK) {
        return status;
    }
    assert(entry == ENTRY_FRAME);
    status = cpti_path_reserve(path, steps->count < room ? steps->count : room);
    /* of an unordered path only a part of the steps is here at a time */
    if (status == CPT_OK) {
        status = steps->trace->drags != NULL && (path->flags & CPT_PATH_UNORDERED) == 0
                     ? append_with_drags(steps)
                     : append_steps(steps);
    }
    steps->count = 0;
    if (steps->trace->dropped_event_count != 0) {
        cpt_path_flags_add(path, CPT_PATH_INCOMPLETE);
    }
    return status;
}
