/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* model_changes.c - what two models do differently; see model_changes.h */
#include "import/model/model_changes.h"
#include "import/model/model_changes_inside.h"
#include "import/model/model_inside.h"

#include <math.h>
#include <stdlib.h>

/* Requests of a side that are dealt; of more, a part that stands for all. */
static const uint64_t dealt_max = 1 << 17;

static const double mix_z_min = 1.96;

/* z, rounded: the same numbers in another order of addition are no other rank. */
static const double z_unit = 1e-9;

/* --- One form of both --- */

/* A model of @model whose classes are by entry alone. */
static cpt_status make_coarse(const struct cpt_alloc *alloc,
                              const struct cpti_model *model,
                              struct cpti_model **coarse)
{
    const struct cpti_model_learner_options options = {.is_coarse = true};
    struct cpti_model_learner *learner = cpti_model_learner_new(alloc, &options);
    cpt_status status =
        learner != NULL ? cpti_model_learner_absorb(learner, model) : CPT_NO_MEMORY;

    if (status == CPT_OK) {
        status = cpti_model_learner_finish(learner, coarse);
    }
    cpti_model_learner_free(learner);
    return status;
}

static cpt_status make_joint(struct cpti_comparing *comparing)
{
    const struct cpti_model_learner_options options = {
        .is_coarse = comparing->changes->is_coarse};
    struct cpti_model_learner *learner =
        cpti_model_learner_new(comparing->alloc, &options);
    cpt_status status = learner != NULL ? CPT_OK : CPT_NO_MEMORY;

    for (unsigned i = 0; i < 2 && status == CPT_OK; i++) {
        status = cpti_model_learner_absorb(learner, comparing->sides[i]);
    }
    if (status == CPT_OK) {
        status = cpti_model_learner_finish(learner, &comparing->changes->joint);
    }
    cpti_model_learner_free(learner);
    return status;
}

/* Whether all requests of both enter by one kind. */
static bool have_one_entry(const struct cpti_model *base,
                           const struct cpti_model *new_one)
{
    const uint32_t a = base->class_count > 0 ? base->classes[0].entry : 0;
    const uint32_t b = new_one->class_count > 0 ? new_one->classes[0].entry : 0;

    return cpti_model_has_one_entry(base) && cpti_model_has_one_entry(new_one) &&
           a != 0 && b != 0 &&
           cpt_bytes_equal(cpti_model_service(base, a - 1),
                           cpti_model_service(new_one, b - 1)) &&
           cpt_bytes_equal(cpti_model_name(base, a - 1),
                           cpti_model_name(new_one, b - 1));
}

static cpt_status make_coarse_both(struct cpti_comparing *comparing)
{
    cpt_status status = CPT_OK;

    comparing->changes->is_coarse =
        !have_one_entry(comparing->sides[0], comparing->sides[1]);
    for (unsigned i = 0; i < 2 && status == CPT_OK && comparing->changes->is_coarse;
         i++) {
        status =
            make_coarse(comparing->alloc, comparing->sides[i], &comparing->owned[i]);
        if (status == CPT_OK) {
            comparing->sides[i] = comparing->owned[i];
        }
    }
    return status == CPT_OK ? make_joint(comparing) : status;
}

/* --- Numbers of the joint model --- */

static int compare_kinds(const struct cpti_model *a, uint32_t i,
                         const struct cpti_model *b, uint32_t k)
{
    const int order =
        cpti_model_compare(cpti_model_service(a, i), cpti_model_service(b, k));

    return order != 0
               ? order
               : cpti_model_compare(cpti_model_name(a, i), cpti_model_name(b, k));
}

/* What a side has is in the joint model, in the same order, but for what it has left
 * out. */
static void map_kinds(struct cpti_comparing *comparing, unsigned side)
{
    const struct cpti_model *model = comparing->sides[side];
    const struct cpti_model *joint = comparing->changes->joint;
    uint32_t at = 0;

    for (uint32_t i = 0; i < model->kind_count; i++) {
        while (at < joint->kind_count && compare_kinds(joint, at, model, i) < 0) {
            at++;
        }
        comparing->kinds[side][i] =
            at < joint->kind_count && compare_kinds(joint, at, model, i) == 0
                ? at
                : CPTI_MODEL_NONE;
    }
}

/* A kind + 1, or 0, as one of the joint model; CPTI_MODEL_NONE: it has none. */
static uint32_t mapped(const uint32_t *kinds, uint32_t number)
{
    if (number == 0) {
        return 0;
    }
    return kinds[number - 1] != CPTI_MODEL_NONE ? kinds[number - 1] + 1
                                                : CPTI_MODEL_NONE;
}

