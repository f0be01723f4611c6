/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_merge.h - several logs, their records in the order of time
 *
 * Of each log one record is at hand, and the earliest of those comes next. A log holds
 * its records nearly in the order in which requests arrived (they are written when they
 * end); what is out of order in one log stays so.
 */
#ifndef CPTI_CLI_LOG_MERGE_H
#define CPTI_CLI_LOG_MERGE_H

#include "cpt/cli/gather/log_walk.h"

/*
 * Walks over the logs @paths at once; each has a walk of its own, made as @like, whose
 * `record` is told of each record. One that cannot be opened or fails is left behind.
 * enum cpti_exit: the worst of all.
 */
int cpti_log_merge(const struct cpti_log_walk *like, const char *const *paths,
                   size_t path_count);

#endif
