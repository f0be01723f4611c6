/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_timer_thread.c - `done` of requests that their deadline ends blocks the thread
 * of timers: the timers that it waits for fire
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "framework/cpt_graph.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_runtime.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { LATE = TEST_IS_SLOW ? 20 : 100, PATIENCE_S = 30 };

#define MS UINT64_C(1000000)

CPT_VALUE(query, int);
CPT_VALUE(page, int);

/* How many calls of pthread_create() still fail: test_stealing.c. */
extern atomic_int create_failures;

static struct {
    struct cpt_executor *pool;
    struct cpt_mutex *mutex;
    atomic_int late_count; /* requests that their deadline has ended */
    atomic_int timed_out_count;
    atomic_bool is_held;
    sem_t gone;
} all;

static bool wait_for(sem_t *semaphore)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return sem_timedwait(semaphore, &until) == 0;
}

/* --- Tasks --- */

static cpt_status give(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, query);
    return CPT_OK;
}

static cpt_status sleep_and_give(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS), give);
}

static cpt_status sleep_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "hour", 3600000 * MS), give);
}

/* Holds the lock across naps until all others are late. */
static cpt_status hold_on(struct cpt_task *task)
{
    atomic_store(&all.is_held, true);
    return atomic_load(&all.late_count) < LATE
               ? cpt_await(task, cpt_sleep(task, "nap", MS), hold_on)
               : give(task);
}

static cpt_status hold(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, all.mutex), hold_on);
}

#define ONE_TASK_GRAPH(name, run)                                                      \
    static const struct cpt_task_def name##_tasks[] = {                                \
        {#name, run, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};                \
    static const struct cpt_graph name##_graph = {"S", CPT_GIVES(query),               \
                                                  CPT_GIVES(page), name##_tasks, 1}

ONE_TASK_GRAPH(napping, sleep_and_give);
ONE_TASK_GRAPH(late, sleep_long);
ONE_TASK_GRAPH(holding, hold);

static struct cpt_plan *new_plan(const struct cpt_graph *graph)
{
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    return plan;
}

static struct cpt_plan *napping;

/* --- What blocks in `done` --- */

static void take_lock(void)
{
    cpt_mutex_lock(all.mutex);
    cpt_mutex_unlock(all.mutex);
}

static void run_request(void)
{
    const int input = 7;
    int output = 0;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = napping,
                                                .executor = all.pool,
                                                .input = &input};

    CU_ASSERT_EQUAL(cpt_request_run(&options, &output, NULL, NULL), CPT_OK);
    CU_ASSERT_EQUAL(output, input);
}

struct fired {
    struct cpt_timer timer;
    sem_t has_fired;
};

static void post_fired(struct cpt_timer *timer)
{
    (void)sem_post(&((struct fired *)timer)->has_fired);
}

/* Code of the application blocks, and says so. */
static void wait_for_timer(void)
{
    struct fired fired = {.timer.fire = post_fired};

    (void)sem_init(&fired.has_fired, 0, 0);
    CU_ASSERT_EQUAL(all.pool->after(all.pool, &fired.timer, MS), CPT_OK);
    all.pool->block(all.pool, 1);
    CU_ASSERT_TRUE_FATAL(wait_for(&fired.has_fired));
    all.pool->block(all.pool, 0);
    (void)sem_destroy(&fired.has_fired);
}

/* --- Requests --- */

static void note_late(struct cpt_request *request, void *context)
{
    void (*const *blocks)(void) = context;

    if (blocks != NULL) {
        atomic_fetch_add(&all.timed_out_count,
                         cpt_request_status(request) == CPT_TIMEOUT);
        atomic_fetch_add(&all.late_count, 1);
        (*blocks)();
    }
}

static void note_gone(void *context)
{
    (void)context;
    (void)sem_post(&all.gone);
}

static void start(const struct cpt_plan *plan, uint64_t timeout_ns, void *blocks)
{
    static const int input;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = all.pool,
                                                .input = &input,
                                                .done = note_late,
                                                .gone = note_gone,
                                                .context = blocks,
                                                .timeout_ns = timeout_ns};

    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
}

/* Many requests are late at once; what each does in `done` needs a timer. */
static void run(void (*blocks)(void), int failures)
{
    const struct cpt_pool_options options = {
        .struct_bytes = sizeof options, .worker_count = 1, .extra_worker_count_max = 1};
    struct cpt_plan *late = new_plan(&late_graph);
    struct cpt_plan *holding = new_plan(&holding_graph);

    atomic_store(&all.late_count, 0);
    atomic_store(&all.timed_out_count, 0);
    atomic_store(&all.is_held, false);
    (void)sem_init(&all.gone, 0, 0);
    napping = new_plan(&napping_graph);
    all.mutex = cpt_mutex_new("cache", NULL);
    all.pool = cpt_pool_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all.pool);
    start(holding, 0, NULL);
    while (!atomic_load(&all.is_held)) {
        (void)usleep(100);
    }
    atomic_store(&create_failures, failures);
    for (int i = 0; i < LATE; i++) {
        start(late, 5 * MS, (void *)&blocks);
    }
    for (int i = 0; i < LATE + 1; i++) {
        CU_ASSERT_TRUE_FATAL(wait_for(&all.gone));
    }
    CU_ASSERT_EQUAL(atomic_load(&all.timed_out_count), LATE);
    CU_ASSERT_EQUAL(atomic_load(&create_failures), 0);
    cpt_pool_free(all.pool);
    cpt_mutex_free(all.mutex);
    cpt_plan_free(late);
    cpt_plan_free(holding);
    cpt_plan_free(napping);
    (void)sem_destroy(&all.gone);
}

static void test_lock_in_done(void)
{
    run(take_lock, 0);
}

/* The first attempts to make another thread fail. */
static void test_lock_in_done_later(void)
{
    run(take_lock, 3);
}

static void test_run_in_done(void)
{
    run(run_request, 0);
}

static void test_foreign_in_done(void)
{
    run(wait_for_timer, 0);
}

extern CU_TestInfo cpt_timer_thread_tests[];
CU_TestInfo cpt_timer_thread_tests[] = {
    {"done takes a lock whose holder sleeps", test_lock_in_done},
    {"also if no thread could be made at first", test_lock_in_done_later},
    {"done runs a request that sleeps", test_run_in_done},
    {"done blocks in code of the application", test_foreign_in_done},
    CU_TEST_INFO_NULL,
};
