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
 * A callee is recorded as if it had got its call when this was sent: how the time on
 * the network divides into the way there and the way back is not known. So its stints
 * may have run later than they say, by that time at most, and two that share a worker
 * may seem to run at once, or in the other order. The workers are the fewest that are
 * found to do. A stint that begins before a worker is free has this worker: its delay
 * is negative, and in each replay it begins so much before it has the worker.
 *
 * A replay is list scheduling: a stint that is ready, and no longer held, goes to the
 * end of the queue of its executor; the first one takes the next free worker. With the
 * recorded durations and workers, each stint is granted its worker at g again, by
 * induction over their order, so that every node ends when it was recorded to end.
 *
 * The requests of all services are replayed together, each from its recorded arrival
 * on, if all arrivals are known; otherwise each one alone.
 */
#include "cpt/whatif/whatif_queue.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS_MAX = 64 }; /* that lead to a task */

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

/* When the stint that begins with @position was ready: before its queue, if the task
 * was in one, or with the last of what else it waited for. */
static uint64_t ready_of(const struct whatif_queues *queues,
                         const struct whatif_view *view, uint32_t position)
{
    const uint64_t *finish_ns = queues->plan->finish_ns;
    const size_t node = view->request->node;
    const uint64_t begin_ns = finish_ns[position] - view->duration_ns[position];
    const uint32_t before = queues->before[node + position];
    uint64_t ready_ns = 0;

    if (before == CPT_DAG_NONE || kind_of(queues, node + before) != CPT_DAG_QUEUE ||
        finish_ns[before] != begin_ns) {
        return begin_ns;
    }
    ready_ns = last_input(view, finish_ns, before);
    for (uint32_t j = view->first[position]; j < view->first[position + 1]; j++) {
        const uint32_t from = view->from[j];

        if (from != before && finish_ns[from] > ready_ns) {
            ready_ns = finish_ns[from];
        }
    }
    return ready_ns;
}

/* The time on the network of each call of @request. */
static void find_networks(const struct whatif_queues *queues,
                          const struct whatif_view *view, uint64_t *network_ns)
{
    const struct whatif_request *request = view->request;

    memset(network_ns, 0, request->line_count * sizeof *network_ns);
    for (uint32_t i = 0; i < request->node_count; i++) {
        if (kind_of(queues, request->node + i) == CPT_DAG_NETWORK) {
            network_ns[queues->plan->whatif->line[request->node + i]] +=
                view->duration_ns[i];
        }
    }
}

/* By how much what the task @line did may be recorded too early: the time on the
 * network of the calls that lead to it. */
static uint64_t loose_of(const struct whatif_queues *queues,
                         const struct whatif_request *request,
                         const uint64_t *network_ns, uint32_t line)
{
    const struct whatif_line *lines = &queues->plan->whatif->lines[request->line];
    uint64_t loose_ns = 0;

    for (unsigned depth = 0; depth < CALLS_MAX && line != CPT_DAG_NONE; depth++) {
        const uint32_t call = lines[line].caller;

        loose_ns += call != CPT_DAG_NONE ? network_ns[call] : 0;
        line = call != CPT_DAG_NONE ? lines[call].caller : CPT_DAG_NONE;
    }
    return loose_ns;
}

/* Scratch of list_stints(), an element for each line of a request. */
struct by_line {
    size_t *stint; /* the last one of the line */
    uint64_t *network_ns;
};

