/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_large.c - the largest traces and paths, each walked within seconds
 *
 * Nothing in the core may take much more than linear time. A step that scanned all of
 * 200,000 tasks again for each task would take minutes; the time limit detects that,
 * and is far above what the walk needs.
 */
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TASKS = 200000, SECONDS_MAX = 20 };

/* Walks @trace and checks the sum, the number of segments and the time it took. */
static void expect_walk(struct cpt_trace *trace, size_t segment_count)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    const clock_t begin = clock();

    trace->entry = cpt_bytes_of("A: /");
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, trace, path, &error), CPT_OK);
    CU_ASSERT_EQUAL(
        cpt_path_check(path, trace->response_ns - trace->arrival_ns, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), segment_count);
    CU_ASSERT_TRUE((clock() - begin) / CLOCKS_PER_SEC < SECONDS_MAX);
    cpt_path_free(path);
}

/* Each task made ready by the one before it. */
static void test_long_chain(void)
{
    struct cpt_trace_task *tasks = calloc(TASKS, sizeof *tasks);
    struct cpt_trace trace = {.response_ns = TASKS, .answered_by = &tasks[TASKS - 1]};

    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] =
            (struct cpt_trace_task){.name = cpt_bytes_of(i % 2 == 0 ? "even" : "odd"),
                                    .unblocker = i != 0 ? &tasks[i - 1] : NULL,
                                    .begin = i != 0 ? CPT_BEGIN_TASK : 0,
                                    .ready_ns = i,
                                    .start_ns = i,
                                    .end_ns = i + 1};
    }
    expect_walk(&trace, TASKS);
    free(tasks);
}

/* Each task started by the one before it, which waits for it: the stack is as deep as
 * the trace is long. */
static void test_deep_chain(void)
{
    struct cpt_trace_task *tasks = calloc(TASKS, sizeof *tasks);
    struct cpt_trace_await *awaits = calloc(TASKS, sizeof *awaits);
    struct cpt_trace trace = {.response_ns = 2 * TASKS, .answered_by = &tasks[0]};

    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] = (struct cpt_trace_task){.name = cpt_bytes_of("f"),
                                           .starter = i != 0 ? &tasks[i - 1] : NULL,
                                           .unblocker = i != 0 ? &tasks[i - 1] : NULL,
                                           .begin = i != 0 ? CPT_BEGIN_TASK : 0,
                                           .ready_ns = i,
                                           .start_ns = i,
                                           .end_ns = 2 * TASKS - i};
        if (i + 1 < TASKS) {
            awaits[i] = (struct cpt_trace_await){.task = &tasks[i + 1],
                                                 .block_ns = i + 1,
                                                 .arrive_ns = 2 * TASKS - i - 1,
                                                 .resume_ns = 2 * TASKS - i - 1};
            tasks[i].last_await = &awaits[i];
        }
    }
    /* the innermost task has 2 ns in one piece */
    expect_walk(&trace, 2 * TASKS - 1);
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    expect_walk(&trace, 2 * TASKS - 1);

    /* only the innermost is on the path: the walk must find all its starters at once */
    trace.answered_by = &tasks[TASKS - 1];
    trace.response_ns = TASKS + 1;
    trace.arrival_ns = TASKS - 1;
    trace.attribution = CPT_ATTRIBUTE_LONGEST;
    expect_walk(&trace, 1);
    free(tasks);
    free(awaits);
}

/* A deep task that makes many calls: its stack is built once, not for each call. */
static void test_many_calls_far_down(void)
{
    enum { CALLS = TASKS / 4 };
    struct cpt_trace_task *tasks = calloc(TASKS, sizeof *tasks);
    struct cpt_trace_call *calls = calloc(CALLS, sizeof *calls);
    struct cpt_trace_await *awaits = calloc(CALLS, sizeof *awaits);
    struct cpt_trace_task *last = &tasks[TASKS - 1];
    struct cpt_trace trace = {.response_ns = 2 * CALLS, .answered_by = last};

    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] = (struct cpt_trace_task){.name = cpt_bytes_of("f"),
                                           .starter = i != 0 ? &tasks[i - 1] : NULL};
    }
    for (size_t i = 0; i < CALLS; i++) {
        calls[i] = (struct cpt_trace_call){.name = cpt_bytes_of("B: get"),
                                           .issuer = last,
                                           .issue_ns = 2 * i + 1,
                                           .arrive_ns = 2 * i + 2};
        awaits[i] = (struct cpt_trace_await){.previous = last->last_await,
                                             .call = &calls[i],
                                             .block_ns = 2 * i + 1,
                                             .arrive_ns = 2 * i + 2,
                                             .resume_ns = 2 * i + 2};
        last->last_await = &awaits[i];
    }
    expect_walk(&trace, 2 * CALLS);
    free(tasks);
    free(calls);
    free(awaits);
}

