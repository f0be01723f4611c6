/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * waits.h - who waits for whom: the running requests of several services
 *
 * The first service is asked for its running requests (GET /cpt/requests); then each
 * service that they call, and so on. A request of a callee belongs to a call if it is
 * at the call's target, for the call's method, and has the same trace id. A wait for a
 * lock leads to the requests of the same service that hold the lock.
 *
 *      services --> requests --> groups --> edges --> requests
 *                   one task's wait: several edges, of which `wanted` must end
 *
 * All of it comes from outside, so each table has a limit.
 */
#ifndef CPTI_CLI_WAITS_H
#define CPTI_CLI_WAITS_H

#include "cpt/cli/live/place.h"
#include "cpt/cli/live/json_read.h"

enum {
    CPTI_WAITS_SERVICES_MAX = 64,
    CPTI_WAITS_REQUESTS_MAX = 4096,
    CPTI_WAITS_EDGES_MAX = 65536, /* and groups */
    CPTI_WAITS_ENDS_MAX = 16      /* requests that one edge may lead to */
};

#define CPTI_WAITS_NONE UINT32_MAX

struct cpti_wait_service {
    struct cpti_place place;
    struct cpt_bytes name;
    bool is_known;          /* it has answered */
    struct cpt_error error; /* why it has not */
    uint64_t left_out;
};

struct cpti_wait_request {
    uint32_t service;
    const struct cpti_json_value *value;
    struct cpt_bytes trace_id;
    struct cpt_bytes method;
    uint64_t id;
    uint64_t us;
    uint32_t group_first;
    uint32_t group_count;
    bool is_free;  /* a task of it runs, or could */
    bool is_stuck; /* it waits for ever, or until a timeout: see waits_deadlock.c */
    bool is_seen;  /* by the caller's walk */
};

/* What a task waits for. */
struct cpti_wait_edge {
    const struct cpti_json_value *value; /* "kind" and so on */
    uint32_t target; /* the service that is called; CPTI_WAITS_NONE: it is not asked */
    uint32_t ends[CPTI_WAITS_ENDS_MAX]; /* requests */
    uint32_t end_count;
    bool may_end; /* whatever those do */
};

struct cpti_wait_group {
    const struct cpti_json_value *task;
    unsigned depth; /* of components */
    uint32_t edge_first;
    uint32_t edge_count;
    uint64_t wanted;
};

/* A circle of requests that wait for each other, in `deadlock_requests`. */
struct cpti_wait_deadlock {
    uint32_t first;
    uint32_t count;
};

struct cpti_waits {
    struct cpt_arena arena; /* values and tables */
    bool is_remote;         /* services of other machines are asked, too */
    bool is_starved;        /* there was no memory to ask a service */
    unsigned timeout_ms;    /* of each service */
    char path[300];         /* "/cpt/requests" */
    struct cpti_wait_service services[CPTI_WAITS_SERVICES_MAX];
    uint32_t service_count;
    uint64_t left_out; /* what is beyond the limits here */
    struct cpti_wait_request *requests;
    uint32_t request_count;
    struct cpti_wait_group *groups;
    uint32_t group_count;
    struct cpti_wait_edge *edges;
    uint32_t edge_count;
    uint32_t *deadlock_requests;
    struct cpti_wait_deadlock *deadlocks;
    uint32_t deadlock_count;
};

/* Asks all services, beginning with @place. An error is that of the first service, or
 * CPT_NO_MEMORY; of others it is in `services`. Free it in any case. */
cpt_status cpti_waits_look(struct cpti_waits *waits, const struct cpti_place *place,
                           struct cpt_error *error);
void cpti_waits_deinit(struct cpti_waits *waits);

/* --- waits_deadlock.c --- */

/* Finds the requests that are stuck, and the circles among them. */
cpt_status cpti_waits_find_deadlocks(struct cpti_waits *waits);

/* The edge of @request that leads to @end, which exists. */
const struct cpti_wait_edge *cpti_waits_edge_to(const struct cpti_waits *waits,
                                                uint32_t request, uint32_t end,
                                                const struct cpti_wait_group **group);

#endif
