/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_ask.c - the header by which a caller asks for a path */
#include "wire/cpt_metadata.h"

#include "tests/support/suites.h"

#include <string.h>

static cpt_status parse(const char *value, struct cpt_ask *ask)
{
    const struct cpt_bytes bytes = cpt_bytes_of(value);

    return cpt_ask_parse(&bytes, 1, ask, NULL);
}

static void test_well_formed_asks(void)
{
    static const struct {
        const char *value;
        unsigned version;
        size_t bytes_max;
        int is_forced;
    } rows[] = {
        {"1", 1, 2048, 0},
        {" 1 ", 1, 2048, 0},
        {"1;max=700", 1, 700, 0},
        {"1;max=0", 1, 0, 0},
        {"1;forced", 1, 2048, 1},
        {"1;forced=?1", 1, 2048, 1},
        {"1;forced=?0", 1, 2048, 0},
        {"1; max=4096;  forced", 1, 4096, 1},
        {"1;max=5;max=6", 1, 6, 0},
        {"1;forced;forced=?0", 1, 2048, 0},
        {"2;max=100", 2, 100, 0},
        {"1;colour=\"a \\\"b\\\"\";max=9", 1, 9, 0},
        {"1;x=*tok/en:1;y=:aGk=:;z=-1.5;*k-e_y.1=?0;max=9", 1, 9, 0},
        {"1;max=999999999999999", 1, INT32_MAX, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cpt_ask ask;

        CU_ASSERT_EQUAL(parse(rows[i].value, &ask), CPT_OK);
        CU_ASSERT_EQUAL(ask.version, rows[i].version);
        CU_ASSERT_EQUAL(ask.bytes_max, rows[i].bytes_max);
        CU_ASSERT_EQUAL(ask.is_forced, rows[i].is_forced);
    }
}

static void test_malformed_asks_are_none(void)
{
    static const char *const values[] = {
        "",
        " ",
        "yes",
        "?1",
        "0",
        "-1",
        "1.0",
        "1.",
        "01x",
        "1,1",
        "1;",
        "1;;max=1",
        "1;Max=1",
        "1;max",
        "1;max=",
        "1;max=-1",
        "1;max=1.5",
        "1;max=\"1\"",
        "1;forced=1",
        "1;forced=yes",
        "1 ;max=1",
        "1;max =1",
        "1;x=\"",
        "1;x=\"a\\n\"",
        "1;x=:aGk",
        "1;x=?2",
        "1;x=?",
        "1;x=1.2345",
        "\t1",
        "1\t",
        "1;max=1;",
        "1;1=1",
        "--1",
        "1;max=1000000000000000",
        "99999999999",
        "1;x=\"\x7f\"",
        "1\xff",
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct cpt_ask ask = {7, 7, 7};

        CU_ASSERT_EQUAL(parse(values[i], &ask), CPT_CORRUPT);
        CU_ASSERT_EQUAL(ask.version, 0);
        CU_ASSERT_EQUAL(ask.bytes_max, 0);
    }
}

static void test_no_header_and_two_headers(void)
{
    const struct cpt_bytes two[] = {cpt_bytes_of("1"), cpt_bytes_of("1")};
    struct cpt_ask ask;
    struct cpt_error error = {0};

    CU_ASSERT_EQUAL(cpt_ask_parse(NULL, 0, &ask, &error), CPT_END);
    CU_ASSERT_EQUAL(ask.version, 0);
    CU_ASSERT_EQUAL(cpt_ask_parse(two, 2, &ask, &error), CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "there are 2 headers critical-path, not one");
}

static void test_length_limit(void)
{
    char text[CPT_ASK_BYTES_MAX + 2];

    for (size_t bytes = CPT_ASK_BYTES_MAX - 1; bytes <= CPT_ASK_BYTES_MAX + 1;
         bytes++) {
        const struct cpt_bytes value = {text, bytes};
        struct cpt_ask ask;

        memset(text, 'x', sizeof text);
        memcpy(text, "1;", 2);
        CU_ASSERT_EQUAL(cpt_ask_parse(&value, 1, &ask, NULL),
                        bytes <= CPT_ASK_BYTES_MAX ? CPT_OK : CPT_CORRUPT);
    }
}

static void test_every_prefix_ends_well(void)
{
    const char *value = "1;max=2048;x=\"a\\\\\";y=:aGk=:;z=-1.5;forced=?1";
    char copy[64];

    for (size_t bytes = 0; bytes < strlen(value); bytes++) {
        struct cpt_bytes part = {copy + sizeof copy - bytes, bytes};
        struct cpt_ask ask;

        memcpy(copy + sizeof copy - bytes, value, bytes); /* sanitizers see overreads */
        (void)cpt_ask_parse(&part, 1, &ask, NULL);
    }
}

static void test_the_lower_budget_goes_down(void)
{
    const struct cpt_ask received = {.version = 1, .bytes_max = 700, .is_forced = 1};
    const struct cpt_ask no_ask = {0};
    char text[64];
    struct cpt_ask ask = cpt_ask_downstream(&received, 0);

    CU_ASSERT_EQUAL(ask.bytes_max, 700);
    CU_ASSERT_FALSE(ask.is_forced);
    CU_ASSERT_EQUAL(cpt_ask_format(&ask, text, sizeof text), 9);
    CU_ASSERT_STRING_EQUAL(text, "1;max=700");
    CU_ASSERT_EQUAL(cpt_ask_downstream(&received, 500).bytes_max, 500);
    CU_ASSERT_EQUAL(cpt_ask_downstream(NULL, 0).bytes_max, 2048);
    CU_ASSERT_EQUAL(cpt_ask_downstream(&no_ask, 3000).bytes_max, 3000);
    cpt_ask_format(&received, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "1;max=700;forced");
}

/* The delay of an experiment goes down as it came; a malformed one is none. */
static void test_delay(void)
{
    static const char *const none[] = {"1;delay=5000000",
                                       "1;at=\"9f86d081884c7d65\"",
                                       "1;delay=-1;at=\"9f86d081884c7d65\"",
                                       "1;delay=0;at=\"9f86d081884c7d65\"",
                                       "1;delay=5.5;at=\"9f86d081884c7d65\"",
                                       "1;delay;at=\"9f86d081884c7d65\"",
                                       "1;delay=5;at=\"9F86d081884c7d65\"",
                                       "1;delay=5;at=\"9f86d081884c7d6\"",
                                       "1;delay=5;at=\"0000000000000000\"",
                                       "1;delay=5;at=f86d081884c7d65f9",
                                       "1;delay=5;at=\"9f86d081884c7d65\";delay=0",
                                       "1;burn"};
    static const char full[] = "1;max=700;delay=5000000;at=\"9f86d081884c7d65\";burn";
    struct cpt_bytes value = cpt_bytes_of(full);
    struct cpt_ask ask;
    char text[128];

    CU_ASSERT_EQUAL(cpt_ask_parse(&value, 1, &ask, NULL), CPT_OK);
    CU_ASSERT_EQUAL(ask.delay_ns, 5000000);
    CU_ASSERT_EQUAL(ask.delay_frame, UINT64_C(0x9f86d081884c7d65));
    CU_ASSERT_TRUE(ask.delay_burns);
    ask = cpt_ask_downstream(&ask, 0);
    CU_ASSERT_EQUAL(cpt_ask_format(&ask, text, sizeof text), sizeof full - 1);
    CU_ASSERT_STRING_EQUAL(text, full);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        value = cpt_bytes_of(none[i]);
        CU_ASSERT_EQUAL(cpt_ask_parse(&value, 1, &ask, NULL), CPT_OK);
        CU_ASSERT_EQUAL(ask.delay_ns, 0);
        CU_ASSERT_FALSE(ask.delay_burns);
        ask = cpt_ask_downstream(&ask, 0);
        (void)cpt_ask_format(&ask, text, sizeof text);
        CU_ASSERT_STRING_EQUAL(text, "1;max=2048");
    }
}

