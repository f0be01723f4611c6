/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_path.c - the sections of a tree of spans as a critical path with frames
 *
 * A call has two spans, the client's and the server's. In a path it is one frame, the
 * callee's, and what only the client saw of it is the way there and back:
 *
 *      client, A   |--------- B: get ---------|       A: /
 *      server, B        |---- get ----|               '- B: get
 *      path        [net][    B: get   ][ net  ]          '- ‹network+serialization›
 *
 * Without the server's span the callee is a blind spot. Time in which a span says that
 * it waited, and nothing else has, is its ‹queue›, or what the wait calls itself.
 *
 * Where spans do not say of which side they are, a span is taken for the client's side
 * of a child in another service if both have the same operation, or if it is below a
 * span of its own service and has nothing below it but that child.
 */
#include "cpt/import/span_tree.h"

#include "cpt/cpt_path.h"

#include <string.h>

enum { NAME_BYTES = 2 * CPT_NAME_BYTES_MAX + 2 };

static size_t put(char *text, size_t at, struct cpt_bytes part)
{
    char buffer[CPT_NAME_BYTES_MAX + 1];

    part = cpt_name_bound(part, buffer);
    if (part.bytes > 0) {
        memcpy(text + at, part.data, part.bytes);
    }
    return at + part.bytes;
}

static struct cpt_bytes frame_name(char text[NAME_BYTES], struct cpt_bytes service,
                                   struct cpt_bytes operation)
{
    size_t bytes = put(text, 0, service.bytes > 0 ? service : cpt_bytes_of("unknown"));

    bytes = put(text, bytes, cpt_bytes_of(": "));
    bytes = put(text, bytes, operation);
    return (struct cpt_bytes){text, bytes};
}

/* Whether span @left comes before span @right. */
static bool is_before(const struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    const uint64_t a = spans->nodes[left].start_ns;
    const uint64_t b = spans->nodes[right].start_ns;

    return a != b ? a < b : cpti_spans_order(spans, left, right) < 0;
}

/* Whether a span is within a service and has one child: nothing tells it from the
 * client's side of a call to that child. */
static bool is_one_call(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];

    return node->child_count == 1 && node->parent != CPTI_SPAN_NONE &&
           cpt_bytes_equal(spans->items[node->parent].service,
                           spans->items[number].service);
}

/* Whether @child, of a span @number that does not say of which side it is, is the
 * server's side of it. */
static bool is_server_of_unknown(const struct cpti_spans *spans, uint32_t number,
                                 const struct cpti_span *child)
{
    const struct cpti_span *span = &spans->items[number];

    return child->kind == CPTI_SPAN_UNKNOWN &&
           !cpt_bytes_equal(child->service, span->service) &&
           (cpt_bytes_equal(child->operation, span->operation) ||
            is_one_call(spans, number));
}

/* The server's side of the call that @span is the client's side of; none if it is not,
 * or if the server said nothing. The first of several. */
static uint32_t server_of(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];
    const struct cpti_span *span = &spans->items[number];
    uint32_t found = CPTI_SPAN_NONE;

    if (span->kind != CPTI_SPAN_CLIENT && span->kind != CPTI_SPAN_UNKNOWN) {
        return CPTI_SPAN_NONE;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t other = spans->numbers[node->children_at + i];
        const struct cpti_span *child = &spans->items[other];
        const bool is_server = span->kind == CPTI_SPAN_CLIENT
                                   ? child->kind == CPTI_SPAN_SERVER
                                   : is_server_of_unknown(spans, number, child);

        if (is_server && child->has_time &&
            spans->nodes[other].fate == CPTI_SPAN_IN_TREE &&
            (found == CPTI_SPAN_NONE || is_before(spans, other, found))) {
            found = other;
        }
    }
    return found;
}

/* Whether the time of span @number that no child has is its callee's blind spot. */
static bool is_blind(const struct cpti_spans *spans, uint32_t number)
{
    return spans->items[number].kind == CPTI_SPAN_CLIENT &&
           spans->nodes[number].server == CPTI_SPAN_NONE;
}

