/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * sums.h - one time of all requests, of which each has several pieces
 *
 * What a request has is summed before it counts, so that the mean has an error
 * (tool/base/weighted.h).
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_SUMS_H
#define CPTI_CLI_SUMS_H

#include "tool/table/table.h"
#include "tool/base/weighted.h"

#include <stdint.h>

struct cpti_sums {
    double time; /* sum of weight * ns */
    struct cpti_weighted value;
    double x; /* what the last request has so far; not in `value` yet */
    double weight;
    uint64_t request; /* its number */
};

/* Request number @request (1, 2 …), which is the last one or a later one, has @x ns
 * more. */
void cpti_sums_add(struct cpti_sums *sums, uint64_t request, double weight, double x);

struct cpt_mean cpti_sums_mean(const struct cpti_sums *sums,
                               const struct cpti_weights *weights);

#endif
