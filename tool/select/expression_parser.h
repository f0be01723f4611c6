/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_parser.h - the state of the parser of --where
 *
 * A parser has two stacks with limits, so nothing recurs: operators that wait for their
 * right side, and nodes of operands. A function that returns bool returns false after
 * it has filled in the error.
 */
#ifndef CPTI_CLI_EXPRESSION_PARSER_H
#define CPTI_CLI_EXPRESSION_PARSER_H

#include "tool/select/expression_lex.h"

/* An operator or open parenthesis that waits. */
struct cpti_operator {
    uint8_t kind; /* NODE_NOT, NODE_AND, NODE_OR, NODE_OPEN */
    size_t at;    /* in the text */
};

struct cpti_parser {
    struct cpti_expression *expression;
    struct cpt_bytes source;
    struct cpti_expression_error *error;
    uint64_t now_unix_ns;
    size_t at;               /* in the source, after the current token */
    struct cpti_token token; /* the current token */
    struct cpti_operator operators[CPTI_EXPRESSION_DEPTH_MAX];
    size_t operator_count;
    uint16_t operands[CPTI_EXPRESSION_DEPTH_MAX + 1];
    size_t operand_count;
};

/* Moves to the next token. */
bool cpti_parser_step(struct cpti_parser *parser);

/* Errors at the current token; both return false. */
bool cpti_parser_expected(struct cpti_parser *parser, const char *what);
bool cpti_parser_too_many(struct cpti_parser *parser, const char *what, int limit);

/* Adds to the expression, within its limits. Of quoted text the escapes are removed. */
bool cpti_parser_add_text(struct cpti_parser *parser, struct cpt_bytes text,
                          bool is_quoted, uint32_t *at, uint32_t *bytes);
struct cpti_value *cpti_parser_add_value(struct cpti_parser *parser);
struct cpti_test *cpti_parser_add_test(struct cpti_parser *parser);
bool cpti_parser_add_node(struct cpti_parser *parser, unsigned kind, uint16_t *index);

/* Parses a test, or the whole source as KEY=VALUE, and pushes its node;
 * expression_test.c. */
bool cpti_parser_take_test(struct cpti_parser *parser);
bool cpti_parser_take_simple(struct cpti_parser *parser);

#endif
