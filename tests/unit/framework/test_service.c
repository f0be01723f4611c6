/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_service.c - two services in virtual time: who is traced, what comes back, what
 * is logged and counted
 *
 * A calls B over the loopback transport, 1 ms each way. A computes 2 ms, calls, and
 * computes 3 ms; B computes 5 ms.
 */
#include "tests/support/failing_alloc.h"
#include "tests/support/loopback.h"
#include "tests/support/suites.h"
#include "tests/support/virtual_time.h"

#include "cpt/cpt_path.h"
#include "framework/cpt_log_queue.h"
#include "framework/cpt_runtime.h"
#include "wire/cpt_log.h"
#include "wire/cpt_metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000U

static struct virtual_time now;
static struct loopback net;

/* --- The two services --- */

static const struct cpt_stub b_stub = {
    .name = "B: /look", .target = "B", .method = "/look", .transport = &net.transport};
static cpt_status call_status;
static unsigned call_http_status;

static cpt_status a_answer(struct cpt_task *task)
{
    now.now_ns += 3 * MS;
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static struct cpt_pending *a_call;

static cpt_status a_called(struct cpt_task *task)
{
    const struct cpt_call_reply *reply = cpt_call_reply(a_call);

    call_status = reply->status;
    call_http_status = reply->http_status;
    return a_answer(task);
}

static cpt_status a_ask(struct cpt_task *task)
{
    struct cpt_request *request = cpt_task_request(task);

    cpt_request_set(request, "arm", "control");
    cpt_request_set(request, "hits", 12);
    cpt_request_set(request, "share", 0.5);
    cpt_request_set(request, "arm", "treatment"); /* the last one counts */
    cpt_request_set(request, "email", "a@example.org");
    now.now_ns += 2 * MS;
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("what"));
    return cpt_await(task, a_call, a_called);
}

static cpt_status b_look(struct cpt_task *task)
{
    const struct cpt_rpc_request *request = cpt_input(task, rpc_request);

    now.now_ns += 5 * MS;
    if (request->body.bytes == 4 && memcmp(request->body.data, "fail", 4) == 0) {
        return cpt_fail(task, CPT_IO, "the disk is gone");
    }
    cpt_output(task, rpc_reply)->body = request->body;
    return CPT_OK;
}

