/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: The cpt authors */
/* http_serving.c - incoming requests, from good and bad clients */
#include "http_suites.h"
#include "http_support.h"

#include "wire/cpt_metadata.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLOSE "Connection: close\r\n\r\n"

struct serving {
    struct test_loop loop;
    struct test_service service;
};

static void serving_start(struct serving *serving,
                          const struct cpt_http_options *options, unsigned role,
                          struct cpt_executor *executor)
{
    test_loop_make(&serving->loop, options);
    test_service_make(&serving->service, &serving->loop, role, -1, executor);
    test_loop_start(&serving->loop);
}

static void serving_stop(struct serving *serving)
{
    CU_ASSERT_EQUAL(test_loop_stop(&serving->loop), CPT_OK);
    test_service_free(&serving->service);
}

static void ask(const struct serving *serving, const char *request, char *reply,
                size_t capacity)
{
    raw_exchange(serving->service.port, request, reply, capacity);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void test_answers(void)
{
    char reply[4096];
    struct serving serving;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    ask(&serving, "GET /hello?q=1 HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 OK\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\n\r\nhello "));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "Content-Type: text/plain"));
    CU_ASSERT_PTR_NULL(strstr(reply, "critical-path"));
    ask(&serving,
        "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 3\r\n" CLOSE "you", reply,
        sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\n\r\nhello you"));
    ask(&serving, "GET /none HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 404 "));
    ask(&serving, "GET http://other/hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    serving_stop(&serving);
}

/* Whether the reply has a path that conserves time. */
static bool has_path(const char *reply)
{
    const char *header = strstr(reply, "critical-path-bin: ");
    unsigned char data[4096];
    struct cpt_path *path = cpt_path_new(NULL);
    struct cpt_bytes text = {NULL, 0};
    size_t bytes = 0;
    bool is_good = false;

    if (header != NULL) {
        text.data = header + strlen("critical-path-bin: ");
        text.bytes = strcspn(text.data, "\r\n");
        is_good = cpt_base64_decode(text, data, sizeof(data), &bytes, NULL) == CPT_OK &&
                  cpt_metadata_decode(data, bytes, NULL, path, NULL) == CPT_OK &&
                  cpt_path_check(path, cpt_path_sum_ns(path), NULL) == CPT_OK &&
                  cpt_path_sum_ns(path) > 0;
    }
    cpt_path_free(path);
    return is_good;
}

static void test_paths(void)
{
    static const struct {
        const char *headers;
        bool has_path;
    } rows[] = {
        {"critical-path: 1\r\n", true},
        {"Critical-Path: 1;max=500;forced\r\n", true},
        {"critical-path: 1\r\ncritical-path: 1\r\n", false},
        {"critical-path: nonsense\r\n", false},
        {"critical-path: 1\r\nX-Forwarded-For: 10.0.0.1\r\n", false},
        {"critical-path: 1\r\nforwarded: for=10.0.0.1\r\n", false},
        {"X-Forwarded-Proto: https\r\ncritical-path: 1\r\n", false},
        {"via: 1.1 proxy\r\ncritical-path: 1\r\n", false},
        {"critical-path: 1\r\nX-Real-IP: 10.0.0.1\r\n", false},
        {"", false},
        /* what does not say that it was sent for another */
        {"critical-path: 1\r\nX-Amzn-Trace-Id: Root=1-5759e988-bd86\r\n", true},
        {"critical-path: 1\r\nX-Request-Id: 1\r\nX-Zip: 1\r\nIP: 1\r\n", true},
        {"critical-path: 1\r\nX-Viaduct: a\r\nTransport: via\r\n", true},
    };
    char request[512];
    char reply[8192];
    struct serving serving;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(request, sizeof(request),
                       "GET /slow HTTP/1.1\r\nHost: s\r\n%sConnection: close\r\n\r\n",
                       rows[i].headers);
        ask(&serving, request, reply, sizeof(reply));
        CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
        CU_ASSERT_EQUAL(has_path(reply), rows[i].has_path);
        CU_ASSERT_EQUAL(strstr(reply, "critical-path") != NULL, rows[i].has_path);
    }
    cpt_service_enable(serving.service.service, 0);
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\ncritical-path: 1\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_PTR_NULL(strstr(reply, "critical-path"));
    serving_stop(&serving);
}

