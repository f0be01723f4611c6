/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_cancel.c - what is cancelled and when, and the path of a cancelled request */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/framework/held_request.h"

#include "framework/cpt_rpc.h"

#include <string.h>

CPT_VALUE(ads, int);

/* --- cpt_cancel() --- */

static struct cpt_pending *loser;

static cpt_status cancel_losers(struct cpt_task *task)
{
    cpt_cancel(NULL);
    cpt_cancel(loser);
    cpt_cancel(held.work.pending);
    CU_ASSERT_EQUAL(cpt_pending_status(loser), CPT_CANCELLED);
    CU_ASSERT_EQUAL(cpt_pending_status(held.work.pending), CPT_CANCELLED);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    cpt_cancel(held.work.pending); /* a second cancel does no harm */
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    return cpt_await_all(task, held_end); /* there is nothing to wait for */
}

static cpt_status race(struct cpt_task *task)
{
    struct cpt_pending *pendings[3] = {cpt_sleep(task, "slow", 50 * MS),
                                       held_begin_work(task),
                                       cpt_sleep(task, "fast", 5 * MS)};

    loser = pendings[0];
    return cpt_await_some(task, pendings, 3, 1, cancel_losers);
}

static void test_losers_vanish(void)
{
    held_run(race);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
    CU_ASSERT_STRING_EQUAL(held.outcome.path, "A: /;A: A1;A: fast 5");
    CU_ASSERT_EQUAL(held.now.now_ns, AFTER(5));
}

/* Cancelled work may take its time: the request ends, its memory stays. */
static cpt_status race_with_a_slow_loser(struct cpt_task *task)
{
    const cpt_status status = race(task);

    held.work.completes_when_told = 0;
    return status;
}

static void test_loser_completes_late(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", race_with_a_slow_loser, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, 0, NULL);

    virtual_run(&held.now);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(held.outcome.gone_count, 0);
    cpt_complete(held.work.pending, CPT_OK);
    held_finish(plan);
}

/* Work that has ended is not cancelled. */
static cpt_status cancel_what_ended(struct cpt_task *task)
{
    cpt_cancel(held.work.pending);
    CU_ASSERT_EQUAL(cpt_pending_status(held.work.pending), CPT_FAILED);
    CU_ASSERT_EQUAL(held.work.told_count, 0);
    return held_end(task);
}

static cpt_status complete_at_once(struct cpt_task *task)
{
    cpt_complete(held_begin_work(task), CPT_FAILED);
    return cpt_await_all(task, cancel_what_ended);
}

static void test_cancel_after_the_end(void)
{
    held_run(complete_at_once);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
}

/* --- Tasks that no other task needs --- */

CPT_VALUE(deep, int);

static int ads_count;

static cpt_status count_ads(struct cpt_task *task)
{
    ads_count++;
    *cpt_output(task, ads) = 1;
    return CPT_OK;
}

static cpt_status wait_deep(struct cpt_task *task)
{
    (void)held_begin_work(task);
    return cpt_await_all_for(task, 900 * MS, held_end);
}

static cpt_status start_deep(struct cpt_task *task)
{
    return cpt_await(task, cpt_start(task, deep), count_ads);
}

static cpt_status cancel_ads(struct cpt_task *task)
{
    cpt_cancel(loser);
    CU_ASSERT_EQUAL(cpt_pending_status(loser), CPT_CANCELLED);
    CU_ASSERT_PTR_NULL(cpt_input(task, ads));
    return held_end(task);
}

static cpt_status race_with_ads(struct cpt_task *task)
{
    struct cpt_pending *pendings[2] = {cpt_start(task, ads),
                                       cpt_sleep(task, "fast", 5 * MS)};

    loser = pendings[0];
    return cpt_await_some(task, pendings, 2, 1, cancel_ads);
}

static void test_started_task_is_cancelled(void)
{
    const struct cpt_task_def tasks[] = {
        {"page", race_with_ads, CPT_GIVES(page), {NULL}, CPT_STARTS(ads), NULL},
        {"ads", start_deep, CPT_GIVES(ads), {NULL}, CPT_STARTS(deep), NULL},
        {"deep", wait_deep, CPT_GIVES(deep), {NULL}, {NULL}, NULL},
    };

    ads_count = 0;
    held_finish(held_start(tasks, 3, 0, NULL));
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_EQUAL(ads_count, 0);
    CU_ASSERT_EQUAL(held.now.now_ns,
                    AFTER(5)); /* and not the deadline of the deepest */
    CU_ASSERT_STRING_EQUAL(held.outcome.path, "A: /;A: page;A: fast 5");
}

