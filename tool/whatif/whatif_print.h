/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_print.h - how the answer of cpt whatif is printed
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_PRINT_H
#define CPTI_CLI_WHATIF_PRINT_H

#include "tool/whatif/whatif_answer.h"

#include <stdio.h>

/* Prints the answer in at most @bytes_max bytes, if that is not 0. @amount is that of
 * --sweep, as given. enum cpti_exit. */
int cpti_whatif_print(const struct cpti_whatif *whatif, const char *amount,
                      bool is_json, uint64_t bytes_max);

/* Writes the answer as JSON to @file, with at most @row_max rows. */
void cpti_whatif_json(const struct cpti_whatif *whatif, size_t row_max, FILE *file);

#endif
