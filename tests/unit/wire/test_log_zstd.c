/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_log_zstd.c - compressed blocks: the same records, in less; nothing larger than
 * allowed; and a clear sentence where the library was built without zstd
 */
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"
#include "wire/log/log_format.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/log_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A zstd frame with two records: byte strings of a map {0: 1}. It is a constant, so
 * that a build without zstd reads it too. */
static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x08,
                                      0x41, 0x00, 0x00, 0x43, 0xa1, 0x00,
                                      0x01, 0x43, 0xa1, 0x00, 0x01};

static int is_there(void)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const cpt_status status = cpt_log_block_compress(block, 1);

    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_UNAVAILABLE);
    cpt_log_block_free(block);
    return status == CPT_OK;
}

/* A block of type 4 with @payload. */
static struct log_memory packed_log(const void *payload, size_t bytes)
{
    const struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                       .type = CPTI_LOG_BLOCK_ZSTD,
                                       .payload_bytes = (uint32_t)bytes,
                                       .record_count = 2,
                                       .payload_crc = cpt_crc32c(0, payload, bytes)};
    struct log_memory log = log_memory_new(1, 1); /* after a normal block */
    unsigned char data[CPTI_LOG_HEAD_BYTES];

    cpti_log_head_write(&head, data);
    log_memory_append(&log, data, sizeof data);
    log_memory_append(&log, payload, bytes);
    return log;
}

/* Reads to the end; the first error in *@error. Records. */
static uint64_t read_all(struct cpt_log_reader *reader, struct cpt_error *error)
{
    struct cpt_record record;
    cpt_status status = CPT_OK;
    uint64_t count = 0;

    while (status != CPT_END && status != CPT_NO_MEMORY) {
        status = cpt_log_reader_next(reader, &record, error);
        count += status == CPT_OK;
    }
    return count;
}

static uint64_t read_log(struct log_memory *log, struct cpt_log_counts *counts,
                         struct cpt_error *error)
{
    struct cpt_log_reader *reader = log_memory_reader(log, NULL);
    const uint64_t count = read_all(reader, error);

    *counts = *cpt_log_reader_counts(reader);
    cpt_log_reader_free(reader);
    return count;
}

static void test_a_frame_of_old(void)
{
    struct log_memory log = packed_log(frame, sizeof frame);
    struct cpt_log_counts counts;
    struct cpt_error error = {0};
    const uint64_t count = read_log(&log, &counts, &error);

    if (is_there()) {
        CU_ASSERT_EQUAL(count, 3);
        CU_ASSERT_EQUAL(counts.blocks, 2);
        CU_ASSERT_EQUAL(error.status, CPT_OK);
    } else {
        CU_ASSERT_EQUAL(count, 1);
        CU_ASSERT_EQUAL(counts.skipped_records, 2);
        CU_ASSERT_EQUAL(counts.skipped_bytes, CPTI_LOG_HEAD_BYTES + sizeof frame);
        CU_ASSERT_EQUAL(error.status, CPT_VERSION);
        CU_ASSERT_STRING_EQUAL(error.sentence,
                               "a block with 2 records is compressed by zstd, which "
                               "this program was built without");
    }
    free(log.data);
}

static void expect_refused(const void *payload, size_t bytes, cpt_status expected)
{
    struct log_memory log = packed_log(payload, bytes);
    struct cpt_log_counts counts;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(read_log(&log, &counts, &error), 1);
    CU_ASSERT_EQUAL(error.status, is_there() ? expected : CPT_VERSION);
    CU_ASSERT_EQUAL(counts.skipped_records, 2);
    CU_ASSERT_EQUAL(counts.skipped_blocks, 1);
    free(log.data);
}

static void test_what_cannot_be_unpacked(void)
{
    unsigned char bad[sizeof frame];

    expect_refused("", 0, CPT_CORRUPT);
    expect_refused("no frame at all", 15, CPT_CORRUPT);
    expect_refused(frame, sizeof frame - 1, CPT_CORRUPT);
    memcpy(bad, frame, sizeof frame);
    bad[5] = 0x07; /* says 7 bytes, has 8 */
    expect_refused(bad, sizeof bad, CPT_CORRUPT);
    bad[5] = 0x09;
    expect_refused(bad, sizeof bad, CPT_CORRUPT);
    /* 2^60 bytes, it says */
    expect_refused("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00",
                   16, CPT_LIMIT);
    /* does not say how many */
    expect_refused("\x28\xb5\x2f\xfd\x00\x58\x41\x00\x00\x43\xa1\x00\x01\x43\xa1\x00"
                   "\x01",
                   17, CPT_CORRUPT);
}

/* @count records that resemble each other, compressed at @level. */
static struct log_memory compressed_log(size_t count, int level,
                                        struct cpt_log_index *index)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    struct log_memory log = log_memory_new(0, 0);

    if (is_there()) {
        CU_ASSERT_EQUAL(cpt_log_block_compress(block, level), CPT_OK);
    }
    for (size_t i = 0; i < count; i++) {
        const struct cpt_record record = {.service = cpt_bytes_of("A"),
                                          .method = cpt_bytes_of("/search/of/things"),
                                          .latency_ns = i,
                                          .start_unix_ns = 1000 + i};
        unsigned char *data = NULL;
        size_t bytes = 0;

        CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                              CPT_OK);
        CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
        cpt_alloc_free(NULL, data);
        if (i % 100 == 99 || i + 1 == count) {
            const struct cpt_bytes done = cpt_log_block_finish(block);

            CU_ASSERT_EQUAL(cpt_log_index_add(index, log.bytes, done.data, done.bytes),
                            CPT_OK);
            log_memory_append(&log, done.data, done.bytes);
        }
    }
    cpt_log_block_free(block);
    return log;
}

