/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_tight.c - pools whose threads block: what may run is run soon
 *
 * That no more threads can be made for a while; a lock that tasks hand over beside
 * threads that wait for the world; and locks where no thread can be made at all.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/base/now.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_runtime.h"
#include "framework/pool/pool.h"

#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* How many calls of pthread_create() still fail: test_stealing.c. */
extern atomic_int create_failures;

static struct cpt_executor *pool;

static void make_pool(unsigned workers, unsigned extra)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = workers,
                                             .extra_worker_count_max = extra};

    pool = cpt_pool_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
}

/* Whether @semaphore is posted, within half a minute. */
static bool comes(sem_t *semaphore)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    return sem_timedwait(semaphore, &until) == 0;
}

/* --- Threads that cannot be made for a while --- */

struct note {
    struct cpt_work work;
    sem_t has_run;
};

struct blocker {
    struct cpt_work work;
    struct note note; /* for another thread */
    sem_t is_blocked;
    sem_t end;
    bool has_run;
};

static void run_note(struct cpt_work *work)
{
    (void)sem_post(&((struct note *)work)->has_run);
}

/* In code of the application. */
static void run_blocker(struct cpt_work *work)
{
    struct blocker *blocker = (struct blocker *)work;

    pool->submit(pool, &blocker->note.work);
    pool->block(pool, 1);
    (void)sem_post(&blocker->is_blocked);
    blocker->has_run = comes(&blocker->note.has_run);
    pool->block(pool, 0);
    (void)sem_post(&blocker->end);
}

/* The calls of pthread_create() fail that would make another thread, and, with 2
 * @failures, the one that would try again: then that is tried when more work comes. */
static void run_short(int failures)
{
    static struct blocker blocker;
    static struct note late;

    blocker = (struct blocker){.work.run = run_blocker, .note.work.run = run_note};
    late = (struct note){.work.run = run_note};
    (void)sem_init(&blocker.note.has_run, 0, 0);
    (void)sem_init(&blocker.is_blocked, 0, 0);
    (void)sem_init(&blocker.end, 0, 0);
    (void)sem_init(&late.has_run, 0, 0);
    make_pool(1, 2);
    atomic_store(&create_failures, failures);
    pool->submit(pool, &blocker.work);
    CU_ASSERT_TRUE(comes(&blocker.is_blocked));
    CU_ASSERT_EQUAL(atomic_load(&create_failures), 0);
    atomic_store(&create_failures, 0);
    if (failures > 1) {
        pool->submit(pool, &late.work);
        CU_ASSERT_TRUE(comes(&late.has_run));
    }
    while (sem_wait(&blocker.end) != 0) {
    }
    CU_ASSERT_TRUE(blocker.has_run);
    cpt_pool_free(pool);
    (void)sem_destroy(&blocker.note.has_run);
    (void)sem_destroy(&blocker.is_blocked);
    (void)sem_destroy(&blocker.end);
    (void)sem_destroy(&late.has_run);
}

static void test_threads_are_made_later(void)
{
    run_short(1);
    run_short(2);
}

/* --- A lock that tasks hand over, beside threads that wait for the world --- */

enum { STALLED = 4, LOCKING = 20, SOON_MS = 3000, ATTEMPTS = 3 };

#define MS UINT64_C(1000000)

CPT_VALUE(query, int);
CPT_VALUE(page, int);

static struct {
    struct cpt_mutex *mutex;
    struct cpt_mutex *other;
    struct cpt_semaphore *semaphore;
    struct cpt_plan *leaf;
    struct cpt_pending *_Atomic disk; /* the first holder waits for it */
    struct cpt_pending *_Atomic outside[STALLED + LOCKING];
    atomic_int outside_count;
    atomic_int turn_count; /* of the lock */
    sem_t gone;
} all;

static cpt_status give(struct cpt_task *task)
{
    *cpt_output(task, page) = *cpt_input(task, query);
    return CPT_OK;
}

/* Blocks until the test ends. */
static cpt_status stall(struct cpt_task *task)
{
    struct cpt_pending *outside = cpt_defer(task, "outside");

    atomic_store(&all.outside[atomic_fetch_add(&all.outside_count, 1)], outside);
    (void)give(task);
    return cpt_wait(task, outside);
}

