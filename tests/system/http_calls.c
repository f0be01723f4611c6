/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_calls.c - outgoing calls, to servers that answer well, badly, late or never */
#include "http_suites.h"
#include "http_support.h"

#include "wire/cpt_metadata.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>

#define GOOD_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

/* One traced call to a server with this behaviour. */
static void call_stand_in(stand_in_fn serve, const char *reply, uint64_t timeout_ns,
                          struct call_result *result)
{
    struct call_request request = {.is_traced = true};
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve, reply);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    request.stub.timeout_ns = timeout_ns;
    call_out(&loop, &request, NULL, result);
    CU_ASSERT_TRUE(result->is_path_good);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
}

static void expect(const char *reply, cpt_status status, unsigned reason)
{
    struct call_result result;

    call_stand_in(serve_reply, reply, 0, &result);
    CU_ASSERT_EQUAL(result.statuses[0], status);
    CU_ASSERT_EQUAL(result.reason, reason);
    if (result.statuses[0] != status || result.reason != reason) {
        (void)fprintf(stderr, "got %s, reason %s, for: %.60s\n",
                      cpt_status_name(result.statuses[0]),
                      cpt_reason_word(result.reason), reply);
    }
}

static void test_answer(void)
{
    struct call_result result;

    call_stand_in(serve_reply, "HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\nnone", 0,
                  &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(result.http_statuses[0], 404);
    CU_ASSERT_STRING_EQUAL(result.bodies[0], "none");
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_UNSUPPORTED);
}

static void test_garbage(void)
{
    expect("\x01\x02\x03\x04 what is this?\r\n\r\n", CPT_CORRUPT, CPT_REASON_FAILED);
    expect("HTTP/1.1 abc\r\n\r\n", CPT_CORRUPT, CPT_REASON_FAILED);
    expect("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", CPT_CORRUPT, CPT_REASON_FAILED);
    expect("HTTP/1.1 200 OK\r\nContent-Length: minus\r\n\r\n", CPT_CORRUPT,
           CPT_REASON_FAILED);
    expect("HTTP/2.0 200 OK\r\n\r\n", CPT_CORRUPT, CPT_REASON_FAILED);
    expect("HTTP/1.1 101 Switching\r\n\r\n", CPT_CORRUPT, CPT_REASON_FAILED);
}

static void test_metadata_flags(void)
{
    char large[8192] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\ncritical-path-bin: ";

    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\ncritical-path-bin: !!!!\r\n\r\n",
           CPT_OK, CPT_REASON_UNDECODABLE);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\ncritical-path-bin:\r\n\r\n", CPT_OK,
           CPT_REASON_UNDECODABLE);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\ncritical-path-bin: CAEQ\r\n"
           "Critical-Path-Bin: CAEQ\r\n\r\n",
           CPT_OK, CPT_REASON_UNDECODABLE);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAge: 0\r\n\r\n", CPT_OK,
           CPT_REASON_CACHED);
    /* Varnish: from the service, from its cache */
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAge: 0\r\nX-Varnish: 32770\r\n\r\n",
           CPT_OK, CPT_REASON_UNSUPPORTED);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAge: 0\r\nX-Varnish: 5 3\r\n\r\n",
           CPT_OK, CPT_REASON_CACHED);
    expect("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAge: 1\r\nX-Varnish: 5\r\n\r\n",
           CPT_OK, CPT_REASON_CACHED);
    memset(large + strlen(large), 'A', 4000);
    (void)snprintf(large + strlen(large), 8, "\r\n\r\n");
    expect(large, CPT_OK, CPT_REASON_SIZE);
}

static void serve_close(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    (void)stand_in_read(stand_in, descriptor);
}

static void serve_half(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
}

static void test_early_close(void)
{
    struct call_result result;

    call_stand_in(serve_close, NULL, 0, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_IO);
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_FAILED);
    call_stand_in(serve_half, NULL, 0, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_IO);
}

static void serve_never(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
    }
}

