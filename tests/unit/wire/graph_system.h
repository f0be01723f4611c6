/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* graph_system.h - the records of several services that were at work on one request */
#ifndef GRAPH_SYSTEM_H
#define GRAPH_SYSTEM_H

#include "cpt/cpt_dag_draft.h"
#include "tests/support/random_trace.h"

#include <stdbool.h>

enum { GRAPH_SERVICES_MAX = 5, GRAPH_ARRIVALS_MAX = 8 };

/* One service's run, as it noted it: its times are its own clock's. */
struct graph_service {
    struct random_trace made;
    struct cpt_dag_run run; /* its `call` is NULL, as in its own records */
    struct cpt_trace_task *tasks[RANDOM_TASKS_MAX];
    struct cpt_dag_arrival arrivals[GRAPH_ARRIVALS_MAX];
    struct cpt_dag_records records;
    uint64_t id;                   /* of the run */
    struct cpt_trace_call *caller; /* the call that it answers; NULL: the first */
    size_t caller_service;
};

struct graph_system {
    struct graph_service services[GRAPH_SERVICES_MAX];
    size_t count;
};

/* A random system; each callee is quicker than its call. @system must not move. */
void graph_system_make(struct graph_system *system, struct test_random *random);

/* Moves the times of all callees so that each arrives when its call was sent. After it,
 * `records` are no longer what the services noted. */
void graph_system_move(struct graph_system *system);

/* The dag of all services whose bit in @present is set, after the move, made by the
 * core alone. The first is always there. */
struct cpt_dag_draft *graph_system_draft(struct graph_system *system, unsigned present,
                                         struct cpt_dag_recorded *recorded);

/* The dag of @records, whose first run arrives at @arrival_ns; NULL: it has none. */
struct cpt_dag_draft *graph_draft(const struct cpt_dag_records *records,
                                  uint64_t arrival_ns,
                                  struct cpt_dag_recorded *recorded);

/* After the move: whether calls of two services were issued at once. The order of their
 * nodes is not defined. */
bool graph_system_has_ties(const struct graph_system *system);

/* Whether two dags have as many nodes and edges, and as long a path. */
bool graph_is_alike(const struct cpt_dag_recorded *left,
                    const struct cpt_dag_recorded *right);

/* Whether two dags are the same, node by node, with names and lines. */
bool graph_is_same(const struct cpt_dag_recorded *left,
                   const struct cpt_dag_recorded *right);

#endif
