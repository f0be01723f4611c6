/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_cancel.c - what is cancelled and when, and the path of a request that was
 * cancelled or exceeded its deadline */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_rpc.h"

#include <stdio.h>
#include <string.h>

#define MS       UINT64_C(1000000)
#define BEGIN    (1000 * MS) /* virtual time begins here */
#define AFTER(n) (BEGIN + (n)*MS)

static struct virtual_time now;

CPT_VALUE(page, int);
CPT_VALUE(ads, int);

/* --- The outcome of a request --- */

static struct {
    int done_count;
    int gone_count;
    cpt_status status;
    uint64_t done_ns;
    char sentence[CPT_ERROR_SENTENCE_BYTES];
    char path[1024];
} outcome;

static struct cpt_request_handle *handle;

static void note_path(struct cpt_request *request)
{
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    struct cpt_path *path = cpt_path_new(NULL);
    size_t used = 0;

    if (cpt_request_path(request, path, NULL) == CPT_OK) {
        CU_ASSERT_EQUAL(cpt_path_check(path, latency_ns, NULL), CPT_OK);
    }
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        used += (size_t)snprintf(outcome.path + used, sizeof outcome.path - used,
                                 "%s%s %llu", i != 0 ? ", " : "", stack,
                                 (unsigned long long)(segment->duration_ns / MS));
    }
    cpt_path_free(path);
}

static void (*between)(void); /* done within `done`, or NULL */

static void note_done(struct cpt_request *request, void *context)
{
    (void)context;
    outcome.done_count++;
    outcome.status = cpt_request_status(request);
    outcome.done_ns = now.now_ns;
    (void)snprintf(outcome.sentence, sizeof outcome.sentence, "%s",
                   cpt_request_sentence(request));
    note_path(request);
    if (between != NULL) {
        char before[sizeof outcome.path];

        memcpy(before, outcome.path, sizeof before);
        between();
        note_path(request);
        CU_ASSERT_STRING_EQUAL(outcome.path, before);
    }
}

static void note_gone(void *context)
{
    (void)context;
    outcome.gone_count++;
}

/* Starts a request of @tasks with a handle and @timeout_ns (0: none). */
static struct cpt_plan *start(const struct cpt_task_def *tasks, size_t task_count,
                              uint64_t timeout_ns, const struct cpt_alloc *alloc)
{
    static struct cpt_graph graph;
    struct cpt_plan *plan = NULL;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &now.executor,
                                          .done = note_done,
                                          .gone = note_gone,
                                          .alloc = alloc,
                                          .is_traced = 1,
                                          .entry = "A: /",
                                          .clock = &now.clock,
                                          .timeout_ns = timeout_ns};

    graph = (struct cpt_graph){"A", NULL, CPT_GIVES(page), tasks, task_count};
    plan = cpt_plan_new(&graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    options.plan = plan;
    memset(&outcome, 0, sizeof outcome);
    virtual_init(&now, 0);
    outcome.status = cpt_request_start_held(&options, &handle, NULL);
    return plan;
}

static void finish(struct cpt_plan *plan)
{
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    CU_ASSERT_EQUAL(now.timer_count, 0);
    cpt_request_handle_free(handle);
    cpt_plan_free(plan);
}

/* Runs a request of one task to its end. */
static void run_one_for(cpt_task_fn run, uint64_t timeout_ns)
{
    const struct cpt_task_def tasks[] = {
        {"A1", run, CPT_GIVES(page), {NULL}, {NULL}, NULL}};

    finish(start(tasks, 1, timeout_ns, NULL));
}

static void run_one(cpt_task_fn run)
{
    run_one_for(run, 0);
}

/* --- Work that can be stopped --- */

static struct {
    struct cpt_pending *pending;
    int told_count;
    int completes_when_told;
} work;

static void stop_work(void *context)
{
    CU_ASSERT_PTR_EQUAL(context, &work);
    work.told_count++;
    if (work.completes_when_told) {
        cpt_complete(work.pending, CPT_OK);
    }
}

