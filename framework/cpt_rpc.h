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
 * heeds the header of clients that it was told to trust (trusted_networks; none by
 * default); an *inner* service heeds its caller's. A
 * traced request asks its callees for their paths. An entry writes one log record for
 * each traced request, an inner service only for those that its own coin hit. What a
 * request still does after its answer gets a second record, flagged as background.
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
 * Threads: any, but methods are added before the service serves.
 */
#ifndef CPT_RPC_H
#define CPT_RPC_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_clock.h"
#include "cpt/cpt_name.h"
#include "cpt_graph.h"
#include "cpt_notice.h"

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

/*
 * One table says what an outcome is elsewhere. It is of the process; set it before the
 * first service serves.
 *
 *      outcome              of the status     HTTP   gRPC
 *      OK                   CPT_OK            200    0
 *      CANCELLED            CPT_CANCELLED     499    1
 *      UNKNOWN              all others        500    2
 *      DEADLINE_EXCEEDED    CPT_TIMEOUT       504    4
 *      RESOURCE_EXHAUSTED   CPT_LIMIT         503    8
 *      UNAVAILABLE          CPT_UNAVAILABLE   502    14
 *      the other outcomes   none              enum cpt_outcome, outcome.c
 */

/* The status of HTTP for @outcome (enum cpt_outcome). */
CPT_API unsigned cpt_outcome_http_status(unsigned outcome);

/* The outcome that a status of HTTP means: of those below 400, CPT_OUTCOME_OK. */
CPT_API unsigned cpt_outcome_of_http_status(unsigned http_status);

/* From now on @outcome is @http_status, 200 to 599; 0: its default again. A status of
 * several outcomes means the first of those that were set, else the first one by
 * default. CPT_INVALID. */
CPT_API cpt_status cpt_outcome_set_http_status(unsigned outcome, unsigned http_status);

/* The code of gRPC, 0 to 16, for @outcome; and back: unknown codes are
 * CPT_OUTCOME_UNKNOWN. */
CPT_API unsigned cpt_outcome_grpc_code(unsigned outcome);
CPT_API unsigned cpt_outcome_of_grpc_code(unsigned code);

/* The outcome of a request or a call that ended with @status. */
CPT_API unsigned cpt_outcome_of_status(cpt_status status);

/* From now on requests that end with @status, an error, have @outcome; 0: the default
 * again. CPT_INVALID. */
CPT_API cpt_status cpt_outcome_set_of_status(cpt_status status, unsigned outcome);

/* "NOT_FOUND"; "UNKNOWN" if it is none. */
CPT_API const char *cpt_outcome_name(unsigned outcome);

/* --- What a method is given and gives --- */

/* A name and its value: a header, a parameter. */
struct cpt_field {
    struct cpt_bytes name;
    struct cpt_bytes value;
};

enum {
    CPT_PARAMETERS_MAX = 16,    /* of a path */
    CPT_HEADERS_MAX = 128,      /* of a request; more: 431 */
    CPT_REPLY_HEADERS_MAX = 64, /* more are not sent */
    CPT_REPLY_HEADER_BYTES_MAX = 8192,
    CPT_CALL_HEADER_BYTES_MAX = 8192 + 64 /* of a call: `baggage` fits */
};

struct cpt_rpc_request {
    struct cpt_bytes method; /* the path: "/overlap" */
    struct cpt_bytes query;  /* what follows '?', not decoded; may be empty */
    struct cpt_bytes body;
    struct cpt_bytes verb;           /* "GET"; empty: the transport has none */
    const struct cpt_field *headers; /* as they came: cpt_rpc_header() */
    size_t header_count;
    const struct cpt_field *parameters; /* of the path: cpt_rpc_parameter() */
    size_t parameter_count;
};

struct cpt_rpc_reply {
    unsigned http_status;            /* of HTTP, as 201, 303; 0: that of the outcome */
    struct cpt_bytes content_type;   /* empty: text/plain */
    struct cpt_bytes body;           /* must live as long as the request */
    unsigned outcome;                /* enum cpt_outcome; default: OK */
    const struct cpt_field *headers; /* likewise: cpt_rpc_reply_header() */
    size_t header_count;
    size_t header_capacity; /* of cpt_rpc_reply_header(); else 0 */
    int is_stream; /* an empty body is no message: of streams that may have none */
};

