/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_blocked.c - more steps that block than a pool has threads: all of them end
 *
 * Each scenario is a plan whose tasks block, 200 requests of it at once, on pools of 1
 * to 4 workers with 1, 2 and 64 extra ones. What they wait for needs a thread of the
 * same pool. All requests end well, their paths add up, and the pool has made no more
 * threads than it may.
 *
 * CPT_TEST_BLOCKED=N runs each scenario N times, CPT_TEST_TELL=1 tells how long each
 * took.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/cpt_path.h"
#include "cpt/base/now.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_runtime.h"
#include "framework/cpt_shared.h"
#include "framework/pool/pool.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REQUESTS = TEST_IS_SLOW ? 50 : 200,
    PATIENCE_S = 120,
    DEPTH = 6,
    RESERVE_FEW = 40 /* one, and what the valve lets through on a busy machine */
};

#define MS UINT64_C(1000000)

CPT_VALUE(query, int);
CPT_VALUE(page, int);
CPT_VALUE(part, int);

/* NAME_graph, of one task. */
#define ONE_TASK_GRAPH(name, label, run)                                               \
    static const struct cpt_task_def name##_tasks[] = {                                \
        {label, run, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};                \
    static const struct cpt_graph name##_graph = {"S", CPT_GIVES(query),               \
                                                  CPT_GIVES(page), name##_tasks, 1}

/* --- What all scenarios use --- */

static struct {
    struct cpt_executor *pool;
    struct cpt_executor *other;
    struct cpt_mutex *mutex;
    struct cpt_semaphore *semaphore;
    struct cpt_shared *shared;
    struct cpt_plan *plan;      /* of the requests */
    struct cpt_plan *leaf;      /* returns its input */
    struct cpt_plan *nested;    /* spawns itself, until its input is 0 */
    struct cpt_plan *there;     /* a component of it runs on `pool` */
    struct cpt_plan *answering; /* completes `asked` of its input */
    struct cpt_plan *keeping;   /* keeps the mutex */
    struct cpt_plan *polling;   /* until all have begun */
    struct cpt_pending *_Atomic asked[REQUESTS + 1];
    atomic_bool is_held;
    atomic_int done_count;
    atomic_int gone_count;
    atomic_int answer_count;
    atomic_int polling_count;
    atomic_int good_count;
    atomic_int bad_path_count;
    sem_t gone;
} all;

static cpt_status give(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, query);
    return CPT_OK;
}

ONE_TASK_GRAPH(leaf, "leaf", give);

/* --- Waits for what was started --- */

static cpt_status spawn_one(struct cpt_task *task, struct cpt_executor *executor)
{
    struct cpt_pending *pending =
        cpt_spawn_on(task, executor, "leaf", all.leaf, query, cpt_input(task, query));
    const cpt_status status = cpt_wait(task, pending);

    if (status == CPT_OK) {
        *cpt_output(task, page) = *cpt_run_output(pending, page);
    }
    return status;
}

static cpt_status wait_for_component(struct cpt_task *task)
{
    return spawn_one(task, NULL);
}

static cpt_status wait_after_sleep(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS), wait_for_component);
}

/* A component of a component …, each of which blocks a thread. */
static cpt_status wait_deeper(struct cpt_task *task)
{
    const int deeper = *cpt_input(task, query) - 1;
    cpt_status status = CPT_OK;

    if (deeper >= 0) {
        status = cpt_wait(task, cpt_spawn(task, "deeper", all.nested, query, &deeper));
    }
    *cpt_output(task, page) = *cpt_input(task, query);
    return status;
}

ONE_TASK_GRAPH(nested, "deeper", wait_deeper);

static cpt_status wait_for_nested(struct cpt_task *task)
{
    const int depth = DEPTH;
    const cpt_status status =
        cpt_wait(task, cpt_spawn(task, "nested", all.nested, query, &depth));

    *cpt_output(task, page) = *cpt_input(task, query);
    return status;
}

/* On the other pool, a component of which runs on this one. */
static cpt_status wait_for_here(struct cpt_task *task)
{
    return spawn_one(task, all.pool);
}

ONE_TASK_GRAPH(there, "there", wait_for_here);

static cpt_status wait_for_there(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_spawn_on(task, all.other, "there", all.there,
                                               query, cpt_input(task, query));
    const cpt_status status = cpt_wait(task, pending);

    *cpt_output(task, page) = *cpt_input(task, query);
    return status;
}

