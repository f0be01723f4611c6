/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_tools.c - the critical path as two other tools find it
 *
 * They are CRISP (commit 2710c0b9) and Jaeger's page (jaeger-ui, commit c321fb32). In
 * both, a span that is on the path picks some of its children, from the one that ends
 * last backwards; what lies between those is its own; and the same goes on in each. How
 * a span was entered plays no part, so the spans of the path are a list that grows
 * while it is read:
 *
 *      keys     [ root | a, b | c | ... ]
 *                  '----^  '---^ picked by
 *
 *                          Jaeger's page             CRISP
 *      a child may stick   no: it is cut to its      if it is the one child, and the
 *      out of its parent   parent's time             server's side of a call
 *      picked next is      the last one that ends    each that ends before the last one
 *                          before the last one       begins, or overlaps it by less
 *                          begins                    than 1 % of the parent, and no
 *                                                    other begins or ends meanwhile
 *      of equal ends       the first to start        the last in the file
 *      a span's own time   what its children leave   its duration less theirs
 *
 * The time that is a span's own need not be all that its children leave, in CRISP: then
 * it is the last of that. docs/import.md says what differs from the tools still.
 */
#include "import/spans/span_tree.h"

#include <stdlib.h>

static const double overlap_share = 0.01;
static const double server_share = 1.01; /* of its client's duration, at most */

/* --- Who is in the tree, and when --- */

static uint64_t start_of(const struct cpti_spans *spans, uint32_t number)
{
    return spans->items[number].start_ns;
}

static uint64_t end_of(const struct cpti_spans *spans, uint32_t number)
{
    return spans->items[number].start_ns + spans->items[number].duration_ns;
}

/* What lies outside is left out, also if it takes no time. */
static enum cpti_span_fate enter_as_jaeger_ui(struct cpti_spans *spans, uint32_t above,
                                              uint32_t child)
{
    const struct cpti_span_node *parent = &spans->nodes[above];
    struct cpti_span_node *node = &spans->nodes[child];
    const uint64_t start_ns = start_of(spans, child);
    const uint64_t end_ns = end_of(spans, child);

    if (spans->items[above].kind == CPTI_SPAN_PRODUCER &&
        spans->items[child].kind == CPTI_SPAN_CONSUMER) {
        return CPTI_SPAN_asynchronous;
    }
    node->start_ns = parent->start_ns;
    node->end_ns = parent->end_ns;
    if (!spans->items[child].has_time) {
        return CPTI_SPAN_IN_TREE;
    }
    if (start_ns >= parent->end_ns ||
        (start_ns < parent->start_ns && end_ns <= parent->start_ns)) {
        return CPTI_SPAN_outside;
    }
    node->start_ns = start_ns > parent->start_ns ? start_ns : parent->start_ns;
    node->end_ns = end_ns < parent->end_ns ? end_ns : parent->end_ns;
    return CPTI_SPAN_IN_TREE;
}

/* Whether CRISP takes @child, the one child of @above, for the server's side of its
 * call. Durations are compared in microseconds, with its rounding. */
static bool is_call(const struct cpti_spans *spans, uint32_t above, uint32_t child)
{
    const struct cpti_span *parent = &spans->items[above];
    const struct cpti_span *span = &spans->items[child];
    const uint32_t higher = spans->nodes[above].parent;
    const bool is_served =
        span->kind == CPTI_SPAN_SERVER &&
        (parent->kind == CPTI_SPAN_CLIENT ||
         (parent->kind != CPTI_SPAN_SERVER && higher != CPTI_SPAN_NONE &&
          spans->items[higher].kind == CPTI_SPAN_SERVER));
    const bool is_elsewhere = parent->hostname != 0 && span->hostname != 0 &&
                              parent->hostname != span->hostname;

    return (is_served || is_elsewhere) &&
           (double)span->duration_ns / 1000 <=
               server_share * ((double)spans->durations[above] / 1000);
}

