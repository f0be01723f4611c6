/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_trace_context.c - the trace of W3C Trace Context: passed on, or made */
#include "tests/unit/framework/service_pair.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"

/* What the last call carried. */
static char parent_sent[128];
static char state_sent[1024];

static void keep(char *text, size_t capacity, struct cpt_bytes from)
{
    CU_ASSERT_FATAL(from.bytes < capacity);
    text[0] = '\0';
    if (from.bytes > 0) {
        memcpy(text, from.data, from.bytes);
    }
    text[from.bytes] = '\0';
}

static void listen(struct cpt_transport *transport, struct cpt_transport_call *call)
{
    keep(parent_sent, sizeof parent_sent, call->traceparent);
    keep(state_sent, sizeof state_sent, call->tracestate);
    loopback_send(transport, call);
}

static void open_listening(struct cpt_service_options a)
{
    open_pair(a, never);
    net.transport.send = listen;
    parent_sent[0] = '\0';
    state_sent[0] = '\0';
}

/* A request with these headers, of which @parent and @state may be NULL. */
static void send_with(const char *parent, const char *state)
{
    struct cpt_inbound inbound = inbound_with(NULL);
    const struct cpt_field field = {cpt_bytes_of("TraceState"),
                                    cpt_bytes_of(state != NULL ? state : "")};

    if (parent != NULL) {
        inbound.traceparent = cpt_bytes_of(parent);
    }
    inbound.headers = &field;
    inbound.header_count = state != NULL;
    ask(pair.a, &inbound);
    CU_ASSERT_STRING_EQUAL(answer.body, "page");
}

static void test_passed_on(void)
{
    static const struct cpt_service_options *const services[] = {&never, &always};

    for (size_t i = 0; i < 2; i++) {
        open_listening(*services[i]);
        send_with("00-" TRACE "-" SPAN "-05", "a=1 , b=2");
        CU_ASSERT_STRING_EQUAL(parent_sent, "00-" TRACE "-" SPAN "-05");
        CU_ASSERT_STRING_EQUAL(state_sent, "a=1 , b=2");
        send_with("01-" TRACE "-" SPAN "-07-more", NULL); /* of a later version */
        CU_ASSERT_STRING_EQUAL(parent_sent, "00-" TRACE "-" SPAN "-03");
        CU_ASSERT_STRING_EQUAL(state_sent, "");
        close_pair();
    }
}

static void test_kill_switch_passes_on(void)
{
    open_listening(always);
    cpt_service_enable(pair.a, 0);
    send_with("00-" TRACE "-" SPAN "-00", "a=1");
    CU_ASSERT_STRING_EQUAL(parent_sent, "00-" TRACE "-" SPAN "-00");
    CU_ASSERT_STRING_EQUAL(state_sent, "a=1");
    send_with(NULL, NULL);
    CU_ASSERT_STRING_EQUAL(parent_sent, "");
    close_pair();
}

static void test_malformed_are_dropped(void)
{
    struct cpt_traceparent parent;

    open_listening(never);
    send_with("00-" TRACE "-" SPAN "-0x", "a=1");
    CU_ASSERT_EQUAL(counter(pair.a, "refused_traceparents", NULL), 1);
    CU_ASSERT_EQUAL(cpt_traceparent_parse(cpt_bytes_of(parent_sent), &parent), CPT_OK);
    CU_ASSERT_PTR_NULL(strstr(parent_sent, TRACE));
    CU_ASSERT_STRING_EQUAL(state_sent, ""); /* it goes with its traceparent */
    send_with("", NULL);                    /* several came */
    CU_ASSERT_EQUAL(counter(pair.a, "refused_traceparents", NULL), 2);
    send_with("00-" TRACE "-" SPAN "-00", "a=1,=");
    CU_ASSERT_EQUAL(counter(pair.a, "refused_tracestates", NULL), 1);
    CU_ASSERT_STRING_EQUAL(parent_sent, "00-" TRACE "-" SPAN "-00");
    CU_ASSERT_STRING_EQUAL(state_sent, "");
    close_pair();
}