/* A step of a component on the inline executor blocks a thread of the pool. */
static cpt_status wait_for_inline(struct cpt_task *task)
{
    const cpt_status status =
        cpt_wait(task, cpt_spawn_on(task, cpt_executor_inline(), "inline", all.there,
                                    query, cpt_input(task, query)));

    *cpt_output(task, page) = *cpt_input(task, query);
    return status;
}

static cpt_status give_part(struct cpt_task *task)
{
    *cpt_output(task, part) = *cpt_input(task, query);
    return CPT_OK;
}

static cpt_status give_part_late(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS), give_part);
}

static cpt_status wait_for_part(struct cpt_task *task)
{
    const cpt_status status = cpt_wait(task, cpt_start(task, part));

    *cpt_output(task, page) = status == CPT_OK ? *cpt_input(task, part) : -1;
    return status;
}

static cpt_status wait_for_shared(struct cpt_task *task)
{
    const int key = *cpt_input(task, query) % 7;
    char name[16];

    (void)snprintf(name, sizeof name, "%d", key);
    *cpt_output(task, page) = *cpt_input(task, query);
    return cpt_wait(task, cpt_share(task, all.shared, cpt_bytes_of(name), query, &key));
}

/* --- Waits for locks --- */

static cpt_status lock_briefly(struct cpt_task *task)
{
    cpt_mutex_lock(all.mutex);
    *cpt_output(task, page) = *cpt_input(task, query);
    cpt_mutex_unlock(all.mutex);
    return CPT_OK;
}

static cpt_status lock_after_sleep(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS), lock_briefly);
}

/* Has the lock while it waits, blocking. */
static cpt_status lock_and_wait(struct cpt_task *task)
{
    cpt_status status = CPT_OK;

    cpt_mutex_lock(all.mutex);
    status = spawn_one(task, NULL);
    cpt_mutex_unlock(all.mutex);
    return status;
}

/* … while it waits, without a thread. */
static cpt_status unlock_late(struct cpt_task *task)
{
    cpt_mutex_unlock(all.mutex);
    *cpt_output(task, page) = *cpt_input(task, query);
    return CPT_OK;
}

static cpt_status lock_across(struct cpt_task *task)
{
    cpt_mutex_lock(all.mutex);
    return cpt_await(task, cpt_sleep(task, "nap", MS / 10), unlock_late);
}

static cpt_status acquire_blocking(struct cpt_task *task)
{
    struct cpt_pending *lock = cpt_mutex_acquire(task, all.mutex);
    cpt_status status = cpt_wait(task, lock);

    if (status == CPT_OK) {
        status = spawn_one(task, NULL);
    }
    cpt_mutex_release(lock);
    return status;
}

static cpt_status count_blocking(struct cpt_task *task)
{
    struct cpt_pending *one = cpt_semaphore_acquire(task, all.semaphore);
    cpt_status status = cpt_wait(task, one);

    if (status == CPT_OK) {
        status = spawn_one(task, NULL);
    }
    cpt_semaphore_release(one);
    return status;
}

/* --- A lock that a component keeps until its request is over --- */

static cpt_status keep(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, query);
    return cpt_wait(task, cpt_mutex_acquire(task, all.mutex));
}

ONE_TASK_GRAPH(keeping, "keep", keep);

static cpt_status nap_and_give(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS / 10), give);
}

static cpt_status keep_in_component(struct cpt_task *task)
{
    return cpt_await(
        task, cpt_spawn(task, "keep", all.keeping, query, cpt_input(task, query)),
        nap_and_give);
}

/* --- Components that block again and again, until the last of them has begun --- */

enum { POLLING = 4 };

static cpt_status poll_others(struct cpt_task *task)
{
    cpt_status status = CPT_OK;

    atomic_fetch_add(&all.polling_count, 1);
    while (status == CPT_OK && atomic_load(&all.polling_count) < POLLING) {
        status = cpt_wait(task, cpt_sleep(task, "poll", 2 * MS));
    }
    *cpt_output(task, page) = *cpt_input(task, query);
    return status;
}

ONE_TASK_GRAPH(polling, "poll", poll_others);

static cpt_status wait_for_polling(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, query);
    return cpt_wait(
        task, cpt_spawn(task, "poll", all.polling, query, cpt_input(task, query)));
}

/* --- Waits for what another request does --- */

