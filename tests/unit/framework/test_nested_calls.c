/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_nested_calls.c - components and shared work use the callees, counters and log of
 * the service whose requests they run for */
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_graph.h"
#include "framework/cpt_shared.h"

#include <string.h>

CPT_VALUE(word, int);
CPT_VALUE(found, int);

/* --- The part: a call of B --- */

static cpt_status part_called(struct cpt_task *task)
{
    now.now_ns += 1 * MS;
    *cpt_output(task, found) = cpt_pending_status(a_call) == CPT_OK;
    return CPT_OK;
}

static cpt_status part_call(struct cpt_task *task)
{
    cpt_request_set(cpt_task_request(task), "arm", "component");
    now.now_ns += 2 * MS;
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("what"));
    return cpt_await(task, a_call, part_called);
}

static const struct cpt_task_def part_tasks[] = {
    {"call", part_call, CPT_GIVES(found), CPT_NEEDS(word)}};
static const struct cpt_graph part_graph = {"A", CPT_GIVES(word), CPT_GIVES(found),
                                            part_tasks, 1};
static struct cpt_plan *part_plan;
static struct cpt_shared *shared;

/* --- Its callers --- */

static cpt_status use_part(struct cpt_task *task)
{
    struct cpt_pending **part = cpt_state(task, struct cpt_pending *);
    const int *found = cpt_run_output(*part, found);

    if (found == NULL || *found != 1) {
        return cpt_fail(task, CPT_FAILED, "%s", cpt_run_sentence(*part));
    }
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("found");
    return CPT_OK;
}

static cpt_status spawn_part(struct cpt_task *task)
{
    struct cpt_pending **part = cpt_state(task, struct cpt_pending *);
    const int word = 1;

    *part = cpt_spawn(task, "part", part_plan, word, &word);
    return cpt_await(task, *part, use_part);
}

static cpt_status share_part(struct cpt_task *task)
{
    struct cpt_pending **part = cpt_state(task, struct cpt_pending *);
    const int word = 1;

    *part = cpt_share(task, shared, cpt_bytes_of("key"), word, &word);
    return cpt_await(task, *part, use_part);
}

#define METHOD(name, run)                                                              \
    static const struct cpt_task_def name##_tasks[] = {                                \
        {"ask", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};                   \
    static const struct cpt_graph name##_graph = {                                     \
        "A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), name##_tasks, 1}

METHOD(spawning, spawn_part);
METHOD(sharing, share_part);

static struct cpt_plan *method_plan;

static void set_up(const struct cpt_graph *method)
{
    struct cpt_shared_options options = {.struct_bytes = sizeof options,
                                         .name = "cache"};

    open_pair(never, never);
    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    method_plan = cpt_plan_new(method, NULL, NULL);
    options.plan = part_plan;
    shared = cpt_shared_new(&options, NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/part", method_plan, NULL), CPT_OK);
}

static void tear_down(void)
{
    cpt_log_queue_flush(pair.log);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 0), CPT_OK);
    cpt_shared_free(shared);
    close_pair();
    cpt_plan_free(method_plan);
    cpt_plan_free(part_plan);
}

static void ask_part(const char *header)
{
    struct cpt_inbound inbound = inbound_with(header);

    inbound.method = cpt_bytes_of("/part");
    ask(pair.a, &inbound);
}

static void test_component_calls(void)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    set_up(&spawning_graph);
    ask_part("1");
    CU_ASSERT_STRING_EQUAL(
        answered_path(),
        "A: /part;A: ask;A: part;A: call 2, "
        "A: /part;A: ask;A: part;A: call;B: /look;B: look 5, "
        "A: /part;A: ask;A: part;A: call;B: /look;B: ‹network+serialization› 2, "
        "A: /part;A: ask;A: part;A: call 1");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_calls", "B: /look"), 1);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.attribute_count, 1); /* of the request, not of the part */
    cpt_log_reader_free(reader);
    tear_down();
}

static void test_shared_work_calls(void)
{
    set_up(&sharing_graph);
    ask_part("1");
    CU_ASSERT_STRING_EQUAL(
        answered_path(),
        "A: /part;A: ask;A: cache;A: call 2, "
        "A: /part;A: ask;A: cache;A: call;B: /look;B: look 5, "
        "A: /part;A: ask;A: cache;A: call;B: /look;B: ‹network+serialization› 2, "
        "A: /part;A: ask;A: cache;A: call 1");
    tear_down();
}

static int answer_count;

static void count_answer(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    answer_count += outbound->http_status == 200;
}

/* The run is for an untraced request, so B is not asked for a path. A request that
 * joins has the times of the run, and a call without a path. */
static void test_shared_call_that_was_not_asked(void)
{
    struct cpt_inbound inbound = inbound_with(NULL);

    answer_count = 0;
    set_up(&sharing_graph);
    inbound.method = cpt_bytes_of("/part");
    cpt_service_serve(pair.a, &inbound, count_answer, NULL); /* its task is queued … */
    ask_part("1");                                           /* … before this one's */
    CU_ASSERT_EQUAL(answer_count, 1);
    CU_ASSERT_STRING_EQUAL(
        answered_path(), "A: /part;A: ask;A: cache;A: call 2, "
                         "A: /part;A: ask;A: cache;A: call;B: /look;B: ‹blind spot› 7, "
                         "A: /part;A: ask;A: cache;A: call 1");
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "shared"), 1);
    tear_down();
}

CU_TestInfo cpt_nested_calls_tests[] = {
    {"a component calls as its request does", test_component_calls},
    {"shared work calls for the requests that wait", test_shared_work_calls},
    {"and requests no path if no request did", test_shared_call_that_was_not_asked},
    CU_TEST_INFO_NULL,
};
