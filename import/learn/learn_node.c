/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * learn_node.c - the calls of a visit, as its class calls them
 */
#include "import/learn/learn_inside.h"

#include <stdlib.h>

/* What the calls of a node are sorted by. */
struct sorting {
    const struct cpti_making *making;
    const struct learn_call *calls;
};

static struct cpt_bytes name_of(const struct cpti_making *making, uint32_t number)
{
    const struct cpti_visit_call *call = &making->calls[number];

    return call->call.name.data != NULL
               ? call->call.name
               : cpti_spans_at(making->spans, call->span)->operation;
}

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes != 0 ? memcmp(left.data, right.data, bytes) : 0;

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

static int compare_starts(const void *left, const void *right, void *context)
{
    const struct cpti_making *making = context;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    const struct cpt_trace_call *first = &making->calls[a].call;
    const struct cpt_trace_call *second = &making->calls[b].call;
    int order = 0;

    if (first->issue_ns != second->issue_ns) {
        return first->issue_ns < second->issue_ns ? -1 : 1;
    }
    if (first->arrive_ns != second->arrive_ns) {
        return first->arrive_ns < second->arrive_ns ? -1 : 1;
    }
    order = compare_bytes(name_of(making, a), name_of(making, b));
    return order != 0 ? order : cpti_visit_calls_order(making, a, b);
}

static int compare_ends(const void *left, const void *right, void *context)
{
    const struct learn_call *calls = context;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return calls[a].end_ns != calls[b].end_ns
               ? (calls[a].end_ns < calls[b].end_ns ? -1 : 1)
               : (a > b) - (a < b);
}

static bool is_failed(const struct cpti_making *making,
                      const struct cpti_visit_call *call)
{
    return cpti_spans_at(making->spans, call->span)->is_failed ||
           (call->callee != CPTI_NO_VISIT &&
            cpti_spans_at(making->spans, making->visits[call->callee].span)->is_failed);
}

static cpt_status make_room(struct cpti_learn *learn, size_t count)
{
    struct learn_node *node = &learn->node;
    const struct cpt_alloc *alloc = learn->alloc;
    cpt_status status =
        cpt_alloc_grow(alloc, (void **)&node->calls, &node->call_capacity, count + 1,
                       SIZE_MAX, sizeof *node->calls);

    if (status == CPT_OK) {
        status = cpt_alloc_grow(alloc, (void **)&node->ends, &node->end_capacity,
                                count + 1, SIZE_MAX, sizeof *node->ends);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(alloc, (void **)&node->ranked, &node->ranked_capacity,
                                count + 1, SIZE_MAX, sizeof *node->ranked);
    }
    if (status == CPT_OK) {
        status = cpt_alloc_grow(alloc, (void **)&node->events, &node->event_capacity,
                                count + 1, SIZE_MAX, sizeof *node->events);
    }
    return status;
}

/* The operation of each call; false: the class has no room for one, or does not know
 * it. */
static cpt_status find_operations(struct cpti_learn *learn,
                                  const struct cpti_making *making, bool *is_known)
{
    struct learn_node *node = &learn->node;
    struct learn_table *table = &node->class->operations;
    cpt_status status = CPT_OK;

    learn->node_count++;
    for (size_t i = 0; i < node->count && status == CPT_OK && *is_known; i++) {
        struct learn_call *call = &node->calls[i];
        const struct cpt_bytes name = name_of(making, call->number);
        const bool has_failed = is_failed(making, &making->calls[call->number]);
        struct learn_operation *operation = NULL;

        call->name_hash = cpt_hash_bytes(1, name.data, name.bytes) & ~UINT64_C(1);
        status = cpti_learn_entry(learn, table, call->name_hash | has_failed,
                                  LEARN_PLACES_MAX, learn->pass == LEARN_COUNT,
                                  (void **)&operation);
        *is_known = operation != NULL;
        if (operation != NULL) {
            if (operation->node != learn->node_count) {
                operation->node = learn->node_count;
                operation->in_node = 0;
                operation->seen = 0;
            }
            operation->is_failed = has_failed;
            call->operation = (uint32_t)(operation - learn_operation(node->class, 0));
            call->rank = operation->in_node++;
        }
    }
    return status;
}

