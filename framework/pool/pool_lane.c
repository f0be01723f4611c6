/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool_lane.c - works that wait until a pool has nothing else to run; see lane.h
 *
 * The lane is behind the lock of the inbox. A work of it has its turn when those of the
 * inbox have begun that came before it; a work that is due is the first of the inbox,
 * for threads that look there. What threads have in their deques is of requests that
 * have begun, and beside both.
 *
 * `lane_due_ns`, when a work of the lane will be due, is for those who look without the
 * lock: UINT64_MAX says that the lane is empty. In the protocol of sleeping (pool.c) it
 * stands beside the count of the inbox: who puts a work there writes it before the
 * state is read, and who goes to sleep reads it after the state was written, both
 * seq_cst.
 *
 * While the pool is tight (pool_block.c) it has one lane: what waits in the second goes
 * to the end of the inbox, since what is needed must be found there.
 */
#include "framework/pool/pool.h"

#include "cpt/base/now.h"
#include "framework/pool/pool_state.h"

void cpti_pool_note_lane(struct cpti_pool *pool)
{
    const uint64_t begun_count = pool->inbox_total - atomic_load(&pool->inbox_count);

    if (cpti_lane_has_turn(&pool->lane, begun_count)) {
        cpti_lane_turn(&pool->lane, begun_count, cpti_now_ns());
    }
    atomic_store(&pool->lane_due_ns, cpti_lane_due_ns(&pool->lane));
}

/* Puts @work into the lane, or into the inbox if it cannot wait. Lock held. */
static void put(struct cpti_pool *pool, struct cpt_work *work, uint64_t wait_ns_max)
{
    if (atomic_load(&pool->is_tight) ||
        cpti_lane_add(&pool->lane, work, pool->inbox_total, wait_ns_max) != CPT_OK) {
        cpti_pool_put_in_inbox(pool, work);
        return;
    }
    cpti_pool_note_lane(pool);
}

void cpti_pool_submit_later(struct cpt_executor *executor, struct cpt_work *work,
                            uint64_t wait_ns_max)
{
    struct cpti_pool *pool = cpti_pool_of(executor);

    if (atomic_load(&pool->is_tight)) {
        cpti_pool_try_again(pool);
    }
    cpti_lock_take(&pool->lock);
    put(pool, work, wait_ns_max);
    /* With the lock held, as for the inbox: see pool_submit(). */
    if (!atomic_load(&pool->is_tight) || cpti_work_is_needed(work)) {
        cpti_pool_wake_one(pool);
    }
    cpti_lock_release(&pool->lock);
}

struct cpt_work *cpti_pool_take_due(struct cpti_pool *pool)
{
    const uint64_t due_ns = atomic_load(&pool->lane_due_ns);
    struct cpt_work *work = NULL;

    if (due_ns >= INT64_MAX || due_ns > cpti_now_ns()) {
        return NULL;
    }
    cpti_lock_take(&pool->lock);
    work = cpti_lane_take_due(&pool->lane, cpti_now_ns());
    cpti_pool_note_lane(pool);
    cpti_lock_release(&pool->lock);
    return work;
}

struct cpt_work *cpti_pool_take_later(struct cpti_pool *pool)
{
    struct cpt_work *work = NULL;

    if (!cpti_pool_has_later(pool)) {
        return NULL;
    }
    cpti_lock_take(&pool->lock);
    work = cpti_lane_take(&pool->lane);
    cpti_pool_note_lane(pool);
    cpti_lock_release(&pool->lock);
    return work;
}

void cpti_pool_close_lane(struct cpti_pool *pool)
{
    struct cpt_work *work = NULL;

    if (cpti_lane_count(&pool->lane) == 0) {
        return;
    }
    while ((work = cpti_lane_take(&pool->lane)) != NULL) {
        cpti_pool_put_in_inbox(pool, work);
    }
    cpti_pool_note_lane(pool); /* the inbox has them: there is work all the time */
}