/* Another task may need it, so it goes on. */
static cpt_status start_ads_too(struct cpt_task *task)
{
    return cpt_await(task, cpt_start(task, ads), held_end);
}

static cpt_status wait_short(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "short", 8 * MS), count_ads);
}

static void test_started_task_of_others_goes_on(void)
{
    const struct cpt_task_def tasks[] = {
        {"page", race_with_ads, CPT_GIVES(page), {NULL}, CPT_STARTS(ads, deep), NULL},
        {"ads", wait_short, CPT_GIVES(ads), {NULL}, {NULL}, NULL},
        {"deep", start_ads_too, CPT_GIVES(deep), {NULL}, CPT_STARTS(ads), NULL},
    };

    ads_count = 0;
    held_finish(held_start(tasks, 3, 0, NULL));
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(held.done_ns, AFTER(5));
    CU_ASSERT_EQUAL(ads_count, 1);
    CU_ASSERT_EQUAL(held.now.now_ns, AFTER(8));
}

/* A pending that was cancelled or abandoned has no effect any more: a task that starts
 * the same task again waits for the task itself. */
static cpt_status use_ads(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_pending_status(loser), CPT_OK);
    CU_ASSERT_PTR_NOT_NULL(cpt_input(task, ads));
    return held_end(task);
}

static cpt_status start_ads_again(struct cpt_task *task)
{
    loser = cpt_start(task, ads);
    CU_ASSERT_EQUAL(cpt_pending_status(loser), CPT_WAITING);
    return cpt_await(task, loser, use_ads);
}

static cpt_status start_and_cancel(struct cpt_task *task)
{
    cpt_cancel(cpt_start(task, ads));
    *cpt_output(task, deep) = 1;
    return CPT_OK;
}

static cpt_status start_cancel_start(struct cpt_task *task)
{
    cpt_cancel(cpt_start(task, ads));
    return start_ads_again(task);
}

static cpt_status start_give_up_start(struct cpt_task *task)
{
    (void)cpt_start(task, ads);
    return cpt_await_all_for(task, 2 * MS, start_ads_again);
}

/* Two tasks may start the ads, so neither alone can cancel them. */
static void start_twice(cpt_task_fn page_run)
{
    const struct cpt_task_def tasks[] = {
        {"page", page_run, CPT_GIVES(page), CPT_NEEDS(deep), CPT_STARTS(ads), NULL},
        {"deep", start_and_cancel, CPT_GIVES(deep), {NULL}, CPT_STARTS(ads), NULL},
        {"ads", wait_short, CPT_GIVES(ads), {NULL}, {NULL}, NULL},
    };

    ads_count = 0;
    held_finish(held_start(tasks, 3, 0, NULL));
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(held.done_ns, AFTER(8));
    CU_ASSERT_EQUAL(ads_count, 1);
}

static void test_started_again(void)
{
    start_twice(start_ads_again);
    start_twice(start_cancel_start);
    start_twice(start_give_up_start);
}

/* --- What a deadline abandons, and what a failure leaves --- */

static cpt_status end_given_up(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_pending_status(held.work.pending), CPT_TIMEOUT);
    return held_end(task);
}

static cpt_status wait_for_a_while(struct cpt_task *task)
{
    (void)held_begin_work(task);
    return cpt_await_all_for(task, 7 * MS, end_given_up);
}

static void test_deadline_tells(void)
{
    held_run(wait_for_a_while);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_STRING_EQUAL(held.outcome.path, "A: /;A: A1;A: work;A: ‹timeout› 7");
}

/* The request is cancelled after the step has ended and before its wait has begun: the
 * deadline of that wait does not keep the memory of the request. */
static cpt_status (*set_timer)(struct cpt_executor *executor, struct cpt_timer *timer,
                               uint64_t delay_ns);

static cpt_status cancel_and_set_timer(struct cpt_executor *executor,
                                       struct cpt_timer *timer, uint64_t delay_ns)
{
    CU_ASSERT_EQUAL(cpt_request_cancel(held.handle), 1);
    return set_timer(executor, timer, delay_ns);
}

static void test_cancelled_before_it_waits(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_for_a_while, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, 0, NULL);

    set_timer = held.now.executor.after;
    held.now.executor.after = cancel_and_set_timer;
    held_finish(plan);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_EQUAL(held.now.now_ns, BEGIN);
}

static cpt_status begin_and_fail(struct cpt_task *task)
{
    (void)held_begin_work(task);
    (void)cpt_sleep(task, "long", 500 * MS);
    return cpt_fail(task, CPT_IO, "no disk");
}

