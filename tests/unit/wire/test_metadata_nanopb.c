/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_metadata_nanopb.c - a path has the bytes that nanopb gives it by the schema
 *
 * The second writer is slow and simple: it fills the columns of metadata.proto from a
 * decoded path, in which every frame is in use, and lets nanopb write them.
 */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <metadata.pb.h>
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 2000, BYTES_MAX = 1 << 17 };

struct column {
    uint64_t values[ROWS_MAX];
    size_t count;
};

struct message {
    const struct cpt_path *path;
    cpt_name_id names[ROWS_MAX]; /* in the order of first use */
    size_t name_count;
    struct column frames[3];
    struct column segments[5];
    struct column labels[4];
    struct column drags;
};

static void add(struct column *column, uint64_t value)
{
    CU_ASSERT_FATAL(column->count < ROWS_MAX);
    column->values[column->count++] = value;
}

static void trim(struct column *column)
{
    while (column->count != 0 && column->values[column->count - 1] == 0) {
        column->count--;
    }
}

static uint64_t name_number(struct message *message, uint64_t name)
{
    size_t i = 0;

    if (cpt_path_name(message->path, (cpt_name_id)name).bytes == 0) {
        return 0;
    }
    while (i < message->name_count && message->names[i] != name) {
        i++;
    }
    CU_ASSERT_FATAL(i < ROWS_MAX);
    message->names[i] = (cpt_name_id)name;
    message->name_count += i == message->name_count;
    return i + 1;
}

/* The column of drags: empty, or one number at least. */
static void fill_drags(struct message *message)
{
    const struct cpt_path *path = message->path;
    uint64_t last_ns = 0;
    size_t known = 0;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t drag_ns = cpt_path_drag(path, i);

        known += drag_ns != CPT_DRAG_UNKNOWN;
        if (drag_ns == cpt_path_segment(path, i)->duration_ns) {
            add(&message->drags, 0);
        } else if (drag_ns == CPT_DRAG_UNKNOWN) {
            add(&message->drags, 2);
        } else if (drag_ns == last_ns) {
            add(&message->drags, 1);
        } else {
            add(&message->drags, drag_ns + 3);
            last_ns = drag_ns;
        }
    }
    trim(&message->drags);
    if (message->drags.count == 0 && known != 0) {
        message->drags.count = 1;
    }
    if (known == 0) {
        message->drags.count = 0;
    }
}

static void fill(struct message *message)
{
    const struct cpt_path *path = message->path;

    for (uint32_t i = 0; i < cpt_path_frame_count(path); i++) {
        const struct cpt_frame *frame = cpt_path_frame(path, i);

        add(&message->frames[0],
            frame->parent == CPT_FRAME_NONE ? 0 : i - frame->parent);
        add(&message->frames[1], name_number(message, frame->name));
        add(&message->frames[2], frame->kind);
    }
    trim(&message->frames[2]);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        add(&message->segments[0], segment->frame);
        add(&message->segments[1], segment->duration_ns);
        add(&message->segments[2], segment->count - 1);
        add(&message->segments[3], segment->flags);
        add(&message->segments[4], segment->reason);
    }
    for (int i = 2; i < 5; i++) {
        trim(&message->segments[i]);
    }
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        add(&message->labels[0],
            label->segment - (i != 0 ? cpt_path_label(path, i - 1)->segment : 0));
        add(&message->labels[1], label->key);
        add(&message->labels[2], label->is_name);
        add(&message->labels[3],
            label->is_name ? name_number(message, label->value) : label->value);
    }
    trim(&message->labels[2]);
    fill_drags(message);
}

static bool write_names(pb_ostream_t *stream, const pb_field_iter_t *field,
                        void *const *argument)
{
    const struct message *message = *argument;

    for (size_t i = 0; i < message->name_count; i++) {
        const struct cpt_bytes name = cpt_path_name(message->path, message->names[i]);

        if (!pb_encode_tag_for_field(stream, field) ||
            !pb_encode_string(stream, (const pb_byte_t *)name.data, name.bytes)) {
            return false;
        }
    }
    return true;
}

