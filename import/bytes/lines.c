/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* lines.c - the lines of a file; see lines.h */
#include "import/bytes/lines.h"

#include <string.h>

const struct cpti_way *cpti_way_of(const char *head, size_t bytes)
{
    for (size_t i = 0; cpti_ways[i] != NULL; i++) {
        if (cpti_ways[i]->recognise(head, bytes)) {
            return cpti_ways[i];
        }
    }
    return NULL;
}

/* Looks for the end of the line that begins at `start`; `at` is behind it. The last one
 * ends with the file. */
static cpt_status find_end(struct cpti_window *window)
{
    for (;;) {
        const size_t left = window->end - window->at;
        const char *end =
            left > 0 ? memchr(window->buffer + window->at, '\n', left) : NULL;
        cpt_status status = CPT_OK;

        if (end != NULL) {
            window->at = (size_t)(end - window->buffer) + 1;
            return CPT_OK;
        }
        window->at = window->end;
        status = cpti_window_fill(window);
        if (status == CPT_END) {
            return window->at > window->start || window->is_dropped ? CPT_OK : CPT_END;
        }
        if (status != CPT_OK) {
            return status;
        }
    }
}

cpt_status cpti_lines_count_next(struct cpti_window *window, struct cpt_bytes *line,
                                 uint64_t *number, struct cpt_error *error)
{
    for (;;) {
        uint64_t offset = 0;
        cpt_status status = CPT_OK;

        window->is_dropped = false;
        cpti_window_forget(window, window->at);
        offset = window->start_offset;
        status = find_end(window);
        if (status != CPT_OK) {
            return status;
        }
        *number += 1;
        if (window->is_dropped) {
            return cpt_error_set(error, CPT_LIMIT, offset, "longer than %zu bytes",
                                 window->bytes_max);
        }
        *line = (struct cpt_bytes){window->buffer + window->start,
                                   window->at - window->start};
        while (line->bytes > 0 && strchr("\r\n", line->data[line->bytes - 1]) != NULL) {
            line->bytes--;
        }
        if (line->bytes > 0) {
            return CPT_OK;
        }
    }
}

cpt_status cpti_lines_next(struct cpti_window *window, struct cpt_bytes *line,
                           struct cpt_error *error)
{
    uint64_t number = 0;

    return cpti_lines_count_next(window, line, &number, error);
}
