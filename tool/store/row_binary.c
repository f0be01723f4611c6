/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* row_binary.c - ClickHouse's RowBinary; see row_binary.h */
#include "tool/store/row_binary.h"

#include "cpt/cpt_alloc.h"

#include <string.h>

void cpti_packed_deinit(struct cpti_packed *rows)
{
    cpt_alloc_free(NULL, rows->data);
    *rows = (struct cpti_packed){0};
}

void cpti_row_bytes(struct cpti_packed *rows, const void *data, size_t bytes)
{
    if (rows->has_failed || bytes > SIZE_MAX / 2 - rows->bytes ||
        cpt_alloc_grow(NULL, (void **)&rows->data, &rows->capacity, rows->bytes + bytes,
                       SIZE_MAX / 2, 1) != CPT_OK) {
        rows->has_failed = true;
        return;
    }
    if (bytes != 0) {
        memcpy(rows->data + rows->bytes, data, bytes);
        rows->bytes += bytes;
    }
}

/* The fast way for numbers, the most frequent values: one copy if there is room. */
static void put_fixed(struct cpti_packed *rows, uint64_t value, size_t bytes)
{
    unsigned char data[8];

    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(value >> 8 * i);
    }
    if (rows->capacity - rows->bytes >= sizeof data && !rows->has_failed) {
        memcpy(rows->data + rows->bytes, data, sizeof data);
        rows->bytes += bytes;
        return;
    }
    cpti_row_bytes(rows, data, bytes);
}

void cpti_row_u8(struct cpti_packed *rows, unsigned value)
{
    put_fixed(rows, value, 1);
}

void cpti_row_u16(struct cpti_packed *rows, unsigned value)
{
    put_fixed(rows, value, 2);
}

void cpti_row_u64(struct cpti_packed *rows, uint64_t value)
{
    put_fixed(rows, value, 8);
}

void cpti_row_f64(struct cpti_packed *rows, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_fixed(rows, bits, 8);
}

void cpti_row_count(struct cpti_packed *rows, uint64_t count)
{
    while (count >= 0x80) {
        cpti_row_u8(rows, (unsigned)(count & 0x7f) | 0x80U);
        count >>= 7;
    }
    cpti_row_u8(rows, (unsigned)count);
}

void cpti_row_text(struct cpti_packed *rows, struct cpt_bytes text)
{
    cpti_row_count(rows, text.bytes);
    cpti_row_bytes(rows, text.data, text.bytes);
}

static bool get_fixed(const unsigned char **at, const unsigned char *end, size_t bytes,
                      uint64_t *value)
{
    if ((size_t)(end - *at) < bytes) {
        return false;
    }
    *value = 0;
    for (size_t i = bytes; i-- > 0;) {
        *value = *value << 8 | (*at)[i];
    }
    *at += bytes;
    return true;
}

bool cpti_row_get_u16(const unsigned char **at, const unsigned char *end,
                      unsigned *value)
{
    uint64_t wide;

    if (!get_fixed(at, end, 2, &wide)) {
        return false;
    }
    *value = (unsigned)wide;
    return true;
}

bool cpti_row_get_u64(const unsigned char **at, const unsigned char *end,
                      uint64_t *value)
{
    return get_fixed(at, end, 8, value);
}

bool cpti_row_get_count(const unsigned char **at, const unsigned char *end,
                        uint64_t *count)
{
    const unsigned char *from = *at;
    uint64_t read = 0;
    unsigned char byte = 0x80;

    for (unsigned shift = 0; byte >= 0x80; shift += 7) {
        if (from == end || shift > 56) {
            return false;
        }
        byte = *from++;
        read |= (uint64_t)(byte & 0x7fU) << shift;
    }
    *count = read;
    *at = from;
    return true;
}

bool cpti_row_get_text(const unsigned char **at, const unsigned char *end,
                       struct cpt_bytes *text)
{
    const unsigned char *from = *at;
    uint64_t bytes;

    if (!cpti_row_get_count(&from, end, &bytes) || bytes > (uint64_t)(end - from)) {
        return false;
    }
    *text = (struct cpt_bytes){(const char *)from, (size_t)bytes};
    *at = from + bytes;
    return true;
}
