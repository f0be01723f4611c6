/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_clocks.c - the clocks of the hosts of a trace, put right
 *
 * Each host stamps its spans by its own clock. A call tells how far two clocks can be
 * apart: its server began after its client had, and ended before it.
 *
 *      client, by its clock    c1 |-----------------------| c2
 *      server, by its clock         s1 |---------| s2
 *
 *      s2 - c2  <=  clock of the server less that of the client  <=  s1 - c1
 *
 * The bounds of all calls between two hosts intersect. If 0 is within all of them, no
 * clock contradicts any span, and nothing is moved. Else hosts are joined by a minimum
 * spanning tree, narrow bounds first, each at the middle of its bounds, or at 0 if that
 * is possible; then the offsets are mended until every bound holds, also those that are
 * not in the tree (a system of difference constraints, by Bellman and Ford). Hosts that
 * can stay where they are do. All spans of a host are moved by one offset, so that they
 * keep their order and their durations.
 *
 * Cost: without skew, a pass over the spans. Else O(s log s) for s spans, and at most
 * RELAXATIONS_MAX steps to mend.
 */
#include "cpt/import/span_tree.h"

#include <stdlib.h>
#include <string.h>

/* No clock is believed to be this wrong (36 years). Sums of two fit 64 bits. */
#define FAR_NS ((int64_t)1 << 60)

enum {
    NS_PER_US = 1000,
    US_ERROR_NS = 2000, /* of times and durations that were cut to microseconds */
    RELAXATIONS_MAX = 1 << 28
};

/* How far the clocks of two hosts can be apart: that of @to less that of @from. */
struct bound {
    uint32_t from;
    uint32_t to;
    int64_t least_ns; /* -FAR_NS: any */
    int64_t most_ns;  /* FAR_NS: any */
};

struct clocks {
    struct cpti_spans *spans;
    uint32_t *host_of; /* of each span, or CPTI_SPAN_NONE; in the order of names */
    size_t host_count;
    struct bound *bounds;
    size_t bound_count;
    size_t bound_capacity;
    /* of each host: a forest of joined hosts, … */
    uint32_t *above;
    uint32_t *joined;   /* how many are in its tree */
    int64_t *differ_ns; /* from the clock of the one above */
    /* … and what comes out of it, against the host of the root */
    int64_t *offset_ns;
    int64_t *low_ns;
    int64_t *high_ns;
    uint32_t reference;
};

static int64_t bounded(int64_t ns)
{
    return ns > FAR_NS ? FAR_NS : ns < -FAR_NS ? -FAR_NS : ns;
}

/* --- What a span and its parent tell --- */

static bool is_call(const struct cpti_span *client, const struct cpti_span *server)
{
    if (client->kind == CPTI_SPAN_CLIENT) {
        return server->kind == CPTI_SPAN_SERVER;
    }
    return client->kind == CPTI_SPAN_UNKNOWN && server->kind == CPTI_SPAN_UNKNOWN &&
           cpt_bytes_equal(client->operation, server->operation) &&
           !cpt_bytes_equal(client->service, server->service);
}

static bool is_whole_us(const struct cpti_span *span)
{
    return span->start_ns % NS_PER_US == 0 && span->duration_ns % NS_PER_US == 0;
}

/* Whether span @number and its parent are of two hosts; then *@bound is what they tell
 * of them: a child begins after its parent, and a call's server ends before its client.
 * A server that took longer was not waited for. */
static bool tells_bound(const struct cpti_spans *spans, uint32_t number,
                        struct bound *bound)
{
    const uint32_t parent = spans->nodes[number].parent;
    const struct cpti_span *server = &spans->items[number];
    const struct cpti_span *client =
        parent != CPTI_SPAN_NONE ? &spans->items[parent] : NULL;
    int64_t error_ns = 0;

    if (client == NULL || server->host.bytes == 0 || client->host.bytes == 0 ||
        !server->has_time || !client->has_time ||
        spans->nodes[number].fate == CPTI_SPAN_duplicates ||
        cpt_bytes_equal(server->host, client->host)) {
        return false;
    }
    error_ns = is_whole_us(server) && is_whole_us(client) ? US_ERROR_NS : 0;
    bound->most_ns = bounded(
        bounded((int64_t)server->start_ns - (int64_t)client->start_ns) + error_ns);
    bound->least_ns = -FAR_NS;
    if (is_call(client, server) && !server->is_async &&
        server->duration_ns <= client->duration_ns) {
        const int64_t server_end = (int64_t)(server->start_ns + server->duration_ns);
        const int64_t client_end = (int64_t)(client->start_ns + client->duration_ns);

        bound->least_ns = bounded(bounded(server_end - client_end) - error_ns);
    }
    return true;
}

