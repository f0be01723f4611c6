/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cancel.h - what is ongoing for a request, and how it is told to stop; see cancel.c */
#ifndef CPT_CANCEL_H
#define CPT_CANCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct cpt_pending;
struct cpt_request;
struct cpt_task;
struct cpti_resource;

/*
 * Something ongoing outside the tasks of a request that can be told to stop: a timer, a
 * call, work elsewhere. It is in the list of the request until it ends or is told to
 * stop, whichever comes first, so it is told at most once. The lock of the request
 * guards all but `cancel`.
 */
struct cpti_cancellable {
    LIST_ENTRY(cpti_cancellable) link;
    bool is_listed;
    /* Its result is no longer wanted. Called without locks, with a reference to the
     * request held; it may be ending at the same time. NULL: it cannot be told. */
    void (*cancel)(struct cpti_cancellable *cancellable);
    struct cpt_pending *pending; /* which it completes; NULL: it completes none */
};

LIST_HEAD(cpti_cancellables, cpti_cancellable);

/* A lock that a task holds. If the task fails or does not go on, none of its steps
 * will release the lock: so `cancel` does. In memory of the request, whose lock guards
 * it. */
struct cpti_held {
    struct cpti_cancellable cancellable; /* in cpt_request.held_locks */
    const struct cpti_resource *resource;
    uint32_t task;   /* its number */
    uint64_t tenant; /* and who; only of a semaphore */
};

/* @task holds @held from now on. Lock held. */
void cpti_held_add(struct cpti_held *held, const struct cpt_task *task);

/* Releases all that task @number of @request holds, which has failed or will not go on;
 * CPTI_NO_TASK: what all its tasks hold. Lock not held. */
void cpti_held_release(struct cpt_request *request, uint32_t number);

/* Lists @cancellable, whose `cancel` is set. Lock held. */
void cpti_cancellable_add(struct cpt_request *request,
                          struct cpti_cancellable *cancellable);

/* Takes it off the list of its request; false: it was not there. Lock held. */
static inline bool cpti_cancellable_remove(struct cpti_cancellable *cancellable)
{
    if (!cancellable->is_listed) {
        return false;
    }
    cancellable->is_listed = false;
    LIST_REMOVE(cancellable, link);
    return true;
}

/* Moves it from the list of its request to @told, if it is there. Lock held. */
void cpti_cancellable_move(struct cpti_cancellable *cancellable,
                           struct cpti_cancellables *told);

/* Tells each of @told. The caller has a reference to the request. Lock not held. */
void cpti_cancellables_cancel(struct cpti_cancellables *told);

/* Ends what is ongoing for @request, which has failed: as CPT_TIMEOUT if the request
 * has, else as CPT_CANCELLED. No task goes on. The caller has a reference. Lock not
 * held. */
void cpti_request_cancel_ongoing(struct cpt_request *request);

#endif
