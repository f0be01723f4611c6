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
    struct cpti_manual_arrival *next;
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
        *(manual->arrivals != NULL ? &manual->newest_arrival->next
                                   : &manual->arrivals) = added;
        manual->newest_arrival = added;
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

bool cpti_manual_records(struct cpt_manual *manual, size_t count_max,
                         struct cpt_arena *arena, struct cpt_dag_records *records)
{
    const struct cpti_manual_arrival *arrival = manual->arrivals;
    struct cpt_trace_build build = {.arena = arena};
    size_t count = manual->edge_count != TOO_MANY ? 0 : count_max + 1;

    cpt_trace_build_run(&build, (struct cpt_dag_run){.trace = &manual->trace});
    for (struct cpti_part *part = &manual->root; part != NULL && count <= count_max;
         part = part->next) {
        const struct cpt_trace_await *await = part->task.last_await;

        cpt_trace_build_task(&build, &part->task, 0);
        for (count++; await != NULL && count <= count_max; await = await->previous) {
            count++;
        }
    }
    for (; arrival != NULL && count <= count_max; arrival = arrival->next) {
        cpt_trace_build_arrival(&build, &arrival->arrival);
        count++;
    }
    *records = cpt_trace_build_records(&build);
    return count <= count_max && build.status == CPT_OK;
}

cpt_status cpti_manual_dragged_path(struct cpt_manual *manual)
{
    struct cpti_call_observer *observer = &manual->service->observer;
    const struct cpt_alloc *alloc = &manual->service->budget.alloc;
    struct cpt_dag_records records;
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
