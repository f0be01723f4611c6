/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_contention.c - what requests that wait say of what was in the way: the length of
 * the queue, and the request that has the lock or the worker
 */
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_mutex.h"
#include "framework/run/overlap.h"
#include "framework/run/starving.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

CPT_VALUE(start, int);
CPT_VALUE(done, int);

/* The labels of @path that tell of contention, as "0 queue_length=2, ". */
static const char *labels_of(const struct cpt_path *path)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_label_count(path) && used < 400; i++) {
        const struct cpt_label *label = cpt_path_label(path, i);
        int is_name = 0;

        if (label->key == CPT_LABEL_HOLDER) {
            const struct cpt_bytes name =
                cpt_path_name(path, (cpt_name_id)label->value);

            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%u holder=%.*s, ",
                                 (unsigned)label->segment, (int)name.bytes, name.data);
        } else if (label->key == CPT_LABEL_QUEUE_LENGTH ||
                   label->key == CPT_LABEL_HOLDER_REQUEST) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%u %s=%llx, ",
                                     (unsigned)label->segment,
                                     cpt_label_word(label->key, &is_name),
                                     (unsigned long long)label->value);
        }
    }
    return text;
}

/* --- The length of the queue --- */

static cpt_status spend_2_ms(struct cpt_task *task)
{
    now.now_ns += 2 * MS;
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static const struct cpt_task_def only_tasks[] = {
    {"only", spend_2_ms, CPT_GIVES(done), CPT_NEEDS(start), {NULL}, NULL}};
static const struct cpt_graph only_graph = {"S", CPT_GIVES(start), CPT_GIVES(done),
                                            only_tasks, 1};

static void run_for_1_ms(struct cpt_work *work)
{
    (void)work;
    now.now_ns += 1 * MS;
}

static char told[512];

static void note_labels(struct cpt_request *request, void *context)
{
    struct cpt_path *path = cpt_path_new(NULL);

    (void)context;
    CU_ASSERT_EQUAL(cpt_request_path(request, path, NULL), CPT_OK);
    (void)snprintf(told, sizeof told, "%s", labels_of(path));
    cpt_path_free(path);
}

/* Two works are in the queue when the request comes. */
static void test_queue_length(void)
{
    const struct cpt_queue_executor_options queue_options = {
        .struct_bytes = sizeof queue_options, .clock = &now.clock};
    const int input = 0;
    struct cpt_work works[2] = {{.run = run_for_1_ms}, {.run = run_for_1_ms}};
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .clock = &now.clock,
                                          .input = &input,
                                          .is_traced = 1,
                                          .done = note_labels};
    struct cpt_executor *queue = NULL;
    struct cpt_plan *plan = cpt_plan_new(&only_graph, NULL, NULL);

    virtual_init(&now, 0);
    cpt_executor_idles(); /* whatever ran on this thread before */
    queue = cpt_queue_executor_new(&queue_options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(queue);
    options.plan = plan;
    options.executor = queue;
    CU_ASSERT_EQUAL(queue->queue_length(queue), 0);
    queue->submit(queue, &works[0]);
    queue->submit(queue, &works[1]);
    CU_ASSERT_EQUAL(queue->queue_length(queue), 2);
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    (void)cpt_queue_executor_run(queue, 0);
    CU_ASSERT_STRING_EQUAL(told, "0 queue_length=2, ");
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    (void)cpt_queue_executor_run(queue, 0);
    CU_ASSERT_STRING_EQUAL(told, ""); /* none: it did not queue */
    cpt_queue_executor_free(queue);
    cpt_plan_free(plan);
}

/* --- Requests that name each other --- */

static struct cpt_mutex *shelf;

static cpt_status put_back(struct cpt_task *task)
{
    cpt_mutex_release(*cpt_state(task, struct cpt_pending *));
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("put back");
    return CPT_OK;
}

static cpt_status have(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "disk", 5 * MS), put_back);
}

static cpt_status take(struct cpt_task *task)
{
    struct cpt_pending **lock = cpt_state(task, struct cpt_pending *);

    *lock = cpt_mutex_acquire(task, shelf);
    return cpt_await(task, *lock, have);
}

