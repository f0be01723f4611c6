/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * tracestate.c - what other tracers say of a trace, by W3C Trace Context, and what
 * OpenTelemetry says there of sampling
 *
 *      congo=t61rcWkgMzE , ot=th:fd70a4;rv:9b8233f7e3a151 , tenant@vendor=1
 *      |     |             |  |         '-- randomness R, 14 digits
 *      |     |             |  '-- threshold T, without the zeros at its end
 *      |     |             '-- the member of OpenTelemetry
 *      |     '-- value: printable, without ',' and '=', no blank at its end
 *      '-- key
 *
 * Members that are empty are allowed, and left out where the value is written anew. A
 * key that comes twice is passed on: who made it may know why.
 */
#include "wire/cpt_metadata.h"

#include "cpt/base/text.h"

#include <stdbool.h>
#include <string.h>

enum { KEY_BYTES_MAX = 256, VALUE_BYTES_MAX = 256, LONG_BYTES = 128, DIGITS = 14 };

/* --- Members --- */

struct members {
    struct cpt_bytes items[CPT_TRACESTATE_MEMBERS_MAX];
    size_t count;
};

static struct cpt_bytes trim(struct cpt_bytes text)
{
    return cpti_text_trim(text, cpti_is_blank);
}

static bool is_low_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_key(struct cpt_bytes key)
{
    if (key.bytes == 0 || key.bytes > KEY_BYTES_MAX || !is_low_or_digit(key.data[0])) {
        return false;
    }
    for (size_t i = 1; i < key.bytes; i++) {
        const char c = key.data[i];

        if (!is_low_or_digit(c) && c != '_' && c != '-' && c != '*' && c != '/' &&
            c != '@') {
            return false;
        }
    }
    return true;
}

static bool is_value(struct cpt_bytes value)
{
    if (value.bytes == 0 || value.bytes > VALUE_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < value.bytes; i++) {
        const char c = value.data[i];

        if (c < ' ' || c > '~' || c == '=') {
            return false;
        }
    }
    return true;
}

/* Adds the members of one @value. */
static bool add_members(struct members *members, struct cpt_bytes value)
{
    while (value.bytes > 0) {
        const struct cpt_bytes member = trim(cpti_text_take(&value, ','));
        struct cpt_bytes rest = member;
        struct cpt_bytes key;

        if (member.bytes == 0) {
            continue;
        }
        key = cpti_text_take(&rest, '=');
        if (!is_key(key) || !is_value(rest) ||
            members->count == CPT_TRACESTATE_MEMBERS_MAX) {
            return false;
        }
        members->items[members->count++] = member;
    }
    return true;
}

/* Room for one more of @bytes behind the first @used, with its comma. */
static bool has_room(size_t used, size_t bytes)
{
    return used + (used > 0) + bytes <= CPT_TRACESTATE_BYTES_MAX;
}

static size_t append(char *text, size_t used, struct cpt_bytes member)
{
    if (used > 0) {
        text[used++] = ',';
    }
    memcpy(text + used, member.data, member.bytes);
    return used + member.bytes;
}

/* All of @members that fit behind the first @used bytes of @text. */
static size_t append_all(char *text, size_t used, const struct members *members)
{
    size_t whole = used;
    bool is_short = false;

    for (size_t i = 0; i < members->count; i++) {
        whole += (whole > 0) + members->items[i].bytes;
    }
    is_short = whole > CPT_TRACESTATE_BYTES_MAX;
    for (size_t i = 0; i < members->count; i++) {
        if (is_short && members->items[i].bytes > LONG_BYTES) {
            continue;
        }
        if (!has_room(used, members->items[i].bytes)) {
            break;
        }
        used = append(text, used, members->items[i]);
    }
    text[used] = '\0';
    return used;
}

cpt_status cpt_tracestate_join(const struct cpt_bytes *values, size_t value_count,
                               char text[CPT_TRACESTATE_BYTES_MAX + 1], size_t *bytes)
{
    struct members members;

    *bytes = 0;
    text[0] = '\0';
    members.count = 0;
    for (size_t i = 0; i < value_count; i++) {
        if (!add_members(&members, values[i])) {
            return CPT_CORRUPT;
        }
    }
    if (value_count == 1 && members.count > 0 &&
        values[0].bytes <= CPT_TRACESTATE_BYTES_MAX) {
        memcpy(text, values[0].data, values[0].bytes);
        text[values[0].bytes] = '\0';
        *bytes = values[0].bytes;
        return CPT_OK;
    }
    *bytes = append_all(text, 0, &members);
    return CPT_OK;
}

/* --- What OpenTelemetry says --- */

static bool is_ot(struct cpt_bytes member)
{
    return member.bytes >= 3 && memcmp(member.data, "ot=", 3) == 0;
}