static void test_timeout(void)
{
    struct call_result result;

    call_stand_in(serve_never, NULL, 50 * MS, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_TIMEOUT);
    CU_ASSERT_TRUE(result.elapsed_ns >= 50 * MS);
    CU_ASSERT_TRUE(result.elapsed_ns < 2000 * MS);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_TIMEOUT] >= 50 * MS);
}

static void test_down(void)
{
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_close, NULL);
    stand_in_stop(&stand_in); /* its port is free now */
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_UNAVAILABLE);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_failed"), 1);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
}

static void test_targets(void)
{
    static const char *const bad[] = {"",
                                      "http://",
                                      "ftp://127.0.0.1",
                                      "https://",
                                      "https:127.0.0.1",
                                      "127.0.0.1:0",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:80x",
                                      "http://127.0.0.1:80/base",
                                      "user@host",
                                      "a b",
                                      "[::1",
                                      "a\r\nb:80"};
    struct call_request request = {.stub = {.target = "127.0.0.1:1"}};
    struct call_result result;
    struct test_loop loop;

    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(call_status(&loop, bad[i]), CPT_INVALID);
    }
    request.stub.method = "/a b";
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_INVALID);
    request.stub.method = "a";
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_INVALID);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
}

static void test_names(void)
{
    char target[64];
    struct call_request request = {.stub = {.target = "no-such-host.invalid"}};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_reply, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    (void)snprintf(target, sizeof(target), "localhost:%u/", (unsigned)stand_in.port);
    CU_ASSERT_EQUAL(call_status(&loop, target), CPT_OK);
    request.stub.timeout_ns = 100 * MS;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_TRUE(result.statuses[0] == CPT_UNAVAILABLE ||
                   result.statuses[0] == CPT_TIMEOUT);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
}

/* --- Connections --- */

static void test_stale(void)
{
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_stale, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_OK);
    CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_OK);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_calls_resent"), 1);
    CU_ASSERT_EQUAL(call_status(&loop, stand_in.target), CPT_OK);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.connection_count), 2);
}

static void serve_once(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, stand_in->reply);
}

/* How many connections three calls need. */
static unsigned connections_of(stand_in_fn serve, const char *reply, uint64_t pause_ns,
                               const struct cpt_http_options *options)
{
    struct call_request request = {0};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve, reply);
    test_loop_make(&loop, options);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    for (unsigned i = 0; i < 3; i++) {
        call_out(&loop, &request, NULL, &result);
        CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
        CU_ASSERT_STRING_EQUAL(result.bodies[0], "good");
        test_sleep_ns(pause_ns);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    return atomic_load(&stand_in.connection_count);
}

static void test_kept(void)
{
    CU_ASSERT_EQUAL(connections_of(serve_reply, GOOD_REPLY, 0, NULL), 1);
    CU_ASSERT_EQUAL(connections_of(serve_reply,
                                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                   "chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n",
                                   0, NULL),
                    1);
    CU_ASSERT_EQUAL(connections_of(serve_reply,
                                   "HTTP/1.1 100 Continue\r\n\r\n" GOOD_REPLY, 0, NULL),
                    1);
}

static void test_not_kept(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .idle_ns = 20 * MS};

    /* bytes after a reply do not belong to the next one */
    CU_ASSERT_EQUAL(connections_of(serve_reply, GOOD_REPLY GOOD_REPLY, 0, NULL), 3);
    CU_ASSERT_EQUAL(
        connections_of(
            serve_reply,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood", 0,
            NULL),
        3);
    CU_ASSERT_EQUAL(connections_of(serve_reply,
                                   "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ngood",
                                   0, NULL),
                    3);
    CU_ASSERT_EQUAL(connections_of(serve_once, "HTTP/1.1 200 OK\r\n\r\ngood", 0, NULL),
                    3);
    /* The loop needs time to notice; more on a busy machine. */
    CU_ASSERT_TRUE(connections_of(serve_once, GOOD_REPLY, 20 * MS, NULL) == 3 ||
                   connections_of(serve_once, GOOD_REPLY, 2000 * MS, NULL) == 3);
    CU_ASSERT_TRUE(connections_of(serve_reply, GOOD_REPLY, 100 * MS, &options) == 3 ||
                   connections_of(serve_reply, GOOD_REPLY, 2000 * MS, &options) == 3);
}

