/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * executor.c - the executor without threads
 *
 * Work submitted from within work is put into a list of the thread and run when what
 * runs has returned: in order, and the stack stays flat however long the chain.
 */
#include "framework/request.h"

struct inline_queue {
    struct cpt_work *first;
    struct cpt_work *last;
    int is_running;
};

static _Thread_local struct inline_queue inline_queue;

static void inline_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct inline_queue *queue = &inline_queue;

    (void)executor;
    work->next = NULL;
    *(queue->first != NULL ? &queue->last->next : &queue->first) = work;
    queue->last = work;
    if (queue->is_running) {
        return;
    }
    queue->is_running = 1;
    while (queue->first != NULL) {
        work = queue->first;
        queue->first = work->next;
        work->run(work);
    }
    queue->is_running = 0;
}

static cpt_status inline_after(struct cpt_executor *executor, struct cpt_timer *timer,
                               uint64_t delay_ns)
{
    (void)executor;
    (void)timer;
    (void)delay_ns;
    return CPT_INVALID;
}

static int inline_cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    (void)executor;
    (void)timer;
    return 0;
}

int cpti_executor_inline_runs(void)
{
    return inline_queue.is_running;
}

struct cpt_executor *cpt_executor_inline(void)
{
    static struct cpt_executor executor = {.name = "inline",
                                           .submit = inline_submit,
                                           .after = inline_after,
                                           .cancel = inline_cancel};

    return &executor;
}