static void test_refused(void)
{
    char reply[4096];
    struct serving serving;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    ask(&serving, "what is this\r\n\r\n", reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 400 "));
    ask(&serving, "GET /hello HTTP/1.1\r\n" CLOSE, reply, sizeof(reply)); /* no host */
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 400 "));
    ask(&serving, "GET /hello HTTP/1.0\r\n\r\n", reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    ask(&serving, "GET /hel\"lo HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 400 "));
    ask(&serving, "GET hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 400 "));
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\nExpect: tea\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 417 "));
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\nno colon\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 400 "));
    ask(&serving, "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: -1\r\n" CLOSE,
        reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 400 "));
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    serving_stop(&serving);
}

/* A verb that is not served: the connection is kept. */
static void test_verbs(void)
{
    static const char *const verbs[] = {"PUT", "DELETE", "PATCH", "TRACE", "BREW"};
    char request[256];
    char reply[4096];
    struct serving serving;
    int descriptor = -1;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    descriptor = raw_connect(serving.service.port);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        (void)snprintf(request, sizeof(request),
                       "%s /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 4\r\n\r\nbody",
                       verbs[i]);
        raw_write(descriptor, request);
        (void)raw_read(descriptor, reply, sizeof(reply), "take the verb\n");
        CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 405 "));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(reply, "\r\nAllow: GET, HEAD, POST, OPTIONS\r\n"));
        CU_ASSERT_PTR_NULL(strstr(reply, "\r\nConnection: close\r\n"));
    }
    raw_write(descriptor, "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
    (void)raw_read(descriptor, reply, sizeof(reply), "hello ");
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    (void)close(descriptor);
    serving_stop(&serving);
}

/* HEAD gets the head of what GET gets; then comes the next reply. */
static void test_head(void)
{
    char reply[4096];
    struct serving serving;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    ask(&serving,
        "HEAD /hello HTTP/1.1\r\nHost: s\r\n\r\n"
        "GET /none HTTP/1.1\r\nHost: s\r\n" CLOSE,
        reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\nContent-Length: 6\r\n"));
    CU_ASSERT_PTR_NULL(strstr(reply, "hello "));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\r\n\r\nHTTP/1.1 404 "));
    serving_stop(&serving);
}

static void test_continue(void)
{
    char reply[4096];
    struct serving serving;
    int descriptor = -1;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    descriptor = raw_connect(serving.service.port);
    raw_write(descriptor, "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 3\r\n"
                          "Expect: 100-Continue\r\n\r\n");
    (void)raw_read(descriptor, reply, sizeof(reply), "\r\n\r\n");
    CU_ASSERT_STRING_EQUAL(reply, "HTTP/1.1 100 Continue\r\n\r\n");
    raw_write(descriptor, "you");
    (void)raw_read(descriptor, reply, sizeof(reply), "hello you");
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    (void)close(descriptor);
    /* one whose body would be refused is not asked for it */
    descriptor = raw_connect(serving.service.port);
    raw_write(descriptor, "POST /hello HTTP/1.1\r\nHost: s\r\n"
                          "Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n");
    (void)raw_read(descriptor, reply, sizeof(reply), NULL);
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 413 "));
    (void)close(descriptor);
    serving_stop(&serving);
}

/* A reply larger than the socket takes at once, to a client that reads late. */
static void test_large_reply(void)
{
    enum { BODY = 3 << 20 };
    char *request = calloc(1, BODY + 256);
    char *reply = calloc(1, BODY + 4096);
    struct serving serving;
    int descriptor = -1;

    (void)snprintf(request, 256,
                   "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: %d\r\n\r\n",
                   BODY);
    memset(request + strlen(request), 'x', BODY - 1);
    request[strlen(request)] = '.';
    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    descriptor = raw_connect(serving.service.port);
    for (unsigned i = 0; i < 2; i++) {
        raw_write(descriptor, request);
        test_sleep_ns(20 * MS);
        CU_ASSERT_TRUE(raw_read(descriptor, reply, BODY + 4096, "xxx.") > BODY);
        CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    }
    (void)close(descriptor);
    /* and to one that goes without reading it */
    descriptor = raw_connect(serving.service.port);
    raw_write(descriptor, request);
    test_sleep_ns(20 * MS);
    (void)close(descriptor);
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, 4096);
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    serving_stop(&serving);
    free(request);
    free(reply);
}

/* The status of a request whose lines, without ends, have @header_bytes. */
static unsigned status_of_size(const struct serving *serving, size_t header_bytes,
                               size_t body_bytes)
{
    const size_t capacity = header_bytes + body_bytes + 256;
    char *request = calloc(1, capacity);
    char reply[4096];
    unsigned status = 0;
    size_t bytes = 0;
    size_t lines = 0;

    (void)snprintf(request, capacity,
                   "POST /hello HTTP/1.1\r\nHost: s\r\nConnection: close\r\n"
                   "Content-Length: %06zu\r\nx: ",
                   body_bytes);
    bytes = strlen(request);
    lines = bytes - 8; /* four line ends */
    if (header_bytes > lines) {
        memset(request + bytes, 'x', header_bytes - lines);
    }
    bytes = strlen(request);
    (void)snprintf(request + bytes, capacity - bytes, "\r\n\r\n");
    memset(request + bytes + 4, 'b', body_bytes);
    ask(serving, request, reply, sizeof(reply));
    (void)sscanf(reply, "HTTP/1.1 %3u", &status);
    free(request);
    return status;
}

static void test_size_limits(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_bytes_max = 2000,
                                             .body_bytes_max = 1000};
    struct serving serving;

    serving_start(&serving, &options, CPT_ROLE_ENTRY, NULL);
    CU_ASSERT_EQUAL(status_of_size(&serving, 100, 999), 200);
    CU_ASSERT_EQUAL(status_of_size(&serving, 100, 1000), 200);
    CU_ASSERT_EQUAL(status_of_size(&serving, 100, 1001), 413);
    CU_ASSERT_EQUAL(status_of_size(&serving, 1999, 0), 200);
    CU_ASSERT_EQUAL(status_of_size(&serving, 2000, 0), 200);
    CU_ASSERT_EQUAL(status_of_size(&serving, 2001, 0), 431);
    serving_stop(&serving);
}

