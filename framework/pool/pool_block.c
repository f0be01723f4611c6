/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool_block.c - threads that block, and that one is left for what they wait for
 *
 * A thread that blocks leaves its seat to another, so that worker_count threads run.
 * There are block_max threads, worker_count and the extra ones, and each may block:
 *
 *      blocked    0 .. extra       worker_count seats
 *                 .. block_max - 1 one seat less with each
 *                 block_max ..     the pool is *tight*: one seat, of the reserve
 *
 * What these threads wait for may be work of this very pool: a component, or the rest
 * of a task that holds a lock. So while the pool is tight, one more thread, the
 * *reserve*, runs what is *needed* and nothing else: cpti_work_is_needed(). All else,
 * such as the requests that have not begun, waits in line until a thread comes back;
 * that is why the threads do not become more with the requests.
 *
 *      blocked  | lock | lock | lock | wait |         line: request, request, request
 *      reserve  | component | rest of the holder |
 *
 * If the reserve blocks as well, as what it runs waits for something within the
 * process, another thread becomes the reserve: no order of running these steps could do
 * with fewer, since each has its stack. If it waits for the world outside, it is
 * *stalled*, which ends by itself: then another thread follows it at once only while
 * fewer than worker_count are stalled, and from there on one at each tick, so that a
 * lock beside them is handed over.
 *
 * Where the system makes no more threads, the pool is tight, too; it tries again when
 * the valve opens, when work comes, and when a thread blocks or has waited for a while.
 * Meanwhile a thread that blocks runs what is needed itself, on top of its step, to a
 * limited depth: cpti_pool_take_help(). The step then goes on only when that has
 * returned, so this is the last resort, and only for what is needed; what the step
 * itself waits for comes first, and the step gets no lock meanwhile. One deadlock is
 * left: what runs on top wants a lock that the step below *has*, or what that does
 * next. Not to run it could be a deadlock, too: the step below may wait for it, through
 * others, and the pool does not know who waits for whom. What is not known to be needed
 * is not run there: a step that waits for what another request completes goes on when a
 * thread comes back, or can be made.
 *
 * The valve. What is needed is a guess: a step may wait for a request that some other
 * service, in the same process, is to answer, or for what a task of another request
 * completes. So if no block ends for a while, one work of any kind may run: the newest,
 * then the oldest, as what is waited for was often begun by those who wait. The while
 * is doubled each time that this was of no use. Whatever the steps wait for is thus run
 * at last, unless they wait for each other.
 *
 * Whatever makes work needed is written before the lock is taken or the state read, so
 * the protocol of sleeping (pool.c) holds for needed work, too: docs/models/tight.pml.
 */
#include "framework/pool/pool.h"

#include "framework/pool/pool_state.h"

#define VALVE_NS UINT64_C(10000000) /* a tick */

enum {
    VALVE_TICKS_FOREIGN = 16,
    VALVE_TICKS_MAX = 64, /* 640 ms */
    POSTPONED_MAX = 16,   /* openings, as blocks end meanwhile */
    HELP_DEPTH_MAX = 16   /* of one thread, where the system makes no more threads */
};

/* --- Seats. Lock held. --- */

/* How many threads may run what they like. */
static unsigned free_seats(const struct cpti_pool *pool)
{
    const unsigned left = pool->blocked_count < pool->block_max
                              ? pool->block_max - pool->blocked_count
                              : 0;

    return left < pool->worker_count ? left : pool->worker_count;
}

/* Begins or ends a tight spell. */
static void note_tight(struct cpti_pool *pool, bool is_tight)
{
    if (is_tight == atomic_load_explicit(&pool->is_tight, memory_order_relaxed)) {
        return;
    }
    atomic_store(&pool->is_tight, is_tight);
    pool->tight_number++;
    pool->stalled_count = 0;
    pool->stalled_max = pool->worker_count;
    pool->is_open = false;
    pool->prefers_oldest = false;
    pool->seen_count = pool->ended_count;
    pool->postponed_count = 0;
    pool->valve_ticks = 1;
    pool->ticks_left = 1;
}

