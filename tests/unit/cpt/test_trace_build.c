/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_trace_build.c - all that is told of a request: in its order, bounded, moved */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"

#include "cpt/cpt_path.h"
#include "cpt/cpt_trace_build.h"

enum { TASKS = 1000 };

static struct cpt_trace_task tasks[TASKS];

static void test_order(void)
{
    const struct cpt_trace traces[2] = {{.arrival_ns = 1}, {.arrival_ns = 2}};
    struct cpt_trace_call call = {.arrive_ns = 5};
    struct cpt_arena arena;
    struct cpt_trace_build build = {.arena = &arena};
    struct cpt_dag_records records;

    cpt_arena_init(&arena, NULL, 0, 0);
    cpt_trace_build_run(&build, (struct cpt_dag_run){.trace = &traces[0]});
    cpt_trace_build_task(&build, &tasks[0], 0);
    records = cpt_trace_build_records(&build);
    CU_ASSERT_EQUAL(records.run_count, 1);
    CU_ASSERT_PTR_NULL(records.task_runs);
    cpt_trace_build_run(&build, (struct cpt_dag_run){&traces[1], &call});
    for (uint32_t i = 1; i < TASKS; i++) {
        cpt_trace_build_task(&build, &tasks[i], i % 2);
        cpt_trace_build_arrival(
            &build, &(struct cpt_dag_arrival){.waiter = &tasks[i], .arrive_ns = i});
    }
    records = cpt_trace_build_records(&build);
    CU_ASSERT_EQUAL(build.status, CPT_OK);
    CU_ASSERT_EQUAL(records.run_count, 2);
    CU_ASSERT_PTR_EQUAL(records.runs[1].call, &call);
    CU_ASSERT_EQUAL_FATAL(records.task_count, TASKS);
    CU_ASSERT_EQUAL_FATAL(records.arrival_count, TASKS - 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        CU_ASSERT_PTR_EQUAL(records.tasks[i], &tasks[i]);
        CU_ASSERT_EQUAL(records.task_runs[i], i % 2);
        CU_ASSERT_TRUE(i == 0 || records.arrivals[i - 1].arrive_ns == i);
        tasks[i].walk_number = i;
    }
    CU_ASSERT_EQUAL(cpt_trace_number(&records, &tasks[7]), 7);
    CU_ASSERT_EQUAL(cpt_trace_number(&records, NULL), UINT32_MAX);
    CU_ASSERT_EQUAL(
        cpt_trace_number(&records, &(struct cpt_trace_task){.walk_number = 7}),
        UINT32_MAX);
    cpt_arena_deinit(&arena);
}

static void test_taken_back(void)
{
    struct cpt_arena arena;
    struct cpt_trace_build build = {.arena = &arena};
    struct cpt_trace_build before;
    struct cpt_dag_records records;

    cpt_arena_init(&arena, NULL, 0, 0);
    cpt_trace_build_task(&build, &tasks[0], 0);
    before = build;
    for (uint32_t i = 1; i < TASKS; i++) {
        cpt_trace_build_task(&build, &tasks[i], 0);
    }
    build = before;
    cpt_trace_build_task(&build, &tasks[9], 0);
    records = cpt_trace_build_records(&build);
    CU_ASSERT_EQUAL_FATAL(records.task_count, 2);
    CU_ASSERT_PTR_EQUAL(records.tasks[0], &tasks[0]);
    CU_ASSERT_PTR_EQUAL(records.tasks[1], &tasks[9]);
    cpt_arena_deinit(&arena);
}

static void test_limits(void)
{
    struct cpt_arena arena;
    struct cpt_trace_build build = {.arena = &arena};

    cpt_arena_init(&arena, NULL, 0, 8192);
    CU_ASSERT_PTR_NOT_NULL(cpt_trace_build_take(&build, 1, 100));
    for (uint32_t i = 0; i < TASKS; i++) {
        cpt_trace_build_task(&build, &tasks[i], 0);
    }
    CU_ASSERT_EQUAL(build.status, CPT_LIMIT);
    CU_ASSERT_PTR_NULL(cpt_trace_build_take(&build, 1, 1)); /* nor anything else */
    cpt_arena_deinit(&arena);
    build = (struct cpt_trace_build){.arena = &arena};
    cpt_arena_init(&arena, NULL, 0, 0);
    CU_ASSERT_PTR_NULL(cpt_trace_build_take(&build, CPT_TRACE_RECORDS_MAX + 1, 1));
    CU_ASSERT_EQUAL(build.status, CPT_LIMIT);
    build.status = CPT_OK;
    CU_ASSERT_PTR_NULL(cpt_trace_build_take(&build, 2, SIZE_MAX / 2));
    CU_ASSERT_EQUAL(build.status, CPT_LIMIT);
    cpt_arena_deinit(&arena);
}

