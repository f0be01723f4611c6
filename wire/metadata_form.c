/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_form.c - a path made into columns of small numbers
 *
 * Frames that no segment lies in or below are left out. The others keep their order and
 * get new numbers; names are numbered in the order of first use. A parent is written as
 * the distance to it, which is small for a tree that was built depth first:
 *
 *      frame            parent  name        the message
 *      0  A: /          -       "A: /"      parent  0 1 1 2
 *      1  |- A: parse   0       "A: parse"  name    1 2 3 2
 *      2  '- A: index   0       "A: index"  (frame 3 is two after its parent, 1)
 *      3     ...
 */
#include "wire/metadata_form.h"

#include <assert.h>
#include <string.h>

/* --- Path to form --- */

static void *copy_array(const struct cpt_alloc *alloc, const void *from, size_t count,
                        size_t capacity, size_t element_bytes)
{
    void *copy = cpt_alloc_array(alloc, NULL, capacity, element_bytes);

    if (copy != NULL && count != 0) {
        memcpy(copy, from, count * element_bytes);
    }
    return copy;
}

cpt_status cpti_form_init(struct cpti_form *form, const struct cpt_alloc *alloc,
                          const struct cpt_path *path)
{
    const size_t frame_count = cpt_path_frame_count(path);
    const size_t segment_count = cpt_path_segment_count(path);
    const size_t label_count = cpt_path_label_count(path);

    *form = (struct cpti_form){.alloc = alloc,
                               .path = path,
                               .flags = cpt_path_flags(path),
                               .frame_count = frame_count,
                               .frame_use_max = frame_count,
                               .segment_count = segment_count,
                               .label_count = label_count};
    if (segment_count == 0) {
        form->frame_count = 0;
        form->label_count = 0;
        return CPT_OK;
    }
    /* Folding adds at most one frame to each. */
    form->frames = copy_array(alloc, cpt_path_frame(path, 0), frame_count,
                              2 * frame_count, sizeof *form->frames);
    form->segments = copy_array(alloc, cpt_path_segment(path, 0), segment_count,
                                segment_count, sizeof *form->segments);
    form->frame_numbers =
        cpt_alloc_array(alloc, NULL, 2 * frame_count, sizeof *form->frame_numbers);
    form->name_numbers = cpt_alloc_array(alloc, NULL, cpt_path_name_count(path) + 1,
                                         sizeof *form->name_numbers);
    if (label_count != 0) {
        form->labels = copy_array(alloc, cpt_path_label(path, 0), label_count,
                                  label_count, sizeof *form->labels);
    }
    return form->frames != NULL && form->segments != NULL &&
                   form->frame_numbers != NULL && form->name_numbers != NULL &&
                   (label_count == 0 || form->labels != NULL)
               ? CPT_OK
               : CPT_NO_MEMORY;
}

void cpti_form_deinit(struct cpti_form *form)
{
    cpt_alloc_free(form->alloc, form->frames);
    cpt_alloc_free(form->alloc, form->segments);
    cpt_alloc_free(form->alloc, form->labels);
    cpt_alloc_free(form->alloc, form->frame_numbers);
    cpt_alloc_free(form->alloc, form->name_numbers);
}

/* --- Form to message --- */

static cpt_status reserve(struct cpti_message *message, unsigned first, unsigned last,
                          size_t count)
{
    for (unsigned i = first; i <= last; i++) {
        struct cpti_column *column = &message->columns[i];
        const cpt_status status =
            cpt_alloc_grow(message->alloc, (void **)&column->values, &column->capacity,
                           count, SIZE_MAX, sizeof *column->values);

        if (status != CPT_OK) {
            return status;
        }
    }
    return CPT_OK;
}

cpt_status cpti_form_reserve(const struct cpti_form *form, struct cpti_message *message)
{
    const size_t name_capacity =
        form->segment_count == 0 ? 0 : cpt_path_name_count(form->path);

    if (reserve(message, CPTI_FRAME_PARENT, CPTI_FRAME_KIND, form->frame_use_max) !=
            CPT_OK ||
        reserve(message, CPTI_SEGMENT_FRAME, CPTI_SEGMENT_REASON,
                form->segment_count) != CPT_OK ||
        reserve(message, CPTI_LABEL_SEGMENT, CPTI_LABEL_VALUE, form->label_count) !=
            CPT_OK) {
        return CPT_NO_MEMORY;
    }
    return cpt_alloc_grow(message->alloc, (void **)&message->names,
                          &message->name_capacity, name_capacity, SIZE_MAX,
                          sizeof *message->names);
}

