/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_view.h - one view: the requests of one or two selections, added up and compared
 *
 *      query --> cpti_web_ask --> cpti_gather --> trees, bands --> diff --> JSON
 *
 * The JSON is kept (web_cache.h), so that a view that was made once is shown again at
 * once; its trees are not, which may be a hundred times as large.
 *
 * Threads: any, each with a query of its own; a view is never changed.
 */
#ifndef CPTI_CLI_WEB_VIEW_H
#define CPTI_CLI_WEB_VIEW_H

#include "tool/web/web_cache.h"
#include "tool/web/web_query.h"
#include "tool/web/web_survey.h"

#include <stdatomic.h>

/* The parameters of a view. */
#define CPTI_WEB_VIEW_NAMES                                                            \
    "where base new entry from to by min_ns max_ns forced fragments mix stack"

/* The files to read; and when to stop. */
struct cpti_web_input {
    struct cpti_web_files files;
    const atomic_bool *is_unwanted; /* true: the result is no longer wanted */
};

/* Checks @query without reading any file. enum cpti_exit. */
int cpti_web_view_check(const struct cpti_web_query *query);

/* Reads the files and makes the view of @query, a value for the cache, which the caller
 * adds to it. enum cpti_exit. */
int cpti_web_view_new(const struct cpti_web_query *query,
                      const struct cpti_web_input *input, struct cpti_web_kept **kept);

/* The view as JSON, borrowed from @kept. */
struct cpt_bytes cpti_web_view_json(const struct cpti_web_kept *kept);

#endif
