/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_elsewhere.c - components on an executor of their own: runs_on, cpt_spawn_on()
 *
 * A database has a pool of one thread. What runs there belongs to the request: its task
 * is the current one, its time is on the path, its attributes are logged, and it is
 * cancelled with the request.
 */
#include "tests/support/suites.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A thread that is stopped between the start of a sleep and its wait for longer than
 * the sleep takes finds it ended: its path is right without it. It is asked again. */
enum { TRIES = 100 };

CPT_VALUE(item, int);
CPT_VALUE(left, int);

static struct cpt_executor *database;
static struct cpt_executor *own_executor; /* of the request; NULL: inline */
static pthread_t own_thread;
static pthread_t database_thread;
static struct cpt_task *seen_task;
static atomic_int query_count;

static cpt_status after_sleep(struct cpt_task *task)
{
    CU_ASSERT(pthread_equal(pthread_self(), database_thread) != 0);
    *cpt_output(task, left) = *cpt_input(task, item) + 1;
    return CPT_OK;
}

static cpt_status query(struct cpt_task *task)
{
    atomic_fetch_add(&query_count, 1);
    database_thread = pthread_self();
    seen_task = cpt_current_task();
    CU_ASSERT_PTR_EQUAL(seen_task, task);
    cpt_request_set(cpt_task_request(task), "table", "stock");
    return cpt_await(task, cpt_sleep(task, "disk", 2000000), after_sleep);
}

static cpt_status query_fails(struct cpt_task *task)
{
    return cpt_fail(task, CPT_IO, "the disk is gone");
}

static const struct cpt_task_def query_tasks[] = {
    {"query", query, CPT_GIVES(left), CPT_NEEDS(item)}};
static const struct cpt_graph on_database = CPT_GRAPH("A", item, left, query_tasks);
static const struct cpt_task_def failing_tasks[] = {
    {"query", query_fails, CPT_GIVES(left), CPT_NEEDS(item)}};
static const struct cpt_graph failing = CPT_GRAPH("A", item, left, failing_tasks);

static void open_database(void)
{
    const struct cpt_pool_options one = {
        .struct_bytes = sizeof one, .worker_count = 1, .name = "database"};

    database = cpt_pool_new(&one, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(database);
    own_thread = pthread_self();
    atomic_store(&query_count, 0);
}

/* Runs @graph traced; the stacks of its path, one after the other, in @text. */
static cpt_status run(const struct cpt_graph *graph, int *output, char *text,
                      size_t text_bytes, struct cpt_error *error)
{
    const int number = 41;
    struct cpt_plan *plan = cpt_plan_new(graph, NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = own_executor,
                                                .input = &number,
                                                .is_traced = 1,
                                                .entry = "A: /"};
    cpt_status status = CPT_INVALID;
    size_t used = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    status = cpt_request_run(&options, output, path, error);
    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path) && used < text_bytes; i++) {
        char stack[256];

        (void)cpt_path_stack_text(path, cpt_path_segment(path, i)->frame, stack,
                                  sizeof stack);
        used += (size_t)snprintf(text + used, text_bytes - used, "%s\n", stack);
    }
    cpt_path_free(path);
    cpt_plan_free(plan);
    return status;
}

static void test_row(void)
{
    const struct cpt_task_def tasks[] = {{.name = "look up",
                                          .gives = CPT_GIVES(left),
                                          CPT_NEEDS(item),
                                          .component = &on_database,
                                          .runs_on = &database}};
    const struct cpt_graph graph = CPT_GRAPH("A", item, left, tasks);
    struct cpt_executor *const none = NULL;
    struct cpt_task_def here = tasks[0];
    const struct cpt_graph without = {"A", CPT_GIVES(item), CPT_GIVES(left), &here, 1};
    const char *path = "A: /;A: look up;A: query;A: disk\n";
    char text[2048];
    int output = 0;

    open_database();
    for (int i = 0; i == 0 || (i < TRIES && strstr(text, path) == NULL); i++) {
        CU_ASSERT_EQUAL(run(&graph, &output, text, sizeof text, NULL), CPT_OK);
        CU_ASSERT_EQUAL(output, 42);
        CU_ASSERT(pthread_equal(database_thread, own_thread) == 0);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(text, path));
    here.runs_on = &none; /* there is none yet: where the request runs */
    CU_ASSERT_EQUAL(run(&without, &output, text, sizeof text, NULL), CPT_INVALID);
    cpt_pool_free(database);
}

static void test_failure(void)
{
    const struct cpt_task_def tasks[] = {{.name = "look up",
                                          .gives = CPT_GIVES(left),
                                          CPT_NEEDS(item),
                                          .component = &failing,
                                          .runs_on = &database}};
    const struct cpt_graph graph = CPT_GRAPH("A", item, left, tasks);
    struct cpt_error error = {.status = CPT_OK};
    char text[2048];
    int output = 0;

    open_database();
    CU_ASSERT_EQUAL(run(&graph, &output, text, sizeof text, &error), CPT_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "the disk is gone"));
    cpt_pool_free(database);
}