static cpt_status answer(struct cpt_task *task)
{
    const int number = *cpt_input(task, query);

    cpt_complete(atomic_load(&all.asked[number]), CPT_OK);
    *cpt_output(task, page) = number;
    return CPT_OK;
}

ONE_TASK_GRAPH(answering, "answer", answer);

static void note_answered(void *context)
{
    (void)context;
    atomic_fetch_add(&all.gone_count, 1);
    (void)sem_post(&all.gone);
}

static cpt_status ask_another(struct cpt_task *task)
{
    const int number = *cpt_input(task, query);
    struct cpt_pending *asked = cpt_defer(task, "asked");
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = all.answering,
                                                .executor = all.pool,
                                                .input = &number,
                                                .gone = note_answered};

    atomic_store(&all.asked[number], asked);
    atomic_fetch_add(&all.answer_count, 1);
    *cpt_output(task, page) = number;
    return cpt_request_start(&options, NULL) == CPT_OK ? cpt_wait(task, asked)
                                                       : CPT_FAILED;
}

/* --- All of these at once --- */

static uint64_t seed;

static cpt_status run_any(struct cpt_task *task)
{
    static const cpt_task_fn runs[] = {
        wait_for_component, wait_after_sleep, wait_for_nested,
        wait_for_there,     wait_for_inline,  wait_for_part,
        wait_for_shared,    lock_briefly,     lock_after_sleep,
        lock_and_wait,      lock_across,      acquire_blocking,
        count_blocking,     ask_another,      give};
    struct test_random random = {seed + (uint64_t)*cpt_input(task, query)};

    return runs[test_random_below(&random, sizeof runs / sizeof runs[0])](task);
}

/* --- Scenarios --- */

struct scenario {
    const char *name;
    cpt_task_fn run;
    cpt_task_fn starts_run; /* of the task that gives `part`; NULL: there is none */
    bool has_holder;        /* a request that has the mutex across a sleep */
    bool locks_at_end;      /* `done` takes the mutex, too */
    int count;              /* of requests */
    unsigned reserve_max;   /* threads beyond the limit, at most; 0: any number */
};

static const struct scenario scenarios[] = {
    {"a component", wait_for_component, NULL, false, false, REQUESTS, RESERVE_FEW},
    {"a component, after a sleep", wait_after_sleep, NULL, false, false, REQUESTS, 0},
    {"components in components", wait_for_nested, NULL, false, false, REQUESTS, 0},
    {"a component on another pool, that waits for this one", wait_for_there, NULL,
     false, false, REQUESTS, 0},
    {"a component on the inline executor", wait_for_inline, NULL, false, false,
     REQUESTS, 0},
    {"a task", wait_for_part, give_part, false, false, REQUESTS, RESERVE_FEW},
    {"a task that sleeps", wait_for_part, give_part_late, false, false, REQUESTS,
     RESERVE_FEW},
    {"shared work", wait_for_shared, NULL, false, false, REQUESTS, RESERVE_FEW},
    {"a lock held across a sleep", lock_briefly, NULL, true, false, REQUESTS,
     RESERVE_FEW},
    {"a lock held across a sleep, after a sleep", lock_after_sleep, NULL, true, false,
     REQUESTS, 0},
    {"a lock that each holds across a component", lock_and_wait, NULL, false, false,
     REQUESTS, RESERVE_FEW},
    {"a lock that each holds across a sleep", lock_across, NULL, true, false, REQUESTS,
     RESERVE_FEW},
    {"a lock, by cpt_mutex_acquire()", acquire_blocking, NULL, true, false, REQUESTS,
     0},
    {"a semaphore", count_blocking, NULL, false, false, REQUESTS, 0},
    {"a lock within done", give, NULL, true, true, REQUESTS, RESERVE_FEW},
    {"a lock that a component keeps", keep_in_component, NULL, false, false, REQUESTS,
     0},
    {"components that block again and again", wait_for_polling, NULL, false, false,
     POLLING, 0},
    {"what another request answers", ask_another, NULL, false, false, 40, 0},
    {"all of these at once", run_any, give_part_late, true, true, REQUESTS, 0},
};

static const struct scenario *scenario;

/* How many calls of pthread_create() still fail: test_stealing.c. */
extern atomic_int create_failures;
static bool has_no_threads; /* once the pool is made */

