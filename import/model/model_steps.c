/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_steps.c - behaviours: how often a request has which steps
 *
 *      unit 1: a b b c      (begin) a, a b, b b, b c, c (end)
 *      unit 2: d            (begin) d, d (end)
 *
 * Many requests do the same, so equal ones are kept once and counted. Where there are
 * more than CPTI_MODEL_CELLS_MAX cells, those of the lowest level are left out, half of
 * the requests: which ones is told by a hash of the id, so it is the same in any order
 * and in any parts.
 */
#include "import/model/model_inside.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOTS_FIRST = 1024 };

void cpti_steps_deinit(const struct cpt_alloc *alloc, struct cpti_steps *steps)
{
    cpt_alloc_free(alloc, steps->all);
    cpt_alloc_free(alloc, steps->index.slots);
    cpt_alloc_free(alloc, steps->behaviours);
    cpt_alloc_free(alloc, steps->behaviour_index.slots);
    cpt_alloc_free(alloc, steps->cells);
    cpt_alloc_free(alloc, steps->counts);
    cpt_alloc_free(alloc, steps->touched);
    cpt_alloc_free(alloc, steps->lasts);
}

uint32_t cpti_model_level(struct cpt_bytes id)
{
    const uint64_t hash = cpt_hash_bytes(0, id.data, id.bytes);
    const uint32_t level = hash != 0 ? (uint32_t)__builtin_clzll(hash) : 64;

    return level < CPTI_MODEL_LEVEL_MAX ? level : CPTI_MODEL_LEVEL_MAX;
}

/* --- Steps --- */

static uint64_t hash_of_step(const struct cpti_model_learner *learner,
                             struct cpti_model_step step)
{
    return cpti_hash_mix(learner->hash_seed + ((uint64_t)step.from << 32 | step.to));
}

static uint64_t hash_step(const void *owner, size_t number)
{
    const struct cpti_model_learner *learner = owner;

    return hash_of_step(learner, learner->steps.all[number]);
}

static cpt_status add_step(struct cpti_model_learner *learner,
                           struct cpti_model_step step, uint32_t *number)
{
    struct cpti_steps *steps = &learner->steps;
    const size_t old = steps->counts_capacity;
    cpt_status status =
        cpt_alloc_grow(learner->alloc, (void **)&steps->all, &steps->capacity,
                       steps->count + 1, CPTI_MODEL_STEPS_MAX, sizeof *steps->all);

    if (status == CPT_LIMIT) {
        *number = CPTI_MODEL_NONE;
        return CPT_OK;
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(learner->alloc, (void **)&steps->counts,
                                &steps->counts_capacity, steps->count + 1,
                                CPTI_MODEL_STEPS_MAX, sizeof *steps->counts);
    }
    if (steps->counts_capacity > old) {
        memset(steps->counts + old, 0,
               (steps->counts_capacity - old) * sizeof *steps->counts);
    }
    if (status == CPT_OK && cpti_hash_index_is_full(&steps->index, steps->count, 2)) {
        status = cpti_hash_index_grow(&steps->index, learner->alloc, SLOTS_FIRST,
                                      steps->count, hash_step, learner);
    }
    if (status != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    steps->all[steps->count] = step;
    cpti_hash_index_put(&steps->index, hash_of_step(learner, step), steps->count);
    *number = (uint32_t)steps->count++;
    return CPT_OK;
}

cpt_status cpti_learner_step(struct cpti_model_learner *learner,
                             struct cpti_model_step step, uint32_t *number)
{
    const struct cpti_steps *steps = &learner->steps;
    size_t slot = 0;

