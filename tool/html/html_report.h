/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * html_report.h - cpt report --html, cpt diff --html: the result as one file for a
 * browser
 */
#ifndef CPTI_CLI_HTML_REPORT_H
#define CPTI_CLI_HTML_REPORT_H

#include "tool/folds/views.h"

struct cpti_arguments;
struct cpti_html_keep;

/* Reads the operands and writes the file that --html names; --base and --new make it
 * compare two selections. enum cpti_exit. */
int cpti_html_report(const struct cpti_arguments *arguments);

/* Has @gathers keep example requests, beside what they already do with each one. NULL
 * without memory, with the error printed. Free it after they were used. */
struct cpti_html_keep *cpti_html_keep_new(struct cpti_gather *gathers, size_t count);
void cpti_html_keep_free(struct cpti_html_keep *keep);

/* Writes the page to @file_name ("-": stdout): the gathers of @keep, compared by @diff,
 * or one of them if that is NULL. @views are theirs if @by is not CPTI_BY_STACK. enum
 * cpti_exit. */
int cpti_html_write(const struct cpti_html_keep *keep, const struct cpti_views *views,
                    enum cpti_by by, const struct cpt_diff *diff,
                    const char *file_name);

#endif
