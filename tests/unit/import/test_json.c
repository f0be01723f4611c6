/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_json.c - what is JSON and where it is none: the same with each library */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "import/bytes/json.h"
#include "import/bytes/json_fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 16 << 10, CASES = 20000 };

/* What the library of this build says of @count bytes at @text. */
static cpt_status parse(const char *text, size_t count, struct cpt_error *error)
{
    static char padded[TEXT_BYTES_MAX + CPTI_DOC_PADDING];
    struct cpti_doc *json = cpti_doc_new();
    struct cpti_doc_value root;
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_FATAL(count <= TEXT_BYTES_MAX);
    memset(padded, 0, sizeof padded);
    memcpy(padded, text, count);
    status = cpti_doc_parse(json, padded, count, &root, error);
    cpti_doc_free(json);
    return status;
}

static void expect_fault(const char *text, size_t count, size_t at, const char *what)
{
    struct cpt_error error = {0};
    char sentence[128];

    (void)snprintf(sentence, sizeof sentence, "not JSON: %s", what);
    CU_ASSERT_EQUAL(parse(text, count, &error), CPT_CORRUPT);
    CU_ASSERT_EQUAL(error.offset, at);
    CU_ASSERT_STRING_EQUAL(error.sentence, sentence);
    if (error.offset != at || strcmp(error.sentence, sentence) != 0) {
        printf("\n  of %s\n  got byte %d: %s\n", text, (int)error.offset,
               error.sentence);
    }
}

