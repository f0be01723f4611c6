/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_pending.c - waits for pendings: the first of several, deadlines, work
 * elsewhere */
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "cpt/cpt_path.h"

#include <string.h>

static struct virtual_time now;

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

CPT_VALUE(query, int);
CPT_VALUE(page, int);

static struct outcome run(const struct cpt_graph *graph)
{
    return run_one(&now, graph, 1);
}

/* --- The first of several --- */

static struct cpt_pending *racers[3];

static cpt_status after_race(struct cpt_task *task)
{
    spend(1);
    CU_ASSERT_EQUAL(cpt_pending_status(racers[0]), CPT_WAITING);
    CU_ASSERT_EQUAL(cpt_pending_status(racers[1]), CPT_OK);
    CU_ASSERT_EQUAL(cpt_pending_status(racers[2]), CPT_OK);
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static cpt_status race(struct cpt_task *task)
{
    racers[0] = cpt_sleep(task, "last", 30 * MS);
    racers[1] = cpt_sleep(task, "second", 9 * MS);
    racers[2] = cpt_sleep(task, "first", 4 * MS);
    return cpt_await_some(task, racers, 3, 2, after_race);
}

/* Two of three: the second to complete is on the path. */
static void test_two_of_three(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", race, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;A: A1;A: second 9, S: /;A: A1 1");
    CU_ASSERT_EQUAL(outcome.gone_count, 1); /* the loser does not keep the request */
}

static cpt_status race_after_computing(struct cpt_task *task)
{
    racers[0] = cpt_sleep(task, "last", 30 * MS);
    racers[1] = cpt_sleep(task, "second", 9 * MS);
    racers[2] = cpt_sleep(task, "first", 4 * MS);
    spend(10);
    virtual_run_until(&now, now.now_ns);
    return cpt_await_some(task, racers, 3, 2, after_race);
}

/* Pendings that were complete before count: the wait does not block. */
static void test_two_of_three_were_there(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", race_after_computing, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;A: A1 11");
}

static cpt_status never_reached(struct cpt_task *task)
{
    (void)task;
    CU_FAIL("went on");
    return CPT_OK;
}

static cpt_status await_nothing(struct cpt_task *task)
{
    racers[0] = NULL;
    return cpt_await_some(task, racers, 1, 1, never_reached);
}

static void test_waiting_for_no_pending_fails(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", await_nothing, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};

    CU_ASSERT_EQUAL(run(&graph).status, CPT_LIMIT);
}

/* --- Deadlines --- */

static cpt_status after_deadline(struct cpt_task *task)
{
    spend(1);
    *cpt_output(task, page) = 3;
    return CPT_OK;
}

static cpt_status three_with_deadline(struct cpt_task *task)
{
    spend(1);
    (void)cpt_sleep(task, "quick", 2 * MS);
    (void)cpt_sleep(task, "slow", 90 * MS);
    (void)cpt_sleep(task, "slower", 95 * MS);
    return cpt_await_all_for(task, 10 * MS, after_deadline);
}

/* Of the outstanding tasks at the deadline the one started first has the wait. */
static void test_deadline(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", three_with_deadline, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.latency_ns, 12 * MS);
    CU_ASSERT_STRING_EQUAL(
        outcome.path, "S: /;A: A1 1, S: /;A: A1;A: slow;A: ‹timeout› 10, S: /;A: A1 1");
}

static cpt_status two_within_deadline(struct cpt_task *task)
{
    (void)cpt_sleep(task, "quick", 2 * MS);
    (void)cpt_sleep(task, "slow", 6 * MS);
    return cpt_await_all_for(task, 10 * MS, after_deadline);
}

static void test_deadline_is_not_reached(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", two_within_deadline, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;A: A1;A: slow 6, S: /;A: A1 1");
    CU_ASSERT_EQUAL(now.timer_count, 0);
    CU_ASSERT_EQUAL(now.now_ns, 1000 * MS + 7 * MS); /* it was cancelled */
}

/* --- Work elsewhere --- */

static struct cpt_pending *deferred;

static cpt_status defer(struct cpt_task *task)
{
    deferred = cpt_defer(task, "elsewhere");
    return cpt_await(task, deferred, after_deadline);
}

