/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_queue.c - queues that are replayed: steps on the workers of their executors
 *
 * A *stint* is what a task does on a worker without leaving it: steps that follow each
 * other at once. Recorded of it are when it was ready (t), began (s) and ended:
 *
 *      ready t      granted g   begins s            ends
 *        |  others work  |  why?   |===== works =====|
 *        [------- queue -----------]
 *
 * The workers of an executor are as many as the recorded stints that ran at once. In
 * the order in which they began, each stint takes the worker that is free first, at g;
 * what it waited from g to s, nothing that was recorded explains (other requests, a
 * processor that was busy, the way to the worker). This time is its *delay*: it holds
 * the worker for it in each replay. If a stint was ready before another one that began
 * first, it was *held* until that one was ready.
 *
 * A replay is list scheduling: a stint that is ready, and no longer held, goes to the
 * end of the queue of its executor; the first one takes the next free worker. With the
 * recorded durations and workers, each stint is granted its worker at g again, by
 * induction over their order, so that every node ends when it was recorded to end.
 *
 * The requests of all services are replayed together, each from its recorded arrival
 * on, if all arrivals are known; otherwise each one alone.
 */
#include "cpt/whatif_queue.h"

#include <stdlib.h>
#include <string.h>

/* --- What was recorded --- */

static uint32_t kind_of(const struct whatif_queues *queues, size_t node)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;

    return whatif->frames[whatif->frame[node] & ~WHATIF_NOT_FIRST].kind;
}

bool cpti_whatif_is_on_worker(const struct whatif_queues *queues,
                              const struct whatif_request *request, size_t node)
{
    const struct whatif_line *line = cpti_whatif_line(queues, request, node);

    return line->is_call == 0 && line->executor != 0 &&
           kind_of(queues, node) == CPT_DAG_STEP;
}

/* What comes before each node in its line. */
static void find_lines(struct whatif_queues *queues,
                       const struct whatif_request *request, uint32_t *last)
{
    for (uint32_t i = 0; i < request->line_count; i++) {
        last[i] = CPT_DAG_NONE;
    }
    for (uint32_t i = 0; i < request->node_count; i++) {
        uint32_t *before = &last[queues->plan->whatif->line[request->node + i]];

        queues->before[request->node + i] = *before;
        *before = i;
    }
}

void cpti_whatif_drop_queues(struct whatif_queues *queues,
                             const struct whatif_request *request)
{
    for (uint32_t i = 0; i < request->node_count; i++) {
        const size_t node = request->node + i;
        const uint32_t before = queues->before[node];

        if (before != CPT_DAG_NONE && cpti_whatif_is_on_worker(queues, request, node) &&
            kind_of(queues, request->node + before) == CPT_DAG_QUEUE) {
            queues->duration_ns[request->node + before] = 0;
        }
    }
}

uint64_t cpti_whatif_arrival(const struct whatif_queues *queues,
                             const struct whatif_request *request)
{
    return queues->is_together ? request->arrival_ns - queues->begin_ns : 0;
}

static uint64_t last_input(const struct whatif_view *view, const uint64_t *finish_ns,
                           uint32_t position)
{
    uint64_t last_ns = 0;

    for (uint32_t j = view->first[position]; j < view->first[position + 1]; j++) {
        last_ns =
            finish_ns[view->from[j]] > last_ns ? finish_ns[view->from[j]] : last_ns;
    }
    return last_ns;
}

