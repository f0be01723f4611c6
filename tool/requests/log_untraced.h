/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * log_untraced.h - logs without records
 *
 *      cpt: there is no record: A traced 0 of 300 requests, its probability is 0.001
 */
#ifndef CPTI_CLI_LOG_UNTRACED_H
#define CPTI_CLI_LOG_UNTRACED_H

#include <stddef.h>

/* Says that the logs at @paths have no record, and why, as far as services told.
 * Returns CPTI_EXIT_FAILED. */
int cpti_untraced_failed(const char *const *paths, size_t path_count);

#endif
