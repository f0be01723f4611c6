/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_samples.c - whether chance makes the difference; see model_samples.h
 *
 * A *stratum* is a step in a class (or in all requests together). Of N requests there,
 * n are on the new side; X is the sum of their values and S² the variance:
 *
 *      U = X of the new side - n X / N        V = n (N - n) / N · S²
 *
 * z of a step is ΣU / √ΣV over its strata, which for one of them is the difference of
 * the means over its standard error. Only n and X of the new side change from deal to
 * deal. A deal draws the requests of the smaller side of each class, and adds up what
 * those of each behaviour have.
 */
#include "import/model/model_samples.h"

#include "cpt/base/hash_index.h"

#include <math.h>
#include <stdlib.h>

/* What two numbers may differ by that are the same. */
static const double rounding = 1e-9;

/* Cells that are added up in all rounds together. */
static const double work_max = 1e9;

/* A step in a class. */
struct stratum {
    uint32_t step;
    uint32_t group; /* its number among `groups` of the trial */
    double sum;     /* of all requests */
    double squares;
    double dealt; /* of the new side */
};

/* A group in a class. */
struct stratum_group {
    uint32_t group;
    uint32_t class;
    uint64_t count;
    uint64_t dealt;
    bool is_of_all; /* it counts for all requests of the class */
};

/* A value of a behaviour. */
struct value {
    uint32_t stratum;
    double share;
};

struct block {
    size_t request; /* the first one of `drawn` */
    size_t count;
    size_t side_count; /* of the side that is dealt */
};

struct trial {
    const struct cpti_samples *samples;
    bool by_class;
    unsigned side; /* that is dealt: the smaller one */
    uint64_t random;
    struct stratum *strata; /* by step, then class */
    size_t stratum_count;
    struct stratum_group *groups; /* by group, then class */
    size_t group_count;
    struct value *values; /* by behaviour: as its cells */
    uint32_t *own_groups; /* the same: of each cell; only its group's first one */
    uint32_t *drawn;      /* a behaviour for each request, by class */
    struct block *blocks;
    size_t block_count;
    uint64_t *taken; /* by behaviour */
    double *u;       /* by step */
    double *v;
};

/* --- Building --- */

static uint32_t class_of(const struct trial *trial,
                         const struct cpti_sample_behaviour *behaviour)
{
    return trial->by_class ? behaviour->class : 0;
}

/* The key of a step, or a group, in a class. */
static uint64_t key_of(uint32_t number, uint32_t class)
{
    return (uint64_t)number << 32 | class;
}

static int by_key(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts @keys and leaves each once. */
static size_t sort_keys(uint64_t *keys, size_t count)
{
    size_t kept = 0;

    if (count > 1) {
        qsort(keys, count, sizeof *keys, by_key);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || keys[kept - 1] != keys[i]) {
            keys[kept++] = keys[i];
        }
    }
    return kept;
}

static uint32_t find_key(const uint64_t *keys, size_t count, uint64_t key)
{
    size_t low = 0;

    while (count > 1) {
        const size_t half = count / 2;

        low = keys[low + half] <= key ? low + half : low;
        count -= half;
    }
    return (uint32_t)low;
}

/* All strata, or groups in classes, as sorted keys. */
static cpt_status list_keys(const struct trial *trial, bool of_groups, uint64_t **keys,
                            size_t *count)
{
    const struct cpti_samples *samples = trial->samples;

    *keys =
        cpt_alloc_array(samples->alloc, NULL, samples->cell_count + 1, sizeof **keys);
    if (*keys == NULL) {
        return CPT_NO_MEMORY;
    }
    *count = 0;
    for (size_t i = 0; i < samples->behaviour_count; i++) {
        const struct cpti_sample_behaviour *behaviour = &samples->behaviours[i];

        for (uint32_t k = 0; k < behaviour->cell_count; k++) {
            const uint32_t step = samples->cells[behaviour->cell + k].step;

            (*keys)[(*count)++] = key_of(of_groups ? samples->groups[step] : step,
                                         class_of(trial, behaviour));
        }
    }
    *count = sort_keys(*keys, *count);
    return CPT_OK;
}

