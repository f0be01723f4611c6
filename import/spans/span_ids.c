/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_ids.c - spans by their ids, and what spans with one id are to each other
 *
 * In Zipkin the two sides of a call share an id. If a proxy, or a library below the
 * tracer, sends a request again or to several services, more than two spans share it:
 *
 *      id 1  server  front   |=====================================|
 *      id 2  client  front      |===============================|
 *      id 2  server  cart         |======|                          a failed attempt
 *      id 2  server  cart                      |==============|     the next one
 *      id 3  client  cart                        |=====|            names 2 as parent
 *
 * Zipkin's rule: all called sides hang below the client's side. What names their id as
 * its parent hangs below the side of its own service. Of several such sides the one by
 * the same clock counts, then the one that ran at that time.
 *
 * Only copies are dropped: spans that were sent again, perhaps with a longer duration
 * than before. A copy has the service, kind and start of the other one, and if it is a
 * called side, the operation. What began at another time is a span of its own, whatever
 * its id is.
 *
 * Which side is found must not depend on the order in which spans came. For a span, its
 * copy, and the two sides of a call no order matters. All others with one id are looked
 * at in an order of their own.
 */
#include "import/spans/span_tree.h"

#include <stdlib.h>
#include <string.h>

/* Spans with one id of which each is compared with each. A file may have millions. */
enum { SIDES_MAX = 64 };

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

enum { SPAN_ID_DIGITS = 16 }; /* of those of today */

