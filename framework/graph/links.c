/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * links.c - the edges of a plan: no circles, which tasks run, which run after which
 *
 * Which tasks run without being started? Those that the output is made from, and those
 * that such a task, or one started on demand, needs: an input has to be on its way
 * before its task can wait for it.
 *
 *      output <-- render <-- ads            needs: eager
 *                   :.......> lookup        starts: on demand
 *                               ^-- index   needed by one on demand: eager
 *
 * A task waits for what it starts or wants as it waits for what it needs, so all three
 * are edges in the search for circles: a plan cannot deadlock. What is only wanted runs
 * like what is needed, but the output can be made without it.
 *
 * Cost: linear in tasks and edges.
 */
#include "framework/graph/build.h"

#include <stdio.h>
#include <string.h>

/* --- Circles --- */

/* The task that edge number @edge of @task leads to; inputs first, then starts. */
static uint32_t edge_target(const struct cpt_plan *plan,
                            const struct cpti_plan_task *task, uint32_t edge)
{
    const uint32_t slot = edge < task->input_count
                              ? task->input_slots[edge]
                              : task->start_slots[edge - task->input_count];

    return plan->slots[slot].giver;
}

/* "a -> b -> a" out of the stack of a depth-first search, from @first upwards. */
static cpt_status refuse_circle(struct cpti_build *build, uint32_t first,
                                uint32_t depth)
{
    char text[CPT_ERROR_SENTENCE_BYTES] = "";
    size_t used = 0;

    for (uint32_t i = first; i < depth && used < sizeof text - 1; i++) {
        const int written = snprintf(text + used, sizeof text - used, "\"%s\" -> ",
                                     build->plan->tasks[build->stack[i]].def->name);

        used += written > 0 ? (size_t)written : 0;
    }
    return REFUSE(build, "tasks wait for each other in a circle: %.*s\"%s\"",
                  (int)sizeof text, text,
                  build->plan->tasks[build->stack[first]].def->name);
}

enum { MARK_NEW = 0, MARK_OPEN = 1, MARK_CLOSED = 2 };

/* Depth first from @root with a stack of our own; @edges holds the next edge of each.
 */
static cpt_status find_circle(struct cpti_build *build, uint32_t root, uint32_t *edges)
{
    const struct cpt_plan *plan = build->plan;
    uint32_t depth = 0;

    build->stack[depth] = root;
    edges[depth++] = 0;
    build->marks[root] = MARK_OPEN;
    while (depth > 0) {
        const struct cpti_plan_task *task = &plan->tasks[build->stack[depth - 1]];
        uint32_t target = 0;

        if (edges[depth - 1] == task->input_count + task->start_count) {
            build->marks[build->stack[--depth]] = MARK_CLOSED;
            continue;
        }
        target = edge_target(plan, task, edges[depth - 1]++);
        if (target == CPTI_NO_TASK || build->marks[target] == MARK_CLOSED) {
            continue;
        }
        if (build->marks[target] == MARK_OPEN) {
            uint32_t first = 0;

            while (build->stack[first] != target) {
                first++;
            }
            return refuse_circle(build, first, depth);
        }
        build->marks[target] = MARK_OPEN;
        build->stack[depth] = target;
        edges[depth++] = 0;
    }
    return CPT_OK;
}

static cpt_status check_circles(struct cpti_build *build)
{
    uint32_t *edges = cpti_build_take(build, build->plan->task_count, sizeof *edges);
    cpt_status status = edges != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (uint32_t i = 0; status == CPT_OK && i < build->plan->task_count; i++) {
        if (build->marks[i] == MARK_NEW) {
            status = find_circle(build, i, edges);
        }
    }
    return status;
}

/* --- Which tasks run, and when --- */

/* Marks @index as of use; the ones it needs, and those it may start, follow. */
static void reach(struct cpti_build *build, uint32_t index, int is_eager,
                  uint32_t *depth)
{
    struct cpti_plan_task *task = &build->plan->tasks[index];

    if (is_eager) {
        task->is_eager = 1;
    }
    if (build->marks[index] == 0) {
        build->marks[index] = 1;
        build->stack[(*depth)++] = index;
    }
}

