/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/*
 * test_event_formats.c - lines as programs write them, and the events that they give
 *
 * An event is written "S name 05.250+7 id unit", with S for the interval of a server, C
 * for that of a client, I for one of an unknown role and '.' for a point, and with
 * seconds of the minute and a length in ms.
 */
#include "tests/support/suites.h"

#include "import/lines/event_formats.h"
#include "import/lines/event_guess.h"
#include "import/lines/event_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Notation --- */

#define TEXT(bytes_) (int)(bytes_).bytes, (bytes_).data

static size_t describe(const struct cpti_event *event, char *to, size_t capacity)
{
    static const char roles[] = "ISC";
    const long long minute_ns = (long long)(event->begin_ns % 60000000000);
    const int bytes = snprintf(to, capacity, "%c %.*s %06.3f+%g%s%.*s%s%.*s%s%.*s",
                               event->is_interval ? roles[event->role] : '.',
                               TEXT(event->name), (double)minute_ns / 1e9,
                               (double)(event->end_ns - event->begin_ns) / 1e6,
                               event->id.bytes > 0 ? " " : "", TEXT(event->id),
                               event->unit.bytes > 0 ? " unit " : "", TEXT(event->unit),
                               event->peer.bytes > 0 ? " to " : "", TEXT(event->peer));

    return bytes > 0 && (size_t)bytes < capacity ? (size_t)bytes : 0;
}

/* The events of @line, read by @reader, as a text; or the name of the status. */
static const char *events_of(struct cpti_event_reader *reader, const char *line)
{
    static char text[2048];
    const struct cpti_event *event = NULL;
    size_t used = 0;
    const cpt_status status = cpti_event_reader_line(reader, cpt_bytes_of(line));

    text[0] = '\0';
    if (status != CPT_OK) {
        return cpt_status_name(status);
    }
    while ((event = cpti_event_reader_next(reader)) != NULL) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                 used > 0 ? "; " : "");
        used += describe(event, text + used, sizeof text - used);
    }
    return text;
}

static struct cpti_sources *sources_of(const char *text)
{
    const struct cpti_sources_options options = {0};
    struct cpt_error error = {0};
    struct cpti_sources *sources = NULL;

    if (cpti_sources_read(&options, cpt_bytes_of(text), &sources, &error) != CPT_OK) {
        (void)printf("\n%s: %s\n", text, error.sentence);
    }
    return sources;
}

/* Whether @line of source @text gives @wanted; says what else it gave. */
static bool gives(const char *text, const char *line, const char *wanted)
{
    struct cpti_sources *sources = sources_of(text);
    struct cpti_event_reader *reader = NULL;
    bool is_good = false;

    if (sources == NULL) {
        return false;
    }
    reader =
        cpti_event_reader_new(NULL, cpti_sources_at(sources, 0), cpt_bytes_of("x"));
    is_good = strcmp(events_of(reader, line), wanted) == 0;
    if (!is_good) {
        (void)printf("\n%s\n  gives  %s\n  wanted %s\n", line, events_of(reader, line),
                     wanted);
    }
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
    return is_good;
}

/* --- Formats --- */

/* Lines that nginx 1.22, HAProxy 2.6, Apache 2.4, PostgreSQL 15, zap 1.23 and structlog
 * 22 wrote, and others as their documentation has them. */
