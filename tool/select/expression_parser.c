/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* expression_parser.c - the state of the parser of --where; see expression_parser.h */
#include "tool/select/expression_parser.h"

#include "tool/base/output.h"
#include "tool/select/expression_chain.h"

#include <string.h>

bool cpti_parser_step(struct cpti_parser *parser)
{
    return cpti_token_next(parser->source, &parser->at, &parser->token, parser->error);
}

/* The current token, for messages. */
static const char *found(const struct cpti_parser *parser)
{
    static char text[CPTI_TEXT_BYTES + 2];

    switch (parser->token.kind) {
    case CPTI_TOKEN_END:
        return "the end";
    case CPTI_TOKEN_STRING:
        return "a text in quotes";
    default:
        (void)snprintf(text, sizeof text, "'%.40s'",
                       cpti_quoted_bytes(parser->token.text));
        return text;
    }
}

bool cpti_parser_expected(struct cpti_parser *parser, const char *what)
{
    return cpti_expression_fail(parser->error, parser->token.at,
                                "found %s, expected %s", found(parser), what);
}

bool cpti_parser_too_many(struct cpti_parser *parser, const char *what, int limit)
{
    return cpti_expression_fail(parser->error, parser->token.at,
                                "there are more than %d %s", limit, what);
}

bool cpti_parser_add_text(struct cpti_parser *parser, struct cpt_bytes text,
                          bool is_quoted, uint32_t *at, uint32_t *bytes)
{
    struct cpti_expression *expression = parser->expression;
    const size_t start = expression->text_bytes;

    if (text.bytes > sizeof expression->texts - start) {
        return cpti_parser_too_many(parser, "bytes of text", CPTI_EXPRESSION_BYTES_MAX);
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (is_quoted && text.data[i] == '\\' && i + 1 < text.bytes &&
            strchr("\"'\\", text.data[i + 1]) != NULL && text.data[i + 1] != '\0') {
            i++;
        }
        expression->texts[expression->text_bytes++] = text.data[i];
    }
    *at = (uint32_t)start;
    *bytes = (uint32_t)(expression->text_bytes - start);
    return true;
}

struct cpti_value *cpti_parser_add_value(struct cpti_parser *parser)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_value *value;

    if (expression->value_count == CPTI_EXPRESSION_VALUES_MAX) {
        (void)cpti_parser_too_many(parser, "values", CPTI_EXPRESSION_VALUES_MAX);
        return NULL;
    }
    value = &expression->values[expression->value_count++];
    *value = (struct cpti_value){.truth = -1, .percentile = -1};
    return value;
}

struct cpti_test *cpti_parser_add_test(struct cpti_parser *parser)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_test *test;

    if (expression->test_count == CPTI_EXPRESSION_TESTS_MAX) {
        (void)cpti_parser_too_many(parser, "tests", CPTI_EXPRESSION_TESTS_MAX);
        return NULL;
    }
    test = &expression->tests[expression->test_count++];
    *test = (struct cpti_test){.value = (uint16_t)expression->value_count};
    return test;
}

bool cpti_parser_add_node(struct cpti_parser *parser, unsigned kind, uint16_t *index)
{
    struct cpti_expression *expression = parser->expression;

    if (expression->node_count == CPTI_EXPRESSION_NODES_MAX) {
        return cpti_parser_too_many(parser, "operators", CPTI_EXPRESSION_NODES_MAX);
    }
    *index = (uint16_t)expression->node_count++;
    expression->nodes[*index] = (struct cpti_expression_node){
        .kind = (uint8_t)kind, .first = NO_NODE, .last = NO_NODE, .next = NO_NODE};
    return true;
}
