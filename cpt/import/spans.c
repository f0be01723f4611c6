/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * spans.c - the spans of one trace as a tree
 *
 * Spans come in any order, from programs that crash, lie and send twice. Resolving them
 * takes these steps, each a pass over all spans:
 *
 *      index     ids -> spans; a second one with an id is the other side of a call,
 *                or a duplicate
 *      parents   the parent of each; spans without a time are passed over
 *      root      the earliest without a parent
 *      clocks    hosts whose clocks differ are put right (span_clocks.c)
 *      children  their numbers, those of one parent side by side
 *      spread    from the root downwards, cutting times; then from what else has no
 *                parent, to count. What is still not reached is in or below a cycle.
 */
#include "cpt/import/span_tree.h"

#include <stdlib.h>
#include <string.h>

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
    cpt_alloc_free(spans->alloc, spans);
}

void cpti_spans_reset(struct cpti_spans *spans)
{
    spans->count = 0;
    spans->section_count = 0;
    spans->clock_count = 0;
    spans->has_hosts = false;
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
        spans->has_hosts |= span->host.bytes > 0;
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

/* --- Ids --- */

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* Ids are numbers: without zeros in front. */
static struct cpt_bytes digits_of(struct cpt_bytes id)
{
    while (id.bytes > 0 && *id.data == '0') {
        id = (struct cpt_bytes){id.data + 1, id.bytes - 1};
    }
    return id;
}

bool cpti_ids_equal(struct cpt_bytes left, struct cpt_bytes right)
{
    struct cpt_bytes a = left;
    struct cpt_bytes b = right;
    size_t same = 0;

    if (a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0)) {
        return true; /* as most are */
    }
    a = digits_of(a);
    b = digits_of(b);
    if (a.bytes != b.bytes) {
        return false;
    }
    while (same < a.bytes && lower(a.data[same]) == lower(b.data[same])) {
        same++;
    }
    return same == a.bytes;
}

uint64_t cpti_id_hash(uint64_t seed, struct cpt_bytes id)
{
    static const uint64_t lower_case = UINT64_C(0x2020202020202020); /* and digits */
    const struct cpt_bytes digits = digits_of(id);
    uint64_t word = 0;
    size_t at = 0;

    for (; digits.bytes - at > sizeof word; at += sizeof word) {
        memcpy(&word, digits.data + at, sizeof word);
        seed = cpti_hash_mix(seed ^ (word | lower_case));
    }
    word = 0;
    memcpy(&word, digits.data + at, digits.bytes - at);
    return cpti_hash_mix(seed ^ (word | lower_case) ^ digits.bytes);
}

static uint64_t id_hash(const struct cpti_spans *spans, struct cpt_bytes id)
{
    return cpti_id_hash((uint64_t)(uintptr_t)spans, id);
}

/* The first span with @id, or none; *@slot is where it belongs. */
static uint32_t id_find(const struct cpti_spans *spans, struct cpt_bytes id,
                        size_t *slot)
{
    const struct cpti_hash_index *index = &spans->index;
    uint32_t found = 0;

    *slot = cpti_hash_index_first(index, id_hash(spans, id));
    while ((found = index->slots[*slot]) != 0 &&
           !cpti_ids_equal(spans->items[found - 1].id, id)) {
        *slot = cpti_hash_index_next(index, *slot);
    }
    return found - 1; /* 0 - 1 is CPTI_SPAN_NONE */
}

uint32_t cpti_spans_find(const struct cpti_spans *spans, struct cpt_bytes id)
{
    size_t slot = 0;

    return id_find(spans, id, &slot);
}

static bool calls(const struct cpti_span *span)
{
    return span->kind == CPTI_SPAN_CLIENT || span->kind == CPTI_SPAN_PRODUCER;
}

static bool is_called(const struct cpti_span *span)
{
    return span->kind == CPTI_SPAN_SERVER || span->kind == CPTI_SPAN_CONSUMER;
}

/* Span @span is one more with its id, and no use. */
static void drop(struct cpti_spans *spans, uint32_t span)
{
    spans->nodes[span].fate = CPTI_SPAN_duplicates;
    spans->nodes[span].parent = CPTI_SPAN_NONE;
}

