/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* event_names.c - names of events by number; see event_names.h */
#include "import/events/event_names.h"

#include <stdlib.h>

enum { KINDS_ALL_MAX = 1 << 21, FIRST_SLOTS = 256 };

/* --- Texts --- */

static cpt_status texts_init(struct cpti_event_texts *texts,
                             const struct cpt_alloc *alloc)
{
    uint32_t unknown = 0;

    texts->names = cpt_names_new(alloc);
    return texts->names != NULL ? cpti_event_text_add(texts, cpt_bytes_of(""), &unknown)
                                : CPT_NO_MEMORY;
}

/* Where @text is remembered: by its length and its ends. */
static size_t memo_of(struct cpt_bytes text)
{
    uint64_t head = 0;
    uint64_t tail = 0;

    if (text.bytes >= sizeof head) {
        memcpy(&head, text.data, sizeof head);
        memcpy(&tail, text.data + text.bytes - sizeof tail, sizeof tail);
    } else if (text.bytes > 0) {
        memcpy(&head, text.data, text.bytes);
    }
    return (size_t)(cpti_hash_mix(head ^ (tail << 1) ^ text.bytes) % CPTI_NAME_MEMO);
}

cpt_status cpti_event_text_add(struct cpti_event_texts *texts, struct cpt_bytes text,
                               uint32_t *number)
{
    uint32_t *memo = &texts->memo[memo_of(text)];
    char buffer[CPT_NAME_BYTES_MAX + 1];
    cpt_status status;

    if (*memo != 0 && cpt_bytes_equal(cpt_names_at(texts->names, *memo - 1), text)) {
        *number = *memo - 1;
        return CPT_OK;
    }
    text = cpt_name_bound(text, buffer);
    if (cpt_names_count(texts->names) >= CPT_NAMES_MAX - 1 &&
        !cpt_names_find(texts->names, text, number)) {
        text = cpt_bytes_of(CPTI_KIND_OTHER);
    }
    status = cpt_names_add(texts->names, text, number);
    if (status == CPT_OK) {
        *memo = *number + 1;
    }
    return status;
}

cpt_status cpti_event_names_init(struct cpti_event_names *names,
                                 const struct cpt_alloc *alloc, uint64_t seed)
{
    cpt_status status;

    *names = (struct cpti_event_names){.alloc = alloc, .seed = seed};
    status = texts_init(&names->services, alloc);
    status = status == CPT_OK ? texts_init(&names->hosts, alloc) : status;
    return status == CPT_OK ? texts_init(&names->texts, alloc) : status;
}

void cpti_event_names_deinit(struct cpti_event_names *names)
{
    cpt_names_free(names->services.names);
    cpt_names_free(names->hosts.names);
    cpt_names_free(names->texts.names);
    cpt_alloc_free(names->alloc, names->kinds);
    cpt_alloc_free(names->alloc, names->index.slots);
    cpt_alloc_free(names->alloc, names->final_services);
    cpt_alloc_free(names->alloc, names->final_hosts);
    cpt_alloc_free(names->alloc, names->service_order);
    cpt_alloc_free(names->alloc, names->host_order);
    cpt_alloc_free(names->alloc, names->kind_order);
}

/* --- Kinds --- */

static uint64_t hash_kind(const struct cpti_event_names *names, uint32_t service,
                          uint32_t name)
{
    return cpti_hash_mix(names->seed ^ ((uint64_t)service << 32 | name));
}

static uint64_t hash_entry(const void *owner, size_t number)
{
    const struct cpti_event_names *names = owner;

    return hash_kind(names, names->kinds[number].service, names->kinds[number].name);
}

/* The number of a kind, which is added if it is new. */
static cpt_status find_kind(struct cpti_event_names *names, uint32_t service,
                            uint32_t name, uint32_t *number)
{
    const uint64_t hash = hash_kind(names, service, name);
    void *kinds = names->kinds;
    cpt_status status = CPT_OK;
    size_t slot = 0;

    if (cpti_hash_index_is_full(&names->index, names->kind_count, 2)) {
        status = cpti_hash_index_grow(&names->index, names->alloc, FIRST_SLOTS,
                                      names->kind_count, hash_entry, names);
    }
    if (status != CPT_OK) {
        return status;
    }
    for (slot = cpti_hash_index_first(&names->index, hash);
         names->index.slots[slot] != 0;
         slot = cpti_hash_index_next(&names->index, slot)) {
        const struct cpti_event_kind *kind =
            &names->kinds[names->index.slots[slot] - 1];

        if (kind->service == service && kind->name == name) {
            *number = names->index.slots[slot] - 1;
            return CPT_OK;
        }
    }
    status = cpt_alloc_grow(names->alloc, &kinds, &names->kind_capacity,
                            names->kind_count + 1, UINT32_MAX, sizeof *names->kinds);
    names->kinds = kinds;
    if (status == CPT_OK) {
        names->kinds[names->kind_count] =
            (struct cpti_event_kind){.service = service, .name = name};
        *number = (uint32_t)names->kind_count++;
        names->index.slots[slot] = *number + 1;
    }
    return status;
}

cpt_status cpti_event_kind_add(struct cpti_event_names *names, uint32_t service,
                               struct cpt_bytes text, uint32_t *number)
{
    uint32_t name = 0;
    cpt_status status;

    if (names->kind_count >= KINDS_ALL_MAX) {
        text = cpt_bytes_of(CPTI_KIND_OTHER);
    }
    status = cpti_event_text_add(&names->texts, text, &name);
    status = status == CPT_OK ? find_kind(names, service, name, number) : status;
    if (status == CPT_OK) {
        names->kinds[*number].events++;
    }
    return status;
}

/* --- Final numbers --- */

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes > 0 ? memcmp(left.data, right.data, bytes) : 0;

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

