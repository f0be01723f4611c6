/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_text.h - kinds, places and classes of a model as they are shown */
#ifndef CPTI_TOOL_MODEL_TEXT_H
#define CPTI_TOOL_MODEL_TEXT_H

#include "import/model/model.h"

enum { CPTI_MODEL_TEXT_BYTES = 2 * CPT_NAME_BYTES_MAX + 32 };

/* Ends of the steps of a unit. */
#define CPTI_MODEL_START "‹start›"
#define CPTI_MODEL_END   "‹end›"

/* "service: event", not escaped; the bytes of @text. */
struct cpt_bytes cpti_model_kind_text(const struct cpti_model *model, uint32_t kind,
                                      char text[CPTI_MODEL_TEXT_BYTES]);

/* The same with "#2" behind it from the second turn on, or with "#(many)". */
struct cpt_bytes cpti_model_place_text(const struct cpti_model *model,
                                       const struct cpti_model_place *place,
                                       char text[CPTI_MODEL_TEXT_BYTES]);

/* Whether a person may mean @place by @typed: "event", "service: event", either with
 * "#2" behind it; without that any turn is meant. */
bool cpti_model_place_is(const struct cpti_model *model,
                         const struct cpti_model_place *place, const char *typed);

#endif