/* The stints of request @number, after the others. */
static cpt_status list_stints(struct whatif_queues *queues, size_t number,
                              const struct by_line *by_line)
{
    struct cpt_whatif_plan *plan = queues->plan;
    const struct whatif_view view = cpti_whatif_recorded(plan->whatif, number);
    const struct whatif_request *request = view.request;
    const uint64_t arrival_ns = cpti_whatif_arrival(queues, request);
    const uint64_t *finish_ns = plan->finish_ns;
    uint64_t latency_ns = 0;
    uint32_t end = 0;
    cpt_status status = CPT_OK;

    (void)cpti_whatif_finish(&view, plan->finish_ns, &latency_ns, &end);
    find_networks(queues, &view, by_line->network_ns);
    for (uint32_t i = 0; i < request->node_count && status == CPT_OK; i++) {
        const size_t node = request->node + i;
        const uint32_t line = plan->whatif->line[node];
        const uint32_t before = queues->before[node];
        const uint64_t begin_ns = finish_ns[i] - view.duration_ns[i];

        if (!cpti_whatif_is_on_worker(queues, request, node)) {
            continue;
        }
        if (before != CPT_DAG_NONE &&
            cpti_whatif_is_on_worker(queues, request, request->node + before) &&
            finish_ns[before] == begin_ns) { /* goes on */
            queues->stints[by_line->stint[line]].end_ns = arrival_ns + finish_ns[i];
            continue;
        }
        status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->stints,
                                &queues->stint_capacity, queues->stint_count + 1,
                                SIZE_MAX / 64, sizeof *queues->stints);
        if (status == CPT_OK) {
            by_line->stint[line] = queues->stint_count;
            queues->stints[queues->stint_count++] = (struct stint){
                .node = node,
                .executor = cpti_whatif_line(queues, request, node)->executor,
                .ready_ns = arrival_ns + ready_of(queues, &view, i),
                .begin_ns = arrival_ns + begin_ns,
                .end_ns = arrival_ns + finish_ns[i],
                .loose_ns = loose_of(queues, request, by_line->network_ns, line)};
        }
    }
    return status;
}

