/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_lex.h - the words of the language of --where
 *
 *      arm == "B" and latency > 20ms         word operator string word word operator
 * number
 *
 * A number is everything that begins with a digit, a minus before a digit, or '@', up
 * to what cannot belong to it: 20, -1.5e3, 20ms, 2026-01-31T12:00:00Z. What it means is
 * for the parser to say, who knows what it is compared with.
 */
#ifndef CPTI_CLI_EXPRESSION_LEX_H
#define CPTI_CLI_EXPRESSION_LEX_H

#include "cpt/cli/select/expression.h"

enum cpti_token_kind {
    CPTI_TOKEN_END,
    CPTI_TOKEN_WORD,
    CPTI_TOKEN_NUMBER,
    CPTI_TOKEN_STRING, /* its text is that between the quotes, as it stands */
    CPTI_TOKEN_OPEN,
    CPTI_TOKEN_CLOSE,
    CPTI_TOKEN_COMMA,
    CPTI_TOKEN_COMPARISON /* ==, !=, <, <=, >, >= */
};

struct cpti_token {
    enum cpti_token_kind kind;
    struct cpt_bytes text; /* into the source */
    size_t at;             /* where it begins, quotes included */
    unsigned relation;     /* enum cpti_relation, of a comparison */
};

/* The next token from byte *@at of @source, which moves behind it. 1, or 0 with
 * @error. */
int cpti_token_next(struct cpt_bytes source, size_t *at, struct cpti_token *token,
                    struct cpti_expression_error *error);

/* Whether @token is the word @word. */
int cpti_token_is(const struct cpti_token *token, const char *word);

/* Notes what is wrong at byte @at. 0. */
int cpti_expression_wrong(struct cpti_expression_error *error, size_t at,
                          const char *format, ...) CPT_PRINTF(3, 4);

/* A number: an integer that fits, else a double. 0 if @text is none. */
int cpti_lex_number(struct cpt_bytes text, struct cpti_value *value);

/* "1.5s" in whole nanoseconds. NULL, or what is wrong with it. */
const char *cpti_lex_duration(struct cpt_bytes text, uint64_t *ns);

/* "p99.9" in millionths of a percent. 0 if @text is none. */
int cpti_lex_percentile(struct cpt_bytes text, uint64_t *share);

#endif
