/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* mix_print.h - the mixes of traffic that cpt diff --mix has compared */
#ifndef CPTI_CLI_MIX_PRINT_H
#define CPTI_CLI_MIX_PRINT_H

#include "tool/folds/mix.h"
#include "tool/table/json_write.h"

/* Prints two lines, or writes the field "mix": the shares of the values in both sets,
 * and how much the mix alone changed the mean latency. @gathers have the trees of all
 * requests; @diff is a result of cpti_mix_diff(). */
void cpti_mix_print(const struct cpti_mix *mix, const struct cpti_gather *gathers,
                    const struct cpt_diff *diff);
void cpti_mix_json(const struct cpti_mix *mix, const struct cpti_gather *gathers,
                   const struct cpt_diff *diff, struct cpti_json *json);

#endif
