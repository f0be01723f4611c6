/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool.c - worker threads that steal from each other, and a thread for timers
 *
 *      submit from a worker  --> its deque --> the worker itself, newest first
 *                                         \--> a thief, oldest first
 *      submit from elsewhere --> inbox, first come, first served
 *      submit_later          --> the second lane, behind all of these (pool_lane.c)
 *      after                 --> timers --> timer thread, begun with the first timer
 *
 * Fairness. A worker prefers its own deque, but looks into the inbox after every
 * TURN_WORKS works and after TURN_NS, so that a request which makes work for itself
 * without end does not starve one that has just come. pool_yield() is for a request
 * that does not even return to its worker.
 *
 * Seats. A thread needs a *seat* to be awake; there are as many seats as workers. A
 * thread that finds nothing to do leaves its seat and sleeps. A thread that blocks
 * inside a task leaves its seat, too, and an extra thread can take it (pool_block.c; it
 * is made when first needed, and later sleeps until it is needed again). So at any time
 *
 *      sleeping threads >= free seats
 *
 * and a thread that has taken a free seat on behalf of a sleeper may wake any sleeper.
 * A thread that returns from blocking takes a seat even if none is free: free seats are
 * then less than 0 until a thread notices that between two works, and goes to sleep.
 * Guests (pool_guest.c) are threads of the application that take a seat for a while.
 *
 * No thread is woken for nothing, and none sleeps while there is work. `state` holds
 * how many seats are free and how many threads are *searching*: awake, without work.
 *
 *      a thread that has work for others       a thread that finds no work
 *      put it where others look                seat free, searching - 1
 *      searching == 0 and a seat is free?      is there work anywhere?
 *        take the seat, searching + 1, wake      no -> sleep
 *
 * Both columns write first and then read, all in one order (seq_cst), so that one of
 * the two sees the other. While a thread searches, no other is woken: the last searcher
 * to find work wakes another one if there is more. docs/models/ has this as a model
 * that a checker explores.
 *
 * A thread searches for SPIN_NS before it sleeps. (Searching for less after a search
 * that failed is worse: the thread then sleeps between any two pieces of work.)
 *
 * Once a work has run, its owner may free the pool. Freeing joins the workers. A submit
 * from elsewhere holds the lock until it no longer touches the pool, and freeing takes
 * the lock.
 */
#include "framework/pool/pool.h"

#include "cpt/base/now.h"
#include "framework/pool/executor.h"
#include "framework/pool/pool_state.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 1024,
    EXTRA_MAX = 4096,
    EXTRA_DEFAULT = 64,
    TURN_WORKS = 61,
    TURN_NS = 2000000,
    SPIN_NS = 20000,
    SPINS_MAX = 40,   /* looks before it yields the processor, 2 us or so */
    SPINNERS_MIN = 2, /* threads that may spin in the smallest pool */
};

_Thread_local struct cpti_pool_place *cpti_pool_current_place
    __attribute__((tls_model("initial-exec")));

/* Milliseconds stale, four times cheaper. */
static uint64_t coarse_ns(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#else
    return cpti_now_ns();
#endif
}

/* Adds 1 to a counter that only one thread writes, and others read. */
static void count_up(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* --- Work in and out --- */

void cpti_pool_put_in_inbox(struct cpti_pool *pool, struct cpt_work *work)
{
    work->next = NULL;
    *(pool->first != NULL ? &pool->last->next : &pool->first) = work;
    pool->last = work;
    pool->inbox_total++;
    atomic_fetch_add(&pool->inbox_count, 1);
}

static struct cpt_work *take_from_inbox(struct cpti_pool *pool)
{
    struct cpt_work *work = cpti_pool_has_later(pool) ? cpti_pool_take_due(pool) : NULL;

    if (work != NULL || atomic_load(&pool->inbox_count) == 0) {
        return work;
    }
    cpti_lock_take(&pool->lock);
    work = pool->first;
    if (work != NULL) {
        pool->first = work->next;
        atomic_fetch_sub(&pool->inbox_count, 1);
        if (pool->lane.coming.count != 0) {
            cpti_pool_note_lane(pool);
        }
    }
    cpti_lock_release(&pool->lock);
    return work;
}

static struct cpt_work *steal(struct cpti_pool *pool, struct cpti_pool_place *place)
{
    const unsigned count = cpti_pool_place_count(pool);
    unsigned index = 0;

    if (place != NULL) {
        place->random = place->random * UINT64_C(6364136223846793005) + 1;
        index = (unsigned)((place->random >> 33) % count);
    }
    for (unsigned i = 0; i < count; i++, index++) {
        struct cpt_work *work = NULL;

        index = index < count ? index : 0;
        work = cpti_deque_steal(&pool->places[index]->deque);
        if (work != NULL) {
            if (place != NULL) {
                count_up(&place->stolen_count);
            }
            return work;
        }
    }
    return NULL;
}

static struct cpt_work *take_from_others(struct cpti_pool *pool,
                                         struct cpti_pool_place *place)
{
    struct cpt_work *work = take_from_inbox(pool);

    work = work != NULL ? work : steal(pool, place);
    return work != NULL ? work : cpti_pool_take_later(pool);
}

static void pool_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_place *place = cpti_pool_own_place(pool);

    if (place == NULL && cpti_pool_guest_of == executor &&
        cpti_pool_adopt(executor) == CPT_OK) {
        place = cpti_pool_current_place;
    }
    if (place != NULL && cpti_deque_push(&place->deque, work)) {
        cpti_pool_wake_one(pool);
        return;
    }
    if (atomic_load(&pool->is_tight)) {
        cpti_pool_try_again(pool);
    }
    cpti_lock_take(&pool->lock);
    pool->spilled_count += place != NULL;
    cpti_pool_put_in_inbox(pool, work);
    /* With the lock held: once the work has run, the pool may be freed; and whether it
     * is tight does not change. */
    if (!atomic_load(&pool->is_tight) || cpti_work_is_needed(work)) {
        cpti_pool_wake_one(pool);
    }
    cpti_lock_release(&pool->lock);
}

