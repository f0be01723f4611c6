/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_pieces.c - spans that were sent in pieces, put together
 *
 * Tracers that may crash send what they know when a span begins, and the rest when it
 * has ended; others add tags later. Each piece has the id of the span:
 *
 *      id 2  client  front  start 20
 *      id 2  client  front            duration 50  callee cart
 *      id 2                                                     error
 *      '-> id 2  client  front  start 20  duration 50  callee cart  error
 *
 * Two spans that each have both times are two, though they share an id: the sides of a
 * call, copies, or attempts. So only what lacks a time is a piece. It belongs to a span
 * that says nothing else of its service, its host, its side and its parent; best to one
 * that is whole and has the same time, then to one that has the time that it lacks.
 * Pieces are looked at in an order of their own, so that in which they came does not
 * matter.
 */
#include "import/spans/span_tree.h"

#include <stdlib.h>

enum { JOINED = 1, CANDIDATES_MAX = 16 /* spans with one id that a piece may be of */ };

/* --- One piece --- */

static bool has_start(const struct cpti_span *span)
{
    return span->has_time || span->has_start;
}

static bool has_duration(const struct cpti_span *span)
{
    return span->has_time || span->has_duration || span->end_ns != 0;
}

static bool is_piece(const struct cpti_span *span)
{
    return !span->has_time;
}

/* Whether each has the time that the other lacks. */
static bool complete(const struct cpti_span *left, const struct cpti_span *right)
{
    return has_start(left) != has_start(right) &&
           has_duration(left) != has_duration(right) &&
           has_start(left) != has_duration(left);
}

/* Whether @piece has one time, and @span, which has both, the same. */
static bool repeats(const struct cpti_span *span, const struct cpti_span *piece)
{
    return span->has_time && is_piece(piece) &&
           has_start(piece) != has_duration(piece) &&
           (has_start(piece)     ? piece->start_ns == span->start_ns
            : piece->end_ns != 0 ? piece->end_ns == span->start_ns + span->duration_ns
                                 : piece->duration_ns == span->duration_ns);
}

static bool repeat(const struct cpti_span *left, const struct cpti_span *right)
{
    return repeats(left, right) || repeats(right, left);
}

/* Whether @left and @right, which have one id, may be of one span. */
static bool are_one(const struct cpti_span *left, const struct cpti_span *right)
{
    return (is_piece(left) || is_piece(right)) &&
           (left->kind == right->kind || left->kind == CPTI_SPAN_UNKNOWN ||
            right->kind == CPTI_SPAN_UNKNOWN) &&
           cpti_may_be_one(left->service, right->service) &&
           cpti_may_be_one(left->host, right->host) &&
           (left->parent.bytes == 0 || right->parent.bytes == 0 ||
            cpti_ids_equal(left->parent, right->parent));
}

static void fill(struct cpt_bytes *text, struct cpt_bytes other)
{
    *text = text->bytes > 0 ? *text : other;
}

static void fill_number(uint64_t *number, uint64_t other)
{
    *number = *number != 0 ? *number : other;
}

/* The times of @piece to @span. One that has both is right in both. */
static void join_times(struct cpti_span *span, const struct cpti_span *piece)
{
    const bool is_better = piece->has_time;

    if (span->has_time) {
        return;
    }
    if (has_start(piece) &&
        (is_better || !span->has_start || piece->start_ns < span->start_ns)) {
        span->start_ns = piece->start_ns;
        span->has_start = true;
    }
    if (has_duration(piece) &&
        (is_better || !span->has_duration || piece->duration_ns > span->duration_ns)) {
        span->duration_ns = piece->duration_ns;
        span->has_duration = true;
    }
    if (piece->end_ns > span->end_ns) {
        span->end_ns = piece->end_ns;
    }
    if (span->has_start && !span->has_duration && span->end_ns >= span->start_ns) {
        span->duration_ns = span->end_ns - span->start_ns;
        span->has_duration = span->end_ns != 0;
    }
    span->has_time = span->has_start && span->has_duration &&
                     span->start_ns <= INT64_MAX &&
                     span->duration_ns <= INT64_MAX - span->start_ns;
}

