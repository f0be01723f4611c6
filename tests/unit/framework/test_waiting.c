/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_waiting.c - steps that block: their path, the executors that allow them, and
 * that a wait that would never end is refused */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "cpt/cpt_path.h"
#include "framework/pool/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct virtual_time now;

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

CPT_VALUE(query, int);
CPT_VALUE(ads, int);
CPT_VALUE(news, int);
CPT_VALUE(page, int);
CPT_VALUE(other, int);

#define GRAPH(name, tasks)                                                             \
    static const struct cpt_graph name = {"S", CPT_GIVES(query), CPT_GIVES(page),      \
                                          tasks, sizeof tasks / sizeof tasks[0]}

/* --- The path --- */

static cpt_status nap_twice(struct cpt_task *task)
{
    spend(1);
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_sleep(task, "nap", 5 * MS)), CPT_OK);
    spend(2);
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_back_off(task, 7 * MS)), CPT_OK);
    spend(3);
    *cpt_output(task, page) = 4;
    return CPT_OK;
}

static const struct cpt_task_def nap_tasks[] = {
    {"naps", nap_twice, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL},
};
GRAPH(naps, nap_tasks);

static void test_a_wait_is_on_the_path(void)
{
    const struct outcome outcome = run_one(&now, &naps, 1);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 4);
    CU_ASSERT_EQUAL(outcome.latency_ns, 18 * MS);
    CU_ASSERT_STRING_EQUAL(outcome.path,
                           "S: /;S: naps 1, S: /;S: naps;S: nap 5, S: /;S: naps 2, "
                           "S: /;S: naps;S: ‹backoff› 7, S: /;S: naps 3");
}

static void test_untraced_it_reads_no_clock(void)
{
    const struct outcome outcome = run_one(&now, &naps, 0);

    CU_ASSERT_EQUAL(outcome.output, 4);
    CU_ASSERT_EQUAL(now.read_count, 0);
}

/* Work that is complete, or ends while the task computes, is not waited for. */
static cpt_status compute_on(struct cpt_task *task)
{
    struct cpt_pending *nap = cpt_sleep(task, "nap", 5 * MS);
    struct cpt_pending *done = cpt_defer(task, "done");

    cpt_complete(done, CPT_FAILED);
    CU_ASSERT_EQUAL(cpt_wait(task, done), CPT_OK);
    CU_ASSERT_EQUAL(cpt_pending_status(done), CPT_FAILED);
    spend(2);
    CU_ASSERT_EQUAL(cpt_wait(task, nap), CPT_OK);
    CU_ASSERT_EQUAL(cpt_wait(task, nap), CPT_OK);
    spend(1);
    *cpt_output(task, page) = 1;
    return CPT_OK;
}

static const struct cpt_task_def overlap_tasks[] = {
    {"overlap", compute_on, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL},
};
GRAPH(overlap, overlap_tasks);

static void test_what_is_complete_is_not_waited_for(void)
{
    const struct outcome outcome = run_one(&now, &overlap, 1);

    CU_ASSERT_EQUAL(outcome.latency_ns, 6 * MS);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: overlap;S: nap 5, S: /;S: overlap 1");
}

/* --- Tasks that are started --- */

static cpt_status find_ads(struct cpt_task *task)
{
    spend(3);
    *cpt_output(task, ads) = 30;
    return CPT_OK;
}

static cpt_status find_news(struct cpt_task *task)
{
    spend(1);
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_start(task, ads)), CPT_OK);
    spend(1);
    *cpt_output(task, news) = 1 + *cpt_input(task, ads);
    return CPT_OK;
}

static cpt_status render(struct cpt_task *task)
{
    spend(2);
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_start(task, news)), CPT_OK);
    spend(4);
    *cpt_output(task, page) = *cpt_input(task, news);
    return CPT_OK;
}

static const struct cpt_task_def started_tasks[] = {
    {"ads", find_ads, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    {"news", find_news, CPT_GIVES(news), CPT_NEEDS(query), CPT_STARTS(ads), NULL},
    {"render", render, CPT_GIVES(page), CPT_NEEDS(query), CPT_STARTS(news), NULL},
};
GRAPH(started, started_tasks);

static void test_waits_for_started_tasks(void)
{
    const struct outcome outcome = run_one(&now, &started, 1);

    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, 31);
    CU_ASSERT_EQUAL(outcome.latency_ns, 11 * MS);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: render 2, S: /;S: render;S: news 1, "
                                         "S: /;S: render;S: news;S: ads 3, "
                                         "S: /;S: render;S: news 1, S: /;S: render 4");
}

