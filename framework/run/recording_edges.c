/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * recording_edges.c - which wait needed what, of a request that keeps its edges
 *
 * What comes while its task waits for it belongs to that wait. What comes before is
 * held in the list of its task until a wait asks for it:
 *
 *      task   [ issues a, b ][ waits for b ][ asks for all ]
 *      a                  comes --------------> edge to "asks for all", a wait of 0 ns
 *      b                                  comes, ends the wait: its edge
 *
 * A wait that had nothing to wait for is noted only if it asked for something that had
 * come, so that the edge has a place to arrive at. The walk passes over it.
 *
 * If a wait needs k of n, the first k have edges; the others are spares of it, and may
 * still be asked for by another wait.
 *
 * All is guarded by the lock of the request, and lies among its notes.
 */
#include "framework/run/recording.h"

/* What came for @task, which is traced; NULL: it has no record, or there is no memory
 * for it, which is counted. */
static struct cpti_came *came_of(const struct cpt_task *task)
{
    struct cpti_task_trace *traced = task->trace;

    if (traced == NULL || cpti_record_is_over(task->request)) {
        return NULL;
    }
    if (traced->came == NULL) {
        traced->came = cpt_arena_take(&task->request->notes, sizeof *traced->came);
        if (traced->came == NULL) {
            cpti_record_lost(task->request);
        }
    }
    return traced->came;
}

/* An edge from @pending to @task, in no list; NULL: there is no memory for it, which is
 * counted. */
static struct cpti_edge *new_edge(const struct cpt_task *task,
                                  const struct cpt_pending *pending)
{
    struct cpti_edge *edge = cpt_arena_take(&task->request->notes, sizeof *edge);

    if (edge == NULL) {
        cpti_record_lost(task->request);
        return NULL;
    }
    task->request->noted_count++;
    edge->pending = pending;
    edge->call = pending->call;
    edge->giver = pending->stands_for;
    edge->waiter = task->trace->number + 1;
    return edge;
}

static void append(struct cpti_edges *edges, struct cpti_edge *edge)
{
    edge->next = NULL;
    *(edges->newest != NULL ? &edges->newest->next : &edges->oldest) = edge;
    edges->newest = edge;
}

/* @edge arrives at the wait of @task. */
static void arrive(struct cpt_task *task, struct cpti_edge *edge)
{
    struct cpt_request *request = task->request;

    edge->await = task->await;
    append(&task->trace->came->arrived, edge);
    if (edge->is_spare) {
        return;
    }
    if (edge->call != NULL) {
        ((struct cpti_call *)edge->call)->waiter = edge->waiter;
    } else {
        cpti_request_demand(request, edge->giver - 1)->waiter = (uint16_t)edge->waiter;
    }
}

/* The wait of @task did not need @pending. */
static void arrive_spare(struct cpt_task *task, const struct cpt_pending *pending)
{
    struct cpti_edge *edge = NULL;

    if (pending->call == NULL && pending->stands_for == 0) {
        return;
    }
    edge = new_edge(task, pending);
    if (edge != NULL) {
        edge->is_spare = true;
        arrive(task, edge);
    }
}

/* --- What is asked for --- */

/* @task begins to ask: nothing belongs to its wait yet. */
static void begin_ask(const struct cpt_task *task, struct cpti_came *came)
{
    came->await_number = task->await_number;
    came->asked_count = 0;
    came->spare_count = 0;
}

static void ask_for(struct cpti_came *came, struct cpti_edge *edge, bool is_spare)
{
    edge->await_number = came->await_number;
    edge->is_spare = is_spare;
    came->asked_count++;
}

void cpti_edges_ask_all(struct cpt_task *task)
{
    struct cpti_came *came = came_of(task);

    if (came == NULL) {
        return;
    }
    begin_ask(task, came);
    for (struct cpti_edge *edge = came->held.oldest; edge != NULL; edge = edge->next) {
        ask_for(came, edge, false);
    }
}

void cpti_edges_ask(struct cpt_task *task, size_t wanted_count, size_t ended_count,
                    size_t outstanding_count)
{
    struct cpti_came *came = came_of(task);
    struct cpti_edge *edge = NULL;
    size_t earlier_count = 0; /* waits before this one needed them, too */

    if (came == NULL) {
        return;
    }
    begin_ask(task, came);
    for (edge = came->held.oldest; edge != NULL && came->asked_count < ended_count;
         edge = edge->next) {
        if (edge->pending->await_number == task->await_number) {
            ask_for(came, edge, false);
        }
    }
    earlier_count = ended_count - came->asked_count;
    wanted_count -= wanted_count < earlier_count ? wanted_count : earlier_count;
    for (struct cpti_edge *asked = came->held.oldest; asked != edge;
         asked = asked->next) {
        if (asked->await_number == task->await_number) { /* the first ones count */
            asked->is_spare = wanted_count == 0;
            wanted_count -= wanted_count != 0;
        }
    }
    came->spare_count =
        (uint32_t)(outstanding_count > wanted_count ? outstanding_count - wanted_count
                                                    : 0);
}

