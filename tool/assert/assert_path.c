/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * assert_path.c - the frames of a path as nodes, for rules
 *
 *      segments  A: /   A: /;B: get   A: /;B: get;C: find   A: /   A: /;B: get
 *      nodes     A: /-------------------------------------------------------
 *                       B: get---------------------------          B: get---
 *                                     C: find------------
 *
 * A path has only what was waited for. A frame is one node until the path leaves it. It
 * also leaves it by the way back from a callee: what follows behind that is one more
 * attempt, or call. Where one of the same name begins just then, the label `again` says
 * so.
 *
 *      segments  B: get;‹network›  B: get  B: get;‹network›  B: get  B: get;‹network›
 *      nodes     B: get-----------------------------------
 *                                                            B: get-----------------
 */
#include "tool/assert/assert.h"

#include "cpt/cpt_path.h"

#include <string.h>

/* What the path has seen of a frame that it is in. */
enum progress { CAME, WORKED, WENT_BACK };

/* The node of each frame of the stack that the path is in. */
struct open {
    uint32_t frames[CPT_PATH_DEPTH_MAX];
    uint32_t nodes[CPT_PATH_DEPTH_MAX];
    unsigned char progress[CPT_PATH_DEPTH_MAX];
    size_t depth;
    size_t stay_max; /* how many frames can stay open at the next segment */
};

struct cpt_bytes cpti_assert_kind(unsigned kind)
{
    static const char *const shown[] = {
#define SHOWN(name, number, word, words) [number] = "\u2039" words "\u203a",
        CPT_KIND_MAP(SHOWN)
#undef SHOWN
    };

    return cpt_bytes_of(kind < sizeof shown / sizeof shown[0] ? shown[kind]
                                                              : "\u2039?\u203a");
}

static void name_node(const struct cpt_path *path, uint32_t frame,
                      struct cpti_rule_node *node)
{
    const unsigned kind = cpt_path_frame(path, frame)->kind;
    const struct cpt_bytes name = cpt_path_frame_name(path, frame);
    const size_t skipped = cpt_name_service(name).bytes;

    node->service = cpt_path_frame_service(path, frame);
    if (kind != CPT_KIND_WORK) {
        node->operation = cpti_assert_kind(kind);
        return;
    }
    node->operation = name;
    if (skipped > 0) {
        node->operation.data += skipped + 2;
        node->operation.bytes -= skipped + 2;
    }
}

/* How many frames of the stack of @depth frames, the first one last, are open, and stay
 * so; @is_way: the last one is the way to or from a callee. */
static size_t stay_open(const struct open *open, const uint32_t *stack, size_t depth,
                        bool is_way)
{
    size_t same = 0;

    while (same < depth && same < open->depth && same < open->stay_max &&
           open->frames[same] == stack[depth - 1 - same] &&
           (open->progress[same] != WENT_BACK || (is_way && same + 2 == depth))) {
        same++;
    }
    return same;
}

/* Notes what a segment with the open stack says of each frame. */
static void proceed(struct open *open, bool is_way)
{
    for (size_t i = 0; i < open->depth; i++) {
        if (!is_way || i + 2 != open->depth) {
            open->progress[i] = WORKED;
        } else if (open->progress[i] == WORKED) {
            open->progress[i] = WENT_BACK;
        }
    }
}

/* Enters the frames of the stack of @frame that are not open, and leaves all others. */
static cpt_status enter(struct cpti_rule_trace *trace, struct open *open,
                        const struct cpt_path *path, uint32_t frame, uint64_t start_ns)
{
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    size_t depth = 0;
    const bool is_way = cpt_path_frame(path, frame)->kind == CPT_KIND_NETWORK;
    const bool has_time = (cpt_path_flags(path) & CPT_PATH_UNORDERED) == 0;

    for (uint32_t at = frame; at != CPT_FRAME_NONE && depth < CPT_PATH_DEPTH_MAX;
         at = cpt_path_frame(path, at)->parent) {
        stack[depth++] = at;
    }
    open->depth = stay_open(open, stack, depth, is_way);
    while (open->depth < depth) {
        const size_t at = open->depth;
        struct cpti_rule_node node = {.start_ns = start_ns,
                                      .has_time = has_time,
                                      .is_on_path = true,
                                      .parent = at == 0 ? CPTI_RULE_NONE
                                                        : open->nodes[at - 1]};
        cpt_status status;

        open->frames[at] = stack[depth - 1 - at];
        open->nodes[at] = (uint32_t)trace->count;
        open->progress[at] = CAME;
        name_node(path, open->frames[at], &node);
        node.is_part = at > 0 &&
                       cpt_path_frame(path, open->frames[at])->kind != CPT_KIND_WORK &&
                       cpt_bytes_equal(node.service, trace->nodes[node.parent].service);
        status = cpti_rule_trace_add(trace, &node);
        if (status != CPT_OK) {
            return status;
        }
        open->depth++;
    }
    proceed(open, is_way);
    return CPT_OK;
}

/* How many frames can stay open at segment @index; @label is the first label of it or
 * of a later one, and advances. */
static size_t stay_max(const struct cpt_path *path, size_t index, size_t *label)
{
    size_t most = CPT_PATH_DEPTH_MAX;

    for (; *label < cpt_path_label_count(path) &&
           cpt_path_label(path, *label)->segment == index;
         (*label)++) {
        const struct cpt_label *at = cpt_path_label(path, *label);

        if (at->key == CPT_LABEL_AGAIN && at->value > 0 && at->value <= most) {
            most = (size_t)at->value - 1;
        }
    }
    return most;
}

cpt_status cpti_assert_path(struct cpti_rule_trace *trace, const struct cpt_path *path)
{
    struct open open = {.depth = 0};
    uint64_t now_ns = 0;
    size_t label = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        cpt_status status = CPT_OK;

        open.stay_max = stay_max(path, i, &label);
        status = enter(trace, &open, path, segment->frame, now_ns);
        if (status != CPT_OK) {
            return status;
        }
        now_ns += segment->duration_ns;
        for (size_t k = 0; k < open.depth; k++) {
            trace->nodes[open.nodes[k]].end_ns = now_ns;
        }
    }
    return CPT_OK;
}
