/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * critical.c - from a trace to the path that delayed the request
 *
 * We begin at the task that answered, at the moment of the response, and walk
 * backwards. `task` and `cur` are the whole state. The latest of the task's waits that
 * were over by then and really blocked it explains the time before its resume:
 *
 *      task  start ====== block ............ resume ===== cur
 *      call         issue ------------ arrive
 *            then   [ the call's path ][queue][  self   ]
 *
 * After a call we continue in the task that issued it, at the issue: what the task
 * computed while the call was outstanding did not delay the response and is off the
 * path. After an awaited task we continue in that task, whose beginning leads back to
 * the task that started it. Where no wait explains the time, the task computed since
 * its start and queued since it was ready; then we continue in its unblocker.
 *
 * Why it is right: each turn explains the time up to `cur` and continues where the
 * cause itself began, so the pieces join without gaps and telescope to response -
 * arrival. No chain of dependencies is longer than the latency, so the path is a
 * longest one (docs/model.md).
 *
 * Each boundary is clamped to the one emitted before it: a timestamp that is early, or
 * from another core, makes a segment shorter, never negative, and opens no gap. For the
 * same reason a wait counts as over if it began before `cur`, not if it ended before;
 * the two differ only where a timestamp is wrong. A wait for something that arrived by
 * the time of the block did not block, though the task may have queued before it
 * resumed.
 *
 * With CPT_ATTRIBUTE_BLOCKED an await explains only [block, arrive]. The walk inside it
 * has a floor, the block; at the floor it returns to the task that waited. Inner floors
 * are higher, so a stack in an array holds them, without recursion. A task that a floor
 * cut off may be met again below the floor, so its earlier time stays available.
 *
 * Termination: the walk passes the beginning of each task once and each await once; a
 * second time means that the records form a cycle, which is an error.
 *
 * Off-CPU time: of a step of L ns with F ns off the CPU, the piece [a, b] takes
 * floor(F*b / L) - floor(F*a / L). The shares of all pieces telescope to F, and no
 * piece is off for longer than it lasts. The walk goes back through a task only once,
 * and so does its cursor over the steps of the task.
 *
 * The margin of a join stands on the segment that ends at the join, which belongs to
 * the input that came last: this input could come earlier by the margin before another
 * one delayed the request.
 *
 * The walk notes steps backwards; critical_steps.c turns them into segments, forwards.
 * Cost: one step for each segment. If there are more steps than a path has segments,
 * the latest become segments first: their order is lost, and their time is kept.
 */
#include "cpt/trace/critical_steps.h"

#include <assert.h>
#include <string.h>

/* A wait that the walk is inside of; at floor_ns it returns to the task. */
struct floor {
    struct cpt_trace_task *task;
    uint64_t floor_ns;
};

struct floors {
    struct floor *all;
    size_t count;
    size_t capacity;
};

/* Where the walk is. No address of it leaves the walk, so it lies in registers. */
struct walk {
    struct cpti_steps *steps;
    struct floors *floors;
    struct cpt_trace_task *task;
    uint64_t cur_ns;
    uint64_t lowest_ns; /* how far down the walk may go: the floor, or begin_ns */
    uint64_t begin_ns;  /* where the walk ends: the process began with the request */
    uint64_t margin_ns; /* of the join at cur, or CPTI_NO_MARGIN */
};

#define THE_ENTRY ((union cpti_owner){.task = NULL})
#define NO_REMARK ((union cpti_remark){.off_cpu_ns = 0})

/* The part of @off_ns in the first @part_ns of a step of @whole_ns. */
static uint64_t share_of(uint64_t off_ns, uint64_t part_ns, uint64_t whole_ns)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)off_ns * part_ns / whole_ns);
}

/* What is known of the time off the CPU in a piece of the path. */
struct off_cpu {
    uint64_t sum_ns;
    uint64_t delay_ns; /* the part of it in which it could have run … */
    uint64_t most_ns;  /* … and the most of one step, that of: */
    const struct cpt_trace_starved *starved; /* NULL: not measured */
};

/* Adds what a step of @whole_ns has from @low_ns to @high_ns after its beginning. Of
 * its run delay each nanosecond off the CPU has the same part. */
static void add_off_cpu(struct off_cpu *off, const struct cpt_trace_starved *starved,
                        uint64_t off_ns, uint64_t whole_ns, uint64_t low_ns,
                        uint64_t high_ns)
{
    const uint64_t high_off_ns = share_of(off_ns, high_ns, whole_ns);
    const uint64_t low_off_ns = share_of(off_ns, low_ns, whole_ns);
    uint64_t delay_ns = 0;

    off->sum_ns += high_off_ns - low_off_ns;
    if (starved == NULL) {
        return;
    }
    delay_ns = starved->delay_ns < off_ns ? starved->delay_ns : off_ns;
    delay_ns = share_of(delay_ns, high_off_ns, off_ns) -
               share_of(delay_ns, low_off_ns, off_ns);
    off->delay_ns += delay_ns;
    if (off->starved == NULL || delay_ns > off->most_ns) {
        off->starved = starved;
        off->most_ns = delay_ns;
    }
}