/* The stints of @request, after the others. @stint has the number of each line's. */
static cpt_status list_stints(struct whatif_queues *queues, size_t number,
                              size_t *stint)
{
    struct cpt_whatif_plan *plan = queues->plan;
    const struct whatif_view view = cpti_whatif_recorded(plan->whatif, number);
    const struct whatif_request *request = view.request;
    const uint64_t arrival_ns = cpti_whatif_arrival(queues, request);
    uint64_t *finish_ns = plan->finish_ns;
    uint64_t latency_ns = 0;
    uint32_t end = 0;
    cpt_status status = CPT_OK;

    (void)cpti_whatif_finish(&view, finish_ns, &latency_ns, &end);
    for (uint32_t i = 0; i < request->node_count && status == CPT_OK; i++) {
        const size_t node = request->node + i;
        const uint32_t before = queues->before[node];
        const uint64_t begin_ns = finish_ns[i] - view.duration_ns[i];
        uint64_t ready_ns = 0;

        if (!cpti_whatif_is_on_worker(queues, request, node)) {
            continue;
        }
        ready_ns = begin_ns;
        if (before != CPT_DAG_NONE &&
            cpti_whatif_is_on_worker(queues, request, request->node + before) &&
            finish_ns[before] == begin_ns) { /* goes on */
            queues->stints[stint[plan->whatif->line[node]]].end_ns =
                arrival_ns + finish_ns[i];
            continue;
        }
        if (before != CPT_DAG_NONE &&
            kind_of(queues, request->node + before) == CPT_DAG_QUEUE) {
            const uint64_t queued_ns = last_input(&view, finish_ns, before);

            ready_ns = finish_ns[before] == begin_ns ? queued_ns : begin_ns;
            for (uint32_t j = view.first[i]; j < view.first[i + 1]; j++) {
                const uint32_t from = view.from[j];

                if (from != before && finish_ns[from] > ready_ns) {
                    ready_ns = finish_ns[from];
                }
            }
        }
        status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->stints,
                                &queues->stint_capacity, queues->stint_count + 1,
                                SIZE_MAX / 64, sizeof *queues->stints);
        if (status == CPT_OK) {
            stint[plan->whatif->line[node]] = queues->stint_count;
            queues->stints[queues->stint_count++] =
                (struct stint){node, cpti_whatif_line(queues, request, node)->executor,
                               arrival_ns + ready_ns, arrival_ns + begin_ns,
                               arrival_ns + finish_ns[i]};
        }
    }
    return status;
}

static int compare_stints(const void *left, const void *right)
{
    const struct stint *a = left;
    const struct stint *b = right;

    if (a->executor != b->executor) {
        return a->executor < b->executor ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    if (a->ready_ns != b->ready_ns) {
        return a->ready_ns < b->ready_ns ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/* Moves the element at @at down to where it belongs in a heap of times. */
static void sift(uint64_t *ends, size_t count, size_t at)
{
    const uint64_t moved = ends[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= count) {
            break;
        }
        child += child + 1 < count && ends[child + 1] < ends[child];
        if (ends[child] >= moved) {
            break;
        }
        ends[at] = ends[child];
        at = child;
    }
    ends[at] = moved;
}

/* How many of the @count stints, which are sorted, run at once at most. Leaves the ends
 * of that many workers, all 0, in queues->ends. */
static cpt_status count_workers(struct whatif_queues *queues,
                                const struct stint *stints, size_t count,
                                size_t *workers)
{
    size_t busy = 0;
    cpt_status status = cpt_alloc_grow(cpti_whatif_alloc(queues),
                                       (void **)&queues->ends, &queues->end_capacity,
                                       count + 1, SIZE_MAX / 64, sizeof *queues->ends);

    *workers = 0;
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        while (busy != 0 && queues->ends[0] <= stints[i].begin_ns) {
            queues->ends[0] = queues->ends[--busy];
            if (busy != 0) {
                sift(queues->ends, busy, 0);
            }
        }
        queues->ends[busy++] = stints[i].end_ns;
        for (size_t at = busy - 1;
             at != 0 && queues->ends[at] < queues->ends[(at - 1) / 2];
             at = (at - 1) / 2) {
            const uint64_t kept = queues->ends[at];

            queues->ends[at] = queues->ends[(at - 1) / 2];
            queues->ends[(at - 1) / 2] = kept;
        }
        *workers = busy > *workers ? busy : *workers;
    }
    return status;
}

/* The delays of stints of one executor, which had @workers. */
static void find_delays(struct whatif_queues *queues, const struct stint *stints,
                        size_t count, size_t workers)
{
    uint64_t held_until_ns = 0;

    memset(queues->ends, 0, workers * sizeof *queues->ends);
    for (size_t i = 0; i < count; i++) {
        const struct stint *stint = &stints[i];
        uint64_t granted_ns = 0;

        held_until_ns =
            stint->ready_ns > held_until_ns ? stint->ready_ns : held_until_ns;
        granted_ns = queues->ends[0] > held_until_ns ? queues->ends[0] : held_until_ns;
        queues->order[stint->node] = i;
        queues->held_ns[stint->node] = held_until_ns - stint->ready_ns;
        queues->delay_ns[stint->node] =
            stint->begin_ns > granted_ns ? stint->begin_ns - granted_ns : 0;
        queues->ends[0] = stint->end_ns;
        sift(queues->ends, workers, 0);
    }
}

/* The stints that were listed, of one request or of all; the workers of each executor
 * first. */
static cpt_status learn(struct whatif_queues *queues, bool knows_workers)
{
    size_t begin = 0;
    cpt_status status = CPT_OK;

    if (queues->stint_count != 0) {
        qsort(queues->stints, queues->stint_count, sizeof *queues->stints,
              compare_stints);
    }
    while (begin < queues->stint_count && status == CPT_OK) {
        struct executor *executor = &queues->executors[queues->stints[begin].executor];
        size_t end = begin;
        size_t workers = 0;

        while (end < queues->stint_count &&
               queues->stints[end].executor == queues->stints[begin].executor) {
            end++;
        }
        status = count_workers(queues, &queues->stints[begin], end - begin, &workers);
        if (workers > executor->recorded_count) {
            executor->recorded_count = workers;
        }
        if (status == CPT_OK && knows_workers) {
            status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->ends,
                                    &queues->end_capacity, executor->recorded_count,
                                    SIZE_MAX / 64, sizeof *queues->ends);
        }
        if (status == CPT_OK && knows_workers) {
            find_delays(queues, &queues->stints[begin], end - begin,
                        executor->recorded_count);
        }
        begin = end;
    }
    queues->stint_count = 0;
    return status;
}

