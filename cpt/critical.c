/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * critical.c - from a trace to the path that held the request up
 *
 * We begin at the task that answered, at the moment of the response, and walk
 * backwards. `task` and `cur` are the whole state. Of the task's waits that were over
 * by then and really blocked it, the latest explains the time before its resume:
 *
 *      task  start ====== block ............ resume ===== cur
 *      call         issue ------------ arrive
 *            then   [ the call's path ][queue][  self   ]
 *
 * From a call we go on in the task that issued it, at the issue: what the task computed
 * while the call was outstanding did not hold the request up, and is off the path. From
 * an awaited task we go on in that task; its own beginning leads back to whoever
 * started it. Where no wait explains it, the task computed since its start, queued
 * since it was ready, and was made ready by its unblocker: we go there.
 *
 * Why it is right: each turn explains the time up to `cur` and goes on at the place
 * where what held us up itself began, so the pieces join without a gap and telescope to
 * response - arrival. No chain of dependencies can be longer than the latency, so the
 * path is a longest one. (A backward walk of this sort: docs/model.md.)
 *
 * Each boundary is clamped to the one emitted before it: a stamp taken early, or on
 * another core, makes a segment shorter, never negative, and opens no gap. For the same
 * reason a wait counts as over if it began before `cur`, not if it ended before: the
 * two differ only where a stamp is wrong. Waits for what had come by the block did not
 * block (a reply that was already there), though the task may have queued to go on.
 *
 * With CPT_ATTRIBUTE_BLOCKED an await explains [block, arrive] only. What is then
 * walked has a floor, the block; at the floor we return to the task that waited. Floors
 * rise inwards, so they are a stack in an array, never recursion. A task that a floor
 * cut off may be met again below the floor, so what lies below is not used up.
 *
 * Termination: a task's beginning is passed once and each await once; a second time
 * means that the records lead in a circle, which is reported.
 *
 * Where the tasks' steps say how long no processor ran them, a piece [a, b] of a step
 * of L ns that was off for F takes floor(F b / L) - floor(F a / L) of it: the pieces of
 * a step telescope to F, and none is off for longer than it lasts. As the walk goes
 * back through a task only once, so does a cursor over its steps.
 *
 * A join's margin to its runner-up stands on the segment that ends at the join, which
 * is that of the input that came last: it could be so much shorter before somebody else
 * held the request up.
 *
 * The steps are noted backwards and turned into segments forwards. Cost: one step a
 * segment.
 */
#include "cpt/cpt_trace.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <string.h>

/* The entry frame is the first one of the path. */
enum { ENTRY_FRAME = 0 };

enum step_kind {
    STEP_SELF,
    STEP_QUEUE,
    STEP_CALL,
    STEP_CALL_QUEUE,
    STEP_UNKNOWN,
    STEP_ACCEPT_QUEUE
};

struct step {
    enum step_kind kind;
    int has_margin;
    struct cpt_trace_task *task; /* of SELF and QUEUE; NULL: the entry itself */
    struct cpt_trace_call *call; /* of CALL and CALL_QUEUE */
    uint64_t duration_ns;
    uint64_t margin_ns;
    uint64_t skip_ns; /* of CALL: left out of its front, as it was before the block */
    uint64_t off_cpu_ns;              /* of SELF */
    const struct cpt_bytes *occupant; /* of QUEUE */
};

/* A wait whose inside we are walking; at floor_ns we come back to the task. */
struct floor {
    struct cpt_trace_task *task;
    uint64_t floor_ns;
};

struct walk {
    const struct cpt_alloc *alloc;
    const struct cpt_trace *trace;
    struct cpt_error *error;
    struct step *steps;
    size_t step_count;
    size_t step_capacity;
    struct floor *floors;
    size_t floor_count;
    size_t floor_capacity;
    struct cpt_trace_task *touched; /* whose scratch has to be cleared; by walk_next */
    struct cpt_trace_task *task;
    uint64_t cur_ns;
    uint64_t begin_ns;  /* the walk ends here: the request was taken up */
    uint64_t margin_ns; /* of the join at cur, if has_margin */
    int has_margin;
};

/* How far the walk knows a task. */
enum { WALK_NEW = 0, WALK_SEEN = 1, WALK_BEGAN = 2 };

static uint64_t floor_ns(const struct walk *walk)
{
    return walk->floor_count != 0 ? walk->floors[walk->floor_count - 1].floor_ns
                                  : walk->begin_ns;
}

/* The part of @off_ns in the first @part_ns of a step of @whole_ns. */
static uint64_t share_of(uint64_t off_ns, uint64_t part_ns, uint64_t whole_ns)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)off_ns * part_ns / whole_ns);
}