static const struct cpt_task_def a_tasks[] = {
    {"ask", a_ask, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_task_def b_tasks[] = {
    {"look", b_look, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph a_graph = {"A", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), a_tasks, 1};
static const struct cpt_graph b_graph = {"B", CPT_GIVES(rpc_request),
                                         CPT_GIVES(rpc_reply), b_tasks, 1};

static void travel(void *context)
{
    (void)context;
    now.now_ns += MS;
}

/* --- The log --- */

static unsigned char log_bytes[1 << 18];
static size_t log_size;
static size_t log_read;

static cpt_status keep_block(void *context, const void *block, size_t bytes)
{
    (void)context;
    if (bytes > sizeof log_bytes - log_size) {
        return CPT_LIMIT;
    }
    memcpy(log_bytes + log_size, block, bytes);
    log_size += bytes;
    return CPT_OK;
}

static cpt_status read_block(void *context, void *buffer, size_t capacity,
                             size_t *bytes)
{
    (void)context;
    *bytes = capacity < log_size - log_read ? capacity : log_size - log_read;
    memcpy(buffer, log_bytes + log_read, *bytes);
    log_read += *bytes;
    return CPT_OK;
}

/* --- What is asked of them --- */

struct pair {
    struct cpt_service *a;
    struct cpt_service *b;
    struct cpt_plan *a_plan;
    struct cpt_plan *b_plan;
    struct cpt_log_queue *log;
};

struct answer {
    int count;
    unsigned http_status;
    char body[64];
    unsigned char metadata[CPT_METADATA_BYTES_CEILING];
    size_t metadata_bytes;
};

static struct pair pair;
static struct answer answer;

static struct cpt_service *make_service(struct cpt_service_options options,
                                        const char *name, const char *method,
                                        const struct cpt_plan *plan)
{
    struct cpt_service *service = NULL;

    options.struct_bytes = sizeof options;
    options.name = name;
    options.executor = &now.executor;
    options.clock = &now.clock;
    options.seed = 7;
    service = cpt_service_new(&options, NULL);
    if (service != NULL &&
        cpt_service_method_add(service, method, plan, NULL) != CPT_OK) {
        cpt_service_free(service);
        return NULL;
    }
    return service;
}

static void close_pair(void)
{
    cpt_log_queue_free(pair.log);
    cpt_service_free(pair.a);
    cpt_service_free(pair.b);
    cpt_plan_free(pair.a_plan);
    cpt_plan_free(pair.b_plan);
}

static void open_pair(struct cpt_service_options a, struct cpt_service_options b)
{
    const struct cpt_log_queue_options log = {.struct_bytes = sizeof log,
                                              .sink = keep_block};

    virtual_init(&now, 0);
    loopback_init(&net);
    net.delay = travel;
    log_size = 0;
    log_read = 0;
    pair.log = cpt_log_queue_new(&log, NULL);
    pair.a_plan = cpt_plan_new(&a_graph, NULL, NULL);
    pair.b_plan = cpt_plan_new(&b_graph, NULL, NULL);
    a.log = pair.log;
    b.log = pair.log;
    b.role = CPT_ROLE_INNER;
    pair.a = make_service(a, "A", "/", pair.a_plan);
    pair.b = make_service(b, "B", "/look", pair.b_plan);
    CU_ASSERT_FATAL(pair.a != NULL && pair.b != NULL);
    net.services[net.service_count++] = pair.b;
}

static void note_answer(void *context, const struct cpt_outbound *outbound)
{
    struct answer *noted = context;

    noted->count++;
    noted->http_status = outbound->http_status;
    noted->metadata_bytes = outbound->metadata.bytes;
    if (outbound->metadata.bytes != 0) {
        memcpy(noted->metadata, outbound->metadata.data, outbound->metadata.bytes);
    }
    (void)snprintf(noted->body, sizeof noted->body, "%.*s", (int)outbound->body.bytes,
                   outbound->body.data);
}

static struct cpt_inbound inbound_with(const char *ask)
{
    return (struct cpt_inbound){
        .method = cpt_bytes_of("/"),
        .critical_path = ask != NULL ? cpt_bytes_of(ask) : (struct cpt_bytes){NULL, 0},
        .critical_path_count = ask != NULL,
        .peer_address = cpt_bytes_of("127.0.0.1")};
}

static void ask(struct cpt_service *service, const struct cpt_inbound *inbound)
{
    memset(&answer, 0, sizeof answer);
    cpt_service_serve(service, inbound, note_answer, &answer);
    virtual_run(&now);
    CU_ASSERT_EQUAL(answer.count, 1);
}

static void ask_a(const char *header)
{
    const struct cpt_inbound inbound = inbound_with(header);

    ask(pair.a, &inbound);
}

/* --- What came of it --- */

static const char *path_text(const struct cpt_path *path)
{
    static char text[1024];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu",
                                 i != 0 ? ", " : "", stack,
                                 (unsigned long long)(segment->duration_ns / MS));
    }
    return text;
}

static const char *answered_path(void)
{
    static char text[1024];
    struct cpt_path *path = cpt_path_new(NULL);

    text[0] = '\0';
    if (answer.metadata_bytes != 0 &&
        cpt_metadata_decode(answer.metadata, answer.metadata_bytes, NULL, path, NULL) ==
            CPT_OK) {
        (void)snprintf(text, sizeof text, "%s", path_text(path));
    }
    cpt_path_free(path);
    return text;
}

/* Reads record number @index of what was logged; the reader is for the caller to free.
 */
static struct cpt_log_reader *read_record(int index, struct cpt_record *record)
{
    const struct cpt_log_reader_options options = {.struct_bytes = sizeof options,
                                                   .read = read_block};
    struct cpt_log_reader *reader = NULL;

    cpt_log_queue_flush(pair.log);
    log_read = 0;
    reader = cpt_log_reader_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    for (int i = 0; i <= index; i++) {
        const cpt_status status = cpt_log_reader_next(reader, record, NULL);

        if (status != CPT_OK) {
            cpt_log_reader_free(reader);
            return NULL;
        }
    }
    return reader;
}

static int record_count(void)
{
    struct cpt_record record;
    int count = 0;

    for (;;) {
        struct cpt_log_reader *reader = read_record(count, &record);

        if (reader == NULL) {
            return count;
        }
        cpt_log_reader_free(reader);
        count++;
    }
}

struct sought {
    const char *name;
    const char *member;
    uint64_t value;
    int count;
};

static void seek_counter(void *context, const struct cpt_counter *counter)
{
    struct sought *sought = context;

    if (strcmp(counter->name, sought->name) == 0 &&
        (sought->member == NULL ||
         cpt_bytes_equal(counter->member, cpt_bytes_of(sought->member)))) {
        sought->value = counter->value;
        sought->count++;
    }
}

static uint64_t counter(struct cpt_service *service, const char *name,
                        const char *member)
{
    struct sought sought = {name, member, 0, 0};

    cpt_service_counters(service, seek_counter, &sought);
    CU_ASSERT_EQUAL(sought.count, 1);
    return sought.value;
}

/* --- Tests --- */

static const struct cpt_service_options never = {.probability = -1};
static const struct cpt_service_options always = {.probability = 1};

#define WHOLE_PATH                                                                     \
    "A: /;A: ask 2, A: /;A: ask;B: /look;B: look 5, "                                  \
    "A: /;A: ask;B: /look;B: ‹network+serialization› 2, A: /;A: ask 3"

static void test_unasked_is_untraced(void)
{
    open_pair(never, never);
    ask_a(NULL);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_STRING_EQUAL(answer.body, "page");
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_PTR_NULL(net.last_ask.data);
    CU_ASSERT_EQUAL(now.read_count, 0);
    CU_ASSERT_EQUAL(record_count(), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "requests", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "traced", NULL), 0);
    close_pair();
}

