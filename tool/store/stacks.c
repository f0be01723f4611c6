/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stacks.c - stacks by their identity; see stacks.h */
#include "tool/store/stacks.h"

#include "tool/store/sha256.h"

enum { STACKS_MAX = 1 << 24, FIRST_SLOTS = 1024 };

void cpti_stacks_deinit(struct cpti_stacks *stacks)
{
    cpt_alloc_free(NULL, stacks->entries);
    cpt_alloc_free(NULL, stacks->by_id.slots);
    cpt_alloc_free(NULL, stacks->by_frame.slots);
    cpt_names_free(stacks->names);
    *stacks = (struct cpti_stacks){0};
}

uint64_t cpti_stack_id(uint64_t parent, unsigned kind, struct cpt_bytes name)
{
    struct cpti_sha256 hash;
    unsigned char head[10];
    unsigned char digest[32];
    uint64_t id = 0;

    for (unsigned i = 0; i < 8; i++) {
        head[i] = (unsigned char)(parent >> 8 * i);
    }
    head[8] = (unsigned char)kind;
    head[9] = (unsigned char)(kind >> 8);
    cpti_sha256_begin(&hash);
    cpti_sha256_add(&hash, head, sizeof head);
    cpti_sha256_add(&hash, name.data, name.bytes);
    cpti_sha256_end(&hash, digest);
    for (unsigned i = 8; i-- > 0;) {
        id = id << 8 | digest[i];
    }
    return id != CPTI_STACK_ROOT ? id : 1;
}

/* Writers of the database choose the ids, so they are hashed again, with a seed. */
static uint64_t hash_of_id(const struct cpti_stacks *stacks, uint64_t id)
{
    return cpt_hash_bytes((uint64_t)(uintptr_t)stacks, &id, sizeof id);
}

static uint64_t hash_of_frame(const struct cpti_stacks *stacks, uint64_t parent,
                              unsigned kind, struct cpt_bytes name)
{
    const uint64_t seed = (uint64_t)(uintptr_t)stacks ^ parent ^ (uint64_t)kind << 48;

    return cpt_hash_bytes(seed, name.data, name.bytes);
}

static uint64_t id_hash(const void *owner, size_t number)
{
    const struct cpti_stacks *stacks = owner;

    return hash_of_id(stacks, stacks->entries[number].id);
}

static uint64_t frame_hash(const void *owner, size_t number)
{
    const struct cpti_stacks *stacks = owner;
    const struct cpti_store_stack *stack = &stacks->entries[number];

    return hash_of_frame(stacks, stack->parent, stack->kind,
                         cpt_names_at(stacks->names, stack->name));
}

struct cpti_store_stack *cpti_stacks_find(const struct cpti_stacks *stacks, uint64_t id)
{
    const struct cpti_hash_index *index = &stacks->by_id;

    if (index->slot_count == 0) {
        return NULL;
    }
    for (size_t slot = cpti_hash_index_first(index, hash_of_id(stacks, id));
         index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        struct cpti_store_stack *stack = &stacks->entries[index->slots[slot] - 1];

        if (stack->id == id) {
            return stack;
        }
    }
    return NULL;
}

struct cpti_store_stack *cpti_stacks_below(const struct cpti_stacks *stacks,
                                           uint64_t parent, unsigned kind,
                                           struct cpt_bytes name)
{
    const struct cpti_hash_index *index = &stacks->by_frame;
    size_t slot;

    if (index->slot_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(index, hash_of_frame(stacks, parent, kind, name));
    for (; index->slots[slot] != 0; slot = cpti_hash_index_next(index, slot)) {
        struct cpti_store_stack *stack = &stacks->entries[index->slots[slot] - 1];

        if (stack->parent == parent && stack->kind == kind &&
            cpt_bytes_equal(cpt_names_at(stacks->names, stack->name), name)) {
            return stack;
        }
    }
    return NULL;
}

static cpt_status grow_index(struct cpti_stacks *stacks, struct cpti_hash_index *index,
                             cpti_hash_entry hash)
{
    return cpti_hash_index_is_full(index, stacks->count, 3)
               ? cpti_hash_index_grow(index, NULL, FIRST_SLOTS, stacks->count, hash,
                                      stacks)
               : CPT_OK;
}

static cpt_status make_room(struct cpti_stacks *stacks)
{
    if (stacks->names == NULL) {
        stacks->names = cpt_names_new(NULL);
    }
    if (stacks->names == NULL ||
        grow_index(stacks, &stacks->by_id, id_hash) != CPT_OK ||
        grow_index(stacks, &stacks->by_frame, frame_hash) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    return cpt_alloc_grow(NULL, (void **)&stacks->entries, &stacks->capacity,
                          stacks->count + 1, STACKS_MAX, sizeof *stacks->entries);
}

cpt_status cpti_stacks_add(struct cpti_stacks *stacks, uint64_t id, uint64_t parent,
                           unsigned kind, struct cpt_bytes name, bool *is_new)
{
    cpt_name_id name_id = 0;
    cpt_status status = make_room(stacks);
    const struct cpti_store_stack *known;

    if (name.bytes > CPT_NAME_BYTES_MAX || kind > UINT16_MAX || id == CPTI_STACK_ROOT) {
        return CPT_CORRUPT;
    }
    if (status == CPT_OK) {
        status = cpt_names_add(stacks->names, name, &name_id);
    }
    if (status != CPT_OK) {
        return status;
    }
    known = cpti_stacks_find(stacks, id);
    *is_new = known == NULL;
    if (known != NULL) {
        return known->parent == parent && known->name == name_id && known->kind == kind
                   ? CPT_OK
                   : CPT_CORRUPT;
    }
    stacks->entries[stacks->count] = (struct cpti_store_stack){
        .id = id, .parent = parent, .name = name_id, .kind = (uint16_t)kind};
    cpti_hash_index_put(&stacks->by_id, hash_of_id(stacks, id), stacks->count);
    cpti_hash_index_put(&stacks->by_frame, hash_of_frame(stacks, parent, kind, name),
                        stacks->count);
    stacks->count++;
    return CPT_OK;
}
