/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * traceparent.c - the trace a request belongs to, by W3C Trace Context
 *
 *      00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *      |  |                                |                '-- flags, at 53
 *      |  |                                '-- parent span, at 36
 *      |  '-- trace, at 3
 *      '-- version; higher versions may have more fields behind another '-'
 */
#include "wire/cpt_metadata.h"

#include <stdbool.h>
#include <string.h>

enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, VALUE_BYTES = 55 };

enum { NO_DIGIT = 0x80 };

/* The value of a hexadecimal digit plus 1; 0: it is none. Upper case is not allowed. */
static const unsigned char digit_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16};

/* Reads @count bytes in hexadecimal. There is one test, at the end: every request that
 * belongs to a trace comes by here. */
static bool read_hex(const char *text, unsigned char *bytes, size_t count)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const unsigned high = digit_values[(unsigned char)text[2 * i]] - 1U;
        const unsigned low = digit_values[(unsigned char)text[2 * i + 1]] - 1U;

        wrong |= high | low;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return (wrong & NO_DIGIT) == 0;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    static const unsigned char zeros[16];

    return memcmp(bytes, zeros, count) == 0;
}

cpt_status cpt_traceparent_parse(struct cpt_bytes value, struct cpt_traceparent *parent)
{
    struct cpt_traceparent read = {{0}, {0}, 0};
    unsigned char version = 0;

    *parent = read;
    if (value.bytes < VALUE_BYTES || value.data[TRACE_AT - 1] != '-' ||
        value.data[PARENT_AT - 1] != '-' || value.data[FLAGS_AT - 1] != '-' ||
        !read_hex(value.data, &version, 1) ||
        !read_hex(value.data + TRACE_AT, read.trace_id, sizeof read.trace_id) ||
        !read_hex(value.data + PARENT_AT, read.parent_id, sizeof read.parent_id) ||
        !read_hex(value.data + FLAGS_AT, &read.flags, 1)) {
        return CPT_CORRUPT;
    }
    if (version == 0xff || (version == 0 && value.bytes != VALUE_BYTES) ||
        (value.bytes > VALUE_BYTES && value.data[VALUE_BYTES] != '-')) {
        return CPT_CORRUPT;
    }
    if (is_zero(read.trace_id, sizeof read.trace_id) ||
        is_zero(read.parent_id, sizeof read.parent_id)) {
        return CPT_CORRUPT;
    }
    *parent = read;
    return CPT_OK;
}

static char *write_hex(char *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    return text;
}

void cpt_traceparent_format(const struct cpt_traceparent *parent,
                            char text[CPT_TRACEPARENT_BYTES + 1])
{
    text[0] = '0';
    text[1] = '0';
    text[TRACE_AT - 1] = '-';
    text[PARENT_AT - 1] = '-';
    text[FLAGS_AT - 1] = '-';
    (void)write_hex(text + TRACE_AT, parent->trace_id, sizeof parent->trace_id);
    (void)write_hex(text + PARENT_AT, parent->parent_id, sizeof parent->parent_id);
    *write_hex(text + FLAGS_AT, &parent->flags, 1) = '\0';
}
