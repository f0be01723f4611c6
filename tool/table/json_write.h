/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_write.h - JSON (RFC 8259), written item by item
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
 */
#ifndef CPTI_CLI_JSON_WRITE_H
#define CPTI_CLI_JSON_WRITE_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdio.h>

enum { CPTI_JSON_DEPTH_MAX = 16, CPTI_JSON_BUFFER_BYTES = 4096 };

/* The most bytes that cpti_json_quote() makes of @bytes. */
#define CPTI_JSON_QUOTED_BYTES(bytes) (6 * (bytes) + 2)

/* Initialize with zero but for `file`. When an outermost item ends, all of it is in
 * `file`; any number of them may follow each other. */
struct cpti_json {
    FILE *file;
    unsigned depth;
    bool is_row;        /* the next item begins a line */
    size_t used;        /* bytes of the buffer */
    uint64_t real;      /* bits of the last floating-point number, and its text */
    char real_text[40]; /* empty: none yet */
    char closers[CPTI_JSON_DEPTH_MAX];
    unsigned char has_item[CPTI_JSON_DEPTH_MAX + 1];
    char buffer[CPTI_JSON_BUFFER_BYTES];
};

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

void cpti_json_bytes(struct cpti_json *json, const char *key, struct cpt_bytes text);
void cpti_json_text(struct cpti_json *json, const char *key, const char *text);
void cpti_json_unsigned(struct cpti_json *json, const char *key, uint64_t number);
void cpti_json_integer(struct cpti_json *json, const char *key, int64_t number);
void cpti_json_bool(struct cpti_json *json, const char *key, bool is_true);
void cpti_json_null(struct cpti_json *json, const char *key);

/* The word of a kind or reason, or its @number if this version has no word for it. */
void cpti_json_word(struct cpti_json *json, const char *key, const char *word,
                    unsigned number);

/* The shortest text that reads back as @number; null for NaN and infinities. */
void cpti_json_float(struct cpti_json *json, const char *key, double number);

/* The same for computed nanoseconds, rounded to thousandths: finer digits depend on the
 * machine's arithmetic. */
void cpti_json_ns(struct cpti_json *json, const char *key, double ns);

/* The same with six digits, for probabilities. */
void cpti_json_rough(struct cpti_json *json, const char *key, double number);

/* An item that already is JSON. */
void cpti_json_raw(struct cpti_json *json, const char *key, struct cpt_bytes text);

/* Writes @text as a JSON string with its quotes to @to, which has room for
 * CPTI_JSON_QUOTED_BYTES(). Returns the bytes. */
size_t cpti_json_quote(struct cpt_bytes text, char *to);

/* An element: the name that is shown as @text (cpt_text_name()), byte for byte. And
 * whether it differs from @text. A name of up to CPTI_JSON_BUFFER_BYTES bytes. */
void cpti_json_raw_name(struct cpti_json *json, const char *text);
bool cpti_is_escaped(const char *text);

/* Writes a key from outside. Its value follows, with the key NULL. */
void cpti_json_key(struct cpti_json *json, struct cpt_bytes key);

#endif
