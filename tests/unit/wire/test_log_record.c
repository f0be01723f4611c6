/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_log_record.c - a record of a request, to bytes and back */
#include "wire/cpt_log.h"
#include "wire/log/log_format.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/wire/wire_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_text(struct cpt_bytes left, struct cpt_bytes right)
{
    CU_ASSERT_TRUE(cpt_bytes_equal(left, right));
}

static void check_attribute(const struct cpt_attribute *left,
                            const struct cpt_attribute *right)
{
    check_text(left->key, right->key);
    CU_ASSERT_EQUAL_FATAL(left->type, right->type);
    switch (left->type) {
    case CPT_ATTRIBUTE_TEXT:
        check_text(left->value.text, right->value.text);
        break;
    case CPT_ATTRIBUTE_INTEGER:
        CU_ASSERT_EQUAL(left->value.integer, right->value.integer);
        break;
    case CPT_ATTRIBUTE_FLOAT:
        CU_ASSERT_EQUAL(memcmp(&left->value.real, &right->value.real, 8), 0);
        break;
    default:
        CU_ASSERT_EQUAL(left->value.is_true, right->value.is_true);
    }
}

static void check_record(const struct cpt_record *left, const struct cpt_record *right)
{
    CU_ASSERT_EQUAL(left->start_unix_ns, right->start_unix_ns);
    CU_ASSERT_EQUAL(left->latency_ns, right->latency_ns);
    CU_ASSERT_EQUAL(left->probability, right->probability);
    check_text(left->service, right->service);
    check_text(left->method, right->method);
    check_text(left->entry, right->entry);
    check_text(left->status, right->status);
    CU_ASSERT_EQUAL(left->is_failed, right->is_failed);
    CU_ASSERT_EQUAL(left->is_forced, right->is_forced);
    CU_ASSERT_EQUAL(left->is_random, right->is_random);
    CU_ASSERT_EQUAL(left->is_local_root, right->is_local_root);
    CU_ASSERT_EQUAL(left->is_background, right->is_background);
    CU_ASSERT_EQUAL(left->has_trace_id, right->has_trace_id);
    CU_ASSERT_EQUAL(left->has_parent_id, right->has_parent_id);
    CU_ASSERT_EQUAL(memcmp(left->trace_id, right->trace_id, 16), 0);
    CU_ASSERT_EQUAL(memcmp(left->parent_id, right->parent_id, 8), 0);
    CU_ASSERT_EQUAL_FATAL(left->attribute_count, right->attribute_count);
    for (size_t i = 0; i < left->attribute_count; i++) {
        check_attribute(&left->attributes[i], &right->attributes[i]);
    }
}

static cpt_status read(const void *data, size_t bytes, struct cpt_record *record,
                       struct cpti_log_attributes *attributes, struct cpt_error *error)
{
    return cpti_record_read(record, (struct cpt_bytes){data, bytes}, 0, attributes,
                            error);
}

static const struct cpt_attribute some_attributes[] = {
    {{"arm", 3}, CPT_ATTRIBUTE_TEXT, {.text = {"control", 7}}},
    {{"", 0}, CPT_ATTRIBUTE_TEXT, {.text = {"a\0\xff", 3}}},
    {{"page", 4}, CPT_ATTRIBUTE_INTEGER, {.integer = INT64_MIN}},
    {{"most", 4}, CPT_ATTRIBUTE_INTEGER, {.integer = INT64_MAX}},
    {{"load", 4}, CPT_ATTRIBUTE_FLOAT, {.real = -0.0}},
    {{"much", 4}, CPT_ATTRIBUTE_FLOAT, {.real = INFINITY}},
    {{"beta", 4}, CPT_ATTRIBUTE_BOOL, {.is_true = 1}},
    {{"cold", 4}, CPT_ATTRIBUTE_BOOL, {.is_true = 0}},
};

enum { SOME_ATTRIBUTES = sizeof some_attributes / sizeof some_attributes[0] };

