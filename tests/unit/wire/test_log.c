/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_log.c - blocks of the path log: whole, damaged at every byte, and cut short */
#include "wire/cpt_log.h"
#include "wire/log/log_format.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/log_memory.h"
#include "tests/unit/wire/wire_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result of reading a whole log. */
struct outcome {
    uint64_t records;
    uint64_t latency_sum; /* of all records */
    uint64_t errors;
    uint64_t truncated; /* of these, CPT_TRUNCATED */
    struct cpt_error first;
    struct cpt_log_counts counts;
};

static struct outcome read_on(struct cpt_log_reader *reader)
{
    struct outcome outcome = {0};
    struct cpt_record record;
    cpt_status status = CPT_OK;

    do {
        struct cpt_error error = {0};

        status = cpt_log_reader_next(reader, &record, &error);
        if (status == CPT_OK) {
            outcome.records++;
            outcome.latency_sum += record.latency_ns;
        } else if (status != CPT_END) {
            CU_ASSERT_EQUAL(error.status, status);
            CU_ASSERT_NOT_EQUAL(error.sentence[0], '\0');
            outcome.first = outcome.errors == 0 ? error : outcome.first;
            outcome.errors++;
            outcome.truncated += status == CPT_TRUNCATED;
        }
    } while (status != CPT_END && outcome.errors < 10000);
    CU_ASSERT_EQUAL(status, CPT_END);
    outcome.counts = *cpt_log_reader_counts(reader);
    CU_ASSERT_EQUAL(outcome.counts.records, outcome.records);
    return outcome;
}

static struct outcome read_all(struct log_memory *log)
{
    struct cpt_log_reader *reader = log_memory_reader(log, NULL);
    const struct outcome outcome = read_on(reader);

    cpt_log_reader_free(reader);
    return outcome;
}

static void test_what_was_written_is_read(void)
{
    struct log_memory log = log_memory_new(5, 7);

    for (size_t piece = 0; piece < 200; piece += 13) {
        struct outcome outcome;

        log.piece_bytes = piece;
        outcome = read_all(&log);
        CU_ASSERT_EQUAL(outcome.records, 35);
        CU_ASSERT_EQUAL(outcome.latency_sum, 35 * 36 / 2);
        CU_ASSERT_EQUAL(outcome.errors, 0);
        CU_ASSERT_EQUAL(outcome.counts.blocks, 5);
        CU_ASSERT_EQUAL(outcome.counts.other_blocks, 1);
        CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, 0);
    }
    free(log.data);
}

static void test_records_have_their_place_and_path(void)
{
    struct log_memory log = log_memory_new(2, 3);
    struct cpt_log_reader *reader = log_memory_reader(&log, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_record record;
    uint64_t offset = 0;

    for (unsigned i = 0; i < 6; i++) {
        char method[16];

        CU_ASSERT_EQUAL_FATAL(cpt_log_reader_next(reader, &record, NULL), CPT_OK);
        snprintf(method, sizeof method, "/%u", i);
        CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of(method)));
        CU_ASSERT_TRUE(cpt_log_reader_offset(reader) > offset);
        offset = cpt_log_reader_offset(reader);
        CU_ASSERT_EQUAL(log.data[offset] >> 5, 2); /* a byte string */
        cpt_path_reset(path);
        CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
    }
    CU_ASSERT_EQUAL(cpt_log_reader_next(reader, &record, NULL), CPT_END);
    CU_ASSERT_EQUAL(cpt_log_reader_next(reader, &record, NULL), CPT_END);
    cpt_path_free(path);
    cpt_log_reader_free(reader);
    free(log.data);
}

static void test_an_empty_input(void)
{
    struct log_memory log = {NULL, 0, 0, 0};
    const struct outcome outcome = read_all(&log);

    CU_ASSERT_EQUAL(outcome.records + outcome.errors, 0);
}

static void test_an_input_that_is_no_log(void)
{
    struct log_memory log = {NULL, 0, 0, 0};
    struct outcome outcome;

    for (int i = 0; i < 1000; i++) {
        log_memory_append(&log, "this is no log\n", 15);
    }
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 0);
    CU_ASSERT_EQUAL(outcome.errors, 1);
    CU_ASSERT_STRING_EQUAL(outcome.first.sentence, "no block begins here");
    CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, log.bytes);
    free(log.data);
}

/* --- Damage --- */

