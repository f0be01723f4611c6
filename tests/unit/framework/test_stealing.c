/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_stealing.c - what a pool guarantees besides running work: which thread is woken,
 * whose turn it is, which thread replaces a blocked worker, and that the owner of the
 * last work may free it
 *
 * Worker threads record events; the test checks them afterwards.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "framework/pool/pool.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct cpt_executor *pool;

static void make_pool(unsigned worker_count, unsigned extra)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = worker_count,
                                             .extra_worker_count_max = extra};

    pool = cpt_pool_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

/* --- Trees of works, from many threads --- */

enum { SUBMITTERS = 3, DEPTH = 6, FANOUT = 3, ROUNDS = 3 };

struct node {
    struct cpt_work work;
    int depth;
    atomic_int *left; /* works that have not run */
    sem_t *end;
};

static void run_node(struct cpt_work *work)
{
    struct node *node = (struct node *)work;

    for (int i = 0; node->depth > 0 && i < FANOUT; i++) {
        struct node *child = malloc(sizeof *child);

        *child = *node;
        child->depth--;
        atomic_fetch_add(node->left, 1);
        pool->submit(pool, &child->work);
    }
    if (atomic_fetch_sub(node->left, 1) == 1) {
        (void)sem_post(node->end);
    }
    free(node);
}

/* A tree of works, and its end. */
static void *run_tree(void *context)
{
    atomic_int left = 1;
    sem_t end;
    struct node *root = malloc(sizeof *root);

    (void)sem_init(&end, 0, 0);
    *root =
        (struct node){.work.run = run_node, .depth = DEPTH, .left = &left, .end = &end};
    pool->submit(pool, &root->work);
    wait_for(&end);
    atomic_fetch_add((atomic_int *)context, atomic_load(&left) == 0);
    (void)sem_destroy(&end);
    return NULL;
}

static void test_trees_of_works(void)
{
    for (unsigned worker_count = 1; worker_count <= 8; worker_count++) {
        for (int round = 0; round < ROUNDS; round++) {
            pthread_t submitters[SUBMITTERS];
            atomic_int right_count = 0;

            make_pool(worker_count, 0);
            for (int i = 0; i < SUBMITTERS; i++) {
                (void)pthread_create(&submitters[i], NULL, run_tree, &right_count);
            }
            for (int i = 0; i < SUBMITTERS; i++) {
                (void)pthread_join(submitters[i], NULL);
            }
            cpt_pool_free(pool);
            CU_ASSERT_EQUAL(atomic_load(&right_count), SUBMITTERS);
        }
    }
}

/* --- Freed by the owner of the last work --- */

struct last {
    struct cpt_work work;
    sem_t has_run;
};

static void run_last(struct cpt_work *work)
{
    (void)sem_post(&((struct last *)work)->has_run);
}

static void *submit_last(void *context)
{
    pool->submit(pool, context);
    return NULL;
}

static void test_freed_once_the_last_work_has_run(void)
{
    for (unsigned round = 0; round < 200; round++) {
        struct last last = {.work.run = run_last};
        pthread_t submitter;

        (void)sem_init(&last.has_run, 0, 0);
        make_pool(1 + round % 8, 0);
        (void)pthread_create(&submitter, NULL, submit_last, &last);
        wait_for(&last.has_run);
        cpt_pool_free(pool);
        (void)pthread_join(submitter, NULL);
        (void)sem_destroy(&last.has_run);
    }
}

/* --- Which thread is woken --- */

static void test_one_work_wakes_one_thread(void)
{
    struct last last = {.work.run = run_last};

    (void)sem_init(&last.has_run, 0, 0);
    make_pool(4, 0); /* its threads sleep from the beginning */
    pool->submit(pool, &last.work);
    wait_for(&last.has_run);
    (void)usleep(2000);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).woken, 1);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).inbox, 1);
    cpt_pool_free(pool);
    (void)sem_destroy(&last.has_run);
}

