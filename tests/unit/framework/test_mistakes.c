/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_mistakes.c - mistakes of the application, and recipes at the limit of memory
 *
 * Each mistake has a defined error and is counted, in every build.
 */
#include "tests/support/suites.h"
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_mutex.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_shared.h"

#include <stdint.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

CPT_VALUE(number, int);
CPT_VALUE(twice, int);
CPT_VALUE(other, int);
CPT_VALUE(sum, int);

/* Runs @graph once with the input 1; its status, and the sentence in @sentence. */
static cpt_status run_within(const struct cpt_graph *graph, size_t memory_bytes_max,
                             struct cpt_error *error)
{
    static const int one = 1;
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, error);
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .input = &one,
                                          .memory_bytes_max = memory_bytes_max};
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    status = cpt_request_run(&options, NULL, NULL, error);
    cpt_plan_free(plan);
    return status;
}

static struct cpt_graph graph_of(const struct cpt_task_def *tasks, size_t count)
{
    return (struct cpt_graph){"S", CPT_GIVES(number), CPT_GIVES(sum), tasks, count};
}

/* --- One mistake each, within one step --- */

static struct cpt_pending *of_an_earlier_task;

static uint64_t mistakes_of(uint64_t *before)
{
    const uint64_t count = cpt_misuse_count();
    const uint64_t more = count - *before;

    *before = count;
    return more;
}

static cpt_status complete_twice(struct cpt_task *task)
{
    struct cpt_pending *work = cpt_defer(task, "work");
    struct cpt_pending *odd = cpt_defer(task, "odd");
    uint64_t count = cpt_misuse_count();

    cpt_complete(work, CPT_IO);
    CU_ASSERT_EQUAL(mistakes_of(&count), 0);
    cpt_complete(work, CPT_OK);
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    CU_ASSERT_EQUAL(cpt_pending_status(work), CPT_IO);
    cpt_complete(odd, CPT_WAITING); /* no status */
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    CU_ASSERT_EQUAL(cpt_pending_status(odd), CPT_INVALID);
    cpt_complete(NULL, CPT_OK);
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    CU_ASSERT_EQUAL(cpt_pending_status(NULL), CPT_INVALID);
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    *cpt_output(task, sum) = 1;
    return CPT_OK;
}

static cpt_status take_wrong_kinds(struct cpt_task *task)
{
    struct cpt_pending *work = cpt_defer(task, "work");
    uint64_t count = cpt_misuse_count();

    CU_ASSERT_EQUAL(cpt_call_reply(work)->status, CPT_INVALID);
    CU_ASSERT_EQUAL(cpt_call_reply(NULL)->status, CPT_INVALID);
    CU_ASSERT_PTR_NULL(cpt_run_output(work, number));
    CU_ASSERT_STRING_EQUAL(cpt_run_sentence(work), "this is no run of a plan");
    CU_ASSERT_EQUAL(cpt_share_index(work), SIZE_MAX);
    cpt_mutex_release(work);
    CU_ASSERT_EQUAL(mistakes_of(&count), 6);
    CU_ASSERT_EQUAL(cpt_pending_status(work), CPT_WAITING); /* still as it was */
    cpt_complete(work, CPT_OK);
    *cpt_output(task, sum) = 1;
    return CPT_OK;
}

static cpt_status take_undeclared(struct cpt_task *task)
{
    struct cpt_pending *pending = NULL;
    uint64_t count = cpt_misuse_count();

    CU_ASSERT_PTR_NULL(cpt_input(task, other));
    CU_ASSERT_EQUAL(cpt_input_status(task, other), CPT_INVALID);
    CU_ASSERT_PTR_NULL(cpt_output(task, other));
    pending = cpt_start(task, other);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pending);
    CU_ASSERT_EQUAL(cpt_pending_status(pending), CPT_INVALID);
    CU_ASSERT_EQUAL(mistakes_of(&count), 4);
    cpt_cancel(pending);
    cpt_complete(pending, CPT_OK);
    CU_ASSERT_EQUAL(mistakes_of(&count), 0);
    return cpt_await(task, pending, take_undeclared);
}

