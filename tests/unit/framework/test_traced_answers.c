/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_traced_answers.c - semantics I4: a request that is traced comes to the same end
 *
 * Random graphs run traced and not, in the same interleaving, at each limit of memory,
 * and with little or no memory for the trace: status and output are equal. With enough
 * memory the output is also that of an interpreter, which knows only the graph.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/random_graph.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 30, LIMIT_STEP = 487, LIMIT_MAX = 60000 };

struct end {
    int done_count;
    int gone_count;
    cpt_status status;
    uint64_t output;
    unsigned path_flags;
};

static struct virtual_time own_time;

static void note_end(struct cpt_request *request, void *context)
{
    struct end *end = context;
    const uint64_t *output = cpt_request_output(request);
    struct cpt_path *path = cpt_path_new(NULL);

    end->done_count++;
    end->status = cpt_request_status(request);
    end->output = output != NULL ? *output : 0;
    if (cpt_request_path(request, path, NULL) == CPT_OK) {
        CU_ASSERT_EQUAL(cpt_path_check(path, cpt_request_latency_ns(request), NULL),
                        CPT_OK);
        end->path_flags = cpt_path_flags(path);
    }
    cpt_path_free(path);
}

static void note_gone_end(void *context)
{
    ((struct end *)context)->gone_count++;
}

static void spend_time(uint64_t duration_ns)
{
    own_time.now_ns += duration_ns;
}

/* Runs the random graph once, at a limit of memory, and one of that for the trace. */
static struct end run_at(const struct cpt_plan *plan, uint64_t seed, int is_traced,
                         size_t limit, size_t trace_limit)
{
    struct end end = {0};
    const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                .plan = plan,
                                                .executor = &own_time.executor,
                                                .clock = &own_time.clock,
                                                .done = note_end,
                                                .gone = note_gone_end,
                                                .context = &end,
                                                .memory_bytes_max = limit,
                                                .trace_memory_bytes_max = trace_limit,
                                                .is_traced = is_traced};

    virtual_init(&own_time, seed);
    end.status = cpt_request_start(&options, NULL);
    virtual_run(&own_time);
    CU_ASSERT_EQUAL(end.gone_count, end.done_count);
    return end;
}

static int is_same(struct end a, struct end b)
{
    return a.done_count == b.done_count && a.status == b.status && a.output == b.output;
}

/* --- Random graphs --- */