static const struct {
    const char *format;
    const char *line;
    const char *events;
} samples[] = {
    {"nginx",
     "127.0.0.1 - - [29/Nov/2026:02:45:43 +0000] \"GET /index.html?x=1 HTTP/1.1\" 200 "
     "6 "
     "\"-\" \"curl/7.88.1\"",
     ". GET /index.html 43.000+0"},
    {"nginx",
     "127.0.0.1 - - [29/Nov/2026:02:45:43 +0000] \"GET /index.html?x=1 HTTP/1.1\" 200 "
     "6 "
     "\"-\" \"curl/7.88.1\" at=1795920343.654 id=439113d6811278c6fbc63a5451b15dd6 "
     "took=0.012 upstream=\"0.007, 0.002\" peer=shop:8080",
     "S GET /index.html 43.642+12 439113d6811278c6fbc63a5451b15dd6; "
     "C GET /index.html 43.642+7 439113d6811278c6fbc63a5451b15dd6 to shop; "
     "C GET /index.html 43.649+2 439113d6811278c6fbc63a5451b15dd6 to shop"},
    {"nginx",
     "127.0.0.1 - - [29/Nov/2026:02:45:43 +0000] \"POST /cart/123/items HTTP/1.1\" 404 "
     "236 "
     "\"r\\x22x\" \"a\\x22b\" at=1795920343.672 id=ea29d3aa5ba66b6c47dbc04cb689588c "
     "took=0.003 upstream=\"0.001\" peer=127.0.0.1:18081",
     "S POST /cart/*/items 43.669+3 ea29d3aa5ba66b6c47dbc04cb689588c; "
     "C POST /cart/*/items 43.671+1 ea29d3aa5ba66b6c47dbc04cb689588c"},
    {"nginx",
     "127.0.0.1 - - [29/Nov/2026:02:45:43 +0000] \"\\x16\\x03\\x01\" 400 157 \"-\" "
     "\"-\" "
     "at=1795920343.689 id=afe9efd26edf7fbb0d7de2571e7a396e took=0.000 upstream=\"-\" "
     "peer=-",
     "S line 43.689+0 afe9efd26edf7fbb0d7de2571e7a396e"},
    {"apache",
     "127.0.0.1 - - [29/Nov/2026:02:45:43 +0100] \"GET / HTTP/1.1\" 404 397 \"r\\\"x\" "
     "\"a\\\"b\"",
     ". GET / 43.000+0"},
    {"apache",
     "127.0.0.1 - - [29/Nov/2026:02:45:43.653870 +0000] \"GET /index.html HTTP/1.0\" "
     "200 "
     "262 \"-\" \"curl/7.88.1\" id=439113d6811278c6fbc63a5451b15dd6, "
     "439113d6811278c6fbc63a5451b15dd6 us=168",
     "S GET /index.html 43.654+0.168 439113d6811278c6fbc63a5451b15dd6"},
    {"haproxy",
     "Nov 29 02:45:43 haproxy[3625]: 127.0.0.1:49526 [29/Nov/2026:02:45:43.653] front "
     "shop/s1 1/4/1/30/40 200 225 - - ---- 1/1/0/0/0 0/0 \"GET /a/77 HTTP/1.0\" "
     "id=439113d6811278c6fbc63a5451b15dd6",
     "S GET /a/* 43.653+40 439113d6811278c6fbc63a5451b15dd6; "
     "C GET /a/* 43.658+35 439113d6811278c6fbc63a5451b15dd6 to shop"},
    {"haproxy",
     "2026-11-29T02:45:43.700+00:00 edge1 haproxy[3625]: 127.0.0.1:33006 "
     "[29/Nov/2026:02:45:43.711] plain shop/<NOSRV> -1/-1/-1/-1/+12 400 396 - - PR-- "
     "1/1/0/0/0 0/0 {0123456789abcdef0123456789abcdef} {} \"<BADREQ>\"",
     "S line 43.711+12 0123456789abcdef0123456789abcdef"},
    {"envoy",
     "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 "
     "\"10.0.35.28\" \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" "
     "\"locations\" "
     "\"tcp://10.0.2.1:80\"",
     "S POST /api/*/locations 00.310+226 cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2; "
     "C POST /api/*/locations 00.436+100 cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2"},
    {"envoy",
     "[2020-11-25T21:26:18.409Z] \"GET /status/418 HTTP/1.1\" 418 - via_upstream - "
     "\"-\" 0 "
     "135 4 4 \"-\" \"curl/7.73.0-DEV\" \"84961386-6d84-929d-98bd-c5aee93b5c88\" "
     "\"httpbin:8000\" \"10.44.1.27:80\" outbound|8000||httpbin.foo.svc.cluster.local "
     "10.44.1.23:37652 10.0.45.184:8000 10.44.1.23:46520 - default",
     "C GET /status/* 18.409+4 84961386-6d84-929d-98bd-c5aee93b5c88 to httpbin"},
    {"envoy",
     "[2020-11-25T21:26:18.409Z] \"GET /status/418 HTTP/1.1\" 418 - via_upstream - "
     "\"-\" 0 "
     "135 3 1 \"-\" \"curl/7.73.0-DEV\" \"84961386-6d84-929d-98bd-c5aee93b5c88\" "
     "\"httpbin:8000\" \"127.0.0.1:80\" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 "
     "10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default",
     "S GET /status/* 18.409+3 84961386-6d84-929d-98bd-c5aee93b5c88"},
    {"envoy-json",
     "{\"start_time\":\"2020-11-25T21:26:18.409Z\",\"method\":\"GET\",\"path\":\"/s/"
     "418\","
     "\"duration\":4,\"upstream_service_time\":\"3\",\"request_id\":\"84961386\","
     "\"upstream_cluster\":\"outbound|8000||httpbin.foo.svc.cluster.local\"}",
     "C GET /s/* 18.409+4 84961386 to httpbin"},
    {"postgresql",
     "2023-01-29 08:48:42.425 UTC [1234] shop@shopdb id=7f3a LOG:  duration: 12.345 ms "
     " "
     "statement: SELECT name FROM items WHERE id = 77",
     "S SELECT name FROM items WHERE id = * 42.413+12.345 7f3a"},
    {"postgresql", "2023-01-29 08:48:42.425 CET [1234] LOG:  checkpoint starting: time",
     ". checkpoint starting: time 42.425+0"},
    {"postgresql",
     "2023-01-29 08:48:42.425 UTC [77] a@b id=[unknown] LOG:  duration: 1.000 ms  "
     "execute "
     "<unnamed>: SELECT 1 /*traceparent='00-0af7651916cd43dd8448eb211c80319c-"
     "b7ad6b7169203331-01'*/",
     "S SELECT * /*traceparent=**/ 42.424+1 0af7651916cd43dd8448eb211c80319c"},
    {"redis", "1234:M 29 Jan 2023 08:48:42.425 * Ready to accept connections",
     ". Ready to accept connections 42.425+0"},
    {"logback",
     "2023-01-29T08:48:42.425+08:00 INFO  c.s.OrderService#324 id=7f3a unit=b7 - 3 "
     "orders",
     ". c.s.OrderService#324 42.425+0 7f3a unit b7"},
    {"logback",
     "2023-01-29 08:48:42.425  INFO [shop,7f3a,b7ad] 1 --- [nio-8080-exec-1] "
     "c.s.OrderService         : Placed order 77",
     ". Placed order * 42.425+0 7f3a unit b7ad"},
    {"logback",
     "2023-01-29T08:48:42.425Z  INFO 1 --- [shop] [nio-8080-exec-1] "
     "[0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331] c.s.OrderService : Placed "
     "order "
     "77",
     ". Placed order * 42.425+0 0af7651916cd43dd8448eb211c80319c unit "
     "b7ad6b7169203331"},
    {"logback",
     "2023-01-29 08:48:42.425 [main] INFO  c.s.OrderService - Placed order 77",
     ". Placed order * 42.425+0"},
    {"logback-json",
     "{\"@timestamp\":\"2023-01-29T08:48:42.425+08:00\",\"@version\":\"1\",\"message\":"
     "\"Placed\",\"logger_name\":\"c.s.OrderService\",\"level\":\"INFO\",\"traceId\":"
     "\"7f3a\",\"spanId\":\"b7\",\"caller_line_number\":324}",
     ". c.s.OrderService#324 42.425+0 7f3a unit b7"},
    {"journald",
     "{\"__REALTIME_TIMESTAMP\":\"1674982122425293\",\"_HOSTNAME\":\"db1\",\"MESSAGE\":"
     "\"hello "
     "7\",\"SYSLOG_IDENTIFIER\":\"shop\",\"_PID\":\"7\",\"REQUEST_ID\":\"7f3a\"}",
     ". hello * 42.425+0 7f3a"},
    {"zap",
     "{\"level\":\"info\",\"ts\":1674982122.4252930,\"caller\":\"shop/"
     "place.go:12\",\"msg\":"
     "\"placed\",\"trace_id\":\"7f3a\",\"duration\":0.25}",
     "I shop/place.go:12 42.175+250 7f3a"},
    {"zap",
     "{\"level\":\"info\",\"ts\":\"2023-01-29T08:48:42.425Z\",\"msg\":\"placed \\u00e9 "
     "7\","
     "\"request_id\":\"7f3a\",\"elapsed\":\"25ms\"}",
     "I placed \xc3\xa9 * 42.400+25 7f3a"},
    {"pino",
     "{\"level\":30,\"time\":1674982122425,\"pid\":657,\"hostname\":\"h1\",\"req\":{"
     "\"id\":"
     "\"7f3a\",\"method\":\"GET\",\"url\":\"/cart/7?x\",\"headers\":{\"host\":\"a\"}},"
     "\"res\":{\"statusCode\":200},\"responseTime\":12,\"msg\":\"request completed\"}",
     "I GET /cart/* 42.413+12 7f3a"},
    {"structlog",
     "{\"event\":\"placed order 7\",\"timestamp\":\"2023-01-29T08:48:42.425293Z\","
     "\"level\":\"info\",\"request_id\":\"7f3a\"}",
     ". placed order * 42.425+0 7f3a"},
    {"structlog",
     "{\"order\": 7, \"event\": \"placed order\", \"request_id\": \"7f3a\", \"level\": "
     "\"info\", \"timestamp\": \"2026-11-29T03:46:41.558606Z\", \"lineno\": 4, "
     "\"module\": \"orders\"}",
     ". orders#4 41.559+0 7f3a"},
    {"logfmt",
     "time=2023-01-29T08:48:42.425Z level=info msg=\"placed order 7\" trace_id=7f3a "
     "span_id=b7 duration=12ms",
     "I placed order * 42.413+12 7f3a unit b7"},
};

