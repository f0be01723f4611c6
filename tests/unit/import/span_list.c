/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_list.c - see span_list.h */
#include "tests/unit/import/span_list.h"

#include "cpt/cpt_path.h"

#include <CUnit/CUnit.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What @option says behind "@name="; without data if it is another one. */
static struct cpt_bytes value_of(struct cpt_bytes option, const char *name)
{
    const size_t bytes = strlen(name);

    if (option.bytes <= bytes || memcmp(option.data, name, bytes) != 0 ||
        option.data[bytes] != '=') {
        return (struct cpt_bytes){NULL, 0};
    }
    return (struct cpt_bytes){option.data + bytes + 1, option.bytes - bytes - 1};
}

static void read_option(struct cpti_span *span, struct cpt_bytes option)
{
    const struct cpt_bytes waits = value_of(option, "waits");
    const struct cpt_bytes wait = value_of(option, "wait");
    const struct cpt_bytes after = value_of(option, "after");
    const struct cpt_bytes host = value_of(option, "host");
    const struct cpt_bytes process = value_of(option, "process");
    const struct cpt_bytes hostname = value_of(option, "hostname");

    if (waits.data != NULL) {
        span->tells_waits = true;
        span->wait_count = (uint32_t)strtoul(waits.data, NULL, 10);
    } else if (wait.data != NULL) {
        span->is_wait = true;
        span->link = wait;
    } else if (after.data != NULL) {
        span->link = after;
    } else if (host.data != NULL) {
        span->host = host;
    } else if (process.data != NULL) {
        span->process = strtoull(process.data, NULL, 10);
    } else if (hostname.data != NULL) {
        span->hostname = strtoull(hostname.data, NULL, 10);
    }
}

/* The word at *@at; moves behind it and the blanks after it. */
static struct cpt_bytes word(const char **at)
{
    const struct cpt_bytes found = {*at, strcspn(*at, " ")};

    *at += found.bytes;
    *at += strspn(*at, " ");
    return found;
}

static struct cpti_span parse(const char *line)
{
    static const char *const kinds[] = {"unknown", "internal", "server",
                                        "client",  "producer", "consumer"};
    struct cpti_span span = {.id = word(&line)};
    struct cpt_bytes at = word(&line);

    if (*at.data != '-') {
        span.parent = at;
    }
    at = word(&line);
    span.has_start = *at.data != '?';
    span.start_ns = strtoull(at.data, NULL, 10);
    at = word(&line);
    if (!span.has_start && *at.data != '?' && *at.data != '+') {
        span.end_ns = strtoull(at.data, NULL, 10);
    }
    span.has_duration = *at.data != '?' && span.end_ns == 0;
    span.has_time = span.has_start && span.has_duration;
    span.duration_ns =
        span.has_duration ? strtoull(at.data, NULL, 10) - span.start_ns : 0;
    span.service = word(&line);
    span.service.bytes--; /* the colon */
    span.operation = word(&line);
    while (*line != '\0') {
        const struct cpt_bytes option = word(&line);

        read_option(&span, option);
        span.is_async |= cpt_bytes_equal(option, cpt_bytes_of("async"));
        span.is_failed |= cpt_bytes_equal(option, cpt_bytes_of("failed"));
        if (option.bytes > 1 && option.data[0] == '@') {
            span.peer = (struct cpt_bytes){option.data + 1, option.bytes - 1};
        }
        for (unsigned char i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (cpt_bytes_equal(option, cpt_bytes_of(kinds[i]))) {
                span.kind = i;
            }
        }
    }
    return span;
}

void span_list_add(struct cpti_spans *spans, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        const struct cpti_span span = parse(*lines);

        CU_ASSERT_EQUAL(cpti_spans_add(spans, &span), CPT_OK);
    }
}

cpt_status span_list_try(struct cpti_spans *spans, const char *line)
{
    const struct cpti_span span = parse(line);

    return cpti_spans_add(spans, &span);
}

void span_list_sections(const struct cpti_spans *spans, char text[SPAN_TEXT_BYTES])
{
    size_t bytes = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpti_spans_section_count(spans); i++) {
        const struct cpti_section *section = cpti_spans_section(spans, i);
        const struct cpt_bytes id = cpti_spans_at(spans, section->span)->id;

        bytes += (size_t)snprintf(text + bytes, SPAN_TEXT_BYTES - bytes,
                                  "%s%.*s %" PRIu64 "-%" PRIu64, i == 0 ? "" : ", ",
                                  (int)id.bytes, id.data, section->start_ns,
                                  section->end_ns);
    }
}

struct cpti_spans_report span_list_walk(const char *const *lines,
                                        enum cpti_span_mode mode,
                                        char text[SPAN_TEXT_BYTES])
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpti_spans_report report;

    text[0] = '\0';
    span_list_add(spans, lines);
    if (cpti_spans_resolve(spans, &report) == CPT_OK) {
        CU_ASSERT_EQUAL(cpti_spans_walk(spans, mode), CPT_OK);
        span_list_sections(spans, text);
    }
    cpti_spans_free(spans);
    return report;
}

bool span_list_makes(const struct cpt_alloc *alloc, const char *const *lines,
                     cpt_status (*make)(struct cpti_spans *, struct cpt_path *))
{
    struct cpti_spans *spans = cpti_spans_new(NULL);
    struct cpt_path *path = cpt_path_new(alloc);
    struct cpti_spans_report report;
    bool is_done = false;

    span_list_add(spans, lines);
    (void)cpti_spans_resolve(spans, &report);
    (void)cpti_spans_walk(spans, CPTI_SPANS_EXACT);
    is_done = path != NULL && make(spans, path) == CPT_OK;
    cpt_path_free(path);
    cpti_spans_free(spans);
    return is_done;
}
