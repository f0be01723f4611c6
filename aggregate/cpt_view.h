/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_view.h - a path by service, by name or by edge, whatever the stacks
 *
 * A stack is too fine for some questions: a component that is called from ten places
 * has ten rows, and none of them may tell. A view forgets the stacks. It makes, of the
 * path of one request, a flat one, whose frames are groups:
 *
 *      stack                     service    name                      edge
 *      A: /                      A          A: /                      -> A
 *      A: /;B: x                 B          B: x                      A -> B
 *      A: /;B: x;‹network›       B          B: ‹network…›             A -> B
 *      A: /;B: x;parse           B          B: parse                  A -> B
 *      A: /;B: x;parse;C: y      C          C: y                      B -> C
 *
 * An edge is what a callee costs its caller: its own time, and its queues, the network
 * to it and its blind spots, too. So it tells of a callee that looks innocent.
 *
 * There are two such paths. In that of *self* times each segment is in one group; so
 * they sum to the latency. In that of *inclusive* times it is in each group that
 * occurs on its stack, once, however often it occurs there (recursion); so these do
 * not sum to anything, but each says how long requests were in a group or below it.
 *
 * Make a tree of each (cpt_tree_add()), and all statistics of groups are those of
 * requests, as they are for stacks. They cannot be had from a tree of stacks: times of
 * two stacks vary together.
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
    CPT_VIEW_EDGE = 2 /* from the service of the frames above to that of the frame */
};

struct cpt_view;

/* A view over @alloc (NULL: malloc's). NULL without memory. The caller owns it. */
CPT_API struct cpt_view *cpt_view_new(const struct cpt_alloc *alloc,
                                      enum cpt_view_by by);
CPT_API void cpt_view_free(struct cpt_view *view);

/*
 * Makes both paths of @path, which has to conserve time (cpt_path_check()). The names
 * of their frames are text that is fit to be shown as it is, of at most 255 bytes;
 * their kind is that of the frame for CPT_VIEW_NAME, otherwise CPT_KIND_WORK.
 *
 * CPT_OK; CPT_NO_MEMORY; CPT_LIMIT if all inclusive times together exceed 2^63 - 1.
 */
CPT_API cpt_status cpt_view_take(struct cpt_view *view, const struct cpt_path *path);

/* The two paths that were made last. Borrowed until the next one, or the end. */
CPT_API const struct cpt_path *cpt_view_self(const struct cpt_view *view);
CPT_API const struct cpt_path *cpt_view_inclusive(const struct cpt_view *view);

/*
 * Makes @edges, which is emptied first, of @path: its stacks, by calls from service to
 * service. Frames of one service that follow each other become one, the call that led
 * there. So a frame with all below it is what a callee costs its caller, with queues,
 * network and blind spots.
 *
 *      A: /;A: A1;B: /B1;B: B1;C: C1     becomes     -> A;A -> B;B -> C
 *      A: /;A: A1;B: /B1;‹network›       becomes     -> A;A -> B
 *
 * @alloc is for scratch memory (NULL: malloc's). CPT_OK; CPT_NO_MEMORY; CPT_LIMIT of
 * cpt_path_frame_add(); after an error @edges has a part of it.
 */
CPT_API cpt_status cpt_view_edge_path(const struct cpt_alloc *alloc,
                                      const struct cpt_path *path,
                                      struct cpt_path *edges);

/* What stands for the service of frames that have none. */
#define CPT_VIEW_NO_SERVICE "(none)"

CPT_END_DECLS

#endif