static cpt_status find_places(struct cpti_learn *learn, bool *is_known)
{
    struct learn_node *node = &learn->node;
    cpt_status status = CPT_OK;

    for (size_t i = 0; i < node->count && status == CPT_OK && *is_known; i++) {
        struct learn_call *call = &node->calls[i];
        const uint64_t key = ((uint64_t)call->operation << (2 * LEARN_NUMBER_BITS)) |
                             ((uint64_t)call->rank << LEARN_NUMBER_BITS) |
                             learn_operation(node->class, call->operation)->in_node;
        struct learn_place *place = NULL;

        status = cpti_learn_entry(learn, &node->class->places, key, LEARN_PLACES_MAX,
                                  learn->pass == LEARN_COUNT, (void **)&place);
        *is_known = place != NULL;
        if (place != NULL) {
            place->operation = call->operation;
            call->place = (uint32_t)(place - learn_place(node->class, 0));
        }
    }
    return status;
}

/* The calls by their end, also those of each operation. */
static void rank_ends(struct learn_node *node)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < node->count; i++) {
        node->ends[i] = i;
    }
    qsort_r(node->ends, node->count, sizeof *node->ends, compare_ends, node->calls);
    for (uint32_t i = 0; i < node->count; i++) {
        struct learn_operation *operation =
            learn_operation(node->class, node->calls[i].operation);

        if (node->calls[i].rank == 0) {
            operation->ranked_at = at;
            at += operation->in_node;
        }
    }
    for (size_t i = 0; i < node->count; i++) {
        struct learn_operation *operation =
            learn_operation(node->class, node->calls[node->ends[i]].operation);

        node->ranked[operation->ranked_at + operation->seen++] = node->ends[i];
    }
}

/* The call of the same name before each; second attempts that a timer started. */
static void find_attempts(struct learn_node *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        struct learn_call *call = &node->calls[i];

        call->before = LEARN_NONE;
        for (uint32_t j = i; j-- > 0 && i - j <= LEARN_NEAR_MAX;) {
            if (node->calls[j].name_hash == call->name_hash) {
                call->before = j;
                call->is_timed = (call->is_lost || node->calls[j].is_lost) &&
                                 node->calls[j].end_ns > call->start_ns;
                break;
            }
        }
    }
}

cpt_status cpti_learn_node(struct cpti_learn *learn, struct cpti_making *making,
                           uint32_t number, uint32_t *starts, size_t count,
                           struct learn_class *class)
{
    struct learn_node *node = &learn->node;
    bool is_known = true;
    cpt_status status = make_room(learn, count);

    if (status != CPT_OK) {
        return status;
    }
    node->class = class;
    node->begin_ns = making->visits[number].trace.arrival_ns;
    node->end_ns = making->visits[number].trace.response_ns;
    node->count = count;
    qsort_r(starts, count, sizeof *starts, compare_starts, making);
    for (size_t i = 0; i < count; i++) {
        const struct cpti_visit_call *call = &making->calls[starts[i]];

        node->calls[i] =
            (struct learn_call){.start_ns = call->call.issue_ns,
                                .end_ns = call->call.arrive_ns,
                                .number = starts[i],
                                .is_lost = call->is_beside,
                                .is_bare = cpti_visit_is_bare(making, starts[i])};
    }
    status = find_operations(learn, making, &is_known);
    if (status == CPT_OK && is_known) {
        status = find_places(learn, &is_known);
    }
    if (status == CPT_OK && !is_known) {
        node->class = NULL;
        if (learn->pass == LEARN_COUNT) {
            cpti_learn_leave_out(learn, class);
        }
    }
    if (status == CPT_OK && is_known) {
        rank_ends(node);
        find_attempts(node);
    }
    return status;
}

uint64_t cpti_learn_tolerance(const struct learn_node *node,
                              const struct learn_call *call, size_t event)
{
    const uint64_t share_ns = (node->end_ns - node->begin_ns) / CPTI_OVERLAP_SHARE;
    uint64_t shorter_ns = call->end_ns - call->start_ns;

    if (event == node->count) {
        return share_ns;
    }
    if (node->calls[event].end_ns - node->calls[event].start_ns < shorter_ns) {
        shorter_ns = node->calls[event].end_ns - node->calls[event].start_ns;
    }
    return share_ns < shorter_ns / 2 ? share_ns : shorter_ns / 2;
}
