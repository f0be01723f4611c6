/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* utf8.h - the length of a UTF-8 character (RFC 3629). Inline; shared by the
 * libraries. */
#ifndef CPTI_UTF8_H
#define CPTI_UTF8_H

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

#endif
