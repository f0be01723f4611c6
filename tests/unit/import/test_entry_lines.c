/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_entry_lines.c - lines of an entry: what they say, and which are refused */
#include "import/bytes/head.h"
#include "import/lines/entry_lines.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/import/text_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 16384 };

#define SHOW(bytes_) (int)(bytes_).bytes, (bytes_).data

static size_t show_line(const struct cpti_entry_line *line, char *to, size_t room)
{
    size_t at = (size_t)snprintf(
        to, room, "%" PRIu64 ":%" PRIu64 "+%" PRIu64 "/%" PRIu64 "|%.*s|%.*s|%.*s|%.*s",
        line->number, line->start_unix_ns, line->latency_ns, line->unit_ns,
        SHOW(line->path), SHOW(line->service), SHOW(line->method), SHOW(line->status));

    at += (size_t)snprintf(to + at, room - at, "|%.*s|%" PRIx64 "|%g%s%s",
                           SHOW(line->trace), line->nonce, line->probability,
                           line->is_forced ? "|forced" : "",
                           line->is_failed ? "|failed" : "");
    for (size_t i = 0; i < line->member_count; i++) {
        const struct cpti_entry_member *member = &line->members[i];

        at += (size_t)snprintf(to + at, room - at, " %.*s=", SHOW(member->key));
        switch (member->type) {
        case CPTI_ENTRY_TEXT:
            at += (size_t)snprintf(to + at, room - at, "%.*s", SHOW(member->text));
            break;
        case CPTI_ENTRY_INTEGER:
            at += (size_t)snprintf(to + at, room - at, "%" PRId64, member->integer);
            break;
        case CPTI_ENTRY_REAL:
            at += (size_t)snprintf(to + at, room - at, "%g", member->real);
            break;
        case CPTI_ENTRY_BOOL:
            at += (size_t)snprintf(to + at, room - at, "%d", member->is_true);
            break;
        }
    }
    return at + (size_t)snprintf(to + at, room - at, ";");
}

/* All lines of @input and all refusals, and how it ended. */
static cpt_status show(const struct cpt_alloc *alloc, struct text_input *input,
                       uint64_t idle_bytes_max, char shown[SHOWN_BYTES],
                       struct cpti_entry_lines_counts *counts)
{
    const struct cpti_entry_lines_options options = {.alloc = alloc,
                                                     .read = text_input_read,
                                                     .context = input,
                                                     .idle_bytes_max = idle_bytes_max};
    struct cpti_entry_lines *lines = cpti_entry_lines_new(&options);
    cpt_status status = lines != NULL ? CPT_OK : CPT_NO_MEMORY;
    struct cpti_entry_line line;
    size_t at = 0;

    shown[0] = '\0';
    while (status == CPT_OK || status == CPT_INVALID) {
        struct cpt_error error = {0};

        status = cpti_entry_lines_next(lines, &line, &error);
        if (status == CPT_OK) {
            at += show_line(&line, shown + at, SHOWN_BYTES - at);
        } else if (status != CPT_END) {
            at += (size_t)snprintf(shown + at, SHOWN_BYTES - at, "%" PRIu64 "! %s;",
                                   line.number, error.sentence);
        }
        if (at > SHOWN_BYTES / 2) {
            break;
        }
    }
    if (lines != NULL && counts != NULL) {
        *counts = *cpti_entry_lines_counts(lines);
    }
    cpti_entry_lines_free(lines);
    return status;
}

static void expect(const char *text, const char *expected)
{
    char shown[SHOWN_BYTES];

    for (size_t step = 1; step < 100; step += 17) {
        struct text_input input = {text, strlen(text), step, 0};

        CU_ASSERT_EQUAL(show(NULL, &input, 0, shown, NULL), CPT_END);
        CU_ASSERT_STRING_EQUAL(shown, expected);
        if (strcmp(shown, expected) != 0) {
            printf("\n%s\n%s\n", shown, expected);
        }
    }
}

/* --- What lines say --- */

static void test_members(void)
{
    expect(
        "{\"time\":1700000000.123,\"latency\":0.25,\"method\":\"GET\",\"status\":200,"
        "\"path\":\"CAE\",\"service\":\"edge\",\"trace_id\":\"0af7\",\"forced\":true,"
        "\"nonce\":\"00000000000000ff\",\"probability\":0.125,\"region\":\"eu\","
        "\"arm\":-3,\"load\":0.5,\"hit\":false}\r\n",
        "1:1700000000123000000+250000000/1000000|CAE|edge|GET|200|0af7|ff|0.125"
        "|forced region=eu arm=-3 load=0.5 hit=0;");
    /* as nginx writes them: texts, "-" and "" for what is not there */
    expect("\n\n{\"end\":\"1700000000.250\",\"latency\":\"0.249\",\"method\":\"-\","
           "\"status\":\"502\",\"path\":\"CAE\",\"service\":\"\",\"nonce\":\"\"}",
           "3:1700000000001000000+249000000/1000000|CAE|||502||0|1|failed;");
    expect(
        "{\"path\":\"a\",\"time\":\"12.0000000019\",\"latency\":0.000002}\n"
        "{\"path\":\"a\",\"time\":0,\"latency\":1e-9,\"failed\":true,"
        "\"status\":\"ok\"}\n"
        "{\"path\":\"a\",\"time\":1,\"latency\":2,\"failed\":false,\"status\":500}\n",
        "1:12000000001+2000/1000|a|||||0|1;"
        "2:0+1/1|a|||ok||0|1|failed;"
        "3:1000000000+2000000000/1000000|a|||500||0|1;");
    /* the last one counts */
    expect("{\"path\":\"a\",\"path\":\"b\",\"time\":1,\"time\":2,\"latency\":3}",
           "1:2000000000+3000000000/1000000|b|||||0|1;");
}