    if (steps->index.slot_count == 0) {
        return add_step(learner, step, number);
    }
    slot = cpti_hash_index_first(&steps->index, hash_of_step(learner, step));
    while (steps->index.slots[slot] != 0) {
        const uint32_t found = steps->index.slots[slot] - 1;

        if (steps->all[found].from == step.from && steps->all[found].to == step.to) {
            *number = found;
            return CPT_OK;
        }
        slot = cpti_hash_index_next(&steps->index, slot);
    }
    return add_step(learner, step, number);
}

/* --- Behaviours --- */

static uint64_t hash_of_behaviour(const struct cpti_model_learner *learner,
                                  const struct cpti_model_behaviour *behaviour,
                                  const struct cpti_model_cell *cells)
{
    uint64_t hash =
        learner->hash_seed ^ ((uint64_t)behaviour->class << 32 | behaviour->level);

    for (uint32_t i = 0; i < behaviour->cell_count; i++) {
        hash = cpti_hash_mix(hash ^ ((uint64_t)cells[i].step << 32 | cells[i].count));
    }
    return hash;
}

static uint64_t hash_behaviour(const void *owner, size_t number)
{
    const struct cpti_model_learner *learner = owner;
    const struct cpti_model_behaviour *behaviour = &learner->steps.behaviours[number];

    return hash_of_behaviour(learner, behaviour,
                             &learner->steps.cells[behaviour->cell]);
}

/* The same behaviour among those that are there, or NULL. */
static struct cpti_model_behaviour *
find_behaviour(struct cpti_model_learner *learner,
               const struct cpti_model_behaviour *behaviour,
               const struct cpti_model_cell *cells)
{
    struct cpti_steps *steps = &learner->steps;
    const struct cpti_hash_index *index = &steps->behaviour_index;
    size_t slot = 0;

    if (index->slot_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(index, hash_of_behaviour(learner, behaviour, cells));
    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        struct cpti_model_behaviour *found = &steps->behaviours[index->slots[slot] - 1];

        if (found->class == behaviour->class && found->level == behaviour->level &&
            found->cell_count == behaviour->cell_count &&
            memcmp(&steps->cells[found->cell], cells,
                   found->cell_count * sizeof *cells) == 0) {
            return found;
        }
    }
    return NULL;
}

cpt_status cpti_learner_raise(struct cpti_model_learner *learner, uint32_t level)
{
    struct cpti_steps *steps = &learner->steps;
    size_t kept = 0;
    size_t cell = 0;

    if (level <= steps->level) {
        return CPT_OK;
    }
    for (size_t i = 0; i < steps->behaviour_count; i++) {
        struct cpti_model_behaviour behaviour = steps->behaviours[i];

        if (behaviour.level >= level) {
            memmove(&steps->cells[cell], &steps->cells[behaviour.cell],
                    behaviour.cell_count * sizeof *steps->cells);
            behaviour.cell = cell;
            cell += behaviour.cell_count;
            steps->behaviours[kept++] = behaviour;
        }
    }
    steps->level = level;
    steps->behaviour_count = kept;
    steps->cell_count = cell;
    cpti_hash_index_reset(&steps->behaviour_index);
    for (size_t i = 0; i < kept; i++) {
        cpti_hash_index_put(&steps->behaviour_index, hash_behaviour(learner, i), i);
    }
    return CPT_OK;
}

static cpt_status add_behaviour(struct cpti_model_learner *learner,
                                const struct cpti_model_behaviour *behaviour,
                                const struct cpti_model_cell *cells)
{
    struct cpti_steps *steps = &learner->steps;
    const struct cpt_alloc *alloc = learner->alloc;
    const size_t cell_count = steps->cell_count + behaviour->cell_count;
    cpt_status status =
        cpt_alloc_grow(alloc, (void **)&steps->cells, &steps->cell_capacity,
                       cell_count + 1, SIZE_MAX / 2, sizeof *steps->cells);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(alloc, (void **)&steps->behaviours,
                                &steps->behaviour_capacity, steps->behaviour_count + 1,
                                UINT32_MAX - 1, sizeof *steps->behaviours);
    }
    if (status == CPT_OK &&
        cpti_hash_index_is_full(&steps->behaviour_index, steps->behaviour_count, 2)) {
        status = cpti_hash_index_grow(&steps->behaviour_index, alloc, SLOTS_FIRST,
                                      steps->behaviour_count, hash_behaviour, learner);
    }
    if (status != CPT_OK) {
        return status;
    }
    memcpy(&steps->cells[steps->cell_count], cells,
           behaviour->cell_count * sizeof *cells);
    steps->behaviours[steps->behaviour_count] = *behaviour;
    steps->behaviours[steps->behaviour_count].cell = steps->cell_count;
    cpti_hash_index_put(&steps->behaviour_index,
                        hash_of_behaviour(learner, behaviour, cells),
                        steps->behaviour_count++);
    steps->cell_count += behaviour->cell_count;
    while (steps->cell_count > learner->options.cells_max &&
           steps->level < CPTI_MODEL_LEVEL_MAX) {
        (void)cpti_learner_raise(learner, steps->level + 1);
    }
    return CPT_OK;
}

