/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * graph_format.h - the columns of a graph; docs/format-graph-log.md says what they mean
 *
 * A graph is a CBOR map: the id, the names, and columns, each a byte string of varints,
 * one for each row of its table. The first column of a table is always there and tells
 * how many rows the table has; another one that is absent is all zeros. Keys are never
 * reused; a reader skips those that it does not know.
 *
 * Private to wire/.
 */
#ifndef GRAPH_FORMAT_H
#define GRAPH_FORMAT_H

#include "wire/cpt_graph_log.h"

/* Keys of the map. */
enum cpti_graph_key {
    CPTI_GRAPH_ID = 0,
    CPTI_GRAPH_NAMES = 1,
    CPTI_GRAPH_COLUMNS = 2, /* the keys from here on are columns */
    /* Runs: that of the record, then its components. */
    CPTI_GRAPH_RUN_RESPONSE = 2, /* the first of its table */
    CPTI_GRAPH_RUN_ARRIVAL = 3,
    CPTI_GRAPH_RUN_ANSWERED_BY = 4,
    CPTI_GRAPH_RUN_CALL = 5,
    CPTI_GRAPH_RUN_ENTRY = 6,
    CPTI_GRAPH_RUN_DISPATCH = 7,
    /* Tasks. */
    CPTI_GRAPH_TASK_NAME = 8, /* the first */
    CPTI_GRAPH_TASK_RUN = 9,
    CPTI_GRAPH_TASK_BEGIN = 10,
    CPTI_GRAPH_TASK_UNBLOCKER = 11,
    CPTI_GRAPH_TASK_READY = 12,
    CPTI_GRAPH_TASK_START = 13,
    CPTI_GRAPH_TASK_END = 14,
    CPTI_GRAPH_TASK_EXECUTOR = 15,
    CPTI_GRAPH_TASK_OCCUPANT = 16,
    CPTI_GRAPH_TASK_WAITS = 17,
    /* Waits of the tasks, in the order of the tasks, the oldest first. */
    CPTI_GRAPH_WAIT_BLOCK = 20, /* the first */
    CPTI_GRAPH_WAIT_ARRIVE = 21,
    CPTI_GRAPH_WAIT_RESUME = 22,
    CPTI_GRAPH_WAIT_CALL = 23,
    CPTI_GRAPH_WAIT_TASK = 24,
    CPTI_GRAPH_WAIT_OCCUPANT = 25,
    /* Calls. */
    CPTI_GRAPH_CALL_ISSUER = 28, /* the first */
    CPTI_GRAPH_CALL_NAME = 29,
    CPTI_GRAPH_CALL_ISSUE = 30,
    CPTI_GRAPH_CALL_SENT = 31,
    CPTI_GRAPH_CALL_ARRIVE = 32,
    CPTI_GRAPH_CALL_OUTCOME = 33,
    CPTI_GRAPH_CALL_KIND = 34,
    CPTI_GRAPH_CALL_EXECUTOR = 35,
    CPTI_GRAPH_CALL_HOLDER = 36,
    CPTI_GRAPH_CALL_STATUS = 37,
    CPTI_GRAPH_CALL_ATTEMPT = 38,
    CPTI_GRAPH_CALL_ID = 39,
    CPTI_GRAPH_CALL_FAILED = 40,
    /* Arrivals: what else a task waited for. */
    CPTI_GRAPH_ARRIVAL_WAITER = 42, /* the first */
    CPTI_GRAPH_ARRIVAL_GIVER = 43,
    CPTI_GRAPH_ARRIVAL_CALL = 44,
    CPTI_GRAPH_ARRIVAL_AT = 45,
    CPTI_GRAPH_ARRIVAL_FLAGS = 46,
    CPTI_GRAPH_ARRIVAL_WAIT = 47,
    CPTI_GRAPH_KEYS = 48
};

/* Bits of CPTI_GRAPH_ARRIVAL_FLAGS. */
enum { CPTI_GRAPH_IS_INPUT = 1, CPTI_GRAPH_IS_SPARE = 2 };

/* No time of a record is further than this from its arrival. */
#define CPTI_GRAPH_TIME_MAX ((uint64_t)1 << 61)

/*
 * A time is written as its distance to another one, the *reference*: 0 for none, else
 * 2 * distance - 1 + 2 if it is later, 2 * -distance + 2 if it is earlier. 1 and 2 are
 * no distances:
 */
enum {
    CPTI_GRAPH_TIME_UNSET = 1, /* the time is 0: it is not there */
    CPTI_GRAPH_TIME_NEVER = 2  /* it is UINT64_MAX: a wait was not over */
};

/* Whether a time can be a reference; else the arrival of the record is. */
static inline int cpti_graph_is_time(uint64_t at_ns)
{
    return at_ns != 0 && at_ns != UINT64_MAX;
}

/* As cpt_graph_decode(), but adds to @build, in its memory; the run answers @call.
 * After an error @build has what it had before. */
cpt_status cpti_graph_add(struct cpt_trace_build *build,
                          const struct cpt_record *record, uint64_t arrival_ns,
                          struct cpt_trace_call *call, struct cpt_kept_graph *graph,
                          struct cpt_error *error);

#endif
