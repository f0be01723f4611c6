/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spans.c - the spans of one trace as a tree
 *
 * Spans come in any order, from programs that crash, lie and send twice. Resolving them
 * takes these steps, each a pass over all spans:
 *
 *      pieces    what was sent of one span in several becomes one (span_pieces.c)
 *      index     ids -> spans; those with one id are the sides of a call, or copies
 *                (span_ids.c)
 *      parents   the parent of each; spans without a time are passed over
 *      root      the earliest without a parent (span_root.c)
 *      clocks    those that differ are put right (span_clocks.c)
 *      children  their numbers, those of one parent side by side
 *      spread    from the root downwards, cutting times; then from what else has no
 *                parent, to count. What is still not reached is in or below a cycle.
 */
#include "import/spans/span_tree.h"

enum { INDEX_SLOTS_MIN = 64 };

/* --- The set --- */

struct cpti_spans *cpti_spans_new(const struct cpt_alloc *alloc)
{
    struct cpti_spans *spans = NULL;

    if (alloc == NULL) {
        alloc = cpt_alloc_default();
    }
    spans = cpt_alloc_zeroed(alloc, sizeof *spans);
    if (spans != NULL) {
        spans->alloc = alloc;
        spans->root = CPTI_SPAN_NONE;
    }
    return spans;
}

void cpti_spans_free(struct cpti_spans *spans)
{
    if (spans == NULL) {
        return;
    }
    cpt_alloc_free(spans->alloc, spans->items);
    cpt_alloc_free(spans->alloc, spans->index.slots);
    cpt_alloc_free(spans->alloc, spans->nodes);
    cpt_alloc_free(spans->alloc, spans->numbers);
    cpt_alloc_free(spans->alloc, spans->queue);
    cpt_alloc_free(spans->alloc, spans->keys);
    cpt_alloc_free(spans->alloc, spans->visits);
    cpt_alloc_free(spans->alloc, spans->sections);
    cpt_alloc_free(spans->alloc, spans->clocks);
    cpt_alloc_free(spans->alloc, spans->durations);
    cpt_alloc_free(spans->alloc, spans);
}

void cpti_spans_reset(struct cpti_spans *spans)
{
    spans->count = 0;
    spans->section_count = 0;
    spans->clock_count = 0;
    spans->has_hosts = false;
    spans->has_pieces = false;
    spans->root = CPTI_SPAN_NONE;
}

cpt_status cpti_spans_add(struct cpti_spans *spans, const struct cpti_span *span)
{
    void *items = spans->items;
    const cpt_status status =
        spans->count < spans->capacity
            ? CPT_OK
            : cpt_alloc_grow(spans->alloc, &items, &spans->capacity, spans->count + 1,
                             CPTI_SPANS_MAX, sizeof *spans->items);

    spans->items = items;
    if (status == CPT_OK) {
        spans->items[spans->count] = *span;
        spans->items[spans->count].has_time &=
            span->start_ns <= INT64_MAX &&
            span->duration_ns <= INT64_MAX - span->start_ns;
        spans->has_hosts |= span->host.bytes > 0 || span->process != 0;
        spans->has_pieces |= !spans->items[spans->count].has_time;
        spans->count++;
    }
    return status;
}

size_t cpti_spans_count(const struct cpti_spans *spans)
{
    return spans->count;
}

const struct cpti_span *cpti_spans_at(const struct cpti_spans *spans, size_t number)
{
    return &spans->items[number];
}

uint32_t cpti_spans_root(const struct cpti_spans *spans)
{
    return spans->root;
}

uint32_t cpti_spans_parent(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];

    return node->fate == CPTI_SPAN_IN_TREE ? node->parent : CPTI_SPAN_NONE;
}

uint32_t cpti_spans_above(const struct cpti_spans *spans, uint32_t number)
{
    return spans->nodes[number].parent;
}

bool cpti_spans_is_again(const struct cpti_spans *spans, uint32_t number)
{
    return spans->nodes[number].fate == CPTI_SPAN_duplicates;
}

uint64_t cpti_spans_start_ns(const struct cpti_spans *spans, uint32_t number)
{
    return spans->nodes[number].start_ns;
}