/* A record with every field. */
static struct cpt_record full_record(const struct cpt_path *path)
{
    return (struct cpt_record){.start_unix_ns = UINT64_C(1795244833123456789),
                               .latency_ns = cpt_path_sum_ns(path),
                               .probability = 0.001,
                               .service = cpt_bytes_of("A"),
                               .method = cpt_bytes_of("/"),
                               .entry = cpt_bytes_of("A: /"),
                               .status = cpt_bytes_of("503"),
                               .attributes = some_attributes,
                               .attribute_count = SOME_ATTRIBUTES,
                               .is_failed = 1,
                               .is_forced = 1,
                               .is_random = 1,
                               .is_local_root = 1,
                               .is_background = 1,
                               .has_trace_id = 1,
                               .has_parent_id = 1,
                               .trace_id = {1, 2, 3, 16},
                               .parent_id = {9, 8},
                               .path = path};
}

static void check_round_trip(const struct cpt_record *record)
{
    struct cpti_log_attributes attributes = {0};
    struct cpt_record back;
    struct cpt_error error = {0};
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(record, NULL, &data, &bytes, &error),
                          CPT_OK);
    CU_ASSERT_EQUAL(read(data, bytes, &back, &attributes, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    check_record(record, &back);
    if (record->path != NULL) {
        CU_ASSERT_EQUAL(cpt_record_path(&back, NULL, path, &error), CPT_OK);
        CU_ASSERT_TRUE(same_paths(record->path, path));
    }
    cpt_alloc_free(NULL, data);
    cpt_alloc_free(NULL, attributes.all);
    cpt_path_free(path);
}

static void test_full_and_empty_records_come_back(void)
{
    struct cpt_path *path = document_path(NULL);
    const struct cpt_record full = full_record(path);
    const struct cpt_record empty = {0};

    check_round_trip(&full);
    check_round_trip(&empty);
    cpt_path_free(path);
}

static void test_random_records_come_back(void)
{
    struct dice dice = dice_new("records");
    struct cpt_path *path = cpt_path_new(NULL);

    for (int round = 0; round < 2000; round++) {
        const struct path_shape shape = {8, 8, 8, true, true};
        struct cpt_attribute attributes[4];
        struct cpt_record record;

        cpt_path_reset(path);
        random_path(&dice, &shape, path);
        record = full_record(path);
        record.probability = 1.0 / (double)(1 + dice_throw(&dice, 1000));
        record.is_failed = (int)dice_throw(&dice, 2);
        record.is_forced = (int)dice_throw(&dice, 2);
        record.is_random = (int)dice_throw(&dice, 2);
        record.is_background = (int)dice_throw(&dice, 2);
        record.is_local_root = record.is_background || (int)dice_throw(&dice, 2);
        record.start_unix_ns = dice_throw(&dice, (uint64_t)1 << dice_throw(&dice, 64));
        record.attribute_count = dice_throw(&dice, 5);
        record.attributes = attributes;
        for (size_t i = 0; i < record.attribute_count; i++) {
            attributes[i] = some_attributes[dice_throw(&dice, SOME_ATTRIBUTES)];
        }
        check_round_trip(&record);
    }
    cpt_path_free(path);
}

static void test_path_bytes_are_copied_as_they_are(void)
{
    const struct cpt_record record = {.path_bytes = {"\x08\x01", 2}};
    struct cpti_log_attributes attributes = {0};
    struct cpt_record back;
    struct cpt_path *path = cpt_path_new(NULL);
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(read(data, bytes, &back, &attributes, NULL), CPT_OK);
    check_text(back.path_bytes, record.path_bytes);
    CU_ASSERT_EQUAL(cpt_record_path(&back, NULL, path, NULL), CPT_OK);
    cpt_alloc_free(NULL, data);
    cpt_path_free(path);
}

static void test_the_path_must_add_up_to_the_latency(void)
{
    struct cpt_path *path = document_path(NULL);
    struct cpt_record record = full_record(path);
    struct cpti_log_attributes attributes = {0};
    struct cpt_record back;
    struct cpt_path *read_path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    unsigned char *data = NULL;
    size_t bytes = 0;

    record.latency_ns++;
    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(read(data, bytes, &back, &attributes, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_record_path(&back, NULL, read_path, &error), CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "the segments sum to 900000 ns, the latency is 900001 ns");
    CU_ASSERT_EQUAL(cpt_path_segment_count(read_path), 0);
    back.path_bytes.bytes = 0;
    CU_ASSERT_EQUAL(cpt_record_path(&back, NULL, read_path, NULL), CPT_CORRUPT);
    cpt_alloc_free(NULL, data);
    cpt_alloc_free(NULL, attributes.all);
    cpt_path_free(path);
    cpt_path_free(read_path);
}

static void test_what_cannot_be_true_is_not_written(void)
{
    const struct cpt_record records[] = {
        {.start_unix_ns = (uint64_t)INT64_MAX + 1},
        {.latency_ns = (uint64_t)INT64_MAX + 1},
        {.probability = -0.5},
        {.probability = 1.5},
        {.probability = NAN},
    };

    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        unsigned char *data = NULL;
        size_t bytes = 0;

        CU_ASSERT_EQUAL(cpt_record_encode(&records[i], NULL, &data, &bytes, NULL),
                        CPT_INVALID);
        CU_ASSERT_PTR_NULL(data);
    }
}

static void test_attribute_limit(void)
{
    static struct cpt_attribute many[CPT_LOG_ATTRIBUTES_MAX + 1];

    for (size_t i = 0; i < CPT_LOG_ATTRIBUTES_MAX + 1; i++) {
        many[i] = some_attributes[0];
    }
    for (size_t count = CPT_LOG_ATTRIBUTES_MAX - 1; count <= CPT_LOG_ATTRIBUTES_MAX + 1;
         count++) {
        const struct cpt_record record = {.attributes = many, .attribute_count = count};
        unsigned char *data = NULL;
        size_t bytes = 0;

        if (count <= CPT_LOG_ATTRIBUTES_MAX) {
            check_round_trip(&record);
        } else {
            CU_ASSERT_EQUAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                            CPT_LIMIT);
        }
    }
}

