/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_path.c - the time of a request in the frames that a test names
 *
 * Which frames a test names depends on the names and parents of a path's frames: its
 * shape (cpt_log_shape.h), which most records share with others. So the frames are
 * marked once for each shape and test,
 *
 *      shape 7    frames  A: /   A: A1   B: B1   B: B2
 *      test 2     marks    -      -       x       x         path("B: B1") > 20ms
 *
 * and for later records of that shape, only the times of marked frames are read and
 * added up. The path of a record with an unknown shape is decoded.
 */
#include "tool/select/expression_path.h"

#include "tool/base/output.h"
#include "cpt/cpt_path.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_shape.h"

#include <stdlib.h>
#include <string.h>

/* The most marks that are kept, and the most frames of one. Others are made anew. */
enum { MARKS_MAX = 1024, MARKED_FRAMES_MAX = 4096 };

/* The frames of one shape that one test names. */
struct cpti_marks {
    uint64_t expression; /* its number; 0: this entry is free */
    size_t test;
    uint64_t shape;
    size_t frame_count;
    unsigned char *all; /* one for each frame */
};

/* What is known of the current record's shape. */
enum { SHAPE_NOT_ASKED, SHAPE_NONE, SHAPE_KNOWN, SHAPE_KEPT };

void cpti_scratch_begin(struct cpti_scratch *scratch)
{
    scratch->is_decoded = 0;
    scratch->shape_state = SHAPE_NOT_ASKED;
}

void cpti_scratch_deinit(struct cpti_scratch *scratch)
{
    for (size_t i = 0; i < MARKS_MAX && scratch->known != NULL; i++) {
        free(scratch->known[i].all);
    }
    free(scratch->known);
    cpt_log_shapes_free(scratch->shapes);
    cpt_path_free(scratch->path);
    free(scratch->marks);
    *scratch = (struct cpti_scratch){0};
}

/* --- The path --- */

/* Decodes the path of @record, once. False if it is missing or invalid. */
static bool decode_path(const struct cpt_record *record, struct cpti_scratch *scratch)
{
    size_t frames;

    if (scratch->is_decoded != 0) {
        return scratch->is_decoded > 0;
    }
    scratch->is_decoded = -1;
    if (scratch->path == NULL) {
        scratch->path = cpt_path_new(NULL);
    }
    if (scratch->path == NULL) {
        return false;
    }
    cpt_path_reset(scratch->path);
    if (cpt_record_path(record, NULL, scratch->path, NULL) != CPT_OK) {
        return false;
    }
    frames = cpt_path_frame_count(scratch->path);
    if (frames > scratch->mark_capacity) {
        unsigned char *marks = realloc(scratch->marks, 2 * frames);

        if (marks == NULL) {
            return false;
        }
        scratch->marks = marks;
        scratch->mark_capacity = 2 * frames;
    }
    scratch->is_decoded = 1;
    return true;
}

/* Whether frame @index is called @text. A frame of work is compared by its name; other
 * kinds, and names with escapes, as they are shown. */
static bool is_frame(const struct cpt_path *path, uint32_t index, struct cpt_bytes text,
                     bool is_shown)
{
    char shown[CPTI_TEXT_BYTES];

    if (!is_shown) {
        return cpt_path_frame(path, index)->kind == CPT_KIND_WORK &&
               cpt_bytes_equal(cpt_path_frame_name(path, index), text);
    }
    return cpt_path_frame_text(path, index, shown, sizeof shown) == text.bytes &&
           memcmp(shown, text.data, text.bytes) == 0;
}

/* Whether the stack of frame @index ends with the frames of @test. */
static bool is_stack(const struct cpti_expression *expression,
                     const struct cpti_test *test, const struct cpt_path *path,
                     uint32_t index)
{
    for (size_t i = test->frame_count; i-- > 0;) {
        const struct cpti_value *value = &expression->values[test->value + i];

        if (index == CPT_FRAME_NONE ||
            !is_frame(path, index, cpti_expression_text(expression, value),
                      value->is_shown)) {
            return false;
        }
        index = cpt_path_frame(path, index)->parent;
    }
    return true;
}

