/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool.c - worker threads that steal from each other, and a thread for timers
 *
 *      submit from a worker  --> its deque --> the worker itself, newest first
 *                                         \--> a thief, oldest first
 *      submit from elsewhere --> inbox, first come, first served
 *      after                 --> timers --> timer thread, begun with the first timer
 *
 * Fairness. A worker prefers its own deque, but looks into the inbox after every
 * TURN_WORKS works and after TURN_NS, so that a request which makes work for itself
 * without end does not starve one that has just come; pool_yield() is for one that does
 * not even come back to its worker.
 *
 * Seats. As many threads as the pool has workers may be awake: each sits on a seat. A
 * thread that finds nothing to do leaves its seat and sleeps; one that blocks inside a
 * task leaves its seat too, and a thread beyond the workers is there to take it (it is
 * made then, once, and sleeps from then on). So at any time
 *
 *      sleeping threads >= free seats
 *
 * and whoever has taken a free seat in the name of a sleeper may wake one, any one. A
 * thread that comes back from blocking sits down where there is no seat: free seats are
 * then less than 0 until a thread notices that between two works, and goes to sleep.
 *
 * A foreign thread that takes part (pool.h) takes a seat if more than one is free, so
 * that one is left for those who look into the inbox. It searches as a worker does
 * while it waits for its own request, and stands up when its turn is over.
 *
 * Nobody is woken for nothing, and nobody sleeps while there is work. `state` holds how
 * many seats are free and how many threads are *searching*: awake, without work.
 *
 *      who has work for others                 who finds none
 *      put it where others look                seat free, searching - 1
 *      searching == 0 and a seat is free?      is there work anywhere?
 *        take the seat, searching + 1, wake      no -> sleep
 *
 * Both columns write first and then read, all in one order (seq_cst), so that one of
 * the two sees the other. While somebody searches nobody else is woken: a searcher that
 * has found work, and was the last one, wakes another if there is more. docs/models/
 * has this as a model that a checker goes through.
 *
 * A searcher looks around for SPIN_NS before it sleeps. (Less, after that was in vain,
 * is worse: it then sleeps between any two pieces of work.)
 *
 * Once a work has run its owner may free the pool. Workers are joined by that; a submit
 * from elsewhere holds the lock until it has done all it does to the pool, and freeing
 * takes the lock.
 */
#include "framework/pool/pool.h"

#include "cpt/now.h"
#include "framework/pool/pool_state.h"
#include "framework/pool/executor.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 1024,
    EXTRA_MAX = 4096,
    EXTRA_DEFAULT = 64,
    ADOPTED_MAX = 64, /* foreign threads with a deque at one time */
    TURN_WORKS = 61,
    TURN_NS = 2000000,
    SPIN_NS = 20000,
    SPINS_MAX = 40,   /* looks until it lets others have the processor, 2 us or so */
    SPINNERS_MIN = 2, /* so many may spin in the smallest pool */
};

/* The place of this thread, in whichever pool. */
static _Thread_local struct place *current_place
    __attribute__((tls_model("initial-exec")));

/* The pool that this thread, none of its own, would take part in; see
 * cpti_pool_enter(). */
static _Thread_local struct cpt_executor *guest_of
    __attribute__((tls_model("initial-exec")));

static struct place *own_place(const struct pool *pool)
{
    struct place *place = current_place;

    return place != NULL && place->pool == pool ? place : NULL;
}

/* Some milliseconds late, for a quarter of the price. */
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