static void test_drag_and_graph(void)
{
    static const struct {
        const char *value;
        uint64_t graph_id;
        int wants_drag;
    } rows[] = {
        {"1;max=2048;drag;graph=\"9f86d081884c7d65\"", 0x9f86d081884c7d65, 1},
        {"1;drag", 0, 1},
        {"1;drag=?1", 0, 1},
        {"1;drag=?0", 0, 0},
        {"1;drag;drag=?0", 0, 0},
        {"1;graph=\"0000000000000001\"", 1, 0},
        {"1;graph=\"ffffffffffffffff\";drag", UINT64_MAX, 1},
        {"1;graph=\"0000000000000001\";graph=\"0000000000000002\"", 2, 0},
        /* as if absent */
        {"1;drag=1", 0, 0},
        {"1;drag=yes", 0, 0},
        {"1;graph", 0, 0},
        {"1;graph=9", 0, 0},
        {"1;graph=abcdefabcdefabcd", 0, 0},
        {"1;graph=\"0000000000000000\"", 0, 0},
        {"1;graph=\"000000000000001\"", 0, 0},
        {"1;graph=\"00000000000000001\"", 0, 0},
        {"1;graph=\"000000000000000A\"", 0, 0},
        {"1;graph=\"00000000000000g1\"", 0, 0},
        {"1;graph=\"\"", 0, 0},
        {"1;graph=\"0000000000000001\";graph=\"x\"", 0, 0},
        {"1;Graph", 0, -1},
        {"1;graph=\"0000000000000001", 0, -1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cpt_ask ask;

        CU_ASSERT_EQUAL(parse(rows[i].value, &ask),
                        rows[i].wants_drag >= 0 ? CPT_OK : CPT_CORRUPT);
        CU_ASSERT_EQUAL(ask.graph_id, rows[i].graph_id);
        CU_ASSERT_EQUAL(ask.wants_drag, rows[i].wants_drag > 0);
    }
}

static void test_drags_go_down(void)
{
    const struct cpt_ask received = {
        .version = 1, .bytes_max = 700, .wants_drag = 1, .graph_id = 5};
    const struct cpt_ask no_version = {.wants_drag = 1};
    struct cpt_ask ask = cpt_ask_downstream(&received, 0);
    char text[64];

    CU_ASSERT_TRUE(ask.wants_drag);
    CU_ASSERT_EQUAL(ask.graph_id, 0);
    CU_ASSERT_FALSE(cpt_ask_downstream(NULL, 0).wants_drag);
    CU_ASSERT_FALSE(cpt_ask_downstream(&no_version, 0).wants_drag);
    (void)cpt_ask_format(&ask, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "1;max=700;drag");
    ask.graph_id = 0x1f;
    (void)cpt_ask_format(&ask, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "1;max=700;drag;graph=\"000000000000001f\"");
}

/* 64 bytes are enough for the longest ask without a delay; it is read as written. */
static void test_the_longest_ask_fits(void)
{
    const struct cpt_ask longest = {.version = UINT32_MAX,
                                    .is_forced = 1,
                                    .bytes_max = SIZE_MAX,
                                    .wants_drag = 1,
                                    .graph_id = UINT64_MAX};
    struct cpt_ask ask = {.version = INT32_MAX,
                          .is_forced = 1,
                          .bytes_max = INT32_MAX,
                          .wants_drag = 1,
                          .graph_id = UINT64_MAX};
    struct cpt_ask back;
    char text[64];

    CU_ASSERT_EQUAL(cpt_ask_format(&longest, text, sizeof text), 62);
    CU_ASSERT_EQUAL(strlen(text), 62);
    CU_ASSERT_EQUAL(cpt_ask_format(&ask, text, sizeof text), 62);
    CU_ASSERT_EQUAL(parse(text, &back), CPT_OK);
    CU_ASSERT_EQUAL(back.version, ask.version);
    CU_ASSERT_EQUAL(back.bytes_max, ask.bytes_max);
    CU_ASSERT_TRUE(back.is_forced && back.wants_drag);
    CU_ASSERT_EQUAL(back.graph_id, ask.graph_id);
}

/* --- The nonce --- */

static uint64_t nonce_of(const char *value)
{
    const struct cpt_bytes bytes = cpt_bytes_of(value);

    return cpt_nonce_parse(&bytes, 1);
}

static void test_a_nonce_is_16_hex_digits(void)
{
    static const char *const none[] = {
        "",
        "0",
        "0000000000000000",
        "9f86d081884c7d6",
        "9f86d081884c7d650",
        "9F86D081884C7D65",
        "9f86d081884c7d6g",
        " 9f86d081884c7d65",
        "9f86d081884c7d65 ",
        "\"9f86d081884c7d65\"",
        "0x86d081884c7d65",
        "-f86d081884c7d65",
        "9f86d081884c7d65,9f86d081884c7d65",
        "9f86d081884c7d65, 9f86d081884c7d65",
    };

    CU_ASSERT_EQUAL(nonce_of("9f86d081884c7d65"), UINT64_C(0x9f86d081884c7d65));
    CU_ASSERT_EQUAL(nonce_of("0000000000000001"), 1);
    CU_ASSERT_EQUAL(nonce_of("ffffffffffffffff"), UINT64_MAX);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        CU_ASSERT_EQUAL(nonce_of(none[i]), 0);
    }
    CU_ASSERT_EQUAL(cpt_nonce_parse(&(struct cpt_bytes){"9f86d081884c7d6\0", 16}, 1),
                    0);
}

