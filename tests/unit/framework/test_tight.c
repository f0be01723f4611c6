/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_tight.c - pools whose threads block: what may run is run soon
 *
 * That no more threads can be made for a while; and a lock that tasks hand over beside
 * threads that wait for the world.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"

#include "cpt/now.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_mutex.h"
#include "framework/cpt_runtime.h"
#include "framework/pool/pool.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
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

extern CU_TestInfo cpt_tight_tests[];
CU_TestInfo cpt_tight_tests[] = {
    {"threads that could not be made are made later", test_threads_are_made_later},
    CU_TEST_INFO_NULL,
};