CPT_VALUE(rpc_request, struct cpt_rpc_request);
CPT_VALUE(rpc_reply, struct cpt_rpc_reply);

/*
 * Sends @message, which is copied, before the answer: a method that streams calls it as
 * often as it likes, in any of its tasks. The body of its reply is one more message
 * unless it is empty; headers of it go only if no message went before. Over gRPC
 * (cpt_grpc.h).
 *
 * CPT_OK: it is on its way, and nothing is waited for. Else as by cpt_fail(), for
 * `return`: CPT_LIMIT: the client does not take what was sent before; CPT_CANCELLED: it
 * has left, or has its answer; CPT_INVALID: the transport has no streams;
 * CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_rpc_send(struct cpt_task *task, struct cpt_bytes message);

/*
 * For `return cpt_refuse(...)` in a task that finds the request wrong and is not the
 * one that answers: the request ends at once, with @outcome, and with the sentence as
 * its body. Unlike the sentence of cpt_fail(), the client reads this one. The service
 * has not failed, unless @outcome is one of its failures (500 and above in HTTP).
 *
 * The first task whose status ends the request decides. Within a component the whole
 * request is refused. An outcome that is none, or CPT_OUTCOME_OK, is
 * CPT_OUTCOME_UNKNOWN. Returns CPT_REFUSED.
 */
CPT_API cpt_status cpt_refuse(struct cpt_task *task, unsigned outcome,
                              const char *format, ...) CPT_PRINTF(3, 4);

/*
 * Values of a request. They are what a client sent, so anything may stand in them, also
 * "/" and ".." in those that were decoded; never a NUL. They live as long as the
 * request. If there is none, its data is NULL; an empty one has data.
 */

/* The first header @name, in any case: "Authorization". */
CPT_API struct cpt_bytes cpt_rpc_header(const struct cpt_rpc_request *request,
                                        const char *name);

/* The part of the path where the method has "{name}", decoded. */
CPT_API struct cpt_bytes cpt_rpc_parameter(const struct cpt_rpc_request *request,
                                           const char *name);

/* The first cookie @name, not decoded, without quotes. */
CPT_API struct cpt_bytes cpt_rpc_cookie(const struct cpt_rpc_request *request,
                                        const char *name);

/*
 * Sets *@value to the first parameter @name of the query "a=1&b=x%20y+z", decoded.
 *
 * CPT_OK, also if there is none; CPT_CORRUPT: it is malformed, answer
 * CPT_OUTCOME_INVALID_ARGUMENT; CPT_LIMIT at the memory limit.
 */
CPT_API cpt_status cpt_rpc_query(struct cpt_task *task,
                                 const struct cpt_rpc_request *request,
                                 const char *name, struct cpt_bytes *value);

/* All parameters of the query, one a call: @position is 0 at first; at the end
 * field->name.data is NULL. Errors as above; the next call goes on behind it. */
CPT_API cpt_status cpt_rpc_query_next(struct cpt_task *task,
                                      const struct cpt_rpc_request *request,
                                      size_t *position, struct cpt_field *field);

/*
 * Adds a header to @reply; @name and @value are copied.
 *
 * CPT_OK; CPT_INVALID: see cpt_field_is_sendable(); CPT_LIMIT at
 * CPT_REPLY_HEADERS_MAX or the memory limit. After an error @reply is as before.
 */
CPT_API cpt_status cpt_rpc_reply_header(struct cpt_task *task,
                                        struct cpt_rpc_reply *reply, const char *name,
                                        struct cpt_bytes value);

/* A cookie for the client. Its defaults keep it from scripts, from other sites, and
 * from connections without TLS. */
struct cpt_cookie {
    size_t struct_bytes;
    const char *name;
    struct cpt_bytes value; /* visible ASCII without blank, '"', ',', ';' and '\\' */
    const char *path;       /* default "/" */
    const char *domain;     /* default: this host alone */
    int64_t max_age_s;     /* default: until the browser ends; less than 0: delete it */
    const char *same_site; /* default "Lax"; "Strict", "None" */
    int for_scripts;       /* without HttpOnly */
    int without_tls;       /* without Secure */
};

/* Adds @cookie to @reply. As cpt_rpc_reply_header(). */
CPT_API cpt_status cpt_rpc_reply_cookie(struct cpt_task *task,
                                        struct cpt_rpc_reply *reply,
                                        const struct cpt_cookie *cookie);

