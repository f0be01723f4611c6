/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* blind_print.h - cpt report --blind-spots: what of the latency has no path, and why */
#ifndef CPTI_CLI_BLIND_PRINT_H
#define CPTI_CLI_BLIND_PRINT_H

struct cpti_arguments;
struct cpti_relation;

/* Its rows. */
extern const struct cpti_relation cpti_blind_relation;

/* Reads the operands, and prints the share of blind spots by service and reason. enum
 * cpti_exit. */
int cpti_blind_report(const struct cpti_arguments *arguments);

#endif
