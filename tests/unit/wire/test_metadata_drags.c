/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_metadata_drags.c - the column of drags: its code, its limits, and that there is
 * not one byte of it where there are none
 */
#include "wire/cpt_log.h"
#include "wire/cpt_log_shape.h"
#include "wire/cpt_metadata.h"
#include "tests/support/metadata_verbose.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <stdlib.h>
#include <string.h>

#define NO_DRAG CPT_DRAG_UNKNOWN

/* A path of segments of @durations_ns in frames "A: a", "A: b" … below each other's
 * root, and their drags. */
static struct cpt_path *path_of(const uint64_t *durations_ns, const uint64_t *drags_ns,
                                size_t count)
{
    struct cpt_path *path = cpt_path_new(NULL);

    for (size_t i = 0; i < count; i++) {
        const char name[] = {'A', ':', ' ', (char)('a' + i % 26), '\0'};
        uint32_t frame = 0;

        CU_ASSERT_EQUAL_FATAL(cpt_path_frame_add(path, i == 0 ? CPT_FRAME_NONE : 0,
                                                 cpt_bytes_of(name), 0, &frame),
                              CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, durations_ns[i]), CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_drag_set(path, i, drags_ns[i]), CPT_OK);
    }
    return path;
}

struct encoded {
    unsigned char *data;
    size_t bytes;
    int fit;
};

static struct encoded encode(const struct cpt_path *path, size_t bytes_max)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .is_unlimited = bytes_max == 0,
                                                        .bytes_max = bytes_max};
    struct encoded encoded = {NULL, 0, 0};

    CU_ASSERT_EQUAL_FATAL(cpt_metadata_encode(path, &options, &encoded.data,
                                              &encoded.bytes, &encoded.fit),
                          CPT_OK);
    return encoded;
}

/* Decodes; *@clamped is how many drags were cut. */
static struct cpt_path *decode(const void *data, size_t bytes, uint64_t *clamped)
{
    const struct cpt_metadata_decode_options options = {.struct_bytes = sizeof options,
                                                        .clamped_drags = clamped};
    struct cpt_path *path = cpt_path_new(NULL);

    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, &options, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
    return path;
}

/* The encoded path ends with @tail, and is decoded to the same. */
static void expect_tail(struct cpt_path *path, const void *tail, size_t tail_bytes)
{
    const struct encoded encoded = encode(path, 0);
    uint64_t clamped = 0;
    struct cpt_path *back = decode(encoded.data, encoded.bytes, &clamped);

    CU_ASSERT_TRUE(same_paths(path, back));
    CU_ASSERT_EQUAL(clamped, 0);
    CU_ASSERT_EQUAL(memcmp(encoded.data + encoded.bytes - tail_bytes, tail, tail_bytes),
                    0);
    cpt_alloc_free(NULL, encoded.data);
    cpt_path_free(back);
    cpt_path_free(path);
}

static void test_the_code(void)
{
    static const uint64_t durations[] = {100, 100, 50, 60, 7, 300, 300};
    static const uint64_t drags[] = {100, 60, 50, 60, NO_DRAG, 60, 2};
    static const uint64_t zeros[] = {0, 0, 0, 0, 0, 0, 0};
    static const uint64_t last_is_whole[] = {NO_DRAG, 5, 50, 60, 7, 300, 300};

    expect_tail(path_of(durations, drags, 7),
                "\x92\x01\x07\x00\x3f\x00\x00\x02\x01\x05", 10);
    expect_tail(path_of(durations, durations, 7), "\x92\x01\x01\x00", 4);
    expect_tail(path_of(durations, zeros, 7),
                "\x92\x01\x07\x01\x01\x01\x01\x01\x01\x01", 10);
    expect_tail(path_of(durations, last_is_whole, 7), "\x92\x01\x02\x02\x08", 5);
    expect_tail(path_of(durations, durations, 1), "\x92\x01\x01\x00", 4);
}