/* --- What comes --- */

/* @edge is held until a wait asks for it. */
static void hold(const struct cpt_task *task, struct cpti_came *came,
                 struct cpti_edge *edge)
{
    if (came->held_count == CPTI_CAME_MAX) {
        cpti_record_lost(task->request);
        return;
    }
    append(&came->held, edge);
    came->held_count++;
    if (edge->pending->await_number == came->await_number && came->await_number != 0) {
        ask_for(came, edge, task->wanted_count == 0);
    }
}

void cpti_edges_came(const struct cpt_pending *pending, uint64_t arrive_ns)
{
    struct cpt_task *task = pending->task;
    struct cpti_came *came = came_of(task);
    struct cpti_edge *edge = NULL;

    if (came == NULL || (pending->call == NULL && pending->stands_for == 0)) {
        return;
    }
    edge = new_edge(task, pending);
    if (edge == NULL) {
        return;
    }
    edge->arrive_ns = arrive_ns;
    if (task->is_waiting && task->wanted_count != 0 &&
        pending->await_number == task->await_number) {
        arrive(task, edge);
    } else {
        hold(task, came, edge);
    }
}

/* --- Waits --- */

void cpti_edges_block(struct cpt_task *task)
{
    struct cpti_came *came = came_of(task);
    struct cpti_edge **place = came != NULL ? &came->held.oldest : NULL;
    struct cpti_edge *before = NULL;

    if (came == NULL || came->await_number != task->await_number) {
        return; /* it has asked for nothing that had come */
    }
    while (*place != NULL && came->asked_count != 0) {
        struct cpti_edge *edge = *place;

        if (edge->await_number != task->await_number || edge->is_spare) {
            if (edge->await_number == task->await_number) {
                arrive_spare(task, edge->pending);
                came->asked_count--;
            }
            before = edge;
            place = &edge->next;
            continue;
        }
        *place = edge->next;
        came->held.newest = came->held.newest == edge ? before : came->held.newest;
        came->held_count--;
        came->asked_count--;
        arrive(task, edge);
    }
}

/* A wait of @task at @now_ns, which takes no time. */
static void note_pass(struct cpt_task *task, uint64_t now_ns)
{
    cpti_record_block(task, now_ns);
    if (task->await == NULL) {
        return; /* there is no memory for it */
    }
    task->await->arrive_ns = now_ns;
    cpti_edges_over(task);
    cpti_record_resume(task, now_ns, false);
}

void cpti_edges_pass(struct cpt_task *task, uint64_t now_ns)
{
    const struct cpti_came *came = came_of(task);
    uint64_t last_ns = 0; /* what it needs had come */
    uint32_t left = 0;

    if (came == NULL || came->await_number != task->await_number) {
        return;
    }
    left = came->asked_count;
    for (const struct cpti_edge *edge = came->held.oldest; edge != NULL && left != 0;
         edge = edge->next) {
        if (edge->await_number == task->await_number) {
            left--;
            last_ns = !edge->is_spare && edge->arrive_ns > last_ns ? edge->arrive_ns
                                                                   : last_ns;
        }
    }
    if (last_ns != 0) {
        note_pass(task, now_ns > last_ns ? now_ns : last_ns);
    }
}

void cpti_edges_pass_one(struct cpt_task *task, const struct cpt_pending *pending)
{
    struct cpti_came *came = came_of(task);
    struct cpti_edge *edge = came != NULL ? came->held.oldest : NULL;

    while (edge != NULL && edge->pending != pending) {
        edge = edge->next;
    }
    if (edge != NULL) {
        const uint64_t now_ns = cpti_record_now(task->request);

        task->await_number++;
        begin_ask(task, came);
        ask_for(came, edge, false);
        note_pass(task, now_ns > edge->arrive_ns ? now_ns : edge->arrive_ns);
    }
}

/* Up to @count of what is outstanding of the wait of @task are spares of it. */
static void add_spares(struct cpt_task *task, size_t count)
{
    for (struct cpt_pending *pending = task->oldest; pending != NULL && count != 0;
         pending = pending->next) {
        if (pending->await_number == task->await_number) {
            arrive_spare(task, pending);
            count--;
        }
    }
}

void cpti_edges_over(struct cpt_task *task)
{
    struct cpti_came *came = task->await != NULL ? came_of(task) : NULL;

    if (came != NULL && came->await_number == task->await_number &&
        came->spare_count != 0) {
        add_spares(task, came->spare_count);
        came->spare_count = 0;
    }
}

void cpti_edges_give_up(struct cpt_task *task)
{
    if (task->await != NULL && came_of(task) != NULL) {
        add_spares(task, SIZE_MAX);
    }
}
