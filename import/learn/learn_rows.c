/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_rows.c - the second pass: how late events came, by what they come behind
 *
 * Of many events those with the smallest hashes are kept, so that it does not matter
 * which come first.
 */
#include "import/learn/learn_inside.h"

#include <stdlib.h>

enum { SPARE_ROWS = LEARN_ROWS_MAX / 4 };

/* In a key: it is of operations, not of places; its rows are gaps. */
#define BY_OPERATION (UINT64_C(1) << 63)
#define OF_GAPS      (UINT64_C(1) << 62)

static int compare_rows(const void *left, const void *right)
{
    const struct learn_row *a = left;
    const struct learn_row *b = right;

    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    if (a->event_ns != b->event_ns) {
        return a->event_ns < b->event_ns ? -1 : 1;
    }
    return (a->held_ns > b->held_ns) - (a->held_ns < b->held_ns);
}

/* --- Keys --- */

static uint32_t place_of(const struct learn_node *node, size_t call)
{
    return call < node->count ? node->calls[call].place : 0;
}

static uint64_t key_of(const struct learn_node *node, size_t number, bool by_operation)
{
    const uint32_t event = place_of(node, number);
    const uint32_t behind = node->events[number].behind != LEARN_NONE
                                ? place_of(node, node->events[number].behind)
                                : 0;

    if (!by_operation) {
        return ((uint64_t)event << 32) | behind;
    }
    return BY_OPERATION |
           ((uint64_t)(event != 0 ? learn_place(node->class, event)->operation + 1 : 0)
            << 32) |
           (behind != 0 ? learn_place(node->class, behind)->operation + 1 : 0);
}

/* What is the same of a place, or of an operation + 1, whatever numbers they have. */
static uint64_t hash_of(const struct learn_class *class, uint32_t number,
                        bool is_operation)
{
    const struct learn_place *place = learn_place(class, number);

    if (number == 0) {
        return 0;
    }
    if (is_operation) {
        return learn_operation(class, number - 1)->key;
    }
    return learn_operation(class, place->operation)->key ^
           cpti_hash_mix(place->key & LEARN_PLACE_NUMBERS);
}

static void free_rows(struct cpti_learn *learn, struct learn_key *key)
{
    cpt_alloc_free(learn->alloc, key->rows);
    key->rows = NULL;
    key->row_count = 0;
    key->row_capacity = 0;
}

/* Calls @visit with all keys. */
static cpt_status each_key(struct cpti_learn *learn,
                           cpt_status (*visit)(struct cpti_learn *learn,
                                               struct learn_key *key, void *context),
                           void *context)
{
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < learn->classes.count; i++) {
        struct learn_class *class = learn_at(&learn->classes, i);

        for (size_t j = 0; j < class->keys.count && status == CPT_OK; j++) {
            status = visit(learn, learn_at(&class->keys, j), context);
        }
    }
    return status;
}

static cpt_status forget_rows(struct cpti_learn *learn, struct learn_key *key,
                              void *context)
{
    (void)context;
    free_rows(learn, key);
    return CPT_OK;
}

/* --- Rows --- */

uint64_t cpti_learn_event_hash(const struct cpti_learn *learn,
                               const struct cpti_making *making, uint32_t visit,
                               size_t event)
{
    const struct learn_node *node = &learn->node;
    const uint32_t span = event < node->count
                              ? making->calls[node->calls[event].number].span
                              : making->visits[visit].span;

    return cpti_hash_mix(
        learn->trace_hash ^
        cpti_id_hash(event < node->count, cpti_spans_at(making->spans, span)->id));
}

static cpt_status add_row(struct cpti_learn *learn, uint64_t number,
                          const struct learn_row *row)
{
    struct learn_class *class = learn->node.class;
    const size_t before = class->keys.count;
    struct learn_key *key = NULL;
    cpt_status status = cpti_learn_entry(learn, &class->keys, number,
                                         LEARN_CLASS_PAIRS_MAX, true, (void **)&key);

    if (key == NULL) {
        return status;
    }
    if (class->keys.count != before) {
        const bool is_operation = (number & BY_OPERATION) != 0;
        const uint64_t numbers = number & ~(BY_OPERATION | OF_GAPS);

        key->hash = cpti_hash_mix(
            class->key ^ number >> 62 ^
            cpti_hash_mix(hash_of(class, (uint32_t)(numbers >> 32), is_operation)) ^
            hash_of(class, (uint32_t)numbers, is_operation));
        learn->key_count++;
    }
    if (learn->key_count > LEARN_FITS_MAX && !learn->is_counted && !learn->is_chosen) {
        learn->is_counted = true;
        (void)each_key(learn, forget_rows, NULL);
    }
    key->count += !learn->is_chosen;
    if (learn->is_counted || key->is_left_out) {
        return CPT_OK;
    }
    status = cpt_alloc_grow(learn->alloc, (void **)&key->rows, &key->row_capacity,
                            key->row_count + 1, LEARN_ROWS_MAX + SPARE_ROWS,
                            sizeof *key->rows);
    if (status == CPT_OK) {
        key->rows[key->row_count++] = *row;
        if (key->row_count == LEARN_ROWS_MAX + SPARE_ROWS) {
            qsort(key->rows, key->row_count, sizeof *key->rows, compare_rows);
            key->row_count = LEARN_ROWS_MAX;
        }
    }
    return status;
}

/* How long @event took behind all that it came behind. */
static cpt_status add_gap(struct cpti_learn *learn, size_t number, uint64_t hash)
{
    const struct learn_event *event = &learn->node.events[number];
    const uint64_t last_ns =
        event->held_ns > event->behind_ns ? event->held_ns : event->behind_ns;

    return add_row(
        learn, key_of(&learn->node, number, false) | OF_GAPS,
        &(struct learn_row){.hash = hash, .event_ns = event->at_ns - last_ns});
}

