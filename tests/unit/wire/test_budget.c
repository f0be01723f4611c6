/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_budget.c - what other headers leave for a path */
#include "tests/support/suites.h"

#include "wire/cpt_metadata.h"

#include <stdint.h>
#include <string.h>

/* What is never the path's: the reserve, and the name of its header. */
#define TAKEN (CPT_HEADERS_BYTES_RESERVED + sizeof CPT_HEADER_PATH - 1 + 32)

static void test_room_shrinks_with_headers(void)
{
    for (size_t headers = 0; headers < 5000; headers++) {
        const size_t text = headers + TAKEN < 4096 ? 4096 - headers - TAKEN : 0;
        const size_t raw = cpt_path_bytes_left(4096, headers, 1);

        CU_ASSERT_EQUAL(cpt_path_bytes_left(4096, headers, 0), text);
        CU_ASSERT_TRUE(CPT_BASE64_BYTES(raw) <= text);
        CU_ASSERT_TRUE(CPT_BASE64_BYTES(raw + 1) > text);
    }
}

static void test_limits_of_any_size(void)
{
    CU_ASSERT_EQUAL(cpt_path_bytes_left(0, 0, 1), 0);
    CU_ASSERT_EQUAL(cpt_path_bytes_left(TAKEN, 0, 0), 0);
    CU_ASSERT_EQUAL(cpt_path_bytes_left(TAKEN + 1, 0, 0), 1);
    CU_ASSERT_EQUAL(cpt_path_bytes_left(TAKEN + 1, 1, 0), 0);
    CU_ASSERT_EQUAL(cpt_path_bytes_left(TAKEN + 1, SIZE_MAX, 0), 0);
    CU_ASSERT_EQUAL(cpt_path_bytes_left(SIZE_MAX, SIZE_MAX, 1), 0);
    CU_ASSERT_EQUAL(cpt_path_bytes_left(SIZE_MAX, 0, 0), SIZE_MAX - TAKEN);
    CU_ASSERT_TRUE(cpt_path_bytes_left(SIZE_MAX, 0, 1) > SIZE_MAX / 2);
}

/* The lines that a path adds to a head, and the field that it adds to trailers, are no
 * longer than what is counted for them. */
static void test_names_are_counted(void)
{
    const size_t line = strlen("Vary: " CPT_HEADER_ASK "\r\n" CPT_HEADER_PATH ": \r\n");
    const size_t raw = cpt_path_bytes_left(4096, 1000, 1);

    CU_ASSERT_TRUE(1000 + line + CPT_BASE64_BYTES(raw) + CPT_HEADERS_BYTES_RESERVED <=
                   4096);
    CU_ASSERT_TRUE(1000 + sizeof CPT_HEADER_PATH - 1 + 32 + CPT_BASE64_BYTES(raw) +
                       CPT_HEADERS_BYTES_RESERVED <=
                   4096);
}

static void test_room_for_an_ask(void)
{
    const size_t most = 8192 - 512 - 512 - 256;

    CU_ASSERT_TRUE(cpt_ask_has_room(0, 0));
    CU_ASSERT_TRUE(cpt_ask_has_room(most - 1, 1));
    CU_ASSERT_TRUE(cpt_ask_has_room(most, 44));
    CU_ASSERT_FALSE(cpt_ask_has_room(most + 1, 1));
    CU_ASSERT_FALSE(cpt_ask_has_room(0, 45)); /* 47 with the ask and its nonce */
    CU_ASSERT_FALSE(cpt_ask_has_room(SIZE_MAX, 0));
    CU_ASSERT_FALSE(cpt_ask_has_room(0, SIZE_MAX));
    /* an ask of the longest that is sent, 128 bytes, and its nonce */
    CU_ASSERT_TRUE(strlen(CPT_HEADER_ASK CPT_HEADER_NONCE) + 128 + CPT_NONCE_BYTES +
                       2 * 32 <=
                   CPT_HEADERS_BYTES_ASK);
}

CU_TestInfo cpt_budget_tests[] = {
    {"a request without room for an ask", test_room_for_an_ask},
    {"other headers leave less room, to the byte", test_room_shrinks_with_headers},
    {"limits and headers of any size", test_limits_of_any_size},
    {"what is added beside a path is counted", test_names_are_counted},
    CU_TEST_INFO_NULL,
};
