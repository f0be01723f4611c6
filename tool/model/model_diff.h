/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_diff.h - what changed from one model to another, as sentences and as JSON
 *
 *      basic: after Impl#405 no longer #418 but #415: 60 of 60 -> 0 of 19
 *      requests, p 0.001
 */
#ifndef CPTI_TOOL_MODEL_DIFF_H
#define CPTI_TOOL_MODEL_DIFF_H

#include "import/model/model_changes.h"
#include "tool/table/relation.h"

extern const struct cpti_relation cpti_model_rows;

/* Prints @changes, whose rows it may sort, on stdout. enum cpti_exit. */
int cpti_model_diff(struct cpti_model_changes *changes, const struct cpti_view *view);

/* Prints the rows that chance does not make as sentences, @row_max at most, and how
 * many others there are. */
void cpti_model_tell_rows(const struct cpti_model_changes *changes, size_t row_max);

/* Writes such rows, from the first one on, as the array @key. */
void cpti_model_put_rows(const struct cpti_model_changes *changes, const char *key,
                         size_t row_max, struct cpti_json *json);

#endif
