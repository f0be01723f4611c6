/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cbor_put.h - CBOR items, written one after the other into memory that grows
 *
 * The first failure is kept in `status` and makes all later calls do nothing, so that a
 * writer checks once, at the end. Numbers take their shortest form, reals eight bytes:
 * the bytes are the same on every machine.
 *
 * Private to wire/. Threads: one at a time.
 */
#ifndef CBOR_PUT_H
#define CBOR_PUT_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpti_put {
    const struct cpt_alloc *alloc;
    unsigned char *data; /* the owner frees it */
    size_t bytes;
    size_t capacity;
    size_t bytes_max; /* more is CPT_LIMIT */
    cpt_status status;
};

void cpti_put_unsigned(struct cpti_put *put, uint64_t number);
void cpti_put_integer(struct cpti_put *put, int64_t number);
void cpti_put_real(struct cpti_put *put, double real);
void cpti_put_bool(struct cpti_put *put, bool is_true);
void cpti_put_bytes(struct cpti_put *put, struct cpt_bytes bytes);

/* Writes the head of a byte string; the caller fills in its @bytes at what is returned.
 * NULL after a failure. */
unsigned char *cpti_put_room(struct cpti_put *put, size_t bytes);

/* Appends the items of @items as they are. */
void cpti_put_items(struct cpti_put *put, const struct cpti_put *items);

/* Writes a text if it is UTF-8, as CBOR requires; else bytes. */
void cpti_put_text(struct cpti_put *put, struct cpt_bytes text);

/* Writes the head of a map; @count keys with their values must follow. */
void cpti_put_map(struct cpti_put *put, size_t count);

/* Writes the head of an array; @count items must follow. */
void cpti_put_array(struct cpti_put *put, size_t count);

/* Writes the head of a byte string of @bytes bytes to @data, which has room for 9.
 * Returns the bytes of the head. */
size_t cpti_cbor_bytes_head(unsigned char *data, size_t bytes);

#endif