enum { SAMPLES = sizeof samples / sizeof samples[0] };

static void test_samples(void)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        char text[128];

        (void)snprintf(text, sizeof text, "source x = format %s", samples[i].format);
        CU_ASSERT_TRUE(gives(text, samples[i].line, samples[i].events));
    }
}

static void test_samples_are_guessed(void)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        struct cpti_sources *sources = NULL;
        struct cpt_bytes format;

        if (cpti_event_guess(NULL, cpt_bytes_of(samples[i].line), samples[i].format,
                             &sources) != CPT_OK) {
            (void)printf("\nnot guessed: %s\n", samples[i].line);
            CU_FAIL("not guessed");
            continue;
        }
        format = cpti_sources_at(sources, 0)->format;
        if (!cpt_bytes_equal(format, cpt_bytes_of(samples[i].format))) {
            (void)printf("\n%s, not %s: %s\n", format.data, samples[i].format,
                         samples[i].line);
            CU_FAIL("guessed wrongly");
        }
        cpti_sources_free(sources);
    }
}

static void test_sources_are_called_after_files(void)
{
    static const struct {
        const char *file;
        const char *source;
    } cases[] = {{"/var/log/shop.log.1.gz", "shop"},
                 {"order_service.log", "order_service"},
                 {"my-frontend-proxy.log", "my-frontend-proxy"},
                 {"shop-7c9f8d6b5-x2x4q_default_server-0a1b.log", "shop"},
                 {"my-shop-7c9f8d6b5-x2x4q_default_server-0a1b.log", "my-shop"},
                 {"my-frontend-proxy_default_server-0a1b.log",
                  "my-frontend-proxy_default_server-0a1b"},
                 {"-7c9f8d6b5-x2x4q_a", "-7c9f8d6b5-x2x4q_a"},
                 {"/var/log/nginx/access.log", "redis"},
                 {"-", "redis"},
                 {"", "redis"},
                 {"a b.log", "a-b"}};
    const struct cpt_bytes text =
        cpt_bytes_of("1234:M 29 Jan 2023 08:48:42.425 * Ready to accept connections");

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_sources *sources = NULL;

        CU_ASSERT_EQUAL_FATAL(cpti_event_guess(NULL, text, cases[i].file, &sources),
                              CPT_OK);
        if (!cpt_bytes_equal(cpti_sources_at(sources, 0)->name,
                             cpt_bytes_of(cases[i].source))) {
            (void)printf("\n%s\n", cases[i].file);
            CU_FAIL("another name");
        }
        cpti_sources_free(sources);
    }
}

