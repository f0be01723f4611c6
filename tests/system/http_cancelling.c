/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_cancelling.c - cancelled calls, clients that disconnect, deadlines passed on */
#include "http_suites.h"
#include "http_support.h"

#include "tests/support/virtual_time.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

/* --- Two services, each with its own loop --- */

static struct {
    struct test_loop caller;
    struct test_loop callee;
    struct test_service service; /* of the callee */
    char target[64];
} pair;

static void pair_start(const struct cpt_http_options *caller,
                       const struct cpt_http_options *callee)
{
    test_loop_make(&pair.callee, callee);
    test_service_make(&pair.service, &pair.callee, CPT_ROLE_INNER, -1, NULL);
    test_loop_start(&pair.callee);
    (void)snprintf(pair.target, sizeof(pair.target), "http://127.0.0.1:%u",
                   (unsigned)pair.service.port);
    test_loop_make(&pair.caller, caller);
    test_loop_start(&pair.caller);
}

static void pair_stop(void)
{
    CU_ASSERT_EQUAL(test_loop_stop(&pair.caller), CPT_OK);
    CU_ASSERT_EQUAL(test_loop_stop(&pair.callee), CPT_OK);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.service.service, 5000 * MS), CPT_OK);
    test_service_free(&pair.service);
}

struct sought {
    const char *name;
    uint64_t value;
};

static void seek(void *context, const struct cpt_counter *counter)
{
    struct sought *sought = context;

    if (strcmp(counter->name, sought->name) == 0) {
        sought->value += counter->value;
    }
}

static uint64_t service_counter(const char *name)
{
    struct sought sought = {name, 0};

    cpt_service_counters(pair.service.service, seek, &sought);
    return sought.value;
}

/* Whether the callee's counter reaches @wanted soon. */
static bool comes_to(const char *name, uint64_t wanted)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (service_counter(name) == wanted) {
            return true;
        }
        test_sleep_ns(MS);
    }
    return false;
}

static struct cpt_pending *take_stuck(void)
{
    struct cpt_pending *pending = NULL;

    for (int i = 0; i < PATIENCE_MS && pending == NULL; i++) {
        pending = atomic_exchange(&pair.service.stuck, NULL);
        if (pending == NULL) {
            test_sleep_ns(MS);
        }
    }
    return pending;
}

/* --- A request that calls --- */

CPT_VALUE(stub, struct cpt_stub);
CPT_VALUE(result, int);

static cpt_status called(struct cpt_task *task)
{
    *cpt_output(task, result) = 1;
    return CPT_OK;
}

static cpt_status call_and_wait(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, cpt_input(task, stub), cpt_bytes_of("")),
                     called);
}

struct ending {
    bool is_of_many; /* who do not tell how */
    atomic_int gone_count;
    cpt_status status;
    char sentence[CPT_ERROR_SENTENCE_BYTES];
};

static void note_done(struct cpt_request *request, void *context)
{
    struct ending *ending = context;

    if (ending->is_of_many) {
        return;
    }
    ending->status = cpt_request_status(request);
    (void)snprintf(ending->sentence, sizeof(ending->sentence), "%s",
                   cpt_request_sentence(request));
}

static void note_gone(void *context)
{
    atomic_fetch_add(&((struct ending *)context)->gone_count, 1);
}

static struct cpt_plan *plan_of(cpt_task_fn run)
{
    static struct cpt_task_def tasks[1];
    static struct cpt_graph graph;

    tasks[0] = (struct cpt_task_def){"calls",         run,    CPT_GIVES(result),
                                     CPT_NEEDS(stub), {NULL}, NULL};
    graph = (struct cpt_graph){"T", CPT_GIVES(stub), CPT_GIVES(result), tasks, 1};
    return cpt_plan_new(&graph, NULL, NULL);
}

