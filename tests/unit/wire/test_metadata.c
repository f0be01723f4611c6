/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_metadata.c - a path as bytes and back: laws, limits, and inconsistent input */
#include "tests/support/metadata_verbose.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cpt_metadata_encode_options whole = {.struct_bytes = sizeof whole,
                                                         .is_unlimited = 1};

static unsigned char *encode(const struct cpt_path *path, size_t *bytes)
{
    unsigned char *data = NULL;
    int fit = -1;

    CU_ASSERT_EQUAL_FATAL(cpt_metadata_encode(path, &whole, &data, bytes, &fit),
                          CPT_OK);
    CU_ASSERT_EQUAL(fit, CPT_FIT_WHOLE);
    return data;
}

/* --- Laws --- */

static void test_what_was_encoded_comes_back(void)
{
    struct dice dice = dice_new("metadata");
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *back = cpt_path_new(NULL);

    for (int round = 0; round < 2000; round++) {
        const struct path_shape shape = {.frames_max = 1 + dice_throw(&dice, 300),
                                         .segments_max = 1 + dice_throw(&dice, 300),
                                         .name_count = 1 + dice_throw(&dice, 100),
                                         .has_labels = dice_throw(&dice, 2) != 0,
                                         .is_odd = dice_throw(&dice, 2) != 0,
                                         .has_drags = dice_throw(&dice, 2) != 0};
        struct cpt_error error = {0};
        unsigned char *data = NULL;
        unsigned char *again = NULL;
        size_t bytes = 0;
        size_t again_bytes = 0;

        cpt_path_reset(path);
        cpt_path_reset(back);
        random_path(&dice, &shape, path);
        data = encode(path, &bytes);
        CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, &error), CPT_OK);
        CU_ASSERT_STRING_EQUAL(error.sentence, "");
        CU_ASSERT_TRUE_FATAL(same_paths(path, back));
        again = encode(back, &again_bytes);
        CU_ASSERT_EQUAL(again_bytes, bytes);
        CU_ASSERT_EQUAL(memcmp(data, again, bytes), 0);
        cpt_alloc_free(NULL, data);
        cpt_alloc_free(NULL, again);
    }
    cpt_path_free(path);
    cpt_path_free(back);
}

static void test_an_empty_path(void)
{
    static const unsigned char expected[] = {0x08, 0x01};
    struct cpt_path *path = cpt_path_new(NULL);
    size_t bytes = 0;
    unsigned char *data = encode(path, &bytes);
    struct cpt_metadata_summary summary;

    CU_ASSERT_EQUAL(bytes, sizeof expected);
    CU_ASSERT_EQUAL(memcmp(data, expected, sizeof expected), 0);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
    CU_ASSERT_EQUAL(cpt_metadata_peek(data, bytes, &summary, NULL), CPT_OK);
    CU_ASSERT_FALSE(summary.is_sum_only);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

static void test_frames_and_names_out_of_use_stay_at_home(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    uint32_t frame = 0;
    size_t bytes = 0;
    unsigned char *data = NULL;

    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof name, "A: %d", i);
        CU_ASSERT_EQUAL(cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of(name),
                                           CPT_KIND_WORK, &frame),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, 3, 5), CPT_OK);
    data = encode(path, &bytes);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_frame_count(back), 1);
    CU_ASSERT_TRUE(same_paths(path, back));
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

