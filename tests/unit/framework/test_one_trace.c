/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_one_trace.c - all who ask for the trace of a request get the same one
 *
 * Of an untraced request it is made only when something asks: a call of the request, of
 * a component, of shared work, or the list of running requests. Here they ask in every
 * order, and on several threads.
 */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_graph.h"
#include "framework/cpt_running.h"
#include "framework/cpt_shared.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"

enum { ID_DIGITS = 32, WAYS = 4, IDS_MAX = 8 };

CPT_VALUE(word, int);
CPT_VALUE(found, int);
CPT_VALUE(words, struct cpt_batch);

/* --- What was seen of one request --- */

static char ids[IDS_MAX][ID_DIGITS + 1];
static int id_count;
static char last_state[1024];
static char last_baggage[256]; /* "none": the last call had none */

static void note_id(const char *digits)
{
    if (id_count < IDS_MAX) {
        memcpy(ids[id_count], digits, ID_DIGITS);
        id_count++;
    }
}

static void listen(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    const struct cpt_bytes state = call->tracestate;

    if (call->traceparent.bytes == CPT_TRACEPARENT_BYTES) {
        note_id(call->traceparent.data + 3);
    }
    if (state.bytes < sizeof last_state) {
        memcpy(last_state, state.bytes != 0 ? state.data : "", state.bytes);
        last_state[state.bytes] = '\0';
    }
    (void)snprintf(last_baggage, sizeof last_baggage, "none");
    for (size_t i = 0; i < call->header_count; i++) {
        if (cpt_bytes_equal(call->headers[i].name, cpt_bytes_of("baggage"))) {
            (void)snprintf(last_baggage, sizeof last_baggage, "%.*s",
                           (int)call->headers[i].value.bytes,
                           call->headers[i].value.data);
        }
    }
    loopback_send(transport, call);
}

static cpt_status note_listed(void *context, const void *text, size_t bytes)
{
    static const char key[] = "\"trace_id\":\"";
    char *copy = calloc(1, bytes + 1);
    const char *at = NULL;

    (void)context;
    if (copy != NULL) {
        memcpy(copy, text, bytes);
        at = strstr(copy, key);
    }
    if (at != NULL) {
        note_id(at + sizeof key - 1);
    }
    free(copy);
    return CPT_OK;
}

/* --- Those who ask --- */

static struct cpt_plan *part_plan;
static struct cpt_plan *ask_plan;
static struct cpt_plan *batch_plan;
static struct cpt_shared *shared;
static struct cpt_shared *batches;

static cpt_status part_called(struct cpt_task *task)
{
    *cpt_output(task, found) = 1;
    return CPT_OK;
}

static cpt_status part_call(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &b_stub, cpt_bytes_of("what")), part_called);
}

static const struct cpt_task_def part_tasks[] = {
    {"call", part_call, CPT_GIVES(found), CPT_NEEDS(word)}};
static const struct cpt_graph part_graph = {"A", CPT_GIVES(word), CPT_GIVES(found),
                                            part_tasks, 1};
static const struct cpt_task_def batch_tasks[] = {
    {"call", part_call, CPT_GIVES(found), CPT_NEEDS(words)}};
static const struct cpt_graph batch_graph = {"A", CPT_GIVES(words), CPT_GIVES(found),
                                             batch_tasks, 1};

static const char *order; /* in which they ask: a letter each */

struct asking {
    int done;
};

static cpt_status ask_next(struct cpt_task *task)
{
    struct asking *asking = cpt_state(task, struct asking);
    const int word = 1;

    switch (order[asking->done++]) {
    case 'l':
        CU_ASSERT_EQUAL(
            cpt_service_requests_json(pair.a, &(struct cpt_sink){note_listed, NULL}),
            CPT_OK);
        return ask_next(task);
    case 'c':
        return cpt_await(task, cpt_call(task, &b_stub, cpt_bytes_of("what")), ask_next);
    case 'p':
        return cpt_await(task, cpt_spawn(task, "part", part_plan, word, &word),
                         ask_next);
    case 's':
        return cpt_await(
            task, cpt_share(task, shared, cpt_bytes_of("key"), word, &word), ask_next);
    case 'b':
        return cpt_await(
            task, cpt_share(task, batches, cpt_bytes_of("key"), word, &word), ask_next);
    default:
        cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
        return CPT_OK;
    }
}