static void attach(struct cpti_spans *spans, uint32_t client, uint32_t server)
{
    spans->nodes[client].server = server;
    if (server != CPTI_SPAN_NONE) {
        spans->nodes[server].parent = client;
    }
}

/*
 * Span @other has the id of span @first, which the index knows. Of a call, the index
 * knows the client's side, and that knows the server's. Programs also send a span
 * twice, once without what they did not know yet: then the one with a time stays.
 */
static void meet(struct cpti_spans *spans, uint32_t first, uint32_t other, size_t slot)
{
    const struct cpti_span *items = spans->items;
    const uint32_t server = spans->nodes[first].server;
    const bool is_server = is_called(&items[other]);
    const bool is_better = items[other].has_time && !items[first].has_time;
    uint32_t known = first;

    if (is_server && calls(&items[first])) {
        if (server == CPTI_SPAN_NONE) {
            attach(spans, first, other);
        } else if (items[other].has_time && !items[server].has_time) {
            drop(spans, server);
            attach(spans, first, other);
        } else {
            drop(spans, other);
        }
    } else if (calls(&items[other]) && is_called(&items[first])) {
        attach(spans, other, first);
        known = other;
    } else if (is_better ||
               (!items[first].has_time && items[first].kind == CPTI_SPAN_UNKNOWN)) {
        attach(spans, other, server);
        drop(spans, first);
        known = other;
    } else {
        drop(spans, other);
    }
    spans->index.slots[slot] = known + 1;
}

static void clear_node(struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span *span = &spans->items[number];
    const unsigned traits = (span->has_time ? CPTI_SPAN_HAS_TIME : 0U) |
                            (span->is_wait ? CPTI_SPAN_IS_WAIT : 0U) |
                            (span->tells_waits ? CPTI_SPAN_TELLS_WAITS : 0U) |
                            (span->link.bytes > 0 ? CPTI_SPAN_HAS_LINK : 0U);

    spans->nodes[number] = (struct cpti_span_node){.parent = CPTI_SPAN_NONE,
                                                   .server = CPTI_SPAN_NONE,
                                                   .frame = CPTI_SPAN_NONE,
                                                   .traits = (unsigned char)traits};
}

static void clear_nodes(struct cpti_spans *spans)
{
    for (uint32_t i = 0; i < spans->count; i++) {
        clear_node(spans, i);
    }
}

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes == 0 ? 0 : memcmp(left.data, right.data, bytes);

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

/* An order by all that spans say: those that it does not tell apart are the same. */
static int compare_spans(const void *left, const void *right, void *context)
{
    const struct cpti_span *items = ((const struct cpti_spans *)context)->items;
    const struct cpti_span *a = &items[*(const uint32_t *)left];
    const struct cpti_span *b = &items[*(const uint32_t *)right];
    const uint64_t numbers[][2] = {
        {a->start_ns, b->start_ns},     {b->duration_ns, a->duration_ns},
        {a->has_time, b->has_time},     {a->kind, b->kind},
        {a->is_async, b->is_async},     {a->is_failed, b->is_failed},
        {a->is_wait, b->is_wait},       {a->tells_waits, b->tells_waits},
        {a->wait_count, b->wait_count}, {a->rejected, b->rejected}};
    const struct cpt_bytes texts[][2] = {
        {a->id, b->id},           {a->parent, b->parent},
        {a->service, b->service}, {a->operation, b->operation},
        {a->peer, b->peer},       {a->link, b->link},
        {a->host, b->host}};
    int order = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && order == 0; i++) {
        order = (numbers[i][0] > numbers[i][1]) - (numbers[i][0] < numbers[i][1]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts && order == 0; i++) {
        order = compare_bytes(texts[i][0], texts[i][1]);
    }
    return order;
}

/* Whether nothing tells the two apart. */
static bool are_same(struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    return compare_spans(&left, &right, spans) == 0;
}

