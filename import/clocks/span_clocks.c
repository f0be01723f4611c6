/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_clocks.c - the clocks of the hosts of a trace, put right
 *
 * Each host stamps its spans by its own clock. If no span contradicts the clocks
 * (clock_bounds.h), nothing is moved. Else all spans of a host are moved by one offset,
 * so that they keep their order and their durations:
 *
 *      bounds     what each span tells of two clocks (clock_bounds.c)
 *      pairs      the offset that most calls of two clocks allow (clock_pairs.c)
 *      offsets    of all clocks, from the pairs (clock_offsets.c)
 *
 * What still contradicts is not believed. A process that names no host stands for a
 * host of its own. If calls are not believed, two more things are tried (span_parts.c),
 * and kept if more calls are believed then:
 *
 *      stretches  the clock of a host was set, or drifts: it is one clock after the
 *                 other. Each has to be worth CPTI_STRETCH_CALLS calls.
 *      visits     several processes say the same of themselves, as instances of one
 *                 service do by an SDK's defaults: each visit is a clock
 *
 * Cost: without skew, a pass over the spans. Else O(s log s) for s spans, and what
 * clock_offsets.h says.
 */
#include "import/clocks/clock_stretches.h"
#include "import/clocks/span_parts.h"
#include "import/spans/span_tree.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCH_ROUNDS = 3, WAYS_MAX = 1 + STRETCH_ROUNDS + 2 };

/* One way to tell clocks apart, and what comes out of it. */
struct way {
    uint32_t *part_of;  /* of each span, or CPTI_SPAN_NONE; NULL: of none */
    uint32_t *clock_of; /* of each span, or CPTI_SPAN_NONE; in the order of names */
    struct cpti_clock_offsets offsets;
    size_t doubted_calls; /* that are not believed */
    bool has_visits;      /* parts of processes without a host are visits */
};

struct clocks {
    struct cpti_spans *spans;
    struct way ways[WAYS_MAX]; /* the first: each host has one clock */
    size_t way_count;
    struct way *best;
    bool *is_torn; /* of each host: calls were not believed in some way */
};

/* --- Names --- */

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes == 0 ? 0 : memcmp(left.data, right.data, bytes);

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

/* What qsort_r() hands on. */
struct naming {
    const struct cpti_spans *spans;
    const uint32_t *part_of;
};

static int compare_clocks(const void *left, const void *right, void *context)
{
    const struct naming *naming = context;
    const uint32_t l = *(const uint32_t *)left;
    const uint32_t r = *(const uint32_t *)right;
    const struct cpti_span *a = &naming->spans->items[l];
    const struct cpti_span *b = &naming->spans->items[r];
    const int order = compare_bytes(a->host, b->host);

    if (order != 0 || a->process != b->process) {
        return order != 0 ? order : (a->process < b->process ? -1 : 1);
    }
    return naming->part_of == NULL || naming->part_of[l] == naming->part_of[r]
               ? 0
               : cpti_spans_order(naming->spans, naming->part_of[l],
                                  naming->part_of[r]);
}

/* Numbers the clocks by their names: nothing may depend on the order of spans. */
static cpt_status number_clocks(struct cpti_spans *spans, struct way *way)
{
    struct naming naming = {spans, way->part_of};
    uint32_t *queue = spans->queue;
    size_t count = 0;

    way->clock_of =
        cpt_alloc_array(spans->alloc, NULL, spans->count, sizeof *way->clock_of);
    if (way->clock_of == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        way->clock_of[i] = CPTI_SPAN_NONE;
        if (spans->items[i].host.bytes > 0 || spans->items[i].process != 0) {
            queue[count++] = i;
        }
    }
    qsort_r(queue, count, sizeof *queue, compare_clocks, &naming);
    for (size_t i = 0; i < count; i++) {
        way->offsets.count +=
            i == 0 || compare_clocks(&queue[i - 1], &queue[i], &naming) != 0;
        way->clock_of[queue[i]] = way->offsets.count - 1;
    }
    return CPT_OK;
}

/* --- One way --- */

/* The bounds of all spans that another clock stamped than their parents. */
static cpt_status collect_bounds(const struct cpti_spans *spans, const struct way *way,
                                 struct cpti_clock_bound **bounds, size_t *count)
{
    struct cpti_clock_bound bound;
    size_t capacity = 0;
    cpt_status status = CPT_OK;

