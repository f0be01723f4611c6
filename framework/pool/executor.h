/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* executor.h - what executors and the runtime share about a thread */
#ifndef CPT_EXECUTOR_H
#define CPT_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this thread is running work of the inline executor. */
bool cpti_executor_inline_runs(void);

/* The occupant of this thread: the name of the task that ran on it last, see
 * cpti_task_name(); 0: it has been idle since. A task that queued was kept waiting by
 * the occupant of the thread that runs it. */
extern _Thread_local uint32_t cpti_thread_occupant
    __attribute__((tls_model("initial-exec")));

/* This thread has found nothing to run. For executors, before they block. */
static inline void cpti_thread_idles(void)
{
    cpti_thread_occupant = 0;
}

#endif
