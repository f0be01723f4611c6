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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpti_arguments;

/* The most values in one list. */
enum { CPTI_AMOUNTS_MAX = 16 };

/* The unit after a number. */
enum cpti_unit {
    CPTI_UNIT_NONE, /* a plain number */
    CPTI_UNIT_TIME, /* ns us ms s; the value is in ns */
    CPTI_UNIT_PART  /* %; 2% is the value 0.02 */
};

/* Reads a number and its unit at *@at and moves *@at past them. The number is digits
 * with at most one dot, finite and above 0. False if there is none. */
bool cpti_amount_read(const char **at, double *value, enum cpti_unit *unit);

/* Reads @text as a list of such values, separated by commas, all of @unit, at most
 * CPTI_AMOUNTS_MAX. Returns CPTI_EXIT_DONE, or CPTI_EXIT_USAGE with a message that
 * names @option. */
int cpti_amounts(const char *option, const char *text, enum cpti_unit unit,
                 double values[CPTI_AMOUNTS_MAX], size_t *count);

/* Reads the whole number of @option, from @least to @most, or to any with UINT64_MAX;
 * without the option @number stays. Returns CPTI_EXIT_DONE, or CPTI_EXIT_USAGE with a
 * message. */
int cpti_whole_number(const struct cpti_arguments *arguments, const char *option,
                      uint64_t least, uint64_t most, uint64_t *number);

#endif
