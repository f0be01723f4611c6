/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_manual.h - critical paths of services that are not written as task graphs
 *
 * Code that handles a request on a thread of its own, in whatever framework, says what
 * it does: that it enters and leaves a part, calls somebody, waits. What comes out is a
 * path like any other: it is asked for by the same header, returned in the same one,
 * logged in the same log, and merges with those of its callers and callees.
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
 *      ... send, with the header critical-path: cpt_manual_ask(manual)
 *      cpt_manual_wait_begin(manual);
 *      ... receive
 *      cpt_manual_call_end(manual, call, &reply);
 *      cpt_manual_wait_end(manual);
 *      cpt_manual_leave(manual);
 *      metadata = cpt_manual_end(manual);
 *      ... answer, with the header critical-path-bin: metadata in base64
 *      cpt_manual_free(manual, 200);
 *
 * The service is one of cpt_rpc.h without methods. It has the name, the role, the coin,
 * the limits, the counters, the log and the kill switch; it may have methods besides.
 *
 * Most requests are not traced. For those cpt_manual_new() returns NULL, and every
 * function here takes NULL and does nothing but look at it.
 *
 * What a wait waited for: the call that ended last within it. So waiting for the first
 * of several, or for all, is the same: a wait, and in it the calls that end. A call
 * that ends outside of any wait has held up nothing, as its reply was there before it
 * was wanted. A wait in which no call ends is ‹unattributed›.
 *
 * With measures_cpu of the service the time in which no processor ran a part is shown
 * as ‹off CPU›; the thread that handles the request is then the same from begin to end.
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
 * Decides on the request @inbound, of which method, critical_path, its count, peer
 * address, forwarding, traceparent, arrival and coin are read, as cpt_service_serve()
 * does. NULL: it is not traced, or there is no memory for it. @service must be there
 * until cpt_manual_free(); cpt_service_drain() waits for the record's being written.
 */
CPT_API struct cpt_manual *cpt_manual_new(struct cpt_service *service,
                                          const struct cpt_inbound *inbound);

/* From here on time is that of @part ("search": shown as "A: search"), below where it
 * was, until it is left. */
CPT_API void cpt_manual_enter(struct cpt_manual *manual, const char *part);
CPT_API void cpt_manual_leave(struct cpt_manual *manual);

/* What callees are to be asked with, for the header CPT_HEADER_ASK; empty: send none.
 * Good till cpt_manual_free(). */
CPT_API struct cpt_bytes cpt_manual_ask(const struct cpt_manual *manual);

/* A call as @callee ("B: /lookup") is sent now. NULL if it is not traced, or without
 * memory: then it is nobody's time. Good till cpt_manual_end(). */
CPT_API struct cpt_manual_call *cpt_manual_call_begin(struct cpt_manual *manual,
                                                      const char *callee);

/* How a call ended. */
struct cpt_manual_reply {
    cpt_status status; /* CPT_OK: answered; CPT_TIMEOUT: given up; else it failed */
    unsigned attempt;  /* 1, 2 … of a call that was tried several times; else 0 */
    int is_cached;     /* the reply came out of a cache: it had `Age` */
    /* The header CPT_HEADER_PATH as it came, base64; data NULL: none. */
    struct cpt_bytes metadata_text;
    /* Or what was in it, for transports that decode it themselves. */
    struct cpt_bytes metadata;
};

/* Its reply is here, now. @reply is read before it returns; NULL: answered, without a
 * path. A call ends once; one that never does held up nothing. */
CPT_API void cpt_manual_call_end(struct cpt_manual *manual,
                                 struct cpt_manual_call *call,
                                 const struct cpt_manual_reply *reply);

/* The thread does nothing but wait from here on; it goes on. */
CPT_API void cpt_manual_wait_begin(struct cpt_manual *manual);
CPT_API void cpt_manual_wait_end(struct cpt_manual *manual);

/* An attribute for the log, as cpt_request_set_text(). */
CPT_API void cpt_manual_set_text(struct cpt_manual *manual, const char *key,
                                 const char *text);

/*
 * The answer is ready: fixes the latency and makes the path. What was entered is left.
 * The metadata for the answer, raw; empty if nobody asked: then no header is to be
 * sent. Good till cpt_manual_free(). A second time: the same.
 */
CPT_API struct cpt_bytes cpt_manual_end(struct cpt_manual *manual);

/* The path, after cpt_manual_end(); NULL if there is none. */
CPT_API const struct cpt_path *cpt_manual_path(const struct cpt_manual *manual);

/* Ends it if it has not ended, hands the record to the service's log if it is to have
 * one, with the status that was answered, and frees. */
CPT_API void cpt_manual_free(struct cpt_manual *manual, unsigned http_status);

CPT_END_DECLS

#endif
