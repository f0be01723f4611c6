/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_write.c - JSON, written item by item; see json_write.h */
#include "tool/table/json_write.h"

#include "cpt/base/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Strings --- */

/* The most bytes that one byte of a text becomes. */
enum { ESCAPE_BYTES = 6 };

static size_t put_unicode(char *to, unsigned code)
{
    static const char digits[] = "0123456789abcdef";

    memcpy(to, "\\u", 2);
    for (unsigned i = 0; i < 4; i++) {
        to[2 + i] = digits[code >> (12 - 4 * i) & 0xfU];
    }
    return ESCAPE_BYTES;
}

/* Writes the character at *@at of @text, which is not a plain ASCII one, and moves *@at
 * past it. Returns its bytes in JSON. */
static size_t put_character(struct cpt_bytes text, size_t *at, char *to)
{
    const unsigned char *from = (const unsigned char *)text.data + *at;
    const size_t bytes = cpti_utf8_bytes(from, text.bytes - *at);

    *at += bytes == 0 ? 1 : bytes;
    if (bytes == 0) {
        return put_unicode(to, 0xfffd);
    }
    if (from[0] == '"' || from[0] == '\\') {
        to[0] = '\\';
        to[1] = (char)from[0];
        return 2;
    }
    if (bytes == 1) {
        return put_unicode(to, from[0]);
    }
    if (cpti_utf8_is_hidden(from, bytes)) { /* of value to a program, not to people */
        return put_unicode(to, bytes == 2
                                   ? (from[0] & 0x1fU) << 6 | (from[1] & 0x3fU)
                                   : (from[0] & 0xfU) << 12 | (from[1] & 0x3fU) << 6 |
                                         (from[2] & 0x3fU));
    }
    memcpy(to, from, bytes);
    return bytes;
}

/* Writes characters of @text from *@at on while the longest escape fits into @room
 * bytes at @to, and moves *@at past them. Returns the bytes written. */
static size_t escape(struct cpt_bytes text, size_t *at, char *to, size_t room)
{
    size_t used = 0;

    while (*at < text.bytes && room - used >= ESCAPE_BYTES) {
        const unsigned char byte = (unsigned char)text.data[*at];

        if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
            to[used++] = (char)byte;
            (*at)++;
        } else {
            used += put_character(text, at, to + used);
        }
    }
    return used;
}

size_t cpti_json_quote(struct cpt_bytes text, char *to)
{
    size_t at = 0;
    size_t bytes;

    to[0] = '"';
    bytes = 1 + escape(text, &at, to + 1, ESCAPE_BYTES * text.bytes);
    to[bytes] = '"';
    return bytes + 1;
}

/* --- The buffer --- */

/* The stream keeps the error of a write that fails. */
static bool has_written; /* to stdout */

bool cpti_json_is_written(void)
{
    return has_written;
}

void cpti_json_note_written(bool is_written)
{
    has_written = is_written;
}

static void flush(struct cpti_json *json)
{
    if (json->file == stdout) {
        has_written = true;
    }
    (void)fwrite(json->buffer, 1, json->used, json->file);
    json->used = 0;
}

static void put(struct cpti_json *json, const char *text, size_t bytes)
{
    if (bytes > sizeof json->buffer - json->used) {
        flush(json);
    }
    if (bytes > sizeof json->buffer) {
        (void)fwrite(text, 1, bytes, json->file);
        return;
    }
    memcpy(json->buffer + json->used, text, bytes);
    json->used += bytes;
}

static void put_char(struct cpti_json *json, char character)
{
    if (json->used == sizeof json->buffer) {
        flush(json);
    }
    json->buffer[json->used++] = character;
}

static void put_string(struct cpti_json *json, struct cpt_bytes text)
{
    size_t at = 0;

    put_char(json, '"');
    for (;;) {
        json->used += escape(text, &at, json->buffer + json->used,
                             sizeof json->buffer - json->used);
        if (at == text.bytes) {
            break;
        }
        flush(json);
    }
    put_char(json, '"');
}

static void put_number(struct cpti_json *json, uint64_t number)
{
    char text[20];
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    put(json, text + at, sizeof text - at);
}

/* --- Items --- */

/* Writes the comma before an item, and its key. */
static void begin_item(struct cpti_json *json, const char *key)
{
    if (json->has_item[json->depth] == 1) {
        put_char(json, ',');
    }
    /* 2: the key has been written, this is its value */
    if (json->is_row && json->has_item[json->depth] != 2) {
        put_char(json, '\n');
        json->is_row = false;
    }
    json->has_item[json->depth] = 1;
    if (key != NULL) {
        put_string(json, cpt_bytes_of(key));
        put_char(json, ':');
    }
}

