/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_crc32c.c - the checksum of files against published vectors and a model */
#include "cpt/cpt_crc32c.h"

#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include <string.h>

static void test_published_vectors(void)
{
    unsigned char bytes[32];

    CU_ASSERT_EQUAL(cpt_crc32c(0, "123456789", 9), 0xe3069283);
    CU_ASSERT_EQUAL(cpt_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof bytes);
    CU_ASSERT_EQUAL(cpt_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CU_ASSERT_EQUAL(cpt_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    CU_ASSERT_EQUAL(cpt_crc32c(0, bytes, sizeof bytes), 0x46dd794e);
}

static void test_in_pieces(void)
{
    const char digits[] = "123456789";

    for (size_t part = 0; part <= 9; part++) {
        const uint32_t crc = cpt_crc32c(0, digits, part);

        CU_ASSERT_EQUAL(cpt_crc32c(crc, &digits[part], 9 - part), 0xe3069283);
    }
}

/* Bit by bit. */
static uint32_t slow_crc32c(const unsigned char *at, size_t bytes)
{
    uint32_t crc = 0xffffffffU;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0x82f63b78U & (0U - (crc & 1U)));
        }
    }
    return ~crc;
}

/* Any length and alignment, in two pieces: the code for words and for strips meets. */
static void test_against_the_model(void)
{
    enum { BYTES = 20000 };
    static unsigned char data[BYTES];
    const uint64_t seed = test_random_seed("crc32c");
    struct test_random random = {seed};

    for (size_t i = 0; i < BYTES; i++) {
        data[i] = (unsigned char)test_random_next(&random);
    }
    for (uint64_t i = 0; i < test_case_count(300); i++) {
        const uint64_t limit = i % 2 == 0 ? 100 : BYTES;
        const size_t start = (size_t)test_random_below(&random, limit);
        const size_t bytes = (size_t)test_random_below(&random, limit - start + 1);
        const size_t first = (size_t)test_random_below(&random, bytes + 1);
        const uint32_t crc = cpt_crc32c(0, data + start, first);

        CU_ASSERT_EQUAL(cpt_crc32c(crc, data + start + first, bytes - first),
                        slow_crc32c(data + start, bytes));
    }
}

CU_TestInfo cpt_crc32c_tests[] = {
    {"published vectors", test_published_vectors},
    {"pieces give the same as the whole", test_in_pieces},
    {"any bytes give what computing bit by bit gives", test_against_the_model},
    CU_TEST_INFO_NULL,
};