static void test_huge_header(void)
{
    const size_t capacity = 400000;
    char *request = calloc(1, capacity);
    char reply[4096];
    struct serving serving;
    int bytes = snprintf(request, capacity,
                         "GET /hello HTTP/1.1\r\nHost: s\r\ncritical-path: 1;");

    memset(request + bytes, 'x', 300000);
    bytes += 300000;
    (void)snprintf(request + bytes, capacity - (size_t)bytes, "\r\n" CLOSE);
    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    ask(&serving, request, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 431 "));
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    serving_stop(&serving);
    free(request);
}

static void test_kept(void)
{
    static const char request[] =
        "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\na"
        "POST /hello HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\nb"
        "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE;
    char reply[4096];
    struct serving serving;
    int descriptor = -1;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    ask(&serving, request, reply, sizeof(reply)); /* all at once */
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "hello aHTTP/1.1 200 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "hello bHTTP/1.1 200 "));
    descriptor = raw_connect(serving.service.port);
    for (unsigned i = 0; i < 3; i++) {
        raw_write(descriptor, "GET /hello HTTP/1.1\r\nHost: s\r\n\r\n");
        (void)raw_read(descriptor, reply, sizeof(reply), "hello ");
        CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    }
    (void)close(descriptor);
    serving_stop(&serving);
}

/* More than the buffer holds, so that reading stops and resumes repeatedly. */
static void test_long_pipeline(void)
{
    enum { REQUESTS = 3000 };
    static const char request[] =
        "GET /hello HTTP/1.1\r\nHost: s\r\nx: 0123456789012345\r\n\r\n";
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_bytes_max = 500,
                                             .body_bytes_max = 500};
    char *reply = calloc(1, RAW_BYTES_MAX * 4);
    size_t count = 0;
    struct serving serving;
    int descriptor = -1;

    serving_start(&serving, &options, CPT_ROLE_ENTRY, NULL);
    descriptor = raw_connect(serving.service.port);
    for (unsigned i = 0; i < REQUESTS; i++) {
        raw_write(descriptor, request);
    }
    raw_write(descriptor, "GET /none HTTP/1.1\r\nHost: s\r\n" CLOSE);
    (void)raw_read(descriptor, reply, RAW_BYTES_MAX * 4, " 404 ");
    for (const char *at = reply; (at = strstr(at, "200 OK")) != NULL; at++) {
        count++;
    }
    CU_ASSERT_EQUAL(count, REQUESTS);
    (void)close(descriptor);
    serving_stop(&serving);
    free(reply);
}

