/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * metadata_form.c - a path written as columns of small numbers
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
 *
 * Every traced request pays for this, so it is one pass straight into the bytes. The
 * length of a column comes before its numbers and is known behind them: it gets one
 * byte, and the numbers of a long column are moved. What does not fit is not written.
 * The bytes are those that nanopb writes by the schema; a test compares.
 */
#include "wire/metadata/metadata_form.h"

#include "wire/metadata/varint.h"

#include "metadata.pb.h"

#include <assert.h>
#include <string.h>

/* --- Path to form --- */

/* The words of scratch: of all frames that folding may make, and of all names. */
static size_t scratch_words(const struct cpti_form *form)
{
    return 3 * form->frame_count + cpt_path_name_count(form->path);
}

static bool has_drags(const struct cpt_path *path)
{
    if (!cpt_path_has_drags(path)) {
        return false;
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        if (cpt_path_drag(path, i) != CPT_DRAG_UNKNOWN) {
            return true;
        }
    }
    return false;
}

cpt_status cpti_form_init(struct cpti_form *form, const struct cpt_path *path,
                          const struct cpt_metadata_encode_options *options)
{
    size_t words = 0;

    form->alloc = options->alloc;
    form->path = path;
    form->flags = cpt_path_flags(path);
    form->is_own = false;
    form->has_server_elapsed = options->has_server_elapsed != 0;
    form->server_elapsed_ns =
        options->server_elapsed_ns > INT64_MAX ? INT64_MAX : options->server_elapsed_ns;
    form->nonce = options->nonce;
    form->segment_count = cpt_path_segment_count(path);
    form->frame_count = form->segment_count != 0 ? cpt_path_frame_count(path) : 0;
    form->label_count = form->segment_count != 0 ? cpt_path_label_count(path) : 0;
    form->frames = NULL;
    form->segments = NULL;
    form->labels = NULL;
    form->has_drags = !options->without_drags && has_drags(path);
    form->drags = NULL;
    if (form->segment_count != 0) {
        form->frames = (struct cpt_frame *)(uintptr_t)cpt_path_frame(path, 0);
        form->segments = (struct cpt_segment *)(uintptr_t)cpt_path_segment(path, 0);
    }
    if (form->label_count != 0) {
        form->labels = (struct cpt_label *)(uintptr_t)cpt_path_label(path, 0);
    }
    words = scratch_words(form);
    form->frame_numbers =
        words <= CPTI_FORM_FIRST_WORDS
            ? form->first
            : cpt_alloc_array(form->alloc, NULL, words, sizeof *form->frame_numbers);
    if (form->frame_numbers == NULL) {
        return CPT_NO_MEMORY;
    }
    form->used = form->frame_numbers + 2 * form->frame_count;
    form->name_numbers = form->used + form->frame_count;
    return CPT_OK;
}

void cpti_form_deinit(struct cpti_form *form)
{
    if (form->frame_numbers != form->first) {
        cpt_alloc_free(form->alloc, form->frame_numbers);
    }
    if (form->is_own) {
        cpt_alloc_free(form->alloc, form->frames);
        cpt_alloc_free(form->alloc, form->segments);
        cpt_alloc_free(form->alloc, form->labels);
        cpt_alloc_free(form->alloc, form->drags);
    }
}

static void *copy_array(const struct cpt_alloc *alloc, const void *from, size_t count,
                        size_t capacity, size_t element_bytes)
{
    void *copy = cpt_alloc_array(alloc, NULL, capacity, element_bytes);

    if (copy != NULL && count != 0) {
        memcpy(copy, from, count * element_bytes);
    }
    return copy;
}

/* Copies the drags, if there are any. CPT_OK or CPT_NO_MEMORY. */
static cpt_status copy_drags(struct cpti_form *form)
{
    uint64_t *drags = NULL;

    if (!form->has_drags) {
        return CPT_OK;
    }
    drags = cpt_alloc_array(form->alloc, NULL, form->segment_count, sizeof *drags);
    if (drags == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < form->segment_count; i++) {
        drags[i] = cpt_path_drag(form->path, i);
    }
    form->drags = drags;
    return CPT_OK;
}

