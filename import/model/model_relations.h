/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_relations.h - what the counts of two places mean, decided when it is asked
 *
 *      before      one ended before the other began, in all but `violations` of them
 *      contains    the second lies within the first, in all but `violations` of them
 *      exclusive   two intervals that come in either order, but never overlap
 *      together    both orders hold: times of no length cannot tell them apart
 *      either      any order was seen: work in parallel, or by chance
 *      rare        fewer than `support` requests have both
 *
 * The share of pairs with a fixed order, or of which one contains the other, of those
 * that are not rare, is the order certainty: at 98 % or more a class is sequential.
 */
#ifndef CPTI_MODEL_RELATIONS_H
#define CPTI_MODEL_RELATIONS_H

#include "import/model/model.h"

enum { CPTI_MODEL_SUPPORT = 5 };
#define CPTI_MODEL_VIOLATIONS 0.02

enum cpti_model_relation {
    CPTI_MODEL_RARE,
    CPTI_MODEL_EITHER,
    CPTI_MODEL_BEFORE,   /* low before high */
    CPTI_MODEL_AFTER,    /* high before low */
    CPTI_MODEL_CONTAINS, /* low contains high */
    CPTI_MODEL_WITHIN,   /* high contains low */
    CPTI_MODEL_EXCLUSIVE,
    CPTI_MODEL_TOGETHER,
    CPTI_MODEL_RELATIONS
};

struct cpti_model_rule {
    double violations; /* share of requests that may be a counterexample */
    uint32_t support;
};

/* What @pair of @class is. */
enum cpti_model_relation cpti_model_relation_of(const struct cpti_model *model,
                                                const struct cpti_model_class *class,
                                                const struct cpti_model_pair *pair,
                                                const struct cpti_model_rule *rule);

/* "before" and the like. Static memory. */
const char *cpti_model_relation_word(enum cpti_model_relation kind);

/* The pairs of @class by what they are. */
void cpti_model_tally(const struct cpti_model *model,
                      const struct cpti_model_class *class,
                      const struct cpti_model_rule *rule,
                      uint64_t tally[CPTI_MODEL_RELATIONS]);

/* The share of fixed orders, or -1 if all pairs are rare. */
double cpti_model_certainty(const uint64_t tally[CPTI_MODEL_RELATIONS]);

#endif