/* Whether any span contradicts the clocks as they are. */
static bool is_skewed(const struct cpti_spans *spans)
{
    struct bound bound;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (tells_bound(spans, i, &bound) &&
            (bound.least_ns > 0 || bound.most_ns < 0)) {
            return true;
        }
    }
    return false;
}

/* --- Hosts --- */

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes == 0 ? 0 : memcmp(left.data, right.data, bytes);

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

static int compare_hosts(const void *left, const void *right, void *context)
{
    const struct cpti_span *items = ((const struct cpti_spans *)context)->items;

    return compare_bytes(items[*(const uint32_t *)left].host,
                         items[*(const uint32_t *)right].host);
}

/* Numbers the hosts by their names: nothing may depend on the order of spans. */
static cpt_status number_hosts(struct clocks *clocks)
{
    struct cpti_spans *spans = clocks->spans;
    size_t count = 0;

    clocks->host_of =
        cpt_alloc_array(spans->alloc, NULL, spans->count, sizeof *clocks->host_of);
    if (clocks->host_of == NULL) {
        return CPT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        clocks->host_of[i] = CPTI_SPAN_NONE;
        if (spans->items[i].host.bytes > 0) {
            spans->queue[count++] = i;
        }
    }
    qsort_r(spans->queue, count, sizeof *spans->queue, compare_hosts, spans);
    for (size_t i = 0; i < count; i++) {
        clocks->host_count +=
            i == 0 || compare_hosts(&spans->queue[i - 1], &spans->queue[i], spans) != 0;
        clocks->host_of[spans->queue[i]] = (uint32_t)clocks->host_count - 1;
    }
    return CPT_OK;
}

/* --- Bounds --- */

static cpt_status bound_push(struct clocks *clocks, struct bound bound)
{
    void *bounds = clocks->bounds;
    cpt_status status = CPT_OK;

    if (clocks->bound_count == clocks->bound_capacity) {
        status = cpt_alloc_grow(clocks->spans->alloc, &bounds, &clocks->bound_capacity,
                                clocks->bound_count + 1, CPTI_SPANS_MAX, sizeof bound);
        clocks->bounds = bounds;
    }
    if (status == CPT_OK) {
        clocks->bounds[clocks->bound_count++] = bound;
    }
    return status;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct bound *a = left;
    const struct bound *b = right;

    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->to > b->to) - (a->to < b->to);
}

/* Narrow ones first. */
static int compare_widths(const void *left, const void *right)
{
    const struct bound *a = left;
    const struct bound *b = right;
    const int64_t width_a = a->most_ns - a->least_ns;
    const int64_t width_b = b->most_ns - b->least_ns;

    return width_a != width_b ? (width_a < width_b ? -1 : 1) : compare_pairs(a, b);
}

/* One bound for two hosts: the intersection of theirs. If there is none, their clocks
 * drift, or someone lies: the middle then is the least wrong. How many those were. */
static size_t intersect(struct clocks *clocks)
{
    struct bound *bounds = clocks->bounds;
    size_t contradictions = 0;
    size_t kept = 0;

    if (clocks->bound_count == 0) {
        return 0;
    }
    qsort(bounds, clocks->bound_count, sizeof *bounds, compare_pairs);
    for (size_t i = 0; i < clocks->bound_count; i++) {
        if (i == 0 || compare_pairs(&bounds[kept - 1], &bounds[i]) != 0) {
            bounds[kept++] = bounds[i];
            continue;
        }
        if (bounds[i].least_ns > bounds[kept - 1].least_ns) {
            bounds[kept - 1].least_ns = bounds[i].least_ns;
        }
        if (bounds[i].most_ns < bounds[kept - 1].most_ns) {
            bounds[kept - 1].most_ns = bounds[i].most_ns;
        }
    }
    for (size_t i = 0; i < kept; i++) {
        if (bounds[i].least_ns > bounds[i].most_ns) {
            bounds[i].least_ns = (bounds[i].least_ns + bounds[i].most_ns) / 2;
            bounds[i].most_ns = bounds[i].least_ns;
            contradictions++;
        }
    }
    clocks->bound_count = kept;
    return contradictions;
}

