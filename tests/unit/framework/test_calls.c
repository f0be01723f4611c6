/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_calls.c - callees without a path, deadlines, retries, hedges, counters */
#include "tests/unit/framework/service_pair.h"

#include "tests/support/failing_alloc.h"

#include "cpt/cpt_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Callees that return no valid path --- */

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

/* I5: a path that was not requested is not read. */
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

/* A late reply is ignored; its memory is still valid. */
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

/* A service that is freed too early remains until its last request has ended. */
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

/* Semantics 9: min(own, received), also if that is 0. */
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

static struct cpt_pending *a_first;
static int cancels_the_loser;

static cpt_status a_won(struct cpt_task *task)
{
    CU_ASSERT_EQUAL(cpt_pending_status(a_call), CPT_OK);
    if (cancels_the_loser) {
        cpt_cancel(a_first);
        CU_ASSERT_EQUAL(cpt_call_reply(a_first)->status, CPT_CANCELLED);
    }
    return a_answer(task);
}

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

/* Serves one request for method "/other" of A by a graph of the one task @run. */
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

/* --- How a call failed stands on the path --- */

/* The statuses on the answered path, in time order. */
static const char *statuses(void)
{
    static char text[256];
    struct cpt_path *path = cpt_path_new(NULL);

    text[0] = '\0';
    CU_ASSERT_EQUAL(
        cpt_metadata_decode(answer.metadata, answer.metadata_bytes, NULL, path, NULL),
        CPT_OK);
    for (size_t i = 0; i < cpt_path_label_count(path); i++) {
        const struct cpt_label *label = cpt_path_label(path, i);

        if (label->key == CPT_LABEL_STATUS) {
            const struct cpt_bytes name =
                cpt_path_name(path, (cpt_name_id)label->value);

            (void)snprintf(text + strlen(text), 32, "%.*s ", (int)name.bytes,
                           name.data);
        }
    }
    cpt_path_free(path);
    return text;
}

static cpt_status a_fails(struct cpt_task *task)
{
    a_call = cpt_call(task, &b_stub, cpt_bytes_of("fail"));
    return cpt_await(task, a_call, a_called);
}

static void answer_with(void *context, struct cpt_transport_reply *reply)
{
    *reply = *(const struct cpt_transport_reply *)context;
}

static void test_statuses_on_the_path(void)
{
    static const struct {
        struct cpt_transport_reply reply;
        const char *statuses;
    } rows[] = {
        {{.status = CPT_OK, .http_status = 200}, ""},
        {{.status = CPT_OK, .http_status = 404}, "404 "},
        {{.status = CPT_OK, .http_status = 503}, "503 "},
        {{.status = CPT_OK, .outcome = CPT_OUTCOME_INTERNAL}, "500 "},
        {{.outcome = CPT_OUTCOME_NOT_FOUND, .message = {"none", 4}}, "NOT_FOUND "},
        {{.outcome = CPT_OUTCOME_CANCELLED, .message = {"", 0}}, "CANCELLED "},
        {{.status = CPT_UNAVAILABLE}, "UNAVAILABLE "},
        {{.status = CPT_TIMEOUT}, "DEADLINE "},
        {{.status = CPT_IO}, "FAILED "},
    };

    open_pair(never, never);
    ask_other(a_fails); /* B's task fails */
    CU_ASSERT_STRING_EQUAL(statuses(), "500 ");
    close_pair();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_pair(never, never);
        net.tamper = answer_with;
        net.context = (void *)(uintptr_t)&rows[i].reply;
        ask_other(a_fails);
        CU_ASSERT_STRING_EQUAL(statuses(), rows[i].statuses);
        close_pair();
    }
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

/* The hedge wins: the wait for it has the callee's name; the loser is not on the path,
 * cancelled or not. */
static void hedge(int cancels)
{
    cancels_the_loser = cancels;
    open_pair(never, never);
    net.transport.send = hold_call;
    ask_other(a_race);
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_STRING_EQUAL(
        answered_path(),
        "A: /other;A: ask;B: /look;B: ‹hedge wait› 4, "
        "A: /other;A: ask;B: /look;B: look 5, "
        "A: /other;A: ask;B: /look;B: ‹network+serialization› 2, A: /other;A: ask 3");
    CU_ASSERT_EQUAL(counter(pair.a, "callee_calls", "B: /look"), 2);
    CU_ASSERT_EQUAL(counter(pair.a, "callee_cancelled", "B: /look"),
                    (uint64_t)(cancels != 0));
    CU_ASSERT_EQUAL(counter(pair.a, "callee_timeouts", "B: /look"), 0);
    close_pair();
}

static void test_hedge(void)
{
    hedge(0);
    hedge(1);
}