static void map_classes(struct cpti_comparing *comparing, unsigned side)
{
    const struct cpti_model *model = comparing->sides[side];
    const struct cpti_model *joint = comparing->changes->joint;
    const uint32_t *kinds = comparing->kinds[side];

    for (uint32_t i = 0; i < model->class_count; i++) {
        const uint32_t entry = mapped(kinds, model->classes[i].entry);
        const uint32_t second = mapped(kinds, model->classes[i].second);
        uint32_t at = 0;

        while (at < joint->class_count && (joint->classes[at].entry != entry ||
                                           joint->classes[at].second != second)) {
            at++;
        }
        comparing->classes[side][i] = at < joint->class_count ? at : 0;
    }
}

static void map_steps(struct cpti_comparing *comparing, unsigned side)
{
    const struct cpti_model *model = comparing->sides[side];
    const struct cpti_model *joint = comparing->changes->joint;
    const uint32_t *kinds = comparing->kinds[side];
    uint32_t at = 0;

    for (uint32_t i = 0; i < model->step_count; i++) {
        const uint32_t from = mapped(kinds, model->steps[i].from);
        const uint32_t to = mapped(kinds, model->steps[i].to);

        if (from == CPTI_MODEL_NONE || to == CPTI_MODEL_NONE) {
            comparing->steps[side][i] = CPTI_MODEL_NONE;
            continue;
        }
        while (at < joint->step_count &&
               (joint->steps[at].from < from ||
                (joint->steps[at].from == from && joint->steps[at].to < to))) {
            at++;
        }
        comparing->steps[side][i] = at < joint->step_count &&
                                            joint->steps[at].from == from &&
                                            joint->steps[at].to == to
                                        ? at
                                        : CPTI_MODEL_NONE;
    }
}

static cpt_status map_side(struct cpti_comparing *comparing, unsigned side)
{
    const struct cpt_alloc *alloc = comparing->alloc;
    const struct cpti_model *model = comparing->sides[side];

    comparing->kinds[side] =
        cpt_alloc_array(alloc, NULL, model->kind_count + 1, sizeof(uint32_t));
    comparing->classes[side] =
        cpt_alloc_array(alloc, NULL, model->class_count + 1, sizeof(uint32_t));
    comparing->steps[side] =
        cpt_alloc_array(alloc, NULL, model->step_count + 1, sizeof(uint32_t));
    if (comparing->kinds[side] == NULL || comparing->classes[side] == NULL ||
        comparing->steps[side] == NULL) {
        return CPT_NO_MEMORY;
    }
    map_kinds(comparing, side);
    map_classes(comparing, side);
    map_steps(comparing, side);
    return CPT_OK;
}

/* --- Samples --- */

/* The level from which on few enough requests are left of both sides. */
static uint32_t level_of(const struct cpti_comparing *comparing)
{
    uint32_t level = comparing->changes->joint->level;

    for (unsigned i = 0; i < 2; i++) {
        const struct cpti_model *model = comparing->sides[i];
        uint64_t counts[CPTI_MODEL_LEVEL_MAX + 1] = {0};
        uint64_t left = 0;
        uint32_t lowest = CPTI_MODEL_LEVEL_MAX + 1;

        for (size_t k = 0; k < model->behaviour_count; k++) {
            counts[model->behaviours[k].level] += model->behaviours[k].requests;
        }
        while (lowest > 0 && left + counts[lowest - 1] <= dealt_max) {
            left += counts[--lowest];
        }
        level = lowest > level ? lowest : level;
    }
    return level;
}

static void take_side(const struct cpti_comparing *comparing,
                      struct cpti_samples *samples, unsigned side, uint32_t level)
{
    const struct cpti_model *model = comparing->sides[side];

    for (size_t i = 0; i < model->behaviour_count; i++) {
        const struct cpti_model_behaviour *from = &model->behaviours[i];

        if (from->level < level) {
            continue;
        }
        samples->behaviours[samples->behaviour_count++] =
            (struct cpti_sample_behaviour){.class =
                                               comparing->classes[side][from->class],
                                           .requests = from->requests,
                                           .side = side,
                                           .cell = samples->cell_count};
        for (uint32_t k = 0; k < from->cell_count; k++) {
            struct cpti_model_cell cell = model->cells[from->cell + k];

            cell.step = comparing->steps[side][cell.step];
            if (cell.step != CPTI_MODEL_NONE) {
                samples->cells[samples->cell_count++] = cell;
            }
        }
        samples->behaviours[samples->behaviour_count - 1].cell_count =
            (uint32_t)(samples->cell_count -
                       samples->behaviours[samples->behaviour_count - 1].cell);
        comparing->changes->requests[side] += from->requests;
    }
}

