/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_root.c - the root of a trace, or of the part of it that is known
 *
 *      by its own word   the earliest span with a time that names no parent
 *      of a fragment     if there is none, the earliest with a time of which nothing
 *                        with a time is above: its parent is missing, or all that are
 *                        above it have no time, up to the root or to a missing one
 */
#include "import/spans/span_tree.h"

#include <string.h>

/* Of spans without a time, in spans->numbers, which are free until children are listed:
 * whether all those above them have none either. */
enum above { ABOVE_UNKNOWN = 0, ABOVE_TIMED, ABOVE_TIMELESS };

/* Notes that of all of them. Those in a circle lead nowhere. */
static void find_timeless(struct cpti_spans *spans)
{
    uint32_t *above = spans->numbers;

    memset(above, 0, spans->count * sizeof *above);
    for (uint32_t i = 0; i < spans->count; i++) {
        uint32_t at = i;
        size_t way = 0;
        bool is_top = false;

        while (at != CPTI_SPAN_NONE && !spans->items[at].has_time &&
               above[at] == ABOVE_UNKNOWN) {
            above[at] = ABOVE_TIMED;
            spans->queue[way++] = at;
            at = spans->nodes[at].parent;
        }
        is_top = at == CPTI_SPAN_NONE ||
                 (!spans->items[at].has_time && above[at] == ABOVE_TIMELESS);
        while (is_top && way > 0) {
            above[spans->queue[--way]] = ABOVE_TIMELESS;
        }
    }
}

/* Whether nothing of the trace is above @span: 2 if so by its own word, 1 if what it
 * names is missing, or nothing above it has a time; else 0. */
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
           spans->numbers[node->parent] == ABOVE_TIMELESS;
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

/* Whose root it is that was found, of a request or of a part of it. */
static void judge_root(struct cpti_spans *spans)
{
    uint32_t top = spans->root;

    while (spans->nodes[top].parent != CPTI_SPAN_NONE) {
        top = spans->nodes[top].parent; /* they have no time, and end */
    }
    if (spans->nodes[top].fate == CPTI_SPAN_orphans) {
        spans->fragment = CPTI_SPAN_ROOT_MISSING;
    } else if (top != spans->root) {
        spans->fragment = CPTI_SPAN_ROOT_TIMELESS;
        spans->timeless_root = top;
    }
}

void cpti_spans_find_root(struct cpti_spans *spans)
{
    int rank = 0;

    spans->root = CPTI_SPAN_NONE;
    spans->timeless_root = CPTI_SPAN_NONE;
    spans->fragment = CPTI_SPAN_WHOLE;
    if (spans->has_pieces) {
        find_timeless(spans);
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        const int own = is_top(spans, i);

        if (own > rank ||
            (own == rank && own > 0 && is_before(spans, i, spans->root))) {
            rank = own;
            spans->root = i;
        }
    }
    if (rank > 0) {
        judge_root(spans);
        spans->nodes[spans->root].parent = CPTI_SPAN_NONE;
    }
}

void cpti_spans_drop_all(struct cpti_spans *spans)
{
    for (uint32_t i = 0; i < spans->count; i++) {
        struct cpti_span_node *node = &spans->nodes[i];

        if (node->fate != CPTI_SPAN_duplicates) {
            node->fate =
                spans->items[i].has_time ? CPTI_SPAN_cycles : CPTI_SPAN_timeless;
        }
    }
}

enum cpti_span_fragment cpti_spans_fragment(const struct cpti_spans *spans)
{
    return spans->fragment;
}

uint32_t cpti_spans_timeless_root(const struct cpti_spans *spans)
{
    return spans->timeless_root;
}

const char *cpti_span_fragment_word(enum cpti_span_fragment fragment)
{
    static const char *const words[CPTI_SPAN_FRAGMENTS] = {
#define WORD(NAME, word, sentence) [CPTI_SPAN_##NAME] = (word),
        CPTI_SPAN_FRAGMENT_MAP(WORD)
#undef WORD
    };

    return words[fragment];
}
