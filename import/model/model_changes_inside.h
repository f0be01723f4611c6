/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_changes_inside.h - parts of a comparison, for the files of this folder */
#ifndef CPTI_MODEL_CHANGES_INSIDE_H
#define CPTI_MODEL_CHANGES_INSIDE_H

#include "import/model/model_samples.h"

/* Two models, with classes of one form, and the numbers of their joint one. */
struct cpti_comparing {
    const struct cpt_alloc *alloc;
    const struct cpti_model *sides[2];
    struct cpti_model *owned[2]; /* those that had to be made coarse */
    uint32_t *kinds[2];          /* by kind of a side */
    uint32_t *classes[2];
    uint32_t *steps[2];
    struct cpti_model_changes *changes;
};

/* Finds kinds that one side alone has, and pairs whose relation changed. */
cpt_status cpti_changes_of_kinds(struct cpti_comparing *comparing,
                                 const struct cpti_samples *samples);
cpt_status cpti_changes_of_orders(struct cpti_comparing *comparing,
                                  const struct cpti_model_rule *rule);

#endif
