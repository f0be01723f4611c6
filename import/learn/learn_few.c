/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_few.c - the classes of which too little is known
 *
 * If there are too many of them to count each, those are counted whose hash is small,
 * so that the order of traces changes nothing.
 */
#include "import/learn/learn_inside.h"

#include "cpt/base/utf8.h"

enum { FIRST_SLOTS = 16 };

/* The entries move, so the seed is another address. */
static uint64_t hash_of(uint64_t key)
{
    static const char seed;

    return cpti_hash_mix(key ^ (uintptr_t)&seed);
}

static uint64_t hash_at(const void *owner, size_t number)
{
    return hash_of(((const struct learn_few *)owner)->items[number].key);
}

static struct learn_few_class *find(const struct learn_few *few, uint64_t key)
{
    size_t slot = 0;

    if (few->index.slot_count == 0) {
        return NULL;
    }
    slot = cpti_hash_index_first(&few->index, hash_of(key));
    while (few->index.slots[slot] != 0 &&
           few->items[few->index.slots[slot] - 1].key != key) {
        slot = cpti_hash_index_next(&few->index, slot);
    }
    return few->index.slots[slot] != 0 ? &few->items[few->index.slots[slot] - 1] : NULL;
}

static bool is_counted(const struct learn_few *few, uint64_t key)
{
    return key <= UINT64_MAX >> few->halvings;
}

/* Forgets the classes with a hash in the upper half. */
static void halve(struct learn_few *few)
{
    size_t kept = 0;

    few->halvings++;
    cpti_hash_index_reset(&few->index);
    for (size_t i = 0; i < few->count; i++) {
        if (is_counted(few, few->items[i].key)) {
            few->items[kept] = few->items[i];
            cpti_hash_index_put(&few->index, hash_of(few->items[kept].key), kept);
            kept++;
        }
    }
    few->count = kept;
}

/* Adds the events of @class. */
static cpt_status add(const struct cpt_alloc *alloc, struct learn_few *few,
                      const struct learn_few_class *class)
{
    struct learn_few_class *found = find(few, class->key);
    cpt_status status = CPT_OK;

    if (found != NULL) {
        found->events += class->events;
        return CPT_OK;
    }
    while (few->count == CPTI_LEARN_FEW_CLASSES_MAX && is_counted(few, class->key)) {
        halve(few);
    }
    if (!is_counted(few, class->key)) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(alloc, (void **)&few->items, &few->capacity, few->count + 1,
                            CPTI_LEARN_FEW_CLASSES_MAX, sizeof *few->items);
    if (status == CPT_OK && cpti_hash_index_is_full(&few->index, few->count, 3)) {
        status = cpti_hash_index_grow(&few->index, alloc, FIRST_SLOTS, few->count,
                                      hash_at, few);
    }
    if (status == CPT_OK) {
        few->items[few->count] = *class;
        cpti_hash_index_put(&few->index, hash_of(class->key), few->count++);
    }
    return status;
}

cpt_status cpti_learn_few_add(const struct cpti_learn *learn, struct learn_few *few,
                              struct cpt_bytes name, uint64_t events)
{
    struct learn_few_class class = {.key = cpt_hash_bytes(0, name.data, name.bytes),
                                    .events = events};

    while (class.bytes < name.bytes) {
        const size_t bytes =
            cpti_utf8_bytes(name.data + class.bytes, name.bytes - class.bytes);
        const size_t next = class.bytes + (bytes != 0 ? bytes : 1);

        if (next > sizeof class.name) {
            break;
        }
        class.bytes = (unsigned char)next;
    }
    if (class.bytes != 0) {
        memcpy(class.name, name.data, class.bytes);
    }
    return add(learn->alloc, few, &class);
}

void cpti_learn_few_reset(struct learn_few *few)
{
    if (few->count != 0) {
        few->count = 0;
        cpti_hash_index_reset(&few->index);
    }
    few->halvings = 0;
}

void cpti_learn_few_deinit(const struct cpti_learn *learn, struct learn_few *few)
{
    cpt_alloc_free(learn->alloc, few->index.slots);
    cpt_alloc_free(learn->alloc, few->items);
}

cpt_status cpti_learn_count_few(struct cpti_learn *learn)
{
    const struct learn_few *own = &learn->few_of_trace;
    struct learn_few *all = &learn->few;
    cpt_status status = CPT_OK;

    while (all->halvings < own->halvings) {
        halve(all);
    }
    for (size_t i = 0; i < own->count && status == CPT_OK; i++) {
        status = add(learn->alloc, all, &own->items[i]);
    }
    return status;
}

/* Those with most events come first, then by name. */
static bool is_first(const struct learn_few_class *left,
                     const struct learn_few_class *right)
{
    const size_t bytes = left->bytes < right->bytes ? left->bytes : right->bytes;
    const int order = memcmp(left->name, right->name, bytes);

    if (left->events != right->events) {
        return left->events > right->events;
    }
    if (order != 0 || left->bytes != right->bytes) {
        return order != 0 ? order < 0 : left->bytes < right->bytes;
    }
    return left->key < right->key;
}

size_t cpti_learn_few_list(const struct cpti_learn *learn,
                           struct cpti_learn_few *classes, size_t max, bool *is_all)
{
    const struct learn_few *few = &learn->few;
    const struct learn_few_class *before = NULL;
    size_t count = 0;

    *is_all = few->halvings == 0;
    for (; count < max && count < few->count; count++) {
        const struct learn_few_class *first = NULL;

        for (size_t i = 0; i < few->count; i++) {
            const struct learn_few_class *one = &few->items[i];

            if ((before == NULL || is_first(before, one)) &&
                (first == NULL || is_first(one, first))) {
                first = one;
            }
        }
        if (first == NULL) {
            break;
        }
        before = first;
        classes[count] =
            (struct cpti_learn_few){{before->name, before->bytes}, before->events};
    }
    return count;
}
