/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_path.c - a path encoded, and columns of numbers made into a path
 *
 * Encoding writes the form of the path, cut down to the budget if it must be. In most
 * cases that is one pass over the path, straight into memory of the caller.
 *
 * Decoding. The columns may hold anything, so everything is checked before it is used:
 * lengths against each other, parents against the frames before them, names and frames
 * against their counts. At the end cpt_path_check() checks the path a second time, and
 * its sum must be the one that the message claims.
 */
#include "wire/metadata/metadata_form.h"

#include <assert.h>
#include <string.h>

/* --- Path to bytes --- */

/* Reads the options and fills in the defaults. */
static cpt_status read_options(const struct cpt_metadata_encode_options *given,
                               struct cpt_metadata_encode_options *own)
{
    const cpt_status status = cpt_options_read(own, sizeof *own, given, NULL);

    if (own->bytes_max == 0) {
        own->bytes_max = CPT_METADATA_BYTES_DEFAULT;
    }
    if (own->is_unlimited) {
        own->bytes_max = SIZE_MAX;
    }
    return status;
}

cpt_status cpt_metadata_write(const struct cpt_path *path,
                              const struct cpt_metadata_encode_options *options,
                              void *data, size_t capacity, size_t *bytes, int *fit)
{
    struct cpt_metadata_encode_options own;
    struct cpti_form form;
    int own_fit = CPT_FIT_WHOLE;
    cpt_status status = read_options(options, &own);

    if (status != CPT_OK) {
        return status;
    }
    status = cpti_form_init(&form, path, &own);
    if (status == CPT_OK) {
        status = cpti_form_fit(&form, data,
                               own.bytes_max < capacity ? own.bytes_max : capacity,
                               bytes, fit != NULL ? fit : &own_fit);
    }
    cpti_form_deinit(&form);
    return status;
}

cpt_status cpt_metadata_encode(const struct cpt_path *path,
                               const struct cpt_metadata_encode_options *options,
                               unsigned char **data, size_t *bytes, int *fit)
{
    struct cpt_metadata_encode_options own;
    struct cpti_form form;
    unsigned char *made = NULL;
    size_t capacity = 0;
    int own_fit = CPT_FIT_WHOLE;
    cpt_status status = read_options(options, &own);

    if (status != CPT_OK) {
        return status;
    }
    status = cpti_form_init(&form, path, &own);
    if (status == CPT_OK) {
        capacity = cpti_form_bytes_max(&form);
        capacity = capacity < own.bytes_max ? capacity : own.bytes_max;
        made = cpt_alloc_array(own.alloc, NULL, capacity, 1);
        status = made == NULL ? CPT_NO_MEMORY
                              : cpti_form_fit(&form, made, capacity, bytes,
                                              fit != NULL ? fit : &own_fit);
    }
    cpti_form_deinit(&form);
    if (status != CPT_OK) {
        cpt_alloc_free(own.alloc, made);
        return status;
    }
    *data = made;
    return CPT_OK;
}

/* --- Message to path --- */

/* Number @row of a column that may end early. */
static uint64_t value_at(const struct cpti_form_message *message, unsigned index,
                         size_t row)
{
    const struct cpti_form_column *column = &message->columns[index];

    return row < column->count ? column->values[row] : 0;
}

/* Refuses a column whose length does not match that of the @base column. */
static cpt_status check_rows(const struct cpti_form_message *message, unsigned base,
                             unsigned index, struct cpt_error *error)
{
    const size_t row_count = message->columns[base].count;
    const struct cpti_form_column *column = &message->columns[index];
    const bool may_be_short =
        index == CPTI_FRAME_KIND || index == CPTI_LABEL_IS_NAME ||
        index == CPTI_SEGMENT_DRAG ||
        (index >= CPTI_SEGMENT_FOLDED && index <= CPTI_SEGMENT_REASON);

    if (column->count > row_count || (column->count < row_count && !may_be_short)) {
        return cpt_error_set(error, CPT_CORRUPT, column->offset,
                             "field %u has %zu numbers, field %u has %zu", index + 6,
                             column->count, base + 6, row_count);
    }
    return CPT_OK;
}