static int pool_help(struct cpt_executor *executor)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_place *place = cpti_pool_own_place(pool);
    struct cpt_work *work = place != NULL ? cpti_deque_pop(&place->deque) : NULL;

    if (work == NULL) {
        work = take_from_others(pool, place);
    }
    if (work == NULL) {
        return 0;
    }
    work->run(work);
    return 1; /* the pool may be gone */
}

static bool others_wait(struct cpti_pool *pool)
{
    return atomic_load_explicit(&pool->inbox_count, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&pool->lane_due_ns, memory_order_relaxed) != UINT64_MAX;
}

static unsigned pool_hunger(struct cpt_executor *executor)
{
    struct cpti_pool *pool = cpti_pool_of(executor);

    return (pool->worker_count > 1 ? (unsigned)CPT_HUNGRY_THREAD : 0) |
           (others_wait(pool) ? (unsigned)CPT_HUNGRY_WORK : 0);
}

/* What a worker submits waits in its deque, and behind the inbox, too. */
static size_t pool_queue_length(struct cpt_executor *executor)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_place *place = cpti_pool_own_place(pool);

    return atomic_load_explicit(&pool->inbox_count, memory_order_relaxed) +
           (place != NULL ? cpti_deque_length(&place->deque) : 0);
}

/* --- Turns --- */

/* Others wait, and this thread has not looked at them for TURN_NS. */
static bool is_turn_over(struct cpti_pool_place *place)
{
    const uint64_t coarse = coarse_ns();

    if (place->turn_ns == 0) {
        place->turn_ns = coarse;
    }
    return coarse - place->turn_ns >= TURN_NS;
}

static int pool_yield(struct cpt_executor *executor, struct cpt_work *work)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_place *place = NULL;

    if (!others_wait(pool)) {
        return 0;
    }
    place = cpti_pool_own_place(pool);
    if (place == NULL || !is_turn_over(place)) {
        return 0;
    }
    place->turn_ns = 0;
    if (place->is_guest) {
        cpti_pool_stand_up(pool, place); /* it may continue beside the workers */
        return 0;
    }
    if (atomic_load(&pool->is_tight)) {
        return 0; /* this is needed more than what waits */
    }
    cpti_lock_take(&pool->lock);
    cpti_pool_put_in_inbox(pool, work);
    cpti_lock_release(&pool->lock);
    return 1;
}

/* The next work of a thread: most often the newest of its own; NULL: it must search. */
static struct cpt_work *take_next(struct cpti_pool *pool, struct cpti_pool_place *place)
{
    struct cpt_work *work = NULL;

    if (others_wait(pool)) {
        if (++place->local_count >= TURN_WORKS || is_turn_over(place)) {
            work = take_from_inbox(pool);
        }
    }
    if (work == NULL) {
        work = cpti_deque_pop(&place->deque);
        if (work != NULL) {
            return work;
        }
        work = take_from_inbox(pool);
    }
    place->local_count = 0;
    place->turn_ns = 0;
    return work;
}

/* --- Workers --- */

static void pause_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Enough threads are searching. */
static bool is_crowded(struct cpti_pool *pool)
{
    const unsigned count = cpti_pool_searchers(atomic_load(&pool->state));

    return count > SPINNERS_MIN && 2 * count > pool->worker_count + 1;
}

