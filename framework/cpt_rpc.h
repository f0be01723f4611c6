/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_rpc.h - services that call each other
 *
 * A *service* answers methods, each with a plan of its own. A *stub* is how a task
 * calls a method of another service. A *transport* carries calls between processes;
 * this header knows none (cpt_http.h is one).
 *
 *      caller                                      callee
 *      cpt_call() ---- critical-path: 1;max=2048 ----> cpt_service_serve()
 *         |                                               task graph
 *      cpt_await() <--- critical-path-bin: its path ----- reply
 *         |
 *      the callee's path takes the place of the call, where the caller really waited
 *
 * Who is traced. Every service throws a coin for every request. An *entry* service also
 * heeds the header of somebody whom it trusts; an *inner* one follows its caller.
 * Whoever is traced asks its callees. The entry writes one log record for each traced
 * request; an inner service only for those that its own coin hit. What a request still
 * does behind its answer gets a second one, flagged as background.
 *
 * The plan of a method takes the value rpc_request and gives the value rpc_reply:
 *
 *      static cpt_status lookup(struct cpt_task *task)
 *      {
 *          const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
 *          struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
 *          reply->body = cpt_bytes_of("found");
 *          return CPT_OK;
 *      }
 *
 * In order of use: cpt_service_new, cpt_service_method_add, a transport's listen;
 * cpt_call within tasks; cpt_service_free once the transport has stopped.
 *
 * Threads: methods are added before the service serves; all else from any thread.
 */
#ifndef CPT_RPC_H
#define CPT_RPC_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_name.h"
#include "cpt_graph.h"

CPT_BEGIN_DECLS

struct cpt_executor;
struct cpt_log_queue;
struct cpt_request_handle;
struct cpt_service;

/* --- Outcomes --- */

/*
 * How the answer to a request turned out. Each transport maps outcomes to the statuses
 * of its protocol and back. The values are gRPC's status codes plus 1; never renumber.
 */
enum cpt_outcome {
    CPT_OUTCOME_NONE = 0, /* not set: http_status says it; if that is 0 too, OK */
    CPT_OUTCOME_OK = 1,
    CPT_OUTCOME_CANCELLED = 2,        /* the caller left */
    CPT_OUTCOME_UNKNOWN = 3,          /* the method failed, and nothing more is known */
    CPT_OUTCOME_INVALID_ARGUMENT = 4, /* the request is wrong */
    CPT_OUTCOME_DEADLINE_EXCEEDED = 5,
    CPT_OUTCOME_NOT_FOUND = 6, /* what is asked for, or the method */
    CPT_OUTCOME_ALREADY_EXISTS = 7,
    CPT_OUTCOME_PERMISSION_DENIED = 8,
    CPT_OUTCOME_RESOURCE_EXHAUSTED = 9, /* busy, or a limit was reached */
    CPT_OUTCOME_FAILED_PRECONDITION = 10,
    CPT_OUTCOME_ABORTED = 11, /* by a conflict with another request */
    CPT_OUTCOME_OUT_OF_RANGE = 12,
    CPT_OUTCOME_UNIMPLEMENTED = 13,
    CPT_OUTCOME_INTERNAL = 14,
    CPT_OUTCOME_UNAVAILABLE = 15, /* a callee could not be reached */
    CPT_OUTCOME_DATA_LOSS = 16,
    CPT_OUTCOME_UNAUTHENTICATED = 17
};

/* The status of HTTP for @outcome (enum cpt_outcome). */
CPT_API unsigned cpt_outcome_http_status(unsigned outcome);

/* The outcome that a status of HTTP means: of those below 400, CPT_OUTCOME_OK. */
CPT_API unsigned cpt_outcome_of_http_status(unsigned http_status);

/* --- What a method is given and gives --- */

struct cpt_rpc_request {
    struct cpt_bytes method; /* "/overlap" */
    struct cpt_bytes query;  /* what followed a '?', undecoded; may be empty */
    struct cpt_bytes body;
};

