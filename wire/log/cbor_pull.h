/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cbor_pull.h - CBOR items one at a time
 *
 * A reader over a piece of memory that returns the head of the next item: a number, a
 * text, "an array of 3". The members of an array or map are simply the next items. It
 * allocates nothing and does not recurse; a text is a pointer into the input.
 *
 * Only definite lengths are accepted: our formats allow no others.
 *
 * Private to wire/. Threads: one at a time.
 */
#ifndef CBOR_PULL_H
#define CBOR_PULL_H

#include "cpt/cpt_name.h"

#include <string.h>

/* The types up to maps have the numbers of CBOR's major types. */
enum cpti_cbor_type {
    CPTI_CBOR_UNSIGNED, /* number */
    CPTI_CBOR_NEGATIVE, /* -1 - number */
    CPTI_CBOR_BYTES,    /* text */
    CPTI_CBOR_TEXT,     /* text; whether it is UTF-8 is not checked */
    CPTI_CBOR_ARRAY,    /* number items follow */
    CPTI_CBOR_MAP,      /* number pairs follow */
    CPTI_CBOR_TAG,      /* number; it tags the item that follows */
    CPTI_CBOR_FLOAT,    /* real */
    CPTI_CBOR_BOOL,     /* number: 0 or 1 */
    CPTI_CBOR_NULL      /* null or undefined */
};

struct cpti_cbor_item {
    enum cpti_cbor_type type;
    uint64_t number;
    double real;
    struct cpt_bytes text;
};

/* The position of a reader. */
struct cpti_cbor {
    const unsigned char *data;
    size_t bytes;
    size_t at; /* bytes read so far */
};

/* cbor_pull.c: cpti_cbor_next() for every type of item, by libcbor. */
cpt_status cpti_cbor_next_any(struct cpti_cbor *cbor, struct cpti_cbor_item *item);

/* The count of items inside @item; UINT64_MAX if it overflows. */
static inline uint64_t cpti_cbor_count_inside(const struct cpti_cbor_item *item)
{
    switch (item->type) {
    case CPTI_CBOR_ARRAY:
        return item->number;
    case CPTI_CBOR_MAP:
        return item->number > UINT64_MAX / 2 ? UINT64_MAX : 2 * item->number;
    case CPTI_CBOR_TAG:
        return 1;
    default:
        return 0;
    }
}

/* The number of @bytes at @at, the highest byte first. */
static inline uint64_t cpti_cbor_number(const unsigned char *at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | at[i];
    }
    return number;
}

/*
 * Reads the head of the next item.
 *
 * CPT_OK; CPT_END behind the last; CPT_CORRUPT if it is not an item of a type above,
 * goes beyond the end, or announces more items than bytes are left. After an error the
 * position is as before.
 *
 * A head is one byte: three bits of type, five of a number or of the count of bytes
 * that hold it. Numbers, strings, maps, booleans and doubles are decoded here, as a log
 * has almost nothing else; libcbor decodes the rest and finds the errors.
 */
static inline cpt_status cpti_cbor_next(struct cpti_cbor *cbor,
                                        struct cpti_cbor_item *item)
{
    enum { SHORT_MAX = 23, BYTES_8 = 27, REAL = 0xfb, NO = 0xf4, YES = 0xf5 };
    const size_t left_bytes = cbor->bytes - cbor->at;
    const unsigned char *at = cbor->data + cbor->at;
    const unsigned first = left_bytes == 0 ? 0xff : at[0];
    const unsigned low = first & 0x1fU;
    const size_t head_bytes = low > SHORT_MAX ? 1 + ((size_t)1 << (low & 3U)) : 1;
    uint64_t number = low;

    if (first == NO || first == YES) {
        *item = (struct cpti_cbor_item){.type = CPTI_CBOR_BOOL, .number = first - NO};
        cbor->at++;
        return CPT_OK;
    }
    if ((first >> 5 > CPTI_CBOR_MAP && first != REAL) || low > BYTES_8 ||
        left_bytes < head_bytes) {
        return cpti_cbor_next_any(cbor, item);
    }
    if (head_bytes != 1) {
        number = cpti_cbor_number(at + 1, head_bytes - 1);
    }
    *item = (struct cpti_cbor_item){.type = (enum cpti_cbor_type)(first >> 5)};
    if (first == REAL) {
        item->type = CPTI_CBOR_FLOAT;
        memcpy(&item->real, &number, sizeof item->real);
    } else if (item->type == CPTI_CBOR_BYTES || item->type == CPTI_CBOR_TEXT) {
        if (number > left_bytes - head_bytes) {
            return CPT_CORRUPT;
        }
        item->text = (struct cpt_bytes){(const char *)at + head_bytes, (size_t)number};
        cbor->at += (size_t)number;
    } else {
        item->number = number;
        if (cpti_cbor_count_inside(item) > left_bytes - head_bytes) {
            return CPT_CORRUPT;
        }
    }
    cbor->at += head_bytes;
    return CPT_OK;
}

/* cbor_pull.c: cpti_cbor_skip_inside() of an item that is not empty. */
cpt_status cpti_cbor_skip_items(struct cpti_cbor *cbor,
                                const struct cpti_cbor_item *item);

/* Skips all items inside @item, which was read last, at any depth. Errors as above. */
static inline cpt_status cpti_cbor_skip_inside(struct cpti_cbor *cbor,
                                               const struct cpti_cbor_item *item)
{
    return cpti_cbor_count_inside(item) == 0 ? CPT_OK
                                             : cpti_cbor_skip_items(cbor, item);
}

#endif
