/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* task.h - tasks on their way to a thread: missing inputs, ready, queued; see task.c */
#ifndef CPT_TASK_H
#define CPT_TASK_H

#include "framework/run/request.h"

/* Adds @number, which misses nothing any more, to the end of @ready. */
static inline void cpti_ready_add(struct cpt_request *request, struct cpti_ready *ready,
                                  uint32_t number)
{
    atomic_store_explicit(&request->progress[number].missing_input_count, 0,
                          memory_order_relaxed);
    if (ready->first == 0) {
        ready->first = number + 1;
    } else {
        atomic_store_explicit(&request->progress[ready->last - 1].missing_input_count,
                              number + 1, memory_order_relaxed);
    }
    ready->last = number + 1;
}

/* Submits ready tasks, at least one, to the executor. The caller holds a reference; the
 * work takes its own. Without memory the request ends as CPT_LIMIT. */
void cpti_ready_submit(struct cpt_request *request, struct cpti_ready ready);

/* The same for a request that begins: the work takes over the request and the caller's
 * reference. On this thread if @is_here. */
void cpti_ready_start(struct cpt_request *request, struct cpti_ready ready,
                      bool is_here);

/* The step of @task is about to block its thread: submits what the thread would run
 * after it. */
void cpti_task_give_ready(struct cpt_task *task);

/* One more input of task @number has arrived from task @giver, which may also have
 * started it. true: it was the last one. */
bool cpti_task_input_arrived(struct cpt_request *request, uint32_t number,
                             uint32_t giver);

/* Submits a task whose wait is over, with a reference that it takes over from the
 * caller. */
void cpti_task_submit(struct cpt_task *task);

/* Whose @work is; NULL: no request's. */
const struct cpt_request *cpti_work_request(const struct cpt_work *work);

#endif