static void test_forced_returns_the_path(void)
{
    open_pair(never, never);
    ask_a("1;forced");
    CU_ASSERT_STRING_EQUAL(answer.body, "page");
    CU_ASSERT_STRING_EQUAL(answered_path(), WHOLE_PATH);
    CU_ASSERT_STRING_EQUAL(net.last_ask_text, "1;max=2048"); /* not forced downstream */
    CU_ASSERT_EQUAL(record_count(), 1); /* the inner service writes none */
    close_pair();
}

static void test_record(void)
{
    static const char *const dropped[] = {"email", NULL};
    struct cpt_service_options a = always;
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_inbound inbound = inbound_with(NULL);

    a.dropped_attributes = dropped;
    open_pair(a, never);
    inbound.traceparent =
        cpt_bytes_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03");
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0); /* nobody asked */
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(cpt_bytes_equal(record.service, cpt_bytes_of("A")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of("/")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.entry, cpt_bytes_of("A: /")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.status, cpt_bytes_of("ok")));
    CU_ASSERT_EQUAL(record.latency_ns, 12 * MS);
    CU_ASSERT_EQUAL(record.probability, 1);
    CU_ASSERT_TRUE(record.is_random);
    CU_ASSERT_FALSE(record.is_forced);
    CU_ASSERT_FALSE(record.is_local_root);
    CU_ASSERT_FALSE(record.is_failed);
    CU_ASSERT_TRUE(record.has_trace_id);
    CU_ASSERT_EQUAL(record.trace_id[0], 0x0a);
    CU_ASSERT_EQUAL(record.parent_id[7], 0x31);
    CU_ASSERT_EQUAL(record.attribute_count, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cpt_record_attribute(&record, cpt_bytes_of("arm")));
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_record_attribute(&record, cpt_bytes_of("arm"))->value.text,
                        cpt_bytes_of("treatment")));
    CU_ASSERT_EQUAL(cpt_record_attribute(&record, cpt_bytes_of("hits"))->value.integer,
                    12);
    CU_ASSERT_EQUAL(cpt_record_attribute(&record, cpt_bytes_of("share"))->value.real,
                    0.5);
    CU_ASSERT_PTR_NULL(cpt_record_attribute(&record, cpt_bytes_of("email")));
    CU_ASSERT_EQUAL(counter(pair.a, "lost_attributes", NULL), 1);
    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, 12 * MS, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(path_text(path), WHOLE_PATH);
    cpt_log_reader_free(reader);
    cpt_path_free(path);
    close_pair();
}

/* Semantics 22 and 27: both bits are kept; the back end's own hit is a local root. */
static void test_forced_and_random(void)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, always);
    ask_a("1");
    CU_ASSERT_EQUAL(record_count(), 2);
    reader = read_record(0, &record); /* B ended first */
    CU_ASSERT_TRUE(record.is_local_root);
    CU_ASSERT_TRUE(record.is_random);
    CU_ASSERT_FALSE(record.is_forced);
    CU_ASSERT_EQUAL(record.latency_ns, 5 * MS);
    cpt_log_reader_free(reader);
    reader = read_record(1, &record);
    CU_ASSERT_FALSE(record.is_local_root);
    CU_ASSERT_TRUE(record.is_random);
    CU_ASSERT_TRUE(record.is_forced);
    cpt_log_reader_free(reader);
    close_pair();
}

static void refused(const struct cpt_inbound *inbound, const char *counted)
{
    ask(pair.a, inbound);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_EQUAL(counter(pair.a, counted, NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "traced", NULL), 0);
}

