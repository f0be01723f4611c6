/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * path_text.c - frames and stacks as text for people
 *
 * All other code keeps names as bytes; only here they become text. Bytes that would
 * break a line, a stack or a terminal are written \xNN, and if a name begins like a
 * synthetic frame, its first character is escaped.
 */
#include "cpt/cpt_path.h"
#include "cpt/base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Text in a buffer; it still counts bytes when the buffer is full. */
struct text {
    char *data;
    size_t capacity;
    size_t bytes;
};

static void put(struct text *text, const char *data, size_t bytes)
{
    /* writes a piece whole or not at all, so that no character is cut */
    if (text->bytes + bytes < text->capacity) {
        memcpy(text->data + text->bytes, data, bytes);
        text->data[text->bytes + bytes] = '\0';
    } else if (text->bytes < text->capacity) {
        text->data[text->bytes] = '\0';
    }
    text->bytes += bytes;
}

static void put_string(struct text *text, const char *string)
{
    put(text, string, strlen(string));
}

static void put_escaped(struct text *text, unsigned char byte)
{
    char escape[5];

    (void)snprintf(escape, sizeof escape, "\\x%02x", byte);
    put(text, escape, 4);
}

static struct text text_begin(char *data, size_t capacity)
{
    if (capacity != 0) {
        data[0] = '\0';
    }
    return (struct text){data, capacity, 0};
}

/* Bytes of the character at @at; 0 if it is not UTF-8, or not shown. */
static size_t shown_bytes(const unsigned char *at, size_t left)
{
    const size_t bytes = cpti_utf8_bytes(at, left);

    return cpti_utf8_is_hidden(at, bytes) ? 0 : bytes;
}

static void put_name(struct text *text, struct cpt_bytes name)
{
    const unsigned char *at = (const unsigned char *)name.data;
    size_t i = 0;

    while (i < name.bytes) {
        const size_t bytes = shown_bytes(at + i, name.bytes - i);
        const bool opens = i == 0 && (at[0] == '<' || (bytes == 3 && at[0] == 0xe2 &&
                                                       at[1] == 0x80 && at[2] == 0xb9));

        if (bytes == 0 || opens || at[i] < 0x20 || at[i] == 0x7f || at[i] == ';' ||
            at[i] == '\\') {
            put_escaped(text, at[i]);
            i++;
            if (opens && bytes == 3) {
                put_escaped(text, at[1]);
                put_escaped(text, at[2]);
                i += 2;
            }
        } else {
            put(text, name.data + i, bytes);
            i += bytes;
        }
    }
}

/* The part after "service: " may not begin like a synthetic frame either. */
static void put_frame_name(struct text *text, struct cpt_bytes name)
{
    const struct cpt_bytes service = cpt_name_service(name);

    if (service.bytes == 0) {
        put_name(text, name);
        return;
    }
    put_name(text, service);
    put_string(text, ": ");
    put_name(text, (struct cpt_bytes){name.data + service.bytes + 2,
                                      name.bytes - service.bytes - 2});
}

static void put_frame(struct text *text, struct cpt_bytes name, unsigned kind,
                      struct cpt_bytes service)
{
    const char *words = cpt_kind_words(kind);
    char number[24];

    if (kind == CPT_KIND_WORK) {
        put_frame_name(text, name);
        return;
    }
    if (words == NULL) {
        (void)snprintf(number, sizeof number, "kind %u", kind);
        words = number;
    }
    if (service.bytes != 0) {
        put_name(text, service);
        put_string(text, ": ");
    }
    put_string(text, "\u2039");
    put_string(text, words);
    if (name.bytes != 0) {
        put_string(text, ": ");
        put_name(text, name);
    }
    put_string(text, "\u203a");
}

size_t cpt_text_name(struct cpt_bytes name, char *text, size_t capacity)
{
    struct text out = text_begin(text, capacity);

    put_name(&out, name);
    return out.bytes;
}

size_t cpt_text_frame(struct cpt_bytes name, unsigned kind, struct cpt_bytes service,
                      char *text, size_t capacity)
{
    struct text out = text_begin(text, capacity);

    put_frame(&out, name, kind, service);
    return out.bytes;
}

size_t cpt_path_frame_text(const struct cpt_path *path, uint32_t index, char *text,
                           size_t capacity)
{
    const uint32_t parent = cpt_path_frame(path, index)->parent;
    struct cpt_bytes service = {NULL, 0};

    if (parent != CPT_FRAME_NONE) {
        service = cpt_path_frame_service(path, parent);
    }
    return cpt_text_frame(cpt_path_frame_name(path, index),
                          cpt_path_frame(path, index)->kind, service, text, capacity);
}

size_t cpt_path_stack_text(const struct cpt_path *path, uint32_t index, char *text,
                           size_t capacity)
{
    struct text out = text_begin(text, capacity);
    uint32_t stack[CPT_PATH_DEPTH_MAX];
    struct cpt_bytes service = {NULL, 0}; /* of the frames above */
    size_t depth = 0;

    for (; index != CPT_FRAME_NONE; index = cpt_path_frame(path, index)->parent) {
        stack[depth++] = index;
    }
    while (depth-- > 0) {
        const struct cpt_bytes name = cpt_path_frame_name(path, stack[depth]);
        const struct cpt_bytes own = cpt_name_service(name);

        put_frame(&out, name, cpt_path_frame(path, stack[depth])->kind, service);
        if (own.bytes != 0) {
            service = own;
        }
        if (depth != 0) {
            put(&out, ";", 1);
        }
    }
    return out.bytes;
}