/* Starts a request that calls @target, on @executor or the caller's loop. */
static struct cpt_request_handle *start(const struct cpt_plan *plan, const char *target,
                                        const char *method, uint64_t timeout_ns,
                                        struct cpt_executor *executor,
                                        struct ending *ending)
{
    const struct cpt_stub called = {.name = "S: call",
                                    .target = target,
                                    .method = method,
                                    .transport = cpt_http_transport(pair.caller.http)};
    const struct cpt_request_options options = {
        .struct_bytes = sizeof(options),
        .plan = plan,
        .executor = executor != NULL ? executor : cpt_http_executor(pair.caller.http),
        .input = &called,
        .done = note_done,
        .gone = note_gone,
        .context = ending,
        .timeout_ns = timeout_ns};
    struct cpt_request_handle *handle = NULL;

    CU_ASSERT_EQUAL(cpt_request_start_held(&options, &handle, NULL), CPT_OK);
    return handle;
}

static void wait_for(const struct ending *ending, int gone_count)
{
    while (atomic_load(&ending->gone_count) < gone_count) {
        test_sleep_ns(MS / 10);
    }
}

/* --- A call without a waiter --- */

static void test_cancelled_call(void)
{
    struct ending ending = {0};
    struct cpt_plan *plan = plan_of(call_and_wait);
    struct cpt_request_handle *handle = NULL;
    struct cpt_pending *stuck = NULL;

    pair_start(NULL, NULL);
    handle = start(plan, pair.target, "/stuck", 0, NULL, &ending);
    stuck = take_stuck();
    CU_ASSERT_PTR_NOT_NULL_FATAL(stuck);
    CU_ASSERT_EQUAL(cpt_request_cancel(handle), 1);
    wait_for(&ending, 1);
    CU_ASSERT_EQUAL(ending.status, CPT_CANCELLED);
    CU_ASSERT_TRUE(comes_to("cancelled", 1)); /* the callee was told */
    CU_ASSERT_EQUAL(test_counter(&pair.caller, "http_calls_cancelled"), 1);
    CU_ASSERT_EQUAL(test_counter(&pair.callee, "http_requests_abandoned"), 1);
    CU_ASSERT_EQUAL(call_status(&pair.caller, pair.target), CPT_OK);
    cpt_complete(stuck, CPT_OK);
    cpt_request_handle_free(handle);
    pair_stop();
    cpt_plan_free(plan);
}

/* One connection: the second call waits for it, and is cancelled there. */
static void test_cancelled_while_waiting(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .connection_count_max = 1};
    struct ending endings[2] = {{.status = CPT_OK}, {.status = CPT_OK}};
    struct cpt_plan *plan = plan_of(call_and_wait);
    struct cpt_request_handle *handles[2];
    struct cpt_pending *stuck = NULL;

    pair_start(&options, NULL);
    handles[0] = start(plan, pair.target, "/stuck", 0, NULL, &endings[0]);
    stuck = take_stuck();
    CU_ASSERT_PTR_NOT_NULL_FATAL(stuck);
    handles[1] = start(plan, pair.target, "/hello", 0, NULL, &endings[1]);
    while (test_counter(&pair.caller, "http_calls_waited") == 0) {
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(cpt_request_cancel(handles[1]), 1);
    wait_for(&endings[1], 1);
    CU_ASSERT_EQUAL(service_counter("cancelled"), 0);
    cpt_complete(stuck, CPT_OK);
    wait_for(&endings[0], 1);
    CU_ASSERT_EQUAL(endings[0].status, CPT_OK);
    CU_ASSERT_EQUAL(service_counter("requests"), 1);
    for (int i = 0; i < 2; i++) {
        cpt_request_handle_free(handles[i]);
    }
    pair_stop();
    cpt_plan_free(plan);
}

/* --- Deadlines --- */

/* Whether the callee soon ends the request, once: its own timer or the closed
 * connection, whichever comes first. */
static bool comes_to_an_end(void)
{
    uint64_t ends = 0;

    for (int i = 0; i < PATIENCE_MS && ends == 0; i++) {
        test_sleep_ns(MS);
        ends = service_counter("timed_out") + service_counter("cancelled");
    }
    return ends == 1;
}

