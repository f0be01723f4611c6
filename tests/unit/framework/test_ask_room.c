/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_ask_room.c - a call whose other headers leave no room goes out without an ask */
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_manual.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What the other headers of a request may have, by cpt_ask_has_room(). */
enum {
    BYTES_MAX = CPT_HEADERS_BYTES_REQUEST - CPT_HEADERS_BYTES_RESERVED -
                CPT_HEADERS_BYTES_LIBRARY - CPT_HEADERS_BYTES_ASK,
    COUNT_MAX = 44,
    FIELDS_MAX = 64,
    TARGET_BYTES = sizeof "/look" - 1,
    AROUND = 32
};

static char text[2 * CPT_HEADERS_BYTES_REQUEST];
static size_t trace_bytes; /* of the trace context of the last call, and how many */
static size_t trace_count;

static void listen(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    trace_bytes = sizeof CPT_HEADER_TRACEPARENT - 1 + call->traceparent.bytes + AROUND;
    trace_count = 1;
    CU_ASSERT_EQUAL(call->traceparent.bytes, CPT_TRACEPARENT_BYTES);
    CU_ASSERT_EQUAL(call->tracestate.bytes, 0);
    loopback_send(transport, call);
}

/* The path of the answer has B's, or a blind spot, which is counted. */
static void expect(bool is_asked, uint64_t *blind_count)
{
    *blind_count += !is_asked;
    CU_ASSERT_STRING_EQUAL(answer.body, "page");
    CU_ASSERT_EQUAL(net.last_ask.data != NULL, is_asked);
    CU_ASSERT_EQUAL(net.last_nonce[0] != '\0', is_asked);
    CU_ASSERT_EQUAL(strstr(answered_path(), "B: look 5") != NULL, is_asked);
    CU_ASSERT_EQUAL(strstr(answered_path(), "blind spot") == NULL, is_asked);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "limit"), *blind_count);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "shared"), 0);
}

static void open_listening(void)
{
    memset(text, 'x', sizeof text);
    open_pair(never, never);
    net.transport.send = listen;
}

/* --- Headers that are passed on --- */

static void test_what_is_passed_on(void)
{
    struct cpt_field baggage = {cpt_bytes_of("baggage"), {text, 0}};
    struct cpt_inbound inbound = inbound_with("1");
    uint64_t blind_count = 0;

    open_listening();
    ask_a("1");
    expect(true, &blind_count);
    inbound.headers = &baggage;
    inbound.header_count = 1;
    for (size_t more = 0; more < 3; more++) {
        baggage.value.bytes =
            BYTES_MAX - TARGET_BYTES - trace_bytes - (7 + AROUND) - 1 + more;
        ask(pair.a, &inbound);
        expect(more < 2, &blind_count);
    }
    baggage.value.bytes = CPT_BAGGAGE_BYTES_MAX;
    ask(pair.a, &inbound);
    expect(false, &blind_count);
    ask_a("1"); /* the next one is asked again */
    expect(true, &blind_count);
    close_pair();
}

/* --- Headers of the program --- */

static struct cpt_field own[FIELDS_MAX];
static size_t own_count;

static cpt_status call_b(struct cpt_task *task)
{
    const struct cpt_call_request request = {
        .struct_bytes = sizeof request, .headers = own, .header_count = own_count};

    a_call = cpt_call_with(task, &b_stub, &request);
    return cpt_await(task, a_call, a_called);
}

static const struct cpt_task_def tasks[] = {
    {"call", call_b, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request), {NULL}, NULL}};

static void test_of_the_program(void)
{
    static const struct cpt_graph graph = {"A", CPT_GIVES(rpc_request),
                                           CPT_GIVES(rpc_reply), tasks, 1};
    struct cpt_plan *plan = cpt_plan_new(&graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with("1");
    uint64_t blind_count = 0;

    open_listening();
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/own", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/own");
    for (size_t i = 0; i < FIELDS_MAX; i++) {
        own[i] = (struct cpt_field){cpt_bytes_of("x-own"), {text, 1}};
    }
    ask_a("1"); /* what is its trace context? */
    expect(true, &blind_count);
    for (own_count = COUNT_MAX - trace_count - 1; own_count <= FIELDS_MAX;
         own_count += own_count <= COUNT_MAX ? 1 : 10) {
        ask(pair.a, &inbound);
        expect(own_count + trace_count <= COUNT_MAX, &blind_count);
    }
    own_count = 1;
    own[0].value.bytes = 8100;
    ask(pair.a, &inbound);
    expect(false, &blind_count);
    close_pair();
    cpt_plan_free(plan);
}

/* --- Requests that are told by hand --- */

static void test_by_hand(void)
{
    const struct cpt_inbound inbound = inbound_with("1;forced");
    const struct cpt_manual_reply reply = {.status = CPT_OK};
    struct cpt_manual *manual = NULL;
    struct cpt_manual_call *call = NULL;

    open_pair(never, never);
    manual = cpt_manual_new(pair.a, &inbound);
    call = cpt_manual_call_begin(manual, "B: /look");
    CU_ASSERT_TRUE(cpt_manual_call_ask_beside(manual, call, BYTES_MAX, 0).bytes > 0);
    CU_ASSERT_TRUE(cpt_manual_call_nonce(manual, call).bytes > 0);
    cpt_manual_call_end(manual, call, &reply);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "unsupported"), 1);
    call = cpt_manual_call_begin(manual, "B: /look");
    CU_ASSERT_EQUAL(cpt_manual_call_ask_beside(manual, call, BYTES_MAX + 1, 0).bytes,
                    0);
    CU_ASSERT_EQUAL(cpt_manual_call_nonce(manual, call).bytes, 0);
    cpt_manual_call_end(manual, call, &reply);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "limit"), 1);
    call = cpt_manual_call_begin(manual, "B: /look");
    CU_ASSERT_EQUAL(cpt_manual_call_ask_beside(manual, call, 0, COUNT_MAX + 1).bytes,
                    0);
    /* one that is asked after all, with fewer of them */
    CU_ASSERT_TRUE(cpt_manual_call_ask_beside(manual, call, 0, COUNT_MAX).bytes > 0);
    CU_ASSERT_TRUE(cpt_manual_call_nonce(manual, call).bytes > 0);
    cpt_manual_call_end(manual, call, &reply);
    CU_ASSERT_EQUAL(counter(pair.a, "blind_spots", "limit"), 1);
    CU_ASSERT_EQUAL(cpt_manual_call_ask_beside(NULL, NULL, 0, 0).bytes, 0);
    (void)cpt_manual_end(manual);
    cpt_manual_free(manual, 200);
    close_pair();
}

CU_TestInfo cpt_ask_room_tests[] = {
    {"headers that are passed on leave no room for an ask", test_what_is_passed_on},
    {"nor do those of the program", test_of_the_program},
    {"nor where a path is told by hand", test_by_hand},
    CU_TEST_INFO_NULL,
};