/* The service of @step, a text of the joint model. */
static uint32_t service_of(const struct cpti_model *joint,
                           const struct cpti_model_step *step)
{
    return joint->kinds[(step->from != 0 ? step->from : step->to) - 1].service;
}

static void make_groups(struct cpti_samples *samples)
{
    const struct cpti_model *joint = samples->joint;

    for (size_t i = 0; i < joint->step_count; i++) {
        const struct cpti_model_step *step = &joint->steps[i];
        const bool is_new =
            i == 0 || step->from != step[-1].from ||
            (step->from == 0 && service_of(joint, step) != service_of(joint, step - 1));

        samples->group_count += is_new;
        samples->groups[i] = samples->group_count - 1;
    }
}

static cpt_status make_samples(struct cpti_comparing *comparing,
                               struct cpti_samples *samples)
{
    const struct cpt_alloc *alloc = comparing->alloc;
    const struct cpti_model *base = comparing->sides[0];
    const struct cpti_model *new_one = comparing->sides[1];
    const uint32_t level = level_of(comparing);

    *samples = (struct cpti_samples){
        .alloc = alloc,
        .joint = comparing->changes->joint,
        .class_count = (uint32_t)comparing->changes->joint->class_count};
    samples->behaviours = cpt_alloc_array(
        alloc, NULL, base->behaviour_count + new_one->behaviour_count + 1,
        sizeof *samples->behaviours);
    samples->cells =
        cpt_alloc_array(alloc, NULL, base->cell_count + new_one->cell_count + 1,
                        sizeof *samples->cells);
    samples->groups = cpt_alloc_array(alloc, NULL, samples->joint->step_count + 1,
                                      sizeof *samples->groups);
    if (samples->behaviours == NULL || samples->cells == NULL ||
        samples->groups == NULL) {
        return CPT_NO_MEMORY;
    }
    take_side(comparing, samples, 0, level);
    take_side(comparing, samples, 1, level);
    make_groups(samples);
    return CPT_OK;
}

static void samples_deinit(const struct cpt_alloc *alloc, struct cpti_samples *samples)
{
    cpt_alloc_free(alloc, samples->behaviours);
    cpt_alloc_free(alloc, samples->cells);
    cpt_alloc_free(alloc, samples->groups);
}

/* --- Rows --- */

static double rounded_z(double z)
{
    return round(z / z_unit) * z_unit;
}

/* The row of the group of which @from and those before @end are the steps; false: it is
 * the same on both sides. */
static bool make_row(const struct cpti_samples *samples, size_t from, size_t end,
                     const struct cpti_sample_result results[2],
                     struct cpti_model_change *row)
{
    const struct cpti_model *joint = samples->joint;
    const struct cpti_sample_result *plain = &results[0];
    const uint32_t group = samples->groups[from];
    const uint64_t counts[2] = {plain->counts[0][group], plain->counts[1][group]};
    size_t was = from;
    size_t now = from;
    size_t step = from;

    for (size_t i = from; i < end; i++) {
        was = rounded_z(plain->z[i]) < rounded_z(plain->z[was]) ? i : was;
        now = rounded_z(plain->z[i]) > rounded_z(plain->z[now]) ? i : now;
    }
    if (counts[0] == 0 || counts[1] == 0 || was == now) {
        return false;
    }
    step = rounded_z(plain->z[now]) > rounded_z(-plain->z[was]) ? now : was;
    *row = (struct cpti_model_change){.service = service_of(joint, &joint->steps[from]),
                                      .after = joint->steps[from].from,
                                      .was = joint->steps[was].to,
                                      .now = joint->steps[now].to,
                                      .z = rounded_z(plain->z[step]),
                                      .z_of_mix = rounded_z(results[1].z[step]),
                                      .requests = {counts[0], counts[1]}};
    for (unsigned i = 0; i < 2; i++) {
        row->shares[i] = plain->sums[i][was] / (double)counts[i];
        row->now_shares[i] = plain->sums[i][now] / (double)counts[i];
    }
    row->is_mix_equal = row->z * row->z_of_mix > 0 && fabs(row->z_of_mix) >= mix_z_min;
    row->p = cpti_sample_p(plain, row->z);
    if (results[1].is_compared[group]) {
        row->p = fmax(row->p, cpti_sample_p(&results[1], row->z_of_mix));
    }
    return true;
}