static enum cpti_span_fate enter_as_crisp(struct cpti_spans *spans, uint32_t above,
                                          uint32_t child, bool is_only)
{
    const struct cpti_span_node *parent = &spans->nodes[above];
    struct cpti_span_node *node = &spans->nodes[child];
    uint64_t *durations = spans->durations;
    const uint64_t start_ns = start_of(spans, child);
    const uint64_t end_ns = end_of(spans, child);

    if (spans->items[child].is_async) {
        return CPTI_SPAN_asynchronous;
    }
    node->start_ns = parent->start_ns;
    node->end_ns = parent->end_ns;
    durations[child] = durations[above];
    if (!spans->items[child].has_time) {
        return CPTI_SPAN_IN_TREE;
    }
    if (is_only && is_call(spans, above, child)) {
        node->start_ns = start_ns;
        node->end_ns = end_ns;
        if (end_ns - start_ns < durations[above]) {
            durations[child] = end_ns - start_ns;
        }
        return CPTI_SPAN_IN_TREE;
    }
    if (start_ns >= parent->start_ns && end_ns <= parent->end_ns) {
        node->start_ns = start_ns;
        node->end_ns = end_ns;
    } else if (start_ns < parent->start_ns && end_ns > parent->start_ns &&
               end_ns <= parent->end_ns) {
        node->end_ns = end_ns;
    } else if (start_ns >= parent->start_ns && start_ns < parent->end_ns) {
        node->start_ns = start_ns;
    } else {
        return CPTI_SPAN_outside; /* or around its parent */
    }
    durations[child] = node->end_ns - node->start_ns;
    return CPTI_SPAN_IN_TREE;
}

enum cpti_span_fate cpti_spans_enter_as_tool(struct cpti_spans *spans, uint32_t above,
                                             uint32_t child, bool is_only)
{
    return spans->mode == CPTI_SPANS_CRISP
               ? enter_as_crisp(spans, above, child, is_only)
               : enter_as_jaeger_ui(spans, above, child);
}

static cpt_status reserve_durations(struct cpti_spans *spans)
{
    void *durations = NULL;

    if (spans->duration_capacity >= spans->count) {
        return CPT_OK;
    }
    durations = cpt_alloc_array(spans->alloc, spans->durations, spans->count,
                                sizeof *spans->durations);
    if (durations == NULL) {
        return CPT_NO_MEMORY;
    }
    spans->durations = durations;
    spans->duration_capacity = spans->count;
    return CPT_OK;
}

/* --- Which children are picked --- */

/* The one to be picked first in front. */
static int compare_keys(const void *left, const void *right, void *context)
{
    const struct cpti_spans *spans = context;
    const struct cpti_span_key *a = left;
    const struct cpti_span_key *b = right;
    const int order = (a->span > b->span) - (a->span < b->span);

    if (a->end_ns != b->end_ns) {
        return a->end_ns > b->end_ns ? -1 : 1;
    }
    if (spans->mode == CPTI_SPANS_CRISP) {
        return -order;
    }
    if (start_of(spans, a->span) != start_of(spans, b->span)) {
        return start_of(spans, a->span) < start_of(spans, b->span) ? -1 : 1;
    }
    return order;
}

static int compare_starts(const void *left, const void *right, void *context)
{
    const struct cpti_span_node *nodes = ((const struct cpti_spans *)context)->nodes;
    const uint64_t a = nodes[*(const uint32_t *)left].start_ns;
    const uint64_t b = nodes[*(const uint32_t *)right].start_ns;

    return (a > b) - (a < b);
}

/* The children of a span, which are the last keys, while some of them are picked. */
struct picking {
    uint32_t span;
    size_t first; /* of its keys */
    size_t count;
    bool has_starts; /* the queue has them in the order of their starts */
};

