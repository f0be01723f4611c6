/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * drag.c - which nodes of the dag a segment of the path stands for
 *
 *      records --> draft --> dag, and where the nodes of each task and call are
 *      steps of the walk ------------------> members of windows --> dag_windows.c
 *
 * A step of the walk is a time of one task or call, so its nodes are those of that line
 * in that time. Where the stamps of a giver and its taker are apart, the draft has a
 * gap in the taker's line for what the walk calls the giver's; so a step takes the
 * gap in front of the step behind it, too.
 */
#include "cpt/dag/drag.h"

#include "cpt/dag/dag.h"

enum { MEMBERS_MAX = 1 << 26 };

struct cpt_drags {
    const struct cpt_alloc *alloc;
    const struct cpt_trace *trace;
    struct cpt_dag_draft *draft;
    struct cpt_dag_recorded recorded;
    struct cpt_dag *dag; /* NULL: all drags are unknown, … */
    bool is_entry_alone; /* … unless nothing but the entry worked */
    uint64_t *tail_ns;
    struct cpti_dag_place *places; /* of the tasks, then of the calls */
    size_t place_count;
    size_t task_count;
};

struct measuring {
    const struct cpt_drags *drags;
    struct cpti_dag_member *members;
    size_t count, capacity;
};

/* --- The dag --- */

/* Where the nodes of the record of @step are; NULL: it has none. */
static const struct cpti_dag_place *find_place(const struct cpt_drags *drags,
                                               const struct cpti_drag_step *step)
{
    size_t number = 0;

    if (step->record == NULL) {
        return NULL;
    }
    number = step->is_call
                 ? drags->task_count +
                       ((const struct cpt_trace_call *)step->record)->walk_number
                 : ((const struct cpt_trace_task *)step->record)->walk_number;
    return number < drags->place_count && drags->places[number].record == step->record
               ? &drags->places[number]
               : NULL;
}

/* Whether the dag tells what the walk will find. */
static bool is_whole(const struct cpt_drags *drags, const struct cpt_dag *dag)
{
    const struct cpt_trace *trace = drags->trace;

    return drags->recorded.contradiction_count == 0 &&
           cpt_dag_latency_ns(dag) == trace->response_ns - trace->arrival_ns;
}

static cpt_status make_dag(struct cpt_drags *drags, struct cpt_error *error)
{
    struct cpt_dag *dag = NULL;
    cpt_status status = cpt_dag_new(drags->alloc, &drags->recorded.shape, &dag, error);

    if (status != CPT_OK) {
        return status;
    }
    if (!is_whole(drags, dag)) {
        cpt_dag_free(dag);
        return CPT_OK;
    }
    drags->dag = dag;
    drags->tail_ns = cpt_alloc_array(
        drags->alloc, NULL, drags->recorded.shape.node_count, sizeof *drags->tail_ns);
    if (drags->tail_ns == NULL) {
        return CPT_NO_MEMORY;
    }
    cpti_dag_tails(dag, drags->tail_ns);
    return CPT_OK;
}

static cpt_status make_draft(struct cpt_drags *drags,
                             const struct cpt_dag_records *records,
                             struct cpt_error *error)
{
    cpt_status status = CPT_OK;

    if (drags->trace->answered_by == NULL || drags->trace->dropped_event_count != 0) {
        drags->is_entry_alone = drags->trace->dropped_event_count == 0;
        return CPT_OK;
    }
    drags->draft = cpti_dag_draft_new_bare(drags->alloc, drags->trace->arrival_ns);
    if (drags->draft == NULL) {
        return CPT_NO_MEMORY;
    }
    status = cpti_dag_draft_places(drags->draft, records, &drags->recorded,
                                   &drags->places, &drags->place_count);
    if (status != CPT_OK) {
        return status == CPT_INVALID ? CPT_OK : status; /* who answered is unknown */
    }
    return make_dag(drags, error);
}

/* @records without the other runs, in @own; the tasks are the caller's to free. */
static cpt_status take_run(const struct cpt_alloc *alloc,
                           const struct cpt_dag_records *records, size_t run,
                           struct cpt_dag_records *own, struct cpt_trace_task ***tasks)
{
    *own = *records;
    own->runs = &records->runs[run];
    own->run_count = 1;
    if (records->task_runs == NULL) {
        return CPT_OK;
    }
    *tasks = cpt_alloc_array(alloc, NULL, records->task_count, sizeof(void *));
    if (*tasks == NULL) {
        return CPT_NO_MEMORY;
    }
    own->tasks = *tasks;
    own->task_runs = NULL;
    own->task_count = 0;
    for (size_t i = 0; i < records->task_count; i++) {
        if (records->task_runs[i] == run) {
            (*tasks)[own->task_count++] = records->tasks[i];
        }
    }
    return CPT_OK;
}

cpt_status cpt_drags_new(const struct cpt_alloc *alloc,
                         const struct cpt_dag_records *records, size_t run,
                         struct cpt_drags **drags, struct cpt_error *error)
{
    struct cpt_dag_records own;
    struct cpt_trace_task **tasks = NULL;
    struct cpt_drags *made = NULL;
    cpt_status status = CPT_OK;

    if (run >= records->run_count || (run != 0 && records->task_runs == NULL)) {
        return cpt_error_set(error, CPT_INVALID, 0, "there is no run %zu of %zu", run,
                             records->run_count);
    }
    status = take_run(alloc, records, run, &own, &tasks);
    if (status == CPT_OK) {
        made = cpt_alloc_zeroed(alloc, sizeof *made);
        status = made != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        made->alloc = alloc;
        made->trace = own.runs->trace;
        made->task_count = own.task_count;
        status = make_draft(made, &own, error);
    }
    cpt_alloc_free(alloc, (void *)tasks);
    if (status != CPT_OK) {
        cpt_drags_free(made);
        return cpt_error_set(error, status, 0, "%s", cpt_status_sentence(status));
    }
    *drags = made;
    return CPT_OK;
}

