/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_chain.c - from the nodes of a selection to a chain of tests
 *
 * A child stands before its parent, so two loops over the nodes make the chain:
 *
 *      upwards     A node costs as much as its most expensive child. Children are
 *                  sorted by cost; children of equal cost keep their order. The first
 *                  test of a node is that of its first child.
 *      downwards   Each node gets its two targets, on_true and on_false. In an `and`, a
 *                  child that holds continues at the next child; in an `or`, one that
 *                  does not hold. A `not` exchanges the two targets.
 *
 * So tests of a record's head run before a path is decoded, in whatever order the user
 * wrote them.
 */
#include "tool/select/expression_chain.h"

#include "tool/select/expression.h"

static void sort_children(struct cpti_expression *expression,
                          struct cpti_expression_node *node)
{
    uint16_t first[COST_PATH + 1] = {NO_NODE, NO_NODE, NO_NODE};
    uint16_t last[COST_PATH + 1] = {NO_NODE, NO_NODE, NO_NODE};
    uint16_t next;

    for (uint16_t at = node->first; at != NO_NODE; at = next) {
        const unsigned cost = expression->nodes[at].cost;

        next = expression->nodes[at].next;
        expression->nodes[at].next = NO_NODE;
        if (first[cost] == NO_NODE) {
            first[cost] = at;
        } else {
            expression->nodes[last[cost]].next = at;
        }
        last[cost] = at;
    }
    node->first = NO_NODE;
    for (unsigned cost = COST_FIELD; cost <= COST_PATH; cost++) {
        if (first[cost] == NO_NODE) {
            continue;
        }
        if (node->first == NO_NODE) {
            node->first = first[cost];
        } else {
            expression->nodes[node->last].next = first[cost];
        }
        node->last = last[cost];
    }
}

/* Costs, orders and first tests, children before parents. */
static void sweep_upwards(struct cpti_expression *expression)
{
    for (size_t i = 0; i < expression->node_count; i++) {
        struct cpti_expression_node *node = &expression->nodes[i];

        node->is_left_out = true;
        if (node->kind == NODE_MERGED) {
            continue;
        }
        if (node->kind == NODE_TEST) {
            node->start = node->test;
            continue;
        }
        for (uint16_t at = node->first; at != NO_NODE;
             at = expression->nodes[at].next) {
            const struct cpti_expression_node *child = &expression->nodes[at];

            node->cost = child->cost > node->cost ? child->cost : node->cost;
            node->has_percentile |= child->has_percentile;
        }
        sort_children(expression, node);
        node->start = expression->nodes[node->first].start;
    }
}

static void set_targets(struct cpti_expression_node *node, uint16_t on_true,
                        uint16_t on_false)
{
    node->is_left_out = false;
    node->on_true = on_true;
    node->on_false = on_false;
}

/* Targets, parents before children. */
static void sweep_downwards(struct cpti_expression *expression)
{
    for (size_t i = expression->node_count; i-- > 0;) {
        const struct cpti_expression_node node = expression->nodes[i];

        if (node.is_left_out) {
            continue;
        }
        if (node.kind == NODE_TEST) {
            expression->tests[node.test].on_true = node.on_true;
            expression->tests[node.test].on_false = node.on_false;
        } else if (node.kind == NODE_NOT) {
            set_targets(&expression->nodes[node.first], node.on_false, node.on_true);
        } else {
            for (uint16_t at = node.first; at != NO_NODE;) {
                const uint16_t next = expression->nodes[at].next;
                const uint16_t following =
                    next == NO_NODE ? NO_NODE : expression->nodes[next].start;
                const bool is_last = next == NO_NODE;

                set_targets(
                    &expression->nodes[at],
                    node.kind == NODE_AND && !is_last ? following : node.on_true,
                    node.kind == NODE_OR && !is_last ? following : node.on_false);
                at = next;
            }
        }
    }
}

/* Lists in @parts the nodes that must all hold, the cheapest first. Returns their
 * count. */
static size_t list_parts(const struct cpti_expression *expression, bool is_population,
                         uint16_t *parts)
{
    size_t count = 0;

    for (unsigned cost = COST_FIELD; cost <= COST_PATH; cost++) {
        for (size_t i = 0; i < expression->term_count; i++) {
            const struct cpti_expression_node *term =
                &expression->nodes[expression->terms[i]];
            const bool is_and = term->kind == NODE_AND;
            uint16_t at = is_and ? term->first : expression->terms[i];

            while (at != NO_NODE) {
                const struct cpti_expression_node *part = &expression->nodes[at];

                if (part->cost == cost && !(is_population && part->has_percentile)) {
                    parts[count++] = at;
                }
                at = is_and ? part->next : NO_NODE;
            }
        }
    }
    return count;
}

void cpti_expression_link(struct cpti_expression *expression, bool is_population)
{
    uint16_t parts[CPTI_EXPRESSION_NODES_MAX];
    size_t count;

    sweep_upwards(expression);
    count = list_parts(expression, is_population, parts);
    expression->start = CPTI_EXPRESSION_ACCEPT;
    for (size_t i = count; i-- > 0;) {
        set_targets(&expression->nodes[parts[i]], expression->start,
                    CPTI_EXPRESSION_REJECT);
        expression->start = expression->nodes[parts[i]].start;
    }
    sweep_downwards(expression);
}

bool cpti_expression_requires_random(const struct cpti_expression *expression)
{
    uint16_t parts[CPTI_EXPRESSION_NODES_MAX];
    const size_t count = list_parts(expression, false, parts);

    for (size_t i = 0; i < count; i++) {
        const struct cpti_expression_node *node = &expression->nodes[parts[i]];
        const struct cpti_test *test = &expression->tests[node->test];

        if (node->kind == NODE_TEST && test->subject == CPTI_SUBJECT_RANDOM &&
            test->relation == CPTI_RELATION_EQUAL &&
            expression->values[test->value].truth == 1) {
            return true;
        }
    }
    return false;
}
