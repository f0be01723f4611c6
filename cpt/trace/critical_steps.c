/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * critical_steps.c - the steps of a walk become the segments of a path
 *
 * A task stands below the task that started it, with the sub-graphs between them; a
 * call below the task that issued it; a callee's path below its call. A frame is looked
 * up once: later by the place of its name, which tasks of one name mostly share, or by
 * the index that a task below another one keeps.
 */
#include "cpt/trace/critical_steps.h"

#include "cpt/dag/drag.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

/* The entry frame is the first one of the path. */
enum { ENTRY_FRAME = 0 };

/* Of a short path no frame is known: to remember them costs more than to look for them
 * again. */
static const unsigned char no_slots[CPTI_KNOWN_SLOTS];

static void know_frames(struct cpti_steps *steps)
{
    memset(steps->known_slots, 0, sizeof steps->known_slots);
    steps->known_count = 0;
    steps->slots = steps->known_slots;
}

/* --- The list --- */

static void use_block(struct cpti_steps *steps, struct cpti_block *block)
{
    steps->block = block;
    steps->next = block->begin;
    steps->end = block->end;
}

void cpti_steps_init(struct cpti_steps *steps, const struct cpt_alloc *alloc,
                     const struct cpt_trace *trace, struct cpt_path *path,
                     struct cpt_error *error)
{
    static atomic_uint_least64_t walks;

    steps->alloc = alloc;
    steps->trace = trace;
    steps->path = path;
    steps->error = error;
    steps->drag_ns = CPT_DRAG_UNKNOWN;
    steps->mark = 2 + 2 * atomic_fetch_add_explicit(&walks, 1, memory_order_relaxed);
    steps->has_hooks = trace->open_task != NULL || trace->measures_off_cpu;
    steps->first_block =
        (struct cpti_block){NULL, steps->first, steps->first + CPTI_FIRST_STEPS};
    use_block(steps, &steps->first_block);
    steps->slots = no_slots;
    steps->known[0].name = (struct cpt_bytes){NULL, SIZE_MAX}; /* of no frame */
    steps->known[0].below = 0;
}

void cpti_steps_empty(struct cpti_steps *steps)
{
    while (steps->block->before != NULL) {
        struct cpti_block *block = steps->block;

        steps->block = block->before;
        cpt_alloc_free(steps->alloc, block);
    }
    use_block(steps, steps->block);
}

static size_t count_steps(const struct cpti_steps *steps)
{
    size_t count = (size_t)(steps->next - steps->block->begin);

    for (const struct cpti_block *block = steps->block->before; block != NULL;
         block = block->before) {
        count += (size_t)(block->end - block->begin);
    }
    return count;
}

cpt_status cpti_steps_grow(struct cpti_steps *steps)
{
    const size_t limit = steps->path->folds_at;
    const size_t full = count_steps(steps);
    size_t count = 4 * (size_t)(steps->end - steps->block->begin);
    struct cpti_block *block = NULL;

    if (full >= limit) {
        cpt_path_flags_add(steps->path, CPT_PATH_UNORDERED);
        return cpti_steps_append(steps);
    }
    count = count < limit - full ? count : limit - full;
    block = cpt_alloc_array(steps->alloc, NULL, 1,
                            sizeof *block + count * sizeof *block->begin);
    if (block == NULL) {
        return CPT_NO_MEMORY;
    }
    block->before = steps->block;
    block->begin = (struct cpti_step *)(block + 1);
    block->end = block->begin + count;
    use_block(steps, block);
    return CPT_OK;
}

cpt_status cpti_steps_open(const struct cpti_steps *steps, struct cpt_trace_task *task)
{
    const struct cpt_trace *trace = steps->trace;

    if (trace->open_task != NULL) {
        const cpt_status status = trace->open_task(trace->context, task);

        if (status != CPT_OK) {
            return status;
        }
    }
    task->walk_more = task->last_await;
    task->walk_more_ns = task->end_ns;
    return CPT_OK;
}

/* --- Frames --- */

