/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* utf8.h - the length of a UTF-8 character (RFC 3629), and which ones are not shown.
 * Inline; shared by the libraries. */
#ifndef CPTI_UTF8_H
#define CPTI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at @at, where @left bytes, at least 1, can be read. 0:
 * no valid character, such as an overlong form, a surrogate or one above U+10FFFF. */
static inline size_t cpti_utf8_bytes(const void *at, size_t left)
{
    const unsigned char *byte = at;
    const size_t bytes = byte[0] < 0x80   ? 1
                         : byte[0] < 0xc2 ? 0
                         : byte[0] < 0xe0 ? 2
                         : byte[0] < 0xf0 ? 3
                         : byte[0] < 0xf5 ? 4
                                          : 0;

    if (bytes > left) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((byte[i] & 0xc0U) != 0x80U) {
            return 0;
        }
    }
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
        (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f)) {
        return 0;
    }
    return bytes;
}

/* Whether the character of @bytes, 2 or more, at @at changes how others are shown and
 * is itself not: a C1 control; U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to
 * U+2069, which turn the direction of the text behind them; the separators U+2028 and
 * U+2029, which break a line. With them a name could look like another one. */
static inline bool cpti_utf8_is_hidden(const void *at, size_t bytes)
{
    const unsigned char *byte = at;

    if (bytes == 2) {
        return (byte[0] == 0xc2 && byte[1] < 0xa0) ||
               (byte[0] == 0xd8 && byte[1] == 0x9c);
    }
    if (bytes != 3 || byte[0] != 0xe2) {
        return false;
    }
    return byte[1] == 0x80 ? byte[2] == 0x8e || byte[2] == 0x8f ||
                                 (byte[2] >= 0xa8 && byte[2] <= 0xae)
                           : byte[1] == 0x81 && byte[2] >= 0xa6 && byte[2] <= 0xa9;
}

#endif
