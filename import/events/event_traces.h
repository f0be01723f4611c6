/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * event_traces.h - requests of lines as traces of inferred spans
 *
 *      requests --> clocks --> nesting, or the order of lines --> spans of each request
 *
 * What can be said of a request depends on its lines:
 *
 *      intervals of callers and callees   parents by nesting: as spans tell it
 *      intervals of callees alone         the same, but the way to a callee looks like
 *                                         work of its caller
 *      points                             the order of lines; work beside is not seen
 *
 * Intervals are believed before points: of a request that has both, points split the
 * time of units that have an interval, and make one of units that have none.
 *
 * Threads: one at a time.
 */
#ifndef CPTI_EVENT_TRACES_H
#define CPTI_EVENT_TRACES_H

#include "import/events/event_clocks.h"
#include "import/events/nesting.h"
#include "import/events/requests.h"

/* X(NAME, word). How the spans of a request were found. */
#define CPTI_EVENT_METHOD_MAP(X)                                                       \
    X(CALLS, "calls")     /* by nesting; most calls have both sides */                 \
    X(SERVERS, "servers") /* by nesting; most calls have the callee's side alone */    \
    X(POINTS, "points")   /* by the order of lines */

enum cpti_event_method {
#define CPTI_EVENT_METHOD_(NAME, word) CPTI_EVENT_BY_##NAME,
    CPTI_EVENT_METHOD_MAP(CPTI_EVENT_METHOD_)
#undef CPTI_EVENT_METHOD_
        CPTI_EVENT_METHODS
};

const char *cpti_event_method_word(enum cpti_event_method method);

/* A span that was found. */
struct cpti_inferred_span {
    uint32_t line;   /* whose unit, row and host it has */
    uint32_t parent; /* its number, below that of the span or not; CPTI_NO_PARENT */
    uint32_t service;
    uint32_t kind; /* its operation */
    uint32_t peer; /* of a client; 0: unknown */
    unsigned char role;
    int64_t begin_ns;
    int64_t end_ns;
};

/* A request and its spans. Borrowed until the next call. */
struct cpti_event_trace {
    struct cpti_request request;
    enum cpti_event_method method;
    const struct cpti_inferred_span *spans; /* the first one is the entry */
    size_t span_count;                      /* at least 1 */
    size_t made;            /* spans that were made of points; point_units.h */
    const uint32_t *owners; /* by line: its span, or that in whose time a point lies;
                             * CPTI_NO_PARENT: none. NULL: all lines are points */
};

struct cpti_event_traces_counts {
    uint64_t traces[CPTI_EVENT_METHODS];
    uint64_t spans;
    uint64_t unlearnt;        /* requests that nothing was learnt from; nesting.h */
    uint64_t made;            /* spans of units that only have points, beside others */
    uint64_t points_left_out; /* that lie in no interval, in a request with some */
};

struct cpti_event_traces;

/* Traces of @requests, to which all was added, and which outlive them. NULL without
 * memory. The caller owns it. */
struct cpti_event_traces *cpti_event_traces_new(const struct cpt_alloc *alloc,
                                                struct cpti_requests *requests);
void cpti_event_traces_free(struct cpti_event_traces *traces);

/* Learns from all requests, and begins with the first trace. CPT_OK; CPT_NO_MEMORY;
 * CPT_LIMIT; CPT_IO. */
cpt_status cpti_event_traces_learn(struct cpti_event_traces *traces);

/* The next trace, in the order of requests. CPT_OK; CPT_END; CPT_NO_MEMORY; CPT_IO. */
cpt_status cpti_event_traces_next(struct cpti_event_traces *traces,
                                  struct cpti_event_trace *trace);

const struct cpti_event_traces_counts *
cpti_event_traces_counts(const struct cpti_event_traces *traces);

/* What was learnt of clocks; borrowed. */
const struct cpti_event_clocks *
cpti_event_traces_clocks(const struct cpti_event_traces *traces);

/* The trace id of a request: of 32 hexadecimal digits itself; of other ids a hash,
 * which is the same wherever it is computed. 32 digits and a NUL; whether it is the
 * id. */
bool cpti_event_trace_id(struct cpt_bytes id, char text[33]);

#endif