static void test_failure_tells(void)
{
    held_run(begin_and_fail);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_IO);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_EQUAL(held.now.now_ns, BEGIN);
}

static cpt_status begin_and_forget(struct cpt_task *task)
{
    (void)held_begin_work(task);
    return held_end(task);
}

static void test_success_cancels_nothing(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", begin_and_forget, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, 0, NULL);

    virtual_run(&held.now);
    CU_ASSERT_EQUAL(held.outcome.done_count, 1);
    CU_ASSERT_EQUAL(held.work.told_count, 0);
    CU_ASSERT_EQUAL(cpt_request_cancel(held.handle),
                    0); /* nor does a late completion */
    CU_ASSERT_EQUAL(held.work.told_count, 0);
    cpt_complete(held.work.pending, CPT_OK);
    held_finish(plan);
}

/* --- cpt_request_cancel() --- */

static cpt_status wait_for_work(struct cpt_task *task)
{
    held.now.now_ns += 2 * MS;
    return cpt_await(task, held_begin_work(task), held_end);
}

static void test_request_is_cancelled(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_for_work, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, 0, NULL);

    virtual_run(&held.now);
    held.now.now_ns += 4 * MS;
    CU_ASSERT_EQUAL(cpt_request_cancel(held.handle), 1);
    CU_ASSERT_EQUAL(held.outcome.done_count, 1);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(held.outcome.gone_count, 1);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_STRING_EQUAL(
        held.outcome.sentence,
        "the request was cancelled: task 'A: A1' waited for 'A: work'");
    CU_ASSERT_STRING_EQUAL(held.outcome.path, "A: /;A: A1 2, A: /;A: A1;A: work 4");
    CU_ASSERT_EQUAL(cpt_request_cancel(held.handle), 0);
    held_finish(plan);
}

/* The deadline of a wait fires, or its pending completes, within `done`: after the
 * request has ended and before its work is cancelled. */
static cpt_status wait_with_deadline(struct cpt_task *task)
{
    (void)held_begin_work(task);
    return cpt_await_all_for(task, 50 * MS, held_end);
}

static void let_time_pass(void)
{
    virtual_run(&held.now);
    CU_ASSERT_EQUAL(held.now.now_ns, AFTER(50));
}

static void let_work_come(void)
{
    held.now.now_ns += 3 * MS;
    held.work.completes_when_told = 0;
    cpt_complete(held.work.pending, CPT_OK);
}

static void check_fixed_path(void (*meanwhile)(void), const char *path,
                             uint64_t timeout_ns)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_with_deadline, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, timeout_ns, NULL);

    held.within_done = meanwhile;
    if (timeout_ns == 0) {
        virtual_run_until(&held.now, held.now.now_ns);
        held.now.now_ns += 4 * MS;
        CU_ASSERT_EQUAL(cpt_request_cancel(held.handle), 1);
    }
    held_finish(plan);
    held.within_done = NULL;
    CU_ASSERT_EQUAL(held.outcome.gone_count, 1);
    CU_ASSERT_STRING_EQUAL(held.outcome.path, path);
}

static void test_path_of_what_failed_is_fixed(void)
{
    const char *cancelled = "A: /;A: A1;A: work 4";
    const char *late = "A: /;A: A1;A: work;A: ‹timeout› 8";

    check_fixed_path(let_time_pass, cancelled, 0);
    check_fixed_path(let_work_come, cancelled, 0);
    check_fixed_path(let_time_pass, late, 8 * MS);
    check_fixed_path(let_work_come, late, 8 * MS);
}

static void test_handle_may_go_first(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", race, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, 0, NULL);

    cpt_request_handle_free(held.handle);
    held.handle = NULL;
    held_finish(plan);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
}

/* Another thread cancels while a step runs: work that the step begins later is
 * cancelled, too. */
static cpt_status is_cancelled_meanwhile(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 0);
    CU_ASSERT_EQUAL(cpt_request_cancel(held.handle), 1);
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 1);
    (void)held_begin_work(task);
    return cpt_await(task, cpt_sleep(task, "long", 500 * MS), held_end);
}

static void test_cancelled_within_a_step(void)
{
    held_run(is_cancelled_meanwhile);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_EQUAL(held.now.now_ns, BEGIN);
    CU_ASSERT_STRING_EQUAL(held.outcome.sentence,
                           "the request was cancelled: task 'A: A1' had not ended");
}

/* --- Calls --- */

static struct {
    struct cpt_transport transport;
    struct cpt_transport_call *call;
    uint64_t timeout_ns;
    int has_deadline;
    int cancel_count;
} net;

