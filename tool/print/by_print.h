/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * by_print.h - the name of a row: a stack, or a service, name or edge
 */
#ifndef CPTI_CLI_BY_PRINT_H
#define CPTI_CLI_BY_PRINT_H

#include "tool/folds/views.h"
#include "tool/table/relation.h"

/* Writes the text of the stack or group @node to @text: at most @capacity bytes with
 * the NUL. */
void cpti_by_text(const struct cpt_tree *tree, uint32_t node, enum cpti_by by,
                  char *text, size_t capacity);

/* The same as a value, and the kind of the frame. */
struct cpti_cell cpti_by_cell(const struct cpti_asked *asked,
                              const struct cpt_tree *tree, uint32_t node,
                              enum cpti_by by);
struct cpti_cell cpti_kind_cell(const struct cpt_tree *tree, uint32_t node);

/* Writes the field "stack" (for a group an array of one element). */
void cpti_by_stack_json(struct cpti_json *json, const struct cpt_tree *tree,
                        uint32_t node, enum cpti_by by);

#endif
