/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * web_records.h - single requests: a list of them, and one with its path
 *
 * An id is made of a record's start and a hash of its head, "1769860800000000000-9f…".
 * So it is the same wherever the record is read from, also after its log was renamed,
 * and a link to it stays good.
 *
 * Threads: any.
 */
#ifndef CPTI_CLI_WEB_RECORDS_H
#define CPTI_CLI_WEB_RECORDS_H

#include "tool/web/web_view.h"

/* The parameters of a list and of one record; and the longest list. */
#define CPTI_WEB_RECORDS_NAMES                                                         \
    "where base new entry from to min_ns max_ns forced fragments stack side offset "   \
    "limit by mix"
#define CPTI_WEB_RECORD_NAMES "id"
enum { CPTI_WEB_RECORDS_DEFAULT = 100, CPTI_WEB_RECORDS_MAX = 1000 };

/* Checks @query without reading any file. enum cpti_exit. */
int cpti_web_records_check(const struct cpti_web_query *query);

/* Writes the array of the requests that @query selects. enum cpti_exit. */
int cpti_web_records_write(const struct cpti_web_query *query,
                           const struct cpti_web_input *input, FILE *file);

/* Writes the record whose id @query has; *@is_found says whether there is one. enum
 * cpti_exit. */
int cpti_web_record_write(const struct cpti_web_query *query,
                          const struct cpti_web_input *input, FILE *file,
                          bool *is_found);

#endif
