/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_io.h - where bytes come from, and where they go
 *
 *      file, socket, memory --> cpt_read_fn --> a reader
 *      a writer --> struct cpt_sink --> file, socket, memory
 *
 * A library opens no file by itself: the caller gives it a function that reads or
 * writes, and a context for it. These are called from within the function that takes
 * them, on its thread. A status other than CPT_OK ends it: after a read with the same
 * status, after a write with CPT_IO.
 */
#ifndef CPT_IO_H
#define CPT_IO_H

#include "cpt_status.h"

#include <stddef.h>
#include <stdint.h>

CPT_BEGIN_DECLS

/* Reads the next bytes of an input: at most @capacity to @buffer, their count to
 * *@bytes, 0 only at the end. */
typedef cpt_status (*cpt_read_fn)(void *context, void *buffer, size_t capacity,
                                  size_t *bytes);

/* Reads @bytes at @offset of an input to @buffer; a failure if it cannot read all. */
typedef cpt_status (*cpt_read_at_fn)(void *context, uint64_t offset, void *buffer,
                                     size_t bytes);

/* Takes all @bytes at @data. */
typedef cpt_status (*cpt_write_fn)(void *context, const void *data, size_t bytes);

/* An output. */
struct cpt_sink {
    cpt_write_fn write;
    void *context;
};

CPT_END_DECLS

#endif
