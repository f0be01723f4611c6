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
 * an awaited task we go on in that task; its own beginning leads back to whoever started
 * it. Where no wait explains it, the task computed since its start, queued since it was
 * ready, and was made ready by its unblocker: we go there.
 *
 * Why it is right: each turn explains the time up to `cur` and goes on at the place where
 * what held us up itself began, so the pieces join without a gap and telescope to
 * response - arrival. No chain of dependencies can be longer than the latency, so the
 * path is a longest one. (A backward walk of this sort: docs/model.md.)
 *
 * Each boundary is clamped to the one emitted before it: a stamp taken early, or on
 * another core, makes a segment shorter, never negative, and opens no gap. Waits that
 * began no later than they arrived did not block (a reply that was already there).
 *
 * With CPT_ATTRIBUTE_BLOCKED an await explains [block, arrive] only. What is then walked
 * has a floor, the block; at the floor we return to the task that waited. Floors rise
 * inwards, so they are a stack, kept in the steps' own array type and never recursive.
 *
 * Termination: a task's beginning is passed once and each await once; a second time
 * means that the records lead in a circle, which is reported.
 *
 * The steps are noted backwards and turned into segments forwards. Cost: one step a
 * segment.
 */
#include "cpt/cpt_trace.h"

#include "cpt/cpt_path.h"

#include <assert.h>
#include <string.h>

enum step_kind { STEP_SELF, STEP_QUEUE, STEP_CALL, STEP_CALL_QUEUE, STEP_UNKNOWN };

struct step {
    enum step_kind kind;
    struct cpt_trace_task *task; /* of SELF and QUEUE */
    struct cpt_trace_call *call; /* of CALL and CALL_QUEUE */
    uint64_t duration_ns;
    uint64_t skip_ns; /* of CALL: left out of its front, as it was before the block */
    uint64_t margin_ns;
    int has_margin;
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
    struct cpt_trace_task **touched; /* whose scratch fields have to be cleared */
    size_t touched_count;
    size_t touched_capacity;
    struct cpt_trace_task *task;
    uint64_t cur_ns;
};

/* What walk->touched says of a task. */
enum { WALK_NEW = 0, WALK_SEEN = 1, WALK_BEGAN = 2 };

static uint64_t floor_ns(const struct walk *walk)
{
    return walk->floor_count != 0 ? walk->floors[walk->floor_count - 1].floor_ns
                                  : walk->trace->arrival_ns;
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
    step.duration_ns = walk->cur_ns - from_ns;
    walk->steps[walk->step_count++] = step;
    walk->cur_ns = from_ns;
    return CPT_OK;
}

static cpt_status touch(struct walk *walk, struct cpt_trace_task *task)
{
    cpt_status status = CPT_OK;

    if (task->walk_began != WALK_NEW) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(walk->alloc, (void **)&walk->touched, &walk->touched_capacity,
                            walk->touched_count + 1, CPT_PATH_SEGMENTS_MAX, sizeof(void *));
    if (status == CPT_OK) {
        walk->touched[walk->touched_count++] = task;
        task->walk_began = WALK_SEEN;
        task->walk_await = task->last_await;
        task->walk_frame = CPT_FRAME_NONE;
    }
    return status;
}

/* The latest await of the task that explains time before cur; it is then used up. */
static struct cpt_trace_await *take_await(struct walk *walk)
{
    struct cpt_trace_task *task = walk->task;
    struct cpt_trace_await *await = task->walk_await;

    while (await != NULL &&
           (await->resume_ns > walk->cur_ns || await->arrive_ns <= await->block_ns)) {
        await = await->previous;
    }
    task->walk_await = await != NULL ? await->previous : NULL;
    return await;
}

