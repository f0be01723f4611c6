/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_explain.c - why a span is on the critical path, or is not
 *
 * The walk notes which spans it entered, and until when they were on the path. A span
 * that it did not enter has an ancestor that it did enter; the reason lies in the first
 * span below that. There the picking of children is done once more, up to the one that
 * was passed over: the child that was picked before it is what held their parent.
 */
#include "import/spans/span_explain.h"

#include "import/spans/span_tree.h"

#include <string.h>

/* --- Time on the path --- */

/* Adds up the sections of span @number and of those below it. */
static void sum(struct cpti_spans *spans, uint32_t number,
                struct cpti_span_account *account)
{
    size_t end = 0;

    spans->queue[end++] = number;
    for (size_t i = 0; i < end; i++) {
        const struct cpti_span_node *node = &spans->nodes[spans->queue[i]];

        for (uint32_t k = 0; k < node->child_count; k++) {
            const uint32_t child = spans->numbers[node->children_at + k];

            spans->nodes[child].is_below = true;
            spans->queue[end++] = child;
        }
    }
    for (size_t i = 0; i < spans->section_count; i++) {
        const struct cpti_section *section = &spans->sections[i];
        const uint64_t ns = section->end_ns - section->start_ns;

        if (section->span == number) {
            account->own_ns += ns;
        } else if (spans->nodes[section->span].is_below) {
            account->below_ns += ns;
        }
    }
    for (size_t i = 0; i < end; i++) {
        spans->nodes[spans->queue[i]].is_below = false;
    }
}

