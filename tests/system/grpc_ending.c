/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* grpc_ending.c - stopping while requests and calls are under way */
#include "grpc_support.h"

#include "tests/support/failing_alloc.h"

#include <stdlib.h>

static void *call_plain(void *context)
{
    struct plain_result *own = malloc(sizeof *own);

    plain_call(context, own);
    return own;
}

/* Requests that have come get their answers. */
static void test_drained(void)
{
    struct plain_call plain = {.method = "/t.G/Stuck", .body = "you"};
    struct plain_result *result = NULL;
    struct cpt_pending *pending = NULL;
    struct grpc_service service;
    pthread_t thread;

    grpc_service_start(&service, NULL, NULL);
    plain.port = service.port;
    (void)pthread_create(&thread, NULL, call_plain, &plain);
    pending = grpc_service_stuck(&service);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pending);
    cpt_complete(pending, CPT_OK); /* it is answered during the stop, or before */
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
    (void)pthread_join(thread, (void **)&result);
    CU_ASSERT_EQUAL(result->code, GRPC_STATUS_OK);
    CU_ASSERT_STRING_EQUAL(result->body, "hello you");
    free(result);
}

/* One that is not answered in time is cut off, and may reply when all is freed. */
static void test_outlived(void)
{
    const struct cpt_grpc_options options = {
        .struct_bytes = sizeof options, .drain_ns = 1, .keeps_abandoned = 1};
    struct plain_call plain = {.method = "/t.G/Stuck", .body = "you"};
    struct plain_result *result = NULL;
    struct cpt_pending *pending = NULL;
    struct grpc_service service;
    pthread_t thread;

    grpc_service_start(&service, &options, NULL);
    plain.port = service.port;
    (void)pthread_create(&thread, NULL, call_plain, &plain);
    pending = grpc_service_stuck(&service);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pending);
    CU_ASSERT_EQUAL(cpt_grpc_stop(service.grpc), CPT_TIMEOUT);
    (void)pthread_join(thread, (void **)&result);
    CU_ASSERT_NOT_EQUAL(result->code, GRPC_STATUS_OK);
    free(result);
    cpt_grpc_free(service.grpc);
    service.grpc = NULL;
    cpt_complete(pending, CPT_OK); /* its reply goes nowhere */
    grpc_service_free(&service);
}

/* A call without an answer ends when its transport does. */
static void test_calls_are_cut(void)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .drain_ns = 1};
    struct plain_server server = {.never_answers = true, .body = ""};
    struct grpc_call_request request = {0};
    struct grpc_call_result result;
    struct cpt_grpc *caller = cpt_grpc_new(&options, NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(caller);
    CU_ASSERT_EQUAL(cpt_grpc_stop(caller), CPT_OK);
    plain_server_start(&server);
    request.stub.target = server.target;
    grpc_call_out(caller, &request, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_UNAVAILABLE);
    plain_server_stop(&server);
    cpt_grpc_free(caller);
}

static void test_unused(void)
{
    cpt_grpc_free(NULL);
    for (int i = 0; i < 3; i++) {
        struct cpt_grpc *grpc = cpt_grpc_new(NULL, NULL);

        CU_ASSERT_PTR_NOT_NULL_FATAL(grpc);
        cpt_grpc_free(grpc);
    }
}

static void test_port_in_use(void)
{
    struct cpt_error error = {0};
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    CU_ASSERT_EQUAL(cpt_grpc_listen(service.grpc, service.service, NULL, service.port,
                                    NULL, &error),
                    CPT_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "cannot listen"));
    CU_ASSERT_EQUAL(cpt_grpc_listen(service.grpc, service.service, "not an address", 0,
                                    NULL, &error),
                    CPT_IO);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* Two services, each on its port. */
static void test_two_ports(void)
{
    struct plain_call plain = {.method = "/t.G/Hello", .body = "you"};
    static struct plain_result result;
    uint16_t second = 0;
    struct grpc_service service;

    grpc_service_start(&service, NULL, NULL);
    CU_ASSERT_EQUAL(
        cpt_grpc_listen(service.grpc, service.service, "127.0.0.1", 0, &second, NULL),
        CPT_OK);
    plain.port = service.port;
    plain_call(&plain, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    plain.port = second;
    plain_call(&plain, &result);
    CU_ASSERT_EQUAL(result.code, GRPC_STATUS_OK);
    CU_ASSERT_EQUAL(grpc_service_stop(&service), CPT_OK);
}

/* A call whose transport gets no memory fails; nothing else does. */
static bool call_succeeds(const struct cpt_alloc *alloc)
{
    const struct cpt_grpc_options options = {.struct_bytes = sizeof options,
                                             .alloc = alloc};
    struct plain_server server = {.body = "good"};
    struct grpc_call_request request = {0};
    struct grpc_call_result result = {0};
    struct cpt_grpc *caller = cpt_grpc_new(&options, NULL);

    if (caller == NULL) {
        return false;
    }
    plain_server_start(&server);
    request.stub.target = server.target;
    grpc_call_out(caller, &request, &result);
    cpt_grpc_free(caller);
    plain_server_stop(&server);
    return result.statuses[0] == CPT_OK && strcmp(result.bodies[0], "good") == 0;
}

static void test_no_memory(void)
{
    each_allocation_failure(call_succeeds);
}

CU_TestInfo grpc_ending_tests[] = {
    {"requests that have come are answered", test_drained},
    {"a request that outlives the transport may reply", test_outlived},
    {"calls after the stop are refused", test_calls_are_cut},
    {"a transport without use", test_unused},
    {"a port that is in use is refused", test_port_in_use},
    {"a service on two ports", test_two_ports},
    {"a call without memory fails", test_no_memory},
    CU_TEST_INFO_NULL,
};