static void test_every_format_compiles(void)
{
    for (const struct cpti_format *format = cpti_formats; format->name != NULL;
         format++) {
        char text[128];
        struct cpti_sources *sources = NULL;

        (void)snprintf(text, sizeof text, "source x = format %s", format->name);
        sources = sources_of(text);
        CU_ASSERT_PTR_NOT_NULL(sources);
        cpti_sources_free(sources);
    }
}

static void test_lines_within_others_are_guessed(void)
{
    static const struct {
        const char *line;
        const char *format;
        enum cpti_outer outer;
    } cases[] = {
        {"2023-01-29T08:48:42.425293566Z stdout F "
         "{\"time\":1674982122425,\"msg\":\"a\"}",
         "pino", CPTI_OUTER_CRI},
        {"{\"log\":\"ts=2023-01-29T08:48:42Z msg=a\\n\",\"stream\":\"stdout\",\"time\":"
         "\"2023-01-29T08:48:42.5Z\"}",
         "logfmt", CPTI_OUTER_DOCKER},
        {"{\"MESSAGE\":\"{\\\"time\\\":1674982122425,\\\"msg\\\":\\\"a\\\","
         "\\\"reqId\\\":"
         "\\\"7\\\"}\",\"__REALTIME_TIMESTAMP\":\"1674982122425293\"}",
         "pino", CPTI_OUTER_JOURNAL},
        {"{\"MESSAGE\":\"hello\",\"__REALTIME_TIMESTAMP\":\"1674982122425293\"}",
         "journald", CPTI_OUTER_NONE}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpti_sources *sources = NULL;
        const struct cpti_line_source *source = NULL;

        CU_ASSERT_EQUAL_FATAL(
            cpti_event_guess(NULL, cpt_bytes_of(cases[i].line), "a.log", &sources),
            CPT_OK);
        source = cpti_sources_at(sources, 0);
        CU_ASSERT_TRUE(cpt_bytes_equal(source->format, cpt_bytes_of(cases[i].format)));
        CU_ASSERT_EQUAL(source->outer, cases[i].outer);
        cpti_sources_free(sources);
    }
}

