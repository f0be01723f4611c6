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
 * The parser has a stack of its own for what waits (parentheses, not, and, or), with a
 * limit; nothing recurs. It makes nodes, a child always before its parent, and an `and`
 * of `and`s is one node with all their children. Of the nodes expression_chain.c makes
 * what is run for a record.
 */
#include "cpt/cli/select/expression.h"

#include "cpt/cli/select/expression_chain.h"
#include "cpt/cli/select/expression_lex.h"
#include "cpt/cli/base/output.h"
#include "cpt/cli/select/when.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What waits. */
struct wait {
    uint8_t kind;
    size_t at; /* of its text */
};

struct parser {
    struct cpti_expression *expression;
    struct cpt_bytes source;
    struct cpti_expression_error *error;
    uint64_t now_unix_ns;
    size_t at;               /* behind the token at hand */
    struct cpti_token token; /* the token at hand */
    struct wait waits[CPTI_EXPRESSION_DEPTH_MAX];
    size_t wait_count;
    uint16_t operands[CPTI_EXPRESSION_DEPTH_MAX + 1];
    size_t operand_count;
};

static int step(struct parser *parser)
{
    return cpti_token_next(parser->source, &parser->at, &parser->token, parser->error);
}

/* The token at hand, for messages. */
static const char *found(const struct parser *parser)
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

static int expected(struct parser *parser, const char *what)
{
    return cpti_expression_wrong(parser->error, parser->token.at,
                                 "found %s, expected %s", found(parser), what);
}

static int too_many(struct parser *parser, const char *what, int limit)
{
    return cpti_expression_wrong(parser->error, parser->token.at,
                                 "there are more than %d %s", limit, what);
}

/* --- Texts, values, tests, nodes: each with its limit --- */

/* Keeps @text; of a string in quotes without the escapes. */
static int keep_text(struct parser *parser, struct cpt_bytes text, int is_quoted,
                     uint32_t *at, uint32_t *bytes)
{
    struct cpti_expression *expression = parser->expression;
    const size_t start = expression->text_bytes;

    if (text.bytes > sizeof expression->texts - start) {
        return too_many(parser, "bytes of text", CPTI_EXPRESSION_BYTES_MAX);
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
    return 1;
}

static struct cpti_value *add_value(struct parser *parser)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_value *value;

    if (expression->value_count == CPTI_EXPRESSION_VALUES_MAX) {
        (void)too_many(parser, "values", CPTI_EXPRESSION_VALUES_MAX);
        return NULL;
    }
    value = &expression->values[expression->value_count++];
    *value = (struct cpti_value){.truth = -1, .percentile = -1};
    return value;
}

static struct cpti_test *add_test(struct parser *parser)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_test *test;

    if (expression->test_count == CPTI_EXPRESSION_TESTS_MAX) {
        (void)too_many(parser, "tests", CPTI_EXPRESSION_TESTS_MAX);
        return NULL;
    }
    test = &expression->tests[expression->test_count++];
    *test = (struct cpti_test){.value = (uint16_t)expression->value_count};
    return test;
}

static int add_node(struct parser *parser, unsigned kind, uint16_t *index)
{
    struct cpti_expression *expression = parser->expression;

    if (expression->node_count == CPTI_EXPRESSION_NODES_MAX) {
        return too_many(parser, "operators", CPTI_EXPRESSION_NODES_MAX);
    }
    *index = (uint16_t)expression->node_count++;
    expression->nodes[*index] = (struct cpti_node){
        .kind = (uint8_t)kind, .first = NO_NODE, .last = NO_NODE, .next = NO_NODE};
    return 1;
}

static void add_child(struct cpti_expression *expression, uint16_t parent,
                      uint16_t child)
{
    struct cpti_node *node = &expression->nodes[parent];
    struct cpti_node *below = &expression->nodes[child];
    const int is_same = below->kind == node->kind && node->kind != NODE_NOT;
    const uint16_t first = is_same ? below->first : child;
    const uint16_t last = is_same ? below->last : child;

    if (node->first == NO_NODE) {
        node->first = first;
    } else {
        expression->nodes[node->last].next = first;
    }
    node->last = last;
    if (is_same) {
        below->kind = NODE_MERGED; /* its children have gone over to the parent */
    }
}

