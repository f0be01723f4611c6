/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_view.h - one view: the requests of one or two selections, added up and compared
 *
 *      query --> cpti_web_ask --> cpti_gather --> trees, bands --> diff --> JSON
 *
 * The trees are what takes time; they are kept (web_cache.h), so that a view that was
 * made once is shown again at once.
 *
 * Threads: one makes a view; any, one at a time for each view, write it.
 */
#ifndef CPTI_CLI_WEB_VIEW_H
#define CPTI_CLI_WEB_VIEW_H

#include "cpt/cli/web/web_cache.h"
#include "cpt/cli/web/web_query.h"
#include "cpt/cli/web/web_survey.h"

#include <stdatomic.h>
#include <stdio.h>

/* The parameters of a view. */
#define CPTI_WEB_VIEW_NAMES                                                            \
    "where base new entry from to by min_ns max_ns forced mix stack"

struct cpti_web_view;

/* The files to read; and when to stop. */
struct cpti_web_input {
    struct cpti_web_files files;
    const atomic_bool *is_unwanted; /* true: the result is no longer wanted */
};

/* Checks @query without reading any file. enum cpti_exit. */
int cpti_web_view_check(const struct cpti_web_query *query);

/* Reads the files and makes the view of @query. enum cpti_exit. */
int cpti_web_view_new(const struct cpti_web_query *query,
                      const struct cpti_web_input *input, struct cpti_web_view **view);

/* The view as a value of a cache; it is freed when the last holder releases it. */
struct cpti_web_kept *cpti_web_view_kept(struct cpti_web_view *view);
struct cpti_web_view *cpti_web_view_of(struct cpti_web_kept *kept);

/* Frees a view that was never kept. */
void cpti_web_view_free(struct cpti_web_view *view);

/* Writes the view as JSON. enum cpti_exit. */
int cpti_web_view_write(struct cpti_web_view *view, FILE *file);

#endif
