/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_owner.c - a request of one thread: its memory, its turns, the tasks that it
 * hands on, and the record of the threads that run it
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/one_request.h"

#include "cpt/cpt_path.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TASKS_MAX = 4098 };

/* --- Graphs of any size: task i produces value i --- */

static char names[TASKS_MAX][16];
static struct cpt_value values[TASKS_MAX];
static struct cpt_task_def defs[TASKS_MAX];
static struct cpt_graph graph;
static atomic_uint run_count;

static cpt_status count_task(struct cpt_task *task)
{
    (void)task;
    (void)atomic_fetch_add(&run_count, 1);
    return CPT_OK;
}

static void add_task(size_t index, cpt_task_fn run)
{
    (void)snprintf(names[index], sizeof names[index], "t%zu", index);
    values[index] = (struct cpt_value){names[index], sizeof(int)};
    defs[index] = (struct cpt_task_def){
        .name = names[index], .run = run, .gives = &values[index]};
}

static struct cpt_plan *plan_of(size_t count)
{
    graph = (struct cpt_graph){"S", NULL, &values[count - 1], defs, count};
    atomic_store(&run_count, 0);
    return cpt_plan_new(&graph, NULL, NULL);
}

static struct cpt_plan *chain(size_t count, cpt_task_fn first)
{
    for (size_t i = 0; i < count; i++) {
        add_task(i, i == 0 ? first : count_task);
        if (i != 0) {
            defs[i].needs[0] = &values[i - 1];
        }
    }
    return plan_of(count);
}

/* One task before @width others, and a tree of joins after them. */
static struct cpt_plan *fan(size_t width)
{
    size_t count = width + 1;
    size_t from = 1;

    add_task(0, count_task);
    for (size_t i = 1; i < count; i++) {
        add_task(i, count_task);
        defs[i].needs[0] = &values[0];
    }
    while (count - from > 1) {
        const size_t inputs = count - from < 16 ? count - from : 16;

        add_task(count, count_task);
        for (size_t k = 0; k < inputs; k++) {
            defs[count].needs[k] = &values[from++];
        }
        count++;
    }
    return plan_of(count);
}

static cpt_status run(struct cpt_plan *plan, struct cpt_executor *executor,
                      int is_traced)
{
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = executor,
                                                .is_traced = is_traced};

    return cpt_request_run(&options, NULL, NULL, NULL);
}

/* --- Memory --- */

/* The second request of a plan allocates nothing, even if its tasks wait. */
static void test_block_is_used_again(void)
{
    struct failing_alloc failing;
    struct cpt_plan *plan = NULL;

    failing_alloc_init(&failing, 0);
    plan = chain(3, count_task);
    cpt_plan_free(plan);
    plan = cpt_plan_new(&graph, &failing.alloc, NULL);
    for (int is_traced = 0; is_traced < 2; is_traced++) {
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .alloc = &failing.alloc,
                                                    .is_traced = is_traced};
        size_t before = 0;

        CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
        before = atomic_load(&failing.call_count);
        CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
        CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
        CU_ASSERT_EQUAL(atomic_load(&failing.call_count), before);
    }
    cpt_plan_free(plan);
    CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
}

/* --- Turns --- */

static int small_is_done;

static void note_small(struct cpt_request *request, void *context)
{
    *(unsigned *)context = atomic_load(&run_count);
    small_is_done = cpt_request_status(request) == CPT_OK;
}

static const struct cpt_plan *small_plan;
static unsigned run_before_small;

static cpt_status start_small(struct cpt_task *task)
{
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = small_plan,
                                                .done = note_small,
                                                .context = &run_before_small};

    (void)task;
    return cpt_request_start(&options, NULL);
}

static cpt_status do_nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

/* A request of thousands of tasks yields to a small one on the same thread. */
static void test_small_is_not_starved(void)
{
    static const struct cpt_value value = {"small", sizeof(int)};
    const struct cpt_task_def def = {
        .name = "small", .run = do_nothing, .gives = &value};
    const struct cpt_graph small = {"S", NULL, &value, &def, 1};
    struct cpt_plan *made = cpt_plan_new(&small, NULL, NULL);
    struct cpt_plan *plan = chain(4000, start_small);

    small_plan = made;
    small_is_done = 0;
    CU_ASSERT_EQUAL(run(plan, NULL, 0), CPT_OK);
    CU_ASSERT_TRUE(small_is_done);
    CU_ASSERT_TRUE(run_before_small < 100);
    CU_ASSERT_EQUAL(atomic_load(&run_count), 3999);
    cpt_plan_free(plan);
    cpt_plan_free(made);
}

