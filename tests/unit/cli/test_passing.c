/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_passing.c - selecting from a log whose index lets blocks be skipped
 *
 * Random logs, whose blocks differ in times, latencies, services and keys, and random
 * selections: with and without the index the same records are selected, and the same
 * keys are missing.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/base/command.h"
#include "tool/select/select.h"
#include "wire/cpt_log.h"
#include "wire/cpt_log_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_MAX = 64, TEXT_BYTES = 4096, TIMES = 40 };

#define SECOND_NS UINT64_C(1000000000)

/* A log in memory, and its index. */
struct log {
    unsigned char *data;
    size_t bytes;
    size_t at;
    struct cpt_log_index *index;
};

static void append(struct log *log, const void *data, size_t bytes)
{
    unsigned char *grown = realloc(log->data, log->bytes + bytes + 1);

    if (grown == NULL) {
        abort();
    }
    log->data = grown;
    memcpy(log->data + log->bytes, data, bytes);
    log->bytes += bytes;
}

/* --- Random logs --- */

static const char *const services[] = {"A", "B", "C", ""};
static const char *const keys[] = {"arm", "region", "page", "items"};
static const char *const values[] = {"x", "y", "5"};

/* Common properties of the records of one block. */
struct kind {
    unsigned service;
    unsigned keys; /* a set */
    uint64_t start;
    uint64_t latency;
    uint64_t spread;
};

static void add_record(struct cpt_log_block *block, const struct kind *kind,
                       struct test_random *random)
{
    struct cpt_attribute attributes[4];
    struct cpt_record record = {
        .start_unix_ns =
            (kind->start + test_random_below(random, kind->spread)) * SECOND_NS,
        .latency_ns = kind->latency + test_random_below(random, kind->spread),
        .probability = 1,
        .service = cpt_bytes_of(
            services[test_random_chance(random, 80) ? kind->service
                                                    : test_random_below(random, 4)]),
        .attributes = attributes,
        .is_failed = test_random_chance(random, 30),
        .is_forced = test_random_chance(random, 10),
        .is_local_root = test_random_chance(random, 10),
        .is_random = 1,
    };
    unsigned char *data = NULL;
    size_t bytes = 0;

    for (size_t i = 0; i < 4; i++) {
        if ((kind->keys >> i & 1U) != 0 && test_random_chance(random, 60)) {
            attributes[record.attribute_count++] = (struct cpt_attribute){
                cpt_bytes_of(keys[i]),
                CPT_ATTRIBUTE_TEXT,
                {.text = cpt_bytes_of(values[test_random_below(random, 3)])}};
        }
    }
    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, bytes), CPT_OK);
    cpt_alloc_free(NULL, data);
}

static struct log make_log(struct test_random *random)
{
    struct log log = {.index = cpt_log_index_new(NULL)};
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);
    unsigned char header[CPT_LOG_HEADER_BYTES_MAX];

    append(&log, header, cpt_log_header(header));
    for (uint64_t count = test_random_below(random, 9); count > 0; count--) {
        const struct kind kind = {
            .service = (unsigned)test_random_below(random, 4),
            .keys = (unsigned)test_random_below(random, 16),
            .start = test_random_below(random, TIMES),
            .latency = test_random_below(random, TIMES),
            .spread = 1 + test_random_below(random, 8),
        };
        struct cpt_bytes bytes;

        for (uint64_t left = 1 + test_random_below(random, 5); left > 0; left--) {
            add_record(block, &kind, random);
        }
        bytes = cpt_log_block_finish(block);
        CU_ASSERT_EQUAL(
            cpt_log_index_add(log.index, log.bytes, bytes.data, bytes.bytes), CPT_OK);
        append(&log, bytes.data, bytes.bytes);
    }
    cpt_log_block_free(block);
    return log;
}

/* --- Random selections --- */

/* Appends one test to @text. */
static void put_test(char *text, struct test_random *random)
{
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    const char *relation = relations[test_random_below(random, 6)];
    const unsigned number = (unsigned)test_random_below(random, TIMES + 8);
    char *end = text + strlen(text);
    const size_t room = TEXT_BYTES - strlen(text);

    switch (test_random_below(random, 9)) {
    case 0:
        (void)snprintf(end, room, "latency %s %uns", relation, number);
        break;
    case 1:
        (void)snprintf(end, room, "latency %s p50", relation);
        break;
    case 2:
        (void)snprintf(end, room, "start >= @%u and start < @%u", number, number + 3);
        break;
    case 3:
        (void)snprintf(end, room, "start %s @%u", relation, number);
        break;
    case 4:
        (void)snprintf(end, room, "service %s \"%s\"", relation,
                       services[test_random_below(random, 4)]);
        break;
    case 5:
        (void)snprintf(end, room, "service %s (\"A\", \"C\")",
                       test_random_chance(random, 50) ? "in" : "not in");
        break;
    case 6:
        (void)snprintf(end, room, "has(%s)", keys[test_random_below(random, 4)]);
        break;
    case 7:
        (void)snprintf(end, room, "%s %s \"x\"",
                       test_random_chance(random, 90)
                           ? keys[test_random_below(random, 4)]
                           : "mistyped",
                       relation);
        break;
    default:
        (void)snprintf(end, room, "failed");
        break;
    }
}

