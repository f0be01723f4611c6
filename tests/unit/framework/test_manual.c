/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_manual.c - services that record their requests by hand, alone and with others
 *
 * Services A and B of the pair act as services without the framework: the tests call
 * them without their graphs.
 */
#include "tests/support/failing_alloc.h"
#include "tests/unit/framework/service_pair.h"

#include "cpt/cpt_clock.h"
#include "cpt/cpt_path.h"
#include "framework/cpt_manual.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NETWORK "\u2039network+serialization\u203a"

static void spend(unsigned ms)
{
    now.now_ns += (uint64_t)ms * MS;
}

static struct cpt_manual *begin(struct cpt_service *service, const char *ask_header)
{
    const struct cpt_inbound inbound = inbound_with(ask_header);

    return cpt_manual_new(service, &inbound);
}

/* Ends it and compares the path. */
static void expect(struct cpt_manual *manual, const char *expected)
{
    struct cpt_error error = {0};
    const struct cpt_path *path = NULL;

    (void)cpt_manual_end(manual);
    path = cpt_manual_path(manual);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    CU_ASSERT_EQUAL(cpt_path_check(path, cpt_path_sum_ns(path), &error), CPT_OK);
    CU_ASSERT_STRING_EQUAL(path_text(path), expected);
    if (strcmp(path_text(path), expected) != 0) {
        printf("\n  got      %s\n  expected %s\n", path_text(path), expected);
    }
}

/* --- Alone --- */

static void test_parts(void)
{
    struct cpt_manual *manual = NULL;
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, never);
    manual = begin(pair.a, NULL);
    spend(1);
    cpt_manual_enter(manual, "search");
    spend(2);
    cpt_manual_enter(manual, "index");
    spend(3);
    cpt_manual_leave(manual);
    cpt_manual_enter(manual, "index"); /* takes no time */
    cpt_manual_leave(manual);
    spend(1);
    cpt_manual_leave(manual);
    cpt_manual_set_text(manual, "arm", "control");
    spend(4);
    expect(manual, "A: / 1, A: /;A: search 2, A: /;A: search;A: index 3, "
                   "A: /;A: search 1, A: / 4");
    CU_ASSERT_EQUAL(cpt_manual_end(manual).bytes, 0); /* no path was requested */
    cpt_manual_free(manual, 200);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.latency_ns, 11 * MS);
    CU_ASSERT_TRUE(cpt_bytes_equal(record.entry, cpt_bytes_of("A: /")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.method, cpt_bytes_of("/")));
    CU_ASSERT_TRUE(cpt_bytes_equal(record.status, cpt_bytes_of("ok")));
    CU_ASSERT_TRUE(record.is_random && !record.is_forced);
    CU_ASSERT_PTR_NOT_NULL(cpt_record_attribute(&record, cpt_bytes_of("arm")));
    cpt_log_reader_free(reader);
    close_pair();
}

/* What a request takes of the service's memory it gives back to the same budget. */
static void test_one_after_another(void)
{
    open_pair(always, never);
    for (int i = 0; i < 5; i++) {
        struct cpt_manual *manual = begin(pair.a, "1");

        spend(2);
        expect(manual, "A: / 2");
        CU_ASSERT_TRUE(cpt_manual_end(manual).bytes > 0);
        cpt_manual_free(manual, 200);
    }
    close_pair();
}

/* What is done between the response and the record does not move the request. */
static void test_start_of_record(void)
{
    const unsigned hour_ms = 3600 * 1000;
    const uint64_t since_ns = (hour_ms + 2) * (uint64_t)MS;
    const uint64_t before_ns = cpt_clock_unix_ns();
    struct cpt_manual *manual = NULL;
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, never);
    manual = begin(pair.a, NULL);
    spend(2);
    (void)cpt_manual_end(manual);
    spend(hour_ms);
    cpt_manual_free(manual, 200);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.latency_ns, 2 * MS);
    CU_ASSERT(record.start_unix_ns >= before_ns - since_ns);
    CU_ASSERT(record.start_unix_ns <= cpt_clock_unix_ns() - since_ns);
    cpt_log_reader_free(reader);
    close_pair();
}