/* --- cpt_spawn_on() --- */

static struct cpt_plan *query_plan;

static cpt_status sum(struct cpt_task *task)
{
    struct cpt_pending **runs = *cpt_state(task, struct cpt_pending **);

    for (int i = 0; i < 8; i++) {
        const int *left_of_run = cpt_run_output(runs[i], left);

        CU_ASSERT_PTR_NOT_NULL_FATAL(left_of_run);
        *cpt_output(task, left) += *left_of_run;
    }
    return CPT_OK;
}

static cpt_status spread(struct cpt_task *task)
{
    struct cpt_pending ***runs = cpt_state(task, struct cpt_pending **);

    *runs = cpt_task_memory(task, 8 * sizeof(struct cpt_pending *));
    for (int i = 0; i < 8; i++) {
        (*runs)[i] = cpt_spawn_on(task, database, "part", query_plan, item, &i);
    }
    return cpt_await_all(task, sum);
}

static void test_spawn(void)
{
    const struct cpt_task_def tasks[] = {
        {"spread", spread, CPT_GIVES(left), CPT_NEEDS(item)}};
    const struct cpt_graph graph = CPT_GRAPH("A", item, left, tasks);
    char text[2048];
    int output = 0;

    open_database();
    query_plan = cpt_plan_new(&on_database, NULL, NULL);
    CU_ASSERT_EQUAL(run(&graph, &output, text, sizeof text, NULL), CPT_OK);
    CU_ASSERT_EQUAL(output, 8 + 7 * 8 / 2);
    CU_ASSERT_EQUAL(atomic_load(&query_count), 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "A: spread;A: part;A: query"));
    cpt_pool_free(database);
    cpt_plan_free(query_plan);
}

static void test_refused(void)
{
    const struct cpt_task_def tasks[] = {{.name = "look up",
                                          .run = query,
                                          .gives = CPT_GIVES(left),
                                          CPT_NEEDS(item),
                                          .runs_on = &database}};
    const struct cpt_graph graph = CPT_GRAPH("A", item, left, tasks);
    struct cpt_error error = {.status = CPT_OK};

    CU_ASSERT_PTR_NULL(cpt_plan_new(&graph, NULL, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "look up"));
}

/* --- cpt_hand_over(), cpt_adopt() --- */

/* A library with a thread that calls back, once for each of a few requests. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_changed;
    struct cpt_pending *handed[8];
    int handed_count;
    int wanted_count;
    int adopts_twice;
} library = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .has_changed = PTHREAD_COND_INITIALIZER};

static void *run_library(void *context)
{
    struct cpt_pending *handed[8];

    pthread_mutex_lock(&library.lock);
    while (library.handed_count < library.wanted_count) {
        pthread_cond_wait(&library.has_changed, &library.lock);
    }
    memcpy(handed, library.handed, sizeof handed);
    pthread_mutex_unlock(&library.lock);
    for (int i = 0; i < library.wanted_count; i++) {
        CU_ASSERT_PTR_NULL(cpt_current_task());
        cpt_adopt(handed[i]);
        CU_ASSERT_PTR_NULL(cpt_current_task());
        if (library.adopts_twice && i + 1 < library.wanted_count) {
            cpt_adopt(handed[i]); /* the request is there: others are handed over */
        }
    }
    return context;
}

static cpt_status adopted_ended(struct cpt_task *task)
{
    struct cpt_pending **runs = *cpt_state(task, struct cpt_pending **);

    for (int i = 0; i < library.wanted_count; i++) {
        const int *left_of_run = cpt_run_output(runs[i], left);

        CU_ASSERT_PTR_NOT_NULL_FATAL(left_of_run);
        *cpt_output(task, left) += *left_of_run;
    }
    return CPT_OK;
}

static cpt_status hand_over(struct cpt_task *task)
{
    struct cpt_pending ***runs = cpt_state(task, struct cpt_pending **);

    *runs = cpt_task_memory(task, 8 * sizeof(struct cpt_pending *));
    for (int i = 0; i < library.wanted_count; i++) {
        (*runs)[i] = cpt_hand_over(task, "rows", query_plan, item, &i);
        CU_ASSERT_EQUAL(cpt_pending_status((*runs)[i]), CPT_WAITING);
    }
    pthread_mutex_lock(&library.lock);
    memcpy(library.handed, *runs, 8 * sizeof(struct cpt_pending *));
    library.handed_count = library.wanted_count;
    pthread_cond_signal(&library.has_changed);
    pthread_mutex_unlock(&library.lock);
    return cpt_await_all(task, adopted_ended);
}

