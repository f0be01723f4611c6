/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_sql.c - a selection's condition from left to right; see expression_sql.h
 *
 * An explicit stack walks the nodes. At the top stand the nodes that must all hold, as
 * in cpti_expression_link().
 */
#include "tool/store/expression_sql.h"

#include "tool/select/expression_chain.h"

#include <assert.h>

/* A node whose children are being written. */
struct level {
    uint16_t node;
    uint16_t next; /* child */
};

struct writer {
    const struct cpti_expression *expression;
    struct cpti_condition_sign *to;
    size_t count;
    struct level levels[CPTI_EXPRESSION_NODES_MAX];
    size_t depth;
};

static void put(struct writer *writer, unsigned sign, unsigned test)
{
    assert(writer->count < CPTI_CONDITION_SIGNS_MAX);
    writer->to[writer->count++] =
        (struct cpti_condition_sign){(uint16_t)sign, (uint16_t)test};
}

/* Writes a test, or the beginning of another node. */
static void enter(struct writer *writer, uint16_t at)
{
    const struct cpti_expression_node *node = &writer->expression->nodes[at];

    if (node->kind == NODE_TEST) {
        put(writer, CPTI_SIGN_TEST, node->test);
        return;
    }
    if (node->kind == NODE_NOT) {
        put(writer, CPTI_SIGN_NOT, 0);
    }
    put(writer, CPTI_SIGN_OPEN, 0);
    assert(writer->depth < CPTI_EXPRESSION_NODES_MAX);
    writer->levels[writer->depth++] = (struct level){at, node->first};
}

static void write_node(struct writer *writer, uint16_t at)
{
    enter(writer, at);
    while (writer->depth != 0) {
        struct level *level = &writer->levels[writer->depth - 1];
        const struct cpti_expression_node *node =
            &writer->expression->nodes[level->node];
        const uint16_t child = level->next;

        if (child == NO_NODE) {
            put(writer, CPTI_SIGN_CLOSE, 0);
            writer->depth--;
            continue;
        }
        if (child != node->first) {
            put(writer, node->kind == NODE_AND ? CPTI_SIGN_AND : CPTI_SIGN_OR, 0);
        }
        level->next = writer->expression->nodes[child].next;
        enter(writer, child);
    }
}

size_t cpti_expression_write(const struct cpti_expression *expression,
                             bool is_population, struct cpti_condition_sign *to)
{
    struct writer writer = {.expression = expression, .to = to};

    for (size_t i = 0; i < expression->term_count; i++) {
        const struct cpti_expression_node *term =
            &expression->nodes[expression->terms[i]];
        const bool is_and = term->kind == NODE_AND;
        uint16_t at = is_and ? term->first : expression->terms[i];

        for (; at != NO_NODE; at = is_and ? expression->nodes[at].next : NO_NODE) {
            if (is_population && expression->nodes[at].has_percentile) {
                continue;
            }
            if (writer.count != 0) {
                put(&writer, CPTI_SIGN_AND, 0);
            }
            write_node(&writer, at);
        }
    }
    return writer.count;
}