/* How long no processor ran @task from @from_ns to @to_ns, summed over its steps. */
static struct off_cpu off_cpu(struct cpt_trace_task *task, uint64_t from_ns,
                              uint64_t to_ns)
{
    struct off_cpu off = {0};

    for (;;) {
        struct cpt_trace_await *step = task->walk_more;
        const uint64_t begin_ns = step != NULL ? step->resume_ns : task->start_ns;
        const uint64_t end_ns = task->walk_more_ns;
        const uint64_t low_ns = begin_ns > from_ns ? begin_ns : from_ns;
        const uint64_t high_ns = end_ns < to_ns ? end_ns : to_ns;
        uint64_t off_ns = step != NULL ? step->off_cpu_ns : task->off_cpu_ns;

        if (off_ns != 0 && low_ns < high_ns) {
            const uint64_t whole_ns = end_ns - begin_ns;

            off_ns = off_ns < whole_ns ? off_ns : whole_ns;
            add_off_cpu(&off, step != NULL ? step->starved : task->starved, off_ns,
                        whole_ns, low_ns - begin_ns, high_ns - begin_ns);
        }
        if (step == NULL || begin_ns <= from_ns) {
            break; /* the rest of this step may be walked later */
        }
        task->walk_more_ns = step->block_ns;
        task->walk_more = step->previous;
    }
    off.sum_ns = off.sum_ns < to_ns - from_ns ? off.sum_ns : to_ns - from_ns;
    off.delay_ns = off.delay_ns < off.sum_ns ? off.delay_ns : off.sum_ns;
    return off;
}

/* The same, noted in @step. */
static void note_off_cpu(struct cpti_step *step, uint64_t from_ns, uint64_t to_ns)
{
    const struct off_cpu off = off_cpu(step->of.task, from_ns, to_ns);

    step->with.off_cpu_ns = off.sum_ns;
    step->run_delay_ns = off.delay_ns;
    step->starved = off.starved;
}

/*
 * Explains the time from @from_ns to cur, if there is any, and moves cur to @from_ns.
 * The parts of the step are parameters of their own, in registers: writing a struct in
 * two halves and copying it whole took longer than all the rest of the walk.
 */
static inline cpt_status emit(struct walk *walk, unsigned char kind,
                              union cpti_owner of, union cpti_remark with,
                              uint64_t from_ns)
{
    struct cpti_steps *steps = walk->steps;
    struct cpti_step *step = NULL;

    from_ns = from_ns < walk->lowest_ns ? walk->lowest_ns : from_ns;
    if (from_ns >= walk->cur_ns) {
        return CPT_OK;
    }
    if (steps->next == steps->end) {
        const cpt_status status = cpti_steps_grow(steps);

        if (status != CPT_OK) {
            return status;
        }
    }
    step = steps->next++;
    step->kind = kind;
    step->of = of;
    step->with = with;
    step->duration_ns = walk->cur_ns - from_ns;
    step->margin_ns = walk->margin_ns;
    if (kind == CPTI_STEP_SELF && steps->has_hooks && steps->trace->measures_off_cpu) {
        note_off_cpu(step, from_ns, walk->cur_ns);
    }
    walk->cur_ns = from_ns;
    walk->margin_ns = CPTI_NO_MARGIN;
    return CPT_OK;
}

/* Notes the margin of a join at cur; if several joins are at cur, the smallest margin
 * counts. */
static inline void note_margin(struct walk *walk, bool has_margin, uint64_t margin_ns)
{
    if (has_margin && margin_ns < walk->margin_ns) {
        walk->margin_ns = margin_ns;
    }
}

static inline bool is_at_floor(const struct walk *walk)
{
    return walk->cur_ns <= walk->lowest_ns;
}

/* Whether the task did not have to wait, not even for a worker to resume it. */
static bool has_not_waited(const struct cpt_trace_await *await)
{
    return await->arrive_ns <= await->block_ns &&
           (await->resume_ns <= await->block_ns || await->resume_ns == UINT64_MAX);
}

/* The latest await of the task that explains time before cur; NULL: there is none. */
static inline struct cpt_trace_await *latest_await(const struct walk *walk)
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

