/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * memory_file.h - a stream into memory that tells whether all of it is there
 *
 * open_memstream() does not tell: without memory its stream drops what is written, and
 * ends as if nothing had happened.
 *
 * Threads: one at a time for each.
 */
#ifndef CPTI_MEMORY_FILE_H
#define CPTI_MEMORY_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct cpti_memory_file {
    FILE *file; /* write to it; NULL: there was no memory */
    char *text; /* from malloc(), with a NUL behind it; complete after the end */
    size_t bytes;
    size_t capacity;
    bool has_failed;
};

/* Begins an empty text. @memory must stay where it is until cpti_memory_file_close().
 * False: there is no memory. */
bool cpti_memory_file_open(struct cpti_memory_file *memory);

/* Ends the stream. True: `text` is complete, and the caller's to free. False: there was
 * no memory for all; there is no text. */
bool cpti_memory_file_close(struct cpti_memory_file *memory);

#endif
