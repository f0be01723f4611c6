/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_repeats.c - the article's figure 2, many calls of one callee, and time that is
 * no call: each with its exact path, in virtual time
 */
#include "tests/unit/framework/one_request.h"
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_trace.h"
#include "framework/cpt_mutex.h"

#include <stdio.h>
#include <string.h>

CPT_VALUE(a2, int);
CPT_VALUE(half, int);

#define A_GRAPH(name, tasks)                                                           \
    static const struct cpt_graph name = {"A", CPT_GIVES(rpc_request),                 \
                                          CPT_GIVES(rpc_reply), tasks,                 \
                                          sizeof tasks / sizeof tasks[0]}
#define ONE_TASK(name, tasks, run)                                                     \
    static const struct cpt_task_def tasks[] = {                                       \
        {"A1", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};      \
    A_GRAPH(name, tasks)

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

static struct cpt_pending *work(struct cpt_task *task, const char *ms)
{
    return cpt_call(task, &work_stub, cpt_bytes_of(ms));
}

/* Runs a request of A with @graph in a new pair. @calls: traced calls of B. */
static void expect(const struct cpt_graph *graph, unsigned attribution, uint64_t calls,
                   const char *path)
{
    open_pair(
        (struct cpt_service_options){.probability = -1,
                                     .attribution = attribution,
                                     .metadata_bytes_max = CPT_METADATA_BYTES_CEILING},
        never);
    serve_work();
    ask_graph("/a", graph);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_STRING_EQUAL(answered_path(), path);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_calls", "B: /work"), calls);
    close_pair();
}

static cpt_status give_answer(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

/* --- Figure 2 --- */

static cpt_status run_a2(struct cpt_task *task)
{
    spend(2);
    *cpt_output(task, a2) = 1;
    return CPT_OK;
}

static cpt_status then_a2(struct cpt_task *task)
{
    spend(8);
    return cpt_await(task, cpt_start(task, a2), give_answer);
}

/* B1 first, and A2 only after it. */
static cpt_status one_after_the_other(struct cpt_task *task)
{
    spend(5);
    return cpt_await(task, work(task, "20"), then_a2);
}

/* Both in parallel: A2, the shorter one, is off the path. */
static cpt_status both_at_once(struct cpt_task *task)
{
    struct cpt_pending *b1 = NULL;

    spend(5);
    b1 = work(task, "20");
    (void)cpt_start(task, a2);
    return cpt_await(task, b1, then_a2);
}

static const struct cpt_task_def figure_2a_tasks[] = {
    {"A1", one_after_the_other, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(a2), NULL},
    {"A2", run_a2, CPT_GIVES(a2), {NULL}, {NULL}, NULL}};
A_GRAPH(figure_2a, figure_2a_tasks);

static const struct cpt_task_def figure_2b_tasks[] = {
    {"A1", both_at_once, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), CPT_STARTS(a2),
     NULL},
    {"A2", run_a2, CPT_GIVES(a2), {NULL}, {NULL}, NULL}};
A_GRAPH(figure_2b, figure_2b_tasks);

static cpt_status tail_10(struct cpt_task *task)
{
    spend(10);
    return give_answer(task);
}

static cpt_status tail_4(struct cpt_task *task)
{
    spend(4);
    return give_answer(task);
}

static cpt_status overlap_5(struct cpt_task *task)
{
    struct cpt_pending *b1 = NULL;

    spend(3);
    b1 = work(task, "14");
    virtual_run_until(&now, now.now_ns); /* B1 begins while A1 computes */
    spend(5);
    return cpt_await(task, b1, tail_10);
}
ONE_TASK(figure_2c, figure_2c_tasks, overlap_5);

/* The other reading of the figure: B1 takes 20, 6 of them in parallel with A1. */
static cpt_status overlap_6(struct cpt_task *task)
{
    struct cpt_pending *b1 = NULL;

    spend(3);
    b1 = work(task, "20");
    virtual_run_until(&now, now.now_ns);
    spend(6);
    return cpt_await(task, b1, tail_4);
}
ONE_TASK(figure_2c_long, figure_2c_long_tasks, overlap_6);

static void test_figure_2a(void)
{
    const char *path = "A: /a;A: A1 5, A: /a;A: A1;B: /work;B: work;B: disk 20, "
                       "A: /a;A: A1 8, A: /a;A: A1;A: A2 2";

    expect(&figure_2a, CPT_ATTRIBUTE_LONGEST, 1, path);
    expect(&figure_2a, CPT_ATTRIBUTE_BLOCKED, 1, path);
}

static void test_figure_2b(void)
{
    const char *path =
        "A: /a;A: A1 5, A: /a;A: A1;B: /work;B: work;B: disk 20, A: /a;A: A1 8";

    expect(&figure_2b, CPT_ATTRIBUTE_LONGEST, 1, path);
    expect(&figure_2b, CPT_ATTRIBUTE_BLOCKED, 1, path);
}

static void test_figure_2c(void)
{
    expect(&figure_2c, CPT_ATTRIBUTE_LONGEST, 1,
           "A: /a;A: A1 3, A: /a;A: A1;B: /work;B: work;B: disk 14, A: /a;A: A1 10");
    expect(&figure_2c_long, CPT_ATTRIBUTE_LONGEST, 1,
           "A: /a;A: A1 3, A: /a;A: A1;B: /work;B: work;B: disk 20, A: /a;A: A1 4");
    expect(&figure_2c_long, CPT_ATTRIBUTE_BLOCKED, 1,
           "A: /a;A: A1 9, A: /a;A: A1;B: /work;B: work;B: disk 14, A: /a;A: A1 4");
}

/* --- One callee, many calls --- */

enum { CALLS = 200, SLOW = 123, CALLS_IN_A_ROW = 6 };

static cpt_status ask_many(struct cpt_task *task)
{
    for (int i = 0; i < CALLS; i++) {
        (void)work(task, i == SLOW ? "40" : "5");
    }
    return cpt_await_all(task, tail_4);
}
ONE_TASK(parallel, parallel_tasks, ask_many);

/* The slow one has all the time, the others none. */
static void test_parallel_calls(void)
{
    expect(&parallel, CPT_ATTRIBUTE_LONGEST, CALLS,
           "A: /a;A: A1;B: /work;B: work;B: disk 40, A: /a;A: A1 4");
}

static cpt_status ask_again(struct cpt_task *task)
{
    int *count = cpt_state(task, int);

    spend(1);
    if (*count == CALLS_IN_A_ROW) {
        return give_answer(task);
    }
    return cpt_await(task, work(task, ++*count == 4 ? "40" : "5"), ask_again);
}
ONE_TASK(in_sequence, in_sequence_tasks, ask_again);

/* Each is in its place; the slow one is the fourth. */
static void test_calls_in_sequence(void)
{
    char path[1024];
    size_t used = 0;

    for (int i = 1; i <= CALLS_IN_A_ROW; i++) {
        used +=
            (size_t)snprintf(path + used, sizeof path - used,
                             "A: /a;A: A1 1, A: /a;A: A1;B: /work;B: work;B: disk %d, ",
                             i == 4 ? 40 : 5);
    }
    (void)snprintf(path + used, sizeof path - used, "A: /a;A: A1 1");
    expect(&in_sequence, CPT_ATTRIBUTE_LONGEST, CALLS_IN_A_ROW, path);
}

static cpt_status have_half(struct cpt_task *task)
{
    *cpt_output(task, half) = 1;
    return CPT_OK;
}

static cpt_status ask_first(struct cpt_task *task)
{
    return cpt_await(task, work(task, "5"), have_half);
}

static cpt_status ask_second(struct cpt_task *task)
{
    return cpt_await(task, work(task, "7"), tail_4);
}

static const struct cpt_task_def two_callers_tasks[] = {
    {"A1", ask_second, CPT_GIVES(rpc_reply), CPT_NEEDS(half), {NULL}, NULL},
    {"A2", ask_first, CPT_GIVES(half), CPT_NEEDS(rpc_request), {NULL}, NULL}};
A_GRAPH(two_callers, two_callers_tasks);

static void test_two_callers(void)
{
    expect(&two_callers, CPT_ATTRIBUTE_LONGEST, 2,
           "A: /a;A: A2;B: /work;B: work;B: disk 5, "
           "A: /a;A: A1;B: /work;B: work;B: disk 7, A: /a;A: A1 4");
}

/* --- Time that is no call --- */

static struct cpt_mutex *cache;

CPT_VALUE(query, int);
CPT_VALUE(slept, int);
CPT_VALUE(computed, int);
CPT_VALUE(page, int);

static cpt_status slept_well(struct cpt_task *task)
{
    *cpt_output(task, slept) = 1;
    return CPT_OK;
}

static cpt_status sleep_5(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", 5 * MS), slept_well);
}

static cpt_status compute_3(struct cpt_task *task)
{
    spend(3);
    *cpt_output(task, computed) = 1;
    return CPT_OK;
}

static cpt_status have_lock(struct cpt_task *task)
{
    cpt_mutex_release(*cpt_state(task, struct cpt_pending *));
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static cpt_status take_lock(struct cpt_task *task)
{
    struct cpt_pending **lock = cpt_state(task, struct cpt_pending *);

    *lock = cpt_mutex_acquire(task, cache);
    return cpt_await(task, *lock, have_lock);
}

static cpt_status keep_lock(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", 12 * MS), have_lock);
}

static cpt_status hold_lock(struct cpt_task *task)
{
    struct cpt_pending **lock = cpt_state(task, struct cpt_pending *);

    *lock = cpt_mutex_acquire(task, cache);
    return cpt_await(task, *lock, keep_lock);
}

static const struct cpt_task_def other_tasks[] = {
    {"sleeps", sleep_5, CPT_GIVES(slept), CPT_NEEDS(query), {NULL}, NULL},
    {"computes", compute_3, CPT_GIVES(computed), CPT_NEEDS(slept), {NULL}, NULL},
    {"locks", take_lock, CPT_GIVES(page), CPT_NEEDS(computed), {NULL}, NULL}};
static const struct cpt_graph other_graph = {"S", CPT_GIVES(query), CPT_GIVES(page),
                                             other_tasks, 3};
static const struct cpt_task_def holder_tasks[] = {
    {"holds", hold_lock, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};
static const struct cpt_graph holder_graph = {"S", CPT_GIVES(query), CPT_GIVES(page),
                                              holder_tasks, 1};

/* Time without a call belongs to the task in which it passed. */
static void test_no_streetlight(void)
{
    static const int one = 1;
    struct cpt_plan *holder = cpt_plan_new(&holder_graph, NULL, NULL);
    struct cpt_plan *other = cpt_plan_new(&other_graph, NULL, NULL);
    struct outcome outcomes[2];

    memset(outcomes, 0, sizeof outcomes);
    virtual_init(&now, 0);
    cache = cpt_mutex_new("cache", NULL);
    CU_ASSERT_EQUAL(start_one(&now, holder, &one, 0, &outcomes[0]), CPT_OK);
    CU_ASSERT_EQUAL(start_one(&now, other, &one, 1, &outcomes[1]), CPT_OK);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcomes[0].output, 1);
    CU_ASSERT_STRING_EQUAL(outcomes[1].path,
                           "S: /;S: sleeps;S: nap 5, S: /;S: computes 3, "
                           "S: /;S: locks;S: ‹lock: cache›[holder=S: holds] 4");
    cpt_mutex_free(cache);
    cpt_plan_free(holder);
    cpt_plan_free(other);
}

CU_TestInfo cpt_repeats_tests[] = {
    {"figure 2a: one after the other", test_figure_2a},
    {"figure 2b: the shorter of two is off the path", test_figure_2b},
    {"figure 2c: computing during a call, both readings", test_figure_2c},
    {"many calls of one callee in parallel", test_parallel_calls},
    {"many calls of one callee in sequence", test_calls_in_sequence},
    {"one callee called from two tasks", test_two_callers},
    {"a sleep, computing and a lock belong to their tasks", test_no_streetlight},
    CU_TEST_INFO_NULL,
};