/* The span whose section contains the instant after @at_ns, or CPTI_SPAN_NONE. */
static uint32_t span_after(const struct cpti_spans *spans, uint64_t at_ns)
{
    size_t low = 0;
    size_t high = spans->section_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (spans->sections[middle].end_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < spans->section_count && spans->sections[low].start_ns <= at_ns
               ? spans->sections[low].span
               : CPTI_SPAN_NONE;
}

/* --- Reasons --- */

/* Why span @number is not in the tree. */
static void explain_dropped(const struct cpti_spans *spans, uint32_t number,
                            struct cpti_span_account *account)
{
    static const char *const words[] = {
#define WORD(name, sentence) [CPTI_SPAN_##name] = #name,
        CPTI_SPAN_DROP_MAP(WORD)
#undef WORD
    };
    static const char *const sentences[] = {
#define SENTENCE(name, sentence) [CPTI_SPAN_##name] = (sentence),
        CPTI_SPAN_DROP_MAP(SENTENCE)
#undef SENTENCE
    };
    unsigned fate = spans->nodes[number].fate;

    if (fate == CPTI_SPAN_IN_TREE) {
        fate = CPTI_SPAN_timeless; /* passed over */
    } else if (fate == CPTI_SPAN_UNREACHED) {
        fate = CPTI_SPAN_cycles;
    }
    account->why = CPTI_SPAN_WHY_DROPPED;
    account->fate = words[fate];
    account->fate_sentence = sentences[fate];
}

/* Where the path was when span @number ended. */
static void explain_elsewhere(const struct cpti_spans *spans, uint32_t number,
                              struct cpti_span_account *account)
{
    account->why = CPTI_SPAN_WHY_ELSEWHERE;
    account->at_ns = spans->nodes[number].end_ns;
    account->by = span_after(spans, account->at_ns - 1);
}

/* Span @number is below @parent, which tells its waits. */
static void explain_told(const struct cpti_spans *spans, uint32_t parent,
                         uint32_t number, struct cpti_span_account *account)
{
    const struct cpti_span_node *above = &spans->nodes[parent];

    for (uint32_t i = 0; i < above->child_count; i++) {
        const uint32_t wait = spans->numbers[above->children_at + i];

        if (!spans->items[wait].is_wait ||
            cpti_spans_find(spans, spans->items[wait].link) != number) {
            continue;
        }
        if (spans->nodes[number].end_ns > spans->nodes[wait].start_ns) {
            explain_elsewhere(spans, number, account);
            return;
        }
        account->why = CPTI_SPAN_WHY_THERE;
        account->by = wait;
        account->at_ns = spans->nodes[wait].start_ns;
        return;
    }
    account->why = CPTI_SPAN_WHY_NOT_AWAITED;
}

/* Span @number is in the tree, has a time, and was not entered, but its parent was. */
static cpt_status explain_passed(struct cpti_spans *spans, uint32_t number,
                                 struct cpti_span_account *account)
{
    const uint32_t parent = account->parent;
    const uint64_t until_ns = spans->nodes[parent].until_ns;
    cpt_status status = CPT_OK;
    uint32_t rival = CPTI_SPAN_NONE;
    bool is_background = false;

    if (cpti_spans_tells_waits(spans, parent)) {
        if (spans->items[number].is_wait) {
            explain_elsewhere(spans, number, account);
        } else {
            explain_told(spans, parent, number, account);
        }
        return CPT_OK;
    }
    if (spans->items[number].is_wait) {
        account->why = CPTI_SPAN_WHY_WAIT_LOST;
        return CPT_OK;
    }
    if (spans->nodes[number].start_ns >= until_ns) {
        account->why = CPTI_SPAN_WHY_LATE;
        account->at_ns = until_ns;
        account->by = span_after(spans, until_ns);
        return CPT_OK;
    }
    status = cpti_spans_rival(spans, parent, number, &rival, &is_background);
    if (status == CPT_OK && rival != CPTI_SPAN_NONE) {
        account->why = is_background ? CPTI_SPAN_WHY_BACKGROUND : CPTI_SPAN_WHY_HELD;
        account->by = rival;
        account->at_ns =
            is_background ? spans->nodes[rival].end_ns : spans->nodes[rival].start_ns;
    } else if (status == CPT_OK) {
        explain_elsewhere(spans, number, account);
    }
    return status;
}

static int64_t moved(const struct cpti_spans *spans, uint32_t number)
{
    const uint32_t clock = spans->nodes[number].clock;

    return clock != CPTI_SPAN_NONE ? spans->clocks[clock].offset_ns : 0;
}

/* The highest span above @number that was not entered, or CPTI_SPAN_NONE. */
static uint32_t highest_off(const struct cpti_spans *spans, uint32_t number)
{
    uint32_t found = CPTI_SPAN_NONE;

    for (uint32_t at = cpti_spans_timed_above(spans, number); at != CPTI_SPAN_NONE;
         at = cpti_spans_timed_above(spans, at)) {
        if (cpti_spans_is_entered(spans, at)) {
            return found;
        }
        found = at;
    }
    return found;
}

cpt_status cpti_spans_explain(struct cpti_spans *spans, uint32_t number,
                              struct cpti_span_account *account)
{
    const struct cpti_span *span = &spans->items[number];
    const struct cpti_span_node *node = &spans->nodes[number];

    *account =
        (struct cpti_span_account){.by = CPTI_SPAN_NONE,
                                   .parent = CPTI_SPAN_NONE,
                                   .moved_ns = moved(spans, number),
                                   .is_doubted = cpti_spans_is_doubted(spans, number)};
    if (node->fate != CPTI_SPAN_IN_TREE || !span->has_time) {
        explain_dropped(spans, number, account);
        return CPT_OK;
    }
    account->parent = cpti_spans_timed_above(spans, number);
    account->is_cut = node->end_ns - node->start_ns != span->duration_ns;
    sum(spans, number, account);
    if (account->own_ns > 0) {
        account->why = CPTI_SPAN_WHY_ON_PATH;
        return CPT_OK;
    }
    if (node->start_ns == node->end_ns) {
        account->why = CPTI_SPAN_WHY_MOMENT;
        return CPT_OK;
    }
    if (cpti_spans_is_entered(spans, number)) {
        account->why = CPTI_SPAN_WHY_THROUGH;
        return CPT_OK;
    }
    account->by = highest_off(spans, number);
    if (account->by != CPTI_SPAN_NONE) {
        account->why = CPTI_SPAN_WHY_ABOVE;
        return CPT_OK;
    }
    return explain_passed(spans, number, account);
}
