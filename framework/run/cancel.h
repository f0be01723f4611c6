/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cancel.h - what is out for a request, and how it is told to stop; see cancel.c */
#ifndef CPT_CANCEL_H
#define CPT_CANCEL_H

#include "cpt/cpt_alloc.h"
#include "cpt/cpt_name.h"

#include <stdbool.h>

struct cpt_pending;
struct cpt_request;
struct cpt_request_handle;

/*
 * Something that goes on outside the tasks of a request: a timer, a call, work of
 * somebody else. It is in the request's list until it ends or is told, whichever comes
 * first, so it is told at most once.
 */
struct cpti_outside {
    struct cpti_outside *next; /* guarded by the request's lock, as are the next two */
    struct cpti_outside *previous;
    bool is_listed;
    /* Nobody wants it any more. Called without locks, by somebody who holds a reference
     * to the request; it may be ending just now. NULL: nobody can be told. */
    void (*tell)(struct cpti_outside *outside);
    struct cpt_pending *pending; /* which it completes; NULL: a deadline */
};

/* Lists @outside, whose `tell` is set. Lock held. */
void cpti_outside_add(struct cpt_request *request, struct cpti_outside *outside);

/* Takes it off the list if it is there; 1: it was. Lock held. */
int cpti_outside_remove(struct cpt_request *request, struct cpti_outside *outside);

/* Takes it off the list and puts it before @chain, if it was there. Lock held. */
struct cpti_outside *cpti_outside_take(struct cpt_request *request,
                                       struct cpti_outside *outside,
                                       struct cpti_outside *chain);

/* Tells all of @chain. Lock not held; the caller has a reference to the request. */
void cpti_outside_tell(struct cpti_outside *chain);

/* Ends all that is out for @request, which has failed, as CPT_CANCELLED or with its
 * CPT_TIMEOUT, and tells it. No task goes on because of it. Lock not held; the caller
 * has a reference. */
void cpti_request_cancel_works(struct cpt_request *request);

/* --- A request, cancelled from outside --- */

/* Ends @request as CPT_CANCELLED; 1: it had not ended before. The caller knows that its
 * memory stays, even if nothing of it runs any more. Lock not held. */
int cpti_request_cancel(struct cpt_request *request);

/* A handle for @request, which has none and is not launched yet; NULL without memory.
 */
struct cpt_request_handle *cpti_handle_new(struct cpt_request *request,
                                           const struct cpt_alloc *alloc);

/* The request goes. */
void cpti_handle_detach(struct cpt_request *request);

/* --- deadline.c: how long a request may take --- */

/* From @arrival_ns (0: now), before it is launched. CPT_OK; the executor's own. */
cpt_status cpti_limit_begin(struct cpt_request *request, uint64_t timeout_ns,
                            uint64_t arrival_ns, struct cpt_error *error);

/* The request has ended well: forgets its timer. Lock not held. */
void cpti_limit_end(struct cpt_request *request);

/* The request ends although its tasks go on: notes on the trace what held it up, and
 * says so in a sentence. Lock held. */
const char *cpti_request_break_off(struct cpt_request *request, cpt_status status);

/* What is left of @request's time; UINT64_MAX: it has all the time. */
uint64_t cpti_request_remaining_ns(const struct cpt_request *request);

/* "1500", in us, as ns; hostile values are bounded. CPT_OK, CPT_CORRUPT. */
cpt_status cpti_timeout_parse(struct cpt_bytes text, uint64_t *timeout_ns);

#endif
