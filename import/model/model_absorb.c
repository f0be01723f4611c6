/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_absorb.c - the counts of a model, added to those of a learner
 *
 * Numbers of the model are translated one list after the other: kinds, classes and
 * their places, steps. All counts are sums, and of two witnesses the smaller one stays.
 */
#include "import/model/model_inside.h"

#include <stdlib.h>

/* Numbers of a model in the learner. */
struct absorbing {
    struct cpti_model_learner *learner;
    const struct cpti_model *model;
    uint32_t *kinds;
    uint32_t *classes;
    uint32_t *steps;
    uint32_t *places; /* of the class at hand */
};

static uint32_t kind_or_0(const struct absorbing *absorbing, uint32_t number)
{
    const uint32_t kind = number != 0 ? absorbing->kinds[number - 1] : CPTI_MODEL_NONE;

    return kind != CPTI_MODEL_NONE ? kind + 1 : 0;
}

static cpt_status absorb_kinds(struct absorbing *absorbing)
{
    const struct cpti_model *model = absorbing->model;
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < model->kind_count && status == CPT_OK; i++) {
        status = cpti_learner_kind(absorbing->learner, cpti_model_service(model, i),
                                   cpti_model_name(model, i), &absorbing->kinds[i]);
    }
    return status;
}

/* Places of a class: the turns of a kind follow each other. */
static cpt_status absorb_places(struct absorbing *absorbing,
                                const struct cpti_model_class *from,
                                struct cpti_learnt_class *to)
{
    struct cpti_model_learner *learner = absorbing->learner;
    uint32_t last = 0;

    for (uint32_t i = 0; i < from->place_count; i++) {
        const struct cpti_model_place *place =
            &absorbing->model->places[from->place + i];
        const uint32_t kind = absorbing->kinds[place->kind];
        uint32_t *number = &absorbing->places[i];
        cpt_status status = CPT_OK;

        last = place->turn == 1 ? 0 : last;
        *number = CPTI_MODEL_NONE;
        if (kind != CPTI_MODEL_NONE && (place->turn == 1 || last != 0)) {
            status = cpti_learner_place(learner, to, kind, last, number);
        }
        if (status != CPT_OK) {
            return status;
        }
        if (*number == CPTI_MODEL_NONE) {
            learner->dropped_lines += place->requests;
            last = 0;
        } else {
            to->places[*number].place.requests += place->requests;
            to->places[*number].place.is_interval |= place->is_interval;
            last = *number + 1;
        }
    }
    return CPT_OK;
}

static cpt_status absorb_witness(struct absorbing *absorbing, uint32_t number,
                                 uint32_t *witness)
{
    return number != CPTI_MODEL_NONE
               ? cpti_learner_witness(absorbing->learner,
                                      cpti_model_text(&absorbing->model->ids, number),
                                      witness)
               : CPT_OK;
}

static cpt_status absorb_pair(struct absorbing *absorbing,
                              const struct cpti_model_pair *pair,
                              struct cpti_learnt_class *to)
{
    const uint32_t a = absorbing->places[pair->low];
    const uint32_t b = absorbing->places[pair->high];
    const size_t ab = (size_t)a * to->stride + b;
    const size_t ba = (size_t)b * to->stride + a;
    const size_t overlap = a < b ? ba : ab;
    const uint32_t others =
        pair->both + pair->overlaps - pair->refuted[0] - pair->refuted[1];
    cpt_status status = CPT_OK;

    if (a == CPTI_MODEL_NONE || b == CPTI_MODEL_NONE) {
        return CPT_OK;
    }
    to->refuted[ab] += pair->refuted[0];
    to->refuted[ba] += pair->refuted[1];
    to->others[a < b ? ab : ba] += others;
    status = absorb_witness(absorbing, pair->witness[0], &to->witness[ab]);
    if (status == CPT_OK) {
        status = absorb_witness(absorbing, pair->witness[1], &to->witness[ba]);
    }
    if (status != CPT_OK ||
        (pair->overlaps == 0 && pair->contains[0] == 0 && pair->contains[1] == 0)) {
        return status;
    }
    status = cpti_learner_intervals(absorbing->learner, to);
    if (status != CPT_OK) {
        return status;
    }
    to->others[overlap] += pair->overlaps;
    to->contains[ab] += pair->contains[0];
    to->contains[ba] += pair->contains[1];
    return absorb_witness(absorbing, pair->witness[2], &to->overlap_witness[overlap]);
}

static cpt_status absorb_class(struct absorbing *absorbing, uint32_t number)
{
    const struct cpti_model *model = absorbing->model;
    const struct cpti_model_class *from = &model->classes[number];
    struct cpti_learnt_class *to = NULL;
    cpt_status status =
        cpti_learner_class(absorbing->learner, kind_or_0(absorbing, from->entry),
                           kind_or_0(absorbing, from->second), &to);

    if (status != CPT_OK) {
        return status;
    }
    absorbing->classes[number] = (uint32_t)(to - absorbing->learner->classes);
    to->requests += from->requests;
    status = absorb_places(absorbing, from, to);
    for (size_t i = 0; i < from->pair_count && status == CPT_OK; i++) {
        status = absorb_pair(absorbing, &model->pairs[from->pair + i], to);
    }
    return status;
}