/* Whether a reply may have the header: its name is a token, its value has no control
 * character, together they have no more than CPT_REPLY_HEADER_BYTES_MAX, and it is none
 * of those that the transport writes itself (Content-Type: set content_type). */
CPT_API int cpt_field_is_sendable(const struct cpt_field *field);

/* The same of a call, of CPT_CALL_HEADER_BYTES_MAX: it may have Content-Type, but not
 * Host, Expect, or what a caller says by itself (traceparent, cpt-timeout …). */
CPT_API int cpt_call_field_is_sendable(const struct cpt_field *field);

/* --- Calls from tasks --- */

struct cpt_transport;

/* A method of another service, for its callers. Must outlive the requests that call it.
 */
struct cpt_stub {
    const char *name;   /* its frame: "B: Lookup" */
    const char *target; /* as the transport wants it: "http://127.0.0.1:8080"; several:
                           "b1:8080,b2:8080", see cpt_targets.h */
    /* "/lookup", "GET /users/{id}?fields={fields}": where a verb or parameters are, see
     * cpt_calls.h. */
    const char *method;
    struct cpt_transport *transport;
    uint64_t timeout_ns; /* from the call; default 10 s */
    int is_stream; /* the answer is a stream: `messages` of struct cpt_call_reply; only
                      gRPC has them */
    /* Where the callee tells operators of its requests, for `cpt wait`: "10.0.0.3:9001"
     * (cpt_http_listen_operators()), ":9001" for that port of the target's host;
     * several are separated by commas. No call goes there. Default: the target. */
    const char *operators;
};

/* How a call ended. Valid until the request ends. */
struct cpt_call_reply {
    cpt_status status; /* CPT_OK: there is an answer; CPT_TIMEOUT, CPT_UNAVAILABLE … */
    unsigned http_status; /* of HTTP, as it came; otherwise that of the outcome */
    struct cpt_bytes body;
    unsigned outcome; /* enum cpt_outcome, never NONE; also if there is no answer */
    const struct cpt_field *headers; /* that the call asked for: cpt_call_header() */
    size_t header_count;
    /* Of a stream: all that came until its end, also if that is an error; `body` is
     * then its text. */
    const struct cpt_bytes *messages;
    size_t message_count;
    struct cpt_bytes message; /* of an error over gRPC: its status message, 256 bytes of
                                 it; data NULL: none */
};

/*
 * Calls @stub with @body, which is copied. Returns at once; cpt_call_reply() says
 * whether the call failed. It has failed, with CPT_LIMIT, at the memory limit.
 */
CPT_API struct cpt_pending *cpt_call(struct cpt_task *task, const struct cpt_stub *stub,
                                     struct cpt_bytes body);

/* The same, as try number @attempt (1, 2 …) of a call; the path shows the number. */
CPT_API struct cpt_pending *cpt_call_attempt(struct cpt_task *task,
                                             const struct cpt_stub *stub,
                                             struct cpt_bytes body, unsigned attempt);

/* Completes after @delay_ns: time for a second call of @stub if the first takes longer.
 * The path shows the wait as ‹hedge wait› of the callee. */
CPT_API struct cpt_pending *
cpt_hedge_wait(struct cpt_task *task, const struct cpt_stub *stub, uint64_t delay_ns);

/* The reply to a call; NULL until the call is complete. Its status is CPT_INVALID if
 * @pending is no call. */
CPT_API const struct cpt_call_reply *cpt_call_reply(const struct cpt_pending *pending);

/* --- Services --- */

enum cpt_role {
    CPT_ROLE_ENTRY = 0, /* requests come from outside: decides which are traced */
    CPT_ROLE_INNER = 1  /* its callers are services: traces what they ask for */
};