/* The same, and the one of the reserve. */
static unsigned wanted_seats(const struct cpti_pool *pool)
{
    const unsigned all = free_seats(pool);

    if (all != 0) {
        return all;
    }
    return pool->stalled_count < pool->stalled_max || pool->is_open ? 1 : 0;
}

/* What is blocked, or the valve, has changed; the caller has left @left seats. Makes
 * threads that are missing. False: fewer run than could. */
static bool reseat(struct cpti_pool *pool, int left)
{
    const unsigned before = pool->seat_count;
    const unsigned wanted = wanted_seats(pool);
    unsigned idle = 0;
    uint32_t change = 0;

    while (pool->thread_count < pool->blocked_count + wanted &&
           pool->thread_count < pool->block_max + CPTI_POOL_RESERVE_MAX &&
           cpti_pool_add_thread(pool)) {
    }
    idle = pool->thread_count - pool->blocked_count;
    note_tight(pool, free_seats(pool) == 0 || idle == 0);
    pool->seat_count = wanted < idle ? wanted : idle;
    change = (uint32_t)(left + (int)pool->seat_count - (int)before) * CPTI_SEAT;
    (void)atomic_fetch_add(&pool->state, change);
    return wanted <= idle;
}

/* --- The valve --- */

/* Sets the timer of a tight pool, unless it is set. No lock held. */
static void set_valve(struct cpti_pool *pool)
{
    bool sets = false;

    cpti_lock_take(&pool->lock);
    sets = !pool->is_valve_set && atomic_load(&pool->is_tight);
    pool->is_valve_set = pool->is_valve_set || sets;
    cpti_lock_release(&pool->lock);
    if (sets &&
        cpti_timer_thread_after(&pool->timers, &pool->valve, VALVE_NS) != CPT_OK) {
        cpti_lock_take(&pool->lock);
        pool->is_valve_set = false; /* the next block tries again */
        cpti_lock_release(&pool->lock);
    }
}

/* Its while is over: opens the valve, unless blocks have ended meanwhile. But those may
 * be of one step that blocks again and again, while the others wait for what is in the
 * line. Lock held. */
static void look_at_valve(struct cpti_pool *pool)
{
    if (pool->ended_count != pool->seen_count &&
        pool->postponed_count < POSTPONED_MAX) {
        pool->postponed_count++;
        pool->valve_ticks = 1;
    } else if (!pool->is_open) {
        pool->postponed_count = 0;
        pool->is_open = true;
        pool->valve_ticks *= pool->valve_ticks < VALVE_TICKS_MAX ? 2 : 1;
    }
    pool->seen_count = pool->ended_count;
    pool->ticks_left = pool->valve_ticks;
}

/* Lets what is needed have a thread at each tick, and any work when the while is over.
 * Lock held. */
static void tick(struct cpti_pool *pool)
{
    const bool is_full = pool->stalled_count >= pool->stalled_max;
    const bool is_over = --pool->ticks_left == 0;

    if (is_full) {
        pool->stalled_max = pool->stalled_count + 1;
    }
    if (is_over) {
        look_at_valve(pool);
    }
    if (is_full || is_over) {
        (void)reseat(pool, 0);
        cpti_pool_wake_one(pool);
    }
}

static void fire_valve(struct cpt_timer *timer)
{
    struct cpti_pool *pool = CPTI_CONTAINER(timer, struct cpti_pool, valve);

    cpti_lock_take(&pool->lock);
    pool->is_valve_set = false;
    if (atomic_load(&pool->is_tight)) {
        tick(pool);
    }
    cpti_lock_release(&pool->lock);
    set_valve(pool);
}

