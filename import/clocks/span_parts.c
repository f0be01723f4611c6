/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* span_parts.c - see span_parts.h */
#include "import/clocks/span_parts.h"

#include "import/clocks/clock_stretches.h"
#include "import/spans/span_tree.h"

#include <stdlib.h>
#include <string.h>

/* Where a stretch of a host begins. */
struct cut {
    int64_t at_ns;
    uint32_t host;
    uint32_t first; /* the first span of its first visit, or CPTI_SPAN_NONE */
};

struct parting {
    const struct cpti_clock_view *view;
    uint32_t *part_of;
    struct cpti_clock_call *calls; /* to torn hosts */
    size_t call_count;
    size_t *starts; /* for each call */
    struct cut *cuts;
    size_t cut_count;
    size_t *cuts_of; /* of each host, and behind the last one: its first cut */
};

/* --- Times --- */

static int64_t bounded(int64_t ns)
{
    return ns > CPTI_VOTE_FAR ? CPTI_VOTE_FAR
                              : (ns < -CPTI_VOTE_FAR ? -CPTI_VOTE_FAR : ns);
}

/* By how much the clock of span @number is ahead, as far as is known. */
static int64_t ahead(const struct cpti_clock_view *view, uint32_t number)
{
    const uint32_t clock = view->clock_of[number];

    return clock != CPTI_SPAN_NONE ? view->offset_ns[clock] : 0;
}

/* When the visit of which span @number is the first was called, after the start of the
 * root. That is the caller's word: a clock that is set says the same time twice. */
static int64_t time_of(const struct cpti_clock_view *view, uint32_t number)
{
    const struct cpti_spans *spans = view->spans;
    const uint32_t parent = spans->nodes[number].parent;
    const uint32_t teller =
        parent != CPTI_SPAN_NONE && spans->items[parent].has_time ? parent : number;

    if (!spans->items[teller].has_time) {
        return 0;
    }
    return bounded((int64_t)spans->items[teller].start_ns -
                   (int64_t)spans->items[spans->root].start_ns) -
           ahead(view, teller);
}

/* --- Calls --- */

static int compare_calls(const void *left, const void *right, void *context)
{
    const struct cpti_clock_call *a = left;
    const struct cpti_clock_call *b = right;

    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns ? -1 : 1;
    }
    return cpti_spans_order(context, a->span, b->span);
}

/* Notes span @number, if it serves a call from another clock to a torn host. */
static void note_call(struct parting *parting, uint32_t number)
{
    const struct cpti_clock_view *view = parting->view;
    struct cpti_clock_bound bound;
    uint32_t parent = 0;

    if (view->host_of[number] == CPTI_SPAN_NONE ||
        !view->is_torn[view->host_of[number]] ||
        !cpti_clock_bound_of(view->spans, number, &bound) || !bound.is_call) {
        return;
    }
    parent = view->spans->nodes[number].parent;
    if (view->host_of[parent] == view->host_of[number]) {
        return;
    }
    parting->calls[parting->call_count++] = (struct cpti_clock_call){
        .at_ns = time_of(view, number),
        .least_ns = bounded(bound.least_ns + ahead(view, parent)),
        .most_ns = bounded(bound.most_ns + ahead(view, parent)),
        .host = view->host_of[number],
        .span = number};
}

static void collect_calls(struct parting *parting)
{
    const struct cpti_spans *spans = parting->view->spans;

    for (uint32_t i = 0; i < spans->count; i++) {
        note_call(parting, i);
    }
    if (parting->call_count > 0) {
        qsort_r(parting->calls, parting->call_count, sizeof *parting->calls,
                compare_calls, (void *)(uintptr_t)spans);
    }
}

/* --- Cuts --- */

/* The cuts of the host of the calls from @first to @end; none if it is not cut. */
static void cut_host(struct parting *parting, size_t first, size_t end)
{
    const struct cpti_clock_call *calls = parting->calls + first;
    const size_t count = cpti_clock_stretches(calls, end - first, parting->starts);

    for (size_t i = 0; i < count && count > 1; i++) {
        parting->cuts[parting->cut_count++] =
            (struct cut){calls[parting->starts[i]].at_ns, calls->host, CPTI_SPAN_NONE};
    }
}

static void cut_hosts(struct parting *parting)
{
    uint32_t host = 0;
    size_t end = 0;

    while (end < parting->call_count) {
        const size_t first = end;

        while (host <= parting->calls[first].host) {
            parting->cuts_of[host++] = parting->cut_count;
        }
        while (end < parting->call_count &&
               parting->calls[end].host == parting->calls[first].host) {
            end++;
        }
        cut_host(parting, first, end);
    }
    while (host <= parting->view->host_count) {
        parting->cuts_of[host++] = parting->cut_count;
    }
}

