/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* nesting_decide.c - which kinds are universal and admissible; see nesting.h */
#include "import/events/nesting_inside.h"

enum {
    CLASS_REQUESTS_MIN = 50, /* of the finest ones; smaller ones are taken together */
    REFUTED_PART = 50,       /* 2 % may contradict */
    CROSSING_PART = 20,      /* 5 % */
    CROSSING_PRIOR = 10
};

/* Whether the service of @entry has another kind of entry. */
static bool has_many_entries(const struct cpti_nesting *nesting,
                             const struct nesting_class *class)
{
    for (size_t i = 0; i < nesting->class_count; i++) {
        if (nesting->classes[i].entry_service == class->entry_service &&
            nesting->classes[i].entry != class->entry) {
            return true;
        }
    }
    return false;
}

/* Whether half of the requests of @class, or more, have the kind that is the first one
 * of @other. */
static bool has_first_of(const struct cpti_nesting *nesting, uint32_t class_number,
                         const struct nesting_class *other)
{
    const struct nesting_pair *all =
        cpti_nesting_find(nesting, class_number, NESTING_ALL, other->other);

    return all != NULL &&
           2 * (uint64_t)all->within >= nesting->classes[class_number].requests;
}

/* Whether classes @a and @b are one: requests of both have the first kinds of both, so
 * these run beside each other; or both are small, or of a service that has several
 * kinds of entries. */
static bool are_one(const struct cpti_nesting *nesting, uint32_t a, uint32_t b)
{
    const struct nesting_class *first = &nesting->classes[a];
    const struct nesting_class *second = &nesting->classes[b];

    return first->entry == second->entry &&
           ((first->is_merged && second->is_merged) ||
            (has_first_of(nesting, a, second) && has_first_of(nesting, b, first)));
}

/* Takes classes together. */
static void merge_classes(struct cpti_nesting *nesting)
{
    for (uint32_t i = 0; i < nesting->class_count; i++) {
        struct nesting_class *class = &nesting->classes[i];

        class->final = i;
        class->is_merged =
            has_many_entries(nesting, class) || class->requests < CLASS_REQUESTS_MIN;
        for (uint32_t k = 0; k < i; k++) {
            if (are_one(nesting, k, i)) {
                class->final = nesting->classes[k].final;
                break;
            }
        }
        nesting->counts.classes += class->final == i;
    }
}

/* Adds the counts of pairs of classes that were taken together. */
static cpt_status merge_pairs(struct cpti_nesting *nesting)
{
    struct nesting_pair *pairs = nesting->pairs;
    const size_t count = nesting->pair_count;
    cpt_status status = CPT_OK;

    nesting->pairs = NULL;
    nesting->pair_count = 0;
    nesting->pair_capacity = 0;
    cpti_hash_index_reset(&nesting->pair_index);
    for (size_t i = 0; status == CPT_OK && i < count; i++) {
        struct nesting_pair *to = NULL;

        status = cpti_nesting_count_of(nesting,
                                       nesting->classes[pairs[i].class_number].final,
                                       pairs[i].outer, pairs[i].inner, &to);
        if (to != NULL) {
            to->service = pairs[i].service;
            to->within += pairs[i].within;
            to->inside += pairs[i].inside;
            to->crossing += pairs[i].crossing;
            to->around += pairs[i].around;
            to->wider += pairs[i].wider;
            to->fills += pairs[i].fills;
        }
    }
    cpt_alloc_free(nesting->alloc, pairs);
    return status;
}

static bool is_universal(const struct cpti_nesting *nesting,
                         const struct nesting_pair *pair)
{
    const struct nesting_pair *all =
        cpti_nesting_find(nesting, pair->class_number, NESTING_ALL, pair->inner);

    return all != NULL &&
           (uint64_t)(all->within - pair->within) * REFUTED_PART <= all->within;
}

/* @share is that of pairs that cross, in the class. */
static bool is_admissible(const struct nesting_pair *pair, double share)
{
    const double all = (double)pair->crossing + pair->inside;

    return pair->inside > 0 &&
           (pair->crossing + CROSSING_PRIOR * share) * CROSSING_PART <=
               all + CROSSING_PRIOR &&
           (double)pair->around * CROSSING_PART <= all + pair->around;
}

/* Whether nearly each instance of `outer` contains one of `inner`. */
static bool is_filled(const struct cpti_nesting *nesting,
                      const struct nesting_pair *pair)
{
    const struct nesting_pair *all =
        cpti_nesting_find(nesting, pair->class_number, NESTING_ALL, pair->outer);

    return all != NULL && pair->inside >= pair->around &&
           (uint64_t)(all->within - pair->fills) * REFUTED_PART <= all->within;
}

