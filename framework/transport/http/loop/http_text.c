/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_text.c - text that grows; see http_text.h */
#include "framework/transport/http/loop/http_text.h"

#include "wire/cpt_metadata.h"

#include <string.h>

enum { FIRST_BYTES = 1024, KEPT_BYTES_MAX = 64 << 10, DIGITS_MAX = 20 };

void cpti_http_text_reset(struct cpti_http_text *text)
{
    if (text->capacity > KEPT_BYTES_MAX) {
        cpti_http_text_deinit(text);
    }
    text->bytes = 0;
    text->is_bad = false;
}

void cpti_http_text_deinit(struct cpti_http_text *text)
{
    cpt_alloc_free(text->alloc, text->data);
    text->data = NULL;
    text->bytes = 0;
    text->capacity = 0;
}

char *cpti_http_text_room(struct cpti_http_text *text, size_t bytes)
{
    char *room = NULL;

    if (text->is_bad) {
        text->bytes += bytes; /* see CPTI_HTTP_TEXT_COUNTED */
        return NULL;
    }
    if (bytes > text->capacity - text->bytes) {
        const size_t needed = text->bytes + bytes;

        if (cpt_alloc_grow(text->alloc, (void **)&text->data, &text->capacity,
                           needed > FIRST_BYTES ? needed : FIRST_BYTES, SIZE_MAX / 2,
                           1) != CPT_OK) {
            text->is_bad = true;
            return NULL;
        }
    }
    room = text->data + text->bytes;
    text->bytes += bytes;
    return room;
}

void cpti_http_text_put(struct cpti_http_text *text, struct cpt_bytes bytes)
{
    char *room = cpti_http_text_room(text, bytes.bytes);

    if (room != NULL && bytes.bytes > 0) {
        memcpy(room, bytes.data, bytes.bytes);
    }
}

void cpti_http_text_number(struct cpti_http_text *text, uint64_t number)
{
    char digits[DIGITS_MAX];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    cpti_http_text_put(text, (struct cpt_bytes){digits + at, sizeof digits - at});
}

bool cpti_http_is_value(struct cpt_bytes value)
{
    bool is_bad = false;

    for (size_t i = 0; i < value.bytes; i++) {
        const unsigned char byte = (unsigned char)value.data[i];

        is_bad |= (byte < ' ' && byte != '\t') || byte == 0x7f;
    }
    return value.bytes > 0 && !is_bad;
}

void cpti_http_text_line(struct cpti_http_text *text, struct cpt_bytes name,
                         struct cpt_bytes value)
{
    char *room = cpti_http_text_room(text, name.bytes + value.bytes + 4);

    if (room == NULL) {
        return;
    }
    memcpy(room, name.data, name.bytes);
    memcpy(room + name.bytes, ": ", 2);
    if (value.bytes > 0) {
        memcpy(room + name.bytes + 2, value.data, value.bytes);
    }
    memcpy(room + name.bytes + 2 + value.bytes, "\r\n", 2);
}

void cpti_http_text_header(struct cpti_http_text *text, const char *name,
                           struct cpt_bytes value)
{
    if (cpti_http_is_value(value)) {
        cpti_http_text_line(text, cpt_bytes_of(name), value);
    }
}

void cpti_http_text_path(struct cpti_http_text *text, struct cpt_bytes metadata)
{
    /* cpt_base64_encode() ends it with a NUL, which the line end overwrites */
    const size_t bytes = CPT_BASE64_BYTES(metadata.bytes);
    char *room = NULL;

    if (metadata.bytes == 0) {
        return;
    }
    /* a cache between must not give it to those who did not ask */
    CPTI_HTTP_TEXT_PUT(text, "Vary: " CPT_HEADER_ASK "\r\n" CPT_HEADER_PATH ": ");
    room = cpti_http_text_room(text, bytes + 2);
    if (room != NULL) {
        (void)cpt_base64_encode(metadata.data, metadata.bytes, room, bytes + 2);
        memcpy(room + bytes, "\r\n", 2);
    }
}

char *cpti_http_text_copy(struct cpt_bytes bytes, const struct cpt_alloc *alloc)
{
    char *text = cpt_alloc_zeroed(alloc, bytes.bytes + 1);

    if (text != NULL && bytes.bytes > 0) {
        memcpy(text, bytes.data, bytes.bytes);
    }
    return text;
}