static void test_counts(void)
{
    static const char text[] =
        "{\"time\":1,\"latency\":1,\"path\":\"\"}\n"
        "{\"time\":1,\"latency\":1,\"path\":null}\n"
        "{\"time\":1,\"latency\":1}\n"
        "{\"time\":1,\"latency\":1,\"path\":\"a\",\"l\":[],\"o\":{},\"n\":null,"
        "\"cpt.x\":1,\"\":2,\"bad\":\"\xff\"}\n"
        "x\n";
    struct text_input input = {text, sizeof text - 1, 7, 0};
    struct cpti_entry_lines_counts counts;
    char shown[SHOWN_BYTES];

    CU_ASSERT_EQUAL(show(NULL, &input, 0, shown, &counts), CPT_END);
    CU_ASSERT_STRING_EQUAL(shown,
                           "4:1000000000+1000000000/1000000|a|||||0|1 bad=\xef\xbf\xbd;"
                           "5! no object of JSON;");
    CU_ASSERT_EQUAL(counts.lines, 5);
    CU_ASSERT_EQUAL(counts.pathless, 3);
    CU_ASSERT_EQUAL(counts.refused, 1);
    CU_ASSERT_EQUAL(counts.left_members, 4);
    CU_ASSERT_EQUAL(counts.replaced, 1);
}

/* More members than a record takes, and longer ones. */
static void test_room(void)
{
    enum { LONG = 1024, BYTES = 200000 };
    char *text = malloc(BYTES);
    struct text_input input = {text, 0, 4096, 0};
    struct cpti_entry_lines_counts counts;
    char shown[SHOWN_BYTES];
    size_t at = 0;

    at += (size_t)sprintf(text, "{\"time\":1,\"latency\":1,\"path\":\"a\"");
    for (unsigned i = 0; i < 5; i++) { /* the last is over 4,096 bytes in all */
        at += (size_t)sprintf(text + at, ",\"k%u\":\"%0*u\"", i, LONG - 3, i);
    }
    at += (size_t)sprintf(text + at, ",\"k\":\"%0*u\"", LONG + 1, 7);
    for (unsigned i = 0; i < 40; i++) {
        at += (size_t)sprintf(text + at, ",\"%c\":%u", '0' + (char)i, i);
    }
    at += (size_t)sprintf(text + at, "}");
    input.bytes = at;
    CU_ASSERT_EQUAL(show(NULL, &input, 0, shown, &counts), CPT_END);
    CU_ASSERT_EQUAL(counts.left_members, 2 + 40 - (4096 - 4 * (LONG - 1)));
    free(text);
}

/* --- What is refused --- */

static void test_refused(void)
{
    expect("[]\n{\"time\":1}\n{\"latency\":1}\n", "1! no object of JSON;"
                                                  "2! no \"latency\", a number of "
                                                  "seconds;"
                                                  "3! neither \"time\", when it began, "
                                                  "nor \"end\";");
    expect("{\"time\":-1,\"latency\":1}\n{\"time\":1e300,\"latency\":1}\n"
           "{\"time\":\"1.\",\"latency\":1}\n{\"time\":\"x\",\"latency\":1}\n"
           "{\"time\":9223372036854775807,\"latency\":1}\n"
           "{\"time\":-9223372036854775808,\"latency\":1}\n"
           "{\"time\":true,\"latency\":1}\n",
           "1! \"time\" is no number of seconds since 1970;"
           "2! \"time\" is no number of seconds since 1970;"
           "3! \"time\" is no number of seconds since 1970;"
           "4! \"time\" is no number of seconds since 1970;"
           "5! \"time\" is no number of seconds since 1970;"
           "6! \"time\" is no number of seconds since 1970;"
           "7! \"time\" is no number of seconds since 1970;");
    expect("{\"end\":1,\"latency\":2}\n{\"time\":9e9,\"latency\":9e9}\n"
           "{\"end\":\"y\",\"latency\":2}\n{\"time\":1,\"latency\":{}}\n"
           "{\"time\":1,\"latency\":\"0.1, 0.2\"}\n",
           "1! \"end\" is less than the latency;"
           "2! \"latency\" ends after the year 2262;"
           "3! \"end\" is no number of seconds since 1970;"
           "4! \"latency\" is no number of seconds;"
           "5! \"latency\" is no number of seconds;");
    expect("{\"probability\":0}\n{\"probability\":1.5}\n{\"probability\":\"x\"}\n"
           "{\"nonce\":\"FF\"}\n{\"nonce\":\"0000000000000000\"}\n{\"status\":1.5}\n"
           "{\"method\":7}\n{\"path\":[\"a\"]}\n",
           "1! \"probability\" is not above 0 and at most 1;"
           "2! \"probability\" is not above 0 and at most 1;"
           "3! \"probability\" is not above 0 and at most 1;"
           "4! \"nonce\" is not 16 hexadecimal digits;"
           "5! \"nonce\" is not 16 hexadecimal digits;"
           "6! \"status\" is no text or whole number;"
           "7! \"method\" is no text;"
           "8! \"path\" is no text;");
}

