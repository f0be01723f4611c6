/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_walk.c - the critical path of a tree of spans
 *
 * The walk goes backwards in time, from the end of the root. It is in one span, with a
 * cursor behind which all time has been given away:
 *
 *      pick   the child that ended last before the cursor. The time between is the
 *             span's own; enter the child, and go on where it began
 *      leave  if there is none: the rest is the span's own
 *
 * So each nanosecond of the root is given to one span. That is the rule of span-based
 * critical paths everywhere (CRISP: Zhang et al., USENIX ATC 2022); tools differ in
 * what "before" is (span_tools.c), and here two children may overlap by 1 % of their
 * parent's time, because clocks and threads do. What overlaps is cut from the earlier
 * one.
 *
 * A child that goes on after its parent, by more than that, may run in the background.
 * It is passed over if a child that ends within the parent ran beside it: for that one
 * the parent may have waited, for the end of the other it has not. It is enough to know
 * which of those ended last:
 *
 *      parent       |==================|
 *      waited for      |=======|                 ended last within
 *      passed over       |===================>
 *      taken, cut                 |==========>
 *
 * Those that begin later than that are taken, as something may have held the parent.
 *
 * The children of all spans are put in order once, as most walks need it. Where the end
 * of a span is cut by the one that ended after it, or it tells its waits, its children
 * are put in order again when it is entered, by keys.
 *
 * A span that tells when it waited is walked by that alone (exact mode; as in
 * docs/model.md): of its children only the waits are picked, from the last one
 * backwards, and the walk goes on in what was waited for, where that ended. When that
 * has been walked to its start, the walk goes to the span that it began after, if it
 * says so, or to its parent. Neither need be the span that waited: the walk jumps, and
 * enters spans again. Each link is followed once and the work is bounded, so that links
 * that lie cost no more than other spans; the sections tile the root all the same.
 */
#include "import/spans/span_tree.h"

#include <stdlib.h>

enum {
    OVERLAP_SHARE = 100, /* 1 % */
    FEW = 16,            /* to be sorted one by one */
    WORK_FEW = 1024,
    WORK_PER_SPAN = 32 /* entering it, and looking at it as a child */
};

/* --- Sections --- */

cpt_status cpti_spans_section_add(struct cpti_spans *spans, uint32_t span,
                                  uint64_t start_ns, uint64_t end_ns)
{
    struct cpti_section *last = NULL;
    void *sections = spans->sections;
    cpt_status status = CPT_OK;

    if (start_ns >= end_ns) {
        return CPT_OK;
    }
    if (spans->section_count > 0) {
        last = &spans->sections[spans->section_count - 1];
        if (last->span == span && last->start_ns == end_ns) {
            last->start_ns = start_ns;
            return CPT_OK;
        }
    }
    if (spans->section_count == spans->section_capacity) {
        status = cpt_alloc_grow(spans->alloc, &sections, &spans->section_capacity,
                                spans->section_count + 1, 2 * (size_t)CPTI_SPANS_MAX,
                                sizeof *spans->sections);
        spans->sections = sections;
    }
    if (status == CPT_OK) {
        spans->sections[spans->section_count++] =
            (struct cpti_section){span, start_ns, end_ns};
    }
    return status;
}

size_t cpti_spans_section_count(const struct cpti_spans *spans)
{
    return spans->section_count;
}

const struct cpti_section *cpti_spans_section(const struct cpti_spans *spans,
                                              size_t index)
{
    return &spans->sections[index];
}

/* They were found backwards. */
static void reverse(struct cpti_spans *spans)
{
    for (size_t i = 0, k = spans->section_count; i + 1 < k; i++) {
        const struct cpti_section first = spans->sections[i];

        spans->sections[i] = spans->sections[--k];
        spans->sections[k] = first;
    }
}

/* --- The children of a span, the one to be picked first in front --- */

