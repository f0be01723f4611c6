/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_metadata_nonce.c - the nonce of the ask stands in a path of any form */
#include "tests/support/metadata_verbose.h"

#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <string.h>

#define NONCE UINT64_C(0x9f86d081884c7d65)

enum { FIELD_BYTES = 10 };

/* Field 19 with NONCE. */
static const unsigned char field[FIELD_BYTES] = {0x99, 0x01, 0x65, 0x7d, 0x4c,
                                                 0x88, 0x81, 0xd0, 0x86, 0x9f};

/* Encodes within @bytes_max; the bytes, 0 if nothing fits. */
static size_t encode(const struct cpt_path *path, size_t bytes_max, uint64_t nonce,
                     unsigned char *data, size_t capacity, int *fit)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .has_server_elapsed = 1,
                                                        .server_elapsed_ns = 77,
                                                        .bytes_max = bytes_max,
                                                        .nonce = nonce};
    size_t bytes = 0;
    const cpt_status status =
        cpt_metadata_write(path, &options, data, capacity, &bytes, fit);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_LIMIT);
    return status == CPT_OK ? bytes : 0;
}

/* The path is that without a nonce in as many bytes less, and the field behind it. */
static void check_budget(const struct cpt_path *path, size_t bytes_max, int *fits)
{
    unsigned char with[4096];
    unsigned char without[4096];
    struct cpt_metadata_summary summary;
    struct cpt_path *back = cpt_path_new(NULL);
    int fit = -1;
    int fit_without = -1;
    const size_t bytes = encode(path, bytes_max, NONCE, with, sizeof with, &fit);
    const size_t bytes_without = bytes_max > FIELD_BYTES
                                     ? encode(path, bytes_max - FIELD_BYTES, 0, without,
                                              sizeof without, &fit_without)
                                     : 0;

    CU_ASSERT_TRUE(bytes <= bytes_max);
    CU_ASSERT_EQUAL_FATAL(bytes, bytes_without != 0 ? bytes_without + FIELD_BYTES : 0);
    if (bytes != 0) {
        CU_ASSERT_EQUAL(fit, fit_without);
        CU_ASSERT_EQUAL(memcmp(with, without, bytes_without), 0);
        CU_ASSERT_EQUAL(memcmp(with + bytes_without, field, FIELD_BYTES), 0);
        CU_ASSERT_EQUAL(cpt_metadata_peek(with, bytes, &summary, NULL), CPT_OK);
        CU_ASSERT_EQUAL(summary.nonce, NONCE);
        CU_ASSERT_EQUAL(summary.sum_ns, cpt_path_sum_ns(path));
        CU_ASSERT_EQUAL(cpt_metadata_decode(with, bytes, NULL, back, NULL), CPT_OK);
        fits[fit]++;
    }
    cpt_path_free(back);
}

static void test_each_step_of_folding_keeps_the_nonce(void)
{
    struct dice dice = dice_new("nonce");
    struct cpt_path *path = cpt_path_new(NULL);
    int fits[CPT_FIT_SUM + 1] = {0};

    for (int round = 0; round < 30; round++) {
        const struct path_shape shape = {.frames_max = 1 + dice_throw(&dice, 40),
                                         .segments_max = 1 + dice_throw(&dice, 60),
                                         .name_count = 1 + dice_throw(&dice, 20),
                                         .has_labels = true,
                                         .is_odd = dice_throw(&dice, 2) != 0,
                                         .has_drags = dice_throw(&dice, 2) != 0};

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        for (size_t bytes_max = 1200; bytes_max > 0; bytes_max--) {
            check_budget(path, bytes_max, fits);
        }
    }
    for (int fit = CPT_FIT_WHOLE; fit <= CPT_FIT_SUM; fit++) {
        CU_ASSERT_NOT_EQUAL(fits[fit], 0);
    }
    cpt_path_free(path);
}

/* A sum without its nonce would be taken for that of an older callee. */
static void test_the_sum_needs_room_for_its_nonce(void)
{
    struct cpt_path *path = document_path(NULL);
    unsigned char data[64];
    int fit = -1;
    const size_t bytes = 2 + 2 + 4 + FIELD_BYTES; /* version, elapsed 77, sum 900000 */

    CU_ASSERT_EQUAL(encode(path, bytes - 1, NONCE, data, sizeof data, &fit), 0);
    CU_ASSERT_EQUAL(encode(path, bytes, NONCE, data, sizeof data, &fit), bytes);
    CU_ASSERT_EQUAL(fit, CPT_FIT_SUM);
    CU_ASSERT_EQUAL(encode(path, bytes + 1, NONCE, data, sizeof data, &fit), bytes);
    cpt_path_free(path);
}

/* Bytes that are read, or refused by both readers; the nonce of those. */
static uint64_t nonce_of(const unsigned char *data, size_t bytes, bool is_good)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_metadata_summary summary;
    const cpt_status expected = is_good ? CPT_OK : CPT_CORRUPT;

    CU_ASSERT_EQUAL(cpt_metadata_decode(data, bytes, NULL, path, NULL), expected);
    CU_ASSERT_EQUAL(cpt_metadata_peek(data, bytes, &summary, NULL), expected);
    cpt_path_free(path);
    return summary.nonce;
}

