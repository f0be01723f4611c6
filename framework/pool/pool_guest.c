/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool_guest.c - threads of the application that take part in a pool; see pool.h
 *
 * A guest takes a seat only if more than one is free to guests, so that one is left for
 * workers, which look into the inbox. While it waits for its own request it searches as
 * a worker does, and leaves its seat when its turn is over. docs/models/guest.pml is a
 * model of this.
 */
#include "framework/pool/pool.h"

#include "framework/pool/pool_state.h"

#include <assert.h>

_Thread_local struct cpt_executor *cpti_pool_guest_of
    __attribute__((tls_model("initial-exec")));

void cpti_pool_stand_up(struct cpti_pool *pool, struct cpti_pool_place *place)
{
    if (place->has_seat) {
        place->has_seat = false;
        (void)atomic_fetch_sub(&pool->seated_guest_count, 1);
        (void)atomic_fetch_add(&pool->state, CPTI_SEAT);
        if (cpti_pool_has_work(pool)) {
            cpti_pool_wake_one(pool);
        }
    }
}

/* A place for a guest. NULL: too many guests, or no memory. */
static struct cpti_pool_place *take_guest_place(struct cpti_pool *pool)
{
    struct cpti_pool_place *place = NULL;

    cpti_lock_take(&pool->lock);
    place =
        pool->guest_count < CPTI_POOL_GUESTS_MAX ? cpti_pool_take_place(pool) : NULL;
    if (place != NULL) {
        place->is_guest = true;
        place->is_taken = true;
        pool->guest_count++;
    }
    cpti_lock_release(&pool->lock);
    return place;
}

/* Takes a seat for a guest, but leaves one for the workers; the one of a tight pool is
 * for its reserve. */
static bool sit_down(struct cpti_pool *pool)
{
    if (atomic_load(&pool->is_tight)) {
        return false;
    }
    if (atomic_fetch_add(&pool->seated_guest_count, 1) + 1 < pool->worker_count) {
        (void)atomic_fetch_sub(&pool->state, CPTI_SEAT);
        return true;
    }
    (void)atomic_fetch_sub(&pool->seated_guest_count, 1);
    return false;
}

cpt_status cpti_pool_adopt(struct cpt_executor *executor)
{
    struct cpti_pool_place *place = NULL;

    if (!cpti_pool_is(executor) || cpti_pool_current_place != NULL) {
        return CPT_INVALID;
    }
    place = take_guest_place(cpti_pool_of(executor));
    if (place == NULL) {
        return CPT_LIMIT;
    }
    cpti_pool_current_place = place;
    place->has_seat = sit_down(cpti_pool_of(executor));
    return CPT_OK;
}

bool cpti_pool_enter(struct cpt_executor *executor)
{
    if (!cpti_pool_is(executor) || cpti_pool_current_place != NULL ||
        cpti_pool_guest_of != NULL) {
        return false;
    }
    cpti_pool_guest_of = executor;
    return true;
}

/* The next work for a guest that waits until @is_over, or NULL: there is none, it may
 * sleep. With a seat it counts as a searcher, as a worker does. */
static struct cpt_work *search_as_guest(struct cpti_pool *pool,
                                        struct cpti_pool_place *place,
                                        bool (*is_over)(void *context), void *context)
{
    struct cpt_work *work = cpti_deque_pop(&place->deque);

    if (work != NULL) {
        return work;
    }
    if (!place->has_seat) {
        return cpti_pool_search(pool, place, is_over, context);
    }
    (void)atomic_fetch_add(&pool->state, CPTI_SEARCHER);
    work = cpti_pool_search(pool, place, is_over, context);
    if (work != NULL) {
        cpti_pool_stop_searching(pool);
    } else {
        (void)atomic_fetch_sub(&pool->state, CPTI_SEARCHER);
        cpti_pool_stand_up(pool, place);
    }
    return work;
}

void cpti_pool_exit(struct cpt_executor *executor, bool (*is_over)(void *context),
                    void *context)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_place *place = cpti_pool_current_place;

    cpti_pool_guest_of = NULL;
    if (place == NULL) {
        return;
    }
    while (is_over != NULL && !is_over(context)) {
        struct cpt_work *work = search_as_guest(pool, place, is_over, context);

        if (work == NULL) {
            break;
        }
        work->run(work);
    }
    cpti_pool_leave(executor);
}

bool cpti_pool_help_own(struct cpt_executor *executor)
{
    struct cpti_pool_place *place =
        cpti_pool_is(executor) ? cpti_pool_own_place(cpti_pool_of(executor)) : NULL;
    struct cpt_work *work = place != NULL ? cpti_deque_pop(&place->deque) : NULL;

    if (work != NULL) {
        work->run(work);
    }
    return work != NULL;
}

void cpti_pool_leave(struct cpt_executor *executor)
{
    struct cpti_pool *pool = cpti_pool_of(executor);
    struct cpti_pool_place *place = cpti_pool_own_place(pool);
    struct cpt_work *work = NULL;

    assert(pool != NULL && place != NULL && place->is_guest);
    cpti_pool_current_place = NULL;
    cpti_pool_stand_up(pool, place);
    cpti_pool_tell_quiet(pool);
    while ((work = cpti_deque_steal(&place->deque)) != NULL) {
        executor->submit(executor, work);
    }
    cpti_lock_take(&pool->lock);
    place->is_taken = false;
    pool->guest_count--;
    cpti_lock_release(&pool->lock);
}
