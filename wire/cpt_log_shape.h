/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_log_shape.h - the times of a record's path, without the path
 *
 * To add up many records, only the time of every frame is needed. The frames
 * themselves, with names and parents, are the same in most records of a service: their
 * *shape*. It is a part of the path's bytes, so comparing these bytes with known ones
 * is enough:
 *
 *      path's bytes  | sum | names, parents, kinds | segments: frames, times | labels |
 *                          '------ shape 7 -------'  '-> self time of each frame
 *
 * Only the form that cpt_metadata_encode() writes is known here. Any other form, and
 * any possible error, is left to cpt_record_path(), which reports it:
 *
 *      status = cpt_log_shapes_find(shapes, record, &times);
 *      if (status != CPT_OK) {
 *          cpt_record_path(record, …, path, …);            may refuse the record
 *          cpt_log_shapes_keep(shapes, record, path, &shape);
 *      }
 *
 * Threads: one at a time for each set of shapes.
 */
#ifndef CPT_LOG_SHAPE_H
#define CPT_LOG_SHAPE_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"
#include "cpt/cpt_path.h"
#include "cpt_log.h"

CPT_BEGIN_DECLS

/* Limits of what is kept; at a limit all shapes are forgotten and kept again. */
enum {
    CPT_LOG_SHAPES_MAX = 1024,
    CPT_LOG_SHAPE_BYTES_MAX = 1 << 20, /* of one shape; a larger one is not kept */
    CPT_LOG_SHAPES_BYTES_MAX = 1 << 23 /* of all shapes */
};

/* A set of known shapes. */
struct cpt_log_shapes;

/* An empty set over @alloc (NULL: malloc's). NULL without memory. The caller owns
 * it. */
CPT_API struct cpt_log_shapes *cpt_log_shapes_new(const struct cpt_alloc *alloc);
CPT_API void cpt_log_shapes_free(struct cpt_log_shapes *shapes);

/* The times of a path. */
struct cpt_log_times {
    uint64_t shape;          /* its number, which no other shape ever gets */
    const uint64_t *self_ns; /* of each frame, in their order; sums to the latency */
    size_t frame_count;
    unsigned path_flags; /* of the path, as in cpt_metadata_peek() */
};

/*
 * Gets the times of the path of @record, if its shape is known and nothing about it is
 * unusual; then cpt_record_path() would accept it, too. Borrowed until the next call.
 *
 * CPT_OK; CPT_END: decode the path.
 */
CPT_API cpt_status cpt_log_shapes_find(struct cpt_log_shapes *shapes,
                                       const struct cpt_record *record,
                                       struct cpt_log_times *times);

/*
 * Keeps the shape of @record, whose path cpt_record_path() has just decoded to @path,
 * and sets *@shape to its number, which cpt_log_shapes_find() returns from now on.
 *
 * CPT_OK; CPT_END: not kept, because it has not occurred often enough, is too large, or
 * has an unusual form; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_log_shapes_keep(struct cpt_log_shapes *shapes,
                                       const struct cpt_record *record,
                                       const struct cpt_path *path, uint64_t *shape);

CPT_END_DECLS

#endif