static void put_text(char *text, const char *more)
{
    (void)snprintf(text + strlen(text), TEXT_BYTES - strlen(text), "%s", more);
}

/* Two to four tests or negated tests, joined by one operator, in parentheses. */
static void put_group(char *text, struct test_random *random)
{
    const char *joint = test_random_chance(random, 60) ? " and " : " or ";

    put_text(text, test_random_chance(random, 30) ? "not (" : "(");
    for (uint64_t i = 2 + test_random_below(random, 3); i > 0; i--) {
        put_text(text, test_random_chance(random, 20) ? "not " : "");
        put_test(text, random);
        put_text(text, i == 1 ? ")" : joint);
    }
}

static void make_selection(struct cpti_selection *selection, char *text,
                           struct test_random *random)
{
    *selection = (struct cpti_selection){.until_ns = UINT64_MAX};
    text[0] = '\0';
    if (test_random_chance(random, 40)) {
        put_test(text, random);
    } else {
        put_group(text, random);
        if (test_random_chance(random, 60)) {
            put_text(text, test_random_chance(random, 60) ? " and " : " or ");
            put_group(text, random);
        }
    }
    if (test_random_chance(random, 90) &&
        cpti_selection_add(selection, "where", text) != CPTI_EXIT_DONE) {
        CU_FAIL_FATAL("what was made up is refused");
    }
    if (test_random_chance(random, 20)) {
        selection->since_ns = test_random_below(random, TIMES) * SECOND_NS;
    }
    if (test_random_chance(random, 20)) {
        selection->until_ns = test_random_below(random, TIMES) * SECOND_NS;
    }
    if (test_random_chance(random, 20)) {
        selection->entry = services[test_random_below(random, 3)];
    }
}

/* --- Reading with and without --- */

/* The result of reading a log. */
struct story {
    char text[RECORDS_MAX * 8];
    size_t bytes;
    uint64_t passed_blocks;
    struct cpti_selection *selection;
    uint64_t passed_keys;
};

static cpt_status read_some(void *context, void *buffer, size_t capacity, size_t *bytes)
{
    struct log *log = context;
    const size_t left = log->bytes - log->at;

    *bytes = left < capacity ? left : capacity;
    memcpy(buffer, log->data + log->at, *bytes);
    log->at += *bytes;
    return CPT_OK;
}

static cpt_status seek(void *context, uint64_t offset)
{
    struct log *log = context;

    log->at = (size_t)offset;
    return CPT_OK;
}

static int wants(void *context, const struct cpt_log_index *index,
                 const struct cpt_log_index_block *block)
{
    struct story *story = context;
    const int is_wanted = cpti_selection_may_have(story->selection, index, block);

    story->passed_keys |= is_wanted ? 0 : block->keys;
    return is_wanted;
}

/* The offset of each selected record, and whether it is excluded only for a reason that
 * is counted. */
static void tell(struct story *story, struct log *log,
                 const struct cpti_selection *selection, int is_indexed)
{
    static struct cpti_selection own; /* it records the keys that it sees */
    const struct cpt_log_reader_options options = {
        .struct_bytes = sizeof options,
        .read = read_some,
        .context = log,
        .index = is_indexed ? log->index : NULL,
        .seek = seek,
        .wants = wants,
        .wants_context = story,
    };
    struct cpt_log_reader *reader = cpt_log_reader_new(&options, NULL);
    struct cpt_record record;

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    own = *selection;
    *story = (struct story){.selection = &own};
    log->at = 0;
    while (cpt_log_reader_next(reader, &record, NULL) == CPT_OK) {
        const enum cpti_selected selected = cpti_selection_counts(&own, &record);

        if (selected != CPTI_NOT_SELECTED) {
            story->bytes += (size_t)snprintf(
                story->text + story->bytes, sizeof story->text - story->bytes, "%u:%u ",
                (unsigned)cpt_log_reader_offset(reader), (unsigned)selected);
        }
    }
    story->passed_blocks = cpt_log_reader_counts(reader)->passed_blocks;
    CU_ASSERT_EQUAL(cpt_log_reader_counts(reader)->is_index_refused, 0);
    if (is_indexed) {
        cpti_selection_note_passed(&own, log->index, story->passed_keys);
    }
    story->bytes += (size_t)snprintf(
        story->text + story->bytes, sizeof story->text - story->bytes, "%.*s",
        (int)cpti_selection_unseen(&own).bytes, cpti_selection_unseen(&own).data);
    cpti_selection_deinit(&own);
    cpt_log_reader_free(reader);
}