/* The options of a service; see cpt_options_read(). */
struct cpt_service_options {
    size_t struct_bytes;
    const struct cpt_alloc *alloc;
    const char *name;              /* "B", as in the graphs of its methods */
    unsigned role;                 /* enum cpt_role */
    double probability;            /* of tracing a request by the coin; default 0.001,
                                      less than 0: never; above 1 is refused */
    size_t metadata_bytes_max;     /* of a returned path, before base64; default 2048 */
    struct cpt_executor *executor; /* runs its tasks; default: inline */
    struct cpt_log_queue *log;     /* takes its records; NULL: none are written */
    const struct cpt_clock *clock; /* default: monotonic */
    /* Clients that may ask an entry for a path, and tell it how long they wait:
     * "10.0.0.0/8", "::1", or names of the certificates that they show:
     * "dns:tools.shop", "uri:spiffe://shop/tools", "email:…", "issuer:" and the common
     * name of who signed it; ended by NULL. Default: none. Behind a proxy of this
     * machine strangers come from 127.0.0.1. */
    const char *const *trusted_networks;
    int trusts_forwarded; /* heed also what came through a proxy (cpt_inbound) */
    const char *const *dropped_attributes; /* keys never to be logged; ended by NULL */
    size_t memory_bytes_max;               /* of one request but its trace; default
                                              16 MiB, at most 1/8 of cpt_memory_max() */
    unsigned attribution;                  /* enum cpt_attribution of cpt_trace.h */
    int measures_cpu;    /* as in struct cpt_request_options of cpt_runtime.h */
    unsigned overcount;  /* enum cpt_overcount of cpt_path.h */
    uint64_t seed;       /* of the coin; default: the system's */
    uint64_t timeout_ns; /* of a request, from its arrival; default: none. The smaller
                            of this and the caller's (CPT_HEADER_TIMEOUT) counts, if
                            the caller is trusted; the executor needs timers. */
    /* Back pressure: requests beyond are answered CPT_OUTCOME_RESOURCE_EXHAUSTED at
     * once. */
    size_t requests_in_flight_max;     /* not answered yet; default 10,000 */
    size_t memory_in_flight_bytes_max; /* of all requests that are not freed; default
                                          1 GiB, at most 1/4 of cpt_memory_max() */
    /* What is recorded has limits of its own; beyond them records are dropped and
     * counted, and paths are flagged as incomplete, but requests are not affected. */
    size_t trace_memory_bytes_max; /* of one request, as in cpt_request_options; default
                                      16 MiB */
    size_t trace_memory_in_flight_bytes_max; /* of all requests that are not freed, and
                                                their records; default 256 MiB, at
                                                most 1/16 of cpt_memory_max() */
    /* How many requests in a second are traced because the header asks; less than 0:
     * no limit. Further ones are untraced unless the coin hits: counters limited_…. */
    double forced_per_second_max; /* of an entry, from outside; default 100 */
    double asked_per_second_max;  /* from callers that are services; default 10,000 */
    /* Is told why requests failed or were refused; default: cpt_notice_print(). */
    cpt_notice_fn notify;
    void *notify_context;
    double notices_per_second_max; /* for each reason; default 1, less than 0: none */
    /* Latencies are those of all requests, for the price of two looks at the clock;
     * else of those that the coin hit, which are a sample. */
    int measures_latency;
    /* Takes the spans of its traced requests, for Jaeger and others: a log queue with
     * the content CPT_LOG_SPANS. Calls then carry a `traceparent` with the id of their
     * own span, which is made where none came. NULL: none are written, and it is passed
     * on as it came. */
    struct cpt_log_queue *spans;
    /* Takes the graphs of requests that are kept whole, for what-if and the like: a log
     * queue with the content CPT_LOG_GRAPHS. NULL: none are, and callers that ask for
     * one are not heeded. */
    struct cpt_log_queue *graphs;
    unsigned graph_every; /* K: an entry keeps the graph of one in K of the requests
                             that its coin or a rule traces; default 0: of none. What
                             callers ask for is kept in any case, up to … */
    double graphs_per_second_max; /* … this many; default 100, less than 0: no limit */
    double drag_share; /* of the requests that an entry traces by itself: these ask for
                          the drag of each segment, too; 0, the default, to 1 */
    /* Two lanes in its executor: requests without slack (CPT_HEADER_SLACK) run first,
     * and one with slack waits for those that come after it, each time that it is its
     * turn; for no longer than this, nor than what is left of its slack. So this bounds
     * starvation: 2 to 20 ms, say. Default 0: one lane; slack that callers send is
     * neither heeded nor sent on. */
    uint64_t slack_wait_ns_max;
};

/* A service without methods, or NULL with the reason in @error. */
CPT_API struct cpt_service *cpt_service_new(const struct cpt_service_options *options,
                                            struct cpt_error *error);

