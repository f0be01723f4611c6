/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_support.c - raw sockets, a loop in a thread, calls by a real task graph */
#include "http_support.h"

#include "framework/cpt_calls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

uint64_t test_now_ns(void)
{
    return cpt_clock_now_ns(cpt_clock_monotonic());
}

void test_sleep_ns(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    (void)nanosleep(&time, NULL);
}

/* --- A server of raw sockets --- */

struct connection {
    struct stand_in *stand_in;
    int descriptor;
    unsigned nth;
};

static void *connection_main(void *context)
{
    struct connection connection = *(struct connection *)context;
    struct stand_in *stand_in = connection.stand_in;
    const unsigned open = atomic_fetch_add(&stand_in->open_count, 1) + 1;
    unsigned most = atomic_load(&stand_in->open_count_max);

    free(context);
    while (open > most &&
           !atomic_compare_exchange_weak(&stand_in->open_count_max, &most, open)) {
    }
    stand_in->serve(stand_in, connection.descriptor, connection.nth);
    atomic_fetch_sub(&stand_in->open_count, 1);
    (void)close(connection.descriptor);
    return NULL;
}

static void *acceptor_main(void *context)
{
    struct stand_in *stand_in = context;

    for (;;) {
        struct connection *connection = malloc(sizeof(*connection));

        connection->stand_in = stand_in;
        connection->descriptor = accept(stand_in->listener, NULL, NULL);
        connection->nth = atomic_load(&stand_in->connection_count);
        if (connection->descriptor < 0 || connection->nth >= STAND_IN_THREADS_MAX) {
            free(connection);
            return NULL;
        }
        (void)pthread_create(&stand_in->threads[connection->nth], NULL, connection_main,
                             connection);
        atomic_fetch_add(&stand_in->connection_count, 1);
    }
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address;

    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void stand_in_start_at(struct stand_in *stand_in, const char *number, uint16_t port,
                       stand_in_fn serve, const char *reply)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v4 = loopback(port)};
    socklen_t bytes = sizeof(address.v4);

    if (inet_pton(AF_INET, number, &address.v4.sin_addr) != 1) {
        memset(&address, 0, sizeof(address));
        bytes = sizeof(address.v6);
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
        (void)inet_pton(AF_INET6, number, &address.v6.sin6_addr);
    }
    memset(stand_in, 0, sizeof(*stand_in));
    stand_in->serve = serve;
    stand_in->reply = reply;
    stand_in->listener = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(stand_in->listener, &address.any, bytes) != 0 ||
        listen(stand_in->listener, 128) != 0 ||
        getsockname(stand_in->listener, &address.any, &bytes) != 0) {
        abort();
    }
    stand_in->port = ntohs(address.v4.sin_port);
    (void)snprintf(stand_in->target, sizeof(stand_in->target), "http://%.20s:%u",
                   number, (unsigned)stand_in->port);
    (void)pthread_create(&stand_in->acceptor, NULL, acceptor_main, stand_in);
}

void stand_in_start(struct stand_in *stand_in, stand_in_fn serve, const char *reply)
{
    stand_in_start_at(stand_in, "127.0.0.1", 0, serve, reply);
}

/* The clients have closed their connections by now. */
void stand_in_stop(struct stand_in *stand_in)
{
    (void)shutdown(stand_in->listener, SHUT_RDWR);
    (void)pthread_join(stand_in->acceptor, NULL);
    for (unsigned i = 0; i < atomic_load(&stand_in->connection_count); i++) {
        (void)pthread_join(stand_in->threads[i], NULL);
    }
    (void)close(stand_in->listener);
}

static size_t announced_bytes(const char *headers)
{
    const char *length = strcasestr(headers, "\r\ncontent-length:");

    return length != NULL ? strtoul(length + 17, NULL, 10) : 0;
}

bool stand_in_read(struct stand_in *stand_in, int descriptor)
{
    char text[sizeof(stand_in->first_request)] = "";
    size_t bytes = 0;
    const char *end = NULL;

    while (end == NULL || bytes < (size_t)(end + 4 - text) + announced_bytes(text)) {
        const ssize_t got = recv(descriptor, text + bytes, sizeof(text) - 1 - bytes, 0);

        if (got <= 0) {
            return false;
        }
        bytes += (size_t)got;
        text[bytes] = '\0';
        end = strstr(text, "\r\n\r\n");
    }
    if (atomic_fetch_add(&stand_in->request_count, 1) == 0) {
        memcpy(stand_in->first_request, text, bytes + 1);
    }
    return true;
}