struct chain {
    struct cpt_work work;
    int left;
    sem_t end;
};

static void run_link(struct cpt_work *work)
{
    struct chain *chain = (struct chain *)work;

    if (--chain->left == 0) {
        (void)sem_post(&chain->end);
    } else {
        pool->submit(pool, work);
    }
}

static void test_no_thread_is_woken_if_none_sleeps(void)
{
    struct chain chain = {.work.run = run_link, .left = 10000};

    (void)sem_init(&chain.end, 0, 0);
    make_pool(1, 0);
    pool->submit(pool, &chain.work);
    wait_for(&chain.end);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).woken, 1);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).stolen, 0);
    cpt_pool_free(pool);
    (void)sem_destroy(&chain.end);
}

/* --- Fairness --- */

struct huge {
    struct cpt_work work;
    int count;
    int stop_at;
    sem_t reached; /* the point where it waits once … */
    sem_t go_on;   /* … for this */
    sem_t end;
    atomic_int small_at;
};

struct small {
    struct cpt_work work;
    struct huge *huge;
};

enum { HUGE_WAITS_AT = 1000, HUGE_ENDS_AT = 3000, TURN = 61 };

static void run_huge(struct cpt_work *work)
{
    struct huge *huge = (struct huge *)work;

    if (++huge->count == HUGE_WAITS_AT) {
        (void)sem_post(&huge->reached);
        wait_for(&huge->go_on);
    }
    if (huge->count == HUGE_ENDS_AT) {
        (void)sem_post(&huge->end);
    } else {
        pool->submit(pool, work);
    }
}

static void run_small(struct cpt_work *work)
{
    struct huge *huge = ((struct small *)work)->huge;

    atomic_store(&huge->small_at, huge->count);
}

static void init_huge(struct huge *huge, void (*run)(struct cpt_work *))
{
    *huge = (struct huge){.work.run = run};
    (void)sem_init(&huge->reached, 0, 0);
    (void)sem_init(&huge->go_on, 0, 0);
    (void)sem_init(&huge->end, 0, 0);
}

static void deinit_huge(struct huge *huge)
{
    (void)sem_destroy(&huge->reached);
    (void)sem_destroy(&huge->go_on);
    (void)sem_destroy(&huge->end);
}

static void test_a_huge_one_does_not_starve_a_small_one(void)
{
    struct huge huge;
    struct small small = {{NULL, run_small}, &huge};

    init_huge(&huge, run_huge);
    make_pool(1, 0);
    pool->submit(pool, &huge.work);
    wait_for(&huge.reached);
    pool->submit(pool, &small.work);
    (void)sem_post(&huge.go_on);
    wait_for(&huge.end);
    CU_ASSERT_TRUE(atomic_load(&huge.small_at) >= HUGE_WAITS_AT);
    CU_ASSERT_TRUE(atomic_load(&huge.small_at) <= HUGE_WAITS_AT + TURN);
    cpt_pool_free(pool);
    deinit_huge(&huge);
}

/* Does not return to its worker by itself, but checks whether to yield. */
static void run_long(struct cpt_work *work)
{
    struct huge *huge = (struct huge *)work;

    if (huge->count == 0) {
        huge->count = pool->yield(pool, work) ? -1 : 1; /* nothing waits */
        (void)sem_post(&huge->reached);
        wait_for(&huge->go_on);
        while (!pool->yield(pool, work)) {
            huge->count++;
        }
        return;
    }
    huge->stop_at = atomic_load(&huge->small_at); /* has it run? */
    (void)sem_post(&huge->end);
}

static void test_a_long_one_yields(void)
{
    struct huge huge;
    struct small small = {{NULL, run_small}, &huge};

    init_huge(&huge, run_long);
    make_pool(1, 0);
    CU_ASSERT_EQUAL(pool->hunger(pool), 0);
    pool->submit(pool, &huge.work);
    wait_for(&huge.reached);
    pool->submit(pool, &small.work);
    CU_ASSERT_EQUAL(pool->hunger(pool), CPT_HUNGRY_WORK);
    (void)sem_post(&huge.go_on);
    wait_for(&huge.end);
    CU_ASSERT_TRUE(huge.count > 0);
    CU_ASSERT_TRUE(huge.stop_at > 0);
    cpt_pool_free(pool);
    deinit_huge(&huge);
}

