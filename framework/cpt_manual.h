/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_manual.h - critical paths of services that are not written as task graphs
 *
 * Code that handles a request on a thread of its own, in any framework, says what it
 * does: it enters and leaves a part, makes a call, waits. The result is a path like any
 * other: the same header asks for it and another returns it, the same log keeps it, and
 * it is spliced with those of its callers and callees.
 *
 *      request   |=========================================================|
 *      say       new   enter   call_begin  wait_begin   wait_end  leave   end
 *                                    call_end (inside or outside a wait)
 *      path      [ A: / ][ A: search ][   B: /lookup   ][ A: search ][ A: / ]
 *
 *      struct cpt_manual *manual = cpt_manual_new(service, &inbound);
 *
 *      cpt_manual_enter(manual, "search");
 *      call = cpt_manual_call_begin(manual, "B: /lookup");
 *      ... send, with the headers critical-path: cpt_manual_call_ask(manual, call)
 *                 and critical-path-nonce: cpt_manual_call_nonce(manual, call)
 *      cpt_manual_wait_begin(manual);
 *      ... receive
 *      cpt_manual_call_end(manual, call, &reply);
 *      cpt_manual_wait_end(manual);
 *      cpt_manual_leave(manual);
 *      metadata = cpt_manual_end_within(manual, cpt_path_bytes_left(...));
 *      ... answer, with the header critical-path-bin: metadata in base64
 *      cpt_manual_free(manual, 200);
 *
 * The service is one of cpt_rpc.h. It gives the name, the role, the coin, the limits,
 * the counters, the log and the kill switch. It needs no methods, but may have some.
 *
 * Most requests are not traced. For those cpt_manual_new() returns NULL; every function
 * here takes NULL and then returns at once, but cpt_manual_fail().
 *
 * A wait is charged to the call that ended last within it. So waiting for the first of
 * several calls and waiting for all look the same: a wait, and in it the calls that
 * end. A call that ends outside of a wait delayed nothing: its reply came before it was
 * needed. A wait in which no call ends is ‹unattributed›. Code that begins a call or a
 * part, or leaves one, within a wait runs then: calls that had ended come before that,
 * and the wait goes on behind it.
 *
 * If its caller asks for drags (`critical-path: 1;drag`), the path has them, by what is
 * told: a wait needed all calls that ended within it, and what follows the end of a
 * call outside of waits needed that one. If it did not, the drag is smaller than what
 * would be gained, never larger. A wait without a call lasts as long as it did.
 *
 * A request that is kept whole (docs/sampling.md) is written to the service's log of
 * graphs, with all parts, waits and calls that ended, by the same rules. Callees find
 * their place in it by the ids that cpt_manual_call_ask() gives to calls. If some of it
 * had no memory, or more than 8,192 calls ended outside of waits, or within one beside
 * others, it is lost, and counted (graphs_lost).
 *
 * If the service has measures_cpu, time in which no processor ran a part is shown as
 * ‹off CPU›; then one thread must handle the request from begin to end.
 *
 * Threads: one at a time for each request; any number of requests at once.
 */
#ifndef CPT_MANUAL_H
#define CPT_MANUAL_H

#include "cpt_rpc.h"

CPT_BEGIN_DECLS

struct cpt_manual;      /* one request */
struct cpt_manual_call; /* one call of it */
struct cpt_path;

/*
 * Decides about the request @inbound, as cpt_service_serve() does. Reads its method,
 * critical_path and count, peer address, forwarding, traceparent, headers (for
 * tracestate, the nonce of the ask, B3 and baggage), arrival and coin.
 * NULL: the request is not traced, or there is no memory. @service must live until
 * cpt_manual_free(); cpt_service_drain() waits until the record is written.
 */
CPT_API struct cpt_manual *cpt_manual_new(struct cpt_service *service,
                                          const struct cpt_inbound *inbound);

