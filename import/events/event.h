/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event.h - what a line of a log says of a request: a point in time, or an interval
 *
 *      "12:00:01.5 GET /cart 200 0.025 req=7f3a"
 *          --> id 7f3a, service web, server, from 12:00:01.475 to 12:00:01.500
 *
 * A line may give several: the log of a proxy tells of the request, and of its call.
 */
#ifndef CPTI_EVENT_H
#define CPTI_EVENT_H

#include "cpt/cpt_name.h"

#include <stdbool.h>
#include <stdint.h>

/* Which side of a call an interval measured. */
enum cpti_event_role {
    CPTI_EVENT_UNKNOWN = 0,
    CPTI_EVENT_SERVER = 1, /* work done for a caller */
    CPTI_EVENT_CLIENT = 2  /* a call, as its caller saw it */
};

/* Of an input whose lines do not say it: 1 ms if all its times are whole ms, else 0.
 * That is known when all of them were added to requests. */
#define CPTI_RESOLUTION_OPEN UINT64_MAX

enum { CPTI_INPUTS_MAX = 1 << 20 };

/* One event. Bytes are borrowed; empty ones are unknown. */
struct cpti_event {
    struct cpt_bytes id;      /* what all lines of one request have in common */
    struct cpt_bytes service; /* who wrote the line */
    struct cpt_bytes host;    /* whose clock stamped it */
    struct cpt_bytes unit; /* of one execution in a service; empty: the service is it */
    struct cpt_bytes name; /* what recurs: no id and no number is in it */
    struct cpt_bytes peer; /* whom a client called */
    int64_t begin_ns;      /* since 1970; of a point, its time */
    int64_t end_ns;        /* of a point the same; not before begin_ns */
    uint64_t resolution_ns; /* how far its times may be below the true ones: of a stamp
                               * in ms 1,000,000; 0: they are exact; or
                               * CPTI_RESOLUTION_OPEN */
    uint64_t row;           /* number of its line in the input, from 1 */
    uint32_t input;         /* number of the input, below CPTI_INPUTS_MAX */
    uint32_t outer_order;   /* among equal times of one host: as an outer stamp orders
                               * them, else 0; then `row` does */
    unsigned char role;     /* enum cpti_event_role; of an interval */
    bool is_interval;
};

#endif