static void test_headers_not_heeded(void)
{
    struct cpt_inbound inbound;

    open_pair(never, never);
    inbound = inbound_with("yes please");
    refused(&inbound, "refused_malformed");
    inbound = inbound_with("1");
    inbound.critical_path_count = 2;
    refused(&inbound, "refused_repeated");
    inbound = inbound_with("1");
    inbound.peer_address = cpt_bytes_of("192.0.2.1");
    refused(&inbound, "refused_untrusted");
    close_pair();
}

static void test_whom_an_entry_trusts(void)
{
    static const char *const networks[] = {"192.0.2.0/25", "2001:db8::/32", NULL};
    static const struct {
        const char *peer;
        int is_forwarded;
        int is_trusted;
    } cases[] = {
        {"192.0.2.1", 0, 1},        {"192.0.2.127", 0, 1}, {"192.0.2.128", 0, 0},
        {"::ffff:192.0.2.1", 0, 1}, {"2001:db8::1", 0, 1}, {"2001:db9::1", 0, 0},
        {"127.0.0.1", 0, 0},        {"192.0.2.1", 1, 0},   {"", 0, 0},
        {"nonsense", 0, 0},
    };
    struct cpt_service_options a = never;

    a.trusted_networks = networks;
    open_pair(a, never);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpt_inbound inbound = inbound_with("1");

        inbound.peer_address = cpt_bytes_of(cases[i].peer);
        inbound.is_forwarded = cases[i].is_forwarded;
        ask(pair.a, &inbound);
        CU_ASSERT_EQUAL(answer.metadata_bytes != 0, cases[i].is_trusted);
    }
    close_pair();
}

static void test_inner_follows_its_caller(void)
{
    struct cpt_inbound inbound = inbound_with("1;max=300");

    open_pair(never, never);
    inbound.method = cpt_bytes_of("/look");
    inbound.peer_address = cpt_bytes_of("192.0.2.1");
    ask(pair.b, &inbound);
    CU_ASSERT_STRING_EQUAL(answered_path(), "B: /look;B: look 5");
    CU_ASSERT_TRUE(answer.metadata_bytes <= 300);
    CU_ASSERT_EQUAL(record_count(), 0);
    close_pair();
}

static void test_kill_switch(void)
{
    open_pair(always, always);
    cpt_service_enable(pair.a, 0);
    cpt_service_enable(pair.b, 0);
    ask_a("1;forced");
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_EQUAL(now.read_count, 0);
    CU_ASSERT_EQUAL(record_count(), 0);
    cpt_service_enable(pair.a, 1);
    ask_a("1;forced");
    CU_ASSERT_NOT_EQUAL(answer.metadata_bytes, 0);
    close_pair();
    CU_ASSERT_EQUAL(setenv("CPT_DISABLE", "1", 1), 0);
    open_pair(always, always);
    CU_ASSERT_EQUAL(unsetenv("CPT_DISABLE"), 0);
    CU_ASSERT_FALSE(cpt_service_is_enabled(pair.a));
    close_pair();
}

/* --- Callees that return something else --- */

static void send_garbage(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    reply->metadata = cpt_bytes_of("this is no path at all");
}

static void send_nothing(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    reply->metadata.bytes = 0;
}

static void come_from_cache(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    reply->is_cached = 1;
}

static void break_off(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    reply->status = CPT_IO;
}

static void time_out(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    reply->status = CPT_TIMEOUT;
}

/* The path of A with @tail in the place of the call; @reason is counted. */
static void blind(void (*tamper)(void *, struct cpt_transport_reply *),
                  const char *tail, const char *reason)
{
    char expected[512];

    open_pair(never, never);
    net.tamper = tamper;
    ask_a("1");
    (void)snprintf(expected, sizeof expected,
                   "A: /;A: ask 2, A: /;A: ask;B: /look;%s 7, A: /;A: ask 3", tail);
    CU_ASSERT_STRING_EQUAL(answered_path(), expected);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    if (reason != NULL) {
        CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", reason), 1);
        CU_ASSERT_EQUAL(counter(pair.a, "callee_blind_spots", "B: /look"), 1);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "callee_calls", "B: /look"), 1);
    close_pair();
}

static void test_blind_spots(void)
{
    blind(send_garbage, "B: ‹blind spot›", "undecodable");
    blind(send_nothing, "B: ‹blind spot›", "unsupported");
    blind(come_from_cache, "B: ‹blind spot›", "cached");
    blind(break_off, "B: ‹blind spot›", "failed");
    blind(time_out, "B: ‹timeout›", NULL);
    CU_ASSERT_EQUAL(call_status, CPT_TIMEOUT);
}