cpt_status cpti_form_own(struct cpti_form *form)
{
    form->is_own = true;
    form->frames = copy_array(form->alloc, form->frames, form->frame_count,
                              2 * form->frame_count, sizeof *form->frames);
    form->segments = copy_array(form->alloc, form->segments, form->segment_count,
                                form->segment_count, sizeof *form->segments);
    form->labels = copy_array(form->alloc, form->labels, form->label_count,
                              form->label_count, sizeof *form->labels);
    return form->frames != NULL && form->segments != NULL && form->labels != NULL
               ? copy_drags(form)
               : CPT_NO_MEMORY;
}

size_t cpti_form_bytes_max(const struct cpti_form *form)
{
    enum {
        HEAD_BYTES = 2 + 11 + 11 + 6 + CPTI_NONCE_BYTES,
        NAME_BYTES = 1 + 2,      /* and its own */
        COLUMN_BYTES = 2 + 5,    /* key and length */
        FRAME_BYTES = 5 + 5 + 3, /* a number of 32, 32 and 16 bits */
        SEGMENT_BYTES = 5 + 10 + 5 + 3 + 3,
        DRAG_BYTES = 10,
        LABEL_BYTES = 5 + 3 + 1 + 10
    };
    const size_t name_count = cpt_path_name_count(form->path);
    size_t bytes = HEAD_BYTES + CPTI_COLUMN_COUNT * COLUMN_BYTES +
                   FRAME_BYTES * form->frame_count +
                   SEGMENT_BYTES * form->segment_count +
                   (form->has_drags ? DRAG_BYTES * form->segment_count : 0) +
                   LABEL_BYTES * form->label_count;

    for (size_t i = 0; i < name_count; i++) {
        bytes += NAME_BYTES + cpt_path_name(form->path, (cpt_name_id)i).bytes;
    }
    return bytes;
}

/* --- Bytes --- */

/* Where they go. What does not fit is left out. */
struct output {
    unsigned char *at;
    unsigned char *end;
    bool is_full;
};

/* Whether @bytes more fit. */
static inline bool has_room(struct output *out, size_t bytes)
{
    if (bytes > (size_t)(out->end - out->at)) {
        out->is_full = true;
    }
    return !out->is_full;
}

static inline void put(struct output *out, uint64_t number)
{
    if (out->end - out->at >= CPTI_VARINT_BYTES_MAX ||
        has_room(out, cpti_varint_bytes(number))) {
        out->at = cpti_varint_put(out->at, number);
    }
}

static inline void put_key(struct output *out, unsigned field, unsigned wire_type)
{
    put(out, (uint64_t)field << 3 | wire_type);
}

/* Puts the length of what was written since @begin in front of it, into the byte before
 * and what more it takes. */
static inline void put_length(struct output *out, unsigned char *begin)
{
    const size_t bytes = (size_t)(out->at - begin);
    const size_t more = cpti_varint_bytes(bytes) - 1;

    if (more != 0) {
        if (!has_room(out, more)) {
            return;
        }
        memmove(begin + more, begin, bytes);
        out->at += more;
    }
    (void)cpti_varint_put(begin - 1, bytes);
}

/* --- Frames and names --- */

/* Lists and numbers the frames in use. */
static void number_frames(struct cpti_form *form)
{
    memset(form->frame_numbers, 0, form->frame_count * sizeof *form->frame_numbers);
    for (size_t i = 0; i < form->segment_count; i++) {
        form->frame_numbers[form->segments[i].frame] = 1;
    }
    for (size_t i = form->frame_count; i-- > 0;) {
        if (form->frame_numbers[i] != 0 && form->frames[i].parent != CPT_FRAME_NONE) {
            form->frame_numbers[form->frames[i].parent] = 1;
        }
    }
    form->used_count = 0;
    for (size_t i = 0; i < form->frame_count; i++) {
        if (form->frame_numbers[i] != 0) {
            form->used[form->used_count++] = (uint32_t)i;
            form->frame_numbers[i] = (uint32_t)form->used_count;
        }
    }
}