/* --- Tasks handed to other threads --- */

/* Every task runs once, on any thread, the calling thread included. */
static void test_wide_graph_on_pools(void)
{
    struct cpt_plan *plan = fan(3000);
    const unsigned count = (unsigned)graph.task_count;

    for (unsigned workers = 1; workers <= 4; workers++) {
        const struct cpt_pool_options options = {.struct_bytes = sizeof options,
                                                 .worker_count = workers};
        struct cpt_executor *pool = cpt_pool_new(&options, NULL);

        for (int i = 0; i < 10; i++) {
            atomic_store(&run_count, 0);
            CU_ASSERT_EQUAL(run(plan, pool, i % 2), CPT_OK);
            CU_ASSERT_EQUAL(atomic_load(&run_count), count);
        }
        cpt_pool_free(pool);
    }
    cpt_plan_free(plan);
}

/* The same in virtual time; a seed decides which tasks are kept and handed on. */
static void test_wide_graph_in_any_order(void)
{
    static struct virtual_time now;
    struct cpt_plan *plan = fan(200);

    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct outcome outcome = {0};
        const struct cpt_request_options options = {
            .struct_bytes = sizeof options,
            .plan = plan,
            .executor = &now.executor,
            .done = note_outcome,
            .gone = note_gone,
            .context = &outcome,
        };

        virtual_init(&now, seed);
        atomic_store(&run_count, 0);
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
        virtual_run(&now);
        if (atomic_load(&run_count) != graph.task_count || outcome.done_count != 1 ||
            outcome.gone_count != 1) {
            (void)printf("(seed %llu)", (unsigned long long)seed);
            CU_FAIL("a task was lost or ran twice");
        }
    }
    cpt_plan_free(plan);
}

/* --- The record of the threads --- */

static struct virtual_time turned;

static cpt_status spend_2_ms(struct cpt_task *task)
{
    (void)task;
    turned.now_ns += 2 * MS;
    return CPT_OK;
}

/* The holders of the worker that label ‹queue› segments. */
static void note_holders(struct cpt_request *request, void *context)
{
    struct cpt_path *path = cpt_path_new(NULL);
    char *text = context;

    CU_ASSERT_EQUAL(cpt_request_path(request, path, NULL), CPT_OK);
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        if (label->key == CPT_LABEL_HOLDER) {
            const struct cpt_bytes name =
                cpt_path_name(path, (cpt_name_id)label->value);

            (void)snprintf(text + strlen(text), 64, "%u %.*s, ",
                           (unsigned)label->segment, (int)name.bytes, name.data);
        }
    }
    cpt_path_free(path);
}

static void note_nothing(struct cpt_request *request, void *context)
{
    (void)request;
    (void)context;
}

/* Two tasks are ready at once on one thread: the queue of the second names the
 * first. */
static void test_occupant(void)
{
    char text[256] = "";
    struct cpt_plan *plan = NULL;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &turned.executor,
                                          .clock = &turned.clock,
                                          .is_traced = 1,
                                          .done = note_holders,
                                          .context = text};

    virtual_init(&turned, 0);
    add_task(0, spend_2_ms);
    add_task(1, spend_2_ms);
    add_task(2, spend_2_ms);
    defs[2].needs[0] = &values[0];
    defs[2].needs[1] = &values[1];
    plan = plan_of(3);
    options.plan = plan;
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    virtual_run(&turned);
    CU_ASSERT_STRING_EQUAL(text, "0 S: t0, "); /* t1's queue comes first */
    cpt_plan_free(plan);
}

/* Runs a request of @plan, whose tasks begin 3 ms after the request has come. */
static void run_late(const struct cpt_plan *plan, int is_traced, char *text)
{
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &turned.executor,
                                                .clock = &turned.clock,
                                                .is_traced = is_traced,
                                                .done = is_traced ? note_holders
                                                                  : note_nothing,
                                                .context = text};

    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    turned.now_ns += 3 * MS;
    virtual_run(&turned);
}

