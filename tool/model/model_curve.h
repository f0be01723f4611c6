/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_curve.h - how many relations are left after n requests
 *
 * The more requests there are, the fewer relations survive; where the curve is flat,
 * the model has seen what there is to see.
 */
#ifndef CPTI_TOOL_MODEL_CURVE_H
#define CPTI_TOOL_MODEL_CURVE_H

#include "import/model/model_relations.h"
#include "tool/table/relation.h"

struct cpti_arguments;

extern const struct cpti_relation cpti_model_points;

/* Learns from the lines in the operands of @arguments, in the order of time, and prints
 * the curve on stdout. enum cpti_exit. */
int cpti_model_curve(const struct cpti_arguments *arguments,
                     const struct cpti_model_rule *rule, const struct cpti_view *view);

#endif