/* In the step: the thread is the library's, calls and waits belong to the task. */
static cpt_status query_in_library(struct cpt_task *task)
{
    CU_ASSERT(pthread_equal(pthread_self(), library.thread) != 0);
    CU_ASSERT_PTR_EQUAL(cpt_current_task(), task);
    cpt_request_set(cpt_task_request(task), "rows", 12);
    if (cpt_wait(task, cpt_sleep(task, "fetch", 2000000)) != CPT_OK) {
        return CPT_CANCELLED; /* given up meanwhile */
    }
    *cpt_output(task, left) = *cpt_input(task, item) + 1;
    return CPT_OK;
}

static const struct cpt_task_def library_tasks[] = {
    {"query", query_in_library, CPT_GIVES(left), CPT_NEEDS(item)}};
static const struct cpt_graph in_library = CPT_GRAPH("A", item, left, library_tasks);

static void run_handed_over(int count, const struct cpt_task_def *tasks,
                            cpt_status status, char *text, size_t text_bytes,
                            int *output)
{
    const struct cpt_graph graph = {"A", CPT_GIVES(item), CPT_GIVES(left), tasks, 1};

    open_database();
    own_executor = database;
    query_plan = cpt_plan_new(&in_library, NULL, NULL);
    library.handed_count = 0;
    library.wanted_count = count;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&library.thread, NULL, run_library, NULL), 0);
    CU_ASSERT_EQUAL(run(&graph, output, text, text_bytes, NULL), status);
    pthread_join(library.thread, NULL);
    own_executor = NULL;
    cpt_pool_free(database);
    cpt_plan_free(query_plan);
}

static void test_adopted(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", hand_over, CPT_GIVES(left), CPT_NEEDS(item)}};
    const char *path = "A: /;A: ask;A: rows;A: query;A: fetch\n";
    char text[2048];
    int output = 0;

    library.adopts_twice = 0;
    for (int i = 0; i == 0 || (i < TRIES && strstr(text, path) == NULL); i++) {
        run_handed_over(3, tasks, CPT_OK, text, sizeof text, &output);
        CU_ASSERT_EQUAL(output, 6);
    }
    CU_ASSERT_PTR_NOT_NULL(strstr(text, path));
}

static void test_adopted_twice(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", hand_over, CPT_GIVES(left), CPT_NEEDS(item)}};
    const uint64_t before = cpt_misuse_count();
    char text[2048];
    int output = 0;

    library.adopts_twice = 1;
    run_handed_over(3, tasks, CPT_OK, text, sizeof text, &output);
    CU_ASSERT_EQUAL(output, 6);
    CU_ASSERT_EQUAL(cpt_misuse_count(), before + 2);
}

/* The task gives up before the thread comes. */
static cpt_status give_up(struct cpt_task *task)
{
    struct cpt_pending ***runs = cpt_state(task, struct cpt_pending **);
    cpt_status status = hand_over(task);

    cpt_cancel((*runs)[0]);
    status = cpt_pending_status((*runs)[0]);
    return status == CPT_CANCELLED || status == CPT_OK
               ? cpt_fail(task, CPT_IO, "not needed")
               : CPT_OK;
}

static cpt_status do_nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

static void test_given_up(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", give_up, CPT_GIVES(left), CPT_NEEDS(item)}};
    char text[2048];
    int output = 0;

    library.adopts_twice = 0;
    run_handed_over(1, tasks, CPT_IO, text, sizeof text, &output);
}

static const struct cpt_task_def idle_tasks[] = {
    {"idle", do_nothing, CPT_GIVES(left), CPT_NEEDS(item)}};
static const struct cpt_graph idle = CPT_GRAPH("A", item, left, idle_tasks);

/* Only what was handed over can be adopted. */
static cpt_status adopt_others(struct cpt_task *task)
{
    const int number = 1;
    struct cpt_pending *run = cpt_spawn(task, "part", query_plan, item, &number);

    cpt_adopt(run);
    cpt_adopt(cpt_sleep(task, "nap", 1000));
    cpt_adopt(NULL);
    return cpt_await_all(task, do_nothing);
}

static void test_adopt_others(void)
{
    const struct cpt_task_def tasks[] = {
        {"ask", adopt_others, CPT_GIVES(left), CPT_NEEDS(item)}};
    const struct cpt_graph graph = {"A", CPT_GIVES(item), CPT_GIVES(left), tasks, 1};
    const uint64_t before = cpt_misuse_count();
    char text[2048];
    int output = 0;

    open_database();
    own_executor = database;
    query_plan = cpt_plan_new(&idle, NULL, NULL);
    CU_ASSERT_EQUAL(run(&graph, &output, text, sizeof text, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_misuse_count(), before + 3);
    own_executor = NULL;
    cpt_pool_free(database);
    cpt_plan_free(query_plan);
}

CU_TestInfo cpt_elsewhere_tests[] = {
    {"a row", test_row},
    {"its failure", test_failure},
    {"spawned by a step", test_spawn},
    {"only components run elsewhere", test_refused},
    {"adopted by a thread of a library", test_adopted},
    {"adopted twice", test_adopted_twice},
    {"given up before it is adopted", test_given_up},
    {"what was not handed over", test_adopt_others},
    CU_TEST_INFO_NULL,
};
