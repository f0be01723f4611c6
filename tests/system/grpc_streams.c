/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_streams.c - answers of several messages: sent, read, bounded, cut off */
#include "grpc_support.h"

static struct cpt_grpc *caller;
static struct grpc_service service;

static void begin(const struct cpt_grpc_options *calls,
                  const struct cpt_grpc_options *serves)
{
    caller = cpt_grpc_new(calls, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(caller);
    grpc_service_start(&service, serves, NULL);
}

/* Nothing is left of any stream. */
static void end(void)
{
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 0));
    CU_ASSERT_EQUAL(cpt_grpc_stop(caller), CPT_OK);
    cpt_grpc_free(caller);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

static struct grpc_call_request stream_of(const char *method, const char *body)
{
    struct grpc_call_request request = {.body = cpt_bytes_of(body), .is_traced = true};

    request.stub.target = service.target;
    request.stub.method = method;
    request.stub.is_stream = 1;
    return request;
}

static void test_messages_and_path(void)
{
    static const struct {
        const char *body;
        size_t count;
        const char *messages;
    } cases[] = {
        {"0", 0, ""}, {"1", 1, "m0,m0"}, {"3", 3, "m0,m2"}, {"5000", 5000, "m0,m4999"}};
    struct grpc_call_request request;
    struct grpc_call_result result;

    begin(NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        request = stream_of("/t.G/Stream", cases[i].body);
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_OK);
        CU_ASSERT_EQUAL(result.message_counts[0], cases[i].count);
        CU_ASSERT_STRING_EQUAL(result.messages[0], cases[i].messages);
        CU_ASSERT_EQUAL(result.body_bytes[0], 0);
        CU_ASSERT_TRUE(result.is_path_good && result.has_callee);
        CU_ASSERT_EQUAL(result.kind_ns[CPT_KIND_BLIND_SPOT], 0);
    }
    request = stream_of("/t.G/Slowly", "20");
    request.count = 16;
    grpc_call_out(caller, &request, &result);
    for (unsigned i = 0; i < 16; i++) {
        CU_ASSERT_EQUAL(result.message_counts[i], 20);
        CU_ASSERT_STRING_EQUAL(result.messages[i], "m0,m19");
    }
    CU_ASSERT_TRUE(result.is_path_good && result.has_callee);
    end();
}

/* A unary method is a stream of one; an error comes behind what was sent. */
static void test_other_answers(void)
{
    struct grpc_call_request request;
    struct grpc_call_result result;

    begin(NULL, NULL);
    request = stream_of("/t.G/Hello", "you");
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_OK);
    CU_ASSERT_STRING_EQUAL(result.messages[0], "hello you,hello you");
    request = stream_of("/t.G/Stream", "2 6");
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_NOT_FOUND);
    CU_ASSERT_STRING_EQUAL(result.messages[0], "m0,m1");
    CU_ASSERT_STRING_EQUAL(result.bodies[0], "why");
    CU_ASSERT_TRUE(result.is_path_good && result.has_callee);
    request = stream_of("/t.G/None", "");
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_UNIMPLEMENTED);
    CU_ASSERT_EQUAL(result.message_counts[0], 0);
    request.stub.target = "127.0.0.1:1";
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_UNAVAILABLE);
    end();
}

/* Headers go with the first message; those of the reply only if there was none. */
static void test_headers(void)
{
    const struct plain_call none = {
        0, "/t.G/Stream", "0", 0, {{{NULL, 0}, {NULL, 0}}}, 0, 0};
    struct plain_call call = none;
    struct plain_result result;

    begin(NULL, NULL);
    call.port = service.port;
    plain_call(&call, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_STRING_EQUAL(result.header, "yes");
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "grpc_headers_refused"), 0);
    call.body = "1";
    plain_call(&call, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_STRING_EQUAL(result.body, "m0");
    CU_ASSERT_STRING_EQUAL(result.header, "");
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "grpc_headers_refused"), 1);
    end();
}

/* In the middle of a stream: the call ends, and so does the request of the callee. */
static void test_deadline_and_cancelling(void)
{
    struct grpc_call_request request;
    struct grpc_call_result result;
    struct plain_call plain = {
        .method = "/t.G/Slowly", .body = "1000000", .cancel_ms = 30};
    struct plain_result answer;

    begin(NULL, NULL);
    request = stream_of("/t.G/Slowly", "1000000");
    request.stub.timeout_ns = 50 * MS;
    grpc_call_out(caller, &request, &result);
    /* the callee, which has the same deadline, may be the first to say so */
    CU_ASSERT_TRUE(result.statuses[0] == CPT_TIMEOUT || result.statuses[0] == CPT_OK);
    CU_ASSERT_EQUAL(result.outcomes[0], CPT_OUTCOME_DEADLINE_EXCEEDED);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 0));
    plain.port = service.port;
    plain_call(&plain, &answer);
    CU_ASSERT_EQUAL(answer.code, GRPC_STATUS_CANCELLED);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 0));
    request.stub.timeout_ns = 0; /* the caller itself gives up */
    request.timeout_ns = 50 * MS;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.status, CPT_TIMEOUT);
    end();
}