static cpt_status add_held(struct cpti_learn *learn, size_t number, uint64_t hash)
{
    struct learn_node *node = &learn->node;
    const struct learn_event *event = &node->events[number];
    struct learn_row row = {.hash = hash,
                            .held_ns = (int64_t)(event->held_ns - event->behind_ns),
                            .event_ns = event->at_ns - event->behind_ns};
    cpt_status status = CPT_OK;

    for (size_t k = 0; k < LEARN_ROW_ENDS_MAX && k < event->held_count; k++) {
        const struct learn_call *call = &node->calls[node->held[event->held_at + k]];

        row.end_ns[k] = (int64_t)(call->end_ns - event->behind_ns);
        row.places[k] = (uint16_t)call->place;
    }
    status = add_row(learn, key_of(node, number, false), &row);
    return status == CPT_OK ? add_row(learn, key_of(node, number, true), &row) : status;
}

cpt_status cpti_learn_add_rows(struct cpti_learn *learn,
                               const struct cpti_making *making, uint32_t visit)
{
    struct learn_node *node = &learn->node;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i <= node->count && status == CPT_OK; i++) {
        const struct learn_event *event = &node->events[i];
        const bool has_wire = cpti_learn_has_wire(node, i);
        uint64_t hash = 0;

        if (event->is_timed || (event->held_count == 0 && !has_wire)) {
            continue;
        }
        hash = cpti_learn_event_hash(learn, making, visit, i);
        if (has_wire) {
            status = add_gap(learn, i, hash);
        }
        if (status == CPT_OK && event->held_count != 0) {
            status = add_held(learn, i, hash);
        }
    }
    cpti_learn_bound(learn);
    return status;
}

/* --- Fits --- */

static int compare_gaps(const void *left, const void *right)
{
    const struct learn_row *a = left;
    const struct learn_row *b = right;

    return (a->event_ns > b->event_ns) - (a->event_ns < b->event_ns);
}

/* The gap that one of twenty is below. */
static uint64_t least_gap(struct learn_row *rows, size_t count)
{
    qsort(rows, count, sizeof *rows, compare_gaps);
    return rows[count / 20].event_ns;
}

static cpt_status fit_key(struct cpti_learn *learn, struct learn_key *key,
                          void *context)
{
    (void)context;
    if (key->count >= CPTI_LEARN_NODES_MIN && key->row_count != 0) {
        key->fit = cpt_alloc_zeroed(learn->alloc, sizeof *key->fit);
        if (key->fit == NULL) {
            return CPT_NO_MEMORY;
        }
        qsort(key->rows, key->row_count, sizeof *key->rows, compare_rows);
        if (key->row_count > LEARN_ROWS_MAX) {
            key->row_count = LEARN_ROWS_MAX;
        }
        if ((key->key & OF_GAPS) != 0) {
            key->fit->wire_ns = least_gap(key->rows, key->row_count);
        } else {
            cpti_learn_fit(key->rows, key->row_count, (key->key & BY_OPERATION) == 0,
                           cpti_learn_resolution_ns(learn), key->fit);
        }
    }
    free_rows(learn, key);
    return CPT_OK;
}

/* All keys, while the ones with most events are chosen. */
struct choice {
    struct learn_key **keys;
    size_t count;
};

static cpt_status list_key(struct cpti_learn *learn, struct learn_key *key,
                           void *context)
{
    struct choice *choice = context;

    (void)learn;
    choice->keys[choice->count++] = key;
    return CPT_OK;
}

static int compare_keys(const void *left, const void *right)
{
    const struct learn_key *a = *(struct learn_key *const *)left;
    const struct learn_key *b = *(struct learn_key *const *)right;

    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    return (a->hash > b->hash) - (a->hash < b->hash);
}

static cpt_status choose_keys(struct cpti_learn *learn)
{
    struct choice choice = {
        cpt_alloc_array(learn->alloc, NULL, learn->key_count + 1, sizeof(void *)), 0};

    if (choice.keys == NULL) {
        return CPT_NO_MEMORY;
    }
    (void)each_key(learn, list_key, &choice);
    qsort(choice.keys, choice.count, sizeof(void *), compare_keys);
    for (size_t i = LEARN_FITS_MAX; i < choice.count; i++) {
        choice.keys[i]->is_left_out = true;
    }
    cpt_alloc_free(learn->alloc, choice.keys);
    learn->is_counted = false;
    learn->is_chosen = true;
    return CPT_OK;
}

cpt_status cpti_learn_fit_all(struct cpti_learn *learn, bool *is_done)
{
    *is_done = !learn->is_counted;
    return learn->is_counted ? choose_keys(learn) : each_key(learn, fit_key, NULL);
}

const struct learn_fit *cpti_learn_fit_of(const struct learn_node *node, size_t event)
{
    for (unsigned by_operation = 0; by_operation < 2; by_operation++) {
        const struct learn_key *key =
            cpti_learn_find(&node->class->keys, key_of(node, event, by_operation != 0));

        if (key != NULL && key->count >= CPTI_LEARN_NODES_MIN) {
            return key->fit;
        }
    }
    return NULL;
}

uint64_t cpti_learn_wire_of(const struct learn_node *node, size_t event)
{
    const struct learn_key *key = NULL;

    if (!cpti_learn_has_wire(node, event)) {
        return 0;
    }
    key = cpti_learn_find(&node->class->keys, key_of(node, event, false) | OF_GAPS);
    return key != NULL && key->fit != NULL ? key->fit->wire_ns : UINT64_MAX;
}