/* A part that is open at the end is closed; the time after it belongs to no part. */
static void test_end(void)
{
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    manual = begin(pair.a, "1");
    cpt_manual_enter(manual, "search");
    cpt_manual_enter(manual, "index");
    spend(3);
    CU_ASSERT_NOT_EQUAL(cpt_manual_end(manual).bytes, 0);
    spend(3);
    cpt_manual_enter(manual, "late");
    cpt_manual_leave(manual);
    cpt_manual_wait_begin(manual);
    cpt_manual_wait_end(manual);
    CU_ASSERT_PTR_NULL(cpt_manual_call_begin(manual, "B: /look"));
    expect(manual, "A: /;A: search;A: index 3");
    cpt_manual_free(manual, 503);
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 1);
    close_pair();
}

/* What grpc++ answers is in the record as gRPC says it. */
static void test_answered(void)
{
    static const struct {
        unsigned outcome;
        const char *message;
        const char *status;
        const char *why; /* NULL: it has not failed */
    } rows[] = {
        {CPT_OUTCOME_OK, "fine", "ok", NULL},
        {CPT_OUTCOME_NOT_FOUND, "no item", "NOT_FOUND", NULL},
        {CPT_OUTCOME_UNAVAILABLE, "no stock", "UNAVAILABLE",
         "the answer was UNAVAILABLE: no stock"},
        {CPT_OUTCOME_FAILED_PRECONDITION, "", "FAILED_PRECONDITION", NULL},
        {CPT_OUTCOME_INTERNAL, "", "INTERNAL", "the answer was INTERNAL"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cpt_manual *manual = NULL;
        struct cpt_log_reader *reader = NULL;
        struct cpt_record record;
        const struct cpt_attribute *why = NULL;

        open_pair(always, never);
        manual = begin(pair.a, NULL);
        spend(3);
        (void)cpt_manual_end(manual);
        cpt_manual_answered(manual, rows[i].outcome, cpt_bytes_of(rows[i].message));
        cpt_manual_free(manual, 200);
        reader = read_record(0, &record);
        CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
        CU_ASSERT(cpt_bytes_equal(record.status, cpt_bytes_of(rows[i].status)));
        CU_ASSERT_EQUAL(record.is_failed, rows[i].why != NULL);
        why = cpt_record_attribute(&record, cpt_bytes_of("failure.why"));
        CU_ASSERT_EQUAL(why == NULL, rows[i].why == NULL);
        CU_ASSERT(why == NULL ||
                  cpt_bytes_equal(why->value.text, cpt_bytes_of(rows[i].why)));
        cpt_log_reader_free(reader);
        close_pair();
    }
    cpt_manual_answered(NULL, CPT_OUTCOME_OK, cpt_bytes_of(""));
}

/* What a request takes is given back to where it came from: so the next has memory. */
static void test_one_after_the_other(void)
{
    struct cpt_service_options options = {.struct_bytes = sizeof options,
                                          .name = "A",
                                          .probability = 1,
                                          .clock = &now.clock};

    virtual_init(&now, 0);
    pair.a = cpt_service_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair.a);
    for (unsigned i = 0; i < 3; i++) {
        struct cpt_manual *manual = begin(pair.a, NULL);

        cpt_manual_enter(manual, "search");
        spend(2);
        expect(manual, "A: /;A: search 2");
        cpt_manual_free(manual, 200);
    }
    cpt_service_free(pair.a);
}

/* The arrival is never later than now, whatever the transport reports. */
static void test_arrival_to_come(void)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_manual *manual = NULL;
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    open_pair(always, never);
    inbound.arrival_ns = now.now_ns + 5 * (uint64_t)MS;
    manual = cpt_manual_new(pair.a, &inbound);
    spend(2);
    expect(manual, "A: / 2");
    cpt_manual_free(manual, 200);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(record.latency_ns, 2 * MS);
    cpt_log_reader_free(reader);
    close_pair();
}

/* What a request waited in the machine before its transport has stamped it. */
static void test_waited_before(void)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    spend(10);
    inbound.arrival_ns = now.now_ns;
    inbound.waited_ns = 3 * (uint64_t)MS;
    spend(1);
    manual = cpt_manual_new(pair.a, &inbound);
    spend(2);
    expect(manual, "A: /;A: \u2039accept queue\u203a 4, A: / 2");
    cpt_manual_free(manual, 200);
    inbound.arrival_ns = 0;
    inbound.waited_ns = UINT64_MAX; /* more than there is */
    manual = cpt_manual_new(pair.a, &inbound);
    spend(2);
    expect(manual, "A: / 2");
    cpt_manual_free(manual, 200);
    close_pair();
}

