/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_write.c - JSON written as it comes; see json_write.h */
#include "cpt/cli/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at @at, of which @left are there; 0 if it is none. */
static size_t utf8_bytes(const unsigned char *at, size_t left)
{
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = at[0] < 0x80   ? 1
                         : at[0] < 0xc0 ? 0
                         : at[0] < 0xe0 ? 2
                         : at[0] < 0xf0 ? 3
                         : at[0] < 0xf8 ? 4
                                        : 0;
    unsigned code = bytes == 0 ? 0 : at[0] & (0xffU >> bytes);

    if (bytes > left) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0U) != 0x80U) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3fU);
    }
    if (bytes > 1 && (code < least[bytes] || code > 0x10ffff ||
                      (code >= 0xd800 && code <= 0xdfff))) {
        return 0;
    }
    return bytes;
}

/* A quoted string. */
static void put_string(FILE *file, struct cpt_bytes text)
{
    const unsigned char *at = (const unsigned char *)text.data;

    (void)fputc('"', file);
    for (size_t i = 0; i < text.bytes;) {
        const size_t bytes = utf8_bytes(at + i, text.bytes - i);

        if (bytes == 0) {
            (void)fputs("\\ufffd", file);
        } else if (at[i] == '"' || at[i] == '\\') {
            (void)fprintf(file, "\\%c", at[i]);
        } else if (at[i] < 0x20 || at[i] == 0x7f) {
            (void)fprintf(file, "\\u%04x", at[i]);
        } else if (bytes == 2 && at[i] == 0xc2 && at[i + 1] < 0xa0) {
            (void)fprintf(file, "\\u%04x", at[i + 1]); /* C1: a terminal obeys it */
        } else {
            (void)fwrite(at + i, 1, bytes, file);
        }
        i += bytes == 0 ? 1 : bytes;
    }
    (void)fputc('"', file);
}

/* The comma before an item, and its key. */
static void begin_item(struct cpti_json *json, const char *key)
{
    if (json->has_item[json->depth] == 1) {
        (void)fputc(',', json->file);
    }
    /* 2: a key has been written and this is its value */
    if (json->is_row && json->has_item[json->depth] != 2) {
        (void)fputc('\n', json->file);
        json->is_row = 0;
    }
    json->has_item[json->depth] = 1;
    if (key != NULL) {
        put_string(json->file, cpt_bytes_of(key));
        (void)fputc(':', json->file);
    }
}

void cpti_json_key(struct cpti_json *json, struct cpt_bytes key)
{
    begin_item(json, NULL);
    put_string(json->file, key);
    (void)fputc(':', json->file);
    json->has_item[json->depth] = 2;
}

void cpti_json_open(struct cpti_json *json, const char *key, char opener)
{
    assert(json->depth < CPTI_JSON_DEPTH_MAX);
    begin_item(json, key);
    (void)fputc(opener, json->file);
    json->closers[json->depth++] = opener == '{' ? '}' : ']';
    json->has_item[json->depth] = 0;
}

void cpti_json_close(struct cpti_json *json)
{
    assert(json->depth > 0);
    if (json->is_row) {
        (void)fputc('\n', json->file);
        json->is_row = 0;
    }
    (void)fputc(json->closers[--json->depth], json->file);
    if (json->depth == 0) {
        (void)fputc('\n', json->file);
        json->has_item[0] = 0;
    }
}

void cpti_json_row(struct cpti_json *json)
{
    json->is_row = 1;
}

void cpti_json_bytes(struct cpti_json *json, const char *key, struct cpt_bytes text)
{
    begin_item(json, key);
    put_string(json->file, text);
}

void cpti_json_text(struct cpti_json *json, const char *key, const char *text)
{
    cpti_json_bytes(json, key, cpt_bytes_of(text));
}

void cpti_json_unsigned(struct cpti_json *json, const char *key, uint64_t number)
{
    begin_item(json, key);
    (void)fprintf(json->file, "%" PRIu64, number);
}

void cpti_json_integer(struct cpti_json *json, const char *key, int64_t number)
{
    begin_item(json, key);
    (void)fprintf(json->file, "%" PRId64, number);
}

void cpti_json_bool(struct cpti_json *json, const char *key, int is_true)
{
    begin_item(json, key);
    (void)fputs(is_true ? "true" : "false", json->file);
}

void cpti_json_null(struct cpti_json *json, const char *key)
{
    begin_item(json, key);
    (void)fputs("null", json->file);
}

void cpti_json_float(struct cpti_json *json, const char *key, double number)
{
    char text[40];

    if (!isfinite(number)) {
        cpti_json_null(json, key);
        return;
    }
    begin_item(json, key);
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    (void)fputs(text, json->file);
}

void cpti_json_ns(struct cpti_json *json, const char *key, double ns)
{
    cpti_json_float(json, key, round(ns * 1000) / 1000);
}

void cpti_json_rough(struct cpti_json *json, const char *key, double number)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.6g", number);
    cpti_json_float(json, key, strtod(text, NULL));
}
