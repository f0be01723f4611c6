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
 * A path has only what was waited for, and two calls of one callee that follow each
 * other without a break are one node.
 */
#include "cpt/cli/assert/assert.h"

#include "cpt/cpt_path.h"

#include <string.h>

/* The node of each frame of the stack that the path is in. */
struct open {
    uint32_t frames[CPT_PATH_DEPTH_MAX];
    uint32_t nodes[CPT_PATH_DEPTH_MAX];
    size_t depth;
};

static void name_node(const struct cpt_path *path, uint32_t frame,
                      struct cpti_rule_node *node)
{
    static const char *const shown[] = {
#define SHOWN(name, number, word, words) [number] = "\u2039" words "\u203a",
        CPT_KIND_MAP(SHOWN)
#undef SHOWN
    };
    const unsigned kind = cpt_path_frame(path, frame)->kind;
    const struct cpt_bytes name = cpt_path_frame_name(path, frame);
    const size_t skipped = cpt_name_service(name).bytes;

    node->service = cpt_path_frame_service(path, frame);
    if (kind != CPT_KIND_WORK) {
        node->operation = cpt_bytes_of(
            kind < sizeof shown / sizeof shown[0] ? shown[kind] : "\u2039?\u203a");
        return;
    }
    node->operation = name;
    if (skipped > 0) {
        node->operation.data += skipped + 2;
        node->operation.bytes -= skipped + 2;
    }
}

/* Enters the frames of the stack of @frame that are not open, and leaves all others. */
static cpt_status enter(struct cpti_rule_trace *trace, struct open *open,
                        const struct cpt_path *path, uint32_t frame, uint64_t start_ns)
{
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    size_t depth = 0;
    size_t same = 0;
    const bool has_time = (cpt_path_flags(path) & CPT_PATH_UNORDERED) == 0;

    for (uint32_t at = frame; at != CPT_FRAME_NONE && depth < CPT_PATH_DEPTH_MAX;
         at = cpt_path_frame(path, at)->parent) {
        stack[depth++] = at;
    }
    while (same < depth && same < open->depth &&
           open->frames[same] == stack[depth - 1 - same]) {
        same++;
    }
    open->depth = same;
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
    return CPT_OK;
}

cpt_status cpti_assert_path(struct cpti_rule_trace *trace, const struct cpt_path *path)
{
    struct open open = {.depth = 0};
    uint64_t now_ns = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const cpt_status status = enter(trace, &open, path, segment->frame, now_ns);

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