static void test_untraced(void)
{
    struct cpt_manual *manual = NULL;
    uint64_t read_count = 0;

    open_pair(never, never);
    read_count = now.read_count;
    manual = begin(pair.a, NULL);
    CU_ASSERT_PTR_NULL(manual);
    cpt_manual_enter(manual, "search");
    cpt_manual_leave(manual);
    CU_ASSERT_EQUAL(cpt_manual_ask(manual).bytes, 0);
    cpt_manual_call_end(manual, cpt_manual_call_begin(manual, "B: /look"), NULL);
    cpt_manual_wait_begin(manual);
    cpt_manual_wait_end(manual);
    cpt_manual_set_text(manual, "arm", "control");
    CU_ASSERT_EQUAL(cpt_manual_end(manual).bytes, 0);
    CU_ASSERT_PTR_NULL(cpt_manual_path(manual));
    cpt_manual_free(manual, 200);
    CU_ASSERT_EQUAL(now.read_count, read_count);
    cpt_service_enable(pair.a, 0);
    CU_ASSERT_PTR_NULL(begin(pair.a, "1"));
    CU_ASSERT_EQUAL(counter(pair.a, "requests", NULL), 2);
    close_pair();
}

/* A request that is not traced, but whose calls carry what it came with. */
static void test_carrying(void)
{
    static const struct cpt_manual_failure failure = {.struct_bytes = sizeof failure};
    struct cpt_inbound inbound = inbound_with(NULL);
    const struct cpt_field field = {cpt_bytes_of("tracestate"), cpt_bytes_of("a=1")};
    struct cpt_manual *manual = NULL;

    open_pair(never, never);
    inbound.headers = &field;
    inbound.header_count = 1;
    inbound.traceparent =
        cpt_bytes_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    manual = cpt_manual_new_carrying(pair.a, &inbound);
    CU_ASSERT_PTR_NOT_NULL_FATAL(manual);
    CU_ASSERT_FALSE(cpt_manual_is_traced(manual));
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_manual_traceparent(manual), inbound.traceparent));
    CU_ASSERT_TRUE(cpt_bytes_equal(cpt_manual_tracestate(manual), field.value));
    CU_ASSERT_EQUAL(cpt_manual_ask(manual).bytes, 0);
    cpt_manual_enter(manual, "search");
    cpt_manual_wait_begin(manual);
    CU_ASSERT_PTR_NULL(cpt_manual_call_begin(manual, "B: /look"));
    cpt_manual_wait_end(manual);
    cpt_manual_leave(manual);
    cpt_manual_set_text(manual, "arm", "control");
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 0);
    cpt_manual_fail(manual, pair.a, &failure); /* counted at once, as for NULL */
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 1);
    CU_ASSERT_EQUAL(cpt_manual_end(manual).bytes, 0);
    CU_ASSERT_PTR_NULL(cpt_manual_path(manual));
    cpt_manual_free(manual, 500);
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "traced", NULL), 0);
    close_pair();
    CU_ASSERT_FALSE(cpt_manual_is_traced(NULL));
}

/* With the kill switch what came is carried, and nothing is made. */
static void test_carrying_while_stopped(void)
{
    struct cpt_inbound inbound = inbound_with("1");
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    manual = cpt_manual_new_carrying(pair.a, &inbound);
    CU_ASSERT_TRUE(cpt_manual_is_traced(manual));
    CU_ASSERT_EQUAL(cpt_manual_traceparent(manual).bytes, CPT_TRACEPARENT_BYTES);
    cpt_manual_free(manual, 200);
    cpt_service_enable(pair.a, 0);
    CU_ASSERT_PTR_NULL(cpt_manual_new_carrying(pair.a, &inbound));
    inbound.traceparent =
        cpt_bytes_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    manual = cpt_manual_new_carrying(pair.a, &inbound);
    CU_ASSERT_PTR_NOT_NULL_FATAL(manual);
    CU_ASSERT_FALSE(cpt_manual_is_traced(manual));
    CU_ASSERT_TRUE(
        cpt_bytes_equal(cpt_manual_traceparent(manual), inbound.traceparent));
    cpt_manual_free(manual, 200);
    close_pair();
}

/* --- Calls --- */