/* Whether they are the two sides of a call. */
static bool are_sides(const struct cpti_span *left, const struct cpti_span *right)
{
    return (calls(left) && is_called(right)) || (is_called(left) && calls(right));
}

/* Knows span @number by its id. false: there is another span with it, and the order in
 * which they come matters. It does not for a copy, nor for the two sides of a call. */
static bool index_in_any_order(struct cpti_spans *spans, uint32_t number)
{
    size_t slot = 0;
    const uint32_t first = id_find(spans, spans->items[number].id, &slot);
    uint32_t server = CPTI_SPAN_NONE;

    if (first == CPTI_SPAN_NONE) {
        spans->index.slots[slot] = number + 1;
        return true;
    }
    server = spans->nodes[first].server;
    if (are_same(spans, first, number) ||
        (server != CPTI_SPAN_NONE && are_same(spans, server, number))) {
        drop(spans, number);
        return true;
    }
    if (server == CPTI_SPAN_NONE &&
        are_sides(&spans->items[first], &spans->items[number])) {
        meet(spans, first, number, slot);
        return true;
    }
    return false;
}

/* The spans with ids of which some are @unsettled, anew, in an order of their own. */
static void settle(struct cpti_spans *spans, uint32_t unsettled)
{
    uint32_t *is_open = spans->numbers; /* of spans that the index knows; free by now */
    uint32_t count = 0;
    size_t slot = 0;

    memset(is_open, 0, spans->count * sizeof *is_open);
    for (uint32_t i = 0; i < unsettled; i++) {
        is_open[id_find(spans, spans->items[spans->queue[i]].id, &slot)] = 1;
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        if (is_open[id_find(spans, spans->items[i].id, &slot)]) {
            clear_node(spans, i);
            spans->queue[count++] = i;
        }
    }
    qsort_r(spans->queue, count, sizeof *spans->queue, compare_spans, spans);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t number = spans->queue[i];
        const uint32_t first = id_find(spans, spans->items[number].id, &slot);

        if (is_open[first]) {
            is_open[first] = 0;
            is_open[number] = 0;
            spans->index.slots[slot] = number + 1;
        } else {
            meet(spans, first, number, slot);
        }
    }
}

/* Which of several spans with one id stays must not depend on the order in which they
 * came: if that matters, they meet in an order of their own. */
static void index_ids(struct cpti_spans *spans)
{
    uint32_t unsettled = 0;

    cpti_hash_index_reset(&spans->index);
    for (uint32_t i = 0; i < spans->count; i++) {
        if (!index_in_any_order(spans, i)) {
            spans->queue[unsettled++] = i;
        }
    }
    if (unsettled > 0) {
        settle(spans, unsettled);
    }
}

/* --- Parents, and the root --- */

/* The side of call @client that is the parent of @child: the server's, unless only the
 * client's is of the child's service. */
static uint32_t side_of(const struct cpti_spans *spans, uint32_t client,
                        const struct cpti_span *child)
{
    const uint32_t server = spans->nodes[client].server;

    if (server == CPTI_SPAN_NONE ||
        (cpt_bytes_equal(child->service, spans->items[client].service) &&
         !cpt_bytes_equal(child->service, spans->items[server].service))) {
        return client;
    }
    return server;
}

static void find_parents(struct cpti_spans *spans)
{
    size_t slot = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        struct cpti_span_node *node = &spans->nodes[i];
        const struct cpti_span *span = &spans->items[i];
        uint32_t found = CPTI_SPAN_NONE;

        if (node->fate != CPTI_SPAN_UNREACHED || node->parent != CPTI_SPAN_NONE ||
            span->parent.bytes == 0 || cpti_ids_equal(span->parent, span->id)) {
            continue;
        }
        found = id_find(spans, span->parent, &slot);
        if (found == CPTI_SPAN_NONE) {
            node->fate = CPTI_SPAN_orphans;
        } else {
            node->parent = side_of(spans, found, span);
        }
    }
}

int cpti_spans_order(const struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    const int order = compare_bytes(spans->items[left].id, spans->items[right].id);

    return order != 0 ? order : (left > right) - (left < right);
}

