/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_visits.c - spans that surely are of one process
 *
 * Several processes may say the same of themselves. A *visit* is within one of them:
 * the span by which a call entered, and what hangs below it up to the next call.
 *
 *      front   a client            |==========================|
 *      store   b server               |====================|      visit of b: b, c, d
 *      store   c internal                |=======|
 *      store   d client                    |====|
 *      store   e server                     |==|                  visit of e
 */
#include "import/spans/span_tree.h"

/* Whether the visit of span @number began above it, within its parent's. */
static bool is_inside(const struct cpti_spans *spans, uint32_t number)
{
    const uint32_t parent = spans->nodes[number].parent;
    const struct cpti_span *span = &spans->items[number];

    return parent != CPTI_SPAN_NONE && span->kind != CPTI_SPAN_SERVER &&
           span->kind != CPTI_SPAN_CONSUMER &&
           span->process == spans->items[parent].process &&
           cpt_bytes_equal(span->host, spans->items[parent].host);
}

void cpti_spans_find_visit(const struct cpti_spans *spans, uint32_t *visit_of,
                           uint32_t number)
{
    uint32_t top = number;

    if (visit_of[number] != CPTI_SPAN_NONE) {
        return;
    }
    while (visit_of[top] == CPTI_SPAN_NONE && is_inside(spans, top)) {
        visit_of[top] = number; /* for now: it is on the way */
        top = spans->nodes[top].parent;
    }
    if (visit_of[top] == CPTI_SPAN_NONE) {
        visit_of[top] = top;
    }
    top = visit_of[top];
    for (uint32_t at = number; at != top && visit_of[at] == number;
         at = spans->nodes[at].parent) {
        visit_of[at] = top;
    }
}
