/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* text.h - parts of a text that has no NUL at its end: a header's value, a line of
 * settings. Inline; shared by the libraries. */
#ifndef CPTI_TEXT_H
#define CPTI_TEXT_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <string.h>

/* Whether the bytes are those of the C string @with. */
static inline bool cpti_text_is(struct cpt_bytes text, const char *with)
{
    return text.bytes == strlen(with) &&
           (text.bytes == 0 || memcmp(text.data, with, text.bytes) == 0);
}

/* Writes the @bytes at @data as hexadecimal digits, twice as many, to @text: these,
 * with no NUL behind them. */
static inline struct cpt_bytes cpti_text_hex(char *text, const void *data, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < 2 * bytes; i++) {
        const unsigned byte = ((const unsigned char *)data)[i / 2];

        text[i] = digits[i % 2 == 0 ? byte >> 4 : byte & 15];
    }
    return (struct cpt_bytes){text, 2 * bytes};
}

/* A blank or a tabulator (OWS of RFC 9110, 5.6.3). */
static inline bool cpti_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The same, or the carriage return that ends a line of a file of Windows. */
static inline bool cpti_is_blank_of_file(char c)
{
    return cpti_is_blank(c) || c == '\r';
}

/* @text without the characters at its ends for which @is_blank. */
static inline struct cpt_bytes cpti_text_trim(struct cpt_bytes text,
                                              bool (*is_blank)(char c))
{
    while (text.bytes > 0 && is_blank(text.data[0])) {
        text.data++;
        text.bytes--;
    }
    while (text.bytes > 0 && is_blank(text.data[text.bytes - 1])) {
        text.bytes--;
    }
    return text;
}

/* The part of @text before the next @end, or all of it; @text goes behind that. */
static inline struct cpt_bytes cpti_text_take(struct cpt_bytes *text, char end)
{
    const char *found = text->bytes > 0 ? memchr(text->data, end, text->bytes) : NULL;
    struct cpt_bytes part = *text;

    if (found == NULL) {
        *text = (struct cpt_bytes){NULL, 0};
        return part;
    }
    part.bytes = (size_t)(found - text->data);
    text->data += part.bytes + 1;
    text->bytes -= part.bytes + 1;
    return part;
}

#endif
