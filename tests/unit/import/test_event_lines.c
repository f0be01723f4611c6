/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_event_lines.c - files of CSV as events, and what is left of broken ones */
#include "import/lines/event_lines.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/import/text_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 4096 };

#define SHOW(bytes_) (int)(bytes_).bytes, (bytes_).data

/* The events of @input, a line each, and how it ended. */
static cpt_status show(const struct cpt_alloc *alloc, struct text_input *input,
                       char shown[SHOWN_BYTES], struct cpti_event_lines_counts *counts)
{
    const struct cpti_event_lines_options options = {
        .alloc = alloc, .read = text_input_read, .context = input, .name = "file"};
    struct cpti_event_lines *lines = cpti_event_lines_new(&options);
    struct cpt_error error = {0};
    struct cpti_event event;
    cpt_status status = lines != NULL ? CPT_OK : CPT_NO_MEMORY;
    size_t at = 0;

    shown[0] = '\0';
    while (status == CPT_OK) {
        status = cpti_event_lines_next(lines, &event, &error);
        if (status == CPT_OK && at < SHOWN_BYTES) {
            at += (size_t)snprintf(
                shown + at, SHOWN_BYTES - at,
                "%" PRIu64 ":%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%d|%" PRId64 "+%" PRId64
                "%s;",
                event.row, SHOW(event.id), SHOW(event.service), SHOW(event.host),
                SHOW(event.unit), SHOW(event.name), SHOW(event.peer), event.role,
                event.begin_ns, event.end_ns - event.begin_ns,
                event.resolution_ns == CPTI_RESOLUTION_OPEN ? "?" : "");
        }
    }
    if (status == CPT_INVALID) {
        (void)snprintf(shown, SHOWN_BYTES, "%s", error.sentence);
    }
    if (lines != NULL) {
        *counts = *cpti_event_lines_counts(lines);
    }
    cpti_event_lines_free(lines);
    return status;
}

static void expect(const char *text, cpt_status expected_status, const char *expected,
                   struct cpti_event_lines_counts *counts)
{
    char shown[SHOWN_BYTES];

    for (size_t step = 1; step < 100; step += 17) {
        struct text_input input = {text, strlen(text), step, 0};

        CU_ASSERT_EQUAL(show(NULL, &input, shown, counts), expected_status);
        CU_ASSERT_STRING_EQUAL(shown, expected);
        if (strcmp(shown, expected) != 0) {
            printf("\n%s\n%s\n", shown, expected);
        }
    }
}

static void test_rows(void)
{
    struct cpti_event_lines_counts counts;

    expect("id,service,host,unit,event,role,peer,resolution_us,time_us,begin_us,"
           "end_us\r\n"
           "a,web,h1,u1,GET /,server,,0,,1600000000000001,1600000000000003\r\n"
           "a,web,h1,u1,log,,,1000,1600000000000002,,\r\n"
           "a,web,h1,u2,call,client,shop,,9,1600000000000002,1600000000000002\n",
           CPT_END,
           "1:a|web|h1|u1|GET /||1|1600000000000001000+2000;"
           "2:a|web|h1|u1|log||0|1600000000000002000+0;"
           "3:a|web|h1|u2|call|shop|2|1600000000000002000+0?;",
           &counts);
    CU_ASSERT_EQUAL(counts.lines, 3);
    CU_ASSERT_EQUAL(counts.events, 3);
    /* other columns, a mark, quotes in the header, and no end of the last line */
    expect("\xef\xbb\xbftime_us,colour,\"id\",x\n7,red,a,y\n\n8,blue,b", CPT_END,
           "1:a|unknown|||||0|7000+0?;3:b|unknown|||||0|8000+0?;", &counts);
    expect("", CPT_END, "", &counts);
    expect("id,time_us", CPT_END, "", &counts);
}

static void test_quotes(void)
{
    struct cpti_event_lines_counts counts;

    expect(
        "id,event,time_us\n"
        "\"a,b\",\"say \"\"x\"\"\",1\n"
        "\"\",\"two\nlines\r\n\",\"2\"\r\n"
        "c,plain \"q\",3\n"
        "c,5\" disk,3\nc,10\" disk,3\n" /* of no field's begin, it quotes nothing */
        "d,\"odd\"x,4\n"
        "e,\"open,5\nf,x,6\n",
        CPT_END,
        "1:a,b|unknown|||say \"x\"||0|1000+0?;2:|unknown|||two\nlines\r\n||0|2000+0?;"
        "3:c|unknown|||plain \"q\"||0|3000+0?;4:c|unknown|||5\" disk||0|3000+0?;"
        "5:c|unknown|||10\" disk||0|3000+0?;8:f|unknown|||x||0|6000+0?;",
        &counts);
    CU_ASSERT_EQUAL(counts.unmatched, 2);
    CU_ASSERT_EQUAL(counts.first_unmatched, 7);
}