static void test_server_elapsed_stands_beside_the_path(void)
{
    struct cpt_path *path = document_path(NULL);
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .has_server_elapsed = 1,
                                                        .server_elapsed_ns = 910000};
    struct cpt_metadata_summary summary;
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL(cpt_metadata_encode(path, &options, &data, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_metadata_peek(data, bytes, &summary, NULL), CPT_OK);
    CU_ASSERT_EQUAL(summary.version, 1);
    CU_ASSERT_TRUE(summary.has_server_elapsed);
    CU_ASSERT_EQUAL(summary.server_elapsed_ns, 910000);
    CU_ASSERT_EQUAL(summary.sum_ns, 900000);
    CU_ASSERT_FALSE(summary.is_sum_only);
    cpt_alloc_free(NULL, data);

    data = encode(path, &bytes);
    CU_ASSERT_EQUAL(cpt_metadata_peek(data, bytes, &summary, NULL), CPT_OK);
    CU_ASSERT_FALSE(summary.has_server_elapsed);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

static void test_a_sum_alone_is_a_blind_spot(void)
{
    static const unsigned char data[] = {0x08, 0x01, 0x10, 0x07, 0x18, 0x05};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_metadata_summary summary;

    CU_ASSERT_EQUAL(cpt_metadata_decode(data, sizeof data, NULL, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_path_segment_count(path), 1);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(path), 5);
    CU_ASSERT_EQUAL(cpt_path_segment(path, 0)->reason, CPT_REASON_SIZE);
    CU_ASSERT_EQUAL(cpt_path_frame(path, 0)->kind, CPT_KIND_BLIND_SPOT);
    CU_ASSERT_EQUAL(cpt_metadata_peek(data, sizeof data, &summary, NULL), CPT_OK);
    CU_ASSERT_TRUE(summary.is_sum_only);
    CU_ASSERT_EQUAL(summary.server_elapsed_ns, 7);
    cpt_path_free(path);
}

/* --- Unknown fields --- */

static void test_unknown_fields_and_labels_are_skipped(void)
{
    static const unsigned char data[] = {
        0x08, 0x01, 0x18, 0x09, /* version 1, sum 9 */
        0xa0, 0x06, 0x07,       /* field 100, a number */
        0xa1, 0x06, 1,    2,    3,    4,    5,    6,    7,
        8,                                                    /* field 100, 8 bytes */
        0xa5, 0x06, 1,    2,    3,    4,                      /* field 100, 4 bytes */
        0xa2, 0x06, 0x02, 0xff, 0xff,                         /* field 100, bytes */
        0x2a, 0x01, 'A',  0x32, 0x01, 0x00, 0x3a, 0x01, 0x01, /* a frame A */
        0x42, 0x02, 0xc8, 0x01,                               /* of kind 200 */
        0x4a, 0x01, 0x00, 0x52, 0x01, 0x09, 0x6a, 0x01, 0x63, /* 9 ns, reason 99 */
        0x72, 0x03, 0x00, 0x00, 0x00,                         /* three labels on it */
        0x7a, 0x03, 0x63, 0x01, 0x03,       /* key 99, attempt, holder */
        0x8a, 0x01, 0x03, 0x05, 0x06, 0x07, /* holder would have to be a name */
    };
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    char *text = NULL;

    CU_ASSERT_EQUAL(cpt_metadata_decode(data, sizeof data, NULL, path, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    text = path_text(path);
    CU_ASSERT_STRING_EQUAL(text, "flags 0\nA/200; 9 x1 f0 r99 1=6\n");
    free(text);
    cpt_path_free(path);
}

static void test_columns_in_pieces_and_in_any_order(void)
{
    static const unsigned char data[] = {
        0x50, 0x09, 0x48, 0x00, 0x30, 0x00, 0x38, 0x01, /* one number each */
        0x52, 0x02, 0x01, 0x02, 0x4a, 0x01, 0x00, 0x48, 0x00,
        0x2a, 0x01, 'A',  0x18, 0x05, 0x08, 0x01, 0x18, 0x0c, /* the last sum counts */
    };
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_metadata_decode(data, sizeof data, NULL, path, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 3);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(path), 12);
    cpt_path_free(path);
}

/* A tag is a number of 32 bits, however many bytes it takes: a reader that drops higher
 * bits sees a field that others do not. */
static const struct {
    unsigned char bytes[12]; /* after version 1: a tag, and the number 2 */
    size_t count;
    bool is_good;
} tags[] = {
    {{0xf8, 0xff, 0xff, 0xff, 0x0f, 2}, 6, true}, /* the largest field number */
    {{0x98, 0x80, 0x80, 0x80, 0x00, 0}, 6, true}, /* field 3 in five bytes */
    {{0x98, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0}, 11, true},
    {{0x88, 0x80, 0x80, 0x80, 0x10, 2}, 6, false}, /* 33 bits: field 1 and 2^32 */
    {{0x88, 0x80, 0x80, 0x80, 0x20, 2}, 6, false},
    {{0x88, 0x80, 0x80, 0x80, 0x40, 2}, 6, false},
    {{0x88, 0x80, 0x80, 0x80, 0x78, 2}, 6, false}, /* 35 bits */
    {{0xf8, 0xff, 0xff, 0xff, 0x7f, 2}, 6, false},
    {{0x88, 0x80, 0x80, 0x80, 0xf8, 0x00, 2}, 7, false},
    {{0x88, 0x80, 0x80, 0x80, 0x80, 0x01, 2}, 7, false}, /* 36 bits */
    {{0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 2}, 11, false},
    /* as a negative number of 32 bits is written */
    {{0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 2}, 11, false},
    {{0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 2}, 12, false},
};

static void test_a_tag_has_32_bits(void)
{
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        unsigned char data[14] = {0x08, 0x01};
        const size_t bytes = 2 + tags[i].count;
        const cpt_status expected = tags[i].is_good ? CPT_OK : CPT_CORRUPT;
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_metadata_summary summary;

        memcpy(data + 2, tags[i].bytes, tags[i].count);
        CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, path, NULL), expected);
        CU_ASSERT_EQUAL(cpt_metadata_peek(data, bytes, &summary, NULL), expected);
        CU_ASSERT_EQUAL(verbose_decode(data, bytes, NULL, path, &summary, NULL),
                        i == 1 || i == 2 ? CPT_CORRUPT
                                         : expected); /* there field 3 is bytes */
        cpt_path_free(path);
    }
}

