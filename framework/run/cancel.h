/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* cancel.h - what is ongoing for a request, and how it is given up; see cancel.c */
#ifndef CPT_CANCEL_H
#define CPT_CANCEL_H

#include "cpt/cpt_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct cpt_pending;
struct cpt_request;
struct cpt_task;

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

/* Tells each of @told, which were moved there. The caller has a reference to the
 * request. Lock not held. */
void cpti_cancellables_cancel(struct cpti_cancellables *told);

/* Ends what is ongoing for @request, which was stopped: as CPT_TIMEOUT if it has ended
 * so, else as CPT_CANCELLED. No task goes on. The caller has a reference, or one to a
 * request around it. Lock not held. */
void cpti_request_cancel_ongoing(struct cpt_request *request);

/* @request, a component, is not wanted any more: ends it, and what it left to go on.
 * The caller has a reference to its parent. Lock not held. */
void cpti_request_give_up(struct cpt_request *request);

/* --- A part of a request. All with the lock held, unless they say otherwise. --- */

/* Ends all that @task has outstanding with @status, and gives up what was started for
 * it: adds to @told what must be told. @task goes on. */
void cpti_task_drop_all(struct cpt_task *task, cpt_status status,
                        struct cpti_cancellables *told);

/* Whether no step of @task runs, which has not ended; then none will any more. It must
 * have been given up, or its request stopped. */
bool cpti_task_catch(struct cpt_task *task);

/* Whether @task was given up and has not ended. With or without the lock. */
bool cpti_task_is_given_up(const struct cpt_task *task);

/* @task, whose thread this is, has failed or was given up: gives up all that it has
 * started, and releases what it holds. Lock not held. */
void cpti_task_give_up_rest(struct cpt_task *task);

#endif