/* Where block @number of the log begins; 0 is the file's header. */
static size_t block_start(const struct log_memory *log, size_t number)
{
    size_t at = 0;

    for (; number > 0; number--) {
        struct cpti_log_head head;

        CU_ASSERT_TRUE_FATAL(cpti_log_head_read(&head, log->data + at));
        at += CPTI_LOG_HEAD_BYTES + head.payload_bytes;
    }
    return at;
}

/* A damaged byte costs its own block and nothing else. */
static void test_damage_at_every_byte(void)
{
    struct log_memory log = log_memory_new(3, 2);
    const size_t first = block_start(&log, 1);

    for (size_t at = 0; at < log.bytes; at++) {
        for (unsigned bit = 0; bit < 8; bit += 7) {
            struct outcome outcome;

            log.data[at] ^= (unsigned char)(1U << bit);
            outcome = read_all(&log);
            log.data[at] ^= (unsigned char)(1U << bit);
            CU_ASSERT_EQUAL(outcome.records, at < first ? 6 : 4);
            CU_ASSERT_EQUAL(outcome.errors, 1);
            CU_ASSERT_EQUAL(outcome.counts.skipped_blocks, 1);
            CU_ASSERT_TRUE(outcome.first.offset <= at);
            CU_ASSERT_NOT_EQUAL(outcome.counts.skipped_bytes, 0);
        }
    }
    free(log.data);
}

/* A log cut anywhere gives all complete blocks. */
static void test_an_end_at_every_byte(void)
{
    struct log_memory log = log_memory_new(3, 2);
    const size_t whole = log.bytes;

    for (size_t bytes = 0; bytes < whole; bytes++) {
        const size_t complete = bytes < block_start(&log, 2)   ? 0
                                : bytes < block_start(&log, 3) ? 2
                                                               : 4;
        struct outcome outcome;
        unsigned is_cut = 1;

        for (size_t n = 0; n < 4; n++) {
            is_cut &= bytes != block_start(&log, n);
        }
        log.bytes = bytes;
        outcome = read_all(&log);
        log.bytes = whole;
        CU_ASSERT_EQUAL(outcome.records, complete);
        CU_ASSERT_EQUAL(outcome.errors, is_cut);
        CU_ASSERT_EQUAL(outcome.truncated, is_cut);
        CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, 0);
        CU_ASSERT_EQUAL(outcome.counts.tail_bytes != 0, is_cut != 0);
    }
    free(log.data);
}

/* A writer that was killed in the middle of a block, and another that went on. */
static void test_a_block_cut_short_by_the_next(void)
{
    struct log_memory log = log_memory_new(2, 2);
    struct log_memory more = log_memory_new(2, 3);
    const size_t header = block_start(&log, 1);
    const size_t second = block_start(&log, 2);
    const size_t whole = log.bytes;

    for (size_t bytes = second + 1; bytes < whole; bytes++) {
        struct outcome outcome;

        log.bytes = bytes;
        log_memory_append(&log, more.data, more.bytes);
        outcome = read_all(&log);
        CU_ASSERT_EQUAL(outcome.records, 2 + 6);
        CU_ASSERT_EQUAL(outcome.errors, 1);
        CU_ASSERT_EQUAL(outcome.first.offset, second);
        /* The missing part may happen to be as long as the header that follows. */
        CU_ASSERT_EQUAL(outcome.counts.skipped_bytes,
                        bytes - second + (whole - bytes == header ? header : 0));
        /* As it was. */
        free(log.data);
        log = log_memory_new(2, 2);
    }
    free(log.data);
    free(more.data);
}

static void test_junk_between_blocks(void)
{
    struct dice dice = dice_new("junk");

    for (int round = 0; round < 200; round++) {
        struct log_memory log = log_memory_new(1, 2);
        struct log_memory more = log_memory_new(1, 2);
        const size_t junk_bytes = 1 + dice_throw(&dice, 300);
        struct outcome outcome;

        for (size_t i = 0; i < junk_bytes; i++) {
            const unsigned char junk = (unsigned char)dice_throw(&dice, 256);
            const int is_magic = dice_throw(&dice, 4) == 0;

            log_memory_append(&log, is_magic ? CPTI_LOG_MAGIC : (const char *)&junk, 1);
        }
        log_memory_append(&log, more.data, more.bytes);
        log.piece_bytes = 1 + dice_throw(&dice, 50);
        outcome = read_all(&log);
        CU_ASSERT_EQUAL(outcome.records, 4);
        CU_ASSERT_EQUAL(outcome.errors, 1);
        CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, junk_bytes);
        free(log.data);
        free(more.data);
    }
}