/* Asked for or not: a path without drags has the bytes that it had before there were
 * any. Those of the path of the documents are tests/data/metadata/v1/document.bin. */
static void test_without_drags_not_one_byte(void)
{
    static const char head[] = "\x08\x01\x18\xa0\xf7\x36\x2a\x04"
                               "A: /";
    static const char tail[] = "\x72\x01\x02\x7a\x01\x01\x8a\x01\x01\x02";
    struct cpt_path *path = document_path(NULL);
    struct encoded before = encode(path, 0);
    struct encoded after;

    CU_ASSERT_EQUAL(before.bytes, 126);
    CU_ASSERT_EQUAL(memcmp(before.data, head, sizeof head - 1), 0);
    CU_ASSERT_EQUAL(
        memcmp(before.data + before.bytes - (sizeof tail - 1), tail, sizeof tail - 1),
        0);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 2, 1), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag_set(path, 2, CPT_DRAG_UNKNOWN), CPT_OK);
    after = encode(path, 0);
    CU_ASSERT_EQUAL(after.bytes, before.bytes);
    CU_ASSERT_EQUAL(memcmp(after.data, before.data, before.bytes), 0);
    cpt_alloc_free(NULL, before.data);
    cpt_alloc_free(NULL, after.data);
    cpt_path_free(path);
}

/* The path of two segments of 5 and 9 ns, with @column for its drags. */
static struct cpt_path *with_column(const void *column, size_t bytes, uint64_t *clamped)
{
    static const uint64_t durations[] = {5, 9};
    static const uint64_t none[] = {NO_DRAG, NO_DRAG};
    struct cpt_path *path = path_of(durations, none, 2);
    const struct encoded encoded = encode(path, 0);
    unsigned char data[256];

    CU_ASSERT_FATAL(encoded.bytes + bytes <= sizeof data);
    memcpy(data, encoded.data, encoded.bytes);
    memcpy(data + encoded.bytes, column, bytes);
    cpt_alloc_free(NULL, encoded.data);
    cpt_path_free(path);
    return decode(data, encoded.bytes + bytes, clamped);
}

static void test_a_drag_above_its_segment(void)
{
    static const struct {
        const char *column;
        size_t bytes;
        uint64_t drags[2];
        uint64_t clamped;
    } rows[] = {
        {"\x92\x01\x02\x08\x0c", 5, {5, 9}, 0},
        {"\x92\x01\x02\x09\x0c", 5, {5, 9}, 1},
        {"\x92\x01\x02\x09\x0d", 5, {5, 9}, 2},
        {"\x92\x01\x02\x09\x01", 5, {5, 6}, 1}, /* the same again is 6, not 5 */
        {"\x92\x01\x02\x01\x00", 5, {0, 9}, 0},
        {"\x92\x01\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02",
         14,
         {5, CPT_DRAG_UNKNOWN},
         1},
        {"\x90\x01\x07", 3, {4, 9}, 0}, /* a number that is not packed */
        {"\x92\x01\x00", 3, {CPT_DRAG_UNKNOWN, CPT_DRAG_UNKNOWN}, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t clamped = 0;
        struct cpt_path *path = with_column(rows[i].column, rows[i].bytes, &clamped);

        CU_ASSERT_EQUAL(cpt_path_drag(path, 0), rows[i].drags[0]);
        CU_ASSERT_EQUAL(cpt_path_drag(path, 1), rows[i].drags[1]);
        CU_ASSERT_EQUAL(clamped, rows[i].clamped);
        cpt_path_free(path);
    }
}

static void test_more_drags_than_segments(void)
{
    static const uint64_t durations[] = {5};
    struct cpt_path *path = path_of(durations, durations, 1);
    struct cpt_path *back = cpt_path_new(NULL);
    const struct encoded encoded = encode(path, 0);
    unsigned char data[64];

    memcpy(data, encoded.data, encoded.bytes);
    memcpy(data + encoded.bytes, "\x92\x01\x01\x00", 4);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, encoded.bytes + 4, NULL, back, NULL),
                    CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpt_path_segment_count(back), 0);
    cpt_alloc_free(NULL, encoded.data);
    cpt_path_free(path);
    cpt_path_free(back);
}