static const struct cpt_task_def take_tasks[] = {
    {"take", take, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph take_graph = {"A", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), take_tasks, 1};

static void count_answer(void *context, const struct cpt_outbound *outbound)
{
    (void)outbound;
    ++*(int *)context;
}

/* Two requests that want the lock come at the same time; the labels of the second. */
static void take_twice(const struct cpt_service_options *options, const char *expected)
{
    static const char *const parents[2] = {
        "00-0af7651916cd43dd8448eb211c803101-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c803102-b7ad6b7169203332-01"};
    struct cpt_plan *plan = cpt_plan_new(&take_graph, NULL, NULL);
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    struct cpt_path *path = cpt_path_new(NULL);
    int count = 0;

    open_pair(*options, never);
    shelf = cpt_mutex_new("shelf", NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/take", plan, NULL), CPT_OK);
    for (int i = 0; i < 2; i++) {
        struct cpt_inbound inbound = inbound_with(NULL);

        inbound.method = cpt_bytes_of("/take");
        inbound.traceparent = cpt_bytes_of(parents[i]);
        cpt_service_serve(pair.a, &inbound, count_answer, &count);
        virtual_run_until(&now, now.now_ns + 1 * MS);
    }
    virtual_run(&now);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    reader = read_record(1, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(labels_of(path), expected);
    cpt_path_free(path);
    cpt_log_reader_free(reader);
    cpt_mutex_free(shelf);
    close_pair();
    cpt_plan_free(plan);
}

static void test_the_holders_trace(void)
{
    take_twice(&always, "0 holder=A: take, 0 holder_request=8448eb211c803101, ");
}

/* A number finds its trace until its place is that of a later request. */
static void test_places(void)
{
    const uint32_t first = cpti_overlap_enter(17);
    uint32_t last = 0;

    CU_ASSERT_NOT_EQUAL(first, 0);
    CU_ASSERT_EQUAL(cpti_overlap_trace(first), 17);
    CU_ASSERT_EQUAL(cpti_overlap_trace(0), 0);
    CU_ASSERT_EQUAL(cpti_overlap_enter(0), 0);
    for (uint64_t i = 0; i < 5000; i++) {
        last = cpti_overlap_enter(100 + i);
        CU_ASSERT_EQUAL(cpti_overlap_trace(last), 100 + i);
    }
    CU_ASSERT_EQUAL(cpti_overlap_trace(first), 0);
    CU_ASSERT_EQUAL(cpti_overlap_trace(last + 1), 0);
}

/* --- Run delay --- */

static void test_schedstat(void)
{
    uint64_t delay_ns = 0;

    CU_ASSERT_TRUE(cpti_starving_parse("1234 567 8\n", &delay_ns));
    CU_ASSERT_EQUAL(delay_ns, 567);
    CU_ASSERT_TRUE(cpti_starving_parse("0 0 1\n", &delay_ns));  /* it has just begun */
    CU_ASSERT_FALSE(cpti_starving_parse("0 0 0\n", &delay_ns)); /* nothing is kept */
    CU_ASSERT_FALSE(cpti_starving_parse("", &delay_ns));
    CU_ASSERT_FALSE(cpti_starving_parse("12 x", &delay_ns));
}

CPT_VALUE(report, int);

static atomic_int report_begun;
static atomic_int answer_made;

/* Off the path: computes as long as the answer takes. */
static cpt_status make_report(struct cpt_task *task)
{
    atomic_store(&report_begun, 1);
    while (!atomic_load(&answer_made)) {
    }
    *cpt_output(task, report) = 1;
    return CPT_OK;
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec at = {0, 0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (uint64_t)at.tv_sec * 1000000000U + (uint64_t)at.tv_nsec;
}

/* On the path: 60 ms of CPU time beside the report. */
static cpt_status make_answer(struct cpt_task *task)
{
    uint64_t until_ns = 0;

    (void)cpt_start(task, report);
    while (!atomic_load(&report_begun)) {
    }
    until_ns = thread_cpu_ns() + 60 * (uint64_t)MS;
    while (thread_cpu_ns() < until_ns) {
    }
    atomic_store(&answer_made, 1);
    *cpt_output(task, done) = 1;
    return CPT_OK;
}

static const struct cpt_task_def starved_tasks[] = {
    {"report", make_report, CPT_GIVES(report), CPT_NEEDS(start), {NULL}, NULL},
    {"answer", make_answer, CPT_GIVES(done), CPT_NEEDS(start), CPT_STARTS(report)}};
static const struct cpt_graph starved_graph = {"S", CPT_GIVES(start), CPT_GIVES(done),
                                               starved_tasks, 2};

/* Runs it on two threads, which have one processor. false: they cannot be told so. */
static bool run_on_one_processor(struct cpt_path *path)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof pool_options,
                                                  .worker_count = 2};
    const int input = 0;
    struct cpt_request_options options = {.struct_bytes = sizeof options,
                                          .input = &input,
                                          .is_traced = 1,
                                          .measures_cpu = 1};
    struct cpt_plan *plan = NULL;
    struct cpt_executor *pool = NULL;
    cpu_set_t all;
    cpu_set_t one;
    size_t first = 0;

    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        return false;
    }
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        return false;
    }
    plan = cpt_plan_new(&starved_graph, NULL, NULL);
    pool = cpt_pool_new(&pool_options, NULL);
    options.plan = plan;
    options.executor = pool;
    atomic_store(&report_begun, 0);
    atomic_store(&answer_made, 0);
    CU_ASSERT_EQUAL(cpt_request_run(&options, NULL, path, NULL), CPT_OK);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof all, &all), 0);
    return true;
}