/* How many of the children start before @time_ns. */
static size_t count_before(const struct cpti_spans *spans,
                           const struct picking *picking, uint64_t time_ns)
{
    size_t least = 0;
    size_t most = picking->count;

    while (least < most) {
        const size_t middle = least + (most - least) / 2;

        if (spans->nodes[spans->queue[middle]].start_ns < time_ns) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    return least;
}

/* Whether just one of the children starts from @start_ns to @end_ns. */
static bool starts_one(struct cpti_spans *spans, struct picking *picking,
                       uint64_t start_ns, uint64_t end_ns)
{
    if (!picking->has_starts) {
        qsort_r(spans->queue, picking->count, sizeof *spans->queue, compare_starts,
                spans);
        picking->has_starts = true;
    }
    return count_before(spans, picking, end_ns + 1) -
               count_before(spans, picking, start_ns) ==
           1;
}

/* Whether CRISP takes @key to end before @last begins: it does, or they overlap a
 * little and nothing else happens meanwhile. In the order of keys the ends beside its
 * own are @before_ns and @after_ns. */
static bool ends_before(struct cpti_spans *spans, struct picking *picking,
                        const struct cpti_span_key *key,
                        const struct cpti_span_key *last, uint64_t before_ns,
                        uint64_t after_ns)
{
    const double parent_ns = (double)spans->durations[picking->span];

    if (key->end_ns < last->start_ns) {
        return true;
    }
    return key->end_ns < last->end_ns && key->start_ns < last->start_ns &&
           (double)(key->end_ns - last->start_ns) / parent_ns < overlap_share &&
           before_ns > key->end_ns && after_ns < last->start_ns &&
           starts_one(spans, picking, last->start_ns, key->end_ns);
}

/* Leaves the keys of the children that are picked. */
static void pick(struct cpti_spans *spans, struct picking *picking)
{
    struct cpti_span_key *keys = &spans->keys[picking->first];
    uint64_t before_ns = 0;
    size_t picked = 0;

    for (size_t i = 0; i < picking->count; i++) {
        const struct cpti_span_key key = keys[i];
        const struct cpti_span_key *last = picked > 0 ? &keys[picked - 1] : NULL;
        const uint64_t after_ns = i + 1 < picking->count ? keys[i + 1].end_ns : 0;
        const bool is_picked =
            last == NULL ||
            (spans->mode == CPTI_SPANS_CRISP
                 ? ends_before(spans, picking, &key, last, before_ns, after_ns)
                 : key.end_ns < last->start_ns);

        before_ns = key.end_ns;
        if (is_picked) {
            keys[picked++] = key;
        }
    }
    picking->count = picked;
    spans->key_count = picking->first + picked;
}

/* --- The walk --- */

/* Pushes the children of @span, those of a child without a time in its place. */
static cpt_status push_children(struct cpti_spans *spans, uint32_t span)
{
    cpt_status status = CPT_OK;
    size_t open = 0;

    spans->queue[open++] = span;
    while (open > 0 && status == CPT_OK) {
        const struct cpti_span_node *node = &spans->nodes[spans->queue[--open]];

        for (uint32_t i = 0; i < node->child_count && status == CPT_OK; i++) {
            const uint32_t number = spans->numbers[node->children_at + i];
            const struct cpti_span_node *child = &spans->nodes[number];

            if (child->fate != CPTI_SPAN_IN_TREE) {
                continue;
            }
            if (!cpti_spans_has(spans, number, CPTI_SPAN_HAS_TIME)) {
                spans->queue[open++] = number;
                continue;
            }
            status = cpti_spans_key_push(
                spans, (struct cpti_span_key){child->end_ns, child->start_ns, number});
        }
    }
    return status;
}

/* What is @span's own: less than @picking leaves, perhaps. */
static uint64_t own_ns(const struct cpti_spans *spans, const struct picking *picking)
{
    uint64_t own = UINT64_MAX;

    if (spans->mode != CPTI_SPANS_CRISP) {
        return own;
    }
    own = spans->durations[picking->span];
    for (size_t i = 0; i < picking->count; i++) {
        const uint64_t taken = spans->durations[spans->keys[picking->first + i].span];

        own -= taken < own ? taken : own;
    }
    return own;
}

/* Gives the span what the picked children leave of its time, the last of it. */
static cpt_status give_own(struct cpti_spans *spans, const struct picking *picking)
{
    const uint64_t start_ns = spans->nodes[picking->span].start_ns;
    uint64_t cursor_ns = spans->nodes[picking->span].end_ns;
    uint64_t left_ns = own_ns(spans, picking);
    cpt_status status = CPT_OK;

    for (size_t i = 0; i <= picking->count && status == CPT_OK && left_ns > 0; i++) {
        const struct cpti_span_key key = i < picking->count
                                             ? spans->keys[picking->first + i]
                                             : (struct cpti_span_key){0};
        const uint64_t end_ns = key.end_ns > start_ns ? key.end_ns : start_ns;
        const uint64_t until_ns = key.start_ns > start_ns ? key.start_ns : start_ns;

        if (end_ns < cursor_ns) {
            const uint64_t gap_ns = cursor_ns - end_ns;
            const uint64_t given_ns = gap_ns < left_ns ? gap_ns : left_ns;

            left_ns -= given_ns;
            status = cpti_spans_section_add(spans, picking->span, cursor_ns - given_ns,
                                            cursor_ns);
        }
        cursor_ns = until_ns < cursor_ns ? until_ns : cursor_ns;
    }
    return status;
}

static cpt_status visit(struct cpti_spans *spans, uint32_t span)
{
    struct picking picking = {.span = span, .first = spans->key_count};
    cpt_status status = push_children(spans, span);

    if (status != CPT_OK) {
        return status;
    }
    picking.count = spans->key_count - picking.first;
    if (picking.count > 1) {
        qsort_r(&spans->keys[picking.first], picking.count, sizeof *spans->keys,
                compare_keys, spans);
    }
    for (size_t i = 0; i < picking.count; i++) {
        spans->queue[i] = spans->keys[picking.first + i].span;
    }
    pick(spans, &picking);
    return give_own(spans, &picking);
}

/* Pushes the roots; those below one without a time stand in its place. */
static cpt_status push_roots(struct cpti_spans *spans)
{
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < spans->count && status == CPT_OK; i++) {
        const struct cpti_span_node *node = &spans->nodes[i];

        if (node->parent != CPTI_SPAN_NONE || node->fate != CPTI_SPAN_IN_TREE) {
            continue;
        }
        status =
            cpti_spans_has(spans, i, CPTI_SPAN_HAS_TIME)
                ? cpti_spans_key_push(
                      spans, (struct cpti_span_key){node->end_ns, node->start_ns, i})
                : push_children(spans, i);
    }
    return status;
}