/* On a thread of its own, as a thread never takes back that it says when it idles. */
static void on_new_thread(void *(*body)(void *text), const char *expected)
{
    char text[256] = "";
    pthread_t thread;

    virtual_init(&turned, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, body, text), 0);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, expected);
}

/* What ran on the thread before the wait began did not hold it up. */
static void *run_what_is_gone(void *context)
{
    char *text = context;
    struct cpt_plan *plan = NULL;
    struct cpt_request_options here = {.struct_bytes = sizeof here};

    add_task(0, spend_2_ms);
    plan = plan_of(1);
    here.plan = plan;
    run_late(plan, 1, text);
    turned.now_ns += 10 * MS;
    run_late(plan, 1, text); /* the first one ended long ago */
    (void)snprintf(text + strlen(text), 64, "untraced ");
    run_late(plan, 0, NULL);
    run_late(plan, 1, text); /* when that one ended is not known */
    (void)snprintf(text + strlen(text), 64, "here ");
    (void)cpt_request_run(&here, NULL, NULL, NULL); /* this thread only submits */
    run_late(plan, 1, text);
    cpt_plan_free(plan);
    return NULL;
}

static void test_occupant_that_is_gone(void)
{
    on_new_thread(run_what_is_gone, "untraced here ");
}

/* A thread that says when it idles names what has run since. */
static void *tell_idling(void *context)
{
    char *text = context;
    struct cpt_plan *plan = NULL;

    add_task(0, spend_2_ms);
    plan = plan_of(1);
    cpt_executor_idles();
    run_late(plan, 0, NULL);
    run_late(plan, 1, text);
    (void)snprintf(text + strlen(text), 64, "then ");
    run_late(plan, 0, NULL);
    cpt_executor_idles();
    run_late(plan, 1, text);
    cpt_plan_free(plan);
    return NULL;
}

static void test_thread_that_tells_idling(void)
{
    on_new_thread(tell_idling, "0 S: t0, then ");
}

/* --- The recipe "Your own threads" of docs/framework.md, as it stands there --- */

#include <recipe_your_own_threads.inc>

static void test_own_threads(void)
{
    struct own own = {.executor = {.name = "own",
                                   .submit = own_submit,
                                   .after = own_after,
                                   .cancel = own_cancel},
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .has_work = PTHREAD_COND_INITIALIZER};
    struct cpt_plan *plan = chain(3, count_task);
    struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .executor = &own.executor};
    pthread_t thread;

    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, own_thread, &own), 0);
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
    options.is_traced = 1;
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, NULL, NULL), CPT_OK);
    CU_ASSERT_EQUAL(atomic_load(&run_count), 6);
    pthread_mutex_lock(&own.lock);
    own.is_over = 1;
    pthread_cond_signal(&own.has_work);
    pthread_mutex_unlock(&own.lock);
    CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
    cpt_plan_free(plan);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static cpt_status sleep_20_ms(struct cpt_task *task)
{
    const struct timespec duration = {0, 20 * MS};

    (void)task;
    (void)nanosleep(&duration, NULL);
    return CPT_OK;
}

static cpt_status burn_20_ms(struct cpt_task *task)
{
    const uint64_t begin_ns = thread_cpu_ns();

    (void)task;
    while (thread_cpu_ns() - begin_ns < 20 * MS) {
    }
    return CPT_OK;
}

/* How long no processor ran the only task, and how long one did. */
static void measure(cpt_task_fn body, uint64_t *off_ns, uint64_t *on_ns)
{
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_plan *plan = chain(1, body);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .is_traced = 1,
                                                .measures_cpu = 1};

    *off_ns = 0;
    *on_ns = 0;
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, path, NULL), CPT_OK);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);

        *(cpt_path_frame(path, segment->frame)->kind == CPT_KIND_OFF_CPU ? off_ns
                                                                         : on_ns) +=
            segment->duration_ns;
    }
    cpt_path_free(path);
    cpt_plan_free(plan);
}

/* A task that sleeps is off the processor, one that computes is not. A slow machine
 * makes no sleeper busy and no computation shorter. */
