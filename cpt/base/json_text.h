/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_text.h - JSON (RFC 8259), written item by item to a file, or into memory
 *
 *      struct cpti_json json = {.file = stdout};
 *      cpti_json_open(&json, NULL, '{');
 *      cpti_json_text(&json, "service", service);
 *      cpti_json_open(&json, "rows", '[');
 *      …
 *      cpti_json_close(&json); cpti_json_close(&json);
 *
 * The functions add commas and escapes. Elements of an array have the key NULL. The
 * output is always valid UTF-8: an invalid byte becomes U+FFFD.
 *
 * Without a file the text stays in memory, up to a limit. What does not fit any more is
 * left out and noted, so a writer checks at its end, or goes back to a mark before what
 * did not fit.
 *
 * The libraries and the tool that write JSON compile json_text.c in. Threads: one at a
 * time.
 */
#ifndef CPTI_JSON_TEXT_H
#define CPTI_JSON_TEXT_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* 128: of plans and runs, CPT_NESTING_MAX within one another. */
enum { CPTI_JSON_DEPTH_MAX = 128, CPTI_JSON_BUFFER_BYTES = 4096 };

/* The most bytes that cpti_json_quote() makes of @bytes. */
#define CPTI_JSON_QUOTED_BYTES(bytes) (6 * (bytes) + 2)

/* A place to which what is in memory can be cut back. */
struct cpti_json_mark {
    size_t used;
    unsigned depth;
    unsigned char has_item;
};

/* Initialize with zero but for `file`, or for `alloc`, NULL for the default, and
 * `bytes_max`. When an outermost item ends, all of it is in `file`; any number of them
 * may follow each other. */
struct cpti_json {
    FILE *file;
    const struct cpt_alloc *alloc;
    size_t bytes_max;
    char *data;      /* in memory; see cpti_json_deinit() */
    size_t capacity; /* of it */
    size_t used;     /* bytes of it; of a file, of the buffer */
    unsigned depth;
    bool is_full;       /* the limit was reached, or there was no memory */
    bool is_row;        /* the next item begins a line */
    uint64_t real;      /* bits of the last floating-point number, and its text */
    char real_text[40]; /* empty: none yet */
    char closers[CPTI_JSON_DEPTH_MAX];
    unsigned char has_item[CPTI_JSON_DEPTH_MAX + 1];
    char buffer[CPTI_JSON_BUFFER_BYTES];
};

/* Frees what is in memory. */
void cpti_json_deinit(struct cpti_json *json);

struct cpti_json_mark cpti_json_mark(const struct cpti_json *json);

/* Takes back what was written to memory since @mark. */
void cpti_json_cut(struct cpti_json *json, struct cpti_json_mark mark);

/* Whether something was written to stdout; and a note that it was, or was taken back.
 * Threads: the main one. */
bool cpti_json_is_written(void);
void cpti_json_note_written(bool is_written);

/* Begins an object ('{') or an array ('['). */
void cpti_json_open(struct cpti_json *json, const char *key, char opener);

/* Ends the innermost object or array; the outermost one also ends the line. */
void cpti_json_close(struct cpti_json *json);

/* Begins a new line at the next item, for people who read the file. */
void cpti_json_row(struct cpti_json *json);

/* Items; of a text that is NULL, null. */
void cpti_json_bytes(struct cpti_json *json, const char *key, struct cpt_bytes text);
void cpti_json_text(struct cpti_json *json, const char *key, const char *text);
void cpti_json_unsigned(struct cpti_json *json, const char *key, uint64_t number);
void cpti_json_integer(struct cpti_json *json, const char *key, int64_t number);
void cpti_json_bool(struct cpti_json *json, const char *key, bool is_true);
void cpti_json_null(struct cpti_json *json, const char *key);

/* An item that already is JSON. */
void cpti_json_raw(struct cpti_json *json, const char *key, struct cpt_bytes text);

/* Writes @text as a JSON string with its quotes to @to, which has room for
 * CPTI_JSON_QUOTED_BYTES(). Returns the bytes. */
size_t cpti_json_quote(struct cpt_bytes text, char *to);

/* Writes a key from outside. Its value follows, with the key NULL. */
void cpti_json_key(struct cpti_json *json, struct cpt_bytes key);

#endif
