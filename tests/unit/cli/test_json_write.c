/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_json_write.c - JSON from any input */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "tool/table/json_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest text of the tests as JSON. */
enum { ESCAPED_BYTES = 4 * 6 * CPTI_JSON_BUFFER_BYTES + 8 };

/* A JSON writer into memory. */
struct sheet {
    struct cpti_json json;
    char *text;
    size_t bytes;
};

static void sheet_init(struct sheet *sheet)
{
    *sheet = (struct sheet){0};
    sheet->json.file = open_memstream(&sheet->text, &sheet->bytes);
}

/* Ends it and compares. */
static void expect(struct sheet *sheet, const char *wanted)
{
    (void)fclose(sheet->json.file);
    CU_ASSERT_STRING_EQUAL(sheet->text, wanted);
    free(sheet->text);
}

static void test_nesting(void)
{
    struct sheet sheet;

    sheet_init(&sheet);
    cpti_json_open(&sheet.json, NULL, '{');
    cpti_json_open(&sheet.json, "empty", '[');
    cpti_json_close(&sheet.json);
    cpti_json_unsigned(&sheet.json, "number", UINT64_MAX);
    cpti_json_open(&sheet.json, "list", '[');
    cpti_json_integer(&sheet.json, NULL, INT64_MIN);
    cpti_json_bool(&sheet.json, NULL, 1);
    cpti_json_null(&sheet.json, NULL);
    cpti_json_close(&sheet.json);
    cpti_json_key(&sheet.json, cpt_bytes_of("k\n"));
    cpti_json_text(&sheet.json, NULL, "v");
    cpti_json_key(&sheet.json, cpt_bytes_of("o"));
    cpti_json_open(&sheet.json, NULL, '{');
    cpti_json_close(&sheet.json);
    cpti_json_close(&sheet.json);
    expect(&sheet, "{\"empty\":[],\"number\":18446744073709551615,"
                   "\"list\":[-9223372036854775808,true,null],"
                   "\"k\\u000a\":\"v\",\"o\":{}}\n");
}

static void test_rows(void)
{
    struct sheet sheet;

    sheet_init(&sheet);
    cpti_json_open(&sheet.json, NULL, '[');
    for (int i = 0; i < 2; i++) {
        cpti_json_row(&sheet.json);
        cpti_json_integer(&sheet.json, NULL, i);
    }
    cpti_json_row(&sheet.json);
    cpti_json_close(&sheet.json);
    expect(&sheet, "[\n0,\n1\n]\n");
}

/* Bytes in, string out. */
static void expect_string(const char *bytes, size_t count, const char *wanted)
{
    struct sheet sheet;

    sheet_init(&sheet);
    cpti_json_bytes(&sheet.json, NULL, (struct cpt_bytes){bytes, count});
    expect(&sheet, wanted);
}

static void test_strings(void)
{
    expect_string("", 0, "\"\"");
    expect_string("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    expect_string("\0\x1f\x7f\n", 4, "\"\\u0000\\u001f\\u007f\\u000a\"");
    expect_string("\u00e9\u20ac\U0001f600", 9, "\"\u00e9\u20ac\U0001f600\"");
}