void cpti_pool_init_blocks(struct cpti_pool *pool)
{
    pool->seat_count = pool->worker_count;
    pool->valve.fire = fire_valve;
}

/* --- Which work may run --- */

/* Puts all that waits in deques and in the second lane into the inbox. Lock held. */
static void gather(struct cpti_pool *pool)
{
    for (unsigned i = 0; i < cpti_pool_place_count(pool); i++) {
        struct cpt_work *work = NULL;

        while ((work = cpti_deque_steal(&pool->places[i]->deque)) != NULL) {
            cpti_pool_put_in_inbox(pool, work);
        }
    }
    cpti_pool_close_lane(pool);
}

/* Where the inbox links the next work that is needed, or NULL. Lock held. */
static struct cpt_work **find_needed(struct cpti_pool *pool)
{
    struct cpt_work **link = &pool->first;

    while (*link != NULL && !cpti_work_is_needed(*link)) {
        link = &(*link)->next;
    }
    return link;
}

/* The same for work that a thread of the reserve may run. */
static struct cpt_work **find_next(struct cpti_pool *pool)
{
    struct cpt_work **link = &pool->first;

    if (!pool->is_open) {
        return atomic_load(&pool->is_tight) ? find_needed(pool) : link;
    }
    while (!pool->prefers_oldest && *link != NULL && (*link)->next != NULL) {
        link = &(*link)->next;
    }
    return link;
}

/* After one work. Lock held. */
static void close_valve(struct cpti_pool *pool)
{
    pool->is_open = false;
    pool->prefers_oldest = !pool->prefers_oldest;
    (void)reseat(pool, 0);
}

/* Takes the work at @link out of the inbox. Lock held. */
static struct cpt_work *take_at(struct cpti_pool *pool, struct cpt_work **link)
{
    struct cpt_work *work = *link;

    *link = work->next;
    if (work == pool->last) {
        pool->last =
            link == &pool->first ? NULL : CPTI_CONTAINER(link, struct cpt_work, next);
    }
    atomic_fetch_sub(&pool->inbox_count, 1);
    return work;
}

struct cpt_work *cpti_pool_take_needed(struct cpti_pool *pool)
{
    struct cpt_work **link = NULL;
    struct cpt_work *work = NULL;

    cpti_lock_take(&pool->lock);
    gather(pool);
    link = find_next(pool);
    if (*link != NULL) {
        work = take_at(pool, link);
        if (pool->is_open) {
            close_valve(pool);
        }
    }
    cpti_lock_release(&pool->lock);
    return work;
}

bool cpti_pool_has_needed(struct cpti_pool *pool)
{
    bool has_needed = false;

    cpti_lock_take(&pool->lock);
    gather(pool);
    has_needed = *find_next(pool) != NULL;
    cpti_lock_release(&pool->lock);
    return has_needed;
}

/* --- A thread blocks --- */

/* Notes that one more thread blocks. Lock held. */
static void count_block(struct cpti_pool *pool, struct cpti_pool_place *place,
                        enum cpti_pool_wait wait)
{
    const bool was_tight = atomic_load(&pool->is_tight);
    const bool is_beyond = ++pool->blocked_count > pool->block_max;

    place->stalled_in = pool->tight_number - 1;
    if (is_beyond && wait != CPTI_POOL_WAIT_WITHIN) {
        place->stalled_in = pool->tight_number;
        pool->stalled_count++;
    }
    if (!reseat(pool, 1) ||
        pool->blocked_count + pool->worker_count > pool->block_max) {
        pool->refused_count++;
    }
    if (!was_tight && wait == CPTI_POOL_WAIT_FOREIGN) {
        pool->ticks_left = VALVE_TICKS_FOREIGN;
    }
}

