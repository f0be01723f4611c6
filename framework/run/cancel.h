/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cancel.h - what is ongoing for a request, and how it is told to stop; see cancel.c */
#ifndef CPT_CANCEL_H
#define CPT_CANCEL_H

#include <stdbool.h>

struct cpt_pending;
struct cpt_request;

/*
 * Something ongoing outside the tasks of a request that can be told to stop: a timer, a
 * call, work elsewhere. It is in the list of the request until it ends or is told,
 * whichever comes first, so it is told at most once. All but `cancel` is guarded by the
 * lock of the request.
 */
struct cpti_cancellable {
    struct cpti_cancellable *next;
    struct cpti_cancellable *previous;
    bool is_listed;
    /* Its result is no longer wanted. Called without locks, with a reference to the
     * request held; it may be ending at the same time. NULL: it cannot be told. */
    void (*cancel)(struct cpti_cancellable *cancellable);
    struct cpt_pending *pending; /* which it completes; NULL: a deadline or a wait */
};

/* Lists @cancellable, whose `cancel` is set. Lock held. */
void cpti_cancellable_add(struct cpt_request *request,
                          struct cpti_cancellable *cancellable);

/* Takes it off the list; false: it was not there. Lock held. */
bool cpti_cancellable_remove(struct cpt_request *request,
                             struct cpti_cancellable *cancellable);

/* Moves it from the list to the front of @chain; the new chain. Lock held. */
struct cpti_cancellable *cpti_cancellable_take(struct cpt_request *request,
                                               struct cpti_cancellable *cancellable,
                                               struct cpti_cancellable *chain);

/* Tells each of @chain. The caller has a reference to the request. Lock not held. */
void cpti_cancellable_cancel_all(struct cpti_cancellable *chain);

/* Ends what is ongoing for @request, which has failed: as CPT_TIMEOUT if the request
 * has, else as CPT_CANCELLED. No task goes on. The caller has a reference. Lock not
 * held. */
void cpti_request_cancel_ongoing(struct cpt_request *request);

#endif