/* I5: what was not asked for is not looked at. */
static void test_unrequested_path_is_ignored(void)
{
    open_pair(never, never);
    net.tamper = send_garbage;
    ask_a(NULL);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "undecodable"), 0);
    close_pair();
}

/* --- Deadlines of the caller --- */

static struct cpt_transport_call *held_call;

static void hold_call(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    (void)transport;
    held_call = call;
}

static cpt_status a_gave_up(struct cpt_task *task)
{
    const struct cpt_call_reply *reply = cpt_call_reply(a_call);

    CU_ASSERT_EQUAL(reply->status, CPT_TIMEOUT);
    CU_ASSERT_EQUAL(reply->body.bytes, 0);
    return cpt_fail(task, reply->status, "B took too long");
}

static cpt_status a_ask_for_a_while(struct cpt_task *task)
{
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("what"));
    return cpt_await_all_for(task, 4 * MS, a_gave_up);
}

/* The reply that comes too late is no reply; its memory is still there for it. */
static void test_call_given_up(void)
{
    const struct cpt_task_def tasks[] = {{"ask",
                                          a_ask_for_a_while,
                                          CPT_GIVES(rpc_reply),
                                          CPT_NEEDS(rpc_request),
                                          {NULL},
                                          NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    const struct cpt_transport_reply late = {.status = CPT_OK, .http_status = 200};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with("1");

    open_pair(never, never);
    net.transport.send = hold_call;
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/impatient", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/impatient");
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 504);
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /impatient;A: ask;B: /look;B: ‹timeout› 4");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_calls", "B: /look"), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_timeouts", "B: /look"), 1);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 0), CPT_TIMEOUT); /* the call is out */
    cpt_transport_complete(held_call, &late);
    held_call = NULL;
    virtual_run(&now);
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    close_pair();
    cpt_plan_free(plan);
}

/* A service that is freed too early lives on until its last request is gone. */
static void test_service_outlives_its_owner(void)
{
    const struct cpt_task_def tasks[] = {{"ask",
                                          a_ask_for_a_while,
                                          CPT_GIVES(rpc_reply),
                                          CPT_NEEDS(rpc_request),
                                          {NULL},
                                          NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    const struct cpt_transport_reply late = {.status = CPT_OK, .http_status = 200};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with("1");

    open_pair(never, never);
    net.transport.send = hold_call;
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/impatient", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/impatient");
    ask(pair.a, &inbound);
    cpt_service_free(pair.a);
    pair.a = NULL;
    cpt_transport_complete(held_call, &late);
    held_call = NULL;
    virtual_run(&now);
    close_pair();
    cpt_plan_free(plan);
}

/* Semantics 9: min(own, received), also where that is nothing. */
static void test_budget_goes_down(void)
{
    open_pair(never, never);
    ask_a("1;max=700");
    CU_ASSERT_STRING_EQUAL(net.last_ask_text, "1;max=700");
    ask_a("1;max=0");
    CU_ASSERT_PTR_NOT_NULL_FATAL(net.last_ask.data);
    CU_ASSERT_TRUE(cpt_bytes_equal(net.last_ask, cpt_bytes_of("1;max=0")));
    close_pair();
}

/* --- Retries and hedges (semantics 4) --- */

static cpt_status a_retried(struct cpt_task *task);

static cpt_status a_try(struct cpt_task *task)
{
    int *attempt = cpt_state(task, int);

    a_call =
        cpt_call_attempt(task, &b_stub, cpt_bytes_of("what"), (unsigned)++*attempt);
    return cpt_await(task, a_call, a_retried);
}

static cpt_status a_retried(struct cpt_task *task)
{
    if (cpt_call_reply(a_call)->status != CPT_OK && *cpt_state(task, int) < 3) {
        return cpt_await(task, cpt_back_off(task, 5 * MS), a_try);
    }
    return a_called(task);
}

static void break_the_first(void *context, struct cpt_transport_reply *reply)
{
    int *count = context;

    if (++*count == 1) {
        reply->status = CPT_IO;
    }
}

static cpt_status a_won(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_pending_status(a_call), CPT_OK);
    return a_answer(task);
}

static struct cpt_pending *a_first;

static cpt_status a_hedge(struct cpt_task *task)
{
    struct cpt_pending *calls[2] = {a_first, NULL};

    net.transport.send = loopback_send;
    a_call = cpt_call_attempt(task, &b_stub, cpt_bytes_of("what"), 2);
    calls[1] = a_call;
    return cpt_await_some(task, calls, 2, 1, a_won);
}

