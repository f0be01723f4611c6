/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_query.h - the query of an address, as names and values
 *
 *      where=arm%3DA&by=name  -->  where "arm=A", by "name"
 *
 * All state of a page is in its address, so that each view is a link. A query comes
 * from outside: it is bounded, and its names are checked against a list.
 *
 * Threads: any, each with a query of its own.
 */
#ifndef CPTI_CLI_WEB_QUERY_H
#define CPTI_CLI_WEB_QUERY_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stddef.h>

/* Limits: the bytes of a query as sent, and its parameters. */
enum { CPTI_WEB_QUERY_BYTES_MAX = 16384, CPTI_WEB_PARAMETERS_MAX = 32 };

struct cpti_web_parameter {
    const char *name;
    const char *value;
};

struct cpti_web_query {
    struct cpti_web_parameter
        parameters[CPTI_WEB_PARAMETERS_MAX]; /* without empty ones */
    size_t count;
    char *text; /* holds them; NULL: none */
};

/*
 * Decodes @raw ("a=b&c=d%20e"). A parameter without a value is left out, and so is the
 * token of the address (web_token.h). Any byte may come but NUL. CPTI_EXIT_DONE;
 * CPTI_EXIT_USAGE with a message that says what to do; CPTI_EXIT_FAILED without memory.
 * Deinit it in any case.
 */
int cpti_web_query_init(struct cpti_web_query *query, struct cpt_bytes raw);
void cpti_web_query_deinit(struct cpti_web_query *query);

/* The last value of @name, or NULL. */
const char *cpti_web_query_value(const struct cpti_web_query *query, const char *name);

/* Checks that each name is one of @names, separated by spaces. enum cpti_exit. */
int cpti_web_query_check(const struct cpti_web_query *query, const char *names);

/* Reads the value of @name, a whole number, into *@number, which stays without one.
 * enum cpti_exit. */
int cpti_web_query_number(const struct cpti_web_query *query, const char *name,
                          uint64_t *number);

/* Whether @name is "1"; "0" and none are false. enum cpti_exit for other values. */
int cpti_web_query_switch(const struct cpti_web_query *query, const char *name,
                          bool *is_on);

/* A text that is the same for queries that mean the same: @prefix, and the parameters
 * in the order of their names. The caller frees it; NULL without memory. */
char *cpti_web_query_key(const struct cpti_web_query *query, const char *prefix);

#endif