/* One more, of a counter that only one thread writes. */
static void count_up(uint64_t *counter)
{
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* --- Work in and out --- */

/* Lock held. */
static void put_in_inbox(struct pool *pool, struct cpt_work *work)
{
    work->next = NULL;
    *(pool->first != NULL ? &pool->last->next : &pool->first) = work;
    pool->last = work;
    pool->inbox_total++;
    atomic_fetch_add(&pool->inbox_count, 1);
}

static struct cpt_work *take_from_inbox(struct pool *pool)
{
    struct cpt_work *work = NULL;

    if (atomic_load(&pool->inbox_count) == 0) {
        return NULL;
    }
    cpti_lock_take(&pool->lock);
    work = pool->first;
    if (work != NULL) {
        pool->first = work->next;
        atomic_fetch_sub(&pool->inbox_count, 1);
    }
    cpti_lock_release(&pool->lock);
    return work;
}

static struct cpt_work *steal(struct pool *pool, struct place *place)
{
    const unsigned count = place_count(pool);
    unsigned index = 0;

    if (place != NULL) {
        place->random = place->random * UINT64_C(6364136223846793005) + 1;
        index = (unsigned)((place->random >> 33) % count);
    }
    for (unsigned i = 0; i < count; i++, index++) {
        struct cpt_work *work = NULL;

        index = index < count ? index : 0;
        work = cpti_deque_steal(&place_at(pool, index)->deque);
        if (work != NULL) {
            if (place != NULL) {
                count_up(&place->stolen_count);
            }
            return work;
        }
    }
    return NULL;
}

static struct cpt_work *take_from_others(struct pool *pool, struct place *place)
{
    struct cpt_work *work = take_from_inbox(pool);

    return work != NULL ? work : steal(pool, place);
}

static void pool_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct pool *pool = (struct pool *)executor;
    struct place *place = own_place(pool);

    if (place == NULL && guest_of == executor && cpti_pool_adopt(executor) == CPT_OK) {
        place = current_place;
    }
    if (place != NULL && cpti_deque_push(&place->deque, work)) {
        wake_one(pool);
        return;
    }
    cpti_lock_take(&pool->lock);
    pool->spilled_count += place != NULL;
    put_in_inbox(pool, work);
    /* With the lock held: once the work has run, somebody may free the pool. */
    wake_one(pool);
    cpti_lock_release(&pool->lock);
}

static int pool_help(struct cpt_executor *executor)
{
    struct pool *pool = (struct pool *)executor;
    struct place *place = own_place(pool);
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

static int others_wait(struct pool *pool)
{
    return atomic_load_explicit(&pool->inbox_count, memory_order_relaxed) != 0;
}

static unsigned pool_hunger(struct cpt_executor *executor)
{
    struct pool *pool = (struct pool *)executor;

    return (pool->worker_count > 1 ? (unsigned)CPT_HUNGRY_THREAD : 0) |
           (others_wait(pool) ? (unsigned)CPT_HUNGRY_WORK : 0);
}

/* --- Turns --- */

/* A foreign thread leaves its seat to a worker. */
static void stand_up(struct pool *pool, struct place *place)
{
    if (place->has_seat) {
        place->has_seat = 0;
        (void)atomic_fetch_sub(&pool->guest_count, 1);
        (void)atomic_fetch_add(&pool->state, SEAT);
        if (has_work(pool)) {
            wake_one(pool);
        }
    }
}

/* Others wait, and this thread has not looked at them for as long as a turn lasts. */
static int is_turn_over(struct place *place)
{
    const uint64_t coarse = coarse_ns();

    if (place->turn_ns == 0) {
        place->turn_ns = coarse;
    }
    return coarse - place->turn_ns >= TURN_NS;
}

static int pool_yield(struct cpt_executor *executor, struct cpt_work *work)
{
    struct pool *pool = (struct pool *)executor;
    struct place *place = NULL;

    if (!others_wait(pool)) {
        return 0;
    }
    place = own_place(pool);
    if (place == NULL || !is_turn_over(place)) {
        return 0;
    }
    place->turn_ns = 0;
    if (place->is_adopted) {
        stand_up(pool, place); /* it may go on beside the workers */
        return 0;
    }
    cpti_lock_take(&pool->lock);
    put_in_inbox(pool, work);
    cpti_lock_release(&pool->lock);
    return 1;
}

/* The next work of a thread that has some; most often it is its own newest. */
static struct cpt_work *take_next(struct pool *pool, struct place *place)
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

/* So many search already that one more would only be in their way. */
static int is_crowded(struct pool *pool)
{
    const unsigned count = searching(atomic_load(&pool->state));

    return count > SPINNERS_MIN && 2 * count > pool->worker_count + 1;
}

/* A moment between two looks. Who has work may need the processor to go on with it: a
 * thread that was woken often is put on that of the one that woke it. */
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

/* Looks around for a while, but not once @is_over says so; NULL: it never does. */
static struct cpt_work *search(struct pool *pool, struct place *place,
                               int (*is_over)(void *context), void *context)
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
        work = has_work(pool) ? take_from_others(pool, place) : NULL;
    } while (work == NULL && cpti_now_ns() < until_ns &&
             free_seats(atomic_load_explicit(&pool->state, memory_order_relaxed)) >= 0);
    return work;
}