static cpt_status a_race(struct cpt_task *task)
{
    struct cpt_pending *race[2] = {NULL, NULL};

    a_first = cpt_call_attempt(task, &b_stub, cpt_bytes_of("what"), 1);
    race[0] = a_first;
    race[1] = cpt_hedge_wait(task, &b_stub, 4 * MS);
    return cpt_await_some(task, race, 2, 1, a_hedge);
}

/* Serves method "/other" of A by a graph of the one task @run, once, and asks. */
static void ask_other(cpt_task_fn run)
{
    const struct cpt_task_def tasks[] = {
        {"ask", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with("1");

    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/other", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/other");
    ask(pair.a, &inbound);
    if (held_call != NULL) {
        const struct cpt_transport_reply late = {.status = CPT_OK, .http_status = 200};

        cpt_transport_complete(held_call, &late);
        held_call = NULL;
        virtual_run(&now);
    }
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    cpt_plan_free(plan);
}

static void test_retry(void)
{
    int count = 0;

    open_pair(never, never);
    net.tamper = break_the_first;
    net.context = &count;
    ask_other(a_try);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_STRING_EQUAL(
        answered_path(),
        "A: /other;A: ask;B: /look;B: ‹blind spot› 7, A: /other;A: ask;A: ‹backoff› 5, "
        "A: /other;A: ask;B: /look;B: look 5, "
        "A: /other;A: ask;B: /look;B: ‹network+serialization› 2, A: /other;A: ask 3");
    close_pair();
}

/* The hedge wins: the wait for it stands under the callee's name, the loser nowhere. */
static void test_hedge(void)
{
    open_pair(never, never);
    net.transport.send = hold_call;
    ask_other(a_race);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_STRING_EQUAL(
        answered_path(),
        "A: /other;A: ask;B: /look;B: ‹hedge wait› 4, "
        "A: /other;A: ask;B: /look;B: look 5, "
        "A: /other;A: ask;B: /look;B: ‹network+serialization› 2, A: /other;A: ask 3");
    close_pair();
}

/* What a callee claims cannot turn a counter round. */
static void claim_ages(void *context, struct cpt_transport_reply *reply)
{
    static unsigned char *data;
    const struct cpt_metadata_encode_options options = {.struct_bytes = sizeof options};
    struct cpt_path *path = cpt_path_new(NULL);
    uint32_t frame = 0;
    size_t bytes = 0;

    (void)context;
    cpt_alloc_free(NULL, data);
    data = NULL;
    (void)cpt_path_frame_add(path, CPT_FRAME_NONE, cpt_bytes_of("B: /look"),
                             CPT_KIND_WORK, &frame);
    (void)cpt_path_append_ns(path, frame, INT64_MAX - 10);
    if (cpt_metadata_encode(path, &options, &data, &bytes, NULL) == CPT_OK) {
        reply->metadata = (struct cpt_bytes){(char *)data, bytes};
    }
    cpt_path_free(path);
}

static void test_overcount_does_not_wrap(void)
{
    uint64_t before = 0;

    open_pair(never, never);
    net.tamper = claim_ages;
    for (int i = 0; i < 4; i++) {
        ask_a("1");
        CU_ASSERT_TRUE(counter(pair.a, "callee_overcount_ns", "B: /look") >= before);
        before = counter(pair.a, "callee_overcount_ns", "B: /look");
    }
    CU_ASSERT_EQUAL(before, UINT64_MAX);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_overcounts", "B: /look"), 4);
    close_pair();
}

static void test_unreachable_callee(void)
{
    open_pair(never, never);
    net.service_count = 0;
    ask_a("1");
    CU_ASSERT_EQUAL(call_status, CPT_UNAVAILABLE);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "failed"), 1);
    close_pair();
}

static void test_failing_callee(void)
{
    struct cpt_inbound inbound = inbound_with("1");

    open_pair(never, never);
    inbound.method = cpt_bytes_of("/look");
    inbound.body = cpt_bytes_of("fail");
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 500);
    CU_ASSERT_STRING_EQUAL(answer.body, "the request failed\n"); /* no inside told */
    CU_ASSERT_STRING_EQUAL(answered_path(), "B: /look;B: look 5");
    CU_ASSERT_EQUAL(counter(pair.b, "failed", NULL), 1);
    inbound.method = cpt_bytes_of("/nowhere");
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 404);
    CU_ASSERT_EQUAL(counter(pair.b, "unknown_methods", NULL), 1);
    close_pair();
}

