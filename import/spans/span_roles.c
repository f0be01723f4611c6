/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_roles.c - what a span is in a path: work, or a side of a call
 *
 * A client's span stands for a call if one callee's span, and further attempts of it,
 * are all that hangs below it. Then both sides are one frame. Else there would be calls
 * that no span has: in the second tree of stock by cart.
 *
 *      shop: /                                shop: /
 *      '- shop: GET         client            '- shop: checkout      client
 *         '- cart: add      server               |- cart: add        server
 *                                                '- stock: reserve   server
 *      shop: / > cart: add                    shop: / > shop: checkout > cart: add
 *                                                                      > stock: reserve
 *
 * The frame of a call is below that of the span above it. So who called must be the
 * service of that span; a client's span of another service has a frame of its own.
 *
 * Where spans do not say of which side they are, a span is taken for the client's side
 * of a child in another service if both have the same operation, or if it is below a
 * span of its own service and has nothing below it but that child.
 */
#include "import/spans/span_tree.h"

#include "cpt/cpt_path.h"

unsigned cpti_span_wait_kind(const struct cpti_span *span)
{
    for (unsigned kind = CPT_KIND_QUEUE; cpt_kind_words(kind) != NULL; kind++) {
        if (cpt_bytes_equal(span->operation, cpt_bytes_of(cpt_kind_words(kind))) ||
            cpt_bytes_equal(span->operation, cpt_bytes_of(cpt_kind_word(kind)))) {
            return kind;
        }
    }
    return span->link.bytes > 0 ? CPT_KIND_QUEUE : CPT_KIND_WORK;
}

/* Whether span @left comes before span @right. */
static bool is_before(const struct cpti_spans *spans, uint32_t left, uint32_t right)
{
    const uint64_t a = spans->nodes[left].start_ns;
    const uint64_t b = spans->nodes[right].start_ns;

    return a != b ? a < b : cpti_spans_order(spans, left, right) < 0;
}

/* The span above span @number, and not passed over, or CPTI_SPAN_NONE. What is not in
 * the tree may be in a circle. */
static uint32_t span_above(const struct cpti_spans *spans, uint32_t number)
{
    return spans->nodes[number].fate == CPTI_SPAN_IN_TREE
               ? cpti_spans_timed_above(spans, number)
               : spans->nodes[number].parent;
}

/* Whether the frame above span @number is of its own service, or there is none. */
static bool is_of_caller(const struct cpti_spans *spans, uint32_t number)
{
    const uint32_t above = span_above(spans, number);

    return above == CPTI_SPAN_NONE ||
           cpt_bytes_equal(spans->items[above].service, spans->items[number].service);
}

/* Whether @child is the callee's side of span @number; as such it may have to be all
 * that hangs below it: *@must_be_only. A span that does not say of which side it is may
 * be the client's of a child that does not, either. */
static bool answers(const struct cpti_spans *spans, uint32_t number,
                    const struct cpti_span *child, bool *must_be_only)
{
    const struct cpti_span *span = &spans->items[number];

    if (span->kind == CPTI_SPAN_CLIENT) {
        return child->kind == CPTI_SPAN_SERVER;
    }
    if (child->kind != CPTI_SPAN_UNKNOWN ||
        cpt_bytes_equal(child->service, span->service)) {
        return false;
    }
    *must_be_only |= !cpt_bytes_equal(child->operation, span->operation);
    return !*must_be_only || span_above(spans, number) != CPTI_SPAN_NONE;
}

/* Whether both are attempts of one call. */
static bool are_attempts(const struct cpti_span *left, const struct cpti_span *right)
{
    return cpt_bytes_equal(left->service, right->service) &&
           cpt_bytes_equal(left->operation, right->operation);
}

/* The first span of the callee, if nothing but that hangs below span @number, else
 * CPTI_SPAN_NONE; *@is_leaf: nothing at all hangs below it. What is no frame, or has
 * another fate, does not count. */
