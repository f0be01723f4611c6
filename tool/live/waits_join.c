/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* waits_join.c - which requests a wait leads to; see waits.h */
#include "tool/live/waits.h"

#include <string.h>

/* By how much two ages of one moment may differ: those of untraced requests are of a
 * clock that moves every 10 ms at the worst, in either service. */
enum { AGE_ERROR_US = 20000 };

static void add_end(struct cpti_wait_edge *edge, uint32_t end)
{
    for (uint32_t i = 0; i < edge->end_count; i++) {
        if (edge->ends[i] == end) {
            return;
        }
    }
    if (edge->end_count == CPTI_WAITS_ENDS_MAX) {
        edge->may_end = true; /* one of the others may end it */
        return;
    }
    edge->ends[edge->end_count++] = end;
}

/* --- Locks --- */

static bool has_lock(struct cpti_doc_value holds, uint64_t lock)
{
    struct cpti_doc_member hold;

    cpti_answer_each(hold, holds)
    {
        if (cpti_answer_number(hold.value, "lock") == lock) {
            return true;
        }
    }
    return false;
}

/* Whether @request, or a component that a task of it waits for, holds @lock. */
static bool holds(const struct cpti_waits *waits,
                  const struct cpti_wait_request *request, uint64_t lock)
{
    if (has_lock(cpti_doc_get(request->value, "holds"), lock)) {
        return true;
    }
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct cpti_wait_group *group = &waits->groups[request->group_first + i];

        for (uint32_t k = 0; k < group->edge_count; k++) {
            if (has_lock(
                    cpti_doc_get(waits->edges[group->edge_first + k].value, "holds"),
                    lock)) {
                return true;
            }
        }
    }
    return false;
}

static void lead_lock(struct cpti_waits *waits, uint32_t from,
                      struct cpti_wait_edge *edge)
{
    const uint64_t lock = cpti_answer_number(edge->value, "lock");
    const uint64_t capacity = cpti_answer_number(edge->value, "capacity");

    for (uint32_t i = 0; i < waits->request_count; i++) {
        if (waits->requests[i].service == waits->requests[from].service &&
            holds(waits, &waits->requests[i], lock)) {
            add_end(edge, i);
        }
    }
    /* A holder that is in no list may release it. */
    edge->may_end |= edge->end_count < (capacity != 0 ? capacity : 1);
}

/* --- Calls --- */

/* What a call says of the request that it leads to. */
struct sought {
    struct cpt_bytes trace_id;
    struct cpt_bytes span_id; /* empty: an older service does not tell */
    struct cpt_bytes path;
    bool is_of_call;  /* span_id is of this call alone */
    int64_t begin_us; /* at the earliest, of the tool's clock; INT64_MIN: not known */
};

static int64_t begin_of(uint64_t now_ns, uint64_t age_us)
{
    const int64_t now_us = (int64_t)(now_ns / 1000);

    return age_us < (uint64_t)INT64_MAX / 2 ? now_us - (int64_t)age_us : INT64_MIN;
}

static struct sought sought_by(const struct cpti_waits *waits,
                               const struct cpti_wait_request *caller,
                               struct cpti_doc_value call)
{
    struct sought sought = {cpti_answer_string(call, "trace_id"),
                            cpti_answer_string(call, "span_id"),
                            cpti_answer_string(call, "path"), false, INT64_MIN};

    if (sought.trace_id.bytes == 0 && !cpti_answer_has(call, "path")) {
        sought.trace_id = caller->trace_id; /* of an older service */
        sought.path = cpti_answer_string(call, "method");
    }
    sought.is_of_call = caller->span_id.bytes != 0 && sought.span_id.bytes != 0 &&
                        !cpt_bytes_equal(caller->span_id, sought.span_id);
    if (cpti_answer_has(call, "us")) {
        sought.begin_us = begin_of(waits->services[caller->service].asked_ns,
                                   cpti_answer_number(call, "us"));
    }
    return sought;
}

static bool is_sought(const struct cpti_waits *waits, const struct sought *sought,
                      const struct cpti_wait_request *request)
{
    const uint64_t answered_ns = waits->services[request->service].answered_ns;

    if (!cpt_bytes_equal(request->trace_id, sought->trace_id) ||
        (sought->span_id.bytes != 0 && request->parent_id.bytes != 0 &&
         !cpt_bytes_equal(request->parent_id, sought->span_id)) ||
        begin_of(answered_ns, request->us) + AGE_ERROR_US < sought->begin_us) {
        return false;
    }
    return (sought->is_of_call && request->parent_id.bytes != 0) ||
           cpt_bytes_equal(request->method, sought->path);
}

static bool is_target(const struct cpti_wait_edge *edge, uint32_t service)
{
    for (uint32_t i = 0; i < edge->target_count; i++) {
        if (edge->targets[i] == service) {
            return true;
        }
    }
    return false;
}

/* Why the call leads nowhere. */
static enum cpti_wait_gap gap_of(const struct cpti_waits *waits,
                                 const struct cpti_wait_edge *edge,
                                 const struct sought *sought)
{
    if (edge->gap != CPTI_GAP_NONE) {
        return edge->gap;
    }
    for (uint32_t i = 0; i < edge->target_count; i++) {
        if (!waits->services[edge->targets[i]].is_known) {
            return CPTI_GAP_SERVICE;
        }
    }
    return sought->trace_id.bytes == 0 ? CPTI_GAP_IDS : CPTI_GAP_ABSENT;
}

/* Whether a call over HTTP has no connection yet; older services do not tell. */
static bool is_queued(struct cpti_doc_value call)
{
    return cpti_answer_is(call, "transport", "http") &&
           cpti_answer_number(call, "sent") == 0;
}

static void lead_call(struct cpti_waits *waits, uint32_t from,
                      struct cpti_wait_edge *edge)
{
    const struct sought sought = sought_by(waits, &waits->requests[from], edge->value);

    if (edge->gap != CPTI_GAP_LEAF && is_queued(edge->value)) {
        edge->gap = CPTI_GAP_QUEUED;
        edge->may_end = true;
        return;
    }
    for (uint32_t i = 0; i < waits->request_count && sought.trace_id.bytes != 0; i++) {
        const struct cpti_wait_request *request = &waits->requests[i];

        if (i != from && is_target(edge, request->service) &&
            is_sought(waits, &sought, request)) {
            add_end(edge, i);
        }
    }
    edge->gap = edge->end_count != 0 ? CPTI_GAP_NONE : gap_of(waits, edge, &sought);
    edge->may_end |= edge->end_count == 0;
}

void cpti_waits_lead(struct cpti_waits *waits, uint32_t from,
                     struct cpti_wait_edge *edge)
{
    if (cpti_answer_is(edge->value, "kind", "call")) {
        lead_call(waits, from, edge);
    } else if (cpti_answer_is(edge->value, "kind", "lock")) {
        lead_lock(waits, from, edge);
    } else if (cpti_answer_is(edge->value, "kind", "run")) {
        edge->may_end = !cpti_answer_has(edge->value, "tasks");
        edge->gap =
            edge->may_end && edge->gap == CPTI_GAP_NONE ? CPTI_GAP_SHARED : edge->gap;
    } else { /* a task is judged by its own waits */
        edge->may_end = !cpti_answer_is(edge->value, "kind", "task");
    }
}