    for (uint32_t i = 0; i < spans->count && status == CPT_OK; i++) {
        void *grown = *bounds;

        if (!cpti_clock_bound_of(spans, i, &bound)) {
            continue;
        }
        bound.from = way->clock_of[spans->nodes[i].parent];
        bound.to = way->clock_of[i];
        if (bound.from == bound.to) {
            continue;
        }
        if (*count == capacity) {
            status = cpt_alloc_grow(spans->alloc, &grown, &capacity, *count + 1,
                                    CPTI_SPANS_MAX, sizeof bound);
            *bounds = grown;
        }
        if (status == CPT_OK) {
            (*bounds)[(*count)++] = bound;
        }
    }
    return status;
}

/* Whether span @number contradicts the clocks of @way; *@is_call: it serves a call, or
 * shows that two processes say the same. */
static bool is_doubted(const struct cpti_spans *spans, const struct way *way,
                       uint32_t number, bool *is_call)
{
    struct cpti_clock_bound bound;
    uint32_t from = 0;
    uint32_t to = 0;

    if (!cpti_clock_bound_of(spans, number, &bound)) {
        return false;
    }
    from = way->clock_of[spans->nodes[number].parent];
    to = way->clock_of[number];
    *is_call = bound.is_call || from == to;
    if (from == to) {
        return !cpti_clock_is_shared(spans, number, &bound);
    }
    return cpti_clock_bound_breaks(&bound, way->offsets.offset_ns[to] -
                                               way->offsets.offset_ns[from]);
}

/* Counts the calls that are not believed, and notes between which hosts they are. */
static void count_doubted(struct clocks *clocks, struct way *way)
{
    const struct cpti_spans *spans = clocks->spans;
    const uint32_t *host_of = clocks->ways[0].clock_of;
    bool is_call = false;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (is_doubted(spans, way, i, &is_call) && is_call) {
            way->doubted_calls++;
            clocks->is_torn[host_of[i]] = true;
            clocks->is_torn[host_of[spans->nodes[i].parent]] = true;
        }
    }
}

/* Finds the offsets of all clocks of @way. */
static cpt_status solve(struct clocks *clocks, struct way *way)
{
    struct cpti_spans *spans = clocks->spans;
    struct cpti_clock_bound *bounds = NULL;
    size_t count = 0;
    cpt_status status = number_clocks(spans, way);

    way->offsets.alloc = spans->alloc;
    if (status == CPT_OK) {
        status = collect_bounds(spans, way, &bounds, &count);
    }
    if (status == CPT_OK) {
        status = cpti_clock_pairs_join(bounds, count, spans->alloc, &way->offsets.pairs,
                                       &way->offsets.pair_count);
    }
    cpt_alloc_free(spans->alloc, bounds);
    if (status != CPT_OK) {
        return status;
    }
    way->offsets.reference = way->clock_of[spans->root];
    if (way->offsets.reference == CPTI_SPAN_NONE) {
        way->offsets.reference = 0;
    }
    return cpti_clock_offsets_solve(&way->offsets);
}

/* --- All ways --- */

static struct cpti_clock_view view(const struct clocks *clocks)
{
    return (struct cpti_clock_view){.spans = clocks->spans,
                                    .host_count = clocks->ways[0].offsets.count,
                                    .host_of = clocks->ways[0].clock_of,
                                    .is_torn = clocks->is_torn,
                                    .clock_of = clocks->best->clock_of,
                                    .offset_ns = clocks->best->offsets.offset_ns};
}

