/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * view.c - from stacks to groups, request by request
 *
 * A path has its own small table of frames, parents before children. One pass over it
 * gives every frame its group; the groups are the frames of the flat path of self
 * times, which looks up names. Then
 *
 *      segments --> self time of each frame       forwards
 *               --> inclusive time of each frame  backwards: a child adds to its parent
 *               --> self time of each group       of all its frames
 *               --> inclusive time of each group  of its topmost frames: their times
 *                                                 include those of the frames below
 *               --> drag of each group            the largest of its segments
 *
 * Cost: for each frame one text and one look-up; if its group is not that of its
 * parent, also a walk to the root to see whether it is the topmost of its group. All
 * this depends on the table of frames alone, so it is kept for tables that return: the
 * rest are three additions for each frame.
 */
#include "aggregate/cpt_view.h"

#include "aggregate/tree/tree_node.h"

#include <assert.h>
#include <string.h>

/* Shapes that are kept at the same time, and frames of all of them: 16 MB. */
enum { SHAPES_MAX = 1024, SHAPE_FRAMES_MAX = 1 << 20 };

/* A frame of a kept shape. */
struct shape_frame {
    uint32_t parent; /* frame, or CPT_FRAME_NONE */
    uint32_t group;
    bool is_topmost;
};

struct shape {
    uint64_t number;
    struct shape_frame *frames; /* NULL: no shape */
    size_t frame_count;
    size_t group_count;
};

struct view_group {
    uint64_t self_ns;
    uint64_t inclusive_ns;
    uint64_t drag_ns; /* the largest of its segments, or CPT_DRAG_UNKNOWN */
};

struct cpt_view {
    const struct cpt_alloc *alloc;
    enum cpt_view_by by;
    struct cpt_path *self; /* its frames are the groups, in order of first use */
    struct cpt_path *inclusive;
    struct cpti_frame_sum *frames;
    size_t frame_capacity;
    struct view_group *groups;
    size_t group_capacity;
    struct shape *shapes;     /* number n is in place n % SHAPES_MAX, or nowhere */
    size_t shape_frame_count; /* of all shapes */
    uint64_t *columns;        /* inclusive times of frames; both times of groups */
    size_t column_capacity;
};

/* The text of a group: two services, or a service and a frame, with all escapes. */
enum { TEXT_BYTES = 8192 };

struct cpt_view *cpt_view_new(const struct cpt_alloc *alloc, enum cpt_view_by by)
{
    struct cpt_view *view = cpt_alloc_zeroed(alloc, sizeof *view);

    if (view == NULL) {
        return NULL;
    }
    view->alloc = alloc;
    view->by = by;
    view->self = cpt_path_new(alloc);
    view->inclusive = cpt_path_new(alloc);
    if (view->self == NULL || view->inclusive == NULL) {
        cpt_view_free(view);
        return NULL;
    }
    return view;
}

static void forget(struct cpt_view *view, struct shape *shape)
{
    view->shape_frame_count -= shape->frame_count;
    cpt_alloc_free(view->alloc, shape->frames);
    *shape = (struct shape){0};
}

static void forget_all(struct cpt_view *view)
{
    for (size_t i = 0; i < SHAPES_MAX && view->shapes != NULL; i++) {
        forget(view, &view->shapes[i]);
    }
}

void cpt_view_free(struct cpt_view *view)
{
    if (view == NULL) {
        return;
    }
    forget_all(view);
    cpt_alloc_free(view->alloc, view->shapes);
    cpt_alloc_free(view->alloc, view->columns);
    cpt_path_free(view->self);
    cpt_path_free(view->inclusive);
    cpt_alloc_free(view->alloc, view->frames);
    cpt_alloc_free(view->alloc, view->groups);
    cpt_alloc_free(view->alloc, view);
}

/* --- Groups --- */

/* The service of the frames above frame @index; empty for a root. */
static struct cpt_bytes service_above(const struct cpt_path *path, uint32_t index)
{
    const uint32_t parent = cpt_path_frame(path, index)->parent;

    return parent == CPT_FRAME_NONE ? cpt_bytes_of("")
                                    : cpt_path_frame_service(path, parent);
}

static size_t put_service(struct cpt_bytes service, char *text, size_t capacity)
{
    return cpt_text_name(service.bytes != 0 ? service
                                            : cpt_bytes_of(CPT_VIEW_NO_SERVICE),
                         text, capacity);
}

/* "service: part" of a frame, also if its own name lacks the service. */
static size_t put_name(const struct cpt_path *path, uint32_t index,
                       char text[TEXT_BYTES])
{
    const struct cpt_bytes above = service_above(path, index);
    const struct cpt_bytes name = cpt_path_frame_name(path, index);
    const unsigned kind = cpt_path_frame(path, index)->kind;
    size_t bytes = 0;

    if (kind == CPT_KIND_WORK && above.bytes != 0 &&
        cpt_name_service(name).bytes == 0) {
        bytes = put_service(above, text, TEXT_BYTES);
        memcpy(text + bytes, ": ", 3);
        bytes += 2;
    }
    return bytes + cpt_text_frame(name, kind, above, text + bytes, TEXT_BYTES - bytes);
}