/* --- A full deque --- */

enum { SPILL_MAX = 300 };

struct burst {
    struct cpt_work work;
    int count;
    struct cpt_work works[SPILL_MAX];
    atomic_int run_count;
};

static struct burst burst;

static void run_one_of_burst(struct cpt_work *work)
{
    (void)work;
    atomic_fetch_add(&burst.run_count, 1);
}

static void run_burst(struct cpt_work *work)
{
    (void)work;
    for (int i = 0; i < burst.count; i++) {
        burst.works[i].run = run_one_of_burst;
        pool->submit(pool, &burst.works[i]);
    }
}

static void test_what_a_deque_cannot_hold_goes_through_the_inbox(void)
{
    static const int counts[] = {255, 256, 257, SPILL_MAX};

    for (int i = 0; i < 4; i++) {
        make_pool(1, 0);
        burst.count = counts[i];
        atomic_store(&burst.run_count, 0);
        burst.work.run = run_burst;
        pool->submit(pool, &burst.work);
        while (atomic_load(&burst.run_count) < burst.count) {
            (void)usleep(100);
        }
        CU_ASSERT_EQUAL(cpti_pool_count(pool).spilled,
                        (uint64_t)(burst.count > 256 ? burst.count - 256 : 0));
        cpt_pool_free(pool);
    }
}

/* --- Workers that block --- */

struct blocking {
    struct cpt_work work;
    sem_t is_blocked;
    sem_t go_on;
    sem_t end;
};

static void run_blocking(struct cpt_work *work)
{
    struct blocking *blocking = (struct blocking *)work;

    pool->block(pool, 1);
    pool->block(pool, 1); /* nested: counts once */
    (void)sem_post(&blocking->is_blocked);
    wait_for(&blocking->go_on);
    pool->block(pool, 0);
    pool->block(pool, 0);
    pool->block(pool, 0); /* one too many has no effect */
    (void)sem_post(&blocking->end);
}

static void init_blocking(struct blocking *blocking)
{
    *blocking = (struct blocking){.work.run = run_blocking};
    (void)sem_init(&blocking->is_blocked, 0, 0);
    (void)sem_init(&blocking->go_on, 0, 0);
    (void)sem_init(&blocking->end, 0, 0);
}

static void deinit_blocking(struct blocking *blocking)
{
    (void)sem_destroy(&blocking->is_blocked);
    (void)sem_destroy(&blocking->go_on);
    (void)sem_destroy(&blocking->end);
}

struct exclusive {
    struct cpt_work work;
    atomic_int *running;
    atomic_int *running_max;
    atomic_int *left;
};

static void run_exclusive(struct cpt_work *work)
{
    struct exclusive *exclusive = (struct exclusive *)work;
    const int running = atomic_fetch_add(exclusive->running, 1) + 1;
    int most = atomic_load(exclusive->running_max);

    while (running > most &&
           !atomic_compare_exchange_weak(exclusive->running_max, &most, running)) {
    }
    atomic_fetch_sub(exclusive->running, 1);
    atomic_fetch_sub(exclusive->left, 1);
}

/* Runs works on an idle pool. The largest number that ran at once. */
static int run_exclusives(void)
{
    enum { EXCLUSIVES = 500 };
    static struct exclusive works[EXCLUSIVES];
    atomic_int running = 0;
    atomic_int running_max = 0;
    atomic_int left = EXCLUSIVES;

    for (int i = 0; i < EXCLUSIVES; i++) {
        works[i] =
            (struct exclusive){{NULL, run_exclusive}, &running, &running_max, &left};
        pool->submit(pool, &works[i].work);
    }
    while (atomic_load(&left) > 0) {
        (void)usleep(100);
    }
    return atomic_load(&running_max);
}