struct cpt_rpc_reply {
    unsigned http_status;          /* Deprecated: set outcome. 0: that of the outcome */
    struct cpt_bytes content_type; /* empty: text/plain */
    struct cpt_bytes body;         /* must live as long as the request */
    unsigned outcome;              /* enum cpt_outcome; default: OK */
};

CPT_VALUE(rpc_request, struct cpt_rpc_request);
CPT_VALUE(rpc_reply, struct cpt_rpc_reply);

/* --- Calls from tasks --- */

struct cpt_transport;

/* A method of another service, as its callers see it. Must outlive the requests that
 * call it. */
struct cpt_stub {
    const char *name;   /* its frame: "B: Lookup" */
    const char *target; /* where, in the transport's words: "http://127.0.0.1:8080" */
    const char *method; /* "/lookup" */
    struct cpt_transport *transport;
    uint64_t timeout_ns; /* from the call; default 10 s */
};

/* How a call ended. Borrowed until the request ends. */
struct cpt_call_reply {
    cpt_status status; /* CPT_OK: there is an answer; CPT_TIMEOUT, CPT_UNAVAILABLE … */
    unsigned http_status; /* Deprecated: read outcome */
    struct cpt_bytes body;
    unsigned outcome; /* enum cpt_outcome, never NONE; also if there is no answer */
};

/*
 * Calls @stub with @body, which is copied. Returns at once; a call that failed is for
 * cpt_call_reply() to say. NULL at the memory limit: then cpt_await() fails.
 */
CPT_API struct cpt_pending *cpt_call(struct cpt_task *task, const struct cpt_stub *stub,
                                     struct cpt_bytes body);

/* The same call as the @attempt'th try of it (1, 2 …), which the path then shows. */
CPT_API struct cpt_pending *cpt_call_attempt(struct cpt_task *task,
                                             const struct cpt_stub *stub,
                                             struct cpt_bytes body, unsigned attempt);

/* Completes after @delay_ns, for a second call of @stub if the first takes longer: the
 * time until then is ‹hedge wait› of the callee. */
CPT_API struct cpt_pending *
cpt_hedge_wait(struct cpt_task *task, const struct cpt_stub *stub, uint64_t delay_ns);

/* The reply to a call that is complete; NULL while it is not. */
CPT_API const struct cpt_call_reply *cpt_call_reply(const struct cpt_pending *pending);

/* --- Services --- */

enum cpt_role {
    CPT_ROLE_ENTRY = 0, /* requests come from outside: it decides who is traced */
    CPT_ROLE_INNER = 1  /* its callers are services: it follows them */
};

/* What a service is; see cpt_options_read(). */
struct cpt_service_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    const char *name;              /* "B", as in the graphs of its methods */
    unsigned role;                 /* enum cpt_role */
    double probability;            /* of tracing a request by the coin; default 0.001,
                                      less than 0: never */
    size_t metadata_bytes_max;     /* of a returned path, before base64; default 2048 */
    struct cpt_executor *executor; /* where its tasks run; default: inline */
    struct cpt_log_queue *log;     /* where records go; NULL: none are written */
    const struct cpt_clock *clock; /* default: monotonic */
    /* Who may ask an entry for a path: "10.0.0.0/8", "::1", ended by NULL. Default:
     * loopback only. */
    const char *const *trusted_networks;
    int trusts_forwarded; /* heed it also if it came through a proxy that says so */
    const char *const *dropped_attributes; /* keys never to be logged, ended by NULL */
    size_t memory_bytes_max;               /* of one request; default 16 MiB */
    unsigned attribution;                  /* enum cpt_attribution of cpt_trace.h */
    int measures_cpu;    /* as in struct cpt_request_options of cpt_runtime.h */
    unsigned overcount;  /* enum cpt_overcount of cpt_path.h */
    uint64_t seed;       /* of the coin; default: the system's */
    uint64_t timeout_ns; /* of a request, from its arrival; default: none. The smaller
                            one of this and what the caller says (CPT_HEADER_TIMEOUT)
                            counts; the executor needs timers. */
    /* Back pressure: what is beyond is answered 503 at once. */
    size_t requests_in_flight_max;     /* not answered yet; default 10,000 */
    size_t memory_in_flight_bytes_max; /* of all requests that are not gone yet, their
                                          records included; default 1 GiB */
};

