/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_log_index.c - the index of a log: its content, when it is trusted, what it
 * saves */
#include "wire/cpt_log_index.h"
#include "wire/log/log_format.h"
#include "wire/log/log_index.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/wire/log_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- A log with an index --- */

struct indexed {
    struct log_memory log;
    struct cpt_log_index *index; /* built while the log was written */
    struct cpt_log_block *block;
    const struct cpt_alloc *alloc;
};

static void open_log(struct indexed *indexed)
{
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];

    *indexed = (struct indexed){.index = cpt_log_index_new(NULL),
                                .block = cpt_log_block_new(NULL, 0)};
    log_memory_append(&indexed->log, header, cpt_log_header(header));
}

static void add_record(struct indexed *indexed, const struct cpt_record *record)
{
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(record, NULL, &data, &bytes, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(indexed->block, data, bytes), CPT_OK);
    cpt_alloc_free(NULL, data);
}

static void end_block(struct indexed *indexed)
{
    const struct cpt_bytes bytes = cpt_log_block_finish(indexed->block);

    CU_ASSERT_EQUAL(
        cpt_log_index_add(indexed->index, indexed->log.bytes, bytes.data, bytes.bytes),
        CPT_OK);
    log_memory_append(&indexed->log, bytes.data, bytes.bytes);
}

static void end_log(struct indexed *indexed)
{
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(
        cpt_log_index_encode(indexed->index, indexed->log.bytes, &data, &bytes),
        CPT_OK);
    log_memory_append(&indexed->log, data, bytes);
    cpt_alloc_free(NULL, data);
}

static void close_log(struct indexed *indexed)
{
    cpt_log_index_free(indexed->index);
    cpt_log_block_free(indexed->block);
    free(indexed->log.data);
}

/* Block b of @count has 3 records that arrive at 100 b, 100 b + 10, 100 b + 20, of
 * service "A" if b is even, else "B"; those of block 1 have an attribute. */
static void make_log(struct indexed *indexed, size_t count)
{
    static const struct cpt_attribute arm = {
        {"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"control", 7}}};

    open_log(indexed);
    for (size_t b = 0; b < count; b++) {
        for (size_t r = 0; r < 3; r++) {
            add_record(indexed, &(struct cpt_record){
                                    .start_unix_ns = 100 * b + 10 * r,
                                    .latency_ns = 1000 * b + r,
                                    .service = cpt_bytes_of(b % 2 == 0 ? "A" : "B"),
                                    .attributes = &arm,
                                    .attribute_count = b == 1});
        }
        end_block(indexed);
    }
    end_log(indexed);
}

static cpt_status read_index(struct log_memory *log, struct cpt_log_index **index,
                             struct cpt_error *error)
{
    const struct cpt_log_index_options options = {.struct_bytes = sizeof options,
                                                  .read_at = log_memory_read_at,
                                                  .context = log,
                                                  .input_bytes = log->bytes};

    *index = NULL;
    return cpt_log_index_read(&options, index, error);
}

/* --- Its content --- */

static void test_what_it_says(void)
{
    struct indexed indexed;
    struct cpt_log_index *index = NULL;
    const struct cpt_log_index_block *block = NULL;

    make_log(&indexed, 3);
    CU_ASSERT_EQUAL_FATAL(read_index(&indexed.log, &index, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_log_index_count(index), 3);
    CU_ASSERT_EQUAL(cpt_log_index_service_count(index), 2);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_log_index_service(index, 1), cpt_bytes_of("B")));
    CU_ASSERT_EQUAL(cpt_log_index_key_count(index), 1);
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_log_index_key(index, 0), cpt_bytes_of("arm")));
    block = cpt_log_index_block(index, 1);
    CU_ASSERT_EQUAL(block->record_count, 3);
    CU_ASSERT_EQUAL(block->start_min_ns, 100);
    CU_ASSERT_EQUAL(block->start_max_ns, 120);
    CU_ASSERT_EQUAL(block->latency_min_ns, 1000);
    CU_ASSERT_EQUAL(block->latency_max_ns, 1002);
    CU_ASSERT_EQUAL(block->services,
                    cpt_log_index_service_set(index, cpt_bytes_of("B")));
    CU_ASSERT_EQUAL(block->keys, cpt_log_index_key_set(index, cpt_bytes_of("arm")));
    CU_ASSERT_EQUAL(cpt_log_index_block(index, 2)->keys, 0);
    CU_ASSERT_EQUAL(cpt_log_index_service_set(index, cpt_bytes_of("C")),
                    CPT_LOG_INDEX_OTHERS);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(memcmp(cpt_log_index_block(index, i),
                               cpt_log_index_block(indexed.index, i), sizeof *block),
                        0);
    }
    cpt_log_index_free(index);
    close_log(&indexed);
}