static cpt_status collect_bounds(struct clocks *clocks, size_t *contradictions)
{
    const struct cpti_spans *spans = clocks->spans;
    cpt_status status = CPT_OK;
    struct bound bound;

    for (uint32_t i = 0; i < spans->count && status == CPT_OK; i++) {
        if (tells_bound(spans, i, &bound)) {
            bound.from = clocks->host_of[spans->nodes[i].parent];
            bound.to = clocks->host_of[i];
            if (bound.from > bound.to) {
                bound = (struct bound){bound.to, bound.from, -bound.most_ns,
                                       -bound.least_ns};
            }
            status = bound_push(clocks, bound);
        }
    }
    if (status == CPT_OK) {
        *contradictions = intersect(clocks);
    }
    return status;
}

/* --- The tree of hosts --- */

/* The head of the tree of @host, and how much its clock differs from the head's. */
static uint32_t head_of(const struct clocks *clocks, uint32_t host, int64_t *differ_ns)
{
    *differ_ns = 0;
    while (clocks->above[host] != host) {
        *differ_ns = bounded(*differ_ns + clocks->differ_ns[host]);
        host = clocks->above[host];
    }
    return host;
}

/* Joins the trees of the two hosts of @bound, unless they are one. */
static void join(struct clocks *clocks, const struct bound *bound)
{
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    uint32_t from = head_of(clocks, bound->from, &from_ns);
    uint32_t to = head_of(clocks, bound->to, &to_ns);
    int64_t differ_ns = 0;

    if (from == to) {
        return;
    }
    if (bound->least_ns > 0 || bound->most_ns < 0) {
        if (bound->least_ns == -FAR_NS) {
            differ_ns = bound->most_ns;
        } else if (bound->most_ns == FAR_NS) {
            differ_ns = bound->least_ns;
        } else {
            differ_ns = bound->least_ns + (bound->most_ns - bound->least_ns) / 2;
        }
    }
    differ_ns = bounded(bounded(differ_ns + from_ns) - to_ns);
    if (clocks->joined[from] < clocks->joined[to]) {
        const uint32_t swap = from;

        from = to;
        to = swap;
        differ_ns = -differ_ns;
    }
    clocks->above[to] = from;
    clocks->differ_ns[to] = differ_ns;
    clocks->joined[from] += clocks->joined[to];
}

/* Joins all hosts, and finds their offsets from the reference; of a tree without it,
 * from its first host. */
static void span_hosts(struct clocks *clocks)
{
    int64_t differ_ns = 0;

    for (uint32_t i = 0; i < clocks->host_count; i++) {
        clocks->above[i] = i;
        clocks->joined[i] = 1;
    }
    if (clocks->bound_count != 0) {
        qsort(clocks->bounds, clocks->bound_count, sizeof *clocks->bounds,
              compare_widths);
    }
    for (size_t i = 0; i < clocks->bound_count; i++) {
        join(clocks, &clocks->bounds[i]);
    }
    for (uint32_t i = 0; i < clocks->host_count; i++) {
        clocks->low_ns[i] = FAR_NS; /* for now: what its tree is measured from */
    }
    clocks->low_ns[head_of(clocks, clocks->reference, &differ_ns)] = differ_ns;
    for (uint32_t i = 0; i < clocks->host_count; i++) {
        const uint32_t head = head_of(clocks, i, &differ_ns);

        if (clocks->low_ns[head] == FAR_NS) {
            clocks->low_ns[head] = differ_ns;
        }
        clocks->offset_ns[i] = bounded(differ_ns - clocks->low_ns[head]);
    }
}

/* --- Mending --- */

/* Makes *@value at most @limit; whether it was more. */
static bool lower(int64_t *value, int64_t limit)
{
    const bool is_changed = *value > limit;

    *value = is_changed ? limit : *value;
    return is_changed;
}

/* Lowers @offsets until all bounds hold; those that are FAR_NS say nothing. false: the
 * bounds contradict each other, or it takes too long to find out. With @sign -1 all is
 * mirrored: it raises -@offsets. */
