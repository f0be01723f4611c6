/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * http_resent.c - which calls are sent again when a kept connection breaks
 *
 * What a callee that dies at any byte has carried out is counted in dying_http.c.
 */
#include "http_suites.h"
#include "http_support.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GOOD_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

/* As serve_stale(), and its reply had begun: by a byte, or by an interim one. */
static void serve_begun(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, GOOD_REPLY);
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, stand_in->reply);
}

/* Reads nothing of the second request, so that the connection is reset. */
static void serve_deaf(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    char byte = 0;

    if (nth > 0) {
        serve_reply(stand_in, descriptor, nth);
        return;
    }
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, GOOD_REPLY);
    (void)recv(descriptor, &byte, 1, MSG_PEEK);
}

struct resent_row {
    const char *method;
    const char *body;
    bool is_idempotent;
    bool is_resent;
};

static const struct resent_row resent_rows[] = {
    {"/act", NULL, false, true}, /* GET */
    {"/act", "x", false, false}, /* POST */
    {"/act", "x", true, true},         {"GET /act", NULL, false, true},
    {"HEAD /act", NULL, false, true},  {"OPTIONS /act", NULL, false, true},
    {"TRACE /act", NULL, false, true}, {"PUT /act", "x", false, true},
    {"PUT /act", NULL, false, true},   {"DELETE /act", NULL, false, true},
    {"DELETE /act", "x", false, true}, {"GET /act", "x", false, true},
    {"POST /act", NULL, false, false}, {"POST /act", "x", false, false},
    {"POST /act", "x", true, true},    {"PATCH /act", "x", false, false},
    {"PATCH /act", "x", true, true},   {"PUTS /act", "x", false, false},
    {"LOCK /act", NULL, false, false},
};

/* One call that is answered, then the one of @row, which meets the end of its kept
 * connection. */
static void expect_resent(const struct resent_row *row, stand_in_fn serve,
                          const char *reply)
{
    const bool is_resent = row->is_resent && serve != serve_begun;
    struct call_request request = {0};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve, reply);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_OK);
    request.stub.target = stand_in.target;
    request.stub.method = row->method;
    request.body = row->body;
    request.is_idempotent = row->is_idempotent;
    call_out(&loop, &request, NULL, &result);
    if (result.statuses[0] != (is_resent ? CPT_OK : CPT_IO)) {
        (void)fprintf(stderr, "%s %s: %d\n", row->method,
                      row->body != NULL ? row->body : "", result.statuses[0]);
        CU_FAIL("it was sent again, or was not");
    }
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_resent"), is_resent);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.connection_count), 1U + is_resent);
}

static void test_verbs(void)
{
    for (size_t i = 0; i < sizeof resent_rows / sizeof resent_rows[0]; i++) {
        expect_resent(&resent_rows[i], serve_stale, GOOD_REPLY);
        expect_resent(&resent_rows[i], serve_deaf, GOOD_REPLY);
        expect_resent(&resent_rows[i], serve_begun, "H");
        expect_resent(&resent_rows[i], serve_begun, "HTTP/1.1 100 Continue\r\n\r\n");
    }
}

/* --- What was closed before --- */

static void serve_once(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    if (stand_in_read(stand_in, descriptor)) {
        raw_write(descriptor, stand_in->reply);
    }
    (void)shutdown(descriptor, SHUT_RDWR); /* before it counts as closed */
}

/* The callee has closed the connection: nothing of the call is written there, so it
 * goes to another one, whatever its verb. */
static void test_closed_unused(void)
{
    struct call_request request = {.body = "x"};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_once, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    request.stub.method = "POST /act";
    for (unsigned i = 0; i < 20; i++) {
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        while (atomic_load(&stand_in.open_count) > 0) {
            test_sleep_ns(MS / 10);
        }
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.request_count), 20);
}

/* A call that could not be sent again takes no connection that was unused for long, as
 * its callee may be about to close that; others do. */
static void test_fresh(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof options,
                                             .idle_ns = 400 * MS};
    struct call_request request = {.body = "x"};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_reply, GOOD_REPLY);
    test_loop_make(&loop, &options);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    request.stub.method = "POST /act";
    for (unsigned i = 0; i < 3; i++) {
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        test_sleep_ns(260 * MS);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.connection_count), 3);
}

/* --- The path --- */

/* The first connection takes its time before it ends. */
static void serve_late(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    if (nth == 0) {
        (void)stand_in_read(stand_in, descriptor);
        raw_write(descriptor, GOOD_REPLY);
        (void)stand_in_read(stand_in, descriptor);
        test_sleep_ns(50 * MS);
        return;
    }
    serve_reply(stand_in, descriptor, nth);
}

/* The time of the try that was lost is time of the call. */
static void test_path(void)
{
    struct call_request request = {.is_traced = true};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_late, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_OK);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_resent"), 1);
    CU_ASSERT_TRUE(result.is_path_good);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_BLIND_SPOT] >= 50 * MS);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
}

CU_TestInfo http_resent_tests[] = {
    {"a call is sent again only if it may be carried out twice", test_verbs},
    {"a call of which nothing was written is sent again", test_closed_unused},
    {"a call that may not be takes no connection that was unused for long", test_fresh},
    {"the time of a try that was lost is on the path", test_path},
    CU_TEST_INFO_NULL,
};