static void test_places(void)
{
    static const struct {
        const char *text;
        size_t at;
        const char *what;
    } cases[] = {
        {"", 0, "it ends where a value is expected"},
        {" [ ", 3, "it ends where a value is expected"},
        {"{\"a\":", 5, "it ends where a value is expected"},
        {"[1,]", 3, "a value is expected"},
        {"nul", 0, "a value is expected"},
        {"[nan]", 1, "a value is expected"},
        {"\357\273\277[1]", 0, "a value is expected"},
        {"truex", 4, "more behind the value"},
        {"1 2", 2, "more behind the value"},
        {"[1]]", 3, "more behind the value"},
        {"{\"a\":1,}", 7, "a key is expected"},
        {"{1:2}", 1, "a key is expected"},
        {"{", 1, "a key is expected"},
        {"{\"a\" 1}", 5, "a ':' is expected"},
        {"[1}", 2, "a ',' or ']' is expected"},
        {"[{\"a\":[] ]", 9, "a ',' or '}' is expected"},
        {"[01]", 1, "a number that begins with 0"},
        {"[-]", 2, "a number without a digit that it needs"},
        {"[1.]", 3, "a number without a digit that it needs"},
        {"[1e+]", 4, "a number without a digit that it needs"},
        {"[1, \"a", 6, "a string that does not end"},
        {"[\"\\", 2, "an escape that JSON does not have"},
        {"\"\\x\"", 1, "an escape that JSON does not have"},
        {"\"\\u12G4\"", 1, "an escape that JSON does not have"},
        {"\"ab\001\"", 3, "a control character in a string"},
        {"[\"\\ud800\", \"\377\" 1]", 15, "a ',' or ']' is expected"},
        {"[\"\\ud8\"]", 2, "an escape that JSON does not have"},
        {"[1, \377]", 4, "a value is expected"},
        {"[1e999]", 0, "a number or a key that does not fit"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_fault(cases[i].text, strlen(cases[i].text), cases[i].at, cases[i].what);
    }
    expect_fault("[\"a\0\"]", 7, 3, "a control character in a string");
}

/* What is no character becomes U+FFFD, and is counted; all else stays. */
static void test_mended(void)
{
    static const struct {
        const char *text;
        const char *read;
        unsigned replaced;
    } cases[] = {
        {"\"\\ud83d\\ude00 \303\251 \360\237\230\200\"",
         "\360\237\230\200 \303\251 \360\237\230\200", 0},
        {"\"x\\ud800y\"", "x\357\277\275y", 1},
        {"\"\\udc00\"", "\357\277\275", 1},
        {"\"\\ud800\\ud800\"", "\357\277\275\357\277\275", 2},
        {"\"\\ud83d\\ud83d\\ude00\"", "\357\277\275\360\237\230\200", 1},
        {"\"\\ude00\\ud83d\"", "\357\277\275\357\277\275", 2},
        {"\"\\ud800\\n\\u00e9\"", "\357\277\275\n\303\251", 1},
        {"\"caf\351\"", "caf\357\277\275", 1},
        {"\"caf\303\"", "caf\357\277\275", 1},
        {"\"\303(\"", "\357\277\275(", 1},
        {"\"\300\200\"", "\357\277\275\357\277\275", 2},
        {"\"\342\202\"", "\357\277\275", 1},
        {"\"\342\202\342\202\254\"", "\357\277\275\342\202\254", 1},
        {"\"\360\237\230\"", "\357\277\275", 1},
        {"\"\355\240\200\"", "\357\277\275\357\277\275\357\277\275", 3},
        {"\"\364\220\200\200\"", "\357\277\275\357\277\275\357\277\275\357\277\275", 4},
        {"\"\377\\\"\376\"", "\357\277\275\"\357\277\275", 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cpti_doc *json = cpti_doc_new();
        struct cpti_doc_value root;
        char padded[256] = {0};

        CU_ASSERT_PTR_NOT_NULL_FATAL(json);
        (void)snprintf(padded, sizeof padded, "%s", cases[i].text);
        CU_ASSERT_EQUAL_FATAL(
            cpti_doc_parse(json, padded, strlen(cases[i].text), &root, NULL), CPT_OK);
        CU_ASSERT_TRUE(
            cpt_bytes_equal(cpti_doc_string(root), cpt_bytes_of(cases[i].read)));
        CU_ASSERT_EQUAL(cpti_doc_replaced(json), cases[i].replaced);
        /* the next one is its own */
        padded[0] = '1';
        CU_ASSERT_EQUAL(cpti_doc_parse(json, padded, 1, &root, NULL), CPT_OK);
        CU_ASSERT_EQUAL(cpti_doc_replaced(json), 0);
        cpti_doc_free(json);
    }
}

/* Nor does JSON that a library cannot hold cost what is around it. */
static void test_unusual(void)
{
    static const char text[] =
        "{\"a\\u0000b\": 1, \"large\": [18446744073709551615, 9223372036854775808, "
        "-9223372036854775808, 123456789012345678901234567890], \"c\": \"\\u0000\"}";
    char padded[sizeof text + CPTI_DOC_PADDING] = {0};
    struct cpti_doc *json = cpti_doc_new();
    struct cpti_doc_value root;
    struct cpti_doc_member member;
    int64_t number = 0;
    double real = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    memcpy(padded, text, sizeof text);
    CU_ASSERT_EQUAL_FATAL(cpti_doc_parse(json, padded, sizeof text - 1, &root, NULL),
                          CPT_OK);
    CU_ASSERT_EQUAL(cpti_doc_replaced(json), 0);
    CU_ASSERT_EQUAL(cpti_doc_string(cpti_doc_get(root, "c")).bytes, 1);
    CU_ASSERT_TRUE_FATAL(cpti_doc_first(cpti_doc_get(root, "large"), &member));
    CU_ASSERT_FALSE(cpti_doc_integer(member.value, &number));
    CU_ASSERT_TRUE(cpti_doc_real(member.value, &real));
    CU_ASSERT_DOUBLE_EQUAL(real, 18446744073709551616.0, 1);
    CU_ASSERT_TRUE(cpti_doc_next(&member));
    CU_ASSERT_FALSE(cpti_doc_integer(member.value, &number));
    CU_ASSERT_TRUE(cpti_doc_next(&member));
    CU_ASSERT_TRUE(cpti_doc_next(&member));
    CU_ASSERT_TRUE(cpti_doc_real(member.value, &real));
    CU_ASSERT_DOUBLE_EQUAL(real, 1.2345678901234568e29, 1e14);
    cpti_doc_free(json);
}

/* What a text takes is bounded, whatever it is made of, and each takes from the same
 * bound. */
static void test_bound(void)
{
    static const char *const pieces[] = {"[],", "{},", "1,", "\"a\",", "{\"a\":[]},"};
    static char text[TEXT_BYTES_MAX + CPTI_DOC_PADDING];

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const size_t bytes = strlen(pieces[i]);
        struct cpti_doc *json = cpti_doc_new();
        struct cpti_doc_value root;
        struct cpt_error error = {0};
        size_t left = 4 << 20;
        size_t parsed = 0;
        size_t used = 1;

        CU_ASSERT_PTR_NOT_NULL_FATAL(json);
        memset(text, 0, sizeof text);
        for (text[0] = '['; used + bytes < TEXT_BYTES_MAX; used += bytes) {
            memcpy(text + used, pieces[i], bytes);
        }
        text[used - 1] = ']';
        cpti_doc_bound(json, &left);
        while (cpti_doc_parse(json, text, used, &root, &error) == CPT_OK &&
               parsed < 4096) {
            const size_t before = left;

            parsed++;
            CU_ASSERT_TRUE(left < 4 << 20 && left <= before);
        }
        CU_ASSERT_TRUE(parsed >= 2 && parsed < 4096);
        CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
        CU_ASSERT_STRING_EQUAL(error.sentence, "too much JSON");
        CU_ASSERT_EQUAL(cpti_doc_type(root), CPTI_DOC_NONE);
        cpti_doc_bound(json, NULL);
        CU_ASSERT_EQUAL(cpti_doc_parse(json, text, used, &root, &error), CPT_OK);
        cpti_doc_free(json);
    }
}

/* A text of @depth open containers and as many that are closed, one byte each. */
static size_t nest(char *text, size_t depth)
{
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    return 2 * depth;
}

static void test_depth(void)
{
    static char text[2 * (CPTI_DOC_DEPTH_MAX + 1)];

    CU_ASSERT_EQUAL(parse(text, nest(text, CPTI_DOC_DEPTH_MAX - 1), NULL), CPT_OK);
    expect_fault(text, nest(text, CPTI_DOC_DEPTH_MAX + 1), CPTI_DOC_DEPTH_MAX,
                 "containers that are nested too deep");
}

/* Changes some bytes of @text, which has @count, to those that matter in JSON. */
static void spoil(struct test_random *random, char *text, size_t count)
{
    static const char bytes[] = "{}[]:,\"\\ueE+-.019tfn \n\001\177\200\300\355\240\364";
    const uint64_t changes = 1 + test_random_below(random, 3);

    for (uint64_t i = 0; i < changes; i++) {
        text[test_random_below(random, count)] =
            bytes[test_random_below(random, sizeof bytes - 1)];
    }
}

/* Whether what is mended of @text has nothing left to mend. */
static bool stays_mended(const char *text, size_t bytes)
{
    struct cpti_json_mended mended;
    struct cpti_json_fault fault;
    bool is = false;

    if (cpti_json_mend(text, bytes, &mended, NULL) != CPT_OK) {
        return true; /* there is another fault, or none */
    }
    is = !cpti_json_fault_find(mended.text, mended.bytes, &fault) && fault.changed == 0;
    cpti_json_mended_free(&mended);
    return is;
}

/* A text is refused by the library if and only if it breaks a rule. */
static void test_random_texts(void)
{
    static const char whole[] =
        "{\"a\\u00e9\\ud83d\\ude00\": [1, -2.5e+3, 0, true, false, null, \"\303\251\"],"
        " \"b\": {\"c\\n\": {}, \"d\": [[], [{\"e\": \"\\\\\\\"/\"}]]}}";
    const uint64_t seed = test_random_seed("JSON");
    const uint64_t count = test_environment_number("CPT_TEST_CASES", CASES);

    for (uint64_t i = 0; i < count; i++) {
        struct test_random random = {seed + i};
        const size_t bytes = test_random_chance(&random, 80)
                                 ? sizeof whole - 1
                                 : 1 + test_random_below(&random, sizeof whole - 1);
        struct cpti_json_fault fault;
        struct cpt_error error = {0};
        char text[sizeof whole];
        cpt_status status = CPT_OK;

        memcpy(text, whole, sizeof whole);
        spoil(&random, text, bytes);
        status = cpti_json_fault_find(text, bytes, &fault) ? CPT_CORRUPT : CPT_OK;
        if ((parse(text, bytes, &error) != status &&
             strstr(error.sentence, "does not fit") == NULL) ||
            !stays_mended(text, bytes)) {
            printf("\nCPT_TEST_SEED=%llu CPT_TEST_CASES=1: %.*s\n",
                   (unsigned long long)(seed + i), (int)bytes, text);
            CU_FAIL("the library and the rules differ");
            return;
        }
    }
}

CU_TestInfo cpt_json_tests[] = {
    {"each fault has its place and its reason, whatever the library", test_places},
    {"what is no character becomes U+FFFD and is counted", test_mended},
    {"numbers and keys that do not fit cost nothing else", test_unusual},
    {"the memory of texts of strangers has a bound", test_bound},
    {"nesting has a limit", test_depth},
    {"what the rules refuse, the library refuses, and nothing else", test_random_texts},
    CU_TEST_INFO_NULL,
};