static cpt_status learn_all(struct whatif_queues *queues)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;
    size_t *stint = cpt_alloc_array(whatif->alloc, NULL, (size_t)whatif->line_max + 1,
                                    sizeof *stint);
    cpt_status status = stint != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < whatif->request_count && status == CPT_OK; i++) {
            status = list_stints(queues, i, stint);
            if (status == CPT_OK && !queues->is_together) {
                status = learn(queues, round == 1);
            }
        }
        if (status == CPT_OK && queues->is_together) {
            status = learn(queues, round == 1);
        }
    }
    cpt_alloc_free(whatif->alloc, stint);
    return status;
}

/* --- Making --- */

static void find_arrivals(struct whatif_queues *queues)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;
    uint64_t first_ns = UINT64_MAX;
    uint64_t last_ns = 0;

    for (size_t i = 0; i < whatif->request_count; i++) {
        const uint64_t at_ns = whatif->requests[i].arrival_ns;

        first_ns = at_ns < first_ns ? at_ns : first_ns;
        last_ns = at_ns > last_ns ? at_ns : last_ns;
    }
    queues->is_together = first_ns != 0 && last_ns - first_ns < INT64_MAX / 2;
    queues->begin_ns = first_ns;
}

static cpt_status take_memory(struct whatif_queues *queues)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;
    const size_t nodes = whatif->node_count + 1;
    struct {
        void **memory;
        size_t count;
        size_t element_bytes;
    } arrays[] = {
        {(void **)&queues->before, nodes, sizeof *queues->before},
        {(void **)&queues->duration_ns, nodes, sizeof *queues->duration_ns},
        {(void **)&queues->finish_ns, nodes, sizeof *queues->finish_ns},
        {(void **)&queues->wait_ns, nodes, sizeof *queues->wait_ns},
        {(void **)&queues->held_ns, nodes, sizeof *queues->held_ns},
        {(void **)&queues->delay_ns, nodes, sizeof *queues->delay_ns},
        {(void **)&queues->order, nodes, sizeof *queues->order},
        {(void **)&queues->ready_ns, nodes, sizeof *queues->ready_ns},
        {(void **)&queues->open, nodes, sizeof *queues->open},
        {(void **)&queues->state, nodes, 1},
        {(void **)&queues->request_of, nodes, sizeof *queues->request_of},
        {(void **)&queues->out, whatif->first_count + 1, sizeof *queues->out},
        {(void **)&queues->edge_begin, whatif->request_count + 1,
         sizeof *queues->edge_begin},
        {(void **)&queues->executors, queues->executor_count,
         sizeof *queues->executors},
    };

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i].memory = cpt_alloc_array(whatif->alloc, NULL, arrays[i].count,
                                            arrays[i].element_bytes);
        if (*arrays[i].memory == NULL) {
            return CPT_NO_MEMORY;
        }
        memset(*arrays[i].memory, 0, arrays[i].count * arrays[i].element_bytes);
    }
    memset(queues->order, 0xff, nodes * sizeof *queues->order);
    return CPT_OK;
}

