/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_deque.c - the deque of a worker, and the locked deque that benchmarks compare it
 * with: both pass the same tests. */
#include "tests/support/suites.h"

#include "framework/pool/deque.h"
#include "tests/bench/deque_locked.h"

#include <pthread.h>
#include <string.h>

union deque {
    struct cpti_deque free;
    struct cpti_locked_deque locked;
};

struct kind {
    void (*init)(union deque *deque);
    void (*deinit)(union deque *deque);
    int (*is_empty)(union deque *deque);
    int (*push)(union deque *deque, struct cpt_work *work);
    struct cpt_work *(*pop)(union deque *deque);
    struct cpt_work *(*steal)(union deque *deque);
};

#define KIND(name, member, prefix)                                                     \
    static void name##_init(union deque *deque)                                        \
    {                                                                                  \
        prefix##_init(&deque->member);                                                 \
    }                                                                                  \
    static void name##_deinit(union deque *deque)                                      \
    {                                                                                  \
        prefix##_deinit(&deque->member);                                               \
    }                                                                                  \
    static int name##_is_empty(union deque *deque)                                     \
    {                                                                                  \
        return prefix##_is_empty(&deque->member);                                      \
    }                                                                                  \
    static int name##_push(union deque *deque, struct cpt_work *work)                  \
    {                                                                                  \
        return prefix##_push(&deque->member, work);                                    \
    }                                                                                  \
    static struct cpt_work *name##_pop(union deque *deque)                             \
    {                                                                                  \
        return prefix##_pop(&deque->member);                                           \
    }                                                                                  \
    static struct cpt_work *name##_steal(union deque *deque)                           \
    {                                                                                  \
        return prefix##_steal(&deque->member);                                         \
    }                                                                                  \
    static const struct kind name##_kind = {                                           \
        name##_init, name##_deinit, name##_is_empty,                                   \
        name##_push, name##_pop,    name##_steal}

KIND(free, free, cpti_deque);
KIND(locked, locked, cpti_locked_deque);

static const struct kind *const kinds[] = {&free_kind, &locked_kind};
enum { KINDS = 2 };

static union deque shared;

static void test_order(void)
{
    struct cpt_work works[4];

    for (int k = 0; k < KINDS; k++) {
        const struct kind *kind = kinds[k];

        kind->init(&shared);
        CU_ASSERT_TRUE(kind->is_empty(&shared));
        CU_ASSERT_PTR_NULL(kind->pop(&shared));
        CU_ASSERT_PTR_NULL(kind->steal(&shared));
        for (int i = 0; i < 4; i++) {
            CU_ASSERT_TRUE(kind->push(&shared, &works[i]));
        }
        CU_ASSERT_FALSE(kind->is_empty(&shared));
        CU_ASSERT_PTR_EQUAL(kind->pop(&shared), &works[3]);
        CU_ASSERT_PTR_EQUAL(kind->steal(&shared), &works[0]);
        CU_ASSERT_PTR_EQUAL(kind->steal(&shared), &works[1]);
        CU_ASSERT_PTR_EQUAL(kind->pop(&shared), &works[2]);
        CU_ASSERT_PTR_NULL(kind->pop(&shared));
        CU_ASSERT_PTR_NULL(kind->steal(&shared));
        CU_ASSERT_TRUE(kind->is_empty(&shared));
        kind->deinit(&shared);
    }
}

static void test_limit(void)
{
    static struct cpt_work works[CPTI_DEQUE_WORKS_MAX + 1];

    for (int k = 0; k < KINDS; k++) {
        const struct kind *kind = kinds[k];

        kind->init(&shared);
        /* Begins in the middle of the array, so that the indices wrap. */
        for (int i = 0; i < 100; i++) {
            CU_ASSERT_TRUE(kind->push(&shared, &works[i]));
            CU_ASSERT_PTR_EQUAL(kind->steal(&shared), &works[i]);
        }
        for (int i = 0; i < CPTI_DEQUE_WORKS_MAX; i++) {
            CU_ASSERT_TRUE(kind->push(&shared, &works[i]));
        }
        CU_ASSERT_FALSE(kind->push(&shared, &works[CPTI_DEQUE_WORKS_MAX]));
        CU_ASSERT_PTR_EQUAL(kind->steal(&shared), &works[0]);
        CU_ASSERT_TRUE(kind->push(&shared, &works[CPTI_DEQUE_WORKS_MAX]));
        for (int i = CPTI_DEQUE_WORKS_MAX; i > 0; i--) {
            CU_ASSERT_PTR_EQUAL(kind->pop(&shared), &works[i]);
        }
        CU_ASSERT_TRUE(kind->is_empty(&shared));
        kind->deinit(&shared);
    }
}

/* --- One owner, several thieves --- */

enum { WORKS = 20000, THIEVES = 3 };

static struct cpt_work stolen_works[WORKS];
static unsigned char taken[WORKS]; /* not atomic: two takers of one work are a race */
static atomic_int taken_count;
static atomic_int is_over;
static const struct kind *stressed;

static void take(const struct cpt_work *work)
{
    if (work != NULL) {
        taken[work - stolen_works]++;
        atomic_fetch_add(&taken_count, 1);
    }
}

static void *run_thief(void *context)
{
    (void)context;
    while (!atomic_load(&is_over)) {
        take(stressed->steal(&shared));
    }
    return NULL;
}

/* Pushes and pops in bursts, so that owner and thieves often compete for the last
 * work. */
static void run_owner(void)
{
    int next = 0;

    while (next < WORKS) {
        const int burst = 1 + next % 7;

        for (int i = 0; i < burst && next < WORKS; i++) {
            next += stressed->push(&shared, &stolen_works[next]);
        }
        for (int i = 0; i < burst; i++) {
            take(stressed->pop(&shared));
        }
    }
    while (!stressed->is_empty(&shared)) {
        take(stressed->pop(&shared));
    }
}

static void test_each_work_is_taken_once(void)
{
    for (int k = 0; k < KINDS; k++) {
        pthread_t thieves[THIEVES];
        int wrong_count = 0;

        stressed = kinds[k];
        stressed->init(&shared);
        memset(taken, 0, sizeof taken);
        atomic_store(&taken_count, 0);
        atomic_store(&is_over, 0);
        for (int i = 0; i < THIEVES; i++) {
            CU_ASSERT_EQUAL(pthread_create(&thieves[i], NULL, run_thief, NULL), 0);
        }
        run_owner();
        while (atomic_load(&taken_count) < WORKS) {
        }
        atomic_store(&is_over, 1);
        for (int i = 0; i < THIEVES; i++) {
            (void)pthread_join(thieves[i], NULL);
        }
        for (int i = 0; i < WORKS; i++) {
            wrong_count += taken[i] != 1;
        }
        CU_ASSERT_EQUAL(wrong_count, 0);
        CU_ASSERT_EQUAL(atomic_load(&taken_count), WORKS);
        stressed->deinit(&shared);
    }
}

CU_TestInfo cpt_deque_tests[] = {
    {"the owner takes the newest, a thief the oldest", test_order},
    {"a full deque refuses", test_limit},
    {"each work is taken once", test_each_work_is_taken_once},
    CU_TEST_INFO_NULL,
};