static int compare_key(const struct cpti_spans *spans, const struct cpti_span_key *a,
                       const struct cpti_span_key *b)
{
    if (a->end_ns != b->end_ns) {
        return a->end_ns > b->end_ns ? -1 : 1;
    }
    if ((a->start_ns == a->end_ns) != (b->start_ns == b->end_ns)) {
        return a->start_ns == a->end_ns ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return cpti_spans_order(spans, a->span, b->span);
}

static int compare_keys(const void *left, const void *right, void *spans)
{
    return compare_key(spans, left, right);
}

static void sort_keys(struct cpti_spans *spans, struct cpti_span_key *keys,
                      size_t count)
{
    if (count > FEW) {
        qsort_r(keys, count, sizeof *keys, compare_keys, spans);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct cpti_span_key key = keys[i];
        size_t k = i;

        for (; k > 0 && compare_key(spans, &key, &keys[k - 1]) < 0; k--) {
            keys[k] = keys[k - 1];
        }
        keys[k] = key;
    }
}

static struct cpti_span_key key_of(const struct cpti_spans *spans, uint32_t number)
{
    return (struct cpti_span_key){spans->nodes[number].end_ns,
                                  spans->nodes[number].start_ns, number};
}

static int compare_numbers(const void *left, const void *right, void *context)
{
    const struct cpti_spans *spans = context;
    const struct cpti_span_key a = key_of(spans, *(const uint32_t *)left);
    const struct cpti_span_key b = key_of(spans, *(const uint32_t *)right);

    return compare_key(spans, &a, &b);
}

/* Puts the children of @node that are in the tree in front, and in order. */
static void order_children(struct cpti_spans *spans, struct cpti_span_node *node)
{
    uint32_t *children = &spans->numbers[node->children_at];

    node->in_tree = 0;
    node->is_plain = (node->traits & CPTI_SPAN_TELLS_WAITS) == 0;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t child = children[i];

        if (spans->nodes[child].fate == CPTI_SPAN_IN_TREE) {
            children[i] = children[node->in_tree];
            children[node->in_tree++] = child;
            node->is_plain &=
                (spans->nodes[child].traits &
                 (CPTI_SPAN_HAS_TIME | CPTI_SPAN_IS_WAIT)) == CPTI_SPAN_HAS_TIME;
        }
    }
    if (!node->is_plain || node->in_tree < 2) {
        return;
    }
    if (node->in_tree > FEW) {
        qsort_r(children, node->in_tree, sizeof *children, compare_numbers, spans);
        return;
    }
    for (uint32_t i = 1; i < node->in_tree; i++) {
        const uint32_t child = children[i];
        const struct cpti_span_key key = key_of(spans, child);
        uint32_t k = i;

        for (; k > 0; k--) {
            const struct cpti_span_key before = key_of(spans, children[k - 1]);

            if (compare_key(spans, &key, &before) >= 0) {
                break;
            }
            children[k] = children[k - 1];
        }
        children[k] = child;
    }
}

void cpti_spans_order_children(struct cpti_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        if (spans->nodes[i].fate == CPTI_SPAN_IN_TREE) {
            order_children(spans, &spans->nodes[i]);
        }
    }
}

cpt_status cpti_spans_key_push(struct cpti_spans *spans, struct cpti_span_key key)
{
    void *keys = spans->keys;
    cpt_status status = CPT_OK;

    if (spans->key_count == spans->key_capacity) {
        status = cpt_alloc_grow(spans->alloc, &keys, &spans->key_capacity,
                                spans->key_count + 1, CPTI_SPANS_MAX, sizeof key);
        spans->keys = keys;
    }
    if (status == CPT_OK) {
        spans->keys[spans->key_count++] = key;
    }
    return status;
}

static bool is_wait(const struct cpti_spans *spans, uint32_t number)
{
    return cpti_spans_has(spans, number, CPTI_SPAN_IS_WAIT);
}

bool cpti_spans_tells_waits(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];
    uint32_t count = 0;

    if (!cpti_spans_has(spans, number, CPTI_SPAN_TELLS_WAITS)) {
        return false;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t child = spans->numbers[node->children_at + i];

        count += is_wait(spans, child) &&
                 cpti_spans_has(spans, child, CPTI_SPAN_HAS_TIME) &&
                 spans->nodes[child].fate == CPTI_SPAN_IN_TREE;
    }
    return count == spans->items[number].wait_count;
}

