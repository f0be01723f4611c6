/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * folded.c - a tree as the lines that flame graph tools read
 *
 * One line for each stack: its frames joined by ';', a space, the nanoseconds.
 * cpt_text_frame() escapes names, so no name can break a stack or a line.
 */
#include "pprof-export/cpt_pprof.h"

#include "aggregate/cpt_tree.h"

#include <inttypes.h>
#include <stdio.h>

enum { NUMBER_BYTES = 24 }; /* " 18446744073709551615\n" and its NUL */

/* A buffer for a line, as long as the longest stack so far needs. */
struct line {
    char *text;
    size_t capacity;
};

static cpt_status write_row(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                            const struct cpt_tree_row *row, const struct cpt_sink *sink,
                            struct line *line)
{
    const size_t bytes = cpt_tree_stack_text(tree, row->node, NULL, 0);
    const cpt_status status =
        cpt_alloc_grow(alloc, (void **)&line->text, &line->capacity,
                       bytes + NUMBER_BYTES, SIZE_MAX / 2, 1);
    int number_bytes = 0;

    if (status != CPT_OK) {
        return status;
    }
    (void)cpt_tree_stack_text(tree, row->node, line->text, line->capacity);
    number_bytes =
        snprintf(line->text + bytes, NUMBER_BYTES, " %" PRIu64 "\n", row->self_ns);
    return sink->write(sink->context, line->text, bytes + (size_t)number_bytes) == 0
               ? CPT_OK
               : CPT_IO;
}

cpt_status cpt_folded_write(const struct cpt_alloc *alloc, const struct cpt_tree *tree,
                            const struct cpt_sink *sink, struct cpt_error *error)
{
    struct cpt_tree_walk *walk = NULL;
    struct line line = {NULL, 0};
    cpt_status status = CPT_OK;

    if (cpt_tree_request_count(tree) == 0) {
        return cpt_error_set(error, CPT_INVALID, 0, "there are no requests to average");
    }
    walk = cpt_tree_walk_new(alloc, tree, CPT_TREE_BY_NAME);
    if (walk == NULL) {
        return cpt_error_set(error, CPT_NO_MEMORY, 0, "out of memory");
    }
    for (uint32_t i = 1; i < cpt_tree_walk_count(walk) && status == CPT_OK; i++) {
        const struct cpt_tree_row *row = cpt_tree_walk_row(walk, i);

        if (row->self_ns != 0) {
            status = write_row(alloc, tree, row, sink, &line);
        }
    }
    cpt_alloc_free(alloc, line.text);
    cpt_tree_walk_free(walk);
    if (status != CPT_OK) {
        (void)cpt_error_set(error, status, 0, "the stacks could not be written: %s",
                            cpt_status_sentence(status));
    }
    return status;
}