static void test_what_is_no_utf8(void)
{
    expect_string("\xff", 1, "\"\\ufffd\"");
    expect_string("\x80", 1, "\"\\ufffd\"");
    expect_string("\xc3", 1, "\"\\ufffd\"");
    expect_string("\xc3(", 2, "\"\\ufffd(\"");
    expect_string("\xe2\x82", 2, "\"\\ufffd\\ufffd\"");
    expect_string("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");            /* overlong */
    expect_string("\xe0\x80\xaf", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* overlong */
    expect_string("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* surrogate */
    expect_string("\xf4\x90\x80\x80", 4,
                  "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* above U+10FFFF */
    expect_string("\xf8\x88\x80\x80\x80", 5, "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void test_numbers(void)
{
    struct sheet sheet;

    sheet_init(&sheet);
    cpti_json_open(&sheet.json, NULL, '[');
    cpti_json_float(&sheet.json, NULL, 0.1);
    cpti_json_float(&sheet.json, NULL, 0.1 + 0.2);
    cpti_json_float(&sheet.json, NULL, 1e300);
    cpti_json_float(&sheet.json, NULL, 12345678);
    cpti_json_float(&sheet.json, NULL, (double)NAN);
    cpti_json_float(&sheet.json, NULL, (double)-INFINITY);
    cpti_json_ns(&sheet.json, NULL, 1234.56789);
    cpti_json_ns(&sheet.json, NULL, (double)INFINITY);
    cpti_json_rough(&sheet.json, NULL, 0.123456789);
    cpti_json_close(&sheet.json);
    expect(&sheet, "[0.1,0.30000000000000004,1e+300,12345678,null,null,1234.568,null,"
                   "0.123457]\n");
}

/* Texts made of pieces whose JSON is known, longer than the buffer of the writer. */
static void test_long_texts(void)
{
    static const char *const pieces[][2] = {
        {"a", "a"},
        {"word ", "word "},
        {"\"", "\\\""},
        {"\\", "\\\\"},
        {"\n", "\\u000a"},
        {"\x7f", "\\u007f"},
        {"\xc2\x9b", "\\u009b"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"\xe2\x82\xac", "\xe2\x82\xac"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xff", "\\ufffd"},
    };
    enum {
        PIECES = sizeof pieces / sizeof pieces[0],
        BYTES = 4 * CPTI_JSON_BUFFER_BYTES
    };
    static char text[BYTES];
    static char wanted[ESCAPED_BYTES];
    static char quoted[ESCAPED_BYTES];
    const uint64_t seed = test_random_seed("texts");

    for (uint64_t i = 0; i < test_case_count(200); i++) {
        struct test_random random = {seed + i};
        const size_t limit = 1 + (size_t)test_random_below(&random, BYTES - 8);
        struct sheet sheet;

        text[0] = '\0';
        (void)strcpy(wanted, "\"");
        for (size_t bytes = 0, used = 1; bytes < limit;) {
            const size_t piece = (size_t)test_random_below(&random, PIECES);

            (void)strcpy(text + bytes, pieces[piece][0]);
            (void)strcpy(wanted + used, pieces[piece][1]);
            bytes += strlen(pieces[piece][0]);
            used += strlen(pieces[piece][1]);
        }
        (void)strcat(wanted, "\"");
        quoted[cpti_json_quote(cpt_bytes_of(text), quoted)] = '\0';
        CU_ASSERT_STRING_EQUAL(quoted, wanted);
        sheet_init(&sheet);
        cpti_json_text(&sheet.json, NULL, text);
        expect(&sheet, wanted);
    }
}

static void test_numbers_again_and_again(void)
{
    static const double numbers[] = {0.1, 0.1, -0.0, 0.0, 1e300, 0.1, 2.5};
    struct sheet sheet;

    sheet_init(&sheet);
    cpti_json_open(&sheet.json, NULL, '[');
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        cpti_json_float(&sheet.json, NULL, numbers[i]);
    }
    cpti_json_raw(&sheet.json, NULL, cpt_bytes_of("{\"a\":1}"));
    cpti_json_close(&sheet.json);
    expect(&sheet, "[0.1,0.1,-0,0,1e+300,0.1,2.5,{\"a\":1}]\n");
}

/* Into memory: what does not fit is noted, and can be taken back. */
static void test_memory(void)
{
    struct cpti_json json = {.bytes_max = 64};
    struct cpti_json_mark mark;

    cpti_json_open(&json, NULL, '{');
    cpti_json_open(&json, "rows", '[');
    cpti_json_unsigned(&json, NULL, 1);
    mark = cpti_json_mark(&json);
    cpti_json_open(&json, NULL, '{');
    for (int i = 0; i < 20 && !json.is_full; i++) {
        cpti_json_text(&json, "key", "\xff\n");
    }
    CU_ASSERT(json.is_full);
    CU_ASSERT(json.used <= 64);
    cpti_json_cut(&json, mark);
    cpti_json_unsigned(&json, NULL, 2);
    cpti_json_close(&json);
    cpti_json_text(&json, "none", NULL);
    cpti_json_close(&json);
    CU_ASSERT_FALSE(json.is_full);
    CU_ASSERT_EQUAL(json.depth, 0);
    CU_ASSERT_EQUAL_FATAL(json.used, strlen("{\"rows\":[1,2],\"none\":null}\n"));
    CU_ASSERT_EQUAL(memcmp(json.data, "{\"rows\":[1,2],\"none\":null}\n", json.used),
                    0);
    cpti_json_deinit(&json);
}

CU_TestInfo cpt_json_write_tests[] = {
    {"objects and arrays nest, with commas between", test_nesting},
    {"each row is on its own line", test_rows},
    {"quotes and control bytes are escaped", test_strings},
    {"a byte that is not UTF-8 becomes U+FFFD", test_what_is_no_utf8},
    {"numbers read back unchanged; not-a-number is null", test_numbers},
    {"texts longer than the buffer are whole", test_long_texts},
    {"a number is written the same again", test_numbers_again_and_again},
    {"memory, up to a limit", test_memory},
    CU_TEST_INFO_NULL,
};