static size_t put_edge(const struct cpt_path *path, uint32_t index,
                       char text[TEXT_BYTES])
{
    const struct cpt_bytes above = service_above(path, index);
    const bool is_root = cpt_path_frame(path, index)->parent == CPT_FRAME_NONE;
    size_t bytes = is_root ? 0 : put_service(above, text, TEXT_BYTES);

    memcpy(text + bytes, is_root ? "-> " : " -> ", 5 - (size_t)is_root);
    bytes += is_root ? 3 : 4;
    return bytes + put_service(cpt_path_frame_service(path, index), text + bytes,
                               TEXT_BYTES - bytes);
}

/* Whether frame @index is certainly in the group of its parent. */
static bool is_like_parent(const struct cpt_view *view, const struct cpt_path *path,
                           uint32_t index)
{
    return view->by != CPT_VIEW_NAME &&
           cpt_path_frame(path, index)->parent != CPT_FRAME_NONE &&
           cpt_bytes_equal(service_above(path, index),
                           cpt_path_frame_service(path, index));
}

static bool is_topmost(const struct cpt_view *view, const struct cpt_path *path,
                       uint32_t index)
{
    uint32_t above = cpt_path_frame(path, index)->parent;

    while (above != CPT_FRAME_NONE &&
           view->frames[above].node != view->frames[index].node) {
        above = cpt_path_frame(path, above)->parent;
    }
    return above == CPT_FRAME_NONE;
}

static cpt_status find_group(struct cpt_view *view, const struct cpt_path *path,
                             uint32_t index)
{
    const struct cpt_frame *frame = cpt_path_frame(path, index);
    struct cpti_frame_sum *at = &view->frames[index];
    unsigned kind = CPT_KIND_WORK;
    char text[TEXT_BYTES];
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    if (is_like_parent(view, path, index)) {
        at->node = view->frames[frame->parent].node;
        return CPT_OK; /* and it is not the topmost */
    }
    switch (view->by) {
    case CPT_VIEW_NAME:
        bytes = put_name(path, index, text);
        kind = frame->kind;
        break;
    case CPT_VIEW_EDGE:
        bytes = put_edge(path, index, text);
        break;
    case CPT_VIEW_SERVICE:
    default:
        bytes = put_service(cpt_path_frame_service(path, index), text, sizeof text);
        break;
    }
    status = cpt_path_frame_add(view->self, CPT_FRAME_NONE,
                                (struct cpt_bytes){text, bytes}, kind, &at->node);
    if (status == CPT_OK) {
        at->is_topmost = is_topmost(view, path, index);
    }
    return status;
}

/* --- Times --- */

static void sum_groups(struct cpt_view *view, size_t frame_count)
{
    memset(view->groups, 0, cpt_path_frame_count(view->self) * sizeof *view->groups);
    for (size_t i = 0; i < frame_count; i++) {
        const struct cpti_frame_sum *frame = &view->frames[i];

        view->groups[frame->node].self_ns += frame->self_ns;
        if (frame->is_topmost) {
            view->groups[frame->node].inclusive_ns += frame->inclusive_ns;
        }
    }
}

/* Sets the largest drag of each group; a path without drags has none. */
static void find_drags(struct cpt_view *view, const struct cpt_path *path)
{
    for (size_t i = 0; i < cpt_path_frame_count(view->self); i++) {
        view->groups[i].drag_ns = CPT_DRAG_UNKNOWN;
    }
    if (!cpt_path_has_drags(path)) {
        return;
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint32_t frame = cpt_path_segment(path, i)->frame;
        const uint64_t drag_ns = cpt_path_drag(path, i);
        struct view_group *group = &view->groups[view->frames[frame].node];

        if (drag_ns != CPT_DRAG_UNKNOWN &&
            (group->drag_ns == CPT_DRAG_UNKNOWN || group->drag_ns < drag_ns)) {
            group->drag_ns = drag_ns;
        }
    }
}

/* Adds one segment for each group to both paths. */
static cpt_status put_groups(struct cpt_view *view)
{
    for (uint32_t i = 0; i < cpt_path_frame_count(view->self); i++) {
        const struct view_group *group = &view->groups[i];
        uint32_t frame = 0;
        cpt_status status = cpt_path_append_ns(view->self, i, group->self_ns);

        if (status == CPT_OK && group->drag_ns != CPT_DRAG_UNKNOWN) {
            status = cpt_path_drag_set(
                view->self, cpt_path_segment_count(view->self) - 1, group->drag_ns);
        }
        if (status == CPT_OK) {
            status = cpt_path_frame_add(view->inclusive, CPT_FRAME_NONE,
                                        cpt_path_frame_name(view->self, i),
                                        cpt_path_frame(view->self, i)->kind, &frame);
        }
        if (status == CPT_OK) {
            status = cpt_path_append_ns(view->inclusive, frame, group->inclusive_ns);
        }
        if (status != CPT_OK) {
            return status;
        }
    }
    return CPT_OK;
}