static bool mend(const struct clocks *clocks, int64_t *offsets, int sign)
{
    size_t left = RELAXATIONS_MAX;
    bool is_changed = true;

    for (size_t pass = 0; is_changed; pass++) {
        if (pass > clocks->host_count || left < clocks->bound_count) {
            return false;
        }
        left -= clocks->bound_count;
        is_changed = false;
        for (size_t i = 0; i < clocks->bound_count; i++) {
            const struct bound *bound = &clocks->bounds[i];
            const int64_t most = sign > 0 ? bound->most_ns : -bound->least_ns;
            const int64_t least = sign > 0 ? bound->least_ns : -bound->most_ns;
            int64_t *from = &offsets[bound->from];
            int64_t *to = &offsets[bound->to];

            if (most < FAR_NS && *from < FAR_NS) {
                is_changed |= lower(to, bounded(*from + most));
            }
            if (least > -FAR_NS && *to < FAR_NS) {
                is_changed |= lower(from, bounded(*to - least));
            }
        }
    }
    return true;
}

/* The offsets nearest to those of the tree with which all bounds hold, if there are
 * any: the mean of lowering and of raising them, as bounds are convex. */
static bool mend_offsets(struct clocks *clocks)
{
    int64_t *low = clocks->low_ns; /* negated */
    int64_t *high = clocks->high_ns;
    int64_t base = 0;

    for (size_t i = 0; i < clocks->host_count; i++) {
        high[i] = clocks->offset_ns[i];
        low[i] = -clocks->offset_ns[i];
    }
    if (!mend(clocks, high, 1) || !mend(clocks, low, -1)) {
        return false;
    }
    for (size_t i = 0; i < clocks->host_count; i++) {
        const int64_t sum = high[i] - low[i];

        clocks->offset_ns[i] = sum / 2 - (sum % 2 < 0); /* downwards */
    }
    base = clocks->offset_ns[clocks->reference];
    for (size_t i = 0; i < clocks->host_count; i++) {
        clocks->offset_ns[i] = bounded(clocks->offset_ns[i] - base);
    }
    return true;
}

static bool holds(const struct bound *bound, int64_t from_ns, int64_t to_ns)
{
    return to_ns - from_ns >= bound->least_ns && to_ns - from_ns <= bound->most_ns;
}

/* Hosts that can stay where they are, whether others do so or not, stay. */
static void keep(struct clocks *clocks)
{
    uint32_t *stays = clocks->joined; /* no longer needed */

    for (size_t i = 0; i < clocks->host_count; i++) {
        stays[i] = 1;
    }
    for (size_t i = 0; i < clocks->bound_count; i++) {
        const struct bound *bound = &clocks->bounds[i];

        stays[bound->to] &= holds(bound, clocks->offset_ns[bound->from], 0);
        stays[bound->from] &= holds(bound, 0, clocks->offset_ns[bound->to]);
    }
    for (size_t i = 0; i < clocks->bound_count; i++) {
        const struct bound *bound = &clocks->bounds[i];

        if (stays[bound->from] && stays[bound->to] && !holds(bound, 0, 0)) {
            stays[bound->from] = 0;
            stays[bound->to] = 0;
        }
    }
    for (size_t i = 0; i < clocks->host_count; i++) {
        clocks->offset_ns[i] = stays[i] ? 0 : clocks->offset_ns[i];
    }
}

/* How far each clock can be from the reference's, by all bounds together. */
static void measure(struct clocks *clocks)
{
    for (size_t i = 0; i < clocks->host_count; i++) {
        clocks->high_ns[i] = i == clocks->reference ? 0 : FAR_NS;
        clocks->low_ns[i] = i == clocks->reference ? 0 : FAR_NS; /* negated */
    }
    (void)mend(clocks, clocks->high_ns, 1);
    (void)mend(clocks, clocks->low_ns, -1);
}

/* --- The result --- */

/* Whether all spans can be moved: no time may leave its range. */
static bool can_move(const struct clocks *clocks)
{
    const struct cpti_spans *spans = clocks->spans;

    for (size_t i = 0; i < spans->count; i++) {
        const struct cpti_span *span = &spans->items[i];
        const int64_t by_ns = clocks->host_of[i] != CPTI_SPAN_NONE
                                  ? clocks->offset_ns[clocks->host_of[i]]
                                  : 0;

        if (span->has_time &&
            (by_ns > 0
                 ? (uint64_t)by_ns > span->start_ns
                 : (uint64_t)-by_ns > INT64_MAX - span->start_ns - span->duration_ns)) {
            return false;
        }
    }
    return true;
}