static cpt_status ask_for_two_states(struct cpt_task *task)
{
    uint64_t count = cpt_misuse_count();

    CU_ASSERT_PTR_NOT_NULL(cpt_state(task, uint64_t));
    CU_ASSERT_PTR_NOT_NULL(cpt_state(task, uint64_t));
    CU_ASSERT_EQUAL(mistakes_of(&count), 0);
    CU_ASSERT_PTR_NULL(cpt_state(task, char));
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    return CPT_INVALID;
}

static cpt_status unlock_free(struct cpt_task *task)
{
    struct cpt_mutex *mutex = cpt_mutex_new("cache", NULL);
    uint64_t count = cpt_misuse_count();

    cpt_mutex_unlock(mutex);
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    CU_ASSERT_EQUAL(cpt_mutex_trylock(mutex), 1);
    cpt_mutex_free(mutex); /* is not freed */
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    cpt_mutex_unlock(mutex);
    cpt_mutex_free(mutex);
    CU_ASSERT_EQUAL(mistakes_of(&count), 0);
    *cpt_output(task, sum) = 1;
    return CPT_OK;
}

static cpt_status wait_without_a_step(struct cpt_task *task)
{
    return cpt_await_all(task, NULL);
}

static void test_mistakes(void)
{
    static const struct {
        cpt_task_fn run;
        cpt_status status;
        const char *sentence;
    } rows[] = {
        {complete_twice, CPT_OK, ""},
        {take_wrong_kinds, CPT_OK, ""},
        {take_undeclared, CPT_INVALID,
         "task 'S: err': there is nothing to wait for: the value is not declared with "
         "CPT_STARTS"},
        {ask_for_two_states, CPT_INVALID,
         "task 'S: err': a state of 1 bytes is asked for, an earlier one had 8"},
        {unlock_free, CPT_OK, ""},
        {wait_without_a_step, CPT_INVALID,
         "task 'S: err': a wait needs a step that goes on after it"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cpt_task_def tasks[] = {
            {"err", rows[i].run, CPT_GIVES(sum), CPT_NEEDS(number), {NULL}, NULL}};
        const struct cpt_graph graph = graph_of(tasks, 1);
        struct cpt_error error = {0};

        CU_ASSERT_EQUAL(run_within(&graph, 0, &error), rows[i].status);
        CU_ASSERT_STRING_EQUAL(error.sentence, rows[i].sentence);
    }
}

/* The service shows each kind. */
static void test_mistakes_are_shown(void)
{
    uint64_t before = 0;

    open_pair((struct cpt_service_options){.probability = -1}, never);
    before = counter(pair.a, "misuses", "stale_pending");
    cpt_complete(NULL, CPT_OK);
    CU_ASSERT_EQUAL(counter(pair.a, "misuses", "stale_pending"), before + 1);
    close_pair();
}

/* --- A pending of a request that is gone --- */

static cpt_status leave_it(struct cpt_task *task)
{
    of_an_earlier_task = cpt_defer(task, "work");
    cpt_complete(of_an_earlier_task, CPT_OK);
    *cpt_output(task, sum) = 1;
    return CPT_OK;
}

#if defined(__SANITIZE_ADDRESS__)
/* Whether AddressSanitizer ends a process that uses the memory of a request which is
 * gone, although a later request may take it. */
static bool is_reported(void)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        (void)close(STDERR_FILENO); /* the report is expected */
        cpt_complete(of_an_earlier_task, CPT_OK);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}
#endif

static void test_pending_of_a_gone_request(void)
{
    const struct cpt_task_def tasks[] = {
        {"leave", leave_it, CPT_GIVES(sum), CPT_NEEDS(number), {NULL}, NULL}};
    const struct cpt_graph graph = graph_of(tasks, 1);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const int one = 1;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .input = &one};
    uint64_t count = 0;

    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
#if defined(__SANITIZE_ADDRESS__)
    CU_ASSERT_TRUE(is_reported());
#else
    count = cpt_misuse_count();
    cpt_complete(of_an_earlier_task, CPT_OK);
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
    CU_ASSERT_EQUAL(cpt_pending_status(of_an_earlier_task), CPT_INVALID);
    CU_ASSERT_EQUAL(mistakes_of(&count), 1);