static size_t slot_of(struct cpt_bytes name, uint64_t below)
{
    return ((uintptr_t)name.data + below) * 0xbf58476d1ce4e5b9U >> 56;
}

/* One test in place of three: the usual frame is that. */
static inline bool is_known(const struct cpti_known_frame *known, struct cpt_bytes name,
                            uint64_t below)
{
    return (((uintptr_t)known->name.data ^ (uintptr_t)name.data) |
            (known->name.bytes ^ name.bytes) | (known->below ^ below)) == 0;
}

/* As frame_add(), if the frame is not the first that is known at its slot. */
static __attribute__((noinline)) cpt_status search_frame(struct cpti_steps *steps,
                                                         uint32_t parent,
                                                         struct cpt_bytes name,
                                                         unsigned kind, uint32_t *frame)
{
    const uint64_t below = (uint64_t)kind << 32 | parent;
    size_t slot = slot_of(name, below);
    cpt_status status = CPT_OK;

    for (; steps->slots[slot] != 0; slot = (slot + 1) % CPTI_KNOWN_SLOTS) {
        const struct cpti_known_frame *known = &steps->known[steps->slots[slot]];

        if (is_known(known, name, below)) {
            *frame = known->frame;
            return CPT_OK;
        }
    }
    status = cpt_path_frame_add(steps->path, parent, name, kind, frame);
    if (status != CPT_OK || steps->slots != steps->known_slots) {
        return status;
    }
    steps->known[++steps->known_count] = (struct cpti_known_frame){name, below, *frame};
    steps->known_slots[slot] = (unsigned char)steps->known_count;
    if (steps->known_count == CPTI_KNOWN_FRAMES) {
        know_frames(steps);
    }
    return CPT_OK;
}

/* Finds or adds a frame, as cpt_path_frame_add(). Of a long path, one that was found
 * lately needs no look at the bytes of its name. */
static inline cpt_status frame_add(struct cpti_steps *steps, uint32_t parent,
                                   struct cpt_bytes name, unsigned kind,
                                   uint32_t *frame)
{
    const uint64_t below = (uint64_t)kind << 32 | parent;
    const struct cpti_known_frame *known =
        &steps->known[steps->slots[slot_of(name, below)]];

    if (!is_known(known, name, below)) {
        return search_frame(steps, parent, name, kind, frame);
    }
    *frame = known->frame;
    return CPT_OK;
}

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
static cpt_status add_task_frame(struct cpti_steps *steps, uint32_t parent,
                                 struct cpt_trace_task *task)
{
    const struct cpt_trace_group *groups[CPT_PATH_DEPTH_MAX];
    size_t count = list_groups(task, groups);
    cpt_status status = CPT_OK;

