/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* json_text.c - JSON that is written into memory, up to a limit; see json_text.h */
#include "framework/graph/json_text.h"

#include "cpt/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CAPACITY_MIN = 4096 };

void cpti_json_text_init(struct cpti_json_text *text, const struct cpt_alloc *alloc,
                         size_t bytes_max)
{
    *text = (struct cpti_json_text){
        .alloc = alloc != NULL ? alloc : cpt_alloc_default(), .bytes_max = bytes_max};
}

void cpti_json_text_deinit(struct cpti_json_text *text)
{
    cpt_alloc_free(text->alloc, text->data);
    text->data = NULL;
}

/* Makes room for @more. */
static bool reserve(struct cpti_json_text *text, size_t more)
{
    size_t capacity = text->capacity != 0 ? text->capacity : CAPACITY_MIN;
    char *data = NULL;

    if (more > text->bytes_max - text->bytes) {
        return false;
    }
    if (text->bytes + more <= text->capacity) {
        return true;
    }
    while (capacity < text->bytes + more) {
        capacity *= 2;
    }
    data = text->alloc->resize(text->alloc->context, text->data, capacity);
    if (data == NULL) {
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

static void put(struct cpti_json_text *text, const char *bytes, size_t count)
{
    if (text->is_full || !reserve(text, count)) {
        text->is_full = true;
        return;
    }
    memcpy(text->data + text->bytes, bytes, count);
    text->bytes += count;
}

static void put_quoted(struct cpti_json_text *text, struct cpt_bytes value)
{
    size_t i = 0;

    put(text, "\"", 1);
    while (i < value.bytes) {
        const size_t count = cpti_utf8_bytes(value.data + i, value.bytes - i);
        const unsigned char first = (unsigned char)value.data[i];
        char escape[8];

        if (first == '"' || first == '\\') {
            escape[0] = '\\';
            escape[1] = (char)first;
            put(text, escape, 2);
        } else if (first < ' ' || first == 0x7f) {
            (void)snprintf(escape, sizeof escape, "\\u%04x", first);
            put(text, escape, 6);
        } else if (count == 0) {
            put(text, "?", 1);
        } else {
            put(text, value.data + i, count);
        }
        i += count > 0 ? count : 1;
    }
    put(text, "\"", 1);
}

/* What stands before a value. */
static void begin(struct cpti_json_text *text, const char *key)
{
    if (text->needs_comma) {
        put(text, ",", 1);
    }
    if (key != NULL) {
        put_quoted(text, cpt_bytes_of(key));
        put(text, ":", 1);
    }
    text->needs_comma = true;
}

void cpti_json_text_open(struct cpti_json_text *text, const char *key, char bracket)
{
    begin(text, key);
    put(text, &bracket, 1);
    text->needs_comma = false;
}

void cpti_json_text_close(struct cpti_json_text *text, char bracket)
{
    put(text, &bracket, 1);
    text->needs_comma = true;
}

void cpti_json_text_string(struct cpti_json_text *text, const char *key,
                           struct cpt_bytes value)
{
    begin(text, key);
    put_quoted(text, value);
}

void cpti_json_text_number(struct cpti_json_text *text, const char *key, uint64_t value)
{
    char digits[24];
    const int count = snprintf(digits, sizeof digits, "%" PRIu64, value);

    begin(text, key);
    put(text, digits, (size_t)count);
}

void cpti_json_text_flag(struct cpti_json_text *text, const char *key, bool value)
{
    begin(text, key);
    put(text, value ? "true" : "false", value ? 4 : 5);
}

void cpti_json_text_end(struct cpti_json_text *text)
{
    put(text, "\n", 1);
}