/* A file of version 1, written once. */
static void test_stored_index(void)
{
    struct log_memory log = {NULL, 0, 0, 0};
    struct cpt_log_index *index = NULL;
    char piece[4096];
    size_t bytes = 0;
    FILE *in = fopen(CPT_TEST_DATA "/path-log/v1/indexed.cptlog", "rb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    while ((bytes = fread(piece, 1, sizeof piece, in)) != 0) {
        log_memory_append(&log, piece, bytes);
    }
    (void)fclose(in);
    CU_ASSERT_EQUAL_FATAL(read_index(&log, &index, NULL), CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_log_index_count(index), 1);
    CU_ASSERT_EQUAL(cpt_log_index_block(index, 0)->record_count, 3);
    CU_ASSERT_EQUAL(cpt_log_index_block(index, 0)->offset, 44);
    cpt_log_index_free(index);
    free(log.data);
}

static void test_what_has_no_index(void)
{
    struct log_memory log = log_memory_new(2, 2);
    struct log_memory empty = {NULL, 0, 0, 0};
    struct cpt_log_index *index = NULL;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(read_index(&log, &index, &error), CPT_END);
    CU_ASSERT_EQUAL(read_index(&empty, &index, &error), CPT_END);
    CU_ASSERT_EQUAL(error.status, CPT_OK);
    free(log.data);
}

/* The names of a log with @count services. */
static size_t named_with(size_t count, uint64_t *last_set)
{
    struct indexed indexed;
    struct cpt_log_index *index = NULL;
    size_t named = 0;

    open_log(&indexed);
    for (size_t i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof name, "service %zu", i);
        add_record(&indexed, &(struct cpt_record){.service = cpt_bytes_of(name)});
    }
    end_block(&indexed);
    end_log(&indexed);
    CU_ASSERT_EQUAL_FATAL(read_index(&indexed.log, &index, NULL), CPT_OK);
    named = cpt_log_index_service_count(index);
    *last_set = cpt_log_index_block(index, 0)->services;
    cpt_log_index_free(index);
    close_log(&indexed);
    return named;
}

static void test_more_names_than_bits(void)
{
    const uint64_t all = CPT_LOG_INDEX_OTHERS - 1;
    uint64_t set = 0;

    CU_ASSERT_EQUAL(named_with(CPT_LOG_INDEX_NAMES_MAX - 1, &set), 62);
    CU_ASSERT_EQUAL(set, all >> 1);
    CU_ASSERT_EQUAL(named_with(CPT_LOG_INDEX_NAMES_MAX, &set), 63);
    CU_ASSERT_EQUAL(set, all);
    CU_ASSERT_EQUAL(named_with(CPT_LOG_INDEX_NAMES_MAX + 1, &set), 63);
    CU_ASSERT_EQUAL(set, all | CPT_LOG_INDEX_OTHERS);
}

static void test_long_names(void)
{
    char name[CPT_LOG_INDEX_NAME_BYTES_MAX + 1];

    memset(name, 'n', sizeof name);
    for (size_t bytes = sizeof name - 2; bytes <= sizeof name; bytes++) {
        struct indexed indexed;
        struct cpt_log_index *index = NULL;

        open_log(&indexed);
        add_record(&indexed, &(struct cpt_record){.service = {name, bytes}});
        end_block(&indexed);
        end_log(&indexed);
        CU_ASSERT_EQUAL_FATAL(read_index(&indexed.log, &index, NULL), CPT_OK);
        CU_ASSERT_EQUAL(cpt_log_index_service_count(index),
                        bytes <= CPT_LOG_INDEX_NAME_BYTES_MAX);
        CU_ASSERT_EQUAL(cpt_log_index_block(index, 0)->services,
                        bytes <= CPT_LOG_INDEX_NAME_BYTES_MAX ? 1
                                                              : CPT_LOG_INDEX_OTHERS);
        cpt_log_index_free(index);
        close_log(&indexed);
    }
}

