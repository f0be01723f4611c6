/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_client.h - what the files about calls out share
 *
 *      call --> set --------> target ------> connection
 *               http_set.c    http_pool.c    http_connection.c
 *               the text of   one address,
 *               a stub        its connections
 *
 * Threads: the loop thread, but for cpti_http_targets_show().
 */
#ifndef CPT_HTTP_CLIENT_H
#define CPT_HTTP_CLIENT_H

#include "framework/transport/http/client/http_connection.h"
#include "framework/transport/base/targets.h"

#include <sys/queue.h>

enum {
    CPTI_HTTP_SET_BUCKETS = 64,
    CPTI_HTTP_SETS_MAX = 4096,
    CPTI_HTTP_TARGETS_MAX = 16384, /* of all sets; addresses beyond are not used */
    CPTI_HTTP_TRIED_MAX = 6,       /* targets that a call, or an attempt before it, has
                                      been at; older ones are forgotten */
    CPTI_HTTP_NOTICES = 4          /* reasons, which are told once a second each */
};

struct cpti_http_call;
struct cpti_http_client;
struct cpti_http_item;
struct cpti_http_set;

TAILQ_HEAD(cpti_http_calls, cpti_http_call);

/* An address, and the connections to it. */
struct cpti_http_target {
    struct cpti_target health; /* first */
    LIST_ENTRY(cpti_http_target)
    all; /* guarded by cpt_http.lock, too: other threads
                                         read */
    struct cpti_http_address address;
    struct cpti_tls_target tls; /* of https */
    struct cpti_http_client *client;
    struct cpti_http_set *set;
    struct cpti_http_item *item; /* of the set: it has the address from there */
    LIST_HEAD(, cpti_http_connection) idle; /* the one used last first */
    size_t connection_count;                /* idle and busy */
    struct cpti_http_calls waiting;
    size_t waiting_count;
    bool is_pumping;
    bool is_gone;               /* its set has it no more; freed when nothing uses it */
    bool is_checked;            /* a check is on its way */
    unsigned checks_unanswered; /* in a row */
};

/* What the text of a stub names. */
struct cpti_http_set {
    struct cpti_http_set *next;
    struct cpti_http_client *client;
    char *text; /* its key */
    struct cpti_targets targets;
    struct cpti_http_item *items; /* the parts of the text */
    size_t item_count;
    struct cpti_http_calls waiting; /* for the first answer of a name server */
    size_t waiting_count;
    size_t lookup_count; /* items that are being looked up */
    bool has_names;
    struct cpt_work work; /* what follows a change of the targets */
    bool is_posted;
    struct cpt_timer resolve_timer;
    bool is_resolve_timed;
    bool was_used; /* since the names were looked up */
    struct cpt_timer check_timer;
    bool is_check_timed;
    bool was_called; /* since the last check */
};

/* A call, or a check of a target. */
struct cpti_http_call {
    TAILQ_ENTRY(cpti_http_call) live;
    TAILQ_ENTRY(cpti_http_call) turn; /* in waiting of the target or of the set */
    struct cpt_work work;
    struct cpt_work cancel_work;
    unsigned reference_count; /* guarded by cpt_http.lock, as is call->state */
    struct cpt_timer timer;
    struct cpti_http_client *client;
    struct cpt_transport_call *call;
    struct cpti_http_set *set;
    struct cpti_http_target *target;         /* NULL: the set has none yet */
    struct cpti_http_connection *connection; /* NULL: it waits for one */
    uint64_t deadline_ns;
    uint64_t tried[CPTI_HTTP_TRIED_MAX]; /* ids of targets, the last one last */
    unsigned tried_count;
    unsigned connect_count; /* tries that could not connect */
    char *why;              /* what TLS said of the last one that it refused; or NULL */
    bool is_check;
    bool is_started; /* it is in the list of calls */
    bool is_ended;
    bool is_cancelled; /* before it was started */
    bool is_begun;     /* it counts as one of its target */
    bool is_waiting;
    bool has_waited; /* for the first answer of a name server */
    bool is_sent;    /* the caller knows that it has a connection */
    bool has_tried_other_family;
};

