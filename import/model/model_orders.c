/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * model_orders.c - kinds that are new or gone, and relations that changed
 *
 * Chance is that of Fisher's test: of k cases among all requests of both sides, how
 * likely it is that as few or as many of them are on one side; times the number of
 * tests that were made.
 */
#include "import/model/model_changes_inside.h"
#include "import/model/model_inside.h"

#include <math.h>
#include <stdlib.h>

static const double p_told = 0.05;

/* ln of n over k. */
static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/*
 * The chance that of @cases[0] + @cases[1] cases at least as many as there are fall on
 * side @side, if they are dealt to @all[0] and @all[1] requests.
 */
static double tail(const uint32_t cases[2], const uint32_t all[2], unsigned side)
{
    const uint64_t k = (uint64_t)cases[0] + cases[1];
    const uint64_t most = k < all[side] ? k : all[side];
    const double total = log_choose((double)all[0] + all[1], (double)k);
    double sum = 0;

    for (uint64_t i = cases[side]; i <= most; i++) {
        const double others = (double)(k - i);
        double term = 0;

        if (others > all[1 - side]) {
            continue;
        }
        term = exp(log_choose(all[side], (double)i) +
                   log_choose(all[1 - side], others) - total);
        sum += term;
        if (term < sum * 1e-12) {
            break;
        }
    }
    return sum < 1 ? sum : 1;
}

static double times(double p, size_t tests)
{
    return fmin(1, p * (double)tests);
}

/* --- Kinds --- */

static int by_kind_rank(const void *left, const void *right)
{
    const struct cpti_model_kind_change *a = left;
    const struct cpti_model_kind_change *b = right;

    if (a->p != b->p) {
        return a->p < b->p ? -1 : 1;
    }
    return cpti_model_compare_numbers(a->kind, b->kind);
}

/* Requests of each side that have each kind, in @counts, two by two. */
static void count_kinds(const struct cpti_samples *samples, uint32_t *counts)
{
    const struct cpti_model_step *steps = samples->joint->steps;

    for (size_t i = 0; i < samples->behaviour_count; i++) {
        const struct cpti_sample_behaviour *behaviour = &samples->behaviours[i];
        const struct cpti_model_cell *cells = &samples->cells[behaviour->cell];
        uint32_t last = 0;

        /* Each event is that which a step is from, once: steps are in that order. */
        for (uint32_t k = 0; k < behaviour->cell_count; k++) {
            const uint32_t from = steps[cells[k].step].from;

            if (from != 0 && from != last) {
                counts[2 * (size_t)(from - 1) + behaviour->side] += behaviour->requests;
                last = from;
            }
        }
    }
}

cpt_status cpti_changes_of_kinds(struct cpti_comparing *comparing,
                                 const struct cpti_samples *samples)
{
    struct cpti_model_changes *changes = comparing->changes;
    const size_t kind_count = changes->joint->kind_count;
    uint32_t *counts =
        cpt_alloc_zeroed(comparing->alloc, (2 * kind_count + 1) * sizeof *counts);
    const uint32_t all[2] = {(uint32_t)changes->requests[0],
                             (uint32_t)changes->requests[1]};

    changes->kinds =
        cpt_alloc_array(comparing->alloc, NULL, kind_count + 1, sizeof *changes->kinds);
    if (counts == NULL || changes->kinds == NULL) {
        cpt_alloc_free(comparing->alloc, counts);
        return CPT_NO_MEMORY;
    }
    count_kinds(samples, counts);
    for (uint32_t i = 0; i < kind_count; i++) {
        const uint32_t *both = &counts[2 * (size_t)i];

        if ((both[0] == 0) != (both[1] == 0)) {
            changes->kinds[changes->kind_count++] = (struct cpti_model_kind_change){
                .kind = i,
                .requests = {both[0], both[1]},
                .p = times(tail(both, all, both[1] != 0), kind_count)};
        }
    }
    if (changes->kind_count > 1) {
        qsort(changes->kinds, changes->kind_count, sizeof *changes->kinds,
              by_kind_rank);
    }
    cpt_alloc_free(comparing->alloc, counts);
    return CPT_OK;
}

