/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_log_parts.c - a log read in parts gives the same as a log read whole */
#include "wire/cpt_log_parts.h"
#include "wire/log/log_format.h"

#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/wire/log_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 8 };

static size_t cut(struct log_memory *log, size_t count_max,
                  struct cpt_log_part parts[PARTS_MAX])
{
    const struct cpt_log_parts_options options = {.struct_bytes = sizeof options,
                                                  .read_at = log_memory_read_at,
                                                  .context = log,
                                                  .input_bytes = log->bytes,
                                                  .part_count_max = count_max,
                                                  .part_bytes = 1};
    size_t count = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    return count;
}

/* Adds the numbers of @more that do not depend on the beginning of a part. */
static void add_counts(struct cpt_log_counts *counts, const struct cpt_log_counts *more)
{
    counts->records += more->records;
    counts->blocks += more->blocks;
    counts->other_blocks += more->other_blocks;
    counts->skipped_records += more->skipped_records;
    counts->skipped_blocks += more->skipped_blocks;
    counts->skipped_bytes += more->skipped_bytes;
    counts->tail_bytes += more->tail_bytes;
}

static int are_equal(const struct cpt_log_counts *left,
                     const struct cpt_log_counts *right)
{
    return left->records == right->records && left->blocks == right->blocks &&
           left->other_blocks == right->other_blocks &&
           left->skipped_records == right->skipped_records &&
           left->skipped_blocks == right->skipped_blocks &&
           left->skipped_bytes == right->skipped_bytes &&
           left->tail_bytes == right->tail_bytes;
}

/* Writes to @story what a reader of @part finds, one line each. */
static void tell(struct log_memory *log, const struct cpt_log_part *part, FILE *story,
                 struct cpt_log_counts *counts)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = log_memory_read,
                                                   .context = log,
                                                   .start_offset = part->offset,
                                                   .end_offset = part->end_offset};
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    log->at = (size_t)part->offset;
    do {
        struct cpt_error error = {0};

        status = cpt_log_reader_next(reader, &record, &error);
        if (status == CPT_OK) {
            fprintf(story, "%llu: %.*s\n",
                    (unsigned long long)cpt_log_reader_offset(reader),
                    (int)record.method.bytes, record.method.data);
        } else if (status != CPT_END) {
            fprintf(story, "%llu: %d %s\n", (unsigned long long)error.offset,
                    (int)status, error.sentence);
        }
    } while (status != CPT_END);
    add_counts(counts, cpt_log_reader_counts(reader));
    cpt_log_reader_free(reader);
}

static char *story_of(struct log_memory *log, const struct cpt_log_part *parts,
                      size_t count, struct cpt_log_counts *counts)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *story = open_memstream(&text, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(story);
    for (size_t i = 0; i < count; i++) {
        tell(log, &parts[i], story, counts);
    }
    fclose(story);
    return text;
}

static int is_same(struct log_memory *log, const struct cpt_log_part *parts,
                   size_t count)
{
    const struct cpt_log_part all = {0, 0, 0};
    struct cpt_log_counts counts = {0};
    struct cpt_log_counts whole_counts = {0};
    char *story = story_of(log, parts, count, &counts);
    char *whole = story_of(log, &all, 1, &whole_counts);
    const int same = strcmp(story, whole) == 0 && are_equal(&counts, &whole_counts);

    free(story);
    free(whole);
    return same;
}

/* --- Tests --- */

static void test_a_sound_log(void)
{
    struct log_memory log = log_memory_new(20, 3);
    struct cpt_log_part parts[PARTS_MAX];

    for (size_t count = 1; count <= PARTS_MAX; count++) {
        const size_t got = cut(&log, count, parts);

        CU_ASSERT_EQUAL(got, count);
        CU_ASSERT_EQUAL(parts[0].offset, 0);
        CU_ASSERT_EQUAL(parts[got - 1].end_offset, log.bytes);
        for (size_t i = 1; i < got; i++) {
            CU_ASSERT_EQUAL(parts[i].offset, parts[i - 1].end_offset);
            CU_ASSERT_EQUAL(parts[i].record_count % 3, 0);
            CU_ASSERT_TRUE(parts[i].record_count > parts[i - 1].record_count);
        }
        CU_ASSERT_TRUE(is_same(&log, parts, got));
    }
    free(log.data);
}

