/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_structure_deal.c - which differences chance does not make; see
 * culprit_structure.h
 *
 *      requests --> units, by entry operation --> T of each row --> permutation --> p
 *
 * U is a sum over requests, so that a permutation costs the cells of the smaller set.
 * If chance exceeds the largest T too often, nothing will be told, and it ends: where
 * nothing changed, after few rounds.
 */
#include "tool/culprit/culprit_parts.h"
#include "tool/culprit/culprit_structure_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What two sums may differ by that are the same. */
static const double rounding = 1e-9;

/* Cells that are added up in all rounds together. */
static const double work_max = 3e7;

/* Calls, order, failures. */
enum { FAMILIES = 3 };

/* --- Sums --- */

static size_t cells_from(const struct cpti_structure_set *set, size_t request)
{
    return request > 0 ? set->requests[request - 1].end : 0;
}

static void add_request(const struct cpti_structure_set *set, size_t request,
                        uint64_t *sums)
{
    for (size_t i = cells_from(set, request); i < set->requests[request].end; i++) {
        sums[set->cells[i].part] += set->cells[i].count;
    }
}

static void add_unit(const struct cpti_structure_judging *judging,
                     struct cpti_structure_unit unit, uint64_t *sums)
{
    const struct cpti_culprit_groups *groups = &judging->groups[unit.set];
    const struct cpti_culprit_group *group = &groups->groups[unit.group];

    for (size_t i = group->from; i < group->end; i++) {
        add_request(&judging->structure->sets[unit.set], groups->orders[i], sums);
    }
}

/* U of a row, of the set whose sums are `sums`. */
static double u_of(const struct cpti_structure_judging *judging,
                   const struct cpti_structure_tested *tested, const uint64_t *sums)
{
    double u = 0;

    for (uint32_t i = tested->from; i < tested->end; i++) {
        const struct cpti_structure_stratum *stratum = &judging->strata[i];

        u += (double)sums[stratum->cases] -
             stratum->rate * (double)sums[stratum->visits];
    }
    return u;
}

/* --- What is dealt --- */

/* The entry operation of a request; clusters are of all. */
static uint32_t block_of(const struct cpti_structure_judging *judging,
                         struct cpti_structure_unit unit)
{
    const struct cpti_culprit_groups *groups = &judging->groups[unit.set];
    const size_t request = groups->orders[groups->groups[unit.group].from];

    return judging->has_clusters
               ? 0
               : judging->structure->sets[unit.set].requests[request].entry;
}

static int compare_units(const void *left, const void *right, void *context)
{
    const struct cpti_structure_judging *judging = context;
    const struct cpti_structure_unit *a = left;
    const struct cpti_structure_unit *b = right;
    int order = cpti_structure_compare(block_of(judging, *a), block_of(judging, *b));

    order = order != 0 ? order : cpti_structure_compare(a->set, b->set);
    return order != 0 ? order : cpti_structure_compare(a->group, b->group);
}

/* Lists what is dealt, by block; and the clusters of the smaller set that are in the
 * other one, too, and change sides with these or do not. */
static void find_units(struct cpti_structure_judging *judging)
{
    judging->smaller = judging->groups[1].count < judging->groups[0].count ? 1 : 0;
    for (unsigned i = 0; i < 2; i++) {
        for (size_t k = 0; k < judging->groups[i].count; k++) {
            const struct cpti_structure_unit unit = {.group = (uint32_t)k, .set = i};

            if (judging->groups[i].groups[k].partner == SIZE_MAX) {
                judging->units[judging->unit_count++] = unit;
            } else if (i == judging->smaller) {
                judging->paired[judging->paired_count++] = unit;
            }
        }
    }
    if (judging->unit_count > 1) {
        qsort_r(judging->units, judging->unit_count, sizeof *judging->units,
                compare_units, judging);
    }
    for (size_t i = 0; i < judging->unit_count; i++) {
        const struct cpti_structure_unit *unit = &judging->units[i];
        struct cpti_structure_block *last;

        if (i == 0 || block_of(judging, *unit) != block_of(judging, unit[-1])) {
            judging->blocks[judging->block_count++] =
                (struct cpti_structure_block){.from = i};
        }
        last = &judging->blocks[judging->block_count - 1];
        last->end = i + 1;
        last->drawn += unit->set == judging->smaller;
    }
}