static void note_done(struct cpt_request *request, void *context)
{
    const int *output = cpt_request_output(request);
    struct cpt_path *path = NULL;

    if (scenario->locks_at_end && *(int *)context != 0) { /* not the holder */
        cpt_mutex_lock(all.mutex);
        cpt_mutex_unlock(all.mutex);
    }
    if (cpt_request_latency_ns(request) != 0) {
        path = cpt_path_new(NULL);
        if (cpt_request_path(request, path, NULL) != CPT_OK ||
            cpt_path_check(path, cpt_request_latency_ns(request), NULL) != CPT_OK) {
            atomic_fetch_add(&all.bad_path_count, 1);
        }
        cpt_path_free(path);
    }
    atomic_fetch_add(&all.good_count, output != NULL && *output == *(int *)context);
    atomic_fetch_add(&all.done_count, 1);
}

static void note_gone(void *context)
{
    (void)context;
    atomic_fetch_add(&all.gone_count, 1);
    (void)sem_post(&all.gone);
}

/* --- The holder --- */

static cpt_status hold_still(struct cpt_task *task)
{
    *cpt_output(task, page) = 0;
    return CPT_OK; /* the lock is released with the request */
}

static cpt_status hold_across(struct cpt_task *task)
{
    struct cpt_pending *disk = cpt_sleep(task, "disk", 20 * MS);

    atomic_store(&all.is_held, true); /* the timer is set */
    return cpt_await(task, disk, hold_still);
}

static cpt_status hold(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, all.mutex), hold_across);
}

ONE_TASK_GRAPH(holder, "holder", hold);

/* --- Running one --- */

static int numbers[REQUESTS + 1];

static void start(const struct cpt_plan *plan, int number, uint64_t timeout_ns)
{
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = all.pool,
                                                .input = &numbers[number],
                                                .done = note_done,
                                                .gone = note_gone,
                                                .context = &numbers[number],
                                                .is_traced = number % 2,
                                                .timeout_ns = timeout_ns};

    numbers[number] = number;
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
}

static struct cpt_executor *new_pool(unsigned workers, unsigned extra)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = workers,
                                             .extra_worker_count_max = extra};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    return pool;
}

static struct cpt_plan *new_plan(const struct cpt_graph *graph)
{
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    return plan;
}

static void begin(unsigned workers, unsigned extra)
{
    struct cpt_shared_options sharing = {.struct_bytes = sizeof sharing,
                                         .name = "shared"};

    atomic_store(&all.is_held, false);
    atomic_store(&all.done_count, 0);
    atomic_store(&all.gone_count, 0);
    atomic_store(&all.answer_count, 0);
    atomic_store(&all.polling_count, 0);
    atomic_store(&all.good_count, 0);
    atomic_store(&all.bad_path_count, 0);
    (void)sem_init(&all.gone, 0, 0);
    all.pool = new_pool(workers, extra);
    all.other = new_pool(1, extra);
    all.mutex = cpt_mutex_new("cache", NULL);
    all.semaphore = cpt_semaphore_new("connections", 3, NULL);
    all.leaf = new_plan(&leaf_graph);
    all.nested = new_plan(&nested_graph);
    all.there = new_plan(&there_graph);
    all.answering = new_plan(&answering_graph);
    all.keeping = new_plan(&keeping_graph);
    all.polling = new_plan(&polling_graph);
    sharing.plan = all.leaf;
    all.shared = cpt_shared_new(&sharing, NULL);
}

static void end(void)
{
    cpt_shared_free(all.shared);
    cpt_pool_free(all.pool);
    cpt_pool_free(all.other);
    cpt_plan_free(all.leaf);
    cpt_plan_free(all.nested);
    cpt_plan_free(all.there);
    cpt_plan_free(all.answering);
    cpt_plan_free(all.keeping);
    cpt_plan_free(all.polling);
    cpt_mutex_free(all.mutex);
    cpt_semaphore_free(all.semaphore);
    (void)sem_destroy(&all.gone);
}

/* Until @count requests, and those that they started, are gone, but not for ever. */
static bool wait_for_gone(int count)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (atomic_load(&all.gone_count) < count + atomic_load(&all.answer_count)) {
        if (sem_timedwait(&all.gone, &until) != 0) {
            return false;
        }
    }
    return true;
}