/* Other ready tasks run on top, and the step resumes when they have returned. */
static cpt_status be_slow(struct cpt_task *task)
{
    spend(20);
    *cpt_output(task, other) = 5;
    return CPT_OK;
}

static cpt_status join_both(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, ads) + *cpt_input(task, other);
    return CPT_OK;
}

static cpt_status nap_once(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_sleep(task, "nap", 5 * MS)), CPT_OK);
    spend(1);
    *cpt_output(task, ads) = 30;
    return CPT_OK;
}

static const struct cpt_task_def buried_tasks[] = {
    {"naps", nap_once, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    {"slow", be_slow, CPT_GIVES(other), CPT_NEEDS(query), {NULL}, NULL},
    {"join", join_both, CPT_GIVES(page), CPT_NEEDS(ads, other), {NULL}, NULL},
};
GRAPH(buried, buried_tasks);

static void test_others_run_on_top(void)
{
    const struct outcome outcome = run_one(&now, &buried, 1);

    CU_ASSERT_EQUAL(outcome.output, 35);
    CU_ASSERT_EQUAL(outcome.latency_ns, 21 * MS);
    CU_ASSERT_STRING_EQUAL(outcome.path, "S: /;S: naps;S: nap 20, S: /;S: naps 1");
}

/* --- Depth --- */

static cpt_status depth_status; /* of the deepest */
static unsigned depth_wanted;

/* Requests within each other's waits, all on one thread. */
static cpt_status wait_deeper(struct cpt_task *task)
{
    const int level = *cpt_input(task, query);
    cpt_status status = CPT_OK;

    if (level == (int)depth_wanted) { /* all others are buried below */
        depth_status = cpt_wait(task, cpt_sleep(task, "nap", 1));
        return depth_status;
    }
    status = cpt_wait(task, cpt_sleep(task, "nap", MS));
    *cpt_output(task, page) = level;
    return status;
}

static const struct cpt_task_def deep_tasks[] = {
    {"deeper", wait_deeper, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL},
};
GRAPH(deep, deep_tasks);

static void test_depth_is_limited(void)
{
    for (depth_wanted = CPT_WAIT_DEPTH_MAX - 1; depth_wanted <= CPT_WAIT_DEPTH_MAX + 1;
         depth_wanted++) {
        struct outcome outcomes[CPT_WAIT_DEPTH_MAX + 2] = {{0}};
        struct cpt_plan *plan = cpt_plan_new(&deep, NULL, NULL);
        int good_count = 0;

        virtual_init(&now, 0);
        for (int i = 1; i <= (int)depth_wanted; i++) {
            CU_ASSERT_EQUAL(start_one(&now, plan, &i, 1, &outcomes[i]), CPT_OK);
        }
        virtual_run(&now);
        for (unsigned i = 1; i <= depth_wanted; i++) {
            CU_ASSERT_EQUAL(outcomes[i].gone_count, 1);
            good_count += outcomes[i].status == CPT_OK;
        }
        if (depth_wanted <= CPT_WAIT_DEPTH_MAX) {
            CU_ASSERT_EQUAL(depth_status, CPT_OK);
            CU_ASSERT_EQUAL(good_count, (int)depth_wanted);
        } else {
            CU_ASSERT_EQUAL(depth_status, CPT_LIMIT);
            CU_ASSERT_STRING_EQUAL(outcomes[depth_wanted].sentence,
                                   "task 'S: deeper': 16 tasks of this thread wait "
                                   "below this one, the limit is 16");
            CU_ASSERT_EQUAL(good_count, (int)depth_wanted - 1);
        }
        cpt_plan_free(plan);
    }
}

/* --- Waits that never end --- */

static struct cpt_pending *kept;

static cpt_status wait_for_kept(struct cpt_task *task)
{
    kept = cpt_defer(task, "kept");
    CU_ASSERT_EQUAL(cpt_wait(task, kept), CPT_OK);
    *cpt_output(task, news) = 1;
    return CPT_OK;
}

/* It runs on top of news, which runs on top of render. */
static cpt_status wait_for_what_is_below(struct cpt_task *task)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    cpt_complete(kept, CPT_OK);
    spend(1);
    *cpt_output(task, ads) = cpt_wait(task, cpt_start(task, news));
    spend(1);
    return CPT_OK;
}

/* Awaits without a thread until news blocks one. */
static cpt_status pause_first(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "pause", MS), wait_for_what_is_below);
}

