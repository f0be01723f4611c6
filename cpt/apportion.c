/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * apportion.c - the method of the largest remainder; see cpt_apportion.h
 *
 * Every share is rounded down; fewer than `count` units are then left, and they go to
 * the largest remainders, the earlier first among equal ones. Cost: a sort.
 */
#include "cpt/cpt_apportion.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

struct remainder {
    uint64_t rest;
    size_t index;
};

static int by_rest_then_index(const void *left, const void *right)
{
    const struct remainder *a = left;
    const struct remainder *b = right;

    if (a->rest != b->rest) {
        return a->rest > b->rest ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

cpt_status cpt_apportion(const struct cpt_alloc *alloc, uint64_t *values, size_t count,
                         uint64_t whole)
{
    struct remainder *remainders = NULL;
    uint64_t sum = 0;
    uint64_t left = whole;

    for (size_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(sum, values[i], &sum)) {
            return CPT_LIMIT;
        }
    }
    if (sum > INT64_MAX || whole > INT64_MAX || (count == 0 && whole != 0)) {
        return CPT_LIMIT;
    }
    if (sum == 0) {
        if (count != 0) {
            values[0] = whole;
        }
        return CPT_OK;
    }
    remainders = cpt_alloc_array(alloc, NULL, count, sizeof *remainders);
    if (remainders == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const wide product = (wide)values[i] * whole;

        values[i] = (uint64_t)(product / sum);
        remainders[i] = (struct remainder){(uint64_t)(product % sum), i};
        left -= values[i];
    }
    qsort(remainders, count, sizeof *remainders, by_rest_then_index);
    for (size_t i = 0; i < left; i++) {
        values[remainders[i].index]++;
    }
    cpt_alloc_free(alloc, remainders);
    return CPT_OK;
}
