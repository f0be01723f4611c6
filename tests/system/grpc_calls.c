/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_calls.c - outgoing calls, to services that answer well, badly, late or never */
#include "grpc_support.h"

#include <stdlib.h>

static struct cpt_grpc *caller;

static int begin(void)
{
    caller = cpt_grpc_new(NULL, NULL);
    return caller == NULL;
}

static void end(void)
{
    CU_ASSERT_EQUAL(cpt_grpc_stop(caller), CPT_OK);
    cpt_grpc_free(caller);
}

/* --- Our own services --- */

static void test_answer_and_path(void)
{
    struct grpc_call_request request = {.body = cpt_bytes_of("you"), .is_traced = true};
    struct grpc_call_result result;
    struct grpc_service service;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&service, NULL, NULL);
    request.stub.target = service.target;
    request.stub.method = "/t.G/Slow";
    for (int i = 0; i < 3; i++) {
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_OK);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], "hello you");
        CU_ASSERT_TRUE(result.is_path_good);
        CU_ASSERT_TRUE(result.has_callee);
        CU_ASSERT_EQUAL(result.kind_ns[CPT_KIND_BLIND_SPOT], 0);
        CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_NETWORK] > 0);
    }
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "traced_by_ask"), 3);
    request.is_traced = false;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "traced_by_ask"), 3);
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* Of several addresses each gets calls, until its service is gone. */
static void test_several_addresses(void)
{
    struct grpc_call_request request = {.body = cpt_bytes_of("you")};
    struct grpc_call_result result;
    struct grpc_service both[2];
    char target[80];
    int in_a_row = 0;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&both[0], NULL, NULL);
    grpc_service_start(&both[1], NULL, NULL);
    (void)snprintf(target, sizeof target, "ipv4:%s,%s", both[0].target, both[1].target);
    request.stub.target = target;
    request.stub.method = "/t.G/Hello";
    for (int i = 0; i < PATIENCE_MS &&
                    (grpc_service_counter(&both[0], "grpc_requests_served") < 5 ||
                     grpc_service_counter(&both[1], "grpc_requests_served") < 5);
         i++) {
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    }
    CU_ASSERT_TRUE(grpc_service_counter(&both[0], "grpc_requests_served") >= 5);
    CU_ASSERT_TRUE(grpc_service_counter(&both[1], "grpc_requests_served") >= 5);
    CU_ASSERT_EQUAL(grpc_service_stop(&both[0]), CPT_OK);
    for (int i = 0; i < PATIENCE_MS && in_a_row < 20; i++) {
        grpc_call_out(caller, &request, &result);
        in_a_row = result.statuses[0] == CPT_OK ? in_a_row + 1 : 0;
    }
    CU_ASSERT_EQUAL(in_a_row, 20);
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&both[1]), CPT_OK);
}

/* Each outcome arrives as it was sent, with the body as sentence and with a path. */
static void test_outcomes(void)
{
    struct grpc_call_request request = {.is_traced = true};
    struct grpc_call_result result;
    struct grpc_service service;
    char number[8];

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&service, NULL, NULL);
    request.stub.target = service.target;
    request.stub.method = "/t.G/Fail";
    for (unsigned i = CPT_OUTCOME_OK; i <= CPT_OUTCOME_UNAUTHENTICATED; i++) {
        (void)snprintf(number, sizeof number, "%u", i);
        request.body = cpt_bytes_of(number);
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.outcomes[0], i);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], "why");
        CU_ASSERT_TRUE(result.is_path_good && result.has_callee);
    }
    request.stub.method = "/t.G/None";
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_UNIMPLEMENTED);
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void test_large_bodies(void)
{
    enum { LARGE = 3 << 20 };
    char *body = calloc(1, LARGE);
    struct grpc_call_request request = {.is_traced = true};
    struct grpc_call_result result;
    struct grpc_service service;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(body);
    grpc_service_start(&service, NULL, NULL);
    memset(body, 'x', LARGE);
    request.stub.target = service.target;
    request.stub.method = "/t.G/Echo";
    request.body = (struct cpt_bytes){body, LARGE};
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(result.body_bytes[0], LARGE);
    CU_ASSERT_TRUE(result.is_path_good && result.has_callee);
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    free(body);
}

static void test_many(void)
{
    struct grpc_call_request request = {
        .body = cpt_bytes_of("all"), .count = GRPC_CALLS_MAX, .is_traced = true};
    struct grpc_call_result result;
    struct grpc_service service;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&service, NULL, NULL);
    request.stub.target = service.target;
    grpc_call_out(caller, &request, &result);
    for (unsigned i = 0; i < GRPC_CALLS_MAX; i++) {
        CU_ASSERT_EQUAL(result.statuses[i], CPT_OK);
        CU_ASSERT_STRING_EQUAL(result.bodies[i], "hello all");
    }
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_EQUAL(grpc_counter(caller, "grpc_calls_sent"), GRPC_CALLS_MAX);
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* --- Deadlines and cancelling --- */

