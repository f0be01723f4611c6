/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * whatif_view.c - the dag of a request with a plan's changes, and when its nodes end
 *
 * A replay is one pass over the nodes in topological order. A plan that changes times
 * copies the durations first, and changes those of each occurrence together:
 *
 *      pieces of B2     3   1   4        sum 8
 *      '=50%'           2   0   2        the sums until each piece are halved, rounded
 *      '=+2ms'          5   1   4        the first piece
 *      '=-4ms'          0   0   4        from the first piece on
 */
#include "cpt/whatif/whatif.h"

#include <string.h>

/* --- Times --- */

static uint64_t sum_of(const uint64_t *duration_ns, const uint32_t *next, uint32_t at)
{
    uint64_t sum_ns = 0;

    for (; at != CPT_DAG_NONE; at = next[at]) {
        sum_ns =
            duration_ns[at] < INT64_MAX - sum_ns ? sum_ns + duration_ns[at] : INT64_MAX;
    }
    return sum_ns;
}

/* Makes @sum_ns, the time of the pieces from @at on, @to_ns. */
static void stretch(uint64_t *duration_ns, const uint32_t *next, uint32_t at,
                    uint64_t sum_ns, uint64_t to_ns)
{
    const double share = sum_ns != 0 ? (double)to_ns / (double)sum_ns : 0;
    uint64_t until_ns = 0;
    uint64_t done_ns = 0;

    if (sum_ns == to_ns) {
        return;
    }
    if (sum_ns == 0) {
        duration_ns[at] = to_ns;
        return;
    }
    for (; at != CPT_DAG_NONE; at = next[at]) {
        uint64_t stretched_ns = to_ns;

        until_ns += duration_ns[at];
        if (next[at] != CPT_DAG_NONE) {
            stretched_ns = (uint64_t)((double)until_ns * share + 0.5);
            stretched_ns = stretched_ns < to_ns ? stretched_ns : to_ns;
        }
        stretched_ns = stretched_ns > done_ns ? stretched_ns : done_ns;
        duration_ns[at] = stretched_ns - done_ns;
        done_ns = stretched_ns;
    }
}

/* Takes @by_ns from the pieces from @at on. False: they have less. */
static bool shorten(uint64_t *duration_ns, const uint32_t *next, uint32_t at,
                    uint64_t by_ns)
{
    for (; at != CPT_DAG_NONE && by_ns != 0; at = next[at]) {
        const uint64_t taken_ns = duration_ns[at] < by_ns ? duration_ns[at] : by_ns;

        duration_ns[at] -= taken_ns;
        by_ns -= taken_ns;
    }
    return by_ns == 0;
}

static void lengthen(uint64_t *duration_ns, uint64_t by_ns)
{
    if (*duration_ns <= INT64_MAX - by_ns) {
        *duration_ns += by_ns;
    }
}

static uint64_t scaled(uint64_t sum_ns, double share)
{
    const double to_ns = (double)sum_ns * share + 0.5;

    return to_ns < (double)INT64_MAX ? (uint64_t)to_ns : INT64_MAX;
}

static void change_time(struct cpt_whatif_plan *plan,
                        const struct cpt_whatif_term *term, const uint32_t *next,
                        uint32_t at)
{
    uint64_t *duration_ns = plan->duration_ns;
    const uint64_t sum_ns = sum_of(duration_ns, next, at);
    uint64_t to_ns = 0;

    switch (term->change) {
    case CPT_WHATIF_SCALE:
        to_ns = scaled(sum_ns, term->share);
        break;
    case CPT_WHATIF_TO:
        to_ns = term->amount_ns;
        break;
    case CPT_WHATIF_AT_MOST:
        to_ns = sum_ns < term->amount_ns ? sum_ns : term->amount_ns;
        break;
    case CPT_WHATIF_AT_LEAST:
        to_ns = sum_ns > term->amount_ns ? sum_ns : term->amount_ns;
        break;
    case CPT_WHATIF_MORE:
        lengthen(&duration_ns[at], term->amount_ns);
        return;
    default:
        plan->counts.clamped += !shorten(duration_ns, next, at, term->amount_ns);
        return;
    }
    stretch(duration_ns, next, at, sum_ns, to_ns);
}

static void change_times(struct cpt_whatif_plan *plan,
                         const struct whatif_request *request)
{
    const uint32_t *frame = &plan->whatif->frame[request->node];
    const uint32_t *next = &plan->whatif->next[request->node];

    memcpy(plan->duration_ns, &plan->whatif->duration_ns[request->node],
           request->node_count * sizeof *plan->duration_ns);
    for (uint32_t i = 0; i < request->node_count; i++) {
        if ((frame[i] & WHATIF_NOT_FIRST) != 0) {
            continue;
        }
        for (uint32_t op = plan->first_op[frame[i]]; op < plan->first_op[frame[i] + 1];
             op++) {
            change_time(plan, &plan->terms[plan->ops[op]], next, i);
        }
    }
}

