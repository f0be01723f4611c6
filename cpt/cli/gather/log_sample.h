/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_sample.h - a sample of the records that one walks over
 *
 * Which records are in it is known only at the end (gather_sample.h says why), so what
 * is drawn is kept as it stood in the log, and told of later, in the order in which it
 * was met.
 */
#ifndef CPTI_CLI_LOG_SAMPLE_H
#define CPTI_CLI_LOG_SAMPLE_H

#include "cpt/cli/gather/gather_sample.h"
#include "cpt/cli/gather/log_walk.h"

/* Within `record` of a walk: draws whether @record, of @weight, is in the sample, and
 * keeps it if so. One without a path that holds is skipped, as if it had not been
 * there. enum cpti_exit. */
int cpti_log_sample_add(struct cpti_log_walk *walk, const struct cpt_record *record,
                        struct cpti_sample *sample, uint64_t weight);

/* Told of a record that was drawn; all is borrowed. enum cpti_exit. */
typedef int (*cpti_sampled_fn)(void *context, const struct cpti_sampled *sampled,
                               const struct cpt_record *record,
                               const struct cpt_path *path);

/* Says on stderr how large @sample is and of how many it was drawn. */
void cpti_log_sample_say(const struct cpti_sample *sample, uint64_t seed);

/* Tells @each of all that is in the sample, in the order in which it was met, until it
 * does not return CPTI_EXIT_DONE; and returns what it returned. */
int cpti_log_sample_each(struct cpti_sample *sample, cpti_sampled_fn each,
                         void *context);

#endif