/* Where no block comes for long, the rest is not read. */
static void test_a_long_loss_ends_the_log(void)
{
    static const unsigned char nothing[1000];

    for (int is_long = 0; is_long <= 1; is_long++) {
        struct log_memory log = log_memory_new(1, 2);
        struct log_memory more = log_memory_new(1, 2);
        const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                       .read = log_memory_read,
                                                       .context = &log,
                                                       .lost_bytes_max =
                                                           is_long ? 900 : 1000};
        struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
        struct outcome outcome;

        log.piece_bytes = 10;
        log_memory_append(&log, nothing, sizeof nothing);
        log_memory_append(&log, more.data, more.bytes);
        outcome = read_on(reader);
        CU_ASSERT_EQUAL(outcome.records, is_long ? 2 : 4);
        CU_ASSERT_EQUAL(outcome.errors, is_long ? 2 : 1);
        CU_ASSERT_EQUAL(outcome.first.status, CPT_CORRUPT);
        CU_ASSERT_TRUE(outcome.counts.skipped_bytes >= 900);
        CU_ASSERT_TRUE(outcome.counts.skipped_bytes <= 1000);
        CU_ASSERT_TRUE(is_long ? log.at < log.bytes - more.bytes : log.at == log.bytes);
        cpt_log_reader_free(reader);
        free(log.data);
        free(more.data);
    }
}

/* A block within an attribute is not read when the block around it is damaged. */
static void test_a_block_within_a_block_stays_there(void)
{
    struct log_memory inner = log_memory_new(1, 1);
    struct log_memory log = log_memory_new(1, 1);
    struct log_memory end = log_memory_new(1, 1);
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    const struct cpt_attribute attribute = {
        {"x", 1},
        CPT_ATTRIBUTE_TEXT,
        {.text = {(const char *)inner.data, inner.bytes}}};
    const struct cpt_record record = {.attributes = &attribute, .attribute_count = 1};
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpt_bytes block_bytes;
    struct outcome outcome;

    CU_ASSERT_EQUAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    block_bytes = cpt_log_block_finish(block);
    log_memory_append(&log, block_bytes.data, block_bytes.bytes);
    log.data[log.bytes - 1] ^= 1;
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 1);
    log_memory_append(&log, end.data, end.bytes);
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 2);
    CU_ASSERT_EQUAL(outcome.counts.skipped_records, 1);
    CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, block_bytes.bytes);
    cpt_alloc_free(NULL, data);
    cpt_log_block_free(block);
    free(inner.data);
    free(log.data);
    free(end.data);
}

/* --- Blocks by hand --- */

static void append_block(struct log_memory *log, unsigned version, unsigned type,
                         const void *payload, size_t bytes)
{
    struct cpti_log_head head = {.version = version,
                                 .type = type,
                                 .payload_bytes = (uint32_t)bytes,
                                 .record_count = 1};
    unsigned char data[CPTI_LOG_HEAD_BYTES];

    head.payload_crc = 0;
    for (size_t i = 0; i < bytes; i++) { /* simple and slow */
        head.payload_crc = ~head.payload_crc ^ ((const unsigned char *)payload)[i];
        for (int bit = 0; bit < 8; bit++) {
            head.payload_crc =
                head.payload_crc >> 1 ^ (head.payload_crc & 1 ? 0x82f63b78U : 0);
        }
        head.payload_crc = ~head.payload_crc;
    }
    cpti_log_head_write(&head, data);
    log_memory_append(log, data, sizeof data);
    log_memory_append(log, payload, bytes);
}

static void test_unknown_types_and_versions(void)
{
    struct log_memory log = log_memory_new(1, 1);
    struct log_memory more = log_memory_new(1, 1);
    struct outcome outcome;

    append_block(&log, 1, 3, "an index", 8);
    append_block(&log, 9, 200, "whatever", 8);
    log_memory_append(&log, more.data, more.bytes);
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 2);
    CU_ASSERT_EQUAL(outcome.errors, 0);
    CU_ASSERT_EQUAL(outcome.counts.other_blocks, 4);
    append_block(&log, 2, CPTI_LOG_BLOCK_RECORDS, "newer", 5);
    log_memory_append(&log, more.data, more.bytes);
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 3);
    CU_ASSERT_EQUAL(outcome.errors, 1);
    CU_ASSERT_EQUAL(outcome.first.status, CPT_VERSION);
    CU_ASSERT_EQUAL(outcome.counts.skipped_records, 1);
    free(log.data);
    free(more.data);
}

