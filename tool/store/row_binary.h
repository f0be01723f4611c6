/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * row_binary.h - ClickHouse's RowBinary: values without anything between them
 *
 *      number    its bytes, little-endian
 *      String    its length as LEB128, its bytes
 *      Array     its length as LEB128, its elements
 *
 * Threads: one at a time.
 */
#ifndef CPTI_ROW_BINARY_H
#define CPTI_ROW_BINARY_H

#include "cpt/cpt_name.h"

#include <stdbool.h>

/* A growing buffer. Zero is an empty one. */
struct cpti_packed {
    unsigned char *data;
    size_t bytes;
    size_t capacity;
    bool has_failed; /* no memory; nothing more is added */
};

void cpti_packed_deinit(struct cpti_packed *rows);

void cpti_row_bytes(struct cpti_packed *rows, const void *data, size_t bytes);
void cpti_row_u8(struct cpti_packed *rows, unsigned value);
void cpti_row_u16(struct cpti_packed *rows, unsigned value);
void cpti_row_u64(struct cpti_packed *rows, uint64_t value);
void cpti_row_f64(struct cpti_packed *rows, double value);
void cpti_row_count(struct cpti_packed *rows, uint64_t count);
void cpti_row_text(struct cpti_packed *rows, struct cpt_bytes text);

/* Each reads a value at *@at, not beyond @end, and moves *@at past it. False if the
 * value is not complete. */
bool cpti_row_get_u16(const unsigned char **at, const unsigned char *end,
                      unsigned *value);
bool cpti_row_get_u64(const unsigned char **at, const unsigned char *end,
                      uint64_t *value);
bool cpti_row_get_count(const unsigned char **at, const unsigned char *end,
                        uint64_t *count);
bool cpti_row_get_text(const unsigned char **at, const unsigned char *end,
                       struct cpt_bytes *text);

#endif