/* Budgets too small for even the sum: no header, and the request is as ever. */
static void test_tiny_budget(void)
{
    open_pair(never, never);
    ask_a("1;max=1");
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_EQUAL(counter(pair.a, "unreturned_paths", NULL), 1);
    close_pair();
}

/* --- The coin --- */

static void test_coin(void)
{
    struct cpt_service_options a = {.probability = 0.25};
    uint64_t traced = 0;

    open_pair(a, never);
    for (int i = 0; i < 4000; i++) {
        ask_a(NULL);
    }
    traced = counter(pair.a, "traced_by_coin", NULL);
    CU_ASSERT_TRUE(traced > 860 && traced < 1140); /* 5 sigma around 1000 */
    CU_ASSERT_EQUAL(counter(pair.a, "traced", NULL), traced);
    close_pair();
}

/* --- Limits --- */

static cpt_status set_many(struct cpt_task *task)
{
    struct cpt_request *request = cpt_task_request(task);
    char key[16];

    for (int i = 0; i < CPT_ATTRIBUTES_MAX + 1; i++) {
        (void)snprintf(key, sizeof key, "key%d", i);
        cpt_request_set_integer(request, key, i);
    }
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("ok");
    return CPT_OK;
}

static cpt_status set_large(struct cpt_task *task)
{
    static char text[CPT_ATTRIBUTE_BYTES_MAX];

    memset(text, 'x', sizeof text - 2); /* with the key "k" one byte is left */
    cpt_request_set_text(cpt_task_request(task), "k", text);
    cpt_request_set_text(cpt_task_request(task), "m", "y");
    cpt_request_set_integer(cpt_task_request(task), "l", 1);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("ok");
    return CPT_OK;
}

static void attributes_of(cpt_task_fn run, size_t kept, uint64_t lost)
{
    const struct cpt_task_def tasks[] = {
        {"set", run, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/set", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/set");
    ask(pair.a, &inbound);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.attribute_count, kept);
    CU_ASSERT_EQUAL(counter(pair.a, "lost_attributes", NULL), lost);
    cpt_log_reader_free(reader);
    close_pair();
    cpt_plan_free(plan);
}

static void test_attribute_limits(void)
{
    attributes_of(set_many, CPT_ATTRIBUTES_MAX, 1);
    attributes_of(set_large, 2, 1);
}

static void prefix(const char *network, cpt_status expected)
{
    const char *const networks[] = {network, NULL};
    const struct cpt_service_options options = {
        .struct_bytes = sizeof options, .name = "A", .trusted_networks = networks};
    struct cpt_error error = {0};
    struct cpt_service *service = cpt_service_new(&options, &error);

    CU_ASSERT_EQUAL(error.status, expected);
    cpt_service_free(service);
}

static void test_network_prefixes(void)
{
    prefix("10.0.0.0/0", CPT_OK);
    prefix("10.0.0.0/31", CPT_OK);
    prefix("10.0.0.0/32", CPT_OK);
    prefix("10.0.0.0/33", CPT_INVALID);
    prefix("::/127", CPT_OK);
    prefix("::/128", CPT_OK);
    prefix("::/129", CPT_INVALID);
    prefix("10.0.0.0/18446744073709551615", CPT_INVALID);
    prefix("10.0.0.0/99999999999999999999999", CPT_INVALID);
    prefix("10.0.0.0/", CPT_INVALID);
    prefix("10.0.0.0/-1", CPT_INVALID);
    prefix("10.0.0/8", CPT_INVALID);
}

/* Semantics 16: what a stranger asked for is cut before it is logged. */
static void test_long_method_is_cut_in_the_record(void)
{
    static char method[5000];
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "*", pair.a_plan, NULL), CPT_OK);
    memset(method, 'm', sizeof method - 1);
    inbound.method = cpt_bytes_of(method);
    ask(pair.a, &inbound);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.method.bytes, CPT_NAME_BYTES_MAX);
    CU_ASSERT_TRUE(cpt_bytes_equal(record.entry, cpt_bytes_of("A: *")));
    cpt_log_reader_free(reader);
    close_pair();
}