static void test_what_is_no_block_of_records(void)
{
    struct cpt_log_index *index = cpt_log_index_new(NULL);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];
    const size_t bytes = cpt_log_header(header);

    CU_ASSERT_EQUAL(cpt_log_index_add(index, 0, header, bytes), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_index_add(index, 0, header, 3), CPT_OK);
    CU_ASSERT_EQUAL(cpt_log_index_count(index), 0);
    cpt_log_index_free(index);
    cpt_log_index_free(NULL);
}

/* --- What it saves --- */

struct spared {
    struct log_memory *log;
    uint64_t from_ns; /* of the window that is wanted */
    uint64_t to_ns;
    uint64_t read_bytes;
    size_t seek_count;
};

static int wants(void *context, const struct cpt_log_index *index,
                 const struct cpt_log_index_block *block)
{
    const struct spared *spared = context;

    (void)index;
    return block->start_max_ns >= spared->from_ns &&
           block->start_min_ns < spared->to_ns;
}

static cpt_status seek(void *context, uint64_t offset)
{
    struct spared *spared = context;

    CU_ASSERT_TRUE_FATAL(offset <= spared->log->bytes);
    spared->log->at = (size_t)offset;
    spared->seek_count++;
    return CPT_OK;
}

static cpt_status read_counted(void *context, void *buffer, size_t capacity,
                               size_t *bytes)
{
    struct spared *spared = context;
    const cpt_status status = log_memory_read(spared->log, buffer, capacity, bytes);

    spared->read_bytes += *bytes;
    return status;
}

/* Reads the records of the window with @index; counts of it all in *@counts. */
static uint64_t read_window(struct spared *spared, const struct cpt_log_index *index,
                            struct cpt_log_counts *counts)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_counted,
                                                   .context = spared,
                                                   .index = index,
                                                   .seek = seek,
                                                   .wants = wants,
                                                   .wants_context = spared};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;
    cpt_status status = CPT_OK;
    uint64_t count = 0;

    spared->log->at = 0;
    while (status != CPT_END) {
        status = cpt_log_reader_next(reader, &record, NULL);
        count += status == CPT_OK && record.start_unix_ns >= spared->from_ns &&
                 record.start_unix_ns < spared->to_ns;
    }
    *counts = *cpt_log_reader_counts(reader);
    cpt_log_reader_free(reader);
    return count;
}

static void test_blocks_are_passed_over(void)
{
    struct indexed indexed;
    struct cpt_log_index *index = NULL;
    struct cpt_log_counts counts;
    struct spared spared = {&indexed.log, 1010, 1110, 0, 0};

    make_log(&indexed, 40);
    indexed.log.piece_bytes = 50; /* as if the file were large */
    CU_ASSERT_EQUAL_FATAL(read_index(&indexed.log, &index, NULL), CPT_OK);
    CU_ASSERT_EQUAL(read_window(&spared, index, &counts), 3);
    CU_ASSERT_EQUAL(counts.passed_blocks, 38);
    CU_ASSERT_EQUAL(counts.passed_records, 38 * 3);
    CU_ASSERT_EQUAL(counts.records, 6);
    CU_ASSERT_EQUAL(counts.blocks, 2);
    CU_ASSERT_EQUAL(counts.skipped_bytes, 0);
    CU_ASSERT_FALSE(counts.is_index_refused);
    CU_ASSERT_TRUE(spared.seek_count >= 9);
    spared.from_ns = 0; /* all of them */
    spared.to_ns = UINT64_MAX;
    CU_ASSERT_EQUAL(read_window(&spared, index, &counts), 120);
    CU_ASSERT_EQUAL(counts.passed_blocks, 0);
    spared.from_ns = UINT64_MAX; /* none */
    spared.read_bytes = 0;
    CU_ASSERT_EQUAL(read_window(&spared, index, &counts), 0);
    CU_ASSERT_EQUAL(counts.passed_blocks, 40);
    cpt_log_index_free(index);
    close_log(&indexed);
}