static const struct cpt_task_def ask_tasks[] = {
    {"ask", ask_next, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph ask_graph_of_a = {"A", CPT_GIVES(rpc_request),
                                                CPT_GIVES(rpc_reply), ask_tasks, 1};

static void set_up(struct cpt_service_options a)
{
    struct cpt_shared_options options = {.struct_bytes = sizeof options,
                                         .name = "cache"};
    struct cpt_shared_options batch = {.struct_bytes = sizeof batch,
                                       .name = "batch",
                                       .batch_count_max = 2,
                                       .batch_delay_ns = 50 * (uint64_t)MS,
                                       .item = CPT_GIVES(word)};

    open_pair(a, never);
    net.transport.send = listen;
    part_plan = cpt_plan_new(&part_graph, NULL, NULL);
    batch_plan = cpt_plan_new(&batch_graph, NULL, NULL);
    ask_plan = cpt_plan_new(&ask_graph_of_a, NULL, NULL);
    options.plan = part_plan;
    shared = cpt_shared_new(&options, NULL);
    batch.plan = batch_plan;
    batches = cpt_shared_new(&batch, NULL);
    CU_ASSERT_FATAL(shared != NULL && batches != NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/all", ask_plan, NULL), CPT_OK);
    id_count = 0;
}

static void tear_down(void)
{
    cpt_log_queue_flush(pair.log);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 0), CPT_OK);
    cpt_shared_free(shared);
    cpt_shared_free(batches);
    close_pair();
    cpt_plan_free(ask_plan);
    cpt_plan_free(batch_plan);
    cpt_plan_free(part_plan);
}

static struct cpt_inbound inbound_of(const char *header, const char *parent)
{
    struct cpt_inbound inbound = inbound_with(header);

    inbound.method = cpt_bytes_of("/all");
    if (parent != NULL) {
        inbound.traceparent = cpt_bytes_of(parent);
    }
    return inbound;
}

/* --- In every order --- */

static void expect_one_id(const char *parent)
{
    CU_ASSERT_EQUAL_FATAL(id_count, WAYS);
    for (int i = 1; i < id_count; i++) {
        CU_ASSERT_STRING_EQUAL(ids[i], ids[0]);
    }
    if (parent != NULL) {
        CU_ASSERT_STRING_EQUAL(ids[0], TRACE);
    }
}

static void expect_recorded(void)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    char hex[ID_DIGITS + 1];

    cpt_log_queue_flush(pair.log);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.has_trace_id);
    for (size_t i = 0; i < sizeof record.trace_id; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", record.trace_id[i]);
    }
    CU_ASSERT_STRING_EQUAL(hex, ids[0]);
    cpt_log_reader_free(reader);
}

static void ask_in_order(const char *wanted, const struct cpt_service_options *options,
                         const char *parent)
{
    const struct cpt_inbound inbound = inbound_of(NULL, parent);

    set_up(*options);
    order = wanted;
    ask(pair.a, &inbound);
    CU_ASSERT_STRING_EQUAL(answer.body, "page");
    expect_one_id(parent);
    if (options->probability > 0) {
        expect_recorded();
    }
    tear_down();
}

static void test_in_every_order(void)
{
    static const char letters[] = "lcps";
    static const char parent[] = "00-" TRACE "-" SPAN "-00";
    char wanted[WAYS + 1] = {0};

    for (int n = 0; n < 24; n++) { /* the permutations */
        bool is_taken[WAYS] = {false};
        int rest = n;

        for (int i = 0; i < WAYS; i++) {
            int skip = rest % (WAYS - i);
            int which = 0;

            rest /= WAYS - i;
            while (is_taken[which] || skip-- > 0) {
                which++;
            }
            is_taken[which] = true;
            wanted[i] = letters[which];
        }
        ask_in_order(wanted, &never, NULL);
        ask_in_order(wanted, &never, parent);
        ask_in_order(wanted, &always, NULL);
        ask_in_order(wanted, &always, parent);
    }
}

/* --- What asks only once --- */

/* Calls of one request carry the same tracestate, and one that is malformed counts
 * once; of a request that calls nothing it is not looked at. */
static void test_state(void)
{
    struct cpt_inbound inbound = inbound_of(NULL, "00-" TRACE "-" SPAN "-00");
    struct cpt_field fields[2] = {
        {cpt_bytes_of("TraceState"), cpt_bytes_of("a=1 , b=2")},
        {cpt_bytes_of("tracestate"), cpt_bytes_of("c=3")}};

    set_up(never);
    inbound.headers = fields;
    for (size_t count = 1; count <= 2; count++) {
        static const char *const orders[] = {"c", "cc", "pc", "cp", "sc", "sp"};

        inbound.header_count = count;
        for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
            order = orders[i];
            last_state[0] = '\0';
            ask(pair.a, &inbound);
            CU_ASSERT_STRING_EQUAL(last_state,
                                   count == 1 ? "a=1 , b=2" : "a=1,b=2,c=3");
        }
    }
    fields[0].value = cpt_bytes_of("a=1,=");
    order = "cpsc";
    ask(pair.a, &inbound);
    CU_ASSERT_STRING_EQUAL(last_state, "");
    CU_ASSERT_EQUAL(counter(pair.a, "refused_tracestates", NULL), 1);
    order = "l";
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_tracestates", NULL), 1);
    tear_down();
}