/*
 * Waits until all its requests have finished, also the work after their answers. Call
 * it when the transport has stopped, before the transport and the executor are freed:
 *
 *      the transport stops, drain, then free shared work (cpt_shared.h), the pools, the
 *      services, the transport, the plans, the log queue
 *
 * CPT_OK; CPT_TIMEOUT after @timeout_ns: then free nothing, but end the process.
 */
CPT_API cpt_status cpt_service_drain(struct cpt_service *service, uint64_t timeout_ns);

/* Frees the service once its last request is freed; see cpt_service_drain(). NULL is
 * fine. */
CPT_API void cpt_service_free(struct cpt_service *service);

/*
 * Answers @method with @plan. The plan takes rpc_request, gives rpc_reply, belongs to
 * this service and must outlive it. The entry frame of its requests is
 * "service: method".
 *
 *      "/overlap"               GET, HEAD and POST of this path
 *      "PUT /overlap"           another verb; GET takes HEAD, too
 *      "GET /users/{id}"        a parameter is one segment, not empty
 *      "GET /files/{name...}"   or all that is left, also empty
 *      "*"                      all other paths, with or without a verb before it
 *
 * A path is compared as it came. The method that says most about it is taken: a whole
 * path before one with parameters, and of those the one whose first different segment
 * is a literal. If methods have the path, but none has the verb, the answer is 405 with
 * `Allow`; to OPTIONS, 204 with `Allow`.
 *
 * CPT_OK; CPT_INVALID with the reason; CPT_LIMIT; CPT_NO_MEMORY.
 */
CPT_API cpt_status cpt_service_method_add(struct cpt_service *service,
                                          const char *method,
                                          const struct cpt_plan *plan,
                                          struct cpt_error *error);

/* The options of a method; see cpt_options_read(). */
struct cpt_method_options {
    size_t struct_bytes;
    uint64_t timeout_ns; /* 0: the service's */
};

/* The same with @options, which may be NULL. */
CPT_API cpt_status cpt_service_method_add_with(struct cpt_service *service,
                                               const char *method,
                                               const struct cpt_plan *plan,
                                               const struct cpt_method_options *options,
                                               struct cpt_error *error);

/* Kill switch: 0 stops all tracing at once, 1 allows it again. If cpt_service_new()
 * finds CPT_DISABLE=1 in the environment, tracing is stopped at first. */
CPT_API void cpt_service_enable(struct cpt_service *service, int is_enabled);

/*
 * What else may change while it serves; from any thread. cpt_settings.h reads it from a
 * file.
 *
 * From now on the coin hits with @probability: 0, never, to 1. CPT_INVALID.
 */
CPT_API cpt_status cpt_service_set_probability(struct cpt_service *service,
                                               double probability,
                                               struct cpt_error *error);

/* From now on an entry trusts @networks, ended by NULL, instead of trusted_networks.
 * CPT_INVALID or CPT_LIMIT with the reason; then nothing has changed. */
CPT_API cpt_status cpt_service_set_trust(struct cpt_service *service,
                                         const char *const *networks,
                                         struct cpt_error *error);

CPT_API const char *cpt_service_name(const struct cpt_service *service);
CPT_API const struct cpt_clock *cpt_service_clock(const struct cpt_service *service);

/* --- Counters --- */

/* One number. Pointers are valid until the visit returns. */
struct cpt_counter {
    const char *name;  /* "requests", "blind_spots"; unit at the end if it has one */
    const char *help;  /* a sentence */
    const char *label; /* "callee", "reason"; NULL: none */
    struct cpt_bytes member; /* the value of the label */
    uint64_t value;
    int is_gauge; /* it may fall: what there is now, or a limit of it */
};

/* Visits every counter of @service; those with the same name in a row. */
CPT_API void cpt_service_counters(struct cpt_service *service,
                                  void (*visit)(void *context,
                                                const struct cpt_counter *counter),
                                  void *context);

/* --- Latencies --- */

enum { CPT_LATENCY_BUCKETS = 17 };

/* A request of a bucket, whose trace is known. */
struct cpt_exemplar {
    int is_there;
    unsigned char trace_id[16];
    uint64_t latency_ns;
    uint64_t unix_ns;
};