static void test_service_options_are_checked(void)
{
    static const char *const networks[] = {"10.0.0.0/33", NULL};
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = "A: B"};
    struct cpt_error error = {0};
    struct cpt_plan *plan = cpt_plan_new(&b_graph, NULL, NULL);
    struct cpt_service *service = NULL;

    CU_ASSERT_PTR_NULL(cpt_service_new(&options, &error));
    CU_ASSERT_EQUAL(error.status, CPT_INVALID);
    options.name = "A";
    options.metadata_bytes_max = CPT_METADATA_BYTES_CEILING + 1;
    CU_ASSERT_PTR_NULL(cpt_service_new(&options, NULL));
    options.metadata_bytes_max = CPT_METADATA_BYTES_CEILING;
    options.trusted_networks = networks;
    memset(&error, 0, sizeof error);
    CU_ASSERT_PTR_NULL(cpt_service_new(&options, &error));
    CU_ASSERT_STRING_EQUAL(
        error.sentence,
        "trusted network \"10.0.0.0/33\" has no prefix of 0 to 32 bits");
    options.trusted_networks = NULL;
    service = cpt_service_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(service);
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(cpt_service_method_add(service, "/", plan, &error), CPT_INVALID);
    CU_ASSERT_STRING_EQUAL(error.sentence,
                           "method \"/\": its plan is of service \"B\", not \"A\"");
    cpt_service_free(service);
    cpt_plan_free(plan);
}

/* --- Without memory --- */

/* Whatever is refused, the request is answered once and nothing is kept. */
static bool serve_with(const struct cpt_alloc *alloc)
{
    struct cpt_service_options a = never;
    struct cpt_inbound inbound = inbound_with("1");
    int is_whole = 0;

    open_pair(never, never);
    a.alloc = alloc;
    cpt_service_free(pair.a);
    pair.a = make_service(a, "A", "/", pair.a_plan);
    if (pair.a != NULL) {
        ask(pair.a, &inbound);
        is_whole = answer.http_status == 200 && answer.metadata_bytes != 0 &&
                   strcmp(answered_path(), WHOLE_PATH) == 0;
    }
    close_pair();
    return is_whole;
}

static void test_allocation_failures(void)
{
    each_allocation_failure(serve_with);
}

/* --- The log queue --- */

static cpt_status refuse_block(void *context, const void *block, size_t bytes)
{
    (void)context;
    (void)block;
    (void)bytes;
    return CPT_IO;
}

static void test_sink_that_refuses(void)
{
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = refuse_block};
    struct cpt_service_options a = always;
    struct cpt_log_queue_counts counts;
    struct cpt_log_queue *queue = cpt_log_queue_new(&options, NULL);
    struct cpt_service *service = NULL;
    const struct cpt_inbound inbound = inbound_with(NULL);

    open_pair(never, never);
    a.log = queue;
    service = make_service(a, "A", "/", pair.a_plan);
    ask(service, &inbound);
    cpt_log_queue_flush(queue);
    cpt_log_queue_counts(queue, &counts);
    CU_ASSERT_EQUAL(counts.sink_lost_count, 1);
    CU_ASSERT_EQUAL(counts.logged_count, 0);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    cpt_log_queue_free(queue);
    cpt_service_free(service);
    close_pair();
}

CU_TestInfo cpt_service_tests[] = {
    {"who does not ask is not traced", test_unasked_is_untraced},
    {"who asks gets the path", test_forced_returns_the_path},
    {"the record", test_record},
    {"semantics 22, 27: forced and random at once", test_forced_and_random},
    {"headers that are not heeded", test_headers_not_heeded},
    {"whom an entry trusts", test_whom_an_entry_trusts},
    {"an inner service follows its caller", test_inner_follows_its_caller},
    {"the kill switch", test_kill_switch},
    {"semantics 4, 7: callees without a path", test_blind_spots},
    {"I5: an unrequested path is ignored", test_unrequested_path_is_ignored},
    {"an unreachable callee", test_unreachable_callee},
    {"a call that its caller gives up", test_call_given_up},
    {"a service that is freed too early", test_service_outlives_its_owner},
    {"semantics 4: a retry and its back-off", test_retry},
    {"semantics 4: a hedge that wins", test_hedge},
    {"semantics 9: the budget goes down", test_budget_goes_down},
    {"an overcount does not wrap", test_overcount_does_not_wrap},
    {"prefixes of trusted networks", test_network_prefixes},
    {"a long method is cut in the record", test_long_method_is_cut_in_the_record},
    {"a failing callee", test_failing_callee},
    {"a budget too small for the sum", test_tiny_budget},
    {"the coin", test_coin},
    {"limits of attributes", test_attribute_limits},
    {"options are checked", test_service_options_are_checked},
    {"allocation failures", test_allocation_failures},
    {"a sink that refuses", test_sink_that_refuses},
    CU_TEST_INFO_NULL,
};
