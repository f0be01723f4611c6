/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* test_formats.c - the forms in which spans come: what is read of each, and what is
 * refused, by name */
#include "tests/support/suites.h"
#include "tests/unit/import/text_input.h"

#include "import/formats/ids.h"
#include "import/traces/traces.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

/* What was read of a file. */
struct found {
    char text[TEXT_BYTES]; /* its traces and spans */
    size_t used;
    struct cpti_traces_counts counts;
    unsigned refused;
    struct cpt_error error; /* the last one */
};

static void put(struct found *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct found *found, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    found->used += (size_t)vsnprintf(found->text + found->used,
                                     TEXT_BYTES - found->used, format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(found->used < TEXT_BYTES);
}

#define PUT_BYTES(to, format, piece) put(to, format, (int)(piece).bytes, (piece).data)

/* "b<a A:get client 10+50 !", with "@B" for the callee and "on h" for the host. */
static void put_span(struct found *found, const struct cpti_span *span)
{
    static const char *const kinds[] = {"",        " internal", " server",
                                        " client", " producer", " consumer"};

    PUT_BYTES(found, " %.*s", span->id);
    if (span->parent.bytes > 0) {
        PUT_BYTES(found, "<%.*s", span->parent);
    }
    PUT_BYTES(found, " %.*s", span->service);
    PUT_BYTES(found, ":%.*s", span->operation);
    put(found, "%s", kinds[span->kind]);
    if (span->has_time) {
        put(found, " %d+%d", (int)(span->start_ns / 1000),
            (int)(span->duration_ns / 1000));
    }
    if (span->peer.bytes > 0) {
        PUT_BYTES(found, " @%.*s", span->peer);
    }
    if (span->host.bytes > 0) {
        PUT_BYTES(found, " on %.*s", span->host);
    }
    put(found, "%s;", span->is_failed ? " !" : "");
}

static void read_file(const char *file, struct found *found)
{
    struct text_input input = {file, strlen(file), 100, 0};
    const struct cpti_traces_options options = {.read = text_input_read,
                                                .context = &input};
    struct cpti_traces *traces = cpti_traces_new(&options);
    struct cpti_spans *spans = cpti_spans_new(NULL);
    cpt_status status = CPT_OK;

    CU_ASSERT_FATAL(traces != NULL && spans != NULL);
    *found = (struct found){.used = 0};
    while (status != CPT_END) {
        struct cpt_error error = {0};
        struct cpt_bytes trace = {"", 0};

        status = cpti_traces_next(traces, spans, &trace, &error);
        if (status == CPT_OK) {
            PUT_BYTES(found, "[%.*s]", trace);
            for (size_t i = 0; i < cpti_spans_count(spans); i++) {
                put_span(found, cpti_spans_at(spans, i));
            }
        } else if (status != CPT_END) {
            found->refused++;
            found->error = error;
        }
    }
    found->counts = *cpti_traces_counts(traces);
    cpti_spans_free(spans);
    cpti_traces_free(traces);
}

static struct found expect(const char *file, const char *expected)
{
    struct found found;

    read_file(file, &found);
    CU_ASSERT_STRING_EQUAL(found.text, expected);
    if (strcmp(found.text, expected) != 0) {
        printf("\n  of       %s\n  got      %s\n  expected %s\n", file, found.text,
               expected);
    }
    return found;
}

/* What is read whole. */
static void expect_all(const char *file, const char *expected)
{
    const struct found found = expect(file, expected);

    CU_ASSERT_EQUAL(found.refused, 0);
    CU_ASSERT_EQUAL(found.counts.refused_spans, 0);
}

/* What has no spans, for a reason. */
static void expect_refused(const char *file, const char *reason)
{
    const struct found found = expect(file, "");

    CU_ASSERT_EQUAL(found.refused, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(found.error.sentence, reason));
    if (strstr(found.error.sentence, reason) == NULL) {
        printf("\n  of %s\n  got %s\n", file, found.error.sentence);
    }
}

/* --- Elasticsearch --- */

#define SOURCE(id, parent, kind, more)                                                 \
    "{\"traceID\":\"7\",\"spanID\":\"" id "\",\"operationName\":\"o" id "\","          \
    "\"references\":[" parent "],\"startTime\":10,\"startTimeMillis\":0,"              \
    "\"duration\":5,\"tags\":[],\"tag\":{\"span@kind\":\"" kind "\"" more "},"         \
    "\"process\":{\"serviceName\":\"S" id "\",\"tags\":[],"                            \
    "\"tag\":{\"host@name\":\"h" id "\"}}}"
#define CHILD_OF(id)                                                                   \
    "{\"refType\":\"CHILD_OF\",\"traceID\":\"7\",\"spanID\":\"" id "\"}"
#define FIRST  SOURCE("a", "", "server", ",\"error\":true")
#define SECOND SOURCE("b", CHILD_OF("a"), "client", ",\"peer@service\":\"P\"")
#define HIT(source)                                                                    \
    "{\"_index\":\"jaeger-span-x\",\"_id\":\"x\",\"_source\":" source ",\"sort\":[1]}"

static const char both[] = "[7] a Sa:oa server 10+5 on ha !;"
                           " b<a Sb:ob client 10+5 @P on hb;";

static void test_index(void)
{
    expect_all(FIRST SECOND, both);
    expect_all(HIT(FIRST) "\n" HIT(SECOND) "\n", both);
    expect_all("[" HIT(FIRST) "," HIT(SECOND) "]", both);
    expect_all("{\"took\":3,\"hits\":{\"total\":{\"value\":2},\"hits\":[" HIT(
                   FIRST) "," HIT(SECOND) "]}}",
               both);
    expect_all(
        "{\"_scroll_id\":\"x\",\"hits\":{\"hits\":[" HIT(
            FIRST) "]}}{\"_scroll_id\":\"x\",\"hits\":{\"hits\":[" HIT(SECOND) "]"
                                                                               "}"
                                                                               "}"
                                                                               "{\"_"
                                                                               "scroll_"
                                                                               "id\":"
                                                                               "\"x\","
                                                                               "\"hits"
                                                                               "\":{"
                                                                               "\"hits"
                                                                               "\":[]}"
                                                                               "}",
        both);
    expect_all("{\"total\":2,\"hits\":[" HIT(FIRST) "," HIT(SECOND) "]}", both);
    expect_all("{\"took\":1,\"responses\":[{\"hits\":{\"hits\":[" HIT(
                   FIRST) "]}},{\"hits\":{\"hits\":[" HIT(SECOND) "]}}]}",
               both);
    /* as it is sent to an index */
    expect_all("{\"index\":{\"_index\":\"jaeger-span-x\"}}\n" FIRST
               "\n{\"create\":{}}\n" SECOND "\n",
               both);
}

/* What stands for the dot, types of values, and both lists of tags. */
static void test_tag_fields(void)
{
    expect_all("{\"traceID\":\"7\",\"spanID\":\"a\",\"startTime\":1,\"duration\":2,"
               "\"tag\":{\"span#kind\":\"client\",\"error\":\"false\",\"peer:service\":"
               "\"x\",\"db@system\":\"y\"},\"process\":{\"serviceName\":\"S\",\"tag\":{"
               "\"host.name\":\"n\",\"ip\":\"1.2.3.4\"}}}",
               "[7] a S: client 1+2 @x on n;");
    expect_all("{\"traceID\":\"7\",\"spanID\":\"a\",\"startTime\":1,\"duration\":2,"
               "\"tags\":[{\"key\":\"error\",\"type\":\"bool\",\"value\":\"true\"}],"
               "\"tag\":{\"span@kind\":\"server\"},\"process\":{\"serviceName\":\"S\","
               "\"tags\":[{\"key\":\"ip\",\"value\":\"1.2.3.4\"}],\"tag\":{}}}",
               "[7] a S: server 1+2 on 1.2.3.4 !;");
    expect_all("{\"traceID\":\"7\",\"spanID\":\"a\",\"startTime\":1,\"duration\":2,"
               "\"tag\":null,\"process\":{\"serviceName\":\"S\",\"tag\":7}}",
               "[7] a S: 1+2;");
}

/* What else an index holds; Zipkin's spans are in one, too. */
static void test_other_documents(void)
{
    struct found found = expect(HIT(FIRST) HIT("{\"serviceName\":\"S\"}") HIT("7"),
                                "[7] a Sa:oa server 10+5 on ha !;");

    CU_ASSERT_EQUAL(found.counts.refused_spans, 1);
    CU_ASSERT_EQUAL(found.counts.refused_pieces, 1);
    expect_all("{\"hits\":{\"hits\":[{\"_source\":{\"traceId\":\"8\",\"id\":\"a\","
               "\"timestamp_millis\":0,\"kind\":\"SERVER\",\"timestamp\":4,"
               "\"duration\":5,\"localEndpoint\":{\"serviceName\":\"Z\"}}}]}}",
               "[8] a Z: server 4+5;");
}

/* --- Ids --- */

#define OTLP_SPAN(trace, id, parent)                                                   \
    "{\"traceId\":\"" trace "\",\"spanId\":\"" id "\",\"parentSpanId\":\"" parent      \
    "\",\"name\":\"n\",\"startTimeUnixNano\":\"1000\",\"endTimeUnixNano\":\"3000\"}"
#define SCOPES(spans)  "\"scopeSpans\":[{\"spans\":[" spans "]}]"
#define REQUEST(spans) "{\"resourceSpans\":[{" SCOPES(spans) "}]}"
#define TRACE_HEX      "5b8efff798038103d269b633813fc60c"

static void test_base64(void)
{
    static const char expected[] = "[" TRACE_HEX "] 00000000000000a1 :n 1+2;"
                                   " fbfffefb00000001<00000000000000a1 :n 1+2;";

    expect_all(
        REQUEST(OTLP_SPAN("W47/95gDgQPSabYzgT/GDA==", "AAAAAAAAAKE=", "") "," //
                OTLP_SPAN("W47/95gDgQPSabYzgT/GDA==", "+//++wAAAAE=", "AAAAAAAAAKE=")),
        expected);
    /* some in one way, some in the other; base64url; without '=' */
    expect_all(
        REQUEST(OTLP_SPAN(TRACE_HEX, "00000000000000a1", "")) //
        REQUEST(OTLP_SPAN("W47_95gDgQPSabYzgT_GDA", "-__--wAAAAE", "AAAAAAAAAKE")),
        expected);
    /* encoded twice, as digits */
    expect_all(REQUEST(OTLP_SPAN("NWI4ZWZmZjc5ODAzODEwM2QyNjliNjMzODEzZmM2MGM=",
                                 "MDAwMDAwMDAwMDAwMDBhMQ==", "") "," //
                       OTLP_SPAN(TRACE_HEX, "fbfffefb00000001", "00000000000000a1")),
               expected);
    /* a parent of zeros is none */
    expect_all(
        REQUEST(OTLP_SPAN("W47/95gDgQPSabYzgT/GDA==", "AAAAAAAAAKE=", "AAAAAAAAAAA=")),
        "[" TRACE_HEX "] 00000000000000a1 :n 1+2;");
}

/* Digits that may be base64 are what the others of the file are. */
static void test_base64_by_file(void)
{
    static const char ambiguous[] =
        REQUEST(OTLP_SPAN("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAA", "") "," //
                OTLP_SPAN("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAE", "AAAAAAAAAAA"));
    struct found found;
    char file[2 * sizeof ambiguous] =
        REQUEST(OTLP_SPAN("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAE", "AAAAAAAAAA0"));

    expect_all(ambiguous, "[AAAAAAAAAAAAAAAAAAAAAA] AAAAAAAAAAA :n 1+2;"
                          " AAAAAAAAAAE<AAAAAAAAAAA :n 1+2;");
    (void)strncat(file, ambiguous, sizeof file - strlen(file) - 1);
    read_file(file, &found);
    CU_ASSERT_STRING_EQUAL(found.text,
                           "[00000000000000000000000000000001]"
                           " 0000000000000001<000000000000000d :n 1+2;"
                           "[00000000000000000000000000000000] 0000000000000000 :n 1+2;"
                           " 0000000000000001 :n 1+2;");
    /* what is no id in base64 stays as it is */
    expect_all(REQUEST(OTLP_SPAN("0a", "abcdefghijk", "abcdefghijkl")),
               "[0a] abcdefghijk<abcdefghijkl :n 1+2;");
}

static void test_id_forms(void)
{
    static const struct {
        const char *id;
        enum cpti_id_form form;
        const char *digits;
    } cases[] = {
        {"", CPTI_ID_PLAIN, ""},
        {"a1", CPTI_ID_PLAIN, "a1"},
        {"00000000000000a1", CPTI_ID_PLAIN, "00000000000000a1"},
        {TRACE_HEX, CPTI_ID_PLAIN, TRACE_HEX},
        {"AAAAAAAAAKE=", CPTI_ID_PADDED, "00000000000000a1"},
        {"AAAAAAAAAKE", CPTI_ID_BASE64, "00000000000000a1"},
        {"AAAAAAAAAAA", CPTI_ID_AMBIGUOUS, "0000000000000000"},
        {"AAAAAAAAAKF=", CPTI_ID_PLAIN, "AAAAAAAAAKF="}, /* bits that are not 0 */
        {"AAAAAAAAAK=E", CPTI_ID_PLAIN, "AAAAAAAAAK=E"},
        {"AAAAAAAAAKE==", CPTI_ID_PLAIN, "AAAAAAAAAKE=="},
        {"AAAAAAAAAK E", CPTI_ID_PLAIN, "AAAAAAAAAK E"},
        {"//////////8=", CPTI_ID_PADDED, "ffffffffffffffff"},
        {"__________8", CPTI_ID_BASE64, "ffffffffffffffff"},
        {"W47/95gDgQPSabYzgT/GDA==", CPTI_ID_PADDED, TRACE_HEX},
        {"W47_95gDgQPSabYzgT_GDA", CPTI_ID_BASE64, TRACE_HEX},
        {"MDAwMDAwMDAwMDAwMDBhMQ==", CPTI_ID_PADDED, "00000000000000a1"},
        /* 32 bytes that are no digits are no id */
        {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=", CPTI_ID_PADDED,
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cpt_bytes id = cpt_bytes_of(cases[i].id);
        char text[CPTI_ID_DIGITS_MAX];

        CU_ASSERT_EQUAL(cpti_id_form(id), cases[i].form);
        CU_ASSERT(
            cpt_bytes_equal(cpti_id_digits(id, text), cpt_bytes_of(cases[i].digits)));
    }
}

/* A list of one trace in which some know the lower half of its id alone. */
#define HALF  "d269b633813fc60c"
#define OTHER "11111111111111111111111111111111"
#define ZIPKIN_SPAN(trace, id, more)                                                   \
    "{\"traceId\":\"" trace "\",\"id\":\"" id                                          \
    "\",\"timestamp\":1,\"duration\":2," more                                          \
    "\"localEndpoint\":{\"serviceName\":\"Z\"}}"

static void test_half_ids(void)
{
    const struct found found = expect(
        "[[" ZIPKIN_SPAN(HALF, "a", "") "," ZIPKIN_SPAN(TRACE_HEX, "b", "") "," //
        ZIPKIN_SPAN("D269B633813FC60C", "c", "") "," ZIPKIN_SPAN(OTHER, "d", "") "]]",
        "[" TRACE_HEX "] a Z: 1+2; b Z: 1+2; c Z: 1+2;[" OTHER "] d Z: 1+2;");

    CU_ASSERT_EQUAL(found.counts.traces, 2);
    /* spans one by one are of one trace if the whole id is the same */
    expect_all("[" ZIPKIN_SPAN(HALF, "a", "") "," ZIPKIN_SPAN(TRACE_HEX, "b", "") "]",
               "[" HALF "] a Z: 1+2;[" TRACE_HEX "] b Z: 1+2;");
    expect_all("{\"data\":[{\"traceID\":\"" TRACE_HEX "\",\"spans\":[{\"traceID\":\"" //
               TRACE_HEX "\",\"spanID\":\"a\",\"startTime\":1,\"duration\":2},"
               "{\"traceID\":\"" HALF
               "\",\"spanID\":\"b\",\"startTime\":1,\"duration\":"
               "2,\"references\":[{\"refType\":\"CHILD_OF\",\"traceID\":\"" TRACE_HEX
               "\",\"spanID\":\"a\"}]}]}]}",
               "[" TRACE_HEX "] a : 1+2; b<a : 1+2;");
    CU_ASSERT_FALSE(
        cpti_is_one_trace(cpt_bytes_of("00000000000000010000000000000000"),
                          cpt_bytes_of("00000000000000020000000000000000")));
}

/* --- Doors --- */

#define SPAN OTLP_SPAN(TRACE_HEX, "00000000000000a1", "")

static void test_answers(void)
{
    static const char expected[] = "[" TRACE_HEX "] 00000000000000a1 :n 1+2;";

    expect_all("{\"batches\":[{" SCOPES(SPAN) "}]}", expected);
    expect_all("{\"batches\":[{\"instrumentationLibrarySpans\":[{\"spans\":[" SPAN
               "]}]}]}",
               expected);
    expect_all("{\"trace\":{\"resourceSpans\":[{" SCOPES(
                   SPAN) "}]},\"metrics\":{},\"status\":\"COMPLETE\"}",
               expected);
    expect_all("{\"trace\":{\"batches\":[{" SCOPES(SPAN) "}]}}", expected);
    expect_all("{\"result\":" REQUEST(SPAN) "}\n", expected);
    expect_all("{\"result\":" REQUEST(SPAN) "}\n{\"result\":{\"resourceSpans\":[]}}\n",
               expected);
    expect_all("{}", "");
}

static void test_refused(void)
{
    static const char version_1[] =
        "{\"traceId\":\"a\",\"id\":\"1\",\"name\":\"get\",\"annotations\":[{"
        "\"timestamp\":1,\"value\":\"sr\",\"endpoint\":{\"serviceName\":\"front\"}}]}";
    char list[sizeof version_1 + 8];

    expect_refused(version_1, "version 1 of Zipkin");
    (void)snprintf(list, sizeof list, "[[%s]]", version_1);
    expect_refused(list, "version 1 of Zipkin");
    expect_refused("[{\"traceId\":\"a\",\"id\":\"1\",\"timestamp\":1,\"duration\":3,"
                   "\"annotations\":[],\"binaryAnnotations\":[{\"key\":\"lc\"}]}]",
                   "version 1 of Zipkin");
    expect_refused("{\"traceId\":\"AAE=\",\"spanId\":\"AQ==\",\"operationName\":\"x\","
                   "\"startTime\":\"2026-01-01T00:00:00Z\",\"duration\":\"1s\"}",
                   "Jaeger's own form");
    expect_refused("{\"trace_id\":\"AAE=\",\"span_id\":\"AQ==\",\"operation_name\":"
                   "\"x\"}",
                   "Jaeger's own form");
    expect_refused("{\"spans\":[{\"traceId\":\"AAE=\",\"spanId\":\"AQ==\","
                   "\"operationName\":\"x\"}],\"processes\":{}}",
                   "Jaeger's own form");
    expect_refused("{\"resource_spans\":[{\"scope_spans\":[]}]}", "resource_spans");
    expect_refused("{\"resourceSpans\":[{\"scope_spans\":[{\"spans\":[" SPAN "]}]}]}",
                   "no span, but fields");
    expect_refused("{\"resourceSpans\":[{\"scopeSpans\":[{\"span_list\":[" SPAN
                   "]}]}]}",
                   "no span, but fields");
    expect_refused("{\"result\":7}", "neither");
    expect_refused("{\"responses\":[{\"x\":1}]}", "neither");
    expect_refused("{\"hits\":[{\"x\":1}]}", "neither");
}

/* Version 2 has annotations, too, without endpoints. */
static void test_version_2(void)
{
    expect_all(
        "[" ZIPKIN_SPAN("5", "a",
                        "\"annotations\":[{\"timestamp\":1,\"value\":\"x\"}],") //
        "," ZIPKIN_SPAN("5", "b", "\"annotations\":[],") "]",
        "[5] a Z: 1+2; b Z: 1+2;");
}

static void test_other_signals(void)
{
    const struct found found =
        expect("{\"resourceMetrics\":[{\"scopeMetrics\":[]}]}\n" REQUEST(
                   SPAN) "\n{\"resourceLogs\":[]}\n{}\n{\"resourceSpans\":[]}\n"
                         "{\"resourceProfiles\":[{}],\"dictionary\":{}}\n",
               "[" TRACE_HEX "] 00000000000000a1 :n 1+2;");

    CU_ASSERT_EQUAL(found.refused, 0);
    CU_ASSERT_EQUAL(found.counts.other_signals, 3);
    CU_ASSERT_EQUAL(found.counts.unknown_fields, 0);
}

static void test_unknown_fields(void)
{
    const struct found found = expect(
        "{\"resourceSpans\":[{\"resource\":{},\"schemaUrl\":\"\",\"scopeSpans\":[{"
        "\"scope\":{},\"schemaUrl\":\"\",\"spans\":[{\"traceId\":\"" TRACE_HEX "\","
        "\"spanId\":\"00000000000000a1\",\"name\":\"n\",\"startTimeUnixNano\":\"1000\","
        "\"endTimeUnixNano\":\"3000\",\"flags\":1,\"events\":[],\"links\":[],"
        "\"droppedAttributesCount\":0,\"droppedEventsCount\":0,\"droppedLinksCount\":0,"
        "\"attributes\":[],\"status\":{},\"traceState\":\"\",\"kind\":0,"
        "\"parentSpanId\":\"\",\"profileIds\":[7]}],\"more\":1}],\"deeper\":{}}],"
        "\"x\":[]}",
        "[" TRACE_HEX "] 00000000000000a1 :n 1+2;");

    CU_ASSERT_EQUAL(found.refused, 0);
    CU_ASSERT_EQUAL(found.counts.unknown_fields, 4);
}

/* Names of callees, by the keys of today and before. */
static void test_callees(void)
{
    static const char *const keys[] = {"db.system",    "db.system.name",
                                       "peer.address", "server.address",
                                       "peer.service", "service.peer.name"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char file[512];

        (void)snprintf(file, sizeof file,
                       "{\"traceID\":\"7\",\"spanID\":\"a\",\"startTime\":1,"
                       "\"duration\":2,\"tags\":[{\"key\":\"%s\",\"value\":\"B\"},"
                       "{\"key\":\"%s\",\"value\":\"A\"}]}",
                       keys[i], keys[i > 0 ? i - 1 : 0]);
        expect_all(file, "[7] a : 1+2 @B;");
    }
}

/* A text that is none costs nothing but itself, wherever it is. */
static void test_bad_texts(void)
{
    const struct found found = expect(
        "[{\"traceId\":\"5\",\"id\":\"a\",\"name\":\"x\\ud800y\",\"timestamp\":1,"
        "\"duration\":2,\"tags\":{\"\377\":\"\303\",\"error\":\"\\udc00\"}},"
        "{\"traceId\":\"6\",\"id\":\"b\",\"name\":\"\\ud83d\\ude00\",\"timestamp\":1,"
        "\"duration\":2}]",
        "[5] a :x\357\277\275y 1+2 !;[6] b :\360\237\230\200 1+2;");

    CU_ASSERT_EQUAL(found.refused, 0);
    CU_ASSERT_EQUAL(found.counts.replaced, 4);
}

CU_TestInfo cpt_formats_tests[] = {
    {"documents of Elasticsearch, and its answers", test_index},
    {"tags as fields", test_tag_fields},
    {"other documents of an index", test_other_documents},
    {"ids in base64 are compared as bytes", test_base64},
    {"digits that may be base64 are as others of the file", test_base64_by_file},
    {"forms of ids", test_id_forms},
    {"the lower half of an id, in a list of one trace", test_half_ids},
    {"answers of Tempo and Jaeger", test_answers},
    {"what is refused, by name", test_refused},
    {"annotations of version 2 of Zipkin", test_version_2},
    {"metrics, logs and profiles are passed over", test_other_signals},
    {"fields that are not known are counted", test_unknown_fields},
    {"the keys that name a callee", test_callees},
    {"a text that is none costs nothing but itself", test_bad_texts},
    CU_TEST_INFO_NULL,
};
