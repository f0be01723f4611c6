/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_text.c - JSON, written item by item; see json_text.h */
#include "cpt/base/json_text.h"

#include "cpt/base/utf8.h"

#include <assert.h>
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

/* Where the next bytes belong: at least @least of them, and *@all. NULL: they are left
 * out. */
static char *room(struct cpti_json *json, size_t least, size_t *all)
{
    void *data = json->data;

    if (json->file != NULL) {
        if (least > sizeof json->buffer - json->used) {
            flush(json);
        }
        *all = sizeof json->buffer - json->used;
        return json->buffer + json->used;
    }
    json->is_full |= cpt_alloc_grow(json->alloc, &data, &json->capacity,
                                    json->used + least, json->bytes_max, 1) != CPT_OK;
    json->data = data;
    if (json->is_full) {
        return NULL;
    }
    *all = json->capacity - json->used;
    return json->data + json->used;
}

static void put(struct cpti_json *json, const char *text, size_t bytes)
{
    size_t all = 0;
    char *to = NULL;

    while (bytes > 0 && (to = room(json, 1, &all)) != NULL) {
        all = bytes < all ? bytes : all;
        memcpy(to, text, all);
        json->used += all;
        text += all;
        bytes -= all;
    }
}

static void put_char(struct cpti_json *json, char character)
{
    size_t all = 0;
    char *to = room(json, 1, &all);

    if (to != NULL) {
        *to = character;
        json->used++;
    }
}

static void put_string(struct cpti_json *json, struct cpt_bytes text)
{
    size_t at = 0;
    size_t all = 0;
    char *to = NULL;

    put_char(json, '"');
    while (at < text.bytes && (to = room(json, ESCAPE_BYTES, &all)) != NULL) {
        json->used += escape(text, &at, to, all);
    }
    put_char(json, '"');
}

void cpti_json_deinit(struct cpti_json *json)
{
    cpt_alloc_free(json->alloc, json->data);
    json->data = NULL;
}

struct cpti_json_mark cpti_json_mark(const struct cpti_json *json)
{
    return (struct cpti_json_mark){json->used, json->depth,
                                   json->has_item[json->depth]};
}

void cpti_json_cut(struct cpti_json *json, struct cpti_json_mark mark)
{
    json->used = mark.used;
    json->depth = mark.depth;
    json->has_item[mark.depth] = mark.has_item;
    json->is_full = false;
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
    if (json->depth == 0 && json->file != NULL) {
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
    if (text != NULL) {
        cpti_json_bytes(json, key, cpt_bytes_of(text));
    } else {
        cpti_json_null(json, key);
    }
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