static uint64_t error_of(const struct clocks *clocks, uint32_t host)
{
    const int64_t below = clocks->offset_ns[host] + clocks->low_ns[host];
    const int64_t above = clocks->high_ns[host] - clocks->offset_ns[host];

    if (clocks->low_ns[host] == FAR_NS || clocks->high_ns[host] == FAR_NS ||
        below < 0 || above < 0) {
        return UINT64_MAX;
    }
    return (uint64_t)(below > above ? below : above);
}

static cpt_status move(struct clocks *clocks, bool is_sure)
{
    struct cpti_spans *spans = clocks->spans;
    uint32_t *place = clocks->above; /* of a host that moves among spans->clocks */

    for (uint32_t i = 0; i < clocks->host_count; i++) {
        void *items = spans->clocks;
        cpt_status status = CPT_OK;

        if (clocks->offset_ns[i] == 0) {
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
        spans->clocks[spans->clock_count++] = (struct cpti_span_clock){
            .offset_ns = clocks->offset_ns[i],
            .error_ns = is_sure ? error_of(clocks, i) : UINT64_MAX};
    }
    for (size_t i = 0; i < spans->count; i++) {
        const uint32_t host = clocks->host_of[i];

        if (host != CPTI_SPAN_NONE && clocks->offset_ns[host] != 0) {
            struct cpti_span_clock *clock = &spans->clocks[place[host]];

            clock->host = spans->items[i].host;
            if (spans->items[i].has_time) {
                clock->spans++;
                spans->items[i].start_ns -= (uint64_t)clocks->offset_ns[host];
            }
        }
    }
    return CPT_OK;
}

/* The arrays of a value for each host. */
static cpt_status reserve(struct clocks *clocks)
{
    const struct cpt_alloc *alloc = clocks->spans->alloc;
    const size_t count = clocks->host_count;

    clocks->above = cpt_alloc_array(alloc, NULL, count, sizeof *clocks->above);
    clocks->joined = cpt_alloc_array(alloc, NULL, count, sizeof *clocks->joined);
    clocks->differ_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    clocks->offset_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    clocks->low_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    clocks->high_ns = cpt_alloc_array(alloc, NULL, count, sizeof(int64_t));
    return clocks->above != NULL && clocks->joined != NULL &&
                   clocks->differ_ns != NULL && clocks->offset_ns != NULL &&
                   clocks->low_ns != NULL && clocks->high_ns != NULL
               ? CPT_OK
               : CPT_NO_MEMORY;
}

static void clear(struct clocks *clocks)
{
    const struct cpt_alloc *alloc = clocks->spans->alloc;

    cpt_alloc_free(alloc, clocks->host_of);
    cpt_alloc_free(alloc, clocks->bounds);
    cpt_alloc_free(alloc, clocks->above);
    cpt_alloc_free(alloc, clocks->joined);
    cpt_alloc_free(alloc, clocks->differ_ns);
    cpt_alloc_free(alloc, clocks->offset_ns);
    cpt_alloc_free(alloc, clocks->low_ns);
    cpt_alloc_free(alloc, clocks->high_ns);
}

static cpt_status align(struct clocks *clocks, struct cpti_spans_report *report)
{
    struct cpti_spans *spans = clocks->spans;
    bool is_sure = false;
    cpt_status status = number_hosts(clocks);

    if (status == CPT_OK) {
        status = collect_bounds(clocks, &report->contradictions);
    }
    if (status == CPT_OK) {
        status = reserve(clocks);
    }
    if (status != CPT_OK) {
        return status;
    }
    clocks->reference = clocks->host_of[spans->root];
    if (clocks->reference == CPTI_SPAN_NONE) {
        clocks->reference = 0;
    }
    span_hosts(clocks);
    is_sure = mend_offsets(clocks);
    if (is_sure) {
        keep(clocks);
        measure(clocks);
    }
    is_sure &= report->contradictions == 0;
    report->contradictions += !is_sure && report->contradictions == 0;
    if (!can_move(clocks)) {
        report->contradictions += report->contradictions == 0;
        return CPT_OK;
    }
    return move(clocks, is_sure);
}

cpt_status cpti_spans_align(struct cpti_spans *spans, struct cpti_spans_report *report)
{
    struct clocks clocks = {.spans = spans};
    cpt_status status = CPT_OK;

    spans->clock_count = 0;
    if (spans->keeps_clocks || !spans->has_hosts || !is_skewed(spans)) {
        return CPT_OK;
    }
    status = align(&clocks, report);
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