/* A callee cannot make a counter wrap. */
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
    CU_ASSERT_STRING_EQUAL(answer.body, "the request failed\n"); /* no path within it */
    CU_ASSERT_STRING_EQUAL(answered_path(), "B: /look;B: look 5");
    CU_ASSERT_EQUAL(counter(pair.b, "failed", NULL), 1);
    inbound.method = cpt_bytes_of("/nowhere");
    ask(pair.b, &inbound);
    CU_ASSERT_EQUAL(answer.http_status, 404);
    CU_ASSERT_EQUAL(counter(pair.b, "unknown_methods", NULL), 1);
    close_pair();
}

/* The sentence of the last notice. */
static char noticed[256];

static void keep_notice(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)snprintf(noticed, sizeof noticed, "%.*s", (int)notice->sentence.bytes,
                   notice->sentence.data);
}

/* --- Outcomes --- */

static struct cpt_rpc_reply given;     /* what the method of A replies */
static struct cpt_call_reply received; /* what the task of A got as B's reply */

static cpt_status a_replies(struct cpt_task *task)
{
    received = *cpt_call_reply(a_call);
    *cpt_output(task, rpc_reply) = given;
    return CPT_OK;
}

static cpt_status a_calls(struct cpt_task *task)
{
    a_call = cpt_call(task, &b_stub, cpt_bytes_of(""));
    return cpt_await(task, a_call, a_replies);
}

static const struct cpt_task_def outcome_tasks[] = {
    {"ask", a_calls, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};
static const struct cpt_graph outcome_graph = {"A", CPT_GIVES(rpc_request),
                                               CPT_GIVES(rpc_reply), outcome_tasks, 1};

/* What the transport reports as B's reply; status CPT_OK. */
static struct cpt_transport_reply said;

static void say(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    reply->status = said.status;
    reply->http_status = said.http_status;
    reply->outcome = said.outcome;
}

/* The method replies with @outcome and @http_status; both reach the transport. */
static void check_answer(unsigned outcome, unsigned http_status,
                         unsigned expected_outcome, unsigned expected_http_status)
{
    given = (struct cpt_rpc_reply){.outcome = outcome, .http_status = http_status};
    ask_a(NULL);
    CU_ASSERT_EQUAL(answer.outcome, expected_outcome);
    CU_ASSERT_EQUAL(answer.http_status, expected_http_status);
}

/* The transport completes the call with @reply; the task gets the rest. */
static void check_call(struct cpt_transport_reply reply, unsigned expected_outcome,
                       unsigned expected_http_status)
{
    said = reply;
    ask_a(NULL);
    CU_ASSERT_EQUAL(received.status, reply.status);
    CU_ASSERT_EQUAL(received.outcome, expected_outcome);
    CU_ASSERT_EQUAL(received.http_status, expected_http_status);
}

static void test_outcomes(void)
{
    struct cpt_plan *plan = cpt_plan_new(&outcome_graph, NULL, NULL);

    for (unsigned i = CPT_OUTCOME_OK; i <= CPT_OUTCOME_UNAUTHENTICATED; i++) {
        const unsigned http_status = cpt_outcome_http_status(i);

        CU_ASSERT_EQUAL(
            cpt_outcome_http_status(cpt_outcome_of_http_status(http_status)),
            http_status);
    }
    CU_ASSERT_EQUAL(cpt_outcome_http_status(CPT_OUTCOME_UNAUTHENTICATED + 1), 500);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(302), CPT_OUTCOME_OK);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(418), CPT_OUTCOME_INVALID_ARGUMENT);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(429), CPT_OUTCOME_RESOURCE_EXHAUSTED);
    CU_ASSERT_EQUAL(cpt_outcome_of_http_status(599), CPT_OUTCOME_UNKNOWN);
    open_pair(never, never);
    cpt_service_free(pair.a);
    pair.a = make_service(never, "A", "/", plan);
    net.tamper = say;
    check_answer(0, 0, CPT_OUTCOME_OK, 200);
    check_answer(0, 404, CPT_OUTCOME_NOT_FOUND, 404); /* as programs of 0.1 do */
    check_answer(CPT_OUTCOME_ABORTED, 0, CPT_OUTCOME_ABORTED, 409);
    check_answer(CPT_OUTCOME_ABORTED, 423, CPT_OUTCOME_ABORTED, 423);
    check_call((struct cpt_transport_reply){.http_status = 403},
               CPT_OUTCOME_PERMISSION_DENIED, 403); /* as transports of 0.1 do */
    check_call((struct cpt_transport_reply){.http_status = 0}, CPT_OUTCOME_OK, 0);
    check_call((struct cpt_transport_reply){.outcome = CPT_OUTCOME_DATA_LOSS},
               CPT_OUTCOME_DATA_LOSS, 500);
    check_call((struct cpt_transport_reply){.status = CPT_UNAVAILABLE},
               CPT_OUTCOME_UNAVAILABLE, 0);
    check_call((struct cpt_transport_reply){.status = CPT_TIMEOUT},
               CPT_OUTCOME_DEADLINE_EXCEEDED, 0);
    close_pair();
    cpt_plan_free(plan);
}

/* --- A stub that was given no transport --- */

