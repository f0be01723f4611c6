/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * apportion.c - the method of the largest remainder; see cpt_apportion.h
 *
 * Every share is rounded down. Fewer than `count` units are then left, and they go to
 * the largest remainders; of equal ones the earlier is first. A heap finds these:
 * qsort() would sort them all, and may call malloc.
 */
#include "cpt/cpt_apportion.h"

#include <stdbool.h>

__extension__ typedef unsigned __int128 wide;

struct remainder {
    uint64_t rest;
    size_t index;
};

static bool is_before(struct remainder left, struct remainder right)
{
    return left.rest != right.rest ? left.rest > right.rest : left.index < right.index;
}

/* Lets heap[@at] sink until none of its children comes before it. */
static void sink(struct remainder *heap, size_t count, size_t at)
{
    const struct remainder sinking = heap[at];

    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child])) {
            child++;
        }
        if (!is_before(heap[child], sinking)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = sinking;
}

/* Adds 1 to the values with the @left largest of @count remainders. Destroys the
 * heap. */
static void give_the_rest(uint64_t *values, struct remainder *heap, size_t count,
                          uint64_t left)
{
    for (size_t at = count / 2; at-- > 0;) {
        sink(heap, count, at);
    }
    for (; left > 0; left--) {
        values[heap[0].index]++;
        heap[0] = heap[--count];
        sink(heap, count, 0);
    }
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
    give_the_rest(values, remainders, count, left);
    cpt_alloc_free(alloc, remainders);
    return CPT_OK;
}
