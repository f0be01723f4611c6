/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_service.c - which requests are traced, their replies, records and counters */
#include "tests/unit/framework/service_pair.h"

#include "tests/support/failing_alloc.h"

#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Tests --- */

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
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0); /* no path was requested */
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

#define HOUR ((uint64_t)3600 * 1000 * MS)

/* A transport that is slow to send the answer. */
static void answer_slowly(void *context, const struct cpt_outbound *given)
{
    (void)given;
    ++*(int *)context;
    now.now_ns += HOUR;
}

/* What is done between the response and the record does not move the request. */
static void test_start_of_record(void)
{
    const struct cpt_inbound inbound = inbound_with(NULL);
    const uint64_t before_ns = cpt_clock_unix_ns();
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    int count = 0;

    open_pair(always, never);
    cpt_service_serve(pair.a, &inbound, answer_slowly, &count);
    virtual_run(&now);
    CU_ASSERT_EQUAL(count, 1);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.latency_ns, 12 * MS);
    CU_ASSERT(record.start_unix_ns < before_ns - HOUR / 2);
    cpt_log_reader_free(reader);
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

/* --- A service that is called back calls into its own entry --- */

static const struct cpt_stub back_stub = {
    .name = "B: /back", .target = "B", .method = "/back", .transport = &net.transport};
static const struct cpt_stub a_stub = {
    .name = "A: /", .target = "A", .method = "/", .transport = &net.transport};

static cpt_status got_through(struct cpt_task *task)
{
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("through");
    return CPT_OK;
}

static cpt_status go_to_b(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &back_stub, cpt_bytes_of("x")), got_through);
}

static cpt_status go_back_to_a(struct cpt_task *task)
{
    return cpt_await(task, cpt_call(task, &a_stub, cpt_bytes_of("x")), got_through);
}

static struct cpt_plan *round_plans[2];

/* A: /round calls B: /back, which calls A: /, which calls B: /look. */
static void ask_round(struct cpt_service_options a, const char *header)
{
    const struct cpt_task_def to_b[] = {
        {"to B", go_to_b, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
    const struct cpt_task_def to_a[] = {{"to A",
                                         go_back_to_a,
                                         CPT_GIVES(rpc_reply),
                                         CPT_NEEDS(rpc_request),
                                         {NULL},
                                         NULL}};
    const struct cpt_graph round = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    to_b, 1};
    const struct cpt_graph back = {"B", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                   to_a, 1};
    struct cpt_inbound inbound = inbound_with(header);

    inbound.method = cpt_bytes_of("/round");
    open_pair(a, never);
    net.services[net.service_count++] = pair.a;
    round_plans[0] = cpt_plan_new(&round, NULL, NULL);
    round_plans[1] = cpt_plan_new(&back, NULL, NULL);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/round", round_plans[0], NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.b, "/back", round_plans[1], NULL),
                    CPT_OK);
    ask(pair.a, &inbound);
    CU_ASSERT_STRING_EQUAL(answer.body, "through");
}

static void close_round(void)
{
    close_pair();
    cpt_plan_free(round_plans[0]);
    cpt_plan_free(round_plans[1]);
}

/* Only the request that entered there is recorded; the nested one is a part of it. */
static void test_call_back_into_the_entry(void)
{
    static const char *const headers[] = {"1;forced", "1", "1;max=900;forced"};
    struct cpt_record record;

    for (size_t i = 0; i < 3; i++) {
        struct cpt_log_reader *reader = NULL;

        ask_round(never, headers[i]);
        CU_ASSERT_PTR_NOT_NULL(strstr(answered_path(),
                                      "A: /round;A: to B;B: /back;B: to A;A: /;A: ask;"
                                      "B: /look;B: look 5"));
        CU_ASSERT_EQUAL(record_count(), 1);
        reader = read_record(0, &record);
        CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of("/round")));
        CU_ASSERT_TRUE(record.is_forced);
        cpt_log_reader_free(reader);
        close_round();
    }
}

/* Its own coin hits: a local root, as any request that a service asked for. */
static void test_coin_of_a_call_back(void)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    ask_round(always, NULL);
    CU_ASSERT_EQUAL(record_count(), 2);
    reader = read_record(0, &record); /* the nested one ended first */
    CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of("/")));
    CU_ASSERT_TRUE(record.is_local_root);
    CU_ASSERT_TRUE(record.is_random);
    CU_ASSERT_FALSE(record.is_forced);
    cpt_log_reader_free(reader);
    reader = read_record(1, &record);
    CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of("/round")));
    CU_ASSERT_FALSE(record.is_local_root);
    CU_ASSERT_FALSE(record.is_forced);
    cpt_log_reader_free(reader);
    close_round();
}