/* How long no processor ran @task from @from_ns to cur: of each step what falls in it.
 */
static uint64_t off_cpu_ns(const struct walk *walk, struct cpt_trace_task *task,
                           uint64_t from_ns)
{
    const uint64_t to_ns = walk->cur_ns;
    uint64_t sum_ns = 0;

    for (;;) {
        struct cpt_trace_await *step = task->walk_step;
        const uint64_t begin_ns = step != NULL ? step->resume_ns : task->start_ns;
        const uint64_t end_ns = task->walk_step_end_ns;
        const uint64_t low_ns = begin_ns > from_ns ? begin_ns : from_ns;
        const uint64_t high_ns = end_ns < to_ns ? end_ns : to_ns;
        uint64_t off_ns = step != NULL ? step->off_cpu_ns : task->off_cpu_ns;

        if (off_ns != 0 && low_ns < high_ns) {
            const uint64_t whole_ns = end_ns - begin_ns;

            off_ns = off_ns < whole_ns ? off_ns : whole_ns;
            sum_ns += share_of(off_ns, high_ns - begin_ns, whole_ns) -
                      share_of(off_ns, low_ns - begin_ns, whole_ns);
        }
        if (step == NULL || begin_ns <= from_ns) {
            break; /* what is left of this step may be walked later */
        }
        task->walk_step_end_ns = step->block_ns;
        task->walk_step = step->previous;
    }
    return sum_ns < to_ns - from_ns ? sum_ns : to_ns - from_ns;
}

/* Explains the time from @from_ns to cur, and moves cur there. */
static cpt_status emit(struct walk *walk, struct step step, uint64_t from_ns)
{
    cpt_status status = CPT_OK;
    const uint64_t lowest_ns = floor_ns(walk);

    if (from_ns < lowest_ns) {
        from_ns = lowest_ns;
    }
    if (from_ns >= walk->cur_ns) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(walk->alloc, (void **)&walk->steps, &walk->step_capacity,
                            walk->step_count + 1, CPT_PATH_SEGMENTS_MAX, sizeof step);
    if (status != CPT_OK) {
        return status;
    }
    if (step.kind == STEP_SELF && step.task != NULL && walk->trace->measures_off_cpu) {
        step.off_cpu_ns = off_cpu_ns(walk, step.task, from_ns);
    }
    step.duration_ns = walk->cur_ns - from_ns;
    step.margin_ns = walk->margin_ns;
    step.has_margin = walk->has_margin;
    walk->steps[walk->step_count++] = step;
    walk->cur_ns = from_ns;
    walk->has_margin = 0;
    return CPT_OK;
}

/* Notes the margin of a join at cur; of several at one time the smallest counts. */
static void note_margin(struct walk *walk, int has_margin, uint64_t margin_ns)
{
    if (has_margin && (!walk->has_margin || margin_ns < walk->margin_ns)) {
        walk->has_margin = 1;
        walk->margin_ns = margin_ns;
    }
}

static int is_at_floor(const struct walk *walk)
{
    return walk->cur_ns <= floor_ns(walk);
}

