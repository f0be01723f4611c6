/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cancel.h - what is out for a request, and how it is told to stop; see cancel.c */
#ifndef CPT_CANCEL_H
#define CPT_CANCEL_H

struct cpt_pending;
struct cpt_request;

/*
 * Something that goes on outside the tasks of a request: a timer, a call, work of
 * somebody else. It is in the request's list until it ends or is told, whichever comes
 * first, so it is told at most once.
 */
struct cpti_outside {
    struct cpti_outside *next; /* guarded by the request's lock, as are the next two */
    struct cpti_outside *previous;
    unsigned char is_listed;
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

/* Ends all that is out for @request as CPT_CANCELLED, and tells it. No task goes on
 * because of it. Lock not held; the caller has a reference. */
void cpti_request_cancel_works(struct cpt_request *request);

#endif