static cpt_status check_columns(const struct cpti_form_message *message,
                                struct cpt_error *error)
{
    for (unsigned i = 0; i < CPTI_COLUMN_COUNT; i++) {
        const cpt_status status = check_rows(message, cpti_column_base(i), i, error);

        if (status != CPT_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < message->name_count; i++) {
        const struct cpt_bytes name = message->names[i];

        if (name.bytes != 0 && memchr(name.data, 0, name.bytes) != NULL) {
            return cpt_error_set(error, CPT_CORRUPT, message->name_offset,
                                 "name %zu has a NUL byte", i);
        }
    }
    return CPT_OK;
}

static struct cpt_bytes name_at(const struct cpti_form_message *message,
                                uint64_t number)
{
    return number == 0 ? (struct cpt_bytes){"", 0} : message->names[number - 1];
}

static cpt_status check_frame(const struct cpti_form_message *message, size_t row,
                              struct cpt_error *error)
{
    const uint64_t distance = value_at(message, CPTI_FRAME_PARENT, row);
    const uint64_t name = value_at(message, CPTI_FRAME_NAME, row);
    const uint64_t kind = value_at(message, CPTI_FRAME_KIND, row);

    if (distance > row) {
        return cpt_error_set(error, CPT_CORRUPT,
                             message->columns[CPTI_FRAME_PARENT].offset,
                             "the parent of frame %zu stands %llu before it", row,
                             (unsigned long long)distance);
    }
    if (name > message->name_count) {
        return cpt_error_set(error, CPT_CORRUPT,
                             message->columns[CPTI_FRAME_NAME].offset,
                             "frame %zu has name %llu of %zu", row,
                             (unsigned long long)name, message->name_count);
    }
    if (kind > CPT_KIND_MAX) {
        return cpt_error_set(error, CPT_CORRUPT,
                             message->columns[CPTI_FRAME_KIND].offset,
                             "frame %zu has kind %llu, the limit is %d", row,
                             (unsigned long long)kind, CPT_KIND_MAX);
    }
    return CPT_OK;
}

static cpt_status add_frames(const struct cpti_form_message *message, size_t depth_max,
                             struct cpt_path *path, struct cpt_error *error)
{
    const size_t frame_count = message->columns[CPTI_FRAME_PARENT].count;
    const uint64_t offset = message->columns[CPTI_FRAME_PARENT].offset;

    for (size_t row = 0; row < frame_count; row++) {
        cpt_status status = check_frame(message, row, error);
        uint32_t parent = CPT_FRAME_NONE;
        uint32_t frame = 0;

        if (status != CPT_OK) {
            return status;
        }
        if (value_at(message, CPTI_FRAME_PARENT, row) != 0) {
            parent = (uint32_t)(row - value_at(message, CPTI_FRAME_PARENT, row));
            if (cpt_path_frame(path, parent)->depth >= depth_max) {
                return cpt_error_set(error, CPT_LIMIT, offset,
                                     "frame %zu is deeper than the limit of %zu", row,
                                     depth_max);
            }
        }
        status = cpt_path_frame_add(
            path, parent, name_at(message, value_at(message, CPTI_FRAME_NAME, row)),
            (unsigned)value_at(message, CPTI_FRAME_KIND, row), &frame);
        if (status != CPT_OK) {
            return cpt_error_set(error, status, offset, "%s at frame %zu",
                                 cpt_status_sentence(status), row);
        }
        if (frame != row) {
            return cpt_error_set(error, CPT_CORRUPT, offset,
                                 "frame %zu is the same as frame %u", row,
                                 (unsigned)frame);
        }
    }
    return CPT_OK;
}

/* Whether some segment has more than a frame and a duration. */
static bool has_rare_columns(const struct cpti_form_message *message)
{
    return message->columns[CPTI_SEGMENT_FOLDED].count != 0 ||
           message->columns[CPTI_SEGMENT_FLAGS].count != 0 ||
           message->columns[CPTI_SEGMENT_REASON].count != 0;
}

static cpt_status check_segment(const struct cpti_form_message *message, size_t row,
                                struct cpt_error *error)
{
    const uint64_t frame = value_at(message, CPTI_SEGMENT_FRAME, row);
    const uint64_t flags = value_at(message, CPTI_SEGMENT_FLAGS, row);
    const uint64_t reason = value_at(message, CPTI_SEGMENT_REASON, row);
    const uint64_t offset = message->columns[CPTI_SEGMENT_FRAME].offset;

