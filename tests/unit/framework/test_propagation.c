/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_propagation.c - B3 and baggage go through a service as they came */
#include "tests/support/failing_alloc.h"
#include "tests/unit/framework/service_pair.h"

#include "framework/cpt_calls.h"
#include "framework/cpt_manual.h"
#include "framework/cpt_shared.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRACE_ID "80f198ee56343ba864fe8b2a57d3eff7"

enum { SENT_BYTES = 3 * CPT_BAGGAGE_BYTES_MAX };

/* The headers of the last call: "name: value|". */
static char sent[SENT_BYTES];

static void listen(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    size_t bytes = 0;

    sent[0] = '\0';
    for (size_t i = 0; i < call->header_count; i++) {
        const struct cpt_field *field = &call->headers[i];

        CU_ASSERT_TRUE(cpt_call_field_is_sendable(field));
        bytes += (size_t)snprintf(sent + bytes, sizeof sent - bytes, "%.*s: %.*s|",
                                  (int)field->name.bytes, field->name.data,
                                  (int)field->value.bytes, field->value.data);
    }
    loopback_send(transport, call);
}

static void open_listening(struct cpt_service_options a)
{
    open_pair(a, never);
    net.transport.send = listen;
    sent[0] = '\0';
}

static const char *ask_with(const struct cpt_field *fields, size_t count)
{
    struct cpt_inbound inbound = inbound_with(NULL);

    inbound.headers = fields;
    inbound.header_count = count;
    ask(pair.a, &inbound);
    CU_ASSERT_STRING_EQUAL(answer.body, "page");
    return sent;
}

#define FIELD(name, value)                                                             \
    {                                                                                  \
        {name, sizeof name - 1},                                                       \
        {                                                                              \
            value, sizeof value - 1                                                    \
        }                                                                              \
    }
#define COUNT(fields) (sizeof(fields) / sizeof(fields)[0])

static const struct cpt_field whole[] = {
    FIELD("Accept", "*/*"),
    FIELD("X-B3-TraceId", TRACE_ID),
    FIELD("X-B3-SpanId", "e457b5a2e4d86bd1"),
    FIELD("X-B3-ParentSpanId", "05e3ac9a4f6e3b90"),
    FIELD("X-B3-Sampled", "0"),
    FIELD("X-B3-Flags", "1"),
    FIELD("b3", TRACE_ID "-e457b5a2e4d86bd1-d-05e3ac9a4f6e3b90"),
    FIELD("baggage", "user=7;private , region=eu%2Cwest"),
    FIELD("x-b3-other", "1"),
    FIELD("b3x", "1"),
};
static const char whole_sent[] =
    "baggage: user=7;private , region=eu%2Cwest|"
    "b3: " TRACE_ID "-e457b5a2e4d86bd1-d-05e3ac9a4f6e3b90|"
    "X-B3-TraceId: " TRACE_ID "|X-B3-SpanId: e457b5a2e4d86bd1|X-B3-Sampled: 0|"
    "X-B3-ParentSpanId: 05e3ac9a4f6e3b90|X-B3-Flags: 1|";

static void test_as_they_came(void)
{
    static const struct cpt_service_options *const services[] = {&never, &always};

    for (unsigned i = 0; i < 8; i++) { /* traced or not, of both roles, switched off */
        struct cpt_service_options options = *services[i & 1];

        options.role = (i & 2) != 0 ? CPT_ROLE_INNER : CPT_ROLE_ENTRY;
        open_listening(options);
        cpt_service_enable(pair.a, (i & 4) == 0);
        CU_ASSERT_STRING_EQUAL(ask_with(whole, COUNT(whole)), whole_sent);
        CU_ASSERT_STRING_EQUAL(ask_with(whole, 1), "");
        CU_ASSERT_STRING_EQUAL(ask_with(NULL, 0), "");
        CU_ASSERT_EQUAL(counter(pair.a, "refused_propagated", NULL), 0);
        close_pair();
    }
}

/* --- Whose --- */

