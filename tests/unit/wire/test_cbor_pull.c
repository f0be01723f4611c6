/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_cbor_pull.c - CBOR items one at a time, and headers that claim too much */
#include "wire/log/cbor_pull.h"
#include "wire/log/cbor_put.h"

#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <string.h>

static void test_what_was_put_comes_out(void)
{
    static const int64_t numbers[] = {
        0,  1,          23,        24,  255, 256,  65535, 65536,    4294967295,
        -1, 4294967296, INT64_MAX, -24, -25, -256, -257,  INT64_MIN};
    struct cpti_put put = {.bytes_max = 1000};
    struct cpti_cbor cbor = {NULL, 0, 0};
    struct cpti_cbor_item item;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        cpti_put_integer(&put, numbers[i]);
    }
    cpti_put_real(&put, 0.1);
    cpti_put_bool(&put, 7);
    cpti_put_text(&put, cpt_bytes_of("h\xc3\xa9"));
    cpti_put_text(&put, cpt_bytes_of("h\xc3"));
    cpti_put_map(&put, 0);
    CU_ASSERT_EQUAL_FATAL(put.status, CPT_OK);

    cbor.data = put.data;
    cbor.bytes = put.bytes;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
        CU_ASSERT_EQUAL(item.type,
                        numbers[i] < 0 ? CPTI_CBOR_NEGATIVE : CPTI_CBOR_UNSIGNED);
        CU_ASSERT_EQUAL(numbers[i] < 0 ? -1 - (int64_t)item.number
                                       : (int64_t)item.number,
                        numbers[i]);
    }
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
    CU_ASSERT_EQUAL(item.real, 0.1);
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
    CU_ASSERT_TRUE(item.type == CPTI_CBOR_BOOL && item.number == 1);
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
    CU_ASSERT_TRUE(item.type == CPTI_CBOR_TEXT && item.text.bytes == 3);
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
    CU_ASSERT_TRUE(item.type == CPTI_CBOR_BYTES && item.text.bytes == 2);
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
    CU_ASSERT_TRUE(item.type == CPTI_CBOR_MAP && item.number == 0);
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_END);
    cpt_alloc_free(NULL, put.data);
}

