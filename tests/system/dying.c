/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* dying.c - random calls of a callee that dies at any byte; see dying.h */
#include "dying.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_runtime.h"
#include "tests/support/test_random.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum {
    PAIRS_MAX = 256,
    CHOP_BYTES = 4096,
    BODY_BYTES = 1 << 16,
    KINDS = 7,
    LIKELY = 1000 /* calls, among which each fate is met */
};

CPT_VALUE(id, int64_t);
CPT_VALUE(done, struct cpt_bytes);

static void give_up(const char *why)
{
    (void)fprintf(stderr, "dying: %s\n", why);
    abort();
}

/* --- What was called, and what was carried out --- */

static struct {
    size_t count;
    atomic_uint *done;     /* of each call: how often it was carried out */
    unsigned char *kind;   /* which it was */
    unsigned char *status; /* 0: it has succeeded; 1: not */
    atomic_size_t next;
} calls;

static int64_t number_of(struct cpt_bytes text)
{
    int64_t number = -1;

    if (cpt_number_of(text, &number) != CPT_OK || number < 0 ||
        (size_t)number >= calls.count) {
        give_up("the callee was asked for another call than was made");
    }
    return number;
}

/* The number of a call is its parameter, or stands before a blank of its body. */
static cpt_status carry_out(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);
    struct cpt_bytes text = cpt_rpc_parameter(request, "id");

    if (text.data == NULL) {
        const char *end = request->body.bytes > 0
                              ? memchr(request->body.data, ' ', request->body.bytes)
                              : NULL;

        text = request->body;
        text.bytes = end != NULL ? (size_t)(end - text.data) : text.bytes;
    }
    (void)atomic_fetch_add(&calls.done[number_of(text)], 1);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("done");
    return CPT_OK;
}

static const struct cpt_task_def callee_tasks[] = {
    {"carry_out", carry_out, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)},
};
static const struct cpt_graph callee_graph = {"C", CPT_GIVES(rpc_request),
                                              CPT_GIVES(rpc_reply), callee_tasks, 1};
static struct cpt_plan *callee_plan;

struct cpt_service *dying_service_new(size_t call_count, struct cpt_executor *executor)
{
    static const char *const methods[] = {
        "GET /do/{id}",  "PUT /do/{id}",   "DELETE /do/{id}",
        "POST /do/{id}", "PATCH /do/{id}", "/dying.Callee/Do",
    };
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "C",
                                                .role = CPT_ROLE_INNER,
                                                .probability = -1,
                                                .executor = executor,
                                                .notices_per_second_max = -1};
    struct cpt_error error = {0};
    struct cpt_service *service = cpt_service_new(&options, &error);

    calls.count = call_count;
    atomic_store(&calls.next, 0);
    calls.done = calloc(call_count, sizeof *calls.done);
    calls.kind = calloc(call_count, 1);
    calls.status = calloc(call_count, 1);
    callee_plan = cpt_plan_new(&callee_graph, NULL, &error);
    if (service == NULL || callee_plan == NULL || calls.done == NULL ||
        calls.kind == NULL || calls.status == NULL) {
        give_up(error.sentence);
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (cpt_service_method_add(service, methods[i], callee_plan, &error) !=
            CPT_OK) {
            give_up(error.sentence);
        }
    }
    return service;
}

void dying_service_free(struct cpt_service *service)
{
    if (cpt_service_drain(service, 20000 * MS) != CPT_OK) {
        give_up("the callee does not end");
    }
    cpt_service_free(service);
    cpt_plan_free(callee_plan);
    free(calls.done);
    free(calls.kind);
    free(calls.status);
}

/* --- The chopper --- */

/* A connection through it: end 0 is the caller's, end 1 the callee's. */
struct pair {
    int ends[2];
    size_t bytes[2];  /* that may still pass from that end; the next one ends it */
    unsigned replies; /* that may: what comes at once from the callee is one, mostly */
    unsigned way;     /* how it ends: 0 closed, 1 reset, 2 closed to the caller only */
};

static struct {
    int listener;
    uint16_t port;
    uint16_t to;
    struct pair pairs[PAIRS_MAX];
    size_t count;
    struct test_random random;
    pthread_t thread;
    atomic_bool is_over;
    size_t opened_count;
} chopper;

static int socket_open(void)
{
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0) {
        give_up("no socket");
    }
    return descriptor;
}

