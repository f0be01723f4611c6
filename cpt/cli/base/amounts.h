/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * amounts.h - numbers and times on the command line
 *
 *      --requests 100,1000     --above 0.3ms,5ms     --within 2%
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_AMOUNTS_H
#define CPTI_CLI_AMOUNTS_H

#include <stddef.h>

/* Values of one list. */
enum { CPTI_AMOUNTS_MAX = 16 };

/* What is behind the number. */
enum cpti_unit {
    CPTI_UNIT_NONE, /* a plain number */
    CPTI_UNIT_TIME, /* ns us ms s; the value is in ns */
    CPTI_UNIT_PART  /* %; the value is a part of 1 */
};

/*
 * Reads one number at *@at, above 0 and finite, digits with at most one dot, and its
 * unit; then *@at stands behind them. Whether there was one.
 */
int cpti_amount_read(const char **at, double *value, enum cpti_unit *unit);

/* Reads @text as a list of at most CPTI_AMOUNTS_MAX such values, all of @unit, with
 * commas between. CPTI_EXIT_DONE; CPTI_EXIT_USAGE which names the option. */
int cpti_amounts(const char *option, const char *text, enum cpti_unit unit,
                 double values[CPTI_AMOUNTS_MAX], size_t *count);

#endif