static bool write_column(pb_ostream_t *stream, const pb_field_iter_t *field,
                         void *const *argument)
{
    const struct column *column = *argument;
    pb_ostream_t sizing = PB_OSTREAM_SIZING;

    if (column->count == 0) {
        return true;
    }
    for (size_t i = 0; i < column->count; i++) {
        (void)pb_encode_varint(&sizing, column->values[i]);
    }
    if (!pb_encode_tag(stream, PB_WT_STRING, field->tag) ||
        !pb_encode_varint(stream, sizing.bytes_written)) {
        return false;
    }
    for (size_t i = 0; i < column->count; i++) {
        if (!pb_encode_varint(stream, column->values[i])) {
            return false;
        }
    }
    return true;
}

static void set(pb_callback_t *callback, struct column *column)
{
    callback->funcs.encode = write_column;
    callback->arg = column;
}

/* Writes @path with nanopb; returns the bytes. */
static size_t write_by_nanopb(const struct cpt_path *path, const uint64_t *elapsed_ns,
                              uint64_t nonce, unsigned char *data)
{
    cpt_CriticalPath raw = cpt_CriticalPath_init_zero;
    pb_ostream_t stream = pb_ostream_from_buffer(data, BYTES_MAX);
    struct message *message = calloc(1, sizeof *message);

    CU_ASSERT_PTR_NOT_NULL_FATAL(message);
    message->path = path;
    fill(message);
    raw.version = CPT_METADATA_VERSION;
    raw.has_server_elapsed_ns = elapsed_ns != NULL;
    raw.server_elapsed_ns = elapsed_ns != NULL ? *elapsed_ns : 0;
    raw.sum_ns = cpt_path_sum_ns(path);
    raw.flags = cpt_path_flags(path);
    raw.name.funcs.encode = write_names;
    raw.name.arg = message;
    set(&raw.frame_parent, &message->frames[0]);
    set(&raw.frame_name, &message->frames[1]);
    set(&raw.frame_kind, &message->frames[2]);
    set(&raw.segment_frame, &message->segments[0]);
    set(&raw.segment_duration_ns, &message->segments[1]);
    set(&raw.segment_folded, &message->segments[2]);
    set(&raw.segment_flags, &message->segments[3]);
    set(&raw.segment_reason, &message->segments[4]);
    set(&raw.label_segment, &message->labels[0]);
    set(&raw.label_key, &message->labels[1]);
    set(&raw.label_is_name, &message->labels[2]);
    set(&raw.label_value, &message->labels[3]);
    set(&raw.segment_drag, &message->drags);
    raw.has_nonce = nonce != 0;
    raw.nonce = nonce;
    CU_ASSERT_TRUE(pb_encode(&stream, cpt_CriticalPath_fields, &raw));
    free(message);
    return stream.bytes_written;
}

