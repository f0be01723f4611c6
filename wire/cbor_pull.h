/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cbor_pull.h - CBOR items one at a time
 *
 * A reader over a piece of memory that hands out the head of the next item: a number, a
 * text, "an array of 3". What is inside an array or map are simply the next items. It
 * allocates nothing and does not recurse; a text is a pointer into the input.
 *
 * Only definite lengths: we write no others, and no format of ours allows them.
 *
 * Private to wire/. Threads: one at a time.
 */
#ifndef CBOR_PULL_H
#define CBOR_PULL_H

#include "cpt/cpt_name.h"

enum cpti_cbor_type {
    CPTI_CBOR_UNSIGNED, /* number */
    CPTI_CBOR_NEGATIVE, /* -1 - number */
    CPTI_CBOR_BYTES,    /* text */
    CPTI_CBOR_TEXT,     /* text; whether it is UTF-8 is not checked */
    CPTI_CBOR_ARRAY,    /* number items follow */
    CPTI_CBOR_MAP,      /* number pairs follow */
    CPTI_CBOR_TAG,      /* of the item that follows; number */
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

/* Where we are. */
struct cpti_cbor {
    const unsigned char *data;
    size_t bytes;
    size_t at; /* bytes read so far */
};

/*
 * The head of the next item.
 *
 * CPT_OK; CPT_END behind the last; CPT_CORRUPT if it is no item of a kind above, goes
 * beyond the end, or announces more items than bytes are left. After an error the
 * position is as before.
 */
cpt_status cpti_cbor_next(struct cpti_cbor *cbor, struct cpti_cbor_item *item);

/* Skips what is inside @item, which was read last, however deep. Errors as above. */
cpt_status cpti_cbor_skip_inside(struct cpti_cbor *cbor,
                                 const struct cpti_cbor_item *item);

#endif
