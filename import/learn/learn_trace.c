/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_trace.c - the third pass: the waits and tasks of a node
 *
 * The first task of a visit is its span. An event goes on with the task that issued
 * what it comes behind, or, if that has done something else since, begins another task:
 *
 *      A   |------|                    task 1   =A==.......=C==
 *      B   |-----------|               task 2    \B===.........=end
 *      C             |---|
 *
 * Before an event the task computes, blocks, and goes on with the last end of what held
 * it:
 *
 *      p |==c==|.........m|==g==| t
 */
#include "import/learn/learn_inside.h"

#include <math.h>

/* --- Hidden work --- */

uint64_t cpti_learn_draw(const struct learn_fit *fit, int64_t held_ns,
                         uint64_t event_ns, uint64_t hash)
{
    static const double gap_min_ns = 1000;
    const double gap_ns = fit->gap_ns > gap_min_ns ? fit->gap_ns : gap_min_ns;
    const int64_t y = (int64_t)event_ns;
    double shares[LEARN_COLUMNS_MAX];
    double nearest = -1;
    double sum = 0;
    double drawn = 0;
    size_t largest = 0;

    if (fit->column_count == 0) {
        return 0;
    }
    for (size_t k = 0; k < fit->column_count; k++) {
        const int64_t from = fit->c_ns[k] > held_ns ? fit->c_ns[k] : held_ns;

        largest = fit->weights[k] > fit->weights[largest] ? k : largest;
        shares[k] = fit->c_ns[k] <= y && fit->weights[k] > 0 ? (double)(y - from) : -1;
        if (shares[k] >= 0 && (nearest < 0 || shares[k] < nearest)) {
            nearest = shares[k];
        }
    }
    if (nearest < 0) {
        return fit->c_ns[largest] < y ? (uint64_t)fit->c_ns[largest] : event_ns;
    }
    for (size_t k = 0; k < fit->column_count; k++) {
        shares[k] =
            shares[k] >= 0 ? fit->weights[k] * exp(-(shares[k] - nearest) / gap_ns) : 0;
        sum += shares[k];
    }
    drawn = (double)(hash >> 11) * 0x1p-53 * sum;
    for (size_t k = 0; k < fit->column_count; k++) {
        drawn -= shares[k];
        if (shares[k] > 0 && (drawn < 0 || k + 1 == fit->column_count)) {
            return (uint64_t)fit->c_ns[k];
        }
    }
    return (uint64_t)fit->c_ns[largest] < event_ns ? (uint64_t)fit->c_ns[largest]
                                                   : event_ns;
}

/* --- Tasks --- */

/* What is filled in. */
struct filling {
    struct cpti_learn *learn;
    struct cpti_making *making;
    uint32_t number; /* of the visit */
    struct cpti_visit *visit;
    bool has_begun; /* the first task has done something */
    struct cpt_trace_task *task;
};

static void begin_task(struct filling *filling, struct cpt_trace_task *unblocker,
                       uint64_t at_ns)
{
    struct cpt_trace_build *build = &filling->making->build;
    struct cpt_trace_task *task = cpt_trace_build_take(build, 1, sizeof *task);

    if (task != NULL) {
        task->name = filling->visit->task.name;
        task->begin = CPT_BEGIN_TASK;
        task->unblocker = unblocker;
        task->ready_ns = at_ns;
        task->start_ns = at_ns;
        task->occurrence = &filling->visit->task;
        filling->task = task;
        cpt_trace_build_task(build, task, filling->number);
    }
}

/* The task that goes on to @event. */
static void find_task(struct filling *filling, const struct learn_event *event)
{
    struct learn_node *node = &filling->learn->node;
    struct learn_call *behind = NULL;

    if (event->behind == LEARN_NONE) {
        filling->task = &filling->visit->task;
        if (filling->has_begun) {
            begin_task(filling, filling->task, node->begin_ns);
        }
        filling->has_begun = true;
        return;
    }
    behind = &node->calls[event->behind];
    filling->task = behind->task;
    if (!behind->is_tail) {
        begin_task(filling, behind->task, behind->start_ns);
    }
    behind->is_tail = false;
}

/* --- Waits --- */

/* A wait of the task, from @block_ns on, for what ended at @arrive_ns. */
static struct cpt_trace_await *add_await(struct filling *filling, uint64_t block_ns,
                                         uint64_t arrive_ns)
{
    struct cpt_trace_await *await =
        cpt_trace_build_take(&filling->making->build, 1, sizeof *await);

    if (await != NULL) {
        await->previous = filling->task->last_await;
        await->block_ns = block_ns;
        await->arrive_ns = arrive_ns;
        await->resume_ns = arrive_ns > block_ns ? arrive_ns : block_ns;
        filling->task->last_await = await;
    }
    return await;
}

/* The same for what held @event: the calls of @place, or all but these. When it was
 * over. */
static uint64_t await_held(struct filling *filling, const struct learn_event *event,
                           uint32_t place, bool is_rest, uint64_t block_ns)
{
    struct learn_node *node = &filling->learn->node;
    struct cpt_trace_await *await = add_await(filling, block_ns, 0);

    for (size_t i = 0; i < event->held_count && await != NULL; i++) {
        struct learn_call *held = &node->calls[node->held[event->held_at + i]];
        struct cpt_trace_call *call = &filling->making->calls[held->number].call;

        if ((held->place == place) == is_rest) {
            continue;
        }
        held->is_held = true;
        if (await->call == NULL || call->arrive_ns > await->arrive_ns) {
            await->call = call;
            await->arrive_ns = call->arrive_ns;
        }
        cpt_trace_build_arrival(&filling->making->build,
                                &(struct cpt_dag_arrival){.waiter = filling->task,
                                                          .call = call,
                                                          .arrive_ns = call->arrive_ns,
                                                          .await = await});
    }
    if (await == NULL) {
        return block_ns;
    }
    await->resume_ns = cpt_trace_over_ns(await);
    return await->resume_ns;
}