static void test_the_largest_record(void)
{
    char *text = calloc(1, CPT_LOG_RECORD_BYTES_MAX);
    unsigned char *data = NULL;
    size_t bytes = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', CPT_LOG_RECORD_BYTES_MAX);
    for (size_t more = 0; more < 3; more++) { /* limit - 1, limit, limit + 1 */
        /* Around the text: map, version, key, length. */
        const struct cpt_record record = {
            .service = {text, CPT_LOG_RECORD_BYTES_MAX - 1 + more - 9}};
        const cpt_status status = cpt_record_encode(&record, NULL, &data, &bytes, NULL);

        CU_ASSERT_EQUAL(status, more < 2 ? CPT_OK : CPT_LIMIT);
        if (status == CPT_OK) {
            CU_ASSERT_EQUAL(bytes, CPT_LOG_RECORD_BYTES_MAX - 1 + more);
            cpt_alloc_free(NULL, data);
        }
    }
    free(text);
}

static void test_unknown_keys_and_values_are_skipped(void)
{
    static const unsigned char data[] = {
        0xa7, 0x18, 0x63, 0x82, 0x01, 0xa1, 0x02, 0x03,          /* 99: [1, {2: 3}] */
        0x20, 0x01,                                              /* -1: 1 */
        0x61, 'x',  0xf6,                                        /* "x": null */
        0x81, 0x05, 0x01,                                        /* [5]: 1 */
        0x0b, 0xa6,                                              /* attributes: */
        0x61, 'a',  0x80, 0x61, 'b',  0x01,                      /* a: [], b: 1 */
        0x61, 'c',  0x1b, 0x80, 0,    0,    0,    0,    0, 0, 0, /* c: 2^63 */
        0x61, 'd',  0x3b, 0x80, 0,    0,    0,    0,    0, 0, 0, /* d: -2^63 - 1 */
        0x61, 'e',  0xf6, 0x41, 'f',  0xf9, 0x3c, 0x00,          /* e: null, f: 1.0 */
        0x05, 0x07, 0x00, 0x01, /* latency_ns 7, version 1 */
    };
    struct cpti_log_attributes attributes = {0};
    struct cpt_record record;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(read(data, sizeof data, &record, &attributes, &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(error.sentence, "");
    CU_ASSERT_EQUAL(record.latency_ns, 7);
    CU_ASSERT_EQUAL_FATAL(record.attribute_count, 2);
    CU_ASSERT_EQUAL(record.attributes[0].value.integer, 1);
    CU_ASSERT_EQUAL(record.attributes[1].value.real, 1.0);
    CU_ASSERT_PTR_EQUAL(cpt_record_attribute(&record, cpt_bytes_of("f")),
                        &record.attributes[1]);
    CU_ASSERT_PTR_NULL(cpt_record_attribute(&record, cpt_bytes_of("a")));
    cpt_alloc_free(NULL, attributes.all);
}

static void test_damaged_records_never_harm(void)
{
    struct dice dice = dice_new("damaged records");
    struct cpt_path *path = document_path(NULL);
    struct cpt_path *back_path = cpt_path_new(NULL);
    const struct cpt_record record = full_record(path);
    struct cpti_log_attributes attributes = {0};
    unsigned char *data = NULL;
    unsigned char *copy = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(cpt_record_encode(&record, NULL, &data, &bytes, NULL),
                          CPT_OK);
    copy = malloc(bytes);
    for (int round = 0; round < 50000; round++) {
        const size_t part =
            dice_throw(&dice, 4) != 0 ? bytes : dice_throw(&dice, bytes);
        struct cpt_record back;
        struct cpt_error error = {0};
        cpt_status status = CPT_OK;

        memcpy(copy, data, bytes);
        for (uint64_t n = dice_throw(&dice, 4); n > 0; n--) {
            copy[dice_throw(&dice, bytes)] ^=
                (unsigned char)(1 + dice_throw(&dice, 255));
        }
        status = read(copy, part, &back, &attributes, &error);
        CU_ASSERT_EQUAL(status, error.status);
        if (status == CPT_OK) {
            cpt_path_reset(back_path);
            (void)cpt_record_path(&back, NULL, back_path, NULL);
        }
    }
    free(copy);
    cpt_alloc_free(NULL, data);
    cpt_alloc_free(NULL, attributes.all);
    cpt_path_free(path);
    cpt_path_free(back_path);
}

static bool encode_and_read(const struct cpt_alloc *alloc)
{
    struct cpt_path *path = document_path(NULL);
    const struct cpt_record record = full_record(path);
    struct cpti_log_attributes attributes = {.alloc = alloc};
    struct cpt_record back;
    unsigned char *data = NULL;
    size_t bytes = 0;
    cpt_status status = cpt_record_encode(&record, alloc, &data, &bytes, NULL);

    if (status == CPT_OK) {
        status = read(data, bytes, &back, &attributes, NULL);
        cpt_alloc_free(alloc, data);
    }
    CU_ASSERT_TRUE(status == CPT_OK || status == CPT_NO_MEMORY);
    cpt_alloc_free(alloc, attributes.all);
    cpt_path_free(path);
    return status == CPT_OK;
}

static void test_each_allocation_may_fail(void)
{
    each_allocation_failure(encode_and_read);
}

CU_TestInfo cpt_log_record_tests[] = {
    {"a full and an empty record come back", test_full_and_empty_records_come_back},
    {"random records come back", test_random_records_come_back},
    {"path bytes are copied as they are", test_path_bytes_are_copied_as_they_are},
    {"a path must add up to the latency", test_the_path_must_add_up_to_the_latency},
    {"inconsistent records are not written", test_what_cannot_be_true_is_not_written},
    {"the limit of attributes holds exactly", test_attribute_limit},
    {"the limit of a record's bytes holds exactly", test_the_largest_record},
    {"unknown keys and values are skipped", test_unknown_keys_and_values_are_skipped},
    {"damaged records do no harm", test_damaged_records_never_harm},
    {"each allocation may fail", test_each_allocation_may_fail},
    CU_TEST_INFO_NULL,
};
