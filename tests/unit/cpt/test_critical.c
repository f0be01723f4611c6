/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_critical.c - the golden vectors of the article, times in milliseconds */
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

static void test_figure_2a(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 35);
    struct cpt_trace_task a2 = trace_task("A2", &a1, 33, 35);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 5, 25);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = {.response_ns = 35 * MS, .answered_by = &a1};

    trace_wait(&a1, &waits[0], &b1, NULL, 5, 25);
    trace_wait(&a1, &waits[1], NULL, &a2, 33, 35);
    trace_expect(&trace, "A1 5, A1;B1 20, A1 8, A1;A2 2");
}

static void test_figure_2b(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 33);
    struct cpt_trace_task a2 = trace_task("A2", &a1, 5, 7);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 5, 25);
    struct cpt_trace_await waits[2];
    struct cpt_trace trace = {.response_ns = 33 * MS, .answered_by = &a1};

    trace_wait(&a1, &waits[0], &b1, NULL, 5, 25);
    trace_wait(&a1, &waits[1], NULL, &a2, 25, 7);
    trace_expect(&trace, "A1 5, A1;B1 20, A1 8");
}

static void test_figure_2c(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 3, 17);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 27 * MS, .answered_by = &a1};

    trace_wait(&a1, &await, &b1, NULL, 8, 17);
    trace_expect(&trace, "A1 3, A1;B1 14, A1 10");
}

static void test_blocked_attribution(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 3, 23);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 27 * MS, .answered_by = &a1};

    trace_wait(&a1, &await, &b1, NULL, 9, 23);
    trace_expect(&trace, "A1 3, A1;B1 20, A1 4");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A1 9, A1;B1 14, A1 4");
}

static void test_mirror_of_figure_2c(void)
{
    struct cpt_trace_task a1 = trace_task("A1", NULL, 0, 27);
    struct cpt_trace_call b1 = trace_call("B1", &a1, 3, 17);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 27 * MS, .answered_by = &a1};

    trace_wait(&a1, &await, &b1, NULL, 20, 17);
    trace_expect(&trace, "A1 27");
}

static void test_circle_is_refused(void)
{
    struct cpt_trace_task a = trace_task("A", NULL, 10, 20);
    struct cpt_trace_task b = trace_task("B", &a, 10, 10);
    struct cpt_trace trace = {.response_ns = 20 * MS, .answered_by = &a};
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};

    a.begin = CPT_BEGIN_TASK;
    a.unblocker = &b;
    CU_ASSERT_EQUAL(cpt_critical_path(NULL, &trace, path, &error), CPT_CORRUPT);
    CU_ASSERT_EQUAL(cpt_path_segment_count(path), 0);
    cpt_path_free(path);
}

extern CU_TestInfo cpt_critical_tests[];
CU_TestInfo cpt_critical_tests[] = {
    {"figure 2a: one after the other", test_figure_2a},
    {"figure 2b: the shorter of two is off the path", test_figure_2b},
    {"figure 2c: overlapped computation is the callee's", test_figure_2c},
    {"with blocked attribution it is the caller's", test_blocked_attribution},
    {"a reply that had already arrived takes no time", test_mirror_of_figure_2c},
    {"cyclic records are refused", test_circle_is_refused},
    CU_TEST_INFO_NULL,
};