static void test_another_takes_the_place_of_a_blocked_worker(void)
{
    enum { BLOCKED = 3 };
    static struct blocking blocked[BLOCKED];
    struct last last = {.work.run = run_last};

    (void)sem_init(&last.has_run, 0, 0);
    make_pool(1, BLOCKED);
    for (int i = 0; i < BLOCKED; i++) {
        init_blocking(&blocked[i]);
        pool->submit(pool, &blocked[i].work);
        wait_for(&blocked[i].is_blocked);
    }
    pool->submit(pool, &last.work);
    wait_for(&last.has_run);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).extra, BLOCKED);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).refused, 0);
    for (int i = 0; i < BLOCKED; i++) {
        (void)sem_post(&blocked[i].go_on);
        wait_for(&blocked[i].end);
    }
    (void)usleep(20000); /* until they sleep */
    CU_ASSERT_EQUAL(run_exclusives(), 1);
    cpt_pool_free(pool);
    for (int i = 0; i < BLOCKED; i++) {
        deinit_blocking(&blocked[i]);
    }
    (void)sem_destroy(&last.has_run);
}

static void test_limit_of_extra_workers(void)
{
    static struct blocking blocked[3];
    struct last last = {.work.run = run_last};

    (void)sem_init(&last.has_run, 0, 0);
    make_pool(1, 2);
    for (int i = 0; i < 3; i++) {
        init_blocking(&blocked[i]);
        pool->submit(pool, &blocked[i].work);
        wait_for(&blocked[i].is_blocked);
        CU_ASSERT_EQUAL(cpti_pool_count(pool).extra, (unsigned)(i < 2 ? i + 1 : 2));
        CU_ASSERT_EQUAL(cpti_pool_count(pool).refused, i < 2 ? 0 : 1);
    }
    pool->submit(pool, &last.work);
    (void)usleep(2000);
    CU_ASSERT_EQUAL(sem_trywait(&last.has_run), -1); /* no thread is free for it */
    (void)sem_post(&blocked[1].go_on);
    wait_for(&last.has_run);
    (void)sem_post(&blocked[0].go_on);
    (void)sem_post(&blocked[2].go_on);
    for (int i = 0; i < 3; i++) {
        wait_for(&blocked[i].end);
    }
    cpt_pool_free(pool);
    for (int i = 0; i < 3; i++) {
        deinit_blocking(&blocked[i]);
    }
    (void)sem_destroy(&last.has_run);
}

/* --- A system that creates no threads --- */

/* The number of calls that still fail, as if the system had no more threads. The linker
 * replaces pthread_create() by this. */
atomic_int create_failures;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *context), void *context)
{
    if (atomic_load(&create_failures) > 0) {
        atomic_fetch_sub(&create_failures, 1);
        return EAGAIN;
    }
    return __real_pthread_create(thread, attributes, run, context);
}

enum { REFUSALS = 200 }; /* more than the slots of the pool: 1 + 2 + 64 */

struct refused {
    struct cpt_work work;
    sem_t end;
    struct last last;
    unsigned extra_before;
    int has_last_run;
};

/* Blocks often while no thread can be created, then once more, with work for
 * another. */
static void run_refused(struct cpt_work *work)
{
    struct refused *refused = (struct refused *)work;
    struct timespec until;

    atomic_store(&create_failures, INT_MAX);
    for (int i = 0; i < REFUSALS; i++) {
        pool->block(pool, 1);
        pool->block(pool, 0);
    }
    atomic_store(&create_failures, 0);
    refused->extra_before = cpti_pool_count(pool).extra;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pool->submit(pool, &refused->last.work);
    pool->block(pool, 1);
    refused->has_last_run = sem_timedwait(&refused->last.has_run, &until) == 0;
    pool->block(pool, 0);
    (void)sem_post(&refused->end);
}

