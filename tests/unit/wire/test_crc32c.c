/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_crc32c.c - the checksum of blocks against published vectors */
#include "wire/crc32c.h"

#include "tests/support/suites.h"

#include <string.h>

static void test_published_vectors(void)
{
    unsigned char bytes[32];

    CU_ASSERT_EQUAL(cpti_crc32c(0, "123456789", 9), 0xe3069283);
    CU_ASSERT_EQUAL(cpti_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof bytes);
    CU_ASSERT_EQUAL(cpti_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CU_ASSERT_EQUAL(cpti_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    CU_ASSERT_EQUAL(cpti_crc32c(0, bytes, sizeof bytes), 0x46dd794e);
}

static void test_in_pieces(void)
{
    const char digits[] = "123456789";

    for (size_t part = 0; part <= 9; part++) {
        const uint32_t crc = cpti_crc32c(0, digits, part);

        CU_ASSERT_EQUAL(cpti_crc32c(crc, &digits[part], 9 - part), 0xe3069283);
    }
}

CU_TestInfo cpt_crc32c_tests[] = {
    {"published vectors", test_published_vectors},
    {"pieces give the same as the whole", test_in_pieces},
    CU_TEST_INFO_NULL,
};
