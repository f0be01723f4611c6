/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* varint.h - numbers of protobuf, read without a branch on their length; inline */
#ifndef VARINT_H
#define VARINT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes as a number, the first one lowest. */
static inline uint64_t cpti_load(const unsigned char *at)
{
    uint64_t word = 0;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Takes a number of at most eight bytes from **@at, where eight bytes can be read;
 * false if it is longer. Groups of seven bits are joined two by two. */
static inline bool cpti_varint_take(const unsigned char **at, uint64_t *number)
{
    uint64_t word = cpti_load(*at);
    const uint64_t ends = ~word & UINT64_C(0x8080808080808080);

    if (ends == 0) {
        return false;
    }
    word &= ends ^ (ends - 1); /* up to the last byte's high bit */
    word = (word & UINT64_C(0x007f007f007f007f)) |
           (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) |
           (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    *number =
        (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    *at += ((unsigned)__builtin_ctzll(ends) + 1) / 8;
    return true;
}

#endif