static void test_wrong(void)
{
    struct cpti_event_lines_counts counts;

    expect("id,begin_us,end_us,time_us,resolution_us\n"
           "a,-9223372036854775808,-9223372036854775808,,\n"
           "b,9223372036854775807,9223372036854775807,,\n"
           "c,9223372036854775,9223372036854775,,\n"
           "d,99999999999999999999999999,1,,\n"
           "e,1,,,\nf,,1,2,\ng,,,,\nh,,,1.5,\ni,,,-,\nj,,,-3,\nk,,,4,-1\nl,,,4,x\n"
           "m,5,4,,\nn\n",
           CPT_END,
           "3:c|unknown|||||0|9223372036854775000+0?;10:j|unknown|||||0|-3000+0?;"
           "13:m|unknown|||||0|5000+-1000?;",
           &counts);
    CU_ASSERT_EQUAL(counts.timeless, 7);
    CU_ASSERT_EQUAL(counts.unmatched, 4);
    CU_ASSERT_EQUAL(counts.first_unmatched, 9);
    expect("id,time_us\na\xff,1\n\xc3\xa4\xc3\xb6\xc3\xbc,2\n", CPT_END,
           "2:\xc3\xa4\xc3\xb6\xc3\xbc|unknown|||||0|2000+0?;", &counts);
    CU_ASSERT_EQUAL(counts.without_utf8, 1);
    expect("time_us,event\n", CPT_INVALID, "column id is missing", &counts);
    expect("id,begin_us\n", CPT_INVALID,
           "columns begin_us and end_us, or time_us, are missing", &counts);
    expect("id,id,time_us\n", CPT_INVALID, "column id is there twice", &counts);
    expect("{\"id\": 1}\n", CPT_INVALID,
           "its first lines are of no known format, and name no columns, such as "
           "id,time_us",
           &counts);
}

/* A NUL and a quote that never ends cost no other line; one of 3 MiB is cut. */
static void test_large(void)
{
    const size_t large = (size_t)3 << 20;
    char *text = malloc(2 * large);
    struct text_input input = {text, 0, 100000, 0};
    struct cpti_event_lines_counts counts = {0};
    char shown[SHOWN_BYTES];

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    input.bytes = (size_t)sprintf(text, "id,time_us,event\na,1,x\nb,2,");
    memset(text + input.bytes, 'x', large);
    input.bytes += large;
    input.bytes += (size_t)sprintf(text + input.bytes, "\nc,3,x\n?,4,x\nd,5,\"\n");
    *strchr(text, '?') = '\0';
    for (size_t i = 0; i < 200000; i++) {
        memcpy(text + input.bytes, "e,6\n", 4);
        input.bytes += 4;
    }
    memset(text + input.bytes, 'y', (size_t)1 << 20);
    input.bytes += (size_t)1 << 20;
    CU_ASSERT_EQUAL(show(NULL, &input, shown, &counts), CPT_END);
    CU_ASSERT_EQUAL(counts.cut, 1);
    CU_ASSERT_EQUAL(counts.with_nul, 1);
    CU_ASSERT_EQUAL(counts.events, 200003);
    free(text);
}

static bool scenario(const struct cpt_alloc *alloc)
{
    static const char text[] = "id,time_us\na,1\nb,2\n";
    struct text_input input = {text, sizeof text - 1, 5, 0};
    struct cpti_event_lines_counts counts;
    char shown[SHOWN_BYTES];
    const cpt_status status = show(alloc, &input, shown, &counts);

    CU_ASSERT(status == CPT_END || status == CPT_NO_MEMORY);
    return status == CPT_END;
}

static void test_memory(void)
{
    each_allocation_failure(scenario);
}

CU_TestInfo cpt_event_lines_tests[] = {
    {"rows of CSV", test_rows},
    {"quotes", test_quotes},
    {"wrong rows and headers", test_wrong},
    {"long lines and NUL", test_large},
    {"without memory", test_memory},
    CU_TEST_INFO_NULL,
};