void raw_write(int descriptor, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        const ssize_t sent = send(descriptor, text, left, MSG_NOSIGNAL);

        if (sent <= 0) {
            return;
        }
        text += sent;
        left -= (size_t)sent;
    }
}

void serve_reply(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    (void)nth;
    while (stand_in_read(stand_in, descriptor)) {
        raw_write(descriptor, stand_in->reply);
    }
}

void serve_stale(struct stand_in *stand_in, int descriptor, unsigned nth)
{
    if (nth > 0) {
        serve_reply(stand_in, descriptor, nth);
        return;
    }
    (void)stand_in_read(stand_in, descriptor);
    raw_write(descriptor, stand_in->reply);
    (void)stand_in_read(stand_in, descriptor);
}

/* --- A client of raw sockets --- */

int raw_connect(uint16_t port)
{
    const struct sockaddr_in address = loopback(port);
    const struct timeval limit = {10, 0};
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(descriptor);
        return -1;
    }
    return descriptor;
}

size_t raw_read(int descriptor, char *text, size_t capacity, const char *until)
{
    size_t bytes = 0;
    size_t last = 0; /* where the last piece began, and some before it */

    text[0] = '\0';
    while (bytes + 1 < capacity &&
           (until == NULL || strstr(text + last, until) == NULL)) {
        last = until != NULL && bytes > strlen(until) ? bytes - strlen(until) : 0;
        const ssize_t got = recv(descriptor, text + bytes, capacity - 1 - bytes, 0);

        if (got <= 0) {
            break;
        }
        bytes += (size_t)got;
        text[bytes] = '\0';
    }
    return bytes;
}

void raw_exchange(uint16_t port, const char *request, char *reply, size_t capacity)
{
    const int descriptor = raw_connect(port);

    reply[0] = '\0';
    if (descriptor >= 0) {
        raw_write(descriptor, request);
        (void)raw_read(descriptor, reply, capacity, NULL);
        (void)close(descriptor);
    }
}

/* --- A loop in its own thread --- */

static void *loop_main(void *context)
{
    struct test_loop *loop = context;

    loop->result = cpt_http_run(loop->http);
    return NULL;
}

void test_loop_make(struct test_loop *loop, const struct cpt_http_options *options)
{
    struct cpt_error error = {0};

    memset(loop, 0, sizeof(*loop));
    loop->http = cpt_http_new(options, &error);
    if (loop->http == NULL) {
        (void)fprintf(stderr, "%s\n", error.sentence);
        abort();
    }
}

void test_loop_start(struct test_loop *loop)
{
    (void)pthread_create(&loop->thread, NULL, loop_main, loop);
}

cpt_status test_loop_stop(struct test_loop *loop)
{
    cpt_http_stop(loop->http);
    (void)pthread_join(loop->thread, NULL);
    cpt_http_free(loop->http);
    return loop->result;
}

struct wanted {
    const char *name;
    uint64_t value;
};

static void visit(void *context, const struct cpt_counter *counter)
{
    struct wanted *wanted = context;

    if (strcmp(counter->name, wanted->name) == 0) {
        wanted->value += counter->value;
    }
}

uint64_t test_counter(struct test_loop *loop, const char *name)
{
    struct wanted wanted = {name, 0};

    cpt_http_counters(loop->http, visit, &wanted);
    return wanted.value;
}

enum { PATIENCE = 20000 }; /* looks, of a millisecond */

bool test_comes_to(struct test_loop *loop, const char *name, uint64_t least)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (test_counter(loop, name) >= least) {
            return true;
        }
        test_sleep_ns(MS);
    }
    return false;
}

static void hold_run(struct cpt_work *work)
{
    struct test_hold *hold = (struct test_hold *)work;

    atomic_store(&hold->is_held, true);
    while (!atomic_load(&hold->is_released)) {
        test_sleep_ns(MS);
    }
    test_sleep_ns(hold->for_ns);
}

void test_hold_begin(struct test_hold *hold, struct test_loop *loop, uint64_t for_ns)
{
    struct cpt_executor *executor = cpt_http_executor(loop->http);

    memset(hold, 0, sizeof *hold);
    hold->work.run = hold_run;
    hold->for_ns = for_ns;
    executor->submit(executor, &hold->work);
}