/* --- Bytes behind a reply --- */

static atomic_bool poison_is_sent;

/* Answers, and sends a second reply, which no call has asked for. */
static void serve_poison(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    if (nth > 0) {
        serve_reply(stand_in, descriptor, nth);
        return;
    }
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, GOOD_REPLY);
    test_sleep_ns(10 * MS);
    raw_write(descriptor, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
    atomic_store(&poison_is_sent, true);
    (void)stand_in_read(stand_in, descriptor);
}

static struct cpt_stub poisoned = {.name = "S: hello", .method = "/hello"};

static cpt_status called_twice(struct cpt_task *task)
{
    const struct cpt_call_reply *reply =
        cpt_call_reply(*cpt_state(task, struct cpt_pending *));

    cpt_output(task, rpc_reply)->http_status =
        cpt_bytes_equal(reply->body, cpt_bytes_of("good")) ? 200 : 500;
    return reply->status;
}

/* Calls again while the second reply lies in the socket, unread: this runs on the
 * loop's thread. */
static cpt_status called_once(struct cpt_task *task)
{
    struct cpt_pending **call = cpt_state(task, struct cpt_pending *);

    while (!atomic_load(&poison_is_sent)) {
        test_sleep_ns(MS);
    }
    *call = cpt_call(task, &poisoned, cpt_bytes_of(""));
    return cpt_await(task, *call, called_twice);
}

static cpt_status call_two(struct cpt_task *task)
{
    struct cpt_pending **call = cpt_state(task, struct cpt_pending *);

    *call = cpt_call(task, &poisoned, cpt_bytes_of(""));
    return cpt_await(task, *call, called_once);
}

static const struct cpt_task_def poison_tasks[] = {
    {"two", call_two, CPT_GIVES(rpc_reply), CPT_NEEDS_NOTHING, {NULL}, NULL}};
static const struct cpt_graph poison_graph = {"T", NULL, CPT_GIVES(rpc_reply),
                                              poison_tasks, 1};

static void poison_done(struct cpt_request *request, void *context)
{
    const struct cpt_rpc_reply *reply = cpt_request_output(request);

    atomic_store((atomic_uint *)context, reply != NULL ? reply->http_status : 1);
}

/* A second reply behind the one that was asked for answers no other call. */
static void test_poison(void)
{
    struct cpt_plan *plan = cpt_plan_new(&poison_graph, NULL, NULL);
    struct cpt_request_options options = {.struct_bytes = sizeof(options)};
    atomic_uint status = 0;
    struct stand_in stand_in;
    struct test_loop loop;

    atomic_store(&poison_is_sent, false);
    stand_in_start(&stand_in, serve_poison, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    poisoned.target = stand_in.target;
    poisoned.transport = cpt_http_transport(loop.http);
    options.plan = plan;
    options.executor = cpt_http_executor(loop.http);
    options.done = poison_done;
    options.context = &status;
    CU_ASSERT_EQUAL(cpt_request_start(&options, NULL), CPT_OK);
    test_loop_start(&loop);
    while (atomic_load(&status) == 0) {
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(atomic_load(&status), 200);
    CU_ASSERT_EQUAL(test_counter(&loop, "http_replies_refused"), 1);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.connection_count), 2);
    cpt_plan_free(plan);
}

static void serve_late(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
        test_sleep_ns(100 * MS);
        raw_write(descriptor, GOOD_REPLY);
    }
}

/* @count parallel calls of 100 ms each. */
static void call_late(const struct cpt_http_options *options, unsigned count,
                      uint64_t timeout_ns, struct call_result *result,
                      struct stand_in *stand_in)
{
    struct call_request request = {.is_traced = true, .count = count};
    struct test_loop loop;

    stand_in_start(stand_in, serve_late, NULL);
    test_loop_make(&loop, options);
    test_loop_start(&loop);
    request.stub.target = stand_in->target;
    request.stub.timeout_ns = timeout_ns;
    call_out(&loop, &request, NULL, result);
    CU_ASSERT_TRUE(result->is_path_good);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(stand_in);
}