static cpt_status absorb_steps(struct absorbing *absorbing)
{
    const struct cpti_model *model = absorbing->model;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < model->step_count && status == CPT_OK; i++) {
        const struct cpti_model_step step = {kind_or_0(absorbing, model->steps[i].from),
                                             kind_or_0(absorbing, model->steps[i].to)};
        const bool is_lost = (step.from == 0) != (model->steps[i].from == 0) ||
                             (step.to == 0) != (model->steps[i].to == 0);

        absorbing->steps[i] = CPTI_MODEL_NONE;
        if (!is_lost) {
            status = cpti_learner_step(absorbing->learner, step, &absorbing->steps[i]);
        }
    }
    return status;
}

static int by_step(const void *left, const void *right)
{
    return cpti_model_compare_numbers(((const struct cpti_model_cell *)left)->step,
                                      ((const struct cpti_model_cell *)right)->step);
}

static cpt_status absorb_behaviour(struct absorbing *absorbing,
                                   const struct cpti_model_behaviour *from,
                                   struct cpti_model_cell *cells)
{
    const struct cpti_model_cell *given = &absorbing->model->cells[from->cell];
    struct cpti_model_behaviour to = *from;

    to.class = absorbing->classes[from->class];
    to.cell_count = 0;
    for (uint32_t i = 0; i < from->cell_count; i++) {
        const uint32_t step = absorbing->steps[given[i].step];

        if (step != CPTI_MODEL_NONE) {
            cells[to.cell_count++] = (struct cpti_model_cell){step, given[i].count};
        } else {
            absorbing->learner->dropped_steps += given[i].count;
        }
    }
    if (to.cell_count > 1) {
        qsort(cells, to.cell_count, sizeof *cells, by_step);
    }
    return cpti_learner_behave(absorbing->learner, &to, cells);
}

static cpt_status absorb_behaviours(struct absorbing *absorbing)
{
    const struct cpti_model *model = absorbing->model;
    struct cpti_model_cell *cells = cpt_alloc_array(
        absorbing->learner->alloc, NULL, model->step_count + 1, sizeof *cells);
    cpt_status status = cells != NULL ? CPT_OK : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        status = cpti_learner_raise(absorbing->learner, model->level);
    }
    for (size_t i = 0; i < model->behaviour_count && status == CPT_OK; i++) {
        status = absorb_behaviour(absorbing, &model->behaviours[i], cells);
    }
    cpt_alloc_free(absorbing->learner->alloc, cells);
    return status;
}

static cpt_status absorb_all(struct absorbing *absorbing)
{
    struct cpti_model_learner *learner = absorbing->learner;
    const struct cpti_model *model = absorbing->model;
    cpt_status status = absorb_kinds(absorbing);

    for (uint32_t i = 0; i < model->class_count && status == CPT_OK; i++) {
        status = absorb_class(absorbing, i);
    }
    if (status == CPT_OK) {
        status = absorb_steps(absorbing);
    }
    if (status == CPT_OK) {
        status = absorb_behaviours(absorbing);
    }
    for (size_t i = 0; i < model->dropped_count && status == CPT_OK; i++) {
        if (absorbing->kinds[model->dropped[i]] != CPTI_MODEL_NONE) {
            cpti_learner_drop(learner, absorbing->kinds[model->dropped[i]], 0);
        }
    }
    learner->requests += model->requests;
    learner->dropped_lines += model->dropped_lines;
    learner->dropped_steps += model->dropped_steps;
    return status;
}

cpt_status cpti_model_learner_absorb(struct cpti_model_learner *learner,
                                     const struct cpti_model *model)
{
    const struct cpt_alloc *alloc = learner->alloc;
    struct absorbing absorbing = {.learner = learner, .model = model};
    cpt_status status = CPT_OK;

    if (model->requests > UINT32_MAX - learner->requests) {
        return CPT_LIMIT;
    }
    absorbing.kinds =
        cpt_alloc_array(alloc, NULL, model->kind_count + 1, sizeof(uint32_t));
    absorbing.classes =
        cpt_alloc_array(alloc, NULL, model->class_count + 1, sizeof(uint32_t));
    absorbing.steps =
        cpt_alloc_array(alloc, NULL, model->step_count + 1, sizeof(uint32_t));
    absorbing.places =
        cpt_alloc_array(alloc, NULL, model->place_count + 1, sizeof(uint32_t));
    status = absorbing.kinds != NULL && absorbing.classes != NULL &&
                     absorbing.steps != NULL && absorbing.places != NULL
                 ? cpti_learner_flush(learner)
                 : CPT_NO_MEMORY;
    if (status == CPT_OK) {
        status = absorb_all(&absorbing);
    }
    cpt_alloc_free(alloc, absorbing.kinds);
    cpt_alloc_free(alloc, absorbing.classes);
    cpt_alloc_free(alloc, absorbing.steps);
    cpt_alloc_free(alloc, absorbing.places);
    return status;
}