/* The walk has come to @task: opens it, unless it has been there before. */
static cpt_status touch(struct walk *walk, struct cpt_trace_task *task)
{
    const struct cpt_trace *trace = walk->trace;

    if (task->walk_state != WALK_NEW) {
        return CPT_OK;
    }
    if (trace->open_task != NULL) {
        const cpt_status status = trace->open_task(trace->context, task);

        if (status != CPT_OK) {
            return status;
        }
    }
    task->walk_state = WALK_SEEN;
    task->walk_await = task->last_await;
    task->walk_step = task->last_await;
    task->walk_step_end_ns = task->end_ns;
    task->walk_frame = CPT_FRAME_NONE;
    task->walk_next = walk->touched;
    walk->touched = task;
    return CPT_OK;
}

/* Whether nothing had to be waited for, not even a worker to go on. */
static int has_not_waited(const struct cpt_trace_await *await)
{
    return await->arrive_ns <= await->block_ns &&
           (await->resume_ns <= await->block_ns || await->resume_ns == UINT64_MAX);
}

/* The latest await of the task that explains time before cur, or NULL. */
static struct cpt_trace_await *latest_await(const struct walk *walk)
{
    struct cpt_trace_task *task = walk->task;
    struct cpt_trace_await *await = task->walk_await;

    while (await != NULL &&
           (await->block_ns >= walk->cur_ns || has_not_waited(await))) {
        await = await->previous;
    }
    task->walk_await = await;
    return await;
}

/* With blocked attribution: what follows is walked down to @block_ns only. */
static cpt_status push_floor(struct walk *walk, uint64_t block_ns)
{
    cpt_status status = CPT_OK;

    if (walk->trace->attribution != CPT_ATTRIBUTE_BLOCKED ||
        block_ns <= floor_ns(walk)) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(walk->alloc, (void **)&walk->floors, &walk->floor_capacity,
                            walk->floor_count + 1, CPT_PATH_SEGMENTS_MAX,
                            sizeof *walk->floors);
    if (status == CPT_OK) {
        walk->floors[walk->floor_count++] = (struct floor){walk->task, block_ns};
    }
    return status;
}

/* When the call left its queue. What timed out is ‹timeout› all the time. */
static uint64_t sent_ns(const struct cpt_trace_call *call)
{
    return call->outcome != CPT_CALL_TIMEOUT && call->sent_ns > call->issue_ns
               ? call->sent_ns
               : call->issue_ns;
}

/*
 * The call from its issue to its arrival, then on in the task that issued it. With
 * blocked attribution we stay in the task that waited, unless the call was issued (by
 * another task) after the block: then that task comes first, down to the block.
 */
static cpt_status walk_call(struct walk *walk, const struct cpt_trace_await *await)
{
    struct cpt_trace_call *call = await->call;
    struct step step = {.kind = STEP_CALL, .call = call};
    const uint64_t begin_ns = sent_ns(call);
    uint64_t lowest_ns = floor_ns(walk);
    cpt_status status = CPT_OK;

    if (walk->trace->attribution == CPT_ATTRIBUTE_BLOCKED &&
        await->block_ns > lowest_ns) {
        lowest_ns = await->block_ns;
    }
    if (lowest_ns > begin_ns && lowest_ns < walk->cur_ns) {
        step.skip_ns = lowest_ns - begin_ns;
    }
    status = emit(walk, step, begin_ns > lowest_ns ? begin_ns : lowest_ns);
    if (status == CPT_OK) {
        step = (struct step){.kind = STEP_CALL_QUEUE, .call = call};
        status =
            emit(walk, step, call->issue_ns > lowest_ns ? call->issue_ns : lowest_ns);
    }
    if (status == CPT_OK && walk->cur_ns > lowest_ns) {
        status = push_floor(walk, await->block_ns);
        walk->task = call->issuer;
    }
    return status;
}

