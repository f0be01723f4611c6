/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_csv.h - events as rows of CSV (RFC 4180) with our columns
 *
 *      id,service,unit,event,begin_us,end_us
 *      7f3a,web,1,GET /cart,1700000000000000,1700000000025000
 *
 * Columns are known by the header: id,service,host,unit,event,role,peer,resolution_us,
 * time_us,begin_us,end_us, in any order, among others, which are passed over. A row
 * with both begin_us and end_us is an interval, one with time_us alone a point. `role`
 * is server or client. Times are whole microseconds since 1970.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_EVENT_CSV_H
#define CPTI_EVENT_CSV_H

#include "import/events/event.h"

#include <stddef.h>

enum { CPTI_CSV_FIELDS_MAX = 64 /* of a row; those behind them are passed over */ };

/* Which column each field is. */
struct cpti_event_csv {
    unsigned char columns[CPTI_CSV_FIELDS_MAX];
    size_t field_count; /* up to the last one that is ours */
    bool has_service;   /* a column of services */
};

/* What a row is. */
enum cpti_csv_row {
    CPTI_CSV_EVENT,
    CPTI_CSV_WRONG_QUOTE, /* it is not closed, or no comma is behind it */
    CPTI_CSV_WRONG_NUMBER,
    CPTI_CSV_NO_SERVICE, /* its field is empty; without the column it is "unknown" */
    CPTI_CSV_TIMELESS    /* it has no time, or one that int64 cannot hold in ns */
};

/* Whether @line, the first one of a file, names our columns: time_us or begin_us. */
bool cpti_event_csv_is_header(struct cpt_bytes line);

/* Reads the header. CPT_OK; CPT_INVALID, with the reason: it lacks a column, or has one
 * twice. */
cpt_status cpti_event_csv_open(struct cpti_event_csv *csv, struct cpt_bytes line,
                               struct cpt_error *error);

/* Reads the row of @bytes at @row, without its end, which is changed where quotes are.
 * All of @event but `row` and `input` is set; it borrows from the row. */
enum cpti_csv_row cpti_event_csv_read(const struct cpti_event_csv *csv, char *row,
                                      size_t bytes, struct cpti_event *event);

#endif
