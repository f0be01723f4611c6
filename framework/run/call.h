/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * call.h - the record of a call, as the walk of its request opens it
 *
 * Calls are made in service/calls.c. A request knows their records only (struct
 * cpt_trace_call), and tells its service through an observer what is to be counted.
 */
#ifndef CPT_CALL_H
#define CPT_CALL_H

#include "framework/run/request.h"

/* The last call of a request that failed, if no later one of its stub succeeded: why
 * the request fails, if it does. In the request's arena; guarded by its lock. */
struct cpti_failed_call {
    const struct cpt_stub *stub;    /* NULL: it was a call of a run within */
    cpt_status status;              /* CPT_OK: there was an answer, which said so */
    uint32_t task;                  /* number + 1 of the task that made it */
    const struct cpt_pending *call; /* or NULL */
    char text[CPTI_FAILED_CALL_BYTES];
};

/* Counts what becomes of the calls of a request to other services. @call is the record.
 * Threads: any. The lock of the request may be held. */
struct cpti_call_observer {
    /* The caller no longer waits: CPT_TIMEOUT if its deadline passed, else it was
     * cancelled. */
    void (*given_up)(struct cpti_call_observer *observer,
                     const struct cpt_trace_call *call, cpt_status status);
    /* The call has no path; the reason is in @call. */
    void (*blind_spot)(struct cpti_call_observer *observer,
                       const struct cpt_trace_call *call);
    /* The reply of a call has brought a path of @bytes bytes, which is kept; and the
     * walk has found the call on the critical path, and decodes it. */
    void (*kept)(struct cpti_call_observer *observer, size_t bytes);
    void (*opened)(struct cpti_call_observer *observer, size_t bytes);
    /* See struct cpt_trace.spliced. */
    void (*spliced)(struct cpti_call_observer *observer,
                    const struct cpt_trace_call *call, uint64_t overcount_ns,
                    uint64_t undercount_ns, int is_inconsistent);
    /* A timer of a request could not be set. */
    void (*timer_failed)(struct cpti_call_observer *observer);
    /* A path that should have drags was made with them, or, if not @are_made, without,
     * as the request is too large. */
    void (*dragged)(struct cpti_call_observer *observer, bool are_made);
    /* @count drags that the callee sent were above their segments. */
    void (*clamped)(struct cpti_call_observer *observer,
                    const struct cpt_trace_call *call, uint64_t count);
    /* The path in the reply of @call was made for another call: it is ignored. */
    void (*stale)(struct cpti_call_observer *observer,
                  const struct cpt_trace_call *call);
};

/* A number for the nonce of a call that goes out at @now_ns: not 0, and one that no
 * other call has, of this process or of another. Any thread. Only the first asks the
 * system. */
uint64_t cpti_call_nonce(uint64_t now_ns);

/* Makes the path of the callee of @call, or of the run within the request, from its
 * reply. After an error the reason is in @call. @observer may be NULL. */
cpt_status cpti_call_open(struct cpti_call_observer *observer,
                          const struct cpt_alloc *alloc, struct cpt_trace_call *call,
                          struct cpt_path *callee);

/* Counts what splicing the path of the callee found. @observer may be NULL. */
void cpti_call_spliced(struct cpti_call_observer *observer,
                       const struct cpt_trace_call *call, uint64_t overcount_ns,
                       uint64_t undercount_ns, int is_inconsistent);

/* Counts a timer of @request that could not be set. */
void cpti_timer_failed(const struct cpt_request *request);

/* Counts a call that its caller no longer waits for. No effect if @pending is no call
 * of another service. Lock held. */
void cpti_call_given_up(const struct cpt_pending *pending);

/* Keeps @text, "'B: Lookup' answered 503", as why @request may fail. Only where a call
 * has failed; without memory nothing is kept. Lock held. */
void cpti_call_failed(struct cpt_request *request, const struct cpt_stub *stub,
                      cpt_status status, uint32_t task, const char *text);

/* Keeps that the call @pending of @task had no answer after @timeout_ns. Lock held. */
void cpti_call_was_late(const struct cpt_pending *pending, const struct cpt_task *task,
                        uint64_t timeout_ns);

/* A copy of what is kept of @request, which has ended; false: nothing is. Lock not
 * held. */
bool cpti_call_failure(struct cpt_request *request, struct cpti_failed_call *copy);

#endif