static int compare_times(const struct stint *a, const struct stint *b, uint64_t a_ns,
                         uint64_t b_ns)
{
    if (a->executor != b->executor) {
        return a->executor < b->executor ? -1 : 1;
    }
    if (a_ns != b_ns) {
        return a_ns < b_ns ? -1 : 1;
    }
    if (a->ready_ns != b->ready_ns) {
        return a->ready_ns < b->ready_ns ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/* By executor and time. */
static int by_begin(const void *left, const void *right)
{
    const struct stint *a = left;
    const struct stint *b = right;

    return compare_times(a, b, a->begin_ns, b->begin_ns);
}

/* The same, by when it began at the latest. */
static int by_latest(const void *left, const void *right)
{
    const struct stint *a = left;
    const struct stint *b = right;

    return compare_times(a, b, a->begin_ns + a->loose_ns, b->begin_ns + b->loose_ns);
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

/* How many workers the @count stints, which are sorted, need. Leaves room for the ends
 * of that many in queues->ends. */
static cpt_status count_workers(struct whatif_queues *queues,
                                const struct stint *stints, size_t count,
                                size_t *workers)
{
    uint64_t *ends = NULL;
    cpt_status status = cpt_alloc_grow(cpti_whatif_alloc(queues),
                                       (void **)&queues->ends, &queues->end_capacity,
                                       count + 1, SIZE_MAX / 64, sizeof *queues->ends);

    *workers = 0;
    ends = queues->ends;
    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        if (*workers != 0 && ends[0] <= stints[i].begin_ns + stints[i].loose_ns) {
            ends[0] = stints[i].end_ns;
            sift(ends, *workers, 0);
            continue;
        }
        ends[*workers] = stints[i].end_ns;
        for (size_t at = (*workers)++; at != 0 && ends[at] < ends[(at - 1) / 2];
             at = (at - 1) / 2) {
            const uint64_t kept = ends[at];

            ends[at] = ends[(at - 1) / 2];
            ends[(at - 1) / 2] = kept;
        }
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
        queues->delay_ns[stint->node] = (int64_t)(stint->begin_ns - granted_ns);
        queues->ends[0] = stint->end_ns;
        sift(queues->ends, workers, 0);
    }
}

/* Where the stints of one executor end that begin with @begin. */
static size_t end_of_executor(const struct whatif_queues *queues, size_t begin)
{
    size_t end = begin;

    while (end < queues->stint_count &&
           queues->stints[end].executor == queues->stints[begin].executor) {
        end++;
    }
    return end;
}

static void sort_stints(struct whatif_queues *queues,
                        int (*compare)(const void *left, const void *right))
{
    if (queues->stint_count != 0) {
        qsort(queues->stints, queues->stint_count, sizeof *queues->stints, compare);
    }
}

/* Learns the workers of all executors from the stints that are listed. Which order lets
 * the fewest workers do is not known, so two are tried. */
static cpt_status learn_workers(struct whatif_queues *queues)
{
    size_t end = 0;
    size_t workers = 0;
    cpt_status status = CPT_OK;

    sort_stints(queues, by_begin);
    for (size_t i = 0; i < queues->stint_count && status == CPT_OK; i = end) {
        end = end_of_executor(queues, i);
        status = count_workers(queues, &queues->stints[i], end - i, &workers);
        queues->executors[queues->stints[i].executor].counted = workers;
    }
    sort_stints(queues, by_latest);
    for (size_t i = 0; i < queues->stint_count && status == CPT_OK; i = end) {
        struct executor *executor = &queues->executors[queues->stints[i].executor];

        end = end_of_executor(queues, i);
        status = count_workers(queues, &queues->stints[i], end - i, &workers);
        workers = workers < executor->counted ? workers : executor->counted;
        if (workers > executor->recorded_count) {
            executor->recorded_count = workers;
        }
    }
    queues->stint_count = 0;
    return status;
}

/* Learns the delays of the stints that are listed, whose workers are known. */
static cpt_status learn_delays(struct whatif_queues *queues)
{
    size_t end = 0;
    cpt_status status = CPT_OK;

    sort_stints(queues, by_begin);
    for (size_t i = 0; i < queues->stint_count && status == CPT_OK; i = end) {
        const size_t workers =
            queues->executors[queues->stints[i].executor].recorded_count;

        end = end_of_executor(queues, i);
        status = cpt_alloc_grow(cpti_whatif_alloc(queues), (void **)&queues->ends,
                                &queues->end_capacity, workers, SIZE_MAX / 64,
                                sizeof *queues->ends);
        if (status == CPT_OK) {
            find_delays(queues, &queues->stints[i], end - i, workers);
        }
    }
    queues->stint_count = 0;
    return status;
}

/* Of each request alone, or of all together; first the workers, then the delays. */
static cpt_status learn_all(struct whatif_queues *queues)
{
    const struct cpt_whatif *whatif = queues->plan->whatif;
    const size_t lines = (size_t)whatif->line_max + 1;
    const struct by_line by_line = {
        cpt_alloc_array(whatif->alloc, NULL, lines, sizeof *by_line.stint),
        cpt_alloc_array(whatif->alloc, NULL, lines, sizeof *by_line.network_ns)};
    cpt_status status =
        by_line.stint != NULL && by_line.network_ns != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < whatif->request_count && status == CPT_OK; i++) {
            status = list_stints(queues, i, &by_line);
            if (status == CPT_OK && !queues->is_together) {
                status = round == 0 ? learn_workers(queues) : learn_delays(queues);
            }
        }
        if (status == CPT_OK && queues->is_together) {
            status = round == 0 ? learn_workers(queues) : learn_delays(queues);
        }
    }
    cpt_alloc_free(whatif->alloc, by_line.network_ns);
    cpt_alloc_free(whatif->alloc, by_line.stint);
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

struct cpt_whatif_workers cpt_whatif_workers(const struct cpt_whatif_plan *plan,
                                             size_t executor)
{
    if (plan->queues == NULL) {
        return (struct cpt_whatif_workers){0};
    }
    return (struct cpt_whatif_workers){
        plan->queues->executors[executor + 1].recorded_count,
        plan->queues->executors[executor + 1].worker_count};
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