static void test_the_same_in_less(void)
{
    struct cpt_log_index *index = cpt_log_index_new(NULL);
    struct log_memory plain = compressed_log(400, 0, index);
    size_t before = plain.bytes;

    CU_ASSERT_EQUAL(cpt_log_index_count(index), 4);
    cpt_log_index_free(index);
    for (int level = 1; level <= 19; level += 6) {
        struct cpt_log_counts counts;
        struct cpt_error error = {0};
        struct log_memory log;

        index = cpt_log_index_new(NULL);
        log = compressed_log(400, level, index);
        CU_ASSERT_TRUE(log.bytes <= before);
        CU_ASSERT_TRUE(!is_there() || log.bytes < plain.bytes / 4);
        log.piece_bytes = 37;
        CU_ASSERT_EQUAL(read_log(&log, &counts, &error), 400);
        CU_ASSERT_EQUAL(error.status, CPT_OK);
        CU_ASSERT_EQUAL(counts.blocks, 4);
        CU_ASSERT_EQUAL_FATAL(cpt_log_index_count(index), 4);
        CU_ASSERT_EQUAL(cpt_log_index_block(index, 3)->start_min_ns, 1300);
        CU_ASSERT_EQUAL(cpt_log_index_block(index, 3)->latency_max_ns, 399);
        cpt_log_index_free(index);
        free(log.data);
    }
    free(plain.data);
}

static void test_levels(void)
{
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const cpt_status good = is_there() ? CPT_OK : CPT_UNAVAILABLE;

    CU_ASSERT_EQUAL(cpt_log_block_compress(block, 0), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_block_compress(block, -1), CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_log_block_compress(block, 1), good);
    CU_ASSERT_EQUAL(cpt_log_block_compress(block, 2), good);
    CU_ASSERT_EQUAL(cpt_log_block_compress(block, 18), good);
    CU_ASSERT_EQUAL(cpt_log_block_compress(block, 19), good);
    CU_ASSERT_EQUAL(cpt_log_block_compress(block, 20), CPT_INVALID);
    cpt_log_block_free(block);
}

/* Records that a reader finds if a block may decompress to @limit bytes. */
static uint64_t read_with_limit(struct log_memory *log, size_t limit)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = log_memory_read,
                                                   .context = log,
                                                   .block_bytes_max = limit};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_error error = {0};
    uint64_t count = 0;

    log->at = 0;
    count = read_all(reader, &error);
    CU_ASSERT_TRUE(count != 0 || error.status == CPT_LIMIT);
    cpt_log_reader_free(reader);
    return count;
}

static void test_the_limit(void)
{
    struct cpt_log_index *index = cpt_log_index_new(NULL);
    struct log_memory log = compressed_log(100, 3, index);
    struct log_memory plain = compressed_log(100, 0, index);
    struct log_memory header = log_memory_new(0, 0);
    const size_t content_bytes = plain.bytes - header.bytes - CPTI_LOG_HEAD_BYTES;

    CU_ASSERT_EQUAL(read_with_limit(&log, content_bytes - 1), 0);
    CU_ASSERT_EQUAL(read_with_limit(&log, content_bytes), 100);
    CU_ASSERT_EQUAL(read_with_limit(&log, content_bytes + 1), 100);
    cpt_log_index_free(index);
    free(header.data);
    free(plain.data);
    free(log.data);
}

/* A damaged byte never loses other blocks. */
static void test_damage_at_every_byte(void)
{
    struct cpt_log_index *index = cpt_log_index_new(NULL);
    struct log_memory log = compressed_log(300, 3, index);

    for (size_t i = 0; i < log.bytes; i++) {
        struct cpt_log_counts counts;
        struct cpt_error error = {0};
        uint64_t count = 0;

        log.data[i] ^= 0x20;
        count = read_log(&log, &counts, &error);
        CU_ASSERT_TRUE(count >= 200);
        CU_ASSERT_TRUE(count + counts.skipped_records <= 300);
        log.data[i] ^= 0x20;
    }
    cpt_log_index_free(index);
    free(log.data);
}

static struct log_memory *log_at_hand;

static bool read_with(const struct cpt_alloc *alloc)
{
    struct cpt_log_reader *reader = log_memory_reader(log_at_hand, alloc);
    struct cpt_error error = {0};
    const uint64_t count = reader != NULL ? read_all(reader, &error) : 0;

    cpt_log_reader_free(reader);
    return count == 100;
}

static void test_allocation_failures(void)
{
    struct cpt_log_index *index = cpt_log_index_new(NULL);
    struct log_memory log = compressed_log(100, 3, index);

    log_at_hand = &log;
    each_allocation_failure(read_with);
    cpt_log_index_free(index);
    free(log.data);
}

CU_TestInfo cpt_log_zstd_tests[] = {
    {"a stored frame", test_a_frame_of_old},
    {"frames that cannot be decompressed", test_what_cannot_be_unpacked},
    {"the same records in fewer bytes", test_the_same_in_less},
    {"levels", test_levels},
    {"the limit", test_the_limit},
    {"damage at every byte", test_damage_at_every_byte},
    {"allocation failures", test_allocation_failures},
    CU_TEST_INFO_NULL,
};
