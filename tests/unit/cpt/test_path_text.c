/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_path_text.c - names as text: no name breaks a line or looks like another
 * frame */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/cpt_path.h"

#include <string.h>

static void expect_name(const char *name, size_t bytes, const char *expected)
{
    char text[512];

    CU_ASSERT_EQUAL(cpt_text_name((struct cpt_bytes){name, bytes}, text, sizeof text),
                    strlen(expected));
    CU_ASSERT_STRING_EQUAL(text, expected);
}

static void expect_string(const char *name, const char *expected)
{
    expect_name(name, strlen(name), expected);
}

static void test_plain_names_stay(void)
{
    expect_string("", "");
    expect_string("B: Lookup", "B: Lookup");
    expect_string("caf\u00e9 \u20ac \U0001f600", "caf\u00e9 \u20ac \U0001f600");
    expect_string("a<b>c", "a<b>c");
    expect_string("a\u2039b\u203a", "a\u2039b\u203a");
}

static void test_what_breaks_lines_is_escaped(void)
{
    expect_string("a;b", "a\\x3bb");
    expect_string("a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd");
    expect_string("a\\x3b", "a\\x5cx3b");
    expect_string("\x7f\x1b[2J", "\\x7f\\x1b[2J");
    expect_name("a\0b", 3, "a\\x00b");
    expect_string("\xc2\x85", "\\xc2\\x85"); /* a C1 control: next line */
    expect_string("\u00a0", "\u00a0");
}

/* The ends of each range of characters that turn the direction of text or break a line,
 * and their neighbours, which are shown. */
