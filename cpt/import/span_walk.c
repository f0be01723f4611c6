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
 * what "before" is, and here two children may overlap by 1 % of their parent's time,
 * because clocks and threads do. What overlaps is cut from the earlier one.
 *
 * The children of a span are put in order when it is entered. Spans that are never
 * entered cost nothing.
 */
#include "cpt/import/span_tree.h"

#include <stdlib.h>

enum { OVERLAP_SHARE = 100 }; /* 1 % */

/* --- Sections --- */

static cpt_status section_add(struct cpti_spans *spans, uint32_t span,
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

static int compare_keys(const void *left, const void *right, void *spans)
{
    const struct cpti_span_key *a = left;
    const struct cpti_span_key *b = right;

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

static void sort_keys(struct cpti_spans *spans, struct cpti_span_key *keys,
                      size_t count)
{
    enum { FEW = 16 };

    if (count > FEW) {
        qsort_r(keys, count, sizeof *keys, compare_keys, spans);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct cpti_span_key key = keys[i];
        size_t k = i;

        for (; k > 0 && compare_keys(&key, &keys[k - 1], spans) < 0; k--) {
            keys[k] = keys[k - 1];
        }
        keys[k] = key;
    }
}

static cpt_status key_push(struct cpti_spans *spans, struct cpti_span_key key)
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

/* Pushes the children of @span that began before @until_ns. Those of a child without a
 * time stand in its place. */
static cpt_status push_children(struct cpti_spans *spans, uint32_t span,
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

            if (child->fate != CPTI_SPAN_IN_TREE || child->start_ns >= until_ns) {
                continue;
            }
            if (!spans->items[number].has_time) {
                spans->queue[open++] = number;
                continue;
            }
            status =
                key_push(spans, (struct cpti_span_key){
                                    child->end_ns < until_ns ? child->end_ns : until_ns,
                                    child->start_ns, number});
        }
    }
    if (spans->key_count > first) {
        sort_keys(spans, &spans->keys[first], spans->key_count - first);
    }
    return status;
}

/* --- The walk --- */

static cpt_status enter(struct cpti_spans *spans, uint32_t span, uint64_t until_ns)
{
    void *visits = spans->visits;
    cpt_status status = CPT_OK;

    if (spans->visit_count == spans->visit_capacity) {
        status = cpt_alloc_grow(spans->alloc, &visits, &spans->visit_capacity,
                                spans->visit_count + 1, CPTI_SPANS_MAX,
                                sizeof *spans->visits);
        spans->visits = visits;
        if (status != CPT_OK) {
            return status;
        }
    }
    spans->visits[spans->visit_count++] =
        (struct cpti_span_visit){.cursor_ns = until_ns,
                                 .span = span,
                                 .keys_at = (uint32_t)spans->key_count,
                                 .next_key = (uint32_t)spans->key_count};
    return push_children(spans, span, until_ns);
}

/* Whether @key is the next child to be picked. */
static bool is_next(const struct cpti_spans *spans, const struct cpti_span_visit *visit,
                    const struct cpti_span_key *key, enum cpti_span_mode mode)
{
    const struct cpti_span_node *node = &spans->nodes[visit->span];
    const uint64_t overlap_ns = (node->end_ns - node->start_ns) / OVERLAP_SHARE;

    if (key->start_ns >= visit->cursor_ns) {
        return false;
    }
    if (!visit->has_picked) {
        return true;
    }
    return mode == CPTI_SPANS_JAEGER_UI ? key->end_ns < visit->cursor_ns
                                        : key->end_ns <= visit->cursor_ns + overlap_ns;
}

/* Gives the time from @start_ns to the cursor to the span itself, less what its
 * children took twice. */
static cpt_status give_own(struct cpti_spans *spans, struct cpti_span_visit *visit,
                           uint64_t start_ns)
{
    const uint64_t own_ns =
        visit->cursor_ns > start_ns ? visit->cursor_ns - start_ns : 0;
    const uint64_t taken_ns = visit->overlap_ns < own_ns ? visit->overlap_ns : own_ns;

    visit->overlap_ns -= taken_ns;
    return section_add(spans, visit->span, start_ns + taken_ns, start_ns + own_ns);
}

/* Goes on in the child of @key; the visit may have moved afterwards. */
static cpt_status pick(struct cpti_spans *spans, struct cpti_span_visit *visit,
                       struct cpti_span_key key, enum cpti_span_mode mode)
{
    cpt_status status = CPT_OK;

    if (key.end_ns > visit->cursor_ns) {
        if (mode == CPTI_SPANS_CRISP) {
            visit->overlap_ns += key.end_ns - visit->cursor_ns;
        } else {
            key.end_ns = visit->cursor_ns;
        }
    }
    status = give_own(spans, visit, key.end_ns);
    visit->cursor_ns = key.start_ns;
    visit->has_picked = true;
    return status == CPT_OK ? enter(spans, key.span, key.end_ns) : status;
}

static cpt_status leave(struct cpti_spans *spans, struct cpti_span_visit *visit)
{
    spans->visit_count--;
    spans->key_count = visit->keys_at;
    return give_own(spans, visit, spans->nodes[visit->span].start_ns);
}

cpt_status cpti_spans_walk(struct cpti_spans *spans, enum cpti_span_mode mode)
{
    cpt_status status = CPT_OK;

    spans->section_count = 0;
    spans->heeds_notes = mode == CPTI_SPANS_EXACT;
    spans->key_count = 0;
    spans->visit_count = 0;
    status = enter(spans, spans->root, spans->nodes[spans->root].end_ns);
    while (spans->visit_count > 0 && status == CPT_OK) {
        struct cpti_span_visit *visit = &spans->visits[spans->visit_count - 1];
        bool is_found = false;

        /* the keys of the last visit are the last keys */
        while (visit->next_key < spans->key_count && !is_found) {
            is_found = is_next(spans, visit, &spans->keys[visit->next_key++], mode);
        }
        status = is_found ? pick(spans, visit, spans->keys[visit->next_key - 1], mode)
                          : leave(spans, visit);
    }
    reverse(spans);
    return status;
}