#endif
    (void)count;
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
    cpt_plan_free(plan);
}

/* --- Recipes at the limit of memory --- */

enum { PARTS = 200 };

static struct cpt_pending *parts[PARTS];
static struct cpt_plan *part_plan;
static size_t ok_count;
static size_t limited_count;

static void count_part(cpt_status status)
{
    ok_count += status == CPT_OK;
    limited_count += status == CPT_LIMIT;
}

static cpt_status double_it(struct cpt_task *task)
{
    *cpt_output(task, twice) = 2 * *cpt_input(task, number);
    return CPT_OK;
}

static const struct cpt_task_def part_tasks[] = {
    {"double", double_it, CPT_GIVES(twice), CPT_NEEDS(number), {NULL}, NULL}};
static const struct cpt_graph part_graph = {"S", CPT_GIVES(number), CPT_GIVES(twice),
                                            part_tasks, 1};

/* "A run for each item", as it is written. */
static cpt_status merge_runs(struct cpt_task *task)
{
    int *sum = cpt_output(task, sum);

    for (int i = 0; i < PARTS; i++) {
        const int *output = cpt_run_output(parts[i], twice);

        CU_ASSERT_EQUAL(output != NULL, cpt_pending_status(parts[i]) == CPT_OK);
        CU_ASSERT_EQUAL(output != NULL, cpt_run_sentence(parts[i])[0] == '\0');
        *sum += output != NULL ? *output : 0;
        count_part(cpt_pending_status(parts[i]));
    }
    return CPT_OK;
}

static cpt_status run_for_each(struct cpt_task *task)
{
    for (int i = 0; i < PARTS; i++) {
        parts[i] = cpt_spawn(task, "part", part_plan, number, &i);
    }
    return cpt_await_all(task, merge_runs);
}

/* "Any number of calls at once", as it is written. */
static cpt_status merge_calls(struct cpt_task *task)
{
    for (int i = 0; i < PARTS; i++) {
        count_part(cpt_call_reply(parts[i])->status);
    }
    return a_answer(task);
}

static struct cpt_stub many_stub;

static cpt_status call_many(struct cpt_task *task)
{
    const struct cpt_bytes query = {"0123456789", 10};

    for (int i = 0; i < PARTS; i++) {
        parts[i] = cpt_call(task, &many_stub, query);
    }
    return cpt_await_all(task, merge_calls);
}

/* At each limit all parts are there, or have failed with CPT_LIMIT. */
static void test_run_for_each_at_limits(void)
{
    const struct cpt_task_def tasks[] = {
        {"each", run_for_each, CPT_GIVES(sum), CPT_NEEDS(number), {NULL}, NULL}};
    const struct cpt_graph graph = graph_of(tasks, 1);
    size_t partial_count = 0;

    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    for (size_t limit = 2000; limit < 400000; limit += 3001) {
        struct cpt_error error = {0};
        cpt_status status = CPT_OK;

        ok_count = 0;
        limited_count = 0;
        status = run_within(&graph, limit, &error);
        CU_ASSERT(status == CPT_OK || status == CPT_LIMIT);
        CU_ASSERT(status != CPT_OK || ok_count + limited_count == PARTS);
        partial_count += ok_count != 0 && limited_count != 0;
    }
    CU_ASSERT(partial_count > 3);
    CU_ASSERT_EQUAL(ok_count, PARTS);
    cpt_plan_free(part_plan);
}

static void test_calls_at_limits(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", call_many, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    size_t partial_count = 0;

    for (size_t limit = 20000; limit < 300000; limit += 1501) {
        struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
        struct cpt_inbound inbound = inbound_with(NULL);

        open_pair(
            (struct cpt_service_options){.probability = -1, .memory_bytes_max = limit},
            never);
        many_stub = b_stub;
        CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/many", plan, NULL), CPT_OK);
        inbound.method = cpt_bytes_of("/many");
        ok_count = 0;
        limited_count = 0;
        ask(pair.a, &inbound);
        CU_ASSERT_EQUAL(answer.http_status, 200);
        CU_ASSERT_EQUAL(ok_count + limited_count, PARTS);
        partial_count += ok_count != 0 && limited_count != 0;
        close_pair();
        cpt_plan_free(plan);
    }
    CU_ASSERT(partial_count > 3);
    CU_ASSERT_EQUAL(ok_count, PARTS);
}

