/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * csv_way.c - a further way in, as small as they can be: spans as CSV (RFC 4180)
 *
 *      trace,span,parent,service,operation,start_ns,duration_ns
 *      1,a,,front,/,0,100000
 *      1,b,a,cart,"get, add",10000,50000
 *
 * A line is a span; a field in quotes ends in its line. `parent` may be empty, and so
 * may a time that is not known. It shows what a way in has to bring, which is described
 * in import/bytes/lines.h: the tool that is built with this file reads such files in
 * all commands.
 */
#include "import/bytes/lines.h"
#include "import/formats/formats.h"

#include <string.h>

static const char header[] = "trace,span,parent,service,operation,start_ns,duration_ns";

enum { TRACE, SPAN, PARENT, SERVICE, OPERATION, START, DURATION, FIELDS };

enum { ROOM_BYTES = 4096, HEAD_BYTES = 16 };

/* Whether the file begins with the header. */
static bool recognise(const char *head, size_t bytes)
{
    const size_t least = bytes < HEAD_BYTES ? bytes : HEAD_BYTES;

    return least == HEAD_BYTES && memcmp(head, header, least) == 0;
}

static cpt_status refuse(struct cpt_error *error, size_t at, const char *sentence)
{
    return cpt_error_set(error, CPT_CORRUPT, at, "%s", sentence);
}

/* Takes the field in quotes that begins at *@at to *@room; *@at is behind it then. */
static cpt_status take_quoted(struct cpt_bytes line, size_t *at, char **room,
                              const char *room_end, struct cpt_bytes *field,
                              struct cpt_error *error)
{
    const size_t first = *at;
    char *to = *room;

    for (++*at; *at < line.bytes; ++*at) {
        if (line.data[*at] == '"' && (++*at == line.bytes || line.data[*at] != '"')) {
            *field = (struct cpt_bytes){*room, (size_t)(to - *room)};
            *room = to;
            return CPT_OK;
        }
        if (to == room_end) {
            return refuse(error, first, "a field in quotes that is too long");
        }
        *to++ = line.data[*at];
    }
    return refuse(error, first, "a quote that does not end in its line");
}

/* Cuts @line into @fields; texts in quotes are put into @room. */
static cpt_status cut(struct cpt_bytes line, char room[ROOM_BYTES],
                      struct cpt_bytes fields[FIELDS], struct cpt_error *error)
{
    const char *room_end = room + ROOM_BYTES;
    size_t at = 0;

    for (size_t i = 0; i < FIELDS; i++) {
        const size_t first = at;
        cpt_status status = CPT_OK;

        if (i > 0 && (at == line.bytes || line.data[at++] != ',')) {
            return refuse(error, first, "fewer than 7 fields");
        }
        if (at < line.bytes && line.data[at] == '"') {
            status = take_quoted(line, &at, &room, room_end, &fields[i], error);
            if (status != CPT_OK) {
                return status;
            }
            continue;
        }
        fields[i].data = line.data + at;
        while (at < line.bytes && line.data[at] != ',') {
            at++;
        }
        fields[i].bytes = (size_t)(line.data + at - fields[i].data);
    }
    return at == line.bytes ? CPT_OK : refuse(error, at, "more than 7 fields");
}

/* Whether @field is a whole number below 2^63, or empty. */
static bool read_number(struct cpt_bytes field, uint64_t *number)
{
    enum { BASE = 10 };

    *number = 0;
    for (size_t i = 0; i < field.bytes; i++) {
        if (field.data[i] < '0' || field.data[i] > '9' ||
            *number > (INT64_MAX - (BASE - 1)) / BASE) {
            return false;
        }
        *number = BASE * *number + (uint64_t)(field.data[i] - '0');
    }
    return true;
}

/* Of struct cpti_way. */
static cpt_status read_line(struct cpt_bytes line, uint64_t number,
                            struct cpti_sink *sink, struct cpt_error *error)
{
    struct cpt_bytes fields[FIELDS] = {{NULL, 0}};
    struct cpti_span span = {.id = {NULL, 0}};
    char room[ROOM_BYTES];
    cpt_status status = CPT_OK;

    if (number == 0) {
        return cpt_bytes_equal(line, cpt_bytes_of(header))
                   ? CPT_OK
                   : refuse(error, HEAD_BYTES, "the header has other columns");
    }
    status = cut(line, room, fields, error);
    if (status != CPT_OK) {
        return status;
    }
    if (!read_number(fields[START], &span.start_ns) ||
        !read_number(fields[DURATION], &span.duration_ns) ||
        span.duration_ns > INT64_MAX - span.start_ns) {
        return refuse(error, (size_t)(fields[START].data - line.data),
                      "times are whole numbers of nanoseconds");
    }
    span.id = fields[SPAN];
    span.parent = fields[PARENT];
    span.service = fields[SERVICE];
    span.operation = fields[OPERATION];
    span.has_start = fields[START].bytes > 0;
    span.has_duration = fields[DURATION].bytes > 0;
    span.has_time = span.has_start && span.has_duration;
    return cpti_sink_take(sink, fields[TRACE], &span);
}

static const struct cpti_way csv_way = {.recognise = recognise, .read = read_line};

const struct cpti_way *const cpti_ways[] = {&csv_way, NULL};
