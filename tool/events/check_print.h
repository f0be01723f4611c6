/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* check_print.h - cpt events check: what lines carry, and what would mend them */
#ifndef CPTI_CLI_CHECK_PRINT_H
#define CPTI_CLI_CHECK_PRINT_H

#include "tool/base/options.h"
#include "tool/table/relation.h"

/* Of sources, and of classes of requests. */
extern const struct cpti_relation cpti_check_sources_relation;
extern const struct cpti_relation cpti_check_classes_relation;

/* Runs `cpt events check` over the operands. enum cpti_exit. */
int cpti_events_check(const struct cpti_arguments *arguments);

#endif