/* The largest known drag of the segments with @stack. */
static uint64_t largest_drag(const struct cpt_path *path, const char *stack)
{
    uint64_t largest_ns = CPT_DRAG_UNKNOWN;

    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint64_t drag_ns = cpt_path_drag(path, i);
        char own[256];

        (void)cpt_path_stack_text(path, cpt_path_segment(path, i)->frame, own,
                                  sizeof own);
        if (strcmp(own, stack) == 0 && drag_ns != CPT_DRAG_UNKNOWN &&
            (largest_ns == CPT_DRAG_UNKNOWN || drag_ns > largest_ns)) {
            largest_ns = drag_ns;
        }
    }
    return largest_ns;
}

/* Each stack of @back but a ‹folded›, which is one of many, has its largest drag. */
static void expect_largest(const struct cpt_path *path, const struct cpt_path *back)
{
    for (size_t i = 0; i < cpt_path_segment_count(back); i++) {
        const uint32_t frame = cpt_path_segment(back, i)->frame;
        char stack[256];

        (void)cpt_path_stack_text(back, frame, stack, sizeof stack);
        if (cpt_path_frame(back, frame)->kind != CPT_KIND_FOLDED) {
            CU_ASSERT_EQUAL(largest_drag(back, stack), largest_drag(path, stack));
        }
    }
}

/* A loop of the same three frames, in each budget: every step keeps the largest. */
static void test_each_step_keeps_the_largest(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frames[4] = {0};
    unsigned steps = 0;

    for (size_t i = 0; i < 4; i++) {
        const char name[] = {'A', ':', ' ', (char)('a' + i), '\0'};

        CU_ASSERT_EQUAL(cpt_path_frame_add(path, i == 0 ? CPT_FRAME_NONE : frames[0],
                                           cpt_bytes_of(name), 0, &frames[i]),
                        CPT_OK);
    }
    for (size_t i = 0; i < 40; i++) {
        const uint64_t drag_ns = i % 7 == 0 ? CPT_DRAG_UNKNOWN : 900 + i * 13 % 100;

        CU_ASSERT_EQUAL(cpt_path_append_ns(path, frames[i / 2 % 4], 1000 + i), CPT_OK);
        CU_ASSERT_EQUAL(cpt_path_drag_set(path, i, drag_ns), CPT_OK);
        if (i == 5) {
            CU_ASSERT_EQUAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 2), CPT_OK);
        }
    }
    for (size_t bytes_max = 400; bytes_max > 20; bytes_max--) {
        const struct encoded encoded = encode(path, bytes_max);
        struct cpt_path *back = decode(encoded.data, encoded.bytes, NULL);

        steps |= 1U << encoded.fit;
        if (encoded.fit != CPT_FIT_SUM) {
            expect_largest(path, back);
            CU_ASSERT_TRUE(cpt_path_has_drags(back));
        } else {
            CU_ASSERT_FALSE(cpt_path_has_drags(back));
        }
        cpt_alloc_free(NULL, encoded.data);
        cpt_path_free(back);
    }
    CU_ASSERT_EQUAL(steps, 1U << CPT_FIT_WHOLE | 1U << CPT_FIT_NEIGHBOURS |
                               1U << CPT_FIT_UNORDERED | 1U << CPT_FIT_FOLDED |
                               1U << CPT_FIT_SUM);
    cpt_path_free(path);
}