static void test_calls_without_a_path(void)
{
    static const struct cpt_manual_reply bad = {.metadata_text = {"%%%", 3}};
    static const struct cpt_manual_reply late = {.status = CPT_TIMEOUT, .attempt = 1};
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    manual = begin(pair.a, NULL);
    for (int i = 0; i < 3; i++) {
        call = cpt_manual_call_begin(manual, i == 0   ? "B: /no"
                                             : i == 1 ? "B: /bad"
                                                      : "B: /late");
        cpt_manual_wait_begin(manual);
        spend(2);
        cpt_manual_call_end(manual, call, i == 0 ? NULL : i == 1 ? &bad : &late);
        spend(1);
        cpt_manual_wait_end(manual);
    }
    expect(manual,
           "A: /;B: /no;B: \u2039blind spot\u203a 2, A: /;A: \u2039queue\u203a 1, "
           "A: /;B: /bad;B: \u2039blind spot\u203a 2, A: /;A: \u2039queue\u203a 1, "
           "A: /;B: /late;B: \u2039timeout\u203a 2, A: /;A: \u2039queue\u203a 1");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_timeouts", "B: /late"), 1);
    cpt_manual_free(manual, 200);
    close_pair();
}

/* Two parallel calls: the later one has the wait for both. Then the first of two
 * others, a reply that arrived before the wait, and a wait for something else. */
static void test_several_calls(void)
{
    struct cpt_manual_call *calls[2];
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    manual = begin(pair.a, NULL);
    spend(1);
    calls[0] = cpt_manual_call_begin(manual, "B: /0");
    calls[1] = cpt_manual_call_begin(manual, "B: /1");
    spend(1); /* computes meanwhile */
    cpt_manual_wait_begin(manual);
    spend(2);
    cpt_manual_call_end(manual, calls[0], NULL);
    spend(3);
    cpt_manual_call_end(manual, calls[1], NULL);
    cpt_manual_wait_end(manual);
    cpt_manual_enter(manual, "rest");
    calls[0] = cpt_manual_call_begin(manual, "B: /2");
    spend(4);
    cpt_manual_call_end(manual, calls[0], NULL);
    cpt_manual_leave(manual);
    cpt_manual_wait_begin(manual);
    spend(5);
    cpt_manual_wait_end(manual);
    expect(manual, "A: / 1, A: /;B: /1;B: \u2039blind spot\u203a 6, A: /;A: rest 4, "
                   "A: /;A: \u2039unattributed\u203a 5");
    cpt_manual_free(manual, 200);
    close_pair();
}

/* Who begins a call or a part within a wait does not wait then: what had ended before
 * comes before it, and the wait goes on behind it. */
static void test_within_a_wait(void)
{
    struct cpt_manual_call *first = NULL;
    struct cpt_manual_call *second = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    manual = begin(pair.a, NULL);
    first = cpt_manual_call_begin(manual, "B: /0");
    cpt_manual_wait_begin(manual);
    spend(10);
    cpt_manual_call_end(manual, first, NULL);
    spend(1); /* looks at the answer */
    second = cpt_manual_call_begin(manual, "B: /1");
    spend(5);
    cpt_manual_call_end(manual, second, NULL);
    cpt_manual_wait_end(manual);
    first = cpt_manual_call_begin(manual, "B: /2");
    cpt_manual_wait_begin(manual);
    spend(2);
    cpt_manual_enter(manual, "beside");
    spend(3);
    cpt_manual_leave(manual);
    spend(4);
    cpt_manual_call_end(manual, first, NULL);
    cpt_manual_wait_end(manual);
    first = cpt_manual_call_begin(manual, "B: /3");
    cpt_manual_wait_begin(manual);
    spend(2);
    cpt_manual_enter(manual, "within");
    spend(3);
    cpt_manual_call_end(manual, first, NULL);
    cpt_manual_wait_end(manual);
    spend(1);
    cpt_manual_leave(manual);
    expect(manual, "A: /;B: /0;B: \u2039blind spot\u203a 10, A: / 1, "
                   "A: /;B: /1;B: \u2039blind spot\u203a 5, "
                   "A: /;B: /2;B: \u2039blind spot\u203a 9, "
                   "A: /;B: /3;B: \u2039blind spot\u203a 5, A: /;A: within 1");
    cpt_manual_free(manual, 200);
    close_pair();
}

/* --- With services of the framework --- */

