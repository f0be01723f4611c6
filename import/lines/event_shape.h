/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_shape.h - from the fields of a line to its events
 *
 *      time                      a point
 *      begin, end                an interval; likewise begin, duration
 *      time, duration            an interval that ends at the time
 *      ... upstream "0.2, 0.1"     and within it two calls, one after the other
 *      ... timers 10/0/30/69/109   and HAProxy's call of its server: from TR + Tw on
 *
 * Where in its interval a call was, a line does not say: after a request that has a
 * body (POST, PUT, PATCH) it is at the end, else at the begin, as an answer may take
 * long to send. Threads: one at a time.
 */
#ifndef CPTI_EVENT_SHAPE_H
#define CPTI_EVENT_SHAPE_H

#include "import/events/event.h"
#include "import/lines/event_kinds.h"
#include "import/lines/event_outer.h"

enum { CPTI_LINE_EVENTS_MAX = 8 };

struct cpti_shape {
    const struct cpti_line_source *source;
    struct cpt_bytes service;    /* of lines that do not say it */
    uint64_t time_resolution_ns; /* the finest that was seen: zeros may be left out */
    uint64_t length_resolution_ns;
    char room[CPTI_KIND_BYTES_MAX];
    char logger[CPT_NAME_BYTES_MAX + 1];
    struct cpti_event events[CPTI_LINE_EVENTS_MAX]; /* of the last line */
    bool has_own_time;                              /* not that of the outer line */
    size_t event_count;
};

void cpti_shape_init(struct cpti_shape *shape, const struct cpti_line_source *source,
                     struct cpt_bytes service);

/* An enum cpti_event_role: "server" and "inbound", "client" and "outbound". */
unsigned char cpti_shape_role(struct cpt_bytes text);

/* Makes the events of a line, without their rows; they borrow the fields and @wrapped.
 * false: its time cannot be read, or cannot be. */
bool cpti_shape_line(struct cpti_shape *shape, const struct cpti_fields *fields,
                     const struct cpti_wrapped *wrapped);

#endif
