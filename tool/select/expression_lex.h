/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * expression_lex.h - the tokens of the language of --where
 *
 *      arm    ==         "B"      and    latency    >          20ms
 *      word   operator   string   word   word       operator   number
 *
 * A number begins with a digit, a minus before a digit, or '@': 20, -1.5e3, 20ms,
 * 2026-01-31T12:00:00Z. The parser gives it a meaning, as it depends on the subject.
 */
#ifndef CPTI_CLI_EXPRESSION_LEX_H
#define CPTI_CLI_EXPRESSION_LEX_H

#include "tool/select/expression.h"

enum cpti_token_kind {
    CPTI_TOKEN_END,
    CPTI_TOKEN_WORD,
    CPTI_TOKEN_NUMBER,
    CPTI_TOKEN_STRING, /* its text is what stands between the quotes, with escapes */
    CPTI_TOKEN_OPEN,
    CPTI_TOKEN_CLOSE,
    CPTI_TOKEN_COMMA,
    CPTI_TOKEN_COMPARISON /* ==, !=, <, <=, >, >= */
};

struct cpti_token {
    enum cpti_token_kind kind;
    struct cpt_bytes text; /* into the source */
    size_t at;             /* its first byte in the source, or the opening quote */
    unsigned relation;     /* enum cpti_comparison, of a comparison */
};

/* Reads the next token from byte *@at of @source and moves *@at past it. False with
 * @error. */
bool cpti_token_next(struct cpt_bytes source, size_t *at, struct cpti_token *token,
                     struct cpti_expression_error *error);

/* Whether @token is the word @word. */
bool cpti_token_is(const struct cpti_token *token, const char *word);

/* Fills in @error with what is wrong at byte @at. Returns false. */
bool cpti_expression_fail(struct cpti_expression_error *error, size_t at,
                          const char *format, ...) CPT_PRINTF(3, 4);

/* Reads a number: an integer if it fits, else a double. False if @text is not a
 * number. */
bool cpti_lex_number(struct cpt_bytes text, struct cpti_value *value);

/* Reads "1.5s" as whole nanoseconds. Returns NULL, or what is wrong, after "the
 * duration '1.5s'". */
const char *cpti_lex_duration(struct cpt_bytes text, uint64_t *ns);

/* Reads "p99.9" in millionths of a percent. False if @text is not a percentile. */
bool cpti_lex_percentile(struct cpt_bytes text, uint64_t *share);

#endif
