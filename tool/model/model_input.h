/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_input.h - models from files: read, or learnt from lines
 *
 *      week.cptmodel --------------------------> model
 *      a.csv b.csv --> requests --> learner --> model
 *
 * Times are taken as they are: clocks of hosts are not put right, as how far they are
 * off would depend on which requests are learnt together. A function that returns an
 * enum cpti_exit has printed its error.
 */
#ifndef CPTI_TOOL_MODEL_INPUT_H
#define CPTI_TOOL_MODEL_INPUT_H

#include "import/model/model.h"

struct cpti_arguments;

/* The model of the lines in the operands of @arguments; NULL if there is none. enum
 * cpti_exit. */
int cpti_model_learn(const struct cpti_arguments *arguments, struct cpti_model **model);

/* The model in the file @path, or of its lines if it has some, which are read with the
 * options of @arguments. enum cpti_exit. */
int cpti_model_load(const struct cpti_arguments *arguments, const char *path,
                    struct cpti_model **model);

/* The same of a file that must be a model. */
int cpti_model_open(const char *path, struct cpti_model **model);

/* Says what the limits of @model made it leave out. */
void cpti_model_warn(const struct cpti_model *model);

#endif