/* Any window, with anything between the blocks. */
static void test_same_records_with_and_without(void)
{
    struct test_random random = {test_random_seed("windows")};

    for (int n = 0; n < 300; n++) {
        struct indexed indexed;
        struct cpt_log_index *index = NULL;
        struct cpt_log_counts counts;
        struct spared spared = {&indexed.log, test_random_below(&random, 1200), 0, 0,
                                0};
        uint64_t with = 0;

        spared.to_ns = spared.from_ns + test_random_below(&random, 800);
        open_log(&indexed);
        for (size_t b = 0; b < 12; b++) {
            const size_t count = 1 + test_random_below(&random, 5);

            for (size_t r = 0; r < count; r++) {
                add_record(&indexed,
                           &(struct cpt_record){.start_unix_ns =
                                                    test_random_below(&random, 1500)});
            }
            end_block(&indexed);
            if (test_random_chance(&random, 20)) { /* damage: no block */
                log_memory_append(&indexed.log, "....................", 7);
            }
        }
        end_log(&indexed);
        indexed.log.piece_bytes = test_random_below(&random, 200);
        CU_ASSERT_EQUAL_FATAL(read_index(&indexed.log, &index, NULL), CPT_OK);
        with = read_window(&spared, index, &counts);
        CU_ASSERT_FALSE(counts.is_index_refused);
        CU_ASSERT_EQUAL(with, read_window(&spared, NULL, &counts));
        cpt_log_index_free(index);
        close_log(&indexed);
    }
}

/* --- When it is not trusted --- */

static void expect_refused(struct log_memory *log, cpt_status status, const char *part)
{
    struct cpt_log_index *index = NULL;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(read_index(log, &index, &error), status);
    CU_ASSERT_EQUAL(error.status, status);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, part));
    if (strstr(error.sentence, part) == NULL) {
        printf("\n--- '%s' is not '%s'\n", error.sentence, part);
    }
    cpt_log_index_free(index);
}

static void test_index_of_another_file(void)
{
    struct indexed one;
    struct indexed two;
    struct cpt_log_index *index = NULL;
    struct cpt_log_counts counts;
    struct spared spared = {&one.log, UINT64_MAX, UINT64_MAX, 0, 0};
    size_t bytes = 0;

    make_log(&one, 3);
    make_log(&two, 3);
    log_memory_append(&one.log, two.log.data, two.log.bytes); /* cat one two */
    expect_refused(&one.log, CPT_CORRUPT, "written for another place");
    close_log(&one);

    /* of the same length, but other records */
    open_log(&one);
    for (size_t b = 0; b < 3; b++) {
        for (size_t r = 0; r < 3; r++) {
            add_record(&one, &(struct cpt_record){.start_unix_ns = 7777});
        }
        end_block(&one);
    }
    CU_ASSERT_EQUAL_FATAL(read_index(&two.log, &index, NULL), CPT_OK);
    bytes = (size_t)read_window(&spared, index, &counts);
    CU_ASSERT_EQUAL(bytes, 0);
    CU_ASSERT_TRUE(counts.is_index_refused);
    CU_ASSERT_EQUAL(counts.records, 9); /* all of them are read */
    CU_ASSERT_EQUAL(counts.passed_blocks, 0);
    cpt_log_index_free(index);
    close_log(&one);
    close_log(&two);
}

/* With any byte of it damaged, the records are the same as without the index. */
static void test_damage_at_every_byte(void)
{
    struct indexed indexed;
    struct cpt_log_counts counts;
    struct spared spared = {&indexed.log, 110, 320, 0, 0};
    struct cpt_log_index *index = NULL;
    size_t index_bytes = 0;
    size_t unusable = 0;

    make_log(&indexed, 5);
    CU_ASSERT_EQUAL_FATAL(read_index(&indexed.log, &index, NULL), CPT_OK);
    index_bytes = indexed.log.bytes - (size_t)cpt_log_index_block(index, 4)->offset -
                  (size_t)cpt_log_index_block(index, 4)->bytes;
    cpt_log_index_free(index);
    for (size_t i = 1; i <= index_bytes; i++) {
        unsigned char *byte = &indexed.log.data[indexed.log.bytes - i];
        cpt_status status = CPT_OK;

        *byte ^= 0x10;
        status = read_index(&indexed.log, &index, NULL);
        unusable += status != CPT_OK;
        CU_ASSERT_EQUAL(read_window(&spared, index, &counts), 7);
        cpt_log_index_free(index);
        *byte ^= 0x10;
    }
    CU_ASSERT_EQUAL(unusable, index_bytes);
    for (size_t bytes = indexed.log.bytes - 1; bytes > 0; bytes--) {
        struct log_memory cut = indexed.log;

        cut.bytes = bytes;
        CU_ASSERT_NOT_EQUAL(read_index(&cut, &index, NULL), CPT_OK);
    }
    close_log(&indexed);
}