static cpt_status find_eager(struct cpti_build *build)
{
    struct cpt_plan *plan = build->plan;
    uint32_t depth = 0;

    memset(build->marks, 0, plan->task_count);
    reach(build, plan->output_task, true, &depth);
    while (depth > 0) {
        const struct cpti_plan_task *task = &plan->tasks[build->stack[--depth]];

        for (uint32_t i = 0; i < task->input_count + task->start_count; i++) {
            const uint32_t target = edge_target(plan, task, i);

            if (target != CPTI_NO_TASK) {
                reach(build, target, i < task->input_count, &depth);
            }
        }
    }
    for (uint32_t i = 0; i < plan->task_count; i++) {
        if (build->marks[i] == 0) {
            return REFUSE(
                build,
                "task \"%s\" is of no use: nothing that leads to output \"%s\" "
                "needs or starts what it gives",
                plan->tasks[i].def->name, build->graph->output->name);
        }
    }
    return CPT_OK;
}

/* What the output is made from: without one of these there is no answer. */
static void find_required(struct cpti_build *build)
{
    struct cpt_plan *plan = build->plan;
    uint32_t depth = 0;

    plan->tasks[plan->output_task].is_required = 1;
    build->stack[depth++] = plan->output_task;
    while (depth > 0) {
        const struct cpti_plan_task *task = &plan->tasks[build->stack[--depth]];

        for (uint32_t i = 0; i < task->need_count; i++) {
            const uint32_t giver = plan->slots[task->input_slots[i]].giver;

            if (giver != CPTI_NO_TASK && !plan->tasks[giver].is_required) {
                plan->tasks[giver].is_required = 1;
                build->stack[depth++] = giver;
            }
        }
    }
}

/* How many inputs every task waits for, and how many wait for what it gives. Returns
 * the number of all inputs. */
static size_t count_links(struct cpt_plan *plan)
{
    size_t edge_count = 0;

    for (uint32_t i = 0; i < plan->task_count; i++) {
        struct cpti_plan_task *task = &plan->tasks[i];

        task->missing_input_count = task->is_eager ? 0 : 1; /* the start itself */
        for (uint32_t k = 0; k < task->input_count; k++) {
            const uint32_t giver = plan->slots[task->input_slots[k]].giver;

            if (giver != CPTI_NO_TASK) {
                plan->steps[giver].successor_count++;
                edge_count++;
                task->missing_input_count++;
            }
        }
        plan->first_task_count += task->missing_input_count == 0;
    }
    return edge_count;
}

static cpt_status take_links(struct cpti_build *build, size_t edge_count)
{
    struct cpt_plan *plan = build->plan;
    uint32_t *links = cpti_build_take(build, edge_count, sizeof *links);

    plan->first_tasks =
        cpti_build_take(build, plan->first_task_count, sizeof(uint32_t));
    plan->first_task_count = 0;
    if (links == NULL || plan->first_tasks == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < plan->task_count; i++) {
        plan->steps[i].successors = links;
        links += plan->steps[i].successor_count;
        plan->steps[i].successor_count = 0;
    }
    return CPT_OK;
}

/* Links each task to those that need it, and finds those that a request begins with. */
static cpt_status link_tasks(struct cpti_build *build)
{
    struct cpt_plan *plan = build->plan;
    const cpt_status status = take_links(build, count_links(plan));

    for (uint32_t i = 0; status == CPT_OK && i < plan->task_count; i++) {
        struct cpti_plan_task *task = &plan->tasks[i];

        for (uint32_t k = 0; k < task->input_count; k++) {
            const uint32_t giver = plan->slots[task->input_slots[k]].giver;

            if (giver != CPTI_NO_TASK) {
                plan->steps[giver].successors[plan->steps[giver].successor_count++] =
                    i | (task->missing_input_count == 1 ? CPTI_ONLY_INPUT : 0) |
                    (k >= task->need_count ? CPTI_WANTED : 0);
            }
        }
        if (plan->steps[i].is_startable) {
            task->demand_index = plan->demand_count++;
        }
        if (task->missing_input_count == 0) {
            plan->first_tasks[plan->first_task_count++] = i;
        }
    }
    return status;
}

cpt_status cpti_build_link(struct cpti_build *build)
{
    cpt_status status = check_circles(build);

    if (status == CPT_OK) {
        status = find_eager(build);
    }
    if (status != CPT_OK) {
        return status;
    }
    find_required(build);
    return link_tasks(build);
}
