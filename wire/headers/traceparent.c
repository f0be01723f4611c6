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

#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { TRACE_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, VALUE_BYTES = 55 };

/*
 * Every request that belongs to a trace comes by here, and few of them are traced. So
 * 16 digits are read at once, as vectors of GCC and clang, and tested at the end.
 */
typedef unsigned char sixteen __attribute__((vector_size(16)));
typedef uint16_t pairs __attribute__((vector_size(16)));
typedef unsigned char eight __attribute__((vector_size(8)));

enum { LETTER_AT = 'a' - '0' - 10 };

/*
 * Reads 16 digits of @text to 8 @bytes. If one is wrong, upper case, too, *@wrong is
 * or-ed with what is not 0: its value is not 0 to 15, or it is a letter in just one of
 * two respects, by its character or by its value.
 */
static void read_16(const char *text, unsigned char bytes[8], sixteen *wrong)
{
    sixteen digits;
    sixteen is_letter;
    pairs pair;
    eight made;

    memcpy(&digits, text, sizeof digits);
    digits -= '0';
    is_letter = (sixteen)(digits > 9);
    digits -= is_letter & LETTER_AT;
    *wrong |= (digits & 0xf0) | (is_letter ^ (sixteen)(digits > 9));
    memcpy(&pair, &digits, sizeof pair);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    pair = pair << 4 | pair >> 8;
#else
    pair = pair >> 4 | pair;
#endif
    made = __builtin_convertvector(pair & 255, eight);
    memcpy(bytes, &made, sizeof made);
}

static bool is_zero(sixteen vector)
{
    uint64_t halves[2];

    memcpy(halves, &vector, sizeof halves);
    return (halves[0] | halves[1]) == 0;
}

/* The value of a digit plus 1; 0: it is none. */
static const unsigned char digit_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
    ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
    ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16};

/* Reads 2 digits; above 255: one is wrong. */
static unsigned read_2(const char *text)
{
    const unsigned high = digit_values[(unsigned char)text[0]] - 1U;
    const unsigned low = digit_values[(unsigned char)text[1]] - 1U;

    return high << 4 | low;
}

/* Whether it begins as values of versions above 00 do, and may be longer. */
static bool is_later(struct cpt_bytes value)
{
    const unsigned version = read_2(value.data);

    return version > 0 && version < 0xff &&
           (value.bytes == VALUE_BYTES || value.data[VALUE_BYTES] == '-');
}

static uint64_t number_at(const unsigned char *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof number);
    return number;
}

cpt_status cpt_traceparent_parse(struct cpt_bytes value, struct cpt_traceparent *parent)
{
    unsigned flags = 0;
    sixteen wrong = {0};

    if (value.bytes < VALUE_BYTES || value.data[TRACE_AT - 1] != '-' ||
        value.data[PARENT_AT - 1] != '-' || value.data[FLAGS_AT - 1] != '-') {
        goto corrupt;
    }
    if ((value.bytes != VALUE_BYTES || value.data[0] != '0' || value.data[1] != '0') &&
        !is_later(value)) {
        goto corrupt;
    }
    flags = read_2(value.data + FLAGS_AT);
    read_16(value.data + TRACE_AT, parent->trace_id, &wrong);
    read_16(value.data + TRACE_AT + 16, parent->trace_id + 8, &wrong);
    read_16(value.data + PARENT_AT, parent->parent_id, &wrong);
    parent->flags = (unsigned char)flags;
    if (is_zero(wrong) && flags <= UCHAR_MAX &&
        (number_at(parent->trace_id) | number_at(parent->trace_id + 8)) != 0 &&
        number_at(parent->parent_id) != 0) {
        return CPT_OK;
    }
corrupt:
    memset(parent, 0, sizeof *parent);
    return CPT_CORRUPT;
}

/* Writes 8 @bytes as 16 digits. */
static void write_16(char *text, const unsigned char bytes[8])
{
    eight read;
    pairs pair;
    sixteen digits;

    memcpy(&read, bytes, sizeof read);
    pair = __builtin_convertvector(read, pairs);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    pair = pair >> 4 | (pair & 15) << 8;
#else
    pair = (pair & 240) << 4 | (pair & 15);
#endif
    memcpy(&digits, &pair, sizeof digits);
    digits += '0' + ((sixteen)(digits > 9) & LETTER_AT);
    memcpy(text, &digits, sizeof digits);
}

void cpt_traceparent_format(const struct cpt_traceparent *parent,
                            char text[CPT_TRACEPARENT_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";

    text[0] = '0';
    text[1] = '0';
    text[TRACE_AT - 1] = '-';
    write_16(text + TRACE_AT, parent->trace_id);
    write_16(text + TRACE_AT + 16, parent->trace_id + 8);
    text[PARENT_AT - 1] = '-';
    write_16(text + PARENT_AT, parent->parent_id);
    text[FLAGS_AT - 1] = '-';
    text[FLAGS_AT] = digits[parent->flags >> 4];
    text[FLAGS_AT + 1] = digits[parent->flags & 15];
    text[VALUE_BYTES] = '\0';
}
