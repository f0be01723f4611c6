/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_usual.c - what changed for all values of an attribute; see culprit.h
 *
 * If a service becomes slower, it is so for all tenants. So of each operation a value
 * is compared with what is usual, the median of the changes of all other values:
 *
 *      value   a     b     c     d     e
 *      change  0.3   1.2   0.2  -0.9   0.3     usual for b: 0.25; b stands out by 0.95
 *
 * A mean would be wrong of all others if one value became much faster. The median is
 * weighted by how much each change is worth, and leaves out the values that are
 * explained.
 */
#include "tool/culprit/culprit_parts.h"

#include <stdlib.h>

/* Sums of weights that differ by less than this part are one. */
static const double rounding = 1e-9;

static int compare_changes(const void *left, const void *right)
{
    const struct cpti_culprit_change *a = left;
    const struct cpti_culprit_change *b = right;

    if (a->d != b->d) {
        return a->d < b->d ? -1 : 1;
    }
    return (a->key > b->key) - (a->key < b->key);
}

/* The weight of all changes up to number @index, without number @left_out. */
static double until(const struct cpti_culprit_change *changes, size_t index,
                    size_t left_out)
{
    return changes[index].until - (index >= left_out ? changes[left_out].weight : 0);
}

/* The first of @count changes, without number @left_out, up to which there is more
 * weight than @weight. There is one. */
static size_t first_above(const struct cpti_culprit_change *changes, size_t count,
                          size_t left_out, double weight)
{
    size_t low = 0;
    size_t high = count - 1;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (until(changes, middle, left_out) > weight) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The median of @count changes, in order, without number @left_out. */
static double median_of(const struct cpti_culprit_change *changes, size_t count,
                        size_t left_out)
{
    const double half = until(changes, count - 1, left_out) / 2;
    const size_t low = first_above(changes, count, left_out, half * (1 - rounding));
    const size_t high = first_above(changes, count, left_out, half * (1 + rounding));

    return (changes[low].d + changes[high].d) / 2;
}

/* Finds what is usual in @manner for the values of one operation, keys at @peers. */
static void find_usual(const struct cpti_culprit_model *model,
                       const struct cpti_culprit_sum *const sums[2],
                       const uint32_t *peers, size_t peer_count, int manner,
                       const struct cpti_culprit_scores *scores)
{
    struct cpti_culprit_change *changes = scores->changes;
    double weight = 0;
    size_t count = 0;

    for (size_t i = 0; i < peer_count; i++) {
        const uint32_t key = peers[i];
        const double its = cpti_culprit_weight(sums[0][key].count, sums[1][key].count);

        if (its > 0 && !scores->usual[key].is_explained) {
            weight += its;
            changes[count++] = (struct cpti_culprit_change){
                .d = cpti_culprit_difference(&sums[0][key], &sums[1][key], manner,
                                             model->c),
                .weight = its,
                .key = key};
        }
    }
    if (count < 2) {
        return;
    }
    qsort(changes, count, sizeof *changes, compare_changes);
    weight = 0;
    for (size_t i = 0; i < count; i++) {
        weight += changes[i].weight;
        changes[i].until = weight;
    }
    for (size_t i = 0; i < count; i++) {
        struct cpti_culprit_usual *usual = &scores->usual[changes[i].key];

        usual->d[manner] = median_of(changes, count, i);
        usual->weight = weight - changes[i].weight;
    }
}

void cpti_culprit_find_usual(const struct cpti_culprit_model *model,
                             const struct cpti_culprit_sum *base,
                             const struct cpti_culprit_sum *other,
                             const struct cpti_culprit_scores *scores)
{
    const struct cpti_culprit_sum *const sums[2] = {base, other};
    uint32_t key = 0;

    for (uint32_t i = 0; i < model->frame_count; i++) {
        for (; key < model->frames[i].key_end; key++) {
            scores->usual[key] = (struct cpti_culprit_usual){
                .is_explained = model->frames[i].is_explained};
        }
    }
    for (uint32_t i = 0; i < model->operation_count; i++) {
        const uint32_t first = i > 0 ? model->peer_ends[i - 1] : 0;

        for (int manner = 0; manner < CPTI_CULPRIT_MANNERS; manner++) {
            find_usual(model, sums, &model->peers[first], model->peer_ends[i] - first,
                       manner, scores);
        }
    }
}