static void test_timeout(void)
{
    struct plain_server server = {.never_answers = true, .body = ""};
    struct grpc_call_request request = {.is_traced = true};
    struct grpc_call_result result;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    plain_server_start(&server);
    request.stub.target = server.target;
    request.stub.timeout_ns = 50 * MS;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_TIMEOUT);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_DEADLINE_EXCEEDED);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_TIMEOUT] >= 40 * MS);
    CU_ASSERT_TRUE(result.is_path_good);
    end();
    plain_server_stop(&server);
}

/* Its own deadline ends the request, or the news that its caller has left. */
static bool ends_early(struct grpc_service *service)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (grpc_service_counter(service, "cancelled") == 1 ||
            grpc_service_counter(service, "timed_out") == 1) {
            return true;
        }
        test_sleep_ns(MS);
    }
    return false;
}

/* The callee learns the deadline, and that its caller no longer waits. */
static void test_deadline_travels(void)
{
    struct grpc_call_request request = {.timeout_ns = 500 * MS};
    struct grpc_call_result result;
    struct grpc_service service;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&service, NULL, NULL);
    request.stub.target = service.target;
    request.stub.method = "/t.G/Long";
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.status, CPT_TIMEOUT);
    CU_ASSERT_TRUE(ends_early(&service));
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

CPT_VALUE(first_stub, struct cpt_stub);
CPT_VALUE(first_result, int);

static cpt_status called(struct cpt_task *task)
{
    *cpt_output(task, first_result) = 1;
    return CPT_OK;
}

static cpt_status call_first(struct cpt_task *task)
{
    const struct cpt_stub *stub = cpt_input(task, first_stub);

    return cpt_await(task, cpt_call(task, stub, cpt_bytes_of("")), called);
}

static void note_done(struct cpt_request *request, void *context)
{
    atomic_store((atomic_int *)context, -(int)cpt_request_status(request));
}

static void test_cancel(void)
{
    static const struct cpt_task_def tasks[] = {
        {"calls", call_first, CPT_GIVES(first_result), CPT_NEEDS(first_stub)}};
    static const struct cpt_graph graph = {"T", CPT_GIVES(first_stub),
                                           CPT_GIVES(first_result), tasks, 1};
    const struct cpt_pool_options one = {.struct_bytes = sizeof one, .worker_count = 1};
    struct cpt_executor *pool = cpt_pool_new(&one, NULL);
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_request_options options = {.struct_bytes = sizeof options};
    struct cpt_request_handle *handle = NULL;
    struct cpt_pending *pending = NULL;
    struct grpc_service service;
    struct cpt_stub stub = {.name = "G: stuck", .method = "/t.G/Stuck"};
    atomic_int ending = 0;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&service, NULL, NULL);
    stub.target = service.target;
    stub.transport = cpt_grpc_transport(caller);
    options.plan = plan;
    options.executor = pool;
    options.input = &stub;
    options.done = note_done;
    options.context = &ending;
    CU_ASSERT_EQUAL(cpt_request_start_held(&options, &handle, NULL), CPT_OK);
    pending = grpc_service_stuck(&service);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pending);
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "cancelled", 1)); /* it was told */
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_abandoned", 1));
    cpt_complete(pending, CPT_OK);
    end();
    CU_ASSERT_EQUAL(atomic_load(&ending), -CPT_CANCELLED);
    cpt_request_handle_free(handle);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
}

/* --- Peers --- */

static void test_down(void)
{
    struct plain_server server = {.body = ""};
    struct grpc_call_request request = {.is_traced = true};
    struct grpc_call_result result;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    plain_server_start(&server);
    plain_server_stop(&server); /* its port is free now */
    request.stub.target = server.target;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_UNAVAILABLE);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_UNAVAILABLE);
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_FAILED);
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_EQUAL(grpc_counter(caller, "grpc_calls_failed"), 1);
    end();
}

/* A service that knows nothing of us is a blind spot; it gets the ask and the deadline
 * only from who has them. */
static void test_plain_server(void)
{
    struct plain_server server = {.body = "good"};
    struct grpc_call_request request = {.is_traced = true};
    struct grpc_call_result result;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    plain_server_start(&server);
    request.stub.target = server.target;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_STRING_EQUAL(result.bodies[0], "good");
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_UNSUPPORTED);
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_TRUE(atomic_load(&server.has_ask));
    CU_ASSERT_TRUE(atomic_load(&server.has_nonce));
    CU_ASSERT_TRUE(atomic_load(&server.has_deadline));
    CU_ASSERT_EQUAL(atomic_load(&server.slack_us), 0);
    request.is_traced = false;
    request.slack_ns = 2 * MS;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_FALSE(atomic_load(&server.has_ask));
    CU_ASSERT_FALSE(atomic_load(&server.has_nonce));
    CU_ASSERT_EQUAL(atomic_load(&server.slack_us), 2000);
    end();
    plain_server_stop(&server);
}

/* --- Hostile paths --- */