static void test_probabilities(void)
{
    static const struct {
        double probability;
        double kept; /* less than 0: it is refused */
    } rows[] = {{0, 0.001}, {-1, 0},  {0.25, 0.25}, {1, 1},
                {1.1, -1},  {17, -1}, {NAN, -1},    {INFINITY, -1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                    .name = "A",
                                                    .probability = rows[i].probability};
        struct cpt_error error = {.status = CPT_OK};
        struct cpt_service *service = cpt_service_new(&options, &error);

        CU_ASSERT_EQUAL(service != NULL, rows[i].kept >= 0);
        if (service == NULL) {
            CU_ASSERT_EQUAL(error.status, CPT_INVALID);
            CU_ASSERT_PTR_NOT_NULL(strstr(error.sentence, "must be from 0 to 1"));
        }
        cpt_service_free(service);
    }
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

/* Within t seconds at most rate * (t + 1) + 1 requests are traced because they ask. */
static void test_floods_are_limited(void)
{
    enum { FLOOD = 44000 };
    struct cpt_service_options a = {.probability = -1, .forced_per_second_max = 50};
    struct cpt_service_options b = {.probability = -1, .asked_per_second_max = 200};
    struct cpt_inbound inbound = inbound_with("1");
    uint64_t begin_ns = 0;
    double s = 0;

    open_pair(a, b);
    begin_ns = now.now_ns;
    for (unsigned i = 0; i < FLOOD; i++) {
        ask_a("1;forced");
        CU_ASSERT_EQUAL(answer.http_status, 200);
    }
    s = (double)(now.now_ns - begin_ns) / 1e9;
    CU_ASSERT_TRUE(counter(pair.a, "traced", NULL) <= (uint64_t)(50 * (s + 1) + 1));
    CU_ASSERT_TRUE(counter(pair.a, "traced", NULL) >= (uint64_t)(50 * s));
    CU_ASSERT_EQUAL(counter(pair.a, "traced", NULL) +
                        counter(pair.a, "limited_forced", NULL),
                    FLOOD);
    inbound.method = cpt_bytes_of("/look");
    begin_ns = now.now_ns;
    for (unsigned i = 0; i < 1000; i++) {
        ask(pair.b, &inbound);
        now.now_ns = begin_ns; /* all at once */
    }
    CU_ASSERT_TRUE(counter(pair.b, "limited_asked", NULL) >= 1000 - 201);
    CU_ASSERT_EQUAL(counter(pair.b, "limited_forced", NULL), 0);
    now.now_ns = begin_ns + 1000 * MS;
    ask(pair.b, &inbound);
    CU_ASSERT_NOT_EQUAL(answer.metadata_bytes, 0);
    close_pair();
}

/* The coin's sample is not touched by the limit. */
static void test_limits_leave_the_coin_alone(void)
{
    struct cpt_service_options a = {.probability = 1, .forced_per_second_max = 1e-9};

    open_pair(a, never);
    ask_a("1;forced");
    CU_ASSERT_NOT_EQUAL(answer.metadata_bytes, 0);
    ask_a("1;forced");
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_EQUAL(counter(pair.a, "traced_by_coin", NULL), 2);
    CU_ASSERT_EQUAL(counter(pair.a, "traced_by_ask", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "limited_forced", NULL), 1);
    close_pair();
    a.forced_per_second_max = -1;
    a.probability = -1;
    open_pair(a, never);
    for (unsigned i = 0; i < 1000; i++) {
        ask_a("1;forced");
        CU_ASSERT_NOT_EQUAL(answer.metadata_bytes, 0);
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

/* --- Random sampling --- */

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
    prefix("::ffff:10.0.0.0/95", CPT_INVALID); /* not what was meant */
    prefix("::ffff:10.0.0.0/8", CPT_INVALID);
    prefix("::ffff:10.0.0.0/96", CPT_OK);
    prefix("::/0", CPT_OK);
}

/* Semantics 16: a method from outside is cut before it is logged. */
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
    options.forced_per_second_max = NAN;
    CU_ASSERT_PTR_NULL(cpt_service_new(&options, NULL));
    options.forced_per_second_max = 0;
    options.asked_per_second_max = NAN;
    CU_ASSERT_PTR_NULL(cpt_service_new(&options, NULL));
    options.asked_per_second_max = 0;
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

/* Whichever allocation is refused, the request is answered once and no memory leaks. */
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
                   strcmp(answered_path(), WHOLE_PATH) == 0 &&
                   counter(pair.a, "lost_paths", NULL) == 0;
    }
    close_pair();
    return is_whole;
}