/* Whether nothing of the trace is above @span: 2 if so by its own word, 1 if what it
 * names is missing, or has no time; else 0. */
static int is_top(const struct cpti_spans *spans, uint32_t span)
{
    const struct cpti_span_node *node = &spans->nodes[span];

    if (!spans->items[span].has_time || node->fate == CPTI_SPAN_duplicates) {
        return 0;
    }
    if (node->parent == CPTI_SPAN_NONE) {
        return node->fate == CPTI_SPAN_orphans ? 1 : 2;
    }
    return !spans->items[node->parent].has_time &&
           spans->nodes[node->parent].parent == CPTI_SPAN_NONE;
}

static bool is_before(const struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    const struct cpti_span *a = &spans->items[left];
    const struct cpti_span *b = &spans->items[right];

    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns;
    }
    if (a->duration_ns != b->duration_ns) {
        return a->duration_ns > b->duration_ns;
    }
    return cpti_spans_order(spans, left, right) < 0;
}

static void find_root(struct cpti_spans *spans, struct cpti_spans_report *report)
{
    int rank = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        const int own = is_top(spans, i);

        if (own > rank ||
            (own == rank && own > 0 && is_before(spans, i, spans->root))) {
            rank = own;
            spans->root = i;
        }
    }
    report->is_root_missing = rank == 1;
    if (rank > 0) {
        spans->nodes[spans->root].parent = CPTI_SPAN_NONE;
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

/* Settles the fate of all spans below @top. */
static void spread(struct cpti_spans *spans, uint32_t top)
{
    size_t end = 0;

    spans->queue[end++] = top;
    for (size_t i = 0; i < end; i++) {
        const uint32_t number = spans->queue[i];
        const struct cpti_span_node *above = &spans->nodes[number];

        for (uint32_t k = 0; k < above->child_count; k++) {
            const uint32_t child = spans->numbers[above->children_at + k];
            struct cpti_span_node *node = &spans->nodes[child];

            node->fate = above->fate == CPTI_SPAN_IN_TREE
                             ? (unsigned char)enter(above, &spans->items[number],
                                                    &spans->items[child], node,
                                                    spans->nodes[spans->root].end_ns)
                             : above->fate;
            spans->queue[end++] = child;
        }
    }
}

static void spread_all(struct cpti_spans *spans)
{
    struct cpti_span_node *root = &spans->nodes[spans->root];
    const struct cpti_span *span = &spans->items[spans->root];

    root->fate = CPTI_SPAN_IN_TREE;
    root->start_ns = span->start_ns;
    root->end_ns = span->start_ns + span->duration_ns;
    spread(spans, spans->root);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct cpti_span_node *node = &spans->nodes[i];

        if (node->parent != CPTI_SPAN_NONE || i == spans->root) {
            continue;
        }
        if (node->fate == CPTI_SPAN_UNREACHED) {
            node->fate =
                spans->items[i].has_time ? CPTI_SPAN_roots : CPTI_SPAN_timeless;
        }
        spread(spans, i);
    }
}

static void count(const struct cpti_spans *spans, struct cpti_spans_report *report)
{
    size_t by_fate[CPTI_SPAN_IN_TREE + 1] = {0};

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
    clear_nodes(spans);
    return CPT_OK;
}

cpt_status cpti_spans_resolve(struct cpti_spans *spans,
                              struct cpti_spans_report *report)
{
    cpt_status status = reserve(spans);

    *report = (struct cpti_spans_report){0};
    spans->walk = 0;
    spans->root = CPTI_SPAN_NONE;
    spans->section_count = 0;
    if (status != CPT_OK) {
        return status;
    }
    index_ids(spans);
    find_parents(spans);
    find_root(spans, report);
    if (spans->root == CPTI_SPAN_NONE) {
        return CPT_END;
    }
    status = cpti_spans_align(spans, report);
    if (status != CPT_OK) {
        return status;
    }
    list_children(spans);
    spread_all(spans);
    cpti_spans_order_children(spans);
    count(spans, report);
    return CPT_OK;
}
