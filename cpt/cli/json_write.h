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

enum { CPTI_JSON_DEPTH_MAX = 16 };

/* Zero but for `file`. */
struct cpti_json {
    FILE *file;
    unsigned depth;
    int is_row; /* the next item begins a line */
    char closers[CPTI_JSON_DEPTH_MAX];
    unsigned char has_item[CPTI_JSON_DEPTH_MAX + 1];
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

/* An item whose key is bytes from outside. The value follows with a key of NULL. */
void cpti_json_key(struct cpti_json *json, struct cpt_bytes key);

#endif
