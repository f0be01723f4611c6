/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_log_shape.c - times found by a shape are those of the decoded path */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include "wire/cpt_log_shape.h"
#include "wire/cpt_metadata.h"

#include <stdlib.h>
#include <string.h>

static const struct path_shape small = {.frames_max = 12,
                                        .segments_max = 30,
                                        .name_count = 5,
                                        .has_labels = true,
                                        .is_odd = true};

/* A record of @path; the caller frees its path_bytes. */
static struct cpt_record record_of(const struct cpt_path *path)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = 1};
    struct cpt_record record = {.latency_ns = cpt_path_sum_ns(path)};
    unsigned char *data = NULL;

    CU_ASSERT_EQUAL_FATAL(
        cpt_metadata_encode(path, &options, &data, &record.path_bytes.bytes, NULL),
        CPT_OK);
    record.path_bytes.data = (const char *)data;
    return record;
}

static void free_record(struct cpt_record *record)
{
    free((void *)(uintptr_t)record->path_bytes.data);
}

/* Whether @times are those of @record's path, found by decoding it. */
static bool are_right(const struct cpt_record *record,
                      const struct cpt_log_times *times)
{
    struct cpt_path *path = cpt_path_new(NULL);
    bool is_right = cpt_record_path(record, NULL, path, NULL) == CPT_OK &&
                    cpt_path_frame_count(path) == times->frame_count;
    uint64_t *self_ns = calloc(times->frame_count + 1, sizeof *self_ns);

    for (size_t i = 0; is_right && i < cpt_path_segment_count(path); i++) {
        self_ns[cpt_path_segment(path, i)->frame] +=
            cpt_path_segment(path, i)->duration_ns;
    }
    is_right = is_right && memcmp(self_ns, times->self_ns,
                                  times->frame_count * sizeof *self_ns) == 0;
    free(self_ns);
    cpt_path_free(path);
    return is_right;
}

/* Passes a record to @shapes as a reader of logs does. 1: its shape was known. */
static int meet(struct cpt_log_shapes *shapes, const struct cpt_record *record,
                struct cpt_log_times *times)
{
    struct cpt_path *path = NULL;
    uint64_t shape = 0;

    if (cpt_log_shapes_find(shapes, record, times) == CPT_OK) {
        CU_ASSERT_TRUE(are_right(record, times));
        return 1;
    }
    path = cpt_path_new(NULL);
    if (cpt_record_path(record, NULL, path, NULL) == CPT_OK) {
        CU_ASSERT_NOT_EQUAL(cpt_log_shapes_keep(shapes, record, path, &shape),
                            CPT_NO_MEMORY);
    }
    cpt_path_free(path);
    return 0;
}

static void test_a_shape_is_known_from_the_third_time_on(void)
{
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);
    struct cpt_path *path = document_path(NULL);
    struct cpt_record record = record_of(path);
    struct cpt_log_times times;

    CU_ASSERT_EQUAL(meet(shapes, &record, &times), 0);
    CU_ASSERT_EQUAL(meet(shapes, &record, &times), 0);
    CU_ASSERT_EQUAL(meet(shapes, &record, &times), 1);
    CU_ASSERT_EQUAL(times.shape, 0);
    record.latency_ns++;
    CU_ASSERT_EQUAL(cpt_log_shapes_find(shapes, &record, &times), CPT_END);
    record.latency_ns--;
    free_record(&record);
    cpt_path_append_ns(path, 0, UINT64_C(1) << 57); /* nine bytes */
    record = record_of(path);
    CU_ASSERT_EQUAL(cpt_log_shapes_find(shapes, &record, &times), CPT_OK);
    CU_ASSERT_TRUE(are_right(&record, &times));
    free_record(&record);
    cpt_path_free(path);
    cpt_log_shapes_free(shapes);
}

/* Paths of few shapes, whose times and labels vary. */
static void test_times_are_those_of_the_path(void)
{
    struct dice dice = dice_new("times");
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);
    unsigned known_count = 0;

    for (int round = 0; round < 3000; round++) {
        struct dice shape_dice = {1 + dice_throw(&dice, 40)};
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_record record;
        struct cpt_log_times times;

        random_path(&shape_dice, &small, path);
        for (uint64_t i = dice_throw(&dice, 12);
             i-- > 0 && cpt_path_frame_count(path) != 0;) {
            (void)cpt_path_append_ns(
                path, (uint32_t)dice_throw(&dice, cpt_path_frame_count(path)),
                1 + dice_throw(&dice, UINT64_C(1) << dice_throw(&dice, 60)));
        }
        record = record_of(path);
        known_count += (unsigned)meet(shapes, &record, &times);
        free_record(&record);
        cpt_path_free(path);
    }
    CU_ASSERT_TRUE(known_count > 500);
    cpt_log_shapes_free(shapes);
}

/* Changes, drops or repeats some bytes of @record's path. */
static void spoil(struct dice *dice, struct cpt_record *record)
{
    char *data = malloc(record->path_bytes.bytes + 8);
    size_t bytes = record->path_bytes.bytes;

    memcpy(data, record->path_bytes.data, bytes);
    for (uint64_t i = 1 + dice_throw(dice, 3); i-- > 0 && bytes != 0;) {
        const size_t at = (size_t)dice_throw(dice, bytes);

        switch (dice_throw(dice, 4)) {
        case 0:
            bytes -= dice_throw(dice, 2);
            break;
        case 1:
            memmove(data + at + 1, data + at, bytes - at);
            bytes++;
            break;
        default:
            data[at] = (char)(dice_throw(dice, 2) != 0 ? data[at] ^ 1
                                                       : (int)dice_throw(dice, 256));
            break;
        }
    }
    free_record(record);
    record->path_bytes = (struct cpt_bytes){data, bytes};
}