/* Only unused connections are idle. */
static void test_slower_than_idle(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .idle_ns = 30 * MS};
    struct call_request request = {.stub = {.method = "/slow"}};
    struct call_result result;
    char target[64];
    char reply[4096];
    struct serving serving;
    int descriptor = -1;

    serving_start(&serving, &options, CPT_ROLE_INNER, NULL);
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u",
                   (unsigned)serving.service.port);
    request.stub.target = target;
    call_out(&serving.loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(result.http_statuses[0], 200);
    descriptor = raw_connect(serving.service.port);
    CU_ASSERT_EQUAL(raw_read(descriptor, reply, sizeof(reply), NULL), 0); /* closed */
    (void)close(descriptor);
    serving_stop(&serving);
}

/* A client that keeps sending during the reply is not read without limit. */
static void test_flood(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .header_bytes_max = 1000,
                                             .body_bytes_max = 1000};
    const struct timeval limit = {0, 200000};
    char block[65536];
    size_t sent = 0;
    struct serving serving;
    int descriptor = -1;

    memset(block, 'x', sizeof(block));
    serving_start(&serving, &options, CPT_ROLE_ENTRY, NULL);
    descriptor = raw_connect(serving.service.port);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    raw_write(descriptor, "GET /stuck HTTP/1.1\r\nHost: s\r\n\r\n");
    while (sent < 64 * sizeof(block) * 16) {
        const ssize_t count = send(descriptor, block, sizeof(block), MSG_NOSIGNAL);

        if (count <= 0) {
            break;
        }
        sent += (size_t)count;
    }
    CU_ASSERT_TRUE(sent < 64 * sizeof(block) * 16);
    cpt_complete(atomic_load(&serving.service.stuck), CPT_OK);
    (void)close(descriptor);
    serving_stop(&serving);
}