static void test_a_bad_record_costs_only_itself(void)
{
    static const char good[] = "\x46\xa2\x00\x01\x05\x18\x07"; /* latency_ns 7 */
    static const char bad[] = "\x44\xa1\x01\x61x";             /* no time, no version */
    struct log_memory log = {NULL, 0, 0, 0};
    unsigned char payload[64];
    struct outcome outcome;

    memcpy(payload, good, 7);
    memcpy(payload + 7, bad, 5);
    memcpy(payload + 12, good, 7);
    append_block(&log, 1, CPTI_LOG_BLOCK_RECORDS, payload, 19);
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 2);
    CU_ASSERT_EQUAL(outcome.latency_sum, 14);
    CU_ASSERT_EQUAL(outcome.errors, 1);
    CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, 5);
    CU_ASSERT_EQUAL(outcome.counts.skipped_records, 1);
    payload[7] = 0x18; /* not a byte string: the place of the next record is unknown */
    log.bytes = 0;
    append_block(&log, 1, CPTI_LOG_BLOCK_RECORDS, payload, 19);
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 1);
    CU_ASSERT_EQUAL(outcome.errors, 1);
    CU_ASSERT_EQUAL(outcome.counts.skipped_bytes, 12);
    free(log.data);
}

/* --- Limits --- */

static struct outcome read_within(struct log_memory *log, size_t block_max,
                                  size_t record_max)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = log_memory_read,
                                                   .context = log,
                                                   .block_bytes_max = block_max,
                                                   .record_bytes_max = record_max};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct outcome outcome;

    log->at = 0;
    outcome = read_on(reader);
    cpt_log_reader_free(reader);
    return outcome;
}

static void test_limits_of_the_reader(void)
{
    static const char record[] = "\x46\xa2\x00\x01\x05\x18\x07";
    struct log_memory log = {NULL, 0, 0, 0};

    append_block(&log, 1, CPTI_LOG_BLOCK_RECORDS, record, 7);
    for (size_t more = 0; more < 3; more++) { /* limit - 1, limit, limit + 1 */
        const struct outcome blocks = read_within(&log, 6 + more, 0);
        const struct outcome records = read_within(&log, 0, 5 + more);

        CU_ASSERT_EQUAL(blocks.records, more != 0);
        CU_ASSERT_EQUAL(blocks.first.status, more != 0 ? CPT_OK : CPT_LIMIT);
        CU_ASSERT_EQUAL(records.records, more != 0);
        CU_ASSERT_EQUAL(records.first.status, more != 0 ? CPT_OK : CPT_LIMIT);
    }
    free(log.data);
}

static void test_a_block_is_full_at_its_limit(void)
{
    char data[100];
    struct cpt_log_block *block = cpt_log_block_new(NULL, 306);

    memset(data, 0, sizeof data);
    for (int round = 0; round < 2; round++) {
        struct cpt_bytes bytes;

        CU_ASSERT_EQUAL(cpt_log_block_finish(block).bytes, 0);
        CU_ASSERT_EQUAL(cpt_log_block_add(block, data, 100), CPT_OK);
        CU_ASSERT_EQUAL(cpt_log_block_add(block, data, 100), CPT_OK);
        CU_ASSERT_EQUAL(cpt_log_block_add(block, data, 99), CPT_OK);
        CU_ASSERT_EQUAL(cpt_log_block_add(block, data, 1), CPT_LIMIT);
        CU_ASSERT_EQUAL(cpt_log_block_count(block), 3);
        bytes = cpt_log_block_finish(block);
        CU_ASSERT_EQUAL(bytes.bytes, 28 + 305);
        CU_ASSERT_EQUAL(cpt_log_block_count(block), 0);
    }
    cpt_log_block_free(block);
    block = cpt_log_block_new(NULL, 50); /* the first is accepted whatever its size */
    CU_ASSERT_EQUAL(cpt_log_block_add(block, data, 100), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_block_add(block, data, 1), CPT_LIMIT);
    cpt_log_block_free(block);
    cpt_log_block_free(NULL);
    cpt_log_reader_free(NULL);
}

