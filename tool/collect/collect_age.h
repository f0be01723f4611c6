/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * collect_age.h - how old what was collected is when it is in the log
 *
 * From the end of a request, by the clock of its host, to the writing of its record, by
 * the clock of the collector. A request that ends later than now is of age 0.
 */
#ifndef CPTI_CLI_COLLECT_AGE_H
#define CPTI_CLI_COLLECT_AGE_H

#include <stdint.h>
#include <stdio.h>

enum { CPTI_COLLECT_AGES = 14 };

/* Zeroed at the beginning. */
struct cpti_collect_ages {
    uint64_t counts[CPTI_COLLECT_AGES + 1]; /* by bound; those above all of them */
    uint64_t count;
    double seconds; /* of all */
};

/* Counts a record that is written at @now_ns of a request that ended at @end_ns. */
void cpti_collect_age_note(struct cpti_collect_ages *ages, uint64_t end_ns,
                           uint64_t now_ns);

/* Prints a histogram for Prometheus. */
void cpti_collect_age_metrics(const struct cpti_collect_ages *ages, FILE *file);

/* Seconds within which @part of the records were written; 0: longer than all bounds. */
unsigned cpti_collect_age_within(const struct cpti_collect_ages *ages, double part);

#endif
