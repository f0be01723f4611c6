/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* owners.c - see owners.h */
#include "tool/folds/owners.h"

#include "cpt/cpt_alloc.h"

enum { FIRST_SLOTS = 1024 };

void cpti_owners_deinit(struct cpti_owners *owners)
{
    cpt_alloc_free(NULL, owners->all);
    cpt_alloc_free(NULL, owners->index.slots);
    *owners = (struct cpti_owners){0};
}

static uint64_t hash_of(const struct cpti_owners *owners, uint64_t trace)
{
    return cpti_hash_mix(trace ^ (uint64_t)(uintptr_t)owners);
}

static uint64_t hash_at(const void *owner, size_t number)
{
    const struct cpti_owners *owners = owner;

    return hash_of(owners, owners->all[number].trace);
}

const struct cpti_trace_owner *cpti_owners_find(const struct cpti_owners *owners,
                                                uint64_t trace)
{
    size_t slot;

    if (owners->index.slot_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(&owners->index, hash_of(owners, trace));
    while (owners->index.slots[slot] != 0) {
        const struct cpti_trace_owner *owner =
            &owners->all[owners->index.slots[slot] - 1];

        if (owner->trace == trace) {
            return owner;
        }
        slot = cpti_hash_index_next(&owners->index, slot);
    }
    return NULL;
}

bool cpti_owners_add(struct cpti_owners *owners, const struct cpti_trace_owner *owner)
{
    if (cpti_owners_find(owners, owner->trace) != NULL) {
        return true;
    }
    if (owners->count == CPTI_OWNERS_MAX) {
        owners->lost_count++;
        return true;
    }
    if ((cpti_hash_index_is_full(&owners->index, owners->count, 3) &&
         cpti_hash_index_grow(&owners->index, NULL, FIRST_SLOTS, owners->count, hash_at,
                              owners) != CPT_OK) ||
        cpt_alloc_grow(NULL, (void **)&owners->all, &owners->capacity,
                       owners->count + 1, CPTI_OWNERS_MAX,
                       sizeof *owners->all) != CPT_OK) {
        return false;
    }
    owners->all[owners->count] = *owner;
    cpti_hash_index_put(&owners->index, hash_of(owners, owner->trace), owners->count);
    owners->count++;
    return true;
}