/* A log that ends in an index block whose payload is @map and the footer. */
static struct log_memory log_with_map(const void *map, size_t bytes)
{
    struct log_memory log = log_memory_new(1, 1);
    struct log_memory payload = {NULL, 0, 0, 0};
    struct cpti_log_head head = {.version = CPT_LOG_VERSION,
                                 .type = CPTI_LOG_BLOCK_INDEX,
                                 .payload_bytes = (uint32_t)(bytes + 12)};
    unsigned char footer[4] = {(unsigned char)head.payload_bytes,
                               (unsigned char)(head.payload_bytes >> 8),
                               (unsigned char)(head.payload_bytes >> 16), 0};
    unsigned char data[CPTI_LOG_HEAD_BYTES];

    log_memory_append(&payload, map, bytes);
    log_memory_append(&payload, footer, sizeof footer);
    log_memory_append(&payload, CPTI_LOG_INDEX_MAGIC, CPTI_LOG_INDEX_MAGIC_BYTES);
    head.payload_crc = cpt_crc32c(0, payload.data, payload.bytes);
    cpti_log_head_write(&head, data);
    log_memory_append(&log, data, sizeof data);
    log_memory_append(&log, payload.data, payload.bytes);
    free(payload.data);
    return log;
}

static void expect_map_refused(const char *map, size_t bytes, const char *part)
{
    struct log_memory log = log_with_map(map, bytes);

    expect_refused(&log, CPT_CORRUPT, part);
    free(log.data);
}

#define MAP(bytes) bytes, sizeof bytes - 1

static void test_maps_that_are_none(void)
{
    expect_map_refused(MAP(""), "not a map");
    expect_map_refused(MAP("\x80"), "not a map");
    expect_map_refused(MAP("\xa0"), "does not say where it stands");
    expect_map_refused(MAP("\xa1\x00"), "not a map"); /* more than there is */
    expect_map_refused(MAP("\xa1\x00\x07"), "written for another place");
    expect_map_refused(MAP("\xa1\x00\x61x"), "no number");
    expect_map_refused(MAP("\xa1\x61x\x00"), "no number");
    expect_map_refused(MAP("\xa1\x01\x00"), "no array");
    expect_map_refused(MAP("\xa1\x01\x81\x00"), "no short name");
    expect_map_refused(MAP("\xa2\x01\x81\x61x\x01\x81\x61x"), "too many names");
    expect_map_refused(MAP("\xa1\x03\x81\x81\x00"), "too short");
    expect_map_refused(MAP("\xa1\x03\x81\x8a\x00\x61x\x00\x00\x00\x00\x00\x00\x00\x00"),
                       "no number");
    expect_map_refused(
        MAP("\xa1\x03\x81\x8a\x00\x19\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"),
        "outside of the file");
    expect_map_refused(MAP("\xa1\x03\x81\x8a\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"),
                       "outside of the file");
    expect_map_refused(
        MAP("\xa1\x03\x81\x8a\x19\xff\xff\x18\x30\x00\x00\x00\x00\x00\x00\x00\x00"),
        "outside of the file");
    expect_map_refused(MAP("\xa1\x03\x81\x8a\x00\x18\x1c\x00\x00\x1b\x7f\xff\xff\xff"
                           "\xff\xff\xff\xff\x01\x00\x00\x00\x00"),
                       "too large");
    expect_map_refused(MAP("\xa1\x18\x63\x9f"), "broken");
}

static void test_an_index_that_is_too_long(void)
{
    struct log_memory log = {NULL, 0, 0, 0};
    struct cpt_log_index *index = NULL;

    for (uint64_t more = 0; more <= 2; more++) {
        const uint64_t bytes = CPT_LOG_INDEX_BYTES_MAX - 1 + more;
        const unsigned char footer[4] = {
            (unsigned char)bytes, (unsigned char)(bytes >> 8),
            (unsigned char)(bytes >> 16), (unsigned char)(bytes >> 24)};

        log.bytes = 0;
        log.data = realloc(log.data, CPT_LOG_INDEX_BYTES_MAX + 100);
        memset(log.data, 0, CPT_LOG_INDEX_BYTES_MAX + 100);
        log.bytes = CPT_LOG_INDEX_BYTES_MAX + 100;
        memcpy(log.data + log.bytes - 12, footer, sizeof footer);
        memcpy(log.data + log.bytes - 8, CPTI_LOG_INDEX_MAGIC, 8);
        CU_ASSERT_EQUAL(read_index(&log, &index, NULL),
                        more == 2 ? CPT_LIMIT : CPT_CORRUPT);
    }
    free(log.data);
}