/* --- Relations --- */

static int by_order_rank(const void *left, const void *right)
{
    const struct cpti_model_order_change *a = left;
    const struct cpti_model_order_change *b = right;

    if (a->p != b->p) {
        return a->p < b->p ? -1 : 1;
    }
    if (a->class != b->class) {
        return cpti_model_compare_numbers(a->class, b->class);
    }
    return a->low != b->low ? cpti_model_compare_numbers(a->low, b->low)
                            : cpti_model_compare_numbers(a->high, b->high);
}

/* Place @place of @from, a class of a side, in the class @to of the joint model;
 * CPTI_MODEL_NONE: that has left it out. */
static uint32_t joint_place(const struct cpti_comparing *comparing, unsigned side,
                            const struct cpti_model_class *from,
                            const struct cpti_model_class *to, uint32_t place)
{
    const struct cpti_model_place *given =
        &comparing->sides[side]->places[from->place + place];
    const struct cpti_model_place *places =
        &comparing->changes->joint->places[to->place];
    const uint32_t kind = comparing->kinds[side][given->kind];
    uint32_t low = 0;

    for (uint32_t count = to->place_count; count > 1;) {
        const uint32_t half = count / 2;
        const struct cpti_model_place *middle = &places[low + half];

        if (middle->kind < kind ||
            (middle->kind == kind && middle->turn <= given->turn)) {
            low += half;
        }
        count -= half;
    }
    return to->place_count > 0 && places[low].kind == kind &&
                   places[low].turn == given->turn
               ? low
               : CPTI_MODEL_NONE;
}

/* The pair of places @low and @high of @class, which may lack it: NULL. */
static const struct cpti_model_pair *find_pair(const struct cpti_model *model,
                                               const struct cpti_model_class *class,
                                               uint32_t low, uint32_t high)
{
    size_t from = class->pair;
    size_t end = class->pair + class->pair_count;

    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        const struct cpti_model_pair *pair = &model->pairs[middle];

        if (pair->low == low && pair->high == high) {
            return pair;
        }
        if (pair->low < low || (pair->low == low && pair->high < high)) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return NULL;
}

static bool is_order(enum cpti_model_relation kind)
{
    return kind == CPTI_MODEL_BEFORE || kind == CPTI_MODEL_AFTER;
}

/* Both sides of a class of the joint model, and its places in each of them. */
struct class_sides {
    uint32_t class; /* of the joint model */
    const struct cpti_model_class *sides[2];
    uint32_t *places; /* of the new side, by place of the joint one; or NONE */
    const struct cpti_model_rule *rule;
};

/* Compares @pair of the base side with the one of the new side. */
static bool compare_pair(const struct cpti_comparing *comparing,
                         const struct class_sides *sides,
                         const struct cpti_model_pair *pair,
                         struct cpti_model_order_change *change)
{
    const struct cpti_model *joint = comparing->changes->joint;
    const struct cpti_model_class *class = &joint->classes[sides->class];
    const uint32_t low = joint_place(comparing, 0, sides->sides[0], class, pair->low);
    const uint32_t high = joint_place(comparing, 0, sides->sides[0], class, pair->high);
    const uint32_t new_low =
        low != CPTI_MODEL_NONE ? sides->places[low] : CPTI_MODEL_NONE;
    const uint32_t new_high =
        high != CPTI_MODEL_NONE ? sides->places[high] : CPTI_MODEL_NONE;
    const struct cpti_model_pair *other =
        new_low != CPTI_MODEL_NONE && new_high != CPTI_MODEL_NONE
            ? find_pair(comparing->sides[1], sides->sides[1], new_low, new_high)
            : NULL;
    const struct cpti_model_pair *joint_pair =
        other != NULL ? find_pair(joint, class, low, high) : NULL;
    enum cpti_model_relation was = CPTI_MODEL_RARE;
    enum cpti_model_relation now = CPTI_MODEL_RARE;
    unsigned at = 0;