/* It has found work. If it was the last one, somebody else shall look for the rest. */
static void stop_searching(struct pool *pool)
{
    if (searching(atomic_fetch_sub(&pool->state, SEARCHER)) == 1 && has_work(pool)) {
        wake_one(pool);
    }
}

/* Nobody is awake or blocked, and there is nothing to run. */
static int is_quiet(struct pool *pool)
{
    return free_seats(atomic_load(&pool->state)) == (int)pool->worker_count &&
           pool->blocked_count == 0 && !has_work(pool);
}

/* A seat has become free: cpt_pool_free() may wait for that. */
static void tell_quiet(struct pool *pool)
{
    if (atomic_load(&pool->is_stopping)) {
        cpti_lock_take(&pool->lock);
        (void)pthread_cond_signal(&pool->is_quiet);
        cpti_lock_release(&pool->lock);
    }
}

/* Leaves the seat (by @change of the state) and sleeps. 1: it has a seat again, and
 * searches; 0: the pool is over. */
static int sleep_until_woken(struct pool *pool, uint_fast32_t change)
{
    (void)atomic_fetch_add(&pool->state, change);
    if (has_work(pool) && take_seat(pool)) {
        return 1;
    }
    tell_quiet(pool);
    cpti_thread_idles();
    while (sem_wait(&pool->wake) != 0) {
    }
    return !atomic_load(&pool->is_over);
}

/* More threads are awake than there are seats: one that gives way. */
static int gives_way(struct pool *pool)
{
    uint_fast32_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);

    while (free_seats(state) < 0) {
        if (atomic_compare_exchange_weak(&pool->state, &state, state + SEAT)) {
            return 1;
        }
    }
    return 0;
}

/* Runs work until there is none left for this thread. The change of the state with
 * which it goes to sleep. */
static uint_fast32_t run_works(struct pool *pool, struct place *place)
{
    int is_searching = 1;

    for (;;) {
        struct cpt_work *work = NULL;

        if (!is_searching && gives_way(pool)) {
            return 0;
        }
        work = take_next(pool, place);
        if (work == NULL) {
            if (!is_searching) {
                (void)atomic_fetch_add(&pool->state, SEARCHER);
                is_searching = 1;
            }
            work = search(pool, place, NULL, NULL);
        }
        if (work == NULL) {
            return SEAT - SEARCHER;
        }
        if (is_searching) {
            is_searching = 0;
            stop_searching(pool);
        }
        work->run(work);
    }
}

