/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* group_print.h - cpt report --group-by KEY: how many requests have which value of KEY,
 * and how long they took */
#ifndef CPTI_CLI_GROUP_PRINT_H
#define CPTI_CLI_GROUP_PRINT_H

struct cpti_arguments;
struct cpti_relation;

/* Its rows. */
extern const struct cpti_relation cpti_group_relation;

/* Reads the operands and prints the groups. enum cpti_exit. */
int cpti_group_report(const struct cpti_arguments *arguments);

#endif
