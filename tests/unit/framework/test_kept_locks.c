/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_kept_locks.c - what a task that ended well has not released is released once
 *
 * A request keeps a mutex and a semaphore of one by a task that has ended. It then ends
 * in each possible way, while others wait for both: never two of them hold one.
 */
#include "tests/support/suites.h"
#include "tests/unit/framework/held_request.h"

#include "framework/cpt_mutex.h"
#include "framework/cpt_rpc.h"

#include <string.h>

enum { OTHERS = 4 };

static struct {
    struct cpt_mutex *mutex;
    struct cpt_semaphore *semaphore;
    const struct cpt_plan *inner; /* keeps both, and then ends as `end` says */
    cpt_task_fn end;
    int holder_count;
    int holder_count_max;
} kept;

CPT_VALUE(locked, int);

/* --- The request that keeps them --- */

static cpt_status have_both(struct cpt_task *task)
{
    *cpt_output(task, locked) = 1;
    return CPT_OK;
}

static cpt_status take_both(struct cpt_task *task)
{
    (void)cpt_mutex_acquire(task, kept.mutex);
    (void)cpt_semaphore_acquire(task, kept.semaphore);
    return cpt_await_all(task, have_both);
}

static cpt_status end_as_said(struct cpt_task *task)
{
    return kept.end(task);
}

/* So that others come meanwhile. */
static cpt_status end_later(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "a while", 2 * MS), end_as_said);
}

static const struct cpt_task_def keeping[] = {
    {"keep", take_both, CPT_GIVES(locked), {NULL}, {NULL}, NULL},
    {"end", end_later, CPT_GIVES(page), CPT_NEEDS(locked), {NULL}, NULL},
};

/* The same with the first task in a component that has ended. */
static const struct cpt_task_def within[] = {
    {"keep", take_both, CPT_GIVES(locked), {NULL}, {NULL}, NULL}};
static const struct cpt_graph within_graph = {"A", NULL, CPT_GIVES(locked), within, 1};
static const struct cpt_task_def keeping_within[] = {
    {.name = "keep", .gives = CPT_GIVES(locked), .component = &within_graph},
    {"end", end_later, CPT_GIVES(page), CPT_NEEDS(locked), {NULL}, NULL},
};

/* Both in a component that ends; the request goes on. */
static cpt_status spawn_keeper(struct cpt_task *task)
{
    (void)cpt_task_spawn(task, "inner", kept.inner, NULL, NULL);
    return cpt_await_all(task, held_end);
}

static const struct cpt_task_def spawning[] = {
    {"spawn", spawn_keeper, CPT_GIVES(page), {NULL}, {NULL}, NULL}};

/* --- How it ends --- */

static cpt_status end_failed(struct cpt_task *task)
{
    return cpt_fail(task, CPT_IO, "no disk");
}

static cpt_status end_refused(struct cpt_task *task)
{
    return cpt_refuse(task, CPT_OUTCOME_NOT_FOUND, "no such page");
}

static cpt_status end_of_memory(struct cpt_task *task)
{
    (void)task;
    return CPT_LIMIT;
}

static cpt_status end_wrongly(struct cpt_task *task)
{
    (void)task;
    return 17; /* what no step may return */
}

static cpt_status end_too_late(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "long", 3600000 * (uint64_t)MS), held_end);
}

/* Its client is gone. */
static cpt_status end_cancelled(struct cpt_task *task)
{
    (void)cpt_request_cancel(held.handle);
    return held_end(task);
}

/* --- Those who wait for them --- */

CPT_VALUE(turn, int);

static cpt_status give_back(struct cpt_task *task)
{
    struct cpt_pending **own = cpt_state(task, struct cpt_pending *);

    kept.holder_count--;
    if (own[0] != NULL) {
        cpt_semaphore_release(own[0]);
    }
    *cpt_output(task, turn) = 1;
    return CPT_OK;
}

static cpt_status use(struct cpt_task *task)
{
    kept.holder_count++;
    if (kept.holder_count > kept.holder_count_max) {
        kept.holder_count_max = kept.holder_count;
    }
    return cpt_await(task, cpt_sleep(task, "use", MS), give_back);
}

static cpt_status take_semaphore(struct cpt_task *task)
{
    *cpt_state(task, struct cpt_pending *) =
        cpt_semaphore_acquire(task, kept.semaphore);
    return cpt_await_all(task, use);
}