static void *run_worker(void *context)
{
    struct place *place = context;
    struct pool *pool = place->pool;

    current_place = place;
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
static struct place *add_place(struct pool *pool)
{
    const unsigned count = place_count(pool);
    struct place *place = NULL;

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

/* A place that nobody has, or a new one; NULL: no memory. Lock held. A thief may look
 * at any place at any time, so that none is freed before the pool is. One that was
 * left, or whose thread could not be made, is for whoever needs one next: then there
 * are never more than of the most threads and of the most foreign ones together. */
static struct place *take_place(struct pool *pool)
{
    for (unsigned i = 0; i < place_count(pool); i++) {
        struct place *place = place_at(pool, i);

        if (place->is_adopted && !place->is_taken) {
            return place;
        }
    }
    return add_place(pool);
}

/* A place with a sleeping thread. Lock held. */
static int add_thread(struct pool *pool)
{
    struct place *place = take_place(pool);

    if (place == NULL) {
        return 0;
    }
    place->is_adopted = 0;
    if (pthread_create(&place->thread, NULL, run_worker, place) != 0) {
        place->is_adopted = 1; /* by nobody yet */
        pool->unmade_count++;
        return 0;
    }
    pool->thread_count++;
    return 1;
}

/* --- Blocking --- */

/* A thread that will take the place of one that blocks: one sleeps for that, or is
 * made. Lock held. */
static int has_other(struct pool *pool)
{
    return pool->blocked_count < pool->thread_count - pool->worker_count ||
           (pool->thread_count < pool->worker_count + pool->extra_max &&
            add_thread(pool));
}

/* 1: the thread has left its seat. */
static int begin_block(struct pool *pool, struct place *place)
{
    int has_left_seat = 0;

    cpti_lock_take(&pool->lock);
    has_left_seat = has_other(pool);
    place->has_left_seat = (unsigned char)has_left_seat;
    if (has_left_seat) {
        pool->blocked_count++;
        (void)atomic_fetch_add(&pool->state, SEAT);
    } else {
        pool->refused_count++;
        place->next_refused = pool->refused;
        pool->refused = place;
    }
    cpti_lock_release(&pool->lock);
    return has_left_seat;
}

static void end_block(struct pool *pool, struct place *place)
{
    cpti_lock_take(&pool->lock);
    if (!place->has_left_seat) {
        struct place **link = &pool->refused;

        while (*link != place) {
            link = &(*link)->next_refused;
        }
        *link = place->next_refused;
    } else if (pool->refused != NULL) {
        /* One blocks on its seat, as there was nobody to take it: we do. */
        pool->refused->has_left_seat = 1;
        pool->refused = pool->refused->next_refused;
    } else {
        pool->blocked_count--;
        (void)atomic_fetch_sub(&pool->state, SEAT);
    }
    place->has_left_seat = 0;
    cpti_lock_release(&pool->lock);
}

static void pool_block(struct cpt_executor *executor, int is_blocked)
{
    struct pool *pool = (struct pool *)executor;
    struct place *place = own_place(pool);

    if (place == NULL) {
        return; /* has no seat */
    }
    if (place->is_adopted) {
        if (is_blocked) {
            stand_up(pool, place);
        }
        return;
    }
    if (is_blocked) {
        if (place->block_depth++ == 0 && begin_block(pool, place) && has_work(pool)) {
            wake_one(pool);
        }
        return;
    }
    assert(place->block_depth != 0);
    if (--place->block_depth == 0) {
        end_block(pool, place);
    }
}

/* --- Timers --- */

static cpt_status pool_after(struct cpt_executor *executor, struct cpt_timer *timer,
                             uint64_t delay_ns)
{
    return cpti_timer_thread_after(&((struct pool *)executor)->timers, timer, delay_ns);
}

static int pool_cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    return cpti_timer_thread_cancel(&((struct pool *)executor)->timers, timer);
}

/* --- The pool --- */

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

static struct pool *pool_init(const struct cpt_pool_options *options)
{
    const unsigned places_max =
        options->worker_count + options->extra_worker_count_max + ADOPTED_MAX;
    struct pool *pool = cpt_alloc_zeroed(
        options->alloc, sizeof *pool + places_max * sizeof(struct place *));

    if (pool == NULL) {
        return NULL;
    }
    pool->alloc = options->alloc;
    cpti_timer_thread_init(&pool->timers, options->alloc);
    pool->worker_count = options->worker_count;
    pool->extra_max = options->extra_worker_count_max;
    pool->places_max = places_max;
    pool->spin_ns = processor_count() > 1 ? SPIN_NS : 0;
    (void)snprintf(pool->name, sizeof pool->name, "%s",
                   options->name != NULL ? options->name : "pool");
    pool->executor = (struct cpt_executor){.name = pool->name,
                                           .submit = pool_submit,
                                           .after = pool_after,
                                           .cancel = pool_cancel,
                                           .hunger = pool_hunger,
                                           .help = pool_help,
                                           .block = pool_block,
                                           .yield = pool_yield};
    atomic_init(&pool->state, NO_SEAT + pool->worker_count * SEAT);
    (void)sem_init(&pool->wake, 0, 0);
    cpti_lock_init(&pool->lock, CPTI_RANK_POOL);
    (void)pthread_cond_init(&pool->is_quiet, NULL);
    return pool;
}

struct cpt_executor *cpt_pool_new(const struct cpt_pool_options *given,
                                  struct cpt_error *error)
{
    struct cpt_pool_options options;
    struct pool *pool = NULL;
    int is_complete = 1;

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
        is_complete = add_thread(pool);
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

static void wait_until_quiet(struct pool *pool)
{
    cpti_lock_take(&pool->lock);
    while (!is_quiet(pool)) {
        (void)pthread_cond_wait(&pool->is_quiet, &pool->lock.mutex);
    }
    cpti_lock_release(&pool->lock);
}

static void end_threads(struct pool *pool)
{
    atomic_store(&pool->is_over, 1);
    for (unsigned i = 0; i < pool->thread_count; i++) {
        (void)sem_post(&pool->wake);
    }
    for (unsigned i = 0; i < place_count(pool); i++) {
        struct place *place = place_at(pool, i);

        if (!place->is_adopted) {
            (void)pthread_join(place->thread, NULL);
        }
    }
    for (unsigned i = 0; i < place_count(pool); i++) {
        cpti_deque_deinit(&place_at(pool, i)->deque);
        cpt_alloc_free(pool->alloc, place_at(pool, i));
    }
}

void cpt_pool_free(struct cpt_executor *executor)
{
    struct pool *pool = (struct pool *)executor;

    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->is_stopping, 1);
    wait_until_quiet(pool); /* a task that blocks may still need a timer for that */
    cpti_timer_thread_stop(&pool->timers);
    wait_until_quiet(pool); /* one may just have fired */
    end_threads(pool);
    cpti_timer_thread_deinit(&pool->timers);
    (void)pthread_cond_destroy(&pool->is_quiet);
    (void)sem_destroy(&pool->wake);
    cpti_lock_deinit(&pool->lock);
    cpt_alloc_free(pool->alloc, pool);
}

/* --- Foreign threads that take part: pool.h --- */

static int is_pool(const struct cpt_executor *executor)
{
    return executor != NULL && executor->submit == pool_submit;
}

/* A place for a foreign thread. NULL: so many have one already, or no memory. */
static struct place *take_place_of_guest(struct pool *pool)
{
    struct place *place = NULL;

    cpti_lock_take(&pool->lock);
    place = pool->adopted_count < ADOPTED_MAX ? take_place(pool) : NULL;
    if (place != NULL) {
        place->is_adopted = 1;
        place->is_taken = 1;
        pool->adopted_count++;
    }
    cpti_lock_release(&pool->lock);
    return place;
}

/* Takes a seat for a foreign thread, but not the last one that a worker might have. */
static int sit_down(struct pool *pool)
{
    if (atomic_fetch_add(&pool->guest_count, 1) + 1 < pool->worker_count) {
        (void)atomic_fetch_sub(&pool->state, SEAT);
        return 1;
    }
    (void)atomic_fetch_sub(&pool->guest_count, 1);
    return 0;
}

cpt_status cpti_pool_adopt(struct cpt_executor *executor)
{
    struct place *place = NULL;

    if (!is_pool(executor) || current_place != NULL) {
        return CPT_INVALID;
    }
    place = take_place_of_guest((struct pool *)executor);
    if (place == NULL) {
        return CPT_LIMIT;
    }
    current_place = place;
    place->has_seat = (unsigned char)sit_down((struct pool *)executor);
    return CPT_OK;
}

int cpti_pool_enter(struct cpt_executor *executor)
{
    if (!is_pool(executor) || current_place != NULL || guest_of != NULL) {
        return 0;
    }
    guest_of = executor;
    return 1;
}

/* The next work for a thread that waits until @is_over, or NULL: it may as well sleep.
 * As a worker with a seat it counts as searching meanwhile. */
static struct cpt_work *look_meanwhile(struct pool *pool, struct place *place,
                                       int (*is_over)(void *context), void *context)
{
    struct cpt_work *work = cpti_deque_pop(&place->deque);

    if (work != NULL) {
        return work;
    }
    if (!place->has_seat) {
        return search(pool, place, is_over, context);
    }
    (void)atomic_fetch_add(&pool->state, SEARCHER);
    work = search(pool, place, is_over, context);
    if (work != NULL) {
        stop_searching(pool);
    } else {
        (void)atomic_fetch_sub(&pool->state, SEARCHER);
        stand_up(pool, place);
    }
    return work;
}

void cpti_pool_exit(struct cpt_executor *executor, int (*is_over)(void *context),
                    void *context)
{
    struct pool *pool = (struct pool *)executor;
    struct place *place = current_place;

    guest_of = NULL;
    if (place == NULL) {
        return;
    }
    while (is_over != NULL && !is_over(context)) {
        struct cpt_work *work = look_meanwhile(pool, place, is_over, context);

        if (work == NULL) {
            break;
        }
        work->run(work);
    }
    cpti_pool_leave(executor);
}

int cpti_pool_help_own(struct cpt_executor *executor)
{
    struct place *place = is_pool(executor) ? own_place((struct pool *)executor) : NULL;
    struct cpt_work *work = place != NULL ? cpti_deque_pop(&place->deque) : NULL;

    if (work != NULL) {
        work->run(work);
    }
    return work != NULL;
}

void cpti_pool_leave(struct cpt_executor *executor)
{
    struct pool *pool = (struct pool *)executor;
    struct place *place = own_place(pool);
    struct cpt_work *work = NULL;

    assert(pool != NULL && place != NULL && place->is_adopted);
    current_place = NULL;
    stand_up(pool, place);
    tell_quiet(pool);
    while ((work = cpti_deque_steal(&place->deque)) != NULL) {
        pool_submit(executor, work);
    }
    cpti_lock_take(&pool->lock);
    place->is_taken = 0;
    pool->adopted_count--;
    cpti_lock_release(&pool->lock);
}

struct cpti_pool_counts cpti_pool_count(struct cpt_executor *executor)
{
    struct pool *pool = (struct pool *)executor;
    struct cpti_pool_counts counts = {0};

    cpti_lock_take(&pool->lock);
    counts.inbox = pool->inbox_total;
    counts.spilled = pool->spilled_count;
    counts.refused = pool->refused_count;
    counts.unmade = pool->unmade_count;
    counts.extra = pool->thread_count - pool->worker_count;
    for (unsigned i = 0; i < place_count(pool); i++) {
        counts.stolen +=
            __atomic_load_n(&place_at(pool, i)->stolen_count, __ATOMIC_RELAXED);
    }
    cpti_lock_release(&pool->lock);
    counts.woken = atomic_load_explicit(&pool->woken_count, memory_order_relaxed);
    return counts;
}