uint64_t cpti_spans_end_ns(const struct cpti_spans *spans, uint32_t number)
{
    return spans->nodes[number].end_ns;
}

/* --- Parents --- */

static void find_parents(struct cpti_spans *spans)
{
    for (uint32_t i = 0; i < spans->count; i++) {
        struct cpti_span_node *node = &spans->nodes[i];
        const struct cpti_span *span = &spans->items[i];

        if (node->fate != CPTI_SPAN_UNREACHED || node->parent != CPTI_SPAN_NONE ||
            span->parent.bytes == 0 || cpti_ids_equal(span->parent, span->id)) {
            continue;
        }
        node->parent = cpti_spans_parent_by_id(spans, span);
        if (node->parent == CPTI_SPAN_NONE) {
            node->fate = CPTI_SPAN_orphans;
        }
    }
}

/* --- Children --- */

static void list_children(struct cpti_spans *spans)
{
    struct cpti_span_node *nodes = spans->nodes;
    uint32_t at = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (nodes[i].parent != CPTI_SPAN_NONE) {
            nodes[nodes[i].parent].child_count++;
        }
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        nodes[i].children_at = at;
        at += nodes[i].child_count;
        nodes[i].child_count = 0;
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        if (nodes[i].parent != CPTI_SPAN_NONE) {
            struct cpti_span_node *parent = &nodes[nodes[i].parent];

            spans->numbers[parent->children_at + parent->child_count++] = i;
        }
    }
}

/* What becomes of @child, whose parent @above is in the tree. Without a time of its own
 * it has its parent's, and is passed over. A parent that tells its waits may end before
 * what it began does; all else that a child does after its parent's end, or after
 * @last_ns, is cut. */
static enum cpti_span_fate enter(const struct cpti_span_node *above,
                                 const struct cpti_span *parent,
                                 const struct cpti_span *child,
                                 struct cpti_span_node *node, uint64_t last_ns)
{
    const uint64_t end_ns = child->start_ns + child->duration_ns;

    last_ns = parent->tells_waits ? last_ns : above->end_ns;

    if (child->is_async ||
        (parent->kind == CPTI_SPAN_PRODUCER && child->kind == CPTI_SPAN_CONSUMER)) {
        return CPTI_SPAN_asynchronous;
    }
    node->start_ns = above->start_ns;
    node->end_ns = last_ns;
    if (!child->has_time) {
        return CPTI_SPAN_IN_TREE;
    }
    if (child->start_ns > last_ns || end_ns < above->start_ns) {
        return CPTI_SPAN_outside;
    }
    if (child->start_ns > above->start_ns) {
        node->start_ns = child->start_ns;
    }
    if (end_ns < last_ns) {
        node->end_ns = end_ns;
    }
    return CPTI_SPAN_IN_TREE;
}

/* Whether span @number has one child that may be waited for. */
static bool has_one_child(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];
    uint32_t count = 0;

    for (uint32_t i = 0; i < node->child_count && count < 2; i++) {
        count += !spans->items[spans->numbers[node->children_at + i]].is_async;
    }
    return count == 1;
}

/* Notes of the first @count spans of the queue, parents before children, which are
 * above one with a time, that shares their fate. */
static void note_above(struct cpti_spans *spans, size_t count)
{
    const unsigned counts = CPTI_SPAN_HAS_TIME | CPTI_SPAN_IS_ABOVE;

    for (size_t i = count; i-- > 1;) {
        const struct cpti_span_node *node = &spans->nodes[spans->queue[i]];
        struct cpti_span_node *parent = &spans->nodes[node->parent];

        if ((node->traits & counts) != 0 && node->fate == parent->fate) {
            parent->traits |= CPTI_SPAN_IS_ABOVE;
        }
    }
}