static void test_deferred_work(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", defer, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    struct outcome outcome = {0};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const int query_value = 1;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &now.executor,
                                                .input = &query_value,
                                                .done = note_outcome,
                                                .context = &outcome,
                                                .is_traced = 1,
                                                .entry = "S: /",
                                                .clock = &now.clock};

    virtual_init(&now, 0);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.done_count, 0);
    spend(8);
    cpt_complete(deferred, CPT_OK);
    spend(2); /* in the queue */
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;A: A1;A: elsewhere 8, "
                                         "S: /;A: A1;A: ‹queue› 2, S: /;A: A1 1");
    cpt_plan_free(plan);
}

/* An abandoned sleep is cancelled: it does not keep the request. */
static void test_given_up_sleeps_are_cancelled(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", three_with_deadline, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    CU_ASSERT_EQUAL(now.now_ns, 1000 * MS + 12 * MS); /* and not 95 ms later */
}

static cpt_status sleeps_and_leaves(struct cpt_task *task)
{
    (void)cpt_sleep(task, "unused", 500 * MS);
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static void test_sleeps_without_a_waiter(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", sleeps_and_leaves, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    CU_ASSERT_EQUAL(now.timer_count, 0);
    CU_ASSERT_EQUAL(now.now_ns, 1000 * MS);
}

/* Semantics 16: a name that is too long is cut, and is still a frame. */
static cpt_status sleep_with_a_long_name(struct cpt_task *task)
{
    static char name[400];

    memset(name, 'n', sizeof name - 1);
    return cpt_await(task, cpt_sleep(task, name, 20 * MS), after_deadline);
}

static void test_long_names_keep_their_time(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", sleep_with_a_long_name, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_PTR_NOT_NULL(strstr(outcome.path, "S: /;A: A1;A: nnnnnnnnnn"));
    CU_ASSERT_PTR_NOT_NULL(strstr(outcome.path, " 20, S: /;A: A1 1"));
}

/* --- Lost records --- */

/* Waits whose records were lost are unattributed, not the task's own time. */
enum { WAITS = 100 };

static cpt_status wait_again(struct cpt_task *task)
{
    int *left = cpt_state(task, int);

    spend(1);
    if (++*left == WAITS) {
        *cpt_output(task, page) = 1;
        return CPT_OK;
    }
    return cpt_await(task, cpt_sleep(task, "nap", MS), wait_again);
}

static struct outcome run_with_notes(size_t bytes_max)
{
    const struct cpt_task_def tasks[] = {
        {"A1", wait_again, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    struct outcome outcome = {0};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const int query_value = 1;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &now.executor,
                                                .input = &query_value,
                                                .done = note_outcome,
                                                .gone = note_gone,
                                                .context = &outcome,
                                                .trace_memory_bytes_max = bytes_max,
                                                .is_traced = 1,
                                                .entry = "S: /",
                                                .clock = &now.clock};

    virtual_init(&now, 0);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    cpt_plan_free(plan);
    return outcome;
}

static void test_lost_waits_are_unattributed(void)
{
    struct outcome outcome = run_with_notes(0);

    CU_ASSERT_EQUAL(outcome.path_flags, 0);
    CU_ASSERT_PTR_NULL(strstr(outcome.path, "unattributed"));
    outcome = run_with_notes(9000); /* for some of them */
    CU_ASSERT_EQUAL(outcome.path_flags, CPT_PATH_INCOMPLETE);
    CU_ASSERT_PTR_NOT_NULL(strstr(outcome.path, "S: /;A: A1;A: nap 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(outcome.path, "S: /;A: A1;A: ‹unattributed› "));
    outcome = run_with_notes(1); /* for none */
    CU_ASSERT_EQUAL(outcome.path_flags, CPT_PATH_INCOMPLETE);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;A: A1;A: ‹unattributed› 199");
}

CU_TestInfo cpt_pending_tests[] = {
    {"two of three", test_two_of_three},
    {"two of three were there", test_two_of_three_were_there},
    {"waiting for no pending", test_waiting_for_no_pending_fails},
    {"a deadline: the first started is the timeout", test_deadline},
    {"a deadline that is not reached", test_deadline_is_not_reached},
    {"work elsewhere, and the queue after it", test_deferred_work},
    {"sleeps that a deadline abandoned", test_given_up_sleeps_are_cancelled},
    {"sleeps without a waiter", test_sleeps_without_a_waiter},
    {"semantics 16: long names keep their time", test_long_names_keep_their_time},
    {"lost waits are unattributed", test_lost_waits_are_unattributed},
    CU_TEST_INFO_NULL,
};