/* What the task did since it went on, its queueing before, and what released it. */
static cpt_status walk_await(struct walk *walk, struct cpt_trace_await *await)
{
    struct step step = {.kind = STEP_SELF, .task = walk->task};
    cpt_status status = emit(walk, step, await->resume_ns);

    if (status != CPT_OK || is_at_floor(walk)) {
        return status;
    }
    walk->task->walk_await = await->previous;
    step.kind = STEP_QUEUE;
    step.occupant = &await->occupant;
    status =
        emit(walk, step,
             await->arrive_ns > await->block_ns ? await->arrive_ns : await->block_ns);
    if (status != CPT_OK || is_at_floor(walk) || await->arrive_ns <= await->block_ns) {
        return status; /* it had come by the block: the task only queued to go on */
    }
    note_margin(walk, await->has_margin, await->margin_ns);
    if (await->call != NULL) {
        return walk_call(walk, await);
    }
    if (await->task == NULL) { /* lost; but at the block we know again */
        step.kind = STEP_UNKNOWN;
        return emit(walk, step, await->block_ns);
    }
    status = push_floor(walk, await->block_ns);
    walk->task = await->task;
    return status;
}

/* Back to the task whose wait we are inside of, as far as its block is reached. */
static void pop_floors(struct walk *walk)
{
    while (walk->floor_count != 0 && is_at_floor(walk)) {
        walk->task = walk->floors[--walk->floor_count].task;
    }
}

/* The beginning of the task: it computed since its start, and queued before. */
static cpt_status walk_beginning(struct walk *walk)
{
    struct cpt_trace_task *task = walk->task;
    const int is_first = task->begin == CPT_BEGIN_REQUEST;
    struct step step = {.kind = STEP_SELF, .task = task};
    cpt_status status = CPT_OK;

    if (task->walk_state == WALK_BEGAN) {
        return cpt_error_set(walk->error, CPT_CORRUPT, 0,
                             "the records lead in a circle through task \"%.*s\"",
                             (int)task->name.bytes, task->name.data);
    }
    status = emit(walk, step, task->start_ns);
    if (status == CPT_OK && task->begin == CPT_BEGIN_UNKNOWN) {
        step = (struct step){.kind = STEP_UNKNOWN};
        return emit(walk, step, walk->begin_ns);
    }
    if (status == CPT_OK) {
        step.kind = STEP_QUEUE;
        step.occupant = &task->occupant;
        status = emit(walk, step, is_first ? walk->begin_ns : task->ready_ns);
    }
    if (status == CPT_OK && !is_at_floor(walk)) {
        task->walk_state = WALK_BEGAN;
        note_margin(walk, task->has_margin, task->margin_ns);
        walk->task = task->unblocker;
    }
    return status;
}

/* The time before cur where no task is known: the entry's own if nothing was lost. */
static cpt_status walk_nothing(struct walk *walk)
{
    const int is_own =
        walk->trace->answered_by == NULL && walk->trace->dropped_event_count == 0;

    return emit(walk, (struct step){.kind = is_own ? STEP_SELF : STEP_UNKNOWN}, 0);
}

static cpt_status walk_backwards(struct walk *walk)
{
    const struct cpt_trace *trace = walk->trace;
    cpt_status status = CPT_OK;

    walk->task = trace->answered_by;
    walk->cur_ns = trace->response_ns;
    walk->begin_ns =
        trace->dispatch_ns > trace->arrival_ns ? trace->dispatch_ns : trace->arrival_ns;
    while (status == CPT_OK) {
        struct cpt_trace_await *await = NULL;

        pop_floors(walk);
        if (walk->cur_ns <= walk->begin_ns) {
            break;
        }
        if (walk->task == NULL) {
            status = walk_nothing(walk);
            continue;
        }
        status = touch(walk, walk->task);
        if (status != CPT_OK) {
            return status;
        }
        await = latest_await(walk);
        status = await != NULL ? walk_await(walk, await) : walk_beginning(walk);
    }
    if (status == CPT_OK) {
        walk->begin_ns = walk->trace->arrival_ns;
        status = emit(walk, (struct step){.kind = STEP_ACCEPT_QUEUE}, walk->begin_ns);
    }
    return status;
}

