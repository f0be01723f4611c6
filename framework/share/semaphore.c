/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * semaphore.c - counted resources that tasks wait for; see cpt_mutex.h
 *
 *      claim   asks --(one is free)----------------------> holds --release--> over
 *                |                                          ^
 *                '--> in the queue --(another releases)-----'
 *                          '--cancelled, or a deadline--> over
 *
 * What is released goes to the first in the queue, so it is free only if no task waits.
 * A waiter may have been given up before its turn; the lock of its request decides
 * which of the two came first, and then it goes to the next waiter. The lock of the
 * semaphore, which comes after that of a request, guards the count and both lists.
 */
#include "framework/cpt_mutex.h"

#include "cpt/base/container.h"
#include "framework/run/held.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/resource.h"
#include "framework/run/snapshot.h"
#include "framework/run/wait.h"

#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>

/* One acquisition, in memory of its request. */
struct claim {
    struct cpt_pending pending;
    struct cpt_semaphore *semaphore;
    struct cpti_cleanup cleanup;
    struct cpti_held held; /* listed while the task holds one */
    /* Guarded by the lock of the semaphore. */
    TAILQ_ENTRY(claim) turn; /* of the queue or, later, of the holders */
    bool is_queued;
    bool is_passed; /* it had its turn while something ran on top of its task's step */
};

TAILQ_HEAD(claims, claim);

struct cpt_semaphore {
    const struct cpt_alloc *alloc;
    struct cpti_resource resource;
    struct cpti_lock lock;
    /* Guarded by lock. */
    uint32_t free_count;
    struct claims queue;
    struct claims holders; /* the oldest first */
    size_t name_bytes;
    char name[];
};

static void ask_again(struct cpt_pending *pending);

struct cpt_semaphore *cpt_semaphore_new(const char *name, uint32_t count,
                                        const struct cpt_alloc *alloc)
{
    const size_t bytes = strlen(name);
    struct cpt_semaphore *semaphore =
        count != 0 ? cpt_alloc_zeroed(alloc, sizeof *semaphore + bytes + 1) : NULL;

    if (semaphore == NULL) {
        return NULL;
    }
    semaphore->alloc = alloc;
    semaphore->name_bytes = bytes;
    memcpy(semaphore->name, name, bytes);
    cpti_resource_init(&semaphore->resource, semaphore->name, count);
    semaphore->resource.ask_again = ask_again;
    cpti_lock_init(&semaphore->lock, CPTI_RANK_MUTEX);
    semaphore->free_count = count;
    TAILQ_INIT(&semaphore->queue);
    TAILQ_INIT(&semaphore->holders);
    return semaphore;
}

void cpt_semaphore_free(struct cpt_semaphore *semaphore)
{
    bool is_used = false;

    if (semaphore == NULL) {
        return;
    }
    cpti_lock_take(&semaphore->lock);
    is_used = semaphore->free_count != semaphore->resource.count;
    cpti_lock_release(&semaphore->lock);
    if (is_used) {
        CPTI_MISUSED(held_freed);
        return;
    }
    cpti_lock_deinit(&semaphore->lock);
    cpt_alloc_free(semaphore->alloc, semaphore);
}

/* --- Holders. Lock of the semaphore held. --- */

/* Notes who has one the longest. */
static void note_oldest(struct cpt_semaphore *semaphore)
{
    const struct claim *oldest = TAILQ_FIRST(&semaphore->holders);

    atomic_store_explicit(&semaphore->resource.holder,
                          oldest != NULL ? oldest->held.tenant : 0,
                          memory_order_relaxed);
}

static void add_holder(struct claim *claim)
{
    TAILQ_INSERT_TAIL(&claim->semaphore->holders, claim, turn);
    note_oldest(claim->semaphore);
}

/* --- Handing over --- */

/* Its task cannot have one now, and asks again later. Lock of the request held. */
static bool passes(struct claim *claim)
{
    struct cpt_semaphore *semaphore = claim->semaphore;
    const bool passes = claim->pending.status == CPT_WAITING &&
                        cpti_wait_passes(&claim->pending, claim->held.task);

    if (passes) {
        cpti_lock_take(&semaphore->lock);
        claim->is_passed = true;
        cpti_lock_release(&semaphore->lock);
    }
    return passes;
}