/* Adds e² of @unit to the scales of rows, times @factor. */
static void add_squares(struct cpti_structure_judging *judging,
                        struct cpti_structure_unit unit, double factor)
{
    const struct cpti_culprit_groups *groups = &judging->groups[unit.set];
    const struct cpti_culprit_group *group = &groups->groups[unit.group];
    const struct cpti_structure_set *set = &judging->structure->sets[unit.set];

    add_unit(judging, unit, judging->sums);
    for (size_t i = group->from; i < group->end; i++) {
        const size_t request = groups->orders[i];

        for (size_t k = cells_from(set, request); k < set->requests[request].end; k++) {
            const uint32_t visits = set->cells[k].part;
            const double count = (double)judging->sums[visits];

            for (uint32_t at = count > 0 ? judging->firsts[visits]
                                         : CPTI_STRUCTURE_NONE;
                 at != CPTI_STRUCTURE_NONE; at = judging->nexts[at]) {
                const struct cpti_structure_stratum *stratum = &judging->strata[at];
                const double e =
                    (double)judging->sums[stratum->cases] - stratum->rate * count;

                judging->tested[stratum->row].scale += factor * e * e;
            }
            if (judging->firsts[visits] != CPTI_STRUCTURE_NONE) {
                judging->sums[visits] = 0; /* once */
            }
        }
    }
    for (size_t i = group->from; i < group->end; i++) {
        const size_t request = groups->orders[i];

        for (size_t k = cells_from(set, request); k < set->requests[request].end; k++) {
            judging->sums[set->cells[k].part] = 0;
        }
    }
}

/* The kind of a row as to how many there are of it. */
static unsigned family_of(const struct cpti_structure_judging *judging,
                          const struct cpti_structure_tested *tested)
{
    switch (judging->structure->parts[judging->strata[tested->from].cases].what) {
    case CPTI_STRUCTURE_BESIDE:
        return 1;
    case CPTI_STRUCTURE_FAILED:
        return 2;
    default:
        return 0;
    }
}

/* What the largest of @count values exceeds, of which each is normal, with the
 * probability of a row that is told: the tail is exp(-z²/2) / (z √2π). */
static double largest_of(double count)
{
    static const double log_root = 0.9189385332046727; /* ln √2π */
    const double tail = CPTI_STRUCTURE_P / 2 / FAMILIES / count;
    const double square = -2 * (log(tail) + log_root);

    return sqrt(square - log(square));
}

/* The standard deviation of U of each row when requests are dealt, times what the
 * largest of its family then is. */
static void find_scales(struct cpti_structure_judging *judging)
{
    double counts[FAMILIES] = {0};

    for (size_t i = 0; i < judging->block_count; i++) {
        const struct cpti_structure_block *block = &judging->blocks[i];
        const double count = (double)(block->end - block->from);
        const double drawn = (double)block->drawn;

        for (size_t k = block->from; k < block->end && count > 1; k++) {
            add_squares(judging, judging->units[k],
                        drawn * (count - drawn) / count / (count - 1));
        }
    }
    for (size_t i = 0; i < judging->paired_count; i++) {
        const struct cpti_structure_unit unit = judging->paired[i];
        const size_t partner = judging->groups[unit.set].groups[unit.group].partner;

        add_squares(judging, unit, 0.25);
        add_squares(judging,
                    (struct cpti_structure_unit){(uint32_t)partner, 1 - unit.set},
                    0.25);
    }
    for (size_t i = 0; i < judging->tested_count; i++) {
        counts[family_of(judging, &judging->tested[i])]++;
    }
    for (size_t i = 0; i < judging->tested_count; i++) {
        struct cpti_structure_tested *tested = &judging->tested[i];

        tested->scale =
            sqrt(tested->scale) * largest_of(counts[family_of(judging, tested)]);
    }
}

