/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_lanes.c - the two lanes of executors: which work runs first, and for how long
 * one may wait */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"

#include "framework/pool/lane.h"
#include "framework/pool/pool.h"

#include <semaphore.h>
#include <string.h>
#include <time.h>

#define MS   UINT64_C(1000000)
#define HOUR (3600000 * MS)

/* --- The lane itself, against a list that is searched --- */

enum { WORKS = 400 };

static struct cpt_work works[WORKS];

enum stage { OUTSIDE, COMING, WAITING, DUE };

struct model {
    enum stage stages[WORKS];
    uint64_t before[WORKS]; /* works of the first lane that came before it */
    uint64_t waits[WORKS];
    uint64_t ends[WORKS];    /* when its bound is over */
    uint64_t numbers[WORKS]; /* in the order of coming */
    uint64_t come_count;     /* of the first lane */
    uint64_t begun_count;
    uint64_t now_ns;
};

/* What decides within a stage. */
static uint64_t key_of(const struct model *model, size_t i)
{
    return model->stages[i] == COMING    ? model->before[i]
           : model->stages[i] == WAITING ? model->ends[i]
                                         : 0;
}

/* The first of a stage; WORKS: there is none. */
static size_t first_of(const struct model *model, enum stage stage)
{
    size_t first = WORKS;

    for (size_t i = 0; i < WORKS; i++) {
        if (model->stages[i] == stage &&
            (first == WORKS || key_of(model, i) < key_of(model, first) ||
             (key_of(model, i) == key_of(model, first) &&
              model->numbers[i] < model->numbers[first]))) {
            first = i;
        }
    }
    return first;
}

static void turn(struct model *model)
{
    for (size_t i = 0; i < WORKS; i++) {
        if (model->stages[i] == COMING && model->before[i] <= model->begun_count) {
            model->stages[i] = WAITING;
            model->ends[i] = model->now_ns + model->waits[i];
        }
    }
}

/* Takes one that is due, or any. false: it is not that of the model. */
static bool take_as_model(struct cpti_lane *lane, struct model *model, bool any)
{
    const struct cpt_work *work =
        any ? cpti_lane_take(lane) : cpti_lane_take_due(lane, model->now_ns);
    size_t first = WORKS;

    for (size_t i = 0; !any && i < WORKS; i++) {
        if (model->stages[i] == WAITING && model->ends[i] <= model->now_ns) {
            model->stages[i] = DUE;
        }
    }
    first = first_of(model, DUE);
    first = any && first == WORKS ? first_of(model, WAITING) : first;
    first = any && first == WORKS ? first_of(model, COMING) : first;
    if (first == WORKS) {
        return work == NULL;
    }
    model->stages[first] = OUTSIDE;
    return work == &works[first];
}

static bool add_as_model(struct cpti_lane *lane, struct model *model, uint64_t number,
                         uint64_t *random)
{
    const size_t i = virtual_random(random, WORKS);

    if (model->stages[i] != OUTSIDE) {
        return true;
    }
    model->stages[i] = COMING;
    model->before[i] = model->come_count;
    model->waits[i] = virtual_random(random, 20);
    model->numbers[i] = number;
    turn(model);
    if (cpti_lane_add(lane, &works[i], model->come_count, model->waits[i]) != CPT_OK) {
        return false;
    }
    cpti_lane_turn(lane, model->begun_count, model->now_ns);
    return true;
}

static bool do_any(struct cpti_lane *lane, struct model *model, uint64_t number,
                   uint64_t *random)
{
    model->now_ns += virtual_random(random, 3);
    switch (virtual_random(random, 5)) {
    case 0:
        model->come_count++;
        return true;
    case 1:
        model->begun_count += model->begun_count < model->come_count;
        cpti_lane_turn(lane, model->begun_count, model->now_ns);
        turn(model);
        return true;
    case 2:
        return take_as_model(lane, model, virtual_random(random, 4) == 0);
    default:
        return add_as_model(lane, model, number, random);
    }
}

