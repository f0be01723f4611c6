/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* edge_path.c - a path by calls from service to service, stacks kept; see cpt_view.h */
#include "aggregate/cpt_view.h"

#include <stdio.h>

enum { EDGE_BYTES = 2 * CPT_NAME_BYTES_MAX + 16 };

static struct cpt_bytes service_of(const struct cpt_path *path, uint32_t frame)
{
    const struct cpt_bytes service = cpt_path_frame_service(path, frame);

    return service.bytes != 0 ? service : cpt_bytes_of(CPT_VIEW_NO_SERVICE);
}

/* Finds or adds the frame of @edges for frame @index of @path; @parent is that of its
 * caller. */
static cpt_status add_edge(const struct cpt_path *path, uint32_t index,
                           struct cpt_path *edges, uint32_t parent, uint32_t *edge)
{
    const uint32_t caller = cpt_path_frame(path, index)->parent;
    const struct cpt_bytes to = service_of(path, index);
    struct cpt_bytes from = {"", 0};
    char text[EDGE_BYTES];
    char bounded[CPT_NAME_BYTES_MAX + 1];

    if (caller != CPT_FRAME_NONE) {
        from = service_of(path, caller);
        if (cpt_bytes_equal(from, to)) {
            *edge = parent;
            return CPT_OK;
        }
    }
    (void)snprintf(text, sizeof text, "%.*s%s-> %.*s", (int)from.bytes, from.data,
                   from.bytes != 0 ? " " : "", (int)to.bytes, to.data);
    return cpt_path_frame_add(edges, parent,
                              cpt_name_bound(cpt_bytes_of(text), bounded),
                              CPT_KIND_WORK, edge);
}

cpt_status cpt_view_edge_path(const struct cpt_alloc *alloc,
                              const struct cpt_path *path, struct cpt_path *edges)
{
    const size_t count = cpt_path_frame_count(path);
    uint32_t *frames = cpt_alloc_array(alloc, NULL, count + 1, sizeof *frames);
    cpt_status status = frames != NULL ? CPT_OK : CPT_NO_MEMORY;

    cpt_path_reset(edges);
    for (uint32_t i = 0; i < count && status == CPT_OK; i++) {
        const uint32_t parent = cpt_path_frame(path, i)->parent;

        status = add_edge(path, i, edges,
                          parent == CPT_FRAME_NONE ? CPT_FRAME_NONE : frames[parent],
                          &frames[i]);
    }
    for (size_t i = 0; i < cpt_path_segment_count(path) && status == CPT_OK; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        status =
            cpt_path_append_ns(edges, frames[segment->frame], segment->duration_ns);
        if (status == CPT_OK && cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN) {
            status = cpt_path_drag_set(edges, cpt_path_segment_count(edges) - 1,
                                       cpt_path_drag(path, i));
        }
    }
    cpt_alloc_free(alloc, frames);
    return status;
}
