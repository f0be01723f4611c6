/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_limits.c - what clients may take before their requests begin */
#include "http_suites.h"
#include "http_support.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 20000 };

struct serving {
    struct test_loop loop;
    struct test_service service;
};

static void serving_start(struct serving *serving,
                          const struct cpt_http_options *options)
{
    test_loop_make(&serving->loop, options);
    test_service_make(&serving->service, &serving->loop, CPT_ROLE_ENTRY, -1, NULL);
    test_loop_start(&serving->loop);
}

static void serving_stop(struct serving *serving)
{
    CU_ASSERT_EQUAL(test_loop_stop(&serving->loop), CPT_OK);
    test_service_free(&serving->service);
}

static bool is_answered(const struct serving *serving)
{
    char reply[1024];

    raw_exchange(serving->service.port,
                 "GET /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n", reply,
                 sizeof(reply));
    return strncmp(reply, "HTTP/1.1 200 ", 13) == 0;
}

/* Clients that send a part of a large body, and wait. */
static void test_memory(void)
{
    enum { CLIENTS = 20, PART = 256 << 10, ALL_MAX = 1 << 20 };
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .input_bytes_max = ALL_MAX};
    struct serving serving;
    int descriptors[CLIENTS];
    char *part = calloc(1, PART + 1);

    memset(part, 'x', PART);
    serving_start(&serving, &options);
    for (int i = 0; i < CLIENTS; i++) {
        descriptors[i] = raw_connect(serving.service.port);
        raw_write(descriptors[i], "POST /hello HTTP/1.1\r\nHost: s\r\n"
                                  "Content-Length: 4194304\r\n\r\n");
        raw_write(descriptors[i], part);
    }
    /* three of them fit */
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_full", CLIENTS - 3));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_cut_full"), CLIENTS - 3);
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_input_bytes") <= ALL_MAX);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_input_bytes", 3 * PART));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_input_bytes_max"), ALL_MAX);
    CU_ASSERT_TRUE(is_answered(&serving));
    for (int i = 0; i < CLIENTS; i++) {
        (void)close(descriptors[i]);
    }
    serving_stop(&serving);
    free(part);
}

/* Bodies that were answered count no more: many of them pass, one after the other. */
static void test_memory_is_given_back(void)
{
    enum { BODY = 100000 };
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .input_bytes_max = 150000};
    struct serving serving;
    char *request = calloc(1, BODY + 128);
    char *reply = calloc(1, BODY + 1024);
    int descriptor = -1;

    (void)snprintf(request, 128,
                   "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n",
                   BODY);
    memset(request + strlen(request), 'x', BODY - 1);
    request[strlen(request)] = '.';
    serving_start(&serving, &options);
    descriptor = raw_connect(serving.service.port);
    for (unsigned i = 0; i < 10; i++) {
        raw_write(descriptor, request);
        (void)raw_read(descriptor, reply, BODY + 1024, "x.");
        CU_ASSERT_TRUE(strncmp(reply, "HTTP/1.1 200 ", 13) == 0);
    }
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_cut_full"), 0);
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_input_bytes") <= 2 * BODY);
    (void)close(descriptor);
    serving_stop(&serving);
    free(request);
    free(reply);
}

/* --- Replies that are not taken --- */

enum { ECHO_BYTES = 6 << 20 }; /* more than the system's buffers hold */

/* A client that asks for a reply of ECHO_BYTES, and reads none of it yet. */
static int large_ask(const struct serving *serving, const char *body)
{
    const int descriptor = raw_connect(serving->service.port);
    char head[128];

    (void)snprintf(head, sizeof(head),
                   "POST /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n"
                   "Content-Length: %d\r\n\r\n",
                   ECHO_BYTES);
    raw_write(descriptor, head);
    raw_write(descriptor, body);
    return descriptor;
}

/* Reads and closes: how much has come. */
static size_t large_read(int descriptor)
{
    static char part[1 << 16];
    size_t bytes = 0;
    ssize_t got = 0;

    while ((got = recv(descriptor, part, sizeof(part), 0)) > 0) {
        bytes += (size_t)got;
    }
    (void)close(descriptor);
    return bytes;
}

