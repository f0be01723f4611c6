/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_mutex.c - the order of owners of a lock, and the path of a request that waited
 *
 * Exact paths under virtual time with cpt_mutex_acquire(); then both forms and threads
 * without a task on real threads.
 */
#include "tests/support/suites.h"
#include "tests/support/test_random.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_mutex.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct virtual_time now;
static struct cpt_mutex *mutex;
static char order[64]; /* the owners, in order */

CPT_VALUE(work, int);
CPT_VALUE(done, int);

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

/* --- A request that holds the lock for the ms that its input gives --- */

struct turn {
    struct cpt_pending *lock;
};

static cpt_status give_back(struct cpt_task *task)
{
    cpt_mutex_release(cpt_state(task, struct turn)->lock);
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static cpt_status hold(struct cpt_task *task)
{
    const struct turn *turn = cpt_state(task, struct turn);
    const int ms = *cpt_input(task, work);

    if (cpt_pending_status(turn->lock) != CPT_OK) {
        return cpt_fail(task, cpt_pending_status(turn->lock), "no lock");
    }
    (void)snprintf(order + strlen(order), sizeof order - strlen(order), "%d ", ms);
    return cpt_await(task, cpt_sleep(task, "disk", (uint64_t)ms * MS), give_back);
}

static cpt_status take(struct cpt_task *task)
{
    struct turn *turn = cpt_state(task, struct turn);

    spend(1);
    turn->lock = cpt_mutex_acquire(task, mutex);
    return cpt_await(task, turn->lock, hold);
}

static const struct cpt_task_def write_tasks[] = {
    {"write", take, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph write_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                             write_tasks, 1};

/* Waits for it for at most 3 ms. */
static cpt_status take_soon(struct cpt_task *task)
{
    cpt_state(task, struct turn)->lock = cpt_mutex_acquire(task, mutex);
    return cpt_await_all_for(task, 3 * MS, hold);
}

static const struct cpt_task_def hasty_tasks[] = {
    {"hasty", take_soon, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph hasty_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                             hasty_tasks, 1};

/* Requests it, then cancels. */
static cpt_status think_again(struct cpt_task *task)
{
    cpt_mutex_release(cpt_state(task, struct turn)->lock);
    cpt_mutex_release(cpt_state(task, struct turn)->lock);
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static cpt_status take_or_not(struct cpt_task *task)
{
    cpt_state(task, struct turn)->lock = cpt_mutex_acquire(task, mutex);
    return cpt_await(task, cpt_sleep(task, "think", 2 * MS), think_again);
}

static const struct cpt_task_def unsure_tasks[] = {
    {"unsure", take_or_not, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph unsure_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                              unsure_tasks, 1};

/* Takes it and fails. */
static cpt_status fail(struct cpt_task *task)
{
    return cpt_fail(task, CPT_FAILED, "I always do");
}

static cpt_status take_and_fail(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, mutex), fail);
}

static const struct cpt_task_def failing_tasks[] = {
    {"failing", take_and_fail, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph failing_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                               failing_tasks, 1};

/* --- Several requests at once, started 1 ms apart --- */

enum { RUNS_MAX = 4 };

static struct {
    struct cpt_plan *plans[RUNS_MAX];
    int inputs[RUNS_MAX];
    struct outcome outcomes[RUNS_MAX];
} runs;

static void begin(void)
{
    virtual_init(&now, 0);
    memset(&runs, 0, sizeof runs);
    order[0] = '\0';
    mutex = cpt_mutex_new("cache", NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mutex);
}

static void start(size_t index, const struct cpt_graph *graph, int ms, int is_traced)
{
    runs.plans[index] = cpt_plan_new(graph, NULL, NULL);
    runs.inputs[index] = ms;
    CU_ASSERT_EQUAL(start_one(&now, runs.plans[index], &runs.inputs[index], is_traced,
                              &runs.outcomes[index]),
                    CPT_OK);
}

static void end(void)
{
    virtual_run(&now);
    for (size_t i = 0; i < RUNS_MAX && runs.plans[i] != NULL; i++) {
        CU_ASSERT_EQUAL(runs.outcomes[i].done_count, 1);
        CU_ASSERT_EQUAL(runs.outcomes[i].gone_count, 1);
        cpt_plan_free(runs.plans[i]);
    }
    CU_ASSERT_TRUE(cpt_mutex_trylock(mutex)); /* the lock is free again */
    cpt_mutex_unlock(mutex);
    cpt_mutex_free(mutex);
}

static void test_uncontended(void)
{
    uint64_t read_count = 0;

    begin();
    start(0, &write_graph, 5, 1);
    virtual_run(&now);
    CU_ASSERT_STRING_EQUAL(runs.outcomes[0].path,
                           "S: /;S: write 1, S: /;S: write;S: disk 5");
    read_count = now.read_count;
    start(1, &write_graph, 5, 0);
    virtual_run(&now);
    CU_ASSERT_EQUAL(now.read_count, read_count);
    end();
}

static void test_holder(void)
{
    begin();
    start(0, &write_graph, 5, 0); /* untraced, but named */
    start(1, &write_graph, 2, 1);
    end();
    CU_ASSERT_STRING_EQUAL(runs.outcomes[1].path,
                           "S: /;S: write;S: \u2039queue\u203a 1, "
                           "S: /;S: write 1, S: /;S: write;"
                           "S: \u2039lock: cache\u203a[holder=S: write] 4, "
                           "S: /;S: write;S: disk 2");
}

static void test_order(void)
{
    begin();
    for (int i = 0; i < RUNS_MAX; i++) {
        start((size_t)i, &write_graph, 5 + i, 1);
    }
    end();
    CU_ASSERT_STRING_EQUAL(order, "5 6 7 8 ");
}

static void test_deadline(void)
{
    begin();
    start(0, &write_graph, 9, 1);
    virtual_run_until(&now, 2 * MS);
    start(1, &hasty_graph, 1, 1);
    start(2, &write_graph, 4, 1);
    end();
    CU_ASSERT_EQUAL(runs.outcomes[1].status, CPT_TIMEOUT);
    CU_ASSERT_STRING_EQUAL(runs.outcomes[1].path,
                           "S: /;S: hasty;cache;S: \u2039timeout\u203a 3");
    CU_ASSERT_STRING_EQUAL(order, "9 4 ");
}

static void test_cancelled(void)
{
    begin();
    start(0, &write_graph, 9, 1);
    virtual_run_until(&now, 2 * MS);
    start(1, &unsure_graph, 1, 1);
    start(2, &write_graph, 4, 1);
    end();
    CU_ASSERT_EQUAL(runs.outcomes[1].status, CPT_OK);
    CU_ASSERT_STRING_EQUAL(runs.outcomes[1].path, "S: /;S: unsure;S: think 2");
    CU_ASSERT_STRING_EQUAL(order, "9 4 ");
}

/* Another thread releases the lock that a task waits for: the task goes on without
 * it. */
static struct cpt_pending *waited_for;

static cpt_status take_in_sight(struct cpt_task *task)
{
    waited_for = cpt_mutex_acquire(task, mutex);
    cpt_state(task, struct turn)->lock = waited_for;
    return cpt_await(task, waited_for, hold);
}

static void test_released_by_another(void)
{
    const struct cpt_task_def tasks[] = {
        {"seen", take_in_sight, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(work), CPT_GIVES(done), tasks, 1};

    begin();
    start(0, &write_graph, 9, 1);
    virtual_run_until(&now, 2 * MS);
    start(1, &graph, 1, 1);
    virtual_run_until(&now, now.now_ns);
    CU_ASSERT_EQUAL(cpt_pending_status(waited_for), CPT_WAITING);
    spend(3);
    cpt_mutex_release(waited_for);
    end();
    CU_ASSERT_EQUAL(runs.outcomes[1].status, CPT_CANCELLED);
    CU_ASSERT_STRING_EQUAL(runs.outcomes[1].sentence, "task 'S: seen': no lock");
    CU_ASSERT_STRING_EQUAL(
        runs.outcomes[1].path,
        "S: /;S: seen;S: \u2039lock: cache\u203a[holder=S: write] 3");
    CU_ASSERT_STRING_EQUAL(order, "9 ");
}

static void test_failed(void)
{
    begin();
    start(0, &failing_graph, 1, 1);
    start(1, &failing_graph, 1, 1);
    start(2, &write_graph, 4, 1);
    end();
    CU_ASSERT_EQUAL(runs.outcomes[0].status, CPT_FAILED);
    CU_ASSERT_EQUAL(runs.outcomes[2].status, CPT_OK);
}

/* In any interleaving. */
static void test_seeds(void)
{
    static const struct cpt_graph *const graphs[] = {&write_graph, &hasty_graph,
                                                     &unsure_graph, &failing_graph};

    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct test_random random = {seed};

        begin();
        virtual_init(&now, seed);
        for (size_t i = 0; i < RUNS_MAX; i++) {
            start(i, graphs[test_random_below(&random, 4)],
                  (int)test_random_below(&random, 6), 1);
            if (test_random_chance(&random, 30)) {
                virtual_run_until(&now, now.now_ns + MS);
            }
        }
        end();
    }
}

/* --- Real threads --- */

static struct cpt_mutex *shelf;
static atomic_int is_shelf_held;
static atomic_int is_shelf_wanted;

/* Holds it for a long time, in a pool. */
static cpt_status occupy(struct cpt_task *task)
{
    cpt_mutex_lock(shelf);
    atomic_store(&is_shelf_held, 1);
    while (!atomic_load(&is_shelf_wanted)) {
        (void)usleep(100);
    }
    (void)usleep(20000);
    cpt_mutex_unlock(shelf);
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

/* Locks it meanwhile, on the thread of the test. */
static cpt_status want(struct cpt_task *task)
{
    atomic_store(&is_shelf_wanted, 1);
    cpt_mutex_lock(shelf);
    cpt_mutex_unlock(shelf);
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static const struct cpt_task_def occupy_tasks[] = {
    {"occupy", occupy, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph occupy_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                              occupy_tasks, 1};
static const struct cpt_task_def want_tasks[] = {
    {"want", want, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph want_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                            want_tasks, 1};

/* How long @path waited for "shelf" behind "S: occupy". */
static uint64_t shelf_ns(const struct cpt_path *path)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);
        const struct cpt_segment *segment = cpt_path_segment(path, label->segment);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        if (label->key == CPT_LABEL_HOLDER &&
            strcmp(stack, "S: /;S: want;S: \u2039lock: shelf\u203a") == 0 &&
            cpt_bytes_equal(cpt_path_name(path, (cpt_name_id)label->value),
                            cpt_bytes_of("S: occupy"))) {
            sum_ns += segment->duration_ns;
        }
    }
    return sum_ns;
}

static void test_blocked_thread(void)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 1};
    const int input = 0;
    struct outcome outcome = {0};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plans[2] = {cpt_plan_new(&occupy_graph, NULL, NULL),
                                 cpt_plan_new(&want_graph, NULL, NULL)};
    struct cpt_path *path = cpt_path_new(NULL);
    const struct cpt_request_options occupying = {.struct_bytes = sizeof occupying,
                                                  .plan = plans[0],
                                                  .executor = pool,
                                                  .input = &input,
                                                  .done = note_outcome,
                                                  .context = &outcome};
    const struct cpt_request_options wanting = {.struct_bytes = sizeof wanting,
                                                .plan = plans[1],
                                                .input = &input,
                                                .is_traced = 1,
                                                .entry = "S: /"};

    shelf = cpt_mutex_new("shelf", NULL);
    atomic_store(&is_shelf_held, 0);
    atomic_store(&is_shelf_wanted, 0);
    CU_ASSERT_EQUAL(cpt_request_start(&occupying, NULL), CPT_OK);
    while (!atomic_load(&is_shelf_held)) {
        (void)usleep(100);
    }
    CU_ASSERT_EQUAL(cpt_request_run(&wanting, NULL, path, NULL), CPT_OK);
    CU_ASSERT_TRUE(shelf_ns(path) >= MS);
    cpt_pool_free(pool);
    CU_ASSERT_EQUAL(outcome.status, CPT_OK);
    cpt_path_free(path);
    cpt_plan_free(plans[0]);
    cpt_plan_free(plans[1]);
    cpt_mutex_free(shelf);
}

enum { REQUESTS = 24, ROUNDS = 40, THREADS = 2 };

static struct cpt_mutex *real;
static unsigned count; /* guarded by it */

static void bump(void)
{
    const unsigned before = count;

    if (before % 8 == 0) {
        (void)usleep(20);
    }
    count = before + 1;
}

struct rounds {
    int left;
    struct cpt_pending *lock;
};

static cpt_status go_round(struct cpt_task *task);

static cpt_status have_it(struct cpt_task *task)
{
    struct rounds *rounds = cpt_state(task, struct rounds);

    if (cpt_pending_status(rounds->lock) != CPT_OK) {
        return CPT_FAILED;
    }
    bump();
    cpt_mutex_release(rounds->lock);
    return go_round(task);
}

/* Alternates between blocking and acquiring. */
static cpt_status go_round(struct cpt_task *task)
{
    struct rounds *rounds = cpt_state(task, struct rounds);

    while (rounds->left-- > 0) {
        if (rounds->left % 2 == 0) {
            rounds->lock = cpt_mutex_acquire(task, real);
            return cpt_await(task, rounds->lock, have_it);
        }
        cpt_mutex_lock(real);
        bump();
        cpt_mutex_unlock(real);
    }
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static cpt_status begin_rounds(struct cpt_task *task)
{
    cpt_state(task, struct rounds)->left = ROUNDS;
    return go_round(task);
}

static const struct cpt_task_def round_tasks[] = {
    {"rounds", begin_rounds, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
static const struct cpt_graph round_graph = {"S", CPT_GIVES(work), CPT_GIVES(done),
                                             round_tasks, 1};

static void *plain_rounds(void *unused)
{
    for (int i = 0; i < REQUESTS * ROUNDS / 8; i++) {
        cpt_mutex_lock(real);
        bump();
        cpt_mutex_unlock(real);
    }
    return unused;
}

static struct {
    pthread_mutex_t lock;
    unsigned ok_count;
    unsigned lock_count; /* segments */
    unsigned wrong_count;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_rounds(struct cpt_request *request, void *context)
{
    const uint64_t latency_ns = cpt_request_latency_ns(request);
    struct cpt_path *path = cpt_path_new(NULL);
    const int is_right = cpt_request_path(request, path, NULL) == CPT_OK &&
                         cpt_path_check(path, latency_ns, NULL) == CPT_OK;

    (void)context;
    (void)pthread_mutex_lock(&told.lock);
    told.wrong_count += (unsigned)!is_right;
    told.ok_count += (unsigned)(cpt_request_status(request) == CPT_OK);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const uint32_t frame = cpt_path_segment(path, i)->frame;

        told.lock_count +=
            (unsigned)(cpt_path_frame(path, frame)->kind == CPT_KIND_LOCK);
    }
    (void)pthread_mutex_unlock(&told.lock);
    cpt_path_free(path);
}

static void test_threads(void)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 2};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&round_graph, NULL, NULL);
    pthread_t threads[THREADS];
    const int input = 0;

    real = cpt_mutex_new("real", NULL);
    count = 0;
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_create(&threads[i], NULL, plain_rounds, NULL);
    }
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .executor = pool,
                                                    .input = &input,
                                                    .done = note_rounds,
                                                    .is_traced = i % 4 != 0};

        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    cpt_pool_free(pool);
    CU_ASSERT_EQUAL(count, REQUESTS * ROUNDS + THREADS * (REQUESTS * ROUNDS / 8));
    CU_ASSERT_EQUAL(told.ok_count, REQUESTS);
    CU_ASSERT_EQUAL(told.wrong_count, REQUESTS / 4); /* those not traced */
    CU_ASSERT_TRUE(told.lock_count > 0);
    cpt_plan_free(plan);
    cpt_mutex_free(real);
}

/* --- A request that needs the lock which work that it gave up has acquired --- */

static struct cpt_plan *hog_plan;
static struct cpt_pending *hog;
static cpt_status (*give_up)(struct cpt_task *task);

CPT_VALUE(hogged, int);

static cpt_status hold_on(struct cpt_task *task)
{
    *cpt_output(task, hogged) = 1;
    return CPT_OK;
}

static cpt_status hold_for_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", 3600000 * (uint64_t)MS), hold_on);
}

