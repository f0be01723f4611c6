/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_run.c - replays requests by a plan: latencies, times by frame, new paths
 */
#include "cpt/whatif/whatif.h"

#include "cpt/cpt_path.h"

#include <string.h>

enum { STACK_MAX = 128 };

static void replay_as_recorded(struct cpt_whatif_plan *plan, size_t request)
{
    struct whatif_replay *last = &plan->last;

    plan->counts.too_long++;
    last->view = cpti_whatif_recorded(plan->whatif, request);
    last->finish_ns = plan->finish_ns;
    (void)cpti_whatif_finish(&last->view, plan->finish_ns, &last->latency_ns,
                             &last->end);
}

/* Makes @request the last replay of @plan. As recorded if it gets too long. */
static cpt_status replay(struct cpt_whatif_plan *plan, size_t request)
{
    struct whatif_replay *last = &plan->last;
    cpt_status status = CPT_OK;
    bool is_done = false;

    if (last->request == request) {
        return CPT_OK;
    }
    last->request = SIZE_MAX;
    status = cpti_whatif_view(plan, request, &last->view);
    if (status != CPT_OK) {
        return status;
    }
    last->request = request;
    if (plan->queues != NULL) {
        last->finish_ns = cpti_whatif_queues_result(plan, request, &last->view);
        last->end = cpti_whatif_last_to_end(&last->view, last->finish_ns);
        last->latency_ns = last->finish_ns[last->end];
        is_done = !cpti_whatif_queues_is_too_long(plan, request, last->latency_ns);
    } else {
        last->finish_ns = plan->finish_ns;
        is_done = cpti_whatif_finish(&last->view, plan->finish_ns, &last->latency_ns,
                                     &last->end);
    }
    if (!is_done) {
        replay_as_recorded(plan, request);
    }
    return CPT_OK;
}

cpt_status cpt_whatif_run(struct cpt_whatif_plan *plan, size_t first, size_t count,
                          uint64_t *latency_ns)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < count && status == CPT_OK; i++) {
        status = replay(plan, first + i);
        if (status == CPT_OK) {
            latency_ns[i] = plan->last.latency_ns;
        }
    }
    return status;
}

/* --- Paths --- */

static uint64_t wait_of(const struct whatif_view *view, uint32_t position)
{
    return view->wait_ns != NULL ? view->wait_ns[position] : 0;
}

/* The positions of the critical path of the last replay, the last one first, into the
 * plan's chain. */
static size_t find_chain(struct cpt_whatif_plan *plan)
{
    const struct whatif_view *view = &plan->last.view;
    const uint64_t *finish_ns = plan->last.finish_ns;
    uint32_t at = plan->last.end;
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
    const struct whatif_view *view = &plan->last.view;
    const cpt_status status = replay(plan, request);
    size_t count = 0;

    if (status != CPT_OK) {
        return status;
    }
    count = find_chain(plan);
    for (size_t i = 0; i < count; i++) {
        const size_t node = view->request->node + plan->chain[i];
        const uint64_t wait_ns = wait_of(view, plan->chain[i]);

        time_ns[plan->whatif->frame[node] & ~WHATIF_NOT_FIRST] +=
            view->duration_ns[plan->chain[i]];
        if (wait_ns != 0) {
            const struct whatif_line *line =
                &plan->whatif->lines[view->request->line + plan->whatif->line[node]];

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
    struct whatif_drawn *drawn;
    uint32_t entry;      /* frame, or CPT_FRAME_NONE */
    uint32_t frame;      /* of the segment that is being collected … */
    uint64_t segment_ns; /* … and its time */
};

static struct cpt_bytes name_of(const struct drawing *drawing, uint32_t frame)
{
    return whatif_name(drawing->whatif, frame).name;
}

/* Whether line @number is in the path, and has with those above it at most @most. */
static bool is_drawn(const struct drawing *drawing, uint32_t number, uint32_t most)
{
    const uint32_t depth = drawing->drawn[number].depth;

    return depth != 0 && depth <= most;
}

/* The frame of a task or call, below what called it. */
static cpt_status draw_line(const struct drawing *drawing, uint32_t number,
                            uint32_t *frame)
{
    const struct whatif_line *lines = &drawing->whatif->lines[drawing->request->line];
    struct whatif_drawn above = {drawing->entry, 0};
    uint32_t stack[STACK_MAX];
    uint32_t depth = 0;
    bool is_cut = false; /* at the limit */
    cpt_status status = CPT_OK;

    for (; number != CPT_DAG_NONE && depth < STACK_MAX &&
           !is_drawn(drawing, number, STACK_MAX - depth);
         number = lines[number].caller) {
        stack[depth++] = number;
    }
    is_cut = number != CPT_DAG_NONE && depth == STACK_MAX;
    if (number != CPT_DAG_NONE && !is_cut) {
        above = drawing->drawn[number];
    }
    *frame = above.frame;
    while (depth-- != 0 && status == CPT_OK) {
        const struct whatif_line *line = &lines[stack[depth]];
        const struct cpt_bytes name = name_of(drawing, line->frame);
        const bool is_lock = line->is_call != 0 && line->outcome == CPT_CALL_LOCK;

        if (*frame == CPT_FRAME_NONE || is_lock ||
            !cpt_bytes_equal(name, cpt_path_frame_name(drawing->path, *frame))) {
            status = cpt_path_frame_add(drawing->path, *frame, name,
                                        is_lock ? CPT_KIND_LOCK : CPT_KIND_WORK, frame);
        }
        if (!is_cut) {
            drawing->drawn[stack[depth]] = (struct whatif_drawn){*frame, ++above.depth};
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
                              .drawn = plan->drawn,
                              .entry = CPT_FRAME_NONE,
                              .frame = CPT_FRAME_NONE};
    const struct whatif_view *view = &plan->last.view;
    cpt_status status = replay(plan, request);
    size_t count = 0;

    if (status != CPT_OK) {
        return status;
    }
    drawing.request = view->request;
    memset(plan->drawn, 0, view->request->line_count * sizeof *plan->drawn);
    if (entry.bytes != 0) {
        status = cpt_path_frame_add(path, CPT_FRAME_NONE, entry, CPT_KIND_WORK,
                                    &drawing.entry);
    }
    count = find_chain(plan);
    while (count-- != 0 && status == CPT_OK) {
        const uint32_t at = plan->chain[count];
        const size_t node = view->request->node + at;
        const uint32_t line = plan->whatif->line[node];
        const uint32_t frame = plan->whatif->frame[node] & ~WHATIF_NOT_FIRST;

        status = draw_time(&drawing, line, CPT_DAG_QUEUE, wait_of(view, at));
        if (status == CPT_OK) {
            status = draw_time(&drawing, line, plan->whatif->frames[frame].kind,
                               view->duration_ns[at]);
        }
    }
    return status == CPT_OK ? draw_segment(&drawing) : status;
}
