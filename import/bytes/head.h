/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * head.h - the beginning of a file, looked at before it is known who reads it
 *
 *      file --> [ head ] --> a look, which ends where the head does
 *                   '------> the reader, which gets all from the beginning
 *
 * So a pipe can be looked at, too.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_HEAD_H
#define CPTI_HEAD_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_io.h"

#include <stdbool.h>

enum { CPTI_HEAD_BYTES_MAX = 1 << 18 };

struct cpti_head {
    const struct cpt_alloc *alloc;
    cpt_read_fn read;
    void *context;
    unsigned char *bytes; /* NULL: nothing was looked at */
    size_t count;         /* of those that are there */
    size_t at;            /* of the next one to be read */
    bool is_look;         /* more than CPTI_HEAD_BYTES_MAX is not read */
};

/* @read gives the file; the look begins. CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_head_init(struct cpti_head *head, const struct cpt_alloc *alloc,
                          cpt_read_fn read, void *context);
void cpti_head_deinit(struct cpti_head *head);

/* The look ends: the next read gives the first byte again. */
void cpti_head_rewind(struct cpti_head *head);

/* A cpt_read_fn; @head is a struct cpti_head. */
cpt_status cpti_head_read(void *head, void *buffer, size_t capacity, size_t *bytes);

#endif