static void test_newer_things(void)
{
    /* a key and an item of a row that are not known; the offset is that of the block */
    static const char map[] = "\xa3\x00\x18\x00\x18\x63\x81\xf6\x03\x81\x8b\x00\x18\x30"
                              "\x01\x00\x00\x00\x00\x00\x00\x00\x82\x01\x02";
    struct log_memory base = log_memory_new(1, 1);
    char patched[sizeof map];
    struct log_memory log;
    struct cpt_log_index *index = NULL;

    CU_ASSERT_TRUE_FATAL(base.bytes < 256);
    memcpy(patched, map, sizeof map);
    patched[3] = (char)base.bytes;
    log = log_with_map(patched, sizeof map - 1);
    CU_ASSERT_EQUAL(read_index(&log, &index, NULL), CPT_OK);
    CU_ASSERT_EQUAL(index != NULL ? cpt_log_index_count(index) : 0, 1);
    cpt_log_index_free(index);
    free(base.data);
    free(log.data);
}

static void test_options_are_checked(void)
{
    const struct cpt_log_index_options options = {.struct_bytes = sizeof options};
    struct cpt_log_index *index = NULL;

    CU_ASSERT_EQUAL(cpt_log_index_read(&options, &index, NULL), CPT_INVALID);
}

static struct log_memory *log_at_hand;

static bool index_with(const struct cpt_alloc *alloc)
{
    const struct cpt_log_index_options options = {.struct_bytes = sizeof options,
                                                  .alloc = alloc,
                                                  .read_at = log_memory_read_at,
                                                  .context = log_at_hand,
                                                  .input_bytes = log_at_hand->bytes};
    struct cpt_log_index *index = cpt_log_index_new(alloc);
    const unsigned char *block = log_at_hand->data;
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct cpti_log_head head;
    cpt_status status = index != NULL ? CPT_OK : CPT_NO_MEMORY;

    /* the second block of the log, behind its header */
    (void)cpti_log_head_read(&head, block);
    block += CPTI_LOG_HEAD_BYTES + head.payload_bytes;
    (void)cpti_log_head_read(&head, block);
    if (status == CPT_OK) {
        status = cpt_log_index_add(index, 44, block,
                                   CPTI_LOG_HEAD_BYTES + (size_t)head.payload_bytes);
    }
    if (status == CPT_OK) {
        status = cpt_log_index_encode(index, 4000, &data, &bytes);
        cpt_alloc_free(alloc, status == CPT_OK ? data : NULL);
    }
    cpt_log_index_free(index);
    index = NULL;
    if (status == CPT_OK) {
        status = cpt_log_index_read(&options, &index, NULL);
    }
    cpt_log_index_free(index);
    return status == CPT_OK;
}

static void test_allocation_failures(void)
{
    struct indexed indexed;

    make_log(&indexed, 2);
    log_at_hand = &indexed.log;
    each_allocation_failure(index_with);
    close_log(&indexed);
}

CU_TestInfo cpt_log_index_tests[] = {
    {"content of the index", test_what_it_says},
    {"an index of version 1", test_stored_index},
    {"logs without an index", test_what_has_no_index},
    {"more names than bits", test_more_names_than_bits},
    {"long names", test_long_names},
    {"blocks that hold no records", test_what_is_no_block_of_records},
    {"blocks are passed over", test_blocks_are_passed_over},
    {"the same records with and without", test_same_records_with_and_without},
    {"an index of another file", test_index_of_another_file},
    {"damage at every byte", test_damage_at_every_byte},
    {"malformed maps", test_maps_that_are_none},
    {"an index that is too long", test_an_index_that_is_too_long},
    {"newer things", test_newer_things},
    {"options are checked", test_options_are_checked},
    {"allocation failures", test_allocation_failures},
    CU_TEST_INFO_NULL,
};