/* Pushes the children of @span that began before @until_ns: its waits, if it tells
 * them, else all others. Those of a child without a time stand in its place. */
static cpt_status push_children(struct cpti_spans *spans, uint32_t span, bool tells,
                                uint64_t until_ns)
{
    const size_t first = spans->key_count;
    cpt_status status = CPT_OK;
    size_t open = 0;

    spans->queue[open++] = span;
    while (open > 0 && status == CPT_OK) {
        const struct cpti_span_node *node = &spans->nodes[spans->queue[--open]];

        for (uint32_t i = 0; i < node->child_count && status == CPT_OK; i++) {
            const uint32_t number = spans->numbers[node->children_at + i];
            const struct cpti_span_node *child = &spans->nodes[number];

            if (child->fate != CPTI_SPAN_IN_TREE || child->start_ns >= until_ns ||
                is_wait(spans, number) != tells) {
                continue;
            }
            if ((child->traits & CPTI_SPAN_HAS_TIME) == 0) {
                spans->queue[open++] = number;
                continue;
            }
            status = cpti_spans_key_push(
                spans, (struct cpti_span_key){child->end_ns < until_ns ? child->end_ns
                                                                       : until_ns,
                                              child->start_ns, number});
        }
    }
    if (spans->key_count > first) {
        sort_keys(spans, &spans->keys[first], spans->key_count - first);
    }
    return status;
}

/* --- What goes on in the background --- */

/* Whether @child of @parent ends later than it, by more than clocks and threads do: so
 * @parent did not wait for its end. Both as they came, not as they were cut. */
static bool outlives(const struct cpti_spans *spans, uint32_t child, uint32_t parent)
{
    const struct cpti_span *below = &spans->items[child];
    const struct cpti_span *above = &spans->items[parent];
    const uint64_t end_ns = below->start_ns + below->duration_ns;
    const uint64_t due_ns = above->start_ns + above->duration_ns;

    return spans->nodes[child].end_ns >= spans->nodes[parent].end_ns &&
           end_ns > due_ns && end_ns - due_ns > above->duration_ns / OVERLAP_SHARE;
}

/* The children of @visit, as the walk sees them: number @index, and behind the last. */
static struct cpti_span_key key_at(const struct cpti_spans *spans,
                                   const struct cpti_span_visit *visit, size_t index)
{
    return visit->is_listed
               ? key_of(spans,
                        spans->numbers[spans->nodes[visit->span].children_at + index])
               : spans->keys[index];
}

static size_t key_end(const struct cpti_spans *spans,
                      const struct cpti_span_visit *visit)
{
    return visit->is_listed ? spans->nodes[visit->span].in_tree : spans->key_count;
}

/* If a child of @visit, just entered, may outlive its span: of those that do not, the
 * one that ended last. Else, or if there is none, CPTI_SPAN_NONE. What outlives the
 * span and began before that is passed over: it ran beside. */
static struct cpti_span_key last_within(const struct cpti_spans *spans,
                                        const struct cpti_span_visit *visit)
{
    const size_t end = key_end(spans, visit);
    const size_t first = visit->next_key;

    if (visit->tells || first == end ||
        key_at(spans, visit, first).end_ns < visit->cursor_ns /* none was cut */) {
        return (struct cpti_span_key){.span = CPTI_SPAN_NONE};
    }
    for (size_t i = first; i < end; i++) {
        const struct cpti_span_key key = key_at(spans, visit, i);

        if (key.start_ns < key.end_ns && !outlives(spans, key.span, visit->span)) {
            return key;
        }
    }
    return (struct cpti_span_key){.span = CPTI_SPAN_NONE};
}

static bool runs_beside(const struct cpti_spans *spans,
                        const struct cpti_span_visit *visit,
                        const struct cpti_span_key *key)
{
    return key->start_ns < visit->within_ns && outlives(spans, key->span, visit->span);
}