static void test_client_gone(void)
{
    char reply[4096];
    struct serving serving;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    for (unsigned i = 0; i < 20; i++) {
        const int descriptor = raw_connect(serving.service.port);
        const struct linger reset = {1, 0};

        raw_write(descriptor, i % 2 == 0 ? "GET /slow HTTP/1.1\r\nHost: s\r\n\r\n"
                                         : "GET /slow HTTP/1.1\r\nHost: s\r\nExp");
        if (i % 4 < 2) {
            (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        }
        (void)close(descriptor);
    }
    ask(&serving, "GET /slow HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    serving_stop(&serving);
}

static void test_pool_executor(void)
{
    struct cpt_executor *pool = cpt_pool_new(NULL, NULL);
    struct call_request request = {.is_traced = true, .count = 48, .body = "you"};
    struct call_result result;
    char target[64];
    struct serving serving;

    serving_start(&serving, NULL, CPT_ROLE_INNER, pool);
    (void)snprintf(target, sizeof(target), "127.0.0.1:%u",
                   (unsigned)serving.service.port);
    request.stub.target = target;
    for (unsigned i = 0; i < 20; i++) {
        call_out(&serving.loop, &request, pool, &result);
        for (unsigned k = 0; k < 48; k++) {
            CU_ASSERT_EQUAL(result.statuses[k], CPT_OK);
            CU_ASSERT_STRING_EQUAL(result.bodies[k], "hello you");
        }
        CU_ASSERT_TRUE(result.is_path_good);
        CU_ASSERT_EQUAL(result.reason, CPT_REASON_NONE);
    }
    request.stub.method = "/slow";
    request.count = 2;
    call_out(&serving.loop, &request, NULL, &result);
    CU_ASSERT_STRING_EQUAL(result.bodies[0], "hello you");
    CU_ASSERT_TRUE(result.kind_ns[CPT_KIND_WORK] >= 90 * MS);
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_NONE);
    CU_ASSERT_EQUAL(test_loop_stop(&serving.loop), CPT_OK);
    /* the pool's threads may still finish a reply: they end before the service */
    cpt_pool_free(pool);
    test_service_free(&serving.service);
}

static void test_counters(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .serves_counters = 1};
    char reply[65536];
    struct serving serving;

    serving_start(&serving, &options, CPT_ROLE_ENTRY, NULL);
    ask(&serving, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply, sizeof(reply));
    ask(&serving, "GET /cpt/counters HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "Content-Type: application/json"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "{\"service\":\"S\",\"counters\":["));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "{\"name\":\"requests\",\"value\":1,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\"http_requests_served\",\"value\":1,"));
    ask(&serving, "GET /cpt/metrics HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "# TYPE cpt_requests_total counter\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\ncpt_requests_total{service=\"S\"} 1\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "cpt_blind_spots_total{service=\"S\",reason=\"cached\"} 0\n"));
    serving_stop(&serving);

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    ask(&serving, "GET /cpt/metrics HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 404 "));
    serving_stop(&serving);
}

/* A request that does not end is told, with what it waits for. */
static void test_running(void)
{
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .serves_counters = 1};
    char reply[65536];
    struct serving serving;
    int stuck = -1;

    serving_start(&serving, &options, CPT_ROLE_ENTRY, NULL);
    ask(&serving, "GET /cpt/requests HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "Content-Type: application/json"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "\r\n\r\n{\"service\":\"S\",\"requests\":[],\"left_out\":0}\n"));
    stuck = raw_connect(serving.service.port);
    raw_write(stuck, "GET /stuck HTTP/1.1\r\nHost: s\r\ntraceparent: "
                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n\r\n");
    while (atomic_load(&serving.service.stuck) == NULL) {
        test_sleep_ns(MS);
    }
    ask(&serving, "GET /cpt/requests HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
        sizeof(reply));
    CU_ASSERT_PTR_NOT_NULL(strstr(reply, "\"method\":\"/stuck\",\"us\":"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"tasks\":["));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(reply, "\"state\":\"waits\",\"for\":[{\"kind\":\"work\"}]}"));
    cpt_complete(atomic_load(&serving.service.stuck), CPT_OK);
    (void)raw_read(stuck, reply, sizeof(reply), "stuck");
    (void)close(stuck);
    serving_stop(&serving);
}

/* No descriptor for a connection: it is accepted once there is one. */
static void test_descriptors(void)
{
    struct rlimit before;
    struct rlimit low;
    char reply[4096];
    struct serving serving;
    int descriptor = -1;

    serving_start(&serving, NULL, CPT_ROLE_ENTRY, NULL);
    (void)getrlimit(RLIMIT_NOFILE, &before);
    low = before;
    descriptor = dup(0); /* the lowest free one, which the client gets */
    low.rlim_cur = (rlim_t)descriptor + 1;
    (void)close(descriptor);
    (void)setrlimit(RLIMIT_NOFILE, &low);
    descriptor = raw_connect(serving.service.port);
    raw_write(descriptor, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE);
    test_sleep_ns(150 * MS);
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_accepts_failed") >= 1);
    CU_ASSERT_TRUE(test_counter(&serving.loop, "http_accepts_failed") < 100);
    (void)setrlimit(RLIMIT_NOFILE, &before);
    (void)raw_read(descriptor, reply, sizeof(reply), NULL);
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    (void)close(descriptor);
    serving_stop(&serving);
}