struct cpti_http_client {
    struct cpt_http *http;
    struct cpt_target_options options;
    struct cpti_http_set *sets[CPTI_HTTP_SET_BUCKETS];
    size_t set_count;
    LIST_HEAD(, cpti_http_target) targets;
    size_t target_count;
    uint64_t last_id;
    struct cpti_http_calls calls;
    struct cpt_timer idle_timer; /* fires several times within idle_ns */
    bool is_idle_timed;
    unsigned idle_tick; /* how often it fired */
    bool is_closed;
    struct cpt_work freed_work; /* calls that wait for a descriptor go on */
    bool is_short;              /* some do */
    bool is_freed_posted;
    struct {
        uint64_t next_ns;
        uint64_t untold_count;
    } notices[CPTI_HTTP_NOTICES];
};

/* --- http_client.c --- */

/* Begins, or goes on with a call whose set may have targets by now. */
void cpti_http_call_go(struct cpti_http_call *call);

/* Ends @call, which has no connection. */
void cpti_http_call_fail(struct cpti_http_call *call, cpt_status status);

/* Sends a check on a connection of its target. */
void cpti_http_call_check(struct cpti_http_call *call);

/* How the owner of a connection is called; its context is the target. */
void cpti_http_call_ended(void *context, struct cpti_http_connection *connection,
                          void *tag, const struct cpti_http_outcome *outcome);

/* --- http_pool.c --- */

/* A connection that is not idle; NULL without memory. */
struct cpti_http_connection *cpti_http_pool_open(struct cpti_http_target *target);

/* Whether a connection is idle, or may be opened; then there is a descriptor for it.
 * One that is idle to another target may be closed for that. */
bool cpti_http_pool_has_room(struct cpti_http_target *target);

/* An idle connection, or NULL: then one may be opened. @is_fresh: not one that the
 * callee may be about to close, as it was unused for a while. */
struct cpti_http_connection *cpti_http_pool_take(struct cpti_http_target *target,
                                                 bool is_fresh);

/* @connection is idle from now on. */
void cpti_http_pool_keep(struct cpti_http_target *target,
                         struct cpti_http_connection *connection);

/* Closes @connection, which is not idle. */
void cpti_http_pool_drop(struct cpti_http_target *target,
                         struct cpti_http_connection *connection);

/* A target at @address, which it takes over; NULL without memory, or if there are too
 * many: then the caller keeps @address. */
struct cpti_http_target *cpti_http_pool_new(struct cpti_http_set *set,
                                            struct cpti_http_item *item,
                                            struct cpti_http_address *address);

/* @target, which its set does not have any more, is freed when nothing uses it. */
void cpti_http_pool_retire(struct cpti_http_target *target);

/* Frees those of them that nothing uses now. */
void cpti_http_pool_sweep(struct cpti_http_client *client);

/* Frees it, whatever it has. */
void cpti_http_pool_free(struct cpti_http_target *target);

/* --- http_set.c --- */

/* The set that @text names. CPT_OK; CPT_INVALID; CPT_LIMIT; CPT_NO_MEMORY. */
cpt_status cpti_http_set_find(struct cpti_http_client *client, const char *text,
                              struct cpti_http_set **found);

/* Whether @set has targets. If not, @is_coming: it may have soon. */
bool cpti_http_set_use(struct cpti_http_set *set, bool *is_coming);

/* Nothing at the addresses of the target of @call could be reached: looks for those of
 * the other family. false: there are none to look for. */
bool cpti_http_set_look_elsewhere(struct cpti_http_call *call);

/* Ends all look-ups and timers. */
void cpti_http_sets_close(struct cpti_http_client *client);
void cpti_http_sets_free(struct cpti_http_client *client);

/* --- http_check.c --- */

/* @set is used: its targets are checked from now on, if they are to be. */
void cpti_http_checks_begin(struct cpti_http_set *set);
void cpti_http_checks_end(struct cpti_http_set *set);

/* A check has ended. */
void cpti_http_check_ended(struct cpti_http_call *call,
                           const struct cpt_transport_reply *reply);

/* --- http_target_counters.c --- */

/* As struct cpti_targets.report; @context is the set. */
void cpti_http_target_report(void *context, const struct cpti_target *target,
                             const char *reason, uint64_t for_ns);

#endif