/* A random kind of damage. */
static void harm(struct log_memory *log, struct test_random *random)
{
    const size_t at = (size_t)test_random_below(random, log->bytes);
    const size_t bytes = (size_t)test_random_below(random, log->bytes - at);

    switch (test_random_below(random, 4)) {
    case 0:
        log->data[at] ^= (unsigned char)(1U << test_random_below(random, 8));
        break;
    case 1: /* a piece is lost */
        memmove(log->data + at, log->data + at + bytes / 8,
                log->bytes - at - bytes / 8);
        log->bytes -= bytes / 8;
        break;
    case 2: /* another log begins in the middle of it */
        memcpy(log->data + at, log->data, bytes / 4 < at ? bytes / 4 : 0);
        break;
    default:
        log->bytes = at + 1;
        break;
    }
}

static void test_damaged_logs(void)
{
    const uint64_t seed = test_random_seed("parts of damaged logs");
    const uint64_t cases = test_case_count(400);

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct log_memory log =
            log_memory_new(1 + (size_t)test_random_below(&random, 12),
                           1 + (size_t)test_random_below(&random, 4));
        struct cpt_log_part parts[PARTS_MAX];
        size_t count = 0;

        for (uint64_t harms = test_random_below(&random, 4); harms > 0; harms--) {
            harm(&log, &random);
        }
        count = cut(&log, 1 + (size_t)test_random_below(&random, PARTS_MAX), parts);
        if (!is_same(&log, parts, count)) {
            printf("CPT_TEST_SEED=%" PRIu64 " CPT_TEST_CASES=1\n", seed + i);
            CU_FAIL("parts of a log do not give what the whole gives");
        }
        free(log.data);
    }
}

/* A block that is too long for the reader is searched for heads. */
static void test_a_block_that_is_too_long(void)
{
    struct log_memory log = log_memory_new(8, 3);
    struct cpt_log_part parts[PARTS_MAX];
    struct cpt_log_parts_options options = {.struct_bytes = sizeof options,
                                            .read_at = log_memory_read_at,
                                            .context = &log,
                                            .input_bytes = log.bytes,
                                            .part_count_max = 4,
                                            .part_bytes = 1};
    struct cpti_log_head head;
    size_t first = 0;
    size_t count = 0;

    CU_ASSERT_TRUE_FATAL(cpti_log_head_read(&head, log.data));
    first = CPTI_LOG_HEAD_BYTES + head.payload_bytes;
    CU_ASSERT_TRUE_FATAL(cpti_log_head_read(&head, log.data + first));
    options.block_bytes_max = head.payload_bytes + 100;
    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    CU_ASSERT_EQUAL(count, 4);
    options.block_bytes_max = head.payload_bytes - 1;
    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    CU_ASSERT_EQUAL(count, 1);
    free(log.data);
}

static void test_small_parts(void)
{
    struct log_memory log = log_memory_new(8, 3);
    struct cpt_log_part parts[PARTS_MAX];
    struct cpt_log_parts_options options = {.struct_bytes = sizeof options,
                                            .read_at = log_memory_read_at,
                                            .context = &log,
                                            .input_bytes = log.bytes,
                                            .part_count_max = 4};
    size_t count = 0;

    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    CU_ASSERT_EQUAL(count, 1); /* smaller than one part */
    options.part_bytes = log.bytes / 2;
    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    CU_ASSERT_EQUAL(count, 2);
    free(log.data);
}

static void test_what_is_refused(void)
{
    struct log_memory log = log_memory_new(1, 1);
    struct cpt_log_part parts[PARTS_MAX];
    struct cpt_log_parts_options options = {.struct_bytes = sizeof options,
                                            .read_at = log_memory_read_at,
                                            .context = &log,
                                            .part_count_max = CPT_LOG_PARTS_MAX + 1};
    size_t count = 0;

    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_INVALID);
    options.part_count_max = 0;
    options.input_bytes = log.bytes + 1000; /* there is less */
    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    CU_ASSERT_EQUAL(count, 1);
    options.input_bytes = 0;
    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_OK);
    CU_ASSERT_EQUAL(count, 1);
    options.read_at = NULL;
    CU_ASSERT_EQUAL(cpt_log_parts(&options, parts, &count, NULL), CPT_INVALID);
    free(log.data);
}

CU_TestInfo cpt_log_parts_tests[] = {
    {"the parts of a sound log give its records in their order", test_a_sound_log},
    {"the parts of a damaged log give what the whole gives", test_damaged_logs},
    {"a log is not cut after a block that is too long to read",
     test_a_block_that_is_too_long},
    {"parts are not made smaller than asked for", test_small_parts},
    {"invalid options are refused", test_what_is_refused},
    CU_TEST_INFO_NULL,
};
