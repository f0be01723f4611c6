/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_ask.h - the selections that a query asks for, made as by the command line
 *
 *      where=region==eu & from=15m & min_ns=1000000
 *              |              |            |
 *      --where region==eu --since 15m --where 'latency >= 1000000ns'
 *
 * So the same text means the same in both, and has the same errors.
 */
#ifndef CPTI_CLI_WEB_ASK_H
#define CPTI_CLI_WEB_ASK_H

#include "tool/gather/gather.h"
#include "tool/web/web_query.h"

/* The parameters of a selection, for cpti_web_query_check(). */
#define CPTI_WEB_ASK_NAMES                                                             \
    "where base new entry from to min_ns max_ns forced fragments stack"

enum { CPTI_WEB_SIDES_MAX = 2 };

/* One or two selections. About 120 KiB. Not to be moved. */
struct cpti_web_ask {
    struct cpti_selection selections[CPTI_WEB_SIDES_MAX];
    struct cpti_gather gathers[CPTI_WEB_SIDES_MAX];
    size_t side_count;
    char *range; /* texts of terms that are made here */
    char *stack;
};

/*
 * Makes the selections of @query, which must live as long: one, or two if it has base
 * and new. enum cpti_exit. Deinit it in any case; the trees of its gathers are freed
 * by cpt_tree_free() of the caller.
 */
int cpti_web_ask_init(struct cpti_web_ask *ask, const struct cpti_web_query *query);
void cpti_web_ask_deinit(struct cpti_web_ask *ask);

#endif