    if (frame >= message->columns[CPTI_FRAME_PARENT].count) {
        return cpt_error_set(
            error, CPT_CORRUPT, offset, "segment %zu has frame %llu of %zu", row,
            (unsigned long long)frame, message->columns[CPTI_FRAME_PARENT].count);
    }
    if (value_at(message, CPTI_SEGMENT_DURATION_NS, row) == 0) {
        return cpt_error_set(error, CPT_CORRUPT,
                             message->columns[CPTI_SEGMENT_DURATION_NS].offset,
                             "segment %zu has no duration", row);
    }
    if (value_at(message, CPTI_SEGMENT_FOLDED, row) == UINT32_MAX) {
        return cpt_error_set(
            error, CPT_CORRUPT, message->columns[CPTI_SEGMENT_FOLDED].offset,
            "segment %zu has a count above %lu", row, (unsigned long)UINT32_MAX);
    }
    if (flags > UINT16_MAX || reason > CPT_REASON_MAX) {
        return cpt_error_set(
            error, CPT_CORRUPT, offset,
            "segment %zu has flags %llu and reason %llu, the limits are "
            "%d and %d",
            row, (unsigned long long)flags, (unsigned long long)reason, UINT16_MAX,
            CPT_REASON_MAX);
    }
    return CPT_OK;
}

/* Adds the label in @row to the last segment; skips a label of an unknown key. */
static cpt_status add_label(const struct cpti_form_message *message, size_t row,
                            struct cpt_path *path, struct cpt_error *error)
{
    const uint64_t key = value_at(message, CPTI_LABEL_KEY, row);
    const uint64_t is_name = value_at(message, CPTI_LABEL_IS_NAME, row);
    const uint64_t value = value_at(message, CPTI_LABEL_VALUE, row);
    int takes_name = 0;
    cpt_status status = CPT_OK;

    if (is_name == 1 && value > message->name_count) {
        return cpt_error_set(error, CPT_CORRUPT,
                             message->columns[CPTI_LABEL_VALUE].offset,
                             "label %zu has name %llu of %zu", row,
                             (unsigned long long)value, message->name_count);
    }
    if (key > CPT_LABEL_KEY_MAX || cpt_label_word((unsigned)key, &takes_name) == NULL ||
        is_name != (takes_name ? 1U : 0U)) {
        return CPT_OK;
    }
    status = takes_name
                 ? cpt_path_label_name(path, (unsigned)key, name_at(message, value))
                 : cpt_path_label_number(path, (unsigned)key, value);
    return status == CPT_OK ? CPT_OK : cpt_error_set(error, status, 0, "out of memory");
}

static cpt_status add_segment(const struct cpti_form_message *message, size_t row,
                              struct cpt_path *path, struct cpt_error *error)
{
    cpt_status status = check_segment(message, row, error);