static struct cpt_pending *begin_work(struct cpt_task *task)
{
    work.told_count = 0;
    work.completes_when_told = 1;
    work.pending = cpt_defer_cancellable(task, "work", stop_work, &work);
    return work.pending;
}

static cpt_status end(struct cpt_task *task)
{
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

/* --- cpt_cancel() --- */

static struct cpt_pending *loser;

static cpt_status cancel_losers(struct cpt_task *task)
{
    cpt_cancel(NULL);
    cpt_cancel(loser);
    cpt_cancel(work.pending);
    CU_ASSERT_EQUAL(cpt_pending_status(loser), CPT_CANCELLED);
    CU_ASSERT_EQUAL(cpt_pending_status(work.pending), CPT_CANCELLED);
    CU_ASSERT_EQUAL(work.told_count, 1);
    cpt_cancel(work.pending); /* a second cancel does no harm */
    CU_ASSERT_EQUAL(work.told_count, 1);
    return cpt_await_all(task, end); /* there is nothing to wait for */
}

static cpt_status race(struct cpt_task *task)
{
    struct cpt_pending *pendings[3] = {cpt_sleep(task, "slow", 50 * MS),
                                       begin_work(task),
                                       cpt_sleep(task, "fast", 5 * MS)};

    loser = pendings[0];
    return cpt_await_some(task, pendings, 3, 1, cancel_losers);
}

static void test_losers_vanish(void)
{
    run_one(race);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: A1;A: fast 5");
    CU_ASSERT_EQUAL(now.now_ns, AFTER(5));
}

/* Cancelled work may take its time: the request ends, its memory stays. */
static cpt_status race_with_a_slow_loser(struct cpt_task *task)
{
    const cpt_status status = race(task);

    work.completes_when_told = 0;
    return status;
}

static void test_loser_completes_late(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", race_with_a_slow_loser, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = start(tasks, 1, 0, NULL);

    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.gone_count, 0);
    cpt_complete(work.pending, CPT_OK);
    finish(plan);
}

/* Work that has ended is not cancelled. */
static cpt_status cancel_what_ended(struct cpt_task *task)
{
    cpt_cancel(work.pending);
    CU_ASSERT_EQUAL(cpt_pending_status(work.pending), CPT_FAILED);
    CU_ASSERT_EQUAL(work.told_count, 0);
    return end(task);
}

static cpt_status complete_at_once(struct cpt_task *task)
{
    cpt_complete(begin_work(task), CPT_FAILED);
    return cpt_await_all(task, cancel_what_ended);
}

static void test_cancel_after_the_end(void)
{
    run_one(complete_at_once);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
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
    (void)begin_work(task);
    return cpt_await_all_for(task, 900 * MS, end);
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
    return end(task);
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
    finish(start(tasks, 3, 0, NULL));
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_EQUAL(ads_count, 0);
    CU_ASSERT_EQUAL(now.now_ns, AFTER(5)); /* and not the deadline of the deepest */
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: page;A: fast 5");
}

/* Another task may need it, so it goes on. */
static cpt_status start_ads_too(struct cpt_task *task)
{
    return cpt_await(task, cpt_start(task, ads), end);
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
    finish(start(tasks, 3, 0, NULL));
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.done_ns, AFTER(5));
    CU_ASSERT_EQUAL(ads_count, 1);
    CU_ASSERT_EQUAL(now.now_ns, AFTER(8));
}

/* A pending that was cancelled or abandoned has no effect any more: a task that starts
 * the same task again waits for the task itself. */
static cpt_status use_ads(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_pending_status(loser), CPT_OK);
    CU_ASSERT_PTR_NOT_NULL(cpt_input(task, ads));
    return end(task);
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
    finish(start(tasks, 3, 0, NULL));
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.done_ns, AFTER(8));
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
    CU_ASSERT_EQUAL(cpt_pending_status(work.pending), CPT_TIMEOUT);
    return end(task);
}

static cpt_status wait_for_a_while(struct cpt_task *task)
{
    (void)begin_work(task);
    return cpt_await_all_for(task, 7 * MS, end_given_up);
}

