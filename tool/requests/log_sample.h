/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_sample.h - a sample of the records of a walk
 *
 * The sample is known only at the end (see sample.h). Drawn records are kept as
 * they stood in the log, and handed on later, in the order in which they were met.
 */
#ifndef CPTI_CLI_LOG_SAMPLE_H
#define CPTI_CLI_LOG_SAMPLE_H

#include "tool/requests/sample.h"
#include "tool/requests/log_walk.h"

/* Within `record` of a walk: draws whether @record, of @weight, is in the sample, and
 * then keeps it. A record without a valid path is skipped and not counted. enum
 * cpti_exit. */
int cpti_log_sample_add(struct cpti_log_walk *walk, const struct cpt_record *record,
                        struct cpti_sample *sample, uint64_t weight);

/* Called for a record that was drawn; all is borrowed. enum cpti_exit. */
typedef int (*cpti_sampled_fn)(void *context, const struct cpti_sampled *sampled,
                               const struct cpt_record *record,
                               const struct cpt_path *path);

/* Prints on stderr the size of @sample, and of how many records it was drawn. */
void cpti_log_sample_warn(const struct cpti_sample *sample, uint64_t seed);

/* Calls @each for all records of @sample, in the order in which they were met, until it
 * returns anything but CPTI_EXIT_DONE. Returns its last result. */
int cpti_log_sample_each(struct cpti_sample *sample, cpti_sampled_fn each,
                         void *context);

#endif