cpt_status cpt_view_take(struct cpt_view *view, const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path);
    cpt_status status = CPT_OK;

    cpt_path_reset(view->self);
    cpt_path_reset(view->inclusive);
    if (frame_count == 0) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(view->alloc, (void **)&view->frames, &view->frame_capacity,
                            frame_count, CPT_PATH_FRAMES_MAX, sizeof *view->frames);
    if (status == CPT_OK) {
        /* there are no more groups than frames */
        status =
            cpt_alloc_grow(view->alloc, (void **)&view->groups, &view->group_capacity,
                           frame_count, CPT_PATH_FRAMES_MAX, sizeof *view->groups);
    }
    if (status != CPT_OK) {
        return status;
    }
    cpti_frames_sum(view->frames, path);
    for (uint32_t i = 0; i < frame_count; i++) {
        status = find_group(view, path, i);
        if (status != CPT_OK) {
            return status;
        }
    }
    sum_groups(view, frame_count);
    find_drags(view, path);
    return put_groups(view);
}

const struct cpt_path *cpt_view_self(const struct cpt_view *view)
{
    return view->self;
}

const struct cpt_path *cpt_view_inclusive(const struct cpt_view *view)
{
    return view->inclusive;
}

/* --- Shapes --- */

static struct shape *find(const struct cpt_view *view, uint64_t number)
{
    struct shape *shape =
        view->shapes != NULL ? &view->shapes[number % SHAPES_MAX] : NULL;

    return shape != NULL && shape->frames != NULL && shape->number == number ? shape
                                                                             : NULL;
}

int cpt_view_shape_is_kept(const struct cpt_view *view, uint64_t shape)
{
    return find(view, shape) != NULL;
}

/* Room for one more shape, and for the times of one of its requests. */
static cpt_status make_room(struct cpt_view *view, size_t frame_count)
{
    if (view->shapes == NULL) {
        view->shapes = cpt_alloc_zeroed(view->alloc, SHAPES_MAX * sizeof *view->shapes);
    }
    if (view->shapes == NULL) {
        return CPT_NO_MEMORY;
    }
    if (frame_count > SHAPE_FRAMES_MAX - view->shape_frame_count) {
        forget_all(view);
    }
    return cpt_alloc_grow(view->alloc, (void **)&view->columns, &view->column_capacity,
                          3 * frame_count, (size_t)3 * CPT_PATH_FRAMES_MAX,
                          sizeof(uint64_t));
}

cpt_status cpt_view_shape_keep(struct cpt_view *view, uint64_t shape,
                               const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path);
    struct shape_frame *frames = NULL;
    cpt_status status = cpt_view_take(view, path);

    if (status == CPT_OK) {
        status = make_room(view, frame_count);
    }
    if (status != CPT_OK) {
        return status;
    }
    frames = cpt_alloc_array(view->alloc, NULL, frame_count, sizeof *frames);
    if (frames == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < frame_count; i++) {
        frames[i] = (struct shape_frame){.parent = cpt_path_frame(path, i)->parent,
                                         .group = view->frames[i].node,
                                         .is_topmost = view->frames[i].is_topmost};
    }
    forget(view, &view->shapes[shape % SHAPES_MAX]);
    view->shapes[shape % SHAPES_MAX] =
        (struct shape){shape, frames, frame_count, cpt_path_frame_count(view->self)};
    view->shape_frame_count += frame_count;
    return CPT_OK;
}

void cpt_view_shape_take(struct cpt_view *view, uint64_t shape, const uint64_t *self_ns,
                         struct cpt_view_times *times)
{
    const struct shape *known = find(view, shape);
    uint64_t *frames_ns = view->columns;
    uint64_t *groups_ns = NULL;
    uint64_t *inclusive_ns = NULL;

    assert(known != NULL);
    groups_ns = frames_ns + known->frame_count;
    inclusive_ns = groups_ns + known->group_count;
    memset(groups_ns, 0, 2 * known->group_count * sizeof *groups_ns);
    if (known->frame_count != 0) {
        memcpy(frames_ns, self_ns, known->frame_count * sizeof *frames_ns);
    }
    for (size_t i = known->frame_count; i-- > 0;) {
        const struct shape_frame *frame = &known->frames[i];

        groups_ns[frame->group] += self_ns[i];
        if (frame->is_topmost) {
            inclusive_ns[frame->group] += frames_ns[i];
        }
        if (frame->parent != CPT_FRAME_NONE) {
            frames_ns[frame->parent] += frames_ns[i];
        }
    }
    *times = (struct cpt_view_times){groups_ns, inclusive_ns, known->group_count};
}