/* Whether @task lies in @group or in one of its sub-graphs. */
static int lies_in(const struct cpt_trace_task *task,
                   const struct cpt_trace_group *group)
{
    const struct cpt_trace_group *own = task != NULL ? task->group : NULL;

    for (size_t i = 0; own != NULL && i < CPT_PATH_DEPTH_MAX; i++) {
        if (own == group) {
            return 1;
        }
        own = own->parent;
    }
    return 0;
}

/* The frame of @task below @parent: the sub-graphs that its starter does not lie in
 * too, and itself. */
static cpt_status add_task_frame(struct cpt_path *path, uint32_t parent,
                                 struct cpt_trace_task *task)
{
    const struct cpt_trace_group *groups[CPT_PATH_DEPTH_MAX];
    const struct cpt_trace_group *group = task->group;
    size_t group_count = 0;
    cpt_status status = CPT_OK;

    while (group != NULL && group_count < CPT_PATH_DEPTH_MAX &&
           !lies_in(task->starter, group)) {
        groups[group_count++] = group;
        group = group->parent;
    }
    while (group_count-- > 0 && status == CPT_OK) {
        status = cpt_path_frame_add(path, parent, groups[group_count]->name,
                                    CPT_KIND_WORK, &parent);
    }
    if (status == CPT_OK) {
        status = cpt_path_frame_add(path, parent, task->name, CPT_KIND_WORK, &parent);
    }
    if (status == CPT_OK) {
        task->walk_frame = parent;
    }
    return status;
}

/*
 * The frame of @task: below the task that started it, else below the entry. We go up to
 * the first starter whose frame is known and come down adding. Of more than
 * CPT_PATH_DEPTH_MAX only the uppermost matter: a ring keeps those, and all further
 * down share the deepest frame.
 */
static cpt_status task_frame(struct walk *walk, struct cpt_path *path,
                             struct cpt_trace_task *task, uint32_t *frame)
{
    struct cpt_trace_task *ring[CPT_PATH_DEPTH_MAX];
    struct cpt_trace_task *at = task;
    const struct cpt_trace_task *mark = NULL; /* moved at powers of 2; finds circles */
    size_t count = 0;
    cpt_status status = CPT_OK;