/* T of a row by `sums`, of the smaller set; 0 if no deal makes a difference. */
static double t_of(const struct cpti_structure_judging *judging,
                   const struct cpti_structure_tested *tested)
{
    return tested->scale > rounding
               ? u_of(judging, tested, judging->sums) / tested->scale
               : 0;
}

static void clear_sums(struct cpti_structure_judging *judging)
{
    memset(judging->sums, 0, judging->structure->part_count * sizeof *judging->sums);
}

/* Fills in T of the rows, and the largest. */
static double find_t(struct cpti_structure_judging *judging)
{
    const unsigned set = judging->smaller;
    double largest = 0;

    clear_sums(judging);
    for (size_t i = 0; i < judging->structure->sets[set].request_count; i++) {
        add_request(&judging->structure->sets[set], i, judging->sums);
    }
    for (size_t i = 0; i < judging->tested_count; i++) {
        struct cpti_structure_tested *tested = &judging->tested[i];
        const double t = t_of(judging, tested);

        tested->t = set == 1 ? t : -t;
        largest = fabs(t) > largest ? fabs(t) : largest;
    }
    clear_sums(judging);
    return largest;
}

/* --- Permutation --- */

/* Deals the units. The largest |T|. */
static double deal(struct cpti_structure_judging *judging)
{
    double largest = 0;

    clear_sums(judging);
    for (size_t i = 0; i < judging->block_count; i++) {
        const struct cpti_structure_block *block = &judging->blocks[i];

        for (size_t k = block->from; k < block->from + block->drawn; k++) {
            const size_t other =
                k + cpti_culprit_random_below(&judging->random, block->end - k);
            const struct cpti_structure_unit unit = judging->units[other];

            judging->units[other] = judging->units[k];
            judging->units[k] = unit;
            add_unit(judging, unit, judging->sums);
        }
    }
    for (size_t i = 0; i < judging->paired_count; i++) {
        struct cpti_structure_unit unit = judging->paired[i];

        if (cpti_culprit_random_below(&judging->random, 2) == 1) {
            unit.group = (uint32_t)judging->groups[unit.set].groups[unit.group].partner;
            unit.set = 1 - unit.set;
        }
        add_unit(judging, unit, judging->sums);
    }
    for (size_t i = 0; i < judging->tested_count; i++) {
        largest = fmax(largest, fabs(t_of(judging, &judging->tested[i])));
    }
    return largest;
}

/* How often chance is as far off as @t; at least once. */
double cpti_structure_p(const struct cpti_structure_judging *judging, double t)
{
    unsigned count = 1;

    for (unsigned i = 0; i < judging->rounds; i++) {
        count += judging->largest[i] >= fabs(t) * (1 - rounding);
    }
    return count / (judging->rounds + 1.0);
}

/* Deals until it is known; whether a row may be told. */
static bool permute(struct cpti_structure_judging *judging, double largest)
{
    const struct cpti_structure_set *sets = judging->structure->sets;
    const double cells = 1 + (double)(sets[0].cell_count + sets[1].cell_count) / 2;
    const double rounds = work_max / cells;
    unsigned reached = 1;

    judging->rounds = rounds > CPTI_CULPRIT_ROUNDS       ? CPTI_CULPRIT_ROUNDS
                      : rounds > CPTI_CULPRIT_ROUNDS_MIN ? (unsigned)rounds
                                                         : CPTI_CULPRIT_ROUNDS_MIN;
    for (unsigned i = 0; i < judging->rounds; i++) {
        judging->largest[i] = deal(judging);
        reached += judging->largest[i] >= largest * (1 - rounding);
        if (reached > CPTI_STRUCTURE_P * (judging->rounds + 1)) {
            return false;
        }
    }
    return true;
}

bool cpti_structure_deal(struct cpti_structure_judging *judging)
{
    find_units(judging);
    find_scales(judging);
    return permute(judging, find_t(judging));
}
