/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_run.c - replays requests with other times, and finds their new paths
 *
 * A replay is one pass over the nodes in topological order. A plan that changes times
 * copies the durations first, and changes those of each occurrence together:
 *
 *      pieces of B2     3   1   4        sum 8
 *      '=50%'           2   0   2        the sums until each piece are halved, rounded
 *      '=+2ms'          5   1   4        the first piece
 *      '=-4ms'          0   0   4        from the first piece on
 */
#include "cpt/whatif.h"

#include "cpt/cpt_path.h"

#include <string.h>

enum { STACK_MAX = 128 };

struct whatif_view cpti_whatif_recorded(const struct cpt_whatif *whatif, size_t request)
{
    const struct whatif_request *of = &whatif->requests[request];

    return (struct whatif_view){.request = of,
                                .first = &whatif->first[of->first],
                                .from = &whatif->from[of->edge],
                                .duration_ns = &whatif->duration_ns[of->node]};
}

/* --- Times --- */

static uint64_t sum_of(const uint64_t *duration_ns, const uint32_t *next, uint32_t at)
{
    uint64_t sum_ns = 0;

    for (; at != CPT_DAG_NONE; at = next[at]) {
        sum_ns =
            duration_ns[at] < INT64_MAX - sum_ns ? sum_ns + duration_ns[at] : INT64_MAX;
    }
    return sum_ns;
}

/* Makes @sum_ns, the time of the pieces from @at on, @to_ns. */
static void stretch(uint64_t *duration_ns, const uint32_t *next, uint32_t at,
                    uint64_t sum_ns, uint64_t to_ns)
{
    const double share = sum_ns != 0 ? (double)to_ns / (double)sum_ns : 0;
    uint64_t until_ns = 0;
    uint64_t done_ns = 0;

    if (sum_ns == to_ns) {
        return;
    }
    if (sum_ns == 0) {
        duration_ns[at] = to_ns;
        return;
    }
    for (; at != CPT_DAG_NONE; at = next[at]) {
        uint64_t stretched_ns = to_ns;

        until_ns += duration_ns[at];
        if (next[at] != CPT_DAG_NONE) {
            stretched_ns = (uint64_t)((double)until_ns * share + 0.5);
            stretched_ns = stretched_ns < to_ns ? stretched_ns : to_ns;
        }
        stretched_ns = stretched_ns > done_ns ? stretched_ns : done_ns;
        duration_ns[at] = stretched_ns - done_ns;
        done_ns = stretched_ns;
    }
}

/* Takes @by_ns from the pieces from @at on. False: they have less. */
static bool shorten(uint64_t *duration_ns, const uint32_t *next, uint32_t at,
                    uint64_t by_ns)
{
    for (; at != CPT_DAG_NONE && by_ns != 0; at = next[at]) {
        const uint64_t taken_ns = duration_ns[at] < by_ns ? duration_ns[at] : by_ns;

        duration_ns[at] -= taken_ns;
        by_ns -= taken_ns;
    }
    return by_ns == 0;
}

static uint64_t scaled(uint64_t sum_ns, double share)
{
    const double to_ns = (double)sum_ns * share + 0.5;

    return to_ns < (double)INT64_MAX ? (uint64_t)to_ns : INT64_MAX;
}

static void change_time(struct cpt_whatif_plan *plan,
                        const struct cpt_whatif_term *term, const uint32_t *next,
                        uint32_t at)
{
    uint64_t *duration_ns = plan->duration_ns;
    const uint64_t sum_ns = sum_of(duration_ns, next, at);
    uint64_t to_ns = 0;

    switch (term->change) {
    case CPT_WHATIF_SCALE:
        to_ns = scaled(sum_ns, term->share);
        break;
    case CPT_WHATIF_TO:
        to_ns = term->amount_ns;
        break;
    case CPT_WHATIF_AT_MOST:
        to_ns = sum_ns < term->amount_ns ? sum_ns : term->amount_ns;
        break;
    case CPT_WHATIF_AT_LEAST:
        to_ns = sum_ns > term->amount_ns ? sum_ns : term->amount_ns;
        break;
    case CPT_WHATIF_MORE:
        if (duration_ns[at] <= INT64_MAX - term->amount_ns) {
            duration_ns[at] += term->amount_ns;
        }
        return;
    default:
        plan->counts.clamped += !shorten(duration_ns, next, at, term->amount_ns);
        return;
    }
    stretch(duration_ns, next, at, sum_ns, to_ns);
}