static unsigned count_of(const struct call_result *result, unsigned count,
                         cpt_status status)
{
    unsigned found = 0;

    for (unsigned i = 0; i < count; i++) {
        found += result->statuses[i] == status;
    }
    return found;
}

static void test_parallel(void)
{
    struct call_result result;
    struct stand_in stand_in;

    call_late(NULL, 16, 0, &result, &stand_in);
    CU_ASSERT_EQUAL(count_of(&result, 16, CPT_OK), 16);
    CU_ASSERT_TRUE(result.elapsed_ns < 1500 * MS);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.connection_count), 16);
}

static void test_connection_limit(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .connection_count_max = 2};
    struct call_result result;
    struct stand_in stand_in;

    call_late(&options, 6, 0, &result, &stand_in);
    CU_ASSERT_EQUAL(count_of(&result, 6, CPT_OK), 6);
    CU_ASSERT_TRUE(result.elapsed_ns >= 300 * MS);
    CU_ASSERT_EQUAL(atomic_load(&stand_in.open_count_max), 2);
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_QUEUE] >= 150 * MS);
}

static void test_waiting_limit(void)
{
    struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                       .connection_count_max = 1};
    struct call_result result;
    struct stand_in stand_in;

    for (unsigned limit = 2; limit <= 4; limit++) {
        options.waiting_count_max = limit;
        call_late(&options, 4, 0, &result, &stand_in);
        CU_ASSERT_EQUAL(count_of(&result, 4, CPT_UNAVAILABLE), limit == 2 ? 1 : 0);
    }
}

static void test_timeout_of_waiting(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .connection_count_max = 1};
    struct call_result result;
    struct stand_in stand_in;

    call_late(&options, 4, 150 * MS, &result, &stand_in);
    /* one, and on a busy machine none */
    CU_ASSERT_TRUE(count_of(&result, 4, CPT_TIMEOUT) >= 3);
    CU_ASSERT_EQUAL(count_of(&result, 4, CPT_TIMEOUT) + count_of(&result, 4, CPT_OK),
                    4);
    CU_ASSERT_TRUE(result.elapsed_ns < 2000 * MS);
}

/* --- Limits --- */

/* A reply whose lines, without their ends, have @header_bytes. */
static char *reply_of(size_t header_bytes, size_t body_bytes)
{
    const size_t capacity = header_bytes + body_bytes + 256;
    char *reply = calloc(1, capacity);
    size_t bytes = 0;
    size_t lines = 0;

    (void)snprintf(reply, capacity,
                   "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nx: ", body_bytes);
    bytes = strlen(reply);
    lines = bytes - 4; /* two line ends */
    if (header_bytes > lines) {
        memset(reply + bytes, 'x', header_bytes - lines);
    }
    bytes = strlen(reply);
    (void)snprintf(reply + bytes, capacity - bytes, "\r\n\r\n");
    memset(reply + bytes + 4, 'b', body_bytes);
    return reply;
}

static cpt_status status_of_size(size_t header_bytes, size_t body_bytes)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_bytes_max = 2000,
                                             .body_bytes_max = 1000};
    char *reply = reply_of(header_bytes, body_bytes);
    struct test_loop loop;
    struct stand_in stand_in;
    cpt_status status = CPT_OK;

    stand_in_start(&stand_in, serve_reply, reply);
    test_loop_make(&loop, &options);
    test_loop_start(&loop);
    status = call_status(&loop, stand_in.target);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    free(reply);
    return status;
}

static void test_size_limits(void)
{
    CU_ASSERT_EQUAL(status_of_size(100, 999), CPT_OK);
    CU_ASSERT_EQUAL(status_of_size(100, 1000), CPT_OK);
    CU_ASSERT_EQUAL(status_of_size(100, 1001), CPT_LIMIT);
    CU_ASSERT_EQUAL(status_of_size(100, 100000), CPT_LIMIT);
    CU_ASSERT_EQUAL(status_of_size(1999, 10), CPT_OK);
    CU_ASSERT_EQUAL(status_of_size(2000, 10), CPT_OK);
    CU_ASSERT_EQUAL(status_of_size(2001, 10), CPT_LIMIT);
    CU_ASSERT_EQUAL(status_of_size(200000, 10), CPT_LIMIT);
}

