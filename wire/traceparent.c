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

enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, VALUE_BYTES = 55 };

/* Upper case is not allowed. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads @count bytes in hexadecimal. */
static bool read_hex(const char *text, unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int high = hex_digit(text[2 * i]);
        const int low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
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