/* A line that is too long costs itself; an endless file ends. */
static void test_long(void)
{
    static const char good[] = "{\"time\":1,\"latency\":1,\"path\":\"a\"}\n";
    const size_t line_bytes = (1 << 20) + 2;
    const size_t bytes = line_bytes + sizeof good - 1;
    char *text = malloc(bytes);
    struct text_input input = {text, bytes, 65536, 0};
    char shown[SHOWN_BYTES];

    memset(text, '{', line_bytes);
    text[line_bytes - 1] = '\n';
    memcpy(text + line_bytes, good, sizeof good - 1);
    CU_ASSERT_EQUAL(show(NULL, &input, 0, shown, NULL), CPT_END);
    CU_ASSERT_STRING_EQUAL(shown, "1! longer than 1048576 bytes;"
                                  "2:1000000000+1000000000/1000000|a|||||0|1;");
    input.at = 0;
    CU_ASSERT_EQUAL(show(NULL, &input, 100000, shown, NULL), CPT_CORRUPT);
    CU_ASSERT_STRING_EQUAL(shown, "0! no line of an entry in 131072 bytes; the rest is "
                                  "not read;");
    free(text);
}

/* --- Which files are such lines --- */

static bool is_recognised(const char *text, size_t bytes)
{
    struct text_input input = {text, bytes, 100, 0};
    struct cpti_head head;
    char again[4096];
    size_t all = 0;
    size_t count = 1;
    bool is;

    CU_ASSERT_EQUAL_FATAL(cpti_head_init(&head, NULL, text_input_read, &input), CPT_OK);
    is = cpti_entry_lines_recognise(NULL, cpti_head_read, &head);
    cpti_head_rewind(&head);
    while (count > 0 && all < sizeof again) {
        CU_ASSERT_EQUAL(cpti_head_read(&head, again + all, sizeof again - all, &count),
                        CPT_OK);
        all += count;
    }
    CU_ASSERT_EQUAL(all, bytes);
    CU_ASSERT_EQUAL(memcmp(text, again, bytes), 0);
    cpti_head_deinit(&head);
    return is;
}

static void test_recognise(void)
{
#define IS(text) is_recognised(text, sizeof(text) - 1)
    CU_ASSERT_TRUE(IS("{\"time\":1,\"latency\":1,\"path\":\"\"}"));
    CU_ASSERT_TRUE(IS("torn\"}\n\n{\"end\":1,\"latency\":1,\"path\":\"\"}\n"));
    CU_ASSERT_FALSE(IS("{\"time\":1,\"latency\":1}\n"));
    CU_ASSERT_FALSE(IS("{\"latency\":1,\"path\":\"\"}\n"));
    CU_ASSERT_FALSE(IS("{\"data\":[{\"traceID\":\"a\",\"latency\":[],\"path\":1,"
                       "\"time\":1}]}"));
    CU_ASSERT_FALSE(IS(""));
    CU_ASSERT_FALSE(IS("\x1f\x8b\x08"));
    CU_ASSERT_FALSE(IS("\n\n\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n"
                       "{}\n{}\n{\"time\":1,\"latency\":1,\"path\":\"\"}"));
#undef IS
}

static bool scenario(const struct cpt_alloc *alloc)
{
    static const char text[] = "{\"time\":1,\"latency\":1,\"path\":\"a\"}\n";
    struct text_input input = {text, sizeof text - 1, 5, 0};
    char shown[SHOWN_BYTES];
    const cpt_status status = show(alloc, &input, 0, shown, NULL);

    CU_ASSERT(status == CPT_END || status == CPT_NO_MEMORY);
    return status == CPT_END;
}

static void test_memory(void)
{
    each_allocation_failure(scenario);
}

CU_TestInfo cpt_entry_lines_tests[] = {
    {"what lines say", test_members}, {"what is counted", test_counts},
    {"room for members", test_room},  {"refused lines", test_refused},
    {"long lines", test_long},        {"which files", test_recognise},
    {"without memory", test_memory},  CU_TEST_INFO_NULL,
};