static void run_one(unsigned workers, unsigned extra, uint64_t timeout_ns)
{
    const struct cpt_task_def tasks[] = {
        {"one",
         scenario->run,
         CPT_GIVES(page),
         CPT_NEEDS(query),
         {scenario->starts_run != NULL ? &cpt_value_part : NULL},
         NULL},
        {"part",
         scenario->starts_run,
         CPT_GIVES(part),
         CPT_NEEDS(query),
         {NULL},
         NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(query), CPT_GIVES(page), tasks,
                                    scenario->starts_run != NULL ? 2 : 1};
    struct cpt_plan *holder = new_plan(&holder_graph);
    const int count = scenario->count + scenario->has_holder;
    struct cpti_pool_counts counts;
    bool is_over = false;

    begin(workers, extra);
    all.plan = new_plan(&graph);
    if (scenario->has_holder) {
        start(holder, 0, 0);
        while (!atomic_load(&all.is_held)) {
            (void)usleep(100);
        }
    }
    atomic_store(&create_failures, has_no_threads ? 1 << 30 : 0);
    for (int i = 1; i <= scenario->count; i++) {
        start(all.plan, i, timeout_ns);
    }
    is_over = wait_for_gone(count);
    atomic_store(&create_failures, 0);
    counts = cpti_pool_count(all.pool);
    if (!is_over || counts.extra > extra ||
        (scenario->reserve_max != 0 && counts.reserve > scenario->reserve_max)) {
        printf("\n  %s: %u workers, %u extra: %d of %d gone, %u threads beyond\n",
               scenario->name, workers, extra, atomic_load(&all.gone_count), count,
               counts.reserve);
    }
    CU_ASSERT_TRUE_FATAL(is_over);
    CU_ASSERT_EQUAL(atomic_load(&all.good_count), count);
    CU_ASSERT_EQUAL(atomic_load(&all.bad_path_count), 0);
    CU_ASSERT_TRUE(counts.extra <= extra);
    CU_ASSERT_TRUE(scenario->reserve_max == 0 ||
                   counts.reserve <= scenario->reserve_max);
    cpt_plan_free(all.plan);
    cpt_plan_free(holder);
    end();
}

static void test_all_end(void)
{
    static const unsigned extras[] = {1, 2, 64};
    const char *text = getenv("CPT_TEST_BLOCKED");
    const int rounds = text != NULL ? atoi(text) : 1;
    const bool tells = getenv("CPT_TEST_TELL") != NULL;

    text = getenv("CPT_TEST_SEED");
    seed = text != NULL ? strtoull(text, NULL, 0) : cpti_now_ns();
    printf("(seed %llu) ", (unsigned long long)seed);

    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        scenario = &scenarios[i];
        for (unsigned k = 0; k < 12 * (unsigned)rounds; k++) {
            const uint64_t begin_ns = cpti_now_ns();

            seed += REQUESTS;
            run_one(1 + k % 4, extras[k / 4 % 3],
                    k % 2 != 0 ? PATIENCE_S * 1000 * MS : 0);
            if (tells) {
                printf("%s %u %u: %llu ms\n", scenario->name, 1 + k % 4,
                       extras[k / 4 % 3],
                       (unsigned long long)((cpti_now_ns() - begin_ns) / MS));
            }
        }
    }
}

/* --- Steps that wait for the world, and one that has a lock --- */

enum { STALLED = 3, LOCKING = REQUESTS / 2 };

static struct cpt_pending *_Atomic disk;
static struct cpt_pending *_Atomic stalled[STALLED];
static atomic_int stalled_count;

static cpt_status lock_for_disk(struct cpt_task *task)
{
    cpt_mutex_lock(all.mutex);
    atomic_store(&disk, cpt_defer(task, "disk"));
    atomic_store(&all.is_held, true);
    return cpt_await(task, atomic_load(&disk), unlock_late);
}

static cpt_status stall(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_defer(task, "outside");

    atomic_store(&stalled[atomic_load(&stalled_count)], pending); /* one at a time */
    atomic_fetch_add(&stalled_count, 1);
    *cpt_output(task, page) = *cpt_input(task, query);
    return cpt_wait(task, pending);
}

/* All threads wait for the world, and one more. */
static void stall_pool(const struct cpt_plan *stalling, int *number)
{
    atomic_store(&stalled_count, 0);
    for (int i = 0; i < STALLED; i++) {
        start(stalling, ++*number, 0);
    }
    while (atomic_load(&stalled_count) < STALLED) {
        (void)usleep(100);
    }
}

static void end_stalls(void)
{
    for (int i = 0; i < STALLED; i++) {
        cpt_complete(atomic_load(&stalled[i]), CPT_OK);
    }
}