/* A service without methods, or NULL with the reason in @error. */
CPT_API struct cpt_service *cpt_service_new(const struct cpt_service_options *options,
                                            struct cpt_error *error);

/*
 * Waits until nothing of its requests runs any more, also what goes on behind an
 * answer. To be called when the transport has stopped, before it and the executor are
 * freed:
 *
 *      the transport stops, drain, then free shared work (cpt_shared.h), the pools, the
 *      services, the transport, the plans, the log queue
 *
 * CPT_OK; CPT_TIMEOUT after @timeout_ns: then free nothing, but end the process.
 */
CPT_API cpt_status cpt_service_drain(struct cpt_service *service, uint64_t timeout_ns);

/* Frees, when the last of its requests is gone; see cpt_service_drain(). NULL is fine.
 */
CPT_API void cpt_service_free(struct cpt_service *service);

/*
 * Answers @method ("/overlap"; "*" for all others) with @plan, which takes rpc_request,
 * gives rpc_reply, is of this service and must outlive it. The entry frame of its
 * requests is "service: method".
 *
 * CPT_OK; CPT_INVALID with the reason; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_service_method_add(struct cpt_service *service,
                                          const char *method,
                                          const struct cpt_plan *plan,
                                          struct cpt_error *error);

/* What is special about a method; see cpt_options_read(). */
struct cpt_method_options {
    size_t struct_bytes;
    uint64_t timeout_ns; /* in place of the service's; 0: that one */
};

/* The same with @options, which may be NULL. */
CPT_API cpt_status cpt_service_method_add_with(struct cpt_service *service,
                                               const char *method,
                                               const struct cpt_plan *plan,
                                               const struct cpt_method_options *options,
                                               struct cpt_error *error);

/* Kill switch: 0 stops all tracing at once, 1 allows it again. With CPT_DISABLE=1 in
 * the environment of cpt_service_new() it starts stopped. */
CPT_API void cpt_service_enable(struct cpt_service *service, int is_enabled);

CPT_API const char *cpt_service_name(const struct cpt_service *service);
CPT_API const struct cpt_clock *cpt_service_clock(const struct cpt_service *service);

/* --- Counters --- */

/* One number. Pointers are good until the visit returns. */
struct cpt_counter {
    const char *name;  /* "requests", "blind_spots"; unit at the end if it has one */
    const char *help;  /* a sentence */
    const char *label; /* "callee", "reason"; NULL without */
    struct cpt_bytes member; /* which one of the label */
    uint64_t value;
};

/* Visits every counter of @service, those of one name one after the other. */
CPT_API void cpt_service_counters(struct cpt_service *service,
                                  void (*visit)(void *context,
                                                const struct cpt_counter *counter),
                                  void *context);

/* --- For transports --- */

/* A request as it came in. All is borrowed until cpt_service_serve() returns. */
struct cpt_inbound {
    struct cpt_bytes method;
    struct cpt_bytes query;
    struct cpt_bytes body;
    struct cpt_bytes critical_path; /* the header's value; data NULL: none came */
    unsigned critical_path_count;   /* how many came; more than one is refused */
    struct cpt_bytes traceparent;   /* likewise */
    struct cpt_bytes peer_address;  /* "127.0.0.1", "::1"; empty: unknown */
    int is_forwarded;               /* it had Forwarded or X-Forwarded-For */
    uint64_t arrival_ns;            /* of the service's clock; 0: now */
    struct cpt_bytes timeout;       /* the header's value; data NULL: none came */
    unsigned coin;                  /* enum cpt_coin, of cpt_service_coin() */
    /* If not NULL: gets a handle of the request for the transport to free, or NULL.
     * Before the request begins, so before the reply. */
    struct cpt_request_handle **handle;
};

