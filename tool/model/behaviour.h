/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * behaviour.h - what the lines of two files say that code does in another way, beside
 * another answer about them
 */
#ifndef CPTI_TOOL_BEHAVIOUR_H
#define CPTI_TOOL_BEHAVIOUR_H

#include "tool/table/json_write.h"

struct cpti_arguments;
struct cpti_model_changes;

/* Compares the lines of the file @base with those of @new_one, without a word about
 * what is left out of them. *@changes is the caller's; NULL: this build reads no lines.
 * enum cpti_exit. */
int cpti_behaviour_find(const struct cpti_arguments *arguments, const char *base,
                        const char *new_one, struct cpti_model_changes **changes);
void cpti_behaviour_free(struct cpti_model_changes *changes);

/* Prints the first @row_max rows that chance does not make, as sentences, or that
 * there is none; and such rows as the array "behaviour". */
void cpti_behaviour_print(const struct cpti_model_changes *changes, size_t row_max);
void cpti_behaviour_json(const struct cpti_model_changes *changes, size_t row_max,
                         struct cpti_json *json);

#endif