static cpt_status add_floor(struct cpti_steps *steps, struct floors *floors,
                            struct floor floor)
{
    const cpt_status status =
        cpt_alloc_grow(steps->alloc, (void **)&floors->all, &floors->capacity,
                       floors->count + 1, CPT_PATH_SEGMENTS_MAX, sizeof *floors->all);

    if (status == CPT_LIMIT) { /* the call gets all of its time, as by default */
        cpt_path_flags_add(steps->path, CPT_PATH_INCOMPLETE);
        return CPT_OK;
    }
    if (status == CPT_OK) {
        floors->all[floors->count++] = floor;
    }
    return status;
}

static inline void find_lowest(struct walk *walk)
{
    const struct floors *floors = walk->floors;

    walk->lowest_ns =
        floors->count != 0 ? floors->all[floors->count - 1].floor_ns : walk->begin_ns;
}

/* With blocked attribution, limits the walk that follows to @block_ns. */
static inline cpt_status push_floor(struct walk *walk, uint64_t block_ns)
{
    cpt_status status = CPT_OK;

    if (walk->steps->trace->attribution == CPT_ATTRIBUTE_BLOCKED &&
        block_ns > walk->lowest_ns) {
        status =
            add_floor(walk->steps, walk->floors, (struct floor){walk->task, block_ns});
        find_lowest(walk);
    }
    return status;
}

/* When the call left its queue. All time of a call that timed out is ‹timeout›. */
static uint64_t sent_ns(const struct cpt_trace_call *call)
{
    return call->outcome != CPT_CALL_TIMEOUT && call->sent_ns > call->issue_ns
               ? call->sent_ns
               : call->issue_ns;
}

/*
 * Explains the call from its issue to its arrival, and continues in the task that
 * issued it. With blocked attribution the walk stays in the task that waited, unless
 * another task issued the call after the block: then that task comes first, down to the
 * block.
 */
static cpt_status walk_call(struct walk *walk, const struct cpt_trace_await *await)
{
    struct cpt_trace_call *call = await->call;
    const union cpti_owner owner = {.call = call};
    union cpti_remark remark = {.skip_ns = 0};
    const uint64_t begin_ns = sent_ns(call);
    uint64_t lowest_ns = walk->lowest_ns;
    cpt_status status = CPT_OK;

    if (walk->steps->trace->attribution == CPT_ATTRIBUTE_BLOCKED &&
        await->block_ns > lowest_ns) {
        lowest_ns = await->block_ns;
    }
    if (lowest_ns > begin_ns && lowest_ns < walk->cur_ns) {
        remark.skip_ns = lowest_ns - begin_ns;
    }
    status = emit(walk, CPTI_STEP_CALL, owner, remark,
                  begin_ns > lowest_ns ? begin_ns : lowest_ns);
    if (status != CPT_OK) {
        return status;
    }
    remark.await = NULL;
    status = emit(walk, CPTI_STEP_CALL_QUEUE, owner, remark,
                  call->issue_ns > lowest_ns ? call->issue_ns : lowest_ns);
    if (status == CPT_OK && walk->cur_ns > lowest_ns) {
        status = push_floor(walk, await->block_ns);
        walk->task = call->issuer;
    }
    return status;
}

/* Explains what the task did since it resumed, how long it queued before, and what
 * released it. */
static cpt_status walk_await(struct walk *walk, struct cpt_trace_await *await)
{
    const union cpti_owner owner = {.task = walk->task};
    cpt_status status = emit(walk, CPTI_STEP_SELF, owner, NO_REMARK, await->resume_ns);

    if (status != CPT_OK || is_at_floor(walk)) {
        return status;
    }
    walk->task->walk_await = await->previous;
    status =
        emit(walk, CPTI_STEP_QUEUE, owner, (union cpti_remark){.await = await},
             await->arrive_ns > await->block_ns ? await->arrive_ns : await->block_ns);
    if (status != CPT_OK || is_at_floor(walk) || await->arrive_ns <= await->block_ns) {
        return status; /* the wait was over by the block: the task only queued */
    }
    note_margin(walk, await->has_margin, await->margin_ns);
    if (await->call != NULL) {
        return walk_call(walk, await);
    }
    if (await->task == NULL) { /* lost; the task is known again at the block */
        return emit(walk, CPTI_STEP_UNKNOWN, owner, NO_REMARK, await->block_ns);
    }
    status = push_floor(walk, await->block_ns);
    walk->task = await->task;
    return status;
}

/* Returns to the task whose wait the walk is inside of, once its block is reached.
 * Whether there is time left to explain. */
static inline bool pop_floors(struct walk *walk)
{
    struct floors *floors = walk->floors;

    while (is_at_floor(walk)) {
        if (floors->count == 0) {
            return false;
        }
        walk->task = floors->all[--floors->count].task;
        find_lowest(walk);
    }
    return true;
}