/* Clients that read nothing are cut off, the one that waits for longest first. */
static void test_unread(void)
{
    enum { CLIENTS = 6, ALL_MAX = 4 << 20 };
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .body_bytes_max = ECHO_BYTES,
                                             .output_bytes_max = ALL_MAX};
    char *body = calloc(1, ECHO_BYTES + 1);
    struct serving serving;
    char told[512];
    int descriptors[CLIENTS];

    memset(body, 'x', ECHO_BYTES);
    serving_start(&serving, &options);
    for (int i = 0; i < CLIENTS; i++) {
        descriptors[i] = large_ask(&serving, body);
        CU_ASSERT_TRUE(
            test_comes_to(&serving.loop, "http_requests_served", (uint64_t)i + 1));
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_unread", 1));
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_output_bytes") <= ALL_MAX);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_output_bytes_max"), ALL_MAX);
    (void)test_told(told, sizeof(told));
    CU_ASSERT_EQUAL(strncmp(told, "2 0 unread : ", 13), 0);
    CU_ASSERT_TRUE(is_answered(&serving));
    CU_ASSERT_TRUE(large_read(descriptors[CLIENTS - 1]) > ECHO_BYTES);
    CU_ASSERT_TRUE(large_read(descriptors[0]) < ECHO_BYTES);
    for (int i = 1; i < CLIENTS - 1; i++) {
        (void)close(descriptors[i]);
    }
    serving_stop(&serving);
    free(body);
}

/* A reply that is larger than the limit comes whole, and is forgotten then. */
static void test_larger_than_the_limit(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .body_bytes_max = ECHO_BYTES,
                                             .output_bytes_max = 1};
    char *body = calloc(1, ECHO_BYTES + 1);
    struct serving serving;

    memset(body, 'x', ECHO_BYTES);
    serving_start(&serving, &options);
    CU_ASSERT_TRUE(large_read(large_ask(&serving, body)) > ECHO_BYTES);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_cut_unread"), 0);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_output_bytes"), 0);
    serving_stop(&serving);
    free(body);
}

/* @text is sent, and the rest never. */
static void expect_late(const struct serving *serving, const char *text,
                        const char *reply_begins)
{
    const int descriptor = raw_connect(serving->service.port);
    char reply[4096];

    raw_write(descriptor, text);
    (void)raw_read(descriptor, reply, sizeof(reply), NULL); /* until it is closed */
    CU_ASSERT_TRUE(strncmp(reply, reply_begins, strlen(reply_begins)) == 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "HTTP/1.1 408 Request Timeout\r\n"));
    (void)close(descriptor);
}

static void test_deadlines(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_ns = 20 * MS,
                                             .body_ns = 20 * MS,
                                             .body_bytes_per_second_min = 1000000};
    struct serving serving;

    serving_start(&serving, &options);
    expect_late(&serving, "GET /hello HT", "HTTP/1.1 408 ");
    expect_late(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\n", "HTTP/1.1 408 ");
    expect_late(&serving, "\r\n", "HTTP/1.1 408 ");
    expect_late(&serving,
                "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 9\r\n\r\nabc",
                "HTTP/1.1 408 ");
    expect_late(
        &serving,
        "POST /hello HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n3",
        "HTTP/1.1 408 ");
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_slow", 5));
    /* The time of the second one begins when the first is answered, 100 ms later. */
    expect_late(&serving, "GET /slow HTTP/1.1\r\nHost: s\r\n\r\nGET /hel",
                "HTTP/1.1 200 ");
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_slow", 6));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_cut_slow"), 6);
    serving_stop(&serving);
}

