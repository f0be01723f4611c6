/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_spans.c - the spans of traced requests, as lines of OTLP
 *
 * What the lines tell together is tested by importing them: tests/system/spans.sh.
 */
#include "tests/unit/framework/service_pair.h"

#include "framework/service/service.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

enum { LINES_BYTES_MAX = 1 << 20 };

static char lines[LINES_BYTES_MAX];
static size_t line_bytes;
static bool sink_fails;

static cpt_status keep_lines(void *context, const void *block, size_t bytes)
{
    (void)context;
    CU_ASSERT_FATAL(line_bytes + bytes < sizeof lines);
    if (sink_fails) {
        return CPT_IO;
    }
    memcpy(lines + line_bytes, block, bytes);
    line_bytes += bytes;
    lines[line_bytes] = '\0';
    return CPT_OK;
}

static void say_nothing(void *context, const struct cpt_notice *notice)
{
    (void)context;
    (void)notice;
}

static struct cpt_log_queue *spans;

static void open_with_spans(size_t count_max)
{
    const struct cpt_log_queue_options options = {.struct_bytes = sizeof options,
                                                  .sink = keep_lines,
                                                  .record_count_max = count_max,
                                                  .notify = say_nothing,
                                                  .content = CPT_LOG_SPANS};
    struct cpt_service_options a = always;
    struct cpt_service_options b = never;

    line_bytes = 0;
    lines[0] = '\0';
    spans = cpt_log_queue_new(&options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spans);
    a.spans = spans;
    b.spans = spans;
    open_pair(a, b);
}

static void close_with_spans(void)
{
    cpt_log_queue_flush(pair.log);
    cpt_log_queue_free(spans);
    close_pair();
}

static void ask_with_states(const char *traceparent, const struct cpt_field *states,
                            size_t count)
{
    struct cpt_inbound inbound = inbound_with(NULL);

    inbound.traceparent = cpt_bytes_of(traceparent);
    inbound.headers = states;
    inbound.header_count = count;
    ask(pair.a, &inbound);
    cpt_log_queue_flush(pair.log); /* spans follow the record */
    cpt_log_queue_flush(spans);
}

static void ask_traced(const char *traceparent)
{
    ask_with_states(traceparent, NULL, 0);
}

static unsigned count_of(const char *text)
{
    unsigned count = 0;

    for (const char *at = strstr(lines, text); at != NULL; at = strstr(at + 1, text)) {
        count++;
    }
    return count;
}

/* The value of member @key of the span whose note begins with @note, in the line that
 * says @service; "" if there is none. */
static const char *member(const char *service, const char *note, const char *key)
{
    static char text[128];
    char wanted[128];
    const char *line = lines;
    const char *at = NULL;
    const char *begin = NULL;

    (void)snprintf(wanted, sizeof wanted, "{\"stringValue\":\"%s\"}", service);
    line = strstr(lines, wanted);
    (void)snprintf(wanted, sizeof wanted, "{\"stringValue\":\"%s ", note);
    at = line != NULL ? strstr(line, wanted) : NULL;
    if (at == NULL) {
        return "";
    }
    for (begin = at; begin > line && strncmp(begin, "{\"traceId\"", 10) != 0; begin--) {
    }
    (void)snprintf(wanted, sizeof wanted, "\"%s\":\"", key);
    at = strstr(begin, wanted);
    if (at == NULL) {
        return "";
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(at + strlen(wanted), "\""),
                   at + strlen(wanted));
    return text;
}

static void test_trace_is_continued(void)
{
    char client[32];

    open_with_spans(0);
    ask_traced("00-" TRACE "-" PARENT "-00");
    CU_ASSERT_EQUAL(count_of("\n"), 2);
    CU_ASSERT_STRING_EQUAL(member("A", "request", "traceId"), TRACE);
    CU_ASSERT_STRING_EQUAL(member("A", "request", "parentSpanId"), PARENT);
    (void)snprintf(client, sizeof client, "%s", member("A", "call", "spanId"));
    CU_ASSERT_EQUAL(strlen(client), 16);
    CU_ASSERT_STRING_EQUAL(member("B", "request", "traceId"), TRACE);
    CU_ASSERT_STRING_EQUAL(member("B", "request", "parentSpanId"), client);
    close_with_spans();
}