/* Whether the caller waited for the call when its deadline passed; then the callee has
 * ended it, too. */
static bool deadline_reaches_the_callee(uint64_t timeout_ns)
{
    struct ending ending = {0};
    struct cpt_plan *plan = plan_of(call_and_wait);
    struct cpt_pending *stuck = NULL;
    const uint64_t begin_ns = test_now_ns();

    pair_start(NULL, NULL);
    cpt_request_handle_free(
        start(plan, pair.target, "/stuck", timeout_ns, NULL, &ending));
    wait_for(&ending, 1);
    CU_ASSERT_TRUE(test_now_ns() - begin_ns >= timeout_ns);
    CU_ASSERT_EQUAL(ending.status, CPT_TIMEOUT);
    stuck = take_stuck();
    if (stuck != NULL) {
        CU_ASSERT_TRUE(comes_to_an_end());
        cpt_complete(stuck, CPT_OK);
    }
    pair_stop();
    cpt_plan_free(plan);
    return stuck != NULL &&
           strcmp(ending.sentence, "the request took too long: task 'T: calls' waited "
                                   "for 'S: call'") == 0;
}

/* On a busy machine a short deadline may pass before the call is sent. */
static void test_deadline_reaches_the_callee(void)
{
    CU_ASSERT_TRUE(deadline_reaches_the_callee(60 * MS) ||
                   deadline_reaches_the_callee(1000 * MS) ||
                   deadline_reaches_the_callee(10000 * MS));
}

