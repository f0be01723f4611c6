/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* culprit_structure_print.h - what is said of structure. Threads: one at a time. */
#ifndef CPTI_CLI_CULPRIT_STRUCTURE_PRINT_H
#define CPTI_CLI_CULPRIT_STRUCTURE_PRINT_H

#include "tool/culprit/culprit_structure.h"
#include "tool/table/relation.h"

/* Prints the key "structure" of an object: at most @row_max rows; null if @structure
 * is NULL. It is beside the view of @services. */
void cpti_structure_print_json(struct cpti_json *json, const struct cpti_view *services,
                               const struct cpti_structure *structure, size_t row_max);

/* Prints at most @row_max rows as a table; nothing if there are none. The return value
 * is of enum cpti_exit. */
int cpti_structure_print_text(const struct cpti_view *services,
                              const struct cpti_structure *structure, size_t row_max);

#endif