/* Adds up, for each class, how many pairs cross. */
static void share_crossing(struct cpti_nesting *nesting)
{
    for (size_t i = 0; i < nesting->pair_count; i++) {
        struct nesting_class *class = &nesting->classes[nesting->pairs[i].class_number];

        class->inside += nesting->pairs[i].inside;
        class->crossing += nesting->pairs[i].crossing;
    }
}

/* Of two kinds that are universal for each other, as stamps leave open, the one that is
 * the wider one more often remains so. Notes of the others which services have one. */
static void drop_mutual(struct cpti_nesting *nesting)
{
    for (size_t i = 0; i < nesting->pair_count; i++) {
        struct nesting_pair *pair = &nesting->pairs[i];
        const struct nesting_pair *other =
            pair->is_universal ? cpti_nesting_find(nesting, pair->class_number,
                                                   pair->inner, pair->outer)
                               : NULL;

        pair->is_mutual =
            other != NULL && other->is_universal && pair->wider > other->wider;
    }
    for (size_t i = 0; i < nesting->pair_count; i++) {
        struct nesting_pair *pair = &nesting->pairs[i];
        struct nesting_pair *whole = NULL;

        pair->is_universal &= !pair->is_mutual;
        if (pair->is_universal) {
            whole = cpti_nesting_find(nesting, pair->class_number,
                                      NESTING_SERVICE | pair->service, pair->inner);
        }
        if (whole != NULL) {
            whole->has_kind = true;
        }
    }
}

/* A pair of a kind and a service is universal if that of none of its kinds is. */
static void decide_services(struct cpti_nesting *nesting)
{
    for (size_t i = 0; i < nesting->pair_count; i++) {
        struct nesting_pair *pair = &nesting->pairs[i];

        if (pair->outer != NESTING_ALL && (pair->outer & NESTING_SERVICE) != 0) {
            pair->is_universal = !pair->has_kind && is_universal(nesting, pair);
        }
    }
}

/* How many kinds are universal for each. */
static void count_depths(struct cpti_nesting *nesting)
{
    for (size_t i = 0; i < nesting->pair_count; i++) {
        const struct nesting_pair *pair = &nesting->pairs[i];
        struct nesting_pair *all =
            cpti_nesting_find(nesting, pair->class_number, NESTING_ALL, pair->inner);

        if (all != NULL && pair->is_universal) {
            all->depth++;
        }
    }
}

/* Whether both numbers are one, but for 2 %. */
static bool is_about(uint32_t a, uint32_t b)
{
    return (uint64_t)(a > b ? a - b : b - a) * REFUTED_PART <= a;
}

/* Finds the kinds of which each instance of their deepest universal kind has one. */
static void find_singles(struct cpti_nesting *nesting)
{
    for (size_t i = 0; i < nesting->pair_count; i++) {
        const struct nesting_pair *pair = &nesting->pairs[i];
        struct nesting_pair *all =
            cpti_nesting_find(nesting, pair->class_number, NESTING_ALL, pair->inner);
        const struct nesting_pair *outer =
            cpti_nesting_find(nesting, pair->class_number, NESTING_ALL, pair->outer);

        /* the deepest one is a universal kind of all others */
        if (all != NULL && outer != NULL && pair->is_universal &&
            outer->depth + 1 == all->depth) {
            all->is_single = is_about(all->within, outer->within) &&
                             is_about(all->within, pair->inside);
        }
    }
}

cpt_status cpti_nesting_finish(struct cpti_nesting *nesting)
{
    cpt_status status;

    nesting->work = 0;
    merge_classes(nesting);
    status = merge_pairs(nesting);
    if (status != CPT_OK) {
        return status;
    }
    share_crossing(nesting);
    for (size_t i = 0; i < nesting->pair_count; i++) {
        struct nesting_pair *pair = &nesting->pairs[i];
        const struct nesting_class *class = &nesting->classes[pair->class_number];
        const double all = (double)class->crossing + (double)class->inside;

        if (pair->outer == NESTING_ALL || (pair->outer & NESTING_SERVICE) != 0) {
            continue;
        }
        pair->is_universal = is_universal(nesting, pair);
        pair->is_filled = is_filled(nesting, pair);
        pair->is_admissible =
            is_admissible(pair, all > 0 ? (double)class->crossing / all : 0);
    }
    drop_mutual(nesting);
    decide_services(nesting);
    count_depths(nesting);
    find_singles(nesting);
    return CPT_OK;
}