/* --- Values --- */

static int take_truth(struct cpt_bytes text)
{
    return cpt_bytes_equal(text, cpt_bytes_of("true"))    ? 1
           : cpt_bytes_equal(text, cpt_bytes_of("false")) ? 0
                                                          : -1;
}

/* Of an attribute, or of a text of the record. */
static int read_plain(struct parser *parser, struct cpti_value *value)
{
    const struct cpti_token *token = &parser->token;
    uint64_t ns;

    if (token->kind != CPTI_TOKEN_WORD && token->kind != CPTI_TOKEN_NUMBER &&
        token->kind != CPTI_TOKEN_STRING) {
        return expected(parser, "a value");
    }
    value->is_number = token->kind == CPTI_TOKEN_NUMBER;
    if (value->is_number && !cpti_lex_number(token->text, value)) {
        return cpti_expression_wrong(
            parser->error, token->at,
            cpti_lex_duration(token->text, &ns) == NULL
                ? "'%.40s' is a duration, but only latency and path(...) are compared "
                  "with one"
                : "'%.40s' is no number; a text that begins like one needs quotes",
            cpti_quoted_bytes(token->text));
    }
    if (!value->is_number) {
        (void)cpti_lex_number(token->text, value);
    }
    value->truth = (int8_t)take_truth(token->text);
    return keep_text(parser, token->text, token->kind == CPTI_TOKEN_STRING,
                     &value->text_at, &value->text_bytes);
}

static int read_truth(struct parser *parser, struct cpti_value *value)
{
    value->truth = parser->token.kind == CPTI_TOKEN_WORD
                       ? (int8_t)take_truth(parser->token.text)
                       : (int8_t)-1;
    return value->truth >= 0 || expected(parser, "true or false");
}

/* 32 hexadecimal digits as 16 bytes. 0 if it is anything else. */
static int hex_bytes(struct cpt_bytes text, unsigned char bytes[16])
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    if (text.bytes != 32) {
        return 0;
    }
    for (size_t i = 0; i < 32; i++) {
        const char *digit = memchr(digits, text.data[i], sizeof digits - 1);

        if (digit == NULL) {
            return 0;
        }
        bytes[i / 2] = (unsigned char)(bytes[i / 2] << 4 | ((digit - digits) & 15));
    }
    return 1;
}

static int read_trace_id(struct parser *parser, struct cpti_value *value)
{
    unsigned char id[16] = {0};

    if (!hex_bytes(parser->token.text, id)) {
        return expected(parser, "a trace id of 32 hexadecimal digits");
    }
    return keep_text(parser, (struct cpt_bytes){(const char *)id, sizeof id}, 0,
                     &value->text_at, &value->text_bytes);
}

static int read_start(struct parser *parser, struct cpti_value *value)
{
    const struct cpt_bytes text = parser->token.text;
    char copy[64];

    if (text.bytes != 0 && text.bytes < sizeof copy) {
        memcpy(copy, text.data, text.bytes);
        copy[text.bytes] = '\0';
        if (strlen(copy) == text.bytes &&
            cpti_when(copy, parser->now_unix_ns, &value->ns)) {
            return 1;
        }
    }
    return expected(parser, "a time such as 2026-01-31T12:00:00Z, @1769860800 or 15m "
                            "(ago)");
}

static int read_percentile(struct parser *parser, struct cpti_value *value,
                           uint64_t share)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_percentile *own = expression->percentiles;
    size_t i = 0;

    while (i < expression->percentile_count && own[i].share != share) {
        i++;
    }
    if (i == CPTI_EXPRESSION_PERCENTILES_MAX) {
        return too_many(parser, "different percentiles",
                        CPTI_EXPRESSION_PERCENTILES_MAX);
    }
    if (i == expression->percentile_count) {
        (void)snprintf(own[i].name, sizeof own[i].name, "%s",
                       cpti_quoted_bytes(parser->token.text));
        own[i].share = share;
        own[i].latency_ns = 0;
        expression->percentile_count++;
    }
    value->percentile = (int8_t)i;
    return 1;
}