/* --- The walk --- */

/* Notes whether span @visit->span, just entered with its keys, leaves it open who
 * waited. */
static void judge(struct cpti_spans *spans, const struct cpti_span_visit *visit)
{
    const struct cpti_span_node *node = &spans->nodes[visit->span];
    const struct cpti_span *span = &spans->items[visit->span];
    const size_t keys = spans->key_count - visit->keys_at;

    if (node->end_ns - node->start_ns != span->duration_ns) {
        spans->is_exact = false;
    }
    if (!visit->tells &&
        (span->kind != CPTI_SPAN_CLIENT || keys > 1 ||
         (keys == 1 &&
          spans->items[spans->keys[visit->keys_at].span].kind != CPTI_SPAN_SERVER))) {
        spans->is_exact = false;
    }
}

static void note(struct cpti_spans *spans, uint32_t number, uint64_t until_ns)
{
    struct cpti_span_node *node = &spans->nodes[number];

    if (node->entered_in != spans->walk || node->until_ns < until_ns) {
        node->until_ns = until_ns;
    }
    node->entered_in = spans->walk;
}

/* Goes on in @span, from @until_ns backwards. */
static cpt_status enter(struct cpti_spans *spans, uint32_t span, uint64_t until_ns,
                        bool is_jump)
{
    const struct cpti_span_node *node = &spans->nodes[span];
    const size_t cost = 1 + (size_t)node->child_count;
    struct cpti_span_visit *visit = NULL;
    void *visits = spans->visits;
    cpt_status status = CPT_OK;

    spans->work_left -= cost < spans->work_left ? cost : spans->work_left;
    if (spans->visit_count == spans->visit_capacity) {
        status = cpt_alloc_grow(spans->alloc, &visits, &spans->visit_capacity,
                                spans->visit_count + 1, CPTI_SPANS_MAX,
                                sizeof *spans->visits);
        spans->visits = visits;
        if (status != CPT_OK) {
            return status;
        }
    }
    visit = &spans->visits[spans->visit_count++];
    *visit = (struct cpti_span_visit){.cursor_ns = until_ns,
                                      .span = span,
                                      .keys_at = (uint32_t)spans->key_count,
                                      .next_key = (uint32_t)spans->key_count,
                                      .is_jump = is_jump};
    note(spans, span, until_ns);
    if (!spans->is_exact && node->is_plain && until_ns == node->end_ns) {
        visit->is_listed = true;
        visit->next_key = 0;
    } else {
        visit->tells = cpti_spans_tells_waits(spans, span);
        status = push_children(spans, span, visit->tells, until_ns);
        judge(spans, visit);
    }
    visit->within_ns = last_within(spans, visit).end_ns;
    return status;
}

/* Whether @key is the next child to be picked. */
static bool is_next(const struct cpti_spans *spans, const struct cpti_span_visit *visit,
                    const struct cpti_span_key *key)
{
    const struct cpti_span_node *node = &spans->nodes[visit->span];

    if (key->start_ns >= visit->cursor_ns || runs_beside(spans, visit, key)) {
        return false;
    }
    if (!visit->has_picked || visit->tells || key->end_ns < visit->cursor_ns) {
        return true;
    }
    return key->end_ns - visit->cursor_ns <=
           (node->end_ns - node->start_ns) / OVERLAP_SHARE;
}

/* Goes on in the child of @key; the visit may have moved afterwards. */
static cpt_status pick(struct cpti_spans *spans, struct cpti_span_visit *visit,
                       struct cpti_span_key key)
{
    const uint64_t end_ns =
        key.end_ns < visit->cursor_ns ? key.end_ns : visit->cursor_ns;
    const cpt_status status =
        cpti_spans_section_add(spans, visit->span, end_ns, visit->cursor_ns);

    visit->cursor_ns = key.start_ns;
    visit->has_picked = true;
    return status == CPT_OK ? enter(spans, key.span, end_ns, false) : status;
}