static cpt_status wait_for_disk(struct cpt_task *task)
{
    struct cpt_pending *disk = cpt_defer(task, "disk");

    atomic_store(&all.disk, disk);
    return cpt_await(task, disk, give);
}

static cpt_status be_first(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, all.mutex), wait_for_disk);
}

static cpt_status have_turn(struct cpt_task *task)
{
    atomic_fetch_add(&all.turn_count, 1);
    return give(task);
}

/* Has the lock until the request has ended. */
static cpt_status lock(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, all.mutex), have_turn);
}

struct turn {
    struct cpt_pending *lock;
};

static cpt_status stall_after_turn(struct cpt_task *task)
{
    struct turn *turn = cpt_state(task, struct turn);

    atomic_fetch_add(&all.turn_count, 1);
    cpt_mutex_release(turn->lock);
    return stall(task);
}

/* Gives the lock back, and then waits for the world. */
static cpt_status lock_and_stall(struct cpt_task *task)
{
    struct turn *turn = cpt_state(task, struct turn);

    turn->lock = cpt_mutex_acquire(task, all.mutex);
    return cpt_await(task, turn->lock, stall_after_turn);
}

#define ONE_TASK_GRAPH(name, run)                                                      \
    static const struct cpt_task_def name##_tasks[] = {                                \
        {#name, run, CPT_GIVES(page), CPT_NEEDS(query), {NULL}, NULL}};                \
    static const struct cpt_graph name##_graph = {"S", CPT_GIVES(query),               \
                                                  CPT_GIVES(page), name##_tasks, 1}

ONE_TASK_GRAPH(first, be_first);
ONE_TASK_GRAPH(stalling, stall);
ONE_TASK_GRAPH(locking, lock);
ONE_TASK_GRAPH(passing, lock_and_stall);

static void note_gone(void *context)
{
    (void)context;
    (void)sem_post(&all.gone);
}

/* `done` takes the lock, too. */
static void lock_at_end(struct cpt_request *request, void *context)
{
    (void)request;
    (void)context;
    cpt_mutex_lock(all.mutex);
    cpt_mutex_unlock(all.mutex);
}

static void start_with(const struct cpt_plan *plan,
                       void (*done)(struct cpt_request *request, void *context))
{
    static const int input;
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = pool,
                                                .input = &input,
                                                .done = done,
                                                .gone = note_gone};

    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
}

static void start(const struct cpt_plan *plan)
{
    start_with(plan, NULL);
}

static struct cpt_plan *new_plan(const struct cpt_graph *graph)
{
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    return plan;
}

/* Until @count has the @value, but not for ever. */
static void wait_for_count(atomic_int *count, int value)
{
    const uint64_t until_ns = cpti_now_ns() + 60000 * MS;

    while (atomic_load(count) < value && cpti_now_ns() < until_ns) {
        (void)usleep(200);
    }
    CU_ASSERT_EQUAL(atomic_load(count), value);
}

/* One has the lock, others stand in its line; then all threads, and more, wait for the
 * world. How long it takes until all had the lock. */
static uint64_t run_turns_ms(const struct cpt_graph *graph, int outside_count)
{
    struct cpt_plan *plans[] = {new_plan(&first_graph), new_plan(graph),
                                new_plan(&stalling_graph)};
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;

    make_pool(1, STALLED - 2);
    all.mutex = cpt_mutex_new("cache", NULL);
    (void)sem_init(&all.gone, 0, 0);
    atomic_store(&all.disk, NULL);
    atomic_store(&all.turn_count, 0);
    atomic_store(&all.outside_count, 0);
    start(plans[0]);
    while (atomic_load(&all.disk) == NULL) {
        (void)usleep(100);
    }
    for (int i = 0; i < LOCKING; i++) {
        start(plans[1]);
    }
    (void)usleep(5000); /* they stand in the line of the lock; else they do so later */
    for (int i = 0; i < STALLED; i++) {
        start(plans[2]);
    }
    wait_for_count(&all.outside_count, STALLED);
    begin_ns = cpti_now_ns();
    cpt_complete(atomic_load(&all.disk), CPT_OK);
    wait_for_count(&all.turn_count, LOCKING);
    end_ns = cpti_now_ns();
    wait_for_count(&all.outside_count, outside_count);
    for (int i = 0; i < outside_count; i++) {
        cpt_complete(atomic_load(&all.outside[i]), CPT_OK);
    }
    for (int i = 0; i < 1 + LOCKING + STALLED; i++) {
        CU_ASSERT_TRUE_FATAL(comes(&all.gone));
    }
    cpt_pool_free(pool);
    cpt_mutex_free(all.mutex);
    for (int i = 0; i < 3; i++) {
        cpt_plan_free(plans[i]);
    }
    (void)sem_destroy(&all.gone);
    return (end_ns - begin_ns) / MS;
}

