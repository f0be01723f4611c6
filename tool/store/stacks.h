/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * stacks.h - stacks by their identity
 *
 * In the rows of requests a stack is a number of 64 bits: a hash of the number of the
 * stack without its last frame, and the kind and name of that frame:
 *
 *      identity(stack) = first 8 bytes of SHA-256(identity(parent), kind, name)
 *
 * so all loaders give the same stack the same number. A table tells the frames of each
 * number. A number with two meanings is an error, never a wrong tree.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_STACKS_H
#define CPTI_STACKS_H

#include "cpt/cpt_name.h"
#include "cpt/base/hash_index.h"

#include <stdbool.h>

/* The empty stack. No other stack has this identity. */
#define CPTI_STACK_ROOT UINT64_C(0)

struct cpti_store_stack {
    uint64_t id;
    uint64_t parent;
    cpt_name_id name;
    uint32_t node; /* in a tree; 0: not known yet */
    uint16_t kind;
    uint64_t shards; /* when loading: a bit for each shard that has it */
};

/* A table of stacks. Zero is an empty one. */
struct cpti_stacks {
    struct cpti_store_stack *entries;
    size_t count;
    size_t capacity;
    struct cpti_hash_index by_id;
    struct cpti_hash_index by_frame; /* by parent, kind and name */
    struct cpt_names *names;
};

void cpti_stacks_deinit(struct cpti_stacks *stacks);

/* The identity of a stack; never CPTI_STACK_ROOT. */
uint64_t cpti_stack_id(uint64_t parent, unsigned kind, struct cpt_bytes name);

/* The entry with @id, or NULL. Valid until an entry is added. */
struct cpti_store_stack *cpti_stacks_find(const struct cpti_stacks *stacks,
                                          uint64_t id);

/* The entry below @parent with @kind and @name, or NULL. Saves the hash of
 * cpti_stack_id(). */
struct cpti_store_stack *cpti_stacks_below(const struct cpti_stacks *stacks,
                                           uint64_t parent, unsigned kind,
                                           struct cpt_bytes name);

/* Adds a stack; sets *@is_new if it was not there. CPT_OK; CPT_CORRUPT if @id already
 * has another meaning; CPT_LIMIT; CPT_NO_MEMORY. */
cpt_status cpti_stacks_add(struct cpti_stacks *stacks, uint64_t id, uint64_t parent,
                           unsigned kind, struct cpt_bytes name, bool *is_new);

#endif