static cpt_status push_floor(struct walk *walk, uint64_t block_ns)
{
    cpt_status status = CPT_OK;

    if (walk->trace->attribution != CPT_ATTRIBUTE_BLOCKED || block_ns <= floor_ns(walk)) {
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

/* The call from its issue to its arrival, then on in the task that issued it. */
static cpt_status walk_call(struct walk *walk, const struct cpt_trace_await *await)
{
    struct cpt_trace_call *call = await->call;
    const uint64_t sent_ns = call->sent_ns > call->issue_ns ? call->sent_ns : call->issue_ns;
    struct step step = {.kind = STEP_CALL, .call = call,
                        .margin_ns = await->margin_ns, .has_margin = await->has_margin};
    uint64_t lowest_ns = floor_ns(walk);
    cpt_status status = CPT_OK;

    if (walk->trace->attribution == CPT_ATTRIBUTE_BLOCKED && await->block_ns > lowest_ns) {
        lowest_ns = await->block_ns;
    }
    if (lowest_ns > sent_ns && lowest_ns < walk->cur_ns) {
        step.skip_ns = lowest_ns - sent_ns;
    }
    status = emit(walk, step, sent_ns > lowest_ns ? sent_ns : lowest_ns);
    if (status == CPT_OK) {
        step = (struct step){.kind = STEP_CALL_QUEUE, .call = call};
        status = emit(walk, step, call->issue_ns > lowest_ns ? call->issue_ns : lowest_ns);
    }
    if (walk->trace->attribution != CPT_ATTRIBUTE_BLOCKED) {
        walk->task = call->issuer;
    }
    return status;
}

static cpt_status walk_await(struct walk *walk, const struct cpt_trace_await *await)
{
    struct step step = {.kind = STEP_SELF, .task = walk->task};
    cpt_status status = emit(walk, step, await->resume_ns);

    if (status == CPT_OK) {
        step.kind = STEP_QUEUE;
        status = emit(walk, step, await->arrive_ns);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (await->call != NULL) {
        return walk_call(walk, await);
    }
    status = push_floor(walk, await->block_ns);
    walk->task = await->task;
    return status;
}

/* Back to the task whose wait we are inside of, as far as its block is reached. */
static void pop_floors(struct walk *walk)
{
    while (walk->floor_count != 0 && walk->cur_ns <= floor_ns(walk)) {
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

    if (task->walk_began == WALK_BEGAN) {
        return cpt_error_set(walk->error, CPT_CORRUPT, 0,
                             "the records lead in a circle through task \"%.*s\"",
                             (int)task->name.bytes, task->name.data);
    }
    task->walk_began = WALK_BEGAN;
    status = emit(walk, step, task->start_ns);
    if (status == CPT_OK && task->begin == CPT_BEGIN_UNKNOWN) {
        step.kind = STEP_UNKNOWN;
        return emit(walk, step, walk->trace->arrival_ns);
    }
    if (status == CPT_OK) {
        step.kind = STEP_QUEUE;
        step.margin_ns = task->margin_ns;
        step.has_margin = task->has_margin;
        status = emit(walk, step, is_first ? walk->trace->arrival_ns : task->ready_ns);
    }
    walk->task = is_first ? NULL : task->unblocker;
    return status;
}

static cpt_status walk_backwards(struct walk *walk)
{
    cpt_status status = CPT_OK;

    walk->task = walk->trace->answered_by;
    walk->cur_ns = walk->trace->response_ns;
    while (status == CPT_OK) {
        struct cpt_trace_await *await = NULL;

        pop_floors(walk);
        if (walk->cur_ns <= walk->trace->arrival_ns) {
            return CPT_OK;
        }
        if (walk->task == NULL) {
            walk->floor_count = 0;
            return emit(walk, (struct step){.kind = STEP_UNKNOWN}, 0);
        }
        status = touch(walk, walk->task);
        if (status != CPT_OK) {
            return status;
        }
        await = take_await(walk);
        status = await != NULL ? walk_await(walk, await) : walk_beginning(walk);
    }
    return status;
}

/*
 * The frame of @task: below the tasks that started it, or the sub-graphs it lies in.
 * Starters are followed in a loop; frames already known end it.
 */
static cpt_status task_frame(struct walk *walk, struct cpt_path *path, uint32_t entry,
                             struct cpt_trace_task *task, uint32_t *frame)
{
    struct cpt_trace_task *chain[CPT_PATH_DEPTH_MAX];
    const struct cpt_trace_group *groups[CPT_PATH_DEPTH_MAX];
    size_t chain_count = 0;
    uint32_t parent = entry;
    cpt_status status = CPT_OK;

    while (task != NULL && chain_count < CPT_PATH_DEPTH_MAX) {
        status = touch(walk, task);
        if (status != CPT_OK) {
            return status;
        }
        if (task->walk_frame != CPT_FRAME_NONE) {
            parent = task->walk_frame;
            break;
        }
        chain[chain_count++] = task;
        task = task->starter;
    }
    while (chain_count-- > 0 && status == CPT_OK) {
        size_t group_count = 0;

        task = chain[chain_count];
        for (const struct cpt_trace_group *group = task->group;
             group != NULL && group_count < CPT_PATH_DEPTH_MAX; group = group->parent) {
            groups[group_count++] = group;
        }
        while (group_count-- > 0 && status == CPT_OK) {
            status = cpt_path_frame_add(path, parent, groups[group_count]->name,
                                        CPT_KIND_WORK, &parent);
        }
        if (status == CPT_OK) {
            status = cpt_path_frame_add(path, parent, task->name, CPT_KIND_WORK, &parent);
            task->walk_frame = parent;
        }
    }
    *frame = parent;
    return status;
}

static cpt_status append_kind(struct cpt_path *path, uint32_t parent, unsigned kind,
                              const struct step *step, struct cpt_bytes executor)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = 0;
    cpt_status status = cpt_path_frame_add(path, parent, none, kind, &frame);

    if (status == CPT_OK) {
        status = cpt_path_append_ns(path, frame, step->duration_ns);
    }
    if (status == CPT_OK && executor.bytes != 0) {
        status = cpt_path_label_name(path, CPT_LABEL_EXECUTOR, executor);
    }
    return status;
}

/* An RPC: the path of its callee if there is one, else a blind spot. */
static cpt_status append_remote(struct walk *walk, struct cpt_path *path, uint32_t frame,
                                const struct step *step)
{
    const struct cpt_trace *trace = walk->trace;
    struct cpt_trace_call *call = step->call;
    struct cpt_splice splice = {.observed_ns = step->duration_ns + step->skip_ns,
                                .skip_ns = step->skip_ns};
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
    if (status == CPT_OK && has_path && trace->spliced != NULL) {
        trace->spliced(trace->context, call, report.overcount_ns, report.undercount_ns,
                       report.is_inconsistent);
    }
    return status;
}

static cpt_status append_call(struct walk *walk, struct cpt_path *path, uint32_t entry,
                              const struct step *step)
{
    const struct cpt_bytes none = {NULL, 0};
    struct cpt_trace_call *call = step->call;
    uint32_t frame = 0;
    cpt_status status = task_frame(walk, path, entry, call->issuer, &frame);

    if (status == CPT_OK && step->kind == STEP_CALL_QUEUE) {
        return append_kind(path, frame, CPT_KIND_QUEUE, step, call->executor);
    }
    if (status == CPT_OK && call->name.bytes != 0) {
        status = cpt_path_frame_add(path, frame, call->name, CPT_KIND_WORK, &frame);
    }
    if (status == CPT_OK && call->outcome == CPT_CALL_LOCAL) {
        status = cpt_path_append_ns(path, frame, step->duration_ns);
    } else if (status == CPT_OK && call->outcome == CPT_CALL_TIMEOUT) {
        status = append_kind(path, frame, CPT_KIND_TIMEOUT, step, none);
    } else if (status == CPT_OK && call->outcome == CPT_CALL_KIND) {
        status = append_kind(path, frame, call->kind, step, none);
    } else if (status == CPT_OK) {
        status = append_remote(walk, path, frame, step);
    }
    if (status == CPT_OK && call->attempt != 0) {
        status = cpt_path_label_number(path, CPT_LABEL_ATTEMPT, call->attempt);
    }
    return status;
}

static cpt_status append_step(struct walk *walk, struct cpt_path *path, uint32_t entry,
                              const struct step *step)
{
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = entry;
    cpt_status status = CPT_OK;

    if (step->kind == STEP_CALL || step->kind == STEP_CALL_QUEUE) {
        status = append_call(walk, path, entry, step);
    } else if (step->kind == STEP_UNKNOWN) {
        status = append_kind(path, entry, CPT_KIND_UNATTRIBUTED, step, none);
    } else {
        status = task_frame(walk, path, entry, step->task, &frame);
        if (status == CPT_OK && step->kind == STEP_SELF) {
            status = cpt_path_append_ns(path, frame, step->duration_ns);
        } else if (status == CPT_OK) {
            status = append_kind(path, frame, CPT_KIND_QUEUE, step, step->task->executor);
        }
    }
    if (status == CPT_OK && step->has_margin) {
        status = cpt_path_label_number(path, CPT_LABEL_MARGIN, step->margin_ns);
    }
    return status;
}

static cpt_status append_steps(struct walk *walk, struct cpt_path *path)
{
    uint32_t entry = 0;
    cpt_status status = cpt_path_frame_add(path, CPT_FRAME_NONE, walk->trace->entry,
                                           CPT_KIND_WORK, &entry);

    if (walk->trace->dropped_event_count != 0) {
        cpt_path_flags_add(path, CPT_PATH_INCOMPLETE);
    }
    for (size_t i = walk->step_count; i-- > 0 && status == CPT_OK;) {
        status = append_step(walk, path, entry, &walk->steps[i]);
    }
    return status;
}

static void walk_deinit(struct walk *walk)
{
    for (size_t i = 0; i < walk->touched_count; i++) {
        walk->touched[i]->walk_began = WALK_NEW;
        walk->touched[i]->walk_await = NULL;
        walk->touched[i]->walk_frame = 0;
    }
    cpt_alloc_free(walk->alloc, (void *)walk->touched);
    cpt_alloc_free(walk->alloc, walk->floors);
    cpt_alloc_free(walk->alloc, walk->steps);
}

cpt_status cpt_critical_path(const struct cpt_alloc *alloc, const struct cpt_trace *trace,
                             struct cpt_path *path, struct cpt_error *error)
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
    assert(cpt_path_check(path, trace->response_ns - trace->arrival_ns, NULL) == CPT_OK);
    return CPT_OK;
}