static void put(struct cpti_message *message, unsigned index, uint64_t value)
{
    struct cpti_column *column = &message->columns[index];

    assert(column->count < column->capacity);
    column->values[column->count++] = value;
}

/* A column marked (0) in the schema ends with its last non-zero number. */
static void trim(struct cpti_message *message, unsigned index)
{
    struct cpti_column *column = &message->columns[index];

    while (column->count != 0 && column->values[column->count - 1] == 0) {
        column->count--;
    }
}

/* The number of a name + 1; 0: no name. The first use adds the name to the message. */
static uint64_t name_number(struct cpti_form *form, struct cpti_message *message,
                            cpt_name_id name)
{
    if (name == CPTI_NAME_NONE || cpt_path_name(form->path, name).bytes == 0) {
        return 0;
    }
    if (form->name_numbers[name] == 0) {
        message->names[message->name_count] = cpt_path_name(form->path, name);
        form->name_numbers[name] = (uint32_t)++message->name_count;
    }
    return form->name_numbers[name];
}

/* Numbers the frames in use, in order from 1; the others get 0. */
static void number_frames(struct cpti_form *form)
{
    uint32_t next = 1;

    memset(form->frame_numbers, 0, form->frame_count * sizeof *form->frame_numbers);
    for (size_t i = 0; i < form->segment_count; i++) {
        form->frame_numbers[form->segments[i].frame] = 1;
    }
    for (size_t i = form->frame_count; i-- > 0;) {
        if (form->frame_numbers[i] != 0 && form->frames[i].parent != CPT_FRAME_NONE) {
            form->frame_numbers[form->frames[i].parent] = 1;
        }
    }
    for (size_t i = 0; i < form->frame_count; i++) {
        if (form->frame_numbers[i] != 0) {
            form->frame_numbers[i] = next++;
        }
    }
}

static void put_frames(struct cpti_form *form, struct cpti_message *message)
{
    for (size_t i = 0; i < form->frame_count; i++) {
        const struct cpt_frame *frame = &form->frames[i];
        const uint32_t number = form->frame_numbers[i];

        if (number == 0) {
            continue;
        }
        put(message, CPTI_FRAME_PARENT,
            frame->parent == CPT_FRAME_NONE
                ? 0
                : number - form->frame_numbers[frame->parent]);
        put(message, CPTI_FRAME_NAME, name_number(form, message, frame->name));
        put(message, CPTI_FRAME_KIND, frame->kind);
    }
    trim(message, CPTI_FRAME_KIND);
}

static void put_segments(const struct cpti_form *form, struct cpti_message *message)
{
    for (size_t i = 0; i < form->segment_count; i++) {
        const struct cpt_segment *segment = &form->segments[i];

        put(message, CPTI_SEGMENT_FRAME, form->frame_numbers[segment->frame] - 1);
        put(message, CPTI_SEGMENT_DURATION_NS, segment->duration_ns);
        put(message, CPTI_SEGMENT_FOLDED, segment->count - 1);
        put(message, CPTI_SEGMENT_FLAGS, segment->flags);
        put(message, CPTI_SEGMENT_REASON, segment->reason);
    }
    trim(message, CPTI_SEGMENT_FOLDED);
    trim(message, CPTI_SEGMENT_FLAGS);
    trim(message, CPTI_SEGMENT_REASON);
}

static void put_labels(struct cpti_form *form, struct cpti_message *message)
{
    uint32_t last_segment = 0;

    for (size_t i = 0; i < form->label_count; i++) {
        const struct cpt_label *label = &form->labels[i];

        put(message, CPTI_LABEL_SEGMENT, label->segment - last_segment);
        put(message, CPTI_LABEL_KEY, label->key);
        put(message, CPTI_LABEL_IS_NAME, label->is_name != 0);
        put(message, CPTI_LABEL_VALUE,
            label->is_name ? name_number(form, message, (cpt_name_id)label->value)
                           : label->value);
        last_segment = label->segment;
    }
    trim(message, CPTI_LABEL_IS_NAME);
}

void cpti_form_number(struct cpti_form *form, struct cpti_message *message)
{
    message->flags = form->flags;
    message->name_count = 0;
    for (size_t i = 0; i < CPTI_COLUMN_COUNT; i++) {
        message->columns[i].count = 0;
    }
    if (form->segment_count == 0) {
        return;
    }
    memset(form->name_numbers, 0,
           (cpt_path_name_count(form->path) + 1) * sizeof *form->name_numbers);
    number_frames(form);
    put_frames(form, message);
    put_segments(form, message);
    put_labels(form, message);
}
