/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * clock_hedges.c - calls that were given up, as another one was answered first
 *
 * A client that hedges makes a call twice, and when one is answered gives up the other.
 * Their spans end together, while the server of the other goes on:
 *
 *      first    |====================|
 *       server      |==============================|
 *      second               |========|
 *       server                |====|
 *
 * The spans are sorted by what they hang below, by operation and by their ends, so that
 * the one that ended with another is next to it.
 */
#include "import/clocks/clock_bounds.h"
#include "import/spans/span_tree.h"

#include <stdlib.h>
#include <string.h>

enum {
    NS_PER_US = 1000,
    TOGETHER_NS = 2000,  /* of what was cut to microseconds */
    TOGETHER_PART = 100, /* of the call's time */
    LOOKED_AT_MAX = 16
};

static uint64_t end_of(const struct cpti_span *span)
{
    return span->start_ns + span->duration_ns;
}

static int compare_bytes(struct cpt_bytes left, struct cpt_bytes right)
{
    const size_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    const int order = bytes == 0 ? 0 : memcmp(left.data, right.data, bytes);

    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}

/* The order of attempts, but for their ends. */
static int compare_attempts(const struct cpti_spans *spans, uint32_t left,
                            uint32_t right)
{
    const uint32_t a = spans->nodes[left].parent;
    const uint32_t b = spans->nodes[right].parent;

    return a != b ? (a < b ? -1 : 1)
                  : compare_bytes(spans->items[left].operation,
                                  spans->items[right].operation);
}

static int compare_ends(const void *left, const void *right, void *context)
{
    const struct cpti_spans *spans = context;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    const int order = compare_attempts(spans, a, b);

    if (order != 0 || end_of(&spans->items[a]) == end_of(&spans->items[b])) {
        return order;
    }
    return end_of(&spans->items[a]) < end_of(&spans->items[b]) ? -1 : 1;
}

/* Marks the clients whose server ended later than they; how many calls say so. */
static size_t mark_outlived(struct cpti_spans *spans)
{
    struct cpti_clock_bound bound;
    size_t found = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (cpti_clock_bound_of(spans, i, &bound) && bound.is_call &&
            bound.least_ns > 0) {
            spans->nodes[spans->nodes[i].parent].traits |= CPTI_SPAN_IS_OUTLIVED;
            found++;
        }
    }
    return found;
}

/* The clients that were not outlived, in the queue; their number. */
static size_t sort_answered(struct cpti_spans *spans)
{
    size_t count = 0;

    for (uint32_t i = 0; i < spans->count; i++) {
        const struct cpti_span *span = &spans->items[i];

        if (span->has_time && spans->nodes[i].parent != CPTI_SPAN_NONE &&
            (span->kind == CPTI_SPAN_CLIENT || span->kind == CPTI_SPAN_UNKNOWN) &&
            !cpti_spans_has(spans, i, CPTI_SPAN_IS_OUTLIVED)) {
            spans->queue[count++] = i;
        }
    }
    qsort_r(spans->queue, count, sizeof *spans->queue, compare_ends, spans);
    return count;
}

/* The first of the @count clients in the queue that are attempts of the same as @client
 * or behind these, and ended at @end_ns or later. */
static size_t find(const struct cpti_spans *spans, size_t count, uint32_t client,
                   uint64_t end_ns)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint32_t at = spans->queue[middle];
        const int order = compare_attempts(spans, at, client);

        if (order < 0 || (order == 0 && end_of(&spans->items[at]) < end_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How far apart the ends of two attempts may be. */
static uint64_t near_ns(const struct cpti_span *span)
{
    const uint64_t part_ns = span->duration_ns / TOGETHER_PART;
    const bool is_whole_us =
        span->start_ns % NS_PER_US == 0 && span->duration_ns % NS_PER_US == 0;

    return is_whole_us && part_ns < TOGETHER_NS ? TOGETHER_NS : part_ns;
}

/* Whether another attempt, which was answered, ended when @client did. */
static bool lost(const struct cpti_spans *spans, size_t count, uint32_t client)
{
    const struct cpti_span *span = &spans->items[client];
    const uint64_t end_ns = end_of(span);
    const uint64_t by_ns = near_ns(span);
    size_t at = find(spans, count, client, end_ns > by_ns ? end_ns - by_ns : 0);

    for (size_t i = 0; i < LOOKED_AT_MAX && at < count; i++, at++) {
        const struct cpti_span *other = &spans->items[spans->queue[at]];

        if (compare_attempts(spans, spans->queue[at], client) != 0 ||
            end_of(other) > end_ns + by_ns) {
            return false;
        }
        if (other->start_ns < end_ns && end_of(other) > span->start_ns) {
            return true;
        }
    }
    return false;
}

bool cpti_clock_find_hedges(struct cpti_spans *spans)
{
    bool found = false;
    size_t count = 0;

    if (mark_outlived(spans) == 0) {
        return false;
    }
    count = sort_answered(spans);
    for (uint32_t i = 0; i < spans->count; i++) {
        if (cpti_spans_has(spans, i, CPTI_SPAN_IS_OUTLIVED) && lost(spans, count, i)) {
            spans->nodes[i].traits |= CPTI_SPAN_IS_GIVEN_UP;
            found = true;
        }
    }
    return found;
}
