/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_request.c - requests in virtual time: what runs, in which order, and on which
 * path */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"

#include <string.h>

static struct virtual_time now;

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

CPT_VALUE(query, int);
CPT_VALUE(parsed, int);
CPT_VALUE(index, int);
CPT_VALUE(ads, int);
CPT_VALUE(page, int);

static struct outcome run(const struct cpt_graph *graph)
{
    return run_one(&now, graph, 1);
}

/* --- Declared inputs --- */

static cpt_status parse(struct cpt_task *task)
{
    spend(2);
    *cpt_output(task, parsed) = *cpt_input(task, query) + 1;
    return CPT_OK;
}

static cpt_status find_index(struct cpt_task *task)
{
    spend(5);
    *cpt_output(task, index) = *cpt_input(task, parsed) * 10;
    return CPT_OK;
}

static cpt_status find_ads(struct cpt_task *task)
{
    spend(3);
    *cpt_output(task, ads) = *cpt_input(task, parsed) * 100;
    return CPT_OK;
}

static cpt_status render(struct cpt_task *task)
{
    spend(4);
    CU_ASSERT_PTR_NULL(cpt_input(task, parsed)); /* it did not declare it */
    *cpt_output(task, page) = *cpt_input(task, index) + *cpt_input(task, ads);
    return CPT_OK;
}

static const struct cpt_task_def search_tasks[] = {
    {"parse", parse, CPT_GIVES(parsed), CPT_NEEDS(query), {NULL}, NULL},
    {"index", find_index, CPT_GIVES(index), CPT_NEEDS(parsed), {NULL}, NULL},
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(parsed), {NULL}, NULL},
    {"render", render, CPT_GIVES(page), CPT_NEEDS(index, ads), {NULL}, NULL},
};
static const struct cpt_graph search = {"S", CPT_GIVES(query), CPT_GIVES(page),
                                        search_tasks, 4};

/* One worker: index runs first; ads is queued behind it and ends last. */
static void test_diamond(void)
{
    const struct outcome outcome = run(&search);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(outcome.output, 220);
    CU_ASSERT_EQUAL(outcome.latency_ns, 14 * MS);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: parse 2, S: /;S: ads;S: ‹queue› 5, S: /;S: ads 3, "
                           "S: /;S: render 4");
}

static void test_untraced_reads_no_clock(void)
{
    const struct outcome outcome = run_one_within(&now, &search, 0, NULL, 0);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 220); /* as with tracing */
    CU_ASSERT_EQUAL(outcome.latency_ns, 0);
    CU_ASSERT_EQUAL(now.read_count, 0);
}

/* --- Failures --- */

static int rendered_count;

static cpt_status fail_ads(struct cpt_task *task)
{
    spend(3);
    return cpt_fail(task, CPT_IO, "no ads for query %d", *cpt_input(task, parsed));
}

static cpt_status count_render(struct cpt_task *task)
{
    rendered_count++;
    return render(task);
}

static void test_failure_names_the_task(void)
{
    const struct cpt_task_def tasks[] = {
        search_tasks[0],
        search_tasks[1],
        {"ads", fail_ads, CPT_GIVES(ads), CPT_NEEDS(parsed), {NULL}, NULL},
        {"render", count_render, CPT_GIVES(page), CPT_NEEDS(index, ads), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 4};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.done_count, 1);
    CU_ASSERT_EQUAL(outcome.status, CPT_IO);
    CU_ASSERT_STRING_EQUAL(outcome.sentence, "task 'S: ads': no ads for query 2");
    CU_ASSERT_EQUAL(rendered_count, 0);
    CU_ASSERT_EQUAL(outcome.output, -1);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: parse 2, S: /;S: ads;S: ‹queue› 5, S: /;S: ads 3");
}

static cpt_status waits_for_nothing_asked(struct cpt_task *task)
{
    (void)task;
    return CPT_WAITING;
}