static void test_trace_is_begun(void)
{
    struct cpt_record record;
    struct cpt_log_reader *reader = NULL;
    char trace[64];

    open_with_spans(0);
    ask_traced("");
    CU_ASSERT_EQUAL(count_of("\n"), 2);
    (void)snprintf(trace, sizeof trace, "%s", member("A", "request", "traceId"));
    CU_ASSERT_EQUAL(strlen(trace), 32);
    CU_ASSERT_STRING_EQUAL(member("B", "request", "traceId"), trace);
    CU_ASSERT_EQUAL(count_of("parentSpanId"), count_of("spanId") - 1);
    reader = read_record(0, &record);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_TRUE(record.has_trace_id);
    CU_ASSERT_FALSE(record.has_parent_id); /* there is no caller */
    cpt_log_reader_free(reader);
    close_with_spans();
}

/* All spans have the tracestate that calls carry: as it came, joined, or made. */
static void expect_state(const char *state)
{
    static const char *const notes[] = {"request", "task", "wait", "call"};

    CU_ASSERT_STRING_EQUAL(member("A", notes[0], "traceState"), state);
    for (size_t i = 1; i < sizeof notes / sizeof notes[0]; i++) {
        char found[64];

        (void)snprintf(found, sizeof found, "%s", member("A", notes[i], "traceState"));
        CU_ASSERT_STRING_EQUAL(found, member("A", notes[0], "traceState"));
    }
    line_bytes = 0;
}

static void test_state_is_kept(void)
{
    static const char parent[] = "00-" TRACE "-" PARENT "-00";
    struct cpt_field states[2] = {
        {cpt_bytes_of("TraceState"), cpt_bytes_of("a=1\\ , b=2")},
        {cpt_bytes_of("tracestate"), cpt_bytes_of("c=3")}};

    open_with_spans(0);
    ask_with_states(parent, states, 1);
    expect_state("a=1\\\\ , b=2");
    ask_with_states(parent, states, 2);
    expect_state("a=1\\\\,b=2,c=3");
    ask_traced("");
    expect_state("ot=th:0");
    ask_traced(parent);
    states[0].value = cpt_bytes_of("=");
    ask_with_states(parent, states, 2); /* malformed: none */
    CU_ASSERT_EQUAL(count_of("traceState"), 0);
    CU_ASSERT_EQUAL(counter(pair.a, "refused_tracestates", NULL), 1);
    close_with_spans();
}

