/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* expression_lex.c - the tokens of the language of --where; see expression_lex.h */
#include "tool/select/expression_lex.h"

#include "tool/base/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The longest number that is read; no useful one has more digits. */
enum { NUMBER_BYTES_MAX = 63 };

bool cpti_expression_fail(struct cpti_expression_error *error, size_t at,
                          const char *format, ...)
{
    va_list arguments;

    error->at = at;
    va_start(arguments, format);
    (void)vsnprintf(error->sentence, sizeof error->sentence, format, arguments);
    va_end(arguments);
    return false;
}

bool cpti_token_is(const struct cpti_token *token, const char *word)
{
    return token->kind == CPTI_TOKEN_WORD &&
           cpt_bytes_equal(token->text, cpt_bytes_of(word));
}

/* --- Characters, whatever the locale is --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Inside of a key such as page.carousel, user-agent, k8s.io/pod. */
static bool is_inside_word(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr(".-:/@", c) != NULL);
}

/* Inside of 2026-01-31T12:00:00+01:00, 1e+5, 1.5s. */
static bool is_inside_number(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr(".-:+", c) != NULL);
}

/* --- Tokens --- */

static bool take_string(struct cpt_bytes source, size_t *at, struct cpti_token *token,
                        struct cpti_expression_error *error)
{
    const char quote = source.data[*at];
    size_t end = *at + 1;

    while (end < source.bytes && source.data[end] != quote) {
        end += source.data[end] == '\\' ? 2 : 1;
    }
    if (end >= source.bytes) {
        return cpti_expression_fail(error, *at, "the quote %c is not closed", quote);
    }
    token->kind = CPTI_TOKEN_STRING;
    token->text = (struct cpt_bytes){source.data + *at + 1, end - *at - 1};
    *at = end + 1;
    return true;
}

/* Takes an operator. Operators of other languages get an error that names ours. */
static bool take_operator(struct cpt_bytes source, size_t *at, struct cpti_token *token,
                          struct cpti_expression_error *error)
{
    static const struct {
        const char *text;
        enum cpti_token_kind kind;
        unsigned relation;
        const char *instead;
    } operators[] = {
        {"==", CPTI_TOKEN_COMPARISON, CPTI_RELATION_EQUAL, NULL},
        {"!=", CPTI_TOKEN_COMPARISON, CPTI_RELATION_NOT_EQUAL, NULL},
        {"<=", CPTI_TOKEN_COMPARISON, CPTI_RELATION_AT_MOST, NULL},
        {">=", CPTI_TOKEN_COMPARISON, CPTI_RELATION_AT_LEAST, NULL},
        {"<>", CPTI_TOKEN_END, 0, "!="},
        {"&&", CPTI_TOKEN_END, 0, "and"},
        {"||", CPTI_TOKEN_END, 0, "or"},
        {"=~", CPTI_TOKEN_END, 0, "=="},
        {"<", CPTI_TOKEN_COMPARISON, CPTI_RELATION_LESS, NULL},
        {">", CPTI_TOKEN_COMPARISON, CPTI_RELATION_GREATER, NULL},
        {"=", CPTI_TOKEN_END, 0, "=="},
        {"!", CPTI_TOKEN_END, 0, "not"},
        {"(", CPTI_TOKEN_OPEN, 0, NULL},
        {")", CPTI_TOKEN_CLOSE, 0, NULL},
        {",", CPTI_TOKEN_COMMA, 0, NULL},
    };

    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        const size_t bytes = strlen(operators[i].text);

        if (bytes > source.bytes - *at ||
            memcmp(source.data + *at, operators[i].text, bytes) != 0) {
            continue;
        }
        if (operators[i].instead != NULL) {
            return cpti_expression_fail(error, *at,
                                        "found '%s' where the language has '%s'",
                                        operators[i].text, operators[i].instead);
        }
        token->kind = operators[i].kind;
        token->relation = operators[i].relation;
        token->text = (struct cpt_bytes){source.data + *at, bytes};
        *at += bytes;
        return true;
    }
    return cpti_expression_fail(
        error, *at, "found '%s', which begins no test or value; quote texts",
        cpti_quoted_bytes((struct cpt_bytes){source.data + *at, 1}));
}

bool cpti_token_next(struct cpt_bytes source, size_t *at, struct cpti_token *token,
                     struct cpti_expression_error *error)
{
    size_t end;
    char c;