/* Its lock is released when it is freed. */
static cpt_status take_mutex(struct cpt_task *task)
{
    *cpt_state(task, struct cpt_pending *) = NULL;
    (void)cpt_mutex_acquire(task, kept.mutex);
    return cpt_await_all(task, use);
}

static const struct cpt_task_def waiting[2][1] = {
    {{"other", take_semaphore, CPT_GIVES(turn), {NULL}, {NULL}, NULL}},
    {{"other", take_mutex, CPT_GIVES(turn), {NULL}, {NULL}, NULL}},
};

static void start_others(struct cpt_plan *plan, struct outcome outcomes[OTHERS])
{
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &held.now.executor,
                                                .done = note_outcome,
                                                .gone = note_gone,
                                                .clock = &held.now.clock};

    for (int i = 0; i < OTHERS; i++) {
        struct cpt_request_options own = options;

        memset(&outcomes[i], 0, sizeof outcomes[i]);
        own.context = &outcomes[i];
        CU_ASSERT_EQUAL(cpt_request_start(&own, NULL), CPT_OK);
    }
}

/* Whether both are free, and each only once. */
static void expect_free(void)
{
    const uint64_t misused = cpt_misuse_count();

    CU_ASSERT_EQUAL(cpt_mutex_trylock(kept.mutex), 1);
    CU_ASSERT_EQUAL(cpt_mutex_trylock(kept.mutex), 0);
    cpt_mutex_unlock(kept.mutex);
    cpt_mutex_free(kept.mutex);
    cpt_semaphore_free(kept.semaphore); /* refused unless all of the count are free */
    CU_ASSERT_EQUAL(cpt_misuse_count(), misused);
}

static void check(const struct cpt_task_def *tasks, size_t task_count, cpt_task_fn end,
                  cpt_status status)
{
    for (size_t of = 0; of < 2; of++) {
        const struct cpt_graph graph = {"A", NULL, CPT_GIVES(turn), waiting[of], 1};
        struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
        struct outcome outcomes[OTHERS];
        struct cpt_plan *keepers = NULL;
        const uint64_t misused = cpt_misuse_count();
        const uint64_t misuses = end == end_wrongly ? 1 : 0;

        kept.mutex = cpt_mutex_new("cache", NULL);
        kept.semaphore = cpt_semaphore_new("connections", 1, NULL);
        kept.end = end;
        kept.holder_count_max = 0;
        keepers = held_start(tasks, task_count, 50 * MS, NULL);
        virtual_run_until(&held.now, held.now.now_ns + MS);
        start_others(plan, outcomes);
        held_finish(keepers);
        CU_ASSERT_EQUAL(held.outcome.status, status);
        for (int i = 0; i < OTHERS; i++) {
            CU_ASSERT_EQUAL(outcomes[i].status, CPT_OK);
            CU_ASSERT_EQUAL(outcomes[i].gone_count, 1);
        }
        CU_ASSERT_EQUAL(kept.holder_count_max, 1);
        CU_ASSERT_EQUAL(cpt_misuse_count(), misused + misuses);
        expect_free();
        cpt_plan_free(plan);
    }
}

static void test_released_once(void)
{
    const struct {
        cpt_task_fn end;
        cpt_status status;
    } ends[] = {
        {held_end, CPT_OK},
        {end_failed, CPT_IO},
        {end_refused, CPT_REFUSED},
        {end_of_memory, CPT_LIMIT},
        {end_wrongly, CPT_INVALID},
        {end_too_late, CPT_TIMEOUT},
        {end_cancelled, CPT_CANCELLED},
    };
    const struct cpt_graph inner = {"A", NULL, CPT_GIVES(page), keeping, 2};
    struct cpt_plan *plan = cpt_plan_new(&inner, NULL, NULL);

    kept.inner = plan;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        check(keeping, 2, ends[i].end, ends[i].status);
        check(keeping_within, 2, ends[i].end, ends[i].status);
        check(spawning, 1, ends[i].end,
              ends[i].status == CPT_TIMEOUT || ends[i].status == CPT_CANCELLED
                  ? ends[i].status
                  : CPT_OK);
    }
    cpt_plan_free(plan);
}

extern CU_TestInfo cpt_kept_locks_tests[];
CU_TestInfo cpt_kept_locks_tests[] = {
    {"what a task kept is released once, however its request ends", test_released_once},
    CU_TEST_INFO_NULL,
};
