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

static struct learn_few_class *class_at(const struct learn_few *few, size_t number)
{
    return learn_at(&few->classes, number);
}

static void halve(struct learn_few *few)
{
    cpti_learn_halve(&few->classes, &few->hash_max, NULL, NULL);
}

/* Adds the events of @class. */
static cpt_status add(const struct cpt_alloc *alloc, struct learn_few *few,
                      const struct learn_few_class *class)
{
    struct learn_few_class *found = cpti_learn_find(&few->classes, class->key);
    cpt_status status = CPT_OK;
    void *entry = NULL;

    if (found != NULL) {
        found->events += class->events;
        return CPT_OK;
    }
    while (few->classes.count == CPTI_LEARN_FEW_CLASSES_MAX &&
           class->key <= few->hash_max) {
        halve(few);
    }
    if (class->key > few->hash_max) {
        return CPT_OK;
    }
    status = cpti_learn_add(alloc, &few->classes, class->key,
                            CPTI_LEARN_FEW_CLASSES_MAX, &entry);
    if (status == CPT_OK) {
        memcpy(entry, class, sizeof *class);
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
    few->classes.entry_bytes = sizeof(struct learn_few_class);
    if (few->classes.count != 0) {
        few->classes.count = 0;
        cpti_hash_index_reset(&few->classes.index);
    }
    few->hash_max = UINT64_MAX;
}

void cpti_learn_few_deinit(const struct cpti_learn *learn, struct learn_few *few)
{
    cpt_alloc_free(learn->alloc, few->classes.index.slots);
    cpt_alloc_free(learn->alloc, few->classes.entries);
}

cpt_status cpti_learn_count_few(struct cpti_learn *learn)
{
    const struct learn_few *own = &learn->few_of_trace;
    struct learn_few *all = &learn->few;
    cpt_status status = CPT_OK;

    while (all->hash_max > own->hash_max) {
        halve(all);
    }
    for (size_t i = 0; i < own->classes.count && status == CPT_OK; i++) {
        status = add(learn->alloc, all, class_at(own, i));
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

    *is_all = few->hash_max == UINT64_MAX;
    for (; count < max && count < few->classes.count; count++) {
        const struct learn_few_class *first = NULL;

        for (size_t i = 0; i < few->classes.count; i++) {
            const struct learn_few_class *one = class_at(few, i);

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
