/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* slack.c - see slack.h */
#include "framework/run/slack.h"

#include "framework/pool/pool.h"
#include "framework/run/deadline.h"

/* --- The budget --- */

/* A deadline leaves half of its time for what slack is not for: the work itself. */
static uint64_t half(uint64_t ns)
{
    return ns / 2;
}

void cpti_slack_begin(struct cpt_request *request, uint64_t slack_ns,
                      uint64_t wait_ns_max)
{
    request->slack.wait_ns_max = wait_ns_max;
    atomic_init(&request->slack.left_ns,
                slack_ns < half(UINT64_MAX) ? slack_ns : half(UINT64_MAX));
    request->inherited.slack = &request->slack;
}

void cpti_slack_limit(struct cpt_request *request, uint64_t ns)
{
    struct cpti_slack *slack = request->inherited.slack;

    if (slack != NULL && cpti_slack_left_ns(request) > half(ns)) {
        atomic_store_explicit(&slack->left_ns, half(ns), memory_order_relaxed);
    }
}

uint64_t cpti_slack_left_ns(const struct cpt_request *request)
{
    const struct cpti_slack *slack = request->inherited.slack;

    return slack != NULL ? atomic_load_explicit(&slack->left_ns, memory_order_relaxed)
                         : 0;
}

/* Takes @used_ns off. Relaxed: what comes after a work or a call is ordered behind it
 * by other means, and sees it. */
static void take_off(struct cpti_slack *slack, uint64_t used_ns)
{
    uint_fast64_t left_ns = atomic_load_explicit(&slack->left_ns, memory_order_relaxed);

    while (left_ns != 0 && used_ns != 0 &&
           !atomic_compare_exchange_weak_explicit(
               &slack->left_ns, &left_ns, left_ns > used_ns ? left_ns - used_ns : 0,
               memory_order_relaxed, memory_order_relaxed)) {
    }
}

cpt_status cpti_slack_parse(struct cpt_bytes text, uint64_t *slack_ns)
{
    uint64_t us = 0;
    const cpt_status status = cpti_microseconds_parse(text, &us);

    *slack_ns = us * 1000;
    return status;
}

uint64_t cpt_task_slack_ns(const struct cpt_task *task)
{
    return cpti_slack_left_ns(task->request);
}

void cpt_task_set_slack(struct cpt_task *task, uint64_t slack_ns)
{
    struct cpti_slack *slack = task->request->inherited.slack;
    uint64_t most_ns = 0;

    if (slack != NULL) {
        most_ns = half(cpti_request_remaining_ns(task->request));
        atomic_store_explicit(&slack->left_ns, slack_ns < most_ns ? slack_ns : most_ns,
                              memory_order_relaxed);
    }
}

/* --- Works --- */

/* What holds a lock, or is waited for by a thread that blocks, keeps others waiting who
 * may have no slack. */
void cpti_slack_submit_later(struct cpt_task *task)
{
    const struct cpt_request *request = task->request;
    struct cpt_executor *executor = request->executor;
    const uint64_t left_ns = cpti_slack_left_ns(request);
    const uint64_t most_ns = request->inherited.slack->wait_ns_max;

    if (left_ns == 0 || executor->submit_later == NULL ||
        cpti_work_is_needed(&task->work)) {
        task->lane_ns = 0;
        executor->submit(executor, &task->work);
        return;
    }
    task->lane_ns = cpt_clock_now_ns(request->clock);
    executor->submit_later(executor, &task->work,
                           left_ns < most_ns ? left_ns : most_ns);
}

void cpti_slack_note_waited(struct cpt_task *task)
{
    const uint64_t begin_ns = task->lane_ns;
    uint64_t now_ns = 0;

    if (begin_ns != 0) {
        task->lane_ns = 0;
        now_ns = cpt_clock_now_ns(task->request->clock);
        take_off(task->request->inherited.slack,
                 now_ns > begin_ns ? now_ns - begin_ns : 0);
    }
}

/* --- Calls --- */

uint64_t cpti_slack_call_begin(const struct cpt_request *request, uint64_t own_ns,
                               uint64_t timeout_ns, struct cpti_slack_call *call)
{
    const uint64_t left_ns = cpti_slack_left_ns(request);
    const uint64_t most_ns = half(timeout_ns);
    const uint64_t all_ns =
        own_ns < UINT64_MAX - left_ns ? own_ns + left_ns : UINT64_MAX;

    call->own_ns = own_ns;
    call->given_ns = all_ns < most_ns ? all_ns : most_ns;
    call->begin_ns =
        left_ns != 0 && call->given_ns != 0 ? cpt_clock_now_ns(request->clock) : 0;
    return call->given_ns;
}

void cpti_slack_call_end(struct cpt_request *request,
                         const struct cpti_slack_call *call)
{
    uint64_t now_ns = 0;
    uint64_t used_ns = 0;

    if (call->begin_ns == 0 || request->inherited.slack == NULL) {
        return;
    }
    now_ns = cpt_clock_now_ns(request->clock);
    used_ns = now_ns > call->begin_ns ? now_ns - call->begin_ns : 0;
    used_ns = used_ns < call->given_ns ? used_ns : call->given_ns;
    take_off(request->inherited.slack,
             used_ns > call->own_ns ? used_ns - call->own_ns : 0);
}