static int by_rank(const void *left, const void *right)
{
    const struct cpti_model_change *a = left;
    const struct cpti_model_change *b = right;
    const double keys[][2] = {
        {a->is_mix_equal, b->is_mix_equal},
        {fabs(a->z), fabs(b->z)},
        {fabs(a->shares[0] - a->shares[1]), fabs(b->shares[0] - b->shares[1])}};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] > keys[i][1] ? -1 : 1;
        }
    }
    return a->service != b->service ? cpti_model_compare_numbers(a->service, b->service)
                                    : cpti_model_compare_numbers(a->after, b->after);
}

static cpt_status make_rows(struct cpti_comparing *comparing,
                            const struct cpti_samples *samples,
                            const struct cpti_sample_result results[2])
{
    struct cpti_model_changes *changes = comparing->changes;
    const size_t step_count = samples->joint->step_count;
    size_t from = 0;

    changes->rows = cpt_alloc_array(comparing->alloc, NULL, samples->group_count + 1,
                                    sizeof *changes->rows);
    if (changes->rows == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 1; i <= step_count; i++) {
        if (i == step_count || samples->groups[i] != samples->groups[from]) {
            changes->row_count +=
                make_row(samples, from, i, results, &changes->rows[changes->row_count]);
            from = i;
        }
    }
    if (changes->row_count > 1) {
        qsort(changes->rows, changes->row_count, sizeof *changes->rows, by_rank);
    }
    changes->rounds = results[0].rounds;
    return CPT_OK;
}

static cpt_status find_all(struct cpti_comparing *comparing,
                           const struct cpti_changes_options *options)
{
    struct cpti_samples samples = {0};
    struct cpti_sample_result results[2] = {{0}, {0}};
    cpt_status status = make_samples(comparing, &samples);

    for (unsigned i = 0; i < 2 && status == CPT_OK; i++) {
        status = cpti_samples_compare(&samples, i == 1, options->seed, &results[i]);
    }
    if (status == CPT_OK) {
        status = make_rows(comparing, &samples, results);
    }
    if (status == CPT_OK) {
        status = cpti_changes_of_kinds(comparing, &samples);
    }
    if (status == CPT_OK) {
        status = cpti_changes_of_orders(comparing, &options->rule);
    }
    cpti_sample_result_deinit(comparing->alloc, &results[0]);
    cpti_sample_result_deinit(comparing->alloc, &results[1]);
    samples_deinit(comparing->alloc, &samples);
    return status;
}

void cpti_model_changes_free(struct cpti_model_changes *changes)
{
    const struct cpt_alloc *alloc = changes != NULL ? changes->alloc : NULL;

    if (changes == NULL) {
        return;
    }
    cpti_model_free(changes->joint);
    cpt_alloc_free(alloc, changes->rows);
    cpt_alloc_free(alloc, changes->kinds);
    cpt_alloc_free(alloc, changes->orders);
    cpt_alloc_free(alloc, changes);
}

cpt_status cpti_model_changes_find(const struct cpt_alloc *alloc,
                                   const struct cpti_model *base,
                                   const struct cpti_model *new_one,
                                   const struct cpti_changes_options *options,
                                   struct cpti_model_changes **changes)
{
    struct cpti_comparing comparing = {.alloc = alloc,
                                       .sides = {base, new_one},
                                       .changes =
                                           cpt_alloc_zeroed(alloc, sizeof **changes)};
    cpt_status status = CPT_NO_MEMORY;

    if (comparing.changes != NULL) {
        comparing.changes->alloc = alloc;
        status = make_coarse_both(&comparing);
    }
    for (unsigned i = 0; i < 2 && status == CPT_OK; i++) {
        status = map_side(&comparing, i);
    }
    if (status == CPT_OK) {
        status = find_all(&comparing, options);
    }
    for (unsigned i = 0; i < 2; i++) {
        cpti_model_free(comparing.owned[i]);
        cpt_alloc_free(alloc, comparing.kinds[i]);
        cpt_alloc_free(alloc, comparing.classes[i]);
        cpt_alloc_free(alloc, comparing.steps[i]);
    }
    if (status == CPT_OK) {
        *changes = comparing.changes;
    } else {
        cpti_model_changes_free(comparing.changes);
    }
    return status;
}