    if (count != 0 && task->starter != NULL) {
        count -= count_shared(groups, count, task->starter);
    }
    while (count-- > 0 && status == CPT_OK) {
        status = frame_add(steps, parent, groups[count]->name, CPT_KIND_WORK, &parent);
    }
    if (status == CPT_OK && !task->has_no_frame) {
        status = frame_add(steps, parent, task->name, CPT_KIND_WORK, &parent);
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
static __attribute__((noinline)) cpt_status find_frames(struct cpti_steps *steps,
                                                        struct cpt_trace_task *task)
{
    struct cpt_trace_task *ring[CPT_PATH_DEPTH_MAX];
    struct cpt_trace_task *at = task;
    const struct cpt_trace_task *mark = NULL; /* moved at powers of 2; finds cycles */
    uint32_t frame = ENTRY_FRAME;
    size_t count = 0;
    cpt_status status = CPT_OK;

    for (; at != NULL; at = at->starter) {
        status = cpti_steps_meet(steps, at);
        if (status != CPT_OK) {
            return status;
        }
        if (at->walk_word != CPT_FRAME_NONE) {
            frame = at->walk_word;
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
        status = add_task_frame(steps, frame, at);
        frame = at->walk_word;
    }
    for (at = task; count > 0 && status == CPT_OK; count--) {
        at->walk_word = frame;
        at = at->starter;
    }
    return status;
}

/* As task_frame(), if the frame is not known by the name of @task. */
static __attribute__((noinline)) cpt_status
search_task_frame(struct cpti_steps *steps, struct cpt_trace_task *task,
                  uint32_t *frame)
{
    const bool is_below =
        task->starter != NULL || task->group != NULL || task->has_no_frame;
    cpt_status status = CPT_OK;

    if (!is_below && steps->slots == steps->known_slots) {
        return search_frame(steps, ENTRY_FRAME, task->name, CPT_KIND_WORK, frame);
    }
    if (task->walk_word == CPT_FRAME_NONE) {
        status = is_below ? find_frames(steps, task)
                          : cpt_path_frame_add(steps->path, ENTRY_FRAME, task->name,
                                               CPT_KIND_WORK, &task->walk_word);
    }
    *frame = task->walk_word;
    return status;
}

/* The frame of a task that the walk has met. */
static inline cpt_status task_frame(struct cpti_steps *steps,
                                    struct cpt_trace_task *task, uint32_t *frame)
{
    const uint64_t below = (uint64_t)CPT_KIND_WORK << 32 | ENTRY_FRAME;
    const struct cpti_known_frame *known =
        &steps->known[steps->slots[slot_of(task->name, below)]];
    uint32_t found = 0;
    cpt_status status = CPT_OK;

    *frame = known->frame;
    if (((uintptr_t)task->starter | (uintptr_t)task->group | task->has_no_frame) != 0 ||
        !is_known(known, task->name, below)) {
        status = search_task_frame(steps, task, &found);
        *frame = found;
    }
    return status;
}

/* Appends time of @kind, which is not work, below @parent. */
static cpt_status append_kind(struct cpti_steps *steps, uint32_t parent, unsigned kind,
                              uint64_t duration_ns)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    const cpt_status status = frame_add(steps, parent, none, kind, &frame);

    return status == CPT_OK ? cpti_path_push(steps->path, frame, duration_ns) : status;
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
static cpt_status append_call_queue(struct cpti_steps *steps, uint32_t parent,
                                    const struct cpti_step *step)
{
    struct cpt_path *path = steps->path;
    const cpt_status status =
        append_kind(steps, parent, CPT_KIND_QUEUE, step->duration_ns);

    return status == CPT_OK
               ? label_name(path, CPT_LABEL_EXECUTOR, step->of.call->executor)
               : status;
}

/* Appends the time of a task in the queue of its executor; labels say which task had
 * the worker, and how many waited. */
static cpt_status append_queue(struct cpti_steps *steps, uint32_t parent,
                               const struct cpti_step *step)
{
    struct cpt_path *path = steps->path;
    const struct cpt_trace_task *task = step->of.task;
    const struct cpt_trace_await *await = step->with.await;
    const uint32_t length = await != NULL ? await->queue_length : task->queue_length;
    cpt_status status = append_kind(steps, parent, CPT_KIND_QUEUE, step->duration_ns);

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

/* Appends the second part of a task's own time: what it spent off the CPU. */
static cpt_status append_off_cpu(struct cpti_steps *steps, uint32_t frame,
                                 const struct cpti_step *step)
{
    const struct cpt_trace_starved *starved = step->starved;
    cpt_status status =
        append_kind(steps, frame, CPT_KIND_OFF_CPU, step->with.off_cpu_ns);

    if (status != CPT_OK || starved == NULL) {
        return status;
    }
    status =
        cpt_path_label_number(steps->path, CPT_LABEL_RUN_DELAY, step->run_delay_ns);
    return status == CPT_OK && step->run_delay_ns != 0
               ? label_holder(steps->path, starved->culprit, starved->culprit_request)
               : status;
}

/* Appends a task's own time: what it computed, then what it spent off the CPU. */
static inline cpt_status append_self(struct cpti_steps *steps,
                                     const struct cpti_step *step)
{
    uint32_t frame = 0;
    cpt_status status = task_frame(steps, step->of.task, &frame);

    if (status != CPT_OK || step->with.off_cpu_ns == 0) {
        return status == CPT_OK ? cpti_path_push(steps->path, frame, step->duration_ns)
                                : status;
    }
    status = cpt_path_append_ns(steps->path, frame,
                                step->duration_ns - step->with.off_cpu_ns);
    return status == CPT_OK ? append_off_cpu(steps, frame, step) : status;
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
    if (steps->drag_ns != CPT_DRAG_UNKNOWN) {
        splice.call_drag_ns = steps->drag_ns;
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
        return append_kind(steps, frame, CPT_KIND_TIMEOUT, step->duration_ns);
    case CPT_CALL_KIND:
        return append_kind(steps, frame, step->of.call->kind, step->duration_ns);
    default:
        return append_remote(steps, path, frame, step);
    }
}

static __attribute__((noinline)) cpt_status append_call(struct cpti_steps *steps,
                                                        const struct cpti_step *step)
{
    struct cpt_path *path = steps->path;
    struct cpt_trace_call *call = step->of.call;
    const bool is_lock = call->outcome == CPT_CALL_LOCK;
    uint32_t frame = ENTRY_FRAME;
    cpt_status status =
        call->issuer != NULL ? cpti_steps_meet(steps, call->issuer) : CPT_OK;

    if (status == CPT_OK && call->issuer != NULL) {
        status = task_frame(steps, call->issuer, &frame);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (step->kind == CPTI_STEP_CALL_QUEUE) {
        return append_call_queue(steps, frame, step);
    }
    /* a callee never shares its caller's frame, even if it has no name */
    if (call->name.bytes != 0 || is_lock || call->outcome == CPT_CALL_REMOTE) {
        status = frame_add(steps, frame, call->name,
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

/* Appends a step that is not a task's own time. */
static __attribute__((noinline)) cpt_status append_other(struct cpti_steps *steps,
                                                         const struct cpti_step *step)
{
    uint32_t frame = ENTRY_FRAME;
    cpt_status status = CPT_OK;

    if (step->kind == CPTI_STEP_CALL || step->kind == CPTI_STEP_CALL_QUEUE) {
        return append_call(steps, step);
    }
    if (step->of.task != NULL) {
        status = task_frame(steps, step->of.task, &frame);
        if (status != CPT_OK) {
            return status;
        }
    }
    switch (step->kind) {
    case CPTI_STEP_QUEUE:
        return append_queue(steps, frame, step);
    case CPTI_STEP_ENTRY:
        return cpti_path_push(steps->path, frame, step->duration_ns);
    case CPTI_STEP_UNKNOWN:
        return append_kind(steps, frame, CPT_KIND_UNATTRIBUTED, step->duration_ns);
    default:
        return append_kind(steps, frame, CPT_KIND_ACCEPT_QUEUE, step->duration_ns);
    }
}

/* Appends one step, and its margin. */
static inline cpt_status append_step(struct cpti_steps *steps,
                                     const struct cpti_step *step)
{
    const cpt_status status = step->kind == CPTI_STEP_SELF ? append_self(steps, step)
                                                           : append_other(steps, step);

    return status == CPT_OK && step->margin_ns != CPTI_NO_MARGIN
               ? cpt_path_label_number(steps->path, CPT_LABEL_MARGIN, step->margin_ns)
               : status;
}

/* --- All of them --- */

/* What follows @step in time, which is before it in @block, or the last of the block
 * before; NULL: nothing. */
static inline const struct cpti_step *step_after(const struct cpti_block **block,
                                                 const struct cpti_step *step)
{
    if (step == (*block)->begin) {
        *block = (*block)->before;
        if (*block == NULL) {
            return NULL;
        }
        step = (*block)->end;
    }
    return step - 1;
}

/* Measures the steps, into @drags, of as many elements. */
static cpt_status measure_drags(const struct cpti_steps *steps,
                                struct cpti_drag_step *drags)
{
    const struct cpti_block *block = steps->block;
    const struct cpti_step *step = steps->next;
    uint64_t begin_ns = steps->trace->arrival_ns;
    size_t count = 0;

    while ((step = step_after(&block, step)) != NULL) {
        struct cpti_drag_step *drag = &drags[count++];

        drag->is_call =
            step->kind == CPTI_STEP_CALL || step->kind == CPTI_STEP_CALL_QUEUE;
        drag->record = drag->is_call ? (const void *)step->of.call : step->of.task;
        drag->is_known = step->kind != CPTI_STEP_UNKNOWN;
        drag->begin_ns = begin_ns;
        drag->end_ns = begin_ns + step->duration_ns;
        begin_ns = drag->end_ns;
    }
    return cpti_drags_of(steps->trace->drags, drags, count);
}

/* Sets the drags of the segments from @first on, which are those of @step. A callee's
 * have theirs. */
static cpt_status set_drags(const struct cpti_steps *steps,
                            const struct cpti_step *step, size_t first)
{
    struct cpt_path *path = steps->path;
    cpt_status status = CPT_OK;

    if (step->kind == CPTI_STEP_CALL &&
        (step->of.call->outcome == CPT_CALL_REMOTE ||
         step->of.call->outcome == CPT_CALL_COMPONENT)) {
        return CPT_OK;
    }
    for (size_t i = first; i < path->segment_count && status == CPT_OK; i++) {
        const uint64_t duration_ns = path->segments[i].duration_ns;

        status = cpt_path_drag_set(
            path, i, steps->drag_ns < duration_ns ? steps->drag_ns : duration_ns);
    }
    return status;
}

static cpt_status append_steps(struct cpti_steps *steps)
{
    const struct cpti_block *block = steps->block;
    const struct cpti_step *step = steps->next;
    cpt_status status = CPT_OK;

    while (status == CPT_OK && (step = step_after(&block, step)) != NULL) {
        status = append_step(steps, step);
    }
    return status;
}

/* The same, with drags. */
static cpt_status append_with_drags(struct cpti_steps *steps)
{
    const struct cpti_block *block = steps->block;
    const struct cpti_step *step = steps->next;
    struct cpti_drag_step *drags =
        cpt_alloc_array(steps->alloc, NULL, count_steps(steps) + 1, sizeof *drags);
    cpt_status status = drags != NULL ? measure_drags(steps, drags) : CPT_NO_MEMORY;

    for (size_t i = 0; status == CPT_OK && (step = step_after(&block, step)) != NULL;
         i++) {
        const size_t first = steps->path->segment_count;

        steps->drag_ns = drags[i].drag_ns;
        status = append_step(steps, step);
        if (status == CPT_OK && steps->drag_ns != CPT_DRAG_UNKNOWN) {
            status = set_drags(steps, step, first);
        }
    }
    steps->drag_ns = CPT_DRAG_UNKNOWN;
    cpt_alloc_free(steps->alloc, drags);
    return status;
}

cpt_status cpti_steps_append(struct cpti_steps *steps)
{
    struct cpt_path *path = steps->path;
    const size_t count = count_steps(steps);
    const size_t room =
        path->segment_count < path->folds_at ? path->folds_at - path->segment_count : 0;
    uint32_t entry = ENTRY_FRAME;
    cpt_status status = cpt_path_frame_add(path, CPT_FRAME_NONE, steps->trace->entry,
                                           CPT_KIND_WORK, &entry);

    if (status != CPT_OK) {
        return status;
    }
    assert(entry == ENTRY_FRAME);
    if (count > CPTI_FIRST_STEPS) {
        know_frames(steps);
    }
    status = cpti_path_reserve(path, count < room ? count : room);
    /* of an unordered path only a part of the steps is here at a time */
    if (status == CPT_OK) {
        status = steps->trace->drags != NULL && (path->flags & CPT_PATH_UNORDERED) == 0
                     ? append_with_drags(steps)
                     : append_steps(steps);
    }
    cpti_steps_empty(steps);
    if (steps->trace->dropped_event_count != 0) {
        cpt_path_flags_add(path, CPT_PATH_INCOMPLETE);
    }
    return status;
}
