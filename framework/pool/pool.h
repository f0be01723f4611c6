/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool.h - what the runtime may ask of a pool beside struct cpt_executor
 *
 * A thread that is not one of the pool's, say the caller of cpt_request_run(), may take
 * part in it:
 *
 *      cpti_pool_adopt(executor)       what it submits from here on goes into a deque
 * of its own, from which idle workers steal
 *      ... run tasks, submit what others could run ...
 *      while (cpti_pool_help_own(executor)) {}   runs what nobody has stolen
 *      cpti_pool_leave(executor)       what is left goes to the pool's inbox
 *
 * None of it is needed: a thread that was not adopted submits to the inbox, and
 * executor->help() runs anybody's work. What is not asked for costs nothing.
 *
 * Threads: adopt, help_own and leave are one thread's pair around its own work. Who is
 * adopted uses the pool: it must not be freed before cpti_pool_leave().
 */
#ifndef CPT_POOL_H
#define CPT_POOL_H

#include "framework/cpt_runtime.h"

/*
 * CPT_OK; CPT_INVALID if @executor is not of cpt_pool_new() or this thread is in a pool
 * already; CPT_LIMIT if all places are taken. After an error nothing has changed: there
 * is nothing to leave.
 */
cpt_status cpti_pool_adopt(struct cpt_executor *executor);

/* Runs the latest work that this thread has submitted and nobody took. 0: none. Also
 * from a worker. */
int cpti_pool_help_own(struct cpt_executor *executor);

void cpti_pool_leave(struct cpt_executor *executor);

/* Adopts this thread as soon as it submits something, until cpti_pool_exit(): one that
 * never does pays nothing. 0: not a pool, or the thread is in one. */
int cpti_pool_enter(struct cpt_executor *executor);

/* Takes part as a worker until @is_over (NULL: not at all) says so, or there has been
 * nothing to do for a while, and leaves. */
void cpti_pool_exit(struct cpt_executor *executor, int (*is_over)(void *context),
                    void *context);

/* What a pool has counted since it was made. Any thread. */
struct cpti_pool_counts {
    uint64_t woken; /* threads woken, as there was work that nobody was about to take */
    uint64_t stolen;  /* works taken from another thread's deque */
    uint64_t inbox;   /* works that went through the inbox … */
    uint64_t spilled; /* … of which as the deque was full */
    uint64_t refused; /* blocked threads that nobody took the place of: the limit */
    uint64_t unmade;  /* … or the system made no thread, so often */
    unsigned extra;   /* threads beyond worker_count that exist */
};
struct cpti_pool_counts cpti_pool_count(struct cpt_executor *executor);

#endif