void cpt_drags_free(struct cpt_drags *drags)
{
    if (drags == NULL) {
        return;
    }
    cpt_dag_free(drags->dag);
    cpt_dag_draft_free(drags->draft);
    cpt_alloc_free(drags->alloc, drags->tail_ns);
    cpt_alloc_free(drags->alloc, drags->places);
    cpt_alloc_free(drags->alloc, drags);
}

/* --- Steps --- */

static uint64_t begin_of(const struct cpt_drags *drags, uint32_t node)
{
    return drags->trace->arrival_ns +
           cpti_dag_start_ns(drags->dag, drags->dag->place[node]);
}

static uint64_t end_of(const struct cpt_drags *drags, uint32_t node)
{
    return begin_of(drags, node) + drags->recorded.shape.nodes[node].duration_ns;
}

/* The first node of @place that ends after @at_ns. */
static uint32_t first_after(const struct cpt_drags *drags,
                            const struct cpti_dag_place *place, uint64_t at_ns)
{
    uint32_t low = place->first;
    uint32_t high = place->end;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (end_of(drags, middle) <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Adds the nodes of @place in the time of @step: all, or only the gap at its end. */
static cpt_status add_members(struct measuring *measuring,
                              const struct cpti_drag_step *step,
                              const struct cpti_dag_place *place, bool is_gap)
{
    const struct cpt_drags *drags = measuring->drags;
    cpt_status status = CPT_OK;

    for (uint32_t node = first_after(drags, place, step->begin_ns);
         node < place->end && status == CPT_OK; node++) {
        const uint64_t begin_ns = begin_of(drags, node);
        const uint64_t end_ns = end_of(drags, node);
        const uint64_t from_ns = begin_ns > step->begin_ns ? begin_ns : step->begin_ns;
        const uint64_t to_ns = end_ns < step->end_ns ? end_ns : step->end_ns;

        if (begin_ns >= step->end_ns) {
            break;
        }
        if (from_ns >= to_ns ||
            (is_gap && (drags->recorded.shape.nodes[node].kind != CPT_DAG_WAIT ||
                        end_ns < step->end_ns))) {
            continue;
        }
        status = cpti_dag_grow(drags->alloc, (void **)&measuring->members,
                               &measuring->capacity, measuring->count + 1, MEMBERS_MAX,
                               sizeof *measuring->members);
        if (status == CPT_OK) {
            measuring->members[measuring->count++] =
                (struct cpti_dag_member){drags->dag->place[node], to_ns - from_ns};
        }
    }
    return status;
}

/* The windows of all steps that records tell of. */
static cpt_status list_windows(struct measuring *measuring,
                               const struct cpti_drag_step *steps, size_t count,
                               struct cpti_dag_window *windows)
{
    const struct cpti_dag_place *place = find_place(measuring->drags, &steps[0]);
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        const struct cpti_drag_step *step = &steps[i];
        const struct cpti_dag_place *next =
            i + 1 < count ? find_place(measuring->drags, &steps[i + 1]) : NULL;

        windows[i].first = measuring->count;
        if (step->is_known && place != NULL) {
            status = add_members(measuring, step, place, false);
        }
        if (step->is_known && step->record != NULL && next != NULL && next != place &&
            !steps[i + 1].is_call && status == CPT_OK &&
            begin_of(measuring->drags, next->first) < step->end_ns) {
            status = add_members(measuring, step, next, true);
        }
        windows[i].end = measuring->count;
        place = next;
    }
    return status;
}

/* @windows may be NULL. The entry's own time delays all that follows. */
static void write_drags(struct cpti_drag_step *steps, size_t count,
                        const struct cpti_dag_window *windows)
{
    for (size_t i = 0; i < count; i++) {
        struct cpti_drag_step *step = &steps[i];
        const uint64_t duration_ns = step->end_ns - step->begin_ns;

        if (!step->is_known) {
            continue;
        }
        if (step->record == NULL) {
            step->drag_ns = duration_ns;
        } else if (windows != NULL && windows[i].drag_ns != UINT64_MAX) {
            step->drag_ns =
                windows[i].drag_ns < duration_ns ? windows[i].drag_ns : duration_ns;
        }
    }
}

cpt_status cpti_drags_of(const struct cpt_drags *drags, struct cpti_drag_step *steps,
                         size_t count)
{
    struct measuring measuring = {.drags = drags};
    struct cpti_dag_window *windows = NULL;
    cpt_status status = CPT_NO_MEMORY;

    for (size_t i = 0; i < count; i++) {
        steps[i].drag_ns = UINT64_MAX;
    }
    if (drags->is_entry_alone) {
        write_drags(steps, count, NULL);
    }
    if (drags->dag == NULL || count == 0) {
        return CPT_OK;
    }
    windows = cpt_alloc_array(drags->alloc, NULL, count, sizeof *windows);
    if (windows != NULL) {
        status = list_windows(&measuring, steps, count, windows);
    }
    if (status == CPT_OK) {
        status = cpti_dag_measure_windows(drags->dag, drags->tail_ns, measuring.members,
                                          windows, count);
    }
    if (status == CPT_OK) {
        write_drags(steps, count, windows);
    }
    cpt_alloc_free(drags->alloc, measuring.members);
    cpt_alloc_free(drags->alloc, windows);
    return status;
}