static void change_times(struct cpt_whatif_plan *plan,
                         const struct whatif_request *request)
{
    const uint32_t *frame = &plan->whatif->frame[request->node];
    const uint32_t *next = &plan->whatif->next[request->node];

    memcpy(plan->duration_ns, &plan->whatif->duration_ns[request->node],
           request->node_count * sizeof *plan->duration_ns);
    for (uint32_t i = 0; i < request->node_count; i++) {
        if ((frame[i] & WHATIF_NOT_FIRST) != 0) {
            continue;
        }
        for (uint32_t op = plan->first_op[frame[i]]; op < plan->first_op[frame[i] + 1];
             op++) {
            change_time(plan, &plan->terms[plan->ops[op]], next, i);
        }
    }
}

cpt_status cpti_whatif_view(struct cpt_whatif_plan *plan, size_t request,
                            struct whatif_view *view)
{
    *view = cpti_whatif_recorded(plan->whatif, request);
    if (plan->has_times) {
        change_times(plan, view->request);
        view->duration_ns = plan->duration_ns;
    }
    return plan->edges != NULL ? cpti_whatif_edges_change(plan, view) : CPT_OK;
}

/* --- Replay --- */

/* The pass over the nodes as they are, which is the usual one. */
static bool finish_in_order(const struct whatif_view *view, uint64_t *finish_ns)
{
    const uint32_t *first = view->first;
    const uint32_t *from = view->from;
    const uint32_t count = view->request->node_count;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t start_ns = 0;

        for (uint32_t j = first[i]; j < first[i + 1]; j++) {
            const uint64_t ready_ns = finish_ns[from[j]];

            start_ns = ready_ns > start_ns ? ready_ns : start_ns;
        }
        finish_ns[i] = start_ns + view->duration_ns[i]; /* both below 2^63 */
        if (finish_ns[i] > INT64_MAX) {
            return false;
        }
    }
    return true;
}

static bool finish_by_order(const struct whatif_view *view, uint64_t *finish_ns)
{
    for (uint32_t k = 0; k < view->request->node_count; k++) {
        const uint32_t i = view->order[k];
        uint64_t start_ns = 0;

        for (uint32_t j = view->first[i]; j < view->first[i + 1]; j++) {
            const uint64_t ready_ns = finish_ns[view->from[j]];

            start_ns = ready_ns > start_ns ? ready_ns : start_ns;
        }
        finish_ns[i] = start_ns + view->duration_ns[i];
        if (finish_ns[i] > INT64_MAX) {
            return false;
        }
    }
    return true;
}

/* The last position to end, the first of several. */
static uint32_t last_to_end(const struct whatif_view *view, const uint64_t *finish_ns)
{
    uint32_t last = 0;

    if (view->request->end != CPT_DAG_NONE) {
        return view->request->end;
    }
    for (uint32_t i = 1; i < view->request->node_count; i++) {
        last = finish_ns[i] > finish_ns[last] ? i : last;
    }
    return last;
}

bool cpti_whatif_finish(const struct whatif_view *view, uint64_t *finish_ns,
                        uint64_t *latency_ns, uint32_t *end)
{
    const bool is_done = view->order == NULL ? finish_in_order(view, finish_ns)
                                             : finish_by_order(view, finish_ns);

    if (is_done) {
        *end = last_to_end(view, finish_ns);
        *latency_ns = finish_ns[*end];
    }
    return is_done;
}

/* Replays @request: *@view and when its positions end. As recorded if it gets too
 * long. */