/* How long the requests of a method took. Valid until the visit returns. */
struct cpt_latency {
    struct cpt_bytes method; /* as it was added */
    size_t bucket_count;
    const uint64_t *bounds_ns; /* the largest of each bucket; the last one has none */
    uint64_t counts[CPT_LATENCY_BUCKETS]; /* of each bucket alone */
    uint64_t sum_ns;
    struct cpt_exemplar exemplars[CPT_LATENCY_BUCKETS];
};

/* Visits the latencies of each method of @service; see measures_latency. */
CPT_API void cpt_service_latencies(struct cpt_service *service,
                                   void (*visit)(void *context,
                                                 const struct cpt_latency *latency),
                                   void *context);

/* --- For transports --- */

/* Where the messages of a request go before its reply. All functions from any thread.
 */
struct cpt_stream {
    /* Takes a copy of @message and returns at once: CPT_OK; CPT_LIMIT: too much has
     * not been taken by the client; CPT_CANCELLED: it has left, or has its reply;
     * CPT_NO_MEMORY. */
    cpt_status (*send)(struct cpt_stream *stream, struct cpt_bytes message);
    /* The service needs the struct from before cpt_service_serve() returns, until the
     * request is gone, which may be after its reply. In pairs. */
    void (*hold)(struct cpt_stream *stream);
    void (*release)(struct cpt_stream *stream);
};

struct cpt_outbound;

/* A request as it came in. Borrowed until cpt_service_serve() returns. */
struct cpt_inbound {
    struct cpt_bytes method;
    struct cpt_bytes query;
    struct cpt_bytes body;
    struct cpt_bytes critical_path; /* the header's value; data NULL: none came */
    unsigned critical_path_count;   /* number of such headers; above 1: refused */
    struct cpt_bytes traceparent;   /* likewise; if several came, pass an empty one */
    struct cpt_bytes peer_address;  /* "127.0.0.1", "::1"; empty: unknown */
    int is_forwarded;    /* it had a header that proxies add, or may have; needed only
                         if cpt_inbound_needs_trust(), as peer_names are */
    uint64_t arrival_ns; /* of the service's clock; 0: now */
    struct cpt_bytes timeout; /* the header's value; data NULL: none came. An entry
                                       heeds it of clients that it trusts */
    unsigned coin;            /* enum cpt_coin, of cpt_service_coin() */
    /* If not NULL: set to a handle of the request, which the transport frees, or to
     * NULL; before the request begins, so before the reply. */
    struct cpt_request_handle **handle;
    struct cpt_bytes verb;           /* "GET"; empty: any */
    const struct cpt_field *headers; /* the first CPT_HEADERS_MAX of them, the nonce of
                                        the ask among them … */
    size_t header_count;             /* … and how many came */
    /* Names of the certificate that the client has shown, verified; see
     * trusted_networks. */
    const struct cpt_bytes *peer_names;
    size_t peer_name_count;
    /* How long the request waited in this machine before arrival_ns, as far as that is
     * known: more ‹accept queue›. No deadline begins there. */
    uint64_t waited_ns;
    struct cpt_stream *stream; /* NULL: there are no messages before the reply */
    int has_outcomes; /* its client knows outcomes, as with gRPC: records, spans and the
                         operator are told "NOT_FOUND" and the message, not a status of
                         HTTP */
    /* How many bytes, raw, a path may have beside all else in the headers of @outbound,
     * which has no metadata yet: cpt_path_bytes_left(). Called just before the reply,
     * on its thread, with its context, if a path is to go with it. NULL: any path that
     * the ask allows. */
    size_t (*path_room)(void *context, const struct cpt_outbound *outbound);
    struct cpt_bytes slack; /* the header's value, likewise as `timeout` */
};

/* What a service answers. Borrowed until cpt_reply_fn returns. */
struct cpt_outbound {
    unsigned http_status; /* for HTTP; it may be one of no outcome, as 201 */
    struct cpt_bytes content_type;
    struct cpt_bytes body;
    struct cpt_bytes metadata;       /* the path as raw bytes; empty: send no header */
    unsigned outcome;                /* enum cpt_outcome, never NONE */
    const struct cpt_field *headers; /* send those that cpt_field_is_sendable() takes */
    size_t header_count;
    int is_unknown_method; /* no method takes the path: gRPC has a status for that */
    int is_stream; /* as in struct cpt_rpc_reply; the body is a message if not empty */
};

