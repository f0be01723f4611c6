/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_schedule.c - list scheduling of recorded steps; see whatif_queue.c
 *
 * Events in the order of time: a node ends, a stint is no longer held, a request
 * begins. When all events of a moment are done, the workers whose stints ended are
 * free, and take what is first in the queue. What they begin may end in the same
 * moment; then this repeats.
 *
 * A step goes on without a queue if it is ready in the moment in which the step before
 * it in its task ends. It may be that only what a free worker began then makes it
 * ready: it has its worker all the same, and one fewer is free.
 */
#include "cpt/whatif/whatif_queue.h"

#include <string.h>

/* --- Heaps --- */

static bool is_before(const struct event *left, const struct event *right)
{
    if (left->at_ns != right->at_ns) {
        return left->at_ns < right->at_ns;
    }
    return left->order != right->order ? left->order < right->order
                                       : left->node < right->node;
}

static cpt_status push(struct whatif_queues *queues, struct heap *heap,
                       struct event event)
{
    const cpt_status status = cpt_alloc_grow(
        cpti_whatif_alloc(queues), (void **)&heap->events, &heap->capacity,
        heap->count + 1, SIZE_MAX / 64, sizeof *heap->events);
    size_t at = heap->count;

    if (status != CPT_OK) {
        return status;
    }
    heap->count++;
    for (; at != 0 && is_before(&event, &heap->events[(at - 1) / 2]);
         at = (at - 1) / 2) {
        heap->events[at] = heap->events[(at - 1) / 2];
    }
    heap->events[at] = event;
    return CPT_OK;
}

static struct event pop(struct heap *heap)
{
    const struct event first = heap->events[0];
    const struct event last = heap->events[--heap->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= heap->count) {
            break;
        }
        child += child + 1 < heap->count &&
                 is_before(&heap->events[child + 1], &heap->events[child]);
        if (!is_before(&heap->events[child], &last)) {
            break;
        }
        heap->events[at] = heap->events[child];
        at = child;
    }
    heap->events[at] = last;
    return first;
}

/* --- Outputs --- */

/* The changed dag of request @number, and the outputs of its nodes. */
static cpt_status open_request(struct whatif_queues *queues, size_t number)
{
    struct cpt_whatif_plan *plan = queues->plan;
    const struct whatif_request *request = &plan->whatif->requests[number];
    uint32_t *out = &queues->out[request->first];
    struct whatif_view view;
    cpt_status status = cpti_whatif_view(plan, number, &view);
    uint32_t *to = NULL;

    if (status == CPT_OK) {
        status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->to,
                                &queues->to_capacity,
                                queues->to_count + view.first[request->node_count] + 1,
                                SIZE_MAX / 64, sizeof *queues->to);
    }
    if (status != CPT_OK) {
        return status;
    }
    queues->edge_begin[number] = queues->to_count;
    to = &queues->to[queues->to_count];
    queues->to_count += view.first[request->node_count];
    memcpy(&queues->duration_ns[request->node], view.duration_ns,
           request->node_count * sizeof *queues->duration_ns);
    memset(out, 0, ((size_t)request->node_count + 1) * sizeof *out);
    for (uint32_t i = 0; i < request->node_count; i++) {
        queues->open[request->node + i] = view.first[i + 1] - view.first[i];
        for (uint32_t j = view.first[i]; j < view.first[i + 1]; j++) {
            out[view.from[j]]++;
        }
    }
    for (uint32_t i = 1; i <= request->node_count; i++) {
        out[i] += out[i - 1];
    }
    for (uint32_t i = request->node_count; i-- != 0;) {
        for (uint32_t j = view.first[i]; j < view.first[i + 1]; j++) {
            to[--out[view.from[j]]] = i;
        }
    }
    cpti_whatif_drop_queues(queues, request);
    return CPT_OK;
}

/* --- Events --- */

static uint64_t later(uint64_t at_ns, uint64_t by_ns)
{
    return by_ns < INT64_MAX - at_ns ? at_ns + by_ns : INT64_MAX;
}

static uint64_t moved(uint64_t at_ns, int64_t by_ns)
{
    if (by_ns >= 0) {
        return later(at_ns, (uint64_t)by_ns);
    }
    return -(uint64_t)by_ns < at_ns ? at_ns + (uint64_t)by_ns : 0;
}

static cpt_status end_at(struct whatif_queues *queues, size_t number, size_t node,
                         uint64_t begin_ns)
{
    const struct event event = {later(begin_ns, queues->duration_ns[node]), node,
                                number, FINISHES};

    return push(queues, &queues->events, event);
}