/* One task that makes many calls, one after the other. */
static void test_many_calls(void)
{
    struct cpt_trace_task task = {.name = cpt_bytes_of("A1"), .end_ns = 3 * TASKS};
    struct cpt_trace_call *calls = calloc(TASKS, sizeof *calls);
    struct cpt_trace_await *awaits = calloc(TASKS, sizeof *awaits);
    struct cpt_trace trace = {.response_ns = 3 * TASKS, .answered_by = &task};

    for (size_t i = 0; i < TASKS; i++) {
        calls[i] = (struct cpt_trace_call){.name = cpt_bytes_of("B: get"),
                                           .issuer = &task,
                                           .outcome = CPT_CALL_REMOTE,
                                           .issue_ns = 3 * i + 1,
                                           .arrive_ns = 3 * i + 2,
                                           .attempt = 1};
        awaits[i] = (struct cpt_trace_await){.previous = task.last_await,
                                             .call = &calls[i],
                                             .block_ns = 3 * i + 1,
                                             .arrive_ns = 3 * i + 2,
                                             .resume_ns = 3 * i + 2};
        task.last_await = &awaits[i];
    }
    expect_walk(&trace, 2 * TASKS + 1);
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    expect_walk(&trace, 2 * TASKS + 1);
    free(calls);
    free(awaits);
}

/* Many waits that did not block: the walk skips each once. */
static void test_many_waits_that_did_not_block(void)
{
    struct cpt_trace_task task = {.name = cpt_bytes_of("A1"), .end_ns = TASKS};
    struct cpt_trace_task *tasks = calloc(TASKS, sizeof *tasks);
    struct cpt_trace_await *awaits = calloc(TASKS, sizeof *awaits);
    struct cpt_trace trace = {.response_ns = TASKS, .answered_by = &task};

    for (size_t i = 0; i < TASKS; i++) {
        tasks[i] = (struct cpt_trace_task){.name = cpt_bytes_of("f"), .starter = &task};
        awaits[i] = (struct cpt_trace_await){.previous = task.last_await,
                                             .task = &tasks[i],
                                             .block_ns = i,
                                             .arrive_ns = i,
                                             .resume_ns = i};
        task.last_await = &awaits[i];
    }
    expect_walk(&trace, 1);
    free(tasks);
    free(awaits);
}

/* A path of many segments and frames: made, copied, spliced and checked. */
static void test_large_path(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_path *copy = cpt_path_new(NULL);
    const struct cpt_splice splice = {.observed_ns = TASKS};
    const clock_t begin = clock();
    uint32_t root = 0;
    uint32_t frame = 0;
    cpt_status status =
        cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root);

    for (size_t i = 0; i < TASKS && status == CPT_OK; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "B: %zu", i);
        status = cpt_path_frame_add(path, root, cpt_bytes_of(name), 0, &frame);
        if (status == CPT_OK) {
            status = cpt_path_append_ns(path, frame, 1 + i % 7);
        }
        if (status == CPT_OK) {
            status = cpt_path_label_number(path, CPT_LABEL_ATTEMPT, i);
        }
    }
    CU_ASSERT_EQUAL(status, CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_copy(copy, path), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(copy, cpt_path_sum_ns(path), NULL), CPT_OK);
    cpt_path_reset(copy);
    (void)cpt_path_frame_add(copy, CPT_FRAME_NONE, cpt_bytes_of("B: 1"), 0, &root);
    CU_ASSERT_EQUAL(cpt_path_splice(copy, root, path, &splice, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(copy, TASKS, NULL), CPT_OK);
    CU_ASSERT_TRUE((clock() - begin) / CLOCKS_PER_SEC < SECONDS_MAX);
    cpt_path_free(path);
    cpt_path_free(copy);
}

extern CU_TestInfo cpt_large_tests[];
CU_TestInfo cpt_large_tests[] = {
    {"200,000 tasks in a row", test_long_chain},
    {"200,000 nested tasks", test_deep_chain},
    {"50,000 calls of a task with 200,000 above it", test_many_calls_far_down},
    {"200,000 calls of one task", test_many_calls},
    {"200,000 waits that did not block", test_many_waits_that_did_not_block},
    {"a path of 200,000 segments and frames", test_large_path},
    CU_TEST_INFO_NULL,
};
