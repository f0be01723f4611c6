/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* executor.h - what executors and the runtime share about a thread */
#ifndef CPT_EXECUTOR_H
#define CPT_EXECUTOR_H

#include "cpt/cpt_clock.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether this thread is running work of the inline executor. */
bool cpti_executor_inline_runs(void);

/*
 * The occupant of this thread: the task that ran on it last. A task that queued was
 * kept waiting by the occupant of the thread that runs it, if that ran meanwhile. It
 * did if it ended after the wait began. Where its end is not known, as no clock was
 * read, it did if the thread has not been idle since; that counts only for threads that
 * say when they are.
 */
struct cpti_occupant {
    uint64_t end_ns;               /* of `clock` */
    const struct cpt_clock *clock; /* NULL: its end is not known */
    uint32_t name_id;              /* see cpti_task_name(); 0: the thread was idle */
    uint32_t request_number;       /* if traced: see framework/run/overlap.h */
    bool tells_idling;             /* the thread says when it has nothing to run */
};

extern _Thread_local struct cpti_occupant cpti_thread_occupant
    __attribute__((tls_model("initial-exec")));

/* This thread has found nothing to run. For executors, before they block. */
static inline void cpti_thread_idles(void)
{
    cpti_thread_occupant.name_id = 0;
    cpti_thread_occupant.tells_idling = true;
}

/* From now on this thread runs work that is handed to it at once, until
 * cpti_thread_leave() with what this returns. */
static inline struct cpti_occupant cpti_thread_enter(void)
{
    const struct cpti_occupant outer = cpti_thread_occupant;

    cpti_thread_idles();
    return outer;
}

static inline void cpti_thread_leave(struct cpti_occupant outer)
{
    cpti_thread_occupant = outer;
}

#endif
