/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* varint.h - numbers of protobuf, written, and read without a branch on their length;
 * inline */
#ifndef VARINT_H
#define VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What follows the key of a field. */
enum { CPTI_WIRE_NUMBER = 0, CPTI_WIRE_FIXED64 = 1, CPTI_WIRE_BYTES = 2 };

enum { CPTI_VARINT_BYTES_MAX = 10 };

/* The bytes of @number. */
static inline size_t cpti_varint_bytes(uint64_t number)
{
    return (size_t)(63 - __builtin_clzll(number | 1)) / 7 + 1;
}

/* Writes @number to @at, which has room; the first byte behind it. */
static inline unsigned char *cpti_varint_put(unsigned char *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        *at++ = (unsigned char)(number | 0x80);
    }
    *at++ = (unsigned char)number;
    return at;
}

/* Writes @number as eight bytes to @at, the lowest first; the byte behind them. */
static inline unsigned char *cpti_fixed64_put(unsigned char *at, uint64_t number)
{
    for (int shift = 0; shift < 64; shift += 8) {
        *at++ = (unsigned char)(number >> shift);
    }
    return at;
}

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