/* A: 2 ms, a call of 1 + 5 + 1 ms, during which it computes 1 ms, 3 ms. */
static void test_notes_have_the_records(void)
{
    open_with_spans(0);
    ask_traced("");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(lines, "request entry=A:%20%2f latency=12000000 by="));
    CU_ASSERT_PTR_NOT_NULL(strstr(lines, "request entry=B:%20%2flook latency=5000000"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(lines, " block=3000000 arrive=9000000 resume=9000000"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(lines, " sent=2000000 arrive=9000000 outcome=1 path=1"));
    CU_ASSERT_EQUAL(count_of("\"kind\":2"), 2);
    CU_ASSERT_EQUAL(count_of("\"kind\":3"), 1);
    CU_ASSERT_EQUAL(count_of("\"cpt.wait\""), 3);
    CU_ASSERT_EQUAL(count_of("critical_path.note"), count_of("\"spanId\""));
    close_with_spans();
}

static void test_untraced_passes_on(void)
{
    open_with_spans(0);
    cpt_service_enable(pair.a, 0);
    ask_traced("00-" TRACE "-" PARENT "-01");
    CU_ASSERT_EQUAL(line_bytes, 0);
    close_with_spans();
}

static void test_lost_spans_are_counted(void)
{
    open_with_spans(0);
    sink_fails = true;
    ask_traced("");
    sink_fails = false;
    CU_ASSERT_EQUAL(answer.http_status, 200);
    CU_ASSERT_EQUAL(counter(pair.a, "spans_lost", NULL), 2);
    CU_ASSERT_EQUAL(counter(pair.a, "spans_requests", NULL), 0);
    ask_traced("");
    CU_ASSERT_EQUAL(counter(pair.a, "spans_requests", NULL), 2);
    CU_ASSERT_EQUAL(counter(pair.a, "spans_bytes", NULL), line_bytes);
    close_with_spans();
}

/* Spans of A are written, but no paths; a rule keeps those with @clause. */
static void ask_with_rule(const char *clause)
{
    struct cpti_policy_rules *rules = cpt_alloc_zeroed(NULL, sizeof *rules);
    struct cpt_service_options options = never;
    struct cpti_policy *policy = NULL;
    char text[128];

    CU_ASSERT_PTR_NOT_NULL_FATAL(rules);
    (void)snprintf(text, sizeof text, "owner sre; until 2099-12-31; %s", clause);
    CU_ASSERT_EQUAL(cpti_rule_read(rules, cpt_bytes_of("r"), cpt_bytes_of(text), NULL),
                    CPT_OK);
    policy = cpti_policy_new(rules, 1, NULL);
    cpt_alloc_free(NULL, rules);
    open_with_spans(0);
    cpt_service_free(pair.a);
    options.spans = spans;
    pair.a = make_service(options, "A", "/", pair.a_plan);
    CU_ASSERT_FATAL(policy != NULL && pair.a != NULL);
    cpti_sampling_set_policy(&pair.a->sampling, policy);
    ask_traced("");
    CU_ASSERT_EQUAL(answer.http_status, 200);
}

static void test_rules_without_a_log(void)
{
    static const struct {
        const char *clause;
        unsigned is_kept;
    } cases[] = {{"latency > 11ms", 1},
                 {"latency > 12ms", 0},
                 {"attribute arm treatment", 1},
                 {"attribute arm control", 0},
                 {"path(\"B: none\") > 1ms", 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask_with_rule(cases[i].clause);
        CU_ASSERT_EQUAL(count_of("{\"stringValue\":\"A\"}"), cases[i].is_kept);
        CU_ASSERT_EQUAL(counter(pair.a, "kept_by_rule", NULL), cases[i].is_kept);
        CU_ASSERT_EQUAL(counter(pair.a, "dropped_at_end", NULL), 1 - cases[i].is_kept);
        close_with_spans();
    }
}

static void test_content_is_checked(void)
{
    struct cpt_log_queue_options options = {
        .struct_bytes = sizeof options, .sink = keep_lines, .content = 3};
    struct cpt_service_options wrong = always;

    CU_ASSERT_PTR_NULL(cpt_log_queue_new(&options, NULL));
    open_with_spans(0);
    wrong.log = spans;
    CU_ASSERT_PTR_NULL(make_service(wrong, "C", "/", pair.a_plan));
    wrong.log = NULL;
    wrong.spans = pair.log;
    CU_ASSERT_PTR_NULL(make_service(wrong, "C", "/", pair.a_plan));
    close_with_spans();
}

CU_TestInfo cpt_spans_tests[] = {
    {"a trace that came goes on, from span to span", test_trace_is_continued},
    {"one is begun where none came", test_trace_is_begun},
    {"spans have the tracestate of their trace", test_state_is_kept},
    {"notes have the records that the path is made of", test_notes_have_the_records},
    {"of a request that is not traced there are none", test_untraced_passes_on},
    {"what the sink refuses is counted, and costs no answer",
     test_lost_spans_are_counted},
    {"rules keep spans also without a log of paths", test_rules_without_a_log},
    {"a log of paths takes no spans, nor the reverse", test_content_is_checked},
    CU_TEST_INFO_NULL,
};
