/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * adopt.c - a part of a task that a thread of the application takes over
 *
 *      task                            thread of a library
 *      cpt_hand_over()
 *        component --> [ parked ]
 *      cpt_await()                     ... works, for whatever has to come first
 *                                      cpt_adopt()
 *                        [ parked ] -----> its steps run here
 *      goes on <----------------------- the last one ends
 *
 * The component runs on an executor of its own, which keeps the first piece of work
 * until a thread adopts it. Later pieces, after a wait or beside it, go to the executor
 * of the request.
 */
#include "cpt/base/container.h"
#include "framework/run/component.h"
#include "framework/run/misuse.h"
#include "framework/run/pending.h"

#include <stdatomic.h>

/* In memory of the request whose task has handed over. */
struct parked {
    struct cpt_executor executor; /* first */
    struct cpt_executor *later;   /* the request's */
    /* acq_rel: NULL: nothing yet; the work; &adopted: a thread has adopted it. */
    _Atomic(struct cpt_work *) work;
};

static struct cpt_work adopted;

/* This thread is in cpt_adopt(). */
static _Thread_local bool is_adopting;

static struct parked *parked_of(struct cpt_executor *executor)
{
    return CPTI_CONTAINER(executor, struct parked, executor);
}

static void submit(struct cpt_executor *executor, struct cpt_work *work)
{
    struct parked *parked = parked_of(executor);
    struct cpt_work *none = NULL;

    if (!atomic_compare_exchange_strong_explicit(
            &parked->work, &none, work, memory_order_acq_rel, memory_order_acquire)) {
        parked->later->submit(parked->later, work);
    }
}

static cpt_status after(struct cpt_executor *executor, struct cpt_timer *timer,
                        uint64_t delay_ns)
{
    struct cpt_executor *later = parked_of(executor)->later;

    return later->after(later, timer, delay_ns);
}

static int cancel(struct cpt_executor *executor, struct cpt_timer *timer)
{
    struct cpt_executor *later = parked_of(executor)->later;

    return later->cancel(later, timer);
}

/* The thread that adopts is its owner's to block. */
static void block(struct cpt_executor *executor, int is_blocked)
{
    struct cpt_executor *later = parked_of(executor)->later;

    if (!is_adopting) {
        later->block(later, is_blocked);
    }
}

struct cpt_executor *cpti_executor_behind(struct cpt_executor *executor)
{
    while (executor->submit == submit) {
        executor = parked_of(executor)->later;
    }
    return executor;
}

struct cpt_pending *cpt_task_hand_over(struct cpt_task *task, const char *name,
                                       const struct cpt_plan *plan,
                                       const struct cpt_value *value, const void *input)
{
    struct cpt_executor *later = task->request->executor;
    struct parked *parked = cpti_request_take(task->request, sizeof *parked);

    if (parked == NULL) {
        return cpti_pending_failed(CPT_LIMIT);
    }
    parked->later = later;
    parked->executor = (struct cpt_executor){
        .name = "handed over",
        .submit = submit,
        .after = after,
        .cancel = cancel,
        .block = later->block != NULL ? block : NULL,
    };
    return cpt_task_spawn_on(task, &parked->executor, name, plan, value, input);
}

void cpt_adopt(struct cpt_pending *pending)
{
    struct cpt_executor *executor = NULL;
    struct cpt_work *work = NULL;
    const bool was_adopting = is_adopting;

    if (!cpti_pending_is(pending, CPTI_PENDING_RUN)) {
        return;
    }
    executor = cpti_component_executor(pending);
    if (executor == NULL || executor->submit != submit) {
        CPTI_MISUSED(wrong_kind);
        return;
    }
    work = atomic_exchange_explicit(&parked_of(executor)->work, &adopted,
                                    memory_order_acq_rel);
    if (work == &adopted) {
        CPTI_MISUSED(completed_twice);
    } else if (work != NULL) { /* else it could not begin */
        is_adopting = true;
        work->run(work);
        is_adopting = was_adopting;
    }
}