/* A head that claims many bytes makes the reader allocate only what is there. */
static void test_memory_grows_with_what_is_read(void)
{
    struct cpti_log_head head = {.version = 1,
                                 .type = CPTI_LOG_BLOCK_RECORDS,
                                 .payload_bytes = CPT_LOG_RECORD_BYTES_MAX};
    unsigned char data[CPTI_LOG_HEAD_BYTES + 100] = {0};
    struct log_memory log = {data, sizeof data, 0, 0};
    struct failing_alloc failing;
    struct cpt_log_reader *reader = NULL;
    struct outcome outcome;

    cpti_log_head_write(&head, data);
    failing_alloc_init(&failing, 3); /* the reader, its window, and no more */
    reader = log_memory_reader(&log, &failing.alloc);
    outcome = read_on(reader);
    CU_ASSERT_EQUAL(outcome.errors, 1);
    CU_ASSERT_EQUAL(outcome.truncated, 1);
    CU_ASSERT_EQUAL(outcome.counts.tail_bytes, sizeof data);
    cpt_log_reader_free(reader);
    CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
}

/* --- Memory and input that fail --- */

static struct log_memory *body_log;

static bool read_with(const struct cpt_alloc *alloc)
{
    struct cpt_log_reader *reader = log_memory_reader(body_log, alloc);
    struct cpt_record record;
    cpt_status status = CPT_NO_MEMORY;

    if (reader != NULL) {
        do {
            status = cpt_log_reader_next(reader, &record, NULL);
        } while (status == CPT_OK);
    }
    cpt_log_reader_free(reader);
    return status == CPT_END;
}

static bool write_with(const struct cpt_alloc *alloc)
{
    struct cpt_log_block *block = cpt_log_block_new(alloc, 0);
    cpt_status status = block == NULL ? CPT_NO_MEMORY : CPT_OK;

    for (int i = 0; i < 10 && status == CPT_OK; i++) {
        status = cpt_log_block_add(block, "0123456789012345678901234567890", 30);
    }
    cpt_log_block_free(block);
    return status == CPT_OK;
}

static void test_each_allocation_may_fail(void)
{
    struct log_memory log = log_memory_new(20, 200);

    body_log = &log;
    each_allocation_failure(read_with);
    each_allocation_failure(write_with);
    free(log.data);
}

static int reads_left;

static cpt_status read_or_fail(void *context, void *buffer, size_t capacity,
                               size_t *bytes)
{
    if (reads_left-- == 0) {
        return CPT_IO;
    }
    return log_memory_read(context, buffer, capacity, bytes);
}

static void test_after_a_failed_read_it_goes_on(void)
{
    struct log_memory log = log_memory_new(3, 3);
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options, .read = read_or_fail, .context = &log};

    log.piece_bytes = 40;
    for (int failure = 0; failure < 20; failure++) {
        struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
        struct outcome outcome;

        log.at = 0;
        reads_left = failure;
        outcome = read_on(reader);
        CU_ASSERT_EQUAL(outcome.records, 9);
        CU_ASSERT_EQUAL(outcome.first.status, outcome.errors != 0 ? CPT_IO : CPT_OK);
        cpt_log_reader_free(reader);
    }
    free(log.data);
}

