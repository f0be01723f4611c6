/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * cpt_semaphore.h - a counted resource of the application, such as n connections of a
 * database, whose waits stand on the critical path
 *
 *      A: read    [ acquire .......|=======| release ]
 *      path:      A: read;A: ‹lock: connections› {holder=A: write}
 *
 * A semaphore has a name and a count. A task acquires one of the count by a pending,
 * waits without a thread if all are taken, and releases it. Waiters get theirs in the
 * order in which they came. The wait is shown as for a mutex (cpt_mutex.h); the holder
 * is the task that had one the longest when the wait began.
 *
 * In order of use: cpt_semaphore_new; acquire, await, release; cpt_semaphore_free, once
 * the requests that used it are freed.
 *
 * Threads: any.
 */
#ifndef CPT_SEMAPHORE_H
#define CPT_SEMAPHORE_H

#include "cpt_graph.h"

#include <stdint.h>

CPT_BEGIN_DECLS

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