typedef void (*cpt_reply_fn)(void *context, const struct cpt_outbound *outbound);

/* Whether @inbound has something that an entry heeds only of clients that it trusts: an
 * ask, a timeout, slack, or a header that cpt_header_is_propagated(). */
CPT_API int cpt_inbound_needs_trust(const struct cpt_inbound *inbound);

/* 0: tracing is stopped by the kill switch. */
CPT_API int cpt_service_is_enabled(const struct cpt_service *service);

enum cpt_coin {
    CPT_COIN_NONE = 0, /* not thrown: cpt_service_serve() throws it if tracing is on */
    CPT_COIN_HIT = 1,  /* the request is traced: stamp its arrival */
    CPT_COIN_MISSED = 2, /* traced only if the header asks */
    CPT_COIN_LATER = 3   /* rules decide when the request is known: stamp its arrival */
};

/* Throws the coin for a request that has just come, before its arrival is stamped; for
 * struct cpt_inbound.coin. CPT_COIN_NONE if tracing is stopped. */
CPT_API unsigned cpt_service_coin(struct cpt_service *service);

/*
 * Answers one request: @reply is called exactly once in any case, on any thread, before
 * or after this returns.
 */
CPT_API void cpt_service_serve(struct cpt_service *service,
                               const struct cpt_inbound *inbound, cpt_reply_fn reply,
                               void *context);

/* Why a transport refuses a request that its service never sees. */
enum cpt_refusal {
    CPT_REFUSAL_MALFORMED = 1, /* it is no request, or one of two meanings */
    CPT_REFUSAL_LARGE = 2,
    CPT_REFUSAL_VERB = 3,
    CPT_REFUSAL_FOREIGN = 4, /* for another server's name, or for another site's page */
    CPT_REFUSAL_SLOW = 5,    /* it took too long to come */
    CPT_REFUSAL_FULL = 6,    /* all requests together take too much */
    CPT_REFUSAL_CLIENTS = 7, /* its client has too many connections */
    CPT_REFUSAL_UNREAD = 8,  /* clients do not take their replies */
    CPT_REFUSAL_MEMORY = 9
};

/*
 * Tells the operator of @service (cpt_notice.h) that the transport has refused a
 * request for @method (empty: it is not known) with @http_status (0: without an
 * answer), for enum cpt_refusal @refusal and the reason @sentence. Counts nothing,
 * allocates nothing. Any thread.
 */
CPT_API void cpt_service_refused(struct cpt_service *service, unsigned refusal,
                                 unsigned http_status, struct cpt_bytes method,
                                 struct cpt_bytes sentence);

/* A call on its way. Borrowed until cpt_transport_complete(). */
struct cpt_transport_call {
    const char *target;
    const char *method;
    struct cpt_bytes body;
    struct cpt_bytes critical_path; /* header to send; empty: send none */
    struct cpt_bytes traceparent;   /* likewise: it came, or was made, or of its span */
    size_t metadata_bytes_max;      /* of the reply's metadata, raw; more is ignored */
    uint64_t timeout_ns;            /* from now on; more than 0 */
    void *state;                    /* the transport's; NULL at first */
    /* The request has a deadline: tell the callee how much of timeout_ns is left when
     * the call is sent; see CPT_HEADER_TIMEOUT. */
    int has_deadline;
    struct cpt_bytes verb;           /* "PUT"; empty: the transport's default */
    const struct cpt_field *headers; /* send those that cpt_call_field_is_sendable() */
    size_t header_count;
    const char *const *reply_headers; /* those that the reply should have, ended by
                                         NULL; NULL: none */
    /* The attempt before this one, of the same stub, or NULL: this one should go to
     * another target. It may have ended: then its state is NULL, and nothing of it but
     * `choice` and `previous` may be read. */
    const struct cpt_transport_call *previous;
    uint64_t choice; /* the transport's: which target it has chosen; 0 at first */
    struct cpt_bytes tracestate; /* header to send; empty: send none */
    int is_stream;               /* read messages until the end */
    /* The callee may carry it out twice, whatever its verb. Else a transport that
     * cannot know whether the callee has seen a call never sends it again. */
    int is_idempotent;
    struct cpt_bytes nonce; /* header to send with critical_path; empty: send none */
    /* CPT_HEADER_SLACK to send, less what the call waited for a connection, if that is
     * known; 0: send none. */
    uint64_t slack_ns;
};

