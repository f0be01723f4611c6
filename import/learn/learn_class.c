/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_class.c - the classes of nodes, and what is known of each
 *
 * Limits must not depend on the order of traces. A class that is too large by itself is
 * left out. If all of them are too large together, those are whose hash is above a
 * number, which is halved until the rest is small enough.
 */
#include "import/learn/learn_inside.h"

enum { FIRST_SLOTS = 16, ENTRY_BYTES = 128 };

/* --- Tables --- */

static uint64_t key_of(const struct learn_table *table, size_t number)
{
    uint64_t key = 0;

    memcpy(&key, learn_at(table, number), sizeof key);
    return key;
}

/* Tables move with their class, so the seed is another address. */
static uint64_t hash_of(uint64_t key)
{
    static const char seed;

    return cpti_hash_mix(key ^ (uintptr_t)&seed);
}

static uint64_t hash_at(const void *owner, size_t number)
{
    return hash_of(key_of(owner, number));
}

void *cpti_learn_find(const struct learn_table *table, uint64_t key)
{
    size_t slot = 0;

    if (table->index.slot_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(&table->index, hash_of(key));
    while (table->index.slots[slot] != 0 &&
           key_of(table, table->index.slots[slot] - 1) != key) {
        slot = cpti_hash_index_next(&table->index, slot);
    }
    return table->index.slots[slot] != 0 ? learn_at(table, table->index.slots[slot] - 1)
                                         : NULL;
}

/* Of entries of all sizes, so that their sum stands for memory. */
static size_t weight_of(const struct learn_table *table)
{
    return 1 + table->entry_bytes / ENTRY_BYTES;
}

cpt_status cpti_learn_add(const struct cpt_alloc *alloc, struct learn_table *table,
                          uint64_t key, size_t max, void **entry)
{
    cpt_status status =
        cpt_alloc_grow(alloc, (void **)&table->entries, &table->capacity,
                       table->count + 1, max, table->entry_bytes);

    if (status == CPT_OK && cpti_hash_index_is_full(&table->index, table->count, 3)) {
        status = cpti_hash_index_grow(&table->index, alloc, FIRST_SLOTS, table->count,
                                      hash_at, table);
    }
    if (status == CPT_OK) {
        cpti_hash_index_put(&table->index, hash_of(key), table->count);
        *entry = learn_at(table, table->count++);
        memset(*entry, 0, table->entry_bytes);
        memcpy(*entry, &key, sizeof key);
    }
    return status;
}

cpt_status cpti_learn_entry(struct cpti_learn *learn, struct learn_table *table,
                            uint64_t key, size_t max, bool may_add, void **entry)
{
    cpt_status status = CPT_OK;

    *entry = cpti_learn_find(table, key);
    if (*entry != NULL || !may_add || table->count == max) {
        return CPT_OK;
    }
    status = cpti_learn_add(learn->alloc, table, key, max, entry);
    learn->entry_count += status == CPT_OK ? weight_of(table) : 0;
    return status;
}

void cpti_learn_halve(struct learn_table *table, uint64_t *hash_max,
                      void (*leave_out)(void *context, void *entry), void *context)
{
    size_t kept = 0;

    *hash_max /= 2;
    for (size_t i = 0; i < table->count; i++) {
        if (key_of(table, i) <= *hash_max) {
            memmove(learn_at(table, kept++), learn_at(table, i), table->entry_bytes);
        } else if (leave_out != NULL) {
            leave_out(context, learn_at(table, i));
        }
    }
    table->count = kept;
    cpti_hash_index_reset(&table->index);
    for (size_t i = 0; i < kept; i++) {
        cpti_hash_index_put(&table->index, hash_at(table, i), i);
    }
}

static void free_table(struct cpti_learn *learn, struct learn_table *table)
{
    learn->entry_count -= table->count * weight_of(table);
    cpt_alloc_free(learn->alloc, table->index.slots);
    cpt_alloc_free(learn->alloc, table->entries);
    table->index = (struct cpti_hash_index){NULL, 0};
    table->entries = NULL;
    table->count = 0;
    table->capacity = 0;
}

/* --- Classes --- */

void cpti_learn_leave_out(struct cpti_learn *learn, struct learn_class *class)
{
    for (size_t i = 0; i < class->keys.count; i++) {
        struct learn_key *key = learn_at(&class->keys, i);

        cpt_alloc_free(learn->alloc, key->rows);
        cpt_alloc_free(learn->alloc, key->fit);
    }
    free_table(learn, &class->operations);
    free_table(learn, &class->places);
    free_table(learn, &class->pairs);
    free_table(learn, &class->lasts);
    free_table(learn, &class->keys);
    class->is_left_out = true;
}

static void forget(void *context, void *entry)
{
    struct cpti_learn *learn = context;

    cpti_learn_leave_out(learn, entry);
    learn->entry_count -= weight_of(&learn->classes);
}

static void halve(struct cpti_learn *learn)
{
    cpti_learn_halve(&learn->classes, &learn->hash_max, forget, learn);
}

void cpti_learn_bound(struct cpti_learn *learn)
{
    while (learn->entry_count > LEARN_ENTRIES_MAX) {
        halve(learn);
    }
}

static cpt_status begin_class(struct cpti_learn *learn, struct learn_class *class)
{
    void *end = NULL;

    class->operations.entry_bytes = sizeof(struct learn_operation);
    class->places.entry_bytes = sizeof(struct learn_place);
    class->pairs.entry_bytes = sizeof(struct learn_pair);
    class->lasts.entry_bytes = sizeof(struct learn_last);
    class->keys.entry_bytes = sizeof(struct learn_key);
    return cpti_learn_entry(learn, &class->places, LEARN_END_KEY, LEARN_PLACES_MAX,
                            true, &end);
}

cpt_status cpti_learn_class(struct cpti_learn *learn, struct cpt_bytes name,
                            bool may_add, struct learn_class **class)
{
    const uint64_t hash = cpt_hash_bytes(0, name.data, name.bytes);
    cpt_status status = CPT_OK;

    *class = cpti_learn_find(&learn->classes, hash);
    if (*class != NULL || !may_add) {
        return CPT_OK;
    }
    while (learn->classes.count == LEARN_CLASSES_MAX && hash <= learn->hash_max) {
        halve(learn);
    }
    if (hash > learn->hash_max) {
        return CPT_OK;
    }
    status = cpti_learn_entry(learn, &learn->classes, hash, LEARN_CLASSES_MAX, true,
                              (void **)class);
    return status == CPT_OK ? begin_class(learn, *class) : status;
}