static void test_deadline_tells(void)
{
    run_one(wait_for_a_while);
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: A1;A: work;A: ‹timeout› 7");
}

/* The request is cancelled after the step has ended and before its wait has begun: the
 * deadline of that wait does not keep the memory of the request. */
static cpt_status (*set_timer)(struct cpt_executor *executor, struct cpt_timer *timer,
                               uint64_t delay_ns);

static cpt_status cancel_and_set_timer(struct cpt_executor *executor,
                                       struct cpt_timer *timer, uint64_t delay_ns)
{
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    return set_timer(executor, timer, delay_ns);
}

static void test_cancelled_before_it_waits(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_for_a_while, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = start(tasks, 1, 0, NULL);

    set_timer = now.executor.after;
    now.executor.after = cancel_and_set_timer;
    finish(plan);
    CU_ASSERT_EQUAL(outcome.status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_EQUAL(now.now_ns, BEGIN);
}

static cpt_status begin_and_fail(struct cpt_task *task)
{
    (void)begin_work(task);
    (void)cpt_sleep(task, "long", 500 * MS);
    return cpt_fail(task, CPT_IO, "no disk");
}

static void test_failure_tells(void)
{
    run_one(begin_and_fail);
    CU_ASSERT_EQUAL(outcome.status, CPT_IO);
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_EQUAL(now.now_ns, BEGIN);
}

static cpt_status begin_and_forget(struct cpt_task *task)
{
    (void)begin_work(task);
    return end(task);
}

static void test_success_tells_nobody(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", begin_and_forget, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = start(tasks, 1, 0, NULL);

    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(work.told_count, 0);
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 0); /* nor does a late completion */
    CU_ASSERT_EQUAL(work.told_count, 0);
    cpt_complete(work.pending, CPT_OK);
    finish(plan);
}

/* --- cpt_request_cancel() --- */

static cpt_status wait_for_work(struct cpt_task *task)
{
    now.now_ns += 2 * MS;
    return cpt_await(task, begin_work(task), end);
}

static void test_request_is_cancelled(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_for_work, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = start(tasks, 1, 0, NULL);

    virtual_run(&now);
    now.now_ns += 4 * MS;
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(outcome.status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_STRING_EQUAL(
        outcome.sentence,
        "the request was cancelled: task 'A: A1' waited for 'A: work'");
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: A1 2, A: /;A: A1;A: work 4");
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 0);
    finish(plan);
}

/* The deadline of a wait fires, or its pending completes, within `done`: after the
 * request has ended and before its work is cancelled. */
static cpt_status wait_with_deadline(struct cpt_task *task)
{
    (void)begin_work(task);
    return cpt_await_all_for(task, 50 * MS, end);
}

static void let_time_pass(void)
{
    virtual_run(&now);
    CU_ASSERT_EQUAL(now.now_ns, AFTER(50));
}

static void let_work_come(void)
{
    now.now_ns += 3 * MS;
    work.completes_when_told = 0;
    cpt_complete(work.pending, CPT_OK);
}

static void check_fixed_path(void (*meanwhile)(void), const char *path,
                             uint64_t timeout_ns)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_with_deadline, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = start(tasks, 1, timeout_ns, NULL);

    between = meanwhile;
    if (timeout_ns == 0) {
        virtual_run_until(&now, now.now_ns);
        now.now_ns += 4 * MS;
        CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    }
    finish(plan);
    between = NULL;
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    CU_ASSERT_STRING_EQUAL(outcome.path, path);
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
    struct cpt_plan *plan = start(tasks, 1, 0, NULL);

    cpt_request_handle_free(handle);
    handle = NULL;
    finish(plan);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
}

/* Another thread cancels while a step runs: work that the step begins later is
 * cancelled, too. */
static cpt_status is_cancelled_meanwhile(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 0);
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 1);
    (void)begin_work(task);
    return cpt_await(task, cpt_sleep(task, "long", 500 * MS), end);
}