static cpt_status make_groups(struct trial *trial, const uint64_t *keys, size_t count)
{
    const struct cpti_samples *samples = trial->samples;

    trial->groups =
        cpt_alloc_zeroed(samples->alloc, (count + 1) * sizeof *trial->groups);
    if (trial->groups == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        trial->groups[i].group = (uint32_t)(keys[i] >> 32);
        trial->groups[i].class = (uint32_t)keys[i];
    }
    trial->group_count = count;
    return CPT_OK;
}

static cpt_status make_strata(struct trial *trial, const uint64_t *keys, size_t count,
                              const uint64_t *group_keys)
{
    const struct cpti_samples *samples = trial->samples;

    trial->strata =
        cpt_alloc_zeroed(samples->alloc, (count + 1) * sizeof *trial->strata);
    if (trial->strata == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t step = (uint32_t)(keys[i] >> 32);
        const uint64_t key = key_of(samples->groups[step], (uint32_t)keys[i]);
        struct stratum *stratum = &trial->strata[i];

        stratum->step = step;
        stratum->group = find_key(group_keys, trial->group_count, key);
        if (trial->by_class && samples->joint->steps[step].from == 0) {
            trial->groups[stratum->group].is_of_all = true;
        }
    }
    trial->stratum_count = count;
    return CPT_OK;
}

/* Adds the values of cells @from to @end of @behaviour, which are of one group. */
static void add_values(struct trial *trial,
                       const struct cpti_sample_behaviour *behaviour, size_t from,
                       size_t end, const uint64_t *keys)
{
    const struct cpti_model_cell *cells = trial->samples->cells;
    uint64_t total = 0;

    for (size_t i = from; i < end; i++) {
        total += cells[i].count;
    }
    for (size_t i = from; i < end; i++) {
        const double share = (double)cells[i].count / (double)total;
        const uint32_t number =
            find_key(keys, trial->stratum_count,
                     key_of(cells[i].step, class_of(trial, behaviour)));
        struct stratum *stratum = &trial->strata[number];

        trial->values[i] = (struct value){number, share};
        trial->own_groups[i] = i == from ? stratum->group : CPTI_MODEL_NONE;
        stratum->sum += behaviour->requests * share;
        stratum->squares += behaviour->requests * share * share;
    }
    trial->groups[trial->own_groups[from]].count += behaviour->requests;
}

/* The same of all groups of @behaviour: steps of a group follow each other. */
static void add_behaviour(struct trial *trial,
                          const struct cpti_sample_behaviour *behaviour,
                          const uint64_t *keys)
{
    const struct cpti_samples *samples = trial->samples;
    const size_t end = behaviour->cell + behaviour->cell_count;
    size_t from = behaviour->cell;

    for (size_t i = from + 1; i <= end; i++) {
        if (i == end || samples->groups[samples->cells[i].step] !=
                            samples->groups[samples->cells[from].step]) {
            add_values(trial, behaviour, from, i, keys);
            from = i;
        }
    }
}

static cpt_status make_values(struct trial *trial, const uint64_t *keys)
{
    const struct cpti_samples *samples = trial->samples;
    const size_t count = samples->cell_count + 1;

    trial->values = cpt_alloc_array(samples->alloc, NULL, count, sizeof *trial->values);
    trial->own_groups =
        cpt_alloc_array(samples->alloc, NULL, count, sizeof *trial->own_groups);
    if (trial->values == NULL || trial->own_groups == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < samples->behaviour_count; i++) {
        add_behaviour(trial, &samples->behaviours[i], keys);
    }
    return CPT_OK;
}

