/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_query.c - the query of an address, as names and values; see web_query.h */
#include "tool/web/web_query.h"

#include "tool/base/command.h"
#include "tool/base/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Decoding --- */

/* The value of a hexadecimal digit, or -1. */
static int digit_of(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Decodes @raw to @to, which has room for it and a NUL. Returns what follows the NUL;
 * NULL if an escape is wrong, or stands for NUL. */
static char *decode(struct cpt_bytes raw, char *to)
{
    for (size_t i = 0; i < raw.bytes; i++) {
        int byte = (unsigned char)raw.data[i];

        if (byte == '%') {
            const int high = i + 2 < raw.bytes ? digit_of(raw.data[i + 1]) : -1;
            const int low = i + 2 < raw.bytes ? digit_of(raw.data[i + 2]) : -1;

            byte = high < 0 || low < 0 ? 0 : high * 16 + low;
            i += 2;
        }
        if (byte == 0) {
            return NULL;
        }
        *to++ = (char)(byte == '+' && raw.data[i] == '+' ? ' ' : byte);
    }
    *to++ = '\0';
    return to;
}

/* Whether @raw is the token (web_token.h), which the server has looked at: it selects
 * nothing. */
static bool is_token(struct cpt_bytes raw)
{
    static const char name[] = "token=";

    return raw.bytes >= strlen(name) && memcmp(raw.data, name, strlen(name)) == 0;
}

/* Adds the parameter @raw ("a=b"), decoded to @to. Returns what follows it, or NULL as
 * decode(). */
static char *add_parameter(struct cpti_web_query *query, struct cpt_bytes raw, char *to)
{
    const char *equals = memchr(raw.data, '=', raw.bytes);
    const size_t name_bytes = equals != NULL ? (size_t)(equals - raw.data) : raw.bytes;
    char *value;
    char *end;

    if (equals == NULL || name_bytes + 1 == raw.bytes) {
        return to; /* no value */
    }
    value = decode((struct cpt_bytes){raw.data, name_bytes}, to);
    if (value == NULL) {
        return NULL;
    }
    end = decode((struct cpt_bytes){equals + 1, raw.bytes - name_bytes - 1}, value);
    if (end != NULL) {
        query->parameters[query->count++] = (struct cpti_web_parameter){to, value};
    }
    return end;
}

static int refuse(struct cpt_bytes raw)
{
    return cpti_usage("'%s' is no part of an address: '%%' begins two hexadecimal "
                      "digits, not 00" CPTI_HINT "write '%%' itself as '%%25'",
                      cpti_quoted_bytes((struct cpt_bytes){
                          raw.data, raw.bytes < 80 ? raw.bytes : 80}));
}

int cpti_web_query_init(struct cpti_web_query *query, struct cpt_bytes raw)
{
    char *to;

    *query = (struct cpti_web_query){0};
    if (raw.bytes > CPTI_WEB_QUERY_BYTES_MAX) {
        return cpti_usage("the query has %zu bytes, more than %d", raw.bytes,
                          CPTI_WEB_QUERY_BYTES_MAX);
    }
    /* each parameter loses '=' and '&' and gains two NULs */
    query->text = malloc(raw.bytes + 2);
    if (query->text == NULL) {
        return cpti_failed("out of memory");
    }
    to = query->text;
    while (raw.bytes != 0) {
        const char *end = memchr(raw.data, '&', raw.bytes);
        const size_t bytes = end != NULL ? (size_t)(end - raw.data) : raw.bytes;
        const struct cpt_bytes part = {raw.data, bytes};

        if (query->count == CPTI_WEB_PARAMETERS_MAX && !is_token(part)) {
            return cpti_usage("the query has more than %d parameters",
                              CPTI_WEB_PARAMETERS_MAX);
        }
        to = is_token(part) ? to : add_parameter(query, part, to);
        if (to == NULL) {
            return refuse(part);
        }
        raw.data += bytes + (end != NULL);
        raw.bytes -= bytes + (end != NULL);
    }
    return CPTI_EXIT_DONE;
}

void cpti_web_query_deinit(struct cpti_web_query *query)
{
    free(query->text);
    *query = (struct cpti_web_query){0};
}

/* --- Values --- */

const char *cpti_web_query_value(const struct cpti_web_query *query, const char *name)
{
    for (size_t i = query->count; i-- > 0;) {
        if (strcmp(query->parameters[i].name, name) == 0) {
            return query->parameters[i].value;
        }
    }
    return NULL;
}

/* Whether @name is one of @names. */
static bool is_listed(const char *name, const char *names)
{
    const size_t bytes = strlen(name);

    while (*names != '\0') {
        const size_t next = strcspn(names, " ");

        if (next == bytes && memcmp(names, name, bytes) == 0) {
            return true;
        }
        names += next;
        names += strspn(names, " ");
    }
    return false;
}

int cpti_web_query_check(const struct cpti_web_query *query, const char *names)
{
    for (size_t i = 0; i < query->count; i++) {
        if (!is_listed(query->parameters[i].name, names)) {
            return cpti_usage("unknown parameter '%s'; these are known: %s",
                              cpti_quoted(query->parameters[i].name), names);
        }
    }
    return CPTI_EXIT_DONE;
}

int cpti_web_query_number(const struct cpti_web_query *query, const char *name,
                          uint64_t *number)
{
    const char *text = cpti_web_query_value(query, name);
    uint64_t made = 0;

    if (text == NULL) {
        return CPTI_EXIT_DONE;
    }
    for (const char *at = text; *at != '\0' || at == text; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');

        if (*at < '0' || *at > '9' || made > (UINT64_MAX - digit) / 10) {
            return cpti_usage("parameter '%s' takes a whole number, not '%s'", name,
                              cpti_quoted(text));
        }
        made = made * 10 + digit;
    }
    *number = made;
    return CPTI_EXIT_DONE;
}

int cpti_web_query_switch(const struct cpti_web_query *query, const char *name,
                          bool *is_on)
{
    const char *text = cpti_web_query_value(query, name);

    *is_on = text != NULL && strcmp(text, "1") == 0;
    return text == NULL || *is_on || strcmp(text, "0") == 0
               ? CPTI_EXIT_DONE
               : cpti_usage("parameter '%s' takes 0 or 1, not '%s'", name,
                            cpti_quoted(text));
}

/* --- The key --- */

static int compare(const void *left, const void *right)
{
    const struct cpti_web_parameter *const *one = left;
    const struct cpti_web_parameter *const *other = right;
    const int order = strcmp((*one)->name, (*other)->name);

    /* of the same name in the order given, which may matter */
    return order != 0 ? order : (*one > *other) - (*one < *other);
}

char *cpti_web_query_key(const struct cpti_web_query *query, const char *prefix)
{
    const struct cpti_web_parameter *sorted[CPTI_WEB_PARAMETERS_MAX];
    size_t bytes = strlen(prefix) + 1;
    char *key;
    char *to;

    for (size_t i = 0; i < query->count; i++) {
        sorted[i] = &query->parameters[i];
        bytes += strlen(sorted[i]->name) + strlen(sorted[i]->value) + 32;
    }
    qsort(sorted, query->count, sizeof(const struct cpti_web_parameter *), compare);
    key = malloc(bytes);
    if (key == NULL) {
        return NULL;
    }
    to = stpcpy(key, prefix);
    for (size_t i = 0; i < query->count; i++) {
        /* the length tells apart what else could be read in two ways */
        to += snprintf(to, bytes - (size_t)(to - key), "%s=%zu:%s;", sorted[i]->name,
                       strlen(sorted[i]->value), sorted[i]->value);
    }
    return key;
}