static int compare_sections(const void *left, const void *right)
{
    const struct cpti_section *a = left;
    const struct cpti_section *b = right;

    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return (a->span > b->span) - (a->span < b->span);
}

cpt_status cpti_spans_walk_as_tool(struct cpti_spans *spans, enum cpti_span_mode mode,
                                   bool has_all_roots)
{
    cpt_status status = mode == CPTI_SPANS_CRISP ? reserve_durations(spans) : CPT_OK;

    spans->section_count = 0;
    spans->key_count = 0;
    spans->is_exact = false;
    if (status != CPT_OK) {
        return status;
    }
    cpti_spans_settle(spans, mode, has_all_roots);
    status = push_roots(spans);
    for (size_t i = 0; i < spans->key_count && status == CPT_OK; i++) {
        status = visit(spans, spans->keys[i].span);
    }
    if (spans->section_count > 1) {
        qsort(spans->sections, spans->section_count, sizeof *spans->sections,
              compare_sections);
    }
    return status;
}

cpt_status cpti_spans_walk_roots(struct cpti_spans *spans, enum cpti_span_mode mode)
{
    return mode == CPTI_SPANS_JAEGER_UI ? cpti_spans_walk_as_tool(spans, mode, true)
                                        : cpti_spans_walk(spans, mode);
}