static void test_of_strangers(void)
{
    static const char *const no_network[] = {NULL};
    static const char *const people[] = {"192.0.2.0/24", "dns:tools.shop", NULL};
    static const struct {
        unsigned role;
        const char *peer;
        const char *name;  /* of a certificate */
        const char *other; /* a header beside */
        int is_forwarded;  /* the transport says so */
        int trusts_forwarded;
        bool goes_on;
    } cases[] = {
        {CPT_ROLE_ENTRY, "192.0.2.1", NULL, NULL, 0, 0, true},
        {CPT_ROLE_ENTRY, "192.0.3.1", NULL, NULL, 0, 0, false},
        {CPT_ROLE_ENTRY, "", NULL, NULL, 0, 0, false},
        {CPT_ROLE_ENTRY, "", "dns:tools.shop", NULL, 0, 0, true},
        {CPT_ROLE_ENTRY, "192.0.2.1", NULL, NULL, 1, 0, false},
        {CPT_ROLE_ENTRY, "192.0.2.1", NULL, NULL, 1, 1, true},
        {CPT_ROLE_ENTRY, "192.0.2.1", NULL, "X-Forwarded-For", 0, 0, false},
        {CPT_ROLE_ENTRY, "192.0.2.1", NULL, "Via", 0, 1, true},
        {CPT_ROLE_INNER, "192.0.3.1", NULL, "Via", 1, 0, true},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cpt_service_options options = never;
        const struct cpt_bytes name =
            cpt_bytes_of(cases[i].name != NULL ? cases[i].name : "");
        struct cpt_inbound inbound = inbound_with(NULL);
        struct cpt_field fields[2] = {FIELD("baggage", "user=7")};

        options.role = cases[i].role;
        options.trusted_networks = people;
        options.trusts_forwarded = cases[i].trusts_forwarded;
        open_listening(options);
        fields[1].name = cpt_bytes_of(cases[i].other != NULL ? cases[i].other : "X");
        inbound.headers = fields;
        inbound.header_count = 2;
        inbound.is_forwarded = cases[i].is_forwarded;
        inbound.peer_address = cpt_bytes_of(cases[i].peer);
        inbound.peer_names = &name;
        inbound.peer_name_count = cases[i].name != NULL;
        CU_ASSERT_TRUE(cpt_inbound_needs_trust(&inbound));
        ask(pair.a, &inbound);
        CU_ASSERT_STRING_EQUAL(sent, cases[i].goes_on ? "baggage: user=7|" : "");
        CU_ASSERT_EQUAL(counter(pair.a, "untrusted_propagated", NULL),
                        !cases[i].goes_on);
        CU_ASSERT_EQUAL(cpt_service_set_trust(pair.a, no_network, NULL), CPT_OK);
        ask(pair.a, &inbound);
        CU_ASSERT_STRING_EQUAL(
            sent, cases[i].role == CPT_ROLE_INNER ? "baggage: user=7|" : "");
        close_pair();
    }
}

/* --- Several, malformed, too large --- */

static void test_joined_baggage(void)
{
    static const struct {
        const char *lines[3];
        const char *sent;
        unsigned refused;
    } cases[] = {
        {{"a=1", "b=2;p , c=3", "d=4"}, "baggage: a=1,b=2;p,c=3,d=4|", 0},
        {{"a=1", "", " ,, "}, "baggage: a=1|", 0},
        {{"a=1", "a=2"}, "baggage: a=1,a=2|", 0},
        {{"a=1,,b=2"}, "baggage: a=1,,b=2|", 0},
        {{"a=1\t,\tb = 2"}, "baggage: a=1,b = 2|", 0},
        {{"a=1\r\nEvil: 1,b=2"}, "baggage: b=2|", 1},
        {{"a=1\n", "b=2"}, "baggage: b=2|", 1},
        {{"a=\xc3\xa4,b=2"}, "baggage: b=2|", 1},
        {{"\x7f"}, "", 1},
        {{"", ""}, "", 0},
    };

    open_listening(never);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cpt_field fields[3];
        const uint64_t before = counter(pair.a, "refused_propagated", NULL);
        size_t count = 0;

        for (size_t n = 0; n < 3 && cases[i].lines[n] != NULL; n++) {
            fields[count++] = (struct cpt_field){cpt_bytes_of("Baggage"),
                                                 cpt_bytes_of(cases[i].lines[n])};
        }
        (void)ask_with(fields, count);
        if (sent[0] == 'B') {
            sent[0] = 'b';
        }
        CU_ASSERT_STRING_EQUAL(sent, cases[i].sent);
        CU_ASSERT_EQUAL(counter(pair.a, "refused_propagated", NULL),
                        before + cases[i].refused);
    }
    close_pair();
}

/* At the limits of its standard baggage goes on to the byte, also next to them; beyond,
 * whole members are left out. */
