/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * fuzz_events.c - any bytes as lines of a built-in format
 *
 * The first byte chooses the format, and what is around a line. Whatever the lines are,
 * an event has a name, a time from 2000 to 2199 and an end not before its begin, and
 * only an interval has a role. The same lines are read as a file whose format is to be
 * found.
 */
#include "import/lines/event_formats.h"
#include "import/lines/event_lines.h"
#include "import/lines/event_reader.h"
#include "tests/unit/import/text_input.h"

#include <stdio.h>
#include <stdlib.h>

#define TIME_FIRST (INT64_C(946684800) * CPTI_NS_PER_S)
#define TIME_END   (INT64_C(7258118400) * CPTI_NS_PER_S)
#define YEAR_NS    (INT64_C(366) * 86400 * CPTI_NS_PER_S)

enum { FORMATS_MAX = 32, OUTERS = 4 };

static void must(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check(const struct cpti_event *event)
{
    must(event->name.bytes > 0 && event->service.bytes > 0);
    must(event->begin_ns >= TIME_FIRST - YEAR_NS && event->end_ns < TIME_END + YEAR_NS);
    must(event->end_ns >= event->begin_ns);
    must(event->is_interval ||
         (event->role == CPTI_EVENT_UNKNOWN && event->begin_ns == event->end_ns));
    must(event->resolution_ns <= (uint64_t)CPTI_NS_PER_S);
}

/* The source of @format within @outer; each is made once. */
static struct cpti_line_source *source_of(unsigned char choice)
{
    static struct cpti_sources *made[FORMATS_MAX][OUTERS];
    static const char *const outers[OUTERS] = {"", "; outer cri", "; outer docker",
                                               "; outer journal"};
    static unsigned count;
    const unsigned outer = choice % OUTERS;
    unsigned format = 0;

    while (cpti_formats[count].name != NULL) {
        count++;
    }
    must(count > 0 && count <= FORMATS_MAX);
    format = choice / OUTERS % count;
    if (made[format][outer] == NULL) {
        const struct cpti_sources_options options = {0};
        char text[128];

        (void)snprintf(text, sizeof text, "source x = format %s%s",
                       cpti_formats[format].name, outers[outer]);
        must(cpti_sources_read(&options, cpt_bytes_of(text), &made[format][outer],
                               NULL) == CPT_OK);
    }
    return cpti_sources_at(made[format][outer], 0);
}

static void read_lines(unsigned char choice, struct cpt_bytes text)
{
    struct cpti_event_reader *reader =
        cpti_event_reader_new(NULL, source_of(choice), cpt_bytes_of("x"));

    must(reader != NULL);
    while (text.bytes > 0) {
        const char *end = memchr(text.data, '\n', text.bytes);
        const size_t bytes = end != NULL ? (size_t)(end - text.data) : text.bytes;
        const struct cpti_event *event = NULL;
        const cpt_status status =
            cpti_event_reader_line(reader, (struct cpt_bytes){text.data, bytes});
        size_t count = 0;

        while ((event = cpti_event_reader_next(reader)) != NULL) {
            check(event);
            count++;
        }
        must((count > 0) == (status == CPT_OK));
        text.data += end != NULL ? bytes + 1 : bytes;
        text.bytes -= end != NULL ? bytes + 1 : bytes;
    }
    cpti_event_reader_free(reader);
}

static void read_file(struct cpt_bytes text)
{
    struct text_input input = {text.data, text.bytes, 1000, 0};
    const struct cpti_event_lines_options options = {
        .read = text_input_read, .context = &input, .name = "x"};
    struct cpti_event_lines *lines = cpti_event_lines_new(&options);
    struct cpti_event event;

    must(lines != NULL);
    while (cpti_event_lines_next(lines, &event, NULL) == CPT_OK) {
        must(event.row > 0);
    }
    cpti_event_lines_free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        const struct cpt_bytes text = {(const char *)data + 1, size - 1};

        read_lines(data[0], text);
        if (size < 2048) { /* it takes each format */
            read_file(text);
        }
    }
    return 0;
}