/* Calls of components and of shared work have the baggage, too. */
static void test_baggage(void)
{
    static const struct cpt_field field = {{"baggage", 7}, {"a=1", 3}};
    static const char *const orders[] = {"c", "p", "s", "b", "cpsb"};

    for (size_t i = 0; i < 2 * sizeof orders / sizeof orders[0]; i++) {
        struct cpt_inbound inbound = inbound_of(NULL, NULL);

        set_up(i % 2 == 0 ? never : always);
        order = orders[i / 2];
        inbound.headers = &field;
        for (size_t count = 1; count < 2; count--) {
            inbound.header_count = count;
            ask(pair.a, &inbound);
            CU_ASSERT_STRING_EQUAL(last_baggage, count != 0 ? "a=1" : "none");
        }
        tear_down();
    }
}

/* --- Shared work that another request goes on with --- */

static void ignore(void *context, const struct cpt_outbound *outbound)
{
    (void)outbound;
    ++*(int *)context;
}

/* The run of a batch asks as the first traced request would that joined, whose
 * tracestate may be longer than that of the request that opened it. */
static void test_longer_state(void)
{
    char state[CPT_TRACESTATE_BYTES_MAX + 1] = {0};
    const struct cpt_field field = {cpt_bytes_of("tracestate"), {state, 0}};
    const struct cpt_field baggage[] = {
        {cpt_bytes_of("baggage"), cpt_bytes_of("first=1")},
        {cpt_bytes_of("baggage"), cpt_bytes_of("second=22")}};
    struct cpt_field fields[2] = {field, baggage[1]};
    struct cpt_inbound first = inbound_of(NULL, NULL);
    struct cpt_inbound second = inbound_of("1", "00-" TRACE "-" SPAN "-01");
    int answered = 0;

    for (size_t i = 0; i < CPT_TRACESTATE_BYTES_MAX; i += 64) { /* 8 members */
        memset(state + i, 'a' + (int)(i / 64), 63);
        state[i + 8] = '=';
        state[i + 63] = ',';
    }
    state[CPT_TRACESTATE_BYTES_MAX - 1] = 'z';
    first.headers = &baggage[0];
    first.header_count = 1;
    fields[0].value.bytes = CPT_TRACESTATE_BYTES_MAX;
    second.headers = fields;
    second.header_count = 2;
    set_up(never);
    order = "b";
    cpt_service_serve(pair.a, &first, ignore, &answered);
    virtual_run_until(&now, now.now_ns + MS);
    cpt_service_serve(pair.a, &second, ignore, &answered);
    virtual_run(&now);
    CU_ASSERT_EQUAL(answered, 2);
    CU_ASSERT_EQUAL_FATAL(id_count, 1);
    CU_ASSERT_STRING_EQUAL(ids[0], TRACE);
    CU_ASSERT_STRING_EQUAL(last_state, state);
    CU_ASSERT_STRING_EQUAL(last_baggage, "second=22");
    tear_down();
}

/* --- On several threads --- */

enum { REQUESTS = 200, PARTS = 4, THREADS = 3 };

/* Of each request, by its body: what its parts sent. */
static char sent_ids[REQUESTS][PARTS][ID_DIGITS + 1];
static atomic_int sent_counts[REQUESTS];
static atomic_int wrong_count;
static atomic_int ended_count;

/* Answers at once. Threads: any. */
static void echo(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    const struct cpt_transport_reply reply = {.status = CPT_OK, .http_status = 200};
    int number = -1;

    (void)transport;
    if (call->body.bytes == sizeof number) {
        memcpy(&number, call->body.data, sizeof number);
    }
    if (number >= 0 && number < REQUESTS &&
        call->traceparent.bytes == CPT_TRACEPARENT_BYTES) {
        const int part = atomic_fetch_add(&sent_counts[number], 1);

        if (part < PARTS) {
            memcpy(sent_ids[number][part], call->traceparent.data + 3, ID_DIGITS);
        }
    } else {
        atomic_fetch_add(&wrong_count, 1);
    }
    if (call->tracestate.bytes != 0 &&
        !cpt_bytes_equal(call->tracestate, cpt_bytes_of("a=1,b=2"))) {
        atomic_fetch_add(&wrong_count, 1);
    }
    cpt_transport_complete(call, &reply);
}

static struct cpt_transport echoing = {.name = "echo", .send = echo};
static const struct cpt_stub echo_stub = {
    .name = "B: /look", .target = "B", .method = "/look", .transport = &echoing};

