/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* stacks.c - stacks by their identity; see stacks.h */
#include "cpt/cli/store/stacks.h"

#include "cpt/cli/store/sha256.h"

enum { STACKS_MAX = 1 << 24, SLOTS_FIRST = 1024 };

void cpti_stacks_deinit(struct cpti_stacks *stacks)
{
    cpt_alloc_free(NULL, stacks->entries);
    cpt_alloc_free(NULL, stacks->slots);
    cpt_alloc_free(NULL, stacks->frame_slots);
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

/* The slot of @id, or the free one where it belongs. Whoever writes the database
 * chooses the numbers, so they are hashed once more. */
static size_t slot_of(const struct cpti_stacks *stacks, uint64_t id)
{
    size_t slot = (size_t)cpt_hash_bytes((uint64_t)(uintptr_t)stacks, &id, sizeof id) &
                  (stacks->slot_count - 1);

    while (stacks->slots[slot] != 0 &&
           stacks->entries[stacks->slots[slot] - 1].id != id) {
        slot = (slot + 1) & (stacks->slot_count - 1);
    }
    return slot;
}

struct cpti_stack *cpti_stacks_find(const struct cpti_stacks *stacks, uint64_t id)
{
    size_t slot;

    if (stacks->slot_count == 0) {
        return NULL;
    }
    slot = slot_of(stacks, id);
    return stacks->slots[slot] != 0 ? &stacks->entries[stacks->slots[slot] - 1] : NULL;
}

static int is_below(const struct cpti_stacks *stacks, const struct cpti_stack *stack,
                    uint64_t parent, unsigned kind, struct cpt_bytes name)
{
    return stack->parent == parent && stack->kind == kind &&
           cpt_bytes_equal(cpt_names_at(stacks->names, stack->name), name);
}

/* The same by what the stack is. */
static size_t frame_slot_of(const struct cpti_stacks *stacks, uint64_t parent,
                            unsigned kind, struct cpt_bytes name)
{
    const uint64_t seed = (uint64_t)(uintptr_t)stacks ^ parent ^ (uint64_t)kind << 48;
    size_t slot =
        (size_t)cpt_hash_bytes(seed, name.data, name.bytes) & (stacks->slot_count - 1);

    while (stacks->frame_slots[slot] != 0 &&
           !is_below(stacks, &stacks->entries[stacks->frame_slots[slot] - 1], parent,
                     kind, name)) {
        slot = (slot + 1) & (stacks->slot_count - 1);
    }
    return slot;
}

struct cpti_stack *cpti_stacks_below(const struct cpti_stacks *stacks, uint64_t parent,
                                     unsigned kind, struct cpt_bytes name)
{
    size_t slot;

    if (stacks->slot_count == 0) {
        return NULL;
    }
    slot = frame_slot_of(stacks, parent, kind, name);
    return stacks->frame_slots[slot] != 0
               ? &stacks->entries[stacks->frame_slots[slot] - 1]
               : NULL;
}

static cpt_status grow_slots(struct cpti_stacks *stacks)
{
    const size_t count = stacks->slot_count != 0 ? 2 * stacks->slot_count : SLOTS_FIRST;
    uint32_t *slots;
    uint32_t *frame_slots;

    if (stacks->slot_count != 0 && (stacks->count + 1) * 4 <= stacks->slot_count * 3) {
        return CPT_OK;
    }
    slots = cpt_alloc_zeroed(NULL, count * sizeof *slots);
    frame_slots = cpt_alloc_zeroed(NULL, count * sizeof *frame_slots);
    if (slots == NULL || frame_slots == NULL) {
        cpt_alloc_free(NULL, slots);
        cpt_alloc_free(NULL, frame_slots);
        return CPT_NO_MEMORY;
    }
    cpt_alloc_free(NULL, stacks->slots);
    cpt_alloc_free(NULL, stacks->frame_slots);
    stacks->slots = slots;
    stacks->frame_slots = frame_slots;
    stacks->slot_count = count;
    for (uint32_t i = 0; i < stacks->count; i++) {
        const struct cpti_stack *stack = &stacks->entries[i];

        slots[slot_of(stacks, stack->id)] = i + 1;
        frame_slots[frame_slot_of(stacks, stack->parent, stack->kind,
                                  cpt_names_at(stacks->names, stack->name))] = i + 1;
    }
    return CPT_OK;
}

static cpt_status make_room(struct cpti_stacks *stacks)
{
    if (stacks->names == NULL) {
        stacks->names = cpt_names_new(NULL);
    }
    if (stacks->names == NULL || grow_slots(stacks) != CPT_OK) {
        return CPT_NO_MEMORY;
    }
    return cpt_alloc_grow(NULL, (void **)&stacks->entries, &stacks->capacity,
                          stacks->count + 1, STACKS_MAX, sizeof *stacks->entries);
}

cpt_status cpti_stacks_add(struct cpti_stacks *stacks, uint64_t id, uint64_t parent,
                           unsigned kind, struct cpt_bytes name, int *is_new)
{
    cpt_name_id name_id = 0;
    cpt_status status = make_room(stacks);
    size_t slot;

    if (name.bytes > CPT_NAME_BYTES_MAX || kind > UINT16_MAX || id == CPTI_STACK_ROOT) {
        return CPT_CORRUPT;
    }
    if (status == CPT_OK) {
        status = cpt_names_add(stacks->names, name, &name_id);
    }
    if (status != CPT_OK) {
        return status;
    }
    slot = slot_of(stacks, id);
    *is_new = stacks->slots[slot] == 0;
    if (*is_new) {
        stacks->entries[stacks->count++] = (struct cpti_stack){
            .id = id, .parent = parent, .name = name_id, .kind = (uint16_t)kind};
        stacks->slots[slot] = (uint32_t)stacks->count;
        stacks->frame_slots[frame_slot_of(stacks, parent, kind, name)] =
            (uint32_t)stacks->count;
        return CPT_OK;
    }
    return stacks->entries[stacks->slots[slot] - 1].parent == parent &&
                   stacks->entries[stacks->slots[slot] - 1].name == name_id &&
                   stacks->entries[stacks->slots[slot] - 1].kind == kind
               ? CPT_OK
               : CPT_CORRUPT;
}
