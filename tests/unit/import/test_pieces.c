/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_pieces.c - where text is cut, however it comes */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/unit/import/text_input.h"

#include "import/bytes/pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

/* The pieces of @data, each as "offset:piece|", and the status behind the last. */
static cpt_status cut(const char *data, size_t step, size_t bytes_max,
                      char text[TEXT_BYTES])
{
    struct text_input input = {data, strlen(data), step, 0};
    struct cpti_pieces *pieces =
        cpti_pieces_new(NULL, text_input_read, &input, bytes_max);
    cpt_status last = CPT_OK;
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < 100; i++) {
        struct cpt_bytes piece;
        uint64_t offset = 0;
        const cpt_status status = cpti_pieces_next(pieces, &piece, &offset, NULL);

        if (status == CPT_END) {
            break;
        }
        last = status;
        if (status == CPT_OK) {
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, "%d:%.*s|",
                                     (int)offset, (int)piece.bytes, piece.data);
        } else if (status == CPT_LIMIT) {
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, "...|");
        }
    }
    cpti_pieces_free(pieces);
    return last;
}

static void expect(const char *data, cpt_status status, const char *expected)
{
    for (size_t step = 1; step < 40; step++) {
        char text[TEXT_BYTES];

        CU_ASSERT_EQUAL(cut(data, step, 0, text), status);
        CU_ASSERT_STRING_EQUAL(text, expected);
        if (strcmp(text, expected) != 0) {
            printf("\n  of %s\n  got %s\n", data, text);
            return;
        }
    }
}

static void test_documents(void)
{
    expect("", CPT_OK, "");
    expect(" \n", CPT_OK, "");
    expect("{\"a\": {\"b\": [1, 2]}}", CPT_OK, "0:{\"a\": {\"b\": [1, 2]}}|");
    expect("{}\n{\"a\":1}{}\n", CPT_OK, "0:{}|3:{\"a\":1}|10:{}|");
    expect("\xef\xbb\xbf{}", CPT_OK, "3:{}|");
}

static void test_arrays(void)
{
    expect("[]", CPT_OK, "");
    expect("[{\"a\":1}, {\"b\":[2]}]", CPT_OK, "1:{\"a\":1}|10:{\"b\":[2]}|");
    expect("[[{},{}],[{}]]\n[1, \"x\", {}]", CPT_OK,
           "1:[{},{}]|9:[{}]|16:1|19:\"x\"|24:{}|");
}

static void test_answers(void)
{
    expect("{\"data\": [{\"x\":1},{}], \"total\": {\"y\":[\"]}\"]}}{}", CPT_OK,
           "10:{\"x\":1}|18:{}|45:{}|");
    expect("{\"total\":0, \"errors\": [{}], \"data\":[{}]}", CPT_OK, "36:{}|");
    expect("{\"data\": {}}", CPT_OK, "0:{\"data\": {}}|");
    expect("{\"total\": 1}", CPT_OK, "0:{\"total\": 1}|");
    expect("{\"total\": 1, \"spans\": []}", CPT_OK, "0:{\"total\": 1, \"spans\": []}|");
}

static void test_strings(void)
{
    expect("[\"a\\\"]\", {\"\\\\\": \"}\\\\\\\"{\"}]", CPT_OK,
           "1:\"a\\\"]\"|9:{\"\\\\\": \"}\\\\\\\"{\"}|");
}

static void test_broken(void)
{
    expect("[{}, {\"a\":", CPT_TRUNCATED, "1:{}|");
    expect("[{}", CPT_TRUNCATED, "1:{}|");
    expect("{\"data\":[{}], \"x", CPT_TRUNCATED, "9:{}|");
    expect("{\"data", CPT_TRUNCATED, "");
    expect("[\"\\", CPT_TRUNCATED, "");
    expect("]", CPT_CORRUPT, "");
    expect("{}}{}", CPT_CORRUPT, "0:{}|");
    expect("[{}}", CPT_CORRUPT, "1:{}|");
}

/* A value of random strings with all that looks like the end of it. */
static size_t put_value(struct test_random *random, char *text, unsigned depth)
{
    static const char *const parts[] = {
        "[",    "]",    "{", "}",        ",",
        "\\\"", "\\\\", "x", "        ", "abcdefghijklmnopqrstuvw"};
    size_t used = 0;

    if (depth > 0 && test_random_chance(random, 60)) {
        const bool is_object = test_random_chance(random, 50);

        text[used++] = is_object ? '{' : '[';
        for (uint64_t i = test_random_below(random, 5); i > 0; i--) {
            if (is_object) {
                used += put_value(random, text + used, 0);
                text[used++] = ':';
            }
            used += put_value(random, text + used, depth - 1);
            text[used++] = i > 1 ? ',' : ' ';
        }
        text[used++] = is_object ? '}' : ']';
        return used;
    }
    text[used++] = '"';
    for (uint64_t i = test_random_below(random, 8); i > 0; i--) {
        const char *part = parts[test_random_below(random, 10)];

        memcpy(text + used, part, strlen(part));
        used += strlen(part);
    }
    text[used++] = '"';
    return used;
}

