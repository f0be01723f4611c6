/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* log_memory.h - a path log in memory: written by the library, read in small pieces */
#ifndef LOG_MEMORY_H
#define LOG_MEMORY_H

#include "wire/cpt_log.h"

#include <stddef.h>

/* A log. free() its data. */
struct log_memory {
    unsigned char *data;
    size_t bytes;
    size_t at;          /* read so far */
    size_t piece_bytes; /* the most in one read; 0: all */
};

void log_memory_append(struct log_memory *log, const void *data, size_t bytes);

/*
 * @block_count blocks of @record_count records each, after the header of the file.
 * Record n of all has the latency n + 1 and a path of one segment; its method is
 * "/<n>".
 */
struct log_memory log_memory_new(size_t block_count, size_t record_count);

/* For struct cpt_log_reader_options. */
cpt_status log_memory_read(void *context, void *buffer, size_t capacity, size_t *bytes);

/* A cpt_read_at_fn. */
cpt_status log_memory_read_at(void *context, uint64_t offset, void *buffer,
                              size_t bytes);

/* A reader from the beginning with default limits. */
struct cpt_log_reader *log_memory_reader(struct log_memory *log,
                                         const struct cpt_alloc *alloc);

#endif