/* A moment between two looks. The thread that has work may need this processor: a
 * thread that was woken is often put on the processor of the one that woke it. */
static void pause_search(unsigned look_count)
{
    if (look_count > SPINS_MAX) {
        (void)sched_yield();
        return;
    }
    for (int i = 0; i < 16; i++) {
        pause_processor();
    }
}

struct cpt_work *cpti_pool_search(struct cpti_pool *pool, struct cpti_pool_place *place,
                                  bool (*is_over)(void *context), void *context)
{
    struct cpt_work *work = take_from_others(pool, place);
    unsigned look_count = 0;
    uint64_t until_ns = 0;

    if (work != NULL || pool->spin_ns == 0 || is_crowded(pool) ||
        atomic_load(&pool->is_stopping)) {
        return work;
    }
    until_ns = cpti_now_ns() + pool->spin_ns;
    do {
        pause_search(++look_count);
        if (is_over != NULL && is_over(context)) {
            return NULL;
        }
        work = cpti_pool_has_work(pool) ? take_from_others(pool, place) : NULL;
    } while (work == NULL && cpti_now_ns() < until_ns &&
             cpti_pool_free_seats(
                 atomic_load_explicit(&pool->state, memory_order_relaxed)) >= 0);
    return work;
}

void cpti_pool_stop_searching(struct cpti_pool *pool)
{
    if (cpti_pool_searchers(atomic_fetch_sub(&pool->state, CPTI_SEARCHER)) == 1 &&
        cpti_pool_has_work(pool)) {
        cpti_pool_wake_one(pool);
    }
}

/* No thread is awake or blocked, and there is nothing to run. */
static bool is_quiet(struct cpti_pool *pool)
{
    return cpti_pool_free_seats(atomic_load(&pool->state)) == (int)pool->worker_count &&
           pool->blocked_count == 0 && !cpti_pool_has_work(pool);
}

void cpti_pool_tell_quiet(struct cpti_pool *pool)
{
    if (atomic_load(&pool->is_stopping)) {
        cpti_lock_take(&pool->lock);
        (void)pthread_cond_signal(&pool->is_quiet);
        cpti_lock_release(&pool->lock);
    }
}

/* Leaves the seat (adds @change to the state) and sleeps. true: it has a seat again,
 * and searches; false: the pool is being freed. */
static bool sleep_until_woken(struct cpti_pool *pool, uint_fast32_t change)
{
    (void)atomic_fetch_add(&pool->state, change);
    if ((atomic_load(&pool->is_tight) ? cpti_pool_has_needed(pool)
                                      : cpti_pool_has_work(pool)) &&
        cpti_pool_take_seat(pool)) {
        return true;
    }
    cpti_pool_tell_quiet(pool);
    cpti_thread_idles();
    while (sem_wait(&pool->wake) != 0) {
    }
    return !atomic_load(&pool->is_over);
}

/* Whether this thread gives up its seat, as more are awake than there are seats. */
static bool gives_way(struct cpti_pool *pool)
{
    uint_fast32_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);

    while (cpti_pool_free_seats(state) < 0) {
        if (atomic_compare_exchange_weak(&pool->state, &state, state + CPTI_SEAT)) {
            return true;
        }
    }
    return false;
}

/* Runs work until there is none left for this thread. Returns what its going to sleep
 * adds to the state. */
static uint_fast32_t run_works(struct cpti_pool *pool, struct cpti_pool_place *place)
{
    bool is_searching = true;

    for (;;) {
        struct cpt_work *work = NULL;
        bool is_tight = false;

        if (!is_searching && gives_way(pool)) {
            return 0;
        }
        is_tight = atomic_load(&pool->is_tight);
        work = is_tight ? cpti_pool_take_needed(pool) : take_next(pool, place);
        if (work == NULL && !is_searching) {
            (void)atomic_fetch_add(&pool->state, CPTI_SEARCHER);
            is_searching = true;
        }
        if (work == NULL && !is_tight) {
            work = cpti_pool_search(pool, place, NULL, NULL);
        }
        if (work == NULL) {
            return CPTI_SEAT - CPTI_SEARCHER;
        }
        if (is_searching) {
            is_searching = false;
            cpti_pool_stop_searching(pool);
        }
        work->run(work);
    }
}

static void *run_worker(void *context)
{
    struct cpti_pool_place *place = context;
    struct cpti_pool *pool = place->pool;

    cpti_pool_current_place = place;
    while (sem_wait(&pool->wake) != 0) {
    }
    if (!atomic_load(&pool->is_over)) {
        while (sleep_until_woken(pool, run_works(pool, place))) {
        }
    }
    return NULL;
}