static void test_limits_of_baggage(void)
{
    static char text[CPT_BAGGAGE_BYTES_MAX + 2];
    struct cpt_field field = {cpt_bytes_of("baggage"), {text, 0}};
    const size_t head = sizeof "baggage: |" - 1;

    open_listening(never);
    for (size_t bytes = CPT_BAGGAGE_BYTES_MAX - 1; bytes <= CPT_BAGGAGE_BYTES_MAX + 1;
         bytes++) {
        memset(text, 'a', bytes);
        memcpy(text, "a=1,b=", 6);
        field.value.bytes = bytes;
        (void)ask_with(&field, 1);
        CU_ASSERT_EQUAL(strlen(sent) - head,
                        bytes <= CPT_BAGGAGE_BYTES_MAX ? bytes : 3);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "refused_propagated", NULL), 1);
    for (size_t members = CPT_BAGGAGE_MEMBERS_MAX - 1;
         members <= CPT_BAGGAGE_MEMBERS_MAX + 1; members++) {
        for (size_t i = 0; i < members; i++) {
            memcpy(text + 4 * i, "a=1,", 4);
        }
        field.value.bytes = 4 * members - 1;
        (void)ask_with(&field, 1);
        CU_ASSERT_EQUAL(strlen(sent) - head, 4 * (members < CPT_BAGGAGE_MEMBERS_MAX
                                                      ? members
                                                      : CPT_BAGGAGE_MEMBERS_MAX) -
                                                 1);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "refused_propagated", NULL), 2);
    close_pair();
}

static void test_bad_b3(void)
{
    static char large[CPT_B3_BYTES_MAX + 1];
    struct cpt_field fields[] = {FIELD("x-b3-traceid", TRACE_ID),
                                 FIELD("x-b3-spanid", "e457b5a2e4d86bd1"),
                                 FIELD("baggage", "a=1"), FIELD("x-b3-spanid", "0")};
    static const char *const bad[] = {"1\r\nEvil: 1", "1 2", "\x01", "\xc3\xa4"};

    open_listening(never);
    CU_ASSERT_STRING_EQUAL(ask_with(fields, 4), "baggage: a=1|"); /* which one? */
    fields[3].value = fields[1].value;
    CU_ASSERT_STRING_EQUAL(ask_with(fields, 4), "baggage: a=1|x-b3-traceid: " TRACE_ID
                                                "|x-b3-spanid: e457b5a2e4d86bd1|");
    CU_ASSERT_EQUAL(counter(pair.a, "refused_propagated", NULL), 1);
    for (size_t i = 0; i < COUNT(bad); i++) {
        fields[1].value = cpt_bytes_of(bad[i]);
        CU_ASSERT_STRING_EQUAL(ask_with(fields, 3), "baggage: a=1|");
    }
    memset(large, 'f', sizeof large);
    for (int more = -1; more <= 1; more++) {
        fields[1].value = (struct cpt_bytes){large, (size_t)(CPT_B3_BYTES_MAX + more)};
        CU_ASSERT_EQUAL(strstr(ask_with(fields, 3), "x-b3") != NULL, more <= 0);
    }
    CU_ASSERT_EQUAL(counter(pair.a, "refused_propagated", NULL), 1 + COUNT(bad) + 1);
    close_pair();
}

/* --- Beside those of the program --- */

static const char *own_name;
static const char *own_value;

static cpt_status call_with_own(struct cpt_task *task)
{
    struct cpt_call_request request = {.struct_bytes = sizeof request};

    CU_ASSERT_EQUAL(
        cpt_call_add_header(task, &request, own_name, cpt_bytes_of(own_value)), CPT_OK);
    a_call = cpt_call_with(task, &b_stub, &request);
    return cpt_await(task, a_call, a_answer);
}

static const struct cpt_task_def own_tasks[] = {
    {"call", call_with_own, CPT_GIVES(rpc_reply), CPT_NEEDS(rpc_request)}};
static const struct cpt_graph own_graph = {"A", CPT_GIVES(rpc_request),
                                           CPT_GIVES(rpc_reply), own_tasks, 1};

