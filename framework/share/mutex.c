/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * mutex.c - locks that tasks wait for; see cpt_mutex.h
 *
 * The state is one number. Without contention it changes from FREE to HELD and back by
 * one compare-and-exchange each. A thread that finds the mutex held takes the lock of
 * the queue, sets the state to CONTENDED, and enters the queue. A release then takes
 * that lock too, and hands the mutex to the first in the queue; in between it is not
 * free.
 *
 *      FREE --lock--> HELD --another waits--> CONTENDED
 *        ^--unlock------'                        |  unlock: the first in the queue has
 *        '------------- unlock, queue empty -----'  it; HELD again if it was the last
 *
 * The holder is noted as a number (a tenant of overlap.h), after the mutex is taken. It
 * is for people: a waiter that reads it just then may see the previous holder, or none.
 *
 * A waiter is a thread, with a condition variable on its stack, or a pending of a task.
 * A pending may have been given up before its turn: then the mutex goes to the next
 * waiter. The lock of the request decides which of the two came first.
 */
#include "framework/cpt_mutex.h"

#include "cpt/base/container.h"
#include "framework/run/held.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"
#include "framework/run/recording.h"
#include "framework/run/resource.h"
#include "framework/run/snapshot.h"
#include "framework/run/task.h"
#include "framework/run/wait.h"

#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>

enum { FREE, HELD, CONTENDED };
enum { LOOK_AGAIN_NS = 100000000 }; /* a thread that waits: at whether it is replaced */

/* An entry of the queue. Guarded by its lock. */
struct waiter {
    TAILQ_ENTRY(waiter) turn;
    struct locking *locking; /* of a task; NULL: a thread waits */
    uint64_t tenant;         /* the waiter; 0: none */
    bool is_queued;
    bool is_passed; /* it had its turn while something ran on top of its task's step */
    /* Of a thread. */
    const struct cpt_request *request; /* whose clock is read; or NULL */
    uint64_t arrive_ns;
    pthread_cond_t has_come;
    bool is_granted;
};

/* cpt_mutex_acquire(). */
struct locking {
    struct cpt_pending pending;
    struct cpt_mutex *mutex;
    struct cpti_cleanup cleanup;
    struct waiter waiter;
    struct cpti_held held; /* listed while the task holds the mutex */
};

struct cpt_mutex {
    const struct cpt_alloc *alloc;
    /*
     * FREE, HELD or CONTENDED. Acquire when the mutex is taken, release when it is
     * given back: what one holder wrote is visible to the next.
     */
    _Atomic unsigned state;
    struct cpti_resource resource;
    struct cpti_lock lock; /* of the queue */
    TAILQ_HEAD(, waiter) waiters;
    size_t name_bytes;
    char name[];
};

static void ask_again(struct cpt_pending *pending);

struct cpt_mutex *cpt_mutex_new(const char *name, const struct cpt_alloc *alloc)
{
    const size_t bytes = strlen(name);
    struct cpt_mutex *mutex = cpt_alloc_zeroed(alloc, sizeof *mutex + bytes + 1);

    if (mutex == NULL) {
        return NULL;
    }
    mutex->alloc = alloc;
    mutex->name_bytes = bytes;
    memcpy(mutex->name, name, bytes);
    cpti_resource_init(&mutex->resource, mutex->name, 1);
    mutex->resource.ask_again = ask_again;
    cpti_lock_init(&mutex->lock, CPTI_RANK_MUTEX);
    TAILQ_INIT(&mutex->waiters);
    return mutex;
}

void cpt_mutex_free(struct cpt_mutex *mutex)
{
    if (mutex == NULL) {
        return;
    }
    if (atomic_load_explicit(&mutex->state, memory_order_relaxed) != FREE) {
        CPTI_MISUSED(held_freed); /* its holder will touch it again */
        return;
    }
    cpti_lock_deinit(&mutex->lock);
    cpt_alloc_free(mutex->alloc, mutex);
}

/* --- The queue --- */

/* Lock of the queue held. */
static void dequeue(struct cpt_mutex *mutex, struct waiter *waiter)
{
    waiter->is_queued = false;
    TAILQ_REMOVE(&mutex->waiters, waiter, turn);
}

