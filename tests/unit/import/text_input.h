/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* text_input.h - bytes of memory as a file that is read in small parts */
#ifndef TEXT_INPUT_H
#define TEXT_INPUT_H

#include "cpt/cpt_status.h"

#include <string.h>

struct text_input {
    const char *data;
    size_t bytes;
    size_t step; /* the most bytes of one read */
    size_t at;
};

/* A cpt_read_fn whose context is the input. */
static inline cpt_status text_input_read(void *context, void *buffer, size_t capacity,
                                         size_t *bytes)
{
    struct text_input *input = context;
    const size_t left = input->bytes - input->at;

    *bytes = left < input->step ? left : input->step;
    *bytes = *bytes < capacity ? *bytes : capacity;
    if (*bytes > 0) {
        memcpy(buffer, input->data + input->at, *bytes);
    }
    input->at += *bytes;
    return CPT_OK;
}

#endif
