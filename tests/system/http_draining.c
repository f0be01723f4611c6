/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_draining.c - the loop as an executor, how it stops, and lack of memory */
#include "http_suites.h"
#include "http_support.h"

#include "tests/support/failing_alloc.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- Stopping --- */

/* Whether the port was refused within 5 s. */
static bool becomes_closed(uint16_t port)
{
    for (unsigned i = 0; i < 5000; i++) {
        const int descriptor = raw_connect(port);

        if (descriptor < 0) {
            return true;
        }
        (void)close(descriptor);
        test_sleep_ns(MS);
    }
    return false;
}

/* The task of "/stuck" has begun to wait. */
static struct cpt_pending *stuck_of(struct test_service *service)
{
    while (atomic_load(&service->stuck) == NULL) {
        test_sleep_ns(MS);
    }
    return atomic_load(&service->stuck);
}

/* Stops with @how while a request is being served. */
static void stop_in_flight(void (*how)(struct test_loop *loop))
{
    struct test_loop loop;
    struct test_service service;
    char reply[4096];
    int descriptor = -1;
    int idle = -1;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_ENTRY, -1, NULL);
    CU_ASSERT_EQUAL(cpt_http_stop_on_signals(loop.http, NULL), CPT_OK);
    test_loop_start(&loop);
    idle = raw_connect(service.port);
    descriptor = raw_connect(service.port);
    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n\r\n");
    (void)stuck_of(&service);
    how(&loop);
    CU_ASSERT_TRUE(becomes_closed(service.port));
    /* an idle connection is served as long as there is anything to do */
    raw_write(idle, "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
    (void)raw_read(idle, reply, sizeof(reply), NULL);
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    cpt_complete(stuck_of(&service), CPT_OK);
    (void)raw_read(descriptor, reply, sizeof(reply), NULL);
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "Connection: close"));
    (void)pthread_join(loop.thread, NULL);
    CU_ASSERT_EQUAL(loop.result, CPT_OK);
    cpt_http_free(loop.http);
    test_service_free(&service);
    (void)close(descriptor);
    (void)close(idle);
}

static void by_call(struct test_loop *loop)
{
    cpt_http_stop(loop->http);
}

static void by_sigterm(struct test_loop *loop)
{
    (void)loop;
    (void)kill(getpid(), SIGTERM);
}

static void by_sigint(struct test_loop *loop)
{
    (void)loop;
    (void)kill(getpid(), SIGINT);
}

static void test_stop(void)
{
    stop_in_flight(by_call);
    stop_in_flight(by_sigterm);
    stop_in_flight(by_sigint);
}

/* A request that does not end: its connection is cut, its reply comes too late. */
static void test_stop_cuts(bool is_freed_first)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .drain_ns = 50 * MS};
    struct test_loop loop;
    struct test_service service;
    char reply[4096];
    int descriptor = -1;

    test_loop_make(&loop, &options);
    test_service_make(&service, &loop, CPT_ROLE_ENTRY, -1, cpt_executor_inline());
    test_loop_start(&loop);
    descriptor = raw_connect(service.port);
    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n\r\n");
    (void)stuck_of(&service);
    cpt_http_stop(loop.http);
    (void)pthread_join(loop.thread, NULL);
    CU_ASSERT_EQUAL(loop.result, CPT_TIMEOUT);
    CU_ASSERT_EQUAL(raw_read(descriptor, reply, sizeof(reply), NULL), 0);
    if (is_freed_first) {
        cpt_http_free(loop.http);
    }
    cpt_complete(atomic_load(&service.stuck), CPT_OK);
    if (!is_freed_first) {
        cpt_http_free(loop.http);
    }
    test_service_free(&service);
    (void)close(descriptor);
}

static void test_stop_cut(void)
{
    test_stop_cuts(false);
    test_stop_cuts(true);
}

static void serve_never(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
    }
}

static void *stop_later(void *context)
{
    test_sleep_ns(50 * MS);
    cpt_http_stop(((struct test_loop *)context)->http);
    return NULL;
}