/* Writes a name at its first use, and numbers it. */
static void put_name(struct cpti_form *form, struct output *out, cpt_name_id id)
{
    struct cpt_bytes name = {NULL, 0};

    if (id == CPTI_NAME_NONE || form->name_numbers[id] != 0) {
        return;
    }
    name = cpt_path_name(form->path, id);
    if (name.bytes == 0) {
        return;
    }
    form->name_numbers[id] = ++form->name_count;
    put_key(out, cpt_CriticalPath_name_tag, CPTI_WIRE_BYTES);
    put(out, name.bytes);
    if (has_room(out, name.bytes)) {
        memcpy(out->at, name.data, name.bytes);
        out->at += name.bytes;
    }
}

static void put_names(struct cpti_form *form, struct output *out)
{
    memset(form->name_numbers, 0,
           cpt_path_name_count(form->path) * sizeof *form->name_numbers);
    form->name_count = 0;
    for (size_t i = 0; i < form->used_count && !out->is_full; i++) {
        put_name(form, out, form->frames[form->used[i]].name);
    }
    for (size_t i = 0; i < form->label_count && !out->is_full; i++) {
        if (form->labels[i].is_name) {
            put_name(form, out, (cpt_name_id)form->labels[i].value);
        }
    }
}

/* --- Columns: the number of each row --- */

typedef uint64_t (*number_of)(const struct cpti_form *form, size_t row);

static uint64_t frame_parent(const struct cpti_form *form, size_t row)
{
    const uint32_t parent = form->frames[form->used[row]].parent;

    return parent == CPT_FRAME_NONE ? 0 : row + 1 - form->frame_numbers[parent];
}

static uint64_t frame_name(const struct cpti_form *form, size_t row)
{
    const cpt_name_id name = form->frames[form->used[row]].name;

    return name == CPTI_NAME_NONE ? 0 : form->name_numbers[name];
}

static uint64_t frame_kind(const struct cpti_form *form, size_t row)
{
    return form->frames[form->used[row]].kind;
}

static uint64_t segment_frame(const struct cpti_form *form, size_t row)
{
    return form->frame_numbers[form->segments[row].frame] - 1;
}

static uint64_t segment_duration_ns(const struct cpti_form *form, size_t row)
{
    return form->segments[row].duration_ns;
}

static uint64_t segment_folded(const struct cpti_form *form, size_t row)
{
    return form->segments[row].count - 1;
}

static uint64_t segment_flags(const struct cpti_form *form, size_t row)
{
    return form->segments[row].flags;
}

static uint64_t segment_reason(const struct cpti_form *form, size_t row)
{
    return form->segments[row].reason;
}

static uint64_t label_segment(const struct cpti_form *form, size_t row)
{
    return form->labels[row].segment - (row != 0 ? form->labels[row - 1].segment : 0);
}

static uint64_t label_key(const struct cpti_form *form, size_t row)
{
    return form->labels[row].key;
}

static uint64_t label_is_name(const struct cpti_form *form, size_t row)
{
    return form->labels[row].is_name != 0;
}

static uint64_t label_value(const struct cpti_form *form, size_t row)
{
    const struct cpt_label *label = &form->labels[row];

    return label->is_name ? form->name_numbers[label->value] : label->value;
}

/* Writes the numbers of @count rows; none: no column. Inline, so that each column is a
 * loop of its own, and its output in registers. */
static inline void put_column(struct output *to, const struct cpti_form *form,
                              unsigned field, size_t count, number_of number)
{
    struct output out = *to;
    unsigned char *begin = NULL;

    if (count == 0 || out.is_full) {
        return;
    }
    put_key(&out, field, CPTI_WIRE_BYTES);
    put(&out, 0); /* the length */
    begin = out.at;
    for (size_t row = 0; row < count; row++) {
        put(&out, number(form, row));
    }
    *to = out;
    put_length(to, begin);
}

/* A column marked (0) in the schema ends with its last number that is not 0. */
static inline void put_short_column(struct output *out, const struct cpti_form *form,
                                    unsigned field, size_t count, number_of number)
{
    while (count != 0 && number(form, count - 1) == 0) {
        count--;
    }
    put_column(out, form, field, count, number);
}

