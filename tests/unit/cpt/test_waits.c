/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_waits.c - who held the worker, lock or processor; times in milliseconds */
#include "tests/support/suites.h"
#include "tests/support/trace_builder.h"

#define OFF "A: \u2039off CPU\u203a"

static void test_occupant_before_the_start(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 2, 10);
    struct cpt_trace trace = {.response_ns = 10 * MS, .answered_by = &a};

    a.occupant = cpt_bytes_of("A: report");
    trace_expect(&trace, "A: a;A: \u2039queue\u203a 2 {holder=A: report}, A: a 8");
    a.executor = cpt_bytes_of("pool");
    trace_expect(&trace,
                 "A: a;A: \u2039queue\u203a 2 {executor=pool, holder=A: report}, "
                 "A: a 8");
}

static void test_occupant_after_a_wait(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 10);
    struct cpt_trace_call b = trace_call("B: b", &a, 2, 5);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 10 * MS, .answered_by = &a};

    trace_wait(&a, &await, &b, NULL, 2, 5);
    await.resume_ns = 7 * MS;
    await.occupant = cpt_bytes_of("A: other");
    trace_expect(&trace, "A: a 2, A: a;B: b 3, "
                         "A: a;A: \u2039queue\u203a 2 {holder=A: other}, A: a 3");
}

/* After the task got the lock, no worker was free at first. */
static void test_lock(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 10);
    struct cpt_trace_call lock = trace_call("cache", &a, 2, 6);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 10 * MS, .answered_by = &a};

    lock.outcome = CPT_CALL_LOCK;
    lock.holder = cpt_bytes_of("A: writer");
    trace_wait(&a, &await, &lock, NULL, 2, 6);
    trace_expect(&trace, "A: a 2, A: a;A: \u2039lock: cache\u203a 4 {holder=A: writer}"
                         ", A: a 4");
    await.resume_ns = 7 * MS;
    lock.holder.bytes = 0;
    trace_expect(&trace, "A: a 2, A: a;A: \u2039lock: cache\u203a 4, "
                         "A: a;A: \u2039queue\u203a 1, A: a 3");
    lock.name.bytes = 0;
    trace_expect(&trace, "A: a 2, A: a;A: \u2039lock\u203a 4, "
                         "A: a;A: \u2039queue\u203a 1, A: a 3");
}

/* How many waited before it, and that the holder ran for another trace. */
static void test_labels_of_queues_and_locks(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 2, 10);
    struct cpt_trace_call lock = trace_call("cache", &a, 4, 6);
    struct cpt_trace_await await;
    struct cpt_trace trace = {.response_ns = 10 * MS, .answered_by = &a};

    a.queue_length = 3;
    a.occupant_request = 5; /* without its name it says nothing */
    lock.outcome = CPT_CALL_LOCK;
    lock.holder = cpt_bytes_of("A: writer");
    lock.holder_request = 7;
    trace_wait(&a, &await, &lock, NULL, 4, 6);
    await.resume_ns = 7 * MS;
    await.queue_length = 1;
    await.occupant = cpt_bytes_of("A: other");
    await.occupant_request = 9;
    trace_expect(&trace,
                 "A: a;A: \u2039queue\u203a 2 {queue_length=3}, A: a 2, "
                 "A: a;A: \u2039lock: cache\u203a 2 "
                 "{holder=A: writer, holder_request=7}, "
                 "A: a;A: \u2039queue\u203a 1 {queue_length=1, holder=A: other, "
                 "holder_request=9}, A: a 3");
}

static void test_off_cpu(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 10);
    struct cpt_trace trace = {.response_ns = 10 * MS, .answered_by = &a};

    a.off_cpu_ns = 4 * MS;
    trace_expect(&trace, "A: a 10");
    trace.measures_off_cpu = 1;
    trace_expect(&trace, "A: a 6, A: a;" OFF " 4");
    a.off_cpu_ns = 10 * MS;
    trace_expect(&trace, "A: a;" OFF " 10");
    a.off_cpu_ns = 11 * MS; /* two clocks never agree */
    trace_expect(&trace, "A: a;" OFF " 10");
}

/* The time after the issue is off the path, with its share of the ‹off CPU› time. */
static void test_off_cpu_of_a_step_that_is_cut(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 20);
    struct cpt_trace_call b = trace_call("B: b", &a, 5, 18);
    struct cpt_trace_await await;
    struct cpt_trace trace = {
        .response_ns = 20 * MS, .answered_by = &a, .measures_off_cpu = 1};

    trace_wait(&a, &await, &b, NULL, 10, 18);
    a.off_cpu_ns = 4 * MS;
    await.off_cpu_ns = 1 * MS;
    trace_expect(&trace,
                 "A: a 3, A: a;" OFF " 2, A: a;B: b 13, A: a 1, A: a;" OFF " 1");
    trace.attribution = CPT_ATTRIBUTE_BLOCKED;
    trace_expect(&trace, "A: a 6, A: a;" OFF " 4, A: a;B: b 8, A: a 1, A: a;" OFF " 1");
}