cpt_status cpti_learner_behave(struct cpti_model_learner *learner,
                               const struct cpti_model_behaviour *behaviour,
                               const struct cpti_model_cell *cells)
{
    struct cpti_model_behaviour *found = NULL;

    if (behaviour->level < learner->steps.level) {
        return CPT_OK;
    }
    found = find_behaviour(learner, behaviour, cells);
    if (found != NULL) {
        found->requests += behaviour->requests;
        return CPT_OK;
    }
    return add_behaviour(learner, behaviour, cells);
}

/* --- Of a request --- */

/* Notes one more of a step. */
static cpt_status touch(struct cpti_model_learner *learner, uint32_t from, uint32_t to)
{
    struct cpti_steps *steps = &learner->steps;
    uint32_t number = 0;
    cpt_status status =
        cpti_learner_step(learner, (struct cpti_model_step){from, to}, &number);

    if (status != CPT_OK || number == CPTI_MODEL_NONE) {
        learner->dropped_steps += status == CPT_OK;
        return status;
    }
    if (steps->counts[number] == 0) {
        status = cpt_alloc_grow(learner->alloc, (void **)&steps->touched,
                                &steps->touched_capacity, steps->touched_count + 1,
                                SIZE_MAX / 2, sizeof *steps->touched);
        if (status != CPT_OK) {
            return status;
        }
        steps->touched[steps->touched_count++] = number;
    }
    steps->counts[number]++;
    return CPT_OK;
}

static cpt_status touch_all(struct cpti_model_learner *learner,
                            const struct cpti_block_request *request)
{
    const struct cpti_block_line *lines = &learner->block_lines[request->line];
    struct cpti_steps *steps = &learner->steps;
    cpt_status status = cpt_alloc_grow(
        learner->alloc, (void **)&steps->lasts, &steps->lasts_capacity,
        (size_t)request->unit_count + 1, SIZE_MAX / 2, sizeof *steps->lasts);

    if (status != CPT_OK) {
        return status;
    }
    memset(steps->lasts, 0, request->unit_count * sizeof *steps->lasts);
    for (uint32_t i = 0; i < request->line_count && status == CPT_OK; i++) {
        uint32_t *last = &steps->lasts[lines[i].unit];

        assert(lines[i].unit < request->unit_count);
        status = touch(learner, *last, lines[i].kind + 1);
        *last = lines[i].kind + 1;
    }
    for (uint32_t i = 0; i < request->unit_count && status == CPT_OK; i++) {
        if (steps->lasts[i] != 0) {
            status = touch(learner, steps->lasts[i], 0);
        }
    }
    return status;
}

static int by_number(const void *left, const void *right)
{
    return cpti_model_compare_numbers(*(const uint32_t *)left,
                                      *(const uint32_t *)right);
}

/* Puts the numbers in order: most requests have few. */
static void sort_numbers(uint32_t *numbers, size_t count)
{
    if (count > 64) {
        qsort(numbers, count, sizeof *numbers, by_number);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const uint32_t moved = numbers[i];
        size_t at = i;

        for (; at > 0 && numbers[at - 1] > moved; at--) {
            numbers[at] = numbers[at - 1];
        }
        numbers[at] = moved;
    }
}

cpt_status cpti_learner_step_lines(struct cpti_model_learner *learner, uint32_t class,
                                   const struct cpti_block_request *request)
{
    const struct cpt_bytes id = {learner->block_ids + request->id, request->id_bytes};
    struct cpti_steps *steps = &learner->steps;
    struct cpti_model_behaviour behaviour = {
        .class = class, .level = cpti_model_level(id), .requests = 1};
    struct cpti_model_cell *cells = NULL;
    cpt_status status = CPT_OK;

    if (behaviour.level < steps->level) {
        return CPT_OK;
    }
    status = touch_all(learner, request);
    cells =
        cpt_alloc_array(learner->alloc, NULL, steps->touched_count + 1, sizeof *cells);
    if (cells == NULL) {
        status = CPT_NO_MEMORY;
    }
    sort_numbers(steps->touched, steps->touched_count);
    for (size_t i = 0; i < steps->touched_count; i++) {
        const uint32_t number = steps->touched[i];

        if (cells != NULL) {
            cells[i] = (struct cpti_model_cell){number, steps->counts[number]};
        }
        steps->counts[number] = 0;
    }
    behaviour.cell_count = (uint32_t)steps->touched_count;
    steps->touched_count = 0;
    if (status == CPT_OK) {
        status = cpti_learner_behave(learner, &behaviour, cells);
    }
    cpt_alloc_free(learner->alloc, cells);
    return status;
}