static bool kernel_keeps_run_delay(void)
{
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    char text[96] = "";
    uint64_t delay_ns = 0;
    const bool is_kept = file != NULL && fgets(text, sizeof text, file) != NULL &&
                         cpti_starving_parse(text, &delay_ns);

    if (file != NULL) {
        (void)fclose(file);
    }
    return is_kept;
}

/* The run delay of S: answer, behind S: report. *@is_measured: its label is there. */
static uint64_t delay_behind_report(const struct cpt_path *path, bool *is_measured)
{
    uint64_t delay_ns = 0;
    uint64_t segment_delay_ns = 0;

    *is_measured = false;
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);
        const struct cpt_segment *segment = cpt_path_segment(path, label->segment);

        if (label->key == CPT_LABEL_RUN_DELAY) {
            *is_measured = true;
            segment_delay_ns = label->value;
            CU_ASSERT_EQUAL(cpt_path_frame(path, segment->frame)->kind,
                            CPT_KIND_OFF_CPU);
            CU_ASSERT_TRUE(segment_delay_ns <= segment->duration_ns);
        }
        if (label->key == CPT_LABEL_HOLDER &&
            cpt_path_frame(path, segment->frame)->kind == CPT_KIND_OFF_CPU &&
            cpt_bytes_equal(cpt_path_name(path, (cpt_name_id)label->value),
                            cpt_bytes_of("S: report"))) {
            delay_ns += segment_delay_ns;
        }
    }
    return delay_ns;
}

/* What a task that is on no path computes takes the processor from the one that is. */
static void test_starved_by_what_is_off_the_path(void)
{
    struct cpt_path *path = cpt_path_new(NULL);
    bool is_measured = false;

    if (!run_on_one_processor(path)) {
        printf("skipped: threads cannot be bound to a processor ");
    } else if (!kernel_keeps_run_delay()) {
        printf("not measured: the kernel keeps no run delay ");
        CU_ASSERT_EQUAL(delay_behind_report(path, &is_measured), 0);
        CU_ASSERT_FALSE(is_measured);
    } else {
        CU_ASSERT_TRUE(delay_behind_report(path, &is_measured) > 0);
        CU_ASSERT_TRUE(is_measured);
    }
    cpt_path_free(path);
}

CU_TestInfo cpt_contention_tests[] = {
    {"works before a task in the queue", test_queue_length},
    {"a waiter names the request that has the lock", test_the_holders_trace},
    {"the requests that began last have names", test_places},
    {"what the kernel says of run delay", test_schedstat},
    {"a task off the path that takes the processor",
     test_starved_by_what_is_off_the_path},
    CU_TEST_INFO_NULL,
};
