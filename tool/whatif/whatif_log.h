/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_log.h - the replayed requests as a path log, for reports and flame graphs
 *
 * Threads: one at a time.
 */
#ifndef CPTI_CLI_WHATIF_LOG_H
#define CPTI_CLI_WHATIF_LOG_H

#include "tool/whatif/whatif_set.h"

/* Writes a record of each request, with its path in @plan, to the file @name. enum
 * cpti_exit. */
int cpti_whatif_log(const struct cpti_whatif_set *set, struct cpt_whatif_plan *plan,
                    const char *name);

#endif