static cpt_status copy_parts(const struct clocks *clocks, uint32_t **part_of)
{
    const size_t count = clocks->spans->count;

    if (clocks->best->part_of == NULL) {
        return CPT_OK;
    }
    *part_of = cpt_alloc_array(clocks->spans->alloc, NULL, count, sizeof **part_of);
    if (*part_of == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(*part_of, clocks->best->part_of, count * sizeof **part_of);
    return CPT_OK;
}

/* Tries once more with hosts cut in time; *@is_better: that is the best way now. */
static cpt_status try_stretches(struct clocks *clocks, bool *is_better)
{
    const struct cpti_clock_view known = view(clocks);
    struct way *way = &clocks->ways[clocks->way_count];
    cpt_status status = cpti_span_parts_by_time(&known, &way->part_of);
    size_t price = 0;

    *is_better = false;
    if (status != CPT_OK || way->part_of == NULL) {
        return status;
    }
    clocks->way_count++;
    status = solve(clocks, way);
    if (status != CPT_OK) {
        return status;
    }
    count_doubted(clocks, way);
    price = CPTI_STRETCH_CALLS *
            (size_t)(way->offsets.count - clocks->ways[0].offsets.count);
    if (way->doubted_calls < clocks->best->doubted_calls &&
        way->doubted_calls + price <= clocks->ways[0].doubted_calls) {
        clocks->best = way;
        *is_better = true;
    }
    return CPT_OK;
}

/* Tries with processes taken apart: those that are torn, or all. */
static cpt_status try_visits(struct clocks *clocks, bool all)
{
    const struct cpti_clock_view known = view(clocks);
    struct way *way = &clocks->ways[clocks->way_count++];
    cpt_status status = copy_parts(clocks, &way->part_of);

    way->has_visits = true;
    if (status == CPT_OK) {
        status = cpti_span_parts_by_visit(&known, all, &way->part_of);
    }
    if (status != CPT_OK || way->part_of == NULL) {
        return status;
    }
    status = solve(clocks, way);
    if (status != CPT_OK) {
        return status;
    }
    count_doubted(clocks, way);
    if (way->doubted_calls < clocks->best->doubted_calls) {
        clocks->best = way;
    }
    return CPT_OK;
}

static cpt_status solve_all(struct clocks *clocks)
{
    bool is_better = false;
    cpt_status status = solve(clocks, &clocks->ways[0]);

    clocks->best = &clocks->ways[0];
    clocks->way_count = 1;
    if (status != CPT_OK) {
        return status;
    }
    clocks->is_torn = cpt_alloc_zeroed(
        clocks->spans->alloc, clocks->best->offsets.count * sizeof *clocks->is_torn);
    if (clocks->is_torn == NULL) {
        return CPT_NO_MEMORY;
    }
    count_doubted(clocks, clocks->best);
    is_better = clocks->best->doubted_calls >= CPTI_STRETCH_CALLS;
    for (int i = 0; i < STRETCH_ROUNDS && status == CPT_OK && is_better &&
                    clocks->best->doubted_calls > 0;
         i++) { /* each knows better than the one before when calls were made */
        status = try_stretches(clocks, &is_better);
    }
    for (int i = 0; i < 2 && status == CPT_OK && clocks->best->doubted_calls > 0; i++) {
        status = try_visits(clocks, i > 0);
    }
    return status;
}

/* --- The result --- */

static int64_t offset_of(const struct way *way, uint32_t number)
{
    const uint32_t clock = way->clock_of[number];

    return clock != CPTI_SPAN_NONE ? way->offsets.offset_ns[clock] : 0;
}

/* Whether all spans can be moved: no time may leave its range. */
static bool can_move(const struct clocks *clocks)
{
    const struct cpti_spans *spans = clocks->spans;

    for (uint32_t i = 0; i < spans->count; i++) {
        const struct cpti_span *span = &spans->items[i];
        const int64_t by_ns = offset_of(clocks->best, i);

        if (span->has_time &&
            (by_ns > 0
                 ? (uint64_t)by_ns > span->start_ns
                 : (uint64_t)-by_ns > INT64_MAX - span->start_ns - span->duration_ns)) {
            return false;
        }
    }
    return true;
}

/* Adds the clocks that are put right; which one clock is, in @place. */
static cpt_status add_clocks(struct clocks *clocks, uint32_t *place)
{
    struct cpti_spans *spans = clocks->spans;
    const struct cpti_clock_offsets *offsets = &clocks->best->offsets;

    for (uint32_t i = 0; i < offsets->count; i++) {
        void *items = spans->clocks;
        cpt_status status = CPT_OK;

        if (offsets->offset_ns[i] == 0) {
            continue;
        }
        status = cpt_alloc_grow(spans->alloc, &items, &spans->clock_capacity,
                                spans->clock_count + 1, CPTI_SPANS_MAX,
                                sizeof *spans->clocks);
        spans->clocks = items;
        if (status != CPT_OK) {
            return status;
        }
        place[i] = (uint32_t)spans->clock_count;
        spans->clocks[spans->clock_count++] =
            (struct cpti_span_clock){.offset_ns = offsets->offset_ns[i],
                                     .first_ns = UINT64_MAX,
                                     .error_ns = cpti_clock_offsets_error(offsets, i)};
    }
    return CPT_OK;
}

/* Moves span @number, of @clock. */
static void move_span(struct cpti_spans *spans, uint32_t number,
                      struct cpti_span_clock *clock)
{
    struct cpti_span *span = &spans->items[number];

    clock->host = span->host;
    clock->service = span->service;
    if (!span->has_time) {
        return;
    }
    clock->spans++;
    span->start_ns -= (uint64_t)clock->offset_ns;
    if (span->start_ns < clock->first_ns) {
        clock->first_ns = span->start_ns;
    }
    if (span->start_ns + span->duration_ns > clock->last_ns) {
        clock->last_ns = span->start_ns + span->duration_ns;
    }
}

static cpt_status move(struct clocks *clocks)
{
    struct cpti_spans *spans = clocks->spans;
    const struct way *best = clocks->best;
    uint32_t *place = best->offsets.above; /* no longer needed */
    const cpt_status status = add_clocks(clocks, place);

    for (uint32_t i = 0; i < spans->count && status == CPT_OK; i++) {
        if (offset_of(best, i) != 0) {
            spans->nodes[i].clock = place[best->clock_of[i]];
            spans->clocks[spans->nodes[i].clock].is_stretch =
                best->part_of != NULL && best->part_of[i] != CPTI_SPAN_NONE &&
                (!best->has_visits || spans->items[i].host.bytes > 0);
            move_span(spans, i, &spans->clocks[spans->nodes[i].clock]);
        }
    }
    return status;
}

/* Marks what is not believed, before spans are moved. */
static void doubt(const struct clocks *clocks, struct cpti_spans_report *report)
{
    struct cpti_spans *spans = clocks->spans;
    const struct cpti_clock_offsets *offsets = &clocks->best->offsets;
    bool is_call = false;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (is_doubted(spans, clocks->best, i, &is_call)) {
            spans->nodes[i].traits |= CPTI_SPAN_IS_DOUBTED;
            report->doubted++;
        }
    }
    for (size_t i = 0; i < offsets->pair_count; i++) {
        report->contradictions += offsets->pairs[i].is_torn;
    }
    report->contradictions += report->contradictions == 0 && report->doubted > 0;
}

