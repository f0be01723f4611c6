/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * row_binary.h - ClickHouse's RowBinary: values one after the other, nothing between
 *
 *      number    its bytes, low ones first
 *      String    its length as LEB128, its bytes
 *      Array     its length as LEB128, its elements
 *
 * Threads: one at a time.
 */
#ifndef CPTI_ROW_BINARY_H
#define CPTI_ROW_BINARY_H

#include "cpt/cpt_name.h"

/* Bytes that grow. Zero is an empty one. */
struct cpti_rows {
    unsigned char *data;
    size_t bytes;
    size_t capacity;
    int has_failed; /* no memory: nothing is added any more */
};

void cpti_rows_deinit(struct cpti_rows *rows);

void cpti_row_bytes(struct cpti_rows *rows, const void *data, size_t bytes);
void cpti_row_u8(struct cpti_rows *rows, unsigned value);
void cpti_row_u16(struct cpti_rows *rows, unsigned value);
void cpti_row_u64(struct cpti_rows *rows, uint64_t value);
void cpti_row_f64(struct cpti_rows *rows, double value);
void cpti_row_count(struct cpti_rows *rows, uint64_t count);
void cpti_row_text(struct cpti_rows *rows, struct cpt_bytes text);

/* Reading: each moves *@at on; none reads beyond @end. 0 if the value is not there as a
 * whole. */
int cpti_row_get_u16(const unsigned char **at, const unsigned char *end,
                     unsigned *value);
int cpti_row_get_u64(const unsigned char **at, const unsigned char *end,
                     uint64_t *value);
int cpti_row_get_count(const unsigned char **at, const unsigned char *end,
                       uint64_t *count);
int cpti_row_get_text(const unsigned char **at, const unsigned char *end,
                      struct cpt_bytes *text);

#endif