/* Settles the fate of all spans below @top. */
static void spread(struct cpti_spans *spans, uint32_t top)
{
    const bool is_exact = spans->mode == CPTI_SPANS_EXACT;
    size_t end = 0;

    spans->queue[end++] = top;
    for (size_t i = 0; i < end; i++) {
        const uint32_t number = spans->queue[i];
        const struct cpti_span_node *above = &spans->nodes[number];
        const bool is_only = !is_exact && has_one_child(spans, number);

        for (uint32_t k = 0; k < above->child_count; k++) {
            const uint32_t child = spans->numbers[above->children_at + k];
            struct cpti_span_node *node = &spans->nodes[child];

            if (above->fate != CPTI_SPAN_IN_TREE) {
                node->fate = above->fate;
            } else if (is_exact) {
                node->fate = (unsigned char)enter(above, &spans->items[number],
                                                  &spans->items[child], node,
                                                  spans->nodes[spans->root].end_ns);
            } else {
                node->fate = (unsigned char)cpti_spans_enter_as_tool(spans, number,
                                                                     child, is_only);
            }
            spans->queue[end++] = child;
        }
    }
    if (spans->has_pieces) {
        note_above(spans, end);
    }
}

/* Spreads from @top, which has no parent. Without a time it cuts nothing. */
static void spread_from(struct cpti_spans *spans, uint32_t top)
{
    struct cpti_span_node *node = &spans->nodes[top];
    const struct cpti_span *span = &spans->items[top];

    node->fate = CPTI_SPAN_IN_TREE;
    node->start_ns = span->has_time ? span->start_ns : 0;
    node->end_ns = span->has_time ? span->start_ns + span->duration_ns : UINT64_MAX;
    if (spans->mode == CPTI_SPANS_CRISP) {
        spans->durations[top] = span->duration_ns;
    }
    spread(spans, top);
}

/* Why span @top, which has no parent, is not in the tree, and what is below it. */
static enum cpti_span_fate fate_of_top(const struct cpti_spans *spans, uint32_t top)
{
    const struct cpti_span *span = &spans->items[top];

    if (spans->nodes[top].fate == CPTI_SPAN_duplicates) {
        return CPTI_SPAN_duplicates;
    }
    return span->parent.bytes > 0 && !cpti_ids_equal(span->parent, span->id)
               ? CPTI_SPAN_orphans
               : CPTI_SPAN_roots;
}

/* Of spans that are not below the root, those without a time could not be. */
static void tell_timeless(struct cpti_spans *spans)
{
    for (uint32_t i = 0; i < spans->count; i++) {
        struct cpti_span_node *node = &spans->nodes[i];

        if (node->fate == CPTI_SPAN_roots && !spans->items[i].has_time) {
            node->fate = CPTI_SPAN_timeless;
        }
    }
}

/* Roles depend on who is in the tree. */
static void forget_roles(struct cpti_spans *spans)
{
    const unsigned roles = CPTI_SPAN_HAS_ROLE | CPTI_SPAN_IS_CALL | CPTI_SPAN_IS_BLIND |
                           CPTI_SPAN_IS_ABOVE;

    for (uint32_t i = 0; i < spans->count; i++) {
        spans->nodes[i].traits &= (unsigned short)~roles;
    }
}

void cpti_spans_settle(struct cpti_spans *spans, enum cpti_span_mode mode,
                       bool has_all_roots)
{
    if (mode != CPTI_SPANS_EXACT || spans->mode != CPTI_SPANS_EXACT) {
        forget_roles(spans);
    }
    spans->mode = mode;
    spread_from(spans, spans->root);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct cpti_span_node *node = &spans->nodes[i];

        if (node->parent != CPTI_SPAN_NONE || i == spans->root) {
            continue;
        }
        node->fate = (unsigned char)fate_of_top(spans, i);
        if (has_all_roots && node->fate != CPTI_SPAN_duplicates) {
            spread_from(spans, i);
            continue;
        }
        spread(spans, i);
    }
    if (spans->has_pieces) {
        tell_timeless(spans);
    }
    if (mode == CPTI_SPANS_EXACT) {
        cpti_spans_order_children(spans);
    }
}

void cpti_spans_settle_anew(struct cpti_spans *spans)
{
    forget_roles(spans);
    cpti_spans_settle(spans, CPTI_SPANS_EXACT, false);
}