static void test_waiting_without_await_fails(void)
{
    const struct cpt_task_def tasks[] = {
        {"odd", waits_for_nothing_asked, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.status, CPT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(outcome.sentence, "task 'S: odd': a step returned"));
}

/* --- Starting, computing, waiting (the article's figure 2) --- */

static cpt_status after_b(struct cpt_task *task)
{
    spend(10);
    *cpt_output(task, page) = 7;
    return CPT_OK;
}

/* A1 [0,3] calls B1, computes [3,8], B1 comes at 17, A1 [17,27]: {3, 14, 10}. */
static cpt_status overlap(struct cpt_task *task)
{
    struct cpt_pending *b1 = NULL;

    spend(3);
    b1 = cpt_sleep(task, "B1", 14 * MS);
    spend(5);
    return cpt_await(task, b1, after_b);
}

static void test_figure_2c(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", overlap, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.latency_ns, 27 * MS);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;A: A1 3, S: /;A: A1;A: B1 14, S: /;A: A1 10");
}

/* The reply is there before A1 waits: B1 is not on the path. */
static cpt_status overlap_longer(struct cpt_task *task)
{
    struct cpt_pending *b1 = cpt_sleep(task, "B1", 4 * MS);

    spend(5);
    virtual_run_until(&now, now.now_ns); /* fires it while the step computes */
    CU_ASSERT_EQUAL(cpt_pending_status(b1), CPT_OK);
    return cpt_await(task, b1, after_b);
}

static void test_reply_was_there(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", overlap_longer, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 1};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;A: A1 15");
}

static cpt_status a2(struct cpt_task *task)
{
    spend(6);
    *cpt_output(task, ads) = 5;
    return CPT_OK;
}

static cpt_status after_a2(struct cpt_task *task)
{
    spend(1);
    *cpt_output(task, page) = *cpt_input(task, ads);
    return CPT_OK;
}

static cpt_status a1(struct cpt_task *task)
{
    struct cpt_pending *pending = NULL;

    spend(2);
    pending = cpt_start(task, ads);
    if (cpt_pending_status(pending) != CPT_LIMIT) {
        CU_ASSERT_PTR_EQUAL(cpt_start(task, ads), pending); /* again: the same */
    }
    CU_ASSERT_PTR_NULL(cpt_input(task, ads)); /* not yet */
    return cpt_await(task, pending, after_a2);
}

/* A task that another starts is below it. */
static void test_started_task_nests(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", a1, CPT_GIVES(page), {NULL}, CPT_STARTS(ads), NULL},
        {"A2", a2, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 2};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.output, 5);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;A: A1 2, S: /;A: A1;A: A2 6, S: /;A: A1 1");
}

static cpt_status see_failure(struct cpt_task *task)
{
    CU_ASSERT_PTR_NULL(cpt_input(task, ads));
    *cpt_output(task, page) = 9;
    return CPT_OK;
}

static cpt_status start_failing(struct cpt_task *task)
{
    return cpt_await(task, cpt_start(task, ads), see_failure);
}

/* A task on demand fails: the task that waits for it decides. */
static void test_failure_on_demand_is_seen(void)
{
    const struct cpt_task_def tasks[] = {
        {"parse", parse, CPT_GIVES(parsed), CPT_NEEDS(query), {NULL}, NULL},
        {"A1", start_failing, CPT_GIVES(page), CPT_NEEDS(query), CPT_STARTS(ads), NULL},
        {"A2", fail_ads, CPT_GIVES(ads), CPT_NEEDS(parsed), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 3};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 9);
}

static const struct cpt_group inner_group = {"inner", NULL};
static const struct cpt_group *const groups = &inner_group;

static void test_sub_graph_is_a_frame(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", a1, CPT_GIVES(page), {NULL}, CPT_STARTS(ads), groups},
        {"A2", a2, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 2};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;A: inner;A: A1 2, S: /;A: inner;A: A1;A: A2 6, "
                           "S: /;A: inner;A: A1 1");
}

/* Both tasks lie in the sub-graph: it is named once. */
static void test_sub_graph_of_starter_and_started(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", a1, CPT_GIVES(page), {NULL}, CPT_STARTS(ads), groups},
        {"A2", a2, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, groups},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 2};
    const struct outcome outcome = run(&graph);

    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;A: inner;A: A1 2, S: /;A: inner;A: A1;A: A2 6, "
                           "S: /;A: inner;A: A1 1");
}

/* --- Branches that the output does not need --- */