/* What a service answers. All is borrowed until cpt_reply_fn returns. */
struct cpt_outbound {
    unsigned
        http_status; /* Deprecated, but for HTTP: that of the outcome, or the method's */
    struct cpt_bytes content_type;
    struct cpt_bytes body;
    struct cpt_bytes metadata; /* the path as raw bytes; empty: send no header */
    unsigned outcome;          /* enum cpt_outcome, never NONE */
};

typedef void (*cpt_reply_fn)(void *context, const struct cpt_outbound *outbound);

/* Whether anything is traced: 0 while the kill switch is on. */
CPT_API int cpt_service_is_enabled(const struct cpt_service *service);

enum cpt_coin {
    CPT_COIN_NONE = 0,  /* not thrown: cpt_service_serve() will, if tracing is on */
    CPT_COIN_HIT = 1,   /* the request is traced: its arrival has to be stamped */
    CPT_COIN_MISSED = 2 /* only if the header asks for it */
};

/* Throws the coin for a request that has just come, before its arrival is stamped; for
 * struct cpt_inbound.coin. CPT_COIN_NONE while the kill switch is on. */
CPT_API unsigned cpt_service_coin(struct cpt_service *service);

/*
 * Answers one request: @reply is called exactly once, from any thread, before or after
 * this returns, whatever happens.
 */
CPT_API void cpt_service_serve(struct cpt_service *service,
                               const struct cpt_inbound *inbound, cpt_reply_fn reply,
                               void *context);

/* A call on its way. Borrowed until cpt_transport_complete(). */
struct cpt_transport_call {
    const char *target;
    const char *method;
    struct cpt_bytes body;
    struct cpt_bytes critical_path; /* header to send; empty: send none */
    struct cpt_bytes traceparent;   /* likewise: passed on as it came in */
    size_t metadata_bytes_max;      /* more is not taken from the reply, raw bytes */
    uint64_t timeout_ns;            /* from now on; more than 0 */
    void *state;                    /* the transport's; NULL at first */
    /* The request has a deadline: the callee is to be told how much of timeout_ns is
     * left when the call is sent, see CPT_HEADER_TIMEOUT. */
    int has_deadline;
};

/* The header that says how long the caller will wait: whole microseconds, in decimal
 * digits. What it says is an offer; the service honours the smaller of it and its own.
 */
#define CPT_HEADER_TIMEOUT "cpt-timeout"

/* How it ended. All is borrowed until cpt_transport_complete() returns. */
struct cpt_transport_reply {
    cpt_status status; /* CPT_OK: answered; CPT_TIMEOUT; CPT_UNAVAILABLE: no connection;
                   CPT_IO: broken on the way; CPT_CORRUPT; CPT_LIMIT: too large */
    unsigned http_status; /* Deprecated: set outcome */
    struct cpt_bytes body;
    struct cpt_bytes metadata; /* raw; empty: none came */
    int is_metadata_bad;       /* something came that is no base64, or came twice */
    int is_metadata_large;     /* it was more than metadata_bytes_max */
    int is_cached;             /* the reply had `Age` */
    unsigned outcome; /* of an answer: enum cpt_outcome; NONE: http_status says it */
};

/* How calls reach other processes. All functions from any thread. */
struct cpt_transport {
    const char *name; /* shown beside the time a call waited for a connection */
    /* Starts @call; completes it exactly once, from any thread, also from within. */
    void (*send)(struct cpt_transport *transport, struct cpt_transport_call *call);
    /* Nobody waits for @call any more: ends it soon, as CPT_CANCELLED; it is still
     * completed exactly once. At most once, after send() has returned; @call may be
     * complete already: then there is nothing to do. Its memory is there till this
     * returns. May be NULL. */
    void (*cancel)(struct cpt_transport *transport, struct cpt_transport_call *call);
};

/* The call left the queue: a connection is its own. Once at most, before it completes.
 */
CPT_API void cpt_transport_sent(struct cpt_transport_call *call);

/* The call is over, now. Call it as early as the reply is there: it stamps the time. */
CPT_API void cpt_transport_complete(struct cpt_transport_call *call,
                                    const struct cpt_transport_reply *reply);

CPT_END_DECLS

#endif