/* Lists the requests by class, and those of the side that is dealt. */
static cpt_status make_blocks(struct trial *trial)
{
    const struct cpti_samples *samples = trial->samples;
    const size_t class_count = trial->by_class ? samples->class_count : 1;
    size_t count = 0;

    trial->blocks =
        cpt_alloc_zeroed(samples->alloc, (class_count + 1) * sizeof *trial->blocks);
    trial->taken = cpt_alloc_zeroed(samples->alloc, (samples->behaviour_count + 1) *
                                                        sizeof *trial->taken);
    if (trial->blocks == NULL || trial->taken == NULL) {
        return CPT_NO_MEMORY;
    }
    trial->block_count = class_count;
    for (size_t i = 0; i < samples->behaviour_count; i++) {
        const struct cpti_sample_behaviour *behaviour = &samples->behaviours[i];
        struct block *block = &trial->blocks[class_of(trial, behaviour)];

        block->side_count += behaviour->side == trial->side ? behaviour->requests : 0;
        block->count += behaviour->requests;
        count += behaviour->requests;
    }
    trial->drawn =
        cpt_alloc_array(samples->alloc, NULL, count + 1, sizeof *trial->drawn);
    if (trial->drawn == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 1; i < class_count; i++) {
        trial->blocks[i].request =
            trial->blocks[i - 1].request + trial->blocks[i - 1].count;
    }
    for (size_t i = 0; i < samples->behaviour_count; i++) {
        struct block *block = &trial->blocks[class_of(trial, &samples->behaviours[i])];

        for (uint32_t k = 0; k < samples->behaviours[i].requests; k++) {
            trial->drawn[block->request++] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < class_count; i++) {
        trial->blocks[i].request -= trial->blocks[i].count;
    }
    return CPT_OK;
}

/* Groups that count for all requests of their class do so. */
static void count_all(struct trial *trial)
{
    for (size_t i = 0; i < trial->group_count; i++) {
        struct stratum_group *group = &trial->groups[i];

        if (group->is_of_all) {
            group->count = trial->blocks[group->class].count;
        }
    }
}

static unsigned smaller_side(const struct cpti_samples *samples)
{
    uint64_t counts[2] = {0, 0};

    for (size_t i = 0; i < samples->behaviour_count; i++) {
        counts[samples->behaviours[i].side] += samples->behaviours[i].requests;
    }
    return counts[1] <= counts[0] ? 1 : 0;
}

static cpt_status make_trial(struct trial *trial)
{
    const struct cpt_alloc *alloc = trial->samples->alloc;
    const size_t step_count = trial->samples->joint->step_count + 1;
    uint64_t *group_keys = NULL;
    uint64_t *keys = NULL;
    size_t group_count = 0;
    size_t count = 0;
    cpt_status status = list_keys(trial, true, &group_keys, &group_count);

    trial->side = smaller_side(trial->samples);
    trial->u = cpt_alloc_array(alloc, NULL, step_count, sizeof *trial->u);
    trial->v = cpt_alloc_array(alloc, NULL, step_count, sizeof *trial->v);
    if (trial->u == NULL || trial->v == NULL) {
        status = CPT_NO_MEMORY;
    }
    if (status == CPT_OK) {
        status = list_keys(trial, false, &keys, &count);
    }
    if (status == CPT_OK) {
        status = make_groups(trial, group_keys, group_count);
    }
    if (status == CPT_OK) {
        status = make_strata(trial, keys, count, group_keys);
    }
    if (status == CPT_OK) {
        status = make_values(trial, keys);
    }
    if (status == CPT_OK) {
        status = make_blocks(trial);
    }
    if (status == CPT_OK) {
        count_all(trial);
    }
    cpt_alloc_free(alloc, group_keys);
    cpt_alloc_free(alloc, keys);
    return status;
}

static void trial_deinit(struct trial *trial)
{
    const struct cpt_alloc *alloc = trial->samples->alloc;

    cpt_alloc_free(alloc, trial->strata);
    cpt_alloc_free(alloc, trial->groups);
    cpt_alloc_free(alloc, trial->values);
    cpt_alloc_free(alloc, trial->own_groups);
    cpt_alloc_free(alloc, trial->drawn);
    cpt_alloc_free(alloc, trial->blocks);
    cpt_alloc_free(alloc, trial->taken);
    cpt_alloc_free(alloc, trial->u);
    cpt_alloc_free(alloc, trial->v);
}

/* --- Dealing --- */

/* The next number of splitmix64, below @limit. */
static size_t random_below(uint64_t *state, size_t limit)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(((wide)(x ^ x >> 31) * limit) >> 64);
}