static void test_threads_that_could_not_be_made_take_no_place(void)
{
    static struct refused refused;

    refused = (struct refused){.work.run = run_refused, .last.work.run = run_last};
    (void)sem_init(&refused.end, 0, 0);
    (void)sem_init(&refused.last.has_run, 0, 0);
    make_pool(1, 2);
    pool->submit(pool, &refused.work);
    wait_for(&refused.end);
    CU_ASSERT_EQUAL(refused.extra_before, 0);
    CU_ASSERT_TRUE(refused.has_last_run);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).unmade, REFUSALS);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).refused, REFUSALS);
    CU_ASSERT_EQUAL(cpti_pool_count(pool).extra, 1);
    cpt_pool_free(pool);
    (void)sem_destroy(&refused.end);
    (void)sem_destroy(&refused.last.has_run);
}

/* Even the first thread of a new pool fails. */
static void test_a_pool_needs_its_threads(void)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = 2};
    struct cpt_error error = {0};

    atomic_store(&create_failures, 1);
    CU_ASSERT_PTR_NULL(cpt_pool_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_IO);
    CU_ASSERT_EQUAL(atomic_load(&create_failures), 0);
}

/* --- Foreign threads that take part --- */

static void test_a_foreign_thread_takes_part(void)
{
    struct blocking busy;
    struct cpt_executor *other = NULL;

    init_blocking(&busy);
    make_pool(1, 1);
    other = pool;
    CU_ASSERT_EQUAL(cpti_pool_adopt(cpt_executor_inline()), CPT_INVALID);
    CU_ASSERT_EQUAL(cpti_pool_adopt(pool), CPT_OK);
    CU_ASSERT_EQUAL(cpti_pool_adopt(other), CPT_INVALID); /* already */
    CU_ASSERT_EQUAL(cpti_pool_help_own(pool), 0);
    burst.count = 10;
    atomic_store(&burst.run_count, 0);
    run_burst(NULL);
    while (cpti_pool_help_own(pool)) {
    }
    while (atomic_load(&burst.run_count) < 10) {
        (void)usleep(100);
    }
    CU_ASSERT_EQUAL(cpti_pool_count(pool).inbox, 0);
    run_burst(NULL);
    cpti_pool_leave(pool); /* the rest is the pool's */
    while (atomic_load(&burst.run_count) < 20) {
        (void)usleep(100);
    }
    CU_ASSERT_EQUAL(pool->help(pool), 0);
    cpt_pool_free(pool);
    deinit_blocking(&busy);
}

static pthread_barrier_t adopted;

static void *take_part(void *context)
{
    const cpt_status status = cpti_pool_adopt(pool);

    (void)pthread_barrier_wait(&adopted);
    if (status == CPT_OK) {
        cpti_pool_leave(pool);
    }
    atomic_fetch_add((atomic_int *)context, status == CPT_OK);
    return NULL;
}

