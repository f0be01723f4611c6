/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_lines.c - lines of a file, and who reads them; see event_lines.h */
#include "import/lines/event_lines.h"

#include "import/bytes/inflate.h"
#include "import/bytes/window.h"
#include "import/lines/event_csv.h"
#include "cpt/base/utf8.h"

#include <string.h>

struct cpti_event_lines {
    struct cpti_event_lines_options options;
    struct cpti_event_lines_counts counts;
    struct cpti_inflate *inflate;
    struct cpti_window window;
    bool is_open;    /* its first line was read */
    bool is_skipped; /* what is left of a line that was cut */
    struct cpti_event_csv csv;
};

struct cpti_event_lines *
cpti_event_lines_new(const struct cpti_event_lines_options *options)
{
    struct cpti_event_lines *lines = cpt_alloc_zeroed(options->alloc, sizeof *lines);

    if (lines == NULL) {
        return NULL;
    }
    lines->options = *options;
    lines->inflate = cpti_inflate_new(options->alloc, options->read, options->context);
    cpti_window_init(&lines->window, options->alloc, cpti_inflate_read, lines->inflate,
                     2 * (size_t)CPTI_EVENT_LINE_MAX);
    if (lines->inflate == NULL) {
        cpti_event_lines_free(lines);
        return NULL;
    }
    return lines;
}

void cpti_event_lines_free(struct cpti_event_lines *lines)
{
    if (lines != NULL) {
        cpti_window_deinit(&lines->window);
        cpti_inflate_free(lines->inflate);
        cpt_alloc_free(lines->options.alloc, lines);
    }
}

/* --- Lines --- */

/* Goes behind the next end of a line from `at` on, at most to CPTI_EVENT_LINE_MAX bytes
 * behind `start`. CPT_OK; CPT_LIMIT: it is not there yet; CPT_END: the file ended, and
 * `at` is its end. */
static cpt_status find_end(struct cpti_window *window)
{
    for (;;) {
        const char *end =
            window->end > window->at
                ? memchr(window->buffer + window->at, '\n', window->end - window->at)
                : NULL;
        cpt_status status = CPT_OK;

        window->at = end != NULL ? (size_t)(end - window->buffer) + 1 : window->end;
        if (window->at - window->start > CPTI_EVENT_LINE_MAX) {
            window->at = window->start + CPTI_EVENT_LINE_MAX;
            return CPT_LIMIT;
        }
        if (end != NULL) {
            return CPT_OK;
        }
        status = cpti_window_fill(window);
        if (status != CPT_OK) {
            return status;
        }
    }
}

/* Passes over what is left of a line that was cut. */
static cpt_status skip_line(struct cpti_window *window)
{
    cpt_status status = CPT_LIMIT;

    while (status == CPT_LIMIT) {
        cpti_window_forget(window, window->at);
        status = find_end(window);
    }
    return status;
}

static bool has_odd_quotes(const char *from, const char *end)
{
    bool is_odd = false;

    while (from < end && (from = memchr(from, '"', (size_t)(end - from))) != NULL) {
        is_odd = !is_odd;
        from++;
    }
    return is_odd;
}

/* Goes on to the end of a row whose quotes are odd at the end of a line; a row that has
 * none ends with its first line. */
static cpt_status find_row_end(struct cpti_window *window)
{
    const size_t first = window->at - window->start;
    size_t seen = 0; /* bytes of the row */
    bool is_open = false;
    cpt_status status = CPT_OK;

    for (;;) {
        const char *row = window->buffer + window->start;

        is_open ^= has_odd_quotes(row + seen, window->buffer + window->at);
        seen = window->at - window->start;
        if (!is_open) {
            return CPT_OK;
        }
        status = find_end(window);
        if (status == CPT_LIMIT ||
            (status == CPT_END && window->at - window->start == seen)) {
            window->at = window->start + first;
            return CPT_OK;
        }
        if (status != CPT_OK && status != CPT_END) {
            return status;
        }
    }
}

/* The next line, without its end, borrowed until the next call; a row of CSV may be
 * several. */