/* --- Limits --- */

/* A chain of @depth frames with a segment in each, and as many labels. */
static struct cpt_path *chain(size_t depth)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = CPT_FRAME_NONE;

    for (size_t i = 0; i < depth; i++) {
        CU_ASSERT_EQUAL_FATAL(cpt_path_frame_add(path, frame, cpt_bytes_of("A: loop"),
                                                 CPT_KIND_WORK, &frame),
                              CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpt_path_append_ns(path, frame, 1000), CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpt_path_label_number(path, CPT_LABEL_ATTEMPT, 1),
                              CPT_OK);
    }
    return path;
}

typedef struct cpt_metadata_decode_options (*limit_fn)(size_t limit);

static struct cpt_metadata_decode_options segments(size_t limit)
{
    return (struct cpt_metadata_decode_options){
        sizeof(struct cpt_metadata_decode_options), .segments_max = limit};
}

static struct cpt_metadata_decode_options frames(size_t limit)
{
    return (struct cpt_metadata_decode_options){
        sizeof(struct cpt_metadata_decode_options), .frames_max = limit};
}

static struct cpt_metadata_decode_options labels(size_t limit)
{
    return (struct cpt_metadata_decode_options){
        sizeof(struct cpt_metadata_decode_options), .labels_max = limit};
}

static struct cpt_metadata_decode_options depth(size_t limit)
{
    return (struct cpt_metadata_decode_options){
        sizeof(struct cpt_metadata_decode_options), .depth_max = limit};
}

static void test_each_limit_holds_exactly(void)
{
    static const limit_fn limits[] = {segments, frames, labels, depth};
    struct cpt_path *path = chain(100);
    struct cpt_path *back = cpt_path_new(NULL);
    size_t bytes = 0;
    unsigned char *data = encode(path, &bytes);

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        for (size_t limit = 99; limit <= 101; limit++) {
            const struct cpt_metadata_decode_options options = limits[i](limit);
            struct cpt_error error = {0};

            cpt_path_reset(back);
            CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, &options, back, &error),
                            limit < 100 ? CPT_LIMIT : CPT_OK);
            CU_ASSERT_EQUAL(error.status, limit < 100 ? CPT_LIMIT : CPT_OK);
            CU_ASSERT_EQUAL(cpt_path_frame_count(back), limit < 100 ? 0 : 100);
        }
    }
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

static void test_bytes_and_names_have_limits(void)
{
    struct cpt_path *path = chain(3);
    struct cpt_path *back = cpt_path_new(NULL);
    size_t bytes = 0;
    unsigned char *data = encode(path, &bytes);

    for (size_t n = 0; n < 3; n++) { /* limit - 1, limit, limit + 1 */
        struct cpt_metadata_decode_options options = {sizeof options,
                                                      .bytes_max = bytes + 1 - n};

        cpt_path_reset(back);
        CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, &options, back, NULL),
                        n < 2 ? CPT_OK : CPT_LIMIT);
        options.bytes_max = 0;
        options.name_bytes_max = strlen("A: loop") + 2 - n; /* and one for each name */
        cpt_path_reset(back);
        CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, &options, back, NULL),
                        n < 2 ? CPT_OK : CPT_LIMIT);
    }
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

static void test_the_deepest_path_and_the_one_below(void)
{
    struct cpt_path *path = chain(CPT_PATH_DEPTH_MAX);
    struct cpt_path *back = cpt_path_new(NULL);
    size_t bytes = 0;
    unsigned char *data = encode(path, &bytes);

    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, NULL), CPT_OK);
    CU_ASSERT_TRUE(same_paths(path, back));
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

static void test_a_long_name_is_refused(void)
{
    unsigned char data[300] = {0x08, 0x01, 0x2a};
    struct cpt_path *path = cpt_path_new(NULL);

    for (size_t bytes = 254; bytes <= 256; bytes++) {
        struct cpt_error error = {0};

        data[3] = (unsigned char)(0x80 | (bytes & 0x7f));
        data[4] = (unsigned char)(bytes >> 7);
        memset(data + 5, 'n', bytes);
        cpt_path_reset(path);
        CU_ASSERT_EQUAL(cpt_metadata_decode(data, 5 + bytes, NULL, path, &error),
                        bytes <= 255 ? CPT_OK : CPT_LIMIT);
    }
    cpt_path_free(path);
}

/* --- Inconsistent input --- */