/* --- What spans tell of their waits --- */

/* The span that the link of span @number leads to, if the walk can go on there: it was
 * under way just before @until_ns. */
static uint32_t follow(struct cpti_spans *spans, uint32_t number, uint64_t until_ns)
{
    struct cpti_span_node *node = &spans->nodes[number];
    const struct cpt_bytes link = spans->items[number].link;
    uint32_t found = CPTI_SPAN_NONE;

    if (link.bytes == 0 || node->followed_in == spans->walk) {
        return CPTI_SPAN_NONE;
    }
    found = cpti_spans_find(spans, link);
    if (found == CPTI_SPAN_NONE || spans->work_left == 0 ||
        spans->nodes[found].fate != CPTI_SPAN_IN_TREE ||
        !cpti_spans_has(spans, found, CPTI_SPAN_HAS_TIME) ||
        cpti_spans_has(spans, found, CPTI_SPAN_IS_WAIT)) {
        spans->is_exact = false; /* it is not here */
        return CPTI_SPAN_NONE;
    }
    if (spans->nodes[found].start_ns >= until_ns) {
        return CPTI_SPAN_NONE;
    }
    node->followed_in = spans->walk;
    return found;
}

uint32_t cpti_spans_timed_above(const struct cpti_spans *spans, uint32_t number)
{
    do {
        number = spans->nodes[number].parent;
    } while (number != CPTI_SPAN_NONE &&
             !cpti_spans_has(spans, number, CPTI_SPAN_HAS_TIME));
    return number;
}

/* Goes on where the wait of @key says. What passed between the end of what was waited
 * for and the end of the wait is the wait's own. */
static cpt_status pick_wait(struct cpti_spans *spans, struct cpti_span_visit *visit,
                            struct cpti_span_key key)
{
    const uint32_t span = visit->span;
    const uint64_t end_ns =
        key.end_ns < visit->cursor_ns ? key.end_ns : visit->cursor_ns;
    const uint32_t found = follow(spans, key.span, end_ns);
    cpt_status status = cpti_spans_section_add(spans, span, end_ns, visit->cursor_ns);

    note(spans, key.span, end_ns);
    /* what was there already before the wait did not cause it */
    if (found == CPTI_SPAN_NONE || spans->nodes[found].end_ns <= key.start_ns) {
        visit->cursor_ns = key.start_ns;
        return status == CPT_OK
                   ? cpti_spans_section_add(spans, key.span, key.start_ns, end_ns)
                   : status;
    }
    if (spans->nodes[found].end_ns < end_ns) {
        visit->cursor_ns = spans->nodes[found].end_ns;
        status = status == CPT_OK
                     ? cpti_spans_section_add(spans, key.span, visit->cursor_ns, end_ns)
                     : status;
    } else {
        visit->cursor_ns = end_ns;
    }
    if (status != CPT_OK) {
        return status;
    }
    return enter(spans, found, visit->cursor_ns, true);
}

/* The walk has left span @number, and all time from @cursor_ns on is given away: goes
 * on in the parent, which need not be the span that the walk came from. */
static cpt_status go_back(struct cpti_spans *spans, uint32_t number, uint64_t cursor_ns)
{
    const uint32_t parent = cpti_spans_timed_above(spans, number);

    if (parent != CPTI_SPAN_NONE && spans->visit_count > 0 &&
        spans->visits[spans->visit_count - 1].span == parent) {
        spans->visits[spans->visit_count - 1].cursor_ns = cursor_ns;
        return CPT_OK;
    }
    spans->visit_count = 0;
    spans->key_count = 0;
    return parent != CPTI_SPAN_NONE ? enter(spans, parent, cursor_ns, true) : CPT_OK;
}