static void test_a_reader_needs_a_function(void)
{
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_log_reader_new(NULL, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
}

static void test_random_damage_never_harms(void)
{
    struct dice dice = dice_new("damaged logs");
    struct log_memory log = log_memory_new(4, 5);
    unsigned char *good = malloc(log.bytes);

    memcpy(good, log.data, log.bytes);
    for (int round = 0; round < 3000; round++) {
        for (uint64_t n = 1 + dice_throw(&dice, 20); n > 0; n--) {
            log.data[dice_throw(&dice, log.bytes)] =
                (unsigned char)dice_throw(&dice, 256);
        }
        log.piece_bytes = 1 + dice_throw(&dice, 300);
        (void)read_all(&log);
        memcpy(log.data, good, log.bytes);
    }
    free(good);
    free(log.data);
}

/*
 * Nested heads, each of which claims half of the remaining bytes and has a wrong
 * payload: checking them all would take quadratic time. A sound log after them is still
 * found.
 */
static void test_heads_within_heads(void)
{
    enum { BYTES = 28 * 30000 };
    struct log_memory sound = log_memory_new(2, 3);
    struct log_memory log = {0};
    unsigned char *lies = calloc(1, BYTES);
    struct outcome outcome;

    CU_ASSERT_PTR_NOT_NULL_FATAL(lies);
    for (uint32_t at = 0; at < BYTES; at += CPTI_LOG_HEAD_BYTES) {
        const struct cpti_log_head head = {.version = 1,
                                           .type = CPTI_LOG_BLOCK_RECORDS,
                                           .payload_bytes = (BYTES - at) / 2 | 1,
                                           .payload_crc = 7};

        cpti_log_head_write(&head, lies + at);
    }
    log_memory_append(&log, lies, BYTES);
    log_memory_append(&log, sound.data, sound.bytes);
    outcome = read_all(&log);
    CU_ASSERT_EQUAL(outcome.records, 6);
    CU_ASSERT_TRUE(outcome.errors < 1000);
    free(lies);
    free(sound.data);
    free(log.data);
}

static void note_untraced(void *context, const struct cpt_log_untraced *untraced)
{
    struct cpt_log_untraced *last = context;

    *last = *untraced;
    last->service = (struct cpt_bytes){NULL, untraced->service.bytes};
}

/* What the reader of @log hears last of untraced requests. */
static struct cpt_log_untraced untraced_of(struct log_memory *log)
{
    struct cpt_log_untraced last = {.request_count = UINT64_MAX};
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = log_memory_read,
                                                   .context = log,
                                                   .untraced = note_untraced,
                                                   .untraced_context = &last};
    struct cpt_log_reader *reader = NULL;
    struct cpt_record record;

    log->at = 0;
    reader = cpt_log_reader_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);

    while (cpt_log_reader_next(reader, &record, NULL) == CPT_OK) {
    }
    cpt_log_reader_free(reader);
    return last;
}

/* A description of the file with the @bytes of @payload. */
static void append_description(struct log_memory *log, const void *payload,
                               size_t bytes)
{
    unsigned char data[128];
    const struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                       .type = CPTI_LOG_BLOCK_FILE,
                                       .payload_bytes = (uint32_t)bytes,
                                       .payload_crc = cpt_crc32c(0, payload, bytes)};

    cpti_log_head_write(&head, data);
    memcpy(data + CPTI_LOG_HEAD_BYTES, payload, bytes);
    log_memory_append(log, data, CPTI_LOG_HEAD_BYTES + bytes);
}

static void test_untraced_requests_are_told(void)
{
    char name[CPT_NAME_BYTES_MAX + 7];
    struct cpt_log_untraced untraced = {.service = cpt_bytes_of("A"),
                                        .probability = 0.001,
                                        .request_count = 128,
                                        .process = INT64_MAX};
    unsigned char block[CPT_LOG_UNTRACED_BYTES_MAX];
    struct log_memory log = log_memory_new(2, 3);
    struct cpt_log_untraced last = untraced_of(&log);

    CU_ASSERT_EQUAL(last.request_count, UINT64_MAX); /* the header tells nothing */
    log_memory_append(&log, block, cpt_log_untraced_block(&untraced, block));
    untraced.request_count = 300;
    untraced.is_final = 1;
    log_memory_append(&log, block, cpt_log_untraced_block(&untraced, block));
    last = untraced_of(&log);
    CU_ASSERT_EQUAL(last.request_count, 300);
    CU_ASSERT_EQUAL(last.probability, 0.001);
    CU_ASSERT_EQUAL(last.process, INT64_MAX);
    CU_ASSERT_EQUAL(last.is_final, 1);
    CU_ASSERT_EQUAL(last.service.bytes, 1);
    CU_ASSERT_EQUAL(read_all(&log).records, 6); /* and nothing else changes */
    CU_ASSERT_EQUAL(read_all(&log).errors, 0);
    memset(name, 0xff, sizeof name); /* the longest, and not UTF-8 */
    untraced.service = (struct cpt_bytes){name, sizeof name};
    untraced.request_count = UINT64_MAX;
    CU_ASSERT_TRUE(cpt_log_untraced_block(&untraced, block) <= sizeof block);
    free(log.data);
}