    if (joint_pair == NULL) {
        return false;
    }
    was =
        cpti_model_relation_of(comparing->sides[0], sides->sides[0], pair, sides->rule);
    now = cpti_model_relation_of(comparing->sides[1], sides->sides[1], other,
                                 sides->rule);
    if (was == now || was == CPTI_MODEL_RARE || now == CPTI_MODEL_RARE ||
        (!is_order(was) && !is_order(now))) {
        return false;
    }
    at = (is_order(was) ? was : now) == CPTI_MODEL_AFTER;
    *change = (struct cpti_model_order_change){
        .class = sides->class,
        .low = low,
        .high = high,
        .was = was,
        .now = now,
        .both = {pair->both, other->both},
        .refuted = {pair->refuted[at], other->refuted[at]},
        .witness = joint_pair->witness[at]};
    return true;
}

static cpt_status compare_class(struct cpti_comparing *comparing,
                                const struct class_sides *sides, size_t *capacity,
                                size_t *tests)
{
    struct cpti_model_changes *changes = comparing->changes;
    const struct cpti_model_class *base = sides->sides[0];
    cpt_status status = CPT_OK;

    *tests += base->pair_count;
    for (size_t i = 0; i < base->pair_count && status == CPT_OK; i++) {
        struct cpti_model_order_change change;

        if (!compare_pair(comparing, sides, &comparing->sides[0]->pairs[base->pair + i],
                          &change)) {
            continue;
        }
        change.p = tail(change.refuted, change.both, is_order(change.was) ? 1 : 0);
        if (change.p >= p_told) {
            continue;
        }
        status = cpt_alloc_grow(comparing->alloc, (void **)&changes->orders, capacity,
                                changes->order_count + 1, SIZE_MAX / 2, sizeof change);
        if (status == CPT_OK) {
            changes->orders[changes->order_count++] = change;
        }
    }
    return status;
}

/* The class of a side that is class @number of the joint model, or NULL. */
static const struct cpti_model_class *side_of(const struct cpti_comparing *comparing,
                                              unsigned side, uint32_t number)
{
    const struct cpti_model *model = comparing->sides[side];

    for (size_t i = 0; i < model->class_count; i++) {
        if (comparing->classes[side][i] == number) {
            return &model->classes[i];
        }
    }
    return NULL;
}

static cpt_status compare_classes(struct cpti_comparing *comparing,
                                  struct class_sides *sides, size_t *tests)
{
    const struct cpti_model *joint = comparing->changes->joint;
    size_t capacity = 0;
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < joint->class_count && status == CPT_OK; i++) {
        const struct cpti_model_class *class = &joint->classes[i];

        sides->class = i;
        sides->sides[0] = side_of(comparing, 0, i);
        sides->sides[1] = side_of(comparing, 1, i);
        if (sides->sides[0] == NULL || sides->sides[1] == NULL) {
            continue;
        }
        memset(sides->places, 0xff, class->place_count * sizeof *sides->places);
        for (uint32_t k = 0; k < sides->sides[1]->place_count; k++) {
            const uint32_t place = joint_place(comparing, 1, sides->sides[1], class, k);

            if (place != CPTI_MODEL_NONE) {
                sides->places[place] = k;
            }
        }
        status = compare_class(comparing, sides, &capacity, tests);
    }
    return status;
}

cpt_status cpti_changes_of_orders(struct cpti_comparing *comparing,
                                  const struct cpti_model_rule *rule)
{
    struct cpti_model_changes *changes = comparing->changes;
    struct class_sides sides = {
        .rule = rule,
        .places = cpt_alloc_array(comparing->alloc, NULL,
                                  changes->joint->place_count + 1, sizeof(uint32_t))};
    size_t tests = 0;
    size_t kept = 0;
    cpt_status status = sides.places != NULL
                            ? compare_classes(comparing, &sides, &tests)
                            : CPT_NO_MEMORY;

    for (size_t i = 0; i < changes->order_count; i++) {
        struct cpti_model_order_change change = changes->orders[i];

        change.p = times(change.p, tests);
        if (change.p < p_told) {
            changes->orders[kept++] = change;
        }
    }
    changes->order_count = kept;
    if (kept > 1) {
        qsort(changes->orders, kept, sizeof *changes->orders, by_order_rank);
    }
    cpt_alloc_free(comparing->alloc, sides.places);
    return status;
}