static void test_what_is_known_is_what_is_accepted(void)
{
    struct dice dice = dice_new("spoilt");
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);
    unsigned known_count = 0;

    for (int round = 0; round < 20000; round++) {
        struct dice shape_dice = {1 + dice_throw(&dice, 20)};
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_metadata_summary summary;
        struct cpt_log_times times;
        struct cpt_record record;

        random_path(&shape_dice, &small, path);
        record = record_of(path);
        if (round > 100) {
            spoil(&dice, &record);
        }
        if (cpt_metadata_peek(record.path_bytes.data, record.path_bytes.bytes, &summary,
                              NULL) == CPT_OK) {
            record.latency_ns = summary.sum_ns;
        }
        known_count += (unsigned)meet(shapes, &record, &times);
        free_record(&record);
        cpt_path_free(path);
    }
    CU_ASSERT_TRUE(known_count > 100);
    cpt_log_shapes_free(shapes);
}

/* Makes the record of a path whose only frame is called @number. */
static struct cpt_record numbered_record(unsigned number, size_t frame_count)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record;
    uint32_t frame = 0;

    for (size_t i = 0; i < frame_count; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%u: %zu", number, i);
        CU_ASSERT_EQUAL(
            cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name), 0, &frame),
            CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 1 + number), CPT_OK);
    }
    record = record_of(path);
    cpt_path_free(path);
    return record;
}

/* Passes each of @count shapes three times; returns how many were known then. */
static unsigned meet_many(struct cpt_log_shapes *shapes, unsigned count,
                          size_t frame_count, struct cpt_log_times *times)
{
    unsigned known_count = 0;

    for (unsigned i = 0; i < count; i++) {
        struct cpt_record record = numbered_record(i, frame_count);

        (void)meet(shapes, &record, times);
        (void)meet(shapes, &record, times);
        known_count += (unsigned)meet(shapes, &record, times);
        free_record(&record);
    }
    return known_count;
}

static void test_too_many_are_forgotten(void)
{
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);
    struct cpt_record first = numbered_record(0, 1);
    struct cpt_log_times times;

    CU_ASSERT_EQUAL(meet_many(shapes, CPT_LOG_SHAPES_MAX, 1, &times),
                    CPT_LOG_SHAPES_MAX);
    CU_ASSERT_EQUAL(times.shape, CPT_LOG_SHAPES_MAX - 1);
    CU_ASSERT_EQUAL(cpt_log_shapes_find(shapes, &first, &times), CPT_OK);
    CU_ASSERT_EQUAL(times.shape, 0);
    CU_ASSERT_EQUAL(meet_many(shapes, CPT_LOG_SHAPES_MAX + 1, 1, &times),
                    CPT_LOG_SHAPES_MAX + 1);
    CU_ASSERT_EQUAL(times.shape, CPT_LOG_SHAPES_MAX); /* no number comes twice */
    CU_ASSERT_EQUAL(cpt_log_shapes_find(shapes, &first, &times), CPT_END);
    free_record(&first);
    cpt_log_shapes_free(shapes);
}

/* A shape takes about 14 bytes for each frame; the limits are 1 and 8 MiB. */
static void test_large_shapes_are_bounded(void)
{
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);
    struct cpt_log_times times;

    CU_ASSERT_EQUAL(meet_many(shapes, 1, 80000, &times), 0);
    CU_ASSERT_EQUAL(meet_many(shapes, 12, 60000, &times), 12);
    CU_ASSERT_EQUAL(times.shape, 11);
    cpt_log_shapes_free(shapes);
}

static bool keep_some(const struct cpt_alloc *alloc)
{
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(alloc);
    bool is_done = shapes != NULL;

    for (unsigned i = 0; i < 6 && is_done; i++) {
        struct cpt_record record = numbered_record(i / 3, 1 + i / 3);
        struct cpt_path *path = cpt_path_new(NULL);
        uint64_t shape = 0;

        CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
        is_done = cpt_log_shapes_keep(shapes, &record, path, &shape) != CPT_NO_MEMORY;
        cpt_path_free(path);
        free_record(&record);
    }
    cpt_log_shapes_free(shapes);
    return is_done;
}

static void test_survives_a_lack_of_memory(void)
{
    each_allocation_failure(keep_some);
}

extern CU_TestInfo cpt_log_shape_tests[];
CU_TestInfo cpt_log_shape_tests[] = {
    {"a shape is known from the third time on",
     test_a_shape_is_known_from_the_third_time_on},
    {"times are those of the path", test_times_are_those_of_the_path},
    {"a known shape is accepted like an unknown one",
     test_what_is_known_is_what_is_accepted},
    {"too many shapes are forgotten", test_too_many_are_forgotten},
    {"large shapes are bounded", test_large_shapes_are_bounded},
    {"survives a lack of memory", test_survives_a_lack_of_memory},
    CU_TEST_INFO_NULL,
};