/* Draws as many requests of each block as the dealt side has. */
static void deal(struct trial *trial)
{
    memset(trial->taken, 0, trial->samples->behaviour_count * sizeof *trial->taken);
    for (size_t i = 0; i < trial->block_count; i++) {
        const struct block *block = &trial->blocks[i];
        uint32_t *drawn = &trial->drawn[block->request];

        for (size_t k = 0; k < block->side_count; k++) {
            const size_t other = k + random_below(&trial->random, block->count - k);
            const uint32_t behaviour = drawn[other];

            drawn[other] = drawn[k];
            drawn[k] = behaviour;
            trial->taken[behaviour]++;
        }
    }
}

/* The side as it is. */
static void take_side(struct trial *trial)
{
    for (size_t i = 0; i < trial->samples->behaviour_count; i++) {
        const struct cpti_sample_behaviour *behaviour = &trial->samples->behaviours[i];

        trial->taken[i] = behaviour->side == trial->side ? behaviour->requests : 0;
    }
}

/* Adds up the values of the requests that were taken. */
static void add_up(struct trial *trial)
{
    const struct cpti_samples *samples = trial->samples;

    for (size_t i = 0; i < trial->group_count; i++) {
        struct stratum_group *group = &trial->groups[i];

        group->dealt = group->is_of_all ? trial->blocks[group->class].side_count : 0;
    }
    for (size_t i = 0; i < trial->stratum_count; i++) {
        trial->strata[i].dealt = 0;
    }
    for (size_t i = 0; i < samples->behaviour_count; i++) {
        const struct cpti_sample_behaviour *behaviour = &samples->behaviours[i];
        const double taken = (double)trial->taken[i];
        const size_t end = behaviour->cell + behaviour->cell_count;

        for (size_t k = behaviour->cell; k < end && trial->taken[i] != 0; k++) {
            const uint32_t own = trial->own_groups[k];

            trial->strata[trial->values[k].stratum].dealt +=
                taken * trial->values[k].share;
            if (own != CPTI_MODEL_NONE && !trial->groups[own].is_of_all) {
                trial->groups[own].dealt += trial->taken[i];
            }
        }
    }
}

/* U and V of each step. */
static void find_u(struct trial *trial)
{
    const size_t step_count = trial->samples->joint->step_count;

    memset(trial->u, 0, step_count * sizeof *trial->u);
    memset(trial->v, 0, step_count * sizeof *trial->v);
    for (size_t i = 0; i < trial->stratum_count; i++) {
        const struct stratum *stratum = &trial->strata[i];
        const struct stratum_group *group = &trial->groups[stratum->group];
        const double all = (double)group->count;
        const double dealt = (double)group->dealt;
        const double squares = stratum->squares - stratum->sum * stratum->sum / all;

        if (group->dealt == 0 || group->dealt == group->count || squares <= rounding) {
            continue;
        }
        trial->u[stratum->step] += stratum->dealt - dealt * stratum->sum / all;
        trial->v[stratum->step] += dealt * (all - dealt) / all * squares / (all - 1);
    }
}

static double z_of(const struct trial *trial, size_t step)
{
    const double sign = trial->side == 1 ? 1 : -1;

    return trial->v[step] > 0 ? sign * trial->u[step] / sqrt(trial->v[step]) : 0;
}

static double largest_z(const struct trial *trial)
{
    double largest = 0;

    for (size_t i = 0; i < trial->samples->joint->step_count; i++) {
        largest = fmax(largest, fabs(z_of(trial, i)));
    }
    return largest;
}

/* --- Results --- */

static cpt_status make_result(const struct trial *trial,
                              struct cpti_sample_result *result)
{
    const struct cpti_samples *samples = trial->samples;
    const struct cpt_alloc *alloc = samples->alloc;
    const size_t steps = samples->joint->step_count + 1;
    const size_t groups = samples->group_count + 1;