/* A, by hand, calls B, a graph: over the loopback's way there and back. */
static void test_calls_a_graph(void)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_manual_reply reply = {.status = CPT_OK};
    struct cpt_manual_call *call = NULL;
    struct cpt_manual *manual = NULL;

    open_pair(always, never);
    manual = begin(pair.a, NULL);
    cpt_manual_enter(manual, "search");
    spend(2);
    call = cpt_manual_call_begin(manual, "B: /look");
    inbound.method = cpt_bytes_of("/look");
    inbound.critical_path = cpt_manual_ask(manual);
    inbound.critical_path_count = 1;
    cpt_manual_wait_begin(manual);
    spend(1);
    ask(pair.b, &inbound);
    spend(1);
    reply.metadata =
        (struct cpt_bytes){(const char *)answer.metadata, answer.metadata_bytes};
    cpt_manual_call_end(manual, call, &reply);
    cpt_manual_wait_end(manual);
    spend(3);
    expect(manual, "A: /;A: search 2, A: /;A: search;B: /look;B: look 5, "
                   "A: /;A: search;B: /look;B: " NETWORK " 2, A: /;A: search 3");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_calls", "B: /look"), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_undercount_ns", "B: /look"), 2 * MS);
    CU_ASSERT_EQUAL(counter(pair.a, "reply_paths", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "decoded_paths", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "decoded_path_bytes", NULL), reply.metadata.bytes);
    cpt_manual_free(manual, 200);
    close_pair();
}

/* B by hand, on its way. */
static struct {
    struct cpt_work work; /* first */
    struct cpt_transport_call *call;
} passage;

static void serve_by_hand(struct cpt_work *work)
{
    struct cpt_transport_call *call = passage.call;
    const struct cpt_inbound inbound = {.method = cpt_bytes_of(call->method),
                                        .critical_path = call->critical_path,
                                        .critical_path_count =
                                            call->critical_path.bytes != 0};
    struct cpt_transport_reply reply = {.status = CPT_OK, .http_status = 200};
    struct cpt_manual *manual = NULL;

    (void)work;
    spend(1);
    manual = cpt_manual_new(pair.b, &inbound);
    spend(1);
    cpt_manual_enter(manual, "look");
    spend(5);
    cpt_manual_leave(manual);
    reply.metadata = cpt_manual_end(manual);
    spend(2);
    cpt_transport_complete(call, &reply);
    cpt_manual_free(manual, 200);
}

static void send_to_hand(struct cpt_transport *transport,
                         struct cpt_transport_call *call)
{
    (void)transport;
    passage.call = call;
    passage.work.run = serve_by_hand;
    cpt_transport_sent(call);
    now.executor.submit(&now.executor, &passage.work);
}

/* A, a graph, calls B. */
static void test_is_called_by_a_graph(void)
{
    open_pair(never, never);
    net.transport.send = send_to_hand;
    ask_a("1");
    CU_ASSERT_STRING_EQUAL(answered_path(),
                           "A: /;A: ask 2, A: /;A: ask;B: /look 1, "
                           "A: /;A: ask;B: /look;B: look 5, "
                           "A: /;A: ask;B: /look;B: " NETWORK " 3, A: /;A: ask 3");
    CU_ASSERT_EQUAL(counter(pair.b, "returned_paths", NULL), 1);
    close_pair();
}

/* --- CPU time, by real clocks --- */

static void test_off_cpu(void)
{
    const struct cpt_service_options options = {.struct_bytes = sizeof options,
                                                .name = "A",
                                                .probability = 1,
                                                .measures_cpu = 1};
    const struct timespec pause = {.tv_nsec = 20 * MS};
    const struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_service *service = cpt_service_new(&options, NULL);
    struct cpt_manual *manual = cpt_manual_new(service, &inbound);
    const struct cpt_path *path = NULL;
    uint64_t off_ns = 0;

    cpt_manual_enter(manual, "sleep");
    (void)nanosleep(&pause, NULL);
    cpt_manual_leave(manual);
    (void)cpt_manual_end(manual);
    path = cpt_manual_path(manual);
    for (size_t i = 0; i < cpt_path_segment_count(path); i++) {
        const struct cpt_segment *segment = cpt_path_segment(path, i);
        char stack[256];

        (void)cpt_path_stack_text(path, segment->frame, stack, sizeof stack);
        off_ns += strcmp(stack, "A: /;A: sleep;A: \u2039off CPU\u203a") == 0
                      ? segment->duration_ns
                      : 0;
    }
    CU_ASSERT_TRUE(off_ns >= 15 * MS);
    cpt_manual_free(manual, 200);
    cpt_service_free(service);
}

