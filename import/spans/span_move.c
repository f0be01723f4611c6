/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_move.c - callees whose clocks could not be put right
 *
 * What most calls tell of two clocks puts them right (clocks/). A callee that still is
 * outside of its caller's side, and fits into it, has a clock that is wrong: it goes to
 * the middle, with all below it.
 *
 *      client         |==========|
 *      server   |====|                as it was told
 *      server            |====|       as it is moved
 */
#include "import/spans/span_trace.h"
#include "import/spans/span_tree.h"

/* Whether span @child is the callee's side of span @number. */
static bool is_callee(const struct cpti_spans *spans, uint32_t number, uint32_t child)
{
    return spans->items[number].kind == CPTI_SPAN_CLIENT &&
           spans->items[child].kind == CPTI_SPAN_SERVER &&
           spans->items[child].has_time && !spans->items[child].is_async;
}

/* The only callee of span @number, which has a time, or CPTI_SPAN_NONE. */
static uint32_t callee_of(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];
    uint32_t found = CPTI_SPAN_NONE;

    for (uint32_t k = 0; k < node->child_count && spans->items[number].has_time; k++) {
        const uint32_t child = spans->numbers[node->children_at + k];

        if (is_callee(spans, number, child)) {
            if (found != CPTI_SPAN_NONE) {
                return CPTI_SPAN_NONE; /* several attempts */
            }
            found = child;
        }
    }
    return found;
}

/* By how much @callee is moved within span @number; both are where they will be but for
 * that. */
static uint64_t shift_of(const struct cpti_spans *spans, uint32_t number,
                         uint32_t callee)
{
    const struct cpti_span *client = &spans->items[number];
    const struct cpti_span *server = &spans->items[callee];
    const struct cpt_trace_call call = {.issue_ns = client->start_ns,
                                        .arrive_ns =
                                            client->start_ns + client->duration_ns};

    return cpt_trace_move(CPT_TRACE_CLOCK_DOUBTED, &call, server->start_ns,
                          server->start_ns + server->duration_ns) -
           server->start_ns;
}

bool cpti_spans_move_callees(struct cpti_spans *spans)
{
    size_t count = 0;
    bool is_moved = false;

    spans->queue[count++] = spans->root;
    spans->nodes[spans->root].until_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = spans->queue[i];
        const struct cpti_span_node *node = &spans->nodes[number];
        const uint32_t callee = callee_of(spans, number);

        for (uint32_t k = 0; k < node->child_count; k++) {
            const uint32_t child = spans->numbers[node->children_at + k];
            uint64_t *shift_ns = &spans->nodes[child].until_ns; /* it needs a walk */

            *shift_ns = node->until_ns;
            spans->items[child].start_ns += *shift_ns;
            if (child == callee) {
                const uint64_t own_ns = shift_of(spans, number, child);

                spans->items[child].start_ns += own_ns;
                *shift_ns += own_ns;
                is_moved |= own_ns != 0;
            }
            spans->queue[count++] = child;
        }
    }
    if (is_moved) {
        cpti_spans_settle_anew(spans);
    }
    return is_moved;
}