static void test_lane_as_model(void)
{
    static struct model model;
    struct cpti_lane lane = {.alloc = cpt_alloc_default()};
    uint64_t random = test_random_seed("lanes") | 1;
    bool is_good = true;

    memset(&model, 0, sizeof model);
    model.now_ns = 1;
    for (uint64_t i = 0; is_good && i < 20000; i++) {
        is_good = do_any(&lane, &model, i, &random);
    }
    while (is_good && cpti_lane_count(&lane) != 0) {
        is_good =
            cpti_lane_due_ns(&lane) != UINT64_MAX && take_as_model(&lane, &model, true);
    }
    CU_ASSERT_TRUE(is_good);
    CU_ASSERT_EQUAL(cpti_lane_due_ns(&lane), UINT64_MAX);
    CU_ASSERT_PTR_NULL(cpti_lane_take(&lane));
    CU_ASSERT_PTR_NULL(cpti_lane_take_due(&lane, UINT64_MAX));
    cpti_lane_deinit(&lane);
}

/* --- Letters, in the order in which they ran --- */

static char ran[WORKS + 1];

struct letter {
    struct cpt_work work;
    char letter;
    uint64_t takes_ns; /* of the virtual clock */
};

static struct virtual_time now; /* only its clock */

static void run_letter(struct cpt_work *work)
{
    const struct letter *letter = (const struct letter *)work;
    const size_t length = strlen(ran);

    now.now_ns += letter->takes_ns;
    ran[length] = letter->letter;
    ran[length + 1] = '\0';
}

static struct letter letter_of(char letter, uint64_t takes_ns)
{
    return (struct letter){{.run = run_letter}, letter, takes_ns};
}

static struct cpt_executor *make_queue(const struct cpt_alloc *alloc)
{
    const struct cpt_queue_executor_options options = {
        .struct_bytes = sizeof options, .clock = &now.clock, .alloc = alloc};

    virtual_init(&now, 0);
    ran[0] = '\0';
    return cpt_queue_executor_new(&options, NULL);
}

/* a to d take 2 ms each, d comes after 4 ms; A may wait 5 ms, B for ever, C 3 ms. */
static void test_queue_lanes(void)
{
    struct cpt_executor *queue = make_queue(NULL);
    struct letter all[] = {letter_of('a', 2 * MS), letter_of('b', 2 * MS),
                           letter_of('c', 2 * MS), letter_of('d', 2 * MS),
                           letter_of('A', 0),      letter_of('B', 0),
                           letter_of('C', 0)};

    queue->submit_later(queue, &all[4].work, 5 * MS);
    queue->submit_later(queue, &all[5].work, UINT64_MAX);
    queue->submit_later(queue, &all[6].work, 3 * MS);
    CU_ASSERT_EQUAL(cpt_queue_executor_next_ns(queue), 0);
    CU_ASSERT_EQUAL(queue->queue_length(queue), 3);
    for (int i = 0; i < 3; i++) {
        queue->submit(queue, &all[i].work);
    }
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 2), 2);
    queue->submit(queue, &all[3].work);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 5);
    CU_ASSERT_STRING_EQUAL(ran, "abCcAdB");
    CU_ASSERT_EQUAL(cpt_queue_executor_next_ns(queue), UINT64_MAX);
    cpt_queue_executor_free(queue);
}

/* A bound begins with the turn, so it may be shorter than the queue and still lets pass
 * those that come later. Of works that are due the first to have come is first. */
