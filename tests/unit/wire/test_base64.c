/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_base64.c - bytes as header text */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"

#include <string.h>

static void test_vectors_of_the_rfc(void)
{
    static const char *const rows[][3] = {
        {"", "", ""},
        {"f", "Zg", "Zg=="},
        {"fo", "Zm8", "Zm8="},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg", "Zm9vYg=="},
        {"fooba", "Zm9vYmE", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[16];
        char data[16];
        size_t bytes = 99;

        CU_ASSERT_EQUAL(
            cpt_base64_encode(rows[i][0], strlen(rows[i][0]), text, sizeof text),
            strlen(rows[i][1]));
        CU_ASSERT_STRING_EQUAL(text, rows[i][1]);
        for (int padded = 1; padded <= 2; padded++) {
            CU_ASSERT_EQUAL(cpt_base64_decode(cpt_bytes_of(rows[i][padded]), data,
                                              sizeof data, &bytes, NULL),
                            CPT_OK);
            CU_ASSERT_EQUAL(bytes, strlen(rows[i][0]));
            CU_ASSERT_EQUAL(memcmp(data, rows[i][0], bytes), 0);
        }
    }
}

static void test_all_bytes_come_back(void)
{
    unsigned char data[256];
    unsigned char back[256];
    char text[CPT_BASE64_BYTES(256) + 1];
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 167);
    }
    for (size_t count = 0; count <= sizeof data; count++) {
        CU_ASSERT_EQUAL(cpt_base64_encode(data, count, text, sizeof text),
                        CPT_BASE64_BYTES(count));
        CU_ASSERT_EQUAL(
            cpt_base64_decode(cpt_bytes_of(text), back, sizeof back, &bytes, NULL),
            CPT_OK);
        CU_ASSERT_EQUAL(bytes, count);
        CU_ASSERT_EQUAL(memcmp(data, back, count), 0);
    }
}

static void test_junk_is_refused(void)
{
    static const char *const texts[] = {
        "Z",    "Zg=",  "Zg===", "=",        "====",  "Zm9vY", "Zh",     "Zm9",
        "Zm8 ", "Zm-_", "Z=g=",  "Zg==Zg==", "Zm8\n", "Zm9v=", "Zm9v==", "\x80m9v"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char data[16];
        size_t bytes = 99;

        CU_ASSERT_EQUAL(
            cpt_base64_decode(cpt_bytes_of(texts[i]), data, sizeof data, &bytes, NULL),
            CPT_CORRUPT);
        CU_ASSERT_EQUAL(bytes, 99);
    }
}

/* Each byte at each place of a text: the alphabet is decoded, all others are refused
 * where they stand. */
static void test_each_character(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (unsigned c = 0; c < 256; c++) {
        const char *found = c != 0 ? strchr(alphabet, (int)c) : NULL;

        for (size_t place = 0; place < 10; place++) {
            char text[] = "AAAAAAAAAA=="; /* seven bytes */
            unsigned char data[8] = {0};
            struct cpt_error error = {0};
            size_t bytes = 0;
            uint64_t bits = 0;
            cpt_status status = CPT_OK;

            text[place] = (char)c;
            status = cpt_base64_decode((struct cpt_bytes){text, 12}, data, sizeof data,
                                       &bytes, &error);
            if (found == NULL) {
                CU_ASSERT_EQUAL(status, CPT_CORRUPT);
                CU_ASSERT_EQUAL(error.offset, place);
                continue;
            }
            bits = (uint64_t)(found - alphabet) << (58 - 6 * place);
            CU_ASSERT_EQUAL(status, place == 9 && (found - alphabet) % 16 != 0
                                        ? CPT_CORRUPT
                                        : CPT_OK);
            for (unsigned i = 0; i < 7 && status == CPT_OK; i++) {
                CU_ASSERT_EQUAL(data[i], (unsigned char)(bits >> (56 - 8 * i)));
            }
        }
    }
}

static void test_nothing_is_written_beyond_the_capacity(void)
{
    char text[8] = "xxxxxxx";
    char data[4] = "abc";
    size_t bytes = 0;

    CU_ASSERT_EQUAL(cpt_base64_encode("foo", 3, text, 4), 4);
    CU_ASSERT_STRING_EQUAL(text, "");
    CU_ASSERT_EQUAL(cpt_base64_encode("foo", 3, NULL, 0), 4);
    CU_ASSERT_EQUAL(cpt_base64_decode(cpt_bytes_of("Zm9v"), data, 2, &bytes, NULL),
                    CPT_LIMIT);
    CU_ASSERT_STRING_EQUAL(data, "abc");
    CU_ASSERT_EQUAL(cpt_base64_decode(cpt_bytes_of("Zm9v"), data, 3, &bytes, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(bytes, 3);
}

CU_TestInfo cpt_base64_tests[] = {
    {"the vectors of RFC 4648, with and without padding", test_vectors_of_the_rfc},
    {"encoded bytes come back", test_all_bytes_come_back},
    {"anything that is not canonical is refused", test_junk_is_refused},
    {"each character at each place", test_each_character},
    {"nothing is written beyond the capacity",
     test_nothing_is_written_beyond_the_capacity},
    CU_TEST_INFO_NULL,
};