static cpt_status do_not_start(struct cpt_task *task)
{
    *cpt_output(task, page) = 4;
    return CPT_OK;
}

static cpt_status saw_the_branch_fail(struct cpt_task *task)
{
    CU_ASSERT_PTR_NULL(cpt_input(task, ads));
    *cpt_output(task, page) = 6;
    return CPT_OK;
}

static cpt_status start_a_failed_branch(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_start(task, ads);

    CU_ASSERT_EQUAL(cpt_pending_status(pending), CPT_IO); /* it has failed already */
    return cpt_await(task, pending, saw_the_branch_fail);
}

static cpt_status fail_index(struct cpt_task *task)
{
    return cpt_fail(task, CPT_IO, "no index");
}

/* An input of a task on demand may fail: the request goes on, in any order of the
 * tasks. */
static void test_failing_optional_branch(void)
{
    struct cpt_task_def tasks[] = {
        {"index", fail_index, CPT_GIVES(index), CPT_NEEDS(query), {NULL}, NULL},
        {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(parsed, index), {NULL}, NULL},
        {"parse", parse, CPT_GIVES(parsed), CPT_NEEDS(query), {NULL}, NULL},
        {"A1", do_not_start, CPT_GIVES(page), CPT_NEEDS(query), CPT_STARTS(ads), NULL},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 4};
    struct outcome outcome = run(&graph);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 4);
    tasks[3].run = start_a_failed_branch;
    outcome = run(&graph);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 6);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
}

/* --- The way in --- */

static void test_accept_queue(void)
{
    struct outcome outcome = {0};
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, NULL);
    const int query_value = 1;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .plan = plan,
                                          .executor = &now.executor,
                                          .input = &query_value,
                                          .done = note_outcome,
                                          .context = &outcome,
                                          .is_traced = 1,
                                          .entry = "S: /",
                                          .clock = &now.clock};

    virtual_init(&now, 0);
    options.arrival_ns = now.now_ns;
    spend(5);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.latency_ns, 19 * MS);
    CU_ASSERT_EQUAL(strncmp(outcome.path, "S: /;S: ‹accept queue› 5, S: /;S: parse 2, ",
                            strlen("S: /;S: ‹accept queue› 5, S: /;S: parse 2, ")),
                    0);
    cpt_plan_free(plan);
}

/* --- Memory --- */

static cpt_status take_much(struct cpt_task *task)
{
    if (cpt_task_memory(task, 1 << 20) == NULL) {
        return cpt_fail(task, CPT_LIMIT, "too much");
    }
    return a1(task);
}

static void test_memory_limit_fails_the_request(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", take_much, CPT_GIVES(page), {NULL}, CPT_STARTS(ads), NULL},
        {"A2", a2, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 2};
    const struct outcome outcome = run_one_within(&now, &graph, 1, NULL, 64 << 10);

    CU_ASSERT_EQUAL(outcome.status, CPT_LIMIT);
    CU_ASSERT_STRING_EQUAL(outcome.sentence, "task 'A: A1': too much");
}

static bool traced_request(const struct cpt_alloc *alloc)
{
    const struct cpt_task_def tasks[] = {
        {"A1", a1, CPT_GIVES(page), {NULL}, CPT_STARTS(ads), NULL},
        {"A2", a2, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    };
    const struct cpt_graph graph = {"A", CPT_GIVES(query), CPT_GIVES(page), tasks, 2};
    const struct outcome outcome = run_one_within(&now, &graph, 1, alloc, 0);

    return outcome.status == CPT_OK && outcome.path[0] != '\0' &&
           outcome.path_flags == 0;
}

static void test_allocation_failures(void)
{
    each_allocation_failure(traced_request);
}

static void test_run_waits_for_the_end(void)
{
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, NULL);
    const int query_value = 1;
    int output = 0;
    struct cpt_path *path = cpt_path_new(NULL);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .input = &query_value,
                                                .is_traced = 1,
                                                .clock = &now.clock};

    virtual_init(&now, 0);
    CU_ASSERT_EQUAL(cpt_request_run(&options, &output, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(output, 220);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(path), 14 * MS);
    cpt_path_free(path);
    cpt_plan_free(plan);
}