static void check_turns(uint64_t a_ns, uint64_t b_ns, const char *wanted)
{
    struct cpt_executor *queue = make_queue(NULL);
    struct letter all[] = {letter_of('a', 2 * MS), letter_of('b', 2 * MS),
                           letter_of('c', 2 * MS), letter_of('d', 2 * MS),
                           letter_of('A', 0),      letter_of('B', 0)};

    queue->submit(queue, &all[0].work);
    queue->submit(queue, &all[1].work);
    queue->submit_later(queue, &all[4].work, a_ns);
    queue->submit_later(queue, &all[5].work, b_ns);
    queue->submit(queue, &all[2].work);
    queue->submit(queue, &all[3].work);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 6);
    CU_ASSERT_STRING_EQUAL(ran, wanted);
    cpt_queue_executor_free(queue);
}

static void test_turns(void)
{
    check_turns(0, 0, "abABcd"); /* from 2 ms on, when b begins */
    check_turns(3 * MS, MS, "abBcAd");
    check_turns(2 * MS, MS, "abABcd"); /* both are due: in the order of coming */
    check_turns(9 * MS, 8 * MS, "abcdBA");
}

/* Without memory for the lane there is one. */
static void test_lane_without_memory(void)
{
    struct letter all[] = {letter_of('A', 0), letter_of('b', 0)};
    struct failing_alloc failing;
    struct cpt_executor *queue = NULL;

    failing_alloc_init(&failing, 2);
    queue = make_queue(&failing.alloc);
    queue->submit_later(queue, &all[0].work, HOUR);
    queue->submit(queue, &all[1].work);
    CU_ASSERT_EQUAL(atomic_load(&failing.call_count), 2);
    CU_ASSERT_EQUAL(cpt_queue_executor_run(queue, 0), 2);
    CU_ASSERT_STRING_EQUAL(ran, "Ab");
    cpt_queue_executor_free(queue);
    CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
}

/* --- A pool of one thread, behind a gate --- */

struct gate {
    struct cpt_work work; /* first */
    sem_t is_reached;
    sem_t is_open;
};

static void run_gate(struct cpt_work *work)
{
    struct gate *gate = (struct gate *)work;

    (void)sem_post(&gate->is_reached);
    while (sem_wait(&gate->is_open) != 0) {
    }
}

static struct cpt_executor *make_pool(unsigned worker_count, struct gate *gate)
{
    const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                             .worker_count = worker_count};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);

    ran[0] = '\0';
    gate->work.run = run_gate;
    (void)sem_init(&gate->is_reached, 0, 0);
    (void)sem_init(&gate->is_open, 0, 0);
    pool->submit(pool, &gate->work);
    while (sem_wait(&gate->is_reached) != 0) {
    }
    return pool;
}

static void test_pool_lanes(void)
{
    struct letter all[] = {letter_of('a', 0), letter_of('b', 0), letter_of('A', 0),
                           letter_of('B', 0), letter_of('C', 0), letter_of('D', 0)};
    struct gate gate;
    struct cpt_executor *pool = make_pool(1, &gate);
    struct cpti_pool_counts counts;

    pool->submit_later(pool, &all[2].work, 2 * HOUR);
    pool->submit_later(pool, &all[3].work, HOUR);
    pool->submit_later(pool, &all[4].work, 0); /* due at once */
    pool->submit_later(pool, &all[5].work, UINT64_MAX);
    pool->submit(pool, &all[0].work);
    pool->submit(pool, &all[1].work);
    CU_ASSERT_TRUE((pool->hunger(pool) & CPT_HUNGRY_WORK) != 0);
    (void)sem_post(&gate.is_open);
    do {
        counts = cpti_pool_count(pool);
    } while (counts.due == 0);
    cpt_pool_free(pool);
    CU_ASSERT_STRING_EQUAL(ran, "CabBAD");
    CU_ASSERT_EQUAL(counts.later, 4);
    CU_ASSERT_EQUAL(counts.due, 1);
    CU_ASSERT_EQUAL(counts.inbox, 3);
}

/* --- Many of both, from a thread outside and from works --- */

struct many {
    struct cpt_work work; /* first */
    struct cpt_executor *pool;
    struct many *next; /* which it submits; or NULL */
    uint64_t random;
};

