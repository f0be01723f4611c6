/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_relations.c - what the counts of two places mean; see model_relations.h */
#include "import/model/model_relations.h"

#include <string.h>

enum cpti_model_relation cpti_model_relation_of(const struct cpti_model *model,
                                                const struct cpti_model_class *class,
                                                const struct cpti_model_pair *pair,
                                                const struct cpti_model_rule *rule)
{
    const struct cpti_model_place *places = &model->places[class->place];
    const double allowed = rule->violations * pair->both;
    const bool is_before = pair->refuted[0] <= allowed;
    const bool is_after = pair->refuted[1] <= allowed;

    if (pair->both < rule->support) {
        return CPTI_MODEL_RARE;
    }
    if (is_before || is_after) {
        return is_before && is_after ? CPTI_MODEL_TOGETHER
               : is_before           ? CPTI_MODEL_BEFORE
                                     : CPTI_MODEL_AFTER;
    }
    if (pair->contains[0] >= pair->both - allowed ||
        pair->contains[1] >= pair->both - allowed) {
        return pair->contains[0] >= pair->contains[1] ? CPTI_MODEL_CONTAINS
                                                      : CPTI_MODEL_WITHIN;
    }
    return pair->overlaps <= allowed && places[pair->low].is_interval &&
                   places[pair->high].is_interval
               ? CPTI_MODEL_EXCLUSIVE
               : CPTI_MODEL_EITHER;
}

const char *cpti_model_relation_word(enum cpti_model_relation kind)
{
    static const char *const words[CPTI_MODEL_RELATIONS] = {
        [CPTI_MODEL_RARE] = "rare",           [CPTI_MODEL_EITHER] = "either",
        [CPTI_MODEL_BEFORE] = "before",       [CPTI_MODEL_AFTER] = "after",
        [CPTI_MODEL_CONTAINS] = "contains",   [CPTI_MODEL_WITHIN] = "within",
        [CPTI_MODEL_EXCLUSIVE] = "exclusive", [CPTI_MODEL_TOGETHER] = "together"};

    return words[kind];
}

void cpti_model_tally(const struct cpti_model *model,
                      const struct cpti_model_class *class,
                      const struct cpti_model_rule *rule,
                      uint64_t tally[CPTI_MODEL_RELATIONS])
{
    memset(tally, 0, CPTI_MODEL_RELATIONS * sizeof *tally);
    for (size_t i = 0; i < class->pair_count; i++) {
        tally[cpti_model_relation_of(model, class, &model->pairs[class->pair + i],
                                     rule)]++;
    }
}

double cpti_model_certainty(const uint64_t tally[CPTI_MODEL_RELATIONS])
{
    const uint64_t fixed = tally[CPTI_MODEL_BEFORE] + tally[CPTI_MODEL_AFTER] +
                           tally[CPTI_MODEL_CONTAINS] + tally[CPTI_MODEL_WITHIN];
    uint64_t all = 0;

    for (unsigned i = CPTI_MODEL_RARE + 1; i < CPTI_MODEL_RELATIONS; i++) {
        all += tally[i];
    }
    return all != 0 ? (double)fixed / (double)all : -1;
}