/* Where text is cut depends on the text alone, not on where blocks of it end. */
static void test_random_values(void)
{
    enum { VALUES = 20, DEPTH = 3, VALUE_BYTES = 64 * 1024 };
    const uint64_t seed = test_random_seed("values cut");
    char *text = malloc(VALUES * VALUE_BYTES);

    for (unsigned k = 0; k < 50; k++) {
        struct test_random random = {seed + k};
        struct text_input input = {text, 0, 1 + test_random_below(&random, 300), 0};
        size_t ends[VALUES];
        struct cpti_pieces *pieces = NULL;
        struct cpt_bytes piece = {"", 0};
        uint64_t offset = 0;

        text[input.bytes++] = '[';
        for (unsigned i = 0; i < VALUES; i++) {
            input.bytes += put_value(&random, text + input.bytes, DEPTH);
            ends[i] = input.bytes;
            text[input.bytes++] = i + 1 < VALUES ? ',' : ']';
        }
        pieces = cpti_pieces_new(NULL, text_input_read, &input, 0);
        for (unsigned i = 0; i < VALUES; i++) {
            CU_ASSERT_EQUAL_FATAL(cpti_pieces_next(pieces, &piece, &offset, NULL),
                                  CPT_OK);
            CU_ASSERT_EQUAL_FATAL(offset, i > 0 ? ends[i - 1] + 1 : 1);
            CU_ASSERT_EQUAL_FATAL(offset + piece.bytes, ends[i]);
        }
        CU_ASSERT_EQUAL(cpti_pieces_next(pieces, &piece, &offset, NULL), CPT_END);
        cpti_pieces_free(pieces);
    }
    free(text);
}

/* A piece that is too long is passed over, and nothing of it is kept. */
static void test_too_long(void)
{
    enum { LONG = 100000 };
    char *data = malloc(LONG + 64);
    char text[TEXT_BYTES];

    (void)strcpy(data, "[{},{\"a\":\"");
    memset(data + 10, 'x', LONG);
    (void)strcpy(data + 10 + LONG, "\\\"\"},{\"b\":1}]");
    CU_ASSERT_EQUAL(cut(data, 77, 1000, text), CPT_OK);
    CU_ASSERT_STRING_EQUAL(text, "1:{}|...|100015:{\"b\":1}|");
    free(data);
}

/* What may never end: zeros, say. Numbers and strings of any length are read. */
static void test_no_end(void)
{
    enum { LONG = 5 << 20 };
    char *data = calloc(1, LONG);
    struct text_input input = {data, LONG, 4096, 0};
    struct cpti_pieces *pieces = cpti_pieces_new(NULL, text_input_read, &input, 0);
    struct cpt_error error = {0};
    struct cpt_bytes piece;
    uint64_t offset = 0;

    (void)memcpy(data, "{} ", 3);
    CU_ASSERT_EQUAL(cpti_pieces_next(pieces, &piece, &offset, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpti_pieces_next(pieces, &piece, &offset, &error), CPT_CORRUPT);
    CU_ASSERT_EQUAL(error.offset, 3);
    CU_ASSERT_TRUE(input.at < LONG / 2);
    CU_ASSERT_EQUAL(cpti_pieces_next(pieces, &piece, &offset, NULL), CPT_END);
    cpti_pieces_free(pieces);

    memset(data, 'x', LONG);
    data[0] = data[LONG - 1] = '"';
    input.at = 0;
    pieces = cpti_pieces_new(NULL, text_input_read, &input, 0);
    CU_ASSERT_EQUAL(cpti_pieces_next(pieces, &piece, &offset, NULL), CPT_OK);
    CU_ASSERT_EQUAL(piece.bytes, LONG);
    cpti_pieces_free(pieces);
    free(data);
}

static bool cut_over(const struct cpt_alloc *alloc)
{
    struct text_input input = {"[{}]", 4, 4, 0};
    struct cpti_pieces *pieces = cpti_pieces_new(alloc, text_input_read, &input, 0);
    struct cpt_bytes piece;
    uint64_t offset = 0;
    const bool is_cut = pieces != NULL &&
                        cpti_pieces_next(pieces, &piece, &offset, NULL) == CPT_OK &&
                        piece.bytes == 2;

    cpti_pieces_free(pieces);
    return is_cut;
}

static void test_survives_no_memory(void)
{
    each_allocation_failure(cut_over);
}

CU_TestInfo cpt_pieces_tests[] = {
    {"documents", test_documents},
    {"arrays", test_arrays},
    {"answers", test_answers},
    {"strings", test_strings},
    {"broken", test_broken},
    {"values of any kind", test_random_values},
    {"too long", test_too_long},
    {"words without an end", test_no_end},
    {"survives no memory", test_survives_no_memory},
    CU_TEST_INFO_NULL,
};