static cpt_status take_for_long(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, mutex), hold_for_long);
}

static cpt_status have_taken(struct cpt_task *task)
{
    cpt_mutex_release(*cpt_state(task, struct cpt_pending *));
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static cpt_status take_it_myself(struct cpt_task *task)
{
    struct cpt_pending **own = cpt_state(task, struct cpt_pending *);

    cpt_cancel(hog);
    *own = cpt_mutex_acquire(task, mutex);
    return cpt_await(task, *own, have_taken);
}

static cpt_status start_hog(struct cpt_task *task)
{
    hog = cpt_start(task, hogged);
    return cpt_await(task, cpt_sleep(task, "patience", 2 * MS), take_it_myself);
}

static cpt_status spawn_hog(struct cpt_task *task)
{
    hog = cpt_task_spawn(task, "hog", hog_plan, NULL, NULL);
    return cpt_await_all_for(task, 2 * MS, take_it_myself);
}

static cpt_status start_any(struct cpt_task *task)
{
    return give_up(task);
}

static cpt_status fail_for_want(struct cpt_task *task)
{
    return cpt_fail(task, CPT_IO, "no disk");
}

static cpt_status take_and_fail_wanted(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, mutex), fail_for_want);
}

static const struct cpt_task_def hog_tasks[] = {
    {"take", take_for_long, CPT_GIVES(hogged), {NULL}, {NULL}, NULL}};