/* It had its turn, but could not take it. Lock of the queue held. */
static void enqueue_first(struct cpt_mutex *mutex, struct waiter *waiter)
{
    waiter->is_queued = true;
    TAILQ_INSERT_HEAD(&mutex->waiters, waiter, turn);
}

/* True: the mutex was free, and @tenant holds it now. */
static bool try_to_take(struct cpt_mutex *mutex, uint64_t tenant)
{
    unsigned expected = FREE;

    if (!atomic_compare_exchange_strong_explicit(&mutex->state, &expected, HELD,
                                                 memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    atomic_store_explicit(&mutex->resource.holder, tenant, memory_order_relaxed);
    return true;
}

/* True: the mutex became free meanwhile, and the waiter holds it. False: the waiter
 * belongs in the queue. Lock of the queue held. */
static bool take_or_contend(struct cpt_mutex *mutex, const struct waiter *waiter)
{
    unsigned state = HELD;

    while (!atomic_compare_exchange_strong_explicit(&mutex->state, &state, CONTENDED,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed) &&
           state != CONTENDED) {
        if (try_to_take(mutex, waiter->tenant)) {
            return true;
        }
        state = HELD;
    }
    return false;
}

/* True: as above. False: the waiter is in the queue. */
static bool take_or_enqueue(struct cpt_mutex *mutex, struct waiter *waiter)
{
    bool is_taken = false;

    cpti_lock_take(&mutex->lock);
    is_taken = take_or_contend(mutex, waiter);
    if (!is_taken) {
        waiter->is_queued = true;
        TAILQ_INSERT_TAIL(&mutex->waiters, waiter, turn);
    }
    cpti_lock_release(&mutex->lock);
    return is_taken;
}

/* --- What tasks hold --- */

/* The task of @locking, whose pending has just ended, holds the mutex. Lock of the
 * request held. */
static void hold(struct locking *locking)
{
    cpti_held_add(&locking->held, locking->pending.task);
}

static void unlock(struct cpt_mutex *mutex);

/* The task no longer holds the mutex; false: it did not. */
static bool give_back(struct locking *locking)
{
    struct cpt_request *request = locking->pending.request;
    bool was_held = false;

    cpti_lock_take(&request->lock);
    was_held = cpti_held_remove(&locking->held, request);
    cpti_lock_release(&request->lock);
    if (was_held) {
        unlock(locking->mutex);
    }
    return was_held;
}

/* Its task has failed or was cancelled; the list no longer has it. */
static void release_held(struct cpti_cancellable *cancellable)
{
    unlock(CPTI_CONTAINER(cancellable, struct locking, held.cancellable)->mutex);
}

/* --- Handing over --- */

/* The task cannot have it now, and asks again later. Lock of the request held. */
static bool passes(struct locking *locking)
{
    struct cpt_mutex *mutex = locking->mutex;
    const bool passes = locking->pending.status == CPT_WAITING &&
                        cpti_wait_passes(&locking->pending, locking->held.task);

    if (passes) {
        cpti_lock_take(&mutex->lock);
        locking->waiter.is_passed = true;
        cpti_lock_release(&mutex->lock);
    }
    return passes;
}

/* Gives the mutex to @locking. False: the task cannot have it now; or it no longer
 * waits for it, or gets it no more, as its request is over: then its wait ends here,
 * with the reference of that. */
static bool grant(struct locking *locking)
{
    struct cpt_request *request = locking->pending.request;
    const uint64_t now_ns = cpti_record_now(request);
    struct cpt_task *owner = NULL;
    bool is_wanted = false;

    cpti_lock_take(&request->lock);
    if (passes(locking)) {
        cpti_lock_release(&request->lock);
        return false;
    }
    is_wanted = locking->pending.status == CPT_WAITING && !cpti_locks_are_over(request);
    if (is_wanted) {
        hold(locking);
    }
    owner =
        cpti_pending_end(&locking->pending, is_wanted ? CPT_OK : CPT_CANCELLED, now_ns);
    cpti_lock_release(&request->lock);
    cpti_task_wake(owner);
    cpti_request_release(request);
    return is_wanted;
}

/* A thread has the mutex. Lock of the queue held. */
static void grant_thread(struct waiter *waiter)
{
    waiter->arrive_ns = waiter->request != NULL ? cpti_record_now(waiter->request) : 0;
    waiter->is_granted = true;
}

/* Hands the mutex to the first in the queue. Returns that waiter if it is a task's, for
 * grant(); NULL: a thread has it, or the queue is empty. */
static struct locking *hand_over(struct cpt_mutex *mutex)
{
    struct locking *locking = NULL;
    struct waiter *waiter = NULL;

    cpti_lock_take(&mutex->lock);
    waiter = TAILQ_FIRST(&mutex->waiters);
    if (waiter == NULL) { /* the waiters were cancelled */
        atomic_store_explicit(&mutex->state, FREE, memory_order_release);
        cpti_lock_release(&mutex->lock);
        return NULL;
    }
    dequeue(mutex, waiter);
    locking = waiter->locking;
    atomic_store_explicit(&mutex->resource.holder, waiter->tenant,
                          memory_order_relaxed);
    if (TAILQ_EMPTY(&mutex->waiters)) {
        atomic_store_explicit(&mutex->state, HELD, memory_order_release);
    }
    if (locking == NULL) {
        grant_thread(waiter);
        (void)pthread_cond_signal(&waiter->has_come);
    }
    cpti_lock_release(&mutex->lock);
    return locking;
}

static void unlock(struct cpt_mutex *mutex)
{
    unsigned expected = HELD;
    struct locking *locking = NULL;

    if (atomic_compare_exchange_strong_explicit(&mutex->state, &expected, FREE,
                                                memory_order_release,
                                                memory_order_relaxed)) {
        return;
    }
    if (expected == FREE) {
        CPTI_MISUSED(free_unlocked);
        return;
    }
    do {
        locking = hand_over(mutex);
    } while (locking != NULL && !grant(locking));
}

void cpt_mutex_unlock(struct cpt_mutex *mutex)
{
    cpti_locks_given_back(cpt_current_task());
    unlock(mutex);
}

/* --- A thread waits --- */

/* Records a wait for the mutex, which @holder holds. Lock of the request held. */
static struct cpt_trace_call *issue(struct cpt_task *task, struct cpt_mutex *mutex,
                                    uint64_t holder, uint64_t now_ns)
{
    const struct cpt_bytes name = {mutex->name, mutex->name_bytes};
    struct cpt_trace_call *call = cpti_record_issue(task, name, CPT_CALL_LOCK, now_ns);

    cpti_record_holder(task->request, call, holder);
    return call;
}

/* The holder as last noted. */
static uint64_t holder_of(struct cpt_mutex *mutex)
{
    return atomic_load_explicit(&mutex->resource.holder, memory_order_relaxed);
}

/* Runs @work on top. Meanwhile the waiter is in no queue: if it had the mutex, it could
 * not give it back before @work ends, which may want it, too. Then it has the first
 * turn. Lock of the queue held. */
static void run_help(struct cpt_mutex *mutex, struct waiter *waiter,
                     struct cpt_work *work)
{
    dequeue(mutex, waiter);
    cpti_lock_release(&mutex->lock);
    cpti_pool_run_help(work);
    cpti_lock_take(&mutex->lock);
    if (take_or_contend(mutex, waiter)) {
        grant_thread(waiter);
    } else {
        enqueue_first(mutex, waiter);
    }
}

/* What a thread that waits does before it sleeps; true: it has run what it may wait
 * for. Lock of the queue held. */
static bool help(struct cpt_mutex *mutex, struct waiter *waiter)
{
    struct cpt_work *work = NULL;

    cpti_lock_release(&mutex->lock);
    cpti_pool_look_again();
    cpti_lock_take(&mutex->lock);
    work = waiter->is_granted ? NULL : cpti_pool_take_help(NULL);
    if (work != NULL) {
        run_help(mutex, waiter, work);
    }
    return work != NULL;
}

static void wait_in_queue(struct cpt_mutex *mutex, struct waiter *waiter)
{
    cpti_lock_take(&mutex->lock);
    while (!waiter->is_granted) {
        if (help(mutex, waiter) || waiter->is_granted) {
            continue;
        }
        cpti_cond_wait(&waiter->has_come, &mutex->lock,
                       cpt_clock_now_ns(cpt_clock_monotonic()) + LOOK_AGAIN_NS);
        mutex->lock.outer =
            CPTI_RANK_NONE; /* another thread has written it meanwhile */
    }
    cpti_lock_release(&mutex->lock);
}

/* Blocks the thread of the step of @task, and notes the wait. */
static void wait_in_task(struct cpt_mutex *mutex, struct waiter *waiter,
                         struct cpt_task *task, uint64_t holder, uint64_t block_ns)
{
    struct cpt_request *request = task->request;
    struct cpt_trace_call *call = NULL;

    cpti_task_give_ready(task);
    cpti_lock_take(&request->lock);
    call = issue(task, mutex, holder, block_ns);
    cpti_record_block(task, block_ns);
    cpti_lock_release(&request->lock);
    cpti_thread_block(request->executor, CPTI_POOL_WAIT_WITHIN);
    wait_in_queue(mutex, waiter);
    cpti_thread_unblock(request->executor);
    if (task->record != NULL) {
        const uint64_t resume_ns = cpti_record_now(request);

        cpti_lock_take(&request->lock);
        if (call != NULL) {
            call->arrive_ns = waiter->arrive_ns;
        }
        cpti_record_release(task, call, 0, waiter->arrive_ns);
        cpti_record_resume(task, resume_ns, false);
        cpti_lock_release(&request->lock);
    }
}

/* Not inlined, so that the usual way saves no registers. */
static __attribute__((noinline)) void lock_slowly(struct cpt_mutex *mutex,
                                                  struct cpt_task *task)
{
    struct waiter waiter = {.tenant = cpti_tenant_of(task),
                            .request = task != NULL ? task->request : NULL};
    const uint64_t block_ns = task != NULL ? cpti_record_now(task->request) : 0;
    const uint64_t holder = holder_of(mutex);

    cpti_cond_init(&waiter.has_come);
    if (!take_or_enqueue(mutex, &waiter)) {
        if (task != NULL) {
            wait_in_task(mutex, &waiter, task, holder, block_ns);
        } else { /* perhaps within `done` on a thread of a pool */
            cpti_thread_block(NULL, CPTI_POOL_WAIT_WITHIN);
            wait_in_queue(mutex, &waiter);
            cpti_thread_unblock(NULL);
        }
    }
    (void)pthread_cond_destroy(&waiter.has_come);
}

int cpt_mutex_trylock(struct cpt_mutex *mutex)
{
    struct cpt_task *task = cpt_current_task();
    const bool is_taken = try_to_take(mutex, cpti_tenant_of(task));

    if (is_taken) {
        cpti_locks_taken(task);
    }
    return is_taken;
}

void cpt_mutex_lock(struct cpt_mutex *mutex)
{
    struct cpt_task *task = cpt_current_task();

    if (!try_to_take(mutex, cpti_tenant_of(task))) {
        lock_slowly(mutex, task);
    }
    cpti_locks_taken(task);
}

/* --- A task waits --- */

/* The task no longer waits. A thread that hands over just now sees that in grant(). */
static void cancel_locking(struct cpti_cancellable *cancellable)
{
    struct locking *locking =
        CPTI_CONTAINER(cancellable->pending, struct locking, pending);
    struct cpt_request *request = locking->pending.request;
    struct cpt_mutex *mutex = locking->mutex;
    bool was_queued = false;
    bool was_passed = false;

    cpti_lock_take(&mutex->lock);
    was_queued = locking->waiter.is_queued;
    if (was_queued) {
        dequeue(mutex, &locking->waiter);
    }
    was_passed = locking->waiter.is_passed;
    locking->waiter.is_passed = false;
    cpti_lock_release(&mutex->lock);
    if (was_queued || was_passed) {
        cpti_request_release(request);
    }
}

/* The request is freed. */
static void run_cleanup(struct cpti_cleanup *cleanup)
{
    (void)give_back(CPTI_CONTAINER(cleanup, struct locking, cleanup));
}

/* @locking is in the queue: records its wait, and how it is cancelled. A thread that
 * hands over waits for the request's lock, which is held. */
static void begin_wait(struct locking *locking, struct cpt_task *task, uint64_t holder,
                       uint64_t now_ns)
{
    struct cpt_pending *pending = &locking->pending;

    cpti_request_hold(task->request);
    pending->call = issue(task, locking->mutex, holder, now_ns);
    pending->cancellable.cancel = cancel_locking;
    pending->cancellable.pending = pending;
    if (pending->begin_ns == 0) {
        pending->begin_ns = cpti_coarse_ns();
    }
    cpti_cancellable_add(task->request, &pending->cancellable);
}

/* Begins the pending. It is complete if @is_taken, or if the mutex became free just
 * now; else it enters the queue. But of a request that is over it has ended. */
static void begin_locking(struct locking *locking, struct cpt_task *task, bool is_taken)
{
    struct cpt_request *request = task->request;
    struct cpt_pending *pending = &locking->pending;
    const uint64_t now_ns = is_taken ? 0 : cpti_record_now(request);
    const uint64_t holder = holder_of(locking->mutex);
    bool is_over = false;

    cpti_lock_take(&request->lock);
    cpti_pending_begin(pending, CPTI_PENDING_LOCK, task, now_ns);
    is_over = cpti_locks_are_over(request);
    if (is_over) {
        (void)cpti_pending_end(pending, CPT_CANCELLED, now_ns);
    } else if (is_taken || take_or_enqueue(locking->mutex, &locking->waiter)) {
        hold(locking);
        (void)cpti_pending_end(pending, CPT_OK, now_ns);
    } else {
        begin_wait(locking, task, holder, now_ns);
    }
    cpti_lock_release(&request->lock);
    if (is_over && is_taken) {
        unlock(locking->mutex); /* it was not taken by cpt_mutex_lock() */
    }
}

/* As struct cpti_resource says. */
static void ask_again(struct cpt_pending *pending)
{
    struct locking *locking = CPTI_CONTAINER(pending, struct locking, pending);
    struct cpt_request *request = pending->request;
    struct cpt_mutex *mutex = locking->mutex;
    const bool is_over = cpti_locks_are_over(request);
    bool was_passed = false;

    cpti_lock_take(&mutex->lock);
    was_passed = locking->waiter.is_passed;
    locking->waiter.is_passed = false;
    if (was_passed && !is_over && !take_or_contend(mutex, &locking->waiter)) {
        enqueue_first(mutex, &locking->waiter);
        was_passed = false;
    }
    cpti_lock_release(&mutex->lock);
    if (was_passed) {
        if (!is_over) {
            hold(locking);
        }
        (void)cpti_pending_end(pending, is_over ? CPT_CANCELLED : CPT_OK,
                               cpti_record_now(request));
        (void)atomic_fetch_sub_explicit(&request->reference_count, 1,
                                        memory_order_relaxed); /* not the last */
    }
}

struct cpt_pending *cpt_mutex_acquire(struct cpt_task *task, struct cpt_mutex *mutex)
{
    struct locking *locking = cpti_request_take(task->request, sizeof *locking);

    if (locking == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    locking->pending.resource = &mutex->resource;
    locking->mutex = mutex;
    locking->waiter.locking = locking;
    locking->waiter.tenant = cpti_tenant_of(task);
    locking->held.cancellable.cancel = release_held;
    locking->held.resource = &mutex->resource;
    locking->held.task = task->number;
    locking->cleanup.run = run_cleanup;
    cpti_locks_used(task->request);
    cpti_cleanup_add(task->request, &locking->cleanup);
    begin_locking(locking, task, try_to_take(mutex, locking->waiter.tenant));
    return &locking->pending;
}

void cpt_mutex_release(struct cpt_pending *pending)
{
    if (cpti_pending_is(pending, CPTI_PENDING_LOCK) &&
        !give_back(CPTI_CONTAINER(pending, struct locking, pending))) {
        cpt_cancel(pending);
    }
}