static bool add_all(const struct cpt_alloc *alloc)
{
    struct cpt_arena arena;
    struct cpt_trace_build build = {.arena = &arena};

    cpt_arena_init(&arena, alloc, 0, 0);
    for (uint32_t i = 0; i < TASKS; i++) {
        cpt_trace_build_task(&build, &tasks[i], 0);
        cpt_trace_build_arrival(&build, &(struct cpt_dag_arrival){.arrive_ns = i});
    }
    cpt_arena_deinit(&arena);
    CU_ASSERT_TRUE(build.status == CPT_OK || build.status == CPT_NO_MEMORY);
    return build.status == CPT_OK;
}

static void test_refused_memory(void)
{
    each_allocation_failure(add_all);
}

static void test_clocks(void)
{
    const struct cpt_trace_call unsent = {.issue_ns = 10, .arrive_ns = 90};
    const struct cpt_trace_call sent = {.issue_ns = 10, .sent_ns = 15, .arrive_ns = 90};

    CU_ASSERT_EQUAL(cpt_trace_move(CPT_TRACE_CLOCK_OWN, &unsent, 1, 9), 10);
    CU_ASSERT_EQUAL(cpt_trace_move(CPT_TRACE_CLOCK_OWN, &sent, 1, 9), 15);
    CU_ASSERT_EQUAL(cpt_trace_move(CPT_TRACE_CLOCK_ALIGNED, &sent, 17, 25), 17);
}

static void test_doubted_clocks(void)
{
    static const struct cpt_trace_call call = {.issue_ns = 10000, .arrive_ns = 20000};
    static const struct {
        uint64_t arrival_ns, response_ns, moved_ns;
    } cases[] = {
        {12000, 19000, 12000},          /* within it */
        {8000, 19000, 8000},            /* in one moment, though longer than that */
        {12000, 22000, 12000},          /* late by one moment */
        {12001, 22001, 10000},          /* by more */
        {30000, 34000, 13000},          /* behind it */
        {1000, 5000, 13000},            /* before it */
        {UINT64_MAX - 99, 3900, 13000}, /* before there was time */
        {9000, 25000, 9000},            /* it does not fit */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(cpt_trace_move(CPT_TRACE_CLOCK_DOUBTED, &call,
                                       cases[i].arrival_ns, cases[i].response_ns),
                        cases[i].moved_ns);
    }
}

static void test_answers(void)
{
    const struct cpt_trace trace = {
        .arrival_ns = 10, .response_ns = 90, .answered_by = &tasks[0]};
    const struct cpt_trace unanswered = {.arrival_ns = 10, .response_ns = 90};
    struct cpt_trace_call call = {
        .issue_ns = 10, .arrive_ns = 90, .outcome = CPT_CALL_REMOTE};

    CU_ASSERT_TRUE(cpt_trace_answers(&trace, &call));
    CU_ASSERT_FALSE(cpt_trace_answers(&unanswered, &call));
    call.arrive_ns = 89;
    CU_ASSERT_FALSE(cpt_trace_answers(&trace, &call));
    call.arrive_ns = 90;
    call.issue_ns = 11;
    CU_ASSERT_FALSE(cpt_trace_answers(&trace, &call));
    call.issue_ns = 10;
    call.reason = CPT_REASON_FAILED;
    CU_ASSERT_FALSE(cpt_trace_answers(&trace, &call));
    call.outcome = CPT_CALL_COMPONENT;
    CU_ASSERT_TRUE(cpt_trace_answers(&trace, &call));
    call.outcome = CPT_CALL_TIMEOUT;
    CU_ASSERT_FALSE(cpt_trace_answers(&trace, &call));
}

extern CU_TestInfo cpt_trace_build_tests[];
CU_TestInfo cpt_trace_build_tests[] = {
    {"all is there, in its order", test_order},
    {"what was added can be taken back", test_taken_back},
    {"nothing is taken at a limit", test_limits},
    {"refused memory is told", test_refused_memory},
    {"runs are moved by their clock", test_clocks},
    {"runs whose clock is doubted", test_doubted_clocks},
    {"when an answer ended its call", test_answers},
    CU_TEST_INFO_NULL,
};