static void test_random_selections(void)
{
    static struct cpti_selection selection;
    const uint64_t seed = test_random_seed("passing");
    const uint64_t cases = test_case_count(3000);
    uint64_t passed_blocks = 0;

    for (uint64_t i = 0; i < cases; i++) {
        struct test_random random = {seed + i};
        struct log log = make_log(&random);
        char text[TEXT_BYTES];
        struct story whole;
        struct story indexed;

        make_selection(&selection, text, &random);
        for (int is_population = 0; is_population < 2; is_population++) {
            selection.expression.percentiles[0].latency_ns =
                test_random_below(&random, TIMES);
            cpti_expression_link(&selection.expression, is_population);
            tell(&whole, &log, &selection, 0);
            tell(&indexed, &log, &selection, 1);
            CU_ASSERT_EQUAL(whole.passed_blocks, 0);
            passed_blocks += indexed.passed_blocks;
            if (strcmp(whole.text, indexed.text) != 0) {
                (void)printf("CPT_TEST_SEED=%" PRIu64
                             " CPT_TEST_CASES=1: %s: '%s', not '%s'\n",
                             seed + i, text, indexed.text, whole.text);
                CU_FAIL("with the index other records are selected");
            }
        }
        cpt_log_index_free(log.index);
        free(log.data);
    }
    CU_ASSERT_TRUE(cases < 100 || passed_blocks > cases);
}

/* --- Skipped blocks --- */

/* A log of three blocks: latencies 1 to 3 with `arm`, 10 to 12 at B, 20 to 22. */
static struct log three_blocks(void)
{
    static const struct kind kinds[] = {
        {0, 1, 0, 1, 1}, {1, 0, 10, 10, 1}, {0, 2, 20, 20, 1}};
    struct log log = {.index = cpt_log_index_new(NULL)};
    struct cpt_log_block *block = cpt_log_block_new(NULL, 0);

    for (size_t i = 0; i < 3; i++) {
        struct cpt_attribute attribute = {cpt_bytes_of(keys[i % 2 == 0 ? i / 2 : 3]),
                                          CPT_ATTRIBUTE_TEXT,
                                          {.text = cpt_bytes_of("x")}};
        struct cpt_bytes bytes;

        for (uint64_t k = 0; k < 3; k++) {
            const struct cpt_record record = {
                .start_unix_ns = (kinds[i].start + k) * SECOND_NS,
                .latency_ns = kinds[i].latency + k,
                .probability = 1,
                .service = cpt_bytes_of(services[kinds[i].service]),
                .attributes = &attribute,
                .attribute_count = kinds[i].keys != 0,
            };
            unsigned char *data = NULL;
            size_t size = 0;

            CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &size, NULL),
                                  CPT_OK);
            CU_ASSERT_EQUAL_FATAL(cpt_log_block_add(block, data, size), CPT_OK);
            cpt_alloc_free(NULL, data);
        }
        bytes = cpt_log_block_finish(block);
        CU_ASSERT_EQUAL(
            cpt_log_index_add(log.index, log.bytes, bytes.data, bytes.bytes), CPT_OK);
        append(&log, bytes.data, bytes.bytes);
    }
    cpt_log_block_free(block);
    return log;
}

static void test_what_is_passed_over(void)
{
    static const struct {
        const char *expression;
        uint64_t passed_blocks;
    } cases[] = {
        {"latency > 12ns", 2},
        {"latency >= 12ns", 1},
        {"latency < 1ns", 3},
        {"latency == 2ns or latency == 21ns", 1},
        {"latency == 13ns", 3},
        {"latency != 13ns", 0},
        {"not (latency <= 22ns)", 3},
        {"latency > 1ns and latency < 2ns", 2}, /* each one alone may hold */
        {"start >= @13", 2},
        {"has(arm)", 2},
        {"arm == \"y\"", 2},
        {"not has(arm)", 0},
        {"arm != \"x\" or region == \"x\"", 1},
        {"has(arm) and region == \"x\"", 3},
        {"mistyped == 1", 3},
        {"service == \"B\"", 2},
        {"service != \"B\"", 1},
        {"service > \"B\"", 3},
        {"service not in (\"A\", \"B\")", 3},
        {"path(\"x\") > 1ns", 0},
        {"latency > 12ns and path(\"x\") > 1ns", 2},
        {"latency > 12ns or path(\"x\") > 1ns", 0},
        {"status == \"ok\"", 0},
    };
    static struct cpti_selection selection;
    struct log log = three_blocks();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct story story;

        selection = (struct cpti_selection){.until_ns = UINT64_MAX};
        CU_ASSERT_EQUAL_FATAL(
            cpti_selection_add(&selection, "where", cases[i].expression),
            CPTI_EXIT_DONE);
        tell(&story, &log, &selection, 1);
        if (story.passed_blocks != cases[i].passed_blocks) {
            (void)printf("%s: %u passed over\n", cases[i].expression,
                         (unsigned)story.passed_blocks);
        }
        CU_ASSERT_EQUAL(story.passed_blocks, cases[i].passed_blocks);
    }
    cpt_log_index_free(log.index);
    free(log.data);
}

CU_TestInfo cpt_passing_tests[] = {
    {"random selections are the same with an index", test_random_selections},
    {"blocks without a possible match are skipped", test_what_is_passed_over},
    CU_TEST_INFO_NULL,
};