static void test_no_format_is_guessed(void)
{
    struct cpti_sources *sources = NULL;

    CU_ASSERT_EQUAL(
        cpti_event_guess(NULL, cpt_bytes_of("hello\nworld\n"), "a.log", &sources),
        CPT_INVALID);
    CU_ASSERT_EQUAL(cpti_event_guess(NULL, cpt_bytes_of(""), "a.log", &sources),
                    CPT_INVALID);
    CU_ASSERT_PTR_NULL(sources);
}

/* --- Outer lines --- */

#define PAY                                                                            \
    "source pay = regex ^(?<time>\\S+) (?<event>\\S+) id=(?<id>\\w+); outer cri; "     \
    "zone +08:00"

static void test_own_stamp_gets_the_day_of_the_outer_one(void)
{
    CU_ASSERT_TRUE(
        gives(PAY, "2023-01-29T08:48:42.425293566Z stdout F 16:48:42.424 a#1 id=7",
              ". a#1 42.424+0 7"));
    CU_ASSERT_TRUE(gives(PAY, "2023-01-29T16:00:00.001Z stdout F 23:59:59.999 a#1 id=7",
                         ". a#1 59.999+0 7"));
    CU_ASSERT_TRUE(gives(PAY, "16:48:42.424 a#1 id=7", "CPT_CORRUPT"));
}

static void test_outer_stamp_orders_equal_times(void)
{
    struct cpti_sources *sources = sources_of(PAY);
    struct cpti_event_reader *reader =
        cpti_event_reader_new(NULL, cpti_sources_at(sources, 0), cpt_bytes_of("x"));
    uint32_t orders[2] = {0, 0};
    static const char *const lines[] = {
        "2023-01-29T08:48:42.425293566Z stdout F 16:48:42.424 b#1 id=7",
        "2023-01-29T08:48:42.425293565Z stdout F 16:48:42.424 a#1 id=7"};

    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(cpti_event_reader_line(reader, cpt_bytes_of(lines[i])), CPT_OK);
        orders[i] = cpti_event_reader_next(reader)->outer_order;
    }
    CU_ASSERT_EQUAL(orders[0], orders[1] + 1);
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
}

