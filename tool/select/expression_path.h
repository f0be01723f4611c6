/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* expression_path.h - the time of a request in the frames that a test names */
#ifndef CPTI_CLI_EXPRESSION_PATH_H
#define CPTI_CLI_EXPRESSION_PATH_H

#include "tool/select/expression.h"

/* Begins with another record. */
void cpti_scratch_begin(struct cpti_scratch *scratch);

/* Sets *@ns to the time in and below all frames that test @index names; where one of
 * them is below another, time counts once. False if the path of @record is missing or
 * invalid. */
bool cpti_expression_path_ns(const struct cpti_expression *expression, size_t index,
                             const struct cpt_record *record,
                             struct cpti_scratch *scratch, uint64_t *ns);

#endif