static void serve_continue(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    (void)stand_in_read(stand_in, descriptor);
    for (unsigned i = 0; i < 1000; i++) {
        raw_write(descriptor, "HTTP/1.1 100 Continue\r\nx: y\r\n\r\n");
    }
    (void)stand_in_read(stand_in, descriptor);
}

static void test_endless(void)
{
    struct call_result result;

    call_stand_in(serve_continue, NULL, 0, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_CORRUPT);
    /* a header that never ends */
    expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", CPT_CORRUPT,
           CPT_REASON_FAILED);
    expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffff\r\n",
           CPT_LIMIT, CPT_REASON_FAILED);
}

/* --- On the wire --- */

static void request_of(bool is_traced, const char *body, char *text, size_t capacity)
{
    struct call_request request = {.is_traced = is_traced, .body = body};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;
    char *host = NULL;

    stand_in_start(&stand_in, serve_reply, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    (void)snprintf(text, capacity, "%s", stand_in.first_request);
    host = strstr(text, "127.0.0.1:"); /* the port differs each time */
    if (host != NULL) {
        memmove(host, strchr(host, '\r'), strlen(strchr(host, '\r')) + 1);
    }
}

static void test_bytes(void)
{
    char text[8192];
    char *nonce = NULL;

    request_of(false, NULL, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "GET /hello HTTP/1.1\r\nHost: \r\n\r\n");
    request_of(true, NULL, text, sizeof(text));
    nonce = strstr(text, "critical-path-nonce: ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(nonce);
    memset(nonce + strlen("critical-path-nonce: "), 'n', CPT_NONCE_BYTES); /* random */
    CU_ASSERT_STRING_EQUAL(
        text, "GET /hello HTTP/1.1\r\nHost: \r\ncritical-path: 1;max=2048\r\n"
              "critical-path-nonce: nnnnnnnnnnnnnnnn\r\n\r\n");
    request_of(false, "ask", text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(
        text, "POST /hello HTTP/1.1\r\nHost: \r\nContent-Length: 3\r\n\r\nask");
}

static void test_pool_executor(void)
{
    struct cpt_executor *pool = cpt_pool_new(NULL, NULL);
    struct call_request request = {.is_traced = true, .count = 32, .body = "x"};
    struct call_result result;
    struct test_loop loop;
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_reply, GOOD_REPLY);
    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    request.stub.target = stand_in.target;
    for (unsigned i = 0; i < 20; i++) {
        call_out(&loop, &request, i % 2 == 0 ? pool : cpt_executor_inline(), &result);
        CU_ASSERT_EQUAL(count_of(&result, 32, CPT_OK), 32);
        CU_ASSERT_TRUE(result.is_path_good);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
    cpt_pool_free(pool);
}

CU_TestInfo http_calls_tests[] = {
    {"an answer of any status is an answer", test_answer},
    {"garbage is corrupt and a blind spot", test_garbage},
    {"an unusable path of a callee has a reason", test_metadata_flags},
    {"a callee that closes early", test_early_close},
    {"a callee that is slow", test_timeout},
    {"a callee that is down", test_down},
    {"invalid targets and methods", test_targets},
    {"names are looked up", test_names},
    {"a kept connection that is dead is replaced once", test_stale},
    {"connections are kept", test_kept},
    {"unusable connections are not kept", test_not_kept},
    {"a second reply answers no other call", test_poison},
    {"parallel calls run in parallel", test_parallel},
    {"calls beyond the connections wait, as queue", test_connection_limit},
    {"calls beyond the limit of waiting calls are refused", test_waiting_limit},
    {"a timeout covers the waiting", test_timeout_of_waiting},
    {"sizes of headers and bodies are limited", test_size_limits},
    {"replies that do not end", test_endless},
    {"an unsampled request differs in the header alone", test_bytes},
    {"calls from other threads", test_pool_executor},
    CU_TEST_INFO_NULL,
};