static void test_clients(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .accepted_per_address_max = 3};
    struct serving serving;
    int descriptors[3];
    char reply[1024];
    bool is_good = false;

    serving_start(&serving, &options);
    for (int i = 0; i < 3; i++) {
        descriptors[i] = raw_connect(serving.service.port);
        raw_write(descriptors[i], "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
        (void)raw_read(descriptors[i], reply, sizeof(reply), "hello ");
        CU_ASSERT_TRUE(strncmp(reply, "HTTP/1.1 200 ", 13) == 0);
    }
    for (int i = 0; i < 5; i++) {
        const int descriptor = raw_connect(serving.service.port);

        (void)raw_read(descriptor, reply, sizeof(reply), NULL); /* until it is closed */
        (void)close(descriptor);
        CU_ASSERT_TRUE(strncmp(reply, "HTTP/1.1 503 ", 13) == 0);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_cut_clients", 5));
    (void)close(descriptors[1]);
    for (unsigned i = 0; i < PATIENCE && !is_good; i++) {
        is_good = is_answered(&serving);
        test_sleep_ns(is_good ? 0 : MS);
    }
    CU_ASSERT_TRUE(is_good);
    (void)close(descriptors[0]);
    (void)close(descriptors[2]);
    serving_stop(&serving);
}

/* Idle clients leave descriptors for the service's own calls. */
static void test_descriptors_are_reserved(void)
{
    enum { CLIENTS = 12, LEFT = 8 };
    struct cpt_http_options options = {.struct_bytes = sizeof(options)};
    struct serving serving;
    struct stand_in stand_in;
    struct rlimit limit;
    int descriptors[CLIENTS];

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    options.descriptor_count_reserved = (size_t)limit.rlim_cur - LEFT;
    stand_in_start(&stand_in, serve_reply,
                   "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
    serving_start(&serving, &options);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_connections_max"), LEFT);
    for (int i = 0; i < CLIENTS; i++) {
        descriptors[i] = raw_connect(serving.service.port);
    }
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_accepts_paused", 1));
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_connections"), LEFT);
    CU_ASSERT_EQUAL(call_status(&serving.loop, stand_in.target), CPT_OK);
    for (int i = 0; i < CLIENTS; i++) {
        (void)close(descriptors[i]);
    }
    CU_ASSERT_TRUE(is_answered(&serving));
    serving_stop(&serving);
    stand_in_stop(&stand_in);

    options.descriptor_count_reserved = 0;
    options.accepted_count_max = 5;
    serving_start(&serving, &options);
    CU_ASSERT_EQUAL(test_counter(&serving.loop, "http_connections_max"), 5);
    serving_stop(&serving);
}

/* Loops that share a port have parts of the descriptors. */
static void test_descriptors_are_shared(void)
{
    enum { CLIENTS = 128, LEFT = 8, LOOPS = 2 };
    struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                       .shares_port = 1};
    struct serving servings[LOOPS];
    struct rlimit limit;
    int descriptors[CLIENTS];
    uint64_t open_count = 0;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    options.descriptor_count_reserved = (size_t)limit.rlim_cur - LEFT;
    test_loop_make(&servings[0].loop, &options);
    test_loop_make(&servings[1].loop, &options);
    test_service_make(&servings[0].service, &servings[0].loop, CPT_ROLE_ENTRY, -1,
                      NULL);
    test_service_make(&servings[1].service, &servings[1].loop, CPT_ROLE_ENTRY, -1,
                      NULL);
    CU_ASSERT_EQUAL(cpt_http_listen(servings[1].loop.http, servings[1].service.service,
                                    NULL, servings[0].service.port, NULL, NULL),
                    CPT_OK);
    test_loop_start(&servings[0].loop);
    test_loop_start(&servings[1].loop);
    for (int i = 0; i < CLIENTS; i++) {
        descriptors[i] = raw_connect(servings[0].service.port);
    }
    /* the odds of 2^-100 aside, each loop has more clients than it may have */
    CU_ASSERT_TRUE(test_comes_to(&servings[0].loop, "http_accepts_paused", 1));
    CU_ASSERT_TRUE(test_comes_to(&servings[1].loop, "http_accepts_paused", 1));
    for (int i = 0; i < LOOPS; i++) {
        CU_ASSERT_EQUAL(test_counter(&servings[i].loop, "http_connections_max"),
                        LEFT / LOOPS);
        open_count += test_counter(&servings[i].loop, "http_connections");
    }
    CU_ASSERT_EQUAL(open_count, LEFT);
    for (int i = 0; i < CLIENTS; i++) {
        (void)close(descriptors[i]);
    }
    serving_stop(&servings[0]);
    serving_stop(&servings[1]);
}

/* A counter of a service. */
struct counted {
    const char *name;
    uint64_t value;
};

static void counted_visit(void *context, const struct cpt_counter *counter)
{
    struct counted *counted = context;

    if (strcmp(counter->name, counted->name) == 0) {
        counted->value = counter->value;
    }
}

/* @header that is no number, or that came twice, is ignored, and counted. */
static void check_bad_times(const char *header, const char *counter)
{
    static const char *const values[] = {": -1\r\n", ": 1, 1\r\n", ": 1x\r\n", ":\r\n",
                                         ": 1\r\n"};
    enum { HEADERS = sizeof(values) / sizeof(values[0]) };
    struct counted refused = {counter, 0};
    char request[256];
    char reply[4096];
    struct serving serving;

    serving_start(&serving, NULL);
    for (size_t i = 0; i < HEADERS; i++) {
        (void)snprintf(request, sizeof(request),
                       "GET /slow HTTP/1.1\r\nHost: s\r\n%s%s%s%s"
                       "Connection: close\r\n\r\n",
                       header, values[i], i + 1 == HEADERS ? header : "",
                       i + 1 == HEADERS ? ": 1\r\n" : "");
        raw_exchange(serving.service.port, request, reply, sizeof(reply));
        CU_ASSERT_TRUE(strncmp(reply, "HTTP/1.1 200 ", 13) == 0);
    }
    cpt_service_counters(serving.service.service, counted_visit, &refused);
    CU_ASSERT_EQUAL(refused.value, HEADERS);
    serving_stop(&serving);
}

static void test_bad_timeouts(void)
{
    check_bad_times("cpt-timeout", "refused_timeouts");
}

static void test_bad_slacks(void)
{
    check_bad_times("cpt-slack", "refused_slacks");
}

/* How often the slack of a request with @headers is counted as @counter. */
static uint64_t slacks_of(const char *headers, const char *counter)
{
    struct counted counted = {counter, 0};
    struct serving serving;
    char request[256];
    char reply[4096];

    serving_start(&serving, NULL);
    (void)snprintf(request, sizeof(request),
                   "GET /hello HTTP/1.1\r\nHost: s\r\n%sCPT-Slack: 1000\r\n"
                   "Connection: close\r\n\r\n",
                   headers);
    raw_exchange(serving.service.port, request, reply, sizeof(reply));
    CU_ASSERT_TRUE(strncmp(reply, "HTTP/1.1 200 ", 13) == 0);
    cpt_service_counters(serving.service.service, counted_visit, &counted);
    serving_stop(&serving);
    return counted.value;
}

/* As deadlines: of clients that an entry trusts, and not through a proxy. */
static void test_slacks_of_strangers(void)
{
    CU_ASSERT_EQUAL(slacks_of("", "slack_requests"), 1);
    CU_ASSERT_EQUAL(slacks_of("", "untrusted_slacks"), 0);
    CU_ASSERT_EQUAL(slacks_of("X-Forwarded-For: 10.0.0.1\r\n", "slack_requests"), 0);
    CU_ASSERT_EQUAL(slacks_of("X-Forwarded-For: 10.0.0.1\r\n", "untrusted_slacks"), 1);
}

/* How a request that takes 50 ms ends, whose client waits for one. */
static unsigned status_for(struct serving *serving, const char *headers)
{
    char request[256];
    char reply[4096];

    (void)snprintf(request, sizeof(request),
                   "GET /slow HTTP/1.1\r\nHost: s\r\n%scpt-timeout: 1000\r\n"
                   "Connection: close\r\n\r\n",
                   headers);
    raw_exchange(serving->service.port, request, reply, sizeof(reply));
    return (unsigned)strtoul(reply + strlen("HTTP/1.1 "), NULL, 10);
}

/* An entry takes a deadline of clients that it trusts, and not through a proxy. */
static void test_timeouts_of_strangers(void)
{
    static const char *const none[] = {NULL};
    struct serving serving;

    serving_start(&serving, NULL);
    CU_ASSERT_EQUAL(status_for(&serving, ""), 504);
    CU_ASSERT_EQUAL(status_for(&serving, "X-Forwarded-For: 10.0.0.1\r\n"), 200);
    CU_ASSERT_EQUAL(status_for(&serving, "CF-Connecting-IPv6: ::1\r\n"), 200);
    CU_ASSERT_EQUAL(cpt_service_set_trust(serving.service.service, none, NULL), CPT_OK);
    CU_ASSERT_EQUAL(status_for(&serving, ""), 200);
    serving_stop(&serving);
}

/* --- What the operator is told --- */

/* @request is refused, and that is told: one notice, which begins with @told. */
static void expect_told(const struct serving *serving, const char *request,
                        const char *told)
{
    char line[512];
    char reply[1024];
    const unsigned before = test_told(line, sizeof(line));

    raw_exchange(serving->service.port, request, reply, sizeof(reply));
    CU_ASSERT_EQUAL(test_told(line, sizeof(line)), before + 1);
    if (strncmp(line, told, strlen(told)) != 0) {
        (void)fprintf(stderr, "told %s, not %s\n", line, told);
        CU_FAIL("another notice");
    }
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 ", 9), 0);
    CU_ASSERT_EQUAL(strncmp(reply + 9, told + 2, 3), 0);
    CU_ASSERT_PTR_NULL(strstr(line, "EVIL"));
}

#define END " HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n"

static void test_refusals_are_told(void)
{
    static const char *const rows[][2] = {
        {"EVIL\r\n\r\n", "2 400 malformed : "},
        {"GET /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n"
         "Content-Length: 2\r\nEVIL: 1\r\n\r\n",
         "2 400 malformed : "},
        {"GET * HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: EVIL\r\n\r\n",
         "2 501 malformed : "},
        {"POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 99999999\r\n\r\n",
         "2 413 large : "},
        {"GET EVIL" END, "2 400 malformed : "},
        {"GET /hel", "2 408 slow : a head took longer than header_ns; the client is "
                     "127.0.0.1"},
        {"POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 3\r\n\r\nab",
         "2 408 slow : a body took longer"},
        {"BREW /hello" END, "2 405 verb /hello: "},
    };
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_ns = 20 * MS,
                                             .body_ns = 20 * MS,
                                             .body_bytes_per_second_min = 1000000};
    struct serving serving;
    char *large = calloc(1, 64 << 10);

    serving_start(&serving, &options);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_told(&serving, rows[i][0], rows[i][1]);
    }
    (void)strcpy(large, "GET /hello HTTP/1.1\r\nHost: s\r\nEVIL: ");
    memset(large + strlen(large), 'x', 40 << 10);
    expect_told(&serving, large, "2 431 large : ");
    serving_stop(&serving);
    free(large);
}