    if (status != CPT_OK) {
        return status;
    }
    status = cpt_path_append(
        path, (struct cpt_segment){
                  .duration_ns = value_at(message, CPTI_SEGMENT_DURATION_NS, row),
                  .frame = (uint32_t)value_at(message, CPTI_SEGMENT_FRAME, row),
                  .count = (uint32_t)value_at(message, CPTI_SEGMENT_FOLDED, row) + 1,
                  .flags = (uint16_t)value_at(message, CPTI_SEGMENT_FLAGS, row),
                  .reason = (uint16_t)value_at(message, CPTI_SEGMENT_REASON, row)});
    if (status == CPT_LIMIT) {
        return cpt_error_set(
            error, CPT_CORRUPT, message->columns[CPTI_SEGMENT_DURATION_NS].offset,
            "the durations up to segment %zu are not below 2^63 ns", row);
    }
    return status == CPT_OK ? CPT_OK : cpt_error_set(error, status, 0, "out of memory");
}

/* Adds segments that are nothing but a frame and a duration, while they are sound. The
 * count of these becomes *@row; add_segment() refuses the next one. CPT_OK or
 * CPT_NO_MEMORY. */
static cpt_status add_plain_segments(const struct cpti_form_message *message,
                                     struct cpt_path *path, size_t *row)
{
    const size_t frame_count = message->columns[CPTI_FRAME_PARENT].count;
    const size_t segment_count = message->columns[CPTI_SEGMENT_FRAME].count;
    const uint64_t *frames = message->columns[CPTI_SEGMENT_FRAME].values;
    const uint64_t *durations = message->columns[CPTI_SEGMENT_DURATION_NS].values;
    cpt_status status = CPT_OK;
    size_t i = 0;

    for (; i < segment_count && frames[i] < frame_count && durations[i] != 0; i++) {
        status = cpt_path_append_ns(path, (uint32_t)frames[i], durations[i]);
        if (status != CPT_OK) {
            break;
        }
    }
    *row = i;
    return status == CPT_NO_MEMORY ? status : CPT_OK;
}

/* Adds the segments, each with its labels. */
static cpt_status add_segments(const struct cpti_form_message *message,
                               struct cpt_path *path, struct cpt_error *error)
{
    const size_t segment_count = message->columns[CPTI_SEGMENT_FRAME].count;
    const size_t label_count = message->columns[CPTI_LABEL_SEGMENT].count;
    uint64_t label_segment = value_at(message, CPTI_LABEL_SEGMENT, 0);
    size_t label = 0;
    size_t row = 0;

    if (label_count == 0 && !has_rare_columns(message) &&
        add_plain_segments(message, path, &row) != CPT_OK) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    for (; row < segment_count; row++) {
        cpt_status status = add_segment(message, row, path, error);

        while (status == CPT_OK && label < label_count && label_segment == row) {
            status = add_label(message, label, path, error);
            label_segment += value_at(message, CPTI_LABEL_SEGMENT, ++label);
        }
        if (status != CPT_OK) {
            return status;
        }
    }
    if (label < label_count) {
        return cpt_error_set(error, CPT_CORRUPT,
                             message->columns[CPTI_LABEL_SEGMENT].offset,
                             "label %zu has segment %llu of %zu", label,
                             (unsigned long long)label_segment, segment_count);
    }
    return CPT_OK;
}

/* Adds the drags; one above its segment is cut to it, and counted in *@clamped. */
static cpt_status add_drags(const struct cpti_form_message *message,
                            struct cpt_path *path, uint64_t *clamped,
                            struct cpt_error *error)
{
    const size_t segment_count = message->columns[CPTI_SEGMENT_FRAME].count;
    uint64_t last_ns = 0;

    if (message->columns[CPTI_SEGMENT_DRAG].count == 0) {
        return CPT_OK;
    }
    for (size_t row = 0; row < segment_count; row++) {
        const uint64_t duration_ns = cpt_path_segment(path, row)->duration_ns;
        const uint64_t number = value_at(message, CPTI_SEGMENT_DRAG, row);
        uint64_t drag_ns = duration_ns;

        if (number == CPTI_DRAG_UNKNOWN) {
            continue;
        }
        if (number >= CPTI_DRAG_FIRST) {
            last_ns = number - CPTI_DRAG_FIRST;
            *clamped += last_ns > duration_ns;
        }
        if (number != CPTI_DRAG_WHOLE && last_ns < duration_ns) {
            drag_ns = last_ns;
        }
        if (cpt_path_drag_set(path, row, drag_ns) != CPT_OK) {
            return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
        }
    }
    return CPT_OK;
}

/* A message that was cut down to its sum: one blind spot. */
static cpt_status add_sum(const struct cpti_form_message *message,
                          struct cpt_path *path, struct cpt_error *error)
{
    uint32_t frame = 0;
    cpt_status status = cpt_path_frame_add(
        path, CPT_FRAME_NONE, (struct cpt_bytes){"", 0}, CPT_KIND_BLIND_SPOT, &frame);

