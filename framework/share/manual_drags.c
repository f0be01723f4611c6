/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * manual_drags.c - drags of requests whose code tells the path, and what their graphs
 * need beside it
 *
 * The trace has what the walk needs: which call ended last within each wait. Drags need
 * all that may have been waited for (cpt_drag.h). Code does not tell that, so:
 *
 *      a wait                       needed all calls that ended within it
 *      code behind the end of a     needed that call, though nothing waited for it: a
 *      call, outside of waits       wait of 0 ns, which the walk passes by
 *      a call that did not end      was needed by nothing
 *
 * What was not needed in truth makes a drag smaller, never larger: an edge between two
 * nodes that began in this order anyway changes no beginning, so the latency is the
 * same; and one that remains when a segment takes no time may only let it be longer.
 *
 * Only a request that has drags, or whose graph is kept (manual_graph.c), notes these
 * arrivals. All the rest is made at its end, of memory that lives no longer than the
 * walk, or the encoding.
 */
#include "framework/share/manual.h"

#include "cpt/cpt_drag.h"
#include "cpt/cpt_path.h"
#include "framework/run/call.h"

enum { TOO_MANY = CPTI_MANUAL_DRAG_RECORDS_MAX + 1 };

struct cpti_manual_arrival {
    struct cpt_dag_arrival arrival;
    struct cpti_manual_arrival *previous;
};

/* Memory for what only these need; NULL: there will be none. The path does not need it,
 * so no record is lost then; and of too many no more take what the path may need. */
static void *take(struct cpt_manual *manual, size_t bytes)
{
    void *memory = NULL;

    if (manual->edge_count <= CPTI_MANUAL_DRAG_RECORDS_MAX) {
        memory = cpt_arena_take(&manual->arena, bytes);
        manual->edge_count = memory != NULL ? manual->edge_count + 1 : TOO_MANY;
    }
    return memory;
}

void cpti_manual_add_arrival(struct cpt_manual *manual, struct cpt_trace_await *await,
                             struct cpt_trace_call *call)
{
    struct cpti_manual_arrival *added = take(manual, sizeof *added);

    if (added != NULL) {
        added->arrival = (struct cpt_dag_arrival){.waiter = &manual->current->task,
                                                  .call = call,
                                                  .arrive_ns = call->arrive_ns,
                                                  .await = await};
        added->previous = manual->arrivals;
        manual->arrivals = added;
    }
}

void cpti_manual_add_pass(struct cpt_manual *manual, struct cpt_trace_call *call)
{
    struct cpt_trace_await *await = take(manual, sizeof *await);

    if (await != NULL) {
        cpti_manual_await(manual->current, await, call->arrive_ns);
        await->call = call;
        await->arrive_ns = call->arrive_ns;
        await->resume_ns = call->arrive_ns;
        cpti_manual_turn(manual, call->arrive_ns, &await->off_cpu_ns);
    }
}

/* How many records it has: more than @count_max, if too many. */
static size_t count_records(const struct cpt_manual *manual, size_t count_max,
                            size_t *part_count, size_t *arrival_count)
{
    size_t count = 0;

    *part_count = 0;
    *arrival_count = 0;
    for (const struct cpti_part *part = manual->newest;
         part != NULL && count <= count_max; part = part->previous) {
        const struct cpt_trace_await *await = part->task.last_await;

        count++;
        (*part_count)++;
        for (; await != NULL && count <= count_max; await = await->previous) {
            count++;
        }
    }
    for (const struct cpti_manual_arrival *arrival = manual->arrivals;
         arrival != NULL && count <= count_max; arrival = arrival->previous) {
        count++;
        (*arrival_count)++;
    }
    return count;
}

bool cpti_manual_records(const struct cpt_manual *manual, size_t count_max,
                         struct cpt_arena *arena, struct cpt_dag_records *records)
{
    size_t part_count = 0;
    size_t arrival_count = 0;
    struct cpt_trace_task **tasks = NULL;
    struct cpt_dag_arrival *arrivals = NULL;

    if (manual->edge_count == TOO_MANY ||
        count_records(manual, count_max, &part_count, &arrival_count) > count_max) {
        return false;
    }
    tasks = cpt_arena_take(arena, part_count * sizeof(struct cpt_trace_task *));
    arrivals = cpt_arena_take(arena, (arrival_count + 1) * sizeof *arrivals);
    if (tasks == NULL || arrivals == NULL) {
        return false;
    }
    records->tasks = tasks;
    records->arrivals = arrivals;
    records->task_count = part_count;
    records->arrival_count = arrival_count;
    for (struct cpti_part *part = manual->newest; part != NULL; part = part->previous) {
        tasks[--part_count] = &part->task;
    }
    for (const struct cpti_manual_arrival *arrival = manual->arrivals; arrival != NULL;
         arrival = arrival->previous) {
        arrivals[--arrival_count] = arrival->arrival;
    }
    return true;
}

cpt_status cpti_manual_dragged_path(struct cpt_manual *manual)
{
    struct cpti_call_observer *observer = &manual->service->observer;
    const struct cpt_alloc *alloc = &manual->service->budget.alloc;
    const struct cpt_dag_run run = {.trace = &manual->trace};
    struct cpt_dag_records records = {.runs = &run, .run_count = 1};
    struct cpt_drags *drags = NULL;
    struct cpt_arena arena;
    cpt_status status = CPT_OK;

    cpt_arena_init(&arena, alloc, 0, 0);
    if (cpti_manual_records(manual, CPTI_MANUAL_DRAG_RECORDS_MAX, &arena, &records) &&
        cpt_drags_new(alloc, &records, 0, &drags, NULL) == CPT_OK) {
        manual->trace.drags = drags;
    }
    status = cpt_critical_path(alloc, &manual->trace, manual->path, NULL);
    observer->dragged(observer,
                      drags != NULL && (cpt_path_has_drags(manual->path) ||
                                        cpt_path_segment_count(manual->path) == 0));
    manual->trace.drags = NULL;
    cpt_drags_free(drags);
    cpt_arena_deinit(&arena);
    return status;
}