/* The workers that the terms give, or those that were recorded. */
static void take_workers(struct whatif_queues *queues)
{
    const struct cpt_whatif_plan *plan = queues->plan;

    for (size_t i = 0; i < queues->executor_count; i++) {
        queues->executors[i].worker_count = queues->executors[i].recorded_count;
    }
    for (size_t i = 0; i < plan->term_count; i++) {
        for (size_t k = 1; k < queues->executor_count; k++) {
            if (plan->terms[i].verb == CPT_WHATIF_WORKERS &&
                cpti_whatif_has_executor(plan->whatif, &plan->terms[i], k - 1)) {
                queues->executors[k].worker_count = plan->terms[i].amount_ns;
            }
        }
    }
}

cpt_status cpti_whatif_queues_new(struct cpt_whatif_plan *plan)
{
    const struct cpt_whatif *whatif = plan->whatif;
    struct whatif_queues *queues = cpt_alloc_zeroed(whatif->alloc, sizeof *queues);
    uint32_t *last = cpt_alloc_array(whatif->alloc, NULL, (size_t)whatif->line_max + 1,
                                     sizeof *last);
    cpt_status status = queues != NULL && last != NULL ? CPT_OK : CPT_NO_MEMORY;

    plan->queues = queues;
    if (status == CPT_OK) {
        queues->plan = plan;
        queues->executor_count = cpt_whatif_executor_count(whatif) + 1;
        find_arrivals(queues);
        status = take_memory(queues);
    }
    for (size_t i = 0; i < whatif->request_count && status == CPT_OK; i++) {
        find_lines(queues, &whatif->requests[i], last);
    }
    if (status == CPT_OK) {
        status = learn_all(queues);
    }
    if (status == CPT_OK) {
        take_workers(queues);
        status = cpti_whatif_schedule(queues);
    }
    cpt_alloc_free(whatif->alloc, last);
    return status;
}

void cpti_whatif_queues_free(struct cpt_whatif_plan *plan)
{
    const struct cpt_alloc *alloc = plan->whatif->alloc;
    struct whatif_queues *queues = plan->queues;

    if (queues == NULL) {
        return;
    }
    for (size_t i = 0; queues->executors != NULL && i < queues->executor_count; i++) {
        cpt_alloc_free(alloc, queues->executors[i].queue.events);
    }
    cpt_alloc_free(alloc, queues->executors);
    cpt_alloc_free(alloc, queues->before);
    cpt_alloc_free(alloc, queues->duration_ns);
    cpt_alloc_free(alloc, queues->finish_ns);
    cpt_alloc_free(alloc, queues->wait_ns);
    cpt_alloc_free(alloc, queues->held_ns);
    cpt_alloc_free(alloc, queues->delay_ns);
    cpt_alloc_free(alloc, queues->order);
    cpt_alloc_free(alloc, queues->ready_ns);
    cpt_alloc_free(alloc, queues->open);
    cpt_alloc_free(alloc, queues->state);
    cpt_alloc_free(alloc, queues->busy);
    cpt_alloc_free(alloc, queues->request_of);
    cpt_alloc_free(alloc, queues->out);
    cpt_alloc_free(alloc, queues->to);
    cpt_alloc_free(alloc, queues->edge_begin);
    cpt_alloc_free(alloc, queues->stints);
    cpt_alloc_free(alloc, queues->ended);
    cpt_alloc_free(alloc, queues->ends);
    cpt_alloc_free(alloc, queues->events.events);
    cpt_alloc_free(alloc, queues);
    plan->queues = NULL;
}