/* --- Failures --- */

static char told[512];
static unsigned told_count;

static void note(void *context, const struct cpt_notice *notice)
{
    (void)context;
    told_count++;
    (void)snprintf(told, sizeof told, "%u %u %s %.*s: %.*s", notice->kind,
                   notice->http_status, notice->reason, (int)notice->method.bytes,
                   notice->method.data, (int)notice->sentence.bytes,
                   notice->sentence.data);
}

static void expect_attribute(const struct cpt_record *record, const char *key,
                             const char *text)
{
    const struct cpt_attribute *attribute =
        cpt_record_attribute(record, cpt_bytes_of(key));

    CU_ASSERT_PTR_NOT_NULL_FATAL(attribute);
    CU_ASSERT_TRUE(cpt_bytes_equal(attribute->value.text, cpt_bytes_of(text)));
}

/* What the code says stands in record, counters and notice; the first one of it. */
static void test_failure_is_told(void)
{
    const struct cpt_manual_failure why = {.struct_bytes = sizeof why,
                                           .reason = CPT_FAILURE_CALLEE,
                                           .sentence = "shard 7 is gone"};
    const struct cpt_manual_failure later = {.struct_bytes = sizeof later,
                                             .sentence = "and so was the cache"};
    struct cpt_service_options options = always;
    struct cpt_manual *manual = NULL;
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;

    told_count = 0;
    options.notify = note;
    open_pair(options, never);
    manual = begin(pair.a, NULL);
    cpt_manual_fail(manual, pair.a, &why);
    cpt_manual_fail(manual, pair.a, &later);
    CU_ASSERT_EQUAL(told_count, 0);
    cpt_manual_free(manual, 502);
    CU_ASSERT_EQUAL(told_count, 1);
    CU_ASSERT_STRING_EQUAL(told, "1 502 callee /: shard 7 is gone");
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "failures", "callee"), 1);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.is_failed);
    expect_attribute(&record, CPT_ATTRIBUTE_FAILURE, "callee");
    expect_attribute(&record, CPT_ATTRIBUTE_WHY, "shard 7 is gone");
    cpt_log_reader_free(reader);
    close_pair();
}

static void test_failure_of_an_untraced_request(void)
{
    const struct cpt_manual_failure why = {.struct_bytes = sizeof why,
                                           .reason = CPT_FAILURE_DEADLINE,
                                           .sentence = "late",
                                           .method = cpt_bytes_of("/x"),
                                           .http_status = 504};
    const struct cpt_manual_failure unknown = {
        .struct_bytes = sizeof unknown, .reason = 4711, .sentence = NULL};
    struct cpt_service_options options = never;

    told_count = 0;
    options.notify = note;
    open_pair(options, never);
    cpt_manual_fail(begin(pair.a, NULL), pair.a, &why);
    CU_ASSERT_STRING_EQUAL(told, "1 504 deadline /x: late");
    cpt_manual_fail(begin(pair.a, NULL), pair.a, &unknown);
    CU_ASSERT_STRING_EQUAL(told, "1 500 task : no reason was given");
    CU_ASSERT_EQUAL(counter(pair.a, "failures", "deadline"), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "failures", "task"), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 2);
    close_pair();
}

/* A failure that is said counts, though the answer be none of 5xx; a long sentence is
 * cut. */
static void test_failure_with_another_status(void)
{
    static char text[2000];
    const struct cpt_manual_failure why = {.struct_bytes = sizeof why,
                                           .sentence = text};
    struct cpt_service_options options = always;
    struct cpt_manual *manual = NULL;

    memset(text, 'x', sizeof text - 1);
    options.notify = note;
    open_pair(options, never);
    manual = begin(pair.a, NULL);
    (void)cpt_manual_end(manual);
    cpt_manual_fail(manual, pair.a, &why);
    cpt_manual_free(manual, 499);
    CU_ASSERT_EQUAL(strncmp(told, "1 499 task /: xxx", 17), 0);
    CU_ASSERT_EQUAL(strlen(told), 511);
    CU_ASSERT_EQUAL(counter(pair.a, "failures", "task"), 1);
    close_pair();
}

