/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * delay.c - an experiment: a task begins later than it could
 *
 *      task begins --> is it meant? --no--> its first step
 *                          |
 *                         yes --> a step before it: waits for a timer, or computes
 *
 * The added step belongs to the task. So the path shows the wait below the task, as
 * work named "experiment", and a thread that could run something else is not held. What
 * is left of the time for the request is asked anew at each task: near the deadline an
 * experiment would make errors, not measure a time.
 */
#include "framework/run/delay.h"

#include "framework/run/pending.h"
#include "framework/run/request.h"

#include <time.h>

/* Whether enough time is left until the deadline of the request, or of those whose
 * component it is. */
static bool has_time(const struct cpt_request *request, uint64_t delay_ns)
{
    for (; request != NULL; request = request->nest.parent) {
        const uint64_t deadline_ns =
            __atomic_load_n(&request->deadline_ns, __ATOMIC_RELAXED);
        uint64_t now_ns = 0;

        if (deadline_ns == 0) {
            continue;
        }
        now_ns = cpt_clock_now_ns(request->clock);
        if (now_ns >= deadline_ns ||
            (deadline_ns - now_ns) / CPTI_DELAY_LEFT_FACTOR < delay_ns) {
            return false;
        }
    }
    return true;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* By the clock of the machine: that of a test may stand still. */
static void burn(const struct cpt_request *request, uint64_t delay_ns)
{
    const uint64_t begin_ns = monotonic_ns();

    while (monotonic_ns() - begin_ns < delay_ns && !cpti_request_is_stopped(request)) {
    }
}

/* Takes the time of one more task, if it has a limit. */
static bool take_time(const struct cpti_delay *delay)
{
    uint64_t left_ns = 0;

    if (delay->left_ns == NULL) {
        return true;
    }
    left_ns = atomic_load_explicit(delay->left_ns, memory_order_relaxed);
    do {
        if (left_ns < delay->ns) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        delay->left_ns, &left_ns, left_ns - delay->ns, memory_order_relaxed,
        memory_order_relaxed));
    return true;
}

static cpt_status run_at_once(struct cpt_task *task, const struct cpti_delay *delay)
{
    (void)atomic_fetch_add_explicit(delay->spared_count, 1, memory_order_relaxed);
    return cpti_task_step(task)->run(task);
}

/* The step before the first one. */
static cpt_status delayed_step(struct cpt_task *task)
{
    const struct cpti_delay *delay = task->request->inherited.delay;
    struct cpt_pending *pending = NULL;

    if (!has_time(task->request, delay->ns) || !take_time(delay)) {
        return run_at_once(task, delay);
    }
    if (delay->burns) {
        (void)atomic_fetch_add_explicit(delay->delayed_count, 1, memory_order_relaxed);
        burn(task->request, delay->ns);
        return cpti_task_step(task)->run(task);
    }
    pending = cpt_sleep(task, "experiment", delay->ns);
    if (!cpti_pending_is_live(pending) || pending->has_no_timer) {
        task->timer_status = CPT_OK;
        return run_at_once(task, delay);
    }
    (void)atomic_fetch_add_explicit(delay->delayed_count, 1, memory_order_relaxed);
    return cpt_await(task, pending, cpti_task_step(task)->run);
}

void cpti_delay_begin(struct cpt_task *task)
{
    const struct cpti_delay *delay = task->request->inherited.delay;

    /* A component has no function: the tasks in it are frames of their own. */
    if (cpti_task_plan(task)->component == NULL &&
        cpti_delay_frame(cpti_task_plan(task)->frame_name) == delay->frame) {
        task->next = delayed_step;
    }
}