/* The frame of span @number, below that of its parent. */
static cpt_status frame_make(struct cpti_spans *spans, struct cpt_path *path,
                             uint32_t number)
{
    struct cpti_span_node *node = &spans->nodes[number];
    const struct cpti_span *span = &spans->items[number];
    const struct cpti_span_node *parent =
        node->parent == CPTI_SPAN_NONE ? NULL : &spans->nodes[node->parent];
    struct cpt_bytes service = span->service;
    char text[NAME_BYTES];

    node->server = span->has_time ? server_of(spans, number) : CPTI_SPAN_NONE;
    if (parent != NULL && !span->has_time) {
        node->frame = parent->frame; /* passed over */
        return CPT_OK;
    }
    if (parent != NULL && parent->server == number) {
        node->frame = parent->frame; /* of the call */
        return CPT_OK;
    }
    if (node->server != CPTI_SPAN_NONE) {
        span = &spans->items[node->server];
        service = span->service;
    } else if (is_blind(spans, number) && span->peer.bytes > 0) {
        service = span->peer;
    }
    return cpt_path_frame_add(path, parent == NULL ? CPT_FRAME_NONE : parent->frame,
                              frame_name(text, service, span->operation), CPT_KIND_WORK,
                              &node->frame);
}

/* Makes the frames of span @number and of those above it that have none yet. */
static cpt_status frames_make(struct cpti_spans *spans, struct cpt_path *path,
                              uint32_t number)
{
    cpt_status status = CPT_OK;
    size_t open = 0;

    while (number != CPTI_SPAN_NONE && spans->nodes[number].frame == CPT_FRAME_NONE) {
        spans->queue[open++] = number;
        number = spans->nodes[number].parent;
    }
    while (open > 0 && status == CPT_OK) {
        status = frame_make(spans, path, spans->queue[--open]);
    }
    return status;
}

/* Appends @segment with a frame of @kind below its frame. */
static cpt_status append_below(struct cpt_path *path, struct cpt_segment segment,
                               unsigned kind)
{
    cpt_status status = CPT_OK;

    if (kind != CPT_KIND_WORK) {
        status = cpt_path_frame_add(path, segment.frame, cpt_bytes_of(""), kind,
                                    &segment.frame);
    }
    return status == CPT_OK ? cpt_path_append(path, segment) : status;
}

/* What the time of wait @span is, by the span's name. */
static unsigned wait_kind(const struct cpti_span *span)
{
    for (unsigned kind = CPT_KIND_QUEUE; cpt_kind_words(kind) != NULL; kind++) {
        if (cpt_bytes_equal(span->operation, cpt_bytes_of(cpt_kind_words(kind))) ||
            cpt_bytes_equal(span->operation, cpt_bytes_of(cpt_kind_word(kind)))) {
            return kind;
        }
    }
    return span->link.bytes > 0 ? CPT_KIND_QUEUE : CPT_KIND_WORK;
}

static cpt_status append(struct cpti_spans *spans, struct cpt_path *path,
                         const struct cpti_section *section)
{
    const struct cpti_span_node *node = &spans->nodes[section->span];
    struct cpt_segment segment = {.duration_ns = section->end_ns - section->start_ns,
                                  .count = 1};
    const bool is_wait =
        spans->mode == CPTI_SPANS_EXACT && spans->items[section->span].is_wait;
    unsigned kind = is_wait ? wait_kind(&spans->items[section->span]) : CPT_KIND_WORK;
    cpt_status status = CPT_OK;

    if (kind != CPT_KIND_WORK) { /* of its parent */
        node = &spans->nodes[node->parent];
        status = frames_make(spans, path, (uint32_t)(node - spans->nodes));
        segment.frame = node->frame;
        return status == CPT_OK ? append_below(path, segment, kind) : status;
    }
    status = frames_make(spans, path, section->span);
    segment.frame = node->frame;
    if (status == CPT_OK && is_blind(spans, section->span)) {
        kind = CPT_KIND_BLIND_SPOT;
        segment.reason = CPT_REASON_UNSUPPORTED;
    } else if (node->server != CPTI_SPAN_NONE) {
        kind = CPT_KIND_NETWORK;
    }
    return status == CPT_OK ? append_below(path, segment, kind) : status;
}

cpt_status cpti_spans_path(struct cpti_spans *spans, struct cpt_path *path)
{
    cpt_status status = CPT_OK;

    if (!spans->is_exact) {
        cpt_path_flags_add(path, CPT_PATH_APPROXIMATE);
    }
    for (size_t i = 0; i < spans->count; i++) {
        spans->nodes[i].frame = CPT_FRAME_NONE;
    }
    for (size_t i = 0; i < spans->section_count && status == CPT_OK; i++) {
        status = append(spans, path, &spans->sections[i]);
    }
    return status;
}
