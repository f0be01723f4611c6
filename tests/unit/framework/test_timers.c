/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_timers.c - timers that cannot be set: no wait ends early, and none is repeated
 * without a pause */
#include "tests/support/suites.h"

#include "framework/cpt_graph.h"
#include "framework/cpt_rpc.h"
#include "framework/cpt_runtime.h"

#include <stdatomic.h>
#include <string.h>

#define MS UINT64_C(1000000)

extern atomic_int create_failures; /* of test_stealing.c: threads to be refused */

CPT_VALUE(page, int);

static int step_count;
static struct cpt_pending *pendings[3];

static cpt_status end(struct cpt_task *task)
{
    step_count++;
    *cpt_output(task, page) = 7;
    return CPT_OK;
}

/* Runs one task that begins with @run on @executor; how the request ended. */
static cpt_status run_on(struct cpt_executor *executor, cpt_task_fn run,
                         struct cpt_error *error)
{
    const struct cpt_task_def tasks[] = {
        {"A", run, CPT_GIVES(page), CPT_NEEDS_NOTHING}};
    const struct cpt_graph graph = {"S", NULL, CPT_GIVES(page), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .executor = executor};
    cpt_status status = CPT_OK;

    step_count = 0;
    *error = (struct cpt_error){.status = CPT_OK};
    status = cpt_request_run(&options, NULL, NULL, error);
    cpt_plan_free(plan);
    return status;
}

/* The same on a pool that cannot start the thread of its timers. */
static cpt_status run_without_thread(cpt_task_fn run, struct cpt_error *error)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);
    cpt_status status = CPT_OK;

    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    atomic_store(&create_failures, 1000000);
    status = run_on(pool, run, error);
    atomic_store(&create_failures, 0);
    cpt_pool_free(pool);
    return status;
}

/* The request must end with the status of the timer and say so, at once. */
static void must_fail(cpt_task_fn run)
{
    struct cpt_error error;

    CU_ASSERT_EQUAL(run_without_thread(run, &error), CPT_NO_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "cannot set a timer"));
    CU_ASSERT_EQUAL(step_count, 1);
    CU_ASSERT_EQUAL(run_on(cpt_executor_inline(), run, &error), CPT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "cannot set a timer"));
    CU_ASSERT_EQUAL(step_count, 1);
}

static cpt_status sleeps(struct cpt_task *task)
{
    step_count++;
    pendings[0] = cpt_sleep(task, "a while", MS);
    CU_ASSERT_TRUE(cpt_pending_status(pendings[0]) < 0);
    return cpt_await(task, pendings[0], end);
}

/* Would repeat it for ever without a pause. */
static cpt_status backs_off(struct cpt_task *task)
{
    if (++step_count == 100000) {
        return end(task);
    }
    return cpt_await(task, cpt_back_off(task, MS), backs_off);
}

static cpt_status sleeps_and_awaits_all(struct cpt_task *task)
{
    step_count++;
    (void)cpt_sleep(task, "a while", MS);
    return cpt_await_all(task, end);
}

static cpt_status blocks(struct cpt_task *task)
{
    cpt_status status = CPT_OK;

    step_count++;
    status = cpt_wait(task, cpt_sleep(task, "a while", MS));
    return status != CPT_OK ? status : end(task);
}

static cpt_status awaits_two_of_three(struct cpt_task *task)
{
    step_count++;
    pendings[0] = cpt_sleep(task, "one", MS);
    pendings[1] = cpt_defer(task, "two");
    pendings[2] = cpt_sleep(task, "three", MS);
    cpt_complete(pendings[1], CPT_OK);
    return cpt_await_some(task, pendings, 3, 2, end);
}

static void test_needed_timers(void)
{
    must_fail(sleeps);
    must_fail(backs_off);
    must_fail(sleeps_and_awaits_all);
    must_fail(blocks);
    must_fail(awaits_two_of_three);
}

/* The patience of a race that cannot be set does not end it: the other does. */
static cpt_status won(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_pending_status(pendings[0]), CPT_OK);
    CU_ASSERT_TRUE(cpt_pending_status(pendings[1]) < 0);
    return cpt_await_all(task, end); /* nothing is left */
}

static cpt_status races(struct cpt_task *task)
{
    step_count++;
    pendings[0] = cpt_defer(task, "elsewhere");
    pendings[1] = cpt_sleep(task, "patience", MS);
    cpt_complete(pendings[0], CPT_OK);
    return cpt_await_some(task, pendings, 2, 1, won);
}

static void test_race(void)
{
    struct cpt_error error;

    CU_ASSERT_EQUAL(run_without_thread(races, &error), CPT_OK);
    CU_ASSERT_EQUAL(run_on(cpt_executor_inline(), races, &error), CPT_OK);
    CU_ASSERT_EQUAL(step_count, 2);
}

/* Once a thread can be had, the same pool has timers. */
static cpt_status sleeps_twice(struct cpt_task *task)
{
    const int failures = atomic_load(&create_failures);

    if (++step_count == 1) {
        CU_ASSERT_TRUE(cpt_pending_status(cpt_sleep(task, "no thread", MS)) < 0);
        CU_ASSERT_EQUAL(failures, 1);
    }
    pendings[0] = cpt_sleep(task, "a while", MS);
    return cpt_await(task, pendings[0], end);
}

static void test_recovers(void)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);
    struct cpt_error error;

    atomic_store(&create_failures, 1);
    CU_ASSERT_EQUAL(run_on(pool, sleeps_twice, &error), CPT_OK);
    CU_ASSERT_EQUAL(step_count, 2);
    cpt_pool_free(pool);
}

/* --- What a service counts --- */

static cpt_status page_after_a_while(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static cpt_status wait_a_while(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "a while", MS), page_after_a_while);
}

static void note_status(void *context, const struct cpt_outbound *outbound)
{
    *(unsigned *)context = outbound->http_status;
}

static void note_failed_timers(void *context, const struct cpt_counter *counter)
{
    if (strcmp(counter->name, "failed_timers") == 0) {
        *(uint64_t *)context = counter->value;
    }
}

static void test_counted(void)
{
    const struct cpt_task_def tasks[] = {
        {"A", wait_a_while, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
    const struct cpt_graph graph = {"S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "S"};
    const struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                        .peer_address = cpt_bytes_of("127.0.0.1")};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    unsigned http_status = 0;
    uint64_t count = 0;

    CU_ASSERT_EQUAL(cpt_service_method_add(service, "/", plan, NULL), CPT_OK);
    cpt_service_serve(service, &inbound, note_status, &http_status);
    CU_ASSERT_EQUAL(http_status, 500);
    cpt_service_counters(service, note_failed_timers, &count);
    CU_ASSERT_EQUAL(count, 1);
    cpt_service_free(service);
    cpt_plan_free(plan);
}

CU_TestInfo cpt_timers_tests[] = {
    {"a wait that needs one fails", test_needed_timers},
    {"a race goes on without one", test_race},
    {"timers that come later work", test_recovers},
    {"a service counts them", test_counted},
    CU_TEST_INFO_NULL,
};