static const struct cpt_graph hog_graph = {"S", NULL, CPT_GIVES(hogged), hog_tasks, 1};

static void expect_no_deadlock(const struct cpt_graph *graph)
{
    for (int is_traced = 0; is_traced < 2; is_traced++) {
        struct outcome outcome = {0};

        mutex = cpt_mutex_new("cache", NULL);
        outcome = run_one(&now, graph, is_traced);
        CU_ASSERT_EQUAL(outcome.done_count, 1);
        CU_ASSERT_EQUAL(outcome.gone_count, 1);
        CU_ASSERT_EQUAL(outcome.status, CPT_OK);
        CU_ASSERT_TRUE(now.now_ns < 2000 * (uint64_t)MS);
        CU_ASSERT_EQUAL(cpt_mutex_trylock(mutex), 1);
        cpt_mutex_unlock(mutex);
        cpt_mutex_free(mutex);
    }
}

static void test_lock_of_cancelled_work(void)
{
    const struct cpt_task_def starting[] = {
        {"ask", start_any, CPT_GIVES(done), CPT_NEEDS(work), CPT_STARTS(hogged), NULL},
        hog_tasks[0],
    };
    const struct cpt_task_def spawning[] = {
        {"ask", start_any, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
    const struct cpt_task_def wanting[] = {
        {"fail", take_and_fail_wanted, CPT_GIVES(hogged), {NULL}, {NULL}, NULL},
        {.name = "ask",
         .run = take_it_myself,
         .gives = CPT_GIVES(done),
         CPT_NEEDS(work),
         CPT_WANTS(hogged)},
    };
    const struct cpt_graph started = {"S", CPT_GIVES(work), CPT_GIVES(done), starting,
                                      2};
    const struct cpt_graph spawned = {"S", CPT_GIVES(work), CPT_GIVES(done), spawning,
                                      1};
    const struct cpt_graph wanted = {"S", CPT_GIVES(work), CPT_GIVES(done), wanting, 2};

    hog_plan = cpt_plan_new(&hog_graph, NULL, NULL);
    give_up = start_hog;
    expect_no_deadlock(&started);
    give_up = spawn_hog;
    expect_no_deadlock(&spawned);
    hog = NULL;
    expect_no_deadlock(&wanted);
    cpt_plan_free(hog_plan);
}

/* A request that takes too long, as one that has ended did not give the lock back. */
static void test_sentence_names_the_lock(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", take_it_myself, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(work), CPT_GIVES(done), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    hog = NULL;
    for (int is_traced = 0; is_traced < 2; is_traced++) {
        const int one = 1;
        struct outcome outcome = {0};
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .executor = &now.executor,
                                                    .input = &one,
                                                    .done = note_outcome,
                                                    .gone = note_gone,
                                                    .context = &outcome,
                                                    .is_traced = is_traced,
                                                    .clock = &now.clock,
                                                    .timeout_ns = 5 * MS};

        virtual_init(&now, 0);
        mutex = cpt_mutex_new("cache", NULL);
        cpt_mutex_lock(mutex);
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
        virtual_run(&now);
        CU_ASSERT_EQUAL(outcome.status, CPT_TIMEOUT);
        CU_ASSERT_STRING_EQUAL(
            outcome.sentence,
            "the request took too long: task 'S: ask' waited for lock 'cache'");
        cpt_mutex_unlock(mutex);
        cpt_mutex_free(mutex);
    }
    cpt_plan_free(plan);
}

static struct cpt_pending *disk;

static cpt_status wait_for_disk(struct cpt_task *task)
{
    disk = cpt_defer(task, "disk"); /* it cannot be told to stop */
    return cpt_await(task, disk, hold_on);
}

static cpt_status take_before_disk(struct cpt_task *task)
{
    return cpt_await(task, cpt_mutex_acquire(task, mutex), wait_for_disk);
}

/* It ends although work elsewhere, which the task waited for, does not; also traced,
 * where the path needs what the task waited for. */
static void test_lock_at_the_deadline(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", take_before_disk, CPT_GIVES(done), CPT_NEEDS(work), {NULL}, NULL}};
    const struct cpt_graph graph = {"S", CPT_GIVES(work), CPT_GIVES(done), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);

    for (int is_traced = 0; is_traced < 2; is_traced++) {
        const int one = 1;
        struct outcome outcome = {0};
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .executor = &now.executor,
                                                    .input = &one,
                                                    .done = note_outcome,
                                                    .gone = note_gone,
                                                    .context = &outcome,
                                                    .is_traced = is_traced,
                                                    .clock = &now.clock,
                                                    .timeout_ns = 5 * MS};

        virtual_init(&now, 0);
        mutex = cpt_mutex_new("cache", NULL);
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
        virtual_run(&now);
        CU_ASSERT_EQUAL(outcome.status, CPT_TIMEOUT);
        CU_ASSERT_EQUAL(outcome.gone_count, 0);
        CU_ASSERT_EQUAL(cpt_mutex_trylock(mutex), 1);
        cpt_mutex_unlock(mutex);
        cpt_complete(disk, CPT_OK);
        virtual_run(&now);
        CU_ASSERT_EQUAL(outcome.gone_count, 1);
        cpt_mutex_free(mutex);
    }
    cpt_plan_free(plan);
}

extern CU_TestInfo cpt_mutex_tests[];
CU_TestInfo cpt_mutex_tests[] = {
    {"a free lock costs no time and no clock reading", test_uncontended},
    {"the path names the owner that was waited for", test_holder},
    {"first come, first served", test_order},
    {"a deadline ends the wait, and the next one gets it", test_deadline},
    {"a cancelled request for it gives it back", test_cancelled},
    {"another thread releases what a task waits for", test_released_by_another},
    {"a request that fails leaves no lock behind", test_failed},
    {"work that was cancelled, or failed, leaves no lock behind",
     test_lock_of_cancelled_work},
    {"the sentence of a request that takes too long names the lock",
     test_sentence_names_the_lock},
    {"a lock is released at the deadline, whatever goes on", test_lock_at_the_deadline},
    {"in any interleaving", test_seeds},
    {"a blocked thread learns the owner", test_blocked_thread},
    {"both forms, and threads without a task", test_threads},
    CU_TEST_INFO_NULL,
};