static void clear(struct clocks *clocks)
{
    const struct cpt_alloc *alloc = clocks->spans->alloc;

    for (size_t i = 0; i < WAYS_MAX; i++) {
        clocks->ways[i].offsets.alloc = alloc;
        cpt_alloc_free(alloc, clocks->ways[i].part_of);
        cpt_alloc_free(alloc, clocks->ways[i].clock_of);
        cpti_clock_offsets_clear(&clocks->ways[i].offsets);
    }
    cpt_alloc_free(alloc, clocks->is_torn);
}

cpt_status cpti_spans_align(struct cpti_spans *spans, struct cpti_spans_report *report)
{
    struct clocks clocks = {.spans = spans};
    cpt_status status = CPT_OK;

    spans->clock_count = 0;
    if (spans->keeps_clocks || !spans->has_hosts || !cpti_clock_is_any_wrong(spans)) {
        return CPT_OK;
    }
    if (cpti_clock_find_hedges(spans) && !cpti_clock_is_any_wrong(spans)) {
        return CPT_OK;
    }
    status = solve_all(&clocks);
    if (status == CPT_OK && can_move(&clocks)) {
        doubt(&clocks, report);
        status = move(&clocks);
    } else if (status == CPT_OK) {
        report->contradictions = 1;
    }
    clear(&clocks);
    return status;
}

void cpti_spans_align_clocks(struct cpti_spans *spans, bool is_on)
{
    spans->keeps_clocks = !is_on;
}

size_t cpti_spans_clock_count(const struct cpti_spans *spans)
{
    return spans->clock_count;
}

const struct cpti_span_clock *cpti_spans_clock(const struct cpti_spans *spans,
                                               size_t index)
{
    return &spans->clocks[index];
}

bool cpti_spans_is_doubted(const struct cpti_spans *spans, uint32_t number)
{
    return cpti_spans_has(spans, number, CPTI_SPAN_IS_DOUBTED);
}

static int compare_doubted(const void *left, const void *right, void *spans)
{
    return cpti_spans_order(spans, *(const uint32_t *)left, *(const uint32_t *)right);
}

size_t cpti_spans_doubted(struct cpti_spans *spans, const uint32_t **numbers)
{
    size_t count = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (cpti_spans_is_doubted(spans, i)) {
            spans->queue[count++] = i;
        }
    }
    if (count > 1) {
        qsort_r(spans->queue, count, sizeof *spans->queue, compare_doubted, spans);
    }
    *numbers = spans->queue;
    return count;
}
