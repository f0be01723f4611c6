/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_show.h - what a model says: its classes, the relations of their places, and the
 * counterexamples to these
 */
#ifndef CPTI_TOOL_MODEL_SHOW_H
#define CPTI_TOOL_MODEL_SHOW_H

#include "import/model/model_relations.h"
#include "tool/table/relation.h"

extern const struct cpti_relation cpti_model_pairs;
extern const struct cpti_relation cpti_model_classes;

struct cpti_model_showing {
    const struct cpti_model *model;
    struct cpti_model_rule rule;
    const char *why[2];           /* the two of --why; NULL: all pairs */
    const struct cpti_view *view; /* of the pairs */
};

/* Prints it on stdout. enum cpti_exit. */
int cpti_model_show(const struct cpti_model_showing *showing);

#endif
