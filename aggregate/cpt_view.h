/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_view.h - a path by service, by name or by edge, without its stacks
 *
 * Stacks are too fine for some questions: a component that is called from ten places
 * has ten rows, and perhaps none of them is conspicuous. A view leaves the stacks out.
 * It turns the path of one request into a flat path, whose frames are groups:
 *
 *      stack                     service    name                      edge
 *      A: /                      A          A: /                      -> A
 *      A: /;B: x                 B          B: x                      A -> B
 *      A: /;B: x;‹network›       B          B: ‹network…›             A -> B
 *      A: /;B: x;parse           B          B: parse                  A -> B
 *      A: /;B: x;parse;C: y      C          C: y                      B -> C
 *
 * An edge is what a callee costs its caller: its own time, its queues, the network to
 * it and its blind spots. So an edge can show a callee that looks fast by itself.
 *
 * There are two flat paths. In the path of *self* times each segment is in one group,
 * so the groups sum to the latency. In the path of *inclusive* times a segment is in
 * each group of its stack, and only once if a group occurs there several times
 * (recursion). These times have no meaningful sum; each says how long requests were in
 * a group or below it.
 *
 * If the path has drags, so has the path of self times: that of a group is the largest
 * of its segments' drags (cpt_gain.h). The path of inclusive times has none.
 *
 * Build a tree of each (cpt_tree_add()); then all statistics of groups are statistics
 * over requests, as for stacks. A tree of stacks cannot give them: the times of two
 * stacks are correlated.
 *
 * In order of use: cpt_view_new; for each request cpt_view_take, then cpt_view_self and
 * cpt_view_inclusive; cpt_view_free. Threads: one at a time.
 */
#ifndef CPT_VIEW_H
#define CPT_VIEW_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_path.h"

CPT_BEGIN_DECLS

enum cpt_view_by {
    CPT_VIEW_SERVICE = 0, /* cpt_path_frame_service() */
    CPT_VIEW_NAME = 1,    /* the last frame, with its service in front */
    CPT_VIEW_EDGE = 2 /* from the service of the frames above to the frame's service */
};

struct cpt_view;

/* A view over @alloc (NULL: malloc's). NULL without memory. The caller owns it. */
CPT_API struct cpt_view *cpt_view_new(const struct cpt_alloc *alloc,
                                      enum cpt_view_by by);
CPT_API void cpt_view_free(struct cpt_view *view);

/*
 * Makes both paths of @path, which must conserve time (cpt_path_check()). The names of
 * their frames are printable text of at most 255 bytes; their kind is that of the frame
 * for CPT_VIEW_NAME, otherwise CPT_KIND_WORK.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT if the inclusive times together exceed 2^63 - 1.
 */
CPT_API cpt_status cpt_view_take(struct cpt_view *view, const struct cpt_path *path);

/* The two paths of the last cpt_view_take(). Borrowed until the next one or
 * cpt_view_free(). */
CPT_API const struct cpt_path *cpt_view_self(const struct cpt_view *view);
CPT_API const struct cpt_path *cpt_view_inclusive(const struct cpt_view *view);

/*
 * Requests whose table of frames is known, by the number of their *shape*, as in
 * cpt_tree.h: groups depend on the frames alone, so they are found once for a shape.
 * Shapes are a cache: keeping one may forget others. In order of use, for a request:
 * cpt_view_shape_is_kept; if it is not, cpt_view_take and cpt_view_shape_keep; else
 * cpt_view_shape_take.
 */
struct cpt_view_times {
    const uint64_t
        *self_ns; /* of each group, in the order of the frames of both paths */
    const uint64_t *inclusive_ns;
    size_t group_count;
};

CPT_API int cpt_view_shape_is_kept(const struct cpt_view *view, uint64_t shape);

/* Keeps the groups of @path, whose shape has the number @shape; takes the path, too.
 * CPT_OK, or as cpt_view_take(). */
CPT_API cpt_status cpt_view_shape_keep(struct cpt_view *view, uint64_t shape,
                                       const struct cpt_path *path);

/* Sets @times to those of the request of a kept shape with these self times of its
 * frames. Borrowed until the next call. */
CPT_API void cpt_view_shape_take(struct cpt_view *view, uint64_t shape,
                                 const uint64_t *self_ns, struct cpt_view_times *times);

/*
 * Fills @edges, which is emptied first, with the stacks of @path by calls from service
 * to service. Consecutive frames of one service become one frame, the call that led
 * there. So a frame with all frames below it is what a callee costs its caller, with
 * queues, network and blind spots. Segments keep their drags.
 *
 *      A: /;A: A1;B: /B1;B: B1;C: C1     becomes     -> A;A -> B;B -> C
 *      A: /;A: A1;B: /B1;‹network›       becomes     -> A;A -> B
 *
 * @alloc is for scratch memory (NULL: malloc's). CPT_OK; CPT_NO_MEMORY; CPT_LIMIT of
 * cpt_path_frame_add(). After an error @edges is incomplete.
 */
CPT_API cpt_status cpt_view_edge_path(const struct cpt_alloc *alloc,
                                      const struct cpt_path *path,
                                      struct cpt_path *edges);

/* Stands for the service of frames that have none. */
#define CPT_VIEW_NO_SERVICE "(none)"

CPT_END_DECLS

#endif