    while (*at < source.bytes && strchr(" \t\r\n", source.data[*at]) != NULL &&
           source.data[*at] != '\0') {
        (*at)++;
    }
    *token = (struct cpti_token){.kind = CPTI_TOKEN_END, .at = *at};
    if (*at >= source.bytes) {
        return true;
    }
    c = source.data[*at];
    if (c == '"' || c == '\'') {
        return take_string(source, at, token, error);
    }
    end = *at + 1;
    if (is_letter(c)) {
        token->kind = CPTI_TOKEN_WORD;
        while (end < source.bytes && is_inside_word(source.data[end])) {
            end++;
        }
    } else if (is_digit(c) || c == '@' ||
               (c == '-' && end < source.bytes && is_digit(source.data[end]))) {
        token->kind = CPTI_TOKEN_NUMBER;
        while (end < source.bytes && is_inside_number(source.data[end])) {
            end++;
        }
    } else {
        return take_operator(source, at, token, error);
    }
    token->text = (struct cpt_bytes){source.data + *at, end - *at};
    *at = end;
    return true;
}

/* --- Numbers --- */

/* Whether @text is like -12, 1.5 or 1e-3; strtod() takes more. */
static bool looks_like_number(const char *text, bool *is_integer)
{
    const char *at = text + (*text == '-');
    const char *digits = at;

    *is_integer = true;
    while (is_digit(*at)) {
        at++;
    }
    if (at == digits) {
        return false;
    }
    if (*at == '.') {
        *is_integer = false;
        digits = ++at;
        while (is_digit(*at)) {
            at++;
        }
        if (at == digits) {
            return false;
        }
    }
    if (*at == 'e' || *at == 'E') {
        *is_integer = false;
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        digits = at;
        while (is_digit(*at)) {
            at++;
        }
        return at != digits && *at == '\0';
    }
    return *at == '\0';
}

bool cpti_lex_number(struct cpt_bytes text, struct cpti_value *value)
{
    char copy[NUMBER_BYTES_MAX + 1];
    bool is_integer;

    if (text.bytes == 0 || text.bytes > NUMBER_BYTES_MAX) {
        return false;
    }
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    if (strlen(copy) != text.bytes || !looks_like_number(copy, &is_integer)) {
        return false;
    }
    value->real = strtod(copy, NULL);
    value->number = CPTI_NUMBER_REAL;
    if (is_integer) {
        errno = 0;
        value->integer = strtoll(copy, NULL, 10);
        if (errno == 0) {
            value->number = CPTI_NUMBER_INTEGER;
        }
    }
    return true;
}

/* Reads decimal digits, at most @places of them after the point, as a number of units
 * of 10^-@places, and moves past them. False if there are none or the number is too
 * large. */
static bool take_decimal(struct cpt_bytes *text, unsigned places, uint64_t *number)
{
    uint64_t sum = 0;
    unsigned behind = 0;
    size_t i = 0;
    bool has_point = false;

    for (; i < text->bytes; i++) {
        const char c = text->data[i];

        if (c == '.' && !has_point && i != 0) {
            has_point = true;
            continue;
        }
        if (!is_digit(c)) {
            break;
        }
        if (sum > ((uint64_t)INT64_MAX - (uint64_t)(c - '0')) / 10 ||
            (has_point && behind == places)) {
            return false;
        }
        sum = sum * 10 + (uint64_t)(c - '0');
        behind += (unsigned)has_point;
    }
    if (i == 0 || text->data[i - 1] == '.') {
        return false;
    }
    for (; behind < places; behind++) {
        if (sum > UINT64_MAX / 20) {
            return false;
        }
        sum *= 10;
    }
    text->data += i;
    text->bytes -= i;
    *number = sum;
    return true;
}

const char *cpti_lex_duration(struct cpt_bytes text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        unsigned places; /* after the point, for whole nanoseconds */
        uint64_t factor; /* of 10^places ns */
    } units[] = {
        {"ns", 0, 1}, {"us", 3, 1}, {"\u00b5s", 3, 1}, {"\u03bcs", 3, 1}, {"ms", 6, 1},
        {"s", 9, 1},  {"m", 9, 60}, {"h", 9, 3600},    {"d", 9, 86400},
    };
    struct cpt_bytes unit = text;

    while (unit.bytes != 0 && (is_digit(*unit.data) || *unit.data == '.')) {
        unit.data++;
        unit.bytes--;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!cpt_bytes_equal(unit, cpt_bytes_of(units[i].unit))) {
            continue;
        }
        if (!take_decimal(&text, units[i].places, ns) || text.bytes != unit.bytes ||
            *ns > (uint64_t)INT64_MAX / units[i].factor) {
            return "is too long or too fine: whole nanoseconds below 2^63 are counted";
        }
        *ns *= units[i].factor;
        return NULL;
    }
    return unit.bytes == 0 ? "has no unit: ns, us, ms, s, m, h or d"
                           : "is not a duration such as 20ms or 1.5s";
}

bool cpti_lex_percentile(struct cpt_bytes text, uint64_t *share)
{
    if (text.bytes < 2 || text.data[0] != 'p') {
        return false;
    }
    text.data++;
    text.bytes--;
    return take_decimal(&text, 6, share) && text.bytes == 0 &&
           *share <= UINT64_C(100000000);
}