static cpt_status wait_for_news(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_start(task, news)), CPT_OK);
    *cpt_output(task, other) = 2 + *cpt_input(task, news);
    return CPT_OK;
}

static const struct cpt_task_def below_tasks[] = {
    {"render", wait_for_news, CPT_GIVES(other), CPT_NEEDS(query), CPT_STARTS(news),
     NULL},
    {"ads", pause_first, CPT_GIVES(ads), CPT_NEEDS(query), CPT_STARTS(news), NULL},
    {"news", wait_for_kept, CPT_GIVES(news), CPT_NEEDS(query), {NULL}, NULL},
    {"join", join_both, CPT_GIVES(page), CPT_NEEDS(ads, other), {NULL}, NULL},
};
GRAPH(below, below_tasks);

static void test_a_wait_for_what_is_buried_is_refused(void)
{
    struct outcome outcome;

    kept = NULL;
    outcome = run_one(&now, &below, 1);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    CU_ASSERT_EQUAL(outcome.output, CPT_INVALID + 3);
    CU_ASSERT_EQUAL(outcome.latency_ns, 3 * MS);
}

/* --- Refusals --- */

static struct cpt_task *first_task;
static struct cpt_pending *first_pending;

static cpt_status wait_wrongly(struct cpt_task *task)
{
    if (first_pending == NULL) {
        first_task = task;
        first_pending = cpt_defer(task, "first");
        cpt_complete(first_pending, CPT_OK);
        first_pending = cpt_defer(task, "second");
        CU_ASSERT_EQUAL(cpt_wait(task, NULL), CPT_LIMIT);
        *cpt_output(task, ads) = 1;
        return CPT_OK;
    }
    CU_ASSERT_EQUAL(cpt_wait(task, first_pending), CPT_INVALID);
    cpt_complete(first_pending, CPT_OK);
    *cpt_output(task, other) = 1;
    return CPT_OK;
}