/* Nothing to test where there is no IPv6. */
static void test_ipv6(void)
{
    struct call_request request = {.is_traced = true};
    struct call_result result;
    struct test_loop loop;
    struct test_service service;
    char target[64];
    uint16_t port = 0;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_ENTRY, -1, NULL);
    if (cpt_http_listen(loop.http, service.service, "::1", 0, &port, NULL) != CPT_OK) {
        (void)printf("\n    (no IPv6 here)\n");
        cpt_http_free(loop.http);
        test_service_free(&service);
        return;
    }
    test_loop_start(&loop);
    (void)snprintf(target, sizeof(target), "http://[::1]:%u", (unsigned)port);
    request.stub.target = target;
    call_out(&loop, &request, NULL, &result);
    CU_ASSERT_EQUAL(result.statuses[0], CPT_OK);
    CU_ASSERT_EQUAL(result.reason, CPT_REASON_NONE); /* ::1 is trusted */
    CU_ASSERT_EQUAL(test_loop_stop(&loop), CPT_OK);
    test_service_free(&service);
}

static void test_listening(void)
{
    struct test_loop loop;
    struct test_service service;
    struct cpt_error error = {0};
    uint16_t port = 0;

    test_loop_make(&loop, NULL);
    test_service_make(&service, &loop, CPT_ROLE_ENTRY, -1, NULL);
    CU_ASSERT_EQUAL(
        cpt_http_listen(loop.http, service.service, "localhost", 0, &port, &error),
        CPT_IO);
    CU_ASSERT_STRING_EQUAL(error.sentence, "'localhost' is not a numeric address");
    memset(&error, 0, sizeof(error));
    CU_ASSERT_EQUAL(cpt_http_listen(loop.http, service.service, "127.0.0.1",
                                    service.port, &port, &error),
                    CPT_IO);
    CU_ASSERT_TRUE(begins(error.sentence, "cannot listen on 127.0.0.1 port "));
    CU_ASSERT_EQUAL(port, 0);
    cpt_http_free(loop.http);
    test_service_free(&service);
}

/* Two loops, each with a service of its own, on one port. */
static void test_shared_port(void)
{
    enum { CLIENTS = 64 };
    const struct cpt_http_options options = {.struct_bytes = sizeof(options),
                                             .shares_port = 1};
    struct serving servings[2];
    char reply[4096];
    uint16_t port = 0;

    test_loop_make(&servings[0].loop, &options);
    test_loop_make(&servings[1].loop, &options);
    test_service_make(&servings[0].service, &servings[0].loop, CPT_ROLE_ENTRY, -1,
                      NULL);
    test_service_make(&servings[1].service, &servings[1].loop, CPT_ROLE_ENTRY, -1,
                      NULL);
    CU_ASSERT_EQUAL(cpt_http_listen(servings[1].loop.http, servings[1].service.service,
                                    NULL, servings[0].service.port, &port, NULL),
                    CPT_OK);
    CU_ASSERT_EQUAL(port, servings[0].service.port);
    test_loop_start(&servings[0].loop);
    test_loop_start(&servings[1].loop);
    for (int i = 0; i < CLIENTS; i++) {
        raw_exchange(port, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE, reply,
                     sizeof(reply));
        CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 "));
    }
    for (int i = 0; i < 2; i++) { /* the odds of 2^-63 aside */
        CU_ASSERT_TRUE(test_counter(&servings[i].loop, "http_requests_served") > 0);
    }
    serving_stop(&servings[0]);
    serving_stop(&servings[1]);
}

/* --- A long request --- */

enum { LINKS = 1024, LINK_PATIENCE_MS = 20000 };

/* The chain begins when the other request is there, and ends when that is answered: so
 * it does not matter how fast the machine is. */
static struct {
    atomic_uint run_count;
    atomic_bool other_is_sent;
    atomic_bool other_is_answered;
    atomic_bool has_given_up;
} chain;

static void wait_in_link(const atomic_bool *holds)
{
    for (int i = 0; i < LINK_PATIENCE_MS; i++) {
        if (atomic_load(holds)) {
            return;
        }
        test_sleep_ns(MS);
    }
    atomic_store(&chain.has_given_up, true);
}

