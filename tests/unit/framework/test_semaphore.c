/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_semaphore.c - counted resources: who gets them, and the path of who waited
 *
 * Exact paths in virtual time; then many requests on real threads, some of which give
 * up, and never more holders than the count.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "framework/cpt_mutex.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct virtual_time now;
static struct cpt_semaphore *connections;
static char order[64]; /* of those who got one */

CPT_VALUE(work, int);
CPT_VALUE(done, int);

/* --- A request that has one for the ms that its input gives --- */

static cpt_status give_back(struct cpt_task *task)
{
    cpt_semaphore_release(*cpt_state(task, struct cpt_pending *));
    cpt_semaphore_release(*cpt_state(task, struct cpt_pending *));
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static cpt_status use(struct cpt_task *task)
{
    const cpt_status status =
        cpt_pending_status(*cpt_state(task, struct cpt_pending *));
    const int ms = *cpt_input(task, work);

    if (status != CPT_OK) {
        return cpt_fail(task, status, "no connection");
    }
    (void)snprintf(order + strlen(order), sizeof order - strlen(order), "%d ", ms);
    return cpt_await(task, cpt_sleep(task, "query", (uint64_t)ms * MS), give_back);
}

static cpt_status take(struct cpt_task *task)
{
    *cpt_state(task, struct cpt_pending *) = cpt_semaphore_acquire(task, connections);
    return cpt_await(task, *cpt_state(task, struct cpt_pending *), use);
}

static cpt_status take_soon(struct cpt_task *task)
{
    *cpt_state(task, struct cpt_pending *) = cpt_semaphore_acquire(task, connections);
    return cpt_await_all_for(task, 3 * MS, use);
}

/* Gets one and fails: it goes to the next. */
static cpt_status fail(struct cpt_task *task)
{
    return cpt_fail(task, CPT_FAILED, "I always do");
}

static cpt_status take_and_fail(struct cpt_task *task)
{
    return cpt_await(task, cpt_semaphore_acquire(task, connections), fail);
}

static const struct cpt_task_def read_tasks[] = {
    {"read", take, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_task_def hasty_tasks[] = {
    {"hasty", take_soon, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_task_def failing_tasks[] = {
    {"failing", take_and_fail, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph read_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                            read_tasks, 1};
static const struct cpt_graph hasty_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                             hasty_tasks, 1};
static const struct cpt_graph failing_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                               failing_tasks, 1};

/* --- Several requests at once --- */

enum { RUNS_MAX = 4 };

static struct {
    struct cpt_plan *plans[RUNS_MAX];
    int inputs[RUNS_MAX];
    struct outcome outcomes[RUNS_MAX];
} runs;

static void begin(void)
{
    virtual_init(&now, 0);
    memset(&runs, 0, sizeof runs);
    order[0] = '\0';
    connections = cpt_semaphore_new("connections", 2, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(connections);
}

static void start(size_t index, const struct cpt_graph *graph, int ms)
{
    runs.plans[index] = cpt_plan_new(graph, NULL, NULL);
    runs.inputs[index] = ms;
    CU_ASSERT_EQUAL(start_one(&now, runs.plans[index], &runs.inputs[index], 1,
                              &runs.outcomes[index]),
                    CPT_OK);
    virtual_run_until(&now, now.now_ns + MS);
}

static void end(void)
{
    const uint64_t misused = cpt_misuse_count();

    virtual_run(&now);
    for (size_t i = 0; i < RUNS_MAX && runs.plans[i] != NULL; i++) {
        CU_ASSERT_EQUAL(runs.outcomes[i].done_count, 1);
        CU_ASSERT_EQUAL(runs.outcomes[i].gone_count, 1);
        cpt_plan_free(runs.plans[i]);
    }
    cpt_semaphore_free(connections); /* all are free again */
    CU_ASSERT_EQUAL(cpt_misuse_count(), misused);
}

static void test_order(void)
{
    begin();
    start(0, &read_graph, 10);
    start(1, &read_graph, 20);
    start(2, &read_graph, 5);
    start(3, &read_graph, 6);
    end();
    CU_ASSERT_STRING_EQUAL(order, "10 20 5 6 ");
    CU_ASSERT_STRING_EQUAL(runs.outcomes[1].path, "S: /;S: read;S: query 20");
    CU_ASSERT_STRING_EQUAL(runs.outcomes[2].path,
                           "S: /;S: read;S: \u2039lock: connections\u203a[holder=S: "
                           "read] 8, S: /;S: read;S: query 5");
    CU_ASSERT_STRING_EQUAL(runs.outcomes[3].path,
                           "S: /;S: read;S: \u2039lock: connections\u203a[holder=S: "
                           "read] 12, S: /;S: read;S: query 6");
}

/* A wait that is given up takes none; one that fails gives it to the next. */
static void test_given_up(void)
{
    begin();
    start(0, &read_graph, 10);
    start(1, &read_graph, 20);
    start(2, &hasty_graph, 1);
    start(3, &read_graph, 7);
    end();
    CU_ASSERT_EQUAL(runs.outcomes[2].status, CPT_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(order, "10 20 7 ");
    begin();
    start(0, &read_graph, 10);
    start(1, &failing_graph, 1);
    start(2, &read_graph, 8);
    end();
    CU_ASSERT_EQUAL(runs.outcomes[1].status, CPT_FAILED);
    CU_ASSERT_STRING_EQUAL(order, "10 8 ");
    CU_ASSERT_STRING_EQUAL(runs.outcomes[2].path, "S: /;S: read;S: query 8");
}

static void test_freed_while_held(void)
{
    const uint64_t misused = cpt_misuse_count();

    begin();
    start(0, &read_graph, 10);
    cpt_semaphore_free(connections);
    CU_ASSERT_EQUAL(cpt_misuse_count(), misused + 1);
    end();
}

static bool make_one(const struct cpt_alloc *alloc)
{
    struct cpt_semaphore *made = cpt_semaphore_new("connections", 3, alloc);

    cpt_semaphore_free(made);
    return made != NULL;
}

static void test_made(void)
{
    each_allocation_failure(make_one);
    CU_ASSERT_PTR_NULL(cpt_semaphore_new("none", 0, NULL));
    cpt_semaphore_free(NULL);
}

/* --- Real threads --- */

enum { REQUESTS = 600, COUNT = 3 };

static atomic_int holder_count;
static atomic_int holder_count_max;
static atomic_int done_count;

static cpt_status leave(struct cpt_task *task)
{
    atomic_fetch_sub(&holder_count, 1);
    cpt_semaphore_release(*cpt_state(task, struct cpt_pending *));
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static cpt_status enter(struct cpt_task *task)
{
    int count = 0;
    int max = 0;

    if (cpt_pending_status(*cpt_state(task, struct cpt_pending *)) != CPT_OK) {
        *cpt_output(task, done) = 0;
        return CPT_OK; /* given up */
    }
    count = atomic_fetch_add(&holder_count, 1) + 1;
    max = atomic_load(&holder_count_max);
    while (count > max &&
           !atomic_compare_exchange_weak(&holder_count_max, &max, count)) {
    }
    return cpt_await(task, cpt_sleep(task, "query", 20000), leave);
}

static cpt_status arrive(struct cpt_task *task)
{
    *cpt_state(task, struct cpt_pending *) = cpt_semaphore_acquire(task, connections);
    return *cpt_input(task, work) % 3 == 0
               ? cpt_await_all_for(task, 50000, enter)
               : cpt_await(task, *cpt_state(task, struct cpt_pending *), enter);
}

static void count_gone(void *context)
{
    (void)context;
    atomic_fetch_add(&done_count, 1);
}

static void test_threads(void)
{
    static const struct cpt_task_def tasks[] = {
        {"arrive", arrive, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
    static const struct cpt_graph graph = {"S", CPT_GIVES(work), CPT_GIVES(done), tasks,
                                           1};
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 2};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    connections = cpt_semaphore_new("connections", COUNT, NULL);
    CU_ASSERT_FATAL(pool != NULL && plan != NULL && connections != NULL);
    for (int i = 0; i < REQUESTS; i++) {
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .input = &i,
                                                    .executor = pool,
                                                    .gone = count_gone,
                                                    .is_traced = i % 2};

        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    }
    while (atomic_load(&done_count) < REQUESTS) {
        (void)usleep(1000);
    }
    CU_ASSERT_TRUE(atomic_load(&holder_count_max) <= COUNT);
    CU_ASSERT_EQUAL(atomic_load(&holder_count), 0);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    cpt_semaphore_free(connections);
}

CU_TestInfo cpt_semaphore_tests[] = {
    {"first come, first served, and the path of who waited", test_order},
    {"a wait that is given up, and a holder that fails", test_given_up},
    {"freed while one is held", test_freed_while_held},
    {"made and freed", test_made},
    {"never more holders than the count, on real threads", test_threads},
    CU_TEST_INFO_NULL,
};