/* What the task did from @from_ns to @to_ns is a timer's. */
static void await_timer(struct filling *filling, uint64_t from_ns, uint64_t to_ns)
{
    struct cpt_trace_build *build = &filling->making->build;
    struct cpt_trace_await *await =
        from_ns < to_ns ? add_await(filling, from_ns, to_ns) : NULL;

    if (await != NULL) {
        await->call = cpt_trace_build_take(build, 1, sizeof *await->call);
    }
    if (await != NULL && await->call != NULL) {
        await->call->issuer = filling->task;
        await->call->issue_ns = from_ns;
        await->call->arrive_ns = to_ns;
        await->call->outcome = CPT_CALL_KIND;
    }
}

/* Whether a call of @place is among what held @event, and when it ended; the last end
 * of the others, or 0. */
static bool split(const struct learn_node *node, const struct learn_event *event,
                  uint32_t place, uint64_t *end_ns, uint64_t *rest_ns)
{
    bool is_there = false;

    *rest_ns = 0;
    for (size_t i = 0; i < event->held_count; i++) {
        const struct learn_call *held = &node->calls[node->held[event->held_at + i]];

        if (held->place == place) {
            *end_ns = held->end_ns;
            is_there = true;
        } else if (held->end_ns > *rest_ns) {
            *rest_ns = held->end_ns;
        }
    }
    return is_there;
}

/* What held event @number, if something did, and what the task computed before it
 * blocked. When it was over. */
static uint64_t fill_held(struct filling *filling, size_t number)
{
    struct cpti_learn *learn = filling->learn;
    struct learn_node *node = &learn->node;
    const struct learn_event *event = &node->events[number];
    const struct learn_fit *fit =
        event->is_timed ? NULL : cpti_learn_fit_of(node, number);
    uint64_t from_ns = event->behind_ns;
    uint64_t over_ns = event->behind_ns;
    uint64_t held_ns = event->held_ns;
    uint32_t anchor = 0;

    if (fit == NULL) {
        return await_held(filling, event, 0, true, over_ns);
    }
    if (fit->anchor != 0 && split(node, event, fit->anchor, &from_ns, &held_ns)) {
        anchor = fit->anchor;
        over_ns = await_held(filling, event, anchor, false, over_ns);
    }
    if (held_ns != 0) {
        const uint64_t hash =
            cpti_learn_event_hash(learn, filling->making, filling->number, number);
        const uint64_t block_ns =
            from_ns + cpti_learn_draw(fit, (int64_t)(held_ns - from_ns),
                                      event->at_ns - from_ns, hash);

        over_ns = await_held(filling, event, anchor, true,
                             block_ns > over_ns ? block_ns : over_ns);
    }
    return over_ns;
}

/* --- The node --- */

/* Calls end where they were cut. */
static void cut_calls(struct filling *filling)
{
    const struct learn_node *node = &filling->learn->node;

    for (size_t i = 0; i < node->count; i++) {
        struct cpti_visit_call *call = &filling->making->calls[node->calls[i].number];

        if (node->calls[i].is_cut) {
            call->is_cut = true;
            call->cut_ns += call->call.arrive_ns - node->calls[i].end_ns;
            call->call.arrive_ns = node->calls[i].end_ns;
        }
    }
}

/* What nothing waited for has a place in the dag, too. */
static void add_spares(struct filling *filling)
{
    const struct learn_node *node = &filling->learn->node;

    for (size_t i = 0; i < node->count; i++) {
        struct cpt_trace_call *call =
            &filling->making->calls[node->calls[i].number].call;

        if (!node->calls[i].is_held) {
            cpt_trace_build_arrival(
                &filling->making->build,
                &(struct cpt_dag_arrival){.waiter = filling->task,
                                          .call = call,
                                          .arrive_ns = call->arrive_ns,
                                          .is_spare = 1,
                                          .await = filling->task->last_await});
        }
    }
}

void cpti_learn_fill(struct cpti_learn *learn, struct cpti_making *making,
                     uint32_t number)
{
    struct learn_node *node = &learn->node;
    struct filling filling = {.learn = learn,
                              .making = making,
                              .number = number,
                              .visit = &making->visits[number]};

    cut_calls(&filling);
    for (size_t i = 0; i <= node->count; i++) {
        const struct learn_event *event = &node->events[i];
        uint64_t over_ns = event->behind_ns;

        find_task(&filling, event);
        if (event->held_count != 0) {
            over_ns = fill_held(&filling, i);
        }
        if (event->is_timed) {
            await_timer(&filling, over_ns, event->at_ns);
        }
        filling.task->end_ns = event->at_ns;
        if (i < node->count) {
            node->calls[i].task = filling.task;
            node->calls[i].is_tail = true;
            making->calls[node->calls[i].number].call.issuer = filling.task;
        }
    }
    filling.visit->trace.answered_by = filling.task;
    add_spares(&filling);
}
