/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* by_print.c - the name of a row; see by_print.h */
#include "tool/print/by_print.h"

#include "tool/print/tree_print.h"
#include "aggregate/cpt_tree.h"

#include <stdio.h>

void cpti_by_text(const struct cpt_tree *tree, uint32_t node, enum cpti_by by,
                  char *text, size_t capacity)
{
    if (by == CPTI_BY_STACK) {
        (void)cpt_tree_stack_text(tree, node, text, capacity);
    } else {
        const struct cpt_bytes name = cpt_tree_name(tree, node);

        (void)snprintf(text, capacity, "%.*s", (int)name.bytes, name.data);
    }
}

struct cpti_cell cpti_by_cell(const struct cpti_asked *asked,
                              const struct cpt_tree *tree, uint32_t node,
                              enum cpti_by by)
{
    cpti_by_text(tree, node, by, asked->room, CPTI_VALUE_BYTES);
    return cpti_cell_text(asked->room);
}

struct cpti_cell cpti_kind_cell(const struct cpt_tree *tree, uint32_t node)
{
    const unsigned kind = cpt_tree_kind(tree, node);

    return cpti_cell_word(cpt_kind_word(kind), kind);
}

void cpti_by_stack_json(struct cpti_json *json, const struct cpt_tree *tree,
                        uint32_t node, enum cpti_by by)
{
    char text[CPT_TREE_FRAME_TEXT_BYTES];

    if (by == CPTI_BY_STACK) {
        cpti_tree_stack_json(json, tree, node);
        return;
    }
    cpti_by_text(tree, node, by, text, sizeof text);
    cpti_json_open(json, "stack", '[');
    cpti_json_text(json, NULL, text);
    cpti_json_close(json);
    if (cpti_is_escaped(text)) {
        cpti_json_open(json, "frames", '[');
        cpti_json_raw_name(json, text);
        cpti_json_close(json);
    }
}