static cpt_status next_line(struct cpti_event_lines *lines, struct cpt_bytes *line)
{
    struct cpti_window *window = &lines->window;
    cpt_status status = lines->is_skipped ? skip_line(window) : CPT_OK;

    if (status != CPT_OK) {
        return status;
    }
    lines->is_skipped = false;
    cpti_window_forget(window, window->at);
    status = find_end(window);
    if (status == CPT_END && window->at > window->start) {
        status = CPT_OK; /* the last line has no end */
    }
    if (status == CPT_LIMIT) {
        lines->is_skipped = true;
        lines->counts.cut++;
        status = CPT_OK;
    } else if (status == CPT_OK && lines->is_open) {
        status = find_row_end(window);
    }
    if (status != CPT_OK) {
        return status;
    }
    *line =
        (struct cpt_bytes){window->buffer + window->start, window->at - window->start};
    while (line->bytes > 0 && (line->data[line->bytes - 1] == '\n' ||
                               line->data[line->bytes - 1] == '\r')) {
        line->bytes--;
    }
    return CPT_OK;
}

/* --- Events --- */

static bool is_utf8(struct cpt_bytes line)
{
    for (size_t at = 0; at < line.bytes;) {
        uint64_t eight = UINT64_MAX;
        size_t bytes = 8;

        if (line.bytes - at >= sizeof eight) {
            memcpy(&eight, line.data + at, sizeof eight);
        }
        if ((eight & UINT64_C(0x8080808080808080)) != 0) {
            bytes = cpti_utf8_bytes(line.data + at, line.bytes - at);
        }
        if (bytes == 0) {
            return false;
        }
        at += bytes;
    }
    return true;
}

/* Whether the line is text, and counts why not. */
static bool is_text(struct cpti_event_lines *lines, struct cpt_bytes line)
{
    if (memchr(line.data, '\0', line.bytes) != NULL) {
        lines->counts.with_nul++;
        return false;
    }
    if (!is_utf8(line)) {
        lines->counts.without_utf8++;
        return false;
    }
    return true;
}

/* Reads the first line: what the file is. */
static cpt_status open_file(struct cpti_event_lines *lines, struct cpt_error *error)
{
    struct cpt_bytes line;
    const cpt_status status = next_line(lines, &line);

    if (status != CPT_OK) {
        return status;
    }
    if (!cpti_event_csv_is_header(line)) {
        return cpt_error_set(error, CPT_INVALID, 0,
                             "the first line names no columns, such as id,time_us");
    }
    lines->is_open = true;
    return cpti_event_csv_open(&lines->csv, line, error);
}

/* Whether the line is an event, and counts why not. */
static bool read_line(struct cpti_event_lines *lines, struct cpt_bytes line,
                      struct cpti_event *event)
{
    struct cpti_event_lines_counts *counts = &lines->counts;
    enum cpti_csv_row row;

    if (!is_text(lines, line)) {
        return false;
    }
    /* the bytes are in the window's buffer */
    row = cpti_event_csv_read(&lines->csv, lines->window.buffer + lines->window.start,
                              line.bytes, event);
    if (row == CPTI_CSV_EVENT) {
        event->row = counts->lines;
        event->input = lines->options.input;
        counts->events++;
        return true;
    }
    counts->timeless += row == CPTI_CSV_TIMELESS;
    if (row == CPTI_CSV_UNMATCHED && counts->unmatched++ == 0) {
        counts->first_unmatched = counts->lines;
    }
    return false;
}

cpt_status cpti_event_lines_next(struct cpti_event_lines *lines,
                                 struct cpti_event *event, struct cpt_error *error)
{
    cpt_status status = lines->is_open ? CPT_OK : open_file(lines, error);

    while (status == CPT_OK) {
        struct cpt_bytes line;

        status = next_line(lines, &line);
        if (status != CPT_OK) {
            break;
        }
        lines->counts.lines++;
        if (line.bytes > 0 && read_line(lines, line, event)) {
            return CPT_OK;
        }
    }
    if (status != CPT_END && error != NULL && error->status == CPT_OK) {
        const struct cpt_error *cause = cpti_inflate_error(lines->inflate);

        status = cpt_error_set(error, status, cause->offset, "%s",
                               cause->status != CPT_OK ? cause->sentence
                                                       : cpt_status_sentence(status));
    }
    return status;
}

const struct cpti_event_lines_counts *
cpti_event_lines_counts(const struct cpti_event_lines *lines)
{
    return &lines->counts;
}
