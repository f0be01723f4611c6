/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_merge.h - several logs, their records in the order of time
 *
 * The next record of each log is read ahead, and the earliest of these comes next. The
 * records of a log are nearly in the order in which requests arrived, as they are
 * written when requests end. Records that are out of order in one log stay so.
 */
#ifndef CPTI_CLI_LOG_MERGE_H
#define CPTI_CLI_LOG_MERGE_H

#include "tool/requests/log_walk.h"

/*
 * Walks over all logs at @paths at once. Each has a copy of the walk @like, whose
 * `record` is called for each record. A log that cannot be opened, or fails, is given
 * up, and the others go on. enum cpti_exit: that of the last log that failed.
 */
int cpti_log_merge(const struct cpti_log_walk *like, const char *const *paths,
                   size_t path_count);

#endif
