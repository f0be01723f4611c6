/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * waits.h - who waits for whom: the running requests of several services
 *
 * The first service is asked for its running requests (GET /cpt/requests); then each
 * service that they call, and so on: at the port for operators that the stub names, or
 * else at the target of the call. A wait for a lock leads to the requests of the same
 * service that hold the lock. A call leads to the request there that has its ids:
 *
 *      caller  call  "trace_id": T, "span_id":   S, "path": P   as sent
 *      callee        "trace_id": T, "parent_id": S, "method": P as received
 *
 * Where the caller writes spans, S is of this call alone, and decides. Elsewhere a
 * service passes S on as it came, so that all requests of a branch have the same: then
 * the path must be the same, too. A request that began before the call is not its
 * callee, though it may have its ids: it is one that led to the call.
 *
 *      services --> requests --> groups --> edges --> requests
 *                   one task's wait: several edges, of which `wanted` must end
 *
 * A call that leads to no request has a *gap*, which says why. All of it comes from
 * outside, so each table has a limit.
 */
#ifndef CPTI_CLI_WAITS_H
#define CPTI_CLI_WAITS_H

#include "tool/live/answer.h"
#include "cpt/cpt_arena.h"

enum {
    CPTI_WAITS_SERVICES_MAX = 64,
    CPTI_WAITS_REQUESTS_MAX = 4096,
    CPTI_WAITS_EDGES_MAX = 65536, /* and groups */
    CPTI_WAITS_ENDS_MAX = 16,     /* requests that one edge may lead to */
    CPTI_WAITS_PLACES_MAX = 8,    /* services that one call may have gone to */
    CPTI_WAITS_TEXTS_MAX = 256    /* addresses that are kept once they were read */
};

#define CPTI_WAITS_NONE UINT32_MAX

struct cpti_wait_service {
    struct cpti_peer place;
    struct cpti_answer answer;
    struct cpt_bytes name;
    bool is_known;          /* it has answered */
    struct cpt_error error; /* why it has not */
    uint64_t left_out;
    uint64_t asked_ns; /* cpti_now_ns(), before and after its answer */
    uint64_t answered_ns;
};

struct cpti_wait_request {
    uint32_t service;
    struct cpti_doc_value value;
    struct cpt_bytes trace_id;
    struct cpt_bytes parent_id; /* the caller's span; empty: none, or not told */
    struct cpt_bytes span_id;   /* its own, if the service writes spans */
    struct cpt_bytes method;
    uint64_t id;
    uint64_t us;
    uint32_t group_first;
    uint32_t group_count;
    bool is_free;     /* a task of it runs, or could */
    bool is_stuck;    /* it waits for ever, or until a timeout: see waits_deadlock.c */
    bool is_doubtful; /* it is not, but would be if calls that are not followed never
                         ended */
    bool is_seen;     /* by the caller's walk */
};

/* Why a wait for a call, or for shared work, is not followed. */
enum cpti_wait_gap {
    CPTI_GAP_NONE = 0,
    CPTI_GAP_REMOTE,    /* its service is on another machine, and those are not asked */
    CPTI_GAP_ADDRESS,   /* its target is no address that can be asked */
    CPTI_GAP_TRANSPORT, /* it is not of HTTP, and no port for operators is known */
    CPTI_GAP_FULL,      /* there are more services than are asked */
    CPTI_GAP_SERVICE,   /* the service does not tell: its `error` */
    CPTI_GAP_IDS,       /* it has no trace id */
    CPTI_GAP_QUEUED,    /* it waits for a connection */
    CPTI_GAP_ABSENT,    /* the service has no such request */
    CPTI_GAP_SHARED,    /* no call: work that requests share, which tells no tasks */
    CPTI_GAP_LEAF       /* the user says that it ends */
};

/* What a task waits for. */
struct cpti_wait_edge {
    struct cpti_doc_value value; /* "kind" and so on */
    enum cpti_wait_gap gap;
    unsigned char targets[CPTI_WAITS_PLACES_MAX]; /* services that may have the call */
    uint32_t target_count;
    uint32_t ends[CPTI_WAITS_ENDS_MAX]; /* requests */
    uint32_t end_count;
    bool may_end; /* whatever those do */
};

struct cpti_wait_group {
    struct cpti_doc_value task;
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

/* An address that was read: it is asked for once. */
struct cpti_wait_text {
    struct cpt_bytes text;
    uint32_t service; /* CPTI_WAITS_NONE: see gap */
    enum cpti_wait_gap gap;
};

struct cpti_waits {
    struct cpt_arena arena;   /* tables */
    size_t left;              /* of the memory for answers: cpti_doc_bound() */
    struct cpti_get get;      /* what each service is asked, and how */
    bool is_remote;           /* services of other machines are asked, too */
    bool is_starved;          /* there was no memory to ask a service */
    bool is_doubting;         /* see waits_deadlock.c */
    const char *operators_of; /* "SERVICE=HOST:PORT,...", more than stubs say; NULL */
    const char *leaves;       /* "SERVICE,...": their calls end by themselves; NULL */
    struct cpti_wait_text texts[CPTI_WAITS_TEXTS_MAX];
    uint32_t text_count;
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
cpt_status cpti_waits_look(struct cpti_waits *waits, const struct cpti_peer *place,
                           struct cpt_error *error);
void cpti_waits_deinit(struct cpti_waits *waits);

/* --- waits_places.c --- */

/* Finds the services that the call @edge may have gone to, or its gap. */
void cpti_waits_places(struct cpti_waits *waits, struct cpti_wait_edge *edge);

/* The service at @place, asked later if it is new; CPTI_WAITS_NONE: there are too many.
 */
uint32_t cpti_waits_service(struct cpti_waits *waits, const struct cpti_peer *place);

/* --- waits_join.c --- */

/* Finds the requests that @edge of request @from leads to. */
void cpti_waits_lead(struct cpti_waits *waits, uint32_t from,
                     struct cpti_wait_edge *edge);

/* --- waits_deadlock.c --- */

/* Calls that are in flight for less are not doubted: they may just be on their way. */
enum { CPTI_WAITS_DOUBT_US = 50000 };

/* Finds the requests that are stuck, and the circles among them; and those that are
 * doubtful. */
cpt_status cpti_waits_find_deadlocks(struct cpti_waits *waits);

/* The edge of @request that leads to @end, which exists. */
const struct cpti_wait_edge *cpti_waits_edge_to(const struct cpti_waits *waits,
                                                uint32_t request, uint32_t end,
                                                const struct cpti_wait_group **group);

#endif