static void test_text_or_bytes(void)
{
    static const struct {
        const char *text;
        int is_text;
    } rows[] = {{"", 1},
                {"A: /", 1},
                {"\xc2\x80", 1},
                {"\xc1\xbf", 0},
                {"\x80", 0},
                {"\xe2\x82\xac", 1},
                {"\xe0\x9f\xbf", 0},
                {"\xed\x9f\xbf", 1},
                {"\xed\xa0\x80", 0},
                {"\xf0\x9f\x98\x80", 1},
                {"\xf0\x8f\xbf\xbf", 0},
                {"\xf4\x8f\xbf\xbf", 1},
                {"\xf4\x90\x80\x80", 0},
                {"\xf5\x80\x80\x80", 0},
                {"\xe2\x82", 0},
                {"\xe2\x28\xa1", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cpti_put put = {.bytes_max = 100};

        cpti_put_text(&put, cpt_bytes_of(rows[i].text));
        CU_ASSERT_EQUAL(put.data[0] >> 5, rows[i].is_text ? 3 : 2);
        cpt_alloc_free(NULL, put.data);
    }
}

/* One row: bytes, how many, and whether item and inside are sound. */
static void test_hostile_heads(void)
{
    static const struct {
        const char *bytes;
        size_t count;
        cpt_status status;
    } rows[] = {
        {"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", 9, CPT_CORRUPT}, /* 2^64 - 1 bytes */
        {"\x5b\xff\xff\xff\xff\xff\xff\xff\xf7", 9, CPT_CORRUPT},
        {"\x7b\x7f\xff\xff\xff\xff\xff\xff\xff", 9, CPT_CORRUPT},
        {"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9, CPT_CORRUPT}, /* as many items */
        {"\xbb\x80\x00\x00\x00\x00\x00\x00\x00", 9, CPT_CORRUPT},
        {"\xbb\x80\x00\x00\x00\x00\x00\x00\x01\x00\x00", 11, CPT_CORRUPT},
        {"\x82\x01", 2, CPT_CORRUPT},
        {"\xa1\x01", 2, CPT_CORRUPT},
        {"\xc1", 1, CPT_CORRUPT}, /* a tag of nothing */
        {"\x18", 1, CPT_CORRUPT},
        {"\x43xy", 3, CPT_CORRUPT},
        {"\x5f\xff", 2, CPT_CORRUPT}, /* indefinite lengths */
        {"\x7f\xff", 2, CPT_CORRUPT},
        {"\x9f\xff", 2, CPT_CORRUPT},
        {"\xbf\xff", 2, CPT_CORRUPT},
        {"\xff", 1, CPT_CORRUPT},
        {"\x1c", 1, CPT_CORRUPT}, /* reserved */
        {"\xf8\x20", 2, CPT_CORRUPT},
        {"\x43"
         "abc",
         4, CPT_OK},
        {"\xf6", 1, CPT_OK},
        {"\xf9\x3c\x00", 3, CPT_OK},
        {"\xa1\x01\x82\xc1\x02\x81\xf5", 7, CPT_OK},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cpti_cbor cbor = {(const unsigned char *)rows[i].bytes, rows[i].count,
                                 0};
        struct cpti_cbor_item item;
        cpt_status status = cpti_cbor_next(&cbor, &item);

        if (status == CPT_OK) {
            status = cpti_cbor_skip_inside(&cbor, &item);
        }
        CU_ASSERT_EQUAL(status, rows[i].status);
        if (rows[i].status == CPT_OK) {
            CU_ASSERT_EQUAL(cbor.at, rows[i].count);
        }
    }
}

static void test_depth_needs_no_stack(void)
{
    static unsigned char deep[1 << 20];
    struct cpti_cbor cbor = {deep, sizeof deep, 0};
    struct cpti_cbor_item item;

    memset(deep, 0x81, sizeof deep); /* an array of one, in it … */
    deep[sizeof deep - 1] = 0x01;
    CU_ASSERT_EQUAL(cpti_cbor_next(&cbor, &item), CPT_OK);
    CU_ASSERT_EQUAL(cpti_cbor_skip_inside(&cbor, &item), CPT_OK);
    CU_ASSERT_EQUAL(cbor.at, sizeof deep);
    deep[sizeof deep - 1] = 0x81;
    cbor.at = 1;
    CU_ASSERT_EQUAL(cpti_cbor_skip_inside(&cbor, &item), CPT_CORRUPT);
    CU_ASSERT_EQUAL(cbor.at, 1);
}

/* Every first byte, all lengths up to twelve, followed by random bytes. */
static void test_short_ways_are_those_of_the_decoder(void)
{
    const uint64_t seed = test_random_seed("heads");
    const uint64_t rounds = test_case_count(20);
    unsigned different = 0;

    for (uint64_t i = 0; i < rounds * 256 * 12; i++) {
        struct test_random random = {seed + i};
        unsigned char bytes[12] = {(unsigned char)i};
        const size_t count = (size_t)(i / 256 % 12) + 1;
        struct cpti_cbor fast = {bytes, count, 0};
        struct cpti_cbor slow = {bytes, count, 0};
        struct cpti_cbor_item ours;
        struct cpti_cbor_item theirs;
        cpt_status status = CPT_OK;

        for (size_t k = 1; k < sizeof bytes; k++) { /* small ones are more likely */
            bytes[k] = (unsigned char)(test_random_next(&random) >>
                                       test_random_below(&random, 64));
        }
        status = cpti_cbor_next(&fast, &ours);
        different += status != cpti_cbor_next_any(&slow, &theirs) || fast.at != slow.at;
        if (status == CPT_OK) {
            different += ours.type != theirs.type || ours.number != theirs.number ||
                         memcmp(&ours.real, &theirs.real, sizeof ours.real) != 0 ||
                         ours.text.data != theirs.text.data ||
                         ours.text.bytes != theirs.text.bytes;
        }
    }
    CU_ASSERT_EQUAL(different, 0);
}

CU_TestInfo cpt_cbor_pull_tests[] = {
    {"what was put comes out", test_what_was_put_comes_out},
    {"only UTF-8 is text", test_text_or_bytes},
    {"a head that claims too much is refused", test_hostile_heads},
    {"the fast paths agree with the decoder", test_short_ways_are_those_of_the_decoder},
    {"a million nested arrays are skipped", test_depth_needs_no_stack},
    CU_TEST_INFO_NULL,
};