/* A callee that streams without an end: cut off, and nothing of it is kept. */
static void test_endless_reply(void)
{
    static char text[60001];
    const struct cpt_grpc_options small = {.struct_bytes = sizeof small,
                                           .stream_bytes_max = 1 << 20};
    struct plain_server server = {.never_ends = true, .body = text};
    struct grpc_call_request request;
    struct grpc_call_result result;

    memset(text, 'x', sizeof text - 1);
    begin(&small, NULL);
    for (int i = 0; i < 2; i++) {
        text[0] = i == 0 ? 'x' : '\0'; /* large messages, then empty ones */
        plain_server_start(&server);
        request = stream_of("/t.G/Stream", "");
        request.stub.target = server.target;
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_LIMIT);
        CU_ASSERT_EQUAL(result.message_counts[0], 0);
        CU_ASSERT_TRUE(result.is_path_good);
        CU_ASSERT_EQUAL(grpc_counter(caller, "grpc_streams_cut"), (unsigned)i + 1);
        plain_server_stop(&server);
    }
    end();
}

/* At the limit itself, and one byte above; a message counts 128 bytes more. */
static void test_limit_of_a_reply(void)
{
    struct plain_server server = {.before_count = 3, .body = "four"};
    struct cpt_grpc_options options = {.struct_bytes = sizeof options};
    struct grpc_call_request request;
    struct grpc_call_result result;

    for (int i = 0; i < 2; i++) {
        options.stream_bytes_max = 4 * (4 + 128) - (size_t)i;
        begin(&options, NULL);
        plain_server_start(&server);
        request = stream_of("/t.G/Stream", "");
        request.stub.target = server.target;
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], i == 0 ? CPT_OK : CPT_LIMIT);
        CU_ASSERT_EQUAL(result.message_counts[0], i == 0 ? 4 : 0);
        plain_server_stop(&server);
        end();
    }
}

/* All streams together have a limit, too. */
static void test_limit_of_all_replies(void)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .streams_bytes_max = 600};
    struct grpc_call_request request;
    struct grpc_call_result result;

    begin(&options, NULL);
    for (int i = 0; i < 3; i++) { /* what was counted is given back */
        request = stream_of("/t.G/Stream", "4");
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        request = stream_of("/t.G/Stream", "5");
        grpc_call_out(caller, &request, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_LIMIT);
    }
    end();
}

/* A client that reads nothing: the task learns it, and nothing waits without bound. */
static void test_client_that_reads_nothing(void)
{
    const struct cpt_grpc_options small = {.struct_bytes = sizeof small,
                                           .stream_bytes_max = 1 << 20};
    struct plain_call call = {.method = "/t.G/Endless", .body = "x", .timeout_ms = 300};
    struct plain_result result;

    begin(NULL, &small);
    call.port = service.port;
    plain_call(&call, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_DEADLINE_EXCEEDED);
    CU_ASSERT_EQUAL(grpc_service_counter(&service, "grpc_streams_cut"), 1);
    end();
}

static void *call_plainly(void *context)
{
    const struct plain_call *call = context;
    static struct plain_result result;

    plain_call(call, &result);
    return result.code == GRPC_STATUS_OK ? context : NULL;
}

/* Streams that are open, and messages that wait, when everything stops. */
static void test_stop_in_the_middle(void)
{
    const struct cpt_grpc_options brief = {.struct_bytes = sizeof brief,
                                           .drain_ns = MS};
    struct plain_call call = {.method = "/t.G/Slowly", .body = "1000000"};
    void *is_answered = NULL;
    pthread_t thread;

    begin(NULL, &brief);
    call.port = service.port;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, call_plainly, &call), 0);
    CU_ASSERT_TRUE(grpc_comes_to(&service, "grpc_requests_open", 1));
    test_sleep_ns(20 * MS);
    (void)cpt_grpc_stop(service.grpc); /* tasks may not have ended yet: no matter */
    (void)pthread_join(thread, &is_answered);
    CU_ASSERT_PTR_NULL(is_answered);
    grpc_service_free(&service);
    CU_ASSERT_EQUAL(cpt_grpc_stop(caller), CPT_OK);
    cpt_grpc_free(caller);
}

CU_TestInfo grpc_streams_tests[] = {
    {"a stream is read to its end, and its path is behind it", test_messages_and_path},
    {"unary answers, errors behind messages, no answer", test_other_answers},
    {"headers go with the first message", test_headers},
    {"deadlines and cancelling in the middle", test_deadline_and_cancelling},
    {"an endless reply is cut off", test_endless_reply},
    {"the limit of a reply", test_limit_of_a_reply},
    {"the limit of all replies", test_limit_of_all_replies},
    {"a client that reads nothing", test_client_that_reads_nothing},
    {"a stop", test_stop_in_the_middle},
    CU_TEST_INFO_NULL,
};