static void test_cancelled_within_a_step(void)
{
    run_one(is_cancelled_meanwhile);
    CU_ASSERT_EQUAL(outcome.status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_EQUAL(now.now_ns, BEGIN);
    CU_ASSERT_STRING_EQUAL(outcome.sentence,
                           "the request was cancelled: task 'A: A1' had not ended");
}

/* --- The deadline of a request --- */

static void test_request_takes_too_long(void)
{
    run_one_for(wait_for_work, 10 * MS);
    CU_ASSERT_EQUAL(outcome.status, CPT_TIMEOUT);
    CU_ASSERT_EQUAL(outcome.done_ns, AFTER(10));
    CU_ASSERT_EQUAL(work.told_count, 1);
    CU_ASSERT_STRING_EQUAL(
        outcome.sentence,
        "the request took too long: task 'A: A1' waited for 'A: work'");
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "A: /;A: A1 2, A: /;A: A1;A: work;A: ‹timeout› 8");
}

static void test_request_is_in_time(void)
{
    run_one_for(race, 6 * MS);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(now.now_ns, AFTER(5)); /* the timer is gone */
}

/* The output task has not begun: its input waits for a task that it started. */
static cpt_status start_ads(struct cpt_task *task)
{
    now.now_ns += 1 * MS;
    return cpt_await(task, cpt_start(task, ads), end);
}

static cpt_status find_ads(struct cpt_task *task)
{
    now.now_ns += 3 * MS;
    return cpt_await(task, begin_work(task), end);
}

CPT_VALUE(body, int);
CPT_VALUE(late, int);

static cpt_status make_body(struct cpt_task *task)
{
    const cpt_status status = start_ads(task);

    *cpt_output(task, body) = 1;
    return status;
}

static void test_holder_is_found_below(void)
{
    const struct cpt_task_def tasks[] = {
        {"body", make_body, CPT_GIVES(body), {NULL}, CPT_STARTS(ads), NULL},
        {"ads", find_ads, CPT_GIVES(ads), {NULL}, {NULL}, NULL},
        {"page", end, CPT_GIVES(page), CPT_NEEDS(body), {NULL}, NULL},
    };

    finish(start(tasks, 3, 20 * MS, NULL));
    CU_ASSERT_STRING_EQUAL(
        outcome.sentence,
        "the request took too long: task 'A: ads' waited for 'A: work'");
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: body 1, A: /;A: body;A: ads 3, "
                                         "A: /;A: body;A: ads;A: work;A: ‹timeout› 16");
}

/* The deadline fires while a step runs. */
static cpt_status compute_for_long(struct cpt_task *task)
{
    struct cpt_timer *timer = now.timers[0];

    now.now_ns += 10 * MS;
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 0);
    CU_ASSERT_EQUAL(now.executor.cancel(&now.executor, timer), 1);
    timer->fire(timer);
    CU_ASSERT_EQUAL(cpt_task_remaining_ns(task), 0);
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 1);
    return CPT_OK;
}