/* All that @piece says to @span. */
static void join(struct cpti_span *span, const struct cpti_span *piece)
{
    join_times(span, piece);
    if (span->parent.bytes == 0) {
        span->parent = piece->parent;
        span->is_async = piece->is_async;
    }
    if (piece->peer.bytes > 0 &&
        (span->peer.bytes == 0 || piece->peer_rank > span->peer_rank)) {
        span->peer = piece->peer;
        span->peer_rank = piece->peer_rank;
    }
    if (span->host.bytes == 0 && (piece->host.bytes > 0 || span->process == 0)) {
        span->host = piece->host;
        span->process = piece->process;
    }
    fill(&span->service, piece->service);
    fill(&span->operation, piece->operation);
    fill(&span->link, piece->link);
    fill(&span->note, piece->note);
    span->tags = span->tags != NULL ? span->tags : piece->tags;
    fill_number(&span->request_bytes, piece->request_bytes);
    fill_number(&span->reply_bytes, piece->reply_bytes);
    fill_number(&span->rejected, piece->rejected);
    span->wait_count = piece->tells_waits ? piece->wait_count : span->wait_count;
    span->tells_waits |= piece->tells_waits;
    span->is_wait |= piece->is_wait;
    span->is_failed |= piece->is_failed;
    span->kind = span->kind != CPTI_SPAN_UNKNOWN ? span->kind : piece->kind;
    span->number = piece->number < span->number ? piece->number : span->number;
}

/* --- Those with one id --- */

/* What else must hold for two that may be one. */
typedef bool fits_fn(const struct cpti_span *left, const struct cpti_span *right);

static bool always(const struct cpti_span *left, const struct cpti_span *right)
{
    (void)left;
    (void)right;
    return true;
}

/* The first of the @kept spans @members that @piece is one with, or NULL. */
static struct cpti_span *find(struct cpti_spans *spans, const uint32_t *members,
                              size_t kept, const struct cpti_span *piece, fits_fn *fits)
{
    for (size_t i = 0; i < kept && i < CANDIDATES_MAX; i++) {
        struct cpti_span *span = &spans->items[members[i]];

        if (are_one(span, piece) && fits(span, piece)) {
            return span;
        }
    }
    return NULL;
}

/* Joins what fits of the @count spans @members, in their order; how many are left of
 * them. Of each, `numbers` says whether it went into another. */
static size_t join_fitting(struct cpti_spans *spans, uint32_t *members, size_t count,
                           fits_fn *fits)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const uint32_t number = members[i];
        const struct cpti_span *piece = &spans->items[number];
        struct cpti_span *span = find(spans, members, kept, piece, fits);

        spans->numbers[number] = span != NULL ? JOINED : 0;
        if (span != NULL) {
            join(span, piece);
        } else {
            members[kept++] = number;
        }
    }
    return kept;
}

/* The same with all @members, which have one id; how many went into others. */
static size_t join_all(struct cpti_spans *spans, uint32_t *members, size_t count)
{
    size_t left = join_fitting(spans, members, count, repeat);

    left = join_fitting(spans, members, left, complete);
    return count - join_fitting(spans, members, left, always);
}

/* --- All --- */

/* An order by id, then by all else; `numbers` has the first span with each id. */
static int compare(const void *left, const void *right, void *context)
{
    struct cpti_spans *spans = context;
    const uint32_t a = spans->numbers[*(const uint32_t *)left];
    const uint32_t b = spans->numbers[*(const uint32_t *)right];

    return a != b ? (a > b) - (a < b) : cpti_spans_compare(left, right, spans);
}

/* Puts all spans with the id of a piece into the queue, by their ids, if one of these
 * has several; how many. */
static size_t collect(struct cpti_spans *spans)
{
    size_t ids = 0;
    size_t count = 0;
    size_t slot = 0;

    cpti_hash_index_reset(&spans->index);
    for (uint32_t i = 0; i < spans->count; i++) {
        if (is_piece(&spans->items[i]) &&
            cpti_spans_find_slot(spans, spans->items[i].id, &slot) == CPTI_SPAN_NONE) {
            spans->index.slots[slot] = i + 1;
            ids++;
        }
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        spans->numbers[i] = cpti_spans_find_slot(spans, spans->items[i].id, &slot);
        if (spans->numbers[i] != CPTI_SPAN_NONE) {
            spans->queue[count++] = i;
        }
    }
    if (count == ids) {
        return 0;
    }
    qsort_r(spans->queue, count, sizeof *spans->queue, compare, spans);
    return count;
}

/* Removes the spans that went into others. */
static void remove_joined(struct cpti_spans *spans)
{
    size_t kept = 0;

    for (size_t i = 0; i < spans->count; i++) {
        if (spans->numbers[i] != JOINED) {
            spans->items[kept++] = spans->items[i];
        }
    }
    spans->count = kept;
}

size_t cpti_spans_join_pieces(struct cpti_spans *spans)
{
    const size_t count = spans->has_pieces ? collect(spans) : 0;
    size_t joined = 0;
    size_t end = 0;

    for (size_t at = 0; at < count; at = end) {
        const uint32_t first = spans->numbers[spans->queue[at]];

        for (end = at + 1; end < count && spans->numbers[spans->queue[end]] == first;
             end++) {
        }
        joined += join_all(spans, &spans->queue[at], end - at);
    }
    if (joined > 0) {
        remove_joined(spans);
    }
    return joined;
}
