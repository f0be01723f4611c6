/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_waiting_random.c - random graphs, some of whose waits block, give the same as
 * those that await */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static struct virtual_time now;

enum { GRAPHS = 150, POOL_GRAPHS = 20, CALLERS = 3 };

static atomic_uint wait_count;
static atomic_uint refused_count;

static cpt_status wait_sometimes(struct cpt_task *task, struct cpt_pending *pending)
{
    cpt_status status = CPT_WAITING;

    if (atomic_fetch_add(&wait_count, 1) % 3 != 0) {
        status = cpt_wait(task, pending);
        atomic_fetch_add(&refused_count, status == CPT_INVALID);
    }
    return status;
}

static void spend_ns(uint64_t duration_ns)
{
    now.now_ns += duration_ns;
}

struct ended {
    int done_count;
    int is_good;
    uint64_t output;
};

static void note_random(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const uint64_t *output = cpt_request_output(request);
    struct cpt_path *path = cpt_path_new(NULL);

    ended->done_count++;
    ended->output = output != NULL ? *output : 0;
    ended->is_good =
        cpt_request_path(request, path, NULL) == CPT_OK &&
        cpt_path_check(path, cpt_request_latency_ns(request), NULL) == CPT_OK;
    cpt_path_free(path);
}

static struct ended run_random(const struct cpt_plan *plan, uint64_t order)
{
    struct ended ended = {0};
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &now.executor,
                                                .clock = &now.clock,
                                                .done = note_random,
                                                .context = &ended,
                                                .is_traced = 1};

    virtual_init(&now, order);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    virtual_run(&now);
    return ended;
}

static uint64_t seed(uint64_t otherwise)
{
    const char *text = getenv("CPT_TEST_SEED");

    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void test_random_graphs(void)
{
    uint64_t random = seed(20260106);
    int equal_count = 0;

    printf("(seed %llu) ", (unsigned long long)random);
    for (int i = 0; i < GRAPHS; i++) {
        struct cpt_plan *plan = NULL;
        struct ended awaiting;
        struct ended blocking;

        random_graph.hooks = (struct random_hooks){.spend = spend_ns};
        random_graph_make(&random, 1000);
        plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
        awaiting = run_random(plan, 0);
        atomic_store(&refused_count, 0);
        random_graph.hooks.wait = wait_sometimes;
        blocking = run_random(plan, virtual_random(&random, 2) * random);
        CU_ASSERT_EQUAL(blocking.done_count, 1);
        CU_ASSERT_TRUE(blocking.is_good);
        /* Refused: two wait for a third, which is buried below one of them. */
        if (atomic_load(&refused_count) == 0) {
            CU_ASSERT_EQUAL(blocking.output, awaiting.output);
            equal_count++;
        }
        cpt_plan_free(plan);
    }
    CU_ASSERT_TRUE(equal_count > GRAPHS / 2);
}

struct caller {
    struct cpt_request_options options;
    uint64_t output;
    int good_count;
};

static void *call_random(void *context)
{
    struct caller *caller = context;

    for (int i = 0; i < 10; i++) {
        uint64_t output = 0;

        caller->good_count +=
            cpt_request_run(&caller->options, &output, NULL, NULL) == CPT_OK &&
            output == caller->output;
    }
    return NULL;
}

/* Several callers take part in one pool, whose threads block. */
static int run_on_pool(const struct cpt_plan *plan, unsigned worker_count,
                       uint64_t output)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = worker_count};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    int good_count = 0;

    for (int i = 0; i < CALLERS; i++) {
        callers[i] =
            (struct caller){.options = {.struct_bytes = sizeof callers[i].options,
                                        .plan = plan,
                                        .executor = pool,
                                        .is_traced = i != 0},
                            .output = output};
        (void)pthread_create(&threads[i], NULL, call_random, &callers[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        (void)pthread_join(threads[i], NULL);
        good_count += callers[i].good_count;
    }
    cpt_pool_free(pool);
    return good_count;
}

static void test_random_graphs_on_pools(void)
{
    uint64_t random = seed(20260107);

    printf("(seed %llu) ", (unsigned long long)random);
    for (int i = 0; i < POOL_GRAPHS; i++) {
        struct cpt_plan *plan = NULL;
        uint64_t output = 0;

        random_graph.hooks = (struct random_hooks){.spend = spend_ns};
        random_graph_make(&random, 20000);
        plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
        output = run_random(plan, 0).output;
        atomic_store(&refused_count, 0);
        random_graph.hooks =
            (struct random_hooks){.wait = wait_sometimes}; /* real time now */
        CU_ASSERT_EQUAL(run_on_pool(plan, 1 + (unsigned)i % 4, output), CALLERS * 10);
        CU_ASSERT_EQUAL(atomic_load(&refused_count), 0);
        cpt_plan_free(plan);
    }
    random_graph.hooks = (struct random_hooks){0};
}

CU_TestInfo cpt_waiting_random_tests[] = {
    {"random graphs give the same, blocking or not", test_random_graphs},
    {"random graphs on pools, with callers that take part",
     test_random_graphs_on_pools},
    CU_TEST_INFO_NULL,
};
