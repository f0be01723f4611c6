/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * base64.c - bytes as header text, RFC 4648 section 4; see cpt_metadata.h
 *
 * Three bytes become four characters of six bits; one or two bytes at the end become
 * two or three, without padding. The decoder accepts only the canonical text, so that
 * each path has one text.
 */
#include "wire/cpt_metadata.h"

#include "wire/metadata/varint.h"

#include <string.h>

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t cpt_base64_encode(const void *data, size_t bytes, char *text, size_t capacity)
{
    const unsigned char *in = data;
    const size_t text_bytes = CPT_BASE64_BYTES(bytes);
    uint32_t bits = 0;
    size_t out = 0;

    if (capacity <= text_bytes) {
        if (capacity != 0) {
            text[0] = '\0';
        }
        return text_bytes;
    }
    for (; bytes >= 8;
         bytes -= 6, in += 6, out += 8) { /* six of eight that are there */
        const uint64_t word = __builtin_bswap64(cpti_load(in));

#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            text[out + i] = alphabet[word >> (58 - 6 * i) & 63];
        }
    }
    for (; bytes >= 3; bytes -= 3, in += 3, out += 4) {
        bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        text[out] = alphabet[bits >> 18];
        text[out + 1] = alphabet[bits >> 12 & 63];
        text[out + 2] = alphabet[bits >> 6 & 63];
        text[out + 3] = alphabet[bits & 63];
    }
    if (bytes != 0) {
        bits = (uint32_t)in[0] << 16 | (bytes == 2 ? (uint32_t)in[1] << 8 : 0);
        text[out++] = alphabet[bits >> 18];
        text[out++] = alphabet[bits >> 12 & 63];
    }
    if (bytes == 2) {
        text[out++] = alphabet[bits >> 6 & 63];
    }
    text[out] = '\0';
    return out;
}

/* The six bits of each character, and IS_VALUE; 0: it is none of the alphabet. */
enum { IS_VALUE = 64 };

#define EIGHT_(first)                                                                  \
    (first), (first) + 1, (first) + 2, (first) + 3, (first) + 4, (first) + 5,          \
        (first) + 6, (first) + 7

static const unsigned char values[256] = {
    ['A'] = EIGHT_(64), ['I'] = EIGHT_(72), ['Q'] = EIGHT_(80),  ['Y'] = 88,
    ['Z'] = 89,         ['a'] = EIGHT_(90), ['i'] = EIGHT_(98),  ['q'] = EIGHT_(106),
    ['y'] = 114,        ['z'] = 115,        ['0'] = EIGHT_(116), ['8'] = 124,
    ['9'] = 125,        ['+'] = 126,        ['/'] = 127,
};

/* Decodes blocks of four characters while all are of the alphabet; how many characters
 * that were. */
static size_t decode_blocks(const unsigned char *text, size_t text_bytes,
                            unsigned char *out)
{
    size_t i = 0;

    for (; text_bytes - i >= 4; i += 4, out += 3) {
        const unsigned a = values[text[i]];
        const unsigned b = values[text[i + 1]];
        const unsigned c = values[text[i + 2]];
        const unsigned d = values[text[i + 3]];
        const unsigned bits =
            (a & 63) << 18 | (b & 63) << 12 | (c & 63) << 6 | (d & 63);

        if ((a & b & c & d & IS_VALUE) == 0) {
            break;
        }
        out[0] = (unsigned char)(bits >> 16);
        out[1] = (unsigned char)(bits >> 8);
        out[2] = (unsigned char)bits;
    }
    return i;
}

/* The length of @text without padding, or SIZE_MAX if base64 cannot end like this. */
static size_t without_padding(struct cpt_bytes text)
{
    size_t bytes = text.bytes;

    while (bytes != 0 && text.bytes - bytes < 2 && text.data[bytes - 1] == '=') {
        bytes--;
    }
    if (bytes % 4 == 1 || (bytes != text.bytes && text.bytes % 4 != 0)) {
        return SIZE_MAX;
    }
    return bytes;
}

cpt_status cpt_base64_decode(struct cpt_bytes text, void *data, size_t capacity,
                             size_t *bytes, struct cpt_error *error)
{
    const size_t text_bytes = without_padding(text);
    unsigned char *out = data;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    size_t count = 0;
    size_t at = 0;

    if (text_bytes == SIZE_MAX) {
        return cpt_error_set(error, CPT_CORRUPT, text.bytes,
                             "base64 does not end here");
    }
    if (text_bytes / 4 * 3 + text_bytes % 4 * 3 / 4 > capacity) {
        return cpt_error_set(
            error, CPT_LIMIT, 0,
            "%zu characters of base64 are more than the limit of %zu bytes", text_bytes,
            capacity);
    }
    at = decode_blocks((const unsigned char *)text.data, text_bytes, out);
    count = at / 4 * 3;
    for (size_t i = at; i < text_bytes; i++) { /* the end, or what is refused */
        const unsigned value = values[(unsigned char)text.data[i]];

        if (value == 0) {
            return cpt_error_set(error, CPT_CORRUPT, i,
                                 "character 0x%02x is not base64",
                                 (unsigned char)text.data[i]);
        }
        bits = bits << 6 | (value & 63);
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[count++] = (unsigned char)(bits >> bit_count);
        }
    }
    if ((bits & ((1U << bit_count) - 1)) != 0) {
        return cpt_error_set(error, CPT_CORRUPT, text_bytes,
                             "base64 has bits behind its last byte");
    }
    *bytes = count;
    return CPT_OK;
}