/* The number of segment @row in the column of drags; *@last_ns was said last. */
static uint64_t drag_number(const struct cpti_form *form, size_t row, uint64_t *last_ns)
{
    const uint64_t duration_ns = form->segments[row].duration_ns;
    const uint64_t drag_ns = cpti_form_drag(form, row);

    if (drag_ns == duration_ns) {
        return CPTI_DRAG_WHOLE;
    }
    if (drag_ns == CPT_DRAG_UNKNOWN) {
        return CPTI_DRAG_UNKNOWN;
    }
    if (drag_ns == *last_ns) {
        return CPTI_DRAG_AGAIN;
    }
    *last_ns = drag_ns;
    return drag_ns + CPTI_DRAG_FIRST;
}

/* As a short column, but one number stays, so that a reader knows that there are drags,
 * if each is the duration. */
static void put_drags(struct output *out, const struct cpti_form *form)
{
    size_t count = form->segment_count;
    unsigned char *begin = NULL;
    uint64_t last_ns = 0;

    if (!form->has_drags || out->is_full) {
        return;
    }
    while (count > 1 &&
           cpti_form_drag(form, count - 1) == form->segments[count - 1].duration_ns) {
        count--;
    }
    put_key(out, cpt_CriticalPath_segment_drag_tag, CPTI_WIRE_BYTES);
    put(out, 0); /* the length */
    begin = out->at;
    for (size_t row = 0; row < count; row++) {
        put(out, drag_number(form, row, &last_ns));
    }
    if (!out->is_full) {
        put_length(out, begin);
    }
}

static void put_columns(struct output *out, const struct cpti_form *form)
{
    const size_t frames = form->used_count;
    const size_t segments = form->segment_count;
    const size_t labels = form->label_count;

    put_column(out, form, cpt_CriticalPath_frame_parent_tag, frames, frame_parent);
    put_column(out, form, cpt_CriticalPath_frame_name_tag, frames, frame_name);
    put_short_column(out, form, cpt_CriticalPath_frame_kind_tag, frames, frame_kind);
    put_column(out, form, cpt_CriticalPath_segment_frame_tag, segments, segment_frame);
    put_column(out, form, cpt_CriticalPath_segment_duration_ns_tag, segments,
               segment_duration_ns);
    put_short_column(out, form, cpt_CriticalPath_segment_folded_tag, segments,
                     segment_folded);
    put_short_column(out, form, cpt_CriticalPath_segment_flags_tag, segments,
                     segment_flags);
    put_short_column(out, form, cpt_CriticalPath_segment_reason_tag, segments,
                     segment_reason);
    put_column(out, form, cpt_CriticalPath_label_segment_tag, labels, label_segment);
    put_column(out, form, cpt_CriticalPath_label_key_tag, labels, label_key);
    put_short_column(out, form, cpt_CriticalPath_label_is_name_tag, labels,
                     label_is_name);
    put_column(out, form, cpt_CriticalPath_label_value_tag, labels, label_value);
    put_drags(out, form);
}

/* Writes a number beside the columns. */
static void put_field(struct output *out, unsigned field, uint64_t number)
{
    put_key(out, field, CPTI_WIRE_NUMBER);
    put(out, number);
}

static void put_nonce(struct output *out, uint64_t nonce)
{
    if (nonce != 0 && has_room(out, CPTI_NONCE_BYTES)) {
        put_key(out, cpt_CriticalPath_nonce_tag, CPTI_WIRE_FIXED64);
        out->at = cpti_fixed64_put(out->at, nonce);
    }
}

size_t cpti_form_write(struct cpti_form *form, unsigned char *data, size_t bytes_max)
{
    struct output out = {.at = data, .end = data + bytes_max};
    const uint64_t sum_ns = cpt_path_sum_ns(form->path);

    put_field(&out, cpt_CriticalPath_version_tag, CPT_METADATA_VERSION);
    if (form->has_server_elapsed) {
        put_field(&out, cpt_CriticalPath_server_elapsed_ns_tag,
                  form->server_elapsed_ns);
    }
    if (sum_ns != 0) {
        put_field(&out, cpt_CriticalPath_sum_ns_tag, sum_ns);
    }
    if (form->flags != 0) {
        put_field(&out, cpt_CriticalPath_flags_tag, form->flags);
    }
    if (form->segment_count != 0) {
        number_frames(form);
        put_names(form, &out);
        if (!out.is_full) {
            put_columns(&out, form);
        }
    }
    put_nonce(&out, form->nonce);
    return out.is_full ? 0 : (size_t)(out.at - data);
}