void test_hold_wait(struct test_hold *hold)
{
    while (!atomic_load(&hold->is_held)) {
        test_sleep_ns(MS);
    }
}

void test_hold_release(struct test_hold *hold)
{
    atomic_store(&hold->is_released, true);
}

uint64_t test_ticks_least(uint64_t ns)
{
    struct timespec tick = {0, 0};

    (void)clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    return ns - 2 * (uint64_t)tick.tv_nsec;
}

/* --- A service --- */

static struct test_service *service_here; /* for "/stuck" */

static cpt_status hello(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_rpc_reply *reply = cpt_output(task, rpc_reply);
    static const char greeting[] = {'h', 'e', 'l', 'l', 'o', ' '};
    const size_t bytes = request->body.bytes + sizeof(greeting);
    char *text = cpt_task_memory(task, bytes + 1);

    if (text == NULL) {
        return CPT_NO_MEMORY;
    }
    memcpy(text, greeting, sizeof(greeting));
    if (request->body.bytes > 0) {
        memcpy(text + sizeof(greeting), request->body.data, request->body.bytes);
    }
    reply->body.data = text;
    reply->body.bytes = bytes;
    return CPT_OK;
}

static cpt_status slow(struct cpt_task *task)
{
    return cpt_await(task, cpt_sleep(task, "S: nap", 100 * MS), hello);
}

static cpt_status stuck(struct cpt_task *task)
{
    struct cpt_pending *pending = cpt_defer(task, "S: another thread");
    const cpt_status status = cpt_await(task, pending, hello);

    atomic_store(&service_here->stuck, pending);
    return status;
}

