/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_fixes.h - the best fixes of a sweep, in three lines
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_WHATIF_FIXES_H
#define CPTI_CLI_WHATIF_FIXES_H

#include "tool/whatif/whatif_answer.h"

/* Prints the fixes of a sweep that give the mean most, as terms that take @amount, as
 * it was given. Nothing if none gives anything. */
void cpti_whatif_print_fixes(const struct cpti_whatif *whatif, const char *amount);

#endif
