/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_mutex.h - a lock of the application whose waits stand on the critical path
 *
 * A mutex has a name. If a traced task waits for the mutex, the wait is shown below the
 * task, with the frame that held the lock when the wait began:
 *
 *      A: write     [ lock |=============| unlock ]
 *      A: read         [ lock ...........|====| unlock ]
 *      path of the reader:  A: read;A: ‹lock: cache› {holder=A: write}
 *
 * Two forms, which may be mixed on one mutex:
 *
 *   cpt_mutex_lock()      blocks the thread, as usual. In a task it tells the
 *                         executor, so that another thread takes the place of this
 *                         one. However many threads of a pool wait for the lock, one
 *                         is left for its holder.
 *   cpt_mutex_acquire()   returns a pending: the task waits and holds no thread.
 *                         Needed on an executor of one thread if a task holds the
 *                         lock during a wait for something else.
 *
 * Waiters get the lock in the order in which they came: each release hands it to the
 * next one. A free lock is taken, and a lock without waiters is released, by one atomic
 * operation; no clock is read. The lock is not recursive.
 *
 * In order of use: cpt_mutex_new; lock and unlock, or acquire and release;
 * cpt_mutex_free, once the requests that used it are freed.
 *
 * Threads: any.
 */
#ifndef CPT_MUTEX_H
#define CPT_MUTEX_H

#include "cpt_graph.h"

#include <stdint.h>

CPT_BEGIN_DECLS

struct cpt_mutex;

/* A mutex shown as @name ("cache"), which is copied; NULL without memory. @alloc NULL:
 * malloc's. */
CPT_API struct cpt_mutex *cpt_mutex_new(const char *name,
                                        const struct cpt_alloc *alloc);

/* No thread or task may hold the mutex or wait for it; else it is not freed, and that
 * is counted. NULL is fine. */
CPT_API void cpt_mutex_free(struct cpt_mutex *mutex);

/* Waits until this thread holds the mutex; in a task or elsewhere. The wait cannot be
 * cancelled and heeds no deadline. */
CPT_API void cpt_mutex_lock(struct cpt_mutex *mutex);

/* 1: this thread holds the mutex now. 0: it is held already. */
CPT_API int cpt_mutex_trylock(struct cpt_mutex *mutex);

/* Releases what cpt_mutex_lock() or cpt_mutex_trylock() took; from any thread. No
 * effect on a mutex that is free, but it is counted (cpt_misuse_count()). */
CPT_API void cpt_mutex_unlock(struct cpt_mutex *mutex);

/*
 * The pending completes with CPT_OK when @task holds the lock: at once if it is free.
 * The task may wait for it together with others or with a deadline, and may cancel it;
 * if it ends otherwise than with CPT_OK, the lock goes to the next waiter. It ends with
 * CPT_CANCELLED in a task that goes on after its request has ended.
 */
CPT_API struct cpt_pending *cpt_mutex_acquire(struct cpt_task *task,
                                              struct cpt_mutex *mutex);

/*
 * Releases the lock that @pending has acquired; if the task still waits for it, cancels
 * the wait (cpt_cancel()). From any thread, until the request is freed. A second call
 * has no effect.
 *
 * What a task has acquired and not released is released when the task fails, or when it
 * or its component is given up (cpt_cancel(), cpt_await_all_for()): at once, or when
 * its step has returned. If the task ends with CPT_OK, then when its request has ended:
 * after `done` has returned; of a component, that is the request around it. Each lock
 * is released once, so that no lock is left behind.
 */
CPT_API void cpt_mutex_release(struct cpt_pending *pending);

/*
 * --- A counted resource, such as n connections of a database ---
 *
 *      A: read    [ acquire .......|=======| release ]
 *      path:      A: read;A: ‹lock: connections› {holder=A: write}
 *
 * A semaphore has a name and a count. A task acquires one of the count by a pending,
 * waits without a thread if all are taken, and releases it. Waiters get theirs in the
 * order in which they came. The holder is the task that had one the longest when the
 * wait began.
 */
struct cpt_semaphore;

/* A semaphore of @count, at least 1, shown as @name ("connections"), which is copied;
 * NULL without memory, or if @count is 0. @alloc NULL: malloc's. */
CPT_API struct cpt_semaphore *cpt_semaphore_new(const char *name, uint32_t count,
                                                const struct cpt_alloc *alloc);

/* No task may hold one or wait for one; else the semaphore is not freed, and that is
 * counted (cpt_misuse_count()). NULL is fine. */
CPT_API void cpt_semaphore_free(struct cpt_semaphore *semaphore);

/* The pending completes with CPT_OK when @task has one: at once if one is free. The
 * task may wait for it together with others or with a deadline, and may cancel it; if
 * it ends otherwise than with CPT_OK, the next waiter gets it. */
CPT_API struct cpt_pending *cpt_semaphore_acquire(struct cpt_task *task,
                                                  struct cpt_semaphore *semaphore);

/*
 * Releases what @pending has acquired; if the task still waits for it, cancels the wait
 * (cpt_cancel()). From any thread, until the request is freed. A second call has no
 * effect. What a task has not released is released as for cpt_mutex_release().
 */
CPT_API void cpt_semaphore_release(struct cpt_pending *pending);

CPT_END_DECLS

#endif