/* The last cut of @host at @at_ns or before, or else its first one. */
static size_t find_cut(const struct parting *parting, uint32_t host, int64_t at_ns)
{
    size_t low = parting->cuts_of[host];
    size_t high = parting->cuts_of[host + 1];

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (parting->cuts[middle].at_ns <= at_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* --- Parts --- */

/* Whether visit @left comes before visit @right. */
static bool is_before(const struct cpti_clock_view *view, uint32_t left, uint32_t right)
{
    const int64_t a = time_of(view, left);
    const int64_t b = time_of(view, right);

    return a != b ? a < b : cpti_spans_order(view->spans, left, right) < 0;
}

static bool is_cut(const struct parting *parting, uint32_t number)
{
    const uint32_t host = parting->view->host_of[number];

    return host != CPTI_SPAN_NONE &&
           parting->cuts_of[host] < parting->cuts_of[host + 1];
}

/* The cut that the visit of span @number belongs to. */
static struct cut *cut_of(const struct parting *parting, uint32_t number)
{
    const uint32_t visit = parting->part_of[number];

    return &parting->cuts[find_cut(parting, parting->view->host_of[number],
                                   time_of(parting->view, visit))];
}

static void name_parts(struct parting *parting)
{
    const struct cpti_spans *spans = parting->view->spans;

    memset(parting->part_of, 0xff, spans->count * sizeof *parting->part_of);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct cut *cut = NULL;

        if (!is_cut(parting, i)) {
            continue;
        }
        cpti_spans_find_visit(spans, parting->part_of, i);
        cut = cut_of(parting, i);
        if (cut->first == CPTI_SPAN_NONE ||
            is_before(parting->view, parting->part_of[i], cut->first)) {
            cut->first = parting->part_of[i];
        }
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        if (is_cut(parting, i)) {
            parting->part_of[i] = cut_of(parting, i)->first;
        }
    }
}

static bool reserve(struct parting *parting)
{
    const struct cpt_alloc *alloc = parting->view->spans->alloc;
    const size_t count = parting->view->spans->count;

    parting->part_of = cpt_alloc_array(alloc, NULL, count, sizeof *parting->part_of);
    parting->calls = cpt_alloc_array(alloc, NULL, count, sizeof *parting->calls);
    parting->starts = cpt_alloc_array(alloc, NULL, count, sizeof *parting->starts);
    parting->cuts = cpt_alloc_array(alloc, NULL, count, sizeof *parting->cuts);
    parting->cuts_of = cpt_alloc_array(alloc, NULL, parting->view->host_count + 1,
                                       sizeof *parting->cuts_of);
    return parting->part_of != NULL && parting->calls != NULL &&
           parting->starts != NULL && parting->cuts != NULL && parting->cuts_of != NULL;
}

cpt_status cpti_span_parts_by_time(const struct cpti_clock_view *view,
                                   uint32_t **part_of)
{
    const struct cpt_alloc *alloc = view->spans->alloc;
    struct parting parting = {.view = view};
    const cpt_status status = reserve(&parting) ? CPT_OK : CPT_NO_MEMORY;

    *part_of = NULL;
    if (status == CPT_OK) {
        collect_calls(&parting);
        cut_hosts(&parting);
    }
    if (parting.cut_count > 0) {
        name_parts(&parting);
        *part_of = parting.part_of;
        parting.part_of = NULL;
    }
    cpt_alloc_free(alloc, parting.part_of);
    cpt_alloc_free(alloc, parting.calls);
    cpt_alloc_free(alloc, parting.starts);
    cpt_alloc_free(alloc, parting.cuts);
    cpt_alloc_free(alloc, parting.cuts_of);
    return status;
}

/* --- Visits --- */

/* Whether span @number is of a process that is taken apart. */
static bool is_apart(const struct cpti_clock_view *view, uint32_t number, bool all)
{
    const uint32_t host = view->host_of[number];

    return host != CPTI_SPAN_NONE && view->spans->items[number].host.bytes == 0 &&
           (all || view->is_torn[host]);
}

cpt_status cpti_span_parts_by_visit(const struct cpti_clock_view *view, bool all,
                                    uint32_t **part_of)
{
    const struct cpti_spans *spans = view->spans;
    uint32_t first = 0;

    while (first < spans->count && !is_apart(view, first, all)) {
        first++;
    }
    if (first == spans->count) {
        return CPT_OK;
    }
    if (*part_of == NULL) {
        *part_of = cpt_alloc_array(spans->alloc, NULL, spans->count, sizeof **part_of);
        if (*part_of == NULL) {
            return CPT_NO_MEMORY;
        }
        memset(*part_of, 0xff, spans->count * sizeof **part_of); /* CPTI_SPAN_NONE */
    }
    for (uint32_t i = first; i < spans->count; i++) {
        (*part_of)[i] = is_apart(view, i, all) ? CPTI_SPAN_NONE : (*part_of)[i];
    }
    for (uint32_t i = first; i < spans->count; i++) {
        if (is_apart(view, i, all)) {
            cpti_spans_find_visit(spans, *part_of, i);
        }
    }
    return CPT_OK;
}
