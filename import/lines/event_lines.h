/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_lines.h - the events of a file of lines, one after the other
 *
 *      bytes --> inflate --> lines --> the format of their source --> events
 *
 * A file whose first line names our columns is CSV and needs no source:
 * id,service,host,unit,event,role,peer,resolution_us and time_us, or begin_us and
 * end_us. Others are read by the first source whose `files` fit their name; without
 * one by the built-in format that fits their first lines (event_guess.h).
 *
 * A line above 1 MiB is cut, and counted, as are lines with a NUL, without UTF-8,
 * without a time, and those that are of no form; none of them stops the reading.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_EVENT_LINES_H
#define CPTI_EVENT_LINES_H

#include "import/events/event.h"
#include "cpt/cpt_io.h"

struct cpti_line_source;
struct cpti_sources;

enum { CPTI_EVENT_LINE_MAX = 1 << 20 };

struct cpti_event_lines_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    struct cpti_sources *sources;  /* NULL: built-in formats. They outlive the lines */
    cpt_read_fn read;              /* the bytes of the file, compressed or not */
    void *context;
    const char *name; /* of the file, for which source it is; borrowed; or NULL */
    uint32_t input;   /* number of the file, of its events */
};

/* What was read so far of the file. */
struct cpti_event_lines_counts {
    uint64_t lines;
    uint64_t events;
    uint64_t unmatched; /* of no form that the source has */
    uint64_t gave_up;   /* of them, those that an expression tried too long */
    uint64_t continued; /* of none, but with a blank in front: of the line before */
    uint64_t timeless;  /* without a time that can be read */
    uint64_t cut;       /* longer than CPTI_EVENT_LINE_MAX */
    uint64_t with_nul;  /* refused, as are those without UTF-8 */
    uint64_t without_utf8;
    uint64_t first_unmatched; /* its number, of lines or rows, from 1; 0: none */
};

struct cpti_event_lines;

/* NULL without memory. The caller owns it. */
struct cpti_event_lines *
cpti_event_lines_new(const struct cpti_event_lines_options *options);
void cpti_event_lines_free(struct cpti_event_lines *lines);

/* The next event; its bytes are borrowed until the next call. CPT_OK; CPT_END;
 * CPT_NO_MEMORY; CPT_INVALID: the file is of no source, or its header lacks a column,
 * with the reason in @error; CPT_CORRUPT and errors of the read function: the rest
 * cannot be read. */
cpt_status cpti_event_lines_next(struct cpti_event_lines *lines,
                                 struct cpti_event *event, struct cpt_error *error);

const struct cpti_event_lines_counts *
cpti_event_lines_counts(const struct cpti_event_lines *lines);

/* The source that reads the lines, once there was a line; NULL: our CSV. */
const struct cpti_line_source *
cpti_event_lines_source(const struct cpti_event_lines *lines);

/* The begin of the first line that is of no form, or of a file that is of none. */
struct cpt_bytes cpti_event_lines_unmatched(const struct cpti_event_lines *lines);

/* Why it is of none: "time_us … is no whole number"; NULL: there is no more to say. */
const char *cpti_event_lines_why(const struct cpti_event_lines *lines);

#endif