static cpt_status replay(struct cpt_whatif_plan *plan, size_t request,
                         struct whatif_view *view, const uint64_t **finish_ns,
                         uint64_t *latency_ns, uint32_t *end)
{
    const cpt_status status = cpti_whatif_view(plan, request, view);

    if (status != CPT_OK) {
        return status;
    }
    if (plan->queues != NULL) {
        *finish_ns = cpti_whatif_queues_result(plan, request, view);
        *end = last_to_end(view, *finish_ns);
        *latency_ns = (*finish_ns)[*end];
        return CPT_OK;
    }
    *finish_ns = plan->finish_ns;
    if (!cpti_whatif_finish(view, plan->finish_ns, latency_ns, end)) {
        plan->counts.too_long++;
        *view = cpti_whatif_recorded(plan->whatif, request);
        (void)cpti_whatif_finish(view, plan->finish_ns, latency_ns, end);
    }
    return CPT_OK;
}

cpt_status cpt_whatif_run(struct cpt_whatif_plan *plan, size_t first, size_t count,
                          uint64_t *latency_ns)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        struct whatif_view view;
        const uint64_t *finish_ns = NULL;
        uint32_t end = 0;

        status = replay(plan, first + i, &view, &finish_ns, &latency_ns[i], &end);
    }
    return status;
}

/* --- Paths --- */

static uint64_t wait_of(const struct whatif_view *view, uint32_t position)
{
    return view->wait_ns != NULL ? view->wait_ns[position] : 0;
}

/* The positions of a critical path, the last one first, into the plan's chain. */
static size_t find_chain(struct cpt_whatif_plan *plan, const struct whatif_view *view,
                         const uint64_t *finish_ns, uint32_t end)
{
    uint32_t at = end;
    size_t count = 0;

    while (at != CPT_DAG_NONE) {
        const uint64_t start_ns =
            finish_ns[at] - view->duration_ns[at] - wait_of(view, at);
        uint32_t before = CPT_DAG_NONE;

        plan->chain[count++] = at;
        for (uint32_t j = view->first[at]; j < view->first[at + 1]; j++) {
            const uint32_t from = view->from[j];

            if (finish_ns[from] == start_ns &&
                (before == CPT_DAG_NONE || from < before)) {
                before = from;
            }
        }
        at = before;
    }
    return count;
}

cpt_status cpt_whatif_times(struct cpt_whatif_plan *plan, size_t request,
                            uint64_t *time_ns)
{
    struct whatif_view view;
    const uint64_t *finish_ns = NULL;
    uint64_t latency_ns = 0;
    uint32_t end = 0;
    size_t count = 0;
    const cpt_status status =
        replay(plan, request, &view, &finish_ns, &latency_ns, &end);

    if (status != CPT_OK) {
        return status;
    }
    count = find_chain(plan, &view, finish_ns, end);
    for (size_t i = 0; i < count; i++) {
        const size_t node = view.request->node + plan->chain[i];
        const uint64_t wait_ns = wait_of(&view, plan->chain[i]);

        time_ns[plan->whatif->frame[node] & ~WHATIF_NOT_FIRST] +=
            view.duration_ns[plan->chain[i]];
        if (wait_ns != 0) {
            const struct whatif_line *line =
                &plan->whatif->lines[view.request->line + plan->whatif->line[node]];

            time_ns[line->queue_frame] += wait_ns;
        }
    }
    return CPT_OK;
}

/* A path that is being made. */
struct drawing {
    const struct cpt_whatif *whatif;
    const struct whatif_request *request;
    struct cpt_path *path;
    uint32_t entry;      /* frame, or CPT_FRAME_NONE */
    uint32_t frame;      /* of the segment that is being collected … */
    uint64_t segment_ns; /* … and its time */
};

static struct cpt_bytes name_of(const struct drawing *drawing, uint32_t frame)
{
    return whatif_name(drawing->whatif, frame).name;
}

/* The frame of a task or call, below what called it. */
static cpt_status draw_line(const struct drawing *drawing, uint32_t number,
                            uint32_t *frame)
{
    const struct whatif_line *lines = &drawing->whatif->lines[drawing->request->line];
    uint32_t stack[STACK_MAX];
    size_t depth = 0;
    cpt_status status = CPT_OK;

    for (; number != CPT_DAG_NONE && depth < STACK_MAX; number = lines[number].caller) {
        stack[depth++] = number;
    }
    *frame = drawing->entry;
    while (depth-- != 0 && status == CPT_OK) {
        const struct whatif_line *line = &lines[stack[depth]];
        const struct cpt_bytes name = name_of(drawing, line->frame);
        const bool is_lock = line->is_call != 0 && line->outcome == CPT_CALL_LOCK;

        if (*frame == CPT_FRAME_NONE || is_lock ||
            !cpt_bytes_equal(name, cpt_path_frame_name(drawing->path, *frame))) {
            status = cpt_path_frame_add(drawing->path, *frame, name,
                                        is_lock ? CPT_KIND_LOCK : CPT_KIND_WORK, frame);
        }
    }
    return status;
}