static void test_the_last_nonce_counts_wherever_it_stands(void)
{
    static const unsigned char first[] = {0x99, 1, 9, 0, 0, 0,    0,
                                          0,    0, 0, 8, 1, 0x18, 5};
    static const unsigned char two[] = {0x99, 1, 9,    0, 0, 0, 0, 0, 0, 0, 8, 1,
                                        0x18, 5, 0x99, 1, 7, 0, 0, 0, 0, 0, 0, 0x80};
    static const unsigned char last_is_0[] = {8, 1,    0x99, 1, 9, 0, 0, 0, 0, 0, 0,
                                              0, 0x99, 1,    0, 0, 0, 0, 0, 0, 0, 0};
    static const unsigned char long_key[] = {8, 1, 0x99, 0x81, 0, 9, 0,
                                             0, 0, 0,    0,    0, 0};

    CU_ASSERT_EQUAL(nonce_of(first, sizeof first, true), 9);
    CU_ASSERT_EQUAL(nonce_of(two, sizeof two, true), UINT64_C(0x8000000000000007));
    CU_ASSERT_EQUAL(nonce_of(last_is_0, sizeof last_is_0, true), 0);
    CU_ASSERT_EQUAL(nonce_of(long_key, sizeof long_key, true), 9);
}

static void test_a_nonce_of_another_wire_type_is_refused(void)
{
    for (unsigned wire_type = 0; wire_type < 8; wire_type++) {
        unsigned char data[2 + FIELD_BYTES] = {8, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};

        data[2] = (unsigned char)(0x98 | wire_type);
        (void)nonce_of(data, sizeof data, wire_type == 1);
        data[4] = 7; /* were it bytes, all others */
        (void)nonce_of(data, sizeof data, wire_type == 1);
    }
    for (size_t bytes = 0; bytes < FIELD_BYTES; bytes++) {
        unsigned char data[2 + FIELD_BYTES] = {8, 1};

        memcpy(data + 2, field, bytes);
        (void)nonce_of(data, 2 + bytes, bytes == 0);
    }
}

/* Whatever bytes a callee sends: what is read has one nonce, in both readers. */
static void test_any_bytes_around_a_nonce(void)
{
    struct dice dice = dice_new("bytes around a nonce");

    for (int round = 0; round < 20000; round++) {
        unsigned char data[64];
        size_t bytes = dice_throw(&dice, sizeof data - FIELD_BYTES);
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_metadata_summary summary;

        for (size_t i = 0; i < bytes; i++) {
            data[i] = (unsigned char)dice_throw(&dice, 256);
        }
        if (dice_throw(&dice, 2) != 0) {
            bytes = 4;
            memcpy(data, "\x08\x01\x18\x05", bytes);
        }
        memcpy(data + bytes, field, FIELD_BYTES);
        if (cpt_metadata_decode(data, bytes + FIELD_BYTES, NULL, path, NULL) ==
            CPT_OK) {
            CU_ASSERT_EQUAL(
                cpt_metadata_peek(data, bytes + FIELD_BYTES, &summary, NULL), CPT_OK);
            CU_ASSERT_EQUAL(summary.nonce, NONCE);
        }
        cpt_path_free(path);
    }
}

static void test_the_verbose_form_has_it_too(void)
{
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options,
                                                        .nonce = NONCE};
    static const unsigned char as_number[] = {8, 1, 0x30, 1};
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back = cpt_path_new(NULL);
    struct cpt_metadata_summary summary;
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(verbose_encode(path, &options, &data, &bytes), CPT_OK);
    CU_ASSERT_EQUAL(verbose_decode(data, bytes, NULL, back, &summary, NULL), CPT_OK);
    CU_ASSERT_EQUAL(summary.nonce, NONCE);
    CU_ASSERT_TRUE(same_paths(path, back));
    cpt_path_reset(back);
    CU_ASSERT_EQUAL(
        verbose_decode(as_number, sizeof as_number, NULL, back, &summary, NULL),
        CPT_CORRUPT);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
    cpt_path_free(back);
}

CU_TestInfo cpt_metadata_nonce_tests[] = {
    {"each step of folding keeps the nonce, within the budget",
     test_each_step_of_folding_keeps_the_nonce},
    {"a sum needs room for its nonce", test_the_sum_needs_room_for_its_nonce},
    {"the last nonce counts, wherever it stands; 0 is none",
     test_the_last_nonce_counts_wherever_it_stands},
    {"a nonce of another wire type is refused",
     test_a_nonce_of_another_wire_type_is_refused},
    {"any bytes around a nonce", test_any_bytes_around_a_nonce},
    {"the verbose form has it, too", test_the_verbose_form_has_it_too},
    CU_TEST_INFO_NULL,
};
