/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * held.h - locks that tasks hold, and until when; see held.c
 *
 * What a lock itself is stands in framework/share: here it is something that is
 * released by being told.
 */
#ifndef CPT_HELD_H
#define CPT_HELD_H

#include "framework/run/cancel.h"

struct cpti_resource;

/* A lock that a task holds. It is in the list of its request until it is released, by
 * the application or by the request, whichever comes first: who takes it off the list
 * releases it. `cancel` does that for the request. In memory of the request, whose lock
 * guards it. */
struct cpti_held {
    struct cpti_cancellable cancellable; /* in cpt_request.held_locks */
    const struct cpti_resource *resource;
    struct cpt_task *holder; /* good until the task has ended */
    uint32_t task;           /* its number, set when the task asked for it */
    uint64_t tenant;         /* and who; only of a semaphore */
};

/* A task of @request is about to ask for a lock. Lock not held. */
void cpti_locks_used(struct cpt_request *request);

/* Whether any was, of the requests that @request is one of. */
bool cpti_locks_are_used(const struct cpt_request *request);

/* Whether no task of @request may get a lock any more: the outermost request has ended,
 * or this one was stopped. Lock held. */
bool cpti_locks_are_over(const struct cpt_request *request);

/* @request, which uses locks and is no component, has ended well: what tasks that have
 * ended held is released, and what others wait for ends as CPT_CANCELLED; in its
 * components, too. The caller has a reference. Lock not held. */
void cpti_locks_end(struct cpt_request *request);

/* @task holds @held from now on. Lock held. */
void cpti_held_add(struct cpti_held *held, struct cpt_task *task);

/* A task of @request holds it no longer; false: none did. Lock held. */
bool cpti_held_remove(struct cpti_held *held, struct cpt_request *request);

/* Moves what task @number holds to @told; CPTI_NO_TASK: what all tasks hold. Lock held.
 */
void cpti_held_move(struct cpt_request *request, uint32_t number,
                    struct cpti_cancellables *told);

/* Moves what tasks hold of which no step runs, nor will run, as @request was stopped.
 * Lock held. */
void cpti_held_move_idle(struct cpt_request *request, struct cpti_cancellables *told);

/* Releases all that task @number of @request holds, which has failed or will not go on;
 * CPTI_NO_TASK: what all its tasks hold. Lock not held. */
void cpti_held_release(struct cpt_request *request, uint32_t number);

#endif