static int read_duration(struct parser *parser, struct cpti_value *value, int is_path)
{
    const struct cpti_token *token = &parser->token;
    const char *wrong;
    uint64_t share;

    if (!is_path && token->kind == CPTI_TOKEN_WORD &&
        cpti_lex_percentile(token->text, &share)) {
        return read_percentile(parser, value, share);
    }
    if (token->kind != CPTI_TOKEN_NUMBER) {
        return expected(parser, is_path
                                    ? "a duration such as 20ms"
                                    : "a duration such as 20ms, or a percentile such "
                                      "as p99");
    }
    wrong = cpti_lex_duration(token->text, &value->ns);
    return wrong == NULL ||
           cpti_expression_wrong(parser->error, token->at, "the duration '%.40s' %s",
                                 cpti_quoted_bytes(token->text), wrong);
}

/* The token at hand as a value of @test; steps over it. */
static int take_value(struct parser *parser, struct cpti_test *test)
{
    struct cpti_value *value = add_value(parser);
    int is_right;

    if (value == NULL) {
        return 0;
    }
    switch (test->subject) {
    case CPTI_SUBJECT_FORCED:
    case CPTI_SUBJECT_RANDOM:
    case CPTI_SUBJECT_FAILED:
    case CPTI_SUBJECT_LOCAL_ROOT:
        is_right = read_truth(parser, value);
        break;
    case CPTI_SUBJECT_TRACE_ID:
        is_right = read_trace_id(parser, value);
        break;
    case CPTI_SUBJECT_LATENCY:
    case CPTI_SUBJECT_PATH:
        is_right = read_duration(parser, value, test->subject == CPTI_SUBJECT_PATH);
        break;
    case CPTI_SUBJECT_START:
        is_right = read_start(parser, value);
        break;
    default:
        is_right = read_plain(parser, value);
        break;
    }
    test->value_count++;
    return is_right && step(parser);
}

/* --- Subjects --- */

static const struct {
    const char *word;
    enum cpti_subject subject;
    int is_simple; /* known to the simple form, too */
} fields[] = {
    {"service", CPTI_SUBJECT_SERVICE, 1},   {"method", CPTI_SUBJECT_METHOD, 1},
    {"entry", CPTI_SUBJECT_ENTRY, 1},       {"status", CPTI_SUBJECT_STATUS, 1},
    {"forced", CPTI_SUBJECT_FORCED, 1},     {"random", CPTI_SUBJECT_RANDOM, 1},
    {"failed", CPTI_SUBJECT_FAILED, 1},     {"local_root", CPTI_SUBJECT_LOCAL_ROOT, 1},
    {"trace_id", CPTI_SUBJECT_TRACE_ID, 1}, {"latency", CPTI_SUBJECT_LATENCY, 0},
    {"start", CPTI_SUBJECT_START, 0},
};

/* A key: one of the record's fields, or an attribute, as meta.KEY always is. */
static int set_key(struct parser *parser, struct cpti_test *test, struct cpt_bytes key,
                   int is_quoted, int is_simple)
{
    static const char prefix[] = "meta.";
    const size_t prefix_bytes = sizeof prefix - 1;

    test->subject = CPTI_SUBJECT_ATTRIBUTE;
    if (!is_quoted && key.bytes > prefix_bytes &&
        memcmp(key.data, prefix, prefix_bytes) == 0) {
        key.data += prefix_bytes;
        key.bytes -= prefix_bytes;
        return keep_text(parser, key, 0, &test->key_at, &test->key_bytes);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !is_quoted; i++) {
        if ((!is_simple || fields[i].is_simple) &&
            cpt_bytes_equal(key, cpt_bytes_of(fields[i].word))) {
            test->subject = (uint8_t)fields[i].subject;
        }
    }
    return keep_text(parser, key, is_quoted, &test->key_at, &test->key_bytes);
}

