/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* rule_parse.c - from the text of rules to rules; the grammar stands in rule.h */
#include "tool/assert/rule.h"

#include "tool/base/names.h"
#include "tool/base/output.h"
#include "tool/select/expression_lex.h"

#include <string.h>

struct parser {
    struct cpti_rules *rules;
    struct cpti_expression_error *error;
    struct cpt_bytes source;
    size_t at;     /* behind the current token */
    size_t end_at; /* of the token before */
    struct cpti_token token;
};

static bool step(struct parser *parser)
{
    parser->end_at = parser->at;
    return cpti_token_next(parser->source, &parser->at, &parser->token, parser->error);
}

/* Fails: @what stands in the place of the token. */
static bool expected(struct parser *parser, const char *what)
{
    static const char *const words[] = {"no",    "some", "every",  "at",    "most",
                                        "least", "span", "before", "under", "directly",
                                        "on",    "path", "and"};
    const struct cpti_token *token = &parser->token;
    char word[32];
    const char *nearest = NULL;

    if (token->kind == CPTI_TOKEN_END) {
        return cpti_expression_fail(parser->error, token->at,
                                    "found the end, expected %s", what);
    }
    if (token->kind == CPTI_TOKEN_WORD && token->text.bytes < sizeof word) {
        memcpy(word, token->text.data, token->text.bytes);
        word[token->text.bytes] = '\0';
        nearest = cpti_nearest_word(word, words, sizeof words / sizeof words[0]);
    }
    return cpti_expression_fail(
        parser->error, token->at, "found %s%.40s%s, expected %s%s%s%s",
        token->kind == CPTI_TOKEN_STRING ? "" : "'",
        token->kind == CPTI_TOKEN_STRING ? "a text in quotes"
                                         : cpti_quoted_bytes(token->text),
        token->kind == CPTI_TOKEN_STRING ? "" : "'", what,
        nearest != NULL && strcmp(nearest, word) != 0 ? "; did you mean '" : "",
        nearest != NULL && strcmp(nearest, word) != 0 ? nearest : "",
        nearest != NULL && strcmp(nearest, word) != 0 ? "'?" : "");
}

/* Takes @word if it comes next. */
static bool take(struct parser *parser, const char *word, bool *is_taken)
{
    *is_taken = cpti_token_is(&parser->token, word);
    return !*is_taken || step(parser);
}

static bool must_take(struct parser *parser, const char *word, const char *what)
{
    bool is_taken;

    return take(parser, word, &is_taken) && (is_taken || expected(parser, what));
}

static bool take_kind(struct parser *parser, enum cpti_token_kind kind,
                      const char *what)
{
    return parser->token.kind == kind ? step(parser) : expected(parser, what);
}

/* Copies the text of the token, without its escapes, as a pattern. */
static bool add_pattern(struct parser *parser, struct cpti_rule_pattern *pattern)
{
    struct cpti_rules *rules = parser->rules;
    const struct cpt_bytes text = parser->token.text;
    const size_t start = rules->text_bytes;

    if (text.bytes == 0) {
        return cpti_expression_fail(parser->error, parser->token.at,
                                    "an empty pattern is like no span; \"*\" is like "
                                    "all");
    }
    if (text.bytes > CPTI_RULE_PATTERN_BYTES_MAX) {
        return cpti_expression_fail(parser->error, parser->token.at,
                                    "the pattern is longer than %d bytes",
                                    CPTI_RULE_PATTERN_BYTES_MAX);
    }
    if (text.bytes > sizeof rules->texts - start) {
        return cpti_expression_fail(parser->error, parser->token.at,
                                    "the patterns are longer than %d bytes",
                                    CPTI_RULES_BYTES_MAX);
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == '\\' && i + 1 < text.bytes && text.data[i + 1] != '\0' &&
            strchr("\"'\\", text.data[i + 1]) != NULL) {
            i++;
        }
        rules->texts[rules->text_bytes++] = text.data[i];
    }
    pattern->text = (struct cpt_bytes){rules->texts + start, rules->text_bytes - start};
    return true;
}

static bool take_spans(struct parser *parser, struct cpti_rule_pattern *pattern)
{
    static const char how[] = "a pattern in quotes, such as \"cart: *\"";

    return must_take(parser, "span", "span(\"…\")") &&
           take_kind(parser, CPTI_TOKEN_OPEN, "'('") &&
           (parser->token.kind == CPTI_TOKEN_STRING || expected(parser, how)) &&
           add_pattern(parser, pattern) && step(parser) &&
           take_kind(parser, CPTI_TOKEN_CLOSE, "')'");
}