void cpti_spans_count_left(const struct cpti_spans *spans,
                           struct cpti_spans_report *report)
{
    size_t by_fate[CPTI_SPAN_IN_TREE + 1] = {0};

    report->dropped = 0;
    report->clipped = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        const struct cpti_span_node *node = &spans->nodes[i];
        const struct cpti_span *span = &spans->items[i];
        const bool is_in = node->fate == CPTI_SPAN_IN_TREE;

        by_fate[is_in && !span->has_time ? CPTI_SPAN_timeless : node->fate]++;
        report->clipped += is_in && span->has_time &&
                           node->end_ns - node->start_ns != span->duration_ns;
    }
    by_fate[CPTI_SPAN_cycles] += by_fate[CPTI_SPAN_UNREACHED];
#define COUNT(name, sentence)                                                          \
    report->name = by_fate[CPTI_SPAN_##name];                                          \
    report->dropped += by_fate[CPTI_SPAN_##name];
    CPTI_SPAN_DROP_MAP(COUNT)
#undef COUNT
}

/* Makes room for what a resolved set needs, and begins anew. */
static cpt_status reserve(struct cpti_spans *spans)
{
    const struct cpt_alloc *alloc = spans->alloc;
    size_t slots = INDEX_SLOTS_MIN;

    while (slots < 2 * spans->count) {
        slots *= 2;
    }
    if (slots > spans->slot_capacity) {
        void *grown = cpt_alloc_array(alloc, spans->index.slots, slots,
                                      sizeof *spans->index.slots);

        if (grown == NULL) {
            return CPT_NO_MEMORY;
        }
        spans->index.slots = grown;
        spans->slot_capacity = slots;
    }
    spans->index.slot_count = slots;
    if (spans->count > spans->resolved_capacity) {
        const size_t capacity = spans->capacity;
        void *nodes =
            cpt_alloc_array(alloc, spans->nodes, capacity, sizeof *spans->nodes);
        void *numbers = NULL;
        void *queue = NULL;

        spans->nodes = nodes != NULL ? nodes : spans->nodes;
        numbers = cpt_alloc_array(alloc, spans->numbers, capacity, sizeof(uint32_t));
        spans->numbers = numbers != NULL ? numbers : spans->numbers;
        queue = cpt_alloc_array(alloc, spans->queue, capacity, sizeof(uint32_t));
        spans->queue = queue != NULL ? queue : spans->queue;
        if (nodes == NULL || numbers == NULL || queue == NULL) {
            return CPT_NO_MEMORY;
        }
        spans->resolved_capacity = capacity;
    }
    return CPT_OK;
}

cpt_status cpti_spans_resolve(struct cpti_spans *spans,
                              struct cpti_spans_report *report)
{
    cpt_status status = reserve(spans);

    *report = (struct cpti_spans_report){0};
    spans->walk = 0;
    spans->section_count = 0;
    if (status != CPT_OK) {
        return status;
    }
    report->joined = cpti_spans_join_pieces(spans);
    cpti_spans_index(spans);
    find_parents(spans);
    cpti_spans_find_root(spans);
    report->fragment = spans->fragment;
    if (spans->root == CPTI_SPAN_NONE) {
        list_children(spans);
        cpti_spans_drop_all(spans);
        cpti_spans_count_left(spans, report);
        return CPT_END;
    }
    status = cpti_spans_align(spans, report);
    if (status != CPT_OK) {
        return status;
    }
    list_children(spans);
    cpti_spans_settle(spans, CPTI_SPANS_EXACT, false);
    cpti_spans_count_left(spans, report);
    return CPT_OK;
}

void cpti_spans_each_below(struct cpti_spans *spans,
                           void (*meet)(void *context, uint32_t above, uint32_t child),
                           void *context)
{
    size_t count = 1;

    spans->queue[0] = spans->root;
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = spans->queue[i];
        const struct cpti_span_node *node = &spans->nodes[number];

        for (uint32_t k = 0; k < node->child_count; k++) {
            const uint32_t child = spans->numbers[node->children_at + k];

            if (spans->nodes[child].fate == CPTI_SPAN_IN_TREE) {
                meet(context, number, child);
                spans->queue[count++] = child;
            }
        }
    }
}
