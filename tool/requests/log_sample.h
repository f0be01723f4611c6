/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_sample.h - a sample of the requests of a stream
 *
 * The sample is known only at the end (see sample.h). Drawn records are kept as
 * they stood in the log, and handed on later, in the order in which they were met.
 */
#ifndef CPTI_CLI_LOG_SAMPLE_H
#define CPTI_CLI_LOG_SAMPLE_H

#include "tool/requests/sample.h"

struct cpti_request;

/* Draws whether @request is in the sample, and then keeps it. A record without a valid
 * path is skipped and not counted. enum cpti_exit. */
int cpti_log_sample_add(struct cpti_sample *sample, const struct cpti_request *request);

/* Takes a request that was drawn; all is borrowed. enum cpti_exit. */
typedef int (*cpti_sampled_fn)(void *context, const struct cpti_request *request);

/* Prints on stderr the size of @sample, and of how many records it was drawn. */
void cpti_log_sample_warn(const struct cpti_sample *sample, uint64_t seed);

/* Calls @each for all records of @sample, in the order in which they were met, until it
 * returns anything but CPTI_EXIT_DONE. Returns its last result. */
int cpti_log_sample_each(struct cpti_sample *sample, cpti_sampled_fn each,
                         void *context);

#endif