static void check_turns(const struct cpt_graph *graph, int outside_count)
{
    uint64_t took_ms = UINT64_MAX;

    for (int i = 0; i < ATTEMPTS && took_ms > SOON_MS; i++) {
        took_ms = run_turns_ms(graph, outside_count);
        printf("(%d ms) ", (int)took_ms);
    }
    CU_ASSERT_TRUE(took_ms <= SOON_MS);
}

static void test_turns_come_soon(void)
{
    check_turns(&locking_graph, STALLED);
}

static void test_turns_come_soon_though_each_stalls(void)
{
    check_turns(&passing_graph, STALLED + LOCKING);
}

/* --- Where no thread can be made, the step that goes on runs on top of another --- */

enum { FEW = 6 };

/* Holds the lock while it sleeps. */
static cpt_status unlock(struct cpt_task *task)
{
    cpt_mutex_unlock(all.mutex);
    return give(task);
}

static cpt_status lock_across(struct cpt_task *task)
{
    cpt_mutex_lock(all.mutex);
    return cpt_await(task, cpt_sleep(task, "nap", MS / 10), unlock);
}

/* Blocks until it has the lock. */
static cpt_status acquire_blocking(struct cpt_task *task)
{
    struct cpt_pending *own = cpt_mutex_acquire(task, all.mutex);
    const cpt_status status = cpt_wait(task, own);

    cpt_mutex_release(own);
    (void)give(task);
    return status;
}

/* The same with a semaphore, twice: the second time in the step that gives it back, on
 * top of a step that waits for it. */
static cpt_status take_again(struct cpt_task *task)
{
    struct turn *turn = cpt_state(task, struct turn);
    cpt_status status = CPT_OK;

    cpt_semaphore_release(turn->lock);
    turn->lock = cpt_semaphore_acquire(task, all.semaphore);
    status = cpt_wait(task, turn->lock);
    cpt_semaphore_release(turn->lock);
    (void)give(task);
    return status;
}

static cpt_status keep_one(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS / 10), take_again);
}

static cpt_status take_one(struct cpt_task *task)
{
    struct turn *turn = cpt_state(task, struct turn);

    turn->lock = cpt_semaphore_acquire(task, all.semaphore);
    return cpt_await(task, turn->lock, keep_one);
}

static cpt_status nap(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "nap", MS / 10), give);
}

ONE_TASK_GRAPH(napping, nap);
ONE_TASK_GRAPH(across, lock_across);
ONE_TASK_GRAPH(acquiring, acquire_blocking);
ONE_TASK_GRAPH(counting, take_one);

static void
run_without_threads(const struct cpt_graph *one, const struct cpt_graph *other,
                    void (*done)(struct cpt_request *request, void *context))
{
    struct cpt_plan *plans[] = {new_plan(one), new_plan(other),
                                new_plan(&napping_graph)};
    bool is_over = true;

    make_pool(1, 1);
    all.mutex = cpt_mutex_new("cache", NULL);
    all.semaphore = cpt_semaphore_new("connection", 1, NULL);
    (void)sem_init(&all.gone, 0, 0);
    start(plans[2]); /* after that there is a thread for timers */
    CU_ASSERT_TRUE_FATAL(comes(&all.gone));
    atomic_store(&create_failures, INT_MAX);
    for (int i = 0; i < 2 * FEW; i++) {
        start_with(plans[i % 2], done);
    }
    for (int i = 0; i < 2 * FEW && is_over; i++) {
        is_over = comes(&all.gone);
    }
    atomic_store(&create_failures, 0);
    CU_ASSERT_TRUE_FATAL(is_over);
    cpt_pool_free(pool);
    cpt_mutex_free(all.mutex);
    cpt_semaphore_free(all.semaphore);
    for (int i = 0; i < 3; i++) {
        cpt_plan_free(plans[i]);
    }
    (void)sem_destroy(&all.gone);
}