static uint64_t first_seed(void)
{
    const char *text = getenv("CPT_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 20260131;

    return seed != 0 ? seed : 1;
}

/* Sweeps the limit by @step; false: the trace has changed an answer. */
static int sweep(uint64_t seed, size_t step, size_t *failed_count)
{
    static const size_t trace_limits[] = {1, 9000, 0};
    uint64_t random = seed;
    struct cpt_plan *plan = NULL;
    int is_good = 1;

    random_graph_make(&random, 10);
    plan = cpt_plan_new(&random_graph.graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    for (size_t limit = 1; limit < LIMIT_MAX && is_good; limit += step) {
        const struct end plain = run_at(plan, random, 0, limit, 0);
        const size_t trace_limit = trace_limits[(limit / step) % 3];
        const struct end traced = run_at(plan, random, 1, limit, trace_limit);

        is_good = is_same(plain, traced);
        *failed_count += plain.status != CPT_OK;
        if (!is_good) {
            printf("\n  limit %zu, of the trace %zu: status %d, traced %d\n", limit,
                   trace_limit, plain.status, traced.status);
        }
    }
    for (size_t i = 0; i < 3 && is_good; i++) {
        const struct end whole = run_at(plan, random, 1, 0, trace_limits[i]);

        is_good = whole.status == CPT_OK && whole.output == random_expected() &&
                  (trace_limits[i] != 0 || whole.path_flags == 0);
    }
    cpt_plan_free(plan);
    return is_good;
}

static void test_random_graphs_at_each_limit(void)
{
    const uint64_t seed = first_seed();
    size_t failed_count = 0;

    printf("(seeds from %llu) ", (unsigned long long)seed);
    random_graph.hooks = (struct random_hooks){.spend = spend_time};
    for (uint64_t i = 0; i < GRAPHS; i++) {
        if (!sweep(seed + i, i == 0 ? 31 : LIMIT_STEP, &failed_count)) {
            printf("\n  CPT_TEST_SEED=%llu\n", (unsigned long long)(seed + i));
            CU_FAIL("tracing has changed an answer");
            break;
        }
    }
    CU_ASSERT(failed_count > GRAPHS);
    random_graph.hooks = (struct random_hooks){0};
}

/* --- Large requests, at the default limits --- */

enum { SPAWNS = 9000, WAITS = 33000, PARTS = 10000, CALLS = 12000 };

CPT_VALUE(part, int);

static struct cpt_plan *part_plan;
static struct cpt_pending *begun[CALLS];

static cpt_status give_part(struct cpt_task *task)
{
    *cpt_output(task, part) = 1;
    return CPT_OK;
}

static const struct cpt_task_def part_tasks[] = {
    {"part", give_part, CPT_GIVES(part), {NULL}, {NULL}, NULL}};
static const struct cpt_graph part_graph = {"A", NULL, CPT_GIVES(part), part_tasks, 1};

static cpt_status spawn_next(struct cpt_task *task)
{
    int *count = cpt_state(task, int);

    if (++*count > SPAWNS) {
        return a_answer(task);
    }
    return cpt_await(task, cpt_task_spawn(task, "item", part_plan, NULL, NULL),
                     spawn_next);
}

static cpt_status wait_next(struct cpt_task *task)
{
    int *count = cpt_state(task, int);

    if (++*count > WAITS) {
        return a_answer(task);
    }
    return cpt_await(task, cpt_sleep(task, "nap", 1000), wait_next);
}

static cpt_status merge_parts(struct cpt_task *task)
{
    for (int i = 0; i < PARTS; i++) {
        if (cpt_run_output(begun[i], part) == NULL) {
            return cpt_fail(task, CPT_LIMIT, "part %d: %s", i,
                            cpt_run_sentence(begun[i]));
        }
    }
    return a_answer(task);
}

static cpt_status spawn_all(struct cpt_task *task)
{
    for (int i = 0; i < PARTS; i++) {
        begun[i] = cpt_task_spawn(task, "part", part_plan, NULL, NULL);
    }
    return cpt_await_all(task, merge_parts);
}

static cpt_status merge_calls(struct cpt_task *task)
{
    for (int i = 0; i < CALLS; i++) {
        if (cpt_call_reply(begun[i])->status != CPT_OK) {
            return cpt_fail(task, CPT_IO, "call %d failed", i);
        }
    }
    return a_answer(task);
}

/* Answers at once. */
static void send_nowhere(struct cpt_transport *transport,
                         struct cpt_transport_call *call)
{
    const struct cpt_transport_reply reply = {.status = CPT_OK, .http_status = 200};

    (void)transport;
    cpt_transport_complete(call, &reply);
}

static struct cpt_transport nowhere = {.name = "nowhere", .send = send_nowhere};
static const struct cpt_stub nowhere_stub = {"B: /x", "b", "/x", &nowhere, 0};

static cpt_status call_all(struct cpt_task *task)
{
    for (int i = 0; i < CALLS; i++) {
        begun[i] = cpt_call(task, &nowhere_stub, cpt_bytes_of("what"));
    }
    return cpt_await_all(task, merge_calls);
}

static void note_reply(void *context, const struct cpt_outbound *outbound)
{
    struct answer *noted = context;

    noted->count++;
    noted->http_status = outbound->http_status;
    noted->metadata_bytes = outbound->metadata.bytes;
}

/* Serves one request for "/" of @service, to its end. */
static struct answer serve_one(struct cpt_service *service,
                               struct cpt_executor *executor,
                               const struct cpt_inbound *inbound)
{
    struct answer noted = {0};

    cpt_service_serve(service, inbound, note_reply, &noted);
    while (noted.count == 0) {
        (void)cpt_queue_executor_run(executor, 0);
    }
    while (cpt_queue_executor_run(executor, 0) != 0) {
    }
    CU_ASSERT_EQUAL(cpt_service_drain(service, 5000000000U), CPT_OK);
    return noted;
}

/* The status of one request for a method whose only task is @run. */
static unsigned serve_large(cpt_task_fn run, const char *header, size_t trace_limit)
{
    const struct cpt_task_def tasks[] = {
        {"large", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    const struct cpt_queue_executor_options waiting = {.struct_bytes = sizeof waiting};
    struct cpt_executor *executor = cpt_queue_executor_new(&waiting, NULL);
    static const char *const trusted[] = {"127.0.0.0/8", NULL};
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .probability = -1,
                                                .executor = executor,
                                                .trusted_networks = trusted,
                                                .trace_memory_bytes_max = trace_limit};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    const struct cpt_inbound inbound = inbound_with(header);
    struct answer noted = {0};

    CU_ASSERT_EQUAL(cpt_service_method_add(service, "/", plan, NULL), CPT_OK);
    noted = serve_one(service, executor, &inbound);
    CU_ASSERT_EQUAL(noted.metadata_bytes != 0, header != NULL);
    CU_ASSERT_EQUAL(counter(service, "lost_paths", NULL), 0);
    if (trace_limit != 0) {
        CU_ASSERT(counter(service, "lost_events", NULL) > 0);
    }
    cpt_service_free(service);
    cpt_queue_executor_free(executor);
    cpt_plan_free(plan);
    return noted.http_status;
}

static void test_large_requests(void)
{
    static const cpt_task_fn tasks[] = {spawn_next, wait_next, spawn_all, call_all};

    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
        const unsigned plain = serve_large(tasks[i], NULL, 0);

        CU_ASSERT_EQUAL(plain, 200);
        CU_ASSERT_EQUAL(serve_large(tasks[i], "1", 0), plain);
        CU_ASSERT_EQUAL(serve_large(tasks[i], "1", 20000), plain);
    }
    cpt_plan_free(part_plan);
}

/* --- A path that cannot be made --- */

static cpt_status give_part_slowly(struct cpt_task *task)
{
    struct cpt_pending *work = cpt_defer(task, "work");

    cpt_complete(work, CPT_OK);
    return cpt_await(task, work, give_part);
}

static cpt_status give_nothing(struct cpt_task *task)
{
    (void)task;
    return CPT_OK;
}

/* Whichever allocation is refused beside that of the request. Its walk meets more tasks
 * than it has memory for at first. */
static void test_error_of_the_path(void)
{
    enum { TASKS = 60 };
    static char names[TASKS][8];
    static struct cpt_value values[TASKS];
    static struct cpt_task_def tasks[TASKS];
    const struct cpt_graph graph = {"A", NULL, CPT_GIVES(part), tasks, TASKS};
    struct cpt_plan *plan = NULL;
    size_t lost_count = 0;

    for (size_t i = 0; i < TASKS; i++) {
        (void)snprintf(names[i], sizeof names[i], "t%zu", i);
        values[i] = (struct cpt_value){.name = names[i], .bytes = sizeof(int)};
        tasks[i] = (struct cpt_task_def){
            .name = names[i], .run = give_nothing, .gives = &values[i]};
        tasks[i].needs[0] = i != 0 ? &values[i - 1] : NULL;
    }
    tasks[TASKS - 1].run = give_part_slowly;
    tasks[TASKS - 1].gives = CPT_GIVES(part);
    plan = cpt_plan_new(&graph, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
    for (size_t refused = 3; refused < 12; refused++) {
        struct failing_alloc failing;
        const struct cpt_request_options options = {.struct_bytes = sizeof options,
                                                    .plan = plan,
                                                    .alloc = &failing.alloc,
                                                    .is_traced = 1};
        struct cpt_path *path = cpt_path_new(NULL);
        struct cpt_error error = {0};
        int output = 0;

        failing_alloc_init(&failing, refused); /* 1: its block, 2: its arena */
        CU_ASSERT_EQUAL(cpt_request_run(&options, &output, path, &error), CPT_OK);
        CU_ASSERT_EQUAL(output, 1);
        CU_ASSERT_EQUAL(error.status != CPT_OK, cpt_path_segment_count(path) == 0);
        lost_count += error.status != CPT_OK;
        cpt_path_free(path);
        CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
    }
    CU_ASSERT(lost_count > 0);
    cpt_plan_free(plan);
}

CU_TestInfo cpt_traced_answers_tests[] = {
    {"an error of the path is not the status of its request", test_error_of_the_path},
    {"random graphs, at each limit of memory", test_random_graphs_at_each_limit},
    {"large requests, at the default limits", test_large_requests},
    CU_TEST_INFO_NULL,
};