static void test_own_headers_hold(void)
{
    static const struct cpt_field fields[] = {FIELD("baggage", "a=1"),
                                              FIELD("x-b3-traceid", TRACE_ID)};
    static const struct {
        const char *name;
        const char *value;
        const char *sent;
    } cases[] = {
        {"X-Own", "1", "X-Own: 1|baggage: a=1|x-b3-traceid: " TRACE_ID "|"},
        {"Baggage", "mine=1", "Baggage: mine=1|x-b3-traceid: " TRACE_ID "|"},
        {"baggage", "", "baggage: |x-b3-traceid: " TRACE_ID "|"},
        {"B3", "0", "B3: 0|baggage: a=1|"},
        {"X-B3-Sampled", "1", "X-B3-Sampled: 1|baggage: a=1|"},
    };
    struct cpt_plan *plan = cpt_plan_new(&own_graph, NULL, NULL);
    struct cpt_inbound inbound = inbound_with(NULL);

    open_listening(never);
    CU_ASSERT_EQUAL(cpt_service_method_add(pair.a, "/own", plan, NULL), CPT_OK);
    inbound.method = cpt_bytes_of("/own");
    inbound.headers = fields;
    inbound.header_count = COUNT(fields);
    for (size_t i = 0; i < COUNT(cases); i++) {
        own_name = cases[i].name;
        own_value = cases[i].value;
        ask(pair.a, &inbound);
        CU_ASSERT_STRING_EQUAL(sent, cases[i].sent);
    }
    close_pair();
    cpt_plan_free(plan);
}

/* --- Told by hand --- */

static const char *manual_fields(const struct cpt_manual *manual)
{
    const struct cpt_field *fields = NULL;
    const size_t count = cpt_manual_propagated(manual, &fields);
    size_t bytes = 0;

    sent[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        bytes += (size_t)snprintf(sent + bytes, sizeof sent - bytes, "%.*s: %.*s|",
                                  (int)fields[i].name.bytes, fields[i].name.data,
                                  (int)fields[i].value.bytes, fields[i].value.data);
    }
    return sent;
}

static void test_by_hand(void)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    struct cpt_manual *manual = NULL;

    inbound.headers = whole;
    inbound.header_count = COUNT(whole);
    for (unsigned i = 0; i < 4; i++) { /* traced or not, switched off */
        open_pair((i & 1) != 0 ? always : never, never);
        cpt_service_enable(pair.a, (i & 2) == 0);
        manual = cpt_manual_new_carrying(pair.a, &inbound);
        CU_ASSERT_PTR_NOT_NULL_FATAL(manual);
        CU_ASSERT_EQUAL(cpt_manual_is_traced(manual), i == 1);
        CU_ASSERT_EQUAL(cpt_manual_traceparent(manual).bytes != 0, (i & 2) == 0);
        CU_ASSERT_STRING_EQUAL(manual_fields(manual), whole_sent);
        cpt_manual_free(manual, 200);
        inbound.peer_address = cpt_bytes_of("192.0.2.1");
        manual = cpt_manual_new_carrying(pair.a, &inbound);
        CU_ASSERT_STRING_EQUAL(manual_fields(manual), "");
        cpt_manual_free(manual, 200);
        CU_ASSERT_EQUAL(counter(pair.a, "untrusted_propagated", NULL), 1);
        inbound.peer_address = cpt_bytes_of("127.0.0.1");
        close_pair();
    }
    CU_ASSERT_STRING_EQUAL(manual_fields(NULL), "");
}

/* --- Memory --- */

static bool serve_without_memory(const struct cpt_alloc *alloc)
{
    struct cpt_service_options options = never;
    struct cpt_service *service = NULL;
    struct cpt_inbound inbound = inbound_with(NULL);
    bool is_good = false;

    open_listening(never);
    options.alloc = alloc;
    service = make_service(options, "A", "/", pair.a_plan);
    inbound.headers = whole;
    inbound.header_count = COUNT(whole);
    if (service != NULL) {
        ask(service, &inbound);
        is_good = answer.http_status == 200;
        CU_ASSERT_TRUE(!is_good || strcmp(sent, whole_sent) == 0);
    }
    cpt_service_free(service);
    close_pair();
    return is_good;
}

static void test_no_memory(void)
{
    each_allocation_failure(serve_without_memory);
}

CU_TestInfo cpt_propagation_tests[] = {
    {"B3 and baggage go on as they came, traced or not", test_as_they_came},
    {"an entry passes on none of a stranger's", test_of_strangers},
    {"several lines of baggage are joined, bad members left out", test_joined_baggage},
    {"baggage has the limits of its standard", test_limits_of_baggage},
    {"of a bad B3 context nothing goes on", test_bad_b3},
    {"headers that the program sets itself hold", test_own_headers_hold},
    {"requests told by hand have them for their calls", test_by_hand},
    {"without memory a request fails, but is not sent without them", test_no_memory},
    CU_TEST_INFO_NULL,
};