static void test_stop_cancels_calls(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .drain_ns = 50 * MS,
                                             .connection_count_max = 2};
    struct call_request request = {.count = 4, .is_traced = true};
    struct call_result result;
    struct stand_in stand_in;
    struct test_loop loop;
    pthread_t stopper;

    stand_in_start(&stand_in, serve_never, NULL);
    test_loop_make(&loop, &options);
    test_loop_start(&loop);
    (void)pthread_create(&stopper, NULL, stop_later, &loop);
    request.stub.target = stand_in.target;
    call_out(&loop, &request, NULL, &result);
    for (unsigned i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(result.statuses[i], CPT_CANCELLED);
    }
    CU_ASSERT_TRUE(result.is_path_good);
    (void)pthread_join(stopper, NULL);
    /* later ones do not begin */
    call_out(&loop, &request, cpt_executor_inline(), &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_CANCELLED);
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    stand_in_stop(&stand_in);
}

/* --- The executor --- */

struct timed {
    struct cpt_timer timer;
    struct cpt_executor *executor;
    _Atomic uint64_t fired_ns;
};

static void on_timed(struct cpt_timer *timer)
{
    struct timed *timed = (struct timed *)(void *)timer;

    atomic_store(&timed->fired_ns, test_now_ns());
}

enum { TIMERS = 200 };

