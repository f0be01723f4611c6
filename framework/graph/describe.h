/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* describe.h - a plan as JSON, for people who want to see it; see describe.c */
#ifndef CPT_DESCRIBE_H
#define CPT_DESCRIBE_H

#include "cpt/base/json_text.h"
#include "framework/graph/plan.h"

/* The variable of the environment with the file to which plans are appended. */
#define CPTI_DESCRIBE_VARIABLE "CPT_PLANS"

/* Writes @plan, with its components, as the member @key (json_text.h). */
void cpti_describe(const struct cpt_plan *plan, const char *key,
                   struct cpti_json *text);

/* Appends @plan, which was just made, to the file that the environment names, as one
 * line; does nothing if it names none. */
void cpti_describe_made(const struct cpt_plan *plan);

#endif