/* Flushes after the outermost item. */
static void end_item(struct cpti_json *json)
{
    if (json->depth == 0) {
        flush(json);
    }
}

void cpti_json_key(struct cpti_json *json, struct cpt_bytes key)
{
    begin_item(json, NULL);
    put_string(json, key);
    put_char(json, ':');
    json->has_item[json->depth] = 2;
}

void cpti_json_open(struct cpti_json *json, const char *key, char opener)
{
    assert(json->depth < CPTI_JSON_DEPTH_MAX);
    begin_item(json, key);
    put_char(json, opener);
    json->closers[json->depth++] = opener == '{' ? '}' : ']';
    json->has_item[json->depth] = 0;
}

void cpti_json_close(struct cpti_json *json)
{
    assert(json->depth > 0);
    if (json->is_row) {
        put_char(json, '\n');
        json->is_row = false;
    }
    put_char(json, json->closers[--json->depth]);
    if (json->depth == 0) {
        put_char(json, '\n');
        json->has_item[0] = 0;
    }
    end_item(json);
}

void cpti_json_row(struct cpti_json *json)
{
    json->is_row = true;
}

void cpti_json_bytes(struct cpti_json *json, const char *key, struct cpt_bytes text)
{
    begin_item(json, key);
    put_string(json, text);
    end_item(json);
}

void cpti_json_text(struct cpti_json *json, const char *key, const char *text)
{
    cpti_json_bytes(json, key, cpt_bytes_of(text));
}

/* The value of the hexadecimal digit @digit; -1: it is none. */
static int digit_of(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* The byte that "\\xNN" at @at stands for; -1: there is no such escape. */
static int escaped_byte(const char *at)
{
    int high;
    int low;

    if (at[0] != '\\' || at[1] != 'x') {
        return -1;
    }
    high = digit_of(at[2]);
    low = high < 0 ? -1 : digit_of(at[3]);
    return low < 0 ? -1 : 16 * high + low;
}

void cpti_json_raw_name(struct cpti_json *json, const char *text)
{
    char name[CPTI_JSON_BUFFER_BYTES];
    size_t bytes = 0;

    while (*text != '\0' && bytes < sizeof name) {
        const int byte = escaped_byte(text);

        name[bytes++] = byte < 0 ? *text : (char)byte;
        text += byte < 0 ? 1 : 4;
    }
    cpti_json_bytes(json, NULL, (struct cpt_bytes){name, bytes});
}

bool cpti_is_escaped(const char *text)
{
    return strchr(text, '\\') != NULL;
}

void cpti_json_raw(struct cpti_json *json, const char *key, struct cpt_bytes text)
{
    begin_item(json, key);
    put(json, text.data, text.bytes);
    end_item(json);
}

void cpti_json_unsigned(struct cpti_json *json, const char *key, uint64_t number)
{
    begin_item(json, key);
    put_number(json, number);
    end_item(json);
}

void cpti_json_integer(struct cpti_json *json, const char *key, int64_t number)
{
    begin_item(json, key);
    if (number < 0) {
        put_char(json, '-');
    }
    put_number(json, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    end_item(json);
}

void cpti_json_bool(struct cpti_json *json, const char *key, bool is_true)
{
    cpti_json_raw(json, key, cpt_bytes_of(is_true ? "true" : "false"));
}

void cpti_json_null(struct cpti_json *json, const char *key)
{
    cpti_json_raw(json, key, cpt_bytes_of("null"));
}

void cpti_json_word(struct cpti_json *json, const char *key, const char *word,
                    unsigned number)
{
    if (word != NULL) {
        cpti_json_text(json, key, word);
    } else {
        cpti_json_unsigned(json, key, number);
    }
}

void cpti_json_float(struct cpti_json *json, const char *key, double number)
{
    uint64_t bits = 0;

    if (!isfinite(number)) {
        cpti_json_null(json, key);
        return;
    }
    /* The last text serves again: neighbours are often equal. Bits are compared, as -0
     * and 0 have different texts. */
    memcpy(&bits, &number, sizeof bits);
    if (json->real_text[0] == '\0' || json->real != bits) {
        json->real = bits;
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(json->real_text, sizeof json->real_text, "%.*g", digits,
                           number);
            if (strtod(json->real_text, NULL) == number) {
                break;
            }
        }
    }
    cpti_json_raw(json, key, cpt_bytes_of(json->real_text));
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