static void test_timers(void)
{
    static struct timed timers[TIMERS];
    bool is_cancelled[TIMERS] = {false};
    struct test_loop loop;
    struct cpt_executor *executor = NULL;
    const uint64_t start_ns = test_now_ns();

    test_loop_make(&loop, NULL);
    executor = cpt_http_executor(loop.http);
    test_loop_start(&loop);
    memset(timers, 0, sizeof(timers));
    for (unsigned i = 0; i < TIMERS; i++) {
        const unsigned place = (i * 37) % TIMERS;

        timers[place].timer.fire = on_timed;
        CU_ASSERT_EQUAL(
            executor->after(executor, &timers[place].timer, (20 + place) * MS), CPT_OK);
    }
    for (unsigned i = 0; i < TIMERS; i += 3) {
        is_cancelled[i] = executor->cancel(executor, &timers[i].timer) == 1;
        CU_ASSERT_EQUAL(executor->cancel(executor, &timers[i].timer), 0);
    }
    for (unsigned i = 0; i < TIMERS; i++) {
        while (!is_cancelled[i] && atomic_load(&timers[i].fired_ns) == 0) {
            test_sleep_ns(MS);
        }
    }
    for (unsigned i = 0; i < TIMERS; i++) {
        const uint64_t fired_ns = atomic_load(&timers[i].fired_ns);

        CU_ASSERT_EQUAL(fired_ns == 0, is_cancelled[i]);
        CU_ASSERT_TRUE(is_cancelled[i] || fired_ns >= timers[i].timer.at_ns);
        CU_ASSERT_TRUE(is_cancelled[i] || fired_ns >= start_ns + (20 + i) * MS);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
}

enum { SUBMITTERS = 4, WORKS = 5000 };

struct worked {
    struct cpt_work work;
    atomic_uint *count;
};

struct submitter {
    struct cpt_executor *executor;
    struct worked works[WORKS];
    atomic_uint *count;
};

static void on_work(struct cpt_work *work)
{
    atomic_fetch_add(((struct worked *)(void *)work)->count, 1);
}

static void *submit(void *context)
{
    struct submitter *submitter = context;

    for (unsigned i = 0; i < WORKS; i++) {
        submitter->works[i].work.run = on_work;
        submitter->works[i].count = submitter->count;
        submitter->executor->submit(submitter->executor, &submitter->works[i].work);
    }
    return NULL;
}

static void test_works(void)
{
    static struct submitter submitters[SUBMITTERS];
    pthread_t threads[SUBMITTERS];
    atomic_uint count = 0;
    struct test_loop loop;

    test_loop_make(&loop, NULL);
    test_loop_start(&loop);
    for (unsigned i = 0; i < SUBMITTERS; i++) {
        submitters[i].executor = cpt_http_executor(loop.http);
        submitters[i].count = &count;
        (void)pthread_create(&threads[i], NULL, submit, &submitters[i]);
    }
    for (unsigned i = 0; i < SUBMITTERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    CU_ASSERT_EQUAL(atomic_load(&count), SUBMITTERS * WORKS);
}

/* --- Options and memory --- */

static void test_options(void)
{
    struct cpt_http_options options = {.struct_bytes = sizeof(options)};
    struct cpt_error error = {0};

    options.body_bytes_max = (size_t)1 << 31;
    CU_ASSERT_PTR_NULL(cpt_http_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    cpt_http_free(NULL);
    cpt_http_free(cpt_http_new(NULL, NULL));
}

struct ended {
    struct cpt_http *http;
    bool is_good;
};

static void on_done(struct cpt_request *request, void *context)
{
    struct ended *ended = context;
    const struct cpt_rpc_reply *reply = cpt_request_output(request);

    ended->is_good = reply != NULL && reply->http_status == 200;
    cpt_http_stop(ended->http);
}

static struct cpt_stub memory_stub = {.name = "S: hello", .method = "/hello"};

static cpt_status answered(struct cpt_task *task)
{
    const struct cpt_call_reply *reply =
        cpt_call_reply(*cpt_state(task, struct cpt_pending *));

    cpt_output(task, rpc_reply)->http_status = reply->http_status;
    return reply->status;
}

static cpt_status forward(struct cpt_task *task)
{
    struct cpt_pending **pending = cpt_state(task, struct cpt_pending *);

    *pending = cpt_call(task, &memory_stub, cpt_bytes_of("x"));
    return cpt_await(task, *pending, answered);
}

static const struct cpt_task_def forward_tasks[] = {
    {"forward", forward, CPT_GIVES(rpc_reply), CPT_NEEDS_NOTHING, {NULL}, NULL}};
static const struct cpt_graph forward_graph = {"T", NULL, CPT_GIVES(rpc_reply),
                                               forward_tasks, 1};

/* A loop that calls its own service once, all on this thread. */
static bool call_oneself(const struct cpt_alloc *alloc)
{
    struct cpt_http_options http_options = {
        .struct_bytes = sizeof(http_options), .alloc = alloc, .drain_ns = 100 * MS};
    struct cpt_request_options options = {.struct_bytes = sizeof(options)};
    struct cpt_plan *plan = cpt_plan_new(&forward_graph, NULL, NULL);
    struct test_service service = {0};
    struct ended ended = {cpt_http_new(&http_options, NULL), false};
    struct cpt_error error = {0};
    struct cpt_service_options service_options = {
        .struct_bytes = sizeof(service_options), .name = "S", .probability = -1};
    char target[64];
    uint16_t port = 0;

    service.service = cpt_service_new(&service_options, NULL);
    if (ended.http != NULL && cpt_http_listen(ended.http, service.service, NULL, 0,
                                              &port, &error) == CPT_OK) {
        (void)snprintf(target, sizeof(target), "127.0.0.1:%u", (unsigned)port);
        memory_stub.target = target;
        memory_stub.timeout_ns = 200 * MS;
        memory_stub.transport = cpt_http_transport(ended.http);
        options.plan = plan;
        options.done = on_done;
        options.context = &ended;
        (void)cpt_request_start(&options, NULL);
        (void)cpt_http_run(ended.http);
    }
    cpt_http_free(ended.http);
    cpt_service_free(service.service);
    cpt_plan_free(plan);
    return ended.is_good;
}

static void test_memory(void)
{
    struct failing_alloc failing;
    size_t total = 0;

    failing_alloc_init(&failing, 0);
    (void)call_oneself(&failing.alloc);
    CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
    total = atomic_load(&failing.call_count);
    CU_ASSERT_TRUE(total > 10);
    for (size_t n = 1; n <= total; n++) {
        failing_alloc_init(&failing, n);
        (void)call_oneself(&failing.alloc); /* ends, successfully or not */
        CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
    }
}

CU_TestInfo http_draining_tests[] = {
    {"requests in flight are finished", test_stop},
    {"requests that do not end are cut off", test_stop_cut},
    {"calls that do not end are cancelled", test_stop_cancels_calls},
    {"timers fire when they are due, and not if cancelled", test_timers},
    {"work from many threads is run once", test_works},
    {"options", test_options},
    {"each refused allocation ends the call, and leaks nothing", test_memory},
    CU_TEST_INFO_NULL,
};