static atomic_int many_count;

static void submit_any(struct many *many)
{
    if (virtual_random(&many->random, 2) == 0) {
        many->pool->submit(many->pool, &many->work);
    } else {
        many->pool->submit_later(many->pool, &many->work,
                                 virtual_random(&many->random, 3) * 50000);
    }
}

static void run_many(struct cpt_work *work)
{
    struct many *many = (struct many *)work;

    if (many->next != NULL) {
        submit_any(many->next);
    }
    atomic_fetch_add(&many_count, 1);
}

/* All run, and the pool is freed at once: no wake-up is lost, none comes too late. */
static void test_pool_runs_both(void)
{
    enum { ROUNDS = 300, EACH = 64 };
    static struct many all[EACH];
    uint64_t random = test_random_seed("both lanes") | 1;

    for (int round = 0; round < ROUNDS; round++) {
        const struct cpt_pool_options options = {
            .struct_bytes = sizeof options,
            .worker_count = 1 + (unsigned)virtual_random(&random, 4)};
        struct cpt_executor *pool = cpt_pool_new(&options, NULL);

        atomic_store(&many_count, 0);
        for (int i = EACH - 1; i >= 0; i--) {
            all[i] = (struct many){.work.run = run_many,
                                   .pool = pool,
                                   .random = 1 + virtual_random(&random, UINT32_MAX),
                                   .next = i % 4 == 3 ? NULL : &all[i + 1]};
        }
        for (int i = 0; i < EACH; i += 4) {
            submit_any(&all[i]);
        }
        cpt_pool_free(pool);
        if (atomic_load(&many_count) != EACH) {
            CU_FAIL("a work has not run");
            return;
        }
    }
}

/* --- A pool whose threads all block has one lane --- */

struct blocker {
    struct cpt_work work; /* first */
    struct cpt_executor *pool;
    atomic_int *over_count;
};

static void run_over(struct cpt_work *work)
{
    atomic_fetch_add(((struct blocker *)work)->over_count, 1);
}

static void run_blocker(struct cpt_work *work)
{
    struct blocker *blocker = (struct blocker *)work;

    blocker->pool->block(blocker->pool, 1);
    while (atomic_load(blocker->over_count) < 2) { /* those behind it, by the valve */
        struct timespec pause = {0, 100000};

        (void)nanosleep(&pause, NULL);
    }
    blocker->pool->block(blocker->pool, 0);
}

static void test_tight_pool(void)
{
    const struct cpt_pool_options options = {
        .struct_bytes = sizeof options, .worker_count = 1, .extra_worker_count_max = 1};
    struct cpt_executor *pool = cpt_pool_new(&options, NULL);
    atomic_int over_count = 0;
    struct blocker all[] = {{{.run = run_over}, pool, &over_count},
                            {{.run = run_over}, pool, &over_count},
                            {{.run = run_blocker}, pool, &over_count},
                            {{.run = run_blocker}, pool, &over_count}};

    for (int i = 2; i < 4; i++) {
        pool->submit(pool, &all[i].work);
    }
    pool->submit_later(pool, &all[0].work, HOUR);
    pool->submit_later(pool, &all[1].work, HOUR);
    cpt_pool_free(pool);
    CU_ASSERT_EQUAL(atomic_load(&over_count), 2);
}

extern CU_TestInfo cpt_lanes_tests[];
CU_TestInfo cpt_lanes_tests[] = {
    {"a lane as a list that is searched", test_lane_as_model},
    {"a queue has two lanes", test_queue_lanes},
    {"a bound begins with the turn", test_turns},
    {"without memory it has one", test_lane_without_memory},
    {"a pool has two lanes", test_pool_lanes},
    {"all works of both lanes run", test_pool_runs_both},
    {"a pool whose threads block", test_tight_pool},
    CU_TEST_INFO_NULL,
};
