/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_mutex.h - a lock of the application whose waits stand on the critical path
 *
 * A mutex has a name. Whoever has to wait for it in a task that is traced has the time
 * shown below the task, with the frame that held the lock when the wait began:
 *
 *      A: write     [ lock |=============| unlock ]
 *      A: read         [ lock ...........|====| unlock ]
 *      path of the reader:  A: read;A: ‹lock: cache› {holder=A: write}
 *
 * Two forms, which may be mixed on one mutex:
 *
 *   cpt_mutex_lock()      blocks the thread, as usual. In a task its executor is told,
 *                         so that another thread takes the place of this one.
 *   cpt_mutex_acquire()   a pending: the task waits and holds no thread meanwhile. For
 *                         an executor of one thread, where a lock is held across a wait
 *                         of a task, this is the one.
 *
 * Who waits gets it in the order of coming, handed over by who releases it. A lock that
 * nobody holds is taken by one atomic operation, and no clock is read; a release
 * likewise. It is not recursive.
 *
 * In order of use: cpt_mutex_new; lock and unlock, or acquire and release;
 * cpt_mutex_free, once the requests that used it are gone.
 *
 * Threads: any.
 */
#ifndef CPT_MUTEX_H
#define CPT_MUTEX_H

#include "cpt_graph.h"

CPT_BEGIN_DECLS

struct cpt_mutex;

/* A mutex shown as @name ("cache"), which is copied; NULL without memory. @alloc NULL:
 * malloc's. */
CPT_API struct cpt_mutex *cpt_mutex_new(const char *name,
                                        const struct cpt_alloc *alloc);

/* Nobody holds it or waits for it. NULL is fine. */
CPT_API void cpt_mutex_free(struct cpt_mutex *mutex);

/* Waits till it is this thread's; inside a task or outside. A wait cannot be cancelled
 * and heeds no deadline. */
CPT_API void cpt_mutex_lock(struct cpt_mutex *mutex);

/* 1: it is this thread's now. 0: somebody else holds it. */
CPT_API int cpt_mutex_trylock(struct cpt_mutex *mutex);

/* For cpt_mutex_lock() and cpt_mutex_trylock(), from whatever thread. */
CPT_API void cpt_mutex_unlock(struct cpt_mutex *mutex);

/*
 * The lock for @task: the pending completes with CPT_OK when it is the task's, at once
 * if nobody holds it. It may be waited for with others, with a deadline, and cancelled;
 * whatever ends it otherwise, the lock then goes to the next one. NULL at the memory
 * limit: then cpt_await() fails.
 */
CPT_API struct cpt_pending *cpt_mutex_acquire(struct cpt_task *task,
                                              struct cpt_mutex *mutex);

/*
 * Gives the lock back that @pending has acquired, from any thread, until the request is
 * gone; if it is still waited for, nobody wants it any more (cpt_cancel()). A second
 * time does nothing. What a request has not released is released when it is gone: so
 * a request that fails or is cancelled between two steps leaves no lock behind.
 */
CPT_API void cpt_mutex_release(struct cpt_pending *pending);

CPT_END_DECLS

#endif