static const struct cpt_task_def wrong_tasks[] = {
    {"one", wait_wrongly, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    {"two", wait_wrongly, CPT_GIVES(other), CPT_NEEDS(query), {NULL}, NULL},
    {"join", join_both, CPT_GIVES(page), CPT_NEEDS(ads, other), {NULL}, NULL},
};
GRAPH(wrong, wrong_tasks);

static void test_wrong_waits_are_refused(void)
{
    first_pending = NULL;
    CU_ASSERT_EQUAL(run_one(&now, &wrong, 1).output, 2);
}

static cpt_status wait_on_a_loop(struct cpt_task *task)
{
    return cpt_wait(task, cpt_sleep(task, "nap", MS));
}

static const struct cpt_task_def loop_tasks[] = {
    {"loop", wait_on_a_loop, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL},
};
GRAPH(looped, loop_tasks);

static void test_a_loop_cannot_block(void)
{
    struct cpt_plan *plan = cpt_plan_new(&looped, NULL, NULL);
    const int input = 1;
    struct outcome outcome = {0};

    virtual_init(&now, 0);
    now.executor.help = NULL;
    CU_ASSERT_EQUAL(start_one(&now, plan, &input, 1, &outcome), CPT_OK);
    virtual_run(&now);
    CU_ASSERT_EQUAL(outcome.status, CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(
        outcome.sentence,
        "task 'S: loop': executor \"virtual\" cannot block a task: use cpt_await()");
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
    cpt_plan_free(plan);
}

/* --- The request fails meanwhile --- */

static cpt_status seen_status;

static struct cpt_pending *never;

static cpt_status defer_for_ever(struct cpt_task *task)
{
    never = cpt_defer(task, "never");
    seen_status = cpt_wait(task, never);
    cpt_complete(never, CPT_OK); /* its reference */
    CU_ASSERT_EQUAL(cpt_wait(task, cpt_sleep(task, "nap", MS)), CPT_CANCELLED);
    *cpt_output(task, ads) = 1;
    return CPT_OK;
}

static cpt_status fail_late(struct cpt_task *task)
{
    spend(3);
    return cpt_fail(task, CPT_FAILED, "no such user");
}

static const struct cpt_task_def failing_tasks[] = {
    {"waits", defer_for_ever, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    {"fails", fail_late, CPT_GIVES(other), CPT_NEEDS(query), {NULL}, NULL},
    {"join", join_both, CPT_GIVES(page), CPT_NEEDS(ads, other), {NULL}, NULL},
};
GRAPH(fails_late, failing_tasks);

static void test_a_failed_request_ends_the_wait(void)
{
    struct outcome outcome;

    seen_status = CPT_OK;
    outcome = run_one(&now, &fails_late, 1);
    CU_ASSERT_EQUAL(outcome.status, CPT_FAILED);
    CU_ASSERT_STRING_EQUAL(outcome.sentence, "task 'S: fails': no such user");
    CU_ASSERT_EQUAL(seen_status, CPT_CANCELLED);
    CU_ASSERT_EQUAL(outcome.gone_count, 1);
}

/* --- Memory --- */

static void test_allocations_may_fail(void)
{
    struct failing_alloc failing;
    size_t call_count = 1;

    for (size_t refused = 0; refused <= call_count; refused++) {
        struct outcome outcome;

        failing_alloc_init(&failing, refused);
        outcome = run_one_within(&now, &looped, 1, &failing.alloc, 0);
        CU_ASSERT_EQUAL(failing.live_count, 0);
        call_count = refused == 0 ? failing.call_count : call_count;
        CU_ASSERT_EQUAL(outcome.done_count, outcome.gone_count);
    }
}

/* --- The inline executor --- */

static void *complete_soon(void *context)
{
    (void)usleep(2000);
    cpt_complete(context, CPT_OK);
    return NULL;
}

static cpt_status wait_for_a_thread(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_defer(task, "elsewhere");
    pthread_t thread;
    cpt_status status = CPT_OK;

    (void)pthread_create(&thread, NULL, complete_soon, pending);
    status = cpt_wait(task, pending);
    (void)pthread_join(thread, NULL);
    *cpt_output(task, ads) = 1;
    return status;
}

static cpt_status give_other(struct cpt_task *task)
{
    *cpt_output(task, other) = 2;
    return CPT_OK;
}

static cpt_status join_and_wait(struct cpt_task *task)
{
    const cpt_status status = cpt_wait(task, cpt_start(task, news));

    *cpt_output(task, page) =
        *cpt_input(task, ads) + *cpt_input(task, other) + *cpt_input(task, news);
    return status;
}

static cpt_status give_news(struct cpt_task *task)
{
    *cpt_output(task, news) = 4;
    return CPT_OK;
}

static const struct cpt_task_def real_tasks[] = {
    {"waits", wait_for_a_thread, CPT_GIVES(ads), CPT_NEEDS(query), {NULL}, NULL},
    {"other", give_other, CPT_GIVES(other), CPT_NEEDS(query), {NULL}, NULL},
    {"news", give_news, CPT_GIVES(news), CPT_NEEDS(query), {NULL}, NULL},
    {"join", join_and_wait, CPT_GIVES(page), CPT_NEEDS(ads, other), CPT_STARTS(news),
     NULL},
};
GRAPH(real, real_tasks);

static cpt_status run_real(struct cpt_executor *executor, const struct cpt_graph *graph,
                           int *output)
{
    static const int input = 1;
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = executor,
                                                .input = &input,
                                                .is_traced = 1,
                                                .entry = "S: /"};
    struct cpt_path *path = cpt_path_new(NULL);
    const cpt_status status = cpt_request_run(&options, output, path, NULL);

    CU_ASSERT_TRUE(status != CPT_OK || cpt_path_segment_count(path) > 0);
    cpt_path_free(path);
    cpt_plan_free(plan);
    return status;
}

static void test_inline(void)
{
    int output = 0;

    CU_ASSERT_EQUAL(run_real(cpt_executor_inline(), &real, &output), CPT_OK);
    CU_ASSERT_EQUAL(output, 7);
}

/* --- Pools --- */

enum { REQUESTS = 30 };

struct batch {
    atomic_int gone_count;
    atomic_int good_count;
};

static void check_real(struct cpt_request *request, void *context)
{
    const int *output = cpt_request_output(request);
    struct cpt_path *path = cpt_path_new(NULL);

    if (output != NULL && *output == 7 &&
        cpt_request_path(request, path, NULL) == CPT_OK &&
        cpt_path_check(path, cpt_request_latency_ns(request), NULL) == CPT_OK) {
        atomic_fetch_add(&((struct batch *)context)->good_count, 1);
    }
    cpt_path_free(path);
}

static void count_gone(void *context)
{
    atomic_fetch_add(&((struct batch *)context)->gone_count, 1);
}

static void test_pool_with_replacements(void)
{
    for (unsigned worker_count = 1; worker_count <= 4; worker_count++) {
        static const int input = 1;
        const struct cpt_pool_options pool_options = {
            .struct_bytes = sizeof pool_options, .worker_count = worker_count};
        struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
        struct cpt_plan *plan = cpt_plan_new(&real, NULL, NULL);
        struct batch batch = {0};
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .executor = pool,
                                                    .input = &input,
                                                    .done = check_real,
                                                    .gone = count_gone,
                                                    .context = &batch,
                                                    .is_traced = 1,
                                                    .entry = "S: /"};

        for (int i = 0; i < REQUESTS; i++) {
            CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
        }
        while (atomic_load(&batch.gone_count) < REQUESTS) {
            (void)usleep(100);
        }
        CU_ASSERT_EQUAL(atomic_load(&batch.good_count), REQUESTS);
        CU_ASSERT_TRUE(cpti_pool_count(pool).extra > 0);
        CU_ASSERT_EQUAL(cpti_pool_count(pool).refused, 0);
        cpt_pool_free(pool);
        cpt_plan_free(plan);
    }
}

/* A step blocks for a task that awaits a task that blocks. */
static cpt_status wait_for_news_only(struct cpt_task *task)
{
    const cpt_status status = cpt_wait(task, cpt_start(task, news));

    *cpt_output(task, page) = status;
    return CPT_OK;
}

static cpt_status await_ads(struct cpt_task *task)
{
    (void)task;
    return cpt_await(task, cpt_start(task, ads), give_news);
}

static const struct cpt_task_def mixed_tasks[] = {
    {"ads", nap_once, CPT_GIVES(ads), CPT_NEEDS(other), {NULL}, NULL},
    {"other", give_other, CPT_GIVES(other), CPT_NEEDS(query), {NULL}, NULL},
    {"news", await_ads, CPT_GIVES(news), CPT_NEEDS(query), CPT_STARTS(ads), NULL},
    {"render", wait_for_news_only, CPT_GIVES(page), CPT_NEEDS(query), CPT_STARTS(news),
     NULL},
};
GRAPH(mixed, mixed_tasks);

static void test_started_through_others_on_a_pool(void)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);
    int output = 1;

    CU_ASSERT_EQUAL(run_real(pool, &mixed, &output), CPT_OK);
    cpt_pool_free(pool);
}