static void test_what_turns_text_is_escaped(void)
{
    static const struct {
        const char *character;
        const char *shown;
    } cases[] = {
        {"\u061b", "\u061b"},
        {"\u061c", "\\xd8\\x9c"},
        {"\u061d", "\u061d"},
        {"\u200d", "\u200d"},
        {"\u200e", "\\xe2\\x80\\x8e"},
        {"\u200f", "\\xe2\\x80\\x8f"},
        {"\u2010", "\u2010"},
        {"\u2027", "\u2027"},
        {"\u2028", "\\xe2\\x80\\xa8"},
        {"\u202a", "\\xe2\\x80\\xaa"},
        {"\u202e", "\\xe2\\x80\\xae"},
        {"\u202f", "\u202f"},
        {"\u2065", "\u2065"},
        {"\u2066", "\\xe2\\x81\\xa6"},
        {"\u2069", "\\xe2\\x81\\xa9"},
        {"\u206a", "\u206a"},
        {"a\u202eb", "a\\xe2\\x80\\xaeb"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_string(cases[i].character, cases[i].shown);
    }
}

static void test_no_name_looks_synthetic(void)
{
    expect_string("\u2039queue\u203a", "\\xe2\\x80\\xb9queue\u203a");
    expect_string("<queue>", "\\x3cqueue>");
    expect_string("\u203aqueue", "\u203aqueue");
}

static void test_what_is_no_utf8_is_escaped(void)
{
    expect_name("\x80", 1, "\\x80");
    expect_name("\xff\xfe", 2, "\\xff\\xfe");
    expect_name("\xc0\xaf", 2, "\\xc0\\xaf");                   /* overlong '/' */
    expect_name("\xe0\x9f\xbf", 3, "\\xe0\\x9f\\xbf");          /* overlong */
    expect_name("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");          /* a surrogate */
    expect_name("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
    expect_name("\xf0\x8f\xbf\xbf", 4, "\\xf0\\x8f\\xbf\\xbf"); /* overlong */
    expect_name("\xe2\x82", 2, "\\xe2\\x82");                   /* cut off */
    expect_name("\xe2\x82x", 3, "\\xe2\\x82x");
    expect_name("\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf"); /* U+10FFFF itself */
}

static void expect_frame(const char *name, unsigned kind, const char *service,
                         const char *expected)
{
    char text[512];

    CU_ASSERT_EQUAL(cpt_text_frame(cpt_bytes_of(name), kind, cpt_bytes_of(service),
                                   text, sizeof text),
                    strlen(expected));
    CU_ASSERT_STRING_EQUAL(text, expected);
}

static void test_frames(void)
{
    expect_frame("B: Lookup", CPT_KIND_WORK, "A", "B: Lookup");
    expect_frame("part", CPT_KIND_WORK, "A", "part");
    expect_frame("", CPT_KIND_BLIND_SPOT, "B", "B: \u2039blind spot\u203a");
    expect_frame("", CPT_KIND_BLIND_SPOT, "", "\u2039blind spot\u203a");
    expect_frame("cache", CPT_KIND_LOCK, "A", "A: \u2039lock: cache\u203a");
    expect_frame("", 200, "B", "B: \u2039kind 200\u203a");
    expect_frame("B: \u2039queue\u203a", CPT_KIND_WORK, "",
                 "B: \\xe2\\x80\\xb9queue\u203a");
    expect_frame("B: <queue>", CPT_KIND_WORK, "", "B: \\x3cqueue>");
    expect_frame("", CPT_KIND_QUEUE, "<B", "\\x3cB: \u2039queue\u203a");
}

static void test_cut_text_counts_on(void)
{
    const struct cpt_bytes name = {"ab\u20accd", 7};
    char text[16];

    for (size_t capacity = 0; capacity <= 9; capacity++) {
        memset(text, 'x', sizeof text);
        CU_ASSERT_EQUAL(cpt_text_name(name, text, capacity), 7);
        CU_ASSERT_EQUAL(text[capacity], 'x'); /* nothing is written beyond it */
        if (capacity != 0) {
            CU_ASSERT_TRUE(strlen(text) < capacity);
            CU_ASSERT_EQUAL(memcmp(text, name.data, strlen(text)), 0);
            CU_ASSERT_NOT_EQUAL(strlen(text), 3); /* no part of a character */
            CU_ASSERT_NOT_EQUAL(strlen(text), 4);
        }
    }
    CU_ASSERT_EQUAL(cpt_text_name(name, NULL, 0), 7);
}

static void test_stacks(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    const struct cpt_bytes none = {NULL, 0};
    uint32_t frame = CPT_FRAME_NONE;
    char text[128];

    (void)cpt_path_frame_add(path, frame, cpt_bytes_of("A: /"), 0, &frame);
    (void)cpt_path_frame_add(path, frame, cpt_bytes_of("x;y"), 0, &frame);
    (void)cpt_path_frame_add(path, frame, cpt_bytes_of("B: z"), 0, &frame);
    (void)cpt_path_frame_add(path, frame, none, CPT_KIND_NETWORK, &frame);
    CU_ASSERT_EQUAL(cpt_path_stack_text(path, frame, text, sizeof text), strlen(text));
    CU_ASSERT_STRING_EQUAL(text,
                           "A: /;x\\x3by;B: z;B: \u2039network+serialization\u203a");
    CU_ASSERT_EQUAL(cpt_path_frame_text(path, frame, text, sizeof text), strlen(text));
    CU_ASSERT_STRING_EQUAL(text, "B: \u2039network+serialization\u203a");
    CU_ASSERT_EQUAL(cpt_path_stack_text(path, 0, text, sizeof text), 4);
    cpt_path_free(path);
}

/* The deepest and most hostile stack takes little time. */
static void test_deepest_stack(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = CPT_FRAME_NONE;
    char name[CPT_NAME_BYTES_MAX];

    memset(name, ':', sizeof name);
    for (int i = 0; i < CPT_PATH_DEPTH_MAX; i++) {
        (void)cpt_path_frame_add(path, frame, (struct cpt_bytes){name, sizeof name},
                                 CPT_KIND_LOCK, &frame);
    }
    for (int i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(
            cpt_path_stack_text(path, frame, NULL, 0),
            CPT_PATH_DEPTH_MAX * (sizeof name + sizeof "\u2039lock: \u203a") - 1);
    }
    cpt_path_free(path);
}

/* Whatever the bytes are, the text is one line of UTF-8 without ';'. */
static void test_any_bytes(void)
{
    struct test_random random = {test_random_seed("text")};

    for (int i = 0; i < 20000; i++) {
        char name[12];
        char text[64];
        const size_t bytes = test_random_below(&random, sizeof name + 1);

        for (size_t at = 0; at < bytes; at++) {
            name[at] = (char)test_random_next(&random);
        }
        CU_ASSERT_FATAL(cpt_text_name((struct cpt_bytes){name, bytes}, text,
                                      sizeof text) == strlen(text));
        CU_ASSERT_FATAL(strpbrk(text, ";\n\r\x7f\x1b") == NULL);
        CU_ASSERT_FATAL(text[0] != '<' && strncmp(text, "\u2039", 3) != 0);
    }
}

extern CU_TestInfo cpt_path_text_tests[];
CU_TestInfo cpt_path_text_tests[] = {
    {"plain names stay as they are", test_plain_names_stay},
    {"what breaks lines and stacks is escaped", test_what_breaks_lines_is_escaped},
    {"what turns the direction of text is escaped", test_what_turns_text_is_escaped},
    {"no name looks like a synthetic frame", test_no_name_looks_synthetic},
    {"bytes that are not UTF-8 are escaped", test_what_is_no_utf8_is_escaped},
    {"a synthetic frame is written after its service", test_frames},
    {"cut text counts all bytes, and splits no character", test_cut_text_counts_on},
    {"a stack is its frames, root first", test_stacks},
    {"the deepest stack takes little time", test_deepest_stack},
    {"any bytes become one line", test_any_bytes},
    CU_TEST_INFO_NULL,
};
