/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_lines.c - lines of a file, and who reads them; see event_lines.h */
#include "import/lines/event_lines.h"

#include "import/bytes/inflate.h"
#include "import/bytes/window.h"
#include "import/lines/event_csv.h"
#include "import/lines/event_guess.h"
#include "import/lines/event_reader.h"
#include "cpt/base/text.h"
#include "cpt/base/utf8.h"

#include <string.h>

enum { HEAD_BYTES = 64 << 10, SHOWN_BYTES = 160 };

struct cpti_event_lines {
    struct cpti_event_lines_options options;
    struct cpti_event_lines_counts counts;
    struct cpti_inflate *inflate;
    struct cpti_window window;
    bool is_open;    /* it is known what the file is */
    bool is_csv;     /* ours */
    bool is_skipped; /* what is left of a line that was cut */
    struct cpti_event_csv csv;
    struct cpti_sources *guessed;
    struct cpti_line_source *source; /* NULL of CSV */
    struct cpti_event_reader *reader;
    const char *why;         /* of the line that was read last: it is of no form */
    const char *shown_why;   /* of the first one */
    char shown[SHOWN_BYTES]; /* the first line that is of no form */
    size_t shown_bytes;
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
        cpti_event_reader_free(lines->reader);
        cpti_sources_free(lines->guessed);
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

/* Where in a row of CSV one is: a quote opens a field only at its begin. */
enum row_state { FIELD_BEGINS, FIELD_PLAIN, FIELD_QUOTED, QUOTE_ENDS };

static enum row_state state_behind(enum row_state state, const char *from,
                                   const char *end)
{
    if (state != FIELD_QUOTED && memchr(from, '"', (size_t)(end - from)) == NULL) {
        return FIELD_PLAIN;
    }
    for (; from < end; from++) {
        if (state == FIELD_QUOTED) {
            state = *from == '"' ? QUOTE_ENDS : FIELD_QUOTED;
        } else if (*from == '"' && state != FIELD_PLAIN) {
            state = FIELD_QUOTED; /* two quotes are one, within the field */
        } else {
            state = *from == ',' ? FIELD_BEGINS : FIELD_PLAIN;
        }
    }
    return state;
}

/* Goes on to the end of a row if a quoted field is open at the end of the line; a row
 * that never ends is its first line. */
static cpt_status find_row_end(struct cpti_window *window)
{
    const size_t first = window->at - window->start;
    size_t seen = 0; /* bytes of the row */
    enum row_state state = FIELD_BEGINS;
    cpt_status status = CPT_OK;

    for (;;) {
        const char *row = window->buffer + window->start;

        state = state_behind(state, row + seen, window->buffer + window->at);
        seen = window->at - window->start;
        if (state != FIELD_QUOTED) {
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
    } else if (status == CPT_OK && lines->is_csv) {
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

static void show_line(struct cpti_event_lines *lines, struct cpt_bytes line)
{
    lines->shown_bytes = line.bytes < SHOWN_BYTES ? line.bytes : SHOWN_BYTES;
    if (lines->shown_bytes > 0) {
        memcpy(lines->shown, line.data, lines->shown_bytes);
    }
}

/* Finds who reads the file: a source of the user, or a built-in format by @head. */
static cpt_status open_source(struct cpti_event_lines *lines, struct cpt_bytes head,
                              struct cpt_error *error)
{
    const char *name = lines->options.name != NULL ? lines->options.name : "";
    cpt_status status = CPT_OK;

    if (lines->options.sources != NULL) {
        lines->source = cpti_sources_find(lines->options.sources, name);
    }
    if (lines->source == NULL) {
        status = cpti_event_guess(lines->options.alloc, head, name, &lines->guessed);
        lines->source = status == CPT_OK ? cpti_sources_at(lines->guessed, 0) : NULL;
    }
    if (status == CPT_INVALID) {
        struct cpt_bytes line = cpti_text_take(&head, '\n');

        line = cpti_text_trim(line, cpti_is_blank_of_file);
        lines->source = NULL;
        show_line(lines, line);
        return cpt_error_set(
            error, CPT_INVALID, 0, "%s",
            lines->options.sources != NULL
                ? "no source has files that are called so, and its first lines are of "
                  "no known format; add 'source NAME = ...; files ...'"
                : "its first lines are of no known format, and name no "
                  "columns, such as id,time_us");
    }
    if (status == CPT_OK) {
        char room[CPTI_SERVICE_BYTES];

        lines->reader =
            cpti_event_reader_new(lines->options.alloc, lines->source,
                                  cpti_event_service_of(lines->source, name, room));
        status = lines->reader != NULL ? CPT_OK : CPT_NO_MEMORY;
    }
    return status;
}

/* Looks at the first lines: what the file is. */
static cpt_status open_file(struct cpti_event_lines *lines, struct cpt_error *error)
{
    struct cpti_window *window = &lines->window;
    struct cpt_bytes head;
    struct cpt_bytes line;
    cpt_status status = cpti_window_need(window, HEAD_BYTES);

    if (status != CPT_OK && (status != CPT_END || window->end == window->start)) {
        return status;
    }
    head =
        (struct cpt_bytes){window->buffer + window->start, window->end - window->start};
    line = head;
    line = cpti_text_trim(cpti_text_take(&line, '\n'), cpti_is_blank_of_file);
    lines->is_csv = cpti_event_csv_is_header(line);
    if (!lines->is_csv) {
        status = open_source(lines, head, error);
        lines->is_open = status == CPT_OK;
        return status;
    }
    lines->is_csv = false; /* a header is one line */
    status = next_line(lines, &line);
    if (status == CPT_OK) {
        status = cpti_event_csv_open(&lines->csv, line, error);
    }
    lines->is_csv = true;
    lines->is_open = status == CPT_OK;
    return status;
}

static void count_unmatched(struct cpti_event_lines *lines, struct cpt_bytes line)
{
    if (lines->counts.unmatched++ > 0) {
        return;
    }
    lines->counts.first_unmatched = lines->counts.lines + lines->is_csv;
    lines->shown_why = lines->why;
    show_line(lines, line);
}

/* Reads a row of CSV. CPT_OK; CPT_CORRUPT: it is of no form; CPT_INVALID: it has no
 * time. */
static cpt_status read_row(struct cpti_event_lines *lines, struct cpt_bytes line,
                           struct cpti_event *event)
{
    lines->why = NULL;
    /* the bytes are in the window's buffer */
    switch (cpti_event_csv_read(&lines->csv, lines->window.buffer + lines->window.start,
                                line.bytes, event)) {
    case CPTI_CSV_EVENT:
        return CPT_OK;
    case CPTI_CSV_TIMELESS:
        return CPT_INVALID;
    case CPTI_CSV_WRONG_QUOTE:
        lines->why = "a quote is open, or no comma is behind it";
        return CPT_CORRUPT;
    case CPTI_CSV_NO_SERVICE:
        lines->why = "it names no service";
        return CPT_CORRUPT;
    default:
        lines->why = "a time or resolution_us is no whole number of microseconds";
        return CPT_CORRUPT;
    }
}

/* Hands on the next event of the line that was read last. */
static bool take_event(struct cpti_event_lines *lines, struct cpti_event *event)
{
    const struct cpti_event *next =
        lines->reader != NULL ? cpti_event_reader_next(lines->reader) : NULL;

    if (next != NULL) {
        *event = *next;
    }
    return next != NULL;
}

/* Reads a line. CPT_OK: *@event is its first event; CPT_WAITING: it has none, which is
 * counted; CPT_NO_MEMORY. */
static cpt_status read_line(struct cpti_event_lines *lines, struct cpt_bytes line,
                            struct cpti_event *event)
{
    struct cpti_event_lines_counts *counts = &lines->counts;
    cpt_status status = CPT_OK;

    if (!is_text(lines, line)) {
        return CPT_WAITING;
    }
    if (lines->is_csv) {
        status = read_row(lines, line, event);
    } else {
        status = cpti_event_reader_line(lines->reader, line);
        lines->why = status == CPT_LIMIT ? "an expression gave up on it" : NULL;
        status = status == CPT_OK && !take_event(lines, event) ? CPT_WAITING : status;
    }
    counts->timeless += status == CPT_INVALID;
    counts->gave_up += status == CPT_LIMIT;
    if (status == CPT_CORRUPT && !lines->is_csv && cpti_is_blank(line.data[0]) &&
        counts->lines > 1) {
        counts->continued++;
    } else if (status == CPT_CORRUPT || status == CPT_LIMIT) {
        count_unmatched(lines, line);
    }
    return status == CPT_OK || status == CPT_NO_MEMORY ? status : CPT_WAITING;
}

/* Reads on to the next event. */
static cpt_status next_event(struct cpti_event_lines *lines, struct cpti_event *event)
{
    cpt_status status = take_event(lines, event) ? CPT_OK : CPT_WAITING;

    while (status == CPT_WAITING) {
        struct cpt_bytes line;

        status = next_line(lines, &line);
        if (status == CPT_OK) {
            lines->counts.lines++;
            status = line.bytes > 0 ? read_line(lines, line, event) : CPT_WAITING;
        }
    }
    return status;
}

cpt_status cpti_event_lines_next(struct cpti_event_lines *lines,
                                 struct cpti_event *event, struct cpt_error *error)
{
    cpt_status status = lines->is_open ? CPT_OK : open_file(lines, error);

    status = status == CPT_OK ? next_event(lines, event) : status;
    if (status == CPT_OK) {
        event->row = lines->counts.lines;
        event->input = lines->options.input;
        lines->counts.events++;
    } else if (status != CPT_END && error != NULL && error->status == CPT_OK) {
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

const struct cpti_line_source *
cpti_event_lines_source(const struct cpti_event_lines *lines)
{
    return lines->source;
}

struct cpt_bytes cpti_event_lines_unmatched(const struct cpti_event_lines *lines)
{
    return (struct cpt_bytes){lines->shown, lines->shown_bytes};
}

const char *cpti_event_lines_why(const struct cpti_event_lines *lines)
{
    return lines->shown_why;
}
