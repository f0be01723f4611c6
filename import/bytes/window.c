/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* window.c - the part of a file that is in memory; see window.h */
#include "import/bytes/window.h"

#include "import/bytes/json.h"

#include <string.h>

enum { FIRST_BYTES = 64 << 10 };

void cpti_window_init(struct cpti_window *window, const struct cpt_alloc *alloc,
                      cpt_read_fn read, void *context, size_t bytes_max)
{
    *window = (struct cpti_window){
        .alloc = alloc, .read = read, .context = context, .bytes_max = bytes_max};
}

void cpti_window_deinit(struct cpti_window *window)
{
    cpt_alloc_free(window->alloc, window->buffer);
}

void cpti_window_forget(struct cpti_window *window, size_t start)
{
    window->start_offset += start - window->start;
    window->start = start;
}

static cpt_status grow(struct cpti_window *window)
{
    size_t capacity = window->capacity != 0 ? 2 * window->capacity : FIRST_BYTES;
    char *grown = NULL;

    if (capacity > window->bytes_max) {
        capacity = window->bytes_max;
    }
    grown =
        cpt_alloc_array(window->alloc, window->buffer, capacity + CPTI_DOC_PADDING, 1);
    if (grown == NULL) {
        return CPT_NO_MEMORY;
    }
    memset(grown + window->end, 0, capacity + CPTI_DOC_PADDING - window->end);
    window->buffer = grown;
    window->capacity = capacity;
    return CPT_OK;
}

cpt_status cpti_window_fill(struct cpti_window *window)
{
    cpt_status status = CPT_OK;
    size_t bytes = 0;

    if (window->has_read_all) {
        return CPT_END;
    }
    if (window->start > 0 && window->end == window->capacity) {
        memmove(window->buffer, window->buffer + window->start,
                window->end - window->start);
        window->at -= window->start;
        window->end -= window->start;
        window->start = 0;
    } else if (window->end == window->capacity) {
        if (window->capacity >= window->bytes_max) {
            window->is_dropped = true;
            cpti_window_forget(window, window->at);
            return cpti_window_fill(window);
        }
        status = grow(window);
        if (status != CPT_OK) {
            return status;
        }
    }
    status = window->read(window->context, window->buffer + window->end,
                          window->capacity - window->end, &bytes);
    window->end += bytes;
    window->has_read_all = status == CPT_OK && bytes == 0;
    return window->has_read_all ? CPT_END : status;
}

cpt_status cpti_window_need(struct cpti_window *window, size_t bytes)
{
    cpt_status status = CPT_OK;

    if (bytes > window->bytes_max) {
        bytes = window->bytes_max; /* what is there is never dropped */
    }
    while (status == CPT_OK && window->end - window->start < bytes) {
        status = cpti_window_fill(window);
    }
    return status;
}