static cpt_status link_task(struct cpt_task *task)
{
    const unsigned number = atomic_fetch_add(&chain.run_count, 1);

    (void)task;
    if (number == 0) {
        wait_in_link(&chain.other_is_sent);
    } else if (number == LINKS - 1) {
        wait_in_link(&chain.other_is_answered);
    }
    return CPT_OK;
}

static struct cpt_value link_values[LINKS];
static char link_names[LINKS][8];
static struct cpt_task_def link_tasks[LINKS];

/* A chain of tasks; its last one answers. */
static struct cpt_plan *chain_plan(void)
{
    static const struct cpt_graph graph = {"S", CPT_GIVES(rpc_request),
                                           CPT_GIVES(rpc_reply), link_tasks, LINKS};

    for (int i = 0; i < LINKS; i++) {
        (void)snprintf(link_names[i], sizeof(link_names[i]), "l%d", i);
        link_values[i] = (struct cpt_value){link_names[i], sizeof(int)};
        link_tasks[i].name = link_names[i];
        link_tasks[i].run = link_task;
        link_tasks[i].gives = i < LINKS - 1 ? &link_values[i] : CPT_GIVES(rpc_reply);
        link_tasks[i].needs[0] = i == 0 ? NULL : &link_values[i - 1];
    }
    return cpt_plan_new(&graph, NULL, NULL);
}

static void test_long_request_yields(void)
{
    char reply[512];
    struct serving serving;
    struct cpt_plan *plan = chain_plan();
    int descriptor = -1;
    int other = -1;

    test_loop_make(&serving.loop, NULL);
    test_service_make(&serving.service, &serving.loop, CPT_ROLE_ENTRY, -1, NULL);
    CU_ASSERT_EQUAL(
        cpt_service_method_add(serving.service.service, "/long", plan, NULL), CPT_OK);
    test_loop_start(&serving.loop);
    descriptor = raw_connect(serving.service.port);
    raw_write(descriptor, "GET /long HTTP/1.1\r\nHost: s\r\n\r\n");
    while (atomic_load(&chain.run_count) == 0) {
        test_sleep_ns(MS / 10);
    }
    other = raw_connect(serving.service.port);
    raw_write(other, "GET /hello HTTP/1.1\r\nHost: s\r\n" CLOSE);
    atomic_store(&chain.other_is_sent, true);
    (void)raw_read(other, reply, sizeof(reply), NULL);
    atomic_store(&chain.other_is_answered, true);
    CU_ASSERT_TRUE(begins(reply, "HTTP/1.1 200 OK\r\n"));
    (void)close(other);
    (void)raw_read(descriptor, reply, sizeof(reply), "\r\n\r\n");
    CU_ASSERT_EQUAL(atomic_load(&chain.run_count), LINKS);
    CU_ASSERT_FALSE(atomic_load(&chain.has_given_up));
    (void)close(descriptor);
    serving_stop(&serving);
    cpt_plan_free(plan);
}

CU_TestInfo http_serving_tests[] = {
    {"a long request lets others have their turn", test_long_request_yields},
    {"requests are answered", test_answers},
    {"a path is returned to clients that ask and may", test_paths},
    {"malformed requests are refused", test_refused},
    {"verbs that are not served", test_verbs},
    {"HEAD", test_head},
    {"Expect: 100-continue", test_continue},
    {"a reply that the socket does not take at once", test_large_reply},
    {"sizes of headers and bodies are limited", test_size_limits},
    {"a huge header", test_huge_header},
    {"connections are kept, and pipelines are served in order", test_kept},
    {"a pipeline longer than the buffer", test_long_pipeline},
    {"a request may take longer than the idle timeout", test_slower_than_idle},
    {"a client that keeps sending is not read without limit", test_flood},
    {"a client that leaves early", test_client_gone},
    {"replies from other threads, a path across both", test_pool_executor},
    {"counters as JSON and for Prometheus", test_counters},
    {"running requests over HTTP", test_running},
    {"without descriptors connections wait", test_descriptors},
    {"IPv6", test_ipv6},
    {"two loops on one port", test_shared_port},
    {"addresses that cannot be listened on", test_listening},
    CU_TEST_INFO_NULL,
};