static void test_limit_of_foreign_threads(void)
{
    enum { ADOPTED_MAX = 64 };

    for (unsigned count = ADOPTED_MAX - 1; count <= ADOPTED_MAX + 1; count++) {
        pthread_t threads[ADOPTED_MAX + 1];
        atomic_int ok_count = 0;

        make_pool(1, 0);
        (void)pthread_barrier_init(&adopted, NULL, count);
        for (unsigned i = 0; i < count; i++) {
            (void)pthread_create(&threads[i], NULL, take_part, &ok_count);
        }
        for (unsigned i = 0; i < count; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        (void)pthread_barrier_destroy(&adopted);
        CU_ASSERT_EQUAL(atomic_load(&ok_count),
                        (int)(count < ADOPTED_MAX ? count : ADOPTED_MAX));
        CU_ASSERT_EQUAL(cpti_pool_adopt(pool), CPT_OK); /* slots are free again */
        cpti_pool_leave(pool);
        cpt_pool_free(pool);
    }
}

/* --- Timers against threads that cancel them --- */

enum { RACES = 400 };

struct race {
    struct cpt_timer timer;
    atomic_int fired;
    int cancelled;
};

static void note_fired(struct cpt_timer *timer)
{
    atomic_fetch_add(&((struct race *)timer)->fired, 1);
}

static void *cancel_some(void *context)
{
    struct race *races = context;

    for (int i = 0; i < RACES; i++) {
        if (i % 8 == 0) {
            (void)usleep(50);
        }
        races[i].cancelled = pool->cancel(pool, &races[i].timer);
    }
    return NULL;
}

static void test_a_timer_fires_once_or_is_cancelled(void)
{
    static struct race races[RACES];
    uint64_t random = 99;
    pthread_t canceller;
    int wrong_count = 0;

    make_pool(2, 0);
    for (int i = 0; i < RACES; i++) {
        races[i] = (struct race){.timer.fire = note_fired};
        (void)pool->after(pool, &races[i].timer, virtual_random(&random, 5000000));
    }
    (void)pthread_create(&canceller, NULL, cancel_some, races);
    (void)pthread_join(canceller, NULL);
    (void)usleep(10000);
    cpt_pool_free(pool);
    for (int i = 0; i < RACES; i++) {
        wrong_count += atomic_load(&races[i].fired) + races[i].cancelled != 1;
    }
    CU_ASSERT_EQUAL(wrong_count, 0);
}

/* --- Options, memory --- */

static void test_extra_option_is_checked(void)
{
    struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                       .worker_count = 1};
    struct cpt_error error = {0};

    for (unsigned extra = 4095; extra <= 4097; extra++) {
        options.extra_worker_count_max = extra;
        pool = cpt_pool_new(&options, &error);
        CU_ASSERT_EQUAL(pool != NULL, extra <= 4096);
        cpt_pool_free(pool);
    }
    CU_ASSERT_EQUAL(error.status, CPT_LIMIT);
}

static void test_every_allocation_may_fail(void)
{
    struct failing_alloc failing;
    struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                       .worker_count = 2};
    size_t call_count = 1;

    for (size_t refused = 0; refused <= call_count; refused++) {
        failing_alloc_init(&failing, refused);
        options.alloc = &failing.alloc;
        pool = cpt_pool_new(&options, NULL);
        CU_ASSERT_EQUAL(pool != NULL, refused == 0);
        cpt_pool_free(pool);
        call_count = refused == 0 ? failing.call_count : call_count;
        CU_ASSERT_EQUAL(failing.live_count, 0);
    }
}

CU_TestInfo cpt_stealing_tests[] = {
    {"trees of works from several threads, 1 to 8 workers", test_trees_of_works},
    {"a pool may be freed once its last work has run",
     test_freed_once_the_last_work_has_run},
    {"one work wakes one thread", test_one_work_wakes_one_thread},
    {"no thread is woken if none sleeps", test_no_thread_is_woken_if_none_sleeps},
    {"a huge request does not starve a small one",
     test_a_huge_one_does_not_starve_a_small_one},
    {"a long work yields when its turn is over", test_a_long_one_yields},
    {"works beyond a deque go through the inbox",
     test_what_a_deque_cannot_hold_goes_through_the_inbox},
    {"another thread replaces a blocked worker meanwhile",
     test_another_takes_the_place_of_a_blocked_worker},
    {"the number of extra workers is limited", test_limit_of_extra_workers},
    {"threads that could not be created take no slot",
     test_threads_that_could_not_be_made_take_no_place},
    {"a pool needs its threads", test_a_pool_needs_its_threads},
    {"a foreign thread takes part", test_a_foreign_thread_takes_part},
    {"the number of foreign threads is limited", test_limit_of_foreign_threads},
    {"a timer fires once or is cancelled", test_a_timer_fires_once_or_is_cancelled},
    {"the option of extra workers is checked", test_extra_option_is_checked},
    {"every allocation may fail", test_every_allocation_may_fail},
    CU_TEST_INFO_NULL,
};