static struct sockaddr_in loopback_at(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void end_close(int descriptor, bool is_reset)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (is_reset) {
        (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    (void)close(descriptor);
}

static void pair_end(size_t i)
{
    struct pair *pair = &chopper.pairs[i];

    if (pair->way == 2) { /* the callee never knows that its reply is lost */
        (void)shutdown(pair->ends[1], SHUT_WR);
    }
    end_close(pair->ends[0], pair->way == 1);
    end_close(pair->ends[1], false);
    chopper.pairs[i] = chopper.pairs[--chopper.count];
}

static void pair_open(void)
{
    struct pair *pair = &chopper.pairs[chopper.count];
    const struct sockaddr_in address = loopback_at(chopper.to);
    struct test_random *random = &chopper.random;

    pair->ends[0] = accept(chopper.listener, NULL, NULL);
    if (pair->ends[0] < 0) {
        return;
    }
    pair->ends[1] = socket_open();
    if (connect(pair->ends[1], (const struct sockaddr *)&address, sizeof address) !=
        0) {
        give_up("the callee is not there");
    }
    /* A quarter of each: any byte of a request, of a reply, after a reply, of both. */
    pair->bytes[0] = SIZE_MAX;
    pair->bytes[1] = SIZE_MAX;
    pair->replies = UINT32_MAX;
    switch (test_random_below(random, 4)) {
    case 0:
        pair->bytes[0] = test_random_below(random, 20000);
        break;
    case 1:
        pair->bytes[1] = test_random_below(random, 2000);
        break;
    case 2:
        pair->replies = 1 + (unsigned)test_random_below(random, 12);
        break;
    default:
        pair->bytes[0] = test_random_below(random, 100000);
        pair->bytes[1] = test_random_below(random, 4000);
    }
    pair->way = (unsigned)test_random_below(random, 3);
    chopper.count++;
    chopper.opened_count++;
}

/* Passes on what has come from @end. false: the pair is to end. */
static bool pair_pass(struct pair *pair, int end)
{
    char data[CHOP_BYTES];
    const ssize_t got = recv(pair->ends[end], data, sizeof data, MSG_DONTWAIT);
    const size_t bytes = got > 0 ? (size_t)got : 0;
    const size_t passed = bytes < pair->bytes[end] ? bytes : pair->bytes[end];

    if (got <= 0 || (end == 1 && pair->replies-- == 1)) {
        return false;
    }
    if (passed > 0 && send(pair->ends[1 - end], data, passed, MSG_NOSIGNAL) < 0) {
        return false;
    }
    pair->bytes[end] -= passed;
    return passed == bytes;
}

static void *chopper_main(void *context)
{
    (void)context;
    while (!atomic_load(&chopper.is_over)) {
        struct pollfd states[2 * PAIRS_MAX + 1];
        const size_t count = chopper.count;

        for (size_t i = 0; i < 2 * count; i++) {
            states[i] = (struct pollfd){.fd = chopper.pairs[i / 2].ends[i % 2],
                                        .events = POLLIN};
        }
        states[2 * count] = (struct pollfd){.fd = chopper.listener, .events = POLLIN};
        (void)poll(states, 2 * count + (count < PAIRS_MAX), 20);
        for (size_t i = count;
             i-- > 0;) { /* a pair that ends is replaced from behind */
            for (int end = 0; end < 2; end++) {
                if (states[2 * i + (size_t)end].revents != 0 &&
                    !pair_pass(&chopper.pairs[i], end)) {
                    pair_end(i);
                    break;
                }
            }
        }
        if (count < PAIRS_MAX && states[2 * count].revents != 0) {
            pair_open();
        }
    }
    while (chopper.count > 0) {
        pair_end(chopper.count - 1);
    }
    return NULL;
}

static void chopper_start(uint16_t to, uint64_t seed)
{
    struct sockaddr_in address = loopback_at(0);
    socklen_t bytes = sizeof address;

    atomic_store(&chopper.is_over, false);
    chopper.opened_count = 0;
    chopper.listener = socket_open();
    if (bind(chopper.listener, (const struct sockaddr *)&address, sizeof address) !=
            0 ||
        listen(chopper.listener, 64) != 0 ||
        getsockname(chopper.listener, (struct sockaddr *)&address, &bytes) != 0) {
        give_up("no port");
    }
    chopper.port = ntohs(address.sin_port);
    chopper.to = to;
    chopper.random.state = seed;
    if (pthread_create(&chopper.thread, NULL, chopper_main, NULL) != 0) {
        give_up("no thread");
    }
}

/* --- The callers --- */

static char body_bytes[BODY_BYTES + 1];

/* Most bodies are small, some have to be written in parts. */
static cpt_status put_body(struct cpt_task *task, struct cpt_bytes *body)
{
    struct test_random random = {(uint64_t)*cpt_input(task, id)};
    const uint64_t most =
        test_random_chance(&random, 5) ? BODY_BYTES : UINT64_C(1) << 11;

    return cpt_print(task, body, "%lld %.*s", (long long)*cpt_input(task, id),
                     (int)test_random_below(&random, most), body_bytes);
}

static struct cpt_stub stubs[KINDS] = {
    {.name = "C: POST", .method = "POST /do/{id}"},
    {.name = "C: PATCH", .method = "PATCH /do/{id}"},
    {.name = "C: POST", .method = "POST /do/{id}"},
    {.name = "C: PUT", .method = "PUT /do/{id}"},
    {.name = "C: GET", .method = "GET /do/{id}"},
    {.name = "C: DELETE", .method = "DELETE /do/{id}"},
    {.name = "C: Do", .method = "/dying.Callee/Do"},
};
static const bool is_idempotent[KINDS] = {false, false, true, true, true, true, false};
static struct cpt_call_row rows[KINDS];
static struct cpt_task_def tasks[KINDS];
static struct cpt_graph graphs[KINDS];
static struct cpt_plan *plans[KINDS];

static void kind_make(int i, const struct dying_wire *wire, const char *target)
{
    struct cpt_error error = {0};

    stubs[i].target = target;
    stubs[i].transport = wire->transport;
    stubs[i].timeout_ns = 60000 * MS; /* a busy machine only takes longer */
    rows[i] = (struct cpt_call_row){.stub = &stubs[i], .is_idempotent = i == 2};
    if (strncmp(stubs[i].method, "GET ", 4) != 0 &&
        strncmp(stubs[i].method, "DELETE ", 7) != 0) {
        rows[i].encode = put_body;
    }
    tasks[i] = (struct cpt_task_def){.name = "do",
                                     .run = cpt_call_run,
                                     .gives = CPT_GIVES(done),
                                     CPT_NEEDS(id),
                                     .context = &rows[i]};
    graphs[i] = (struct cpt_graph){"T", CPT_GIVES(id), CPT_GIVES(done), &tasks[i], 1};
    plans[i] = cpt_plan_new(&graphs[i], NULL, &error);
    if (plans[i] == NULL) {
        give_up(error.sentence);
    }
}

struct caller {
    pthread_t thread;
    struct cpt_executor *executor;
    struct test_random random;
    bool has_verbs;
};

static void *caller_main(void *context)
{
    struct caller *caller = context;
    size_t number = 0;

    while ((number = atomic_fetch_add(&calls.next, 1)) < calls.count) {
        const uint64_t kind =
            caller->has_verbs ? test_random_below(&caller->random, KINDS - 1) : 6;
        const int64_t id = (int64_t)number;
        struct cpt_request_options options = {.struct_bytes = sizeof options,
                                              .plan = plans[kind],
                                              .executor = caller->executor,
                                              .input = &id};
        struct cpt_bytes done;

        calls.kind[number] = (unsigned char)kind;
        calls.status[number] =
            cpt_request_run(&options, &done, NULL, NULL) == CPT_OK ? 0 : 1;
    }
    return NULL;
}

void dying_calls_make(const struct dying_wire *wire, struct cpt_executor *executor,
                      uint64_t seed)
{
    static char target[64];
    struct caller callers[DYING_CALLERS];

    memset(body_bytes, 'x', BODY_BYTES);
    chopper_start(wire->port, seed);
    (void)snprintf(target, sizeof target, "%s127.0.0.1:%u", wire->scheme,
                   (unsigned)chopper.port);
    for (int i = 0; i < KINDS; i++) {
        kind_make(i, wire, target);
    }
    for (int i = 0; i < DYING_CALLERS; i++) {
        callers[i].executor = executor;
        callers[i].random.state = seed + 1 + (uint64_t)i;
        callers[i].has_verbs = wire->has_verbs;
        if (pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]) != 0) {
            give_up("no thread");
        }
    }
    for (int i = 0; i < DYING_CALLERS; i++) {
        (void)pthread_join(callers[i].thread, NULL);
    }
    atomic_store(&chopper.is_over, true);
    (void)pthread_join(chopper.thread, NULL);
    (void)close(chopper.listener);
    for (int i = 0; i < KINDS; i++) {
        cpt_plan_free(plans[i]);
    }
}

bool dying_calls_judge(const struct dying_wire *wire)
{
    size_t twice[2] = {0, 0}; /* carried out more than once; idempotent or not */
    size_t lost = 0;          /* of those that are not: carried out, and failed */
    size_t failed = 0;
    size_t wrong = 0;

    for (size_t i = 0; i < calls.count; i++) {
        const unsigned done = atomic_load(&calls.done[i]);
        const bool is_good = calls.status[i] == 0;
        const bool may_repeat = is_idempotent[calls.kind[i]];

        twice[may_repeat] += done > 1;
        lost += !may_repeat && !is_good && done == 1;
        failed += !is_good;
        wrong += (is_good && done == 0) || done > 2;
    }
    (void)printf("%s: %zu calls over %zu connections, %zu failed; %zu that are not "
                 "idempotent were carried out and failed, %zu were carried out twice; "
                 "of the others %zu\n",
                 wire->name, calls.count, chopper.opened_count, failed, lost, twice[0],
                 twice[1]);
    if (calls.count >= LIKELY && (lost == 0 || (wire->sends_again && twice[1] == 0))) {
        (void)printf("%s: the callee did not die where it matters\n", wire->name);
        return false;
    }
    return twice[0] == 0 && wrong == 0;
}
