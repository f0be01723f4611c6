/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_deadline.c - a request that exceeds its deadline: its path, and the task named
 * as the cause */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/unit/framework/held_request.h"

#include <string.h>

CPT_VALUE(ads, int);

static cpt_status wait_for_work(struct cpt_task *task)
{
    held.now.now_ns += 2 * MS;
    return cpt_await(task, held_begin_work(task), held_end);
}

static void test_request_takes_too_long(void)
{
    held_run_for(wait_for_work, 10 * MS);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_TIMEOUT);
    CU_ASSERT_EQUAL(held.done_ns, AFTER(10));
    CU_ASSERT_EQUAL(held.work.told_count, 1);
    CU_ASSERT_STRING_EQUAL(
        held.outcome.sentence,
        "the request took too long: task 'A: A1' waited for 'A: work'");
    CU_ASSERT_STRING_EQUAL(held.outcome.path,
                           "A: /;A: A1 2, A: /;A: A1;A: work;A: ‹timeout› 8");
}

static cpt_status nap(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", 5 * MS), held_end);
}

static void test_request_is_in_time(void)
{
    held_run_for(nap, 6 * MS);
    CU_ASSERT_EQUAL(held.outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(held.now.now_ns, AFTER(5)); /* the timer is gone */
}

/* The output task has not begun: its input waits for a task that it started. */
static cpt_status start_ads(struct cpt_task *task)
{
    held.now.now_ns += 1 * MS;
    return cpt_await(task, cpt_start(task, ads), held_end);
}

static cpt_status find_ads(struct cpt_task *task)
{
    held.now.now_ns += 3 * MS;
    return cpt_await(task, held_begin_work(task), held_end);
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
        {"page", held_end, CPT_GIVES(page), CPT_NEEDS(body), {NULL}, NULL},
    };

    held_finish(held_start(tasks, 3, 20 * MS, NULL));
    CU_ASSERT_STRING_EQUAL(
        held.outcome.sentence,
        "the request took too long: task 'A: ads' waited for 'A: work'");
    CU_ASSERT_STRING_EQUAL(held.outcome.path,
                           "A: /;A: body 1, A: /;A: body;A: ads 3, "
                           "A: /;A: body;A: ads;A: work;A: ‹timeout› 16");
}

/* The deadline fires while a step runs. */
static cpt_status compute_for_long(struct cpt_task *task)
{
    struct cpt_timer *timer = held.now.timers[0];

    held.now.now_ns += 10 * MS;
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 0);
    CU_ASSERT_EQUAL(held.now.executor.cancel(&held.now.executor, timer), 1);
    timer->fire(timer);
    CU_ASSERT_EQUAL(cpt_task_remaining_ns(task), 0);
    CU_ASSERT_EQUAL(cpt_task_is_cancelled(task), 1);
    return CPT_OK;
}

static void test_running_holder(void)
{
    const struct cpt_task_def tasks[] = {
        {"body", compute_for_long, CPT_GIVES(body), {NULL}, {NULL}, NULL},
        {"page", held_end, CPT_GIVES(page), CPT_NEEDS(body), {NULL}, NULL},
    };

    held_finish(held_start(tasks, 2, 10 * MS, NULL));
    CU_ASSERT_EQUAL(held.outcome.status, CPT_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(held.outcome.sentence,
                           "the request took too long: task 'A: body' had not ended");
    CU_ASSERT_STRING_EQUAL(held.outcome.path, "A: /;A: body 10");
}

static cpt_status give_ads(struct cpt_task *task)
{
    held.now.now_ns += 3 * MS;
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
        {"page", held_end, CPT_GIVES(page), CPT_NEEDS(late, body), {NULL}, NULL},
    };

    held_finish(held_start(tasks, 4, 13 * MS, NULL));
    CU_ASSERT_STRING_EQUAL(held.outcome.sentence,
                           "the request took too long: task 'A: late' had not ended");
    CU_ASSERT_STRING_EQUAL(held.outcome.path,
                           "A: /;A: ads 3, A: /;A: late;A: ‹queue› 10");
}

static void test_executor_without_timers(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", held_end, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", NULL, CPT_GIVES(page), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .timeout_ns = MS};
    struct cpt_error error = {0};

    held.handle = NULL;
    CU_ASSERT_EQUAL(cpt_request_start_held(&options, &held.handle, &error),
                    CPT_INVALID);
    CU_ASSERT_PTR_NULL(held.handle);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "\"inline\" cannot set a timer"));
    cpt_plan_free(plan);
}

static bool limited_request(const struct cpt_alloc *alloc)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_for_work, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    struct cpt_plan *plan = held_start(tasks, 1, 10 * MS, alloc);
    bool is_good = held.outcome.status == CPT_OK;

    virtual_run(&held.now);
    CU_ASSERT_EQUAL(held.outcome.gone_count, is_good);
    is_good = is_good && held.outcome.status == CPT_TIMEOUT &&
              held.outcome.path[0] != '\0' && held.outcome.path_flags == 0;
    cpt_request_handle_free(held.handle);
    cpt_plan_free(plan);
    return is_good;
}

static void test_allocation_failures(void)
{
    each_allocation_failure(limited_request);
}

CU_TestInfo cpt_deadline_tests[] = {
    {"semantics 4: a request exceeds its deadline", test_request_takes_too_long},
    {"a request is in time", test_request_is_in_time},
    {"the delaying task is found below", test_holder_is_found_below},
    {"the delaying task runs", test_running_holder},
    {"the delaying task is queued", test_queued_holder},
    {"an executor without timers", test_executor_without_timers},
    {"allocation failures", test_allocation_failures},
    CU_TEST_INFO_NULL,
};