/* The 56 bits of the trace id by which others decide. */
static uint64_t randomness_of(const struct cpt_traceparent *parent)
{
    uint64_t randomness = 0;

    for (size_t i = 9; i < sizeof parent->trace_id; i++) {
        randomness = randomness << 8 | parent->trace_id[i];
    }
    return randomness;
}

static void test_made(void)
{
    struct cpt_traceparent parent;
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    char first[sizeof parent_sent];

    open_listening(always);
    send_with(NULL, "a=1"); /* without a traceparent it means nothing */
    CU_ASSERT_EQUAL(cpt_traceparent_parse(cpt_bytes_of(parent_sent), &parent), CPT_OK);
    CU_ASSERT_EQUAL(parent.flags, CPT_TRACE_FLAG_RANDOM | CPT_TRACE_FLAG_SAMPLED);
    CU_ASSERT_STRING_EQUAL(state_sent, "ot=th:0");
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.has_trace_id);
    CU_ASSERT_FALSE(record.has_parent_id);
    CU_ASSERT_EQUAL(memcmp(record.trace_id, parent.trace_id, 16), 0);
    cpt_log_reader_free(reader);
    memcpy(first, parent_sent, sizeof first);
    send_with(NULL, NULL);
    CU_ASSERT_STRING_NOT_EQUAL(parent_sent, first);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_traceparents", NULL), 0);
    close_pair();
}

/* Of 4,000 requests whose id is made, exactly those are traced that a consistent
 * sampler of our probability would keep, and the ids are uniform: in each quarter of
 * the range there are a quarter of them, within 5 standard errors. */
static void test_made_consistently(void)
{
    enum { REQUESTS = 4000, PARTS = 4 };
    const uint64_t seed = 20261123;
    struct cpt_service_options options = never;
    unsigned counts[PARTS] = {0};
    uint64_t traced = 0;

    options.probability = 0.25;
    options.seed = seed;
    open_listening(options);
    for (int i = 0; i < REQUESTS; i++) {
        struct cpt_traceparent parent;
        struct cpt_consistent consistent;
        bool is_kept = false;
        uint64_t now_traced = 0;

        send_with(NULL, NULL);
        CU_ASSERT_EQUAL_FATAL(cpt_traceparent_parse(cpt_bytes_of(parent_sent), &parent),
                              CPT_OK);
        is_kept = randomness_of(&parent) >= cpt_sampling_threshold(0.25);
        now_traced = counter(pair.a, "traced", NULL);
        CU_ASSERT_EQUAL(now_traced - traced, is_kept);
        CU_ASSERT_EQUAL((parent.flags & CPT_TRACE_FLAG_SAMPLED) != 0, is_kept);
        cpt_consistent_parse(cpt_bytes_of(state_sent), &consistent);
        CU_ASSERT_EQUAL(consistent.has_threshold, is_kept);
        CU_ASSERT_EQUAL(consistent.threshold,
                        is_kept ? cpt_sampling_threshold(0.25) : 0);
        traced = now_traced;
        counts[randomness_of(&parent) * PARTS / CPT_SAMPLING_RANGE]++;
    }
    for (int i = 0; i < PARTS; i++) {
        const double error = sqrt(REQUESTS * 0.25 * 0.75);

        CU_ASSERT_DOUBLE_EQUAL(counts[i], REQUESTS / 4.0, 5 * error);
    }
    close_pair();
}

CU_TestInfo cpt_trace_context_tests[] = {
    {"what came is passed on", test_passed_on},
    {"the kill switch passes on, and makes none", test_kill_switch_passes_on},
    {"what is malformed is dropped and counted", test_malformed_are_dropped},
    {"a traceparent is made where there is none", test_made},
    {"one that is made fits the decision", test_made_consistently},
    CU_TEST_INFO_NULL,
};
