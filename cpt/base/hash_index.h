/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * hash_index.h - the entries of an array, found by their hash. Inline; shared by the
 * libraries.
 *
 *      slots   [ 0 | 3 | 0 | 1 | 2 | 0 | 0 | 0 ]    0: free; n: entry n - 1
 *      entries [ a | b | c ]                        the owner's array
 *
 * Open addressing with linear probing. Only the entry that came last can be removed:
 * its slot becomes 0. The owner hashes and compares, so that the compiler sees the
 * whole loop:
 *
 *      size_t slot = cpti_hash_index_first(&index, hash);
 *
 *      while (index.slots[slot] != 0 && !is_equal(&entries[index.slots[slot] - 1])) {
 *          slot = cpti_hash_index_next(&index, slot);
 *      }
 *
 * Seed the hash with an address: input from outside then cannot be chosen to collide.
 * No output may depend on the order of slots.
 *
 * Users: names, frames of a path, nodes of a tree, stacks of a store, strings of a
 * profile, calls and places of a dag. wire/log/log_shape.c has a table of its own, as
 * it is fixed in size, has 16-bit slots inside its struct, and gives up after a few
 * probes.
 */
#ifndef CPTI_HASH_INDEX_H
#define CPTI_HASH_INDEX_H

#include "cpt/cpt_alloc.h"

#include <stdbool.h>
#include <string.h>

/* Zero is an empty one. */
struct cpti_hash_index {
    uint32_t *slots;   /* number of an entry + 1; 0 is free */
    size_t slot_count; /* 0 or a power of two */
};

/* Mixes @number so that each bit of the result depends on all of its bits: the two
 * halves of a 128-bit product, combined. */
static inline uint64_t cpti_hash_mix(uint64_t number)
{
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)(number ^ 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The slot where probing begins. There must be slots, and a free one among them. */
static inline size_t cpti_hash_index_first(const struct cpti_hash_index *index,
                                           uint64_t hash)
{
    return (size_t)hash & (index->slot_count - 1);
}

static inline size_t cpti_hash_index_next(const struct cpti_hash_index *index,
                                          size_t slot)
{
    return (slot + 1) & (index->slot_count - 1);
}

/* Puts entry @number, which is not there, into the first free slot for @hash. */
static inline void cpti_hash_index_put(struct cpti_hash_index *index, uint64_t hash,
                                       size_t number)
{
    size_t slot = cpti_hash_index_first(index, hash);

    while (index->slots[slot] != 0) {
        slot = cpti_hash_index_next(index, slot);
    }
    index->slots[slot] = (uint32_t)number + 1;
}

/* Whether one entry more than @count would fill more than @quarters quarters. */
static inline bool cpti_hash_index_is_full(const struct cpti_hash_index *index,
                                           size_t count, unsigned quarters)
{
    return (count + 1) * 4 > index->slot_count * quarters;
}

/* The hash of entry @number of @owner. */
typedef uint64_t (*cpti_hash_entry)(const void *owner, size_t number);

/*
 * Makes @index twice as large, @first_count slots at first, and puts the @count entries
 * of @owner in again, in their order.
 *
 * CPT_OK, or CPT_NO_MEMORY with @index as before.
 */
static inline cpt_status cpti_hash_index_grow(struct cpti_hash_index *index,
                                              const struct cpt_alloc *alloc,
                                              size_t first_count, size_t count,
                                              cpti_hash_entry hash, const void *owner)
{
    struct cpti_hash_index grown = {
        .slot_count = index->slot_count != 0 ? 2 * index->slot_count : first_count};

    grown.slots = cpt_alloc_zeroed(alloc, grown.slot_count * sizeof *grown.slots);
    if (grown.slots == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        cpti_hash_index_put(&grown, hash(owner, i), i);
    }
    cpt_alloc_free(alloc, index->slots);
    *index = grown;
    return CPT_OK;
}

/* Forgets all entries but keeps the memory. */
static inline void cpti_hash_index_reset(struct cpti_hash_index *index)
{
    if (index->slots != NULL) {
        memset(index->slots, 0, index->slot_count * sizeof *index->slots);
    }
}

#endif