/* Whether a frame has to be put into words to be compared with @text: other kinds than
 * work, and names with escapes. */
static uint8_t needs_shown(struct cpt_bytes text)
{
    static const char mark[] = "\u2039";

    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == '\\' ||
            (text.bytes - i >= sizeof mark - 1 &&
             memcmp(text.data + i, mark, sizeof mark - 1) == 0)) {
            return 1;
        }
    }
    return 0;
}

/* path("A: /;A: A1"): each frame becomes a value of the test. */
static int take_frames(struct parser *parser, struct cpti_test *test)
{
    struct cpt_bytes rest = parser->token.text;

    if (parser->token.kind != CPTI_TOKEN_STRING || rest.bytes == 0) {
        return expected(parser, "a frame or stack in quotes, as in path(\"A: A2\")");
    }
    for (;;) {
        const char *end = memchr(rest.data, ';', rest.bytes);
        const size_t bytes = end != NULL ? (size_t)(end - rest.data) : rest.bytes;
        struct cpti_value *value = add_value(parser);

        if (value == NULL) {
            return 0;
        }
        if (bytes == 0) {
            return expected(parser, "a frame between two ';'");
        }
        if (test->frame_count == CPTI_EXPRESSION_FRAMES_MAX) {
            return too_many(parser, "frames in a stack", CPTI_EXPRESSION_FRAMES_MAX);
        }
        test->frame_count++;
        value->is_shown = needs_shown((struct cpt_bytes){rest.data, bytes});
        if (!keep_text(parser, (struct cpt_bytes){rest.data, bytes}, 1, &value->text_at,
                       &value->text_bytes)) {
            return 0;
        }
        if (end == NULL) {
            return step(parser);
        }
        rest.data += bytes + 1;
        rest.bytes -= bytes + 1;
    }
}

/* Behind "has(" or "path(", up to the closing parenthesis. */
static int take_call(struct parser *parser, struct cpti_test *test, int is_path)
{
    const struct cpti_token *token = &parser->token;

    if (is_path) {
        test->subject = CPTI_SUBJECT_PATH;
        if (!take_frames(parser, test)) {
            return 0;
        }
    } else {
        if (token->kind != CPTI_TOKEN_WORD && token->kind != CPTI_TOKEN_STRING) {
            return expected(parser, "a key, as in has(page.carousel)");
        }
        test->relation = CPTI_RELATION_HAS;
        if (!set_key(parser, test, token->text, token->kind == CPTI_TOKEN_STRING, 0)) {
            return 0;
        }
        if (test->subject != CPTI_SUBJECT_ATTRIBUTE &&
            test->subject > CPTI_SUBJECT_STATUS &&
            test->subject != CPTI_SUBJECT_TRACE_ID) {
            return cpti_expression_wrong(parser->error, token->at,
                                         "every record has '%.40s'",
                                         cpti_quoted_bytes(token->text));
        }
        if (!step(parser)) {
            return 0;
        }
    }
    return token->kind == CPTI_TOKEN_CLOSE ? step(parser) : expected(parser, "')'");
}

/* --- Tests --- */

static int is_truth(unsigned subject)
{
    return subject >= CPTI_SUBJECT_FORCED && subject <= CPTI_SUBJECT_LOCAL_ROOT;
}

/* A subject alone: it is true, or the stack is on the path. */
static int bare_test(struct parser *parser, struct cpti_test *test)
{
    struct cpti_value *value = add_value(parser);

    if (value == NULL) {
        return 0;
    }
    test->value_count = 1;
    value->truth = 1;
    test->relation =
        (uint8_t)(test->subject == CPTI_SUBJECT_PATH ? CPTI_RELATION_GREATER
                                                     : CPTI_RELATION_EQUAL);
    return 1;
}

