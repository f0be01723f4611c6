/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * span_calls.c - calls of one service by another, and how many bytes they took
 *
 *      front: GET /                        a call of cart by front: its bytes are what
 *      '- front: get (client)              either side says, or the larger one if both
 *         '- cart: get (server)            do; of a client's span that is several calls
 *                                          only what the callees say
 */
#include "import/spans/span_tree.h"

static uint64_t larger(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* Whether the bytes that span @number names, a caller's, are those of one call. */
static bool is_one_call(struct cpti_spans *spans, uint32_t number)
{
    const unsigned kind = spans->items[number].kind;

    return (kind == CPTI_SPAN_CLIENT || kind == CPTI_SPAN_PRODUCER) &&
           (spans->nodes[number].child_count == 1 ||
            cpti_spans_role(spans, number) == CPTI_SPAN_CALL);
}

/* A client's span below which nothing is of another service. */
static bool is_unanswered(const struct cpti_spans *spans, uint32_t number)
{
    const struct cpti_span *span = &spans->items[number];
    const struct cpti_span_node *node = &spans->nodes[number];

    if (span->kind != CPTI_SPAN_CLIENT && span->kind != CPTI_SPAN_PRODUCER) {
        return false;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t child = spans->numbers[node->children_at + i];

        if (!cpt_bytes_equal(spans->items[child].service, span->service)) {
            return false;
        }
    }
    return span->peer.bytes > 0;
}

bool cpti_spans_call(struct cpti_spans *spans, uint32_t number,
                     struct cpti_span_call *call)
{
    const struct cpti_span *span = &spans->items[number];
    const uint32_t parent = spans->nodes[number].parent;
    const struct cpti_span *above = NULL;

    if (spans->nodes[number].fate != CPTI_SPAN_IN_TREE) {
        return false;
    }
    if (is_unanswered(spans, number)) {
        *call = (struct cpti_span_call){.from = span->service,
                                        .to = span->peer,
                                        .request_bytes = span->request_bytes,
                                        .reply_bytes = span->reply_bytes};
        return true;
    }
    if (parent == CPTI_SPAN_NONE) {
        return false;
    }
    above = &spans->items[parent];
    if (cpt_bytes_equal(above->service, span->service)) {
        return false;
    }
    *call = (struct cpti_span_call){.from = above->service,
                                    .to = span->service,
                                    .request_bytes = span->request_bytes,
                                    .reply_bytes = span->reply_bytes};
    if (is_one_call(spans, parent)) {
        call->request_bytes = larger(call->request_bytes, above->request_bytes);
        call->reply_bytes = larger(call->reply_bytes, above->reply_bytes);
    }
    return true;
}