/*
 * The same, but a request that is not traced has an object too, so that its calls carry
 * what it came with (cpt_manual_traceparent(), cpt_manual_tracestate(),
 * cpt_manual_propagated()), or what is made in its place. All else does nothing on it,
 * as on NULL: it asks for no path. NULL: there is nothing to carry, as tracing is
 * stopped, or there is no memory.
 */
CPT_API struct cpt_manual *cpt_manual_new_carrying(struct cpt_service *service,
                                                   const struct cpt_inbound *inbound);

/* Whether there is a path to be told. NULL: no. */
CPT_API int cpt_manual_is_traced(const struct cpt_manual *manual);

/* From now on time belongs to @part ("search", shown as "A: search"; "" or NULL:
 * "unnamed"), which stands below the part that was entered before, until it is left. A
 * leave without an enter has no effect, but is counted (cpt_misuse_count()). */
CPT_API void cpt_manual_enter(struct cpt_manual *manual, const char *part);
CPT_API void cpt_manual_leave(struct cpt_manual *manual);

/* The value of the header CPT_HEADER_ASK for calls; empty: send none. Valid until
 * cpt_manual_free(). It is the same for all: in graphs that are kept, a callee that was
 * asked so is a constant. See cpt_manual_call_ask(). */
CPT_API struct cpt_bytes cpt_manual_ask(const struct cpt_manual *manual);

/* The values of CPT_HEADER_TRACEPARENT and CPT_HEADER_TRACESTATE for calls: as they
 * came (the latter if the inbound has its headers), or made. Empty: send none. Valid
 * until cpt_manual_free(). NULL has none: see cpt_manual_new_carrying(). */
CPT_API struct cpt_bytes cpt_manual_traceparent(const struct cpt_manual *manual);
CPT_API struct cpt_bytes cpt_manual_tracestate(const struct cpt_manual *manual);

/*
 * The headers of others that go with calls as they came: baggage and B3, see
 * cpt_header_is_propagated(). Sets *@fields to them, at most CPT_PROPAGATED_MAX, and
 * returns how many; their values have only visible ASCII and blanks. Valid until
 * cpt_manual_free(). The inbound must have its headers. A call that the program gives
 * `baggage` of its own is sent without ours, and likewise one with any header of B3.
 */
CPT_API size_t cpt_manual_propagated(const struct cpt_manual *manual,
                                     const struct cpt_field **fields);

/* A call of @callee ("B: /lookup"; "" or NULL: "unnamed") is sent now. NULL: it is not
 * traced, or there is no memory, and its time is not attributed to it. Valid until
 * cpt_manual_end(). */
CPT_API struct cpt_manual_call *cpt_manual_call_begin(struct cpt_manual *manual,
                                                      const char *callee);

/* The same for @call, which may be NULL: with an id of its own, if the graph of the
 * request is kept and there is memory. An attempt is a call. Valid until
 * cpt_manual_free(). */
CPT_API struct cpt_bytes cpt_manual_call_ask(struct cpt_manual *manual,
                                             struct cpt_manual_call *call);

/*
 * The same beside @header_count other headers of the call, of @headers_bytes as
 * cpt_ask_has_room() counts. Empty if they leave no room: send neither an ask nor a
 * nonce; the call becomes a blind spot, CPT_REASON_LIMIT. For callers that know what
 * they send, as callees limit all headers of a request together.
 */
CPT_API struct cpt_bytes cpt_manual_call_ask_beside(struct cpt_manual *manual,
                                                    struct cpt_manual_call *call,
                                                    size_t headers_bytes,
                                                    size_t header_count);

/*
 * The value of the header CPT_HEADER_NONCE, which goes with the ask of @call: a path
 * that comes back with another one was kept by a cache, and is ignored. It is random
 * for each call, so an attempt is a call. Empty: send none, also if its ask had no
 * room. Valid until cpt_manual_free().
 */
CPT_API struct cpt_bytes cpt_manual_call_nonce(struct cpt_manual *manual,
                                               struct cpt_manual_call *call);