/* The header that says how long the caller waits: whole microseconds, in decimal
 * digits. The service takes the smaller of this and its own limit, an entry only of
 * clients that it trusts (`untrusted_timeouts` counts the others). */
#define CPT_HEADER_TIMEOUT "cpt-timeout"

/* The header that says how much later than usual the answer may come: whole
 * microseconds, in decimal digits. A service heeds it if it has lanes
 * (slack_wait_ns_max), an entry only of clients that it trusts (`untrusted_slacks`
 * counts the others). Each hop takes off what it has used. */
#define CPT_HEADER_SLACK "cpt-slack"

enum {
    CPT_PROPAGATED_MAX = 7, /* headers that go on to callees */
    CPT_BAGGAGE_BYTES_MAX =
        8192, /* of these, `baggage`: its standard wants as much … */
    CPT_BAGGAGE_MEMBERS_MAX = 64, /* … and as many; members beyond are left out */
    CPT_B3_BYTES_MAX = 256        /* each of the others; longer ones are dropped */
};

/*
 * Whether a header of this name goes on to callees as it came, in each call, traced or
 * not: `baggage` of W3C, and B3 of Zipkin: `b3`, `x-b3-traceid`, `x-b3-spanid`,
 * `x-b3-parentspanid`, `x-b3-sampled`, `x-b3-flags`. The service takes them of the
 * headers of the request, an entry only of clients that it trusts
 * (`untrusted_propagated` counts the others), and adds them to the headers of
 * calls, unless the program has set its own there.
 */
CPT_API int cpt_header_is_propagated(struct cpt_bytes name);

/* How a call ended. Borrowed until cpt_transport_complete() returns. */
struct cpt_transport_reply {
    cpt_status status; /* CPT_OK: answered; CPT_TIMEOUT; CPT_UNAVAILABLE: no connection;
                   CPT_IO: broken on the way; CPT_CORRUPT; CPT_LIMIT: too large */
    unsigned http_status; /* of HTTP; 0: that of the outcome */
    struct cpt_bytes body;
    struct cpt_bytes metadata; /* raw; empty: none came */
    int is_metadata_bad;       /* it was not base64, or came more than once */
    int is_metadata_large;     /* it was more than metadata_bytes_max */
    int is_cached;             /* the reply had `Age` */
    unsigned outcome; /* of an answer: enum cpt_outcome; NONE: http_status says it */
    /* The first of each of `reply_headers`; others are ignored. */
    const struct cpt_field *headers;
    size_t header_count;
    struct cpt_bytes why; /* of a failure, for people: "certificate has expired"; may be
                             empty */
    /* What the call waited for in queues of this process, if that is known: before its
     * last bytes left, and between the arrival of the reply and now. */
    uint64_t send_queue_ns;
    uint64_t receive_queue_ns;
    const struct cpt_bytes *messages; /* of a stream */
    size_t message_count;
    /* Of an error over gRPC: what the callee says about it, for people; data NULL: of
     * another protocol, or no error. Then `outcome` is told by its name. */
    struct cpt_bytes message;
};

/* How calls reach other processes. All functions from any thread. */
struct cpt_transport {
    const char *name; /* shown beside the time a call waited for a connection */
    /* Starts @call; completes it exactly once, from any thread, also from within. */
    void (*send)(struct cpt_transport *transport, struct cpt_transport_call *call);
    /* The caller no longer waits for @call: end it soon, as CPT_CANCELLED; it is still
     * completed exactly once. Called at most once, after send() has returned. If @call
     * is complete already, there is nothing to do. Its memory stays until this returns.
     * May be NULL. */
    void (*cancel)(struct cpt_transport *transport, struct cpt_transport_call *call);
};

/* The call has got a connection. At most once, before the call completes. */
CPT_API void cpt_transport_sent(struct cpt_transport_call *call);

/* The call goes to @target, one of several. Before the call completes, and again if it
 * goes elsewhere. @target is copied. */
CPT_API void cpt_transport_picked(struct cpt_transport_call *call,
                                  struct cpt_bytes target);

/* The call has ended. Call this as soon as the reply is there: it stamps the time. */
CPT_API void cpt_transport_complete(struct cpt_transport_call *call,
                                    const struct cpt_transport_reply *reply);

CPT_END_DECLS

#endif