/* Descriptions of later versions, and hostile ones, tell nothing or less. */
static void test_untraced_requests_that_are_none(void)
{
    static const char *const payloads[] = {
        "\x80",                                 /* no map */
        "\xa1\x04",                             /* no value */
        "\xa1\x04\x20",                         /* a negative number */
        "\xa1\x02\x61\x41",                     /* no number of requests */
        "\xbb\xff\xff\xff\xff\xff\xff\xff\xff", /* too many keys */
        "\xa1\x04\x1b\xff\xff\xff\xff\xff\xff\xff\xff"};
    static const char odd[] = "\xa4\x04\x05\x03\x61x\x18\x63\x82\x01\x02\x06\xf5";
    struct log_memory log = {0};
    struct cpt_log_untraced last;

    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        append_description(&log, payloads[i], strlen(payloads[i]));
    }
    last = untraced_of(&log);
    CU_ASSERT_EQUAL(last.request_count, UINT64_MAX);
    append_description(&log, odd, sizeof odd - 1); /* a text as probability; key 99 */
    last = untraced_of(&log);
    CU_ASSERT_EQUAL(last.request_count, 5);
    CU_ASSERT_EQUAL(last.probability, 0);
    CU_ASSERT_EQUAL(last.is_final, 1);
    free(log.data);
}

/* A kept record outlives its block, and is decoded as before. */
static void test_a_record_that_is_kept(void)
{
    struct log_memory log = log_memory_new(2, 3);
    struct cpt_log_reader *reader = log_memory_reader(&log, NULL);
    struct cpt_record record;
    struct cpt_record again;
    struct cpt_bytes bytes;
    char *kept = NULL;

    CU_ASSERT_EQUAL_FATAL(cpt_log_reader_next(reader, &record, NULL), CPT_OK);
    bytes = cpt_log_reader_bytes(reader);
    kept = malloc(bytes.bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    memcpy(kept, bytes.data, bytes.bytes);
    bytes.data = kept;
    while (cpt_log_reader_next(reader, &record, NULL) == CPT_OK) {
    }
    CU_ASSERT_EQUAL(cpt_log_reader_decode(reader, bytes, &again, NULL), CPT_OK);
    CU_ASSERT_EQUAL(again.latency_ns, 1);
    CU_ASSERT_TRUE(cpt_bytes_equal(again.method, cpt_bytes_of("/0")));
    CU_ASSERT_TRUE(again.method.data > kept && again.method.data < kept + bytes.bytes);
    bytes.bytes--;
    CU_ASSERT_EQUAL(cpt_log_reader_decode(reader, bytes, &again, NULL), CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpt_log_reader_counts(reader)->records, 6);
    cpt_log_reader_free(reader);
    free(kept);
    free(log.data);
}

CU_TestInfo cpt_log_tests[] = {
    {"what was written is read, in pieces of any size", test_what_was_written_is_read},
    {"records have their place and their path", test_records_have_their_place_and_path},
    {"nested heads", test_heads_within_heads},
    {"an empty input has no records", test_an_empty_input},
    {"an input that is no log is one error", test_an_input_that_is_no_log},
    {"a damaged byte costs only its own block", test_damage_at_every_byte},
    {"a cut anywhere leaves all complete blocks", test_an_end_at_every_byte},
    {"a block cut short by the next costs only itself",
     test_a_block_cut_short_by_the_next},
    {"junk between blocks is skipped", test_junk_between_blocks},
    {"a long loss ends the log", test_a_long_loss_ends_the_log},
    {"a block within a damaged block is not read",
     test_a_block_within_a_block_stays_there},
    {"unknown types are skipped, newer versions counted",
     test_unknown_types_and_versions},
    {"a bad record costs only itself", test_a_bad_record_costs_only_itself},
    {"the limits of a reader hold exactly", test_limits_of_the_reader},
    {"a block is full at its limit", test_a_block_is_full_at_its_limit},
    {"memory grows with what is read", test_memory_grows_with_what_is_read},
    {"each allocation may fail", test_each_allocation_may_fail},
    {"after a failed read the reader goes on", test_after_a_failed_read_it_goes_on},
    {"a reader needs a function to read with", test_a_reader_needs_a_function},
    {"a kept record is decoded as before", test_a_record_that_is_kept},
    {"untraced requests are told", test_untraced_requests_are_told},
    {"a description may tell nothing", test_untraced_requests_that_are_none},
    {"random damage does no harm", test_random_damage_never_harms},
    CU_TEST_INFO_NULL,
};
