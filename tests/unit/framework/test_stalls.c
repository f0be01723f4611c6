/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_stalls.c - steps that block their thread are reported with a stack
 *
 * The step blocks until it is reported, so no time matters.
 */
#include "tests/support/suites.h"
#include "tests/unit/framework/one_request.h"

#include "framework/cpt_running.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

CPT_VALUE(done, int);

static sem_t is_reported;
static char task_name[64];
static size_t frame_count;
static uint64_t stalled_ns;
static unsigned report_count;

static void report(void *context, const struct cpt_stall *stall)
{
    if (context != task_name || stall->task.bytes >= sizeof task_name) {
        return;
    }
    memcpy(task_name, stall->task.data, stall->task.bytes);
    task_name[stall->task.bytes] = '\0';
    frame_count = stall->frame_count;
    stalled_ns = stall->stalled_ns;
    report_count++;
    (void)sem_post(&is_reported);
}

static cpt_status block(struct cpt_task *task)
{
    while (sem_wait(&is_reported) != 0 && errno == EINTR) {
    }
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static const struct cpt_task_def tasks[] = {
    {"block", block, CPT_GIVES(done), CPT_NEEDS_NOTHING, {NULL}, NULL}};
static const struct cpt_graph graph = {"S", NULL, CPT_GIVES(done), tasks, 1};

static uint64_t counted;

static void count(void *context, struct cpt_bytes task, uint64_t value)
{
    (void)context;
    if (cpt_bytes_equal(task, cpt_bytes_of("S: block"))) {
        counted = value;
    }
}

static void run_blocking(void)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_request_options options = {
        .struct_bytes = sizeof options, .plan = plan, .executor = pool};
    int output = 0;

    CU_ASSERT_FATAL(pool != NULL && plan != NULL);
    CU_ASSERT_EQUAL(cpt_request_run(&options, &output, NULL, NULL), CPT_OK);
    CU_ASSERT_EQUAL(output, 1);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
}

static const struct cpt_stall_options watched = {.struct_bytes = sizeof watched,
                                                 .limit_ns = 20 * MS,
                                                 .report = report,
                                                 .context = task_name};

static void test_reported(void)
{
    (void)sem_init(&is_reported, 0, 0);
    report_count = 0;
    CU_ASSERT_EQUAL_FATAL(cpt_stalls_watch(&watched, NULL), CPT_OK);
    run_blocking();
    cpt_stalls_end();
    CU_ASSERT_EQUAL(report_count, 1);
    CU_ASSERT_STRING_EQUAL(task_name, "S: block");
    CU_ASSERT_TRUE(frame_count > 3);
    CU_ASSERT_TRUE(stalled_ns >= 20 * MS);
    cpt_stalls_visit(count, NULL);
    CU_ASSERT_EQUAL(counted, 1);
    /* again, after an end */
    CU_ASSERT_EQUAL_FATAL(cpt_stalls_watch(&watched, NULL), CPT_OK);
    run_blocking();
    cpt_stalls_end();
    cpt_stalls_visit(count, NULL);
    CU_ASSERT_EQUAL(counted, 2);
    cpt_stalls_end();
    (void)sem_destroy(&is_reported);
}

static void test_refused(void)
{
    struct cpt_stall_options options = watched;
    struct cpt_error error = {0};

    options.report = NULL;
    CU_ASSERT_EQUAL(cpt_stalls_watch(&options, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "stalls need a report");
    options = watched;
    options.signal_number = SIGUSR2;
    (void)signal(SIGUSR2, (void (*)(int))_exit);
    CU_ASSERT_EQUAL(cpt_stalls_watch(&options, &error), CPT_INVALID);
    (void)signal(SIGUSR2, SIG_DFL);
    error = (struct cpt_error){0};
    CU_ASSERT_EQUAL(cpt_stalls_watch(&watched, &error), CPT_OK);
    CU_ASSERT_EQUAL(cpt_stalls_watch(&watched, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence, "stalls are watched already");
    cpt_stalls_end();
}

CU_TestInfo cpt_stalls_tests[] = {
    {"a step that blocks its thread is reported once, with its stack", test_reported},
    {"what is refused", test_refused},
    CU_TEST_INFO_NULL,
};
