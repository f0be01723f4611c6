/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_verbose.c - the verbose form and the compact one give the same path
 *
 * Bad messages are written field by field, since the writer makes none.
 */
#include "tests/support/metadata_verbose.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cpt_metadata_encode_options whole = {.struct_bytes = sizeof whole,
                                                         .is_unlimited = 1};

/* --- Laws --- */

static void check_same(const struct cpt_path *path)
{
    struct cpt_path *compact = cpt_path_new(NULL);
    struct cpt_path *verbose = cpt_path_new(NULL);
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    unsigned char *again = NULL;
    size_t bytes = 0;
    size_t again_bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_metadata_encode(path, &whole, &data, &bytes, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, compact, NULL), CPT_OK);
    cpt_alloc_free(NULL, data);
    CU_ASSERT_EQUAL_FATAL(verbose_encode(path, &whole, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(verbose_decode(data, bytes, NULL, verbose, NULL, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    CU_ASSERT_TRUE_FATAL(same_paths(compact, verbose));
    CU_ASSERT_TRUE(same_paths(path, verbose));
    CU_ASSERT_EQUAL(verbose_encode(verbose, &whole, &again, &again_bytes), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(again_bytes, bytes);
    CU_ASSERT_EQUAL(memcmp(again, data, bytes), 0);
    cpt_alloc_free(NULL, data);
    cpt_alloc_free(NULL, again);
    cpt_path_free(compact);
    cpt_path_free(verbose);
}

static void test_both_forms_give_the_same_path(void)
{
    struct dice dice = dice_new("verbose");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 500; round++) {
        const struct path_shape shape = {.frames_max = 1 + dice_throw(&dice, 200),
                                         .segments_max = 1 + dice_throw(&dice, 200),
                                         .name_count = 1 + dice_throw(&dice, 60),
                                         .has_labels = dice_throw(&dice, 2) != 0,
                                         .is_odd = dice_throw(&dice, 2) != 0,
                                         .has_drags = dice_throw(&dice, 2) != 0};

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        check_same(path);
    }
    cpt_path_reset(path);
    check_same(path);
    cpt_path_free(path);
}

/* One segment below @depth frames: as deep as a path can be. */
static void test_the_deepest_stack(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = CPT_FRAME_NONE;

    for (int i = 0; i < CPT_PATH_DEPTH_MAX; i++) {
        CU_ASSERT_EQUAL_FATAL(cpt_path_frame_add(path, frame, cpt_bytes_of("A: deep"),
                                                 CPT_KIND_WORK, &frame),
                              CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_path_append_ns(path, frame, 7), CPT_OK);
    check_same(path);
    cpt_path_free(path);
}

static void test_the_bytes_of_the_document(void)
{
    static const char expected[] =
        "\x08\x01\x10\xa0\xf7\x36"
        "\x1a\x14\x0a\x04"
        "A: /\x0a\x08"
        "A: parse\x18\xc0\x9a\x0c"
        "\x1a\x14\x0a\x04"
        "A: /\x0a\x08"
        "A: index\x18\xc0\xb8\x02"
        "\x1a\x25\x0a\x04"
        "A: /\x0a\x08"
        "A: index\x0a\x09"
        "B: Lookup\x18\xf0\x84\x0e\x3a\x04\x08\x01\x10\x02"
        "\x1a\x27\x0a\x04"
        "A: /\x0a\x08"
        "A: index\x0a\x09"
        "B: Lookup\x0a\x00\x12\x04\x00\x00\x00\x02\x18\xb0\xea\x01"
        "\x1a\x13\x0a\x04"
        "A: /\x0a\x07"
        "A: rank\x18\xf0\x93\x09"
        "\x1a\x15\x0a\x04"
        "A: /\x0a\x09"
        "A: render\x18\x90\xa1\x0f"
        "\x28\xa0\xf7\x36";
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .has_server_elapsed = 1,
                                                        .server_elapsed_ns = 900000};
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    struct cpt_metadata_summary summary;
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(verbose_encode(path, &options, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(bytes, sizeof expected - 1);
    CU_ASSERT_EQUAL(memcmp(data, expected, sizeof expected - 1), 0);
    CU_ASSERT_EQUAL(verbose_decode(data, bytes, NULL, back, &summary, NULL), CPT_OK);
    CU_ASSERT_EQUAL(summary.server_elapsed_ns, 900000);
    CU_ASSERT_EQUAL(summary.has_server_elapsed, 1);
    CU_ASSERT_EQUAL(summary.sum_ns, 900000);
    CU_ASSERT_EQUAL(summary.version, 1);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

/* --- Limits --- */

static cpt_status decode_within(const struct cpt_metadata_decode_options *options)
{
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = CPT_OK;

    CU_ASSERT_EQUAL_FATAL(verbose_encode(path, NULL, &data, &bytes), CPT_OK);
    status = verbose_decode(data, bytes, options, back, NULL, NULL);
    CU_ASSERT_TRUE(status == CPT_OK || cpt_path_frame_count(back) == 0);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
    return status;
}

/* The path of the documents has six segments, seven frames, one label, a depth of four
 * and seven names, of which one is empty: 45 + 7 bytes. */
static void test_limits(void)
{
    static const struct cpt_metadata_decode_options enough[] = {
        {.struct_bytes = sizeof enough[0], .segments_max = 6},
        {.struct_bytes = sizeof enough[0], .frames_max = 7},
        {.struct_bytes = sizeof enough[0], .labels_max = 1},
        {.struct_bytes = sizeof enough[0], .depth_max = 4},
        {.struct_bytes = sizeof enough[0], .name_bytes_max = 52},
        {.struct_bytes = sizeof enough[0], .bytes_max = 174}};
    static const struct cpt_metadata_decode_options less[] = {
        {.struct_bytes = sizeof less[0], .segments_max = 5},
        {.struct_bytes = sizeof less[0], .frames_max = 6},
        {.struct_bytes = sizeof less[0], .depth_max = 3},
        {.struct_bytes = sizeof less[0], .name_bytes_max = 51},
        {.struct_bytes = sizeof less[0], .bytes_max = 173}};

    for (size_t i = 0; i < sizeof enough / sizeof enough[0]; i++) {
        CU_ASSERT_EQUAL(decode_within(&enough[i]), CPT_OK);
    }
    for (size_t i = 0; i < sizeof less / sizeof less[0]; i++) {
        CU_ASSERT_EQUAL(decode_within(&less[i]), CPT_LIMIT);
    }
}

static void test_a_limit_of_the_writer(void)
{
    struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options};
    struct cpt_path *path = document_path(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;

    for (options.bytes_max = 1; options.bytes_max < 174; options.bytes_max++) {
        CU_ASSERT_EQUAL(verbose_encode(path, &options, &data, &bytes), CPT_LIMIT);
    }
    CU_ASSERT_EQUAL(verbose_encode(path, &options, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(bytes, 174);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

/* --- Bad messages --- */

struct message {
    const char *what;
    cpt_status status;
    const char *data;
    size_t bytes;
};

#define MESSAGE(what, status, text)                                                    \
    {                                                                                  \
        what, status, text, sizeof(text) - 1                                           \
    }

/* Version 1, and a segment of 5 ns in frame "A". */
#define HEAD    "\x08\x01"
#define SEGMENT "\x1a\x05\x0a\x01\x41\x18\x05"
#define SUM     "\x28\x05"

static const struct message messages[] = {
    MESSAGE("sound", CPT_OK, HEAD SEGMENT SUM),
    MESSAGE("in another order", CPT_OK, SUM SEGMENT HEAD),
    MESSAGE("nothing but a version", CPT_OK, HEAD),
    MESSAGE("an unknown field", CPT_OK, HEAD SEGMENT SUM "\x7a\x02zz"),
    MESSAGE("time before names", CPT_OK, HEAD "\x1a\x05\x18\x05\x0a\x01\x41" SUM),
    MESSAGE("kinds before names", CPT_OK,
            HEAD "\x1a\x08\x12\x01\x02\x0a\x01\x41\x18\x05" SUM),
    MESSAGE("kinds one by one", CPT_OK,
            HEAD "\x1a\x0a\x10\x00\x0a\x00\x0a\x00\x10\x02\x18\x05" SUM),
    MESSAGE("an unknown label", CPT_OK,
            HEAD "\x1a\x0b\x0a\x01\x41\x18\x05\x3a\x04\x08\x63\x10\x01" SUM),
    MESSAGE("empty", CPT_CORRUPT, ""),
    MESSAGE("no version", CPT_CORRUPT, SEGMENT SUM),
    MESSAGE("version 2", CPT_VERSION, "\x08\x02" SEGMENT SUM),
    MESSAGE("another sum", CPT_CORRUPT, HEAD SEGMENT "\x28\x06"),
    MESSAGE("no sum", CPT_CORRUPT, HEAD SEGMENT),
    MESSAGE("a sum without segments", CPT_CORRUPT, HEAD SUM),
    MESSAGE("a time of 2^63", CPT_CORRUPT,
            HEAD "\x28\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
    MESSAGE("field 0", CPT_CORRUPT, HEAD "\x00\x01"),
    MESSAGE("a group", CPT_CORRUPT, HEAD SEGMENT SUM "\x7b\x7c"),
    MESSAGE("the compact form", CPT_CORRUPT, "\x08\x01\x18\x05"),
    MESSAGE("a segment without names", CPT_CORRUPT, HEAD "\x1a\x02\x18\x05" SUM),
    MESSAGE("a segment of 0 ns", CPT_CORRUPT, HEAD "\x1a\x03\x0a\x01\x41"),
    MESSAGE("more kinds than names", CPT_CORRUPT,
            HEAD "\x1a\x09\x0a\x01\x41\x12\x02\x00\x01\x18\x05" SUM),
    MESSAGE("a kind of 256", CPT_CORRUPT,
            HEAD "\x1a\x09\x0a\x01\x41\x12\x02\x80\x02\x18\x05" SUM),
    MESSAGE("a kind that is cut off", CPT_CORRUPT,
            HEAD "\x1a\x08\x0a\x01\x41\x12\x01\x80\x18\x05" SUM),
    MESSAGE("a reason of 256", CPT_CORRUPT,
            HEAD "\x1a\x08\x0a\x01\x41\x18\x05\x30\x80\x02" SUM),
    MESSAGE("flags of 65536", CPT_CORRUPT,
            HEAD "\x1a\x09\x0a\x01\x41\x18\x05\x28\x80\x80\x04" SUM),
    MESSAGE("folded of 2^32 - 1", CPT_CORRUPT,
            HEAD "\x1a\x0b\x0a\x01\x41\x18\x05\x20\xff\xff\xff\xff\x0f" SUM),
    MESSAGE("a NUL in a name", CPT_CORRUPT, HEAD "\x1a\x05\x0a\x01\x00\x18\x05" SUM),
    MESSAGE("a name beyond its segment", CPT_CORRUPT,
            HEAD "\x1a\x05\x18\x05\x0a\x7f\x41" SUM),
    MESSAGE("a segment beyond the message", CPT_CORRUPT, HEAD "\x1a\x7f\x0a\x01\x41"),
    MESSAGE("a name as a number", CPT_CORRUPT, HEAD "\x1a\x04\x08\x01\x18\x05" SUM),
    MESSAGE("a label as a number", CPT_CORRUPT,
            HEAD "\x1a\x07\x0a\x01\x41\x18\x05\x38\x01" SUM),
    MESSAGE("a label with a NUL in its name", CPT_CORRUPT,
            HEAD "\x1a\x0c\x0a\x01\x41\x18\x05\x3a\x05\x08\x03\x1a\x01\x00" SUM),
    MESSAGE(
        "durations of 2^63 together", CPT_CORRUPT,
        HEAD
        "\x1a\x0d\x0a\x01\x41\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f" SEGMENT SUM)};

static void test_bad_messages(void)
{
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const struct message *message = &messages[i];
        /* Of its own, so that a byte too far is found. */
        unsigned char *data = malloc(message->bytes + (message->bytes == 0));
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_metadata_summary summary;
        struct cpt_error error = {0};
        cpt_status status = CPT_OK;

        CU_ASSERT_PTR_NOT_NULL_FATAL(data);
        memcpy(data, message->data, message->bytes);
        status = verbose_decode(data, message->bytes, NULL, path, &summary, &error);
        if (status != message->status) {
            printf("\n%s: %d, %s\n", message->what, (int)status, error.sentence);
        }
        CU_ASSERT_EQUAL(status, message->status);
        if (status != CPT_OK) {
            CU_ASSERT_EQUAL(cpt_path_frame_count(path), 0);
            CU_ASSERT_EQUAL(summary.version, 0);
            CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
        }
        cpt_path_free(path);
        free(data);
    }
}

/* A name of 255 bytes is read, one of 256 is not. */
static void test_a_long_name(void)
{
    for (unsigned length = CPT_NAME_BYTES_MAX; length <= CPT_NAME_BYTES_MAX + 1;
         length++) {
        unsigned char data[300] = {0x08, 0x01, 0x1a, 0x85, 0x02, 0x0a};
        struct cpt_path *path = cpt_path_new(NULL);
        size_t at = 6;

        data[3] = (unsigned char)(0x80 | ((length + 5) & 0x7f));
        data[4] = (unsigned char)((length + 5) >> 7);
        data[at++] = (unsigned char)(0x80 | (length & 0x7f));
        data[at++] = (unsigned char)(length >> 7);
        memset(data + at, 'A', length);
        at += length;
        data[at++] = 0x18;
        data[at++] = 0x05;
        data[at++] = 0x28;
        data[at++] = 0x05;
        CU_ASSERT_EQUAL(verbose_decode(data, at, NULL, path, NULL, NULL),
                        length == CPT_NAME_BYTES_MAX ? CPT_OK : CPT_LIMIT);
        cpt_path_free(path);
    }
}

/* Neither reader takes the other's form. */
static void test_forms_are_not_confused(void)
{
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(verbose_encode(path, NULL, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, back, NULL), CPT_CORRUPT);
    cpt_alloc_free(NULL, data);
    CU_ASSERT_EQUAL_FATAL(cpt_metadata_encode(path, &whole, &data, &bytes, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(verbose_decode(data, bytes, NULL, back, NULL, NULL), CPT_CORRUPT);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

/* --- No memory --- */

static bool write_and_read(const struct cpt_alloc *alloc)
{
    const struct cpt_metadata_encode_options writing = {.struct_bytes = sizeof writing,
                                                        .alloc = alloc};
    const struct cpt_metadata_decode_options reading = {.struct_bytes = sizeof reading,
                                                        .alloc = alloc};
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(alloc);
    unsigned char *data = NULL;
    size_t bytes = 0;
    bool is_done = false;

    if (back != NULL && verbose_encode(path, &writing, &data, &bytes) == CPT_OK) {
        is_done = verbose_decode(data, bytes, &reading, back, NULL, NULL) == CPT_OK;
        cpt_alloc_free(alloc, data);
    }
    cpt_path_free(back);
    cpt_path_free(path);
    return is_done;
}

static void test_without_memory(void)
{
    each_allocation_failure(write_and_read);
}

CU_TestInfo cpt_verbose_tests[] = {
    {"both forms give the same path", test_both_forms_give_the_same_path},
    {"the deepest stack", test_the_deepest_stack},
    {"the bytes of the document", test_the_bytes_of_the_document},
    {"limits", test_limits},
    {"a limit of the writer", test_a_limit_of_the_writer},
    {"bad messages are refused", test_bad_messages},
    {"a long name", test_a_long_name},
    {"the two forms are not confused", test_forms_are_not_confused},
    {"every allocation may fail", test_without_memory},
    CU_TEST_INFO_NULL,
};
