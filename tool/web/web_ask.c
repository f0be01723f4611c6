/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* web_ask.c - the selections that a query asks for; see web_ask.h */
#include "tool/web/web_ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The most arguments: each parameter becomes one at most. */
enum { RANGE_BYTES = 96 };

static const struct cpti_option option_where = {.name = "where", .value = "EXPR"};
static const struct cpti_option option_since = {.name = "since", .value = "TIME"};
static const struct cpti_option option_until = {.name = "until", .value = "TIME"};
static const struct cpti_option option_entry = {.name = "entry", .value = "SERVICE"};

static const struct {
    const char *parameter;
    const struct cpti_option *option;
} pairs[] = {
    {"where", &option_where},
    {"from", &option_since},
    {"to", &option_until},
    {"entry", &option_entry},
};

/* Parameters that are 1 or 0. */
static const struct {
    const char *parameter;
    struct cpti_option option;
} switches[] = {
    {"forced", {.name = "include-forced"}},
    {"fragments", {.name = "include-fragments"}},
};

/* Reads the options of all sides as the command line does. */
static int read_options(struct cpti_selection *selection,
                        const struct cpti_web_query *query)
{
    enum { SWITCHES = sizeof switches / sizeof *switches };
    struct cpti_argument options[CPTI_WEB_PARAMETERS_MAX + SWITCHES];
    struct cpti_arguments arguments = {.options = options};
    int status = CPTI_EXIT_DONE;

    for (size_t i = 0; i < query->count; i++) {
        for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
            if (strcmp(query->parameters[i].name, pairs[k].parameter) == 0) {
                options[arguments.option_count++] =
                    (struct cpti_argument){pairs[k].option, query->parameters[i].value};
            }
        }
    }
    for (size_t i = 0; i < SWITCHES && status == CPTI_EXIT_DONE; i++) {
        bool is_on = false;

        status = cpti_web_query_switch(query, switches[i].parameter, &is_on);
        if (is_on) {
            options[arguments.option_count++] =
                (struct cpti_argument){&switches[i].option, NULL};
        }
    }
    return status == CPTI_EXIT_DONE ? cpti_selection_init(selection, &arguments)
                                    : status;
}

/* Reads the latency @name. enum cpti_exit. */
static int read_ns(const struct cpti_web_query *query, const char *name, uint64_t *ns)
{
    const int status = cpti_web_query_number(query, name, ns);

    return status == CPTI_EXIT_DONE && *ns > INT64_MAX &&
                   cpti_web_query_value(query, name) != NULL
               ? cpti_usage("parameter '%s' is at most %" PRId64, name, INT64_MAX)
               : status;
}

/* Adds the range of latencies, both ends inclusive. */
static int add_range(struct cpti_web_ask *ask, const struct cpti_web_query *query)
{
    uint64_t min_ns = 0;
    uint64_t max_ns = UINT64_MAX;
    int status = read_ns(query, "min_ns", &min_ns);

    status = CPTI_THEN(status, read_ns(query, "max_ns", &max_ns));
    if (status != CPTI_EXIT_DONE || (min_ns == 0 && max_ns == UINT64_MAX)) {
        return status;
    }
    if (min_ns > max_ns) {
        return cpti_usage("min_ns is more than max_ns: no latency is in that range");
    }
    ask->range = malloc(RANGE_BYTES);
    if (ask->range == NULL) {
        return cpti_failed("out of memory");
    }
    if (max_ns == UINT64_MAX) {
        (void)snprintf(ask->range, RANGE_BYTES, "latency >= %" PRIu64 "ns", min_ns);
    } else {
        (void)snprintf(ask->range, RANGE_BYTES,
                       "latency >= %" PRIu64 "ns and latency <= %" PRIu64 "ns", min_ns,
                       max_ns);
    }
    return cpti_selection_add(&ask->selections[0], "min_ns", ask->range);
}

/* Adds that the request has the stack on its path. */
static int add_stack(struct cpti_web_ask *ask, const struct cpti_web_query *query)
{
    const char *stack = cpti_web_query_value(query, "stack");
    char *to;

    if (stack == NULL) {
        return CPTI_EXIT_DONE;
    }
    ask->stack = malloc(2 * strlen(stack) + sizeof "path(\"\")");
    if (ask->stack == NULL) {
        return cpti_failed("out of memory");
    }
    to = stpcpy(ask->stack, "path(\"");
    for (; *stack != '\0'; stack++) {
        if (*stack == '"' || *stack == '\\') {
            *to++ = '\\';
        }
        *to++ = *stack;
    }
    memcpy(to, "\")", sizeof "\")");
    return cpti_selection_add(&ask->selections[0], "stack", ask->stack);
}

/* Adds base and new, if they are there. */
static int add_sides(struct cpti_web_ask *ask, const struct cpti_web_query *query)
{
    static const char *const names[CPTI_WEB_SIDES_MAX] = {"base", "new"};
    int status = CPTI_EXIT_DONE;

    if (cpti_web_query_value(query, "base") == NULL &&
        cpti_web_query_value(query, "new") == NULL) {
        return CPTI_EXIT_DONE;
    }
    ask->side_count = CPTI_WEB_SIDES_MAX;
    ask->selections[1] = ask->selections[0];
    for (size_t i = 0; i < CPTI_WEB_SIDES_MAX && status == CPTI_EXIT_DONE; i++) {
        const char *expression = cpti_web_query_value(query, names[i]);

        if (expression == NULL) {
            return cpti_usage("base and new are given together: '%s' is missing",
                              names[i]);
        }
        ask->gathers[i].what = names[i];
        ask->gathers[i].selection = &ask->selections[i];
        status = cpti_selection_add(&ask->selections[i], names[i], expression);
    }
    return status;
}

int cpti_web_ask_init(struct cpti_web_ask *ask, const struct cpti_web_query *query)
{
    int status;

    memset(ask, 0, sizeof *ask);
    ask->side_count = 1;
    ask->gathers[0].selection = &ask->selections[0];
    status = read_options(&ask->selections[0], query);
    status = CPTI_THEN(status, add_range(ask, query));
    status = CPTI_THEN(status, add_stack(ask, query));
    return status == CPTI_EXIT_DONE ? add_sides(ask, query) : status;
}

void cpti_web_ask_deinit(struct cpti_web_ask *ask)
{
    for (size_t i = 0; i < CPTI_WEB_SIDES_MAX; i++) {
        cpti_selection_deinit(&ask->selections[i]);
    }
    free(ask->range);
    free(ask->stack);
    ask->range = NULL;
    ask->stack = NULL;
}