static void test_deadline_is_told(void)
{
    struct ending ending = {0};
    struct cpt_plan *plan = plan_of(call_and_wait);
    struct stand_in stand_in;
    const char *header = NULL;

    stand_in_start(&stand_in, serve_reply,
                   "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
    pair_start(NULL, NULL);
    cpt_request_handle_free(
        start(plan, stand_in.target, "/", 3000 * MS, NULL, &ending));
    wait_for(&ending, 1);
    CU_ASSERT_EQUAL(ending.status, CPT_OK);
    pair_stop();
    stand_in_stop(&stand_in);
    header = strstr(stand_in.first_request, "\r\ncpt-timeout: ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(header);
    CU_ASSERT_TRUE(strtoul(header + 15, NULL, 10) <= 3000000);
    CU_ASSERT_TRUE(strtoul(header + 15, NULL, 10) > 1000000);
    cpt_plan_free(plan);
}

/* --- Clients that disconnect --- */

static void leave_stuck(bool closes_whole)
{
    struct cpt_pending *stuck = NULL;
    const int descriptor = raw_connect(pair.service.port);
    char reply[512] = "";

    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n\r\n");
    stuck = take_stuck();
    CU_ASSERT_PTR_NOT_NULL_FATAL(stuck);
    if (closes_whole) {
        (void)close(descriptor);
    } else {
        (void)shutdown(descriptor, SHUT_WR);
        (void)raw_read(descriptor, reply, sizeof(reply), "\r\n\r\n");
        CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 499 ", 13), 0);
        (void)close(descriptor);
    }
    CU_ASSERT_TRUE(comes_to("cancelled", closes_whole ? 1 : 2));
    cpt_complete(stuck, CPT_OK);
}

static void test_client_that_goes(void)
{
    pair_start(NULL, NULL);
    leave_stuck(true);
    leave_stuck(false);
    CU_ASSERT_EQUAL(test_counter(&pair.callee, "http_requests_abandoned"), 2);
    pair_stop();
}

/* A byte behind the request lies unread when the connection is reset: then the system
 * tells no end, but that there is something to read. */
static void test_client_that_resets(void)
{
    const struct linger none = {1, 0};
    struct cpt_pending *stuck = NULL;
    int descriptor = -1;

    pair_start(NULL, NULL);
    descriptor = raw_connect(pair.service.port);
    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n\r\n");
    stuck = take_stuck();
    CU_ASSERT_PTR_NOT_NULL_FATAL(stuck);
    raw_write(descriptor, "G");
    CU_ASSERT_EQUAL(call_status(&pair.caller, pair.target), CPT_OK); /* it was seen */
    (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    (void)close(descriptor);
    CU_ASSERT_TRUE(comes_to("cancelled", 1));
    CU_ASSERT_EQUAL(test_counter(&pair.callee, "http_requests_abandoned"), 1);
    cpt_complete(stuck, CPT_OK);
    pair_stop();
}

/* What lies behind the last request of a connection does not cut its reply off. */
static void test_bytes_behind_the_last(void)
{
    enum { BODY_BYTES = 3 << 20 };
    static const char head[] =
        "POST /stuck HTTP/1.1\r\nHost: s\r\nConnection: close\r\n"
        "Content-Length: 3145728\r\n\r\n";
    char *body = calloc(1, BODY_BYTES + 1);
    struct cpt_pending *stuck = NULL;
    size_t bytes = 0;
    ssize_t got = 1;
    int descriptor = -1;

    CU_ASSERT_PTR_NOT_NULL_FATAL(body);
    memset(body, 'b', BODY_BYTES);
    pair_start(NULL, NULL);
    descriptor = raw_connect(pair.service.port);
    raw_write(descriptor, head);
    raw_write(descriptor, body);
    stuck = take_stuck();
    CU_ASSERT_PTR_NOT_NULL_FATAL(stuck);
    raw_write(descriptor, "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
    cpt_complete(stuck, CPT_OK);
    while (got > 0) {
        got = recv(descriptor, body, BODY_BYTES, 0);
        bytes += got > 0 ? (size_t)got : 0;
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(got, 0); /* an end, no reset */
    CU_ASSERT_TRUE(bytes > BODY_BYTES);
    (void)close(descriptor);
    free(body);
    pair_stop();
}

static void test_client_that_may_go(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .keeps_abandoned = 1};
    struct cpt_pending *stuck = NULL;
    int descriptor = -1;

    pair_start(NULL, &options);
    descriptor = raw_connect(pair.service.port);
    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n\r\n");
    stuck = take_stuck();
    (void)close(descriptor);
    test_sleep_ns(20 * MS);
    CU_ASSERT_EQUAL(service_counter("cancelled"), 0);
    cpt_complete(stuck, CPT_OK);
    CU_ASSERT_TRUE(comes_to("requests", 1));
    pair_stop();
}

/* --- More clients than allowed --- */

/* Whether the server answers on @descriptor soon. */
static bool is_answered(int descriptor, int patience_ms)
{
    const struct timeval limit = {patience_ms / 1000,
                                  (suseconds_t)(patience_ms % 1000) * 1000};
    char byte = 0;

    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return recv(descriptor, &byte, 1, 0) == 1;
}

static void test_accepted_connections(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .accepted_count_max = 3};
    int descriptors[5];

    pair_start(NULL, &options);
    for (int i = 0; i < 5; i++) {
        descriptors[i] = raw_connect(pair.service.port);
        raw_write(descriptors[i], "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
        CU_ASSERT_EQUAL(is_answered(descriptors[i], i < 3 ? PATIENCE_MS : 50), i < 3);
    }
    CU_ASSERT_EQUAL(test_counter(&pair.callee, "http_accepts_paused"), 1);
    CU_ASSERT_EQUAL(service_counter("requests"), 3);
    (void)close(descriptors[1]);
    CU_ASSERT_TRUE(is_answered(descriptors[3], PATIENCE_MS));
    CU_ASSERT_FALSE(is_answered(descriptors[4], 50));
    (void)close(descriptors[0]);
    (void)close(descriptors[2]);
    CU_ASSERT_TRUE(is_answered(descriptors[4], PATIENCE_MS));
    (void)close(descriptors[3]);
    (void)close(descriptors[4]);
    pair_stop();
}

/* All were connected before the loop began to accept. */
static void test_accepted_at_once(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .accepted_count_max = 3};
    struct test_loop loop;
    struct test_service service;
    int descriptors[10];
    int answered = 0;

    test_loop_make(&loop, &options);
    test_service_make(&service, &loop, CPT_ROLE_INNER, -1, NULL);
    for (int i = 0; i < 10; i++) {
        descriptors[i] = raw_connect(service.port);
        raw_write(descriptors[i], "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
    }
    test_loop_start(&loop);
    for (int i = 0; i < 10; i++) {
        answered += is_answered(descriptors[i], i < 3 ? PATIENCE_MS : 20);
    }
    CU_ASSERT_EQUAL(answered, 3);
    for (int i = 0; i < 10; i++) {
        (void)close(descriptors[i]);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    test_service_free(&service);
}

/* Many that connect and disconnect never reach the limit. */
static void test_accepted_in_turn(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .accepted_count_max = 8};
    char reply[512];

    pair_start(NULL, &options);
    for (int i = 0; i < 100; i++) {
        raw_exchange(pair.service.port,
                     "GET /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n",
                     reply, sizeof(reply));
    }
    CU_ASSERT_EQUAL(service_counter("requests"), 100);
    CU_ASSERT_EQUAL(test_counter(&pair.callee, "http_accepts_paused"), 0);
    pair_stop();
}

/* --- Everything at once --- */

enum { STORM_REQUESTS = 400 };

static cpt_status cancel_call(struct cpt_task *task)
{
    cpt_cancel(*cpt_state(task, struct cpt_pending *));
    return called(task);
}

/* Calls, waits a moment, and cancels the call. */
static cpt_status call_for_a_moment(struct cpt_task *task)
{
    static atomic_uint_least64_t turn;
    struct cpt_pending **call = cpt_state(task, struct cpt_pending *);
    uint64_t random = atomic_fetch_add(&turn, 0x9e3779b97f4a7c15U) | 1;
    const uint64_t wait_ns = virtual_random(&random, MS);

    *call = cpt_call(task, cpt_input(task, stub), cpt_bytes_of(""));
    if (wait_ns % 4 == 0) {
        return cancel_call(task); /* possibly before it was sent */
    }
    return cpt_await(task, cpt_sleep(task, "S: moment", wait_ns), cancel_call);
}

static void storm(struct cpt_executor *executor)
{
    struct ending ending = {.is_of_many = true};
    struct cpt_plan *plan = plan_of(call_for_a_moment);

    for (int i = 0; i < STORM_REQUESTS; i++) {
        struct cpt_request_handle *handle = start(
            plan, pair.target, "/slow", i % 5 == 0 ? MS / 2 : 0, executor, &ending);

        if (i % 3 == 0) {
            (void)cpt_request_cancel(handle);
        }
        cpt_request_handle_free(handle);
    }
    wait_for(&ending, STORM_REQUESTS);
    cpt_plan_free(plan);
}

static void test_storm(void)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof(pool_options),
                                                  .worker_count = 2};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);

    pair_start(NULL, NULL);
    storm(NULL);
    storm(pool);
    CU_ASSERT_TRUE(test_counter(&pair.caller, "http_calls_cancelled") > 0);
    CU_ASSERT_EQUAL(call_status(&pair.caller, pair.target), CPT_OK);
    cpt_pool_free(pool);
    pair_stop();
}

/* --- Tasks that are given up --- */

CPT_VALUE(answer, int);

static cpt_status has_answer(struct cpt_task *task)
{
    *cpt_output(task, answer) = 1;
    return CPT_OK;
}

static cpt_status ask_callee(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, cpt_input(task, stub), cpt_bytes_of("")),
                     has_answer);
}