static const struct cpt_task_def hello_tasks[] = {
    {"hello", hello, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_task_def slow_tasks[] = {
    {"slow", slow, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_task_def stuck_tasks[] = {
    {"stuck", stuck, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};

static const struct {
    const char *method;
    struct cpt_graph graph;
} methods[] = {
    {"/hello", {"S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), hello_tasks, 1}},
    {"/slow", {"S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), slow_tasks, 1}},
    {"/stuck", {"S", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply), stuck_tasks, 1}},
};

enum { METHOD_COUNT = sizeof(methods) / sizeof(methods[0]) };

/* --- What it has told its operator --- */

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static char told_last[512];
static unsigned told_count;

static void note(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)pthread_mutex_lock(&told_lock);
    (void)snprintf(told_last, sizeof(told_last), "%u %u %s %.*s: %.*s", notice->kind,
                   notice->http_status, notice->reason, (int)notice->method.bytes,
                   notice->method.data, (int)notice->sentence.bytes,
                   notice->sentence.data);
    told_count++;
    (void)pthread_mutex_unlock(&told_lock);
}

unsigned test_told(char *line, size_t capacity)
{
    unsigned count = 0;

    (void)pthread_mutex_lock(&told_lock);
    (void)snprintf(line, capacity, "%s", told_last);
    count = told_count;
    (void)pthread_mutex_unlock(&told_lock);
    return count;
}

void test_service_make(struct test_service *made, struct test_loop *loop, unsigned role,
                       double probability, struct cpt_executor *executor)
{
    static const char *const trusted[] = {"127.0.0.0/8", "::1", NULL};
    struct cpt_service_options options = {.struct_bytes = sizeof(options)};
    struct cpt_error error = {0};

    memset(made, 0, sizeof(*made));
    options.name = "S";
    options.role = role;
    options.trusted_networks = trusted;
    options.notify = note;
    options.notices_per_second_max = 1e9;
    options.slack_wait_ns_max = MS; /* of no effect on a loop, which has one lane */
    options.probability = probability;
    options.executor = executor != NULL ? executor : cpt_http_executor(loop->http);
    made->service = cpt_service_new(&options, &error);
    for (size_t i = 0; i < METHOD_COUNT && error.status == CPT_OK; i++) {
        made->plans[i] = cpt_plan_new(&methods[i].graph, NULL, &error);
        if (made->plans[i] != NULL) {
            (void)cpt_service_method_add(made->service, methods[i].method,
                                         made->plans[i], &error);
        }
    }
    if (error.status != CPT_OK || cpt_http_listen(loop->http, made->service, NULL, 0,
                                                  &made->port, &error) != CPT_OK) {
        (void)fprintf(stderr, "%s\n", error.sentence);
        abort();
    }
    service_here = made;
}

void test_service_free(struct test_service *made)
{
    cpt_service_free(made->service);
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        cpt_plan_free(made->plans[i]);
    }
}

/* --- Calls out --- */

CPT_VALUE(call_request, struct call_request);
CPT_VALUE(call_result, struct call_result);

struct calls {
    struct cpt_pending *pending[CALLS_MAX];
};

static cpt_status calls_ended(struct cpt_task *task)
{
    const struct call_request *request = cpt_input(task, call_request);
    struct call_result *result = cpt_output(task, call_result);
    const struct calls *calls = cpt_state(task, struct calls);

    for (unsigned i = 0; i < request->count; i++) {
        const struct cpt_call_reply *reply = cpt_call_reply(calls->pending[i]);
        const size_t bytes = reply->body.bytes < sizeof(result->bodies[i])
                                 ? reply->body.bytes
                                 : sizeof(result->bodies[i]) - 1;

        result->statuses[i] = reply->status;
        result->http_statuses[i] = reply->http_status;
        result->body_bytes[i] = reply->body.bytes;
        if (bytes > 0) {
            memcpy(result->bodies[i], reply->body.data, bytes);
        }
    }
    return CPT_OK;
}

static cpt_status calls_start(struct cpt_task *task)
{
    const struct call_request *request = cpt_input(task, call_request);
    struct calls *calls = cpt_state(task, struct calls);
    const struct cpt_call_request said = {
        .struct_bytes = sizeof said,
        .body = cpt_bytes_of(request->body != NULL ? request->body : ""),
        .is_idempotent = request->is_idempotent,
        .slack_ns = request->slack_ns};

    for (unsigned i = 0; i < request->count; i++) {
        calls->pending[i] = cpt_call_with(task, &request->stub, &said);
    }
    return cpt_await_all(task, calls_ended);
}

static const struct cpt_task_def call_tasks[] = {{"calls",
                                                  calls_start,
                                                  CPT_GIVES(call_result),
                                                  CPT_NEEDS(call_request),
                                                  {NULL},
                                                  NULL}};
static const struct cpt_graph call_graph = {"T", CPT_GIVES(call_request),
                                            CPT_GIVES(call_result), call_tasks, 1};

static void path_read(const struct cpt_path *path, struct call_result *result)
{
    const size_t count = cpt_path_segment_count(path);

    result->is_path_good =
        count > 0 && cpt_path_check(path, cpt_path_sum_ns(path), NULL) == CPT_OK;
    for (size_t i = 0; i < count; i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        const unsigned kind = cpt_path_frame(path, segment->frame)->kind;

        result->kind_ns[kind % 32] += segment->duration_ns;
        if (kind == CPT_KIND_BLIND_SPOT) {
            result->reason = segment->reason;
        }
    }
}

void call_out(struct test_loop *loop, const struct call_request *request,
              struct cpt_executor *executor, struct call_result *result)
{
    struct call_request input = *request;
    struct cpt_request_options options = {.struct_bytes = sizeof(options)};
    struct cpt_plan *plan = cpt_plan_new(&call_graph, NULL, NULL);
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_error error = {0};
    const uint64_t start_ns = test_now_ns();

    input.count = input.count != 0 ? input.count : 1;
    input.stub.name = "S: call";
    input.stub.method = input.stub.method != NULL ? input.stub.method : "/hello";
    input.stub.transport = cpt_http_transport(loop->http);
    options.plan = plan;
    options.executor = executor != NULL ? executor : cpt_http_executor(loop->http);
    options.input = &input;
    options.is_traced = request->is_traced;
    memset(result, 0, sizeof(*result));
    if (cpt_request_run(&options, result, request->is_traced ? path : NULL, &error) !=
        CPT_OK) {
        (void)fprintf(stderr, "%s\n", error.sentence);
        result->statuses[0] = CPT_FAILED;
    }
    result->elapsed_ns = test_now_ns() - start_ns;
    if (request->is_traced) {
        path_read(path, result);
    }
    cpt_path_free(path);
    cpt_plan_free(plan);
}

cpt_status call_status(struct test_loop *loop, const char *target)
{
    const struct call_request request = {.stub = {.target = target}};
    struct call_result result;

    call_out(loop, &request, NULL, &result);
    return result.statuses[0];
}