/* Holds the lock for one nap after the other: its rest is always needed, and newest. */
static cpt_status nap_on(struct cpt_task *task)
{
    return atomic_load(&all.is_held)
               ? cpt_await(task, cpt_sleep(task, "nap", MS / 10), nap_on)
               : unlock_late(task);
}

static cpt_status lock_and_nap(struct cpt_task *task)
{
    cpt_mutex_lock(all.mutex);
    atomic_store(&all.is_held, true);
    return nap_on(task);
}

ONE_TASK_GRAPH(holding, "long", lock_for_disk);
ONE_TASK_GRAPH(stalling, "outside", stall);
ONE_TASK_GRAPH(locking, "brief", lock_briefly);
ONE_TASK_GRAPH(napping, "naps", lock_and_nap);

static const struct scenario with_stalled = {"a lock, while threads wait for the world",
                                             lock_briefly,
                                             NULL,
                                             false,
                                             true,
                                             LOCKING,
                                             LOCKING / 4};

/* A pool of two threads, and one more, wait for the world; the rest of the step that
 * has the lock stands in the middle of the line, and `done` takes the lock, too. The
 * valve lets that rest through before the others, each of which would block one more
 * thread; and no step that is to get the lock next lies below it on its stack. */
static void test_needed_first(void)
{
    struct cpt_plan *holding = new_plan(&holding_graph);
    struct cpt_plan *stalling = new_plan(&stalling_graph);
    struct cpt_plan *locking = new_plan(&locking_graph);
    int number = 0;

    scenario = &with_stalled;
    begin(1, 1);
    start(holding, ++number, 0);
    while (!atomic_load(&all.is_held)) {
        (void)usleep(100);
    }
    stall_pool(stalling, &number);
    for (int i = 0; i < LOCKING; i++) {
        if (i == LOCKING / 2) {
            cpt_complete(atomic_load(&disk), CPT_OK);
        }
        start(locking, ++number, 0);
    }
    CU_ASSERT_TRUE_FATAL(wait_for_gone(1));
    CU_ASSERT_TRUE(cpti_pool_count(all.pool).reserve <= scenario->reserve_max);
    end_stalls();
    CU_ASSERT_TRUE_FATAL(wait_for_gone(number));
    CU_ASSERT_EQUAL(atomic_load(&all.done_count), number);
    cpt_plan_free(holding);
    cpt_plan_free(stalling);
    cpt_plan_free(locking);
    end();
}

/* The oldest in the line has its turn, though the newest is needed in each. */
static void test_oldest_at_last(void)
{
    struct cpt_plan *napping = new_plan(&napping_graph);
    struct cpt_plan *stalling = new_plan(&stalling_graph);
    int number = 0;

    scenario = &scenarios[0];
    begin(1, 1);
    start(napping, ++number, 0);
    while (!atomic_load(&all.is_held)) {
        (void)usleep(100);
    }
    stall_pool(stalling, &number);
    start(all.leaf, ++number, 0); /* the valve may be open */
    start(all.leaf, ++number, 0);
    CU_ASSERT_TRUE_FATAL(wait_for_gone(2));
    atomic_store(&all.is_held, false);
    end_stalls();
    CU_ASSERT_TRUE_FATAL(wait_for_gone(number));
    cpt_plan_free(napping);
    cpt_plan_free(stalling);
    end();
}

/* As if the system had no more threads: what is needed runs on those that block. */
static void test_without_more_threads(void)
{
    static const cpt_task_fn runs[] = {wait_for_component, wait_for_nested,
                                       wait_for_part,      lock_briefly,
                                       lock_and_wait,      wait_for_inline};

    has_no_threads = true;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
            scenario = &scenarios[i];
            if (scenario->run == runs[k] && scenario->starts_run != give_part_late) {
                run_one(1, 1, 0);
                run_one(2, 1, 0);
            }
        }
    }
    has_no_threads = false;
}

extern CU_TestInfo cpt_blocked_tests[];
CU_TestInfo cpt_blocked_tests[] = {
    {"200 blocked steps on pools of 1 to 4: all end", test_all_end},
    {"what is needed first, though others wait for the world", test_needed_first},
    {"the oldest at last, though the newest is needed", test_oldest_at_last},
    {"also where the system makes no more threads", test_without_more_threads},
    CU_TEST_INFO_NULL,
};