/* --- Limits --- */

static void test_memory_limit(void)
{
    struct cpt_service_options options = always;
    struct cpt_manual *manual = NULL;
    const struct cpt_path *path = NULL;

    options.memory_bytes_max = 16384;
    open_pair(options, never);
    manual = begin(pair.a, NULL);
    for (int i = 0; i < 1000; i++) {
        cpt_manual_enter(manual, "part");
        cpt_manual_enter(manual, "below");
        spend(1);
        cpt_manual_leave(manual);
        cpt_manual_leave(manual);
    }
    (void)cpt_manual_end(manual);
    path = cpt_manual_path(manual);
    CU_ASSERT_EQUAL(cpt_path_sum_ns(path), 1000 * (uint64_t)MS);
    CU_ASSERT_EQUAL(cpt_path_flags(path), CPT_PATH_INCOMPLETE);
    CU_ASSERT_TRUE(counter(pair.a, "lost_events", NULL) > 0);
    cpt_manual_free(manual, 200);
    close_pair();
}

/* Whichever allocation is refused, the request goes on, and no memory leaks. */
static void test_without_memory(void)
{
    const struct cpt_manual_failure why = {
        .struct_bytes = sizeof why, .method = cpt_bytes_of("/"), .sentence = "why"};
    struct failing_alloc failing;
    size_t call_count = 1;

    for (size_t refused = 0; refused <= call_count; refused++) {
        struct cpt_service_options options = always;
        struct cpt_manual_call *call = NULL;
        struct cpt_manual *manual = NULL;
        const struct cpt_inbound inbound = inbound_with("1");

        failing_alloc_init(&failing, 0);
        virtual_init(&now, 0);
        options.struct_bytes = sizeof options;
        options.name = "A";
        options.clock = &now.clock;
        options.alloc = &failing.alloc;
        options.notify = note;
        pair.a = cpt_service_new(&options, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(pair.a);
        failing_alloc_init(&failing, 0);
        failing.refused_call = refused;
        manual = cpt_manual_new(pair.a, &inbound);
        cpt_manual_enter(manual, "part");
        call = cpt_manual_call_begin(manual, "B: /look");
        cpt_manual_wait_begin(manual);
        spend(1);
        cpt_manual_call_end(manual, call, NULL);
        cpt_manual_wait_end(manual);
        cpt_manual_set_text(manual, "arm", "control");
        cpt_manual_leave(manual);
        (void)cpt_manual_end(manual);
        cpt_manual_fail(manual, pair.a, &why);
        cpt_manual_free(manual, 500);
        CU_ASSERT_EQUAL(counter(pair.a, "failed", NULL), 1);
        CU_ASSERT_EQUAL(atomic_load(&failing.live_count), 0);
        call_count = refused == 0 ? atomic_load(&failing.call_count) : call_count;
        atomic_store(&failing.live_count, 100); /* the service was made before */
        cpt_service_free(pair.a);
    }
    CU_ASSERT_TRUE(call_count > 3);
}

extern CU_TestInfo cpt_manual_tests[];
CU_TestInfo cpt_manual_tests[] = {
    {"parts within parts, and the record", test_parts},
    {"one request after another", test_one_after_another},
    {"parts that are open at the end are closed", test_end},
    {"what is answered over gRPC", test_answered},
    {"the start of a record", test_start_of_record},
    {"one request after the other", test_one_after_the_other},
    {"an arrival in the future", test_arrival_to_come},
    {"a request that waited before it was stamped", test_waited_before},
    {"an untraced request reads no clock", test_untraced},
    {"calls of an untraced request carry its context", test_carrying},
    {"… with the kill switch only what came", test_carrying_while_stopped},
    {"calls without a path", test_calls_without_a_path},
    {"several calls at once, and waits", test_several_calls},
    {"calls and parts within a wait", test_within_a_wait},
    {"calls a service of the framework", test_calls_a_graph},
    {"is called by one", test_is_called_by_a_graph},
    {"a part that sleeps is off the processor", test_off_cpu},
    {"why a request failed is told", test_failure_is_told},
    {"… and of one that is not traced", test_failure_of_an_untraced_request},
    {"… whatever its answer is", test_failure_with_another_status},
    {"above the memory limit parts are lost, not time", test_memory_limit},
    {"without memory", test_without_memory},
    CU_TEST_INFO_NULL,
};