CPT_VALUE(relay, int);

static cpt_status has_relay(struct cpt_task *task)
{
    *cpt_output(task, relay) = 1;
    return CPT_OK;
}

static cpt_status ask_task(struct cpt_task *task)
{
    return cpt_await(task, cpt_start(task, answer), has_relay);
}

/* Waits for a task that waits for another one that calls, for the one that calls, or
 * for the call itself, but not for long. */
static cpt_status wait_for_relay(struct cpt_task *task)
{
    (void)cpt_start(task, relay);
    return cpt_await_all_for(task, 5 * MS, called);
}

static cpt_status wait_for_task(struct cpt_task *task)
{
    (void)cpt_start(task, answer);
    return cpt_await_all_for(task, 5 * MS, called);
}

static cpt_status wait_for_call(struct cpt_task *task)
{
    (void)cpt_call(task, cpt_input(task, stub), cpt_bytes_of(""));
    return cpt_await_all_for(task, 5 * MS, called);
}

static struct cpt_plan *plan_of_task(cpt_task_fn run)
{
    static struct cpt_task_def tasks[3];
    static struct cpt_graph graph;

    tasks[0] = (struct cpt_task_def){"waits", run, CPT_GIVES(result), CPT_NEEDS(stub),
                                     CPT_STARTS(relay, answer)};
    tasks[1] = (struct cpt_task_def){"relays", ask_task, CPT_GIVES(relay),
                                     CPT_NEEDS(stub), CPT_STARTS(answer)};
    tasks[2] =
        (struct cpt_task_def){"asks", ask_callee, CPT_GIVES(answer), CPT_NEEDS(stub)};
    graph = (struct cpt_graph){"T", CPT_GIVES(stub), CPT_GIVES(result), tasks, 3};
    return cpt_plan_new(&graph, NULL, NULL);
}