/* Marks the frames of the path that @test names, and the frames below them. */
static void mark(const struct cpti_expression *expression, const struct cpti_test *test,
                 struct cpti_scratch *scratch)
{
    const struct cpt_path *path = scratch->path;

    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        const uint32_t parent = cpt_path_frame(path, i)->parent;

        scratch->marks[i] = (parent != CPT_FRAME_NONE && scratch->marks[parent] != 0) ||
                            is_stack(expression, test, path, i);
    }
}

/* The time of all segments in marked frames. */
static uint64_t marked_ns(const struct cpti_scratch *scratch)
{
    const struct cpt_path *path = scratch->path;
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        sum_ns += scratch->marks[segment->frame] != 0 ? segment->duration_ns : 0;
    }
    return sum_ns;
}

/* --- The shape --- */

/* Finds the times of @record, once, if its shape is known. */
static void find_shape(struct cpti_scratch *scratch, const struct cpt_record *record)
{
    struct cpt_log_times times;

    if (scratch->shape_state != SHAPE_NOT_ASKED) {
        return;
    }
    scratch->shape_state = SHAPE_NONE;
    if (scratch->shapes == NULL) {
        scratch->shapes = cpt_log_shapes_new(NULL);
        scratch->known = calloc(MARKS_MAX, sizeof *scratch->known);
    }
    if (scratch->shapes != NULL && scratch->known != NULL &&
        cpt_log_shapes_find(scratch->shapes, record, &times) == CPT_OK) {
        scratch->shape_state = SHAPE_KNOWN;
        scratch->shape = times.shape;
        scratch->self_ns = times.self_ns;
        scratch->frame_count = times.frame_count;
    }
}

/* The entry for the marks of test @index and the current shape. */
static struct cpti_marks *place_of(const struct cpti_scratch *scratch, size_t index)
{
    const uint64_t mixed = (scratch->shape * 31 + index) * UINT64_C(0x9e3779b97f4a7c15);

    return &scratch->known[mixed >> 32 & (MARKS_MAX - 1)];
}

/* Adds up the times by earlier marks. False if there are none. */
static bool sum_known(const struct cpti_expression *expression, size_t index,
                      const struct cpti_scratch *scratch, uint64_t *ns)
{
    const struct cpti_marks *marks = place_of(scratch, index);
    uint64_t sum_ns = 0;

    if (marks->expression != expression->number || marks->test != index ||
        marks->shape != scratch->shape || marks->frame_count != scratch->frame_count) {
        return false;
    }
    for (size_t i = 0; i < scratch->frame_count; i++) {
        sum_ns += marks->all[i] != 0 ? scratch->self_ns[i] : 0;
    }
    *ns = sum_ns;
    return true;
}

/* Keeps the present marks, if the shape is or becomes known. */
static void keep_marks(const struct cpti_expression *expression, size_t index,
                       struct cpti_scratch *scratch, const struct cpt_record *record)
{
    const size_t frame_count = cpt_path_frame_count(scratch->path);
    struct cpti_marks *marks;
    unsigned char *copy;

    if (scratch->shapes == NULL || scratch->known == NULL || frame_count == 0 ||
        frame_count > MARKED_FRAMES_MAX) {
        return;
    }
    if (scratch->shape_state == SHAPE_NONE &&
        cpt_log_shapes_keep(scratch->shapes, record, scratch->path, &scratch->shape) ==
            CPT_OK) {
        scratch->shape_state = SHAPE_KEPT;
    }
    copy = scratch->shape_state == SHAPE_NONE ? NULL : malloc(frame_count);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, scratch->marks, frame_count);
    marks = place_of(scratch, index);
    free(marks->all);
    *marks = (struct cpti_marks){expression->number, index, scratch->shape, frame_count,
                                 copy};
}

bool cpti_expression_path_ns(const struct cpti_expression *expression, size_t index,
                             const struct cpt_record *record,
                             struct cpti_scratch *scratch, uint64_t *ns)
{
    find_shape(scratch, record);
    if (scratch->shape_state == SHAPE_KNOWN &&
        sum_known(expression, index, scratch, ns)) {
        return true;
    }
    if (!decode_path(record, scratch)) {
        return false;
    }
    mark(expression, &expression->tests[index], scratch);
    *ns = marked_ns(scratch);
    keep_marks(expression, index, scratch, record);
    return true;
}