/* Those at a limit of all connections, or of all of a client. */
static void test_limits_are_told(void)
{
    struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                       .input_bytes_max = 100};
    struct serving serving;
    char line[512];
    int descriptor = -1;

    serving_start(&serving, &options);
    expect_told(
        &serving,
        "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 999\r\n\r\n"
        "0123456789012345678901234567890123456789012345678901234567890123456789",
        "2 503 full : ");
    serving_stop(&serving);
    options.input_bytes_max = 0;
    options.accepted_per_address_max = 1;
    serving_start(&serving, &options);
    descriptor = raw_connect(serving.service.port);
    CU_ASSERT_TRUE(test_comes_to(&serving.loop, "http_connections", 1));
    expect_told(&serving, "", "2 503 clients : ");
    (void)close(descriptor);
    serving_stop(&serving);
    CU_ASSERT_TRUE(test_told(line, sizeof(line)) > 0);
}

static void test_gauges(void)
{
    const struct cpt_http_options options = {
        .struct_bytes = sizeof(options), .serves_counters = 1, .accepted_count_max = 7};
    char reply[65536];
    struct serving serving;

    serving_start(&serving, &options);
    raw_exchange(serving.service.port,
                 "GET /cpt/metrics HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n",
                 reply, sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "# TYPE cpt_http_connections gauge\n"
                                         "cpt_http_connections{service=\"S\"} 1\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "\ncpt_http_connections_max{service=\"S\"} 7"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "# TYPE cpt_http_cut_slow_total counter\n"));
    serving_stop(&serving);
}