/* Gives one to @claim, taken off the queue. False: its task cannot have it now; or it
 * no longer waits for it, or gets it no more, as its request is over: then its wait
 * ends here, with the reference of that. */
static bool grant(struct claim *claim)
{
    struct cpt_request *request = claim->pending.request;
    struct cpt_semaphore *semaphore = claim->semaphore;
    const uint64_t now_ns = cpti_record_now(request);
    struct cpt_task *owner = NULL;
    bool is_wanted = false;

    cpti_lock_take(&request->lock);
    if (passes(claim)) {
        cpti_lock_release(&request->lock);
        return false;
    }
    is_wanted = claim->pending.status == CPT_WAITING && !cpti_locks_are_over(request);
    if (is_wanted) {
        cpti_held_add(&claim->held, claim->pending.task);
        cpti_lock_take(&semaphore->lock);
        add_holder(claim);
        cpti_lock_release(&semaphore->lock);
    }
    owner =
        cpti_pending_end(&claim->pending, is_wanted ? CPT_OK : CPT_CANCELLED, now_ns);
    cpti_lock_release(&request->lock);
    cpti_task_wake(owner);
    cpti_request_release(request);
    return is_wanted;
}

/* The first in the queue, which is taken off it; NULL: one is free now. @leaver, unless
 * NULL, holds none any more. */
static struct claim *next_waiter(struct cpt_semaphore *semaphore, struct claim *leaver)
{
    struct claim *waiter = NULL;

    cpti_lock_take(&semaphore->lock);
    if (leaver != NULL) {
        TAILQ_REMOVE(&semaphore->holders, leaver, turn);
        note_oldest(semaphore);
    }
    waiter = TAILQ_FIRST(&semaphore->queue);
    if (waiter != NULL) {
        TAILQ_REMOVE(&semaphore->queue, waiter, turn);
        waiter->is_queued = false;
    } else {
        semaphore->free_count++;
    }
    cpti_lock_release(&semaphore->lock);
    return waiter;
}

/* What @claim held goes to the next one. */
static void hand_over(struct claim *claim)
{
    struct cpt_semaphore *semaphore = claim->semaphore;
    struct claim *waiter = next_waiter(semaphore, claim);

    while (waiter != NULL && !grant(waiter)) {
        waiter = next_waiter(semaphore, NULL);
    }
}

/* The task of @claim no longer holds one; false: it did not. */
static bool give_back(struct claim *claim)
{
    struct cpt_request *request = claim->pending.request;
    bool was_held = false;

    cpti_lock_take(&request->lock);
    was_held = cpti_held_remove(&claim->held, request);
    cpti_lock_release(&request->lock);
    if (was_held) {
        hand_over(claim);
    }
    return was_held;
}

/* Its task has failed or was cancelled; the list no longer has it. */
static void release_held(struct cpti_cancellable *cancellable)
{
    hand_over(CPTI_CONTAINER(cancellable, struct claim, held.cancellable));
}

/* The request is freed. */
static void run_cleanup(struct cpti_cleanup *cleanup)
{
    (void)give_back(CPTI_CONTAINER(cleanup, struct claim, cleanup));
}

/* --- Acquiring --- */

/* The task no longer waits. A thread that hands over just now sees that in grant(). */
static void cancel_claim(struct cpti_cancellable *cancellable)
{
    struct claim *claim = CPTI_CONTAINER(cancellable->pending, struct claim, pending);
    struct cpt_request *request = claim->pending.request;
    struct cpt_semaphore *semaphore = claim->semaphore;
    bool was_queued = false;
    bool was_passed = false;

    cpti_lock_take(&semaphore->lock);
    was_queued = claim->is_queued;
    if (was_queued) {
        claim->is_queued = false;
        TAILQ_REMOVE(&semaphore->queue, claim, turn);
    }
    was_passed = claim->is_passed;
    claim->is_passed = false;
    cpti_lock_release(&semaphore->lock);
    if (was_queued || was_passed) {
        cpti_request_release(request);
    }
}