static unsigned kind_of(const struct whatif_line *line, uint32_t kind)
{
    switch (kind) {
    case CPT_DAG_QUEUE:
        return CPT_KIND_QUEUE;
    case CPT_DAG_NETWORK:
        return CPT_KIND_NETWORK;
    case CPT_DAG_CALL:
        return line->outcome == CPT_CALL_REMOTE ? CPT_KIND_BLIND_SPOT : CPT_KIND_WORK;
    case CPT_DAG_WAIT:
        if (line->is_call != 0 && line->outcome == CPT_CALL_TIMEOUT) {
            return CPT_KIND_TIMEOUT;
        }
        return line->is_call != 0 && line->outcome == CPT_CALL_KIND
                   ? CPT_KIND_OTHER
                   : CPT_KIND_UNATTRIBUTED;
    default:
        return CPT_KIND_WORK;
    }
}

/* Ends the segment that is being collected. */
static cpt_status draw_segment(struct drawing *drawing)
{
    const cpt_status status =
        drawing->frame != CPT_FRAME_NONE
            ? cpt_path_append_ns(drawing->path, drawing->frame, drawing->segment_ns)
            : CPT_OK;

    drawing->segment_ns = 0;
    return status;
}

/* @time_ns of a node of @kind in line @number. */
static cpt_status draw_time(struct drawing *drawing, uint32_t number, uint32_t kind,
                            uint64_t time_ns)
{
    const struct whatif_line *line =
        &drawing->whatif->lines[drawing->request->line + number];
    const unsigned drawn = kind_of(line, kind);
    uint32_t frame = CPT_FRAME_NONE;
    cpt_status status = CPT_OK;

    if (time_ns == 0) {
        return CPT_OK;
    }
    status = draw_line(drawing, number, &frame);
    if (status == CPT_OK && drawn != CPT_KIND_WORK) {
        status =
            cpt_path_frame_add(drawing->path, frame, cpt_bytes_of(""), drawn, &frame);
    }
    if (status == CPT_OK && frame != drawing->frame) {
        status = draw_segment(drawing);
        drawing->frame = frame;
    }
    drawing->segment_ns += time_ns;
    return status;
}

cpt_status cpt_whatif_path(struct cpt_whatif_plan *plan, size_t request,
                           struct cpt_bytes entry, struct cpt_path *path)
{
    struct drawing drawing = {.whatif = plan->whatif,
                              .path = path,
                              .entry = CPT_FRAME_NONE,
                              .frame = CPT_FRAME_NONE};
    struct whatif_view view;
    const uint64_t *finish_ns = NULL;
    uint64_t latency_ns = 0;
    uint32_t end = 0;
    cpt_status status = replay(plan, request, &view, &finish_ns, &latency_ns, &end);
    size_t count = 0;

    if (status != CPT_OK) {
        return status;
    }
    drawing.request = view.request;
    if (entry.bytes != 0) {
        status = cpt_path_frame_add(path, CPT_FRAME_NONE, entry, CPT_KIND_WORK,
                                    &drawing.entry);
    }
    count = find_chain(plan, &view, finish_ns, end);
    while (count-- != 0 && status == CPT_OK) {
        const uint32_t at = plan->chain[count];
        const size_t node = view.request->node + at;
        const uint32_t line = plan->whatif->line[node];
        const uint32_t frame = plan->whatif->frame[node] & ~WHATIF_NOT_FIRST;

        status = draw_time(&drawing, line, CPT_DAG_QUEUE, wait_of(&view, at));
        if (status == CPT_OK) {
            status = draw_time(&drawing, line, plan->whatif->frames[frame].kind,
                               view.duration_ns[at]);
        }
    }
    return status == CPT_OK ? draw_segment(&drawing) : status;
}