/* --- Places --- */

/* A new one, or NULL. Lock held. */
static struct cpti_pool_place *add_place(struct cpti_pool *pool)
{
    const unsigned count = cpti_pool_place_count(pool);
    struct cpti_pool_place *place = NULL;

    assert(count < pool->places_max);
    place = cpt_alloc_zeroed(pool->alloc, sizeof *place);
    if (place == NULL) {
        return NULL;
    }
    place->pool = pool;
    place->random = count + 1;
    cpti_deque_init(&place->deque);
    pool->places[count] = place;
    atomic_store(&pool->place_count, count + 1);
    return place;
}

/* A thief may look at any place at any time, so none is freed before the pool is. A
 * place that a guest left, or whose thread could not be made, goes to the next thread
 * that needs one: then there are never more than places_max. */
struct cpti_pool_place *cpti_pool_take_place(struct cpti_pool *pool)
{
    for (unsigned i = 0; i < cpti_pool_place_count(pool); i++) {
        struct cpti_pool_place *place = pool->places[i];

        if (place->is_guest && !place->is_taken) {
            return place;
        }
    }
    return add_place(pool);
}

bool cpti_pool_add_thread(struct cpti_pool *pool)
{
    struct cpti_pool_place *place = cpti_pool_take_place(pool);

    if (place == NULL) {
        return false;
    }
    place->is_guest = false;
    if (pthread_create(&place->thread, NULL, run_worker, place) != 0) {
        place->is_guest = true; /* free for the next one */
        pool->unmade_count++;
        return false;
    }
    pool->thread_count++;
    return true;
}

/* --- Blocking --- */

static void pool_block(struct cpt_executor *executor, int is_blocked)
{
    struct cpti_pool_place *place = cpti_pool_own_place(cpti_pool_of(executor));

    if (is_blocked) {
        cpti_timer_thread_blocks();
    }
    if (place == NULL) {
        return; /* it has no seat */
    }
    if (is_blocked) {
        cpti_pool_begin_block(place, CPTI_POOL_WAIT_FOREIGN);
    } else {
        cpti_pool_end_block(place);
    }
}

/* --- Timers --- */

static cpt_status pool_after(struct cpt_executor *executor, struct cpt_timer *timer,
                             uint64_t delay_ns)
{
    return cpti_timer_thread_after(&cpti_pool_of(executor)->timers, timer, delay_ns);
}

static int pool_cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    return cpti_timer_thread_cancel(&cpti_pool_of(executor)->timers, timer);
}

/* --- The pool --- */

bool cpti_pool_is(const struct cpt_executor *executor)
{
    return executor != NULL && executor->submit == pool_submit;
}

static unsigned processor_count(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 0 && count <= WORKERS_MAX ? (unsigned)count : 1;
}

static cpt_status check_options(struct cpt_pool_options *options,
                                struct cpt_error *error)
{
    if (options->worker_count == 0) {
        options->worker_count = processor_count();
    }
    if (options->extra_worker_count_max == 0) {
        options->extra_worker_count_max = EXTRA_DEFAULT;
    }
    if (options->worker_count > WORKERS_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "a pool of %u workers, the limit is %d",
                             options->worker_count, WORKERS_MAX);
    }
    if (options->extra_worker_count_max > EXTRA_MAX) {
        return cpt_error_set(error, CPT_LIMIT, 0,
                             "a pool of up to %u extra workers, the limit is %d",
                             options->extra_worker_count_max, EXTRA_MAX);
    }
    return CPT_OK;
}

static struct cpti_pool *pool_init(const struct cpt_pool_options *options)
{
    const unsigned places_max = options->worker_count +
                                options->extra_worker_count_max +
                                CPTI_POOL_RESERVE_MAX + CPTI_POOL_GUESTS_MAX;
    struct cpti_pool *pool = cpt_alloc_zeroed(
        options->alloc, sizeof *pool + places_max * sizeof(struct cpti_pool_place *));

