/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* trace_build.c - lists that grow in an arena, which keeps the smaller ones, too */
#include "cpt/cpt_trace_build.h"

#include "cpt/cpt_path.h"

#include <string.h>

enum { FIRST_ITEMS = 32 };

int cpt_trace_answers(const struct cpt_trace *trace, const struct cpt_trace_call *call)
{
    return call->outcome != CPT_CALL_TIMEOUT &&
           !(call->outcome == CPT_CALL_REMOTE && call->reason == CPT_REASON_FAILED) &&
           trace->answered_by != NULL && trace->response_ns <= call->arrive_ns &&
           trace->arrival_ns >= call->issue_ns;
}

void *cpt_trace_build_take(struct cpt_trace_build *build, size_t count,
                           size_t element_bytes)
{
    size_t bytes = 0;
    void *taken = NULL;

    if (build->status != CPT_OK) {
        return NULL;
    }
    if (count > CPT_TRACE_RECORDS_MAX ||
        __builtin_mul_overflow(count + 1, element_bytes, &bytes) ||
        cpt_arena_is_full(build->arena, bytes) != 0) {
        build->status = CPT_LIMIT;
        return NULL;
    }
    taken = cpt_arena_take(build->arena, bytes);
    build->status = taken != NULL ? CPT_OK : CPT_NO_MEMORY;
    return taken;
}

/* The place of another item; NULL: nothing more is taken. */
static void *add(struct cpt_trace_build *build, struct cpt_trace_list *list,
                 size_t item_bytes)
{
    if (list->count == list->capacity) {
        const size_t capacity =
            list->capacity != 0 ? 2 * list->capacity : (size_t)FIRST_ITEMS;
        void *items = cpt_trace_build_take(build, capacity, item_bytes);

        if (items == NULL) {
            return NULL;
        }
        if (list->count != 0) {
            memcpy(items, list->items, list->count * item_bytes);
        }
        list->items = items;
        list->capacity = capacity;
    }
    return (unsigned char *)list->items + item_bytes * list->count++;
}

void cpt_trace_build_run(struct cpt_trace_build *build, struct cpt_dag_run run)
{
    struct cpt_dag_run *added = add(build, &build->runs, sizeof run);

    if (added != NULL) {
        *added = run;
    }
}

void cpt_trace_build_task(struct cpt_trace_build *build, struct cpt_trace_task *task,
                          uint32_t run)
{
    struct cpt_trace_task **added = add(build, &build->tasks, sizeof(void *));
    uint32_t *added_run =
        added != NULL ? add(build, &build->task_runs, sizeof run) : NULL;

    if (added_run != NULL) {
        *added = task;
        *added_run = run;
    }
}

void cpt_trace_build_arrival(struct cpt_trace_build *build,
                             const struct cpt_dag_arrival *arrival)
{
    struct cpt_dag_arrival *added = add(build, &build->arrivals, sizeof *added);

    if (added != NULL) {
        *added = *arrival;
    }
}

struct cpt_dag_records cpt_trace_build_records(const struct cpt_trace_build *build)
{
    return (struct cpt_dag_records){
        .runs = build->runs.items,
        .run_count = build->runs.count,
        .tasks = build->tasks.items,
        .task_runs = build->runs.count > 1 ? build->task_runs.items : NULL,
        .task_count = build->tasks.count,
        .arrivals = build->arrivals.items,
        .arrival_count = build->arrivals.count};
}