static void test_allocation_failures(void)
{
    each_allocation_failure(serve_with);
}

/* --- Semantics 8: work after the response --- */

CPT_VALUE(after, int);

static cpt_status nap_is_over(struct cpt_task *task)
{
    now.now_ns += 2 * MS;
    *cpt_output(task, after) = 1;
    return CPT_OK;
}

static cpt_status go_on(struct cpt_task *task)
{
    now.now_ns += 4 * MS;
    return cpt_await(task, cpt_sleep(task, "nap", 7 * MS), nap_is_over);
}

static cpt_status answer_early(struct cpt_task *task)
{
    now.now_ns += 1 * MS;
    (void)cpt_start(task, after);
    return a_answer(task);
}

static const struct cpt_task_def early_tasks[] = {
    {"ask", answer_early, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request),
     CPT_STARTS(after), NULL},
    {"after", go_on, CPT_GIVES(after), {NULL}, {NULL}, NULL}};
static const struct cpt_graph early_graph = {"A", CPT_GIVES(rpc_request),
                                             CPT_GIVES(rpc_reply), early_tasks, 2};

static void check_background(int index)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = read_record(index, &record);
    struct cpt_path *path = cpt_path_new(NULL);

    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.is_background);
    CU_ASSERT_TRUE(record.is_local_root);
    CU_ASSERT_FALSE(record.is_failed);
    CU_ASSERT_EQUAL(record.latency_ns, 13 * MS);
    CU_ASSERT_TRUE(cpt_bytes_equal(record.status, cpt_bytes_of("ok")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.entry, cpt_bytes_of("A: /early")));
    CU_ASSERT_EQUAL(cpt_record_path(&record, NULL, path, NULL), CPT_OK);
    CU_ASSERT_EQUAL(cpt_path_check(path, record.latency_ns, NULL), CPT_OK);
    CU_ASSERT_STRING_EQUAL(path_text(path), "A: /early;A: ask;A: after 4, "
                                            "A: /early;A: ask;A: after;A: nap 7, "
                                            "A: /early;A: ask;A: after 2");
    cpt_path_free(path);
    cpt_log_reader_free(reader);
}

static void test_behind_the_answer(void)
{
    struct cpt_plan *plan = cpt_plan_new(&early_graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with("1");

    open_pair(always, never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/early", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/early");
    ask(pair.a, &inbound);
    CU_ASSERT_STRING_EQUAL(answered_path(), "A: /early;A: ask 4");
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    CU_ASSERT_EQUAL(record_count(), 2);
    check_background(1);
    CU_ASSERT_EQUAL(counter(pair.a, "background", NULL), 1);
    ask_a("1"); /* one that leaves nothing behind */
    CU_ASSERT_EQUAL(cpt_service_drain(pair.a, 5000000000U), CPT_OK);
    CU_ASSERT_EQUAL(record_count(), 3);
    CU_ASSERT_EQUAL(counter(pair.a, "background", NULL), 1);
    close_pair();
    cpt_plan_free(plan);
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
    {"a request that asks for no path is not traced", test_unasked_is_untraced},
    {"a request that asks gets the path", test_forced_returns_the_path},
    {"the record", test_record},
    {"the start of a record", test_start_of_record},
    {"semantics 22, 27: forced and random at once", test_forced_and_random},
    {"a call back into the entry is not recorded", test_call_back_into_the_entry},
    {"unless its own coin hits", test_coin_of_a_call_back},
    {"probabilities outside 0 to 1 are refused", test_probabilities},
    {"ignored headers", test_headers_not_heeded},
    {"floods of requests that ask are limited", test_floods_are_limited},
    {"the limit leaves the coin alone", test_limits_leave_the_coin_alone},
    {"an inner service follows its caller", test_inner_follows_its_caller},
    {"the kill switch", test_kill_switch},
    {"prefixes of trusted networks", test_network_prefixes},
    {"a long method is cut in the record", test_long_method_is_cut_in_the_record},
    {"random sampling", test_coin},
    {"limits of attributes", test_attribute_limits},
    {"options are checked", test_service_options_are_checked},
    {"semantics 8: work after the response", test_behind_the_answer},
    {"allocation failures", test_allocation_failures},
    {"a sink that refuses", test_sink_that_refuses},
    CU_TEST_INFO_NULL,
};