static int take_list(struct parser *parser, struct cpti_test *test)
{
    if (test->subject == CPTI_SUBJECT_PATH || test->subject == CPTI_SUBJECT_LATENCY ||
        test->subject == CPTI_SUBJECT_START) {
        return expected(parser, "a comparison: 'in' is for keys with few values");
    }
    if (!step(parser)) {
        return 0;
    }
    if (parser->token.kind != CPTI_TOKEN_OPEN) {
        return expected(parser, "'(' and values with commas between");
    }
    do {
        if (!step(parser) || !take_value(parser, test)) {
            return 0;
        }
    } while (parser->token.kind == CPTI_TOKEN_COMMA);
    return parser->token.kind == CPTI_TOKEN_CLOSE ? step(parser)
                                                  : expected(parser, "',' or ')'");
}

/* What stands behind the subject. */
static int take_relation(struct parser *parser, struct cpti_test *test)
{
    const struct cpti_token *token = &parser->token;
    const int has_order =
        !is_truth(test->subject) && test->subject != CPTI_SUBJECT_TRACE_ID;

    if (token->kind == CPTI_TOKEN_COMPARISON) {
        if (token->relation > CPTI_RELATION_NOT_EQUAL && !has_order) {
            return expected(parser, "'==' or '!='");
        }
        test->relation = (uint8_t)token->relation;
        return step(parser) && take_value(parser, test);
    }
    if (cpti_token_is(token, "in")) {
        test->relation = CPTI_RELATION_IN;
        return take_list(parser, test);
    }
    if (cpti_token_is(token, "not")) {
        test->relation = CPTI_RELATION_NOT_IN;
        if (!step(parser)) {
            return 0;
        }
        return cpti_token_is(token, "in") ? take_list(parser, test)
                                          : expected(parser, "'in'");
    }
    if (is_truth(test->subject) || test->subject == CPTI_SUBJECT_PATH) {
        return bare_test(parser, test);
    }
    return expected(parser, "a comparison (==, !=, <, <=, >, >=) or 'in'");
}

/* Whether the token at hand may begin a test. */
static int is_subject(const struct cpti_token *token)
{
    static const char *const words[] = {"and", "or", "in", "true", "false"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (cpti_token_is(token, words[i])) {
            return 0;
        }
    }
    return token->kind == CPTI_TOKEN_WORD ||
           (token->kind == CPTI_TOKEN_STRING && token->text.bytes != 0);
}

static int take_subject(struct parser *parser, struct cpti_test *test, int *is_done)
{
    const struct cpti_token first = parser->token;
    const int is_path = cpti_token_is(&first, "path");
    const int is_call = is_path || cpti_token_is(&first, "has");

    *is_done = 0;
    if (!is_subject(&first)) {
        return expected(parser, "a test such as arm == \"B\"");
    }
    if (!step(parser)) {
        return 0;
    }
    if (is_call && parser->token.kind == CPTI_TOKEN_OPEN) {
        *is_done = !is_path;
        return step(parser) && take_call(parser, test, is_path);
    }
    return set_key(parser, test, first.text, first.kind == CPTI_TOKEN_STRING, 0);
}

/* Makes the node of @test, which is the last one. */
static int test_node(struct parser *parser, const struct cpti_test *test,
                     uint16_t *index)
{
    struct cpti_expression *expression = parser->expression;
    struct cpti_node *node;

    if (!add_node(parser, NODE_TEST, index)) {
        return 0;
    }
    node = &expression->nodes[*index];
    node->test = (uint16_t)(expression->test_count - 1);
    node->cost = (uint8_t)(test->subject == CPTI_SUBJECT_PATH        ? COST_PATH
                           : test->subject == CPTI_SUBJECT_ATTRIBUTE ? COST_ATTRIBUTE
                                                                     : COST_FIELD);
    for (size_t i = 0; i < test->value_count; i++) {
        const size_t value = (size_t)test->value + test->frame_count + i;

        node->has_percentile |= expression->values[value].percentile >= 0;
    }
    return 1;
}