/* --- Buffers --- */

enum { LARGE_BYTES = 32 << 10, PREFIX_BYTES = 16 };

static atomic_int large_count; /* blocks of memory that are that large */

static void *resize_counted(void *context, void *memory, size_t bytes)
{
    size_t *block = memory != NULL ? (void *)((char *)memory - PREFIX_BYTES) : NULL;
    const int was_large = block != NULL && *block >= LARGE_BYTES;

    (void)context;
    if (bytes == 0) {
        atomic_fetch_sub(&large_count, was_large);
        free(block);
        return NULL;
    }
    block = realloc(block, bytes + PREFIX_BYTES);
    if (block == NULL) {
        return NULL;
    }
    *block = bytes;
    atomic_fetch_add(&large_count, (bytes >= LARGE_BYTES) - was_large);
    return (char *)block + PREFIX_BYTES;
}

/* A long request grows the buffer. The next one, which came with it and is short, does
 * not keep it: it counts for its own bytes only. */
static void test_buffer_is_given_back(void)
{
    static const struct cpt_alloc counted = {resize_counted, NULL};
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .alloc = &counted,
                                             .header_ns = 3600 * 1000 * MS};
    static const char first[] =
        "POST /none HTTP/1.1\r\nHost: s\r\nContent-Length: 40000\r\n\r\n";
    static const char second[] = "GET /hello HTTP/1.1\r\nA: ";
    static char text[49001];
    struct serving serving;
    char reply[512];
    int descriptor = -1;
    bool is_given_back = false;

    (void)memset(text, 'a', sizeof(text) - 1);
    memcpy(text, first, sizeof(first) - 1);
    memcpy(text + sizeof(first) - 1 + 40000, second, sizeof(second) - 1);
    atomic_store(&large_count, 0);
    test_loop_make(&serving.loop, &options);
    test_service_make(&serving.service, &serving.loop, CPT_ROLE_ENTRY, -1, NULL);
    descriptor = raw_connect(serving.service.port);
    raw_write(descriptor, text); /* all of it, before the server reads */
    test_loop_start(&serving.loop);
    (void)raw_read(descriptor, reply, sizeof(reply), "\r\n\r\n");
    CU_ASSERT_EQUAL(strncmp(reply, "HTTP/1.1 404 ", 13), 0);
    for (unsigned i = 0; i < PATIENCE && !is_given_back; i++) {
        is_given_back = atomic_load(&large_count) == 0;
        test_sleep_ns(MS);
    }
    CU_ASSERT_TRUE(is_given_back);
    (void)close(descriptor);
    serving_stop(&serving);
}

CU_TestInfo http_limits_tests[] = {
    {"bytes of requests that do not end", test_memory},
    {"answered requests give their bytes back", test_memory_is_given_back},
    {"a short request behind a long one keeps no large buffer",
     test_buffer_is_given_back},
    {"replies that clients do not take", test_unread},
    {"a reply larger than all may be", test_larger_than_the_limit},
    {"heads and bodies that take too long", test_deadlines},
    {"connections of one client", test_clients},
    {"idle clients leave descriptors for calls", test_descriptors_are_reserved},
    {"loops that share a port share descriptors", test_descriptors_are_shared},
    {"deadlines that are none", test_bad_timeouts},
    {"deadlines of strangers", test_timeouts_of_strangers},
    {"slack that is none", test_bad_slacks},
    {"slack of strangers", test_slacks_of_strangers},
    {"refusals of HTTP are told", test_refusals_are_told},
    {"refusals at limits are told", test_limits_are_told},
    {"gauges for Prometheus", test_gauges},
    CU_TEST_INFO_NULL,
};
