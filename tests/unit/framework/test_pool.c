/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_pool.c - random graphs on real threads: many requests of one plan at once
 *
 * make test-all runs it under ThreadSanitizer. The path of each request must conserve
 * time, its output must be that of the graph, and `done` must be called once.
 */
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { GRAPHS = 60, REQUESTS = 40 };

struct batch {
    atomic_int done_count;
    atomic_int gone_count;
    atomic_int wrong_count;
    _Atomic uint64_t output; /* of the first that ended; 0: none yet */
};

static void spin(uint64_t duration_ns)
{
    const uint64_t end_ns = cpt_clock_now_ns(cpt_clock_monotonic()) + duration_ns;

    while (cpt_clock_now_ns(cpt_clock_monotonic()) < end_ns) {
    }
}

static void check_end(struct cpt_request *request, void *context)
{
    struct batch *batch = context;
    const uint64_t *output = cpt_request_output(request);
    uint64_t first = 0;
    struct cpt_path *path = cpt_path_new(NULL);
    const uint64_t latency_ns = cpt_request_latency_ns(request);

    if (output == NULL ||
        (!atomic_compare_exchange_strong(&batch->output, &first, *output) &&
         first != *output)) {
        atomic_fetch_add(&batch->wrong_count, 1);
    }
    if (latency_ns != 0 && (cpt_request_path(request, path, NULL) != CPT_OK ||
                            cpt_path_check(path, latency_ns, NULL) != CPT_OK)) {
        atomic_fetch_add(&batch->wrong_count, 1);
    }
    cpt_path_free(path);
    atomic_fetch_add(&batch->done_count, 1);
}

static void count_gone(void *context)
{
    atomic_fetch_add(&((struct batch *)context)->gone_count, 1);
}

static int run_graph(uint64_t *random)
{
    struct batch batch = {0};
    struct cpt_plan *plan = NULL;
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 4};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = pool,
                                          .done = check_end,
                                          .gone = count_gone,
                                          .context = &batch};

    random_graph_make(random, 20000);
    plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
    options.plan = plan;
    for (int i = 0; i < REQUESTS; i++) {
        options.is_traced = i % 4 != 0;
        options.attribution = (unsigned)(i % 2);
        if (cpt_request_start(&options, NULL) != CPT_OK) {
            return 0;
        }
    }
    /* Tasks without a waiter go on after `done`. */
    while (atomic_load(&batch.gone_count) < REQUESTS) {
        (void)usleep(100);
    }
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    return atomic_load(&batch.wrong_count) == 0 &&
           atomic_load(&batch.done_count) == REQUESTS;
}

static void test_random_graphs_on_threads(void)
{
    const char *text = getenv("CPT_TEST_SEED");
    uint64_t random = text != NULL ? strtoull(text, NULL, 0) : 20260102;

    printf("(seed %llu) ", (unsigned long long)random);
    random_graph.hooks = (struct random_hooks){.spend = spin};
    for (int i = 0; i < GRAPHS; i++) {
        if (!run_graph(&random)) {
            CU_FAIL("an output or a path was wrong");
            return;
        }
    }
}

/* --- The pool itself --- */

struct counted {
    struct cpt_work work;
    atomic_int *count;
};

static void count_work(struct cpt_work *work)
{
    atomic_fetch_add(((struct counted *)work)->count, 1);
}

static void test_pool_runs_what_was_submitted(void)
{
    enum { WORKS = 1000 };
    static struct counted works[WORKS];
    atomic_int count = 0;
    const struct cpt_pool_options options = {
        .struct_bytes = sizeof options, .worker_count = 3, .name = "three"};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    CU_ASSERT_STRING_EQUAL(pool->name, "three");
    for (int i = 0; i < WORKS; i++) {
        works[i].work.run = count_work;
        works[i].count = &count;
        pool->submit(pool, &works[i].work);
    }
    cpt_pool_free(pool);
    CU_ASSERT_EQUAL(atomic_load(&count), WORKS);
}

struct timed {
    struct cpt_timer timer;
    atomic_int *order;
    int place;
};

static void note_place(struct cpt_timer *timer)
{
    struct timed *timed = (struct timed *)timer;

    timed->place = atomic_fetch_add(timed->order, 1) + 1;
}

static void test_pool_timers(void)
{
    enum { TIMERS = 200 };
    static struct timed timers[TIMERS];
    atomic_int order = 0;
    uint64_t random = 7;
    int cancelled_count = 0;
    struct cpt_executor *pool = cpt_pool_new(NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    for (int i = 0; i < TIMERS; i++) {
        timers[i] = (struct timed){.timer.fire = note_place, .order = &order};
        CU_ASSERT_EQUAL(pool->after(pool, &timers[i].timer,
                                    20000000 + virtual_random(&random, 20000000)),
                        CPT_OK);
    }
    for (int i = 0; i < TIMERS; i += 3) {
        cancelled_count += pool->cancel(pool, &timers[i].timer);
        CU_ASSERT_EQUAL(pool->cancel(pool, &timers[i].timer), 0);
    }
    while (atomic_load(&order) < TIMERS - cancelled_count) {
        (void)usleep(1000);
    }
    cpt_pool_free(pool);
    for (int i = 0; i < TIMERS; i++) {
        for (int k = 0; k < TIMERS; k++) {
            if (timers[i].place != 0 && timers[k].place != 0 &&
                timers[i].timer.at_ns < timers[k].timer.at_ns) {
                CU_ASSERT_TRUE(timers[i].place < timers[k].place);
            }
        }
    }
}

static void test_pool_options_are_checked(void)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = 100000};
    struct cpt_error error = {0};

    CU_ASSERT_PTR_NULL(cpt_pool_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
    cpt_pool_free(NULL);
}

CU_TestInfo cpt_pool_tests[] = {
    {"random graphs on threads", test_random_graphs_on_threads},
    {"a pool runs all submitted work", test_pool_runs_what_was_submitted},
    {"timers fire in order, once, or are cancelled", test_pool_timers},
    {"options are checked", test_pool_options_are_checked},
    CU_TEST_INFO_NULL,
};
