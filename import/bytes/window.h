/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * window.h - the part of a file that is in memory
 *
 *      buffer   [ used | piece ......... | not looked at ... | free ]
 *               0      start             at                  end    capacity
 *
 * When what is looked at ends, the piece moves to the front, or the buffer grows, and
 * more is read.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_WINDOW_H
#define CPTI_WINDOW_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_io.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpti_window {
    const struct cpt_alloc *alloc;
    cpt_read_fn read;
    void *context;
    size_t bytes_max; /* of a piece */
    char *buffer;
    size_t capacity; /* without CPTI_DOC_PADDING bytes behind it */
    size_t start;
    size_t at;
    size_t end;
    uint64_t start_offset; /* of `start` in the file */
    bool has_read_all;
    bool is_dropped; /* the piece is too long, and its beginning gone */
};

void cpti_window_init(struct cpti_window *window, const struct cpt_alloc *alloc,
                      cpt_read_fn read, void *context, size_t bytes_max);
void cpti_window_deinit(struct cpti_window *window);

/* What is before @start is not needed any more. */
void cpti_window_forget(struct cpti_window *window, size_t start);

/* Reads more behind what there is; drops the piece if it is too long. CPT_OK; CPT_END:
 * there is no more; CPT_NO_MEMORY; errors of the read function. */
cpt_status cpti_window_fill(struct cpti_window *window);

/* Reads until @bytes from `start` on are there, or bytes_max. CPT_END: there are
 * fewer. */
cpt_status cpti_window_need(struct cpti_window *window, size_t bytes);

#endif