static cpt_status a_calls_nobody(struct cpt_task *task)
{
    static const struct cpt_stub bare = {.name = "B: /look", .method = "/look"};

    a_call = cpt_call(task, &bare, cpt_bytes_of(""));
    return cpt_await(task, a_call, a_replies);
}

static const struct cpt_task_def bare_tasks[] = {
    {"ask", a_calls_nobody, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph bare_graph = {"A", CPT_GIVES(rpc_request),
                                            CPT_GIVES(rpc_reply), bare_tasks, 1};

/* The call fails, with a sentence for the operator; the process goes on. */
static void test_bare_stub(void)
{
    struct cpt_service_options told = never;
    struct cpt_plan *plan = cpt_plan_new(&bare_graph, NULL, NULL);

    told.notify = keep_notice;
    open_pair(never, never);
    cpt_service_free(pair.a);
    pair.a = make_service(told, "A", "/", plan);
    given = (struct cpt_rpc_reply){.outcome = CPT_OUTCOME_INTERNAL};
    ask_a("1");
    CU_ASSERT_EQUAL(received.status, CPT_INVALID);
    CU_ASSERT_EQUAL(answer.outcome, CPT_OUTCOME_INTERNAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(noticed, "its stub has no transport"));
    close_pair();
    cpt_plan_free(plan);
}

/* Budgets too small for the sum: no header; the request is otherwise normal. */
static void test_tiny_budget(void)
{
    open_pair(never, never);
    ask_a("1;max=1");
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(answer.metadata_bytes, 0);
    CU_ASSERT_EQUAL(counter(pair.a, "unreturned_paths", NULL), 1);
    close_pair();
}

/* --- Replies that are not on the path --- */

static struct {
    struct cpt_pending *calls[3];
    int reply_count;
    size_t bytes;        /* of all paths */
    size_t needed_bytes; /* of that of the slowest call, the second to begin */
} three;

/* Replies come by their time: 3, 5 and 9 ms. All but the last get a path that would be
 * refused, if it were looked at. */
static void spoil(void *context, struct cpt_transport_reply *reply)
{
    (void)context;
    three.reply_count++;
    if (three.reply_count < 3) {
        reply->metadata = cpt_bytes_of("this is no path at all");
    } else {
        three.needed_bytes = reply->metadata.bytes;
    }
    three.bytes += reply->metadata.bytes;
}

static cpt_status a_call_three(struct cpt_task *task)
{
    static const char *const ms[] = {"5", "9", "3"};

    for (int i = 0; i < 3; i++) {
        three.calls[i] = cpt_call(task, &work_stub, cpt_bytes_of(ms[i]));
    }
    return cpt_await_all(task, a_answer);
}

static void test_replies_off_the_path_are_not_decoded(void)
{
    const struct cpt_task_def tasks[] = {{"ask",
                                          a_call_three,
                                          CPT_GIVES(rpc_reply),
                                          CPT_NEEDS(rpc_request),
                                          {NULL},
                                          NULL}};
    const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request), CPT_GIVES(rpc_reply),
                                    tasks, 1};

    memset(&three, 0, sizeof three);
    open_pair(never, never);
    serve_work();
    net.tamper = spoil;
    ask_graph("/three", &graph);
    CU_ASSERT_STRING_EQUAL(
        answered_path(),
        "A: /three;A: ask;B: /work;B: work;B: disk 9, A: /three;A: ask 3");
    CU_ASSERT_EQUAL(three.reply_count, 3);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "undecodable"), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "reply_paths", NULL), 3);
    CU_ASSERT_EQUAL(counter(pair.a, "reply_path_bytes", NULL), three.bytes);
    CU_ASSERT_EQUAL(counter(pair.a, "decoded_paths", NULL), 1);
    CU_ASSERT_EQUAL(counter(pair.a, "decoded_path_bytes", NULL), three.needed_bytes);
    close_pair();
}

CU_TestInfo cpt_calls_tests[] = {
    {"semantics 4, 7: callees without a path", test_blind_spots},
    {"I5: an unrequested path is ignored", test_unrequested_path_is_ignored},
    {"an unreachable callee", test_unreachable_callee},
    {"a call that its caller abandons", test_call_given_up},
    {"a service that is freed too early", test_service_outlives_its_owner},
    {"semantics 4: a retry and its back-off", test_retry},
    {"how a call failed is a label", test_statuses_on_the_path},
    {"semantics 4: a hedge that wins", test_hedge},
    {"semantics 9: the budget goes down", test_budget_goes_down},
    {"an overcount does not wrap", test_overcount_does_not_wrap},
    {"a failing callee", test_failing_callee},
    {"outcomes and statuses of HTTP", test_outcomes},
    {"a stub without a transport", test_bare_stub},
    {"a budget too small for the sum", test_tiny_budget},
    {"replies off the path are not decoded", test_replies_off_the_path_are_not_decoded},
    CU_TEST_INFO_NULL,
};