static int take_test(struct parser *parser)
{
    struct cpti_test *test = add_test(parser);
    int is_done;

    if (test == NULL || !take_subject(parser, test, &is_done) ||
        (!is_done && !take_relation(parser, test))) {
        return 0;
    }
    return test_node(parser, test, &parser->operands[parser->operand_count++]);
}

/* --- What joins them --- */

static int push_wait(struct parser *parser, unsigned kind)
{
    if (parser->wait_count == CPTI_EXPRESSION_DEPTH_MAX) {
        return too_many(parser, "levels of parentheses and operators",
                        CPTI_EXPRESSION_DEPTH_MAX);
    }
    parser->waits[parser->wait_count++] =
        (struct wait){(uint8_t)kind, parser->token.at};
    return step(parser);
}

/* Makes nodes of all that waits on top and binds at least as close as @kind. */
static int reduce(struct parser *parser, unsigned kind)
{
    while (parser->wait_count != 0 &&
           parser->waits[parser->wait_count - 1].kind <= kind) {
        const unsigned joins = parser->waits[--parser->wait_count].kind;
        const size_t count = joins == NODE_NOT ? 1 : 2;
        uint16_t node = NO_NODE;

        if (!add_node(parser, joins, &node)) {
            return 0;
        }
        parser->operand_count -= count;
        for (size_t i = 0; i < count; i++) {
            add_child(parser->expression, node,
                      parser->operands[parser->operand_count + i]);
        }
        parser->operands[parser->operand_count++] = node;
    }
    return 1;
}

/* A term with what stands before it: not, '('. */
static int take_term(struct parser *parser)
{
    for (;;) {
        if (parser->token.kind == CPTI_TOKEN_OPEN) {
            if (!push_wait(parser, WAIT_OPEN)) {
                return 0;
            }
        } else if (cpti_token_is(&parser->token, "not")) {
            if (!push_wait(parser, NODE_NOT)) {
                return 0;
            }
        } else {
            return take_test(parser);
        }
    }
}

/* The end of the text, if everything was closed. */
static int take_end(struct parser *parser)
{
    if (parser->token.kind != CPTI_TOKEN_END) {
        return expected(parser, parser->wait_count != 0 ? "'and', 'or' or ')'"
                                                        : "'and', 'or' or the end");
    }
    if (parser->wait_count != 0) {
        return cpti_expression_wrong(parser->error,
                                     parser->waits[parser->wait_count - 1].at,
                                     "the parenthesis is not closed");
    }
    return 1;
}

/* What stands behind a term: ')', then an operator or the end. */
static int take_operator(struct parser *parser, int *is_end)
{
    for (;;) {
        const int is_and = cpti_token_is(&parser->token, "and");

        if (is_and || cpti_token_is(&parser->token, "or")) {
            const unsigned kind = is_and ? NODE_AND : NODE_OR;

            return reduce(parser, kind) && push_wait(parser, kind);
        }
        if (!reduce(parser, NODE_OR)) {
            return 0;
        }
        if (parser->token.kind != CPTI_TOKEN_CLOSE || parser->wait_count == 0) {
            *is_end = 1;
            return take_end(parser);
        }
        parser->wait_count--;
        if (!step(parser)) {
            return 0;
        }
    }
}

static int parse(struct parser *parser)
{
    int is_end = 0;

    if (!step(parser)) {
        return 0;
    }
    while (!is_end) {
        if (!take_term(parser) || !take_operator(parser, &is_end)) {
            return 0;
        }
    }
    assert(parser->operand_count == 1);
    return 1;
}

/* --- The simple form --- */

int cpti_expression_is_simple(struct cpt_bytes text)
{
    const char *equals = text.bytes == 0 ? NULL : memchr(text.data, '=', text.bytes);
    const size_t key_bytes = equals == NULL ? 0 : (size_t)(equals - text.data);

    for (size_t i = 0; i < key_bytes; i++) {
        if (text.data[i] == '\0' || strchr(" \t\r\n\"'()<>!,", text.data[i]) != NULL) {
            return 0;
        }
    }
    return key_bytes != 0 &&
           !(key_bytes + 1 < text.bytes && text.data[key_bytes + 1] == '=');
}

