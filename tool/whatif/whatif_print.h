/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_print.h - how the answer of cpt whatif is printed
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_PRINT_H
#define CPTI_CLI_WHATIF_PRINT_H

#include "tool/table/relation.h"
#include "tool/whatif/whatif_answer.h"

#include <stdio.h>

/* The frames of an answer, and those of a sweep. */
extern const struct cpti_relation cpti_whatif_shifts;
extern const struct cpti_relation cpti_whatif_gains;

/* The columns of the latter in tables, where it is inferred who waited. */
extern const char cpti_whatif_gains_in_doubt[];

/* Sorts the frames by --sort, and prints the answer. @amount is that of --sweep, as
 * given. enum cpti_exit. */
int cpti_whatif_print(struct cpti_whatif *whatif, const char *amount,
                      const struct cpti_view *view);

/* Writes an answer, not of a sweep, as JSON to @file, with at most @row_max rows. */
void cpti_whatif_json(const struct cpti_whatif *whatif, size_t row_max, FILE *file);

#endif