void cpti_pool_begin_block(struct cpti_pool_place *place, enum cpti_pool_wait wait)
{
    struct cpti_pool *pool = place->pool;

    if (place->is_guest) {
        cpti_pool_stand_up(pool, place);
        return;
    }
    if (place->block_depth++ != 0) {
        return;
    }
    cpti_lock_take(&pool->lock);
    count_block(pool, place, wait);
    cpti_lock_release(&pool->lock);
    if (atomic_load(&pool->is_tight)) {
        set_valve(pool);
    }
    if (cpti_pool_has_work(pool)) {
        cpti_pool_wake_one(pool);
    }
}

void cpti_pool_end_block(struct cpti_pool_place *place)
{
    struct cpti_pool *pool = place->pool;

    /* An end without a begin has no effect. */
    if (place->is_guest || place->block_depth == 0 || --place->block_depth != 0) {
        return;
    }
    cpti_lock_take(&pool->lock);
    pool->blocked_count--;
    pool->ended_count++;
    if (place->stalled_in == pool->tight_number && pool->stalled_count != 0) {
        pool->stalled_count--;
    }
    (void)reseat(pool, -1);
    cpti_lock_release(&pool->lock);
}

void cpti_pool_block_thread(enum cpti_pool_wait wait)
{
    cpti_timer_thread_blocks();
    if (cpti_pool_current_place != NULL) {
        cpti_pool_begin_block(cpti_pool_current_place, wait);
    }
}

void cpti_pool_unblock_thread(void)
{
    if (cpti_pool_current_place != NULL) {
        cpti_pool_end_block(cpti_pool_current_place);
    }
}

void cpti_pool_try_again(struct cpti_pool *pool)
{
    cpti_lock_take(&pool->lock);
    (void)reseat(pool, 0);
    cpti_pool_wake_one(pool);
    cpti_lock_release(&pool->lock);
    set_valve(pool);
}

void cpti_pool_look_again(void)
{
    struct cpti_pool *pool =
        cpti_pool_current_place != NULL ? cpti_pool_current_place->pool : NULL;

    cpti_timer_thread_blocks();
    if (pool != NULL && atomic_load(&pool->is_tight)) {
        cpti_pool_try_again(pool);
    }
}

/* Where the inbox links the next work of @owner, or NULL. Lock held. */
static struct cpt_work **find_of(struct cpti_pool *pool, const void *owner)
{
    struct cpt_work **link = &pool->first;

    while (*link != NULL && !cpti_work_is_of(*link, owner)) {
        link = &(*link)->next;
    }
    return link;
}

/* Work that is needed, first that of @owner, if @pool should have a thread for it, and
 * got none; or NULL. */
static struct cpt_work *take_if_short(struct cpti_pool *pool, const void *owner)
{
    struct cpt_work **link = NULL;
    struct cpt_work *work = NULL;

    cpti_lock_take(&pool->lock);
    if (pool->thread_count == pool->blocked_count && wanted_seats(pool) != 0) {
        gather(pool);
        link = find_of(pool, owner);
        link = *link != NULL ? link : find_needed(pool);
        work = *link != NULL ? take_at(pool, link) : NULL;
    }
    cpti_lock_release(&pool->lock);
    return work;
}

struct cpt_work *cpti_pool_take_help(const void *owner)
{
    struct cpti_pool_place *place = cpti_pool_current_place;
    struct cpti_pool *pool = place != NULL ? place->pool : NULL;

    if (pool == NULL || place->is_guest || !atomic_load(&pool->is_tight) ||
        place->help_depth == HELP_DEPTH_MAX) {
        return NULL;
    }
    return take_if_short(pool, owner);
}

void cpti_pool_run_help(struct cpt_work *work)
{
    struct cpti_pool_place *place = cpti_pool_current_place;

    place->help_depth++;
    work->run(work);
    place->help_depth--;
}

void cpti_pool_note_needed(struct cpt_executor *executor)
{
    if (cpti_pool_is(executor) && atomic_load(&cpti_pool_of(executor)->is_tight)) {
        cpti_pool_wake_one(cpti_pool_of(executor));
    }
}