/* Reads, and never answers; until the other side closes the connection. */
static void serve_silence(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
    }
}

/* Requests that give up @run's wait, each with a call to a callee that is silent. */
static void give_up_often(cpt_task_fn run, struct cpt_executor *executor)
{
    enum { GIVE_UPS = 100 };
    struct ending ending = {.is_of_many = true};
    struct cpt_plan *plan = plan_of_task(run);
    struct stand_in stand_in;

    stand_in_start(&stand_in, serve_silence, "");
    for (int i = 0; i < GIVE_UPS; i++) {
        cpt_request_handle_free(
            start(plan, stand_in.target, "/", 0, executor, &ending));
    }
    wait_for(&ending, GIVE_UPS);
    for (int i = 0; i < PATIENCE_MS && atomic_load(&stand_in.open_count) > 0; i++) {
        test_sleep_ns(MS);
    }
    CU_ASSERT_EQUAL(atomic_load(&stand_in.open_count), 0);
    stand_in_stop(&stand_in);
    cpt_plan_free(plan);
}

static void test_given_up(void)
{
    const struct cpt_pool_options pool_options = {.struct_bytes = sizeof(pool_options),
                                                  .worker_count = 2};
    struct cpt_executor *pool = cpt_pool_new(&pool_options, NULL);

    pair_start(NULL, NULL);
    give_up_often(wait_for_relay, NULL);
    give_up_often(wait_for_relay, pool);
    give_up_often(wait_for_task, NULL);
    give_up_often(wait_for_task, pool);
    give_up_often(wait_for_call, NULL);
    give_up_often(wait_for_call, pool);
    cpt_pool_free(pool);
    pair_stop();
}

CU_TestInfo http_cancelling_tests[] = {
    {"a call is cancelled, and the callee's request", test_cancelled_call},
    {"a call is cancelled while it waits", test_cancelled_while_waiting},
    {"a deadline reaches the callee", test_deadline_reaches_the_callee},
    {"a deadline is reported", test_deadline_is_told},
    {"a client that disconnects", test_client_that_goes},
    {"a client that sends more, then resets", test_client_that_resets},
    {"bytes behind the last request of a connection", test_bytes_behind_the_last},
    {"a client that may disconnect", test_client_that_may_go},
    {"more clients than allowed", test_accepted_connections},
    {"more clients at once", test_accepted_at_once},
    {"many clients in turn", test_accepted_in_turn},
    {"many calls without a waiter", test_storm},
    {"tasks that call and are given up leave no connection", test_given_up},
    CU_TEST_INFO_NULL,
};