/* --- A queue --- */

static void test_a_queue_is_run_meanwhile(void)
{
    const struct cpt_queue_executor_options options = {.struct_bytes = sizeof options};
    struct cpt_executor *queue = cpt_queue_executor_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&real, NULL, NULL);
    struct batch batch = {0};
    static const int input = 1;
    const struct cpt_request_options request = {.struct_bytes = sizeof request,
                                                .plan = plan,
                                                .executor = queue,
                                                .input = &input,
                                                .done = check_real,
                                                .gone = count_gone,
                                                .context = &batch,
                                                .is_traced = 1,
                                                .entry = "S: /"};

    CU_ASSERT_EQUAL(cpt_request_start(&request, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_request_start(&request, NULL), CPT_OK);
    while (atomic_load(&batch.gone_count) < 2) {
        (void)cpt_queue_executor_run(queue, 0);
    }
    CU_ASSERT_EQUAL(atomic_load(&batch.good_count), 2);
    cpt_queue_executor_free(queue);
    cpt_plan_free(plan);
}

CU_TestInfo cpt_waiting_tests[] = {
    {"a wait is on the path as an await", test_a_wait_is_on_the_path},
    {"untraced it reads no clock", test_untraced_it_reads_no_clock},
    {"complete work is not waited for", test_what_is_complete_is_not_waited_for},
    {"nested waits for started tasks", test_waits_for_started_tasks},
    {"others run on top, and it resumes after them", test_others_run_on_top},
    {"the depth is limited", test_depth_is_limited},
    {"a wait for a buried task is refused", test_a_wait_for_what_is_buried_is_refused},
    {"wrong waits are refused", test_wrong_waits_are_refused},
    {"an event loop cannot block", test_a_loop_cannot_block},
    {"the end of the request ends the wait", test_a_failed_request_ends_the_wait},
    {"allocations may fail", test_allocations_may_fail},
    {"inline, with a completion from a thread", test_inline},
    {"on pools, with replacements", test_pool_with_replacements},
    {"started through others, on a pool of one", test_started_through_others_on_a_pool},
    {"a queue is run meanwhile", test_a_queue_is_run_meanwhile},
    CU_TEST_INFO_NULL,
};