    if (pool == NULL) {
        return NULL;
    }
    pool->alloc = options->alloc;
    cpti_timer_thread_init(&pool->timers, options->alloc);
    pool->worker_count = options->worker_count;
    pool->block_max = options->worker_count + options->extra_worker_count_max;
    pool->places_max = places_max;
    pool->spin_ns = processor_count() > 1 ? SPIN_NS : 0;
    (void)snprintf(pool->name, sizeof pool->name, "%s",
                   options->name != NULL ? options->name : "pool");
    pool->executor = (struct cpt_executor){.name = pool->name,
                                           .submit = pool_submit,
                                           .submit_later = cpti_pool_submit_later,
                                           .after = pool_after,
                                           .cancel = pool_cancel,
                                           .hunger = pool_hunger,
                                           .help = pool_help,
                                           .block = pool_block,
                                           .yield = pool_yield,
                                           .queue_length = pool_queue_length};
    atomic_init(&pool->state, CPTI_NO_SEAT + pool->worker_count * CPTI_SEAT);
    atomic_init(&pool->lane_due_ns, UINT64_MAX);
    pool->lane.alloc = options->alloc;
    cpti_pool_init_blocks(pool);
    (void)sem_init(&pool->wake, 0, 0);
    cpti_lock_init(&pool->lock, CPTI_RANK_POOL);
    (void)pthread_cond_init(&pool->is_quiet, NULL);
    return pool;
}

struct cpt_executor *cpt_pool_new(const struct cpt_pool_options *given,
                                  struct cpt_error *error)
{
    struct cpt_pool_options options;
    struct cpti_pool *pool = NULL;
    bool is_complete = true;

    if (cpt_options_read(&options, sizeof options, given, error) != CPT_OK ||
        check_options(&options, error) != CPT_OK) {
        return NULL;
    }
    pool = pool_init(&options);
    if (pool == NULL) {
        (void)cpt_error_set(error, CPT_NO_MEMORY, 0, "no memory for a pool");
        return NULL;
    }
    cpti_lock_take(&pool->lock);
    while (is_complete && pool->thread_count < pool->worker_count) {
        is_complete = cpti_pool_add_thread(pool);
    }
    cpti_lock_release(&pool->lock);
    if (!is_complete) {
        (void)cpt_error_set(error, CPT_IO, 0, "cannot start worker thread %u of %u",
                            pool->thread_count + 1, pool->worker_count);
        cpt_pool_free(&pool->executor);
        return NULL;
    }
    return &pool->executor;
}

static void wait_until_quiet(struct cpti_pool *pool)
{
    cpti_lock_take(&pool->lock);
    while (!is_quiet(pool)) {
        (void)pthread_cond_wait(&pool->is_quiet, &pool->lock.mutex);
    }
    cpti_lock_release(&pool->lock);
}

static void end_threads(struct cpti_pool *pool)
{
    atomic_store(&pool->is_over, true);
    for (unsigned i = 0; i < pool->thread_count; i++) {
        (void)sem_post(&pool->wake);
    }
    for (unsigned i = 0; i < cpti_pool_place_count(pool); i++) {
        struct cpti_pool_place *place = pool->places[i];

        if (!place->is_guest) {
            (void)pthread_join(place->thread, NULL);
        }
    }
    for (unsigned i = 0; i < cpti_pool_place_count(pool); i++) {
        cpti_deque_deinit(&pool->places[i]->deque);
        cpt_alloc_free(pool->alloc, pool->places[i]);
    }
}

void cpt_pool_free(struct cpt_executor *executor)
{
    struct cpti_pool *pool = executor != NULL ? cpti_pool_of(executor) : NULL;

    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->is_stopping, true);
    wait_until_quiet(pool); /* a task that blocks may still need a timer for that */
    cpti_timer_thread_stop(&pool->timers);
    wait_until_quiet(pool); /* a timer may just have fired */
    end_threads(pool);
    cpti_timer_thread_deinit(&pool->timers);
    (void)pthread_cond_destroy(&pool->is_quiet);
    (void)sem_destroy(&pool->wake);
    cpti_lock_deinit(&pool->lock);
    cpti_lane_deinit(&pool->lane);
    cpt_alloc_free(pool->alloc, pool);
}

struct cpti_pool_counts cpti_pool_count(struct cpt_executor *executor)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_counts counts = {0};

    cpti_lock_take(&pool->lock);
    counts.inbox = pool->inbox_total;
    counts.spilled = pool->spilled_count;
    counts.refused = pool->refused_count;
    counts.later = pool->lane.come_count;
    counts.due = pool->lane.due_count;
    counts.unmade = pool->unmade_count;
    counts.reserve =
        pool->thread_count > pool->block_max ? pool->thread_count - pool->block_max : 0;
    counts.extra = pool->thread_count - counts.reserve - pool->worker_count;
    for (unsigned i = 0; i < cpti_pool_place_count(pool); i++) {
        counts.stolen +=
            __atomic_load_n(&pool->places[i]->stolen_count, __ATOMIC_RELAXED);
    }
    cpti_lock_release(&pool->lock);
    counts.woken = atomic_load_explicit(&pool->woken_count, memory_order_relaxed);
    return counts;
}