/* What a reply with these paths becomes, with both kinds of status. */
static void expect_path(struct cpt_bytes path, unsigned count, unsigned reason)
{
    for (unsigned i = 0; i < 2; i++) {
        struct plain_server server = {
            .code = i == 0 ? GRPC_STATUS_OK : GRPC_STATUS_NOT_FOUND, .body = "good"};
        struct grpc_call_request request = {.is_traced = true};
        struct grpc_call_result result;

        for (unsigned j = 0; j < count; j++) {
            server.fields[j].name = cpt_bytes_of("critical-path-bin");
            server.fields[j].value = path;
        }
        plain_server_start(&server);
        request.stub.target = server.target;
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.outcomes[0],
                        i == 0 ? CPT_OUTCOME_OK : CPT_OUTCOME_NOT_FOUND);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], i == 0 ? "good" : "so it is");
        CU_ASSERT_EQUAL(result.reason, reason);
        CU_ASSERT_TRUE(result.is_path_good);
        CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_BLIND_SPOT] > 0);
        plain_server_stop(&server);
    }
}

static void test_hostile_paths(void)
{
    static char large[40000];
    static const char zeros[] = {0, 0, 0, 0};

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    memset(large, '\x7f', sizeof large);
    expect_path(cpt_bytes_of("this is no path"), 1, CPT_REASON_UNDECODABLE);
    expect_path((struct cpt_bytes){zeros, sizeof zeros}, 1, CPT_REASON_UNDECODABLE);
    expect_path(cpt_bytes_of("\x08\x01\x10\xa0"), 1, CPT_REASON_UNDECODABLE);
    expect_path(cpt_bytes_of("\x08\x01\x18\x05"), 2, CPT_REASON_UNDECODABLE);
    expect_path(cpt_bytes_of("\x08\x01\x18\x05"), 8, CPT_REASON_UNDECODABLE);
    expect_path((struct cpt_bytes){large, 2049}, 1, CPT_REASON_SIZE);
    expect_path((struct cpt_bytes){large, sizeof large}, 1, CPT_REASON_SIZE);
    end();
}

/* A path that was not asked for is not looked at. */
static void test_unasked(void)
{
    struct plain_server server = {.body = "good"};
    struct grpc_call_request request = {0};
    struct grpc_call_result result;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    server.fields[0].name = cpt_bytes_of("critical-path-bin");
    server.fields[0].value = cpt_bytes_of("this is no path");
    plain_server_start(&server);
    request.stub.target = server.target;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_STRING_EQUAL(result.bodies[0], "good");
    end();
    plain_server_stop(&server);
}

/* --- Stubs --- */

static void test_bad_stubs(void)
{
    static const char *const targets[] = {"",
                                          "127.0.0.1",
                                          "a b",
                                          "unix:",
                                          "[::1",
                                          "no-such-scheme:///x",
                                          "http://127.0.0.1:1"};
    static const char *const names[] = {"", "Hello", "/a b", "/\r\nx: y", "/\xff"};
    struct grpc_call_request request = {.is_traced = true};
    struct grpc_call_result result;
    struct grpc_service service;

    CU_ASSERT_EQUAL_FATAL(begin(), 0);
    grpc_service_start(&service, NULL, NULL);
    request.stub.timeout_ns = 2000 * MS;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        request.stub.target = targets[i];
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_NOT_EQUAL(result.outcomes[0], CPT_OUTCOME_OK);
        CU_ASSERT_TRUE(result.is_path_good);
    }
    request.stub.target = service.target;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        request.stub.method = names[i];
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_NOT_EQUAL(result.outcomes[0], CPT_OUTCOME_OK);
    }
    end();
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static void test_calls_limit(void)
{
    const struct cpt_grpc_options two = {.struct_bytes = sizeof two,
                                         .calls_open_max = 2};
    struct plain_server server = {.never_answers = true, .body = ""};
    struct grpc_call_request request = {.count = 4};
    struct grpc_call_result result;
    unsigned refused_count = 0;

    caller = cpt_grpc_new(&two, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(caller);
    plain_server_start(&server);
    request.stub.target = server.target;
    request.stub.timeout_ns = 200 * MS;
    grpc_call_out(caller, &request, &result);
    for (unsigned i = 0; i < request.count; i++) {
        refused_count += result.statuses[i] == CPT_UNAVAILABLE;
    }
    CU_ASSERT_EQUAL(refused_count, 2);
    CU_ASSERT_EQUAL(grpc_counter(caller, "grpc_calls_refused"), 2);
    end();
    plain_server_stop(&server);
}

CU_TestInfo grpc_calls_tests[] = {
    {"an answer comes with a path that adds up", test_answer_and_path},
    {"several addresses, of which one goes down", test_several_addresses},
    {"each outcome arrives as it was sent", test_outcomes},
    {"large bodies pass both ways", test_large_bodies},
    {"many calls at once", test_many},
    {"a call without an answer ends at its timeout", test_timeout},
    {"a callee learns the deadline", test_deadline_travels},
    {"a callee learns that a call was cancelled", test_cancel},
    {"a service that is down is unavailable", test_down},
    {"a service that knows nothing of us is a blind spot", test_plain_server},
    {"hostile paths change neither status nor body", test_hostile_paths},
    {"a path without an ask is ignored", test_unasked},
    {"bad targets and methods fail their calls only", test_bad_stubs},
    {"calls beyond the limit are refused", test_calls_limit},
    CU_TEST_INFO_NULL,
};
