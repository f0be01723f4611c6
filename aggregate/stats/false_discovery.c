/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * false_discovery.c - the false discovery rate of many tests (Benjamini and Hochberg)
 *
 * Of a thousand rows that did not change, ten have p < 0.01. Benjamini and Hochberg do
 * not bound the chance of any false row, but the share of false rows among those that
 * are shown: the i-th smallest of m p values becomes m p / i, since by chance m p rows
 * have p or less, and i rows do. A larger p must not have a smaller q, so the values
 * are taken from the largest p downwards, each at most its predecessor.
 *
 * Cost: O(m log m).
 */
#include "aggregate/cpt_stats.h"

#include <stdlib.h>

struct test {
    double p;
    size_t index;
};

static int by_p(const void *left, const void *right)
{
    const struct test *a = left;
    const struct test *b = right;

    if (a->p != b->p) {
        return a->p < b->p ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

cpt_status cpt_stats_q_values(const struct cpt_alloc *alloc, const double *p_values,
                              double *q_values, size_t count)
{
    struct test *tests = cpt_alloc_array(alloc, NULL, count + 1, sizeof *tests);
    double least = 1;

    if (tests == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        tests[i] = (struct test){p_values[i], i};
    }
    qsort(tests, count, sizeof *tests, by_p);
    for (size_t i = count; i-- > 0;) {
        const double q = tests[i].p * ((double)count / (double)(i + 1)); /* >= p */

        least = q < least ? q : least;
        q_values[tests[i].index] = least;
    }
    cpt_alloc_free(alloc, tests);
    return CPT_OK;
}
