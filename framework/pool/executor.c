/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * executor.c - the executor without threads
 *
 * Work that is submitted by work goes into a list of the thread and runs in order,
 * after its submitter has returned: the stack stays flat, however long the chain. Only
 * a task that blocks (cpt_wait()) runs the list from within.
 */
#include "framework/pool/executor.h"

#include "framework/cpt_runtime.h"

struct inline_queue {
    struct cpt_work *first;
    struct cpt_work *last;
    bool is_running;
};

_Thread_local struct cpti_occupant cpti_thread_occupant;

void cpt_executor_idles(void)
{
    cpti_thread_idles();
}

static _Thread_local struct inline_queue inline_queue
    __attribute__((tls_model("initial-exec")));

static void put(struct inline_queue *queue, struct cpt_work *work)
{
    work->next = NULL;
    *(queue->first != NULL ? &queue->last->next : &queue->first) = work;
    queue->last = work;
}

static bool run_one(struct inline_queue *queue)
{
    struct cpt_work *work = queue->first;

    if (work == NULL) {
        return false;
    }
    queue->first = work->next;
    work->run(work);
    return true;
}

static void inline_submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct inline_queue *queue = &inline_queue;
    struct cpti_occupant outer;

    (void)executor;
    put(queue, work);
    if (queue->is_running) {
        return;
    }
    outer = cpti_thread_enter();
    queue->is_running = true;
    while (run_one(queue)) {
    }
    queue->is_running = false;
    cpti_thread_leave(outer);
}

static unsigned inline_hunger(struct cpt_executor *executor)
{
    (void)executor;
    return inline_queue.first != NULL ? (unsigned)CPT_HUNGRY_WORK : 0;
}

/* The caller is work, so this thread is running its list. */
static int inline_yield(struct cpt_executor *executor, struct cpt_work *work)
{
    struct inline_queue *queue = &inline_queue;

    (void)executor;
    if (queue->first == NULL) {
        return 0;
    }
    put(queue, work);
    return 1;
}

static int inline_help(struct cpt_executor *executor)
{
    (void)executor;
    return inline_queue.is_running && run_one(&inline_queue);
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

bool cpti_executor_inline_runs(void)
{
    return inline_queue.is_running;
}

struct cpt_executor *cpt_executor_inline(void)
{
    static struct cpt_executor executor = {.name = "inline",
                                           .submit = inline_submit,
                                           .after = inline_after,
                                           .cancel = inline_cancel,
                                           .hunger = inline_hunger,
                                           .yield = inline_yield,
                                           .help = inline_help};

    return &executor;
}
