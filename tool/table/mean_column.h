/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * mean_column.h - a mean and its 95 % interval as columns of a relation
 *
 * Threads: any.
 */
#ifndef CPTI_TOOL_MEAN_COLUMN_H
#define CPTI_TOOL_MEAN_COLUMN_H

#include "tool/table/relation.h"
#include "aggregate/cpt_stats.h"

#include <stddef.h>

/* What a column may have of a mean: itself, an end of its 95 % interval, or both ends
 * as text, if they are known. */
enum { CPTI_MEAN, CPTI_MEAN_LOW, CPTI_MEAN_HIGH, CPTI_MEAN_INTERVAL, CPTI_MEAN_PARTS };
struct cpti_cell cpti_mean_cell(const struct cpt_mean *mean, unsigned part,
                                const struct cpti_asked *asked);

/* The same of a field of the row, a struct cpt_mean; in a column as CPTI_OF(). */
struct cpti_cell cpti_field_mean(const struct cpti_asked *asked);
#define CPTI_MEAN_OF(type, field, part)                                                \
    cpti_field_mean, offsetof(type, field) * CPTI_MEAN_PARTS + (part)

#endif
