/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* suites_store.c - what the database of cpt/store/ does not show: hashes, rows, SQL */
#include "tests/support/suites.h"

#include "tool/store/row_binary.h"
#include "tool/store/sha256.h"
#include "tool/store/sql.h"
#include "tool/store/store_parts.h"

#include <stdio.h>
#include <string.h>

static void check_hash(const char *text, size_t times, const char *wanted)
{
    struct cpti_sha256 hash;
    unsigned char digest[32];
    char found[65];

    cpti_sha256_begin(&hash);
    for (size_t i = 0; i < times; i++) {
        cpti_sha256_add(&hash, text, strlen(text));
    }
    cpti_sha256_end(&hash, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        (void)snprintf(found + 2 * i, 3, "%02x", digest[i]);
    }
    CU_ASSERT_STRING_EQUAL(found, wanted);
}

/* The examples of FIPS 180-4. */
static void test_sha256(void)
{
    check_hash("", 1,
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 1,
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash("aaaaaaaaaa", 100000,
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_rows_read_as_they_were_written(void)
{
    struct cpti_packed rows = {0};
    const unsigned char *at;
    struct cpt_bytes text;
    uint64_t number = 0;
    unsigned small = 0;
    char name[300];

    memset(name, 'x', sizeof name);
    cpti_row_u16(&rows, 0xfedc);
    cpti_row_u64(&rows, UINT64_MAX - 1);
    cpti_row_text(&rows, (struct cpt_bytes){name, sizeof name});
    CU_ASSERT_EQUAL_FATAL(rows.bytes, 2 + 8 + 2 + sizeof name);
    at = rows.data;
    CU_ASSERT_TRUE(cpti_row_get_u16(&at, rows.data + rows.bytes, &small));
    CU_ASSERT_EQUAL(small, 0xfedc);
    CU_ASSERT_FALSE(cpti_row_get_u64(&at, at + 7, &number));
    CU_ASSERT_TRUE(cpti_row_get_u64(&at, rows.data + rows.bytes, &number));
    CU_ASSERT_EQUAL(number, UINT64_MAX - 1);
    CU_ASSERT_FALSE(cpti_row_get_text(&at, rows.data + rows.bytes - 1, &text));
    CU_ASSERT_TRUE(cpti_row_get_text(&at, rows.data + rows.bytes, &text));
    CU_ASSERT_EQUAL(text.bytes, sizeof name);
    CU_ASSERT_PTR_EQUAL(at, rows.data + rows.bytes);
    cpti_packed_deinit(&rows);
}

/* A length that never ends, and one that exceeds all memory. */
static void test_lengths_from_outside(void)
{
    static const unsigned char endless[] = {255, 255, 255, 255, 255, 255,
                                            255, 255, 255, 255, 255, 1};
    static const unsigned char vast[] = {255, 255, 255, 255, 255, 255, 255, 127, 'x'};
    const unsigned char *at = endless;
    struct cpt_bytes text;

    CU_ASSERT_FALSE(cpti_row_get_text(&at, endless + sizeof endless, &text));
    at = vast;
    CU_ASSERT_FALSE(cpti_row_get_text(&at, vast + sizeof vast, &text));
    CU_ASSERT_PTR_EQUAL(at, vast);
}

static void test_a_number_means_one_stack(void)
{
    struct cpti_stacks stacks = {0};
    const uint64_t id = cpti_stack_id(CPTI_STACK_ROOT, 0, cpt_bytes_of("A"));
    bool is_new = false;

    CU_ASSERT_NOT_EQUAL(id, cpti_stack_id(CPTI_STACK_ROOT, 1, cpt_bytes_of("A")));
    CU_ASSERT_NOT_EQUAL(id, cpti_stack_id(id, 0, cpt_bytes_of("A")));
    CU_ASSERT_EQUAL(cpti_stacks_add(&stacks, id, 0, 0, cpt_bytes_of("A"), &is_new),
                    CPT_OK);
    CU_ASSERT_TRUE(is_new);
    CU_ASSERT_EQUAL(cpti_stacks_add(&stacks, id, 0, 0, cpt_bytes_of("A"), &is_new),
                    CPT_OK);
    CU_ASSERT_FALSE(is_new);
    CU_ASSERT_EQUAL(cpti_stacks_add(&stacks, id, 0, 0, cpt_bytes_of("B"), &is_new),
                    CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpti_stacks_add(&stacks, 0, 0, 0, cpt_bytes_of("B"), &is_new),
                    CPT_CORRUPT);
    for (uint64_t i = 1; i < 5000; i++) {
        CU_ASSERT_EQUAL(cpti_stacks_add(&stacks, i, 0, 0, cpt_bytes_of("A"), &is_new),
                        CPT_OK);
    }
    CU_ASSERT_EQUAL(cpti_stacks_find(&stacks, 4999)->id, 4999);
    CU_ASSERT_PTR_NULL(cpti_stacks_find(&stacks, 5000));
    cpti_stacks_deinit(&stacks);
}

/* No byte of a value is in the statement. */
static void test_values_in_sql(void)
{
    const struct cpti_store_value value = {.text = {"' OR 1 --", 9}, .truth = -1};
    const struct cpti_store_term term = {
        .subject = CPTI_SUBJECT_ATTRIBUTE,
        .key = {"k'", 2},
        .values = &value,
        .value_count = 1,
    };
    const struct cpti_condition_sign part = {CPTI_SIGN_TEST, 0};
    const struct cpti_store_question question = {
        .until_ns = UINT64_MAX,
        .entry = {"a\\'b", 4},
        .terms = &term,
        .term_count = 1,
        .signs = &part,
        .sign_count = 1,
    };
    struct cpti_packed sql = {0};
    const char *text;

    cpti_sql_range(&sql, &question);
    cpti_sql_selected(&sql, &question);
    text = cpti_sql_text(&sql);
    if (text == NULL) {
        CU_FAIL_FATAL("out of memory");
        return;
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "service = unhex('615C2762')"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "has(attributes.key, unhex('6B27'))"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " = unhex('27204F522031202D2D')"));
    CU_ASSERT_PTR_NULL(strstr(text, "--"));
    CU_ASSERT_PTR_NULL(strchr(text, '\\'));
    cpti_packed_deinit(&sql);
}

static void test_stacks_are_found_by_what_they_are(void)
{
    struct cpti_stacks stacks = {0};
    uint64_t parent = CPTI_STACK_ROOT;
    bool is_new = false;

    CU_ASSERT_PTR_NULL(cpti_stacks_below(&stacks, 0, 0, cpt_bytes_of("A")));
    for (unsigned i = 0; i < 3000; i++) {
        const uint64_t id = cpti_stack_id(parent, i % 3, cpt_bytes_of("A"));

        CU_ASSERT_PTR_NULL(
            cpti_stacks_below(&stacks, parent, i % 3, cpt_bytes_of("A")));
        CU_ASSERT_EQUAL(
            cpti_stacks_add(&stacks, id, parent, i % 3, cpt_bytes_of("A"), &is_new),
            CPT_OK);
        CU_ASSERT_EQUAL(
            cpti_stacks_below(&stacks, parent, i % 3, cpt_bytes_of("A"))->id, id);
        CU_ASSERT_PTR_NULL(cpti_stacks_below(&stacks, parent, 7, cpt_bytes_of("A")));
        parent = id;
    }
    cpti_stacks_deinit(&stacks);
}

/* 90 months go in one part, as a server takes at most 100; rows of one month stay
 * together. */
static void test_batches_of_many_months_go_in_parts(void)
{
    enum { ROWS = 1000 };
    struct cpti_row_place places[ROWS];
    struct cpti_store_batch batch = {.places = places, .row_count = ROWS};

    for (size_t i = 0; i < ROWS; i++) {
        places[i] = (struct cpti_row_place){i, i + 1, (uint32_t)(i * 7 % 181)};
    }
    cpti_batch_sort(&batch);
    for (size_t from = 0, part = 0; from < ROWS; part++) {
        const size_t to = cpti_batch_part(&batch, from);

        CU_ASSERT_EQUAL(places[from].month, 90 * part);
        CU_ASSERT_EQUAL(places[to - 1].month, part < 2 ? 90 * part + 89 : 180);
        from = to;
    }
    batch.row_count = 1;
    CU_ASSERT_EQUAL(cpti_batch_part(&batch, 0), 1);
}

static const char *written(struct cpti_packed *sql,
                           const struct cpti_store_question *question)
{
    sql->bytes = 0;
    cpti_sql_selected(sql, question);
    return cpti_sql_text(sql);
}

/* An integer and a float are compared exactly: the limit is moved, not rounded. */
static void test_numbers_in_sql(void)
{
    struct cpti_store_value value = {
        .number = CPTI_NUMBER_REAL, .real = 2.5, .truth = -1, .text = {"2.5", 3}};
    struct cpti_store_term term = {.subject = CPTI_SUBJECT_ATTRIBUTE,
                                   .relation = CPTI_RELATION_LESS,
                                   .key = {"k", 1},
                                   .values = &value,
                                   .value_count = 1};
    const struct cpti_condition_sign part = {CPTI_SIGN_TEST, 0};
    const struct cpti_store_question question = {
        .terms = &term, .term_count = 1, .signs = &part, .sign_count = 1};
    struct cpti_packed sql = {0};

    CU_ASSERT_PTR_NOT_NULL(strstr(written(&sql, &question), " <= toInt64('2')"));
    value.real = -2.5;
    CU_ASSERT_PTR_NOT_NULL(strstr(written(&sql, &question), " <= toInt64('-3')"));
    term.relation = CPTI_RELATION_GREATER;
    CU_ASSERT_PTR_NOT_NULL(strstr(written(&sql, &question), " > toInt64('-3')"));
    value.number = CPTI_NUMBER_INTEGER;
    value.integer = INT64_C(9007199254740993); /* 2^53 + 1, between two floats */
    CU_ASSERT_PTR_NOT_NULL(strstr(written(&sql, &question),
                                  " > reinterpretAsFloat64(unhex('"
                                  "0000000000004043'))"));
    value.integer = INT64_MAX; /* below the next float, 2^63 */
    CU_ASSERT_PTR_NOT_NULL(strstr(written(&sql, &question),
                                  " >= reinterpretAsFloat64(unhex('"
                                  "000000000000E043'))"));
    CU_ASSERT_FALSE(cpti_store_has_undecided(&question));
    value.reads_texts = 1;
    CU_ASSERT_TRUE(cpti_store_has_undecided(&question));
    cpti_packed_deinit(&sql);
}

static CU_TestInfo store_tests[] = {
    {"sha256", test_sha256},
    {"rows are read as they were written", test_rows_read_as_they_were_written},
    {"lengths from outside", test_lengths_from_outside},
    {"a number identifies one stack", test_a_number_means_one_stack},
    {"stacks are found by their content", test_stacks_are_found_by_what_they_are},
    {"batches of many months go in parts", test_batches_of_many_months_go_in_parts},
    {"values in SQL", test_values_in_sql},
    {"numbers in SQL", test_numbers_in_sql},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo cpt_suites[] = {
    {"store", NULL, NULL, NULL, NULL, store_tests},
    CU_SUITE_INFO_NULL,
};
