/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* gain_print.h - what a frame would give back: cpt report --drag, and parts of it */
#ifndef CPTI_CLI_GAIN_PRINT_H
#define CPTI_CLI_GAIN_PRINT_H

#include "tool/table/json_write.h"

struct cpt_gain;
struct cpt_tree;
struct cpti_arguments;
struct cpti_relation;

/* Its rows. */
extern const struct cpti_relation cpti_gain_relation;

/* Reads the operands, and prints what each name gives back if all its segments take no
 * time. enum cpti_exit. */
int cpti_gain_report(const struct cpti_arguments *arguments);

/* Whether requests of @tree have drags, which @option needs. enum cpti_exit. */
int cpti_gain_check(const struct cpt_tree *tree, const char *option);

/* Writes the object "gain". */
void cpti_gain_json(struct cpti_json *json, const struct cpt_gain *gain);

#endif