static void send_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    (void)transport;
    net.call = call;
    net.timeout_ns = call->timeout_ns;
    net.has_deadline = call->has_deadline;
}

static void cancel_call(struct cpt_transport *transport,
                        struct cpt_transport_call *call)
{
    const struct cpt_transport_reply cancelled = {.status = CPT_CANCELLED};

    CU_ASSERT_PTR_EQUAL(transport, &net.transport);
    CU_ASSERT_PTR_EQUAL(call, net.call);
    net.cancel_count++;
    cpt_transport_complete(call, &cancelled);
}

static const struct cpt_stub stub = {
    .name = "B: /look", .target = "B", .method = "/look", .transport = &net.transport};

static struct cpt_pending *call;

static cpt_status left(struct cpt_task *task)
{
    cpt_cancel(call);
    CU_ASSERT_EQUAL(cpt_call_reply(call)->status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(cpt_call_reply(call)->body.bytes, 0);
    return held_end(task);
}

static cpt_status call_and_leave(struct cpt_task *task)
{
    call = cpt_call(task, &stub, cpt_bytes_of("what"));
    return cpt_await(task, cpt_sleep(task, "fast", 3 * MS), left);
}

static cpt_status call_and_wait(struct cpt_task *task)
{
    held.now.now_ns += 2 * MS;
    CU_ASSERT_EQUAL(cpt_task_remaining_ns(task), 8 * MS);
    call = cpt_call(task, &stub, cpt_bytes_of("what"));
    return cpt_await(task, call, held_end);
}

static void open_net(int can_cancel)
{
    memset(&net, 0, sizeof net);
    net.transport.name = "net";
    net.transport.send = send_call;
    net.transport.cancel = can_cancel ? cancel_call : NULL;
}

static void test_call_is_cancelled(void)
{
    open_net(1);
    held_run(call_and_leave);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_EQUAL(net.timeout_ns, UINT64_C(10000000000));
    CU_ASSERT_EQUAL(net.has_deadline, 0);
    CU_ASSERT_STRING_EQUAL(held.outcome.path, "A: /;A: A1;A: fast 3");
}

static void test_transport_that_cannot_cancel(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", call_and_leave, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_transport_reply late = {.status = CPT_OK, .http_status = 200};
    struct cpt_plan *plan = NULL;

    open_net(0);
    plan = held_start(tasks, 1, 0, NULL);
    virtual_run(&held.now);
    CU_ASSERT_EQUAL(held.outcome.done_count, 1);
    CU_ASSERT_EQUAL(held.outcome.gone_count, 0);
    cpt_transport_complete(net.call, &late);
    held_finish(plan);
}

static void test_deadline_bounds_calls(void)
{
    open_net(1);
    held_run_for(call_and_wait, 10 * MS);
    CU_ASSERT_EQUAL(net.timeout_ns, 8 * MS);
    CU_ASSERT_EQUAL(net.has_deadline, 1);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_EQUAL(held.done_ns, AFTER(10));
    CU_ASSERT_STRING_EQUAL(
        held.outcome.sentence,
        "the request took too long: task 'A: A1' waited for 'B: /look'");
    CU_ASSERT_STRING_EQUAL(held.outcome.path,
                           "A: /;A: A1 2, A: /;A: A1;B: /look;B: ‹timeout› 8");
}

CU_TestInfo cpt_cancel_tests[] = {
    {"semantics 4: losers vanish", test_losers_vanish},
    {"a loser that completes late", test_loser_completes_late},
    {"cancelling work that has ended", test_cancel_after_the_end},
    {"a task that no other task needs", test_started_task_is_cancelled},
    {"a task that others may need", test_started_task_of_others_goes_on},
    {"a cancelled task is started again", test_started_again},
    {"cancelled before it waits", test_cancelled_before_it_waits},
    {"a deadline cancels what it abandons", test_deadline_tells},
    {"a failure cancels all outstanding work", test_failure_tells},
    {"fire and forget goes on", test_success_cancels_nothing},
    {"a request is cancelled", test_request_is_cancelled},
    {"the path of a failed request is fixed", test_path_of_what_failed_is_fixed},
    {"a handle may be freed first", test_handle_may_go_first},
    {"a request is cancelled within a step", test_cancelled_within_a_step},
    {"a call is cancelled", test_call_is_cancelled},
    {"a transport that cannot cancel", test_transport_that_cannot_cancel},
    {"the deadline bounds calls", test_deadline_bounds_calls},
    CU_TEST_INFO_NULL,
};