static cpt_status leave(struct cpti_spans *spans, struct cpti_span_visit *visit)
{
    const uint32_t span = visit->span;
    const uint64_t start_ns = spans->nodes[span].start_ns;
    const bool is_jump = visit->is_jump;
    cpt_status status = cpti_spans_section_add(spans, span, start_ns, visit->cursor_ns);
    uint32_t before = CPTI_SPAN_NONE;

    spans->visit_count--;
    spans->key_count = visit->keys_at;
    if (status == CPT_OK && span != spans->root &&
        cpti_spans_has(spans, span, CPTI_SPAN_HAS_LINK)) {
        before = follow(spans, span, start_ns);
    }
    if (before != CPTI_SPAN_NONE) {
        const uint64_t end_ns = spans->nodes[before].end_ns;

        if (end_ns < start_ns) { /* it was ready, and its parent did not begin it */
            status = cpti_spans_section_add(spans, cpti_spans_timed_above(spans, span),
                                            end_ns, start_ns);
        }
        return status == CPT_OK
                   ? enter(spans, before, end_ns < start_ns ? end_ns : start_ns, true)
                   : status;
    }
    return is_jump && status == CPT_OK ? go_back(spans, span, start_ns) : status;
}

/* The next child of @visit, the last one, that is picked; false: there is none. */
static bool next_child(const struct cpti_spans *spans, struct cpti_span_visit *visit,
                       struct cpti_span_key *key)
{
    const size_t end = key_end(spans, visit);

    while (visit->next_key < end) {
        *key = key_at(spans, visit, visit->next_key++);
        if (is_next(spans, visit, key)) {
            return true;
        }
    }
    return false;
}

static void begin(struct cpti_spans *spans)
{
    if (spans->mode != CPTI_SPANS_EXACT) { /* the last walk was as another tool */
        cpti_spans_settle(spans, CPTI_SPANS_EXACT, false);
    }
    spans->section_count = 0;
    spans->key_count = 0;
    spans->visit_count = 0;
    spans->is_exact = true;
    spans->work_left = WORK_FEW + WORK_PER_SPAN * spans->count;
    spans->walk++;
}

bool cpti_spans_is_exact(const struct cpti_spans *spans)
{
    return spans->is_exact;
}

cpt_status cpti_spans_walk(struct cpti_spans *spans, enum cpti_span_mode mode)
{
    cpt_status status = CPT_OK;

    if (mode != CPTI_SPANS_EXACT) {
        return cpti_spans_walk_as_tool(spans, mode, false);
    }
    begin(spans);
    status = enter(spans, spans->root, spans->nodes[spans->root].end_ns, true);
    while (spans->visit_count > 0 && status == CPT_OK) {
        struct cpti_span_visit *visit = &spans->visits[spans->visit_count - 1];
        struct cpti_span_key key;

        if (!next_child(spans, visit, &key)) {
            status = leave(spans, visit);
        } else if (visit->tells) {
            status = pick_wait(spans, visit, key);
        } else {
            status = pick(spans, visit, key);
        }
    }
    reverse(spans);
    return status;
}

cpt_status cpti_spans_rival(struct cpti_spans *spans, uint32_t parent, uint32_t number,
                            uint32_t *rival, bool *is_background)
{
    struct cpti_span_visit visit = {.cursor_ns = spans->nodes[parent].until_ns,
                                    .span = parent};
    struct cpti_span_key within;
    cpt_status status = CPT_OK;

    *rival = CPTI_SPAN_NONE;
    *is_background = false;
    spans->key_count = 0;
    status = push_children(spans, parent, false, visit.cursor_ns);
    within = last_within(spans, &visit);
    visit.within_ns = within.end_ns;
    for (size_t i = 0; i < spans->key_count && status == CPT_OK; i++) {
        const struct cpti_span_key *key = &spans->keys[i];
        const bool is_picked = is_next(spans, &visit, key);

        if (key->span == number) {
            *is_background = runs_beside(spans, &visit, key);
            *rival = *is_background ? within.span : is_picked ? CPTI_SPAN_NONE : *rival;
            return CPT_OK;
        }
        if (is_picked) {
            *rival = key->span;
            visit.cursor_ns = key->start_ns;
            visit.has_picked = true;
        }
    }
    *rival = CPTI_SPAN_NONE;
    return status;
}
