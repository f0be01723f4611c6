/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * json_write.h - JSON (RFC 8259) written as it comes
 *
 *      struct cpti_json json = {.file = stdout};
 *      cpti_json_open(&json, NULL, '{');
 *      cpti_json_text(&json, "service", service);
 *      cpti_json_open(&json, "rows", '[');
 *      …
 *      cpti_json_close(&json); cpti_json_close(&json);
 *
 * Commas and escapes are done here. A key of NULL is for elements of an array. What is
 * written is always valid UTF-8: a byte that is none becomes U+FFFD.
 */
#ifndef CPTI_CLI_JSON_WRITE_H
#define CPTI_CLI_JSON_WRITE_H

#include "cpt/cpt_name.h"

#include <stdio.h>

enum { CPTI_JSON_DEPTH_MAX = 16, CPTI_JSON_BUFFER_BYTES = 4096 };

/* The most bytes that cpti_json_quote() makes of so many. */
#define CPTI_JSON_QUOTED_BYTES(bytes) (6 * (bytes) + 2)

/* Zero but for `file`, which has everything whenever the outermost item has ended. May
 * be used for any number of those. */
struct cpti_json {
    FILE *file;
    unsigned depth;
    int is_row;         /* the next item begins a line */
    size_t used;        /* of the buffer */
    uint64_t real;      /* bits of the one written last, and how it was written */
    char real_text[40]; /* empty: none yet */
    char closers[CPTI_JSON_DEPTH_MAX];
    unsigned char has_item[CPTI_JSON_DEPTH_MAX + 1];
    char buffer[CPTI_JSON_BUFFER_BYTES];
};

/* Begins an object ('{') or an array ('['). */
void cpti_json_open(struct cpti_json *json, const char *key, char opener);

/* Ends the innermost; the outermost also ends the line. */
void cpti_json_close(struct cpti_json *json);

/* Lets the next item begin a line of its own, for people who look into the file. */
void cpti_json_row(struct cpti_json *json);

void cpti_json_bytes(struct cpti_json *json, const char *key, struct cpt_bytes text);
void cpti_json_text(struct cpti_json *json, const char *key, const char *text);
void cpti_json_unsigned(struct cpti_json *json, const char *key, uint64_t number);
void cpti_json_integer(struct cpti_json *json, const char *key, int64_t number);
void cpti_json_bool(struct cpti_json *json, const char *key, int is_true);
void cpti_json_null(struct cpti_json *json, const char *key);

/* The shortest form that reads back as @number; null where JSON has none (NaN). */
void cpti_json_float(struct cpti_json *json, const char *key, double number);

/* The same of computed nanoseconds, rounded to thousandths: what is finer depends on
 * the machine's arithmetic, and means nothing. */
void cpti_json_ns(struct cpti_json *json, const char *key, double ns);

/* The same with six digits, for probabilities. */
void cpti_json_rough(struct cpti_json *json, const char *key, double number);

/* An item that is JSON already. */
void cpti_json_raw(struct cpti_json *json, const char *key, struct cpt_bytes text);

/* @text as a string of JSON, quotes and all, to @to, which has room for
 * CPTI_JSON_QUOTED_BYTES(). How many bytes. */
size_t cpti_json_quote(struct cpt_bytes text, char *to);

/* An item whose key is bytes from outside. The value follows with a key of NULL. */
void cpti_json_key(struct cpti_json *json, struct cpt_bytes key);

#endif