    if (status == CPT_OK) {
        status =
            cpt_path_append(path, (struct cpt_segment){.duration_ns = message->sum_ns,
                                                       .frame = frame,
                                                       .count = 1,
                                                       .reason = CPT_REASON_SIZE});
    }
    return status == CPT_OK ? CPT_OK : cpt_error_set(error, status, 0, "out of memory");
}

static cpt_status fill_path(const struct cpti_form_message *message,
                            const struct cpt_metadata_decode_options *options,
                            struct cpt_path *path, struct cpt_error *error)
{
    uint64_t clamped = 0;
    cpt_status status = check_columns(message, error);

    if (status != CPT_OK) {
        return status;
    }
    status = add_frames(message, options->depth_max, path, error);
    if (status != CPT_OK) {
        return status;
    }
    status = add_segments(message, path, error);
    if (status == CPT_OK) {
        status = add_drags(message, path, &clamped, error);
    }
    if (status == CPT_OK && message->columns[CPTI_SEGMENT_FRAME].count == 0 &&
        message->columns[CPTI_FRAME_PARENT].count == 0 && message->sum_ns != 0) {
        status = add_sum(message, path, error);
    }
    if (status != CPT_OK) {
        return status;
    }
    if (cpt_path_sum_ns(path) != message->sum_ns) {
        return cpt_error_set(error, CPT_CORRUPT, 0,
                             "the segments sum to %llu ns, the path says %llu ns",
                             (unsigned long long)cpt_path_sum_ns(path),
                             (unsigned long long)message->sum_ns);
    }
    cpt_path_flags_add(path, message->flags);
    if (options->clamped_drags != NULL) {
        *options->clamped_drags += clamped;
    }
    assert(cpt_path_check(path, message->sum_ns, NULL) == CPT_OK);
    return CPT_OK;
}

static void set_default(size_t *option, size_t value)
{
    if (*option == 0) {
        *option = value;
    }
}

cpt_status cpt_metadata_decode(const void *data, size_t bytes,
                               const struct cpt_metadata_decode_options *options,
                               struct cpt_path *path, struct cpt_error *error)
{
    struct cpt_metadata_decode_options own;
    struct cpti_form_message message = {0};
    cpt_status status = cpt_options_read(&own, sizeof own, options, error);

    assert(cpt_path_frame_count(path) == 0);
    if (status != CPT_OK) {
        return status;
    }
    set_default(&own.bytes_max, CPT_METADATA_READ_BYTES_MAX);
    set_default(&own.segments_max, CPT_METADATA_SEGMENTS_MAX);
    set_default(&own.frames_max, CPT_METADATA_FRAMES_MAX);
    set_default(&own.labels_max, CPT_METADATA_LABELS_MAX);
    set_default(&own.depth_max, CPT_METADATA_DEPTH_MAX);
    set_default(&own.name_bytes_max, CPT_METADATA_NAME_BYTES_MAX);
    if (own.depth_max > CPT_PATH_DEPTH_MAX) {
        own.depth_max = CPT_PATH_DEPTH_MAX;
    }
    message.alloc = own.alloc;
    status = cpti_message_read(&message, data, bytes, &own, error);
    if (status == CPT_OK) {
        status = fill_path(&message, &own, path, error);
    }
    if (status != CPT_OK) {
        cpt_path_reset(path);
    }
    cpti_message_deinit(&message);
    return status;
}