static cpt_status run_inside(struct cpt_task *task)
{
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, NULL);
    const int query_value = 1;
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .input = &query_value};

    *cpt_output(task, page) = cpt_request_run(&options, NULL, NULL, NULL);
    cpt_plan_free(plan);
    return CPT_OK;
}

/* It would hang. */
static void test_run_within_the_inline_executor_is_refused(void)
{
    const struct cpt_task_def tasks[] = {
        {"A1", run_inside, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", NULL, CPT_GIVES(page), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan};
    int output = 0;

    CU_ASSERT_EQUAL(cpt_request_run(&options, &output, NULL, NULL), CPT_OK);
    CU_ASSERT_EQUAL(output, CPT_INVALID);
    cpt_plan_free(plan);
}

static void test_options_are_checked(void)
{
    struct cpt_error error = {0};
    const struct cpt_request_options none = {.struct_bytes = sizeof none};
    struct cpt_plan *plan = cpt_plan_new(&search, NULL, NULL);
    const struct cpt_request_options no_input = {.struct_bytes = sizeof no_input,
                                                 .plan = plan};

    CU_ASSERT_EQUAL(cpt_request_start(&none, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "a request needs a plan");
    CU_ASSERT_EQUAL(cpt_request_start(&no_input, NULL), CPT_INVALID);
    cpt_plan_free(plan);
}

/* --- Kept memory --- */

/* An allocator that counts its live bytes. */
static size_t live_bytes;

static void *count_bytes(void *context, void *memory, size_t bytes)
{
    size_t *front = memory != NULL ? (size_t *)memory - 2 : NULL;

    (void)context;
    live_bytes -= front != NULL ? *front : 0;
    live_bytes += bytes;
    front = cpt_alloc_default()->resize(cpt_alloc_default()->context, front,
                                        bytes != 0 ? bytes + 2 * sizeof *front : 0);
    if (front == NULL) {
        return NULL;
    }
    *front = bytes;
    return front + 2;
}

static size_t taken_bytes;

static cpt_status take_memory(struct cpt_task *task)
{
    for (size_t i = 0; i < taken_bytes / 1000; i++) {
        CU_ASSERT_PTR_NOT_NULL(cpt_task_memory(task, 1000));
    }
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

/* The block of a request is reused, but most of a large one is freed. */
static void test_large_requests_keep_little(void)
{
    static const struct cpt_alloc counting = {count_bytes, NULL};
    const struct cpt_task_def tasks[] = {
        {"A1", take_memory, CPT_GIVES(page), {NULL}, {NULL}, NULL}};
    const struct cpt_graph graph = {"A", NULL, CPT_GIVES(page), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, &counting, NULL);
    struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .alloc = &counting};
    size_t small_bytes = 0;

    taken_bytes = 100000;
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
    small_bytes = live_bytes;
    taken_bytes = 8000000;
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
    CU_ASSERT_TRUE(live_bytes <= small_bytes);
    cpt_plan_free(plan);
    CU_ASSERT_EQUAL(live_bytes, 0);
}

CU_TestInfo cpt_request_tests[] = {
    {"declared inputs: the last one is on the path", test_diamond},
    {"untraced: same result, no clock read", test_untraced_reads_no_clock},
    {"a failure names the task", test_failure_names_the_task},
    {"waiting without await fails", test_waiting_without_await_fails},
    {"figure 2c: computing during a call", test_figure_2c},
    {"a reply that had arrived", test_reply_was_there},
    {"a started task is below its starter", test_started_task_nests},
    {"a failure on demand is reported to the starter", test_failure_on_demand_is_seen},
    {"a sub-graph is a frame", test_sub_graph_is_a_frame},
    {"a sub-graph of starter and started is named once",
     test_sub_graph_of_starter_and_started},
    {"a branch that the output does not need", test_failing_optional_branch},
    {"semantics 21: the accept queue", test_accept_queue},
    {"run within the inline executor", test_run_within_the_inline_executor_is_refused},
    {"the memory limit fails the request", test_memory_limit_fails_the_request},
    {"allocation failures", test_allocation_failures},
    {"run waits for the end", test_run_waits_for_the_end},
    {"options are checked", test_options_are_checked},
    {"large requests keep little", test_large_requests_keep_little},
    CU_TEST_INFO_NULL,
};