/* Encodes @path within a budget, by both functions, and compares. */
static void check_path(const struct cpt_path *path, size_t bytes_max,
                       const uint64_t *elapsed_ns, uint64_t nonce)
{
    static unsigned char by_nanopb[BYTES_MAX];
    static unsigned char written[BYTES_MAX];
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options,
        .has_server_elapsed = elapsed_ns != NULL,
        .server_elapsed_ns = elapsed_ns != NULL ? *elapsed_ns : 0,
        .is_unlimited = bytes_max == 0,
        .bytes_max = bytes_max,
        .nonce = nonce,
    };
    struct cpt_path *back = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;
    size_t written_bytes = 0;
    int fit = CPT_FIT_WHOLE;
    int written_fit = CPT_FIT_WHOLE;

    CU_ASSERT_EQUAL_FATAL(cpt_metadata_encode(path, &options, &data, &bytes, &fit),
                          CPT_OK);
    CU_ASSERT_TRUE(bytes_max == 0 || bytes <= bytes_max);
    CU_ASSERT_EQUAL(cpt_metadata_write(path, &options, written, sizeof written,
                                       &written_bytes, &written_fit),
                    CPT_OK);
    CU_ASSERT_EQUAL(written_fit, fit);
    CU_ASSERT_EQUAL_FATAL(written_bytes, bytes);
    CU_ASSERT_EQUAL(memcmp(written, data, bytes), 0);
    /* The room is a budget like any other, and what is behind it stays. */
    memset(written, 0xa5, sizeof written);
    CU_ASSERT_EQUAL(
        cpt_metadata_write(path, &options, written, bytes, &written_bytes, NULL),
        CPT_OK);
    CU_ASSERT_EQUAL_FATAL(written_bytes, bytes);
    CU_ASSERT_EQUAL(memcmp(written, data, bytes), 0);
    CU_ASSERT_EQUAL(written[bytes], 0xa5);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, NULL), CPT_OK);
    if (fit != CPT_FIT_SUM) { /* that one is decoded as a blind spot */
        CU_ASSERT_EQUAL_FATAL(write_by_nanopb(back, elapsed_ns, nonce, by_nanopb),
                              bytes);
        CU_ASSERT_EQUAL(memcmp(by_nanopb, data, bytes), 0);
    }
    cpt_alloc_free(NULL, data);
    cpt_path_free(back);
}

static void test_bytes_are_those_of_nanopb(void)
{
    struct dice dice = dice_new("nanopb");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 500; round++) {
        const struct path_shape shape = {.frames_max = 1 + dice_throw(&dice, 200),
                                         .segments_max = 1 + dice_throw(&dice, 200),
                                         .name_count = 1 + dice_throw(&dice, 60),
                                         .has_labels = dice_throw(&dice, 2) != 0,
                                         .is_odd = dice_throw(&dice, 2) != 0,
                                         .has_drags = dice_throw(&dice, 2) != 0};
        const uint64_t elapsed_ns = dice_throw(&dice, 3) * UINT64_C(123456789);
        const uint64_t nonce = dice_throw(&dice, 3) * UINT64_C(0x7edcba9876543210);

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        check_path(path, 0, round % 2 != 0 ? &elapsed_ns : NULL, nonce);
        check_path(path, 28 + dice_throw(&dice, 3000), &elapsed_ns, nonce);
    }
    cpt_path_free(path);
}

/* Columns of 127 and 128 bytes: the length of the second takes a byte more. */
static void test_length_of_a_column_grows(void)
{
    for (unsigned count = 126; count <= 130; count++) {
        struct cpt_path *path = cpt_path_new(NULL);
        uint32_t frame = 0;

        CU_ASSERT_EQUAL_FATAL(cpt_path_frame_add(path, CPT_FRAME_NONE,
                                                 cpt_bytes_of("A: /"), CPT_KIND_WORK,
                                                 &frame),
                              CPT_OK);
        for (unsigned i = 0; i < count; i++) {
            CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 1 + i % 100), CPT_OK);
        }
        check_path(path, 0, NULL, 0);
        cpt_path_free(path);
    }
}

/* At every budget down to the sum alone, and nothing at all for less. */
static void test_every_budget(void)
{
    struct cpt_path *path = document_path(NULL);
    struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options};
    unsigned char data[256];
    size_t bytes = 0;

    for (size_t bytes_max = 256; bytes_max >= 8; bytes_max--) {
        check_path(path, bytes_max, NULL, 0);
    }
    for (options.bytes_max = 4; options.bytes_max >= 1; options.bytes_max--) {
        CU_ASSERT_EQUAL(
            cpt_metadata_write(path, &options, data, sizeof data, &bytes, NULL),
            CPT_LIMIT);
    }
    cpt_path_free(path);
}

CU_TestInfo cpt_metadata_nanopb_tests[] = {
    {"bytes are those of nanopb", test_bytes_are_those_of_nanopb},
    {"the length of a column grows", test_length_of_a_column_grows},
    {"every budget", test_every_budget},
    CU_TEST_INFO_NULL,
};
