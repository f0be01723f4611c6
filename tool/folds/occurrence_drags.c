/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * occurrence_drags.c - a frame with one occurrence has its gain; of several each is
 * replayed without its time
 */
#include "tool/folds/occurrence_drags.h"

#include <stdbool.h>
#include <stdlib.h>

/* Replays of a request, times its nodes and edges: a second. */
static const uint64_t work_max = (uint64_t)1 << 29;

/* A node of a frame that has time on the path. */
struct piece {
    uint32_t frame;
    uint32_t line; /* of its occurrence */
    uint32_t node;
};

static int by_occurrence(const void *left, const void *right)
{
    const struct piece *a = left;
    const struct piece *b = right;

    if (a->frame != b->frame) {
        return a->frame < b->frame ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

static size_t list_pieces(const struct cpt_dag_recorded *recorded,
                          const struct cpt_dag_frame *frames, struct piece *pieces)
{
    size_t count = 0;

    for (uint32_t i = 0; i < recorded->shape.node_count; i++) {
        const uint32_t frame = recorded->shape.nodes[i].frame;
        const uint32_t line = recorded->node_lines[i];
        const uint32_t first = recorded->lines[line].occurrence;

        if (frames[frame].path_ns != 0) {
            pieces[count++] = (struct piece){frame, first != 0 ? first - 1 : line, i};
        }
    }
    if (count != 0) {
        qsort(pieces, count, sizeof *pieces, by_occurrence);
    }
    return count;
}

/* Where the pieces of the same frame, or of the same occurrence, end. */
static size_t end_of(const struct piece *pieces, size_t count, size_t at, bool by_line)
{
    size_t end = at + 1;

    while (end < count && pieces[end].frame == pieces[at].frame &&
           (!by_line || pieces[end].line == pieces[at].line)) {
        end++;
    }
    return end;
}

/* The latency without the pieces @from to @to - 1. */
static cpt_status replay_without(const struct cpt_dag *dag,
                                 const struct cpt_dag_recorded *recorded,
                                 const struct piece *pieces, size_t from, size_t to,
                                 uint64_t *duration_ns, uint64_t *latency_ns)
{
    cpt_status status = CPT_OK;

    for (size_t i = from; i < to; i++) {
        duration_ns[pieces[i].node] = 0;
    }
    status = cpt_dag_replay(dag, duration_ns, NULL, latency_ns);
    for (size_t i = from; i < to; i++) {
        duration_ns[pieces[i].node] = recorded->shape.nodes[pieces[i].node].duration_ns;
    }
    return status;
}

static cpt_status find_drags(const struct cpt_dag *dag,
                             const struct cpt_dag_recorded *recorded,
                             const struct piece *pieces, size_t count,
                             uint64_t *duration_ns, struct cpt_dag_frame *frames)
{
    const uint64_t latency_ns = cpt_dag_latency_ns(dag);
    const uint64_t cost =
        (uint64_t)recorded->shape.node_count + recorded->shape.edge_count;
    uint64_t work = 0;
    size_t end = 0;

    for (size_t i = 0; i < count; i = end) {
        struct cpt_dag_frame *frame = &frames[pieces[i].frame];

        end = end_of(pieces, count, i, false);
        if (end_of(pieces, count, i, true) == end) {
            frame->drag_ns = frame->gain_ns;
            continue;
        }
        for (size_t k = i; k < end && work < work_max; work += cost) {
            const size_t next = end_of(pieces, count, k, true);
            uint64_t left_ns = 0;
            const cpt_status status =
                replay_without(dag, recorded, pieces, k, next, duration_ns, &left_ns);

            if (status == CPT_NO_MEMORY) {
                return status;
            }
            if (status == CPT_OK && latency_ns - left_ns > frame->drag_ns) {
                frame->drag_ns = latency_ns - left_ns;
            }
            k = next;
        }
    }
    return CPT_OK;
}

cpt_status cpti_occurrence_drags(const struct cpt_dag *dag,
                                 const struct cpt_dag_recorded *recorded,
                                 struct cpt_dag_frame *frames)
{
    const size_t count = recorded->shape.node_count;
    struct piece *pieces = calloc(count + 1, sizeof *pieces);
    uint64_t *duration_ns = calloc(count + 1, sizeof *duration_ns);
    cpt_status status = pieces != NULL && duration_ns != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK && recorded->node_lines != NULL) {
        for (size_t i = 0; i < count; i++) {
            duration_ns[i] = recorded->shape.nodes[i].duration_ns;
        }
        status = find_drags(dag, recorded, pieces,
                            list_pieces(recorded, frames, pieces), duration_ns, frames);
    }
    free(pieces);
    free(duration_ns);
    return status;
}