static void test_no_nonce_and_two_nonces(void)
{
    const struct cpt_bytes two[] = {cpt_bytes_of("9f86d081884c7d65"),
                                    cpt_bytes_of("9f86d081884c7d65")};

    CU_ASSERT_EQUAL(cpt_nonce_parse(NULL, 0), 0);
    CU_ASSERT_EQUAL(cpt_nonce_parse(two, 1), UINT64_C(0x9f86d081884c7d65));
    CU_ASSERT_EQUAL(cpt_nonce_parse(two, 2), 0);
}

static void test_a_written_nonce_is_read(void)
{
    char text[CPT_NONCE_BYTES + 1];
    uint64_t nonce = 1;

    for (int i = 0; i < 1000; i++) {
        cpt_nonce_format(nonce, text);
        CU_ASSERT_EQUAL(strlen(text), CPT_NONCE_BYTES);
        CU_ASSERT_EQUAL(nonce_of(text), nonce);
        nonce = nonce * UINT64_C(6364136223846793005) + 1442695040888963407;
    }
}

CU_TestInfo cpt_ask_tests[] = {
    {"well-formed asks are read", test_well_formed_asks},
    {"malformed asks are none", test_malformed_asks_are_none},
    {"no header is none, two are a mistake", test_no_header_and_two_headers},
    {"the length has a limit", test_length_limit},
    {"no prefix of an ask is read beyond its end", test_every_prefix_ends_well},
    {"the lower budget goes down, forcing does not", test_the_lower_budget_goes_down},
    {"the delay of an experiment", test_delay},
    {"drag and graph are read, and skipped if malformed", test_drag_and_graph},
    {"drags are asked for further down, graphs are not", test_drags_go_down},
    {"the longest ask has 62 bytes", test_the_longest_ask_fits},
    {"a nonce is 16 hex digits, not all 0", test_a_nonce_is_16_hex_digits},
    {"no nonce is none, and so are two", test_no_nonce_and_two_nonces},
    {"a nonce that was written is read", test_a_written_nonce_is_read},
    CU_TEST_INFO_NULL,
};
