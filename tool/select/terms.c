/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* terms.c - the terms of a selection as text; see terms.h */
#include "tool/select/terms.h"

#include <stdbool.h>
#include <string.h>

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void add(struct cpti_terms *terms, const char *from, const char *to)
{
    while (from < to && is_space(*from)) {
        from++;
    }
    while (from < to && is_space(to[-1])) {
        to--;
    }
    if (terms->count < CPTI_TERMS_MAX && from < to) {
        terms->terms[terms->count++] = (struct cpt_bytes){from, (size_t)(to - from)};
    }
}

/* Whether "and" between blanks begins at @at. */
static bool is_and(const char *at, const char *end)
{
    return end - at > 5 && is_space(at[0]) && memcmp(at + 1, "and", 3) == 0 &&
           is_space(at[4]);
}

void cpti_terms_add(struct cpti_terms *terms, struct cpt_bytes text)
{
    const char *const end = text.data + text.bytes;
    const char *from = text.data;
    char quote = '\0';
    int depth = 0;

    for (const char *at = from; at < end; at++) {
        if (quote != '\0') {
            if (*at == '\\' && at + 1 < end) {
                at++;
            } else if (*at == quote) {
                quote = '\0';
            }
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '(' || *at == ')') {
            depth += *at == '(' ? 1 : -1;
        } else if (depth == 0 && is_and(at, end)) {
            add(terms, from, at);
            from = at + 5;
            at += 3;
        }
    }
    add(terms, from, end);
}
