/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* expression_path.h - how long a request spent in a frame or stack that a test names */
#ifndef CPTI_CLI_EXPRESSION_PATH_H
#define CPTI_CLI_EXPRESSION_PATH_H

#include "cpt/cli/select/expression.h"

/* Another record is at hand. */
void cpti_scratch_begin(struct cpti_scratch *scratch);

/* The time in and below all frames that test @index names, to *@ns; where they stand
 * below each other it counts once. 0 if @record has no path that holds. */
int cpti_expression_path_ns(const struct cpti_expression *expression, size_t index,
                            const struct cpt_record *record,
                            struct cpti_scratch *scratch, uint64_t *ns);

#endif