/* The step @node is ready, and has no worker. */
static cpt_status enqueue(struct whatif_queues *queues, size_t number, size_t node,
                          uint64_t now_ns)
{
    const struct whatif_request *request = &queues->plan->whatif->requests[number];
    const struct event stint = {now_ns, node, queues->order[node], ELIGIBLE};

    return push(
        queues,
        &queues->executors[cpti_whatif_line(queues, request, node)->executor].queue,
        stint);
}

/* All inputs of @node have come. */
static cpt_status make_ready(struct whatif_queues *queues, size_t number, size_t node,
                             uint64_t now_ns)
{
    const struct whatif_request *request = &queues->plan->whatif->requests[number];
    const uint32_t position = queues->before[node];
    const size_t before =
        position != CPT_DAG_NONE ? request->node + position : SIZE_MAX;

    queues->ready_ns[node] = now_ns;
    if (!cpti_whatif_is_on_worker(queues, request, node)) {
        return end_at(queues, number, node, now_ns);
    }
    if (before != SIZE_MAX && cpti_whatif_is_on_worker(queues, request, before) &&
        queues->open[before] == UINT32_MAX && queues->finish_ns[before] == now_ns) {
        if ((queues->state[before] & RELEASED) != 0) {
            queues->executors[cpti_whatif_line(queues, request, node)->executor]
                .free_count--;
        }
        queues->state[before] |= CONTINUED;
        return end_at(queues, number, node, now_ns);
    }
    if (queues->held_ns[node] != 0) {
        return push(queues, &queues->events,
                    (struct event){later(now_ns, queues->held_ns[node]), node, number,
                                   ELIGIBLE});
    }
    return enqueue(queues, number, node, now_ns);
}

/* @node ends. open is UINT32_MAX from now on. */
static cpt_status finish(struct whatif_queues *queues, size_t number, size_t node,
                         uint64_t now_ns)
{
    const struct whatif_request *request = &queues->plan->whatif->requests[number];
    const uint32_t *out = &queues->out[request->first];
    const uint32_t *to = &queues->to[queues->edge_begin[number]];
    const size_t position = node - request->node;
    cpt_status status = CPT_OK;

    queues->finish_ns[node] = now_ns;
    queues->open[node] = UINT32_MAX;
    if (cpti_whatif_is_on_worker(queues, request, node)) {
        status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->ended,
                                &queues->ended_capacity, 2 * queues->ended_count + 2,
                                SIZE_MAX / 64, sizeof *queues->ended);
        if (status == CPT_OK) {
            queues->ended[2 * queues->ended_count] = node;
            queues->ended[2 * queues->ended_count++ + 1] = number;
        }
    }
    for (uint32_t j = out[position]; j < out[position + 1] && status == CPT_OK; j++) {
        const size_t next = request->node + to[j];

        /* what a negative delay lets end earlier may come after what ends later */
        if (queues->ready_ns[next] < now_ns) {
            queues->ready_ns[next] = now_ns;
        }
        if (--queues->open[next] == 0) {
            status = make_ready(queues, number, next, queues->ready_ns[next]);
        }
    }
    return status;
}

static cpt_status begin(struct whatif_queues *queues, size_t number, uint64_t now_ns)
{
    const struct whatif_request *request = &queues->plan->whatif->requests[number];
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < request->node_count && status == CPT_OK; i++) {
        if (queues->open[request->node + i] == 0) {
            status = make_ready(queues, number, request->node + i, now_ns);
        }
    }
    return status;
}

/* The workers of stints that ended and did not go on are free. */
static void release(struct whatif_queues *queues)
{
    for (size_t i = 0; i < queues->ended_count; i++) {
        const size_t node = queues->ended[2 * i];
        const struct whatif_request *request =
            &queues->plan->whatif->requests[queues->ended[2 * i + 1]];

        if ((queues->state[node] & CONTINUED) == 0) {
            queues->state[node] |= RELEASED;
            queues->executors[cpti_whatif_line(queues, request, node)->executor]
                .free_count++;
        }
    }
    queues->ended_count = 0;
}

/* Gives a free worker of @executor to what is first in its queue. */
static cpt_status grant(struct whatif_queues *queues, struct executor *executor,
                        uint64_t now_ns)
{
    const size_t node = pop(&executor->queue).node;
    const uint64_t ready_ns = queues->ready_ns[node];
    uint64_t begin_ns = moved(now_ns, queues->delay_ns[node]);

    begin_ns = begin_ns > ready_ns ? begin_ns : ready_ns;
    executor->free_count--;
    queues->wait_ns[node] = begin_ns - ready_ns;
    return end_at(queues, queues->request_of[node], node, begin_ns);
}

/* Whether what is first in the queue of @executor ends in this moment, if it begins. */
static bool is_quick(const struct whatif_queues *queues,
                     const struct executor *executor)
{
    const size_t node = executor->queue.events[0].node;

    return queues->delay_ns[node] == 0 && queues->duration_ns[node] == 0;
}

