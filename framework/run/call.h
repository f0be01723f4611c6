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
    /* See struct cpt_trace.spliced. */
    void (*spliced)(struct cpti_call_observer *observer,
                    const struct cpt_trace_call *call, uint64_t overcount_ns,
                    uint64_t undercount_ns, int is_inconsistent);
    /* A timer of a request could not be set. */
    void (*timer_failed)(struct cpti_call_observer *observer);
};

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

#endif