bool cpti_ids_equal(struct cpt_bytes left, struct cpt_bytes right)
{
    struct cpt_bytes a = left;
    struct cpt_bytes b = right;
    size_t same = 0;

    if (a.bytes == SPAN_ID_DIGITS && b.bytes == SPAN_ID_DIGITS &&
        memcmp(a.data, b.data, SPAN_ID_DIGITS) == 0) {
        return true; /* as most are; without a call, as the compiler knows the length */
    }
    if (a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0)) {
        return true;
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

uint32_t cpti_spans_find_slot(const struct cpti_spans *spans, struct cpt_bytes id,
                              size_t *slot)
{
    return id_find(spans, id, slot);
}

uint32_t cpti_spans_find(const struct cpti_spans *spans, struct cpt_bytes id)
{
    size_t slot = 0;

    return id_find(spans, id, &slot);
}

/* --- Orders --- */

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes == 0 ? 0 : memcmp(left.data, right.data, bytes);

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

/* An order by all that spans say: those that it does not tell apart are the same. */
static int compare_spans(const struct cpti_span *a, const struct cpti_span *b)
{
    const uint64_t numbers[][2] = {{a->start_ns, b->start_ns},
                                   {b->duration_ns, a->duration_ns},
                                   {b->end_ns, a->end_ns},
                                   {a->has_time, b->has_time},
                                   {a->kind, b->kind},
                                   {a->is_async, b->is_async},
                                   {a->is_failed, b->is_failed},
                                   {a->is_wait, b->is_wait},
                                   {a->tells_waits, b->tells_waits},
                                   {a->wait_count, b->wait_count},
                                   {a->rejected, b->rejected},
                                   {a->process, b->process},
                                   {a->hostname, b->hostname}};
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

int cpti_spans_compare(const void *left, const void *right, void *spans)
{
    const struct cpti_span *items = ((const struct cpti_spans *)spans)->items;

    return compare_spans(&items[*(const uint32_t *)left],
                         &items[*(const uint32_t *)right]);
}

int cpti_spans_order(const struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    const struct cpti_span *a = &spans->items[left];
    const struct cpti_span *b = &spans->items[right];
    int order = compare_bytes(a->id, b->id);

    if (order == 0) {
        order = compare_spans(a, b);
    }
    return order != 0 ? order : (left > right) - (left < right);
}

/* Whether nothing tells the two apart. */
static bool are_same(const struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    return compare_spans(&spans->items[left], &spans->items[right]) == 0;
}

/* --- Two spans with one id --- */

static bool calls(const struct cpti_span *span)
{
    return span->kind == CPTI_SPAN_CLIENT || span->kind == CPTI_SPAN_PRODUCER;
}

static bool is_called(const struct cpti_span *span)
{
    return span->kind == CPTI_SPAN_SERVER || span->kind == CPTI_SPAN_CONSUMER;
}

static bool is_of_one_service(const struct cpti_span *left,
                              const struct cpti_span *right)
{
    return cpt_bytes_equal(left->service, right->service);
}

/* Whether they are the two sides of a call from one service to another. */
static bool are_sides(const struct cpti_span *left, const struct cpti_span *right)
{
    return ((calls(left) && is_called(right)) || (is_called(left) && calls(right))) &&
           !is_of_one_service(left, right);
}

/* Whether @right is @left, sent again: perhaps with a better name, but a service may be
 * called for several things at once. */
static bool is_copy(const struct cpti_span *left, const struct cpti_span *right)
{
    return left->has_time && right->has_time && left->start_ns == right->start_ns &&
           (left->kind == right->kind || left->kind == CPTI_SPAN_UNKNOWN ||
            right->kind == CPTI_SPAN_UNKNOWN) &&
           cpti_may_be_one(left->service, right->service) &&
           ((!is_called(left) && !is_called(right)) ||
            cpti_may_be_one(left->operation, right->operation)) &&
           cpti_may_be_one(left->host, right->host);
}

/* Whether all the time of @inner is within that of @outer. */
static bool contains(const struct cpti_span *outer, const struct cpti_span *inner)
{
    return outer->has_time && inner->has_time && outer->start_ns <= inner->start_ns &&
           outer->start_ns + outer->duration_ns >= inner->start_ns + inner->duration_ns;
}

/* Whether @inner can hang below @outer if its time is within that: a call below who
 * made it; what a proxy sends on below what it got. */
static bool may_hold(const struct cpti_span *outer, const struct cpti_span *inner)
{
    if (is_called(inner)) {
        return calls(outer);
    }
    return calls(inner) && (calls(outer) || is_called(outer)) &&
           is_of_one_service(outer, inner) && cpti_may_be_one(outer->host, inner->host);
}

/* Span @span is a copy, and no use. */
static void drop(struct cpti_spans *spans, uint32_t span)
{
    spans->nodes[span].fate = CPTI_SPAN_duplicates;
    spans->nodes[span].parent = CPTI_SPAN_NONE;
    spans->nodes[span].again = CPTI_SPAN_NONE;
}

/* --- Many spans with one id --- */

/* Whether span @inner hangs below span @outer, both with one id. */
static bool is_within(const struct cpti_spans *spans, uint32_t inner, uint32_t outer)
{
    for (unsigned i = 0; i < SIDES_MAX && inner != CPTI_SPAN_NONE; i++) {
        if (inner == outer) {
            return true;
        }
        inner = spans->nodes[inner].parent;
    }
    return false;
}

/* Drops copies among the @count spans @members, which are in order; how many are left.
 * One that says its kind is better than one that does not. */
static size_t drop_copies(struct cpti_spans *spans, uint32_t *members, size_t count)
{
    const struct cpti_span *items = spans->items;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t other = members[i];
        size_t at = kept > SIDES_MAX ? kept - SIDES_MAX : 0;

        while (at < kept && !is_copy(&items[members[at]], &items[other]) &&
               !are_same(spans, members[at], other)) {
            at++;
        }
        if (at == kept) {
            members[kept++] = other;
            continue;
        }
        if (items[members[at]].kind == CPTI_SPAN_UNKNOWN &&
            items[other].kind != CPTI_SPAN_UNKNOWN) {
            const uint32_t known = other;

            other = members[at];
            members[at] = known;
        }
        drop(spans, other);
    }
    return kept;
}

/* The member before number @at that this one hangs below, or CPTI_SPAN_NONE. Of several
 * the outermost, and of what hangs below that, the innermost. */
static uint32_t find_holder(const struct cpti_spans *spans, const uint32_t *members,
                            size_t at)
{
    const struct cpti_span *span = &spans->items[members[at]];
    uint32_t found = CPTI_SPAN_NONE;

    for (size_t i = at > SIDES_MAX ? at - SIDES_MAX : 0; i < at; i++) {
        const struct cpti_span *outer = &spans->items[members[i]];

        if (may_hold(outer, span) && contains(outer, span) &&
            (found == CPTI_SPAN_NONE || is_within(spans, members[i], found))) {
            found = members[i];
        }
    }
    return found;
}

/* Makes a tree of the @count spans @members with one id, which are in order, where they
 * tell one. The index knows the outermost caller. */
static void join_members(struct cpti_spans *spans, uint32_t *members, size_t count)
{
    uint32_t caller = CPTI_SPAN_NONE;
    uint32_t last = CPTI_SPAN_NONE;
    size_t slot = 0;

    count = drop_copies(spans, members, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t holder = find_holder(spans, members, i);

        spans->nodes[members[i]].parent = holder;
        if (caller == CPTI_SPAN_NONE && holder == CPTI_SPAN_NONE &&
            calls(&spans->items[members[i]])) {
            caller = members[i];
        }
    }
    last = caller != CPTI_SPAN_NONE ? caller : members[0];
    (void)id_find(spans, spans->items[last].id, &slot);
    spans->index.slots[slot] = last + 1;
    for (size_t i = 0; i < count; i++) {
        struct cpti_span_node *node = &spans->nodes[members[i]];

        if (node->parent == CPTI_SPAN_NONE && is_called(&spans->items[members[i]])) {
            node->parent = caller; /* whose clock may differ */
        }
        if (members[i] != spans->index.slots[slot] - 1) {
            spans->nodes[last].again = members[i];
            last = members[i];
        }
    }
}

/* --- The index --- */

static void clear_node(struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span *span = &spans->items[number];
    const unsigned traits = (span->has_time ? CPTI_SPAN_HAS_TIME : 0U) |
                            (span->is_wait ? CPTI_SPAN_IS_WAIT : 0U) |
                            (span->tells_waits ? CPTI_SPAN_TELLS_WAITS : 0U) |
                            (span->link.bytes > 0 ? CPTI_SPAN_HAS_LINK : 0U);

    spans->nodes[number] = (struct cpti_span_node){.parent = CPTI_SPAN_NONE,
                                                   .again = CPTI_SPAN_NONE,
                                                   .frame = CPTI_SPAN_NONE,
                                                   .clock = CPTI_SPAN_NONE,
                                                   .traits = (unsigned short)traits};
}

/* Knows span @number by its id. false: there are others with it, and the order in which
 * they come matters. */
static bool index_in_any_order(struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span *items = spans->items;
    size_t slot = 0;
    const uint32_t first = id_find(spans, items[number].id, &slot);
    uint32_t again = CPTI_SPAN_NONE;

    if (first == CPTI_SPAN_NONE) {
        spans->index.slots[slot] = number + 1;
        return true;
    }
    again = spans->nodes[first].again;
    if (again == CPTI_SPAN_NONE && are_sides(&items[first], &items[number])) {
        const uint32_t client = calls(&items[first]) ? first : number;
        const uint32_t server = client == first ? number : first;

        spans->nodes[client].again = server;
        spans->nodes[server].parent = client;
        spans->index.slots[slot] = client + 1;
        return true;
    }
    if (are_same(spans, first, number) ||
        (again != CPTI_SPAN_NONE && are_same(spans, again, number))) {
        drop(spans, number);
        return true;
    }
    return false;
}

/* An order by id, then by all else; `numbers` has the first span with each id. */
static int compare_members(const void *left, const void *right, void *context)
{
    struct cpti_spans *spans = context;
    const uint32_t a = spans->numbers[*(const uint32_t *)left];
    const uint32_t b = spans->numbers[*(const uint32_t *)right];

    return a != b ? (a > b) - (a < b) : cpti_spans_compare(left, right, spans);
}

/* Settles the spans with ids of which some are the first @unsettled of the queue. */
static void settle(struct cpti_spans *spans, uint32_t unsettled)
{
    uint32_t *first_of = spans->numbers; /* of the spans to be settled; free by now */
    uint32_t count = 0;
    uint32_t end = 0;
    size_t slot = 0;

    memset(first_of, 0xff, spans->count * sizeof *first_of); /* CPTI_SPAN_NONE */
    for (uint32_t i = 0; i < unsettled; i++) {
        const uint32_t first = id_find(spans, spans->items[spans->queue[i]].id, &slot);

        first_of[first] = first;
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        const uint32_t first = id_find(spans, spans->items[i].id, &slot);

        if (first_of[first] == first) {
            first_of[i] = first;
            clear_node(spans, i);
            spans->queue[count++] = i;
        }
    }
    qsort_r(spans->queue, count, sizeof *spans->queue, compare_members, spans);
    for (uint32_t at = 0; at < count; at = end) {
        const uint32_t first = first_of[spans->queue[at]];

        for (end = at + 1; end < count && first_of[spans->queue[end]] == first; end++) {
        }
        join_members(spans, &spans->queue[at], end - at);
    }
}

void cpti_spans_index(struct cpti_spans *spans)
{
    uint32_t unsettled = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        clear_node(spans, i);
    }
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

/* --- Parents by id --- */

/* How well span @number, one of those with an id, suits as the parent of @child. A side
 * of the same service is best: by the same clock, one that ran all the time of the
 * child, the called one. Else the only called one, or one that ran; else the client's.
 */
static unsigned fit_of(const struct cpti_spans *spans, uint32_t number,
                       const struct cpti_span *child, bool is_only_called)
{
    enum {
        TIMED = 1,
        CALLS = 2,
        ANSWERS = 4,
        RAN = 8,
        SAME_CLOCK = 16,
        SAME_SERVICE = 32
    };
    const struct cpti_span *span = &spans->items[number];
    const bool has_run = contains(span, child);
    const unsigned timed = span->has_time ? TIMED : 0U;

    if (is_of_one_service(span, child)) {
        const bool is_same = (span->host.bytes > 0 || span->process != 0) &&
                             span->process == child->process &&
                             cpt_bytes_equal(span->host, child->host);

        return timed | SAME_SERVICE | (is_same ? SAME_CLOCK : 0U) |
               (has_run ? RAN : 0U) | (calls(span) ? 0U : ANSWERS);
    }
    if (calls(span)) {
        return CALLS;
    }
    return timed | (is_called(span) && (is_only_called || has_run) ? ANSWERS : 0U);
}

/* Whether not more than one of the spans with the id of @first is called. */
static bool has_one_called(const struct cpti_spans *spans, uint32_t first)
{
    unsigned called = 0;

    for (unsigned i = 0; i < SIDES_MAX && first != CPTI_SPAN_NONE; i++) {
        called += is_called(&spans->items[first]);
        first = spans->nodes[first].again;
    }
    return called <= 1;
}

uint32_t cpti_spans_parent_by_id(const struct cpti_spans *spans,
                                 const struct cpti_span *child)
{
    const uint32_t first = cpti_spans_find(spans, child->parent);
    uint32_t found = first;
    unsigned best = 0;
    bool is_only_called = false;

    if (first == CPTI_SPAN_NONE || spans->nodes[first].again == CPTI_SPAN_NONE) {
        return first;
    }
    is_only_called = has_one_called(spans, first);
    for (unsigned i = 0, at = first; i < SIDES_MAX && at != CPTI_SPAN_NONE; i++) {
        const unsigned fit = fit_of(spans, at, child, is_only_called);

        /* of two that suit as well, the one that began last before the child */
        if (fit > best || (fit == best && best > 0 &&
                           spans->items[at].start_ns > spans->items[found].start_ns &&
                           spans->items[at].start_ns <= child->start_ns)) {
            best = fit;
            found = at;
        }
        at = spans->nodes[at].again;
    }
    return found;
}