/* Free workers take what is first in their queues. First of all what takes no time,
 * since it may put another in front of those that are ready in the same moment. */
static cpt_status dispatch(struct whatif_queues *queues, uint64_t now_ns)
{
    struct executor *slow = NULL;

    for (size_t i = 0; i < queues->busy_count; i++) {
        struct executor *executor = &queues->executors[queues->busy[i]];

        if (executor->queue.count == 0 || executor->free_count <= 0) {
            continue;
        }
        if (is_quick(queues, executor)) {
            return grant(queues, executor, now_ns);
        }
        slow = slow != NULL ? slow : executor;
    }
    return slow != NULL ? grant(queues, slow, now_ns) : CPT_END;
}

static cpt_status handle(struct whatif_queues *queues, const struct event *event)
{
    switch (event->what) {
    case FINISHES:
        return finish(queues, event->order, event->node, event->at_ns);
    case ELIGIBLE:
        return enqueue(queues, event->order, event->node, event->at_ns);
    default:
        return begin(queues, event->order, event->at_ns);
    }
}

/* All events of this moment. */
static cpt_status handle_all(struct whatif_queues *queues, uint64_t now_ns)
{
    cpt_status status = CPT_OK;

    while (queues->events.count != 0 && queues->events.events[0].at_ns == now_ns &&
           status == CPT_OK) {
        const struct event event = pop(&queues->events);

        status = handle(queues, &event);
    }
    return status;
}

static cpt_status run(struct whatif_queues *queues)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < queues->busy_count; i++) {
        struct executor *executor = &queues->executors[queues->busy[i]];

        executor->free_count = (int64_t)executor->worker_count;
    }
    while (queues->events.count != 0 && status == CPT_OK) {
        const uint64_t now_ns = queues->events.events[0].at_ns;

        do {
            status = handle_all(queues, now_ns);
            release(queues);
            if (status == CPT_OK) {
                status = dispatch(queues, now_ns);
            }
        } while (status == CPT_OK);
        status = status == CPT_END ? CPT_OK : status;
    }
    return status;
}

/* --- All of it --- */

static cpt_status list_executors(struct whatif_queues *queues)
{
    cpt_status status = CPT_OK;
    size_t capacity = 0;

    for (size_t i = 1; i < queues->executor_count && status == CPT_OK; i++) {
        if (queues->executors[i].recorded_count != 0) {
            status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->busy,
                                    &capacity, queues->busy_count + 1, SIZE_MAX / 64,
                                    sizeof *queues->busy);
            if (status == CPT_OK) {
                queues->busy[queues->busy_count++] = i;
            }
        }
    }
    return status;
}

/* The times of a request begin with its arrival. */
static void settle(struct whatif_queues *queues)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;

    for (size_t i = 0; i < whatif->request_count; i++) {
        const struct whatif_request *request = &whatif->requests[i];
        const uint64_t arrival_ns = cpti_whatif_arrival(queues, request);

        for (uint32_t k = 0; k < request->node_count; k++) {
            queues->finish_ns[request->node + k] -= arrival_ns;
        }
    }
}

cpt_status cpti_whatif_schedule(struct whatif_queues *queues)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;
    cpt_status status = list_executors(queues);

    for (size_t i = 0; i < whatif->request_count && status == CPT_OK; i++) {
        const struct whatif_request *request = &whatif->requests[i];
        const struct event event = {cpti_whatif_arrival(queues, request), request->node,
                                    i, BEGINS};

        for (uint32_t k = 0; k < request->node_count; k++) {
            queues->request_of[request->node + k] = (uint32_t)i;
        }
        status = open_request(queues, i);
        if (status == CPT_OK) {
            status = push(queues, &queues->events, event);
        }
        if (status == CPT_OK && !queues->is_together) {
            status = run(queues);
        }
    }
    if (status == CPT_OK && queues->is_together) {
        status = run(queues);
    }
    settle(queues);
    return status;
}

const uint64_t *cpti_whatif_queues_result(const struct cpt_whatif_plan *plan,
                                          size_t request, struct whatif_view *view)
{
    const struct whatif_queues *queues = plan->queues;
    const size_t node = plan->whatif->requests[request].node;

    view->duration_ns = &queues->duration_ns[node];
    view->wait_ns = &queues->wait_ns[node];
    return &queues->finish_ns[node];
}

bool cpti_whatif_queues_is_too_long(const struct cpt_whatif_plan *plan, size_t request,
                                    uint64_t latency_ns)
{
    const uint64_t arrival_ns =
        cpti_whatif_arrival(plan->queues, &plan->whatif->requests[request]);

    return latency_ns >= INT64_MAX - arrival_ns;
}