static cpt_status send_number(struct cpt_task *task)
{
    const int *number = cpt_input(task, word);

    return cpt_await(task,
                     cpt_call(task, &echo_stub,
                              (struct cpt_bytes){(const char *)number, sizeof(int)}),
                     part_called);
}

static const struct cpt_task_def send_tasks[] = {
    {"send", send_number, CPT_GIVES(found), CPT_NEEDS(word)}};
static const struct cpt_graph send_graph = {"A", CPT_GIVES(word), CPT_GIVES(found),
                                            send_tasks, 1};

static cpt_status end_parts(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static cpt_status spawn_parts(struct cpt_task *task)
{
    int number = 0;

    memcpy(&number, cpt_input(task, rpc_request)->body.data, sizeof number);
    for (int i = 0; i < PARTS; i++) {
        (void)cpt_spawn(task, NULL, part_plan, word, &number);
    }
    return cpt_await_all(task, end_parts);
}

static const struct cpt_task_def parts_tasks[] = {
    {"parts", spawn_parts, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph parts_graph = {"A", CPT_GIVES(rpc_request),
                                             CPT_GIVES(rpc_reply), parts_tasks, 1};

static void count_end(void *context, const struct cpt_outbound *outbound)
{
    (void)context;
    (void)outbound;
    atomic_fetch_add(&ended_count, 1);
}

static cpt_status drop(void *context, const void *text, size_t bytes)
{
    (void)context;
    (void)text;
    (void)bytes;
    return CPT_OK;
}

static void *list_all(void *context)
{
    while (atomic_load(&ended_count) < REQUESTS) {
        (void)cpt_service_requests_json(context, &(struct cpt_sink){drop, NULL});
        (void)sched_yield();
    }
    return NULL;
}

static void serve_numbers(struct cpt_service *service)
{
    const struct cpt_field field = {cpt_bytes_of("tracestate"),
                                    cpt_bytes_of("a=1,b=2")};

    for (int i = 0; i < REQUESTS; i++) {
        struct cpt_inbound inbound = {.method = cpt_bytes_of("/"),
                                      .body = {(const char *)&i, sizeof i},
                                      .headers = &field,
                                      .header_count = 1};

        if (i % 2 != 0) {
            inbound.traceparent = cpt_bytes_of("00-" TRACE "-" SPAN "-00");
        }
        cpt_service_serve(service, &inbound, count_end, NULL);
    }
}

static void test_on_threads(void)
{
    const struct cpt_pool_options threads = {.struct_bytes = sizeof threads,
                                             .worker_count = THREADS};
    struct cpt_executor *pool = cpt_pool_new(&threads, NULL);
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .executor = pool,
                                                .probability = -1};
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_plan *plan = cpt_plan_new(&parts_graph, NULL, NULL);
    pthread_t lister;

    part_plan = cpt_plan_new(&send_graph, NULL, NULL);
    CU_ASSERT_FATAL(service != NULL && plan != NULL && part_plan != NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(service, "/", plan, NULL), CPT_OK);
    memset(sent_ids, 0, sizeof sent_ids);
    for (int i = 0; i < REQUESTS; i++) {
        atomic_store(&sent_counts[i], 0);
    }
    atomic_store(&ended_count, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&lister, NULL, list_all, service), 0);
    serve_numbers(service);
    CU_ASSERT_EQUAL(pthread_join(lister, NULL), 0);
    CU_ASSERT_EQUAL(cpt_service_drain(service, UINT64_MAX), CPT_OK);
    cpt_service_free(service);
    cpt_pool_free(pool);
    cpt_plan_free(plan);
    cpt_plan_free(part_plan);
    CU_ASSERT_EQUAL(atomic_load(&wrong_count), 0);
    for (int i = 0; i < REQUESTS; i++) {
        CU_ASSERT_EQUAL(atomic_load(&sent_counts[i]), PARTS);
        for (int part = 1; part < PARTS; part++) {
            CU_ASSERT_STRING_EQUAL(sent_ids[i][part], sent_ids[i][0]);
        }
        CU_ASSERT_EQUAL(strcmp(sent_ids[i][0], TRACE) == 0, i % 2);
        CU_ASSERT_TRUE(i < 2 || strcmp(sent_ids[i][0], sent_ids[i - 2][0]) != 0 ||
                       i % 2);
    }
}

CU_TestInfo cpt_one_trace_tests[] = {
    {"calls, components, shared work, list and record agree, in every order",
     test_in_every_order},
    {"a tracestate is the same for all calls, and checked when one goes out",
     test_state},
    {"components and shared work pass baggage on", test_baggage},
    {"shared work goes on with a longer tracestate", test_longer_state},
    {"threads that ask at once agree", test_on_threads},
    CU_TEST_INFO_NULL,
};
