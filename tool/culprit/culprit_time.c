/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * culprit_time.c - whether two sets of requests are of one time; see culprit.h
 *
 *      B B B B N N N N     two minutes: they differ by more than what is looked for
 *      B N N B N B B N     two arms: what differs by time, differs for both alike
 *
 * Of requests that were dealt at random to sets of n and m, the set changes about
 * 2 n m / (n + m) times in the order of time (Wald and Wolfowitz 1940). Half as often
 * is enough: arms may come in short turns. Of very few requests nothing is said.
 */
#include "tool/culprit/culprit_parts.h"

#include <stdlib.h>

struct moment {
    uint64_t start_ns;
    unsigned set;
};

/* Of one time the base is first: then the set changes less often. */
static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left;
    const struct moment *b = right;

    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->set > b->set) - (a->set < b->set);
}

cpt_status cpti_culprit_compare_times(const struct cpti_culprit *culprit,
                                      bool *are_concurrent)
{
    const size_t counts[2] = {culprit->sets[0].request_count,
                              culprit->sets[1].request_count};
    const size_t count = counts[0] + counts[1];
    struct moment *moments =
        cpt_alloc_array(culprit->alloc, NULL, count + 1, sizeof *moments);
    bool are_known = counts[0] > 0 && counts[1] > 0;
    size_t changes = 0;
    size_t at = 0;

    *are_concurrent = false;
    if (moments == NULL) {
        return CPT_NO_MEMORY;
    }
    for (unsigned set = 0; set < 2; set++) {
        for (size_t i = 0; i < counts[set]; i++) {
            moments[at] = (struct moment){culprit->sets[set].starts[i], set};
            are_known = are_known && moments[at++].start_ns != 0;
        }
    }
    if (are_known) {
        qsort(moments, count, sizeof *moments, compare_moments);
        for (size_t i = 1; i < count; i++) {
            changes += moments[i].set != moments[i - 1].set;
        }
        *are_concurrent =
            changes >= CPTI_CULPRIT_CALLS_MIN &&
            (double)changes >= (double)counts[0] * (double)counts[1] / (double)count;
    }
    cpt_alloc_free(culprit->alloc, moments);
    return CPT_OK;
}