/* A wait for an input that was there already separates two steps of one segment. */
static void test_off_cpu_of_two_steps(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 10);
    struct cpt_trace_task b = trace_task("A: b", &a, 0, 3);
    struct cpt_trace_await await;
    struct cpt_trace trace = {
        .response_ns = 10 * MS, .answered_by = &a, .measures_off_cpu = 1};

    trace_wait(&a, &await, NULL, &b, 6, 3);
    await.resume_ns = 6 * MS;
    a.off_cpu_ns = 2 * MS;
    await.off_cpu_ns = 3 * MS;
    trace_expect(&trace, "A: a 5, A: a;" OFF " 5");
}

/* The margin is on the part that ends at the join, which may be the part off the
 * CPU. */
/* The part of ‹off CPU› in which a processor was all that the task missed. */
static void test_run_delay(void)
{
    struct cpt_trace_starved starved = {
        .delay_ns = 3 * MS, .culprit = cpt_bytes_of("A: report"), .culprit_request = 7};
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 10);
    struct cpt_trace trace = {
        .response_ns = 10 * MS, .answered_by = &a, .measures_off_cpu = 1};

    a.off_cpu_ns = 4 * MS;
    a.starved = &starved;
    trace_expect(&trace, "A: a 6, A: a;" OFF " 4 {run_delay_ns=3, holder=A: report, "
                         "holder_request=7}");
    starved.delay_ns = 5 * MS; /* two clocks never agree */
    trace_expect(&trace, "A: a 6, A: a;" OFF " 4 {run_delay_ns=4, holder=A: report, "
                         "holder_request=7}");
    starved.delay_ns = 0;
    trace_expect(&trace, "A: a 6, A: a;" OFF " 4 {run_delay_ns=0}");
}

/* A piece of a step has its share of the step's run delay, as of its time off the
 * CPU; of several steps the one with most run delay has the culprit. */
static void test_run_delay_of_pieces(void)
{
    struct cpt_trace_starved first = {.delay_ns = 1 * MS,
                                      .culprit = cpt_bytes_of("A: x")};
    struct cpt_trace_starved second = {.delay_ns = 2 * MS,
                                       .culprit = cpt_bytes_of("A: y")};
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 10);
    struct cpt_trace_call b = trace_call("B: b", &a, 1, 3);
    struct cpt_trace_await await;
    struct cpt_trace trace = {
        .response_ns = 10 * MS, .answered_by = &a, .measures_off_cpu = 1};

    trace_wait(&a, &await, &b, NULL, 4, 3);
    await.resume_ns = 4 * MS; /* it did not wait */
    a.off_cpu_ns = 2 * MS;
    a.starved = &first;
    await.off_cpu_ns = 3 * MS;
    await.starved = &second;
    trace_expect(&trace, "A: a 5, A: a;" OFF " 5 {run_delay_ns=3, holder=A: y}");
    a.last_await = NULL;
    trace_wait(&a, &await, &b, NULL, 4, 6); /* from 1 on the time is the call's */
    await.off_cpu_ns = 2 * MS;
    await.starved = &second;
    a.off_cpu_ns = 4 * MS;
    first.delay_ns = 4 * MS;
    trace_expect(&trace, "A: a;" OFF " 1 {run_delay_ns=1, holder=A: x}, A: a;B: b 5, "
                         "A: a 2, A: a;" OFF " 2 {run_delay_ns=2, holder=A: y}");
}

static void test_off_cpu_and_a_margin(void)
{
    struct cpt_trace_task a = trace_task("A: a", NULL, 0, 6);
    struct cpt_trace_task b = trace_next("A: b", &a, 6, 6, 10);
    struct cpt_trace trace = {
        .response_ns = 10 * MS, .answered_by = &b, .measures_off_cpu = 1};

    a.off_cpu_ns = 2 * MS;
    b.has_margin = 1;
    b.margin_ns = 1 * MS;
    trace_expect(&trace, "A: a 4, A: a;" OFF " 2 {margin_ns=1}, A: b 4");
}

extern CU_TestInfo cpt_waits_tests[];
CU_TestInfo cpt_waits_tests[] = {
    {"who had the worker before a task started", test_occupant_before_the_start},
    {"who had it before a task went on", test_occupant_after_a_wait},
    {"a lock, and who held it", test_lock},
    {"time in which no processor ran the task", test_off_cpu},
    {"a step that is cut takes its share of it", test_off_cpu_of_a_step_that_is_cut},
    {"two steps of one segment", test_off_cpu_of_two_steps},
    {"the length of a queue, and the trace of a holder",
     test_labels_of_queues_and_locks},
    {"run delay is a part of it, with its culprit", test_run_delay},
    {"a piece of a step has its share of that", test_run_delay_of_pieces},
    {"a margin behind time off the processor", test_off_cpu_and_a_margin},
    CU_TEST_INFO_NULL,
};
