/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* path.h - the inside of a path, for the files of the core */
#ifndef PATH_H
#define PATH_H

#include "cpt/cpt_path.h"
#include "cpt/base/hash_index.h"

struct cpt_path {
    const struct cpt_alloc *alloc; /* also of scratch memory */
    struct cpt_names *names;
    struct cpt_frame *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct cpti_hash_index frame_index;
    struct cpt_segment *segments;
    size_t segment_count;
    size_t segment_capacity;
    struct cpt_label *labels;
    size_t label_count;
    size_t label_capacity;
    /* Of the first drag_count segments, which may be CPT_DRAG_UNKNOWN; those of all
     * later ones are. So a path without drags pays nothing, when it grows either. */
    uint64_t *drags;
    size_t drag_count;
    size_t drag_capacity;
    uint64_t sum_ns;
    unsigned flags;
    /* 0, or how many segments the path may have. At this number they are folded: those
     * of one frame become one, without labels, and the path is unordered. At limits of
     * frames and names time goes to the parent, and the path is incomplete. So nothing
     * that is added meets a limit. */
    size_t folds_at;
};

/* Makes room for @segment_count more segments. CPT_OK; CPT_LIMIT; CPT_NO_MEMORY. */
cpt_status cpti_path_reserve(struct cpt_path *path, size_t segment_count);

/* As cpt_path_append_ns(), inline if there is room. @frame is one of the path's, whose
 * sum stays below 2^63, and @duration_ns is not 0. */
static inline cpt_status cpti_path_push(struct cpt_path *path, uint32_t frame,
                                        uint64_t duration_ns)
{
    if (path->segment_count == path->segment_capacity) {
        return cpt_path_append_ns(path, frame, duration_ns);
    }
    path->segments[path->segment_count++] =
        (struct cpt_segment){.duration_ns = duration_ns, .frame = frame, .count = 1};
    path->sum_ns += duration_ns;
    return CPT_OK;
}

#endif