/* Every function that begins something gives a pending. */
static cpt_status begin_all(struct cpt_task *task)
{
    static const struct cpt_stub stub = {"B: /x", "http://x", "/x", NULL, 0};
    struct cpt_mutex *mutex = cpt_mutex_new("cache", NULL);
    const int one = 1;
    struct cpt_pending *begun[5];

    while (cpt_task_memory(task, 16) != NULL) {
    }
    begun[0] = cpt_start(task, twice);
    begun[1] = cpt_defer(task, "work");
    begun[2] = cpt_spawn(task, "part", part_plan, number, &one);
    begun[3] = cpt_call(task, &stub, cpt_bytes_of("body"));
    begun[4] = cpt_mutex_acquire(task, mutex);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(begun[i]);
        CU_ASSERT_EQUAL(cpt_pending_status(begun[i]), CPT_LIMIT);
        CU_ASSERT_EQUAL(cpt_wait(task, begun[i]), CPT_LIMIT);
        cpt_complete(begun[i], CPT_OK);
        cpt_mutex_release(begun[i]);
        cpt_cancel(begun[i]);
        CU_ASSERT_EQUAL(cpt_call_reply(begun[i])->status, CPT_LIMIT);
        CU_ASSERT_STRING_EQUAL(cpt_run_sentence(begun[i]),
                               "the memory limit of the request was reached");
    }
    CU_ASSERT_EQUAL(cpt_mutex_trylock(mutex), 1);
    cpt_mutex_unlock(mutex);
    cpt_mutex_free(mutex);
    return cpt_await_some(task, begun, 5, 1, begin_all);
}

static void test_no_memory_no_null(void)
{
    const struct cpt_task_def tasks[] = {
        {"all", begin_all, CPT_GIVES(sum), CPT_NEEDS(number), CPT_STARTS(twice), NULL},
        {"double", double_it, CPT_GIVES(twice), CPT_NEEDS(number), {NULL}, NULL},
    };
    const struct cpt_graph graph = graph_of(tasks, 2);
    struct cpt_error error = {0};
    const uint64_t count = cpt_misuse_count();

    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    CU_ASSERT_EQUAL(run_within(&graph, 40000, &error), CPT_LIMIT);
    CU_ASSERT_EQUAL(cpt_misuse_count(), count);
    cpt_plan_free(part_plan);
}

/* What could not be made, and that was not looked at. */
static cpt_status begin_with_nothing(struct cpt_task *task)
{
    const int one = 1;

    parts[0] = cpt_spawn(task, "part", NULL, number, &one);
    parts[1] = cpt_share(task, NULL, cpt_bytes_of("key"), number, &one);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(cpt_pending_status(parts[i]), CPT_INVALID);
        CU_ASSERT_PTR_NULL(cpt_run_output(parts[i], twice));
    }
    return CPT_OK;
}

static void test_nothing_was_made(void)
{
    const struct cpt_task_def tasks[] = {
        {"all", begin_with_nothing, CPT_GIVES(sum), CPT_NEEDS(number), {NULL}, NULL}};
    const struct cpt_graph graph = graph_of(tasks, 1);
    struct cpt_error error = {0};
    const uint64_t count = cpt_misuse_count();

    CU_ASSERT_EQUAL(run_within(&graph, 0, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_misuse_count(), count + 2);
    CU_ASSERT_EQUAL(cpt_request_cancel(NULL), 0);
}

CU_TestInfo cpt_mistakes_tests[] = {
    {"each mistake gives an error and is counted", test_mistakes},
    {"a service shows the mistakes of its process", test_mistakes_are_shown},
    {"a pending of a request that is gone", test_pending_of_a_gone_request},
    {"at the limit of memory no pending is NULL", test_no_memory_no_null},
    {"a run for each item, at limits of memory", test_run_for_each_at_limits},
    {"any number of calls, at limits of memory", test_calls_at_limits},
    {"a plan or shared work that was not made", test_nothing_was_made},
    CU_TEST_INFO_NULL,
};
