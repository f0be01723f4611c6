/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_slack.c - how late requests may be: what callers say, what is used of it, and
 * what callees are sent */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_calls.h"
#include "framework/run/slack.h"

#include <string.h>

/* --- What a header says --- */

static void test_slack_text(void)
{
    static const struct {
        const char *text;
        cpt_status status;
        uint64_t ns;
    } rows[] = {
        {"1", CPT_OK, 1000},
        {"0", CPT_OK, 0},
        {"250000", CPT_OK, 250 * (uint64_t)MS},
        {"86400000001", CPT_OK, UINT64_C(86400000000000)}, /* a day, at most */
        {"999999999999999", CPT_OK, UINT64_C(86400000000000)},
        {"9999999999999999", CPT_CORRUPT, 0},
        {"18446744073709551616", CPT_CORRUPT, 0},
        {"", CPT_CORRUPT, 0},
        {"-1", CPT_CORRUPT, 0},
        {"1.5", CPT_CORRUPT, 0},
        {" 1", CPT_CORRUPT, 0},
        {"several", CPT_CORRUPT, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t ns = 1;

        CU_ASSERT_EQUAL(cpti_slack_parse(cpt_bytes_of(rows[i].text), &ns),
                        rows[i].status);
        CU_ASSERT_EQUAL(ns, rows[i].ns);
    }
}

/* --- Whose it is --- */

static uint64_t slack_ns; /* that a task has seen */

static cpt_status look(struct cpt_task *task)
{
    slack_ns = cpt_task_slack_ns(task);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static const struct cpt_task_def look_rows[] = {
    {"look", look, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph look_graph = {"A", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), look_rows, 1};

/* What the task sees of @text, in us, that @peer sends to a service of @options. */
static uint64_t seen_us(struct cpt_service_options options, const char *text,
                        const char *peer, const char *counted)
{
    static const char *const names[] = {"slack_requests", "refused_slacks",
                                        "untrusted_slacks"};
    struct cpt_plan *plan = cpt_plan_new(&look_graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);

    open_pair(never, never);
    cpt_service_free(pair.a);
    pair.a = make_service(options, "A", "/", plan);
    inbound.peer_address = cpt_bytes_of(peer);
    if (text != NULL) {
        inbound.slack = cpt_bytes_of(text);
    }
    CU_ASSERT_EQUAL(cpt_inbound_needs_trust(&inbound), text != NULL);
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CU_ASSERT_EQUAL(counter(pair.a, names[i], NULL),
                        strcmp(names[i], counted) == 0);
    }
    close_pair();
    cpt_plan_free(plan);
    return slack_ns / 1000;
}

static void test_who_is_heeded(void)
{
    const struct cpt_service_options off = {.probability = -1};
    struct cpt_service_options on = {.probability = -1,
                                     .slack_wait_ns_max = 5 * (uint64_t)MS};
    const char *here = "127.0.0.1";
    const char *stranger = "192.0.2.1";

    CU_ASSERT_EQUAL(seen_us(on, NULL, here, ""), 0);
    CU_ASSERT_EQUAL(seen_us(on, "70000", here, "slack_requests"), 70000);
    CU_ASSERT_EQUAL(seen_us(on, "0", here, ""), 0);
    CU_ASSERT_EQUAL(seen_us(on, "7x", here, "refused_slacks"), 0);
    CU_ASSERT_EQUAL(seen_us(on, "", here, "refused_slacks"), 0);
    CU_ASSERT_EQUAL(seen_us(on, "70000", stranger, "untrusted_slacks"), 0);
    CU_ASSERT_EQUAL(seen_us(off, "70000", here, ""), 0);
    CU_ASSERT_EQUAL(seen_us(off, "7x", here, ""), 0);
    on.timeout_ns = 100 * (uint64_t)MS; /* half of it is for the work itself */
    CU_ASSERT_EQUAL(seen_us(on, "70000", here, "slack_requests"), 50000);
    on.role = CPT_ROLE_INNER;
    CU_ASSERT_EQUAL(seen_us(on, "70", stranger, "slack_requests"), 70);
}

/* --- What callees are sent --- */

static struct {
    uint64_t own_ns;     /* of the first call */
    uint64_t set_ns;     /* cpt_task_set_slack(); UINT64_MAX: it is not called */
    uint64_t sent_ns[2]; /* with the first call, and with the one after it */
    uint64_t left_ns;    /* after both */
    struct cpt_pending *call;
} travel;

static cpt_status called_again(struct cpt_task *task)
{
    travel.left_ns = cpt_task_slack_ns(task);
    cpt_output(task, rpc_reply)->body = cpt_bytes_of("page");
    return CPT_OK;
}

static cpt_status called(struct cpt_task *task)
{
    travel.call = cpt_call(task, &b_stub, cpt_bytes_of("more"));
    travel.sent_ns[1] = net.last_slack_ns;
    return cpt_await(task, travel.call, called_again);
}

static cpt_status call_twice(struct cpt_task *task)
{
    const struct cpt_call_request request = {.struct_bytes = sizeof request,
                                             .slack_ns = travel.own_ns};

    if (travel.set_ns != UINT64_MAX) {
        cpt_task_set_slack(task, travel.set_ns);
    }
    travel.call = cpt_call_with(task, &b_stub, &request);
    travel.sent_ns[0] = net.last_slack_ns;
    return cpt_await(task, travel.call, called);
}

static const struct cpt_task_def call_rows[] = {
    {"call", call_twice, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph call_graph = {"A", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), call_rows, 1};

/* A call takes 7 ms: 1 there, 5, 1 back. */
static void send(struct cpt_service_options options, const char *text, uint64_t own_ns,
                 uint64_t set_ns)
{
    struct cpt_plan *plan = cpt_plan_new(&call_graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);

    open_pair(never, never);
    cpt_service_free(pair.a);
    pair.a = make_service(options, "A", "/", plan);
    travel.own_ns = own_ns;
    travel.set_ns = set_ns;
    if (text != NULL) {
        inbound.slack = cpt_bytes_of(text);
    }
    ask(pair.a, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    close_pair();
    cpt_plan_free(plan);
}

static void check_sent(uint64_t first_ms, uint64_t second_ms, uint64_t left_ms)
{
    CU_ASSERT_EQUAL(travel.sent_ns[0], first_ms * (uint64_t)MS);
    CU_ASSERT_EQUAL(travel.sent_ns[1], second_ms * (uint64_t)MS);
    CU_ASSERT_EQUAL(travel.left_ns, left_ms * (uint64_t)MS);
}

/* Each hop takes off what it used, and a call at most its time. */
static void test_slack_travels(void)
{
    const struct cpt_service_options on = {.probability = -1,
                                           .slack_wait_ns_max = 5 * (uint64_t)MS};
    const struct cpt_service_options off = {.probability = -1};
    struct cpt_service_options brief = on;

    send(on, "20000", 0, UINT64_MAX);
    check_sent(20, 13, 6);
    send(on, "4000", 0, UINT64_MAX); /* the callee may have used all of it */
    check_sent(4, 0, 0);
    send(on, "20000", 3 * (uint64_t)MS,
         UINT64_MAX); /* 3 ms of the call are not the request's */
    check_sent(23, 16, 9);
    send(on, NULL, 3 * (uint64_t)MS, UINT64_MAX);
    check_sent(3, 0, 0);
    send(on, NULL, 0, 10 * (uint64_t)MS); /* the program knows */
    check_sent(10, 3, 0);
    send(off, "20000", 0, 10 * (uint64_t)MS);
    check_sent(0, 0, 0);
    send(off, "20000", 3 * (uint64_t)MS, UINT64_MAX);
    check_sent(3, 0, 0);
    brief.timeout_ns = 30 * (uint64_t)MS;
    send(brief, NULL, UINT64_MAX, UINT64_MAX); /* half of its time is for the work */
    check_sent(15, 0, 0);
}

/* --- What waits, and what it uses --- */

/* An executor with two lanes, whose second takes 4 ms. */
static struct cpt_work *later;
static uint64_t later_ns; /* how long it may wait */

static void submit_later(struct cpt_executor *executor, struct cpt_work *work,
                         uint64_t wait_ns_max)
{
    (void)executor;
    later = work;
    later_ns = wait_ns_max;
}

static void run_later(uint64_t after_ns)
{
    struct cpt_work *work = later;

    later = NULL;
    now.now_ns += after_ns;
    if (work != NULL) {
        work->run(work);
    }
}

static void note_reply(void *context, const struct cpt_outbound *outbound)
{
    *(unsigned *)context = outbound->http_status;
}

/* A request waits for min(slack, limit), and takes off what it has waited. */
static void test_works_wait(void)
{
    const struct cpt_service_options on = {.probability = -1,
                                           .slack_wait_ns_max = 5 * (uint64_t)MS};
    struct cpt_plan *plan = cpt_plan_new(&look_graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);
    unsigned status = 0;

    open_pair(never, never);
    now.executor.submit_later = submit_later;
    cpt_service_free(pair.a);
    pair.a = make_service(on, "A", "/", plan);
    inbound.slack = cpt_bytes_of("20000");
    cpt_service_serve(pair.a, &inbound, note_reply, &status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(later);
    CU_ASSERT_EQUAL(later_ns, 5 * (uint64_t)MS);
    run_later(4 * (uint64_t)MS);
    CU_ASSERT_EQUAL(status, 200);
    CU_ASSERT_EQUAL(slack_ns, 16 * (uint64_t)MS);

    inbound.slack = cpt_bytes_of("3000");
    cpt_service_serve(pair.a, &inbound, note_reply, &status);
    CU_ASSERT_EQUAL(later_ns, 3 * (uint64_t)MS);
    run_later(9 * (uint64_t)MS); /* it was later than it should */
    CU_ASSERT_EQUAL(slack_ns, 0);

    inbound.slack.data = NULL;
    ask(pair.a, &inbound); /* in the first lane */
    CU_ASSERT_PTR_NULL(later);
    close_pair();
    cpt_plan_free(plan);
}

extern CU_TestInfo cpt_slack_tests[];
CU_TestInfo cpt_slack_tests[] = {
    {"cpt-slack", test_slack_text},
    {"who is heeded", test_who_is_heeded},
    {"each hop takes off what it used", test_slack_travels},
    {"works wait, and take off what they waited", test_works_wait},
    CU_TEST_INFO_NULL,
};