/* "at" was taken. */
static bool take_number(struct parser *parser, struct cpti_rule *rule)
{
    struct cpti_value value = {0};
    bool is_most;
    bool is_least = false;

    if (!take(parser, "most", &is_most) ||
        (!is_most && !take(parser, "least", &is_least))) {
        return false;
    }
    if (!is_most && !is_least) {
        return expected(parser, "'most' or 'least'");
    }
    if (parser->token.kind != CPTI_TOKEN_NUMBER ||
        !cpti_lex_number(parser->token.text, &value) ||
        value.number != CPTI_NUMBER_INTEGER || value.integer < 0 ||
        value.integer > CPTI_RULE_NUMBER_MAX) {
        return expected(parser, "a whole number");
    }
    if (is_most) {
        rule->most = (uint32_t)value.integer;
    } else {
        rule->least = (uint32_t)value.integer;
    }
    return step(parser);
}

static bool take_where(struct parser *parser, struct cpti_rule *rule)
{
    bool is_taken;

    if (!take(parser, "directly", &rule->is_direct) ||
        !take(parser, "under", &is_taken)) {
        return false;
    }
    if (rule->is_direct && !is_taken) {
        return expected(parser, "'under'");
    }
    if ((is_taken && !take_spans(parser, &rule->under)) ||
        !take(parser, "on", &rule->is_on_path)) {
        return false;
    }
    if (rule->is_on_path &&
        (!take(parser, "the", &is_taken) || !must_take(parser, "path", "'path'"))) {
        return false;
    }
    if (rule->kind == CPTI_RULE_EVERY && rule->under.text.bytes == 0 &&
        !rule->is_on_path) {
        return expected(parser, "'under' or 'on the path', which every span must be");
    }
    return true;
}

static bool take_rule(struct parser *parser, struct cpti_rule *rule)
{
    bool is_taken;

    rule->most = UINT32_MAX;
    if (cpti_token_is(&parser->token, "span")) {
        rule->kind = CPTI_RULE_BEFORE;
        return take_spans(parser, &rule->what) &&
               must_take(parser, "before", "'before'") &&
               take_spans(parser, &rule->under);
    }
    if (!take(parser, "at", &is_taken)) {
        return false;
    }
    if (is_taken) {
        return take_number(parser, rule) && take_spans(parser, &rule->what) &&
               take_where(parser, rule);
    }
    if (cpti_token_is(&parser->token, "no")) {
        rule->most = 0;
    } else if (cpti_token_is(&parser->token, "some")) {
        rule->least = 1;
    } else if (cpti_token_is(&parser->token, "every")) {
        rule->kind = CPTI_RULE_EVERY;
    } else {
        return expected(parser, "no, some, every, at most, at least or span(\"…\")");
    }
    return step(parser) && take_spans(parser, &rule->what) && take_where(parser, rule);
}

static bool take_rules(struct parser *parser)
{
    bool has_more = true;

    while (has_more) {
        struct cpti_rules *rules = parser->rules;
        struct cpti_rule *rule = &rules->rules[rules->count];
        const size_t start = parser->token.at;

        if (rules->count == CPTI_RULES_MAX) {
            return cpti_expression_fail(parser->error, start,
                                        "there are more than %d rules", CPTI_RULES_MAX);
        }
        *rule = (struct cpti_rule){.kind = CPTI_RULE_COUNT};
        if (!take_rule(parser, rule)) {
            return false;
        }
        rule->text =
            (struct cpt_bytes){parser->source.data + start, parser->end_at - start};
        rules->count++;
        if (!take(parser, "and", &has_more)) {
            return false;
        }
    }
    return parser->token.kind == CPTI_TOKEN_END ||
           expected(parser, "'and' or the end of the rules");
}

bool cpti_rules_parse(struct cpti_rules *rules, struct cpt_bytes text,
                      struct cpti_expression_error *error)
{
    struct parser parser = {.rules = rules, .error = error, .source = text};

    rules->count = 0;
    rules->text_bytes = 0;
    if (step(&parser) && take_rules(&parser)) {
        return true;
    }
    rules->count = 0;
    return false;
}