/* How a call ended. */
struct cpt_manual_reply {
    cpt_status status; /* CPT_OK: answered; CPT_TIMEOUT: given up; else it failed */
    unsigned attempt;  /* 1, 2 … of a call that was tried several times; else 0 */
    int is_cached;     /* the reply came from a cache: it had `Age` */
    /* The header CPT_HEADER_PATH as it came, base64; data NULL: none. */
    struct cpt_bytes metadata_text;
    /* Or the decoded value, for transports that decode it themselves. */
    struct cpt_bytes metadata;
    unsigned outcome; /* over gRPC: enum cpt_outcome; the path shows that of an error as
                         the label `status`, "NOT_FOUND"; NONE: it does not */
};

/* The reply has come now. @reply is borrowed until this returns; NULL: an answer
 * without a path. A call ends once; one that does not end delayed nothing. */
CPT_API void cpt_manual_call_end(struct cpt_manual *manual,
                                 struct cpt_manual_call *call,
                                 const struct cpt_manual_reply *reply);

/* The thread begins to wait for calls; it continues. A begin within a wait, and an end
 * without one, have no effect. */
CPT_API void cpt_manual_wait_begin(struct cpt_manual *manual);
CPT_API void cpt_manual_wait_end(struct cpt_manual *manual);

/* Sets an attribute for the log; see cpt_request_set_text(). @text NULL: ""; without a
 * key nothing is set. */
CPT_API void cpt_manual_set_text(struct cpt_manual *manual, const char *key,
                                 const char *text);

/* Why a request fails. */
struct cpt_manual_failure {
    size_t struct_bytes;
    unsigned reason;         /* enum cpt_failure; else: CPT_FAILURE_TASK */
    const char *sentence;    /* for people; at most 511 bytes of it */
    struct cpt_bytes method; /* of a request that is not traced: as it came in … */
    unsigned http_status;    /* … and what is answered; 0: 500 */
};

/*
 * The request fails, whatever is answered, and why: for its record, the counters and
 * the operator (cpt_notice.h), as cpt_fail() says it of a task. Before
 * cpt_manual_free(), which counts and tells it with the status that it is given; the
 * first one stands. @manual NULL: a request of @service that is not traced, which is
 * counted and told at once. A request that is freed with 5xx and has told nothing fails
 * as CPT_FAILURE_ANSWER. @failure is borrowed until this returns.
 */
CPT_API void cpt_manual_fail(struct cpt_manual *manual, struct cpt_service *service,
                             const struct cpt_manual_failure *failure);

/*
 * The answer is ready: leaves all parts, fixes the latency and makes the path. Returns
 * the metadata for the answer, raw; empty if the caller did not ask: then send no
 * header. Valid until cpt_manual_free(). A second call returns the same.
 */
CPT_API struct cpt_bytes cpt_manual_end(struct cpt_manual *manual);

/*
 * The same where the path shares the answer's headers with others: the metadata have at
 * most @path_bytes_max bytes, and are empty if not even the sum of the path fits. Take
 * it from cpt_path_bytes_left() when all other headers are known:
 *
 *      cpt_manual_end_within(manual,
 *                            cpt_path_bytes_left(CPT_HEADERS_BYTES_HTTP, bytes, 1));
 */
CPT_API struct cpt_bytes cpt_manual_end_within(struct cpt_manual *manual,
                                               size_t path_bytes_max);

/* The path, after cpt_manual_end(); NULL if there is none. */
CPT_API const struct cpt_path *cpt_manual_path(const struct cpt_manual *manual);

/*
 * What is answered, in the words of gRPC: @outcome (enum cpt_outcome) and, of an error,
 * @message for people, 256 bytes of it. Record and operator are told these, and not the
 * status that cpt_manual_free() is given. Before that; it is borrowed until this
 * returns.
 */
CPT_API void cpt_manual_answered(struct cpt_manual *manual, unsigned outcome,
                                 struct cpt_bytes message);

/* Ends the request if it has not ended, logs it if the service is to log it, and frees.
 * @http_status is what was answered; with another protocol,
 * cpt_outcome_http_status(). */
CPT_API void cpt_manual_free(struct cpt_manual *manual, unsigned http_status);

CPT_END_DECLS

#endif