/* Explains the task's beginning: it computed since its start, and queued before. */
static cpt_status walk_beginning(struct walk *walk)
{
    struct cpt_trace_task *task = walk->task;
    const union cpti_owner owner = {.task = task};
    const union cpti_remark began = {.await = NULL};
    cpt_status status = CPT_OK;

    if (task->walk_mark == walk->steps->mark + 1) {
        return cpt_error_set(walk->steps->error, CPT_CORRUPT, 0,
                             "the records lead in a circle through task \"%.*s\"",
                             (int)task->name.bytes, task->name.data);
    }
    status = emit(walk, CPTI_STEP_SELF, owner, NO_REMARK, task->start_ns);
    if (status != CPT_OK) {
        return status;
    }
    if (task->begin != CPT_BEGIN_TASK) {
        return task->begin == CPT_BEGIN_REQUEST
                   ? emit(walk, CPTI_STEP_QUEUE, owner, began, walk->begin_ns)
                   : emit(walk, CPTI_STEP_UNKNOWN, THE_ENTRY, NO_REMARK,
                          walk->begin_ns);
    }
    status = emit(walk, CPTI_STEP_QUEUE, owner, began, task->ready_ns);
    if (status != CPT_OK || is_at_floor(walk)) {
        return status;
    }
    task->walk_mark = walk->steps->mark + 1;
    note_margin(walk, task->has_margin, task->margin_ns);
    walk->task = task->unblocker;
    return CPT_OK;
}

/* Explains the time before cur where no task is known: it is the entry's own if no
 * record was lost. */
static cpt_status walk_nothing(struct walk *walk)
{
    const struct cpt_trace *trace = walk->steps->trace;
    const bool is_own = trace->answered_by == NULL && trace->dropped_event_count == 0;

    return emit(walk, is_own ? CPTI_STEP_ENTRY : CPTI_STEP_UNKNOWN, THE_ENTRY,
                NO_REMARK, 0);
}

static cpt_status walk_backwards(struct cpti_steps *steps, struct floors *floors)
{
    const struct cpt_trace *trace = steps->trace;
    const uint64_t begin_ns =
        trace->dispatch_ns > trace->arrival_ns ? trace->dispatch_ns : trace->arrival_ns;
    struct walk walk = {.steps = steps,
                        .floors = floors,
                        .task = trace->answered_by,
                        .cur_ns = trace->response_ns,
                        .lowest_ns = begin_ns,
                        .begin_ns = begin_ns,
                        .margin_ns = CPTI_NO_MARGIN};
    cpt_status status = CPT_OK;

    while (status == CPT_OK && pop_floors(&walk)) {
        struct cpt_trace_await *await = NULL;

        if (walk.task == NULL) {
            status = walk_nothing(&walk);
            continue;
        }
        status = cpti_steps_meet(steps, walk.task);
        if (status != CPT_OK) {
            return status;
        }
        await = latest_await(&walk);
        status = await != NULL ? walk_await(&walk, await) : walk_beginning(&walk);
    }
    if (status != CPT_OK) {
        return status;
    }
    walk.lowest_ns = trace->arrival_ns;
    return emit(&walk, CPTI_STEP_ACCEPT_QUEUE, THE_ENTRY, NO_REMARK, trace->arrival_ns);
}

cpt_status cpt_critical_path(const struct cpt_alloc *alloc,
                             const struct cpt_trace *trace, struct cpt_path *path,
                             struct cpt_error *error)
{
    return cpti_critical_path_within(alloc, trace, path, CPT_PATH_SEGMENTS_MAX, error);
}

cpt_status cpti_critical_path_within(const struct cpt_alloc *alloc,
                                     const struct cpt_trace *trace,
                                     struct cpt_path *path, size_t segments_max,
                                     struct cpt_error *error)
{
    struct cpti_steps steps;
    struct floors floors = {0};
    cpt_status status = CPT_OK;

    if (trace->response_ns < trace->arrival_ns || trace->response_ns > INT64_MAX) {
        return cpt_error_set(error, CPT_CORRUPT, 0,
                             "the response comes before the arrival of the request");
    }
    cpti_steps_init(&steps, alloc, trace, path, error);
    path->folds_at = segments_max;
    status = walk_backwards(&steps, &floors);
    if (status == CPT_OK) {
        status = cpti_steps_append(&steps);
    }
    path->folds_at = 0;
    cpt_alloc_free(alloc, floors.all);
    cpti_steps_empty(&steps);
    if (status != CPT_OK) {
        cpt_path_reset(path);
        return cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
    }
    assert(cpt_path_check(path, trace->response_ns - trace->arrival_ns, NULL) ==
           CPT_OK);
    return CPT_OK;
}