/* True: @claim holds one. False: it is in the queue, behind *@holder. */
static bool take_or_enqueue(struct claim *claim, uint64_t *holder)
{
    struct cpt_semaphore *semaphore = claim->semaphore;
    bool is_taken = false;

    cpti_lock_take(&semaphore->lock);
    *holder = atomic_load_explicit(&semaphore->resource.holder, memory_order_relaxed);
    is_taken = semaphore->free_count != 0;
    if (is_taken) {
        semaphore->free_count--;
        add_holder(claim);
    } else {
        claim->is_queued = true;
        TAILQ_INSERT_TAIL(&semaphore->queue, claim, turn);
    }
    cpti_lock_release(&semaphore->lock);
    return is_taken;
}

/* @claim is in the queue: records its wait, and how it is cancelled. A thread that
 * hands over waits for the lock of the request, which is held. */
static void begin_wait(struct claim *claim, struct cpt_task *task, uint64_t holder,
                       uint64_t now_ns)
{
    const struct cpt_bytes name = {claim->semaphore->name,
                                   claim->semaphore->name_bytes};
    struct cpt_pending *pending = &claim->pending;

    cpti_request_hold(task->request);
    pending->call = cpti_record_issue(task, name, CPT_CALL_LOCK, now_ns);
    cpti_record_holder(task->request, pending->call, holder);
    if (pending->begin_ns == 0) {
        pending->begin_ns = cpti_coarse_ns();
    }
    pending->cancellable.cancel = cancel_claim;
    pending->cancellable.pending = pending;
    cpti_cancellable_add(task->request, &pending->cancellable);
}

/* As struct cpti_resource says. */
static void ask_again(struct cpt_pending *pending)
{
    struct claim *claim = CPTI_CONTAINER(pending, struct claim, pending);
    struct cpt_request *request = pending->request;
    struct cpt_semaphore *semaphore = claim->semaphore;
    const bool is_over = cpti_locks_are_over(request);
    bool was_passed = false;

    cpti_lock_take(&semaphore->lock);
    was_passed = claim->is_passed;
    claim->is_passed = false;
    if (was_passed && !is_over && semaphore->free_count == 0) {
        claim->is_queued = true;
        TAILQ_INSERT_HEAD(&semaphore->queue, claim, turn);
        was_passed = false;
    } else if (was_passed && !is_over) {
        semaphore->free_count--;
        add_holder(claim);
    }
    cpti_lock_release(&semaphore->lock);
    if (was_passed) {
        if (!is_over) {
            cpti_held_add(&claim->held, pending->task);
        }
        (void)cpti_pending_end(pending, is_over ? CPT_CANCELLED : CPT_OK,
                               cpti_record_now(request));
        (void)atomic_fetch_sub_explicit(&request->reference_count, 1,
                                        memory_order_relaxed); /* not the last */
    }
}

struct cpt_pending *cpt_semaphore_acquire(struct cpt_task *task,
                                          struct cpt_semaphore *semaphore)
{
    struct cpt_request *request = task->request;
    struct claim *claim = cpti_request_take(request, sizeof *claim);
    const uint64_t now_ns = cpti_record_now(request);
    uint64_t holder = 0;

    if (claim == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    claim->pending.resource = &semaphore->resource;
    claim->semaphore = semaphore;
    claim->held.cancellable.cancel = release_held;
    claim->held.resource = &semaphore->resource;
    claim->held.task = task->number;
    claim->held.tenant = cpti_tenant_of(task);
    claim->cleanup.run = run_cleanup;
    cpti_locks_used(request);
    cpti_cleanup_add(request, &claim->cleanup);
    cpti_lock_take(&request->lock);
    cpti_pending_begin(&claim->pending, CPTI_PENDING_SEMAPHORE, task, now_ns);
    if (cpti_locks_are_over(request)) {
        (void)cpti_pending_end(&claim->pending, CPT_CANCELLED, now_ns);
    } else if (take_or_enqueue(claim, &holder)) {
        cpti_held_add(&claim->held, task);
        (void)cpti_pending_end(&claim->pending, CPT_OK, now_ns);
    } else {
        begin_wait(claim, task, holder, now_ns);
    }
    cpti_lock_release(&request->lock);
    return &claim->pending;
}

void cpt_semaphore_release(struct cpt_pending *pending)
{
    if (cpti_pending_is(pending, CPTI_PENDING_SEMAPHORE) &&
        !give_back(CPTI_CONTAINER(pending, struct claim, pending))) {
        cpt_cancel(pending);
    }
}
