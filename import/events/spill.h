/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spill.h - many streams of pieces, in memory, and on disk when they are large
 *
 *      append(7, 100) --> stream 7: [chunk, on disk] [chunk, on disk] [chunk ...]
 *
 * A chunk holds whole pieces. Above the limit of memory, all chunks are written to a
 * private file. Each stream is read from its beginning, chunk by chunk.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_SPILL_H
#define CPTI_SPILL_H

#include "cpt/cpt_name.h"

struct cpti_spill;

struct cpti_spill_options {
    const struct cpt_alloc *alloc; /* NULL: malloc's */
    size_t stream_count;
    size_t memory_bytes_max;
    int (*open_file)(void); /* a descriptor to read and write a file, which is closed
                               * here; -1 with errno. NULL: memory is all there is */
};

/* Where a stream is read. All zero but `stream`: at its beginning. */
struct cpti_spill_cursor {
    size_t stream;
    size_t chunk;
    char *buffer; /* of a chunk on disk */
    size_t capacity;
};

/* NULL without memory. The caller owns it. */
struct cpti_spill *cpti_spill_new(const struct cpti_spill_options *options);
void cpti_spill_free(struct cpti_spill *spill);

/* Adds a piece of @bytes to the end of @stream; the caller fills it in at *@piece
 * before the next call. It is aligned to 8 bytes if all pieces of the stream are
 * multiples of 8. CPT_OK; CPT_NO_MEMORY; CPT_LIMIT: there is no file; CPT_IO. */
cpt_status cpti_spill_append(struct cpti_spill *spill, size_t stream, size_t bytes,
                             void **piece);

/* Forgets all that @stream holds. */
void cpti_spill_drop(struct cpti_spill *spill, size_t stream);

/* The next chunk of the stream of @cursor, borrowed until the next call with the cursor
 * or the next piece. CPT_OK; CPT_END; CPT_NO_MEMORY; CPT_IO. */
cpt_status cpti_spill_next(const struct cpti_spill *spill,
                           struct cpti_spill_cursor *cursor, struct cpt_bytes *chunk);

/* Frees what @cursor holds; it is at the beginning then. */
void cpti_spill_rewind(const struct cpti_spill *spill,
                       struct cpti_spill_cursor *cursor);

#endif