    result->z = cpt_alloc_zeroed(alloc, steps * sizeof *result->z);
    result->is_compared = cpt_alloc_zeroed(alloc, groups * sizeof(bool));
    result->largest =
        cpt_alloc_zeroed(alloc, CPTI_CHANGES_ROUNDS * sizeof *result->largest);
    for (unsigned i = 0; i < 2; i++) {
        result->sums[i] = cpt_alloc_zeroed(alloc, steps * sizeof **result->sums);
        result->counts[i] = cpt_alloc_zeroed(alloc, groups * sizeof **result->counts);
    }
    return result->z != NULL && result->is_compared != NULL &&
                   result->largest != NULL && result->sums[0] != NULL &&
                   result->sums[1] != NULL && result->counts[0] != NULL &&
                   result->counts[1] != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

void cpti_sample_result_deinit(const struct cpt_alloc *alloc,
                               struct cpti_sample_result *result)
{
    cpt_alloc_free(alloc, result->z);
    cpt_alloc_free(alloc, result->is_compared);
    cpt_alloc_free(alloc, result->largest);
    for (unsigned i = 0; i < 2; i++) {
        cpt_alloc_free(alloc, result->sums[i]);
        cpt_alloc_free(alloc, result->counts[i]);
    }
}

/* What the sides have as they are. */
static void read_sides(struct trial *trial, struct cpti_sample_result *result)
{
    const unsigned side = trial->side;

    take_side(trial);
    add_up(trial);
    find_u(trial);
    for (size_t i = 0; i < trial->samples->joint->step_count; i++) {
        result->z[i] = z_of(trial, i);
    }
    for (size_t i = 0; i < trial->stratum_count; i++) {
        const struct stratum *stratum = &trial->strata[i];

        result->sums[side][stratum->step] += stratum->dealt;
        result->sums[1 - side][stratum->step] += stratum->sum - stratum->dealt;
    }
    for (size_t i = 0; i < trial->group_count; i++) {
        const struct stratum_group *group = &trial->groups[i];

        result->counts[side][group->group] += group->dealt;
        result->counts[1 - side][group->group] += group->count - group->dealt;
        result->is_compared[group->group] |=
            group->dealt != 0 && group->dealt != group->count;
    }
}

/* As many rounds as the work allows. */
static unsigned rounds_of(const struct trial *trial)
{
    double work = 1 + (double)trial->samples->cell_count + (double)trial->stratum_count;
    double rounds = 0;

    for (size_t i = 0; i < trial->block_count; i++) {
        work += (double)trial->blocks[i].side_count;
    }
    rounds = work_max / work;

    return rounds > CPTI_CHANGES_ROUNDS       ? CPTI_CHANGES_ROUNDS
           : rounds > CPTI_CHANGES_ROUNDS_MIN ? (unsigned)rounds
                                              : CPTI_CHANGES_ROUNDS_MIN;
}

cpt_status cpti_samples_compare(const struct cpti_samples *samples, bool by_class,
                                uint64_t seed, struct cpti_sample_result *result)
{
    struct trial trial = {.samples = samples, .by_class = by_class, .random = seed};
    cpt_status status = make_trial(&trial);

    *result = (struct cpti_sample_result){0};
    if (status == CPT_OK) {
        status = make_result(&trial, result);
    }
    if (status == CPT_OK) {
        read_sides(&trial, result);
        result->rounds = rounds_of(&trial);
        for (unsigned i = 0; i < result->rounds; i++) {
            deal(&trial);
            add_up(&trial);
            find_u(&trial);
            result->largest[i] = largest_z(&trial);
        }
    }
    trial_deinit(&trial);
    return status;
}

double cpti_sample_p(const struct cpti_sample_result *result, double z)
{
    unsigned count = 1;

    for (unsigned i = 0; i < result->rounds; i++) {
        count += result->largest[i] >= fabs(z) * (1 - rounding);
    }
    return count / (result->rounds + 1.0);
}