static void test_lock_again(void)
{
    run_without_threads(&across_graph, &across_graph, lock_at_end);
}

static void test_lock_again_beside_acquire(void)
{
    run_without_threads(&across_graph, &acquiring_graph, lock_at_end);
}

static void test_count_again(void)
{
    run_without_threads(&counting_graph, &counting_graph, NULL);
}

/* --- Where no thread can be made, what a step waits for comes first --- */

/* Has one lock, and takes the other as it goes on. */
static cpt_status take_both(struct cpt_task *task)
{
    cpt_mutex_lock(all.mutex);
    cpt_mutex_unlock(all.mutex);
    return give(task);
}

static cpt_status wait_and_take_both(struct cpt_task *task)
{
    struct cpt_pending *disk = cpt_defer(task, "disk");

    atomic_store(&all.disk, disk);
    return cpt_await(task, disk, take_both);
}

static cpt_status lock_other(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, all.other), wait_and_take_both);
}

/* Waits for its component, behind a step that wants the lock that it has. */
static cpt_status lock_and_wait(struct cpt_task *task)
{
    struct cpt_pending *leaf = NULL;
    cpt_status status = CPT_OK;

    cpt_mutex_lock(all.mutex);
    cpt_complete(atomic_load(&all.disk), CPT_OK);
    leaf = cpt_spawn(task, "leaf", all.leaf, query, cpt_input(task, query));
    status = cpt_wait(task, leaf);
    cpt_mutex_unlock(all.mutex);
    (void)give(task);
    return status;
}

ONE_TASK_GRAPH(leaf, give);
ONE_TASK_GRAPH(both, lock_other);
ONE_TASK_GRAPH(waiting, lock_and_wait);

static void test_own_first(void)
{
    struct cpt_plan *plans[] = {new_plan(&both_graph), new_plan(&waiting_graph),
                                new_plan(&leaf_graph)};
    bool is_over = false;

    make_pool(1, 1);
    all.mutex = cpt_mutex_new("cache", NULL);
    all.other = cpt_mutex_new("index", NULL);
    all.leaf = plans[2];
    atomic_store(&all.disk, NULL);
    (void)sem_init(&all.gone, 0, 0);
    start(plans[0]);
    while (atomic_load(&all.disk) == NULL) {
        (void)usleep(100);
    }
    atomic_store(&create_failures, INT_MAX);
    start(plans[1]);
    is_over = comes(&all.gone) && comes(&all.gone);
    atomic_store(&create_failures, 0);
    CU_ASSERT_TRUE_FATAL(is_over);
    cpt_pool_free(pool);
    cpt_mutex_free(all.mutex);
    cpt_mutex_free(all.other);
    for (int i = 0; i < 3; i++) {
        cpt_plan_free(plans[i]);
    }
    (void)sem_destroy(&all.gone);
}

extern CU_TestInfo cpt_tight_tests[];
CU_TestInfo cpt_tight_tests[] = {
    {"threads that could not be made are made later", test_threads_are_made_later},
    {"a lock is handed over soon, beside threads that wait for the world",
     test_turns_come_soon},
    {"also if each that had it waits for the world",
     test_turns_come_soon_though_each_stalls},
    {"no threads: done takes the lock that a step below waits for", test_lock_again},
    {"also one that waits by cpt_wait()", test_lock_again_beside_acquire},
    {"also a semaphore that a step gives back and takes again", test_count_again},
    {"no threads: what a step waits for comes first", test_own_first},
    CU_TEST_INFO_NULL,
};