/* 1 to 14 digits in hexadecimal, the first ones of 14. */
static bool read_hex(struct cpt_bytes text, uint64_t *number)
{
    *number = 0;
    if (text.bytes == 0 || text.bytes > DIGITS) {
        return false;
    }
    for (size_t i = 0; i < DIGITS; i++) {
        const char c = i < text.bytes ? text.data[i] : '0';

        if (c >= '0' && c <= '9') {
            *number = *number << 4 | (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            *number = *number << 4 | (uint64_t)(c - 'a' + 10);
        } else {
            return false;
        }
    }
    return true;
}

static bool begins(struct cpt_bytes text, const char *with)
{
    return text.bytes >= 3 && memcmp(text.data, with, 3) == 0;
}

/* What a part of the member, "th:…" or "rv:…", says; false: it is another one. */
static bool read_part(struct cpt_bytes part, struct cpt_consistent *consistent)
{
    const struct cpt_bytes value = {part.data + 3,
                                    part.bytes >= 3 ? part.bytes - 3 : 0};
    uint64_t number = 0;

    if (begins(part, "th:")) {
        if (read_hex(value, &number)) {
            consistent->has_threshold = 1;
            consistent->threshold = number;
        }
        return true;
    }
    if (begins(part, "rv:")) {
        if (value.bytes == DIGITS && read_hex(value, &number)) {
            consistent->has_randomness = 1;
            consistent->randomness = number;
        }
        return true;
    }
    return false;
}

/* The value of the first member `ot`; data NULL: there is none. */
static struct cpt_bytes find_ot(struct cpt_bytes tracestate)
{
    while (tracestate.bytes > 0) {
        const struct cpt_bytes member = trim(cpti_text_take(&tracestate, ','));

        if (is_ot(member)) {
            return (struct cpt_bytes){member.data + 3, member.bytes - 3};
        }
    }
    return (struct cpt_bytes){NULL, 0};
}

void cpt_consistent_parse(struct cpt_bytes tracestate,
                          struct cpt_consistent *consistent)
{
    struct cpt_bytes ot = find_ot(tracestate);

    *consistent = (struct cpt_consistent){0};
    while (ot.bytes > 0) {
        (void)read_part(cpti_text_take(&ot, ';'), consistent);
    }
}

static size_t put(char *text, size_t used, struct cpt_bytes part)
{
    memcpy(text + used, part.data, part.bytes);
    return used + part.bytes;
}

/* "th:c" or "rv:00000000000001", behind a ';' where something stands before it. */
static size_t put_number(char *text, size_t used, const char *name, uint64_t number,
                         bool is_whole)
{
    static const char digits[] = "0123456789abcdef";
    unsigned shift = 4 * DIGITS;

    used += used > 3 ? put(text + used, 0, cpt_bytes_of(";")) : 0;
    used = put(text, used, cpt_bytes_of(name));
    do {
        shift -= 4;
        text[used++] = digits[number >> shift & 15];
        number &= (UINT64_C(1) << shift) - 1;
    } while (shift > 0 && (is_whole || number != 0));
    return used;
}

/* The member, in @text, which has room; 0: it would say nothing. */
static size_t write_ot(struct cpt_bytes before, const struct cpt_consistent *consistent,
                       char text[VALUE_BYTES_MAX + 3])
{
    size_t used = put(text, 0, cpt_bytes_of("ot="));

    if (consistent->has_threshold) {
        used = put_number(text, used, "th:", consistent->threshold, false);
    }
    if (consistent->has_randomness) {
        used = put_number(text, used, "rv:", consistent->randomness, true);
    }
    while (before.bytes > 0) {
        const struct cpt_bytes part = cpti_text_take(&before, ';');
        struct cpt_consistent ignored = {0};

        if (trim(part).bytes > 0 && !read_part(part, &ignored) &&
            used + part.bytes + 1 <= VALUE_BYTES_MAX + 3) {
            used = used > 3 ? put(text, used, cpt_bytes_of(";")) : used;
            used = put(text, used, part);
        }
    }
    return used > 3 ? used : 0;
}

size_t cpt_consistent_format(struct cpt_bytes tracestate,
                             const struct cpt_consistent *consistent,
                             char text[CPT_TRACESTATE_BYTES_MAX + 1])
{
    char ot[VALUE_BYTES_MAX + 3];
    const size_t ot_bytes = write_ot(find_ot(tracestate), consistent, ot);
    struct members members = {.count = 0};

    if (ot_bytes > 0) {
        members.items[members.count++] = (struct cpt_bytes){ot, ot_bytes};
    }
    while (tracestate.bytes > 0 && members.count < CPT_TRACESTATE_MEMBERS_MAX) {
        const struct cpt_bytes member = trim(cpti_text_take(&tracestate, ','));

        if (member.bytes > 0 && !is_ot(member)) {
            members.items[members.count++] = member;
        }
    }
    return append_all(text, 0, &members);
}

uint64_t cpt_sampling_threshold(double probability)
{
    const double range = (double)CPT_SAMPLING_RANGE;
    const double kept = probability < 1 ? probability * range : range;

    return kept < 1 ? CPT_SAMPLING_RANGE - 1 : CPT_SAMPLING_RANGE - (uint64_t)kept;
}

double cpt_sampling_probability(uint64_t threshold)
{
    return (double)(CPT_SAMPLING_RANGE - threshold) / (double)CPT_SAMPLING_RANGE;
}