static int compare_texts(const void *left, const void *right, void *context)
{
    const struct cpt_names *names = context;

    return compare_bytes(cpt_names_at(names, *(const uint32_t *)left),
                         cpt_names_at(names, *(const uint32_t *)right));
}

/* Sorts @texts: *@order has their numbers, *@final the place of each. */
static cpt_status order_texts(const struct cpti_event_names *names,
                              const struct cpti_event_texts *texts, uint32_t **order,
                              uint32_t **final)
{
    const size_t count = cpt_names_count(texts->names);

    *order = cpt_alloc_array(names->alloc, NULL, count, sizeof **order);
    *final = cpt_alloc_array(names->alloc, NULL, count, sizeof **final);
    if (*order == NULL || *final == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        (*order)[i] = (uint32_t)i;
    }
    qsort_r(*order, count, sizeof **order, compare_texts, texts->names);
    for (size_t i = 0; i < count; i++) {
        (*final)[(*order)[i]] = (uint32_t)i;
    }
    return CPT_OK;
}

static int compare_names(const struct cpti_event_names *names, uint32_t left,
                         uint32_t right)
{
    return compare_texts(&names->kinds[left].name, &names->kinds[right].name,
                         names->texts.names);
}

/* By service, those that are left out last, then by name. */
static int compare_kinds(const void *left, const void *right, void *context)
{
    const struct cpti_event_names *names = context;
    const struct cpti_event_kind *a = &names->kinds[*(const uint32_t *)left];
    const struct cpti_event_kind *b = &names->kinds[*(const uint32_t *)right];

    if (a->is_left_out != b->is_left_out) {
        return a->is_left_out - b->is_left_out;
    }
    if (a->service != b->service) {
        return names->final_services[a->service] < names->final_services[b->service]
                   ? -1
                   : 1;
    }
    return compare_names(names, *(const uint32_t *)left, *(const uint32_t *)right);
}

/* By service, those with the most events first. */
static int compare_events(const void *left, const void *right, void *context)
{
    const struct cpti_event_names *names = context;
    const struct cpti_event_kind *a = &names->kinds[*(const uint32_t *)left];
    const struct cpti_event_kind *b = &names->kinds[*(const uint32_t *)right];

    if (a->service != b->service) {
        return a->service < b->service ? -1 : 1;
    }
    if (a->events != b->events) {
        return a->events > b->events ? -1 : 1;
    }
    return compare_names(names, *(const uint32_t *)left, *(const uint32_t *)right);
}

/* Leaves out the kinds that are too many of their service: of each of those services,
 * which are @order[from, to), all but CPTI_KINDS_MAX - 1 and the rest's. */
static cpt_status leave_out(struct cpti_event_names *names, const uint32_t *order,
                            size_t count, uint64_t *left_out)
{
    const struct cpt_bytes other = cpt_bytes_of(CPTI_KIND_OTHER);

    *left_out = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        const uint32_t service = names->kinds[order[from]].service;
        uint32_t name = 0;
        uint32_t rest = 0;
        cpt_status status;

        while (to < count && names->kinds[order[to]].service == service) {
            to++;
        }
        if (to - from <= CPTI_KINDS_MAX) {
            continue;
        }
        status = cpti_event_text_add(&names->texts, other, &name);
        status = status == CPT_OK ? find_kind(names, service, name, &rest) : status;
        if (status != CPT_OK) {
            return status;
        }
        for (size_t i = from + CPTI_KINDS_MAX - 1; i < to; i++) {
            struct cpti_event_kind *kind = &names->kinds[order[i]];

            kind->is_left_out = order[i] != rest;
            kind->final = rest;
            *left_out += kind->is_left_out ? kind->events : 0;
        }
    }
    return CPT_OK;
}

static cpt_status order_kinds(struct cpti_event_names *names, uint64_t *left_out)
{
    const size_t came = names->kind_count;
    uint32_t *order = cpt_alloc_array(names->alloc, NULL, came + 1, sizeof *order);
    cpt_status status;

    if (order == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < came; i++) {
        order[i] = (uint32_t)i;
    }
    qsort_r(order, came, sizeof *order, compare_events, names);
    status = leave_out(names, order, came, left_out);
    cpt_alloc_free(names->alloc, order);
    if (status != CPT_OK) {
        return status;
    }
    names->kind_order = cpt_alloc_array(names->alloc, NULL, names->kind_count + 1,
                                        sizeof *names->kind_order);
    if (names->kind_order == NULL) {
        return CPT_NO_MEMORY;
    }
    for (size_t i = 0; i < names->kind_count; i++) {
        names->kind_order[i] = (uint32_t)i;
    }
    qsort_r(names->kind_order, names->kind_count, sizeof *names->kind_order,
            compare_kinds, names);
    return CPT_OK;
}

cpt_status cpti_event_names_finish(struct cpti_event_names *names, uint64_t *left_out)
{
    cpt_status status = order_texts(names, &names->services, &names->service_order,
                                    &names->final_services);

    if (status == CPT_OK) {
        status =
            order_texts(names, &names->hosts, &names->host_order, &names->final_hosts);
    }
    status = status == CPT_OK ? order_kinds(names, left_out) : status;
    if (status != CPT_OK) {
        return status;
    }
    for (size_t i = 0; i < names->kind_count; i++) {
        struct cpti_event_kind *kind = &names->kinds[names->kind_order[i]];

        if (!kind->is_left_out) {
            kind->final = (uint32_t)i;
            names->final_kind_count = i + 1;
        }
    }
    for (size_t i = names->final_kind_count; i < names->kind_count; i++) {
        struct cpti_event_kind *kind = &names->kinds[names->kind_order[i]];

        kind->final = names->kinds[kind->final].final;
    }
    return CPT_OK;
}