    *frame = ENTRY_FRAME;
    for (; at != NULL; at = at->starter) {
        status = touch(walk, at);
        if (status != CPT_OK) {
            return status;
        }
        if (at->walk_frame != CPT_FRAME_NONE) {
            *frame = at->walk_frame;
            break;
        }
        if (at == mark) {
            return cpt_error_set(walk->error, CPT_CORRUPT, 0,
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
        *frame = at->walk_frame;
    }
    for (at = task; count > 0 && status == CPT_OK; count--) {
        at->walk_frame = *frame;
        at = at->starter;
    }
    return status;
}

/* Time that is nobody's work, of @kind, below @parent. */
static cpt_status append_kind(struct cpt_path *path, uint32_t parent, unsigned kind,
                              uint64_t duration_ns)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    const cpt_status status = cpt_path_frame_add(path, parent, none, kind, &frame);

    return status == CPT_OK ? cpt_path_append_ns(path, frame, duration_ns) : status;
}

/* A label on the last segment, if there is anything to say. */
static cpt_status label_name(struct cpt_path *path, unsigned key, struct cpt_bytes name)
{
    return name.bytes != 0 ? cpt_path_label_name(path, key, name) : CPT_OK;
}

/* Time in the queue of @executor, while @occupant had the worker. */
static cpt_status append_queue(struct cpt_path *path, uint32_t parent,
                               const struct step *step, struct cpt_bytes executor)
{
    cpt_status status = append_kind(path, parent, CPT_KIND_QUEUE, step->duration_ns);

    if (status == CPT_OK) {
        status = label_name(path, CPT_LABEL_EXECUTOR, executor);
    }
    if (status == CPT_OK && step->occupant != NULL) {
        status = label_name(path, CPT_LABEL_HOLDER, *step->occupant);
    }
    return status;
}

/* A task's own time: what it computed, and what no processor ran it. */
static cpt_status append_self(struct cpt_path *path, uint32_t frame,
                              const struct step *step)
{
    const cpt_status status =
        cpt_path_append_ns(path, frame, step->duration_ns - step->off_cpu_ns);

    if (status != CPT_OK || step->off_cpu_ns == 0) {
        return status;
    }
    return append_kind(path, frame, CPT_KIND_OFF_CPU, step->off_cpu_ns);
}

/* An RPC: the path of its callee if there is one, else a blind spot. */
static cpt_status append_remote(struct walk *walk, struct cpt_path *path,
                                uint32_t frame, const struct step *step)
{
    const struct cpt_trace *trace = walk->trace;
    struct cpt_trace_call *call = step->call;
    struct cpt_splice splice = {.observed_ns = step->duration_ns + step->skip_ns,
                                .skip_ns = step->skip_ns,
                                .overcount = trace->overcount};
    struct cpt_splice_report report = {0};
    struct cpt_path *callee = NULL;
    cpt_status status = CPT_OK;
    int has_path = 0;

    if (trace->open_callee != NULL && call->reply != NULL) {
        callee = cpt_path_new(walk->alloc);
        if (callee == NULL) {
            return CPT_NO_MEMORY;
        }
        has_path = trace->open_callee(trace->context, call, callee) == CPT_OK;
    }
    splice.server_elapsed_ns = call->server_elapsed_ns;
    splice.has_server_elapsed = call->has_server_elapsed;
    splice.reason = call->reason;
    status = cpt_path_splice(path, frame, has_path ? callee : NULL, &splice, &report);
    cpt_path_free(callee);
    if (status == CPT_OK && trace->spliced != NULL &&
        (has_path || report.overcount_ns != 0)) {
        trace->spliced(trace->context, call, report.overcount_ns,
                       has_path ? report.undercount_ns : 0, report.is_inconsistent);
    }
    return status;
}

/* What the time of a call was, below its frame. */
static cpt_status append_outcome(struct walk *walk, struct cpt_path *path,
                                 uint32_t frame, const struct step *step)
{
    switch (step->call->outcome) {
    case CPT_CALL_LOCAL:
    case CPT_CALL_LOCK:
        return cpt_path_append_ns(path, frame, step->duration_ns);
    case CPT_CALL_TIMEOUT:
        return append_kind(path, frame, CPT_KIND_TIMEOUT, step->duration_ns);
    case CPT_CALL_KIND:
        return append_kind(path, frame, step->call->kind, step->duration_ns);
    default:
        return append_remote(walk, path, frame, step);
    }
}

static cpt_status append_call(struct walk *walk, struct cpt_path *path,
                              const struct step *step)
{
    struct cpt_trace_call *call = step->call;
    const int is_lock = call->outcome == CPT_CALL_LOCK;
    uint32_t frame = 0;
    cpt_status status = task_frame(walk, path, call->issuer, &frame);

    if (status == CPT_OK && step->kind == STEP_CALL_QUEUE) {
        return append_queue(path, frame, step, call->executor);
    }
    /* a callee never stands in its caller's own frame, not even one without a name */
    if (status == CPT_OK &&
        (call->name.bytes != 0 || is_lock || call->outcome == CPT_CALL_REMOTE)) {
        status = cpt_path_frame_add(path, frame, call->name,
                                    is_lock ? CPT_KIND_LOCK : CPT_KIND_WORK, &frame);
    }
    if (status == CPT_OK) {
        status = append_outcome(walk, path, frame, step);
    }
    if (status == CPT_OK && call->attempt != 0) {
        status = cpt_path_label_number(path, CPT_LABEL_ATTEMPT, call->attempt);
    }
    if (status == CPT_OK) {
        status = label_name(path, CPT_LABEL_STATUS, call->status);
    }
    return status == CPT_OK ? label_name(path, CPT_LABEL_HOLDER, call->holder) : status;
}

static cpt_status append_step(struct walk *walk, struct cpt_path *path,
                              const struct step *step)
{
    const int is_call = step->kind == STEP_CALL || step->kind == STEP_CALL_QUEUE;
    uint32_t frame = ENTRY_FRAME;
    cpt_status status = is_call ? append_call(walk, path, step)
                                : task_frame(walk, path, step->task, &frame);

    if (status == CPT_OK && step->kind == STEP_SELF) {
        status = append_self(path, frame, step);
    } else if (status == CPT_OK && step->kind == STEP_QUEUE) {
        status = append_queue(path, frame, step, step->task->executor);
    } else if (status == CPT_OK && step->kind == STEP_UNKNOWN) {
        status = append_kind(path, frame, CPT_KIND_UNATTRIBUTED, step->duration_ns);
    } else if (status == CPT_OK && step->kind == STEP_ACCEPT_QUEUE) {
        status = append_kind(path, frame, CPT_KIND_ACCEPT_QUEUE, step->duration_ns);
    }
    if (status == CPT_OK && step->has_margin) {
        status = cpt_path_label_number(path, CPT_LABEL_MARGIN, step->margin_ns);
    }
    return status;
}

static cpt_status append_steps(struct walk *walk, struct cpt_path *path)
{
    uint32_t entry = ENTRY_FRAME;
    cpt_status status = cpt_path_frame_add(path, CPT_FRAME_NONE, walk->trace->entry,
                                           CPT_KIND_WORK, &entry);

    assert(status != CPT_OK || entry == ENTRY_FRAME);
    if (walk->trace->dropped_event_count != 0) {
        cpt_path_flags_add(path, CPT_PATH_INCOMPLETE);
    }
    for (size_t i = walk->step_count; i-- > 0 && status == CPT_OK;) {
        status = append_step(walk, path, &walk->steps[i]);
    }
    return status;
}

static void walk_deinit(struct walk *walk)
{
    while (walk->touched != NULL) {
        struct cpt_trace_task *task = walk->touched;

        walk->touched = task->walk_next;
        task->walk_state = WALK_NEW;
        task->walk_frame = 0;
        task->walk_await = NULL;
        task->walk_step = NULL;
        task->walk_step_end_ns = 0;
        task->walk_next = NULL;
    }
    cpt_alloc_free(walk->alloc, walk->floors);
    cpt_alloc_free(walk->alloc, walk->steps);
}

cpt_status cpt_critical_path(const struct cpt_alloc *alloc,
                             const struct cpt_trace *trace, struct cpt_path *path,
                             struct cpt_error *error)
{
    struct walk walk = {.alloc = alloc, .trace = trace, .error = error};
    cpt_status status = CPT_OK;

    if (trace->response_ns < trace->arrival_ns || trace->response_ns > INT64_MAX) {
        return cpt_error_set(error, CPT_CORRUPT, 0,
                             "the response comes before the arrival of the request");
    }
    status = walk_backwards(&walk);
    if (status == CPT_OK) {
        status = append_steps(&walk, path);
    }
    walk_deinit(&walk);
    if (status != CPT_OK) {
        cpt_path_reset(path);
        return cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
    }
    assert(cpt_path_check(path, trace->response_ns - trace->arrival_ns, NULL) ==
           CPT_OK);
    return CPT_OK;
}