/* What the value of KEY=VALUE is as a number: only the usual form of an integer, or one
 * with a point, is an integer's; anything that strtod() takes is a float's. */
static void read_simple_number(struct cpt_bytes text, struct cpti_value *value)
{
    char copy[64];
    char usual[32];
    char *end;

    if (text.bytes == 0 || text.bytes >= sizeof copy) {
        return;
    }
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    value->real = strtod(copy, &end);
    if (*end != '\0') {
        return;
    }
    value->number =
        strchr(copy, '.') != NULL ? CPTI_NUMBER_REAL : CPTI_NUMBER_FLOAT_ONLY;
    errno = 0;
    value->integer = strtoll(copy, NULL, 10);
    (void)snprintf(usual, sizeof usual, "%" PRId64, value->integer);
    if (errno == 0 && strcmp(usual, copy) == 0) {
        value->number = CPTI_NUMBER_INTEGER;
    }
}

static int parse_simple(struct parser *parser)
{
    const struct cpt_bytes text = parser->source;
    const char *equals = memchr(text.data, '=', text.bytes);
    const struct cpt_bytes key = {text.data, (size_t)(equals - text.data)};
    struct cpt_bytes value_text = {equals + 1, text.bytes - key.bytes - 1};
    struct cpti_test *test = add_test(parser);
    struct cpti_value *value = test == NULL ? NULL : add_value(parser);
    unsigned char id[16] = {0};

    if (value == NULL || !set_key(parser, test, key, 0, 1)) {
        return 0;
    }
    test->value_count = 1;
    value->is_simple = 1;
    value->truth = (int8_t)take_truth(value_text);
    read_simple_number(value_text, value);
    if (test->subject == CPTI_SUBJECT_TRACE_ID) {
        const size_t bytes = hex_bytes(value_text, id) ? sizeof id : 0;

        value_text = (struct cpt_bytes){(const char *)id, bytes};
    }
    return keep_text(parser, value_text, 0, &value->text_at, &value->text_bytes) &&
           test_node(parser, test, &parser->operands[parser->operand_count++]);
}

/* --- Adding --- */

/* What is added, or taken back if it is wrong. */
static int add(struct parser *parser)
{
    struct cpti_expression *expression = parser->expression;
    const int is_simple = cpti_expression_is_simple(parser->source);

    if (expression->term_count == CPTI_EXPRESSION_TERMS_MAX) {
        return too_many(parser, "terms", CPTI_EXPRESSION_TERMS_MAX);
    }
    if (is_simple ? !parse_simple(parser) : !parse(parser)) {
        return 0;
    }
    expression->terms[expression->term_count++] = parser->operands[0];
    return 1;
}

/* Of the expressions that were made, so that no two have the same. */
static _Atomic uint64_t last_number;

int cpti_expression_add(struct cpti_expression *expression, struct cpt_bytes text,
                        uint64_t now_unix_ns, struct cpti_expression_error *error)
{
    const size_t test_count = expression->test_count;
    const size_t node_count = expression->node_count;
    const size_t value_count = expression->value_count;
    const size_t percentile_count = expression->percentile_count;
    const size_t text_bytes = expression->text_bytes;
    struct parser parser = {.expression = expression,
                            .source = text,
                            .error = error,
                            .now_unix_ns = now_unix_ns};
    const int is_added = add(&parser);

    /* relaxed: it only has to be another one each time */
    expression->number =
        1 + atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed);
    if (!is_added) {
        expression->test_count = test_count;
        expression->node_count = node_count;
        expression->value_count = value_count;
        expression->percentile_count = percentile_count;
        expression->text_bytes = text_bytes;
    }
    cpti_expression_link(expression, 0);
    return is_added;
}

struct cpt_bytes cpti_expression_key(const struct cpti_expression *expression,
                                     size_t index)
{
    const struct cpti_test *test = &expression->tests[index];

    return (struct cpt_bytes){expression->texts + test->key_at, test->key_bytes};
}
