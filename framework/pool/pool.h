/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * pool.h - what the runtime may ask of a pool beside struct cpt_executor
 *
 * A thread that is not one of the pool's, such as the caller of cpt_request_run(), may
 * take part in it as a *guest*:
 *
 *      cpti_pool_adopt(executor)        what it submits goes into a deque of its own,
 *                                       from which idle workers steal
 *      ... run tasks, submit what others could run ...
 *      while (cpti_pool_help_own(executor)) {}
 *                                       runs what no worker has stolen
 *      cpti_pool_leave(executor)        the rest of its deque goes to the pool's inbox
 *
 * All of it is optional: a thread that is not a guest submits to the inbox, and
 * executor->help() runs work of any thread.
 *
 * Threads: one thread calls adopt, help_own and leave. A guest uses the pool: do not
 * free it before cpti_pool_leave().
 */
#ifndef CPT_POOL_H
#define CPT_POOL_H

#include "framework/cpt_runtime.h"

#include <stdbool.h>

/*
 * CPT_OK; CPT_INVALID if @executor is not of cpt_pool_new() or this thread has a place
 * in a pool; CPT_LIMIT if there are too many guests or no memory. After an error
 * nothing has changed: do not leave.
 */
cpt_status cpti_pool_adopt(struct cpt_executor *executor);

/* Runs the latest work that this thread has submitted and no other has taken. false:
 * there is none. Also from a worker. */
bool cpti_pool_help_own(struct cpt_executor *executor);

void cpti_pool_leave(struct cpt_executor *executor);

/* Adopts this thread when it first submits something before cpti_pool_exit(); a thread
 * that submits nothing pays nothing. false: not a pool, or the thread is in one. */
bool cpti_pool_enter(struct cpt_executor *executor);

/* Works as a worker does until @is_over holds (NULL: not at all) or there has been
 * nothing to do for a while, and leaves. */
void cpti_pool_exit(struct cpt_executor *executor, bool (*is_over)(void *context),
                    void *context);

/* Whether @executor, which may be NULL, is a pool. */
bool cpti_pool_is(const struct cpt_executor *executor);

/* --- Threads that block; see pool_block.c --- */

/* What a thread that blocks waits for. */
enum cpti_pool_wait {
    CPTI_POOL_WAIT_WITHIN,  /* work of this process, or a lock that such work has */
    CPTI_POOL_WAIT_OUTSIDE, /* a timer, another service: it ends without us */
    CPTI_POOL_WAIT_FOREIGN  /* not known: code of the application blocks */
};

/* This thread is about to block, or continues: of whichever pool it is, if of any. May
 * be nested: then the outermost counts. */
void cpti_pool_block_thread(enum cpti_pool_wait wait);
void cpti_pool_unblock_thread(void);

/* For a thread that blocks, now and then: there may have been no memory for a thread or
 * a timer when it began. */
void cpti_pool_look_again(void);

/* For a thread that blocks, before it sleeps: takes a work of its pool that is needed,
 * if no other thread could run it, for cpti_pool_run_help(), which is to follow; first
 * those of @owner, what it waits for (NULL: it is not known). NULL: there is none, or
 * another thread could. */
struct cpt_work *cpti_pool_take_help(const void *owner);

/* On top of the step that blocks: this goes on only when it returns. */
void cpti_pool_run_help(struct cpt_work *work);

/* Work that waits in @executor, which may be a pool, has become needed. */
void cpti_pool_note_needed(struct cpt_executor *executor);

/* Whether a step that blocks waits for what @work does, or for a lock that it will
 * give back: a hint. Made by framework/run, which knows what works are. With locks
 * held: it takes none. */
bool cpti_work_is_needed(const struct cpt_work *work);

/* Whether @work is of @owner, likewise. */
bool cpti_work_is_of(const struct cpt_work *work, const void *owner);

/* What a pool has counted since it was made. Any thread. */
struct cpti_pool_counts {
    uint64_t woken;   /* threads woken, as there was work and none searched */
    uint64_t stolen;  /* works taken from another thread's deque */
    uint64_t inbox;   /* works that went through the inbox … */
    uint64_t spilled; /* … because the deque was full */
    uint64_t refused; /* blocked threads that had no replacement: the limit, … */
    uint64_t unmade;  /* … or the system made no thread */
    uint64_t later;   /* works that went through the second lane … */
    uint64_t due;     /* … and had waited for their bound when they were taken */
    unsigned extra;   /* threads beyond worker_count that exist … */
    unsigned reserve; /* … and those beyond extra_worker_count_max */
};
struct cpti_pool_counts cpti_pool_count(struct cpt_executor *executor);

#endif
