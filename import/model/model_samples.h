/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_samples.h - what requests do on two sides, and whether chance makes the
 * difference
 *
 * A *group* are the steps behind one event, or behind the beginning of a unit of one
 * service. See model_changes.h for what z and p are, and model_samples.c for how.
 */
#ifndef CPTI_MODEL_SAMPLES_H
#define CPTI_MODEL_SAMPLES_H

#include "import/model/model_changes.h"

/* Requests of one side that do the same. */
struct cpti_sample_behaviour {
    uint32_t class;
    uint32_t requests;
    uint32_t side;
    uint32_t cell_count;
    size_t cell; /* in `cells`: steps of `joint`, in their order */
};

/* Both sides, in the numbers of one model. */
struct cpti_samples {
    const struct cpt_alloc *alloc;
    const struct cpti_model *joint;
    struct cpti_sample_behaviour *behaviours;
    struct cpti_model_cell *cells;
    size_t behaviour_count;
    size_t cell_count;
    uint32_t *groups; /* by step */
    uint32_t group_count;
    uint32_t class_count;
};

/* What was found of each step. */
struct cpti_sample_result {
    double *z;           /* by step */
    double *sums[2];     /* by step and side: of the values of requests */
    uint64_t *counts[2]; /* by group and side: requests that have it */
    bool *is_compared;   /* by group: a class has it on both sides */
    double *largest;     /* by round, of all steps */
    unsigned rounds;
};

/* Compares the sides. @by_class: with the requests of each class dealt by themselves.
 * CPT_OK; CPT_NO_MEMORY. */
cpt_status cpti_samples_compare(const struct cpti_samples *samples, bool by_class,
                                uint64_t seed, struct cpti_sample_result *result);
void cpti_sample_result_deinit(const struct cpt_alloc *alloc,
                               struct cpti_sample_result *result);

/* How often chance is as far off as @z; at least once. */
double cpti_sample_p(const struct cpti_sample_result *result, double z);

#endif