static void test_running_holder(void)
{
    const struct cpt_task_def tasks[] = {
        {"body", compute_for_long, CPT_GIVES(body), {NULL}, {NULL}, NULL},
        {"page", end, CPT_GIVES(page), CPT_NEEDS(body), {NULL}, NULL},
    };

    finish(start(tasks, 2, 10 * MS, NULL));
    CU_ASSERT_EQUAL(outcome.status, CPT_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(outcome.sentence,
                           "the request took too long: task 'A: body' had not ended");
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: body 10");
}

static cpt_status give_ads(struct cpt_task *task)
{
    now.now_ns += 3 * MS;
    *cpt_output(task, ads) = 1;
    return CPT_OK;
}

/* The first task that the output misses has its input, and is queued. */
static void test_queued_holder(void)
{
    const struct cpt_task_def tasks[] = {
        {"ads", give_ads, CPT_GIVES(ads), {NULL}, {NULL}, NULL},
        {"body", compute_for_long, CPT_GIVES(body), CPT_NEEDS(ads), {NULL}, NULL},
        {"late", compute_for_long, CPT_GIVES(late), CPT_NEEDS(ads), {NULL}, NULL},
        {"page", end, CPT_GIVES(page), CPT_NEEDS(late, body), {NULL}, NULL},
    };

    finish(start(tasks, 4, 13 * MS, NULL));
    CU_ASSERT_STRING_EQUAL(outcome.sentence,
                           "the request took too long: task 'A: late' had not ended");
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: ads 3, A: /;A: late;A: ‹queue› 10");
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
    return end(task);
}

static cpt_status call_and_leave(struct cpt_task *task)
{
    call = cpt_call(task, &stub, cpt_bytes_of("what"));
    return cpt_await(task, cpt_sleep(task, "fast", 3 * MS), left);
}

static cpt_status call_and_wait(struct cpt_task *task)
{
    now.now_ns += 2 * MS;
    CU_ASSERT_EQUAL(cpt_task_remaining_ns(task), 8 * MS);
    call = cpt_call(task, &stub, cpt_bytes_of("what"));
    return cpt_await(task, call, end);
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
    run_one(call_and_leave);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_EQUAL(net.timeout_ns, UINT64_C(10000000000));
    CU_ASSERT_EQUAL(net.has_deadline, 0);
    CU_ASSERT_STRING_EQUAL(outcome.path, "A: /;A: A1;A: fast 3");
}

static void test_transport_that_cannot_cancel(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", call_and_leave, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_transport_reply late = {.status = CPT_OK, .http_status = 200};
    struct cpt_plan *plan = NULL;

    open_net(0);
    plan = start(tasks, 1, 0, NULL);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(outcome.gone_count, 0);
    cpt_transport_complete(net.call, &late);
    finish(plan);
}

static void test_deadline_bounds_calls(void)
{
    open_net(1);
    run_one_for(call_and_wait, 10 * MS);
    CU_ASSERT_EQUAL(net.timeout_ns, 8 * MS);
    CU_ASSERT_EQUAL(net.has_deadline, 1);
    CU_ASSERT_EQUAL(net.cancel_count, 1);
    CU_ASSERT_EQUAL(outcome.done_ns, AFTER(10));
    CU_ASSERT_STRING_EQUAL(
        outcome.sentence,
        "the request took too long: task 'A: A1' waited for 'B: /look'");
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "A: /;A: A1 2, A: /;A: A1;B: /look;B: ‹timeout› 8");
}

/* --- Refused --- */

static void test_executor_without_timers(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", end, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", NULL, CPT_GIVES(page), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .timeout_ns = MS};
    struct cpt_error error = {0};

    handle = NULL;
    CU_ASSERT_EQUAL(cpt_request_start_held(&options, &handle, &error), CPT_INVALID);
    CU_ASSERT_PTR_NULL(handle);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "\"inline\" cannot set a timer"));
    cpt_plan_free(plan);
}

static bool limited_request(const struct cpt_alloc *alloc)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_for_work, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = start(tasks, 1, 10 * MS, alloc);
    bool is_good = outcome.status == CPT_OK;

    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.gone_count, is_good);
    is_good = is_good && outcome.status == CPT_TIMEOUT && outcome.path[0] != '\0';
    cpt_request_handle_free(handle);
    cpt_plan_free(plan);
    return is_good;
}

static void test_allocation_failures(void)
{
    each_allocation_failure(limited_request);
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
    {"fire and forget goes on", test_success_tells_nobody},
    {"a request is cancelled", test_request_is_cancelled},
    {"the path of a failed request is fixed", test_path_of_what_failed_is_fixed},
    {"a handle may be freed first", test_handle_may_go_first},
    {"a request is cancelled within a step", test_cancelled_within_a_step},
    {"semantics 4: a request exceeds its deadline", test_request_takes_too_long},
    {"a request is in time", test_request_is_in_time},
    {"the delaying task is found below", test_holder_is_found_below},
    {"the delaying task runs", test_running_holder},
    {"the delaying task is queued", test_queued_holder},
    {"a call is cancelled", test_call_is_cancelled},
    {"a transport that cannot cancel", test_transport_that_cannot_cancel},
    {"the deadline bounds calls", test_deadline_bounds_calls},
    {"an executor without timers", test_executor_without_timers},
    {"allocation failures", test_allocation_failures},
    CU_TEST_INFO_NULL,
};
