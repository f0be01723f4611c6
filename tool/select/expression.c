/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression.c - from the text of a selection to a chain of tests
 *
 *      selection  = term { ("and" | "or") term }          and binds closer than or
 *      term       = "not" term | "(" selection ")" | test
 *      test       = subject comparison value
 *                 | subject ["not"] "in" "(" value { "," value } ")"
 *                 | "has" "(" key ")" | truth | path
 *      subject    = key | truth | path | "latency" | "start"
 *      truth      = "forced" | "random" | "failed" | "local_root"
 *      path       = "path" "(" string ")"
 *      comparison = "==" | "!=" | "<" | "<=" | ">" | ">="
 *      key        = word | string          (a string is the key of an attribute)
 *      value      = string | number | word             (pNN for latency)
 *
 * or, in the simple form, KEY=VALUE, where the value goes to the end of the text.
 *
 * This is an operator-precedence parser. It makes a child before its parent, and merges
 * an `and` of `and`s into one node with all their children; the same for `or`.
 * expression_test.c parses one test, expression_chain.c makes the chain from the nodes.
 */
#include "tool/select/expression.h"

#include "tool/select/expression_chain.h"
#include "tool/select/expression_parser.h"

#include <assert.h>
#include <stdatomic.h>

/* --- Operators --- */

static void add_child(struct cpti_expression *expression, uint16_t parent,
                      uint16_t child)
{
    struct cpti_expression_node *node = &expression->nodes[parent];
    struct cpti_expression_node *below = &expression->nodes[child];
    const bool is_same = below->kind == node->kind && node->kind != NODE_NOT;
    const uint16_t first = is_same ? below->first : child;
    const uint16_t last = is_same ? below->last : child;

    if (node->first == NO_NODE) {
        node->first = first;
    } else {
        expression->nodes[node->last].next = first;
    }
    node->last = last;
    if (is_same) {
        below->kind = NODE_MERGED; /* the parent has its children */
    }
}

static bool push_operator(struct cpti_parser *parser, unsigned kind)
{
    if (parser->operator_count == CPTI_EXPRESSION_DEPTH_MAX) {
        return cpti_parser_too_many(parser, "levels of parentheses and operators",
                                    CPTI_EXPRESSION_DEPTH_MAX);
    }
    parser->operators[parser->operator_count++] =
        (struct cpti_operator){(uint8_t)kind, parser->token.at};
    return cpti_parser_step(parser);
}

/* Pops the operators that bind at least as tightly as @kind, and makes their nodes. */
static bool reduce(struct cpti_parser *parser, unsigned kind)
{
    while (parser->operator_count != 0 &&
           parser->operators[parser->operator_count - 1].kind <= kind) {
        const unsigned popped = parser->operators[--parser->operator_count].kind;
        const size_t count = popped == NODE_NOT ? 1 : 2;
        uint16_t node = NO_NODE;

        if (!cpti_parser_add_node(parser, popped, &node)) {
            return false;
        }
        parser->operand_count -= count;
        for (size_t i = 0; i < count; i++) {
            add_child(parser->expression, node,
                      parser->operands[parser->operand_count + i]);
        }
        parser->operands[parser->operand_count++] = node;
    }
    return true;
}

/* Parses a term, with each `not` and '(' before it. */
static bool take_term(struct cpti_parser *parser)
{
    for (;;) {
        if (parser->token.kind == CPTI_TOKEN_OPEN) {
            if (!push_operator(parser, NODE_OPEN)) {
                return false;
            }
        } else if (!cpti_token_is(&parser->token, "not")) {
            return cpti_parser_take_test(parser);
        } else if (!push_operator(parser, NODE_NOT)) {
            return false;
        }
    }
}

/* Checks that the text ends here, and no parenthesis is open. */
static bool take_end(struct cpti_parser *parser)
{
    if (parser->token.kind != CPTI_TOKEN_END) {
        return cpti_parser_expected(parser, parser->operator_count != 0
                                                ? "'and', 'or' or ')'"
                                                : "'and', 'or' or the end");
    }
    if (parser->operator_count != 0) {
        return cpti_expression_fail(parser->error,
                                    parser->operators[parser->operator_count - 1].at,
                                    "the parenthesis is not closed");
    }
    return true;
}

/* Parses what follows a term: each ')', then an operator or the end. */
static bool take_operator(struct cpti_parser *parser, bool *is_end)
{
    for (;;) {
        const bool is_and = cpti_token_is(&parser->token, "and");

        if (is_and || cpti_token_is(&parser->token, "or")) {
            const unsigned kind = is_and ? NODE_AND : NODE_OR;

            return reduce(parser, kind) && push_operator(parser, kind);
        }
        if (!reduce(parser, NODE_OR)) {
            return false;
        }
        if (parser->token.kind != CPTI_TOKEN_CLOSE || parser->operator_count == 0) {
            *is_end = true;
            return take_end(parser);
        }
        parser->operator_count--;
        if (!cpti_parser_step(parser)) {
            return false;
        }
    }
}

static bool parse(struct cpti_parser *parser)
{
    bool is_end = false;

    if (!cpti_parser_step(parser)) {
        return false;
    }
    while (!is_end) {
        if (!take_term(parser) || !take_operator(parser, &is_end)) {
            return false;
        }
    }
    assert(parser->operand_count == 1);
    return true;
}

/* --- Terms --- */

/* Parses the source and adds its term. After an error the caller restores the
 * counts. */
static bool add_term(struct cpti_parser *parser)
{
    struct cpti_expression *expression = parser->expression;
    const bool is_simple = cpti_expression_is_simple(parser->source);

    if (expression->term_count == CPTI_EXPRESSION_TERMS_MAX) {
        return cpti_parser_too_many(parser, "terms", CPTI_EXPRESSION_TERMS_MAX);
    }
    if (is_simple ? !cpti_parser_take_simple(parser) : !parse(parser)) {
        return false;
    }
    expression->terms[expression->term_count++] = parser->operands[0];
    return true;
}

/* The last number given to an expression; each number is given once. */
static _Atomic uint64_t last_number;

bool cpti_expression_add(struct cpti_expression *expression, struct cpt_bytes text,
                         uint64_t now_unix_ns, struct cpti_expression_error *error)
{
    const size_t test_count = expression->test_count;
    const size_t node_count = expression->node_count;
    const size_t value_count = expression->value_count;
    const size_t percentile_count = expression->percentile_count;
    const size_t text_bytes = expression->text_bytes;
    struct cpti_parser parser = {.expression = expression,
                                 .source = text,
                                 .error = error,
                                 .now_unix_ns = now_unix_ns};
    const bool is_added = add_term(&parser);

    /* relaxed: numbers only have to differ */
    expression->number =
        1 + atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed);
    if (!is_added) {
        expression->test_count = test_count;
        expression->node_count = node_count;
        expression->value_count = value_count;
        expression->percentile_count = percentile_count;
        expression->text_bytes = text_bytes;
    }
    cpti_expression_link(expression, false);
    return is_added;
}

struct cpt_bytes cpti_expression_key(const struct cpti_expression *expression,
                                     size_t index)
{
    const struct cpti_test *test = &expression->tests[index];

    return (struct cpt_bytes){expression->texts + test->key_at, test->key_bytes};
}