static uint32_t find_callee(const struct cpti_spans *spans, uint32_t number,
                            bool *is_leaf)
{
    const struct cpti_span_node *node = &spans->nodes[number];
    uint32_t found = CPTI_SPAN_NONE;
    bool must_be_only = false;

    *is_leaf = true;
    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t other = spans->numbers[node->children_at + i];
        const struct cpti_span *child = &spans->items[other];

        if (spans->nodes[other].fate != node->fate ||
            (!child->has_time && !cpti_spans_has(spans, other, CPTI_SPAN_IS_ABOVE)) ||
            (child->is_wait && cpti_span_wait_kind(child) != CPT_KIND_WORK)) {
            continue;
        }
        *is_leaf = false;
        if (!child->has_time || !answers(spans, number, child, &must_be_only) ||
            (found != CPTI_SPAN_NONE && must_be_only) ||
            (found != CPTI_SPAN_NONE && !are_attempts(&spans->items[found], child))) {
            return CPTI_SPAN_NONE;
        }
        if (found == CPTI_SPAN_NONE || is_before(spans, other, found)) {
            found = other;
        }
    }
    return found;
}

/* Finds whether span @number is the client's side of a call. */
static void find_role(struct cpti_spans *spans, uint32_t number)
{
    struct cpti_span_node *node = &spans->nodes[number];
    const unsigned kind = spans->items[number].kind;
    bool is_leaf = false;

    node->traits |= CPTI_SPAN_HAS_ROLE;
    node->callee = CPTI_SPAN_NONE;
    if ((node->traits & CPTI_SPAN_HAS_TIME) == 0 ||
        (kind != CPTI_SPAN_CLIENT && kind != CPTI_SPAN_UNKNOWN)) {
        return;
    }
    node->callee = find_callee(spans, number, &is_leaf);
    if (is_leaf && kind == CPTI_SPAN_CLIENT) {
        node->traits |= CPTI_SPAN_IS_BLIND;
    } else if (node->callee != CPTI_SPAN_NONE && is_of_caller(spans, number)) {
        node->traits |= CPTI_SPAN_IS_CALL;
    } else {
        node->callee = CPTI_SPAN_NONE;
    }
}

/* Whether span @number is a call with a callee. */
static bool is_call(struct cpti_spans *spans, uint32_t number)
{
    if (!cpti_spans_has(spans, number, CPTI_SPAN_HAS_ROLE)) {
        find_role(spans, number);
    }
    return cpti_spans_has(spans, number, CPTI_SPAN_IS_CALL);
}

enum cpti_span_role cpti_spans_role(struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span_node *node = &spans->nodes[number];

    if ((node->traits & CPTI_SPAN_HAS_TIME) == 0) {
        return CPTI_SPAN_PASSED;
    }
    if (is_call(spans, number)) {
        return CPTI_SPAN_CALL;
    }
    if ((node->traits & CPTI_SPAN_IS_BLIND) != 0) {
        return CPTI_SPAN_BLIND;
    }
    return node->parent != CPTI_SPAN_NONE &&
                   spans->nodes[node->parent].fate == node->fate &&
                   is_call(spans, node->parent)
               ? CPTI_SPAN_CALLEE
               : CPTI_SPAN_WORK;
}

void cpti_spans_frame(struct cpti_spans *spans, uint32_t number,
                      struct cpti_span_frame *frame)
{
    const struct cpti_span *span = &spans->items[number];

    *frame = (struct cpti_span_frame){.role = cpti_spans_role(spans, number),
                                      .callee = CPTI_SPAN_NONE,
                                      .kind = span->is_wait ? cpti_span_wait_kind(span)
                                                            : CPT_KIND_WORK};
    if (frame->role == CPTI_SPAN_CALL) {
        frame->callee = spans->nodes[number].callee;
        span = &spans->items[frame->callee];
    }
    frame->service = span->service;
    frame->operation = span->operation;
    if (frame->role == CPTI_SPAN_BLIND && span->peer.bytes > 0 &&
        is_of_caller(spans, number)) {
        frame->service = span->peer;
    }
    if (frame->service.bytes == 0) {
        frame->service = cpt_bytes_of("unknown");
    }
}