/* Damaged bytes give a path that adds up, or no path. */
static void decode_anything(const unsigned char *data, size_t bytes)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    struct cpt_metadata_summary summary;
    const cpt_status status = cpt_metadata_decode(data, bytes, NULL, path, &error);

    (void)cpt_metadata_peek(data, bytes, &summary, NULL);
    CU_ASSERT_EQUAL(error.status, status);
    if (status != CPT_OK) {
        CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
        CU_ASSERT_EQUAL(cpt_path_frame_count(path), 0);
        CU_ASSERT_TRUE(error.offset <= bytes);
        CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
    } else {
        CU_ASSERT_EQUAL(cpt_path_check(path, summary.sum_ns, NULL), CPT_OK);
    }
    cpt_path_free(path);
}

static void test_damaged_bytes_never_harm(void)
{
    struct dice dice = dice_new("damage");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 20000; round++) {
        const struct path_shape shape = {12, 12, 8, true, true};
        size_t bytes = 0;
        unsigned char *data = NULL;

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        data = encode(path, &bytes);
        for (uint64_t n = 1 + dice_throw(&dice, 4); n > 0; n--) {
            data[dice_throw(&dice, bytes)] ^=
                (unsigned char)(1 + dice_throw(&dice, 255));
        }
        decode_anything(data,
                        dice_throw(&dice, 4) == 0 ? dice_throw(&dice, bytes) : bytes);
        cpt_alloc_free(NULL, data);
    }
    cpt_path_free(path);
}

static void test_every_prefix_ends_well(void)
{
    struct cpt_path *path = document_path(NULL);
    size_t bytes = 0;
    unsigned char *data = encode(path, &bytes);

    for (size_t part = 0; part < bytes; part++) {
        unsigned char *copy = malloc(part + 1);

        memcpy(copy, data, part);
        decode_anything(copy, part);
        free(copy);
    }
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

/* --- Memory --- */

static bool encode_and_decode(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(alloc);
    const struct cpt_metadata_encode_options encoding = {
        .struct_bytes = sizeof encoding, .alloc = alloc, .bytes_max = 80};
    const struct cpt_metadata_decode_options decoding = {
        .struct_bytes = sizeof decoding, .alloc = alloc};
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = back == NULL
                            ? CPT_NO_MEMORY
                            : cpt_metadata_encode(path, &encoding, &data, &bytes, NULL);

    if (status == CPT_OK) {
        status = cpt_metadata_decode(data, bytes, &decoding, back, NULL);
        cpt_alloc_free(alloc, data);
    }
    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_path_free(back);
    cpt_path_free(path);
    return status == CPT_OK;
}

static void test_each_allocation_may_fail(void)
{
    each_allocation_failure(encode_and_decode);
}

/* Names that nothing refers to: two bytes each in the message, sixteen in memory. */
static void test_number_of_names_has_a_limit(void)
{
    const struct cpt_metadata_decode_options options = {
        .struct_bytes = sizeof options, .frames_max = 60, .labels_max = 40};
    unsigned char data[2 + 2 * 101] = {0x08, 0x01};

    for (size_t i = 2; i < sizeof data; i += 2) {
        data[i] = 0x2a; /* names: one of 0 bytes */
    }
    for (size_t names = 99; names <= 101; names++) {
        struct cpt_path *path = cpt_path_new(NULL);

        CU_ASSERT_EQUAL(cpt_metadata_decode(data, 2 + 2 * names, &options, path, NULL),
                        names > 100 ? CPT_LIMIT : CPT_OK);
        cpt_path_free(path);
    }
}

CU_TestInfo cpt_metadata_tests[] = {
    {"an encoded path comes back, and gives the same bytes again",
     test_what_was_encoded_comes_back},
    {"an empty path has two bytes", test_an_empty_path},
    {"the number of names has a limit", test_number_of_names_has_a_limit},
    {"frames out of use are left out", test_frames_and_names_out_of_use_stay_at_home},
    {"server_elapsed is beside the path", test_server_elapsed_stands_beside_the_path},
    {"a sum alone is a blind spot", test_a_sum_alone_is_a_blind_spot},
    {"unknown fields and labels are skipped, kinds and reasons kept",
     test_unknown_fields_and_labels_are_skipped},
    {"columns may come in pieces and in any order",
     test_columns_in_pieces_and_in_any_order},
    {"a tag has 32 bits", test_a_tag_has_32_bits},
    {"limits of segments, frames, labels and depth hold exactly",
     test_each_limit_holds_exactly},
    {"limits of bytes and of all names hold exactly", test_bytes_and_names_have_limits},
    {"the deepest path goes through", test_the_deepest_path_and_the_one_below},
    {"a name of 256 bytes is refused", test_a_long_name_is_refused},
    {"damaged bytes do no harm", test_damaged_bytes_never_harm},
    {"no prefix does harm", test_every_prefix_ends_well},
    {"each allocation may fail", test_each_allocation_may_fail},
    CU_TEST_INFO_NULL,
};