static void test_the_verbose_form(void)
{
    static const uint64_t durations[] = {100, 100, 50};
    static const uint64_t drags[] = {100, NO_DRAG, 0};
    /* one segment "A" of 5 ns with a drag of 6 */
    static const char above[] = "\x08\x01\x1a\x07\x0a\x01\x41\x18\x05\x40\x06\x28\x05";
    const struct cpt_metadata_encode_options all = {.struct_bytes = sizeof all};
    uint64_t clamped = 0;
    const struct cpt_metadata_decode_options options = {.struct_bytes = sizeof options,
                                                        .clamped_drags = &clamped};
    struct cpt_path *path = path_of(durations, drags, 3);
    struct cpt_path *back = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(verbose_encode(path, &all, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(verbose_decode(data, bytes, &options, back, NULL, NULL), CPT_OK);
    CU_ASSERT_TRUE(same_paths(path, back));
    CU_ASSERT_EQUAL(clamped, 0);
    cpt_path_reset(back);
    CU_ASSERT_EQUAL(verbose_decode(above, sizeof above - 1, &options, back, NULL, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_drag(back, 0), 5);
    CU_ASSERT_EQUAL(clamped, 1);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

/* A record of the log has the column; readers that add up frames by the shape of the
 * path leave such a path to the decoder. */
static void test_a_record_has_the_drags(void)
{
    static const uint64_t durations[] = {100, 100, 50};
    static const uint64_t drags[] = {100, NO_DRAG, 20};
    struct cpt_path *path = path_of(durations, drags, 3);
    struct cpt_path *back = cpt_path_new(NULL);
    const struct encoded encoded = encode(path, 0);
    const struct cpt_record record = {
        .latency_ns = 250, .path_bytes = {(const char *)encoded.data, encoded.bytes}};
    struct cpt_log_shapes *shapes = cpt_log_shapes_new(NULL);
    struct cpt_log_times times;

    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, back, NULL), CPT_OK);
    CU_ASSERT_TRUE(same_paths(path, back));
    for (int i = 0; i < 4; i++) {
        uint64_t shape = 0;

        CU_ASSERT_NOT_EQUAL(cpt_log_shapes_find(shapes, &record, &times), CPT_OK);
        (void)cpt_log_shapes_keep(shapes, &record, back, &shape);
    }
    cpt_log_shapes_free(shapes);
    cpt_alloc_free(NULL, encoded.data);
    cpt_path_free(path);
    cpt_path_free(back);
}

static bool through_bytes(const struct cpt_alloc *alloc)
{
    const struct cpt_metadata_encode_options options = {
        .struct_bytes = sizeof options, .alloc = alloc, .bytes_max = 60};
    static const uint64_t durations[] = {100, 100, 50, 9, 9, 9, 9, 9, 9, 9, 9, 9};
    struct cpt_path *path = path_of(durations, durations, 12);
    struct cpt_path *back = cpt_path_new(alloc);
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = back != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        status = cpt_metadata_encode(path, &options, &data, &bytes, NULL);
    }
    if (status == CPT_OK) {
        const struct cpt_metadata_decode_options limits = {
            .struct_bytes = sizeof limits, .alloc = alloc};

        status = cpt_metadata_decode(data, bytes, &limits, back, NULL);
    }
    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_alloc_free(alloc, data);
    cpt_path_free(path);
    cpt_path_free(back);
    return status == CPT_OK;
}

static void test_refused_memory(void)
{
    each_allocation_failure(through_bytes);
}

extern CU_TestInfo cpt_metadata_drags_tests[];
CU_TestInfo cpt_metadata_drags_tests[] = {
    {"drags are numbers of a column", test_the_code},
    {"without drags there is not one byte more", test_without_drags_not_one_byte},
    {"a drag above its segment is cut and counted", test_a_drag_above_its_segment},
    {"more drags than segments are refused", test_more_drags_than_segments},
    {"each step of fitting keeps the largest", test_each_step_keeps_the_largest},
    {"the verbose form has them", test_the_verbose_form},
    {"a record of the log has them", test_a_record_has_the_drags},
    {"refused memory ends both ways", test_refused_memory},
    CU_TEST_INFO_NULL,
};