static void test_parts_of_lines_are_joined(void)
{
    struct cpti_sources *sources = sources_of(PAY);
    struct cpti_event_reader *reader =
        cpti_event_reader_new(NULL, cpti_sources_at(sources, 0), cpt_bytes_of("x"));

    CU_ASSERT_STRING_EQUAL(
        events_of(reader, "2023-01-29T08:48:42.425Z stdout P 16:48:42.424 a"),
        "CPT_WAITING");
    CU_ASSERT_STRING_EQUAL(
        events_of(reader, "2023-01-29T08:48:42.425Z stderr F 16:48:42.424 b#1 id=8"),
        ". b#1 42.424+0 8");
    CU_ASSERT_STRING_EQUAL(
        events_of(reader, "2023-01-29T08:48:42.425Z stdout F #1 id=7"),
        ". a#1 42.424+0 7");
    cpti_event_reader_free(reader);
    cpti_sources_free(sources);
}

static void test_docker_and_journal_are_unwrapped(void)
{
    CU_ASSERT_TRUE(gives("source x = json; id id; time time ms; text msg; outer docker",
                         "{\"log\":\"{\\\"id\\\":\\\"7\\\",\\\"time\\\":1674982122425,"
                         "\\\"msg\\\":\\\"a \\\\\\\"b\\\\\\\"\\\"}\\n\",\"stream\":"
                         "\"stdout\",\"time\":\"2023-01-29T08:48:42.425293566Z\"}",
                         ". a * 42.425+0 7"));
    CU_ASSERT_TRUE(gives("source x = logfmt; id id; text msg; outer journal",
                         "{\"MESSAGE\":\"id=7 msg=hello\",\"__REALTIME_TIMESTAMP\":"
                         "\"1674982122425293\",\"_HOSTNAME\":\"h\"}",
                         ". hello 42.425+0 7"));
}

/* --- What cannot be read --- */

static void test_impossible_times_are_counted_not_guessed(void)
{
    static const char json[] = "source x = json; id id; time time ms; text msg";

    CU_ASSERT_TRUE(gives(json, "{\"time\":0,\"id\":\"7\"}", "CPT_INVALID"));
    CU_ASSERT_TRUE(
        gives(json, "{\"time\":9223372036854775807,\"id\":\"7\"}", "CPT_INVALID"));
    CU_ASSERT_TRUE(
        gives(json, "{\"time\":-9223372036854775808,\"id\":\"7\"}", "CPT_INVALID"));
    CU_ASSERT_TRUE(gives(json, "{\"id\":\"7\"}", "CPT_INVALID"));
    CU_ASSERT_TRUE(gives(json, "{\"time\":1674982122425,\"id\":\"7", "CPT_CORRUPT"));
    CU_ASSERT_TRUE(gives(json, "{\"a\":[1,2", "CPT_CORRUPT"));
}

static void test_expression_that_explodes_gives_up(void)
{
    char line[64];

    memset(line, 'a', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    CU_ASSERT_TRUE(
        gives("source x = regex ^(?<id>(a+)+)(?<time>[bc])$", line, "CPT_LIMIT"));
}

CU_TestInfo cpt_event_formats_tests[] = {
    {"lines of programs give their events", test_samples},
    {"the format of a line is found without a source", test_samples_are_guessed},
    {"lines within others are guessed", test_lines_within_others_are_guessed},
    {"sources are called after files", test_sources_are_called_after_files},
    {"each format can be named by a source", test_every_format_compiles},
    {"lines of no format have none", test_no_format_is_guessed},
    {"a stamp without a date gets the one nearest to the outer stamp",
     test_own_stamp_gets_the_day_of_the_outer_one},
    {"the outer stamp orders equal times", test_outer_stamp_orders_equal_times},
    {"parts of a long line are joined again", test_parts_of_lines_are_joined},
    {"lines of docker and of the journal are unwrapped",
     test_docker_and_journal_are_unwrapped},
    {"a time that cannot be is no event",
     test_impossible_times_are_counted_not_guessed},
    {"an expression that explodes gives up", test_expression_that_explodes_gives_up},
    CU_TEST_INFO_NULL,
};