static void test_off_cpu(void)
{
    uint64_t off_ns = 0;
    uint64_t on_ns = 0;

    measure(sleep_20_ms, &off_ns, &on_ns);
    CU_ASSERT_TRUE(off_ns >= 15 * MS);
    CU_ASSERT_TRUE(on_ns < off_ns);
    measure(burn_20_ms, &off_ns, &on_ns);
    CU_ASSERT_TRUE(on_ns >= 20 * MS);
}

static struct cpt_task *seen_below;
static struct cpt_plan *inner_plan;

static void look_from_below(void)
{
    seen_below = cpt_current_task();
}

static cpt_status look(struct cpt_task *task)
{
    look_from_below();
    CU_ASSERT_PTR_EQUAL(seen_below, task);
    return CPT_OK;
}

/* Another request, of a pool, runs within the step: its caller's thread runs it. */
static cpt_status look_around(struct cpt_task *task)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);

    CU_ASSERT_EQUAL(run(inner_plan, pool, 0), CPT_OK);
    CU_ASSERT_PTR_NOT_NULL(seen_below);
    CU_ASSERT_PTR_NOT_EQUAL(seen_below, task);
    look_from_below();
    CU_ASSERT_PTR_EQUAL(seen_below, task);
    cpt_pool_free(pool);
    return CPT_OK;
}

static void test_current_task(void)
{
    static const struct cpt_value value = {.name = "seen", .bytes = sizeof(int)};
    const struct cpt_task_def def = {.name = "look", .run = look, .gives = &value};
    const struct cpt_graph inner = {"I", NULL, &value, &def, 1};
    struct cpt_plan *plan = NULL;

    inner_plan = cpt_plan_new(&inner, NULL, NULL);
    plan = chain(2, look_around);
    CU_ASSERT_PTR_NULL(cpt_current_task());
    CU_ASSERT_EQUAL(run(plan, NULL, 0), CPT_OK);
    CU_ASSERT_PTR_NULL(cpt_current_task());
    cpt_plan_free(plan);
    cpt_plan_free(inner_plan);
}

static unsigned sleep_number;

static cpt_status nap(struct cpt_task *task)
{
    char name[16];

    (void)snprintf(name, sizeof name, "nap %u", sleep_number++);
    return cpt_await(task, cpt_sleep(task, name, 3 * MS), do_nothing);
}

/* Names made up by requests: the last one that a plan accepts, the first that it
 * refuses, and one that it knows. */
static void test_made_up_names(void)
{
    struct outcome outcome = {0};
    struct cpt_plan *plan = NULL;
    static const unsigned numbers[] = {CPT_PLAN_NAMES_MAX - 1, CPT_PLAN_NAMES_MAX, 0};
    static const char *const shown[] = {"t0;S: nap 999 3", "t0;S: ‹other› 3",
                                        "t0;S: nap 0 3"};
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .executor = &turned.executor,
                                          .clock = &turned.clock,
                                          .is_traced = 1,
                                          .done = note_outcome,
                                          .context = &outcome};

    plan = chain(1, nap);
    options.plan = plan;
    for (sleep_number = 0; sleep_number < CPT_PLAN_NAMES_MAX - 1;) {
        virtual_init(&turned, 0);
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
        virtual_run(&turned);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sleep_number = numbers[i];
        virtual_init(&turned, 0);
        CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
        virtual_run(&turned);
        CU_ASSERT_PTR_NOT_NULL(strstr(outcome.path, shown[i]));
    }
    cpt_plan_free(plan);
}

CU_TestInfo cpt_owner_tests[] = {
    {"a block is reused", test_block_is_used_again},
    {"a small request is not starved", test_small_is_not_starved},
    {"a wide graph on pools", test_wide_graph_on_pools},
    {"a wide graph in any order", test_wide_graph_in_any_order},
    {"the holder of the worker", test_occupant},
    {"not one that is gone", test_occupant_that_is_gone},
    {"a thread that says when it idles", test_thread_that_tells_idling},
    {"threads of the application", test_own_threads},
    {"time off the processor", test_off_cpu},
    {"the current task", test_current_task},
    {"made-up names", test_made_up_names},
    CU_TEST_INFO_NULL,
};