/* Whether the time of frames of @kind is what a line's share is of. */
static bool is_shared(uint32_t kind)
{
    return kind == CPT_DAG_STEP || kind == CPT_DAG_CALL || kind == CPT_DAG_NETWORK;
}

/* The shares of the lines, once the terms have changed the times. */
static void share_times(struct cpt_whatif_plan *plan,
                        const struct whatif_request *request)
{
    const struct cpt_whatif *whatif = plan->whatif;
    const uint32_t *next = &whatif->next[request->node];
    uint64_t *duration_ns = plan->duration_ns;

    for (uint32_t i = 0; i < request->node_count; i++) {
        const uint32_t frame = whatif->frame[request->node + i];
        const uint32_t line = whatif->line[request->node + i];
        const uint32_t first = whatif->lines[request->line + line].occurrence;
        const struct cpt_whatif_share *share =
            &plan->given[first != 0 ? first - 1 : line];
        uint64_t sum_ns = 0;

        if ((frame & WHATIF_NOT_FIRST) != 0 || !is_shared(whatif->frames[frame].kind)) {
            continue;
        }
        sum_ns = sum_of(duration_ns, next, i);
        stretch(duration_ns, next, i, sum_ns, scaled(sum_ns, share->share));
        if (share->more_ns >= 0) {
            lengthen(&duration_ns[i], (uint64_t)share->more_ns);
        } else {
            plan->counts.clamped +=
                !shorten(duration_ns, next, i, 0 - (uint64_t)share->more_ns);
        }
    }
}

cpt_status cpt_whatif_shares(struct cpt_whatif_plan *plan, size_t request,
                             const struct cpt_whatif_share *shares, size_t count)
{
    if (shares != NULL &&
        (plan->queues != NULL || request >= plan->whatif->request_count ||
         count != plan->whatif->requests[request].line_count)) {
        return CPT_INVALID;
    }
    plan->given = shares;
    plan->given_request = request;
    plan->last.request = SIZE_MAX;
    return CPT_OK;
}

cpt_status cpti_whatif_view(struct cpt_whatif_plan *plan, size_t request,
                            struct whatif_view *view)
{
    const bool is_given = plan->given != NULL && plan->given_request == request;

    *view = cpti_whatif_recorded(plan->whatif, request);
    if (plan->has_times || is_given) {
        change_times(plan, view->request);
        view->duration_ns = plan->duration_ns;
    }
    if (is_given) {
        share_times(plan, view->request);
    }
    return plan->edges != NULL ? cpti_whatif_edges_change(plan, view) : CPT_OK;
}

/* --- Ends --- */

/* The pass over the nodes as they are, which is the usual one. */
static bool finish_in_order(const struct whatif_view *view, uint64_t *finish_ns)
{
    const uint32_t *first = view->first;
    const uint32_t *from = view->from;
    const uint32_t count = view->request->node_count;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t start_ns = 0;

        for (uint32_t j = first[i]; j < first[i + 1]; j++) {
            const uint64_t ready_ns = finish_ns[from[j]];

            start_ns = ready_ns > start_ns ? ready_ns : start_ns;
        }
        finish_ns[i] = start_ns + view->duration_ns[i]; /* both below 2^63 */
        if (finish_ns[i] > INT64_MAX) {
            return false;
        }
    }
    return true;
}

static bool finish_by_order(const struct whatif_view *view, uint64_t *finish_ns)
{
    for (uint32_t k = 0; k < view->request->node_count; k++) {
        const uint32_t i = view->order[k];
        uint64_t start_ns = 0;

        for (uint32_t j = view->first[i]; j < view->first[i + 1]; j++) {
            const uint64_t ready_ns = finish_ns[view->from[j]];

            start_ns = ready_ns > start_ns ? ready_ns : start_ns;
        }
        finish_ns[i] = start_ns + view->duration_ns[i];
        if (finish_ns[i] > INT64_MAX) {
            return false;
        }
    }
    return true;
}

uint32_t cpti_whatif_last_to_end(const struct whatif_view *view,
                                 const uint64_t *finish_ns)
{
    uint32_t last = 0;

    if (view->request->end != CPT_DAG_NONE) {
        return view->request->end;
    }
    for (uint32_t i = 1; i < view->request->node_count; i++) {
        last = finish_ns[i] > finish_ns[last] ? i : last;
    }
    return last;
}

bool cpti_whatif_finish(const struct whatif_view *view, uint64_t *finish_ns,
                        uint64_t *latency_ns, uint32_t *end)
{
    const bool is_done = view->order == NULL ? finish_in_order(view, finish_ns)
                                             : finish_by_order(view, finish_ns);

    if (is_done) {
        *end = cpti_whatif_last_to_end(view, finish_ns);
        *latency_ns = finish_ns[*end];
    }
    return is_done;
}
