/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_input.h - models from files: read, or learnt from lines
 *
 *      week.cptmodel --------------------------> model
 *      a.csv b.csv --> requests --> learner --> model
 *
 * A function that returns an enum cpti_exit has printed its error.
 */
#ifndef CPTI_TOOL_MODEL_INPUT_H
#define CPTI_TOOL_MODEL_INPUT_H

#include "import/model/model.h"
#include "import/events/requests.h"

/* Reads the lines of @count files and joins them: *@requests, which the caller frees.
 * What is left out is told. enum cpti_exit; after CPTI_EXIT_FAILED there may be
 * requests, of what could be read. */
int cpti_model_requests(const char *const *paths, size_t count,
                        struct cpti_requests **requests);

/* Learns from all requests that are left in @requests. enum cpti_exit. */
int cpti_model_learn_all(struct cpti_model_learner *learner,
                         struct cpti_requests *requests);

/* The model of @count files, which are lines. enum cpti_exit. */
int cpti_model_learn(const char *const *paths, size_t count, struct cpti_model **model);

/* The model in the file @path, or of its lines if it has some. enum cpti_exit. */
int cpti_model_load(const char *path, struct cpti_model **model);

/* The same of a file that must be a model. */
int cpti_model_open(const char *path, struct cpti_model **model);

/* Says what the limits of @model made it leave out. */
void cpti_model_warn(const struct cpti_model *model);

#endif
